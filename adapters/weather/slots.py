"""The slots that the words of a question about the weather fill, and what they show to be missing. Pure.

The time, the unit and the place are taken out one after another; what then remains beside the topic's words
and fillers is unaccounted for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from rapidfuzz.distance import OSA

from adapters.grammar import places, unlisted_places, when
from adapters.grammar.place_names import NEVER
from adapters.grammar.places import Said
from adapters.grammar.when import When
from adapters.weather import words as say
from adapters.weather.asked import WeatherQuestion
from adapters.weather.place_said import (
    has_capital,
    is_filler,
    masked,
    may_be_of_a_name,
    place_in,
    titled,
    without_cues,
)
from adapters.weather.values import DAYS_AHEAD
from node.language.reading import read, word_list

CHARS_MAX = 600
_DAY_FORECAST = re.compile(
    r"\b(\d{1,2}|three|five|six|seven|ten|fourteen)[- ]days?(?= (?:\w+ )?(?:forecast|outlook|weather|temp))"
)
_NUMBERS = {"three": 3, "five": 5, "six": 6, "seven": 7, "ten": 10, "fourteen": 14}
_SPELT = ("weather", "forecast", "temperature", "umbrella", "humidity")


@lru_cache(maxsize=1_024)
def spelt(word: str) -> str:
    """The topic word that ``word`` is a slip or two away from, else ``word``."""
    if word in say.OWN_WORDS or not 6 <= len(word) <= 13 or not word.isalpha():
        return word
    for meant in _SPELT:
        slips = 1 if len(meant) < 9 else 2
        if word[0] == meant[0] and word != meant and OSA.distance(word, meant, score_cutoff=slips) <= slips:
            return meant
    return word


_COMPARES = re.compile(r"\b(?:than|compar\w{1,4}|comparison|versus|vs|difference between)\b")
_JOINING_MARK = re.compile(r"[^\W\d_]\s{0,3}[&/+]\s{0,3}[^\W\d_]")


def _two_places(place: Said, rest: tuple[str, ...], at: int, flat: str, text: str) -> tuple[str, str] | None:
    """The place and another that is joined to it or compared with it, in their order. ``rest`` are the words
    without the place, which stood at ``at``."""
    named = [one for one in places.mentions(rest) if one.said.name != place.name]
    taken = {word for one in named for word in range(one.start, one.end)}
    marked = _COMPARES.search(flat) is not None or _JOINING_MARK.search(text[:CHARS_MAX]) is not None
    for one in named:
        is_later = one.start >= at
        span = range(at, one.start) if is_later else range(one.end, at)
        between = [rest[word] for word in span if word not in taken]
        joined = any(word in say.JOINS for word in between) and all(
            word in say.JOINS or word == "|" or word in NEVER or is_filler(word) for word in between
        )
        if joined or marked:
            other = one.said.name
            return (place.name, other) if is_later else (other, place.name)
    after = at + 1
    if at < len(rest) and rest[at] in say.JOINS:
        led = after < len(rest) and rest[after] in ("in", "near", "en", "nach")
        name = rest[after + led : after + led + 1]
        is_name = bool(name) and name[0] not in NEVER and name[0] != "|" and may_be_of_a_name(name[0])
        if is_name and (led or has_capital(name[0], text)):
            return place.name, titled(name)
    return None


_JOINS_MAX = 8


def two_days(words: tuple[str, ...], today: date) -> tuple[str, str] | None:
    """Two days that are joined or compared, in their order."""
    if when.find(words, today)[0] is not None:
        return None
    joins = [at for at, word in enumerate(words) if word in say.JOINS]
    for at in joins[:_JOINS_MAX]:
        if at:
            one, other = when.find(words[:at], today)[0], when.find(words[at + 1 :], today)[0]
            if one is not None and other is not None and one.said != other.said:
                return _day_words(one), _day_words(other)
    return None


def _day_words(time: When) -> str:
    return when.phrase(time).removeprefix("on ").removeprefix("in ")


_OPENED_WORDS_MAX = 5


def _is_opened(words: Sequence[str], rest: Sequence[str], today: date) -> bool:
    """Whether a time is bounded on one side only ("before friday"), which the grammar of times left out."""
    for at, word in enumerate(words):
        if word not in say.OPEN_ENDED or word not in rest:
            continue
        for end in range(at + 2, min(len(words), at + 1 + _OPENED_WORDS_MAX) + 1):
            time, left = when.find(words[at + 1 : end], today)
            if time is not None and all(one in NEVER or one in ("de", "a", "zu", "al") for one in left):
                return True
    return False


_DIGIT = re.compile(r"\d")
_NUMERIC_DATE = re.compile(r"\b\d{1,2}[/.-]\d{1,2}(?:[/.-](?:\d{2}|\d{4}))?(?![\w/%])")
_POST_CODE = re.compile(r"\d{5}$")


def _holds_a_time(left: Sequence[str], time: When | None, text: str, today: date) -> bool:
    """Whether what is left over names a time: digits that measure nothing, an hour, a day's name. Beside a
    time that was read only another date counts."""
    digits = [
        at
        for at, word in enumerate(left)
        if _DIGIT.search(word)
        and not _POST_CODE.fullmatch(word)
        and not (at + 1 < len(left) and left[at + 1] in say.MEASURES)
        and not (at and left[at - 1] in say.BOUNDS)
    ]
    if time is not None:
        return bool(digits) and _NUMERIC_DATE.search(text[:CHARS_MAX]) is not None
    if digits or any(word in say.UNREAD_TIME or word in say.HOURS for word in left):
        return True
    return any(when.find((word,), today)[0] is not None for word in left if word != "now")


@dataclass(frozen=True, slots=True)
class Parts:
    """The slots, their time, the words that are left, and what they show to be missing."""

    question: WeatherQuestion
    time: When | None
    left: list[str]
    place: Said | None
    both: tuple[str, str] | None
    is_time_unread: bool


def slots_of(words: tuple[str, ...], text: str, today: date) -> Parts:
    flat = " ".join(words)
    metric = metric_of(flat)
    metric, stat = _extreme(flat, metric, _stat(flat, metric))
    past = say.PAST.search(flat) is not None
    unlisted = unlisted_places.unlisted(words, _commas(words, text), may_be_of_a_name)
    stood_at = 0
    if unlisted is not None:
        without = places.without(words, unlisted)
        # Without its preposition, too.
        stood_at = unlisted.end - (len(words) - len(without))
        words = without
    rest, unit = _without_unit(_written_out(words))
    whole = rest
    rest, time = _without_day_forecast(rest, today)
    if time is None:
        time, rest = when.find(rest, today, past=past)
    opened = time is not None and _is_opened(whole, rest, today)
    before = masked(rest)
    place, rest = place_in(rest, text) if unlisted is None else (unlisted.said, before)
    left = [word for word in without_cues(" ".join(rest)).split() if word not in ("|", ",")]
    both = None
    if place is not None:
        at = next((at for at, word in enumerate(rest) if word != before[at]), len(rest))
        at = at if unlisted is None else min(stood_at, len(rest))
        both = _two_places(place, rest, at, flat, text)
    question = WeatherQuestion(
        place=place.name if place else None,
        region=place.region if place else None,
        country=place.country if place else None,
        when=time.said if time else None,
        metric=metric,
        stat=stat,
        unit=unit,
    )
    return Parts(question, time, left, place, both, opened or _holds_a_time(left, time, text, today))


def _commas(words: Sequence[str], text: str) -> frozenset[int]:
    """Where in ``words``, which are of one stretch of ``text``, a comma stands before a word."""
    spoken: list[str] = []
    before: set[int] = set()
    for sentence in read(text).sentences:
        for word in sentence.canon.split():
            if word == ",":
                before.add(len(spoken))
            else:
                spoken.append(word)
    if not before or not words:
        return frozenset()
    # The words may be a later part of the text: a sentence of it, or all but its first words.
    seen = [spelt(say.SAID_OTHERWISE.get(word, word)) for word in spoken]
    for offset in range(len(seen) - len(words), -1, -1):
        if tuple(words) in (
            tuple(seen[offset : offset + len(words)]),
            tuple(spoken[offset : offset + len(words)]),
        ):
            return frozenset(at - offset for at in before if 0 < at - offset < len(words))
    return frozenset()


def _written_out(words: tuple[str, ...]) -> tuple[str, ...]:
    """ "in LA today": "la" as the town, before the grammar of times takes it for an article."""
    for at in range(1, len(words)):
        if (
            words[at] == "la"
            and words[at - 1] in ("in", "for", "near")
            and words[at + 1 : at + 2] in _AFTER_LA
        ):
            return (*words[:at], "los", "angeles", *words[at + 1 :])
    return words


_AFTER_LA = {
    (),
    *((word,) for word in word_list("right now today tonight tomorrow yesterday this next last on in")),
}


def metric_of(flat: str) -> str:
    found = [
        (metric not in say.FIRST_FIGURES, 0 if metric in say.FIRST_FIGURES else match.start(), metric)
        for metric, pattern in say.FIGURES.items()
        if (match := pattern.search(flat))
    ]
    return min(found)[2] if found else "weather"


def _stat(flat: str, metric: str) -> str | None:
    if say.NO_STATISTIC.search(flat):
        return None
    for stat, pattern in say.STATISTICS:
        match = pattern.search(flat)
        # "is the uv high" asks for the figure, "the high" for a temperature.
        if match and (match[0] not in _HIGH_OR_LOW or metric in ("temperature", "weather")):
            return stat
    return None


_HIGH_OR_LOW = frozenset(("high", "low", "highs", "lows"))


def _extreme(flat: str, metric: str, stat: str | None) -> tuple[str, str | None]:
    """The figure and its statistic where the day's highest or lowest temperature is named; an aggregate of
    them stays the statistic."""
    if metric != "temperature" or stat is None:
        return metric, stat
    high, low = say.HIGHS.search(flat) is not None, say.LOWS.search(flat) is not None
    if high == low:
        return metric, stat
    return "temperature_max" if high else "temperature_min", stat


def _without_unit(words: Sequence[str]) -> tuple[tuple[str, ...], str | None]:
    """The words without the units that figures are asked in, and those: one, or several joined by "+"."""
    flat = " ".join(words)
    found: list[str] = []
    for unit, pattern in say.UNITS.items():
        if (match := pattern.search(flat)) is not None:
            found.append(unit)
            flat = " ".join(f"{flat[: match.start()]} {flat[match.end() :]}".split())
    return tuple(flat.split()), "+".join(found) or None


def _without_day_forecast(words: tuple[str, ...], today: date) -> tuple[tuple[str, ...], When | None]:
    """ "10 day forecast" names a span."""
    flat = " ".join(words)
    match = _DAY_FORECAST.search(flat)
    if match is None:
        return words, None
    count = _NUMBERS.get(match[1]) or int(match[1])
    if not 1 < count <= DAYS_AHEAD + 1:
        return words, None
    rest = f"{flat[: match.start()]} {flat[match.end() :]}".split()
    return tuple(rest), when.resolve(f"today+{count}d", today, span=True)
