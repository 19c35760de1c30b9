"""What is asked about games: the slots, their days and their key. Pure.

Without a time, scores are those of the latest game and a schedule begins today. Slots that come back from
outside are checked again before they are used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from adapters.grammar import when as time_words
from adapters.scores.days import Days, game_day
from adapters.scores.teams import LEAGUES, team_of
from node.core.model import SlotValue

PAST_METRICS: Final = ("score", "winner", "margin", "halftime")
METRICS: Final = (*PAST_METRICS, "schedule", "standings")


@dataclass(frozen=True, slots=True)
class Asked:
    """The slots. ``date`` as said (see ``adapters.grammar.when``); None where nothing was said."""

    league: str | None
    team: str | None
    opponent: str | None
    date: str | None
    metric: str

    def slots(self) -> dict[str, SlotValue]:
        return {
            "league": self.league,
            "team": self.team,
            "opponent": self.opponent,
            "date": self.date,
            "metric": self.metric,
        }


@dataclass(frozen=True, slots=True)
class Found:
    """A question read, how sure it is (see ``node.core.model.Recognition.strength``), and why in words.
    ``lacking`` names what must be known before a game may be told: ``date`` (a time is named that could not
    be read), ``game`` (several games are asked about), ``count`` (a number of games is asked for)."""

    asked: Asked
    strength: float
    reason: str
    lacking: str = ""


def reason_of(asked: Asked) -> str:
    """The slots in words."""
    teams = " and ".join(code for code in (asked.team, asked.opponent) if code)
    label = LEAGUES[asked.league].label if asked.league else "games"
    what = f"{asked.metric} of {teams} ({label})" if teams else f"{asked.metric} in the {label}"
    return f"{what}, {asked.date}" if asked.date else what


def days_of(asked: Asked, now: datetime) -> Days | None:
    """The game days that are asked for, ``now`` on the asker's clock; None for a malformed time."""
    current = game_day(now)
    past = asked.metric in PAST_METRICS
    if asked.date is None:
        return Days(current, current, "past" if past else "future")
    if asked.date in ("today", "tonight", "now"):
        return Days(current, current)
    when = time_words.resolve(asked.date, now.date(), past=past)
    return None if when is None else Days(when.first, when.last)


def key_of(asked: Asked, now: datetime) -> str | None:
    """``score:nba:LAL:BOS:2026-11-21:score``; None while nothing is named or the time is malformed."""
    days = days_of(asked, now)
    if days is None or asked.league is None:
        return None
    return f"score:{asked.league}:{asked.team or ''}:{asked.opponent or ''}:{days.key}:{asked.metric}"


def asked_of(slots: Mapping[str, SlotValue]) -> Asked | None:
    """The slots checked again, for they come back from outside; None when they are not ours."""
    texts: dict[str, str | None] = {}
    for name in ("league", "team", "opponent", "date", "metric"):
        value = slots.get(name)
        if value is not None and not isinstance(value, str):
            return None
        texts[name] = value
    asked = Asked(texts["league"], texts["team"], texts["opponent"], texts["date"], texts["metric"] or "")
    if asked.metric not in METRICS or (asked.league is not None and asked.league not in LEAGUES):
        return None
    for code in (asked.team, asked.opponent):
        if code is not None and team_of(asked.league, code) is None:
            return None
    if asked.opponent is not None and asked.team in (None, asked.opponent):
        return None
    return asked
