"""This environment's own pip, as a program. Blocking. It must not know what is fetched or installed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from node.core.clock import Clock
from node.core.errors import Unavailable

COMMAND = (sys.executable, "-m", "pip")
_LOOK_S = 0.5
_LIMIT_S = 3_600.0
_SAID_CHARS = 300

Tick = Callable[[float, str], None]
"""Called twice a second with the seconds since the start and pip's last line."""


def duration(seconds: float) -> str:
    """A length of time for a person."""
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


@dataclass(frozen=True, slots=True)
class Pip:
    """pip with the environment ``environ``; ``options`` say where packages are looked for."""

    clock: Clock
    environ: Mapping[str, str]
    options: Sequence[str] = ()

    def run(
        self, words: Sequence[str], log: Path, failure: str, tick: Tick, *, limit_s: float = _LIMIT_S
    ) -> None:
        """Run it, its output into ``log``. Raises ``Unavailable``, which begins with ``failure``."""
        command = [*COMMAND, "--disable-pip-version-check", "--no-input", *words]
        began = self.clock.monotonic()
        with log.open("wb") as out:
            process = subprocess.Popen(  # noqa: S603 - our own pip, words from our tables, no shell
                command,
                env=dict(self.environ),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
            )
            try:
                while True:
                    try:
                        status = process.wait(_LOOK_S)
                        break
                    except subprocess.TimeoutExpired:
                        tick(self.clock.monotonic() - began, _last_line(log))
                    if self.clock.monotonic() - began > limit_s:
                        raise Unavailable(f"{failure}: it took more than {duration(limit_s)}")
            finally:
                if process.poll() is None:
                    process.kill()
                    process.wait()
        if status != 0:
            raise Unavailable(f"{failure}: {_error(log) or f'pip ended with status {status}'}")


def _last_line(log: Path) -> str:
    """The last line of a log that grows."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - 4_096))
            said = file.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return ""
    return next((line.strip() for line in reversed(said) if line.strip()), "")


def _error(log: Path) -> str:
    """The last error in a log, else its last line."""
    said = [line for line in log.read_text("utf-8", "replace").splitlines() if line.strip()]
    errors = [line for line in said if line.startswith("ERROR")] or said
    return errors[-1].removeprefix("ERROR: ")[:_SAID_CHARS] if errors else ""
