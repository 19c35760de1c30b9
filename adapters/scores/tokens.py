"""A text about games as tokens: names of teams and leagues, words of the topic, fillers, unknown words. Pure.

The longest name wins. Capitals tell a code from a word (WAS) only where not the whole text is typed in
them. A word that nothing knows may be a slip of the pen: one letter amiss in a long name or word of the
topic.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from rapidfuzz.distance import OSA

from adapters.scores.teams import CONFERENCES, LEAGUE_WORDS, LONGEST_NAME, NAMES, UNSAFE_CODES, Name
from adapters.scores.words import VOCABULARY, WORDS, finds

# --- slips of the pen -----------------------------------------------------------------------------


_SPELLING: Final = WORDS["spelt"] | {
    words[0]
    for words, name in NAMES.items()
    if len(words) == 1 and name.kind == "name" and len(words[0]) >= 6
}


@lru_cache(maxsize=512)
def meant_by(word: str) -> str | None:
    """The word of the topic that ``word`` is one letter added, missing or swapped away from, or for long
    words one letter wrong; never a singular or plural."""
    if not 4 <= len(word) <= 14 or not word.isalpha() or word in WORDS["not_slips"]:
        return None
    for meant in _SPELLING:
        if meant[0] != word[0] or (meant.endswith("s") and word == meant[:-1]) or word == meant + "s":
            continue
        if OSA.distance(word, meant, score_cutoff=1) == 1 and (
            len(word) != len(meant) or len(word) >= 7 or sorted(word) == sorted(meant)
        ):
            return meant
    return None


# --- tokens ---------------------------------------------------------------------------------------

_FIRSTS: Final = frozenset(words[0] for words in (*NAMES, *LEAGUE_WORDS)) | {"la"}
"""The words that a name can begin with."""
_SCORE_LINE: Final = re.compile(r"\d{1,3}[-:]\d{1,3}\Z")


@dataclass(frozen=True, slots=True)
class Token:
    """``word`` or words as said; ``name`` and ``league`` where it names one; ``tags`` of the topic."""

    word: str
    name: Name | None = None
    league: str | None = None
    tags: frozenset[str] = frozenset()
    guessed: bool = False
    unnamed_sport: bool = False

    @property
    def known(self) -> bool:
        return bool(
            self.name or self.league or self.tags or self.unnamed_sport or self.word in WORDS["filler"]
        ) or bool(_SCORE_LINE.match(self.word))


def cut(words: Iterable[str]) -> list[str]:
    """Hyphenated words in parts where the whole means nothing here."""
    out: list[str] = []
    for word in words:
        if "-" in word and word not in VOCABULARY and word not in WORDS["filler"] and (word,) not in NAMES:
            out.extend(part for part in word.split("-") if part)
        elif "." in word and (word.replace(".", ""),) in LEAGUE_WORDS:
            out.append(word.replace(".", ""))
        else:
            out.append(word.rstrip("'."))
    return out


_PAIR: Final = re.compile(r"\b([A-Z]{3})\s*(?:VS?\.?|@|-)\s*([A-Z]{3})\b")


def capitals(text: str) -> str:
    """The part of a text in which capitals mean something: nothing of one that is typed in capitals as a
    whole, but for codes that face each other ("WAS @ BOS")."""
    if any(char.islower() for char in text):
        return text
    return " ".join(f"{one} {two}" for one, two in _PAIR.findall(text))


def tokens_of(words: Sequence[str], said: str) -> list[Token]:
    """``said`` is the original, for codes that are words in lower case (see ``capitals``)."""
    out: list[Token] = []
    at = 0
    while at < len(words):
        longest = min(LONGEST_NAME, len(words) - at) if words[at] in _FIRSTS else 0
        for length in range(longest, 0, -1):
            run = tuple(words[at : at + length])
            if run == ("la",) and at > 0 and words[at - 1] in WORDS["before_la"]:
                token: Token | None = Token("la", name=NAMES["los", "angeles"])
            elif length == 1 and run[0] in UNSAFE_CODES and _is_faced(words, at):
                token = _named(run, run[0].upper())
            else:
                token = _named(run, said)
            if token is not None:
                out.append(token)
                at += length
                break
        else:
            out.append(_plain(words[at]))
            at += 1
    return out


def _is_faced(words: Sequence[str], at: int) -> bool:
    """Whether the other side of a "vs" beside the word is a name or a code too."""
    for step in (1, -1):
        other = at + 2 * step
        if 0 <= other < len(words) and words[at + step] in WORDS["faces"] and (words[other],) in NAMES:
            return True
    return False


def _named(run: tuple[str, ...], said: str) -> Token | None:
    text = " ".join(run)
    if run == ("la",) and re.search(r"\bLA\b", said):
        return Token(text, name=NAMES["los", "angeles"])
    if run in LEAGUE_WORDS:
        return Token(text, league=LEAGUE_WORDS[run])
    name = NAMES.get(run)
    if name is None:
        return None
    if name.kind == "code" or (len(run) == 1 and run[0] in UNSAFE_CODES and name.kind != "name"):
        if run[0] in UNSAFE_CODES and not re.search(rf"\b{run[0].upper()}\b", said):
            return None
        nba = tuple(team for team in name.teams if team.code.lower() == run[0])
        return Token(text, name=Name("code", nba or name.teams))
    return Token(text, name=name)


def _plain(word: str) -> Token:
    if word in WORDS["unnamed_sports"]:
        return Token(word, unnamed_sport=True)
    tags = VOCABULARY.get(word)
    if tags is not None:
        return Token(word, tags=tags)
    if word in WORDS["filler"] or word in WORDS["traps"]:
        return Token(word)
    meant = meant_by(word)
    if meant is None:
        return Token(word)
    if (meant,) in NAMES:
        return Token(meant, name=NAMES[(meant,)], guessed=True)
    if (meant,) in LEAGUE_WORDS:
        return Token(meant, league=LEAGUE_WORDS[(meant,)], guessed=True)
    return Token(meant, tags=VOCABULARY.get(meant, frozenset()), guessed=True)


# --- what the tokens name -------------------------------------------------------------------------


def shape(tokens: Sequence[Token]) -> str:
    """The words, each name as ``TEAM`` and each league as ``LEAGUE``."""
    return " ".join("LEAGUE" if one.league else "TEAM" if one.name else one.word for one in tokens)


def asks_rank(tokens: Sequence[Token]) -> bool:
    """Whether a place in the table is asked for."""
    return finds("ranked", shape(tokens)) is not None


def league_of(tokens: Sequence[Token]) -> str | None:
    """The league that is named; a conference stands for one only where no league is."""
    named = [token for token in tokens if token.league]
    plain = [token for token in named if token.word not in CONFERENCES]
    return (plain or named)[0].league if named else None
