"""What people say when they ask for news: words, frames, numbers, traps and wordings of all languages. Pure.

Rules of this file and of ``languages/<code>.toml``:
- Words and patterns match the folded words of a ``Reading`` (lower case, no accents, contractions written
  out). Texts that are matched are bounded (``questions.TEXT_WORDS``).
- Words of the frame ("what is the latest") carry no topic; ``no_topic`` words make what they stand in none.
- ``[wordings]`` and ``loose`` are patterns whose group ``topic`` holds the topic. ``loose`` are those that
  ask for news without saying so, each with words of which one is in the text.
- ``thing_traps`` speak of news as a thing; ``frame_traps`` explain, write or judge, and count up to the word
  for news only, for what comes after it is its topic ("news about the history exam"); ``loose_traps`` are for
  questions that say neither news nor headlines.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from node.language import numbers
from node.language.tables import any_of, lexicon, pattern
from node.language.wording import EXPLAINS

_LEXICON = lexicon(__package__)
_TABLES = _LEXICON.tables
WORDS = _LEXICON.words
PATTERNS = _LEXICON.patterns
finds = _LEXICON.finds

FRAME = WORDS["filler"] | WORDS["frame"]
NEWS_PHRASES = frozenset(tuple(run.split()) for run in WORDS["news_phrases"])
NEWS_COMPOUNDS = tuple(WORDS["compounds"])
COMPOUND = re.compile(rf"([a-z0-9]{{2,20}}?)-?(?:{any_of(_TABLES['words']['compounds'])})")
SLIPS: Mapping[str, str] = {word: " ".join(meant) for word, meant in _TABLES["slips"].items()}
"""Slips in words too short for the rule, and what is written together."""
LONG_WORDS: list[str] = _TABLES["words"]["long_words"]
OF_THE: Mapping[tuple[str, ...], str] = {
    tuple(run.split()): said.replace("_", " ") for said, runs in _TABLES["days"].items() for run in runs
}
NUMBERS = {word: value for word, value in numbers.single_words().items() if 1 <= value <= 20}
_COUNT = rf"(\d{{1,2}}|{'|'.join(NUMBERS)})"
ENOUGH = pattern(
    (
        rf"\b<just> (?:the )?(?:top )?{_COUNT}(?: of (?:them|those))?(?: please)?$",
        rf"\b{_COUNT} (?:is|are|will|would)(?: be)? (?:enough|fine|plenty|ok|okay|good|sufficient|do)$",
        rf"\b{_COUNT} <at_most>$",
    ),
    _TABLES["words"],
)
"""A number of headlines named behind the question."""
FRAME_TRAPS = re.compile(
    EXPLAINS.replace("are|is|was|were|to)", "are|was|were|to)", 1).replace("|story|", "|")
    + "|"
    + PATTERNS["frame_traps"].pattern
)
_WORDINGS = {
    name: [pattern([one], _TABLES["words"]) for one in rows] for name, rows in _TABLES["wordings"].items()
}
LOOSE: tuple[tuple[frozenset[str], re.Pattern[str]], ...] = tuple(
    (
        WORDS[cues[1:-1]] if cues.startswith("<") else frozenset(cues.split()),
        pattern([said], _TABLES["words"]),
    )
    for cues, said in _TABLES["loose"]
)


def worded(name: str, text: str) -> re.Match[str] | None:
    """The first place in ``text`` that a wording of that name matches."""
    found = (one.search(text) for one in _WORDINGS[name])
    return min((match for match in found if match is not None), key=lambda match: match.start(), default=None)
