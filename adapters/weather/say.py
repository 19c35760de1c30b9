"""Sentences about the weather: what was found, in plain English. Pure.

Rules of this file:
- A sentence names the place and the day in full (weekday and date), never "tomorrow": it may be read again
  by somebody whose day is another.
- Figures are shown as ``units`` writes them; means to a tenth.
- Nothing is said that is not known: an absent figure is left out, and when the figure asked for is absent,
  the function returns None.
- Sentences end without a full stop: the adapter adds source and time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, time
from decimal import Decimal

from adapters.weather import figures
from adapters.weather.figures import LEAST_FOR_ANOMALIES
from adapters.weather.units import (
    a_chance,
    between,
    degrees,
    direction,
    hours,
    joined,
    likely,
    on_day,
    percent,
    plain,
    snow_depth,
    span_of,
    speed,
    uv,
    water,
)
from adapters.weather.values import Day, Present, Units
from node.language.tables import read_table

_DATA = read_table(__package__, "say.toml")

EXTREME_OF = {"temperature_max": "max", "temperature_min": "min"}
"""Figures that are the day's highest or lowest temperature."""
LISTED_DAYS = 7
"""A span up to this long is told day by day."""
_ANOMALIES_TOLD = 5
_SNOWS = frozenset((71, 73, 75, 77, 85, 86))
_RAINS = frozenset((51, 53, 55, 56, 57, 61, 63, 65, 66, 67, 80, 81, 82, 95, 96, 99))
_OPTIONAL = re.compile(r"\[([^\[\]{}]*\{(\w+)\}[^\[\]]*)\]")
_TENSE = re.compile(r"<(\w+)>")


@dataclass(frozen=True, slots=True)
class _Figure:
    """How a figure is called over a span and in a statistic, where a day has it, and how it is written."""

    noun: str
    series: str
    attribute: str
    show: Callable[[Decimal, Units], str]
    told: str = "{}"


def _index(figure: Decimal, system: Units) -> str:
    return plain(figure)


_FIGURES = {
    "weather": _Figure("weather", "temperature", "", degrees),
    "temperature": _Figure("temperature", "temperature", "", degrees),
    "temperature_max": _Figure("daily high", "daily high", "high", degrees),
    "temperature_min": _Figure("daily low", "daily low", "low", degrees),
    "rain": _Figure("precipitation", "daily precipitation", "precipitation", water),
    "snow": _Figure("snowfall", "daily snowfall", "snow", snow_depth),
    "wind": _Figure("highest wind", "daily highest wind", "wind", speed, "up to {}"),
    "humidity": _Figure("mean humidity", "humidity", "humidity", percent),
    "cloud": _Figure("mean cloud cover", "cloud cover", "cloud", percent),
    "sunshine": _Figure("sunshine", "daily sunshine", "sunshine", hours),
    "uv": _Figure("highest UV index", "daily highest UV index", "uv", _index),
    "sunrise": _Figure("sunrise", "", "sunrise", _index),
    "sunset": _Figure("sunset", "", "sunset", _index),
}


def conditions(code: int | None) -> str:
    """A WMO code in words; empty for one that the table lacks."""
    found: str = _DATA["codes"].get(str(code), "")
    return found


def in_unit(figure: Decimal, metric: str, system: Units) -> str:
    """A figure of a metric's series with its unit."""
    return _FIGURES[metric].show(figure, system)


def _filled(template: str, past: bool, **values: str | None) -> str | None:
    """A sentence of the table, None without its ``figure``; a part in brackets falls away with its value."""
    if values.get("figure", "") is None:
        return None
    told = _OPTIONAL.sub(lambda part: part[1] if values[part[2]] else "", template)
    told = _TENSE.sub(lambda verb: str(_DATA["tenses"][verb[1]][0 if past else 1]), told)
    return told.format_map(values)


def _if_known(figure: Decimal | None, show: Callable[[Decimal], str]) -> str | None:
    return None if figure is None else show(figure)


# --- now ----------------------------------------------------------------------------------------------


def say_present(label: str, now: Present, metric: str, system: Units) -> str | None:
    """The weather at the moment; None when the figure asked for is not stated."""
    sky = conditions(now.code)
    if metric in ("rain", "snow"):
        return _say_falling(label, now, metric, sky, system)
    if metric in ("cloud", "sunshine") and now.cloud is None:
        return f"The sky over {label}: {sky}" if sky else None
    name = "cloud" if metric == "sunshine" else metric
    if name not in _DATA["now"]:
        return None if now.temperature is None else _say_weather(label, now, now.temperature, sky, system)
    figure: Decimal | None = getattr(now, name)
    return _filled(
        _DATA["now"][name],
        False,
        label=label,
        figure=_if_known(figure, lambda value: in_unit(value, name, system)),
        feels=_if_known(now.feels, lambda value: degrees(value, system)),
        direction=_if_known(now.direction, direction),
        gusts=_if_known(now.gusts, lambda value: speed(value, system)),
        sky=sky,
    )


def _say_weather(label: str, now: Present, temperature: Decimal, sky: str, system: Units) -> str:
    head = f"It is {degrees(temperature, system)}"
    if now.feels is not None and abs(now.feels - temperature) >= 2:
        head = f"{head} (feels like {degrees(now.feels, system)})"
    head = f"{head} in {label}" + (f", {sky}" if sky else "")
    beside = [] if now.wind is None else [f"wind of {speed(now.wind, system)}"]
    beside += [] if now.humidity is None else [f"{percent(now.humidity)} humidity"]
    head += f", with {joined(beside)}" if beside else ""
    rest = [] if now.low is None or now.high is None else [between(now.low, now.high, system)]
    rest += [] if now.chance is None else [f"{a_chance(now.chance)} of rain"]
    return f"{head}; the day brings {' and '.join(rest)}" if rest else head


def _say_falling(label: str, now: Present, metric: str, sky: str, system: Units) -> str | None:
    if now.code is None and now.precipitation is None:
        return None
    falls = now.code in (_SNOWS if metric == "snow" else _RAINS)
    if metric == "rain" and now.code not in _SNOWS and now.precipitation:
        falls = True
    details = [sky] if sky else []
    details += [water(now.precipitation, system)] if now.precipitation else []
    inside = f" ({', '.join(details)})" if details else ""
    head = f"It is {'' if falls else 'not '}{metric}ing in {label} at the moment{inside}"
    if now.chance is None:
        return head
    return f"{head}; over the whole day there is {a_chance(now.chance)} of rain or snow"


# --- one day ------------------------------------------------------------------------------------------


def say_day(
    label: str, day: Day, metric: str, stat: str | None, system: Units, today: date, *, night: bool = False
) -> str | None:
    """One day's weather in the tense that ``today`` gives it; None when the figure is not known. ``night``:
    the row is that of the night that begins on the day."""
    past = day.day < today
    on = on_day(day.day, today)
    on = f"the night of {on}" if night else on
    if metric in (*EXTREME_OF, "temperature") or (metric == "weather" and stat is not None):
        name, figure = _degrees_of(day, EXTREME_OF.get(metric, stat), system)
        return _filled(_DATA["day"][name], past, label=label, on=on, figure=figure)
    if metric in ("rain", "snow"):
        return (_say_rain if metric == "rain" else _say_snow)(label, day, system, on, past=past)
    if metric not in _DATA["day"]:
        told = _told(day, "weather", system, past=past)
        return _filled("On {on}, {label} <had> {figure}", past, label=label, on=on, figure=told)
    told = _told(day, metric, system, past=past)
    figure = None if told is None else told.removeprefix("up to ")
    if metric == "sunshine" and figure is not None:
        figure = f"{figure.removesuffix(' h')} hours"
    return _filled(
        _DATA["day"][metric],
        past,
        label=label,
        on=on,
        figure=figure,
        direction=_if_known(day.direction, direction),
        gusts=_if_known(day.gusts, lambda value: speed(value, system)),
        sky=conditions(day.code),
    )


def _degrees_of(day: Day, stat: str | None, system: Units) -> tuple[str, str | None]:
    """Which temperature of the day is told, and the figure."""
    if stat in ("mean", "median"):
        return "mean", _if_known(middle_of(day), lambda value: degrees(value, system))
    if stat not in ("max", "min"):
        if day.low is not None and day.high is not None:
            return "temperature", between(day.low, day.high, system)
        stat = "max" if day.low is None else "min"
    return stat, _if_known(day.high if stat == "max" else day.low, lambda value: degrees(value, system))


def _say_rain(label: str, day: Day, system: Units, on: str, *, past: bool) -> str | None:
    fall = day.precipitation
    amount = None if fall is None else water(fall, system)
    if not past and day.chance is not None:
        rest = f", about {amount} expected" if fall else ""
        return f"Rain is {likely(day.chance)} in {label} on {on}: {a_chance(day.chance)}{rest}"
    if amount is None:
        return None
    if not past:
        return (
            f"Rain is expected in {label} on {on}: about {amount}"
            if fall
            else f"No rain is expected in {label} on {on}"
        )
    if not fall:
        return f"It did not rain in {label} on {on}"
    snow = f", {snow_depth(day.snow, system)} of snow included" if day.snow else ""
    return f"It rained in {label} on {on}: {amount} of precipitation{snow}"


def _say_snow(label: str, day: Day, system: Units, on: str, *, past: bool) -> str | None:
    if day.snow is None:
        return None
    depth = snow_depth(day.snow, system)
    if past:
        return f"It snowed in {label} on {on}: {depth}" if day.snow else f"It did not snow in {label} on {on}"
    cold = "" if day.low is None or day.high is None else f", at {between(day.low, day.high, system)}"
    if not day.snow:
        return f"No snow is expected in {label} on {on}{cold}"
    return f"Snow is expected in {label} on {on}: about {depth}{cold}"


def _told(day: Day, metric: str, system: Units, *, past: bool) -> str | None:
    """A day in a few words, as one item of a list; None when the figure is not known. Of a past day no
    probability is told: what happened is known."""
    chance = None if past else day.chance
    ranged = None if day.low is None or day.high is None else between(day.low, day.high, system)
    if metric == "temperature":
        return ranged or _if_known(day.high, lambda value: f"up to {degrees(value, system)}")
    if metric == "rain":
        parts = [] if chance is None else [f"{percent(chance)} chance"]
        parts += [] if day.precipitation is None else [water(day.precipitation, system)]
        return ", ".join(parts) or None
    if metric != "weather":
        kind = _FIGURES[metric]
        figure: Decimal | time | None = getattr(day, kind.attribute)
        if figure is None or isinstance(figure, time):
            return None if figure is None else f"{figure:%H:%M}"
        return uv(figure) if metric == "uv" else kind.told.format(kind.show(figure, system))
    parts = [part for part in (conditions(day.code), ranged) if part]
    if not parts:
        return None
    parts += [] if chance is None else [f"{a_chance(chance)} of rain"]
    parts += [f"{water(day.precipitation, system)} of precipitation"] if day.precipitation else []
    if day.wind is not None and len(parts) > 1:
        parts.append(f"wind up to {speed(day.wind, system)}")
    return ", ".join(parts)


# --- spans --------------------------------------------------------------------------------------------


def say_span(label: str, days: Sequence[Day], metric: str, system: Units, today: date) -> str | None:
    """Several days: one by one while they are few, else in sum; None when none of them is known."""
    span = span_of(days[0].day, days[-1].day, today)
    if metric in ("rain", "snow") and _falls_not(days, metric, today):
        if days[-1].day < today:
            return f"It did not {metric} in {label} {span}"
        return f"No {metric} is expected in {label} {span}"
    told = [(day.day, _told(day, metric, system, past=day.day < today)) for day in days]
    known = [f"{day:%A} {day.day}: {words}" for day, words in told if words is not None]
    if not known:
        return None
    listed = "; ".join(known) if len(days) <= LISTED_DAYS else ", ".join(_summed(days, metric, system))
    return f"The {_FIGURES[metric].noun} in {label} {span}: {listed}" if listed else None


def _falls_not(days: Sequence[Day], metric: str, today: date) -> bool:
    """Whether it is known that neither rain nor snow falls, nor may fall."""
    may_rain = metric == "rain" and any(
        day.day >= today and day.chance is not None and day.chance >= 10 for day in days
    )
    amounts = [day.precipitation if metric == "rain" else day.snow for day in days]
    return not may_rain and not any(amount is None or amount for amount in amounts)


def _summed(days: Sequence[Day], metric: str, system: Units) -> list[str]:
    parts: list[str] = []
    lows = [day.low for day in days if day.low is not None]
    highs = [day.high for day in days if day.high is not None]
    if metric in ("weather", "temperature") and lows and highs:
        parts.append(between(min(lows), max(highs), system))
    falls = [day.precipitation for day in days if day.precipitation is not None]
    if metric in ("weather", "rain") and falls:
        wet = sum(fall >= (Decimal(1) if system.is_metric else Decimal("0.04")) for fall in falls)
        parts.append(f"{water(sum(falls, Decimal(0)), system)} of precipitation in all on {wet} wet days")
    if parts or metric in ("weather", "temperature", "rain"):
        return parts
    if metric in ("sunrise", "sunset"):
        first, last = (getattr(day, metric) for day in (days[0], days[-1]))
        return [f"{first:%H:%M} on the first day and {last:%H:%M} on the last"] if first and last else []
    values = [value for _, value in series(days, metric, None)]
    if not values:
        return []
    low, high, mean = (
        in_unit(value, metric, system) for value in (min(values), max(values), figures.mean(values))
    )
    return [f"between {low} and {high} a day", f"{mean} on average"]


# --- statistics ---------------------------------------------------------------------------------------


def middle_of(day: Day) -> Decimal | None:
    """The day's mean temperature, or the middle of its range where the source gives no mean."""
    if day.mean is not None or day.high is None or day.low is None:
        return day.mean
    return (day.high + day.low) / 2


def series(days: Sequence[Day], metric: str, stat: str | None) -> list[tuple[date, Decimal]]:
    """The known figures that a statistic is made of: highs for a maximum, lows for a minimum, else means."""

    def figure(day: Day) -> Decimal | None:
        if metric in ("weather", "temperature"):
            return day.high if stat == "max" else day.low if stat == "min" else middle_of(day)
        found: Decimal | time | None = (
            getattr(day, _FIGURES[metric].attribute) if metric in _FIGURES else None
        )
        return found if isinstance(found, Decimal) else None

    return [(day.day, value) for day in days if (value := figure(day)) is not None]


_OF_FIGURES: dict[str, Callable[[Sequence[Decimal]], Decimal]] = {
    "max": max,
    "min": min,
    "mean": figures.mean,
    "median": figures.median,
}


def statistic(values: Sequence[tuple[date, Decimal]], stat: str) -> Decimal | None:
    """The figure of ``stat`` over a series; None where the days are too few (or the stat is a list)."""
    known = [value for _, value in values]
    if not known or stat == "anomalies":
        return None
    if stat in _OF_FIGURES:
        return _OF_FIGURES[stat](known)
    if stat == "stdev":
        return figures.deviation(known) if len(known) > 1 else None
    return figures.volatility(values) if len(figures.changes(values)) > 1 else None


_CALLED = {"max": "highest", "min": "lowest", "mean": "average", "median": "median"}


def say_statistic(
    label: str, days: Sequence[Day], metric: str, stat: str, system: Units, today: date
) -> str | None:
    """A statistic over a span in one sentence that says what it is of; None with too few figures."""
    values = series(days, metric, stat)
    noun = _FIGURES[metric].series if metric in _FIGURES else ""
    if not values or not noun:
        return None
    span = span_of(days[0].day, days[-1].day, today)
    where = f"in {label} {span}"
    if stat == "anomalies":
        return _say_anomalies(where, values, noun, metric, system)
    figure = statistic(values, stat)
    if figure is None:
        return None
    verb = "was" if days[-1].day < today else "is expected to be" if days[0].day > today else "is"
    shown = f"{verb} {in_unit(figure, metric, system)}"
    count = f"{len(values)} days" if len(values) != 1 else "1 day"
    if stat in ("max", "min"):
        day = next(day for day, value in values if value == figure)
        if stat == EXTREME_OF.get(metric):
            noun = "temperature"
        elif metric not in EXTREME_OF:
            noun = noun.removeprefix("daily ").removeprefix("highest ")
        return f"The {_CALLED[stat]} {noun} {where} {shown}, on {on_day(day, today)}"
    if stat in _CALLED:
        return f"The {_CALLED[stat]} {noun} {where} {shown} (over {count})"
    if stat == "stdev":
        return f"The standard deviation of the {noun} {where} {shown} (over {count})"
    changes = f"standard deviation of the changes from one day to the next, {count}"
    return f"The volatility of the {noun} {where} {shown} ({changes})"


def _say_anomalies(
    where: str, values: Sequence[tuple[date, Decimal]], noun: str, metric: str, system: Units
) -> str:
    if len(values) < LEAST_FOR_ANOMALIES:
        return (
            f"{len(values)} days are too few to call one of them unusual (it takes {LEAST_FOR_ANOMALIES}), so"
            f" nothing can be said of the {noun} {where}"
        )
    found = figures.anomalies(values)
    rule = "more than 2 standard deviations from the mean of the span"
    if not found:
        return f"No day stands out in the {noun} {where} (none lies {rule})"
    strongest = sorted(found, key=lambda one: -abs(one.z))[:_ANOMALIES_TOLD]
    listed = joined(
        [
            f"{one.day.day} {one.day:%B} ({in_unit(one.value, metric, system)}, z = {plain(one.z)})"
            for one in sorted(strongest, key=lambda one: one.day)
        ]
    )
    stands = "stands" if len(strongest) == 1 else "stand"
    return f"In the {noun} {where}, {listed} {stands} out ({rule})"
