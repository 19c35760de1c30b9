"""The time somewhere, computed here from the machine's time-zone database and the gazetteer.

It promises: offsets are those in force at the very instant, summer time included; a time that the clocks skip
or show twice is called so; where a name or an abbreviation may mean several, the answer names its choice.
Nothing outside is reached, and no answer is worth keeping. Questions are read by ``questions``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from adapters.grammar import place_facts, places
from adapters.grammar.places import Place
from adapters.local_time import questions
from adapters.local_time.questions import Question
from adapters.local_time.zones import (
    ABBREVIATIONS,
    Local,
    is_of_one_zone,
    label,
    local,
    offset_text,
    zone,
    zone_named,
)
from adapters.weather import coordinates
from node.core.clock import Clock
from node.core.model import (
    CLAIM,
    Budget,
    Check,
    Citation,
    Evidence,
    Found,
    Freshness,
    Json,
    Missed,
    Outcome,
    Query,
    Recognition,
    SourceRef,
    Unclear,
)

NAME = "world-time"
SOURCE = "IANA time zone database"
CONFIDENCE = 0.99
RIVALS_SHOWN = 2


@dataclass(frozen=True, slots=True)
class _Where:
    """A place or zone that is asked about. ``name`` for people; ``notes`` say what was chosen."""

    name: str
    zone: tzinfo
    place: Place | None = None
    others: tuple[Place, ...] = ()
    abbreviation: str | None = None
    here: bool = False
    missing: str | None = None
    """The unknown town that was asked about; ``place`` is what lies around it."""


class WorldTime:
    """``node.core.ports.Adapter`` for clock times. Safe to call concurrently from one event loop."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._is_warm = False

    @property
    def name(self) -> str:
        return NAME

    @property
    def is_local(self) -> bool:
        return True

    def recognise(self, text: str, now: datetime, *, hinted: bool = False) -> Recognition | None:
        """See ``questions``."""
        read = questions.read_question(text, now.date(), hinted=hinted)
        if read is None:
            return None
        return Recognition(
            adapter=NAME,
            slots=read.question.slots,
            key=read.question.key,
            local=True,
            reason=read.reason,
            strength=read.strength,
        )

    def follow_up(self, fragment: str, earlier: str, now: datetime) -> str | None:
        """Another place or clock time for the earlier question."""
        return questions.follow_up(fragment, earlier, now.date())

    def warm(self) -> None:
        """Loads the gazetteer and the zones of its towns; blocks for about a second."""
        places.warm()
        for name in place_facts.zone_names():
            zone(name)
        self._is_warm = True

    async def ask(self, recognition: Recognition, query: Query) -> Outcome:
        """``Found``; ``Unclear`` for a place that is not known; ``Missed`` for slots that are no question."""
        if not self._is_warm:
            await asyncio.to_thread(self.warm)
        question = questions.question_of(recognition.slots, recognition.key)
        if question is None:
            return Missed("this is not a question about the time somewhere")
        place = _where(question.place, query)
        other = _where(question.other, query)
        for name, where in ((question.place, place), (question.other, other)):
            if where is None:
                return Unclear(
                    ask=f"I do not know where {name} is. Which larger town or which country do you mean?",
                    reason=f"no place called {name} is known",
                )
        if place is None or other is None:
            return Missed("the place is not known")
        now = self._clock.now()
        text, data = _answer(question, place, other, now)
        return Found(
            Evidence(
                text=text,
                source=SourceRef("adapter", NAME, time=now),
                confidence=CONFIDENCE,
                freshness=Freshness.CLOCK,
                partial=recognition.strength < CLAIM,
                data=data,
                slots=question.slots,
                key=question.key,
                citations=(Citation(SOURCE, str(place.zone), time=now),),
            )
        )

    def health(self) -> Check:
        return Check(f"adapter:{NAME}", "pass")

    def budgets(self) -> Sequence[Budget]:
        return ()

    async def close(self) -> None:
        """Nothing is held."""


def _where(name: str | None, query: Query) -> _Where | None:
    """What a slot names; here for None. None for a place that is not known."""
    if name is None:
        return _Where("your time zone", query.zone, here=True)
    fixed = zone_named(name)
    if fixed is not None:
        return _Where(name, fixed, abbreviation=name)
    spot = coordinates.spot_of(name)
    if spot is not None:
        town = place_facts.town_at(*spot)
        at = None if town is None else zone(town.zone)
        return None if town is None or at is None else _Where(f"{town.name}, near {name}", at)
    said = questions.look_up(name)
    found = zone(said.place.zone) if said is not None and said.place is not None else None
    if said is None or found is None:
        return _around_unknown(name)
    return _Where(name, found, place=said.place, others=said.others)


def _around_unknown(name: str) -> _Where | None:
    """The region or country of a town that is not known, if all of it keeps one time; else None: its largest
    town would be a guess."""
    parts = name.split(", ")
    if len(parts) < 2:
        return None
    said = questions.look_up(", ".join(parts[1:]))
    place = said.place if said is not None else None
    if place is None or place.name not in (place.region, place.country) or not is_of_one_zone(place):
        return None
    found = zone(place.zone)
    return _Where(place.name, found, place=place, missing=parts[0]) if found is not None else None


# --- answers --------------------------------------------------------------------------------------


def _answer(question: Question, place: _Where, other: _Where, now: datetime) -> tuple[str, dict[str, Json]]:
    if question.at is not None:
        return _conversion(question.at, place, other, now)
    here = now.astimezone(place.zone)
    if question.other is None and not question.relative:
        said = f" ({label(here)})" if place.here else _shown(here, place)
        on = f" on {_day(here.date())}"
        sentence = (
            f"It is {here:%H:%M}{said}{on}." if place.abbreviation else f"It is {here:%H:%M}{on}{said}."
        )
        return _joined(sentence, _notes(place, now)), _data(here, place)
    there = now.astimezone(other.zone)
    ahead = ((here.utcoffset() or timedelta()) - (there.utcoffset() or timedelta())).total_seconds() / 3600
    both = f"it is {here:%H:%M}{_shown(here, place)} and {there:%H:%M}"
    both += f"{_relative(here.date(), there.date())}{_shown(there, other)}"
    if not ahead:
        sentence = f"{_named(place)} and {_named(other, inside=True)} have the same time: {both}."
    else:
        way = "ahead of" if ahead > 0 else "behind"
        sentence = f"{_named(place)} is {_hours(abs(ahead))} {way} {_named(other, inside=True)}: {both}."
    data = {**_data(here, place), "other_time": there.isoformat(), "difference_hours": f"{ahead:g}"}
    return _joined(sentence, [*_notes(place, now), *_notes(other, now)]), data


def _conversion(at: str, place: _Where, other: _Where, now: datetime) -> tuple[str, dict[str, Json]]:
    day, hour, minute = questions.read_at(at) or (None, 0, 0)
    on = day or now.astimezone(place.zone).date()
    said = local(datetime.combine(on, time(hour, minute)), place.zone)
    there = said.moment.astimezone(UTC).astimezone(other.zone)
    dated = f" on {_day(on)}" if day is not None else ""
    sentence = (
        f"When it is {hour:02d}:{minute:02d}{dated}{_shown(said.moment, place)}, it is {there:%H:%M}"
        f"{_relative(said.moment.date(), there.date())}{_shown(there, other)}."
    )
    notes = [*_changes(said, place), *_notes(place, said.moment), *_notes(other, there)]
    data = {**_data(said.moment, place), "other_time": there.isoformat()}
    return _joined(sentence, notes), data


def _joined(sentence: str, notes: Sequence[str]) -> str:
    return " ".join((sentence, *notes))


def _data(moment: datetime, where: _Where) -> dict[str, Json]:
    return {
        "time": moment.isoformat(),
        "zone": str(where.zone),
        "offset": offset_text(moment),
        "place": where.name,
    }


def _day(day: date) -> str:
    return f"{day:%A}, {day.day} {day:%B} {day.year}"


def _in(where: _Where) -> str:
    """ " in Tokyo", " in your time zone"."""
    return " in your time zone" if where.here else f" in {_article(where)}{where.name}"


def _shown(moment: datetime, where: _Where) -> str:
    """What follows a clock time: " in Tokyo (JST, UTC+9)", " PST (UTC-8)", " UTC"."""
    if where.abbreviation is None:
        return f"{_in(where)} ({label(moment)})"
    offset = offset_text(moment)
    return f" {where.name}" if offset == where.name else f" {where.name} ({offset})"


def _article(where: _Where) -> str:
    plural = ("United ", "Netherlands", "Philippines", "Bahamas", "Maldives", "Seychelles", "Czech Republic")
    return "the " if where.place is not None and where.name.startswith(plural) else ""


def _named(where: _Where, *, inside: bool = False) -> str:
    if where.here:
        return "your time zone" if inside else "Your time zone"
    article = _article(where)
    return f"{article if inside else article.capitalize()}{where.name}"


def _hours(hours: float) -> str:
    whole, minutes = int(hours), round((hours - int(hours)) * 60)
    parts = [f"{whole} hour{'' if whole == 1 else 's'}"] if whole else []
    return " ".join([*parts, f"{minutes} minutes"] if minutes else parts)


def _relative(one: date, other: date) -> str:
    """The day of the second clock as seen from the first."""
    days = (other - one).days
    return {0: "", 1: " the next day", -1: " the day before"}.get(days, f" on {_day(other)}")


def _changes(said: Local, place: _Where) -> list[str]:
    if said.gap:
        return [f"The clocks{_in(place)} skip that time on that day, so {said.moment:%H:%M} is meant."]
    if said.twice:
        return [f"That time comes twice{_in(place)} on that day, as the clocks go back; the first is meant."]
    return []


def _notes(where: _Where, moment: datetime) -> list[str]:
    """What the choice of a place or an abbreviation leaves open."""
    if where.abbreviation is not None:
        return _abbreviation_notes(where.abbreviation, moment)
    place = where.place
    if place is None:
        return []
    notes: list[str] = []
    if where.missing is not None:
        inside = _named(where, inside=True)
        return [f"I do not know {where.missing} there, but all of {inside} has the same time."]
    town, zones = place_facts.seat_of(place)
    offsets = {moment.astimezone(found).utcoffset() for found in map(zone, zones) if found is not None}
    if len(offsets) > 1 and town != place.name:
        notes.append(f"{_named(where)} has several time zones; this is the time of {town.rstrip('.')}.")
    rivals = [
        f"{there:%H:%M} in {rival.name}, {_around(rival)}"
        for rival in where.others
        if (there := _there(rival, moment)) is not None
        and there.utcoffset() != moment.astimezone(where.zone).utcoffset()
    ]
    if rivals:
        chosen = (
            f"the country {place.name}" if place.name == place.country else f"{place.name}, {_around(place)}"
        )
        notes.append(f"I took {chosen}; it is {' and '.join(rivals[:RIVALS_SHOWN])}.")
    return notes


def _there(place: Place, moment: datetime) -> datetime | None:
    found = zone(place.zone)
    return moment.astimezone(found) if found is not None else None


def _around(place: Place) -> str:
    """The region, or else the country, that tells a place from its namesakes."""
    return place.country if place.region in (None, place.name) else str(place.region)


def _abbreviation_notes(name: str, moment: datetime) -> list[str]:
    known = ABBREVIATIONS.get(name)
    if known is None:
        return []
    notes: list[str] = []
    if known.also:
        notes.append(f"I took {name} as {known.title}; it may also be {known.also}.")
    region = zone(known.region) if known.region else None
    if region is not None:
        there = moment.astimezone(region)
        fixed = moment.astimezone(zone_named(name))
        if there.utcoffset() != fixed.utcoffset():
            shown = f"{there:%H:%M} {there.tzname()} ({offset_text(there)})"
            notes.append(f"Where {name} belongs, the clocks then show {shown}.")
    return notes
