"""The weather of a place from Open-Meteo: now, up to 15 days ahead, any day since 1940, and statistics.

It promises: a figure in an answer is one that the source stated for that place, day and unit (or is computed
from such figures by ``figures``); days that the source has no figures for are ``Missed``, never guessed. The
day is the asker's, and the answer names it in full. Places come from the source's geocoder, chosen among
namesakes by what was said, by fame and by size; the choice is named. When the geocoder fails, the gazetteer
of ``grammar.places`` stands in. What comes from memory after a failure says so in words and in
``data["stale"]``. Questions are read by ``questions``, the wire by ``open_meteo``, sentences come from
``say``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from adapters.fetch import Http, check_of
from adapters.grammar import places
from adapters.grammar.when import When
from adapters.outcomes import failed
from adapters.weather import asked as slots
from adapters.weather import coordinates, questions
from adapters.weather.as_data import day_data, present_data
from adapters.weather.asked import NOW_METRICS, SPAN_DAYS_MAX, SPAN_STATS, WeatherQuestion
from adapters.weather.open_meteo import Asking, OpenMeteo
from adapters.weather.say import (
    in_unit,
    say_day,
    say_present,
    say_span,
    say_statistic,
    series,
    statistic,
)
from adapters.weather.units import span_of
from adapters.weather.values import (
    ARCHIVE_BEGINS,
    ARCHIVE_DELAY,
    DAYS_AHEAD,
    DAYS_BACK,
    Day,
    Days,
    Part,
    Present,
    Town,
    Units,
)
from adapters.weather.whereabouts import (
    Spot,
    choose,
    coordinates_label,
    from_gazetteer,
    is_area,
    lies_in,
    said_of,
)
from node.core.clock import Clock
from node.core.errors import NodeError
from node.core.guard import Guarded
from node.core.model import (
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
from node.core.settings import AdapterSettings

NAME = "weather"
SOURCE = "Open-Meteo"
LICENCE = "CC BY 4.0"
CONFIDENCE = 0.95
CONFIDENCE_OLD = 0.75
CONFIDENCE_GUESS = 0.85
"""For a place chosen among namesakes of about the same size."""
OBSERVATION_OLD = timedelta(hours=3)
OBSERVATION_TOO_OLD = timedelta(days=1)
"""The weather of another day is not the weather now."""
CLOCKS_APART = timedelta(days=1)
"""A time from further ahead than this is a lie or a wrong clock."""
_FIRST = "first: "
"""Before the two places or days that a question names, among what is unresolved in it."""
_SKY_METRICS = frozenset(("humidity", "sunshine", "cloud", "sunrise", "sunset"))


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question with its days, its place and the moment of asking."""

    question: WeatherQuestion
    spot: Spot
    today: date
    key: str
    asking: Asking

    @property
    def units(self) -> Units:
        return slots.units_of(self.question.unit)


class Weather:
    """``node.core.ports.Adapter`` for Open-Meteo. Safe to call concurrently from one event loop."""

    def __init__(
        self,
        forecast: AdapterSettings,
        archive: AdapterSettings,
        geocoding: AdapterSettings,
        http: Http,
        clock: Clock,
    ) -> None:
        """One setting per host; an empty ``base_url`` means the public one. ``per_minute`` > 0 replaces the
        default limit of a minute."""
        self._clock = clock
        self._step_s = max(forecast.timeout_s, archive.timeout_s, geocoding.timeout_s)
        self._source = OpenMeteo(forecast, archive, geocoding, http, clock)

    @property
    def name(self) -> str:
        return NAME

    @property
    def is_local(self) -> bool:
        return False

    def recognise(self, text: str, now: datetime, *, hinted: bool = False) -> Recognition | None:
        """See ``questions``; without a place ``key`` is None and ``ask`` asks back."""
        found = questions.understand(text, now.date(), hinted=hinted)
        if found is None:
            return None
        question = found.question
        unresolved = (
            *(() if question.place else ("place",)),
            *(("time",) if found.time_unread else ()),
            *((f"{_FIRST}{found.both[0]} or {found.both[1]}",) if found.both else ()),
        )
        return Recognition(
            adapter=NAME,
            slots=question.slots(),
            key=None if unresolved else slots.key_of(question, found.time, now.date()),
            local=False,
            reason=found.reason,
            strength=found.strength,
            unresolved=unresolved,
        )

    def follow_up(self, fragment: str, earlier: str, now: datetime) -> str | None:
        return questions.follow_up(fragment, earlier, now.date())

    def warm(self) -> None:
        """Load the gazetteer."""
        places.warm()

    async def ask(self, recognition: Recognition, query: Query) -> Outcome:
        """``Found`` with the weather, ``Missed`` where the source has none, ``Unclear`` without a place,
        else ``Failed``."""
        question = slots.question_of(recognition.slots)
        if question is None:
            return Missed("this is not a question about the weather")
        if question.place is None:
            return Unclear(
                "Which place do you mean? Name a town, for example: weather in Lisbon.",
                "no place was said",
            )
        either = next((one for one in recognition.unresolved if one.startswith(_FIRST)), None)
        if either is not None:
            return Unclear(
                f"Which first: {either.removeprefix(_FIRST)}? One place and one day are looked up at a time.",
                "two places or days were asked for at once",
            )
        if "time" in recognition.unresolved:
            return Unclear(
                "Which day do you mean? Say a date, for example: on 25 December.",
                "the time that was said could not be read",
            )
        if question.metric == "air_quality":
            return Missed("air quality is not looked up by this node, only the weather is")
        today = query.local.date()
        time = slots.days_of(question, today, span=slots.is_span(recognition.key))
        if question.when is not None and time is None:
            return Missed("the time that is asked for could not be read")
        if (refused := _out_of_range(question, time, today)) is not None:
            return refused
        key = recognition.key or slots.key_of(question, time, today)
        deadline = min(query.deadline, self._clock.monotonic() + 2 * self._step_s)
        try:
            spot = await self._locate(question, deadline)
            if not isinstance(spot, Spot):
                return spot
            max_age_s = 0.0 if query.no_cache else query.max_age_s
            units = slots.units_of(question.unit)
            asking = Asking((spot.latitude, spot.longitude), units.system, deadline, max_age_s)
            asked = _Asked(question, spot, today, key or "", asking)
            if slots.is_now(question):
                return await self._present(asked)
            if question.when == "tonight" and question.stat is None and question.metric in NOW_METRICS:
                return await self._night(asked)
            return await self._days(asked, time or When("today", today, today, False))
        except NodeError as exc:
            return failed(exc)

    def health(self) -> Check:
        return check_of(NAME, self._source.problems(), "No fresh weather")

    def budgets(self) -> Sequence[Budget]:
        return self._source.budgets()

    async def close(self) -> None:
        """Nothing to close: the session belongs to the node."""

    # --- where --------------------------------------------------------------------------------------

    async def _locate(self, question: WeatherQuestion, deadline: float) -> Spot | Missed | Unclear:
        """The place: as the geocoder knows it, else as the gazetteer does. Raises ``node.core.errors``."""
        assert question.place is not None
        if (spot := coordinates.spot_of(question.place)) is not None:
            latitude, longitude = spot
            if abs(latitude) > 90 or abs(longitude) > 180:
                return Unclear(
                    "Which place do you mean? Latitudes reach from -90 to 90, longitudes from -180 to 180.",
                    "coordinates that are on no map",
                )
            return Spot(latitude, longitude, coordinates_label(latitude, longitude))
        said = said_of(question)
        if said.place is not None and is_area(said):
            return from_gazetteer(said)
        now = self._clock.monotonic()
        until = now + (deadline - now) / 2
        try:
            towns = await self._towns(question, until)
        except NodeError:
            if said.place is None:
                raise
            return from_gazetteer(said)
        if towns:
            return choose(question, said, towns)
        if said.place is not None:
            return from_gazetteer(said)
        area = f" in {question.region or question.country}" if question.region or question.country else ""
        return Missed(f"Open-Meteo knows no place named {question.place}{area}")

    async def _towns(self, question: WeatherQuestion, deadline: float) -> list[Town]:
        """Those of the name that lie where it was said."""
        assert question.place is not None
        area = question.region or question.country
        got = await self._source.towns(question.place, area, deadline)
        fits = [town for town in got.value if lies_in(town, question)]
        if fits or not area:
            return fits
        got = await self._source.towns(question.place, None, deadline)
        return [town for town in got.value if lies_in(town, question)]

    # --- what ---------------------------------------------------------------------------------------

    async def _present(self, asked: _Asked) -> Outcome:
        wind = asked.question.metric == "wind"
        got, url = await self._source.present(asked.asking, wind=wind)
        now = got.value
        sentence = say_present(asked.spot.label, now, asked.question.metric, asked.units)
        if sentence is None:
            return _no_figures(asked, "now")
        stated = now.at_utc
        if stated is not None and stated - self._clock.now() > CLOCKS_APART:
            return Missed("Open-Meteo gave a time that lies in the future")
        age = timedelta(0) if stated is None else self._clock.now() - stated
        is_old = age > OBSERVATION_OLD
        stamp = f"{now.at:%H:%M}" if not is_old else f"{now.at:%H:%M} on {now.at.day} {now.at:%B %Y}"
        old = f"{age.days} days" if age > OBSERVATION_TOO_OLD else "some hours"
        notes = [f"That observation is {old} old."] if is_old else []
        data: dict[str, Json] = {"at": now.at.isoformat(), **present_data(now)}
        return Found(
            self._evidence(
                asked,
                f"{sentence}, according to {SOURCE} at {stamp} local time.",
                url,
                stated,
                Freshness.WEATHER_NOW,
                got,
                data=data,
                notes=notes,
                confidence=CONFIDENCE_OLD if is_old else CONFIDENCE,
            )
        )

    async def _night(self, asked: _Asked) -> Outcome:
        got, url = await self._source.night(asked.asking, asked.today)
        sentence = say_day(
            asked.spot.label, got.value, asked.question.metric, None, asked.units, asked.today, night=True
        )
        if sentence is None:
            return _no_figures(asked, "tonight")
        return Found(
            self._evidence(
                asked,
                f"{sentence}, according to {self._forecast_at(got.age_s)}.",
                url,
                None,
                Freshness.FORECAST,
                got,
                data={"days": [day_data(got.value)]},
            )
        )

    async def _days(self, asked: _Asked, time: When) -> Outcome:
        question, today = asked.question, asked.today
        first, last = slots.clipped(time, today)
        counted = time.span and time.said.startswith("today-")
        if (counted or question.stat in SPAN_STATS) and first < today <= last:
            # Of a span under way only the whole days that have been are figures; the rest is a forecast.
            last = today - timedelta(days=1)
        got = await self._rows(asked, first, last)
        days = [day for day in got.value.days if first <= day.day <= last]
        span = f"on {first}" if first == last else span_of(first, last, today)
        if not days:
            return _no_figures(asked, span)
        if first == last and question.stat not in ("stdev", "volatility", "anomalies"):
            sentence = say_day(asked.spot.label, days[0], question.metric, question.stat, asked.units, today)
        elif question.stat is None:
            sentence = say_span(asked.spot.label, days, question.metric, asked.units, today)
        else:
            sentence = say_statistic(
                asked.spot.label, days, question.metric, question.stat, asked.units, today
            )
        if sentence is None:
            return _no_figures(asked, span)
        missing = (last - first).days + 1 - len(days)
        notes = [f"Open-Meteo has no figures for {missing} of the days."] if missing else []
        if last < time.last and question.stat is None:
            notes.append(f"The forecast ends on {last.day} {last:%B}.")
        lasting = last < today - ARCHIVE_DELAY
        return Found(
            self._evidence(
                asked,
                f"{sentence}, according to {SOURCE if last < today else self._forecast_at(got.age_s)}.",
                got.value.url,
                datetime(last.year, last.month, last.day, tzinfo=UTC) if last < today else None,
                Freshness.PAST_PRICE if lasting else Freshness.FORECAST,
                got,
                data={"days": [day_data(day) for day in days], **_statistic_data(asked, days)},
                notes=notes,
            )
        )

    async def _rows(self, asked: _Asked, first: date, last: date) -> Guarded[Days]:
        """The days from the archive where it has them, else from the forecast's recent past, which also
        stands in for the archive."""
        part = Part.SKY if asked.question.metric in _SKY_METRICS else Part.AIR
        part = Part.WIND if asked.question.metric == "wind" else part
        recent = asked.today - timedelta(days=DAYS_BACK)
        settled = asked.today - ARCHIVE_DELAY

        async def rows(begin: date, end: date, *, archive: bool) -> Guarded[Days]:
            return await self._source.days(asked.asking, begin, end, part, archive=archive)

        if last > settled and first >= recent:
            return await rows(first, last, archive=False)
        if last <= settled:
            try:
                got = await rows(first, last, archive=True)
            except NodeError:
                if first < recent:
                    raise
                return await rows(first, last, archive=False)
            if first >= recent and not series(got.value.days, asked.question.metric, asked.question.stat):
                return await rows(first, last, archive=False)
            return got
        old = await rows(first, settled, archive=True)
        new = await rows(settled + timedelta(days=1), last, archive=False)
        return Guarded(
            Days((*old.value.days, *new.value.days), old.value.url),
            stale=old.stale or new.stale,
            age_s=max(old.age_s, new.age_s),
        )

    def _forecast_at(self, age_s: float) -> str:
        at = self._clock.now() - timedelta(seconds=age_s)
        return f"{SOURCE}'s forecast at {at:%H:%M} UTC"

    # --- the answer -----------------------------------------------------------------------------------

    def _evidence(
        self,
        asked: _Asked,
        text: str,
        url: str,
        at: datetime | None,
        freshness: Freshness,
        got: Guarded[Day] | Guarded[Days] | Guarded[Present],
        *,
        data: dict[str, Json],
        notes: Sequence[str] = (),
        confidence: float = CONFIDENCE,
    ) -> Evidence:
        extra = list(notes)
        if asked.spot.rivals:
            also = " and ".join(asked.spot.rivals)
            extra.append(f"There is also {also}; say which one if you meant another.")
            confidence = min(confidence, CONFIDENCE_GUESS)
        if got.stale:
            minutes = max(1, round(got.age_s / 60))
            extra.append(f"{SOURCE} could not be asked just now; this was fetched {minutes} min ago.")
            confidence = min(confidence, CONFIDENCE_OLD)
        time = at or self._clock.now() - timedelta(seconds=got.age_s)
        return Evidence(
            text=" ".join((text, *extra)),
            source=SourceRef(kind="adapter", id=NAME, url=url, time=time),
            confidence=confidence,
            freshness=freshness,
            data={
                **data,
                "place": asked.spot.label,
                "latitude": asked.spot.latitude,
                "longitude": asked.spot.longitude,
                "unit": asked.question.unit or asked.units.system.value,
                "licence": LICENCE,
                "stale": got.stale,
            },
            slots=asked.question.slots(),
            key=asked.key,
            citations=(Citation(source=SOURCE, locator=LICENCE, url=url, time=time),),
        )


# --- ranges ---------------------------------------------------------------------------------------


def _out_of_range(question: WeatherQuestion, time: When | None, today: date) -> Outcome | None:
    """What cannot be answered for the time asked, before anything is fetched."""
    if time is None or question.when == "now":
        if question.stat in SPAN_STATS:
            return Unclear(
                "Over which days? For example: last week, the last 30 days, or in March 2025.",
                "a statistic without a span of days",
            )
        return None
    if time.first > today + timedelta(days=DAYS_AHEAD):
        return Missed(f"Open-Meteo forecasts {DAYS_AHEAD} days ahead, and {time.first} is later")
    if time.first < ARCHIVE_BEGINS:
        return Missed(f"Open-Meteo's archive begins in {ARCHIVE_BEGINS.year}")
    if (time.last - time.first).days >= SPAN_DAYS_MAX:
        return Unclear(
            f"Which part of it? At most {SPAN_DAYS_MAX} days are looked up at a time.",
            f"a span of more than {SPAN_DAYS_MAX} days",
        )
    if question.metric == "uv" and time.last < today - timedelta(days=DAYS_BACK):
        return Missed("Open-Meteo's archive has no UV index")
    return None


def _no_figures(asked: _Asked, when: str) -> Missed:
    what = asked.question.metric if asked.question.metric != "uv" else "UV index"
    few = " (or too few for it)" if asked.question.stat else ""
    return Missed(f"{SOURCE} has no figures for the {what} in {asked.spot.label} {when}{few}")


def _statistic_data(asked: _Asked, days: Sequence[Day]) -> dict[str, Json]:
    question = asked.question
    if question.stat is None:
        return {}
    values = series(days, question.metric, question.stat)
    figure = statistic(values, question.stat)
    return {
        "stat": question.stat,
        "statistic": None if figure is None else str(figure),
        "shown": None if figure is None else in_unit(figure, question.metric, asked.units),
        "count": len(values),
    }
