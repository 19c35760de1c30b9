"""Figures of the weather as the data of an answer. Pure."""

from __future__ import annotations

from datetime import time
from decimal import Decimal

from adapters.weather.values import Day, Present
from node.core.model import Json

_NOW = ("temperature", "feels", "humidity", "precipitation", "cloud", "wind", "high", "low", "chance")
_DAY = (
    "high", "low", "mean", "chance", "precipitation", "snow", "wind", "gusts", "uv", "humidity", "cloud",
    "sunshine", "sunrise", "sunset",
)  # fmt: skip


def present_data(now: Present) -> dict[str, Json]:
    """The present figures, null where they are not known."""
    found: dict[str, Json] = {
        name: None if (value := getattr(now, name)) is None else str(value) for name in _NOW
    }
    return {**found, "weather_code": now.code}


def day_data(day: Day) -> Json:
    """What is known of a day."""
    found: dict[str, Json] = {"date": day.day.isoformat(), "weather_code": day.code}
    for name in _DAY:
        value: Decimal | time | None = getattr(day, name)
        if value is not None:
            found[name] = f"{value:%H:%M}" if isinstance(value, time) else str(value)
    return found
