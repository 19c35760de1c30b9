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


@dataclass(frozen=True, slots=True)
class Units:
    """How figures are shown: those of ``system``, in which they are asked for, but wind and water in what was
    said (``WIND_PER_KMH``, mm or inch), and degrees in kelvin where that was said."""

    system: System = System.METRIC
    wind: str | None = None
    water: str | None = None
    kelvin: bool = False

    @property
    def is_metric(self) -> bool:
        """Whether figures come in °C, km/h, mm and cm."""
        return self.system is System.METRIC


MILE_KM, INCH_MM = Decimal("1.609344"), Decimal("25.4")
WIND_PER_KMH = {
    "kmh": ("km/h", Decimal(1)),
    "mph": ("mph", MILE_KM),
    "ms": ("m/s", Decimal("3.6")),
    "kn": ("knots", Decimal("1.852")),
}
"""Units of wind: how each is written, and how many km/h one is."""
BEAUFORT = tuple(Decimal(bound) for bound in (1, 6, 12, 20, 29, 39, 50, 62, 75, 89, 103, 118))
"""From this many km/h each force begins, force 1 first."""


class Part(Enum):
    """Which variables of a day to ask for, so that one request serves most questions."""

    AIR = "air"
    SKY = "sky"
    WIND = "wind"


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
    gusts: Decimal | None = None
    direction: Decimal | None = None


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
    direction: Decimal | None = None
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
