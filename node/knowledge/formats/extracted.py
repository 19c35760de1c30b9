"""What a reader makes of a file, and the words of ``formats.toml``."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from node.core.errors import Rejected
from node.language.sentences import one_line, plain
from node.language.tables import read_table

TITLE_CHARS_MAX = 200
_FIELD_CHARS_MAX = 500
_VALUES_MAX = 64


class Extracted(msgspec.Struct):
    """``pages``: code point at which each page of ``text`` begins; empty where the format has none.
    ``is_marked``: lines that begin with ``#`` are headings; ``is_lines``: each line is a message or a row and
    stands for itself. ``fields``: what the file says of itself, by the
    names of ``[fields]``. ``rows``: those of a manifest, likewise. ``note``: what a person should know."""

    text: str
    pages: list[int] = []
    is_marked: bool = False
    is_lines: bool = False
    title: str = ""
    fields: dict[str, list[str]] = {}
    rows: list[dict[str, list[str]]] = []
    note: str = ""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Of one file. ``archive_bytes``: what a container may hold when it is unpacked."""

    pages: int = 2_000
    chars: int = 8_000_000
    archive_bytes: int = 256 * 2**20
    archive_members: int = 5_000


def table() -> Mapping[str, Any]:
    """``formats.toml``."""
    return read_table("node.knowledge.formats", "formats.toml")


def kind_of(path: str) -> tuple[str, str] | None:
    """How a file of this name is read, and its media type; None where it is not."""
    found = table()["kinds"].get(path.rpartition(".")[2].lower()) if "." in path else None
    return None if found is None else (found[0], found[1])


_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def decoded(data: bytes) -> str:
    """The text of a file: UTF-8, UTF-16 where its mark says so, else Windows-1252. Raises ``Rejected`` for
    what is no text."""
    for mark, name in _MARKS:
        if data.startswith(mark):
            return plain(data[len(mark) :].decode(name, "replace"))
    if b"\0" in data:
        raise Rejected("it is no text: there are zero bytes in it")
    try:
        return plain(data.decode())
    except UnicodeDecodeError:
        return plain(data.decode("cp1252", "replace"))


def at(value: Any, dotted: str) -> Any:
    """What lies at a dotted name; None where nothing does."""
    for name in dotted.split("."):
        if not isinstance(value, Mapping):
            return None
        value = value.get(name)
    return value


def first(value: Any, names: Iterable[str]) -> Any:
    """The first of several names that leads to a text or a number."""
    for name in names:
        found = at(value, name)
        if isinstance(found, (str, int, float, list)) and found not in ("", []):
            return found
    return None


def said(row: Mapping[str, Any]) -> dict[str, list[str]]:
    """What a manifest's row or a file's head says, by our names; what it calls otherwise is left out."""
    lower = {str(key).strip().lower().replace(" ", "_"): value for key, value in row.items()}
    found: dict[str, list[str]] = {}
    for name, aliases in table()["fields"].items():
        for alias in aliases:
            values = _values(lower.get(alias), is_list=name in ("supersedes", "conflict_with", "tags"))
            if values:
                found[name] = values
                break
    return found


def _values(value: Any, *, is_list: bool) -> list[str]:
    items = value if isinstance(value, (list, tuple)) else [value]
    texts = [one_line(str(item), _FIELD_CHARS_MAX) for item in items if item not in (None, "")]
    if is_list:
        texts = [part for text in texts for part in text.replace("|", ";").replace(",", ";").split(";")]
    return [text.strip() for text in texts if text.strip()][:_VALUES_MAX]
