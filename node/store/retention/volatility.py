"""How soon the answer to a question may change, read from its wording alone.

Rules:
1. The wording is read through ``reading`` (folded, bounded), with hyphens as blanks. English patterns only: a
   question in another language keeps its class's limit (words of "now" in other languages are the router's).
2. Names and terms that only look volatile ("electric current", "USA Today", "still life", "how long do cats
   live") are taken out first.
3. Words of now count always. A question about a term ("what is inflation?", "how is a president elected?")
   and one dated to a past year have no other volatility; a past year does not make an office, an age or a
   private matter past, and a year after "since", "founded in" and the like dates nothing.
4. Every other row of the table (``node/language/data/en/volatility.toml``) that fits counts, and the shortest
   limit is the answer: a wrong guess towards "volatile" costs one more computation, one towards "stable" an
   outdated answer.
5. A text too long to be read whole is held for a day at most.

Pure and total; bounded by the reading's window. It knows nothing of what the answer says, nor of classes:
``freshness`` combines both, and nothing here can lengthen a life.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from node.language import tables
from node.language.reading import HEAD_CHARS, TAIL_CHARS, read

MINUTE_S = 60
HOUR_S = 3_600
DAY_S = 86_400

ALWAYS_PAST_YEAR = 2_000
"""A year before this one is past whatever the clock says."""


@dataclass(frozen=True, slots=True)
class Volatility:
    """``name`` is a stable code, ``limit_s`` the longest life that the wording allows (None: it says
    nothing), ``reason`` a clause for people. ``until_midnight``: it changes with the date at the latest.
    ``personal``: the answer is of the asker, so nobody else may be given it."""

    name: str
    limit_s: int | None
    reason: str
    until_midnight: bool = False
    personal: bool = False


STEADY = Volatility("by_class", None, "the wording says nothing of change")
DATED_PAST = Volatility("dated_past", None, "it is dated to a past year")
OF_A_TERM = Volatility("of_a_term", None, "it asks what a term means or how something works")
TOO_LONG = Volatility("too_long_to_read", DAY_S, "it is too long to be read whole")
THIS_YEAR = Volatility("this_year_or_later", DAY_S, "it names the current year or a later one")
NOW = Volatility("speaks_of_now", HOUR_S, "it speaks of now or of a day relative to now", until_midnight=True)


@dataclass(frozen=True, slots=True)
class Row:
    """One kind of wording. ``unless`` takes the row back. A past year in the question does too, but not where
    ``held`` is set (an office, an age) and the question speaks in the present."""

    means: Volatility
    fits: re.Pattern[str]
    unless: re.Pattern[str] | None
    held: bool


_TABLE = tables.language_table(tables.ENGLISH, "volatility")


def _pattern(entries: str | Iterable[str], template: str = r"\b<any>\b") -> re.Pattern[str]:
    return tables.pattern(entries, _TABLE["words"], template)


def _row(row: Mapping[str, Any]) -> Row:
    kinds = {kind: row.get(kind, False) for kind in ("until_midnight", "personal")}
    unless = _pattern(row["unless"]) if "unless" in row else None
    means = Volatility(row["name"], row["limit_s"], row["reason"], **kinds)
    return Row(means, _pattern(row["fits"]), unless, row.get("held", False))


ROWS = tuple(map(_row, _TABLE["rows"]))
"""In any order: the shortest that fits counts."""
_TRAP, _NOW, _PRESENT = (_pattern(_TABLE[name]) for name in ("traps", "now", "present"))
_OF_A_TERM, _NOT_A_DATE, _CENTURY = (
    _pattern(_TABLE[name], "<any>") for name in ("of_a_term", "not_a_date", "century")
)
_YEAR = re.compile(
    r"(?<![\d.#$])\b(1\d{3}|2[01]\d\d)(s)?\b(?!\.\d| (?:meters|metres|miles|km|dollars|euros|game))"
)


def volatility(query: str, now: datetime | None = None) -> Volatility:
    """What the wording of ``query`` says of the life of its answer. ``now``, on the asker's clock, tells past
    years from others; without it only years before ``ALWAYS_PAST_YEAR`` are past."""
    return _volatility(query, None if now is None else now.year)


def speaks_of_now(query: str) -> bool:
    """Whether the wording ties the answer to the moment of asking."""
    return _NOW.search(_shown(query)) is not None


def only_sounds_of_now(query: str) -> bool:
    """Whether every word of now is part of a name or term ("electric current"), so that a reader who knows
    single words only is mistaken."""
    flat = read(query).flat.replace("-", " ")
    return _NOW.search(flat) is not None and _NOW.search(_TRAP.sub(" ", flat)) is None


def _shown(query: str) -> str:
    return _TRAP.sub("thing", read(query).flat.replace("-", " "))


@lru_cache(maxsize=64)
def _volatility(query: str, year: int | None) -> Volatility:
    shown = _shown(query)
    found = [NOW] if _NOW.search(shown) else []
    if len(query) > HEAD_CHARS + TAIL_CHARS:
        found.append(TOO_LONG)
    steady = STEADY
    dated = _YEAR.search(_NOT_A_DATE.sub(" ", shown)) is not None or _CENTURY.search(shown) is not None
    years = [_last_year(match) for match in _YEAR.finditer(shown)]
    past = dated and all(one < (year or ALWAYS_PAST_YEAR) for one in years)
    if year is not None and any(one >= year for one in years):
        found.append(THIS_YEAR)
    if _OF_A_TERM.search(shown):
        steady = OF_A_TERM
    elif past:
        steady = DATED_PAST
    for row in ROWS:
        if steady is OF_A_TERM and not row.means.personal:
            continue
        if past and not row.means.personal and not (row.held and _PRESENT.search(shown)):
            continue
        if row.fits.search(shown) and (row.unless is None or not row.unless.search(shown)):
            found.append(row.means)
    return _shortest(found) if found else steady


def _last_year(match: re.Match[str]) -> int:
    """The year, or the last one of a decade."""
    year = int(match[1])
    return year + 9 if match[2] and year % 10 == 0 else year


def _shortest(found: list[Volatility]) -> Volatility:
    """The shortest, which is personal or ends at midnight if any of them does."""
    least = min(found, key=lambda one: one.limit_s or 0)
    return Volatility(
        least.name,
        least.limit_s,
        least.reason,
        until_midnight=any(one.until_midnight for one in found),
        personal=any(one.personal for one in found),
    )
