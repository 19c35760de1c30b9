"""The writer of one transparency log: entries in, a folder of tiles and signed checkpoints out.

Promises:
1. ``append`` returns the entry's index once it is in the journal, synced (``is_behind``: at once, and the
   entry is synced within some 50 ms). Appends that wait at the same time share one sync; each index is given
   once.
2. Entries are under a checkpoint soon after (``Pace``); while the clock is in doubt nothing is signed and
   they wait in the journal.
3. Two checkpoints of one log never disagree, over crashes, failing disks, clock jumps and restored folders:
   where that cannot be known nothing is signed and nothing appended (``suspended`` says why).
4. A failing disk loses nothing that was acknowledged. What cannot be published waits, bounded; then, and when
   the journal cannot be written, ``append`` raises ``Unavailable``.
5. Opening repairs what a crash leaves, says so in ``repair``, and refuses damage.

The folder is what is served: ``checkpoint``, ``tile/``, ``vkey``; ``journal/``, ``.staging/`` and ``.lock``
are the writer's own. Must not know: what entries mean, who reads the folder. State is changed on the event
loop only; the two threads (``committer``, ``schedule``) talk to it through ``call_soon_threadsafe``.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Generic, TypeVar

from node.audit.log.committer import Append, Committer, Compose, Outcome, Prepare, checked
from node.audit.log.opening import OpenFolder, Repair, open_folder
from node.audit.log.publisher import Published
from node.audit.log.schedule import Events, Job, Pace, Schedule
from node.audit.tlog.tiles import Tile
from node.core.clock import Clock
from node.core.errors import CorruptState, Misconfigured, NodeError, Unavailable
from node.core.files import DISK, Files
from node.core.model import Check
from node.core.record import time_us
from node.core.signed_note import Checkpoint, Signer

__all__ = ["Compose", "Pace", "Prepare", "Published", "Repair", "TileLog"]

QUEUE_ENTRIES_MAX = 4_096
QUEUE_BYTES_MAX = 16 * 2**20
UNPUBLISHED_ENTRIES_MAX = 65_536
UNPUBLISHED_BYTES_MAX = 64 * 2**20
USUAL = Pace()
_CLOSED = "the log is closed"
_T = TypeVar("_T")


class _Waiters(Generic[_T]):
    """Who waits until the log has reached a size."""

    def __init__(self) -> None:
        self._waiting: list[tuple[int, asyncio.Future[_T]]] = []

    def add(self, size: int) -> asyncio.Future[_T]:
        waiter: asyncio.Future[_T] = asyncio.get_running_loop().create_future()
        self._waiting.append((size, waiter))
        return waiter

    def leave(self, waiter: asyncio.Future[_T]) -> None:
        waiter.cancel()
        self._waiting = [one for one in self._waiting if one[1] is not waiter]

    def reached(self, size: int, result: _T) -> None:
        """Those who wait for no more than ``size`` entries go on."""
        self._go_on([waiter for wanted, waiter in self._waiting if wanted <= size], result)

    def give_up(self, beyond: int, result: _T) -> None:
        """Those who wait for more than ``beyond`` entries go on."""
        self._go_on([waiter for wanted, waiter in self._waiting if wanted > beyond], result)

    def _go_on(self, waiters: Sequence[asyncio.Future[_T]], result: _T) -> None:
        for waiter in waiters:
            _succeed(waiter, result)
        self._waiting = [one for one in self._waiting if not one[1].done()]

    def fail(self, problem: str) -> None:
        for _, waiter in self._waiting:
            _fail(waiter, Unavailable(problem))
        self._waiting = []


class TileLog:
    """One log folder, open for writing. Built by ``open``; all methods belong to one event loop."""

    def __init__(
        self,
        opened: OpenFolder,
        directory: Path,
        origin: str,
        clock: Clock,
        files: Files,
        pace: Pace,
        prepare: Prepare | None,
    ) -> None:
        self.origin = origin
        self.directory = directory
        self.repair = opened.repair
        self._clock = clock
        self._files = files
        self._lock = opened.lock
        self._is_behind = pace.is_behind
        self._loop = asyncio.get_running_loop()
        self._published = opened.publisher.published
        self._size = self._durable = opened.journal.size
        self._suspended = opened.suspended
        self._is_held = pace.is_held
        self._closed = ""  # why it takes nothing any more
        self._is_journal_closed = False
        self._is_let_go = False
        self._lost = 0
        self._queued = 0
        self._queued_bytes = 0
        self._unpublished: deque[tuple[int, int]] = deque()
        self._unpublished_bytes = 0
        self._note_unpublished(self._size, sum(map(len, opened.waiting)))
        self._problem = ""
        self._publish_problem = ""
        self._since: datetime | None = None
        self._callbacks: list[Callable[[Published], None]] = []
        self._when_published: _Waiters[Published | None] = _Waiters()
        self._when_durable: _Waiters[None] = _Waiters()
        self._schedule = Schedule(
            opened.publisher,
            opened.waiting,
            clock,
            pace,
            opened.suspended,
            Events(
                opened.journal.discard,
                partial(self._post, self._on_publication),
                partial(self._post, self._on_publish_failure),
                partial(self._post, self._on_suspension),
            ),
        )
        self._committer = Committer(
            opened.journal,
            is_behind=pace.is_behind,
            prepare=prepare,
            hand_over=self._schedule.hand_over,
            report=partial(self._post, self._settle),
        )

    @classmethod
    async def open(
        cls,
        directory: Path,
        origin: str,
        signers: Sequence[Signer],
        clock: Clock,
        *,
        high_water: Path,
        pace: Pace = USUAL,
        prepare: Prepare | None = None,
        files: Files | None = None,
    ) -> TileLog:
        """Open or create the log in ``directory``; what the journal holds is published before this returns.

        ``high_water`` is the path, outside of the folder, of the newest note that was signed. ``signers`` all
        sign each checkpoint. ``files`` is for tests.
        Raises ``CorruptState`` (damage, or another log's files), ``Unavailable`` (in use, cannot be read or
        written), ``Misconfigured``.
        """
        if not signers or any(one.verifier.name != origin for one in signers):
            raise Misconfigured(f"a log is signed by keys of its own name, {origin}")
        directory, disk = Path(directory), files or DISK
        try:
            opened = await asyncio.to_thread(
                open_folder, disk, directory, origin, signers, clock, Path(high_water)
            )
        except OSError as exc:
            raise Unavailable(f"the log in {directory} cannot be opened: {exc}") from exc
        log = cls(opened, directory, origin, clock, disk, pace, prepare)
        log._schedule.start()
        try:
            if not pace.is_held and not log._suspended:
                with contextlib.suppress(Unavailable):  # health tells, and it is tried again
                    await log.publish()
        except asyncio.CancelledError:
            await log.close()
            raise
        return log

    @property
    def published(self) -> Published | None:
        """The newest durable checkpoint."""
        return self._published

    @property
    def suspended(self) -> str:
        """Why nothing is signed and appended, or ""."""
        return self._suspended

    @property
    def is_held(self) -> bool:
        """Whether checkpoints wait for ``release``."""
        return self._is_held

    @property
    def unsigned(self) -> str:
        """Why no checkpoint is signed now though the disk may be well, or ""."""
        if self._suspended:
            return self._suspended
        if self._is_held:
            return "no checkpoint is signed before witnesses were asked"
        return "" if self._clock.doubt is None else "no checkpoint is signed while the clock is in doubt"

    def size(self) -> int:
        """Entries that have been acknowledged."""
        return self._size

    async def append(self, compose: Compose, attachment: bytes | None = None) -> int:
        """Add the entry that ``compose`` makes; returns its index (see promise 1).

        ``compose`` runs on the journal thread, or here with ``is_behind``; what it raises of ``NodeError``
        fails this append alone. Raises ``Unavailable`` (the disk, a full queue, suspended, closed),
        ``Rejected`` (too long). Cancelled, the entry may or may not be added.
        """
        begun = self.begin(compose, attachment)
        return begun if isinstance(begun, int) else await begun

    def begin(
        self, compose: Compose, attachment: bytes | None = None, at: datetime | None = None
    ) -> int | asyncio.Future[int]:
        """``append`` without the wait: the index, or what it will come from. ``at``: the time now, where the
        caller has looked at the clock."""
        self._check_accepts()
        time = time_us(at or self._clock.now())
        if self._is_behind:
            entry = checked(compose(self._size, time))
            self._queued_bytes += len(entry)
            index = self._size
            self._put(Append(lambda _index, _time: entry, attachment, time, None))
            self._size += 1
            return index
        waiter: asyncio.Future[int] = self._loop.create_future()
        self._put(Append(compose, attachment, time, waiter))
        return waiter

    async def publish(self) -> Published:
        """All that was acknowledged before this call is under a durable checkpoint when it returns.

        Raises ``Unavailable`` (held, suspended, the clock, closed, the disk).
        """
        await self.wait_durable(self._size - 1)
        published = await self._on_thread(self._schedule.publish)
        if published is None:
            raise Unavailable(self.unsigned or "no checkpoint was signed; try again")
        return published

    async def wait_durable(self, index: int) -> None:
        """Entries up to ``index`` are in the journal, synced, when this returns: with ``is_behind`` that is
        later than ``append``.

        Raises ``Unavailable``: there is no such entry, the next batch cannot be written (it is tried again),
        or the log has stopped without it.
        """
        if index < self._durable:
            return
        if index >= self._size:
            raise Unavailable(f"the log has no entry {index}")
        if self._is_journal_closed:
            raise Unavailable(self._problem)
        await self._when_durable.add(index + 1)

    async def wait_published(self, index: int, timeout_s: float) -> Published | None:
        """A durable checkpoint that covers the entry, asked for early.

        None if there is none in time, and at once where none can be expected: the log is held, suspended or
        closed, the clock is in doubt, or its last try to write has failed.
        """
        if self._published is not None and self._published.size > index:
            return self._published
        is_stuck = self.unsigned or self._closed or self._publish_problem
        if index >= self._size or is_stuck or (self._problem and index >= self._durable):
            return None
        waiter = self._when_published.add(index + 1)
        self._schedule.ask_soon()
        try:
            async with asyncio.timeout(timeout_s):
                return await waiter
        except TimeoutError:
            return None
        finally:
            self._when_published.leave(waiter)

    def on_published(self, callback: Callable[[Published], None]) -> None:
        """Call this on the event loop after each checkpoint that is written from now on."""
        self._callbacks.append(callback)

    async def set_signers(self, signers: Sequence[Signer]) -> None:
        """Key rotation: ``vkey`` names these keys, and a checkpoint signed by all of them is forced.

        One of them must have signed the newest checkpoint. Raises ``Misconfigured``, ``Unavailable``; after a
        failure of the disk the change holds and is written with the next checkpoint.
        """
        if not signers or any(one.verifier.name != self.origin for one in signers):
            raise Misconfigured(f"a log is signed by keys of its own name, {self.origin}")
        await self._on_thread(lambda: self._schedule.publisher.set_signers(signers))
        if not self._is_held:
            await self.publish()

    async def release(self, seen: Sequence[Checkpoint]) -> None:
        """End ``is_held``: ``seen`` are the newest checkpoints that witnesses and peers hold of this log.

        One that is ahead of this folder, or not of its tree, suspends the log. Raises ``Unavailable``.
        """
        await self._on_thread(lambda: self._schedule.release(seen))
        self._is_held = False
        if not self._suspended:
            await self.publish()

    async def add_cosignatures(self, note: bytes, *, is_enough: bool = False) -> None:
        """More signatures for the newest checkpoint: ``checkpoint`` is rewritten with them, if it is still
        that. Where they are enough by the policy the note is ``checkpoint.witnessed`` from now on.

        Raises ``Rejected`` (not a checkpoint of this log), ``Unavailable``.
        """
        await self._on_thread(lambda: self._schedule.publisher.cosign(note, is_enough=is_enough))

    async def rewrite(self, tiles: Mapping[Tile, bytes]) -> None:
        """Put these tiles, which were found damaged, in their places again, and with them the keys and the
        checkpoint. Raises ``Unavailable``."""
        await self._on_thread(lambda: self._schedule.publisher.rewrite(tiles))

    def health(self) -> Check:
        """pass; warn: no new checkpoints, entries wait; fail: no entries."""
        status, output = "pass", ""
        if self._closed:
            status, output = "fail", self._closed
        elif self._suspended or self._problem:
            status, output = "fail", self._suspended or self._problem
        elif self._is_backed_up():
            status, output = "fail", self._publish_problem or "too many entries wait for a checkpoint"
        elif self._publish_problem:
            status, output = "warn", f"{self._publish_problem}; entries are safe in the journal"
        elif unsigned := self.unsigned:
            status, output = "warn", f"{unsigned}; entries are safe in the journal"
        return Check("log", status, output, self._since, self._size, "entries")

    async def close(self) -> None:
        """Write and publish what is queued, then let go of the folder. What cannot be published stays in the
        journal, for the next ``open``.

        Raises ``Unavailable`` once if acknowledged entries (``is_behind``) could not be written.
        """
        if not self._closed:
            self._closed = _CLOSED
            self._committer.stop()
        await asyncio.to_thread(self._committer.join)
        self._schedule.stop()
        await asyncio.to_thread(self._schedule.join)
        if not self._is_let_go:
            self._is_let_go = True
            self._files.close(self._lock)
            self._when_durable.fail(_CLOSED)
            self._when_published.give_up(0, None)
        lost, self._lost = self._lost, 0
        if lost:
            raise Unavailable(f"{lost} acknowledged log entries could not be written: {self._problem}")

    # --- on the event loop ---

    def _check_accepts(self) -> None:
        if self._closed:
            raise Unavailable(self._closed)
        if self._suspended:
            raise Unavailable(self._suspended)
        if self._is_behind and self._problem:
            raise Unavailable(self._problem)
        if self._queued >= QUEUE_ENTRIES_MAX or self._queued_bytes >= QUEUE_BYTES_MAX:
            raise Unavailable("the log's queue is full")
        if self._is_backed_up():
            raise Unavailable(self._publish_problem or "too many log entries wait for a checkpoint")

    def _is_backed_up(self) -> bool:
        published = self._published.size if self._published else 0
        return (
            self._size - published >= UNPUBLISHED_ENTRIES_MAX
            or self._unpublished_bytes >= UNPUBLISHED_BYTES_MAX
        )

    def _put(self, append: Append) -> None:
        self._queued += 1
        self._committer.put(append)

    def _settle(self, outcome: Outcome) -> None:
        """A batch is durable, or has failed."""
        self._note(problem=outcome.problem)
        if outcome.is_kept:
            self._when_durable.fail(outcome.problem)
            self._when_published.give_up(self._durable, None)
            return
        if outcome.is_last:
            self._end(outcome)
            return
        self._queued -= len(outcome.accepted) + len(outcome.refused)
        for append, error in outcome.refused:
            _fail(append.token, error)
        if outcome.problem:
            for append in outcome.accepted:
                _fail(append.token, Unavailable(outcome.problem))
            return
        self._durable = outcome.first + len(outcome.accepted)
        self._note_unpublished(self._durable, outcome.bytes)
        if self._is_behind:
            self._queued_bytes -= outcome.bytes
        else:
            self._size = self._durable
            for index, append in enumerate(outcome.accepted, start=outcome.first):
                if isinstance(append.token, asyncio.Future):
                    _succeed(append.token, index)
        self._when_durable.reached(self._durable, None)

    def _end(self, outcome: Outcome) -> None:
        """The journal thread has ended, by ``close`` or unexpectedly."""
        self._is_journal_closed = True
        self._closed = self._closed or outcome.problem
        for append in [*outcome.accepted, *self._committer.left()]:
            self._lost += append.token is None
            _fail(append.token, Unavailable(outcome.problem))
        self._when_durable.fail(outcome.problem)
        self._when_published.give_up(self._durable, None)

    def _on_publication(self, published: Published) -> None:
        self._published = published
        self._note(publish_problem="")
        while self._unpublished and self._unpublished[0][0] <= published.size:
            self._unpublished_bytes -= self._unpublished.popleft()[1]
        self._when_published.reached(published.size, published)
        for callback in self._callbacks:
            callback(published)

    def _on_publish_failure(self, problem: str) -> None:
        self._note(publish_problem=problem)
        self._when_published.give_up(0, None)

    def _on_suspension(self, why: str) -> None:
        self._suspended = why
        self._since = self._clock.now()
        self._when_published.give_up(0, None)

    def _note(self, *, problem: str | None = None, publish_problem: str | None = None) -> None:
        was = bool(self._problem or self._publish_problem)
        self._problem = self._problem if problem is None else problem
        self._publish_problem = self._publish_problem if publish_problem is None else publish_problem
        if was != bool(self._problem or self._publish_problem):
            self._since = self._clock.now()

    def _note_unpublished(self, end: int, length: int) -> None:
        self._unpublished.append((end, length))
        self._unpublished_bytes += length

    async def _on_thread(self, work: Callable[[], _T]) -> _T:
        """Have the publisher thread do this.

        Raises what it raises of ``NodeError``, ``OSError`` translated.
        """
        if self._closed:
            raise Unavailable(self._closed)
        done: asyncio.Future[_T] = self._loop.create_future()

        def attempt() -> None:
            try:
                result = work()
            except OSError as exc:
                self._post(_fail, done, Unavailable(f"the log cannot be written: {exc.strerror or exc}"))
            except CorruptState as exc:
                self._post(_fail, done, Unavailable(str(exc)))
            except NodeError as exc:
                self._post(_fail, done, exc)
            else:
                self._post(_succeed, done, result)

        self._schedule.submit(Job(attempt, lambda why: self._post(_fail, done, Unavailable(why))))
        return await done

    def _post(self, call: Callable[..., None], *args: object) -> None:
        """From a thread: call this on the event loop."""
        with contextlib.suppress(RuntimeError):  # the loop is gone, and with it everybody who waited
            self._loop.call_soon_threadsafe(call, *args)


def _succeed(waiter: asyncio.Future[_T], result: _T) -> None:
    if not waiter.done():
        waiter.set_result(result)


def _fail(waiter: object, error: Exception) -> None:
    if isinstance(waiter, asyncio.Future) and not waiter.done():
        waiter.set_exception(error)
