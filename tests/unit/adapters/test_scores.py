"""The adapter of games over its stand-ins: wording, days, bounds, and every lie of the source."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import aiohttp
import pytest

from adapters.scores import Scores
from adapters.scores.espn import base_of, read_board
from adapters.scores.provider import State
from adapters.scores.teams import TEAMS
from node.core.errors import Rejected
from node.core.model import Failed, Found, Freshness, Missed, Unclear
from node.core.settings import AdapterSettings
from tests.manual_clock import ManualClock
from tests.simulators.balldontlie import BalldontlieStandIn
from tests.simulators.espn import EspnStandIn, fill
from tests.unit.adapters.asking import FAULTS, Asking, while_moving
from tests.unit.adapters.tables import rows

NOW = datetime(2026, 5, 18, 9, 0, tzinfo=UTC)
TODAY, YESTERDAY = date(2026, 5, 18), date(2026, 5, 17)
LOST = "did the lakers win last night"


class Kit(Asking[Scores, ManualClock]):
    """An adapter over both stand-ins, on a clock that the test moves."""

    def __init__(self, espn: EspnStandIn, ball: BalldontlieStandIn, http: aiohttp.ClientSession) -> None:
        self.espn, self.ball, self.http = espn, ball, http
        self.clock = ManualClock(NOW)
        super().__init__(self.build(), self.clock, seconds=20.0)

    def build(self, *, key: str = "", per_minute: int = 1_000, espn: bool = True) -> Scores:
        self.adapter = Scores(
            AdapterSettings(base_url=self.espn.url, timeout_s=30, per_minute=per_minute, enabled=espn),
            AdapterSettings(base_url=self.ball.url, timeout_s=30, api_key=key),
            self.http,
            self.clock,
        )
        return self.adapter

    def beaten(self, **bend: Any) -> dict[str, Any]:
        """Yesterday's game, which the Lakers won at home against the Celtics."""
        return self.espn.game("nba", YESTERDAY, "BOS", "LAL", scores=(105, 112), **bend)

    def running(self, scores: tuple[int, int] = (88, 84), **bend: Any) -> None:
        self.espn.game("nba", TODAY, "DET", "CHI", state="in", scores=scores, at="03:00", **bend)


@pytest.fixture
async def kit(http: aiohttp.ClientSession) -> AsyncIterator[Kit]:
    async with EspnStandIn() as espn, BalldontlieStandIn() as ball:
        yield Kit(espn, ball, http)


# --- wording and freshness ------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "said"), rows("scores", "answers"))
async def test_each_state_has_its_own_sentence(kit: Kit, text: str, said: str) -> None:
    fill(kit.espn, TODAY)
    evidence = await kit.found(text)
    assert evidence.text == said
    over = "(final" in said
    assert evidence.freshness is (Freshness.FINAL_SCORE if over else Freshness.LIVE_SCORE)
    assert evidence.confidence == 0.95


async def test_the_day_lists_each_game_with_its_state(kit: Kit) -> None:
    fill(kit.espn, TODAY)
    evidence = await kit.found("NBA scores today")
    assert evidence.key == "score:nba:::2026-05-18:score"
    assert [game["state"] for game in evidence.data["games"]] == ["final", "live", "scheduled"]
    for piece in ("99–97 (final)", "88–84 with 3:21 left", "play the San Antonio Spurs at 20:00 ET"):
        assert piece in evidence.text
    assert evidence.freshness is Freshness.LIVE_SCORE


async def test_a_list_is_bounded(kit: Kit) -> None:
    codes = [code for league, code in TEAMS if league == "nba"]
    for number in range(18):
        kit.espn.game("nba", TODAY, codes[number], codes[number + 3], state="pre", at=f"{number + 5:02d}:00")
    evidence = await kit.found("NBA scores today")
    assert "; and 3 more, according" in evidence.text
    assert evidence.text.count(" play ") == 15


async def test_both_code_systems_meet(kit: Kit) -> None:
    day = YESTERDAY
    for number, (one, two) in enumerate((("GSW", "NYK"), ("SAS", "NOP"), ("UTA", "WAS"))):
        kit.espn.game("nba", day, one, two, scores=(100 + number, 90))
    evidence = await kit.found("nba scores yesterday")
    codes = {game[side]["team"] for game in evidence.data["games"] for side in ("home", "away")}
    assert codes == {"GSW", "NYK", "SAS", "NOP", "UTA", "WAS"}
    assert (await kit.found("wizards game last night")).figures == {"UTA": "102", "WAS": "90"}


@pytest.mark.parametrize(
    ("bend", "said"),
    [
        ({"period": 6}, "The Lakers beat the Celtics 112–105 on 2026-05-17 (final, 2 overtimes)"),
        (
            {"name": "STATUS_POSTPONED"},
            "The game between the Lakers and the Celtics on 2026-05-17 is postponed",
        ),
        (
            {"name": "STATUS_CANCELED"},
            "The game between the Lakers and the Celtics on 2026-05-17 is canceled",
        ),
    ],
)
async def test_endings_and_what_did_not_take_place(kit: Kit, bend: dict[str, Any], said: str) -> None:
    kit.beaten(**bend)
    at = "" if "final" in said else " at 09:00 UTC"
    assert await kit.said(LOST) == f"{said}, according to ESPN{at}."


@pytest.mark.parametrize(
    ("options", "where"),
    [
        ({"period": 2, "name": "STATUS_HALFTIME"}, "88–84 at half-time"),
        ({"period": 1, "clock": "0.0", "name": "STATUS_END_PERIOD"}, "88–84 at the end of the 1st quarter"),
        ({"period": 5, "clock": "1:02"}, "88–84 with 1:02 left in overtime"),
        ({"period": 6, "clock": "4.2"}, "88–84 with 4.2 s left in the 2nd overtime"),
        ({"period": 3, "clock": "nonsense {x}"}, "88–84 in the 3rd quarter"),
        ({"period": 0}, "88–84, according"),
    ],
)
async def test_running_games_say_how_far(kit: Kit, options: dict[str, Any], where: str) -> None:
    kit.running(**options)
    assert f"The Pistons lead the Bulls {where}" in await kit.said("bulls score now")


async def test_the_margin_is_said_where_it_is_asked_for(kit: Kit) -> None:
    fill(kit.espn, TODAY)
    text = await kit.said("by how many points did the knicks win")
    assert text.startswith("The Knicks beat the Heat by 2 points, 99–97, on 2026-05-18 (final)")
    text = await kit.said("by how much are the bulls losing")
    assert text.startswith("The Pistons lead the Bulls by 4 points, 88–84, with 3:21 left")
    assert "goals" not in await kit.said("by how much did arsenal win")  # they drew


UNKNOWN = "The score at half-time is not known here; the Lakers beat the Celtics 112–105"


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (((30, 31), (20, 21)), "At half-time the Celtics led the Lakers 61–41; the Lakers beat the Celtics"),
        (
            ((30, 11), (20, 21)),
            "At half-time the Lakers and the Celtics were level at 41–41; the Lakers beat",
        ),
        (((300,), (20, 21)), UNKNOWN),
        (((90, 90), (20, 21)), UNKNOWN),
        ((("x", {}), (20, 21)), UNKNOWN),
    ],
)
async def test_half_time_of_a_game_that_is_over(kit: Kit, lines: Any, said: str) -> None:
    event = kit.beaten()
    for side, values in zip(event["competitions"][0]["competitors"], lines, strict=True):
        side["linescores"] = [{"value": value} for value in values]
    assert (await kit.said("lakers halftime score yesterday")).startswith(said)


async def test_half_time_now_is_the_score_now(kit: Kit) -> None:
    kit.running((60, 55), period=2, name="STATUS_HALFTIME")
    text = await kit.said("bulls halftime score")
    assert text.startswith("The Pistons lead the Bulls 60–55 at half-time, according to ESPN")


async def test_the_next_game_is_told_beside_the_one_that_is_on(kit: Kit) -> None:
    fill(kit.espn, TODAY)
    kit.espn.game("nba", TODAY + timedelta(days=3), "CHI", "NYK", state="pre", at="20:00")
    text = await kit.said("whos the bulls next opponent")
    assert text.startswith(
        "The Pistons lead the Bulls 88–84 with 3:21 left in the 4th quarter; the Bulls play"
    )
    assert "play the Knicks on 2026-05-21 at 20:00 ET" in text
    # Without one ahead, the game that is on is told alone.
    kit.espn.events.clear()
    kit.espn.game("nba", TODAY, "CHI", "DET", state="in", scores=(84, 88), at="03:00", clock="3:21")
    assert "4th quarter, according" in await kit.said("next bulls game", no_cache=True)


async def test_penalties_decide_a_level_cup_game(kit: Kit) -> None:
    event = _cup(kit)
    event["competitions"][0]["competitors"][0] |= {"winner": True, "shootoutScore": 4}
    event["competitions"][0]["competitors"][1] |= {"winner": False, "shootoutScore": 2}
    text = await kit.said("champions league results yesterday")
    assert "Real Madrid beat Manchester City 4–2 on penalties after 3–3 (final)" in text
    text = await kit.said("man city vs real madrid score yesterday")
    assert text.startswith("Real Madrid beat Manchester City 4–2 on penalties")


def _cup(kit: Kit) -> dict[str, Any]:
    """A game of clubs of two leagues, as the cup's own board has it."""
    event = kit.espn.game(
        "laliga", YESTERDAY, "RMA", "BAR", scores=(3, 3), at="15:00", period=5, name="STATUS_FINAL_PEN"
    )
    kit.espn.events[("soccer/uefa.champions", f"{YESTERDAY:%Y%m%d}")] = [event]
    event["competitions"][0]["competitors"][1]["team"] = {
        "abbreviation": "MNC",
        "displayName": "Manchester City",
        "shortDisplayName": "Man City",
    }
    return event


# --- what it does not know ------------------------------------------------------------------------


async def test_what_no_source_gives_is_missed_with_a_reason(kit: Kit) -> None:
    assert await kit.outcome("nba standings") == Missed("no source here gives standings of the NBA")
    assert await kit.outcome("f1 results today") == Missed("no source here gives scores of Formula 1")
    assert isinstance(await kit.outcome("nba schedule next month"), Missed)
    assert isinstance(await kit.outcome("lakers last 5 games"), Missed), "not told as one"
    assert kit.espn.count() == 0


async def test_without_a_league_it_asks_back(kit: Kit) -> None:
    outcome = await kit.outcome("who won the game last night")
    assert isinstance(outcome, Unclear)
    assert outcome.ask.startswith("Which league or team do you mean?")
    assert kit.espn.count() == 0


async def test_a_result_for_another_question_is_context(kit: Kit) -> None:
    fill(kit.espn, TODAY)
    assert (await kit.found("why did the lakers lose last night")).partial


# --- days -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("moment", "zone", "text", "day"),
    [
        # 03:00 UTC is 22:00 of the day before in New York: the evening is being played.
        ("2026-11-22T03:00", UTC, "nba scores tonight", "20261121"),
        ("2026-11-22T03:00", UTC, "nba scores today", "20261121"),
        ("2026-11-22T03:00", UTC, "nba scores last night", "20261121"),
        ("2026-11-22T03:00", UTC, "nba scores tomorrow", "20261123"),
        ("2026-11-22T09:30", UTC, "nba scores today", "20261122"),
        ("2026-11-22T09:30", UTC, "nba scores last night", "20261121"),
        # Half past midnight in New York: the late games still run.
        ("2026-11-22T05:30", ZoneInfo("America/New_York"), "nba scores tonight", "20261121"),
        ("2026-11-22T05:30", ZoneInfo("America/New_York"), "nba scores last night", "20261121"),
        # Sunday 23:00 in Honolulu is 04:00 on Monday in New York; west of it, one's own day goes on.
        ("2026-11-23T09:00", ZoneInfo("Pacific/Honolulu"), "nba scores today", "20261122"),
        ("2026-11-23T10:30", ZoneInfo("Pacific/Honolulu"), "nba scores today", "20261123"),
        ("2026-11-23T09:00", ZoneInfo("America/New_York"), "nba scores today", "20261123"),
        # Noon in Tokyo is the evening before in New York.
        ("2026-11-22T03:00", timezone(timedelta(hours=9)), "nba scores today", "20261121"),
        ("2026-11-21T20:00", UTC, "nba scores friday", "20261120"),
        ("2026-11-21T20:00", UTC, "nba schedule friday", "20261127"),
    ],
)
async def test_times_become_the_eastern_game_day(
    kit: Kit, moment: str, zone: Any, text: str, day: str
) -> None:
    kit.clock.set_wall(datetime.fromisoformat(moment).replace(tzinfo=UTC))
    await kit.outcome(text, zone=zone)
    assert [seen.query["dates"] for seen in kit.espn.requests] == [day]


async def test_looking_for_a_game_is_bounded_and_shared(kit: Kit) -> None:
    asked = [kit.outcome("when do the nets play next?") for _ in range(50)]
    texts = {outcome.evidence.text for outcome in await asyncio.gather(*asked) if isinstance(outcome, Found)}
    assert texts == {
        "The Nets have no game in the 8 days from 2026-05-18 (US Eastern), according to ESPN at 09:00 UTC."
    }
    assert kit.espn.count() == 8
    assert len({seen.query["dates"] for seen in kit.espn.requests}) == 8
    await kit.outcome("when do the hawks play next?")
    assert kit.espn.count() == 8, "days are remembered"


async def test_the_last_game_is_looked_for_backwards_and_the_next_named(kit: Kit) -> None:
    kit.espn.game("nba", TODAY - timedelta(days=3), "LAL", "DEN", scores=(120, 101))
    kit.espn.game("nba", TODAY, "LAL", "PHX", state="pre")
    evidence = await kit.found("lakers score")
    assert evidence.text.startswith(
        "The Lakers beat the Nuggets 120–101 on 2026-05-15 (final); the Lakers play the Suns on 2026-05-18"
    )
    assert evidence.freshness is Freshness.LIVE_SCORE, "tonight it is another game"
    assert evidence.key == "score:nba:LAL::..2026-05-18:score"


# --- games of another day -------------------------------------------------------------------------

LATEST = date(2022, 12, 20)


def _latest(kit: Kit) -> None:
    """The feed answers with its latest game day, whatever day is asked for."""
    kit.espn.latest = LATEST
    kit.espn.game("nba", LATEST, "BOS", "LAL", scores=(105, 112))
    kit.espn.game("nba", LATEST, "NYK", "MIA", state="pre")


@pytest.mark.parametrize(("text", "said"), rows("scores", "other days"))
async def test_games_of_another_day_are_told_with_their_own_date(kit: Kit, text: str, said: str) -> None:
    _latest(kit)
    evidence = await kit.found(text)
    assert evidence.text == said
    assert evidence.confidence <= 0.6
    assert evidence.freshness is Freshness.TIME_SENSITIVE
    assert evidence.data["other_day"] is True
    assert evidence.figures == {}
    assert kit.espn.count() <= 2, "a feed that ignores the day is not asked for each"


async def test_a_game_years_ahead_is_no_answer(kit: Kit) -> None:
    kit.espn.latest = date(2036, 5, 18)
    kit.espn.game("nba", kit.espn.latest, "BOS", "LAL", state="pre")
    assert await kit.code("lakers schedule today") == "bad_answer"


@pytest.mark.parametrize(
    ("text", "ask"),
    [
        ("lakers score on 05/06", "Which day do you mean?"),
        ("did the lakers win on may 32", "Which day do you mean?"),
        ("did the lakers beat the celtics and the warriors beat the jazz", "Which game do you mean?"),
    ],
)
async def test_what_was_not_read_is_asked_back(kit: Kit, text: str, ask: str) -> None:
    fill(kit.espn, TODAY)
    recognition = kit.adapter.recognise(text, NOW)
    assert recognition is not None
    assert (recognition.key, recognition.slots["date"]) == (None, None)
    outcome = await kit.outcome(text)
    assert isinstance(outcome, Unclear)
    assert outcome.ask.startswith(ask)
    assert kit.espn.count() == 0


async def test_a_day_with_games_is_never_another_day(kit: Kit) -> None:
    _latest(kit)
    kit.espn.game("nba", YESTERDAY, "PHX", "DAL", scores=(99, 90))
    evidence = await kit.found("nba scores yesterday")
    assert evidence.data["other_day"] is False
    assert "2022" not in evidence.text
    evidence = await kit.found("suns score")
    assert evidence.text.startswith("The Suns beat the Mavericks 99–90 on 2026-05-17 (final), according")


async def test_a_contradictory_game_of_another_day_is_refused_too(kit: Kit) -> None:
    kit.espn.latest = LATEST
    event = kit.espn.game("nba", LATEST, "BOS", "LAL", scores=(105, 112))
    for side in _sides(event):
        side["winner"] = not side["winner"]
    assert await kit.code(LOST) == "bad_answer"
    kit.espn.game("nba", LATEST, "NYK", "MIA", scores=(99, 90))
    kit.clock.advance(3_600)
    evidence = await kit.found("nba scores yesterday")
    assert "the Knicks beat the Heat 99–90 on 2022-12-20" in evidence.text
    assert "112" not in evidence.text


async def test_the_other_source_is_asked_for_the_day_itself(kit: Kit) -> None:
    _latest(kit)
    kit.build(key=kit.ball.KEY)
    kit.ball.game(YESTERDAY, "BOS", "LAL", status="Final", scores=(90, 80), period=4, time="Final")
    evidence = await kit.found(LOST)
    assert evidence.text == (
        "The Celtics beat the Lakers 90–80 on 2026-05-17 (final), according to balldontlie."
    )
    assert evidence.data["other_day"] is False


# --- lies of the source ---------------------------------------------------------------------------


def _bent(change: Callable[[dict[str, Any]], None]) -> Callable[[Any], Any]:
    def apply(body: Any) -> Any:
        for event in body["events"]:
            change(event)
        return body

    return apply


def _sides(event: dict[str, Any]) -> list[dict[str, Any]]:
    sides: list[dict[str, Any]] = event["competitions"][0]["competitors"]
    return sides


def _score(value: Any) -> Callable[[dict[str, Any]], None]:
    return lambda event: _sides(event)[1].update(score=value)


LIES: dict[str, Callable[[dict[str, Any]], None]] = {
    "score in letters": _score("abc"),
    "negative score": _score("-3"),
    "negative number": _score(-3),
    "NaN": _score(float("nan")),
    "absurd score": _score("4711"),
    "null score": _score(None),
    "score in an object": _score({"value": 112}),
    "true for a score": _score(True),
    "no score": lambda event: _sides(event)[1].pop("score"),
    "no competitors": lambda event: event["competitions"][0].pop("competitors"),
    "one competitor": lambda event: _sides(event).remove(_sides(event)[-1]),
    "three competitors": lambda event: _sides(event).append(_sides(event)[0]),
    "competitors null": lambda event: event["competitions"][0].update(competitors=None),
    "same team twice": lambda event: _sides(event)[1].update(team=_sides(event)[0]["team"]),
    "two homes": lambda event: _sides(event)[1].update(homeAway="home"),
    "no team": lambda event: _sides(event)[1].pop("team"),
    "no competitions": lambda event: event.update(competitions=[]),
    "other winner": lambda event: [side.update(winner=not side["winner"]) for side in _sides(event)].clear(),
    "two winners": lambda event: [side.update(winner=True) for side in _sides(event)].clear(),
    "tie": lambda event: [side.update(score="101", winner=False) for side in _sides(event)].clear(),
    "over and running": lambda event: event["status"]["type"].update(state="in"),
    "not completed": lambda event: event["status"]["type"].update(completed=False),
    "name and state differ": lambda event: event["status"]["type"].update(name="STATUS_IN_PROGRESS"),
    "unknown state": lambda event: event["status"].update(type={}),
    "no status": lambda event: [event.pop("status"), event["competitions"][0].pop("status")].clear(),
    "event null": lambda event: event.clear(),
}


@pytest.mark.parametrize("lie", sorted(LIES))
async def test_a_lie_about_the_game_never_becomes_an_answer(kit: Kit, lie: str) -> None:
    kit.beaten()
    kit.espn.misbehave("change", times=None, change=_bent(LIES[lie]))
    failure = await kit.failed(LOST)
    assert failure.code == "bad_answer"
    assert "ESPN" in failure.reason


async def test_a_result_before_the_game_began_is_a_lie(kit: Kit) -> None:
    kit.beaten()
    kit.clock.set_wall(datetime(2026, 5, 18, 1, 0, tzinfo=UTC))
    kit.espn.misbehave("change", change=_bent(lambda event: event.update(date="2026-05-18T03:30Z")))
    assert await kit.code("lakers score may 17 2026") == "bad_answer"


async def test_one_broken_game_does_not_spoil_the_others(kit: Kit) -> None:
    kit.beaten()
    kit.espn.game("nba", YESTERDAY, "NYK", "MIA", scores=(99, 97))
    kit.espn.misbehave(
        "change", change=lambda body: (_sides(body["events"][0])[0].update(score="abc"), body)[1]
    )
    evidence = await kit.found("nba scores yesterday")
    assert "the Knicks beat the Heat 99–97 (final); 1 further game could not be read" in evidence.text
    assert "112" not in evidence.text
    assert evidence.freshness is Freshness.LIVE_SCORE


async def test_a_team_is_not_called_idle_when_entries_are_unreadable(kit: Kit) -> None:
    kit.beaten()
    kit.espn.game("nba", YESTERDAY, "NYK", "MIA", scores=(99, 97))
    kit.espn.misbehave("change", change=lambda body: (body["events"][0].clear(), body)[1])
    assert await kit.code(LOST) == "bad_answer"


@pytest.mark.parametrize(
    ("kind", "options", "code"),
    [
        *FAULTS,
        ("body", {"text": "{}"}, "bad_answer"),
        ("body", {"text": '{"events": null}'}, "bad_answer"),
        ("body", {"text": '{"events": {"a": 1}}'}, "bad_answer"),
        ("body", {"text": "[]"}, "bad_answer"),
        ("body", {"text": '{"events": [], "day": {"date": "2024-01-01"}}'}, "bad_answer"),
        ("status", {"status": 400, "text": '{"code":400,"message":"Failed to get events."}'}, "bad_answer"),
    ],
)
async def test_a_misbehaving_source_is_a_clear_failure(
    kit: Kit, kind: str, options: dict[str, Any], code: str
) -> None:
    kit.beaten()
    kit.espn.misbehave(kind, times=None, **options)
    assert await while_moving(kit.clock, 0.01, kit.code(LOST)) == code


async def test_a_hanging_source_ends_at_the_deadline(kit: Kit) -> None:
    kit.espn.misbehave("hang", times=None)
    asked = asyncio.create_task(kit.code(LOST, seconds=2.0))
    await kit.espn.wait_for(1)
    kit.clock.advance(2.0)
    assert await asked == "timeout"


def _posted(home: dict[str, Any], away: dict[str, Any]) -> dict[str, Any]:
    """A game that is over, as the feed has it, without anything that is not needed."""
    sides = [{"homeAway": "home", **home}, {"homeAway": "away", **away}]
    return {"id": "7", "competitions": [{"competitors": sides, "status": {"type": {"state": "post"}}}]}


def test_missing_nested_objects_are_not_guessed() -> None:
    event = _posted(
        {"team": {"abbreviation": "GS"}, "score": "90"}, {"team": {"displayName": "Utah Jazz"}, "score": "80"}
    )
    (game,) = read_board({"events": [event]}, "nba", YESTERDAY, NOW).games
    assert (game.state, game.start, game.home.code, game.away.score) == (State.FINAL, None, "GSW", 80)


def test_a_code_beside_another_name_is_not_believed() -> None:
    event = _posted(
        {"team": {"abbreviation": "LAL", "displayName": "Somebody Else"}, "score": "90"},
        {"team": {"abbreviation": "BOS", "displayName": "Boston Celtics"}, "score": "80"},
    )
    (game,) = read_board({"events": [event]}, "nba", YESTERDAY, NOW).games
    assert game.home.team is None


def test_the_same_game_told_twice_and_differently_has_no_figures() -> None:
    boston = {"team": {"abbreviation": "BOS"}, "score": "80"}
    twice = [_posted({"team": {"abbreviation": "LAL"}, "score": score}, boston) for score in ("90", "91")]
    (game,) = read_board({"events": twice}, "nba", YESTERDAY, NOW).games
    assert game.trouble
    assert game.home.score is None


def test_a_board_of_which_nothing_can_be_read_is_refused() -> None:
    with pytest.raises(Rejected):
        read_board({"events": [{}]}, "nba", YESTERDAY, NOW)


# --- staleness, limits, budgets -------------------------------------------------------------------


async def test_a_stale_score_says_so(kit: Kit) -> None:
    fill(kit.espn, TODAY)
    await kit.found("bulls score now")
    kit.clock.advance(300)
    kit.espn.misbehave("throttle", times=None, retry_after=600)
    evidence = await kit.found("bulls score now")
    assert evidence.text.endswith("according to ESPN at 09:00 UTC. ESPN could not be asked just now; this was"
                                  " fetched 5 min ago.")  # fmt: skip
    assert evidence.data["stale"] is True
    assert evidence.confidence < 0.8
    assert evidence.freshness is Freshness.LIVE_SCORE
    kit.clock.advance(7_200)
    assert isinstance(await kit.outcome("bulls score now"), Failed)


async def test_live_boards_are_fetched_again_and_no_cache_is_kept(kit: Kit) -> None:
    fill(kit.espn, TODAY)
    for _ in range(3):
        await kit.found("bulls score now")
    assert kit.espn.count() == 1
    kit.clock.advance(16)
    await kit.found("bulls score now")
    assert kit.espn.count() == 2
    await kit.found("bulls score now", no_cache=True)
    assert kit.espn.count() == 3


async def test_five_hundred_different_questions_lose_none_and_keep_the_limit(kit: Kit) -> None:
    kit.build(per_minute=30)
    days = [TODAY - timedelta(days=number) for number in range(500)]
    outcomes = await asyncio.gather(*(kit.outcome(f"lakers score on {day}", seconds=5.0) for day in days))
    assert len(outcomes) == 500
    refused = [outcome for outcome in outcomes if not isinstance(outcome, Found)]
    assert 0 < kit.espn.count() <= 30
    assert all(
        isinstance(one, Failed) and one.code == "rate_limited" and one.retry_after_s for one in refused
    )
    (budget,) = kit.adapter.budgets()
    assert (budget.source, budget.limit, budget.remaining) == ("ESPN", 30, 0)
    assert kit.adapter.health().status == "warn"


async def test_the_default_budgets_are_careful(kit: Kit) -> None:
    scores = Scores(AdapterSettings(), AdapterSettings(api_key="x"), kit.http, kit.clock)
    assert [(one.source, one.limit, one.window_s) for one in scores.budgets()] == [
        ("ESPN", 30, 60.0),
        ("balldontlie", 5, 60.0),
    ]
    assert scores.health().status == "pass"


# --- balldontlie ----------------------------------------------------------------------------------


async def test_balldontlie_steps_in_when_espn_fails(kit: Kit) -> None:
    kit.build(key=kit.ball.KEY)
    lost = kit.ball.game(YESTERDAY, "BOS", "LAL", status="Final", scores=(105, 112), period=5, time="Final")
    lost.update(date=f"{YESTERDAY}T00:00:00.000Z")  # as older versions wrote it
    kit.espn.misbehave("status", times=None, status=403)
    evidence = await kit.found(LOST)
    assert evidence.text == (
        "The Lakers beat the Celtics 112–105 on 2026-05-17 (final, overtime), according to balldontlie."
    )
    assert evidence.citations[0].source == "balldontlie"
    assert isinstance(await kit.outcome("chiefs score yesterday"), Failed), "the NBA only"


async def test_balldontlie_reads_every_status(kit: Kit) -> None:
    kit.build(key=kit.ball.KEY, espn=False)
    kit.ball.page_size = 2
    kit.ball.game(TODAY, "CHI", "DET", status="4th Qtr", scores=(84, 88), period=4, time="Q4 3:21")
    kit.ball.game(TODAY, "NYK", "MIA", status="Halftime", scores=(50, 50), period=2)
    kit.ball.game(TODAY, "SAS", "NOP", status="7:30 pm ET", start="2026-05-18T23:30:00.000Z")
    kit.ball.game(TODAY, "PHX", "DAL", status="2026-05-19T02:00:00Z")
    kit.ball.game(TODAY, "UTA", "POR", status="Postponed")
    evidence = await kit.found("NBA scores today")
    for piece in (
        "the Pistons lead the Bulls 88–84 with 3:21 left in the 4th quarter",
        "the Heat and the Knicks are level at 50–50 at half-time",
        "the Pelicans play the San Antonio Spurs at 19:30 ET (23:30 UTC)",
        "the Mavericks play the Suns at 22:00 ET (2026-05-19 02:00 UTC)",
        "the game between the Trail Blazers and the Jazz is postponed",
    ):
        assert piece in evidence.text
    assert kit.ball.count("/v1/games") == 3


@pytest.mark.parametrize(
    "bend",
    [
        {"home_team_score": "abc"},
        {"home_team_score": -1},
        {"home_team_score": None},
        {"home_team_score": 112},
        {"status": "who knows"},
        {"status": None},
        {"date": "2024-01-01"},
        {"date": "not a day"},
        {"visitor_team": None},
        {"visitor_team": {"abbreviation": "BOS", "full_name": "Boston Celtics"}},
    ],
    ids=str,
)
async def test_lies_of_balldontlie(kit: Kit, bend: dict[str, Any]) -> None:
    kit.build(key=kit.ball.KEY, espn=False)
    kit.ball.game(YESTERDAY, "BOS", "LAL", status="Final", scores=(105, 112)).update(bend)
    assert await kit.code(LOST) == "bad_answer"


async def test_endless_pages_and_wrong_keys_of_balldontlie_end(kit: Kit) -> None:
    kit.build(key=kit.ball.KEY, espn=False)
    kit.ball.page_size = 1
    for home, away in (("BOS", "LAL"), ("CHI", "DET"), ("NYK", "MIA"), ("SAS", "NOP"), ("PHX", "DAL")):
        kit.ball.game(YESTERDAY, home, away, status="Final", scores=(105, 112))
    await kit.failed("nba scores yesterday")
    assert kit.ball.count() == 3
    kit.build(key="wrong", espn=False)
    assert await kit.code("nba scores yesterday") == "refused"


@pytest.mark.parametrize(
    "url",
    [
        "http://h:1",
        "http://h:1/",
        "http://h:1/apis/site/v2",
        "http://h:1/apis/site/v2/sports/",
        "http://h:1/apis/site/v2/sports/basketball/nba",
    ],
)
def test_the_address_may_hold_any_part_of_the_path(url: str) -> None:
    assert base_of(url, "/apis/site/v2/sports") == "http://h:1/apis/site/v2/sports"
    assert base_of("http://h:1/p", "/v1") == "http://h:1/p/v1"
