"""Places in texts: which town, region or country a few words name, and what is known of it.

It promises canonical English names (``Munich`` for München, ``Tokyo`` for 東京), the best known town among
namesakes with its rivals beside it, and no place where an everyday word merely looks like one ("nice"); a
town of a name that is an everyday word needs a preposition, a region or a country. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from adapters.grammar.gazetteer import (
    FAMOUS,
    MISSPELT_LETTERS_MIN,
    Gazetteer,
    Place,
    Region,
    Token,
    gazetteer,
    key_of,
    tokens_of,
    warm,
)
from adapters.grammar.place_names import (
    ARTICLES,
    BEFORE_NAME,
    DROPPED,
    GUARDED,
    LEADING,
    LEADING_WEAKLY,
    NEVER,
    PICKY,
    POSTAL_WORDS,
    PREPOSITIONS,
    SHORT,
)
from node.language.reading import word_list

NAME_WORDS_MAX = 6
BARE_POPULATION_MIN = 100_000
BARE_ALIAS_POPULATION_MIN = 300_000
RIVAL_SHARE = 0.35
"""A namesake with at least this share of the best one's fame is a rival worth naming."""
RIVALS_MAX = 3
REMEMBERED = 32
"""The adapters look at the same words one after another; this many answers are kept."""
_BEFORE_PICKY = frozenset(word_list("in at for near to from between and the vs than is of"))
DIVISIONS = frozenset(("state", "province"))


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


def mentions(words: Sequence[str]) -> tuple[Mention, ...]:
    """All places named in folded ``words``, in order, without overlaps; the longest reading of each."""
    return _mentions(tuple(words))


@lru_cache(maxsize=REMEMBERED)
def _mentions(words: tuple[str, ...]) -> tuple[Mention, ...]:
    tokens = tokens_of(words)
    data = gazetteer()
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


def _mention(data: Gazetteer, tokens: Sequence[Token], at: int) -> tuple[Mention | None, int]:
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


def _led(tokens: Sequence[Token], at: int) -> float:
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
    data: Gazetteer, tokens: Sequence[Token], at: int, end: int, key: str
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
    return said_town(data, towns, None, None, also=regions), end, sure


def _big_enough(data: Gazetteer, key: str, best: int, led: float) -> bool:
    """A single word that nothing strongly marks as a place is one only when the town is well known by it."""
    if led == 1.0:
        return True
    if len(key) < 4:
        return False
    is_own = best in data.own(key)
    least = BARE_POPULATION_MIN if is_own else BARE_ALIAS_POPULATION_MIN
    return data.populations[best] >= (least / 2 if led else least)


def _ends_phrase(tokens: Sequence[Token], end: int) -> bool:
    """No noun follows ("in orange juice"): the text ends, or a word of time or a preposition comes."""
    return end == len(tokens) or tokens[end].key in NEVER or tokens[end].key in PREPOSITIONS


def _picky_fits(tokens: Sequence[Token], at: int, end: int) -> bool:
    """ "in la", "the us": after a preposition, nothing but words of time (or another place) after it."""
    before = tokens[at - 1].key if at else ""
    after = tokens[end].key if end < len(tokens) else ""
    follows = after in NEVER - ARTICLES or after in ("", "and", "vs", "to", "from", "of", "right", "|")
    return before in _BEFORE_PICKY and follows


def _region_in(
    data: Gazetteer, tokens: Sequence[Token], at: int, regions: Sequence[Region]
) -> tuple[Said, int] | None:
    """The region with the country that is said after it ("Georgia, USA"), or said to be one ("Washington
    state")."""
    if at < len(tokens) and tokens[at].key in DIVISIONS and tokens[at].last:
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


def _beats(data: Gazetteer, key: str, towns: tuple[int, ...], regions: Sequence[Region]) -> bool:
    """A town is meant rather than the region of the same name when it lies there and bears the name as its
    own, or is well known."""
    if not towns:
        return False
    best = towns[0]
    if best not in data.own(SHORT.get(key, key)):
        return False
    inside = any((data.codes[best], data.admin[best]) == (r.country, r.code) for r in regions)
    return inside or data.fame[best] >= FAMOUS


def _qualified(
    data: Gazetteer, tokens: Sequence[Token], end: int, towns: tuple[int, ...]
) -> tuple[Said, int] | None:
    """The town narrowed by the region and country said after it; None where nothing there narrows it."""
    if not towns or not tokens[end - 1].last:
        return None
    region: Region | None = None
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
    return said_town(data, fits, region, country), after


def _qualifier(
    data: Gazetteer, tokens: Sequence[Token], at: int, towns: tuple[int, ...], regions_too: bool
) -> tuple[Region | None, str | None, int] | None:
    start = at
    is_dutch_and = any(token.key == "tussen" for token in tokens[:at])  # "tussen Rotterdam en New York"
    if start < len(tokens) and tokens[start].key in (
        ("in", "the", "of") if is_dutch_and else ("in", "the", "en", "of")
    ):
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


def _inside(data: Gazetteer, row: int, region: Region | None, country: str | None) -> bool:
    if country is not None and data.codes[row] != country:
        return False
    return region is None or (data.codes[row], data.admin[row]) == (region.country, region.code)


def said_town(
    data: Gazetteer,
    towns: tuple[int, ...],
    region: Region | None,
    country: str | None,
    also: Sequence[Region] = (),
) -> Said:
    best = towns[0]
    own = data.name(best)
    rivals = [
        row
        for row in towns[1 : RIVALS_MAX + 3]
        if data.fame[row] >= data.fame[best] * RIVAL_SHARE
        and _alike(data.name(row), own)
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
    return key_of(one).split()[0] == key_of(other).split()[0]


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


def _elsewhere(words: Sequence[str], mention: Mention) -> Mention | None:
    """The town of a mention in the region or country said directly after it, where the mention left that
    out: one that the gazetteer has there, else one without a ``place``, never its famous namesake."""
    said = mention.said
    place = said.place
    if place is None or said.region or said.country or place.name in (place.country, place.region):
        return None
    data = gazetteer()
    for link in _OUT_OF:
        at = mention.end + len(link)
        if tuple(words[mention.end : at]) != link:
            continue
        area = area_at(data, words, at)
        if area is None:
            continue
        regions, country, end = area
        key = " ".join(token.key for token in tokens_of(words[mention.start : mention.end]))
        fits = [
            (region, tuple(row for row in data.towns(key) if _inside(data, row, region, country)))
            for region in (regions or (None,))
        ]
        region, rows = next((fit for fit in fits if fit[1]), (regions[0] if regions else None, ()))
        if rows:
            return replace(mention, end=end, said=said_town(data, rows, region, country))
        name = " ".join(word.capitalize() for word in words[mention.start : mention.end])
        known_by_it = key in (key_of(place.name), *(key_of(rival.name) for rival in said.others))
        return replace(
            mention,
            end=end,
            said=placeless(data, place.name if known_by_it else name, region, country),
        )
    return None


def placeless(data: Gazetteer, name: str, region: Region | None, country: str | None) -> Said:
    return Said(
        name,
        region=region.name if region else None,
        country=data.countries[country].name if country else None,
    )


def area_at(
    data: Gazetteer, words: Sequence[str], at: int
) -> tuple[tuple[Region, ...], str | None, int] | None:
    """The regions of the name at ``words[at]``, or the country (its code), and where the name ends; a
    country after a region goes with it."""
    if at < len(words) and words[at] == "the":
        at += 1
    for length in range(min(4, len(words) - at), 0, -1):
        end = at + length
        key = " ".join(token.key for token in tokens_of(words[at:end]))
        regions = tuple(data.region_names.get(key, ()))
        postal = data.postal.get(key)
        if postal is not None and end == len(words) and key not in POSTAL_WORDS:
            regions = (*regions, postal)
        code = data.country_names.get(key)
        if key == "us":
            code = "US" if end == len(words) else None
        if regions and code is None:
            for more in range(min(4, len(words) - end), 0, -1):
                key = " ".join(token.key for token in tokens_of(words[end : end + more]))
                of_it = tuple(one for one in regions if one.country == data.country_names.get(key))
                if of_it:
                    return of_it, None, end + more
        if regions or code is not None:
            return (() if code is not None else regions), code, end
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
        while end < len(words) and end - at < 4 and is_nameable(words[end]):
            end += 1
        if end > at:
            name = " ".join(word.capitalize() for word in words[at:end])
            return Said(name), (*words[: at - 1], *words[end:])
    return None, tuple(words)


def _misspelt(words: Sequence[str]) -> Mention | None:
    """A big town with one letter wrong, missing, doubled or swapped, directly after a preposition."""
    data = gazetteer()
    tokens = tokens_of(words)
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
            meant = data.meant_by(key)
            if meant is not None:
                said = said_town(data, data.towns(meant), None, None)
                return Mention(tokens[at].word, tokens[end - 1].word + 1, said, True, 1.0)
    return None


def is_nameable(word: str) -> bool:
    return (
        word.replace("-", "").replace("'", "").isalpha()
        and word not in NEVER
        and word not in PREPOSITIONS
        and word not in ARTICLES
    )


__all__ = ["Mention", "Place", "Said", "find", "mentions", "warm", "without"]
