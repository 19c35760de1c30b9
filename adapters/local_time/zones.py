"""Zones by abbreviation ("PST", "CET", "UTC+2", "eastern time") and instants in them.

An abbreviation of a standard or summer time is a fixed offset, as its definition says, whatever the clocks of
its region show; "ET", "PT" and the like follow those clocks. Where an abbreviation means several, the
choice and the others are named in ``also``. Pure: no clock.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from adapters.grammar import place_facts, places
from node.language.reading import word_list
from node.language.tables import read_table

_DATA = read_table(__package__, "zones.toml")

HOURS_MAX = 14


@dataclass(frozen=True, slots=True)
class Abbreviation:
    """``title`` in words; ``zone`` an IANA name or ``offset`` in minutes; ``also`` what else it may mean;
    ``region`` an IANA zone whose clocks may show another time just now."""

    name: str
    title: str
    zone: str | None
    offset: int | None
    region: str | None
    also: str


_ROWS = _DATA["rows"]
PHRASES: Mapping[str, str] = _DATA["phrases"]
WORDS_TOO = frozenset(
    ["est", "ist", "eat", "cat", "art", "pet", "west", "wat", "mt", "ct", "pt", "et", "cot"]
)
"""Abbreviations that are words of some language: believed in capitals, or beside a clock time."""


SPLIT_COUNTRIES = frozenset(word_list("AQ AU BR CA CD CL CN EC ES FM GL ID KI MN MX NZ PF PG PT RU UM US"))
"""Countries whose clocks differ somewhere, be it on an island of a few people."""
REGIONS_KNOWN = frozenset(("US", "CA"))
SPLIT_REGIONS = frozenset(tuple(_DATA["split_regions"]))
"""Regions of those countries whose clocks differ somewhere."""


def _table() -> dict[str, Abbreviation]:
    found: dict[str, Abbreviation] = {}
    for line in _ROWS.strip().splitlines():
        name, where, title, region, also = line.split("|")
        is_offset = where.lstrip("-").isdigit()
        found[name] = Abbreviation(
            name,
            title,
            None if is_offset else where,
            int(where) if is_offset else None,
            region or None,
            also,
        )
    return found


ABBREVIATIONS = _table()
_OFFSET = re.compile(r"UTC([+-])(\d{1,2})(?::(\d{2}))?")


def offset_name(sign: str, hours: int, minutes: int) -> str | None:
    """The canonical name of an offset, such as ``UTC+5:30``; None for one that does not exist."""
    if hours > HOURS_MAX or minutes not in (0, 15, 30, 45):
        return None
    if not hours and not minutes:
        return "UTC"
    return f"UTC{sign}{hours}" + (f":{minutes:02d}" if minutes else "")


def zone_named(name: str) -> tzinfo | None:
    """The zone of an abbreviation or offset in capitals; None for anything else."""
    known = ABBREVIATIONS.get(name)
    if known is not None:
        return zone(known.zone) if known.zone else timezone(timedelta(minutes=known.offset or 0), known.name)
    match = _OFFSET.fullmatch(name)
    if match is None or int(match[2]) > HOURS_MAX:
        return None
    minutes = int(match[2]) * 60 + int(match[3] or 0)
    return timezone(timedelta(minutes=minutes if match[1] == "+" else -minutes))


@lru_cache(maxsize=600)
def zone(name: str) -> tzinfo | None:
    """The zone of an IANA name; None where the machine's database lacks it."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def offset_text(moment: datetime) -> str:
    """``UTC+9``, ``UTC-3:30``, ``UTC``."""
    seconds = (moment.utcoffset() or timedelta()).total_seconds()
    minutes = round(abs(seconds) / 60)
    sign = "-" if seconds < 0 else "+"
    return offset_name(sign, minutes // 60, minutes % 60) or f"UTC{sign}{minutes // 60}:{minutes % 60:02d}"


def label(moment: datetime) -> str:
    """Abbreviation and offset: ``JST, UTC+9``; the offset alone where the zone has no abbreviation."""
    name, offset = moment.tzname() or "", offset_text(moment)
    if not name or name[0] in "+-" or name.startswith("UTC") or name == offset:
        return offset
    return f"{name}, {offset}"


def is_of_one_zone(place: places.Place) -> bool:
    """Whether all of a region or country keeps one time, small parts included."""
    if place.country_code not in SPLIT_COUNTRIES:
        return len(place_facts.seat_of(place)[1]) == 1
    if place.country_code not in REGIONS_KNOWN or place.name != place.region:
        return place.name not in (place.country, place.region)
    return place.name not in SPLIT_REGIONS and len(place_facts.seat_of(place)[1]) == 1


@dataclass(frozen=True, slots=True)
class Local:
    """A wall-clock time in a zone. ``gap``: the clocks skip it that day, so the time after the change is
    meant; ``twice``: it comes twice that day, and the first one is meant."""

    moment: datetime
    gap: bool = False
    twice: bool = False


def local(naive: datetime, where: tzinfo) -> Local:
    """The instant at which the clocks of ``where`` show ``naive``."""
    first, second = naive.replace(tzinfo=where, fold=0), naive.replace(tzinfo=where, fold=1)
    there = (first - (first.utcoffset() or timedelta())).replace(tzinfo=UTC).astimezone(where)
    if there.replace(tzinfo=None, fold=0) != naive:
        return Local(there, gap=True)
    return Local(first, twice=first.utcoffset() != second.utcoffset())
