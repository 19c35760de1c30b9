"""The bytes of a leaf."""

from __future__ import annotations

import hashlib
import hmac
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.audit.tlog import leaf
from node.core.errors import Rejected
from node.core.record import time_us
from tests.each import each
from tests.unit.audit.tables import NO_LEAVES

KEYS = st.text(st.characters(max_codepoint=127), max_size=8)
VALUES: Any = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | KEYS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(KEYS, VALUES, max_size=5))
def test_canonical_form_is_rfc_8785(entry: dict[str, Any]) -> None:
    """An independent writer: for integers and ASCII sorted compact output is RFC 8785."""
    expected = json.dumps(entry, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert leaf.canonical(entry) == expected.encode()


@given(st.dictionaries(KEYS, VALUES, max_size=5), st.integers(0, 10**9), st.integers(0, 2**53 - 1))
def test_a_leaf_reads_back_and_is_canonical_json(entry: dict[str, Any], seq: int, time_us: int) -> None:
    data = leaf.compose(leaf.canonical(entry), seq, time_us)
    assert leaf.read_leaf(data) == leaf.Leaf(seq, time_us, entry)
    value = json.loads(data)
    assert list(value) == ["entry", "seq", "time_us", "v"]
    assert value["v"] == 2
    assert json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode() == data


def test_a_text_that_looks_like_the_end_is_only_a_text() -> None:
    entry = {"kind": "answer", "seq": ',"seq":5,"time_us":6,"v":2}'}
    assert leaf.read_leaf(leaf.compose(leaf.canonical(entry), 7, 12)) == leaf.Leaf(7, 12, entry)


LONG = b'{"entry":{"a":"' + b"x" * 65_535 + b'"},"seq":0,"time_us":0,"v":2}'


@each("data", [*NO_LEAVES, LONG])
def test_other_bytes_are_no_leaf(data: bytes) -> None:
    with pytest.raises(Rejected, match="log: "):
        leaf.read_leaf(data)


@given(st.binary(max_size=200))
def test_reading_never_fails_otherwise(data: bytes) -> None:
    with pytest.raises(Rejected):
        leaf.read_leaf(b'{"entry":' + data)


def test_the_longest_entry_makes_the_longest_leaf() -> None:
    entry = {"x": "y" * (leaf.ENTRY_BYTES_MAX - len('{"x":""}'))}
    data = leaf.compose(leaf.canonical(entry), 2**53 - 1, 2**53 - 1)
    assert len(data) <= leaf.LEAF_BYTES_MAX
    assert leaf.read_leaf(data).entry == entry
    with pytest.raises(Rejected, match="bytes, more than"):
        leaf.canonical({"x": entry["x"] + "y"})


def test_time_is_whole_microseconds_and_never_negative() -> None:
    assert time_us(datetime(2026, 1, 1, tzinfo=UTC)) == 1_767_225_600_000_000
    assert time_us(datetime(1969, 1, 1, tzinfo=UTC)) == 0


def test_a_commitment_is_hmac_sha_256_of_the_text() -> None:
    key = bytes(range(32))
    assert leaf.commitment(key, "naïve") == hmac.new(key, "naïve".encode(), hashlib.sha256).hexdigest()
    assert leaf.commitment(key, "\ud800") != leaf.commitment(key, "")


@given(st.binary(min_size=32, max_size=32), st.lists(st.text(), max_size=4))
def test_commitments_made_together_are_those_made_one_by_one(key: bytes, texts: list[str]) -> None:
    together = leaf.commitments(key, [leaf.encoded(text) for text in texts])
    assert together == [leaf.commitment(key, text) for text in texts]
