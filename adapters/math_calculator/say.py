"""Numbers and answers as text for people and as canonical text. Pure.

Rules: a value that ends within 15 decimals, or within 15 significant digits, is exact and written out; any
other
is rounded to 15 significant digits and marked with the sign for "approximately equal"; a rational that does
not
end is also given as a fraction when that is short. Thousands are not separated.
"""

from __future__ import annotations

import decimal
from decimal import Decimal
from fractions import Fraction

from adapters.math_calculator.numbers import Real, Undefined, negate
from adapters.math_calculator.tree import (
    Bin,
    Call,
    Factorial,
    Neg,
    Node,
    Num,
    Percent,
    decimal_text,
    digits_of,
    show,
)

DIGITS = 15
_FRACTION_CHARS_MAX = 24
_POSITIONAL = range(-10, 21)
"""Powers of ten of the first digit for which a rounded number is written without an exponent."""


def _rounded(value: Real, digits: int) -> Decimal:
    context = decimal.Context(prec=digits, rounding=decimal.ROUND_HALF_EVEN, Emin=-50_000, Emax=50_000)
    if isinstance(value, Decimal):
        return context.plus(value)
    return context.divide(Decimal(value.numerator), Decimal(value.denominator))


def decimal_string(value: Decimal) -> str:
    """Without trailing zeros; with an exponent when very large or very small."""
    if not value:
        return "0"
    if value.adjusted() in _POSITIONAL:
        text = f"{value:f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    sign, digits, _ = value.as_tuple()
    figures = "".join(map(str, digits)).rstrip("0")
    mantissa = figures[0] + ("." + figures[1:] if len(figures) > 1 else "")
    return f"{'-' if sign else ''}{mantissa}e{value.adjusted()}"


def text_of(value: Real, digits: int = DIGITS) -> tuple[str, bool]:
    """The canonical text of a value, and whether it is exact."""
    if isinstance(value, Fraction):
        sign = "-" if value < 0 else ""
        if value.denominator == 1:
            return sign + digits_of(abs(value.numerator)), True
        if 10**15 % value.denominator == 0:
            return sign + decimal_text(abs(value)), True
    rounded = _rounded(value, digits)
    if isinstance(value, Decimal):
        return decimal_string(rounded), False
    is_exact = abs(rounded.adjusted()) < 5_000 and Fraction(rounded) == value
    return decimal_string(rounded), is_exact


def short_fraction(value: Real) -> str | None:
    """a/b when that is short enough to read, else None."""
    if not isinstance(value, Fraction) or value.denominator == 1 or value.denominator.bit_length() > 80:
        return None
    if value.numerator.bit_length() > 80:
        return None
    text = f"{value.numerator}/{value.denominator}"
    return text if len(text) <= _FRACTION_CHARS_MAX else None


def _equation(left: str, text: str, is_exact: bool, value: Real) -> str:
    if is_exact:
        return f"{left} = {text}."
    fraction = short_fraction(value)
    return f"{left} ≈ {text} (exactly {fraction})." if fraction else f"{left} ≈ {text}."


def listed(items: list[str]) -> str:
    """a, b and c"""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


_LISTS = {
    "average": "average", "median": "median", "sum": "sum", "product": "product",
    "min": "smallest", "max": "largest",
    "gcd": "greatest common divisor", "lcm": "least common multiple",
}  # fmt: skip
_ROOTS = {"sqrt": "square root", "cbrt": "cube root"}
_BASES = {2: ("binary", "0b"), 8: ("octal", "0o"), 16: ("hexadecimal", "0x"), 10: ("decimal", "")}
_ROMAN = (
    (1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"),
    (40, "XL"), (10, "X"),
    (9, "IX"), (5, "V"), (4, "IV"), (1, "I"),
)  # fmt: skip


def roman(number: int) -> str:
    """Roman numerals. Raises ``Undefined`` outside 1 to 3999."""
    if not 0 < number < 4_000:
        raise Undefined("Roman numerals stand for 1 to 3999")
    out = ""
    for size, letters in _ROMAN:
        out += letters * (number // size)
        number %= size
    return out


def in_base(value: Real, base: int) -> str:
    """An integer's digits in base 2 to 36, with the usual prefix. Raises ``Undefined``."""
    if not isinstance(value, Fraction) or value.denominator != 1:
        raise Undefined("conversions between bases take whole numbers")
    if not 2 <= base <= 36:
        raise Undefined("bases go from 2 to 36")
    number, digits = abs(value.numerator), ""
    if base in (2, 8, 16):
        digits = format(number, {2: "b", 8: "o", 16: "x"}[base])
    elif base == 10:
        digits = digits_of(number)
    else:
        while number or not digits:
            number, digit = divmod(number, base)
            digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    prefix = _BASES.get(base, ("", ""))[1]
    return ("-" if value < 0 else "") + prefix + digits


def kind_of(node: Node) -> str:
    """The kind of an expression, by what stands at its top."""
    if isinstance(node, Call):
        if node.name in _LISTS or node.name == "sumrange":
            return "list"
        if node.name in ("sqrt", "cbrt", "root"):
            return "root"
        if node.name.startswith("percent") or node.name == "aspercent":
            return "percent"
        if node.name in ("round", "sigfig"):
            return "rounding"
        if node.name.startswith("is"):
            return "comparison"
        if node.name in ("base", "roman"):
            return "base"
        return "fraction" if node.name in ("asfraction", "asdecimal") else "function"
    if isinstance(node, Bin):
        if node.op == "^":
            return "power"
        if node.op == "of" or isinstance(node.left, Percent) or isinstance(node.right, Percent):
            return "percent"
    return "arithmetic"


def _comparison(node: Call, holds: bool) -> str:
    shown = [show(arg, spaced=True) for arg in node.args]
    verb = "is" if holds else "is not"
    claims = {
        "isprime": f"{shown[0]} {verb} a prime number",
        "iseven": f"{shown[0]} {verb} even",
        "isodd": f"{shown[0]} {verb} odd",
        "isdivisible": f"{shown[0]} {verb} divisible by {shown[-1]}",
        "isgreater": f"{shown[0]} {verb} greater than {shown[-1]}",
        "isless": f"{shown[0]} {verb} less than {shown[-1]}",
        "isequal": f"{shown[0]} {verb} equal to {shown[-1]}",
    }
    return f"{'Yes' if holds else 'No'}: {claims[node.name]}."


def _shaped(node: Call, value: Real) -> tuple[str, str, bool, str | None] | None:
    """Answers whose form is what was asked for: (answer, sentence, exact, unit)."""
    inner = show(node.args[0], spaced=True)
    plain, is_exact = text_of(value)
    sign = "=" if is_exact else "≈"
    if node.name == "base":
        base_node = node.args[1]
        base = int(base_node.value) if isinstance(base_node, Num) and base_node.value else 0
        digits = in_base(value, base)
        name = _BASES[base][0] if base in _BASES else f"base {base}"
        return digits, f"{inner} in {name} is {digits}.", True, None
    if node.name == "roman":
        if not isinstance(value, Fraction) or value.denominator != 1:
            raise Undefined("Roman numerals stand for whole numbers")
        letters = roman(value.numerator)
        return letters, f"{inner} in Roman numerals is {letters}.", True, None
    if node.name == "asfraction":
        fraction = short_fraction(value)
        if not isinstance(value, Fraction):
            raise Undefined("it is irrational or known only approximately, so no fraction equals it")
        text = fraction or f"{digits_of(abs(value.numerator))}/{digits_of(value.denominator)}"
        if value.denominator == 1:
            text = plain
        elif fraction is None and value < 0:
            text = "-" + text
        return text, f"{inner} as a fraction in lowest terms is {text}.", True, None
    if node.name == "asdecimal":
        return plain, f"{inner} {sign} {plain}.", is_exact, None
    if node.name == "aspercent":
        percent = value * 100
        text, is_exact = text_of(percent)
        return text, f"{inner} {'=' if is_exact else '≈'} {text}%.", is_exact, "%"
    if node.name == "percentof":
        whole = show(node.args[1], spaced=True)
        return plain, f"{inner} is {'' if is_exact else 'approximately '}{plain}% of {whole}.", is_exact, "%"
    if node.name == "percentchange":
        word = "an increase" if value > 0 else "a decrease" if value < 0 else "no change"
        size = text_of(negate(value) if value < 0 else value)[0]
        amount = f"{word} of {'' if is_exact else 'approximately '}{size}%" if value else "no change (0%)"
        return plain, f"From {inner} to {show(node.args[1], spaced=True)} is {amount}.", is_exact, "%"
    if node.name.startswith("is"):
        return ("yes" if value else "no"), _comparison(node, bool(value)), True, None
    return None


def answer_of(node: Node, value: Real) -> tuple[str, str, bool, str | None]:
    """(canonical answer, sentence, exact, unit) for an expression and its value. Raises ``Undefined`` when
    the
    form asked for does not exist (a fraction for an irrational number)."""
    text, is_exact = text_of(value)
    verb = "is" if is_exact else "is approximately"
    exactly = None if is_exact else short_fraction(value)
    tail = f" (exactly {exactly})" if exactly else ""
    if isinstance(node, Call):
        shaped = _shaped(node, value)
        if shaped is not None:
            return shaped
        shown = [show(arg, spaced=True) for arg in node.args]
        if node.name in _LISTS:
            return text, f"The {_LISTS[node.name]} of {listed(shown)} {verb} {text}{tail}.", is_exact, None
        if node.name == "sumrange":
            return (
                text,
                f"The sum of the whole numbers from {shown[0]} to {shown[1]} is {text}.",
                is_exact,
                None,
            )
        if node.name in _ROOTS:
            return text, f"The {_ROOTS[node.name]} of {shown[0]} {verb} {text}{tail}.", is_exact, None
        if node.name == "log":
            return (
                text,
                f"The logarithm of {shown[0]} to base {shown[1]} {verb} {text}{tail}.",
                is_exact,
                None,
            )
        if node.name == "root":
            return text, f"The root of degree {shown[1]} of {shown[0]} {verb} {text}{tail}.", is_exact, None
        if node.name == "round":
            places = shown[1] if len(shown) > 1 else "0"
            what = "the nearest whole number" if places == "0" else f"{places} decimal places"
            if places.startswith("-"):
                what = f"the nearest 1{'0' * int(places[1:])}"
            return text, f"{shown[0]} rounded to {what} is {text}.", is_exact, None
        if node.name == "sigfig":
            return text, f"{shown[0]} rounded to {shown[1]} significant figures is {text}.", is_exact, None
    left = show(node, spaced=True)
    if isinstance(node, Bin) and node.op == "of":
        return text, f"{left} {verb} {text}{tail}.", is_exact, None
    sentence = _equation(left, text, is_exact, value)
    if (other := _of_the_signed(node)) is not None:
        sentence = (
            f"{sentence[:-1]} (the power comes before the sign; {other} would be {text.removeprefix('-')})."
        )
    if ("sin(" in left or "cos(" in left or "tan(" in left) and "°" not in left:
        sentence = f"{sentence[:-1]} (angles in radians)."
    return text, sentence, is_exact, None


def _of_the_signed(node: Node) -> str | None:
    """ "minus two squared" is read as -(2^2); of an even power, what others mean by it."""
    power = node.arg if isinstance(node, Neg) else None
    if not isinstance(power, Bin) or power.op != "^" or not isinstance(power.left, Num):
        return None
    times = power.right.value if isinstance(power.right, Num) else None
    return f"(-{show(power.left)})^{show(power.right)}" if times and times % 2 == 0 else None


def undefined(node: Node, reason: str) -> str:
    """The sentence for an expression without a value: a definite mathematical fact."""
    shown = show(node, spaced=not isinstance(node, Bin) or not isinstance(node.left, Num | Factorial))
    return f"{shown} is undefined: {reason}."
