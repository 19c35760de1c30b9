"""Finished English sentences said in another language, by tables of templates. Pure.

A table (``says/<code>.toml`` beside an adapter) has ``[sentence]`` and parts that its slots are named after:
``"It is {time} on {date} in {place}." = "Es ist {time} am {date} in {place}."``. What stands in a slot is
kept byte for byte, or is itself said by the part of its name (``{date}``, ``{date2}``), if the table has one.
A slot ``{n}`` holds a figure, ``{code}`` capital letters. What stands in square brackets may be missing. A
text is retold as a whole or not at all: two languages in one answer are worse than English.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache

from node.language import tables

SENTENCES_MAX = 8
CHARS_MAX = 2_000
FOLDER = "says"
_SLOT = re.compile(r"\{([a-z]+)(\d?)\}")
_OPTIONAL = re.compile(r"\[([^\[\]]*)\]")
_FORMS = {"n": r"[-−+(]?[^\w\s]?[\d.][\d.:,/%()^*+×−e-]*", "code": "[A-Z]{2,10}"}
_TEXT = r"(?:(?!(?<! [A-Z][a-z])\. ).)+?"
"""What any other slot holds: no end of a sentence, as "St. Louis" has none."""
_REST = "GOES_ON"

Rows = Sequence[tuple[re.Pattern[str], str]]
Tables = Mapping[str, Mapping[str, Rows]]
"""By language the parts of its tables."""


@cache
def load(package: str, *shared: str) -> Tables:
    """The tables beside an adapter, each with what ``shared`` packages have for its language; read once.
    Raises ``tomllib.TOMLDecodeError``."""
    found: dict[str, dict[str, Rows]] = {}
    for code, table in tables.by_language(FOLDER, package).items():
        parts: dict[str, list[tuple[str, str]]] = {}
        for one in (table, *(tables.by_language(FOLDER, name).get(code, {}) for name in shared)):
            for part, rows in one.items():
                parts.setdefault(part, []).extend(rows.items())
        forms = _FORMS | {
            part: "|".join(re.escape(said) for said, _ in sorted(rows, reverse=True))
            for part, rows in parts.items()
            if not any(_SLOT.search(said) for said, _ in rows)
        }
        found[code] = {
            part: [(_pattern(said, forms, goes_on=part == "sentence"), other) for said, other in rows]
            for part, rows in parts.items()
        }
    return found


def _pattern(template: str, forms: Mapping[str, str], *, goes_on: bool) -> re.Pattern[str]:
    def slot(match: re.Match[str]) -> str:
        return f"(?P<{match[1]}{match[2]}>{forms.get(match[1], _TEXT)})"

    def text() -> str:
        marked = re.sub(r"\\([{}\[\]])", r"\1", re.escape(template))
        made = _SLOT.sub(slot, marked.replace("[", "(?:").replace("]", ")?"))
        return f"(?:{made})(?: (?P<{_REST}>.+))?" if goes_on else made

    return tables.later(text)


def retold(text: str, parts: Mapping[str, Rows]) -> str | None:
    """The sentences of ``text`` in the language of ``parts``; None where one of them is not known."""
    return _sentences(text, parts, SENTENCES_MAX) if len(text) <= CHARS_MAX else None


def _sentences(text: str, parts: Mapping[str, Rows], most: int) -> str | None:
    for pattern, other in parts.get("sentence", ()) if most else ():
        whole = pattern.fullmatch(text)
        if whole is None or (said := _filled(whole, other, parts)) is None:
            continue
        if whole[_REST] is None:
            return said
        if (rest := _sentences(whole[_REST], parts, most - 1)) is not None:
            return f"{said} {rest}"
    return None


def _part(name: str, text: str, parts: Mapping[str, Rows]) -> str | None:
    """What stands in a slot; None where the part of its name has no words for it."""
    if name not in parts:
        return text
    found = ((one.fullmatch(text), other) for one, other in parts[name])
    return next((said for match, other in found if match and (said := _filled(match, other, parts))), None)


def _filled(match: re.Match[str], other: str, parts: Mapping[str, Rows]) -> str | None:
    said: dict[str, str] = {}
    for name, value in match.groupdict().items():
        if value is not None and name != _REST:
            if (made := _part(name.rstrip("0123456789"), value, parts)) is None:
                return None
            said[name] = made

    def optional(found: re.Match[str]) -> str:
        return found[1] if all(f"{a}{b}" in said for a, b in _SLOT.findall(found[1])) else ""

    kept = _OPTIONAL.sub(optional, other)
    return _SLOT.sub(lambda slot: said[f"{slot[1]}{slot[2]}"], kept)
