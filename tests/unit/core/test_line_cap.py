"""The cap on the program's log: bounded, told, and each line of the code by itself."""

from __future__ import annotations

import logging

from node.core.limits import Window
from node.core.line_cap import LineCap
from tests.manual_clock import ManualClock


def record(line: int, *args: object, name: str = "a") -> logging.LogRecord:
    return logging.LogRecord(name, logging.WARNING, "file.py", line, "said %s", args or ("x",), None)


def test_a_line_is_written_so_often_and_then_counted() -> None:
    clock = ManualClock()
    cap = LineCap(clock, Window(3, 10.0))
    assert [bool(cap.filter(record(1))) for _ in range(10)] == [True] * 3 + [False] * 7
    assert cap.filter(record(2))  # another line of the code
    clock.advance(11)
    late = record(1, "later")
    assert cap.filter(late)
    assert late.getMessage() == "said later (and 7 lines like it before)"
    assert cap.filter(last := record(1, "100%"))
    assert last.getMessage() == "said 100%"


def test_what_is_exempt_is_never_left_out() -> None:
    cap = LineCap(ManualClock(), Window(1, 10.0), exempt=("answers",))
    assert all(cap.filter(record(1, name="answers")) for _ in range(50))
