"""What is asked of a game: score, winner, schedule or standings. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from adapters.grammar import when as time_words
from adapters.scores.tokens import Token, asks_rank, shape
from adapters.scores.words import NOT_PAST_DATES, WORDS, finds


def metric_of(tokens: Sequence[Token], flat: str, said: str | None, ahead: bool) -> tuple[str, bool]:
    """The metric, and whether a word says so. ``ahead``: the time lies after today."""
    tags = {tag for token in tokens for tag in token.tags}
    words = {token.word for token in tokens}
    if asks_rank(tokens):
        return "standings", True
    if finds("half_time", flat) and not re.search(r"\bis (?:it|this) \w+", flat):
        return "halftime", True
    if "STANDINGS" in tags and not ("SCORE" in tags and "record" not in words):
        return "standings", True
    first = next((tag for token in tokens for tag in ("SCORE", "WIN", "SCHEDULE") if tag in token.tags), None)
    asks_when = finds("asks_when", flat) is not None
    past = bool(words & WORDS["past"])
    if (
        asks_when
        and not past
        and first != "SCORE"
        and (tags & {"GAME", "PLAY", "SCHEDULE", "VS", "NEXT"} or any(token.name for token in tokens))
    ):
        return "schedule", True
    if first == "SCHEDULE":
        return "schedule", True
    if first == "SCORE":
        return ("margin" if "margin" in words else "score"), True
    if first == "WIN":
        wins = {token.word for token in tokens if "WIN" in token.tags}
        if finds("margin", flat):
            return "margin", True
        return ("score" if wins <= WORDS["running"] else "winner"), True
    if "AHEAD" in tags:
        return "score", True
    if "LAST" in tags or past:
        return "score", True
    if finds("goes", flat):
        return "score", True
    if finds("meets", flat) or finds("is_on", shape(tokens)):
        return "schedule", True
    if "NEXT" in tags:
        return "schedule", True
    counted = said is not None and said.startswith("today+")
    upcoming = ahead or counted or said in NOT_PAST_DATES or said in time_words.WEEKDAYS
    if "PLAY" in tags and (said is None or upcoming):
        return "schedule", True
    if finds("is_there", flat) and upcoming:
        return "schedule", True
    if "GAME" in tags and upcoming and said != "now":
        return "schedule", True
    return ("schedule", False) if ahead else ("score", False)
