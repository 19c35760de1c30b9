"""Reads a block store beside the road, from its first block to its last, and tells which blocks are damaged.

Promises: changes nothing; holds neither the writer nor its readers up, for it has a connection of its own,
new for each page, so that it sees the disk and not what another connection remembers; a few blocks at a time,
at most a twentieth of the time. What the node meets by itself makes the next round begin at once.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from node.core.clock import Clock
from node.core.errors import CorruptState, NotFound, Unavailable
from node.core.ipld.cid import DAG_CBOR, Cid
from node.store import record_reads
from node.store.disk_trouble import CHECK_BYTES_MAX, disorder, is_damage
from node.store.record_keys import RecordKeys

_log = logging.getLogger("neuroswarm.store")

BLOCKS_AT_ONCE = 64
BUSY_TIMEOUT_S = 5.0
PAUSE_S = 0.02
"""After each page of blocks: some 3,000 of them a second at most."""
EVERY_S = 60.0
PUT_OFF_S = 5.0
"""How long a round that could not be ended waits for the next one."""
SHARE = 20
"""A round is followed by a pause of at least so many times what it took."""
NAMED_MAX = 1_000


@dataclass(frozen=True, slots=True)
class Found:
    """What one round found: ``blocks`` were read, those of ``damaged`` are not what they are named after
    (``NAMED_MAX`` of them, ``count`` in all). ``pages``: what is wrong with the file itself, else empty."""

    blocks: int = 0
    damaged: tuple[Cid, ...] = ()
    count: int = 0
    pages: str = ""

    @property
    def is_sound(self) -> bool:
        return not self.count and not self.pages


class StoreScan:
    """Of one open block store. ``found`` is what the last whole round found, None before the first."""

    def __init__(self, path: Path, keys: RecordKeys, clock: Clock) -> None:
        self._path = path
        self._keys = keys
        self._clock = clock
        self._soon = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._task: asyncio.Task[None] | None = None
        self.found: Found | None = None
        self.put_off = ""
        """Why the last round could not be ended, empty where it could."""

    def start(self) -> None:
        """Begin the first round, and those that follow it."""
        self._task = asyncio.create_task(self._run(), name="scan of the store")

    def soon(self) -> None:
        """Damage was met: begin the next round now. From any thread."""
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._soon.set)

    async def close(self) -> None:
        """Idempotent."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            began = self._clock.monotonic()
            try:
                await self.round()
                self.put_off = ""
            except (Unavailable, CorruptState) as exc:
                if str(exc) != self.put_off:
                    _log.warning("event=scan_put_off reason=%s", exc)
                self.put_off = str(exc)
                await asyncio.sleep(PUT_OFF_S)  # whoever meets the same meanwhile asks for nothing new
                continue
            self._soon.clear()
            pause_s = max(EVERY_S, SHARE * (self._clock.monotonic() - began))
            with suppress(TimeoutError):
                await asyncio.wait_for(self._soon.wait(), pause_s)
            await asyncio.sleep(PAUSE_S)

    async def round(self) -> Found:
        """Read all once. Raises ``Unavailable``."""
        pages, last = await asyncio.to_thread(self._in, _look_at_pages)
        blocks, damaged, after = 0, dict[Cid, None](), 0
        while after < last:
            read, bad, after = await asyncio.to_thread(self._in, self._page, after, last)
            blocks += read
            damaged |= dict.fromkeys(bad)
            await asyncio.sleep(PAUSE_S)
        found = Found(blocks, tuple(damaged)[:NAMED_MAX], len(damaged), pages)
        if not found.is_sound and (self.found is None or found != self.found):
            named = ", ".join(map(str, found.damaged[:20]))
            _log.error("event=store_damaged count=%d pages=%r cids=%s", found.count, pages, named)
        self.found = found
        return found

    def _in(self, job: Callable[..., Any], *args: Any) -> Any:
        """Run a job over a connection that remembers nothing."""
        try:
            with closing(
                sqlite3.connect(f"{self._path.absolute().as_uri()}?mode=ro", uri=True, timeout=BUSY_TIMEOUT_S)
            ) as connection:
                return job(connection, *args)
        except sqlite3.Error as exc:
            raise Unavailable(f"{self._path} cannot be read: {exc}") from exc

    def _page(self, connection: sqlite3.Connection, after: int, last: int) -> tuple[int, list[Cid], int]:
        """Blocks behind row ``after``: how many were read, the damaged ones, and where the next begin."""
        try:
            rows = connection.execute(_BLOCKS, (after, BLOCKS_AT_ONCE)).fetchall()
        except sqlite3.Error as exc:
            if not is_damage(exc):
                raise
            return self._one_by_one(connection, after, min(last, after + BLOCKS_AT_ONCE))
        bad = [self._cid(row) for row in rows if not self._is_sound(connection, row)]
        return len(rows), bad, rows[-1][0] if len(rows) == BLOCKS_AT_ONCE else last

    def _one_by_one(self, connection: sqlite3.Connection, after: int, end: int) -> tuple[int, list[Cid], int]:
        """A page of the file is damaged: what is behind it is read row by row, and named by its index."""
        read, bad = 0, list[Cid]()
        for number in range(after + 1, end + 1):
            try:
                row = connection.execute(_BLOCK, (number,)).fetchone()
            except sqlite3.Error as exc:
                if not is_damage(exc):
                    raise
                bad += _named(connection, number)
                continue
            if row is not None:
                read += 1
                bad += [] if self._is_sound(connection, row) else [self._cid(row)]
        return read, bad, end

    def _is_sound(self, connection: sqlite3.Connection, row: Sequence[Any]) -> bool:
        number, multihash, _, key_id, data = row
        try:
            opened = record_reads.open_block(self._keys, multihash, key_id, data)
            return key_id is not None or hashlib.sha256(opened).digest() == multihash[2:]
        except NotFound:
            return True  # it is being erased
        except (CorruptState, TypeError, ValueError):
            again = connection.execute(_BLOCK, (number,)).fetchone()  # its key may have gone to another one
            return again is None or tuple(again) != tuple(row)

    @staticmethod
    def _cid(row: Sequence[Any]) -> Cid:
        return _cid_of(row[1], row[2])


_BLOCKS = "SELECT id, multihash, codec, key_id, data FROM block WHERE id > ? ORDER BY id LIMIT ?"
_BLOCK = "SELECT id, multihash, codec, key_id, data FROM block WHERE id = ?"
_DIGEST_BYTES = 32


def _cid_of(multihash: object, codec: object) -> Cid:
    """As far as the row can be trusted; a name that is damaged itself stands for what it was."""
    digest = bytes(multihash)[2:] if isinstance(multihash, bytes) else b""
    codec = codec if isinstance(codec, int) and 0 <= codec < 2**31 else DAG_CBOR
    return Cid(codec, digest.ljust(_DIGEST_BYTES, b"\0")[:_DIGEST_BYTES])


def _named(connection: sqlite3.Connection, number: int) -> list[Cid]:
    """The record whose block lies in this row, by the index over records."""
    try:
        rows = connection.execute("SELECT multihash FROM record WHERE block_id = ?", (number,)).fetchall()
    except sqlite3.Error:
        return []
    return [record_reads.record_cid(multihash) for (multihash,) in rows]


def _look_at_pages(connection: sqlite3.Connection) -> tuple[str, int]:
    """What is wrong with the file's own order, of a file that is small enough to be asked, and its last
    row."""
    try:
        said = disorder(connection, CHECK_BYTES_MAX)
        last = connection.execute("SELECT max(id) FROM block").fetchone()[0]
        return said, last or 0
    except sqlite3.Error as exc:
        if not is_damage(exc):
            raise
        return str(exc), 0
