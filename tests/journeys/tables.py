"""Tables that stand beside the tests: in ``data``, a row a line, cells between tabs, ``#`` for remarks."""

from __future__ import annotations

from pathlib import Path


def rows(name: str) -> list[list[str]]:
    lines = (Path(__file__).parent / "data" / name).read_text(encoding="utf-8").split("\n")
    return [line.split("\t") for line in lines if line and not line.startswith("#")]
