"""English question forms whose parts are expressions: "what percent of 80 is 20" and the like, as a table.

Rules: a form must match the whole text and each of its parts must parse whole; the result is a tree of the
grammar,
so its canonical text reads back without these forms. Forms look at texts of at most ``FORM_CHARS_MAX``
characters, lists at any length that the tokeniser takes. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TypeAlias

from adapters.math_calculator.parser import parse
from adapters.math_calculator.tokens import NotMath, roman_value, tokenise
from adapters.math_calculator.tree import ARGUMENTS_MAX, Bin, Factorial, Node, Num, Percent, call, number
from adapters.math_calculator.words import ENGLISH
from node.language import tables
from node.language.tables import later, read_table

FORM_CHARS_MAX = 240


_DATA = read_table(__package__, "forms.toml")


def expression(text: str) -> Node:
    """The tree of an English expression. Raises ``NotMath``."""
    return parse(tokenise(text, ENGLISH)).node


def _percent_amount(text: str) -> Node:
    node = expression(text)
    if not isinstance(node, Percent):
        raise NotMath("not a percentage")
    return node


_LIST_NAMES = {name: meant for meant, names in _DATA["lists"].items() for name in names}
_LIST = later(
    rf"(?:the )?({'|'.join(sorted(_LIST_NAMES, key=len, reverse=True))})(?: value| number)?(?: of| between| "
    rf"among):?"
    r"(?: the)?(?: following)?(?: numbers?| values)?:? ?\(?([^()]+)\)?"
)
_RANGE = later(
    r"(?:the )?(?:sum|total) of(?: all)?(?: of)?(?: the)?(?: numbers| integers| whole numbers| natural "
    r"numbers)?"
    r"(?: from| between)? (\d{1,30}|one|zero) (?:to|through|up to) (\d{1,30}|[a-z]+(?: [a-z]+)?)"
)
_FIRST_N = later(
    r"(?:the )?(?:sum|total) of(?: all)?(?: of)? the first (\d{1,30}|[a-z]+) (?:natural |positive |whole "
    r"|counting )?"
    r"(?:numbers|integers|naturals)"
)
_ADD = later(r"(add|sum|multiply) (?:together )?(.+)")


_PRICES = re.compile(r"\d+(?:,\d\d)?(?:(?: ?(?:and|&|\+|;) ?| )\d+(?:,\d\d)?)+")
"""Numbers with a comma and two places: no list, for no comma has a blank behind it."""


def items(text: str) -> list[Node]:
    """The members of a list: 4, 8 and 15. The comma of "1,234" belongs to the number."""
    if _PRICES.fullmatch(text):
        text = text.replace(",", ".")  # "12,50 and 7,25"
    unified = re.sub(r"(?:, ?and |\band\b|&|;)", ", ", text)
    parts = re.split(r",(?!\d{3}(?!\d))|, ", unified)
    if len([part for part in parts if part.strip()]) < 2 and "," in text:
        parts = text.split(",")
    members = [part.strip() for part in parts if part.strip()]
    row = re.compile(r"-?[\d.]+(?: -?[\d.]+)+")
    members = [one for member in members for one in (member.split() if row.fullmatch(member) else [member])]
    if len(members) > ARGUMENTS_MAX:
        raise NotMath("too long a list")
    return [expression(member) for member in members]


def _list_question(text: str) -> Node | None:
    match = _FIRST_N.fullmatch(text)
    if match:
        return call("sumrange", number(1), expression(match[1]))
    match = _RANGE.fullmatch(text)
    if match:
        return call("sumrange", expression(match[1]), expression(match[2]))
    match = _LIST.fullmatch(text)
    if match:
        members = items(match[2])
        if len(members) >= 2:
            name = _LIST_NAMES[match[1]]
            if name == "product" and len(members) == 2:
                return Bin("*", *members)
            if name == "sum" and len(members) == 2:
                return Bin("+", *members)
            return call(name, *members)
    match = _ADD.fullmatch(text)
    if match and (" and " in text or "," in text):
        members = items(match[2])
        if len(members) == 2:
            return Bin("*" if match[1] == "multiply" else "+", *members)
        if len(members) > 2:
            return call("product" if match[1] == "multiply" else "sum", *members)
    return None


# --- forms: a pattern whose groups are expressions, and what they make ---------------------------------

Build: TypeAlias = Callable[..., Node]


def _percent_of(part: str, whole: str) -> Node:
    return call("percentof", expression(part), expression(whole))


def _of_what(part: str, percent: str) -> Node:
    return Bin("/", expression(part), _percent_amount(percent))


def _more(base: str, percent: str) -> Node:
    return Bin("+", expression(base), _percent_amount(percent))


def _fewer(base: str, percent: str) -> Node:
    return Bin("-", expression(base), _percent_amount(percent))


def _portion(percent: str, base: str) -> Node:
    return Bin("of", _percent_amount(percent), expression(base))


def _binary(op: str) -> Build:
    return lambda left, right: Bin(op, expression(left), expression(right))


def _function(name: str) -> Build:
    return lambda *args: call(name, *[expression(arg) for arg in args])


_UNIT_PLACES = {name: int(place) for place, names in _DATA["places"].items() for name in names}


def _nearest(value: str, place: str) -> Node:
    if place not in _UNIT_PLACES:
        raise NotMath("an unknown place")
    return call("round", expression(value), number(_UNIT_PLACES[place]))


def _rounded(value: str, places: str) -> Node:
    return call("round", expression(value), expression(places))


_BASES = {name: int(base) for base, names in _DATA["bases"].items() for name in names}


def _to_base(value: str, base: str) -> Node:
    return call("base", expression(value), number(_BASES[base]))


def _from_base(digits: str, source: str, target: str) -> Node:
    base = _BASES[source]
    plain = re.sub(r"^0[xbo]", "", digits.replace(" ", ""))
    try:
        value = int(plain, base)
    except ValueError as exc:
        raise NotMath("not a number of that base") from exc
    prefix = {2: "0b", 8: "0o", 16: "0x", 10: ""}[base]
    return call("base", Num(Fraction(value), prefix + plain if prefix else ""), number(_BASES[target]))


def _from_roman(letters: str) -> Node:
    return call("base", Num(Fraction(roman_value(letters)), f"roman#{letters}"), number(10))


def _simplify(value: str) -> Node:
    node = expression(value)
    if not isinstance(node, Bin):
        raise NotMath("nothing to simplify")
    return call("asfraction", node)


def _as_decimal(value: str) -> Node:
    if re.fullmatch(r"[01]{3,}", value):
        return _from_base(value, "binary", "decimal")  # 1010 "in decimal" has no other sense
    node = expression(value)
    if isinstance(node, Num) and node.value is not None and node.value.denominator == 1 and not node.text:
        raise NotMath("a whole number is a decimal number already")
    return call("asdecimal", node)


def _compare(left: str, word: str, right: str) -> Node:
    larger = {"bigger", "greater", "larger", "more", "higher"}
    return call("isgreater" if word in larger else "isless", expression(left), expression(right))


def _counted_from(amount: str, word: str, base: str) -> Node:
    """ "3 less than 10" is 7: without "is" it counts from the second number, with "is" it compares."""
    return Bin("+" if word == "more" else "-", expression(base), expression(amount))


def _choose(whole: str, part: str, *, ordered: bool = False) -> Node:
    """The number of ways to take ``part`` of ``whole``, in order or not, by factorials."""
    n, k = expression(whole), expression(part)
    ways = Factorial(Bin("-", n, k))
    return Bin("/", Factorial(n), ways if ordered else Bin("*", Factorial(k), ways))


def _which(word: str, rest: str) -> Node:
    members = items(rest.replace(" or ", ", "))
    if len(members) < 2:
        raise NotMath("nothing to compare")
    larger = word in (
        "bigger",
        "greater",
        "larger",
        "more",
        "higher",
        "biggest",
        "greatest",
        "largest",
        "highest",
    )
    return call("max" if larger else "min", *members)


def _difference(left: str, right: str) -> Node:
    first, second = expression(left), expression(right)
    if (
        isinstance(first, Num)
        and isinstance(second, Num)
        and first.value is not None
        and second.value is not None
    ) and first.value < second.value:
        first, second = second, first
    return Bin("-", first, second)


def _count_in(part: str, whole: str) -> Node:
    """ "how many 7s are in 63" """
    if not re.fullmatch(r"[\d.]+'?s", part):
        raise NotMath("not a count of a number in another")
    return Bin("/", expression(whole), expression(part.rstrip("s").rstrip("'")))


_BUILDS: Mapping[str, Build] = {
    "percent of": _percent_of,
    "whole of": _of_what,
    "more": _more,
    "fewer": _fewer,
    "portion": _portion,
    "double": lambda a: Bin("*", number(2), expression(a)),
    "triple": lambda a: Bin("*", number(3), expression(a)),
    "quadruple": lambda a: Bin("*", number(4), expression(a)),
    "half": lambda a: Bin("/", expression(a), number(2)),
    "negative": lambda a: Bin("-", number(0), expression(a)),
    "expression": expression,
    "choose": _choose,
    "arrange": lambda n, k: _choose(n, k, ordered=True),
    "count in": _count_in,
    "difference": _difference,
    "nearest": _nearest,
    "rounded": _rounded,
    "to base": _to_base,
    "from base": _from_base,
    "from base first": lambda source, digits, target: _from_base(digits, source, target),
    "base or decimal": lambda value, base: (
        _as_decimal(value) if base == "decimal" and not value.startswith("0") else _to_base(value, base)
    ),
    "from roman": _from_roman,
    "simplify": _simplify,
    "counted from": _counted_from,
    "compare": _compare,
    "which": _which,
}
"""What a form of the table makes; a name that is not here is that of an operator or of a function."""


def _build(name: str) -> Build:
    if name in _BUILDS:
        return _BUILDS[name]
    return _function(name) if name.isalpha() and name != "mod" else _binary(name)


_FORMS = tuple(
    (tables.pattern((), _DATA["words"], form["pattern"]), _build(form["makes"]), form.get("swapped", False))
    for form in _DATA["forms"]
)
_HINT = later(
    r"percent|per "
    r"cent|%|increase|raise|grow|decrease|reduce|lower|cut|discount|add|subtract|take|deduct|multiply|divide"
    r"|how many|difference|quotient|ratio|remainder|log|round|decimal|significant|s\.?f|sig "
    r"fig|d\.?p|base|binary|hex"
    r"|octal|denary|roman|arabic|fraction|simplify|than|equal|same "
    r"as|=|bigger|larger|greater|smaller|less|higher"
    r"|prime|even|odd|divisible|biggest|smallest|largest|digits|a number"
    r"|tip|tax|vat|price|split|share|ways|double|triple|quadruple|halve|choose|pick|select|\d ?[cp] ?\d|more"
    r"|negative of|opposite of"
)
WORDS = frozenset(word for form, _, _ in _FORMS for word in re.findall(r"[a-z]{2,}", form.pattern))
"""The words that the forms are made of."""


def understand(text: str) -> Node | None:
    """The tree of the first form that ``text`` (folded, lower case) is, or None."""
    try:
        found = _list_question(text)
        if found is not None:
            return found
    except NotMath:
        pass  # no list of numbers; another form may fit
    if len(text) > FORM_CHARS_MAX or not _HINT.search(text):
        return None
    for pattern, build, is_swapped in _FORMS:
        match = pattern.fullmatch(text)
        if match is None:
            continue
        try:
            return build(*(reversed(match.groups()) if is_swapped else match.groups()))
        except NotMath:
            continue
    return None
