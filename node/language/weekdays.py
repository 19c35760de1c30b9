"""Weekdays that a text names, in any language of the calendar files. Pure.

A range ("Monday to Friday", "lundi-vendredi") names the days within it. Days are numbers, Monday is 0, so
that one language can be compared with another."""

from __future__ import annotations

from functools import cache

from node.language import tables
from node.language.reading import fold
from node.language.sentences import WORD

_DAYS = 7
TEXT_CHARS_MAX = 4_000


@cache
def _names(row: str) -> dict[str, int]:
    """Each name of the row with its day; patterns are left out."""
    found: dict[str, int] = {}
    for table in tables.by_language("calendar").values():
        days = table.get(row, ())
        for day, entry in enumerate(days if len(days) == _DAYS else ()):
            found |= {name: day for name in entry.split() if name.isalpha() and len(name) > 2}
    return found


@cache
def _joins() -> frozenset[str]:
    return tables.every(tables.by_language("calendar"), "day_to_day")


def day_of(word: str) -> int | None:
    """The day that a word names, in the plural too ("sundays"), and as "Sun" but not as "sun"; None where it
    names none."""
    folded, names = fold(word), _names("weekdays")
    found = names.get(folded, names.get(folded.removesuffix("s")))
    return _names("weekdays_doubtful").get(folded) if found is None and word[:1].isupper() else found


def named(text: str) -> dict[int, str]:
    """The days that the text names, each with its words; those within a range with the range's last."""
    found: dict[int, str] = {}
    before: tuple[int, int, int] | None = None  # the day before, where its word ends, how many words ago
    text = text[:TEXT_CHARS_MAX]
    for match in WORD.finditer(text):
        day = day_of(match[0])
        if day is None:
            before = before and (*before[:2], before[2] + 1)
            continue
        if before is not None:
            between = text[before[1] : match.start()]
            is_dash = between.strip() in ("-", "–", "—")
            if is_dash or (before[2] == 1 and fold(between.strip()) in _joins()):
                span = (day - before[0]) % _DAYS
                found |= {(before[0] + step) % _DAYS: match[0] for step in range(1, span)}
        found[day] = match[0]
        before = (day, match.end(), 0)
    return found


def lacking(asked: str, note: str) -> str:
    """The weekday that ``asked`` names and ``note`` does not, in the asker's word, where the note names
    others; empty where there is none."""
    wanted = named(asked)
    said = named(note) if wanted else {}
    return ", ".join(word for day, word in wanted.items() if day not in said) if said else ""
