"""Sentences about the weather: what was found, in plain English. Pure.

Rules of this file:
- A sentence names the place and the day in full (weekday and date), never "tomorrow": it may be read again
  by somebody whose day is another.
- Figures are shown as the source stated them, to a tenth; means to a tenth.
- Chances are put in words by ``likely``, the same for rain and snow.
- Nothing is said that is not known: an absent figure is left out, and when the figure asked for is absent,
  the function returns None.
- Sentences end without a full stop: the adapter adds source and time.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from decimal import ROUND_HALF_UP, Decimal

from adapters.weather.figures import (
    LEAST_FOR_ANOMALIES,
    anomalies,
    changes,
    deviation,
    mean,
    median,
    volatility,
)
from adapters.weather.values import BEAUFORT, INCH_MM, MILE_KM, WIND_PER_KMH, Day, Present, Units

EXTREME_OF = {"temperature_max": "max", "temperature_min": "min"}
"""Figures that are the day's highest or lowest temperature."""
LISTED_DAYS = 7
"""A span up to this long is told day by day."""
WET_MM = Decimal(1)
_ANOMALIES_TOLD = 5

_WMO = {
    0: "clear sky",
    1: "mainly clear",
    2: "partly cloudy",
    3: "overcast",
    45: "fog",
    48: "freezing fog",
    51: "light drizzle",
    53: "drizzle",
    55: "dense drizzle",
    56: "light freezing drizzle",
    57: "freezing drizzle",
    61: "light rain",
    63: "rain",
    65: "heavy rain",
    66: "light freezing rain",
    67: "freezing rain",
    71: "light snow",
    73: "snow",
    75: "heavy snow",
    77: "snow grains",
    80: "light rain showers",
    81: "rain showers",
    82: "violent rain showers",
    85: "light snow showers",
    86: "heavy snow showers",
    95: "thunderstorms",
    96: "thunderstorms with hail",
    99: "thunderstorms with heavy hail",
}
_SNOWS = frozenset((71, 73, 75, 77, 85, 86))
_RAINS = frozenset((51, 53, 55, 56, 57, 61, 63, 65, 66, 67, 80, 81, 82, 95, 96, 99))
_UV = ((Decimal(3), "low"), (Decimal(6), "moderate"), (Decimal(8), "high"), (Decimal(11), "very high"))
_TENTH = Decimal("0.1")


# --- words for figures ----------------------------------------------------------------------------


def conditions(code: int | None) -> str:
    """A WMO code in words; empty for one that the table lacks."""
    return "" if code is None else _WMO.get(code, "")


def plain(figure: Decimal) -> str:
    """To a tenth, without a trailing zero."""
    shown = f"{figure.quantize(_TENTH, ROUND_HALF_UP):f}"
    shown = shown[:-2] if shown.endswith(".0") else shown
    return "0" if shown == "-0" else shown


def degrees(figure: Decimal, system: Units) -> str:
    return f"{plain(_in_degrees(figure, system))} {_degree(system)}"


def _in_degrees(figure: Decimal, system: Units) -> Decimal:
    return figure + Decimal("273.15") if system.kelvin else figure


def speed(figure: Decimal, system: Units) -> str:
    """In the unit that was said, else in that of the system."""
    if system.wind is None:
        return f"{plain(figure)} {'km/h' if system.is_metric else 'mph'}"
    kmh = figure if system.is_metric else figure * MILE_KM
    if system.wind == "bft":
        return f"force {sum(kmh >= bound for bound in BEAUFORT)} Beaufort ({plain(kmh)} km/h)"
    written, per_kmh = WIND_PER_KMH[system.wind]
    return f"{plain(kmh / per_kmh)} {written}"


_POINTS = ("north", "north-east", "east", "south-east", "south", "south-west", "west", "north-west")


def direction(figure: Decimal) -> str:
    """Where the wind comes from: "from the west (270°)"."""
    return f"from the {_POINTS[int((figure + Decimal('22.5')) % 360 // 45)]} ({figure:.0f}°)"


def water(figure: Decimal, system: Units) -> str:
    """Precipitation; hundredths of an inch are kept, for a tenth is much."""
    wanted = system.water or ("mm" if system.is_metric else "inch")
    if (wanted == "mm") != system.is_metric:
        figure = figure * INCH_MM if wanted == "mm" else figure / INCH_MM
    if wanted == "mm":
        return f"{plain(figure)} mm"
    return f"{figure.quantize(Decimal('0.01'), ROUND_HALF_UP).normalize():f} in"


def snow_depth(figure: Decimal, system: Units) -> str:
    wanted = system.water or ("mm" if system.is_metric else "inch")
    per = INCH_MM / 10
    if (wanted == "mm") != system.is_metric:
        figure = figure * per if wanted == "mm" else figure / per
    return f"{plain(figure)} {'cm' if wanted == 'mm' else 'in'}"


def likely(chance: Decimal) -> str:
    """A probability in per cent in words."""
    if chance >= 85:
        return "very likely"
    if chance >= 60:
        return "likely"
    if chance >= 40:
        return "possible"
    return "unlikely" if chance >= 10 else "very unlikely"


def on_day(day: date, today: date) -> str:
    """ "Monday 23 November", with the year where it is not this one."""
    year = "" if day.year == today.year else f" {day.year}"
    return f"{day:%A} {day.day} {day:%B}{year}"


def span_of(first: date, last: date, today: date) -> str:
    """ "from 9 to 15 November"."""
    years = first.year != last.year or last.year != today.year
    begin = f"{first.day}"
    if first.month != last.month or first.year != last.year:
        begin = f"{first.day} {first:%B}" + (f" {first.year}" if first.year != last.year else "")
    return f"from {begin} to {last.day} {last:%B}" + (f" {last.year}" if years else "")


def _degree(system: Units) -> str:
    return "K" if system.kelvin else "°C" if system.is_metric else "°F"


def _range(low: Decimal, high: Decimal, system: Units) -> str:
    if plain(low) == plain(high):
        return degrees(low, system)
    return f"{plain(_in_degrees(low, system))} to {degrees(high, system)}"


def _percent(figure: Decimal) -> str:
    return f"{plain(figure)} %"


def _a_chance(chance: Decimal, what: str) -> str:
    whole = plain(chance)
    article = "an" if whole.startswith("8") or whole.split(".")[0] in ("11", "18") else "a"
    return f"{article} {whole} % chance of {what}"


def _joined(parts: Sequence[str]) -> str:
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


# --- now ------------------------------------------------------------------------------------------


def say_present(label: str, now: Present, metric: str, system: Units) -> str | None:
    """The weather at the moment; None when the figure asked for is not stated."""
    sky = conditions(now.code)
    if metric == "temperature":
        if now.temperature is None:
            return None
        feels = "" if now.feels is None else f" (feels like {degrees(now.feels, system)})"
        return f"It is {degrees(now.temperature, system)} in {label}{feels}"
    if metric in ("rain", "snow"):
        return _say_falling(label, now, metric, sky, system)
    if metric == "wind":
        if now.wind is None:
            return None
        gusts = "" if now.gusts is None else f", with gusts up to {speed(now.gusts, system)}"
        side = "" if now.direction is None else f" {direction(now.direction)}"
        return f"The wind in {label} is {speed(now.wind, system)}{side}{gusts}"
    if metric == "humidity":
        return None if now.humidity is None else f"The humidity in {label} is {_percent(now.humidity)}"
    if metric in ("cloud", "sunshine"):
        if now.cloud is None:
            return f"The sky over {label}: {sky}" if sky else None
        extra = f" ({sky})" if sky else ""
        return f"Clouds cover {_percent(now.cloud)} of the sky over {label}{extra}"
    if now.temperature is None:
        return None
    return _say_weather(label, now, sky, system)


def _say_weather(label: str, now: Present, sky: str, system: Units) -> str:
    assert now.temperature is not None
    head = f"It is {degrees(now.temperature, system)}"
    if now.feels is not None and abs(now.feels - now.temperature) >= 2:
        head = f"{head} (feels like {degrees(now.feels, system)})"
    head = f"{head} in {label}" + (f", {sky}" if sky else "")
    parts: list[str] = []
    if now.wind is not None:
        parts.append(f"wind of {speed(now.wind, system)}")
    if now.humidity is not None:
        parts.append(f"{_percent(now.humidity)} humidity")
    if parts:
        head = f"{head}, with {_joined(parts)}"
    rest: list[str] = []
    if now.low is not None and now.high is not None:
        rest.append(_range(now.low, now.high, system))
    if now.chance is not None:
        rest.append(_a_chance(now.chance, "rain"))
    return f"{head}; the day brings {' and '.join(rest)}" if rest else head


def _say_falling(label: str, now: Present, metric: str, sky: str, system: Units) -> str | None:
    if now.code is None and now.precipitation is None:
        return None
    falls = now.code in (_SNOWS if metric == "snow" else _RAINS)
    if metric == "rain" and now.code not in _SNOWS and now.precipitation:
        falls = True
    verb = "raining" if metric == "rain" else "snowing"
    details = [sky] if sky else []
    if now.precipitation:
        details.append(water(now.precipitation, system))
    inside = f" ({', '.join(details)})" if details else ""
    head = f"It is {verb} in {label}" if falls else f"It is not {verb} in {label}"
    head = f"{head} at the moment{inside}"
    if now.chance is not None:
        head = f"{head}; over the whole day there is {_a_chance(now.chance, 'rain or snow')}"
    return head


# --- one day --------------------------------------------------------------------------------------


def say_day(
    label: str, day: Day, metric: str, stat: str | None, system: Units, today: date, *, night: bool = False
) -> str | None:
    """One day's weather in the tense that ``today`` gives it; None when the figure is not known. ``night``:
    the row is that of the night that begins on the day."""
    past = day.day < today
    on = on_day(day.day, today)
    on = f"the night of {on}" if night else on
    if metric in EXTREME_OF:
        return _say_degrees(label, day, EXTREME_OF[metric], system, on, past=past)
    if metric == "temperature" or (metric == "weather" and stat is not None):
        return _say_degrees(label, day, stat, system, on, past=past)
    if metric == "rain":
        return _say_rain(label, day, system, on, past=past)
    if metric == "snow":
        return _say_snow(label, day, system, on, past=past)
    if metric == "wind":
        if day.wind is None:
            return None
        gusts = "" if day.gusts is None else f", with gusts up to {speed(day.gusts, system)}"
        verb = "reached" if past else "is expected to reach"
        side = "" if day.direction is None else f", mostly {direction(day.direction)}"
        return f"The wind in {label} on {on} {verb} {speed(day.wind, system)}{side}{gusts}"
    if metric == "humidity":
        return _say_share(label, day.humidity, "mean humidity in", on, past=past)
    if metric == "cloud":
        return _say_share(label, day.cloud, "mean cloud cover over", on, past=past)
    if metric == "sunshine":
        if day.sunshine is None:
            return None
        sky = conditions(day.code)
        verb = "had" if past else "can expect"
        extra = f" (most notable weather: {sky})" if sky else ""
        return f"On {on}, {label} {verb} {plain(day.sunshine)} hours of sunshine{extra}"
    if metric == "uv":
        if day.uv is None:
            return None
        verb = "reached" if past else "is expected to reach"
        return f"The UV index in {label} on {on} {verb} {plain(day.uv)} ({_uv_word(day.uv)})"
    if metric in ("sunrise", "sunset"):
        at = day.sunrise if metric == "sunrise" else day.sunset
        if at is None:
            return None
        verb = {
            ("sunrise", True): "rose",
            ("sunrise", False): "rises",
            ("sunset", True): "set",
            ("sunset", False): "sets",
        }[metric, past]
        return f"The sun {verb} in {label} at {at:%H:%M} local time on {on}"
    return _say_day_weather(label, day, system, on, past=past)


def _uv_word(uv: Decimal) -> str:
    return next((word for bound, word in _UV if uv < bound), "extreme")


def _say_share(label: str, figure: Decimal | None, what: str, on: str, *, past: bool) -> str | None:
    if figure is None:
        return None
    verb = "was" if past else "is expected to be"
    return f"The {what} {label} on {on} {verb} {_percent(figure)}"


def _say_degrees(label: str, day: Day, stat: str | None, system: Units, on: str, *, past: bool) -> str | None:
    verb = "was" if past else "is expected to be"
    if stat in ("mean", "median"):
        figure = middle_of(day)
        return (
            None
            if figure is None
            else f"The mean temperature in {label} on {on} {verb} {degrees(figure, system)}"
        )
    if stat == "max":
        return None if day.high is None else f"The high in {label} on {on} {verb} {degrees(day.high, system)}"
    if stat == "min":
        return None if day.low is None else f"The low in {label} on {on} {verb} {degrees(day.low, system)}"
    if day.low is None or day.high is None:
        known = day.high if day.low is None else day.low
        if known is None:
            return None
        which = "high" if day.low is None else "low"
        return f"The {which} in {label} on {on} {verb} {degrees(known, system)}"
    return f"The temperature in {label} on {on} {verb} {_range(day.low, day.high, system)}"


def _say_rain(label: str, day: Day, system: Units, on: str, *, past: bool) -> str | None:
    if past:
        if day.precipitation is None:
            return None
        if not day.precipitation:
            return f"It did not rain in {label} on {on}"
        snow = f", {snow_depth(day.snow, system)} of snow included" if day.snow else ""
        return f"It rained in {label} on {on}: {water(day.precipitation, system)} of precipitation{snow}"
    amount = None if day.precipitation is None else water(day.precipitation, system)
    if day.chance is not None:
        rest = f", about {amount} expected" if amount and day.precipitation else ""
        article = "an" if _a_chance(day.chance, "").startswith("an ") else "a"
        return (
            f"Rain is {likely(day.chance)} in {label} on {on}: {article} {_percent(day.chance)} chance{rest}"
        )
    if amount is None:
        return None
    if not day.precipitation:
        return f"No rain is expected in {label} on {on}"
    return f"Rain is expected in {label} on {on}: about {amount}"


def _say_snow(label: str, day: Day, system: Units, on: str, *, past: bool) -> str | None:
    if day.snow is None:
        return None
    if past:
        if not day.snow:
            return f"It did not snow in {label} on {on}"
        return f"It snowed in {label} on {on}: {snow_depth(day.snow, system)}"
    cold = "" if day.low is None or day.high is None else f", at {_range(day.low, day.high, system)}"
    if not day.snow:
        return f"No snow is expected in {label} on {on}{cold}"
    return f"Snow is expected in {label} on {on}: about {snow_depth(day.snow, system)}{cold}"


def _say_day_weather(label: str, day: Day, system: Units, on: str, *, past: bool) -> str | None:
    told = _told(day, "weather", system, past=past)
    if told is None:
        return None
    return f"On {on}, {label} {'had' if past else 'can expect'} {told}"


def _told(day: Day, metric: str, system: Units, *, past: bool) -> str | None:
    """A day in a few words, as one item of a list; None when the figure is not known. Of a past day no
    probability is told: what happened is known."""
    chance = None if past else day.chance
    if metric == "temperature":
        if day.low is None or day.high is None:
            return None if day.high is None else f"up to {degrees(day.high, system)}"
        return _range(day.low, day.high, system)
    if metric == "rain":
        parts = [] if chance is None else [f"{_percent(chance)} chance"]
        parts += [] if day.precipitation is None else [water(day.precipitation, system)]
        return ", ".join(parts) or None
    single = {
        "temperature_max": None if day.high is None else degrees(day.high, system),
        "temperature_min": None if day.low is None else degrees(day.low, system),
        "snow": None if day.snow is None else snow_depth(day.snow, system),
        "wind": None if day.wind is None else f"up to {speed(day.wind, system)}",
        "humidity": None if day.humidity is None else _percent(day.humidity),
        "cloud": None if day.cloud is None else _percent(day.cloud),
        "sunshine": None if day.sunshine is None else f"{plain(day.sunshine)} h",
        "uv": None if day.uv is None else f"{plain(day.uv)} ({_uv_word(day.uv)})",
        "sunrise": None if day.sunrise is None else f"{day.sunrise:%H:%M}",
        "sunset": None if day.sunset is None else f"{day.sunset:%H:%M}",
    }
    if metric in single:
        return single[metric]
    parts = [conditions(day.code)] if conditions(day.code) else []
    if day.low is not None and day.high is not None:
        parts.append(_range(day.low, day.high, system))
    if not parts:
        return None
    if chance is not None:
        parts.append(_a_chance(chance, "rain"))
    if day.precipitation:
        parts.append(f"{water(day.precipitation, system)} of precipitation")
    if day.wind is not None and len(parts) > 1:
        parts.append(f"wind up to {speed(day.wind, system)}")
    return ", ".join(parts)


# --- spans ----------------------------------------------------------------------------------------

_NOUN = {
    "weather": "weather",
    "temperature": "temperature",
    "temperature_max": "daily high",
    "temperature_min": "daily low",
    "rain": "precipitation",
    "snow": "snowfall",
    "wind": "highest wind",
    "humidity": "mean humidity",
    "cloud": "mean cloud cover",
    "sunshine": "sunshine",
    "uv": "highest UV index",
    "sunrise": "sunrise",
    "sunset": "sunset",
}


def say_span(label: str, days: Sequence[Day], metric: str, system: Units, today: date) -> str | None:
    """Several days: one by one while they are few, else in sum; None when none of them is known."""
    if metric in ("rain", "snow") and (none := _nothing_falls(label, days, metric, today)) is not None:
        return none
    told = [
        (day.day, words)
        for day in days
        if (words := _told(day, metric, system, past=day.day < today)) is not None
    ]
    if not told:
        return None
    span = span_of(days[0].day, days[-1].day, today)
    if len(days) <= LISTED_DAYS:
        listed = "; ".join(f"{day:%A} {day.day}: {words}" for day, words in told)
        return f"The {_NOUN[metric]} in {label} {span}: {listed}"
    parts = _summed(days, metric, system)
    return f"The {_NOUN[metric]} in {label} {span}: {', '.join(parts)}" if parts else None


def _nothing_falls(label: str, days: Sequence[Day], metric: str, today: date) -> str | None:
    """The sentence for a span without rain or snow; None where some falls, may fall or is not known."""
    amounts = [day.precipitation if metric == "rain" else day.snow for day in days]
    may_rain = metric == "rain" and any(
        day.day >= today and day.chance is not None and day.chance >= 10 for day in days
    )
    if may_rain or any(amount is None or amount for amount in amounts):
        return None
    span = span_of(days[0].day, days[-1].day, today)
    if days[-1].day < today:
        return f"It did not {metric} in {label} {span}"
    return f"No {metric} is expected in {label} {span}"


def _summed(days: Sequence[Day], metric: str, system: Units) -> list[str]:
    parts: list[str] = []
    lows = [day.low for day in days if day.low is not None]
    highs = [day.high for day in days if day.high is not None]
    if metric in ("weather", "temperature") and lows and highs:
        parts.append(_range(min(lows), max(highs), system))
    falls = [day.precipitation for day in days if day.precipitation is not None]
    if metric in ("weather", "rain") and falls:
        least = WET_MM if system.is_metric else Decimal("0.04")
        wet = sum(fall >= least for fall in falls)
        parts.append(f"{water(sum(falls, Decimal(0)), system)} of precipitation in all on {wet} wet days")
    if parts or metric in ("weather", "temperature", "rain"):
        return parts
    if metric in ("sunrise", "sunset"):
        first, last = (getattr(day, metric) for day in (days[0], days[-1]))
        return [f"{first:%H:%M} on the first day and {last:%H:%M} on the last"] if first and last else []
    values = [value for _, value in series(days, metric, None)]
    if not values:
        return []
    shown = (in_unit(min(values), metric, system), in_unit(max(values), metric, system))
    return [f"between {shown[0]} and {shown[1]} a day", f"{in_unit(mean(values), metric, system)} on average"]


def in_unit(figure: Decimal, metric: str, system: Units) -> str:
    """A figure of a metric's series with its unit."""
    if metric in ("weather", "temperature", *EXTREME_OF):
        return degrees(figure, system)
    if metric == "rain":
        return water(figure, system)
    if metric == "snow":
        return snow_depth(figure, system)
    if metric == "wind":
        return speed(figure, system)
    if metric == "sunshine":
        return f"{plain(figure)} h"
    return plain(figure) if metric == "uv" else _percent(figure)


# --- statistics -----------------------------------------------------------------------------------

_SERIES_NOUN = {
    "weather": "temperature",
    "temperature": "temperature",
    "temperature_max": "daily high",
    "temperature_min": "daily low",
    "rain": "daily precipitation",
    "snow": "daily snowfall",
    "wind": "daily highest wind",
    "humidity": "humidity",
    "cloud": "cloud cover",
    "sunshine": "daily sunshine",
    "uv": "daily highest UV index",
}


def middle_of(day: Day) -> Decimal | None:
    """The day's mean temperature, or the middle of its range where the source gives no mean."""
    if day.mean is not None:
        return day.mean
    if day.high is None or day.low is None:
        return None
    return (day.high + day.low) / 2


def series(days: Sequence[Day], metric: str, stat: str | None) -> list[tuple[date, Decimal]]:
    """The known figures that a statistic is made of: highs for a maximum, lows for a minimum, else"
    " means."""

    def figure(day: Day) -> Decimal | None:
        if metric in EXTREME_OF:
            return day.high if EXTREME_OF[metric] == "max" else day.low
        if metric in ("weather", "temperature"):
            return day.high if stat == "max" else day.low if stat == "min" else middle_of(day)
        found: dict[str, Decimal | None] = {
            "rain": day.precipitation,
            "snow": day.snow,
            "wind": day.wind,
            "humidity": day.humidity,
            "cloud": day.cloud,
            "sunshine": day.sunshine,
            "uv": day.uv,
        }
        return found.get(metric)

    return [(day.day, value) for day in days if (value := figure(day)) is not None]


def statistic(values: Sequence[tuple[date, Decimal]], stat: str) -> Decimal | None:
    """The figure of ``stat`` over a series; None where the days are too few (or the stat is a list)."""
    figures = [value for _, value in values]
    if not figures or stat == "anomalies":
        return None
    if stat == "max":
        return max(figures)
    if stat == "min":
        return min(figures)
    if stat == "mean":
        return mean(figures)
    if stat == "median":
        return median(figures)
    if stat == "stdev":
        return deviation(figures) if len(figures) > 1 else None
    return volatility(values) if len(changes(values)) > 1 else None


def say_statistic(
    label: str, days: Sequence[Day], metric: str, stat: str, system: Units, today: date
) -> str | None:
    """A statistic over a span in one sentence that says what it is of; None with too few figures."""
    values = series(days, metric, stat)
    if not values or metric not in _SERIES_NOUN:
        return None
    noun, span = _SERIES_NOUN[metric], span_of(days[0].day, days[-1].day, today)
    verb = "was" if days[-1].day < today else "is expected to be" if days[0].day > today else "is"
    count = f"{len(values)} days" if len(values) != 1 else "1 day"
    if stat == "anomalies":
        return _say_anomalies(label, values, noun, span, metric, system)
    figure = statistic(values, stat)
    if figure is None:
        return None
    shown = in_unit(figure, metric, system)
    if stat in ("max", "min"):
        day = next(day for day, value in values if value == figure)
        which = "highest" if stat == "max" else "lowest"
        if stat == EXTREME_OF.get(metric):
            noun = "temperature"
        elif metric not in EXTREME_OF:
            noun = noun.removeprefix("daily ").removeprefix("highest ")
        return f"The {which} {noun} in {label} {span} {verb} {shown}, on {on_day(day, today)}"
    if stat in ("mean", "median"):
        word = "average" if stat == "mean" else "median"
        return f"The {word} {noun} in {label} {span} {verb} {shown} (over {count})"
    if stat == "stdev":
        return f"The standard deviation of the {noun} in {label} {span} {verb} {shown} (over {count})"
    return (
        f"The volatility of the {noun} in {label} {span} {verb} {shown} (standard deviation of the"
        f" changes from"
        f" one day to the next, {count})"
    )


def _say_anomalies(
    label: str, values: Sequence[tuple[date, Decimal]], noun: str, span: str, metric: str, system: Units
) -> str:
    if len(values) < LEAST_FOR_ANOMALIES:
        return (
            f"{len(values)} days are too few to call one of them unusual (it takes"
            f" {LEAST_FOR_ANOMALIES}), so"
            f" nothing can be said of the {noun} in {label} {span}"
        )
    found = anomalies(values)
    rule = "more than 2 standard deviations from the mean of the span"
    if not found:
        return f"No day stands out in the {noun} in {label} {span} (none lies {rule})"
    strongest = sorted(found, key=lambda one: -abs(one.z))[:_ANOMALIES_TOLD]
    listed = _joined(
        [
            f"{one.day.day} {one.day:%B} ({in_unit(one.value, metric, system)}, z = {plain(one.z)})"
            for one in sorted(strongest, key=lambda one: one.day)
        ]
    )
    stands = "stands" if len(strongest) == 1 else "stand"
    return f"In the {noun} in {label} {span}, {listed} {stands} out ({rule})"
