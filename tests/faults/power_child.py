"""The process behind ``python -m bench.power_cuts``: it has all modules loaded, and makes a node of a copy of
itself for each line that it is given, so that a start costs a tenth of a second. Jobs that run by the clock
run each second.

A line is JSON: ``environ``, and ``root``, ``record``, ``control`` for ``recorded_writes.c``. It prints
``pid N``, what the node prints, and ``ended STATUS``.
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from node.app.node import running
from node.cli.main import main
from node.core.scheduler import Job, Scheduler
from node.core.settings import load
from tests.faults.node_kit import environ_of

_every = Scheduler.every


def every_second(self: Scheduler, seconds: int, name: str, job: Job) -> None:
    _every(self, min(seconds, 1), name, job)


async def warm() -> None:
    """A node once, for what is only loaded when one runs."""
    with tempfile.TemporaryDirectory() as folder:
        environ = environ_of(Path(folder)) | {
            "NEUROSWARM_EMBED__ENGINE": "none",
            "NEUROSWARM_INDEX_FILE": f"{folder}/none.json",
            "NEUROSWARM_SERVER__PORT": "0",
        }
        async with running(load(environ)):
            pass


def serve(asked: dict[str, Any]) -> int:
    os.environ.update(asked["environ"])
    return main(["serve", "--port", "0"])


def forked(work: Callable[[dict[str, Any]], int]) -> None:
    """``work`` in a copy of this process for each line, its writes recorded."""
    begin = ctypes.CDLL(None).power_begin
    print("ready", flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        pid = os.fork()
        if not pid:
            status = 1
            try:
                if not begin(*(str(asked[name]).encode() for name in ("root", "record", "control"))):
                    status = work(asked)
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(status)
        print("pid", pid, flush=True)
        print("ended", os.waitpid(pid, 0)[1], flush=True)


if __name__ == "__main__":
    setattr(Scheduler, "every", every_second)  # noqa: B010 - a method is replaced, which mypy would refuse
    asyncio.run(warm())
    forked(serve)
