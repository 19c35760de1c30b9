"""What people say about games: words and patterns of all languages, and what tells a day. Pure.

Rules of this file and of ``languages/<code>.toml``:
- Words and patterns match the folded words of a ``Reading`` (lower case, no accents, contractions written
  out); patterns with ``TEAM`` and ``LEAGUE`` match texts whose names stand so (``tokens.shape``).
- A word of ``[topic]`` has tags (``SCORE``, ``GAME``, ...), which say what it can ask for. A filler says
  nothing, a trap makes it another question unless it stands inside a team's name.
- Repeats without a bound of their own run over short texts only (``questions.WORDS_MAX``).
"""

from __future__ import annotations

import re
from typing import Final

from node.language.tables import lexicon

_LEXICON: Final = lexicon(__package__)
TABLES: Final = _LEXICON.tables
WORDS: Final = _LEXICON.words
PATTERNS: Final = _LEXICON.patterns
finds: Final = _LEXICON.finds

VOCABULARY: Final = {
    word: frozenset(tag for tag, row in TABLES["topic"].items() if word in row)
    for words in TABLES["topic"].values()
    for word in words
}
EVIDENCE: Final = frozenset(
    ("SCORE", "GAME", "WIN", "PLAY", "PLAYED", "SCHEDULE", "STANDINGS", "VS", "AHEAD")
)
FINITE: Final = frozenset(("WIN", "PLAY", "PLAYED", "AHEAD"))
IDIOMS: Final = tuple((re.compile(found.replace("\n", "")), meant) for found, meant in TABLES["idioms"])

YEAR: Final = re.compile(r"(?:18|19|20)\d\d(?:s|er|-\d\d)?\Z")
NUMERIC_DATE: Final = re.compile(
    r"(?<![\w./-])(?:\d{1,4}([/.-])\d{1,2}\1\d{1,4}|\d{1,2}/\d{1,2}|\d{1,2}\.\d{1,2}\.?)(?![\w/-]|\.\d)"
)
""" "05/06", "5.6.2026"; a pair of figures with a hyphen is a result."""
CLOCK: Final = re.compile(
    r"(?<![\w.:/-])\d{1,2}(?:[:.h]\d\d)? ?(?:am|pm|a\.m\.|p\.m\.|h|uhr|o'clock)(?!\w)"
    r"|(?<![\w.:/-])\d{1,2}:\d\d(?![\w:])"
    r"|(?<!\w)(?:at|around|um|a las|as|alle) \d{1,2}(?:[.h]\d\d)?(?![\w./:-])"
)
"""A time of day, which is not a day."""
NOT_PAST_DATES: Final = frozenset(
    ("today", "tonight", "now", "tomorrow", "weekend", "this week", "next week")
)
