"""Questions about the weather: recognition, slots, keys, follow-ups. Pure.

Rules of this file:
- The topic is read from ``words``: a wording that asks for the weather on its own, or a clear word beside a
  place or a time. A trap ends it.
- The time, the unit and the place are taken out one after another; what then remains beside the topic's words
  and fillers is unaccounted for and keeps the claim below certainty.
- Slots are canonical English; an absent one is None. Keys hold dates, never words.
- A canonical question (``phrase``) is read back to the same slots; follow-ups are written that way.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import lru_cache

from rapidfuzz.distance import OSA

from adapters.grammar import places, when
from adapters.grammar.place_names import GUARDED, NEVER
from adapters.grammar.places import Said
from adapters.grammar.when import When
from adapters.weather import coordinates
from adapters.weather import words as say
from adapters.weather.values import DAYS_AHEAD, WIND_PER_KMH, System, Units
from node.core.model import CERTAIN, CLAIM, Slots
from node.language.reading import Reading, read, word_list

METRIC_WORDS: dict[str, str] = {
    # How a canonical question names each figure.
    "weather": "weather",
    "temperature": "temperature",
    "temperature_max": "maximum temperature",
    "temperature_min": "minimum temperature",
    "rain": "rain",
    "snow": "snow",
    "wind": "wind",
    "humidity": "humidity",
    "sunshine": "sunshine",
    "cloud": "cloud cover",
    "uv": "uv index",
    "air_quality": "air quality",
    "sunrise": "sunrise",
    "sunset": "sunset",
}
STAT_WORDS: dict[str, str] = {
    "mean": "average",
    "median": "median",
    "stdev": "standard deviation of the",
    "volatility": "volatility of the",
    "anomalies": "anomalies of the",
    "max": "maximum",
    "min": "minimum",
}
_OF_TEMPERATURE = {**STAT_WORDS, "max": "hottest", "min": "coldest"}
EXTREMES = {"temperature_max": "max", "temperature_min": "min"}
"""The statistic that is meant where only the highest or lowest temperature is named."""
UNITS = tuple(say.UNITS)
SPAN_DAYS_MAX = 92
"""A longer span would be many calls for one answer."""

NOW_METRICS = frozenset(("weather", "temperature", "rain", "snow", "wind", "humidity", "cloud"))
"""Figures that have a present value; the others are those of today when no time is said."""
SPAN_STATS = frozenset(("mean", "median", "stdev", "volatility", "anomalies"))
"""Statistics that mean nothing without a stretch of days."""

_WORDS_MAX = 60
_CHARS_MAX = 600
_SCRIPT_CHARS = 200
"""Scripts without blanks say a question in few characters."""
_LEFT_MAX = 3
_SHORT = 5
_NAME_WORDS_MAX = 3
_SURE = 0.95
_TOPIC = 0.8
_WEAK = 0.65
_DAY_FORECAST = re.compile(
    r"\b(\d{1,2}|three|five|six|seven|ten|fourteen)[- ]days?(?= (?:\w+ )?(?:forecast|outlook|weather|temp))"
)
_NUMBERS = {"three": 3, "five": 5, "six": 6, "seven": 7, "ten": 10, "fourteen": 14}
_FRENCH_INVERTED = re.compile(r"\w+-(?:t-)?(?:il|elle|on|ce)$")


@dataclass(frozen=True, slots=True)
class WeatherQuestion:
    """The slots. ``when`` as said, canonical; ``metric`` always."""

    place: str | None = None
    region: str | None = None
    country: str | None = None
    when: str | None = None
    metric: str = "weather"
    stat: str | None = None
    unit: str | None = None

    @property
    def figure(self) -> str:
        """The metric as it stands in slots and keys."""
        is_implied = self.stat is not None and self.stat == EXTREMES.get(self.metric)
        return "temperature" if is_implied else self.metric

    def slots(self) -> Slots:
        """In the agreed form: "the high" is the temperature's maximum; only another statistic of it ("the
        average high") is a figure of its own."""
        return {
            "place": self.place,
            "region": self.region,
            "country": self.country,
            "when": self.when,
            "metric": self.figure,
            "stat": self.stat,
            "unit": self.unit,
        }


@dataclass(frozen=True, slots=True)
class Understood:
    """A question, the days it means (None for now), how sure it is, and why."""

    question: WeatherQuestion
    time: When | None
    strength: float
    reason: str
    time_unread: bool = False
    """A time is named that could not be read."""
    both: tuple[str, str] | None = None
    """Two places or days are asked for, in their order; the question holds one of them at most."""


def question_of(slots: Slots) -> WeatherQuestion | None:
    """The question that slots hold; None for foreign or malformed ones."""
    values: dict[str, str | None] = {}
    for name in ("place", "region", "country", "when", "metric", "stat", "unit"):
        value = slots.get(name)
        if value is not None and not (
            isinstance(value, str) and 0 < len(value) <= 120 and value.isprintable()
        ):
            return None
        values[name] = value
    metric, stat, unit = values["metric"], values["stat"], values["unit"]
    if metric not in METRIC_WORDS or (stat is not None and stat not in STAT_WORDS):
        return None
    if unit is not None and not all(one in UNITS for one in unit.split("+")):
        return None
    return WeatherQuestion(
        values["place"], values["region"], values["country"], values["when"], metric, stat, unit
    )


def key_of(question: WeatherQuestion, time: When | None, today: date) -> str | None:
    """The slot key; None without a place."""
    if question.place is None:
        return None
    where = "|".join((part or "").casefold() for part in (question.place, question.region, question.country))
    first, last = (today, today) if time is None else (time.first, time.last)
    days = first.isoformat() if first == last else f"{first}/{last}"
    if question.when == "tonight":
        days = f"{days}@night"
    elif is_now(question):
        days = f"{days}@now"
    parts = ["weather", where, question.figure, days]
    parts += [question.stat] if question.stat else []
    unit = "+".join(one for one in (question.unit or "").split("+") if one != "celsius")
    parts += [unit] if unit else []
    return ":".join(parts)


def is_now(question: WeatherQuestion) -> bool:
    """Whether the present weather is asked for."""
    return question.when in (None, "now") and question.stat is None and question.metric in NOW_METRICS


def is_span(key: str | None) -> bool:
    """Whether a key holds a stretch of days."""
    return key is not None and re.search(r"\d{4}-\d\d-\d\d/\d{4}-\d\d-\d\d", key) is not None


# --- reading --------------------------------------------------------------------------------------


def understand(text: str, today: date, *, hinted: bool = False) -> Understood | None:
    """What ``text`` asks about the weather; None when it does not. Total and bounded."""
    if len(text) <= _CHARS_MAX:
        named, spot = coordinates.with_place(text)
        if spot is not None:
            found = _understand(named, today, hinted)
            if found is not None and found.question.place == coordinates.STAND_IN:
                reason = found.reason.replace(coordinates.STAND_IN, spot)
                return replace(found, question=replace(found.question, place=spot), reason=reason)
        text = coordinates.plainer(text)
    return _understand(text, today, hinted)


def _understand(text: str, today: date, hinted: bool) -> Understood | None:
    reading = read(text)
    if reading.script in ("none",):
        return None
    if reading.script != "latin":
        found = _understand_script(reading, today, hinted)
        if found is not None or reading.script in ("japanese", "chinese"):
            return found
    return _understand_latin(reading, text, today, hinted)


def _relevant(reading: Reading) -> tuple[str, ...]:
    """The words to look at: all of a short text, else those of the sentence that names the topic."""
    if len(reading.words) <= _WORDS_MAX:
        return reading.words
    for sentence in reading.sentences:
        flat = sentence.flat[:_CHARS_MAX]
        if any(pattern.search(flat) for _, pattern in say.TOPICS):
            return sentence.words[:_WORDS_MAX]
    return ()


_SPELT = ("weather", "forecast", "temperature", "umbrella", "humidity")
_OWN_WORDS = frozenset(
    word_list(
        "weather weathers whether leather feather heather forecasts forecaster temperatures temperatura"
    )
)


@lru_cache(maxsize=1_024)
def _spelt(word: str) -> str:
    """The topic word that ``word`` is a slip or two away from, else ``word``."""
    if word in _OWN_WORDS or not 6 <= len(word) <= 13 or not word.isalpha():
        return word
    for meant in _SPELT:
        slips = 1 if len(meant) < 9 else 2
        if word[0] == meant[0] and word != meant and OSA.distance(word, meant, score_cutoff=slips) <= slips:
            return meant
    return word


def _understand_latin(reading: Reading, text: str, today: date, hinted: bool) -> Understood | None:
    words = tuple(_spelt(say.SAID_OTHERWISE.get(word, word)) for word in _relevant(reading))
    flat = " ".join(words)[:_CHARS_MAX]
    if not flat or say.TRAPS.search(flat):
        return None
    clear = _is_clear(flat)
    vague = say.VAGUE.search(flat) is not None
    topic = next((name for name, pattern in say.TOPICS if pattern.search(flat)), None)
    suits = say.OUTDOORS.search(flat) is not None and say.SUITS.search(flat) is not None
    if topic is None and not (clear or vague or suits or hinted):
        return None
    parts = _slots_of(words, text, today)
    question, time, left, place = parts.question, parts.time, parts.left, parts.place
    unknown = [word for word in left if not _is_filler(word)]
    both = parts.both or _two_days(words, today)
    unread = parts.is_time_unread or (both is not None and time is None and parts.both is None)
    anchored = question.place is not None or time is not None or (unread and bool(both))
    if not anchored and re.search(r"\btemperature (?:of|to)\b|\btiempo\b", flat) and topic is None:
        return None
    if not anchored and say.GENERAL.search(flat):
        return None
    if topic is None and not clear and not (say.FRAME.search(flat) or hinted) and len(words) > _SHORT:
        return None
    if topic is None and not hinted and both is not None and (clear or vague):
        if say.SPORTS.search(flat.replace(" vs ", " ")):
            return None
        topic, strength = "a figure of the weather of two places or days", _WEAK
    elif topic is None and not hinted:
        if say.SPORTS.search(flat):
            return None
        if not anchored or len(unknown) > _LEFT_MAX:
            return None
        if unknown and not ((clear or suits) and question.place is not None and time is not None):
            return None
        topic = "a figure of the weather beside a place or a time"
        strength = _TOPIC if not unknown else _WEAK
    else:
        strength = _TOPIC if len(unknown) <= 2 * _LEFT_MAX or anchored else _WEAK
    topic = topic or "on the topic, by its meaning"
    known = place is not None and place.place is not None
    if not unknown and question.place is not None and _asks(words, reading):
        strength = _SURE if known or question.when or clear or vague else _TOPIC
        strength = max(strength, CERTAIN)
    if unread or both or _TWO_QUESTIONS.search(flat):
        strength = min(strength, _TOPIC)
    if unread:
        question, time = replace(question, when=None), None
    return Understood(question, time, strength, _reason(question, topic), unread, both)


def _is_clear(flat: str) -> bool:
    """Whether a word asks for the weather beside a place or a time."""
    if say.CLEAR.search(flat):
        return True
    for pattern in say.FIGURES.values():
        for match in pattern.finditer(flat):
            if match[0] not in say.NOT_ALONE and not say.VAGUE.fullmatch(match[0]):
                return True
    return _NAMED_EXTREME.search(flat) is not None


_NAMED_EXTREME = re.compile(
    r"\b(?:average|mean|median|daily|today's|tonight's|tomorrow's|forecast) (?:daily )?(?:highs?|lows?)\b"
)


_TWO_QUESTIONS = re.compile(
    r"\b(?:and|or|y|und|et|e) (?:also )?"
    r"(?:will|is|are|was|what|how|do|does|did|when|should|can|which|who|where)\b"
)


_JOINS = frozenset(word_list("and or y o und oder et ou e vs versus than als compared compare plus"))
_COMPARES = re.compile(r"\b(?:than|compar\w{1,4}|comparison|versus|vs|difference between)\b")
_JOINING_MARK = re.compile(r"[^\W\d_]\s{0,3}[&/+]\s{0,3}[^\W\d_]")


def _two_places(place: Said, rest: tuple[str, ...], at: int, flat: str, text: str) -> tuple[str, str] | None:
    """The place and another that is joined to it or compared with it, in their order. ``rest`` are the words
    without the place, which stood at ``at``."""
    named = [one for one in places.mentions(rest) if one.said.name != place.name]
    taken = {word for one in named for word in range(one.start, one.end)}
    marked = _COMPARES.search(flat) is not None or _JOINING_MARK.search(text[:_CHARS_MAX]) is not None
    for one in named:
        is_later = one.start >= at
        span = range(at, one.start) if is_later else range(one.end, at)
        between = [rest[word] for word in span if word not in taken]
        joined = any(word in _JOINS for word in between) and all(
            word in _JOINS or word == "|" or word in NEVER or _is_filler(word) for word in between
        )
        if joined or marked:
            other = one.said.name
            return (place.name, other) if is_later else (other, place.name)
    after = at + 1
    if at < len(rest) and rest[at] in _JOINS:
        led = after < len(rest) and rest[after] in ("in", "near", "en", "nach")
        name = rest[after + led : after + led + 1]
        is_name = bool(name) and name[0] not in NEVER and name[0] != "|" and _may_be_of_a_name(name[0])
        if is_name and (led or _has_capital(name[0], text)):
            return place.name, _titled(name)
    return None


_JOINS_MAX = 8


def _two_days(words: tuple[str, ...], today: date) -> tuple[str, str] | None:
    """Two days that are joined or compared, in their order."""
    if when.find(words, today)[0] is not None:
        return None
    joins = [at for at, word in enumerate(words) if word in _JOINS]
    for at in joins[:_JOINS_MAX]:
        if at:
            one, other = when.find(words[:at], today)[0], when.find(words[at + 1 :], today)[0]
            if one is not None and other is not None and one.said != other.said:
                return _day_words(one), _day_words(other)
    return None


def _day_words(time: When) -> str:
    return when.phrase(time).removeprefix("on ").removeprefix("in ")


_OPEN_ENDED = frozenset(
    word_list(
        "before until till til after except since besides excluding beyond vor bis nach seit ausser ab antes "
        "hasta despues desde excepto salvo avant jusqu' jusque apres depuis sauf prima dopo fino tranne "
        "depois ate exceto"
    )
)
"""Before a time they make it another stretch of time than the one that is named."""
_OPENED_WORDS_MAX = 5


def _is_opened(words: Sequence[str], rest: Sequence[str], today: date) -> bool:
    """Whether a time is bounded on one side only ("before friday"), which the grammar of times left out."""
    for at, word in enumerate(words):
        if word not in _OPEN_ENDED or word not in rest:
            continue
        for end in range(at + 2, min(len(words), at + 1 + _OPENED_WORDS_MAX) + 1):
            time, left = when.find(words[at + 1 : end], today)
            if time is not None and all(one in NEVER or one in ("de", "a", "zu", "al") for one in left):
                return True
    return False


_DIGIT = re.compile(r"\d")
_NUMERIC_DATE = re.compile(r"\b\d{1,2}[/.-]\d{1,2}(?:[/.-](?:\d{2}|\d{4}))?(?![\w/%])")
_POST_CODE = re.compile(r"\d{5}$")
_HOURS = frozenset(word_list("noon midday midnight mittag mitternacht mediodia medianoche midi minuit"))
_MEASURES = frozenset(
    word_list(
        "degrees degree deg grad grados degres gradi graus c f mm cm m km kmh kph mph inch inches in feet "
        "percent meters metres knots"
    )
)
_BOUNDS = frozenset(
    word_list("above below over under exceed exceeds reach reaches than least uber unter plus mas")
)


def _holds_a_time(left: Sequence[str], time: When | None, text: str, today: date) -> bool:
    """Whether what is left over names a time: digits that measure nothing, an hour, a day's name. Beside a
    time that was read only another date counts."""
    digits = [
        at
        for at, word in enumerate(left)
        if _DIGIT.search(word)
        and not _POST_CODE.fullmatch(word)
        and not (at + 1 < len(left) and left[at + 1] in _MEASURES)
        and not (at and left[at - 1] in _BOUNDS)
    ]
    if time is not None:
        return bool(digits) and _NUMERIC_DATE.search(text[:_CHARS_MAX]) is not None
    if digits or any(word in say.UNREAD_TIME or word in _HOURS for word in left):
        return True
    return any(when.find((word,), today)[0] is not None for word in left if word != "now")


def _reason(question: WeatherQuestion, topic: str) -> str:
    figure = f"{question.stat} of {question.metric}" if question.stat else question.metric
    return f"{topic}: {figure} in {question.place or 'a place that is not said'}"


@dataclass(frozen=True, slots=True)
class _Parts:
    """The slots, their time, the words that are left, and what they show to be missing."""

    question: WeatherQuestion
    time: When | None
    left: list[str]
    place: Said | None
    both: tuple[str, str] | None
    is_time_unread: bool


def _slots_of(words: tuple[str, ...], text: str, today: date) -> _Parts:
    flat = " ".join(words)
    metric = _metric(flat)
    metric, stat = _extreme(flat, metric, _stat(flat, metric))
    past = say.PAST.search(flat) is not None
    unlisted = places.unlisted(words, _commas(words, text), _may_be_of_a_name)
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
    before = _masked(rest)
    place, rest = _place(rest, text) if unlisted is None else (unlisted.said, before)
    left = [word for word in _without_cues(" ".join(rest)).split() if word not in ("|", ",")]
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
    return _Parts(question, time, left, place, both, opened or _holds_a_time(left, time, text, today))


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
    seen = [_spelt(say.SAID_OTHERWISE.get(word, word)) for word in spoken]
    for offset in range(len(seen) - len(words), -1, -1):
        if tuple(words) in (
            tuple(seen[offset : offset + len(words)]),
            tuple(spoken[offset : offset + len(words)]),
        ):
            return frozenset(at - offset for at in before if 0 < at - offset < len(words))
    return frozenset()


def _may_be_of_a_name(word: str) -> bool:
    return word == "bad" or not (  # "Bad Gastein"
        word in say.NOT_A_NAME
        or word in say.FILL
        or word in say.OPENERS
        or word in say.ASKS_FIRST
        or word in say.UNREAD_TIME
        or _CUES.fullmatch(word) is not None
    )


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


def _metric(flat: str) -> str:
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


def units_of(unit: str | None) -> Units:
    """What the slot ``unit`` says; degrees decide in which system the rest is."""
    said = (unit or "").split("+")
    return Units(
        System.IMPERIAL if "fahrenheit" in said else System.METRIC,
        next((one for one in said if one in WIND_PER_KMH or one == "bft"), None),
        next((one for one in said if one in ("mm", "inch")), None),
        "kelvin" in said,
    )


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


_CUES = re.compile(
    "|".join(
        pattern.pattern
        for pattern in (
            *say.FIGURES.values(),
            *(pattern for _, pattern in say.STATISTICS[:-2]),
            say.CLEAR,
            say.HIGHS,
            say.LOWS,
        )
    )
)


_UNIT_NOUNS = re.compile(r"\| (?:index|speed|cover|count|levels?|quality)\b")


def _without_cues(flat: str) -> str:
    """The words less those of figures and statistics, a bar in the place of each."""
    return _UNIT_NOUNS.sub("|", _CUES.sub("|", flat))


def _masked(words: tuple[str, ...]) -> tuple[str, ...]:
    """Figures' words as bars, so that "sunrise" is no town in Florida; after "in" they stay."""
    out: list[str] = []
    for at, word in enumerate(words):
        led = at > 0 and words[at - 1] in ("in", "en", "a", "near")
        out.append("|" if not led and _CUES.fullmatch(word) else word)
    return tuple(out)


def _place(words: tuple[str, ...], text: str) -> tuple[Said | None, tuple[str, ...]]:
    masked = _led_by_in(_masked(words), words, text)
    said, rest = places.find(masked)
    if said is not None:
        return said, rest
    guess, _ = places.find(masked, unknown=True)
    named = None if guess is None else _named(guess.name, masked, text)
    return _left_over(masked, text) if named is None else named


def _led_by_in(masked: tuple[str, ...], words: Sequence[str], text: str) -> tuple[str, ...]:
    """ "a" as "in" where it is a preposition: after it even an everyday word is a place."""
    if "a" in words and ("à" in text.casefold() or any(word in say.A_IS_IN for word in words)):
        return tuple("in" if word == "a" else word for word in masked)
    return masked


def _named(name: str, words: tuple[str, ...], text: str) -> tuple[Said, tuple[str, ...]] | None:
    """An unknown name after a preposition, as far as it may be a place: no common word, and after "in" or
    the like, or written with capitals; and the words without both."""
    all_parts = tuple(name.casefold().split())
    parts = tuple(itertools.takewhile(_of_name, all_parts))
    while parts and parts[-1].endswith("'"):
        parts = parts[:-1]
    at = next((i for i in range(len(words)) if words[i : i + len(all_parts)] == all_parts), 0)
    if not parts or not at or len(parts) > _NAME_WORDS_MAX:
        return None
    led = words[at - 1] in ("in", "near", "en", "em", "nach", "bei")
    if not led and not all(_has_capital(part, text) for part in parts):
        return None
    rest = (*words[: at - 1], *words[at + len(parts) :])
    return Said(_titled(parts)), rest


def _of_name(part: str) -> bool:
    return part.endswith("'") or (part not in say.NOT_A_NAME and part not in say.FILL)


def _has_capital(word: str, text: str) -> bool:
    """Whether ``text`` writes the word with a capital, and not the whole text so; three capitals are a
    code."""
    if text.isupper() or (len(word) <= 3 and word.upper() in text):
        return False
    return any(
        piece[:1].isupper() and read(piece).words[:1] == (word,)
        for piece in re.findall(r"[^\W\d_]{2,40}", text[:_CHARS_MAX])
        if len(piece) >= len(word)
    )


_BEFORE_UNKNOWN = frozenset(word_list("on auf over around to of from nearby sur sulla su sobre por in"))


def _left_over(words: tuple[str, ...], text: str) -> tuple[Said | None, tuple[str, ...]]:
    """A name that only the other words' being accounted for shows to be one ("weather Hallstatt", "clima
    Venecia"): all that is left over, side by side. The gazetteer may know it once it is asked; an unknown
    name needs capitals."""
    left = [at for at, word in enumerate(words) if word not in ("|", ",") and not _is_filler(word)]
    if not left or len(left) > _NAME_WORDS_MAX or left[-1] - left[0] >= len(left) + 1:
        return None, words
    first, last = left[0], left[-1] + 1
    if any(words[at] in say.NOT_A_NAME or words[at] in _TOO_COMMON for at in left):
        return None, words
    run = words[first:last]
    said, rest = places.find(("in", *run))
    if said is not None and not rest and said.place is not None and _stands_alone(run, said.place.population):
        return said, (*words[:first], *words[last:])
    names = list(run)
    if not all(word.replace("-", "").replace("'", "").replace(".", "").isalpha() for word in names):
        return None, words
    if not all(_has_capital(word, text) for word in names if len(word) > 2):
        return None, words
    if first and words[first - 1] in _BEFORE_UNKNOWN:
        return Said(_titled(names)), (*words[: first - 1], *words[last:])
    if not any(word in _ASKS_OF_PLACE for word in read(text).words[:_WORDS_MAX]):
        return None, words
    if first == 0 and len(run) < 2:  # the first word has a capital anyway
        return None, words
    return Said(_titled(names)), (*words[:first], *words[last:])


_ASKS_OF_PLACE = frozenset(word_list("weather forecast wetter meteo clima tiempo sunrise sunset"))
_LETTERS_MIN = 4
_ALONE_POPULATION_MIN = 50_000


def _stands_alone(run: Sequence[str], population: int) -> bool:
    """Whether a known name is one without a preposition too: "nice weather" is not of Nice."""
    if len(run) > 1:
        return True
    return len(run[0]) >= _LETTERS_MIN and run[0] not in GUARDED and population >= _ALONE_POPULATION_MIN


_TOO_COMMON = frozenset(
    word_list("warning warnings alert alerts radar map advisory app news video live records")
)


def _titled(names: Sequence[str]) -> str:
    said = " ".join("St." if name == "st" else name if "'" in name else name.capitalize() for name in names)
    return said.replace("' ", "'")


def _is_filler(word: str) -> bool:
    return word in say.FILL or _FRENCH_INVERTED.fullmatch(word) is not None


def _asks(words: tuple[str, ...], reading: Reading) -> bool:
    """Whether the form is that of a question, a request or a bare topic, not of a sentence that tells."""
    if any(sentence.mark == "?" for sentence in reading.sentences):
        return True
    if any(sentence.mark in ("!", ".") for sentence in reading.sentences[:-1]):
        return False
    start = 0
    while start < len(words) and words[start] in say.OPENERS:
        start += 1
    if start < len(words) and words[start] in say.ASKS_FIRST:
        return True
    return not any(word in say.TELLS for word in words) and say.PAST.search(" ".join(words)) is None


# --- other scripts --------------------------------------------------------------------------------


def _understand_script(reading: Reading, today: date, hinted: bool) -> Understood | None:
    plain = reading.plain[:_SCRIPT_CHARS]
    if say.SCRIPTS.traps.search(plain):
        return None
    topic = say.SCRIPTS.topic.search(plain) is not None
    if not topic and not hinted and not say.SCRIPTS.clear.search(plain):
        return None
    past = say.SCRIPTS.past.search(plain) is not None
    time, rest = when.find_script(plain, today, past=past)
    said, rest = places.find_script(rest)
    if said is None and time is None and not topic and not hinted:
        return None
    metric = next((metric for metric, p in say.SCRIPTS.figures.items() if p.search(plain)), "weather")
    stat = next((stat for stat, p in say.SCRIPTS.statistics.items() if p.search(plain)), None)
    unit = next((unit for unit, p in say.SCRIPTS.units.items() if p.search(plain)), None)
    question = WeatherQuestion(
        place=said.name if said else None,
        region=said.region if said else None,
        country=said.country if said else None,
        when=time.said if time else None,
        metric=metric,
        stat=stat,
        unit=unit,
    )
    if said is None and reading.script == "cyrillic" and re.search(r"[a-z]", rest):
        latin, _ = places.find(tuple(re.findall(r"[a-z][a-z.-]*", rest)))
        if latin is not None:
            question = replace(question, place=latin.name, region=latin.region, country=latin.country)
    unread = time is None and re.search(r"\d", _SCRIPT_MEASURED.sub("", rest)) is not None
    both = _two_script_places(said, rest)
    return Understood(question, time, _TOPIC, _reason(question, "asks for the weather"), unread, both)


_SCRIPT_MEASURED = re.compile(r"pm ?2\.?5|pm ?10|\d{1,4} ?(?:度|℃|°|mm|cm|ミリ|センチ|градус|мм|см|%)")
_SCRIPT_JOINS = re.compile(r"[とや和跟与與或、，,]|より|比|还是|還是|\b(?:и|или|чем)\b")


def _two_script_places(said: Said | None, rest: str) -> tuple[str, str] | None:
    """The place and another one where a word joins or compares two."""
    other, _ = places.find_script(rest)
    if said is None or other is None or other.name == said.name or not _SCRIPT_JOINS.search(rest):
        return None
    area = other.place is not None and other.place.name in (other.place.country, other.place.region)
    return None if area else (said.name, other.name)


# --- canonical questions and follow-ups -----------------------------------------------------------


_UNIT_WORDS = {"ms": "mps", "kn": "knots", "bft": "beaufort", "inch": "inches"}


def phrase(question: WeatherQuestion, time: When | None) -> str | None:
    """A question that ``understand`` reads back to the same slots; None without a place."""
    if question.place is None:
        return None
    plain = question.stat is None or question.stat == EXTREMES.get(question.metric)
    words = _OF_TEMPERATURE if question.metric == "temperature" else STAT_WORDS
    stat = "" if plain else f"{words[question.stat or '']} "
    where = ", ".join(part for part in (question.place, question.region, question.country) if part)
    tail = "" if time is None else f" {when.phrase(time)}"
    units = (question.unit or "").split("+") if question.unit else []
    unit = "".join(f" in {_UNIT_WORDS.get(one, one)}" for one in units)
    return f"what is the {stat}{METRIC_WORDS[question.metric]} in {where}{tail}{unit}"


_LEADS = tuple(
    tuple(lead.split("_"))
    for lead in word_list(
        "and_what_about and_how_about but_what_about what_about how_about and_also and also or"
        " ok_and und_wie_ist_es"
        " und_was_ist_mit was_ist_mit wie_ist_es und y_que_tal y_en que_tal y et_pour et e_per e"
        " and_then what_if same_for"
        " now then"
    )
)


def follow_up(fragment: str, earlier: str, today: date) -> str | None:
    """The whole question that ``fragment`` asks after ``earlier``; None unless every word fits."""
    if len(fragment) > _CHARS_MAX or len(earlier) > 4 * _CHARS_MAX:
        return None
    before = understand(earlier, today)
    if before is None or before.strength < CLAIM:
        return None
    reading = read(fragment)
    changed = (
        _changes(reading.words, fragment, today)
        if reading.script == "latin"
        else _changes_script(reading, today)
    )
    if changed is None:
        return None
    change, time = changed
    if (before.time_unread and time is None) or before.both is not None:
        return None
    question = before.question
    renamed = change.metric != "weather" or _SAYS_WEATHER.search(reading.flat) is not None
    kept = before.time if time is None else time
    implied = question.stat is not None and question.stat == EXTREMES.get(question.metric)
    earlier_stat = None if implied and renamed else question.stat
    if change.metric == "weather" and not renamed and question.metric in ("temperature", *EXTREMES):
        meant = next((metric for metric, stat in EXTREMES.items() if stat == change.stat), None)
        if meant is not None:  # "max temperature ... and the minimum?"
            change, renamed = replace(change, metric=meant), True
    if change.metric in EXTREMES and question.metric in EXTREMES and question.stat in SPAN_STATS:
        change = replace(change, stat=question.stat)  # "average high ... and the low?" asks for its average
    merged = replace(
        question,
        place=change.place or question.place,
        region=change.region if change.place else question.region,
        country=change.country if change.place else question.country,
        when=time.said if time else question.when,
        metric=change.metric if renamed else question.metric,
        stat=change.stat or earlier_stat,
        unit=change.unit or question.unit,
    )
    text = phrase(merged, kept)
    if text is None:
        return None
    back = understand(text, today)
    # What is not read back exactly would be another question.
    same = back is not None and back.question == merged and back.strength >= CERTAIN
    return text if same else None


def _changes(
    words: tuple[str, ...], fragment: str, today: date
) -> tuple[WeatherQuestion, When | None] | None:
    rest = _without_lead(words)
    if not rest or len(rest) > 12 or say.TRAPS.search(" ".join(rest)):
        return None
    parts = _slots_of(rest, fragment, today)
    question, time, left, place = parts.question, parts.time, parts.left, parts.place
    if parts.both is not None or parts.is_time_unread:
        return None
    if any(word not in _LINKS for word in left) and not _is_whole(fragment, left, today):
        return None
    if rest == words and len(rest) == 1 and rest[0] in GUARDED and not fragment.rstrip().endswith("?"):
        return None  # "nice" thanks, it is no town
    if _is_by_chance(rest, words[: len(words) - len(rest)], fragment):
        return None
    says = _SAYS_WEATHER.search(" ".join(rest)) is not None
    if question == WeatherQuestion() and not says:
        return None
    if place is not None and place.place is None and len(rest) > _NAME_WORDS_MAX + 1:
        return None
    return question, time


_ENGLISH_LEADS = frozenset(word_list("and but what how ok also or same now then"))


def _is_by_chance(rest: tuple[str, ...], lead: tuple[str, ...], fragment: str) -> bool:
    """Whether the fragment's one word for a place is likelier another word: not the town's own name ("gold"
    for the Gold Coast; names in other languages go with a lead in them), or an everyday word in small
    letters ("orange"); unless a preposition or a region shows it."""
    named = places.mentions(_masked(rest))
    if len(named) != 1 or named[0].end - named[0].start != 1:
        return False
    word, said = rest[named[0].start], named[0].said
    if named[0].start and rest[named[0].start - 1] in ("in", "at", "for", "near", "en", "em", "a", "nach"):
        return False
    if word in GUARDED and not _has_capital(word, fragment):
        return True
    foreign = bool(lead) and lead[0] not in _ENGLISH_LEADS
    return not foreign and not places.is_own_name(word, said)


def _is_whole(fragment: str, left: Sequence[str], today: date) -> bool:
    """Whether it is a question of its own that lacks nothing but its place: "will it rain?" """
    if any(word in _ELSEWHERE or not _is_filler(word) for word in left):
        return False
    own = understand(fragment, today)
    return (
        own is not None
        and own.strength >= CLAIM
        and own.question.place is None
        and not own.time_unread
        and own.both is None
    )


_ELSEWHERE = frozenset(word_list("here my our home hier ici aqui qui"))
_SAYS_WEATHER = re.compile(r"\b(?:weather|forecast|wetter|clima|meteo)\b")
_LINKS = frozenset(
    word_list("in on at for the a en el la los le les im am the then there please it be of weather")
)
"""Words that a fragment may hold beside what it changes."""


def _without_lead(words: tuple[str, ...]) -> tuple[str, ...]:
    for lead in sorted(_LEADS, key=len, reverse=True):
        if words[: len(lead)] == lead and len(words) > len(lead):
            return words[len(lead) :]
    return words


_SCRIPT_LINKS = re.compile(r"^(?:[のはがでにを、，,。？?！!\s]|じゃあ|では|那|呢|的|а|и|в|на|как|насчет)*$")


def _changes_script(reading: Reading, today: date) -> tuple[WeatherQuestion, When | None] | None:
    time, rest = when.find_script(reading.plain[:_SCRIPT_CHARS], today)
    said, rest = places.find_script(rest)
    if (said is None and time is None) or not all(
        _SCRIPT_LINKS.match(word) for word in re.split(r"\s+", rest) if word
    ):
        return None
    question = WeatherQuestion(
        place=said.name if said else None,
        region=said.region if said else None,
        country=said.country if said else None,
        when=time.said if time else None,
    )
    return question, time


def days_of(question: WeatherQuestion, today: date, *, span: bool) -> When | None:
    """The days that the slots mean; None for now, and for a time that cannot be read (see ``has_time``)."""
    if question.when is None:
        return None
    return when.resolve(question.when, today, span=span)


def clipped(time: When, today: date) -> tuple[date, date]:
    """First and last day of what can be asked for: not beyond the forecast."""
    return time.first, min(time.last, today + timedelta(days=DAYS_AHEAD))
