"""Whether a passage looks like somebody telling of themselves: a small trained classifier.

Pure but for the packaged weights (``personal.json``) and the words of one meaning (``personal.toml``), read
once. No phrase is looked for. A passage (two sentences) is read as a row of marks: words of everyday use
stand for themselves, all others for what they look like: a capital word, a full name, a small word, a code,
what looks like a password, a date, a group of digits by its length, an illness. The features are the marks,
their neighbours, what stands round each value ("my … is" before a code), and which groups of words and
values a passage holds; logistic regression by ``bench.privacylab.fit`` gave them their weights.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from itertools import repeat

from node.language.tables import read_table
from node.privacy.text import Text

PRIVATE = 1.2
"""The log odds from which a passage is private: by ``python -m bench.privacylab.fit``, .03 of knowledge that
others wrote to be mistaken, and that nothing was fitted to, are kept by it."""
_MARKS_MAX = 40
_SEEN, _SEEN_FAR = (6, 4), (12, 12)
"""So many marks before and behind a value are its features; of one that looks like a password, more."""
_STRONG = frozenset(["Worded", "Made", "Quoted"])

_MARK = re.compile(
    r"(?P<link>https?://[^\s\"'<>]{1,2048}+)"
    r"|(?P<joined>[^\W\d_]++(?:[-._+&][^\W\d_]++){0,4}+[-._@#$%^&*+~!]?\d[^\s\"'`,;()<>=:?]{0,64})"
    r"|(?P<word>[^\W\d_]++(?:'[^\W\d_]{1,3}(?![^\W\d_]))?+)(?![_@#$%^&*+=~!][\w])"
    r"|(?P<number>\(?\+?\d++(?:(?:[.,:/-]|[ ]?[()-][ ]?|[ ](?=\d{2}))\d++)*+)(?![^\W_])"
    r"|(?P<end>[.?!\n]+)"
    r"|(?P<sign>[:=;,\"|*@()])"
    r"|(?P<code>[^\s\"'`,;()<>=:?]{1,64})"
)
_DATE = re.compile(r"\d{1,2}[./-]\d{1,2}[./-](?:\d\d|(?:19|20)\d\d)|(?:19|20)\d\d[./-]\d{1,2}[./-]\d{1,2}")
_WORDED = re.compile(r"[^\W\d_]{3,24}(?P<joined>[-_.][^\W\d_]{3,24}){0,2}[-_.]?\d{1,6}(?P<sign>[!?*#$]?)")
_SIGNS = frozenset("!#$%&*+?^~@§")
_BEGINS = frozenset([":", '"', "\n"])
_RARE = frozenset(["Small", "First"])
_BONDS = frozenset(["<is>", ":", "=", "as", '"'])
_MAY_BE_QUOTED = frozenset(["Small", "Cap", "First", "Worded", "Made", "Code", "Sign"])
_NOTHING = repeat(0.0)
_SELF = frozenset(["<my>", "<me>"])
_FOR_ALL = ("Digit", "Month")
_NAMES = frozenset(["Cap", "First", "CAPS"])
_VALUES = frozenset(
    [
        *("Name", "Cap", "CAPS", "Code", "Sign", "Date", "Year", "Month", "Group", "Long", "Spoken", "Ill"),
        *("d3", "d4", "d5", "d6", "d7", "Worded", "Made", "Quoted", "Told"),
    ]
)


_TABLE = read_table("node.privacy", "personal.toml")
_ALIKE: dict[str, str] = {
    word: group for group, row in reversed(_TABLE["alike"].items()) for word in row.split()
}
"""The group of a word, by the word."""
_GROUPS = frozenset(_ALIKE.values())
_ILL_STEMS, _ILL_WORDS = frozenset(_TABLE["ill_stems"].split()), frozenset(_TABLE["ill_words"].split())


def alike(group: str) -> list[str]:
    """The words of a group."""
    return [word for word, of in _ALIKE.items() if of == group]


Feature = str | tuple[str, str] | tuple[str, str, str]
"""A mark; two neighbours; a mark, ``>`` or ``<``, and the value that it stands before or behind."""


@dataclass(frozen=True, slots=True)
class Model:
    """``words``: those that stand for themselves; ``weights``: log-odds by feature."""

    words: frozenset[str]
    weights: Mapping[Feature, float]
    bias: float


@dataclass(frozen=True, slots=True)
class Sentence:
    """The features in a sentence, or in forty marks of one; ``first`` is its first mark."""

    features: frozenset[Feature]
    first: str


@cache
def packaged() -> Model:
    """The weights that are shipped."""
    shown = json.loads((files("node.privacy") / "personal.json").read_text(encoding="utf-8"))
    scale = float(shown["scale"])
    weights: dict[Feature, float] = {}
    for sign, of in shown["weights"].items():
        for first, seconds in of.items():
            if isinstance(seconds, int):
                weights[first] = seconds / scale
                continue
            for second, weight in seconds.items():
                weights[(first, second) if sign == "next" else (second, sign, first)] = weight / scale
    return Model(frozenset(shown["words"].split()), weights, float(shown["bias"]))


def find(read: Text) -> str | None:
    """``self_statement`` or None."""
    return "self_statement" if any(one > PRIVATE for one in scores(read)) else None


def scores(read: Text) -> Iterator[float]:
    """The log-odds of each passage, in their order, that it is about its writer."""
    model = packaged()
    weigh = model.weights.get
    last: Sentence | None = None
    last_weight = 0.0
    is_alone = False
    for this in _sentences(read.text, model.words):
        weight = sum(map(weigh, this.features, _NOTHING))
        if last is not None:
            both = last_weight + weight - sum(map(weigh, last.features & this.features, _NOTHING))
            both += sum(map(weigh, _whole(last, this), _NOTHING))
            yield model.bias + both
        is_alone = last is None
        last, last_weight = this, weight
    if last is not None and is_alone:
        alone = last_weight + sum(map(weigh, _whole(last, last), _NOTHING))
        yield model.bias + alone


def spans(text: str, words: frozenset[str]) -> Iterator[frozenset[Feature]]:
    """The features of each passage: every two sentences that follow each other, or the only one."""
    sentences = list(_sentences(text, words))
    for last, this in zip(sentences, sentences[1:] or sentences, strict=False):
        yield (last.features | this.features).union(_whole(last, this))


def _whole(last: Sentence, this: Sentence) -> list[Feature]:
    """What holds of a passage as a whole: whether its writer is named, a question asked, a value given."""
    values = (last.features & _VALUES) | (this.features & _VALUES)
    is_mine = not (_SELF.isdisjoint(last.features) and _SELF.isdisjoint(this.features))
    how = f"{is_mine:d}{'?' in last.features or '?' in this.features:d}"
    out: list[Feature] = [(f"={how}", str(value)) for value in values or ("nothing",)]
    groups = (last.features & _GROUPS) | (this.features & _GROUPS)
    out += [(str(group), "&", str(value)) for group in groups for value in values]
    return [*out, (f"={how[0]}", last.first)]


def _sentences(text: str, words: frozenset[str]) -> Iterator[Sentence]:
    marks: list[str] = []
    spoken = 0
    begins = True
    for found in _MARK.finditer(text):
        kind, shown = found.lastgroup, found[0]
        if kind == "end":
            if "?" in shown:
                marks.append("?")
            if marks and marks != ["\n"]:
                yield _sentence(marks)
            marks, begins, spoken = ["\n"] if "\n" in shown else [], True, 0
            continue
        mark = _read(kind, shown, words, begins)
        spoken = spoken + 1 if mark == "Digit" else 0
        if spoken > 2:  # a number that is spelled out
            mark = "Spoken" if spoken == 3 else ""
        begins = mark in _BEGINS
        if mark:
            marks.append(mark)
        if len(marks) >= _MARKS_MAX:
            yield _sentence(marks)
            marks = []
    if marks and marks != ["\n"]:
        yield _sentence(marks)


def _read(kind: str | None, shown: str, words: frozenset[str], begins: bool) -> str:
    if kind == "word":
        mark = _word(shown, words)
        return "First" if begins and mark == "Cap" else mark
    if kind == "number":
        return _number(shown)
    if kind in ("code", "joined"):
        return _code(shown, words)
    return "Link" if kind == "link" else shown


def _sentence(marks: list[str]) -> Sentence:
    row = _named(_quoted(marks))
    found: set[Feature] = {*row, *zip(["^", *row], [*row, "$"], strict=True)}
    alike = _ALIKE.get
    row = [alike(mark, mark) for mark in row]
    found.update(row)
    found.update(zip(["^", *row], [*row, "$"], strict=True))
    if not _VALUES.isdisjoint(row) or not _RARE.isdisjoint(row):
        before: dict[str, set[str]] = {}
        behind: dict[str, set[str]] = {}
        for place, mark in enumerate(row):
            if mark in _RARE and place and row[place - 1] in _BONDS:
                mark = "Told"
            if mark in _VALUES:
                back, on = _SEEN_FAR if mark in _STRONG else _SEEN
                before.setdefault(mark, set()).update(row[max(0, place - back) : place])
                behind.setdefault(mark, set()).update(row[place + 1 : place + 1 + on])
        found.update((near, ">", value) for value, those in before.items() for near in those)
        found.update((near, "<", value) for value, those in behind.items() for near in those)
    return Sentence(frozenset(found), row[0] if row else "")


def _is_ill(word: str) -> bool:
    """Whether a word in small letters names an illness, a treatment or a medicine."""
    return word in _ILL_WORDS or any(word[:length] in _ILL_STEMS for length in range(4, len(word) + 1))


@lru_cache(maxsize=16_384)
def _word(shown: str, words: frozenset[str]) -> str:
    lower = shown.lower()
    group = _ALIKE.get(lower)
    if group is not None and group in _FOR_ALL:
        return group
    if lower in words or group is not None:
        return lower
    if _is_ill(lower):
        return "Ill"
    if not shown[0].isupper():
        return "Small"
    return "CAPS" if len(shown) > 1 and shown.isupper() else "Cap"


def _number(shown: str) -> str:
    if shown.isdigit():
        return "Year" if len(shown) == 4 and shown[:2] in ("19", "20") else f"d{min(len(shown), 7)}"
    if _DATE.fullmatch(shown):
        return "Date"
    if ":" in shown:
        return "Time"
    signs = {char for char in shown if not char.isdigit()}
    if signs <= {".", ","} and (shown.count(".") <= 1 or "," in signs):
        return "Figure"
    digits = sum(map(str.isdigit, shown))
    return "Long" if digits >= 9 else "Group" if digits >= 6 else "Few"


def _code(shown: str, words: frozenset[str]) -> str:
    shown = shown.rstrip(".-_*")
    lower = shown.rstrip("!").lower()
    if lower in words:
        return lower
    worded = _WORDED.fullmatch(shown)
    if worded is not None and len(shown) > 5:
        return "Made" if worded["sign"] or worded["joined"] else "Worded"
    letters, digits = sum(map(str.isalpha, shown)), sum(map(str.isdigit, shown))
    if letters:
        if not digits:
            return "Sign" if len(shown) > 4 else "sign"
        is_mixed = not shown.isupper() and shown != lower
        made = letters > 3 and 6 < len(shown) <= 32 and (is_mixed or not _SIGNS.isdisjoint(shown))
        return "Made" if made else "Code"
    return "Group" if digits > 5 else "Few" if digits else "sign"


def _quoted(marks: list[str]) -> list[str]:
    """The marks; a word that stands alone in quotation marks is one mark with them."""
    if '"' not in marks:
        return marks
    out = list(marks)
    for place in range(len(marks) - 3, -1, -1):
        if place + 2 < len(out) and out[place] == '"' == out[place + 2] and out[place + 1] in _MAY_BE_QUOTED:
            out[place : place + 3] = ["Quoted"]
    return out


def _named(marks: Sequence[str]) -> list[str]:
    """The marks; two to four capital words in a row are one name."""
    if _NAMES.isdisjoint(marks):
        return list(marks)
    out: list[str] = []
    run: list[str] = []
    for mark in marks:
        if mark in _NAMES and len(run) < 4:
            run.append(mark)
            continue
        out += _together(run)
        run = [mark] if mark in _NAMES else []
        if not run:
            out.append(mark)
    return out + _together(run)


def _together(run: list[str]) -> list[str]:
    if len(run) < 2:
        return run
    if run[0] == "First" and len(run) == 2:
        return run
    return ["Name"] if "Cap" in run else ["CAPS"]
