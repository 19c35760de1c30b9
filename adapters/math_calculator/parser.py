"""The grammar: tokens to a tree, a tree to canonical text and to a value.

    sum      = product (("+" | "-") product)*
    product  = unary (("*" | "/" | "mod" | "of" after a fraction | nothing) unary)*
    unary    = ("-" | "+") unary | power
    power    = postfix ["^" unary] | percentage ("of" | "off") unary
    postfix  = primary ("!" | "%" | "squared" | "cubed" | superscript | "degrees")*
    primary  = number | constant | "(" sum ")" | function ["of"] (arguments | power)

Rules: "200 + 10%" adds ten percent of 200; "%" before an operand is the remainder; "A into B" is B / A.
Canonical text (``show``) reads back to the same tree. ``evaluate`` never recurses deeper than parsing
allowed.
Pure.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from adapters.math_calculator import numbers
from adapters.math_calculator.numbers import Budget, Real, Refused, Undefined
from adapters.math_calculator.tokens import NotMath, Token

DEPTH_MAX = 40
ARGUMENTS_MAX = 200


@dataclass(frozen=True, slots=True)
class Num:
    """A non-negative numeral; ``text`` is how it is written where that is not plain decimal (0xff, a Roman
    numeral, a literal over the limit, whose ``value`` is None)."""

    value: Fraction | None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Const:
    """pi or e."""

    name: str


@dataclass(frozen=True, slots=True)
class Neg:
    """Minus."""

    arg: Node


@dataclass(frozen=True, slots=True)
class Bin:
    """``op`` is one of + - * / ^ mod of."""

    op: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Percent:
    """So many hundredths."""

    arg: Node


@dataclass(frozen=True, slots=True)
class Factorial:
    """n!"""

    arg: Node


@dataclass(frozen=True, slots=True)
class Call:
    """A function of the tables below by its canonical name."""

    name: str
    args: tuple[Node, ...]


Node: TypeAlias = Num | Const | Neg | Bin | Percent | Factorial | Call


def number(value: int | Fraction) -> Node:
    """A literal."""
    exact = Fraction(value)
    return Neg(Num(-exact)) if exact < 0 else Num(exact)


def _ratio(value: Fraction) -> Node:
    """A fraction said in words or with a bar: always a division, so that its text reads back."""
    if value.denominator == 1:
        return Num(value)
    whole, rest = divmod(value, 1)
    part = Bin("/", Num(Fraction(rest.numerator)), Num(Fraction(rest.denominator)))
    return Bin("+", Num(Fraction(whole)), part) if whole else part


# name -> (fewest, most arguments)
ARITY: dict[str, tuple[int, int]] = {
    "sqrt": (1, 1), "cbrt": (1, 1), "root": (2, 2), "abs": (1, 1), "ln": (1, 1), "log": (1, 2), "exp": (1, 1),
    "sin": (1, 1), "cos": (1, 1), "tan": (1, 1), "deg": (1, 1), "floor": (1, 1), "ceil": (1, 1),
    "round": (1, 2), "sigfig": (2, 2), "min": (2, ARGUMENTS_MAX), "max": (2, ARGUMENTS_MAX),
    "gcd": (2, ARGUMENTS_MAX), "lcm": (2, ARGUMENTS_MAX), "sum": (2, ARGUMENTS_MAX),
    "average": (2, ARGUMENTS_MAX), "median": (2, ARGUMENTS_MAX), "product": (2, ARGUMENTS_MAX),
    "sumrange": (2, 2), "percentof": (2, 2), "percentchange": (2, 2),
}  # fmt: skip
TOP_ARITY: dict[str, tuple[int, int]] = {
    "base": (2, 2), "roman": (1, 1), "asfraction": (1, 1), "asdecimal": (1, 1), "aspercent": (1, 1),
    "isprime": (1, 1), "iseven": (1, 1), "isodd": (1, 1), "isdivisible": (2, 2), "isgreater": (2, 2),
    "isless": (2, 2), "isequal": (2, 2),
}  # fmt: skip
"""These shape the answer and stand at the top of a question only."""

_REWRITTEN: dict[str, Callable[[Node], Node]] = {
    "factorial": Factorial,
    "square": lambda arg: Bin("^", arg, number(2)),
    "cube": lambda arg: Bin("^", arg, number(3)),
    "double": lambda arg: Bin("*", number(2), arg),
    "triple": lambda arg: Bin("*", number(3), arg),
    "twice": lambda arg: Bin("*", number(2), arg),
    "thrice": lambda arg: Bin("*", number(3), arg),
    "reciprocal": lambda arg: Bin("/", number(1), arg),
}


def call(name: str, *args: Node) -> Node:
    """A function applied, in canonical form. Raises ``NotMath`` on a wrong number of arguments."""
    if name == "modulo" and len(args) == 2:
        return Bin("mod", args[0], args[1])
    if name in _REWRITTEN and len(args) == 1:
        return _REWRITTEN[name](args[0])
    fewest, most = ARITY.get(name) or TOP_ARITY.get(name) or (1, 0)
    if not fewest <= len(args) <= most:
        raise NotMath(f"{name} does not take {len(args)} values")
    if name == "log" and len(args) == 1:
        args = (*args, number(10))
    return Call(name, args)


_UNMISTAKABLE = frozenset({"√", "∛", "sqrt", "cbrt", "cos", "ln", "factorial", "twice", "thrice"})
"""Function names that are no ordinary words, so that "sqrt 16" alone is a calculation."""


class _Parser:
    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.at = 0
        self.depth = 0
        self.bare_calls = False

    def peek(self) -> Token | None:
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def op(self, *texts: str) -> str:
        """Take the next token if it is one of these operators, and return it, else nothing."""
        token = self.peek()
        if token is not None and token.kind == "op" and token.text in texts:
            self.at += 1
            return token.text
        return ""

    def starts_operand(self) -> bool:
        token = self.peek()
        return token is not None and (token.kind in ("num", "frac", "func", "const") or token.text == "(")

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > DEPTH_MAX:
            raise Refused(
                f"the expression is nested deeper than {DEPTH_MAX} levels, which is this calculator's limit"
            )

    def sum(self) -> Node:
        left = self.product()
        while op := self.op("+", "-"):
            left = Bin(op, left, self.product())
        return left

    def product(self) -> Node:
        left = self.unary()
        while True:
            if op := self.op("*", "/", "mod"):
                left = Bin(op, left, self.unary())
            elif self.op("into"):
                left = Bin("/", self.unary(), left)
            elif (isinstance(left, Bin) and left.op == "/" and self.op("of")) or self.implied():
                left = Bin("*", left, self.unary())
            else:
                return left

    def implied(self) -> bool:
        """A product without a sign: 2(3+4), (1+2)(3), 2 pi, 2 sqrt(9); never two numbers in a row."""
        token = self.peek()
        if token is None:
            return False
        return token.kind in ("func", "const") or (token.kind == "op" and token.text == "(")

    def unary(self) -> Node:
        op = self.op("-", "+", "neg")
        if not op:
            return self.power()
        self.deeper()
        arg = self.unary()
        self.depth -= 1
        return arg if op == "+" else Neg(arg)

    def power(self) -> Node:
        base = self.postfix()
        if isinstance(base, Percent):
            if self.op("of"):
                return self.nested(lambda: Bin("of", base, self.unary()))
            if self.op("off"):
                return self.nested(lambda: Bin("-", self.unary(), base))
        if self.op("^"):
            return self.nested(lambda: Bin("^", base, self.unary()))
        return base

    def nested(self, make: Callable[[], Node]) -> Node:
        self.deeper()
        node = make()
        self.depth -= 1
        return node

    def postfix(self) -> Node:
        node = self.primary()
        count = 0
        while True:
            token = self.peek()
            if token is None:
                return node
            if token.kind == "sup":
                self.at += 1
                node = Bin("^", node, number(token.index))
            elif self.op("!"):
                node = Factorial(node)
            elif self.op("squared"):
                node = Bin("^", node, number(2))
            elif self.op("cubed"):
                node = Bin("^", node, number(3))
            elif self.op("deg"):
                node = Call("deg", (node,))
            elif token.kind == "op" and token.text == "%":
                self.at += 1
                if self.starts_operand():
                    self.at -= 1
                    self.tokens[self.at] = Token("op", "mod")
                    return node
                node = Percent(node)
            else:
                return node
            count += 1
            if count > DEPTH_MAX:
                raise Refused(
                    f"more than {DEPTH_MAX} signs after one number are beyond this calculator's limit"
                )

    def primary(self) -> Node:
        token = self.peek()
        if token is None:
            raise NotMath("an operand is missing")
        self.at += 1
        if token.kind == "num":
            return Num(token.value, token.text)
        if token.kind == "frac" and token.value is not None:
            node = _ratio(token.value)
            if self.op("of"):
                return self.nested(lambda: Bin("*", node, self.unary()))
            return node
        if token.kind == "const":
            return Const(token.text)
        if token.kind == "func":
            return self.function(token)
        if token.kind == "op" and token.text == "(":
            self.deeper()
            node = self.sum()
            if not self.op(")"):
                raise NotMath("a parenthesis is not closed")
            self.depth -= 1
            return node
        raise NotMath(f"unexpected {token.text!r}")

    def function(self, token: Token) -> Node:
        top = self.at == 1
        if token.text in TOP_ARITY and not top:
            raise NotMath(f"{token.text} is a whole question")
        self.deeper()
        args: list[Node] = []
        introduced = self.op("of")
        if self.op("("):
            args.append(self.sum())
            while self.op(","):
                args.append(self.sum())
            if not self.op(")"):
                raise NotMath("a parenthesis is not closed")
            if token.text in TOP_ARITY and self.peek() is not None:
                raise NotMath(f"{token.text} is a whole question")
        else:
            if not introduced:
                self.bare_calls = token.text not in _UNMISTAKABLE or self.bare_calls
            args.append(self.unary())
            if not introduced and isinstance(args[0], Call) and args[0].name == "deg":
                self.bare_calls = False
        self.depth -= 1
        if token.index:
            args.append(number(token.index))
        return call({"√": "sqrt", "∛": "cbrt"}.get(token.text, token.text), *args)


@dataclass(frozen=True, slots=True)
class Parsed:
    """``is_bare_call`` marks a function applied without parentheses or "of": log 4."""

    node: Node
    is_bare_call: bool


def parse(tokens: list[Token]) -> Parsed:
    """The tree of all ``tokens``. Raises ``NotMath`` when they are not one expression, ``Refused`` when they
    nest too deep."""
    parser = _Parser(list(tokens))
    node = parser.sum()
    if parser.peek() is not None:
        raise NotMath("something is left over")
    return Parsed(node, parser.bare_calls)


def is_operation(node: Node) -> bool:
    """False for what is only a number: 42, -5, 50%, pi."""
    while isinstance(node, Neg | Percent):
        node = node.arg
    if isinstance(node, Call) and node.name == "deg":
        return False
    return not isinstance(node, Num | Const) or (isinstance(node, Num) and node.value is None)


# --- text --------------------------------------------------------------------------------------------

_RANK = {"+": 1, "-": 1, "*": 2, "/": 2, "mod": 2, "of": 3, "^": 4}


def decimal_text(value: Fraction) -> str:
    """A terminating decimal written out; in scientific notation when it is long."""
    if value.denominator == 1 and value < 10**40:
        return str(value.numerator)
    twos, fives, rest = 0, 0, value.denominator
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    places = max(twos, fives)
    digits = digits_of(value.numerator * 10**places // value.denominator)
    if places == 0:
        trimmed = digits.rstrip("0")
        return f"{trimmed}e{len(digits) - len(trimmed)}" if len(digits) - len(trimmed) > 20 else digits
    if places > 40:
        return f"{digits}e-{places}"
    digits = digits.rjust(places + 1, "0")
    return f"{digits[:-places]}.{digits[-places:]}"


def digits_of(value: int) -> str:
    """The decimal digits of a non-negative integer of any size within the limits (``str`` stops at 4,300)."""
    if value.bit_length() < 13_000:
        return str(value)
    high, low = divmod(value, 10**3_000)
    return digits_of(high) + digits_of(low).rjust(3_000, "0")


def _rank(node: Node) -> int:
    if isinstance(node, Bin):
        return _RANK[node.op]
    return 3 if isinstance(node, Neg) else 5 if isinstance(node, Percent | Factorial) else 6


def show(node: Node, *, spaced: bool = False) -> str:
    """Canonical text with as few parentheses as the grammar needs; ``spaced`` is the form for people."""

    def wrap(child: Node, rank: int) -> str:
        text = show(child, spaced=spaced)
        return text if _rank(child) >= rank else f"({text})"

    if isinstance(node, Num):
        if node.value is None or node.text:
            return node.text.removeprefix("roman#").upper() if spaced and node.text[:1] == "r" else node.text
        return decimal_text(node.value)
    if isinstance(node, Const):
        return "π" if spaced and node.name == "pi" else node.name
    if isinstance(node, Neg):
        return "-" + wrap(node.arg, 3)
    if isinstance(node, Percent):
        return wrap(node.arg, 5) + "%"
    if isinstance(node, Factorial):
        return wrap(node.arg, 5) + "!"
    if isinstance(node, Call):
        if spaced and node.name == "deg":
            return wrap(node.args[0], 6) + "°"
        return f"{node.name}({(', ' if spaced else ';').join(show(arg, spaced=spaced) for arg in node.args)})"
    left, right = {
        "+": (1, 2),
        "-": (1, 2),
        "*": (2, 3),
        "/": (2, 3),
        "mod": (2, 3),
        "of": (5, 3),
        "^": (5, 3),
    }[node.op]
    sign = node.op
    if sign in ("mod", "of") or (spaced and sign != "^"):
        sign = f" {'×' if sign == '*' else sign} "
    shown = wrap(node.right, right)
    return wrap(node.left, left) + sign + (f"({shown})" if spaced and isinstance(node.right, Neg) else shown)


# --- value -------------------------------------------------------------------------------------------


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
