"""The tree of a sum and its canonical text, which is read back to the same tree. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from adapters.math_calculator.tokens import NotMath

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


def ratio(value: Fraction) -> Node:
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


def is_operation(node: Node) -> bool:
    """False for what is only a number: 42, -5, 50%, pi."""
    while isinstance(node, Neg | Percent):
        node = node.arg
    if isinstance(node, Call) and node.name == "deg":
        return False
    return not isinstance(node, Num | Const) or (isinstance(node, Num) and node.value is None)


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
