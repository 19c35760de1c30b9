"""One embedder takes over from another: what is found before, during and after, and what survives a kill."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from node.cache.index import embedders as module
from node.cache.index import engine as watched
from node.cache.index import filling, vector_file
from node.cache.index.engine import Choice
from node.core.errors import Misconfigured, Unavailable
from node.core.ports import Embedder, StoredRecord, Vector
from node.core.record import Embedding
from tests.record_builders import Author
from tests.simulators.hash_embedder import HashEmbedder
from tests.unit.cache.index.semantic_bench import DIM, SemanticBench, model_of, until

MANY = 200


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[SemanticBench]:
    made = SemanticBench(tmp_path)
    yield made
    await made.end()


def question(number: int) -> str:
    return f"Which town is number {number}"


class Slow(HashEmbedder):
    """Of many, it embeds a hundred, and the rest when it may go on."""

    def __init__(self) -> None:
        super().__init__(DIM, model="new")
        self.going = asyncio.Event()

    async def embed(self, texts: Sequence[str]) -> list[Vector | None]:
        if len(self.embedded) >= 100 and len(texts) > 2:
            await self.going.wait()
        return await super().embed(texts)


async def filled(bench: SemanticBench, count: int) -> list[StoredRecord]:
    """A node that has worked with the engine ``old`` and was stopped."""
    bench.engine("old")
    semantics = await bench.start("old")
    kept = [await bench.keep(question(number)) for number in range(count)]
    await until(lambda: semantics._saved is not None)
    await bench.stop()
    return kept


# --- one engine -----------------------------------------------------------------------------------


async def test_one_engine_serves_over_restarts_and_embeds_nothing_twice(bench: SemanticBench) -> None:
    kept = await filled(bench, 3)
    embedder = bench.engines["old"]
    assert embedder.embedded == [question(number) for number in range(3)]
    await bench.start("old")
    assert await bench.found(question(1)) == kept[1].cid
    assert bench.check("semantic") == ("pass", "enabled")
    assert bench.status("embedder") == "pass"
    assert embedder.embedded == [question(number) for number in (0, 1, 2, 1)]
    assert bench.semantics is not None
    assert bench.semantics.facts().vectors == 3


async def test_without_an_engine_nothing_is_loaded_and_health_says_why(bench: SemanticBench) -> None:
    semantics = await bench.start("none")
    assert semantics.info.dim == 0
    with pytest.raises(Unavailable, match="switched off"):
        await semantics.embed(["a"])
    reason = "disabled: embeddings are switched off (embed.engine = none)"
    assert bench.check("semantic") == ("warn", reason)
    assert not bench.loads
    assert not semantics.remove((await bench.keep("What is kept?")).cid)


async def test_what_can_never_work_stops_the_start_and_only_the_start(bench: SemanticBench) -> None:
    async def never(choice: Choice) -> Embedder:
        raise Misconfigured("setting embed.model names no model")

    load, bench.load = bench.load, never
    with pytest.raises(Misconfigured, match=r"embed\.model"):
        await bench.start("new")
    bench.load = load
    semantics = await bench.start("new")  # away
    semantics._load = never
    bench.retry()
    await until(lambda: "embed.model" in bench.check("embedder")[1])
    semantics._load = load
    bench.engine("new")
    bench.retry()
    await bench.passes("semantic")


# --- away and back --------------------------------------------------------------------------------


async def test_an_engine_that_is_away_at_the_start_serves_when_it_comes(bench: SemanticBench) -> None:
    await bench.start("ollama")
    assert bench.status("embedder") == "warn"
    assert "ollama is not there" in bench.check("embedder")[1]
    kept = await bench.keep("What is kept?")
    legacy = await bench.keep("What is imported?", embed="never")
    assert model_of(kept) is None
    for _ in range(8):
        loads = len(bench.loads)
        bench.retry()
        await until(lambda loads=loads: len(bench.loads) > loads)  # never longer than that
    embedder = bench.engine("ollama")
    bench.retry()
    await until(lambda: len(bench.rows()) == 1 if bench.status("semantic") == "pass" else False)
    assert await bench.found("What is kept?") == kept.cid
    assert await bench.found("What is imported?") is None
    await bench.assert_index_is_records(embedder)
    assert legacy.cid not in bench.rows()
    assert bench.status("embedder") == "pass"


async def test_tries_are_spaced_and_jittered(bench: SemanticBench) -> None:
    await bench.start("ollama")
    assert len(bench.loads) == 1
    waits = []
    for _ in range(10):
        waited = 0.0
        loads = len(bench.loads)
        while len(bench.loads) == loads:
            bench.clock.advance(0.25)
            waited += 0.25
            for _ in range(10):
                await asyncio.sleep(0)
            assert waited <= filling.BACKOFF_MAX_S
        waits.append(waited)
    assert waits == [0.5, 0.75, 1.5, 3, 6, 12, 22.5, 22.5, 22.5, 22.5]  # the test clock's jitter is one half


async def test_a_hanging_engine_does_not_hold_up_the_start(bench: SemanticBench) -> None:
    embedder = bench.engine("ollama")
    embedder.hang = asyncio.Event()
    await bench.start("ollama", start_wait_s=0.01)
    assert "no answer within 0.01 s" in bench.check("embedder")[1]
    embedder.hang.set()
    await bench.passes("semantic")


async def test_an_engine_that_dies_and_returns(bench: SemanticBench) -> None:
    kept = await filled(bench, 2)
    embedder = bench.engines["old"]
    await bench.start("old")
    embedder.failure = "connection refused"
    assert await bench.found(question(0)) is None
    assert bench.status("embedder") == "warn"
    assert "connection refused" in bench.check("semantic")[1]
    late = await bench.keep("What came late?")
    assert model_of(late) is None
    embedder.failure = None
    assert await bench.found(question(0)) is None, "it is left alone for a moment"
    await bench.probe()
    assert bench.status("semantic") == "pass"
    assert await bench.found(question(0)) == kept[0].cid
    bench.retry()
    await until(lambda: late.cid in bench.rows())
    assert await bench.found("What came late?") == late.cid
    await bench.assert_index_is_records(embedder)


async def test_a_probe_notices_a_death_that_nobody_met(bench: SemanticBench) -> None:
    embedder = bench.engine("old")
    await bench.start("old")
    embedder.failure = "gone"
    await bench.probe(after_s=0)  # heard of a moment ago
    embedder.failure = None
    await bench.probe()
    asked = list(embedder.embedded)
    embedder.failure = "gone"
    await bench.probe()
    assert bench.check("semantic") == ("warn", "disabled: gone")
    embedder.failure = None
    await bench.probe()
    assert bench.status("semantic") == "pass"
    later = [text for text in embedder.embedded if text not in asked]
    assert len(later) == 1, "no cache can answer a probe"


async def test_a_hanging_engine_does_not_hold_up_a_question(
    bench: SemanticBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watched, "EMBED_WAIT_S", 0.01)
    monkeypatch.setattr(watched, "PROBE_WAIT_S", 0.01)
    embedder = bench.engine("old")
    semantics = await bench.start("old")
    embedder.hang = asyncio.Event()
    with pytest.raises(Unavailable, match="no answer within"):
        await semantics.embed(["a"])
    assert semantics._serving is not None
    assert semantics._serving.asking == 0
    with pytest.raises(Unavailable):
        await semantics.embed(["b"])
    await bench.probe(10)
    assert bench.status("semantic") == "warn"
    embedder.hang.set()
    await bench.probe(10)
    assert bench.status("semantic") == "pass"


# --- another model in the same place --------------------------------------------------------------


@pytest.mark.parametrize(("dim", "model"), [(DIM, "other"), (DIM * 2, "old")])
async def test_an_engine_with_another_model_is_refused_until_it_has_its_own(
    bench: SemanticBench, dim: int, model: str
) -> None:
    kept = await filled(bench, 2)
    embedder = bench.engines["old"]
    semantics = await bench.start("old")
    embedder.become(dim, model)
    with pytest.raises(Unavailable, match="restart the node"):
        await semantics.embed([question(0)])
    assert bench.status("embedder") == "warn"
    assert "none of its vectors is compared or stored" in bench.check("embedder")[1]
    late = await bench.keep("What came late?")
    assert model_of(late) is None
    await bench.probe(60)
    assert bench.status("semantic") == "warn"
    embedder.become(DIM, "old")
    await bench.probe(60)
    assert await bench.found(question(0)) == kept[0].cid
    await until(lambda: late.cid in bench.rows())
    await bench.assert_index_is_records(embedder)


async def test_after_a_restart_another_model_under_the_same_name_takes_over(bench: SemanticBench) -> None:
    kept = await filled(bench, 5)
    bench.engines["old"].become(DIM, "pulled anew")
    await bench.start("old")
    await until(lambda: len(bench.rows()) == 5)
    assert bench.served() == "hash-pulled anew@test"
    assert await bench.found(question(3)) == kept[3].cid
    await bench.assert_index_is_records(bench.engines["old"])
    await until(lambda: bench.files == 1)


@pytest.mark.parametrize("kind", ["zero", "nan", "constant", "short"])
async def test_vectors_that_tell_nothing_are_refused(bench: SemanticBench, kind: str) -> None:
    embedder = bench.engine("old")
    semantics = await bench.start("old")
    embedder.degenerate = kind
    with pytest.raises(Unavailable):
        await semantics.embed(["a", "b"])
    assert bench.status("semantic") == "warn"
    assert model_of(await bench.keep("What is kept?")) is None
    embedder.degenerate = None
    assert len(await semantics.embed(["a", "b"])) == 2
    assert bench.status("semantic") == "pass"


# --- switching ------------------------------------------------------------------------------------


async def test_the_former_serves_until_the_wanted_has_everything(bench: SemanticBench) -> None:
    kept = await filled(bench, MANY)
    former, wanted = bench.engines["old"], bench.engine("new")
    wanted.failure = "not yet"
    semantics = await bench.start("new")
    assert bench.served() == former.info.model
    await bench.passes("reembedding")
    assert f"0 of {MANY} stored questions" in bench.check("reembedding")[1]
    assert (semantics.facts().done, semantics.facts().total) == (0, MANY)
    assert bench.check("semantic") == ("pass", "enabled")
    assert await bench.found(question(7)) == kept[7].cid
    during = await bench.keep("What came during the switch?")
    assert model_of(during) == former.info.digest
    await bench.bury(kept[9])
    replaced = await bench.keep(question(11), "Another answer.")
    assert bench.files == 1

    wanted.failure = None
    bench.retry()
    await bench.serves(wanted)
    await until(lambda: bench.files == 1 and len(bench.rows()) == MANY)
    assert await bench.found(question(7)) == kept[7].cid
    assert await bench.found("What came during the switch?") == during.cid
    assert await bench.found(question(9)) is None
    assert await bench.found(question(11)) == replaced.cid
    await bench.assert_index_is_records(wanted)
    await until(lambda: former._is_closed)
    assert bench.check("reembedding") == ("", "")
    assert semantics.facts().done == semantics.facts().total > 0
    await bench.stop()

    wanted.embedded.clear()
    await bench.start("new")
    assert bench.served() == wanted.info.model
    assert await bench.found("What came during the switch?") == during.cid
    assert len(wanted.embedded) == 1, "the vectors that no record has were read from the file"
    await bench.assert_index_is_records(wanted)


async def test_where_the_former_cannot_be_loaded_the_wanted_serves_with_what_it_has(
    bench: SemanticBench,
) -> None:
    kept = await filled(bench, MANY)
    del bench.engines["old"]
    wanted = bench.engines["new"] = Slow()
    await bench.start("new")
    assert bench.served() == wanted.info.model
    await until(lambda: len(bench.rows()) >= 64)
    assert bench.status("reembedding") == "warn"
    assert await bench.found(question(0)) == kept[0].cid
    assert await bench.found(question(MANY - 1)) is None
    late = await bench.keep("What came during the switch?")
    assert await bench.found("What came during the switch?") == late.cid
    wanted.going.set()
    await until(lambda: len(bench.rows()) == MANY + 1)
    await bench.assert_index_is_records(wanted)


async def test_a_former_that_dies_during_the_switch_leaves_look_up_to_the_wanted(
    bench: SemanticBench,
) -> None:
    kept = await filled(bench, MANY)
    wanted = bench.engines["new"] = Slow()
    semantics = await bench.start("new")
    await until(lambda: semantics.facts().done >= 64)
    bench.engines["old"].failure = "gone"
    assert await bench.found(question(0)) == kept[0].cid
    late = await bench.keep("What came during the switch?")
    assert model_of(late) == wanted.info.digest
    assert await bench.found("What came during the switch?") == late.cid
    wanted.going.set()
    await bench.serves(wanted)
    await until(lambda: len(bench.rows()) == MANY + 1)
    await bench.assert_index_is_records(wanted)


async def test_killed_in_the_middle_it_goes_on_from_what_was_saved(bench: SemanticBench) -> None:
    kept = await filled(bench, MANY)
    wanted = bench.engine("new")
    semantics = await bench.start("new")
    await until(lambda: semantics.facts().done >= 64 or bench.served() == wanted.info.model)
    wanted.failure = "killed now"
    await until(lambda: bench.files >= 2 and bench.status("embedder") == "warn")
    assert bench.served() == "hash-old@test"
    await bench.kill()
    before = len(wanted.embedded)
    assert 64 <= before < MANY

    wanted.failure = None
    await bench.start("new")
    assert await bench.found(question(MANY - 1)) == kept[MANY - 1].cid
    await bench.serves(wanted)
    assert len(wanted.embedded) < before + MANY, "what was saved is not embedded again"
    await bench.assert_index_is_records(wanted)


async def test_a_damaged_file_costs_embedding_again_and_no_start(bench: SemanticBench) -> None:
    await filled(bench, 20)
    wanted = bench.engine("new")
    await bench.start("new")
    await until(lambda: bench.served() == wanted.info.model and bench.files == 1)
    own = await bench.keep("Which record has a vector of its own?")
    await bench.stop()
    path = vector_file.path_for(bench.folder / "index", wanted.info.digest)
    path.write_bytes(path.read_bytes()[:-1])
    wanted.embedded.clear()
    await bench.start("new")
    assert await bench.found("Which record has a vector of its own?") == own.cid
    await until(lambda: len(bench.rows()) == 21)
    await bench.assert_index_is_records(wanted)
    assert len(wanted.embedded) == 21, "twenty stored ones and the one that was asked"


async def test_back_and_forth_and_to_a_third(bench: SemanticBench) -> None:
    kept = await filled(bench, 30)
    for name in ("new", "old", "third"):
        embedder = bench.engines.get(name) or bench.engine(name, DIM + len(name))
        embedder._is_closed = False
        await bench.start(name)
        await bench.serves(embedder)
        await until(lambda: bench.files == 1)
        await bench.keep(f"What was added under {name}?")
        await bench.assert_index_is_records(embedder)
        assert await bench.found(question(3)) == kept[3].cid
        await bench.stop()


async def test_no_engine_for_a_while_then_another(bench: SemanticBench) -> None:
    await filled(bench, 5)
    await bench.start("none")
    late = await bench.keep("What was stored without an engine?")
    await bench.stop()
    wanted = bench.engine("new")
    await bench.start("new")
    await until(lambda: bench.served() == wanted.info.model and len(bench.rows()) == 6)
    assert await bench.found("What was stored without an engine?") == late.cid
    await bench.assert_index_is_records(wanted)


async def test_the_wanted_is_away_so_the_former_serves_meanwhile(bench: SemanticBench) -> None:
    kept = await filled(bench, 5)
    await bench.start("new")
    assert await bench.found(question(2)) == kept[2].cid
    assert bench.check("embedder") == ("warn", "hash-old@test serves meanwhile: new is not there")
    wanted = bench.engine("new")
    bench.retry()
    await bench.serves(wanted)
    assert bench.status("embedder") == "pass"
    assert await bench.found(question(2)) == kept[2].cid


async def test_the_wanted_hangs_at_the_start_so_the_former_serves_meanwhile(bench: SemanticBench) -> None:
    [kept] = await filled(bench, 1)
    wanted = bench.engine("new")
    wanted.hang = asyncio.Event()
    await bench.start("new", start_wait_s=0.02)
    await bench.passes("semantic")
    assert await bench.found(question(0)) == kept.cid
    assert "serves meanwhile: the new embedder gave no answer within" in bench.check("embedder")[1]
    wanted.hang.set()
    await until(lambda: bench.check("embedder") == ("pass", wanted.info.model))
    assert await bench.found(question(0)) == kept.cid


async def test_a_model_exchanged_while_the_node_was_down_is_refused(bench: SemanticBench) -> None:
    engine = bench.engine("openai")
    engine.tells_sample = True
    await bench.start("openai")
    await bench.keep("What is a heap?")
    assert bench.state is not None
    async with asyncio.timeout(20):
        while await bench.state.get_meta("embedder") is None:
            await asyncio.sleep(0.001)
    await bench.stop()
    for name, status in (("another", "warn"), ("openai", "pass")):
        returned = bench.engine("openai")
        returned.tells_sample = True
        returned.exchange(name)
        semantics = await bench.start("openai")
        (embedder, *_) = semantics.health()
        assert embedder.status == status
        assert ("another one now" in embedder.output) is (status == "warn")
        assert semantics.facts().vectors == (0 if status == "warn" else 1)
        await bench.stop()


async def test_a_question_holds_its_vector_over_the_swap(bench: SemanticBench) -> None:
    kept = await filled(bench, 5)
    wanted = bench.engine("new")
    wanted.failure = "not yet"
    semantics = await bench.start("new")
    [held] = await semantics.embed([question(1)])
    assert held is not None
    wanted.failure = None
    bench.retry()
    await bench.serves(wanted)
    assert bench.nearest(held) == kept[1].cid
    outcome = await bench.keep("What is stored with it?", vector=held)
    assert model_of(outcome) == held.info.digest
    await until(lambda: outcome.cid in bench.rows())
    await bench.assert_index_is_records(wanted)
    await until(lambda: bench.engines["old"]._is_closed)
    bench.clock.advance(module.RETIRED_S)
    await until(lambda: semantics.index(held.info) is None)
    assert bench.nearest(held) is None


async def test_swapping_under_questions_mixes_nothing_and_misses_nothing(bench: SemanticBench) -> None:
    """Both models have one dimension, so that only the model that travels with a vector keeps them apart."""
    kept = await filled(bench, MANY)
    wanted = bench.engine("new")
    wanted.failure = "not yet"
    await bench.start("new")
    models: set[str] = set()
    over = asyncio.Event()

    async def ask(worker: int) -> None:
        number = worker
        assert bench.semantics is not None
        while not over.is_set():
            number = (number + 7) % MANY
            [embedded] = await bench.semantics.embed([question(number)])
            assert embedded is not None
            models.add(embedded.info.model)
            await asyncio.sleep(0)
            assert bench.nearest(embedded) == kept[number].cid
            await asyncio.sleep(0)

    async with asyncio.TaskGroup() as group:
        for worker in range(20):
            group.create_task(ask(worker))
        await asyncio.sleep(0)
        wanted.failure = None
        bench.retry()
        await bench.serves(wanted)
        await until(lambda: len(models) == 2)
        over.set()
    await bench.assert_index_is_records(wanted)


async def test_a_text_on_which_the_engine_fails_is_left_out_and_counted(bench: SemanticBench) -> None:
    class Picky(HashEmbedder):
        async def embed(self, texts: Sequence[str]) -> list[Vector | None]:
            if question(5) in texts:
                raise Unavailable("HTTP 500")
            return await super().embed(texts)

    await filled(bench, 20)
    wanted = bench.engines["new"] = Picky(DIM, model="new")
    await bench.start("new")
    async with asyncio.timeout(20):
        while bench.served() != wanted.info.model:
            bench.clock.advance(1)
            await asyncio.sleep(0.001)
    assert len(bench.rows()) == 19
    assert bench.status("reembedding") == "warn"
    assert "1 questions were left out" in bench.check("reembedding")[1]


async def test_a_text_beyond_the_window_of_the_wanted_is_passed_by(bench: SemanticBench) -> None:
    await filled(bench, 3)
    wanted = bench.engines["new"] = HashEmbedder(DIM, model="new", tokens_max=4)
    await bench.start("new")
    await bench.serves(wanted)
    assert not bench.rows()
    assert bench.check("reembedding") == ("", "")


async def test_the_swap_waits_for_a_state_that_can_be_written(bench: SemanticBench) -> None:
    """Saved first, then swapped: else a kill would leave neither."""
    await filled(bench, 3)
    wanted = bench.engine("new")
    path = vector_file.path_for(bench.folder / "index", wanted.info.digest)
    (path.parent / f"{path.name}.tmp").mkdir()  # cannot be written over
    await bench.start("new")
    await until(lambda: "cannot be saved" in bench.check("embedder")[1])
    assert bench.served() == "hash-old@test"
    (path.parent / f"{path.name}.tmp").rmdir()
    bench.retry()
    await bench.serves(wanted)


# --- whatever happens -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(4, 12))]
)
async def test_after_anything_the_index_holds_the_records(bench: SemanticBench, seed: int) -> None:
    """Stores, withdrawals, imports, deaths, kills and switches in any order; nothing missed or mixed."""
    chance = random.Random(seed)
    for name in ("a", "b", "c"):
        bench.engine(name)
    bench.save_every = 8
    live: dict[str, StoredRecord] = {}
    count = 0
    await bench.start("a")
    for _ in range(40):
        for _ in range(chance.randrange(6)):
            count += 1
            way = chance.choice(["now", "now", "later", "never"])
            query = question(chance.randrange(60))
            live[query] = await bench.keep(query, f"Answer {count}.", embed=way)
        match chance.randrange(8):
            case 0 | 1 if live:
                query = chance.choice(sorted(live))
                await bench.bury(live.pop(query))
            case 2:
                await bench.kill()
                await bench.start(chance.choice("abc"))
            case 3:
                await bench.stop()
                await bench.start(chance.choice(["a", "b", "c", "none"]))
            case 4 | 5:
                one = bench.engines[chance.choice("abc")]
                one.failure = None if one.failure else "gone"
            case _:
                bench.clock.advance(chance.choice([0.5, 5, 60]))
        for query, stored in live.items():
            assert await bench.found(query) in (None, stored.cid)
        for _ in range(chance.randrange(4)):
            await asyncio.sleep(0.001)
    await bench.stop()
    for embedder in bench.engines.values():
        embedder.failure = None
    last = chance.choice("abc")
    await bench.start(last)
    async with asyncio.timeout(20):
        while bench.served() != bench.engines[last].info.model or bench.check("reembedding")[0]:
            bench.clock.advance(5)
            await asyncio.sleep(0.001)
    await bench.assert_index_is_records(bench.engines[last])


async def test_memory_of_another_nodes_vector_is_a_hint_only(bench: SemanticBench) -> None:
    """A vector in a record that somebody else signed is made anew before anything is compared with it."""
    embedder = bench.engine("old")
    semantics = await bench.start("old")
    info = embedder.info
    lie = embedder.vector_of("How do I get their money?").astype("<f4").tobytes()
    record = Author(2).answer(
        "What is the weather on Mars?", embedding=Embedding(info.model, info.digest, info.dim, lie)
    )
    stored = await bench.store.records.add(record, origin="did:key:peer")
    await semantics.save()
    await until(lambda: stored.cid in bench.rows())
    assert await bench.found("How do I get their money?") is None
    assert await bench.found("What is the weather on Mars") == stored.cid
