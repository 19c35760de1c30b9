"""Which teams the names in a question mean together. Pure.

A pair must meet in one league; a city beside two teams is where they play.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from adapters.scores.teams import CUPS, Name, Team, is_club, season


@dataclass(frozen=True, slots=True)
class Sides:
    """The teams of a question; without any, its league alone."""

    league: str | None
    team: Team | None = None
    opponent: Team | None = None
    kind: str = ""
    """Class of the weaker name."""


_WEAKNESS: Final = {"name": 0, "code": 1, "nick": 2, "city": 3}


def sides_of(names: Sequence[Name], league: str | None, month: int) -> Sides | None:
    """The teams that the names mean together, at most two; None when they meet in no league."""
    order = season(month)
    chosen = list(names)
    if len(chosen) > 1:
        # A city beside two teams is where they play.
        strong = [name for name in chosen if name.kind != "city"]
        chosen = strong if len(strong) >= 2 else chosen
        chosen = [
            name for at, name in enumerate(chosen) if name.teams not in [one.teams for one in chosen[:at]]
        ]
        chosen = chosen[:2]
    if not chosen:
        return Sides(league)
    kind = max((name.kind for name in chosen), key=lambda one: _WEAKNESS[one])
    if len(chosen) == 1:
        teams = chosen[0].teams
        if league is not None:
            fitting = [team for team in teams if _plays_in(team, league)]
            if fitting:
                return Sides(league, fitting[0], kind=kind)
            if kind != "name":
                return Sides(league)
        best = min(teams, key=lambda team: order.index(team.league))
        return Sides(best.league, best, kind=kind)
    pairs = [
        (one, two)
        for one in chosen[0].teams
        for two in chosen[1].teams
        if one is not two and (one.league == two.league or (league in CUPS and _plays_in(two, league or "")))
    ]
    if league is not None:
        pairs = [pair for pair in pairs if _plays_in(pair[0], league) and _plays_in(pair[1], league)] or pairs
    if pairs:
        one, two = min(pairs, key=lambda pair: order.index(pair[0].league))
        cup = league if league in CUPS and is_club(one.league) else None
        return Sides(cup or one.league, one, two, kind)
    for one in chosen[0].teams:
        for two in chosen[1].teams:
            if is_club(one.league) and is_club(two.league) and kind == "name":
                return Sides("ucl", one, two, kind)
    return None


def are_several(names: Sequence[Name]) -> bool:
    """Whether more teams are named than meet in one game. Names that one team bears count once, and cities
    only where nothing else is named, for a city may be where the game is."""
    strong = [name for name in names if name.kind != "city"]
    chosen: list[Name] = []
    for name in strong or names:
        if all(set(name.teams).isdisjoint(one.teams) for one in chosen):
            chosen.append(name)
    return len(chosen) > (2 if strong else 3)


def _plays_in(team: Team, league: str) -> bool:
    return team.league == league or (league in CUPS and is_club(team.league))
