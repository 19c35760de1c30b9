"""One SQLite file: one writer thread with group commit, a few reader threads, nothing on the event loop.

Promises: a ``write`` that returned is committed (and synced, with ``synchronous=FULL``); writes that wait
together share one transaction and one sync; a write that fails takes nothing else with it; both queues
are bounded and refuse at once with ``Unavailable``; sqlite3's errors never escape.
It knows nothing of what the tables mean: the stores hand in a schema and jobs over a connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import os
import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from node.core.errors import CorruptState, NodeError, Rejected, Unavailable

_log = logging.getLogger(__name__)

T = TypeVar("T")
Job: TypeAlias = Callable[[sqlite3.Connection], T]

BUSY_TIMEOUT_S = 5.0
BATCH_MAX = 256
"""Writes in one transaction: past this, what a sync costs each of them no longer shrinks noticeably."""
WAL_BYTES_MAX = 64 * 2**20
_SCRUBS_MAX = 3
CHECK_BYTES_MAX = 128 * 2**20
"""Up to this size a file is checked as a whole when opened (0.04 s for 80 MB, measured); above it damage
shows when a page is read, and every block is hashed again anyway."""

_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_REFUSED = {sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_MISMATCH}
_MAY_BE_ONE_ITEM = {
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_TOOBIG,
}


@dataclass(frozen=True, slots=True)
class Schema:
    """What a file has to hold. ``statements`` creates version ``version`` from nothing; ``upgrades`` has for
    each older version what turns it into the next one, inside a transaction that is not its own.
    ``synchronous`` is FULL for what is promised to somebody, NORMAL for what may be lost in a power cut."""

    name: str
    application_id: int
    version: int
    statements: str
    synchronous: str
    page_bytes: int
    upgrades: Mapping[int, Callable[[sqlite3.Connection], None]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Done:
    value: Any


@dataclass(frozen=True, slots=True)
class _Failed:
    error: NodeError


@dataclass(frozen=True, slots=True)
class _Waiting:
    job: Job[Any]
    future: asyncio.Future[Any]


def _primary_code(exc: sqlite3.Error) -> int:
    code: int = getattr(exc, "sqlite_errorcode", 0)
    return code & 0xFF


def _damaged(name: str, path: Path, exc: Exception) -> str:
    return (
        f"{path} is damaged or not a {name} ({exc}); stop the node, keep the file aside, "
        "and restore it from a backup or start without it"
    )


def _translate(exc: sqlite3.Error, name: str, path: Path) -> NodeError:
    """The error of ours that says what happened to which file, with ``exc`` as its cause."""
    code = _primary_code(exc)
    error: NodeError
    if code in _DAMAGED:
        error = CorruptState(_damaged(name, path, exc))
    elif code in _REFUSED:
        error = Rejected(f"the {name} refused a value: {exc}")
    else:
        error = Unavailable(f"the {name} {path} cannot be used now: {exc}")
    error.__cause__ = exc
    return error


class SqliteFile:
    """The file's connections and threads. Build with ``open`` inside a running event loop."""

    def __init__(
        self,
        path: Path,
        schema: Schema,
        *,
        queue_max: int,
        readers: int,
        after_commit: Job[None] | None = None,
        after_rollback: Callable[[], None] = lambda: None,
    ) -> None:
        self._path = path
        self._schema = schema
        self._after_commit = after_commit
        self._after_rollback = after_rollback
        self._queue_max = queue_max
        self._waiting: deque[_Waiting] = deque()
        self._drainer: asyncio.Task[None] | None = None
        self._closing: asyncio.Task[None] | None = None
        self._writer = ThreadPoolExecutor(1, thread_name_prefix=f"write-{path.name}")
        self._readers = ThreadPoolExecutor(readers, thread_name_prefix=f"read-{path.name}")
        self._reading = 0
        self._connection: sqlite3.Connection | None = None
        self._reader_connections: list[sqlite3.Connection] = []
        self._reader_local = threading.local()
        self._commits = 0

    @classmethod
    async def open(
        cls,
        path: Path,
        schema: Schema,
        *,
        queue_max: int = 1_024,
        readers: int = 2,
        after_commit: Job[None] | None = None,
        after_rollback: Callable[[], None] = lambda: None,
    ) -> SqliteFile:
        """Open or create the file (mode 0600). ``after_commit`` runs in the writer thread after each commit
        of writes, outside of a transaction and before those who wait hear of theirs; what it raises is
        logged. ``after_rollback`` runs there when the disk refused a whole transaction. Raises
        ``CorruptState`` for a damaged, foreign or newer file and ``Unavailable`` when the disk says no."""
        file = cls(
            path,
            schema,
            queue_max=queue_max,
            readers=readers,
            after_commit=after_commit,
            after_rollback=after_rollback,
        )
        opening = asyncio.get_running_loop().run_in_executor(file._writer, file._open)
        try:
            await asyncio.shield(opening)
        finally:
            if opening.cancelled() or not opening.done() or opening.exception() is not None:
                opening.add_done_callback(lambda _: file._abandon())
        return file

    @property
    def path(self) -> Path:
        return self._path

    @property
    def commits(self) -> int:
        """Transactions committed since the file was opened: shows how many writes share a sync."""
        return self._commits

    async def write(self, job: Job[T]) -> T:
        """Run ``job`` in the writer thread and return its value once it is committed.

        The job may be run a second time in a transaction of its own when the disk refuses a shared one: it
        has no effect outside the connection. Cancelled before it starts, it is skipped. Raises what the job
        raises of ``node.core.errors``, or ``Unavailable``, ``Rejected``, ``CorruptState``.
        """
        self._check_open()
        if len(self._waiting) >= self._queue_max:
            raise Unavailable(f"the {self._schema.name} has {self._queue_max} writes waiting already")
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(job, future))
        if self._drainer is None or self._drainer.done():
            self._drainer = asyncio.create_task(self._drain(), name=f"drain {self._path.name}")
        return await future

    async def read(self, job: Job[T]) -> T:
        """Run ``job`` on a read-only connection in a reader thread; it sees one state of the file."""
        return await self.offload(functools.partial(self._read, job))

    async def offload(self, work: Callable[[], T]) -> T:
        """Run ``work`` in a reader thread: for hashing and signature checks that would hold the loop."""
        self._check_open()
        if self._reading >= self._queue_max:
            raise Unavailable(f"the {self._schema.name} has {self._queue_max} reads waiting already")
        self._reading += 1
        run = asyncio.get_running_loop().run_in_executor(self._readers, work)
        run.add_done_callback(self._count_down)
        return await run

    async def scrub(self) -> None:
        """Merge the WAL into the file and empty it, so that it holds nothing of what was deleted. Raises
        ``Unavailable`` while a reader keeps it from that, which is rare and brief."""
        self._check_open()
        for _ in range(_SCRUBS_MAX):
            if await asyncio.get_running_loop().run_in_executor(self._writer, self._truncate_wal):
                return
        raise Unavailable(f"the {self._schema.name} {self._path} is being read; its WAL is emptied later")

    async def compact(self) -> None:
        """Write the file anew, so that nothing lies in it that no row holds; takes as long as copying it.
        Raises ``Unavailable``."""
        self._check_open()
        await asyncio.get_running_loop().run_in_executor(self._writer, self._vacuum)
        await self.scrub()

    async def close(self) -> None:
        """Finish the writes that wait, merge the WAL into the file, end the threads. Idempotent."""
        if self._closing is None:
            self._closing = asyncio.create_task(self._close(), name=f"close {self._path.name}")
        await asyncio.shield(self._closing)

    # --- on the event loop ------------------------------------------------------------------------

    def _check_open(self) -> None:
        if self._closing is not None:
            raise Unavailable(f"the {self._schema.name} is closed")

    def _count_down(self, _: asyncio.Future[Any]) -> None:
        self._reading -= 1

    async def _drain(self) -> None:
        """Hand what waits to the writer thread, batch after batch; while one syncs, the next one gathers."""
        loop = asyncio.get_running_loop()
        while self._waiting:
            batch: list[_Waiting] = []
            while self._waiting and len(batch) < BATCH_MAX:
                item = self._waiting.popleft()
                if not item.future.done():
                    batch.append(item)
            if not batch:
                continue
            run = loop.run_in_executor(self._writer, self._run_batch, [item.job for item in batch])
            try:
                await asyncio.wait({run})
                self._settle(batch, run)
            finally:
                for item in batch:
                    if not item.future.done():
                        item.future.cancel()

    @staticmethod
    def _settle(batch: Sequence[_Waiting], run: asyncio.Future[list[_Done | _Failed]]) -> None:
        fault = run.exception()
        for position, item in enumerate(batch):
            if item.future.done():
                continue
            if fault is not None:
                item.future.set_exception(fault)
                continue
            outcome = run.result()[position]
            if isinstance(outcome, _Done):
                item.future.set_result(outcome.value)
            else:
                item.future.set_exception(outcome.error)

    async def _close(self) -> None:
        if self._drainer is not None and not self._drainer.done():
            await asyncio.wait({self._drainer})
        await asyncio.get_running_loop().run_in_executor(self._writer, self._close_connections)
        self._writer.shutdown(wait=False)

    def _abandon(self) -> None:
        """After an open that failed or was not waited for: leave no thread and no connection."""
        self._writer.submit(self._close_connections)
        self._writer.shutdown(wait=False)

    # --- in the writer thread ---------------------------------------------------------------------

    def _connect(self, mode: str) -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"{self._path.absolute().as_uri()}?mode={mode}",
            uri=True,
            timeout=BUSY_TIMEOUT_S,
            isolation_level=None,
            check_same_thread=False,
        )
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA secure_delete = ON")  # what is deleted is overwritten in the file
        return connection

    def _open(self) -> None:
        try:
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        except PermissionError:
            if not self._path.exists():
                raise Unavailable(f"the {self._schema.name} {self._path} cannot be created") from None
        except OSError as exc:
            raise Unavailable(
                f"the {self._schema.name} {self._path} cannot be opened: {exc.strerror}"
            ) from exc
        try:
            connection = self._connection = self._connect("rw")
            self._prepare(connection)
        except sqlite3.Error as exc:
            raise _translate(exc, self._schema.name, self._path) from exc
        except UnicodeDecodeError as exc:  # of a message that quotes damaged statements
            raise CorruptState(_damaged(self._schema.name, self._path, exc)) from exc

    def _prepare(self, connection: sqlite3.Connection) -> None:
        schema = self._schema
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
        application = int(connection.execute("PRAGMA application_id").fetchone()[0])
        is_empty = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
        if is_empty and version == 0:
            connection.execute(f"PRAGMA page_size = {schema.page_bytes}")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(f"PRAGMA synchronous = {schema.synchronous}")
            connection.executescript(
                f"BEGIN IMMEDIATE; {schema.statements}; PRAGMA application_id = {schema.application_id}; "
                f"PRAGMA user_version = {schema.version}; COMMIT;"
            )
        elif application != schema.application_id:
            raise CorruptState(f"{self._path} is not a {schema.name}; move it away and start again")
        elif version > schema.version:
            raise CorruptState(
                f"{self._path} was written by a newer program (format {version}, this one knows "
                f"{schema.version}); run that program, or move the file away"
            )
        elif any(older not in schema.upgrades for older in range(version, schema.version)):
            raise CorruptState(f"{self._path} has the unknown format {version}; move it away and start again")
        else:
            connection.execute(f"PRAGMA synchronous = {schema.synchronous}")
            self._check_whole(connection)
            if version < schema.version:
                self._upgrade(connection, version)
        connection.execute(f"PRAGMA journal_size_limit = {WAL_BYTES_MAX}")
        # What a killed process, or an upgrade, left in the WAL; on a read-only disk it stays there.
        with contextlib.suppress(sqlite3.OperationalError):
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _upgrade(self, connection: sqlite3.Connection, version: int) -> None:
        """All steps in one transaction: killed half-way, the file is still of the old format."""
        connection.execute("BEGIN IMMEDIATE")
        try:
            for older in range(version, self._schema.version):
                self._schema.upgrades[older](connection)
            connection.execute(f"PRAGMA user_version = {self._schema.version}")
            connection.execute("COMMIT")
        finally:
            self._roll_back(connection)

    def _check_whole(self, connection: sqlite3.Connection) -> None:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        page_bytes = connection.execute("PRAGMA page_size").fetchone()[0]
        if pages * page_bytes > CHECK_BYTES_MAX:
            return
        found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if found != "ok":
            raise CorruptState(
                f"{self._path} is damaged ({str(found)[:200]}); stop the node, keep the file aside, "
                "and restore it from a backup or start without it"
            )

    def _vacuum(self) -> None:
        connection = self._connection
        assert connection is not None
        try:
            connection.execute("VACUUM")
        except sqlite3.Error as exc:
            raise _translate(exc, self._schema.name, self._path) from exc

    def _truncate_wal(self) -> bool:
        connection = self._connection
        assert connection is not None
        try:
            busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        except sqlite3.Error as exc:
            raise _translate(exc, self._schema.name, self._path) from exc
        return not busy

    def _run_batch(self, jobs: Sequence[Job[Any]]) -> list[_Done | _Failed]:
        """One transaction for all; if the disk refuses it as a whole, each job on its own."""
        connection = self._connection
        assert connection is not None
        try:
            return self._commit(connection, jobs)
        except sqlite3.Error as exc:
            self._roll_back(connection)
            self._after_rollback()
            if len(jobs) > 1 and _primary_code(exc) in _MAY_BE_ONE_ITEM:
                return [outcome for job in jobs for outcome in self._run_batch([job])]
            return [_Failed(_translate(exc, self._schema.name, self._path)) for _ in jobs]
        finally:
            self._roll_back(connection)

    def _commit(self, connection: sqlite3.Connection, jobs: Sequence[Job[Any]]) -> list[_Done | _Failed]:
        connection.execute("BEGIN IMMEDIATE")
        outcomes = [self._run_one(connection, job) for job in jobs]
        connection.execute("COMMIT")
        self._commits += 1
        self._tell(connection)
        return outcomes

    def _tell(self, connection: sqlite3.Connection) -> None:
        """The writes stand, whatever comes of this."""
        if self._after_commit is not None:
            try:
                self._after_commit(connection)
            except (sqlite3.Error, NodeError) as exc:
                _log.error("event=after_commit_failed file=%s reason=%s", self._path.name, exc)
            finally:
                self._roll_back(connection)

    def _run_one(self, connection: sqlite3.Connection, job: Job[Any]) -> _Done | _Failed:
        connection.execute("SAVEPOINT item")
        outcome: _Done | _Failed
        try:
            outcome = _Done(job(connection))
        except sqlite3.Error as exc:
            if not connection.in_transaction:
                raise  # a full disk or an I/O error has rolled back the whole transaction
            outcome = _Failed(_translate(exc, self._schema.name, self._path))
        except NodeError as exc:
            outcome = _Failed(exc)
        except (UnicodeEncodeError, OverflowError) as exc:
            refusal = Rejected(f"the {self._schema.name} cannot hold a value: {exc}")
            refusal.__cause__ = exc
            outcome = _Failed(refusal)
        if isinstance(outcome, _Failed):
            connection.execute("ROLLBACK TO item")
        connection.execute("RELEASE item")
        return outcome

    @staticmethod
    def _roll_back(connection: sqlite3.Connection) -> None:
        if connection.in_transaction:
            connection.execute("ROLLBACK")

    def _close_connections(self) -> None:
        self._readers.shutdown(wait=True)
        for connection in self._reader_connections:
            connection.close()
        self._reader_connections.clear()
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    # --- in a reader thread -----------------------------------------------------------------------

    def _read(self, job: Job[T]) -> T:
        try:
            connection: sqlite3.Connection | None = getattr(self._reader_local, "connection", None)
            if connection is None:
                connection = self._connect("ro")
                self._reader_local.connection = connection
                self._reader_connections.append(connection)
            connection.execute("BEGIN")
            try:
                return job(connection)
            finally:
                self._roll_back(connection)
        except sqlite3.Error as exc:
            raise _translate(exc, self._schema.name, self._path) from exc
        except (UnicodeEncodeError, OverflowError) as exc:
            raise Rejected(f"the {self._schema.name} cannot hold a value: {exc}") from exc
