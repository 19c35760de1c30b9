"""Dates as they are written and named: 1 March 2025, next friday, christmas.

Rules: the proleptic Gregorian calendar, years 1 to 9999; today is what the caller says, in the asker's zone.
Accepted are
2025-03-01, 1 March 2025, March 1, 2025 and d/m/y only where one reading is possible; a date that does not
exist
is answered with the reason. Canonical text holds resolved dates; "today(...)" marks what depends on today.
Pure.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta

from adapters.math_calculator.numbers import Undefined
from adapters.math_calculator.tokens import NotMath
from node.language.tables import read_table

MONTHS = {name.lower(): index for index, name in enumerate(calendar.month_name) if name}
MONTHS |= {name[:3].lower(): index for index, name in enumerate(calendar.month_name) if name} | {"sept": 9}
WEEKDAYS = {name.lower(): index for index, name in enumerate(calendar.day_name)}
MONTH = "|".join(sorted(MONTHS, key=len, reverse=True))
_SHIFT_MAX = 4_000_000
"""Days; more than from year 1 to year 9999."""


@dataclass(frozen=True, slots=True)
class Day:
    """A resolved date; ``is_relative`` when it was found from today's."""

    value: date
    is_relative: bool = False

    @property
    def text(self) -> str:
        return f"today({self.value.isoformat()})" if self.is_relative else self.value.isoformat()


def long_day(value: date) -> str:
    return f"{value.day} {calendar.month_name[value.month]} {value.year}"


def make_day(year: int, month: int, day: int) -> date:
    """Raises ``Undefined`` with the reason for a date that does not exist."""
    if not 1 <= year <= 9999:
        raise Undefined("dates are computed for the years 1 to 9999 only")
    if not 1 <= month <= 12:
        raise Undefined(f"there is no month {month}")
    longest = calendar.monthrange(year, month)[1]
    if not 1 <= day <= longest:
        name = calendar.month_name[month]
        raise Undefined(f"{day} {name} {year} does not exist: {name} {year} has {longest} days")
    return date(year, month, day)


# --- reading one date --------------------------------------------------------------------------------

_ISO = re.compile(r"(today\()?(\d{1,30})-(\d{1,2})-(\d{1,2})(\))?")
_DAY_MONTH = re.compile(rf"(?:the )?(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? ({MONTH})\.?,?(?: (\d{{1,30}}))?")
_MONTH_DAY = re.compile(rf"({MONTH})\.? (?:the )?(\d{{1,2}})(?:st|nd|rd|th)?(?:,? (\d{{1,30}}))?")
_SLASHED = re.compile(r"(\d{1,2})([/.])(\d{1,2})\2(\d{4})")
_SLASHED_YEAR_FIRST = re.compile(r"(\d{4})[/.](\d{1,2})[/.](\d{1,2})")


def _easter(year: int) -> tuple[int, int]:
    """Western Easter by the anonymous Gregorian algorithm (Meeus, Astronomical Algorithms, chapter 8)."""
    a, b, c = year % 19, year // 100, year % 100
    h = (19 * a + b - b // 4 - (b - (b + 8) // 25 + 1) // 3 + 15) % 30
    k = (32 + 2 * (b % 4) + 2 * (c // 4) - h - c % 4) % 7
    m = (a + 11 * h + 22 * k) // 451
    return (h + k - 7 * m + 114) // 31, (h + k - 7 * m + 114) % 31 + 1


def _thanksgiving(year: int) -> tuple[int, int]:
    first = date(year, 11, 1).weekday()
    return 11, 1 + (3 - first) % 7 + 21


def _fixed(month: int, day: int) -> Callable[[int], tuple[int, int]]:
    return lambda year: (month, day)


_MOVING = {"easter": _easter, "thanksgiving": _thanksgiving}


def _feasts() -> dict[str, Callable[[int], tuple[int, int]]]:
    found: dict[str, Callable[[int], tuple[int, int]]] = {}
    for day, names in read_table(__package__, "dates.toml")["feasts"].items():
        month, _, number = day.partition("-")
        find = _MOVING[day] if day in _MOVING else _fixed(int(month), int(number))
        found |= dict.fromkeys(names, find)
    return found


FEASTS = _feasts()


def _yearly(find: Callable[[int], tuple[int, int]], year: int | None, today: date, direction: int) -> Day:
    """A day that comes every year: in ``year``, else the next (direction 1) or last (-1) one."""
    if year is not None:
        return Day(make_day(year, *find(year)))
    for candidate in range(today.year, today.year + 9 * direction, direction):
        month, day = find(candidate)
        if day <= calendar.monthrange(candidate, month)[1]:
            value = date(candidate, month, day)
            if (value - today).days * direction >= 0:
                return Day(value, is_relative=True)
    make_day(today.year, *find(today.year))  # says why it does not exist
    raise NotMath("no such day")


def read(text: str, today: date, direction: int = 1) -> Day:
    """The date that all of ``text`` (lower case) names. Without a year it is the next one, or with
    ``direction`` -1 the last. Raises ``NotMath`` when it is no date, ``Undefined`` when it does not exist."""
    text = text.strip(" ,.")
    if text.startswith("on "):
        text = text[3:]
    offset = {"today": 0, "now": 0, "tomorrow": 1, "yesterday": -1, "the day after tomorrow": 2,
              "the day before yesterday": -2}.get(text)  # fmt: skip
    if offset is not None:
        return Day(shifted(today, offset), is_relative=True)
    match = _ISO.fullmatch(text)
    if match and bool(match[1]) == bool(match[5]):
        return Day(make_day(int(match[2]), int(match[3]), int(match[4])), is_relative=bool(match[1]))
    match = _SLASHED_YEAR_FIRST.fullmatch(text)
    if match:
        return Day(make_day(int(match[1]), int(match[2]), int(match[3])))
    match = _SLASHED.fullmatch(text)
    if match:
        return Day(_slashed(int(match[1]), int(match[3]), int(match[4]), match[2], text))
    day_first = _DAY_MONTH.fullmatch(text)
    if day_first:
        day, month, year = day_first.groups()
        return _yearly(_fixed(MONTHS[month], int(day)), int(year) if year else None, today, direction)
    month_first = _MONTH_DAY.fullmatch(text)
    if month_first:
        month, day, year = month_first.groups()
        return _yearly(_fixed(MONTHS[month], int(day)), int(year) if year else None, today, direction)
    name, _, last = text.rpartition(" ")
    name = name.removesuffix(" of").removesuffix(",")
    if name in FEASTS and last.isdigit() and last.isascii() and len(last) < 10:
        return _yearly_checked(FEASTS[name], int(last), today)
    if text.endswith((" this year", " next year", " last year")):
        feast, word, _ = text.rsplit(" ", 2)
        if feast in FEASTS:
            year = today.year + {"this": 0, "next": 1, "last": -1}[word]
            return Day(make_day(year, *FEASTS[feast](year)), is_relative=True)
    if text in FEASTS:
        return _yearly(FEASTS[text], None, today, direction)
    if text in ("the end of the year", "the end of this year", "year end"):
        return Day(date(today.year, 12, 31), is_relative=True)
    weekday = WEEKDAYS.get(text.removeprefix("next " if direction > 0 else "last "))
    if weekday is not None:
        ahead = (
            (weekday - today.weekday()) % 7 or 7 if direction > 0 else -((today.weekday() - weekday) % 7 or 7)
        )
        return Day(shifted(today, ahead), is_relative=True)
    raise NotMath("not a date")


def _yearly_checked(find: Callable[[int], tuple[int, int]], year: int, today: date) -> Day:
    make_day(year, 1, 1)
    return _yearly(find, year, today, 1)


def _slashed(first: int, second: int, year: int, mark: str, text: str) -> date:
    if first == second or second > 12 or first > 12 or mark == ".":
        if second > 12 and first <= 12 and mark == "/":
            return make_day(year, first, second)
        return make_day(year, second, first)
    raise Undefined(
        f"{text} could be {first} {calendar.month_name[second]} or {second} {calendar.month_name[first]}; "
        f"please write it as {year}-{second:02}-{first:02} or {year}-{first:02}-{second:02}"
    )


def shifted(start: date, days: int) -> date:
    if abs(days) > _SHIFT_MAX:
        raise Undefined("the result lies outside the years 1 to 9999")
    try:
        return start + timedelta(days=days)
    except OverflowError as exc:
        raise Undefined("the result lies outside the years 1 to 9999") from exc


def months_on(start: date, months: int) -> date:
    """The same day ``months`` later, or that month's last day where it is shorter."""
    if abs(months) > 12 * 10_000:
        raise Undefined("the result lies outside the years 1 to 9999")
    index = start.year * 12 + start.month - 1 + months
    year, month = index // 12, index % 12 + 1
    if not 1 <= year <= 9999:
        raise Undefined("the result lies outside the years 1 to 9999")
    return date(year, month, min(start.day, calendar.monthrange(year, month)[1]))
