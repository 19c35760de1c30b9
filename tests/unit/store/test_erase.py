"""Erasure over real files: a text is found nowhere afterwards, and the log still verifies."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from node.cache.keys import keyword_key
from node.cache.same import same_question
from node.clock import ManualClock
from node.errors import NotFound, Rejected, Unavailable
from node.governance.entry import store_entry
from node.governance.log import DecisionLog
from node.identity import Identity
from node.jobs.operator import LaterSemantics
from node.model import SourceRef
from node.ports import StoredRecord
from node.record import AnswerRecord
from node.store import erase
from node.store.erase import Eraser
from node.store.remember import Memory, Remembered, Rememberer
from node.store.sqlite import SqliteStore
from node.store.write_back import WriteBack
from node.tlog.notes import Verifier
from tests.log_kit import leaves
from tests.record_builders import START
from tests.unit.jobs.semantic_bench import memory

CANARY = "zanzibarquux"


@dataclass(frozen=True, slots=True)
class Desk:
    """A store and a decision log over files, as a node has them."""

    folder: Path
    store: SqliteStore
    log: DecisionLog
    rememberer: Rememberer
    eraser: Eraser

    async def keep(self, query: str, answer: str, **more: object) -> StoredRecord:
        wanted = memory(query, answer, source=SourceRef("client", "ana"), **more)
        stored = (await self.rememberer.keep(wanted)).stored
        assert stored is not None
        return stored

    def found(self, text: str) -> list[str]:
        """The files that hold the text, in whatever case."""
        word = text.lower().encode()
        return [
            str(path.relative_to(self.folder))
            for path in self.folder.rglob("*")
            if path.is_file() and word in path.read_bytes().lower()
        ]


@asynccontextmanager
async def desk_in(folder: Path) -> AsyncIterator[Desk]:
    clock = ManualClock(START)
    identity = Identity.load_or_create(folder / "keys", clock.now())
    log = await DecisionLog.open(
        folder / "log", identity.decisions_origin, identity.log_signers, clock, keys=folder / "keys"
    )
    store = await SqliteStore.open(
        folder / "blocks.sqlite", own_issuer=identity.root, keyword_key=keyword_key
    )

    async def report(outcome: Remembered) -> None:
        told: Memory = outcome.memory
        entry, private = store_entry(
            request="r", outcome="stored", reason="stored", scope=told.scope, policy="p", cid=outcome.cid
        )
        await log.append(entry, private_texts={**private, "query": told.query})

    rememberer = Rememberer(
        store.records,
        LaterSemantics(),
        identity,
        clock,
        WriteBack(4),
        keyword_key=keyword_key,
        report=report,
        same_question=same_question,
    )
    eraser = Eraser(store.records, store.blocks, rememberer, log, (store.scrub,))
    try:
        yield Desk(folder, store, log, rememberer, eraser)
    finally:
        await log.close()
        await store.close()


@pytest.mark.parametrize("scope", ["private:acme", "shared", "public"])
async def test_a_canary_is_found_nowhere_and_the_log_verifies(tmp_path: Path, scope: str) -> None:
    async with desk_in(tmp_path) as desk:
        for number in range(30):
            await desk.keep(f"What is number {number} of the list?", f"Town {number}.", scope=scope)
        question = f"What does the {CANARY} letter of my aunt say about {CANARY}?"
        await desk.keep(question, f"First {CANARY}.", scope=scope)
        stored = await desk.keep(question, f"{CANARY}! " * 3_000, scope=scope, tags=(f"{CANARY}-tag",))
        assert isinstance(stored.record, AnswerRecord)
        assert stored.record.supersedes is not None
        await desk.keep(f"{question} Really?", f"{CANARY} stays apart.", scope=scope)
        for target in (stored, other := await desk.keep("What is another?", "Another.", scope=scope)):
            await desk.rememberer.validate(target, "valid", None)
        await desk.rememberer.validate(stored, "valid", f"My aunt says {CANARY}.")
        kind_word = await desk.rememberer.validate(other, "valid", "Quite right.")
        assert desk.found(CANARY), "the test can see what it looks for"
        kept = await desk.store.records.counts()
        tombstone = await desk.eraser.erase(stored, "client_delete")
        assert (await desk.store.records.get(tombstone.cid)).record.kind == "tombstone"
        with pytest.raises(NotFound):
            await desk.store.records.get(stored.cid)
        counts = await desk.store.records.counts()
        assert counts["live"] == kept["live"] - 1
        apart = await desk.store.records.find(
            "keyword_key", keyword_key(f"{question} Really?") or "", scopes=[scope], context=None
        )
        assert len(apart) == 1, "only what was meant is gone"
        assert (await desk.store.records.get(other.cid)).valid == 2
        assert (await desk.store.records.get(kind_word.cid)).record == kind_word.record
        await desk.eraser.erase(apart[0], "client_delete")
        assert desk.found(CANARY) == []
    vkey = Verifier.from_vkey((tmp_path / "log" / "vkey").read_text().strip())
    assert len(await leaves(tmp_path / "log", verifiers=[vkey])) == 34
    async with desk_in(tmp_path) as desk:
        assert desk.found(CANARY) == []
        assert (await desk.store.records.counts())["live"] == 31


async def test_the_log_s_keys_about_it_and_about_what_was_merged_into_it_are_destroyed(
    tmp_path: Path,
) -> None:
    async with desk_in(tmp_path) as desk:
        first = await desk.keep("How tall is the tower of Belmora?", "It is 40 m tall.")
        await desk.keep("what is the height of the tower of Belmora?", "Another answer.")
        place = await desk.log.append({"kind": "answer"}, private_texts={"cid": str(first.cid)})
        await desk.eraser.erase(first, "client_delete")
        assert [await desk.log.forget(index) for index in range(3)] == [False, True, False]
        assert place.index == 2


async def test_verdicts_are_found_behind_more_records_than_are_read_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erase, "_PAGE", 3)
    async with desk_in(tmp_path) as desk:
        stored = await desk.keep("What is the first?", "One.")
        notes = []
        for number in range(8):
            await desk.keep(f"What is number {number} of the list?", f"Town {number}.")
            notes.append(await desk.rememberer.validate(stored, "valid", f"{CANARY} {number}"))
        await desk.eraser.erase(stored, "client_delete")
        for note in notes:
            with pytest.raises(NotFound):
                await desk.store.records.get(note.cid)
        assert (await desk.store.records.counts())["live"] == 8
        assert desk.found(CANARY) == []


async def test_what_is_erased_does_not_come_back(tmp_path: Path) -> None:
    async with desk_in(tmp_path) as desk:
        stored = await desk.keep(f"What is {CANARY}?", "A word.")
        await desk.eraser.erase(stored, "client_delete")
        with pytest.raises(Rejected, match="withdrawn and deleted"):
            await desk.store.records.add(stored.record)
        assert desk.found(CANARY) == []


async def test_a_log_that_cannot_forget_stops_the_erasure_and_it_can_be_asked_again(tmp_path: Path) -> None:
    async with desk_in(tmp_path) as desk:
        stored = await desk.keep(f"What is {CANARY}?", "A word.")
        await desk.log.close()
        with pytest.raises(Unavailable):
            await desk.eraser.erase(stored, "client_delete")
        gone = await desk.store.records.get(stored.cid)
        assert gone.state == "withdrawn", "it is not served, and still here to be erased"
    async with desk_in(tmp_path) as desk:
        await desk.eraser.erase(await desk.store.records.get(stored.cid), "client_delete")
        assert desk.found(CANARY) == []
