"""What was called invalid is known again by its meaning, and by nobody whom it does not concern."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from node.cache.index.flat_index import FlatIndex
from node.cache.quality.refuted_answers import RefutedAnswers
from node.cache.refuted import NothingRefuted, Said
from node.core.normalise import normalise, query_hash
from node.core.ports import Embedded
from node.core.record import AnswerRecord, RecordSource, block_of
from node.store.refuted_answers import RefutedRow, RefutedStore
from tests.manual_clock import ManualClock
from tests.record_builders import START, Author
from tests.references.record_store import MemoryStore
from tests.simulators.hash_embedder import HashEmbedder
from tests.simulators.semantics import OneModel

US = Author(200)
SCOPES = ("public", "shared", "private:local")
QUESTION, WRONG = "Who wrote Faust", "Faust was written by Schiller."


class Desk:
    """Refuted answers over a file and stores in memory; every question is near every other."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = ManualClock(START)
        self.store = MemoryStore(own_issuer=US.did)
        self.embedder = HashEmbedder(8)
        self.semantics = OneModel(self.embedder, FlatIndex(8))
        self.answers: RefutedAnswers | None = None

    async def open(self) -> RefutedAnswers:
        if self.answers is not None:
            await self.answers.close()
        self.answers = await RefutedAnswers.open(
            self.folder / "refuted.sqlite", self.store.records, self.semantics, self.clock
        )
        return self.answers

    async def closed(self) -> bytes:
        """Closes it; what is in its files."""
        if self.answers is not None:
            await self.answers.close()
            self.answers = None
        return b"".join(path.read_bytes() for path in self.folder.glob("refuted.sqlite*"))

    async def record(self, **changes: Any) -> AnswerRecord:
        record = US.answer(QUESTION, **({"answer": WRONG} | changes))
        await self.store.records.add(record)
        return record

    async def refute(self, asked: str | None = None, **changes: Any) -> AnswerRecord:
        answers, record = await self.open(), await self.record(**changes)
        await answers.invalid(block_of(record)[0], record, asked=asked, tenant="critic")
        return record

    def near(self, text: str) -> Embedded:
        """The vector of the refuted question, lent to another wording."""
        return Embedded(self.embedder.vector_of(normalise(text)), self.embedder.info)


def said(question: str = QUESTION, answer: str = WRONG, kind: str = "llm", **more: Any) -> Said:
    return Said(question, answer, kind, SCOPES, **more)


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    made = Desk(tmp_path)
    yield made
    await made.closed()


async def test_an_equal_answer_to_an_equal_question_is_known_after_a_restart_too(desk: Desk) -> None:
    await desk.refute()
    for answers in (desk.answers, await desk.open()):
        assert answers is not None
        await answers.prepare()
        assert answers.knows(said())
        assert answers.knows(said("who wrote faust?", "Schiller wrote Faust."))
        assert answers.knows(said("Who is the author of Faust", vector=desk.near(QUESTION)))
        assert not answers.knows(said("Who is the author of Faust")), "nothing says that it is near"
        assert not answers.knows(said(answer="Faust was written by Goethe."))
        assert not answers.knows(said("Who wrote Wallenstein", vector=desk.near(QUESTION)))
        assert not answers.knows(said(context="0" * 64))
        assert answers.knows(said(kind="extractive"))
        assert not answers.knows(said(kind="documents"))


async def test_who_gave_the_verdict_may_say_it_again_and_nobody_else(desk: Desk) -> None:
    await desk.refute()
    answers = await desk.open()
    assert answers.knows(said(kind="client", tenant="somebody"))
    assert not answers.knows(said(kind="client", tenant="critic"))
    assert answers.knows(said(kind="client", made=START - timedelta(days=1)))
    assert not answers.knows(said(kind="client", made=START + timedelta(seconds=1)))


async def test_an_adapter_is_meant_only_by_its_own_value_of_the_same_slots(desk: Desk) -> None:
    price = {"slot_key": "price:bitcoin:usd", "source": RecordSource("adapter", "coingecko")}
    await desk.refute(**price)
    answers = await desk.open()
    key = "price:bitcoin:usd"
    assert answers.knows(said("anything", kind="adapter", slot_key=key))
    assert not answers.knows(said(kind="adapter", slot_key="price:ethereum:usd"))
    assert not answers.knows(said(kind="adapter", answer="Another value.", slot_key=key))
    assert not answers.knows(said(kind="adapter"))
    await desk.refute()
    assert not (await desk.open()).knows(said(kind="adapter", slot_key=None))


async def test_what_was_asked_counts_and_not_what_the_record_is_of(desk: Desk) -> None:
    await desk.refute(asked="Who wrote Wallenstein?")
    answers = await desk.open()
    assert answers.knows(said("Who wrote Wallenstein"))
    assert not answers.knows(said(QUESTION))


async def test_a_private_record_s_text_is_in_the_record_only(desk: Desk) -> None:
    record = await desk.refute(scope="private:local")
    answers = await desk.open()
    assert answers.knows(said())
    assert not answers.knows(Said(QUESTION, WRONG, "llm", ("public", "shared", "private:other")))
    files = await desk.closed()
    assert b"Faust" not in files
    assert query_hash(record.query).encode() not in files
    await desk.store.blocks.delete(block_of(record)[0])
    assert not (await desk.open()).knows(said()), "the record is erased"


async def test_what_is_erased_is_forgotten_by_record_and_by_question(desk: Desk) -> None:
    for by_question in (False, True):
        record = await desk.refute(timestamp=START.replace(minute=int(by_question)))
        answers = await desk.open()
        assert answers.knows(said())
        if by_question:
            await answers.forget_question(query_hash(record.query))
        else:
            await answers.forget([str(block_of(record)[0])])
            await answers.scrub()
        assert not answers.knows(said())
        assert not (await desk.open()).knows(said())
        assert b"Schiller" not in await desk.closed()


async def test_a_draft_is_remembered_in_memory_only(desk: Desk) -> None:
    answers = await desk.open()
    answers.invalid_draft(QUESTION, WRONG, scope="shared", tenant="critic")
    assert answers.knows(said())
    assert not (await desk.open()).knows(said())


async def test_the_file_keeps_the_newest(tmp_path: Path) -> None:
    store = await RefutedStore.open(tmp_path / "refuted.sqlite", rows_max=2)
    row = RefutedRow("cid", "shared", "a", START, "llm", "q", "x")
    for number in range(4):
        await store.add(replace(row, query=f"q{number}"))
    assert [one.query for one in await store.rows()] == ["q2", "q3"]
    await store.close()


async def test_nothing_refuted_knows_nothing() -> None:
    assert await NothingRefuted().prepare() == 0
    assert not NothingRefuted().knows(said())
