"""Reads a text that is certainly one question about the figures of coins. Pure, total, bounded.

Rules of this file:
- Every word of the text must be accounted for; one that is not makes the text somebody else's here. So
  "should I buy bitcoin" and "bitcoin halving date" need no rules of their own. ``claims`` is more lenient
  where the text is known to ask.
- Polite sentences may stand around the one question, and what the asker says of themselves before it.
- Case is folded for everything but tickers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date

from adapters.coins import dates
from adapters.coins.figures import Figure, figure, top
from adapters.coins.items import Item, items_of
from adapters.coins.metrics import PEGS
from adapters.coins.words import COIN_WORDS, DATE_MARK, MONEY, key_of, plain, tokens_of

TEXT_CHARS_MAX = 800


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence in parts. ``items`` None: something in it is no word. ``said`` is the past day it names;
    ``wrong_day`` when it names one that cannot be meant (to come, unclear, not in the calendar)."""

    text: str
    items: tuple[Item, ...] | None
    said: str | None = None
    wrong_day: bool = False


class _Other:
    """A sentence that asks or says something else."""


_OTHER = _Other()


def sentences_of(text: str, today: date) -> tuple[Sentence, ...]:
    """The sentences of ``text`` in parts; none for a text too long to be one question."""
    if len(text) > TEXT_CHARS_MAX or DATE_MARK in text:
        return ()
    folded = _DOTS.sub("", _SINCE.sub(" 24h ", _EQUALS.sub(" in ", _BLANKS.sub(" ", plain(text)))))
    return tuple(_sentence(piece, today) for piece in _SENTENCE_END.split(folded) if piece.strip())


def read_question(text: str, today: date) -> Figure | None:
    """The question in ``text``, or None when it is not certainly one about coins."""
    found: Figure | None = None
    for sentence in sentences_of(text, today):
        if is_thanks(sentence) or _MACHINE.search(sentence.text):
            return None
        reading = _read(sentence)
        if isinstance(reading, Figure):
            if found is not None:
                return None
            found = reading
        elif reading is _OTHER and (found is not None or not _STATEMENT.match(sentence.text.strip())):
            return None
    return found


def is_thanks(sentence: Sentence) -> bool:
    """Whether it thanks for something: that asks for nothing."""
    return _THANKS.match(sentence.text) is not None


def _sentence(piece: str, today: date) -> Sentence:
    said = dates.find(piece.lower(), today) if len(piece.lower()) == len(piece) else None
    text = piece
    day = None
    if said is not None:
        if said.date is None:
            return Sentence(piece, None, wrong_day=True)
        text = f"{piece[: said.start]} {DATE_MARK} {piece[said.end :]}"
        day = None if dates.day_of(said.date, today) == today else said.date
    tokens = tokens_of(_reordered(text))
    return Sentence(piece, None if tokens is None else tuple(items_of(tokens)), day)


def _read(sentence: Sentence) -> Figure | _Other | None:
    """The question; ``_OTHER``; None when the sentence is empty or only polite."""
    items = sentence.items
    if items is None:
        return _OTHER
    if all(item.kind in ("fill", "and", "link", "now", "how", "at") for item in items):
        return None
    kinds = {item.kind for item in items}
    if kinds & {"top", "mover"}:
        question = None if "date" in kinds else top(items, kinds)
        return _OTHER if question is None else Figure(question)
    return figure(items, sentence.said) or _OTHER


_BLANKS = re.compile(r"[^\S\n]+")
_EQUALS = re.compile(r"\s*=\s*\?+\s*(?=[^\W\d_]|[$€£])")
"""1 eth = ? usd"""
_SINCE = re.compile(
    r"\b(?:since|from|compared\s(?:to|with)|vs\.?|versus|desde|seit|depuis|da)\s(?:yesterday|ayer|gestern|hier|ieri|ontem)\b",
    re.IGNORECASE,
)
"""A day ago as the beginning of a change."""
_DOTS = re.compile(r"\.{2,}(?=\s*\S)")
"""hey... price of btc"""
_SENTENCE_END = re.compile(r"[?!;\n…？！。؟]|(?<!\b\d)(?<!\b\d\d)\.(?=\s+(?!\d)|\s*$)")
"""A full stop after one or two figures is that of an ordinal: 1. Mai."""
_STATEMENT = re.compile(
    r"(?:i|i'm|i've|i'd|my|we|we're|our)\b(?!.*\b(?:explain|tell me|compare)\b)", re.IGNORECASE
)
_THANKS = re.compile(r"\s*(?:many\s)?(?:thanks|thank\syou|thx)\s(?:\w+\s){0,3}?for\s", re.IGNORECASE)
"""Thanks for a price ask for none."""
_MACHINE = re.compile(r"\ban?\s[\w$]{2,20}\satm\b|\batms\b", re.IGNORECASE)
"""A bitcoin ATM is no bitcoin at the moment."""


def _reordered(sentence: str) -> str:
    """The same question in the order of words that the rest of this file knows."""
    for pattern, order in _ORDERS:
        sentence = pattern.sub(order, sentence, count=1)
    return _COMPOUND.sub(_cut_compound, sentence)


def _cut_compound(match: re.Match[str]) -> str:
    """Bitcoinkurs"""
    return f"{match[1]} {match[2]}" if key_of(match[1]) in COIN_WORDS else match[0]


_COMPOUND = re.compile(r"\b([^\W\d_]{3,20}?)s?-?(kurs|preis|wert|marktkapitalisierung)\b", re.IGNORECASE)
_OFF = r"(?:away\s|off\s|below\s|under\s|down\s|up\s)"
_SUBJECT = rf"([\w$]{{2,20}}(?:\s(?!{_OFF})[\w]{{2,20}})?)"
_SUM = (
    r"(?:[$€£]\s?[\d.,]{0,20}\d[kmb]?"
    rf"|(?<![\d.,])[\d.,]{{0,20}}\d[kmb]?(?:\s(?:thousand|million))?\s?(?:{MONEY}|[$€£]))(?![^\W_])"
)
"""An amount of money."""
_PEGGED = "|".join(
    sorted({key[0] for key, (coin_id, _) in COIN_WORDS.items() if len(key) == 1 and coin_id in PEGS})
)
_EXTREME = (
    r"(ath|atl|peak|all[\s-]?time[\s-](?:high|low)|record\s(?:high|low)|(?:allzeit|rekord)(?:hoch|tief))s?"
)
_WHOSE = r"(?:its|the|their|his|sein|seinem|ihr|ihrem|su|son|sa)\s"
_TIMES = (
    r"(?:still|noch|immer|toujours|ever|really|just|actually|already|even|sigue|recently|currently|now)\s"
)
_ORDERS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), order)
    for pattern, order in (
        # how much would i get for 2 btc, wie viel bekomme ich fur 2 btc, cuanto me dan por 2 btc
        (
            r"\b(?:how\smuch\s(?:would|will|do|can|could)\s(?:i|you|we|one)\s(?:get|receive)\sfor"
            r"|(?:wie\s?viel)\s(?:bekomme|kriege|bekommt|kriegt)\s(?:ich|man)\sf(?:u|ue)r"
            r"|cuanto\s(?:me\sdan|recibo|obtengo|dan)\spor|combien\s(?:j'obtiens|j'ai|obtient-on)\spour)\b",
            "how much is",
        ),
        # how much btc can i get for 100 dollars, how many btc is 100 dollars
        (
            rf"\bhow\s(?:much|many)\s{_SUBJECT}\s(?:can|could|would|do|does|will)\s(?:(?:i|you|we|one)\s)?"
            rf"(?:(?:get|buy|purchase|have)\s)?(?:for|with)?\s?({_SUM})(?:\s(?:buy|get|give)(?:\s(?:me|you|us))?)?",
            r" \2 in \1 ",
        ),
        (rf"\bhow\s(?:much|many)\s{_SUBJECT}\s(?:is|are|for|makes?|equals?)\s({_SUM})", r" \2 in \1 "),
        (
            rf"\bwie\s?viele?\s{_SUBJECT}\s(?:bekomme|kriege|bekommt|kriegt|kann)\s(?:ich|man)\s(?:f(?:u|ue)r|mit)\s"
            rf"({_SUM})(?:\s(?:kaufen|bekommen))?",
            r" \2 in \1 ",
        ),
        # 1 BTC is how many dollars
        (r"\s*(?:=|\bis|\bare|\bequals?|\bto)\s*how\s(?:many|much)\s+(?=\w)", " in "),
        # how many dollars is 1 btc worth
        (
            rf"^(.{{0,40}}?)\bhow\s(?:many|much)\s({MONEY})\s(?:is|are|for|does|do|can|could|would|will|make|makes|equals?)\s(.+)$",
            r"\1 how much is \3 in \2",
        ),
        # wie viele euro sind 2 eth, cuantos euros son 2 eth, combien d'euros font 2 eth
        (
            rf"^(.{{0,40}}?)\b(?:wie\s?viele?|cuantos|cuantas|combien\sd[e']|wieviele?|quantos|quanti)\s?({MONEY})"
            r"\s(?:\w+\s){1,3}?((?:\d|eine?n?\b|une?\b|uma?\b).*)$",
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
            rf"^\s*(?:is|are)\s(?:the\sprice\sof\s|the\s)?{_SUBJECT}\s"
            r"(?:up|down|higher|lower|in the green|in the red)(?=\s*$|\s(?:or|today|now|right|over"
            r"|in the|this)\b)"
            r"(?:\sor\s(?:up|down))?",
            r"change of \1",
        ),
        # how much is eth down today
        (
            rf"\bhow\s(?:much|far)\s(?:is|are|was)\s(?:the\s)?{_SUBJECT}\s(?:up|down)\b(?!\sfrom)",
            r"change of \1",
        ),
        # highest price bitcoin has ever been, lowest price of btc ever, highest btc price ever
        *(
            (pattern, f"{figure} of \\1")
            for high, figure in (("highest|record|peak|top|most", "ath"), ("lowest", "atl"))
            for pattern in (
                rf"\b(?:{high})\s(?:price|value|rate)?\s?(?:of\s|for\s|that\s)?(?:the\s)?{_SUBJECT}\s(?:has\s|have\s|had\s|was\s)?"
                r"ever\s?(?:been|reached|hit|had|was|traded(?:\sat)?|got|went|gone|cost|at)?(?:\s(?:to|at))?(?=\s*$)",
                rf"\b(?:{high})\s(?:price|value|rate)\s(?:that\s)?(?:the\s)?(?!of\s){_SUBJECT}\s(?:has\s)?"
                r"(?:been|reached|hit|had)(?:\sever)?(?=\s*$)",
                rf"\b(?:{high})\s{_SUBJECT}\s(?:price|value)\sever\b",
            )
        ),
        # how far is btc from its ath, when did bitcoin hit its all time high, when was the ath of bitcoin
        (
            rf"\bhow\s(?:far|much)\s(?:is|are)\s{_SUBJECT}\s{_OFF}?"
            rf"(?:from\s|below\s|of\s)?(?:{_WHOSE})?{_EXTREME}\b",
            r"\2 of \1",
        ),
        (
            rf"\bhow\s(?:far|much)\s{_OFF}?(?:from\s|of\s)?(?:{_WHOSE})?"
            rf"{_EXTREME}\s(?:is|are)\s{_SUBJECT}",
            r"\1 of \2",
        ),
        (
            rf"^\s*(?:has|have|did)\s{_SUBJECT}\s(?:reach(?:ed)?|hit|made|make|set|broken?)"
            rf"\s(?:an?\s|{_WHOSE})?(?:new\s)?{_EXTREME}\b",
            r"\2 of \1",
        ),
        (
            rf"\b(?:when|wann|cuando|quand)\s(?:did|was|has|is|war|hatte|fue|etait)\s(.{{2,40}}?)\s"
            rf"(?:(?:hit|reach|reached|make|made|set|have|had|at)\s)?(?:{_WHOSE})?{_EXTREME}(?=\s*$)",
            r"\2 of \1",
        ),
        (rf"\b(?:when|wann|cuando|quand)\s(?:was|is|war|fue|etait)\s(?={_WHOSE}?{_EXTREME}\b)", ""),
        # what number is solana by market cap, where does ada rank
        (
            rf"\b(?:what|which|where)\s(?:(?:number|place|rank|position)\s)?(?:is|does|do)\s{_SUBJECT}\s"
            r"(?:rank|ranked|by\smarket\s?cap|in\smarket\s?cap)(?:\s(?:by|in)\smarket\s?cap\w*)?(?=\s*$)",
            r"rank of \1",
        ),
        (
            rf"\b(?:what|which)\s(?:rank|position)\s(?:is|does)\s{_SUBJECT}(?:\s(?:have|hold|at))?(?=\s*$)",
            r"rank of \1",
        ),
        # how many bitcoins will there ever be, how many bitcoin are there, cuantos bitcoins hay
        (
            rf"\bhow\smany\s{_SUBJECT}\s(?:will|can|could)\s(?:there\s)?(?:ever\s)?(?:be|exist)(?:\sthere)?(?:\sever)?\b"
            r"(?:\s(?:mined|minted|made|created|in\stotal))?",
            r"max supply of \1",
        ),
        (
            r"\b(?:how\smany|wie\s?viele|cuant[oa]s|combien\sd[e'])\s?([\w$]{2,20})\s(?:(?:are|is|exist|gibt|sind|hay|existen|il|y|a-t-il"
            r"|existe-t-il|sont)\b\s?)?(?:there\b\s?|es\b\s?|currently\b\s?|now\b\s?)*"
            r"(?:in\s(?:circulation|existence|total)|im\sumlauf|in\sumlauf|en\scirculacion|en\scirculation|out\sthere)?(?=\s*$)",
            r"circulating supply of \1",
        ),
        # is usdc still at a dollar, did tether lose its peg, is usdt stable
        (
            rf"^\W*(?:(?:how\sfar|is|ist|esta|does|el|la|le|l'|der)\s?)*({_PEGGED})(?:\s|-)(?:(?:is|vale|vaut|il|ist|esta|at|worth|equal|to"
            rf"|trading|away|from|off|on|a|la|par|con|al|el|auf|bei|zu|par|avec|le|du|wert)[\s-]|{_TIMES})*?"
            r"(?:an?|one|1|1:1|einen?|einem|un|uno|par\scon\sel|\$\s?1)\s?(?:us[\s-])?(?:dollars?|dolar|bucks?|usd|euros?|eur)?"
            r"(?:\s(?:wert|or\snot|right\snow|now|today|still|atm|rn|lol|pls|please|bro|anymore))*\s*$",
            r"peg of \1",
        ),
        (rf"\b(?:is|are|ist|est|es)\s({_PEGGED})\s(?:{_TIMES})*(?:stable|stabil|estable)\b", r"peg of \1"),
        (
            rf"\b([\w$]{{2,20}})\s(?:{_TIMES})*(?:lose|lost|losing|keep|kept|keeping|hold|holding|held|off|at|on|above|below|under"
            rf"|broken|broke|break|de)\s?(?:{_WHOSE})?(?:dollar\s|usd\s|euro\s)?(?=peg)",
            r"\1 ",
        ),
        (r"\btrending\slist\b(?=\s*$|\son\scoingecko)", "trending coins"),
        # how did btc do today
        (rf"^\s*how\s(?:did|has)\s{_SUBJECT}\s(?:do|done|perform|performed|move|moved)\b", r"change of \1"),
    )
)  # fmt: skip
