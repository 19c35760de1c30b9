from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.core.errors import BadInput
from node.ipfs.gateway.byte_range import ByteRange
from tests.each import each

LARGEST = 2**63 - 1


@each(
    ("text", "size", "span"),
    [
        ("0:*", 10, (0, 9)),
        ("0:0", 10, (0, 0)),
        ("-4:*", 10, (6, 9)),
        ("-99:*", 10, (0, 9)),
        ("-99:-3", 10, (0, 7)),
        ("4:-5", 10, (4, 5)),
        ("4:99", 10, (4, 9)),
        ("0:-1", 10, (0, 9)),
        ("5:4", 10, None),
        ("-1:-2", 10, None),
        ("0:*", 0, None),
        ("7:9", 0, None),
        (f"{LARGEST}:*", 0, None),
    ],
)
def test_offsets_are_inclusive_and_count_from_either_end(
    text: str, size: int, span: tuple[int, int] | None
) -> None:
    assert ByteRange.parse(text).within(size) == span


@pytest.mark.parametrize("text", ["10:*", "10:11", "0:-11", "-20:-11"])
def test_outside_of_the_file_is_said(text: str) -> None:
    with pytest.raises(BadInput, match="outside"):
        ByteRange.parse(text).within(10)


@each(
    "text",
    ["", ":", "0", "0:", ":*", "*:0", "a:b", "0:1:2", " 0:1", "0:1\n", "٣:٤", "+1:2", "--1:2", f"{2**63}:*"],
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(BadInput) as caught:
        ByteRange.parse(text)
    assert caught.value.field == "entity-bytes"


@given(st.integers(-40, 40), st.integers(-40, 40) | st.none(), st.integers(0, 30))
def test_a_span_is_what_python_would_slice(first: int, last: int | None, size: int) -> None:
    """Of what lies in the file at all."""
    data = bytes(range(size))
    stop = size if last is None or last == -1 else last + 1
    expected = data[slice(max(first, -size), stop)]
    try:
        span = ByteRange(first, last).within(size)
    except BadInput:
        assert not expected
        return
    assert (b"" if span is None else data[span[0] : span[1] + 1]) == expected
    assert str(ByteRange(first, last)) == f"{first}:{'*' if last is None else last}"
