"""Publishes what this node stands for: a head block with an index of its public answers, and the IPNS record
that names it.

Rules:
1. A head is made when something public or the head of a log has changed, at most every ``every_s`` seconds,
   at most a twentieth of the time, and at the stop. Pages that did not change are not written again.
2. Nobody waits for it. What is to be done is what lies behind two watermarks of the record store: no queue.
3. What a newer head replaced is deleted ``KEPT_S`` later, several times the record's TTL, so that whoever
   followed an older record finds it whole.
4. The record is signed by the node key, lives 48 hours and is renewed each 12, also when the wall clock went
   back. It is on disk before anybody sees it.
5. Its sequence never goes back: it is above every one that is known (the file, the name store, a daemon,
   what others offered us for our own name), and never below the seconds since 1970, which is above all that
   an older state of this node can have used, whatever was restored.
6. Before the old node key may be gone in a rotation, the last record under its name points to the new one.
7. A failure is tried again later and later, and ``health`` says why. The daemon's part is ``head_daemon``.

The blocks are public. The state (``state_path``) is written after them; where it is lost, a new head is made.
Blocks that no head in the state leads to are deleted after the first head of a start.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from node.core import state_file
from node.core.caller import SCOPE_PUBLIC
from node.core.clock import Clock
from node.core.errors import CorruptState, NodeError, NotFound, Rejected
from node.core.files import put
from node.core.follower import DOUBT_LOOK_S, Follower, Rest
from node.core.ipld import ipns
from node.core.ipld.cid import Cid
from node.core.ipld.ipns import RECORD_BYTES_MAX, IpnsName, IpnsRecord
from node.core.model import Check
from node.core.ports import BlockStore, RecordStore
from node.core.record import Sign, format_time, time_us
from node.ipfs import head_state
from node.ipfs.head_daemon import HeadInDaemon, Published
from node.ipfs.head_state import State
from node.ipfs.index_pages import HeadBlock, Index, build, parse_index
from node.ipfs.kubo import KuboBlockStore
from node.store.ipns_records import Names

_log = logging.getLogger("neuroswarm.head")

CHECK = "ipns"
EVERY_S = 30.0
SHARE = 20
"""A rebuild is followed by a pause of at least so many times what it took."""
LIFETIME = timedelta(hours=48)
RENEW_EVERY = timedelta(hours=12)
TTL_S = 60
LAST_LIFETIME = timedelta(days=365)
"""Of the record that leads from an old name to the new one: nobody can renew it once the old key is gone."""
SLACK = timedelta(minutes=1)
"""A clock that is set back by less is not worth a new record."""
KEPT_S = 300.0
LOOK_EVERY_S = 60.0
"""How often it is looked whether the record is to be renewed and whether a log has a new head."""
LOOK_HINTED_S = 1.0
"""The same while a new head is owed: the keys may have been what changed."""
_PAGE = 1_000


@dataclass(frozen=True, slots=True)
class NameKey:
    """A key that an IPNS name of this node is made from."""

    name: IpnsName
    sign: Sign


@dataclass(frozen=True, slots=True)
class Content:
    """What a head leads to: the records, and the newest heads of the logs' blocks as they are now."""

    records: RecordStore
    publications: Callable[[], Cid | None]
    decisions: Callable[[], Cid | None]

    def log_heads(self) -> tuple[Cid | None, Cid | None]:
        return self.publications(), self.decisions()


@dataclass(frozen=True, slots=True)
class HeadBlocks:
    """The head's own blocks, which are nobody else's; ``stored`` lists them."""

    store: BlockStore
    stored: Callable[[], Awaitable[Collection[Cid]]]


@dataclass(frozen=True, slots=True)
class HeadFiles:
    """Where the state and the newest signed record lie."""

    state: Path
    record: Path


@dataclass(frozen=True, slots=True)
class Signing:
    """``keys``: the node key and those in their overlap, newest first."""

    issuer: str
    keys: Callable[[], Sequence[NameKey]]


class Head:
    """One per node. ``start`` it inside a running loop; ``close`` it after the last write and before the
    stores."""

    def __init__(
        self,
        content: Content,
        blocks: HeadBlocks,
        names: Names,
        clock: Clock,
        *,
        files: HeadFiles,
        signing: Signing,
        daemon: KuboBlockStore | None = None,
        every_s: float = EVERY_S,
    ) -> None:
        self._content = content
        self._blocks = blocks.store
        self._stored = blocks.stored
        self._names = names
        self._clock = clock
        self._files = files
        self._signing_as = signing
        self._every_s = every_s
        self._state = State()
        self._is_loaded = False
        self._is_swept = False
        self._leaving: IpnsName | None = None
        self._left_out = 0
        self._last: dict[IpnsName, tuple[bytes, IpnsRecord]] = {}
        self._floor: dict[IpnsName, int] = {}
        self._told: Published | None = None
        self._due_at = 0.0
        self._replaced_at: dict[Cid, float] = {}
        self._is_hinted = True
        self._linked: tuple[Cid | None, Cid | None] = (None, None)
        self._saving = asyncio.Lock()
        self._signing = asyncio.Lock()
        self._follower = Follower("head", self._turn, clock)
        self._daemon = (
            None
            if daemon is None
            else HeadInDaemon(
                daemon, blocks.store, clock, look=self._published, gave=self._gave, knows=self._knows
            )
        )

    @property
    def cid(self) -> Cid | None:
        """The newest head; None before the first one."""
        return self._state.head

    @property
    def name(self) -> IpnsName:
        """The name that is published now."""
        return self._signing_as.keys()[0].name

    @property
    def record(self) -> bytes | None:
        """The newest record of ``name``; None before the first one."""
        found = self._last.get(self.name)
        return None if found is None else found[0]

    def start(self) -> None:
        """Begin to follow the record store."""
        self._follower.start()
        if self._daemon is not None:
            self._daemon.start()

    def changed(self) -> None:
        """Records, a log's head or the keys may have changed. Cheap; may be called any time."""
        self._is_hinted = True
        self._follower.wake()

    def health(self) -> Check:
        """Without I/O: the name and head that are published, and what keeps newer ones from it."""
        seen = None if self.cid is None else str(self.cid)
        if (trouble := self._follower.trouble()) is not None:
            return Check(CHECK, "warn", trouble[0], since=trouble[1], observed=seen)
        if self.cid is None or self.record is None:
            return Check(CHECK, "pass", "nothing is published yet")
        text = f"published as /ipns/{self.name.text}"
        if self._left_out:
            text += f"; {self._left_out} public answers have no room in the index and are found by CID only"
        if self._daemon is None:
            return Check(CHECK, "pass", text, observed=seen)
        status, more, since_then = self._daemon.state()
        return Check(CHECK, status, f"{text}; {more}", since=since_then, observed=seen)

    async def lead_over(self, old: NameKey, new: IpnsName) -> None:
        """Sign the last record of a name that is to become an old one: it points to the new one. Until
        ``settle`` nothing else is signed under it. Raises ``Unavailable``, ``Rejected``."""
        async with self._signing:
            self._leaving = old.name
            await self._lead_over(old, new)

    def settle(self) -> None:
        """What ``lead_over`` was for has come about or not: sign by the keys that are there."""
        self._leaving = None
        self.changed()

    async def _lead_over(self, old: NameKey, new: IpnsName) -> None:
        value = f"/ipns/{new.text}"
        last = await self._last_of(old.name)
        if (
            last is not None
            and last[1].value == value
            and last[1].validity > self._clock.now()
            and self._known(old.name) <= last[1].sequence
        ):
            return
        record = self._next(old.name, last, value, LAST_LIFETIME)
        data = ipns.encode(record, old.sign)
        await self._names.set_own(old.name, data)
        self._last[old.name] = (data, record)
        _log.info("event=ipns_name_left old=%s new=%s", old.name.text, new.text)

    async def close(self, timeout_s: float) -> None:
        """Make the last head, for at most ``timeout_s`` seconds; what is left is done at the next start.
        Idempotent."""
        await self._follower.close(timeout_s)
        if self._daemon is not None:
            await self._daemon.close(timeout_s)

    # --- the worker -------------------------------------------------------------------------------

    def _next_s(self) -> float:
        """How long there is nothing to do unless somebody says that something changed."""
        now = self._clock.monotonic()
        waits = [LOOK_EVERY_S]
        if self._is_hinted:
            waits += [self._due_at - now, LOOK_HINTED_S]
        waits += [self._replaced_at[cid] + KEPT_S - now for cid in self._state.older]
        return max(0.0, min(waits))

    async def _turn(self) -> Rest:
        problem: NodeError | None = None
        if not self._is_loaded:
            await self._load()
        if self._clock.doubt is not None:  # a record that is signed now could stand in the way for long
            return Rest(DOUBT_LOOK_S, is_deaf=True)
        self._is_hinted |= self._linked != self._content.log_heads()
        if self._follower.is_stopping or (self._is_hinted and self._clock.monotonic() >= self._due_at):
            self._is_hinted = False
            try:
                await self._follow()
            except NodeError as exc:  # a head that cannot be made must not keep the last one from its renewal
                problem, self._is_hinted = exc, True
        async with self._signing:
            problem = await self._sign() or problem
        if self._daemon is not None and (now := self._published()) != self._told:
            self._told = now
            self._daemon.changed()
        past = self._clock.monotonic() - KEPT_S
        await self._change(older=tuple(cid for cid in self._state.older if self._replaced_at[cid] > past))
        if problem is not None:
            raise problem
        if not self._is_swept:
            await self._sweep()
            self._is_swept = True
        return Rest(self._next_s(), is_deaf=self._is_hinted)

    # --- the head ---------------------------------------------------------------------------------

    async def _follow(self) -> None:
        """A new head, if what it says has changed."""
        began = self._clock.monotonic()
        old = await self._read_head(self._state.head)
        if old is not None and not await self._blocks.has(old.index):
            old = None
        sequence, change, is_changed = await self._changes(is_first=old is None)
        if old is not None and not is_changed:
            index = Index(old.index, {}, left_out=self._left_out)
        else:
            before = {} if old is None else await self._read_index(old.index)
            index = await build(self._content.records, self._blocks, before)
        self._left_out = index.left_out
        publications, decisions = self._linked = self._content.log_heads()
        time = format_time(self._clock.now())
        new = HeadBlock(self._signing_as.issuer, self.name.text, time, publications, decisions, index.cid)
        if old is None or new != replace(old, time=time):
            await self._replace(new)
        await self._change(sequence=sequence, change=change)
        took_s = self._clock.monotonic() - began
        self._due_at = self._clock.monotonic() + max(self._every_s, SHARE * took_s)

    async def _replace(self, new: HeadBlock) -> None:
        data = new.encode()
        cid = Cid.of(data)
        await self._blocks.put(cid, data)
        older = [one for one in (self._state.head, *self._state.older) if one not in (None, cid)]
        for one in older:
            self._replaced_at.setdefault(one, self._clock.monotonic())
        await self._change(head=cid, older=tuple(older[: head_state.OLDER_MAX]))
        _log.info("event=head cid=%s", cid)

    async def _changes(self, *, is_first: bool) -> tuple[int, int, bool]:
        """How far the record store has gone, and whether anything public is among what is new there."""
        sequence, change = self._state.sequence, self._state.change
        last = int((await self._content.records.counts())["last_sequence"])
        is_changed = is_first or last < sequence  # or an older record store was put back
        if is_changed:
            sequence, change = last, 0
        while True:
            news = await self._content.records.block_changes(sequence, change, limit=_PAGE)
            for ref in news.withdrawn:
                change = max(change, ref.number)
                is_changed |= ref.scope == SCOPE_PUBLIC
            for ref in news.written:
                sequence = max(sequence, ref.number)
                is_changed |= ref.scope == SCOPE_PUBLIC
            if len(news.withdrawn) < _PAGE and len(news.written) < _PAGE:
                return sequence, change, is_changed

    async def _read_head(self, cid: Cid | None) -> HeadBlock | None:
        """None where there is none, or it is lost or damaged."""
        if cid is None:
            return None
        try:
            return HeadBlock.parse(await self._blocks.get(cid))
        except (NotFound, CorruptState, Rejected):
            return None

    async def _read_index(self, cid: Cid) -> dict[str, Cid]:
        """The pages of an index; none where it is lost or damaged."""
        try:
            return parse_index(await self._blocks.get(cid))
        except (NotFound, CorruptState, Rejected):
            return {}

    async def _blocks_of(self, cid: Cid) -> set[Cid]:
        head = await self._read_head(cid)
        if head is None:
            return {cid}
        return {cid, head.index, *(await self._read_index(head.index)).values()}

    async def _kept(self) -> set[Cid]:
        """The blocks of every head that the state names."""
        return set[Cid]().union(*[await self._blocks_of(cid) for cid in self._state.held])

    async def _change(self, **fields: Any) -> None:
        """Save the state with these fields, then delete what no head that it names needs any more."""
        async with self._saving:
            old, new = self._state, replace(self._state, **fields)
            if new == old:
                return
            await asyncio.to_thread(head_state.save, self._files.state, new)
            self._state = new
            gone = old.held - new.held
            if not gone:
                return
            kept = await self._kept()
            for cid in gone:
                self._replaced_at.pop(cid, None)
                for only in await self._blocks_of(cid) - kept:
                    await self._blocks.delete(only)

    async def _sweep(self) -> None:
        """Delete what a process that was killed, or a state that was lost, has left behind."""
        async with self._saving:
            for orphan in set(await self._stored()) - await self._kept():
                await self._blocks.delete(orphan)

    # --- the record -------------------------------------------------------------------------------

    async def _sign(self) -> NodeError | None:
        """The records that are due: of old names first, because the file has room for one. What kept one of
        those from it, which is no reason to let the current name expire."""
        problem: NodeError | None = None
        current, *overlapping = self._signing_as.keys()
        for old in overlapping:
            try:
                await self._lead_over(old, current.name)
            except NodeError as exc:
                problem = exc
        if self._state.head is None or current.name == self._leaving:
            return problem
        value = f"/ipfs/{self._state.head}"
        last = await self._last_of(current.name)
        if last is not None and not self._is_due(current.name, last[1], value):
            return problem
        record = self._next(current.name, last, value, LIFETIME)
        data = ipns.encode(record, current.sign)
        await asyncio.to_thread(put, self._files.record, data)
        await self._names.set_own(current.name, data)
        self._last[current.name] = (data, record)
        return problem

    def _is_due(self, name: IpnsName, last: IpnsRecord, value: str) -> bool:
        left = last.validity - self._clock.now()
        is_fresh = LIFETIME - RENEW_EVERY < left <= LIFETIME + SLACK
        return last.value != value or not is_fresh or self._known(name) > last.sequence

    def _next(
        self, name: IpnsName, last: tuple[bytes, IpnsRecord] | None, value: str, lifetime: timedelta
    ) -> IpnsRecord:
        now = self._clock.now()
        known = max(self._known(name), -1 if last is None else last[1].sequence)
        return IpnsRecord(value, max(known + 1, time_us(now) // 1_000_000), now + lifetime, TTL_S * 10**9)

    def _known(self, name: IpnsName) -> int:
        """The highest sequence that others are known to have seen."""
        return max(self._floor.get(name, -1), self._names.heard(name))

    async def _last_of(self, name: IpnsName) -> tuple[bytes, IpnsRecord] | None:
        """Our last record of a name: from memory, else the better of the file's and the name store's.
        Raises ``Unavailable``."""
        if name in self._last:
            return self._last[name]
        on_disk = await asyncio.to_thread(state_file.read, self._files.record, RECORD_BYTES_MAX)
        found = [
            (data, record)
            for data in (on_disk, await self._names.known(name))
            if data is not None and (record := _decoded(data, name)) is not None
        ]
        if not found:
            return None
        best = max(found, key=lambda one: (one[1].sequence, one[1].validity))
        await self._names.set_own(name, best[0])
        self._last[name] = best
        return best

    # --- what the daemon's part asks and tells ------------------------------------------------------

    def _published(self) -> Published | None:
        found = self._last.get(self.name)
        if self._state.head is None or found is None:
            return None
        old = {name: last[0] for name, last in self._last.items() if name != self.name}
        return Published(self._state.head, self._state.given, self.name, found[0], old)

    async def _gave(self, head: Cid) -> None:
        await self._change(given=head)

    def _knows(self, name: IpnsName, data: bytes) -> bool:
        """The daemon holds this record for one of our names; True when ours has to become newer for that."""
        record, last = _decoded(data, name), self._last.get(name)
        if record is None or last is None or data == last[0] or record.sequence < last[1].sequence:
            return False
        self._floor[name] = record.sequence + (record.sequence == last[1].sequence)
        self._follower.wake()
        return True

    async def _load(self) -> None:
        state = await asyncio.to_thread(head_state.read, self._files.state)
        if self._daemon is None:
            state = replace(state, given=None)
        self._state = state
        self._replaced_at = dict.fromkeys(state.older, self._clock.monotonic())
        self._is_loaded = True


def _decoded(data: bytes, name: IpnsName) -> IpnsRecord | None:
    try:
        return ipns.decode(data, name)
    except Rejected:
        return None
