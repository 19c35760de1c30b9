"""What Open-Meteo answers, read: places, the weather now, days and nights. Pure.

It promises: a figure that leaves here was stated by the source as a number, for the day it is given for, in
the unit that ``System`` names (what came in another unit is converted exactly), and is physically possible;
null is None; everything else is ``Rejected``. Which variable is which figure stands in ``open_meteo.toml``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Context, Decimal
from typing import Any

from adapters.fetch import Reply
from adapters.outside import listing, mapping, number, text
from adapters.weather.values import Day, Present, System, Town
from node.core.errors import Rejected
from node.language.tables import read_table

_DATA = read_table(__package__, "open_meteo.toml")
TOWNS_MAX = 10

# --- reading places -------------------------------------------------------------------------------

_GEO = "Open-Meteo (geocoding)"


def read_towns(reply: Reply) -> tuple[Town, ...]:
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

_KINDS = {
    name: kind
    for row, kind in {
        "degrees": _DEGREES,
        "speed": _SPEED,
        "water": _WATER,
        "snow": _SNOW,
        "percent": _PERCENT,
        "direction": _AROUND,
        "index": _INDEX,
        "seconds": _SECONDS,
    }.items()
    for name in _DATA["kinds"][row].split()
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
    return block.get(_DATA["former"].get(name, name))


SPOT_APART_MAX = 0.5
"""Degrees between the place asked for and the grid cell that answers; the coarsest grid has 0.4."""


def of_spot(reply: Reply, spot: tuple[float, float]) -> Reply:
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


def read_present(reply: Reply, system: System) -> Present:
    """The weather now, with the range of the place's own today."""
    body = mapping(reply.json(), _SOURCE, "weather")
    block = mapping(body.get("current", body.get("current_weather")), _SOURCE, "current weather")
    units = body.get("current_units", body.get("current_weather_units"))
    unit_of = units if isinstance(units, dict) else {}
    at = _moment(block.get("time"))
    stated = {
        field: _figure(_named(block, name), name, _named(unit_of, name), system)
        for field, name in _DATA["fields"]["now"].items()
    }
    day = _today(body, at.date(), system)
    code = _code(_named(block, "weather_code"))
    utc = _utc(at, body.get("utc_offset_seconds"))
    return Present(at=at, at_utc=utc, code=code, high=day.high, low=day.low, chance=day.chance, **stated)


def _today(body: Mapping[str, object], day: date, system: System) -> Day:
    """The day's range beside the present weather: a help, so its absence is no error."""
    if not isinstance(body.get("daily"), dict):
        return Day(day)
    return next((row for row in _rows(body, system) if row.day == day), Day(day))


def read_days(reply: Reply, first: date, last: date, system: System) -> tuple[Day, ...]:
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
    fields: Mapping[str, str] = _DATA["fields"]["day"]
    names = ("weather_code", "sunrise", "sunset", *fields.values())
    times, columns, units = _columns(body, "daily", names)
    rows: list[Day] = []
    for at, stamp in enumerate(times):
        day = _date(stamp)
        if rows and day <= rows[-1].day:
            raise Rejected(f"{_SOURCE} gave the days out of order")
        there = {name: column[at] for name, column in columns.items() if column[at] is not None}
        stated: dict[str, Any] = {
            field: _figure(there.get(name), name, _named(units, name), system)
            for field, name in fields.items()
        }
        if stated["sunshine"] is not None:
            stated["sunshine"] = _EXACT.divide(stated["sunshine"], Decimal(3_600))
        for name in ("sunrise", "sunset"):
            stated[name] = _moment(there[name]).time() if name in there else None
        rows.append(Day(day=day, code=_code(there.get("weather_code")), **stated))
    return rows


NIGHT_FROM, NIGHT_HOURS = 18, 12


def read_night(reply: Reply, day: date, system: System) -> Day:
    """The hours of a night as one row, with the worst code."""
    body = mapping(reply.json(), _SOURCE, "weather")
    times, columns, units = _columns(body, "hourly", _DATA["hourly"])
    begin = datetime.combine(day, time(NIGHT_FROM))
    inside = [
        at for at, stamp in enumerate(times) if begin <= _moment(stamp) < begin + timedelta(hours=NIGHT_HOURS)
    ]

    def column(name: str) -> list[Decimal]:
        values = columns.get(name, ())
        found = (_figure(values[at], name, _named(units, name), system) for at in inside if values)
        return [figure for figure in found if figure is not None]

    stated: dict[str, Any] = {}
    for field, (name, how) in _DATA["fields"]["night"].items():
        values = column(name)
        stated[field] = _OF_HOURS[how](values) if values else None
    codes = columns.get("weather_code", ())
    known = [code for at in inside if codes and (code := _code(codes[at])) is not None]
    return Day(day=day, code=max(known, default=None), **stated)


def _mean(values: Sequence[Decimal]) -> Decimal:
    return _EXACT.divide(sum(values, Decimal(0)), Decimal(len(values)))


_OF_HOURS: Mapping[str, Callable[[Sequence[Decimal]], Decimal]] = {
    "max": max,
    "min": min,
    "sum": lambda values: sum(values, Decimal(0)),
    "mean": _mean,
}


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
