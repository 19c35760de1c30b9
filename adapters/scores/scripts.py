"""Questions about games in Japanese, Chinese and Russian. Pure, bounded.

Words are found in the text itself: the time, the names and the words of the topic are cut out one after
another; only where nothing but fillers is left is the question certain. Names in Latin letters are read as in
any other text (``tokens``).
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

from adapters.grammar import when as time_words
from adapters.scores.sides import sides_of
from adapters.scores.slots import Asked, Found, reason_of
from adapters.scores.strength import STRENGTH_CERTAIN, STRENGTH_TOLD, STRENGTH_VAGUE
from adapters.scores.teams import SCRIPT_LEAGUES, SCRIPT_NAMES, Name
from adapters.scores.tokens import cut, tokens_of
from adapters.scores.words import NOT_PAST_DATES, PATTERNS, TABLES, finds
from node.language.reading import Reading
from node.language.tables import pattern

_SCRIPT_TAGS: Final = tuple(
    (tag, pattern(TABLES["script_topic"][tag], {}))
    for tag in ("STANDINGS", "SCORE", "WIN", "SCHEDULE", "GAME", "VS", "LAST")
)
_LATIN_RUN: Final = re.compile(r"[a-z0-9](?:[a-z0-9' -]*[a-z0-9])?")
_RU_TAIL: Final = re.compile(r"(?<![а-я])(?:а|у|е|ов|ам|ами|ах|ом|ы|и)(?![а-я])")
_SCRIPT_BY_LENGTH: Final = sorted(SCRIPT_NAMES, key=len, reverse=True)
_SCRIPT_LEAGUES_BY_LENGTH: Final = sorted(SCRIPT_LEAGUES.items(), key=lambda item: -len(item[0]))


def read_script(reading: Reading, now: datetime, hinted: bool) -> Found | None:
    """The question in ``reading``, ``now`` on the asker's clock."""
    plain = reading.plain[: time_words.PLAIN_CHARS]
    today = now.date()
    if finds("script_traps", plain):
        return None
    when, rest = time_words.find_script(plain, today, past=True)
    rest, spots, league = _script_names(rest)
    names = [name for _, name in sorted(spots, key=lambda spot: spot[0])]
    tags: set[str] = set()
    for tag, found in _SCRIPT_TAGS:
        replaced = found.sub(" ", rest)
        if replaced != rest:
            tags.add(tag)
            rest = replaced
    sides = sides_of(names, league, today.month)
    if sides is None:
        return None
    ahead = bool(when and when.first > today)
    metric = _script_metric(tags, when.said if when else None, ahead)
    if when is not None and metric == "schedule":
        when = time_words.find_script(plain, today)[0] or when
    left = rest
    for fillers in (PATTERNS["script_filler"], PATTERNS["script_filler_words"], _RU_TAIL):
        left = fillers.sub(" ", left)
    whole = not re.search(r"\w", left)
    evidence = bool(tags - {"LAST", "VS"}) or (sides.opponent is not None and "VS" in tags)
    asked = Asked(
        sides.league,
        sides.team.code if sides.team else None,
        sides.opponent.code if sides.opponent else None,
        when.said if when else None,
        metric,
    )
    strength = 0.0
    if sides.team is not None:
        sure = sides.kind == "name" or sides.opponent is not None or league is not None or evidence
        if sure and (evidence or when is not None):
            strength = STRENGTH_CERTAIN if whole and evidence else 0.75
    elif league is not None and (evidence or when is not None):
        strength = STRENGTH_CERTAIN if whole and evidence else 0.75
    elif {"GAME", "SCORE"} <= tags or ({"GAME", "WIN"} <= tags) or (whole and {"SCORE"} <= tags):
        strength = STRENGTH_VAGUE if whole else 0.6
    if hinted and not strength and (sides.team or league):
        strength = 0.65
    if strength == STRENGTH_CERTAIN and "WIN" in tags and reading.sentences[-1].mark != "?":
        strength = STRENGTH_TOLD
    return Found(asked, strength, reason_of(asked)) if strength else None


def _script_names(text: str) -> tuple[str, list[tuple[int, Name]], str | None]:
    """The text without the names in it, the names with their places, and the league."""
    spots: list[tuple[int, Name]] = []
    league: str | None = None
    for word in _SCRIPT_BY_LENGTH:
        at = text.find(word)
        if at < 0:
            continue
        if "а" <= word[0] <= "я" and at > 0 and text[at - 1].isalpha():
            continue
        spots.append((at, SCRIPT_NAMES[word]))
        text = text[:at] + " " * len(word) + text[at + len(word) :]
    for word, ident in _SCRIPT_LEAGUES_BY_LENGTH:
        at = text.find(word)
        if at < 0:
            continue
        league = league or ident
        text = text[:at] + " " * len(word) + text[at + len(word) :]
    for match in _LATIN_RUN.finditer(text):
        words = cut(match.group().split())
        for token in tokens_of(words, match.group().upper()):
            if token.name is not None:
                spots.append((match.start(), token.name))
            league = league or token.league
        if any(token.name or token.league for token in tokens_of(words, match.group().upper())):
            text = text[: match.start()] + " " * len(match.group()) + text[match.end() :]
    return text, spots, league


def _script_metric(tags: set[str], said: str | None, ahead: bool) -> str:
    if "STANDINGS" in tags:
        return "standings"
    if "SCORE" in tags:
        return "score"
    if "WIN" in tags:
        return "winner"
    if "SCHEDULE" in tags or ahead:
        return "schedule"
    if "GAME" in tags and said in NOT_PAST_DATES and said != "now":
        return "schedule"
    return "score"
