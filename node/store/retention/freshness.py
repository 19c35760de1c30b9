"""How long an answer of each class may be served, fresh and stale.

Rules: the class sets the limit (design section 7); the wording of the question (``volatility``) and a
lifetime that was asked for can only shorten it. What a source knows of its own answer (a final score, a past
price, a decision on record, a computation) counts for more than a guess from the wording, of which only
words of now are heard then. Past its time an answer may be served marked as stale for as long as the table
``STALE`` says: at once while one refresh runs, or where the source has failed. Pure; the age is somebody
else's to know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from node.core.model import Freshness
from node.store.retention.volatility import DAY_S, HOUR_S, MINUTE_S, NOW, STEADY, speaks_of_now, volatility

CLASS_LIMIT_S: Mapping[Freshness, int | None] = {
    Freshness.COMPUTED: None,
    Freshness.CLOCK: MINUTE_S,
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

_SAID_BY_SOURCE = frozenset(
    {Freshness.COMPUTED, Freshness.PAST_PRICE, Freshness.FINAL_SCORE, Freshness.GOVERNANCE}
)
"""Classes that a source gives because it knows that its answer stays."""

_ROUTES_WORDS = "the route found that it speaks of now"


@dataclass(frozen=True, slots=True)
class Lifetime:
    """How long an answer lives (None: until superseded) and which rule said so: ``code`` is a stable word,
    ``reason`` a clause for people. ``by_wording``: the question's words shorten it."""

    seconds: int | None
    code: str
    reason: str
    by_wording: bool = False


def lifetime(
    freshness: Freshness,
    *,
    query: str,
    time_sensitive: bool = False,
    asked_ttl_s: int | None = None,
    now: datetime | None = None,
    wording_least_s: int = 0,
) -> Lifetime:
    """How long an answer of this class to ``query`` may be served.

    ``time_sensitive`` is what the route found; ``asked_ttl_s`` what the caller wants, capped here, 0 meaning
    not at all; ``now``, on the asker's clock, tells past years and how far midnight is. The wording does not
    shorten below ``wording_least_s`` (for an answer that somebody else vouches for), but to midnight."""
    limit = CLASS_LIMIT_S[freshness]
    bounds = [] if limit is None else [Lifetime(limit, f"class_{freshness}", f"the class {freshness}")]
    wording = volatility(query, now)
    if freshness in _SAID_BY_SOURCE:
        wording = NOW if speaks_of_now(query) else STEADY
    if wording.limit_s is not None:
        seconds = max(wording.limit_s, wording_least_s)
        if wording.until_midnight and now is not None:
            seconds = min(seconds, _to_midnight_s(now))  # whoever vouches for "today": tomorrow it is another
        bounds.append(Lifetime(seconds, wording.name, wording.reason, True))
    if time_sensitive:
        bounds.append(Lifetime(TIME_SENSITIVE_LIMIT_S, NOW.name, _ROUTES_WORDS, True))
    if asked_ttl_s is not None:
        bounds.append(Lifetime(max(0, asked_ttl_s), "asked_ttl", "the caller asked for that"))
    unbounded = Lifetime(None, "until_superseded", "it stays right until it is superseded")
    return min(bounds, key=lambda one: one.seconds or 0, default=unbounded)


def lifetime_s(
    freshness: Freshness,
    *,
    query: str,
    time_sensitive: bool = False,
    asked_ttl_s: int | None = None,
    now: datetime | None = None,
    wording_least_s: int = 0,
) -> int | None:
    """The seconds of ``lifetime``; None: until superseded."""
    return lifetime(
        freshness,
        query=query,
        time_sensitive=time_sensitive,
        asked_ttl_s=asked_ttl_s,
        now=now,
        wording_least_s=wording_least_s,
    ).seconds


def _to_midnight_s(now: datetime) -> int:
    """Seconds to the end of this day on the clock's own face, at least one. Some days have 23 hours."""
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0, fold=0) + timedelta(days=1)
    return max(1, int(midnight.timestamp() - now.timestamp()))


# --- past its time --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Stale:
    """For how many seconds past its time an answer may be served marked as stale: ``revalidate_s`` at once,
    while a refresh runs behind it; ``error_s`` where the source was asked and failed."""

    revalidate_s: int
    error_s: int


STALE: Mapping[Freshness, Stale] = {
    # What is computed and what is on record never expires by itself.
    Freshness.COMPUTED: Stale(0, 0),
    Freshness.GOVERNANCE: Stale(0, 0),
    # What the clock said is wrong a minute later, and can always be read again.
    Freshness.CLOCK: Stale(0, 0),
    # A figure that people act on is asked for again before it is given.
    Freshness.PRICE: Stale(0, HOUR_S),
    Freshness.LIVE_SCORE: Stale(0, 10 * MINUTE_S),
    Freshness.TIME_SENSITIVE: Stale(0, HOUR_S),
    # Where slightly old is harmless, at most a quarter of the class's own life.
    Freshness.WEATHER_NOW: Stale(MINUTE_S, HOUR_S),
    Freshness.NEWS: Stale(3 * MINUTE_S, HOUR_S),
    Freshness.FORECAST: Stale(15 * MINUTE_S, HOUR_S),
    Freshness.CURRENCY: Stale(15 * MINUTE_S, HOUR_S),
    Freshness.GENERAL: Stale(HOUR_S, HOUR_S),
    Freshness.MODEL_ALONE: Stale(HOUR_S, HOUR_S),
    Freshness.PAST_PRICE: Stale(HOUR_S, HOUR_S),
    Freshness.FINAL_SCORE: Stale(HOUR_S, HOUR_S),
    Freshness.DEFINITION: Stale(HOUR_S, HOUR_S),
}
"""What may be served past its time. The store keeps an expired record for ``cache.expired_grace_s``, whose
default covers the longest window here; with a shorter setting the windows end with it."""

_BY_LIFE = tuple(
    sorted(
        (limit, one)
        for one, limit in CLASS_LIMIT_S.items()
        if limit is not None and one not in (Freshness.FORECAST, Freshness.CURRENCY)
    )
)


def class_of(life_s: int | None, *, looked_up: bool) -> Freshness:
    """The class whose stale windows hold for a record that lives ``life_s``: a record names no class, but its
    life is a signed part of it. The class with the longest limit that the life reaches, so that whatever
    shortened a life (wording, a caller) shortens the windows as well. ``looked_up``: an adapter answered,
    and an hour is the life of a forecast or a rate; otherwise it is that of what speaks of now."""
    if life_s is None:
        return Freshness.GOVERNANCE
    if looked_up and HOUR_S <= life_s < 7 * DAY_S:
        return Freshness.FORECAST
    found = Freshness.LIVE_SCORE
    for limit, one in _BY_LIFE:
        if life_s >= limit:
            found = one
    return found


def stale_windows(life_s: int | None, *, looked_up: bool) -> Stale:
    """``STALE`` for a record that lives ``life_s``; none for one that was not to be served at all."""
    if life_s is not None and life_s <= 0:
        return Stale(0, 0)
    return STALE[class_of(life_s, looked_up=looked_up)]
