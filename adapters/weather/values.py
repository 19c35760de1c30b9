"""The values of the weather: places, days, units, and how far the source reaches. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum

DAYS_AHEAD = 15
"""The forecast has 16 days, today included."""
DAYS_BACK = 90
"""The forecast host serves this much of the recent past, with a margin of two days."""
ARCHIVE_DELAY = timedelta(days=7)
"""ERA5 is about 5 days late."""
ARCHIVE_BEGINS = date(1940, 1, 1)


class System(Enum):
    """The units of the figures: degrees, km/h or mph, mm and cm or inches."""

    METRIC = "celsius"
    IMPERIAL = "fahrenheit"


class Part(Enum):
    """Which variables of a day to ask for, so that one request serves most questions."""

    AIR = "air"
    SKY = "sky"


@dataclass(frozen=True, slots=True)
class Town:
    """A place that the geocoder knows. ``population`` None when it does not say."""

    name: str
    region: str
    country: str
    country_code: str
    zone: str
    latitude: float
    longitude: float
    population: int | None
    is_settlement: bool = True


@dataclass(frozen=True, slots=True)
class Present:
    """The weather at ``at`` (local, naive; ``at_utc`` None when the offset is not stated)."""

    at: datetime
    at_utc: datetime | None
    temperature: Decimal | None
    feels: Decimal | None
    humidity: Decimal | None
    precipitation: Decimal | None
    code: int | None
    cloud: Decimal | None
    wind: Decimal | None
    high: Decimal | None
    low: Decimal | None
    chance: Decimal | None


@dataclass(frozen=True, slots=True)
class Day:
    """A day's figures; what was not asked for or is not known is None. ``sunshine`` in hours, ``chance``,
    ``humidity`` and ``cloud`` in per cent."""

    day: date
    code: int | None = None
    high: Decimal | None = None
    low: Decimal | None = None
    mean: Decimal | None = None
    chance: Decimal | None = None
    precipitation: Decimal | None = None
    snow: Decimal | None = None
    wind: Decimal | None = None
    gusts: Decimal | None = None
    uv: Decimal | None = None
    humidity: Decimal | None = None
    cloud: Decimal | None = None
    sunshine: Decimal | None = None
    sunrise: time | None = None
    sunset: time | None = None


@dataclass(frozen=True, slots=True)
class Days:
    """Days in order, none twice. ``url`` asks the source for the same again."""

    days: tuple[Day, ...]
    url: str
