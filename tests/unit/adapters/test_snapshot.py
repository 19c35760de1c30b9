"""The Snapshot adapter: what it claims, what it says, and what it does to a hub that errs, lies or hangs.

The other side is a stand-in on loopback (``tests.simulators.snapshot``).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import date
from typing import Any, TypeAlias

import aiohttp
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from adapters.prose import sentences, unmarked
from adapters.snapshot.adapter import Snapshot
from adapters.snapshot.asking import bears
from adapters.snapshot.follow import follow_up, phrase
from adapters.snapshot.questions import read_question
from adapters.snapshot.slots import LAST, UPCOMING, Question, question_of
from adapters.snapshot.spaces import BY_NAME, SPACES
from node.core.model import CERTAIN, CLAIM, Failed, Found, Freshness, Kind, Missed, Unclear
from node.core.settings import AdapterSettings
from tests.each import each
from tests.manual_clock import ManualClock
from tests.simulators.snapshot import NOW, SnapshotStandIn, StandInProposal
from tests.unit.adapters.asking import FAULTS, Asking
from tests.unit.adapters.guards import single
from tests.unit.adapters.tables import Row, rows, texts

TODAY = date(2026, 5, 18)
PASSED = "did ENS EP 5.4 pass?"
UNI = "uniswapgovernance.eth"
AAVE = "aavedao.eth"
Votes: TypeAlias = Asking[Snapshot, ManualClock]


@pytest.fixture
async def hub() -> AsyncIterator[SnapshotStandIn]:
    async with SnapshotStandIn() as stand_in:
        yield stand_in


@pytest.fixture
def votes(hub: SnapshotStandIn, http: aiohttp.ClientSession) -> Votes:
    clock = ManualClock(NOW)
    made = Snapshot(AdapterSettings(base_url=hub.url, timeout_s=30), http, clock, single("Snapshot", clock))
    return Asking(made, clock)


# --- recognition --------------------------------------------------------------------------------------


@each("row", rows("snapshot", "certain"))
def test_questions_and_their_slots(row: Row) -> None:
    text, space, proposal, metric, topic, when = row
    read = read_question(str(text), TODAY)
    assert read is not None
    assert read.question == Question(space, proposal, metric, topic, when)
    assert read.strength >= CERTAIN


@each(
    "text",
    [*texts("snapshot", "traps"), "", "proposal " * 4_000 + "uniswap", "uniswap " * 9_000],
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


def test_the_recognition_has_the_kind_and_key_of_a_governance_question(votes: Votes) -> None:
    recognition = votes.recognised("Did Uniswap proposal 123 pass?")
    assert recognition.kind is Kind.HISTORICAL
    assert recognition.key == f"proposal:{UNI}:123:result"
    assert set(recognition.slots) == {"proposal", "metric", "topic", "when", "space"}


@pytest.mark.parametrize(
    ("today", "span"),
    [("2026-05-18", "2026-05-11..2026-05-17"), ("2026-05-25", "2026-05-18..2026-05-24")],
)
def test_a_key_holds_dates_and_not_words(today: str, span: str) -> None:
    day = date.fromisoformat(today)
    read = read_question("which aave proposals passed last week?", day)
    assert read is not None
    assert read.question.key(day) == f"proposal:aavedao.eth:{span}:result"


def test_every_name_of_a_space_is_read_as_it_is_compared() -> None:
    assert len(BY_NAME) == sum(len(space.names) for space in SPACES)
    for name, space in BY_NAME.items():
        read = read_question(f"result of {' '.join(name)} proposal 7", TODAY)
        assert read is not None, name
        assert (read.question.space, read.question.proposal) == (space.id, "7")


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


@pytest.mark.parametrize(("earlier", "fragment", "same"), rows("snapshot", "follow ups"))
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
    assert follow_up(fragment, PASSED, TODAY) is None


@given(
    space=st.sampled_from([space.id for space in SPACES]),
    proposal=st.one_of(
        st.integers(0, 999_999).map(str), st.sampled_from(["5.4", "ep-5.4", "aip-12", "lip-7.1"])
    ),
    metric=st.sampled_from(
        [None, "summary", "quorum", "author", "result", "votes", "amount", "date", "status"]
    ),
)
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
    votes: Votes, hub: SnapshotStandIn
) -> None:
    evidence = await votes.found("Did proposal 123 in Uniswap pass?")
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


async def test_without_a_title_the_number_counts_from_the_first(votes: Votes) -> None:
    evidence = await votes.found("result of uniswap proposal 14")
    assert evidence.text.startswith(
        "Uniswap's 14th proposal, “[Temperature Check] #123 Deploy on Sonne”, passed"
    )
    missed = await votes.outcome("result of uniswap proposal 99")
    assert missed == Missed("Uniswap has no proposal 99 on Snapshot")


async def test_a_series_never_falls_back_to_the_place(votes: Votes) -> None:
    assert await votes.outcome("did ENS EP 1 pass?") == Missed("ENS has no proposal EP 1 on Snapshot")


async def test_several_of_one_number_are_named(votes: Votes, hub: SnapshotStandIn) -> None:
    hub.spaces["ens.eth"].proposals.append(StandInProposal("[EP5.4] Again", -20, -13))
    evidence = await votes.found(PASSED)
    assert "“[EP5.4] Again” passed" in evidence.text
    assert evidence.text.endswith(
        "Others with that number: “[EP5.4] [Social] Fund the stewards” (2024-06-16)."
    )


async def test_a_topic_finds_its_newest_proposal_and_names_the_others(votes: Votes) -> None:
    evidence = await votes.found("did the aave proposal to launch gho on gnosis pass?")
    assert "“[ARFC] Launch GHO on Gnosis Chain” passed: For 90.0 %, Against 10.0 %" in evidence.text
    assert "Others that fit: “[TEMP CHECK] Launch GHO on Gnosis Chain”" in evidence.text
    assert isinstance(await votes.outcome("aave proposal about unicorns"), Missed)


@pytest.mark.parametrize(("text", "part"), rows("snapshot", "answers"))
async def test_what_is_said(votes: Votes, text: str, part: str) -> None:
    said = await votes.said(text)
    assert part in said
    assert "Snapshot" in said


@pytest.mark.parametrize(
    "text",
    ["latest uniswap proposal", "active proposals in lido", "latest ens proposal", "uniswap proposal 15"],
)
async def test_what_is_not_settled_is_kept_short(votes: Votes, text: str) -> None:
    assert (await votes.found(text)).freshness is Freshness.TIME_SENSITIVE


async def test_why_and_how_much_get_context_only(votes: Votes) -> None:
    assert (await votes.found("why did aip-12 in aave fail?")).partial
    assert (await votes.found("how much did uniswap proposal 123 ask for?")).partial


async def test_a_space_that_is_not_named_is_asked_back_and_an_unknown_one_missed(votes: Votes) -> None:
    outcome = await votes.outcome("latest proposal on snapshot")
    assert isinstance(outcome, Unclear)
    assert "Which Snapshot space" in outcome.ask
    missed = await votes.outcome("latest proposal in nosuch.eth")
    assert missed == Missed("Snapshot has no space called nosuch.eth")


async def test_what_a_person_wrote_travels_as_a_variable(votes: Votes, hub: SnapshotStandIn) -> None:
    await votes.outcome('aave proposal about "}) { hidden }" injection')
    sent = json.loads(hub.requests[0].body)
    assert "hidden" not in sent["query"]
    assert sent["variables"]["space"] == AAVE


RANKS = StandInProposal("EP 7 Ranks", -9, -8, [2.0, 5.0], ["Red", "Blue"], kind="copeland", votes=3)
VETO = StandInProposal("EP 7 Veto", -9, -8, [5.0, 6.0, 0.0], quorum=5, quorum_kind="rejection", votes=3)


@pytest.mark.parametrize(
    ("proposal", "said"),
    [
        (RANKS, "“Blue” ahead: “Blue” won most comparisons"),
        (VETO, "was rejected (the rejection quorum of 5"),
        (StandInProposal("EP 7 Nobody", -9, -8, [0.0, 0.0, 0.0], votes=0), "closed without votes"),
        (StandInProposal("EP 7 Even", -9, -8, [4.0, 4.0, 0.0], votes=2), "ended in a tie"),
    ],
)
async def test_other_kinds_of_votes(
    votes: Votes, hub: SnapshotStandIn, proposal: StandInProposal, said: str
) -> None:
    hub.spaces["ens.eth"].proposals.append(proposal)
    assert said in await votes.said("result of ens ep 7")


@each(("title", "series", "digits", "fits"), rows("snapshot", "titles"))
def test_which_titles_bear_a_number(title: str, series: str | None, digits: str, fits: str) -> None:
    assert (bears(series or "", digits).search(title) is not None) == (fits == "yes")


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
    votes: Votes, hub: SnapshotStandIn, change: Callable[[dict[str, Any]], object]
) -> None:
    hub.misbehave("change", times=None, change=_one(change))
    assert await votes.code(PASSED) == "bad_answer"


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
    votes: Votes, hub: SnapshotStandIn, change: Callable[[Any], Any]
) -> None:
    hub.misbehave("change", times=None, change=change)
    assert await votes.code(PASSED) == "bad_answer"


@pytest.mark.parametrize(
    ("kind", "options", "code"),
    [
        *FAULTS,
        ("body", {"text": '{"error": "no", "error_description": "too many requests"}'}, "rate_limited"),
    ],
)
async def test_each_failure_is_an_outcome(
    votes: Votes, hub: SnapshotStandIn, kind: str, options: dict[str, Any], code: str
) -> None:
    hub.misbehave(kind, times=None, **options)
    outcome = await votes.failed(PASSED)
    assert outcome.code == code
    assert outcome.reason


async def test_the_wait_of_a_429_is_read_from_its_ratelimit_header(
    votes: Votes, hub: SnapshotStandIn
) -> None:
    hub.misbehave("status", status=429, headers={"RateLimit-Reset": "41"})
    assert (await votes.failed(PASSED)).retry_after_s == 41
    assert votes.adapter.health().status == "warn"
    assert votes.adapter.budgets()[0].wait_s == 41


async def test_a_hanging_hub_ends_with_the_deadline(votes: Votes, hub: SnapshotStandIn) -> None:
    hub.misbehave("hang", times=None)
    asked = asyncio.create_task(votes.code(PASSED))
    await hub.wait_for(1)
    votes.clock.advance(31)
    assert await asked == "timeout"


async def test_old_values_are_served_marked_when_the_hub_fails(votes: Votes, hub: SnapshotStandIn) -> None:
    await votes.found("active proposals in lido")
    hub.misbehave("refuse", times=None)
    votes.clock.advance(600)
    evidence = await votes.found("active proposals in lido")
    assert evidence.data["stale"] is True
    assert evidence.text.endswith("Snapshot could not be asked just now; this was fetched 10 min ago.")
    assert evidence.freshness is Freshness.TIME_SENSITIVE


async def test_a_burst_loses_none_and_stays_in_the_window(
    hub: SnapshotStandIn, http: aiohttp.ClientSession
) -> None:
    clock = ManualClock(NOW)
    adapter = Snapshot(AdapterSettings(base_url=hub.url, timeout_s=30, per_minute=20), http, clock)
    asking = Asking(adapter, clock)
    texts = [f"result of uniswap proposal {at}" for at in range(1, 501)]
    outcomes = await asyncio.gather(*(asking.outcome(text) for text in texts))
    assert all(isinstance(outcome, Found | Failed | Missed) for outcome in outcomes)
    assert hub.count() <= 20
    assert {outcome.code for outcome in outcomes if isinstance(outcome, Failed)} == {"rate_limited"}
    assert adapter.budgets()[0].remaining == 0


async def test_equal_questions_at_once_are_one_request_each(votes: Votes, hub: SnapshotStandIn) -> None:
    await asyncio.gather(*(votes.outcome("active proposals in lido") for _ in range(50)))
    assert hub.count() == 1


@pytest.mark.parametrize(
    "bad",
    [{"space": "../x"}, {"proposal": "1 or 1"}, {"metric": "all"}, {"when": "ever"}, {"topic": "{x}"}],
    ids=str,
)
async def test_foreign_slots_are_missed(votes: Votes, bad: dict[str, str]) -> None:
    good = votes.recognised(PASSED)
    outcome = await votes.adapter.ask(replace(good, slots={**good.slots, **bad}), votes.query("x"))
    assert isinstance(outcome, Missed)


# --- outside prose ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "most", "cut"),
    [
        ("One is here. Two is not.", 15, "One is here."),
        ("He lived in the U.K. for long. Then not.", 32, "He lived in the U.K. for long."),
        ("A (; ) b () c.", 99, "A b c."),
        ("word " * 50, 20, "word word word…"),
        (None, 20, ""),
        ("a\u202eb \x00 c", 99, "a b c"),
    ],
)
def test_prose_is_cut_at_sentences_and_cleaned(text: str | None, most: int, cut: str) -> None:
    assert sentences(text, most=most) == cut
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


async def test_markup_of_proposers_does_not_arrive(votes: Votes, hub: SnapshotStandIn) -> None:
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
    evidence = await votes.found("result of ens proposal 9")
    assert "“EP 9 click”" in evidence.text
    assert "choice 2" in evidence.text
    for part in ("<", "javascript", "onerror", "script"):
        assert part not in evidence.text + str(evidence.data)
