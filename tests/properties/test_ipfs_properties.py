"""IPFS codecs: round trips, agreement with the oracles, and hostile bytes: refused, in bounded memory.

Every decoder either gives a value or raises ``Rejected``; nothing that was changed is valid under its CID.
"""

from __future__ import annotations

import hashlib
import json
import random
import tracemalloc
import warnings
from base64 import b64encode
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from node.core.errors import Rejected
from node.core.ipld import dagcbor, dagjson, dagpb, hamt, ipns, protobuf, unixfs
from node.core.ipld.car import CarReader, header, section
from node.core.ipld.cid import (
    BLAKE2B_256,
    DAG_CBOR,
    DAG_JSON,
    DAG_PB,
    IDENTITY,
    RAW,
    SHA2_256,
    SHA2_512,
    Cid,
    base58,
)
from node.core.ipld.dagpb import PbLink, PbNode
from node.core.ipld.ipns import IpnsName, IpnsRecord
from node.core.ipld.links import links, step
from tests.unit.core.ipld import vectors

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the oracles' own imports warn
    import dag_cbor
    from multiformats import CID

EXAMPLES = settings(max_examples=60, deadline=None)
FUZZ = EXAMPLES
Changes = list[tuple[str, int, int]]

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
NAME = IpnsName.of(KEY.public_key().public_bytes_raw())


def _cid(codec: int, data: bytes, kind: int) -> Cid:
    if kind == IDENTITY:
        return Cid(codec, data, IDENTITY)
    if kind == 0x11:
        return Cid(codec, hashlib.sha1(data).digest(), 0x11)
    if kind == -1:
        return Cid(DAG_PB, hashlib.sha256(data).digest(), SHA2_256, 0)
    return Cid.of(data, codec)


cids = st.builds(
    _cid,
    st.sampled_from((RAW, DAG_PB, DAG_CBOR, DAG_JSON)),
    st.binary(max_size=40),
    st.sampled_from((SHA2_256, SHA2_256, IDENTITY, 0x11, -1)),
)
SCALARS = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1)
values = st.recursive(
    SCALARS | st.text(max_size=20) | st.binary(max_size=60) | cids,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=10), inner, max_size=5),
    max_leaves=25,
)
nodes = st.builds(
    PbNode,
    st.none() | st.binary(max_size=50),
    st.lists(
        st.builds(PbLink, cids, st.none() | st.text(max_size=10), st.none() | st.integers(0, 2**64 - 1)),
        max_size=6,
    ).map(lambda found: tuple(sorted(found, key=lambda link: (link.name or "").encode()))),
)


KINDS = ("flip", "set", "insert", "remove", "cut", "repeat")
CHANGES = st.tuples(st.sampled_from(KINDS), st.integers(0), st.integers(0, 255))


def mutate(data: bytes, changes: Changes) -> bytes:
    for kind, where, value in changes:
        at = where % (len(data) + 1)
        if kind == "flip" and at < len(data):
            data = data[:at] + bytes([data[at] ^ (1 << value % 8)]) + data[at + 1 :]
        elif kind == "set":
            data = data[:at] + bytes([value]) + data[at + 1 :]
        elif kind == "insert":
            data = data[:at] + bytes([value]) * (1 + value % 9) + data[at:]
        elif kind == "remove":
            data = data[:at] + data[at + 1 + value % 9 :]
        elif kind == "cut":
            data = data[:at]
        elif kind == "repeat":
            data = data[:at] + data[at : at + value] * 2 + data[at + value :]
    return data


def is_sayable(value: Any) -> bool:
    """Whether no map in it has the form that DAG-JSON keeps for links and bytes."""
    if isinstance(value, list):
        return all(map(is_sayable, value))
    if not isinstance(value, dict):
        return True
    inner = value.get("/")
    is_reserved = isinstance(inner, str) or (isinstance(inner, dict) and isinstance(inner.get("bytes"), str))
    return not is_reserved and all(map(is_sayable, value.values()))


@EXAMPLES
@given(
    st.recursive(
        values | st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**64), 2**64 - 1),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["/", "bytes", "a", "Z", "\U0001f600", "\uff5e"]), inner)
        ),
        max_leaves=12,
    )
)
def test_what_is_written_as_dag_json_is_read_as_the_same_value(value: Any) -> None:
    if not is_sayable(value):
        with pytest.raises(Rejected, match="reserved"):
            dagjson.encode(value)
        return
    data = dagjson.encode(value)
    again = dagjson.decode(data)[0]
    assert (again, dagjson.encode(again)) == (value, data)
    assert repr(again) == repr(value) or isinstance(value, dict | list)  # 1.0 is no 1


def oracle_of(cid: Cid) -> CID:
    """The oracle's CID of the same bytes."""
    return CID.decode(bytes(cid))


def oracle_value(value: Any) -> Any:
    if isinstance(value, Cid):
        return oracle_of(value)
    if isinstance(value, list):
        return [oracle_value(one) for one in value]
    if isinstance(value, dict):
        return {key: oracle_value(one) for key, one in value.items()}
    return value


def json_value(value: Any) -> Any:
    """As DAG-JSON writes it."""
    if isinstance(value, Cid):
        return {"/": str(value)}
    if isinstance(value, bytes):
        return {"/": {"bytes": b64encode(value).decode().rstrip("=")}}
    if isinstance(value, list):
        return [json_value(one) for one in value]
    if isinstance(value, dict):
        return {key: json_value(one) for key, one in value.items()}
    return value


def links_of(value: Any, in_order: Callable[[str], Any]) -> list[Cid]:
    if isinstance(value, Cid):
        return [value]
    if isinstance(value, list):
        return [link for one in value for link in links_of(one, in_order)]
    if isinstance(value, dict):
        return [link for key in sorted(value, key=in_order) for link in links_of(value[key], in_order)]
    return []


def cbor_order(key: str) -> tuple[int, bytes]:
    return len(key.encode()), key.encode()


@given(values)
@EXAMPLES
def test_dag_cbor_of_the_oracle_is_read_with_its_links(value: Any) -> None:
    data = dag_cbor.encode(oracle_value(value))
    found, seen = dagcbor.decode_foreign(data)
    assert found == value
    assert seen == links_of(value, cbor_order) == links(Cid.of(data), data)
    assert [bytes(one) for one in seen] == [bytes(one) for one in links_of(value, cbor_order)]


@given(st.binary(max_size=60))
@FUZZ
def test_what_is_read_as_dag_cbor_the_oracle_reads_too(data: bytes) -> None:
    try:
        found, _ = dagcbor.decode_foreign(data)
    except Rejected:
        return
    assert dag_cbor.encode(oracle_value(found)) == data


@given(values)
@EXAMPLES
def test_dag_json_is_read_with_its_links(value: Any) -> None:
    assume(not _has_slash(value))
    data = json.dumps(json_value(value), sort_keys=True, ensure_ascii=False).encode("utf-8", "surrogatepass")
    found, seen = dagjson.decode(data)
    assert found == value
    assert seen == links_of(value, str) == links(Cid.of(data, DAG_JSON), data)


def _has_slash(value: Any) -> bool:
    """Whether a map has the reserved key: most such maps have no form in DAG-JSON."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return (isinstance(value, dict) and "/" in value) or any(_has_slash(one) for one in inner)


@given(values, st.lists(st.text(max_size=4) | st.integers(0, 5).map(str), max_size=6))
@EXAMPLES
def test_paths_go_as_far_as_plain_look_ups(value: Any, path: list[str]) -> None:
    data = dag_cbor.encode(oracle_value(value))
    used, here = 0, value
    for segment in path:
        if isinstance(here, dict) and segment in here:
            here = here[segment]
        elif isinstance(here, list) and segment in map(str, range(len(here))):
            here = here[int(segment)]
        else:
            break
        used += 1
    found = step(Cid.of(data), data, path)
    assert found.used == used
    assert found.link == (here if isinstance(here, Cid) else None)


@given(nodes)
@EXAMPLES
def test_dag_pb_round_trip(node: PbNode) -> None:
    data = dagpb.encode(node)
    found = dagpb.decode(data)
    assert found == node
    assert [bytes(one.cid) for one in found.links] == [bytes(one.cid) for one in node.links]
    assert links(Cid.of(data, DAG_PB), data) == [one.cid for one in node.links]


@given(st.binary(max_size=60))
@FUZZ
def test_dag_pb_has_one_form_but_for_orders(data: bytes) -> None:
    try:
        node = dagpb.decode(data)
    except Rejected:
        return
    parts = [protobuf.bytes_field(number, content) for number, _, _, content in protobuf.fields(data, 99)]
    assert b"".join(parts) == data
    assert len(dagpb.encode(node)) == len(data)


@given(st.lists(cids, max_size=4), st.lists(st.binary(max_size=200), max_size=6), st.integers(1, 90))
@EXAMPLES
def test_car_round_trip_in_any_chunks(roots: list[Cid], blocks: list[bytes], size: int) -> None:
    sent = [(Cid.of(block, RAW), block) for block in blocks]
    data = header(roots) + b"".join(section(*block) for block in sent)
    reader = CarReader()
    got = [block for at in range(0, len(data), size) for block in reader.feed(data[at : at + size])]
    reader.finish()
    assert (reader.roots, got) == (tuple(roots), sent)


records = st.builds(
    IpnsRecord,
    st.text(st.characters(codec="utf-8"), max_size=60).map(lambda text: "/" + text),
    st.integers(0, 2**64 - 1),
    st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC)),
    st.integers(0, 2**64 - 1),
)


@given(records)
@EXAMPLES
def test_ipns_round_trip(record: IpnsRecord) -> None:
    data = ipns.encode(record, KEY.sign)
    assert ipns.decode(data, NAME) == record
    (content,) = (content for number, _, _, content in protobuf.fields(data, 9) if number == 9)
    assert dag_cbor.encode(dag_cbor.decode(content)) == content


@given(records, st.data())
@FUZZ
def test_a_changed_ipns_record_never_says_something_else(record: IpnsRecord, drawn: st.DataObject) -> None:
    data = ipns.encode(record, KEY.sign)
    changed = mutate(data, drawn.draw(st.lists(CHANGES, min_size=1, max_size=3)))
    try:
        assert ipns.decode(changed, NAME) == record
    except Rejected:
        return


@given(values | st.binary(max_size=200), st.lists(CHANGES, max_size=2))
@FUZZ
def test_what_an_owner_signs_is_a_record_or_refused(value: Any, changes: Changes) -> None:
    """The signature is good, so what follows is all that stands between the owner and the reader."""
    said = {
        "Value": b"/ipfs/bafkqaaa", "Validity": b"2031-02-03T04:05:06Z", "ValidityType": 0,
        "Sequence": 3, "TTL": 60, "_own": oracle_value(value),
    }  # fmt: skip
    content = mutate(dag_cbor.encode(said), changes)
    signed = protobuf.bytes_field(8, KEY.sign(ipns.SIGNATURE_PREFIX + content))
    data = signed + protobuf.bytes_field(9, content)
    try:
        assert ipns.decode(data, NAME).value.startswith("/")
    except Rejected:
        assert changes


@given(st.lists(CHANGES, max_size=4))
@FUZZ
def test_any_public_key_behind_a_name_is_used_or_refused(
    changes: Changes,
) -> None:
    fields = {number: content for number, _, _, content in protobuf.fields(vectors.JS_RSA_RECORD, 9)}
    message = mutate(fields[7], changes)
    data = b"".join(protobuf.bytes_field(*field) for field in (fields | {7: message}).items())
    try:
        ipns.decode(data, IpnsName.of_message(message))
    except Rejected:
        assert message != fields[7]


@given(st.binary(min_size=32, max_size=32))
@EXAMPLES
def test_ipns_names_have_one_value_in_every_form(public: bytes) -> None:
    name = IpnsName.of(public)
    oracle = CID("base36", 1, "libp2p-key", ("identity", b"\x08\x01\x12\x20" + public))
    assert name.text == str(oracle)
    assert name.public_key() == public
    for text in (oracle.encode(base) for base in ("base32", "base36upper", "base58btc", "base16")):
        assert IpnsName.parse(text) == name
    assert IpnsName.parse(base58(name.multihash)) == name


@given(st.sets(st.text(st.characters(codec="utf-8"), min_size=1, max_size=12), max_size=60))
@settings(max_examples=40)
def test_every_name_of_a_sharded_directory_is_found_and_no_other(names: set[str]) -> None:
    blocks: dict[Cid, bytes] = {}
    root = shard(sorted(names), 0, blocks)
    for name in names:
        assert walk(root, name, blocks) == Cid.of(name.encode(), RAW)
    assert walk(root, "an absent name", blocks) is None


FANOUT = 8
SHARD_DATA = b"\x08\x05\x28\x22\x30\x08"


def shard(names: list[str], depth: int, blocks: dict[Cid, bytes]) -> Cid:
    """Build a sharded directory, as a reader of the specification would."""
    places: dict[int, list[str]] = {}
    for name in names:
        places.setdefault(hamt.bucket(name, FANOUT, depth), []).append(name)
    found: list[PbLink] = []
    for place, there in places.items():
        if len(there) == 1:
            found.append(PbLink(Cid.of(there[0].encode(), RAW), f"{place:X}{there[0]}"))
        else:
            found.append(PbLink(shard(there, depth + 1, blocks), f"{place:X}"))
    data = dagpb.encode(PbNode(SHARD_DATA, tuple(found)))
    blocks[Cid.of(data, DAG_PB)] = data
    return Cid.of(data, DAG_PB)


def walk(root: Cid, name: str, blocks: dict[Cid, bytes]) -> Cid | None:
    at, depth = root, 0
    while True:
        node = dagpb.decode(blocks[at])
        child = hamt.find(node, unixfs.of(node), name, depth)
        if child is None or not child.is_shard:
            return None if child is None else child.cid
        at, depth = child.cid, depth + 1


def read_hamt(data: bytes) -> None:
    node = dagpb.decode(data)
    content = unixfs.of(node)
    hamt.find(node, content, "a name", 1)
    hamt.children(node, content)


def read_car(data: bytes) -> None:
    reader = CarReader()
    half = len(data) // 2
    for cid, block in reader.feed(data[:half]) + reader.feed(data[half:]):
        assert cid.matches(block)
    reader.finish()


def read_text(data: bytes) -> None:
    Cid.parse(data.decode("latin-1"), any_hash=True)


def read_name(data: bytes) -> None:
    IpnsName.parse(data.decode("latin-1"))


def read_record(data: bytes) -> None:
    ipns.decode(data, NAME)


def read_rsa_record(data: bytes) -> None:
    ipns.decode(data, IpnsName.parse(vectors.JS_RSA_NAME))


def read_links(codec: int) -> Callable[[bytes], object]:
    def read(data: bytes) -> object:
        cid = Cid.of(data, codec)
        return links(cid, data), step(cid, data, ["a", "0", "x"]) if codec != DAG_PB else None

    return read


BLOCKS = [
    (Cid.of(vectors.JS_SHARD, DAG_PB), vectors.JS_SHARD),
    (Cid.of(vectors.JS_SUB_SHARD, DAG_PB), vectors.JS_SUB_SHARD),
    (Cid(DAG_PB, Cid.of(b"\x0a\x02\x08\x01").digest, SHA2_256, 0), b"\x0a\x02\x08\x01"),
    (Cid.of(b"an answer" * 40, RAW), b"an answer" * 40),
    (Cid(RAW, hashlib.sha512(b"other").digest(), SHA2_512), b"other"),
    (Cid(RAW, hashlib.blake2b(b"else", digest_size=32).digest(), BLAKE2B_256), b"else"),
    (Cid(RAW, b"inline", IDENTITY), b"inline"),
]
AS_CBOR = dag_cbor.encode(
    {"a": [oracle_of(BLOCKS[0][0]), {"x": 1.5, "y": None}], "text": "answer", "bytes": bytes(40), "n": -7}
)
AS_JSON = json.dumps({"a": [{"/": str(BLOCKS[0][0])}, {"x": [{}]}], "b": {"/": {"bytes": "AAAA"}}}).encode()
BLOCKS += [(Cid.of(AS_CBOR), AS_CBOR), (Cid.of(AS_JSON, DAG_JSON), AS_JSON)]
CAR = header([BLOCKS[0][0]]) + b"".join(section(*block) for block in BLOCKS)
PLACES = b"".join(number.to_bytes(8, "little") for number in (55, len(CAR), 0))
CAR_2 = bytes.fromhex("0aa16776657273696f6e02") + bytes(16) + PLACES + bytes(4) + CAR

DECODERS: dict[str, tuple[Callable[[bytes], object], list[bytes]]] = {
    "cid": (lambda data: Cid.from_bytes(data, any_hash=True), [bytes(cid) for cid, _ in BLOCKS]),
    "strict cid": (Cid.from_bytes, [bytes(cid) for cid, _ in BLOCKS]),
    "cid text": (read_text, [str(cid).encode() for cid, _ in BLOCKS]),
    "car": (read_car, [CAR, CAR_2, vectors.JS_FILE_CAR]),
    "dag-cbor": (dagcbor.decode, [AS_CBOR]),
    "foreign dag-cbor": (dagcbor.decode_foreign, [AS_CBOR]),
    "dag-json": (dagjson.decode, [AS_JSON]),
    "dag-pb": (dagpb.decode, [vectors.JS_SHARD, vectors.JS_SUB_SHARD]),
    "unixfs": (unixfs.decode, [b"\x08\x02\x12\x03abc\x18\x0a\x20\x03\x22\x02\x03\x04", SHARD_DATA]),
    "hamt": (read_hamt, [vectors.JS_SHARD, vectors.JS_SUB_SHARD]),
    "ipns": (read_record, [vectors.JS_ED25519_RECORD, vectors.SPECIFICATION_RECORDS["v1-v2"][1]]),
    "ipns with rsa": (read_rsa_record, [vectors.JS_RSA_RECORD]),
    "ipns name": (read_name, [NAME.text.encode(), NAME.peer_id.encode(), vectors.JS_RSA_PEER.encode()]),
    "links of raw": (read_links(RAW), [b"x"]),
    "links of dag-pb": (read_links(DAG_PB), [vectors.JS_SHARD]),
    "links of dag-cbor": (read_links(DAG_CBOR), [AS_CBOR]),
    "links of dag-json": (read_links(DAG_JSON), [AS_JSON]),
}
EACH_DECODER = pytest.mark.parametrize("name", sorted(DECODERS))


@EACH_DECODER
def test_the_seeds_are_good(name: str) -> None:
    decode, seeds = DECODERS[name]
    if name not in ("strict cid", "ipns"):
        for seed in seeds:
            decode(seed)


@EACH_DECODER
@given(data=st.binary(max_size=300))
@FUZZ
def test_any_bytes_are_read_or_refused(name: str, data: bytes) -> None:
    try:
        DECODERS[name][0](data)
    except Rejected:
        return


@EACH_DECODER
@given(drawn=st.data(), changes=st.lists(CHANGES, min_size=1, max_size=4))
@FUZZ
def test_changed_bytes_are_read_or_refused(name: str, drawn: st.DataObject, changes: Changes) -> None:
    decode, seeds = DECODERS[name]
    try:
        decode(mutate(drawn.draw(st.sampled_from(seeds)), changes))
    except Rejected:
        return


def by_chance(chance: random.Random, data: bytes, count: int) -> bytes:
    """``data`` with ``count`` changes, the same ones for the same seed."""

    def one() -> tuple[str, int, int]:
        return chance.choice(KINDS), chance.randrange(2**31), chance.randrange(256)

    return mutate(data, [one() for _ in range(count)])


@pytest.mark.slow
@EACH_DECODER
def test_a_long_run_of_changed_bytes_is_read_or_refused(name: str) -> None:
    decode, seeds = DECODERS[name]
    chance = random.Random(name)
    refused = 0
    for _ in range(20_000):
        try:
            decode(by_chance(chance, chance.choice(seeds), chance.choice((1, 1, 2, 3, 8))))
        except Rejected:
            refused += 1
    assert refused > 5_000 or name == "links of raw"


LENGTHS = (2**31, 2**32 - 1, 2**40, 2**63 - 1, 2**64 - 1)


def length_bombs() -> list[bytes]:
    """Heads of every format that promise more than there is."""
    bombs: list[bytes] = []
    for length in LENGTHS:
        varint = b"".join(
            bytes([(length >> shift & 0x7F) | (0x80 if length >> (shift + 7) else 0)])
            for shift in range(0, 70, 7)
            if length >> shift
        )
        bombs += [varint, varint + bytes(40)]
        bombs += [bytes([tag]) + varint + bytes(40) for tag in (0x0A, 0x12, 0x22, 0x3A, 0x42, 0x4A)]
        bombs += [b"\x01\x55\x12" + varint + bytes(40), b"\x01\x55\x00" + varint + bytes(40)]
        bombs += [bytes([major << 5 | 27]) + length.to_bytes(8, "big") + bytes(40) for major in range(2, 6)]
        bombs += [header([]) + varint + bytes(40)]
        bombs += [b"\x08\x05\x28\x22\x30" + varint]
        bombs += [protobuf.bytes_field(1, b"\x08\x05\x28\x22\x30" + varint)]
    bombs += [one[:size] for one in (CAR, CAR_2) for size in (11, 51, 60, 100)]
    return bombs


@EACH_DECODER
def test_promised_gigabytes_take_no_memory(name: str) -> None:
    decode = DECODERS[name][0]
    bombs = length_bombs()
    tracemalloc.start()
    try:
        for bomb in bombs:
            try:
                decode(bomb)
            except Rejected:
                continue
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1_000_000


def test_10000_changed_blocks_are_never_valid_under_their_cid() -> None:
    chance = random.Random(8)
    tried = 0
    while tried < 10_000:
        cid, data = chance.choice(BLOCKS)
        changed = by_chance(chance, data, chance.choice((1, 1, 1, 2, 5)))
        if changed == data:
            continue
        tried += 1
        assert not cid.matches(changed)
        with pytest.raises(Rejected):
            CarReader().feed(header([cid]) + section(cid, changed))


def test_changes_to_a_whole_car_never_put_other_bytes_under_a_cid() -> None:
    chance = random.Random(8)
    good = dict(BLOCKS)
    refused = 0
    for _ in range(2_000):
        changed = by_chance(chance, CAR, 2)
        reader = CarReader()
        got: list[tuple[Cid, bytes]] = []
        try:
            for at in range(0, len(changed), 100):
                got += reader.feed(changed[at : at + 100])
            reader.finish()
        except Rejected:
            refused += 1
        for cid, data in got:
            assert cid.matches(data)
            assert good.get(cid, data) == data
    assert refused > 1_000
