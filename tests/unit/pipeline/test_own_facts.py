"""Questions about the node itself: which are read as such, what is said, and what is kept to oneself."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from node.audit.decisions.answer_entry import decision_entry
from node.cache.index.flat_index import FlatIndex
from node.core.caller import Caller
from node.core.errors import Unavailable
from node.core.model import (
    CERTAIN,
    Answer,
    Confidence,
    Found,
    Freshness,
    HitInfo,
    Kind,
    Query,
    Route,
    Source,
    SourceRef,
    Unclear,
)
from node.core.ports import RecordStore
from node.core.record import RecordSource
from node.pipeline.own_facts import SESSIONS_MAX, OwnFacts, _patterns
from tests.each import each
from tests.manual_clock import ManualClock
from tests.record_builders import START, Author
from tests.references.record_store import MemoryStore
from tests.simulators.hash_embedder import HashEmbedder
from tests.simulators.semantics import OneModel
from tests.unit.pipeline.tables import cells, sections

US = Author(1)
ASKS = sections(__file__, "own_facts.txt")
OTHERS, SAID = ASKS.pop("others"), ASKS.pop("said")
HIT = HitInfo("exact", 1.0, 0.9, None, None, 5, "coingecko", "the same question")
LLM = SourceRef("llm", "x")


def node(store: MemoryStore | None = None, *, embeds: bool = False) -> OwnFacts:
    records: RecordStore = (store or MemoryStore(own_issuer=US.did)).records
    return OwnFacts(records, OneModel(HashEmbedder(8), FlatIndex(8)) if embeds else OneModel())


def query(text: str, session: str | None = "s", tenant: str = "local") -> Query:
    clock = ManualClock(START + timedelta(days=1))
    caller = Caller(tenant=tenant)
    return Query("id", text, text, caller, clock.now(), clock.monotonic() + 8, session=session)


async def say(facts: OwnFacts, text: str, session: str | None = "s", tenant: str = "local") -> str:
    asked = query(text, session, tenant)
    recognition = facts.recognise(text, asked.local)
    assert recognition is not None, text
    outcome = await facts.ask(recognition, asked)
    assert isinstance(outcome, Found)
    return outcome.evidence.text


def hear(facts: OwnFacts, text: str, source: SourceRef, *, session: str | None = "s", **more: Any) -> None:
    route = Route(Kind.GENERATIVE, (Source.CACHE, Source.MODEL), 0.7, "asks for an explanation")
    answer = Answer(
        query(text, session), "An answer.", route, source, Confidence(0.87, {"completeness": 1.0}),
        Freshness.GENERAL, **more,
    )  # fmt: skip
    entry, _ = decision_entry(
        answer, policy="1", embedder=None, will_store=False, store_reason="", scope="shared"
    )
    facts.hear(answer, entry)


@each(("metric", "text"), [(metric, text) for metric in ASKS for text in ASKS[metric]])
def test_the_question_is_read(metric: str, text: str) -> None:
    found = node().recognise(text, START)
    assert found is not None
    assert (found.slots["metric"], found.about_node, found.key) == (metric, True, None)
    assert found.strength >= CERTAIN


@each("text", OTHERS)
def test_another_question_is_not_claimed(text: str) -> None:
    assert node().recognise(text, START) is None


async def test_the_last_answer_of_the_session_is_told() -> None:
    facts = node()
    hear(facts, "why is the sky blue", SourceRef("llm", "ollama/tiny"))
    assert await say(facts, "what was my last question") == "Your last question was “why is the sky blue”."
    said = await say(facts, "which adapter answered that")
    assert said == "“why is the sky blue” was answered by the language model ollama/tiny."
    assert "confidence of 0.87, from completeness 1.00" in await say(facts, "how sure are you about that")
    why = await say(facts, "why did you say that")
    assert "an explanation, an opinion or general knowledge" in why
    assert "Why: asks for an explanation." in why
    assert "was not stored" in await say(facts, "which cid holds that")


async def test_other_sessions_and_tenants_are_told_nothing() -> None:
    facts = node()
    hear(facts, "my secret question", LLM)
    for session, tenant in (("t", "local"), ("s", "other"), (None, "local")):
        said = await say(facts, "what was my last question", session, tenant)
        assert "secret" not in said
    assert "on its own" in await say(facts, "what was my last question", None)


async def test_its_own_answers_are_no_turns_and_sessions_are_bounded() -> None:
    facts = node()
    hear(facts, "why is the sky blue", LLM)
    own = query("which adapter answered that")
    route = Route(Kind.HISTORICAL, (), None, "asks about the node itself", about_node=True)
    told = SourceRef("adapter", "node-facts")
    facts.hear(Answer(own, "…", route, told, Confidence(1.0, {}), Freshness.COMPUTED), {})
    assert "sky" in await say(facts, "what was my last question")
    for number in range(SESSIONS_MAX):
        hear(facts, "another", LLM, session=f"n{number}")
    assert "sky" not in await say(facts, "what was my last question")


@pytest.mark.parametrize("embeds", [False, True])
async def test_records_are_found_by_their_topic_among_those_that_the_caller_may_see(embeds: bool) -> None:
    store = MemoryStore(own_issuer=US.did)
    source = RecordSource("adapter", "wikipedia")
    kept = await store.records.add(US.answer("What is IPFS?", source=source))
    await store.records.add(US.answer("Does the node need an IPFS daemon?"))
    hidden = await store.records.add(US.answer("ipfs plans of Ann", scope="private:ann"))
    facts = node(store, embeds=embeds)
    assert str(kept.cid) in await say(facts, "which cid holds the answer about ipfs")
    said = await say(facts, "when was the answer about ipfs stored")
    assert said == "The answer to “What is IPFS” is stored since 2026-01-01 12:00 UTC."
    assert "the adapter wikipedia" in await say(facts, "which adapter answered the question about ipfs")
    said = await say(facts, "which cid holds the answer about ipfs plans")
    assert said == "Nothing that is stored here and that you may see is about “ipfs plans”."
    assert str(hidden.cid) in await say(facts, "which cid holds the answer about ipfs plans", tenant="ann")


async def test_answers_are_counted_by_day_and_by_who_may_see_them() -> None:
    store = MemoryStore(own_issuer=US.did)
    await store.records.add(US.answer("of yesterday"))
    await store.records.add(US.answer("of today", timestamp=START + timedelta(days=1)))
    await store.records.add(US.answer("of Ann", scope="private:ann", timestamp=START + timedelta(days=1)))
    facts = node(store)
    assert await say(facts, "how many entries do you have") == "2 answers that you may see are stored here."
    said = await say(facts, "how many answers were stored today")
    assert said == "1 answer that you may see was stored today and kept since."
    assert (await say(facts, "how many answers were stored yesterday")).startswith("1 answer ")
    assert (await say(facts, "how many entries do you have", tenant="ann")).startswith("3 answers ")


async def test_a_record_that_went_is_said_to_have_gone() -> None:
    store = MemoryStore(own_issuer=US.did)
    stored = await store.records.add(US.answer("What is IPFS?"))
    facts = node(store)
    hear(facts, "what is ipfs", SourceRef("cache", "starter"), cid=str(stored.cid))
    assert "is stored as" in await say(facts, "which cid holds that")
    await store.records.withdraw(stored.cid, "test")
    assert "is not kept any more" in await say(facts, "which cid holds that")


async def test_each_part_has_its_source() -> None:
    facts = node()
    whole = query("what is 2+2 and who is ann")
    route = Route(Kind.GENERATIVE, (), None, "x")
    parts = tuple(
        Answer(query(text), "…", route, SourceRef("adapter", name), Confidence(1.0, {}), Freshness.COMPUTED)
        for text, name in (("what is 2+2", "math-calculator"), ("who is ann", "wikipedia"))
    )
    joined = replace(parts[0], query=whole, parts=parts, source=SourceRef("composite", "composite"))
    facts.hear(joined, {})
    said = await say(facts, "which adapter answered that")
    assert "“what is 2+2” by the adapter math-calculator; “who is ann” by the adapter wikipedia" in said


async def test_questions_and_hits_are_counted_for_the_caller_since_the_start() -> None:
    facts = node()
    hear(facts, "why is the sky blue", LLM, session=None)
    hear(facts, "what is ipfs", SourceRef("cache", "local"), hit=HIT)
    hear(facts, "what is it", SourceRef("fallback", "fallback"))
    said = await say(facts, "how many questions were answered today")
    assert said.startswith(
        "Questions of yours that were answered today: 2, of them 1 from what is stored here."
    )
    assert "in memory only" in said
    assert await say(facts, "how many cache hits today", None) == said
    assert "yesterday: 0," in await say(facts, "how many questions were answered yesterday")
    assert "today: 0," in await say(facts, "how many cache hits today", tenant="ann")
    assert "so far: 2," in await say(facts, "how many questions did you answer")


@each("row", SAID)
async def test_the_answer_is_in_the_language_of_the_question(row: str) -> None:
    text, said = cells(row)
    facts = node()
    hear(facts, "what is ipfs", SourceRef("cache", "starter"), hit=HIT)
    assert said in await say(facts, text)


async def test_every_reply_is_there_in_every_language() -> None:
    *_, replies = _patterns()
    full = set(replies["de"])
    for code, one in replies.items():
        missing = {key for key in full - set(one) if not (code == "en" and key.startswith("why_"))}
        assert not missing, code
        assert set(one) <= full
    for code in replies:
        for key in full & set(replies[code]):
            fields = [set(re.findall(r"\{(\w+)\}", replies[one][key])) for one in (code, "de")]
            assert fields[0] == fields[1], (code, key)


async def test_a_topic_may_stand_before_the_answer() -> None:
    store, text = MemoryStore(own_issuer=US.did), "what's the CID for the IPFS answer"
    kept = await store.records.add(US.answer("What is IPFS?"))
    assert str(kept.cid) in await say(node(store), text)
    found = node().recognise(text, START)
    assert found is not None
    assert found.slots["topic"] == "ipfs"


async def test_records_that_cannot_be_read_are_told_plainly_and_the_reason_is_for_the_trace(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = MemoryStore(own_issuer=US.did)

    async def broken(**_: object) -> int:
        raise Unavailable("state.sqlite: disk I/O error")

    monkeypatch.setattr(store.records, "tally", broken)
    facts, text = node(store), "wie viele antworten wurden heute gespeichert"
    recognition = facts.recognise(text, START)
    assert recognition is not None
    outcome = await facts.ask(recognition, query(text))
    assert isinstance(outcome, Unclear)
    assert "sqlite" in outcome.reason
    assert outcome.ask.startswith("Ich konnte gerade nicht in meinen eigenen Aufzeichnungen nachsehen")
