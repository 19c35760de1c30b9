"""The words of arithmetic per language, as data: adding a language adds one ``Language`` to ``LANGUAGES``.

All words are written as they look after ``fold``: lower case, marks removed (``mas`` for "más"). Pure.

Rules for ``Language``:
- ``polite`` prefixes say nothing, ``asking`` prefixes ask for a value, ``explicit`` ones ask for a
calculation
  ("calculate"), which lets readings through that would otherwise be an idiom ("24/7");
- ``operators`` maps phrases to the token they stand for; ``functions`` maps phrases to function names;
- ``small`` holds every phrase for 0 to 99, ``hundreds`` fixed hundreds, ``hundred`` the multiplying word.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from adapters.grammar.days import MONTHS
from node.language import numbers, tables
from node.language.reading import word_list
from node.language.tables import read_table


def fold(text: str) -> str:
    """``text`` without marks on letters ("más" gives "mas"); case and compatibility forms (10²) are kept."""
    if text.isascii():
        return text
    decomposed = unicodedata.normalize("NFD", text)
    return "".join(ch for ch in decomposed if unicodedata.category(ch) != "Mn")


@dataclass(frozen=True, slots=True)
class Language:
    """One language's tables; see the module's rules."""

    code: str
    polite: tuple[str, ...]
    asking: tuple[str, ...]
    explicit: tuple[str, ...]
    suffixes: tuple[str, ...]
    operators: Mapping[str, str]
    functions: Mapping[str, str]
    small: Mapping[str, int]
    hundreds: Mapping[str, int]
    hundred: frozenset[str]
    scales: Mapping[str, int]
    joiners: frozenset[str]
    points: frozenset[str]
    articles: frozenset[str]
    parts: Mapping[str, int]
    """Names of one part of a whole: third -> 3."""
    half_and: tuple[str, ...] = ()
    decimal_comma: bool = False
    rewrites: tuple[tuple[str, str], ...] = ()
    """Orders of words that are no infix ("multiplica 3 por 4"): a pattern of all the text, its infix form."""
    lists: Mapping[str, str] = field(default_factory=dict)
    """Names of functions of a list ("promedio") by their canonical names."""
    list_links: str = ""
    """Words that may stand before the members of a list."""
    list_and: str = ""
    forms: Mapping[str, str] = field(default_factory=dict)
    """English words of units and the calendar, and the words for them."""
    today: tuple[str, ...] = ()
    """Whole questions for the date, as patterns."""
    and_a_half: tuple[str, ...] = ()
    phrases: Mapping[tuple[str, ...], tuple[str, str]] = field(init=False, default_factory=dict)
    """Operators and functions by their words: (("divided", "by"): ("op", "/"))."""
    numbers: Mapping[tuple[str, ...], int] = field(init=False, default_factory=dict)
    phrases_from: Mapping[str, tuple[tuple[str, ...], ...]] = field(init=False, default_factory=dict)
    """The phrases by their first word, longest first."""
    number_starts: frozenset[str] = field(init=False, default=frozenset())
    number_words: frozenset[str] = field(init=False, default=frozenset())
    """Every word that a number is made of, apart from articles."""

    def __post_init__(self) -> None:
        phrases = {tuple(key.split()): ("op", value) for key, value in self.operators.items()}
        phrases |= {tuple(key.split()): ("func", value) for key, value in self.functions.items()}
        object.__setattr__(self, "phrases", phrases)
        object.__setattr__(self, "numbers", {tuple(k.split()): v for k, v in self.small.items()})
        by_first: dict[str, tuple[tuple[str, ...], ...]] = {}
        for key in sorted(phrases, key=len, reverse=True):
            by_first[key[0]] = (*by_first.get(key[0], ()), key)
        object.__setattr__(self, "phrases_from", by_first)
        words = {word for key in self.numbers for word in key}
        words.update(self.hundreds, self.hundred, self.scales, self.parts)
        object.__setattr__(self, "number_words", frozenset(words))
        starts = {key[0] for key in self.numbers}
        starts.update(self.hundreds, self.hundred, self.scales, self.parts, self.articles)
        object.__setattr__(self, "number_starts", frozenset(starts))

    def knows(self, word: str) -> bool:
        """Whether ``word`` can start or continue a number here."""
        return word in self.number_words


def _by_word(table: Mapping[str, list[str]]) -> dict[str, str]:
    """Word -> what it stands for, of a table that is written the other way round."""
    return {word: value for value, words in table.items() for word in words}


def _numbers(table: Mapping[str, list[str]]) -> dict[str, int]:
    return {word: int(value) for word, value in _by_word(table).items()}


def _compounds(
    rules: Mapping[str, Any], small: Mapping[str, int], hundreds: Mapping[str, int]
) -> dict[str, int]:
    """Numbers that are written in one word: "hundertelf", "duemila"."""
    units = {word: value for word, value in small.items() if value and " " not in word}
    before = dict(hundreds)
    if bare := rules.get("bare_hundred"):
        before[bare] = 100
    made = {h + word: worth + value for h, worth in before.items() for word, value in units.items()}
    counted = (units | dict(hundreds) | made).items()
    thousands = {
        word + rules["thousand"]: value * 1_000 for word, value in counted if word not in rules["no_thousand"]
    }
    return made | thousands


def _forms(code: str, forms: Mapping[str, str]) -> Mapping[str, str]:
    """The forms of a language; where it knows "today", the months of its calendar with them."""
    months = tables.by_language("calendar").get(code, {}).get("months", ())
    return {**dict(zip(MONTHS, months, strict=False)), **forms} if "today" in forms else forms


def _language(code: str) -> Language:
    """The tables of ``languages/<code>.toml``, with the number words of ``node.language``."""
    data = read_table(__package__, f"languages/{code}.toml")
    hundred, no_numbers = frozenset(data.get("hundred", ())), data.get("no_numbers", ())
    known = {word: value for word, value in numbers.phrases(code).items() if word not in no_numbers}
    small = {word: value for word, value in known.items() if value < 100} | _numbers(data.get("small", {}))
    operators = _by_word(data["operators"])
    hundreds = {
        word: value
        for word, value in known.items()
        if 100 <= value < 1_000 and " " not in word and word not in hundred
    } | _numbers(data.get("hundreds", {}))
    if "compounds" in data:
        hundreds |= _compounds(data["compounds"], small, hundreds)
    return Language(
        code=code,
        polite=tuple(data["polite"]),
        asking=tuple(data["asking"]),
        explicit=tuple(data["explicit"]),
        suffixes=tuple(data["suffixes"]),
        operators=_OPERATORS_EVERYWHERE | operators,
        functions={word: name for word, name in _FUNCTIONS_EVERYWHERE.items() if word not in operators}
        | _by_word(data.get("functions", {})),
        small=small,
        hundreds=hundreds,
        hundred=hundred,
        scales=_numbers(data["scales"]),
        joiners=frozenset(data.get("joiners", ())),
        points=frozenset(data.get("points", ())),
        articles=frozenset(data.get("articles", ())),
        parts=_numbers(data["parts"]),
        half_and=tuple(data.get("half_and", ())),
        decimal_comma=data.get("decimal_comma", False),
        rewrites=tuple((pattern, form) for pattern, form in data.get("rewrites", ())),
        lists=_by_word(data.get("lists", {})),
        list_links=data.get("list_links", ""),
        list_and=data.get("list_and", ""),
        forms=_forms(code, data.get("forms", {})),
        today=tuple(data.get("today", ())),
        and_a_half=tuple(data.get("and_a_half", ())),
    )


_FUNCTIONS_EVERYWHERE = {name: name for name in word_list("""
    sqrt cbrt root abs ln log exp sin cos tan floor ceil round min max gcd lcm factorial sum average median
    product deg sumrange percentof percentchange sigfig base roman asfraction asdecimal aspercent isprime
    iseven isodd isdivisible isgreater isless isequal""")}  # fmt: skip
"""Names that ``tree.show`` writes, so that canonical text can be read back in every language."""

_OPERATORS_EVERYWHERE = {"mod": "mod", "of": "of", "x": "x"}

LANGUAGES: tuple[Language, ...] = tuple(_language(code) for code in numbers.codes())
ENGLISH = LANGUAGES[0]
EN_ORDINALS = _numbers(read_table(__package__, "languages/en.toml")["ordinals"])

# --- what only looks like arithmetic -----------------------------------------------------------------

IDIOMS: frozenset[str] = frozenset({
    "24/7", "9/11", "7/11", "7-11", "9-11", "7/7", "50/50", "50-50", "20/20", "20-20", "4/20", "1/6", "26/11",
    "24/7/365", "24-7", "9-1-1", "80/20", "9-5", "1-1", "4x4", "1920x1080", "1280x720", "3840x2160",
    "2560x1440", "1366x768", "640x480", "100x", "10x",
})  # fmt: skip
"""Written without spaces these are names first; they are computed only when a calculation is asked for."""
