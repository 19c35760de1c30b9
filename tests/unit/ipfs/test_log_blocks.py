"""A log as blocks: whoever has the newest head rebuilds the folder byte for byte; what is complete stays,
what is replaced is kept for its time and then goes; nothing is lost by a failure, a restart or a daemon
that was away. Over folders written here with the pure functions alone, and once over a real log; the clock is
ours."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import cbrrr
import orjson
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from node.audit.decisions.origin import epoch_of
from node.audit.log.writer import Published, TileLog
from node.audit.tlog.tiles import (
    ENTRIES,
    HEIGHT,
    Tile,
    decode_bundle,
    encode_bundle,
    tiles_at,
    tiles_between,
)
from node.core.clock import SystemClock
from node.core.errors import Rejected, Unavailable
from node.core.follower import BACKOFF_MAX_S
from node.core.ipld.cid import DAG_CBOR, RAW, Cid
from node.core.merkle import Frontier, leaf_hash
from node.core.ports import BlockStore
from node.core.signed_note import Checkpoint, Ed25519Signer, Note
from node.ipfs.kubo import KuboBlockStore
from node.ipfs.log_blocks import EVERY_S, HASTENED_EVERY_S, KEPT_S, LogBlocks
from node.ipfs.log_head import PAGE_ENTRIES, PART_BYTES_MAX, Head, completed_between, split
from tests.manual_clock import ManualClock
from tests.references.record_store import MemoryStore
from tests.simulators.kubo import KuboStandIn

ORIGIN = "did:key:zTest.neuroswarm/decisions"
PATIENCE_S = 20.0
KEY = Ed25519PrivateKey.from_private_bytes(bytes(32))


class Folder:
    """A log's folder as a writer leaves it: tiles, bundles, vkey, and last the checkpoint."""

    def __init__(self, path: Path, origin: str = ORIGIN) -> None:
        self.path = path
        self.origin = origin
        self.entries: list[bytes] = []
        self._levels: list[list[bytes]] = []
        self._edge = Frontier()
        path.mkdir(parents=True, exist_ok=True)
        self._signer = Ed25519Signer(origin, KEY)
        (path / "vkey").write_text(self._signer.verifier.vkey + "\n", encoding="ascii")

    def grow(self, count: int, *, length: int = 12) -> Published:
        """``count`` more entries and a checkpoint over all."""
        old = len(self.entries)
        more = [b"%012d" % number + bytes(length - 12) for number in range(old, old + count)]
        self.entries += more
        for entry in more:
            for level, _, digest in self._edge.append(leaf_hash(entry)):
                if level % HEIGHT == 0:
                    while level // HEIGHT >= len(self._levels):
                        self._levels.append([])
                    self._levels[level // HEIGHT].append(digest)
        for tile in tiles_between(old, len(self.entries)):
            self.write(tile.path, self._bytes_of(tile))
        return self.publish()

    def publish(self) -> Published:
        size, root = len(self.entries), self._edge.root()
        text = Checkpoint(self.origin, size, root).text()
        note = Note(text, (self._signer.sign(text, 0),)).encode()
        self.write("checkpoint", note)
        return Published(size, root, note, ManualClock().now())

    def write(self, name: str, data: bytes) -> None:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def needed(self) -> dict[str, bytes]:
        """What a copy of the folder holds that was taken at this checkpoint and no earlier one."""
        size = len(self.entries)
        names = [tile.path for tile in tiles_at(size)] + completed_between(0, size) + ["checkpoint", "vkey"]
        return {name: (self.path / name).read_bytes() for name in names}

    def move(self, path: Path) -> None:
        """An operator, or a new epoch, moves the folder away."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path.rename(path)
        self.path = path

    def _bytes_of(self, tile: Tile) -> bytes:
        first = tile.index << HEIGHT
        if tile.level == ENTRIES:
            return encode_bundle(self.entries[first : first + tile.width])
        return b"".join(self._levels[tile.level][first : first + tile.width])


Get = Callable[[Cid], Awaitable[bytes]]


async def rebuild(head: Cid, get: Get) -> dict[str, bytes]:
    """What anybody with an IPFS client does: follow ``prev``, join the parts, put earlier epochs into folders
    of their own. Where several blocks name a file, the newest is right."""
    files: dict[str, bytes] = {}
    current = epoch_of(Head.parse(await get(head)).origin)[1]
    place: Cid | None = head
    while place is not None:
        block = Head.parse(await get(place))
        number = epoch_of(block.origin)[1]
        folder = "" if number == current else f"epochs/{number}/"
        if block.checkpoint is not None:
            files.setdefault(f"{folder}checkpoint", await get(block.checkpoint))
        for path, parts in block.new.items():
            if f"{folder}{path}" not in files:
                files[f"{folder}{path}"] = b"".join([await get(part) for part in parts])
        place = block.prev
    return files


class Shelf:
    """A block store that can be waited for and made to fail."""

    def __init__(self) -> None:
        self.memory = MemoryStore(own_issuer="")
        self.blocks: BlockStore = self.memory.blocks
        self.failing = ""
        self.puts = 0
        self.on_put: Callable[[], None] = lambda: None
        self._changed = asyncio.Condition()

    async def put(self, cid: Cid, data: bytes) -> None:
        async with self._changed:
            self.puts += 1
            self.on_put()
            self._changed.notify_all()
            if self.failing:
                raise Unavailable(self.failing)
            await self.blocks.put(cid, data)

    async def get(self, cid: Cid) -> bytes:
        return await self.blocks.get(cid)

    async def has(self, cid: Cid) -> bool:
        return await self.blocks.has(cid)

    async def delete(self, cid: Cid) -> None:
        await self.blocks.delete(cid)

    async def close(self) -> None:
        await self.blocks.close()

    def sizes(self) -> set[int]:
        """Of all heads that are here, pages left out."""
        return {head.size for head in self.heads() if head.checkpoint is not None}

    def heads(self) -> Iterator[Head]:
        for data in self.memory.blocks_by_multihash.values():
            try:
                yield Head.parse(data)
            except Rejected:
                continue

    async def holds(self, data: bytes) -> bool:
        return all([await self.has(Cid.of(part, RAW)) for part in split(data)])

    async def until(self, is_so: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_S), self._changed:
            await self._changed.wait_for(is_so)


async def gone(has: Callable[[Cid], Awaitable[bool]], *cids: Cid) -> None:
    for cid in cids:
        while await has(cid):
            await asyncio.sleep(0)


class World:
    """What stands around the job."""

    def __init__(self, tmp_path: Path) -> None:
        self.tmp_path = tmp_path
        self.folder = Folder(tmp_path / "log")
        self.shelf = Shelf()
        self.clock = ManualClock()

    @property
    def state(self) -> Path:
        return self.tmp_path / "log_blocks.json"

    @asynccontextmanager
    async def job(self, *, daemon: KuboBlockStore | None = None) -> AsyncIterator[LogBlocks]:
        """A job at work, closed at the end; the same world again is the same node restarted."""
        job = LogBlocks(self.tmp_path / "log", self.shelf, self.state, self.clock, daemon=daemon)
        job.start()
        try:
            async with asyncio.timeout(PATIENCE_S):
                yield job
        finally:
            await job.close(PATIENCE_S)

    async def next_head(self, job: LogBlocks, *, more: int = 1) -> Cid:
        """After as little time as a critical decision has to wait."""
        old = job.head
        self.clock.advance(HASTENED_EVERY_S)
        job.published(self.folder.grow(more))
        job.hasten()
        while (head := job.head) is None or head == old:
            await asyncio.sleep(0)
        return head

    async def forget(self, job: LogBlocks, has: Callable[[Cid], Awaitable[bool]], *cids: Cid) -> None:
        """Let as much time pass as replaced blocks are kept, until these are gone."""
        while job.head is None:  # it has not read its state yet
            await asyncio.sleep(0)
        self.clock.advance(KEPT_S)
        await gone(has, *cids)

    async def once(self, *, daemon: KuboBlockStore | None = None) -> Cid:
        """Start, catch up, stop; the newest head."""
        async with self.job(daemon=daemon) as job:
            pass
        assert job.health().status == "pass", job.health()
        assert job.head is not None
        return job.head


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.mark.parametrize("size", [0, 1, 255, 256, 257, 700])
async def test_the_folder_is_rebuilt_byte_for_byte_from_the_newest_head(world: World, size: int) -> None:
    world.folder.grow(size)
    assert await rebuild(await world.once(), world.shelf.get) == world.folder.needed()


async def test_a_log_that_was_never_published_has_no_head(world: World) -> None:
    async with world.job() as job:
        pass
    assert job.head is None
    assert world.shelf.puts == 0


async def test_complete_tiles_go_at_once_and_the_right_edge_waits_for_its_turn(world: World) -> None:
    world.folder.grow(100)
    async with world.job() as job:
        await world.shelf.until(lambda: world.shelf.sizes() == {100})
        job.published(world.folder.grow(700))
        needed = world.folder.needed()
        complete = [Cid.of(needed[path], RAW).multihash for path in completed_between(0, 800)]
        held = world.shelf.memory.blocks_by_multihash
        await world.shelf.until(lambda: held.keys() >= set(complete))
        assert world.shelf.sizes() == {100}
        world.clock.advance(EVERY_S)
        await world.shelf.until(lambda: 800 in world.shelf.sizes())


async def test_a_critical_decision_does_not_wait_for_its_turn_but_for_those_before_it(world: World) -> None:
    world.folder.grow(10)
    async with world.job() as job:
        await world.shelf.until(lambda: world.shelf.sizes() == {10})
        job.published(world.folder.grow(1))
        job.hasten()
        world.clock.advance(HASTENED_EVERY_S - 1)
        job.published(world.folder.grow(256))
        complete = Cid.of((world.folder.path / "tile/entries/000").read_bytes(), RAW).multihash
        await world.shelf.until(lambda: complete in world.shelf.memory.blocks_by_multihash)
        assert world.shelf.sizes() == {10}
        world.clock.advance(1)
        await world.shelf.until(lambda: 267 in world.shelf.sizes())


async def test_what_a_head_replaces_is_kept_for_its_time_and_then_goes(world: World) -> None:
    async with world.job() as job:
        first, first_files = await world.next_head(job, more=300), world.folder.needed()
        kept = {first: first_files}
        for _ in range(int(KEPT_S / HASTENED_EVERY_S)):  # the first is replaced by the second
            head = await world.next_head(job)
            kept[head] = world.folder.needed()
        for head, files in kept.items():
            assert await rebuild(head, world.shelf.get) == files
        second = await world.next_head(job)
        await world.next_head(job)
        assert not await world.shelf.has(first)
        for name in ("checkpoint", "tile/0/001.p/44", "tile/entries/001.p/44"):
            assert not await world.shelf.holds(first_files[name]), name
        for name in ("tile/0/000", "tile/entries/000", "vkey"):
            assert await world.shelf.holds(first_files[name]), name
        await world.forget(job, world.shelf.has, second)  # nobody says anything: time alone does it
    assert world.shelf.sizes() == {len(world.folder.entries)}
    assert job.head is not None
    assert await rebuild(job.head, world.shelf.get) == world.folder.needed()


async def test_a_restart_begins_the_time_of_what_was_replaced_anew(world: World) -> None:
    kept = {}
    for _ in range(5):
        world.folder.grow(100)
        kept[await world.once()] = world.folder.needed()
        world.clock.advance(KEPT_S * 2)
    for head, files in kept.items():
        assert await rebuild(head, world.shelf.get) == files
    *older, newest = kept
    async with world.job() as job:
        await world.forget(job, world.shelf.has, *older)
    assert world.shelf.sizes() == {500}
    assert await rebuild(newest, world.shelf.get) == kept[newest]


async def test_restarts_without_end_keep_a_bounded_number_of_heads(world: World) -> None:
    heads = []
    for _ in range(40):
        world.folder.grow(1)
        heads.append(await world.once())
    assert world.shelf.sizes() == set(range(8, 41))
    assert len(world.state.read_bytes()) < 4_096


async def test_a_state_of_version_1_is_gone_on_from(world: World) -> None:
    world.folder.grow(300)
    first = await world.once()
    world.folder.grow(10)
    second, files = await world.once(), world.folder.needed()
    state = orjson.loads(world.state.read_bytes())
    del state["older"], state["given_older"]
    world.state.write_bytes(orjson.dumps(state | {"v": 1, "before": str(first)}))
    puts = world.shelf.puts
    async with world.job() as job:
        await world.forget(job, world.shelf.has, first)
    assert (job.head, world.shelf.puts) == (second, puts)
    assert await rebuild(second, world.shelf.get) == files


async def test_a_new_epoch_and_a_lost_block_leave_what_was_replaced_for_its_time(world: World) -> None:
    old = world.folder
    old.grow(300)
    first, first_files = await world.once(), old.needed()
    old.grow(10)
    await world.once()
    old.move(world.tmp_path / "log.aside")
    new = Folder(world.tmp_path / "log", f"{ORIGIN}/2")
    old.move(world.tmp_path / "log" / "epochs" / "1")
    new.grow(5)
    head = await world.once()
    needed = new.needed() | {f"epochs/1/{name}": data for name, data in old.needed().items()}
    assert await rebuild(first, world.shelf.get) == first_files
    await world.shelf.delete(head)  # the list is made again; the older heads are not forgotten by that
    assert await world.once() == head
    assert await rebuild(first, world.shelf.get) == first_files
    async with world.job() as job:
        await world.forget(job, world.shelf.has, first)
    assert await rebuild(head, world.shelf.get) == needed
    assert world.shelf.sizes() == {310, 5}


async def test_nothing_new_makes_no_new_head(world: World) -> None:
    world.folder.grow(300)
    head = await world.once()
    puts = world.shelf.puts
    assert await world.once() == head
    assert world.shelf.puts == puts


async def test_cosignatures_that_came_later_are_in_the_next_head(world: World) -> None:
    world.folder.grow(5)
    await world.once()
    note = Note.parse((world.folder.path / "checkpoint").read_bytes())
    witness = Ed25519Signer("witness", KEY).sign(note.text, 0)
    world.folder.write("checkpoint", note.with_signatures([witness]).encode())
    world.folder.write("checkpoint.witnessed", note.with_signatures([witness]).encode())
    files = await rebuild(await world.once(), world.shelf.get)
    assert files["checkpoint"] == files["checkpoint.witnessed"] == note.with_signatures([witness]).encode()


async def test_a_lost_state_or_an_unreadable_one_leads_to_the_same_head(world: World) -> None:
    world.folder.grow(300)
    head = await world.once()
    for text in (None, "", "{}", '{"v":1}', '{"v":2}', "[]", '{"v":1,"origin":"x","pages":"y"}', "\0"):
        world.state.unlink()
        if text is not None:
            world.state.write_text(text, encoding="utf-8")
        assert await world.once() == head


async def test_lost_blocks_are_made_again(world: World) -> None:
    world.folder.grow(300)
    head = await world.once()
    world.shelf = Shelf()
    assert await world.once() == head
    assert await rebuild(head, world.shelf.get) == world.folder.needed()


@pytest.mark.slow
async def test_pages_are_the_same_whether_the_log_grew_or_was_met_whole(world: World, tmp_path: Path) -> None:
    world.folder.grow(PAGE_ENTRIES - 300)
    await world.once()
    world.folder.grow(400)
    await world.once()
    world.folder.grow(400)
    head = await world.once()
    assert await rebuild(head, world.shelf.get) == world.folder.needed()
    pages = [page for page in world.shelf.heads() if page.checkpoint is None]
    assert [page.size for page in pages] == [PAGE_ENTRIES]
    assert len(pages[0].new) == 513
    world.shelf = Shelf()
    world.state.unlink()
    assert await world.once() == head
    assert {page.encode() for page in world.shelf.heads() if page.checkpoint is None} == {pages[0].encode()}


async def test_a_bundle_over_a_mebibyte_is_split_and_shared_parts_are_not_deleted(world: World) -> None:
    length = 9_000
    world.folder.grow(200, length=length)
    first = Head.parse(await world.shelf.get(await world.once()))
    parts = first.new["tile/entries/000.p/200"]
    assert len(parts) == 2
    assert len(await world.shelf.get(parts[0])) == PART_BYTES_MAX <= 2**20
    for _ in range(3):
        world.folder.grow(30, length=length)
        head = await world.once()
    assert await rebuild(head, world.shelf.get) == world.folder.needed()
    last = Head.parse(await world.shelf.get(head))
    assert last.new["tile/entries/000"][0] == parts[0]
    async with world.job() as job:
        await world.forget(job, world.shelf.has, parts[1])
    assert await rebuild(head, world.shelf.get) == world.folder.needed()


async def test_a_new_epoch_follows_the_last_head_of_the_one_before(world: World) -> None:
    old = world.folder
    old.grow(300)
    await world.once()
    old.grow(20)  # published, and then the log was closed before anything became a block
    old.move(world.tmp_path / "log.aside")
    new = Folder(world.tmp_path / "log", f"{ORIGIN}/2")
    old.move(world.tmp_path / "log" / "epochs" / "1")
    earlier = {f"epochs/1/{name}": data for name, data in old.needed().items()}
    for count in (0, 5, 500, 3):
        new.grow(count)
        assert await rebuild(await world.once(), world.shelf.get) == new.needed() | earlier
    world.state.unlink()
    world.shelf = Shelf()
    assert await rebuild(await world.once(), world.shelf.get) == new.needed() | earlier


@pytest.mark.parametrize("after", [1, 3, 5])
async def test_a_log_that_is_moved_aside_while_it_is_read_is_not_mixed_with_the_next(
    world: World, after: int
) -> None:
    old = world.folder
    old.grow(300)
    new: list[Folder] = []

    def move() -> None:
        if world.shelf.puts == after:
            old.move(world.tmp_path / "log.aside")
            new.append(Folder(world.tmp_path / "log", f"{ORIGIN}/2"))
            old.move(world.tmp_path / "log" / "epochs" / "1")
            new[0].grow(300, length=20)

    world.shelf.on_put = move
    head = await world.once()
    earlier = {f"epochs/1/{name}": data for name, data in old.needed().items()}
    assert await rebuild(head, world.shelf.get) == new[0].needed() | earlier


async def test_another_log_in_the_folder_begins_a_list_of_its_own(world: World) -> None:
    world.folder.grow(300)
    await world.once()
    world.folder.move(world.tmp_path / "elsewhere")
    other = Folder(world.tmp_path / "log", "did:key:zOther.neuroswarm/decisions")
    other.grow(3)
    assert await rebuild(await world.once(), world.shelf.get) == other.needed()


async def test_an_older_copy_of_the_folder_changes_nothing(world: World) -> None:
    world.folder.grow(300)
    kept = (world.folder.path / "checkpoint").read_bytes()
    world.folder.grow(300)
    head = await world.once()
    world.folder.write("checkpoint", kept)
    assert await world.once() == head


async def test_a_store_that_fails_is_tried_again_and_health_says_so(world: World) -> None:
    world.folder.grow(300)
    world.shelf.failing = "the disk is full"
    async with world.job() as job:
        await world.shelf.until(lambda: world.shelf.puts > 0)
        while job.health().status == "pass":
            await asyncio.sleep(0)
        check = job.health()
        assert (check.name, check.status) == ("log:blocks", "warn")
        assert "the disk is full" in check.output
        world.shelf.failing = ""
        while 300 not in world.shelf.sizes():
            world.clock.advance(BACKOFF_MAX_S * 2)
            await asyncio.sleep(0)
    check = job.health()
    assert check.status == "pass"
    assert check.observed == str(job.head)
    assert "300 entries" in check.output


async def test_a_stop_while_the_store_fails_ends_and_the_next_start_goes_on(world: World) -> None:
    world.folder.grow(300)
    world.shelf.failing = "the disk is full"
    async with world.job() as job:
        pass
    assert job.head is None
    world.shelf.failing = ""
    assert await rebuild(await world.once(), world.shelf.get) == world.folder.needed()


async def test_a_missing_tile_and_a_state_that_cannot_be_written_are_said(world: World) -> None:
    world.folder.grow(300)
    (world.folder.path / "tile/0/000").rename(world.tmp_path / "aside")
    async with world.job() as job:
        pass
    assert "tile/0/000" in job.health().output
    (world.tmp_path / "aside").rename(world.folder.path / "tile/0/000")
    world.state.unlink()
    world.state.mkdir()
    async with world.job() as job:
        pass
    assert str(world.state) in job.health().output


async def test_a_real_log_is_followed_as_it_publishes(world: World) -> None:
    path = world.tmp_path / "real"
    signers = [Ed25519Signer(ORIGIN, KEY)]
    job = LogBlocks(path, world.shelf, world.state, world.clock)
    clock = SystemClock()
    log = await TileLog.open(path, ORIGIN, signers, clock, high_water=world.tmp_path / "high_water")
    log.on_published(job.published)
    job.start()
    async with asyncio.timeout(PATIENCE_S):
        await asyncio.gather(*(log.append(lambda index, _: b"entry %d" % index) for _ in range(300)))
        await log.publish()
        await world.shelf.until(lambda: bool(world.shelf.sizes()))
        await log.append(lambda index, _: b"entry %d" % index)
        await log.close()
        await job.close(PATIENCE_S)
    assert job.head is not None
    files = await rebuild(job.head, world.shelf.get)
    assert set(files) == {
        *("checkpoint", "vkey", "tile/0/000", "tile/entries/000"),
        *("tile/0/001.p/45", "tile/entries/001.p/45", "tile/1/000.p/1"),
    }
    assert all(data == (path / name).read_bytes() for name, data in files.items())
    assert decode_bundle(files["tile/entries/001.p/45"], 45)[-1] == b"entry 300"


# --- the daemon -----------------------------------------------------------------------------------


@asynccontextmanager
async def reaching(daemon: KuboStandIn, clock: ManualClock) -> AsyncIterator[KuboBlockStore]:
    async with aiohttp.ClientSession(auto_decompress=False, trust_env=False) as http:
        yield KuboBlockStore(daemon.url, http, clock, timeout_s=5.0)


@pytest.mark.parametrize("dialect", ["kubo", "js-ipfs"])
async def test_the_daemon_has_and_pins_what_the_newest_head_leads_to(world: World, dialect: str) -> None:
    async with KuboStandIn(dialect) as daemon, reaching(daemon, world.clock) as there:
        world.folder.grow(300, length=5_000)
        first, first_files = await world.once(daemon=there), world.folder.needed()
        assert await rebuild(first, there.blocks.get) == first_files
        world.folder.grow(300, length=5_000)
        puts = sum(call.call == "block/put" for call in daemon.calls)
        second = await world.once(daemon=there)
        assert await rebuild(second, there.blocks.get) == world.folder.needed()
        assert await there.client.pinned([second])
        assert await rebuild(first, there.blocks.get) == first_files
        assert await there.client.pinned([first])
        # The first bundle, in two parts, and its hash tile are there already.
        links = Head.parse(await world.shelf.get(second)).links
        assert sum(call.call == "block/put" for call in daemon.calls) - puts < len(links)
        async with world.job(daemon=there) as job:
            await world.forget(job, there.has, first)
        assert await rebuild(second, there.blocks.get) == world.folder.needed()
        assert daemon.pinned() == {second, *links}


async def test_what_the_daemon_could_not_be_rid_of_goes_once_it_is_back(world: World) -> None:
    daemon = KuboStandIn("kubo")
    heads = []
    async with daemon, reaching(daemon, world.clock) as there:
        for _ in range(3):
            world.folder.grow(100)
            heads.append(await world.once(daemon=there))
    async with reaching(daemon, world.clock) as there, world.job(daemon=there) as job:
        while job.health().status == "pass":
            world.clock.advance(KEPT_S)
            await asyncio.sleep(0)
    assert world.shelf.sizes() == {100, 200, 300}, "they say what is to be taken back"
    async with daemon, reaching(daemon, world.clock) as there:
        async with world.job(daemon=there):
            await gone(there.has, *heads[:-1])
        assert await rebuild(heads[-1], there.blocks.get) == world.folder.needed()
    assert world.shelf.sizes() == {300}


async def test_a_daemon_that_was_away_or_emptied_is_given_everything(world: World) -> None:
    daemon = KuboStandIn("kubo")
    world.folder.grow(300)
    async with daemon, reaching(daemon, world.clock) as there:
        await world.once(daemon=there)
    world.folder.grow(300)
    async with reaching(daemon, world.clock) as there, world.job(daemon=there) as job:
        pass  # it is away: the blocks are made all the same
    assert 600 in world.shelf.sizes()
    assert job.health().status == "warn"
    for _ in range(3):
        world.folder.grow(1)
        async with reaching(daemon, world.clock) as there, world.job(daemon=there):
            pass
    async with daemon, reaching(daemon, world.clock) as there:
        head = await world.once(daemon=there)
        assert await rebuild(head, there.blocks.get) == world.folder.needed()
    daemon.blocks.clear()
    daemon.pins.clear()
    world.folder.grow(1)
    async with daemon, reaching(daemon, world.clock) as there:
        head = await world.once(daemon=there)
        assert await rebuild(head, there.blocks.get) == world.folder.needed()


async def test_a_block_lost_here_that_the_daemon_lacks_is_made_again(world: World) -> None:
    world.folder.grow(600)
    head = await world.once()
    lost = Head.parse(await world.shelf.get(head)).new["tile/entries/001"][0]
    await world.shelf.delete(lost)
    async with KuboStandIn("kubo") as daemon, reaching(daemon, world.clock) as there:
        async with world.job(daemon=there) as job:
            pass
        assert str(lost) in job.health().output
        assert await world.once(daemon=there) == head
        assert await rebuild(head, there.blocks.get) == world.folder.needed()


# --- the format -----------------------------------------------------------------------------------


def link(codec: int = RAW) -> cbrrr.CID:
    return cbrrr.CID(bytes(Cid.of(b"x", codec)))


def fields(**changed: Any) -> dict[str, Any]:
    head = {"v": 1, "origin": ORIGIN, "size": 5, "checkpoint": link(), "new": {"vkey": link()}, "prev": None}
    return head | changed


def test_a_head_is_read_back_as_it_was_written() -> None:
    data = bytes(cbrrr.encode_dag_cbor(fields(prev=link(DAG_CBOR), new={"tile/0/000": [link(), link()]})))
    assert Head.parse(data).encode() == data


@pytest.mark.parametrize(
    "changed",
    [
        {"v": 2},
        {"more": 1},
        {"origin": ""},
        {"origin": 5},
        {"size": -1},
        {"size": True},
        {"size": 2**63},
        {"checkpoint": link(DAG_CBOR)},
        {"checkpoint": "bafy"},
        {"prev": link()},
        {"new": [link()]},
        {"new": {"vkey": []}},
        {"new": {"vkey": [5]}},
        {"new": {"../vkey": link()}},
        {"new": {"tile/0/../../vkey": link()}},
        {"new": {"checkpoint": link()}},
    ],
)
def test_a_head_of_another_form_is_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(Rejected):
        Head.parse(bytes(cbrrr.encode_dag_cbor(fields(**changed))))


def test_the_largest_page_fits_into_a_block() -> None:
    paths = completed_between(10**6 * PAGE_ENTRIES, (10**6 + 1) * PAGE_ENTRIES)
    cid = Cid.of(b"x", RAW)
    most = -(-Tile(ENTRIES, 0).bytes_max // PART_BYTES_MAX)
    page = Head(
        "x" * 200, 2**62, None, {path: (cid,) * (most if "entries" in path else 1) for path in paths}, cid
    )
    assert len(page.encode()) < 256 * 1024
