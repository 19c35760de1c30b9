"""Commands in a thread of this process, for what only asks a node over HTTP: a process of its own costs a
second of processor time, and ``test_cli`` starts such."""

from __future__ import annotations

import asyncio
import contextlib
import io
from pathlib import Path

import pytest

from node.cli.main import main
from tests.faults.node_kit import Done, environ_of


async def run(*words: str, folder: Path) -> Done:
    """One command beside a node of the journeys; one at a time, for its output is the process's."""
    out, told = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()

    def typed() -> int:
        with (
            pytest.MonkeyPatch.context() as patch,
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(told),
        ):
            for name, value in environ_of(folder).items():
                patch.setenv(name, value)
            return main(words)

    status = await asyncio.to_thread(typed)
    out.flush()
    assert isinstance(out.buffer, io.BytesIO)
    return Done(status, out.buffer.getvalue(), told.getvalue())
