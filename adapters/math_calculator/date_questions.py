"""Questions about dates: day counts, dates so many days away, weekdays, ages, leap years. Pure.

The patterns stand in ``dates.toml``. Canonical text holds resolved dates; "today(...)" marks what depends on
today.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Mapping
from datetime import date
from fractions import Fraction

from adapters.math_calculator.dates import (
    FEASTS,
    MONTH,
    MONTHS,
    WEEKDAYS,
    Day,
    long_day,
    make_day,
    months_on,
    read,
    shifted,
)
from adapters.math_calculator.numbers import Undefined
from adapters.math_calculator.solution import Solution
from adapters.math_calculator.tokens import NotMath
from node.language import numbers, tables
from node.language.tables import read_table

_DATA = read_table(__package__, "dates.toml")
_NUMBER = {**numbers.single_words("en"), "a": 1, "an": 1}

_KEYWORDS = re.compile(
    r"\b(?:days?|weeks?|months?|years?|date|until|till|since|born|leap|weekday|today|today's|tomorrow|age"
    r"|countdown|ago"
    r"|long|when|calendar)\b|\d{4}-\d"
)


def may_be_date(text: str) -> bool:
    """A cheap test before the patterns."""
    return len(text) <= 200 and _KEYWORDS.search(text) is not None


def solve(text: str, today: date) -> Solution | None:
    """The answer to a date question that makes up all of ``text`` (lower case, wrappers removed), or None.
    A date that does not exist gives a solution that says so."""
    for pattern, build in _QUESTIONS:
        match = pattern.fullmatch(text)
        if match is None:
            continue
        try:
            return build(match, today)
        except NotMath:
            continue
        except Undefined as exc:
            reason = str(exc)
            sentence = reason[0].upper() + reason[1:] + "."
            return Solution(text, "date", "a date question without an answer", sentence)
    return None


_SPANS = tuple(f"{unit}{many}" for unit in ("day", "week", "month", "year") for many in ("", "s"))


def _count_unit(match: re.Match[str]) -> str:
    return next((group for group in match.groups() if group in _SPANS), "day").removesuffix("s") + "s"


def _between(start: Day, end: Day, unit: str) -> Solution:
    low, high = sorted((start.value, end.value))
    days = (high - low).days
    relative = start.is_relative or end.is_relative
    expr = f"{unit} from {start.text} to {end.text}"
    span = f"from {long_day(start.value)} to {long_day(end.value)}"
    backwards = " (counted backwards)" if end.value < start.value else ""
    whole, rest, is_exact = days, 0, True
    if unit == "weeks":
        whole, rest = divmod(days, 7)
    elif unit in ("months", "years"):
        whole = (high.year - low.year) * 12 + high.month - low.month
        whole -= months_on(low, whole) > high
        if unit == "years":
            whole //= 12
        rest = (high - months_on(low, whole * (12 if unit == "years" else 1))).days
    # a week has seven days whichever it is; months and years differ, so their rest is told in words only
    answer = str(Fraction(days, 7)) if unit == "weeks" else str(whole)
    is_exact = rest == 0 or unit == "weeks"
    name = unit if whole != 1 else unit[:-1]
    more = f" and {rest} day{'s' if rest != 1 else ''}" if rest else ""
    verb = "is" if whole == 1 and not rest else "are"
    total = "" if unit == "days" else f", {days} day{'s' if days != 1 else ''} in all"
    sentence = f"There {verb} {whole} {name}{more} {span}{backwards}{total}."
    return Solution(expr, "date", "a span between two dates", sentence, answer, is_exact, unit, relative)


def _say(
    kind: str,
    answer: str,
    values: Mapping[str, object],
    is_relative: bool,
    *,
    is_exact: bool = True,
    unit: str | None = None,
) -> Solution:
    """The answer of a kind: its canonical text, reason and sentence are templates of the table."""
    row = _DATA["answers"][kind]
    expr, sentence = row["expr"].format_map(values), row["sentence"].format_map(values)
    return Solution(expr, "date", row["reason"], sentence, answer, is_exact, unit, is_relative)


_YEARLESS = re.compile(
    rf"(?:on )?(?:(?:the )?\d{{1,2}}(?:st|nd|rd|th)?(?: of)? (?:{MONTH})"
    rf"|(?:{MONTH})\.? (?:the )?\d{{1,2}}(?:st|nd|rd|th)?)"
)
_TODAY_WORD = re.compile(r"\b(?:today|now|tomorrow|yesterday)\b")


def _solve_between(match: re.Match[str], today: date) -> Solution:
    *_, first, second = match.groups()
    start, end = read(first, today), read(second, today)
    if start.is_relative and not end.is_relative and _YEARLESS.fullmatch(first.strip(" ,.")):
        # "between 4 July and 25 December 2026" tells the year once, for both
        start = Day(read(first, end.value, -1).value)
    elif end.is_relative and not _TODAY_WORD.search(second):
        if not start.is_relative and _YEARLESS.fullmatch(second.strip(" ,.")):
            end = Day(read(second, start.value).value)
        elif end.value < start.value:
            end = read(second, start.value)  # the new year that follows that christmas
    return _between(start, end, _count_unit(match))


def _solve_until(match: re.Match[str], today: date) -> Solution:
    return _between(Day(today, is_relative=True), read(match.groups()[-1], today), _count_unit(match))


def _solve_since(match: re.Match[str], today: date) -> Solution:
    return _between(read(match.groups()[-1], today, -1), Day(today, is_relative=True), _count_unit(match))


def _move(start: Day, amount: int, unit: str) -> Solution:
    if unit in ("day", "week"):
        value = shifted(start.value, amount * (7 if unit == "week" else 1))
    else:
        value = months_on(start.value, amount * (12 if unit == "year" else 1))
    size = abs(amount)
    values = {
        "size": str(size),
        "unit": unit,
        "counted": unit if size == 1 else unit + "s",
        "start": start.text,
    }
    values |= {"side": "before" if amount < 0 else "after", "from_day": long_day(start.value)}
    return _say("away", value.isoformat(), {**values, "day": _named_day(value)}, start.is_relative)


def _named_day(day: date) -> str:
    return f"{calendar.day_name[day.weekday()]}, {long_day(day)}"


def _amount(text: str) -> int:
    return _NUMBER.get(text) or int(text)


def _solve_after(match: re.Match[str], today: date) -> Solution:
    amount, unit, side, day = match.groups()
    sign = -1 if side in ("before", "prior to") else 1
    return _move(read(day, today), sign * _amount(amount), unit)


def _solve_plus(match: re.Match[str], today: date) -> Solution:
    day, side, amount, unit = match.groups()
    return _move(read(day, today), (1 if side in ("+", "plus") else -1) * _amount(amount), unit)


def _solve_ago(match: re.Match[str], today: date) -> Solution:
    amount, unit, side = match.groups()
    return _move(Day(today, is_relative=True), (-1 if side == "ago" else 1) * _amount(amount), unit)


def _solve_in(match: re.Match[str], today: date) -> Solution:
    amount, unit = match.groups()
    return _move(Day(today, is_relative=True), _amount(amount), unit)


def _solve_weekday(match: re.Match[str], today: date) -> Solution:
    day = read(match[1], today)
    name = calendar.day_name[day.value.weekday()]
    tense = "is" if day.value == today else "was" if day.value < today else "will be"
    values = {"on": day.text, "day": long_day(day.value), "tense": tense, "name": name}
    return _say("weekday", name, values, day.is_relative)


def _solve_age(match: re.Match[str], today: date) -> Solution:
    born_text, on_text = match.groups()
    at = read(on_text, today) if on_text else Day(today, is_relative=True)
    if born_text.isdigit() and born_text.isascii() and len(born_text) == 4:
        age = at.value.year - int(born_text)
        if age < 0:
            raise Undefined(f"{born_text} is not in the past")
        ages = {"least": max(age - 1, 0), "age": age}
        values = {"at": at.text, "born": born_text, "day": long_day(at.value), **ages}
        return _say("age by year", str(age), values, at.is_relative, is_exact=False, unit="years")
    return _age(read(born_text, today, -1), at)


def _age(born: Day, at: Day) -> Solution:
    if born.value > at.value:
        raise Undefined(f"{long_day(born.value)} is after {long_day(at.value)}")
    had_birthday = (at.value.month, at.value.day) >= (born.value.month, born.value.day)
    age = at.value.year - born.value.year - (not had_birthday)
    values = {"at": at.text, "born": born.value.isoformat(), "birth": long_day(born.value)}
    years = f"{age} year{'s' if age != 1 else ''}"
    values |= {"years": years, "day": long_day(at.value)}
    return _say("age", str(age), values, at.is_relative, unit="years")


def _solve_age_canonical(match: re.Match[str], today: date) -> Solution:
    at, born = read(match[1], today), match[2]
    if born.isdigit():
        again = _AGE.fullmatch(f"how old is someone born in {born} on {at.text}")
        if again is None:
            raise NotMath("not an age")
        return _solve_age(again, today)
    return _age(read(born, today, -1), at)


def _year(text: str, today: date) -> tuple[int, bool]:
    shift = {"this year": 0, "next year": 1, "last year": -1}.get(text)
    if shift is not None:
        return today.year + shift, True
    year = int(text)
    make_day(year, 1, 1)
    return year, False


def _solve_leap(match: re.Match[str], today: date) -> Solution:
    year, relative = _year(match[1], today)
    leap = calendar.isleap(year)
    rule = (
        "it is divisible by 400" if year % 400 == 0
        else "it is divisible by 100 but not by 400" if year % 100 == 0
        else "it is divisible by 4 and not by 100" if leap
        else "it is not divisible by 4"
    )  # fmt: skip
    yes, verb = ("Yes", "is") if leap else ("No", "is not")
    return _say("leap", yes.lower(), {"year": year, "yes": yes, "verb": verb, "rule": rule}, relative)


def _solve_next_leap(match: re.Match[str], today: date) -> Solution:
    start = _year(match[1], today)[0] if match[1] else today.year
    year = next((y for y in range(start + 1, start + 9) if calendar.isleap(y)), start)
    return _say("next leap", str(year), {"start": start, "year": year}, not match[1])


def _solve_days_in(match: re.Match[str], today: date) -> Solution:
    month, month_year, year_text, phrase = match.groups()
    if phrase == "a leap year":
        return _length("a leap year", "A leap year has 366 days.", 366)
    if phrase in ("a year", "a common year", "one year"):
        return _length("a year", "A common year has 365 days, a leap year 366.", 365, is_exact=False)
    if not month:
        year, relative = _year(year_text or phrase, today)
        days = 366 if calendar.isleap(year) else 365
        return _length(str(year), f"{year} has {days} days.", days, is_relative=relative)
    name = calendar.month_name[MONTHS[month]]
    if not month_year and MONTHS[month] == 2:
        sentence = "February has 28 days, 29 in leap years."
        return _length("february", sentence, 28, of="month", is_exact=False)
    year = int(month_year) if month_year else 2025
    make_day(year, 1, 1)
    days = calendar.monthrange(year, MONTHS[month])[1]
    label = f"{name} {year}" if month_year else name
    return _length(label.lower(), f"{label} has {days} days.", days, of="month")


def _length(
    name: str, sentence: str, days: int, *, of: str = "year", is_exact: bool = True, is_relative: bool = False
) -> Solution:
    reason = f"the length of a {of}"
    return Solution(
        f"number of days in {name}", "date", reason, sentence, str(days), is_exact, "days", is_relative
    )


def _solve_today(match: re.Match[str], today: date) -> Solution:
    values = {"today": today.isoformat(), "day": _named_day(today)}
    return _say("today", today.isoformat(), values, is_relative=True)


def _solve_week(match: re.Match[str], today: date) -> Solution:
    day = read(match[1], today)
    week = day.value.isocalendar().week
    values = {"on": day.text, "day": long_day(day.value), "week": week}
    return _say("week", str(week), values, day.is_relative)


def _solve_years(match: re.Match[str], today: date) -> Solution:
    first, second, since, ago, until = match.groups()
    this = str(today.year)
    relative = second is None or not second.isdigit()
    low, high = (
        (this, until) if until else (first or since or ago, second if second and second.isdigit() else this)
    )
    span = abs(int(high) - int(low))
    years = "is 1 year" if span == 1 else f"are {span} years"
    return _say("years", str(span), {"low": low, "high": high, "years": years}, relative, unit="years")


def _solve_when(match: re.Match[str], today: date) -> Solution:
    text = match[1].removeprefix("the ").removeprefix("this ")
    if text.startswith("next ") and text[5:] in FEASTS:
        text = text[5:]
    day = read(text, today, -1 if text.startswith("last ") else 1)
    named = (
        "That"
        if text[-1:].isdigit() and text[:1].isdigit()
        else " ".join(word[:1].upper() + word[1:] for word in text.split())
    )
    values = {"on": day.text, "named": named, "day": _named_day(day.value)}
    return _say("when", day.value.isoformat(), values, day.is_relative)


_SOLVES: Mapping[str, Callable[[re.Match[str], date], Solution]] = {
    "today": _solve_today,
    "between": _solve_between,
    "until": _solve_until,
    "after": _solve_after,
    "ago": _solve_ago,
    "in": _solve_in,
    "plus": _solve_plus,
    "age": _solve_age,
    "age as written": _solve_age_canonical,
    "leap": _solve_leap,
    "next leap": _solve_next_leap,
    "days in": _solve_days_in,
    "weekday": _solve_weekday,
    "week": _solve_week,
    "years": _solve_years,
    "when": _solve_when,
    "since": _solve_since,
}
_NAMED = sorted((re.escape(name) for name in (*FEASTS, *WEEKDAYS)), key=len, reverse=True)
_WORDS = {**_DATA["words"], "month": [MONTH], "named": _NAMED}
_QUESTIONS = tuple(
    (tables.pattern((), _WORDS, question["pattern"]), _SOLVES[question["asks"]])
    for question in _DATA["questions"]
)
_AGE = next(pattern for pattern, solves in _QUESTIONS if solves is _solve_age)
NAMES: tuple[str, ...] = (*MONTHS, *WEEKDAYS, *FEASTS)
"""Names of months, weekdays and feasts."""
WORDS = frozenset(
    word for pattern, _ in _QUESTIONS for word in re.findall(r"[a-z]{2,}", pattern.pattern.replace("s?", "s"))
) | {word for name in NAMES for word in name.split()}
"""The words that date questions are made of."""
