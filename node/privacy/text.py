"""A text as the rules read it: folded, so that a reader's eye and a rule see the same, and cut into words and
groups of digits once for all rules.

Pure. The folded text serves detection only; it is never stored or shown.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache


def _codes(ranges: str) -> list[int]:
    pairs = (one.split("-") for one in ranges.split())
    return [code for pair in pairs for code in range(int(pair[0], 16), int(pair[-1], 16) + 1)]


_INVISIBLE = dict.fromkeys(
    _codes(
        "0-8 b-c e-1f 7f-9f ad 34f 61c 115f-1160 17b4-17b5 180b-180f 200b-200f 202a-202e 2060-206f 3164"
        " fe00-fe0f feff ffa0 fff9-fffc e0000-e01ff"
    )
)
_DRAWN_ALIKE = str.maketrans(
    {
        **dict.fromkeys("‐‑‒–—―−⁃﹘➖", "-"),
        **dict.fromkeys("‘’‚‛′`´ʼ", "'"),
        **dict.fromkeys("“”„‟″«»‹›", '"'),
        **dict.fromkeys("。․‧∙⋅・", "."),
        **dict.fromkeys("⁄∕", "/"),
        **dict.fromkeys("∶꞉", ":"),
        **dict.fromkeys("\u2028\u2029\x85\r", "\n"),
        "İ": "I",
        "ⓐ": "@",
    }
)
_LOOKS_LATIN = str.maketrans(
    "АВЕЅІЈКМНОРСТУХаеѕіјорсухһԁԛԝҮүΑΒΕΖΗΙΚΜΝΟΡΤΥΧνοιρɡɑ",
    "ABESIJKMHOPCTYXaesijopcyxhdqwYyABEZHIKMNOPTYXvoipga",
)
_WORD = re.compile(r"[^\W\d_]+")
_CLUSTER = re.compile(r"\d+(?:[ \t()./_-]{1,3}\d+)*")
_GROUP = re.compile(r"\d+")
_DIGIT = re.compile(r"\d")
_FOREIGN = re.compile(r"[^\t\n\x20-\x7e]")
_LETTER = re.compile(r"[A-Za-z]")
_UNSPACED = "[\u0e00-\u0eff\u3005-\u30ff\u3400-\u9fff\uac00-\ud7af]"
_BESIDE_DIGIT = re.compile(rf"(?<={_UNSPACED})(?=[0-9+])|(?<=[0-9])(?={_UNSPACED})")
"""Where a number touches a word of a writing without blanks: the rules read it as if a blank stood there."""
_REGION = re.compile(r"\d[\d \t()./_:TZ-]*")
_FIVE = re.compile(r"\d(?:[ \t()./_-]{0,3}\d){4}")
_NO_IDENTIFIER = re.compile(
    r"(?<![\w./-])(?:"
    r"(?:1\d|20)\d\d-\d\d-\d\d(?:[T ]\d\d(?::\d\d){1,2}(?:\.\d{1,9})?)?"  # 2026-05-18 08:17
    r"|\d{1,2}[./-]\d{1,2}[./-](?:1\d|20)\d\d"  # 18.05.2026
    r"|(?:1\d|20)\d\d[./]\d{1,2}[./]\d{1,2}"
    r"|(?<!\d )(?:1[4-9]|20)\d\d ?- ?(?:1[4-9]|20)\d\d"  # 1914-1918
    r"|\d\d?:\d\d(?::\d\d)?"
    r"|\d\d?/\d\d?"  # 12/27
    r")(?![\w/-]|\.\d)"
)


@dataclass(frozen=True, slots=True)
class Cluster:
    """Groups of digits that stand close together, as in ``+49 (30) 123-456``. ``start`` and ``end`` are
    places in the text."""

    start: int
    end: int
    groups: tuple[str, ...]
    between: tuple[str, ...]

    @property
    def digits(self) -> str:
        return "".join(self.groups)

    @property
    def lengths(self) -> tuple[int, ...]:
        return tuple(len(group) for group in self.groups)

    @property
    def is_dotted_quad(self) -> bool:
        """Whether it looks like an IPv4 address or a version of four parts."""
        return len(self.groups) == 4 and set(self.between) == {"."} and max(self.lengths) <= 3

    @property
    def is_thousands(self) -> bool:
        """Whether it is grouped as one large figure."""
        return len(self.groups) > 1 and self.lengths[0] <= 3 and set(self.lengths[1:]) == {3}

    @property
    def separator(self) -> str:
        """What stands between the groups, blanks aside: one character, or all of them where they differ."""
        found = {part.strip(" \t") or " " for part in self.between}
        return found.pop() if len(found) == 1 else "".join(sorted(found))


@dataclass(frozen=True)
class Text:
    """``text``: folded; ``lower``: in small letters, place for place."""

    text: str
    lower: str

    @classmethod
    def of(cls, text: str) -> Text:
        """The folded form of any text."""
        shown = text.translate(_INVISIBLE) if text.isascii() else _folded(text)
        return cls(shown, shown.lower())

    @cached_property
    def words(self) -> frozenset[str]:
        """All words in small letters."""
        return frozenset(_WORD.findall(self.lower))

    @cached_property
    def has_digit(self) -> bool:
        """Whether any digit stands in it."""
        return _DIGIT.search(self.text) is not None

    @cached_property
    def longest(self) -> int:
        """The length of the longest run without blanks."""
        return max(map(len, self.text.split()), default=0)

    @cached_property
    def clusters(self) -> tuple[Cluster, ...]:
        """Groups of digits with at least five digits in all; dates, times and ranges of years left out."""
        if _FIVE.search(self.text) is None:
            return ()
        out = []
        for region in _REGION.finditer(self.text):
            if region.end() - region.start() < 5:
                continue
            first = max(0, region.start() - 4)
            near = self.text[first : region.end() + 4]
            shown = _NO_IDENTIFIER.sub(lambda found: "#" * len(found[0]), near)
            shown = "#" * (region.start() - first) + shown[region.start() - first : region.end() - first]
            for found in _CLUSTER.finditer(shown):
                groups = tuple(_GROUP.findall(found[0]))
                if sum(map(len, groups)) >= 5:
                    between = tuple(_GROUP.split(found[0])[1:-1])
                    out.append(Cluster(first + found.start(), first + found.end(), groups, between))
        return tuple(out)

    def windows(self, hints: Iterable[str], before: int, after: int) -> Iterator[Text]:
        """The parts of the text round each of ``hints`` (small letters); those that touch are one."""
        places = sorted({place for hint in hints for place in _places(self.lower, hint)})
        start = end = -1
        for place in places:
            if end < 0 or place - before > end:
                if end >= 0:
                    yield Text(self.text[start:end], self.lower[start:end])
                start = max(0, place - before)
            end = min(len(self.text), place + after)
        if end >= 0:
            yield Text(self.text[start:end], self.lower[start:end])

    def around(self, start: int, end: int, before: int = 48, after: int = 24) -> str:
        """What stands before and after a run, in small letters, with ``#`` in its place."""
        return f"{self.before(start, before)} # {self.after(end, after)}"

    def before(self, place: int, chars: int = 48) -> str:
        """What stands before a place, in small letters."""
        return self.lower[max(0, place - chars) : place]

    def after(self, place: int, chars: int = 24) -> str:
        """What stands after a place, in small letters."""
        return self.lower[place : place + chars]

    def stands_alone(self, start: int, end: int) -> bool:
        """Whether a run is no part of a longer word, number or decimal fraction."""
        text = self.text
        if start and (text[start - 1].isalnum() or text[start - 1] == "_"):
            return False
        if start > 1 and text[start - 1] in ".," and text[start - 2].isdigit():
            return False
        if end < len(text) and (text[end].isalnum() or text[end] == "_"):
            return False
        return not (end + 1 < len(text) and text[end] in ".," and text[end + 1].isdigit())


def _places(text: str, part: str) -> Iterator[int]:
    place = text.find(part)
    while place >= 0:
        yield place
        place = text.find(part, place + 1)


def _folded(text: str) -> str:
    shown = _FOREIGN.sub(lambda found: _drawn(found[0]), text)
    shown = _FOREIGN.sub(lambda found: _plain(found[0]), unicodedata.normalize("NFKC", shown))
    shown = _BESIDE_DIGIT.sub(" ", shown)
    foreign = _FOREIGN.findall(shown)
    if _LOOKS_LATIN.keys().isdisjoint(map(ord, foreign)):
        return shown
    is_latin = sum(map(str.isalpha, foreign)) <= len(_LETTER.findall(shown))
    return shown.translate(_LOOKS_LATIN) if is_latin else shown


@lru_cache(maxsize=4_096)
def _drawn(char: str) -> str:
    return char.translate(_DRAWN_ALIKE)


@lru_cache(maxsize=4_096)
def _plain(char: str) -> str:
    """A character of any alphabet without its marks, a digit or a blank as ASCII has it, one that is not seen
    as nothing."""
    shown = char.translate(_INVISIBLE).translate(_DRAWN_ALIKE)
    kind = unicodedata.category(shown) if shown else ""
    if kind in ("Mn", "Me"):  # marks set over or round a letter or digit
        return ""
    if kind == "Nd":
        return str(unicodedata.decimal(shown))
    return " " if kind == "Zs" else shown
