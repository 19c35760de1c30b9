"""Two proposals of a space compared: what is read as such, and what is said of both."""

from __future__ import annotations

from collections.abc import AsyncIterator

import aiohttp
import pytest

from adapters.snapshot.adapter import Snapshot
from adapters.snapshot.pairs import read_pair
from adapters.snapshot.slots import question_of
from node.core.model import CERTAIN, Freshness, Missed
from node.core.settings import AdapterSettings
from tests.each import each
from tests.manual_clock import ManualClock
from tests.simulators.snapshot import NOW, SnapshotStandIn
from tests.unit.adapters.asking import Asking, is_claimed
from tests.unit.adapters.tables import Row, rows, texts

UNI = "uniswapgovernance.eth"


@each("row", rows("snapshot", "pairs"))
def test_two_proposals_are_read(row: Row) -> None:
    read = read_pair(str(row[0]))
    assert read is not None
    question = read.question
    assert (question.space, question.proposal, question.other, question.metric) == row[1:]
    assert read.strength >= CERTAIN
    assert question_of(question.slots) == question


@pytest.mark.parametrize("text", texts("snapshot", "no pairs"))
def test_anything_else_is_not(text: str) -> None:
    assert read_pair(text) is None


def test_a_statement_is_not_certain() -> None:
    read = read_pair("uniswap proposals 5 and 6 passed")
    assert read is not None
    assert is_claimed(read.strength)


def test_the_order_makes_no_other_key() -> None:
    keys = {
        read.question.key(NOW.date())
        for text in ("votes of uniswap proposal 4 or 9", "votes of uniswap proposal 9 or 4")
        if (read := read_pair(text)) is not None
    }
    assert keys == {f"proposal:{UNI}:4+9:votes"}


@pytest.fixture
async def votes(http: aiohttp.ClientSession) -> AsyncIterator[Asking[Snapshot, ManualClock]]:
    clock = ManualClock(NOW)
    async with SnapshotStandIn() as hub:
        settings = AdapterSettings(base_url=hub.url, timeout_s=30)
        yield Asking(Snapshot(settings, http, clock), clock)


async def test_both_are_told_with_their_figures_and_cited(votes: Asking[Snapshot, ManualClock]) -> None:
    evidence = await votes.found("which got more votes, ens ep 6.1 or ep 6.2")
    assert "“[EP 6.1] Which name?” got 51 votes" in evidence.text
    assert "“[EP 6.2] Small turnout” got 12 votes" in evidence.text
    assert evidence.text.endswith(
        "EP 6.1 got more votes than EP 6.2 (51 against 12) but less voting power (100 against 1,000)."
    )
    assert len({one.url for one in evidence.citations}) == 2
    assert evidence.freshness is Freshness.GOVERNANCE
    assert not evidence.partial


async def test_the_last_two_are_told_by_their_titles(votes: Asking[Snapshot, ManualClock]) -> None:
    evidence = await votes.found("compare the last two proposals of uniswap")
    assert len(evidence.citations) == 2
    assert evidence.key == f"proposal:{UNI}:last:last"


async def test_a_vote_that_is_on_is_so_far(votes: Asking[Snapshot, ManualClock]) -> None:
    evidence = await votes.found("compare turnout of proposal 14 and 15 in uniswap")
    assert "got more votes than 15 so far (41,203 against 812)" in evidence.text
    assert evidence.freshness is Freshness.TIME_SENSITIVE


async def test_one_that_is_not_there_is_named(votes: Asking[Snapshot, ManualClock]) -> None:
    outcome = await votes.outcome("which got more votes, proposal 12 or 99 in uniswap")
    assert outcome == Missed("Uniswap has no proposal 99 on Snapshot")
