"""The Snapshot adapter: what it claims, what it says, and what it does to a hub that errs, lies or hangs.

The other side is a stand-in on loopback (``tests.simulators.snapshot``).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import date
from typing import Any

import aiohttp
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from adapters.prose import sentences, unmarked
from adapters.snapshot.adapter import Snapshot
from adapters.snapshot.asking import bears
from adapters.snapshot.follow import follow_up, phrase
from adapters.snapshot.questions import read_question
from adapters.snapshot.slots import LAST, UPCOMING, Question, question_of
from adapters.snapshot.spaces import BY_NAME, SPACES
from node.core.clock import Clock
from node.core.model import (
    CERTAIN,
    CLAIM,
    Caller,
    Evidence,
    Failed,
    Found,
    Freshness,
    Kind,
    Missed,
    Outcome,
    Query,
    Unclear,
)
from node.core.settings import AdapterSettings
from tests.manual_clock import ManualClock
from tests.simulators.snapshot import NOW, SnapshotStandIn, StandInProposal
from tests.unit.adapters.guards import single

TODAY = date(2026, 5, 18)
UNI = "uniswapgovernance.eth"
AAVE = "aavedao.eth"
LIDO = "lido-snapshot.eth"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOW)


@pytest.fixture
async def hub() -> AsyncIterator[SnapshotStandIn]:
    async with SnapshotStandIn() as stand_in:
        yield stand_in


@pytest.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(auto_decompress=False) as session:
        yield session


@pytest.fixture
def adapter(hub: SnapshotStandIn, http: aiohttp.ClientSession, clock: ManualClock) -> Snapshot:
    return Snapshot(AdapterSettings(base_url=hub.url, timeout_s=4), http, clock, single("Snapshot", clock))


async def ask(adapter: Snapshot, clock: Clock, text: str, **options: Any) -> Outcome:
    recognition = adapter.recognise(text, clock.now())
    assert recognition is not None, text
    query = Query("id", text, text, Caller(), clock.now(), clock.monotonic() + 8, **options)
    return await adapter.ask(recognition, query)


async def found(adapter: Snapshot, clock: Clock, text: str, **options: Any) -> Evidence:
    outcome = await ask(adapter, clock, text, **options)
    assert isinstance(outcome, Found), outcome
    return outcome.evidence


# --- recognition --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "space", "proposal", "metric", "topic", "when"),
    [
        ("What was proposal 123 in uniswap", UNI, "123", None, None, None),
        ("did ENS EP 5.4 pass?", "ens.eth", "ep-5.4", "result", None, None),
        ("did ens [EP5.4] go through", "ens.eth", "ep-5.4", "result", None, None),
        ("latest aave proposal", AAVE, None, None, None, LAST),
        ("how many votes did arbitrum proposal 12 get", "arbitrumfoundation.eth", "12", "votes", None, None),
        ("active proposals in lido", LIDO, None, "status", None, None),
        ("What is the result of Uniswap proposal #077?", UNI, "77", "result", None, None),
        ("who proposed gitcoin proposal 5", "gitcoindao.eth", "5", "author", None, None),
        ("did the last balancer vote reach quorum?", "balancer.eth", None, "quorum", None, LAST),
        ("when does the latest ens vote end", "ens.eth", None, "date", None, LAST),
        (
            "which arbitrum proposals are open right now?",
            "arbitrumfoundation.eth",
            None,
            "status",
            None,
            None,
        ),
        ("hey, anything up for a vote in lido dao?", LIDO, None, "status", None, None),
        ("show me the latest proposals on stgdao.eth", "stgdao.eth", None, "list", None, LAST),
        ("what did aave vote on last week", AAVE, None, None, None, "last week"),
        ("which aave proposals passed in January 2026?", AAVE, None, "result", None, "2026-01"),
        ("aave proposal about gho on gnosis", AAVE, None, None, "gho gnosis", None),
        ("did the aave proposal to launch gho pass?", AAVE, None, "result", "launch gho", None),
        ("how many proposals does ens have", "ens.eth", None, "count", None, None),
        ("pending proposals in starknet", "starknet.eth", None, "status", None, UPCOMING),
        ("lido proposal twenty one result", LIDO, "21", "result", None, None),
        ("the 12th balancer proposal", "balancer.eth", "12", None, None, None),
        ("compound proposal 12 result", "comp-vote.eth", "12", "result", None, None),
        ("number of proposals in lido", LIDO, None, "count", None, None),
        ("when does the vote on ens ep 6.1 close?", "ens.eth", "ep-6.1", "date", None, None),
        ("explain aave proposal 12", AAVE, "12", "summary", None, None),
        ("¿se aprobó la propuesta 12 de aave?", AAVE, "12", "result", None, None),
        ("wurde der Vorschlag 12 bei lido angenommen?", LIDO, "12", "result", None, None),
        ("la proposition 12 de aave a-t-elle été adoptée ?", AAVE, "12", "result", None, None),
    ],
)
def test_questions_and_their_slots(
    text: str, space: str, proposal: str | None, metric: str | None, topic: str | None, when: str | None
) -> None:
    read = read_question(text, TODAY)
    assert read is not None
    assert read.question == Question(space, proposal, metric, topic, when)
    assert read.strength >= CERTAIN


@pytest.mark.parametrize(
    "text",
    [
        "what was proposal 12",
        "did the proposal pass",
        "is it safe to vote by mail?",
        "optimism about the proposal",
        "curve your enthusiasm vote",
        "what is uniswap",
        "uniswap price",
        "who is vitalik.eth",
        "balance of vitalik.eth",
        "how do I vote on aave proposals",
        "how does voting work in ens",
        "write a proposal for uniswap",
        "should I vote for uniswap proposal 12",
        "compare uniswap proposal 12 and aave proposal 13",
        "aave proposals 12 and 13",
        "take a snapshot of the server",
        "my proposal to aave customers",
        "",
        "proposal " * 4_000 + "uniswap",
        "uniswap " * 9_000,
    ],
    ids=lambda text: text[:30],
)
def test_what_is_not_asked_of_snapshot(text: str) -> None:
    assert read_question(text, TODAY) is None


@pytest.mark.parametrize(
    ("text", "least", "below"),
    [
        ("uniswap proposal 12 passed", CLAIM, CERTAIN),
        ("I like uniswap proposals", CLAIM, CERTAIN),
        ("what did the aave proposal do to the price of gas", CLAIM, CERTAIN),
        ("latest proposal on snapshot", CLAIM, CERTAIN),
        ("why did aave proposal 12 fail?", 0.3, CLAIM),
        ("uniswapの提案123の結果は？", CLAIM, CERTAIN),
        ("результат предложения 12 в aave", CLAIM, CERTAIN),
    ],
)
def test_what_is_claimed_with_less_certainty(text: str, least: float, below: float) -> None:
    read = read_question(text, TODAY)
    assert read is not None
    assert least <= read.strength < below


def test_the_recognition_has_the_kind_and_key_of_a_governance_question(
    adapter: Snapshot, clock: ManualClock
) -> None:
    recognition = adapter.recognise("Did Uniswap proposal 123 pass?", clock.now())
    assert recognition is not None
    assert recognition.kind is Kind.HISTORICAL
    assert recognition.key == f"proposal:{UNI}:123:result"
    assert set(recognition.slots) == {"proposal", "metric", "topic", "when", "space"}


def test_a_key_holds_dates_and_not_words() -> None:
    text = "which aave proposals passed last week?"
    keys = {
        read.question.key(day) for day in (TODAY, date(2026, 5, 25)) if (read := read_question(text, day))
    }
    assert keys == {
        "proposal:aavedao.eth:2026-05-11..2026-05-17:result",
        "proposal:aavedao.eth:2026-05-18..2026-05-24:result",
    }


def test_every_name_of_a_space_is_read_as_it_is_compared() -> None:
    assert len(BY_NAME) == sum(len(space.names) for space in SPACES)
    for name, space in BY_NAME.items():
        read = read_question(f"result of {' '.join(name)} proposal 7", TODAY)
        assert read is not None, name
        assert (read.question.space, read.question.proposal) == (space.id, "7")


@settings(max_examples=200, deadline=None)
@example("٣", "aave proposal ")
@example("1٣", "aave proposal ")
@given(st.text(max_size=200), st.sampled_from(["", "uniswap ", "aave proposal ", "ens.eth vote "]))
def test_reading_is_total_and_its_slots_are_well_formed(text: str, start: str) -> None:
    read = read_question(start + text, TODAY)
    if read is not None:
        assert 0 < read.strength <= 1
        assert question_of(read.question.slots) == read.question


@pytest.mark.parametrize("number", ["13", "1٣", "١٣", "१३", "１３"])
def test_a_number_is_the_same_in_every_writing(number: str) -> None:
    read = read_question(f"aave proposal {number}", TODAY)
    assert read is not None
    assert read.question.proposal == "13"


# --- follow-ups ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("earlier", "fragment", "same"),
    [
        ("did ENS EP 5.4 pass?", "and 5.5?", "did ENS EP 5.5 pass?"),
        ("did ENS EP 5.4 pass?", "and EP 6?", "did ens ep 6 pass"),
        ("latest aave proposal", "and lido?", "latest lido proposal"),
        ("active proposals in lido", "what about compound?", "active proposals in compound"),
        ("What was proposal 123 in uniswap", "and the quorum?", "quorum of uniswap proposal 123"),
        ("What was proposal 123 in uniswap", "how about proposal 124?", "what was uniswap proposal 124"),
        ("What was proposal 123 in uniswap", "and the latest one?", "what is the latest uniswap proposal"),
        ("who proposed gitcoin proposal 5", "and its votes?", "votes on gitcoin proposal 5"),
    ],
)
def test_follow_ups(earlier: str, fragment: str, same: str) -> None:
    asked = follow_up(fragment, earlier, TODAY)
    assert asked is not None
    one, other = read_question(asked, TODAY), read_question(same, TODAY)
    assert one is not None
    assert other is not None
    assert one.strength >= CERTAIN
    assert one.question == other.question


@pytest.mark.parametrize(
    "fragment",
    ["why?", "and tomorrow?", "and my dog?", "", "and", "tell me a joke", "x" * 3_000, "and aave price?"],
)
def test_what_is_no_follow_up(fragment: str) -> None:
    assert follow_up(fragment, "did ENS EP 5.4 pass?", TODAY) is None


@given(
    space=st.sampled_from([space.id for space in SPACES]),
    proposal=st.one_of(
        st.integers(0, 999_999).map(str), st.sampled_from(["5.4", "ep-5.4", "aip-12", "lip-7.1"])
    ),
    metric=st.sampled_from(
        [None, "summary", "quorum", "author", "result", "votes", "amount", "date", "status"]
    ),
)
@settings(max_examples=150, deadline=None)
def test_the_phrase_of_a_numbered_question_reads_back(space: str, proposal: str, metric: str | None) -> None:
    question = Question(space, proposal, metric, None, None)
    words = phrase(question, TODAY)
    assert words is not None
    back = read_question(words, TODAY)
    assert back is not None
    assert back.question == question
    assert back.strength >= CERTAIN


@pytest.mark.parametrize(
    "question",
    [
        Question("ens.eth", None, None, None, LAST),
        Question("ens.eth", None, "result", None, LAST),
        Question("ens.eth", None, "list", None, LAST),
        Question("ens.eth", None, "list", None, None),
        Question("ens.eth", None, "status", None, None),
        Question("ens.eth", None, "status", None, UPCOMING),
        Question("ens.eth", None, "count", None, None),
        Question(AAVE, None, "result", "gho gnosis", None),
        Question(AAVE, None, "result", None, "last week"),
        Question(AAVE, None, "result", None, "2026-01"),
    ],
)
def test_the_phrase_of_other_questions_reads_back(question: Question) -> None:
    words = phrase(question, TODAY)
    assert words is not None
    back = read_question(words, TODAY)
    assert back is not None
    assert back.question == question


# --- answers ------------------------------------------------------------------------------------------


async def test_a_number_in_a_title_wins_over_the_place_in_the_list(
    adapter: Snapshot, clock: ManualClock, hub: SnapshotStandIn
) -> None:
    evidence = await found(adapter, clock, "Did proposal 123 in Uniswap pass?")
    assert evidence.text == (
        "Uniswap's proposal “[Temperature Check] #123 Deploy on Sonne” passed: For 78.2 %, Against 21.8 %"
        " (41,203 votes, closed 2025-07-27), according to Snapshot."
    )
    assert evidence.freshness is Freshness.GOVERNANCE
    assert evidence.key == f"proposal:{UNI}:123:result"
    assert evidence.citations[0].locator.startswith("ipfs://bafkrei")
    assert evidence.source.url is not None
    assert evidence.source.url.startswith(f"https://snapshot.box/#/s:{UNI}/proposal/0x")
    assert hub.count("/graphql") == 2


async def test_without_a_title_the_number_counts_from_the_first(
    adapter: Snapshot, clock: ManualClock
) -> None:
    evidence = await found(adapter, clock, "result of uniswap proposal 14")
    assert evidence.text.startswith(
        "Uniswap's 14th proposal, “[Temperature Check] #123 Deploy on Sonne”, passed"
    )
    missed = await ask(adapter, clock, "result of uniswap proposal 99")
    assert missed == Missed("Uniswap has no proposal 99 on Snapshot")


async def test_a_series_never_falls_back_to_the_place(adapter: Snapshot, clock: ManualClock) -> None:
    assert await ask(adapter, clock, "did ENS EP 1 pass?") == Missed("ENS has no proposal EP 1 on Snapshot")


async def test_several_of_one_number_are_named(
    adapter: Snapshot, clock: ManualClock, hub: SnapshotStandIn
) -> None:
    hub.spaces["ens.eth"].proposals.append(StandInProposal("[EP5.4] Again", -20, -13))
    evidence = await found(adapter, clock, "did ENS EP 5.4 pass?")
    assert "“[EP5.4] Again” passed" in evidence.text
    assert evidence.text.endswith(
        "Others with that number: “[EP5.4] [Social] Fund the stewards” (2024-06-16)."
    )


async def test_a_topic_finds_its_newest_proposal_and_names_the_others(
    adapter: Snapshot, clock: ManualClock
) -> None:
    evidence = await found(adapter, clock, "did the aave proposal to launch gho on gnosis pass?")
    assert "“[ARFC] Launch GHO on Gnosis Chain” passed: For 90.0 %, Against 10.0 %" in evidence.text
    assert "Others that fit: “[TEMP CHECK] Launch GHO on Gnosis Chain”" in evidence.text
    assert isinstance(await ask(adapter, clock, "aave proposal about unicorns"), Missed)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (
            "latest uniswap proposal",
            "is open until 2026-05-22 09:00 UTC: For 60.0 %, Against 40.0 % so far (812 votes)",
        ),
        (
            "latest aave proposal",
            "has closed, but its scores are not final yet: For 80.0 %, Against 20.0 % so far",
        ),
        (
            "latest lido proposal",
            "opens for voting on 2026-05-20 09:00 UTC and closes on 2026-05-27 09:00 UTC",
        ),
        ("did ens ep 6.2 pass", "did not reach its quorum of 1 million: For 90.0 %, Against 10.0 %"),
        (
            "did ens ep 6.2 reach quorum?",
            "did not reach its quorum: 1,000 of the 1 million required (12 votes",
        ),
        (
            "did the latest uniswap proposal reach quorum",
            "has so far not reached its quorum: 10 million of the 40",
        ),
        (
            "who won ens ep 6.1?",
            "ended with “Beta” ahead: Beta 40.0 %, Gamma 30.0 %, Delta 15.0 %, Alpha 10.0 % and 1",
        ),
        ("who proposed aip 12 in aave", "was submitted by 0xabababab"),
        ("when did ens ep 5.4 end", "was open for voting from 2024-06-17 09:00 UTC to 2024-06-24 09:00 UTC"),
        ("how many votes did ens ep 5.4 get", "got 320 votes: For 60.0 %, Against 36.0 %, Abstain 4.0 %"),
        (
            "active proposals in lido",
            "Lido has 2 open proposals on Snapshot: “Hidden one” (closes 2026-05-24);",
        ),
        (
            "pending proposals in lido",
            "Lido has 1 upcoming proposal on Snapshot: “Coming one” (opens 2026-05-20).",
        ),
        ("active proposals in ens", "ENS has no open proposals on Snapshot."),
        ("which lido proposals passed this month?", "“Old lido vote” (was rejected, 2026-05-12)"),
        ("how many proposals does ens have", "ENS has had 3 proposals, according to Snapshot."),
        ("latest ens proposals", "ENS's latest proposals on Snapshot: “[EP 6.2] Small turnout” ("),
        (
            "what was uniswap proposal 123",
            "In its own words: “This proposal changes the thing. It costs nothing.”",
        ),
    ],
)
async def test_what_is_said(adapter: Snapshot, clock: ManualClock, text: str, part: str) -> None:
    evidence = await found(adapter, clock, text)
    assert part in evidence.text
    assert "Snapshot" in evidence.text


async def test_what_is_not_settled_is_kept_short(adapter: Snapshot, clock: ManualClock) -> None:
    for text in (
        "latest uniswap proposal",
        "active proposals in lido",
        "latest ens proposal",
        "uniswap proposal 15",
    ):
        assert (await found(adapter, clock, text)).freshness is Freshness.TIME_SENSITIVE


async def test_why_and_how_much_get_context_only(adapter: Snapshot, clock: ManualClock) -> None:
    assert (await found(adapter, clock, "why did aip-12 in aave fail?")).partial
    assert (await found(adapter, clock, "how much did uniswap proposal 123 ask for?")).partial


async def test_a_space_that_is_not_named_is_asked_back_and_an_unknown_one_missed(
    adapter: Snapshot, clock: ManualClock
) -> None:
    outcome = await ask(adapter, clock, "latest proposal on snapshot")
    assert isinstance(outcome, Unclear)
    assert "Which Snapshot space" in outcome.ask
    missed = await ask(adapter, clock, "latest proposal in nosuch.eth")
    assert missed == Missed("Snapshot has no space called nosuch.eth")


async def test_what_a_person_wrote_travels_as_a_variable(
    adapter: Snapshot, clock: ManualClock, hub: SnapshotStandIn
) -> None:
    await ask(adapter, clock, 'aave proposal about "}) { hidden }" injection')
    sent = json.loads(hub.requests[0].body)
    assert "hidden" not in sent["query"]
    assert sent["variables"]["space"] == AAVE


async def test_other_kinds_of_votes(adapter: Snapshot, clock: ManualClock, hub: SnapshotStandIn) -> None:
    space = hub.spaces["ens.eth"]
    space.proposals.append(
        StandInProposal("EP 7 Ranks", -9, -8, [2.0, 5.0], ["Red", "Blue"], kind="copeland", votes=3)
    )
    space.proposals.append(
        StandInProposal("EP 8 Veto", -9, -8, [5.0, 6.0, 0.0], quorum=5, quorum_kind="rejection", votes=3)
    )
    space.proposals.append(StandInProposal("EP 9 Nobody", -9, -8, [0.0, 0.0, 0.0], votes=0))
    space.proposals.append(StandInProposal("EP 10 Even", -9, -8, [4.0, 4.0, 0.0], votes=2))
    assert (
        "“Blue” ahead: “Blue” won most comparisons"
        in (await found(adapter, clock, "result of ens ep 7")).text
    )
    assert (
        "was rejected (the rejection quorum of 5" in (await found(adapter, clock, "result of ens ep 8")).text
    )
    assert "closed without votes" in (await found(adapter, clock, "result of ens ep 9")).text
    assert "ended in a tie" in (await found(adapter, clock, "result of ens ep 10")).text


@pytest.mark.parametrize(
    ("series", "digits", "title", "fits"),
    [
        ("", "123", "[Temperature Check] #123 Deploy", True),
        ("", "12", "AIP-12: Add", True),
        ("", "12", "[GIP-012] Should we", True),
        ("", "12", "Proposal 12 - fees", True),
        ("", "12", "12. Fees", True),
        ("", "12", "[ARFC 12] Fees", True),
        ("", "123", "Swap 123 ETH", False),
        ("", "12", "Raise to 12%", False),
        ("", "12", "AIP-123: Add", False),
        ("", "12", "AIP-12.1: Add", False),
        ("", "12", "Pay 12k to X", False),
        ("", "2023", "Budget for 2023", False),
        ("ep", "5.4", "[EP5.4] Fund", True),
        ("ep", "5.4", "[EP 5.4] Fund", True),
        ("ep", "5.4", "[EP 5.4.1] Fund", False),
        ("ep", "5.4", "[STEP 5.4] Fund", False),
        ("aip", "12", "aip-12 fund", True),
    ],
)
def test_which_titles_bear_a_number(series: str, digits: str, title: str, fits: bool) -> None:
    assert (bears(series, digits).search(title) is not None) == fits


# --- a hub that errs, lies or hangs -------------------------------------------------------------------


def _one(change: Callable[[dict[str, Any]], object]) -> Callable[[Any], Any]:
    def bent(value: Any) -> Any:
        if value["data"].get("proposal"):
            change(value["data"]["proposal"])
        return value

    return bent


@pytest.mark.parametrize(
    "change",
    [
        lambda row: row.update(scores=[1.0]),
        lambda row: row.update(scores=None),
        lambda row: row.update(scores="many"),
        lambda row: row.update(scores=[float("nan"), 1.0, 1.0]),
        lambda row: row.update(scores=["9", "1", "0"]),
        lambda row: row.update(scores=[-1.0, 1.6e6, 1e5]),
        lambda row: row.update(scores=[9e9, 0, 0]),
        lambda row: row.update(scores_total=1.0),
        lambda row: row.update(scores_total=-5),
        lambda row: row.update(quorum=-5),
        lambda row: row.update(quorum=float("inf")),
        lambda row: row.update(votes=-1),
        lambda row: row.update(votes=None),
        lambda row: row.update(choices=[]),
        lambda row: row.update(choices=None),
        lambda row: row.update(space={"id": "other.eth"}),
        lambda row: row.update(space=None),
        lambda row: row.update(state="won"),
        lambda row: row.update(id="0x" + "0" * 64),
        lambda row: row.update(id="../x"),
        lambda row: row.update(title=None),
        lambda row: row.update(end=row["start"] - 1),
        lambda row: row.update(end="soon"),
        lambda row: row.update(created=int(NOW.timestamp()) + 90_000),
        lambda row: row.update(state="closed", end=int(NOW.timestamp()) + 90_000),
        lambda row: row.pop("start"),
    ],
)
async def test_no_figure_of_a_lying_hub_is_said(
    adapter: Snapshot, clock: ManualClock, hub: SnapshotStandIn, change: Callable[[dict[str, Any]], object]
) -> None:
    hub.misbehave("change", times=None, change=_one(change))
    outcome = await ask(adapter, clock, "did ENS EP 5.4 pass?")
    assert isinstance(outcome, Failed), outcome
    assert outcome.code == "bad_answer"


@pytest.mark.parametrize(
    "change",
    [
        lambda value: {"data": None},
        lambda value: {"data": {**value["data"], "titled": None}},
        lambda value: {"errors": [{"message": "Cannot query field"}], "data": {"space": None}},
        lambda value: {"errors": [{}], "data": value["data"]},
        lambda value: {"error": "unauthorized", "error_description": "no"},
        lambda value: [],
        lambda value: {"data": {**value["data"], "space": {"id": "other.eth", "name": "x"}}},
        lambda value: {"data": {**value["data"], "titled": [7]}},
    ],
)
async def test_errors_in_a_200_and_nulls_are_no_answers(
    adapter: Snapshot, clock: ManualClock, hub: SnapshotStandIn, change: Callable[[Any], Any]
) -> None:
    hub.misbehave("change", times=None, change=change)
    outcome = await ask(adapter, clock, "did ENS EP 5.4 pass?")
    assert isinstance(outcome, Failed), outcome
    assert outcome.code == "bad_answer"


@pytest.mark.parametrize(
    ("kind", "options", "code"),
    [
        ("refuse", {}, "unreachable"),
        ("cut", {}, "unreachable"),
        ("html", {}, "bad_answer"),
        ("plain", {"text": "Please slow down"}, "bad_answer"),
        ("nested_json", {}, "bad_answer"),
        ("oversized", {"size": 5_000_000}, "bad_answer"),
        ("oversized", {"size": 5_000_000, "declared": False}, "bad_answer"),
        ("gzip_bomb", {"size": 5_000_000}, "bad_answer"),
        ("redirect", {"to": "http://127.0.0.1:9/"}, "bad_answer"),
        ("status", {"status": 500}, "unreachable"),
        ("status", {"status": 403}, "refused"),
        ("throttle", {"retry_after": 30}, "rate_limited"),
        (
            "body",
            {"text": '{"error":"unauthorized","error_description":"too many requests, refer"}'},
            "rate_limited",
        ),
    ],
)
async def test_each_failure_is_an_outcome(
    adapter: Snapshot, clock: ManualClock, hub: SnapshotStandIn, kind: str, options: dict[str, Any], code: str
) -> None:
    hub.misbehave(kind, times=None, **options)
    outcome = await ask(adapter, clock, "did ENS EP 5.4 pass?")
    assert isinstance(outcome, Failed), outcome
    assert outcome.code == code
    assert outcome.reason


async def test_the_wait_of_a_429_is_read_from_its_ratelimit_header(
    adapter: Snapshot, clock: ManualClock, hub: SnapshotStandIn
) -> None:
    hub.misbehave("status", status=429, headers={"RateLimit-Reset": "41"})
    outcome = await ask(adapter, clock, "did ENS EP 5.4 pass?")
    assert isinstance(outcome, Failed)
    assert outcome.retry_after_s == 41
    assert adapter.health().status == "warn"
    assert adapter.budgets()[0].wait_s == 41


async def test_a_hanging_hub_ends_with_the_deadline(
    adapter: Snapshot, clock: ManualClock, hub: SnapshotStandIn
) -> None:
    hub.misbehave("hang", times=None)
    waiting = asyncio.create_task(ask(adapter, clock, "did ENS EP 5.4 pass?"))
    await hub.wait_for(1)
    clock.advance(10)
    outcome = await waiting
    assert isinstance(outcome, Failed)
    assert outcome.code == "timeout"


async def test_old_values_are_served_marked_when_the_hub_fails(
    adapter: Snapshot, clock: ManualClock, hub: SnapshotStandIn
) -> None:
    await found(adapter, clock, "active proposals in lido")
    hub.misbehave("refuse", times=None)
    clock.advance(600)
    evidence = await found(adapter, clock, "active proposals in lido")
    assert evidence.data["stale"] is True
    assert evidence.text.endswith("Snapshot could not be asked just now; this was fetched 10 min ago.")
    assert evidence.freshness is Freshness.TIME_SENSITIVE


async def test_a_burst_loses_none_and_stays_in_the_window(
    hub: SnapshotStandIn, http: aiohttp.ClientSession, clock: ManualClock
) -> None:
    adapter = Snapshot(AdapterSettings(base_url=hub.url, timeout_s=4, per_minute=20), http, clock)
    texts = [f"result of uniswap proposal {at}" for at in range(1, 501)]
    outcomes = await asyncio.gather(*(ask(adapter, clock, text) for text in texts))
    assert len(outcomes) == 500
    assert all(isinstance(outcome, Found | Failed | Missed) for outcome in outcomes)
    assert hub.count() <= 20
    refused = [outcome for outcome in outcomes if isinstance(outcome, Failed)]
    assert {outcome.code for outcome in refused} == {"rate_limited"}
    assert adapter.budgets()[0].remaining == 0


async def test_equal_questions_at_once_are_one_request_each(
    adapter: Snapshot, clock: ManualClock, hub: SnapshotStandIn
) -> None:
    await asyncio.gather(*(ask(adapter, clock, "active proposals in lido") for _ in range(50)))
    assert hub.count() == 1


async def test_foreign_slots_are_missed(adapter: Snapshot, clock: ManualClock) -> None:
    good = adapter.recognise("did ENS EP 5.4 pass?", clock.now())
    assert good is not None
    query = Query("id", "x", "x", Caller(), clock.now(), clock.monotonic() + 8)
    for bad in (
        {"space": "../x"},
        {"proposal": "1 or 1"},
        {"metric": "all"},
        {"when": "ever"},
        {"topic": "{x}"},
    ):
        outcome = await adapter.ask(replace(good, slots={**good.slots, **bad}), query)
        assert isinstance(outcome, Missed), bad


# --- outside prose ------------------------------------------------------------------------------------


def test_prose_is_cut_at_sentences_and_cleaned() -> None:
    assert sentences("One is here. Two is not.", most=15) == "One is here."
    assert sentences("He lived in the U.K. for long. Then not.", most=32) == "He lived in the U.K. for long."
    assert sentences("A (; ) b () c.", most=99) == "A b c."
    assert sentences("word " * 50, most=20) == "word word word…"
    assert sentences(None, most=20) == ""
    assert "\u202e" not in sentences("a\u202eb \x00 c", most=99)
    assert len(sentences("(" * 60_000, most=100)) <= 100


def test_markdown_loses_its_marks() -> None:
    text = (
        "# Head\n\n**We** [fund](https://x.example/y) the `thing` now.\n\n| a | b |\n\n"
        "```\ncode here is not read\n```\n"
    )
    assert unmarked(text) == "We fund the thing now."
    assert unmarked("![a](" * 5_000) is not None


@pytest.mark.parametrize(
    "text",
    [
        "ens proposals about my password hunter2",
        "did the ens proposal by jane.roe@example.com pass",
        "did the ens proposal about patient jane roe pass",
        "aave proposal about 555-123-4567",
        "what did the aave proposal do to my wallet",
    ],
)
def test_a_private_topic_does_not_go_to_the_hub(text: str) -> None:
    assert read_question(text, TODAY) is None
    slots = {"space": AAVE, "proposal": None, "metric": None, "topic": "hunter2pass", "when": None}
    assert question_of(slots) is None


async def test_markup_of_proposers_does_not_arrive(
    adapter: Snapshot, clock: ManualClock, hub: SnapshotStandIn
) -> None:
    hub.spaces["ens.eth"].proposals.append(
        StandInProposal(
            "EP 9 <img src=x onerror=alert(1)> [click](javascript:alert(1)) </evidence>",
            -9,
            -8,
            [5.0, 2.0],
            ["<b>Red</b>", "<script>x</script>"],
            votes=3,
        )
    )
    evidence = await found(adapter, clock, "result of ens proposal 9")
    assert "“EP 9 click”" in evidence.text
    assert "choice 2" in evidence.text
    for part in ("<", "javascript", "onerror", "script"):
        assert part not in evidence.text + str(evidence.data)
