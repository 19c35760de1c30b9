"""One llama.cpp child process as its parent sees it, from start to end, and the requests under way in it.

What it sends is bounded and checked: what is not the protocol ends it. It must not know what is asked."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
from collections.abc import Callable, Mapping
from typing import Any

from node.core.clock import Clock
from node.core.errors import BrokeOff, NodeError, Rejected, TimedOut, Unavailable
from node.models.deadline import within
from node.models.llama.wire import (
    LINE_BYTES_MAX,
    Done,
    Event,
    Failed,
    Piece,
    Ready,
    Vector,
    decode_event,
    encode,
)

_LOG = logging.getLogger(__name__)

STOP_S = 1.0
_STDERR_KEPT = 4_096
_REASON_CHARS = 200
_LINES_A_TURN = 64
_NOT_PROTOCOL = "the llama.cpp process sent something that is not its protocol"

Listen = Callable[[str | bytes | None], bool]
"""Takes a piece of text, or the bytes of a vector (None for a text without one); False when enough was
heard."""


class Call:
    """One request under way. ``answered``: its caller may go; ``ended``: the child is quiet again."""

    def __init__(self, call_id: int, listen: Listen) -> None:
        self.id = call_id
        self.listen = listen
        self.outcome: Done | NodeError | None = None
        self.answered = asyncio.Event()
        self.ended = asyncio.Event()

    def answer(self, outcome: Done | NodeError) -> None:
        if self.outcome is None:
            self.outcome = outcome
        self.answered.set()

    def end(self, outcome: Done | NodeError) -> None:
        self.answer(outcome)
        self.ended.set()


class Child:
    """One process from its start to its end."""

    def __init__(
        self, process: asyncio.subprocess.Process, clock: Clock, on_end: Callable[[Child, str], None]
    ) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._process = process
        self._stdin, self._stdout, self._stderr = process.stdin, process.stdout, process.stderr
        self._clock = clock
        self._on_end = on_end
        self._said = b""
        self._ended_by_us = ""
        self.window = self.dim = 0
        self.ready = asyncio.Event()
        """Set when the model is loaded, or when it never will be."""
        self.refusal: str | None = None
        self.calls: dict[int, Call] = {}
        self.is_over = False
        self._task = asyncio.create_task(self._run())

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def was_ended_by_us(self) -> bool:
        return bool(self._ended_by_us)

    async def send(self, message: Mapping[str, Any]) -> None:
        """Raises ``Rejected`` (longer than a line can be), ``Unavailable`` (it is gone)."""
        line = encode(dict(message))
        if len(line) > LINE_BYTES_MAX:
            raise Rejected("the prompt is longer than the model's window")
        try:
            self._stdin.write(line)
            await self._stdin.drain()
        except (OSError, RuntimeError) as exc:
            # The reason comes from the end of the process, which is near.
            raise Unavailable("the llama.cpp process is gone") from exc

    def tell(self, message: Mapping[str, Any]) -> None:
        """Send a short message without waiting; a process that is gone does not matter."""
        with contextlib.suppress(OSError, RuntimeError):
            self._stdin.write(encode(dict(message)))

    async def end(self, reason: str) -> None:
        """Kill it and wait until it is gone. Idempotent."""
        self._ended_by_us = self._ended_by_us or reason
        self._kill()
        await asyncio.wait((self._task,))

    def _kill(self) -> None:
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                # Not ``Process.kill``: it polls first, and so takes the exit status from the loop's watcher.
                os.kill(self._process.pid, signal.SIGKILL)

    async def _run(self) -> None:
        errors = asyncio.create_task(self._drain())
        reason = ""
        try:
            reason = await self._listen()
            if not reason:
                # A process that ends closes its output first: its own status says more than ours.
                await within(self._clock, STOP_S, self._process.wait(), "it does not end")
        except TimedOut:
            reason = "the llama.cpp process has closed its output"
        finally:
            self._kill()
        await self._process.wait()
        await errors
        self._stdin.close()
        with contextlib.suppress(OSError):
            await self._stdin.wait_closed()
        self.is_over = True
        reason = self._ended_by_us or self.refusal or reason or self._death()
        for call in self.calls.values():
            call.end(BrokeOff(reason))
        self.calls.clear()
        self._on_end(self, reason)
        self.ready.set()

    async def _drain(self) -> None:
        while chunk := await self._stderr.read(_STDERR_KEPT):
            self._said = (self._said + chunk)[-_STDERR_KEPT:]

    async def _listen(self) -> str:
        """Take its lines until it ends; why it must end, empty when it did by itself."""
        lines = 0
        while True:
            try:
                line = await self._stdout.readuntil(b"\n")
                self._take(decode_event(line))
            except asyncio.IncompleteReadError:
                return ""
            except (asyncio.LimitOverrunError, ValueError):
                _LOG.warning("llama.garbage pid=%d", self.pid)
                return _NOT_PROTOCOL
            lines += 1
            if lines % _LINES_A_TURN == 0:
                await asyncio.sleep(0)  # what is buffered already does not wait by itself

    def _take(self, event: Event) -> None:
        """Raises ``ValueError`` for what is not the protocol."""
        if not self.ready.is_set():
            match event:
                case Ready():
                    self.window, self.dim = event.window, event.dim
                    self.ready.set()
                case Failed():
                    self.refusal = _line(event.reason)
                case _:
                    raise ValueError(event)
            return
        call = self.calls.get(event.id)
        if call is None or isinstance(event, Ready):
            raise ValueError("nobody asked")
        if isinstance(event, Piece | Vector):
            heard = event.text if isinstance(event, Piece) else event.data
            if call.outcome is None and not call.listen(heard):
                call.answer(Done(reason="stopped"))
            return
        del self.calls[call.id]
        if isinstance(event, Done):
            call.end(event)
        else:
            kind = Rejected if event.kind == "rejected" else Unavailable
            call.end(kind(_line(event.reason)))

    def _death(self) -> str:
        code = self._process.returncode or 0
        how = f"it ended with status {code}"
        if code < 0:
            with contextlib.suppress(ValueError):
                how = f"it was ended by {signal.Signals(-code).name}"
        lines = self._said.decode("utf-8", "replace").strip().splitlines()
        why = ""
        if code == -signal.SIGKILL:
            why = ", perhaps for want of memory"
        elif code == -signal.SIGILL:
            why = ", so the engine was built for another processor; build it anew"
        elif lines and (code > 0 or code == -signal.SIGABRT):
            why = f": {_line(lines[-1])}"
        return f"the llama.cpp process is gone, {how}{why}"


def _line(said: str) -> str:
    """Text from outside as one short line."""
    shown = "".join(char if char.isprintable() else " " for char in said[: 2 * _REASON_CHARS])
    return " ".join(shown.split())[:_REASON_CHARS]
