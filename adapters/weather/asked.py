"""A question about the weather as slots: keys, days, and its canonical wording. Pure.

Slots are canonical English; an absent one is None. Keys hold dates, never words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, timedelta

from adapters.grammar import when
from adapters.grammar.when import When
from adapters.weather import words as say
from adapters.weather.values import DAYS_AHEAD, WIND_PER_KMH, System, Units
from node.core.model import Slots

METRIC_WORDS: dict[str, str] = {
    # How a canonical question names each figure.
    "weather": "weather",
    "temperature": "temperature",
    "temperature_max": "maximum temperature",
    "temperature_min": "minimum temperature",
    "rain": "rain",
    "snow": "snow",
    "wind": "wind",
    "humidity": "humidity",
    "sunshine": "sunshine",
    "cloud": "cloud cover",
    "uv": "uv index",
    "air_quality": "air quality",
    "sunrise": "sunrise",
    "sunset": "sunset",
}
STAT_WORDS: dict[str, str] = {
    "mean": "average",
    "median": "median",
    "stdev": "standard deviation of the",
    "volatility": "volatility of the",
    "anomalies": "anomalies of the",
    "max": "maximum",
    "min": "minimum",
}
_OF_TEMPERATURE = {**STAT_WORDS, "max": "hottest", "min": "coldest"}
EXTREMES = {"temperature_max": "max", "temperature_min": "min"}
"""The statistic that is meant where only the highest or lowest temperature is named."""
UNITS = tuple(say.UNITS)
SPAN_DAYS_MAX = 92
"""A longer span would be many calls for one answer."""
NOW_METRICS = frozenset(("weather", "temperature", "rain", "snow", "wind", "humidity", "cloud"))
"""Figures that have a present value; the others are those of today when no time is said."""
SPAN_STATS = frozenset(("mean", "median", "stdev", "volatility", "anomalies"))
"""Statistics that mean nothing without a stretch of days."""


@dataclass(frozen=True, slots=True)
class WeatherQuestion:
    """The slots. ``when`` as said, canonical; ``metric`` always."""

    place: str | None = None
    region: str | None = None
    country: str | None = None
    when: str | None = None
    metric: str = "weather"
    stat: str | None = None
    unit: str | None = None

    @property
    def figure(self) -> str:
        """The metric as it stands in slots and keys."""
        is_implied = self.stat is not None and self.stat == EXTREMES.get(self.metric)
        return "temperature" if is_implied else self.metric

    def slots(self) -> Slots:
        """In the agreed form: "the high" is the temperature's maximum; only another statistic of it ("the
        average high") is a figure of its own."""
        return {
            "place": self.place,
            "region": self.region,
            "country": self.country,
            "when": self.when,
            "metric": self.figure,
            "stat": self.stat,
            "unit": self.unit,
        }


def question_of(slots: Slots) -> WeatherQuestion | None:
    """The question that slots hold; None for foreign or malformed ones."""
    values: dict[str, str | None] = {}
    for name in ("place", "region", "country", "when", "metric", "stat", "unit"):
        value = slots.get(name)
        if value is not None and not (
            isinstance(value, str) and 0 < len(value) <= 120 and value.isprintable()
        ):
            return None
        values[name] = value
    metric, stat, unit = values["metric"], values["stat"], values["unit"]
    if metric not in METRIC_WORDS or (stat is not None and stat not in STAT_WORDS):
        return None
    if unit is not None and not all(one in UNITS for one in unit.split("+")):
        return None
    return WeatherQuestion(
        values["place"], values["region"], values["country"], values["when"], metric, stat, unit
    )


def key_of(question: WeatherQuestion, time: When | None, today: date) -> str | None:
    """The slot key; None without a place."""
    if question.place is None:
        return None
    where = "|".join((part or "").casefold() for part in (question.place, question.region, question.country))
    first, last = (today, today) if time is None else (time.first, time.last)
    days = first.isoformat() if first == last else f"{first}/{last}"
    if question.when == "tonight":
        days = f"{days}@night"
    elif is_now(question):
        days = f"{days}@now"
    parts = ["weather", where, question.figure, days]
    parts += [question.stat] if question.stat else []
    unit = "+".join(one for one in (question.unit or "").split("+") if one != "celsius")
    parts += [unit] if unit else []
    return ":".join(parts)


def is_now(question: WeatherQuestion) -> bool:
    """Whether the present weather is asked for."""
    return question.when in (None, "now") and question.stat is None and question.metric in NOW_METRICS


def is_span(key: str | None) -> bool:
    """Whether a key holds a stretch of days."""
    return key is not None and re.search(r"\d{4}-\d\d-\d\d/\d{4}-\d\d-\d\d", key) is not None


def units_of(unit: str | None) -> Units:
    """What the slot ``unit`` says; degrees decide in which system the rest is."""
    said = (unit or "").split("+")
    return Units(
        System.IMPERIAL if "fahrenheit" in said else System.METRIC,
        next((one for one in said if one in WIND_PER_KMH or one == "bft"), None),
        next((one for one in said if one in ("mm", "inch")), None),
        "kelvin" in said,
    )


_UNIT_WORDS = {"ms": "mps", "kn": "knots", "bft": "beaufort", "inch": "inches"}


def phrase(question: WeatherQuestion, time: When | None) -> str | None:
    """A question that ``understand`` reads back to the same slots; None without a place."""
    if question.place is None:
        return None
    plain = question.stat is None or question.stat == EXTREMES.get(question.metric)
    words = _OF_TEMPERATURE if question.metric == "temperature" else STAT_WORDS
    stat = "" if plain else f"{words[question.stat or '']} "
    where = ", ".join(part for part in (question.place, question.region, question.country) if part)
    tail = "" if time is None else f" {when.phrase(time)}"
    units = (question.unit or "").split("+") if question.unit else []
    unit = "".join(f" in {_UNIT_WORDS.get(one, one)}" for one in units)
    return f"what is the {stat}{METRIC_WORDS[question.metric]} in {where}{tail}{unit}"


def days_of(question: WeatherQuestion, today: date, *, span: bool) -> When | None:
    """The days that the slots mean; None for now, and for a time that cannot be read (see ``has_time``)."""
    if question.when is None:
        return None
    return when.resolve(question.when, today, span=span)


def clipped(time: When, today: date) -> tuple[date, date]:
    """First and last day of what can be asked for: not beyond the forecast."""
    return time.first, min(time.last, today + timedelta(days=DAYS_AHEAD))
