"""Erasure over real files: a text is found nowhere afterwards, and the log still verifies."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from node.app.operator_desk import LaterSemantics
from node.audit.decisions.answer_entry import store_entry
from node.audit.decisions.log import DecisionLog
from node.cache.keys import keyword_key
from node.core.errors import NotFound, Rejected, Unavailable
from node.core.files import Files
from node.core.identity import Identity
from node.core.model import SourceRef
from node.core.ports import StoredRecord
from node.core.record import AnswerRecord
from node.core.signed_note import Verifier
from node.store.record_keys import RecordKeys
from node.store.record_rules import is_private
from node.store.remember import Memory, Remembered, Rememberer
from node.store.retention.erase import Eraser
from node.store.sqlite import SqliteStore
from tests.log_kit import leaves
from tests.manual_clock import ManualClock
from tests.record_builders import START
from tests.unit.cache.index.semantic_bench import memory, rememberer

CANARY = "zanzibarquux"


@dataclass(frozen=True, slots=True)
class Desk:
    """A store and a decision log over files, as a node has them."""

    folder: Path
    store: SqliteStore
    log: DecisionLog
    rememberer: Rememberer
    eraser: Eraser

    def keys_left(self) -> int:
        """Slots of the key file that hold a key and that the store names."""
        keys = RecordKeys.open(self.folder / "keys" / "record_keys")
        connection = sqlite3.connect(self.folder / "blocks.sqlite")
        named = "SELECT key_id FROM block UNION ALL SELECT key_id FROM alias"
        used = [slot for (slot,) in connection.execute(named) if slot is not None]
        connection.close()
        left = len(used) - len(keys.claim(used))
        keys.close()
        return left

    async def keep(self, query: str, answer: str, **more: object) -> StoredRecord:
        wanted = memory(query, answer, source=SourceRef("client", "ana"), **more)
        stored = (await self.rememberer.keep(wanted)).stored
        assert stored is not None
        return stored

    def found(self, text: str) -> list[str]:
        """The files that hold the text, in whatever case; what the log stages comes and goes meanwhile."""
        word, found = text.lower().encode(), []
        for path in self.folder.rglob("*"):
            with suppress(FileNotFoundError, IsADirectoryError):
                if word in path.read_bytes().lower():
                    found.append(str(path.relative_to(self.folder)))
        return found


@asynccontextmanager
async def desk_in(folder: Path) -> AsyncIterator[Desk]:
    clock = ManualClock(START)
    identity = Identity.load_or_create(folder / "keys", clock.now())
    keys, origin = folder / "keys", identity.decisions_origin
    log = await DecisionLog.open(folder / "log", origin, identity.log_signers, clock, keys=keys)
    path = folder / "blocks.sqlite"
    store = await SqliteStore.open(path, own_issuer=identity.root, keyword_key=keyword_key)

    async def report(outcome: Remembered) -> None:
        told: Memory = outcome.memory
        entry, private = store_entry(
            request="r", outcome="stored", reason="stored", scope=told.scope, policy="p", cid=outcome.cid
        )
        await log.append(entry, private_texts={**private, "query": told.query})

    ours = rememberer(store.records, LaterSemantics(), clock, signer=identity, report=report)
    eraser = Eraser(store.records, store.blocks, ours, log, (store.scrub,))
    try:
        yield Desk(folder, store, log, ours, eraser)
    finally:
        await log.close()
        await store.close()


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with desk_in(tmp_path) as one:
        yield one


SCOPES = ("private:acme", "shared", "public")


@pytest.mark.parametrize("scope", SCOPES)
async def test_a_canary_is_found_nowhere_and_the_log_verifies(tmp_path: Path, scope: str) -> None:
    async with desk_in(tmp_path) as desk:
        for number in range(30):
            await desk.keep(f"What is number {number} of the list?", f"Town {number}.", scope=scope)
        question = f"What does the {CANARY} chronicle of the museum say about {CANARY}?"
        repeats = 300 if scope == "public" else 3_000  # what is too long to be screened is not made public
        await desk.keep(question, f"First {CANARY}.", scope=scope)
        stored = await desk.keep(question, f"{CANARY}! " * repeats, scope=scope, tags=(f"{CANARY}-tag",))
        assert isinstance(stored.record, AnswerRecord)
        assert stored.record.supersedes is not None
        await desk.keep(f"{question} Really?", f"{CANARY} stays apart.", scope=scope)
        for target in (stored, other := await desk.keep("What is another?", "Another.", scope=scope)):
            await desk.rememberer.validate(target, "valid", None)
        await desk.rememberer.validate(stored, "valid", f"My aunt says {CANARY}.")
        kind_word = await desk.rememberer.validate(other, "valid", "Quite right.")
        seen = [] if is_private(scope) else ["blocks.sqlite"]
        in_files = [name for name in desk.found(CANARY) if not name.endswith("-wal")]
        assert in_files in (seen, []), "or in the WAL"
        assert bool(desk.found(CANARY)) is not is_private(scope), "the test can see what it looks for"
        kept = await desk.store.records.counts()
        tombstone = await desk.eraser.erase(stored, "client_delete")
        assert (await desk.store.records.get(tombstone.cid)).record.kind == "tombstone"
        with pytest.raises(NotFound):
            await desk.store.records.get(stored.cid)
        with pytest.raises(Rejected, match="withdrawn and deleted"):
            await desk.store.records.add(stored.record)
        assert (await desk.store.records.counts())["live"] == kept["live"] - 1
        key = keyword_key(f"{question} Really?") or ""
        apart = await desk.store.records.find("keyword_key", key, scopes=[scope], context=None)
        assert len(apart) == 1, "only what was meant is gone"
        assert (await desk.store.records.get(other.cid)).valid == 1
        assert (await desk.store.records.get(kind_word.cid)).record == kind_word.record
        await desk.eraser.erase(apart[0], "client_delete")
        assert desk.found(CANARY) == []
    vkey = Verifier.from_vkey((tmp_path / "log" / "vkey").read_text().strip())
    assert len(await leaves(tmp_path / "log", verifiers=[vkey])) == 34
    async with desk_in(tmp_path) as desk:
        assert desk.found(CANARY) == []
        assert (await desk.store.records.counts())["live"] == 31


async def test_the_log_s_keys_about_it_and_about_what_was_merged_into_it_are_destroyed(desk: Desk) -> None:
    first = await desk.keep("How tall is the tower of Belmora?", "It is 40 m tall.")
    await desk.keep("what is the height of the tower of Belmora?", "Another answer.")
    place = await desk.log.append({"kind": "answer"}, private_texts={"cid": str(first.cid)})
    await desk.eraser.erase(first, "client_delete")
    assert [await desk.log.forget(index) for index in range(3)] == [False, True, False]
    assert place.index == 2


@pytest.mark.parametrize("scope", SCOPES)
async def test_verdicts_are_found_among_many(desk: Desk, scope: str) -> None:
    stored = await desk.keep("What is the first?", "One.", scope=scope)
    notes = []
    for number in range(8):
        await desk.keep(f"What is number {number} of the list?", f"Town {number}.", scope=scope)
        notes.append(await desk.rememberer.validate(stored, "valid", f"{CANARY} {number}"))
    await desk.eraser.erase(stored, "client_delete")
    for note in notes:
        with pytest.raises(NotFound):
            await desk.store.records.get(note.cid)
    assert (await desk.store.records.counts())["live"] == 8
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


def private(desk: Desk, number: int) -> Awaitable[StoredRecord]:
    return desk.keep(f"What is my {CANARY} {number}?", f"{CANARY} {number}.", scope="private:acme")


async def test_a_private_record_s_key_goes_first(tmp_path: Path) -> None:
    """Whatever fails after that, nobody can read the record any more; what is left is finished later."""
    async with desk_in(tmp_path) as desk:
        stored, other = [await private(desk, number) for number in range(2)]
        word = await desk.rememberer.validate(stored, "valid", f"My {CANARY}.")
        assert desk.keys_left() == 3
        await desk.log.close()
        with pytest.raises(Unavailable):
            await desk.eraser.erase(stored, "client_delete")
        assert desk.keys_left() == 2, "of the other one and of the tombstone"
        for cid in (stored.cid, word.cid):
            with pytest.raises(NotFound):
                await desk.store.records.get(cid)
        assert [ref.cid for ref in await desk.store.records.shredded()] == [stored.cid, word.cid]
    async with desk_in(tmp_path) as desk:
        assert [ref.cid for ref in await desk.store.records.shredded()] == [stored.cid, word.cid]
        assert await desk.eraser.resume() == 2
        assert await desk.store.records.shredded() == []
        assert not await desk.store.blocks.has(stored.cid)
        assert await desk.eraser.resume() == 0
        assert (await desk.store.records.get(other.cid)).record == other.record
        with pytest.raises(Rejected):
            await desk.store.records.add(stored.record)


async def test_a_key_that_the_disk_destroys_by_half_ends_as_an_erasure(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its record is no damage that stays: whoever asked was refused, and it is finished without him."""
    stored = await private(desk, 1)

    def half(self: Files, fd: int, data: bytes, offset: int) -> None:
        os.pwrite(fd, data[: len(data) // 2], offset)
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Files, "write", half)
        with pytest.raises(Unavailable, match="No space left"):
            await desk.store.records.shred([stored.cid])
    with pytest.raises(NotFound):
        await desk.store.records.get(stored.cid)
    assert [ref.cid for ref in await desk.store.records.shredded()] == [stored.cid]
    assert await desk.eraser.resume() == 1
    assert not await desk.store.blocks.has(stored.cid)


def eraser_that_tells(desk: Desk, forget: Callable[[Sequence[str]], Awaitable[None]]) -> Eraser:
    """As the desk's, beside somebody who keeps more of records."""
    return Eraser(desk.store.records, desk.store.blocks, desk.rememberer, desk.log, (), (forget,))


async def test_one_that_fails_again_keeps_no_other_from_its_end(desk: Desk) -> None:
    bad, good, new = [await private(desk, number) for number in range(3)]
    await desk.store.records.shred([bad.cid, good.cid])

    async def forget(cids: Sequence[str]) -> None:
        if str(bad.cid) in cids:
            raise Unavailable("the disk is full")

    eraser = eraser_that_tells(desk, forget)
    with pytest.raises(Unavailable, match="full"):
        await eraser.resume()
    assert [ref.cid for ref in await desk.store.records.shredded()] == [bad.cid]
    assert (await eraser.erase(new, "client_delete")).record.kind == "tombstone"
    assert not await desk.store.blocks.has(new.cid)
    assert await desk.eraser.resume() == 1


async def test_an_erasure_finishes_the_one_that_failed_before_it(desk: Desk) -> None:
    first, second = [await private(desk, number) for number in range(2)]
    await desk.store.records.shred([first.cid])
    await desk.eraser.erase(second, "client_delete")
    assert await desk.store.records.shredded() == []
    assert [await desk.store.blocks.has(one.cid) for one in (first, second)] == [False, False]
    assert (await desk.store.records.counts())["live"] == 0


async def test_keys_of_all_that_is_erased_are_destroyed(desk: Desk) -> None:
    one, two = [
        await desk.keep(f"{how} tall is my tower of {CANARY}?", f"It is 40 m {CANARY}.", scope="private:acme")
        for how in ("How", "how")
    ]
    assert one.cid == two.cid, "the first one stands for both wordings"
    assert len(await desk.store.records.aliases(one.cid)) == 1
    await desk.rememberer.validate(one, "valid", "Right.")
    assert desk.keys_left() == 4, "two records, an alias and a verdict"
    await desk.eraser.erase(one, "client_delete")
    assert desk.keys_left() == 1, "of the tombstone"
    assert desk.found(CANARY) == []


async def test_whoever_keeps_more_of_a_record_is_told(desk: Desk) -> None:
    told: list[str] = []

    async def forget(cids: Sequence[str]) -> None:
        told.extend(cids)

    stored = await private(desk, 1)
    await eraser_that_tells(desk, forget).erase(stored, "client_delete")
    assert told == [str(stored.cid)]
