"""The bytes of a line."""

from __future__ import annotations

import hashlib
import hmac
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.errors import Rejected
from node.governance import chain

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
    assert chain.canonical(entry) == expected.encode()


@given(st.dictionaries(KEYS, VALUES, max_size=5), st.integers(0, 10**9), st.integers(0, 2**53 - 1))
def test_a_line_reads_back(entry: dict[str, Any], index: int, time_us: int) -> None:
    prev = "ab" * 32
    line = chain.compose(chain.canonical(entry), index=index, prev=prev, time_us=time_us)
    link = chain.read(chain.in_place(chain.unframe(line), index=index, prev=prev))
    assert (link.entry, link.index, link.time_us, link.prev) == (entry, index, time_us, prev)
    assert link.digest == hashlib.sha256(line).hexdigest()


def test_a_line_is_canonical_json_as_documented() -> None:
    entry = {"kind": "answer", "hash": ',"hash":"'}
    line = chain.compose(chain.canonical(entry), index=7, prev="cd" * 32, time_us=12)
    value = json.loads(line)
    assert list(value) == ["entry", "hash", "index", "prev", "time_us", "v"]
    assert json.dumps(value, sort_keys=True, separators=(",", ":")).encode() == line
    own = value.pop("hash")
    rest = json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
    assert hashlib.sha256(rest).hexdigest() == own


def test_in_place_refuses_another_index_and_another_predecessor() -> None:
    frame = chain.unframe(chain.compose(b"{}", index=3, prev="ab" * 32, time_us=0))
    with pytest.raises(Rejected, match="entry 3"):
        chain.in_place(frame, index=2, prev="ab" * 32)
    with pytest.raises(Rejected, match="follow"):
        chain.in_place(frame, index=3, prev="cd" * 32)


@pytest.mark.parametrize(
    "entry", [b'{"b":1,"a":2}', b'{"a": 1}', b'{"a":1.5}', b'{"a":1e3}', b"[]", b"{", b'{"a":"\xc3\xa9"}']
)
def test_an_entry_in_another_form_is_refused_even_with_a_right_hash(entry: bytes) -> None:
    frame = chain.unframe(chain.compose(entry, index=0, prev="ab" * 32, time_us=0))
    with pytest.raises(Rejected):
        chain.read(frame)


@given(st.binary(max_size=400))
def test_any_bytes_are_refused_in_words(data: bytes) -> None:
    with pytest.raises(Rejected):
        chain.unframe(data)


def test_the_longest_entry_makes_a_line_within_the_limit() -> None:
    entry = {"x": "y" * (chain.ENTRY_BYTES_MAX - len('{"x":""}'))}
    line = chain.compose(chain.canonical(entry), index=10**15, prev="ab" * 32, time_us=2**53 - 1)
    assert len(line) <= chain.LINE_BYTES_MAX
    assert chain.read(chain.unframe(line)).entry == entry
    with pytest.raises(Rejected):
        chain.canonical({"x": entry["x"] + "y"})


def test_commitment_is_hmac_sha256() -> None:
    key = bytes(range(32))
    assert chain.commitment(key, "naïve 10²") == hmac.digest(key, "naïve 10²".encode(), "sha256").hex()
    assert len(chain.commitment(key, "\ud800")) == 64, "text that no UTF-8 encoder takes still commits"


def test_genesis_depends_on_the_origin() -> None:
    assert chain.genesis("a/decisions") != chain.genesis("b/decisions")
