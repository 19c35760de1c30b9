"""Small adapters for the tests of this room: a few topics with slots and follow-ups, nothing behind them.

They keep the contract of ``recognise`` (certain only when every word is accounted for) and of ``follow_up``
(a question that is recognised with certainty, or None).
"""

from __future__ import annotations

import re
from datetime import datetime

from node.core.model import CERTAIN, CLAIM, Recognition, SlotValue
from node.language.reading import read
from tests.unit.pipeline.understanding.clock import NOW

_ASK = (
    r"(?:(?:hey|hi|please|ok|can you|could you|tell me|give me|show me|i want to know|do you know|what is"
    r"|what will|how is|the|what|like|be|is|wie ist|das|que|el|quel|comment est|quanto|was|des|de|von|current"
    r"|any idea|combien|cuanto|сколько|какая|какои) )*"
)
_LEAD = re.compile(r"^(?:and|also|what about|how about|und|y|et|e|а|и)\b[ ,]*")
_COINS = {
    "btc": "bitcoin",
    "bitcoin": "bitcoin",
    "eth": "ethereum",
    "ethereum": "ethereum",
    "биткоин": "bitcoin",
}
_PLACES = "paris|london|berlin|madrid|rome|tokyo|new york|москве"
_WHENS = "today|tomorrow|tonight|on friday|manana|morgen|demain"


def _found(adapter: str, slots: dict[str, SlotValue], strength: float, *, local: bool = False) -> Recognition:
    key = ":".join([adapter, *(str(value) for value in slots.values())])
    return Recognition(adapter, slots, key, local, f"a question for {adapter}", strength)


class Weather:
    """``place``, ``when`` and ``metric``."""

    name = "weather"
    _METRIC = r"weather|temperature|humidity|rain|wetter|tiempo|temps|погода|chance of rain|wind|天気|天气"
    _WHOLE = re.compile(
        rf"^{_ASK}(?P<metric>{_METRIC})(?: (?:hace|fait-il))?(?P<rest>(?: (?:{_WHENS})| (?:in|en|a|for"
        rf"|в) (?:{_PLACES}))*)"
        r"(?: please)?$"
    )

    def recognise(self, text: str, now: datetime, *, hinted: bool = False) -> Recognition | None:
        reading = read(text)
        flat = reading.flat
        if reading.script in ("japanese", "chinese"):
            found = re.search(r"(東京|パリ|北京)?の?(?:天気|天气)", reading.plain)
            slots: dict[str, SlotValue] = {
                "place": found[1] if found else None,
                "when": None,
                "metric": "weather",
            }
            return _found(self.name, slots, CLAIM) if found else None
        if re.search(r"\b(?:why|how do|predict|under the weather)\b", flat):
            return None
        metric = re.search(rf"\b(?:{self._METRIC})\b", flat)
        if metric is None:
            return None
        place, when = re.search(rf"\b(?:{_PLACES})\b", flat), re.search(rf"\b(?:{_WHENS})\b", flat)
        slots = {
            "place": place[0].title() if place else None,
            "when": when[0] if when else None,
            "metric": metric[0],
        }
        whole = self._WHOLE.match(flat)
        return _found(self.name, slots, CERTAIN if whole else CLAIM)

    def follow_up(self, fragment: str, earlier: str, now: datetime) -> str | None:
        before = self.recognise(earlier, now)
        rest = _LEAD.sub("", read(fragment).flat)
        if before is None or not rest:
            return None
        slots = dict(before.slots)
        asked = re.fullmatch(rf"(?:{_ASK})(?P<metric>{self._METRIC})", rest)
        place = re.fullmatch(rf"(?:(?:in|en|a|for) )?(?P<place>{_PLACES})(?: (?P<when>{_WHENS}))?", rest)
        if asked:
            slots["metric"] = asked["metric"]
        elif place:
            slots["place"] = place["place"].title()
            slots["when"] = place["when"] or slots["when"]
        elif re.fullmatch(_WHENS, rest):
            slots["when"] = rest
        else:
            return None
        where = f" in {slots['place']}" if slots["place"] else ""
        when = f" {slots['when']}" if slots["when"] else ""
        return f"{slots['metric']}{where}{when}"


class Coins:
    """``ids`` and ``vs`` and ``metric``; a coin's bare name is a claim, not a certain one."""

    name = "coins"
    _COIN = "|".join(_COINS)
    _METRIC = r"price|value|market cap|worth|kostet|vale|coute|costa|стоит|价格|価格"
    _WHOLE = re.compile(
        rf"^{_ASK}(?:(?P<a>(?:{_COIN})(?: and (?:{_COIN}))?) (?:{_METRIC})|(?:{_METRIC})(?: of| el| le"
        rf"| il)?(?: the)?"
        rf" (?P<b>(?:{_COIN})(?: and (?:{_COIN}))?))(?: in (?P<vs>usd|eur|euros))?(?: please)?$"
    )

    def recognise(self, text: str, now: datetime, *, hinted: bool = False) -> Recognition | None:
        reading = read(text)
        flat = reading.flat
        if reading.script in ("japanese", "chinese"):
            found = re.search(r"(?:ビットコイン|比特币)(?:の価格|价格|多少钱)", reading.plain)
            slots: dict[str, SlotValue] = {"ids": ("bitcoin",), "vs": "usd", "metric": "price"}
            return _found(self.name, slots, CLAIM) if found else None
        if re.search(r"\b(?:why|who|how do|how does|explain)\b", flat):
            return None
        named = sorted({_COINS[word] for word in reading.words if word in _COINS})
        metric = re.search(rf"\b(?:{self._METRIC})\b", flat)
        if not named:
            return None
        slots = {
            "ids": tuple(named),
            "vs": "eur" if re.search(r"\b(?:eur|euros)\b", flat) else "usd",
            "metric": "market cap" if metric and metric[0] == "market cap" else "price",
        }
        strength = CERTAIN if self._WHOLE.match(flat) else CLAIM if metric or len(reading.words) == 1 else 0.3
        return _found(self.name, slots, strength)

    def follow_up(self, fragment: str, earlier: str, now: datetime) -> str | None:
        before = self.recognise(earlier, now)
        rest = _LEAD.sub("", read(fragment).flat)
        if before is None or before.strength < CLAIM:
            return None
        ids, vs, metric = before.slots["ids"], before.slots["vs"], before.slots["metric"]
        assert isinstance(ids, tuple)
        money = re.fullmatch(r"(?:(?P<coin>\w+) )?in (?P<vs>usd|eur|euros)|(?P<only>\w+)", rest)
        asked = re.fullmatch(rf"(?:{_ASK})(?P<metric>price|market cap)", rest)
        if asked:
            metric = asked["metric"]
        elif money:
            coin = money["coin"] or money["only"]
            if coin is not None and coin not in _COINS:
                return None
            ids = (_COINS[coin],) if coin else ids
            vs = "eur" if money["vs"] in ("eur", "euros") else money["vs"] or vs
        else:
            return None
        return f"{metric} of {' and '.join(ids)} in {vs}"


class Games:
    """``team`` and ``when``; only certain when a team is named."""

    name = "games"
    _WHOLE = re.compile(
        r"^(?:did|do|have) the (?P<team>lakers|celtics|knicks)(?: and celtics)? (?:win|play)(?: last night"
        r"| tonight)?$"
        r"|^(?:the )?(?P<bare>lakers|celtics|knicks) score(?: last night)?$"
    )

    def recognise(self, text: str, now: datetime, *, hinted: bool = False) -> Recognition | None:
        flat = read(text).flat
        whole = self._WHOLE.match(flat)
        if whole:
            return _found(self.name, {"team": whole["team"] or whole["bare"], "metric": "winner"}, CERTAIN)
        if re.search(r"\bscore\b", flat) and not re.search(r"\bdeal|film\b", flat):
            return _found(self.name, {"team": None, "metric": "score"}, CLAIM)
        return None

    def follow_up(self, fragment: str, earlier: str, now: datetime) -> str | None:
        before = self.recognise(earlier, now)
        rest = _LEAD.sub("", read(fragment).flat).removeprefix("the ")
        if before is None or rest not in ("lakers", "celtics", "knicks"):
            return None
        return f"did the {rest} win"


class Clock:
    """``place``, None for here; computed on the spot."""

    name = "clock"

    def recognise(self, text: str, now: datetime, *, hinted: bool = False) -> Recognition | None:
        flat = read(text).flat
        found = re.fullmatch(
            rf"{_ASK}time(?: is it| it is)?(?: in (?P<place>{_PLACES}))?(?: right now| now)?", flat
        )
        if found is None:
            return None
        return _found(self.name, {"place": found["place"]}, CERTAIN, local=True)

    def follow_up(self, fragment: str, earlier: str, now: datetime) -> str | None:
        place = re.fullmatch(rf"(?:in )?(?P<place>{_PLACES})", _LEAD.sub("", read(fragment).flat))
        return f"time in {place['place']}" if place and self.recognise(earlier, now) else None


class Sums:
    """Two numbers and a sign; what is said of the last result goes on from it."""

    name = "sums"
    _WHOLE = re.compile(
        r"(?:what(?:'s| is) |calculate |and )*(?P<expr>\(?\d[\d+*/() -]*[+*/-][\d+*/() -]*\d\)?"
        r"|\d+% of [\d(][\d()+*/-]*)",
        re.IGNORECASE,
    )

    def recognise(self, text: str, now: datetime, *, hinted: bool = False) -> Recognition | None:
        found = self._WHOLE.fullmatch(text.strip(" ?!."))
        if found is None:
            return None
        return _found(self.name, {"expr": found["expr"].replace(" ", ""), "answer": "0"}, 1.0, local=True)

    def follow_up(self, fragment: str, earlier: str, now: datetime) -> str | None:
        before = self.recognise(earlier, now)
        found = re.fullmatch(r"(?:and )?(times|plus) (\d+)", read(fragment).flat)
        if before is None or found is None:
            return None
        return f"calculate ({before.slots['expr']}){'*' if found[1] == 'times' else '+'}{found[2]}"


STAND_INS = (Sums(), Coins(), Weather(), Games(), Clock())


def claims(text: str) -> Recognition | None:
    """The strongest recognition that claims the text, the earlier adapter on a tie."""
    found = [each for one in STAND_INS if (each := one.recognise(text, NOW)) is not None]
    best = max(found, key=lambda each: each.strength, default=None)
    return best if best is not None and best.strength >= CLAIM else None


def follow(fragment: str, earlier: str) -> str | None:
    """What the adapter of the earlier question makes of the fragment."""
    before = claims(earlier)
    for one in STAND_INS:
        if before is not None and one.name == before.adapter:
            return one.follow_up(fragment, earlier, NOW)
    return None
