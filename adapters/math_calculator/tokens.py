"""Text to tokens: digits, signs, operator words, function words and number words of one language.

Promises: linear in the text; a character or word that is not arithmetic raises ``NotMath`` at once, so a
question about anything else costs next to nothing. Pure; the grammar is in ``parser``.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from fractions import Fraction

from adapters.math_calculator.numbers import Refused
from adapters.math_calculator.words import EN_ORDINALS, Language
from node.core.errors import BadInput

CHARS_MAX = 1_000
TOKENS_MAX = 400
EXPONENT_MAX = 5_000
"""Of a literal in scientific notation; above it the literal is kept as text and refused when evaluated."""


class NotMath(BadInput):
    """The text is not an expression of this calculator."""


@dataclass(frozen=True, slots=True)
class Token:
    """``kind``: num (``value`` or None for a literal over the limit, ``text`` as written), frac (``value`` is
    written as a fraction), op, func, const, sup. ``text`` is the operator or name; ``index`` the n of an
    n-th root, a logarithm's base or a superscript."""

    kind: str
    text: str
    value: Fraction | None = None
    index: int = 0


@dataclass(frozen=True, slots=True)
class _Item:
    kind: str
    text: str
    start: int
    end: int


_SIGNS = str.maketrans({
    "×": "*", "·": "*", "⋅": "*", "∙": "*", "✕": "*", "✖": "*", "∗": "*", "÷": "/", "∕": "/", "⁄": "/",
    "−": "-", "–": "-", "—": "-", "‒": "-", "’": "'", "＋": "+", "＝": "=", "％": "%", "[": "(", "]": ")",
})  # fmt: skip
_SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹"
_VULGAR = "½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"

_ITEM = re.compile(
    rf"""\s*(?:
    (?P<base>0x[0-9a-f]+|0b[01]+|0o[0-7]+)(?![0-9a-z])
    |(?P<num>(?:(?:\d{{1,3}}(?:,\d{{3}})+(?![\d,])|\d{{1,3}}(?:[ ]\d{{3}})+(?!\d)|\d+)(?:\.\d+)?|\.\d+)
        (?:e[+-]?\d+(?![0-9a-z]))?)
    |(?P<indexed>(?:root|logb)\#\d+)
    |(?P<roman>roman\#[mdclxvi]{{1,15}}(?![a-z]))
    |(?P<word>[^\W\d_{_SUPERSCRIPTS}{_VULGAR}]+)
    |(?P<sup>⁻?[{_SUPERSCRIPTS}]+)
    |(?P<vulgar>[{_VULGAR}])
    |(?P<money>[$€£])
    |(?P<sign>\*\*|[-+*/^%!(),;√∛°π])
    )""",
    re.VERBOSE,
)
_ORDINAL = "|".join(sorted(EN_ORDINALS, key=len, reverse=True))
_TO_THE = re.compile(
    rf"\b(?:raised )?to the ((?:minus|negative) |-)?(?:(\d{{1,6}})(?:st|nd|rd|th)|({_ORDINAL}))"
    r"(?: power)?(?![\w-])"
)
_TO_THE_MINUS = re.compile(r"\b(?:raised )?to the (?=(?:minus|negative)\b|-)")
_NTH_ROOT = re.compile(rf"\b(?:the )?(?:(\d{{1,6}})(?:st|nd|rd|th)|({_ORDINAL}))[ -]root\b")
_LOG_BASE = re.compile(r"\blog(?:arithm)? (?:to )?(?:the )?base (\d{1,6})\b|\blog_?(\d{1,6})(?=\W)")
_GROUP_OF_3 = re.compile(r"(?<![\d.,])\d{1,3}[.,]\d{3}(?![\d.,])")
_COMMA_GROUPS = re.compile(r"(?<!\d)\d{1,3}(?:\.\d{3})+(?=,\d|(?![\d.,]))")


def _ordinals(text: str) -> str:
    def number(digits: str | None, word: str) -> str:
        return digits or str(EN_ORDINALS[word])

    text = _TO_THE.sub(lambda m: f" ^ {'-' if m[1] else ''}{number(m[2], m[3])} ", text)
    text = _TO_THE_MINUS.sub(" ^ ", text)
    text = _NTH_ROOT.sub(lambda m: f"root#{number(m[1], m[2])} ", text)
    return _LOG_BASE.sub(lambda m: f"logb#{m[1] or m[2]} ", text)


def _points(text: str) -> str:
    """Decimal commas as points, for languages that write 3,5. One group of three is ambiguous."""
    if _GROUP_OF_3.search(text):
        raise NotMath("a separator before exactly three digits can be a decimal or a thousands mark")
    text = _COMMA_GROUPS.sub(lambda m: m[0].replace(".", ""), text)
    return re.sub(r"(?<=\d),(?=\d)", ".", text)


def _items(text: str) -> list[_Item]:
    items: list[_Item] = []
    position = 0
    end = len(text.rstrip())
    while position < end:
        match = _ITEM.match(text, position)
        if match is None:
            raise NotMath(f"unexpected {text[position : position + 1]!r}")
        kind = match.lastgroup or ""
        items.append(_Item(kind, match[kind], match.start(kind), match.end()))
        position = match.end()
        if len(items) > 2 * TOKENS_MAX:
            if any(item.kind == "word" for item in items):
                raise NotMath("a long text of many words")
            raise Refused(
                f"the expression has more than {TOKENS_MAX} parts, which is this calculator's limit"
            )
    return items


def _literal(text: str) -> Token:
    """A number as written; too large an exponent gives a token without value."""
    plain = text.replace(",", "").replace(" ", "")
    mantissa, _, exponent = plain.partition("e")
    if exponent and (len(exponent) > 6 or abs(int(exponent)) > EXPONENT_MAX):
        return Token("num", plain)
    return Token("num", "", Fraction(mantissa) * Fraction(10) ** int(exponent or 0))


class _Reader:
    """Walks over the items of one text; ``at`` is the next one."""

    def __init__(self, items: list[_Item], language: Language) -> None:
        self.items = items
        self.language = language
        self.at = 0

    def word(self, offset: int = 0) -> str:
        """The word at ``offset`` from here, or nothing."""
        index = self.at + offset
        if index < len(self.items) and self.items[index].kind == "word":
            return self.items[index].text
        return ""

    def words(self, count: int) -> tuple[str, ...]:
        found = []
        for offset in range(count):
            word = self.word(offset)
            if not word:
                break
            found.append(word)
        return tuple(found)

    # --- number words

    def _small(self) -> int | None:
        words = self.words(4)
        for size in range(len(words), 0, -1):
            value = self.language.numbers.get(words[:size])
            if value is not None:
                self.at += size
                return value
        return None

    def _integer(self) -> int | None:
        """Number words from here, as far as they make one whole number."""
        language = self.language
        total, current, begun = 0, None, False
        last_scale: int | None = None
        after_joinable = False
        while True:
            word = self.word()
            saved = self.at
            if word in language.articles and not begun:
                following = self.word(1)
                if following in language.hundred or following in language.scales:
                    self.at += 1
                    current, begun = 1, True
                    continue
            if word in language.joiners and after_joinable:
                self.at += 1
                joined = self.word()
                addend = language.hundreds.get(joined) if not current else None
                if addend:
                    self.at += 1
                    current = addend
                    continue
                addend = self._small()
                if addend and (current or 0) % 100 == 0 and (total or current):
                    current, after_joinable = (current or 0) + addend, False
                    continue
                self.at = saved
                break
            if word in language.hundred and (current is None or 0 < current < 100):
                if current is None and begun:
                    break
                self.at += 1
                current, begun, after_joinable = (current or 1) * 100, True, True
                continue
            if word in language.hundreds and not current:
                self.at += 1
                current, begun, after_joinable = language.hundreds[word], True, True
                continue
            scale = language.scales.get(word)
            if scale is not None and (last_scale is None or scale < last_scale):
                self.at += 1
                total += (1 if current is None else current) * scale
                current, begun, last_scale, after_joinable = None, True, scale, True
                continue
            value = self._small()
            if value is None:
                break
            if current is None or (current and current % 100 == 0 and value):
                current, begun, after_joinable = (current or 0) + value, True, False
                continue
            self.at = saved
            break
        return total + (current or 0) if begun else None

    def _part(self, count: int) -> int | None:
        """The name of a part here ("thirds"), in the number that fits ``count``."""
        word = self.word()
        size = self.language.parts.get(word)
        if size is None:
            return None
        if self.language.code == "en" and (count > 1) != word.endswith("s"):
            return None
        self.at += 1
        return size

    def _and_part(self) -> Fraction | None:
        """ "and a half", "and two thirds" after a whole number."""
        saved = self.at
        if self.word() in self.language.half_and:
            self.at += 1
            count: int | None = 1
            if self.word() in self.language.articles:
                self.at += 1
            else:
                count = self._integer()
            size = self._part(count) if count else None
            if size and count and count < size:
                return Fraction(count, size)
        self.at = saved
        return None

    def number_words(self) -> Token | None:
        """A number in words, a part in words ("two thirds"), or a mixed one ("two and a half")."""
        saved = self.at
        language = self.language
        word = self.word()
        if word not in language.number_starts:
            return None
        if word in language.parts and (
            self.word(1) and language.operators.get(self.word(1)) == "of" and language.parts[word] < 5
        ):
            self.at += 1
            return Token("frac", "", Fraction(1, language.parts[word]))
        if word in language.articles and self.word(1) in language.parts:
            self.at += 1
            size = self._part(1)
            if size:
                return Token("frac", "", Fraction(1, size))
            self.at = saved
        value = self._integer()
        if value is None:
            return None
        size = self._part(value)
        if size:
            return Token("frac", f"{value}/{size}", Fraction(value, size))
        return self._finish(Fraction(value))

    def _finish(self, value: Fraction) -> Token:
        """What may follow a whole number: decimals in words, or a part."""
        language = self.language
        if self.word() in language.points:
            digits = ""
            offset = 1
            while True:
                digit = language.numbers.get((self.word(offset),))
                if digit is None or digit > 9:
                    break
                digits += str(digit)
                offset += 1
            if digits:
                self.at += offset
                decimal = value + Fraction(int(digits), 10 ** len(digits))
                scale = language.scales.get(self.word())
                if scale:
                    self.at += 1
                    decimal *= scale
                return Token("num", "", decimal)
        part = self._and_part()
        if part is not None:
            return Token("frac", "mixed", value + part)
        return Token("num", "", value)

    def number_digits(self) -> Token:
        """A literal and what belongs to it: a scale word, k, or a part ("2 1/2", "2½", "2 and a half")."""
        item = self.items[self.at]
        token = _literal(item.text)
        self.at += 1
        if token.value is None:
            return token
        following = self.items[self.at : self.at + 3]
        if following and following[0].kind == "vulgar":
            self.at += 1
            return Token("frac", "mixed", token.value + _vulgar(following[0].text))
        if len(following) == 3 and token.value.denominator == 1 and [f.text for f in following][1] == "/":
            top, _, bottom = following
            if (
                top.kind == bottom.kind == "num"
                and (top.text + bottom.text).isdigit()
                and top.start > item.end
                and bottom.start == top.end + 1
                and len(bottom.text) <= 4
                and 0 < int(top.text) < int(bottom.text)
            ):
                self.at += 3
                return Token("frac", "mixed", token.value + Fraction(int(top.text), int(bottom.text)))
        word = self.word()
        if word in ("k", "bn") and following[0].start == item.end:
            self.at += 1
            return Token("num", "", token.value * (1_000 if word == "k" else 10**9))
        scaled = token.value
        while scale := self.language.scales.get(self.word()) or (
            100 if self.word() in self.language.hundred else 0
        ):
            self.at += 1
            scaled *= scale
            if scaled > 10**60:
                raise NotMath("a pile of scale words")
        if scaled != token.value:
            return Token("num", "", scaled)
        if token.value.denominator == 1:
            part = self._and_part()
            if part is not None:
                return Token("frac", "mixed", token.value + part)
        return token


_ROMAN = re.compile(r"m{0,3}(?:cm|cd|d?c{0,3})(?:xc|xl|l?x{0,3})(?:ix|iv|v?i{0,3})")
_ROMAN_DIGITS = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100, "d": 500, "m": 1000}


def roman_value(letters: str) -> int:
    """The number that well-formed lower-case Roman numerals stand for. Raises ``NotMath``."""
    if not letters or not _ROMAN.fullmatch(letters):
        raise NotMath("not a Roman numeral")
    values = [_ROMAN_DIGITS[letter] for letter in letters]
    return sum(-v if v < after else v for v, after in zip(values, [*values[1:], 0], strict=True))


def _vulgar(sign: str) -> Fraction:
    return Fraction(unicodedata.normalize("NFKC", sign).replace("⁄", "/"))


def _joined(items: list[_Item], language: Language) -> list[_Item]:
    """Hyphens between words join them ("twenty-one"); between a digit and a number word they make a name."""
    kept: list[_Item] = []
    for index, item in enumerate(items):
        if item.text == "-" and 0 < index < len(items) - 1:
            before, after = items[index - 1], items[index + 1]
            if before.end == item.start and after.start == item.end:
                names = {before.text, after.text} & {"pi", "e", "π"}
                if before.kind == after.kind == "word" and not names:
                    continue
                if {before.kind, after.kind} == {"word", "num"} and not names:
                    word = before.text if before.kind == "word" else after.text
                    if language.knows(word):
                        raise NotMath("a name of digits and words")
        kept.append(item)
    return kept


_AFTER_VALUE = frozenset({")", "!", "%", "squared", "cubed", "deg"})


def _times(reader: _Reader, tokens: list[Token]) -> Token:
    """The letter x is a sign only between two operands; otherwise it is a variable (2x - 4)."""
    item = reader.items[reader.at]
    following = reader.items[reader.at + 1 : reader.at + 3]
    after_value = bool(tokens) and (
        tokens[-1].kind in ("num", "frac", "const", "sup") or tokens[-1].text in _AFTER_VALUE
    )
    if not after_value or not following:
        raise NotMath("an unbound variable")
    spaced = following[0].start > item.end and reader.items[reader.at - 1].end < item.start
    signed = following[0].text == "-" and len(following) == 2 and following[1].start == following[0].end
    operator = reader.language.operators.get(following[0].text)
    if (
        (following[0].kind in ("num", "vulgar", "base", "indexed", "money"))
        or (following[0].kind == "word" and operator in (None, "neg"))
        or following[0].text in ("(", "√", "∛", "π")
        or (spaced and signed)
    ):
        return Token("op", "*")
    raise NotMath("an unbound variable")


def _word(reader: _Reader, tokens: list[Token]) -> Token:
    word = reader.word()
    number = reader.number_words()
    if number is not None:
        return number
    if word in ("pi", "e", "π"):
        if word == "e" and tokens and tokens[-1].kind in ("num", "frac"):
            raise NotMath("a digit and a letter")
        reader.at += 1
        return Token("const", "e" if word == "e" else "pi")
    for phrase in reader.language.phrases_from.get(word, ()):
        if reader.words(len(phrase)) != phrase:
            continue
        kind, name = reader.language.phrases[phrase]
        if name == "x":
            token = _times(reader, tokens)
            reader.at += 1
            return token
        if kind == "func" and name == "factorial" and tokens and tokens[-1].kind in ("num", "frac"):
            kind, name = "op", "!"
        reader.at += len(phrase)
        return Token(kind, name)
    raise NotMath(f"unknown word {word!r}")


def tokenise(text: str, language: Language) -> list[Token]:
    """Tokens of ``text`` (folded, lower case). Raises ``NotMath``; ``Refused`` beyond ``TOKENS_MAX``."""
    text = text.translate(_SIGNS)
    if language.code == "en":
        text = _ordinals(text)
    elif language.decimal_comma:
        text = _points(text)
    reader = _Reader(_joined(_items(text), language), language)
    tokens: list[Token] = []
    while reader.at < len(reader.items):
        item = reader.items[reader.at]
        if item.kind == "num":
            token = reader.number_digits()
        elif item.kind == "word":
            token = _word(reader, tokens)
        else:
            reader.at += 1
            if item.kind == "base":
                if len(item.text) > 260:
                    raise Refused("a literal of more than 1,024 bits is beyond this calculator's limit")
                token = Token("num", item.text, Fraction(int(item.text, 0)))
            elif item.kind == "roman":
                token = Token("num", item.text, Fraction(roman_value(item.text.removeprefix("roman#"))))
            elif item.kind == "vulgar":
                token = Token("frac", "", _vulgar(item.text))
            elif item.kind == "indexed":
                name, _, index = item.text.partition("#")
                token = Token("func", "root" if name == "root" else "log", index=int(index))
            elif item.kind == "sup":
                token = _superscript(item.text)
            elif item.kind == "money":
                _check_money(reader, item)
                continue
            else:
                token = _sign(item.text)
        tokens.append(token)
        if len(tokens) > TOKENS_MAX:
            if all(token.kind != "op" for token in tokens):
                raise NotMath("a row of numbers")
            raise Refused(
                f"the expression has more than {TOKENS_MAX} parts, which is this calculator's limit"
            )
    return tokens


def _check_money(reader: _Reader, item: _Item) -> None:
    """A currency sign beside a number is dropped: the arithmetic is the same."""
    neighbours = reader.items[max(0, reader.at - 2) : reader.at + 1]
    beside = [n for n in neighbours if n.kind == "num" and (n.start == item.end or n.end == item.start)]
    kinds = {other.text for other in reader.items if other.kind == "money"}
    if not beside or len(kinds) > 1:
        raise NotMath("a currency sign without a number, or several currencies")


def _superscript(text: str) -> Token:
    digits = "".join(str(_SUPERSCRIPTS.index(ch)) for ch in text.lstrip("⁻"))
    if len(digits) > 6:
        raise Refused("an exponent this large is beyond this calculator's limit")
    return Token("sup", text, index=-int(digits) if text.startswith("⁻") else int(digits))


def _sign(text: str) -> Token:
    if text == "**":
        return Token("op", "^")
    if text == ";":
        return Token("op", ",")
    if text == "√":
        return Token("func", "√")
    if text == "∛":
        return Token("func", "∛")
    if text == "π":
        return Token("const", "pi")
    if text == "°":
        return Token("op", "deg")
    return Token("op", text)
