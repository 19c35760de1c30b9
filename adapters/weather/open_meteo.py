"""Open-Meteo on the wire: places by name, the weather now, days of forecast and of the past.

It promises: a figure that leaves here was stated by the source as a number, for the day it is given for, in
the unit that ``System`` names (what came in another unit is converted exactly), and is physically possible;
null is None; everything else is ``Rejected``. Each of the three hosts has one ``Guard`` with all its windows.
Requests stay within 10 variables and 14 days, so that each counts as one call against the limits.
It knows neither questions nor sentences.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Context, Decimal
from typing import Any
from urllib.parse import urlencode

from adapters.fetch import Http, Reply, Source
from adapters.outside import listing, mapping, number, text
from adapters.weather.values import Day, Days, Part, Present, System, Town
from node.core.clock import Clock
from node.core.errors import NodeError, RateLimited, Rejected, Unavailable
from node.core.guard import Guard, Guarded
from node.core.limits import Limits, Window
from node.core.model import Budget
from node.core.settings import AdapterSettings
from node.language.tables import read_table

_DATA = read_table(__package__, "open_meteo.toml")

FORECAST_URL = "https://api.open-meteo.com"
ARCHIVE_URL = "https://archive-api.open-meteo.com"
GEOCODING_URL = "https://geocoding-api.open-meteo.com"
CUSTOMER = "customer-"
"""Before the host name for customers with a key."""

REQUEST_DAYS_MAX = 14

TOWNS_MAX = 10
TTL_NOW_S = 300.0
TTL_FORECAST_S = 1_800.0
TTL_PAST_S = 86_400.0
TTL_TOWNS_S = 86_400.0
STALE_FOR_S = 6 * 3_600.0

CONCURRENCY = 3
"""The open source of the service refuses a sixth simultaneous request of an address."""
_LIMITS: Mapping[str, tuple[int, int, int]] = _DATA["limits"]

_CURRENT = tuple(_DATA["current"])
_CURRENT_WIND = ("weather_code", "wind_speed_10m", "wind_gusts_10m", "wind_direction_10m")
"""Of their own: with more than ten variables a request counts as more than one."""
_CURRENT_DAY = ("temperature_2m_max", "temperature_2m_min", "precipitation_probability_max")
_AIR = tuple(_DATA["air"])
_WIND = ("weather_code", "wind_speed_10m_max", "wind_gusts_10m_max", "wind_direction_10m_dominant")
_AIR_AHEAD = (*_AIR, "precipitation_probability_max", "uv_index_max")
_SKY = tuple(_DATA["sky"])
_HOURLY = tuple(_DATA["hourly"])
_FORMER = _DATA["former"]


# --- the client -----------------------------------------------------------------------------------


class OpenMeteo:
    """Three hosts. Safe for concurrent callers on one event loop. Methods raise ``node.core.errors``."""

    def __init__(
        self,
        forecast: AdapterSettings,
        archive: AdapterSettings,
        geocoding: AdapterSettings,
        http: Http,
        clock: Clock,
    ) -> None:
        """A key goes with the request as ``apikey`` and turns the default hosts into those for"
        " customers."""
        self._clock = clock
        self._keys = {
            "forecast": forecast.api_key,
            "archive": archive.api_key,
            "geocoding": geocoding.api_key,
        }
        self._forecast = _source("forecast", forecast, FORECAST_URL, http, clock)
        self._archive = _source("archive", archive, ARCHIVE_URL, http, clock)
        self._geocoding = _source("geocoding", geocoding, GEOCODING_URL, http, clock)

    async def towns(self, name: str, area: str | None, deadline: float) -> Guarded[tuple[Town, ...]]:
        """Up to ten places of that name, in the source's order; empty when it knows none."""
        asked = name if not area else f"{name}, {area}"
        params = {"name": asked, "count": str(TOWNS_MAX), "language": "en", "format": "json"}
        return await self._geocoding.get(
            "/v1/search",
            self._with_key("geocoding", params),
            key=f"towns:{asked.casefold()}",
            read=_read_towns,
            ttl_s=TTL_TOWNS_S,
            deadline=deadline,
        )

    async def present(
        self,
        spot: tuple[float, float],
        system: System,
        deadline: float,
        max_age_s: float | None,
        *,
        wind: bool = False,
    ) -> tuple[Guarded[Present], str]:
        """The weather now, or all of its wind, with the range of the place's own today; and the address of
        the figures."""
        params = {
            **_where(spot),
            "current": ",".join(_CURRENT_WIND if wind else _CURRENT),
            "daily": ",".join(_CURRENT_DAY),
            "forecast_days": "1",
            **_units(system),
        }
        got = await self._forecast.get(
            "/v1/forecast",
            self._with_key("forecast", params),
            key=f"now:{urlencode(params)}",
            read=lambda reply: _read_present(_of_spot(reply, spot), system),
            ttl_s=TTL_NOW_S,
            deadline=deadline,
            max_age_s=max_age_s,
        )
        return got, f"{FORECAST_URL}/v1/forecast?{urlencode(params)}"

    async def days(
        self,
        spot: tuple[float, float],
        first: date,
        last: date,
        part: Part,
        system: System,
        *,
        archive: bool,
        deadline: float,
        max_age_s: float | None,
    ) -> Guarded[Days]:
        """The days from ``first`` to ``last`` of one host, asked in pieces of ``REQUEST_DAYS_MAX``."""
        pieces: list[tuple[date, date]] = []
        begin = first
        while begin <= last:
            end = min(last, begin + timedelta(days=REQUEST_DAYS_MAX - 1))
            pieces.append((begin, end))
            begin = end + timedelta(days=1)
        got = await asyncio.gather(
            *(
                self._piece(spot, begin, end, part, system, archive, deadline, max_age_s)
                for begin, end in pieces
            )
        )
        rows = tuple(day for piece in got for day in piece.value)
        host = f"{ARCHIVE_URL}/v1/archive" if archive else f"{FORECAST_URL}/v1/forecast"
        url = f"{host}?{urlencode(_daily(spot, first, last, part, system, archive))}"
        return Guarded(
            Days(rows, url),
            stale=any(piece.stale for piece in got),
            age_s=max(piece.age_s for piece in got),
            from_cache=all(piece.from_cache for piece in got),
        )

    async def _piece(
        self,
        spot: tuple[float, float],
        first: date,
        last: date,
        part: Part,
        system: System,
        archive: bool,
        deadline: float,
        max_age_s: float | None,
    ) -> Guarded[tuple[Day, ...]]:
        params = _daily(spot, first, last, part, system, archive)
        host = "archive" if archive else "forecast"
        return await (self._archive if archive else self._forecast).get(
            f"/v1/{host}",
            self._with_key(host, params),
            key=f"days:{host}:{urlencode(params)}",
            read=lambda reply: _read_days(_of_spot(reply, spot), first, last, system),
            ttl_s=TTL_PAST_S if archive else TTL_FORECAST_S,
            deadline=deadline,
            max_age_s=None if archive else max_age_s,
        )

    async def night(
        self,
        spot: tuple[float, float],
        day: date,
        system: System,
        deadline: float,
        max_age_s: float | None,
    ) -> tuple[Guarded[Day], str]:
        """The night that begins on ``day``: 18:00 to 06:00 local time, as one row."""
        params = {
            **_where(spot),
            "hourly": ",".join(_HOURLY),
            "start_date": day.isoformat(),
            "end_date": (day + timedelta(days=1)).isoformat(),
            **_units(system),
        }
        got = await self._forecast.get(
            "/v1/forecast",
            self._with_key("forecast", params),
            key=f"night:{urlencode(params)}",
            read=lambda reply: _read_night(_of_spot(reply, spot), day, system),
            ttl_s=TTL_FORECAST_S,
            deadline=deadline,
            max_age_s=max_age_s,
        )
        return got, f"{FORECAST_URL}/v1/forecast?{urlencode(params)}"

    def _with_key(self, host: str, params: Mapping[str, str]) -> dict[str, str]:
        key = self._keys[host]
        return {**params, "apikey": key} if key else dict(params)

    def budgets(self) -> tuple[Budget, ...]:
        """What is left of each limit of each host."""
        sources = (self._forecast, self._archive, self._geocoding)
        return tuple(budget for source in sources for budget in source.budgets())

    def problems(self) -> list[str]:
        """What is wrong with the hosts at the moment."""
        sources = (self._forecast, self._archive, self._geocoding)
        return [problem for source in sources for problem in source.problems()]


def _source(host: str, settings: AdapterSettings, default: str, http: Http, clock: Clock) -> Source:
    minute, hour, day = _LIMITS[host]
    minute = settings.per_minute or minute
    guard = Guard(
        f"Open-Meteo ({host})" if host != "forecast" else "Open-Meteo",
        clock,
        Limits(
            windows=(
                Window(minute, 60.0),
                Window(max(hour, minute), 3_600.0),
                Window(max(day, minute), 86_400.0),
            ),
            concurrency=CONCURRENCY,
            attempts=3,
            cache_entries=1_024,
            stale_for_s=STALE_FOR_S,
            waiters_max=512,
        ),
    )
    base = settings.base_url
    if not base:
        base = default.replace("https://", f"https://{CUSTOMER}") if settings.api_key else default
    return Source(
        base, http, clock, guard, timeout_s=settings.timeout_s, explain=lambda reply: explain(reply, clock)
    )


def _where(spot: tuple[float, float]) -> dict[str, str]:
    latitude, longitude = spot
    return {"latitude": f"{latitude:.4f}", "longitude": f"{longitude:.4f}", "timezone": "auto"}


def _units(system: System) -> dict[str, str]:
    if system is System.METRIC:
        return {}
    return {"temperature_unit": "fahrenheit", "wind_speed_unit": "mph", "precipitation_unit": "inch"}


def _daily(
    spot: tuple[float, float], first: date, last: date, part: Part, system: System, archive: bool
) -> dict[str, str]:
    air = _AIR if archive else _AIR_AHEAD
    names = {Part.SKY: _SKY, Part.WIND: _WIND, Part.AIR: air}[part]
    return {
        **_where(spot),
        "daily": ",".join(names),
        "start_date": first.isoformat(),
        "end_date": last.isoformat(),
        **_units(system),
    }


# --- errors ---------------------------------------------------------------------------------------

_ERROR_BYTES_MAX = 4_096
_WAIT_CONCURRENT_S = 2.0
_WAIT_MINUTE_S = 60.0
_WAIT_HOUR_S = 3_600.0
_WAIT_UNKNOWN_S = 15.0


def explain(reply: Reply, clock: Clock) -> NodeError | None:
    """The error that an answer states in the source's own words, whatever its status; the waits of the four
    limits stand in the text only."""
    if len(reply.body) > _ERROR_BYTES_MAX:
        return None
    reason = _reason(reply)
    if reason is None:
        return None
    low = reason.casefold()
    if "limit exceeded" in low or "too many" in low or (reply.status == 429 and reason):
        return RateLimited(f"{reply.source} says: {reason}", retry_after_s=_asked_wait_s(low, clock))
    if reply.status == 503 or "overloaded" in low:
        return Unavailable(f"{reply.source} is overloaded")
    if reply.status >= 500:
        return Unavailable(f"{reply.source} failed: {reason}")
    if reply.status == 200 and not reply.body.lstrip().startswith(b"{"):
        return None
    return Rejected(f"{reply.source} refused the request: {reason}")


def _reason(reply: Reply) -> str | None:
    """The text of an error body or of a plain one; None when the body is no error."""
    start = reply.body.lstrip()[:1]
    if start == b"{":
        try:
            body = reply.json()
        except Rejected:
            return None
        if not isinstance(body, dict) or not body.get("error"):
            return None
        return text(body.get("reason"), most=160) or text(body.get("error"), most=160) or "an error"
    if start in (b"[", b"<", b""):
        return None
    return text(reply.body.decode("utf-8", "replace"), most=160) or None


def _asked_wait_s(low: str, clock: Clock) -> float:
    if "concurrent" in low:
        return _WAIT_CONCURRENT_S
    if "minute" in low:
        return _WAIT_MINUTE_S
    if "hour" in low:
        return _WAIT_HOUR_S
    if "daily" in low or "tomorrow" in low:
        now = clock.now().astimezone(UTC)
        return (datetime.combine(now.date() + timedelta(days=1), time(), UTC) - now).total_seconds()
    return _WAIT_UNKNOWN_S


# --- reading places -------------------------------------------------------------------------------

_GEO = "Open-Meteo (geocoding)"


def _read_towns(reply: Reply) -> tuple[Town, ...]:
    body = mapping(reply.json(), _GEO, "list of places")
    if "results" not in body:
        # Nothing found is said by leaving the list out; a body with anything else in it says something else.
        if set(body) <= {"generationtime_ms"}:
            return ()
        raise Rejected(f"{_GEO} gave no list of places")
    rows = listing(body["results"], _GEO, "list of places", most=TOWNS_MAX)
    return tuple(town for row in rows if (town := _town(row)) is not None)


def _town(row: object) -> Town | None:
    """A place; None for a row that says too little."""
    if not isinstance(row, dict):
        return None
    name = text(row.get("name"), most=80)
    spot = [row.get("latitude"), row.get("longitude")]
    if not name or not all(isinstance(x, int | float) and not isinstance(x, bool) for x in spot):
        return None
    latitude, longitude = float(spot[0] or 0), float(spot[1] or 0)
    if not (math.isfinite(latitude) and math.isfinite(longitude)):
        return None
    if abs(latitude) > 90 or abs(longitude) > 180:
        return None
    people = row.get("population")
    known = isinstance(people, int) and not isinstance(people, bool) and 0 < people < 10**9
    feature = text(row.get("feature_code"), most=10)
    return Town(
        name=name,
        region=text(row.get("admin1"), most=80),
        country=text(row.get("country"), most=80),
        country_code=text(row.get("country_code"), most=2),
        zone=text(row.get("timezone"), most=60),
        latitude=latitude,
        longitude=longitude,
        population=people if known and isinstance(people, int) else None,
        is_settlement=not feature or feature.startswith(("PPL", "ADM", "PCL")),
    )


# --- reading figures ------------------------------------------------------------------------------

_SOURCE = "Open-Meteo"
_EXACT = Context(prec=34)
_OFFSET_MAX_S = 15 * 3_600

# Unit text to (factor, into): what one of it is in the unit of each system.
_MM: Mapping[str, Decimal] = {"mm": Decimal(1), "inch": Decimal("25.4"), "cm": Decimal(10)}
_KMH: Mapping[str, Decimal] = {
    "km/h": Decimal(1),
    "m/s": Decimal("3.6"),
    "mp/h": Decimal("1.609344"),
    "mph": Decimal("1.609344"),
    "kn": Decimal("1.852"),
}


@dataclass(frozen=True, slots=True)
class _Kind:
    """A sort of figure: its unit in each system, and what is possible in the metric one."""

    what: str
    metric: str
    imperial: str
    least: Decimal
    most: Decimal
    scale: Mapping[str, Decimal] | None = None


_DEGREES = _Kind("temperature", "°C", "°F", Decimal(-100), Decimal(70))
_SPEED = _Kind("wind speed", "km/h", "mp/h", Decimal(0), Decimal(600), _KMH)
_WATER = _Kind("precipitation", "mm", "inch", Decimal(0), Decimal(3_000), _MM)
_SNOW = _Kind("snowfall", "cm", "inch", Decimal(0), Decimal(1_000), _MM)
_PERCENT = _Kind("percentage", "%", "%", Decimal(0), Decimal(100))
_AROUND = _Kind("wind direction", "°", "°", Decimal(0), Decimal(360))
_INDEX = _Kind("UV index", "", "", Decimal(0), Decimal(40))
_SECONDS = _Kind("duration of sunshine", "s", "s", Decimal(0), Decimal(86_400))

_KINDS: Mapping[str, _Kind] = {
    "temperature_2m": _DEGREES,
    "apparent_temperature": _DEGREES,
    "temperature_2m_max": _DEGREES,
    "temperature_2m_min": _DEGREES,
    "temperature_2m_mean": _DEGREES,
    "precipitation": _WATER,
    "precipitation_sum": _WATER,
    "snowfall": _SNOW,
    "snowfall_sum": _SNOW,
    "wind_speed_10m": _SPEED,
    "wind_speed_10m_max": _SPEED,
    "wind_gusts_10m_max": _SPEED,
    "wind_gusts_10m": _SPEED,
    "wind_direction_10m": _AROUND,
    "wind_direction_10m_dominant": _AROUND,
    "relative_humidity_2m": _PERCENT,
    "relative_humidity_2m_mean": _PERCENT,
    "cloud_cover": _PERCENT,
    "cloud_cover_mean": _PERCENT,
    "precipitation_probability": _PERCENT,
    "precipitation_probability_max": _PERCENT,
    "uv_index_max": _INDEX,
    "sunshine_duration": _SECONDS,
}


def _figure(value: object, name: str, unit: object, system: System) -> Decimal | None:
    """A figure in the unit of ``system``; None for null. Raises ``Rejected`` for anything unbelievable."""
    if value is None:
        return None
    kind = _KINDS[name]
    what = kind.what
    figure = number(value, _SOURCE, what)
    wanted = kind.metric if system is System.METRIC else kind.imperial
    stated = unit if isinstance(unit, str) and unit else wanted
    metric = _in_metric(figure, kind, stated)
    if metric is None:
        raise Rejected(f"{_SOURCE} gave the {what} in an unknown unit")
    if not kind.least <= metric <= kind.most:
        raise Rejected(f"{_SOURCE} gave an impossible {what}")
    if stated == wanted or system is System.METRIC:
        return figure if stated == wanted else metric
    if kind is _DEGREES:
        return _EXACT.add(_EXACT.multiply(metric, Decimal("1.8")), Decimal(32))
    if kind.scale is None:
        return figure
    per_wanted = kind.scale[wanted]
    return _EXACT.divide(_EXACT.multiply(metric, kind.scale[kind.metric]), per_wanted)


def _in_metric(figure: Decimal, kind: _Kind, stated: str) -> Decimal | None:
    if kind is _DEGREES:
        if stated == "°F":
            return _EXACT.divide(_EXACT.subtract(figure, Decimal(32)), Decimal("1.8"))
        return figure if stated == "°C" else None
    if kind.scale is None:
        # Percentages, indices and seconds have one unit; the text of an index is free.
        return figure if stated == kind.metric or kind is _INDEX else None
    if stated not in kind.scale:
        return None
    if stated == kind.metric:
        return figure
    return _EXACT.divide(_EXACT.multiply(figure, kind.scale[stated]), kind.scale[kind.metric])


def _code(value: object) -> int | None:
    """A WMO code of the present weather, 0 to 99; None for null."""
    if value is None:
        return None
    figure = number(value, _SOURCE, "weather code")
    if figure != int(figure) or not 0 <= figure <= 99:
        raise Rejected(f"{_SOURCE} gave an impossible weather code")
    return int(figure)


def _named(block: Mapping[str, object], name: str) -> object:
    """A variable under its present or its former name; None when absent."""
    if name in block:
        return block[name]
    return block.get(_FORMER.get(name, name))


SPOT_APART_MAX = 0.5
"""Degrees between the place asked for and the grid cell that answers; the coarsest grid has 0.4."""


def _of_spot(reply: Reply, spot: tuple[float, float]) -> Reply:
    """The reply, when its figures are of the place asked for; a body that does not say where is taken.
    Raises ``Rejected``."""
    body = mapping(reply.json(), _SOURCE, "weather")
    stated = [body.get("latitude"), body.get("longitude")]
    if stated == [None, None]:
        return reply
    latitude, longitude = (float(number(value, _SOURCE, "place")) for value in stated)
    east = abs((longitude - spot[1] + 180.0) % 360.0 - 180.0) * math.cos(math.radians(spot[0]))
    if abs(latitude - spot[0]) > SPOT_APART_MAX or east > SPOT_APART_MAX:
        raise Rejected(f"{_SOURCE} gave the weather of another place")
    return reply


def _read_present(reply: Reply, system: System) -> Present:
    body = mapping(reply.json(), _SOURCE, "weather")
    current = body.get("current", body.get("current_weather"))
    block = mapping(current, _SOURCE, "current weather")
    units = body.get("current_units", body.get("current_weather_units"))
    unit_of = units if isinstance(units, dict) else {}
    at = _moment(block.get("time"))

    def figure(name: str) -> Decimal | None:
        return _figure(_named(block, name), name, _named(unit_of, name), system)

    day = _today(body, at.date(), system)
    return Present(
        at=at,
        at_utc=_utc(at, body.get("utc_offset_seconds")),
        temperature=figure("temperature_2m"),
        feels=figure("apparent_temperature"),
        humidity=figure("relative_humidity_2m"),
        precipitation=figure("precipitation"),
        code=_code(_named(block, "weather_code")),
        cloud=figure("cloud_cover"),
        wind=figure("wind_speed_10m"),
        high=day.high,
        low=day.low,
        chance=day.chance,
        gusts=figure("wind_gusts_10m"),
        direction=figure("wind_direction_10m"),
    )


def _today(body: Mapping[str, object], day: date, system: System) -> Day:
    """The day's range beside the present weather: a help, so its absence is no error."""
    if not isinstance(body.get("daily"), dict):
        return Day(day)
    return next((row for row in _rows(body, system) if row.day == day), Day(day))


def _read_days(reply: Reply, first: date, last: date, system: System) -> tuple[Day, ...]:
    body = mapping(reply.json(), _SOURCE, "weather")
    return tuple(row for row in _rows(body, system) if first <= row.day <= last)


def _columns(
    body: Mapping[str, object], block_name: str, names: Sequence[str]
) -> tuple[Sequence[object], dict[str, Sequence[object]], Mapping[str, object]]:
    """Times, the arrays that are there, and the units; all arrays as long as the times."""
    block = mapping(body.get(block_name), _SOURCE, f"{block_name} figures")
    units = body.get(f"{block_name}_units")
    times = listing(block.get("time"), _SOURCE, f"{block_name} times", most=1_000)
    columns: dict[str, Sequence[object]] = {}
    for name in names:
        values = _named(block, name)
        if values is None:
            continue
        column = listing(values, _SOURCE, f"{block_name} figures", most=1_001)
        if len(column) != len(times):
            raise Rejected(f"{_SOURCE} gave figures and times that do not match")
        columns[name] = column
    return times, columns, units if isinstance(units, dict) else {}


def _rows(body: Mapping[str, object], system: System) -> list[Day]:
    names = dict.fromkeys((*_AIR_AHEAD, *_SKY, *_WIND))
    times, columns, units = _columns(body, "daily", tuple(names))
    rows: list[Day] = []
    for at, stamp in enumerate(times):
        day = _date(stamp)
        if rows and day <= rows[-1].day:
            raise Rejected(f"{_SOURCE} gave the days out of order")

        def figure(name: str, at: int = at) -> Decimal | None:
            column = columns.get(name)
            return None if column is None else _figure(column[at], name, _named(units, name), system)

        def clock_time(name: str, at: int = at) -> time | None:
            column = columns.get(name)
            return None if column is None or column[at] is None else _moment(column[at]).time()

        codes = columns.get("weather_code")
        seconds = figure("sunshine_duration")
        rows.append(
            Day(
                day=day,
                code=None if codes is None else _code(codes[at]),
                high=figure("temperature_2m_max"),
                low=figure("temperature_2m_min"),
                mean=figure("temperature_2m_mean"),
                chance=figure("precipitation_probability_max"),
                precipitation=figure("precipitation_sum"),
                snow=figure("snowfall_sum"),
                wind=figure("wind_speed_10m_max"),
                gusts=figure("wind_gusts_10m_max"),
                direction=figure("wind_direction_10m_dominant"),
                uv=figure("uv_index_max"),
                humidity=figure("relative_humidity_2m_mean"),
                cloud=figure("cloud_cover_mean"),
                sunshine=None if seconds is None else _EXACT.divide(seconds, Decimal(3_600)),
                sunrise=clock_time("sunrise"),
                sunset=clock_time("sunset"),
            )
        )
    return rows


NIGHT_FROM, NIGHT_HOURS = 18, 12


def _read_night(reply: Reply, day: date, system: System) -> Day:
    """The hours of a night as one row: lowest and highest temperature, most probable rain, sums,"
    " worst code."""
    body = mapping(reply.json(), _SOURCE, "weather")
    times, columns, units = _columns(body, "hourly", _HOURLY)
    begin = datetime.combine(day, time(NIGHT_FROM))
    inside = [
        at for at, stamp in enumerate(times) if begin <= _moment(stamp) < begin + timedelta(hours=NIGHT_HOURS)
    ]

    def column(name: str) -> list[Decimal]:
        values = columns.get(name)
        if values is None:
            return []
        found = (_figure(values[at], name, _named(units, name), system) for at in inside)
        return [figure for figure in found if figure is not None]

    def total(name: str) -> Decimal | None:
        values = column(name)
        return sum(values, Decimal(0)) if values else None

    def mean(name: str) -> Decimal | None:
        values = column(name)
        return _EXACT.divide(sum(values, Decimal(0)), Decimal(len(values))) if values else None

    degrees = column("temperature_2m")
    raw: Sequence[Any] = columns.get("weather_code", ())
    codes = [code for at in inside if raw and (code := _code(raw[at])) is not None]
    return Day(
        day=day,
        code=max(codes, default=None),
        high=max(degrees, default=None),
        low=min(degrees, default=None),
        chance=max(column("precipitation_probability"), default=None),
        precipitation=total("precipitation"),
        snow=total("snowfall"),
        wind=max(column("wind_speed_10m"), default=None),
        humidity=mean("relative_humidity_2m"),
        cloud=mean("cloud_cover"),
    )


def _date(stamp: object) -> date:
    try:
        return date.fromisoformat(stamp if isinstance(stamp, str) and len(stamp) == 10 else "")
    except ValueError as exc:
        raise Rejected(f"{_SOURCE} gave a day that is none") from exc


def _moment(stamp: object) -> datetime:
    """A local time without offset, to the minute."""
    try:
        at = datetime.fromisoformat(stamp if isinstance(stamp, str) and 16 <= len(stamp) <= 19 else "")
    except ValueError as exc:
        raise Rejected(f"{_SOURCE} gave a time that is none") from exc
    return at.replace(tzinfo=None)


def _utc(at: datetime, offset_s: object) -> datetime | None:
    if isinstance(offset_s, bool) or not isinstance(offset_s, int) or abs(offset_s) > _OFFSET_MAX_S:
        return None
    try:
        return (at - timedelta(seconds=offset_s)).replace(tzinfo=UTC)
    except OverflowError:
        return None
