"""Whether two answers to one question say the same: right, wrong (they contradict each other) or undecided.

Rules, in this order; the first that decides is the reason:
1. The same text but for case, spacing and punctuation: right.
2. One says yes and the other no: wrong.
3. Dates, figures (with their units) and names are compared by class, without those that the question itself
   names. A class *agrees* where one side's are all among the other's, *contradicts* where both sides have
   some, none in common and none that might be the same said otherwise, and is open in between. Figures of a
   live source may differ by ``TOLERANCE``; up to ``WIDE`` they are open, for time has passed.
4. A contradiction, or speaking of another number than the one asked about, is wrong where the texts otherwise
   speak of the same (``ALIKE``) or one is no more than the bare value; elsewhere it is undecided.
5. One denies what the other says in the same words: wrong; in other words: undecided.
6. The same values in another order ("3-1", "1-3"; who beat whom): undecided.
7. No class is open, and both give the same dates, figures or names without speaking of different things; or
   neither gives a value that the other lacks and their words overlap by ``SAME``: right.
8. Anything else: undecided. So a paraphrase without a figure or name in it is rarely decided.

Pure, total, linear but for short lists, bounded by ``CHARS_MAX``. Must not know: who wrote the answers.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import TypeVar

from node.language import numbers
from node.language.tables import ENGLISH, by_member, language_table, words

T = TypeVar("T")

RIGHT, WRONG, UNDECIDED = "right", "wrong", "undecided"

CHARS_MAX = 4_000
"""Of each text so much is read; the rest of a long answer seldom changes what it says."""
TOLERANCE = Decimal("0.02")
"""Relative difference up to which two live figures count as the same: markets differ by less."""
WIDE = Decimal("0.10")
"""From here on one of two sources must be wrong; which one, the node cannot tell."""
ITEMS_MAX = 64
ALIKE = 0.5
SAME = 0.8
SAME_WORDS_MIN = 2
DENIED = 0.8
ROUNDED = Decimal("0.005")
"""Relative difference up to which two figures with a unit may be one, rounded."""
BARE_WORDS_MAX = 3

_TABLE = language_table(ENGLISH, "same_answer")
_MONTHS = {
    name: number
    for number, names in enumerate(language_table(ENGLISH, "calendar")["months"], 1)
    for name in names.split()
}
_MONTH = "(" + "|".join(_MONTHS) + r")\.?"
# ASCII: without it "ı" and "İ" count as an i here, and no month is called that.
_MONTH_FLAGS = re.IGNORECASE | re.ASCII
_ISO = re.compile(r"\b(\d{4})-(\d\d)(?:-(\d\d))?\b(?:[t ]\d\d:\d\d(?::\d\d)?(?:\.\d+)?z?)?")
_DAY_MONTH = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? {_MONTH},?(?: (\d{{4}}))?\b", _MONTH_FLAGS)
_MONTH_DAY = re.compile(rf"\b{_MONTH} (\d{{1,2}})(?:st|nd|rd|th)?(?:,? (\d{{4}}))?\b(?! ?%)", _MONTH_FLAGS)
_MONTH_YEAR = re.compile(rf"\b{_MONTH},? (?:of )?(\d{{4}})\b", _MONTH_FLAGS)
_CLOCK = re.compile(r"\b(\d{1,2}):(\d\d)(?::\d\d)?(?: ?(am|pm|utc|gmt))?\b", _MONTH_FLAGS)
_BELOW_ZERO = re.compile(r"(?:\bminus |(?<![^\s(])[-\u2212])([$€£¥]?)(?=\d)", re.IGNORECASE)
"""A minus before a figure; between two it is a range or a score."""
_TOKEN = re.compile(r"[$€£¥]|(?:(?<![^\s($€£¥])-)?\d+(?:[.,]\d+)*%?|[^\W\d_]+(?:['\u2019-][^\W\d_]+)*")
_PLAIN = re.compile(r"[^\W_]+|[%$€£¥+-]")
_CURRENCY_SIGNS = frozenset("$€£¥")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")

_SCALES: Mapping[str, int] = _TABLE["scales"]
_NUMBERS = {word: str(value) for word, value in numbers.single_words("en").items()}
_UNITS = by_member(_TABLE["units"])
_NEGATIONS, _YES, _NO = (words(_TABLE[name]) for name in ("negations", "yes", "no"))
_FILLER = _NEGATIONS | words(_TABLE["filler"])


@dataclass(frozen=True, slots=True)
class Sameness:
    """``verdict``: right, wrong or undecided; ``code``: the rule as a stable word."""

    verdict: str
    code: str


@dataclass(frozen=True, slots=True)
class _Figure:
    value: Decimal
    unit: str


@dataclass(frozen=True, slots=True)
class _Said:
    """A text taken apart. ``starts`` are words with a capital where a sentence starts: names or not;
    ``clocks`` are times of day, each by the minutes of the day that it may stand for."""

    plain: str
    words: tuple[str, ...]
    leading: str
    dates: tuple[str, ...]
    clocks: tuple[frozenset[int], ...]
    figures: tuple[_Figure, ...]
    names: tuple[str, ...]
    starts: tuple[str, ...]
    content: frozenset[str]
    negations: int

    def beside(self, other: _Said) -> _Said:
        """With each word at the start of a sentence taken for a name or not, as the other text has it."""
        bare = len(self.words) <= BARE_WORDS_MAX
        taken = [word for word in self.starts if bare or word in other.names]
        plain = {_stem(word) for word in self.starts if word not in taken}
        ordered = [word for word in dict.fromkeys(self.words) if word in taken or word in self.names]
        return replace(self, names=tuple(ordered), content=self.content | plain)


def same_answer(one: str, other: str, *, question: str = "", live: bool = False) -> Sameness:
    """Compare two answers to ``question``. ``live``: their figures move by the minute."""
    raw, rival = _read(one), _read(other)
    if not raw.words or not rival.words:
        return Sameness(UNDECIDED, "nothing_said")
    if raw.plain == rival.plain:
        return Sameness(RIGHT, "same_text")
    if {raw.leading, rival.leading} == {"yes", "no"}:
        return Sameness(WRONG, "yes_against_no")
    first, second, asked = raw.beside(rival), rival.beside(raw), _read(question)
    known = asked.content | frozenset(map(_stem, (*asked.names, *asked.starts)))
    whole = _overlap(first.content, second.content) or 0.0
    beyond = _overlap(first.content - known, second.content - known)
    bare = min(len(first.words), len(second.words)) <= BARE_WORDS_MAX
    speaks_alike = bare or (whole if beyond is None else beyond) >= ALIKE
    names, rival_names = (
        [name for name in side.names if _stem(name) not in known] for side in (first, second)
    )
    classes = {
        "dates": _compare(
            [date for date in first.dates if date not in asked.dates],
            [date for date in second.dates if date not in asked.dates],
            _same_date,
        ),
        "figures": _compare(
            [figure for figure in first.figures if figure not in asked.figures],
            [figure for figure in second.figures if figure not in asked.figures],
            _same_live_figure if live else _same_figure,
        ),
        "names": _compare(names, rival_names, _namesakes(first, second)),
        "times": _NONE if live else _times(asked, first, second),
    }
    for what, found in classes.items():
        if found == WRONG:
            return Sameness(WRONG if speaks_alike else UNDECIDED, f"other_{what}")
    if classes["names"] != RIGHT and _other_subject(asked, first, second):
        return Sameness(WRONG if speaks_alike else UNDECIDED, "other_subject")
    if first.negations % 2 != second.negations % 2:
        same_words = whole >= DENIED
        return Sameness(*(WRONG, "one_denies_it") if same_words else (UNDECIDED, "one_denies_something"))
    if first.leading != second.leading and not bare:
        return Sameness(UNDECIDED, "one_says_yes_or_no")
    orders = _in_common(first.names, second.names), _in_common(first.figures, second.figures)
    turned = orders[1] or (orders[0] and (not names or _in_common(names, rival_names)))
    if turned:
        return Sameness(UNDECIDED, "other_order")
    if UNDECIDED in classes.values():
        return Sameness(UNDECIDED, "partly_the_same")
    if RIGHT in classes.values() and (speaks_alike or beyond is None):
        return Sameness(RIGHT, "same_values")
    least = min(len(first.content), len(second.content))
    same_words = whole >= SAME and (beyond is None or beyond >= SAME)
    if _ONE_SIDED not in classes.values() and same_words and least >= SAME_WORDS_MIN:
        return Sameness(RIGHT, "same_words")
    return Sameness(UNDECIDED, "other_words")


# --- reading --------------------------------------------------------------------------------------


def _read(text: str) -> _Said:
    text = unicodedata.normalize("NFC", text[:CHARS_MAX]).replace("\u2019", "'")
    dates: list[str] = []
    rest = _take_dates(text, dates)
    clocks = [_minutes(found) for found in _CLOCK.finditer(rest)]
    rest = _BELOW_ZERO.sub(r"\1-", _CLOCK.sub(" ", rest))
    tokens = [(match.group(), match.start()) for match in _TOKEN.finditer(rest)]
    words: list[str] = []
    names: list[str] = []
    starts: list[str] = []
    figures: list[_Figure] = []
    content: set[str] = set()
    index = 0
    while index < len(tokens):
        token, start = tokens[index]
        figure, used = _figure_at(tokens, index)
        if figure is not None:
            if used == 1 and _is_year(token):
                dates.append(token)
            else:
                figures.append(figure)
            words.extend(word.casefold() for word, _ in tokens[index : index + used])
            index += used
            continue
        low = token.casefold()
        words.append(low)
        index += 1
        if low in _FILLER or low in _YES or low in _NO:
            continue
        if not token[0].isupper():
            content.add(_stem(low))
        elif _starts_sentence(rest, start, token):
            starts.append(low.removesuffix("'s"))
        else:
            names.append(low.removesuffix("'s"))
    words = [word.removesuffix("'s") for word in words]
    leading = "yes" if words and words[0] in _YES else "no" if words and words[0] in _NO else ""
    return _Said(
        plain=" ".join(_PLAIN.findall(text.casefold())),
        words=tuple(words),
        leading=leading,
        dates=tuple(dict.fromkeys(dates))[:ITEMS_MAX],
        clocks=tuple(dict.fromkeys(clocks))[:ITEMS_MAX],
        figures=tuple(dict.fromkeys(figures))[:ITEMS_MAX],
        names=tuple(dict.fromkeys(names))[:ITEMS_MAX],
        starts=tuple(dict.fromkeys(starts))[:ITEMS_MAX],
        content=frozenset(content),
        negations=sum(1 for word in words[1 if leading else 0 :] if word in _NEGATIONS),
    )


def _take_dates(text: str, dates: list[str]) -> str:
    """The text without its dates, which go to ``dates`` as 1969-07, 1969-07-20 or --07-20."""

    def keep(year: str | None, month: int, day: str | None) -> str:
        tail = f"{month:02d}" + (f"-{int(day):02d}" if day else "")
        dates.append(f"{year}-{tail}" if year else f"--{tail}")
        return " "

    def month(name: str) -> int:
        return _MONTHS[name.casefold()]

    patterns: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
        (_ISO, lambda found: keep(found[1], int(found[2]), found[3])),
        (_DAY_MONTH, lambda found: keep(found[3], month(found[2]), found[1])),
        (_MONTH_DAY, lambda found: keep(found[3], month(found[1]), found[2])),
        (_MONTH_YEAR, lambda found: keep(found[2], month(found[1]), None)),
    )
    for pattern, take in patterns:
        text = pattern.sub(take, text)
    return text


def _figure_at(tokens: Sequence[tuple[str, int]], index: int) -> tuple[_Figure | None, int]:
    """The figure at ``index`` with its currency before or unit behind, and how many tokens it takes."""
    used = 0
    unit = ""
    if tokens[index][0] in _CURRENCY_SIGNS:
        unit, used = _UNITS[tokens[index][0]], 1
    if index + used >= len(tokens):
        return None, 0
    raw = tokens[index + used][0].casefold()
    raw = _NUMBERS.get(raw, raw)
    if not raw.removeprefix("-")[:1].isdigit():
        return None, 0
    used += 1
    if raw.endswith("%"):
        raw, unit = raw[:-1], "percent"
    try:
        value = Decimal(
            raw.replace(",", "") if _THOUSANDS.fullmatch(raw.lstrip("-")) else raw.replace(",", ".")
        )
    except InvalidOperation:  # 1.2.3 and the like: a version or an address, compared as a word
        return None, 0
    if index + used < len(tokens) and (scale := _SCALES.get(tokens[index + used][0].casefold())):
        value, used = value.scaleb(scale), used + 1
    if not unit and index + used < len(tokens):
        following = tokens[index + used][0].casefold()
        if following in _UNITS:
            unit, used = _UNITS[following], used + 1
    return _Figure(value.normalize(), unit), used


def _minutes(found: re.Match[str]) -> frozenset[int]:
    """The minutes of the day that a time may stand for: without am or pm either, up to noon."""
    hour, minute, mark = int(found[1]), int(found[2]), (found[3] or "").lower()
    hours = {hour % 12 + 12} if mark == "pm" else {hour % 12} if mark == "am" else {hour % 24}
    if not mark and hour <= 12:
        hours = {hour % 12, hour % 12 + 12}
    return frozenset(60 * one + minute for one in hours)


def _is_year(raw: str) -> bool:
    return len(raw) == 4 and raw.isdecimal() and "1000" <= raw <= "2199"


def _starts_sentence(text: str, start: int, token: str) -> bool:
    """A capital at the start of a sentence says nothing, unless the word has more of them."""
    before = text[max(0, start - 8) : start].rstrip(" \t\"'(")[-1:]
    at_start = start == 0 or before in (".", "!", "?", ":", "\n") or not text[:start].strip()
    return at_start and not any(char.isupper() for char in token[1:])


def _stem(word: str) -> str:
    word = word.removesuffix("'s")
    for ending in ("ing", "ed", "es", "s", "ly"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word


# --- comparing ------------------------------------------------------------------------------------

_OPEN, _NONE, _ONE_SIDED = "open", "none", "one_sided"


def _compare(one: Sequence[T], other: Sequence[T], same: Callable[[T, T], str]) -> str:
    """right, wrong, undecided, or that no side or only one has any. ``same`` says right, wrong or open."""
    if not one or not other:
        return _NONE if not one and not other else _ONE_SIDED
    table = [[same(a, b) for b in other] for a in one]
    rows = [RIGHT in row for row in table]
    columns = [any(row[place] == RIGHT for row in table) for place in range(len(other))]
    if all(rows) or all(columns):
        return RIGHT
    if not any(rows) and all(found == WRONG for row in table for found in row):
        return WRONG
    return UNDECIDED


def _same_date(one: str, other: str) -> str:
    """Equal as far as both say."""
    if one.startswith("--") != other.startswith("--"):
        long, short = (other, one) if one.startswith("--") else (one, other)
        return RIGHT if long[4:].startswith(short[1:]) else WRONG if len(long) > 4 else _OPEN
    return RIGHT if one.startswith(other) or other.startswith(one) else WRONG


def _same_figure(one: _Figure, other: _Figure) -> str:
    if one.value == -other.value != 0:
        return _OPEN  # "-5" and "5 below zero"
    if one.unit == other.unit:
        if one.value == other.value:
            return RIGHT
        return _OPEN if one.unit and _apart(one, other) <= ROUNDED else WRONG
    if one.value == other.value:
        return WRONG if one.unit and other.unit else RIGHT
    return _OPEN  # 5 km and 3.1 miles may be the same


def _same_live_figure(one: _Figure, other: _Figure) -> str:
    if (one.unit and other.unit and one.unit != other.unit) or one.value == -other.value != 0:
        return _OPEN
    apart = _apart(one, other)
    return RIGHT if apart <= TOLERANCE else _OPEN if apart <= WIDE else WRONG


def _times(asked: _Said, first: _Said, second: _Said) -> str:
    """Times of day: open or one-sided, and never enough to call two answers the same or contrary."""
    sides = [[one for one in side.clocks if one not in asked.clocks] for side in (first, second)]
    found = _compare(sides[0], sides[1], lambda one, other: RIGHT if one & other else _OPEN)
    return _NONE if found == RIGHT else found


def _apart(one: _Figure, other: _Figure) -> Decimal:
    largest = max(abs(one.value), abs(other.value))
    return abs(one.value - other.value) / largest if largest else Decimal(0)


def _namesakes(first: _Said, second: _Said) -> Callable[[str, str], str]:
    """The same name, another one, or perhaps one for the other: short forms, initials, other mentions."""
    initials = [
        "".join(word[0] for word in side.words if word in side.names or word in side.starts)
        for side in (first, second)
    ]

    words = frozenset(first.words), frozenset(second.words)

    def same(one: str, other: str) -> str:
        if one == other:
            return RIGHT
        stands_for = (
            (1 < len(one) <= 6 and one in initials[1])
            or (1 < len(other) <= 6 and other in initials[0])
            or one[:3] == other[:3]
            or one in words[1]
            or other in words[0]
        )
        return _OPEN if stands_for else WRONG

    return same


def _other_subject(asked: _Said, first: _Said, second: _Said) -> bool:
    """Whether one speaks of the number that was asked about and the other of another number instead."""
    wanted = [figure for figure in asked.figures if not figure.unit]
    sides = [{figure for figure in side.figures if not figure.unit} for side in (first, second)]
    has = [any(figure in side for figure in wanted) for side in sides]
    return has[0] != has[1] and bool(sides[has[0]])


def _in_common(one: Sequence[T], other: Sequence[T]) -> bool:
    """Whether what both have comes in another order."""
    return [item for item in one if item in other] != [item for item in other if item in one]


def _overlap(one: frozenset[str], other: frozenset[str]) -> float | None:
    """Shared words as a share of the shorter side's; None where a side has none."""
    least = min(len(one), len(other))
    return len(one & other) / least if least else None
