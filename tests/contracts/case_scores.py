"""Games for the adapter contract."""

from __future__ import annotations

from contextlib import AsyncExitStack
from datetime import UTC, date, datetime

from adapters.scores import Scores
from node.core.ports import Adapter
from node.core.settings import AdapterSettings
from tests.contracts.adapter_case import DEAD_URL, FIXTURES, NO_FIXTURES, NOW, Case, FixedDay, session
from tests.simulators.balldontlie import BalldontlieStandIn
from tests.simulators.espn import EspnStandIn, RecordedEspn, fill

_NONE = AdapterSettings(enabled=False)


async def _espn(stack: AsyncExitStack, alive: bool) -> Adapter:
    url = DEAD_URL
    if alive:
        stand_in = await stack.enter_async_context(EspnStandIn())
        fill(stand_in, NOW.date())
        url = stand_in.url
    settings = AdapterSettings(base_url=url, timeout_s=5, per_minute=1_000)
    return Scores(settings, _NONE, await session(stack), FixedDay())


async def _balldontlie(stack: AsyncExitStack, alive: bool) -> Adapter:
    url = DEAD_URL
    if alive:
        stand_in = await stack.enter_async_context(BalldontlieStandIn())
        stand_in.game(
            date(2026, 5, 17), "BOS", "LAL", status="Final", scores=(105, 112), period=4, time="Final"
        )
        stand_in.game(date(2026, 5, 18), "CHI", "DET", status="4th Qtr", scores=(84, 88), time="Q4 3:21")
        stand_in.game(date(2026, 5, 19), "LAL", "PHX", status="10:30 pm ET", start="2026-05-20T02:30:00.000Z")
        url = stand_in.url
    settings = AdapterSettings(base_url=url, api_key=BalldontlieStandIn.KEY, timeout_s=5, per_minute=1_000)
    return Scores(_NONE, settings, await session(stack), FixedDay())


async def _recorded(stack: AsyncExitStack, alive: bool) -> Adapter:
    url = DEAD_URL
    if alive:
        days = (
            (date(2022, 10, 2), "nba_scoreboard_live.json"),
            (date(2022, 12, 20), "nba_scoreboard_scheduled.json"),
        )
        url = (await stack.enter_async_context(RecordedEspn(FIXTURES / "espn", days))).url
    settings = AdapterSettings(base_url=url, timeout_s=5, per_minute=1_000)
    return Scores(settings, _NONE, await session(stack), _DayOfTheRecording())


class _DayOfTheRecording(FixedDay):
    """The evening on which the running game was recorded."""

    def now(self) -> datetime:
        return datetime(2022, 10, 2, 23, 30, tzinfo=UTC)


CASES: dict[str, Case] = {
    "nba-scores": Case(
        _espn,
        (
            "did the lakers beat the celtics last night",
            "NBA scores today",
            "When do the Lakers play next?",
            "Lakers score",
            "Arsenal result yesterday",
        ),
        (
            ("did the Lakers win last night?", "who won the lakers game yesterday"),
            ("NBA scores today", "what are the nba scores today"),
        ),
        (
            ("did the lakers win last night", "and the Celtics?", "did the celtics win last night"),
            ("NBA scores today", "and yesterday?", "nba scores yesterday"),
            ("Lakers score yesterday", "against the Celtics?", "lakers vs celtics score yesterday"),
            ("did the lakers win last night", "when do they play next?", "when do the lakers play next"),
        ),
    ),
    "nba-scores (balldontlie)": Case(
        _balldontlie,
        ("did the lakers beat the celtics last night", "NBA scores today", "When do the Lakers play next?"),
        (),
    ),
    "nba-scores (recorded)": Case(
        _recorded,
        ("nba scores on october 2 2022", "jazz vs raptors score on october 2 2022"),
        (),
        skip=NO_FIXTURES,
    ),
}
