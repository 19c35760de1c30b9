"""Open-Meteo on the wire: places by name, the weather now, days of forecast and of the past.

Answers are read by ``open_meteo_reading``. Each of the three hosts has one ``Guard`` with all its windows.
Requests stay within 10 variables and 14 days, so that each counts as one call against the limits.
It knows neither questions nor sentences.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import TypeVar
from urllib.parse import urlencode

from adapters.fetch import Http, Reply, Source
from adapters.outside import text
from adapters.weather.open_meteo_reading import (
    TOWNS_MAX,
    of_spot,
    read_days,
    read_night,
    read_present,
    read_towns,
)
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

TTL_NOW_S = 300.0
TTL_FORECAST_S = 1_800.0
TTL_PAST_S = 86_400.0
TTL_TOWNS_S = 86_400.0
STALE_FOR_S = 6 * 3_600.0

CONCURRENCY = 3
"""The open source of the service refuses a sixth simultaneous request of an address."""
_LIMITS: Mapping[str, tuple[int, int, int]] = _DATA["limits"]

_CURRENT = tuple(_DATA["current"])
_CURRENT_WIND, _CURRENT_DAY = tuple(_DATA["current_wind"]), tuple(_DATA["current_day"])
"""Of their own: with more than ten variables a request counts as more than one."""
_AIR = tuple(_DATA["air"])
_WIND = tuple(_DATA["wind"])
_AIR_AHEAD = (*_AIR, *_DATA["air_ahead"])
_SKY = tuple(_DATA["sky"])
_HOURLY = tuple(_DATA["hourly"])


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Asking:
    """What every request for figures has: where, in which units, by when, and how old an answer may be."""

    spot: tuple[float, float]
    system: System
    deadline: float
    max_age_s: float | None


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
            read=read_towns,
            ttl_s=TTL_TOWNS_S,
            deadline=deadline,
        )

    async def present(self, asked: Asking, *, wind: bool = False) -> tuple[Guarded[Present], str]:
        """The weather now, or all of its wind, with the range of the place's own today; and the address of
        the figures."""
        params = {
            **_where(asked.spot),
            "current": ",".join(_CURRENT_WIND if wind else _CURRENT),
            "daily": ",".join(_CURRENT_DAY),
            "forecast_days": "1",
            **_units(asked.system),
        }
        got = await self._get(
            "now", params, asked, lambda reply: read_present(reply, asked.system), TTL_NOW_S
        )
        return got, f"{FORECAST_URL}/v1/forecast?{urlencode(params)}"

    async def days(
        self, asked: Asking, first: date, last: date, part: Part, *, archive: bool
    ) -> Guarded[Days]:
        """The days from ``first`` to ``last`` of one host, asked in pieces of ``REQUEST_DAYS_MAX``."""
        starts = range(0, (last - first).days + 1, REQUEST_DAYS_MAX)
        begins = [first + timedelta(days=start) for start in starts]
        ends = [min(last, begin + timedelta(days=REQUEST_DAYS_MAX - 1)) for begin in begins]
        got = await asyncio.gather(
            *(
                self._piece(asked, begin, end, part, archive=archive)
                for begin, end in zip(begins, ends, strict=True)
            )
        )
        rows = tuple(day for piece in got for day in piece.value)
        host = f"{ARCHIVE_URL}/v1/archive" if archive else f"{FORECAST_URL}/v1/forecast"
        url = f"{host}?{urlencode(_daily(asked, first, last, part, archive=archive))}"
        return Guarded(
            Days(rows, url),
            stale=any(piece.stale for piece in got),
            age_s=max(piece.age_s for piece in got),
            from_cache=all(piece.from_cache for piece in got),
        )

    async def _piece(
        self, asked: Asking, first: date, last: date, part: Part, *, archive: bool
    ) -> Guarded[tuple[Day, ...]]:
        params = _daily(asked, first, last, part, archive=archive)

        def read(reply: Reply) -> tuple[Day, ...]:
            return read_days(reply, first, last, asked.system)

        if archive:
            return await self._get(
                "days:archive", params, replace(asked, max_age_s=None), read, TTL_PAST_S, "archive"
            )
        return await self._get("days:forecast", params, asked, read, TTL_FORECAST_S)

    async def night(self, asked: Asking, day: date) -> tuple[Guarded[Day], str]:
        """The night that begins on ``day``: 18:00 to 06:00 local time, as one row."""
        params = {
            **_where(asked.spot),
            "hourly": ",".join(_HOURLY),
            "start_date": day.isoformat(),
            "end_date": (day + timedelta(days=1)).isoformat(),
            **_units(asked.system),
        }
        got = await self._get(
            "night", params, asked, lambda reply: read_night(reply, day, asked.system), TTL_FORECAST_S
        )
        return got, f"{FORECAST_URL}/v1/forecast?{urlencode(params)}"

    async def _get(
        self,
        what: str,
        params: Mapping[str, str],
        asked: Asking,
        read: Callable[[Reply], T],
        ttl_s: float,
        host: str = "forecast",
    ) -> Guarded[T]:
        """What one host answers, of the place that was asked for."""
        return await (self._archive if host == "archive" else self._forecast).get(
            f"/v1/{host}",
            self._with_key(host, params),
            key=f"{what}:{urlencode(params)}",
            read=lambda reply: read(of_spot(reply, asked.spot)),
            ttl_s=ttl_s,
            deadline=asked.deadline,
            max_age_s=asked.max_age_s,
        )

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


def _daily(asked: Asking, first: date, last: date, part: Part, *, archive: bool) -> dict[str, str]:
    air = _AIR if archive else _AIR_AHEAD
    names = {Part.SKY: _SKY, Part.WIND: _WIND, Part.AIR: air}[part]
    return {
        **_where(asked.spot),
        "daily": ",".join(names),
        "start_date": first.isoformat(),
        "end_date": last.isoformat(),
        **_units(asked.system),
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
