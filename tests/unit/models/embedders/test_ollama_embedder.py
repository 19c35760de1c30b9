"""Embeddings by Ollama, against a stand-in that misbehaves in every way we know of, and a real server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from node.core.clock import SystemClock
from node.core.errors import Misconfigured, Unavailable
from node.core.settings import Embed, Models, Settings
from node.models.embedders import factory
from node.models.embedders.ollama import RECHECK_S, WINDOW_MAX, OllamaEmbedder
from node.models.embedders.outside import BACK_WAIT_S, BATCH_TEXTS, PAUSE_S
from tests.engines import Ollama
from tests.manual_clock import ManualClock
from tests.simulators.ollama import MINILM, OllamaStandIn, StandInModel
from tests.unit.models.embedders.conftest import Load, fails, settings

Bend = Callable[[Any], Any]


@pytest.fixture
async def server() -> AsyncIterator[OllamaStandIn]:
    async with OllamaStandIn(models=(MINILM,)) as running:
        yield running


async def settle(rounds: int = 50) -> None:
    """Let every task run until it waits for something outside."""
    for _ in range(rounds):
        await asyncio.sleep(0)


def paths(server: OllamaStandIn) -> list[str]:
    return [seen.path for seen in server.requests]


# --- loading --------------------------------------------------------------------------------------


async def test_what_is_asked_and_what_it_says_of_itself(server: OllamaStandIn, load: Load) -> None:
    embedder = await load()
    assert paths(server) == ["/api/tags", "/api/show", "/api/embed"]  # its health first
    body = server.requests[-1].body
    assert (body["model"], body["truncate"]) == ("all-minilm:latest", False)
    assert body["options"] == {"num_ctx": 256, "num_thread": 1}
    info = embedder.info
    assert (info.model, info.digest) == (f"all-minilm:latest@{MINILM.digest[:12]}", MINILM.digest)
    assert (info.dim, info.tokens_max) == (MINILM.dim, 256)
    assert embedder.health().status == "pass"


@pytest.mark.parametrize(
    ("context_length", "parameters", "window"),
    [
        (512, "", 512),
        (131_072, "", WINDOW_MAX),
        (8_192, "num_thread 1\nnum_ctx                        8192", 8_192),
        (512, "num_ctx 8192", 512),
        (8_192, "num_ctx many", WINDOW_MAX),
    ],
)
async def test_the_window(
    server: OllamaStandIn, load: Load, context_length: int, parameters: str, window: int
) -> None:
    server.models = (replace(MINILM, context_length=context_length, parameters=parameters),)
    assert (await load()).info.tokens_max == window


async def test_the_model_of_the_source_documents_is_the_default(server: OllamaStandIn, load: Load) -> None:
    server.models = (MINILM, StandInModel())
    assert (await load(model="")).info.model.startswith("llama3.2:latest@")


async def test_the_factory_loads_and_tries_it(server: OllamaStandIn) -> None:
    embedder = await factory.load(settings(server), SystemClock())
    assert embedder.info.dim == MINILM.dim
    await embedder.close()


async def test_nobody_there(server: OllamaStandIn) -> None:
    async with OllamaStandIn() as gone:
        pass
    with pytest.raises(Unavailable, match="not reachable"):
        await OllamaEmbedder.load(settings(gone), SystemClock())


async def test_no_address() -> None:
    with pytest.raises(Misconfigured, match="ollama_url"):
        await OllamaEmbedder.load(Settings(models=Models(ollama_url="")), SystemClock())


async def test_no_such_model(load: Load) -> None:
    with pytest.raises(Unavailable, match="Ollama has no model absent; type: ollama pull absent"):
        await load(model="absent")


async def test_a_model_that_makes_no_embeddings(server: OllamaStandIn, load: Load) -> None:
    server.models = (replace(MINILM, embeds=False),)
    words = r"all-minilm:latest of Ollama makes no embeddings: set embed\.model"
    with pytest.raises(Misconfigured, match=words):
        await load()
    assert len(server.embedded) == 1  # and it is not asked again


async def test_the_start_tries_again(server: OllamaStandIn, load: Load) -> None:
    server.failures = 1
    assert (await load(attempts=2)).info.dim == MINILM.dim
    server.failures = 2
    with pytest.raises(Unavailable, match="something broke"):
        await load(attempts=2)


async def test_each_attempt_of_the_start_has_its_time(server: OllamaStandIn, load: Load) -> None:
    clock = ManualClock()
    server.hang = True
    task = asyncio.create_task(load(clock, timeout_s=30, attempts=2))
    for attempt in (1, 2):
        while len(server.embedded) < attempt:
            clock.advance(0.01)  # the backoff
            await asyncio.sleep(0)
        await settle()
        assert not task.done()
        clock.advance(30)
    with pytest.raises(Unavailable):
        await task
    assert len(server.embedded) == 2


# --- vectors --------------------------------------------------------------------------------------


async def test_both_endpoints_give_the_same_vectors(server: OllamaStandIn, load: Load) -> None:
    texts = ["one two", "three"]
    new = await (await load()).embed(texts)
    server.is_old = True
    old_embedder = await load()
    old = await old_embedder.embed(texts)
    for before, after in zip(new, old, strict=True):
        np.testing.assert_allclose(before, after, atol=1e-6)
    assert paths(server).count("/api/embeddings") == 3  # one text at a time, the first try included
    assert old_embedder.info.digest == MINILM.digest


async def test_long_texts_are_none_and_cost_the_others_nothing(server: OllamaStandIn, load: Load) -> None:
    embedder = await load()
    long = "word " * 255
    vectors = await embedder.embed(["short", long, "also short", "word " * 254])
    assert [vector is None for vector in vectors] == [False, True, False, False]
    assert embedder.health().status == "pass"


async def test_the_old_endpoint_gets_only_what_certainly_fits(server: OllamaStandIn, load: Load) -> None:
    server.is_old = True
    embedder = await load()
    assert embedder.info.tokens_max == 512
    vectors = await embedder.embed(["x" * 510, "x" * 511, "é" * 256])
    assert [vector is None for vector in vectors] == [False, True, True]


async def test_what_is_no_text_is_none_and_is_not_sent(server: OllamaStandIn, load: Load) -> None:
    embedder = await load()
    asked = len(server.embedded)
    assert await embedder.embed(["", " \n", "half \ud800", "cut\0here", "x" * 70_000]) == [None] * 5
    assert len(server.embedded) == asked


async def test_bulk_goes_in_bounded_batches_and_each_text_once(server: OllamaStandIn, load: Load) -> None:
    embedder = await load()
    texts = [f"question {number}" for number in range(60)]
    vectors = await asyncio.gather(*(embedder.embed(some) for some in (texts, texts[:40], [texts[5]])))
    assert all(vector is not None for vector in vectors[0])
    assert sorted(server.embedded[1:]) == sorted(texts)
    sizes = [len(seen.body["input"]) for seen in server.requests if seen.path == "/api/embed"]
    assert max(sizes) <= BATCH_TEXTS


async def test_a_question_does_not_wait_behind_bulk(server: OllamaStandIn, load: Load) -> None:
    embedder = await load()
    bulk = asyncio.create_task(embedder.embed([f"bulk text {number}" for number in range(200)]))
    while len(server.embedded) < 2:
        await asyncio.sleep(0)
    await embedder.embed(["a question"])
    assert not bulk.done()
    assert server.embedded.index("a question") <= 1 + 2 * BATCH_TEXTS
    assert len(await bulk) == 200


def each(vector: list[Any]) -> Bend:
    """This instead of each vector."""
    return lambda vectors: [vector for _ in vectors]


def first(number: object) -> Bend:
    """This at the first place of each vector."""
    return lambda vectors: [[number, *vector[1:]] for vector in vectors]


BENT: dict[str, Bend] = {
    "one too few": lambda vectors: vectors[1:],
    "one too many": lambda vectors: [*vectors, vectors[0]],
    "a map": lambda vectors: {"0": vectors[0]},
    "a text": lambda vectors: "text",
    "nothing": lambda vectors: None,
    "too short": lambda vectors: [vector[1:] for vector in vectors],
    **{f"each {one[:1]}": each(one) for one in ([0.0] * MINILM.dim, [0.25] * MINILM.dim, [], [[1.0, 2.0]])},
    **{f"first {one}": first(one) for one in (float("nan"), float("inf"), 1e300, None, "text")},
}


@pytest.mark.parametrize("bend", BENT.values(), ids=BENT)
async def test_unusable_vectors_are_refused(server: OllamaStandIn, load: Load, bend: Bend) -> None:
    embedder = await load(ManualClock(), attempts=1)
    server.bend = bend
    assert await fails(embedder, "something")
    assert embedder.health().status == "warn"
    server.bend = None
    assert (await embedder.embed(["something"]))[0] is not None
    assert embedder.health().status == "pass"


@pytest.mark.parametrize(
    "vector", [[], [0.0] * 8, [0.25] * 8, [float("nan")] * 8, [1e300] * 8, [10**400], ["text"], [None]]
)
async def test_an_engine_with_unusable_vectors_is_not_taken(
    server: OllamaStandIn, load: Load, vector: Any
) -> None:
    server.bend = lambda _: [vector]
    with pytest.raises(Unavailable):
        await load()


@pytest.mark.parametrize(
    "body", [b"", b"not json", b"[]", b"{}", b'{"embeddings": 5}', b"[" * 100_000, b"\xff"]
)
async def test_what_is_not_the_protocol(server: OllamaStandIn, load: Load, body: bytes) -> None:
    embedder = await load(ManualClock(), attempts=1)
    server.raw_body = body
    assert await fails(embedder, "something")
    server.raw_body = None
    assert (await embedder.embed(["something"]))[0] is not None


# --- away and back --------------------------------------------------------------------------------


async def test_a_passing_failure_is_tried_again(server: OllamaStandIn, load: Load) -> None:
    embedder = await load()
    server.failures = 2
    assert (await embedder.embed(["something"]))[0] is not None
    assert embedder.health().status == "pass"


async def test_an_engine_that_dies_is_left_alone_and_found_again(server: OllamaStandIn, load: Load) -> None:
    clock = ManualClock()
    embedder = await load(clock, attempts=1)
    before = (await embedder.embed(["something"]))[0]
    await server.__aexit__()
    assert "not reachable" in await fails(embedder, "one")
    assert "not reachable" in await fails(embedder, "two")  # asked whether it is back: it is not
    check = embedder.health()
    assert check.status == "warn"
    assert "not reachable" in check.output
    server.requests.clear()
    async with OllamaStandIn(models=(MINILM,), port=server.port) as again:
        assert "not reachable" in await fails(embedder, "three")
        assert again.requests == []  # not before the pause is over
        clock.advance(PAUSE_S)
        vectors = await embedder.embed(["four", "something"])
        assert vectors[0] is not None
        np.testing.assert_array_equal(vectors[1], before)
        assert paths(again)[:2] == ["/api/tags", "/api/show"]
        assert embedder.health().status == "pass"
        await embedder.close()


async def test_an_engine_that_hangs_costs_its_time_once(server: OllamaStandIn, load: Load) -> None:
    clock = ManualClock()
    embedder = await load(clock)
    server.hang = True
    first = asyncio.create_task(embedder.embed(["first"]))
    queued = asyncio.create_task(embedder.embed(["queued"]))
    while len(server.embedded) < 2:
        await asyncio.sleep(0)
    clock.advance(30)
    for task in (first, queued):
        with pytest.raises(Unavailable, match="did not answer"):
            await task
    asked = len(server.embedded)
    later = asyncio.create_task(embedder.embed(["later"]))
    while len(server.embedded) == asked:  # the check reaches the server and hangs there
        await asyncio.sleep(0)
    await settle()
    clock.advance(BACK_WAIT_S)
    with pytest.raises(Unavailable, match="did not answer"):
        await later
    assert len(server.embedded) == asked + 1
    server.hang = False
    server.release()
    assert (await embedder.embed(["at last"]))[0] is not None


@pytest.mark.parametrize("fault", ["failure", "minute"])
async def test_another_model_of_that_name_is_refused(server: OllamaStandIn, load: Load, fault: str) -> None:
    clock = ManualClock()
    embedder = await load(clock, attempts=1)
    server.models = (replace(MINILM, version="2"),)
    if fault == "failure":
        server.failures = 1
    else:
        clock.advance(RECHECK_S)
    await fails(embedder, "one")
    for _ in range(2):
        said = await fails(embedder, "two")
        assert "is another one now" in said
        assert "start the node anew" in said
        clock.advance(PAUSE_S)
    assert "another one now" in embedder.health().output
    server.models = (MINILM,)
    assert (await embedder.embed(["three"]))[0] is not None


class Undigested(StandInModel):
    """Listed without a digest."""

    @property
    def digest(self) -> str:
        return ""


@pytest.mark.parametrize(
    ("models", "failures", "words"),
    [
        ((), 0, "has no model"),
        ((replace(MINILM, embeds=False),), 0, "makes no embeddings"),
        ((Undigested(name=MINILM.name),), 1, "tells no digest"),
    ],
)
async def test_a_model_that_is_gone_or_cannot(
    server: OllamaStandIn, load: Load, models: tuple[StandInModel, ...], failures: int, words: str
) -> None:
    embedder = await load(ManualClock(), attempts=1)
    server.models, server.failures = models, failures
    assert await fails(embedder, "one")
    assert words in await fails(embedder, "two")


async def test_closing_does_not_wait_for_a_server_that_hangs(server: OllamaStandIn, load: Load) -> None:
    embedder = await load()
    server.hang = True
    task = asyncio.create_task(embedder.embed(["something"]))
    while len(server.embedded) < 2:
        await asyncio.sleep(0)
    await embedder.close()
    with pytest.raises(Unavailable):
        await task
    await embedder.close()
    assert "closed" in embedder.health().output


# --- a real server --------------------------------------------------------------------------------


def real_settings(server: Ollama, model: str) -> Settings:
    return Settings(embed=Embed(engine="ollama", model=model), models=Models(ollama_url=server.url))


@pytest.mark.engine("ollama")
@pytest.mark.timeout(300)
async def test_a_real_ollama_passes_the_self_test_and_is_found_again(real_ollama: Ollama) -> None:
    named = real_settings(real_ollama, real_ollama.embed_model)
    embedder = await factory.load(named, SystemClock())
    try:
        assert embedder.info.dim == 384
        before = await embedder.embed(["What is the capital of France?"])
        real_ollama.kill()
        assert await fails(embedder, "one")
        assert embedder.health().status == "warn"
        real_ollama.restart()
        while True:
            try:
                assert (await embedder.embed(["two"]))[0] is not None
                break
            except Unavailable:
                await asyncio.sleep(0.05)  # a real server, in real time
        assert embedder.health().status == "pass"
        again = await OllamaEmbedder.load(named, SystemClock())
        after = await again.embed(["What is the capital of France?"])
        await again.close()
        assert before[0] is not None
        assert after[0] is not None
        np.testing.assert_allclose(before[0], after[0], atol=1e-5)
    finally:
        await embedder.close()


@pytest.mark.engine("ollama")
async def test_a_real_base_model_makes_no_embeddings(real_ollama: Ollama) -> None:
    with pytest.raises(Misconfigured, match="makes no embeddings"):
        await OllamaEmbedder.load(real_settings(real_ollama, real_ollama.model), SystemClock())
