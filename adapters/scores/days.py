"""Game days: the US Eastern days on which games are played. Pure.

A time is relative to the asker's date, then read as the US Eastern game day of the same date: the games of
the evening of that date in the US. What is said of now (today, tonight, now) means the Eastern date of this
moment, and until ``NIGHT_ENDS`` there still the evening before (west of there, until the asker's own
midnight); so at 03:00 UTC "tonight" is the evening
that is being played in the US, and "last night" is that same evening, for it began on the asker's
yesterday.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

EASTERN: Final = ZoneInfo("America/New_York")
NIGHT_ENDS: Final = timedelta(hours=3)
"""The last games of a day, on the west coast, end about 01:30 Eastern time."""


@dataclass(frozen=True, slots=True)
class Days:
    """Game days, both ends included. ``open_to``: "" for these days only, ``past`` for the latest game up to
    ``last``, ``future`` for the first game from ``first`` on."""

    first: date
    last: date
    open_to: str = ""

    @property
    def key(self) -> str:
        """As it stands in a slot key."""
        if self.open_to == "past":
            return f"..{self.last}"
        if self.open_to == "future":
            return f"{self.first}.."
        return str(self.first) if self.first == self.last else f"{self.first}..{self.last}"


def game_day(now: datetime) -> date:
    """The game day that somebody means by "today", ``now`` on their clock: the Eastern one, and west of it
    their own date as long as that is the day before."""
    current = eastern_day(now)
    ours, theirs = now.utcoffset(), now.astimezone(EASTERN).utcoffset()
    is_west = ours is not None and theirs is not None and ours < theirs
    return now.date() if is_west and current - now.date() == timedelta(days=1) else current


def eastern_day(moment: datetime) -> date:
    """The game day that is on at ``moment``, see the head of this file."""
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return (aware.astimezone(EASTERN) - NIGHT_ENDS).date()
