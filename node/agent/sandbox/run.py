"""The parent's side of the sandbox: starts a process for a run, hears it to its end, and frees what it took.

Promises: ``run`` never raises for what the code does; it ends within its time and a second, at once where it
is cancelled, and then no process of the run is left; what the process says is bounded and untrusted.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process

import msgspec

from node.agent.sandbox.ran import (
    ERROR_CHARS,
    FILES_MAX,
    End,
    File,
    Job,
    Limits,
    Out,
    Ran,
    Runner,
    Said,
    Started,
)
from node.agent.sandbox.saved import file_of
from node.core.agent_settings import Agent
from node.core.clock import SystemClock
from node.core.errors import Unavailable

_CHILD = "node.agent.sandbox.child"
_START_S = 30.0
_GRACE_S = {"monty": 0.5, "python": 0.0}
"""Monty ends a run itself and says so, or its worker is killed within half of this."""
_LEAVE_S = 0.4
_WAITING_MAX = 8
_LINE_BYTES = 2**16
_CLOCK = SystemClock()
_decode = msgspec.json.Decoder[Said](Said)


class Sandbox:
    """Runs code within ``limits``, so many at once; a few more wait."""

    def __init__(self, limits: Limits, *, at_once: int = 1) -> None:
        self._limits = limits
        self._room = asyncio.Semaphore(at_once)
        self._most = at_once + _WAITING_MAX
        self._here = 0

    @classmethod
    def of(cls, agent: Agent) -> Sandbox | None:
        """As the settings say; None where no code may run."""
        if agent.code_runner not in ("monty", "python"):
            return None
        return cls(
            Limits(
                runner="python" if agent.code_runner == "python" else "monty",
                time_s=agent.code_time_s,
                memory_bytes=agent.code_memory_bytes,
                output_chars=agent.code_output_chars,
                recursion=agent.code_recursion,
                file_bytes=agent.code_file_bytes,
            ),
            at_once=agent.code_at_once,
        )

    async def run(self, code: str) -> Ran:
        """Raises ``Unavailable`` where too many wait, or no process can be started."""
        if self._here >= self._most:
            raise Unavailable("too many runs of code are waiting")
        self._here += 1
        try:
            async with self._room:
                return await run(code, self._limits)
        finally:
            self._here -= 1


async def run(code: str, limits: Limits) -> Ran:
    """Run ``code`` in a process of its own. Raises ``Unavailable`` where none can be started."""
    if len(code) > limits.code_chars:
        return Ran("refused", error=f"the code is longer than {limits.code_chars} characters")
    try:
        job = msgspec.json.encode(Job(code, limits, os.getpid())) + b"\n"
    except UnicodeEncodeError:
        return Ran("refused", error="the code is not a text that can be written in UTF-8")
    begun = _CLOCK.monotonic()
    child = await _begin(limits)
    try:
        heard = _Heard(limits)
        await heard.start(child, job)
        started = _CLOCK.monotonic()
        end = await heard.to_the_end(child)
        ended = _CLOCK.monotonic()
    finally:
        await _over(child, limits.runner)
    return Ran(
        end.ended,
        "".join(heard.printed),
        end.value[: limits.output_chars],
        end.error[:ERROR_CHARS],
        end.line,
        round(ended - started, 3),
        round(started - begun, 3),
        tuple(heard.files),
    )


class _Heard:
    """What a child has said until now."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._left = limits.output_chars
        self.printed: list[str] = []
        self.files: list[File] = []

    async def start(self, child: Process, job: bytes) -> None:
        """Give it the job and wait until its walls stand. Raises ``Unavailable``."""
        assert child.stdin is not None
        child.stdin.write(job)
        try:
            async with asyncio.timeout(_START_S):
                await child.stdin.drain()
                said = await self._next(child)
        except (TimeoutError, OSError) as exc:
            raise Unavailable("the process that runs code did not start") from exc
        if not isinstance(said, Started):
            runner = self._limits.runner
            raise Unavailable(f"the process that runs code did not start: is what {runner} needs installed?")

    async def to_the_end(self, child: Process) -> End:
        """Hear it until it says the end, has said too much, or its time is over."""
        try:
            async with asyncio.timeout(self._limits.time_s + _GRACE_S[self._limits.runner]):
                while not isinstance(said := await self._next(child), End):
                    if said is None:
                        return End("crashed", error="the process ended in the middle of the run")
                    self._take(said)
                    if self._left < 0:
                        most = self._limits.output_chars
                        return End("output", error=f"it prints more than {most} characters")
        except ValueError:
            return End("crashed", error="the process said what no run says")
        except TimeoutError:
            return End("time", error=f"it ran longer than {self._limits.time_s:g} s")
        return said

    def _take(self, said: Started | Out | File) -> None:
        """Raises ``ValueError`` for what the child's own code does not say: it may be captured."""
        if isinstance(said, Out) and said.text:
            self.printed.append(said.text[: self._left])
            self._left -= len(said.text)
        elif (
            isinstance(said, File)
            and len(said.data) <= self._limits.file_bytes
            and len(self.files) < FILES_MAX
            and file_of(said.name, said.data) == said
        ):
            self.files.append(said)
        else:
            raise ValueError(said)

    @staticmethod
    async def _next(child: Process) -> Said | None:
        """The next thing that it says; None: it has ended, or speaks something else."""
        assert child.stdout is not None
        try:
            said: Said = _decode.decode(await child.stdout.readline())
        except (ValueError, msgspec.MsgspecError, OSError):
            return None
        return said


async def _begin(limits: Limits) -> Process:
    packages = os.pathsep.join(map(os.path.abspath, sys.path))
    environ = {"PYTHONPATH": packages, "LANG": "C.UTF-8", "OPENBLAS_NUM_THREADS": "1"}
    if "MONTY_BIN" in os.environ:  # where its package says that its program lies
        environ["MONTY_BIN"] = os.environ["MONTY_BIN"]
    try:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            *("-P", "-m", _CHILD),
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,
            env=environ,
            limit=_LINE_BYTES + 2 * limits.file_bytes + 8 * limits.output_chars,
            start_new_session=True,
        )
    except OSError as exc:
        raise Unavailable(f"the process that runs code cannot be started: {exc.strerror}") from exc


async def _over(child: Process, runner: Runner) -> None:
    """End it and what it started. Monty's is asked first, by the end of its input: so it ends its own child
    itself, and nobody is left for others to bury."""
    assert child.stdin is not None
    child.stdin.close()
    try:
        if runner == "monty":
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LEAVE_S):
                    await _silence(child)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
    await _silence(child)
    await child.wait()


async def _silence(child: Process) -> None:
    """Read away what it still says: an unread pipe is never seen to end."""
    assert child.stdout is not None
    while await child.stdout.read(_LINE_BYTES):
        pass
