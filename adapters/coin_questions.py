"""Reads questions about the price of coins. Pure: the same text and day give the same slots.

Rules of this file:
- The vocabulary is closed. Every word of the question must be accounted for (a coin, a currency, an amount,
  a date, a word for price, a polite filler); one word that is not makes the text somebody else's. So "should
  I buy bitcoin" and "bitcoin halving date" need no rules of their own.
- A coin alone asks nothing: a word for the figure is needed, or a pair (BTC/USD, 2 ETH in euros).
- An alias that is an everyday word names a coin only with evidence beside it: capitals as in SOL, a ``$``
  before it, "coin" or "token" next to it, "crypto" in the sentence, a pair joined by a stroke, or a list with
  a coin beyond doubt. Case is folded for everything else.
- An unknown name is passed on for look-up only in crypto context, never guessed; one letter amiss in a long
  name is forgiven.
- What cannot be told for certain (a day and month that could be swapped, a date to come, an amount of money
  instead of coins) is not claimed.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from adapters.coin_aliases import (
    COIN_CURRENCIES,
    COINS,
    CURRENCIES,
    EVERYDAY,
    FAMILIAR,
    MISSPELLABLE,
)

TEXT_CHARS_MAX = 800
WORDS_MAX = 60
COINS_MAX = 10
LIMIT_DEFAULT = 10
LIMIT_MAX = 100
DIGITS_MAX = 24


@dataclass(frozen=True, slots=True)
class CoinQuestion:
    """What is asked. ``unresolved`` are names still to be looked up; ``metric`` is one of price, market_cap,
    volume_24h, change_24h, top; ``amount`` a canonical decimal; ``date`` ISO, None for now."""

    ids: tuple[str, ...]
    unresolved: tuple[str, ...]
    vs: str
    metric: str
    amount: str | None = None
    date: str | None = None
    limit: int | None = None
    guessed: bool = False


def canonical_key(question: CoinQuestion) -> str:
    """The slot key, e.g. ``price:bitcoin:usd`` or ``price:bitcoin+ethereum:eur:date=2024-01-01``."""
    parts = [question.metric]
    if question.ids:
        parts.append("+".join(sorted(question.ids)))
    parts.append(question.vs)
    for name in ("amount", "date", "limit"):
        value = getattr(question, name)
        if value is not None:
            parts.append(f"{name}={value}")
    return ":".join(parts)


def read_question(text: str, now: datetime) -> CoinQuestion | None:
    """The question in ``text``, or None when it is not certainly one about coins. Total; ``now`` is aware."""
    if len(text) > TEXT_CHARS_MAX or _DATE_MARK in text:
        return None
    today = now.astimezone(UTC).date()
    found: CoinQuestion | None = None
    text = _BLANKS.sub(" ", text)
    for sentence in _SENTENCE_END.split(_EQUALS.sub(" in ", text.translate(_QUOTES))):
        if not sentence.strip():
            continue
        if _THANKS.match(sentence):
            return None
        sentence = _reordered(sentence)
        reading = _read_sentence(sentence, today)
        if isinstance(reading, CoinQuestion):
            if found is not None:
                return None
            found = reading
        elif reading is _OTHER and (found is not None or not _STATEMENT.match(sentence.strip())):
            return None
    return found


_BLANKS = re.compile(r"[^\S\n]+")
_EQUALS = re.compile(r"\s*=\s*\?+\s*(?=[^\W\d_]|[$€£])")
"""1 eth = ? usd"""


_THANKS = re.compile(r"\s*(?:many\s)?(?:thanks|thank\syou|thx)\s(?:\w+\s){0,3}?for\s", re.IGNORECASE)
"""Thanks for a price ask for none."""


def _reordered(sentence: str) -> str:
    """The same question in the order of words that the rest of this file knows."""
    for pattern, order in _ORDERS:
        sentence = pattern.sub(order, sentence, count=1)
    return _COMPOUND.sub(_cut_compound, sentence)


def _cut_compound(match: re.Match[str]) -> str:
    """Bitcoinkurs"""
    return f"{match[1]} {match[2]}" if _key(match[1]) in _COIN_WORDS else match[0]


_MONEY = "|".join(
    sorted(
        (re.escape(name) for names in CURRENCIES.values() for name in names if name.isalpha()),
        key=len,
        reverse=True,
    )
)
_COMPOUND = re.compile(r"\b([^\W\d_]{3,20}?)s?-?(kurs|preis|wert)\b", re.IGNORECASE)
_ORDERS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), order)
    for pattern, order in (
        # 1 BTC is how many dollars
        (r"\s*(?:=|\bis|\bare|\bequals?|\bto)\s*how\s(?:many|much)\s+(?=\w)", " in "),
        # how many dollars is 1 btc worth
        (
            rf"^(.{{0,40}}?)\bhow\s(?:many|much)\s({_MONEY})\s(?:is|are|for|does|do|would|will|make|makes|equals?)\s(.+)$",
            r"\1 how much is \3 in \2",
        ),
        # how much ETH is
        (
            r"\bhow\s(?:much|expensive)\s((?:an?\s|one\s|the\s)?[\w$]{2,20}(?:\s[\w]{2,20})?)\s(?:is|are|costs?)"
            r"(?=\s*$|\s*,|\s(?:at|now|right|today|currently|worth|in|trading|going|please|rn|atm|these)\b)",
            r"how much is \1",
        ),
        # is bitcoin up today
        (
            r"^\s*(?:is|are)\s(?:the\sprice\sof\s|the\s)?([\w$]{2,20}(?:\s[\w]{2,20})?)\s"
            r"(?:up|down|higher|lower|in the green|in the red)(?=\s*$|\s(?:or|today|now|right|over"
            r"|in the|this)\b)"
            r"(?:\sor\s(?:up|down))?",
            r"change of \1",
        ),
        # how did btc do today
        (r"^\s*how\s(?:did|has)\s([\w$]{2,20}(?:\s[\w]{2,20})?)\s(?:do|done|perform"
         r"|performed)\b", r"change of \1"),
    )
)  # fmt: skip


# --- words --------------------------------------------------------------------------------------------

_QUOTES = str.maketrans({"’": "'", "‘": "'", "´": "'", "`": "'", "“": '"', "”": '"', "\u00a0": " "})
_DATE_MARK = "\ue000"
_SENTENCE_END = re.compile(r"[?!;\n…？！。؟]|\.(?=\s|$)")
_STATEMENT = re.compile(
    r"(?:i|i'm|i've|i'd|my|we|we're|our)\b(?!.*\b(?:explain|tell me|compare)\b)", re.IGNORECASE
)
_TOKEN = re.compile(
    r"(?P<number>(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+,\d{1,2}(?!\d)|\d+\.\d+|\d+|\.\d+)[kmb]?(?![^\W_]))"
    r"|(?P<ticker>\$[a-z][a-z0-9]{0,19}(?![^\W_]))"
    r"|(?P<word>[^\W_]+(?:'[^\W_]{1,3}(?![^\W_]))?)"
    r"|(?P<sign>[$€£¥₹₩₽₴₺₪₫₦%&])"
    r"|(?P<mark>\ue000)"
    r"|(?P<space>\s+)"
    r"|(?P<other>.)",
    re.IGNORECASE | re.DOTALL,
)
_IGNORED = frozenset("¿¡,.:()[]'\"-–—/~’")


@dataclass(frozen=True, slots=True)
class _Token:
    """``joined`` is the ``/`` or ``-`` that ties it to the word before without a blank; ``split`` says
    that a comma stands before it."""

    text: str
    low: str
    kind: str
    joined: str = ""
    split: bool = False


def _tokens(sentence: str) -> list[_Token] | None:
    """The words, or None when something in it is neither word nor harmless punctuation."""
    out: list[_Token] = []
    gap = " "
    for match in _TOKEN.finditer(sentence):
        kind = match.lastgroup or "other"
        piece = match.group()
        if kind == "space":
            gap += " "
            continue
        if kind == "other":
            if piece not in _IGNORED and unicodedata.category(piece) not in ("So", "Sk", "Mn", "Cf"):
                return None
            gap += piece
            continue
        if kind == "number" and gap.endswith(("-", "–")) and gap != "-":
            return None
        joined = gap if gap in ("/", "-") else ""
        for index, (low, text) in enumerate(_expanded(piece)):
            out.append(_Token(text, low, kind, joined if index == 0 else "", "," in gap and index == 0))
        gap = ""
        if len(out) > WORDS_MAX:
            return None
    return out


_SUFFIXES = {"'s": "is", "'re": "are", "'d": "would", "'m": "am", "'ll": "will"}
_IS_AFTER = frozenset(("what", "how", "where", "that", "who", "it"))
_BARE = {
    "whats": ("what", "is"),
    "hows": ("how", "is"),
    "wats": ("what", "is"),
    "pls": ("please",),
    "plz": ("please",),
}


def _expanded(piece: str) -> Iterator[tuple[str, str]]:
    low = piece.lower()
    if low in _BARE:
        yield from ((word, word) for word in _BARE[low])
        return
    base, mark, tail = low.partition("'")
    if mark and (mark + tail) in _SUFFIXES:
        yield base, piece[: len(base)]
        if tail != "s" or base in _IS_AFTER:
            yield _SUFFIXES[mark + tail], tail
        return
    yield low, piece


def _key(phrase: str) -> tuple[str, ...]:
    return tuple(token.low for token in _tokens(phrase) or ())


_PHRASES: dict[tuple[str, ...], tuple[str, str]] = {}


def _say(kind: str, value: str, *phrases: str) -> None:
    for phrase in phrases:
        _PHRASES[tuple(phrase.split())] = (kind, value)


_FILLERS = """
    what which where is are be the a an of for on me please kindly tell give show get find check fetch look
    up display say i we want wanna need hey hi hello ok okay so well yo thanks thank you u can could would
    do does just exactly exact roughly approximately market each per single whole full convert conversion
    calculate equal equals equivalent quick check my l d est es ist o gib mir dame dime question coingecko
    from with am by exchange quickly
    precise actual that de del du des der die das von da di il le la el un una une ein eine
"""
for _word in _FILLERS.split():
    _say("fill", "", _word)
_say("fill", "", "do you know", "to know", "wanna know", "want to know", "need to know", "like to know")
_say("at", "", "at")
_say("fill", "a", "a", "an")
_say("fill", "", "would like", "i would like", "let me know", "what about", "how about")
_say(
    "fill",
    "",
    "hi there",
    "hey there",
    "hello there",
    "i was wondering",
    "wondering",
    "according to coingecko",
)
_say("fill", "", "good morning", "good evening", "good afternoon", "do me a favor", "up to date", "thank you")
_say(
    "now", "", "now", "right now", "current", "currently", "today", "at the moment", "at this moment", "live"
)
_say(
    "now", "", "latest", "real time", "realtime", "spot", "these days", "as of now", "as of today", "present"
)
_say(
    "now",
    "",
    "presently",
    "this moment",
    "right this moment",
    "this minute",
    "at present",
    "this very moment",
)
_say("now", "", "rn", "atm", "as we speak", "at the minute", "hoy", "heute", "ahora")
_say("past", "", "was", "were", "did", "had", "been")
_say("aux", "", "has", "have", "over", "during", "within")
_say("how", "", "how")
_say(
    "how_much",
    "",
    "how much is",
    "how much are",
    "how much does",
    "how much do",
    "how much did",
    "how much was",
)
_say("how_much", "", "how much were", "how much for", "how much would")
_say(
    "how_much",
    "",
    "cuanto vale",
    "cuánto vale",
    "cuanto cuesta",
    "cuánto cuesta",
    "quanto costa",
    "quanto vale",
)
_say("how_much", "", "combien coûte", "combien vaut", "combien coute", "wie viel kostet", "was kostet")
_say("quantity", "", "how much")
_say("doing", "", "doing")
_say(
    "price",
    "price",
    "price",
    "prices",
    "worth",
    "value",
    "values",
    "rate",
    "rates",
    "market price",
    "priced at",
)
_say("price", "price", "exchange rate", "market rate", "trading at", "trade at", "trades at", "trading for")
_say("price", "price", "going for", "go for", "goes for", "selling for", "sell for", "sells for", "valued at")
_say("price", "price", "trading price", "unit price", "pricing", "traded at", "trading", "price tag")
_say(
    "fill", "", "how big is", "how large is", "how high is", "how high was", "how low is", "i was asking for"
)
_say(
    "fill", "", "cual es", "cuál es", "quel est", "quelle est", "wie hoch ist", "was ist", "qual é", "qual e"
)
_say(
    "how_much", "", "how expensive is", "how expensive are", "how expensive was", "cuanto esta", "cuánto está"
)
_say(
    "how_much",
    "",
    "a cuanto esta",
    "a cuánto está",
    "wie steht",
    "wie steht es um",
    "quanto está",
    "quanto esta",
)
_say(
    "how_much",
    "",
    "combien coute",
    "combien est",
    "combien vaut",
    "wieviel kostet",
    "wie viel ist",
    "cuanto es",
)
_say("link", "", "en", "auf")
_say(
    "now",
    "",
    "aktueller",
    "aktuelle",
    "aktuellen",
    "aktuell",
    "derzeit",
    "gerade",
    "jetzt",
    "actual",
    "actuel",
)
_say(
    "now", "", "actuelle", "actuellement", "maintenant", "aujourd'hui", "hoje", "agora", "oggi", "ahora mismo"
)
_say(
    "price",
    "price",
    "quote",
    "quotes",
    "quotation",
    "going rate",
    "wert",
    "valor",
    "valeur",
    "valore",
    "preco",
)
_say("price", "price", "precio actual", "going price", "current value", "ticker")
_say(
    "move",
    "",
    "rise",
    "rose",
    "risen",
    "rising",
    "fall",
    "fell",
    "fallen",
    "falling",
    "gain",
    "gained",
    "gains",
)
_say(
    "move", "", "drop", "dropped", "dropping", "increase", "increased", "decrease", "decreased", "performance"
)
_say("move", "", "perform", "performed", "performing", "rise or fall", "go up or down", "gone up or down")
_say("move", "", "go up", "went up", "gone up", "going up", "go down", "went down", "gone down", "going down")
_say("price", "price", "precio", "preis", "kurs", "prix", "cours", "preço", "prezzo", "cotización")
_say("price", "cost", "cost", "costs", "it cost to buy", "cost to buy", "it cost to get", "priced")
_say("price", "cost", "how much to buy")
_say(
    "cap",
    "",
    "market cap",
    "marketcap",
    "market caps",
    "market capitalization",
    "market capitalisation",
    "mcap",
)
_say("cap", "", "mkt cap", "capitalization", "capitalisation")
_say("vol", "", "volume", "volumes", "trading volume", "trade volume", "traded volume")
_say(
    "chg", "", "change", "changes", "changed", "price change", "up or down", "moved", "move", "price movement"
)
_say("pct", "", "%", "percent", "percentage")
_say(
    "24h",
    "",
    "24h",
    "24hr",
    "24hrs",
    "24 h",
    "24 hr",
    "24 hrs",
    "24 hour",
    "24 hours",
    "last 24 hours",
    "daily",
)
_say(
    "24h",
    "",
    "past 24 hours",
    "last day",
    "past day",
    "24hour",
    "24hours",
    "1d",
    "last 24h",
    "past 24h",
    "1 day",
)
_say("24h", "", "last 24 hrs", "past 24 hrs", "last 24hrs", "past 24hrs", "intraday", "twenty four hours")
_say("top", "", "top", "biggest", "largest", "leading", "highest")
_say(
    "list", "", "list", "name", "names", "rank", "ranked", "ranking", "rankings", "sorted", "ordered", "their"
)
_say("ctx", "coin", "coin", "token")
_say("ctx", "coins", "coins", "tokens", "altcoins", "memecoins", "stablecoins")
_say(
    "ctx",
    "crypto",
    "crypto",
    "cryptocurrency",
    "altcoin",
    "memecoin",
    "meme coin",
    "stablecoin",
    "crypto coin",
)
_say("ctx", "crypto", "crypto token", "crypto currency", "digital currency")
_say("ctx", "cryptos", "cryptos", "cryptocurrencies", "crypto coins", "crypto tokens", "crypto currencies")
_say("and", "", "and", "&", "or", "plus")
_say("link", "", "in", "into", "to", "denominated in", "expressed in", "in terms of")
_say("link", "vs", "vs", "against", "versus")
_NUMBER_WORDS = {
    name: str(number)
    for number, name in enumerate(
        ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
        start=1,
    )
} | {"fifteen": "15", "twenty": "20", "fifty": "50", "hundred": "100"}
for _word, _number in _NUMBER_WORDS.items():
    _say("number", _number, _word)
_say("number", "0.5", "half a", "half an", "half of a", "half", "one half")
_say("number", "0.25", "quarter of a", "a quarter of a")
_say("number", "100", "a hundred", "one hundred")
_say("number", "1000", "a thousand", "one thousand")
_say("number", "1000000", "a million", "one million")
_say("times", "1000", "thousand")
_say("times", "1000000", "million", "millions")
_say("times", "1000000000", "billion", "billions")
_say("cap", "", "capitalización de mercado", "capitalizacion de mercado", "capitalización bursátil")
_say("cap", "", "marktkapitalisierung", "capitalisation boursière", "capitalisation boursiere")
_say("fill", "", "wie ist")
for _code, _names in CURRENCIES.items():
    for _name in _names:
        _say("currency", _code, _name)

_COIN_WORDS: dict[tuple[str, ...], tuple[str, str]] = {}
"""Words to (id, alias)."""
for _coin in COINS:
    for _alias in (*_coin.names, *_coin.symbols):
        _COIN_WORDS.setdefault(_key(_alias), (_coin.id, _alias))
    for _alias in _coin.names:
        if len(_alias) >= 5 and _alias.isalpha() and _alias not in EVERYDAY and not _alias.endswith("s"):
            _COIN_WORDS.setdefault((_alias + "s",), (_coin.id, _alias))
_COIN_WORDS.setdefault(("dogecoins",), ("dogecoin", "dogecoin"))
_PHRASE_WORDS_MAX = max(len(key) for key in (*_PHRASES, *_COIN_WORDS))
_FIAT = frozenset(CURRENCIES) | {"try"}

# Names that "token" or "coin" follow without making them a cryptocurrency, and shares with a $ before them.
_OTHER_NAMES = """
    access api auth authentication jwt session security csrf bearer refresh subway bus metro train tram
    arcade game gaming casino laundry input output llm gpt openai claude anthropic gemini mistral model word
    per million thousand this that these those any some every each another other which what whose first last
    next new old rare ancient roman greek gold golden silver copper bronze platinum penny dollar euro
    quarter dime nickel cent commemorative collector collectors lucky chocolate best worst cheapest cheap
    good bad my your his her our their its no average total non fungible nft physical vintage antique slot
    vending toll parking car wash push device unit test id oauth aapl tsla nvda msft googl goog amzn meta
    nflx amd intc spy qqq gme amc pltr coin mstr hood baba nio dis ba jpm bac wmt ko pep pfe xom t f ge gm
    uber abnb pypl sq shop crm orcl ibm csco adbe avgo qcom voo vti
"""
_NOT_A_COIN_NAME = frozenset(_OTHER_NAMES.split())
_NAME = re.compile(r"[a-z][a-z0-9]{1,19}\Z")


# --- dates --------------------------------------------------------------------------------------------

_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            ("january", "jan"),
            ("february", "feb"),
            ("march", "mar"),
            ("april", "apr"),
            ("may",),
            ("june", "jun"),
            ("july", "jul"),
            ("august", "aug"),
            ("september", "sept", "sep"),
            ("october", "oct"),
            ("november", "nov"),
            ("december", "dec"),
        ),
        start=1,
    )
    for name in names
}
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_DATE = re.compile(
    rf"\b(?:(?P<iso>\d{{4}}(?:-\d{{1,2}}-|/\d{{1,2}}/)\d{{1,2}})"
    rf"|(?P<d1>\d{{1,2}})(?:st|nd|rd|th)?\s(?:of\s)?(?P<m1>{_MONTH})\b\.?(?:,?\s(?P<y1>\d{{4}})\b)?"
    rf"|(?P<m2>{_MONTH})\.?\s(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?\b(?:,?\s(?P<y2>\d{{4}})\b)?"
    r"|(?P<n1>\d{1,2})[/.](?P<n2>\d{1,2})[/.](?P<y3>\d{4})"
    r"|(?P<before>(?:the\s)?day\sbefore\syesterday)|(?P<yesterday>yesterday|gestern|ayer)"
    r"|(?P<count>\d{1,4}|an?|one|two|three|four|five|six|seven|eight|nine|ten)\s"
    r"(?P<unit>day|week|month|year)s?\sago)\b",
    re.IGNORECASE,
)


def _month_back(day: date, months: int) -> date:
    index = day.year * 12 + day.month - 1 - months
    year, month = divmod(index, 12)
    for last in (day.day, 30, 29, 28):
        try:
            return date(year, month + 1, min(day.day, last))
        except ValueError:
            continue
    raise ValueError("no such month")


def _date_of(match: re.Match[str], today: date) -> date | None:
    """The day named, or None when it does not exist, is unclear or is still to come."""
    got = match.groupdict()
    try:
        if got["iso"]:
            year, month, day = (int(part) for part in re.split("[-/]", got["iso"]))
            named = date(year, month, day)
        elif got["yesterday"]:
            named = today - timedelta(days=1)
        elif got["before"]:
            named = today - timedelta(days=2)
        elif got["unit"]:
            word = got["count"].lower()
            count = 1 if word in ("a", "an") else int(_NUMBER_WORDS.get(word, word))
            unit = got["unit"].lower()
            if unit in ("day", "week"):
                named = today - timedelta(days=count * (7 if unit == "week" else 1))
            else:
                named = _month_back(today, count * (12 if unit == "year" else 1))
        elif got["n1"]:
            first, second, year = int(got["n1"]), int(got["n2"]), int(got["y3"])
            if first != second and first <= 12 and second <= 12:
                return None
            day, month = (first, second) if second <= 12 else (second, first)
            named = date(year, month, day)
        else:
            day, month = int(got["d1"] or got["d2"]), _MONTHS[(got["m1"] or got["m2"]).lower()]
            if year_text := got["y1"] or got["y2"]:
                named = date(int(year_text), month, day)
            else:
                named = date(today.year, month, day)
                if named > today:
                    named = date(today.year - 1, month, day)
    except (ValueError, OverflowError):
        return None
    return named if named <= today else None


# --- one sentence -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Item:
    """A phrase with its part. ``sure``: a coin beyond doubt; ``shown``: evidence seen in its own letters;
    ``joined`` and ``split`` as in ``_Token``."""

    kind: str
    value: str
    alias: str = ""
    sure: bool = False
    shown: bool = False
    joined: str = ""
    split: bool = False


class _Other:
    """A sentence that asks or says something else."""


_OTHER = _Other()


def _read_sentence(sentence: str, today: date) -> CoinQuestion | _Other | None:
    """The question; ``_OTHER``; None when the sentence is empty or only polite."""
    day: date | None = None
    if match := _DATE.search(sentence):
        day = _date_of(match, today)
        if day is None:
            return _OTHER
        sentence = f"{sentence[: match.start()]} {_DATE_MARK} {sentence[match.end() :]}"
    tokens = _tokens(sentence)
    if tokens is None:
        return _OTHER
    items = _items(tokens)
    if all(item.kind in ("fill", "and", "link", "now", "how", "at") for item in items):
        return None
    kinds = {item.kind for item in items}
    if "top" in kinds:
        return _top(items, kinds) or _OTHER
    return _figure(items, day, today) or _OTHER


def _items(tokens: Sequence[_Token]) -> list[_Item]:
    """Phrases, longest first; at equal length a coin wins over a filler when it is beyond doubt."""
    loud = _is_loud(tokens)
    out: list[_Item] = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        item, size = _item(tokens, at, loud)
        out.append(replace(item, joined=token.joined, split=token.split))
        at += size
    if any(item.kind == "coin" and item.sure for item in out):
        return [_Item("price", "price") if _is_price_misspelt(item) else item for item in out]
    return out


def _is_price_misspelt(item: _Item) -> bool:
    """ "prcie": beside a coin beyond doubt, one letter away from a word for the figure."""
    return (
        item.kind == "name"
        and item.value.isalpha()
        and len(item.value) >= 4
        and item.value not in _NOT_PRICE
        and any(
            item.value[0] == word[0] and _one_apart(item.value, word) for word in ("price", "value", "worth")
        )
    )


_NOT_PRICE = frozenset(("prime", "pride", "prince", "pricey", "priced", "valve", "worthy", "prices"))


def _is_loud(tokens: Sequence[_Token]) -> bool:
    """Everything is in capitals, so capitals show nothing."""
    plain = [t for t in tokens if t.kind == "word" and t.text.isalpha() and (t.low,) not in _COIN_WORDS]
    return bool(plain) and all(t.text.isupper() for t in plain)


def _item(tokens: Sequence[_Token], at: int, loud: bool) -> tuple[_Item, int]:
    token = tokens[at]
    if token.kind == "mark":
        return _Item("date", ""), 1
    if token.kind == "ticker":
        name = token.low[1:]
        coin_id, alias = _COIN_WORDS.get((name,), ("", ""))
        if coin_id:
            return _Item("coin", coin_id, alias, sure=True, shown=True), 1
        return _Item("name", name, shown=True), 1
    for size in range(min(_PHRASE_WORDS_MAX, len(tokens) - at), 0, -1):
        run = tokens[at : at + size]
        if any(t.kind in ("mark", "ticker") for t in run) or any(t.split for t in run[1:]):
            continue
        key = tuple(t.low for t in run)
        coin, phrase = _COIN_WORDS.get(key), _PHRASES.get(key)
        if coin is not None and (phrase is None or _shows(run, coin[1], at, loud)):
            if phrase is not None and phrase[0] == "number" and _coin_follows(tokens, at + size):
                return _Item("number", phrase[1]), size
            alias = coin[1]
            return (
                _Item("coin", coin[0], alias, alias not in EVERYDAY, _shows(run, alias, at, loud)),
                size,
            )
        if phrase is not None:
            return _Item(*phrase), size
    if token.kind == "number":
        return _Item("number", token.low), 1
    if token.text == "TRY" and not loud:
        return _Item("currency", "try"), 1
    if pair := _glued_pair(token.low):
        return pair, 1
    return _Item("name" if _NAME.match(token.low) else "unknown", token.low), 1


def _shows(run: Sequence[_Token], alias: str, at: int, loud: bool) -> bool:
    """Capitals that ordinary writing would not use: SOL; a name like The Graph inside a sentence."""
    if loud:
        return False
    if all(t.text.isupper() and len(t.text) >= 2 for t in run):
        return True
    is_name = len(alias) >= 5 and alias != "trump"
    return is_name and at > 0 and all(t.text[0].isupper() for t in run)


def _coin_follows(tokens: Sequence[_Token], at: int) -> bool:
    return any((tuple(t.low for t in tokens[at : at + size])) in _COIN_WORDS for size in (1, 2, 3))


def _glued_pair(word: str) -> _Item | None:
    """btcusd, etheur: a certain ticker and a currency code written as one."""
    for size in (3, 4):
        head, tail = word[:-size], word[-size:]
        coin = _COIN_WORDS.get((head,))
        known = coin is not None and coin[1] not in EVERYDAY and len(head) <= 5
        if coin is not None and known and (tail in _FIAT or tail in ("btc", "eth")):
            return _Item("pair", f"{coin[0]} {tail}", coin[1], sure=True, shown=True)
    return None


# --- figures of coins ---------------------------------------------------------------------------------

_NO_PAIR = frozenset(("past", "aux", "24h", "pct", "how", "quantity"))
_METRICS: Mapping[str, str] = {
    "cap": "market_cap",
    "vol": "volume_24h",
    "chg": "change_24h",
    "price": "price",
}


def _figure(items: list[_Item], day: date | None, today: date) -> CoinQuestion | None:
    kinds = [item.kind for item in items]
    if {"unknown", "list"} & set(kinds) or kinds.count("date") > 1:
        return None
    items = _without_amount_of_money(_moves(items))
    if not items:
        return None
    metric = _metric({item.kind for item in items})
    resolved = _coins(items, _has_crypto(items))
    if resolved is None:
        return None
    coins, names, guessed = resolved
    currency = _currency(items, coins)
    if currency is None:
        return None
    vs, paired, coins = currency
    if not coins and not names:
        return None
    amount = _amount(items)
    if amount is None:
        return None
    if metric is None:
        # Without a word for the figure only a plain pair asks: BTC/USD, 2 ETH in euros.
        asked_at = _ends_in_at(items)
        if not (paired or asked_at) or names or guessed or _NO_PAIR & set(kinds):
            return None
        metric = "price"
    live = day is None or day == today
    if not _times_fit(set(kinds), metric, live):
        return None
    ids = tuple(dict.fromkeys(coins))
    if len(ids) + len(names) > COINS_MAX or (amount and (len(ids) + len(names) > 1 or metric != "price")):
        return None
    return CoinQuestion(
        ids=ids,
        unresolved=names,
        vs=vs,
        metric=metric,
        amount=amount or None,
        date=None if day is None or live else day.isoformat(),
        guessed=guessed,
    )


def _moves(items: list[_Item]) -> list[_Item]:
    """A word for movement asks for the change where a time or a verb says so: "the rise of bitcoin" does not
    (then the list is empty)."""
    kinds = {item.kind for item in items}
    if "move" not in kinds:
        return items
    if not kinds & {"now", "24h", "aux", "past", "pct", "quantity", "chg"}:
        return []
    return [replace(item, kind="chg") if item.kind == "move" else item for item in items]


def _ends_in_at(items: Sequence[_Item]) -> bool:
    """ "what is BTC at", "where is BTC at right now"."""
    rest = [item.kind for item in items if item.kind != "now"]
    return len(rest) >= 4 and rest[0] == "fill" and rest[-1] == "at" and rest[-2] == "coin"


def _metric(kinds: set[str]) -> str | None:
    """The figure asked for; empty text when two are asked at once."""
    asked = [kind for kind in ("cap", "vol", "chg") if kind in kinds]
    if len(asked) > 1 or (asked and asked[0] in ("cap", "vol") and "price" in kinds):
        return ""
    if asked:
        return _METRICS[asked[0]]
    if {"price", "how_much"} & kinds or {"how", "doing"} <= kinds:
        return "price"
    return None


def _times_fit(kinds: set[str], metric: str, live: bool) -> bool:
    if metric == "":
        return False
    if "24h" in kinds and metric not in ("volume_24h", "change_24h"):
        return False
    if ({"pct", "aux"} & kinds) and metric != "change_24h":
        return False
    if "doing" in kinds and "how" not in kinds:
        return False
    if live:
        return "past" not in kinds or metric == "change_24h"
    return "now" not in kinds and "24h" not in kinds and metric != "change_24h"


def _has_crypto(items: Sequence[_Item]) -> bool:
    return any(item.kind == "ctx" and item.value.startswith("crypto") for item in items)


def _without_amount_of_money(items: list[_Item]) -> list[_Item]:
    """Join numbers with "thousand"; empty when the amount is one of money (100 dollars in bitcoin)."""
    out: list[_Item] = []
    for item in items:
        if item.kind == "times":
            if not out or out[-1].kind != "number":
                return []
            out[-1] = replace(out[-1], value=f"{out[-1].value} {item.value}")
            continue
        before = out[-1].kind if out else ""
        if item.kind == "currency" and before == "number":
            return []
        if item.kind == "number" and before == "currency":
            return []
        out.append(item)
    return out


def _coins(items: Sequence[_Item], crypto: bool) -> tuple[list[str], tuple[str, ...], bool] | None:
    """Ids, names to look up, and whether one was guessed from a misspelling; None when in doubt."""
    certain_somewhere = any(item.kind in ("coin", "pair") and item.sure for item in items)
    uses_cost = any(item.kind == "price" and item.value == "cost" for item in items)
    priced = any(item.kind in ("price", "how_much", "vol", "cap", "chg") for item in items)
    in_money = any(a.kind == "link" and b.kind == "currency" for a, b in itertools.pairwise(items))
    coins: list[str] = []
    names: list[str] = []
    guessed = False
    for at, item in enumerate(items):
        before = items[at - 1] if at else None
        after = items[at + 1] if at + 1 < len(items) else None
        article = before is not None and before.kind == "fill" and before.value == "a"
        beside = any(n is not None and n.kind == "ctx" for n in (before, after))
        if item.kind == "pair":
            coins.append(item.value.split()[0])
        elif item.kind == "coin":
            neighbours = [n for n in (before, after) if n is not None]
            crowded = (
                any(
                    n.kind == "coin" and n.value != item.value and not (n is after and after.split)
                    for n in neighbours
                )
                and not item.split
            )
            if not item.sure and crowded and not (item.joined or (after is not None and after.joined)):
                return None
            listed = certain_somewhere and (
                item.split or any(n.kind == "and" for n in neighbours) or (after is not None and after.split)
            )
            stroked = any(
                n is not None and n.kind in ("currency", "coin") and tie
                for n, tie in ((before, item.joined), (after, after.joined if after else ""))
            )
            twin = any(
                n.kind == "coin" and n.value == item.value and n.alias != item.alias for n in neighbours
            )
            familiar = item.alias in FAMILIAR and (priced or in_money) and not uses_cost and not article
            if not (item.sure or item.shown or beside or crypto or listed or stroked or familiar or twin):
                return None
            coins.append(item.value)
        elif item.kind == "name":
            if item.value in _NOT_A_COIN_NAME:
                return None
            if item.shown or (beside and not _plural_context(before, after)):
                names.append(item.value)
            elif priced and (known := _misspelt(item.value)) is not None:
                coins.append(known)
                guessed = True
            else:
                return None
    if len(names) > 1 or (guessed and len(coins) + len(names) > 1):
        return None
    return coins, tuple(names), guessed


def _plural_context(before: _Item | None, after: _Item | None) -> bool:
    """ "tokens" and "coins" name kinds of things, not one coin; "crypto" before a word is no name either."""
    near = [item for item in (before, after) if item is not None and item.kind == "ctx"]
    return any(item.value in ("coins", "cryptos") for item in near)


def _currency(items: Sequence[_Item], coins: list[str]) -> tuple[str, bool, list[str]] | None:
    """The currency, whether it stands as the second half of a pair, and the coins without it."""
    found: list[str] = []
    paired = False
    first_coin = next((at for at, i in enumerate(items) if i.kind in ("coin", "pair", "name")), None)
    for at, item in enumerate(items):
        before = items[at - 1] if at else None
        after = items[at + 1] if at + 1 < len(items) else None
        if item.kind == "pair":
            found.append(item.value.split()[1])
            paired = True
        elif item.kind == "currency":
            if first_coin is None:
                return None
            if at < first_coin:
                # "euro price of btc" is one, "euros in btc" is the other way round.
                if after is None or after.kind not in ("price", "cap", "vol"):
                    return None
            else:
                paired = paired or (before is not None and before.kind in ("link", "coin"))
            found.append(item.value)
    if not found and len(coins) == 2 and coins[0] != coins[1]:
        quoted = _coin_quoted(items, coins)
        if quoted == "":
            return None
        if quoted is not None:
            return quoted, True, coins[:1]
    if len(set(found)) > 1:
        return None
    return (found[0] if found else "usd"), paired, coins


def _coin_quoted(items: Sequence[_Item], coins: list[str]) -> str | None:
    """Two coins tied as a pair: the currency that the second one is; None when they are a list; empty when
    the source does not quote in it or when they may only be compared (bitcoin vs ethereum)."""
    at = next(i for i, item in enumerate(items) if item.kind == "coin" and item.value == coins[1])
    before = items[at - 1] if at else None
    if before is not None and before.kind == "link" and before.value == "vs":
        return ""
    if items[at].joined or (before is not None and before.kind == "link"):
        return COIN_CURRENCIES.get(coins[1], "")
    return None


def _amount(items: Sequence[_Item]) -> str | None:
    """Canonical decimal; empty text when there is none or it is one; None when a number makes no sense."""
    amount = ""
    for at, item in enumerate(items):
        if item.kind != "number":
            continue
        after = items[at + 1 :]
        while after and (after[0].kind == "ctx" or (after[0].kind == "fill" and len(after) > 1)):
            after = after[1:]
        if amount or not after or after[0].kind not in ("coin", "name"):
            return None
        amount = _decimal(item.value)
        if not amount:
            return None
    return "" if amount == "1" else amount


_SUFFIX_TIMES = {"k": 1_000, "m": 1_000_000, "b": 1_000_000_000}


def _decimal(text: str) -> str:
    """Canonical positive decimal of "1,000", "2,5", "10k", "2 1000"; empty when out of bounds."""
    digits, _, times = text.partition(" ")
    factor = Decimal(times or 1)
    if digits[-1:] in _SUFFIX_TIMES:
        factor *= _SUFFIX_TIMES[digits[-1]]
        digits = digits[:-1]
    if re.fullmatch(r"\d+,\d{1,2}", digits):
        digits = digits.replace(",", ".")
    digits = digits.replace(",", "")
    if len(digits) > DIGITS_MAX:
        return ""
    value = Decimal(digits) * factor
    if value <= 0:
        return ""
    plain = format(value, "f")
    return plain.rstrip("0").rstrip(".") if "." in plain else plain


# --- lists --------------------------------------------------------------------------------------------


def _top(items: Sequence[_Item], kinds: set[str]) -> CoinQuestion | None:
    """ "top 5 coins by market cap": of coins for certain, and by market cap or nothing said."""
    if kinds - {"fill", "at", "now", "top", "list", "number", "ctx", "cap", "currency", "link", "and"}:
        return None
    contexts = [item.value for item in items if item.kind == "ctx"]
    crypto = any(value.startswith("crypto") for value in contexts)
    is_top = any(item.kind == "top" for item in items)
    if not is_top or not contexts or not (crypto or "cap" in kinds):
        return None
    numbers = [item.value for item in items if item.kind == "number"]
    currencies = {item.value for item in items if item.kind == "currency"}
    if len(numbers) > 1 or len(currencies) > 1:
        return None
    if numbers:
        if not numbers[0].isdecimal() or not 1 <= int(numbers[0][:6]) <= LIMIT_MAX:
            return None
        limit = int(numbers[0])
    else:
        limit = 1 if all(value in ("coin", "crypto") for value in contexts) else LIMIT_DEFAULT
    return CoinQuestion(
        ids=(), unresolved=(), vs=currencies.pop() if currencies else "usd", metric="top", limit=limit
    )


# --- misspellings -------------------------------------------------------------------------------------


def _misspelt(word: str) -> str | None:
    """The id of the one long name that ``word`` differs from by a letter (added, missing, wrong, swapped)."""
    if not 5 <= len(word) <= 14 or not word.isalpha():
        return None
    near = {name for name in MISSPELLABLE if name[0] == word[0] and _one_apart(word, name)}
    ids = {_COIN_WORDS[(name,)][0] for name in near}
    return ids.pop() if len(ids) == 1 else None


def _one_apart(a: str, b: str) -> bool:
    if abs(len(a) - len(b)) > 1 or a == b:
        return False
    start = 0
    while start < min(len(a), len(b)) and a[start] == b[start]:
        start += 1
    if len(a) != len(b):
        longer, shorter = (a, b) if len(a) > len(b) else (b, a)
        return longer[start + 1 :] == shorter[start:]
    if a[start + 1 :] == b[start + 1 :]:
        return True
    return a[start : start + 2] == b[start : start + 2][::-1] and a[start + 2 :] == b[start + 2 :]
