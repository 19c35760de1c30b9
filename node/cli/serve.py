"""The command ``neuroswarm serve``."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import ctypes
import gc
import logging
import signal
import sys

from node.app import door
from node.cli.doctor import MARK
from node.cli.terminal import complain
from node.core.clock import SystemClock
from node.core.line_cap import LineCap
from node.core.settings import Settings


def serve(args: argparse.Namespace, settings: Settings) -> int:
    """Start a node, and stop it when told."""
    lines = logging.StreamHandler(sys.stderr)
    lines.addFilter(LineCap(SystemClock(), exempt=("neuroswarm.service",)))  # that is a line for each answer
    logging.basicConfig(
        level=logging.DEBUG if args.verbose else logging.INFO,
        format="%(asctime)s level=%(levelname)s logger=%(name)s %(message)s",
        handlers=(lines,),
    )
    for noisy in ("apscheduler", "httpx", "urllib3", "httpcore"):
        logging.getLogger(noisy).setLevel(logging.WARNING)

    door.check(settings.server.host, settings.server.port)  # before anything large is loaded

    async def until_told() -> None:
        gc.disable()  # what is imported and built now stays: looking it through takes a tenth of the start
        from node.app.node import running

        _keep_all()
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        starting = asyncio.current_task()

        def told() -> None:
            if starting is not None and not stop.is_set():
                starting.cancel()  # a start may take minutes, importing a large index
            stop.set()

        for name in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(name, told)
        async with running(settings) as node:
            starting = None
            _keep_all()
            _give_back()
            for check in node.checks:
                if check.status != "pass":
                    complain(f"{MARK[check.status]} {check.name}: {check.output}")
            print(f"listening on {node.url}", flush=True)
            await stop.wait()
            complain("stopping: finishing what is under way")

    try:
        asyncio.run(until_told())
    except asyncio.CancelledError:
        complain("stopped before it was ready")
    return 0


def _keep_all() -> None:
    """What is here now stays: the collector need not look at it again."""
    gc.freeze()
    gc.enable()


def _give_back() -> None:
    """What the start has used and freed goes back to the operating system, where the C library can."""
    with contextlib.suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
