"""Text to tokens, for the gate and the keyword key: words, numbers, code-like tokens, symbols, unit ends.

Promises: pure, total, linear in the text; figures are canonical ("1,000", "1000", "one thousand" meet as
1000; "3.10" stays apart from "3.1"), number words, ordinals, percentages, scales and spelled Roman numerals
included. Case is kept where it carries meaning: unit symbols behind a figure (5 mW is not 5 MW), capitals
that tell an acronym from a function word (US, IT, WHO), tokens with an underscore.

Must not know: what any token is worth for the decision.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import TypeAlias

from node.cache.matching import words
from node.cache.matching.canonical import folded
from node.cache.matching.token import CODE, END, NUMBER, SYMBOL, WORD, Token, token_at
from node.language import numbers

_TOKEN = re.compile(
    r"\d+(?:[.,:]\d+)*|[^\W\d_]+(?:['\u2019][^\W\d_]+)*(?:\+\+|#(?!\w))?|_+|\n|\S", re.UNICODE
)
_SPACED = re.compile(r" (?='(?:s|m|re|ve|ll|d)\b)")
_DOTTED = re.compile(r"\b(?:[A-Za-z]\.){2,8}|\b[A-Z]\.[A-Z]\b")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_DIGITS_MAX = 24
"""Longer figures are compared as written and never computed with."""

_CONTRACTIONS = words.pairs("contracted")
_WHOLE_CONTRACTIONS = words.pairs("contractions")


def _figures(name: str) -> dict[str, int]:
    return {word: int(value) for word, value in words.pairs(name).items()}


_FUNCTION_WORDS = words.FILLER | words.SOFT | words.NEGATIONS
_UNITS = numbers.below(20, "en")
_TENS = numbers.below(100, "en", start=20)
_BELOW_100 = {**_UNITS, **_TENS}
_SCALES = _figures("scales")
_ORDINALS = _figures("ordinals")
_ROMAN = _figures("roman")
_ORDINAL_SUFFIX = frozenset({"st", "nd", "rd", "th"})
_SCALE_SUFFIX = _figures("scale_suffix")
_UNIT_OF_TIME_BEFORE = words.table("unit_of_time_before")
_PRONOUN_ONE_BEFORE = words.table("pronoun_one_before")
_PRONOUN_ONE_AFTER = words.table("pronoun_one_after")
_CASED_UNITS = words.table("cased_units")
"""Symbols that name different units in other case: behind a figure their case is kept."""
_GLUED_UNITS = _CASED_UNITS | words.table("glued_units")
_SYMBOL_WORDS = words.pairs("symbol_words")
_OPERATORS = frozenset("+-*/^=<>\u2212")
_ABBREVIATIONS = words.table("abbreviations")
_SIGNS = frozenset("#@*\\§¶†‡‰{}[]~")
"""Punctuation that, standing alone, may be what is asked about."""
_PUNCTUATION = frozenset("\"'`“”‘’«»()[]{},:…–—·•*")


def tokenise(text: str) -> list[Token]:
    """All tokens of a text in order; numbers, dates, units and names folded. An ``END`` stands between
    sentences."""
    text = unicodedata.normalize("NFC", text)
    text = _DOTTED.sub(lambda match: match.group().replace(".", ""), text)
    text = _SPACED.sub("", text)
    found = [(match.group(), match.start(), match.end()) for match in _TOKEN.finditer(text)]
    mixed = _mixed_case(text)
    return folded(_fold_numbers(_classify(_glue(found), mixed)), mixed=mixed)


Piece: TypeAlias = tuple[str, int, int]
"""A piece of the text with its start and end."""
_NO_PIECE: Piece = ("", sys.maxsize, sys.maxsize)
_NO_SIGN = ("", "")


def _mixed_case(text: str) -> bool:
    """Whether capitals can mean something: some words are written small."""
    return any(word.islower() and len(word) > 1 for word in text.split())


def _glue(found: Sequence[Piece]) -> list[Piece]:
    """Join pieces that touch into code-like tokens (mp3, h2o, foo_bar), but not figures and their units
    (5km)."""
    out: list[Piece] = []
    for piece, start, end in found:
        if out and out[-1][2] == start:
            before, begin, _ = out[-1]
            low = piece.lower()
            word_like = (piece[0].isalnum() or piece[0] == "_") and (
                before[-1].isalnum() or before[-1] == "_"
            )
            is_unit = low in _GLUED_UNITS or low in _ORDINAL_SUFFIX or low in _SCALE_SUFFIX
            if word_like and not (before[0].isdigit() and is_unit):
                out[-1] = (before + piece, begin, end)
                continue
        out.append((piece, start, end))
    return out


def _classify(pieces: Sequence[Piece], mixed: bool) -> list[Token]:
    tokens: list[Token] = []
    for (raw, start, end), following in zip(pieces, (*pieces[1:], _NO_PIECE), strict=False):
        before = token_at(tokens, len(tokens) - 1)
        if raw[0].isdigit() and not any(char.isalpha() or char == "_" for char in raw):
            tokens.append(Token(_figure(raw), NUMBER, raw, start, end))
        elif not (raw[0].isalnum() or raw[0] == "_"):
            tokens += _symbol(raw, start, end, before, following)
        elif before.kind == NUMBER and start == before.end and raw.casefold() in _ORDINAL_SUFFIX:
            tokens[-1] = replace(before, raw=before.raw + raw, end=end)
        else:
            tokens += (
                Token(text, kind, shown, start, end) for text, kind, shown in _word(raw, start, before, mixed)
            )
    return tokens


def _figure(raw: str) -> str:
    if _THOUSANDS.fullmatch(raw):
        raw = raw.replace(",", "")
    whole, dot, rest = raw.partition(".")
    if whole.isdecimal():
        whole = whole.lstrip("0") or "0"
    return whole + dot + rest


def _word(raw: str, start: int, before: Token, mixed: bool) -> list[tuple[str, str, str]]:
    """What a word is read as: text, kind and raw of each token."""
    low = raw.casefold().replace("\u2019", "'")
    if "_" in raw:
        return [(raw, CODE, raw)]
    if any(char.isdigit() for char in raw):
        return [(low, CODE, raw)]
    if before.kind == NUMBER and start - before.end <= 1:
        if start == before.end and low in _SCALE_SUFFIX:
            return [("@scale" + str(_SCALE_SUFFIX[low]), WORD, raw)]
        if low in _CASED_UNITS:
            return [(raw, CODE, raw)]
        if low in ("am", "pm"):
            return [("@" + low, CODE, raw)]
    name, _, _ = raw.partition("'")
    if name == "A" and mixed and before.raw.islower():
        return [("^a", CODE, name)]
    if mixed and name.isupper() and len(name) > 1 and name.casefold() in _FUNCTION_WORDS:
        owner = [("'s", WORD, raw)] if low.endswith("'s") else []
        return [("^" + name.casefold(), CODE, name), *owner]
    return [(part, WORD, raw) for part in _opened(low)]


def _opened(low: str) -> list[str]:
    """The words of a contraction."""
    if parts := _WHOLE_CONTRACTIONS.get(low):
        return parts.split("-")
    if low.endswith("n't"):
        return [low[:-3], "not"]
    stem, _, tail = low.rpartition("'")
    if stem and tail in _CONTRACTIONS:
        return [stem, _CONTRACTIONS[tail]]
    return [low.replace("'", "")]


def _symbol(raw: str, start: int, end: int, before: Token, following: Piece) -> list[Token]:
    """The token of a sign; none of one that says nothing."""
    kind, text = _sign(raw, start, end, before, following)
    return [Token(text, kind, raw, start, end)] if kind else []


def _sign(raw: str, start: int, end: int, before: Token, following: Piece) -> tuple[str, str]:
    touches_before = before.end == start
    figure_next = following[0][:1].isdigit()
    if raw == "\n" or raw in "?!;。？！":
        return END, ""
    if raw == ".":
        short = before.kind == WORD and (len(before.text) == 1 or before.text in _ABBREVIATIONS)
        return (END, "") if following[1] > end and not short else _NO_SIGN
    if name := _SYMBOL_WORDS.get(raw):
        return WORD, name
    if raw in "-\u2212":
        joins_words = touches_before and before.kind in (WORD, CODE)
        return (SYMBOL, "-") if figure_next and following[1] - end <= 1 and not joins_words else _NO_SIGN
    if raw in "/*" and figure_next and before.kind == NUMBER:
        return SYMBOL, raw
    if raw in "()":
        opens = raw == "(" and (before.kind == SYMBOL or (before.kind == NUMBER and touches_before))
        return (SYMBOL, raw) if opens or (raw == ")" and following[0] in _OPERATORS) else _NO_SIGN
    if raw in "/,&":
        return WORD, "and" if raw == "&" else raw
    stands_alone = not (touches_before and before.kind != SYMBOL) and not (
        following[1] == end and following[0][:1].isalnum()
    )
    if raw in _SIGNS and stands_alone:
        return SYMBOL, raw
    if raw in _PUNCTUATION or unicodedata.category(raw)[0] in "PZC":
        return _NO_SIGN
    return SYMBOL, raw


def _fold_numbers(tokens: Sequence[Token]) -> list[Token]:
    """Number words, scales, ordinals and Roman numerals become figures; percent is one word."""
    out: list[Token] = []
    index = 0
    while index < len(tokens):
        token = tokens[index]
        value, used = _number_at(tokens, index)
        if used:
            last = tokens[index + used - 1]
            raw = last.raw if last.text in _ORDINALS else token.raw
            out.append(Token(value, NUMBER, raw, token.start, last.end))
        else:
            out.append(replace(token, text="percent") if token.text in ("percentage", "pct") else token)
        index += used or 1
    return out


def _number_at(tokens: Sequence[Token], index: int) -> tuple[str, int]:
    """The figure that starts at ``index`` and how many tokens it takes; ("", 0) when there is none."""
    token, before = tokens[index], token_at(tokens, index - 1)
    following = token_at(tokens, index + 1).text
    word = token.text
    if token.kind == NUMBER:
        digits = word.replace(".", "", 1)
        if (
            (scale := _scale(following))
            and len(digits) <= _DIGITS_MAX
            and digits.isascii()
            and digits.isdigit()
        ):
            return _plain(Decimal(word) * scale), 2
        return word, 1
    if token.kind != WORD:
        return "", 0
    if word in _ROMAN and before.text and before.kind == WORD and before.text not in words.FILLER:
        return str(_ROMAN[word]), 1
    if word == "second" and (before.text in _UNIT_OF_TIME_BEFORE or before.kind == NUMBER):
        return "", 0
    if word == "one" and (
        before.text in _PRONOUN_ONE_BEFORE or following in _PRONOUN_ONE_AFTER or following in ("'s", "")
    ):
        return "", 0
    return _spelled(tokens, index)


def _scale(word: str) -> int:
    if word.startswith("@scale"):
        return int(word[len("@scale") :])
    return _SCALES.get(word, 0)


def _spelled(tokens: Sequence[Token], index: int) -> tuple[str, int]:
    """ "two hundred and five", "twenty-first": at most eight words."""
    total = current = used = 0
    level = 10**15
    room = ""
    while index + used < len(tokens) and used < 8:
        token = tokens[index + used]
        word = token.text
        if token.kind != WORD:
            break
        if word in _UNITS and room in ("", "tens", "scale"):
            if room == "tens" and not 1 <= _UNITS[word] <= 9:
                break
            current += _UNITS[word]
            room = "unit"
        elif word in _TENS and room in ("", "scale"):
            current += _TENS[word]
            room = "tens"
        elif word in _ORDINALS and room in ("", "tens", "scale"):
            return str(total + current + _ORDINALS[word]), used + 1
        elif word in _SCALES and (used or token_at(tokens, index - 1).text in ("a", "per", "one")):
            scale = _SCALES[word]
            if scale == 100 or word == "dozen":
                current = max(current, 1) * scale
            elif scale < level:
                total, current, level = total + max(current, 1) * scale, 0, scale
            else:
                break
            room = "scale"
        elif not (
            word == "and" and room == "scale" and token_at(tokens, index + used + 1).text in _BELOW_100
        ):
            break
        used += 1
    return (str(total + current), used) if used else ("", 0)


def _plain(value: Decimal) -> str:
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
