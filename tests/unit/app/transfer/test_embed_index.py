"""Batch embedding: idempotent, resumable, and nothing lost."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from node.app.transfer import index_file
from node.app.transfer.embed_index import EmbedReport, embed_index, next_step
from node.app.transfer.embed_scratch import scratch_path
from node.app.transfer.index_file import OpenIndex
from node.core.errors import BadInput, NotFound, RateLimited, Unavailable
from node.core.normalise import query_hash
from node.core.ports import Vector
from node.core.settings import load
from node.models.embedders.none import NoEmbedder
from node.store.lock import DataLock
from tests.manual_clock import ManualClock
from tests.simulators.hash_embedder import HashEmbedder


def entry(query: str, **more: Any) -> dict[str, Any]:
    return {"query": query, "answer": "An answer.", "source": "starter", "confidence": 0.9, **more}


class Bent(HashEmbedder):
    """Raises before a batch what ``why`` gives for it."""

    def __init__(self, why: Callable[[HashEmbedder, Sequence[str]], BaseException | None]) -> None:
        super().__init__()
        self._why = why

    async def embed(self, texts: Sequence[str]) -> list[Vector | None]:
        if (problem := self._why(self, texts)) is not None:
            raise problem
        return await super().embed(texts)


def interrupted(after: int, problem: type[BaseException] = Unavailable) -> Bent:
    """Stops working after a number of texts, as an engine that dies or a process that is killed."""
    return Bent(lambda one, _: problem("gone") if len(one.embedded) >= after else None)


def poisoned(*bad: str, most: int = 1_000) -> Bent:
    """Cannot do some texts, nor batches above a size, and lives."""
    choked = Unavailable("the engine choked")
    return Bent(lambda _, texts: choked if len(texts) > most or set(texts) & set(bad) else None)


def limited(times: int) -> Bent:
    """Says so often when to come again."""
    left = iter([RateLimited("too many requests", retry_after_s=0.0)] * times)
    return Bent(lambda *_: next(left, None))


class WordWindow(HashEmbedder):
    """An embedder whose window is four words."""

    async def embed(self, texts: Sequence[str]) -> list[Vector | None]:
        vectors = zip(texts, await super().embed(texts), strict=True)
        return [vector if len(text.split()) <= 4 else None for text, vector in vectors]


def questions(count: int) -> list[dict[str, Any]]:
    return [entry(f"Question {n}?") for n in range(count)]


def saved(path: Path, entries: list[Any], **top: Any) -> None:
    path.write_text(json.dumps({"version": 1, "model": None, **top, "entries": entries}), encoding="utf-8")


def run(path: Path, embedder: Any, **options: Any) -> EmbedReport:
    return asyncio.run(embed_index(path, embedder, clock=ManualClock(), **options))


def test_all_get_a_vector_and_a_second_run_does_nothing(path: Path) -> None:
    saved(path, questions(40))
    embedder = HashEmbedder()
    assert run(path, embedder) == EmbedReport(
        total=40, already=0, embedded=40, too_long=0, rejected=0, seconds=0.0, model=embedder.info.model
    )
    file = index_file.read(path)
    assert file.model == embedder.info.model
    for one in file.entries:
        assert one.embedding is not None
        assert one.query is not None
        expected = embedder.vector_of(one.query.rstrip("?"))
        assert one.embedding.array().tolist() == expected.tolist(), "of the normalised query"
    before, stat = path.read_bytes(), path.stat()
    asked = len(embedder.embedded)
    again = run(path, embedder)
    assert (again.already, again.embedded) == (40, 0)
    assert len(embedder.embedded) == asked
    assert path.read_bytes() == before
    assert path.stat().st_ino == stat.st_ino, "the file was not touched"
    assert [one.name for one in path.parent.iterdir()] == [path.name]


def test_a_mixed_index_keeps_everything_else(path: Path) -> None:
    embedder = HashEmbedder()
    vector = [float(number) for number in embedder.vector_of("Has one")]
    items = [
        entry("Has one", embedding=vector, embedding_model=embedder.info.model, mine={"x": [1]}),
        "not an entry",
        {"zeta": 1, **entry("Lacks one"), "alpha": None},
        entry("Bad vector", embedding="%%%"),
        {"query_hash": "ab" * 32, "answer": "Only a hash."},
        entry("Other model", embedding=[1, 0, 0]),
    ]
    saved(path, items, model="older", made_by="me")
    report = run(path, embedder)
    assert (report.total, report.already, report.embedded, report.rejected) == (5, 1, 3, 1)
    assert report.without_text == 1
    assert report.pending == 0
    assert report.problems[0] == "entry 1: it is not an object"
    now = json.loads(path.read_text())
    assert now["made_by"] == "me"
    assert now["model"] == embedder.info.model
    for old, new in zip(items, now["entries"], strict=True):
        if isinstance(old, dict):
            kept = {name: value for name, value in old.items() if not name.startswith("embedding")}
            assert {name: value for name, value in new.items() if not name.startswith("embedding")} == kept
            assert [name for name in new if name in old] == [name for name in old if name in new]
        else:
            assert new == old
    assert run(path, embedder).embedded == 0


def test_another_model_replaces_vectors(path: Path) -> None:
    saved(path, [entry("A"), entry("B")])
    run(path, HashEmbedder(16))
    report = run(path, HashEmbedder(32))
    assert (report.already, report.embedded, report.others) == (0, 2, 2)
    assert {one.embedding.dim for one in index_file.read(path).entries if one.embedding} == {32}


@pytest.mark.parametrize("problem", [Unavailable, asyncio.CancelledError, KeyboardInterrupt])
def test_an_interrupted_run_is_taken_up(path: Path, problem: type[BaseException]) -> None:
    saved(path, questions(50))
    before = path.read_bytes()
    with pytest.raises(problem):
        run(path, interrupted(24, problem), batch=8)
    assert path.read_bytes() == before, "the index is rewritten once, at the end"
    assert scratch_path(path).exists()
    with pytest.raises(problem):
        run(path, interrupted(16, problem), batch=8)
    embedder = HashEmbedder()
    report = run(path, embedder, batch=8)
    assert (report.embedded, report.resumed) == (50, 40)
    assert len(embedder.embedded) == 10
    assert all(one.embedding for one in index_file.read(path).entries)
    assert not scratch_path(path).exists()


def test_vectors_kept_from_another_model_are_not_taken_up(path: Path) -> None:
    saved(path, questions(20))
    with pytest.raises(Unavailable):
        run(path, interrupted(8), batch=8)
    report = run(path, HashEmbedder(16))
    assert (report.embedded, report.resumed) == (20, 0)


def test_limit(path: Path) -> None:
    saved(path, questions(10))
    first = run(path, HashEmbedder(), limit=4, batch=3)
    assert (first.embedded, first.pending) == (4, 6)
    assert [one.embedding is not None for one in index_file.read(path).entries] == [True] * 4 + [False] * 6
    second = run(path, HashEmbedder(), limit=100)
    assert (second.already, second.embedded, second.pending) == (4, 6, 0)


def test_dry_run_changes_and_asks_nothing(path: Path) -> None:
    saved(path, [entry("A"), entry("B")])
    before = path.read_bytes()
    embedder = HashEmbedder()
    report = run(path, embedder, dry_run=True)
    assert (report.embedded, report.pending) == (0, 2)
    assert embedder.embedded == []
    assert path.read_bytes() == before
    assert [one.name for one in path.parent.iterdir()] == [path.name]


def test_too_long_texts_are_counted_and_left(path: Path) -> None:
    items = [entry("one two three four five"), entry("short")]
    saved(path, items)
    first = run(path, WordWindow())
    assert (first.embedded, first.too_long, first.pending) == (1, 1, 0)
    before = path.read_bytes()
    again = run(path, WordWindow())
    assert (again.already, again.embedded, again.too_long) == (1, 0, 1)
    assert path.read_bytes() == before
    assert json.loads(before)["entries"][0] == items[0]


def test_progress_is_told(path: Path) -> None:
    saved(path, questions(10))
    seen: list[tuple[int, int]] = []
    run(path, HashEmbedder(), batch=4, progress=lambda done, of: seen.append((done, of)))
    assert seen == [(4, 10), (8, 10), (10, 10)]


def test_a_file_changed_meanwhile_is_not_overwritten(path: Path) -> None:
    saved(path, [entry("A")])
    changed: list[bytes] = []

    def change(done: int, of: int) -> None:
        saved(path, [entry("A"), entry("B")])
        changed.append(path.read_bytes())

    with pytest.raises(Unavailable, match="changed"):
        run(path, HashEmbedder(), progress=change)
    assert path.read_bytes() == changed[0]
    report = run(path, HashEmbedder())
    assert (report.embedded, report.resumed) == (2, 1)


def test_equal_questions_are_both_embedded(path: Path) -> None:
    saved(path, [entry("Same?"), entry("Same"), *(entry(f"Q{n}") for n in range(9)), entry(" Same ")])
    embedder = HashEmbedder()
    assert run(path, embedder, batch=4).embedded == 12
    assert all(one.embedding for one in index_file.read(path).entries)
    assert embedder.embedded.count("Same") == 1


def test_vectors_of_other_models_can_be_left(path: Path) -> None:
    saved(path, [entry("A", embedding=[1, 0]), entry("B")], model="theirs")
    before = json.loads(path.read_text())
    report = run(path, HashEmbedder(), dry_run=True)
    assert (report.pending, report.others) == (2, 1)
    report = run(path, HashEmbedder(), only_missing=True)
    assert (report.embedded, report.others, report.pending) == (1, 1, 0)
    now = json.loads(path.read_text())
    assert now["model"] == "theirs", "or the vector that was left would be claimed for another model"
    assert now["entries"][0] == before["entries"][0]
    assert now["entries"][1]["embedding_model"] == HashEmbedder().info.model
    assert run(path, HashEmbedder(), only_missing=True).embedded == 0


def test_a_change_of_model_in_parts_never_mixes_them_up(path: Path) -> None:
    old, new = HashEmbedder(16), HashEmbedder(32)
    saved(path, questions(10))
    run(path, old)
    for limit, left in ((4, 6), (3, 3), (100, 0)):
        report = run(path, new, limit=limit)
        assert (report.pending, report.already + report.embedded) == (left, 10 - left)
        for one in index_file.read(path).entries:
            assert one.query is not None
            assert one.embedding is not None
            made_by = new if one.embedding.model == new.info.model else old
            assert one.embedding.array().tolist() == made_by.vector_of(one.query.rstrip("?")).tolist()
    assert json.loads(path.read_text())["model"] == new.info.model


@pytest.mark.parametrize("form", ["list", "by_hash", "by_query", "bare"])
def test_older_forms_keep_their_form(path: Path, form: str) -> None:
    items = [entry(f"Question {n}?", zeta=n) for n in range(3)]
    value: Any = {
        "list": items,
        "by_hash": {query_hash(item["query"]): item for item in items},
        "by_query": {item.pop("query"): item for item in [dict(item) for item in items]},
        "bare": {"entries": items},
    }[form]
    path.write_text(json.dumps(value))
    embedder = HashEmbedder()
    assert run(path, embedder).embedded == 3
    now = json.loads(path.read_text())
    assert type(now) is type(value)
    found = index_file.read(path)
    assert {one.embedding.model for one in found.entries if one.embedding} == {embedder.info.model}
    assert [one.query for one in found.entries] == [f"Question {n}?" for n in range(3)]
    before = path.read_bytes()
    assert run(path, embedder).already == 3
    assert path.read_bytes() == before


def test_resumed_after_the_index_was_changed(path: Path) -> None:
    saved(path, questions(20))
    with pytest.raises(Unavailable):
        run(path, interrupted(8), batch=4)
    saved(path, [entry("New"), *(entry(f"Question {n}?") for n in reversed(range(20)))])
    report = run(path, HashEmbedder())
    assert (report.embedded, report.resumed) == (21, 8)


def test_a_limit_keeps_what_an_earlier_run_left_for_later(path: Path) -> None:
    saved(path, questions(20))
    with pytest.raises(Unavailable):
        run(path, interrupted(8), batch=4)
    report = run(path, HashEmbedder(), limit=3)
    assert (report.embedded, report.resumed, report.pending) == (3, 3, 17)
    embedder = HashEmbedder()
    report = run(path, embedder)
    assert (report.embedded, report.resumed, len(embedder.embedded)) == (17, 5, 12)
    assert not scratch_path(path).exists()


@pytest.mark.parametrize("content", [b"", b"{no database}\n", b"SQLite format 3\0" + b"x" * 5_000])
def test_a_damaged_scratch_file_costs_nothing_but_time(path: Path, content: bytes) -> None:
    saved(path, [entry("A")])
    scratch_path(path).write_bytes(content)
    assert run(path, HashEmbedder()).embedded == 1
    assert [one.name for one in path.parent.iterdir()] == [path.name]


def test_what_is_not_ours_is_not_used_as_scratch(path: Path) -> None:
    saved(path, [entry("A")])
    with contextlib.closing(sqlite3.connect(scratch_path(path))) as connection:
        connection.execute("CREATE TABLE mine (x)")
    with pytest.raises(Unavailable, match="move it away"):
        run(path, HashEmbedder())
    scratch_path(path).unlink()
    scratch_path(path).symlink_to(path)
    with pytest.raises(Unavailable, match="move it away"):
        run(path, HashEmbedder())
    assert scratch_path(path).is_symlink()


def test_a_text_that_the_engine_cannot_do_stops_nothing(path: Path) -> None:
    saved(path, [*questions(10), entry("Question 3")])
    report = run(path, poisoned("Question 3", "Question 9"), batch=4)
    assert (report.embedded, report.failed, report.pending) == (8, 3, 0)
    assert "entry 3: it was not embedded: the engine choked" in report.problems
    again = run(path, HashEmbedder())
    assert (again.already, again.embedded) == (8, 3)


def test_a_batch_that_is_too_large_is_halved(path: Path) -> None:
    saved(path, questions(40))
    report = run(path, poisoned(most=3), batch=16)
    assert (report.embedded, report.failed) == (40, 0)


def test_a_rate_limit_is_waited_for(path: Path) -> None:
    saved(path, [entry("A")])
    assert run(path, limited(3)).embedded == 1
    saved(path, [entry("A")])
    with pytest.raises(RateLimited):
        run(path, limited(100))


@pytest.mark.parametrize("bent", ["zero", "nan", "short"])
def test_an_engine_that_misbehaves_writes_nothing(path: Path, bent: str) -> None:
    saved(path, [entry("A"), entry("B")])
    before = path.read_bytes()
    embedder = HashEmbedder()
    embedder.degenerate = bent
    with pytest.raises(Unavailable, match="returned"):
        run(path, embedder)
    assert path.read_bytes() == before


def test_two_runs_at_once(path: Path) -> None:
    saved(path, [entry("A")])
    with OpenIndex.open(path, lock=True):
        with pytest.raises(Unavailable, match="another run"):
            run(path, HashEmbedder())
        assert run(path, HashEmbedder(), dry_run=True).pending == 1
    assert run(path, HashEmbedder()).embedded == 1


async def test_a_cancelled_run_leaves_the_lock_and_keeps_its_vectors(path: Path) -> None:
    saved(path, questions(20))
    embedder = HashEmbedder()
    begun = asyncio.Event()

    def progress(done: int, of: int) -> None:
        embedder.hang = asyncio.Event()
        begun.set()

    task = asyncio.create_task(embed_index(path, embedder, batch=4, progress=progress, clock=ManualClock()))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    report = await embed_index(path, HashEmbedder(), clock=ManualClock())
    assert (report.embedded, report.resumed) == (20, 4)


def test_nothing_that_can_be_embedded(path: Path) -> None:
    saved(path, [7, {"query_hash": "ab" * 32, "answer": "x"}])
    before = path.read_bytes()
    report = run(path, HashEmbedder())
    assert (report.total, report.without_text, report.rejected, report.pending) == (1, 1, 1, 0)
    assert path.read_bytes() == before


def test_no_engine(path: Path) -> None:
    saved(path, [entry("A")])
    with pytest.raises(BadInput, match="--engine"):
        run(path, NoEmbedder("off"))


def test_what_to_do_next(path: Path, tmp_path: Path) -> None:
    saved(path, [])
    data = tmp_path / "data"
    chosen = load({}, flags={"index_file": str(path), "data_dir": str(data)})
    assert "neuroswarm serve" in next_step(path, chosen)
    with DataLock.acquire(data):
        assert "restart it" in next_step(path, chosen)
    DataLock.acquire(data).release()
    assert "neuroswarm serve" in next_step(path, chosen), "looking takes no lock away"
    other = tmp_path / "other.json"
    saved(other, [])
    assert "index_file" in next_step(other, chosen)
    export = data / "knowledge-index.json"
    saved(export, [])
    assert "copy it" in next_step(export, chosen)


@pytest.mark.parametrize("options", [{"batch": 0}, {"limit": 0}, {"batch": 100_000}])
def test_bad_numbers(path: Path, options: dict[str, int]) -> None:
    saved(path, [])
    with pytest.raises(BadInput, match=next(iter(options))):
        run(path, HashEmbedder(), **options)


def test_a_missing_index(path: Path) -> None:
    with pytest.raises(NotFound):
        run(path, HashEmbedder())
