"""How sure it is that a text asks about games. Pure.

A name that is an ordinary word (heat, magic) needs a game beside it; a city needs an opponent or nothing
but words of the topic. Only a text without unknown words can be certain.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from adapters.scores.sides import Sides
from adapters.scores.teams import SPORT_WORDS, is_club
from adapters.scores.tokens import Token, asks_rank, shape
from adapters.scores.words import EVIDENCE, WORDS, finds

STRENGTH_CERTAIN: Final = 0.97
STRENGTH_TOLD: Final = 0.8
"""All words known, in the order of a statement: the gate decides whether it asks."""
STRENGTH_VAGUE: Final = 0.75
"""A game is asked for and neither team nor league is named."""
STRENGTH_CONTEXT: Final = 0.3
"""The result helps whoever answers why or what next."""


def strength_of(
    tokens: Sequence[Token],
    unknown: Sequence[str],
    sides: Sides,
    league: str | None,
    timed: bool,
    explicit: bool,
    hinted: bool,
) -> float | None:
    """The strength of the claim, None for none. ``timed``: a time is named; ``explicit``: a word states the
    metric."""
    tags = {tag for token in tokens for tag in token.tags}
    words = {token.word for token in tokens}
    goes = sides.team is not None and finds("goes", " ".join(token.word for token in tokens)) is not None
    goes = goes or asks_rank(tokens)
    evidence = goes or bool(tags & EVIDENCE) or (explicit and bool(tags & {"NEXT", "LAST"}))
    whole = not unknown
    if unknown and _is_title(tokens):
        return None
    if hinted and (sides.team or league or (evidence and whole)):
        return STRENGTH_CERTAIN if whole and (evidence or timed) else 0.65
    if len(unknown) > 1 and "points" in words:
        return None
    claimed = (STRENGTH_CERTAIN if whole else max(0.55, 0.8 - 0.04 * len(unknown))) if evidence else None
    if sides.team is not None:
        return _team_strength(tokens, tags, unknown, sides, league, timed, claimed)
    if league is not None:
        if claimed is None:
            return STRENGTH_CERTAIN if whole and timed else None
        if {"how", "many"} <= words and not timed:
            return None
        season_question = "GAME" not in tags
        if tags & {"WIN"} and not tags & {"SCORE"} and season_question and not timed:
            return None  # who won the league is a matter of seasons
        if not tags & {"SCORE", "STANDINGS", "SCHEDULE"} and len(unknown) > 2:
            return None
        sport_only = not any(token.league and token.word not in SPORT_WORDS for token in tokens)
        return None if sport_only and unknown and not timed else claimed
    return _vague(tokens, tags, whole, timed)


def _team_strength(
    tokens: Sequence[Token],
    tags: set[str],
    unknown: Sequence[str],
    sides: Sides,
    league: str | None,
    timed: bool,
    claimed: float | None,
) -> float | None:
    whole = not unknown
    if claimed is None:
        sure = any(token.name and token.name.kind in ("name", "code") for token in tokens)
        pair = sides.opponent is not None and sure and sides.kind != "city"
        if whole and (pair or league or (timed and sides.kind in ("name", "code"))):
            return STRENGTH_CERTAIN
        if whole and timed and sides.opponent is not None and sides.kind == "nick":
            return 0.7
        return None
    if sides.kind in ("name", "code") or (league is not None and sides.kind == "nick"):
        only_vs = not tags & (EVIDENCE - {"VS"})
        return None if only_vs and sides.opponent is None and unknown else claimed
    if sides.kind == "nick":
        if sides.opponent is not None:
            return claimed if len(unknown) <= 2 else None
        if len(unknown) <= 4 and finds("did_win", shape(tokens)):
            return claimed
        if not tags & {"SCORE", "GAME", "STANDINGS", "NEXT", "SCHEDULE"} and not (
            _has_article(tokens) or _is_followed(tokens)
        ):
            goes = finds("goes", " ".join(token.word for token in tokens))
            if not (whole and timed and ("WIN" in tags or goes)):
                return None  # "do bears play", "play jazz tonight"
            return 0.7
        if whole:
            # "who won the heat" and "heat play" stay open; a game, a score or a time settles it.
            return claimed if timed or tags & {"SCORE", "GAME", "STANDINGS", "NEXT", "WIN"} else 0.6
        game = bool(tags & {"GAME", "WIN", "SCORE"}) and (timed or tags >= {"GAME"})
        return 0.6 if game and len(unknown) <= (4 if _is_followed(tokens) else 2) else None
    # A city: an opponent, the league, or nothing but words of the topic and a time.
    if sides.opponent is not None:
        strong = bool(tags & {"SCORE", "GAME", "WIN", "PLAY", "PLAYED"})
        other = any(token.name and token.name.kind in ("name", "nick") for token in tokens)
        if league is not None and whole:
            return claimed
        return min(claimed, 0.85) if whole and (strong or timed or other) else None
    if league is not None:
        return claimed if len(unknown) <= 1 else None
    strong = bool(tags & {"SCORE", "GAME", "WIN"})
    club = is_club(sides.league or "nba")
    asks = bool(tokens) and tokens[0].word in WORDS["asks_of_a_team"]
    if any(
        token.name and at > 0 and tokens[at - 1].word in WORDS["placed"] for at, token in enumerate(tokens)
    ):
        return None if not club and "SCORE" not in tags else 0.8 if whole and strong and timed else None
    asks = asks or finds("margin", " ".join(token.word for token in tokens)) is not None
    if whole and asks and ("WIN" in tags or ("PLAY" in tags and timed)):
        return 0.7
    if whole and "PLAY" in tags and finds("city_plays", shape(tokens)):
        return 0.7
    return 0.8 if whole and strong and (timed or club or tags >= {"GAME", "SCORE"}) else None


def _vague(tokens: Sequence[Token], tags: set[str], whole: bool, timed: bool) -> float | None:
    """A question about a game without a name: nothing but words of the topic."""
    if not whole:
        return None
    words = [token.word for token in tokens]
    sport = any(token.unnamed_sport for token in tokens)
    asks = bool(words) and (words[0] in WORDS["leads"] or any(word in ("who", "what") for word in words[:4]))
    if "SCORE" in tags:
        content = [token for token in tokens if token.tags or token.unnamed_sport]
        plain = sport or timed or "GAME" in tags or words[-1] in ("score", "scores", "scoreboard")
        verb = "scored" in words or "scoring" in words
        return STRENGTH_VAGUE if plain and not verb and content else None
    if "WIN" in tags and asks and words[0] in WORDS["who"]:
        return STRENGTH_VAGUE if timed or "GAME" in tags or sport else None
    if tags & {"GAME", "SCHEDULE", "PLAY", "STANDINGS"} and sport and (timed or tags & {"GAME", "SCHEDULE"}):
        return STRENGTH_VAGUE
    if "GAME" in tags and timed and asks:
        return 0.6
    return None


# --- what stands beside a name --------------------------------------------------------------------


def _has_article(tokens: Sequence[Token]) -> bool:
    """Whether a name stands after an article, as a team does and a dance or an animal rarely."""
    return any(
        token.name is not None and at > 0 and tokens[at - 1].word in WORDS["articles"]
        for at, token in enumerate(tokens)
    )


def _is_followed(tokens: Sequence[Token]) -> bool:
    """Whether somebody holds with the team: "my Pistons", "a Bulls fan"."""
    return any(
        token.name is not None
        and (
            (at > 0 and tokens[at - 1].word in WORDS["ours"])
            or (at + 1 < len(tokens) and tokens[at + 1].word in ("fan", "fans"))
        )
        for at, token in enumerate(tokens)
    )


def _is_title(tokens: Sequence[Token]) -> bool:
    """ "kings of leon", "raiders of the lost ark": what goes on after a name makes it another one."""
    return any(token.name is not None and tokens[at + 1].word == "of" for at, token in enumerate(tokens[:-1]))
