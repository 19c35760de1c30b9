"""Answers fall with their documents, whatever was cut in between."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from node.core.errors import Unavailable
from node.core.ipld.cid import RAW, Cid
from node.knowledge.model import Document
from node.knowledge.used import UsedDocuments, tag_of, tags, used_of

DOCUMENT = Document(
    1, "shared", "a.md", Cid(RAW, bytes(32)), "00", "text/markdown", 1, "A", "current",
    datetime(2025, 6, 1, tzinfo=UTC),
)  # fmt: skip
OTHER = replace(DOCUMENT, id=2, path="b.md", cid=Cid(RAW, bytes([1] * 32)))
CID = str(DOCUMENT.cid)


class Withdrawn(list[str]):
    async def __call__(self, tag: str) -> None:
        self.append(tag)


async def opened(path: Path, *documents: Document) -> UsedDocuments:
    store = await UsedDocuments.open(path / "used.sqlite")
    await store.note([one for document in documents if (one := used_of(document)) is not None])
    return store


async def test_what_was_made_from_a_version_that_fell_is_withdrawn_once(tmp_path: Path) -> None:
    store, withdrawn = await opened(tmp_path, DOCUMENT, OTHER), Withdrawn()
    assert await store.fell([CID, "unknown"], withdrawn) == 1
    assert await store.fell([CID], withdrawn) == 0
    assert withdrawn == [tag_of(CID)]
    await store.close()


@pytest.mark.parametrize(
    "now",
    [
        [],
        [replace(DOCUMENT, cid=Cid(RAW, bytes([2] * 32)))],
        [replace(DOCUMENT, status="superseded")],
        [replace(DOCUMENT, conflict_with=("c.md",))],
        [replace(DOCUMENT, status="missing", cid=None)],
    ],
)
async def test_what_changed_while_nobody_listened_is_found_at_the_start(
    tmp_path: Path, now: list[Document]
) -> None:
    await (await opened(tmp_path, DOCUMENT, OTHER)).close()
    store, withdrawn = await opened(tmp_path), Withdrawn()
    assert await store.compare([*now, OTHER], withdrawn) == 1
    assert withdrawn == [tag_of(CID)]
    await store.close()


async def test_what_could_not_be_withdrawn_is_owed_still(tmp_path: Path) -> None:
    store = await opened(tmp_path, DOCUMENT)

    async def fails(tag: str) -> None:
        raise Unavailable("the disk is full")

    with pytest.raises(Unavailable):
        await store.fell([CID], fails)
    await store.close()
    store, withdrawn = await opened(tmp_path), Withdrawn()
    assert await store.compare([], withdrawn) == 1
    assert withdrawn == [tag_of(CID)]
    await store.close()


def test_an_answer_names_each_of_its_documents_once() -> None:
    assert tags([("x", "1"), ("y", "1"), ("x", "2")]) == (tag_of("x"), tag_of("y"))
