"""What a text asks of coins, and how sure that is: the one reader behind every source of prices. Pure, total.

Rules of this file, strongest first (the strengths are those of ``node.core.model.Recognition``):
- ``questions`` accounts for every word: certain. A change told rather than asked for ("bitcoin fell today"),
  a misspelt coin or a bare ticker is only claimed, for a statement may look like it.
- A text with further words is claimed when a coin and a word for its figure stand in one sentence, no word
  that nothing here knows stands directly beside either ("bitcoin pizza price" is the price of a pizza), and
  no trap is in it: explanations, works, predictions, mining, taxes and the like.
- A text that asks for a judgement of a coin as it stands (a return, a purchase, why it falls) is claimed
  weakly: the price is part of an answer.
- ``hinted`` texts need no word for the figure: a coin is enough. They are claimed or not, never weakly.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache

from adapters.coins import scripts
from adapters.coins.aliases import COIN_CURRENCIES, EVERYDAY, FAMILIAR, SPOKEN, UNPRICED
from adapters.coins.figures import Figure, figure, top
from adapters.coins.items import Item, misspelt
from adapters.coins.mentions import names_coins
from adapters.coins.metrics import LISTS, WHOLE
from adapters.coins.questions import TEXT_CHARS_MAX, Sentence, is_thanks, read_question, sentences_of
from adapters.coins.slots import LIMIT_DEFAULT, CoinQuestion
from adapters.coins.sums import read_sum
from adapters.coins.words import FIAT, NAMED_ENDINGS, NOT_A_TICKER, PATTERNS, WORDS, finds, one_apart
from adapters.outgoing import may_leave
from node.language.reading import Reading, read, word_list
from node.language.tables import later
from node.language.wording import EXPLAINS

STRENGTH_NAME = 0.9
STRENGTH_TOLD = 0.85
STRENGTH_GUESSED = 0.8
STRENGTH_SCRIPT = 0.8
STRENGTH_LOOSE = 0.75
STRENGTH_BARE = 0.65
STRENGTH_WEAK = 0.48
"""Below a claim, and above sources that know something of every name."""
WEAK_COINS_MAX = 3
UNKNOWN_MAX = 8
"""A sentence with more words that nothing here knows is about something else."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A question with the strength and the reason of a ``Recognition``."""

    question: CoinQuestion
    strength: float
    reason: str


def claim(text: str, today: date, *, hinted: bool = False) -> Claim | None:
    """The claim that coins have on ``text``, or None. ``today`` is the asker's."""
    if len(text) > TEXT_CHARS_MAX:
        return None
    found = _claim_on(text, today, hinted)
    if found is None or (quoted_in_itself(found.question) or not _may_be_sent(found.question, text)):
        return None
    return found


def quoted_in_itself(question: CoinQuestion) -> bool:
    """The price of a coin in that coin: no source is needed for it, and none states it. A coin that
    stands for a dollar has a price in dollars."""
    return question.vs not in FIAT and any(COIN_CURRENCIES.get(i) == question.vs for i in question.ids)


def _may_be_sent(question: CoinQuestion, text: str) -> bool:
    """Names that are still to be looked up go out as they were typed; ids of the table say nothing new."""
    if not question.unresolved:
        return True
    return all(may_leave(name) for name in question.unresolved) and may_leave(_NUMBERS.sub(" ", text))


_NUMBERS = later(r"(?<![^\W_])\d[\d.,]{0,60}(?![^\W_])")
"""Amounts stay here."""


@lru_cache(maxsize=32)
def _claim_on(text: str, today: date, hinted: bool) -> Claim | None:
    """The last few are kept, for every source of prices reads the same text."""
    if not names_coins(text):
        return None
    certain = read_question(text, today)
    if certain is not None:
        return _certain(certain, text, today)
    if (summed := read_sum(text, today)) is not None:
        return _claim(summed, 1.0)
    reading = read(text)
    if reading.script not in ("latin", "none"):
        return _in_script(reading, today, hinted=hinted)
    if not reading.words or len(reading.words) > _WORDS_MAX:
        return None
    flat = reading.flat
    sentences = sentences_of(text, today)
    if any(sentence.wrong_day or is_thanks(sentence) for sentence in sentences):
        return None
    if (weak := _weak(sentences, flat)) is not None:
        return None if hinted else weak
    if _TRAPS.search(flat):
        return None
    return _loose(sentences, hinted=hinted) or _unlisted(sentences)


_WORDS_MAX = 80


def _certain(found: Figure, text: str, today: date) -> Claim:
    question = found.question
    if found.guessed:
        return _claim(question, STRENGTH_GUESSED, ", misspelt")
    if question.unresolved:
        return _claim(question, STRENGTH_NAME)
    if question.metric == "change_24h" and _is_told(sentences_of(text, today)):
        return _claim(question, STRENGTH_TOLD)
    return _claim(question, 1.0)


def _is_told(sentences: Sequence[Sentence]) -> bool:
    """Whether a change may be a statement: a verb of movement and nothing that asks for a figure."""
    kinds = {item.kind for sentence in sentences for item in sentence.items or ()}
    return "move" in kinds and not kinds & {"quantity", "pct", "24h", "how", "chg"}


def _claim(question: CoinQuestion, strength: float, more: str = "") -> Claim:
    question = replace(question, ids=tuple(sorted(question.ids)))
    if question.money is not None:
        reason = f"how much {question.ids[0]} {question.money} {question.vs} buys"
    elif question.expr is not None:
        reason = f"{question.expr} over prices in {question.vs}"
    elif question.metric in LISTS:
        which = "largest" if question.metric == "top" else question.metric
        reason = f"the {question.limit} {which} coins in {question.vs}"
    elif question.metric in WHOLE:
        reason = f"{question.metric} in {question.vs}"
    else:
        reason = f"{question.metric} of {', '.join((*question.ids, *question.unresolved))} in {question.vs}"
    return Claim(question, strength, reason + more)


def _in_script(reading: Reading, today: date, *, hinted: bool) -> Claim | None:
    found = scripts.read(reading.plain, today)
    if found is None:
        return None
    if found.touches:
        return None if hinted else _claim(found.question, STRENGTH_WEAK)
    return _claim(found.question, 1.0 if found.complete else STRENGTH_SCRIPT)


# --- with words that are not accounted for ------------------------------------------------------------

_TRAPS = later(f"{EXPLAINS}|{PATTERNS['traps'].pattern}")


def _weak(sentences: Sequence[Sentence], flat: str) -> Claim | None:
    """A judgement of a coin as it stands: its price is part of an answer."""
    if not (finds("judges", flat) or finds("why_it_moves", flat)):
        return None
    if finds("no_judgement", flat) or finds("a_year", flat):
        return None
    coins = {
        item.value
        for sentence in sentences
        for item in sentence.items or ()
        if item.kind == "coin" and (item.sure or item.shown)
    }
    if not 1 <= len(coins) <= WEAK_COINS_MAX:
        return None
    question = CoinQuestion(tuple(sorted(coins)), (), "usd", "price")
    return _claim(question, STRENGTH_WEAK, ", as context for a judgement")


_CUES = frozenset(("price", "cap", "vol", "chg", "how_much", "move", "fig"))
_LOOKED_BESIDE = _CUES | {"coin", "pair", "top", "ctx"}


def _loose(sentences: Sequence[Sentence], *, hinted: bool) -> Claim | None:
    """The one sentence that asks for a figure among words that are not accounted for."""
    found: list[Claim] = []
    for sentence in sentences:
        one = _loose_sentence(sentence, hinted=hinted)
        if one is not None:
            found.append(one)
        elif len(sentences) > 1 and _asks_otherwise(sentence):
            return None
    if not found or any(one.question != found[0].question for one in found):
        return None
    return found[0]


def _asks_otherwise(sentence: Sentence) -> bool:
    words = read(sentence.text).words
    polite = sentence.items is not None and all(
        item.kind in ("fill", "now", "and") for item in sentence.items
    )
    return bool(words) and words[0] in WORDS["asking"] and not polite


def _loose_sentence(sentence: Sentence, *, hinted: bool) -> Claim | None:
    items = _slips(_compared(list(sentence.items or ())))
    if not items:
        return None
    if (bare := _bare(items)) is not None:
        return bare
    if (direct := _direct(items, sentence.said)) is not None:
        return direct
    kept = _without_unknown(items)
    if not kept:
        return None
    complete = len(kept) == len(items)
    if not complete and not all(item.sure or item.shown for item in kept if item.kind == "coin"):
        return None
    kinds = {item.kind for item in kept}
    if "mover" in kinds:
        return None  # only a text of which every word is accounted for asks for such a list
    if "top" in kinds:
        if sentence.said:
            return None
        if (question := top(kept, kinds)) is not None:
            return _claim(question, STRENGTH_LOOSE)
        question = top(kept, kinds, loosely=complete)
        return None if question is None else _claim(question, STRENGTH_BARE)
    if kinds <= {"price", "ctx", "fill", "now", "how", "doing", "how_much", "list"} and _is_of_crypto(kept):
        return _claim(
            CoinQuestion((), (), "usd", "top", limit=LIMIT_DEFAULT), STRENGTH_BARE, " for prices in general"
        )
    if kinds & {"price", "how_much"}:
        kept = [item for item in kept if item.kind != "aux"]
        if "how" not in kinds:
            kept = [item for item in kept if item.kind != "doing"]
    quantity_last = kept[-1].kind == "quantity" and any(item.kind == "coin" and item.sure for item in kept)
    priced = hinted or quantity_last or (complete and bool(kinds & {"now", "date"}) and _only_coins(kept))
    spoken = {"how", "doing"} <= kinds and all(item.alias in SPOKEN for item in kept if item.kind == "coin")
    got = figure(
        [item for item in kept if item.kind != "quantity"] if quantity_last else kept,
        sentence.said,
        assume_price=priced,
        trusted=spoken or (hinted and bool(kinds & _CUES) and _are_plausible(kept)),
    )
    if got is None:
        return None
    has_cue = bool(kinds & _CUES) or "doing" in kinds
    if not has_cue and not (complete and not finds("what_it_is", read(sentence.text).flat)):
        return None
    return _claim(got.question, STRENGTH_LOOSE if has_cue and not got.guessed else STRENGTH_BARE)


def _without_unknown(items: list[Item]) -> list[Item] | None:
    """The items without words that nothing knows; None when one stands where it changes what is asked."""
    unknown = [_is_unknown(item) for item in items]
    if sum(unknown) > UNKNOWN_MAX:
        return None
    begun = False
    for at, item in enumerate(items):
        if begun and item.kind == "link" and at + 1 < len(items) and unknown[at + 1]:
            return None  # "worth to society", "in wei"
        if item.kind == "currency" and _is_of_a_country(items, unknown, at):
            return None  # "in dollars jamaican" asks for none of ours
        if item.kind not in _LOOKED_BESIDE:
            continue
        begun = True
        if at and unknown[at - 1] and not item.split:
            return None
        if at + 1 < len(items) and unknown[at + 1] and not items[at + 1].split:
            return None
    return [item for item, drop in zip(items, unknown, strict=True) if not drop]


_OF_A_COUNTRY = later(r"[a-z]{2,12}(?:an|ish|[aei]ns?e?|ens?es|iens?|ische?[nrs]?|[ai]n[oi]s?|esi)\Z")


def _is_of_a_country(items: Sequence[Item], unknown: Sequence[bool], at: int) -> bool:
    """Whether a word beside the currency at ``at`` looks like the adjective of a country not known here."""
    beside = (near for near in (at - 1, at + 1) if 0 <= near < len(items) and unknown[near])
    return any(_OF_A_COUNTRY.match(items[near].value) is not None for near in beside)


def _is_unknown(item: Item) -> bool:
    if item.kind == "unknown":
        return True
    return item.kind == "name" and not item.shown and misspelt(item.value) is None


def _is_of_crypto(items: Sequence[Item]) -> bool:
    contexts = [item.value for item in items if item.kind == "ctx"]
    asks = any(item.kind in ("price", "doing", "how_much") for item in items)
    return bool(contexts) and asks and all(value.startswith("crypto") for value in contexts)


_AROUND_A_NAME = frozenset(
    word_list("past aux fig fill now at price how_much currency link number times name date ctx")
)


def _unlisted(sentences: Sequence[Sentence]) -> Claim | None:
    """The price of one name that no table holds, where its letters ($XQZT, XQZT, zorgcoin) or the wording
    ("trading at") say that it is a coin's or a share's: that there is none is the source's to say."""
    items = (sentences[0].items or ()) if len(sentences) == 1 else ()
    kinds = {item.kind for item in items}
    names = [item for item in items if item.kind == "name" and misspelt(item.value) is None]
    if len(names) != 1 or not kinds <= _AROUND_A_NAME or sum(item.kind == "name" for item in items) != 1:
        return None
    name, text = names[0], sentences[0].text
    marked = name.shown or name.value.endswith(NAMED_ENDINGS)
    alone = re.search(rf"\b(?:an?|the|my|our) {name.value}\b", text.lower()) is None
    priced = "currency" in kinds or any(item.value == "price" for item in items)
    capital = priced and 3 <= len(name.value) <= 6 and not text.isupper() and name.value.upper() in text
    if name.value in NOT_A_TICKER or not (marked or (alone and (capital or finds("traded", text.lower())))):
        return None
    shown = [replace(item, shown=True) if item is name else item for item in items]
    got = figure(
        shown, sentences[0].said, assume_price=name.shown or not kinds.isdisjoint(("number", "currency"))
    )
    return None if got is None else _claim(got.question, STRENGTH_BARE)


_WHEN_KINDS = frozenset(("now", "date", "past", "fill", "and", "currency", "link"))


def _only_coins(items: Sequence[Item]) -> bool:
    """ "eth rn", "btc today": beyond doubt coins, and nothing but when."""
    return all(
        (item.kind == "coin" and (item.sure or item.shown))
        or (item.kind in _WHEN_KINDS and item.value != "how")
        for item in items
    ) and any(item.kind == "coin" for item in items)


def _are_plausible(items: Sequence[Item]) -> bool:
    """Every coin is beyond doubt or an everyday word that people use for one."""
    return all(
        item.sure or item.shown or item.alias in FAMILIAR or item.alias in UNPRICED
        for item in items
        if item.kind == "coin"
    )


def _bare(items: Sequence[Item]) -> Claim | None:
    """ "btc?", "XRP", "2 eth": tickers beyond doubt and nothing else."""
    coins = [item for item in items if item.kind == "coin"]
    has_amount = any(item.kind == "number" for item in items)
    allowed = ("coin", "number", "times", "and", "fill") if has_amount else ("coin", "and")
    if not coins or not all(item.kind in allowed and item.value != "how" for item in items):
        return None
    for item in coins:
        is_ticker = len(item.alias) <= 5 and (
            item.alias not in EVERYDAY or (item.shown and item.alias in FAMILIAR)
        )
        if not (is_ticker or (has_amount and item.sure)):
            return None
    got = figure(items, None, assume_price=True)
    return None if got is None else _claim(got.question, STRENGTH_BARE)


def _direct(items: Sequence[Item], said: str | None) -> Claim | None:
    """ "near price", "the price of link": everyday words for things without a price, directly at the word."""
    rest = [item for item in items if item.kind not in ("now", "date")]
    coins = [at for at, item in enumerate(rest) if item.kind == "coin" and not item.sure]
    prices = [at for at, item in enumerate(rest) if item.kind == "price" and item.value == "price"]
    if len(coins) != 1 or len(prices) != 1 or rest[coins[0]].alias not in UNPRICED:
        return None
    if any(item.kind not in ("fill", "coin", "price", "link", "currency") for item in rest):
        return None
    coin, price = coins[0], prices[0]
    between = rest[price + 1 : coin]
    if price == coin + 1 or (coin > price + 1 and all(item.kind == "fill" for item in between)):
        got = figure(items, said, trusted=True)
        return None if got is None else _claim(got.question, STRENGTH_BARE)
    return None


def _compared(items: list[Item]) -> list[Item]:
    """ "is btc above 100k right now": the figure that a price is compared with is no amount."""
    for at, item in enumerate(items):
        if item.value not in WORDS["compares"] or not any(one.kind == "coin" for one in items[:at]):
            continue
        after = at + 1
        while after < len(items) and (
            items[after].kind in ("currency", "number", "times") or items[after].value in WORDS["fractions"]
        ):
            after += 1
        if any(one.kind == "number" for one in items[at + 1 : after]):
            return [*items[:at], Item("price", "price"), *items[after:]]
    return items


_SLIPS: Mapping[str, str] = {
    word: kind
    for kind, words in {"fill": "please thanks exactly", "now": "today current currently moment"}.items()
    for word in words.split()
}


def _slips(items: list[Item]) -> list[Item]:
    """Polite words and those for now with a letter amiss are what they are."""
    return [
        Item(kind, "", joined=item.joined, split=item.split) if (kind := _slip(item)) else item
        for item in items
    ]


def _slip(item: Item) -> str:
    if item.kind != "name" or item.shown or len(item.value) < 4:
        return ""
    near = (kind for word, kind in _SLIPS.items() if item.value[0] == word[0] and one_apart(item.value, word))
    return next(near, "")
