"""Tables of questions in ``questions/*.txt``: sections in brackets, a row a line, its fields apart by tabs.

A field ``-`` is None, ``# `` begins a comment, and a line that begins with a tab goes on with the row above.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TypeAlias

Row: TypeAlias = tuple[str | None, ...]

FOLDER = Path(__file__).parent / "questions"


def rows(name: str, section: str) -> list[Row]:
    """The rows of a section of ``questions/<name>.txt``, in their order."""
    found = [
        tuple(None if field == "-" else field for field in re.split(r"\t+", line))
        for line in _lines(name, section)
    ]
    assert len({len(row) for row in found}) == 1, f"{name}: the rows of [{section}] differ in length"
    return found


def texts(name: str, section: str) -> list[str]:
    """The lines of a section that has one field, as they are."""
    return _lines(name, section)


def _lines(name: str, section: str) -> list[str]:
    content = (FOLDER / f"{name}.txt").read_text(encoding="utf-8").replace("\n\t", "\t")
    [body] = re.findall(rf"^\[{re.escape(section)}\]\n(.*?)(?=^\[[\w ]+\]$|\Z)", content, re.S | re.M)
    return [line for line in body.split("\n") if line and not line.startswith("# ")]
