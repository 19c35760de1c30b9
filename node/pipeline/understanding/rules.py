"""What a question is about, as data: topics that no adapter claims, explanations, follow-ups.

Rules of this file:
- A ``Rule`` is a row: ``pattern`` is found and ``veto`` is not. The first row that fits decides; its name is
  the reason given.
- Patterns match words of the folded text joined by blanks (``Reading.flat``).
- Scripts without blanks are matched on the text itself, in ``SCRIPT_TOPICS``.
- Adapters claim their own texts. The topics here are what is left: live things that no adapter looks up, and
  sums and dates beyond the calculator, so that the model says that it could not instead of guessing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from node.language import tables
from node.language.reading import word_list
from node.language.wording import EXPLAINS

WORDS = {**tables.classes("dialogue"), "explains_it": [EXPLAINS]}
_TABLE = tables.language_table(tables.ENGLISH, "dialogue")
TEXT_CHARS = 600
"""Topic and follow-up patterns look at this much of the joined words."""


def pattern(template: str, flags: int = 0) -> re.Pattern[str]:
    """A template of the words of all languages' dialogue."""
    return tables.pattern((), WORDS, template, flags)


def named(name: str, flags: int = 0) -> re.Pattern[str]:
    """One of the patterns of the English table."""
    return tables.pattern(_TABLE["patterns"][name], WORDS, flags=flags)


def each(name: str, flags: int = 0) -> tuple[re.Pattern[str], ...]:
    """The patterns of a list in the English table, one by one."""
    return tuple(pattern(one, flags) for one in _TABLE["patterns"][name])


@dataclass(frozen=True, slots=True)
class Rule:
    """One row of a rule table. ``local`` topics are computed here, others looked up live."""

    name: str
    pattern: re.Pattern[str]
    veto: re.Pattern[str] | None = None
    local: bool = False

    def fits(self, text: str, flat: str) -> bool:
        return self.pattern.search(text) is not None and (self.veto is None or self.veto.search(flat) is None)


def rows(name: str, code: str = tables.ENGLISH) -> tuple[Rule, ...]:
    """The rules of a language's table of rows: ``fits`` is found and ``unless`` is not."""
    found = []
    for row in tables.language_table(code, "dialogue").get(name, ()):
        veto = tables.pattern(row["unless"], WORDS) if "unless" in row else None
        rule = Rule(row["name"], tables.pattern(row["fits"], WORDS), veto, row.get("local", False))
        found.append(rule)
    return tuple(found)


PRONOUN = "its pronoun stands for something said before"
OF_ASKERS = "asks the asker's own words back"
TOPICS = rows("topics")
FOLLOW_UPS = rows("follow_ups")
SCRIPT_TOPICS = (
    Rule("an arithmetic expression", pattern(r"\d\s*(?:<operator>|<operator_east>)\s*\d"), local=True),
    Rule(
        "asks for a price on a market",
        pattern("<market_east>|<market>"),
        pattern("<explains>|<explains_east>"),
    ),
)
BARE_SUM = pattern(
    r"^(?:<sum_lead>|<sum_lead_east>)?[\s:=]*[-+(√]{0,4}\s*\$?\d[\d.,]*%?\s*(?:[-+*/x×÷^%!)(]|\*\*|off?\b|mod\b)"
    r"[\s\d.,+*/x×÷^%!()-]{0,200}[\d)!%]?\s*(?:=|は|です|等于多少|равно)?\s*[?？=.]*$"
)
"""The whole text is a sum: two numbers and an operator, after an optional "what is"."""

NOT_A_SUM = re.compile(
    r"^\D*(?:\d{1,2}/\d{1,2}(?:/\d{2,4})?|\d{4}-\d{1,2}(?:-\d{1,2})?|24/7|\+?\d[\d() -]{6,}\d"
    r"|\d{4}\s*-\s*\d{4}|[\d.]+%?)\D*$"
)
"""Dates, phone numbers, ranges of years and single numbers look like sums."""

GENERATIVE = (
    Rule("asks for an explanation", pattern(r"\b<explains>\b|<explains_east>")),
    Rule("asks for a comparison or an opinion", pattern(r"\b<compares>\b|<compares_east>")),
    Rule("asks for a text to be written", pattern(r"^(?:please )?<writes>\b|<writes_east>")),
    Rule("asks who or what something is", pattern(r"\b<who_or_what>\b|<who_or_what_east>")),
)
OPERATES = named("operates")
SMALL_TALK = pattern(r"^(?:\w+ ){0,2}?<small_talk>$")


def follow_up(flat: str) -> str | None:
    """Why the text, by its wording alone, goes on from something said before; None when it does not."""
    return next((rule.name for rule in FOLLOW_UPS if rule.fits(flat, flat)), None)


NO_CONTENT = frozenset(WORDS["no_content"])
"""A question made of these alone asks about something that is not in it."""

_REPEATED = re.compile(r"(.)\1+")
_ONE_SOUND = re.compile(r"sch|tch|ch|ck|gh|ng|nk|ph|sh|sp|st|sz|cz|th|tr|wh|wr|zh")
_NO_VOWELS = re.compile(r"[^\W\d_aeiouy]{5,}")
_NO_SYLLABLE = re.compile(r"[^\W\d_aeiouy]{6,}")
_MIXED = re.compile(r"(?=.*\d)(?=.*[a-z].*[a-z])[b-df-hj-np-tv-xz0-9]{3,12}")
_SHORT_FORMS = frozenset(word_list("https xhtml mysql dhcpd ftps pgsql nvlink xhtml5"))
_MIXED_MIN = 2


def names_nothing(words: Sequence[str]) -> bool:
    """Whether nothing in the text can be looked up: its words are all listed ones, or noise from a keyboard
    ("asdfghjkl", "xj7 kq2 zz"). Abbreviations have no vowels either, so it takes a long row of consonants or
    several words of letters mixed with digits, and nothing else beside them."""
    rest = [word for word in words if word not in NO_CONTENT]
    if not rest or all(not word.isascii() for word in rest):
        return not rest
    return _is_noise(rest)


def _is_noise(words: Sequence[str]) -> bool:
    if not all(word.isascii() and (_is_row(word) or not _has_syllable(word)) for word in words):
        return False
    if any(_is_row(word) for word in words):
        return True
    mixed = {word for word in words if _MIXED.fullmatch(word)}
    heads = {word.rstrip("0123456789") for word in mixed}  # "mp3 mp4" are of one family
    return len(words) > _MIXED_MIN and len(heads) >= _MIXED_MIN


def _is_row(word: str) -> bool:
    """A row of consonants that no language says."""
    word = _REPEATED.sub(r"\1", word)  # "pfffft"
    if word in _SHORT_FORMS:
        return False
    return (
        _NO_VOWELS.fullmatch(word) is not None or _NO_SYLLABLE.search(_ONE_SOUND.sub("t", word)) is not None
    )


def _has_syllable(word: str) -> bool:
    return any(char in "aeiouy" for char in word) or not any(char.isalpha() for char in word)
