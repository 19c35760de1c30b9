"""A leaf in plain words: everything that decided is said, and no leaf, however odd, breaks it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.audit.decisions.explain import LINE_CHARS_MAX, LINES_MAX, explain_leaf

ANSWER: dict[str, Any] = {
    "v": 1,
    "kind": "answer",
    "request": "ab" * 16,
    "policy": "neuroswarm-1",
    "scope": "shared",
    "has_context": False,
    "embedder": {"id": "all-MiniLM-L6-v2-int8@0123456789ab", "digest": "0" * 64},
    "storage": {"decision": "skipped", "reason": "from_cache"},
    "tokens": {"prompt": 11, "completion": 5},
    "class": "deterministic",
    "route_reason": "slots_matched",
    "floor_ppm": 900_000,
    "sources": ["cache", "adapter", "stale", "model"],
    "adapters": [
        {
            "name": "coingecko",
            "why": "slots_matched",
            "slots": ["ids", "vs"],
            "asked": False,
            "outcome": None,
            "latency_us": None,
        }
    ],
    "steps": [
        {"stage": "understand", "outcome": "deterministic", "reason": "slots_matched", "latency_us": 210},
        {"stage": "recall", "outcome": "hit", "reason": "gate_passed", "latency_us": 1_500},
    ],
    "steps_left_out": 2,
    "source": {"kind": "cache", "id": None},
    "model": None,
    "cid": None,
    "hit": {
        "kind": "semantic",
        "similarity_ppm": 943_210,
        "confidence_ppm": 950_000,
        "threshold_ppm": 900_000,
        "score_ppm": 896_049,
        "p_correct_ppm": 991_000,
        "u_ppm": 21_000,
        "age_s": 12,
        "origin": "coingecko",
        "reason": "gate_passed",
    },
    "stale": False,
    "freshness": "price",
    "decision": "served",
    "confidence_ppm": 950_000,
    "confidence_parts_ppm": {"source_reliability": 950_000, "completeness": 1_000_000},
    "parts": [],
    "parts_left_out": 0,
    "commitments": {"query": "1" * 64, "answer": "2" * 64, "tenant": "3" * 64},
}


def told(entry: object, **more: Any) -> str:
    return "\n".join(
        explain_leaf({"entry": entry, "seq": 17, "time_us": 1_790_000_000_000_000, "v": 2, **more})
    )


def test_an_answer_from_the_cache_says_how_it_was_found_and_why_it_was_let_through() -> None:
    text = told(ANSWER)
    for said in (
        "Entry 17 of the decision log, 2026-09-21 14:13:20 UTC.",
        "The node answered a question.",
        "deterministic: a tool can compute it or look it up exactly",
        "1. stored answers: used (hit, the gate found that it answers this question)",
        "2. adapters (exact sources): not reached",
        "coingecko: not asked; its patterns recognised the question and its particulars (ids, vs)",
        "similarity: 0.943",
        "least similarity for this kind: 0.900",
        "upper limit of being wrong (u): 0.021",
        "gate: the gate found that it answers this question",
        "12 s old",
        "Confidence: 0.950, from completeness 1.000, source reliability 0.950.",
        "Not kept: it came from the store.",
        "Embedding model: all-MiniLM-L6-v2-int8@0123456789ab, digest 000",
        "Tokens: 11 read, 5 written.",
        "Rules in force: neuroswarm-1.",
        "2 steps more",
        "Only as commitments, whose key can be destroyed: answer, query, tenant.",
    ):
        assert said in text, said


def test_an_answer_of_an_adapter_says_why_no_stored_one_was_used() -> None:
    entry = {
        **ANSWER,
        "hit": None,
        "source": {"kind": "adapter", "id": "coingecko"},
        "steps": [
            {"stage": "recall", "outcome": "miss", "reason": "veto_number", "latency_us": 9},
            {
                "stage": "adapter:coingecko",
                "outcome": "found",
                "reason": "slots_matched",
                "latency_us": 4_000,
            },
        ],
        "adapters": [{**ANSWER["adapters"][0], "asked": True, "outcome": "found", "latency_us": 4_000}],
        "storage": {"decision": "will_store", "reason": "stored"},
        "model": {"id": "llama3.2", "digest": None},
        "has_context": True,
        "stale": True,
    }
    text = told(entry)
    for said in (
        "1. stored answers: not used: miss, the two questions differ: number",
        "2. adapters (exact sources): used",
        "coingecko: asked, found, 4.0 ms",
        "The answer came from: the adapter coingecko.",
        "No stored answer was used: miss, the two questions differ: number.",
        "Kept: as a record named only as a commitment (stored).",
        "Language model: llama3.2.",
        "instructions of its own",
        "marked as stale",
    ):
        assert said in text, said


def test_each_part_of_a_question_is_explained() -> None:
    entry = {
        **ANSWER,
        "source": {"kind": "composite", "id": "2"},
        "parts": [ANSWER, ANSWER],
        "parts_left_out": 1,
    }
    text = told(entry)
    assert "Part 2 of the question:" in text
    assert "1 parts more" in text
    assert text.count("similarity: 0.943") == 3


def test_what_the_node_did_not_answer_is_said_to_be_so() -> None:
    refused = {
        **ANSWER,
        "kind": "refuse",
        "decision": "refused",
        "source": {"kind": "fallback", "id": "none"},
    }
    assert "could not find out, and said so" in told(refused)
    stated = {**ANSWER, "decision": "acknowledged", "class": "statement", "sources": ["acknowledge"]}
    assert "acknowledged a statement" in told(stated)
    stated["source"] = {"kind": "statement", "id": "statement"}
    assert "No source was needed: nothing was asked.\n" in told(stated)
    unknown = told({**ANSWER, "source": {"kind": "fallback", "id": "none"}})
    assert "No source had an answer: the node said that it could not find out.\n" in unknown
    several = told({**ANSWER, "source": {"kind": "composite", "id": "composite"}})
    assert "came from: several answers, one for each part of the question.\n" in several


def test_a_leaf_of_an_epoch_that_ended_says_which() -> None:
    leaf = {"entry": ANSWER, "seq": 3, "time_us": 0}
    assert explain_leaf(leaf, "node.example/decisions/2")[1] == (
        "  In an epoch of it that has ended: node.example/decisions/2."
    )
    assert explain_leaf(leaf)[1] == "The node answered a question."


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (
            {"kind": "store", "decision": "stored", "reason": "stored", "expires_s": 1_790_000_000},
            "2026-09-21",
        ),
        ({"kind": "store", "decision": "not_stored", "reason": "queue_full"}, "was not stored"),
        ({"kind": "validation", "verdict": "invalid", "target": None}, "judged a record wrong"),
        (
            {"kind": "tombstone", "reason": "client_delete", "target": "bafy"},
            "withdrawn for good: client delete",
        ),
        ({"kind": "quarantine", "reason": "damaged", "target": "bafy"}, "out of service: damaged"),
        ({"kind": "audit", "verdict": "wrong", "u_ppm": 50_000, "reason": "numbers"}, "(u): 0.050"),
        ({"kind": "key", "event": "rotated", "use": "decisions", "old": {"until_s": 0}}, "was rotated"),
        ({"kind": "policy", "event": "start", "policy": "p"}, "The node started"),
        ({"kind": "policy", "event": "shard_closed", "next_origin": "o/2"}, "Next log: o/2."),
        (
            {
                "kind": "policy",
                "event": "epoch",
                "reason": "recover",
                "previous": {"origin": "o", "size": 9, "root": "r"},
                "kept_size": 7,
            },
            "2 are lost",
        ),
        (
            {
                "kind": "policy",
                "event": "peer_standing",
                "peer": {"level": {"from": "known", "to": "blocked"}},
            },
            "Its level: blocked; before: known.",
        ),
        ({"kind": "policy", "event": "peer_dropped", "peer": {"by": "node"}}, "this node, by its rules"),
        (
            {"kind": "policy", "event": "peer_followed", "peer": {"root": None, "by": "x"}},
            "nobody had answered",
        ),
        ({"kind": "anchor", "log": "o", "size": 4, "calendar": "c", "state": "pending"}, "state: pending"),
        (
            {"kind": "repair", "bytes_cut": 3, "entries_replayed": 1, "keys_without_entry": 5},
            "Keys without an entry: 5",
        ),
        ({"kind": "something_new", "a": 1, "b": {"c": 2}}, "does not know: something_new"),
    ],
)
def test_every_kind_has_its_words(entry: dict[str, Any], said: str) -> None:
    assert said in told(entry)


def test_nothing_that_a_leaf_holds_reaches_the_terminal_raw() -> None:
    nasty = "\x1b[2J\r\nfake\u202eline\x00\u2028" * 50
    entry = {
        **ANSWER,
        "request": nasty,
        "policy": nasty,
        "class": nasty,
        "sources": [nasty],
        "confidence_parts_ppm": {nasty: 1},
        "commitments": {nasty: nasty},
    }
    lines = explain_leaf({"entry": entry, "seq": nasty, "time_us": nasty})
    for line in lines:
        assert line.isprintable()
        assert len(line) <= LINE_CHARS_MAX


def test_a_leaf_of_any_size_gives_a_bounded_text() -> None:
    steps = [{"stage": "s" * 10_000, "outcome": "o" * 10_000}] * 10_000
    part = {**ANSWER, "steps": steps, "sources": ["model"] * 1_000, "adapters": ANSWER["adapters"] * 1_000}
    lines = explain_leaf({"entry": {**part, "parts": [part] * 1_000}, "seq": 1, "time_us": 10**30})
    assert len(lines) <= LINES_MAX
    assert max(map(len, lines)) <= LINE_CHARS_MAX


_ODD: list[object] = [None, True, 0, -1, 10**30, 10**400, 1.5, float("nan"), "", "x", "\x00\u202e", [], {}]
_ODD += [[one] for one in _ODD] + [{"kind": one, "id": one, "\n": one} for one in _ODD]
_ODD += [[{"stage": one, "name": one, "slots": one, "latency_us": one}] for one in _ODD]
_JSON = st.sampled_from(_ODD)
_KINDS = ("answer", "refuse", "store", "validation", "audit", "key", "policy", "anchor", "repair", "new")


@given(
    entry=st.dictionaries(
        st.sampled_from([*ANSWER, "old", "new", "previous", "target", "event", "peer"]), _JSON, max_size=6
    ),
    kind=st.sampled_from(_KINDS) | _JSON,
    rest=st.dictionaries(st.sampled_from(["seq", "time_us", "v"]), _JSON),
)
def test_no_leaf_breaks_it(entry: dict[str, Any], kind: object, rest: dict[str, Any]) -> None:
    for leaf in ({**rest, "entry": {**entry, "kind": kind}}, {**rest, "entry": kind}, rest):
        lines = explain_leaf(leaf)
        assert lines
        assert all(line.isprintable() for line in lines)


@given(member=st.sampled_from(sorted(ANSWER)), value=_JSON)
def test_no_odd_member_breaks_the_explanation_of_an_answer(member: str, value: object) -> None:
    assert explain_leaf({"entry": {**ANSWER, member: value}, "seq": 0, "time_us": 0})


@pytest.mark.parametrize("seconds", [10**12, -(10**12), 10**17, -62_135_596_801, 253_402_300_800])
def test_impossible_times_are_said_to_be(seconds: int) -> None:
    entry = {"kind": "store", "expires_s": seconds}
    assert "impossible time" in told(entry)
    assert "Entry 1" in explain_leaf({"entry": entry, "seq": 1, "time_us": seconds * 1_000_000})[0]
