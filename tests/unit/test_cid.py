"""CIDs against the multiformats oracle, in every base, and against hostile text."""

from __future__ import annotations

import hashlib
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.errors import Rejected
from node.ipfs.cid import (
    BASE36,
    BASE58,
    DAG_CBOR,
    DAG_JSON,
    DAG_PB,
    RAW,
    Cid,
    base36,
    base58,
    decode_base,
    decode_varint,
    encode_base,
    encode_varint,
)

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the oracle's own imports warn
    from multiformats import CID, multibase, varint

BASES = ("base32", "base32upper", "base58btc", "base36", "base36upper", "base16", "base16upper")
CODECS = {RAW: "raw", DAG_PB: "dag-pb", DAG_CBOR: "dag-cbor", DAG_JSON: "dag-json"}


@pytest.mark.parametrize("codec", sorted(CODECS))
@pytest.mark.parametrize("number", range(8))
def test_the_oracle_agrees_in_every_base(codec: int, number: int) -> None:
    data = f"block {number}".encode()
    cid = Cid.of(data, codec)
    oracle = CID("base32", 1, CODECS[codec], ("sha2-256", hashlib.sha256(data).digest()))
    assert str(cid) == str(oracle)
    assert bytes(cid) == bytes(oracle)
    assert Cid.from_bytes(bytes(oracle)) == cid
    for base in BASES:
        assert Cid.parse(oracle.encode(base)) == cid, base
    assert base36(bytes(cid)) == oracle.encode("base36")
    assert "z" + base58(bytes(cid)) == oracle.encode("base58btc")


@pytest.mark.parametrize("number", range(20))
def test_version_0_is_dag_pb(number: int) -> None:
    digest = hashlib.sha256(str(number).encode()).digest()
    oracle = CID("base58btc", 0, "dag-pb", ("sha2-256", digest))
    assert str(oracle).startswith("Qm")
    assert Cid.parse(str(oracle)) == Cid(DAG_PB, digest)
    assert Cid.from_bytes(bytes(oracle)) == Cid(DAG_PB, digest)


def test_known_cids() -> None:
    assert str(Cid.of(b"hello world", RAW)) == "bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e"
    assert Cid.parse("QmdfTbBqBPQ7VNxZEYEj14VmRuZBkqFbiwReogJgS1zR1n") == Cid.parse(
        "bafybeihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku"
    )


@given(st.binary(max_size=80))
def test_bases_are_inverse_and_agree_with_the_oracle(data: bytes) -> None:
    for alphabet, name in ((BASE58, "base58btc"), (BASE36, "base36")):
        text = encode_base(data, alphabet)
        assert decode_base(text, alphabet) == data
        assert multibase.encode(data, name)[1:] == text


@given(st.integers(0, 2**63 - 1))
def test_varints_are_inverse_and_agree_with_the_oracle(value: int) -> None:
    encoded = encode_varint(value)
    assert encoded == varint.encode(value)
    assert decode_varint(b"\xff" + encoded + b"\x00", 1) == (value, 1 + len(encoded))


@pytest.mark.parametrize("data", [b"", b"\x80", b"\x80\x00", b"\xff" * 9, b"\xff" * 200, b"\x81\x80\x00"])
def test_bad_varints_are_rejected(data: bytes) -> None:
    with pytest.raises(Rejected):
        decode_varint(data)


GOOD = Cid.of(b"good")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "b",
        "Qm",
        str(GOOD)[:-1],
        str(GOOD) + "a",
        str(GOOD) + "=",
        str(GOOD) + " ",
        " " + str(GOOD),
        str(GOOD).replace("b", "x", 1),
        "b" + str(GOOD)[1:-1] + "1",
        "b" + str(GOOD)[1].upper() + str(GOOD)[2:],
        "z0OIl",
        "k" + "-" * 50,
        "fzz",
        "f" + "0" * 100,
        "m" + "A" * 60,
        "b" * 256,
        "b" * 1_000_000,
        "z" + "1" * 255,
        "z" + "z" * 255,
        "QmdfTbBqBPQ7VNxZEYEj14VmRuZBkqFbiwReogJgS1zR10",
        "\ud800" * 4,
        "k" + base36(bytes(GOOD))[1:].replace("k", "\N{KELVIN SIGN}"),
        "f" + bytes(GOOD).hex(" "),
        "/ipfs/" + str(GOOD),
    ],
)
def test_bad_texts_are_rejected(text: str) -> None:
    with pytest.raises(Rejected):
        Cid.parse(text)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        bytes(GOOD)[:-1],
        bytes(GOOD) + b"\0",
        b"\x02" + bytes(GOOD)[1:],
        b"\x01\x71\x11\x14" + bytes(20),
        b"\x01\x71\x12\x1f" + bytes(31),
        b"\x01\x71\x00\x04abcd",
        b"\x01\x71\x12\x20" + bytes(31),
        b"\x01\xf1\x80\x00\x12\x20" + bytes(32),
        b"\x12\x20" + bytes(31),
        b"\x80" * 100,
    ],
)
def test_bad_bytes_are_rejected(data: bytes) -> None:
    with pytest.raises(Rejected):
        Cid.from_bytes(data)


@given(st.text(max_size=120))
def test_any_text_is_a_cid_or_rejected(text: str) -> None:
    try:
        cid = Cid.parse(text)
    except Rejected:
        return
    assert Cid.parse(str(cid)) == cid


@given(st.sampled_from("bBzkKfF"), st.text("abcdefxyzABCQm123456790=", max_size=120))
def test_any_likely_text_is_a_cid_or_rejected(prefix: str, rest: str) -> None:
    try:
        cid = Cid.parse(prefix + rest)
    except Rejected:
        return
    assert Cid.parse(str(cid)) == cid


def test_changing_a_character_never_gives_the_same_cid() -> None:
    """One CID, one base32 text: a listing by text must not be evaded by another spelling."""
    text = str(GOOD)
    for position in range(1, len(text)):
        for char in "abcdefghijklmnopqrstuvwxyz234567":
            changed = text[:position] + char + text[position + 1 :]
            if changed == text:
                continue
            try:
                other = Cid.parse(changed)
            except Rejected:
                continue
            assert other != GOOD, (position, char)
