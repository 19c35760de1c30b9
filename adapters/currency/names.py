"""Money in texts: which currency a word, sign or code names, and how much of it. Pure.

It promises lower-case ISO 4217 codes and canonical decimal amounts. Names are data in ``_ROWS`` and the
tables below it; an adjective of a country makes of a general noun ("canadian dollars", "pesos argentinos")
that country's currency. Words that are mostly something else ("won", "real", "try") are marked ``doubtful``:
whoever reads the text must find further evidence. Coins are not currencies.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from adapters.currency.words import TABLES
from node.language import numbers, tables
from node.language.reading import word_list, words_of
from node.language.tables import read_table

_DATA = read_table(__package__, "names.toml")

TEXT_CHARS = 600
"""A question about money is short; the rest of a longer text is not read."""
AMOUNT_MAX = Decimal(10) ** 15
_MONEY_WORDS_MAX = 3

_ROWS = _DATA["rows"]

_COUNTRIES = _DATA["countries"]
_ENDINGS: tuple[tuple[str, tuple[str, ...]], ...] = tuple(tuple(row) for row in _DATA["endings"])
"""How adjectives are bent: the first ending that fits."""

_HOMES = _DATA["homes"]
_NOUNS = frozenset(word_list(_DATA["nouns"]))

_SIGNS: Mapping[str, str] = _DATA["signs"]

_SCRIPT_ROWS = _DATA["script_rows"]


@dataclass(frozen=True, slots=True)
class Money:
    """A token of a text. ``kind``: currency, number or word. ``value`` is the code, the canonical decimal or
    the word itself; ``doubtful``: the word is mostly something else; ``sign``: a currency sign, which stands
    before its number."""

    kind: str
    value: str
    doubtful: bool = False
    sign: bool = False


def _tables() -> tuple[dict[str, str], dict[tuple[str, ...], str], frozenset[str]]:
    names: dict[str, str] = {}
    spoken: dict[tuple[str, ...], str] = {}
    doubtful: set[str] = set()
    for line in _ROWS.strip().splitlines():
        code, name, *words = line.split("|")
        if name:
            names[code] = name
        sure = words[0].split() if words else []
        unsure = words[1].split() if len(words) > 1 else []
        doubtful.update(unsure)
        for word in (code, *sure, *unsure):
            spoken[tuple(word.split("_"))] = code
    return names, spoken, frozenset(doubtful)


NAMES, _SPOKEN, _DOUBTFUL = _tables()
"""English names in the plural by code."""


def _bent(word: str) -> tuple[str, ...]:
    """An adjective in its forms; English ones have one only, and those made up here do no harm."""
    for ending, others in _ENDINGS:
        if word.endswith(ending) and len(word) > len(ending) + 2:
            return (word, *(word[: len(word) - len(ending)] + other for other in others))
    return (word,)


def _by_words(rows: str) -> dict[tuple[str, ...], str]:
    return {
        tuple(word.split("_")): code
        for line in rows.strip().splitlines()
        for code, words in [line.split("|")]
        for word in words.split()
    }


def _adjectives() -> dict[tuple[str, ...], str]:
    said = _by_words(_COUNTRIES)
    for words, code in list(said.items()):
        for word in _bent(words[-1]):
            said.setdefault((*words[:-1], word), code)
    return said


_ADJECTIVES = _adjectives()
_MONEY_STARTS = _NOUNS.union(words[0] for words in _SPOKEN)
"""An adjective names a currency beside one of the nouns only."""
_COUNTRY = _by_words(_HOMES)
_SIGN = re.compile("|".join(re.escape(sign) for sign in sorted(_SIGNS, key=len, reverse=True)))
_MARK, _SIGN_MARK = "iso", "sign"
"""Before a code that was not written in Latin letters, so that it is not taken for a word (``rub``)."""
_SCRIPT: dict[str, str] = dict(line.split("|") for line in _SCRIPT_ROWS.strip().splitlines())
_SCRIPT_NAME = re.compile("|".join(sorted(map(re.escape, _SCRIPT), key=len, reverse=True)))
_CYRILLIC = tuple(
    (re.compile(rf"(?<!\w)(?:{tables.any_of(entries)})(?!\w)"), code)
    for code, entries in TABLES["ru"]["currencies"].items()
)
_GROUPED = re.compile(
    r"(?<![\d.,])(?:\d{1,3}(?:,\d{3}){1,6}(?:\.\d{1,12})?|\d{1,3}(?:\.\d{3}){1,6}(?:,\d{1,12})?"
    r"|\d{1,3}(?:[ '\u00a0\u202f]\d{3}){1,6}(?:[.,]\d{1,12})?|\d{1,15},\d{1,12})(?![\d])"
)
_IDEOGRAPHIC = re.compile(r"(\d{1,15}(?:\.\d{1,12})?)?([万萬億亿千百]{1,3})(?=\W|[^\W\d])")
_IDEOGRAPHIC_WORTH = {"百": 100, "千": 1_000, "万": 10_000, "萬": 10_000, "億": 10**8, "亿": 10**8}
_CHINESE_DIGITS = _DATA["chinese_digits"]
_CHINESE_DIGITS["十"] = 10
_CHINESE_NUMBER = re.compile(
    r"(?<![一-鿿])([一二两兩三四五六七八九十])(?=[百千万萬億亿]|美|欧|歐|英|日|人民)"
)
_COURSES = ("wechselkurs", "kurs", "kurse")
_FUSED = re.compile(r"(\d{1,15}(?:\.\d{1,12})?)(k|m|mio|mn|mil|bn)?([a-zł]{2,12})?")
_PLAIN_NUMBER = re.compile(r"\d{1,15}(?:\.\d{1,12})?")
_MULTIPLIERS = {
    word: Decimal(worth)
    for table in TABLES.values()
    for worth, row in table.get("multipliers", {}).items()
    for word in tables.listed(row)
}
_HUNDREDS = tables.every(TABLES, "hundreds")
_IN = frozenset(("in", "en", "nach", "em", "au", "aux"))
_TO = frozenset(("in", "to", "into", "en", "nach", "vs", "versus", "against"))
_BARE = frozenset(
    word_list("usd cad aud nzd hkd sgd twd jmd gbp mxn ars cop clp php dop uyu chf brl zar inr")
)
"""Currencies whose adjective may stand alone ("100 dollars in canadian"); most others name a language too."""
_HALVES = dict.fromkeys(tables.every(TABLES, "half"), Decimal("0.5")) | dict.fromkeys(
    tables.every(TABLES, "quarter"), Decimal("0.25")
)
_ARTICLES = tables.every(TABLES, "one")
_NUMBER_WORDS: Mapping[str, int] = {
    word: value
    for word, value in numbers.phrases().items()
    if " " not in word and word not in _HUNDREDS and word not in _MULTIPLIERS and word not in _ARTICLES
}
_LEADING_POINT = re.compile(r"(?<![\w.,])[.,](?=\d)")
_SPELT_CHARS_MAX = 40
_PIECE = "|".join(
    sorted(
        {
            word
            for table in (_NUMBER_WORDS, _HUNDREDS, _MULTIPLIERS, _HALVES)
            for word in table
            if len(word) > 1
        }
    )[::-1]
)
_SPELT = tables.later(
    rf"(?:ein|vingts|{_PIECE})(?:(?:und|-et-|-y-|-e-|-)?(?:einhalb|ein|vingts|une|un|{_PIECE}))++"
)
"""Number words in one, which ``_number`` does not read."""
_COUNTS_VAGUELY = tables.every(TABLES, "vague_counts")
_IDEOGRAPHIC_DIGIT = re.compile(r"[一二两兩三四五六七八九十百千万萬億亿]")


def canonical(amount: Decimal) -> str:
    """Plain decimal digits, no exponent, no zeros at the end."""
    text = format(amount, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def is_number_unread(word: str) -> bool:
    """Whether ``word``, which is neither an amount nor a date, counts something all the same ("1e400", "½",
    "100-50", "fünfundzwanzigeinhalb", "dozen"): an amount that is not understood must not be left out."""
    if any(unicodedata.category(char)[0] == "N" for char in word) or word in _COUNTS_VAGUELY:
        return True
    if _IDEOGRAPHIC_DIGIT.search(word) or (word in _MULTIPLIERS and len(word) > 1 and word != "grand"):
        return True
    return word in ("half", "quarter") or (
        len(word) <= _SPELT_CHARS_MAX and _SPELT.fullmatch(word) is not None
    )


def split(plain: str) -> list[str]:
    """The folded text ``plain`` (as of ``Reading.plain``) in words: signs and names in other scripts are
    written as ``iso`` and the code, numbers without separators of thousands."""
    text = _LEADING_POINT.sub("0.", plain[:TEXT_CHARS])
    if not text.isascii():
        text = _CHINESE_NUMBER.sub(lambda match: str(_CHINESE_DIGITS[match[1]]), text)
        text = _SCRIPT_NAME.sub(lambda match: f" {_MARK}{_SCRIPT[match.group()]} ", text)
        for pattern, code in _CYRILLIC:
            text = pattern.sub(f" {_MARK}{code} ", text)
        text = _IDEOGRAPHIC.sub(_from_ideographs, text)
    text = _GROUPED.sub(_from_grouped, text)
    text = _SIGN.sub(lambda match: f" {_SIGN_MARK}{_SIGNS[match.group()]} ", text)
    words: list[str] = []
    for word in words_of(text):
        if word == ",":
            continue
        fused = _FUSED.fullmatch(word) if word[0].isdecimal() else None
        parts = word.split("-")
        course = word.endswith(_COURSES) and next(
            (end for end in _COURSES if word.endswith(end) and (word[: -len(end)],) in _SPOKEN), None
        )
        if course:
            words += [word[: -len(course)], "wechselkurs"]
        elif fused is not None and (fused[2] or fused[3]) and (fused[3] is None or (fused[3],) in _SPOKEN):
            words += [part for part in fused.groups() if part]
        elif len(parts) > 1 and (all((part,) in _SPOKEN for part in parts) or all(map(_is_counting, parts))):
            words += parts
        elif len(word) == 7 and word[3] == "2" and word[:3] in NAMES and word[4:] in NAMES:
            words += [word[:3], "to", word[4:]]
        elif len(word) == 6 and word.isascii() and word[:3] in NAMES and word[3:] in NAMES:
            words += [word[:3], word[3:]]
        else:
            words.append(word)
    return words


def _is_counting(word: str) -> bool:
    return word in _NUMBER_WORDS or word in _HUNDREDS or word in _HALVES or word in _MULTIPLIERS


def _from_ideographs(match: re.Match[str]) -> str:
    worth = Decimal(match[1] or 1)
    for sign in match[2]:
        worth *= _IDEOGRAPHIC_WORTH[sign]
    return f"{canonical(worth)} "


def _from_grouped(match: re.Match[str]) -> str:
    """A number with separators in plain form: the last separator is a decimal one unless three digits follow
    it and it could group thousands."""
    text = re.sub(r"[ '\u00a0\u202f]", "", match.group())
    last = max(text.rfind(","), text.rfind("."))
    if last == -1:
        return text if text[0] != "0" else match.group()
    whole, part = text[:last], text[last + 1 :]
    both = "," in text and "." in text
    if both or len(part) != 3 or whole == "0":
        return f"{re.sub('[.,]', '', whole)}.{part}"
    return re.sub(r"[.,]", "", text)


def classified(words: Sequence[str]) -> list[Money]:
    """Words (as of ``split``) as words, currencies and numbers, in order."""
    out: list[Money] = []
    at = 0
    while at < len(words):
        money = _currency(words, at)
        if money is not None:
            token, at = money
            out.append(token)
            continue
        number = _number(words, at)
        if number is not None:
            amount, at = number
            out.append(Money("number", canonical(amount)))
            continue
        out.append(Money("word", words[at]))
        at += 1
    return out


def names_money(words: Sequence[str]) -> bool:
    """Whether one of ``words`` (as of ``split``) can begin a currency: else ``classified`` finds none."""
    return not _MONEY_STARTS.isdisjoint(words) or any(word.startswith((_MARK, _SIGN_MARK)) for word in words)


def at_home(words: Sequence[str]) -> list[str]:
    """``words`` with the countries after "in" replaced by their currencies: "in japan" by "in yen"."""
    out: list[str] = []
    at = 0
    while at < len(words):
        out.append(words[at])
        at += 1
        if out[-1] not in _IN:
            continue
        start = at + 1 if words[at : at + 1] in (["the"], ["los"], ["der"], ["den"], ["les"]) else at
        for length in (2, 1):
            code = _COUNTRY.get(tuple(words[start : start + length]))
            if code is not None:
                out.append(_MARK + code)
                at = start + length
                break
    return out


def in_adjectives(words: Sequence[str], known: frozenset[str]) -> list[str]:
    """``words`` with an adjective that stands alone after "in" or "to" replaced by its currency: "in
    canadian" by "in canadian dollars". Words in ``known`` are no such adjectives ("to us")."""
    out: list[str] = []
    at = 0
    while at < len(words):
        if out and out[-1] in _TO:
            for length in (2, 1):
                key = tuple(words[at : at + length])
                code = _ADJECTIVES.get(key)
                if code in _BARE and not (length == 1 and key[0] in known) and _currency(words, at) is None:
                    out.append(f"{_MARK}{code}")
                    at += length
                    break
            else:
                out.append(words[at])
                at += 1
            continue
        out.append(words[at])
        at += 1
    return out


def _currency(words: Sequence[str], at: int) -> tuple[Money, int] | None:
    for mark in (_MARK, _SIGN_MARK):
        if words[at].startswith(mark) and words[at][len(mark) :] in NAMES:
            return Money("currency", words[at][len(mark) :], sign=mark == _SIGN_MARK), at + 1
    for length in range(min(_MONEY_WORDS_MAX, len(words) - at), 0, -1):
        key = tuple(words[at : at + length])
        noun = at + length
        code = _ADJECTIVES.get(key)
        if code is not None and noun < len(words) and words[noun] in _NOUNS:
            return Money("currency", code), noun + 1
        code = _SPOKEN.get(key)
        if code is None and length == 1 and words[at] in _NOUNS:
            code = ""
        if code is None:
            continue
        if words[at] in _NOUNS:
            for more in range(min(2, len(words) - noun), 0, -1):
                other = _ADJECTIVES.get(tuple(words[noun : noun + more]))
                if other is not None:
                    return Money("currency", other), noun + more
        if code:
            return Money("currency", code, doubtful=length == 1 and words[at] in _DOUBTFUL), noun
    return None


def _number(words: Sequence[str], at: int) -> tuple[Decimal, int] | None:
    """Digits or number words with their multipliers: "2.5 million", "one hundred and fifty", "a thousand"."""
    start = at
    half = _half(words, at)
    if half is not None:
        return half
    if words[at] in _ARTICLES:
        at += 1
        if at >= len(words) or not (words[at] in _HUNDREDS or words[at] in _MULTIPLIERS):
            return None
        if len(words[at]) == 1:
            return None
    total, current, seen = Decimal(0), Decimal(0), at > start
    while at < len(words):
        word = words[at]
        if _PLAIN_NUMBER.fullmatch(word):
            if seen:
                break
            current, seen = Decimal(word), True
        elif (several := numbers.longest(words, at)) is not None and _continues(current, several[0]):
            current, seen, at = current + several[0], True, several[1] - 1
        elif not seen and (fused := _fused(word)) is not None:
            current, seen = Decimal(fused), True
        elif word in _NUMBER_WORDS and (word != "once" or seen or tuple(words[at + 1 : at + 2]) in _SPOKEN):
            if not _continues(current, _NUMBER_WORDS[word]):
                break
            current, seen = current + _NUMBER_WORDS[word], True
        elif word in _HUNDREDS and current < 100 and _counts_hundreds(words, start, at, current):
            current, seen = max(current, Decimal(1)) * 100, True
        elif word in _MULTIPLIERS and (seen or word in ("mil", "mille", "tausend", "duizend")):
            total, current, seen = total + max(current, Decimal(1)) * _MULTIPLIERS[word], Decimal(0), True
        elif seen and words[at : at + 3] == ["and", "a", "half"] and current:
            current, at = current + Decimal("0.5"), at + 2
        elif word in ("and", "y", "und", "et", "e") and seen and at + 1 < len(words):
            if words[at + 1] not in _NUMBER_WORDS or current % 10:
                break
        else:
            break
        at += 1
        if words[at - 1] in _MULTIPLIERS and words[at : at + 3] == ["and", "a", "half"]:
            total, at = total + _MULTIPLIERS[words[at - 1]] / 2, at + 3
            break
    amount = total + current
    return (amount, at) if seen and amount <= AMOUNT_MAX else None


def _fused(word: str) -> int | None:
    """Several numbers in one word, which is none by itself: "zweihundertfunfzig"."""
    if len(word) < numbers.JOINED_MIN or word in _MULTIPLIERS or word in _HUNDREDS:
        return None
    return numbers.joined(word)


def _continues(current: Decimal, value: int) -> bool:
    """Whether a number word goes on with the number before it: "twenty five", not "two three"."""
    if current % 100 == 60 and 10 <= value < 20:
        return True  # French counts so
    return not current or any(value < place and not current % place for place in (10, 100, 1_000))


def _half(words: Sequence[str], at: int) -> tuple[Decimal, int] | None:
    """ "half a million", "medio millon", "eine halbe Million": a part of a multiplier only."""
    if words[at] in _ARTICLES:
        at += 1
    if at >= len(words) or words[at] not in _HALVES:
        return None
    part = _HALVES[words[at]]
    at += 1
    while at < len(words) and (words[at] in _ARTICLES or words[at] in ("of", "de", "d'")):
        at += 1
    if at >= len(words) or words[at] not in _MULTIPLIERS or len(words[at]) == 1:
        return None
    return part * _MULTIPLIERS[words[at]], at + 1


def _counts_hundreds(words: Sequence[str], start: int, at: int, current: Decimal) -> bool:
    """Whether "hundred" (French "cent") multiplies what stands before it: "50 cent" does not."""
    if at == start or words[at - 1] in _ARTICLES:
        # French "cent euros", but not "a cent" and "50 cent".
        return words[at] != "cent" or (at == start and tuple(words[at + 1 : at + 2]) in _SPOKEN)
    return current < 100 and (words[at - 1] in _NUMBER_WORDS or words[at] != "cent")
