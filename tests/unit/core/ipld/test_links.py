"""Links and paths through every codec; DAG-JSON by its specification."""

from __future__ import annotations

import json

import pytest

from node.core.errors import Rejected
from node.core.ipld import dagcbor, dagjson
from node.core.ipld.cid import CBOR, DAG_CBOR, DAG_JSON, DAG_PB, JSON, LIBP2P_KEY, RAW, Cid
from node.core.ipld.limits import BLOCK_BYTES_MAX, ITEMS_MAX, LINKS_MAX
from node.core.ipld.links import Step, links, step
from tests.each import each

HELLO = Cid.parse("bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e")
EMPTY = Cid.parse("QmdfTbBqBPQ7VNxZEYEj14VmRuZBkqFbiwReogJgS1zR1n")

# One value as @ipld/dag-cbor and @ipld/dag-json wrote it.
AS_CBOR = bytes.fromhex(
    "a56161d82a58250001551220b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9616efbbff800000000"
    "00006174f5646c6973748301d82a5823001220e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855a161"
    "78f6656279746573440001feff"
)
AS_JSON = (
    b'{"a":{"/":"bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e"},"bytes":{"/":{"bytes":"AAH+/w"}},'
    b'"list":[1,{"/":"QmdfTbBqBPQ7VNxZEYEj14VmRuZBkqFbiwReogJgS1zR1n"},{"x":null}],"n":-1.5,"t":true}'
)
BOTH = pytest.mark.parametrize(
    ("cid", "data"), [(Cid.of(AS_CBOR, DAG_CBOR), AS_CBOR), (Cid.of(AS_JSON, DAG_JSON), AS_JSON)]
)


@BOTH
def test_links_in_their_order(cid: Cid, data: bytes) -> None:
    found = links(cid, data)
    assert found == [HELLO, EMPTY]
    assert [str(one) for one in found] == [str(HELLO), str(EMPTY)]


@BOTH
@pytest.mark.parametrize(
    ("path", "end"),
    [
        ("", Step(None, 0)),
        ("a", Step(HELLO, 1)),
        ("a/b/c", Step(HELLO, 1)),
        ("list", Step(None, 1)),
        ("list/1", Step(EMPTY, 2)),
        ("list/1/2/3", Step(EMPTY, 2)),
        ("list/2/x", Step(None, 3)),
        ("list/2/x/y", Step(None, 3)),
        ("list/2/y", Step(None, 2)),
        ("list/3", Step(None, 1)),
        ("list/01", Step(None, 1)),
        ("list/-1", Step(None, 1)),
        ("list/+1", Step(None, 1)),
        ("list/١", Step(None, 1)),
        ("list/" + "9" * 5_000, Step(None, 1)),
        ("bytes/0", Step(None, 1)),
        ("n/0", Step(None, 1)),
        ("absent/x", Step(None, 0)),
    ],
)
def test_paths_go_up_to_the_first_link(cid: Cid, data: bytes, path: str, end: Step) -> None:
    assert step(cid, data, path.split("/") if path else []) == end


def test_a_block_may_be_a_link_itself() -> None:
    data = f'{{"/":"{HELLO}"}}'.encode()
    assert step(Cid.of(data, DAG_JSON), data, ["x"]) == Step(HELLO, 0)
    assert step(Cid.of(data, DAG_JSON), data, []) == Step(HELLO, 0)


@pytest.mark.parametrize("codec", [RAW, CBOR, JSON])
def test_some_codecs_have_no_links(codec: int) -> None:
    assert links(Cid.of(AS_JSON, codec), AS_JSON) == []
    assert step(Cid.of(AS_JSON, codec), AS_JSON, ["a"]) == Step(None, 0)


def test_dag_pb_links_and_unknown_codecs() -> None:
    node = bytes.fromhex("120b0a09015500050001020304")
    assert [one.digest for one in links(Cid.of(node, DAG_PB), node)] == [bytes(range(5))]
    with pytest.raises(Rejected, match="0x72"):
        links(Cid.of(b"", LIBP2P_KEY), b"")
    with pytest.raises(Rejected, match="0x70"):
        step(Cid.of(node, DAG_PB), node, ["Links"])


def test_bytes_are_bytes() -> None:
    assert dagjson.decode(AS_JSON)[0]["bytes"] == b"\x00\x01\xfe\xff"


@pytest.mark.parametrize(
    "text",
    [
        *('{"0bar":"baz","/":"foo"}', '{"/":true,"bar":"baz"}', '{"/":{"abar":"baz","bytes":"foo"}}'),
        *('{"/":{"bytes":true},"bar":"baz"}', '{"0bar":"baz","/":{"bytes":"foo"}}', '{"/":{"bytes":true}}'),
        *('{"/":null}', ' { "b" : 1 ,\n "a" : [ ] } ', "12345678901234567890123"),
    ],
)
def test_what_the_specification_leaves_free_is_read(text: str) -> None:
    assert dagjson.decode(text.encode()) == (json.loads(text), [])


DEEP = dagjson.DEPTH_MAX
BAD = {
    "nothing": b"",
    "cut off": b'{"a":',
    "two values": b"1 2",
    "a link to nothing": b'{"/":"foo"}',
    "a link beside others": b'{"/":"foo","bar":"baz"}',
    "bytes with more inside": b'{"/":{"bytes":"foo","bar":"baz"}}',
    "bytes beside others": b'{"/":{"bytes":"foo"},"bar":"baz"}',
    "bytes that are none": b'{"/":{"bytes":"a-_b"}}',
    "a key twice": b'{"a":1,"a":2}',
    "a link in base58": f'{{"/":"z{"1" * 40}"}}'.encode(),
    "a link in upper case": f'{{"/":"B{str(HELLO)[1:].upper()}"}}'.encode(),
    "not a number": b"NaN",
    "infinity": b"[-Infinity]",
    "too many digits": b"1" * 10_000,
    "bad UTF-8": b'"\xff"',
    "UTF-16": '"a"'.encode("utf-16"),
    "byte order mark": b"\xef\xbb\xbf1",
    "one list too deep": b"[" * (DEEP + 1) + b"]" * (DEEP + 1),
    "lists without end": b"[" * 1_000_000,
    "maps without end": b'{"a":' * 300_000,
    "closing without end": b"]" * 1_000_000,
    "too many items": b"[" + b"0," * ITEMS_MAX + b"0]",
    "too many empty strings": b'"' * (2 * ITEMS_MAX + 2),
    "too many links": b"[" + b",".join([b'{"/":"bafkqaaa"}'] * (LINKS_MAX + 1)) + b"]",
    "an open string of escapes": b'"' + b'\\"' * 1_000_000,
    "an open string of backslashes": b'"' + b"\\" * 1_000_001,
    "too large": b'"' + b"a" * BLOCK_BYTES_MAX + b'"',
}


@each("name", sorted(BAD))
def test_what_is_no_dag_json_is_refused(name: str) -> None:
    with pytest.raises(Rejected):
        dagjson.decode(BAD[name])


def test_depth_has_one_limit() -> None:
    value, found = dagjson.decode(b"[" * DEEP + b"]" * DEEP)
    for _ in range(DEEP - 1):
        (value,) = value
    assert (value, found) == ([], [])


def test_brackets_in_strings_do_not_count() -> None:
    text = '["' + "[{" * 1_000 + '\\"[", "]}"]'
    assert dagjson.decode(text.encode())[0] == json.loads(text)


# --- DAG-JSON as it is written ----------------------------------------------------------------------


def test_what_others_wrote_is_written_the_same() -> None:
    """Their canonical bytes, from a value that came as DAG-CBOR and from one that came as DAG-JSON."""
    assert dagjson.encode(dagcbor.decode_foreign(AS_CBOR)[0]) == AS_JSON
    assert dagjson.encode(dagjson.decode(AS_JSON)[0]) == AS_JSON


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "aa": 2, "a": {}}, '{"a":{},"aa":2,"b":1}'),
        ({"\U0001f600": 1, "\uff5e": 2}, '{"\uff5e":2,"\U0001f600":1}'),  # by bytes, not by UTF-16
        ([-(2**64), 2**64 - 1, 1.0, -0.0, True, None, "\u2028é\n"], None),
        (b"", '{"/":{"bytes":""}}'),
        ({"/": 1}, '{"/":1}'),
        ({"/": {"bytes": 1}}, '{"/":{"bytes":1}}'),
    ],
)
def test_one_form_of_each_value(value: object, text: str | None) -> None:
    data = dagjson.encode(value)
    if text is not None:
        assert data == text.encode()
    assert dagjson.encode(dagjson.decode(data)[0]) == data


@pytest.mark.parametrize(
    "value",
    [{"/": "x"}, {"/": "x", "a": 1}, [{"/": {"bytes": "AA"}}], float("nan"), [float("inf")], "\ud800"],
)
def test_what_dag_json_cannot_say_is_refused(value: object) -> None:
    with pytest.raises(Rejected):
        dagjson.encode(value)


def test_the_depth_of_what_is_written_is_bounded() -> None:
    value: list[object] = []
    for _ in range(DEEP - 1):
        value = [value]
    assert dagjson.decode(dagjson.encode(value))[0] == value
    with pytest.raises(Rejected, match="deeper"):
        dagjson.encode([value])
