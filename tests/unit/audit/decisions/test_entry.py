"""Entries say why, and never what was asked or answered."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.audit.decisions.answer_entry import decision_entry, store_entry
from node.audit.decisions.entry import (
    Closed,
    PeerChange,
    anchor_entry,
    is_critical,
    key_entry,
    policy_entry,
    quarantine_entry,
    records_of,
    repair_entry,
    tombstone_entry,
    validation_entry,
)
from node.audit.decisions.entry_fields import KNOWN_CODES, PARTS_MAX, Entry, safe_code, safe_step
from node.audit.tlog import leaf
from node.core.ipld.cid import Cid
from node.core.model import (
    Answer,
    Caller,
    Confidence,
    Freshness,
    HitInfo,
    Kind,
    Query,
    Route,
    Source,
    SourceRef,
    Step,
    Usage,
)
from node.core.ports import EmbedderInfo

CANARY = "zanzibarcanary"
CID = str(Cid.of(b"a record"))
EMBEDDER = EmbedderInfo("all-MiniLM-L6-v2-int8@0123456789ab", "ab" * 32, 384, 256)
NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def an_answer(**changes: Any) -> Answer:
    query = Query(
        id="0123456789abcdef0123456789abcdef",
        asked=f"Price of {CANARY}?",
        text=f"Price of {CANARY}",
        caller=Caller("acme"),
        received=NOW,
        deadline=0.0,
    )
    route = Route(
        Kind.DETERMINISTIC,
        (Source.CACHE, Source.ADAPTER, Source.MODEL),
        0.9,
        f"price words and {CANARY}",
        adapter="coingecko",
        slots={"ids": (CANARY,), "vs": "usd"},
        key=f"price:{CANARY}:usd",
    )
    answer = Answer(
        query=query,
        text=f"{CANARY} costs 5 USD.",
        route=route,
        source=SourceRef("adapter", "coingecko"),
        confidence=Confidence(0.93, {"reliability": 0.95, "completeness": 1.0}),
        freshness=Freshness.PRICE,
        trace=(
            Step("recall", "miss", "below_floor_x", 1.5),
            Step("adapter:coingecko", "found", f"price words and {CANARY}", 12.25),
            Step("remember", "stored", CANARY),
        ),
        usage=Usage(3, 4),
    )
    return replace(answer, **changes)


def entry_of(answer: Answer, scope: str = "shared") -> tuple[dict[str, Any], dict[str, str]]:
    entry, private = decision_entry(
        answer,
        policy="neuroswarm-0.1",
        embedder=EMBEDDER,
        will_store=True,
        store_reason="stored",
        scope=scope,
    )
    leaf.canonical(entry)  # it can be logged
    return entry, private


def test_a_served_answer() -> None:
    entry, private = entry_of(an_answer())
    assert entry["kind"] == "answer"
    assert entry["decision"] == "served"
    assert entry["request"] == "0123456789abcdef0123456789abcdef"
    assert entry["class"] == "deterministic"
    assert entry["floor_ppm"] == 900_000
    assert entry["confidence_ppm"] == 930_000
    assert entry["confidence_parts_ppm"] == {"completeness": 1_000_000, "reliability": 950_000}
    assert entry["source"] == {"kind": "adapter", "id": "coingecko"}
    assert entry["embedder"] == {"id": EMBEDDER.model, "digest": EMBEDDER.digest}
    assert entry["storage"] == {"decision": "will_store", "reason": "stored"}
    assert entry["policy"] == "neuroswarm-0.1"
    assert entry["scope"] == "shared"
    assert entry["sources"] == ["cache", "adapter", "model"]
    assert entry["adapters"] == [
        {
            "name": "coingecko",
            "why": "slots_matched",
            "slots": ["ids", "vs"],
            "asked": True,
            "outcome": "found",
            "latency_us": 12_250,
        }
    ]
    assert entry["steps"][0] == {
        "stage": "recall",
        "outcome": "miss",
        "reason": "below_floor_x",
        "latency_us": 1_500,
    }
    assert private == {"query": f"Price of {CANARY}", "answer": f"{CANARY} costs 5 USD.", "tenant": "acme"}


def test_no_word_of_the_question_is_in_the_entry() -> None:
    entry, _ = entry_of(an_answer())
    assert CANARY not in json.dumps(entry)
    assert "acme" not in json.dumps(entry)
    assert entry["steps"][1]["reason"] == "other"
    assert entry["steps"][2]["reason"] == "other", "a slot value that looks like a code is no code"


def test_a_hit_is_explained_in_numbers_and_its_private_cid_is_committed() -> None:
    hit = HitInfo("semantic", 0.912, 0.85, 0.9, 0.99, 12, "local", f"same as {CANARY}")
    entry, private = entry_of(an_answer(hit=hit, cid=CID, source=SourceRef("cache", "coingecko")))
    assert entry["hit"] == {
        "kind": "semantic",
        "similarity_ppm": 912_000,
        "confidence_ppm": 930_000,
        "threshold_ppm": 900_000,
        "score_ppm": 850_000,
        "p_correct_ppm": 990_000,
        "age_s": 12,
        "origin": "local",
        "reason": "other",
    }
    assert entry["cid"] is None
    assert private["cid"] == CID
    assert CID not in json.dumps(entry)


def test_a_public_cid_is_named() -> None:
    entry, private = entry_of(an_answer(cid=CID), scope="public")
    assert entry["cid"] == CID
    assert entry["scope"] == "public"
    assert "cid" not in private


def test_a_private_scope_does_not_name_its_tenant() -> None:
    entry, private = entry_of(an_answer(cid=CID), scope="private:acme")
    assert entry["scope"] == "private"
    assert private["cid"] == CID


@pytest.mark.parametrize("kind", ["documents", "client", "cache", "extractive"])
def test_a_source_that_a_user_named_is_committed(kind: str) -> None:
    entry, private = entry_of(an_answer(source=SourceRef(kind, "salaries_2026")))
    assert entry["source"] == {"kind": kind, "id": None}
    assert private["source"] == "salaries_2026"


def test_a_model_is_named_with_its_digest() -> None:
    entry, _ = entry_of(an_answer(source=SourceRef("llm", "ollama/llama3.2:3b", digest="cd" * 32)))
    assert entry["model"] == {"id": "ollama/llama3.2:3b", "digest": "cd" * 32}


@pytest.mark.parametrize(
    ("source", "kind", "decision"),
    [("statement", "answer", "acknowledged"), ("fallback", "refuse", "refused"), ("llm", "answer", "served")],
)
def test_what_was_decided(source: str, kind: str, decision: str) -> None:
    entry, _ = entry_of(an_answer(source=SourceRef(source, "x")))
    assert (entry["kind"], entry["decision"]) == (kind, decision)


def test_parts_of_a_composite_answer() -> None:
    part = an_answer(cid=CID)
    entry, private = entry_of(
        an_answer(parts=(part,) * (PARTS_MAX + 3), source=SourceRef("composite", "composite"))
    )
    assert len(entry["parts"]) == PARTS_MAX
    assert entry["parts_left_out"] == 3
    assert entry["parts"][0]["class"] == "deterministic"
    assert private["cid_1"] == CID
    assert CANARY not in json.dumps(entry)


def test_the_largest_answer_still_fits() -> None:
    steps = tuple(Step("s" * 40, "o" * 40, "r" * 40, 999_999.9) for _ in range(200))
    parts = {f"part_{n:034}": 0.5 for n in range(40)}
    hit = HitInfo("k" * 40, 0.5, 0.5, 0.5, 0.5, 10**9, "o" * 128, "r" * 40)
    part = an_answer(
        trace=steps,
        confidence=Confidence(0.5, parts),
        hit=hit,
        source=SourceRef("llm", "m" * 128, digest="ab" * 32),
    )
    entry, private = entry_of(replace(part, parts=(part,) * 40))
    entry["commitments"] = dict.fromkeys(private, "00" * 32)
    leaf.canonical(entry)


def test_numbers_that_are_none_become_null() -> None:
    nan = float("nan")
    hit = HitInfo("semantic", nan, float("inf"), None, None, -5, "local", "")
    entry, _ = entry_of(
        an_answer(hit=hit, confidence=Confidence(nan, {"x": nan}), trace=(Step("a", "b", "", nan),))
    )
    assert entry["confidence_ppm"] is None
    assert entry["hit"]["similarity_ppm"] is None
    assert entry["hit"]["age_s"] == 0
    assert entry["steps"][0]["latency_us"] is None


def test_a_request_id_of_another_shape_is_committed() -> None:
    answer = an_answer()
    entry, private = entry_of(replace(answer, query=replace(answer.query, id="mail@example.org ü")))
    assert entry["request"] is None
    assert private["request"] == "mail@example.org ü"


TEXTS = st.text(max_size=30) | st.sampled_from(sorted(KNOWN_CODES))


@given(TEXTS, TEXTS, TEXTS)
def test_any_step_becomes_codes(stage: str, outcome: str, reason: str) -> None:
    leaf.canonical(safe_step(Step(stage, outcome, reason), asked="some question"))


@pytest.mark.parametrize("words", ["Not A Code", "a b", "x" * 41, "naïve", "price:btc", CID, "ab" * 32])
def test_what_is_no_code_is_other(words: str) -> None:
    assert safe_code(words) == "other"


def test_a_known_code_stays_even_when_asked_for() -> None:
    assert safe_code("timeout", asked="what is a timeout") == "timeout"
    assert safe_code("bitcoin", asked="price of bitcoin") == "other"
    assert safe_code("") == ""


def test_other_kinds() -> None:
    stored, private = store_entry(
        request="r1",
        outcome="stored",
        reason="stored",
        scope="shared",
        policy="p",
        cid=CID,
        expires=NOW,
        confidence=0.9,
    )
    assert stored["decision"] == "stored"
    assert stored["expires_s"] == 1_795_262_400
    assert stored["cid"] is None
    assert private == {"cid": CID}
    failed, _ = store_entry(
        request="r1", outcome="failed", reason="disk full now", scope="public", policy="p"
    )
    assert (failed["decision"], failed["reason"]) == ("not_stored", "other")
    verdict, private = validation_entry(
        target=CID, verdict="invalid", scope="private:acme", policy="p", tenant="acme", cid=CID
    )
    assert (verdict["verdict"], verdict["target"], verdict["scope"]) == ("invalid", None, "private")
    assert private == {"tenant": "acme", "target": CID, "cid": CID}
    buried, private = tombstone_entry(target=CID, reason="client_delete", scope="public", policy="p")
    assert (buried["target"], private) == (CID, {})
    started, _ = policy_entry(event="start", policy="p", software="neuroswarm-0.1", settings_digest="ab" * 32)
    repaired, _ = repair_entry(bytes_cut=17, entries_replayed=3, keys_without_entry=0)
    assert (repaired["bytes_cut"], repaired["entries_replayed"]) == (17, 3)
    for entry in (stored, failed, verdict, buried, started, repaired):
        assert entry["v"] == 1
        leaf.canonical(entry)


ROOT_ID = "z6MkkPmtLvosi5WkDU4JyrzC5zBfWe7tvXVmuAe6y3Lwv9rd"
VKEY = f"{ROOT_ID}.neuroswarm/decisions+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"


def test_a_log_that_follows_names_what_it_follows() -> None:
    before = Closed(f"{ROOT_ID}.neuroswarm/decisions", 7, "ab" * 32)
    entry, private = policy_entry(event="epoch", policy="p", reason="recover", previous=before, kept_size=5)
    assert entry["previous"] == {"origin": before.origin, "size": 7, "root": before.root}
    assert (entry["event"], entry["reason"], entry["kept_size"], private) == ("epoch", "recover", 5, {})
    started, _ = policy_entry(event="start", policy="p")
    assert started.keys() == entry.keys(), "equal kinds have equal members"
    assert is_critical(entry)
    assert not is_critical(started)


def test_a_peer_is_named_by_its_root_and_never_by_its_address() -> None:
    root = f"did:key:{ROOT_ID}"
    change = PeerChange("operator", root, ("unknown", "trusted"), (None, "family"))
    entry, private = policy_entry(event="peer_standing", policy="p", peer=change)
    assert (entry["event"], private) == ("peer_standing", {})
    assert entry["peer"] == {
        "by": "operator",
        "root": root,
        "level": {"from": "unknown", "to": "trusted"},
        "group": {"from": None, "to": "family"},
    }
    polled = PeerChange("operator", None, address="http://peer.example")
    followed, private = policy_entry(event="peer_followed", policy="p", peer=polled)
    assert private == {"address": "http://peer.example"}
    assert followed["peer"] == {"by": "operator", "root": None, "level": None, "group": None}
    started, _ = policy_entry(event="start", policy="p")
    assert started.keys() == entry.keys(), "equal kinds have equal members"
    dropped, _ = policy_entry(event="peer_dropped", policy="p", reason="equivocation", peer=polled)
    assert [is_critical(one) for one in (entry, dropped, followed)] == [True, True, False]
    for one in (entry, followed, dropped):
        leaf.canonical(one)


def test_a_rotation_names_both_keys_and_their_certificates() -> None:
    entry, private = key_entry(
        use="decisions",
        event="rotated",
        old="did:key:z6MkOld",
        new="did:key:z6MkNew",
        old_vkey=VKEY,
        new_vkey=VKEY,
        certificates=[CID, "no cid"],
        old_until=NOW,
        policy="p",
    )
    assert entry["old"] == {"key": "did:key:z6MkOld", "vkey": VKEY, "until_s": 1_795_262_400}
    assert entry["new"] == {"key": "did:key:z6MkNew", "vkey": VKEY}
    assert (entry["certificates"], entry["decision"], private) == ([CID], "key_rotated", {})
    unsigned, _ = key_entry(
        use="node",
        event="rotated",
        old="did:key:z6MkOld",
        new="did:key:z6MkNew",
        old_vkey="",
        new_vkey="",
        certificates=[],
        old_until=NOW,
        policy="p",
    )
    assert unsigned["old"] == {"key": "did:key:z6MkOld", "vkey": None, "until_s": 1_795_262_400}


@pytest.mark.parametrize(("state", "decision"), [("pending", "submitted"), ("attested", "anchored")])
def test_an_anchor_is_never_called_more_than_it_is(state: str, decision: str) -> None:
    entry, _ = anchor_entry(
        log=f"{ROOT_ID}.neuroswarm/decisions",
        size=9,
        digest="ab" * 32,
        calendar="calendar.example.org",
        state=state,
        policy="p",
        block_height=None if state == "pending" else 900_000,
    )
    assert (entry["state"], entry["decision"], entry["size"]) == (state, decision, 9)
    assert not is_critical(entry), "an anchor that asked for an anchor would never end"


def test_a_quarantine_says_why_and_how_far() -> None:
    entry, private = quarantine_entry(target=CID, reason="invalid", scope="shared", policy="p")
    assert (entry["reason"], entry["held_back_ppm"], entry["target"]) == ("invalid", None, None)
    assert private == {"target": CID}
    near, _ = quarantine_entry(target=CID, reason="wrong", scope="public", policy="p", held_back_at=0.8125)
    assert (near["held_back_ppm"], near["target"]) == (812_500, CID)
    assert is_critical(near)


def test_what_an_entry_is_about() -> None:
    part = an_answer(cid=CID)
    other = str(Cid.of(b"another record"))
    composite = an_answer(parts=(part, replace(part, cid=other)), source=SourceRef("composite", "composite"))
    for scope in ("shared", "public"):
        assert set(records_of(*entry_of(composite, scope))) == {CID, other}
    entries: list[Entry] = [
        validation_entry(target=CID, verdict="valid", scope="shared", policy="p", cid=other),
        tombstone_entry(target=CID, reason="client_delete", scope="public", policy="p", cid=other),
    ]
    for entry in entries:
        assert set(records_of(*entry)) == {CID, other}
    assert records_of(*entry_of(an_answer())) == ()
