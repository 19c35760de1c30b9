"""The value of a tree. It never recurses deeper than parsing allowed. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from adapters.math_calculator import numbers
from adapters.math_calculator.numbers import Budget, Real, Refused, Undefined
from adapters.math_calculator.tree import Bin, Call, Const, Factorial, Neg, Node, Num, Percent


def evaluate(node: Node, budget: Budget) -> Real:
    """The value of a tree; exact wherever the operations are. Raises ``Undefined`` and ``Refused``."""
    if isinstance(node, Num):
        if node.value is None:
            raise Refused(f"a number as long as {node.text[:40]} is beyond this calculator's limit")
        budget.charge(numbers.bits(node.value))
        return node.value
    if isinstance(node, Const):
        return numbers.pi() if node.name == "pi" else numbers.euler()
    if isinstance(node, Neg):
        return numbers.negate(evaluate(node.arg, budget))
    if isinstance(node, Percent):
        return numbers.divide(evaluate(node.arg, budget), Fraction(100), budget)
    if isinstance(node, Factorial):
        return numbers.factorial(evaluate(node.arg, budget), budget)
    if isinstance(node, Bin):
        return _binary(node, budget)
    return _apply(node, budget)


def _binary(node: Bin, budget: Budget) -> Real:
    if node.op == "^" and node.left == Const("e"):
        return numbers.exponential(evaluate(node.right, budget), budget)
    left, right = evaluate(node.left, budget), evaluate(node.right, budget)
    if node.op in ("+", "-"):
        if isinstance(node.right, Percent) and not isinstance(node.left, Percent):
            right = numbers.multiply(left, right, budget)
        return numbers.add(left, right if node.op == "+" else numbers.negate(right), budget)
    if node.op in ("*", "of"):
        return numbers.multiply(left, right, budget)
    if node.op == "/":
        return numbers.divide(left, right, budget)
    if node.op == "mod":
        return numbers.modulo(left, right, budget)
    return numbers.power(left, right, budget)


def _total(values: list[Real], budget: Budget) -> Real:
    total: Real = Fraction(0)
    for value in values:
        total = numbers.add(total, value, budget)
    return total


def _product(values: list[Real], budget: Budget) -> Real:
    product: Real = Fraction(1)
    for value in values:
        product = numbers.multiply(product, value, budget)
    return product


def _median(values: list[Real], budget: Budget) -> Real:
    ordered = sorted(values, key=numbers.as_fraction)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return numbers.divide(numbers.add(ordered[middle - 1], ordered[middle], budget), Fraction(2), budget)


def _sum_range(values: list[Real], budget: Budget) -> Real:
    first, last = (numbers.whole(value, "a sum over a range") for value in values)
    if last < first:
        first, last = last, first
    budget.charge(2 * (first.bit_length() + last.bit_length()) + 4)
    return Fraction((first + last) * (last - first + 1), 2)


def _whole_list(values: list[Real], name: str) -> list[int]:
    return [numbers.whole(value, f"the {name}") for value in values]


def _lcm(values: list[Real], budget: Budget) -> Real:
    result = 1
    for value in _whole_list(values, "least common multiple"):
        budget.charge(result.bit_length() + value.bit_length())
        result = math.lcm(result, value)
    return Fraction(result)


def _round(values: list[Real], budget: Budget) -> Real:
    budget.charge(numbers.bits(values[0]))
    return numbers.round_to(values[0], _places(values[1]) if len(values) == 2 else 0)


def _significant(values: list[Real], budget: Budget) -> Real:
    budget.charge(numbers.bits(values[0]))
    figures = _places(values[1])
    if figures < 1:
        raise Undefined("significant figures start at 1")
    return numbers.round_to(values[0], figures - 1 - numbers.magnitude(values[0]))


def _places(value: Real) -> int:
    places = numbers.whole(value, "a number of places")
    if abs(places) > numbers.PLACES_MAX:
        raise Refused(f"rounding goes up to {numbers.PLACES_MAX} places")
    return places


def _divisible(values: list[Real], budget: Budget) -> Real:
    if values[1] == 0:
        raise Undefined("nothing is divisible by zero")
    number_, divisor = _whole_list(values, "divisibility")
    return Fraction(number_ % divisor == 0)


def _percent_of(values: list[Real], budget: Budget) -> Real:
    return numbers.multiply(numbers.divide(values[0], values[1], budget), Fraction(100), budget)


def _percent_change(values: list[Real], budget: Budget) -> Real:
    if values[0] == 0:
        raise Undefined("a percentage change from zero has no value")
    size = values[0] if values[0] > 0 else numbers.negate(values[0])
    return _percent_of([numbers.subtract(values[1], values[0], budget), size], budget)


def _compare(values: list[Real], budget: Budget) -> int:
    """-1, 0 or 1; values known to 50 digits count as equal when 40 of them agree."""
    difference = numbers.as_fraction(numbers.subtract(values[0], values[1], budget))
    if not all(isinstance(value, Fraction) for value in values):
        size = max(abs(numbers.as_fraction(value)) for value in values)
        if abs(difference) <= size / 10**40:
            return 0
    return (difference > 0) - (difference < 0)


def _as_is(values: list[Real], budget: Budget) -> Real:
    return values[0]


def _floor(values: list[Real], budget: Budget) -> Real:
    return Fraction(math.floor(numbers.as_fraction(values[0])))


def _ceil(values: list[Real], budget: Budget) -> Real:
    return Fraction(math.ceil(numbers.as_fraction(values[0])))


_FUNCTIONS: dict[str, Callable[[list[Real], Budget], Real]] = {
    "sqrt": lambda v, b: numbers.root(v[0], Fraction(2), b),
    "cbrt": lambda v, b: numbers.root(v[0], Fraction(3), b),
    "root": lambda v, b: numbers.root(v[0], v[1], b),
    "abs": lambda v, b: numbers.negate(v[0]) if v[0] < 0 else v[0],
    "ln": lambda v, b: numbers.natural_log(v[0], b),
    "log": lambda v, b: numbers.logarithm(v[0], v[1], b),
    "exp": lambda v, b: numbers.exponential(v[0], b),
    "deg": lambda v, b: numbers.radians(v[0], b),
    "floor": _floor,
    "ceil": _ceil,
    "round": _round,
    "sigfig": _significant,
    "min": lambda v, b: min(v, key=numbers.as_fraction),
    "max": lambda v, b: max(v, key=numbers.as_fraction),
    "gcd": lambda v, b: Fraction(math.gcd(*_whole_list(v, "greatest common divisor"))),
    "lcm": _lcm,
    "sum": _total,
    "product": _product,
    "average": lambda v, b: numbers.divide(_total(v, b), Fraction(len(v)), b),
    "median": _median,
    "sumrange": _sum_range,
    "percentof": _percent_of,
    "percentchange": _percent_change,
    "base": _as_is,
    "roman": _as_is,
    "asfraction": _as_is,
    "asdecimal": _as_is,
    "aspercent": _as_is,
    "isprime": lambda v, b: Fraction(numbers.is_prime(numbers.whole(v[0], "primality"))),
    "iseven": lambda v, b: Fraction(numbers.whole(v[0], "being even") % 2 == 0),
    "isodd": lambda v, b: Fraction(numbers.whole(v[0], "being odd") % 2 == 1),
    "isdivisible": _divisible,
    "isgreater": lambda v, b: Fraction(_compare(v, b) > 0),
    "isless": lambda v, b: Fraction(_compare(v, b) < 0),
    "isequal": lambda v, b: Fraction(_compare(v, b) == 0),
}


def _apply(node: Call, budget: Budget) -> Real:
    if node.name in ("sin", "cos", "tan"):
        arg = node.args[0]
        degrees = isinstance(arg, Call) and arg.name == "deg"
        angle = evaluate(arg.args[0] if isinstance(arg, Call) and degrees else arg, budget)
        if node.name == "tan":
            return numbers.tangent(angle, degrees=degrees, budget=budget)
        return numbers.sine(angle, degrees=degrees, quarter=node.name == "cos", budget=budget)
    if node.name == "ln" and node.args[0] == Const("e"):
        return Fraction(1)
    values = [evaluate(arg, budget) for arg in node.args]
    for value in values:
        budget.charge(numbers.bits(value))
    return _FUNCTIONS[node.name](values, budget)
