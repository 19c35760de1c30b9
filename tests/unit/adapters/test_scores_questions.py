"""Which texts are questions about games, and their slots; follow-ups; traps."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.scores.days import eastern_day
from adapters.scores.follow import follow_up, phrase
from adapters.scores.questions import read_question
from adapters.scores.slots import METRICS, Asked, asked_of, days_of, key_of
from adapters.scores.teams import LEAGUES, NAMES, TEAMS, from_feed, team_of
from node.core.model import CERTAIN, CLAIM
from tests.each import each
from tests.unit.adapters.tables import Row, rows, texts

NOW = datetime(2026, 5, 18, 9, 0, tzinfo=UTC)
"""A Monday."""

QUESTIONS = rows("scores", "questions")
TRAPS = texts("scores", "traps")


def strength_of(text: str) -> float:
    found = read_question(text, NOW)
    return 0.0 if found is None else found.strength


def slots_of(text: str, least: float) -> Row:
    found = read_question(text, NOW)
    assert found is not None, text
    assert found.strength >= least, text
    asked = found.asked
    return asked.league, asked.team, asked.opponent, asked.date, asked.metric


@each("row", QUESTIONS)
def test_questions_and_their_slots(row: Row) -> None:
    assert slots_of(str(row[0]), CLAIM) == row[1:]


@each(("text", "lacking"), rows("scores", "not wholly read"))
def test_what_could_not_be_read_of_a_question_is_never_dropped(text: str, lacking: str | None) -> None:
    found = read_question(text, NOW)
    assert found is not None
    assert found.lacking == (lacking or "")
    assert not lacking or (found.strength < 0.9 and found.asked.date is None)


@pytest.mark.parametrize("text", ["did the bulls loose yesterday", "bulls loose yesterday?"])
def test_a_misspelt_lose_is_read(text: str) -> None:
    assert slots_of(text, CLAIM)[1::3] == ("CHI", "winner")
    assert read_question("where do the bulls keep their loose change", NOW) is None


def test_capitals_change_nothing() -> None:
    """But for codes that are words otherwise."""
    for text, *slots in QUESTIONS:
        if text is not None and text.isascii() and not any(w in text for w in ("LAL @ DEN", "WAS @", " LA ")):
            for typed in (text.upper(), text.title()):
                assert list(slots_of(typed, 0)) == slots, typed
    for text in TRAPS:
        assert strength_of(text.upper()) < CLAIM, text


@each("text", TRAPS)
def test_traps_are_not_claimed(text: str) -> None:
    assert strength_of(text) < CLAIM


@pytest.mark.parametrize(
    "text",
    [
        "the lakers won last night",
        "My dad took me to the Lakers game yesterday",
        "the celtics beat the heat yesterday",
        "i watched the warriors game and it was fun",
        "lakers are playing tonight",
    ],
)
def test_what_is_told_is_never_certain(text: str) -> None:
    assert strength_of(text) < CERTAIN


@pytest.mark.parametrize(
    "text", ["Lakers score", "nba scores today", "did the lakers win?", "lakers vs celtics", "LAL vs BOS"]
)
def test_whole_questions_are_certain(text: str) -> None:
    assert strength_of(text) >= CERTAIN


def test_why_it_happened_gets_the_result_as_context() -> None:
    assert 0 < strength_of("why did the lakers lose last night") < CLAIM


def test_a_hint_needs_a_name_and_keeps_the_traps() -> None:
    found = read_question("thoughts on how those lakers fared", NOW, hinted=True)
    assert found is not None
    assert (found.asked.team, found.strength >= CLAIM) == ("LAL", True)
    assert read_question("how do i improve my credit score", NOW, hinted=True) is None
    assert read_question("tell me something", NOW, hinted=True) is None


# --- follow-ups -----------------------------------------------------------------------------------


@each("row", rows("scores", "follow ups"))
def test_follow_ups_fill_one_slot(row: Row) -> None:
    earlier, fragment, *slots = row
    said = follow_up(str(fragment), str(earlier), NOW)
    assert said is not None
    assert list(slots_of(said, CERTAIN)) == slots


@pytest.mark.parametrize(
    ("earlier", "fragment"), [*rows("scores", "no follow ups"), ("nba scores today", "x" * 3_000)]
)
def test_what_is_no_follow_up(earlier: str, fragment: str) -> None:
    assert follow_up(fragment, earlier, NOW) is None


def test_a_question_that_lacks_its_day_goes_on_only_with_one() -> None:
    assert follow_up("and the celtics?", "lakers score on 05/06", NOW) is None
    assert follow_up("yesterday", "lakers score on 05/06", NOW) is not None


_TIMES = st.sampled_from(
    (None, "today", "tonight", "now", "tomorrow", "yesterday", "friday", "last friday", "next sunday",
     "weekend", "this week", "today-3d", "today+5d", "2026-11-21", "last week")
)  # fmt: skip


def _read_back(asked: Asked) -> None:
    said = phrase(asked, NOW)
    assert said is not None
    found = read_question(said, NOW)
    assert found is not None, said
    assert found.asked == asked, said
    assert found.strength >= CERTAIN, said


@given(st.sampled_from(sorted(TEAMS)), st.data())
def test_phrases_are_read_back_to_the_same_slots(one: tuple[str, str], data: st.DataObject) -> None:
    league, team = one
    rivals = sorted(code for of, code in TEAMS if of == league and code != team)
    opponent = data.draw(st.one_of(st.none(), st.sampled_from(rivals))) if rivals else None
    asked = Asked(league, team, opponent, data.draw(_TIMES), data.draw(st.sampled_from(METRICS)))
    _read_back(asked)
    assert asked_of(asked.slots()) == asked


@given(st.sampled_from(sorted(LEAGUES)), _TIMES, st.sampled_from(METRICS))
def test_phrases_of_whole_leagues_are_read_back(league: str, said: str | None, metric: str) -> None:
    _read_back(Asked(league, None, None, said, metric))


@given(st.lists(st.sampled_from(" ".join(str(row[0]) for row in QUESTIONS).split()[:400]), max_size=12))
def test_reading_is_total_and_pure(words: list[str]) -> None:
    text = " ".join(words)
    assert read_question(text, NOW) == read_question(text, NOW)
    assert follow_up(text, "nba scores today", NOW) == follow_up(text, "nba scores today", NOW)


# --- tables and days ------------------------------------------------------------------------------


def test_the_tables_are_whole() -> None:
    sizes = {league: sum(of == league for of, _ in TEAMS) for league in ("nba", "nfl", "mlb", "nhl")}
    assert sizes == {"nba": 30, "nfl": 32, "mlb": 30, "nhl": 32}
    for (league, code), team in TEAMS.items():
        assert team_of(league, code) == team
        assert team.code == code
        full = tuple(team.full.lower().replace("-", " ").replace("& ", "").replace("é", "e").split())
        assert team in NAMES[full].teams


@pytest.mark.parametrize(
    ("feed", "code"),
    [("GS", "GSW"), ("NY", "NYK"), ("SA", "SAS"), ("NO", "NOP"), ("UTAH", "UTA"), ("WSH", "WAS")],
)
def test_the_codes_of_the_feed_are_known(feed: str, code: str) -> None:
    team = from_feed("nba", feed)
    assert team is not None
    assert team.code == code
    assert from_feed("nba", code) == team


@pytest.mark.parametrize(
    ("moment", "day"),
    [
        ("2026-11-22T03:00+00:00", "2026-11-21"),
        ("2026-11-22T07:59+00:00", "2026-11-21"),
        ("2026-11-22T08:00+00:00", "2026-11-22"),
        ("2026-05-22T07:00+00:00", "2026-05-22"),  # summer time
        ("2026-11-22T12:00+09:00", "2026-11-21"),
    ],
)
def test_days_of_the_small_hours(moment: str, day: str) -> None:
    assert eastern_day(datetime.fromisoformat(moment)) == date.fromisoformat(day)


@pytest.mark.parametrize(
    ("asked", "key"),
    [
        (Asked("nba", "LAL", "BOS", "yesterday", "score"), "score:nba:LAL:BOS:2026-05-17:score"),
        (Asked("nba", "LAL", None, None, "schedule"), "score:nba:LAL::2026-05-18..:schedule"),
        (Asked("nba", "LAL", None, None, "score"), "score:nba:LAL::..2026-05-18:score"),
        (Asked("nba", None, None, "weekend", "score"), "score:nba:::2026-05-16..2026-05-17:score"),
        (Asked(None, None, None, "today", "score"), None),
    ],
)
def test_keys_hold_days_and_never_words(asked: Asked, key: str | None) -> None:
    assert key_of(asked, NOW) == key
    assert days_of(Asked("nba", None, None, "no such time", "score"), NOW) is None


@pytest.mark.parametrize(
    "slots",
    [
        {},
        {"league": 7, "metric": "score"},
        {"league": "no such", "metric": "score"},
        {"league": "nba", "team": "XXX", "metric": "score"},
        {"league": "nba", "team": "../x", "metric": "score"},
        {"league": None, "team": "LAL", "metric": "score"},
        {"league": "nba", "team": None, "opponent": "LAL", "metric": "score"},
        {"league": "nba", "team": "LAL", "opponent": "LAL", "metric": "score"},
        {"league": "nba", "metric": "price"},
    ],
    ids=str,
)
def test_foreign_slots_are_refused(slots: dict[str, object]) -> None:
    assert asked_of(slots) is None
