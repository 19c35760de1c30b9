"""A folder of a log that is written here with the pure functions alone, and the blocks that follow it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from node.audit.decisions.origin import epoch_of
from node.audit.log.writer import Published
from node.audit.tlog.tiles import ENTRIES, HEIGHT, Tile, encode_bundle, tiles_at, tiles_between
from node.core.errors import Rejected, Unavailable
from node.core.ipld.cid import RAW, Cid
from node.core.merkle import Frontier, leaf_hash
from node.core.ports import BlockStore
from node.core.signed_note import Checkpoint, Ed25519Signer, Note
from node.ipfs.kubo import KuboBlockStore
from node.ipfs.log_blocks import HASTENED_EVERY_S, KEPT_S, LogBlocks
from node.ipfs.log_head import Head, completed_between, split
from tests.epoch_kit import folders
from tests.manual_clock import ManualClock
from tests.references.record_store import MemoryStore

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
        """Whole or not at all, as our publisher writes."""
        path, aside = self.path / name, self.path / "aside"
        path.parent.mkdir(parents=True, exist_ok=True)
        aside.write_bytes(data)
        aside.replace(path)

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


class Blocks:
    """Blocks in memory behind a store that can be made to fail."""

    def __init__(self) -> None:
        self.memory = MemoryStore(own_issuer="")
        self.blocks: BlockStore = self.memory.blocks
        self.failing = ""

    async def get(self, cid: Cid) -> bytes:
        return await self.blocks.get(cid)

    async def has(self, cid: Cid) -> bool:
        return await self.blocks.has(cid)

    async def delete(self, cid: Cid) -> None:
        await self.blocks.delete(cid)

    async def close(self) -> None:
        await self.blocks.close()


class Shelf(Blocks):
    """A block store that can be waited for and made to fail."""

    def __init__(self) -> None:
        super().__init__()
        self.puts = 0
        self.compacted = 0
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

    async def compact(self) -> None:
        self.compacted += 1

    def sizes(self) -> set[int]:
        """Of all heads that are here, pages left out."""
        return {head.size for head in self.heads() if head.checkpoint is not None}

    def heads(self) -> Iterator[Head]:
        for data in self.memory.blocks_by_multihash.values():
            try:
                yield Head.parse(data)
            except Rejected:
                continue

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
        self.blocks: BlockStore = self.shelf
        """Of the newest job: what the folder makes, and the shelf."""

    async def get(self, cid: Cid) -> bytes:
        return await self.blocks.get(cid)

    async def holds(self, data: bytes) -> bool:
        return all([await self.blocks.has(Cid.of(part, RAW)) for part in split(data)])

    async def until_held(self, data: bytes) -> None:
        while not await self.holds(data):
            await asyncio.sleep(0)

    @property
    def state(self) -> Path:
        return self.tmp_path / "log_blocks.json"

    @asynccontextmanager
    async def job(self, *, daemon: KuboBlockStore | None = None) -> AsyncIterator[LogBlocks]:
        """A job at work, closed at the end; the same world again is the same node restarted."""
        job = LogBlocks(
            self.tmp_path / "log",
            self.shelf,
            self.state,
            self.clock,
            daemon=daemon,
            compact=self.shelf.compact,
            archives=folders,
        )
        self.blocks = job.blocks
        await job.start()
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
        while job.head is None or self.clock.next_s is None:  # it is at work
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
