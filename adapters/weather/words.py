"""What people say about the weather: topics, traps, figures, statistics, fillers. Pure.

Rules of this file:
- The words stand in ``languages/<code>.toml``; those of all languages are read at once, for people do not say
  which one they write. Patterns match the joined words of a ``Reading`` (lower case, no accents, contractions
  written out), those of ``SCRIPTS`` the folded text of Japanese, Chinese, Russian and others.
- ``TOPICS`` are wordings that ask for the weather on their own. ``CLEAR`` and ``VAGUE`` words ask for it
  beside a place or a time only; vague ones ("hot") need a frame such as "is it" too.
- A text in which a trap is found is not about the weather of a place.
- Every repeat is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from adapters.grammar.days import MONTHS, WEEKDAYS
from node.language import tables
from node.language.wording import EXPLAINS

_ALL = tables.by_language("languages", __package__)
_LATIN = {code: table for code, table in _ALL.items() if "script" not in table}
_OTHER = {code: table for code, table in _ALL.items() if "script" in table}

SAID_OTHERWISE: Mapping[str, str] = {"rn": "now", "atm": "now", "gerade": "now", "momentan": "now"}
"""Words of time that people type, as the grammar of times reads them."""


def _words(name: str) -> re.Pattern[str]:
    return tables.worded(_LATIN, name)


def _worded(section: str) -> dict[str, re.Pattern[str]]:
    return {name: tables.worded(_LATIN, name, section) for name in tables.names(_LATIN, section)}


# --- figures, statistics, units -----------------------------------------------------------------------

FIGURES = _worded("figures")
FIRST_FIGURES = ("air_quality", "uv", "sunrise", "sunset")
"""Looked for first: their words hold words of the others ("sun"). Of those the first in the text decides."""
NOT_ALONE = tables.every(_LATIN, "not_alone")
"""Words of a figure that are other words too: they do not ask for it by themselves."""
HIGHS, LOWS = _words("highs"), _words("lows")
"""Beside a temperature, the day's highest or lowest is meant."""
STATISTICS = (*_worded("statistics").items(), ("max", _words("gets_warm")), ("min", _words("gets_cold")))
NO_STATISTIC = _words("no_statistic")

_IN = rf"(?:(?:{'|'.join(tables.entries(_LATIN, 'before_unit'))}) )?"
_DEGREES = rf"(?:(?:{'|'.join(tables.entries(_LATIN, 'degrees'))}) )"
_SYSTEMS = {"fahrenheit": ("f", "imperial"), "celsius": ("c", "metric")}
_AT_END = {"kn": rf"|\b{_IN}(?:{'|'.join(tables.entries(_LATIN, 'at_end'))})$"}
"""Short for a unit at the end of a question only."""


def _unit(name: str) -> re.Pattern[str]:
    degrees = f"{_DEGREES}?" if name in (*_SYSTEMS, "kelvin") else ""
    words = rf"\b{_IN}{degrees}(?:{'|'.join(tables.entries(_LATIN, name, 'units'))})(?: degrees)?(?!\w)"
    if name in _SYSTEMS:
        sign, system = _SYSTEMS[name]
        words += rf"|\b(?:in |en )?{_DEGREES}{sign}\b|\bin {sign}$|(?<!\bd) {sign}$"
        words += rf"|\b(?:in )?{system}(?: units?)?$"
    return tables.later(words + _AT_END.get(name, ""))


UNITS = {name: _unit(name) for name in tables.names(_LATIN, "units")}
"""Units that figures may be asked in, on the joined words; one of each kind may be said."""

# --- what asks and what does not ----------------------------------------------------------------------

_EXPLAINS = (
    EXPLAINS.replace(r"|should|", "|")
    .replace(r"|app|apps|", "|")
    .replace(r"|meaning of|mean|means|", r"|meaning of|means|")
)
TRAPS = tables.later(rf"{_EXPLAINS}|{_words('traps').pattern}")
"""Also the wordings for records and for the hottest place on earth: no day's figures answer them."""
GENERAL = _words("general")
"""Weather in general: a trap where neither a place nor a time is named."""
OUTDOORS, SUITS = _words("outdoors"), _words("suits")
"""Beside a place and a time, the two ask whether the weather suits."""
SPORTS = _words("sports")
"""Beside a clear word alone, they mean a team ("Miami Heat")."""
TOPICS = tuple(_worded("topics").items())
"""What each pattern asks, in words."""
CLEAR, VAGUE, FRAME, PAST = _words("clear"), _words("vague"), _words("frame"), _words("past")

# --- words that say nothing more ----------------------------------------------------------------------

FILL = tables.every(_LATIN, "fill")
"""Function words and small talk, and words for a report or a measurement."""
ASKS_FIRST = tables.every(_LATIN, "asks_first")
"""Words that a question or a request begins with, after a greeting."""
TELLS = tables.every(_LATIN, "tells")
"""Words that make a text without a question word a sentence that tells."""
OPENERS = tables.every(_LATIN, "openers")
UNREAD_TIME = tables.every(_LATIN, "unread_time") | frozenset((*MONTHS, *WEEKDAYS))
"""Left over, they name a time that was not understood: an answer for today would be another question's."""
NOT_A_NAME = tables.every(_LATIN, "not_a_name")
"""What may stand after "in" and is no place."""
A_IS_IN = tables.every(_LATIN, "a_is_in")
"""In a text with one of these words, "a" is the preposition "à" of French or the Italian "a"."""

JOINS = tables.every(_LATIN, "joins")
"""Words that join or compare two places or days."""
OPEN_ENDED = tables.every(_LATIN, "open_ended")
"""Before a time they make it another stretch of time than the one that is named."""
HOURS, MEASURES, BOUNDS = (tables.every(_LATIN, name) for name in ("hours", "measures", "bounds"))
OWN_WORDS = tables.every(_LATIN, "own_words")
"""What is a word of its own, and no slip of another."""
BEFORE_UNKNOWN = tables.every(_LATIN, "before_unknown")
ASKS_OF_PLACE = tables.every(_LATIN, "asks_of_place")
NO_PLACE_BESIDE = tables.every(_LATIN, "no_place_beside")
LEADS = sorted((tuple(lead.split()) for lead in tables.entries(_LATIN, "leads")), key=len, reverse=True)
"""What a follow-up begins with, longest first."""
ENGLISH_LEADS = frozenset(phrase.split()[0] for phrase in _LATIN["en"]["leads"])
ELSEWHERE = tables.every(_LATIN, "elsewhere")
LINKS = tables.every(_LATIN, "links")
"""Words that a fragment may hold beside what it changes."""

# --- scripts without blanks ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Scripts:
    """The same of the languages that are not cut into words."""

    traps: re.Pattern[str]
    topic: re.Pattern[str]
    clear: re.Pattern[str]
    past: re.Pattern[str]
    figures: Mapping[str, re.Pattern[str]]
    statistics: Mapping[str, re.Pattern[str]]
    units: Mapping[str, re.Pattern[str]]


def _script(name: str, section: str = "") -> re.Pattern[str]:
    return tables.later("|".join(tables.entries(_OTHER, name, section)))


def _scripts(section: str) -> dict[str, re.Pattern[str]]:
    return {name: _script(name, section) for name in tables.names(_OTHER, section)}


SCRIPTS = Scripts(
    traps=_script("traps"),
    topic=_script("topic"),
    clear=_script("clear"),
    past=_script("past"),
    figures=_scripts("figures"),
    statistics=_scripts("statistics"),
    units=_scripts("units"),
)
