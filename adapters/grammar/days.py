"""What a time means on a given day: "today-3d", "last friday", "2026-11-21". Pure.

It promises: ``resolve`` reads what ``when.find`` calls a time, and ``phrase`` writes English words that
``find`` reads to the same; what is malformed or out of range is None. It knows no clock: today comes from the
caller.

Conventions
- Weeks start on Monday. A bare weekday is the coming one, today included; with ``past`` the one before today.
  "next friday" is the one of next week, "last friday" the latest one before today.
- "the last 7 days" runs from seven days ago to today, "the next 3 days" from today to three days ahead:
  every day that those 24 hours times n touch. Who wants whole days only leaves today out.
- Counted weeks, months and years are 7, 30 and 365 days. A date without a year is the coming one, with
  ``past`` the latest one.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta

COUNT_MAX = 36_500
"""Days that a counted time may lie away."""
YEAR_MIN, YEAR_MAX = 1900, 2199
WEEKDAYS = tuple(name.lower() for name in calendar.day_name)
MONTHS = tuple(name.lower() for name in calendar.month_name if name)
UNIT_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}
ISO_DAY = re.compile(r"(\d{4})-(\d{2})-(\d{2})")
ISO_MONTH = re.compile(r"(\d{4})-(\d{2})")
ISO_YEAR = re.compile(r"\d{4}")
DOTTED = re.compile(r"(\d{1,2})\.(\d{1,2})(?:\.(\d{4}|\d{2}))?")
_DASHED = re.compile(r"(\d{1,2})-(\d{1,2})-(\d{4})")
_COUNTED = re.compile(r"today([+-])(\d{1,5})d")
_OF = re.compile(r"(last|this|next) (week|month|year|weekend)")
_NEAR: Mapping[str, int] = {"now": 0, "today": 0, "tonight": 0, "tomorrow": 1, "yesterday": -1}


class NoDateError(Exception):
    """The words write a date that does not exist or could be read in two ways."""


@dataclass(frozen=True, slots=True)
class When:
    """A time as said and the days it means; ``first == last`` for one day. ``span``: a stretch of days was
    named, so all of them are meant."""

    said: str
    first: date
    last: date
    span: bool

    def means(self, other: When) -> bool:
        """Whether the other means the same days, however said."""
        return (self.first, self.last, self.span) == (other.first, other.last, other.span)


def resolve(said: str, today: date, *, span: bool = False, past: bool = False) -> When | None:
    """What a slot's ``said`` means on the day ``today``; None for anything malformed or out of range.

    ``span`` reads ``today-3d`` as the last three days; ``past`` reads a bare weekday as the last one."""
    try:
        return _resolve(said, today, span, past)
    except (ValueError, OverflowError):
        return None


def _resolve(said: str, today: date, span: bool, past: bool) -> When | None:
    if (days := _NEAR.get(said)) is not None:
        return one(said, today + timedelta(days=days))
    if match := _COUNTED.fullmatch(said):
        return counted(int(match[1] + match[2]), today, span)
    if said in ("weekend", "this weekend"):
        saturday = today + timedelta(days=5 - today.weekday())
        saturday -= timedelta(days=7 if past and saturday > today else 0)
        return When("weekend", saturday, saturday + timedelta(days=1), True)
    if match := _OF.fullmatch(said):
        return When(said, *_stretch(match[1], match[2], today), True)
    which, _, name = said.rpartition(" ")
    if name in WEEKDAYS and which in ("", "last", "next"):
        return one(said, _weekday(which, WEEKDAYS.index(name), today, past))
    if match := ISO_DAY.fullmatch(said):
        return one(said, _date(int(match[1]), int(match[2]), int(match[3])))
    if match := ISO_MONTH.fullmatch(said):
        return month(int(match[1]), int(match[2]))
    if ISO_YEAR.fullmatch(said):
        return When(said, _date(int(said), 1, 1), _date(int(said), 12, 31), True)
    return None


def one(said: str, day: date) -> When:
    """A single day."""
    return When(said, day, day, False)


def counted(days: int, today: date, span: bool) -> When | None:
    """So many days away or, with ``span``, all days until there; None beyond ``COUNT_MAX``."""
    if abs(days) > COUNT_MAX:
        return None
    try:
        there = today + timedelta(days=days)
    except OverflowError:
        return None
    if span and days:
        return When(f"today{days:+d}d", min(there, today), max(there, today), True)
    named = {-1: "yesterday", 0: "today", 1: "tomorrow"}.get(days)
    return one(named or f"today{days:+d}d", there)


def checked(year: int, month: int, day: int) -> When:
    """A written date. Raises ``NoDateError`` for one that does not exist."""
    try:
        return one(f"{year:04d}-{month:02d}-{day:02d}", _date(year, month, day))
    except ValueError as exc:
        raise NoDateError from exc


def yearless(month: int, day: int, today: date, past: bool) -> When:
    """The coming (or, with ``past``, the latest) such day; 29 February may be years away. Raises
    ``NoDateError``."""
    for away in range(9):
        try:
            there = _date(today.year + (-away if past else away), month, day)
        except ValueError:
            continue
        if there <= today if past else there >= today:
            return one(there.isoformat(), there)
    raise NoDateError


def written(word: str) -> tuple[int, int, int, int] | None:
    """(words taken, year, month, day) of a date written as one word."""
    if match := ISO_DAY.fullmatch(word):
        return 1, int(match[1]), int(match[2]), int(match[3])
    if (match := DOTTED.fullmatch(word)) and match[3]:
        year = int(match[3])
        return 1, year if len(match[3]) == 4 else 2000 + year, int(match[2]), int(match[1])
    if match := _DASHED.fullmatch(word):
        return 1, int(match[3]), *_unswapped(int(match[1]), int(match[2]))
    return None


def separated(three: tuple[str, ...]) -> tuple[int, int, int, int] | None:
    """Slashes divide words: 2026 11 21, 21 11 2026."""
    if len(three) < 3 or not all(word.isascii() and word.isdigit() for word in three):
        return None
    sizes = tuple(len(word) for word in three)
    first, second, third = (int(word) for word in three) if max(sizes) <= 4 else (0, 0, 0)
    if sizes[0] == 4 and max(sizes[1:]) <= 2 and YEAR_MIN <= first <= YEAR_MAX:
        return 3, first, second, third
    if sizes[2] == 4 and max(sizes[:2]) <= 2 and YEAR_MIN <= third <= YEAR_MAX:
        return 3, third, *_unswapped(first, second)
    return None


def _unswapped(first: int, second: int) -> tuple[int, int]:
    """(month, day) where only one order is possible."""
    if first == second or first > 12:
        return second, first
    if second > 12:
        return first, second
    raise NoDateError


def month(year: int, month: int) -> When:
    """All of a month. Raises ``ValueError``."""
    first = _date(year, month, 1)
    return When(f"{year:04d}-{month:02d}", first, _end_of_month(first), True)


def month_from(today: date, which: str, number: int, past: bool) -> When:
    """The month ``number`` that is meant by it alone, or by it after "last" or "next". Raises
    ``NoDateError``."""
    away = number - today.month
    if which in ("last", "past"):
        years = -1 if away >= 0 else 0
    elif which == "next":
        years = 1 if away <= 0 else 0
    elif past:
        years = -1 if away > 0 else 0
    else:
        years = 1 if away < 0 else 0
    try:
        return month(today.year + years, number)
    except ValueError as exc:
        raise NoDateError from exc


def _date(year: int, month: int, day: int) -> date:
    if not YEAR_MIN <= year <= YEAR_MAX:
        raise ValueError("a year out of range")
    return date(year, month, day)


def _weekday(which: str, index: int, today: date, past: bool) -> date:
    if which == "next":
        return today + timedelta(days=7 - today.weekday() + index)
    back = (today.weekday() - index) % 7
    if which == "last" or past:
        return today - timedelta(days=back or 7)
    return today + timedelta(days=-back % 7)


def _stretch(which: str, unit: str, today: date) -> tuple[date, date]:
    step = {"last": -1, "this": 0, "next": 1}[which]
    if unit in ("week", "weekend"):
        monday = today + timedelta(days=7 * step - today.weekday())
        return monday + timedelta(days=5 if unit == "weekend" else 0), monday + timedelta(days=6)
    if unit == "year":
        return _date(today.year + step, 1, 1), _date(today.year + step, 12, 31)
    months = today.year * 12 + today.month - 1 + step
    first = _date(months // 12, months % 12 + 1, 1)
    return first, _end_of_month(first)


def _end_of_month(first: date) -> date:
    return first.replace(day=calendar.monthrange(first.year, first.month)[1])


def phrase(when: When) -> str:
    """English words that ``when.find`` reads back to ``when`` on the same day."""
    said = when.said
    if match := _COUNTED.fullmatch(said):
        days = match[2]
        if when.span:
            return f"in the {'next' if match[1] == '+' else 'last'} {days} days"
        return f"in {days} days" if match[1] == "+" else f"{days} days ago"
    if said == "weekend":
        return "this weekend"
    if said in WEEKDAYS or ISO_DAY.fullmatch(said):
        return f"on {said}"
    if match := ISO_MONTH.fullmatch(said):
        return f"in {MONTHS[int(match[2]) - 1]} {match[1]}"
    return f"in {said}" if ISO_YEAR.fullmatch(said) else said
