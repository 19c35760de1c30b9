"""A publisher that starts again reads only what its index does not know, and believes none of another log."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.audit.tlog.leaf import compose
from node.audit.tlog.tiles import Tile
from node.core.errors import NotFound, Rejected, Unavailable
from node.core.ipld.cid import Cid
from node.peers.rules.entry import PublicationEntry, Publish, encode
from node.peers.rules.sorted_set import Item, SortedSet
from node.peers.sync import publish_index
from node.peers.sync.publish import INDEX_SHARE, Places, Publisher, ReadBack
from node.peers.sync.publish_index import Place, Shared
from tests.record_builders import START
from tests.references.record_store import MemoryStore
from tests.tlog_memory import MemoryLog, log_signer
from tests.unit.peers.sync.test_publish import US, World, public

AFTER = 4


class Indexed(World):
    """A node whose publisher keeps an index after a few entries. ``read``: what was read back."""

    def __init__(self, store: MemoryStore, folder: Path) -> None:
        self.index_path = folder / "publications.index"
        self.read: list[int] = []
        self.roots_fail = False
        super().__init__(store, folder / "publications.json")

    def again(self, state: str = "kept") -> Publisher:
        """Another run of the program."""
        if state == "lost" and self.state_path is not None:
            self.state_path.unlink()
        self.read.clear()
        self.publisher = Publisher(
            self.store.records,
            self.log,
            self.clock,
            ReadBack(self._entries, self._root_at),
            own=US.did,
            class_of=lambda _: "general",
            places=Places(self.state_path, self.index_path, AFTER),
        )
        return self.publisher

    async def _entries(self, first: int, end: int) -> Sequence[bytes]:
        self.read += range(first, end)
        return await self.log.entries(first, end)

    async def _root_at(self, size: int) -> bytes:
        if self.roots_fail:
            raise Unavailable("the disk is gone")
        if size > self.log.size():
            raise Rejected("the log is smaller")
        return self.log.log.root(size)

    async def more(self, count: int, first: int = 0) -> list[PublicationEntry]:
        """What a pass adds, once there are so many more public answers."""
        await self.ask(*range(first, first + count))
        return await self.entered()

    async def stop(self) -> None:
        """As a node does that is told to stop."""
        self.publisher.start()
        await self.publisher.close(5)


@pytest.fixture
def world(tmp_path: Path) -> Indexed:
    made = Indexed(MemoryStore(own_issuer=US.did), tmp_path)
    made.again()
    return made


def same(one: SortedSet, other: SortedSet) -> bool:
    return one.ids(0, len(one)) == other.ids(0, len(other))


async def test_a_restart_reads_only_what_is_new(world: Indexed) -> None:
    assert len(await world.more(20)) == 20
    was = world.publisher.published
    world.again()
    assert await world.entered() == []
    assert world.read == []
    assert same(world.publisher.published, was)
    await world.more(2, 20)  # fewer than make a new index: a kill costs as much reading
    was = world.publisher.published
    world.again()
    assert await world.entered() == []
    assert world.read == [20, 21]
    assert same(world.publisher.published, was)


async def test_the_stop_keeps_the_index_of_whatever_there_is(world: Indexed) -> None:
    await world.more(1)
    assert not world.index_path.exists()
    await world.stop()
    world.again()
    assert await world.entered() == []
    assert world.read == []
    assert len(world.publisher.published) == 1


async def test_the_index_is_written_for_a_share_of_what_it_has(world: Indexed) -> None:
    await world.more(AFTER * INDEX_SHARE * 2)
    before = world.index_path.read_bytes()
    await world.more(AFTER, 1_000)
    assert world.index_path.read_bytes() == before
    await world.more(AFTER, 2_000)
    assert world.index_path.read_bytes() != before


@pytest.mark.parametrize("state", ["kept", "lost"])
async def test_what_was_taken_back_or_has_ended_stays_so(world: Indexed, state: str) -> None:
    await world.ask(*range(6))
    ends = await world.add(public("What ends?", expires=START + timedelta(hours=1)))
    gone = await world.add(public("What is erased?"))
    await world.entered()
    await world.add(US.tombstone(gone.cid, scope="public"))
    await world.entered()
    await world.stop()
    world.clock.advance(7_200)
    world.again(state)
    assert await world.entered() == []
    assert world.read == []
    assert len(world.publisher.published) == 6
    assert Item(int(START.timestamp()), ends.cid.digest) not in world.publisher.published
    assert await world.more(6) == [], "the same ones"


async def test_what_gave_way_after_the_index_was_made_is_not_compared(world: Indexed) -> None:
    await world.ask(*range(5))
    first = await world.published("What is first?")
    await world.store.blocks.delete(first.cid)
    await world.entered()
    world.again()
    await world.entered()
    assert world.read == []
    assert len(world.publisher.published) == 5
    await world.add(public("What is first?"))
    assert await world.entered() == []
    assert len(world.publisher.published) == 6


@pytest.mark.parametrize("how", ["other", "shorter", "damaged", "cut", "nonsense", "no roots", "older root"])
async def test_an_index_that_is_not_of_this_log_counts_for_nothing(world: Indexed, how: str) -> None:
    await world.more(6)
    match how:
        case "other":  # one entry of the log is another one
            entries = list(world.log.log.entries)
            another = Publish(Cid.of(b"another record"), "general", "ab" * 32, None)
            entries[3] = compose(encode(another), 3, 17)
            world.log.log = MemoryLog(entries)
        case "shorter":
            world.log.log = MemoryLog(world.log.log.entries[:4])
        case "damaged":
            data = bytearray(world.index_path.read_bytes())
            data[len(data) // 2] ^= 1
            world.index_path.write_bytes(data)
        case "cut":
            world.index_path.write_bytes(world.index_path.read_bytes()[:-40])
        case "nonsense":
            world.index_path.write_bytes(b"x" * 300)
        case "no roots":
            world.roots_fail = True
        case "older root":
            place, shared = publish_index.load(world.index_path.read_bytes())
            forged = Place(place.size, bytes(32), place.sequence, place.change)
            world.index_path.write_bytes(publish_index.dump(forged, shared))
    world.again()
    entered = await world.entered()
    assert world.read == list(range(len(world.read)))
    assert len(world.read) == (4 if how == "shorter" else 6), "all of it is read"
    assert len(entered) == (2 if how == "shorter" else 0)
    assert len(world.publisher.published) == (5 if how == "other" else 6), "what the log says, and no index"


async def test_an_index_that_cannot_be_written_stops_nothing(world: Indexed) -> None:
    world.index_path.mkdir()
    assert len(await world.more(6)) == 6
    assert await world.entered() == []


async def test_an_older_store_that_is_put_back_shows_only_what_it_has(world: Indexed, tmp_path: Path) -> None:
    await world.more(6)
    world.store = MemoryStore(own_issuer=US.did)
    [kept] = await world.ask(2)
    world.again()
    assert await world.entered() == []
    assert world.publisher.published.ids(0, len(world.publisher.published)) == [kept.digest]


# --- the file -------------------------------------------------------------------------------------

_DIGESTS = st.binary(min_size=32, max_size=32)
_TIMES = st.none() | st.integers(0, 2**40)


@given(
    times=st.dictionaries(_DIGESTS, _TIMES, max_size=20),
    ends=st.dictionaries(_DIGESTS, st.integers(0, 2**40), max_size=20),
    ever=st.sets(_DIGESTS, max_size=20),
    numbers=st.tuples(*[st.integers(0, 2**62)] * 3),
    root=_DIGESTS,
)
def test_what_is_written_is_read(
    times: dict[bytes, int | None],
    ends: dict[bytes, int],
    ever: set[bytes],
    numbers: tuple[int, int, int],
    root: bytes,
) -> None:
    shared = Shared(times, sorted((end, digest) for digest, end in ends.items()))
    for digest in ever | times.keys():
        shared.ever.add(Item(0, digest))
    place = Place(numbers[0], root, numbers[1], numbers[2])
    found, again = publish_index.load(publish_index.dump(place, shared))
    assert found == place
    assert again.times == times
    assert sorted(again.ends) == sorted((end, digest) for digest, end in ends.items() if digest in times)
    assert again.ever.ids(0, len(again.ever)) == sorted(ever | times.keys())


@given(data=st.binary(max_size=400), at=st.integers(0, 400), flip=st.integers(1, 255))
def test_no_bytes_break_it(data: bytes, at: int, flip: int) -> None:
    shared = Shared({b"a" * 32: 7}, [(9, b"a" * 32)])
    shared.ever.add(Item(0, b"a" * 32))
    sound = publish_index.dump(Place(1, b"r" * 32, 2, 3), shared)
    bent = bytearray(sound)
    bent[at % len(bent)] ^= flip
    for bad in (data, publish_index.MAGIC + data, bytes(bent), sound[: at % len(sound)]):
        with pytest.raises(Rejected):
            publish_index.load(bad)


class Folder:
    """The tiles of a log in memory."""

    def __init__(self, log: MemoryLog) -> None:
        self.log = log

    async def read(self, path: str, bytes_max: int) -> bytes:
        try:
            return self.log.tile_bytes(Tile.parse(path))
        except (KeyError, AssertionError):
            raise NotFound(path) from None


@pytest.mark.parametrize("whole", [1, 5, 255, 256, 300, 700])
async def test_a_root_is_proven_by_the_logs_own_tiles(whole: int) -> None:
    log = MemoryLog.of(whole)
    note, source = log.note(), Folder(log)
    for size in {0, 1, whole // 2, whole}:
        assert await publish_index.root_at(source, note, size) == log.root(size)
    with pytest.raises(Rejected, match="covers"):
        await publish_index.root_at(source, note, whole + 1)
    other = MemoryLog([*log.entries[:-1], b"another"], log_signer()).note()
    with pytest.raises(Rejected, match="do not hash"):
        await publish_index.root_at(source, other, whole)
