"""Tables beside the tests: a row a line, its columns parted by tabs; ``# `` begins a heading."""

from __future__ import annotations

from pathlib import Path


def rows(test: str, name: str) -> list[tuple[str, ...]]:
    """Of the table ``name`` in the folder of a test, which says ``__file__``."""
    lines = Path(test).with_name(name).read_text(encoding="utf-8").split("\n")
    return [tuple(line.split("\t")) for line in lines if line and not line.startswith("# ")]
