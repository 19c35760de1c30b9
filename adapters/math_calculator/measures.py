"""Unit questions: text to (quantities, target unit), and the answer by ``units.convert``.

Rules: "convert Q to U", "Q in U", "Q is how many U", "how many U in Q", where Q is one or more amounts with
units of
one kind ("5 feet 10 inches", "a mile", "5'10") and U is a unit of the allow-list. Case is kept, because
symbols
depend on it. Units of different kinds, and symbols that are ambiguous, are answered with the reason. Pure
apart
from the registry that ``units`` loads on first use.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from adapters.math_calculator import units
from adapters.math_calculator.evaluation import evaluate
from adapters.math_calculator.numbers import Budget, Refused, Undefined
from adapters.math_calculator.parser import parse
from adapters.math_calculator.say import text_of
from adapters.math_calculator.solution import Solution
from adapters.math_calculator.tokens import NotMath, tokenise
from adapters.math_calculator.units import Unit
from adapters.math_calculator.words import ENGLISH

CHARS_MAX = 160
_SEPARATORS_MAX = 6
_PARTS_MAX = 4
_ALONE = {"a", "an", "one", "1", "each", "every"}

_HOW_MANY = re.compile(
    r"(?:how (?:many|much)|(?:the )?number of) (.{1,60}?) (?:are |is )?(?:there )?(?:in|is|are|equals?|make "
    r"up|make|to|per|does|do|for) (.{1,80}?)"
    r"(?: (?:equal|make|have|contain|hold|equals))?",
    re.IGNORECASE,
)
_ONE_IN_ANOTHER = re.compile(r"([^\d]{1,30}?) in ((?:an?|one|1) [^\d]{1,30})", re.IGNORECASE)
"""Without how many: "oz in a pound"."""
_SEPARATOR = re.compile(
    r" (?:is how many|equals how many|in how many|to|into|in|as|is what in|expressed in|->|=|equals) ",
    re.IGNORECASE,
)
_VERB = re.compile(
    r"(?:convert|change|turn|express|transform|conversion of|conversion) (?:from )?", re.IGNORECASE
)
_NUMBER = re.compile(
    r"\s*([-+−]?\s?(?:\d[\d,]*(?:\.\d+)?(?:e[+-]?\d{1,3})?|\.\d+)(?: \d{1,4}/\d{1,4}|/\d{1,6})?)\s?"
)
_DECIMAL_COMMA = re.compile(
    r"(?<![\d.,])(?:(?P<whole>\d{1,3}(?:\.\d{3}){1,6}|\d{1,15}),(?P<few>\d{1,2})|0,(?P<below>\d{1,15}))"
    r"(?![\d,]|\.\d)"
)
"""A comma that groups no thousands: one or two digits after it, or nothing but a zero before it."""
_GLUE = re.compile(r"\s*(?:,|and|\+)\s+", re.IGNORECASE)


WORDS = frozenset(
    word for pattern in (_HOW_MANY, _SEPARATOR, _VERB) for word in re.findall(r"[a-z]{2,}", pattern.pattern)
)
"""The words that unit questions are made of, apart from the units."""

_OF_A_THING = re.compile(r"(.*\d.*?) (?:of )?[^\W\d_]{3,15}", re.IGNORECASE)
"""An amount and what is measured: a cup of milk has as many milliliters as any."""
_FEET_INCHES = re.compile(r"(?:feet|foot|ft) (?:and|&) (?:inches|inch|in)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Quantity:
    """An amount of a unit."""

    value: Fraction
    unit: Unit

    @property
    def text(self) -> str:
        amount = text_of(self.value)[0]
        return f"{amount} {self.unit.name if self.value == 1 else self.unit.plural}"


def _value(text: str) -> Fraction:
    """A rational amount. Raises ``NotMath``."""
    if text.strip().lower() in _ALONE:
        return Fraction(1)
    try:
        value = evaluate(parse(tokenise(text.lower(), ENGLISH)).node, Budget())
    except (Undefined, Refused) as exc:
        raise NotMath("an amount without a value") from exc
    if not isinstance(value, Fraction):
        raise NotMath("an irrational amount")
    return value


def _unit_prefix(text: str) -> tuple[Unit, str] | None:
    """The longest unit at the start of ``text``, and the rest."""
    match = re.match(r"(['\"′″])", text)
    if match:
        unit = units.find(match[1])
        return (unit, text[1:].strip()) if unit else None
    words = text.split(" ")
    for size in range(min(len(words), units.WORDS_MAX), 0, -1):
        unit = units.find(" ".join(words[:size]).rstrip(","))
        if unit is not None:
            return unit, " ".join(words[size:]).strip()
    return None


def _quantities(text: str) -> list[Quantity]:
    """All of ``text`` as amounts with units. Raises ``NotMath``."""
    found: list[Quantity] = []
    rest = text.strip()
    while rest:
        if len(found) == _PARTS_MAX:
            raise NotMath("too many amounts")
        glue = _GLUE.match(rest) if found else None
        if glue:
            rest = rest[glue.end() :]
        match = _NUMBER.match(rest)
        if match and match[1].strip():
            after = rest[match.end() :]
            if not after and found and found[-1].unit.pint == "foot":
                return [*found, Quantity(_value(match[1]), units.NAMES["inch"])]  # 6 foot 2
            unit = _unit_prefix(after)
            if unit is not None:
                found.append(Quantity(_value(match[1].replace("−", "-")), unit[0]))
                rest = unit[1]
                continue
        if found:
            raise NotMath("something is left over")
        return [_worded(rest)]
    if not found:
        raise NotMath("no amount")
    return found


def _amounts(text: str, target: Unit) -> list[Quantity]:
    """The amounts of ``text``, of some thing too where volume or mass stay what they are. Raises
    ``NotMath``."""
    try:
        return _quantities(text)
    except NotMath:
        match = _OF_A_THING.fullmatch(text)
        parts = _quantities(match[1]) if match and target.dimension in ("volume", "mass") else []
        if not parts or any(part.unit.dimension != target.dimension for part in parts):
            raise
        return parts


def _worded(text: str) -> Quantity:
    """An amount whose number is in words or is an expression: the unit is the longest one at the end."""
    words = text.split(" ")
    for size in range(min(len(words) - 1, units.WORDS_MAX), 0, -1):
        unit = units.find(" ".join(words[-size:]))
        if unit is not None:
            amount = words[:-size]
            if amount[-1].lower() == "of":
                amount = amount[:-1]
            if len(amount) > 1 and amount[-1].lower() in ("a", "an"):
                amount = amount[:-1]  # half a mile
                if amount[-1].lower() == "of":
                    amount = amount[:-1]
            text_amount = " ".join(amount)
            if text_amount.lower() == "half":
                return Quantity(Fraction(1, 2), unit)
            if text_amount.lower() == "quarter":
                return Quantity(Fraction(1, 4), unit)
            return Quantity(_value(text_amount), unit)
    raise NotMath("no unit")


def _total(parts: list[Quantity]) -> Quantity:
    """Several amounts of one kind as one, in the unit of the first."""
    first = parts[0]
    value = first.value
    for part in parts[1:]:
        if part.unit.is_offset or part.unit.dimension != first.unit.dimension or part.value < 0:
            raise NotMath("amounts of different kinds")
        value += units.convert(part.value, part.unit, first.unit)[0]
    return Quantity(value, first.unit)


def _pairs(text: str) -> list[tuple[str, str]]:
    """Candidate (amounts, target) texts, likeliest first."""
    pairs = []
    match = _HOW_MANY.fullmatch(text) or _ONE_IN_ANOTHER.fullmatch(text)
    if match:
        pairs.append((match[2], match[1]))
    text = _VERB.sub("", text, count=1) if _VERB.match(text) else text
    # a separator may overlap the next one ("5 in in cm"), so each position is looked at
    at = [
        match
        for match in (_SEPARATOR.match(text, start) for start in range(len(text)) if text[start] == " ")
        if match
    ]
    pairs += [(text[: found.start()], text[found.end() :]) for found in at[:_SEPARATORS_MAX]]
    return pairs


def _point(match: re.Match[str]) -> str:
    """The number of a ``_DECIMAL_COMMA`` with a point."""
    whole = (match["whole"] or "0").replace(".", "")
    return f"{whole}.{match['few'] or match['below']}"


def with_points(text: str) -> str:
    """``text`` with a point for each comma that can only be a decimal one: 3,5 but not 3,500."""
    return _DECIMAL_COMMA.sub(_point, text)


def solve(text: str) -> Solution | None:
    """The answer to a unit question that makes up all of ``text`` (case kept, wrappers removed), or None.
    "3,5 km" is three and a half in any language, "3,500 km" three thousand five hundred."""
    if len(text) > CHARS_MAX:
        return None
    text = with_points(text)
    ambiguous: str | None = None
    for left, right in _pairs(text):
        target_text = right.strip(" .?").removeprefix("the ")
        try:
            target = units.find(_FEET_INCHES.sub("feet", target_text))
            if target is None:
                continue
            parts = _amounts(left, target)
        except units.AmbiguousUnit as exc:
            ambiguous = ambiguous or _ambiguous_pair(left, target_text, str(exc))
            continue
        except NotMath:
            continue
        target = units.for_counterpart(target, parts[0].unit)
        parts = [Quantity(part.value, units.for_counterpart(part.unit, target)) for part in parts]
        try:
            if _FEET_INCHES.fullmatch(target_text):
                return _feet_and_inches(parts)
            return _answer(parts, target)
        except NotMath:
            continue
    if ambiguous is not None:
        return Solution(text, "unit", "a unit question with an ambiguous symbol", ambiguous + ".")
    return None


def _ambiguous_pair(left: str, right: str, message: str) -> str | None:
    """The message, if the question is one about units apart from the ambiguous symbol."""
    match = _NUMBER.match(left)
    if match is None and left.strip().lower().split(" ")[0] not in _ALONE:
        return None
    for side in (right, left[match.end() :] if match else left.partition(" ")[2]):
        try:
            if units.find(side) is None:
                return None
        except units.AmbiguousUnit:
            continue
    return message


def _note(source: Unit, target: Unit) -> str:
    pints = {source.pint, target.pint}
    if source.dimension == target.dimension == "time" and len(pints) == 2:
        calendar = pints & {"year", "decade", "century", "millennium"}
        if "month" in pints and not calendar:
            return " (an average month of 30.4375 days)"
        if calendar and pints - calendar - {"month"}:
            return " (an average year of 365.25 days)"
    return ""


def _shown(value: Fraction) -> tuple[str, bool]:
    """For the sentence: exact where it is short, else at least six significant digits."""
    text, is_exact = text_of(value)
    if is_exact and len(text) <= 18:
        return text, True
    whole_digits = len(str(abs(int(value)))) if abs(value) >= 1 and abs(value) < 10**30 else 1
    return text_of(value, min(15, max(6, whole_digits + 2)))[0], False


def _answer(parts: list[Quantity], target: Unit) -> Solution:
    source = _total(parts) if len(parts) > 1 else parts[0]
    try:
        result, is_exact = units.convert(source.value, source.unit, target)
    except units.DifferentDimensions:
        a, b = source.unit, target
        sentence = (
            f"{a.plural[0].upper()}{a.plural[1:]} and {b.plural} measure different things "
            f"({a.dimension} and {b.dimension}), so {source.text} cannot be expressed in {b.plural}."
        )
        return Solution(
            f"{text_of(source.value)[0]} {a.canonical} to {b.canonical}",
            "unit",
            "units of different kinds",
            sentence,
        )
    if source.unit.dimension == "temperature" and _below_zero(source):
        return Solution(
            f"{text_of(source.value)[0]} {source.unit.canonical} to {target.canonical}",
            "unit",
            "a temperature that does not exist",
            f"{source.text} is below absolute zero, so no such temperature exists.",
        )
    answer, ends = text_of(result)
    shown, shown_exact = _shown(result)
    is_exact = is_exact and ends
    unit_name = target.name if result == 1 else target.plural
    sign = "=" if is_exact and shown_exact else "≈"
    said = " ".join(part.text for part in parts)
    return Solution(
        f"{_exact_text(source.value)} {source.unit.canonical} to {target.canonical}",
        "unit",
        f"a conversion from {source.unit.plural} to {target.plural}",
        f"{said} {sign} {shown} {unit_name}{_note(source.unit, target)}.",
        answer,
        is_exact,
        target.name,
    )


def _feet_and_inches(parts: list[Quantity]) -> Solution | None:
    """A length as whole feet and the inches that remain."""
    source = _total(parts) if len(parts) > 1 else parts[0]
    try:
        length, is_exact = units.convert(source.value, source.unit, units.NAMES["inch"])
    except units.DifferentDimensions:
        return None
    feet, inches = divmod(length, 12)
    shown, ends = _shown(inches)
    inch_text, inch_exact = text_of(inches)
    is_exact = is_exact and ends
    said = " ".join(part.text for part in parts)
    return Solution(
        f"{_exact_text(source.value)} {source.unit.canonical} to feet and inches",
        "unit",
        f"a conversion from {source.unit.plural} to feet and inches",
        f"{said} {'=' if is_exact else '≈'} {feet} feet {shown} inches.",
        f"{feet} feet {inch_text} inches",
        is_exact and inch_exact,
        "foot",
    )


def _exact_text(value: Fraction) -> str:
    """The amount so that it reads back exactly: a decimal where it ends, else a fraction."""
    text, is_exact = text_of(value)
    return text if is_exact else f"{value.numerator}/{value.denominator}"


def _below_zero(source: Quantity) -> bool:
    return units.convert(source.value, source.unit, units.NAMES["kelvin"])[0] < 0
