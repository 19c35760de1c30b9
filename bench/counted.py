"""``python -m node``, but that it counts what its event loop's thread calls, when told.

    python -m bench.counted serve

For ``bench.hit_cost``. What to count is in the environment (``COUNT``): ``calls`` (functions, by
``cProfile``) or ``codes`` (bytecodes, by ``sys.settrace``). SIGUSR1 begins, and the next one ends and writes
the counts as JSON to the file ``COUNT_TO``; SIGUSR2 writes the names of the threads there, by their numbers.
"""

from __future__ import annotations

import cProfile
import os
import signal
import sys
import threading
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import orjson

from node.__main__ import main

COUNT, COUNT_TO = "NS_COUNT", "NS_COUNT_TO"
CALLS, CODES = "calls", "codes"


class _Calls:
    """Calls of each function, C functions too."""

    def __init__(self) -> None:
        self._profile = cProfile.Profile(builtins=True)

    def begin(self) -> None:
        self._profile.enable()

    def end(self) -> dict[str, int]:
        self._profile.disable()
        found: Counter[str] = Counter()
        for one in self._profile.getstats():
            found[_named(one.code)] += one.callcount
        return dict(found)


class _Codes:
    """Bytecodes of each function of Python's."""

    def __init__(self) -> None:
        self._found: Counter[CodeType] = Counter()

    def begin(self) -> None:
        sys.settrace(self._entered)

    def end(self) -> dict[str, int]:
        sys.settrace(None)
        found: Counter[str] = Counter()
        for code, count in self._found.items():
            found[_named(code)] += count
        return dict(found)

    def _entered(self, frame: FrameType, _event: str, _of: Any) -> Any:
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        return self._within

    def _within(self, frame: FrameType, event: str, _of: Any) -> Any:
        if event == "opcode":
            self._found[frame.f_code] += 1
        return self._within


def _named(code: CodeType | str) -> str:
    """Where a function stands; the name of one in C without its object's address."""
    if isinstance(code, str):
        return code.split(" at 0x")[0]
    path = code.co_filename
    for root in ("/site-packages/", "/lib/python3", f"{Path(__file__).resolve().parents[1]}/"):
        if root in path:
            path = path.split(root, 1)[1]
    return f"{path}:{code.co_firstlineno}:{code.co_qualname}"


def _install() -> None:
    target = Path(os.environ[COUNT_TO])
    counts: list[_Calls | _Codes] = []

    def write(found: dict[str, Any]) -> None:
        other = target.with_suffix(".new")
        other.write_bytes(orjson.dumps(found))
        other.replace(target)

    def turn(_number: int, _frame: FrameType | None) -> None:
        if counts:
            write(counts.pop().end())
            return
        counts.append(_Codes() if os.environ[COUNT] == CODES else _Calls())
        counts[0].begin()

    def threads(_number: int, _frame: FrameType | None) -> None:
        write({str(one.native_id): one.name for one in threading.enumerate()})

    signal.signal(signal.SIGUSR1, turn)
    signal.signal(signal.SIGUSR2, threads)


if __name__ == "__main__":
    _install()
    sys.exit(main())
