"""An answer on a terminal: what stands there at the end, whatever came on the way."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest

from node.cli.streaming import LiveAnswer, _rows

Events = list[tuple[str, dict[str, Any]]]


def screen(written: str) -> str:
    """What a terminal of 80 columns shows after all that."""
    lines = [""]
    row = 0
    for part in re.findall(r"\x1b\[\d*[A-Z]|\n|\r|[^\x1b\n\r]+", written):
        if part == "\n":
            row += 1
            lines[row:] = lines[row:] or [""]
        elif part == "\r":
            pass  # every use is followed by an erasure of the line
        elif part.endswith("A") and part[0] == "\x1b":
            row -= int(part[2:-1])
        elif part == "\x1b[K":
            lines[row] = ""
        elif part == "\x1b[J":
            lines[row:] = [""]
        else:
            lines[row] += part
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("events", "answer"),
    [
        ([], "Done."),
        ([("delta", {"text": "Do"}), ("delta", {"text": "ne."})], "Done."),
        ([("delta", {"text": "Done"})], "Done.\n\nSource: a.txt"),
        ([("delta", {"text": "First.\nSecond [1]."})], "First.\nSecond.\n\nSource: a.txt"),
        ([("wait", {"engine": "a", "ahead": 3, "wait_s": 12.4}), ("delta", {"text": "Done."})], "Done."),
        ([("delta", {"text": "Wrong."}), ("reset", {}), ("delta", {"text": "Right."})], "Right."),
        ([("wait", {"engine": "a", "ahead": 0, "wait_s": None})], "Done."),
        ([("delta", {"text": "A \x1b[2Jtrick."})], "A [2Jtrick."),
        ([("delta", {"text": "all:\n\tgo"})], "all:\n\tgo build"),
    ],
)
def test_the_answer_is_what_stays(events: Events, answer: str) -> None:
    out = io.StringIO()
    live = LiveAnswer(out)
    for name, facts in events:
        live.hear(name, facts)
    live.end(answer)
    assert screen(out.getvalue()) == answer + "\n"


@pytest.mark.parametrize(
    ("line", "rows"),
    [("", 1), ("\tgo", 1), ("\t" * 9 + "12345678", 1), ("\t" * 9 + "123456789", 2), ("\t" * 12, 1)],
)
def test_a_tab_takes_the_room_to_the_next_stop(line: str, rows: int) -> None:
    assert _rows(line, 80) == rows
