"""The usual runner: ``pydantic-monty``, an interpreter of its own without files, network or environment.

It works in a process below this one. That process gets the kernel's bounds as well: no further files, sockets
or processes, so much memory and processor time. What it gives back is text only: a value that crosses into a
Python process may be made to cost it minutes (a dict whose keys all have one hash)."""

from __future__ import annotations

import ast
import contextlib
import os
import resource
import signal
import statistics
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pydantic_monty as monty

from node.agent.sandbox.child import Send, pieces, plain
from node.agent.sandbox.ran import End, Job, Limits, Out, Started
from node.agent.sandbox.rules import VALUE, with_value
from node.agent.sandbox.saved import saver

_GRACE_S = 0.25
_LEAVE_S = 0.3
_CALLS_MAX = 100_000
_SPARE_BYTES = 64 * 2**20
_PROCESS_BOUNDS = ("RLIMIT_NOFILE", "RLIMIT_NPROC", "RLIMIT_FSIZE", "RLIMIT_CORE")


def run(job: Job, tree: ast.Module, send: Send, _out: int) -> None:
    """Run the code in a worker and tell what came of it."""
    limits = job.limits
    code = with_value(job.code, tree)
    if code != job.code:
        code += f"\nNone if {VALUE} is None else repr({VALUE})[:{limits.output_chars}]"
    # Monty has no ``statistics``: the library's own functions are called here, with values it sends.
    functions = {
        name: one for name in statistics.__all__ if not isinstance(one := getattr(statistics, name), type)
    }
    with (
        monty.Monty(max_processes=1, feed_duration_limit_grace=_GRACE_S) as pool,
        pool.checkout(
            limits={
                "max_feed_duration_secs": limits.time_s,
                "max_memory": limits.memory_bytes,
                "max_recursion_depth": limits.recursion,
                "max_suspensions": _CALLS_MAX,
                "max_total_sleep_secs": 0.0,
            },
            external_modules={"statistics": monty.ExternalModule(functions)},
        ) as session,
    ):
        worker = session.worker_pid
        if worker is None:
            raise RuntimeError("the interpreter has no process")
        _bound(worker, limits)
        threading.Thread(target=_with_parent, args=(worker,), daemon=True).start()
        send(Started())
        send(_fed(session, code, send, limits))


def _fed(session: monty.MontySession, code: str, send: Send, limits: Limits) -> End:
    def heard(_stream: str, text: str) -> None:
        for piece in pieces(text):
            send(Out(piece))

    try:
        value: Any = session.feed_run(
            code, print_callback=heard, external_lookup={"save": saver(send, limits)}
        )
    except monty.MontyCrashedError as exc:
        if exc.timed_out:
            return End("time", error=f"it ran longer than {limits.time_s:g} s")
        return End("crashed", error="the interpreter ended in the middle of the run")
    except (monty.MontySyntaxError, monty.MontyRuntimeError) as exc:
        return _failed(exc, code, limits)
    return End("done", value=value if isinstance(value, str) else "")


def _failed(exc: monty.MontySyntaxError | monty.MontyRuntimeError, code: str, limits: Limits) -> End:
    said = plain(exc.display("type-msg"))
    lines = [frame.line for frame in exc.traceback()]
    line = min(lines[-1], code.count("\n") + 1) if lines else 0
    if said.startswith("MemoryError"):
        return End("memory", error=f"it needs more than {limits.memory_bytes} bytes", line=line)
    if said.startswith("TimeoutError") and not lines:  # its own: one that the code raises has a line
        return End("time", error=f"it ran longer than {limits.time_s:g} s")
    return End("syntax" if isinstance(exc, monty.MontySyntaxError) else "error", error=said, line=line)


def _bound(worker: int, limits: Limits) -> None:
    """The kernel's bounds on the worker, where the system can set them on another process (Linux)."""
    if not hasattr(resource, "prlimit"):
        return
    bounds = {getattr(resource, name): 0 for name in _PROCESS_BOUNDS}
    pages = int(Path(f"/proc/{worker}/statm").read_text("ascii").split()[0])
    bounds[resource.RLIMIT_AS] = pages * resource.getpagesize() + 2 * limits.memory_bytes + _SPARE_BYTES
    bounds[resource.RLIMIT_CPU] = int(limits.time_s) + 2
    for kind, value in bounds.items():
        resource.prlimit(worker, kind, (value, value))


def _with_parent(worker: int) -> None:
    """End the worker as soon as the parent closes the pipe, or is gone; then this process."""
    while os.read(0, 1):
        pass
    with contextlib.suppress(ProcessLookupError):
        os.kill(worker, signal.SIGKILL)
    threading.Timer(_LEAVE_S, partial(os._exit, 1)).start()
