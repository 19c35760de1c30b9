"""What is entered in the publications log, in which order, and what is not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from node.audit.log.committer import Compose
from node.core.errors import Rejected, Unavailable
from node.core.ipld.cid import RAW, Cid
from node.core.ports import StoredRecord
from node.core.record import AnswerRecord, Record
from node.peers.rules import reconcile
from node.peers.rules.entry import Key, PublicationEntry, Publish, Retract, Validate, read
from node.peers.rules.sorted_set import SortedSet
from node.peers.sync.publish import Entries, Places, Publisher, ReadBack
from node.store.sqlite import SqliteStore
from tests.manual_clock import ManualClock
from tests.record_builders import START, Author
from tests.references.record_store import MemoryStore
from tests.tlog_memory import MemoryLog

US, THEM = Author(1), Author(2)


class Log:
    """The writer's side of a publications log, in memory."""

    def __init__(self) -> None:
        self.log = MemoryLog()

    def size(self) -> int:
        return len(self.log.entries)

    async def append(self, compose: Compose, attachment: bytes | None = None) -> int:
        self.log.append(compose(self.size(), 1_700_000_000_000_000 + self.size()))
        return self.size() - 1

    async def publish(self) -> object:
        return None

    async def entries(self, first: int, end: int) -> Sequence[bytes]:
        return self.log.entries[first:end]


class World:
    """A store, its log, and the publisher between them."""

    def __init__(self, store: SqliteStore | MemoryStore, state_path: Path | None) -> None:
        self.store = store
        self.clock = ManualClock(START)
        self.log = Log()
        self.state_path = state_path
        self.publisher = self.opened()

    def opened(
        self, class_of: Callable[[AnswerRecord], str] = lambda _: "general", entries: Entries | None = None
    ) -> Publisher:
        return Publisher(
            self.store.records,
            self.log,
            self.clock,
            ReadBack(entries or self.log.entries),
            own=US.did,
            class_of=class_of,
            places=Places(self.state_path),
        )

    async def add(self, record: Record, **more: Any) -> StoredRecord:
        return await self.store.records.add(record, **more)

    async def ask(self, *numbers: int) -> list[Cid]:
        """Public answers of ours to so many questions."""
        return [(await self.add(public(f"What is {number}?"))).cid for number in numbers]

    def everything(self) -> list[PublicationEntry]:
        """All that is in the log."""
        return [read(index, data) for index, data in enumerate(self.log.log.entries)]

    async def entered(self) -> list[PublicationEntry]:
        """What a pass adds."""
        before = self.log.size()
        await self.publisher.catch_up()
        return self.everything()[before:]

    async def published(self, query: str = "What is IPFS?") -> StoredRecord:
        """A public answer of ours that is entered."""
        mine = await self.add(public(query))
        await self.entered()
        return mine


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    store = await SqliteStore.open(tmp_path / "blocks.sqlite", own_issuer=US.did)
    yield World(store, tmp_path / "publications.json")
    await store.close()


@pytest.fixture
def quick_world() -> World:
    """For many records: nothing is synced to a disk."""
    return World(MemoryStore(own_issuer=US.did), None)


def public(query: str = "What is IPFS?", author: Author = US, **changes: Any) -> AnswerRecord:
    return author.answer(query, scope="public", **changes)


async def test_public_answers_of_ours_are_entered_and_nothing_else(world: World) -> None:
    mine = await world.add(public())
    await world.add(US.answer("What is shared?"))
    await world.add(US.answer("What is private?", scope="private:a"))
    await world.add(public("What do they say?", THEM), origin=THEM.did)
    await world.add(public("What is over?", expires=START - timedelta(seconds=1)))
    await world.add(public("What is of a context?", context="ab" * 32))
    await world.add(US.validation(mine.cid, "valid"))  # of scope shared
    record = mine.record
    assert isinstance(record, AnswerRecord)
    assert await world.entered() == [Publish(mine.cid, "general", record.query_hash, None)]
    assert await world.entered() == []
    assert len(world.publisher.published) == 1


async def test_keys_stand_before_what_they_signed(world: World) -> None:
    key = await world.add(US.key_record(THEM.did))
    mine = await world.add(public())
    first, second = await world.entered()
    assert first == Key(key.cid, THEM.did, "node")
    assert isinstance(second, Publish)
    assert second.cid == mine.cid


async def test_a_statement_on_a_public_record_is_entered(world: World) -> None:
    mine = await world.add(public())
    said = await world.add(US.validation(mine.cid, "valid", scope="public"))
    assert (await world.entered())[-1] == Validate(said.cid, mine.cid, "valid")


async def test_what_is_withdrawn_is_taken_back_before_what_is_new(world: World) -> None:
    first, second = await world.add(public()), await world.add(public("What is a CID?"))
    await world.entered()
    newer = await world.add(public(answer="Newer."), supersede=[first.cid])
    stone = await world.add(US.tombstone(second.cid, scope="public"))
    entered = await world.entered()
    assert entered[:2] == [Retract(first.cid, "withdrawn", None), Retract(second.cid, "erased", stone.cid)]
    assert [one.cid for one in entered[2:]] == [newer.cid]
    assert len(world.publisher.published) == 1


async def test_what_merely_ends_or_gives_way_is_not_taken_back(world: World) -> None:
    await world.add(public(expires=START + timedelta(hours=1)))
    await world.add(public("What is a CID?"))
    assert len(await world.entered()) == 2
    world.clock.advance(7_200)
    await world.store.records.expire(world.clock.now(), grace_s=0)
    assert len(await world.store.records.reclaim()) == 2
    assert await world.entered() == []
    assert len(world.publisher.published) == 0, "what ended or has no room here is not compared any more"


async def test_the_tombstone_of_an_erased_record_is_entered(world: World) -> None:
    mine = await world.published()
    stone = await world.add(US.tombstone(mine.cid, scope="public"))
    await world.store.blocks.delete(mine.cid)
    assert await world.entered() == [Retract(mine.cid, "erased", stone.cid)]


@pytest.mark.parametrize("state", ["kept", "lost", "damaged", "older"])
async def test_a_restart_enters_nothing_twice(world: World, state: str) -> None:
    await world.add(US.key_record(THEM.did))
    kept = await world.add(public())
    gone = await world.add(public("What is a CID?"))
    await world.add(US.validation(kept.cid, "valid", scope="public"))
    await world.entered()
    assert world.state_path is not None
    older = world.state_path.read_bytes()
    await world.add(US.tombstone(gone.cid, scope="public"))
    await world.entered()
    match state:
        case "lost":
            world.state_path.unlink()
        case "damaged":
            world.state_path.write_bytes(b"{")
        case "older":  # killed before the state was written
            world.state_path.write_bytes(older)
    world.publisher = world.opened()
    assert await world.entered() == []
    assert len(world.publisher.published) == 1
    more = await world.add(public("What is a pin?"))
    assert [one.cid for one in await world.entered()] == [more.cid]


async def test_a_thousand_records_and_more_are_caught_up_with(quick_world: World) -> None:
    await quick_world.ask(*range(1_100))
    entered = await quick_world.entered()
    assert len(entered) == len({one.cid for one in entered}) == 1_100


async def test_peers_can_compare_what_is_published(world: World) -> None:
    mine = await world.published()
    client = reconcile.Client(SortedSet())
    message: bytes | None = client.first()
    while message is not None:
        message = client.take(await world.publisher.answer(message))
    assert client.missing == {mine.cid.digest}
    with pytest.raises(Rejected):
        await world.publisher.answer(b"nonsense")


async def test_it_says_how_much_is_shared(world: World) -> None:
    await world.published()
    check = world.publisher.health()
    assert (check.name, check.status, check.observed) == ("peers:publications", "pass", 1)


# --- what fails in between ------------------------------------------------------------------------


class Faulty(Log):
    """Some appends fail, before or after they are in the log; or they hang until they are let go."""

    def __init__(self) -> None:
        super().__init__()
        self.failing: dict[int, bool] = {}
        """Number of the append → whether it is in the log all the same."""
        self.gate: asyncio.Event | None = None
        self.appends = 0

    async def append(self, compose: Compose, attachment: bytes | None = None) -> int:
        self.appends += 1
        is_in = self.failing.pop(self.appends, None)
        if self.gate is not None:
            await self.gate.wait()
        if is_in is not False:
            index = await super().append(compose, attachment)
        if is_in is not None:
            raise Unavailable("the disk is full")
        return index


async def test_an_append_that_fails_is_done_again_and_the_others_are_not(world: World) -> None:
    log = world.log = Faulty()
    log.failing = {2: False, 5: True, 7: False}
    world.publisher = world.opened()
    wanted = await world.ask(*range(10))
    with pytest.raises(Unavailable, match="full"):
        await world.publisher.catch_up()
    await world.publisher.catch_up()
    assert sorted(map(str, wanted)) == sorted(str(one.cid) for one in world.everything())
    assert len(world.publisher.published) == 10


async def test_a_pass_that_is_cut_off_enters_nothing_twice(world: World) -> None:
    log = world.log = Faulty()
    log.gate = asyncio.Event()
    world.publisher = world.opened()
    await world.ask(*range(5))
    work = asyncio.create_task(world.publisher.catch_up())
    while log.appends < 5:
        await asyncio.sleep(0)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    again = asyncio.create_task(world.publisher.catch_up())
    await asyncio.sleep(0)
    log.gate.set()
    await again
    entries = world.everything()
    assert len(entries) == len({one.cid for one in entries}) == 5


async def test_nothing_is_entered_while_the_log_cannot_be_read_back(world: World) -> None:
    await world.published()

    async def nothing(first: int, end: int) -> Sequence[bytes]:
        return []

    with pytest.raises(Unavailable, match="read back"):
        await world.opened(entries=nothing).catch_up()
    assert world.log.size() == 1


async def test_what_was_replaced_is_taken_back_though_its_block_is_gone(world: World) -> None:
    old = await world.published()
    newer = await world.add(public(answer="Newer."), supersede=[old.cid])
    assert await world.store.records.reclaim(limit=1) == [old.cid]
    world.publisher = world.opened()
    first, second = await world.entered()
    assert first == Retract(old.cid, "withdrawn", None)
    assert second.cid == newer.cid


async def test_what_was_evicted_and_came_back_is_entered_once(world: World) -> None:
    mine = await world.published()
    await world.store.blocks.delete(mine.cid)
    assert await world.entered() == []
    assert len(world.publisher.published) == 0
    await world.add(public())
    assert await world.entered() == []
    assert len(world.publisher.published) == 1
    world.publisher = world.opened()
    assert await world.entered() == []
    assert len(world.publisher.published) == 1


async def test_a_clock_that_goes_back_enters_nothing_twice(world: World) -> None:
    await world.add(public(expires=START + timedelta(hours=1)))
    await world.entered()
    world.clock.advance(7_200)
    await world.entered()
    assert world.state_path is not None
    world.state_path.unlink()
    world.clock = ManualClock(START)
    world.publisher = world.opened()
    assert await world.entered() == []


async def test_an_older_store_that_was_put_back_is_followed_anew(world: World, tmp_path: Path) -> None:
    await world.ask(*range(5))
    await world.entered()
    other = await SqliteStore.open(tmp_path / "restored.sqlite", own_issuer=US.did)
    old_store, world.store = world.store, other
    await world.ask(1)
    new = await world.add(public("What is new?"))
    world.publisher = world.opened()
    assert [one.cid for one in await world.entered()] == [new.cid]
    world.store = old_store
    await other.close()


async def test_a_new_key_stands_before_the_tombstone_that_it_signed(world: World) -> None:
    mine = await world.published()
    key = await world.add(US.key_record(THEM.did))
    await world.add(US.tombstone(mine.cid, scope="public"))
    assert [one.cid for one in await world.entered()] == [key.cid, mine.cid]


async def test_only_the_tombstones_of_what_was_published_are_entered(world: World) -> None:
    hidden = await world.add(public("What is of a context?", context="ab" * 32))
    over = await world.add(public("What is over soon?", expires=START + timedelta(hours=1)))
    assert [one.cid for one in await world.entered()] == [over.cid]
    world.clock.advance(7_200)
    await world.entered()
    await world.add(US.tombstone(hidden.cid, scope="public"))
    await world.add(US.tombstone(over.cid, scope="public"))
    assert [one.cid for one in await world.entered()] == [over.cid], "late copies lose to it"


async def test_what_a_reader_would_refuse_is_never_entered(world: World) -> None:
    mine = await world.published()
    await world.add(US.validation(Cid.of(b"no record", RAW), "valid", scope="public"))
    await world.add(US.tombstone(mine.cid, scope="public", reason="They said so, in Zürich."))
    [gone] = await world.entered()
    assert isinstance(gone, Retract)
    assert gone.reason == "withdrawn"
    world.publisher = world.opened(class_of=lambda _: "Not a word!")
    await world.add(public("What is a CID?"))
    [shown] = await world.entered()
    assert isinstance(shown, Publish)
    assert shown.class_ == "general"


async def test_the_order_of_pages_does_not_lose_a_withdrawal(quick_world: World) -> None:
    """More than a page of new records behind what is withdrawn, in one go after an absence."""
    world = quick_world
    first = await world.ask(*range(3))
    await world.entered()
    stone = await world.add(US.tombstone(first[0], scope="public"))
    await world.ask(*range(10, 1_015))
    await world.store.records.withdraw(first[1], "test")
    world.publisher = world.opened()
    entered = await world.entered()
    gone = [one for one in entered if isinstance(one, Retract)]
    assert gone == [Retract(first[1], "withdrawn", None), Retract(first[0], "erased", stone.cid)]
    assert len(entered) == 1_007
