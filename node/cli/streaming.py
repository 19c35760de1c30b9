"""An answer on a terminal while it arrives."""

from __future__ import annotations

import shutil
import sys
import unicodedata
from typing import Any, TextIO

_TAB = 8


class LiveAnswer:
    """Shows what ``/chat`` streams, and puts the finished answer in its place."""

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = sys.stdout if out is None else out
        self._shown = ""
        self._status = False

    def hear(self, event: str, facts: dict[str, Any]) -> None:
        """Take one event."""
        if event == "wait":
            self._clear_status()
            wait_s = facts.get("wait_s")
            when = "" if wait_s is None else f", about {wait_s:.0f} s"
            self._write(
                f"waiting for {facts.get('engine')}: {facts.get('ahead')} questions before this{when}"
            )
            self._status = True
        elif event == "delta":
            self._clear_status()
            text = _printable(str(facts.get("text", "")))
            self._shown += text
            self._write(text)
        elif event == "reset":
            self._clear_status()
            self._take_back()

    def end(self, answer: str) -> None:
        """Leave the finished answer on the screen, and the cursor on the next line."""
        self._clear_status()
        answer = _printable(answer)
        if not answer.startswith(self._shown):
            self._take_back()
        self._write(answer[len(self._shown) :] + "\n")
        self._shown = ""

    def _clear_status(self) -> None:
        if self._status:
            self._write("\r\x1b[K")
            self._status = False

    def _take_back(self) -> None:
        """Erase what is shown; what has scrolled away stays, and a new paragraph begins."""
        if not self._shown:
            return
        columns, rows = shutil.get_terminal_size()
        above = sum(_rows(line, columns) for line in self._shown.split("\n")) - 1
        if above < rows - 1:
            self._write(f"\r\x1b[{above}A\x1b[J" if above else "\r\x1b[J")
        else:
            self._write("\n\n")
        self._shown = ""

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()


def _rows(line: str, columns: int) -> int:
    columns, width = max(1, columns), 0
    for char in line:
        if char == "\t":  # to the next stop, and never into the next row
            at = width % columns
            width += min(_TAB - at % _TAB, columns - 1 - at)
        else:
            width += 2 if unicodedata.east_asian_width(char) in "WF" else 1
    return max(1, -(-width // columns))


def _printable(text: str) -> str:
    """Without what steers a terminal."""
    return "".join(char for char in text if char in "\n\t" or char.isprintable())
