"""Answers fall with their documents, whatever was cut in between."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from node.core.errors import Unavailable
from node.core.ipld.cid import RAW, Cid
from node.knowledge.model import Document
from node.knowledge.used import SETTLED_S, UsedDocuments, tag_of, tags, used_of

DOCUMENT = Document(
    1, "shared", "a.md", Cid(RAW, bytes(32)), "00", "text/markdown", 1, "A", "current",
    datetime(2025, 6, 1, tzinfo=UTC),
)  # fmt: skip
OTHER = replace(DOCUMENT, id=2, path="b.md", cid=Cid(RAW, bytes([1] * 32)))


def tag(document: Document) -> str:
    used = used_of(document)
    assert used is not None
    return tag_of(used)


class Answers:
    """Stored answers by their tag; ``at_once``: so many are withdrawn in one call."""

    def __init__(self, *tags: str, at_once: int = 1_000) -> None:
        self.stored = list(tags)
        self.at_once = at_once

    async def withdraw(self, tag: str) -> bool:
        gone = [one for one in self.stored if one == tag][: self.at_once]
        for one in gone:
            self.stored.remove(one)
        return bool(gone)


async def opened(path: Path, *documents: Document) -> UsedDocuments:
    store = await UsedDocuments.open(path / "used.sqlite")
    await store.note([one for document in documents if (one := used_of(document)) is not None])
    return store


@pytest.mark.parametrize(
    "now",
    [
        [],
        [replace(DOCUMENT, cid=Cid(RAW, bytes([2] * 32)))],
        [replace(DOCUMENT, status="superseded")],
        [replace(DOCUMENT, conflict_with=("c.md",))],
        [replace(DOCUMENT, scope="private:acme")],
        [replace(DOCUMENT, status="missing", cid=None)],
    ],
)
async def test_what_was_made_from_another_version_falls_also_after_a_restart(
    tmp_path: Path, now: list[Document]
) -> None:
    await (await opened(tmp_path, DOCUMENT, OTHER)).close()
    store, answers = await opened(tmp_path), Answers(tag(DOCUMENT), tag(OTHER))
    assert store.knows([str(DOCUMENT.cid)])
    assert await store.compare([*now, OTHER], answers.withdraw, 0) == 1
    assert answers.stored == [tag(OTHER)]
    await store.close()


async def test_an_answer_that_was_under_way_when_its_document_changed_falls_too(tmp_path: Path) -> None:
    store, answers = await opened(tmp_path, DOCUMENT), Answers()
    assert await store.compare([], answers.withdraw, 0) == 1
    answers.stored.append(tag(DOCUMENT))  # it was being made meanwhile
    assert store.has_work
    await store.compare([], answers.withdraw, SETTLED_S)
    assert answers.stored == []
    assert not store.has_work
    assert not store.knows([str(DOCUMENT.cid)])
    await store.close()


async def test_a_version_that_holds_again_is_left_alone(tmp_path: Path) -> None:
    store, answers = await opened(tmp_path, DOCUMENT), Answers()
    await store.compare([], answers.withdraw, 0)
    answers.stored.append(tag(DOCUMENT))
    assert await store.compare([DOCUMENT], answers.withdraw, SETTLED_S) == 0
    assert answers.stored == [tag(DOCUMENT)]
    assert store.knows([str(DOCUMENT.cid)])
    await store.close()


async def test_one_call_that_withdraws_a_part_is_made_again(tmp_path: Path) -> None:
    store, answers = await opened(tmp_path, DOCUMENT), Answers(*[tag(DOCUMENT)] * 7, at_once=2)
    await store.compare([], answers.withdraw, 0)
    assert answers.stored == []
    await store.close()


async def test_what_could_not_be_withdrawn_is_owed_still(tmp_path: Path) -> None:
    store = await opened(tmp_path, DOCUMENT)

    async def fails(tag: str) -> bool:
        raise Unavailable("the disk is full")

    with pytest.raises(Unavailable):
        await store.compare([], fails, SETTLED_S)
    assert store.has_work
    await store.close()
    store, answers = await opened(tmp_path), Answers(tag(DOCUMENT))
    assert await store.compare([], answers.withdraw, 0) == 1
    assert answers.stored == []
    await store.close()


def test_an_answer_names_each_version_once() -> None:
    assert tags([("x", "1"), ("y", "2"), ("x", "1")]) == (tag_of(("x", "1")), tag_of(("y", "2")))
