"""The time that a question names: "tomorrow", "last Friday", "hace 3 días", "21 November 2026". Pure.

It promises: ``find`` reads at most one time expression from folded words and says which words it took; two
that differ, a date that does not exist and a day and month that could be swapped are nothing rather than a
guess. ``said`` is canonical English whatever the language; ``days`` tells what it means. The words of all
languages are read at once, for people do not say which one they write: they stand in the languages'
``calendar`` tables. It knows no clock: today comes from the caller, in the asker's zone.

Dots write the day first; slashes and hyphens are read only where day and month cannot be swapped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from rapidfuzz.distance import OSA

from adapters.grammar import days
from adapters.grammar.days import COUNT_MAX, WEEKDAYS, NoDateError, When, phrase, resolve
from adapters.grammar.when_scripts import PLAIN_CHARS, find_script
from node.language import numbers, tables

WORDS_MAX = 200
"""``find`` looks at this many words."""

_TABLES = {code: table for code, table in tables.by_language("calendar").items() if "days" in table}
_COUNTED = {code: table["counted"] for code, table in _TABLES.items()}


def _phrases(name: str, of: Mapping[str, Mapping[str, object]] = _COUNTED) -> frozenset[tuple[str, ...]]:
    return frozenset(tuple(entry.split()) for entry in tables.every(of, name))


def _by_number(name: str) -> dict[str, int]:
    """Words by the number of the row that they stand in, of rows for every month or weekday."""
    return {
        word: number
        for table in _TABLES.values()
        for number, row in enumerate(table.get(name, ()))
        for word in row.split()
    }


_FIXED = tables.by_phrase(_TABLES, "days")
_NOT_TIMES = _phrases("not_times", _TABLES)
"""Word runs that hold a time word and mean something else; they are stepped over."""
_PARTS_OF_DAY = tables.by_phrase(_TABLES, "parts_of_day")
_WEEKDAY_WORDS = _by_number("weekdays")
_SHORT_WEEKDAYS = _by_number("weekdays_doubtful")
_DATING = tables.every(_TABLES, "dating")
_UNITS = tables.by_phrase(_TABLES, "units")
_BEFORE_UNIT = tables.by_phrase(_TABLES, "which")
_AFTER_UNIT = tables.by_phrase(_TABLES, "which_behind")
_COUNT_UNITS: dict[str, int] = {
    word: hours
    for unit, hours in {"hour": 1, **{unit: 24 * count for unit, count in days.UNIT_DAYS.items()}}.items()
    for word in tables.every(_COUNTED, unit)
}
"""Hours of a counted unit."""
_NUMBER_WORDS = {word: n for table in _COUNTED.values() for word, n in table.get("numbers", {}).items()}
"""Beside those of ``numbers``."""
_VAGUE = (("few",), ("couple",), ("paar",))
_COUNT_MAX = 99_999
_FORTNIGHT, _FORTNIGHT_HOURS = ("fortnight",), 336
_AGO_BEFORE, _AGO_AFTER = _phrases("ago_before"), _phrases("ago")
_AHEAD_BEFORE, _AHEAD_AFTER, _AHEAD_TOO = _phrases("ahead_before"), _phrases("ahead"), _phrases("ahead_too")
_BEFORE = _AGO_BEFORE | _AHEAD_BEFORE
_LAST_N, _NEXT_N = tables.every(_COUNTED, "last"), tables.every(_COUNTED, "next")
_AFTER_N = tables.every(_COUNTED, "behind_number")
_FEW_ALONE = tables.every(_COUNTED, "a_few")
"""Followed by days without a number they mean a few; "the last days" does not."""
_MONTH_WORDS = {word: number + 1 for word, number in _by_number("months").items()}
_DOUBTFUL_MONTHS = frozenset(("mar",))
"""Other words too: months only beside a day or a year."""
_MONTHS_AFTER = frozenset(
    (preposition, word)
    for table in _TABLES.values()
    for row in table["months"]
    for word in row.split()
    for preposition in tables.listed(table["month_after"])
    if word not in _DOUBTFUL_MONTHS
)
_YEAR_AFTER = tables.every(_TABLES, "year_after")
_OF_WORDS = tables.every(_TABLES, "of")

_DAY_NUMBER = re.compile(r"(\d{1,2})(?:st|nd|rd|th|er|e|o|a|ste|de)?")
_ORDINAL = re.compile(r"(\d{1,2})(?:st|nd|rd|th)")

_STRIPPED = tables.every(_TABLES, "leads")
"""Prepositions and articles that go with the expression after them."""
_PHRASAL = frozenset(("going", "goes", "went", "gone", "go", "carry", "carries"))
"""Verbs that keep their "on": what is going on today."""
_STRIPPED_MAX = 4
_BESIDE_HERE = tables.every(_TABLES, "beside_here")
"""Beside one of these "hier" is German or Dutch for here, not French for yesterday."""


@dataclass(frozen=True, slots=True)
class _Hit:
    start: int
    end: int
    when: When


def find(words: Sequence[str], today: date, *, past: bool = False) -> tuple[When | None, tuple[str, ...]]:
    """The one time expression in folded ``words`` (as in ``Reading.words``), and the words without it.

    None, with all words, when there is none, when two differ, and when a date is impossible or ambiguous.
    ``past`` reads a bare weekday and a date without a year as the latest one."""
    every = tuple(words)
    try:
        hits = list(_hits(every[:WORDS_MAX], today, past))
    except NoDateError:
        return None, every
    hits = _joined(hits, every)
    if not hits:
        return None, every
    chosen = next((hit.when for hit in hits if hit.when.said != "now"), hits[0].when)
    if not all(hit.when.means(chosen) for hit in hits):
        return None, every
    taken = {at for hit in hits for at in range(hit.start, hit.end)}
    return chosen, tuple(word for at, word in enumerate(every) if at not in taken)


def _hits(words: tuple[str, ...], today: date, past: bool) -> Iterator[_Hit]:
    at = free = 0
    while at < len(words):
        word = words[at]
        if word not in _OPENING and not word[0].isdigit() and not (at < _SPELT_WORDS and _misspelt(word)):
            at += 1
            continue
        if any(words[at : at + size] in _NOT_TIMES for size in (2, 3)):
            at += 2
            continue
        best: tuple[int, When] | None = None
        for reader in _READERS:
            found = reader(words, at, today, past)
            if found is not None and (best is None or found[0] > best[0]):
                best = found
        if best is None:
            at += 1
            continue
        start = at
        while start > free and at - start < _STRIPPED_MAX and words[start - 1] in _STRIPPED:
            if words[start - 1] == "on" and start >= 2 and words[start - 2] in _PHRASAL:
                break
            start -= 1
        yield _Hit(start, best[0], best[1])
        at = free = best[0]


def _joined(hits: list[_Hit], words: tuple[str, ...]) -> list[_Hit]:
    """ "friday 21 november": a weekday beside the date that it is, as one."""
    out: list[_Hit] = []
    for hit in hits:
        before = out[-1] if out else None
        if (
            before is not None
            and before.end == hit.start
            and days.ISO_DAY.fullmatch(hit.when.said)
            and before.when.said in WEEKDAYS
            and WEEKDAYS.index(before.when.said) == hit.when.first.weekday()
        ):
            out[-1] = _Hit(before.start, hit.end, hit.when)
        else:
            out.append(hit)
    return out


_Reader = Callable[[tuple[str, ...], int, date, bool], "tuple[int, When] | None"]


def _longest(table: Mapping[tuple[str, ...], str], words: tuple[str, ...], at: int) -> tuple[int, str] | None:
    for size in range(min(4, len(words) - at), 0, -1):
        found = table.get(words[at : at + size])
        if found is not None:
            return at + size, found
    return None


def _fixed(words: tuple[str, ...], at: int, today: date, past: bool) -> tuple[int, When] | None:
    found = _longest(_FIXED, words, at)
    if found is None:
        said = _misspelt(words[at]) if at < _SPELT_WORDS else None
        if said is None or said in WEEKDAYS or said == "weekend":
            return None
        found = at + 1, said
    end, said = found
    if words[at:end] == ("hier",) and not _BESIDE_HERE.isdisjoint(words):
        return None
    end, night = _part_of_day(words, end) if said in ("today", "tomorrow", "yesterday") else (end, False)
    when = resolve("tonight" if said == "today" and night else said, today)
    return None if when is None else (end, when)


def _part_of_day(words: tuple[str, ...], at: int) -> tuple[int, bool]:
    found = _longest(_PARTS_OF_DAY, words, at)
    return (at, False) if found is None else (found[0], found[1] == "night")


def _named(words: tuple[str, ...], at: int, today: date, past: bool) -> tuple[int, When] | None:
    """Weekdays, weekends, weeks, months and years with this, next, last."""
    before = _longest(_BEFORE_UNIT, words, at)
    start, which = before if before is not None else (at, "")
    unit = _unit(words, start, which != "" or (at > 0 and words[at - 1] in _DATING))
    if unit is None:
        return None
    end, name = unit
    if not which:
        after = _longest(_AFTER_UNIT, words, end)
        if after is not None:
            end, which = after
    if name in WEEKDAYS:
        end, _ = _part_of_day(words, end)
        said = f"{which} {name}" if which in ("next", "last") else f"last {name}" if which == "past" else name
    elif name == "weekend":
        said = "weekend" if which in ("", "this") else f"{'last' if which == 'past' else which} weekend"
    elif not which:
        return None
    elif which == "past":
        when = days.counted(-days.UNIT_DAYS[name], today, True)
        return None if when is None else (end, when)
    else:
        said = f"{which} {name}"
    when = resolve(said, today, past=past)
    return None if when is None else (end, when)


def _unit(words: tuple[str, ...], at: int, dated: bool) -> tuple[int, str] | None:
    found = _longest(_UNITS, words, at)
    if found is not None:
        return found
    if at >= len(words):
        return None
    word = words[at]
    index, doubtful = _WEEKDAY_WORDS.get(word), _SHORT_WEEKDAYS.get(word)
    if index is None and doubtful is not None and words[at + 1 : at + 2] == ("feira",):
        return at + 2, WEEKDAYS[doubtful]
    if index is None and dated:
        index = doubtful
    if index is not None:
        return at + 1, WEEKDAYS[index]
    meant = _misspelt(word) if at < _SPELT_WORDS else None
    return (at + 1, meant) if meant in WEEKDAYS or meant == "weekend" else None


def _relative(words: tuple[str, ...], at: int, today: date, past: bool) -> tuple[int, When] | None:
    """Counted days: 3 days ago, in two weeks, the last 24 hours."""
    word = words[at]
    if word in _LAST_N or word in _NEXT_N:
        return _counted_span(words, at, today)
    before = _one_of(_BEFORE, words, at)
    start = at + len(before)
    count, unit_at = _count(words, start)
    if count is None:
        if words[start : start + 1] == _FORTNIGHT:
            count, hours, end = 1, _FORTNIGHT_HOURS, start + 1
        else:
            return None
    else:
        if not before and words[unit_at : unit_at + 1] and words[unit_at] in _AFTER_N:
            return _counted_span(words, at, today)
        hours = _COUNT_UNITS.get(words[unit_at], 0) if unit_at < len(words) else 0
        end = unit_at + 1
        if words[unit_at : unit_at + 1] == _FORTNIGHT:
            hours = _FORTNIGHT_HOURS
    if hours < 24:
        return None
    behind, ahead = _one_of(_AGO_AFTER, words, end), _one_of(_AHEAD_AFTER, words, end)
    if before in _AGO_BEFORE or behind:
        sign, end = -1, end + len(behind)
    elif before in _AHEAD_BEFORE or ahead:
        sign, end = 1, end + len(ahead or _one_of(_AHEAD_TOO, words, end))
    else:
        return None
    when = days.counted(sign * (count * hours // 24), today, False)
    return None if when is None else (end, when)


def _one_of(phrases: frozenset[tuple[str, ...]], words: tuple[str, ...], at: int) -> tuple[str, ...]:
    """The longest of the phrases that stands there; empty where none does."""
    return next((words[at : at + size] for size in (3, 2, 1) if words[at : at + size] in phrases), ())


def _count(words: tuple[str, ...], at: int) -> tuple[int | None, int]:
    """A number and where the word after it stands; "a couple of", "a few" count too."""
    if at >= len(words):
        return None, at
    if words[at] in ("a", "an", "ein", "een", "un") and words[at + 1 : at + 2] in _VAGUE:
        at += 1
    word = words[at]
    if word.isascii() and word.isdigit() and len(word) <= 5:
        return int(word), at + 1
    if (found := numbers.read(words, at)) is not None and found[0] <= _COUNT_MAX:
        return found
    value = _NUMBER_WORDS.get(word)
    at += 1
    if value is not None and words[at : at + 1] == ("of",) and word == "couple":
        at += 1
    return value, at


def _counted_span(words: tuple[str, ...], at: int, today: date) -> tuple[int, When] | None:
    word = words[at]
    if word in _LAST_N or word in _NEXT_N:
        sign = -1 if word in _LAST_N else 1
        count, unit_at = _count(words, at + 1)
        if count is None:
            unit = words[at + 1 : at + 2]
            if word not in _FEW_ALONE or not unit or _COUNT_UNITS.get(unit[0]) != 24:
                return None
            count, unit_at = 3, at + 1
    else:
        count, unit_at = _count(words, at)
        if count is None or unit_at >= len(words):
            return None
        sign = -1 if words[unit_at] in _LAST_N else 1
        unit_at += 1
    hours = _COUNT_UNITS.get(words[unit_at], 0) if unit_at < len(words) else 0
    if not hours:
        return None
    when = days.counted(sign * max(1, -(-count * hours // 24)), today, True)
    return None if when is None else (unit_at + 1, when)


def _absolute(words: tuple[str, ...], at: int, today: date, past: bool) -> tuple[int, When] | None:
    """Written dates. Raises ``NoDateError``."""
    word = words[at]
    if word[0].isdigit():
        found = days.written(word) or days.separated(words[at : at + 3])
        if found is not None:
            return at + found[0], days.checked(*found[1:])
        if (match := days.ISO_MONTH.fullmatch(word)) and days.YEAR_MIN <= int(match[1]) <= days.YEAR_MAX:
            if not 1 <= int(match[2]) <= 12:
                return None
            return at + 1, days.month(int(match[1]), int(match[2]))
        if (match := days.DOTTED.fullmatch(word)) and at and words[at - 1] in ("am", "vom"):
            return at + 1, days.yearless(int(match[2]), int(match[1]), today, past)
        return (
            _day_then_month(words, at, today, past)
            or _year_alone(words, at)
            or _bare_ordinal(words, at, today, past)
        )
    return _month_first(words, at, today, past)


def _year_at(words: tuple[str, ...], at: int) -> tuple[int, int] | None:
    """A year after an optional "of": (end, year)."""
    if words[at : at + 1] and words[at] in _OF_WORDS:
        at += 1
    if (
        at < len(words)
        and days.ISO_YEAR.fullmatch(words[at])
        and days.YEAR_MIN <= int(words[at]) <= days.YEAR_MAX
    ):
        return at + 1, int(words[at])
    return None


def _dated(
    words: tuple[str, ...], end: int, month: int, day: int, today: date, past: bool
) -> tuple[int, When]:
    if year := _year_at(words, end):
        return year[0], days.checked(year[1], month, day)
    return end, days.yearless(month, day, today, past)


def _day_then_month(words: tuple[str, ...], at: int, today: date, past: bool) -> tuple[int, When] | None:
    match = _DAY_NUMBER.fullmatch(words[at])
    if match is None:
        return None
    month_at = at + 1
    while month_at < len(words) and words[month_at] in _OF_WORDS and month_at < at + 2:
        month_at += 1
    month = _MONTH_WORDS.get(words[month_at]) if month_at < len(words) else None
    if month is None:
        return None
    return _dated(words, month_at + 1, month, int(match[1]), today, past)


def _year_alone(words: tuple[str, ...], at: int) -> tuple[int, When] | None:
    if not days.ISO_YEAR.fullmatch(words[at]) or at == 0 or words[at - 1] not in _YEAR_AFTER:
        return None
    year = int(words[at])
    if not days.YEAR_MIN <= year <= days.YEAR_MAX or _COUNT_UNITS.get("".join(words[at + 1 : at + 2])):
        return None
    return at + 1, When(words[at], date(year, 1, 1), date(year, 12, 31), True)


def _bare_ordinal(words: tuple[str, ...], at: int, today: date, past: bool) -> tuple[int, When] | None:
    """ "on the 21st", at the end or before a preposition."""
    match = _ORDINAL.fullmatch(words[at])
    if match is None or words[max(0, at - 2) : at] != ("on", "the"):
        return None
    if words[at + 1 : at + 2] and words[at + 1] not in ("in", "at", "for", "and"):
        return None
    day, year, month = int(match[1]), today.year, today.month
    for _ in range(14):
        try:
            there = date(year, month, day)
        except ValueError:
            there = None
        if there is not None and (there <= today if past else there >= today):
            return at + 1, days.one(there.isoformat(), there)
        months = year * 12 + month - 1 + (-1 if past else 1)
        year, month = months // 12, months % 12 + 1
    raise NoDateError


def _month_first(words: tuple[str, ...], at: int, today: date, past: bool) -> tuple[int, When] | None:
    before = _longest(_BEFORE_UNIT, words, at)
    which = ""
    start = at
    if before is not None:
        start, which = before
    month = _MONTH_WORDS.get(words[start]) if start < len(words) else None
    if month is None:
        return None
    end = start + 1
    if not which:
        the = end + 1 if words[end : end + 1] == ("the",) else end
        match = _DAY_NUMBER.fullmatch(words[the]) if the < len(words) else None
        if match is not None and not _is_clock(words, the):
            return _dated(words, the + 1, month, int(match[1]), today, past)
        if year := _year_at(words, end):
            return year[0], days.month(year[1], month)
        if at == 0 or (words[at - 1], words[start]) not in _MONTHS_AFTER:
            return None
    elif words[start] in _DOUBTFUL_MONTHS:
        return None
    return end, days.month_from(today, which, month, past)


def _is_clock(words: tuple[str, ...], at: int) -> bool:
    return words[at + 1 : at + 2] in (("am",), ("pm",), ("uhr",), ("oclock",))


_READERS: tuple[_Reader, ...] = (_fixed, _named, _relative, _absolute)


_OPENING: frozenset[str] = frozenset(
    first
    for table in (_FIXED, _NOT_TIMES, _BEFORE_UNIT, _UNITS, _AGO_BEFORE, _AHEAD_BEFORE)
    for first, *_ in table
) | frozenset(
    (*_WEEKDAY_WORDS, *_SHORT_WEEKDAYS, *_MONTH_WORDS, *_NUMBER_WORDS, *_LAST_N, *_NEXT_N, *numbers.starts())
)
"""Words that an expression can begin with; at all others nothing is tried."""


# --- misspellings ------------------------------------------------------------------------------------

_SPELT = ("tomorrow", "yesterday", "tonight", "weekend", *WEEKDAYS)
_LETTERS_MIN = 7
"""Shorter words are too near to others ("sundae")."""
_SPELT_WORDS = 40
"""Misspellings are looked for in this many words of a text."""


@lru_cache(maxsize=512)
def _misspelt(word: str) -> str | None:
    """The long time word that ``word`` is one or two slips away from; never a plural."""
    if not _LETTERS_MIN - 1 <= len(word) <= 11 or not word.isalpha() or word[0] not in "ytwsm":
        return None
    if word in _WEEKDAY_WORDS or (word.endswith("s") and word[:-1] in _SPELT):
        return None
    for meant in _SPELT:
        if len(meant) < _LETTERS_MIN or meant[0] != word[0]:
            continue
        slips = 2 if len(meant) > _LETTERS_MIN else 1
        if OSA.distance(word, meant, score_cutoff=slips) <= slips:
            return meant
    return None


__all__ = ["COUNT_MAX", "PLAIN_CHARS", "WEEKDAYS", "When", "find", "find_script", "phrase", "resolve"]
