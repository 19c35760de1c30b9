"""Batch embedding: idempotent, resumable, and nothing lost."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from node.clock import ManualClock
from node.errors import BadInput, NotFound, Unavailable
from node.jobs import index_file
from node.jobs.embed import EmbedReport, embed_index, side_file
from node.model import Check
from node.ports import EmbedderInfo, Vector
from tests.simulators.hash_embedder import HashEmbedder


def entry(query: str, **more: Any) -> dict[str, Any]:
    return {"query": query, "answer": "An answer.", "source": "starter", "confidence": 0.9, **more}


class Interrupted(HashEmbedder):
    """Stops working after a number of texts, as an engine that dies or a process that is killed."""

    def __init__(self, after: int, problem: type[BaseException] = Unavailable) -> None:
        super().__init__()
        self._after = after
        self._problem = problem

    async def embed(self, texts: Sequence[str]) -> list[Vector | None]:
        if len(self.embedded) >= self._after:
            raise self._problem("gone")
        return await super().embed(texts)


class WordWindow:
    """An embedder whose window is four words."""

    def __init__(self) -> None:
        self._inner = HashEmbedder()

    @property
    def info(self) -> EmbedderInfo:
        return self._inner.info

    async def embed(self, texts: Sequence[str]) -> list[Vector | None]:
        return [
            vector if len(text.split()) <= 4 else None
            for text, vector in zip(texts, await self._inner.embed(texts), strict=True)
        ]

    def health(self) -> Check:
        return self._inner.health()

    async def close(self) -> None:
        await self._inner.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "knowledge-index.json"


def saved(path: Path, entries: list[Any], **top: Any) -> None:
    path.write_text(json.dumps({"version": 1, "model": None, **top, "entries": entries}), encoding="utf-8")


def run(path: Path, embedder: Any, **options: Any) -> EmbedReport:
    return asyncio.run(embed_index(path, embedder, clock=ManualClock(), **options))


def test_all_get_a_vector_and_a_second_run_does_nothing(path: Path) -> None:
    saved(path, [entry(f"Question {n}?") for n in range(40)])
    embedder = HashEmbedder()
    report = run(path, embedder)
    assert report == EmbedReport(total=40, already=0, embedded=40, too_long=0, rejected=0, seconds=0.0)
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
    assert (report.already, report.embedded) == (0, 2)
    assert {one.embedding.dim for one in index_file.read(path).entries if one.embedding} == {32}


@pytest.mark.parametrize("problem", [Unavailable, asyncio.CancelledError, KeyboardInterrupt])
def test_an_interrupted_run_is_taken_up(path: Path, problem: type[BaseException]) -> None:
    saved(path, [entry(f"Question {n}?") for n in range(50)])
    before = path.read_bytes()
    with pytest.raises(problem):
        run(path, Interrupted(24, problem), batch=8)
    assert path.read_bytes() == before, "the index is rewritten once, at the end"
    assert side_file(path).exists()
    with side_file(path).open("ab") as torn:
        torn.write(b'{"key": "half a li')
    with pytest.raises(problem):
        run(path, Interrupted(16, problem), batch=8)
    embedder = HashEmbedder()
    report = run(path, embedder, batch=8)
    assert (report.embedded, report.resumed) == (50, 40)
    assert len(embedder.embedded) == 10
    assert all(one.embedding for one in index_file.read(path).entries)
    assert not side_file(path).exists()


def test_vectors_kept_from_another_model_are_not_taken_up(path: Path) -> None:
    saved(path, [entry(f"Question {n}?") for n in range(20)])
    with pytest.raises(Unavailable):
        run(path, Interrupted(8), batch=8)
    report = run(path, HashEmbedder(16))
    assert (report.embedded, report.resumed) == (20, 0)


def test_limit(path: Path) -> None:
    saved(path, [entry(f"Question {n}?") for n in range(10)])
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
    saved(path, [entry(f"Question {n}?") for n in range(10)])
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
    saved(path, [entry("Same?"), entry("Same")])
    assert run(path, HashEmbedder()).embedded == 2
    assert all(one.embedding for one in index_file.read(path).entries)


@pytest.mark.parametrize("options", [{"batch": 0}, {"limit": 0}, {"checkpoint_every": -1}])
def test_bad_numbers(path: Path, options: dict[str, int]) -> None:
    saved(path, [])
    with pytest.raises(BadInput, match=next(iter(options))):
        run(path, HashEmbedder(), **options)


def test_a_missing_index(path: Path) -> None:
    with pytest.raises(NotFound):
        run(path, HashEmbedder())
