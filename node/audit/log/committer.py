"""The journal thread of a log: takes appends, writes them in batches with one sync each, reports.

Promises: entries get their indexes in the order of their appends; what is reported durable is in the journal,
its preparation (commitment keys) before it; an entry that cannot be composed fails alone. A batch that fails
is reported and forgotten, or, where its entries have their indexes already (``is_behind``), kept and tried
again. The last outcome says why nothing is written any more. Must not know: the event loop (it posts outcomes
through one callable), what entries mean.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TypeAlias

from node.audit.log.journal import FRAME_ENTRIES_MAX, Journal
from node.audit.tlog.tiles import ENTRY_BYTES_MAX
from node.core.errors import NodeError, Rejected

Compose: TypeAlias = Callable[[int, int], bytes]
"""(index, microseconds since 1970 UTC) → the entry's bytes. Called once for each index that it is given."""

Prepare: TypeAlias = Callable[[int, Sequence[bytes | None]], None]
"""(first index, an attachment for each entry): what must be durable before the entries are.

Raises ``OSError``.
"""

GATHER_S = 0.02
GATHER_SHARED_S = 0.001
RETRY_S = 1.0
STOPPED = "the log has stopped"
_log = logging.getLogger("neuroswarm.log")


@dataclass(slots=True, eq=False)
class Append:
    """One entry on its way; ``token`` is whatever the sender knows it by."""

    compose: Compose
    attachment: bytes | None
    time_us: int
    token: object


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a batch: ``accepted`` have the indexes from ``first`` on and are durable, or ``problem``
    says why not; ``refused`` never became entries."""

    accepted: list[Append]
    first: int
    bytes: int
    refused: list[tuple[Append, NodeError]] = field(default_factory=list)
    problem: str = ""
    is_kept: bool = False
    """Whether the batch is tried again."""
    is_last: bool = False
    """Whether the thread ends with it; then ``accepted`` is what could not be written any more."""


def checked(entry: bytes) -> bytes:
    """The entry, if a bundle can hold it. Raises ``Rejected``."""
    if len(entry) > ENTRY_BYTES_MAX:
        raise Rejected(f"a log entry has at most {ENTRY_BYTES_MAX} bytes, not {len(entry)}")
    return entry


class Committer:
    """Owns the journal's ``write``.

    ``hand_over`` gets entries as soon as they are durable, before ``report``.
    """

    def __init__(
        self,
        journal: Journal,
        *,
        is_behind: bool,
        prepare: Prepare | None,
        hand_over: Callable[[list[bytes]], None],
        report: Callable[[Outcome], None],
    ) -> None:
        self._journal = journal
        self._is_behind = is_behind
        self._prepare = prepare
        self._hand_over = hand_over
        self._report = report
        self._queue: queue.SimpleQueue[Append | None] = queue.SimpleQueue()
        self._stopping = threading.Event()
        self._reason = ""  # what the first of the batches said that have failed since one was written
        # A daemon: an exit without close() must end the process, as a kill would.
        self._thread = threading.Thread(target=self._run, name="log-journal", daemon=True)
        self._thread.start()

    def put(self, append: Append) -> None:
        self._queue.put(append)

    def stop(self) -> None:
        """Write what is queued, then end; ``join`` waits for that."""
        self._stopping.set()
        self._queue.put(None)

    def join(self) -> None:
        self._thread.join()

    def left(self) -> list[Append]:
        """What was put after the last outcome was made, and will not be written."""
        waiting: deque[Append] = deque()
        while not self._queue.empty():
            _take(self._queue.get(), waiting)
        return list(waiting)

    def _run(self) -> None:
        waiting: deque[Append] = deque()
        try:
            self._work_on(waiting)
        except BaseException as exc:  # noqa: BLE001 - logged; else a thread ends and nobody is told
            # Whatever it was (no memory, a mistake in ``compose``): the journal may have a part of the batch,
            # so nothing is written behind it.
            self._reason = f"{type(exc).__name__} (see the program's log); restart the node"
            _log.exception("event=log_journal_stopped")
        finally:
            problem = f"{STOPPED}: {self._reason}" if self._reason else STOPPED
            self._report(Outcome(list(waiting), self._journal.size, 0, problem=problem, is_last=True))
            self._journal.close()

    def _work_on(self, waiting: deque[Append]) -> None:
        """Until ``stop``. Waits are of real time: they only space the syncs."""
        is_failing = was_shared = False
        while True:
            if not waiting:
                _take(self._queue.get(), waiting)
            if self._is_behind and waiting:
                self._stopping.wait(RETRY_S if is_failing else GATHER_S)
            elif was_shared:  # those that waited together are about to come again, one after the other
                self._stopping.wait(GATHER_SHARED_S)
            while len(waiting) < FRAME_ENTRIES_MAX:
                try:
                    _take(self._queue.get_nowait(), waiting)
                except queue.Empty:
                    break
            was_shared = len(waiting) > 1
            is_failing = bool(waiting) and not self._work(waiting)
            if self._stopping.is_set() and self._queue.empty() and (is_failing or not waiting):
                return

    def _work(self, waiting: deque[Append]) -> bool:
        """Write a batch; False when it stays in ``waiting``."""
        batch = list(islice(waiting, FRAME_ENTRIES_MAX))  # they leave when their outcome is reported
        first = self._journal.size
        accepted: list[Append] = []
        entries: list[bytes] = []
        refused: list[tuple[Append, NodeError]] = []
        for append in batch:
            try:
                entries.append(checked(append.compose(first + len(entries), append.time_us)))
                accepted.append(append)
            except NodeError as exc:
                refused.append((append, exc))
        problem = ""
        try:
            if entries:
                if self._prepare is not None:
                    self._prepare(first, [one.attachment for one in accepted])
                self._journal.write(entries)
                self._reason = ""
        except OSError as exc:
            problem = f"the log cannot be written: {exc.strerror or exc}"
            self._reason = self._reason or exc.strerror or str(exc)
        is_kept = bool(problem) and self._is_behind
        if entries and not problem:
            self._hand_over(entries)
        length = 0 if problem else sum(map(len, entries))
        self._report(Outcome(accepted, first, length, refused, problem, is_kept))
        if not is_kept:
            for _ in batch:
                waiting.popleft()
        return not is_kept


def _take(append: Append | None, waiting: deque[Append]) -> None:
    """Queue an append; None only wakes."""
    if append is not None:
        waiting.append(append)
