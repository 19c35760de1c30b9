"""Dates: explicit forms, day counts, dates so many days away, weekdays, ages, leap years.

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
from fractions import Fraction

from adapters.math_calculator.numbers import Undefined
from adapters.math_calculator.solution import Solution
from adapters.math_calculator.tokens import NotMath

_MONTHS = {name.lower(): index for index, name in enumerate(calendar.month_name) if name}
_MONTHS |= {name[:3].lower(): index for index, name in enumerate(calendar.month_name) if name} | {"sept": 9}
_WEEKDAYS = {name.lower(): index for index, name in enumerate(calendar.day_name)}
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
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


def _long(value: date) -> str:
    return f"{value.day} {calendar.month_name[value.month]} {value.year}"


def _make(year: int, month: int, day: int) -> date:
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
_DAY_MONTH = re.compile(rf"(?:the )?(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? ({_MONTH})\.?,?(?: (\d{{1,30}}))?")
_MONTH_DAY = re.compile(rf"({_MONTH})\.? (?:the )?(\d{{1,2}})(?:st|nd|rd|th)?(?:,? (\d{{1,30}}))?")
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


_FEASTS: dict[str, Callable[[int], tuple[int, int]]] = {
    "christmas": _fixed(12, 25), "christmas day": _fixed(12, 25), "xmas": _fixed(12, 25),
    "christmas eve": _fixed(12, 24), "boxing day": _fixed(12, 26), "new year": _fixed(1, 1),
    "new year's": _fixed(1, 1), "new years": _fixed(1, 1),
    "new year's day": _fixed(1, 1), "new years day": _fixed(1, 1),
    "new year's eve": _fixed(12, 31), "new years eve": _fixed(12, 31), "halloween": _fixed(10, 31),
    "valentine's day": _fixed(2, 14), "valentines day": _fixed(2, 14), "st patrick's day": _fixed(3, 17),
    "april fools day": _fixed(4, 1), "april fools' day": _fixed(4, 1),
    "easter": _easter, "easter sunday": _easter,
    "thanksgiving": _thanksgiving,
}  # fmt: skip


def _yearly(find: Callable[[int], tuple[int, int]], year: int | None, today: date, direction: int) -> Day:
    """A day that comes every year: in ``year``, else the next (direction 1) or last (-1) one."""
    if year is not None:
        return Day(_make(year, *find(year)))
    for candidate in range(today.year, today.year + 9 * direction, direction):
        month, day = find(candidate)
        if day <= calendar.monthrange(candidate, month)[1]:
            value = date(candidate, month, day)
            if (value - today).days * direction >= 0:
                return Day(value, is_relative=True)
    _make(today.year, *find(today.year))  # says why it does not exist
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
        return Day(_shifted(today, offset), is_relative=True)
    match = _ISO.fullmatch(text)
    if match and bool(match[1]) == bool(match[5]):
        return Day(_make(int(match[2]), int(match[3]), int(match[4])), is_relative=bool(match[1]))
    match = _SLASHED_YEAR_FIRST.fullmatch(text)
    if match:
        return Day(_make(int(match[1]), int(match[2]), int(match[3])))
    match = _SLASHED.fullmatch(text)
    if match:
        return Day(_slashed(int(match[1]), int(match[3]), int(match[4]), match[2], text))
    day_first = _DAY_MONTH.fullmatch(text)
    if day_first:
        day, month, year = day_first.groups()
        return _yearly(_fixed(_MONTHS[month], int(day)), int(year) if year else None, today, direction)
    month_first = _MONTH_DAY.fullmatch(text)
    if month_first:
        month, day, year = month_first.groups()
        return _yearly(_fixed(_MONTHS[month], int(day)), int(year) if year else None, today, direction)
    name, _, last = text.rpartition(" ")
    name = name.removesuffix(" of").removesuffix(",")
    if name in _FEASTS and last.isdigit() and last.isascii() and len(last) < 10:
        return _yearly_checked(_FEASTS[name], int(last), today)
    if text.endswith((" this year", " next year", " last year")):
        feast, word, _ = text.rsplit(" ", 2)
        if feast in _FEASTS:
            year = today.year + {"this": 0, "next": 1, "last": -1}[word]
            return Day(_make(year, *_FEASTS[feast](year)), is_relative=True)
    if text in _FEASTS:
        return _yearly(_FEASTS[text], None, today, direction)
    if text in ("the end of the year", "the end of this year", "year end"):
        return Day(date(today.year, 12, 31), is_relative=True)
    weekday = _WEEKDAYS.get(text.removeprefix("next " if direction > 0 else "last "))
    if weekday is not None:
        ahead = (
            (weekday - today.weekday()) % 7 or 7 if direction > 0 else -((today.weekday() - weekday) % 7 or 7)
        )
        return Day(_shifted(today, ahead), is_relative=True)
    raise NotMath("not a date")


def _yearly_checked(find: Callable[[int], tuple[int, int]], year: int, today: date) -> Day:
    _make(year, 1, 1)
    return _yearly(find, year, today, 1)


def _slashed(first: int, second: int, year: int, mark: str, text: str) -> date:
    if first == second or second > 12 or first > 12 or mark == ".":
        if second > 12 and first <= 12 and mark == "/":
            return _make(year, first, second)
        return _make(year, second, first)
    raise Undefined(
        f"{text} could be {first} {calendar.month_name[second]} or {second} {calendar.month_name[first]}; "
        f"please write it as {year}-{second:02}-{first:02} or {year}-{first:02}-{second:02}"
    )


def _shifted(start: date, days: int) -> date:
    if abs(days) > _SHIFT_MAX:
        raise Undefined("the result lies outside the years 1 to 9999")
    try:
        return start + timedelta(days=days)
    except OverflowError as exc:
        raise Undefined("the result lies outside the years 1 to 9999") from exc


def _months_on(start: date, months: int) -> date:
    """The same day ``months`` later, or that month's last day where it is shorter."""
    if abs(months) > 12 * 10_000:
        raise Undefined("the result lies outside the years 1 to 9999")
    index = start.year * 12 + start.month - 1 + months
    year, month = index // 12, index % 12 + 1
    if not 1 <= year <= 9999:
        raise Undefined("the result lies outside the years 1 to 9999")
    return date(year, month, min(start.day, calendar.monthrange(year, month)[1]))


# --- questions ---------------------------------------------------------------------------------------

_UNIT = r"(day|week|month|year)s?"
_COUNT = (
    rf"(?:how many |(?:the )?(?:total )?number of |(?:the )?difference in |count )?(?:{_UNIT}|days?)"
    r"(?: are)?(?: is)?(?: there)?(?: it)?(?: (?:left|remaining|have passed|passed|to go|in))?"
)
_BETWEEN = re.compile(
    rf"(?:{_COUNT} (?:between|from)|(?:how long|how much time)(?: is it| is there)? (?:between|from)|"
    r"(?:the )?(?:difference|time|days?) between|days from) (.{3,60}?) (?:and|to|until|till|through) "
    r"(.{3,60})"
)
_UNTIL = re.compile(
    rf"(?:{_COUNT}|how (?:long|much longer|far away)(?: is it)?(?: left)?|(?:the )?countdown) "
    r"(?:until|till|til|to|before|away is) (.{3,60}?)(?: from (?:now|today))?"
)
_IN_HOW_MANY = re.compile(r"in how many (days|weeks|months|years) (?:is|will be|will it be|comes) (.{3,60})")
_HOW_FAR = re.compile(r"(?:how far away|how (?:long|many (days|weeks|months)) away) is (.{3,60})")
_SINCE = re.compile(
    rf"(?:{_COUNT}|how long(?: is it| has it been| ago)?)(?: has it been| have passed| passed)? "
    rf"(?:since|ago was|ago is) (.{{3,60}})"
)
_AMOUNT = (
    r"(\d{1,12}|an?|one|two|three|four|five|six|seven|eight|nine|ten|twelve|thirty|forty|fifty|sixty|ninety)"
)
_NUMBER = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7,
           "eight": 8,
           "nine": 9, "ten": 10, "twelve": 12, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60,
           "ninety": 90}  # fmt: skip
_ASK_DATE = (
    r"(?:(?:what|which) (?:date|day)(?: of the week)?(?: is| was| will be| will it be| comes)?(?: it)? "
    r"|(?:what is )?(?:the )?date(?: of)? |when is |when was )?"
)
_AFTER = re.compile(
    rf"{_ASK_DATE}(?:in )?(?:exactly )?{_AMOUNT} {_UNIT} (after|before|from|since|prior to|later than) "
    rf"(.{{3,60}})"
)
_PLUS = re.compile(rf"{_ASK_DATE}(.{{3,60}}) ?(\+|-|plus|minus) ?{_AMOUNT} {_UNIT}")
_AGO = re.compile(rf"{_ASK_DATE}{_AMOUNT} {_UNIT} (ago|from now|hence|later)")
_IN = re.compile(
    rf"(?:(?:what|which) (?:date|day)(?: of the week)? (?:is it|will it be|is|will be|would it be)"
    rf"|(?:the )?date(?: will be| is)?) in {_AMOUNT} {_UNIT}(?: time)?"
)
_WEEKDAY = re.compile(
    r"(?:on )?(?:what|which) (?:day of the week|weekday|day) (?:was|is|will|did|does|falls on)(?: it)?(?: "
    r"be)? (?:on )?(.{3,60}?)"
    r"(?: (?:fall|fall on|be|on|land on))?"
)
_WEEKDAY_SHORT = re.compile(r"(?:the )?(?:day of the week|weekday)(?: of| on| for| was| is)? (.{3,60})")
_BORN = (
    r"(?:how old (?:is|are|am|would|will)(?: be)? (?:someone|somebody|a person|you|i|one|he|she|anyone)(?: "
    r"be)?(?: now| today)?,?"
    r"(?: (?:who (?:was|is|were)|if (?:i|you|he|she|they|someone|one)(?:'m| was| were| is| am| are)?))?"
    r"|(?:the )?age of (?:someone|somebody|a person)(?: who (?:was|is))?|age (?:if|when|for))"
)
_AGE = re.compile(rf"{_BORN} (?:was )?born (?:on |in )?(.{{3,60}}?)(?: on (.{{3,60}}))?")
_AGE_CANONICAL = re.compile(r"age at (.{3,60}) of birth (.{3,60})")
_LEAP = re.compile(
    r"(?:is |was |will )?(?:the year )?(\d{1,9}|this year|next year|last year)(?: be)?(?: going to be)? a "
    r"leap[ -]?year"
)
_NEXT_LEAP = re.compile(r"(?:when is |what is )?(?:the )?next leap year(?: after (\d{1,9}))?")
_DAYS_IN = re.compile(
    rf"(?:how many |(?:the )?number of )days (?:are |were |does |will )?(?:there )?(?:be )?(?:in |has "
    rf")?(?:the )?(?:month of )?(?:({_MONTH})(?:,? (?:of )?(\d{{1,9}}))?|(?:year )?(\d{{3,9}})|(this "
    rf"year|next year|last year|a leap year|an? (?:common )?year|one year))(?: have)?"
)
_TODAY = re.compile(
    r"(?:what|which) (?:day|date)(?: of the week)? (?:is it|is it today|is today|it is today)|(?:the "
    r")?(?:today's|current|todays) date(?: today)?|(?:the )?date today|date of today\((.{10})\)"
)
_DATE_OF = re.compile(
    r"(?:the )?date (?:will be |was |is |of |for )?(tomorrow|yesterday|the day after tomorrow)"
)
_ORDER = re.compile(r"(?:the )?(?:iso )?week number(?: of| for)? (.{3,60})")

_YEARS = re.compile(
    r"(?:how many |(?:the )?number of )?years (?:are |is |have passed |passed |has it been )?(?:there |it )?"
    r"(?:(?:between|from) (\d{4}) (?:and|to|until|till) (\d{4}|now|today)|since (\d{4})|ago was (\d{4})"
    r"|(?:until|till) (\d{4}))"
)
_NAMED = "|".join(sorted((re.escape(name) for name in (*_FEASTS, *_WEEKDAYS)), key=len, reverse=True))
_WHEN = re.compile(
    r"(?:(?:what|which) date (?:is|was|will be|does|falls on)|(?:the )?date(?: of| for| on)?"
    r"|when (?:is|was|will be|does))"
    rf" ((?:(?:next|this|last|the next) )?(?:{_NAMED})(?: (?:this|next|last) year|,? (?:of )?\d{{4}})?)"
    r"(?: fall| be)?"
)
_NAMED_DAY = re.compile(r"calendar day (.{3,60})")

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
    span = f"from {_long(start.value)} to {_long(end.value)}"
    backwards = " (counted backwards)" if end.value < start.value else ""
    whole, rest, is_exact = days, 0, True
    if unit == "weeks":
        whole, rest = divmod(days, 7)
    elif unit in ("months", "years"):
        whole = (high.year - low.year) * 12 + high.month - low.month
        whole -= _months_on(low, whole) > high
        if unit == "years":
            whole //= 12
        rest = (high - _months_on(low, whole * (12 if unit == "years" else 1))).days
    # a week has seven days whichever it is; months and years differ, so their rest is told in words only
    answer = str(Fraction(days, 7)) if unit == "weeks" else str(whole)
    is_exact = rest == 0 or unit == "weeks"
    name = unit if whole != 1 else unit[:-1]
    more = f" and {rest} day{'s' if rest != 1 else ''}" if rest else ""
    verb = "is" if whole == 1 and not rest else "are"
    total = "" if unit == "days" else f", {days} day{'s' if days != 1 else ''} in all"
    sentence = f"There {verb} {whole} {name}{more} {span}{backwards}{total}."
    return Solution(expr, "date", "a span between two dates", sentence, answer, is_exact, unit, relative)


_YEARLESS = re.compile(
    rf"(?:on )?(?:(?:the )?\d{{1,2}}(?:st|nd|rd|th)?(?: of)? (?:{_MONTH})"
    rf"|(?:{_MONTH})\.? (?:the )?\d{{1,2}}(?:st|nd|rd|th)?)"
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
        value = _shifted(start.value, amount * (7 if unit == "week" else 1))
    else:
        value = _months_on(start.value, amount * (12 if unit == "year" else 1))
    side = "before" if amount < 0 else "after"
    size = abs(amount)
    name = unit if size == 1 else unit + "s"
    weekday = calendar.day_name[value.weekday()]
    verb = "falls on"
    return Solution(
        f"{size} {unit}s {side} {start.text}",
        "date",
        "a date so many days, weeks, months or years away",
        f"{size} {name} {side} {_long(start.value)} {verb} {weekday}, {_long(value)}.",
        value.isoformat(),
        is_relative=start.is_relative,
    )


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
    return Solution(
        f"weekday of {day.text}",
        "date",
        "the weekday of a date",
        f"{_long(day.value)} {tense} a {name}.",
        name,
        is_relative=day.is_relative,
    )


def _solve_age(match: re.Match[str], today: date) -> Solution:
    born_text, on_text = match.groups()
    at = read(on_text, today) if on_text else Day(today, is_relative=True)
    if born_text.isdigit() and born_text.isascii() and len(born_text) == 4:
        age = at.value.year - int(born_text)
        if age < 0:
            raise Undefined(f"{born_text} is not in the past")
        return Solution(
            f"age at {at.text} of birth {born_text}",
            "date",
            "an age from a year of birth",
            f"Someone born in {born_text} is {max(age - 1, 0)} or {age} years old on {_long(at.value)}.",
            str(age),
            is_exact=False,
            unit="years",
            is_relative=at.is_relative,
        )
    return _age(read(born_text, today, -1), at)


def _age(born: Day, at: Day) -> Solution:
    if born.value > at.value:
        raise Undefined(f"{_long(born.value)} is after {_long(at.value)}")
    had_birthday = (at.value.month, at.value.day) >= (born.value.month, born.value.day)
    age = at.value.year - born.value.year - (not had_birthday)
    return Solution(
        f"age at {at.text} of birth {born.value.isoformat()}",
        "date",
        "an age from a date of birth",
        f"Someone born on {_long(born.value)} is {age} year{'s' if age != 1 else ''} old on "
        f"{_long(at.value)}.",
        str(age),
        unit="years",
        is_relative=at.is_relative,
    )


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
    _make(year, 1, 1)
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
    return Solution(
        f"is {year} a leap year",
        "date",
        "a leap year question",
        f"{'Yes' if leap else 'No'}: {year} {'is' if leap else 'is not'} a leap year, because {rule}.",
        "yes" if leap else "no",
        is_relative=relative,
    )


def _solve_next_leap(match: re.Match[str], today: date) -> Solution:
    start = _year(match[1], today)[0] if match[1] else today.year
    year = next((y for y in range(start + 1, start + 9) if calendar.isleap(y)), start)
    return Solution(
        f"next leap year after {start}",
        "date",
        "a leap year question",
        f"The next leap year after {start} is {year}.",
        str(year),
        is_relative=not match[1],
    )


def _solve_days_in(match: re.Match[str], today: date) -> Solution:
    month, month_year, year_text, phrase = match.groups()
    if phrase == "a leap year":
        return Solution(
            "number of days in a leap year",
            "date",
            "the length of a year",
            "A leap year has 366 days.",
            "366",
            unit="days",
        )
    if phrase in ("a year", "a common year", "one year"):
        return Solution(
            "number of days in a year",
            "date",
            "the length of a year",
            "A common year has 365 days, a leap year 366.",
            "365",
            False,
            "days",
        )
    if month:
        name = calendar.month_name[_MONTHS[month]]
        if not month_year:
            if _MONTHS[month] == 2:
                return Solution(
                    "number of days in february",
                    "date",
                    "the length of a month",
                    "February has 28 days, 29 in leap years.",
                    "28",
                    False,
                    "days",
                )
            year = 2025
        else:
            year = int(month_year)
            _make(year, 1, 1)
        length = calendar.monthrange(year, _MONTHS[month])[1]
        label = f"{name} {year}" if month_year else name
        return Solution(
            f"number of days in {label.lower()}",
            "date",
            "the length of a month",
            f"{label} has {length} days.",
            str(length),
            unit="days",
        )
    year, relative = _year(year_text or phrase, today)
    length = 366 if calendar.isleap(year) else 365
    return Solution(
        f"number of days in {year}",
        "date",
        "the length of a year",
        f"{year} has {length} days.",
        str(length),
        unit="days",
        is_relative=relative,
    )


def _solve_today(match: re.Match[str], today: date) -> Solution:
    name = calendar.day_name[today.weekday()]
    return Solution(
        f"date of today({today.isoformat()})",
        "date",
        "today's date",
        f"Today is {name}, {_long(today)}.",
        today.isoformat(),
        is_relative=True,
    )


def _solve_week(match: re.Match[str], today: date) -> Solution:
    day = read(match[1], today)
    week = day.value.isocalendar().week
    return Solution(
        f"week number of {day.text}",
        "date",
        "the ISO week of a date",
        f"{_long(day.value)} is in ISO week {week}.",
        str(week),
        is_relative=day.is_relative,
    )


def _solve_years(match: re.Match[str], today: date) -> Solution:
    first, second, since, ago, until = match.groups()
    this = str(today.year)
    relative = second is None or not second.isdigit()
    low, high = (
        (this, until) if until else (first or since or ago, second if second and second.isdigit() else this)
    )
    span = abs(int(high) - int(low))
    return Solution(
        f"years from {low} to {high}",
        "date",
        "a span between two years",
        f"There {'is' if span == 1 else 'are'} {span} year{'s' if span != 1 else ''} from {low} to {high}.",
        str(span),
        unit="years",
        is_relative=relative,
    )


def _solve_when(match: re.Match[str], today: date) -> Solution:
    text = match[1].removeprefix("the ").removeprefix("this ")
    if text.startswith("next ") and text[5:] in _FEASTS:
        text = text[5:]
    day = read(text, today, -1 if text.startswith("last ") else 1)
    named = (
        "That"
        if text[-1:].isdigit() and text[:1].isdigit()
        else " ".join(word[:1].upper() + word[1:] for word in text.split())
    )
    return Solution(
        f"calendar day {day.text}",
        "date",
        "the date of a named day",
        f"{named} is {calendar.day_name[day.value.weekday()]}, {_long(day.value)}.",
        day.value.isoformat(),
        is_relative=day.is_relative,
    )


_QUESTIONS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], date], Solution]], ...] = (
    (_TODAY, _solve_today),
    (_BETWEEN, _solve_between),
    (_UNTIL, _solve_until),
    (_HOW_FAR, _solve_until),
    (_IN_HOW_MANY, _solve_until),
    (_AFTER, _solve_after),
    (_AGO, _solve_ago),
    (_IN, _solve_in),
    (_PLUS, _solve_plus),
    (_AGE, _solve_age),
    (_AGE_CANONICAL, _solve_age_canonical),
    (_LEAP, _solve_leap),
    (_NEXT_LEAP, _solve_next_leap),
    (_DAYS_IN, _solve_days_in),
    (_WEEKDAY, _solve_weekday),
    (_WEEKDAY_SHORT, _solve_weekday),
    (_ORDER, _solve_week),
    (_YEARS, _solve_years),
    (_WHEN, _solve_when),
    (_NAMED_DAY, _solve_when),
    (_DATE_OF, _solve_when),
    (_SINCE, _solve_since),
)
NAMES: tuple[str, ...] = (*_MONTHS, *_WEEKDAYS, *_FEASTS)
"""Names of months, weekdays and feasts."""
WORDS = frozenset(
    word for pattern, _ in _QUESTIONS for word in re.findall(r"[a-z]{2,}", pattern.pattern.replace("s?", "s"))
) | {word for name in NAMES for word in name.split()}
"""The words that date questions are made of."""
