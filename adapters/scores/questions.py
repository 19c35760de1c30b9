"""Reading questions about games: is it one, which league, teams, day and what of it. Pure.

Rules of this file:
- A text is cut into a time (``adapters.grammar.when``), names of teams and leagues (``teams``), words of
  the topic and words that carry nothing (``words``); what is left over is unknown. Only a text without
  unknown words, which is not told as a statement, is certain (``strength``).
- Ticket prices, history, players and the like are vetoed; a result may still help as context.
- Other scripts than Latin are read by ``scripts``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, datetime
from functools import lru_cache
from itertools import pairwise
from typing import Final

from adapters.grammar import when as time_words
from adapters.scores.metrics import metric_of
from adapters.scores.scripts import read_script
from adapters.scores.sides import are_several, sides_of
from adapters.scores.slots import Asked, Found, reason_of
from adapters.scores.strength import STRENGTH_CERTAIN, STRENGTH_CONTEXT, STRENGTH_TOLD, strength_of
from adapters.scores.teams import CONFERENCES, NAMES, SPORT_WORDS, Name
from adapters.scores.tokens import Token, asks_rank, capitals, cut, league_of, meant_by, shape, tokens_of
from adapters.scores.words import (
    CLOCK,
    EVIDENCE,
    FINITE,
    IDIOMS,
    NUMERIC_DATE,
    VOCABULARY,
    WORDS,
    YEAR,
    finds,
)
from node.language.reading import Reading, read

WORDS_MAX: Final = 60
"""A longer text is no question about a game."""
NOT_LEAGUES: Final = frozenset(SPORT_WORDS) | frozenset(CONFERENCES)
"""Words that stand for a league where none is named."""
CHATTY_WORDS: Final = 9
"""More unknown words than this around a game are about something else."""


def read_question(text: str, now: datetime, *, hinted: bool = False) -> Found | None:
    """The question that ``text`` asks about games, ``now`` on the asker's clock; total and bounded."""
    text = text.replace(" @ ", " vs ")
    reading = read(text)
    if len(reading.words) > WORDS_MAX or reading.script in ("none", "other"):
        return None
    if reading.script != "latin":
        found = read_script(reading, now, hinted)
        if found is not None or not any(word.isascii() for word in reading.words):
            return found
    return _read_latin(reading, text[:4_000], now, hinted)


def _read_latin(reading: Reading, said_text: str, now: datetime, hinted: bool) -> Found | None:
    words = _plainly(reading.words)
    flat = " ".join(words)
    today = now.date()
    told = cut(words)
    bare = CLOCK.sub(" ", said_text.lower())
    said_text = capitals(said_text)
    first_look = tokens_of(told, said_text)
    if (
        not hinted
        and not any(
            token.name or token.league or token.tags & EVIDENCE or token.unnamed_sport for token in first_look
        )
        and not asks_rank(first_look)
    ):
        return None
    looks_ahead = bool(finds("asks_when", flat)) and not set(told) & WORDS["past"]
    tags = {tag for token in first_look for tag in token.tags}
    past = not looks_ahead and not (tags & {"SCHEDULE", "NEXT"} and not tags & {"SCORE", "WIN"})
    corrected = [_corrected(word) for word in words]
    when, rest = time_words.find(corrected, today, past=past)
    tokens = tokens_of(cut(rest), said_text)
    unknown = [token.word for token in tokens if not token.known]
    if when is None and NUMERIC_DATE.search(bare):
        # a day, although not which one: its figures are neither years nor words of something else
        tokens = [token for token in tokens if not token.word.replace(".", "").replace("-", "").isdigit()]
        unknown = [token.word for token in tokens if not token.known]
    league = league_of(tokens)
    if asks_rank(tokens):
        unknown = [word for word in unknown if word not in WORDS["rank_words"]]
        if league is None and {"east", "west", "conference"} & set(told):
            league = "nba"
    names = _ours_first(tokens, flat)
    sides = sides_of(names, league, today.month)
    if sides is None or _is_origin(tokens, flat, when is not None):
        return None
    if when is not None and when.span and (when.last - when.first).days > 31:
        return None
    metric, explicit = metric_of(tokens, flat, when.said if when else None, bool(when and when.first > today))
    asked = Asked(
        sides.league,
        sides.team.code if sides.team else None,
        sides.opponent.code if sides.opponent else None,
        when.said if when else None,
        metric,
    )
    if is_trap(tokens, flat):
        return _context(asked, tokens, when is not None)
    if reading.sentences[-1].mark != "?" and finds("tells", flat):
        return None
    if finds("predicts", flat):
        return _context(asked, tokens, when is not None or sides.opponent is not None)
    if len(unknown) > CHATTY_WORDS:
        return None
    strength = strength_of(tokens, unknown, sides, league, when is not None, explicit, hinted)
    if strength is None:
        return None
    if strength == STRENGTH_CERTAIN and _is_told(reading, tokens):
        if finds("exclaims", flat):
            return None
        strength = STRENGTH_TOLD
    if any(token.guessed for token in tokens):
        strength = min(strength, STRENGTH_TOLD)
    lacking = "" if asked.metric == "standings" else _lacking(tokens, flat, bare, when is not None, today)
    if lacking:
        strength = min(strength, STRENGTH_TOLD)
    return Found(asked, strength, reason_of(asked), lacking)


def _lacking(tokens: Sequence[Token], flat: str, bare: str, timed: bool, today: date) -> str:
    """See ``Found.lacking``; ``bare`` is the text without times of day."""
    named = [
        token.name
        for token, following in pairwise([*tokens, Token("")])
        if token.name is not None and following.word not in ("fan", "fans")
    ]
    leagues = {token.league for token in tokens if token.league and token.word not in NOT_LEAGUES}
    if are_several(named) or finds("twice", shape(tokens)) or (not named and len(leagues) > 1):
        return "game"
    if timed:
        return ""
    if finds("several", flat):
        return "count"
    unread = [token.word for token in tokens if not token.known]
    if any(time_words.find((word,), today)[0] is not None for word in unread[: CHATTY_WORDS + 1]):
        return "date"  # two times, of which neither may be taken for the other
    left = {token.word for token in tokens if not token.known and any(char.isdigit() for char in token.word)}
    return "date" if NUMERIC_DATE.search(bare) or not left.isdisjoint(read(bare).words) else ""


def _plainly(words: Sequence[str]) -> tuple[str, ...]:
    flat = " ".join(words)
    for pattern, meant in IDIOMS:
        flat = pattern.sub(meant, flat)
    return tuple(flat.split())


@lru_cache(maxsize=512)
def _corrected(word: str) -> str:
    """Time words that are misspelt, for the grammar of times."""
    meant = (
        meant_by(word)
        if (word,) not in NAMES and word not in VOCABULARY and word not in WORDS["filler"]
        else None
    )
    return meant if meant in ("tonight", "yesterday", "tomorrow") else "night" if word == "nite" else word


def _ours_first(tokens: Sequence[Token], flat: str) -> list[Name]:
    """The names in the order said; the asker's own team first, where "we" are it ("how badly did we beat the
    Hornets, hawks fan here")."""
    fans = [
        token.name
        for token, following in pairwise(tokens)
        if token.name is not None and following.word in ("fan", "fans")
    ]
    named = [token.name for token in tokens if token.name is not None]
    if len(fans) == 1 and re.search(r"\b(?:we|us|our)\b", flat):
        return [*fans, *(name for name in named if name is not fans[0])]
    return named


# --- what it is not -------------------------------------------------------------------------------


def is_trap(tokens: Sequence[Token], flat: str) -> bool:
    """Whether a word or a phrase makes it another question (see ``words``)."""
    for token in tokens:
        if token.name is None and token.league is None and token.word in WORDS["traps"]:
            return True
        if YEAR.match(token.word):
            return True
    return finds("trap_phrases", flat) is not None


def _is_origin(tokens: Sequence[Token], flat: str, timed: bool) -> bool:
    """ "how did the NBA start", "when did the Lakers begin": the beginning of a league or a team, or of its
    season, unless a game or a day is named."""
    tags = {tag for token in tokens for tag in token.tags}
    if finds("where", flat) and not timed and not tags & {"STANDINGS", "SCORE"} and not asks_rank(tokens):
        return True
    if timed or not any(token.word in WORDS["begins"] for token in tokens):
        return bool(finds("first_ever", shape(tokens)))
    if tags & {"GAME", "VS", "SCORE", "NEXT", "PLAY"}:
        return False
    return not any(token.name for token in tokens) or bool(re.search(r"\b(?:how|why|where|did)\b", flat))


def _is_told(reading: Reading, tokens: Sequence[Token]) -> bool:
    """Whether it reads as a statement: a verb of the game, no question mark and nothing that asks."""
    if reading.sentences and reading.sentences[-1].mark == "?":
        return False
    flat = " ".join(token.word for token in tokens)
    if finds("wants", flat) or (finds("asks_late", flat) and not finds("knows", flat)):
        return False
    finite = any(token.tags & FINITE and token.word not in WORDS["noun_wins"] for token in tokens)
    copula = any(token.word in ("is", "are", "was", "were", "am", "had", "my", "we", "i") for token in tokens)
    lead = next((token.word for token in tokens if token.word not in WORDS["openers"]), "")
    if lead in WORDS["leads"] and lead not in ("i",):
        return False
    return finite or copula


def _context(asked: Asked, tokens: Sequence[Token], bound: bool) -> Found | None:
    """A result that helps with another question ("why did the Lakers lose last night")."""
    if asked.team is None or not bound or not any(token.tags & EVIDENCE for token in tokens):
        return None
    if not any(token.name and token.name.kind == "name" for token in tokens):
        return None
    return Found(asked, STRENGTH_CONTEXT, f"{reason_of(asked)}, as context")
