"""The day that a price is asked of. Pure.

Rules of this file:
- A day is given back as it was said: ``yesterday``, ``today-3d``, ``friday``, ``last friday``, ``last week``,
  ``last month``, ``last year``, an ISO date for an absolute one, ``2024-01`` for a month.
- Prices are of the past: a bare weekday is the last one, and what is still to come is no day here.
- Stricter than everyday reading: a day and month that could be swapped (05/06/2024) name no day.
- ``day_of`` names one day for each: of a week, month or year ago the day that far back, of a month its
  first. The answer says which day it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta

from node.language import numbers
from node.language.tables import any_of, later, lexicon

_TABLES = lexicon(__package__).tables
_WORDS = _TABLES["words"]
_MONTHS = {word: int(number) for number, words in _TABLES["months"].items() for word in words}
_NAMES: tuple[str, ...] = tuple(_TABLES["weekdays"])
_WEEKDAYS = {word: number for number, words in enumerate(_TABLES["weekdays"].values()) for word in words}
_COUNTS = {word: value for word, value in numbers.single_words().items() if 1 <= value <= 20} | {
    "a": 1, "an": 1, "couple": 2,
}  # fmt: skip
_UNITS: dict[str, str] = {word: unit for unit, words in _TABLES["units"].items() for word in words}


def _any(words: Iterable[str]) -> str:
    return "|".join(sorted(words, key=len, reverse=True))


def _said_as(name: str) -> str:
    return f"(?:{any_of(_WORDS[name])})".replace(" ", r"\s")


_MONTH, _WEEKDAY, _UNIT = _any(_MONTHS), _any(_WEEKDAYS), _any(_UNITS)
_COUNT = rf"(?:\d{{1,4}}|(?:a\s)?{_any(_COUNTS)})"
_FOUND = later(
    rf"\b(?:(?P<iso>\d{{4}}(?:-\d{{1,2}}-|/\d{{1,2}}/)\d{{1,2}})"
    rf"|(?P<d1>\d{{1,2}})(?:st|nd|rd|th|er|\.)?\s(?:of\s|de\s)?(?P<m1>{_MONTH})\b\.?(?:,?\s(?:de\s|of\s|del\s)?"
    r"(?P<y1>\d{4})\b)?"
    rf"|(?P<m2>{_MONTH})\.?\s(?:the\s)?(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?\b(?:,?\s(?:of\s)?(?P<y2>\d{{4}})\b)?"
    rf"|(?P<m3>{_MONTH})\.?,?\s(?:of\s|de\s)?(?P<y4>\d{{4}})"
    r"|(?P<n1>\d{1,2})(?P<sep>[/.])(?P<n2>\d{1,2})(?P=sep)(?P<y3>\d{4})"
    rf"|(?P<before>{_said_as('day_before')})"
    rf"|(?P<yesterday>{_said_as('yesterday')}(?!\s(?:morning|evening|night|afternoon)))"
    rf"|(?P<count>{_COUNT})\s(?P<unit>{_UNIT})\s{_said_as('behind_ago')}"
    rf"|{_said_as('before_ago')}\s(?P<count2>{_COUNT})\s(?P<unit2>{_UNIT})"
    rf"|{_said_as('last')}\s(?P<last>{_WEEKDAY}|week|month|year|woche|monat|jahr)"
    rf"|(?:el|la)\s(?P<pasado>{_WEEKDAY}|semana|mes|ano)\spasad[oa]"
    rf"|(?:la\s)?(?P<dernier>{_WEEKDAY}|semaine|mois)\s(?:derniere?|scorso|passada?o?)"
    r"|(?P<lastyear>this\stime\slast\syear)"
    rf"|{_said_as('on_weekday')}\s(?P<weekday>{_WEEKDAY}))(?![\w/])",
)
_SPAN = re.compile(r"\b(?:in|over|during|within|of|for)(?:\sthe)?(?:\svery)?\s\Z")
"""Before "last week" it opens a stretch of days rather than names one."""
_ISO = re.compile(r"\d{4}-\d\d-\d\d\Z")
_MONTH_ISO = re.compile(r"(\d{4})-(\d\d)\Z")
_BACK = re.compile(r"today-(\d{1,4})d\Z")


@dataclass(frozen=True, slots=True)
class Said:
    """A time found in a text, from ``start`` to ``end``; ``date`` None when it names no past day for sure."""

    date: str | None
    start: int
    end: int


def find(folded: str, today: date) -> Said | None:
    """The first time named in a folded text of one sentence, or None when there is none."""
    match = _FOUND.search(folded)
    if match is None:
        return None
    said = _said(match, today)
    if match["last"] in _UNITS and _SPAN.search(folded[: match.start()]):
        said = None
    if said is not None and day_of(said, today) is None:
        said = None
    return Said(said, match.start(), match.end())


def day_of(said: str, today: date) -> date | None:
    """The day that a slot's ``date`` means; None when it is malformed, does not exist or is still to come."""
    try:
        day = _day(said, today)
    except (ValueError, OverflowError):
        return None
    return day if day is not None and day <= today else None


def phrase(said: str) -> str:
    """English words that ``find`` reads as the same."""
    if match := _BACK.match(said):
        return f"{match[1]} days ago"
    if match := _MONTH_ISO.match(said):
        return f"in {date(2000, int(match[2]), 1):%B} {match[1]}".lower()
    return f"on {said}" if said in _NAMES or _ISO.match(said) else said


def _day(said: str, today: date) -> date | None:
    if said == "yesterday":
        return today - timedelta(days=1)
    if match := _BACK.match(said):
        return today - timedelta(days=int(match[1])) if int(match[1]) else None
    if _ISO.match(said):
        return date.fromisoformat(said)
    if match := _MONTH_ISO.match(said):
        return date(int(match[1]), int(match[2]), 1)
    if said == "last week":
        return today - timedelta(days=7)
    if said in ("last month", "last year"):
        return _month_back(today, 1 if said == "last month" else 12)
    name = said.removeprefix("last ")
    if name in _NAMES:
        back = (today.weekday() - _NAMES.index(name)) % 7 or 7
        return today - timedelta(days=back)
    return None


def _said(match: re.Match[str], today: date) -> str | None:
    got = match.groupdict()
    try:
        if got["iso"]:
            year, month, day = (int(part) for part in re.split("[-/]", got["iso"]))
            return date(year, month, day).isoformat()
        if got["yesterday"]:
            return "yesterday"
        if got["before"]:
            return "today-2d"
        if unit := got["unit"] or got["unit2"]:
            return _ago(got["count"] or got["count2"], _UNITS[unit], today)
        if last := got["last"] or got["pasado"] or got["dernier"]:
            return f"last {_NAMES[_WEEKDAYS[last]] if last in _WEEKDAYS else _UNITS[last]}"
        if got["lastyear"]:
            return "last year"
        if got["weekday"]:
            return _NAMES[_WEEKDAYS[got["weekday"]]]
        if got["m3"]:
            return f"{int(got['y4']):04}-{_MONTHS[got['m3']]:02}"
        if got["n1"]:
            first, second, year = int(got["n1"]), int(got["n2"]), int(got["y3"])
            if first != second and first <= 12 and second <= 12 and got["sep"] == "/":
                return None
            dotted = got["sep"] == "." or second <= 12
            day, month = (first, second) if dotted else (second, first)
            return date(year, month, day).isoformat()
        return _of_month(got, today).isoformat()
    except (ValueError, OverflowError):
        return None


def _of_month(got: dict[str, str], today: date) -> date:
    day, month = int(got["d1"] or got["d2"]), _MONTHS[got["m1"] or got["m2"]]
    if year := got["y1"] or got["y2"]:
        return date(int(year), month, day)
    named = date(today.year, month, day)
    return named if named <= today else date(today.year - 1, month, day)


def _ago(count: str, unit: str, today: date) -> str:
    words = count.split()
    number = int(words[-1]) if words[-1].isdecimal() else _COUNTS[words[-1]]
    if unit in ("day", "week"):
        return f"today-{number * (7 if unit == 'week' else 1)}d"
    return _month_back(today, number * (12 if unit == "year" else 1)).isoformat()


def _month_back(day: date, months: int) -> date:
    """The same day that many months earlier, or the last day of that month."""
    year, month = divmod(day.year * 12 + day.month - 1 - months, 12)
    for last in (day.day, 30, 29, 28):
        try:
            return date(year, month + 1, min(day.day, last))
        except ValueError:
            continue
    raise ValueError("no such month")
