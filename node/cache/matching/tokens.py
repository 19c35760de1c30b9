"""Text to tokens, for the gate and the keyword key: words, numbers, code-like tokens, symbols, unit ends.

Promises: pure, total, linear in the text; figures are canonical ("1,000", "1000", "one thousand" meet as
1000; "3.10" stays apart from "3.1"), number words, ordinals, percentages, scales and spelled Roman numerals
included. Case is kept where it carries meaning: unit symbols behind a figure (5 mW is not 5 MW), capitals
that tell an acronym from a function word (US, IT, WHO), tokens with an underscore.

Must not know: what any token is worth for the decision.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

from node.cache.matching import words
from node.cache.matching.canonical import folded
from node.cache.matching.token import CODE, END, NUMBER, SYMBOL, WORD, Token
from node.language import numbers

__all__ = ["CODE", "END", "NUMBER", "SYMBOL", "WORD", "Token", "tokenise"]

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
_SCALES = _figures("scales")
_ORDINALS = _figures("ordinals")
_ROMAN = _figures("roman")
_ORDINAL_SUFFIX = frozenset({"st", "nd", "rd", "th"})
_SCALE_SUFFIX = _figures("scale_suffix")
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


def _mixed_case(text: str) -> bool:
    """Whether capitals can mean something: some words are written small."""
    return any(word.islower() and len(word) > 1 for word in text.split())


def _glue(found: Sequence[tuple[str, int, int]]) -> list[tuple[str, int, int]]:
    """Join pieces that touch into code-like tokens (mp3, h2o, foo_bar), but not figures and their units
    (5km)."""
    out: list[tuple[str, int, int]] = []
    for piece, start, end in found:
        if out and out[-1][2] == start:
            before = out[-1][0]
            word_like = piece[0].isalnum() or piece[0] == "_"
            before_like = before[-1].isalnum() or before[-1] == "_"
            unit = before[0].isdigit() and (
                piece.lower() in _GLUED_UNITS
                or piece.lower() in _ORDINAL_SUFFIX
                or piece.lower() in _SCALE_SUFFIX
            )
            if word_like and before_like and not unit:
                out[-1] = (before + piece, out[-1][1], end)
                continue
        out.append((piece, start, end))
    return out


def _classify(pieces: Sequence[tuple[str, int, int]], mixed: bool) -> list[Token]:
    tokens: list[Token] = []
    for index, (raw, start, end) in enumerate(pieces):
        before = tokens[-1] if tokens else None
        if raw[0].isdigit() and not any(char.isalpha() or char == "_" for char in raw):
            tokens.append(Token(_figure(raw), NUMBER, raw, start, end))
        elif raw[0].isalnum() or raw[0] == "_":
            if _ends_ordinal(raw, start, before):
                tokens[-1] = replace(tokens[-1], raw=tokens[-1].raw + raw, end=end)
                continue
            tokens.extend(_word(raw, start, end, before, mixed))
        else:
            following = pieces[index + 1] if index + 1 < len(pieces) else None
            token = _symbol(raw, start, end, before, following)
            if token is not None:
                tokens.append(token)
    return tokens


def _ends_ordinal(raw: str, start: int, before: Token | None) -> bool:
    touches = before is not None and before.kind == NUMBER and start == before.end
    return touches and raw.casefold() in _ORDINAL_SUFFIX


def _figure(raw: str) -> str:
    if _THOUSANDS.fullmatch(raw):
        raw = raw.replace(",", "")
    whole, dot, rest = raw.partition(".")
    if whole.isdecimal():
        whole = whole.lstrip("0") or "0"
    return whole + dot + rest


def _word(raw: str, start: int, end: int, before: Token | None, mixed: bool) -> list[Token]:
    low = raw.casefold().replace("\u2019", "'")
    if "_" in raw:
        return [Token(raw, CODE, raw, start, end)]
    if any(char.isdigit() for char in raw):
        return [Token(low, CODE, raw, start, end)]
    behind_figure = before is not None and before.kind == NUMBER and start - before.end <= 1
    if behind_figure and before is not None:
        if start == before.end and low in _SCALE_SUFFIX:
            return [Token("@scale" + str(_SCALE_SUFFIX[low]), WORD, raw, start, end)]
        if low in _CASED_UNITS:
            return [Token(raw, CODE, raw, start, end)]
        if low in ("am", "pm"):
            return [Token("@" + low, CODE, raw, start, end)]
    name, _, _ = raw.partition("'")
    if name == "A" and mixed and before is not None and before.raw.islower():
        return [Token("^a", CODE, name, start, end)]
    if mixed and name.isupper() and len(name) > 1 and name.casefold() in _FUNCTION_WORDS:
        acronym = "^" + name.casefold()
        owner = [Token("'s", WORD, raw, start, end)] if low.endswith("'s") else []
        return [Token(acronym, CODE, name, start, end), *owner]
    if parts := _WHOLE_CONTRACTIONS.get(low):
        return [Token(part, WORD, raw, start, end) for part in parts.split("-")]
    if "'" in low:
        if low.endswith("n't"):
            return [Token(part, WORD, raw, start, end) for part in (low[:-3], "not")]
        stem, _, tail = low.rpartition("'")
        opened = _CONTRACTIONS.get(tail)
        if opened is not None:
            return [Token(part, WORD, raw, start, end) for part in (stem, opened)]
        low = low.replace("'", "")
    return [Token(low, WORD, raw, start, end)]


def _symbol(
    raw: str, start: int, end: int, before: Token | None, following: tuple[str, int, int] | None
) -> Token | None:
    if raw == "\n" or raw in "?!;。？！":
        return Token("", END, raw, start, end)
    if raw == ".":
        closes = following is None or following[1] > end
        short = (
            before is not None
            and before.kind == WORD
            and (len(before.text) == 1 or before.text in _ABBREVIATIONS)
        )
        return Token("", END, raw, start, end) if closes and not short else None
    if name := _SYMBOL_WORDS.get(raw):
        return Token(name, WORD, raw, start, end)
    if raw in "-\u2212":
        figure_next = following is not None and following[0][0].isdigit() and following[1] - end <= 1
        word_before = before is not None and before.end == start and before.kind in (WORD, CODE)
        return Token("-", SYMBOL, raw, start, end) if figure_next and not word_before else None
    if raw in "/*":
        figure_next = following is not None and following[0][0].isdigit()
        figure_before = before is not None and before.kind == NUMBER
        if figure_next and figure_before:
            return Token(raw, SYMBOL, raw, start, end)
        if raw == "/":
            return Token("/", WORD, raw, start, end)
    if raw in "()":
        operator_next = following is not None and following[0] in _OPERATORS
        opens = (
            raw == "("
            and before is not None
            and (before.kind == SYMBOL or (before.kind == NUMBER and before.end == start))
        )
        return Token(raw, SYMBOL, raw, start, end) if opens or (raw == ")" and operator_next) else None
    if raw == "&":
        return Token("and", WORD, raw, start, end)
    if raw == ",":
        return Token(",", WORD, raw, start, end)
    if raw in _SIGNS and not _touches(start, end, before, following):
        return Token(raw, SYMBOL, raw, start, end)
    if raw in _PUNCTUATION or unicodedata.category(raw)[0] in "PZC":
        return None
    return Token(raw, SYMBOL, raw, start, end)


def _touches(start: int, end: int, before: Token | None, following: tuple[str, int, int] | None) -> bool:
    """Whether a word or figure stands directly beside."""
    left = before is not None and before.end == start and before.kind != SYMBOL
    return left or (following is not None and following[1] == end and following[0][0].isalnum())


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
            index += used
            continue
        out.append(replace(token, text="percent") if token.text in ("percentage", "pct") else token)
        index += 1
    return out


def _number_at(tokens: Sequence[Token], index: int) -> tuple[str, int]:
    """The figure that starts at ``index`` and how many tokens it takes; ("", 0) when there is none."""
    token = tokens[index]
    previous = tokens[index - 1].text if index else ""
    following = tokens[index + 1].text if index + 1 < len(tokens) else ""
    if token.kind == NUMBER:
        scale = _scale(following)
        digits = token.text.replace(".", "", 1)
        if scale and len(digits) <= _DIGITS_MAX and digits.isascii() and digits.isdigit():
            return _plain(Decimal(token.text) * scale), 2
        return token.text, 1
    if token.kind != WORD:
        return "", 0
    word = token.text
    if word in _ROMAN and previous and tokens[index - 1].kind == WORD and previous not in words.FILLER:
        return str(_ROMAN[word]), 1
    if word == "second" and (
        previous in ("a", "per", "each", "every") or tokens[max(index - 1, 0)].kind == NUMBER
    ):
        return "", 0
    if word == "one" and (
        previous in _PRONOUN_ONE_BEFORE or following in _PRONOUN_ONE_AFTER or following in ("'s", "")
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
        elif word in _SCALES and (used or _starts_scale(tokens, index)):
            scale = _SCALES[word]
            if scale == 100 or word == "dozen":
                current = max(current, 1) * scale
            elif scale < level:
                total, current, level = total + max(current, 1) * scale, 0, scale
            else:
                break
            room = "scale"
        elif word == "and" and room == "scale" and _continues(tokens, index + used + 1):
            pass
        else:
            break
        used += 1
    return (str(total + current), used) if used else ("", 0)


def _starts_scale(tokens: Sequence[Token], index: int) -> bool:
    """ "a hundred", "per million": a bare scale word is a figure when it is singular and leads a count."""
    return index > 0 and tokens[index - 1].text in ("a", "per", "one")


def _continues(tokens: Sequence[Token], index: int) -> bool:
    return index < len(tokens) and (tokens[index].text in _UNITS or tokens[index].text in _TENS)


def _plain(value: Decimal) -> str:
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
