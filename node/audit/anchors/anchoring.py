"""Has the log's checkpoints anchored outside: when, in what order, and what of it comes into the log.

Rules:
1. At most one anchor in a period, and none where nothing but anchors' own leaves came into the log since the
last
   one: an anchor's leaf makes a checkpoint, which would be anchored, and so on for ever.
2. A critical decision has the newest checkpoint anchored at once, but not more often than ``NOW_SPACING_S``.
3. A newer checkpoint covers the older ones of its log, so of those that no service has taken only the newest
   waits. Those that were taken are thinned out evenly over their age: a flood of critical decisions pushes no
   old one out before it is attested. What is attested is kept for ever.
4. A state is durable before it is told; each of submitted, attested and verified becomes a leaf once (after a
   crash at worst twice). A proof that a block denies goes back to ``pending`` and the calendars are asked
   again.
5. Nobody waits for a calendar but this file: one worker, which exists only while there is work, and which
ends
   with ``close``. What fails waits longer and longer, with jitter, offline for ever.

It knows no service (``Anchor``) and no leaf (``Report``).
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TypeAlias

from node.audit.anchors.anchor import (
    ATTESTED,
    HEALTH,
    PENDING,
    QUEUED,
    SUBMITTED,
    VERIFIED,
    Anchor,
    AnchorState,
    Standing,
    Unanswered,
)
from node.audit.anchors.files import AnchorFiles, AnchorStatus
from node.audit.log.writer import Published
from node.core.blocking import in_thread
from node.core.clock import Clock
from node.core.errors import NodeError, NotFound, Rejected, Unavailable
from node.core.model import Check

log = logging.getLogger("neuroswarm.anchor")

TICK_S = 60
"""How often ``tick`` is to be called: what is due sooner than that waits for it."""
NOW_SPACING_S = 60.0
QUEUED_MAX = 4
"""Checkpoints that no service has taken: one of each log, epoch or shard, the newest of these."""
TAKEN_MAX = 64
"""Checkpoints that a service has taken and no block holds yet."""
STEPS_MAX = 64
"""Anchors looked after in one round."""
RETRY_FIRST_S = 60.0
RETRY_MAX_S = 3_600.0
ASK_FIRST_S = 600.0
ASK_MAX_S = 6 * 3_600.0
ASK_SHARE = 0.25
"""A calendar is asked again when an anchor is older by this share: a block takes an hour or many."""
PATIENCE_S = 2 * 3_600.0
"""How long a checkpoint may wait for a calendar before health warns."""
ATTESTATION_PATIENCE_S = 2 * 86_400.0
"""How long a calendar may take to name a block before health warns."""

_WAITING = (QUEUED, SUBMITTED)

Report: TypeAlias = Callable[[AnchorState], Awaitable[None]]
"""Enters one anchor's state into the log. Raises ``NodeError``: it is then told again."""


class Anchoring:
    """Keeps the queue going. Use from one event loop."""

    def __init__(
        self,
        files: AnchorFiles,
        kept: list[AnchorStatus],
        anchor: Anchor,
        clock: Clock,
        newest: Callable[[], Published | None],
        report: Report,
        every_s: float,
    ) -> None:
        """Use ``open``. ``kept`` is newest first."""
        self._files = files
        self._kept = {status.name: status for status in kept}
        self._anchor = anchor
        self._clock = clock
        self._newest = newest
        self._report = report
        self._every_s = every_s
        self._last = kept[0] if kept else None
        """The anchor that was queued last, as it was then."""
        self._own_leaves = self._last.leaves_told if self._last else 0
        """Leaves told since then; after a restart, those of that anchor."""
        self._critical: Published | None = None
        self._worker: asyncio.Task[None] | None = None
        self._problem = ""
        self._refused_since: datetime | None = None
        """Since when no service has taken anything."""
        self._is_closed = False

    @classmethod
    async def open(
        cls,
        directory: Path,
        anchor: Anchor,
        clock: Clock,
        *,
        newest: Callable[[], Published | None],
        report: Report,
        every_s: float,
    ) -> Anchoring:
        """Read what ``directory`` keeps. ``newest`` gives the log's newest checkpoint, ``every_s`` is the
        period. Raises ``Unavailable``."""
        files = AnchorFiles(directory)

        def load() -> list[AnchorStatus]:
            kept = files.load()
            files.tidy(kept)
            return kept

        return cls(files, await asyncio.to_thread(load), anchor, clock, newest, report, every_s)

    async def tick(self) -> None:
        """Queue a checkpoint where the period is over, and look after all that is due. Never raises
        ``NodeError``: ``health`` says what failed."""
        if (worker := self._work()) is not None:
            await asyncio.wait({worker})

    def now(self, published: Published) -> None:
        """Have the newest checkpoint anchored at once, for a critical decision that ``published`` holds.
        Returns without waiting; what comes too soon after the one before is anchored by a later ``tick``."""
        last = self._last
        if last is None or last.origin != _origin(published) or last.size < published.size:
            self._critical = published
            self._work()

    def status(self) -> list[AnchorStatus]:
        """All that are kept, newest first."""
        return sorted(self._kept.values(), key=lambda one: (one.queued_at, one.size), reverse=True)

    def numbers(self) -> dict[str, float]:
        """Gauges: how many checkpoints are not attested yet, and how much of the log is attested and
        verified."""
        kept = self._kept.values()
        return {
            "anchor_queue": sum(not one.is_attested for one in kept),
            "anchor_attested_size": max((one.size for one in kept if one.is_attested), default=0),
            "anchor_verified_size": max((one.size for one in kept if one.state == VERIFIED), default=0),
        }

    def health(self) -> Check:
        """Without I/O. ``observed`` is the newest anchor's state, or ``off``."""
        if self._anchor.is_off:
            return self._anchor.health()
        newest = next(iter(self.status()), None)
        state = newest.state if newest is not None else None
        problems = self._problems()
        if problems:
            return Check(HEALTH, "warn", "; ".join(problems), observed=state)
        if newest is None:
            return Check(HEALTH, "pass", "no checkpoint is queued yet")
        return Check(HEALTH, "pass", f"entries below {newest.size:,}: {newest.say()}", newest.since, state)

    async def close(self) -> None:
        """End the work; what is under way is done again at the next start. Idempotent."""
        self._is_closed = True
        worker = self._worker
        if worker is not None and not worker.done():
            worker.cancel()
            await asyncio.wait({worker})

    # --- the worker -------------------------------------------------------------------------------

    def _work(self) -> asyncio.Task[None] | None:
        """The worker under way, begun now where there is none."""
        if self._is_closed or self._anchor.is_off:
            return None
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._round(), name="anchoring")
            self._worker.add_done_callback(_say_fault)
        return self._worker

    async def _round(self) -> None:
        problem = await _problem_of(self._queue_if_due())
        seen: set[str] = set()
        while len(seen) < STEPS_MAX and (status := self._next(seen)) is not None:
            seen.add(status.name)
            problem = await _problem_of(self._step(status)) or problem
            if self._critical is not None:  # came meanwhile
                problem = await _problem_of(self._queue_if_due()) or problem
        self._problem = problem

    def _next(self, seen: set[str]) -> AnchorStatus | None:
        """What is due: the newest that waits to be sent, then the others in their order."""
        now = self._clock.now()
        unseen = [one for one in self._kept.values() if one.name not in seen]
        due = [one for one in unseen if one.untold is not None or self._is_ripe(one, now)]
        return min(due, key=lambda one: (one.state not in _WAITING, one.next_at), default=None)

    def _is_ripe(self, status: AnchorStatus, now: datetime) -> bool:
        """Whether the service or the header source is to be asked about it now."""
        if status.service != self._anchor.name or status.state == VERIFIED:
            return False
        if status.state == ATTESTED and not self._anchor.verifies:
            return False
        left = (status.next_at - now).total_seconds()
        return not 0 < left <= 2 * ASK_MAX_S  # later than any wait of ours: the clock was set back

    async def _step(self, status: AnchorStatus) -> None:
        if self._is_ripe(status, self._clock.now()):
            if status.state in _WAITING:
                status = await self._submit(status)
            else:
                status = await self._go_on(status)
        await self._tell(status)

    # --- queueing ---------------------------------------------------------------------------------

    async def _queue_if_due(self) -> None:
        published = self._newest() or self._critical
        if published is None:
            return
        origin = _origin(published)
        if not self._wants(origin, published.size):
            return
        now = self._clock.now()
        status = AnchorStatus(
            service=self._anchor.name,
            state=QUEUED,
            origin=origin,
            size=published.size,
            digest=hashlib.sha256(published.note).hexdigest(),
            queued_at=now,
            since=now,
            next_at=now,
        )
        await self._save(status, note=published.note)
        self._last, self._own_leaves, self._critical = status, 0, None
        for old in self._superseded(status):
            await asyncio.to_thread(self._files.drop, old)
            self._kept.pop(old.name, None)

    def _wants(self, origin: str, size: int) -> bool:
        last = self._last
        if last is None:
            return size > 0
        if origin == last.origin and size <= last.size + self._own_leaves:
            return False
        passed = (self._clock.now() - last.queued_at).total_seconds()
        return not 0 <= passed < (NOW_SPACING_S if self._critical is not None else self._every_s)

    def _superseded(self, newest: AnchorStatus) -> list[AnchorStatus]:
        """What need not be kept beside ``newest``."""
        others = [one for one in self.status() if one.name != newest.name]
        waiting = [one for one in others if one.state in _WAITING]
        dropped = [one for one in waiting if one.origin == newest.origin]
        dropped += [one for one in waiting if one.origin != newest.origin][QUEUED_MAX - 1 :]
        taken = [one for one in others if one.state == PENDING]
        given_up = [one for one in taken if self._is_overdue(one) and self._is_covered(one)]
        dropped += given_up
        taken = [one for one in taken if one not in given_up]
        while len(taken) > TAKEN_MAX:
            dropped.append(taken.pop(_crowded(taken, newest.queued_at)))
        return dropped

    def _is_overdue(self, status: AnchorStatus) -> bool:
        return (self._clock.now() - status.queued_at).total_seconds() > ATTESTATION_PATIENCE_S

    def _is_covered(self, status: AnchorStatus) -> bool:
        """Whether a block holds a newer checkpoint of the same log."""
        return any(
            one.is_attested and one.origin == status.origin and one.size >= status.size
            for one in self._kept.values()
        )

    # --- steps ------------------------------------------------------------------------------------

    async def _submit(self, status: AnchorStatus) -> AnchorStatus:
        digest = bytes.fromhex(status.digest)
        try:
            await asyncio.to_thread(self._files.note, status)
        except NodeError as exc:  # a proof of a note that nobody has is worth nothing
            return await self._put_off(status, exc)
        try:
            receipt = await self._anchor.submit(digest)
            standing = await self._anchor.read(digest, receipt)
        except NodeError as exc:
            self._refused_since = self._refused_since or self._clock.now()
            state = SUBMITTED if isinstance(exc, Unanswered) else status.state
            return await self._put_off(self._entered(status, state), exc)
        self._refused_since = None
        return await self._settle(status, receipt, standing)

    async def _go_on(self, status: AnchorStatus) -> AnchorStatus:
        """Ask the service for more, where that is wanted; then, or else, hold what is there against a
        block."""
        digest = bytes.fromhex(status.digest)
        try:
            better = receipt = await asyncio.to_thread(self._files.receipt, status)
            standing = Standing(ATTESTED, status.height)
            if status.state == PENDING:
                better = await self._anchor.upgrade(digest, receipt)
                standing = await self._anchor.read(digest, better)
        except (NotFound, Rejected) as exc:
            log.warning("anchor %s begins anew: %s", status.name, exc)
            return await self._put_off(self._entered(status, QUEUED), exc)
        except NodeError as exc:
            return await self._put_off(status, exc)
        return await self._settle(status, better, standing, is_kept=better == receipt)

    async def _settle(
        self, status: AnchorStatus, receipt: bytes, standing: Standing, *, is_kept: bool = False
    ) -> AnchorStatus:
        """Keep the receipt, unless it is, with what it shows: held against a block header, where there is a
        source of them."""
        error: NodeError | None = None
        if standing.state == ATTESTED and self._anchor.verifies:
            try:
                standing = await self._anchor.verify(bytes.fromhex(status.digest), receipt)
            except Rejected as exc:
                error, standing = exc, Standing(PENDING, remark=str(exc))
            except NodeError as exc:
                error = exc
        if error is not None:
            log.warning("anchor %s is not verified: %s", status.name, error)
        status = replace(
            self._entered(status, standing.state),
            height=standing.height,
            block_hash=standing.block_hash,
            block_time=standing.block_time,
            error=standing.remark or (str(error) if error is not None else ""),
        )
        status = self._later(status)
        await self._save(status, receipt=None if is_kept else receipt)
        return status

    async def _put_off(self, status: AnchorStatus, cause: NodeError) -> AnchorStatus:
        """The state stays; the next look is later than the one before it was."""
        status = self._later(replace(status, error=str(cause)))
        await self._save(status)
        return status

    def _entered(self, status: AnchorStatus, state: str) -> AnchorStatus:
        if state == status.state:
            return status
        log.info("event=anchor size=%d state=%s", status.size, state)
        return replace(
            status,
            state=state,
            since=self._clock.now(),
            tries=0,
            error="",
            height=None,
            block_hash="",
            block_time=None,
        )

    def _later(self, status: AnchorStatus) -> AnchorStatus:
        """With another try counted, and the time of the next."""
        now = self._clock.now()
        if status.state == PENDING:
            age = (now - status.queued_at).total_seconds()
            wait = min(ASK_MAX_S, max(ASK_FIRST_S, ASK_SHARE * age))
        else:
            wait = min(RETRY_MAX_S, RETRY_FIRST_S * 2.0 ** min(status.tries, 10))
        wait *= 0.9 + 0.2 * self._clock.random()
        return replace(status, tries=status.tries + 1, next_at=now + timedelta(seconds=wait))

    async def _tell(self, status: AnchorStatus) -> None:
        """Enter into the log what it has not been told of this anchor."""
        while (state := status.untold) is not None:
            await self._report(
                AnchorState(
                    service=status.service,
                    state=state,
                    origin=status.origin,
                    size=status.size,
                    digest=bytes.fromhex(status.digest),
                    height=status.height if state != SUBMITTED else None,
                )
            )
            self._own_leaves += 1
            # Believed at once: a full disk must not have the same leaf written at every tick.
            status = self._kept[status.name] = replace(status, reported=state)
            await self._save(status)

    async def _save(
        self, status: AnchorStatus, *, note: bytes | None = None, receipt: bytes | None = None
    ) -> None:
        """Durable, then believed. Where the disk does not take it, the state before holds, and is left alone
        for a while."""
        try:  # a thread that goes on: two must never write one file
            await in_thread(partial(self._files.save, status, note=note, receipt=receipt))
        except Unavailable:
            if (before := self._kept.get(status.name)) is not None:
                self._kept[status.name] = self._later(before)
            raise
        self._kept[status.name] = status

    # --- what is known now ------------------------------------------------------------------------

    def _problems(self) -> list[str]:
        now = self._clock.now()
        found: list[str] = []
        if self._files.damaged:
            found.append(
                f"{len(self._files.damaged)} damaged anchors are passed over in {self._files.directory}: "
                f"{', '.join(self._files.damaged[:3])}"
            )
        if self._problem:
            found.append(self._problem)
        service = self._anchor.health()
        if service.status != "pass":
            found.append(service.output)
        kept = self.status()
        waiting = [one for one in kept if one.state in _WAITING]
        since = self._refused_since
        if waiting and since is not None and (now - since).total_seconds() > PATIENCE_S:
            when = f"{since:%Y-%m-%d %H:%M} UTC"
            found.append(f"no calendar has taken a checkpoint since {when}: {waiting[0].say()}")
        late = [one for one in kept if one.state == PENDING and self._is_overdue(one)]
        if late and not self._is_covered(late[-1]):
            found.append(f"no block holds the first {late[-1].size:,} entries yet: {late[-1].say()}")
        return found


def _crowded(newest_first: Sequence[AnchorStatus], now: datetime) -> int:
    """Which of three or more can be missed best: neither end, and where the gap that it leaves is smallest
    for its age. What is left then lies ever wider apart with age."""
    ages = [max(0.0, (now - one.queued_at).total_seconds()) for one in newest_first]
    return min(range(1, len(ages) - 1), key=lambda at: (ages[at + 1] - ages[at - 1]) / (ages[at + 1] + 1.0))


def _origin(published: Published) -> str:
    return published.note.split(b"\n", 1)[0].decode("utf-8", "replace")


async def _problem_of(work: Coroutine[None, None, None]) -> str:
    """Do it; what failed, for people, or nothing."""
    try:
        await work
    except NodeError as exc:
        log.warning("anchoring: %s", exc)
        return str(exc)
    return ""


def _say_fault(worker: asyncio.Task[None]) -> None:
    if not worker.cancelled() and (fault := worker.exception()) is not None:
        log.error("anchoring failed", exc_info=fault)
