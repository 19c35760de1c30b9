"""English question forms whose parts are expressions: "what percent of 80 is 20" and the like, as a table.

Rules: a form must match the whole text and each of its parts must parse whole; the result is a tree of the
grammar,
so its canonical text reads back without these forms. Forms look at texts of at most ``FORM_CHARS_MAX``
characters, lists at any length that the tokeniser takes. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import TypeAlias

from adapters.math_calculator.parser import (
    ARGUMENTS_MAX,
    Bin,
    Factorial,
    Node,
    Num,
    Percent,
    call,
    number,
    parse,
)
from adapters.math_calculator.tokens import NotMath, roman_value, tokenise
from adapters.math_calculator.words import ENGLISH

FORM_CHARS_MAX = 240


def expression(text: str) -> Node:
    """The tree of an English expression. Raises ``NotMath``."""
    return parse(tokenise(text, ENGLISH)).node


def _percent_amount(text: str) -> Node:
    node = expression(text)
    if not isinstance(node, Percent):
        raise NotMath("not a percentage")
    return node


_LIST_NAMES = {
    "average": "average", "mean": "average", "arithmetic mean": "average", "avg": "average",
    "median": "median",
    "sum": "sum", "total": "sum", "product": "product", "min": "min", "minimum": "min", "smallest": "min",
    "lowest": "min", "least": "min", "max": "max", "maximum": "max", "largest": "max", "biggest": "max",
    "highest": "max", "greatest": "max", "gcd": "gcd", "gcf": "gcd", "hcf": "gcd",
    "greatest common divisor": "gcd", "greatest common factor": "gcd", "highest common factor": "gcd",
    "lcm": "lcm", "least common multiple": "lcm", "lowest common multiple": "lcm",
}  # fmt: skip
_LIST = re.compile(
    rf"(?:the )?({'|'.join(sorted(_LIST_NAMES, key=len, reverse=True))})(?: value| number)?(?: of| between| "
    rf"among):?"
    r"(?: the)?(?: following)?(?: numbers?| values)?:? ?\(?([^()]+)\)?"
)
_RANGE = re.compile(
    r"(?:the )?(?:sum|total) of(?: all)?(?: of)?(?: the)?(?: numbers| integers| whole numbers| natural "
    r"numbers)?"
    r"(?: from| between)? (\d{1,30}|one|zero) (?:to|through|up to) (\d{1,30}|[a-z]+(?: [a-z]+)?)"
)
_FIRST_N = re.compile(
    r"(?:the )?(?:sum|total) of(?: all)?(?: of)? the first (\d{1,30}|[a-z]+) (?:natural |positive |whole "
    r"|counting )?"
    r"(?:numbers|integers|naturals)"
)
_ADD = re.compile(r"(add|sum|multiply) (?:together )?(.+)")


def items(text: str) -> list[Node]:
    """The members of a list: 4, 8 and 15. The comma of "1,234" belongs to the number."""
    unified = re.sub(r"(?:, ?and |\band\b|&|;)", ", ", text)
    parts = re.split(r",(?!\d{3}(?!\d))|, ", unified)
    if len([part for part in parts if part.strip()]) < 2 and "," in text:
        parts = text.split(",")
    members = [part.strip() for part in parts if part.strip()]
    if len(members) == 1 and re.fullmatch(r"-?[\d.]+(?: -?[\d.]+)+", members[0]):
        members = members[0].split(" ")
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


_UNIT_PLACES = {
    "whole number": 0, "integer": 0, "unit": 0, "one": 0, "whole": 0, "ten": -1, "tens": -1, "hundred": -2,
    "thousand": -3, "ten thousand": -4, "million": -6, "tenth": 1, "tenths": 1, "hundredth": 2,
    "hundredths": 2, "thousandth": 3, "thousandths": 3, "cent": 2, "dollar": 0, "percent": 2,
}  # fmt: skip


def _nearest(value: str, place: str) -> Node:
    if place not in _UNIT_PLACES:
        raise NotMath("an unknown place")
    return call("round", expression(value), number(_UNIT_PLACES[place]))


def _rounded(value: str, places: str) -> Node:
    return call("round", expression(value), expression(places))


_BASES = {
    "binary": 2, "base 2": 2, "octal": 8, "base 8": 8, "hex": 16, "hexadecimal": 16, "base 16": 16,
    "decimal": 10,
    "base 10": 10, "denary": 10, "base two": 2, "base ten": 10, "base sixteen": 16,
}  # fmt: skip
_BASE = "|".join(sorted(_BASES, key=len, reverse=True))


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


def _increase(base: str, amount: str) -> Node:
    return Bin("+", expression(base), expression(amount))


def _decrease(base: str, amount: str) -> Node:
    return Bin("-", expression(base), expression(amount))


_SHARES = (
    r"(?:people|persons|parts|portions|ways|friends|groups|kids|children|pieces|shares|of us|students|teams"
    r"|families|players)"
)
_FAIRLY = r"(?:evenly |equally |fairly )?"
_BILL = r"(?: (?:bill|check|meal|dinner|lunch|tab|order|purchase|item|total|price|tip))?"
_BILL_OF = (
    r"(?:(?:an?|the|this|our|my) (?:(?:bill|check|tab|total|cost|rent|sum|amount|order) (?:of|for) )?)?"
)
_COMPARED = r"(bigger|greater|larger|more|higher|smaller|less|lower|fewer)"

_FORMS: tuple[tuple[str, Build], ...] = (
    (
        rf"(?:the )?({_BASE})(?: form| representation| value)? (?:of|for) (.+)",
        lambda base, value: _to_base(value, base),
    ),
    (
        r"(?:what )?(?:percent|percentage|per cent|%)(?: is)? of (.+) (?:is|are|equals) (.+)",
        lambda whole, part: _percent_of(part, whole),
    ),
    (r"(?:what )?(?:percent|percentage|per cent|%) is (.+) (?:of|out of) (.+)", _percent_of),
    (
        r"(.+) (?:is|are|equals) (?:what|which|how many) (?:percent|percentage|per cent|%) of (.+)",
        _percent_of,
    ),
    (r"(.+) (?:as|in) (?:a )?(?:percent|percentage|per cent|%) of (.+)", _percent_of),
    (r"(.+) out of (.+?) (?:as|in|to) (?:a )?(?:percent|percentage|per cent|%)", _percent_of),
    (
        r"(.+) (?:is|are|equals) (.+(?:%|percent|per cent)) of (?:what|what number|which number|how much)",
        _of_what,
    ),
    (
        r"(?:what )?(?:number )?(?:is )?(.+(?:%|percent|per cent)) of (?:what|what number|which number) "
        r"(?:is|equals) (.+)",
        lambda percent, part: _of_what(part, percent),
    ),
    (r"(?:increase|raise|grow) (.+) by (.+(?:%|percent|per cent))", _more),
    (r"(?:decrease|reduce|lower|cut|discount) (.+) by (.+(?:%|percent|per cent))", _fewer),
    (r"(.+) (?:increased|raised|up) by (.+(?:%|percent|per cent))", _more),
    (r"(.+) (?:decreased|reduced|lowered|discounted|down|cut) by (.+(?:%|percent|per cent))", _fewer),
    (r"(.+(?:%|percent|per cent)) (?:more|higher|greater|bigger|larger) than (.+)", lambda p, b: _more(b, p)),
    (r"(.+(?:%|percent|per cent)) (?:less|lower|fewer|smaller) than (.+)", lambda p, b: _fewer(b, p)),
    (
        r"(?:an? )?(.+(?:%|percent|per cent)) (?:increase|raise|rise|markup|mark-up|growth"
        r"|surcharge) "
        r"(?:on|of|from|to|in|over) (?:an? )?(.+)",
        lambda p, b: _more(b, p),
    ),
    (
        r"(?:an? )?(.+(?:%|percent|per cent)) (?:decrease|reduction|cut|drop|markdown|mark-down"
        r"|loss) "
        r"(?:on|of|from|to|in|off) (?:an? )?(.+)",
        lambda p, b: _fewer(b, p),
    ),
    (
        r"(.+) (?:after|with|plus) (?:an? )?(.+(?:%|percent|per cent))"
        r" (?:increase|raise|rise|markup|surcharge)",
        _more,
    ),
    (
        r"(.+) (?:after|with|minus|less) (?:an? )?(.+(?:%|percent|per cent))"
        r" (?:decrease|reduction|discount|cut|drop|off)",
        _fewer,
    ),
    (r"(?:the )?price of (.+) (?:increased|raised|marked up) by (.+(?:%|percent|per cent))", _more),
    (r"add (.+(?:%|percent|per cent)) to (.+)", lambda p, b: _more(b, p)),
    (
        r"(?:take|subtract|deduct|remove) (.+(?:%|percent|per cent)) (?:off|from|off of) (.+)",
        lambda p, b: _fewer(b, p),
    ),
    (r"(.+) with (?:a )?(.+(?:%|percent|per cent)) (?:off|discount)", _fewer),
    (r"(?:a )?(.+(?:%|percent|per cent)) discount (?:on|off|from) (.+)", lambda p, b: _fewer(b, p)),
    (
        r"(?:an? )?(.+(?:%|percent|per cent)) (?:tip|tax|vat|commission|interest|gratuity|sales tax)"
        rf" (?:on|of|for) (?:an? |the |my )?(.+?){_BILL}",
        _portion,
    ),
    (
        r"(?:the |a )?(?:tip|tax|vat|commission|gratuity|sales tax) (?:on|of|for) (?:an? |the |my )?"
        rf"(.+?){_BILL} (?:at|with|of) (.+(?:%|percent|per cent))",
        lambda base, percent: _portion(percent, base),
    ),
    (
        r"add (?:an? )?(.+(?:%|percent|per cent)) (?:tip|tax|vat|commission|gratuity|sales tax) to"
        rf" (?:an? |the |my )?(.+?){_BILL}",
        lambda percent, base: _more(base, percent),
    ),
    (
        r"(.+) (?:with|plus|and) (?:an? )?(.+(?:%|percent|per cent))"
        r" (?:tip|tax|vat|commission|gratuity|sales tax)",
        _more,
    ),
    (
        r"(?:the )?(?:sale |final |discounted |new )?price of (?:an? )?(.+) (?:at|with|after) (?:an? )?"
        r"(.+(?:%|percent|per cent)) (?:off|discount)",
        _fewer,
    ),
    (
        r"(?:the )?(?:percent|percentage|%|per cent) (?:change|increase|decrease|difference|growth|drop)"
        r" (?:from|between) (.+) (?:to|and) (.+)",
        _function("percentchange"),
    ),
    (r"(?:increase|raise) (.+) by (.+)", _increase),
    (r"(?:decrease|reduce) (.+) by (.+)", _decrease),
    (r"add (.+) to (.+)", lambda a, b: Bin("+", expression(b), expression(a))),
    (
        r"(?:subtract|take away|take|deduct) (.+) from (.+)",
        lambda a, b: Bin("-", expression(b), expression(a)),
    ),
    (
        r"(?:take|subtract) (.+) away from (.+)",
        lambda a, b: Bin("-", expression(b), expression(a)),
    ),
    (r"multiply (.+) (?:by|with|times) (.+)", _binary("*")),
    (r"divide (.+) by (.+)", _binary("/")),
    (
        rf"(?:split|share|divide) {_BILL_OF}(.+?) {_FAIRLY}(?:between|among|amongst|into|in|by) (.+?)"
        rf" (?:equal )?{_SHARES}",
        _binary("/"),
    ),
    (
        rf"(?:split|share) {_BILL_OF}(.+?) {_FAIRLY}(?:between|among|amongst|into|in|by) (.+)",
        _binary("/"),
    ),
    (rf"split {_BILL_OF}(.+?){_BILL} {_FAIRLY}(?:in |into )?(\S+) ways", _binary("/")),
    (
        rf"(.+?) (?:split|shared|divided) {_FAIRLY}(?:between |among |amongst |into |by )?(.+?)"
        rf" (?:equal )?{_SHARES}",
        _binary("/"),
    ),
    (
        rf"(.+?) (?:split|shared|divided) {_FAIRLY}(?:between|among|amongst|by) (.+)",
        _binary("/"),
    ),
    (r"double (.+)", lambda a: Bin("*", number(2), expression(a))),
    (r"triple (.+)", lambda a: Bin("*", number(3), expression(a))),
    (r"quadruple (.+)", lambda a: Bin("*", number(4), expression(a))),
    (r"halve (.+)", lambda a: Bin("/", expression(a), number(2))),
    (r"(.+) doubled", lambda a: Bin("*", number(2), expression(a))),
    (r"(.+) tripled", lambda a: Bin("*", number(3), expression(a))),
    (r"(.+) halved", lambda a: Bin("/", expression(a), number(2))),
    (r"(?:the )?(?:number of )?(?:combinations? (?:of )?)?(\d{1,6}) choose (\d{1,6})", _choose),
    (r"(\d{1,6}) ?c ?(\d{1,6})", _choose),
    (r"(\d{1,6}) ?p ?(\d{1,6})", lambda n, k: _choose(n, k, ordered=True)),
    (
        r"how many ways (?:are there |can (?:you|i|we|one) )?(?:to )?(?:choose|pick|select) (\S+)"
        r" (?:\w+ )?(?:from|out of|of) (\S+)(?: \w+)?",
        lambda k, n: _choose(n, k),
    ),
    (r"divide (.+) into (.+)", lambda a, b: Bin("/", expression(b), expression(a))),
    (r"(.+) divided into (.+)", _binary("/")),
    (
        r"how many times (?:does|do|will|can|is) (.+) (?:go|fit|goes|contained) (?:into|in) (.+)",
        lambda a, b: Bin("/", expression(b), expression(a)),
    ),
    (r"how many (\S+) (?:are )?in ([\d.,]+)", lambda a, b: _count_in(a, b)),
    (r"raise (.+ to the \S+(?: \S+)?)", expression),
    (r"(?:the )?(?:negative|opposite) of (.+)", lambda a: Bin("-", number(0), expression(a))),
    (r"raise (.+) to (?:the )?(?:power )?(?:of )?(.+)", _binary("^")),
    (r"(?:the )?(?:difference) (?:between|of) (.+) and (.+)", _difference),
    (r"(?:the )?(?:quotient|ratio) (?:of|between) (.+) (?:and|to) (.+)", _binary("/")),
    (
        r"(?:the )?remainder (?:of|when|if)?(?: you divide)? ?(.+?) (?:is )?(?:divided by|by|/|÷) (.+)",
        _binary("mod"),
    ),
    (r"(?:the )?log(?:arithm)?(?: of)? (.+) (?:to|in|with)? ?(?:the )?base (.+)", _function("log")),
    (r"round(?:ed)? (.+) to (?:the )?nearest (.+)", _nearest),
    (r"(.+?),? rounded to (?:the )?nearest (.+)", _nearest),
    (r"round(?:ed)? (.+) to (.+?) (?:decimal places?|decimals?|d\.?p\.?|places|digits)", _rounded),
    (r"(.+?),? (?:rounded |correct |accurate )?to (.+?) (?:decimal places?|decimals?|d\.?p\.?)", _rounded),
    (
        r"(?:round(?:ed)? )?(.+?) (?:rounded )?to (.+?) (?:significant (?:figures?|digits?)|s\.?f\.?|sig "
        r"figs?)",
        _function("sigfig"),
    ),
    (r"round (?:up )?(.+) (?:up)", _function("ceil")),
    (r"round (?:down )?(.+) (?:down)", _function("floor")),
    (r"round up (.+)", _function("ceil")),
    (r"round down (.+)", _function("floor")),
    (r"round(?: off)? (.+)", _function("round")),
    (
        rf"(?:convert |write |express |change )?(?:the )?(?:number )?(?:from )?({_BASE}) (?:number "
        rf")?([0-9a-f "
        rf"]+) (?:in|to|into|as) (?:a )?({_BASE})(?: number)?",
        lambda source, digits, target: _from_base(digits, source, target),
    ),
    (
        rf"(?:convert |write |express |change )?(?:the )?(?:number )?([0-9a-f ]+) (?:from |in )?({_BASE}) "
        rf"(?:in|to|into|as) (?:a )?({_BASE})(?: number)?",
        _from_base,
    ),
    (
        rf"(?:convert |write |express |change )?(?:the )?(?:number )?(.+) (?:in|to|into|as) (?:a |an "
        rf")?({_BASE})(?: number| form| notation)?",
        lambda value, base: (
            _as_decimal(value) if base == "decimal" and not value.startswith("0") else _to_base(value, base)
        ),
    ),
    (
        r"(?:convert |write |express |change )?(?:the )?(?:number )?(.+) (?:in|to|into|as|using) (?:a "
        r")?roman(?: numerals?| numbers?)?",
        _function("roman"),
    ),
    (
        r"(?:convert )?(?:the )?roman (?:numerals?|number) ([mdclxvi]{1,15})(?: (?:in|to|into|as|is) "
        r"(?:arabic|decimal|numbers?|a number|arabic numerals?|digits))?",
        _from_roman,
    ),
    (
        r"(?:convert )?([mdclxvi]{2,15})(?: in roman numerals?| roman)? (?:in|to|into|as) (?:an "
        r")?(?:arabic|decimal|arabic numerals?|arabic numbers?|digits|a number|roman numerals? as a number)",
        _from_roman,
    ),
    (
        r"(?:convert |write |express |change |turn )?(.+) (?:as|in|to|into) (?:a )?(?:simplified |simplest "
        r"|reduced )?fraction(?: form)?",
        _function("asfraction"),
    ),
    (
        r"(?:simplify|reduce)(?: the)?(?: fraction)? (.+?)(?: to lowest terms| to its simplest form)?",
        _simplify,
    ),
    (
        r"(?:convert |write |express |change |turn )?(.+) (?:as|in|to|into) (?:a )?(?:percent|percentage|per "
        r"cent|%)",
        _function("aspercent"),
    ),
    (r"(?!is )(.+)(?<! is) (more|less|fewer) than (?!is )(.+)", _counted_from),
    (rf"(?:is )?(.+) (?:is )?{_COMPARED} than (.+)", _compare),
    (r"is (.+?) (?:equal to|the same as|equals|=) (.+)", _function("isequal")),
    (
        r"(?:which|what)(?: number)?(?: is|'s) (?:the "
        r")?(bigger|greater|larger|higher|smaller|less|lower|biggest|smallest|largest|greatest),? (.+)",
        _which,
    ),
    (r"(bigger|larger|greater|smaller),? (.+ or .+)", _which),
    (r"is (.+?) (?:a )?prime(?: number)?", _function("isprime")),
    (r"is (.+?) (?:an )?even(?: number)?", _function("iseven")),
    (r"is (.+?) (?:an )?odd(?: number)?", _function("isodd")),
    (r"is (.+?) divisible by (.+)", _function("isdivisible")),
    (
        r"does (.+?) divide (?:evenly )?(?:into )?(.+?)(?: evenly)?",
        lambda a, b: call("isdivisible", expression(b), expression(a)),
    ),
)


def _count_in(part: str, whole: str) -> Node:
    """ "how many 7s are in 63" """
    if not re.fullmatch(r"[\d.]+'?s", part):
        raise NotMath("not a count of a number in another")
    return Bin("/", expression(whole), expression(part.rstrip("s").rstrip("'")))


_COMPILED = tuple((re.compile(pattern), build) for pattern, build in _FORMS)
_HINT = re.compile(
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
WORDS = frozenset(word for pattern, _ in _FORMS for word in re.findall(r"[a-z]{2,}", pattern))
"""The words that the forms are made of."""


def understand(text: str) -> Node | None:
    """The tree of the first form that ``text`` (folded, lower case) is, or None."""
    try:
        found = _list_question(text)
        if found is not None:
            return found
    except NotMath:
        pass
    if len(text) > FORM_CHARS_MAX or not _HINT.search(text):
        return None
    for pattern, build in _COMPILED:
        match = pattern.fullmatch(text)
        if match is None:
            continue
        try:
            return build(*match.groups())
        except NotMath:
            continue
    return None
