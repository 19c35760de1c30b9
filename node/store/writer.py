"""One SQLite file: one writer thread with group commit, a few reader threads, nothing on the event loop.

Promises: a ``write`` that returned is committed (and synced, with ``synchronous=FULL``); writes that wait
together share one transaction and one sync; a write that fails takes nothing else with it; both queues
are bounded and refuse at once with ``Unavailable``; sqlite3's errors never escape.
It knows nothing of what the tables mean: the stores hand in a schema and jobs over a connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeAlias, TypeVar

from node.core.errors import CorruptState, Damaged, NodeError, Rejected, Unavailable
from node.store.disk_trouble import CHECK_BYTES_MAX, DiskTrouble, disorder, is_damage, primary_code, said_of
from node.store.schema import Schema as Schema

_log = logging.getLogger(__name__)

T = TypeVar("T")
P = ParamSpec("P")
Job: TypeAlias = Callable[[sqlite3.Connection], T]
Values: TypeAlias = Sequence[Any] | Mapping[str, Any]
"""What a statement is run with, by place or by name."""

BUSY_TIMEOUT_S = 5.0
BATCH_MAX = 256
"""Writes in one transaction: past this, what a sync costs each of them no longer shrinks noticeably."""
WAL_BYTES_MAX = 64 * 2**20
_SCRUBS_MAX = 3
TRY_AGAIN_S = 5.0
"""How often a file is tried of which the disk has refused something."""

_REFUSED = {sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_MISMATCH}
_MAY_BE_ONE_ITEM = {
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_TOOBIG,
}


@dataclass(frozen=True, slots=True)
class Hooks:
    """``after_commit`` runs in the writer thread after each commit of writes, outside of a transaction and
    before those who wait hear of theirs; what it raises is logged. ``after_rollback`` runs there when the
    disk refused a whole transaction. ``prepare`` is given the writer's connection once it is open."""

    after_commit: Job[None] | None = None
    prepare: Job[None] | None = None
    after_rollback: Callable[[], None] = lambda: None


def insert(table: str, row: Mapping[str, Any]) -> str:
    """The statement that writes a row of these columns, by name."""
    return f"INSERT INTO {table} ({', '.join(row)}) VALUES ({', '.join(f':{name}' for name in row)})"


@dataclass(frozen=True, slots=True)
class _Outcome:
    value: Any = None
    error: BaseException | None = None


@dataclass(frozen=True, slots=True)
class _Waiting:
    job: Job[Any]
    future: asyncio.Future[Any]


def _damaged(path: Path, what: str) -> Damaged:
    return Damaged(
        f"{path} is {what}; leave it where it is, stop the node and type: neuroswarm doctor --fix (which "
        "keeps the damaged file and brings back what is whole in it)"
    )


def _settle(batch: Sequence[_Waiting], run: asyncio.Future[list[_Outcome]]) -> None:
    fault = run.exception()
    outcomes = run.result() if fault is None else [_Outcome(error=fault)] * len(batch)
    for item, outcome in zip(batch, outcomes, strict=True):
        if item.future.done():
            continue
        if outcome.error is None:
            item.future.set_result(outcome.value)
        else:
            item.future.set_exception(outcome.error)


def _roll_back(connection: sqlite3.Connection) -> None:
    if connection.in_transaction:
        connection.execute("ROLLBACK")


class SqliteFile:
    """The file's connections and threads. Build with ``open`` inside a running event loop."""

    def __init__(
        self,
        path: Path,
        schema: Schema,
        *,
        queue_max: int,
        readers: int,
        hooks: Hooks,
    ) -> None:
        self.path = path
        self._schema = schema
        self._hooks = hooks
        self._queue_max = queue_max
        self._waiting: deque[_Waiting] = deque()
        self._drainer: asyncio.Task[None] | None = None
        self._closing: asyncio.Task[None] | None = None
        self._trying: asyncio.Task[None] | None = None
        self._writer = ThreadPoolExecutor(1, thread_name_prefix=f"write-{path.name}")
        self._readers = ThreadPoolExecutor(readers, thread_name_prefix=f"read-{path.name}")
        self._reading = 0
        self._connection: sqlite3.Connection | None = None
        self._reader_connections: list[sqlite3.Connection] = []
        self._reader_local = threading.local()
        self.commits = 0
        """Transactions since the file was opened: shows how many writes share a sync."""
        self.trouble = DiskTrouble(path)
        self.on_damage: Callable[[], None] = lambda: None
        """Called in whatever thread meets a damaged page; must not raise."""

    @classmethod
    async def open(
        cls,
        path: Path,
        schema: Schema,
        *,
        queue_max: int = 1_024,
        readers: int = 2,
        hooks: Hooks | None = None,
    ) -> SqliteFile:
        """Open or create the file (mode 0600). Raises ``CorruptState`` for a damaged, foreign or newer file
        and ``Unavailable`` when the disk says no."""
        file = cls(path, schema, queue_max=queue_max, readers=readers, hooks=hooks or Hooks())
        opening = asyncio.get_running_loop().run_in_executor(file._writer, file._open)
        try:
            await asyncio.shield(opening)
        finally:
            if opening.cancelled() or not opening.done() or opening.exception() is not None:
                opening.add_done_callback(lambda _: file._abandon())
        return file

    async def write(
        self, job: Callable[Concatenate[sqlite3.Connection, P], T], *args: P.args, **more: P.kwargs
    ) -> T:
        """Run ``job`` over the connection in the writer thread; its value once it is committed.

        The job may be run a second time in a transaction of its own when the disk refuses a shared one: it
        has no effect outside the connection. Cancelled before it starts, it is skipped. Raises what the job
        raises of ``node.core.errors``, or ``Unavailable``, ``Rejected``, ``CorruptState``.
        """
        self._check_open()
        if len(self._waiting) >= self._queue_max:
            raise Unavailable(f"the {self._schema.name} has {self._queue_max} writes waiting already")
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(lambda connection: job(connection, *args, **more), future))
        if self._drainer is None or self._drainer.done():
            self._drainer = asyncio.create_task(self._drain(), name=f"drain {self.path.name}")
        return await future

    async def read(
        self, job: Callable[Concatenate[sqlite3.Connection, P], T], *args: P.args, **more: P.kwargs
    ) -> T:
        """Run ``job`` over a read-only connection in a reader thread; it sees one state of the file."""
        return await self.offload(lambda: self._read(lambda connection: job(connection, *args, **more)))

    async def rows(self, statement: str, values: Values = ()) -> list[sqlite3.Row]:
        """All rows that one statement finds."""
        return await self.read(lambda connection: connection.execute(statement, values).fetchall())

    async def row(self, statement: str, values: Values = ()) -> sqlite3.Row | None:
        """The first row that one statement finds, if any."""
        return await self.read(lambda connection: connection.execute(statement, values).fetchone())

    async def run(self, statement: str, values: Values = ()) -> int:
        """Run one statement as ``write`` does; how many rows it changed."""
        return await self.write(lambda connection: connection.execute(statement, values).rowcount)

    async def keep_newest(self, table: str, row: Mapping[str, Any], most: int) -> None:
        """Write a row into a table that numbers its rows (``number``) and forget all but the newest
        ``most``."""
        statement = f"{insert(table, row)} RETURNING number".replace("INSERT", "INSERT OR REPLACE", 1)

        def job(connection: sqlite3.Connection) -> None:
            [number] = connection.execute(statement, row).fetchone()
            connection.execute(f"DELETE FROM {table} WHERE number <= ?", (number - most,))

        await self.write(job)

    def read_here(self, job: Job[T]) -> T:
        """``read`` in the caller's own thread, which is not the event loop's."""
        self._check_open()
        return self._read(job)

    async def offload(self, work: Callable[[], T]) -> T:
        """Run ``work`` in a reader thread: for hashing and signature checks that would hold the loop."""
        self._check_open()
        if self._reading >= self._queue_max:
            raise Unavailable(f"the {self._schema.name} has {self._queue_max} reads waiting already")
        self._reading += 1
        run = asyncio.get_running_loop().run_in_executor(self._readers, work)
        run.add_done_callback(self._end_read)
        return await run

    def _end_read(self, _: asyncio.Future[Any]) -> None:
        self._reading -= 1
        self._follow_trouble()

    def passed_over(self, exc: Exception) -> None:
        """A read went on without what could not be read: it is told, and tried again."""
        if isinstance(exc, sqlite3.Error):
            self.trouble.unread(exc)
            self._follow_trouble()
        self.on_damage()

    async def scrub(self) -> None:
        """Merge the WAL into the file and empty it, so that it holds nothing of what was deleted. Raises
        ``Unavailable`` while a reader keeps it from that, which is rare and brief."""
        self._check_open()
        for _ in range(_SCRUBS_MAX):
            [busy, *_] = await self._alone("PRAGMA wal_checkpoint(TRUNCATE)")
            if not busy:
                return
        raise Unavailable(f"the {self._schema.name} {self.path} is being read; its WAL is emptied later")

    async def compact(self) -> None:
        """Write the file anew, so that nothing lies in it that no row holds; takes as long as copying it.
        Raises ``Unavailable``."""
        self._check_open()
        await self._alone("VACUUM")
        await self.scrub()

    async def close(self) -> None:
        """Finish the writes that wait, merge the WAL into the file, end the threads. Idempotent."""
        if self._closing is None:
            self._closing = asyncio.create_task(self._close(), name=f"close {self.path.name}")
        await asyncio.shield(self._closing)

    def _translated(self, exc: sqlite3.Error) -> NodeError:
        """The error of ours that says what happened to which file, with ``exc`` as its cause."""
        name = self._schema.name
        if is_damage(exc):
            self.on_damage()
            error: NodeError = _damaged(self.path, f"damaged or not a {name} ({said_of(exc)})")
        elif primary_code(exc) in _REFUSED:
            error = Rejected(f"the {name} refused a value: {exc}")
        else:
            error = Unavailable(f"the {name} {self.path} cannot be used now: {exc}")
        error.__cause__ = exc
        return error

    # --- on the event loop ------------------------------------------------------------------------

    def _check_open(self) -> None:
        if self._closing is not None:
            raise Unavailable(f"the {self._schema.name} is closed")

    async def _alone(self, statement: str) -> Sequence[Any]:
        """Run a statement in the writer thread, outside of a transaction; the row that it gives."""

        def job() -> Sequence[Any]:
            assert self._connection is not None
            try:
                return self._connection.execute(statement).fetchone() or ()
            except sqlite3.Error as exc:
                raise self._translated(exc) from exc

        return await asyncio.get_running_loop().run_in_executor(self._writer, job)

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
                _settle(batch, run)
                self._follow_trouble()
            finally:
                for item in batch:
                    if not item.future.done():
                        item.future.cancel()

    def _follow_trouble(self) -> None:
        """Where the disk has refused something, try again until it does not, also where nobody asks."""
        if self.trouble and (self._trying is None or self._trying.done()) and self._closing is None:
            self._trying = asyncio.create_task(self._try_again(), name=f"try {self.path.name}")

    async def _try_again(self) -> None:
        assert self._connection is not None
        while self.trouble:
            await asyncio.sleep(TRY_AGAIN_S)
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(self._writer, self.trouble.try_again, self._connection)

    async def _close(self) -> None:
        if self._trying is not None:
            self._trying.cancel()
            await asyncio.wait({self._trying})
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
            f"{self.path.absolute().as_uri()}?mode={mode}",
            uri=True,
            timeout=BUSY_TIMEOUT_S,
            isolation_level=None,
            check_same_thread=False,
        )
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA secure_delete = ON")  # what is deleted is overwritten in the file
        return connection

    def _open(self) -> None:
        try:
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        except PermissionError:
            if not self.path.exists():
                raise Unavailable(f"the {self._schema.name} {self.path} cannot be created") from None
        except OSError as exc:
            raise Unavailable(
                f"the {self._schema.name} {self.path} cannot be opened: {exc.strerror}"
            ) from exc
        try:
            connection = self._connection = self._connect("rw")
            self._prepare(connection)
            if self._hooks.prepare is not None:
                self._hooks.prepare(connection)
        except sqlite3.Error as exc:
            raise self._translated(exc) from exc
        except UnicodeDecodeError as exc:  # of a message that quotes damaged statements
            raise _damaged(self.path, f"damaged or not a {self._schema.name} ({exc})") from exc

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
            names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master")]
            if schema.may_be_ours(application, names):
                raise _damaged(self.path, f"a {schema.name} whose header is damaged")
            raise CorruptState(f"{self.path} is not a {schema.name}; move it away and start again")
        elif version > schema.version:
            raise CorruptState(
                f"{self.path} was written by a newer program (format {version}, this one knows "
                f"{schema.version}); run that program, or move the file away"
            )
        elif any(older not in schema.upgrades for older in range(version, schema.version)):
            raise CorruptState(f"{self.path} has the unknown format {version}; move it away and start again")
        else:
            connection.execute(f"PRAGMA synchronous = {schema.synchronous}")
            if found := disorder(connection, CHECK_BYTES_MAX):
                raise _damaged(self.path, f"damaged ({found})")
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
            _roll_back(connection)

    def _run_batch(self, jobs: Sequence[Job[Any]]) -> list[_Outcome]:
        """One transaction for all; if the disk refuses it as a whole, each job on its own."""
        connection = self._connection
        assert connection is not None
        try:
            return self._commit(connection, jobs)
        except sqlite3.Error as exc:
            _roll_back(connection)
            self._hooks.after_rollback()
            if len(jobs) > 1 and primary_code(exc) in _MAY_BE_ONE_ITEM:
                return [outcome for job in jobs for outcome in self._run_batch([job])]
            self.trouble.refused(len(jobs), exc)
            return [_Outcome(error=self._translated(exc)) for _ in jobs]
        finally:
            _roll_back(connection)

    def _commit(self, connection: sqlite3.Connection, jobs: Sequence[Job[Any]]) -> list[_Outcome]:
        changes = connection.total_changes
        connection.execute("BEGIN IMMEDIATE")
        outcomes = [self._run_one(connection, job) for job in jobs]
        connection.execute("COMMIT")
        self.commits += 1
        if connection.total_changes != changes:
            self.trouble.written()
        self._tell(connection)
        return outcomes

    def _tell(self, connection: sqlite3.Connection) -> None:
        """The writes stand, whatever comes of this."""
        if self._hooks.after_commit is not None:
            try:
                self._hooks.after_commit(connection)
            except (sqlite3.Error, NodeError) as exc:
                _log.error("event=after_commit_failed file=%s reason=%s", self.path.name, exc)
            finally:
                _roll_back(connection)

    def _run_one(self, connection: sqlite3.Connection, job: Job[Any]) -> _Outcome:
        connection.execute("SAVEPOINT item")
        try:
            outcome = _Outcome(job(connection))
        except sqlite3.Error as exc:
            if not connection.in_transaction:
                raise  # a full disk or an I/O error has rolled back the whole transaction
            self.trouble.failed(exc)
            outcome = _Outcome(error=self._translated(exc))
        except NodeError as exc:
            outcome = _Outcome(error=exc)
        except (UnicodeEncodeError, OverflowError) as exc:
            refusal = Rejected(f"the {self._schema.name} cannot hold a value: {exc}")
            refusal.__cause__ = exc
            outcome = _Outcome(error=refusal)
        if outcome.error is not None:
            connection.execute("ROLLBACK TO item")
        connection.execute("RELEASE item")
        return outcome

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
                _roll_back(connection)
        except sqlite3.Error as exc:
            self.trouble.unread(exc)
            raise self._translated(exc) from exc
        except (UnicodeEncodeError, OverflowError) as exc:
            raise Rejected(f"the {self._schema.name} cannot hold a value: {exc}") from exc
