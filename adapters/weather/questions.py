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

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date

from adapters.grammar import place_facts, place_scripts, places, when
from adapters.grammar.place_names import GUARDED
from adapters.grammar.places import Said
from adapters.grammar.when import When
from adapters.weather import coordinates
from adapters.weather import words as say
from adapters.weather.asked import EXTREMES, SPAN_STATS, WeatherQuestion, phrase
from adapters.weather.place_said import NAME_WORDS_MAX, has_capital, is_filler, masked
from adapters.weather.slots import CHARS_MAX, slots_of, spelt, two_days
from node.core.model import CERTAIN, CLAIM
from node.language.reading import Reading, read

_WORDS_MAX = 60
_SCRIPT_CHARS = 200
"""Scripts without blanks say a question in few characters."""
_LEFT_MAX = 3
_SHORT = 5
_SURE = 0.95
_TOPIC = 0.8
_WEAK = 0.65


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


def understand(text: str, today: date, *, hinted: bool = False) -> Understood | None:
    """What ``text`` asks about the weather; None when it does not. Total and bounded."""
    if len(text) <= CHARS_MAX:
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
        flat = sentence.flat[:CHARS_MAX]
        if any(pattern.search(flat) for _, pattern in say.TOPICS):
            return sentence.words[:_WORDS_MAX]
    return ()


def _understand_latin(reading: Reading, text: str, today: date, hinted: bool) -> Understood | None:
    words = tuple(spelt(say.SAID_OTHERWISE.get(word, word)) for word in _relevant(reading))
    flat = " ".join(words)[:CHARS_MAX]
    if not flat or say.TRAPS.search(flat):
        return None
    clear = _is_clear(flat)
    vague = say.VAGUE.search(flat) is not None
    topic = next((name for name, pattern in say.TOPICS if pattern.search(flat)), None)
    suits = say.OUTDOORS.search(flat) is not None and say.SUITS.search(flat) is not None
    if topic is None and not (clear or vague or suits or hinted):
        return None
    parts = slots_of(words, text, today)
    question, time, left, place = parts.question, parts.time, parts.left, parts.place
    unknown = [word for word in left if not is_filler(word)]
    both = parts.both or two_days(words, today)
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
    if topic is None and question.place is None and not (clear or vague or suits):
        return None  # its meaning alone is near the weather ("is the hall heated in winter")
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


def _reason(question: WeatherQuestion, topic: str) -> str:
    figure = f"{question.stat} of {question.metric}" if question.stat else question.metric
    return f"{topic}: {figure} in {question.place or 'a place that is not said'}"


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


def _understand_script(reading: Reading, today: date, hinted: bool) -> Understood | None:
    plain = reading.plain[:_SCRIPT_CHARS]
    if say.SCRIPTS.traps.search(plain):
        return None
    topic = say.SCRIPTS.topic.search(plain) is not None
    if not topic and not hinted and not say.SCRIPTS.clear.search(plain):
        return None
    past = say.SCRIPTS.past.search(plain) is not None
    time, rest = when.find_script(plain, today, past=past)
    said, rest = place_scripts.find_script(rest)
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
    other, _ = place_scripts.find_script(rest)
    if said is None or other is None or other.name == said.name or not _SCRIPT_JOINS.search(rest):
        return None
    area = other.place is not None and other.place.name in (other.place.country, other.place.region)
    return None if area else (said.name, other.name)


def follow_up(fragment: str, earlier: str, today: date) -> str | None:
    """The whole question that ``fragment`` asks after ``earlier``; None unless every word fits."""
    if len(fragment) > CHARS_MAX or len(earlier) > 4 * CHARS_MAX:
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
    parts = slots_of(rest, fragment, today)
    question, time, left, place = parts.question, parts.time, parts.left, parts.place
    if parts.both is not None or parts.is_time_unread:
        return None
    if any(word not in say.LINKS for word in left) and not _is_whole(fragment, left, today):
        return None
    if rest == words and len(rest) == 1 and rest[0] in GUARDED and not fragment.rstrip().endswith("?"):
        return None  # "nice" thanks, it is no town
    if _is_by_chance(rest, words[: len(words) - len(rest)], fragment):
        return None
    says = _SAYS_WEATHER.search(" ".join(rest)) is not None
    if question == WeatherQuestion() and not says:
        return None
    if place is not None and place.place is None and len(rest) > NAME_WORDS_MAX + 1:
        return None
    return question, time


def _is_by_chance(rest: tuple[str, ...], lead: tuple[str, ...], fragment: str) -> bool:
    """Whether the fragment's one word for a place is likelier another word: not the town's own name ("gold"
    for the Gold Coast; names in other languages go with a lead in them), or an everyday word in small
    letters ("orange"); unless a preposition or a region shows it."""
    named = places.mentions(masked(rest))
    if len(named) != 1 or named[0].end - named[0].start != 1:
        return False
    word, said = rest[named[0].start], named[0].said
    if named[0].start and rest[named[0].start - 1] in ("in", "at", "for", "near", "en", "em", "a", "nach"):
        return False
    if word in GUARDED and not has_capital(word, fragment):
        return True
    foreign = bool(lead) and lead[0] not in say.ENGLISH_LEADS
    return not foreign and not place_facts.is_own_name(word, said)


def _is_whole(fragment: str, left: Sequence[str], today: date) -> bool:
    """Whether it is a question of its own that lacks nothing but its place: "will it rain?" """
    if any(word in say.ELSEWHERE or not is_filler(word) for word in left):
        return False
    own = understand(fragment, today)
    return (
        own is not None
        and own.strength >= CLAIM
        and own.question.place is None
        and not own.time_unread
        and own.both is None
    )


_SAYS_WEATHER = re.compile(r"\b(?:weather|forecast|wetter|clima|meteo)\b")


def _without_lead(words: tuple[str, ...]) -> tuple[str, ...]:
    for lead in say.LEADS:
        if words[: len(lead)] == lead and len(words) > len(lead):
            return words[len(lead) :]
    return words


_SCRIPT_LINKS = re.compile(r"^(?:[のはがでにを、，,。？?！!\s]|じゃあ|では|那|呢|的|а|и|в|на|как|насчет)*$")


def _changes_script(reading: Reading, today: date) -> tuple[WeatherQuestion, When | None] | None:
    time, rest = when.find_script(reading.plain[:_SCRIPT_CHARS], today)
    said, rest = place_scripts.find_script(rest)
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
