"""Tables too long for a test: a text file beside it, [headings], one row a line, cells parted by " | "."""

from __future__ import annotations

from pathlib import Path


def sections(beside: str, name: str) -> dict[str, list[str]]:
    """The rows under each heading of the file ``name`` beside the module ``beside``; ``\\n`` ends a line."""
    found: dict[str, list[str]] = {}
    for line in Path(beside).with_name(name).read_text(encoding="utf-8").splitlines():
        if line.startswith("[") and line.endswith("]"):
            rows = found.setdefault(line[1:-1], [])
        elif line and not line.startswith("# "):
            rows.append(line.replace("\\n", "\n"))
    return found


def cells(row: str) -> list[str]:
    """What stands in a row."""
    return row.split(" | ")
