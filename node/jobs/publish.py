"""Follows the record store and enters what this node shares in its publications log.

Rules:
1. What is entered: our own public answers while they are live, our statements on public records, our
   tombstones, our root's key records. Nothing of a peer's, nothing that is not public.
2. An answer that goes out of service before its time is taken back, with its tombstone where there is one.
One
   that has merely ended, or gave way for room, is not: whoever has it knows when it ends.
3. Withdrawals go before publications of the same pass; key records stand before what they signed, because
   they were stored before it.
4. Nothing is entered twice nor left out, over any crash: the state is written once its entries are durable,
   and what the log has beyond the state's size is read back before anything is appended.
5. Nobody waits for it; what waits is what the store has and the log has not. Memory does not grow with the
   store but for what ``published`` holds of each live publication.

It must not know who reads the log.
"""

from __future__ import annotations

import asyncio
import heapq
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Protocol

import orjson

from node.clock import Clock
from node.errors import CorruptState, NotFound, Unavailable
from node.ipfs.cid import Cid
from node.jobs.follower import Follower, Rest
from node.model import SCOPE_PUBLIC, Check
from node.peers import reconcile
from node.peers.entry import Key, PublicationEntry, Publish, Retract, Validate, encode, read
from node.peers.sorted_set import Item, SortedSet
from node.ports import BlockRef, RecordStore, StoredRecord
from node.record import AnswerRecord, KeyRecord, TombstoneRecord, ValidationRecord
from node.store.rules import LOCAL
from node.tlog import leaf
from node.tlog.committer import Compose
from node.tlog.files import Files

_log = logging.getLogger("neuroswarm.publish")

CHECK = "peers:publications"
LOOK_EVERY_S = 60.0
"""How often the store is looked at when nobody said that it changed."""
AT_ONCE = 256
"""Entries appended together: they share a sync."""
_PAGE = 1_000
_READ_AT_ONCE = 1_024
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_WITHDRAWN = "withdrawn"

Entries = Callable[[int, int], Awaitable[Sequence[bytes]]]
"""(first, end) -> those entries of our own log, all of which are under its newest checkpoint."""


class PublicationLog(Protocol):
    """What of a log is written here: ``TileLog``."""

    def size(self) -> int: ...

    async def append(self, compose: Compose, attachment: bytes | None = None) -> int: ...

    async def publish(self) -> object: ...


@dataclass(slots=True)
class _State:
    """How far the store was followed, and how large the log was then."""

    sequence: int = 0
    change: int = 0
    size: int = 0


@dataclass(slots=True)
class _Shared:
    """What is published and not taken back: digest of the CID → when it was dated, seconds since 1970."""

    times: dict[bytes, int] = field(default_factory=dict)
    ends: list[tuple[int, bytes]] = field(default_factory=list)


class Publisher:
    """``own``: this node's root; ``class_of``: a short word for what kind of answer a record is; ``entries``
    reads the log back. ``state_path`` None: nothing outlives this object."""

    def __init__(
        self,
        records: RecordStore,
        log: PublicationLog,
        clock: Clock,
        *,
        state_path: Path | None,
        own: str,
        class_of: Callable[[AnswerRecord], str],
        entries: Entries,
    ) -> None:
        self._records = records
        self._log = log
        self._clock = clock
        self._state_path = state_path
        self._own = own
        self._class_of = class_of
        self._entries = entries
        self._state = _State()
        self._is_loaded = False
        self._keys: set[bytes] = set()
        self._statements: set[bytes] = set()
        self._shared = _Shared()
        self.published = SortedSet()
        self._passing = asyncio.Lock()
        self._follower = Follower("publications", self._turn, clock)

    def start(self) -> None:
        """Begin to follow."""
        self._follower.start()

    def changed(self) -> None:
        """The store may have something new. Cheap."""
        self._follower.wake()

    async def close(self, timeout_s: float) -> None:
        """A last pass, for at most ``timeout_s`` seconds. Idempotent."""
        await self._follower.close(timeout_s)

    def health(self) -> Check:
        """Without I/O."""
        trouble = self._follower.trouble()
        if trouble is not None:
            return Check(CHECK, "warn", f"publishing {trouble[0]}", trouble[1])
        return Check(CHECK, "pass", "", observed=len(self._shared.times), unit="records")

    async def catch_up(self) -> int:
        """Enter everything that the log lacks; how many entries. Raises ``NodeError``; then the next pass
        goes on where this one ended."""
        async with self._passing:
            if not self._is_loaded:
                await self._load()
            entered = 0
            while (found := await self._pass()) is not None:
                entered += found
            self._drop_ended()
            return entered

    async def _turn(self) -> Rest:
        await self.catch_up()
        return Rest(LOOK_EVERY_S)

    def answer(self, message: bytes) -> bytes:
        """The reply to one message of range reconciliation about what is published. Raises ``Rejected``."""
        self._drop_ended()
        return reconcile.answer(self.published, message)

    # --- one pass ---------------------------------------------------------------------------------

    async def _pass(self) -> int | None:
        """One page of what is new; None when there is nothing more."""
        state = self._state
        news = await self._records.block_changes(state.sequence, state.change, limit=_PAGE)
        if not news.withdrawn and not news.written:
            return None
        written = [one for one in [await self._own_record(ref) for ref in news.written] if one is not None]
        stones = [entry for one in written if (entry := self._tombstone(one)) is not None]
        buried = {entry.cid for entry in stones}
        takes_back = [
            Retract(ref.cid, _WITHDRAWN, None)
            for ref in news.withdrawn
            if ref.cid not in buried and await self._is_taken_back(ref)
        ]
        others = [said for one in written if (said := self._entry(one)) is not None]
        times = {one.cid: one.record.timestamp for one in written}
        await self._enter([*takes_back, *stones], times)
        await self._enter(others, times)
        await self._save(
            _State(
                max((ref.number for ref in news.written), default=state.sequence),
                max((ref.number for ref in news.withdrawn), default=state.change),
                self._log.size(),
            )
        )
        return len(takes_back) + len(stones) + len(others)

    async def _own_record(self, ref: BlockRef) -> StoredRecord | None:
        if ref.scope != SCOPE_PUBLIC:
            return None
        try:
            stored = await self._records.get(ref.cid)
        except (NotFound, CorruptState):
            return None  # gone or damaged since
        is_own = stored.origin == LOCAL and stored.record.issuer == self._own
        return stored if is_own and stored.record.scope == SCOPE_PUBLIC else None

    def _entry(self, stored: StoredRecord) -> PublicationEntry | None:
        """What is to be entered of a live record, unless it was."""
        record, cid = stored.record, stored.cid
        if isinstance(record, AnswerRecord):
            is_over = record.expires is not None and record.expires <= self._clock.now()
            if record.context is not None or is_over or stored.state != "live" or self._is_shared(cid):
                return None
            return Publish(cid, self._class_of(record), record.query_hash, record.expires)
        if isinstance(record, ValidationRecord):
            if cid.digest in self._statements:
                return None
            return Validate(cid, Cid.parse(record.target), record.verdict)
        if isinstance(record, KeyRecord):
            return None if cid.digest in self._keys else Key(cid, record.subject, record.use)
        return None

    def _tombstone(self, stored: StoredRecord) -> Retract | None:
        record = stored.record
        if not isinstance(record, TombstoneRecord) or stored.cid.digest in self._statements:
            return None
        return Retract(Cid.parse(record.target), record.reason, stored.cid)

    async def _is_taken_back(self, ref: BlockRef) -> bool:
        """Whether a record that went out of service was shared, and did not merely end or give way."""
        if not self._is_shared(ref.cid):
            return False
        try:
            stored = await self._records.get(ref.cid)
        except (NotFound, CorruptState):
            return False  # its block was reclaimed, or a tombstone tells of its erasure
        expires = stored.record.expires
        return stored.state != "live" and (expires is None or expires > self._clock.now())

    def _is_shared(self, cid: Cid) -> bool:
        return cid.digest in self._shared.times

    async def _enter(self, entries: Sequence[PublicationEntry], times: dict[Cid, datetime]) -> None:
        for at in range(0, len(entries), AT_ONCE):
            some = entries[at : at + AT_ONCE]
            await asyncio.gather(
                *(self._log.append(partial(leaf.compose, encode(entry)), None) for entry in some)
            )
            for entry in some:
                self._note(entry, times.get(entry.cid))

    # --- what is shared now -----------------------------------------------------------------------

    def _note(self, entry: PublicationEntry, dated: datetime | None) -> None:
        """An entry is in the log."""
        digest = entry.cid.digest
        match entry:
            case Publish():
                time_s = 0 if dated is None else (dated - _EPOCH) // timedelta(seconds=1)
                self._shared.times[digest] = time_s
                self.published.add(Item(time_s, digest))
                if entry.expires is not None:
                    ends_s = (entry.expires - _EPOCH) // timedelta(seconds=1)
                    heapq.heappush(self._shared.ends, (ends_s, digest))
            case Retract():
                self._unshare(digest)
                if entry.tombstone is not None:
                    self._statements.add(entry.tombstone.digest)
            case Validate():
                self._statements.add(digest)
            case Key():
                self._keys.add(digest)

    def _unshare(self, digest: bytes) -> None:
        time_s = self._shared.times.pop(digest, None)
        if time_s is not None:
            self.published.discard(Item(time_s, digest))

    def _drop_ended(self) -> None:
        now_s = (self._clock.now() - _EPOCH) // timedelta(seconds=1)
        while self._shared.ends and self._shared.ends[0][0] <= now_s:
            self._unshare(heapq.heappop(self._shared.ends)[1])

    # --- state ------------------------------------------------------------------------------------

    async def _load(self) -> None:
        """The state, and from the log itself what is shared; rule 4."""
        state = await self._read_state()
        if self._log.size():
            await self._log.publish()  # what was durable before a crash is read back like the rest
        size = self._log.size()
        if state.size > size:  # the log is older than the state: it was put back
            state = _State()
        for first in range(0, size, _READ_AT_ONCE):
            end = min(first + _READ_AT_ONCE, size)
            for index, data in enumerate(await self._entries(first, end), first):
                entry = read(index, data)
                dated = await self._dated(entry) if isinstance(entry, Publish) else None
                self._note(entry, dated)
        self._drop_ended()
        self._state = state
        self._is_loaded = True

    async def _dated(self, entry: Publish) -> datetime | None:
        """When a published record is dated; None where it is not here any more."""
        try:
            return (await self._records.get(entry.cid)).record.timestamp
        except (NotFound, CorruptState):
            return None

    async def _read_state(self) -> _State:
        if self._state_path is None:
            return _State()
        try:
            data = await asyncio.to_thread(self._state_path.read_bytes)
            value = orjson.loads(data)
            return _State(int(value["sequence"]), int(value["change"]), int(value["size"]))
        except FileNotFoundError:
            return _State()
        except OSError as exc:
            raise Unavailable(f"{self._state_path} cannot be read: {exc.strerror}") from exc
        except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
            _log.warning("%s is damaged; the store is followed from its beginning", self._state_path)
            return _State()

    async def _save(self, state: _State) -> None:
        if self._state_path is not None:
            data = orjson.dumps({"sequence": state.sequence, "change": state.change, "size": state.size})
            try:
                await asyncio.to_thread(Files().replace, self._state_path, data, 0o600)
            except OSError as exc:
                raise Unavailable(f"{self._state_path} cannot be written: {exc.strerror}") from exc
        self._state = state
