"""Two proposals of a space compared: what is read as such, and what is said of both."""

from __future__ import annotations

from collections.abc import AsyncIterator

import aiohttp
import pytest

from adapters.snapshot.adapter import Snapshot
from adapters.snapshot.pairs import read_pair
from adapters.snapshot.slots import question_of
from node.core.model import CERTAIN, CLAIM, Caller, Found, Freshness, Missed, Outcome, Query
from node.core.settings import AdapterSettings
from tests.manual_clock import ManualClock
from tests.simulators.snapshot import NOW, SnapshotStandIn

UNI, ENS = "uniswapgovernance.eth", "ens.eth"


@pytest.mark.parametrize(
    ("text", "space", "one", "two", "metric"),
    [
        ("which got more votes, proposal 12 or 14 in uniswap", UNI, "12", "14", "votes"),
        ("compare turnout of proposal 5 and 6 in uniswap", UNI, "5", "6", "quorum"),
        ("uniswap proposal 11 vs 12", UNI, "11", "12", None),
        ("which uniswap proposal got more votes 11 or 12", UNI, "11", "12", "votes"),
        ("did uniswap proposals 5 and 6 pass", UNI, "5", "6", "result"),
        ("uniswap prop #3 vs prop #4 votes", UNI, "3", "4", "votes"),
        ("was turnout higher in ens ep 6.1 or 6.2", ENS, "ep-6.1", "ep-6.2", "quorum"),
        ("which was more popular, uniswap proposal 4 or 9", UNI, "4", "9", "votes"),
        ("whats the difference between uniswap proposal 5 and 6", UNI, "5", "6", None),
        ("welcher vorschlag bekam mehr stimmen, 11 oder 12 bei uniswap", UNI, "11", "12", "votes"),
        ("how do proposals 12 and 13 in uniswap differ", UNI, "12", "13", None),
        ("compare the last two proposals of uniswap", UNI, None, "last", None),
        ("how do the two latest ens proposals differ", ENS, None, "last", None),
        ("uniswap vorschlag 5 und 6 vergleichen", UNI, "5", "6", None),
        ("que propuesta tuvo mas votos, 11 o 12 de uniswap", UNI, "11", "12", "votes"),
        ("quelle proposition a eu plus de voix, 11 ou 12 chez uniswap", UNI, "11", "12", "votes"),
    ],
)
def test_two_proposals_are_read(text: str, space: str, one: str | None, two: str, metric: str | None) -> None:
    read = read_pair(text)
    assert read is not None
    question = read.question
    assert (question.space, question.proposal, question.other, question.metric) == (space, one, two, metric)
    assert read.strength >= CERTAIN
    assert question_of(question.slots) == question


@pytest.mark.parametrize(
    "text",
    [
        "compare uniswap 2 and 3",
        "compare uniswap proposals 5, 6 and 7",
        "compare uniswap proposals of 5 or 6 pages",
        "how do i compare proposal 5 and 6 in uniswap",
        "which got more votes, uniswap proposal 12 or ens proposal 1",
        "which got more votes, proposal 12 or 14",
        "uniswap proposal 5 and 5",
        "uniswap proposal 12",
        "difference between proposals and polls in uniswap",
    ],
)
def test_anything_else_is_not(text: str) -> None:
    assert read_pair(text) is None


def test_a_statement_is_not_certain() -> None:
    read = read_pair("uniswap proposals 5 and 6 passed")
    assert read is not None
    assert CLAIM <= read.strength < CERTAIN


def test_the_order_makes_no_other_key() -> None:
    keys = {
        read.question.key(NOW.date())
        for text in ("votes of uniswap proposal 4 or 9", "votes of uniswap proposal 9 or 4")
        if (read := read_pair(text)) is not None
    }
    assert keys == {f"proposal:{UNI}:4+9:votes"}


@pytest.fixture
async def hub() -> AsyncIterator[SnapshotStandIn]:
    async with SnapshotStandIn() as stand_in:
        yield stand_in


async def ask(hub: SnapshotStandIn, text: str) -> Outcome:
    clock = ManualClock(NOW)
    async with aiohttp.ClientSession(auto_decompress=False) as http:
        adapter = Snapshot(AdapterSettings(base_url=hub.url, timeout_s=4), http, clock)
        recognition = adapter.recognise(text, NOW)
        assert recognition is not None
        query = Query("id", text, text, Caller(), NOW, clock.monotonic() + 8)
        return await adapter.ask(recognition, query)


async def test_both_are_told_with_their_figures_and_cited(hub: SnapshotStandIn) -> None:
    outcome = await ask(hub, "which got more votes, ens ep 6.1 or ep 6.2")
    assert isinstance(outcome, Found)
    evidence = outcome.evidence
    assert "“[EP 6.1] Which name?” got 51 votes" in evidence.text
    assert "“[EP 6.2] Small turnout” got 12 votes" in evidence.text
    assert evidence.text.endswith(
        "EP 6.1 got more votes than EP 6.2 (51 against 12) but less voting power (100 against 1,000)."
    )
    assert len({one.url for one in evidence.citations}) == 2
    assert evidence.freshness is Freshness.GOVERNANCE
    assert not evidence.partial


async def test_the_last_two_are_told_by_their_titles(hub: SnapshotStandIn) -> None:
    outcome = await ask(hub, "compare the last two proposals of uniswap")
    assert isinstance(outcome, Found)
    assert len(outcome.evidence.citations) == 2
    assert outcome.evidence.key == f"proposal:{UNI}:last:last"


async def test_a_vote_that_is_on_is_so_far(hub: SnapshotStandIn) -> None:
    outcome = await ask(hub, "compare turnout of proposal 14 and 15 in uniswap")
    assert isinstance(outcome, Found)
    assert "got more votes than 15 so far (41,203 against 812)" in outcome.evidence.text
    assert outcome.evidence.freshness is Freshness.TIME_SENSITIVE


async def test_one_that_is_not_there_is_named(hub: SnapshotStandIn) -> None:
    outcome = await ask(hub, "which got more votes, proposal 12 or 99 in uniswap")
    assert outcome == Missed("Uniswap has no proposal 99 on Snapshot")
