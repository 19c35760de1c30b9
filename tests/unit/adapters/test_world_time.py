"""Clock times: reading questions, offsets at the instant, gaps and folds, choices that are named."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.grammar.gazetteer import gazetteer, key_of
from adapters.local_time import WorldTime
from adapters.local_time import questions as time_questions
from adapters.local_time.questions import Question, read_question
from adapters.local_time.zones import ABBREVIATIONS
from node.core.model import (
    CERTAIN,
    CLAIM,
    Caller,
    Evidence,
    Found,
    Freshness,
    Missed,
    Outcome,
    Query,
    Recognition,
    Slots,
    Unclear,
)
from tests.manual_clock import ManualClock

NOW = datetime(2026, 5, 18, 6, 4, tzinfo=UTC)
TODAY = NOW.date()


async def outcome_of(slots: Slots, now: datetime = NOW, zone: tzinfo = UTC) -> Outcome:
    clock = ManualClock(now)
    adapter = WorldTime(clock)
    query = Query("id", "", "", Caller(), now, clock.monotonic() + 5.0, zone=zone)
    return await adapter.ask(Recognition("world-time", slots, None, True, ""), query)


async def told(text: str, now: datetime = NOW, zone: tzinfo = UTC) -> Evidence:
    found = read_question(text, now.astimezone(zone).date())
    assert found is not None, text
    outcome = await outcome_of(found.question.slots, now, zone)
    assert isinstance(outcome, Found), outcome
    return outcome.evidence


def asked(text: str) -> tuple[str | None, str | None, str | None] | None:
    found = read_question(text, TODAY)
    if found is None:
        return None
    return found.question.place, found.question.other, found.question.at


# --- questions ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("what time is it", (None, None, None)),
        ("whats the time", (None, None, None)),
        ("what time is it at 35.68, 139.69", ("35.6800, 139.6900", None, None)),
        ("local time at 51.5° N, 0.12° W", ("51.5000, -0.1200", None, None)),
        ("what time is it in tokyo", ("Tokyo", None, None)),
        ("hey do you know what time it is in sydney right now?", ("Sydney", None, None)),
        ("current time new york", ("New York", None, None)),
        ("london time", ("London", None, None)),
        ("time in la", ("Los Angeles", None, None)),
        ("time in the us", ("United States", None, None)),
        ("what time zone is tokyo in", ("Tokyo", None, None)),
        ("timezone of dubai", ("Dubai", None, None)),
        ("time in PST", ("PST", None, None)),
        ("what time is it in Paris, Texas", ("Paris, Texas", None, None)),
        ("time difference between new york and tokyo", ("New York", "Tokyo", None)),
        ("how many hours ahead is tokyo of berlin", ("Tokyo", "Berlin", None)),
        ("how far behind is la from nyc", ("Los Angeles", "New York", None)),
        ("what's the time difference with japan", ("Japan", None, None)),
        ("est to pst", ("EST", "PST", None)),
        ("when it's 3pm in Berlin what time is it in Tokyo", ("Berlin", "Tokyo", "15:00")),
        ("what time is it in tokyo when it is 9am here", (None, "Tokyo", "09:00")),
        ("what time will it be in tokyo at 9pm", (None, "Tokyo", "21:00")),
        ("9am PST in CET", ("PST", "CET", "09:00")),
        ("convert 3pm est to ist", ("EST", "IST", "15:00")),
        ("what is 5pm utc+5:30 in new york", ("UTC+5:30", "New York", "17:00")),
        ("12am utc in la", ("UTC", "Los Angeles", "00:00")),
        ("noon in london to sydney time", ("London", "Sydney", "12:00")),
        ("hora en tokio", ("Tokyo", None, None)),
        ("qué hora es", (None, None, None)),
        ("si son las 3 de la tarde en madrid que hora es en tokio", ("Madrid", "Tokyo", "15:00")),
        ("wie spät ist es in sydney", ("Sydney", None, None)),
        ("wenn es in berlin 15 uhr ist, wie spät ist es in tokio", ("Berlin", "Tokyo", "15:00")),
        ("quelle heure est-il à montréal ?", ("Montreal", None, None)),
        ("s'il est 15h à paris quelle heure est-il à tokyo", ("Paris", "Tokyo", "15:00")),
        ("che ora è a new york", ("New York", None, None)),
        ("que horas são em lisboa", ("Lisbon", None, None)),
        ("今何時ですか", (None, None, None)),
        ("ニューヨークは今何時ですか", ("New York", None, None)),
        ("東京が午後3時のときロンドンは何時", ("Tokyo", "London", "15:00")),
        ("东京现在几点", ("Tokyo", None, None)),
        ("伦敦和东京的时差", ("London", "Tokyo", None)),
        ("北京下午3点是伦敦几点", ("Beijing", "London", "15:00")),
        ("который час", (None, None, None)),
        ("сколько времени в Нью-Йорке", ("New York", None, None)),
        ("разница во времени между Москвой и Токио", ("Moscow", "Tokyo", None)),
        ("tiem in toronto", ("Toronto", None, None)),
        ("curent time in lima", ("Lima", None, None)),
        ("tme in paris", ("Paris", None, None)),
        ("what's the time difference between Berlin and here", ("Berlin", None, None)),
        ("how far ahead of me is Tokyo", ("Tokyo", None, None)),
        ("is it morning in Seoul yet", ("Seoul", None, None)),
        ("Ist es in Tokio schon morgens?", ("Tokyo", None, None)),
        ("¿ya es de noche en Tokio?", ("Tokyo", None, None)),
        ("est-ce qu'il fait déjà nuit à Sydney ?", ("Sydney", None, None)),
        ("is it past midnight in london", ("London", None, None)),
        ("what day is it in Auckland right now", ("Auckland", None, None)),
        ("what's the utc offset of Kathmandu", ("Kathmandu", None, None)),
        ("dime la hora", (None, None, None)),
        ("tu peux me dire l'heure qu'il est à Dubaï", ("Dubai", None, None)),
        ("it's 9am in Tokyo, what's that for me", ("Tokyo", None, "09:00")),
        ("half past three in the afternoon in Paris is what in Tokyo", ("Paris", "Tokyo", "15:30")),
        ("quarter to 5 pm EST in Berlin", ("EST", "Berlin", "16:45")),
        ("three pm london time in sydney", ("London", "Sydney", "15:00")),
        ("what's 8 in the evening in Rome in New York time", ("Rome", "New York", "20:00")),
        ("0900 utc to edmonton", ("UTC", "Edmonton", "09:00")),
        ("what's 10am Pacific in India", ("PT", "India", "10:00")),
        ("8:00 AM PST to BST", ("PST", "BST", "08:00")),
    ],
)
def test_reads_the_places_and_the_time(
    text: str, expected: tuple[str | None, str | None, str | None]
) -> None:
    assert asked(text) == expected
    found = read_question(text, TODAY)
    assert found is not None
    assert found.strength >= CERTAIN


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("kickoff is 20:45 in Munich, when is that in Houston", ("Munich", "Houston", "20:45")),
        ("meeting at 14:00 CET, my time?", ("CET", None, "14:00")),
        ("webinar starts at 11am PT, what time is that in Bogota?", ("PT", "Bogota", "11:00")),
        ("my flight lands in Doha at 6am, what time is that in Manchester", ("Doha", "Manchester", "06:00")),
        ("das Meeting ist um 15 Uhr in London, wann ist das bei mir", ("London", None, "15:00")),
    ],
)
def test_what_happens_then_may_be_told_where_a_time_is_converted(
    text: str, expected: tuple[str | None, str | None, str | None]
) -> None:
    assert asked(text) == expected
    found = read_question(text, TODAY)
    assert found is not None
    assert CLAIM <= found.strength < CERTAIN


@pytest.mark.parametrize(
    "text",
    [
        "what is time",
        "time",
        "tokyo",
        "3pm",
        "what time does the store open",
        "what time is the game tonight",
        "what time did the lakers game start in la",
        "how long is the flight from london to tokyo",
        "first time in paris",
        "new york times",
        "best time to visit tokyo",
        "who invented time zones",
        "how many time zones are there",
        "time complexity of quicksort",
        "what time is sunset in paris",
        "what day is it",
        "days until christmas",
        "weather in tokyo",
        "price of btc",
        "how much time do i need in rome",
        "i had a great time in tokyo",
        "will it rain at 3pm in berlin",
        "meet me at 3pm in berlin",
        "news at 9am in london",
        "the meeting is at 3pm in new york",
        "temperature at noon in madrid",
        "quel temps fait-il à paris",
        "was ist das in berlin",
        "el tiempo en londres mañana",
        "what time was it in tokyo 3 hours ago",
        "сколько времени лететь до москвы",
        "how many time zones does Russia have",
        "time flies when you're having fun in paris",
        "in the nick of time",
        "when does the 9am flight from london arrive in rome",
        "what time will the 3pm train from paris get to lyon",
        "time to go to rome",
        "the tide in brest",
        "会议时间",
    ],
)
def test_does_not_claim_other_questions_about_time(text: str) -> None:
    assert read_question(text, TODAY) is None


@pytest.mark.parametrize("hinted", [False, True])
@pytest.mark.parametrize(
    "text",
    [
        "how do you say what time is it in Tokyo in japanese",
        "how to say what time is it in paris",
        "wie sagt man what time is it in tokyo",
        "translate what time is it in tokyo",
        "what does what time is it in paris mean",
        "time zones in russia",
        "what time zones does the us have",
        "list of time zones in the united states",
        "time zones of texas",
        "what's the time and the weather in Tokyo",
        "time and temperature in tokyo",
        "is it monday tomorrow in tokyo",
    ],
)
def test_neither_the_wording_nor_a_list_of_zones_is_the_time(text: str, hinted: bool) -> None:
    assert read_question(text, TODAY, hinted=hinted) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("what time is it in Paris, Kentucky", ("Paris, Kentucky", None, None)),
        ("time in paris kentucky", ("Paris, Kentucky", None, None)),
        ("time in Smallville, Texas", ("Smallville, Texas", None, None)),
        ("what time is it in Smallville, Japan", ("Smallville, Japan", None, None)),
        ("time difference between Smallville, Texas and Tokyo", ("Smallville, Texas", "Tokyo", None)),
        ("time difference madrid mexico", ("Madrid", "Mexico", None)),
        ("is it tomorrow in sydney yet", ("Sydney", None, None)),
        ("is it already monday in tokyo", ("Tokyo", None, None)),
        ("is it still yesterday in honolulu", ("Honolulu", None, None)),
        ("translate 3pm est to cet", ("EST", "CET", "15:00")),
        ("time zones in japan", ("Japan", None, None)),
        ("what time zone is russia in", ("Russia", None, None)),
    ],
)
def test_a_town_goes_with_the_region_behind_it_and_a_date_is_told_by_the_time(
    text: str, expected: tuple[str | None, str | None, str | None]
) -> None:
    assert asked(text) == expected


async def test_the_date_of_a_place_answers_whether_it_is_tomorrow_there() -> None:
    evidence = await told("is it tomorrow in sydney yet", datetime(2026, 5, 18, 15, 0, tzinfo=UTC))
    assert evidence.text == "It is 01:00 on Tuesday, 19 May 2026 in Sydney (AEST, UTC+10)."


@pytest.mark.parametrize(
    "name", ["Paris, Kentucky", "Smallville, Texas", "Smallville, Spain", "Nowhere, Russia"]
)
async def test_an_unknown_town_does_not_get_the_time_of_another(name: str) -> None:
    found = read_question(f"what time is it in {name}", TODAY)
    assert found is not None
    outcome = await outcome_of(found.question.slots)
    assert isinstance(outcome, Unclear)
    assert name in outcome.ask


async def test_an_unknown_town_where_all_clocks_agree_gets_their_time() -> None:
    assert (await told("what time is it in Smallville, Japan")).text == (
        "It is 15:04 on Monday, 18 May 2026 in Japan (JST, UTC+9). I do not know Smallville there, but all "
        "of Japan has the same time."
    )
    assert " in Ohio (EDT, UTC-4)" in (await told("time in Smallville, Ohio")).text


@pytest.mark.parametrize(
    ("earlier", "fragment", "expected"),
    [
        ("what time is it in tokyo", "and in london?", Question("London")),
        ("time in tokyo", "und paris?", Question("Paris")),
        ("what time is it", "in tokyo?", Question("Tokyo")),
        (
            "when it's 3pm in Berlin what time is it in Tokyo",
            "and in New York?",
            Question("Berlin", "New York", "15:00"),
        ),
        (
            "when it's 3pm in Berlin what time is it in Tokyo",
            "and at 6pm?",
            Question("Berlin", "Tokyo", "18:00"),
        ),
        ("time difference between london and tokyo", "and sydney?", Question("London", "Sydney")),
        ("time in tokyo", "and at 5pm?", Question(None, "Tokyo", "17:00")),
        ("東京は今何時", "ロンドンは？", Question("London")),
        ("сколько времени в Нью-Йорке", "а в Москве?", Question("Moscow")),
    ],
)
def test_follow_ups(earlier: str, fragment: str, expected: Question) -> None:
    words = time_questions.follow_up(fragment, earlier, TODAY)
    assert words is not None
    again = read_question(words, TODAY)
    assert again is not None
    assert again.question == expected


@pytest.mark.parametrize("fragment", ["", "why?", "and tomorrow?", "tell me a joke", "and btc?", "x" * 3_000])
def test_other_fragments_are_left_alone(fragment: str) -> None:
    assert time_questions.follow_up(fragment, "time in tokyo", TODAY) is None


_NAMES = [
    *ABBREVIATIONS,
    "UTC+5:30",
    "UTC-3",
    "Tokyo",
    "New York",
    "Paris, Texas",
    "Portland, Maine",
    "Cairo, Egypt",
    "United States",
    "Nice",
    "Washington, D.C.",
    "Los Angeles",
    "Hawaii",
    "Sao Paulo",
    "Georgia",
    "Turkey",
    "Reading",
    "St. Petersburg, Florida",
    "Aix-en-Provence",
    "The Hague",
    "Xi'an",
    "L'Aquila",
]


@settings(max_examples=300, deadline=None)
@given(
    place=st.one_of(st.none(), st.sampled_from(_NAMES)),
    other=st.one_of(st.none(), st.sampled_from(_NAMES)),
    at=st.one_of(
        st.none(),
        st.tuples(st.integers(0, 23), st.integers(0, 59)).map(lambda hm: f"{hm[0]:02d}:{hm[1]:02d}"),
        st.just("2026-03-29T02:30"),
    ),
)
def test_a_question_put_into_words_is_read_back(place: str | None, other: str | None, at: str | None) -> None:
    if place == other and (place is not None or at is not None):
        return
    relative = place is None and at is None and other is not None
    question = Question(other, relative=True) if relative else Question(place, other, at)
    again = read_question(question.phrase, TODAY)
    assert again is not None, question.phrase
    assert again.question == question, question.phrase
    assert again.strength >= CERTAIN


def test_every_big_town_is_found_again_by_its_own_name() -> None:
    data = gazetteer()
    lost = [
        name
        for row, name in enumerate(data.names[:800])
        if (said := time_questions.look_up(name)) is None or said.name != name
        if data.towns(key_of(name))[:1] == (row,)
    ]
    assert len(lost) <= 8, lost


# --- answers --------------------------------------------------------------------------------------


async def test_the_time_in_a_place() -> None:
    evidence = await told("what time is it in tokyo")
    assert evidence.text == "It is 15:04 on Monday, 18 May 2026 in Tokyo (JST, UTC+9)."
    assert evidence.freshness is Freshness.TIME_SENSITIVE
    assert evidence.key == "time:tokyo:-:-"
    assert evidence.data["time"] == "2026-05-18T15:04:00+09:00"


async def test_the_time_at_coordinates_is_that_of_the_town_there() -> None:
    evidence = await told("what time is it at 35.68, 139.69")
    assert "Tokyo, near 35.6800, 139.6900" in evidence.text
    assert "UTC+9" in evidence.text
    assert isinstance(await outcome_of({"place": "0.0000, -30.0000", "other": None, "at": None}), Unclear)


async def test_the_time_in_a_zone() -> None:
    assert (await told("current utc time")).text == "It is 06:04 UTC on Monday, 18 May 2026."
    assert "It is 22:04 PST (UTC-8) on Sunday, 17 May 2026." in (await told("time in PST")).text


async def test_here_is_the_zone_of_the_asker() -> None:
    evidence = await told("what time is it", zone=ZoneInfo("America/New_York"))
    assert evidence.text == "It is 02:04 on Monday, 18 May 2026 (EDT, UTC-4)."


async def test_the_date_is_the_one_there() -> None:
    evidence = await told("time in honolulu")
    assert "20:04 on Sunday, 17 May 2026 in Honolulu (HST, UTC-10)" in evidence.text


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        (datetime(2026, 3, 28, 12, tzinfo=UTC), "CET, UTC+1"),
        (datetime(2026, 3, 29, 0, 59, tzinfo=UTC), "CET, UTC+1"),
        (datetime(2026, 3, 29, 1, 0, tzinfo=UTC), "CEST, UTC+2"),
        (datetime(2026, 10, 25, 0, 59, tzinfo=UTC), "CEST, UTC+2"),
        (datetime(2026, 10, 25, 1, 0, tzinfo=UTC), "CET, UTC+1"),
    ],
)
async def test_summer_time_is_right_at_the_instant(now: datetime, expected: str) -> None:
    assert expected in (await told("time in berlin", now)).text


async def test_a_difference_with_both_times() -> None:
    evidence = await told("time difference between new york and kathmandu")
    assert evidence.text == (
        "New York is 9 hours 45 minutes behind Kathmandu: it is 02:04 in New York (EDT, UTC-4) and 11:49 in "
        "Kathmandu (UTC+5:45)."
    )
    same = await told("time difference between paris and berlin")
    assert same.text.startswith("Paris and Berlin have the same time: it is 08:04")


async def test_a_difference_to_here_has_its_own_key() -> None:
    text = "what's the time difference between Berlin and here"
    found = read_question(text, TODAY)
    assert found is not None
    assert found.question.key == "time:berlin:here:-"
    clock = ManualClock(NOW)
    adapter = WorldTime(clock)
    recognition = adapter.recognise(text, NOW)
    assert recognition is not None
    query = Query("id", text, text, Caller(), NOW, clock.monotonic() + 5.0, zone=ZoneInfo("America/New_York"))
    outcome = await adapter.ask(recognition, query)
    assert isinstance(outcome, Found)
    assert outcome.evidence.key == recognition.key
    assert outcome.evidence.text == (
        "Berlin is 6 hours ahead of your time zone: it is 08:04 in Berlin (CEST, UTC+2) and 02:04 in your "
        "time zone (EDT, UTC-4)."
    )


async def test_a_conversion_over_midnight() -> None:
    evidence = await told("when it's 9pm in London what time is it in Tokyo")
    assert evidence.text == (
        "When it is 21:00 in London (BST, UTC+1), it is 05:00 the next day in Tokyo (JST, UTC+9)."
    )


async def test_a_time_that_the_clocks_skip_is_called_so() -> None:
    evidence = await told("when it is 2:30 on 29 March 2026 in Berlin what time is it in London")
    assert "it is 02:30 in London (BST, UTC+1)." in evidence.text
    assert "skip that time on that day, so 03:30 is meant" in evidence.text


async def test_a_time_that_comes_twice_is_called_so() -> None:
    evidence = await told("when it is 2:30 on 25 October 2026 in Berlin what time is it in London")
    assert "02:30 on Sunday, 25 October 2026 in Berlin (CEST, UTC+2), it is 01:30 in London" in evidence.text
    assert "comes twice in Berlin" in evidence.text


async def test_an_ambiguous_abbreviation_names_its_choice_and_the_clocks_there() -> None:
    evidence = await told("9am CST in IST")
    assert evidence.text.startswith("When it is 09:00 CST (UTC-6), it is 20:30 IST (UTC+5:30).")
    assert "I took CST as US Central Standard Time" in evidence.text
    assert "I took IST as India Standard Time" in evidence.text
    assert "the clocks then show 10:00 CDT (UTC-5)" in evidence.text


async def test_a_country_of_several_zones_names_its_choice() -> None:
    assert (
        "The United States has several time zones; this is the time of Washington, D.C."
        in (await told("time in the us")).text
    )
    assert "several" not in (await told("time in japan")).text


async def test_namesakes_in_other_zones_are_named() -> None:
    assert (
        "I took the country Georgia; it is 02:04 in Georgia, United States."
        in (await told("what time is it in georgia")).text
    )
    assert "I took" not in (await told("time in paris")).text


async def test_an_unknown_place_is_asked_about() -> None:
    found = read_question("what time is it in hogwarts", TODAY)
    assert found is not None
    outcome = await outcome_of(found.question.slots)
    assert isinstance(outcome, Unclear)
    assert "Hogwarts" in outcome.ask


@pytest.mark.parametrize(
    "slots",
    [
        {},
        {"place": 7, "other": 7, "at": 7},
        {"place": "Tokyo", "other": None, "at": "25:00"},
        {"place": "Tokyo", "other": None, "at": "2026-13-01T10:00"},
        {"place": "x" * 500, "other": None, "at": None},
        {"place": None, "other": None, "at": "10:00"},
        {"place": None, "other": "Tokyo", "at": None},
    ],
)
async def test_slots_are_checked_again(slots: Slots) -> None:
    assert isinstance(await outcome_of(slots), Missed)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=200))
def test_any_text_is_read(text: str) -> None:
    assert read_question(text, TODAY) == read_question(text, TODAY)
