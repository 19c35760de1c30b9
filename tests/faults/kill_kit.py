"""Processes that are killed: what they had said by then, and how they kill themselves at a given moment."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def told_until_killed(module: str, *words: object, lines: int | None) -> list[list[str]]:
    """Let a child of this folder print so many lines, then SIGKILL it; None: let it end by itself. The words
    of all whole lines, those included that it printed while it was being killed."""
    command = [sys.executable, "-m", f"tests.faults.{module}", *map(str, words)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = [process.stdout.readline() for _ in range(lines or 0)]
        if lines is not None:
            process.kill()
        said += process.stdout.readlines()
    whole = [line.split() for line in said if line.endswith("\n")]
    assert len(whole) >= (lines or 0), "the child ended by itself"
    return whole


def die(*_: Any, **__: Any) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


def dying_after(real: Callable[..., Any], calls: int = 1) -> Callable[..., Any]:
    """As ``real``, but the process ends after so many calls."""
    left = calls

    def call(*args: Any, **more: Any) -> Any:
        nonlocal left
        try:
            return real(*args, **more)
        finally:
            left -= 1
            if left == 0:
                die()

    return call
