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

from node.language.reading import word_list

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


# name | minutes or IANA zone | title | region's zone | other meanings
_ROWS = """
UTC|0|Coordinated Universal Time||
GMT|0|Greenwich Mean Time|Europe/London|
ET|America/New_York|US Eastern Time||
CT|America/Chicago|US Central Time||
MT|America/Denver|US Mountain Time||
PT|America/Los_Angeles|US Pacific Time||
EST|-300|US Eastern Standard Time|America/New_York|
EDT|-240|US Eastern Daylight Time|America/New_York|
CST|-360|US Central Standard Time|America/Chicago|China Standard Time (UTC+8) and Cuba Standard Time (UTC-5)
CDT|-300|US Central Daylight Time|America/Chicago|Cuba Daylight Time (UTC-4)
MST|-420|US Mountain Standard Time|America/Denver|Malaysia Standard Time (UTC+8)
MDT|-360|US Mountain Daylight Time|America/Denver|
PST|-480|US Pacific Standard Time|America/Los_Angeles|Philippine Standard Time (UTC+8)
PDT|-420|US Pacific Daylight Time|America/Los_Angeles|
AKST|-540|Alaska Standard Time|America/Anchorage|
AKDT|-480|Alaska Daylight Time|America/Anchorage|
HST|-600|Hawaii Standard Time||
AST|-240|Atlantic Standard Time|America/Halifax|Arabia Standard Time (UTC+3)
ADT|-180|Atlantic Daylight Time|America/Halifax|
NST|-210|Newfoundland Standard Time|America/St_Johns|
BRT|-180|Brasília Time||
ART|-180|Argentina Time||
CLT|-240|Chile Standard Time|America/Santiago|
COT|-300|Colombia Time||
PET|-300|Peru Time||
WET|0|Western European Time|Europe/Lisbon|
WEST|60|Western European Summer Time|Europe/Lisbon|
BST|60|British Summer Time|Europe/London|Bangladesh Standard Time (UTC+6)
CET|60|Central European Time|Europe/Berlin|
CEST|120|Central European Summer Time|Europe/Berlin|
MEZ|60|Central European Time|Europe/Berlin|
MESZ|120|Central European Summer Time|Europe/Berlin|
EET|120|Eastern European Time|Europe/Athens|
EEST|180|Eastern European Summer Time|Europe/Athens|
MSK|180|Moscow Time||
TRT|180|Turkey Time||
SAST|120|South Africa Standard Time||
CAT|120|Central Africa Time||
EAT|180|East Africa Time||
WAT|60|West Africa Time||
IST|330|India Standard Time||Israel Standard Time (UTC+2) and Irish Standard Time (UTC+1)
GST|240|Gulf Standard Time||South Georgia Time (UTC-2)
PKT|300|Pakistan Time||
NPT|345|Nepal Time||
ICT|420|Indochina Time||
WIB|420|Western Indonesia Time||
SGT|480|Singapore Time||
HKT|480|Hong Kong Time||
PHT|480|Philippine Time||
AWST|480|Australian Western Standard Time||
JST|540|Japan Standard Time||
KST|540|Korea Standard Time||
ACST|570|Australian Central Standard Time|Australia/Adelaide|
ACDT|630|Australian Central Daylight Time|Australia/Adelaide|
AEST|600|Australian Eastern Standard Time|Australia/Sydney|
AEDT|660|Australian Eastern Daylight Time|Australia/Sydney|
NZST|720|New Zealand Standard Time|Pacific/Auckland|
NZDT|780|New Zealand Daylight Time|Pacific/Auckland|
"""
PHRASES: Mapping[str, str] = {
    "coordinated universal time": "UTC",
    "universal time": "UTC",
    "zulu time": "UTC",
    "zulu": "UTC",
    "greenwich mean time": "GMT",
    "greenwich time": "GMT",
    "us eastern time": "ET",
    "us eastern": "ET",
    "eastern time": "ET",
    "eastern standard time": "EST",
    "eastern daylight time": "EDT",
    "us pacific time": "PT",
    "us pacific": "PT",
    "pacific time": "PT",
    "pacific standard time": "PST",
    "pacific daylight time": "PDT",
    "us central time": "CT",
    "central time": "CT",
    "central standard time": "CST",
    "us mountain time": "MT",
    "mountain time": "MT",
    "mountain standard time": "MST",
    "central european time": "CET",
    "central european summer time": "CEST",
    "indian standard time": "IST",
    "india standard time": "IST",
    "indian time": "IST",
    "japan standard time": "JST",
    "british summer time": "BST",
    "moscow time": "MSK",
    "est time": "EST",
    "pst time": "PST",
}
WORDS_TOO = frozenset(
    ["est", "ist", "eat", "cat", "art", "pet", "west", "wat", "mt", "ct", "pt", "et", "cot"]
)
"""Abbreviations that are words of some language: believed in capitals, or beside a clock time."""


SPLIT_COUNTRIES = frozenset(word_list("AQ AU BR CA CD CL CN EC ES FM GL ID KI MN MX NZ PF PG PT RU UM US"))
"""Countries whose clocks differ somewhere, be it on an island of a few people."""
REGIONS_KNOWN = frozenset(("US", "CA"))
SPLIT_REGIONS = frozenset(
    (
        "Alaska",
        "Arizona",
        "Florida",
        "Idaho",
        "Indiana",
        "Kansas",
        "Kentucky",
        "Michigan",
        "Nebraska",
        "Nevada",
        "North Dakota",
        "Oregon",
        "South Dakota",
        "Tennessee",
        "Texas",
        "Utah",
        "British Columbia",
        "Newfoundland and Labrador",
        "Nunavut",
        "Ontario",
        "Quebec",
        "Saskatchewan",
    )
)
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
