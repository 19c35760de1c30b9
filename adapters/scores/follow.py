"""A fragment that goes on from a question about games, as a question of its own. Pure.

Rules of this file:
- Every word of the fragment must be known; it fills slots of the question before: teams, league, time,
  metric.
- The result is an English phrase that ``questions`` reads back to exactly the merged slots; where it does
  not, there is no result.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from adapters.grammar import when as time_words
from adapters.scores.metrics import metric_of
from adapters.scores.questions import is_trap, read_question
from adapters.scores.sides import sides_of
from adapters.scores.slots import PAST_METRICS, Asked
from adapters.scores.strength import STRENGTH_VAGUE
from adapters.scores.teams import LEAGUE_WORDS, LEAGUES, Name, Team, is_club, team_of
from adapters.scores.tokens import capitals, cut, league_of, tokens_of
from adapters.scores.words import EVIDENCE, finds
from node.language.reading import read, word_list

_OPENING: Final = re.compile(
    r"^(?:and|but|so|ok|okay|or|also|then|now|well)? ?(?:what about|how about|same for|what of"
    r"|und was ist mit|was ist mit|y que tal|que tal|et pour|and|und|y|et|e|и|а)? "
)
_PRONOUNS: Final = frozenset(word_list("they them their it that those he she his the game match same"))
_FOLLOW_WORDS_MAX: Final = 10


def follow_up(fragment: str, earlier: str, now: datetime) -> str | None:
    """See ``node.core.ports.Adapter.follow_up``."""
    before = read_question(earlier, now)
    if before is None or before.strength < STRENGTH_VAGUE:
        return None
    reading = read(fragment)
    if not reading.words or len(reading.words) > _FOLLOW_WORDS_MAX or reading.script != "latin":
        return None
    flat = _OPENING.sub("", f"{reading.flat} ", count=1).strip()
    if not flat:
        return None
    merged = _merge(before.asked, flat, fragment, now)
    if merged is None or merged == before.asked or (merged.league is None and merged.team is None):
        return None
    if before.lacking and (before.lacking != "date" or merged.date is None):
        return None
    said = phrase(merged, now)
    back = read_question(said, now) if said is not None else None
    return (
        said
        if back is not None and back.asked == merged and not back.lacking and back.strength >= 0.9
        else None
    )


def _merge(old: Asked, flat: str, fragment: str, now: datetime) -> Asked | None:
    words = flat.split()
    plain = time_words.find(words, now.date(), past=old.metric in PAST_METRICS)
    when, rest = plain
    tokens = tokens_of(cut(rest), capitals(fragment))
    if any(not token.known and token.word not in _PRONOUNS for token in tokens) or is_trap(tokens, flat):
        return None
    if finds("predicts", flat):
        return None
    names = [token.name for token in tokens if token.name]
    league = league_of(tokens)
    tags = {tag for token in tokens for tag in token.tags}
    new = old
    if names:
        sides = sides_of(names, league or _league_for(names, old), now.month)
        if sides is None or sides.team is None:
            return None
        if len(names) == 1 and "VS" in tags and old.team is not None and sides.league == old.league:
            if sides.team.code == old.team:
                return None
            new = replace(new, opponent=sides.team.code)
        else:
            opponent = sides.opponent.code if sides.opponent else None
            new = replace(new, league=sides.league, team=sides.team.code, opponent=opponent)
    elif league is not None:
        new = replace(new, league=league, team=None, opponent=None)
    metric, explicit = metric_of(tokens, flat, when.said if when else None, False)
    if explicit and tags & (EVIDENCE - {"VS", "GAME"} | {"NEXT", "LAST"}):
        new = replace(new, metric=metric)
        if tags & {"NEXT", "LAST"} and when is None:
            new = replace(new, date=None)
        if metric == "schedule" and old.metric != "schedule" and when is None and finds("asks_when", flat):
            new = replace(new, date=None)
    if when is not None:
        if when.span and (when.last - when.first).days > 31:
            return None
        new = replace(new, date=when.said)
    if not (names or league or when or (explicit and tags)):
        return None
    return new


def _league_for(names: Sequence[Name], old: Asked) -> str | None:
    """The earlier league, where one of its teams bears the name."""
    fits = any(team.league == old.league for name in names for team in name.teams)
    return old.league if fits else None


def phrase(asked: Asked, now: datetime) -> str | None:
    """English words that ``read_question`` reads back to ``asked`` with certainty."""
    teams = [team_of(asked.league, code) for code in (asked.team, asked.opponent)]
    label = next((" ".join(words) for words, ident in LEAGUE_WORDS.items() if ident == asked.league), "")
    # "F1 score" is a figure of statistics.
    result = "results" if asked.league and LEAGUES[asked.league].sport == "other" else "score"
    head = {
        "score": f"{label} {result}",
        "winner": f"who won the {label} game",
        "margin": f"what was the margin in the {label} game",
        "halftime": f"{label} halftime {result}",
        "schedule": f"{label} schedule",
        "standings": f"{label} standings",
    }[asked.metric]
    parts = [head.strip()]
    if teams[0] is not None:
        parts.append(f"of {_article(teams[0])}")
    if teams[1] is not None:
        parts.append(f"against {_article(teams[1])}")
    if asked.date is not None:
        past = asked.metric in PAST_METRICS
        when = time_words.resolve(asked.date, now.date(), past=past)
        if when is None:
            return None
        parts.append(time_words.phrase(when))
    return " ".join(parts)


def _article(team: Team) -> str:
    return team.full if is_club(team.league) else f"the {team.full}"
