"""DAG-CBOR: agreement with the oracle, one byte string per value, bombs refused in bounded time and space."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.core.errors import Rejected
from node.core.ipld import dagcbor
from node.core.ipld.cid import RAW, Cid
from node.core.ipld.limits import BLOCK_BYTES_MAX, ITEMS_MAX, LINKS_MAX
from tests.each import each

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the oracle's own imports warn
    import dag_cbor

SCALARS = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1)
values = st.recursive(
    SCALARS | st.text(max_size=40) | st.binary(max_size=300),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=20), inner, max_size=5),
    max_leaves=25,
)


def depth_of(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + max((depth_of(item) for item in value.values()), default=0)
    if isinstance(value, list):
        return 1 + max((depth_of(item) for item in value), default=0)
    return 0


@given(values)
def test_round_trip_and_the_oracle_agrees(value: Any) -> None:
    data = dagcbor.encode(value)
    assert data == dag_cbor.encode(value)
    if depth_of(value) <= dagcbor.DEPTH_MAX:
        assert dagcbor.decode(data) == value


@given(st.binary(max_size=60))
def test_what_decodes_is_the_one_form_of_its_value(data: bytes) -> None:
    try:
        value = dagcbor.decode(data)
    except Rejected:
        return
    assert dagcbor.encode(value) == data


@given(values, st.randoms(use_true_random=False))
def test_a_changed_byte_never_decodes_to_the_same_value(value: Any, random: Any) -> None:
    data = dagcbor.encode(value)
    at = random.randrange(len(data))
    changed = data[:at] + bytes([data[at] ^ random.randrange(1, 256)]) + data[at + 1 :]
    try:
        other = dagcbor.decode(changed)
    except Rejected:
        return
    assert dagcbor.encode(other) == changed


def test_depth_has_one_limit() -> None:
    deepest: Any = 1
    for _ in range(dagcbor.DEPTH_MAX):
        deepest = [deepest]
    assert dagcbor.decode(dagcbor.encode(deepest)) == deepest
    with pytest.raises(Rejected, match="deeper"):
        dagcbor.decode(dagcbor.encode([deepest]))
    with pytest.raises(Rejected, match="deeper"):
        dagcbor.decode(dagcbor.encode({"a": deepest}))


COUNT = 100_000
BOMBS = {
    "arrays": b"\x81" * COUNT + b"\x00",
    "arrays without end": b"\x81" * COUNT,
    "maps": b"\xa1\x61a" * COUNT + b"\x00",
    "arrays in maps": b"\xa1\x61a\x81" * (COUNT // 2) + b"\x00",
    "wide then deep": b"\x82\x00" * COUNT + b"\x00",
    "tags": b"\xd8\x2a" * COUNT + b"\x00",
    "small tags": b"\xc0" * COUNT + b"\x00",
    "array of 2^64-1": b"\x9b" + b"\xff" * 8,
    "array of 2^32 with room": b"\x9a\xff\xff\xff\xff" + b"\x00" * 1_000,
    "map of 2^63": b"\xbb\x80" + b"\x00" * 7,
    "text of 2^63": b"\x7b\x7f" + b"\xff" * 7 + b"x",
    "bytes of 2^64-1": b"\x5b" + b"\xff" * 8 + b"x",
    "bytes of 4 GiB": b"\x5a\xff\xff\xff\xff" + b"x",
    "indefinite array": b"\x9f\x00\xff",
    "indefinite bytes": b"\x5f\x41a\xff",
    "indefinite map": b"\xbf\x61a\x00\xff",
    "reserved lengths": b"\x1c",
    "break alone": b"\xff",
    "nothing": b"",
    "head cut off": b"\x1b\x00",
    "two values": b"\x00\x00",
    "long form of a small integer": b"\x18\x01",
    "unsorted keys": b"\xa2\x61b\x00\x61a\x00",
    "duplicate keys": b"\xa2\x61a\x00\x61a\x00",
    "integer keys": b"\xa1\x00\x00",
    "half float": b"\xf9\x3c\x00",
    "single float": b"\xfa\x3f\x80\x00\x00",
    "not a number": b"\xfb\x7f\xf8" + b"\x00" * 6,
    "infinity": b"\xfb\x7f\xf0" + b"\x00" * 6,
    "undefined": b"\xf7",
    "bad UTF-8": b"\x61\xff",
    "surrogate in UTF-8": b"\x63\xed\xa0\x80",
    "over the size of a block": b"\x5a\x00\x04\x00\x00" + bytes(dagcbor.BLOCK_BYTES_MAX),
}


@each("name", sorted(BOMBS))
def test_bombs_are_refused_ours_and_those_of_others(name: str) -> None:
    with pytest.raises(Rejected):
        dagcbor.decode(BOMBS[name])
    if name != "over the size of a block":  # which is larger for others
        with pytest.raises(Rejected):
            dagcbor.decode_foreign(BOMBS[name])


@pytest.mark.parametrize(
    "value", [object(), {1: 2}, {b"a": 1}, float("nan"), float("inf"), 2**64, -(2**64) - 1, "\ud800"]
)
def test_what_has_no_form_is_refused(value: object) -> None:
    with pytest.raises(Rejected):
        dagcbor.encode(value)


def test_too_large_is_refused() -> None:
    with pytest.raises(Rejected, match="limit"):
        dagcbor.encode(bytes(dagcbor.BLOCK_BYTES_MAX))


def _list_of(count: int, item: bytes) -> bytes:
    head = b"\x9a" + count.to_bytes(4, "big") if count > 0xFFFF else b"\x99" + count.to_bytes(2, "big")
    return head + item * count


LINK = b"\xd8\x2a\x58\x25\x00" + bytes(Cid.of(b"", RAW))


def test_blocks_of_others_may_be_larger_and_deeper_up_to_a_limit() -> None:
    text = "a" * (BLOCK_BYTES_MAX - 5)
    assert dagcbor.decode_foreign(b"\x7a" + len(text).to_bytes(4, "big") + text.encode()) == (text, [])
    with pytest.raises(Rejected, match="limit"):
        dagcbor.decode_foreign(bytes(BLOCK_BYTES_MAX + 1))
    deep = b"\x81" * dagcbor.FOREIGN_DEPTH_MAX + b"\x00"
    dagcbor.decode_foreign(deep)
    with pytest.raises(Rejected, match="deeper"):
        dagcbor.decode_foreign(b"\x81" + deep)
    assert len(dagcbor.decode_foreign(_list_of(ITEMS_MAX, b"\x00"))[0]) == ITEMS_MAX
    with pytest.raises(Rejected, match="items"):
        dagcbor.decode_foreign(_list_of(ITEMS_MAX + 1, b"\x80"))
    inlined = b"\xd8\x2a\x45\x00\x01\x55\x00\x00"
    with pytest.raises(Rejected, match="links"):
        dagcbor.decode_foreign(_list_of(LINKS_MAX + 1, inlined))


def test_a_full_block_of_links_is_read() -> None:
    count = (BLOCK_BYTES_MAX - 5) // len(LINK)
    assert len(dagcbor.decode_foreign(_list_of(count, LINK))[1]) == count < LINKS_MAX


@pytest.mark.parametrize(
    "link",
    [
        *(b"\xd8\x2a\x40", b"\xd8\x2a\x41\x00", b"\xd8\x2a\x61\x00", b"\xd8\x2a\x00", b"\xd8\x2b" + LINK[2:]),
        *(LINK[:-1], LINK[:4] + b"\x01" + LINK[5:], LINK[:3] + b"\x26" + LINK[4:] + b"\x00"),
        *(b"\xd8\x2a" + LINK, b"\xd9\x00\x2a" + LINK[2:]),
    ],
)
def test_what_is_no_link_is_refused(link: bytes) -> None:
    assert dagcbor.decode_foreign(LINK)[1] == [Cid.of(b"", RAW)]
    with pytest.raises(Rejected):
        dagcbor.decode_foreign(link)
