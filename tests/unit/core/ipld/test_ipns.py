"""IPNS: the specification's test vectors, records of another implementation, ours, and forgeries."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import cbrrr
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from node.core.errors import Rejected
from node.core.ipld import ipns, protobuf
from node.core.ipld.cid import DAG_CBOR, IDENTITY, LIBP2P_KEY, SHA2_256, Cid, base36, base58
from node.core.ipld.ipns import IpnsName, IpnsRecord, better, decode, encode
from tests.each import each
from tests.unit.core.ipld import vectors

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
NAME = IpnsName.of(KEY.public_key().public_bytes_raw())
UNTIL = datetime(2031, 2, 3, 4, 5, 6, 789_000, tzinfo=UTC)
RECORD = IpnsRecord("/ipfs/bafkqaaa", 3, UNTIL, 60_000_000_000)
DATA: dict[str, Any] = {
    "Value": b"/ipfs/bafkqaaa",
    "Validity": b"2031-02-03T04:05:06.789000000Z",
    "ValidityType": 0,
    "Sequence": 3,
    "TTL": 60_000_000_000,
}


def signed(data: Any, *beside: bytes, key: Ed25519PrivateKey = KEY) -> bytes:
    """A record with any data: a map or its bytes."""
    content = data if isinstance(data, bytes) else cbrrr.encode_dag_cbor(data)
    signature = key.sign(ipns.SIGNATURE_PREFIX + content)
    return b"".join(beside) + protobuf.bytes_field(8, signature) + protobuf.bytes_field(9, content)


V1 = {
    1: protobuf.bytes_field(1, b"/ipfs/bafkqaaa"),
    2: protobuf.bytes_field(2, b"any signature of version 1"),
    3: protobuf.number_field(3, 0),
    4: protobuf.bytes_field(4, b"2031-02-03T04:05:06.789000000Z"),
    5: protobuf.number_field(5, 3),
    6: protobuf.number_field(6, 60_000_000_000),
}


VALUES = {
    "v1-v2": "/ipfs/bafkqaddwgevxmmraojswg33smq",
    "v1-v2-broken-signature-v1": "/ipfs/bafkqahtwgevxmmrao5uxi2bamjzg623fnyqhg2lhnzqxi5lsmuqhmmi",
    "v2": "/ipfs/bafkqadtwgiww63tmpeqhezldn5zgi",
}
"""What those of the specification's vectors say that are valid."""


@pytest.mark.parametrize("case", vectors.SPECIFICATION_RECORDS)
def test_vectors_of_the_specification(case: str) -> None:
    text, data = vectors.SPECIFICATION_RECORDS[case]
    name = IpnsName.parse(text)
    assert name.text == text
    if case not in VALUES:
        with pytest.raises(Rejected):
            decode(data, name)
    else:
        record = decode(data, name)
        assert record.value == VALUES[case]
        assert record.validity == datetime(2123, 8, 14, 12, 17, 3, 694_052, tzinfo=UTC)
        assert (record.sequence, record.ttl_ns) == (0, 1_800_000_000_000)


def test_an_ed25519_record_of_another_implementation() -> None:
    assert (NAME.text, NAME.peer_id) == (vectors.JS_ED25519_NAME, vectors.JS_ED25519_PEER)
    record = decode(vectors.JS_ED25519_RECORD, NAME)
    until = datetime.fromisoformat(vectors.JS_ED25519_UNTIL.replace("000000Z", "+00:00"))
    assert record == IpnsRecord(
        "/ipfs/bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e", 7, until, 60_000_000_000
    )
    assert encode(record, KEY.sign) == vectors.JS_ED25519_RECORD, (
        "the same bytes: Ed25519 has no chance in it"
    )


def test_an_rsa_record_of_another_implementation() -> None:
    name = IpnsName.parse(vectors.JS_RSA_NAME)
    assert IpnsName.parse(vectors.JS_RSA_PEER) == name
    assert name.peer_id == vectors.JS_RSA_PEER
    assert name.public_key() is None
    assert decode(vectors.JS_RSA_RECORD, name).value == "/ipns/example.com/path"
    with pytest.raises(Rejected, match="not the one of its name"):
        decode(vectors.JS_RSA_RECORD, NAME)


def test_one_name_in_every_form() -> None:
    public = KEY.public_key().public_bytes_raw()
    assert NAME.public_key() == public
    forms = [
        *(NAME.text, str(NAME), NAME.peer_id, str(NAME.cid), str(NAME.cid).upper()),
        *("z" + base58(bytes(NAME.cid)), "f" + bytes(NAME.cid).hex(), "K" + NAME.text[1:].upper()),
    ]
    assert {IpnsName.parse(form) for form in forms} == {NAME}
    assert NAME.text.startswith("k51")
    assert NAME.peer_id.startswith("12D3Koo")


@each(
    "text",
    [
        *("", "k", "1", "Qm", "1" * 50, "Qm" + "1" * 44, "k" * 300),
        str(Cid(DAG_CBOR, NAME.multihash[2:], IDENTITY)),
        str(Cid(LIBP2P_KEY, bytes(43), IDENTITY)),
        str(Cid(LIBP2P_KEY, bytes(64), 0x13)),
        "QmdfTbBqBPQ7VNxZEYEj14VmRuZBkqFbiwReogJgS1zR10",
        "bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e",
        *("/ipns/" + NAME.text, NAME.text + " ", NAME.peer_id[:-1]),
        base58(NAME.multihash + b"\0"),
    ],
)
def test_what_is_no_name_is_refused(text: str) -> None:
    with pytest.raises(Rejected):
        IpnsName.parse(text)


def test_names_that_inline_something_else_have_no_ed25519_key() -> None:
    for message in (b"", b"\x08\x02\x12\x20" + bytes(32), b"\x08\x01\x12\x21" + bytes(33), bytes(36)):
        name = IpnsName.parse(base36(bytes(Cid(LIBP2P_KEY, message, IDENTITY))))
        assert name.public_key() is None
        with pytest.raises(Rejected, match=r"public key|protobuf"):
            decode(signed(DATA), name)


def test_our_records_are_read_again() -> None:
    data = encode(RECORD, KEY.sign)
    assert data == signed(DATA)
    assert decode(data, NAME) == RECORD
    elsewhere = replace(RECORD, validity=UNTIL.astimezone(timezone(timedelta(hours=-9))))
    assert encode(elsewhere, KEY.sign) == data


@pytest.mark.parametrize(
    "changes",
    [
        {"validity": UNTIL.replace(tzinfo=None)},
        {"value": "/ipfs/" + "a" * ipns.RECORD_BYTES_MAX},
        *({"sequence": -1}, {"sequence": 2**64}, {"ttl_ns": -1}, {"ttl_ns": 2**64}),
    ],
)
def test_what_cannot_be_said_is_not_encoded(changes: dict[str, Any]) -> None:
    with pytest.raises(Rejected):
        encode(replace(RECORD, **changes), KEY.sign)


def test_the_largest_sequence_is_unsigned() -> None:
    record = replace(RECORD, sequence=2**64 - 1, ttl_ns=2**64 - 1)
    assert decode(encode(record, KEY.sign), NAME) == record


def valid_until(text: bytes) -> bytes:
    return signed(DATA | {"Validity": text})


NOTHING = DATA | {"Sequence": 0, "TTL": 0}
AT = datetime(2031, 2, 3, 4, 5, 6, tzinfo=UTC)
READ: dict[str, tuple[bytes, dict[str, Any]]] = {
    "copies of version 1 that agree": (signed(DATA, *V1.values()), {}),
    "two of the copies": (signed(DATA, V1[4], V1[5]), {}),
    "absent copies of nothing": (signed(NOTHING, V1[1], V1[2], V1[4]), {"sequence": 0, "ttl_ns": 0}),
    "keys of others in the data": (signed(DATA | {"_mine": {"a": [1, 2]}}), {}),
    "unknown fields": (signed(DATA) + b"\x78\x01" + protobuf.bytes_field(16, b"x") + b"\x8d\x01\0\0\0\0", {}),
    "the name's own key": (signed(DATA, protobuf.bytes_field(7, NAME.multihash[2:])), {}),
    "an empty value": (signed(DATA | {"Value": b""}), {"value": ipns.NOTHING}),
    "a CID as the value": (signed(DATA | {"Value": bytes(Cid.of(b""))}), {"value": f"/ipfs/{Cid.of(b'')}"}),
    "a domain": (signed(DATA | {"Value": b"/ipns/example.com/a b"}), {"value": "/ipns/example.com/a b"}),
    "a whole second": (valid_until(b"2031-02-03T04:05:06Z"), {"validity": AT}),
    "tenths": (valid_until(b"2031-02-03T04:05:06.7Z"), {"validity": AT.replace(microsecond=700_000)}),
    "nanoseconds": (
        valid_until(b"2031-02-03T04:05:06.123456789Z"),
        {"validity": AT.replace(microsecond=123_456)},
    ),
    "a zone east": (valid_until(b"2031-02-03T05:35:06+01:30"), {"validity": AT}),
    "a zone west": (valid_until(b"2031-02-03T02:35:06-01:30"), {"validity": AT}),
}


@each("name", READ)
def test_what_is_read_beside_our_own_form(name: str) -> None:
    data, changes = READ[name]
    assert decode(data, NAME) == replace(RECORD, **changes)


@pytest.mark.parametrize("number", V1)
def test_a_copy_that_is_missing_or_different_is_refused(number: int) -> None:
    others = {
        1: protobuf.bytes_field(1, b"/ipfs/bafkqaab"),
        3: protobuf.number_field(3, 1),
        4: protobuf.bytes_field(4, b"2031-02-03T04:05:06.789000001Z"),
        5: protobuf.number_field(5, 4),
        6: protobuf.number_field(6, 1),
    }
    if number in others:
        with pytest.raises(Rejected, match="contradict"):
            decode(signed(DATA, *(V1 | {number: others[number]}).values()), NAME)
        with pytest.raises(Rejected, match="contradict"):
            decode(signed(DATA, others[number]), NAME)
    without = [field for key, field in V1.items() if key != number]
    if number in (2, 3):  # a signature is not needed, and an absent type means 0
        assert decode(signed(DATA, *without), NAME) == RECORD
    else:
        with pytest.raises(Rejected, match="contradict"):
            decode(signed(DATA, *without), NAME)


WRONG: dict[str, list[Any]] = {
    "Value": [None, "text", 1, b"/\xff", b"bafkqaaa"],
    "Validity": [
        *(None, "2031-02-03T04:05:06Z", b"", b"2031-02-30T04:05:06Z", b"2031-02-03T24:05:06Z"),
        *(b"2031-02-03T04:05:60Z", b"2031-02-03 04:05:06Z", b"2031-02-03T04:05:06", b"2031-02-03T04:05:06.Z"),
        *(b"2031-02-03T04:05:06.1234567890Z", b"2031-02-03T04:05:06+24:00", b"0000-01-01T00:00:00Z"),
        *(b"0001-01-01T00:00:00+01:00", b"9999-12-31T23:59:59-01:00", "٢031-02-03T04:05:06Z".encode()),
    ],
    "ValidityType": [None, 1, 2**64 - 1, -1, False, "0", 0.0],
    "Sequence": [None, -1, True, b"3", 3.0],
    "TTL": [None, -1, True, b"3", 3.0],
}


@each(("key", "value"), [(key, one) for key, values in WRONG.items() for one in values])
def test_data_of_the_wrong_kind_is_refused_though_signed(key: str, value: Any) -> None:
    with pytest.raises(Rejected):
        decode(signed(DATA | {key: value}), NAME)
    with pytest.raises(Rejected):
        decode(signed({name: one for name, one in DATA.items() if name != key}), NAME)


GOOD = signed(DATA)
SIGNATURE, CONTENT = (value for _, _, _, value in protobuf.fields(GOOD, 9))
UNSORTED = b"\xa5" + b"".join(cbrrr.encode_dag_cbor({key: DATA[key]})[1:] for key in sorted(DATA))
BAD = {
    "nothing": b"",
    "no signature": protobuf.bytes_field(9, CONTENT),
    "empty signature": protobuf.bytes_field(8, b"") + protobuf.bytes_field(9, CONTENT),
    "no data": protobuf.bytes_field(8, SIGNATURE),
    "empty data": signed(b""),
    "data twice": GOOD + protobuf.bytes_field(9, CONTENT),
    "signature twice": protobuf.bytes_field(8, SIGNATURE) + GOOD,
    "signature as a number": b"\x40\x01" + protobuf.bytes_field(9, CONTENT),
    "sequence as bytes": protobuf.bytes_field(5, b"\x03") + GOOD,
    "signature without its prefix": protobuf.bytes_field(8, KEY.sign(CONTENT))
    + protobuf.bytes_field(9, CONTENT),
    "another key's signature": signed(DATA, key=Ed25519PrivateKey.from_private_bytes(bytes(32))),
    "data that is no map": signed([1]),
    "data in another order": signed(UNSORTED),
    "data with more behind it": signed(CONTENT + b"\0"),
    "integer in a longer form": signed(CONTENT.replace(b"Sequence\x03", b"Sequence\x18\x03")),
    "cut off": GOOD[:-1],
    "over 10 KiB": signed(DATA | {"_more": bytes(ipns.RECORD_BYTES_MAX)}),
    "gigabytes of data": GOOD[:66] + b"\x4a\xff\xff\xff\xff\x0f",
    "a thousand fields": b"\x78\x01" * 1_000 + GOOD,
}


@each("name", sorted(BAD))
def test_what_is_no_record_is_refused(name: str) -> None:
    assert decode(GOOD, NAME) == RECORD
    with pytest.raises(Rejected):
        decode(BAD[name], NAME)


def test_a_given_ed25519_key_must_be_the_names() -> None:
    other = Ed25519PrivateKey.from_private_bytes(bytes(32))
    given = protobuf.bytes_field(7, b"\x08\x01\x12\x20" + other.public_key().public_bytes_raw())
    with pytest.raises(Rejected, match="not the one"):
        decode(signed(DATA, given, key=other), NAME)


def rsa_record(key: RSAPrivateKey, message: bytes) -> tuple[bytes, IpnsName]:
    signature = key.sign(ipns.SIGNATURE_PREFIX + CONTENT, PKCS1v15(), SHA256())
    fields = ((7, message), (8, signature), (9, CONTENT))
    return b"".join(protobuf.bytes_field(*field) for field in fields), IpnsName.of_message(message)


def rsa_message(key: RSAPrivateKey, kind: int = 0) -> bytes:
    der = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return protobuf.number_field(1, kind) + protobuf.bytes_field(2, der)


def test_rsa_keys_are_given_and_long_enough() -> None:
    good = generate_private_key(65_537, 2_048)
    data, name = rsa_record(good, rsa_message(good))
    assert name.multihash[0] == SHA2_256
    assert decode(data, name) == RECORD
    with pytest.raises(Rejected, match="lacks the public key"):
        decode(GOOD, name)
    with pytest.raises(Rejected, match="signature"):
        decode(data.replace(b"bafkqaaa", b"bafkqaab"), name)
    short = generate_private_key(65_537, 1_024)
    for key, message in (
        (short, rsa_message(short)),
        (good, rsa_message(good, kind=2)),
        (good, rsa_message(good) + b"\x08\x00"),
        (good, rsa_message(good) + b"\x18\x00"),
        (good, rsa_message(good)[:-1]),
        (good, b"\x08\x00" + protobuf.bytes_field(2, bytes(64))),
        (good, b"\x08\x00" + protobuf.bytes_field(3, bytes(64))),
    ):
        data, name = rsa_record(key, message)
        with pytest.raises(Rejected, match=r"key|protobuf"):
            decode(data, name)


def test_the_better_record() -> None:
    assert better(replace(RECORD, sequence=4, validity=UNTIL - timedelta(days=1)), RECORD)
    assert better(replace(RECORD, validity=UNTIL + timedelta(microseconds=1)), RECORD)
    assert not better(replace(RECORD, value="/ipfs/other", ttl_ns=0), RECORD)
    assert not better(replace(RECORD, sequence=2, validity=UNTIL + timedelta(days=1)), RECORD)
