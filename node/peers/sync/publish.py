"""Follows the record store and enters what this node shares in its publications log.

Rules:
1. What is entered: our own public answers while they are live, our statements on public records, our
   tombstones of what was entered, our root's key records. Nothing of a peer's, nothing that is not public.
2. An answer that goes out of service before its time is taken back, with its tombstone where there is one.
   One that has merely ended, or gave way for room, is not: whoever has it knows when it ends.
3. In each page of changes key records come first, for they stand before what they signed; then withdrawals,
   then publications.
4. Nothing is entered twice nor left out, over any crash, failing append or cut-off pass: the log itself says
   what it has. Before anything is appended, every entry that was not seen here is read back. The state
   (``Places.state``) only says from where the store is followed; without it that is the beginning. What was
   read back is kept in an index (``Places.index``), which is held to the log at the next start; where the log
   is not the one that it is of, everything is read back.
5. Nobody waits for it; what waits is what the store has and the log has not. A page of records is in memory,
   beside 40 bytes for whatever was ever entered and some 400 for each answer that is shared now.
6. What has given way here for room is not compared with peers until it is back: nobody gets it here.

It must not know who reads the log.
"""

from __future__ import annotations

import asyncio
import heapq
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from node.audit.log.writer import TileLog
from node.audit.tlog import leaf
from node.core import state_file
from node.core.caller import SCOPE_PUBLIC
from node.core.clock import Clock
from node.core.errors import CorruptState, NodeError, NotFound, Rejected, Unavailable
from node.core.files import put
from node.core.follower import DOUBT_LOOK_S, Follower, Rest
from node.core.ipld.cid import DAG_CBOR, Cid
from node.core.model import Check
from node.core.ports import BlockRef, RecordStore, StoredRecord
from node.core.record import AnswerRecord, KeyRecord, TombstoneRecord, ValidationRecord, time_us
from node.peers.rules import reconcile
from node.peers.rules.entry import Key, PublicationEntry, Publish, Retract, Validate, encode, read, word
from node.peers.rules.sorted_set import Item, SortedSet
from node.peers.sync import publish_index
from node.peers.sync.publish_index import NOWHERE, Place, Shared
from node.store.record_rules import LIVE, LOCAL

_log = logging.getLogger("neuroswarm.publish")

CHECK = "peers:publications"
LOOK_EVERY_S = 60.0
"""How often the store is looked at when nobody said that it changed."""
AT_ONCE = 256
"""Entries appended together: they share a sync."""
_PAGE = 1_000
_READ_AT_ONCE = 1_024
INDEX_AFTER = 1_024
INDEX_SHARE = 8
"""The index is written anew when there are ``INDEX_AFTER`` entries more, and this part of what it has: a kill
costs that much reading. The last pass writes it for any."""
_LOOKED_AT_ONCE = 16
"""Records or entries that are looked at before others have a turn on the event loop."""
_STATE_BYTES_MAX = 1_024
_CLASS = "general"
_WITHDRAWN = "withdrawn"

Entries = Callable[[int, int], Awaitable[Sequence[bytes]]]
"""(first, end) -> those entries of our own log, all of which are under its newest checkpoint."""
RootAt = Callable[[int], Awaitable[bytes]]
"""(size) -> the root of the log's first entries, proven to be part of what its newest checkpoint signs.
Raises ``NodeError``, also where the log has no such tree."""


@dataclass(frozen=True, slots=True)
class ReadBack:
    """How our own log is read. Without ``root_at`` all of it is read back at each start."""

    entries: Entries
    root_at: RootAt | None = None


@dataclass(frozen=True, slots=True)
class Places:
    """Where it is kept how far the log and the store were followed. Without ``state`` nothing outlives the
    publisher; without ``index`` the whole log is read back at each start."""

    state: Path | None = None
    index: Path | None = None
    index_after: int = INDEX_AFTER


@dataclass(frozen=True, slots=True)
class _Ready:
    """An entry, its bytes, and when an answer that it publishes is dated (seconds since 1970)."""

    entry: PublicationEntry
    data: bytes
    time_s: int | None = None


class Publisher:
    """``own``: this node's root; ``class_of``: a short word for what kind of answer a record is."""

    def __init__(
        self,
        records: RecordStore,
        log: TileLog,
        clock: Clock,
        back: ReadBack,
        *,
        own: str,
        class_of: Callable[[AnswerRecord], str],
        places: Places | None = None,
    ) -> None:
        self._records = records
        self._log = log
        self._clock = clock
        self._back = back
        self._places = places or Places()
        self._own = own
        self._class_of = class_of
        self._state = self._saved = NOWHERE
        """How far the store was followed, and how large the log was: a smaller one was put back."""
        self._is_loaded = False
        self._seen = 0
        self._is_undated = False
        self._appending: asyncio.Future[list[int | BaseException]] | None = None
        self._shared = Shared()
        self.published = SortedSet()
        self._indexed = NOWHERE
        """What the index on disk is of."""
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
                self._state = self._saved = await self._read_state()
                await self._load_index()
                self._is_loaded = True
            await self._read_back()
            await self._check_state()
            entered = 0
            while (found := await self._pass()) is not None:
                entered += found
                await self._keep_index(is_last=False)
            await self._keep_index(is_last=self._follower.is_stopping)
            return entered

    async def _turn(self) -> Rest:
        if self._clock.doubt is not None:  # what is entered is signed, and for good
            return Rest(DOUBT_LOOK_S, is_deaf=True)
        await self.catch_up()
        return Rest(LOOK_EVERY_S)

    async def answer(self, message: bytes) -> bytes:
        """The reply to one message of range reconciliation about what is published, worked out beside the
        event loop. Raises ``Rejected``."""
        self._drop_ended()
        return await asyncio.to_thread(reconcile.answer, self.published.snapshot(), message)

    # --- one pass ---------------------------------------------------------------------------------

    async def _pass(self) -> int | None:
        """One page of what is new; None when there is nothing more."""
        state = self._state
        news = await self._records.block_changes(state.sequence, state.change, limit=_PAGE)
        if not news.withdrawn and not news.written:
            return None
        self._drop_ended()
        for ref in news.withdrawn:
            if ref.gave_way:
                self._undate(ref.cid.digest)
        keys, stones, others = await self._to_enter(news.written)
        buried = {one.entry.cid for one in stones}
        takes_back = [
            _Ready(entry, encode(entry))
            for ref in news.withdrawn
            if not ref.gave_way and ref.cid.digest in self._shared.times and ref.cid not in buried
            for entry in [Retract(ref.cid, _WITHDRAWN, None)]
        ]
        for some in (keys, [*takes_back, *stones], others):
            await self._enter(some)
        entered = len(keys) + len(takes_back) + len(stones) + len(others)
        self._state = Place(
            self._log.size(),
            b"",
            max((ref.number for ref in news.written), default=state.sequence),
            max((ref.number for ref in news.withdrawn), default=state.change),
        )
        passed = self._state.sequence + self._state.change - self._saved.sequence - self._saved.change
        if entered or passed >= _PAGE:  # what was only passed over may be passed over again
            await self._save()
        return entered

    async def _to_enter(self, refs: Sequence[BlockRef]) -> tuple[list[_Ready], list[_Ready], list[_Ready]]:
        """What of these live records is to be entered: key records, tombstones, and the rest."""
        keys, stones, others = list[_Ready](), list[_Ready](), list[_Ready]()
        for number, stored in enumerate(await self._own_records(refs)):
            if number % _LOOKED_AT_ONCE == 0:
                await asyncio.sleep(0)
            entry = self._entry(stored)
            if entry is None:
                self._set_date(stored)  # it may have given way before
                continue
            try:
                ready = _Ready(entry, encode(entry), _seconds(stored.record.timestamp))
            except Rejected as exc:
                _log.warning("event=publish_passed_over cid=%s reason=%s", stored.cid, exc)
                continue
            kind = keys if isinstance(entry, Key) else stones if isinstance(entry, Retract) else others
            kind.append(ready)
        return keys, stones, others

    async def _own_records(self, refs: Sequence[BlockRef]) -> list[StoredRecord]:
        """Our own public records among these, in order, but what is gone or damaged since."""
        cids = [ref.cid for ref in refs if ref.scope == SCOPE_PUBLIC]
        answers = await self._records.live(cids)
        found: list[StoredRecord] = []
        for cid in cids:
            try:
                stored = answers.get(cid) or await self._records.get(cid)
            except (NotFound, CorruptState):
                continue
            if stored.origin == LOCAL and stored.record.issuer == self._own and stored.state == LIVE:
                found.append(stored)
        return found

    def _entry(self, stored: StoredRecord) -> PublicationEntry | None:
        """What is to be entered of a live record, unless it was."""
        record, cid = stored.record, stored.cid
        if self._was_entered(cid):
            return None
        match record:
            case AnswerRecord():
                is_over = record.expires is not None and record.expires <= self._clock.now()
                if record.context is not None or is_over:
                    return None
                class_ = word(self._class_of(record), _CLASS)
                return Publish(cid, class_, record.query_hash, record.expires)
            case ValidationRecord():
                return Validate(cid, Cid.parse(record.target), record.verdict)
            case TombstoneRecord():
                target = Cid.parse(record.target)
                reason = word(record.reason, _WITHDRAWN)
                return Retract(target, reason, cid) if self._was_entered(target) else None
            case KeyRecord():
                return Key(cid, record.subject, record.use)
        return None

    def _was_entered(self, cid: Cid) -> bool:
        return Item(0, cid.digest) in self._shared.ever

    async def _enter(self, ready: Sequence[_Ready]) -> None:
        """Raises ``NodeError`` when one of the entries is not, or may not be, in the log."""
        for at in range(0, len(ready), AT_ONCE):
            some = ready[at : at + AT_ONCE]
            appends = (self._log.append(partial(leaf.compose, one.data), None) for one in some)
            self._appending = asyncio.gather(*appends, return_exceptions=True)
            # Cut off, they go on, and the next pass waits for them before it reads the log back.
            places = await asyncio.shield(self._appending)
            for place in places:
                if isinstance(place, BaseException):
                    raise place
            if places != list(range(self._seen, self._seen + len(some))):
                raise Unavailable("somebody else writes this node's publications log; it is read back first")
            self._seen += len(some)
            for one in some:
                self._note(one.entry, one.time_s)

    # --- what is shared now -----------------------------------------------------------------------

    def _note(self, entry: PublicationEntry, time_s: int | None) -> None:
        """An entry is in the log."""
        digest = entry.cid.digest
        match entry:
            case Publish():
                self._shared.times[digest] = time_s
                if time_s is not None:
                    self.published.add(Item(time_s, digest))
                if entry.expires is not None:
                    heapq.heappush(self._shared.ends, (_seconds(entry.expires), digest))
            case Retract():
                self._unshare(digest)
                digest = digest if entry.tombstone is None else entry.tombstone.digest
        self._shared.ever.add(Item(0, digest))

    def _unshare(self, digest: bytes) -> None:
        time_s = self._shared.times.pop(digest, None)
        if time_s is not None:
            self.published.discard(Item(time_s, digest))

    def _undate(self, digest: bytes) -> None:
        time_s = self._shared.times.get(digest)
        if time_s is not None:
            self._shared.times[digest] = None
            self.published.discard(Item(time_s, digest))

    def _set_date(self, stored: StoredRecord) -> None:
        digest = stored.cid.digest
        if self._shared.times.get(digest, 0) is None:
            time_s = self._shared.times[digest] = _seconds(stored.record.timestamp)
            self.published.add(Item(time_s, digest))

    def _drop_ended(self) -> None:
        if self._clock.doubt is not None:
            return
        now_s = _seconds(self._clock.now())
        while self._shared.ends and self._shared.ends[0][0] <= now_s:
            self._unshare(heapq.heappop(self._shared.ends)[1])

    # --- what the log and the state say -----------------------------------------------------------

    async def _read_back(self) -> None:
        """Entries of the log that were not noted here, if there are any: rule 4."""
        if self._appending is not None:
            await asyncio.shield(self._appending)
        if (size := self._log.size()) != self._seen:
            await self._log.publish()  # only what is under a checkpoint can be read
            self._is_undated = True
        while self._seen < size:
            end = min(self._seen + _READ_AT_ONCE, size)
            leaves = await self._back.entries(self._seen, end)
            if len(leaves) != end - self._seen:
                raise Unavailable(f"the publications log cannot be read back from entry {self._seen} on")
            for data in leaves:
                try:
                    self._note(read(self._seen, data), None)
                except Rejected as exc:
                    _log.warning("event=publication_unreadable index=%d reason=%s", self._seen, exc)
                self._seen += 1
                if self._seen % _LOOKED_AT_ONCE == 0:
                    await asyncio.sleep(0)
            self._drop_ended()
        if self._is_undated:
            await self._date()
            self._is_undated = False

    async def _date(self) -> None:
        """When what is not dated yet is. What is not live is not compared with peers: nobody gets it here."""
        times = self._shared.times
        undated = [Cid(DAG_CBOR, digest) for digest, time_s in times.items() if time_s is None]
        for at in range(0, len(undated), _PAGE):
            for stored in (await self._records.live(undated[at : at + _PAGE])).values():
                self._set_date(stored)

    async def _check_state(self) -> None:
        """Follow from the beginning where an older store or log was put back."""
        last = int((await self._records.counts())["last_sequence"])
        followed = max(self._state.sequence, self._saved.sequence)
        if last < followed or self._log.size() < self._state.size:
            _log.warning("event=publications_anew reason=an older record store or log was put back")
            self._state = self._saved = replace(NOWHERE, size=self._log.size())
            for digest in list(self._shared.times):  # of what the index says some may not be there any more
                self._undate(digest)
            await self._date()

    async def _load_index(self) -> None:
        """What was read back before, if the log begins with just that. Otherwise all of it is read back."""
        if self._places.index is None or self._back.root_at is None:
            return
        try:
            found = await asyncio.to_thread(publish_index.read, self._places.index)
            if found is None:
                return
            place, shared = found
            if place.size > self._log.size() or await self._back.root_at(place.size) != place.root:
                raise Rejected("it is of another log")
            published = await asyncio.to_thread(publish_index.dated, shared)
        except NodeError as exc:
            _log.warning("event=publications_read_anew reason=the index %s: %s", self._places.index, exc)
            return
        self._shared, self.published, self._seen = shared, published, place.size
        self._indexed = place
        # From where the store was followed when the index was made: what gave way since then is not in it.
        self._state = replace(
            self._state,
            sequence=min(self._state.sequence, place.sequence),
            change=min(self._state.change, place.change),
        )
        self._drop_ended()

    async def _keep_index(self, *, is_last: bool) -> None:
        """Write the index where it is worth while. It is a copy: where that fails, the next one may not."""
        if self._places.index is None or self._back.root_at is None:
            return
        before, new = self._indexed, self._seen - self._indexed.size
        place = Place(self._seen, before.root, self._state.sequence, self._state.change)
        if not (
            place != before if is_last else new >= max(self._places.index_after, before.size // INDEX_SHARE)
        ):
            return
        try:
            await self._log.publish()  # only of what is under a checkpoint is there a root
            place = replace(place, root=await self._back.root_at(place.size))
            await asyncio.to_thread(publish_index.write, self._places.index, place, self._shared.copy())
        except NodeError as exc:
            _log.warning("event=publications_index_not_kept reason=%s", exc)
            return
        self._indexed = place

    async def _read_state(self) -> Place:
        path = self._places.state
        if path is None:
            return NOWHERE
        try:
            return await asyncio.to_thread(state_file.read_json, path, _STATE_BYTES_MAX, _parsed) or NOWHERE
        except Rejected as exc:
            _log.warning("%s; the store is followed from its beginning", exc)
            return NOWHERE

    async def _save(self) -> None:
        if self._places.state is not None:
            state = self._state
            data = orjson.dumps({"sequence": state.sequence, "change": state.change, "size": state.size})
            await asyncio.to_thread(put, self._places.state, data)
        self._saved = self._state


def _parsed(fields: Any) -> Place:
    return Place(int(fields["size"]), b"", int(fields["sequence"]), int(fields["change"]))


def _seconds(when: datetime) -> int:
    """Since 1970, whole."""
    return time_us(when) // 1_000_000
