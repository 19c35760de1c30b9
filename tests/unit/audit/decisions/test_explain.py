"""A leaf in plain words: everything that decided is said, and no leaf, however odd, breaks it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.audit.decisions.explain import LINE_CHARS_MAX, LINES_MAX, explain_leaf
from tests.each import each
from tests.unit.audit.tables import rows

ANSWER: dict[str, Any] = dict(rows(__file__, "answer.jsonl"))
"""The entry of an answer out of the cache, by member."""


def told(entry: object) -> str:
    return "\n".join(explain_leaf({"entry": entry, "seq": 17, "time_us": 1_790_000_000_000_000, "v": 2}))


FROM_AN_ADAPTER = {
    **ANSWER,
    "hit": None,
    "source": {"kind": "adapter", "id": "coingecko"},
    "steps": [
        {"stage": "recall", "outcome": "miss", "reason": "veto_number", "latency_us": 9},
        {"stage": "adapter:coingecko", "outcome": "found", "reason": "slots_matched", "latency_us": 4_000},
    ],
    "adapters": [{**ANSWER["adapters"][0], "asked": True, "outcome": "found", "latency_us": 4_000}],
    "storage": {"decision": "will_store", "reason": "stored"},
    "model": {"id": "llama3.2", "digest": None},
    "has_context": True,
    "stale": True,
}
OUT_OF_THE_CACHE = [
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
]
BY_AN_ADAPTER = [
    "1. stored answers: not used: miss, the two questions differ: number",
    "2. adapters (exact sources): used",
    "coingecko: asked, found, 4.0 ms",
    "The answer came from: the adapter coingecko.",
    "No stored answer was used: miss, the two questions differ: number.",
    "Kept: as a record named only as a commitment (stored).",
    "Language model: llama3.2.",
    "instructions of its own",
    "marked as stale",
]
OTHER_SOURCES = [
    ({"kind": "refuse", "decision": "refused"}, "fallback", "could not find out, and said so"),
    ({"decision": "acknowledged", "class": "statement"}, "cache", "acknowledged a statement"),
    ({"class": "statement"}, "statement", "No source was needed: nothing was asked.\n"),
    ({}, "fallback", "No source had an answer: the node said that it could not find out.\n"),
    ({}, "composite", "came from: several answers, one for each part of the question.\n"),
]


@each(
    ("entry", "said"),
    [
        *((ANSWER, one) for one in OUT_OF_THE_CACHE),
        *((FROM_AN_ADAPTER, one) for one in BY_AN_ADAPTER),
        *(
            ({**ANSWER, **more, "source": {"kind": kind, "id": kind}}, one)
            for more, kind, one in OTHER_SOURCES
        ),
        *rows(__file__, "kinds.jsonl"),
    ],
)
def test_what_was_decided_is_said(entry: dict[str, Any], said: str) -> None:
    assert said in told(entry)


def test_each_part_of_a_question_is_explained() -> None:
    whole = {"source": {"kind": "composite", "id": "2"}, "parts": [ANSWER, ANSWER], "parts_left_out": 1}
    text = told({**ANSWER, **whole})
    assert "Part 2 of the question:" in text
    assert "1 parts more" in text
    assert text.count("similarity: 0.943") == 3


def test_a_leaf_of_an_epoch_that_ended_says_which() -> None:
    leaf = {"entry": ANSWER, "seq": 3, "time_us": 0}
    assert explain_leaf(leaf, "node.example/decisions/2")[1] == (
        "  In an epoch of it that has ended: node.example/decisions/2."
    )
    assert explain_leaf(leaf)[1] == "The node answered a question."


def test_nothing_that_a_leaf_holds_reaches_the_terminal_raw() -> None:
    nasty = "\x1b[2J\r\nfake\u202eline\x00\u2028" * 50
    named = {"confidence_parts_ppm": {nasty: 1}, "commitments": {nasty: nasty}, "sources": [nasty]}
    entry = {**ANSWER, **named, "request": nasty, "policy": nasty, "class": nasty}
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
_KINDS += ("documents",)


@given(
    entry=st.dictionaries(
        st.sampled_from(
            [*ANSWER, "old", "new", "previous", "target", "event", "peer", "counts", "documents"]
        ),
        _JSON,
        max_size=6,
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
