"""The writer of the decision log: one file, one writer thread, group commit.

Promises:
1. ``before_reply``: an append returns once its line is on disk (file synced). ``behind_50ms``: it returns at
   once with its index; the line is written and synced within some 50 ms (20 ms of gathering and one sync).
2. The commitment key of an entry is on disk before its line.
3. Appends that wait at the same time share one write and one sync.
4. A failed write is taken back, so that the file holds whole, chained lines whenever the disk allows it;
   the next append that succeeds goes on from there. In ``behind_50ms`` lines that already have an index are
   kept in memory and tried again, and new appends are refused meanwhile.
5. Valid lines are never rewritten. At opening the whole chain is checked: a half-written last line is cut,
   and an entry of kind ``repair`` says so; any other damage raises ``CorruptState`` and nothing is touched.

The format is in ``chain``; nothing here reads an entry's meaning. State that the event loop sees is changed
on the event loop only; the thread talks through one queue in and ``call_soon_threadsafe`` out.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import queue
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeAlias

from node.clock import Clock, random_bytes
from node.errors import CorruptState, Misconfigured, Rejected, Unavailable
from node.governance import chain
from node.governance.commitments import KeyTable, sync_directory, write_all
from node.governance.entry import repair_entry
from node.model import Check, Json
from node.ports import Appended

BEFORE_REPLY = "before_reply"
BEHIND_50MS = "behind_50ms"

BATCH_ENTRIES_MAX = 256
QUEUE_ENTRIES_MAX = 4_096
QUEUE_BYTES_MAX = 16 * 2**20
GATHER_S = 0.02
RETRY_S = 1.0
_READ_BYTES = 1 << 20
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def time_us(when: datetime) -> int:
    """Whole microseconds since 1970 UTC; 0 for a clock that is set before that."""
    return max(0, (when - _EPOCH) // timedelta(microseconds=1))


def sealed(entry: Mapping[str, Json], private_texts: Mapping[str, str]) -> tuple[bytes, bytes | None]:
    """The entry's canonical bytes with its commitments in it, and the fresh key they were made with.

    Raises ``Rejected``.
    """
    body = dict(entry)
    if chain.COMMITMENTS in body:
        raise Rejected(f"log: an entry may not bring its own {chain.COMMITMENTS}")
    if not private_texts:
        return chain.canonical(body), None
    key = random_bytes(chain.KEY_BYTES)
    body[chain.COMMITMENTS] = {name: chain.commitment(key, text) for name, text in private_texts.items()}
    return chain.canonical(body), key


@dataclass(frozen=True, slots=True)
class _Append:
    entry: bytes
    key: bytes | None
    time_us: int
    waiter: asyncio.Future[int] | None


@dataclass(frozen=True, slots=True)
class _Forget:
    index: int
    waiter: asyncio.Future[bool]


_Job: TypeAlias = _Append | _Forget


class ChainFile:
    """The files, blocking: what the writer thread owns. ``size`` and ``head`` speak of synced lines."""

    def __init__(self, path: Path, fd: int, keys: KeyTable, *, size: int, head: str, length: int) -> None:
        self.size = size
        self.head = head
        self._path = path
        self._fd = fd
        self._keys = keys
        self._length = length
        self._is_dirty = False

    @classmethod
    def open(cls, directory: Path, origin: str, keys: Path, now: datetime) -> ChainFile:
        """Open or create, check every line, repair the tail.

        Raises ``CorruptState``, ``Unavailable`` (in use), ``OSError``.
        """
        directory.mkdir(parents=True, exist_ok=True)
        path = directory / chain.FILE_NAME
        with contextlib.ExitStack() as undo:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            undo.callback(os.close, fd)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as exc:
                raise Unavailable(f"{path} is being written by another process") from exc
            sync_directory(directory)
            size, head, length = _check_lines(path, origin)
            table = KeyTable.open(keys, origin)
            undo.callback(table.close)
            bytes_cut = os.fstat(fd).st_size - length
            surplus = table.count() - size
            file = cls(path, fd, table, size=size, head=head, length=length)
            file._is_dirty = bytes_cut > 0
            file._restore()
            table.truncate(size)
            if surplus <= BATCH_ENTRIES_MAX:
                surplus = 0  # what one batch can leave when the process dies between keys and lines
            if bytes_cut or surplus:
                entry, _ = repair_entry(bytes_cut=bytes_cut, keys_without_entry=surplus)
                file.write([_Append(chain.canonical(entry), None, time_us(now), None)])
            undo.pop_all()
        return file

    def write(self, jobs: Sequence[_Append]) -> None:
        """Append and sync. Raises ``OSError``; then nothing of it counts and it is cut back when possible."""
        self._restore()
        lines: list[bytes] = []
        head = self.head
        for index, job in enumerate(jobs, start=self.size):
            line = chain.compose(job.entry, index=index, prev=head, time_us=job.time_us)
            head = chain.digest_of(line)
            lines.append(line + b"\n")
        data = b"".join(lines)
        self._keys.write(self.size, [job.key for job in jobs])
        self._is_dirty = True
        try:
            write_all(self._fd, data, self._length)
            os.fsync(self._fd)
        except OSError:
            with contextlib.suppress(OSError):  # tried again before the next write
                self._restore()
            raise
        self._is_dirty = False
        self._length += len(data)
        self.size += len(jobs)
        self.head = head

    def forget(self, index: int) -> bool:
        return self._keys.destroy(index) if 0 <= index < self.size else False

    def close(self) -> None:
        self._keys.close()
        os.close(self._fd)

    def _restore(self) -> None:
        """Cut off what a failed or interrupted write left.

        After a failed sync the kernel may take unwritten pages for clean: nothing of that write is relied on.
        """
        if self._is_dirty:
            os.ftruncate(self._fd, self._length)
            os.fsync(self._fd)
            self._is_dirty = False


def _check_lines(path: Path, origin: str) -> tuple[int, str, int]:
    """(entries, head, bytes of whole lines). Raises ``CorruptState`` naming file and entry."""
    index, head, length = 0, chain.genesis(origin), 0
    with path.open("rb", buffering=_READ_BYTES) as lines:
        while data := lines.readline(chain.LINE_BYTES_MAX + 1):
            whole = data.endswith(b"\n")
            if not whole and not _is_torn(data, lines.read, index, head):
                raise CorruptState(_damage(path, index, "the line has no proper end"))
            if not whole:
                break
            try:
                head = chain.in_place(chain.unframe(data[:-1]), index=index, prev=head).digest
            except Rejected as exc:
                hint = " (or the log belongs to another origin)" if index == 0 else ""
                raise CorruptState(_damage(path, index, f"{exc}{hint}")) from exc
            index += 1
            length += len(data)
    return index, head, length


def _is_torn(data: bytes, read: Callable[[int], bytes], index: int, head: str) -> bool:
    """Whether an unended last line is what a crash leaves, and not a whole line whose LF was exchanged."""
    while chunk := read(_READ_BYTES):
        if b"\n" in chunk:
            return False
    if data.endswith(b"\0"):
        return True
    try:
        chain.in_place(chain.unframe(data[:-1]), index=index, prev=head)
    except Rejected:
        return True
    return False


def _damage(path: Path, index: int, what: str) -> str:
    return (
        f"{path}: entry {index} is damaged: {what}. Nothing was changed. Restore the file from a copy, or "
        "move it and its key table away to begin a new log"
    )


class ChainLog:
    """``AuditLog`` over one chained file. Built by ``open``."""

    def __init__(self, file: ChainFile, origin: str, clock: Clock, *, durability: str) -> None:
        self._file = file
        self._origin = origin
        self._clock = clock
        self._is_behind = durability == BEHIND_50MS
        self._loop = asyncio.get_running_loop()
        self._queue: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._queued = 0
        self._queued_bytes = 0
        self._size = file.size
        self._durable = (file.size, file.head)
        self._failure = ""
        self._since: datetime | None = None
        self._is_closed = False
        self._lost = 0
        self._stopping = threading.Event()
        # A daemon: an exit without close() must end the process, as a kill would.
        self._thread = threading.Thread(target=self._run, name="decision-log", daemon=True)
        self._thread.start()

    @classmethod
    async def open(
        cls, directory: Path, origin: str, clock: Clock, *, durability: str = BEFORE_REPLY, keys: Path
    ) -> ChainLog:
        """Open or create the log in ``directory``; ``keys`` is its key table's path, outside of it.

        Reads and checks the whole chain. Raises ``CorruptState`` (damage, or another log's files),
        ``Unavailable`` (cannot be read or written, or is in use), ``Misconfigured``.
        """
        if durability not in (BEFORE_REPLY, BEHIND_50MS):
            raise Misconfigured(f"log.durability must be {BEFORE_REPLY} or {BEHIND_50MS}, not {durability!r}")
        if not origin or not origin.isascii() or any(char in origin for char in " +\n"):
            raise Misconfigured("a log's origin is ASCII text without spaces and plus signs")
        try:
            file = await asyncio.to_thread(ChainFile.open, Path(directory), origin, Path(keys), clock.now())
        except OSError as exc:
            raise Unavailable(f"the decision log in {directory} cannot be opened: {exc}") from exc
        return cls(file, origin, clock, durability=durability)

    @property
    def origin(self) -> str:
        return self._origin

    async def append(self, entry: Mapping[str, Json], *, private_texts: Mapping[str, str]) -> Appended:
        data, key = sealed(entry, private_texts)
        self._check_accepts(len(data))
        waiter = None if self._is_behind else self._loop.create_future()
        self._put(_Append(data, key, time_us(self._clock.now()), waiter), len(data))
        if waiter is not None:
            return Appended(self._origin, await waiter)
        index = self._size
        self._size += 1
        return Appended(self._origin, index)

    async def forget(self, index: int) -> bool:
        self._check_accepts(0)
        waiter: asyncio.Future[bool] = self._loop.create_future()
        self._put(_Forget(index, waiter), 0)
        return await waiter

    def size(self) -> int:
        """Entries that have been acknowledged."""
        return self._size

    def head(self) -> tuple[int, str]:
        """(entries on disk, SHA-256 of the last line): what an anchor or a checkpoint writes down."""
        return self._durable

    def health(self) -> Check:
        if self._is_closed:
            return Check("log", "fail", "the decision log is closed", self._since, self._size, "entries")
        if self._failure:
            return Check("log", "fail", self._failure, self._since, self._size, "entries")
        return Check("log", "pass", "", self._since, self._size, "entries")

    async def close(self) -> None:
        """Write and sync what is queued, then let go of the files.

        Raises ``Unavailable`` once if acknowledged entries (``behind_50ms``) could not be written.
        """
        if not self._is_closed:
            self._is_closed = True
            self._stopping.set()
            self._queue.put(None)
        await asyncio.to_thread(self._thread.join)
        lost, self._lost = self._lost, 0
        if lost:
            raise Unavailable(f"{lost} acknowledged log entries could not be written: {self._failure}")

    # --- on the event loop ---

    def _check_accepts(self, length: int) -> None:
        if self._is_closed:
            raise Unavailable("the decision log is closed")
        if self._is_behind and self._failure:
            raise Unavailable(self._failure)
        if self._queued >= QUEUE_ENTRIES_MAX or self._queued_bytes + length > QUEUE_BYTES_MAX:
            raise Unavailable("the decision log's queue is full")

    def _put(self, job: _Job, length: int) -> None:
        self._queued += 1
        self._queued_bytes += length
        self._queue.put(job)

    def _settle(self, jobs: Sequence[_Append], size: int, head: str, problem: str) -> None:
        """A batch is on disk, or (``problem``) has failed for good."""
        self._release(len(jobs), sum(len(job.entry) for job in jobs))
        self._note(problem)
        if not problem:
            self._durable = (size, head)
            if not self._is_behind:
                self._size = size
        for index, job in enumerate(jobs, start=size - len(jobs)):
            if job.waiter is not None and not job.waiter.done():
                if problem:
                    job.waiter.set_exception(Unavailable(problem))
                else:
                    job.waiter.set_result(index)

    def _settle_forget(self, job: _Forget, outcome: bool, problem: str) -> None:
        self._release(1, 0)
        if not job.waiter.done():
            if problem:
                job.waiter.set_exception(Unavailable(problem))
            else:
                job.waiter.set_result(outcome)

    def _release(self, entries: int, length: int) -> None:
        self._queued -= entries
        self._queued_bytes -= length

    def _note(self, problem: str) -> None:
        if bool(problem) != bool(self._failure):
            self._since = self._clock.now()
        self._failure = problem

    # --- on the writer thread ---

    def _run(self) -> None:
        """Take jobs, write them in batches, report. Waits are of real time: they only space the syncs."""
        waiting: deque[_Job] = deque()
        is_stopping = False
        is_failing = False
        try:
            while True:
                if not waiting and not is_stopping:
                    is_stopping = not _take(self._queue.get(), waiting)
                if self._is_behind and waiting:
                    self._stopping.wait(RETRY_S if is_failing else GATHER_S)
                while not is_stopping and len(waiting) < BATCH_ENTRIES_MAX:
                    try:
                        is_stopping = not _take(self._queue.get_nowait(), waiting)
                    except queue.Empty:
                        break
                is_failing = not self._work(waiting)
                if is_stopping and (is_failing or not waiting):
                    break
        finally:
            while not self._queue.empty():
                _take(self._queue.get(), waiting)
            self._abandon(waiting)
            with contextlib.suppress(OSError):  # every acknowledged line has been synced before
                self._file.close()

    def _work(self, waiting: deque[_Job]) -> bool:
        """Do what waits, in order; False when acknowledged lines are still waiting for the disk."""
        while waiting:
            first = waiting[0]
            if isinstance(first, _Forget):
                waiting.popleft()
                self._destroy(first)
                continue
            batch: list[_Append] = []
            for job in waiting:
                if isinstance(job, _Forget) or len(batch) == BATCH_ENTRIES_MAX:
                    break
                batch.append(job)
            problem = ""
            try:
                self._file.write(batch)
            except OSError as exc:
                problem = f"the decision log cannot be written: {exc.strerror or exc}"
            if problem and self._is_behind:
                self._report(self._note, problem)
                self._refuse_forgets(waiting, problem)
                return False
            for _ in batch:
                waiting.popleft()
            self._report(self._settle, batch, self._file.size, self._file.head, problem)
        return True

    def _destroy(self, job: _Forget) -> None:
        try:
            self._report(self._settle_forget, job, self._file.forget(job.index), "")
        except OSError as exc:
            problem = f"the log's key table cannot be written: {exc.strerror or exc}"
            self._report(self._settle_forget, job, False, problem)

    def _refuse_forgets(self, waiting: deque[_Job], problem: str) -> None:
        """An erasure must not wait unseen for a disk that may never come back."""
        kept = [job for job in waiting if isinstance(job, _Append)]
        for job in waiting:
            if isinstance(job, _Forget):
                self._report(self._settle_forget, job, False, problem)
        waiting.clear()
        waiting.extend(kept)

    def _abandon(self, waiting: deque[_Job]) -> None:
        """The thread ends: nobody may wait for it any longer."""
        self._lost = sum(isinstance(job, _Append) and job.waiter is None for job in waiting)
        self._refuse_forgets(waiting, "the decision log has stopped")
        rest = [job for job in waiting if isinstance(job, _Append)]
        if rest:
            self._report(self._give_up, rest)

    def _give_up(self, jobs: Sequence[_Append]) -> None:
        self._is_closed = True
        self._settle(jobs, self._size, "", self._failure or "the decision log has stopped")

    def _report(self, call: Callable[..., None], *args: object) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is gone, and with it everybody who waited
            self._loop.call_soon_threadsafe(call, *args)


def _take(job: _Job | None, waiting: deque[_Job]) -> bool:
    """Queue a job; False for the mark that ends the work."""
    if job is None:
        return False
    waiting.append(job)
    return True
