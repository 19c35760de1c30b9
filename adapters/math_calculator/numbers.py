"""Exact numbers with a price tag: every operation is estimated before it is made.

Promises: rational input and rational operations give ``Fraction``; only roots that do not come out,
fractional powers, logarithms, trigonometry, pi and e give ``Decimal`` (50 digits). An operation whose result
could exceed ``BITS_MAX`` bits, or a sum of operations beyond ``WORK_MAX``, raises ``Refused`` before the work
is done; an operation without a value raises ``Undefined``. Pure; knows nothing of text or grammar.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias

from node.core.errors import Rejected

Real: TypeAlias = Fraction | Decimal

BITS_MAX = 20_000
"""About 6,000 decimal digits: far beyond use, and each operation still takes microseconds."""
WORK_MAX = 400_000
"""Bits that all operations of one expression may produce together: bounds the time of long expressions."""
PLACES_MAX = 100
_PRECISION = 50
_EXPONENT_MAX = 20_000
_TRIG_MAX = 10**15
_ROOT_MAX = 1_000

_TRAPS = [decimal.InvalidOperation, decimal.DivisionByZero, decimal.Overflow]
_CONTEXT = decimal.Context(
    prec=_PRECISION, rounding=decimal.ROUND_HALF_EVEN, Emin=-_EXPONENT_MAX, Emax=_EXPONENT_MAX, traps=_TRAPS
)
_FINE = decimal.Context(
    prec=90, rounding=decimal.ROUND_HALF_EVEN, Emin=-_EXPONENT_MAX, Emax=_EXPONENT_MAX, traps=_TRAPS
)
_PI = Decimal(
    "3.1415926535897932384626433832795028841971693993751058209749445923078164062862089986280348253421170679"
)
_NOISE = Decimal("1e-40")
"""What cancelling 50-digit values leaves behind; a trigonometric result below it is zero."""


class Refused(Rejected):
    """The question is arithmetic and over a limit; the message names the limit."""


class Undefined(Rejected):
    """The question is arithmetic and has no value; the message says why. A definite mathematical fact."""


class Budget:
    """What one expression has cost so far, in bits of results."""

    __slots__ = ("operations", "spent")

    def __init__(self) -> None:
        self.spent = 0
        self.operations = 0

    def charge(self, size: float) -> None:
        """Raises ``Refused`` when a result of ``size`` bits is too much at once or in sum."""
        if size > BITS_MAX:
            raise Refused(
                f"the result exceeds this calculator's limit of {BITS_MAX:,} bits (about 6,000 digits)"
            )
        self.operations += 1
        self.spent += 64 + int(size)
        if self.spent > WORK_MAX:
            raise Refused("the expression needs more work than this calculator's limit allows")


def bits(value: Real) -> int:
    """The size of a number in bits, numerator and denominator together."""
    if isinstance(value, Decimal):
        return 4 * _PRECISION
    return value.numerator.bit_length() + value.denominator.bit_length()


def _guarded(compute: Callable[[], Decimal]) -> Decimal:
    try:
        return compute()
    except decimal.Overflow as exc:
        raise Refused(f"the result exceeds this calculator's limit of 10^{_EXPONENT_MAX:,}") from exc
    except decimal.DivisionByZero as exc:
        raise Undefined("division by zero") from exc
    except decimal.InvalidOperation as exc:
        raise Undefined("this operation has no real value") from exc


def as_decimal(value: Real) -> Decimal:
    """``value`` rounded to 50 digits."""
    if isinstance(value, Decimal):
        return value
    return _guarded(lambda: _CONTEXT.divide(Decimal(value.numerator), Decimal(value.denominator)))


def as_fraction(value: Real) -> Fraction:
    """The rational that ``value`` holds. Raises ``Refused`` for an exponent too large to write out."""
    if isinstance(value, Fraction):
        return value
    if value and abs(value.adjusted()) > 4_000:
        raise Refused("the result is too large or too small to write out")
    return Fraction(value)


def pi() -> Decimal:
    """To 50 digits."""
    return _CONTEXT.plus(_PI)


def euler() -> Decimal:
    """e to 50 digits."""
    return _CONTEXT.exp(Decimal(1))


def add(left: Real, right: Real, budget: Budget) -> Real:
    """Sum."""
    budget.charge(bits(left) + bits(right) + 1)
    if isinstance(left, Fraction) and isinstance(right, Fraction):
        return left + right
    return _guarded(lambda: _CONTEXT.add(as_decimal(left), as_decimal(right)))


def negate(value: Real) -> Real:
    """The same size with the other sign."""
    return -value if isinstance(value, Fraction) else _CONTEXT.minus(value)


def subtract(left: Real, right: Real, budget: Budget) -> Real:
    """Difference."""
    return add(left, negate(right), budget)


def multiply(left: Real, right: Real, budget: Budget) -> Real:
    """Product."""
    budget.charge(bits(left) + bits(right))
    if isinstance(left, Fraction) and isinstance(right, Fraction):
        return left * right
    return _guarded(lambda: _CONTEXT.multiply(as_decimal(left), as_decimal(right)))


def divide(left: Real, right: Real, budget: Budget) -> Real:
    """Quotient. Raises ``Undefined`` on zero."""
    if right == 0:
        raise Undefined("division by zero")
    budget.charge(bits(left) + bits(right))
    if isinstance(left, Fraction) and isinstance(right, Fraction):
        return left / right
    return _guarded(lambda: _CONTEXT.divide(as_decimal(left), as_decimal(right)))


def modulo(left: Real, right: Real, budget: Budget) -> Real:
    """The remainder with the sign of ``right`` (floored division). Raises ``Undefined`` on zero."""
    if right == 0:
        raise Undefined("division by zero")
    budget.charge(bits(left) + bits(right))
    if isinstance(left, Fraction) and isinstance(right, Fraction):
        return left % right
    quotient = divide(left, right, budget)
    whole = Fraction(math.floor(as_fraction(quotient)))
    return subtract(left, multiply(whole, right, budget), budget)


def _size_of_power(base: Fraction, exponent: int) -> float:
    if exponent.bit_length() > 60:
        return math.inf
    per_step = math.log2(abs(base.numerator)) + math.log2(base.denominator)
    return per_step * abs(exponent) + 2


def _integer_root(value: int, degree: int) -> int:
    """The floor of the ``degree``-th root of a non-negative integer, by Newton's method on integers."""
    if value < 2:
        return value
    guess = 1 << -(-value.bit_length() // degree)
    while True:
        better = ((degree - 1) * guess + value // guess ** (degree - 1)) // degree
        if better >= guess:
            return guess
        guess = better


def _exact_root(value: Fraction, degree: int, budget: Budget) -> Fraction | None:
    """The root of a non-negative rational when it is rational."""
    budget.charge(2 * bits(value))
    top, bottom = _integer_root(value.numerator, degree), _integer_root(value.denominator, degree)
    if top**degree == value.numerator and bottom**degree == value.denominator:
        return Fraction(top, bottom)
    return None


def root(value: Real, degree: Real, budget: Budget) -> Real:
    """The real ``degree``-th root; negative values have one for odd whole degrees only."""
    if not isinstance(degree, Fraction) or degree.denominator != 1 or degree < 1:
        raise Undefined("the degree of a root must be a whole number of at least 1")
    if value < 0:
        if degree.numerator % 2 == 0:
            raise Undefined("an even root of a negative number is not a real number")
        return negate(root(negate(value), degree, budget))
    if degree.numerator > _ROOT_MAX:
        raise Refused(f"roots of a degree above {_ROOT_MAX:,} are beyond this calculator's limit")
    if isinstance(value, Fraction):
        exact = _exact_root(value, degree.numerator, budget)
        if exact is not None:
            return exact
    budget.charge(bits(Decimal()))
    if degree == 2:
        return _guarded(lambda: _CONTEXT.sqrt(as_decimal(value)))
    return (
        _guarded(lambda: _CONTEXT.power(as_decimal(value), as_decimal(1 / degree))) if value else Fraction(0)
    )


def power(base: Real, exponent: Real, budget: Budget) -> Real:
    """``base`` to the ``exponent``. 0^0 and negative powers of zero are undefined; negative bases take whole
    exponents and fractions with an odd denominator (the real root)."""
    if base == 0:
        if exponent == 0:
            raise Undefined("0^0 has no agreed value (some conventions take it as 1)")
        if exponent < 0:
            raise Undefined("division by zero")
        return Fraction(0)
    if isinstance(exponent, Fraction) and exponent.denominator == 1:
        whole = exponent.numerator
        if isinstance(base, Fraction):
            if abs(base) == 1:
                return base if whole % 2 else Fraction(1)
            budget.charge(_size_of_power(base, whole))
            return base**whole
        budget.charge(bits(base))
        if whole.bit_length() > 60:
            raise Refused("an exponent this large is beyond this calculator's limit")
        return _guarded(lambda: _CONTEXT.power(base, Decimal(whole)))
    if isinstance(base, Fraction) and isinstance(exponent, Fraction) and exponent.denominator <= 100:
        rooted = root(base, Fraction(exponent.denominator), budget)
        if isinstance(rooted, Fraction) or base < 0:
            return power(rooted, Fraction(exponent.numerator), budget)
    if base < 0:
        raise Undefined("a fractional power of a negative number is not a real number")
    budget.charge(bits(Decimal()))
    return _guarded(lambda: _CONTEXT.power(as_decimal(base), as_decimal(exponent)))


def whole(value: Real, what: str) -> int:
    """``value`` as an int. Raises ``Undefined`` naming ``what`` when it is not a whole number."""
    if isinstance(value, Fraction) and value.denominator == 1:
        return value.numerator
    raise Undefined(f"{what} is defined for whole numbers only")


def factorial(value: Real, budget: Budget) -> Fraction:
    """n! of a whole number from 0 on."""
    number = whole(value, "the factorial")
    if number < 0:
        raise Undefined("the factorial is not defined for negative numbers")
    budget.charge(math.inf if number > 1_000_000 else math.lgamma(number + 1) / math.log(2) + 2)
    return Fraction(math.factorial(number))


def natural_log(value: Real, budget: Budget) -> Real:
    """ln. Raises ``Undefined`` from zero down."""
    if value <= 0:
        raise Undefined("the logarithm is defined for positive numbers only")
    if value == 1:
        return Fraction(0)
    budget.charge(bits(Decimal()))
    return _guarded(lambda: _CONTEXT.ln(as_decimal(value)))


def logarithm(value: Real, base: Real, budget: Budget) -> Real:
    """The logarithm to ``base``; rational results (log of 8 to base 4 = 3/2) come out exact."""
    if base <= 0 or base == 1:
        raise Undefined("a logarithm's base must be positive and not 1")
    raw = divide(natural_log(value, budget), natural_log(base, budget), budget)
    if isinstance(value, Fraction) and isinstance(base, Fraction):
        for bottom in (1, 2, 3, 4):
            top = round(as_fraction(raw) * bottom)
            if max(_size_of_power(base, top), _size_of_power(value, bottom)) <= BITS_MAX:
                budget.charge(2 * BITS_MAX / 4)
                if base**top == value**bottom:
                    return Fraction(top, bottom)
    return raw


def exponential(value: Real, budget: Budget) -> Real:
    """e to the ``value``."""
    if value == 0:
        return Fraction(1)
    budget.charge(bits(Decimal()))
    return _guarded(lambda: _CONTEXT.exp(as_decimal(value)))


_SINE_BY_DEGREES = {
    0: Fraction(0),
    30: Fraction(1, 2),
    90: Fraction(1),
    150: Fraction(1, 2),
    180: Fraction(0),
}


def _sine(angle: Decimal) -> Decimal:
    """Sine by Taylor's series after reduction to [-pi, pi], 90 digits inside."""
    turn = _FINE.multiply(_PI, Decimal(2))
    reduced = _FINE.subtract(angle, _FINE.multiply(_FINE.divide(angle, turn).to_integral_value(), turn))
    minus_square = _FINE.minus(_FINE.multiply(reduced, reduced))
    term = total = reduced
    for step in range(1, 60):  # pi^121/121! is below 1e-140
        term = _FINE.divide(_FINE.multiply(term, minus_square), Decimal(2 * step * (2 * step + 1)))
        total = _FINE.add(total, term)
    return Decimal(0) if abs(total) < _NOISE else _CONTEXT.plus(total)


def sine(angle: Real, *, degrees: bool, quarter: bool, budget: Budget) -> Real:
    """Sine of an angle in radians or degrees; ``quarter`` adds 90 degrees first (the cosine)."""
    budget.charge(100 * bits(Decimal()))
    if not -_TRIG_MAX <= angle <= _TRIG_MAX:
        raise Refused(f"angles above {_TRIG_MAX:,} are beyond this calculator's limit")
    if degrees and isinstance(angle, Fraction):
        turned: Fraction = (angle + Fraction(90 if quarter else 0)) % Fraction(360)
        sign = -1 if turned >= Fraction(180) else 1
        half = turned % Fraction(180)
        if half in _SINE_BY_DEGREES:
            return sign * _SINE_BY_DEGREES[int(half)]
        return _CONTEXT.multiply(
            Decimal(sign), _sine(_FINE.divide(_FINE.multiply(as_decimal(half), _PI), Decimal(180)))
        )
    if not degrees and angle == 0:
        return Fraction(1 if quarter else 0)
    radians = as_decimal(angle)
    if degrees:
        radians = _FINE.divide(_FINE.multiply(radians, _PI), Decimal(180))
    if quarter:
        radians = _FINE.add(radians, _FINE.divide(_PI, Decimal(2)))
    return _sine(radians)


def tangent(angle: Real, *, degrees: bool, budget: Budget) -> Real:
    """Sine over cosine. Raises ``Undefined`` where the cosine is zero."""
    below = sine(angle, degrees=degrees, quarter=True, budget=budget)
    if below == 0:
        raise Undefined("the tangent is not defined at this angle")
    return divide(sine(angle, degrees=degrees, quarter=False, budget=budget), below, budget)


def radians(angle: Real, budget: Budget) -> Real:
    """Degrees as radians."""
    return divide(multiply(angle, pi(), budget), Fraction(180), budget)


def round_to(value: Real, places: int) -> Fraction:
    """Rounded to ``places`` decimals (negative: tens, hundreds), halves away from zero."""
    if abs(places) > PLACES_MAX:
        raise Refused(f"rounding goes up to {PLACES_MAX} places")
    if isinstance(value, Decimal) and value.adjusted() < -places - 2:
        return Fraction(0)
    scale = Fraction(10) ** places
    scaled = as_fraction(value) * scale
    nearest = math.floor(abs(scaled) + Fraction(1, 2))
    return Fraction(-nearest if scaled < 0 else nearest) / scale


def magnitude(value: Real) -> int:
    """The power of ten of the first digit: 0 for 1 to 9.99, -1 for 0.1; 0 for zero."""
    return as_decimal(value).adjusted() if value else 0


def is_prime(number: int) -> bool:
    """Deterministic Miller-Rabin below 3.3e24 (Sorenson and Webster 2015). Raises ``Refused`` above."""
    if number >= 3_317_044_064_679_887_385_961_981:
        raise Refused("primality is decided for numbers below 3.3 x 10^24 only")
    witnesses = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41)
    if number < 2:
        return False
    for prime in witnesses:
        if number % prime == 0:
            return number == prime
    odd, twos = number - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for witness in witnesses:
        power_now = pow(witness, odd, number)
        if power_now in (1, number - 1):
            continue
        for _ in range(twos - 1):
            power_now = pow(power_now, 2, number)
            if power_now == number - 1:
                break
        else:
            return False
    return True
