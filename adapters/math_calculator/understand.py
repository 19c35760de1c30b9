"""From a text to a solution: wrappers off, then dates, units, question forms, expressions, one language at a
time.

Rules: after known wrapper phrases are removed the WHOLE rest must be one question of this calculator;
anything left
over means that the text is not for it. A bare number is a statement. What is usually a name, a date, a
telephone
number or an identifier (24/7, 9/11, 2024-01-01, 555-123-4567) is computed only when a calculation is asked
for or
when it is written with spaces. Pure (the unit registry apart), total and bounded: never raises, texts beyond
``CHARS_MAX`` are only looked at for being one giant expression.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from adapters.math_calculator import (
    clock_sums,
    date_questions,
    measures,
    phrases,
    purchases,
    scripts,
    spelling,
    translate,
)
from adapters.math_calculator.evaluation import evaluate
from adapters.math_calculator.numbers import Budget, Refused, Undefined
from adapters.math_calculator.parser import Parsed, parse
from adapters.math_calculator.say import answer_of, kind_of, undefined
from adapters.math_calculator.solution import Solution
from adapters.math_calculator.tokens import CHARS_MAX, NotMath, tokenise
from adapters.math_calculator.tree import Node, is_operation, show
from adapters.math_calculator.words import IDIOMS, LANGUAGES, Language, fold
from node.language import tables

_PREFIXES_MAX = 8
_SUFFIXES_MAX = 4

_ASKED, _EXPLICIT = 1, 2


@dataclass(frozen=True, slots=True)
class _Stage:
    """A text with some wrappers removed; ``level``: 0 nothing, 1 a value, 2 a calculation was asked for."""

    text: str
    level: int


def _alternation(phrases_: tuple[str, ...]) -> str:
    return "|".join(re.escape(phrase) for phrase in sorted(phrases_, key=len, reverse=True) if phrase != "=")


@lru_cache(maxsize=8)
def _wrappers(code: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    language = next(language for language in LANGUAGES if language.code == code)
    prefix = re.compile(
        rf"(?:(?P<explicit>(?:{_alternation(language.explicit)})\b|=)"
        rf"|(?P<asking>(?:{_alternation(language.asking)})(?!\w))"
        rf"|(?P<polite>(?:{_alternation(language.polite)})(?!\w)))[\s,:;.!¿¡-]*(?=\S)",
        re.IGNORECASE,
    )
    suffix = re.compile(rf"(?:[\s,;]+(?:{_alternation(language.suffixes)})|\s*=)[\s.,!?=]*$", re.IGNORECASE)
    return prefix, suffix


def _stages(text: str, language: Language) -> list[_Stage]:
    """``text`` with ever more wrappers removed, the barest first."""
    prefix, suffix = _wrappers(language.code)
    text = text.strip(" \t¿¡,;:")
    text = (
        re.sub(r"[\s?.;]+$", "", text[-64:])
        if len(text) <= 64
        else text[:-64] + re.sub(r"[\s?.;]+$", "", text[-64:])
    )
    level = 0
    fronts = [_Stage(text, 0)]
    for _ in range(_PREFIXES_MAX):
        match = prefix.match(fronts[-1].text)
        if match is None:
            break
        level = max(
            level,
            _EXPLICIT if match.lastgroup == "explicit" else _ASKED if match.lastgroup == "asking" else 0,
        )
        # a minus sign after the phrase belongs to the expression
        rest = fronts[-1].text[match.end() :]
        if match[0].rstrip().endswith("-"):
            rest = "-" + rest
        fronts.append(_Stage(rest, level))
    stages: list[_Stage] = []
    for front in reversed(fronts):
        bare = front
        backs = [front]
        for _ in range(_SUFFIXES_MAX):
            tail = suffix.search(bare.text, max(0, len(bare.text) - 48))
            if tail is None or tail.start() == 0:
                break
            bare = _Stage(bare.text[: tail.start()], max(bare.level, _EXPLICIT if "=" in tail[0] else _ASKED))
            backs.append(bare)
        stages += reversed(backs)
    return stages


# --- what only looks like arithmetic -----------------------------------------------------------------

_CHAIN = re.compile(r"\d+(?:[-/.]\d+)+")
_DATE_SHAPE = re.compile(r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}([-/.])\d{1,2}\1(?:\d{2}|\d{4})")
_PHONE_SHAPE = re.compile(r"(?:\+?\d{1,3}[ -])?(?:\(\d{2,4}\) ?|\d{3}-)\d{3}[- ]\d{3,5}|\d{3}-\d{4}")
_YEARS_SHAPE = re.compile(r"(1[5-9]\d\d|20\d\d)[-–/](1[5-9]\d\d|20\d\d|\d\d)")


def _is_name(text: str, level: int) -> bool:
    """Whether an expression without spaces is better read as a name, a date or an identifier."""
    if level >= _EXPLICIT:
        return False
    if text.lower() in IDIOMS or _DATE_SHAPE.fullmatch(text):
        return True
    years = _YEARS_SHAPE.fullmatch(text)
    if years and (len(years[2]) == 4 or "/" not in text) and (len(years[2]) == 2 or years[1] < years[2]):
        return True
    # 555-1234 is a number to call; 500-1000 may well be asked as arithmetic
    if _PHONE_SHAPE.fullmatch(text) and (level == 0 or not re.search(r"00(?:-|$)", text)):
        return True
    if not _CHAIN.fullmatch(text) or "-" not in text:
        return False
    groups = text.split("-")
    if level == 0 and len(groups) > 2:
        return True
    return len(groups) > 3 or any(len(group) > 1 and group[0] == "0" for group in groups)


# --- the ways to understand --------------------------------------------------------------------------


def _solved(node: Node) -> Solution:
    expr = show(node)
    kind = kind_of(node)
    reason = f"{'an' if kind[0] == 'a' else 'a'} {kind} expression"
    try:
        value = evaluate(node, Budget())
        answer, sentence, is_exact, unit = answer_of(node, value)
    except Undefined as exc:
        return Solution(expr, kind, reason + " without a value", undefined(node, str(exc)))
    except Refused as exc:
        return _refused(expr, str(exc))
    return Solution(expr, kind, reason, sentence, answer, is_exact, unit)


def _refused(expr: str, reason: str) -> Solution:
    return Solution(expr, "refused", f"arithmetic beyond a limit: {reason}", "", refused=reason)


def _expression(stage: _Stage, language: Language) -> Solution | None:
    text = stage.text.lower()
    try:
        parsed = _parsed(text, language)
    except NotMath:
        return None
    except Refused as exc:
        return _refused(_shortened(text), str(exc))
    if not is_operation(parsed.node) or _is_one_number(text, language):
        return None
    if parsed.is_bare_call and stage.level == 0:
        return None
    return _solved(parsed.node)


_REWRITTEN_CHARS_MAX = 120
_ARTICLES = r"(?:(?:the|el|la|le|les|il|lo|der|die|das|den|o|a|l'|des?|del|dei) ?)?"


@lru_cache(maxsize=8)
def _orders(code: str) -> tuple[tuple[tuple[re.Pattern[str], str], ...], re.Pattern[str] | None]:
    language = next(language for language in LANGUAGES if language.code == code)
    rewrites = tuple((re.compile(pattern), form) for pattern, form in language.rewrites)
    if not language.lists:
        return rewrites, None
    names = _alternation(tuple(language.lists))
    links = "|".join(language.list_links.split())
    return rewrites, re.compile(rf"{_ARTICLES}({names})(?: (?:{links})){{0,3}} (.+)")


def _rewritten(text: str, language: Language) -> list[str]:
    """``text`` (folded, lower case) in the order of the grammar, where it is written in another one."""
    if not language.rewrites or len(text) > _REWRITTEN_CHARS_MAX:
        return []
    rewrites, of_list = _orders(language.code)
    found = [match.expand(form) for pattern, form in rewrites if (match := pattern.fullmatch(text))]
    match = of_list.fullmatch(text) if of_list else None
    if match:
        members = [
            part.strip() for part in re.split(rf",\s+|;|\s{language.list_and}\s", match[2]) if part.strip()
        ]
        name = language.lists[match[1]]
        if len(members) >= 2:
            joint = {"sum": " + ", "product": " * "}.get(name) if len(members) == 2 else None
            found.append(joint.join(members) if joint else f"{name}({'; '.join(members)})")
    return found


def _ordered(stage: _Stage, language: Language) -> Solution | None:
    for text in _rewritten(stage.text.lower(), language):
        solution = _expression(_Stage(text, _EXPLICIT), language)
        if solution is not None:
            return solution
    return None


def _parsed(text: str, language: Language) -> Parsed:
    """Raises ``NotMath`` and ``Refused``. In max(3,500) the comma divides arguments; in 12,50 + 7,25 it can
    only be a decimal one, whatever the language."""
    try:
        return parse(tokenise(text, language))
    except NotMath:
        if "," not in text:
            raise
        if "(" in text:
            return parse(tokenise(text.replace(",", ";"), language))
        tokens = tokenise(measures.with_points(text), language)
        if any(token.kind == "func" for token in tokens):
            raise
        return parse(tokens)


def _is_one_number(text: str, language: Language) -> bool:
    """Fractions in words and mixed numbers are trees, and still only numbers."""
    try:
        tokens = tokenise(text.lstrip("-+ "), language)
    except (NotMath, Refused):
        return False
    return len(tokens) == 1 and not (tokens[0].kind == "num" and tokens[0].value is None)


def _shortened(text: str) -> str:
    compact = "".join(text.split())
    return compact if len(compact) <= 80 else compact[:79] + "…"


def _form(stage: _Stage) -> Solution | None:
    text = stage.text.lower()
    try:
        node = phrases.understand(text) or phrases.understand(measures.with_points(text))
    except Refused as exc:
        return _refused(_shortened(text), str(exc))
    return None if node is None or not is_operation(node) else _solved(node)


_SYMBOLIC = re.compile(r"[\d\s.,+\-*/^%!()×÷·−=√e]+")
_SIGNED = re.compile(r"\d\s*[-+*/^×÷!(]|\(\s*\d")
_ROW = re.compile(r"\d\s+\d|\d,\s|\d\s+-\d")
_GIANT_START = re.compile(r"[^\d(.+\-√]{0,60}")
_HINT = re.compile(r"[\d√π½⅓⅔¼¾⅕⅛⅜⅝⅞]")


def _giant(text: str) -> Solution | None:
    """A text over the limit that is nothing but digits and signs after a short wrapper."""
    start = _GIANT_START.match(text)
    body = text[start.end() :] if start else text
    # rows of figures have blanks or commas between their numbers, an expression has signs
    if _SYMBOLIC.fullmatch(body) and _SIGNED.search(body) and not _ROW.search(body):
        return _refused(
            f"{_shortened(body[:200])}",
            f"the expression is longer than this calculator's limit of {CHARS_MAX:,} characters",
        )
    return None


@lru_cache(maxsize=1)
def _vocabulary() -> frozenset[str]:
    """Every word that an answerable text must contain one of, unless it has a digit."""
    listed = (
        "today tomorrow yesterday leap date day days weeks months until till christmas roman arabic far week "
        "weekday long half a an decimal binary octal hex hexadecimal digits"
    )
    words = set(listed.split())
    words.update(
        word for name in date_questions.NAMES for word in name.split() if len(word) >= _NAME_LETTERS_MIN
    )
    for language in LANGUAGES:
        for phrase in (
            *language.small,
            *language.hundreds,
            *language.hundred,
            *language.scales,
            *language.parts,
            "pi",
            "e",
        ):
            words.update(phrase.split())
    return frozenset(words)


_LETTERS = re.compile(r"[^\W\d_]+")


@lru_cache(maxsize=8)
def _words_of(code: str) -> frozenset[str]:
    """Every word that the grammar of one language is made of."""
    language = next(language for language in LANGUAGES if language.code == code)
    phrases_ = [*language.asking, *language.explicit, *language.polite, *language.suffixes]
    phrases_ += [*language.operators, *language.functions, *language.number_starts, *language.joiners]
    phrases_ += [*language.points, *language.articles, *language.half_and, *language.lists]
    phrases_ += [*language.hundred, *language.hundreds, *language.scales, *language.parts]
    phrases_ += [pattern for pattern, _ in language.rewrites] + [_LIST_LINKS, *_WORD_CONSTANTS]
    phrases_ += [word for number in language.numbers for word in number]
    if code == "en":
        phrases_ += [*spelling.known(), *_vocabulary(), *measures.WORDS]
    return frozenset(word for phrase in phrases_ for word in _LETTERS.findall(fold(phrase).lower()))


def _is_beyond(words: frozenset[str], language: Language) -> bool:
    """Whether some of ``words`` cannot stand in a question of that language. English forms leave a few places
    open; single letters may be signs or digits."""
    unknown = sum(len(word) > 1 for word in words - _words_of(language.code))
    return unknown > (_OPEN_WORDS_MAX if language.code == "en" else 0)


@lru_cache(maxsize=1)
def _all_words() -> frozenset[str]:
    """Every word that any form, wrapper or table here knows, so that other texts are left alone at once."""
    others = frozenset({*_CHAT, *_CHAT_ASKS, *_CHAT_END, *translate.WORDS})
    return others.union(*(_words_of(language.code) for language in LANGUAGES))


def understand(text: str, today: date) -> Solution | None:
    """The solution of the question that all of ``text`` asks, or None. Never raises."""
    if len(text) > CHARS_MAX:
        return _giant(text)
    text = " ".join(text.split()).replace("’", "'").replace("‘", "'")
    if scripts.is_eastern(text):
        text = scripts.translated(text) or text
    text = whole = fold(text)
    unknown = len(frozenset(_LETTERS.findall(text.lower())) - _all_words())
    if unknown > _UNKNOWN_WORDS_MAX:
        return _everyday(text)
    found = _understand(text, today)
    if found is not None or len(text) > _REREAD_CHARS_MAX:
        return found
    # only a text that is no question of the calculator as it stands is read again with something put right
    for change in (_without_thanks, _without_chat, _without_money, spelling.corrected):
        changed = change(text)
        if changed is not None and changed != text:
            text = changed
            found = _understand(text, today)
            if found is not None:
                return found
    for english in translate.translated(text.strip(" ¿¡?!.")) if not unknown else ():
        found = _understand(english, today)
        if found is not None:
            return found
    return _everyday(whole)


def _everyday(text: str) -> Solution | None:
    node = purchases.understand(text)
    return clock_sums.solve(text) if node is None else _solved(node)


_REREAD_CHARS_MAX = 160
_OPEN_WORDS_MAX = 2
_WORD_CONSTANTS = ("pi", "bn", "mod", "xor")
_LIST_LINKS = " ".join(f"{one.list_links} {one.list_and}" for one in LANGUAGES)
_UNKNOWN_WORDS_MAX = 4
"""Of a question of the calculator: three misspelt ones, and what its forms leave open ("choose 3 cards")."""
_NAME_LETTERS_MIN = 5
_FORMULAS = (
    r"(?:thanks?|thank you|thx|ty|cheers|please|pls|hi|hello|hey|good (?:morning|evening|afternoon)"
    r"|quick question|(?:much )?appreciated?|ok|okay)"
    r"(?: (?:there|so|very|much|a lot|a bunch|again|in advance|everyone|all|you|it|mate)){0,4}"
)
_OPENING = re.compile(rf"{_FORMULAS}[.!,;: ]+(?:and |so )?", re.IGNORECASE)
_CLOSING = re.compile(rf"[.?!,;]+ *{_FORMULAS}[.! ]*", re.IGNORECASE)
_MONEY = re.compile(
    r"(?<=\d) ?(?P<after>us dollars?|dollars?|bucks?|usd|euros?|eur|€|yen|rupees?)(?!\w)"
    r"|(?P<before>[$€])(?= ?\d)",
    re.IGNORECASE,
)
_ONE_MONEY = {
    "$": "dollar",
    "us dollar": "dollar",
    "buck": "dollar",
    "usd": "dollar",
    "eur": "euro",
    "€": "euro",
}


def _without_thanks(text: str) -> str | None:
    """Thanks and greetings that are sentences of their own."""
    start = _OPENING.match(text)
    text = text[start.end() :] if start else text
    end = _CLOSING.search(text, max(0, len(text) - 48))
    return text[: end.start()] if end and end.end() == len(text) else text


_TALK = tables.read_table(__package__, "languages/en.toml")["chat"]
_CHAT, _CHAT_ASKS, _CHAT_END = (tables.words(_TALK[name]) for name in ("before", "asks", "behind"))
_CHAT_WORDS_MAX = 14
_WORD_AND_BLANK = re.compile(r"([^\W\d_]+(?:'[^\W\d_]+)?)[\s,:;.!?-]+")
_BLANK_AND_WORD = re.compile(r"[\s,:;.!?-]+([^\W\d_]+(?:'[^\W\d_]+)?)[\s.!?]*$")


def _without_chat(text: str) -> str | None:
    """What stands before and after a question when people chat; the rest must still be read whole."""
    asked, start = False, 0
    for _ in range(_CHAT_WORDS_MAX):
        match = _WORD_AND_BLANK.match(text, start)
        if match is None:
            break
        word = match[1].lower()
        # "how many" and "how long" belong to the question
        if word == "how" and not re.match(r"much (?:is|are)\b", text[match.end() :], re.IGNORECASE):
            break
        if word not in _CHAT and word not in _CHAT_ASKS:
            break
        if word in ("a", "the", "for", "one") and not asked and start == 0:
            break
        asked = asked or word in _CHAT_ASKS
        start = match.end()
    end = len(text)
    for _ in range(_CHAT_WORDS_MAX):
        found = _BLANK_AND_WORD.search(text, max(start, end - 24), end)
        if found is None or found[1].lower() not in _CHAT_END:
            break
        asked = asked or found[1].lower() in ("is", "equal", "equals")
        end = found.start()
    rest = text[start:end].strip()
    if not rest or len(rest) == len(text):
        return None
    return f"what is {rest}" if asked else rest


def _without_money(text: str) -> str | None:
    """Amounts of one currency without its name; None when there are two, which nobody adds up here."""
    named = {(match["after"] or match["before"]).lower().removesuffix("s") for match in _MONEY.finditer(text)}
    if len({_ONE_MONEY.get(name, name) for name in named}) != 1:
        return None
    return _MONEY.sub("", text)


def _understand(text: str, today: date) -> Solution | None:
    words = frozenset(_LETTERS.findall(text.lower()))
    if not _HINT.search(text) and _vocabulary().isdisjoint(words):
        return None
    for language in LANGUAGES if words else LANGUAGES[:1]:
        if _is_beyond(words, language):
            continue
        for stage in _stages(text, language):
            if not stage.text or _is_name(stage.text, stage.level):
                continue
            solution = _stage(stage, language, today)
            if solution is not None:
                return solution
    return None


def _stage(stage: _Stage, language: Language, today: date) -> Solution | None:
    if language.code != "en":
        return _expression(stage, language) or _ordered(stage, language)
    lower = stage.text.lower()
    if date_questions.may_be_date(lower):
        found = date_questions.solve(lower, today)
        if found is not None:
            return found
    found = measures.solve(stage.text)
    if found is not None:
        return found
    return _expression(stage, language) or _form(stage)
