"""normalise/v1, rule by rule."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.core.normalise import normalise, query_hash


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("What is IPFS?", "What is IPFS"),
        ("  What \n is\tIPFS ?? ", "What is IPFS"),
        ("什么是IPFS？", "什么是IPFS"),
        ("5 MW", "5 MW"),
        ("10² m", "10² m"),
        ("cafe\u0301", "caf\u00e9"),
        ("???", ""),
    ],
)
def test_rules(text: str, wanted: str) -> None:
    assert normalise(text) == wanted


@given(st.text())
def test_idempotent(text: str) -> None:
    once = normalise(text)
    assert normalise(once) == once


def test_hash_is_of_the_utf8_bytes() -> None:
    assert query_hash("é") == "4a99557e4033c3539de2eb65472017cad5f9557f7a0625a09f1c3f6e2ba69c4c"
