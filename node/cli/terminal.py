"""What commands write: replies as JSON or as lines, and progress on a terminal."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

_SHOWN_EVERY = 10
"""Bundles between two updates of the progress line."""


def tell(args: argparse.Namespace, reply: object, lines: Sequence[str], *, is_ascii: bool = True) -> None:
    """The reply for programs (``--json``), or the lines for people."""
    if args.json:
        print(json.dumps(reply, indent=2, ensure_ascii=is_ascii))
    else:
        print("\n".join(lines))


def complain(text: str) -> None:
    """A line on standard error."""
    print(text, file=sys.stderr)


def say(text: str, *, is_error: bool = False) -> None:
    """Print a line that may hold names from a stranger's log: what is not printable is escaped."""
    safe = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)
    print(safe, file=sys.stderr if is_error else sys.stdout)


def refused(reply: Mapping[str, Any]) -> int:
    """Say what a node's problem document says; the exit status."""
    complain(f"{reply.get('title')}: {reply.get('detail')}")
    return 1


def size(count: int) -> str:
    """Bytes for people."""
    return f"{count / 2**20:.1f} MiB" if count >= 2**20 else f"{count / 2**10:.1f} KiB"


class Progress:
    """One line on a terminal that is written over; nothing elsewhere."""

    def __init__(self, verb: str = "", total: int | None = None) -> None:
        self._verb, self.total = verb, total
        self._is_terminal = sys.stderr.isatty()
        self._calls = 0

    def write(self, text: str) -> None:
        """Write it over."""
        self._calls += 1
        if self._is_terminal:
            print(f"\r{text}", end="", file=sys.stderr, flush=True)

    def show(self, done: int, said: str) -> None:
        """``done`` of the total, where there is one, and what is said of it."""
        bar = ""
        if self.total:
            filled = min(30, 30 * done // self.total)
            bar = f"[{'#' * filled}{'.' * (30 - filled)}] {min(100, 100 * done // self.total):3} % "
        self.write(f"{self._verb} {bar}{said:<40}")

    def entries(self, done: int, total: int) -> None:
        """``done`` of ``total`` entries; every few calls."""
        if done == total or self._calls % _SHOWN_EVERY == _SHOWN_EVERY - 1:
            self.write(f"{self._verb} {done} of {total} entries ({100 * done // max(1, total)} %)")
        else:
            self._calls += 1

    def end(self) -> None:
        """Leave the line as it is."""
        if self._is_terminal and self._calls:
            complain("")
