"""The auditor on a clock moved by hand: what is sampled, what is passed over, what a verdict takes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from node.audit.decisions.memory import MemoryLog
from node.audit.tlog.leaf import read_leaf
from node.cache.lookup import Candidate, Judged
from node.cache.quality.audits import (
    AUDIT_TIMEOUT_S,
    BUSY_MAX,
    BUSY_WAIT_S,
    WAITING_MAX,
    Auditor,
    Watching,
)
from node.cache.quality.estimate import Estimate
from node.cache.quality.labelling import Labels
from node.cache.recall import Recall, Recalled, Seen
from node.core.caller import Caller
from node.core.errors import Unavailable
from node.core.model import (
    Answer,
    Citation,
    Confidence,
    Freshness,
    HitInfo,
    Kind,
    Query,
    Route,
    Source,
    SourceRef,
)
from node.core.normalise import query_hash
from node.core.ports import StoredRecord
from node.core.record import AnswerRecord
from node.language.same_answer import Sameness
from node.store.hit_label import Hit
from tests.manual_clock import ManualClock
from tests.record_builders import START, Author
from tests.references.record_store import MemoryStore

US = Author(1)
QUESTION = "How tall is the Belmora tower"
RIGHT_TEXT, WRONG_TEXT = "The Belmora tower is 212 m tall.", "The Belmora tower is 97 m tall."
ROUTE = Route(Kind.GENERATIVE, (Source.CACHE, Source.MODEL), 0.7, "test")
WATCHING = Watching(
    share=1.0, per_hour=30, confidence_min=0.8, max_wrong_hit_rate=0.01, shadow=False, policy="test"
)
HIT = Hit("cid", "generative", "semantic", 0.9, 0.8, 0.01, "hash")


def a_query(number: int = 0, **changes: Any) -> Query:
    query = Query(f"request-{number}", QUESTION, QUESTION, Caller(), received=START, deadline=10.0)
    return replace(query, **changes)


def an_answer(text: str = RIGHT_TEXT, **changes: Any) -> Answer:
    source, confidence = SourceRef("llm", "ollama/test"), Confidence(0.85, {})
    answer = Answer(a_query(), text, ROUTE, source, confidence, freshness=Freshness.GENERAL)
    return replace(answer, **changes)


class Bench:
    """An auditor, and behind it a pipeline that says what the test wants."""

    def __init__(self, labels: Labels, clock: ManualClock, watching: Watching) -> None:
        self.labels = labels
        self.clock = clock
        self.log = MemoryLog("test", clock)
        self.auditor = Auditor(labels, clock, self.log, watching)
        self.asked: list[Query] = []
        self.fresh: Answer | Unavailable | None = an_answer()
        self.busy = 0
        self.hold: asyncio.Event | None = None

    async def afresh(self, query: Query) -> Answer | None:
        self.asked.append(query)
        if self.hold is not None:
            await self.hold.wait()
        if isinstance(self.fresh, Unavailable):
            raise self.fresh
        return self.fresh

    async def serves(self, recall: Recall | None = None, **query: Any) -> None:
        """A hit is served, and the auditor is told."""
        self.auditor.recalled(a_query(**query), an_answer(), recall or await a_recall())

    async def withholds(self, recall: Recall, fresh: Answer) -> None:
        """In shadow: the hit is not served."""
        self.auditor.recalled(a_query(), fresh, recall, withheld=True)

    @property
    def audits(self) -> Mapping[str, int]:
        return self.auditor.facts().audits

    async def until(self, done: Callable[[], bool]) -> None:
        """Let the background work go on until ``done``."""
        async with asyncio.timeout(10):
            while not done():
                await asyncio.sleep(0.001)

    async def labelled(self, count: int = 1) -> Mapping[tuple[str, str], int]:
        """The labels, as soon as there are so many."""
        await self.until(lambda: sum(self.labels.counts().values()) >= count)
        return self.labels.counts()


Start = Callable[..., AbstractAsyncContextManager[Bench]]


def marked(text: str) -> str:
    return "~" + text[::-1]


@pytest.fixture
def start(tmp_path: Path) -> Start:
    @asynccontextmanager
    async def begin(**changes: Any) -> AsyncIterator[Bench]:
        clock = ManualClock(START)
        labels = await Labels.open(tmp_path / "labels.sqlite", clock, marked)
        bench = Bench(labels, clock, replace(WATCHING, **changes))
        bench.auditor.start(bench.afresh, lambda: bench.busy)
        try:
            yield bench
        finally:
            await bench.auditor.stop()
            await labels.close()

    return begin


@pytest.fixture
async def bench(start: Start) -> AsyncIterator[Bench]:
    async with start() as one:
        yield one


async def a_recall(answer: str = RIGHT_TEXT, tier: str = "semantic", **changes: Any) -> Recall:
    """A hit on a stored answer, with a rival beside it."""
    records = MemoryStore(own_issuer=US.did).records
    hit = await records.add(US.answer("What is the height of the tower?", answer=answer, **changes))
    rival = await records.add(US.answer("What is the height of the bridge?"))

    def seen(stored: StoredRecord, similarity: float) -> Seen:
        record, near, is_checked = stored.record, None if tier == "slot" else similarity, tier != "exact"
        assert isinstance(record, AnswerRecord)
        cid, query = str(stored.cid), record.query
        candidate = Candidate(cid, query, near, tier, 0.87, START, None, check_text=is_checked)
        said = (stored is hit, "same content", "gate_passed")
        return Seen(Judged(candidate, similarity * 0.87, 0.99, 0.012, *said), record)

    near = (seen(hit, 0.93), seen(rival, 0.7))
    similarity = near[0].judged.candidate.similarity
    info = HitInfo(tier, similarity, 0.81, 0.7, 0.99, 5, "local", "same content", "gate_passed")
    return Recall(Recalled(hit, near[0].record, info), "gate_passed", "same content", near)


def cid_of(recall: Recall) -> str:
    assert recall.found is not None
    return str(recall.found.stored.cid)


MISS = Recall(None, "nothing_near", "nothing stored is near")


async def test_an_audit_asks_past_the_cache_and_labels_the_pair(bench: Bench) -> None:
    recall = await a_recall(WRONG_TEXT)
    bench.auditor.recalled(a_query(zone=ZoneInfo("Europe/Paris")), an_answer(WRONG_TEXT), recall)
    assert await bench.labelled() == {("audit", "wrong"): 1}
    [asked] = bench.asked
    assert (asked.text, asked.no_cache, asked.no_store) == (QUESTION, True, True)
    assert (asked.session, str(asked.zone)) == (None, "Europe/Paris")
    assert asked.deadline == bench.clock.monotonic() + AUDIT_TIMEOUT_S
    hit = await bench.labels.hit_of("request-0")
    assert hit is not None
    assert (hit.query_hash, len(hit.near)) == (query_hash(QUESTION), 1)
    assert bench.labels.tightening.u_floor(cid_of(recall), hit.score) == 1.0
    await bench.until(lambda: bench.log.size() == 2)
    audited, quarantined = (read_leaf(data).entry for data in bench.log.leaves())
    assert (audited["kind"], audited["verdict"]) == ("audit", "wrong")
    assert (quarantined["kind"], quarantined["reason"]) == ("quarantine", "wrong")
    assert quarantined["held_back_ppm"] == round(hit.score * 1_000_000)
    facts = bench.auditor.facts()
    assert facts.overall == Estimate(0, 1)
    assert facts.by_route == {("generative", "semantic"): Estimate(0, 1)}
    assert facts.hits == {("generative", "semantic"): 1}


@pytest.mark.parametrize(
    ("fresh", "verdict"),
    [
        (an_answer(RIGHT_TEXT), "right"),
        (an_answer(WRONG_TEXT), "wrong"),
        (an_answer("A tall tower."), "undecided"),
        (an_answer(WRONG_TEXT, source=SourceRef("fallback", "none")), "undecided"),
        (an_answer(WRONG_TEXT, source=SourceRef("composite", "composite")), "undecided"),
        (an_answer(WRONG_TEXT, stale=True), "undecided"),
        (an_answer(WRONG_TEXT, confidence=Confidence(0.79, {})), "undecided"),
        (None, "undecided"),
        (Unavailable("no engine"), "undecided"),
    ],
)
async def test_what_a_fresh_answer_tells(
    bench: Bench, fresh: Answer | Unavailable | None, verdict: str
) -> None:
    bench.fresh = fresh
    await bench.serves()
    assert await bench.labelled() == {("audit", verdict): 1}
    assert (bench.audits["done"], bench.audits["undecided"]) == (1, int(verdict == "undecided"))


async def test_an_answer_that_rests_on_the_record_tells_nothing_of_it(bench: Bench) -> None:
    recall = await a_recall()
    bench.fresh = an_answer(citations=(Citation("cache", url=f"ipfs://{cid_of(recall)}"),))
    await bench.serves(recall)
    assert await bench.labelled() == {("audit", "undecided"): 1}


async def test_figures_of_a_short_lived_answer_may_have_moved(bench: Bench) -> None:
    bench.fresh = an_answer("The Belmora tower coin is at 213 USD.")
    soon = START + timedelta(seconds=60)
    await bench.serves(await a_recall("The Belmora tower coin is at 212 USD.", expires=soon))
    assert await bench.labelled() == {("audit", "right"): 1}


async def test_the_share_is_sampled(start: Start) -> None:
    # The clock's random number is one half.
    async with start(share=0.5) as bench:
        await bench.serves()
        await bench.until(lambda: bench.auditor.facts().gated == 1)
        assert bench.audits["waiting"] == 0
        assert not bench.asked
    async with start(share=0.51) as bench:
        await bench.serves()
        assert await bench.labelled() == {("audit", "right"): 1}


async def test_the_budget_of_an_hour_is_kept_and_comes_back(start: Start) -> None:
    async with start(per_hour=2) as bench:
        for number in range(5):
            await bench.serves(number=number)
        await bench.until(lambda: bench.audits["done"] == 2)
        assert (bench.audits["skipped"], bench.audits["left_this_hour"]) == (3, 0)
        bench.clock.advance(3_599)
        await bench.serves(number=6)
        assert bench.audits["skipped"] == 4
        bench.clock.advance(1)
        await bench.serves(number=7)
        await bench.until(lambda: bench.audits["done"] == 3)


async def test_no_audit_while_the_node_is_busy(bench: Bench) -> None:
    bench.busy = BUSY_MAX + 1
    await bench.serves()
    await bench.until(lambda: bench.audits["waiting"] == 0)
    assert not bench.asked
    bench.busy = BUSY_MAX
    bench.clock.advance(BUSY_WAIT_S)
    assert await bench.labelled() == {("audit", "right"): 1}


async def test_an_audit_gives_way_when_requests_come(bench: Bench) -> None:
    bench.hold = asyncio.Event()
    await bench.serves()
    await bench.until(lambda: bool(bench.asked))
    bench.busy = BUSY_MAX + 1
    await bench.until(lambda: bench.audits["skipped"] == 1)
    assert bench.labels.counts() == {}


async def test_waiting_audits_are_bounded(bench: Bench) -> None:
    bench.hold = asyncio.Event()
    await bench.serves()
    await bench.until(lambda: bool(bench.asked))
    for number in range(WAITING_MAX + 3):
        await bench.serves(number=number)
    assert (bench.audits["waiting"], bench.audits["skipped"]) == (WAITING_MAX, 3)


async def test_exact_and_keyed_hits_and_misses_are_counted_only(bench: Bench) -> None:
    await bench.serves(await a_recall(tier="exact"))
    await bench.serves(MISS)
    facts = bench.auditor.facts()
    assert facts.hits == {("generative", "exact"): 1}
    assert (facts.lookups, facts.gated, facts.audits["waiting"]) == (1, 0, 0)
    keyed = an_answer(route=replace(ROUTE, key="price:bitcoin:usd"))
    bench.auditor.recalled(a_query(), keyed, MISS)
    assert bench.auditor.facts().lookups == 1, "a key decides there and not the gate"
    await bench.auditor.feedback("request-0", "cid", "invalid")
    assert bench.labels.counts() == {}


async def test_hits_by_words_are_audited_too(bench: Bench) -> None:
    await bench.serves(await a_recall(tier="slot"))
    assert await bench.labelled() == {("audit", "right"): 1}


async def test_what_depends_on_a_context_is_not_asked_again(bench: Bench) -> None:
    await bench.serves(context="ab" * 32)
    assert bench.audits["waiting"] == 0


async def test_feedback_counts_at_once_and_over_a_restart(start: Start) -> None:
    async with start(share=0.0) as bench:
        recall = await a_recall()
        await bench.serves(recall)
        await bench.auditor.feedback("request-0", "the CID of another answer", "invalid")
        assert bench.auditor.facts().feedback == Estimate()
        for _ in range(3):
            await bench.auditor.feedback("request-0", cid_of(recall), "invalid")
        assert bench.labels.tightening.u_floor(cid_of(recall), 0.8) == 1.0
        assert bench.auditor.facts().feedback == Estimate(0, 1)
        assert bench.auditor.facts().overall == Estimate(), "no random sample"
    async with start(share=0.0) as bench:
        assert bench.labels.tightening.u_floor(cid_of(recall), 0.8) == 1.0
        await bench.auditor.feedback("request-0", cid_of(recall), "valid")
        assert bench.auditor.facts().feedback == Estimate(1, 1)
        await bench.auditor.feedback("request-unknown", cid_of(recall), "valid")
        assert bench.auditor.facts().feedback == Estimate(1, 1)


async def test_shadow_labels_by_the_nodes_own_answer(start: Start) -> None:
    async with start(shadow=True) as bench:
        recall = await a_recall(WRONG_TEXT)
        await bench.withholds(recall, an_answer(RIGHT_TEXT))
        assert await bench.labelled() == {("shadow", "wrong"): 1}
        facts = bench.auditor.facts()
        assert (facts.would_be_hits, facts.gated, facts.hits) == (1, 1, {})
        assert not bench.asked


async def test_shadow_labels_by_what_the_client_stores(start: Start) -> None:
    async with start(shadow=True) as bench:
        nothing = an_answer("", source=SourceRef("fallback", "search"))
        await bench.withholds(await a_recall(WRONG_TEXT), nothing)
        bench.auditor.entered("Another question", RIGHT_TEXT, "local")
        bench.auditor.entered(QUESTION, RIGHT_TEXT, "another tenant")
        bench.auditor.entered(QUESTION, RIGHT_TEXT, "local", "c" * 64)
        bench.auditor.entered(QUESTION, WRONG_TEXT, "local")
        bench.auditor.entered(QUESTION, RIGHT_TEXT, "local")
        assert await bench.labelled() == {("shadow", "right"): 1}


async def test_labels_that_wait_are_entered_at_the_stop_and_one_that_fails_ends_no_other(
    start: Start,
) -> None:
    async with start(shadow=True) as bench:

        def fails() -> Sameness:
            raise KeyError("a fault in a comparison")

        recall = await a_recall(WRONG_TEXT)
        bench.auditor._later(bench.auditor._compared(replace(HIT, cid=cid_of(recall)), fails))
        for _ in range(5):
            await bench.withholds(recall, an_answer(RIGHT_TEXT))
        await bench.auditor.stop()
        assert bench.labels.counts() == {("shadow", "wrong"): 5}


async def test_a_question_is_audited_in_the_words_as_they_came(bench: Bench) -> None:
    for asked in (f"{QUESTION}?", f"Hello. {QUESTION}?"):
        await bench.serves(asked=asked)
    await bench.labelled(2)
    assert [one.asked for one in bench.asked] == [f"{QUESTION}?", QUESTION]


async def test_the_check_warns_when_wrong_hits_are_surely_too_many(start: Start) -> None:
    async with start(share=0.0, max_wrong_hit_rate=0.1) as bench:
        assert bench.auditor.health().status == "pass"
        await bench.labels.add(HIT, "audit", "wrong")
        assert bench.auditor.health().status == "pass", "one label is sure of nothing"
        for number in range(4):
            await bench.labels.add(replace(HIT, query_hash=f"{number}"), "audit", "wrong")
        assert bench.auditor.health().status == "pass", "no look-up says how many of them are hits"
        for _ in range(20):
            await bench.serves()
        check = bench.auditor.health()
        assert (check.name, check.status) == ("cache:wrong_hits", "warn")
        assert "5 of 5 checked hits were wrong" in check.output
        for _ in range(1_980):
            await bench.serves(MISS)
        assert bench.auditor.health().status == "pass", "one look-up in a hundred is a hit at all"


async def test_none_wrong_is_not_too_many_where_none_may_be(start: Start) -> None:
    async with start(share=0.0, max_wrong_hit_rate=0.0) as bench:
        await bench.serves()
        await bench.labels.add(HIT, "audit", "right")
        check = bench.auditor.health()
        assert (check.status, check.observed) == ("pass", 0.0), check


async def test_nothing_is_sampled_before_the_start_and_after_the_stop(tmp_path: Path) -> None:
    clock = ManualClock(START)
    labels = await Labels.open(tmp_path / "labels.sqlite", clock, marked)
    auditor = Auditor(labels, clock, MemoryLog("test", clock), WATCHING)
    recall = await a_recall()
    auditor.recalled(a_query(), an_answer(), recall)
    await auditor.stop()
    await auditor.stop()
    auditor.recalled(a_query(), an_answer(), recall)
    assert auditor.facts().audits["waiting"] == 0
    await labels.close()
    await auditor.feedback("request-0", cid_of(recall), "invalid")  # the store is closed: it counts in memory
    assert labels.counts() == {("feedback", "wrong"): 1}


@pytest.mark.parametrize(("scope", "is_plain"), [("private:acme", False), ("shared", True)])
async def test_the_hash_of_a_question_on_a_private_record_is_written_nowhere(
    tmp_path: Path, start: Start, scope: str, is_plain: bool
) -> None:
    digest = query_hash(QUESTION)
    async with start(share=1.0) as bench:
        recall = await a_recall(WRONG_TEXT, scope=scope)
        await bench.serves(recall)
        await bench.labelled(1)
        await bench.auditor.feedback("request-0", cid_of(recall), "invalid")
        floor = bench.labels.tightening.u_floor(cid_of(recall), 0.8)
        assert floor > 0
    written = (tmp_path / "labels.sqlite").read_bytes()
    assert (digest.encode() in written) is is_plain
    assert (marked(digest).encode() in written) is not is_plain
    async with start() as bench:
        assert bench.labels.tightening.u_floor(cid_of(recall), 0.8) == floor, "as before the restart"
