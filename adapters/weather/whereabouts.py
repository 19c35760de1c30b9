"""Which place a name in a question about the weather means, among namesakes. Pure.

The famous one, else the largest; the choice is named, and its rivals of comparable size beside it. The
gazetteer of ``grammar.places`` weighs fame, and stands in where the geocoder is silent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from adapters.grammar import place_facts, places
from adapters.grammar.places import Place, Said
from adapters.weather.asked import WeatherQuestion
from adapters.weather.values import Town
from node.core.model import Unclear
from node.language.reading import fold, words_of

DOMINATES = 3
"""A place with this many times the people of its namesakes is what the name means."""
SAME_PLACE_KM = 60.0
RIVALS_TOLD = 2
_COUNTRIES_WITH_REGIONS = frozenset(("US", "CA", "AU", "BR", "IN", "MX"))


@dataclass(frozen=True, slots=True)
class Spot:
    """Where to ask for, how to call it, and what else it might have been."""

    latitude: float
    longitude: float
    label: str
    rivals: tuple[str, ...] = ()


def said_of(question: WeatherQuestion) -> Said:
    """What the gazetteer knows of the slots; a ``Said`` without place for an unknown name."""
    parts = (question.place, question.region, question.country)
    words = [word for part in parts if part for word in words_of(fold(part)) if word != ","]
    state = [*words_of(fold(question.place or "")), "state"]
    for named in (state, words) if question.country and not question.region else (words,):
        said, _ = places.find(("in", *named))
        if said is not None and (said.name, said.region, said.country) == parts:
            return said
    return Said(question.place or "", question.region, question.country)


def is_area(said: Said) -> bool:
    """A country or a region by its own name: the geocoder would give the middle of it, or a village."""
    place = said.place
    return place is not None and said.region is None and place.name in (place.country, place.region)


def from_gazetteer(said: Said) -> Spot:
    place = said.place
    assert place is not None
    if place.name == place.country:
        label = f"{place.country} (at its capital)"
    elif place.name == place.region:
        label = f"{place.region}, {place.country} (at {place_facts.seat_of(place)[0]})"
    else:
        region = place.region if place.country_code in _COUNTRIES_WITH_REGIONS else None
        label = _label(place.name, said.region or region, place.country)
    rivals = tuple(_label(rival.name, rival.region, rival.country) for rival in said.others[:RIVALS_TOLD])
    return Spot(place.latitude, place.longitude, label, rivals)


def _label(name: str, region: str | None, country: str | None) -> str:
    parts: list[str] = []
    for part in (name, region, country):
        if part and part not in parts:
            parts.append(part)
    return ", ".join(parts)


def coordinates_label(latitude: float, longitude: float) -> str:
    south, west = "N" if latitude >= 0 else "S", "E" if longitude >= 0 else "W"
    label = f"the area of {abs(latitude):g}° {south}, {abs(longitude):g}° {west}"
    near = place_facts.nearest(latitude, longitude)
    return label if near is None else f"{label} (near {near})"


def _town_label(town: Town, *, precise: bool = False) -> str:
    region = town.region if precise or town.country_code in _COUNTRIES_WITH_REGIONS else None
    return _label(town.name, region, town.country)


def _plain(name: str) -> str:
    return " ".join(words_of(fold(name.replace("-", " "))))


_SAME_COUNTRY = {
    "united states of america": "united states",
    "usa": "united states",
    "great britain": "united kingdom",
    "the netherlands": "netherlands",
    "republic of ireland": "ireland",
    "czechia": "czech republic",
    "turkiye": "turkey",
}


def lies_in(town: Town, question: WeatherQuestion) -> bool:
    """Whether the town lies in the region and country that were said."""
    if question.country:
        wanted, is_in = _plain(question.country), _plain(town.country)
        if _SAME_COUNTRY.get(wanted, wanted) != _SAME_COUNTRY.get(is_in, is_in):
            return False
    if question.region:
        wanted, region = _plain(question.region), _plain(town.region)
        # "Land Berlin", "Île-de-France": the source's names carry more words than people say.
        if not region or not (f" {wanted} " in f" {region} " or f" {region} " in f" {wanted} "):
            return False
    return True


def choose(question: WeatherQuestion, said: Said, towns: Sequence[Town]) -> Spot | Unclear:
    """The town that is meant: the famous one, else the largest; with rivals of comparable size named."""
    wanted = _plain(question.place or "")
    same = [town for town in towns if town.is_settlement and _plain(town.name) == wanted]
    pool = same or [town for town in towns if town.is_settlement] or list(towns)
    famous = said.place
    near: list[Town] = []
    if famous is not None:
        near = [
            town
            for town in towns
            if town.is_settlement
            and _km(town, famous.latitude, famous.longitude) < SAME_PLACE_KM
            and (_plain(town.name) == wanted or _is_called(town.name, famous))
        ]
        if not near:
            # The geocoder puts a town that is well known elsewhere, or gave others: it is not believed.
            return from_gazetteer(said)
    if near:
        best = max(near, key=lambda town: (_plain(town.name) == wanted, town.population or 0))
    else:
        best = max(pool, key=lambda town: town.population or 0)
    elsewhere = [
        town
        for town in (same if best in same else pool)
        if town is not best and _km(town, best.latitude, best.longitude) > SAME_PLACE_KM
    ]
    if famous is not None and near:
        # The gazetteer weighed fame already; its rivals are the ones worth naming.
        rivals = [_label(rival.name, rival.region, rival.country) for rival in said.others]
    else:
        size = best.population or 0
        if not size and elsewhere:
            names = [_town_label(town, precise=True) for town in (best, *elsewhere)][:4]
            return Unclear(
                f"Which {question.place} do you mean: {', '.join(names[:-1])} or {names[-1]}?",
                "several places of that name, none of them known to be larger",
            )
        close = [town for town in elsewhere if (town.population or 0) * DOMINATES >= size and town.population]
        close.sort(key=lambda town: -(town.population or 0))
        rivals = [_town_label(town, precise=True) for town in close]
    same_country = any(town.country == best.country for town in elsewhere)
    label = _town_label(best, precise=bool(question.region) or (same_country and bool(rivals)))
    told = tuple(dict.fromkeys(rival for rival in rivals if rival != label))[:RIVALS_TOLD]
    return Spot(best.latitude, best.longitude, label, told)


def _is_called(name: str, known: Place) -> bool:
    """Whether a name of the geocoder is one that the gazetteer has for the place."""
    said, _ = places.find(("in", *words_of(fold(name))))
    place = None if said is None else said.place
    return place is not None and (place.name, place.country_code) == (known.name, known.country_code)


def _km(town: Town, latitude: float, longitude: float) -> float:
    """The distance on a sphere."""
    a, b = math.radians(town.latitude), math.radians(latitude)
    lon = math.radians(town.longitude - longitude)
    h = math.sin((a - b) / 2) ** 2 + math.cos(a) * math.cos(b) * math.sin(lon / 2) ** 2
    return 2 * 6_371.0 * math.asin(min(1.0, math.sqrt(h)))
