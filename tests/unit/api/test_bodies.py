"""A body that is read in one go says what it says when read by its fields."""

from __future__ import annotations

import sys
import unicodedata
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.api import bodies
from node.api.received import parse_json
from node.core.errors import BadInput
from tests.each import each

VALUES: Any = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 2**70) | st.floats(allow_nan=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
FIELDS = st.sampled_from([*bodies.Chat.__struct_fields__, "other"])


def outcome(read: Any) -> Any:
    try:
        return read()
    except BadInput as exc:
        return str(exc), exc.field, exc.limit


@given(st.dictionaries(FIELDS, VALUES, max_size=4), st.text(min_size=1))
def test_both_ways_agree(more: dict[str, Any], query: str) -> None:
    try:
        body = orjson.dumps({"query": query, **more})
    except TypeError:  # beyond 64 bits
        return
    by_fields = outcome(lambda: bodies.read(parse_json(body), bodies.Chat))
    assert outcome(lambda: bodies.parse(body, bodies.Chat)) == by_fields


@each(
    "body",
    [
        b"",
        b"[]",
        b"{",
        b'{"query":"\xff"}',
        b'{"query":"\\ud800"}',
        b'{"query":"a","query":"b"}',
        b'{"query":"a","ttl_s":5.0}',
        b'{"query":"a","ttl_s":1e1}',
        b'{"query":"a","verbose":null}',
        b'{"query":"a","tags":null}',
        b'{"query":"a","no_cache":1}',
        b'{"query":' + b"[" * 100_000,
        b'{"other":' + b"[" * 100_000,
        b'\xef\xbb\xbf{"query":"a"}',
        b'{"query":"a"} x',
        b'{"query":"a\x01"}',
        b'{"query":"a","ttl_s":99999999999999999999999}',
    ],
)
def test_what_is_odd_is_read_as_before(body: bytes) -> None:
    by_fields = outcome(lambda: bodies.read(parse_json(body), bodies.Chat))
    assert outcome(lambda: bodies.parse(body, bodies.Chat)) == by_fields


def test_control_characters_and_lone_surrogates_are_refused_and_no_others() -> None:
    for code in range(sys.maxunicode + 1):
        char = chr(code)
        is_control = unicodedata.category(char) in ("Cc", "Cs") and char not in "\t\n\r"
        assert (bodies._CONTROLS.search(char) is not None) == is_control, hex(code)


@pytest.mark.parametrize("kind", [kind for kind in bodies.Body.__subclasses__() if kind is not bodies.Form])
def test_a_null_is_described_where_it_is_accepted(kind: type[bodies.Body]) -> None:
    """What ``/openapi.json`` says of each field, held against what the door does with a null there."""
    required = {"query": "a", "answer": "b", "verdict": "valid", "cids": ["c"]}
    given = {name: value for name, value in required.items() if name in kind.__struct_fields__}
    shapes = bodies.schemas(1_000)[kind.__name__]["properties"]
    for name in kind.__struct_fields__:
        try:
            bodies.parse(orjson.dumps({**given, name: None}), kind)
            is_accepted = True
        except BadInput:
            is_accepted = False
        shape = shapes[name]
        assert is_accepted == ("null" in shape["type"]), (name, shape)
        if "enum" in shape:
            assert is_accepted == (None in shape["enum"]), (name, shape)
