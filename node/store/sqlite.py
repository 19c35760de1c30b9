"""Blocks and records in one SQLite file, ``blocks.sqlite``: what this node remembers.

Promises: a block and the row that finds it commit together and are synced before ``add`` or ``put``
returns; every block is hashed again on its way out; a look-up stays an index look-up however many
records there are; withdrawals are kept in order so that an index can replay them; a private record is kept
sealed under a key of its own (``private_rows``), which is on disk before the record and is destroyed with it.
It knows nothing of vectors, thresholds or peers' standing. What the file holds, ``record_schema`` says.

Deleting a block that a record names removes the record: its row loses block, keys, tags and kept text, stays
as ``removed`` (``withdrawn`` if it was), is reported by ``withdrawn_since`` and is not found by ``get``. A
removed record may come back with a new sequence; a withdrawn and deleted one is refused. A deleted tombstone
or validation still counts. A merged record whose block is deleted through ``blocks`` loses its alias too; one
whose block is only reclaimed keeps it, without its question's text.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from node.core.errors import CorruptState, NodeError, NotFound, Rejected, Unavailable
from node.core.ipld.cid import DAG_CBOR, Cid
from node.core.model import Json
from node.core.ports import Alias, BlockChanges, BlockRef, BlockStore, Selection, StoredRecord, Use
from node.core.record import Record
from node.store import overwritten
from node.store import record_reads as reads
from node.store import record_rules as rules
from node.store import record_writes as writes
from node.store.record_keys import RecordKeys
from node.store.record_reads import (
    SELECT_PLACE,
    record_cid,
)
from node.store.record_schema import (
    FORGET_NOTE,
    NOTE,
    WIPE,
    KeywordKey,
    schema,
)
from node.store.touched import Touched, Touches
from node.store.verifying import VerifyingBlockStore
from node.store.writer import Hooks, SqliteFile

_log = logging.getLogger(__name__)

T = TypeVar("T")
P = ParamSpec("P")

SPENT_MAX = 64
"""Keys of replaced records that are gathered before they are destroyed together."""
_INTEGER_MAX = 2**63 - 1


# --- keys that nothing names any more ------------------------------------------------------------


class _KeyDuty:
    """Destroys the keys of what is gone, after the commit with which it went; in the writer thread. What is
    deleted, expired or evicted loses its key at once. Where a record was only replaced, the ciphertext is
    gone at once, and keys are gathered until there are ``SPENT_MAX`` of them, or until the next expiry, scrub
    or stop."""

    def __init__(self, keys: RecordKeys) -> None:
        self.keys = keys
        self.touches = Touches()
        self.is_urgent = True  # what an earlier run left
        self.shredded: frozenset[int] = frozenset()

    def urgent(self, _: sqlite3.Connection) -> None:
        """A job that only asks for it."""
        self.is_urgent = True

    def after_commit(self, connection: sqlite3.Connection) -> None:
        """Only when keys are gone from the disk are they struck from the list, and only then may their slots
        be used anew. Raises ``Unavailable``; the list stays, and the next commit tries again."""
        self.touches.tell()
        self.keys.settle()
        slots = [slot for (slot,) in connection.execute("SELECT id FROM spent_key ORDER BY id").fetchall()]
        if slots and (self.is_urgent or len(slots) >= SPENT_MAX):
            self.keys.destroy(slots)
            connection.execute("DELETE FROM spent_key")
            self.keys.free(slots)
            self.shredded -= frozenset(slots)
        self.is_urgent = False


# --- the two views --------------------------------------------------------------------------------


class _View:
    """Half of a store: closing both halves closes the file, in whatever order."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self._closed = False

    @property
    def _file(self) -> SqliteFile:
        if self._closed:
            raise Unavailable("the block store is closed")
        return self._store.file

    @property
    def _keys(self) -> RecordKeys:
        return self._store.duty.keys

    async def _read_again(
        self, job: Callable[Concatenate[sqlite3.Connection, P], T], *args: P.args, **more: P.kwargs
    ) -> T:
        """A read of one record. Its key may have gone to another one after this read began, so what does not
        open is read again, and is then not there."""
        try:
            return await self._file.read(job, *args, **more)
        except CorruptState:
            try:
                return await self._file.read(job, *args, **more)
            except CorruptState:
                self._file.on_damage()
                raise

    async def _change(
        self, job: Callable[Concatenate[sqlite3.Connection, P], T], *args: P.args, **more: P.kwargs
    ) -> T:
        """A write that a copy of the records has to follow."""
        keys = self._keys

        def guarded(connection: sqlite3.Connection) -> T:
            taken = keys.taken
            try:
                return job(connection, *args, **more)
            except BaseException:
                keys.give_back(taken)
                raise

        value = await self._file.write(guarded)
        self._store.on_change()
        return value

    async def _end(
        self, job: Callable[Concatenate[sqlite3.Connection, P], T], *args: P.args, **more: P.kwargs
    ) -> T:
        """A ``_change`` that deletes: what it deletes loses its key with this commit."""

        def urgent(connection: sqlite3.Connection) -> T:
            self._store.duty.urgent(connection)
            return job(connection, *args, **more)

        return await self._change(urgent)

    async def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._store.open_views -= 1
        if self._store.open_views == 0:
            await self._store.shut()


class _SqliteBlocks(_View):
    """The unchecked ``BlockStore``; ``SqliteStore.blocks`` is this one inside ``VerifyingBlockStore``."""

    async def put(self, cid: Cid, data: bytes) -> None:
        await self._file.write(writes.put_block, cid, data)

    async def get(self, cid: Cid) -> bytes:
        data = await self._read_again(reads.block, self._keys, cid)
        if data is None:
            raise NotFound(f"block {cid} is not here")
        return data

    async def has(self, cid: Cid) -> bool:
        row = await self._file.row("SELECT key_id FROM block WHERE multihash = ?", (cid.multihash,))
        return row is not None and row[0] not in self._store.duty.shredded

    async def delete(self, cid: Cid) -> None:
        await self._end(writes.delete_for_good, cid.multihash)


class SqliteRecords(_View):
    """The ``RecordStore``."""

    def __init__(self, store: SqliteStore, own_issuer: str) -> None:
        super().__init__(store)
        self._own_issuer = own_issuer
        self._unread = 0

    async def add(
        self,
        record: Record,
        *,
        origin: str = rules.LOCAL,
        supersede: Sequence[Cid] = (),
        keyword_key: str | None = None,
        kept: Mapping[str, Json] | None = None,
        cost_us: int | None = None,
        merge: Sequence[Cid] = (),
        into: Cid | None = None,
    ) -> StoredRecord:
        checked = await self._file.offload(
            lambda: rules.check(record, origin=origin, keyword_key=keyword_key, kept=kept, cost_us=cost_us)
        )
        ties = writes.Ties(
            tuple(cid.multihash for cid in supersede),
            tuple(cid.multihash for cid in merge),
            None if into is None or into == checked.cid else into.multihash,
        )
        return await self._change(writes.add, self._keys, checked, ties, self._own_issuer)

    async def get(self, cid: Cid) -> StoredRecord:
        stored = None if cid.codec != DAG_CBOR else await self._read_again(reads.one, self._keys, cid)
        if stored is None:
            raise NotFound(f"record {cid} is not here")
        return stored

    async def find(
        self, column: str, key: str, *, scopes: Sequence[str], context: str | None, limit: int = 8
    ) -> list[StoredRecord]:
        """Raises ``Rejected`` for an unknown column or more than ``record_rules.SCOPES_MAX`` scopes."""
        rules.check_find(column, len(scopes))
        most = rules.clamp_limit(limit)
        passed: reads.Passed = []
        found = await self._file.read(
            reads.find, self._keys, column, key, tuple(scopes), context, most, passed
        )
        self._note_unread(passed)
        return found

    async def live(self, cids: Sequence[Cid]) -> dict[Cid, StoredRecord]:
        """Raises ``Rejected`` for more than ``record_rules.LIMIT_MAX`` CIDs."""
        if len(cids) > rules.LIMIT_MAX:
            raise Rejected(f"at most {rules.LIMIT_MAX} records are read at once")
        wanted = [cid.multihash for cid in dict.fromkeys(cids) if cid.codec == DAG_CBOR]
        passed: reads.Passed = []
        found = await self._file.read(reads.live, self._keys, wanted, passed)
        self._note_unread(passed)
        return {one.cid: one for one in found}

    @property
    def unread(self) -> int:
        return self._unread

    def _note_unread(self, passed: reads.Passed) -> None:
        if passed:
            self._unread += 1
            self._file.passed_over(passed[0])

    async def since(self, sequence: int, *, limit: int = 1_000) -> list[StoredRecord]:
        return await self._file.read(reads.since, self._keys, _from(sequence), rules.clamp_limit(limit))

    async def withdrawn_since(self, change: int, *, limit: int = 1_000) -> list[tuple[int, Cid]]:
        """Apply these before what ``since`` gives: a removed record may have come back since."""
        rows = await self._file.rows(
            "SELECT change, multihash FROM withdrawal WHERE change > ? ORDER BY change LIMIT ?",
            (_from(change), rules.clamp_limit(limit)),
        )
        return [(number, record_cid(multihash)) for number, multihash in rows]

    async def block_changes(self, sequence: int, change: int, *, limit: int = 1_000) -> BlockChanges:
        most = rules.clamp_limit(limit)
        return await self._file.read(reads.block_changes, _from(sequence), _from(change), most)

    async def public_answers(self, first: str, last: str, *, limit: int = 10_000) -> list[tuple[str, Cid]]:
        return await self._file.read(reads.public_answers, first, last, rules.clamp_limit(limit))

    async def withdraw(self, cid: Cid, reason: str) -> bool:
        return await self._change(writes.withdraw_one, cid.multihash, reason)

    async def expire(self, now: datetime, *, grace_s: int, limit: int = 1_000) -> list[Cid]:
        return await self._end(writes.expire, now.timestamp() - grace_s, rules.clamp_limit(limit))

    async def reclaim(self, *, now: datetime | None = None, limit: int = 1_000) -> list[Cid]:
        now_s = -1 if now is None else int(now.timestamp())
        return await self._end(writes.reclaim, now_s, rules.clamp_limit(limit))

    async def reclaim_withdrawn(self, change: int, *, limit: int = 1_000) -> list[Cid]:
        """Delete the blocks of answers that were withdrawn up to ``change`` (``withdrawn_since``); which."""
        return await self._end(overwritten.reclaim, _from(change), rules.clamp_limit(limit))

    async def last_change(self) -> int:
        """The number of the newest withdrawal."""
        row = await self._file.row("SELECT coalesce(max(change), 0) FROM withdrawal")
        return 0 if row is None else int(row[0])

    async def note_uses(self, uses: Sequence[Use]) -> None:
        rules.check_uses(uses)
        await self._file.write(writes.note_uses, [use for use in uses if use.cid.codec == DAG_CBOR])

    async def aliases(self, cid: Cid) -> list[Alias]:
        return await self._file.read(reads.aliases, self._keys, cid.multihash)

    async def survivor(self, cid: Cid) -> Cid | None:
        found = await self._file.read(reads.survivor, cid.multihash)
        return None if found is None else record_cid(found)

    async def select(self, selection: Selection, *, after: int = 0, limit: int = 1_000) -> list[BlockRef]:
        rules.check_selection(selection)
        return await self._file.read(
            reads.select, self._keys, selection, _from(after), rules.clamp_limit(limit)
        )

    async def verdicts(self, cids: Sequence[Cid]) -> list[Cid]:
        """The validations about these records that are here, in whatever state. Raises ``Unavailable``."""
        return await self._file.read(reads.verdicts, [cid.multihash for cid in cids])

    async def voices(self, cid: Cid) -> dict[str, tuple[str, Cid]]:
        return await self._file.read(reads.voices, cid.multihash, self._own_issuer)

    async def place(self, cid: Cid) -> BlockRef:
        """Where a record is whose block is here, whether or not that can be read. Raises ``NotFound``,
        ``Unavailable``."""
        row = await self._file.row(
            f"{SELECT_PLACE} WHERE r.multihash = ? AND r.block_id IS NOT NULL", (cid.multihash,)
        )
        if row is None or cid.codec != DAG_CBOR:
            raise NotFound(f"record {cid} is not here")
        return BlockRef(row[0], cid, row[2])

    async def shred(self, cids: Sequence[Cid]) -> None:
        """Make private records unreadable for good and withdraw them: their keys are gone from the disk on
        return, those of their aliases too. Others are left as they are. Raises ``Unavailable``."""
        named, duty = [cid.multihash for cid in cids], self._store.duty

        def job(connection: sqlite3.Connection) -> None:
            try:
                duty.shredded |= writes.shred(connection, duty.keys, named)
            except Unavailable:
                duty.shredded |= duty.keys.begun  # there is no way back: the erasure is ended later
                raise

        await self._change(job)

    async def shredded(self, *, limit: int = 1_000) -> list[BlockRef]:
        """Records whose keys were destroyed by ``shred`` and that were not deleted yet. Raises
        ``Unavailable``."""
        slots = sorted(self._store.duty.shredded)
        return await self._file.read(reads.shredded, slots, rules.clamp_limit(limit))

    async def newest(self, *, scopes: Sequence[str], limit: int = 100) -> list[StoredRecord]:
        rules.check_scopes(len(scopes))
        return await self._file.read(reads.newest, self._keys, scopes, rules.clamp_limit(limit))

    async def tally(
        self, *, scopes: Sequence[str], since: datetime | None = None, before: datetime | None = None
    ) -> int:
        rules.check_scopes(len(scopes))
        return await self._file.read(reads.tally, scopes, since, before)

    async def counts(self) -> dict[str, int]:
        return await self._file.read(reads.counts)


def _from(number: int) -> int:
    """After which a page begins, as SQLite can hold it."""
    return min(number, _INTEGER_MAX)


class SqliteStore:
    """One open file and its two views, ``blocks`` and ``records``. ``on_change`` is called on the event loop
    after each committed change of records; it must be quick and must not raise."""

    def __init__(self, file: SqliteFile, duty: _KeyDuty, own_issuer: str) -> None:
        self.file = file
        self.duty = duty
        self.on_change: Callable[[], None] = lambda: None
        self.open_views = 2
        self._shutting: asyncio.Task[None] | None = None
        self.blocks: BlockStore = VerifyingBlockStore(_SqliteBlocks(self))
        self.records = SqliteRecords(self, own_issuer)

    @classmethod
    async def open(
        cls,
        path: Path,
        *,
        own_issuer: str,
        queue_max: int = 1_024,
        readers: int = 2,
        keyword_key: KeywordKey | None = None,
        keys: Path | None = None,
    ) -> SqliteStore:
        """Open or create ``path``. ``own_issuer`` is this node's root did:key: whose verdict ``invalid``
        withdraws. ``keyword_key`` makes the keys of an older file anew (about half a millisecond a record,
        once). ``keys`` is the file of record keys, ``keys/record_keys`` beside ``path`` unless said
        otherwise; it is made with the first private record. Raises ``CorruptState`` (damaged, foreign, newer;
        keys that are missing or another store's) and ``Unavailable``."""
        table = await asyncio.to_thread(RecordKeys.open, keys or path.parent / "keys" / "record_keys")
        duty = _KeyDuty(table)
        try:
            file = await SqliteFile.open(
                path,
                schema(table, keyword_key),
                queue_max=queue_max,
                readers=readers,
                hooks=Hooks(duty.after_commit, duty.touches.watch, table.give_back),
            )
        except BaseException:
            table.close()
            raise
        store = cls(file, duty, own_issuer)
        try:
            await store._make_ready()
        except BaseException:
            await store.close()
            raise
        return store

    def on_touched(self, hear: Callable[[Touched], None]) -> None:
        """Tell ``hear`` on the event loop which answers each commit has changed, before the change is
        acknowledged; it must be quick and must not raise."""
        self.duty.touches.on_touched = hear

    def on_blocks_touched(self, hear: Callable[[frozenset[bytes]], None]) -> None:
        """The same with the multihashes of records and blocks."""
        self.duty.touches.on_blocks = hear

    async def try_keys(self) -> None:
        """Have new record keys written, where the disk refused some. Raises ``Unavailable``."""
        if self.duty.keys.trouble:
            await self.file.write(lambda _: self.duty.keys.try_again())

    def changes(self) -> int:
        """How many such commits were told of: while it stays the same, what was read since still stands."""
        return self.duty.touches.told

    async def _make_ready(self) -> None:
        keys = self.duty.keys
        if await self.file.read(writes.check_keys, keys):
            given_up = await self.file.write(writes.give_up_sealed)
            _log.error("event=records_given_up count=%d reason=the file of their keys was emptied", given_up)
        self.duty.shredded = await self.file.read(writes.claim, keys)
        if await self.file.row(NOTE, (WIPE,)) is not None:
            try:
                await self.file.compact()
                await self.file.run(FORGET_NOTE, (WIPE,))
            except Unavailable as exc:
                _log.warning("event=wipe_put_off reason=%s; the next start tries again", exc)

    def mark(self, text: str) -> str:
        """A name for ``text`` that says nothing of it to whoever lacks the key file; empty while there is
        none, for then nothing private is here."""
        keys = self.duty.keys
        return keys.mark("label", text) if keys.is_here else ""

    async def public_block(self, cid: Cid) -> bytes:
        """The bytes of a live record of scope public, found by multihash and hashed again: what a stranger
        may have. Raises ``NotFound``, ``NotPublic`` for another record of this node, whatever is left of it,
        ``CorruptState``, ``Unavailable``."""
        return await self.file.read(reads.public_block, cid)

    async def public_blocks(self, cids: Sequence[Cid], bytes_max: int) -> dict[Cid, bytes | None]:
        """What ``public_block`` says of at most ``record_reads.CHUNK`` of them, in one read. None: it is no
        record of this node. Left out: what may not be had, what is damaged, and the records behind those
        that have ``bytes_max`` or more together. Raises ``Unavailable``."""
        return await self.file.read(reads.public_blocks, cids, bytes_max)

    async def unknown(self, cids: Sequence[Cid]) -> set[Cid]:
        """Those of these that no record, live or not, was ever stored as. Raises ``Unavailable``."""
        known = await self.file.read(reads.known, [cid.multihash for cid in cids])
        return {cid for cid in cids if cid.multihash not in known}

    async def gone_for_good(self, cids: Sequence[Cid]) -> set[Cid]:
        """Those of these that were withdrawn here, or that a tombstone is about. Raises ``Unavailable``."""
        gone = await self.file.read(reads.gone_for_good, [cid.multihash for cid in cids])
        return {cid for cid in cids if cid.multihash in gone}

    async def stored(self) -> list[Cid]:
        """Every block. For a file with few of them. Raises ``Unavailable``."""
        rows = await self.file.rows("SELECT codec, multihash FROM block")
        return [Cid(int(codec), bytes(multihash)[2:]) for codec, multihash in rows]

    async def scrub(self) -> None:
        """Leave nothing of deleted blocks, rows and keys on disk. Raises ``Unavailable``."""
        await self.file.write(self.duty.urgent)
        await self.file.scrub()

    async def shut(self) -> None:
        """Both views are closed: close the file and the keys. Idempotent."""
        if self._shutting is None:
            self._shutting = asyncio.create_task(self._shut(), name=f"shut {self.file.path.name}")
        await asyncio.shield(self._shutting)

    async def _shut(self) -> None:
        try:
            await self.file.write(self.duty.urgent)
        except NodeError as exc:
            _log.warning("event=keys_left reason=%s; the next start destroys them", exc)
        await self.file.close()
        self.duty.keys.close()

    async def close(self) -> None:
        """Close both views and the file. Idempotent."""
        await self.blocks.close()
        await self.records.close()
