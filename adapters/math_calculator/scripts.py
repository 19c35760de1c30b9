"""Sums and conversions in Japanese and Chinese, word by word into English for the grammar. Pure and bounded.

Rules: the text is cut into words of the tables below, longest first, and into numbers; anything left over
means that the text is not for the calculator. What is left must be one sum (operators between numbers, a
power, a root, a percentage), one amount with one other unit, or a question about today's date; the English
that comes out is read by the same grammar as any other text. Tables are written in the composed form.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from node.language.reading import word_list
from node.language.tables import later, read_table

_DATA = read_table(__package__, "scripts.toml")

CHARS_MAX = 120

_EASTERN = later(r"[\u3040-\u30ff\u3400-\u9fff]")
_WIDE = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: 0x20, 0x30FC: 0x30FC}

# --- words ------------------------------------------------------------------------------------------

_OPS = _DATA["ops"]
_MARKS = _DATA["marks"]
_UNITS = _DATA["units"]
_SCALES = {"celsius": "摄氏 攝氏 摂氏 セ氏", "fahrenheit": "华氏 華氏 カ氏"}
_KILO = "キロ"
_DEGREE = "度"
_LATIN_UNITS = frozenset(word_list("km m cm mm mi ft in yd kg g mg lb lbs oz l ml gb mb kb tb c f"))

_KILO_BESIDE = {
    "kilometers": "miles meters feet yards centimeters inches nautical miles",
    "kilograms": "pounds grams ounces tonnes milligrams",
}


def _words() -> dict[str, tuple[str, str]]:
    table: dict[str, tuple[str, str]] = {}
    for kind, rows in (("op", _OPS), ("mark", _MARKS), ("unit", _UNITS), ("scale", _SCALES)):
        for name, words in rows.items():
            for word in words.split():
                table.setdefault(word, (kind, name))
    return table | {_KILO: ("kilo", ""), _DEGREE: ("degree", "")}


_WORDS = _words()
_LONGEST = max(map(len, _WORDS))

# --- numbers ----------------------------------------------------------------------------------------

_DIGITS = {char: value for value, char in enumerate("〇一二三四五六七八九")} | {"零": 0, "两": 2, "兩": 2}
_TENS = {"十": 10, "百": 100, "千": 1_000}
_MYRIADS = {"万": 10**4, "萬": 10**4, "億": 10**8, "亿": 10**8, "兆": 10**12}
_NUMERAL = later(r"[〇零一二三四五六七八九两兩十百千万萬億亿兆]{1,24}(?:点[〇零一二三四五六七八九]{1,15})?")
_LATIN = later(r"[A-Za-z/°]{1,16}")
_FIGURES = later(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,30}(?:\.\d{1,30})?(?:[eE][+-]?\d{1,3})?")


def numeral(text: str) -> int | None:
    """The whole number that well-formed numerals stand for: 二十五, 一万二千."""
    if all(char in _DIGITS for char in text):
        return int("".join(str(_DIGITS[char]) for char in text))
    total = section = 0
    digit: int | None = None
    last = 10**16
    unit = 10_000
    for char in text:
        if char in _DIGITS:
            if digit:
                return None
            digit = _DIGITS[char]
        elif char in _TENS:
            if _TENS[char] >= unit or digit == 0:
                return None
            section += (1 if digit is None else digit) * _TENS[char]
            unit, digit = _TENS[char], None
        else:
            size = _MYRIADS[char]
            if size >= last or not (section or digit):
                return None
            total += (section + (digit or 0)) * size
            section, digit, unit, last = 0, None, 10_000, size
    return total + section + (digit or 0)


@dataclass(frozen=True, slots=True)
class _Token:
    """``kind``: number, op, mark, unit, scale, kilo, degree, latin (letters) or sign (one of ( ) ^ . -)."""

    kind: str
    text: str


def _tokens(text: str) -> list[_Token] | None:
    """All of ``text`` as tokens, or None when something in it is not of the tables."""
    found: list[_Token] = []
    at = 0
    while at < len(text):
        if text[at] == " ":
            at += 1
            continue
        token, size = _next(text, at)
        if token is None:
            return None
        found.append(token)
        at += size
    return found


def _next(text: str, at: int) -> tuple[_Token | None, int]:
    for size in range(min(_LONGEST, len(text) - at), 1, -1):
        found = _WORDS.get(text[at : at + size])
        if found is not None:
            return _Token(*found), size
    match = _NUMERAL.match(text, at)
    if match:
        whole, _, decimals = match[0].partition("点")
        value = numeral(whole)
        if value is None:
            return None, 0
        digits = "".join(str(_DIGITS[char]) for char in decimals)
        return _Token("number", f"{value}.{digits}" if digits else str(value)), len(match[0])
    found = _WORDS.get(text[at])
    if found is not None:
        return _Token(*found), 1
    match = _FIGURES.match(text, at)
    if match:
        # 3万 and 2億 are figures with a scale
        value_text = match[0].replace(",", "")
        scale = _MYRIADS.get(text[match.end() : match.end() + 1])
        if scale and "." not in value_text and "e" not in value_text.lower():
            return _Token("number", str(int(value_text) * scale)), len(match[0]) + 1
        return _Token("number", value_text), len(match[0])
    word = _LATIN.match(text, at)
    if word:
        return _Token("latin", word[0]), len(word[0])
    if text[at] in "+-*/^()×÷−":
        return _Token("op" if text[at] not in "()" else "sign", text[at]), 1
    return None, 0


# --- sums -------------------------------------------------------------------------------------------

_NUM = r"\d+(?:\.\d+)?(?:[eE][+-]?\d+)?"
_ATOM = rf"(?:{_NUM}|\([^()]*\))"
_RULES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (later(pattern), form)
    for pattern, form in (
        (rf"<hundredths> ({_NUM})", r"\1%"),
        (rf"({_NUM}) <percent>", r"\1%"),
        (rf"({_NUM}) <cut>", r"\g<1>0% <off>"),
        (rf"({_NUM}%) <cut>", r"\1 <off>"),
        (rf"({_NUM}) <tenths> <off>", r"\g<1>0% <off>"),
        (rf"({_NUM}) <tenths>", r"\g<1>0%"),
        (rf"({_NUM}) <parts> ({_NUM})", r"(\2/\1)"),
        (rf"({_ATOM}) (?:<no> )?<(squared|cubed)>", r"\1 \2"),
        (rf"({_ATOM}) <no> ({_NUM}) <pow>", r"\1 ^ \2"),
        (rf"({_ATOM}) <no> <(sqrt|cbrt)>", r"\2(\1)"),
        (rf"<(sqrt|cbrt)> ({_ATOM})", r"\1(\2)"),
        (rf"({_ATOM}) (?:<no> )?<!>", r"\1!"),
        (rf"({_ATOM}) <no> ({_NUM}%) <off>", r"(\1 - \2)"),
        (rf"({_ATOM}) <no> ({_NUM}%)", r"\2 of \1"),
        (rf"({_ATOM}) (?:<no> )?<half>", r"(\1 / 2)"),
        (rf"({_ATOM}) <and> ({_ATOM}) <no> <sum>", r"(\1 + \2)"),
        (rf"({_ATOM}) <and> ({_ATOM}) <no> <product>", r"(\1 * \2)"),
        (rf"({_ATOM}) <and> ({_ATOM}) <no> <difference>", r"(\1 - \2)"),
        (rf"({_ATOM}) <and> ({_ATOM}) <no> <quotient>", r"(\1 / \2)"),
        (rf"({_ATOM}) <and> ({_ATOM}) <wo> ([-+*/])(?: <and>)?", r"(\1 \3 \2)"),
        (rf"({_ATOM}) <ni> ({_ATOM}) <wo> ([+*])(?: <and>)?", r"(\1 \3 \2)"),
        (rf"({_ATOM}) <from> ({_ATOM}) <wo> -(?: <and>)?", r"(\1 - \2)"),
        (rf"({_ATOM}) <wo> ({_ATOM}) <by> /(?: <and>)?", r"(\1 / \2)"),
    )
)
_ASKED_END = later(r"(?: <(?:wa|ask|then|and|wo|no)>)+$")
_ASKED_START = later(r"^(?:<(?:ask|wo)> )+")
_SIDE_BY_SIDE = later(r"[\d)%!] +[\d(]")
_IS_SUM = later(r"(?:[\d\s.+\-*/^%()!eE]|of|sqrt|cbrt|squared|cubed)+")


def _sum(tokens: list[_Token]) -> str | None:
    """The sum that all tokens make, as English, or None."""
    out = []
    for token in tokens:
        if token.kind in ("number", "op", "sign"):
            out.append(token.text.replace("×", "*").replace("÷", "/").replace("−", "-"))
        elif token.kind == "mark":
            out.append(f"<{token.text}>")
        elif token.kind == "latin" and token.text.lower() in ("x", "plus", "minus", "times", "mod", "of"):
            out.append(
                {"x": "*", "plus": "+", "minus": "-", "times": "*"}.get(token.text.lower(), token.text)
            )
        else:
            return None
    text = " ".join(out)
    in_words = any(token.kind in ("op", "mark") and token.text not in ("wa", "ask") for token in tokens)
    bare = _ASKED_START.sub("", _ASKED_END.sub("", text))
    for _ in range(4):
        before = bare
        for pattern, form in _RULES:
            bare = pattern.sub(form, bare)
        if bare == before:
            break
    bare = _ASKED_START.sub("", _ASKED_END.sub("", bare))
    if _SIDE_BY_SIDE.search(bare) or not _IS_SUM.fullmatch(bare) or not any(char.isdigit() for char in bare):
        return None
    return f"{'calculate' if in_words else 'what is'} {bare}"


# --- conversions ------------------------------------------------------------------------------------

_JOINS_UNITS = frozenset({"wa", "wo", "ni", "by", "ask", "no", "and", "then"})


def _conversion(tokens: list[_Token]) -> str | None:
    """One amount, one other unit, and nothing else that says anything."""
    amounts: list[tuple[str, str]] = []
    targets: list[str] = []
    kept = _with_degrees(tokens)
    at = 0
    while at < len(kept):
        token = kept[at]
        following = kept[at + 1] if at + 1 < len(kept) else None
        if token.kind == "number" and following is not None and _is_unit(following):
            amounts.append((token.text, _unit_name(following)))
            at += 2
            continue
        if _is_unit(token):
            targets.append(_unit_name(token))
        elif token.kind != "mark" or token.text not in _JOINS_UNITS:
            return None
        at += 1
    if len(amounts) != 1 or len(targets) != 1:
        return None
    amount, source = amounts[0]
    target = targets[0]
    source, target = _beside(source, target), _beside(target, source)
    if _KILO in (source, target):
        return None
    return f"convert {amount} {source} to {target}"


def _is_unit(token: _Token) -> bool:
    return token.kind in ("unit", "kilo") or (token.kind == "latin" and token.text.lower() in _LATIN_UNITS)


def _unit_name(token: _Token) -> str:
    return _KILO if token.kind == "kilo" else token.text


def _beside(unit: str, other: str) -> str:
    """キロ is a length beside a length and a weight beside a weight."""
    if unit != _KILO:
        return unit
    symbols = {
        "km": "miles",
        "mi": "miles",
        "m": "meters",
        "ft": "feet",
        "kg": "pounds",
        "lb": "pounds",
        "g": "grams",
    }
    other = symbols.get(other, other)
    return next((name for name, beside in _KILO_BESIDE.items() if other in beside), _KILO)


def _with_degrees(tokens: list[_Token]) -> list[_Token]:
    """華氏 100 度 and 摄氏 多少 度 as an amount and a unit."""
    out: list[_Token] = []
    scale: str | None = None
    for token in tokens:
        if token.kind == "scale":
            if scale is not None:
                out.append(_Token("unit", scale))
            scale = token.text
        elif token.kind == "degree" and scale is not None:
            out.append(_Token("unit", scale))
            scale = None
        else:
            out.append(token)
    if scale is not None:
        out.append(_Token("unit", scale))
    return out


# --- the calendar -----------------------------------------------------------------------------------

_CALENDAR: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (later(pattern), english)
    for pattern, english in (
        (
            r"(?:请问)?今天(?:是)?(?:星期几|周几|礼拜几|几月几号|几月几日|几号|什么日子|几号星期几)(?:了|呢|啊)?",
            "what day is it today",
        ),
        (r"(?:今日|きょう)は?(?:何曜日|何日|何月何日|なんようび|何曜)(?:です)?か?", "what day is it today"),
        (r"今日の日付(?:は|を教えて(?:ください)?)?(?:何?です)?か?", "what day is it today"),
        (r"(?:离|距离?)(?:圣诞节?|聖誕節)(?:还)?有(?:多少|几)天", "how many days until christmas"),
        (r"(?:离|距离?)(?:元旦|新年)(?:还)?有(?:多少|几)天", "how many days until new year"),
        (r"クリスマスまで(?:あと|後)?何日(?:です|あります)?か?", "how many days until christmas"),
        (
            r"(?:お正月|正月|元日|元旦|新年)まで(?:あと|後)?何日(?:です|あります)?か?",
            "how many days until new year",
        ),
    )
)


# --- together ---------------------------------------------------------------------------------------


def is_eastern(text: str) -> bool:
    """Whether the text holds kana or Han characters at all."""
    return len(text) <= CHARS_MAX and _EASTERN.search(text) is not None


def translated(text: str) -> str | None:
    """``text`` in English when all of it is one question of the calculator, else None."""
    if len(text) > CHARS_MAX:
        return None
    plain = text.translate(_WIDE).strip(" ?!。、,.")
    for pattern, english in _CALENDAR:
        if pattern.fullmatch(plain):
            return english
    tokens = _tokens(plain)
    if tokens is None or not any(token.kind == "number" for token in tokens):
        return None
    return _sum(tokens) or _conversion(tokens)
