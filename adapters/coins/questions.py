"""Reads a text that is certainly one question about the figures of coins. Pure, total, bounded.

Rules of this file:
- Every word of the text must be accounted for; one that is not makes the text somebody else's here. So
  "should I buy bitcoin" and "bitcoin halving date" need no rules of their own. ``claims`` is more lenient
  where the text is known to ask.
- Polite sentences may stand around the one question, and what the asker says of themselves before it.
- Case is folded for everything but tickers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date

from adapters.coins import dates
from adapters.coins.aliases import PEGS
from adapters.coins.figures import Figure, figure, top
from adapters.coins.items import Item, items_of
from adapters.coins.words import COIN_WORDS, DATE_MARK, MONEY, TABLES, key_of, plain, tokens_of
from node.language.tables import fill, later

TEXT_CHARS_MAX = 800


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence in parts. ``items`` None: something in it is no word. ``said`` is the past day it names;
    ``wrong_day`` when it names one that cannot be meant (to come, unclear, not in the calendar)."""

    text: str
    items: tuple[Item, ...] | None
    said: str | None = None
    wrong_day: bool = False


class _Other:
    """A sentence that asks or says something else."""


_OTHER = _Other()


def sentences_of(text: str, today: date) -> tuple[Sentence, ...]:
    """The sentences of ``text`` in parts; none for a text too long to be one question."""
    if len(text) > TEXT_CHARS_MAX or DATE_MARK in text:
        return ()
    folded = _DOTS.sub("", _SINCE.sub(" 24h ", _EQUALS.sub(" in ", _BLANKS.sub(" ", plain(text)))))
    return tuple(_sentence(piece, today) for piece in _SENTENCE_END.split(folded) if piece.strip())


def read_question(text: str, today: date) -> Figure | None:
    """The question in ``text``, or None when it is not certainly one about coins."""
    found: Figure | None = None
    for sentence in sentences_of(text, today):
        if is_thanks(sentence) or _MACHINE.search(sentence.text):
            return None
        reading = _read(sentence)
        if isinstance(reading, Figure):
            if found is not None:
                return None
            found = reading
        elif reading is _OTHER and (found is not None or not _STATEMENT.match(sentence.text.strip())):
            return None
    return found


def is_thanks(sentence: Sentence) -> bool:
    """Whether it thanks for something: that asks for nothing."""
    return _THANKS.match(sentence.text) is not None


def _sentence(piece: str, today: date) -> Sentence:
    said = dates.find(piece.lower(), today) if len(piece.lower()) == len(piece) else None
    text = piece
    day = None
    if said is not None:
        if said.date is None:
            return Sentence(piece, None, wrong_day=True)
        text = f"{piece[: said.start]} {DATE_MARK} {piece[said.end :]}"
        day = None if dates.day_of(said.date, today) == today else said.date
    tokens = tokens_of(_reordered(text))
    return Sentence(piece, None if tokens is None else tuple(items_of(tokens)), day)


def _read(sentence: Sentence) -> Figure | _Other | None:
    """The question; ``_OTHER``; None when the sentence is empty or only polite."""
    items = sentence.items
    if items is None:
        return _OTHER
    if all(item.kind in ("fill", "and", "link", "now", "how", "at") for item in items):
        return None
    kinds = {item.kind for item in items}
    if kinds & {"top", "mover"}:
        question = None if "date" in kinds else top(items, kinds)
        return _OTHER if question is None else Figure(question)
    return figure(items, sentence.said) or _OTHER


_BLANKS = re.compile(r"[^\S\n]+")
_EQUALS = re.compile(r"\s*=\s*\?+\s*(?=[^\W\d_]|[$€£])")
"""1 eth = ? usd"""
_SINCE = re.compile(fill(r"\b<since>\s<yesterday>\b", TABLES["words"]), re.IGNORECASE)
"""A day ago as the beginning of a change."""
_DOTS = re.compile(r"\.{2,}(?=\s*\S)")
"""hey... price of btc"""
_SENTENCE_END = re.compile(r"[?!;\n…？！。؟]|(?<!\b\d)(?<!\b\d\d)\.(?=\s+(?!\d)|\s*$)")
"""A full stop after one or two figures is that of an ordinal: 1. Mai."""
_STATEMENT = re.compile(
    fill(r"<says_of_self>\b(?!.*\b(?:explain|tell me|compare)\b)", TABLES["words"]), re.IGNORECASE
)
_THANKS = re.compile(r"\s*(?:many\s)?(?:thanks|thank\syou|thx)\s(?:\w+\s){0,3}?for\s", re.IGNORECASE)
"""Thanks for a price ask for none."""
_MACHINE = re.compile(r"\ban?\s[\w$]{2,20}\satm\b|\batms\b", re.IGNORECASE)
"""A bitcoin ATM is no bitcoin at the moment."""


def _reordered(sentence: str) -> str:
    """The same question in the order of words that the rest of this file knows."""
    for pattern, order in _ORDERS:
        sentence = pattern.sub(order, sentence, count=1)
    return _COMPOUND.sub(_cut_compound, sentence)


def _cut_compound(match: re.Match[str]) -> str:
    """Bitcoinkurs"""
    return f"{match[1]} {match[2]}" if key_of(match[1]) in COIN_WORDS else match[0]


_COMPOUND = later(fill(r"\b([^\W\d_]{3,20}?)s?-?(<compound_ends>)\b", TABLES["words"]), re.IGNORECASE)
_PEGGED = sorted({key[0] for key, (coin_id, _) in COIN_WORDS.items() if len(key) == 1 and coin_id in PEGS})
_ORDERS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (later(fill(found, {**TABLES["words"], "money": [MONEY], "pegged": _PEGGED}), re.IGNORECASE), order)
    for found, order in TABLES["orders"]
)
