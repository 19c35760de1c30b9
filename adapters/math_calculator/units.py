"""Units: an allow-list of names and symbols, and conversion by a table of their sizes.

Promises: conversion is a product of fractions, exact except where pi enters; how large a unit is was asked of
pint once (``python -m bench.unit_scales``). Symbols are case-sensitive (mW is not MW); a symbol in another
case is accepted only when exactly one unit fits.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from importlib.resources import files
from typing import TypeAlias

from adapters.math_calculator.tokens import NotMath
from node.language.tables import read_table

_DATA = read_table(__package__, "units.toml")

MAGNITUDE_BITS_MAX = 4_000


@dataclass(frozen=True, slots=True)
class Unit:
    """``pint`` is an expression of our own for pint; ``factor`` of them make one unit; ``name`` and
    ``plural``
    are for people; ``dimension`` is what it measures in words."""

    pint: str
    name: str
    plural: str
    dimension: str
    factor: Fraction = Fraction(1)
    is_exact: bool = True
    is_offset: bool = False

    @property
    def canonical(self) -> str:
        """The unit's one name in canonical expressions: read back by the same tables."""
        return self.name


class AmbiguousUnit(Exception):
    """A symbol that several units share; the message says which."""


_PREFIXES = {
    "n": "nano", "µ": "micro", "m": "milli", "c": "centi", "d": "deci", "h": "hecto", "k": "kilo",
    "M": "mega",
    "G": "giga", "T": "tera", "P": "peta",
}  # fmt: skip

_METRIC = tuple(tuple(row) for row in _DATA["metric"])
_PLAIN = tuple(tuple(row) for row in _DATA["plain"])
_FACTORED = (
    # pint's acre is the survey acre; the international one is 4,840 square yards
    Unit("yard**2", "acre", "acres", "area", Fraction(4_840)),
    Unit("day", "leap year", "leap years", "time", Fraction(366)),
    # pint's decade is a logarithmic unit
    Unit("year", "decade", "decades", "time", Fraction(10)),
    Unit("1/minute", "rpm", "rpm", "frequency"),
    Unit("liter/kilometer", "liter per 100 km", "liters per 100 km", "fuel consumption", Fraction(1, 100)),
)
_FACTORED_NAMES = _DATA["factored_names"]
_INEXACT = frozenset({"radian", "parsec"})
_OFFSET = frozenset({"degree_Celsius", "degree_Fahrenheit"})
_INVERSE = {"fuel economy": "fuel consumption", "fuel consumption": "fuel economy"}


def _plural(name: str) -> str:
    return name if name.endswith(("z", "s")) else name + "s"


def _tables() -> tuple[dict[str, Unit], dict[str, Unit]]:
    """(symbols as written, names in lower case)"""
    symbols: dict[str, Unit] = {}
    names: dict[str, Unit] = {}
    for pint_name, written, words, dimension, prefixes in _METRIC:
        first = words.split()[0]
        for prefix in ("", *prefixes):
            long = _PREFIXES.get(prefix, "")
            unit = Unit(long + pint_name, long + first, _plural(long + first), dimension)
            for symbol in written.split():
                if not prefix or len(symbol) <= 3:
                    symbols.setdefault(prefix + symbol, unit)
                    if prefix == "µ":
                        symbols.setdefault("u" + symbol, unit)
                        symbols.setdefault("μ" + symbol, unit)
            for word in words.split():
                names[long + word] = names[_plural(long + word)] = unit
    for pint_name, name, plural, others, dimension in _PLAIN:
        unit = Unit(
            pint_name,
            name,
            plural,
            dimension,
            is_exact=pint_name not in _INEXACT,
            is_offset=pint_name in _OFFSET,
        )
        for word in (name, plural):
            names.setdefault(word.lower(), unit)
        for other in others.split("|") if others else ():
            if len(other) <= 4 or "/" in other:
                symbols[other] = unit
            else:
                names[other.lower()] = unit
    for unit in _FACTORED:
        names[unit.name] = names[unit.plural] = unit
        for other in _FACTORED_NAMES[unit.name]:
            (symbols if len(other) <= 8 else names)[other if len(other) <= 8 else other.lower()] = unit
    return symbols, names


SYMBOLS, NAMES = _tables()
NAMES["kilo"] = NAMES["kilos"] = NAMES["kilogram"]
_FOLDED: dict[str, list[Unit]] = {}
for _symbol, _unit in SYMBOLS.items():
    if _unit not in _FOLDED.setdefault(_symbol.casefold(), []):
        _FOLDED[_symbol.casefold()].append(_unit)

WORDS_MAX = 6
_POWERS = {"square": 2, "sq": 2, "sq.": 2, "cubic": 3, "cu": 3, "cu.": 3}
_POWER_SUFFIX = re.compile(r"^(.*?[^\W\d])(?:\^?([23])|([²³])| (squared|cubed))$")


def _simple(text: str) -> Unit | None:
    found = SYMBOLS.get(text) or NAMES.get(text.lower())
    if found is not None:
        return found
    candidates = _FOLDED.get(text.casefold(), [])
    if len(candidates) > 1:
        raise AmbiguousUnit(
            f"“{text}” could mean {' or '.join(sorted(unit.plural for unit in candidates))}: "
            "the case of unit symbols matters"
        )
    # single letters differ by case in every system (M is no metre), so only longer ones may be folded
    return candidates[0] if candidates and len(text) > 1 else None


def _raised(unit: Unit, power: int) -> Unit | None:
    if unit.dimension != "length":
        return None
    word, dimension = ("square", "area") if power == 2 else ("cubic", "volume")
    return Unit(f"({unit.pint})**{power}", f"{word} {unit.name}", f"{word} {unit.plural}", dimension)


def find(text: str) -> Unit | None:
    """The unit that ``text`` (case kept) names, or None. Raises ``AmbiguousUnit``."""
    text = text.strip()
    if not text or len(text) > 60:
        return None
    unit = _simple(text)
    if unit is not None:
        return unit
    first, _, rest = text.partition(" ")
    if rest and first.lower() in _POWERS:
        inner = _simple(rest)
        return _raised(inner, _POWERS[first.lower()]) if inner else None
    for separator in (" per ", "/"):
        left, found, right = text.partition(separator)
        if found and separator not in right:
            top, bottom = find(left), find(right)
            if top and bottom and not (top.is_offset or bottom.is_offset):
                return Unit(
                    f"({top.pint})/({bottom.pint})",
                    f"{top.name} per {bottom.name}",
                    f"{top.plural} per {bottom.name}",
                    f"{top.dimension} per {bottom.dimension}",
                    top.factor / bottom.factor,
                    top.is_exact and bottom.is_exact,
                )
    match = _POWER_SUFFIX.match(text)
    if match:
        inner = _simple(match[1].strip())
        power = {"2": 2, "3": 3, "²": 2, "³": 3, "squared": 2, "cubed": 3}[match[2] or match[3] or match[4]]
        return _raised(inner, power) if inner else None
    return None


def for_counterpart(unit: Unit, other: Unit) -> Unit:
    """Ounces beside a volume are fluid ounces."""
    if unit.pint == "ounce" and other.dimension == "volume":
        return NAMES["fluid ounce"]
    return unit


# --- conversion --------------------------------------------------------------------------------------

SCALES = "unit_scales.json"
Scale: TypeAlias = tuple[Fraction, Mapping[str, int]]
"""How many root units a unit is, and the powers of what it measures."""


@cache
def _scales() -> Mapping[str, tuple[Fraction, Mapping[str, int], Fraction]]:
    """The rows of the table: the last is where the zero lies."""
    rows = json.loads(files(__package__).joinpath(SCALES).read_text(encoding="utf-8"))
    return {name: (Fraction(scale), powers, Fraction(zero)) for name, (scale, powers, zero) in rows.items()}


@lru_cache(maxsize=512)
def _scale(expression: str) -> Scale:
    return _scale_of(ast.parse(expression, mode="eval").body)


def _scale_of(node: ast.expr) -> Scale:
    match node:
        case ast.Name(name):
            return _scales()[name][:2]
        case ast.BinOp(base, ast.Pow(), ast.Constant(int(power))):
            scale, powers = _scale_of(base)
            return scale**power, {kind: each * power for kind, each in powers.items()}
        case ast.BinOp(top, ast.Div(), bottom):
            (over, powers), (under, less) = _scale_of(top), _scale_of(bottom)
            left = {kind: powers.get(kind, 0) - less.get(kind, 0) for kind in {*powers, *less}}
            return over / under, {kind: power for kind, power in left.items() if power}
        case ast.Constant(int(number)):
            return Fraction(number), {}
    raise ValueError("no unit of the tables")


def warm() -> None:
    """Read the table, which blocks for a moment."""
    _scales()


class DifferentDimensions(Exception):
    """The two units measure different things."""


def convert(value: Fraction, source: Unit, target: Unit) -> tuple[Fraction, bool]:
    """``value`` of ``source`` in ``target`` and whether the result is exact. Raises ``DifferentDimensions``,
    ``NotMath`` for a value too long to be a measurement, ``ZeroDivisionError`` never."""
    if value.numerator.bit_length() + value.denominator.bit_length() > MAGNITUDE_BITS_MAX:
        raise NotMath("a measurement of more than a thousand digits")
    is_exact = (source.is_exact and target.is_exact) or source.pint == target.pint
    if _INVERSE.get(source.dimension) == target.dimension and value:
        scale = _scale(source.pint)[0] * _scale(target.pint)[0]
        return 1 / (value * source.factor * scale * target.factor), is_exact
    if source.is_offset or target.is_offset or "kelvin" in (source.pint, target.pint):
        if source.dimension != target.dimension:
            raise DifferentDimensions
        (scale, _, zero), (other, _, start) = _scales()[source.pint], _scales()[target.pint]
        return (value * scale + zero - start) / other, is_exact
    (scale, powers), (other, others) = _scale(source.pint), _scale(target.pint)
    if powers != others:
        raise DifferentDimensions
    return value * source.factor * scale / other / target.factor, is_exact


def every() -> Iterator[Unit]:
    """Each unit of the tables, for tests."""
    seen: set[Unit] = set()
    for unit in (*SYMBOLS.values(), *NAMES.values()):
        if unit not in seen:
            seen.add(unit)
            yield unit
