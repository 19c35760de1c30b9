"""Follow-ups to a calculation: its result gone on with, or its question of another amount, unit or day. Pure.

Rules: a fragment is only ever completed to a text that the calculator's own grammar then reads whole, and
that text is what is given back, so its reading is certain. The last question is written in brackets before
an operator ("times 3?" after 2+2 is (2+2)*3), never spliced into. A number alone takes the place of the one
amount of the last question ("and 169?" after the root of 144); where there are several amounts ("and 3?"
after 2+2) it says nothing. What is said in other languages is read by their own tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

from adapters.math_calculator import story, translate
from adapters.math_calculator.numbers import Refused
from adapters.math_calculator.solution import Solution
from adapters.math_calculator.tokens import NotMath, tokenise
from adapters.math_calculator.understand import understand
from adapters.math_calculator.words import LANGUAGES, fold
from node.language import tables

FRAGMENT_CHARS_MAX = 100
EARLIER_CHARS_MAX = 400
_EXPR_CHARS_MAX = 300

_FOLLOW = {code: table["follow"] for code, table in tables.by_language("languages", __package__).items()}


def _any(name: str) -> str:
    return "|".join(tables.entries(_FOLLOW, name))


_LEAD = re.compile(rf"^(?:(?:{_any('lead')})\b[\s,:]*)+")
_END = re.compile(
    r"(?:[\s,]+(?:please|pls|plz|then|now|too|as well|instead|bitte|por favor|is|equals))*[\s?.!=]*$"
)
_IT = re.compile(rf"\b(?:{_any('it')})\b")
_GOES_ON = re.compile(rf"^(?:[-+*/^×÷!]|(?:{_any('goes_on')})\b)")
_ORDERS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"(?:add|plus another) (.+)"), r"+ \1"),
    (re.compile(r"(?:subtract|take away|take off|deduct|minus another) (.+)"), r"- \1"),
    (re.compile(r"(?:multiply|times) (?:it |that )?by (.+)"), r"* \1"),
    (re.compile(r"(?:divide|split) (?:it |that )?(?:by|into) (.+)"), r"/ \1"),
)
_WITHOUT_OBJECT = re.compile(
    r"(?:the )?(?:square root|cube root|square|cube|double|triple|half|factorial|halve)(?: of)?(?: (?:it"
    r"|that|this))?"
)
_PERCENT_OF = re.compile(r"(?P<percent>[\d.]+%) of (?P<base>[\d.]+)")
_MORE_OR_LESS = re.compile(r"(?P<base>[\d.]+)(?P<sign>[+-])(?P<percent>[\d.]+%)")
_OF_ONE = re.compile(
    r"(?P<head>(?:sqrt|cbrt|ln|abs|isprime|iseven|isodd|roman|asfraction|aspercent)\(|(?:root|log"
    r"|base)\((?=[\d.]+;))"
    r"(?P<value>-?[\d./]+)(?P<tail>(?:;\d+)?\))|(?P<factorial>\d+)!"
)
_NATURAL = {
    "isprime(": "is {} a prime number", "iseven(": "is {} even", "isodd(": "is {} odd",
    "roman(": "{} in roman numerals", "asfraction(": "{} as a fraction", "aspercent(": "{} as a percentage",
}  # fmt: skip
_CONVERSION = re.compile(r"(?P<amount>-?[\d./e]+) (?P<source>[^\d].{0,60}?) to (?P<target>.{1,60})")
_TARGET = re.compile(r"(?:(?:in|to|into|as|convert(?: that| it)? to|how many) )(?P<unit>.{1,40})")
_SPAN = re.compile(r"(?P<unit>days|weeks|months|years) from (?P<start>\S+) to (?P<end>\S+)")
_SPAN_UNIT = re.compile(r"(?:in |how many )?(?P<unit>days|weeks|months|years)")
_UNTIL = re.compile(r"^(?:how many )?(?:until|till|to|before) ")
_FIGURE = re.compile(r"-?\d[\d,]*(?:\.\d+)?")


def up(fragment: str, earlier: str, today: date) -> str | None:
    """The self-contained question that ``fragment`` asks after ``earlier``; None when ``earlier`` is not the
    calculator's or the fragment has no one reading."""
    if not 0 < len(fragment) <= FRAGMENT_CHARS_MAX or len(earlier) > EARLIER_CHARS_MAX:
        return None
    before = understand(earlier, today) or story.last(earlier, today)
    if before is None or before.answer is None or len(before.expr) > _EXPR_CHARS_MAX:
        return None
    text = fold(" ".join(fragment.split()).replace("’", "'")).strip(" ¿¡,;:")
    text = _END.sub("", text)
    lower = text.lower()
    lead = _LEAD.match(lower)
    if lead is not None:
        text = text[lead.end() :]
    if not text or len(text) > FRAGMENT_CHARS_MAX:
        return None
    for candidate in (*_candidates(text, before), *_with_number(text.lower(), earlier)):
        made = understand(candidate, today)
        if made is None or made.refused is not None or made.expr == before.expr:
            continue
        for phrase in (_canonical(made), candidate):
            again = understand(phrase, today)
            if again is not None and (again.expr, again.answer, again.kind) == (
                made.expr,
                made.answer,
                made.kind,
            ):
                return phrase
    return None


def _canonical(made: Solution) -> str:
    """The canonical expression as an order; what holds a name of a function is better left in words."""
    if made.kind == "unit":
        return f"convert {made.expr}"
    return "" if re.search(r"[a-z]{3,}", made.expr) else f"calculate {made.expr}"


def _candidates(text: str, before: Solution) -> Iterator[str]:
    """Texts that the fragment may mean, each to be read whole; the surest first."""
    lower = text.lower()
    if before.kind == "unit":
        yield from _of_units(text, before.expr)
        yield text
    elif before.kind == "date":
        yield from _of_days(lower, before.expr)
        yield text
    else:
        yield text
        yield from _of_amounts(lower, before.expr)
        yield from _gone_on(lower, before.expr)


def _gone_on(text: str, expr: str) -> Iterator[str]:
    held = f"({expr})"
    if _WITHOUT_OBJECT.fullmatch(text):
        name = re.sub(r"(?: of)?(?: (?:it|that|this))?$", "", text).removeprefix("the ")
        yield f"calculate {'half' if name == 'halve' else name} of {held}"
        return
    for pattern, form in _ORDERS:
        match = pattern.fullmatch(text)
        if match and not _IT.search(match[1]):
            yield f"calculate {held} {match.expand(form)}"
            return
    if _IT.search(text):
        if len(_IT.findall(text)) == 1:
            yield f"calculate {_IT.sub(held, text)}"
            yield _IT.sub(held, text)
        return
    if _GOES_ON.match(text):
        yield f"calculate {held} {text}"
        yield f"{held} {text}"


def _number(text: str) -> str | None:
    """The number that all of ``text`` is, in figures or in the words of any language."""
    bare = re.sub(r"^(?:of|for|with|de|von|di|от|из) ", "", text)
    if _FIGURE.fullmatch(bare):
        return bare.replace(",", "")
    for language in LANGUAGES:
        try:
            tokens = tokenise(bare, language)
        except (NotMath, Refused):
            continue
        value = tokens[0].value if len(tokens) == 1 and tokens[0].kind == "num" else None
        if value is not None and value.denominator == 1:
            return str(value.numerator)
    return None


def _percentage(text: str) -> str | None:
    match = re.fullmatch(
        r"(?:with |at |by )?(.+?) ?(?:%|percent|per cent|por ciento|prozent|pour cent|per cento)", text
    )
    value = _number(match[1]) if match else None
    return None if value is None else f"{value}%"


def _of_amounts(text: str, expr: str) -> Iterator[str]:
    """The same question with its one amount, or its percentage, replaced."""
    value, percent = _number(text), _percentage(text)
    of = _PERCENT_OF.fullmatch(expr)
    if of is not None and (value or percent):
        yield f"calculate {percent} of {of['base']}" if percent else f"calculate {of['percent']} of {value}"
    change = _MORE_OR_LESS.fullmatch(expr)
    if change is not None and (value or percent):
        amount, part = (change["base"], percent) if percent else (value, change["percent"])
        yield f"calculate {amount}{change['sign']}{part}"
    one = _OF_ONE.fullmatch(expr)
    if one is not None and value:
        if one["factorial"]:
            yield f"calculate {value}!"
        elif one["head"] in _NATURAL:
            yield _NATURAL[one["head"]].format(value)
        else:
            yield f"calculate {one['head']}{value}{one['tail']}"


def _with_number(text: str, earlier: str) -> Iterator[str]:
    """The earlier words with their one number replaced ("double 37"); none where a number is in words too."""
    value = _number(text)
    found = list(_FIGURE.finditer(earlier))
    if value is None or len(found) != 1:
        return
    words = set(re.findall(r"[^\W\d_]+", fold(earlier).lower()))
    if not any(
        (word,) in language.numbers and word not in language.articles
        for word in words
        for language in LANGUAGES
    ):
        yield f"{earlier[: found[0].start()]}{value}{earlier[found[0].end() :]}"


def _of_units(text: str, expr: str) -> Iterator[str]:
    match = _CONVERSION.fullmatch(expr)
    if match is None:
        return
    amount, source, target = match["amount"], match["source"], match["target"]
    value = _number(text.lower())
    if value is not None:
        yield f"convert {value} {source} to {target}"
        return
    for said in (text, *translate.translated(text)):
        unit = _TARGET.fullmatch(said)
        if unit is not None:
            yield f"convert {amount} {source} to {unit['unit']}"
        elif re.match(r"[-\d]", said) and not re.search(r" (?:in|to|into) ", said):
            yield f"convert {said} to {target}"
        elif re.fullmatch(r"[^\W\d_][^\W\d_ /²³]{1,30}", said):
            yield f"convert {amount} {source} to {said}"


def _of_days(text: str, expr: str) -> Iterator[str]:
    span = _SPAN.fullmatch(expr)
    if span is not None:
        unit = _SPAN_UNIT.fullmatch(text)
        if unit is not None:
            yield f"{unit['unit']} from {span['start']} to {span['end']}"
        elif span["start"].startswith("today("):
            yield f"how many {span['unit']} until {_UNTIL.sub('', text)}"
        elif span["end"].startswith("today("):
            yield f"how many {span['unit']} since {text.removeprefix('since ')}"
        return
    named = (
        ("weekday of ", "what day of the week is {}"),
        ("calendar day ", "when is {}"),
        ("number of days in ", "number of days in {}"),
        ("week number of ", "week number of {}"),
    )
    for head, form in named:
        if expr.startswith(head):
            yield form.format(re.sub(r"^(?:in|on|of) ", "", text))
    if re.fullmatch(r"is \d{1,9} a leap year", expr):
        yield f"is {text} a leap year"
    after = re.fullmatch(r"\d+ (?:day|week|month|year)s (after|before) (\S+)", expr)
    if after is not None and re.fullmatch(r"(?:in )?\d{1,6} (?:day|week|month|year)s?", text):
        yield f"{text.removeprefix('in ')} {after[1]} {after[2]}"
