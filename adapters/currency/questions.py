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

from adapters.currency.names import (
    AMOUNT_MAX,
    NAMES,
    Money,
    at_home,
    classified,
    in_adjectives,
    is_number_unread,
    split,
)
from adapters.grammar import one_slip
from adapters.grammar import when as times
from adapters.grammar.when import When
from node.core.model import Slots, SlotValue
from node.language.reading import read, word_list
from node.language.tables import read_table

_DATA = read_table(__package__, "questions.toml")

STRENGTH_ALL = 0.95
STRENGTH_RATE = 0.92
STRENGTH_PART = 0.7
STRENGTH_HINTED = 0.6
WORDS_MAX = 60
UNKNOWN_WORDS_MAX = 5
"""A text with more words that have nothing to do with rates is about something else."""
CONTEXT_WORDS_MAX = 10
"""How many may tell what an amount to be converted is for."""

_AMOUNT = re.compile(r"\d{1,15}(?:\.\d{1,12})?")
_SIGNED = re.compile(
    r"(?:\u2212\s?|^[-\u2013]\s?|(?<=[\s(:=,])[-\u2013])(?:[a-z]{0,2}[^\w\s]\s?)?\.?\d"
    r"|[^\w\s.,;:!?()'\"-]\s?[-\u2013\u2212]\s?\.?\d|\d\s?[%\u2030\u00b0^]"
)
"""A minus sign before a number, or a sign behind it that changes what it says."""
_MINUS = frozenset(word_list("minus negative menos moins meno negativ минус"))
_TARGET = frozenset(word_list("to in into for en nach auf fur vers pour em para per в за"))
_ARTICLES = frozenset(word_list("the a an my our los las el la der die das den dem les le il lo o os as"))
_ENGLISH = frozenset(
    word_list("how what is are was were does do did the of for can could will would buy get worth much")
)
_TOLD = frozenset(
    word_list(
        "say said tell spell write written pronounce call called word words translate translated translation "
        "read sagt sagen heisst heissen decir dice escribe dire dit ecrit dico dizer"
    )
)
"""Where these stand, "in canadian" may be a way to speak."""
_RATE_WORDS = frozenset(word_list("rate rates kurs cours taux tasso cambio курс"))
_RATE_OF = frozenset(word_list("of the for del de du des der vom dem den la el l' d' do da a an di"))

_FILLERS = frozenset(word_list(_DATA["fillers"]))
_RATE_PHRASES: tuple[tuple[str, ...], ...] = tuple(
    tuple(phrase.split("_")) for phrase in word_list(_DATA["rate_phrases"])
)
_RATE_SURE = tuple(
    phrase
    for phrase in _RATE_PHRASES
    if len(phrase) > 1 or phrase[0] in ("wechselkurs", "cotizacion", "cotacao", "курс")
)
"""What makes money of a word that is mostly something else ("the exchange rate of the rand")."""
_STANDS: tuple[tuple[str, ...], ...] = tuple(
    tuple(phrase.split("_")) for phrase in word_list(_DATA["stands"])
)
"""Asking how a single currency stands."""
_ONE: tuple[tuple[str, ...], ...] = (("is", "a"), ("is", "an"), ("is", "the"))
_COMPARED = frozenset(
    word_list(
        "above below over under higher lower stronger weaker parity starker schwacher uber unter "
        "encima debajo fuerte debil fort faible dessus dessous forte debole fraco worth wert"
    )
)
"""Which of two currencies is worth more is told by their rate."""
_SLIPS = frozenset(
    word_list(
        "exchange exchanged convert converted conversion currency dollars dollar pounds pound euros rupees "
        "francs pesos between against wechselkurs umrechnen franken cotizacion convertir dolares libras "
        "livres combien"
    )
)
_NO_SLIPS = frozenset(
    word_list(
        "convent conversions converts converter exchanges currencies current collar collars poured bound "
        "found hound mound round sound wound euro ponds pond pounded compounds pounder"
    )
)
"""Words of their own that are one letter away from those."""
_CONVERTS = frozenset(
    word_list(
        "convert converted converting conversion converter change exchange exchanged swap convertir "
        "convierte convierteme pasar cambiar umrechnen umrechnung rechne convertis convertire converti "
        "cambiare converter перевести переведи конвертировать worth equals equal equivale equivalen vale "
        "valen entspricht vaut valent corrisponde"
    )
)
_CONNECTS = frozenset(
    word_list(
        "to in into vs versus against per for en a nach zu auf gegen pro contre vers al um = → is are son "
        "sind ist font em para equals equal make makes в во к на за es e sono sao fait"
    )
)
_INTO = frozenset(word_list("to into in en a nach vers em para в"))
_FOR_EACH = frozenset(word_list("per for pro fur pour por за"))
_HOW_MANY: tuple[tuple[str, ...], ...] = tuple(
    tuple(phrase.split("_"))
    for phrase in word_list(
        """
        how_many how_much cuantos cuantas cuanto wie_viele wie_viel wieviel wieviele combien_de
        combien_d' quanti quante quantos quantas сколько what_number_of
        """
    )
)
_VALUE = frozenset(
    word_list("price value worth precio valor prix valeur preis wert prezzo valore preco стоит")
)
_WORTH = frozenset(word_list("worth value wert valor valeur valore стоит vale today now"))
_TRAPS = frozenset(word_list(_DATA["traps"]))
_PRICED = frozenset(
    word_list(
        """
        salary job hourly wage rent ticket tickets hotel flight iphone phone car house earn save month year
        """
    )
)
"""What costs something: a trap unless an amount of money is to be told in another currency."""
_COINS = frozenset(
    word_list(
        "btc bitcoin bitcoins xbt eth ethereum ether crypto cryptocurrency cryptos solana sol doge "
        "dogecoin usdt usdc tether xrp ripple litecoin ltc ada cardano bnb avax shib polygon matic "
        "satoshi satoshis sats monero xmr биткоин биткойн эфириум ビットコイン 比特币 イーサリアム 以太坊"
    )
)
_SCRIPT_TRAPS = re.compile(
    r"なぜ|とは|仕組み|歴史|为什么|什么是|原理|历史|почему|объясни|что такое|истори|比特币|ビットコイン"
    r"|以太坊|イーサリアム|биткои?н|биткойн|株|金価格|股|黄金"
)
_SCRIPT_FILLERS = re.compile(
    r"ですか|です|でしょう|ますか|ます|換算|両替|為替|レート|相場|いくら|なん|何|教えて|ください|現在|今|交換|なる|だと"
    r"|すると|したら|して|する|分|対|は|を|に|の|で|と|が|か|へ|等于|等於|多少|是|兑换|兌換|兑|兌|换算|换|換|成|汇率|匯率"
    r"|今天|现在|目前|钱|錢|能|可以|请问|請問|相当于|多|少|几|幾|的|对|對|和|到|转|一|吗|呢|值"
    r"|환율|얼마|은|는|이|가|로|에|야|예요|[\s?？。、,！!=~ー]"
)
_SCRIPT_RATE = re.compile(
    r"為替|レート|相場|汇率|匯率|換算|换算|兑|兌|환율|いくら|何|多少|几|等于|値|值|얼마"
)
_UPPER = re.compile(r"(?<![A-Za-z])[A-Z]{3}(?![A-Za-z])")
_LEADS = frozenset(
    word_list(
        "and also what about how or now then but ok so y e et und oder ou que tal en and in to into of "
        "for from и а в во на"
    )
)
_REVERSED = frozenset(tuple(_DATA["reversed"]))


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
    if when is not None and (not isinstance(when, str) or times.resolve(when, today, past=True) is None):
        return None
    return Question(base, quote, amount if isinstance(amount, str) else None, when)


def _is_amount(value: SlotValue) -> bool:
    return isinstance(value, str) and bool(_AMOUNT.fullmatch(value)) and Decimal(value) <= AMOUNT_MAX


# --- reading --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Parsed:
    tokens: tuple[Money, ...]
    when: When | None
    unknown: tuple[str, ...]
    script: bool
    asks_rate: bool
    sure: bool = False
    abroad: bool = False
    unread: bool = False
    """Whether a number is said that is neither an amount nor a part of the date."""


def read_question(text: str, today: date, *, hinted: bool = False) -> Read | None:
    """The question about an exchange rate in ``text``; None where it holds none. See the module."""
    found = _read(text, today, hinted)
    if found is not None and found.strength >= STRENGTH_RATE:
        return found
    repaired = one_slip.mended(read(text).plain, _SLIPS, _is_word) if len(text) <= 400 else None
    if repaired is not None:
        again = _read(repaired, today, hinted)
        if again is not None and again.strength > (found.strength if found is not None else 0.0):
            return again if again.strength >= STRENGTH_RATE or found is not None or hinted else None
    return found


def _is_word(word: str) -> bool:
    return word in _FILLERS or word in _NO_SLIPS or word in _TRAPS or classified([word])[0].kind != "word"


def _read(text: str, today: date, hinted: bool) -> Read | None:
    parsed = _parse(text, today)
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
    trapped = any(word in _TRAPS for word in parsed.unknown)
    converted = len(codes) == 2 and len(numbers) == 1 and _converts_amount(parsed)
    priced = not converted and any(word in _PRICED for word in parsed.unknown)
    if len(codes) == 1 and numbers and parsed.when is not None and re.fullmatch(r"\d{4}", parsed.when.said):
        return None  # "100 dollars in 1950" is about what money could buy
    if any(word in _COINS for word in parsed.unknown) or trapped or _is_year(parsed, codes, numbers):
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


def _is_stray(parsed: _Parsed) -> bool:
    """Whether a number stands beside words of its own and not beside a currency ("2 nights in euros")."""
    number = next((at for at, token in enumerate(parsed.tokens) if token.kind == "number"), None)
    return number is not None and bool(parsed.unknown) and _owner(parsed, number) is None


def _is_aimed(parsed: _Parsed) -> bool:
    """Whether something that is no currency stands where the counter-currency would ("in wakanda")."""
    tokens = parsed.tokens
    for at, token in enumerate(tokens):
        if token.kind != "word" or token.value not in _TARGET:
            continue
        after = at + 1
        while after < len(tokens) and tokens[after].kind == "word" and tokens[after].value in _ARTICLES:
            after += 1
        if after < len(tokens) and tokens[after].kind == "word" and tokens[after].value in parsed.unknown:
            return True
    return False


def _is_twice(parsed: _Parsed) -> bool:
    """Whether the one currency stands on both sides: "usd to usd", but not "$100 USD"."""
    tokens = parsed.tokens
    for one, other in pairwise(_places(parsed)):
        between = tokens[one + 1 : other]
        if not between and not tokens[one].sign and not tokens[other].sign:
            return True
        if any(token.kind == "word" and (token.value in _CONNECTS or parsed.script) for token in between):
            return True
    return False


def _is_year(parsed: _Parsed, codes: Sequence[str], numbers: Sequence[str]) -> bool:
    """ "euro 2024" is a tournament."""
    if list(codes) != ["eur"] or not numbers or not re.fullmatch(r"(?:19|20)\d\d", numbers[0]):
        return False
    place = _places(parsed)[0]
    after = parsed.tokens[place + 1 : place + 2]
    return bool(after) and after[0].kind == "number" and not parsed.tokens[place].sign


def _is_counted(parsed: _Parsed) -> bool:
    place = _places(parsed)[0]
    return place > 0 and parsed.tokens[place - 1].kind == "number"


def _converts_amount(parsed: _Parsed) -> bool:
    """Whether a counted sum of one currency is to be told in the other: "my 250 euro hotel in pounds"."""
    tokens = parsed.tokens
    number = next(at for at, token in enumerate(tokens) if token.kind == "number")
    counted = [at for at in _places(parsed) if abs(at - number) == 1]
    if not counted:
        return False
    owner = tokens[counted[-1] if len(counted) == 1 else number + 1].value
    for at in _places(parsed):
        if tokens[at].value == owner:
            continue
        before = _words(parsed, 0, at)
        if before and (before[-1] in _INTO or _ends_with(before, _HOW_MANY)):
            return True
    return False


def _parse(text: str, today: date) -> _Parsed | None:
    reading = read(text)
    if len(reading.words) > WORDS_MAX or len(reading.plain) > 400:
        return None
    script = reading.script in ("japanese", "chinese", "other")
    plain = reading.plain
    whole = split(plain)
    if len(whole) > WORDS_MAX or not any(token.kind == "currency" for token in classified(whole)):
        return None
    if script or reading.script == "cyrillic":
        if _SCRIPT_TRAPS.search(plain):
            return None
        when, plain = times.find_script(plain, today)
        words, is_abroad = split(plain), False
    else:
        when, rest = times.find(whole, today, past=True)
        words = list(rest)
        is_abroad = False
        there = classified(words)
        if len({token.value for token in there if token.kind == "currency"}) == 1:
            bare = in_adjectives(words, _FILLERS) if _TOLD.isdisjoint(words) else words
            if _are_known(bare):
                words = bare
            abroad = at_home(words) if any(token.kind == "number" for token in there) else words
            if _are_known(abroad):
                is_abroad, words = abroad != words, abroad
    upper = {match.group().lower() for match in _UPPER.finditer(text[:600])}
    if upper and not any(char.islower() for char in text[:600]):
        upper = set()
    tokens = tuple(
        replace(token, doubtful=False) if token.kind == "currency" and token.value in upper else token
        for token in classified(words)
    )
    loose = [token.value for token in tokens if token.kind == "word"]
    if script:
        left = [_SCRIPT_FILLERS.sub("", word) for word in loose]
        unknown = tuple(word for word in left if word)
        asks_rate = bool(_SCRIPT_RATE.search(plain))
    else:
        unknown = tuple(word for word in loose if word not in _FILLERS)
        asks_rate = _has_phrase(words, _RATE_PHRASES)
    sure = not script and _has_phrase(words, _RATE_SURE)
    unread = _has_number_unread(reading.plain, tokens, unknown, today)
    return _Parsed(tokens, when, unknown, script, asks_rate, sure, is_abroad, unread)


def _are_known(words: Sequence[str]) -> bool:
    return all(token.kind != "word" or token.value in _FILLERS for token in classified(words))


def _has_number_unread(plain: str, tokens: Sequence[Money], unknown: Sequence[str], today: date) -> bool:
    """See ``_Parsed.unread``; a number beside the name of a month is a day that the calendar lacks."""
    if _SIGNED.search(plain) or any(map(is_number_unread, unknown)):
        return True
    if any(char.isdigit() for token in tokens if token.kind == "word" for char in token.value):
        return True
    for at, token in enumerate(tokens):
        if token.kind != "number":
            continue
        if at and tokens[at - 1].kind == "word" and tokens[at - 1].value in _MINUS:
            return True
        near = tokens[max(0, at - 2) : at + 3]
        if any(_is_month(other.value, today) for other in near if other.kind == "word"):
            return True
    return False


def _is_month(word: str, today: date) -> bool:
    found = times.find(("1", word), today)[0] or times.find_script(f"1 {word}", today)[0]
    return found is not None and not found.span and re.fullmatch(r"\d{4}-\d{2}-01", found.said) is not None


def _has_phrase(words: Sequence[str], phrases: Sequence[tuple[str, ...]]) -> bool:
    return any(
        tuple(words[at : at + len(phrase)]) == phrase for phrase in phrases for at in range(len(words))
    )


def _places(parsed: _Parsed) -> list[int]:
    return [at for at, token in enumerate(parsed.tokens) if token.kind == "currency"]


def _words(parsed: _Parsed, start: int, end: int) -> list[str]:
    return [token.value for token in parsed.tokens[max(0, start) : end] if token.kind == "word"]


def _related(parsed: _Parsed) -> bool:
    """Whether the two currencies are asked about as a pair and not merely both there."""
    places = _places(parsed)
    first, last = places[0], places[-1]
    between = _words(parsed, first + 1, last)
    if parsed.asks_rate or parsed.script or not between:
        return True
    words = [token.value for token in parsed.tokens if token.kind == "word"]
    if any(word in _CONVERTS for word in words) or _has_phrase(words, _HOW_MANY):
        return True
    if any(word in _COMPARED for word in words) or _has_phrase(words, _STANDS):
        return True
    return len(between) <= 6 and any(word in _CONNECTS for word in between)


def _pair(parsed: _Parsed, codes: Sequence[str]) -> Question:
    """Which of the two is converted, by the amount, by what is asked for, else the first."""
    places = _places(parsed)
    tokens = parsed.tokens
    first, second = codes
    at_second = next(at for at in places if tokens[at].value == second)
    number = next((at for at, token in enumerate(tokens) if token.kind == "number"), None)
    if number is not None:
        owner = _owner(parsed, number)
        if owner is not None:
            return Question(owner, second if owner == first else first)
    before_first = _words(parsed, 0, places[0])
    if _ends_with(before_first, _HOW_MANY) or (parsed.script and _asked_in_script(parsed, places[0])):
        return Question(second, first)
    between = _words(parsed, places[0] + 1, at_second)
    if any(word in _COMPARED for word in between):
        return Question(first, second)
    if any(word in _FOR_EACH for word in between) and not any(word in _INTO for word in between[1:]):
        return Question(second, first)
    if _ends_into(before_first) and not any(word in _INTO for word in between):
        return Question(second, first)
    return Question(first, second)


def _owner(parsed: _Parsed, number: int) -> str | None:
    """The currency that the number counts: the one after it, or a sign or code before it."""
    tokens = parsed.tokens
    after = tokens[number + 1] if number + 1 < len(tokens) else None
    before = tokens[number - 1] if number else None
    places = _places(parsed)
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


def _asked_in_script(parsed: _Parsed, at: int) -> bool:
    words = _words(parsed, 0, at)
    return bool(words) and words[-1].endswith(("何", "多少", "几", "幾", "いくら"))


def _ends_with(words: Sequence[str], phrases: Sequence[tuple[str, ...]]) -> bool:
    return any(tuple(words[-len(phrase) :]) == phrase for phrase in phrases if len(words) >= len(phrase))


def _ends_into(before: Sequence[str]) -> bool:
    """Whether what follows is what is converted into: "in", Spanish "a", not the article of "is a dollar"."""
    if not before or before[-1] not in _INTO:
        return False
    return before[-1] != "a" or _ENGLISH.isdisjoint(before)


def _other(code: str) -> str:
    """The currency meant where only one is said."""
    return "eur" if code == "usd" else "usd"


def _single(parsed: _Parsed, code: str) -> Question:
    place = _places(parsed)[0]
    before = _words(parsed, 0, place)
    number = next((at for at, token in enumerate(parsed.tokens) if token.kind == "number"), None)
    counted = number is not None and abs(number - place) == 1
    if _ends_into(before) and not counted and not parsed.asks_rate:
        return Question(_other(code), code)
    return Question(code, _other(code))


def _single_strength(parsed: _Parsed, known: bool, counted: bool) -> float:
    words = [token.value for token in parsed.tokens if token.kind == "word"]
    converts = any(word in _CONVERTS for word in words)
    place = _places(parsed)[0]
    before = _words(parsed, 0, place)
    if parsed.asks_rate and not (parsed.script and counted) and (known or _is_rate_of(parsed)):
        return STRENGTH_RATE if known else STRENGTH_PART if len(parsed.unknown) <= 3 else 0.0
    if not known:
        return 0.0
    if counted and converts and _ends_into(before):
        return STRENGTH_RATE
    if not counted and _has_phrase(words, _STANDS):
        return STRENGTH_RATE
    if not counted and not _ends_into(before):
        today = parsed.when is not None and parsed.when.said in ("now", "today")
        if today or any(word in _VALUE for word in words):
            return STRENGTH_PART
    asks = _has_phrase(words, _HOW_MANY) or converts or not {"what", "value", "worth"}.isdisjoint(words)
    if asks and any(word in _WORTH for word in words) and words[-1:] != ["in"]:
        return STRENGTH_PART
    # "how much is a pound" may be one of butter.
    one = _ends_with(before, _ONE) and place == len(parsed.tokens) - 1 and parsed.tokens[place].value != "gbp"
    return STRENGTH_HINTED if (counted or one) and _has_phrase(words[:3], _HOW_MANY) else 0.0


def _is_rate_of(parsed: _Parsed) -> bool:
    """Whether the rate is that of the currency ("dollar rate", "rate of the dollar")."""
    if parsed.sure or parsed.script:
        return True
    tokens = parsed.tokens
    for place in _places(parsed):
        if place + 1 < len(tokens) and tokens[place + 1].value in _RATE_WORDS:
            return True
        before = place - 1
        while before > 0 and tokens[before].kind == "word" and tokens[before].value in _RATE_OF:
            before -= 1
        if before >= 0 and tokens[before].value in _RATE_WORDS:
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
        if _stripped(flat) in _REVERSED:
            return replace(question, base=question.quote, quote=question.base).phrase(today)
        tokens = classified(rest)
    codes = [token.value for token in tokens if token.kind == "currency"]
    numbers = [token.value for token in tokens if token.kind == "number"]
    words = [token.value for token in tokens if token.kind == "word"]
    if _has_number_unread(reading.plain, tokens, (), today):
        return None
    if any(word not in _LEADS for word in words) or len(codes) > 1 or len(numbers) > 1:
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
