"""What every source of games gives: the games of one day, checked. Pure but for the protocol's calls.

It promises: a ``Game`` holds only figures that the source stated consistently; where a source contradicts
itself the game carries ``trouble`` in words and no figures. Which vendor said so is the provider's to know.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from typing import Final, Protocol

from adapters.scores.teams import Team
from node.core.guard import Guarded
from node.core.model import Budget

SCORE_MAX: Final = 400
"""More than any team ever made in one game of the leagues served."""
GAMES_MAX: Final = 200
"""Entries of one day that are looked at."""


class State(StrEnum):
    """Where a game stands. ``off``: postponed, canceled, suspended or forfeited; ``note`` says which."""

    SCHEDULED = "scheduled"
    LIVE = "live"
    FINAL = "final"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class Side:
    """One team in a game. ``team`` where it is in our tables; ``code`` official for those, else the feed's.
    ``names`` are folded names to find it by, ``score`` None before the start, ``half`` what it was at
    half-time, where that is over and known."""

    team: Team | None
    code: str
    said: str
    names: frozenset[str]
    score: int | None = None
    shootout: int | None = None
    half: int | None = None


@dataclass(frozen=True, slots=True)
class Game:
    """``start`` is UTC, None while it is not fixed; ``clock`` e.g. ``3:21``, ``period`` from 1, both as the
    source states them; ``note`` adds how it ended or why it is off; ``trouble`` says what is wrong."""

    id: str
    day: date
    start: datetime | None
    home: Side
    away: Side
    state: State
    period: int = 0
    clock: str = ""
    note: str = ""
    pause: bool = False
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class Board:
    """The games of a day; ``unreadable`` counts entries that could not be told from one another.
    ``elsewhen``: where the source has none of that day and gives games of other days instead, those, each
    with its own ``day``."""

    league: str
    day: date
    games: tuple[Game, ...]
    unreadable: int = 0
    elsewhen: tuple[Game, ...] = ()


class Provider(Protocol):
    """A source of boards behind its own guard; safe for concurrent callers on one event loop."""

    @property
    def name(self) -> str:
        """For people."""
        ...

    def serves(self, league: str) -> bool: ...

    def page(self, league: str, day: date) -> str:
        """An address that shows the same."""
        ...

    async def board(
        self, league: str, day: date, *, deadline: float, max_age_s: float | None
    ) -> Guarded[Board]:
        """The games of that US Eastern day. Raises ``node.core.errors``: ``Rejected`` for an answer that
        cannot be trusted, ``Unavailable`` and its kinds, ``Forbidden``, ``NotFound``."""
        ...

    def budgets(self) -> Sequence[Budget]: ...

    def problems(self) -> list[str]: ...
