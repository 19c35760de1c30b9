"""Small adapters for the tests of this room: a few topics with slots and follow-ups, nothing behind them.

They keep the contract of ``recognise`` (certain only when every word is accounted for) and of ``follow_up``
(a question that is recognised with certainty, or None).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from node.core.model import CERTAIN, CLAIM, Recognition, SlotValue
from node.language.reading import read

Slots = Mapping[str, SlotValue]

_ASK = (
    r"(?:(?:hey|hi|please|ok|can you|could you|tell me|give me|show me|i want to know|do you know|what is"
    r"|what will|how is|the|what|like|be|is|wie ist|das|que|el|quel|comment est|quanto|was|des|de|von|current"
    r"|any idea|combien|cuanto|сколько|какая|какои) )*"
)
_LEAD = re.compile(r"^(?:and|also|what about|how about|und|y|et|e|а|и)\b[ ,]*")
_PLACES = "paris|london|berlin|madrid|rome|tokyo|new york|москве"
_WHENS = "today|tomorrow|tonight|on friday|manana|morgen|demain"


def _found(adapter: str, slots: Slots, strength: float, *, local: bool = False) -> Recognition:
    key = ":".join([adapter, *(str(value) for value in slots.values())])
    return Recognition(adapter, slots, key, local, f"a question for {adapter}", strength)


_METRICS = r"weather|temperature|humidity|rain|wetter|tiempo|temps|погода|chance of rain|wind|天気|天气"
_WEATHER = re.compile(
    rf"^{_ASK}(?P<metric>{_METRICS})(?: (?:hace|fait-il))?(?P<rest>(?: (?:{_WHENS})"
    rf"| (?:in|en|a|for|в) (?:{_PLACES}))*)(?: please)?$"
)


def weather(text: str) -> Recognition | None:
    """``place``, ``when`` and ``metric``."""
    reading = read(text)
    flat = reading.flat
    if reading.script in ("japanese", "chinese"):
        found = re.search(r"(東京|パリ|北京)?の?(?:天気|天气)", reading.plain)
        slots: Slots = {"place": found[1] if found else None, "when": None, "metric": "weather"}
        return _found("weather", slots, CLAIM) if found else None
    metric, place, when = (re.search(rf"\b(?:{one})\b", flat) for one in (_METRICS, _PLACES, _WHENS))
    if metric is None or re.search(r"\b(?:why|how do|predict|under the weather)\b", flat):
        return None
    where = place[0].title() if place else None
    slots = {"place": where, "when": when[0] if when else None, "metric": metric[0]}
    return _found("weather", slots, CERTAIN if _WEATHER.match(flat) else CLAIM)


def weather_goes_on(rest: str, before: Slots) -> str | None:
    slots = dict(before)
    asked = re.fullmatch(rf"(?:{_ASK})(?P<metric>{_METRICS})", rest)
    place = re.fullmatch(rf"(?:(?:in|en|a|for) )?(?P<place>{_PLACES})(?: (?P<when>{_WHENS}))?", rest)
    if asked:
        slots["metric"] = asked["metric"]
    elif place:
        slots |= {"place": place["place"].title(), "when": place["when"] or slots["when"]}
    elif re.fullmatch(_WHENS, rest):
        slots["when"] = rest
    else:
        return None
    where = f" in {slots['place']}" if slots["place"] else ""
    return f"{slots['metric']}{where}" + (f" {slots['when']}" if slots["when"] else "")


_COINS = dict.fromkeys(("btc", "bitcoin", "биткоин"), "bitcoin") | dict.fromkeys(
    ("eth", "ethereum"), "ethereum"
)
_COIN = "|".join(_COINS)
_WORTH = r"price|value|market cap|worth|kostet|vale|coute|costa|стоит|价格|価格"
_PRICE = re.compile(
    rf"^{_ASK}(?:(?P<a>(?:{_COIN})(?: and (?:{_COIN}))?) (?:{_WORTH})"
    rf"|(?:{_WORTH})(?: of| el| le| il)?(?: the)? (?P<b>(?:{_COIN})(?: and (?:{_COIN}))?))"
    r"(?: in (?P<vs>usd|eur|euros))?(?: please)?$"
)


def coins(text: str) -> Recognition | None:
    """``ids`` and ``vs`` and ``metric``; a coin's bare name is a claim, not a certain one."""
    reading = read(text)
    flat = reading.flat
    if reading.script in ("japanese", "chinese"):
        found = re.search(r"(?:ビットコイン|比特币)(?:の価格|价格|多少钱)", reading.plain)
        slots: Slots = {"ids": ("bitcoin",), "vs": "usd", "metric": "price"}
        return _found("coins", slots, CLAIM) if found else None
    named = sorted({_COINS[word] for word in reading.words if word in _COINS})
    if not named or re.search(r"\b(?:why|who|how do|how does|explain)\b", flat):
        return None
    metric = re.search(rf"\b(?:{_WORTH})\b", flat)
    slots = {
        "ids": tuple(named),
        "vs": "eur" if re.search(r"\b(?:eur|euros)\b", flat) else "usd",
        "metric": "market cap" if metric and metric[0] == "market cap" else "price",
    }
    strength = CERTAIN if _PRICE.match(flat) else CLAIM if metric or len(reading.words) == 1 else 0.3
    return _found("coins", slots, strength)


def coins_go_on(rest: str, before: Slots) -> str | None:
    ids, vs, metric = before["ids"], before["vs"], before["metric"]
    assert isinstance(ids, tuple)
    money = re.fullmatch(r"(?:(?P<coin>\w+) )?in (?P<vs>usd|eur|euros)|(?P<only>\w+)", rest)
    asked = re.fullmatch(rf"(?:{_ASK})(?P<metric>price|market cap)", rest)
    if asked:
        return f"{asked['metric']} of {' and '.join(ids)} in {vs}"
    coin = money and (money["coin"] or money["only"])
    if money is None or (coin is not None and coin not in _COINS):
        return None
    ids = (_COINS[coin],) if coin else ids
    vs = "eur" if money["vs"] in ("eur", "euros") else money["vs"] or vs
    return f"{metric} of {' and '.join(ids)} in {vs}"


_TEAMS = "lakers|celtics|knicks"
_GAME = re.compile(
    rf"^(?:did|do|have) the (?P<team>{_TEAMS})(?: and celtics)? (?:win|play)(?: last night| tonight)?$"
    rf"|^(?:the )?(?P<bare>{_TEAMS}) score(?: last night)?$"
)


def games(text: str) -> Recognition | None:
    """``team`` and ``metric``; only certain when a team is named."""
    flat = read(text).flat
    if whole := _GAME.match(flat):
        return _found("games", {"team": whole["team"] or whole["bare"], "metric": "winner"}, CERTAIN)
    if re.search(r"\bscore\b", flat) and not re.search(r"\bdeal|film\b", flat):
        return _found("games", {"team": None, "metric": "score"}, CLAIM)
    return None


def games_go_on(rest: str, before: Slots) -> str | None:
    team = rest.removeprefix("the ")
    return f"did the {team} win" if team in _TEAMS.split("|") else None


def clock(text: str) -> Recognition | None:
    """``place``, None for here; computed on the spot."""
    asked = rf"{_ASK}time(?: is it| it is)?(?: in (?P<place>{_PLACES}))?(?: right now| now)?"
    found = re.fullmatch(asked, read(text).flat)
    return _found("clock", {"place": found["place"]}, CERTAIN, local=True) if found else None


def clock_goes_on(rest: str, before: Slots) -> str | None:
    place = re.fullmatch(rf"(?:in )?(?P<place>{_PLACES})", rest)
    return f"time in {place['place']}" if place else None


_SUM = re.compile(
    r"(?:what(?:'s| is) |calculate |and )*(?P<expr>\(?\d[\d+*/() -]*[+*/-][\d+*/() -]*\d\)?"
    r"|\d+% of [\d(][\d()+*/-]*)",
    re.IGNORECASE,
)


def sums(text: str) -> Recognition | None:
    """Two numbers and a sign."""
    found = _SUM.fullmatch(text.strip(" ?!."))
    if found is None:
        return None
    return _found("sums", {"expr": found["expr"].replace(" ", ""), "answer": "0"}, 1.0, local=True)


def sums_go_on(rest: str, before: Slots) -> str | None:
    found = re.fullmatch(r"(times|plus) (\d+)", rest)
    return f"calculate ({before['expr']}){'*' if found[1] == 'times' else '+'}{found[2]}" if found else None


RECOGNISERS = (sums, coins, weather, games, clock)
GO_ON = {
    "sums": sums_go_on,
    "coins": coins_go_on,
    "weather": weather_goes_on,
    "games": games_go_on,
    "clock": clock_goes_on,
}


def claims(text: str) -> Recognition | None:
    """The strongest recognition that claims the text, the earlier adapter on a tie."""
    found = [each for recognise in RECOGNISERS if (each := recognise(text)) is not None]
    best = max(found, key=lambda each: each.strength, default=None)
    return best if best is not None and best.strength >= CLAIM else None


def follow(fragment: str, earlier: str) -> str | None:
    """What the adapter of the earlier question makes of the fragment."""
    before, rest = claims(earlier), _LEAD.sub("", read(fragment).flat)
    return GO_ON[before.adapter](rest, before.slots) if before is not None and rest else None
