"""What a question for a definition is about: casual wordings meet, other questions do not."""

from __future__ import annotations

import pytest

from node.cache.matching.definition import thing
from node.cache.matching.gate import judge
from tests.each import each


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("ipfs whats that", "What is IPFS?"),
        ("IPNS, never understood it", "What is IPNS?"),
        ("helia = ?", "What is Helia?"),
        ("merkle dags eli5", "What is a Merkle DAG?"),
        ("dao?? my friend keeps talking about it", "What is a DAO?"),
        ("tell me about smart contracts please", "What is a smart contract?"),
        ("hnsw how does it work roughly", "How does HNSW work?"),
        ("explain how vaccines work", "How does a vaccine work?"),
    ],
)
def test_casual_wordings_of_one_thing_meet(asked: str, stored: str) -> None:
    assert thing(asked) == thing(stored) is not None
    assert judge(asked, stored, similarity=0.6).u == 0.0


@each(
    ("asked", "stored"),
    [
        ("how does IPFS work", "What is IPFS?"),
        ("what is the problem", "What is a problem?"),
        ("what is this error", "What is an error?"),
        ("what are good chess books for beginners", "What are good chess books?"),
        ("explain recursion in one sentence", "Explain recursion"),
        ("what is IPFS Cluster", "What is IPFS?"),
        ("what is not IPFS", "What is IPFS?"),
        ("what is CIDv2", "What is CIDv1?"),
        ("what was the New Deal", "What is the New Deal?"),
        ("what are DIDs good for", "What is a DID?"),
        ("is it IPFS", "What is IPFS?"),
        ("what is US", "what is us"),
        ("what is the meaning of life", "What is life?"),
        ("ipfs", "What is IPFS?"),
    ],
)
def test_another_question_is_not_met_by_its_thing(asked: str, stored: str) -> None:
    assert thing(asked) is None or thing(asked) != thing(stored)


@pytest.mark.parametrize(
    "text", ["", "?", "what is", "what is a", "= ?", "the " * 40, "what is " * 30, "é" * 9999]
)
def test_it_is_total(text: str) -> None:
    assert thing(text) is None
