"""Questions about the time somewhere: now, between two places, and a time of one place in another.

Pure. It promises: ``place`` and ``other`` as canonical names ("Tokyo", "Paris, Texas", "PST"; None for where
the asker is) and ``at`` in 24 hours. With ``at`` it is the time in ``place`` that is to be told in ``other``;
with two places and no time their difference; with one place or none the time there now, or, when the text
asks how far it is from here, the difference (``relative``, which the key holds). It claims the calendar only
of a place ("what day is it in Tokyo"), and not when something happens ("what time is the game").

Known limits: "in 3 hours" and "3 hours ago" are not read; a day said beside a time goes into ``at`` as
``2026-05-19T15:00``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import pairwise

from adapters.grammar import one_slip, place_scripts, places, unlisted_places
from adapters.grammar import when as times
from adapters.grammar.place_names import GUARDED
from adapters.grammar.places import Said
from adapters.local_time import words as say
from adapters.local_time.clock_times import MARK, take_clocks
from adapters.local_time.spoken_zones import SPOT_MARK, take_zones
from adapters.local_time.zones import is_of_one_zone
from adapters.weather import coordinates
from node.core.model import Slots, SlotValue
from node.language.reading import Reading, fold, read, words_of

STRENGTH_ALL = 0.95
STRENGTH_PART = 0.7
STRENGTH_UNKNOWN = 0.8
STRENGTH_HINTED = 0.6
WORDS_MAX = 40
CONTEXT_MAX = 9
"""How many further words may tell what the clock time to be converted is of ("my flight lands at ...")."""
HINTED_MAX = 2
NAME_CHARS_MAX = 80

_AT = re.compile(r"(?:(\d{4}-\d{2}-\d{2})T)?(\d{2}):(\d{2})")

_THERE = re.compile(
    rf"({MARK}\s+(?:in |at |from )?(?!in )\w+(?: \w+){{0,2}}?)"
    r" (in (?:(?!what |which )\w+ ){1,3}time(?!\w))"
)
"""Where a clock time is to be told: "in Rome in New York time" are two places and not one in a state."""
_PAST = re.compile(rf"\bis it (?:already |still )?(?:past|after|before)\s+{MARK}")


@dataclass(frozen=True, slots=True)
class Question:
    """See the module. ``unknown`` is set when a place is named that the gazetteer lacks."""

    place: str | None = None
    other: str | None = None
    at: str | None = None
    unknown: bool = False
    relative: bool = False

    @property
    def slots(self) -> Slots:
        values: Mapping[str, SlotValue] = {"place": self.place, "other": self.other, "at": self.at}
        return values

    @property
    def key(self) -> str:
        def part(value: str | None) -> str:
            return re.sub(r"[^\w+:.-]+", "-", value.casefold()).strip("-") if value else "-"

        other = "here" if self.relative else part(self.other)
        return f"time:{part(self.place)}:{other}:{part(self.at)}"

    @property
    def phrase(self) -> str:
        """English words that are read back to the same question."""
        here, there = self.place or "", self.other or ""
        if self.at is not None:
            day, _, clock = self.at.rpartition("T")
            said = f"{clock} on {day}" if day else clock
            source = f"in {here}" if here else "here"
            return f"when it is {said} {source} what time is it {f'in {there}' if there else 'here'}"
        if there or self.relative:
            return f"time difference between {_safely(here)} and {_safely(there) if there else 'here'}"
        return f"what time is it in {here}" if here else "what time is it"


def _safely(name: str) -> str:
    """An everyday word that is a town needs its preposition to be read as one."""
    return f"in {name}" if name.casefold() in GUARDED else name


@dataclass(frozen=True, slots=True)
class Read:
    question: Question
    strength: float
    reason: str


def question_of(slots: Slots, key: str | None = None) -> Question | None:
    """The question that canonical slots hold, and ``key`` where it says more; None for anything else."""
    place, other, at = (slots.get(name) for name in ("place", "other", "at"))
    for name in (place, other):
        if name is not None and (not isinstance(name, str) or not 0 < len(name) <= NAME_CHARS_MAX):
            return None
    if at is not None and (not isinstance(at, str) or read_at(at) is None):
        return None
    if place is None and (at is None) != (other is None):
        return None
    if set(slots) != {"place", "other", "at"}:
        return None
    question = Question(
        place if isinstance(place, str) else None,
        other if isinstance(other, str) else None,
        at if isinstance(at, str) else None,
    )
    from_here = replace(question, relative=True)
    return from_here if place and not other and not at and key == from_here.key else question


def read_at(at: str) -> tuple[date | None, int, int] | None:
    """Day (None for today), hour and minute of an ``at``."""
    match = _AT.fullmatch(at)
    if match is None or int(match[2]) > 23 or int(match[3]) > 59:
        return None
    if match[1] is None:
        return None, int(match[2]), int(match[3])
    try:
        return date.fromisoformat(match[1]), int(match[2]), int(match[3])
    except ValueError:
        return None


def named(said: Said) -> str:
    """How a place is called in a slot: with the region and country that were said."""
    return ", ".join(part for part in (said.name, said.region, said.country) if part)


def look_up(name: str) -> Said | None:
    """The place that a slot names, read as a whole."""
    words = [word for word in words_of(fold(name)) if word != ","]
    found = places.mentions(["in", *words])
    if len(found) != 1 or (found[0].start, found[0].end) != (1, len(words) + 1):
        return None
    return found[0].said


@dataclass(frozen=True, slots=True)
class _Spot:
    """A place at the words ``start`` to ``end``; ``name`` None for here."""

    start: int
    end: int
    name: str | None
    zone: bool = False


def read_question(text: str, today: date, *, hinted: bool = False) -> Read | None:
    """The question about the time in ``text``; None where it holds none. See the module."""
    plain, spot = coordinates.with_place(text) if len(text) <= 400 else (text, None)
    found = None if spot is None else _read_named(plain, today, hinted)
    if found is None or found.question != Question(coordinates.STAND_IN):
        return _read_named(text, today, hinted)
    return Read(Question(spot), found.strength, f"the time at {spot}")


def _read_named(text: str, today: date, hinted: bool) -> Read | None:
    reading = read(text)
    if len(reading.plain) > 400 or len(reading.words) > WORDS_MAX:
        return None
    if reading.script in ("japanese", "chinese", "cyrillic", "other"):
        return _read_script(reading.plain, text, hinted)
    if reading.script != "latin":
        return None
    found = _read_latin(reading, text, today, hinted)
    if found is not None and found.strength >= STRENGTH_ALL:
        return found
    repaired = one_slip.mended(reading.plain, say.SLIPS, _is_word)
    if repaired is not None:
        again = _read_latin(read(repaired), text, today, hinted)
        if again is not None and again.strength > (found.strength if found is not None else 0.0):
            return again if again.strength >= STRENGTH_ALL or found is not None or hinted else None
    return found


def _is_word(word: str) -> bool:
    return word in say.FILLERS or word in say.NO_SLIPS


def _read_latin(reading: Reading, text: str, today: date, hinted: bool) -> Read | None:
    """``text`` is what was typed: abbreviations may be in capitals there."""
    flat = reading.flat
    if say.HERE_NOW.fullmatch(flat) or _is_time_here(flat):
        return Read(Question(), STRENGTH_ALL, "the time here")
    if say.HARD.search(flat) or say.WORDING.search(flat):
        return None
    plain, clocks = take_clocks(reading.plain)
    plain, zones = take_zones(plain, text)
    words = [word for word in words_of(_THERE.sub(r"\1 then \2", plain) if clocks else plain) if word != ","]
    said = words
    if len(clocks) > 1 or (not clocks and say.MEANING.search(flat)):
        return None
    if not clocks and (
        there := say.DAY_THERE.search(flat)
    ):  # "is it tomorrow in Sydney yet" asks for its date
        words = ["time", *(word for word in words if word not in there.group().split())]
    if clocks and _PAST.search(plain):  # "is it past midnight in London" asks for the time there
        clocks, words = (
            [],
            ["time", *(word for word in words if word not in (MARK, "past", "after", "before"))],
        )
    part_of_day = not clocks and (say.PART_OF_DAY.search(flat) is not None or words[:1] == ["time"])
    if not (
        clocks or zones or hinted or part_of_day or say.TOPIC.search(plain) or say.DIFFERENCE.search(plain)
    ):
        return None
    day, words = _day(words, today, bool(clocks))
    differs = say.DIFFERENCE.search(plain) is not None
    spots = _narrowed(words, _spots(words, zones), _commas(plain, said), differs)
    if say.ZONES_OF.search(flat) and len(spots) == 1 and not spots[0].zone and has_many_zones(spots[0].name):
        return None  # that asks for a list
    rest = _rest(words, spots)
    unaccounted = [word for word in rest if word not in say.FILLERS and word != MARK]
    if any(any(char.isdigit() for char in word) for word in rest):
        return None
    joined = " ".join(words)
    topical = say.TOPIC.search(joined) is not None or _only_zones(spots, rest) or part_of_day
    topical = topical or (
        say.DIFFERENCE.search(joined) is not None
        and (len(spots) == 2 or say.HOURS.search(joined) is not None)
    )
    converts = bool(
        clocks and (say.ASKS_ELSEWHERE.search(joined) or len(spots) == 2 or say.HERE.search(joined))
    )
    topical = topical or converts or (len(spots) == 1 and say.FROM_HERE.search(joined) is not None)
    if not spots or not (topical or hinted):
        return _unknown_place(flat, words, clocks) if topical or say.STRONG.search(flat) else None
    question = _question(words, spots, clocks, joined)
    if question is None or "much time" in flat:
        return None
    if question.at is not None and day is not None:
        question = replace(question, at=f"{day.isoformat()}T{question.at}")
    if not unaccounted:
        return Read(question, STRENGTH_ALL, _reason(question))
    if (
        clocks
        and say.ASKS_ELSEWHERE.search(joined)
        and not say.HAPPENS.search(flat)
        and len(unaccounted) <= CONTEXT_MAX
    ):
        return Read(question, STRENGTH_PART, _reason(question))
    if say.TRAPS.search(" ".join(unaccounted)):
        return None
    if say.STRONG.search(flat) and len(unaccounted) <= 5:
        return Read(question, STRENGTH_PART, _reason(question))
    if "tomorrow" in unaccounted or "yesterday" in unaccounted:
        return None
    if not hinted or len(unaccounted) > (HINTED_MAX if topical else 1):
        return None
    return Read(question, STRENGTH_HINTED, _reason(question))


def _is_time_here(flat: str) -> bool:
    """The time here in other languages: a phrase for it and nothing else but courtesies."""
    match = say.THE_TIME_HERE.search(flat)
    if match is None or len(flat) > 100:
        return False
    return all(word in say.POLITE for word in (flat[: match.start()] + " " + flat[match.end() :]).split())


def _day(words: list[str], today: date, clock: bool) -> tuple[date | None, list[str]]:
    """The day said beside a clock time, other than today; and the words without it."""
    found, rest = times.find(words, today)
    if found is None:
        return None, words
    if found.span or found.first == today:
        return None, list(rest) if found.said in ("now", "today", "tonight") else words
    return (found.first, list(rest)) if clock else (None, words)


def _spots(words: Sequence[str], zones: Sequence[str]) -> list[_Spot]:
    spots = [
        _Spot(at, at + 1, zones[int(word[len(SPOT_MARK) :])], zone=True)
        for at, word in enumerate(words)
        if word.startswith(SPOT_MARK) and word[len(SPOT_MARK) :].isdigit()
    ]
    for mention in places.mentions(words):
        if not any(spot.start < mention.end and mention.start < spot.end for spot in spots):
            spots.append(_Spot(mention.start, mention.end, named(mention.said)))
    spots.sort(key=lambda spot: spot.start)
    merged: list[_Spot] = []
    for spot in spots:
        if merged and merged[-1].end == spot.start and spot.zone and not merged[-1].zone:
            continue  # "9am New York ET": the same place twice
        merged.append(spot)
    return merged


def _commas(plain: str, words: Sequence[str]) -> frozenset[int]:
    """The positions in ``words`` before which ``plain`` has a comma; none where the words were changed."""
    found: set[int] = set()
    at = 0
    for word in words_of(plain):
        if word == ",":
            found.add(at)
        elif at < len(words) and words[at] == word:
            at += 1
        else:
            return frozenset()
    return frozenset(found)


def _narrowed(words: Sequence[str], spots: list[_Spot], commas: frozenset[int], differs: bool) -> list[_Spot]:
    """``spots`` with a town and the region or country behind it as one place, known or not: "Paris, Kentucky"
    and "Smallville, Texas" are neither Paris nor Texas. Where a difference is asked for, two neighbours are
    the two places."""
    for one, other in pairwise(spots):
        if one.end != other.start or one.zone or other.zone or (differs and len(spots) == 2):
            continue
        said, left = places.find(words[one.start : other.end])
        if said is not None and (said.region or said.country) and not left:
            whole = _Spot(one.start, other.end, named(said))
            spots = [spot for spot in spots if spot not in (one, other)] + [whole]
            break
    unlisted = unlisted_places.unlisted(words, commas, _may_be_name)
    if unlisted is not None:
        clear = [spot for spot in spots if spot.end <= unlisted.start or spot.start >= unlisted.end]
        spots = [*clear, _Spot(unlisted.start, unlisted.end, named(unlisted.said))]
    return sorted(spots, key=lambda spot: spot.start)


def _may_be_name(word: str) -> bool:
    return word not in say.FILLERS and not word.startswith((MARK, SPOT_MARK))


def has_many_zones(name: str | None) -> bool:
    """Whether the clocks of a region or country differ from each other."""
    said = look_up(name) if name else None
    return said is not None and said.place is not None and not is_of_one_zone(said.place)


def _rest(words: Sequence[str], spots: Sequence[_Spot]) -> list[str]:
    taken = {at for spot in spots for at in range(spot.start, spot.end)}
    return [word for at, word in enumerate(words) if at not in taken]


def _only_zones(spots: Sequence[_Spot], rest: Sequence[str]) -> bool:
    """ "est to pst": two zones need no word for time."""
    return len(spots) == 2 and all(spot.zone for spot in spots) and len(rest) <= 4


def _question(
    words: Sequence[str], spots: Sequence[_Spot], clocks: Sequence[str], joined: str
) -> Question | None:
    names = [spot.name for spot in spots]
    if len(set(names)) != len(names) or len(names) > 2:
        return None
    here = say.HERE.search(joined) is not None
    if clocks:
        return _conversion(words, spots, clocks[0])
    if len(spots) == 2:
        return Question(names[0], names[1])
    if say.DIFFERENCE.search(joined) or (
        here and re.search(r"\b(?:between|compared|vs|versus|from)\b", joined)
    ):
        return Question(names[0], relative=True)
    return Question(names[0])


def _conversion(words: Sequence[str], spots: Sequence[_Spot], clock: str) -> Question:
    """Which place the clock time is of: the one right behind it, else of two the one before it. A single one
    elsewhere is where the time is to be told."""
    at = words.index(MARK)
    behind = [spot for spot in spots if spot.start > at]
    if behind and _follows(words[at + 1 : behind[0].start]):
        source = behind[0]
    elif len(spots) == 2:
        # The nearest before the clock time ("wenn es in Berlin 15 Uhr ist"), else the first after it.
        source = next((spot for spot in reversed(spots) if spot not in behind), spots[0])
    else:
        source = None
    others = [spot for spot in spots if spot is not source]
    return Question(source.name if source is not None else None, others[0].name if others else None, clock)


def _follows(between: Sequence[str]) -> bool:
    """Whether a place after a clock time says where that time is: "3pm in Berlin", "9am PST"."""
    return len(between) <= 3 and all(word in say.BETWEEN for word in between)


def _unknown_place(flat: str, words: Sequence[str], clocks: Sequence[str]) -> Read | None:
    """ "what time is it in Hogwarts": a place that is not known, only in a clear question."""
    if clocks or say.IN_A_PLACE.search(flat) is None:
        return None
    said, rest = places.find([word for word in words if word not in ("now", "right")], unknown=True)
    if said is None or any(word not in say.FILLERS for word in rest):
        return None
    return Read(Question(named(said), unknown=True), STRENGTH_UNKNOWN, f"the time in {said.name}")


def _reason(question: Question) -> str:
    if question.at is not None:
        return f"{question.at} of {question.place or 'here'} in {question.other or 'the local time'}"
    if question.relative:
        return f"the time difference between {question.place} and here"
    if question.other is not None:
        return f"the time difference between {question.place or 'here'} and {question.other}"
    return f"the time in {question.place}" if question.place else "the time here"


def _read_script(plain: str, text: str, hinted: bool) -> Read | None:
    if say.SCRIPTS.here_now.fullmatch(plain):
        return Read(Question(), STRENGTH_ALL, "the time here")
    if not say.SCRIPTS.topic.search(plain) and not hinted:
        return None
    marked, clocks = take_clocks(plain)
    marked, zones = take_zones(marked, text)
    found = [(m.start, m.end, named(m.said)) for m in place_scripts.script_mentions(marked)]
    found += [(m.start(), m.end(), zones[int(m[1])]) for m in re.finditer(rf"{SPOT_MARK}(\d)", marked)]
    found.sort()
    names = [name for _, _, name in found]
    if not names or len(names) > 2 or len(set(names)) != len(names) or len(clocks) > 1:
        return None
    left = marked
    for start, end, _ in reversed(found):
        left = left[:start] + " " + left[end:]
    left = say.SCRIPTS.fillers.sub("", left.replace(MARK, " "))
    if clocks:
        at = marked.index(MARK)
        before = [name for start, _, name in found if start < at]
        after = [name for start, _, name in found if start > at]
        source = (before or after)[-1 if before else 0]
        others = [name for name in names if name != source]
        question = Question(source, others[0] if others else None, clocks[0])
    elif len(names) == 2:
        question = Question(names[0], names[1])
    elif say.SCRIPTS.difference.search(plain):
        question = Question(names[0], relative=True)
    else:
        question = Question(names[0])
    if not left:
        return Read(question, STRENGTH_ALL, _reason(question))
    if say.SCRIPTS.asks.search(plain) and len(left) <= 6:
        return Read(question, STRENGTH_PART, _reason(question))
    return Read(question, STRENGTH_HINTED, _reason(question)) if hinted else None


def follow_up(fragment: str, earlier: str, today: date) -> str | None:
    """The whole question that ``fragment`` ("and in London?", "and at 5pm?") asks after ``earlier``; None
    unless every word of it is accounted for."""
    before = read_question(earlier, today)
    if before is None or before.question.unknown or len(fragment) > 120:
        return None
    question = before.question
    reading = read(fragment)
    plain, clocks = take_clocks(reading.plain)
    plain, zones = take_zones(plain, fragment)
    if reading.script in ("japanese", "chinese", "cyrillic"):
        mentions = place_scripts.script_mentions(plain)
        names = [named(mention.said) for mention in mentions]
        left = plain
        for mention in reversed(mentions):
            left = left[: mention.start] + left[mention.end :]
        if say.SCRIPTS.fillers.sub("", left.replace(MARK, "")):
            return None
    else:
        words = [word for word in words_of(plain) if word != ","]
        spots = _spots(words, zones)
        if not spots and len(words) == 1:
            spots = _spots(["in", *words], zones)
            words = ["in", *words]
        names = [spot.name for spot in spots if spot.name]
        if any(word not in say.LEADS and word != MARK for word in _rest(words, spots)):
            return None
    if len(names) > 1 or len(clocks) > 1 or not (names or clocks):
        return None
    merged = question
    if clocks:
        if question.place is None and question.other is None:
            return None
        merged = replace(merged, at=clocks[0])
        if question.at is None and question.other is None:
            # "what time is it in Tokyo" - "and at 5pm?": five here, told there.
            merged = replace(merged, place=None, other=question.place, relative=False)
    if names:
        if merged.at is not None or merged.other is not None:
            merged = replace(merged, other=names[0])
        elif merged.relative:
            merged = replace(merged, place=names[0])
        else:
            merged = replace(merged, place=names[0])
    if merged.place == merged.other:
        return None
    again = read_question(merged.phrase, today)
    return merged.phrase if again is not None and again.question == merged else None
