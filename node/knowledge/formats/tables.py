"""CSV: a manifest of documents, or a table."""

from __future__ import annotations

import csv
from collections.abc import Sequence

from node.core.errors import Rejected
from node.knowledge.formats.extracted import Bounds, Extracted, decoded, said

_DELIMITERS = ",;\t|"
_CELL_CHARS_MAX = 65_536
_ROWS_MAX = 200_000


def read(data: bytes, bounds: Bounds, path: str = "") -> Extracted:
    """A row becomes a line ``column: value; column: value``. A table that names files and says something of
    them is a manifest too. Raises ``Rejected``."""
    lines = decoded(data).splitlines()
    if not lines:
        return Extracted("")
    delimiter = max(_DELIMITERS, key=lines[0].count)
    csv.field_size_limit(_CELL_CHARS_MAX)
    try:
        rows = [row for row, _ in zip(csv.reader(lines, delimiter=delimiter), range(_ROWS_MAX), strict=False)]
    except csv.Error as exc:
        raise Rejected(f"it is no CSV: {exc}") from exc
    head = [name.strip() for name in rows[0]]
    entries = _entries(head, rows[1:])
    text = "\n".join(filter(None, (_line(head, row) for row in rows[1:]))) or "; ".join(filter(None, head))
    return Extracted(text, is_lines=True, rows=entries)


def _line(head: Sequence[str], row: Sequence[str]) -> str:
    pairs = zip(head, row, strict=False)
    return "; ".join(f"{name}: {' '.join(value.split())}" for name, value in pairs if value.strip())


def _entries(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[dict[str, list[str]]]:
    columns = said(dict.fromkeys(head, "x"))
    if "path" not in columns or len(columns) == 1:
        return []
    found = (said(dict(zip(head, row, strict=False))) for row in rows)
    return [entry for entry in found if entry.get("path")]
