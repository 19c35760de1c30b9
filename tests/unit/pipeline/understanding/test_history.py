"""Slots and keys of governance questions: equal keys only where the same answer serves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.language.reading import read
from node.pipeline.understanding.history import recognise


def slots(text: str) -> dict[str, object]:
    found = recognise(read(text))
    assert found is not None, text
    return dict(found.slots)


def key(text: str) -> str | None:
    found = recognise(read(text))
    return found.key if found is not None else None


@pytest.mark.parametrize(
    "text",
    [
        "What was proposal 123?",
        "proposal 123",
        "tell me about proposal #123",
        "PROPOSAL 0123",
        "proposal number 123",
        "Proposal no. 123",
        "what is proposal 123 about",
        "summary of proposal 123",
        "proposal one hundred twenty three",
        "proposal one hundred and twenty-three",
        "#123 proposal",
        "propuesta 123",
        "Was war Vorschlag 123?",
        "proposition 123",
    ],
)
def test_ways_to_ask_for_the_same_proposal_share_its_key(text: str) -> None:
    assert key(text) == "proposal:123"
    assert slots(text)["proposal"] == "123"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("proposal #123 result", "proposal:123:result"),
        ("what was the outcome of proposal 123", "proposal:123:result"),
        ("did prop 45 pass", "proposal:45:result"),
        ("what is the status of proposal 9", "proposal:9:status"),
        ("when was proposal 12", "proposal:12:date"),
        ("proposal 1,234", "proposal:1234"),
        ("NIP-4", "proposal:nip-4"),
        # a word that the answer may hang on: no key
        ("who voted against proposal 7", None),
        ("did prop 45 fail", None),
        ("when was proposal 12 executed", None),
        ("when was proposal 12 created", None),
        ("proposal 123 of uniswap", None),
        ("was proposal 123 not accepted", None),
        ("proposal 123 last year", None),
        ("compare proposal 1 and 2", None),
        ("proposals 12 vs 13", None),
        ("what did we decide about the treasury", None),
    ],
)
def test_keys(text: str, expected: str | None) -> None:
    assert key(text) == expected


@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_two_numbers_never_share_a_key(one: int, other: int) -> None:
    keys = key(f"What was proposal {one}?"), key(f"proposal #{other}")
    assert (keys[0] == keys[1]) == (one == other)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "outcome of the vote on fees in 2023",
            {"proposal": None, "metric": "result", "topic": "fees 2023", "when": "2023"},
        ),
        (
            "minutes of the last council meeting",
            {"proposal": None, "metric": None, "topic": None, "when": "last"},
        ),
        ("who voted against proposal 7", {"proposal": "7", "metric": "votes", "topic": None, "when": None}),
        ("what was propsal 123", {"proposal": "123"}),
        ("proposl 12", {"proposal": "12"}),
        ("who proposed proposal 3", {"proposal": "3", "metric": "author", "topic": None, "when": None}),
        ("how much money did proposal 88 get", {"proposal": "88", "metric": "amount"}),
        ("what did the council decide on 2024-05-06", {"proposal": None, "when": "2024-05-06"}),
        ("proposals about fees from March 2024", {"proposal": None, "when": "2024-03"}),
        ("what did we decide about the treasury", {"proposal": None, "topic": "treasury"}),
        ("was the quorum reached for proposal 5", {"proposal": "5", "metric": "quorum"}),
        ("compare proposal 1 and 2", {"proposal": None}),
    ],
)
def test_slots(text: str, expected: dict[str, object]) -> None:
    found = slots(text)
    assert set(found) == {"proposal", "metric", "topic", "when"}
    assert {name: found[name] for name in expected} == expected


@pytest.mark.parametrize(
    "text",
    [
        "propose a toast",
        "marriage proposal ideas",
        "how do I write a business proposal",
        "who voted for Trump in 2016",
        "what was the roman empire",
        "result of the brexit referendum",
        "who proposed the theory of relativity",
        "how does voting work in a dao",
        "what is EIP-1559",
        "proposal",
        "",
    ],
)
def test_what_only_looks_like_governance(text: str) -> None:
    found = recognise(read(text))
    assert found is None or (text == "proposal" and found.key is None)


@pytest.mark.parametrize(
    "text",
    [
        "according to the documents, who approves expenses?",
        "who approves expenses according to our handbook",
        "Was there ever a vote on hiring a second auditor?",
        "Was steht in den Unterlagen über Reisekosten?",
        "laut Satzung wer darf abstimmen",
        "qu'est-ce qu'on a décidé sur les cotisations",
        "selon nos documents, qui signe les contrats ?",
        "según los estatutos, ¿quién firma?",
        "根据我们的章程，谁可以投票？",
    ],
)
def test_own_documents_and_votes_are_records(text: str) -> None:
    assert recognise(read(text)) is not None


@pytest.mark.parametrize(
    "text",
    [
        "what is the proposal of a PhD thesis supposed to contain",
        "what should a proposal for a master's thesis include",
        "according to the bible, who was noah",
        "was there ever a vote to make washington a state in congress",
    ],
)
def test_other_proposals_and_sources_are_not(text: str) -> None:
    assert recognise(read(text)) is None


def test_an_abbreviated_noun_keeps_its_number() -> None:
    assert slots("who sponsored prop. 17")["proposal"] == "17"
