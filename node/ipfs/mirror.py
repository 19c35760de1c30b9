"""A copy of the node's blocks in an IPFS daemon, made behind every write and never in its way.

The node's own store is the truth; the daemon follows it. There is no second queue on disk: what waits is
what lies behind two watermarks (``RecordStore.block_changes``), kept in ``state.sqlite`` for each daemon by
its peer id. So the queue is as durable and as bounded as the store, a killed process repeats at most a batch,
and a daemon with another or an emptied repository is given everything again.

Rules:
1. Only public blocks are given to a daemon, unless the operator says that it is private; then shared ones
   too. What is private to a person or tenant never leaves this node, whatever the setting. A record that may
   not go is passed over; switching the setting on sends it then, switching it off takes it back. A daemon to
   which an older program gave private records is relieved of them.
2. Pins follow the live set: what is live is pinned, what was withdrawn, expired or evicted is unpinned. The
   block itself is left to the daemon's garbage collection, except that of a shared record. What is erased is
   deleted there by ``node.app.reach``.
3. One worker. It is woken by each change and by a timer; while the daemon fails it waits longer and longer,
   with jitter, and nothing but the timer, a health check that finds the daemon alive, or the stop wakes it.
4. A block that the daemon refuses stays in the queue: nothing is dropped, and ``/health`` says why it waits.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import orjson

from node.core.caller import SCOPE_PUBLIC
from node.core.clock import Clock, pause
from node.core.errors import CorruptState, NodeError, NotFound, TimedOut
from node.core.ipld.cid import Cid
from node.core.metrics import Metrics
from node.core.model import Check
from node.core.ports import BlockRef, BlockStore, RecordStore
from node.ipfs import kubo
from node.ipfs.kubo import KuboBlockStore
from node.store.record_rules import is_private
from node.store.state import StateStore

_log = logging.getLogger("neuroswarm.mirror")

BATCH_MAX = 32
"""Blocks that are pinned by one call."""
_PAGE = 1_000
WAITING_MAX = 10_000
"""How far what waits is counted."""
CHECK_EVERY_S = 60.0
"""How often the daemon is asked whether it still holds what it was given."""
AGAIN_EVERY_S = 600.0
"""Where somebody else takes our pins away, everything is not given again more often than this."""
BACKOFF_FIRST_S = 0.5
BACKOFF_MAX_S = 15.0
GRACE_S = 3.0
"""A daemon that answers but does not take blocks is reported after so long: one failed call is no news."""
CANCEL_TIMEOUT_S = 1.0
_SAMPLE = 8
_DAEMONS_MAX = 8
_META = "ipfs-mirror"


@dataclass(frozen=True, slots=True)
class _Mark:
    """How far a daemon has followed, whether it was given (``all``) or is being relieved of (``recalls``)
    what is shared, and whether it is being relieved of what is private (``relieves``)."""

    sequence: int = 0
    change: int = 0
    all: bool = False
    recalls: bool = False
    relieves: bool = False

    def takes_back(self, ref: BlockRef) -> bool:
        """Whether the daemon is to delete a block that does not go there."""
        if ref.scope == SCOPE_PUBLIC:
            return False
        return self.relieves if is_private(ref.scope) else self.recalls


class Mirror:
    """Keeps the daemon's copy. ``start`` it inside a running loop, ``close`` it before stores and session."""

    def __init__(
        self,
        daemon: KuboBlockStore,
        records: RecordStore,
        blocks: BlockStore,
        state: StateStore,
        clock: Clock,
        metrics: Metrics,
        *,
        is_private: bool,
    ) -> None:
        self._daemon = daemon
        self._records = records
        self._blocks = blocks
        self._state = state
        self._clock = clock
        self._metrics = metrics
        self._is_private = is_private
        self._marks: dict[str, _Mark] | None = None
        self._repo: str | None = None
        self._check_at = self._again_at = 0.0
        self._recent: deque[Cid] = deque(maxlen=_SAMPLE)
        self._batch = BATCH_MAX
        self._changed = asyncio.Event()
        self._alive = asyncio.Event()
        self._stopping = False
        self._is_backing_off = False
        self._task: asyncio.Task[None] | None = None
        self._silent_since: datetime | None = None
        self._fault: tuple[float, datetime, str] | None = None

    @property
    def daemon(self) -> KuboBlockStore:
        """The daemon, for whoever keeps other public blocks there."""
        return self._daemon

    def start(self) -> None:
        """Begin to follow."""
        self._task = asyncio.create_task(self._work(), name="mirror")

    def nudge(self) -> None:
        """Something was written or withdrawn. Cheap; may be called any time."""
        self._changed.set()

    async def waiting(self) -> int:
        """How many changes the daemon has not followed yet, counted up to ``WAITING_MAX``."""
        mark = self._mark if self._repo is not None else await self._furthest()
        changes = await self._records.block_changes(mark.sequence, mark.change, limit=WAITING_MAX)
        behind = sum(self._goes(ref) or mark.takes_back(ref) for ref in changes.written)
        if mark != _Mark():  # a daemon that holds nothing has nothing to unpin
            behind += sum(self._goes(ref) or mark.takes_back(ref) for ref in changes.withdrawn)
        count = min(behind, WAITING_MAX)
        self._metrics.set(mirror_waiting=count)
        return count

    async def probe(self) -> Check:
        """Whether the daemon answers now, what it is, and what waits for it. Never raises."""
        try:
            seen = await kubo.look(self._daemon.client)
        except NodeError as exc:
            self._silent_since = self._silent_since or self._clock.now()
            return Check(
                kubo.CHECK,
                "warn",
                f"the configured daemon does not answer: {exc}; {await self._said_to_wait()}; other IPFS "
                "nodes cannot fetch new blocks from it, answers go on as before",
                since=self._silent_since,
            )
        if self._silent_since is not None:
            self._silent_since = self._fault = None  # what failed while it was away says nothing any more
        self._alive.set()
        waits = await self._said_to_wait()
        if self._task is not None and self._task.done() and not self._stopping:
            return Check(kubo.CHECK, "warn", f"answers, but mirroring has ended; {waits}; restart the node")
        if self._fault is not None and self._clock.monotonic() - self._fault[0] >= GRACE_S:
            _, since, reason = self._fault
            return Check(kubo.CHECK, "warn", f"answers, but: {reason}; {waits}", since=since, observed=seen)
        return Check(kubo.CHECK, "pass", f"answers; {waits}", observed=seen)

    async def _said_to_wait(self) -> str:
        try:
            count = await self.waiting()
        except NodeError as exc:
            return f"what waits cannot be counted ({exc})"
        what = "public and shared blocks" if self._is_private else "public blocks"
        if not count:
            return f"all {what} are mirrored"
        more = " or more" if count == WAITING_MAX else ""
        return f"{count}{more} changes of {what} wait and are kept here"

    async def close(self, timeout_s: float) -> int:
        """Send what waits for at most ``timeout_s`` seconds, at once give up on a daemon that fails; what is
        left stays queued for the next start. Returns how much that is. Raises ``Unavailable`` when the store
        or the state cannot be read any more. Idempotent."""
        self._stopping = True
        self._changed.set()
        task = self._task
        if task is not None and not task.done():
            if not self._is_backing_off:
                await asyncio.wait({task}, timeout=timeout_s)
            task.cancel()
            await asyncio.wait({task}, timeout=CANCEL_TIMEOUT_S)
        if self._repo is not None:
            await self._save()
        return await self.waiting()

    # --- the worker -------------------------------------------------------------------------------

    async def _work(self) -> None:
        failures = 0
        while True:
            self._changed.clear()
            self._alive.clear()
            try:
                await self._follow()
            except NodeError as exc:
                self._failed(exc)
                failures += 1
                if self._stopping:
                    return
                step = min(BACKOFF_MAX_S, BACKOFF_FIRST_S * 2 ** min(failures - 1, 16))
                self._is_backing_off = True
                await pause(self._clock, step * (0.5 + self._clock.random()), self._alive)
                self._is_backing_off = False
            else:
                self._fault = None
                failures = 0
                if self._stopping and not self._changed.is_set():
                    return
                if not self._stopping:
                    await pause(self._clock, CHECK_EVERY_S, self._changed)

    def _failed(self, exc: NodeError) -> None:
        now = self._clock.monotonic(), self._clock.now()
        if self._fault is None:
            _log.warning("event=mirror_waits reason=%s", exc)
        since = now if self._fault is None else self._fault[:2]
        self._fault = (*since, str(exc))
        self._check_at = 0.0
        if isinstance(exc, TimedOut):
            self._batch = max(1, self._batch // 2)
        self._metrics.count("mirror_failures")

    async def _follow(self) -> None:
        """Bring the daemon up to date with the store."""
        if self._clock.monotonic() >= self._check_at:
            await self._connect()
        while True:
            mark = self._mark
            changes = await self._records.block_changes(mark.sequence, mark.change, limit=_PAGE)
            for start in range(0, len(changes.withdrawn), self._batch):
                await self._withdraw(changes.withdrawn[start : start + self._batch])
            written = list(changes.written)
            while written:
                batch = written[: self._batch]
                await self._send(batch)
                del written[: len(batch)]
            if not changes.withdrawn and not changes.written:
                break
        if self._mark.recalls or self._mark.relieves:
            await self._move(replace(self._mark, recalls=False, relieves=False), is_news=True)

    # --- which daemon, and what it holds ----------------------------------------------------------

    async def _connect(self) -> None:
        """Find out which repository answers and from where it has to be followed."""
        try:
            await self._daemon.connect()
        except NodeError:
            self._silent_since = self._silent_since or self._clock.now()
            raise
        repo = await self._daemon.client.repo_id()
        marks = await self._load()
        mark = marks.get(repo)
        if mark is None:
            # A repository that was never met holds nothing of ours: only what ends from now on is unpinned.
            mark = _Mark(change=await self._last_change(), all=self._is_private)
        if self._is_private and not mark.all:
            mark = replace(mark, sequence=0, all=True, recalls=False)
        elif mark.all and not self._is_private:
            mark = replace(mark, sequence=0, all=False, recalls=True)
        now = self._clock.monotonic()
        if mark.sequence and now >= self._again_at and not await self._holds_sample(mark):
            self._again_at = now + AGAIN_EVERY_S
            _log.warning("event=mirror_again repo=%s reason=blocks or pins are missing there", repo)
            mark = replace(mark, sequence=0)
        if repo != self._repo:
            _log.info("event=mirror_follows repo=%s sequence=%d change=%d", repo, mark.sequence, mark.change)
        self._repo = repo
        is_news = marks.get(repo) != mark
        marks.pop(repo, None)
        marks[repo] = mark  # the last one met is the last to be forgotten
        while len(marks) > _DAEMONS_MAX:
            del marks[next(iter(marks))]
        if is_news:
            await self._save()
        self._check_at = now + CHECK_EVERY_S

    async def _holds_sample(self, mark: _Mark) -> bool:
        """Whether the oldest and the newest of what the daemon was given are still there and pinned."""
        oldest = await self._records.block_changes(0, 2**62, limit=_PAGE)
        given = [ref.cid for ref in oldest.written if ref.number <= mark.sequence and self._goes(ref)]
        whole = [cid for cid in given[:_SAMPLE] if await self._read(cid) is not None]
        sample = list(dict.fromkeys([*whole, *self._recent]))
        if not sample:
            return True
        if not await self._daemon.client.pinned(sample):
            return False
        return all([await self._daemon.has(cid) for cid in {sample[0], sample[-1]}])

    async def _last_change(self) -> int:
        change = 0
        while page := await self._records.withdrawn_since(change, limit=WAITING_MAX):
            change = page[-1][0]
        return change

    # --- what goes there --------------------------------------------------------------------------

    def _goes(self, ref: BlockRef) -> bool:
        return ref.scope == SCOPE_PUBLIC or (self._is_private and not is_private(ref.scope))

    async def _send(self, refs: Sequence[BlockRef]) -> None:
        blocks = [
            block for ref in refs if self._goes(ref) if (block := await self._read(ref.cid)) is not None
        ]
        if blocks:
            await self._daemon.keep(blocks)
            self._metrics.count("mirrored_blocks", by=len(blocks))
            self._recent.extend(cid for cid, _ in blocks)
            self._batch = min(BATCH_MAX, self._batch * 2)
        for ref in refs:
            if not self._goes(ref) and self._mark.takes_back(ref):
                await self._daemon.remove(ref.cid)
        await self._move(replace(self._mark, sequence=refs[-1].number), is_news=bool(blocks))

    async def _read(self, cid: Cid) -> tuple[Cid, bytes] | None:
        try:
            return cid, await self._blocks.get(cid)
        except NotFound:
            return None  # deleted meanwhile: its withdrawal follows
        except CorruptState as exc:
            _log.error("event=mirror_passed_over cid=%s reason=%s", cid, exc)
            return None

    async def _withdraw(self, refs: Sequence[BlockRef]) -> None:
        for ref in refs:
            if ref.cid in self._recent:
                self._recent.remove(ref.cid)
        public = [ref.cid for ref in refs if ref.scope == SCOPE_PUBLIC]
        if public:
            await self._daemon.client.unpin(public)
        for ref in refs:
            if ref.scope != SCOPE_PUBLIC and (self._goes(ref) or self._mark.takes_back(ref)):
                await self._daemon.remove(ref.cid)
        await self._move(replace(self._mark, change=refs[-1].number), is_news=bool(public))

    # --- the watermarks ---------------------------------------------------------------------------

    @property
    def _mark(self) -> _Mark:
        assert self._marks is not None
        assert self._repo is not None
        return self._marks[self._repo]

    async def _furthest(self) -> _Mark:
        """Before any daemon was met in this run: the mark of the last one, or of none."""
        marks = await self._load()
        return marks[next(reversed(marks))] if marks else _Mark()

    async def _move(self, mark: _Mark, *, is_news: bool) -> None:
        """A mark that only passed over what does not go need not be saved: that is passed over again."""
        assert self._marks is not None
        assert self._repo is not None
        self._marks[self._repo] = mark
        if is_news:
            await self._save()

    async def _load(self) -> dict[str, _Mark]:
        if self._marks is None:
            text = await self._state.get_meta(_META)
            if self._marks is None:  # a health check may have read it meanwhile
                self._marks = {} if text is None else _marks(text)
        return self._marks

    async def _save(self) -> None:
        assert self._marks is not None
        rows = {
            repo: [mark.sequence, mark.change, mark.all, mark.recalls, mark.relieves]
            for repo, mark in self._marks.items()
        }
        await self._state.set_meta(_META, orjson.dumps(rows).decode())


def _marks(text: str) -> dict[str, _Mark]:
    """What ``_save`` wrote. Anything else is no mark: everything is then given again."""
    try:
        return {repo: _read_mark(*fields) for repo, fields in orjson.loads(text).items()}
    except (AttributeError, TypeError, ValueError) as exc:
        _log.warning("event=mirror_marks_unreadable reason=%s", exc)
        return {}


def _read_mark(
    sequence: int, change: int, everything: bool, recalls: bool, relieves: bool | None = None
) -> _Mark:
    """The program that kept no fifth member gave such a daemon what is private as well: it is followed from
    the start again, and relieved of that on the way."""
    if relieves is None and (everything or recalls):
        return _Mark(0, int(change), bool(everything), bool(recalls), relieves=True)
    return _Mark(int(sequence), int(change), bool(everything), bool(recalls), bool(relieves))
