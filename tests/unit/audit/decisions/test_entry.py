"""Entries say why, and never what was asked or answered."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.audit.decisions.answer_entry import decision_entry, store_entry
from node.audit.decisions.entry import (
    Closed,
    PeerChange,
    anchor_entry,
    audit_entry,
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
from node.core.caller import Caller
from node.core.ipld.cid import Cid
from node.core.model import (
    Answer,
    Client,
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

Made: TypeAlias = tuple[dict[str, Any], dict[str, str]]

CANARY = "zanzibarcanary"
CID, OTHER = str(Cid.of(b"a record")), str(Cid.of(b"another record"))
EMBEDDER = EmbedderInfo("all-MiniLM-L6-v2-int8@0123456789ab", "ab" * 32, 384, 256)
NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
NOW_S = 1_795_262_400
COMPOSITE = SourceRef("composite", "composite")

QUERY = Query(
    id="0123456789abcdef0123456789abcdef",
    asked=f"Price of {CANARY}?",
    text=f"Price of {CANARY}",
    caller=Caller("acme"),
    received=NOW,
    deadline=0.0,
)
ROUTE = Route(
    Kind.DETERMINISTIC,
    (Source.CACHE, Source.ADAPTER, Source.MODEL),
    0.9,
    f"price words and {CANARY}",
    adapter="coingecko",
    slots={"ids": (CANARY,), "vs": "usd"},
    key=f"price:{CANARY}:usd",
)
STEPS = (
    Step("recall", "miss", "below_floor_x", 1.5),
    Step("adapter:coingecko", "found", f"price words and {CANARY}", 12.25),
    Step("remember", "stored", CANARY),
)
ANSWER = Answer(
    query=QUERY,
    text=f"{CANARY} costs 5 USD.",
    route=ROUTE,
    source=SourceRef("adapter", "coingecko"),
    confidence=Confidence(0.93, {"reliability": 0.95, "completeness": 1.0}),
    freshness=Freshness.PRICE,
    trace=STEPS,
    usage=Usage(3, 4),
)


def entry_of(scope: str = "shared", of: Answer = ANSWER, **changes: Any) -> Made:
    """The entry of an answer with these changes, which can be logged."""
    entry, private = decision_entry(
        replace(of, **changes),
        policy="neuroswarm-0.1",
        embedder=EMBEDDER,
        will_store=True,
        store_reason="stored",
        scope=scope,
    )
    leaf.canonical(entry)
    return entry, private


ASKED = {"name": "coingecko", "asked": True, "outcome": "found", "latency_us": 12_250}


def test_a_served_answer() -> None:
    entry, private = entry_of()
    expected = {
        "kind": "answer",
        "decision": "served",
        "request": QUERY.id,
        "class": "deterministic",
        "floor_ppm": 900_000,
        "confidence_ppm": 930_000,
        "confidence_parts_ppm": {"completeness": 1_000_000, "reliability": 950_000},
        "source": {"kind": "adapter", "id": "coingecko", "client": None},
        "embedder": {"id": EMBEDDER.model, "digest": EMBEDDER.digest},
        "storage": {"decision": "will_store", "reason": "stored"},
        "policy": "neuroswarm-0.1",
        "scope": "shared",
        "sources": ["cache", "adapter", "model"],
        "adapters": [{**ASKED, "why": "slots_matched", "slots": ["ids", "vs"]}],
    }
    assert {name: entry[name] for name in expected} == expected
    recall = {"stage": "recall", "outcome": "miss", "reason": "below_floor_x", "latency_us": 1_500}
    assert entry["steps"][0] == recall
    assert private == {"query": f"Price of {CANARY}", "answer": f"{CANARY} costs 5 USD.", "tenant": "acme"}


def test_no_word_of_the_question_is_in_the_entry() -> None:
    entry, _ = entry_of()
    assert CANARY not in json.dumps(entry)
    assert "acme" not in json.dumps(entry)
    assert entry["steps"][1]["reason"] == "other"
    assert entry["steps"][2]["reason"] == "other", "a slot value that looks like a code is no code"


def test_a_hit_is_explained_in_numbers_and_its_private_cid_is_committed() -> None:
    hit = HitInfo("semantic", 0.912, 0.85, 0.9, 0.99, 12, "local", f"same as {CANARY}")
    entry, private = entry_of(hit=hit, cid=CID, source=SourceRef("cache", "coingecko"))
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
    assert (entry["cid"], private["cid"]) == (None, CID)
    assert CID not in json.dumps(entry)


@pytest.mark.parametrize(
    ("scope", "told", "cid", "committed"),
    [
        ("public", "public", CID, None),
        ("shared", "shared", None, CID),
        ("private:acme", "private", None, CID),
    ],
)
def test_only_a_public_record_is_named_and_no_tenant(
    scope: str, told: str, cid: str | None, committed: str | None
) -> None:
    entry, private = entry_of(scope, cid=CID)
    assert (entry["scope"], entry["cid"], private.get("cid")) == (told, cid, committed)


@pytest.mark.parametrize("kind", ["documents", "client", "cache", "extractive"])
def test_a_source_that_a_user_named_is_committed(kind: str) -> None:
    entry, private = entry_of(source=SourceRef(kind, "salaries_2026"))
    assert entry["source"] == {"kind": kind, "id": None, "client": None}
    assert private["source"] == "salaries_2026"


@pytest.mark.parametrize(
    ("scope", "by", "shown"),
    [
        ("shared", "local", "local"),
        ("private:ann", "local", "local"),
        ("public", "k-ann", "k-ann"),
        ("shared", "k-ann", "k-ann"),
        ("private:ann", "k-ann", None),
        ("shared", "a peer's client", None),
    ],
)
def test_who_stored_an_answer_is_said_and_what_it_claims_is_not(
    scope: str, by: str, shown: str | None
) -> None:
    source = SourceRef("cache", by, client=Client(by, "wikipedia"))
    entry, private = entry_of(scope, source=source)
    assert entry["source"] == {"kind": "cache", "id": None, "client": shown}
    assert private.get("client") == (by if shown is None else None)
    assert "wikipedia" not in str(entry)
    stored, sealed = store_entry(
        request="r", outcome="stored", reason="stored", scope=scope, policy="p", client=source.client
    )
    assert (stored["client"], sealed.get("client")) == (shown, private.get("client"))


def test_a_model_is_named_with_its_digest() -> None:
    entry, _ = entry_of(source=SourceRef("llm", "ollama/llama3.2:3b", digest="cd" * 32))
    assert entry["model"] == {"id": "ollama/llama3.2:3b", "digest": "cd" * 32}


@pytest.mark.parametrize(
    ("source", "kind", "decision"),
    [("statement", "answer", "acknowledged"), ("fallback", "refuse", "refused"), ("llm", "answer", "served")],
)
def test_what_was_decided(source: str, kind: str, decision: str) -> None:
    entry, _ = entry_of(source=SourceRef(source, "x"))
    assert (entry["kind"], entry["decision"]) == (kind, decision)


def test_parts_of_a_composite_answer() -> None:
    entry, private = entry_of(parts=(replace(ANSWER, cid=CID),) * (PARTS_MAX + 3), source=COMPOSITE)
    assert (len(entry["parts"]), entry["parts_left_out"]) == (PARTS_MAX, 3)
    assert entry["parts"][0]["class"] == "deterministic"
    assert private["cid_1"] == CID
    assert CANARY not in json.dumps(entry)


def test_the_largest_answer_still_fits() -> None:
    part = replace(
        ANSWER,
        trace=tuple(Step("s" * 40, "o" * 40, "r" * 40, 999_999.9) for _ in range(200)),
        confidence=Confidence(0.5, {f"part_{n:034}": 0.5 for n in range(40)}),
        hit=HitInfo("k" * 40, 0.5, 0.5, 0.5, 0.5, 10**9, "o" * 128, "r" * 40),
        source=SourceRef("llm", "m" * 128, digest="ab" * 32),
    )
    entry, private = entry_of(of=part, parts=(part,) * 40)
    entry["commitments"] = dict.fromkeys(private, "00" * 32)
    leaf.canonical(entry)


def test_numbers_that_are_none_become_null() -> None:
    nan = float("nan")
    hit = HitInfo("semantic", nan, float("inf"), None, None, -5, "local", "")
    entry, _ = entry_of(hit=hit, confidence=Confidence(nan, {"x": nan}), trace=(Step("a", "b", "", nan),))
    assert entry["confidence_ppm"] is None
    assert (entry["hit"]["similarity_ppm"], entry["hit"]["age_s"]) == (None, 0)
    assert entry["steps"][0]["latency_us"] is None


def test_a_request_id_of_another_shape_is_committed() -> None:
    entry, private = entry_of(query=replace(QUERY, id="mail@example.org ü"))
    assert (entry["request"], private["request"]) == (None, "mail@example.org ü")


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


DIGEST = "ab" * 32
PUBLIC: dict[str, Any] = {"scope": "public", "policy": "p"}
SHARED, PRIVATE = PUBLIC | {"scope": "shared"}, PUBLIC | {"scope": "private:acme", "tenant": "acme"}
STORED: dict[str, Any] = {"request": "r1", "reason": "stored", "cid": CID, "expires": NOW, "confidence": 0.9}
FAILED: dict[str, Any] = {"request": "r1", "reason": "disk full now"}
JUDGED: dict[str, Any] = {"target": CID, "verdict": "invalid", "cid": CID}
BEGUN: dict[str, Any] = {"software": "neuroswarm-0.1", "settings_digest": DIGEST}
REPAIRED = {"bytes_cut": 17, "entries_replayed": 3, "keys_without_entry": 0}
AIMED: dict[str, Any] = {"target": CID}
NOT_STORED, OF_A_TENANT = {"decision": "not_stored", "reason": "other"}, {"target": None, "scope": "private"}
KINDS = ["stored", "stored for all", "failed", "judged", "judged by a tenant", "buried", "begun", "repaired"]


@pytest.mark.parametrize(
    ("made", "members", "private"),
    [
        (store_entry(outcome="stored", **STORED, **SHARED), {"expires_s": NOW_S, "cid": None}, {"cid": CID}),
        (store_entry(outcome="stored", **STORED, **PUBLIC), {"decision": "stored", "cid": CID}, {}),
        (store_entry(outcome="failed", **FAILED, **PUBLIC), NOT_STORED, {}),
        (validation_entry(**JUDGED, **PUBLIC), {"verdict": "invalid", "target": CID, "scope": "public"}, {}),
        (validation_entry(**JUDGED, **PRIVATE), OF_A_TENANT, {"tenant": "acme", "target": CID, "cid": CID}),
        (tombstone_entry(reason="client_delete", **AIMED, **PUBLIC), {"target": CID}, {}),
        (policy_entry(event="start", policy="p", **BEGUN), {"event": "start"}, {}),
        (repair_entry(**REPAIRED), REPAIRED, {}),
        (
            quarantine_entry(reason="invalid", **AIMED, **SHARED),
            {"held_back_ppm": None, "target": None},
            AIMED,
        ),
        (
            quarantine_entry(reason="x", held_back_at=0.8125, **AIMED, **PUBLIC),
            {"held_back_ppm": 812_500},
            {},
        ),
    ],
    ids=[*KINDS, "out of service", "held back"],
)
def test_other_kinds(made: Made, members: dict[str, Any], private: dict[str, str]) -> None:
    entry, committed = made
    assert entry["v"] == 1
    assert {name: entry[name] for name in members} == members
    assert committed == private
    leaf.canonical(entry)


ROOT_ID = "z6MkkPmtLvosi5WkDU4JyrzC5zBfWe7tvXVmuAe6y3Lwv9rd"
VKEY = f"{ROOT_ID}.neuroswarm/decisions+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
STARTED, _ = policy_entry(event="start", policy="p")


def test_a_log_that_follows_names_what_it_follows() -> None:
    before = Closed(f"{ROOT_ID}.neuroswarm/decisions", 7, DIGEST)
    entry, private = policy_entry(event="epoch", policy="p", reason="recover", previous=before, kept_size=5)
    assert entry["previous"] == {"origin": before.origin, "size": 7, "root": before.root}
    assert (entry["event"], entry["reason"], entry["kept_size"], private) == ("epoch", "recover", 5, {})
    assert STARTED.keys() == entry.keys(), "equal kinds have equal members"
    assert is_critical(entry)
    assert not is_critical(STARTED)


def test_a_peer_is_named_by_its_root_and_never_by_its_address() -> None:
    root = f"did:key:{ROOT_ID}"
    change = PeerChange("operator", root, ("unknown", "trusted"), (None, "family"))
    entry, private = policy_entry(event="peer_standing", policy="p", peer=change)
    assert (entry["event"], private) == ("peer_standing", {})
    changed = {"level": {"from": "unknown", "to": "trusted"}, "group": {"from": None, "to": "family"}}
    assert entry["peer"] == {"by": "operator", "root": root, **changed}
    polled = PeerChange("operator", None, address="http://peer.example")
    followed, private = policy_entry(event="peer_followed", policy="p", peer=polled)
    assert private == {"address": "http://peer.example"}
    assert followed["peer"] == {"by": "operator", "root": None, "level": None, "group": None}
    assert STARTED.keys() == entry.keys(), "equal kinds have equal members"
    dropped, _ = policy_entry(event="peer_dropped", policy="p", reason="equivocation", peer=polled)
    assert [is_critical(one) for one in (entry, dropped, followed)] == [True, True, False]
    for one in (entry, followed, dropped):
        leaf.canonical(one)


@pytest.mark.parametrize("vkey", [VKEY, ""])
def test_a_rotation_names_both_keys_and_their_certificates(vkey: str) -> None:
    old, new = "did:key:z6MkOld", "did:key:z6MkNew"
    keys: dict[str, Any] = {"old": old, "new": new, "old_vkey": vkey, "new_vkey": vkey}
    certificates = [CID, "no cid"]
    entry, private = key_entry(
        use="decisions", event="rotated", **keys, certificates=certificates, old_until=NOW, policy="p"
    )
    assert entry["old"] == {"key": old, "vkey": vkey or None, "until_s": NOW_S}
    assert entry["new"] == {"key": new, "vkey": vkey or None}
    assert (entry["certificates"], entry["decision"], private) == ([CID], "key_rotated", {})


@pytest.mark.parametrize(
    ("state", "decision", "height"), [("pending", "submitted", None), ("attested", "anchored", 900_000)]
)
def test_an_anchor_is_never_called_more_than_it_is(state: str, decision: str, height: int | None) -> None:
    log, calendar = f"{ROOT_ID}.neuroswarm/decisions", "calendar.example.org"
    entry, _ = anchor_entry(
        log=log, size=9, digest=DIGEST, calendar=calendar, state=state, policy="p", block_height=height
    )
    assert (entry["state"], entry["decision"], entry["size"]) == (state, decision, 9)
    assert not is_critical(entry), "an anchor that asked for an anchor would never end"


def test_a_quarantine_is_critical() -> None:
    assert is_critical(quarantine_entry(target=CID, reason="wrong", **PUBLIC)[0])


@pytest.mark.parametrize("scope", ["shared", "public"])
def test_what_an_entry_is_about(scope: str) -> None:
    parts = (replace(ANSWER, cid=CID), replace(ANSWER, cid=OTHER))
    entries: list[Entry] = [
        entry_of(scope, parts=parts, source=COMPOSITE),
        validation_entry(target=CID, verdict="valid", cid=OTHER, **SHARED),
        tombstone_entry(target=CID, reason="client_delete", cid=OTHER, **PUBLIC),
    ]
    for entry in entries:
        assert set(records_of(*entry)) == {CID, OTHER}
    assert records_of(*entry_of()) == ()


# --- audits ---------------------------------------------------------------------------------------


def audited(scope: str = "public", **changes: Any) -> Made:
    fields: dict[str, Any] = {
        "reason": "other_figures",
        "question_class": "generative",
        "tier": "semantic",
        "similarity": 0.91,
        "u": 0.012,
        "compared_with": "llm",
    }
    return audit_entry(target=CID, verdict="wrong", scope=scope, policy="neuroswarm-1", **(fields | changes))


def test_an_audit_of_a_public_record_names_it() -> None:
    made, private = audited()
    assert made == {
        "v": 1,
        "kind": "audit",
        "policy": "neuroswarm-1",
        "decision": "audited",
        "verdict": "wrong",
        "reason": "other_figures",
        "class": "generative",
        "tier": "semantic",
        "similarity_ppm": 910_000,
        "u_ppm": 12_000,
        "compared_with": "llm",
        "scope": "public",
        "target": CID,
    }
    assert private == {}


@pytest.mark.parametrize(("scope", "told"), [("shared", "shared"), ("private:acme", "private")])
def test_an_audit_of_any_other_record_is_committed_to(scope: str, told: str) -> None:
    made, private = audited(scope, similarity=None, u=None)
    assert (made["target"], made["scope"]) == (None, told)
    assert (made["similarity_ppm"], made["u_ppm"]) == (None, None)
    assert private == {"target": CID}


def test_no_word_of_a_question_gets_into_an_audit() -> None:
    made, _ = audited(reason="zanzibar", compared_with="zanzibar spices", asked="where is zanzibar")
    assert (made["reason"], made["compared_with"]) == ("other", "other")
