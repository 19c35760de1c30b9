"""What people say when they ask for the time somewhere. Pure.

The words stand in ``languages/<code>.toml``; those of all languages are read at once. Patterns match the
joined words of a ``Reading``, those of ``SCRIPTS`` the folded text of languages that are not cut into words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from node.language import tables

ALL = tables.by_language("languages", __package__)
_LATIN = {code: table for code, table in ALL.items() if "script" not in table}
_OTHER = {code: table for code, table in ALL.items() if "script" in table}


def _words(name: str) -> re.Pattern[str]:
    return tables.worded(_LATIN, name)


FILLERS, POLITE = tables.every(_LATIN, "fillers"), tables.every(_LATIN, "polite")
SLIPS = tables.every(_LATIN, "slips")
"""What is mended when one letter is amiss."""
NO_SLIPS = tables.every(_LATIN, "no_slips")
"""Words of their own that are one letter away from those."""
LEADS = tables.every(ALL, "leads")
"""Words that a follow-up may begin with."""
BETWEEN = tables.every(_LATIN, "between")
"""What may stand between a clock time and the place that it is of."""
PART_OF_DAY = _words("part_of_day")
"""Asking for the part of the day is asking for the time."""
ASKS_ELSEWHERE = _words("asks_elsewhere")
"""What asks for a clock time elsewhere."""
HAPPENS = _words("happens")
"""When something happens is not a matter of zones alone."""
HARD, TOPIC, STRONG = _words("hard"), _words("topic"), _words("strong")
DIFFERENCE, FROM_HERE, HOURS, HERE = (_words(name) for name in ("difference", "from_here", "hours", "here"))
THE_TIME_HERE = _words("the_time_here")
"""The time here, in a phrase that courtesies may stand around."""
HERE_NOW = tables.later(
    r"(?:(?:hey|hi|hello|ok|so|please|excuse me|sorry|um|yo) )*"
    rf"(?:{'|'.join(tables.entries(_LATIN, 'here_now'))})(?: (?:please|thanks|now|then|mate|bro|buddy))*"
)
TRAPS = _words("traps")
WORDING = _words("wording")
"""Asking how something is said is no asking for it."""
MEANING = _words("meaning")
DAY_THERE = _words("day_there")
"""Asking for the date of a place."""
ZONES_OF = _words("zones")
IN_A_PLACE = tables.later(
    rf"^(?:\w+ ){{0,5}}?(?:{'|'.join(tables.entries(_LATIN, 'unknown_after'))})"
    r" (?:now |right now |gerade |jetzt |adesso )?(?:in|en|a|at|over in)"
    r" (?!the |a |an |my |our |hours?\b)\w+(?: [\w'-]+){0,3}$"
)
"""A clear question that ends in a place."""


@dataclass(frozen=True, slots=True)
class Scripts:
    """The same of the languages that are not cut into words."""

    topic: re.Pattern[str]
    here_now: re.Pattern[str]
    difference: re.Pattern[str]
    fillers: re.Pattern[str]
    asks: re.Pattern[str]


def _script(name: str, more: str = "") -> re.Pattern[str]:
    return tables.later("|".join(tables.entries(_OTHER, name)) + more)


SCRIPTS = Scripts(
    topic=_script("topic"),
    here_now=_script("here_now"),
    difference=_script("difference"),
    fillers=_script("fillers", r"|[\s?？。、,.:!]"),
    asks=_script("asks"),
)
