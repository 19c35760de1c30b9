"""A stand-in for Open-Meteo (forecast, archive and geocoding at one address): the wire format on loopback.

Shapes follow the recorded answers; the figures are the tests' own and follow from day and place, so that a
test can say what must come out. It is no Open-Meteo and proves nothing about it.

    async with OpenMeteoStandIn(NOW) as source:
        source.figures["temperature_2m_max"] = lambda day: 12.5
        source.misbehave("plain", text="Too many requests")
        ...  # ask at source.url
        assert source.count("/v1/forecast") == 1

By hand: ``python -m tests.simulators.open_meteo --port 0``.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from tests.simulators.vendor import Answered, Seen, VendorStandIn, by_hand

LIMITS = {
    "minute": "Minutely API request limit exceeded. Please try again in one minute.",
    "hour": "Hourly API request limit exceeded. Please try again in the next hour.",
    "day": "Daily API request limit exceeded. Please try again tomorrow.",
    "concurrent": "Too many concurrent requests",
}

_TOWNS: tuple[tuple[str, str, str, str, float, float, int | None, str], ...] = (
    # name, region, country, code, latitude, longitude, population, zone
    ("Paris", "Île-de-France", "France", "FR", 48.85341, 2.3488, 2_138_551, "Europe/Paris"),
    ("Paris", "Texas", "United States", "US", 33.66094, -95.55551, 24_782, "America/Chicago"),
    ("Berlin", "Land Berlin", "Germany", "DE", 52.52437, 13.41053, 3_426_354, "Europe/Berlin"),
    ("Munich", "Bavaria", "Germany", "DE", 48.13743, 11.57549, 1_260_391, "Europe/Berlin"),
    ("New York", "New York", "United States", "US", 40.71427, -74.00597, 8_804_190, "America/New_York"),
    ("Tokyo", "Tokyo", "Japan", "JP", 35.6895, 139.69171, 9_733_276, "Asia/Tokyo"),
    ("London", "England", "United Kingdom", "GB", 51.50853, -0.12574, 8_961_989, "Europe/London"),
    ("London", "Ontario", "Canada", "CA", 42.98339, -81.23304, 422_324, "America/Toronto"),
    ("Lyon", "Auvergne-Rhône-Alpes", "France", "FR", 45.74846, 4.84671, 522_250, "Europe/Paris"),
    ("Springfield", "Missouri", "United States", "US", 37.21533, -93.29824, 169_176, "America/Chicago"),
    ("Springfield", "Massachusetts", "United States", "US", 42.10148, -72.58981, 155_929, "America/New_York"),
    ("Springfield", "Illinois", "United States", "US", 39.80172, -89.64371, 114_394, "America/Chicago"),
    ("Zweidorf", "Tyrol", "Austria", "AT", 47.1, 11.1, None, "Europe/Vienna"),
    ("Zweidorf", "Saxony", "Germany", "DE", 51.1, 13.1, None, "Europe/Berlin"),
    ("Hallstatt", "Upper Austria", "Austria", "AT", 47.56224, 13.64926, 756, "Europe/Vienna"),
)
_UNITS = {
    "temperature": ("°C", "°F"), "apparent": ("°C", "°F"), "wind_direction": ("°", "°"),
    "wind": ("km/h", "mp/h"), "precipitation_p": ("%", "%"), "precipitation": ("mm", "inch"),
    "snowfall": ("cm", "inch"), "relative": ("%", "%"), "cloud": ("%", "%"), "sunshine": ("s", "s"),
    "sunrise": ("iso8601", "iso8601"), "sunset": ("iso8601", "iso8601"),
    "weather": ("wmo code", "wmo code"), "uv": ("", ""),
}  # fmt: skip


class OpenMeteoStandIn(VendorStandIn):
    """``figures`` maps a daily variable to its value on a day; ``current`` holds the present values."""

    def __init__(self, now: datetime, port: int = 0) -> None:
        super().__init__(port)
        self.now = now
        self.current: dict[str, Any] = {
            "temperature_2m": 12.3, "apparent_temperature": 9.1, "relative_humidity_2m": 71,
            "precipitation": 0.0, "weather_code": 2, "cloud_cover": 40, "wind_speed_10m": 14.4,
            "wind_gusts_10m": 31.0, "wind_direction_10m": 265,
        }  # fmt: skip
        self.figures: dict[str, Callable[[date], Any]] = {
            "weather_code": lambda day: 61, "temperature_2m_max": lambda day: 10.0 + day.day % 7,
            "temperature_2m_min": lambda day: 2.0 + day.day % 7,
            "temperature_2m_mean": lambda day: 6.0 + day.day % 7,
            "precipitation_sum": lambda day: 0.5 * (day.day % 5),
            "precipitation_probability_max": lambda day: 15 * (day.day % 5),
            "snowfall_sum": lambda day: 0.0, "wind_speed_10m_max": lambda day: 20.0 + day.day % 3,
            "wind_gusts_10m_max": lambda day: 40.5, "wind_direction_10m_dominant": lambda day: 41,
            "uv_index_max": lambda day: 3.4, "sunrise": lambda day: f"{day}T07:05",
            "sunset": lambda day: f"{day}T17:45", "sunshine_duration": lambda day: 12_600.0,
            "cloud_cover_mean": lambda day: 63, "relative_humidity_2m_mean": lambda day: 77,
        }  # fmt: skip

    def answer(self, asked: Seen) -> Answered:
        if asked.path.endswith("/search"):
            return self._search(asked)
        if asked.path.endswith(("/forecast", "/archive")):
            return self._weather(asked)
        return Answered({"error": True, "reason": "Not Found"}, 404)

    def _search(self, asked: Seen) -> Answered:
        count = int(asked.query.get("count", "10"))
        if not 1 <= count <= 100:
            return _refused("Parameter count must be between 1 and 100.")
        name, _, area = (part.strip().casefold() for part in asked.query.get("name", "").partition(","))
        rows = [
            {
                "id": number, "name": town[0], "latitude": town[4], "longitude": town[5],
                "feature_code": "PPL", "country_code": town[3], "timezone": town[7], "country": town[2],
                "admin1": town[1], **({"population": town[6]} if town[6] is not None else {}),
            }
            for number, town in enumerate(_TOWNS, 1)
            if town[0].casefold() == name
            and (not area or area in (town[1].casefold(), town[2].casefold(), town[3].casefold()))
        ]  # fmt: skip
        body: dict[str, Any] = {"generationtime_ms": 0.5}
        if rows:
            body["results"] = rows[:count]
        return Answered(body)

    def _weather(self, asked: Seen) -> Answered:
        query = asked.query
        try:
            latitude, longitude = float(query["latitude"]), float(query["longitude"])
        except (KeyError, ValueError):
            return _refused("Parameter latitude and longitude must have the same number of elements")
        if abs(latitude) > 90:
            return _refused(f"Latitude must be in range of -90 to 90°. Given: {latitude}.")
        if "start_date" in query and "forecast_days" in query:
            return _refused(
                "Parameter 'forecast_days' is mutually exclusive with 'start_date' and 'end_date'"
            )
        zone = ZoneInfo(self._zone(latitude, longitude))
        local = self.now.astimezone(zone)
        offset = local.utcoffset() or timedelta()
        imperial = query.get("temperature_unit") == "fahrenheit"
        body: dict[str, Any] = {
            "latitude": round(latitude * 8) / 8, "longitude": round(longitude * 8) / 8,
            "generationtime_ms": 0.1, "utc_offset_seconds": int(offset.total_seconds()),
            "timezone": zone.key, "timezone_abbreviation": local.tzname(), "elevation": 38.0,
        }  # fmt: skip
        if "current" in query:
            stamp = f"{local:%Y-%m-%dT%H}:{local.minute // 15 * 15:02d}"
            names = query["current"].split(",")
            body["current_units"] = {"time": "iso8601", "interval": "seconds", **_units(names, imperial)}
            body["current"] = {
                "time": stamp,
                "interval": 900,
                **{name: _in(self.current.get(name), name, imperial) for name in names},
            }
        days = self._span(query, local.date())
        if "daily" in query:
            names = query["daily"].split(",")
            if not all(name in self.figures for name in names):
                return _refused("Cannot initialize SurfaceVariable from invalid String value")
            body["daily_units"] = {"time": "iso8601", **_units(names, imperial)}
            body["daily"] = {
                "time": [day.isoformat() for day in days],
                **{name: [_in(self.figures[name](day), name, imperial) for day in days] for name in names},
            }
        if "hourly" in query:
            names = query["hourly"].split(",")
            hours = [datetime(day.year, day.month, day.day, hour) for day in days for hour in range(24)]
            body["hourly_units"] = {"time": "iso8601", **_units(names, imperial)}
            body["hourly"] = {
                "time": [f"{hour:%Y-%m-%dT%H:%M}" for hour in hours],
                **{name: [_in(_of_hour(name, hour), name, imperial) for hour in hours] for name in names},
            }
        return Answered(body)

    def _span(self, query: dict[str, str], today: date) -> list[date]:
        if "start_date" in query:
            first, last = date.fromisoformat(query["start_date"]), date.fromisoformat(query["end_date"])
        else:
            first, last = today, today + timedelta(days=int(query.get("forecast_days", "7")) - 1)
        return [first + timedelta(days=step) for step in range((last - first).days + 1)]

    def _zone(self, latitude: float, longitude: float) -> str:
        near = min(_TOWNS, key=lambda town: (town[4] - latitude) ** 2 + (town[5] - longitude) ** 2)
        return near[7]


class RecordedOpenMeteo(VendorStandIn):
    """Serves recorded bodies whatever the parameters: the place known is Berlin, the weather that of Darwin's
    grid cell, said to be of the place asked for; ``daily`` chooses the recording that days are answered
    with."""

    def __init__(self, folder: Path, daily: str = "archive_daily_brasilia") -> None:
        super().__init__()
        self._folder = folder
        self.daily = daily

    def answer(self, asked: Seen) -> Answered:
        if asked.path.endswith("/search"):
            name = asked.query.get("name", "").casefold()
            known = {
                "berlin": "geocoding_berlin",
                "brisbane": "geocoding_brisbane",
                "paris": "geocoding_paris_many",
            }
            return Answered(self._body(known.get(name, "geocoding_none")))
        if "current" in asked.query:
            warm = asked.query.get("temperature_unit") == "fahrenheit"
            return self._there(asked, "forecast_current_fahrenheit" if warm else "forecast_current_2")
        return self._there(asked, self.daily)

    def _there(self, asked: Seen, name: str) -> Answered:
        spot = {axis: float(asked.query[axis]) for axis in ("latitude", "longitude")}
        return Answered({**self._body(name), **spot})

    def _body(self, name: str) -> Any:
        return json.loads((self._folder / f"{name}.json").read_text())


def _refused(reason: str) -> Answered:
    return Answered({"error": True, "reason": reason}, 400)


def limited(which: str) -> dict[str, Any]:
    """The body of one of the four limits."""
    return {"error": True, "reason": LIMITS[which]}


def _units(names: list[str], imperial: bool) -> dict[str, str]:
    return {
        name: next(unit[imperial] for start, unit in _UNITS.items() if name.startswith(start))
        for name in names
    }  # fmt: skip


def _in(value: Any, name: str, imperial: bool) -> Any:
    """A metric value in the units asked for."""
    if not imperial or not isinstance(value, int | float) or isinstance(value, bool):
        return value
    if name.startswith(("temperature", "apparent")):
        return round(value * 1.8 + 32, 1)
    if name.startswith("wind"):
        return round(value / 1.609344, 1)
    if name.startswith("precipitation_p"):
        return value
    if name.startswith("precipitation"):
        return round(value / 25.4, 3)
    return round(value / 2.54, 3) if name.startswith("snow") else value


def _of_hour(name: str, hour: datetime) -> Any:
    return {
        "temperature_2m": 4.0 + hour.hour / 10,
        "precipitation_probability": 30 if hour.hour == 21 else 5,
        "precipitation": 0.2 if hour.hour == 21 else 0.0,
        "snowfall": 0.0,
        "weather_code": 61 if hour.hour == 21 else 3,
        "wind_speed_10m": 11.0,
        "relative_humidity_2m": 80,
        "cloud_cover": 90,
    }[name]


if __name__ == "__main__":
    by_hand(lambda port: OpenMeteoStandIn(datetime.now(UTC), port))
