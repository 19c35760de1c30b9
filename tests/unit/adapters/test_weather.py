"""The weather adapter against its stand-in: answers, the choice of a place, and every lie of the source."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import AsyncIterator
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import aiohttp
import pytest

from adapters.weather import Weather
from node.core.clock import SystemClock
from node.core.model import Failed, Found, Freshness, Missed, Unclear
from node.core.settings import AdapterSettings
from tests.simulators.open_meteo import OpenMeteoStandIn, limited
from tests.unit.adapters.asking import FAULTS, Asking
from tests.unit.adapters.tables import rows

NOW = datetime(2026, 5, 18, 9, 0, tzinfo=UTC)
"""A Monday."""


class _Clock(SystemClock):
    """Real seconds for sockets, a wall clock of the test's own."""

    def __init__(self) -> None:
        self.wall = NOW
        self.ahead = 0.0

    def now(self) -> datetime:
        return self.wall + timedelta(seconds=self.ahead)

    def monotonic(self) -> float:
        return super().monotonic() + self.ahead

    def advance(self, seconds: float) -> None:
        self.ahead += seconds


class Rig(Asking[Weather, _Clock]):
    """The adapter, its source, its clock."""

    def __init__(self, source: OpenMeteoStandIn, http: aiohttp.ClientSession, **settings: Any) -> None:
        self.source = source
        clock = _Clock()
        where = AdapterSettings(base_url=source.url, **{"timeout_s": 8.0, **settings})
        super().__init__(Weather(where, where, where, http, clock), clock, seconds=20.0)

    def bend(self, change: Any, path: str = "/forecast", times: int | None = None) -> None:
        """From now on the source answers with ``change`` of what it would have said."""
        self.source.misbehave("change", times=times, path=path, change=change)


@pytest.fixture
async def source() -> AsyncIterator[OpenMeteoStandIn]:
    async with OpenMeteoStandIn(NOW) as stand_in:
        yield stand_in


@pytest.fixture
def rig(source: OpenMeteoStandIn, http: aiohttp.ClientSession) -> Rig:
    return Rig(source, http)


# --- answers ----------------------------------------------------------------------------------------


async def test_the_weather_now_has_source_time_and_licence(rig: Rig) -> None:
    found = await rig.found("weather in Paris")
    assert found.text.startswith("It is 12.3 °C")
    assert "in Paris, France, partly cloudy" in found.text
    assert found.text.endswith("according to Open-Meteo at 11:00 local time.")
    assert found.freshness is Freshness.WEATHER_NOW
    assert found.source.time == NOW
    (citation,) = found.citations
    assert (citation.source, citation.locator, citation.time) == ("Open-Meteo", "CC BY 4.0", NOW)
    assert citation.url is not None
    assert citation.url.startswith("https://api.open-meteo.com/v1/forecast?latitude=48.8534")
    assert found.data["stale"] is False
    assert found.data["temperature"] == "12.3"


@pytest.mark.parametrize(("text", "said"), rows("weather", "answers"))
async def test_the_wording_of_answers(rig: Rig, text: str, said: str) -> None:
    assert said in await rig.said(text)


@pytest.mark.parametrize(("text", "said"), rows("weather", "statistics"))
async def test_statistics_over_a_span(rig: Rig, text: str, said: str) -> None:
    assert said in await rig.said(text)


async def test_anomalies_name_their_days(rig: Rig) -> None:
    rig.source.figures["temperature_2m_mean"] = lambda day: 25.0 if day == date(2026, 4, 9) else 10.0
    found = await rig.found("temperature anomalies in Berlin last month")
    assert "9 April (25 °C, z = 5.3) stands out" in found.text
    assert found.data["stat"] == "anomalies"


async def test_a_statistic_needs_a_span(rig: Rig) -> None:
    assert isinstance(await rig.outcome("average temperature in Berlin"), Unclear)
    assert isinstance(await rig.outcome("standard deviation of the temperature in Berlin tomorrow"), Missed)


async def test_the_past_is_asked_of_the_right_host(rig: Rig) -> None:
    found = await rig.found("weather in Paris on 3 May 2020")
    assert rig.source.count("/v1/archive") == 1
    assert found.freshness is Freshness.PAST_PRICE
    assert "Sunday 3 May 2020" in found.text
    found = await rig.found("weather in Paris 2 days ago")
    assert (rig.source.count("/v1/archive"), rig.source.count("/v1/forecast")) == (1, 1)
    assert found.freshness is Freshness.FORECAST


async def test_requests_stay_one_call_against_the_limits(rig: Rig) -> None:
    for text in ("average temperature in Berlin last month", "weather in Berlin", "sunset in Berlin today"):
        await rig.found(text)
    asked = [seen.query for seen in rig.source.requests if not seen.path.endswith("/search")]
    assert len(asked) == 5  # a month in three pieces
    for query in asked:
        names = ",".join(query[block] for block in ("current", "daily", "hourly") if block in query)
        assert len(names.split(",")) <= 10
        if "start_date" in query:
            span = date.fromisoformat(query["end_date"]) - date.fromisoformat(query["start_date"])
            assert span.days < 14


async def test_the_day_is_the_askers_and_is_said(rig: Rig) -> None:
    # 20:30 in New York is already Tuesday in Tokyo, whose tomorrow is Wednesday.
    rig.clock.wall = rig.source.now = datetime(2026, 5, 19, 0, 30, tzinfo=UTC)
    from_tokyo = await rig.found("will it rain tomorrow in New York", zone=ZoneInfo("Asia/Tokyo"))
    from_there = await rig.found("will it rain tomorrow in New York", zone=ZoneInfo("America/New_York"))
    assert "Wednesday 20 May" in from_tokyo.text
    assert "Tuesday 19 May" in from_there.text
    days = [seen.query["start_date"] for seen in rig.source.requests if "start_date" in seen.query]
    assert days == ["2026-05-20", "2026-05-19"]
    assert all(seen.query["timezone"] == "auto" for seen in rig.source.requests if "daily" in seen.query)
    assert from_tokyo.key != from_there.key


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("weather in Paris in 30 days", Missed),
        ("weather in Paris on 3 May 1930", Missed),
        ("weather in Paris in 1999", Unclear),
        ("air quality in Paris", Missed),
        ("uv index in Paris on 3 May 2020", Missed),
        ("what's the weather?", Unclear),
        ("will it snow in Paris at Easter", Unclear),
    ],
)
async def test_what_cannot_be_looked_up_is_said_without_asking(rig: Rig, text: str, kind: type) -> None:
    assert isinstance(await rig.outcome(text), kind)
    assert rig.source.count() == 0


# --- places -----------------------------------------------------------------------------------------


async def test_a_region_is_filtered_here(rig: Rig) -> None:
    found = await rig.found("weather in Paris, Texas")
    assert "in Paris, Texas, United States" in found.text
    assert found.data["latitude"] == pytest.approx(33.66094)


async def test_a_geocoder_without_the_comma_form_is_asked_again(rig: Rig) -> None:
    rig.source.misbehave("body", times=1, path="/search", text='{"generationtime_ms": 0.4}')
    assert "in Paris, Texas" in await rig.said("weather in Paris, Texas")
    assert rig.source.count("/search") == 2
    assert all(seen.query["count"] == "10" for seen in rig.source.requests if "count" in seen.query)


async def test_comparable_namesakes_are_named(rig: Rig) -> None:
    found = await rig.found("weather in Springfield")
    assert found.text.count("Springfield") == 3
    assert found.confidence < 0.95


async def test_namesakes_that_nothing_settles_are_asked_about(rig: Rig) -> None:
    outcome = await rig.outcome("weather in Zweidorf")
    assert isinstance(outcome, Unclear)
    assert "Zweidorf, Tyrol, Austria or Zweidorf, Saxony, Germany" in outcome.ask
    assert rig.source.count("/forecast") == 0


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("weather in Japan tomorrow", "Japan (at its capital)"),
        ("weather in Lapland tomorrow", "Lapland, Finland (at Rovaniemi)"),
        ("how hot is it in Texas", "Texas, United States (at Houston)"),
    ],
)
async def test_a_country_or_an_area_is_measured_at_a_town_and_says_so(
    rig: Rig, text: str, where: str
) -> None:
    assert where in await rig.said(text)
    assert rig.source.count("/search") == 0


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("weather in Hallstatt, Austria", "Hallstatt, Austria"),
        ("weather in Zweidorf, Saxony", "Zweidorf, Saxony, Germany"),
    ],
)
async def test_a_village_in_a_named_region_is_asked_of_the_geocoder(rig: Rig, text: str, where: str) -> None:
    assert where in await rig.said(text)


@pytest.mark.parametrize("text", ["weather in Paris, Kentucky", "weather in Smallville, Texas"])
async def test_a_name_that_is_not_in_the_region_said_is_missed(rig: Rig, text: str) -> None:
    assert isinstance(await rig.outcome(text), Missed)


async def test_no_results_key_means_not_found(rig: Rig) -> None:
    outcome = await rig.outcome("weather in Xyzzyville")
    assert outcome == Missed("Open-Meteo knows no place named Xyzzyville")


async def test_the_gazetteer_stands_in_for_the_geocoder(rig: Rig) -> None:
    rig.source.misbehave("status", times=None, path="/search", status=500)
    found = await rig.found("weather in Paris")
    assert "in Paris, France" in found.text
    assert isinstance(await rig.outcome("weather in Hallstatt"), Failed)


async def test_another_body_without_results_is_no_unknown_place(rig: Rig) -> None:
    rig.source.misbehave("body", times=None, path="/search", text='{"message": "go away"}')
    assert isinstance(await rig.outcome("weather in Hallstatt"), Failed)


@pytest.mark.parametrize(
    "change",
    [
        lambda body: {**body, "results": "none"},
        lambda body: {**body, "results": [{"name": "Hallstatt"}]},
        lambda body: {**body, "results": [{**body["results"][0], "latitude": 1e9}]},
        lambda body: {**body, "results": [{**body["results"][0], "latitude": "47.5"}]},
        lambda body: {**body, "results": [None, 7, []]},
        lambda body: [],
    ],
)
async def test_odd_places_are_never_taken(rig: Rig, change: Any) -> None:
    rig.bend(change, "/search")
    assert isinstance(await rig.outcome("weather in Hallstatt"), Failed | Missed)
    assert rig.source.count("/forecast") == 0


# --- sharing and staleness ----------------------------------------------------------------------------


async def test_equal_questions_share_one_call_per_stage(rig: Rig) -> None:
    rig.source.misbehave("delay", times=None, seconds=0.05)
    asked = ("weather in Munich", "wie ist das Wetter in München?", "weather munich")
    outcomes = await asyncio.gather(*(rig.outcome(text) for text in asked))
    assert all(isinstance(outcome, Found) for outcome in outcomes)
    assert (rig.source.count("/search"), rig.source.count("/forecast")) == (1, 1)


async def test_places_are_remembered_for_a_day_and_the_weather_for_minutes(rig: Rig) -> None:
    await rig.found("weather in Paris")
    rig.clock.advance(600)
    await rig.found("weather in Paris")
    assert (rig.source.count("/search"), rig.source.count("/forecast")) == (1, 2)


async def test_an_old_answer_is_marked_when_the_source_fails(rig: Rig) -> None:
    await rig.found("weather in Paris")
    rig.source.misbehave("status", times=None, path="/forecast", status=500)
    rig.clock.advance(1_200)
    found = await rig.found("weather in Paris")
    assert found.data["stale"] is True
    assert "could not be asked just now; this was fetched 20 min ago" in found.text
    assert found.confidence < 0.95
    rig.clock.advance(7 * 3_600)
    assert isinstance(await rig.outcome("weather in Paris"), Failed)


@pytest.mark.parametrize(
    ("age", "dated", "told"),
    [
        (timedelta(hours=5), "at 06:00 on 18 May 2026 local time.", "That observation is some hours old."),
        (timedelta(days=365), "18 May 2025", "That observation is 365 days old."),
    ],
)
async def test_an_old_observation_is_dated_and_doubted(
    rig: Rig, age: timedelta, dated: str, told: str
) -> None:
    rig.source.now = NOW - age
    found = await rig.found("weather in Paris")
    assert dated in found.text
    assert told in found.text
    assert found.confidence < 0.95


async def test_a_time_far_in_the_future_is_refused(rig: Rig) -> None:
    rig.source.now = NOW + timedelta(days=3)
    assert isinstance(await rig.outcome("weather in Paris"), Missed)


async def test_the_archive_may_be_down_for_recent_days(rig: Rig) -> None:
    rig.source.misbehave("status", times=None, path="/archive", status=500)
    assert "was 8.9 °C" in await rig.said("average temperature in Berlin last month")
    assert isinstance(await rig.outcome("weather in Berlin on 3 May 2020"), Failed)


# --- lies of the source -------------------------------------------------------------------------------


def _with(block: str, **values: Any) -> Any:
    return lambda body: {**body, block: {**body[block], **values}}


@pytest.mark.parametrize(
    "change",
    [
        _with("current", temperature_2m=math.nan),
        _with("current", temperature_2m="12.3"),
        _with("current", temperature_2m=True),
        _with("current", temperature_2m=400),
        _with("current", temperature_2m=1e300),
        _with("current", temperature_2m=[12.3]),
        _with("current", time="yesterday"),
        _with("current", time=None),
        _with("current", weather_code=1.5),
        _with("current_units", temperature_2m="K"),
        lambda body: {key: value for key, value in body.items() if key != "current"},
        lambda body: {**body, "current": None},
        lambda body: [body],
        lambda body: "fine weather",
    ],
)
async def test_a_lie_about_the_present_is_a_bad_answer(rig: Rig, change: Any) -> None:
    rig.bend(change)
    assert await rig.code("temperature in Paris") == "bad_answer"


async def test_null_and_absent_figures_are_missed_never_guessed(rig: Rig) -> None:
    rig.source.current["temperature_2m"] = None
    outcome = await rig.outcome("temperature in Paris")
    assert isinstance(outcome, Missed)
    assert "has no figures for the temperature in Paris, France" in outcome.reason


@pytest.mark.parametrize(
    "text",
    [
        "temperature in Paris tomorrow",
        "average temperature in Berlin last week",
        "temperature in Paris this weekend",
        "highest temperature in Paris on 3 May 2020",
    ],
)
async def test_days_without_figures_are_missed_never_guessed(rig: Rig, text: str) -> None:
    for name in ("temperature_2m_max", "temperature_2m_min", "temperature_2m_mean"):
        rig.source.figures[name] = lambda day: None
    outcome = await rig.outcome(text)
    assert isinstance(outcome, Missed)
    assert "Open-Meteo has no figures for" in outcome.reason


@pytest.mark.parametrize(
    "change",
    [
        _with("daily", time=["2026-05-19", "2026-05-20"]),
        _with("daily", temperature_2m_max=[]),
        _with("daily", temperature_2m_max=[math.inf]),
        _with("daily", temperature_2m_max=["15"]),
        _with("daily", temperature_2m_max=15.0),
        _with("daily", precipitation_probability_max=[140]),
        _with("daily", precipitation_sum=[-3]),
        _with("daily", time=["tomorrow"]),
        _with("daily", time=[1_779_000_000]),
        _with("daily", time=["2026-02-30"]),
        lambda body: {**body, "daily": []},
        lambda body: {key: value for key, value in body.items() if key != "daily"},
    ],
)
async def test_a_lie_about_days_is_a_bad_answer(rig: Rig, change: Any) -> None:
    rig.bend(change)
    assert await rig.code("weather in Paris tomorrow") == "bad_answer"


async def test_another_day_than_asked_is_no_answer(rig: Rig) -> None:
    rig.bend(_with("daily", time=["2026-05-25"]))
    assert isinstance(await rig.outcome("weather in Paris tomorrow"), Missed)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("temperature in Paris", "It is 10 °C in Paris"),
        ("how windy is it in Paris", "16.1 km/h"),
        ("temperature in Paris in fahrenheit", "It is 50 °F"),
    ],
)
async def test_units_that_were_not_asked_for_are_converted(rig: Rig, text: str, said: str) -> None:
    units = _with("current_units", temperature_2m="°F", wind_speed_10m="mp/h")
    rig.bend(lambda body: units(_with("current", temperature_2m=50, wind_speed_10m=10)(body)))
    assert said in await rig.said(text)


async def test_former_names_are_understood(rig: Rig) -> None:
    now = {"time": "2026-05-18T11:00", "temperature": 29.0, "windspeed": 12.2, "weathercode": 1}
    units = {"temperature": "°C", "windspeed": "km/h"}
    former = {"current_weather": now, "current_weather_units": units, "utc_offset_seconds": 7_200}
    rig.bend(lambda body: former)
    said = await rig.said("weather in Paris")
    assert "It is 29 °C in Paris, France, mainly clear, with wind of 12.2 km/h" in said


@pytest.mark.parametrize(
    ("which", "wait_s"), [("concurrent", 2), ("minute", 60), ("hour", 3_600), ("day", 54_000)]
)
@pytest.mark.parametrize("status", [429, 200])
async def test_the_four_limits_give_their_own_waits(rig: Rig, which: str, wait_s: int, status: int) -> None:
    await rig.found("weather in Paris")
    if status == 429:
        rig.source.misbehave("throttle", times=None, path="/forecast", retry_after=None, body=limited(which))
    else:
        rig.bend(lambda body: limited(which))
    before = rig.source.count("/forecast")
    outcome = await rig.failed("weather in Paris tomorrow", seconds=1.5)
    assert outcome.code == "rate_limited"
    assert wait_s - 5 < (outcome.retry_after_s or 0) <= wait_s
    await rig.failed("weather in Berlin", seconds=1.0)
    assert rig.source.count("/forecast") == before + 1, "none is asked during the wait"
    assert rig.adapter.health().status == "warn"


async def test_a_plain_text_throttle_is_one(rig: Rig) -> None:
    rig.source.misbehave("plain", times=None, path="/forecast", text="Too many requests, slow down.")
    assert await rig.code("weather in Paris", seconds=1.5) == "rate_limited"


@pytest.mark.parametrize(
    ("kind", "options", "code"),
    [
        *FAULTS,
        ("html", {"status": 503}, "unreachable"),
        ("body", {"text": ""}, "bad_answer"),
        ("body", {"text": '{"error": true, "reason": "The service is overloaded"}'}, "unreachable"),
        ("body", {"text": '{"error": true, "reason": "Latitude must be in range"}'}, "bad_answer"),
        ("drip", {}, "timeout"),
        ("drip_head", {}, "timeout"),
        ("hang", {}, "timeout"),
    ],
)
async def test_every_misbehaviour_is_bounded_and_named(
    source: OpenMeteoStandIn, http: aiohttp.ClientSession, kind: str, options: dict[str, Any], code: str
) -> None:
    rig = Rig(source, http, timeout_s=0.5 if code == "timeout" else 8.0)
    source.misbehave(kind, times=None, path="/forecast", **options)
    outcome = await rig.failed("weather in Paris")
    assert outcome.code == code
    assert "9.1" not in outcome.reason


# --- limits -------------------------------------------------------------------------------------------


async def test_a_burst_loses_nobody_and_exceeds_no_window(
    source: OpenMeteoStandIn, http: aiohttp.ClientSession
) -> None:
    rig = Rig(source, http, per_minute=20, timeout_s=20.0)
    texts = [f"weather in Paris on {day} May {year}" for year in range(2000, 2025) for day in range(1, 21)]
    outcomes = await asyncio.gather(*(rig.outcome(text, seconds=40) for text in texts))
    assert all(isinstance(outcome, Found | Failed) for outcome in outcomes)
    assert sum(isinstance(outcome, Found) for outcome in outcomes) == 20
    refused = {outcome.code for outcome in outcomes if isinstance(outcome, Failed)}
    assert refused <= {"rate_limited", "timeout"}
    assert rig.source.count("/archive") == 20
    assert rig.source.count("/search") == 1


async def test_budgets_cover_every_host_and_stay_within_the_documented_sum(rig: Rig) -> None:
    by_window: Counter[float] = Counter()
    for budget in rig.adapter.budgets():
        by_window[budget.window_s] += budget.limit
    assert by_window == {60.0: 600, 3_600.0: 5_000, 86_400.0: 10_000}
    before = sum(budget.remaining for budget in rig.adapter.budgets())
    await rig.found("weather in Paris")
    assert sum(budget.remaining for budget in rig.adapter.budgets()) == before - 6


async def test_a_key_goes_to_the_source_and_never_into_a_citation(
    source: OpenMeteoStandIn, http: aiohttp.ClientSession
) -> None:
    rig = Rig(source, http, api_key="s3cret")
    found = await rig.found("weather in Paris")
    assert all(seen.query["apikey"] == "s3cret" for seen in source.requests)
    assert "s3cret" not in repr(found)


async def test_a_passed_deadline_is_a_value(rig: Rig) -> None:
    await rig.failed("weather in Paris", seconds=-1)
    assert rig.source.count() == 0


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("weather in berlin and london tomorrow", "Which first: Berlin or London?"),
        ("weather in Paris today and tomorrow", "Which first: today or tomorrow?"),
        ("weather in Paris on 05/06", "Which day do you mean?"),
        ("will it rain in Paris before friday", "Which day do you mean?"),
    ],
)
async def test_half_an_answer_is_never_given(rig: Rig, text: str, asks: str) -> None:
    outcome = await rig.outcome(text)
    assert isinstance(outcome, Unclear), outcome
    assert outcome.ask.startswith(asks)
    assert rig.source.requests == []


@pytest.mark.parametrize("text", ["weather in Paris over the last 3 days", "rain in Paris in the past week"])
async def test_past_days_end_with_yesterday_and_have_no_probability(rig: Rig, text: str) -> None:
    found = await rig.found(text)
    assert all(day["date"] < "2026-05-18" for day in found.data["days"])
    assert "Monday 18" not in found.text
    assert "chance" not in found.text


@pytest.mark.parametrize(
    "text", ["weather in Paris", "weather in Paris tomorrow", "weather in Paris tonight"]
)
@pytest.mark.parametrize("where", [{"latitude": -33.9, "longitude": 151.2}, {"longitude": 3.2}])
async def test_the_weather_of_another_place_is_refused(rig: Rig, text: str, where: dict[str, float]) -> None:
    rig.bend(lambda body: {**body, **where})
    assert await rig.code(text) == "bad_answer"


@pytest.mark.parametrize(
    "change", [{"latitude": 10.0, "longitude": 10.0}, {"name": "Elsewhere", "country": "Nowhere"}]
)
async def test_a_geocoder_that_moves_or_renames_a_known_town_is_not_believed(
    rig: Rig, change: dict[str, Any]
) -> None:
    rig.bend(lambda body: {**body, "results": [{**row, **change} for row in body["results"]]}, "/search")
    found = await rig.found("weather in Paris")
    assert "in Paris, France" in found.text
    assert found.data["latitude"] == pytest.approx(48.85, abs=0.1)
