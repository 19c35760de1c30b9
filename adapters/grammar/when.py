"""The time that a question names: "tomorrow", "last Friday", "hace 3 días", "21 November 2026". Pure.

It promises: ``find`` reads at most one time expression from folded words and says which words it took; two
that differ, a date that does not exist and a day and month that could be swapped are nothing rather than a
guess. ``said`` is canonical English whatever the language, ``resolve`` reads it back, and ``phrase`` writes
words that ``find`` reads to the same. It knows no clock: today comes from the caller, in the asker's zone.

Conventions
- Weeks start on Monday. A bare weekday is the coming one, today included; with ``past`` the one before today.
  "next friday" is the one of next week, "last friday" the latest one before today.
- "the last 7 days" runs from seven days ago to today, "the next 3 days" from today to three days ahead:
  every day that those 24 hours times n touch. Who wants whole days only leaves today out.
- Counted weeks, months and years are 7, 30 and 365 days. A date without a year is the coming one, with
  ``past`` the latest one.
- Dots write the day first; slashes and hyphens are read only where day and month cannot be swapped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache

from rapidfuzz.distance import OSA

from node.language import numbers
from node.language.reading import word_list
from node.language.tables import read_table

_DATA = read_table(__package__, "when.toml")

WORDS_MAX = 200
"""``find`` looks at this many words."""
COUNT_MAX = 36_500
"""Days that a counted time may lie away."""
YEAR_MIN, YEAR_MAX = 1900, 2199


@dataclass(frozen=True, slots=True)
class When:
    """A time as said and the days it means; ``first == last`` for one day. ``span``: a stretch of days was
    named, so all of them are meant."""

    said: str
    first: date
    last: date
    span: bool


# --- from a slot's value ------------------------------------------------------------------------------

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MONTHS = (
    word_list("january february march april may june july august september october november december")
)  # fmt: skip
_COUNTED = re.compile(r"today([+-])(\d{1,5})d")
_ISO_DAY = re.compile(r"(\d{4})-(\d{2})-(\d{2})")
_ISO_MONTH = re.compile(r"(\d{4})-(\d{2})")
_ISO_YEAR = re.compile(r"\d{4}")
_OF = re.compile(r"(last|this|next) (week|month|year|weekend)")


def resolve(said: str, today: date, *, span: bool = False, past: bool = False) -> When | None:
    """What a slot's ``said`` means on the day ``today``; None for anything malformed or out of range.

    ``span`` reads ``today-3d`` as the last three days; ``past`` reads a bare weekday as the last one."""
    try:
        return _resolve(said, today, span, past)
    except (ValueError, OverflowError):
        return None


def _resolve(said: str, today: date, span: bool, past: bool) -> When | None:
    days = _NEAR.get(said)
    if days is not None:
        return _one(said, today + timedelta(days=days))
    if match := _COUNTED.fullmatch(said):
        return _counted(int(match[2]) * (1 if match[1] == "+" else -1), today, span)
    if said == "weekend" or (match := _OF.fullmatch(said)):
        which, unit = ("this", "weekend") if said == "weekend" else (said.split()[0], said.split()[1])
        if unit == "weekend" and which == "this":
            return When("weekend", *_weekend(today, past), True)
        return When(said, *_stretch(which, unit, today), True)
    which, _, name = said.rpartition(" ")
    if name in WEEKDAYS and which in ("", "last", "next"):
        return _one(said, _weekday(which, WEEKDAYS.index(name), today, past))
    if match := _ISO_DAY.fullmatch(said):
        return _one(said, _date(int(match[1]), int(match[2]), int(match[3])))
    if match := _ISO_MONTH.fullmatch(said):
        return _month(int(match[1]), int(match[2]))
    if _ISO_YEAR.fullmatch(said):
        return When(said, _date(int(said), 1, 1), _date(int(said), 12, 31), True)
    return None


_NEAR: Mapping[str, int] = {"now": 0, "today": 0, "tonight": 0, "tomorrow": 1, "yesterday": -1}


def _one(said: str, day: date) -> When:
    return When(said, day, day, False)


def _date(year: int, month: int, day: int) -> date:
    if not YEAR_MIN <= year <= YEAR_MAX:
        raise ValueError("a year out of range")
    return date(year, month, day)


def _counted(days: int, today: date, span: bool) -> When | None:
    if abs(days) > COUNT_MAX:
        return None
    there = today + timedelta(days=days)
    if span and days:
        return When(f"today{days:+d}d", min(there, today), max(there, today), True)
    named = {-1: "yesterday", 0: "today", 1: "tomorrow"}.get(days)
    return _one(named or f"today{days:+d}d", there)


def _weekday(which: str, index: int, today: date, past: bool) -> date:
    if which == "next":
        return today + timedelta(days=7 - today.weekday() + index)
    back = (today.weekday() - index) % 7
    if which == "last" or past:
        return today - timedelta(days=back or 7)
    return today + timedelta(days=-back % 7)


def _weekend(today: date, past: bool) -> tuple[date, date]:
    saturday = today + timedelta(days=5 - today.weekday())
    if past and saturday > today:
        saturday -= timedelta(days=7)
    return saturday, saturday + timedelta(days=1)


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


def _month(year: int, month: int) -> When:
    first = _date(year, month, 1)
    return When(f"{year:04d}-{month:02d}", first, _end_of_month(first), True)


def _end_of_month(first: date) -> date:
    return (first.replace(day=28) + timedelta(days=4)).replace(day=1) - timedelta(days=1)


def phrase(when: When) -> str:
    """English words that ``find`` reads back to ``when`` on the same day."""
    said = when.said
    if match := _COUNTED.fullmatch(said):
        days = match[2]
        if when.span:
            return f"in the {'next' if match[1] == '+' else 'last'} {days} days"
        return f"in {days} days" if match[1] == "+" else f"{days} days ago"
    if said == "weekend":
        return "this weekend"
    if said in WEEKDAYS or _ISO_DAY.fullmatch(said):
        return f"on {said}"
    if match := _ISO_MONTH.fullmatch(said):
        return f"in {MONTHS[int(match[2]) - 1]} {match[1]}"
    return f"in {said}" if _ISO_YEAR.fullmatch(said) else said


# --- the words ----------------------------------------------------------------------------------------


def _table(rows: Mapping[str, str]) -> dict[tuple[str, ...], str]:
    """Rows of alternatives split by ``|``, words by blanks."""
    return {tuple(phrase.split()): said for said, row in rows.items() for phrase in row.split("|")}


_FIXED = _table(_DATA["fixed"])
_NOT_TIMES = frozenset(_table(_DATA["not_times"]))
"""Word runs that hold a time word and mean something else; they are stepped over."""

_PARTS_OF_DAY = _table(_DATA["parts_of_day"])

_WEEKDAY_ROWS = tuple(_DATA["weekday_rows"])
_WEEKDAY_WORDS = {word: index for index, row in enumerate(_WEEKDAY_ROWS) for word in row.split()}
_SHORT_WEEKDAYS = {
    # Words of their own ("sun", Portuguese ordinals): weekdays only after a word that dates ("on sun").
    "mon": 0, "segunda": 0, "terca": 1, "wed": 2, "quarta": 2, "quinta": 3, "sexta": 4, "sat": 5, "sun": 6,
}  # fmt: skip
_DATING = frozenset(word_list("on na nesta this next last proxima"))

_UNITS: dict[tuple[str, ...], str] = {
    tuple(words.split("_")): unit for unit, row in _DATA["units"].items() for words in row.split()
}
_BEFORE_UNIT: dict[tuple[str, ...], str] = {
    tuple(words.split("_")): which for which, row in _DATA["before_unit"].items() for words in row.split()
}
_AFTER_UNIT: dict[tuple[str, ...], str] = {
    tuple(words.split("_")): which
    for which, row in {
        "next": "prochain prochaine prossimo prossima proximo proxima que_viene que_vem que_entra",
        "last": "dernier derniere pasado pasada passe passee scorso scorsa passado passada",
    }.items()
    for words in row.split()
}
_UNIT_DAYS = {"week": 7, "month": 30, "year": 365}

_COUNT_UNITS: dict[str, int] = {
    **dict.fromkeys(word_list("day days tag tage tagen dia dias jour jours giorno giorni"), 24),
    **dict.fromkeys(word_list("hour hours hrs h stunden horas heures ore"), 1),
    **dict.fromkeys(
        word_list("week weeks woche wochen semana semanas semaine semaines settimana settimane"), 168
    ),
    **dict.fromkeys(word_list("month months monat monate monaten mes meses mois mese mesi"), 720),
    **dict.fromkeys(word_list("year years jahr jahre jahren ano anos an ans annee annees anno anni"), 8760),
}
"""Hours of a counted unit."""
_NUMBER_WORDS = {"a": 1, "an": 1, "couple": 2, "few": 3, "several": 3, "paar": 3, "fortnight": 14}
"""Beside those of ``numbers``."""
_COUNT_MAX = 99_999
_AGO_BEFORE = frozenset([("hace",), ("vor",), ("il", "y", "a"), ("y", "a"), ("ha",), ("faz",)])
_AGO_AFTER = frozenset(
    [("ago",), ("back",), ("earlier",), ("before", "today"), ("fa",), ("atras",), ("before", "now")]
)
_AHEAD_BEFORE = frozenset(
    [("in",), ("dentro", "de"), ("en",), ("dans",), ("tra",), ("fra",), ("em",), ("daqui", "a"), ("within",)]
)
_AHEAD_AFTER = frozenset([("from", "now"), ("from", "today"), ("ahead",), ("hence",), ("time",), ("later",)])
_LAST_N = frozenset(
    word_list(
        "last past previous recent letzten letzte vergangenen ultimos ultimas derniers dernieres ultimi"
        " ultime passati pasados pasadas"
    )
)
_NEXT_N = frozenset(
    word_list(
        "next coming following upcoming nachsten nachste kommenden proximos proximas prochains prochaines"
        " prossimi prossime"
    )
)
_AFTER_N = frozenset(word_list("derniers dernieres dernier prochains prochaines"))
"""French puts them after the number: les 7 derniers jours."""
_FEW_ALONE = (_LAST_N | _NEXT_N) - frozenset(word_list("last past previous next following coming upcoming"))
"""Followed by days without a number they mean a few; "the last days" does not."""

_MONTH_ROWS: tuple[tuple[str, ...], ...] = (
    # by language: en, de, es, fr, it, pt
    tuple(word_list("january_jan januar_janner enero janvier gennaio janeiro")),
    tuple(word_list("february_feb februar febrero fevrier febbraio fevereiro")),
    tuple(word_list("march_mar marz marzo mars marzo marco")),
    tuple(word_list("april_apr april abril avril aprile abril")),
    tuple(word_list("may mai mayo mai maggio maio")),
    tuple(word_list("june_jun juni junio juin giugno junho")),
    tuple(word_list("july_jul juli julio juillet luglio julho")),
    tuple(word_list("august_aug august agosto aout agosto agosto")),
    tuple(word_list("september_sept_sep september septiembre_setiembre septembre settembre setembro")),
    tuple(word_list("october_oct oktober_okt octubre octobre ottobre outubro")),
    tuple(word_list("november_nov november noviembre novembre novembre novembro")),
    tuple(word_list("december_dec dezember_dez diciembre decembre dicembre dezembro")),
)
_MONTH_WORDS: dict[str, int] = {
    word: number for number, row in enumerate(_MONTH_ROWS, 1) for cell in row for word in cell.split("_")
}
_MONTH_PREPOSITIONS = (
    frozenset(word_list("in during for of since throughout")),
    frozenset(word_list("im")),
    frozenset(word_list("en de durante")),
    frozenset(word_list("en")),
    frozenset(word_list("in a nel")),
    frozenset(word_list("em")),
)
_MONTHS_AFTER: frozenset[tuple[str, str]] = frozenset(
    (preposition, word)
    for row in _MONTH_ROWS
    for cell, prepositions in zip(row, _MONTH_PREPOSITIONS, strict=True)
    for word in cell.split("_")
    for preposition in prepositions
    if word not in ("mar",)
)
_YEAR_AFTER = frozenset(word_list("in im en em nel during of year jahr de del do"))
_OF_WORDS = frozenset(word_list("of de di do del da d' des"))

_DAY_NUMBER = re.compile(r"(\d{1,2})(?:st|nd|rd|th|er|e|o|a)?")
_ORDINAL = re.compile(r"(\d{1,2})(?:st|nd|rd|th)")
_YEAR = re.compile(r"\d{4}")
_DOTTED = re.compile(r"(\d{1,2})\.(\d{1,2})(?:\.(\d{4}|\d{2}))?")
_DASHED = re.compile(r"(\d{1,2})-(\d{1,2})-(\d{4})")

_STRIPPED = frozenset(
    word_list(
        "on at for from by of over during in the as later earlier this am an im vom von fur zum zur dem den"
        " der die das des del de d' di do da dos el la los las le les l' il lo gli para por pour per nel"
        " nella nei negli nelle nell' dell' della degli delle em no na nos nas en au aux du cours al ces"
    )
)
"""Prepositions and articles that go with the expression after them."""
_PHRASAL = frozenset(word_list("going goes went gone go carry carries"))
"""Verbs that keep their "on": what is going on today."""
_STRIPPED_MAX = 4
_GERMAN = frozenset(
    word_list(
        "ist wie wird das der die wetter und es regnet schneit warm kalt spat uhr heute morgen wo ich mir"
        " gibt nachrichten zeit bei uns draussen war hat haben sind ein eine auf fur was"
    )
)
"""Beside one of these "hier" is German for here, not French for yesterday."""


class _NoDateError(Exception):
    """The words write a date that does not exist or could be read in two ways."""


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
    except _NoDateError:
        return None, every
    hits = _joined(hits, every)
    if not hits:
        return None, every
    chosen = next((hit.when for hit in hits if hit.when.said != "now"), hits[0].when)
    for hit in hits:
        same = (hit.when.first, hit.when.last, hit.when.span) == (chosen.first, chosen.last, chosen.span)
        if not same:
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
            and _ISO_DAY.fullmatch(hit.when.said)
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
    if words[at:end] == ("hier",) and not _GERMAN.isdisjoint(words):
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
        when = _counted(-_UNIT_DAYS[name], today, True)
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
    index = _WEEKDAY_WORDS.get(word)
    if index is None and dated:
        index = _SHORT_WEEKDAYS.get(word)
    if index is None and word in _SHORT_WEEKDAYS and words[at + 1 : at + 2] == ("feira",):
        return at + 2, WEEKDAYS[_SHORT_WEEKDAYS[word]]
    if index is not None:
        return at + 1, WEEKDAYS[index]
    meant = _misspelt(word) if at < _SPELT_WORDS else None
    return (at + 1, meant) if meant in WEEKDAYS or meant == "weekend" else None


def _relative(words: tuple[str, ...], at: int, today: date, past: bool) -> tuple[int, When] | None:
    """Counted days: 3 days ago, in two weeks, the last 24 hours."""
    word = words[at]
    if word in _LAST_N or word in _NEXT_N:
        return _counted_span(words, at, today)
    before = _opening(words, at)
    start = at + len(before)
    count, unit_at = _count(words, start)
    if count is None:
        if words[start : start + 1] == ("fortnight",):
            count, hours, end = 1, 336, start + 1
        else:
            return None
    else:
        if not before and words[unit_at : unit_at + 1] and words[unit_at] in _AFTER_N:
            return _counted_span(words, at, today)
        hours = _COUNT_UNITS.get(words[unit_at], 0) if unit_at < len(words) else 0
        end = unit_at + 1
        if words[unit_at : unit_at + 1] == ("fortnight",):
            hours = 336
    if hours < 24:
        return None
    days = count * hours // 24
    after = next((words[end : end + n] for n in (2, 1) if words[end : end + n] in _AGO_AFTER), None)
    ahead = next((words[end : end + n] for n in (2, 1) if words[end : end + n] in _AHEAD_AFTER), None)
    if before in _AGO_BEFORE or after is not None:
        sign, end = -1, end + len(after or ())
    elif before in _AHEAD_BEFORE or (ahead is not None and ahead not in (("time",), ("later",))):
        sign, end = 1, end + len(ahead or ())
    else:
        return None
    when = _safe(sign * days, today, False)
    return None if when is None else (end, when)


def _opening(words: tuple[str, ...], at: int) -> tuple[str, ...]:
    for size in (3, 2, 1):
        if words[at : at + size] in _AGO_BEFORE or words[at : at + size] in _AHEAD_BEFORE:
            return words[at : at + size]
    return ()


def _count(words: tuple[str, ...], at: int) -> tuple[int | None, int]:
    """A number and where the word after it stands; "a couple of", "a few" count too."""
    if at >= len(words):
        return None, at
    if words[at] in ("a", "an", "ein", "un") and words[at + 1 : at + 2] in (
        ("few",), ("couple",), ("paar",),
    ):  # fmt: skip
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
    when = _safe(sign * max(1, -(-count * hours // 24)), today, True)
    return None if when is None else (unit_at + 1, when)


def _safe(days: int, today: date, span: bool) -> When | None:
    try:
        return _counted(days, today, span)
    except OverflowError:
        return None


def _absolute(words: tuple[str, ...], at: int, today: date, past: bool) -> tuple[int, When] | None:
    """Written dates. Raises ``_NoDateError``."""
    word = words[at]
    if word[0].isdigit():
        found = _written(word) or _separated(words, at)
        if found is not None:
            return at + found[0], _checked(*found[1:])
        if (match := _ISO_MONTH.fullmatch(word)) and YEAR_MIN <= int(match[1]) <= YEAR_MAX:
            if not 1 <= int(match[2]) <= 12:
                return None
            return at + 1, _month(int(match[1]), int(match[2]))
        if (match := _DOTTED.fullmatch(word)) and at and words[at - 1] in ("am", "vom"):
            return at + 1, _yearless(int(match[2]), int(match[1]), today, past)
        return (
            _day_then_month(words, at, today, past)
            or _year_alone(words, at)
            or _bare_ordinal(words, at, today, past)
        )
    return _month_first(words, at, today, past)


def _written(word: str) -> tuple[int, int, int, int] | None:
    """(words taken, year, month, day) of a date written as one word."""
    if match := _ISO_DAY.fullmatch(word):
        return 1, int(match[1]), int(match[2]), int(match[3])
    if (match := _DOTTED.fullmatch(word)) and match[3]:
        year = int(match[3])
        return 1, year if len(match[3]) == 4 else 2000 + year, int(match[2]), int(match[1])
    if match := _DASHED.fullmatch(word):
        return 1, int(match[3]), *_unswapped(int(match[1]), int(match[2]))
    return None


def _separated(words: tuple[str, ...], at: int) -> tuple[int, int, int, int] | None:
    """Slashes divide words: 2026 11 21, 21 11 2026."""
    three = words[at : at + 3]
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
    raise _NoDateError


def _checked(year: int, month: int, day: int) -> When:
    try:
        return _one(f"{year:04d}-{month:02d}-{day:02d}", _date(year, month, day))
    except ValueError as exc:
        raise _NoDateError from exc


def _yearless(month: int, day: int, today: date, past: bool) -> When:
    """The coming (or, with ``past``, the latest) such day; 29 February may be years away."""
    for away in range(9):
        year = today.year + (-away if past else away)
        try:
            there = _date(year, month, day)
        except ValueError:
            continue
        if there <= today if past else there >= today:
            return _one(there.isoformat(), there)
    raise _NoDateError


def _year_at(words: tuple[str, ...], at: int) -> tuple[int, int] | None:
    """A year after an optional "of": (end, year)."""
    if words[at : at + 1] and words[at] in _OF_WORDS:
        at += 1
    if at < len(words) and _YEAR.fullmatch(words[at]) and YEAR_MIN <= int(words[at]) <= YEAR_MAX:
        return at + 1, int(words[at])
    return None


def _dated(
    words: tuple[str, ...], end: int, month: int, day: int, today: date, past: bool
) -> tuple[int, When]:
    if year := _year_at(words, end):
        return year[0], _checked(year[1], month, day)
    return end, _yearless(month, day, today, past)


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
    if not _YEAR.fullmatch(words[at]) or at == 0 or words[at - 1] not in _YEAR_AFTER:
        return None
    year = int(words[at])
    if not YEAR_MIN <= year <= YEAR_MAX or _COUNT_UNITS.get("".join(words[at + 1 : at + 2])):
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
            return at + 1, _one(there.isoformat(), there)
        months = year * 12 + month - 1 + (-1 if past else 1)
        year, month = months // 12, months % 12 + 1
    raise _NoDateError


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
            return year[0], _month(year[1], month)
        if at == 0 or (words[at - 1], words[start]) not in _MONTHS_AFTER:
            return None
    elif words[start] == "mar":
        return None
    year_now = today.year + _years_away(which, month - today.month, past)
    try:
        return end, _month(year_now, month)
    except ValueError as exc:
        raise _NoDateError from exc


def _years_away(which: str, months: int, past: bool) -> int:
    """The year, from this one, of a month that lies ``months`` from now within the calendar year."""
    if which in ("last", "past"):
        return -1 if months >= 0 else 0
    if which == "next":
        return 1 if months <= 0 else 0
    if past:
        return -1 if months > 0 else 0
    return 1 if months < 0 else 0


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


# --- misspellings -------------------------------------------------------------------------------------

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


# --- Japanese, Chinese, Russian -----------------------------------------------------------------------

_HAN_NUMBER = r"(?:\d{1,5}|[一二两兩三四五六七八九]?十[一二三四五六七八九]?|[一二两兩三四五六七八九])"
_HAN_DIGITS = {char: value for value, char in enumerate("一二三四五六七八九", 1)} | {"两": 2, "兩": 2}
_HAN_WEEKDAYS = {"月": 0, "火": 1, "水": 2, "木": 3, "金": 4, "土": 5} | {
    char: index for index, char in enumerate("一二三四五六日")
} | {"天": 6}  # fmt: skip
_RU_WEEKDAYS = (
    "понедельник", "вторник", "сред[уаы]", "четверг", "пятниц[уаы]", "суббот[уаы]",
    "воскресень",
)  # fmt: skip
_RU_MONTHS = (
    "январ", "феврал", "март", "апрел", "ма[йяе]", "июн", "июл", "август", "сентябр", "октябр", "ноябр",
    "декабр",
)  # fmt: skip
_RU_NUMBERS = numbers.phrases("ru")
_RU_NUMBER = r"(\d{1,5}|" + "|".join(sorted(_RU_NUMBERS, key=len, reverse=True)) + ")"
_RU_UNIT = r"(дн[яей]{1,2}|день|сут(?:ки|ок)|недел[юиьь]|недель|месяц(?:а|ев)?|год|года|лет)"

_SCRIPT_FIXED: tuple[tuple[str, str], ...] = (
    # longer ones first: each pattern is tried on what the earlier ones left
    ("today-2d", r"一昨日|おととい|(?<!以)前天|\bпозавчера\b"),
    ("today+2d", r"明後日|あさって|后天|後天|\bпослезавтра\b"),
    ("yesterday", r"昨夜|昨晩|昨晚|昨日|昨天|きのう|ゆうべ|\bвчера(?: (?:вечером|ночью|утром|днем))?\b"),
    ("tonight", r"今夜|今晩|今晚|\bсегодня (?:вечером|ночью)\b|\b(?:этим|сегодняшним) вечером\b"),
    ("tomorrow", r"明日(?!香)|明天|明朝|あした|あす(?![かきくけこ])"
        r"|\bзавтра(?:шн[а-я]+)?(?: (?:вечером|утром|днем|ночью))?\b"),
    ("today", r"今日|本日|今天|今朝|きょう|\b(?:за |на )?сегодня(?:шн[а-я]+)?(?: (?:утром|днем))?\b"),
    ("next weekend", r"来週末|來週末|下个?周末|下個?週末|\b(?:в |на )?следующ[а-я]+ выходн[а-я]+\b"),
    ("last weekend", r"先週末|上个?周末|上個?週末|\b(?:в |на )?прошл[а-я]+ выходн[а-я]+\b"),
    ("weekend", r"今?週末|(?:这个?|本)?周末|(?:в |на )?(?:эти |этих )?(?<![а-я])выходны[а-я]*\b"),
    ("next month", r"来月|下个月|下個月|下月|\b(?:в )?следующем месяце\b"),
    ("last month", r"先月|上个月|上個月|上月|\b(?:в )?прошлом месяце\b|\b(?:за )?прошлый месяц\b"),
    ("this month", r"今月|本月|这个月|這個月|\b(?:в )?этом месяце\b"),
    ("next year", r"来年|明年|\b(?:в )?следующем году\b"),
    ("last year", r"昨年|去年|\b(?:в )?прошлом году\b"),
    ("this year", r"今年|\b(?:в )?этом году\b"),
    ("now", r"只今|いま(?!す)|今すぐ|現在|现在|目前|此刻|(?<![昨一])今(?![日週月年夜晩朝回後天晚])|\bсейчас\b"
        r"|\bв данный момент\b"),
)  # fmt: skip
_SCRIPT_WEEKS: tuple[tuple[str, str], ...] = (
    ("next week", r"来週|下周|下週|下个?星期|下個?星期|下个?礼拜|\b(?:на )?следующ(?:ей|ую) недел[ею]\b"),
    ("last week", r"先週|上周|上週|上个?星期|上個?星期|上个?礼拜|\b(?:на |за )?прошл(?:ой|ую) недел[ею]\b"),
    ("this week", r"今週|本周|本週|这个?周|這個?週|这个?星期|這個?星期|\b(?:на |за )?эт(?:ой|у) недел[ею]\b"),
)
_FIXED_SCRIPT = tuple((said, re.compile(pattern)) for said, pattern in _SCRIPT_FIXED)
_WEEKS_SCRIPT = tuple((said, re.compile(pattern)) for said, pattern in _SCRIPT_WEEKS)
_HAN_WEEKDAY = re.compile(
    r"(?P<which>来週|先週|今週|下个?|下個?|上个?|上個?|本|这个?|這個?)?の?"
    r"(?:(?P<ja>[月火水木金土日])曜日?|(?:周|週|星期|礼拜|禮拜)(?P<zh>[一二三四五六日天]))"
)
_HAN_DATE = re.compile(r"(?:(\d{4})年)?(\d{1,2})月(?:(\d{1,2})[日号號])?")
_HAN_YEAR = re.compile(r"(\d{4})年")
_HAN_AGO = re.compile(rf"({_HAN_NUMBER})\s*(日|天|週間|周|星期|个星期|か月|ヶ月|个月|年)(?:之|以)?(前|后|後)")
_HAN_SPAN = re.compile(
    rf"(過去|过去|ここ|この|直近|最近|近|今後|未来|未來|接下来|これから)の?的?\s*({_HAN_NUMBER})\s*"
    r"(日間?|天|週間|周|个?星期|か月|ヶ月|个月|年)"
)
_RU_AGO = re.compile(rf"\b{_RU_NUMBER} {_RU_UNIT} назад\b")
_RU_AHEAD = re.compile(rf"\bчерез {_RU_NUMBER} {_RU_UNIT}(?![а-я])")
_RU_SPAN = re.compile(
    r"\b(?:за |в |на |в течение )?(последни[ехй]|последн[а-я]+|ближайши[ехй]|следующи[ехй])"
    rf" {_RU_NUMBER} {_RU_UNIT}(?![а-я])"
)  # fmt: skip
_RU_WEEKDAY = re.compile(
    r"\b(?:(?:в|во|на) )?(?:(следующ[а-я]+|прошл[а-я]+|эт[а-я]+|ближайш[а-я]+) )?(?:"
    + "|".join(f"({name})" for name in _RU_WEEKDAYS)
    + r")[а-я]?(?![а-я])"
)
_RU_MONTH = "|".join(f"({name})" for name in _RU_MONTHS)
_RU_DATE = re.compile(rf"\b(\d{{1,2}}) (?:{_RU_MONTH})[а-я]?(?: (\d{{4}}))?(?: год[а-я]*)?(?![а-я])")
_RU_IN_MONTH = re.compile(rf"\bв (?:{_RU_MONTH})[а-я]?(?: (\d{{4}}))?(?: год[а-я]*)?(?![а-я])")
_SCRIPT_ISO = re.compile(r"(?<![\d.])(\d{4})[-/](\d{1,2})[-/](\d{1,2})(?!\d)")
_SCRIPT_DOTTED = re.compile(r"(?<![\d.])(\d{1,2})\.(\d{1,2})\.(\d{4})(?!\d)")

PLAIN_CHARS = 600
"""``find_script`` looks at this much of a text."""


def find_script(plain: str, today: date, *, past: bool = False) -> tuple[When | None, str]:
    """``find`` for a folded text in Japanese, Chinese or Russian (``Reading.plain``): the time and the text
    without it. The same rules: two that differ, or a date that does not exist, are None and the whole
    text."""
    rest = plain[:PLAIN_CHARS]
    found: list[When] = []
    try:
        for reader in _SCRIPT_READERS:
            rest = reader(rest, today, past, found)
    except (_NoDateError, ValueError, OverflowError):
        return None, plain
    if not found:
        return None, plain
    chosen = next((when for when in found if when.said != "now"), found[0])
    if any((when.first, when.last, when.span) != (chosen.first, chosen.last, chosen.span) for when in found):
        return None, plain
    return chosen, " ".join((rest + plain[PLAIN_CHARS:]).split())


def _swept(
    pattern: re.Pattern[str], text: str, found: list[When], read: Callable[[re.Match[str]], When | None]
) -> str:
    def taken(match: re.Match[str]) -> str:
        when = read(match)
        if when is None:
            return match.group()
        found.append(when)
        return " "

    return pattern.sub(taken, text)


def _swept_as(when: When | None, pattern: re.Pattern[str], text: str, found: list[When]) -> str:
    return _swept(pattern, text, found, lambda _: when)


def _script_dates(text: str, today: date, past: bool, found: list[When]) -> str:
    def han(match: re.Match[str]) -> When | None:
        month = int(match[2])
        if match[3]:
            if match[1]:
                return _checked(int(match[1]), month, int(match[3]))
            return _yearless(month, int(match[3]), today, past)
        return _month(int(match[1]), month) if match[1] else None

    def year(match: re.Match[str]) -> When | None:
        return resolve(match[1], today)

    def russian(match: re.Match[str]) -> When | None:
        month = next(n for n in range(1, 13) if match[n + 1])
        if match[14]:
            return _checked(int(match[14]), month, int(match[1]))
        return _yearless(month, int(match[1]), today, past)

    def in_month(match: re.Match[str]) -> When | None:
        month = next(n for n in range(1, 13) if match[n])
        if match[13]:
            return _month(int(match[13]), month)
        return _month(today.year + _years_away("", month - today.month, past), month)

    text = _swept(_SCRIPT_ISO, text, found, lambda m: _checked(int(m[1]), int(m[2]), int(m[3])))
    text = _swept(_SCRIPT_DOTTED, text, found, lambda m: _checked(int(m[3]), int(m[2]), int(m[1])))
    text = _swept(_HAN_DATE, text, found, han)
    text = _swept(_HAN_YEAR, text, found, year)
    text = _swept(_RU_DATE, text, found, russian)
    return _swept(_RU_IN_MONTH, text, found, in_month)


def _script_counts(text: str, today: date, past: bool, found: list[When]) -> str:
    text = _swept(
        _HAN_SPAN,
        text,
        found,
        lambda m: _safe(
            _han_days(m[2], m[3]) * (1 if m[1] in ("今後", "未来", "未來", "接下来", "これから") else -1),
            today,
            True,
        ),
    )
    text = _swept(
        _HAN_AGO,
        text,
        found,
        lambda m: _safe(_han_days(m[1], m[2]) * (-1 if m[3] == "前" else 1), today, False),
    )
    text = _swept(_RU_AGO, text, found, lambda m: _safe(-_ru_days(m[1], m[2]), today, False))
    text = _swept(
        _RU_SPAN,
        text,
        found,
        lambda m: _safe(_ru_days(m[2], m[3]) * (-1 if m[1].startswith("послед") else 1), today, True),
    )
    return _swept(_RU_AHEAD, text, found, lambda m: _safe(_ru_days(m[1], m[2]), today, False))


def _script_weekdays(text: str, today: date, past: bool, found: list[When]) -> str:
    def han(match: re.Match[str]) -> When | None:
        name = WEEKDAYS[6 if match["ja"] == "日" else _HAN_WEEKDAYS[match["ja"] or match["zh"]]]
        which = (match["which"] or "")[:1]
        said = f"next {name}" if which in ("来", "下") else f"last {name}" if which in ("先", "上") else name
        return resolve(said, today, past=past) if which or match["ja"] or match["zh"] else None

    def russian(match: re.Match[str]) -> When | None:
        name = WEEKDAYS[next(n for n in range(7) if match[n + 2])]
        which = (match[1] or "")[:4]
        said = f"next {name}" if which == "след" else f"last {name}" if which == "прош" else name
        return resolve(said, today, past=past)

    return _swept(_RU_WEEKDAY, _swept(_HAN_WEEKDAY, text, found, han), found, russian)


def _script_fixed(text: str, today: date, past: bool, found: list[When]) -> str:
    for said, pattern in _FIXED_SCRIPT:
        text = _swept_as(resolve(said, today, past=past), pattern, text, found)
    return text


def _script_weeks(text: str, today: date, past: bool, found: list[When]) -> str:
    for said, pattern in _WEEKS_SCRIPT:
        text = _swept_as(resolve(said, today), pattern, text, found)
    return text


def _han_days(number: str, unit: str) -> int:
    if number.isascii():
        value = int(number)
    elif "十" in number:
        tens, _, ones = number.partition("十")
        value = _HAN_DIGITS.get(tens, 1) * 10 + _HAN_DIGITS.get(ones, 0)
    else:
        value = _HAN_DIGITS[number]
    days = 7 if unit[0] in "週周星" or "星期" in unit else 30 if "月" in unit else 365 if unit == "年" else 1
    return value * days


def _ru_days(number: str, unit: str) -> int:
    value = _RU_NUMBERS.get(number) or int(number)
    days = 7 if unit.startswith("недел") else 30 if unit.startswith("меся") else 365 if unit[0] in "гл" else 1
    return value * days


_SCRIPT_READERS = (_script_dates, _script_counts, _script_weekdays, _script_fixed, _script_weeks)
