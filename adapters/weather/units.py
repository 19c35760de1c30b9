"""Figures of the weather in words: degrees, speeds, depths, days, chances. Pure.

Figures are shown as the source stated them, to a tenth. Chances are put in words by ``likely``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from decimal import ROUND_HALF_UP, Decimal

from adapters.weather.values import BEAUFORT, INCH_MM, MILE_KM, WIND_PER_KMH, Units

_TENTH = Decimal("0.1")
_LIKELY = ((85, "very likely"), (60, "likely"), (40, "possible"), (10, "unlikely"), (0, "very unlikely"))
_UV = ((3, "low"), (6, "moderate"), (8, "high"), (11, "very high"))
_POINTS = ("north", "north-east", "east", "south-east", "south", "south-west", "west", "north-west")


def plain(figure: Decimal) -> str:
    """To a tenth, without a trailing zero."""
    shown = f"{figure.quantize(_TENTH, ROUND_HALF_UP):f}".removesuffix(".0")
    return "0" if shown == "-0" else shown


def degrees(figure: Decimal, system: Units) -> str:
    return f"{_degrees(figure, system)} {_degree(system)}"


def between(low: Decimal, high: Decimal, system: Units) -> str:
    """A range of temperatures."""
    if plain(low) == plain(high):
        return degrees(low, system)
    return f"{_degrees(low, system)} to {degrees(high, system)}"


def _degrees(figure: Decimal, system: Units) -> str:
    return plain(figure + Decimal("273.15") if system.kelvin else figure)


def _degree(system: Units) -> str:
    return "K" if system.kelvin else "°C" if system.is_metric else "°F"


def speed(figure: Decimal, system: Units) -> str:
    """In the unit that was said, else in that of the system."""
    if system.wind is None:
        return f"{plain(figure)} {'km/h' if system.is_metric else 'mph'}"
    kmh = figure if system.is_metric else figure * MILE_KM
    if system.wind == "bft":
        return f"force {sum(kmh >= bound for bound in BEAUFORT)} Beaufort ({plain(kmh)} km/h)"
    written, per_kmh = WIND_PER_KMH[system.wind]
    return f"{plain(kmh / per_kmh)} {written}"


def direction(figure: Decimal) -> str:
    """Where the wind comes from: "from the west (270°)"."""
    return f"from the {_POINTS[int((figure + Decimal('22.5')) % 360 // 45)]} ({figure:.0f}°)"


def water(figure: Decimal, system: Units) -> str:
    """Precipitation; hundredths of an inch are kept, for a tenth is much."""
    figure, in_mm = _in_wanted(figure, system, INCH_MM)
    if in_mm:
        return f"{plain(figure)} mm"
    return f"{figure.quantize(Decimal('0.01'), ROUND_HALF_UP).normalize():f} in"


def snow_depth(figure: Decimal, system: Units) -> str:
    figure, in_mm = _in_wanted(figure, system, INCH_MM / 10)
    return f"{plain(figure)} {'cm' if in_mm else 'in'}"


def _in_wanted(figure: Decimal, system: Units, per_inch: Decimal) -> tuple[Decimal, bool]:
    """The figure in what was said, and whether that is metric."""
    in_mm = (system.water or ("mm" if system.is_metric else "inch")) == "mm"
    if in_mm == system.is_metric:
        return figure, in_mm
    return (figure * per_inch if in_mm else figure / per_inch), in_mm


def percent(figure: Decimal, system: Units | None = None) -> str:
    return f"{plain(figure)} %"


def hours(figure: Decimal, system: Units | None = None) -> str:
    return f"{plain(figure)} h"


def uv(figure: Decimal) -> str:
    """An index and what it means."""
    return f"{plain(figure)} ({next((word for bound, word in _UV if figure < bound), 'extreme')})"


def likely(chance: Decimal) -> str:
    """A probability in per cent in words."""
    return next(word for least, word in _LIKELY if chance >= least)


def a_chance(chance: Decimal) -> str:
    """ "an 80 % chance"."""
    whole = plain(chance)
    article = "an" if whole.startswith("8") or whole.split(".")[0] in ("11", "18") else "a"
    return f"{article} {whole} % chance"


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


def joined(parts: Sequence[str]) -> str:
    """ "one, two and three"."""
    return f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else "".join(parts)
