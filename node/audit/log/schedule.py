"""The publisher thread of a log: when checkpoints are made.

Promises: a durable entry is under a checkpoint within ``every_s`` seconds, at once when ``at_entries`` wait,
and almost at once where somebody asks (``ask_soon``); what is put by ``submit`` is done next,
in order. After a failure the next try comes later and later, up to half a minute; entries go on waiting
meanwhile. An error that nobody expects ends it, says so (``stopped``), and fails every job, also later ones:
nobody waits for a thread that has gone. Must not know: the event loop (it posts through callables), how a
folder is written.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from node.audit.log.publisher import Published, Publisher
from node.core.clock import Clock
from node.core.errors import CorruptState
from node.core.signed_note import Checkpoint

SPACING_S = 0.02
"""Between two publications, where somebody waits for one: a verbose reply costs little more than the disk."""
RETRY_S = 0.25
RETRY_MAX_S = 30.0
DOUBT_LOOK_S = 0.5
"""How often it is looked whether the clock is believed again, which nobody tells this thread."""
_log = logging.getLogger("neuroswarm.log")


@dataclass(frozen=True, slots=True)
class Job:
    """Something for the thread: ``work`` is called there and catches what it expects; where it is not called,
    or breaks off, ``refuse`` is, on any thread, with the reason."""

    work: Callable[[], None]
    refuse: Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Events:
    """What the thread tells, by callables that may be called on it: entries up to a size need no journal any
    more; a checkpoint was written; one was not, and why; nothing is signed any more, and why."""

    discard: Callable[[int], None]
    published: Callable[[Published], None]
    failed: Callable[[str], None]
    stopped: Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Pace:
    """``is_behind``: appends do not wait for the disk. A checkpoint comes ``every_s`` seconds, or when
    ``at_entries`` wait for one; with ``is_held`` nothing is signed until ``release``."""

    is_behind: bool = False
    every_s: float = 1.0
    at_entries: int = 256
    is_held: bool = False


class Schedule:
    """Owns the publisher. State is changed on the thread, or under the lock where both sides do."""

    def __init__(
        self,
        publisher: Publisher,
        waiting: Sequence[bytes],
        clock: Clock,
        pace: Pace,
        suspended: str,
        events: Events,
    ) -> None:
        self.publisher = publisher
        self.is_held = pace.is_held
        self.suspended = suspended
        self._clock = clock
        self._every_s = pace.every_s
        self._at_entries = pace.at_entries
        self._events = events
        self._changed = threading.Condition()
        self._waiting: list[bytes] = list(waiting)
        self._jobs: deque[Job] = deque()
        self._ended = ""
        self._is_soon = False
        self._is_stopping = False
        self._failures = 0
        self._thread = threading.Thread(target=self._run, name="log-publisher", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def hand_over(self, entries: Sequence[bytes]) -> None:
        """Entries that are durable in the journal, in order."""
        with self._changed:
            was = len(self._waiting)
            self._waiting.extend(entries)
            if was == 0 or was < self._at_entries <= len(self._waiting):
                self._changed.notify()

    def submit(self, job: Job) -> None:
        """Do this on the thread, or refuse it, also after the thread has ended."""
        with self._changed:
            ended = self._ended
            if not ended:
                self._jobs.append(job)
                self._changed.notify()
        if ended:
            job.refuse(ended)

    def ask_soon(self) -> None:
        with self._changed:
            self._is_soon = True
            self._changed.notify()

    def stop(self) -> None:
        """Do the jobs, publish once more, end; ``join`` waits for that."""
        with self._changed:
            self._is_stopping = True
            self._changed.notify()

    def join(self) -> None:
        self._thread.join()

    # --- on the thread ---

    def publish(self) -> Published | None:
        """Try now; None while nothing may be signed: also while the clock is in doubt.

        Raises ``OSError`` and ``CorruptState``, after saying so.
        """
        if not self._may_sign():
            return None
        with self._changed:
            entries, self._waiting = self._waiting, []
            self._is_soon = False
        self.publisher.add(entries)
        if not self.publisher.is_behind():
            return self.publisher.published
        try:
            published = self.publisher.publish()
        except OSError as exc:
            self._failures += 1
            self._events.failed(f"no checkpoint can be written: {exc.strerror or exc}")
            raise
        except CorruptState as exc:
            self.suspend(str(exc))
            raise
        self._failures = 0
        self._events.published(published)
        with contextlib.suppress(OSError):  # tried again after the next checkpoint
            self._events.discard(published.size)
        return published

    def suspend(self, why: str) -> None:
        """Sign nothing any more."""
        self.suspended = why
        self._events.stopped(why)

    def release(self, seen: Sequence[Checkpoint]) -> None:
        """Sign from now on, unless one of these checkpoints is not of this tree: then ``suspend``.

        Raises ``OSError``, ``CorruptState``; then nothing has changed.
        """
        with self._changed:
            waiting = list(self._waiting)
        for checkpoint in seen:
            problem = self.publisher.compare(checkpoint, waiting)
            if problem:
                self.suspend(problem)
                return
        self.is_held = False

    def _run(self) -> None:
        why = "the log is closed"
        try:
            self._work()
        except BaseException as exc:  # noqa: BLE001 - logged; else a thread ends and nobody is told
            # Whatever it was (a signer without memory, a mistake of ours): the tree may have grown further
            # than the folder, so nothing is signed after it; opening anew starts from what is durable.
            why = f"the publisher has stopped: {type(exc).__name__} (see the program's log); restart the node"
            self.suspend(why)
            _log.exception("event=log_publisher_stopped")
        finally:
            self._end(why)

    def _end(self, why: str) -> None:
        with self._changed:
            self._ended = why
            refused = list(self._jobs)
            self._jobs.clear()
        for job in refused:
            job.refuse(why)

    def _work(self) -> None:
        rest = 0.0
        while True:
            job = self._next(rest)
            if job is not None:
                job.work()
                with self._changed:
                    self._jobs.popleft()  # not before: one that breaks off is refused with the others
                rest = 0.0
                continue
            with self._changed:
                is_last = self._is_stopping  # said before this publication, so it covers everything
            rest = self._try()
            if is_last:
                return

    def _try(self) -> float:
        """Publish; how long the disk is then left to the journal, however much waits."""
        began = self._clock.monotonic()
        try:
            self.publish()
        except (OSError, CorruptState):
            return float(min(RETRY_S * 2 ** min(self._failures, 10), RETRY_MAX_S))
        return min(self._clock.monotonic() - began, self._every_s)

    def _next(self, rest: float) -> Job | None:
        """Wait for the next thing to do: a job, or None for a publication."""
        spacing = min(SPACING_S, self._every_s)
        with self._changed:
            self._changed.wait_for(self._is_interrupted, rest)
            self._changed.wait_for(self._is_urgent, max(0.0, spacing - rest))
            while not (self._is_interrupted() or self._has_work()):
                self._changed.wait(None if self._clock.doubt is None else DOUBT_LOOK_S)
            if not self._failures:
                left = max(0.0, self._every_s - max(spacing, rest))
                self._changed.wait_for(lambda: self._is_urgent() or self._is_soon, left)
            return self._jobs[0] if self._jobs else None

    def _is_interrupted(self) -> bool:
        return bool(self._jobs) or self._is_stopping

    def _is_urgent(self) -> bool:
        return self._is_interrupted() or len(self._waiting) >= self._at_entries

    def _has_work(self) -> bool:
        return self._may_sign() and (bool(self._waiting) or self.publisher.is_behind())

    def _may_sign(self) -> bool:
        return not self.is_held and not self.suspended and self._clock.doubt is None
