"""What is known of places: their zones, the town near a spot, the states of a code. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from adapters.grammar.gazetteer import Gazetteer, Place, gazetteer, key_of
from adapters.grammar.place_names import PICKY, SHORT
from adapters.grammar.places import Said

ZONE_SHARE_MIN = 0.04
NEAR_KM = 50.0
KM_PER_DEGREE = 111.2


def is_own_name(word: str, said: Said) -> bool:
    """Whether the folded ``word`` is an English or short name of the place, and not only one of its names
    in other languages or a part of it."""
    data = gazetteer()
    key = key_of(word)
    if said.place is None or key in (key_of(said.name), key_of(said.place.name)):
        return True
    if key in data.country_names or key in data.region_names or key in SHORT or key in PICKY:
        return True
    row = data.exonyms.get(key)
    rows = data.own(key) if row is None else (row,)
    return any(data.name(row) == said.place.name for row in rows)


def zone_names() -> frozenset[str]:
    """The IANA zones of all towns."""
    return frozenset(gazetteer().zones)


def state_of(code: str) -> str | None:
    """The state of the US with that postal code."""
    region = gazetteer().postal.get(code.lower())
    return None if region is None or region.country != "US" else region.name


def nearest(latitude: float, longitude: float) -> str | None:
    """The name of ``town_at``."""
    town = town_at(latitude, longitude)
    return None if town is None else town.name


def town_at(latitude: float, longitude: float) -> Place | None:
    """The town by which people know the spot: near, and large rather than a part of a large one. None where
    none is known within ``NEAR_KM``."""
    data = gazetteer()
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
    data = gazetteer()
    code = place.country_code
    inside = [row for row, one in enumerate(data.codes) if one == code]
    country = data.countries.get(code)
    if country is not None and place.name == country.name:
        return data.name(country.row), _zones_of(data, inside)
    area = data.areas.get((code, place.name))
    if area is not None and place.name == place.region:
        return data.name(area.row), frozenset((place.zone,))
    for region in data.regions.values():
        if region.country == code and region.name == place.name == place.region:
            rows = [row for row in inside if data.admin[row] == region.code]
            return data.name(region.row), _zones_of(data, rows)
    return place.name, frozenset((place.zone,))


def _zones_of(data: Gazetteer, rows: Sequence[int]) -> frozenset[str]:
    people: dict[str, int] = {}
    for row in rows:
        people[data.zones[row]] = people.get(data.zones[row], 0) + data.populations[row]
    least = sum(people.values()) * ZONE_SHARE_MIN
    return frozenset(zone for zone, count in people.items() if count >= least)
