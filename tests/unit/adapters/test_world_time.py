"""Clock times: reading questions, offsets at the instant, gaps and folds, choices that are named."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.grammar.gazetteer import gazetteer, key_of
from adapters.local_time import WorldTime
from adapters.local_time import questions as time_questions
from adapters.local_time.questions import Question, read_question
from adapters.local_time.zones import ABBREVIATIONS
from node.core.model import (
    CERTAIN,
    CLAIM,
    Evidence,
    Found,
    Freshness,
    Missed,
    Outcome,
    Recognition,
    Slots,
    Unclear,
)
from tests.each import each
from tests.manual_clock import ManualClock
from tests.unit.adapters.asking import Asking
from tests.unit.adapters.tables import Row, rows, texts

NOW = datetime(2026, 5, 18, 6, 4, tzinfo=UTC)
TODAY = NOW.date()


async def outcome_of(slots: Slots, now: datetime = NOW, zone: tzinfo = UTC) -> Outcome:
    clock = ManualClock(now)
    asking = Asking(WorldTime(clock), clock)
    recognition = Recognition("world-time", slots, None, True, "")
    return await asking.adapter.ask(recognition, asking.query(zone=zone))


async def told(text: str, now: datetime = NOW, zone: tzinfo = UTC) -> Evidence:
    found = read_question(text, now.astimezone(zone).date())
    assert found is not None, text
    outcome = await outcome_of(found.question.slots, now, zone)
    assert isinstance(outcome, Found), outcome
    return outcome.evidence


async def asked_back(text: str) -> str:
    found = read_question(text, TODAY)
    assert found is not None
    outcome = await outcome_of(found.question.slots)
    assert isinstance(outcome, Unclear)
    return outcome.ask


def slots_of(text: str, least: float, *, below: float = 1.1) -> Row:
    found = read_question(text, TODAY)
    assert found is not None, text
    assert least <= found.strength < below
    return found.question.place, found.question.other, found.question.at


# --- questions ------------------------------------------------------------------------------------


@each("row", rows("time", "certain"))
def test_reads_the_places_and_the_time(row: Row) -> None:
    assert slots_of(str(row[0]), CERTAIN) == row[1:]


@pytest.mark.parametrize("row", rows("time", "claimed"), ids=lambda row: row[0])
def test_what_happens_then_may_be_told_where_a_time_is_converted(row: Row) -> None:
    assert slots_of(str(row[0]), CLAIM, below=CERTAIN) == row[1:]


@each("text", texts("time", "traps"))
def test_does_not_claim_other_questions_about_time(text: str) -> None:
    assert read_question(text, TODAY) is None


@each("hinted", [False, True])
@each("text", texts("time", "wordings and lists"))
def test_neither_the_wording_nor_a_list_of_zones_is_the_time(text: str, hinted: bool) -> None:
    assert read_question(text, TODAY, hinted=hinted) is None


@each("row", rows("time", "read"))
def test_a_town_goes_with_the_region_behind_it_and_a_date_is_told_by_the_time(row: Row) -> None:
    assert slots_of(str(row[0]), 0) == row[1:]


@pytest.mark.parametrize("row", rows("time", "follow ups"), ids=lambda row: row[1])
def test_follow_ups(row: Row) -> None:
    earlier, fragment, place, other, at = row
    words = time_questions.follow_up(str(fragment), str(earlier), TODAY)
    assert words is not None
    again = read_question(words, TODAY)
    assert again is not None
    assert again.question == Question(place, other, at)


@pytest.mark.parametrize("fragment", ["", "why?", "and tomorrow?", "tell me a joke", "and btc?", "x" * 3_000])
def test_other_fragments_are_left_alone(fragment: str) -> None:
    assert time_questions.follow_up(fragment, "time in tokyo", TODAY) is None


_NAMES = [
    *ABBREVIATIONS,
    *("UTC+5:30", "UTC-3", "Tokyo", "New York", "Paris, Texas", "Portland, Maine", "Cairo, Egypt"),
    *("United States", "Nice", "Washington, D.C.", "Los Angeles", "Hawaii", "Sao Paulo", "Georgia", "Turkey"),
    *("Reading", "St. Petersburg, Florida", "Aix-en-Provence", "The Hague", "Xi'an", "L'Aquila"),
]


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
        for row, name in enumerate(map(data.name, range(800)))
        if (said := time_questions.look_up(name)) is None or said.name != name
        if data.towns(key_of(name))[:1] == (row,)
    ]
    assert len(lost) <= 8, lost


# --- answers --------------------------------------------------------------------------------------


async def test_the_time_in_a_place() -> None:
    evidence = await told("what time is it in tokyo")
    assert evidence.text == "It is 15:04 on Monday, 18 May 2026 in Tokyo (JST, UTC+9)."
    assert evidence.freshness is Freshness.CLOCK
    assert evidence.key == "time:tokyo:-:-"
    assert evidence.data["time"] == "2026-05-18T15:04:00+09:00"


async def test_the_time_at_coordinates_is_that_of_the_town_there() -> None:
    evidence = await told("what time is it at 35.68, 139.69")
    assert "Tokyo, near 35.6800, 139.6900" in evidence.text
    assert "UTC+9" in evidence.text
    assert isinstance(await outcome_of({"place": "0.0000, -30.0000", "other": None, "at": None}), Unclear)


@pytest.mark.parametrize(("text", "said"), rows("time", "answers"))
async def test_the_wording_of_answers(text: str, said: str) -> None:
    assert (await told(text)).text == said


@each(("text", "part"), rows("time", "parts of answers"))
async def test_skipped_times_and_choices_are_named(text: str, part: str) -> None:
    assert part in (await told(text)).text


@pytest.mark.parametrize(("text", "absent"), [("time in japan", "several"), ("time in paris", "I took")])
async def test_no_choice_is_named_where_there_was_none(text: str, absent: str) -> None:
    assert absent not in (await told(text)).text


async def test_here_is_the_zone_of_the_asker() -> None:
    evidence = await told("what time is it", zone=ZoneInfo("America/New_York"))
    assert evidence.text == "It is 02:04 on Monday, 18 May 2026 (EDT, UTC-4)."


async def test_the_date_of_a_place_answers_whether_it_is_tomorrow_there() -> None:
    evidence = await told("is it tomorrow in sydney yet", datetime(2026, 5, 18, 15, 0, tzinfo=UTC))
    assert evidence.text == "It is 01:00 on Tuesday, 19 May 2026 in Sydney (AEST, UTC+10)."


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


async def test_a_difference_to_here_has_its_own_key() -> None:
    text = "what's the time difference between Berlin and here"
    clock = ManualClock(NOW)
    asking = Asking(WorldTime(clock), clock)
    assert asking.recognised(text).key == "time:berlin:here:-"
    evidence = await asking.found(text, zone=ZoneInfo("America/New_York"))
    assert evidence.key == "time:berlin:here:-"
    assert evidence.text == (
        "Berlin is 6 hours ahead of your time zone: it is 08:04 in Berlin (CEST, UTC+2) and 02:04 in your "
        "time zone (EDT, UTC-4)."
    )


@pytest.mark.parametrize(
    "name", ["Paris, Kentucky", "Smallville, Texas", "Smallville, Spain", "Nowhere, Russia", "Hogwarts"]
)
async def test_an_unknown_town_does_not_get_the_time_of_another(name: str) -> None:
    assert name in await asked_back(f"what time is it in {name}")


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
