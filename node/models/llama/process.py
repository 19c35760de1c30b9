"""The parent's side of the llama.cpp child process: starts it, speaks ``wire`` with it, ends it.

Promises:
- the model is loaded at the first call, in the background: a caller whose time is up leaves, the loading goes
  on;
- as many requests at once as there are slots; when a caller leaves, the child is told to stop his and, when
  that takes more than a second and nobody else is served, killed;
- a child that dies, hangs while loading or sends what is not the protocol is an ``Unavailable`` with the
  reason, a ``BrokeOff`` in the middle of a request; the next call starts another, the first time at once,
  then after a wait that doubles up to a minute;
- the child inherits no environment and no descriptors; what it sends is bounded and checked;
- looking at the state starts nothing.

It must not know what is asked, or why. The child is started from the event loop's own thread: on Linux it
dies with the thread that made it."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import logging
import math
import os
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from node.core.clock import Clock
from node.core.errors import NodeError, Rejected, TimedOut, Unavailable
from node.models.deadline import within
from node.models.llama import gguf_file
from node.models.llama.link import STOP_S, Call, Child, Listen
from node.models.llama.wire import LINE_BYTES_MAX, Done

_LOG = logging.getLogger(__name__)

LOAD_S = 180.0
"""A gigabyte loads in 2.4 s from memory; from a slow disk it takes a minute."""
_STOP_TIMES = 30
BACKOFF_FIRST_S = 1.0
BACKOFF_MAX_S = 60.0
WINDOW = 2_048
"""Tokens of prompt and answer together. A prompt of this node is some 2,000 tokens at most; the state for
8,192 takes 230 MB in a model of 1.5B."""
NICE = 10


@dataclass(frozen=True, slots=True)
class Program:
    """What is started: the command, the package that it cannot do without (empty: none) and what that is
    called where it is installed, and the engine's name."""

    command: tuple[str, ...]
    package: str = ""
    distribution: str = "llama-cpp-python"
    engine: str = "llama_cpp"
    stop_s: float = STOP_S
    """So long it may take to stop: xllamacpp reads a piece of the prompt to its end."""

    @property
    def is_installed(self) -> bool:
        """Whether its package is here, without loading it."""
        return not self.package or importlib.util.find_spec(self.package) is not None


_PYTHON = (sys.executable, "-P", "-m")
LLAMA_CPP = Program((*_PYTHON, "node.models.llama.llama_cpp_child"), "llama_cpp")
XLLAMACPP = Program(
    (*_PYTHON, "node.models.llama.xllamacpp_child"), "xllamacpp", "xllamacpp", "xllamacpp", stop_s=3.0
)


def threads_to_spare() -> int:
    """Cores of this machine but one."""
    return max(1, (os.cpu_count() or 2) - 1)


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model in a running child. ``digest`` is the file's hex SHA-256, ``window`` in tokens."""

    digest: str
    window: int
    dim: int


@dataclass(frozen=True, slots=True)
class State:
    """``word``: missing (package or file), idle, loading, running, failed, closed. ``detail`` is a clause."""

    word: str
    detail: str


class LlamaProcess:
    """A GGUF in a child process that is started when it is wanted and started anew when it has ended."""

    def __init__(
        self,
        path: Path,
        clock: Clock,
        *,
        purpose: str,
        threads: int,
        slots: int = 1,
        nice: int = NICE,
        window: int = WINDOW,
        program: Program = LLAMA_CPP,
    ) -> None:
        """``purpose`` is generate or embed; ``slots``: requests at once, where ``program`` can do more than
        one; ``window`` is the prompt and its answer, in tokens."""
        self.path = path.absolute()
        self._clock = clock
        self._program = program
        options = {"purpose": purpose, "threads": threads, "nice": nice, "window": window, "slots": slots}
        self._options = [word for name, value in options.items() for word in (f"--{name}", str(value))]
        self._turn = asyncio.Semaphore(slots)
        self._child: Child | None = None
        self._loaded: Loaded | None = None
        self._loading: asyncio.Task[NodeError | None] | None = None
        self._settling: set[asyncio.Task[None]] = set()
        self._hashed: tuple[tuple[int, int, int], str] | None = None
        self._calls = 0
        self._failures = 0
        self._failure = ""
        self._failed_loading = False
        self._ever_loaded = False
        self._package_missing = ""
        self._not_before = -math.inf
        self._closed = False

    @property
    def pid(self) -> int | None:
        """The running child's process id."""
        return self._child.pid if self._child is not None and not self._child.is_over else None

    @property
    def is_loading(self) -> bool:
        return self._loading is not None

    @property
    def cannot_load(self) -> str | None:
        """Why this program has never loaded the model though it was tried; None while that is open, or once
        it was."""
        if self._ever_loaded or self._closed:
            return None
        return self._package_missing or (self._failure if self._failed_loading else None)

    async def load(self) -> Loaded:
        """The loaded model, at once when it is. Raises ``Unavailable``, ``TimedOut``. Cancelling does not
        stop the loading."""
        await self._ready()
        assert self._loaded is not None
        return self._loaded

    async def ask(self, request: Mapping[str, Any], listen: Listen) -> Done:
        """Send ``request`` (without id) when it is its turn, and hand what comes to ``listen`` until it says
        enough or the end is there. Cancelling stops the child's work.

        Raises ``Rejected`` (the child refuses the request), ``Unavailable``, ``TimedOut`` (loading)."""
        await self._turn.acquire()
        child: Child | None = None
        call: Call | None = None
        try:
            child = await self._ready()
            self._calls += 1
            child.calls[self._calls] = call = Call(self._calls, listen)
            with contextlib.suppress(Unavailable):  # its end brings the reason
                await child.send({**request, "id": call.id})
            await call.answered.wait()
        except Rejected:
            # Nothing was sent.
            if child is not None and call is not None:
                child.calls.pop(call.id, None)
            call = None
            raise
        finally:
            if child is None or call is None or call.ended.is_set():
                self._turn.release()
            else:
                call.answer(Done(reason="stopped"))  # nobody listens any more
                settling = asyncio.create_task(self._settle(child, call))
                self._settling.add(settling)
                settling.add_done_callback(self._settling.discard)
        if isinstance(call.outcome, NodeError):
            raise call.outcome
        assert call.outcome is not None
        self._failures = 0
        return call.outcome

    async def _settle(self, child: Child, call: Call) -> None:
        """Bring the child to rest after its caller has left, then let the next one in."""
        try:
            child.tell({"op": "stop", "id": call.id})
            for _ in range(_STOP_TIMES):
                try:
                    await within(self._clock, self._program.stop_s, call.ended.wait(), "it did not stop")
                    return
                except TimedOut:
                    if all(one.answered.is_set() for one in child.calls.values()):
                        break  # nobody is left who would lose an answer
            _LOG.warning("llama.killed pid=%d reason=did_not_stop", child.pid)
            await child.end("the llama.cpp process did not stop when it was told to")
        finally:
            self._turn.release()

    async def _ready(self) -> Child:
        while True:
            if self._closed:
                raise Unavailable("llama.cpp is switched off")
            if self._loading is None:
                if self._child is not None:
                    return self._child
                wait = self._not_before - self._clock.monotonic()
                if wait > 0:
                    raise Unavailable(f"{self._failure}; it is started again in {math.ceil(wait)} s")
                self._loading = asyncio.create_task(self._load())
            loading = self._loading
            await asyncio.wait((loading,))
            failure = None if loading.cancelled() else loading.result()
            if failure is not None:
                raise type(failure)(str(failure)) from failure

    async def _load(self) -> NodeError | None:
        """Start a child and wait until its model is loaded; what went wrong."""
        try:
            if (reason := await asyncio.to_thread(self._why_not)) is not None:
                return Unavailable(reason)  # looked at again by the next call
            try:
                child, digest = await self._start()
            except NodeError as exc:
                self._failed(str(exc), loading=True)
                return exc
            if child.is_over:  # while the file was being hashed
                self._failed(self._failure, loading=True)
                return Unavailable(self._failure)
            self._loaded = Loaded(digest, child.window, child.dim)
            self._child = child
            self._failed_loading = False
            self._ever_loaded = True
            _LOG.info("llama.loaded pid=%d window=%d dim=%d", child.pid, child.window, child.dim)
            return None
        finally:
            self._loading = None

    def _why_not(self) -> str | None:
        self._package_missing = ""
        if not self._program.is_installed:
            self._package_missing = f"{self._program.distribution} is not installed; type: make model"
            return self._package_missing
        return gguf_file.why_not(self.path)

    async def _start(self) -> tuple[Child, str]:
        given_up = threading.Event()
        hashing = asyncio.create_task(self._digest(given_up))
        child: Child | None = None
        try:
            child = await self._spawn()
            await within(self._clock, LOAD_S, child.ready.wait(), "llama.cpp did not load the model in time")
            if child.refusal is not None or child.is_over:
                raise Unavailable(child.refusal or self._failure)
            return child, await hashing
        except BaseException:
            if child is not None:
                await child.end("llama.cpp did not load the model in time")
            raise
        finally:
            given_up.set()
            hashing.cancel()
            await asyncio.wait((hashing,))

    async def _spawn(self) -> Child:
        try:
            process = await asyncio.create_subprocess_exec(
                *self._program.command,
                *("--parent", str(os.getpid()), *self._options),
                str(self.path),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                limit=LINE_BYTES_MAX,
                # The same packages, and nothing else of the environment: no keys, no proxies.
                env={"PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path)), "LANG": "C.UTF-8"},
                cwd="/",
                # Ctrl-C at a terminal is for the node, which ends the child when it is done.
                start_new_session=True,
            )
        except OSError as exc:
            raise Unavailable(f"the llama.cpp process cannot be started: {exc.strerror}") from exc
        return Child(process, self._clock, self._gone)

    async def _digest(self, given_up: threading.Event) -> str:
        before = await asyncio.to_thread(gguf_file.stamp, self.path)
        if self._hashed is None or self._hashed[0] != before:
            digest = await asyncio.to_thread(gguf_file.sha256, self.path, given_up)
            self._hashed = before, digest
        return self._hashed[1]

    def _gone(self, child: Child, reason: str) -> None:
        """A child has ended, for whatever reason."""
        if self._child is child:
            self._child = None
            if not child.was_ended_by_us:
                self._failed(reason, loading=False)
        else:
            self._failure = reason

    def _failed(self, reason: str, *, loading: bool) -> None:
        self._failures += 1
        self._failure = reason
        self._failed_loading = loading
        # The first time at once: most deaths are accidents, and somebody waits.
        wait = 0.0 if self._failures == 1 else min(BACKOFF_FIRST_S * 2 ** (self._failures - 2), BACKOFF_MAX_S)
        self._not_before = self._clock.monotonic() + wait
        _LOG.warning("llama.failed times=%d wait_s=%.0f reason=%s", self._failures, wait, reason)

    async def state(self) -> State:
        """What is known now. Reads the first bytes of the file at most."""
        if self._closed:
            return State("closed", "closed")
        if self._child is not None:
            return State("running", "loaded")
        if self._loading is not None:
            return State("loading", "being loaded")
        if (reason := await asyncio.to_thread(self._why_not)) is not None:
            return State("missing", reason)
        if self._failures and (self._failed_loading or self._clock.monotonic() < self._not_before):
            return State("failed", self._failure)
        return State("idle", "loaded at the next question")

    async def close(self) -> None:
        """End the child. Idempotent; who waits gets ``Unavailable``."""
        self._closed = True
        for task in (self._loading, *self._settling):
            if task is not None and not task.done():
                task.cancel()
                await asyncio.wait((task,))
        if self._child is not None:
            await self._child.end("llama.cpp is switched off")
