"""Games as sentences. Pure.

Rules: the winner stands first, whoever was asked about, so that one sentence answers "who won" and "did they
lose"; scores follow the order of the names; a past day is an ISO date, a start is Eastern and universal time;
nothing is said that the ``Game`` does not hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Final

from adapters.scores.days import EASTERN, Days
from adapters.scores.espn import PERIODS
from adapters.scores.provider import Game, Side, State
from adapters.scores.teams import LEAGUES

LISTED_MAX: Final = 15
"""Games that one answer lists."""

_ORDINALS: Final = ("", "1st", "2nd", "3rd")


def ordinal(number: int) -> str:
    if number < len(_ORDINALS):
        return _ORDINALS[number]
    tail = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th") if number % 100 not in (11, 12, 13) else "th"
    return f"{number}{tail}"


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def game(
    one: Game, league: str, *, asked: Side | None = None, brief: bool = False, metric: str = "score"
) -> str:
    """One game as a clause without a full stop. ``asked`` stands first where nobody leads; ``brief`` leaves
    the day out, for a list that is headed by it. ``metric`` may add the margin or the figures of
    half-time."""
    first, second = (one.away, one.home) if asked is None or asked != one.home else (one.home, one.away)
    if one.trouble:
        return f"{capital(first.said)} against {second.said}: {one.trouble}"
    if one.state is State.OFF:
        day = "" if brief else f" on {one.day}"
        return f"the game between {first.said} and {second.said}{day} is {one.note}"
    if one.state is State.SCHEDULED:
        return f"{first.said} play {second.said} {_start(one, brief)}"
    home, away = one.home.score, one.away.score
    if home is None or away is None:
        return f"{first.said} against {second.said}: no score was given"
    if home != away:
        first, second = (one.home, one.away) if home > away else (one.away, one.home)
    score = f"{max(home, away)}–{min(home, away)}"
    half = "" if metric != "halftime" or one.note == "half-time" else _half_time(one)
    if metric == "margin" and home != away:
        score = f"by {_points(abs(home - away), league)}, {score},"
    if one.state is State.LIVE:
        where = _where(one, league)
        if home == away:
            return f"{half}{first.said} and {second.said} are level at {home}–{away}{where}"
        return f"{half}{first.said} lead {second.said} {score}{where}"
    return half + _final(one, first, second, score, brief)


def _half_time(one: Game) -> str:
    """How it stood at half-time, before how it stands or ended."""
    home, away = one.home.half, one.away.half
    if home is None or away is None:
        return "the score at half-time is not known here; "
    if home == away:
        return f"at half-time {one.away.said} and {one.home.said} were level at {home}–{away}; "
    first, second = (one.home, one.away) if home > away else (one.away, one.home)
    return f"at half-time {first.said} led {second.said} {max(home, away)}–{min(home, away)}; "


def _points(count: int, league: str) -> str:
    unit = {"baseball": "run", "hockey": "goal", "soccer": "goal"}.get(LEAGUES[league].sport, "point")
    return f"{count} {unit}{'' if count == 1 else 's'}"


def _final(one: Game, first: Side, second: Side, score: str, brief: bool) -> str:
    day = "" if brief else f" on {one.day}"
    note = one.note
    if note.startswith("penalties"):
        sides = {"home": one.home, "away": one.away}
        _, _, won = note.partition(":")
        level = one.home.score == one.away.score
        if level and won:
            winner, loser = sides[won], sides["away" if won == "home" else "home"]
            kicks = (
                f" {winner.shootout}–{loser.shootout}"
                if winner.shootout is not None
                and loser.shootout is not None
                and winner.shootout > loser.shootout
                else ""
            )
            return f"{winner.said} beat {loser.said}{kicks} on penalties after {score}{day} (final)"
        note = "after penalties"
    ending = f"(final, {note})" if note else "(final)"
    if one.home.score == one.away.score:
        return f"{first.said} and {second.said} drew {score}{day} {ending}"
    return f"{first.said} beat {second.said} {score}{day} {ending}"


def elsewhen(one: Game, league: str, today: date, *, asked: Side | None = None) -> str:
    """A game of another day than the one asked for, always with its own date; one of the past without a
    result is not told as if it were still to come."""
    if one.state in (State.SCHEDULED, State.LIVE) and one.day < today:
        first, second = (one.away, one.home) if asked is None or asked != one.home else (one.home, one.away)
        return f"{first.said} against {second.said} on {one.day}, without a result"
    day = f" on {one.day}" if one.state is State.LIVE else ""
    return f"{game(one, league, asked=asked)}{day}"


def _start(one: Game, brief: bool) -> str:
    if one.start is None:
        return "at a time not yet announced" if brief else f"on {one.day} at a time not yet announced"
    there = one.start.astimezone(EASTERN)
    utc = one.start.astimezone(UTC)
    day = "" if brief else f"on {there:%Y-%m-%d} "
    # The UTC date is often the next one; then it is named.
    other = f"{utc:%Y-%m-%d %H:%M}" if utc.date() != there.date() else f"{utc:%H:%M}"
    return f"{day}at {there:%H:%M} ET ({other} UTC)"


def _where(one: Game, league: str) -> str:
    """Where a running game stands: " with 3:21 left in the 4th quarter"."""
    sport = LEAGUES[league].sport
    if one.note == "half-time":
        return " at half-time"
    if sport == "soccer":
        return f" after {one.clock}" if one.clock else ""
    if sport == "baseball":
        return f" ({one.note})" if one.note else f" in the {ordinal(one.period)} inning" if one.period else ""
    if one.period < 1:
        return ""
    name = period_name(one.period, league)
    if one.pause or one.clock in ("0:00", "0.0", "0"):
        return f" at the end of {name}"
    if not one.clock:
        return f" in {name}"
    left = one.clock if ":" in one.clock else f"{one.clock} s"
    return f" with {left} left in {name}"


def period_name(period: int, league: str) -> str:
    sport = LEAGUES[league].sport
    regular = 2 if league == "ncaam" else PERIODS.get(sport, 4)
    if period > regular:
        extra = period - regular
        return "overtime" if extra == 1 else f"the {ordinal(extra)} overtime"
    unit = "period" if sport == "hockey" else "half" if league == "ncaam" else "quarter"
    return f"the {ordinal(period)} {unit}"


def listing(games: Sequence[Game], league: str, days: Days, left_out: int) -> str:
    """Games in one sentence, headed by their days."""
    brief = days.first == days.last
    clauses = "; ".join(game(one, league, brief=brief) for one in games[:LISTED_MAX])
    more = len(games) - LISTED_MAX
    tail = f"; and {more} more" if more > 0 else ""
    if left_out:
        tail += f"; {left_out} further {'game' if left_out == 1 else 'games'} could not be read"
    return f"{LEAGUES[league].label} games {span(days)} (US Eastern): {clauses}{tail}"


def span(days: Days) -> str:
    """Days for people: "on 2026-05-18", "from 2026-05-18 to 2026-05-24"."""
    if days.first == days.last:
        return f"on {days.first}"
    return f"from {days.first} to {days.last}"


def clock_time(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%H:%M} UTC"
