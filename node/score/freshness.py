"""How long an answer of each class may be served.

Rules: the class sets the limit (design section 7); words that speak of now shorten it to an hour; a lifetime
that was asked for can only be shorter than that limit. Pure; the age is somebody else's to know."""

from __future__ import annotations

import re
from collections.abc import Mapping

from node.model import Freshness

MINUTE_S = 60
HOUR_S = 3_600
DAY_S = 86_400

CLASS_LIMIT_S: Mapping[Freshness, int | None] = {
    Freshness.COMPUTED: None,
    Freshness.PRICE: 45,
    Freshness.PAST_PRICE: 30 * DAY_S,
    Freshness.LIVE_SCORE: 20,
    Freshness.FINAL_SCORE: 30 * DAY_S,
    Freshness.WEATHER_NOW: 10 * MINUTE_S,
    Freshness.FORECAST: HOUR_S,
    Freshness.NEWS: 15 * MINUTE_S,
    Freshness.CURRENCY: HOUR_S,
    Freshness.GOVERNANCE: None,
    Freshness.DEFINITION: 90 * DAY_S,
    Freshness.GENERAL: 7 * DAY_S,
    Freshness.TIME_SENSITIVE: HOUR_S,
    Freshness.MODEL_ALONE: 7 * DAY_S,
}
"""The longest life of each class in seconds; None lives until superseded. Also the cap for what peers
claim."""

TIME_SENSITIVE_LIMIT_S = HOUR_S

_PERIOD = (
    r"(?:day|week|weekend|month|quarter|season|year|hour|minute|morning|afternoon|evening|night|decade)s?"
)
_WEEKDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_NOT_NOW = re.compile(
    r"\b(?:electric(?:al)?|alternating|direct|ocean|eddy|sea|air|water)\s+currents?\b|\bcurrents\b",
    re.IGNORECASE,
)
_NOW = re.compile(
    r"\b(?:today|tonight|tomorrow|yesterday|now|nowadays|currently|current|presently|latest|newest|recent|recently|"
    r"lately|upcoming|ongoing|live|breaking|trending|so far|to date|up to date|up-to-date|as of|"
    r"at the moment|at present|these days|right away|just (?:now|happened|announced|released)|still|yet|"
    rf"(?:this|next|last|past|previous|coming)\s+(?:\d+\s+)?(?:{_PERIOD}|{_WEEKDAY})|"
    rf"(?:on|for|by)\s+{_WEEKDAY}|in\s+\d+\s+{_PERIOD}|\d+\s+{_PERIOD}\s+ago)\b",
    re.IGNORECASE,
)


def speaks_of_now(query: str) -> bool:
    """Whether the wording ties the answer to the moment of asking. Errs towards yes: that only shortens a
    life."""
    return _NOW.search(_NOT_NOW.sub(" ", query)) is not None


def lifetime_s(
    freshness: Freshness, *, query: str, time_sensitive: bool = False, asked_ttl_s: int | None = None
) -> int | None:
    """Seconds that an answer of this class to ``query`` may be served; None: until superseded.

    ``time_sensitive`` is what the route found; ``asked_ttl_s`` what the caller wants, capped here. 0 means
    not at all."""
    bounds = [CLASS_LIMIT_S[freshness]]
    if time_sensitive or speaks_of_now(query):
        bounds.append(TIME_SENSITIVE_LIMIT_S)
    if asked_ttl_s is not None:
        bounds.append(max(0, asked_ttl_s))
    return min((bound for bound in bounds if bound is not None), default=None)
