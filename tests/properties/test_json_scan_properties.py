"""The scanner of JSON files against Python's json: what it takes, what it refuses, and where parts lie."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from node.app.transfer.json_scan import DEPTH_MAX, NotJson, Part, Scanner, members_of

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=12)
    | st.sampled_from(["\\", '"', '\\"', "\ud800", "{[", "]}", "\u2028", "\x00", "😀"])
    | st.integers(min_value=10**300, max_value=10**310)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=5), inner, max_size=5),
    max_leaves=25,
)
SPACES = st.sampled_from(["", " ", "\n", "\r\n\t", "   "])
CHUNKS = st.integers(1, 40)


def scanner(data: bytes, chunk: int, most: int = 1 << 20) -> Scanner:
    return Scanner(io.BytesIO(data), chunk_bytes=chunk, part_bytes_max=most)


def whole(data: bytes, chunk: int) -> Part:
    scan = scanner(data, chunk)
    part = scan.value()
    scan.end()
    return part


@st.composite
def spelt(draw: st.DrawFn, value: Any) -> str:
    """One of the many texts of a value."""

    def space() -> str:
        return draw(SPACES)

    if isinstance(value, dict):
        inner = ",".join(
            f"{space()}{draw(spelt(key))}{space()}:{space()}{draw(spelt(item))}{space()}"
            for key, item in value.items()
        )
        return "{" + (inner or space()) + "}"
    if isinstance(value, list):
        return "[" + (",".join(f"{space()}{draw(spelt(item))}{space()}" for item in value) or space()) + "]"
    has_halves = isinstance(value, str) and any("\ud800" <= char <= "\udfff" for char in value)
    return json.dumps(value, ensure_ascii=has_halves or draw(st.booleans()))


def same(one: Any, other: Any) -> bool:
    return json.dumps(one) == json.dumps(other)  # NaN is itself


@settings(max_examples=50)
@given(st.lists(VALUES, max_size=6).flatmap(lambda v: st.tuples(st.just(v), spelt(v))), CHUNKS, st.booleans())
def test_the_items_of_a_list_are_found(both: tuple[list[Any], str], chunk: int, mark: bool) -> None:
    value, text = both
    data = b"\xef\xbb\xbf" * mark + text.encode()
    scan = scanner(data, chunk)
    parts = list(scan.items())
    scan.end()
    assert len(parts) == len(value)
    for part, item in zip(parts, value, strict=True):
        assert part.raw == data[part.start : part.end]
        assert part.first == part.raw[0]
        assert same(json.loads(part.raw), item)


@settings(max_examples=50)
@given(
    st.dictionaries(st.text(max_size=4), VALUES, max_size=6).flatmap(
        lambda v: st.tuples(st.just(v), spelt(v))
    ),
    CHUNKS,
)
def test_the_members_of_an_object_are_found(both: tuple[dict[str, Any], str], chunk: int) -> None:
    value, text = both
    data = text.encode()
    scan = scanner(data, chunk)
    parts = list(scan.members())
    scan.end()
    assert [part.name for part in parts] == list(value)
    for part in parts:
        assert data[part.name_start : part.name_start + 1] == b'"'
        assert part.raw == data[part.start : part.end]
        assert part.name is not None
        assert same(json.loads(part.raw), value[part.name])
    assert members_of(data[data.index(b"{") :]) == parts


def is_json(data: bytes) -> bool:
    try:
        json.loads(data.decode().removeprefix("\ufeff"), parse_int=str, parse_float=str)
    except ValueError:
        return False
    return True


def walk(data: bytes, chunk: int) -> None:
    """As the index is walked: lists and objects by their parts, one level down."""
    scan = scanner(data, chunk)
    if scan.first() == ord("["):
        list(scan.items())
    elif scan.first() == ord("{"):
        list(scan.members())
    else:
        scan.value()
    scan.end()


def is_taken(data: bytes, chunk: int) -> bool:
    try:
        walk(data, chunk)
    except NotJson as exc:
        return not 0 <= exc.offset <= len(data)  # never so
    return True


NOISE = st.text(alphabet='[]{}",:\\ntrue123.eE+-NaIfy \n\u00e9', max_size=25)


@given(NOISE, CHUNKS)
@example("[1,]", 3)
@example('{"a":1,}', 3)
@example('{"a" 1}', 3)
@example("[1 2]", 1)
@example("[}", 1)
@example("", 1)
@example("NaN", 1)
@example("[" + "9" * 5_000 + "]", 40)
@example('["\\', 1)
def test_noise_is_taken_only_if_it_is_json(text: str, chunk: int) -> None:
    assert is_taken(text.encode(), chunk) == is_json(text.encode())


@settings(max_examples=50)
@given(VALUES.flatmap(spelt), st.data(), CHUNKS)
def test_a_broken_text_is_taken_only_if_it_is_still_json(text: str, data: st.DataObject, chunk: int) -> None:
    sound = text.encode()
    assert is_taken(sound, chunk)
    cut = data.draw(st.integers(0, len(sound)))
    assert is_taken(sound[:cut], chunk) == is_json(sound[:cut])
    noise = data.draw(st.binary(max_size=3))
    changed = sound[:cut] + noise + sound[cut + data.draw(st.integers(0, 3)) :]
    assert is_taken(changed, chunk) == is_json(changed)


@given(st.binary(max_size=30), CHUNKS)
def test_any_bytes(data: bytes, chunk: int) -> None:
    assert is_taken(data, chunk) == is_json(data)


@settings(max_examples=50)
@given(st.lists(VALUES, min_size=1, max_size=5), CHUNKS, st.integers(1, 30))
def test_long_parts_are_passed_over_and_the_others_are_held(items: list[Any], chunk: int, most: int) -> None:
    """A number or word has to fit, strings, lists and objects do not."""
    items = [item if isinstance(item, str | list | dict) else [item] for item in items]
    data = json.dumps(items).encode()
    scan = scanner(data, chunk, most)
    parts = list(scan.items())
    scan.end()
    assert len(parts) == len(items)
    for part, item in zip(parts, items, strict=True):
        assert same(json.loads(data[part.start : part.end]), item)
        assert (part.raw is None) == (part.end - part.start > most)


def test_equal_keys_are_all_given() -> None:
    assert [(part.name, part.raw) for part in members_of(b'{"a":1,"a":2}')] == [("a", b"1"), ("a", b"2")]


def test_the_offset_of_a_fault_is_that_of_the_byte() -> None:
    for text, offset in (
        ('["é", tru]', 7),
        ('[{"a": "é" "b"}]', 12),
        ("[1 2]", 3),
        ("{1:2}", 1),
        ("[1", 2),
        ("[1] x", 4),
        ('["abc', 5),
    ):
        with pytest.raises(NotJson) as caught:
            walk(text.encode(), 4)
        assert caught.value.offset == offset, text
    with pytest.raises(NotJson) as caught:
        whole(b'"ab\xffc"', 64)
    assert caught.value.offset == 3


def test_nesting_is_bounded() -> None:
    assert whole(b"[" * DEPTH_MAX + b"]" * DEPTH_MAX, 64).raw is not None
    with pytest.raises(NotJson, match="nested"):
        whole(b"[" * 1_000_000, 4_096)


@pytest.mark.parametrize(
    "unit", [b"[],", b"{},", b'"a",', b'["x"],', b'"' + b"\\\\" * 20_000 + b'",', b"1,", b'[{"a":[]}],' * 9]
)
def test_a_large_text_takes_time_in_proportion(unit: bytes) -> None:
    """Nothing quadratic in what is held at once: the worst units, in one buffer."""
    count = (1 << 18) // len(unit)
    data = b"[[" + unit * count + b"1]]"
    parts = list(scanner(data, 1 << 20, 1 << 10).items())
    assert [(part.start, part.end, part.raw) for part in parts] == [(1, len(data) - 1, None)]


def test_what_is_read_is_bounded_and_hashed() -> None:
    import hashlib

    seen: list[int] = []
    data = json.dumps(["x" * 100] * 1_000).encode()
    scan = Scanner(io.BytesIO(data), chunk_bytes=1_000, part_bytes_max=200, on_chunk=seen.append)
    for _ in scan.items():
        assert len(scan._buffer) <= 1_400
    scan.end()
    assert seen[-1] == len(data)
    assert scan.digest() == hashlib.sha256(data).hexdigest()
