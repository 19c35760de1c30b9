"""Questions about exchange rates: "usd to eur", "how many yen is 50 bucks", "cuántos euros son 100 dólares".

Pure. It promises: two different currencies that the text relates to each other, or one with a word for its
rate, the amount if one is said, and the day. It does not claim what merely has a currency in it ("dollar
store", "100 dollars"), weights in pounds, or coins.

Known limits: one pair at a time; of a stretch of time ("in march 2024") the last day is meant.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from itertools import pairwise

from adapters.currency import words as say
from adapters.currency.names import (
    AMOUNT_MAX,
    NAMES,
    classified,
    split,
)
from adapters.currency.parsed import Parsed, has_number_unread, has_phrase, parse
from adapters.grammar import one_slip
from adapters.grammar import when as times
from node.core.model import Slots, SlotValue
from node.language.reading import read

STRENGTH_ALL = 0.95
STRENGTH_RATE = 0.92
STRENGTH_PART = 0.7
STRENGTH_HINTED = 0.6
UNKNOWN_WORDS_MAX = 5
"""A text with more words that have nothing to do with rates is about something else."""
CONTEXT_WORDS_MAX = 10
"""How many may tell what an amount to be converted is for."""

_AMOUNT = re.compile(r"\d{1,15}(?:\.\d{1,12})?")
_ONE: tuple[tuple[str, ...], ...] = (("is", "a"), ("is", "an"), ("is", "the"))


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked. ``amount`` is a canonical decimal or None, codes lower-case ISO, ``when`` as said."""

    base: str
    quote: str
    amount: str | None = None
    when: str | None = None

    @property
    def slots(self) -> Slots:
        values: Mapping[str, SlotValue] = {
            "amount": self.amount,
            "from": self.base,
            "to": self.quote,
            "date": self.when,
        }
        return values

    def day(self, today: date) -> date | None:
        """The day meant; None for the latest rate."""
        if self.when is None:
            return None
        found = times.resolve(self.when, today, past=True)
        if found is None or found.first <= today <= found.last:
            return None  # of a stretch that is in progress the latest day is meant
        return found.last if found.first <= today else found.first

    def key(self, today: date) -> str:
        """Equal for questions that one answer serves: with the day itself, not its words."""
        parts = ["fx", self.base, self.quote]
        if self.amount is not None:
            parts.append(f"amount={self.amount}")
        day = self.day(today)
        if day is not None:
            parts.append(day.isoformat())
        return ":".join(parts)

    def phrase(self, today: date) -> str:
        """English words that are read back to the same question."""
        parts = [self.amount or "", self.base.upper(), "to", self.quote.upper()]
        found = times.resolve(self.when, today, past=True) if self.when else None
        if found is not None:
            parts.append(times.phrase(found))
        return " ".join(part for part in parts if part)


@dataclass(frozen=True, slots=True)
class Read:
    question: Question
    strength: float
    reason: str


def question_of(slots: Slots, today: date) -> Question | None:
    """The question that canonical slots hold; None for anything else."""
    base, quote, amount, when = (slots.get(name) for name in ("from", "to", "amount", "date"))
    if not isinstance(base, str) or not isinstance(quote, str) or base not in NAMES or quote not in NAMES:
        return None
    if base == quote or not (amount is None or _is_amount(amount)):
        return None
    if when is not None and (not isinstance(when, str) or times.resolve(when, today) is None):
        return None
    return Question(base, quote, amount if isinstance(amount, str) else None, when)


def _is_amount(value: SlotValue) -> bool:
    return isinstance(value, str) and bool(_AMOUNT.fullmatch(value)) and Decimal(value) <= AMOUNT_MAX


# --- reading --------------------------------------------------------------------------------------


def read_question(text: str, today: date, *, hinted: bool = False) -> Read | None:
    """The question about an exchange rate in ``text``; None where it holds none. See the module."""
    found = _read(text, today, hinted)
    if found is not None and found.strength >= STRENGTH_RATE:
        return found
    repaired = one_slip.mended(read(text).plain, say.SLIPS, _is_word) if len(text) <= 400 else None
    if repaired is not None:
        again = _read(repaired, today, hinted)
        if again is not None and again.strength > (found.strength if found is not None else 0.0):
            return again if again.strength >= STRENGTH_RATE or found is not None or hinted else None
    return found


def _is_word(word: str) -> bool:
    return (
        word in say.FILLERS
        or word in say.NO_SLIPS
        or word in say.TRAPS
        or classified([word])[0].kind != "word"
    )


def _read(text: str, today: date, hinted: bool) -> Read | None:
    parsed = parse(text, today)
    if parsed is None:
        return None
    codes = list(dict.fromkeys(token.value for token in parsed.tokens if token.kind == "currency"))
    numbers = [token.value for token in parsed.tokens if token.kind == "number"]
    if not codes or len(codes) > 2 or len(numbers) > 1 or (numbers and Decimal(numbers[0]) > AMOUNT_MAX):
        return None
    if parsed.unread or _is_stray(parsed) or (len(codes) == 1 and (_is_aimed(parsed) or _is_twice(parsed))):
        return None
    doubtful = all(token.doubtful for token in parsed.tokens if token.kind == "currency") and not parsed.sure
    known = not parsed.unknown
    trapped = any(word in say.TRAPS for word in parsed.unknown)
    converted = len(codes) == 2 and len(numbers) == 1 and _converts_amount(parsed)
    priced = not converted and any(word in say.PRICED for word in parsed.unknown)
    if len(codes) == 1 and numbers and parsed.when is not None and re.fullmatch(r"\d{4}", parsed.when.said):
        return None  # "100 dollars in 1950" is about what money could buy
    if any(word in say.COINS for word in parsed.unknown) or trapped or _is_year(parsed, codes, numbers):
        return None
    question = _pair(parsed, codes) if len(codes) == 2 else _single(parsed, codes[0])
    amount = numbers[0] if numbers else None
    question = replace(question, amount=amount, when=parsed.when.said if parsed.when else None)
    strength = 0.0
    if doubtful or priced:
        strength = 0.0
    elif len(codes) == 2 and _related(parsed):
        few = len(parsed.unknown) <= (CONTEXT_WORDS_MAX if converted else UNKNOWN_WORDS_MAX)
        strength = STRENGTH_ALL if known and not parsed.abroad else STRENGTH_PART if few else 0.0
    elif len(codes) == 1:
        strength = _single_strength(parsed, known, bool(numbers))
    doubtful = doubtful and not (len(codes) == 1 and _is_counted(parsed))
    if strength == 0.0 and hinted and not doubtful and len(parsed.unknown) <= UNKNOWN_WORDS_MAX:
        asks = parsed.asks_rate and _is_rate_of(parsed)
        strength = STRENGTH_HINTED if len(codes) == 2 or numbers or asks or known else 0.0
    if strength == 0.0:
        return None
    what = f"{amount} {question.base}" if amount else question.base
    return Read(question, strength, f"the exchange rate of {what} in {question.quote}")


def _is_stray(parsed: Parsed) -> bool:
    """Whether a number stands beside words of its own and not beside a currency ("2 nights in euros")."""
    number = next((at for at, token in enumerate(parsed.tokens) if token.kind == "number"), None)
    return number is not None and bool(parsed.unknown) and _owner(parsed, number) is None


def _is_aimed(parsed: Parsed) -> bool:
    """Whether something that is no currency stands where the counter-currency would ("in wakanda")."""
    tokens = parsed.tokens
    for at, token in enumerate(tokens):
        if token.kind != "word" or token.value not in say.TARGET:
            continue
        after = at + 1
        while after < len(tokens) and tokens[after].kind == "word" and tokens[after].value in say.ARTICLES:
            after += 1
        if after < len(tokens) and tokens[after].kind == "word" and tokens[after].value in parsed.unknown:
            return True
    return False


def _is_twice(parsed: Parsed) -> bool:
    """Whether the one currency stands on both sides: "usd to usd", but not "$100 USD"."""
    tokens = parsed.tokens
    for one, other in pairwise(parsed.places):
        between = tokens[one + 1 : other]
        if not between and not tokens[one].sign and not tokens[other].sign:
            return True
        if any(token.kind == "word" and (token.value in say.CONNECTS or parsed.script) for token in between):
            return True
    return False


def _is_year(parsed: Parsed, codes: Sequence[str], numbers: Sequence[str]) -> bool:
    """ "euro 2024" is a tournament."""
    if list(codes) != ["eur"] or not numbers or not re.fullmatch(r"(?:19|20)\d\d", numbers[0]):
        return False
    place = parsed.places[0]
    after = parsed.tokens[place + 1 : place + 2]
    return bool(after) and after[0].kind == "number" and not parsed.tokens[place].sign


def _is_counted(parsed: Parsed) -> bool:
    place = parsed.places[0]
    return place > 0 and parsed.tokens[place - 1].kind == "number"


def _converts_amount(parsed: Parsed) -> bool:
    """Whether a counted sum of one currency is to be told in the other: "my 250 euro hotel in pounds"."""
    tokens = parsed.tokens
    number = next(at for at, token in enumerate(tokens) if token.kind == "number")
    counted = [at for at in parsed.places if abs(at - number) == 1]
    if not counted:
        return False
    owner = tokens[counted[-1] if len(counted) == 1 else number + 1].value
    for at in parsed.places:
        if tokens[at].value == owner:
            continue
        before = parsed.words(0, at)
        if before and (before[-1] in say.INTO or _ends_with(before, say.HOW_MANY)):
            return True
    return False


def _related(parsed: Parsed) -> bool:
    """Whether the two currencies are asked about as a pair and not merely both there."""
    places = parsed.places
    first, last = places[0], places[-1]
    between = parsed.words(first + 1, last)
    if parsed.asks_rate or parsed.script or not between:
        return True
    words = parsed.words()
    if any(word in say.CONVERTS for word in words) or has_phrase(words, say.HOW_MANY):
        return True
    if any(word in say.COMPARED for word in words) or has_phrase(words, say.STANDS):
        return True
    return len(between) <= 6 and any(word in say.CONNECTS for word in between)


def _pair(parsed: Parsed, codes: Sequence[str]) -> Question:
    """Which of the two is converted, by the amount, by what is asked for, else the first."""
    places = parsed.places
    tokens = parsed.tokens
    first, second = codes
    at_second = next(at for at in places if tokens[at].value == second)
    number = next((at for at, token in enumerate(tokens) if token.kind == "number"), None)
    if number is not None:
        owner = _owner(parsed, number)
        if owner is not None:
            return Question(owner, second if owner == first else first)
    before_first = parsed.words(0, places[0])
    if _ends_with(before_first, say.HOW_MANY) or (parsed.script and _asked_in_script(parsed, places[0])):
        return Question(second, first)
    between = parsed.words(places[0] + 1, at_second)
    if any(word in say.COMPARED for word in between):
        return Question(first, second)
    if any(word in say.FOR_EACH for word in between) and not any(word in say.INTO for word in between[1:]):
        return Question(second, first)
    if _ends_into(before_first) and not any(word in say.INTO for word in between):
        return Question(second, first)
    return Question(first, second)


def _owner(parsed: Parsed, number: int) -> str | None:
    """The currency that the number counts: the one after it, or a sign or code before it."""
    tokens = parsed.tokens
    after = tokens[number + 1] if number + 1 < len(tokens) else None
    before = tokens[number - 1] if number else None
    places = parsed.places
    if before is not None and before.kind == "currency" and before.sign:
        return before.value
    if (
        after is not None
        and after.kind == "word"
        and after.value in ("of", "de", "d'", "di")
        and number + 2 < len(tokens)
    ):
        after = tokens[number + 2]
    if after is not None and after.kind == "currency":
        return after.value
    if before is not None and before.kind == "currency":
        # "usd to eur 100" counts dollars, "eur 100 to usd" euros.
        return before.value if number - 1 == places[0] else tokens[places[0]].value
    return None


def _asked_in_script(parsed: Parsed, at: int) -> bool:
    words = parsed.words(0, at)
    return bool(words) and words[-1].endswith(("何", "多少", "几", "幾", "いくら"))


def _ends_with(words: Sequence[str], phrases: Sequence[tuple[str, ...]]) -> bool:
    return any(tuple(words[-len(phrase) :]) == phrase for phrase in phrases if len(words) >= len(phrase))


def _ends_into(before: Sequence[str]) -> bool:
    """Whether what follows is what is converted into: "in", Spanish "a", not the article of "is a dollar"."""
    if not before or before[-1] not in say.INTO:
        return False
    return before[-1] != "a" or say.ENGLISH.isdisjoint(before)


def _other(code: str) -> str:
    """The currency meant where only one is said."""
    return "eur" if code == "usd" else "usd"


def _single(parsed: Parsed, code: str) -> Question:
    place = parsed.places[0]
    before = parsed.words(0, place)
    number = next((at for at, token in enumerate(parsed.tokens) if token.kind == "number"), None)
    counted = number is not None and abs(number - place) == 1
    if _ends_into(before) and not counted and not parsed.asks_rate:
        return Question(_other(code), code)
    return Question(code, _other(code))


def _single_strength(parsed: Parsed, known: bool, counted: bool) -> float:
    words = parsed.words()
    converts = any(word in say.CONVERTS for word in words)
    place = parsed.places[0]
    before = parsed.words(0, place)
    if parsed.asks_rate and not (parsed.script and counted) and (known or _is_rate_of(parsed)):
        return STRENGTH_RATE if known else STRENGTH_PART if len(parsed.unknown) <= 3 else 0.0
    if not known:
        return 0.0
    if counted and converts and _ends_into(before):
        return STRENGTH_RATE
    if not counted and has_phrase(words, say.STANDS):
        return STRENGTH_RATE
    if not counted and not _ends_into(before):
        today = parsed.when is not None and parsed.when.said in ("now", "today")
        if today or any(word in say.VALUE for word in words):
            return STRENGTH_PART
    asks = has_phrase(words, say.HOW_MANY) or converts or not {"what", "value", "worth"}.isdisjoint(words)
    if asks and any(word in say.WORTH for word in words) and words[-1:] != ["in"]:
        return STRENGTH_PART
    # "how much is a pound" may be one of butter.
    one = _ends_with(before, _ONE) and place == len(parsed.tokens) - 1 and parsed.tokens[place].value != "gbp"
    return STRENGTH_HINTED if (counted or one) and has_phrase(words[:3], say.HOW_MANY) else 0.0


def _is_rate_of(parsed: Parsed) -> bool:
    """Whether the rate is that of the currency ("dollar rate", "rate of the dollar")."""
    if parsed.sure or parsed.script:
        return True
    tokens = parsed.tokens
    for place in parsed.places:
        if place + 1 < len(tokens) and tokens[place + 1].value in say.RATE:
            return True
        before = place - 1
        while before > 0 and tokens[before].kind == "word" and tokens[before].value in say.RATE_OF:
            before -= 1
        if before >= 0 and tokens[before].value in say.RATE:
            return True
    return False


# --- follow-ups -----------------------------------------------------------------------------------


def follow_up(fragment: str, earlier: str, today: date) -> str | None:
    """The whole question that ``fragment`` ("and in yen?", "and 200?", "yesterday?") asks after ``earlier``;
    None unless every word of it is accounted for."""
    before = read_question(earlier, today)
    if before is None or len(fragment) > 120:
        return None
    question = before.question
    reading = read(fragment)
    if reading.script in ("japanese", "chinese", "cyrillic", "other"):
        when, plain = times.find_script(reading.plain, today)
        tokens = classified(split(plain))
    else:
        when, rest = times.find(split(reading.plain), today, past=True)
        flat = " ".join(word for word in rest)
        if _stripped(flat) in say.REVERSED:
            return replace(question, base=question.quote, quote=question.base).phrase(today)
        tokens = classified(rest)
    codes = [token.value for token in tokens if token.kind == "currency"]
    numbers = [token.value for token in tokens if token.kind == "number"]
    words = [token.value for token in tokens if token.kind == "word"]
    if has_number_unread(reading.plain, tokens, (), today):
        return None
    if any(word not in say.LEADS for word in words) or len(codes) > 1 or len(numbers) > 1:
        return None
    if not (codes or numbers or when) or (numbers and Decimal(numbers[0]) > AMOUNT_MAX):
        return None
    merged = _merged(question, codes, numbers, words)
    if merged is None:
        return None
    if when is not None:
        merged = replace(merged, when=when.said)
    asked = merged.phrase(today)
    again = read_question(asked, today)
    return asked if again is not None and again.question == merged else None


def _stripped(flat: str) -> str:
    words = flat.split()
    while words and words[0] in ("and", "what", "about", "how", "y", "und", "et", "e"):
        words.pop(0)
    return " ".join(words)


def _merged(
    question: Question, codes: Sequence[str], numbers: Sequence[str], words: Sequence[str]
) -> Question | None:
    if codes and numbers:
        code = codes[0]
        quote = question.base if code == question.quote else question.quote
        return replace(question, base=code, quote=quote, amount=numbers[0])
    if numbers:
        return replace(question, amount=numbers[0])
    if codes:
        code = codes[0]
        if "from" in words and code != question.quote:
            return replace(question, base=code)
        return replace(question, quote=code) if code != question.base else None
    return question
