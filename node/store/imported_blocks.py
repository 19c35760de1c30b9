"""Blocks that others made and that the operator imported from CARs, in a SQLite file of their own
(``foreign.sqlite``), apart from this node's records: they are public as soon as they are here.

Promises: what enters hashes to its CID, whoever read it before; a block has at most 2 MiB, all together
``bytes_max``; an import holds a few MiB in memory however long the CAR is, and commits whole batches, so that
one that is cut off, refused or killed leaves only sound blocks behind; what a refusal says names the block.
Identity CIDs are passed over: they carry their bytes themselves. Any codec is taken, found by multihash.
It knows nothing of records, of what a block links to, or of who asks.

Format 1 (``PRAGMA user_version``), application id ``NSf1``. ``block`` holds bytes by multihash, with the
codec of the CID that it came under first; ``total`` running sums kept by triggers.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from node.core.errors import CorruptState, NodeError, NotFound, Rejected, Unavailable
from node.core.ipld.car import CarReader, refuse_gzip
from node.core.ipld.cid import BLAKE2B_256, RAW, SHA2_256, SHA2_512, Cid
from node.core.ports import BlockStore
from node.store.file_store import FileStore
from node.store.verifying import BLOCK_BYTES_MAX
from node.store.writer import Schema, SqliteFile

PAGE_BYTES = 16_384
"""As for records: most foreign blocks are small or of 256 KiB."""
BATCH_BLOCKS = 1_024
BATCH_BYTES = 4 * 2**20
"""What one commit takes: past this, the sync costs each block no longer noticeably."""
_HASH_HERE_BYTES_MAX = 16 * 2**10
"""Up to this size reading and hashing costs less than going to a thread is worth."""

SCHEMA = Schema(
    name="store of foreign blocks",
    application_id=int.from_bytes(b"NSf1", "big"),
    version=1,
    statements="""
CREATE TABLE block (
    id INTEGER PRIMARY KEY,
    multihash BLOB NOT NULL UNIQUE,
    codec INTEGER NOT NULL,
    data BLOB NOT NULL
);
CREATE TABLE total (blocks INTEGER NOT NULL, bytes INTEGER NOT NULL);
INSERT INTO total VALUES (0, 0);
CREATE TRIGGER block_added AFTER INSERT ON block BEGIN
    UPDATE total SET blocks = blocks + 1, bytes = bytes + length(NEW.data);
END;
CREATE TRIGGER block_deleted AFTER DELETE ON block BEGIN
    UPDATE total SET blocks = blocks - 1, bytes = bytes - length(OLD.data);
END
""",
    synchronous="FULL",
    page_bytes=PAGE_BYTES,
)


@dataclass(frozen=True, slots=True)
class Imported:
    """What came of a CAR: its roots, the blocks and bytes that are new here, how many were known already, and
    how many identity CIDs were passed over."""

    roots: tuple[Cid, ...]
    blocks: int
    bytes: int
    known: int
    identity: int


@dataclass(frozen=True, slots=True)
class _Batch:
    """What one commit did. ``full_at``: the first block that the quota had no room for."""

    blocks: int
    bytes: int
    known: int
    full_at: Cid | None


def _insert(connection: sqlite3.Connection, blocks: Sequence[tuple[Cid, bytes]], bytes_max: int) -> _Batch:
    """Blocks in order up to the quota. A damaged copy that is already there is replaced by the good one."""
    used = int(connection.execute("SELECT bytes FROM total").fetchone()[0])
    new = size = known = 0
    for cid, data in blocks:
        row = connection.execute("SELECT id FROM block WHERE multihash = ?", (cid.multihash,)).fetchone()
        if row is not None:
            connection.execute("UPDATE block SET data = ? WHERE id = ? AND data <> ?", (data, row[0], data))
            known += 1
            continue
        if used + size + len(data) > bytes_max:
            return _Batch(new, size, known, cid)
        connection.execute(
            "INSERT INTO block (multihash, codec, data) VALUES (?, ?, ?)", (cid.multihash, cid.codec, data)
        )
        new += 1
        size += len(data)
    return _Batch(new, size, known, None)


def _select(connection: sqlite3.Connection, cid: Cid) -> bytes | None:
    """Raises ``CorruptState``."""
    row = connection.execute("SELECT data FROM block WHERE multihash = ?", (cid.multihash,)).fetchone()
    if row is None:
        return None
    if not cid.matches(row[0]):
        raise CorruptState(f"the block stored as {cid} has other bytes; import it again")
    return bytes(row[0])


def _names(data: bytes) -> list[bytes]:
    """The multihashes that a block of these bytes may have come under."""
    digests = (
        (SHA2_256, hashlib.sha256(data)),
        (SHA2_512, hashlib.sha512(data)),
        (BLAKE2B_256, hashlib.blake2b(data, digest_size=32)),
    )
    return [Cid(RAW, digest.digest(), function).multihash for function, digest in digests]


def _delete(connection: sqlite3.Connection, cid: Cid) -> None:
    row = connection.execute("SELECT data FROM block WHERE multihash = ?", (cid.multihash,)).fetchone()
    if row is not None:
        _delete_named(connection, [cid.multihash, *_names(row[0])])


def _delete_named(connection: sqlite3.Connection, names: Sequence[bytes]) -> None:
    connection.executemany("DELETE FROM block WHERE multihash = ?", [(name,) for name in names])


def _select_many(connection: sqlite3.Connection, cids: Sequence[Cid], bytes_max: int) -> dict[Cid, bytes]:
    found: dict[Cid, bytes] = {}
    for cid in cids:
        try:
            data = _select(connection, cid)
        except CorruptState:
            continue  # said to whoever asks for it alone
        if data is not None:
            found[cid] = data
            bytes_max -= len(data)
            if bytes_max <= 0:
                break
    return found


class ForeignStore(FileStore):
    """One open file. ``blocks`` is its ``BlockStore``; closing either closes both."""

    def __init__(self, file: SqliteFile, bytes_max: int) -> None:
        super().__init__(file)
        self._bytes_max = bytes_max
        self.blocks = ForeignBlocks(self)

    @classmethod
    async def open(cls, path: Path, *, bytes_max: int) -> ForeignStore:
        """Open or create ``path``. ``bytes_max``: what all blocks together may take; 0 takes none. Raises
        ``CorruptState`` (damaged, foreign, newer) and ``Unavailable``."""
        return cls(await SqliteFile.open(path, SCHEMA), bytes_max)

    async def add(self, chunks: AsyncIterator[bytes]) -> Imported:
        """Import a CAR (version 1, or the payload of version 2) that arrives in pieces of any size, best
        below a MiB. Raises ``Rejected`` (no CAR, a block that does not hash to its CID or is too large, a
        hash function that cannot be checked, no room) and ``Unavailable`` (the disk); both say how many
        blocks were stored before. What ``chunks`` raises of ``node.core.errors`` likewise."""
        reader = CarReader(block_bytes_max=BLOCK_BYTES_MAX)
        blocks = size = known = identity = 0
        batch: list[tuple[Cid, bytes]] = []
        waiting = 0

        async def commit() -> None:
            nonlocal blocks, size, known, waiting
            done = await self._insert(batch)
            blocks, size, known = blocks + done.blocks, size + done.bytes, known + done.known
            if done.full_at is not None:
                raise self._is_full(done.full_at)
            batch.clear()
            waiting = 0

        try:
            is_first = True
            async for chunk in chunks:
                if is_first and chunk:
                    is_first = False
                    refuse_gzip(chunk, "it")
                if len(chunk) <= _HASH_HERE_BYTES_MAX:
                    found = reader.feed(chunk)
                else:
                    found = await self.file.offload(partial(reader.feed, chunk))
                for cid, data in found:
                    if cid.is_identity:
                        identity += 1
                        continue
                    batch.append((cid, data))
                    waiting += len(data)
                    if len(batch) >= BATCH_BLOCKS or waiting >= BATCH_BYTES:
                        await commit()
            reader.finish()
            if batch:
                await commit()
        except NodeError as exc:
            kind = next((kind for kind in (Unavailable, CorruptState) if isinstance(exc, kind)), Rejected)
            raise kind(f"{exc}; {_so_far(blocks, known)}") from exc
        return Imported(reader.roots or (), blocks, size, known, identity)

    async def counts(self) -> dict[str, int]:
        """``blocks``, ``bytes``, ``bytes_max``."""
        [[blocks, size]] = await self.file.rows("SELECT blocks, bytes FROM total")
        return {"blocks": blocks, "bytes": size, "bytes_max": self._bytes_max}

    async def _insert(self, blocks: Sequence[tuple[Cid, bytes]]) -> _Batch:
        return await self.file.write(_insert, tuple(blocks), self._bytes_max)

    def _is_full(self, cid: Cid) -> Rejected:
        return Rejected(
            f"there is no room for block {cid}: foreign blocks may take {self._bytes_max} bytes "
            "(setting ipfs.foreign_max_bytes)"
        )

    async def put(self, cid: Cid, data: bytes) -> None:
        """One checked block. Raises ``Rejected``."""
        if (await self._insert([(cid, data)])).full_at is not None:
            raise self._is_full(cid)


class ForeignBlocks:
    """The ``BlockStore`` of one file. Hashes in the threads that read and write it."""

    def __init__(self, store: ForeignStore) -> None:
        self._store = store
        self.on_deleted: Callable[[], None] = lambda: None
        """Called when blocks are gone, before whoever deleted them hears of it."""

    async def put(self, cid: Cid, data: bytes) -> None:
        if len(data) > BLOCK_BYTES_MAX:
            raise Rejected(f"block {cid} has {len(data)} bytes; the limit is {BLOCK_BYTES_MAX}")
        if not await self._store.file.offload(lambda: cid.matches(data)):
            raise Rejected(f"the bytes do not hash to {cid}")
        await self._store.put(cid, data)

    async def get(self, cid: Cid) -> bytes:
        data = await self._store.file.read(_select, cid)
        if data is None:
            raise NotFound(f"block {cid} is not here")
        return data

    async def get_many(self, cids: Sequence[Cid], bytes_max: int) -> dict[Cid, bytes]:
        """Those of the blocks that are here and sound, in one read, until they have ``bytes_max`` or more.
        Raises ``Unavailable``."""
        return await self._store.file.read(_select_many, cids, bytes_max)

    async def has(self, cid: Cid) -> bool:
        look = "SELECT 1 FROM block WHERE multihash = ?"
        return await self._store.file.row(look, (cid.multihash,)) is not None

    async def delete(self, cid: Cid) -> None:
        """These bytes, under whatever hash function they came."""
        await self._store.file.write(_delete, cid)
        self.on_deleted()

    async def delete_bytes(self, data: bytes) -> None:
        """``delete`` for whoever has the bytes. Raises ``Unavailable``."""
        names = await self._store.file.offload(partial(_names, data))
        await self._store.file.write(_delete_named, names)
        self.on_deleted()

    async def close(self) -> None:
        await self._store.close()


class WithForeign:
    """Deletes blocks of ours with imported copies of them: what is erased leaves the disk. Copies under
    another hash function are found while the block can be read."""

    def __init__(self, here: BlockStore, foreign: ForeignBlocks) -> None:
        self._here = here
        self._foreign = foreign

    async def delete(self, cid: Cid) -> None:
        """Idempotent. Raises ``Unavailable``."""
        await self._foreign.delete(cid)
        with suppress(NotFound, CorruptState):
            await self._foreign.delete_bytes(await self._here.get(cid))
        await self._here.delete(cid)


def _so_far(blocks: int, known: int) -> str:
    if not blocks + known:
        return "nothing was stored"
    return f"{blocks} new blocks before that are stored" + (f", {known} were known" if known else "")
