"""Commands that are cut off: killed by SIGKILL before their k-th change of the disk.

A change is a call that makes, writes, renames or removes a file, and a transaction of SQLite that ends. Each
command runs in a process that is forked from a server which has imported the program, so that a hundred kills
take seconds.
"""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from node.core.files import Files
from tests.faults.kill_kit import die

_CALLS = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.truncate", "shutil.rmtree"}
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_PATIENCE_S = 120.0
_PROCESSES = multiprocessing.get_context("forkserver")
_PROCESSES.set_forkserver_preload(["tests.faults.cut_kit", "tests.faults.cut_preload"])


class Counted:
    """Counts the changes of this process below ``folder``, and dies before the one that is numbered
    ``last``."""

    def __init__(self, folder: Path, last: int) -> None:
        self.count = 0
        self._last = last
        self._below = str(folder)

    def start(self) -> None:
        sys.addaudithook(self._heard)
        sqlite3.connect = self._traced(sqlite3.connect)
        for name in ("write", "sync"):
            setattr(Files, name, self._before(getattr(Files, name)))

    def one(self) -> None:
        self.count += 1
        if self.count == self._last:
            die()

    def _heard(self, event: str, args: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = args
            if isinstance(flags, int) and flags & _WRITES and str(path).startswith(self._below):
                self.one()
        elif event in _CALLS and str(args[0]).startswith(self._below):
            self.one()

    def _said(self, statement: str) -> None:
        if statement.startswith(("COMMIT", "VACUUM", "PRAGMA wal_checkpoint")):
            self.one()

    def _traced(self, real: Callable[..., sqlite3.Connection]) -> Any:
        def connect(*args: Any, **more: Any) -> sqlite3.Connection:
            connection = real(*args, **more)
            connection.set_trace_callback(self._said)
            return connection

        return connect

    def _before(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **more: Any) -> Any:
            self.one()
            return real(*args, **more)

        return call


def _run(work: Callable[..., Any], folder: Path, args: tuple[Any, ...], last: int, tell: Any) -> None:
    counted = Counted(folder, last)
    counted.start()
    try:
        said = work(*args)
    except Exception as exc:  # handed to the test as it is
        said = exc
    tell.send((counted.count, said))
    tell.close()


def cut_off(work: Callable[..., Any], folder: Path, *args: Any, last: int = 0) -> tuple[int, Any] | None:
    """Run ``work(*args)`` in a process of its own that dies before the change ``last`` below ``folder``:
    None. Where it comes to its end: how many changes it made, and what it returned or raised."""
    hear, tell = _PROCESSES.Pipe(duplex=False)
    process = _PROCESSES.Process(target=_run, args=(work, folder, args, last, tell))
    process.start()
    tell.close()
    try:
        said: tuple[int, Any] | None = hear.recv() if hear.poll(_PATIENCE_S) else None
    except EOFError:
        said = None
    process.join(_PATIENCE_S)
    assert (process.exitcode == 0) == (said is not None), (process.exitcode, said)
    return said
