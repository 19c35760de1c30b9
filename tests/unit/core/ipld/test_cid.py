"""CIDs against the multiformats oracle, in every base, and against hostile text."""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.core.errors import Rejected
from node.core.ipld.cid import (
    BASE36,
    BASE58,
    BLAKE2B_256,
    DAG_CBOR,
    DAG_JSON,
    DAG_PB,
    DIGEST_BYTES_MAX,
    IDENTITY,
    RAW,
    SHA2_256,
    SHA2_512,
    Cid,
    base36,
    base58,
    decode_base,
    decode_varint,
    encode_base,
    encode_varint,
    read_cid,
)
from tests.each import each

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the oracle's own imports warn
    from multiformats import CID, multibase, varint

BASES = (
    *("base32", "base32upper", "base58btc", "base36", "base36upper", "base16", "base16upper", "base64url"),
)
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


@each("number", range(20))
def test_version_0_is_dag_pb(number: int) -> None:
    digest = hashlib.sha256(str(number).encode()).digest()
    oracle = CID("base58btc", 0, "dag-pb", ("sha2-256", digest))
    assert str(oracle).startswith("Qm")
    assert Cid.parse(str(oracle)) == Cid(DAG_PB, digest)
    assert Cid.from_bytes(bytes(oracle)) == Cid(DAG_PB, digest)
    assert Cid.parse(str(oracle)).version == Cid.from_bytes(bytes(oracle)).version == 0
    assert str(Cid.parse(str(oracle))) == str(oracle)
    assert bytes(Cid.from_bytes(bytes(oracle))) == bytes(oracle)
    version_1 = Cid(DAG_PB, digest)
    assert hash(Cid.parse(str(oracle))) == hash(version_1)
    assert str(version_1) == str(oracle.set(version=1, base="base32"))


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


def test_a_varint_has_as_many_bits_as_the_format_says() -> None:
    for value, bits_max in ((2**63 - 1, 63), (2**64 - 1, 64)):
        assert decode_varint(encode_varint(value), bits_max=bits_max)[0] == value
        with pytest.raises(Rejected, match="too long"):
            decode_varint(encode_varint(value + 1), bits_max=bits_max)


GOOD = Cid.of(b"good")


@each(
    "text",
    [
        *("", "b", "Qm", "z0OIl", "fzz", "k" + "-" * 50, "f" + "0" * 100, "m" + "A" * 60),
        *(
            str(GOOD)[:-1],
            str(GOOD) + "a",
            str(GOOD) + "=",
            str(GOOD) + " ",
            " " + str(GOOD),
            "/ipfs/" + str(GOOD),
        ),
        *(
            str(GOOD).replace("b", "x", 1),
            "b" + str(GOOD)[1:-1] + "1",
            "b" + str(GOOD)[1].upper() + str(GOOD)[2:],
        ),
        *("b" * 256, "b" * 1_000_000, "z" + "1" * 255, "z" + "z" * 255),
        "QmdfTbBqBPQ7VNxZEYEj14VmRuZBkqFbiwReogJgS1zR10",
        "\ud800" * 4,
        "k" + base36(bytes(GOOD))[1:].replace("k", "\N{KELVIN SIGN}"),
        "f" + bytes(GOOD).hex(" "),
        "zQmdfTbBqBPQ7VNxZEYEj14VmRuZBkqFbiwReogJgS1zR1n",
        *(
            "f1220" + "00" * 32,
            "u" + "A" * 47 + "B",
            "u" + "AXE" + "!" * 46,
            str(Cid(RAW, bytes(64), SHA2_512)),
        ),
        str(Cid(RAW, b"", IDENTITY)),
    ],
)
def test_bad_texts_are_rejected(text: str) -> None:
    with pytest.raises(Rejected):
        Cid.parse(text)


@pytest.mark.parametrize(
    "data",
    [
        *(b"", bytes(GOOD)[:-1], bytes(GOOD) + b"\0", b"\x02" + bytes(GOOD)[1:], b"\x80" * 100),
        *(b"\x01\x71\x11\x14" + bytes(20), b"\x01\x71\x12\x1f" + bytes(31), b"\x01\x71\x00\x04abcd"),
        *(b"\x01\x71\x12\x20" + bytes(31), b"\x01\xf1\x80\x00\x12\x20" + bytes(32), b"\x12\x20" + bytes(31)),
    ],
)
def test_bad_bytes_are_rejected(data: bytes) -> None:
    with pytest.raises(Rejected):
        Cid.from_bytes(data)


@given(
    st.text(max_size=120)
    | st.tuples(st.sampled_from("bBzkKfF"), st.text("abcdefxyzABCQm123456790=", max_size=120)).map("".join)
)
def test_any_text_is_a_cid_or_rejected(text: str) -> None:
    try:
        cid = Cid.parse(text)
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


def test_cids_of_other_hashes_are_read_when_asked_for() -> None:
    """The sha2-512 one by js-multiformats, the others from the gateway specification and facts."""
    data = b"hello world"
    sha512 = (
        "bafkrgqbqt3gerhas23vuzrapkdeqf4vu2dwxp3srdj6hvg6nhsug2tgyn6mj3u23yx7utftq3i2ckw2fwdh5qmhid5qf3t35yvkc5e5"
        "ottlw6"
    )
    assert Cid.parse(sha512, any_hash=True) == Cid(RAW, hashlib.sha512(data).digest(), SHA2_512)
    assert str(Cid.parse(sha512, any_hash=True)) == sha512
    probe = Cid.parse("bafkqaaa", any_hash=True)
    assert (probe, probe.is_identity, probe.matches(b"")) == (Cid(RAW, b"", IDENTITY), True, True)
    assert not Cid.of(data).is_identity
    for text in (sha512, "bafkqaaa"):
        with pytest.raises(Rejected, match="only sha2-256"):
            Cid.parse(text)


SOME = b"some data"
DIGESTS = {
    "sha2-512": (SHA2_512, hashlib.sha512(SOME).digest()),
    "sha1": (0x11, hashlib.sha1(SOME).digest()),
    "sha3-256": (0x16, hashlib.sha3_256(SOME).digest()),
    "blake2b-256": (BLAKE2B_256, hashlib.blake2b(SOME, digest_size=32).digest()),
    "identity": (IDENTITY, SOME[:8]),
    "murmur3-x64-64": (0x22, SOME[:8]),
}


@pytest.mark.parametrize("name", DIGESTS)
def test_the_oracle_agrees_on_other_hashes(name: str) -> None:
    function, digest = DIGESTS[name]
    oracle = CID("base32", 1, "raw", (name, digest))
    cid = Cid(RAW, digest, function)
    assert str(cid) == str(oracle)
    for base in BASES:
        assert Cid.parse(oracle.encode(base), any_hash=True) == cid, base


def test_only_what_can_be_checked_matches() -> None:
    by = {name: Cid(RAW, digest, function) for name, (function, digest) in DIGESTS.items()}
    version_0 = Cid(DAG_PB, Cid.of(SOME).digest, SHA2_256, 0)
    inline = Cid(RAW, SOME, IDENTITY)
    for good in (Cid.of(SOME, RAW), version_0, inline, by["sha2-512"], by["blake2b-256"]):
        assert good.matches(SOME)
        assert not good.matches(SOME + b"!")
        assert not good.matches(b"")
    cut_off = [Cid(RAW, by["sha2-512"].digest[:32], function) for function in (SHA2_512, SHA2_256)]
    for bad in (by["sha1"], by["sha3-256"], Cid(RAW, b"", SHA2_512), *cut_off):
        assert not bad.matches(SOME)


def test_digests_are_bounded() -> None:
    largest = Cid(RAW, b"A" * DIGEST_BYTES_MAX, IDENTITY)
    for text in (str(largest), "f" + bytes(largest).hex()):
        assert Cid.parse(text, any_hash=True) == largest
    over = Cid(RAW, b"A" * (DIGEST_BYTES_MAX + 1), IDENTITY)
    with pytest.raises(Rejected, match="128"):
        Cid.parse(str(over), any_hash=True)
    with pytest.raises(Rejected, match="128"):
        Cid.from_bytes(b"\x01\x55\x00\xff\xff\xff\xff\x0fA", any_hash=True)


def test_a_sha2_256_digest_has_32_bytes_whatever_is_asked_for() -> None:
    for length in (0, 20, 31, 33, 64):
        with pytest.raises(Rejected, match="32 bytes"):
            Cid.from_bytes(bytes(Cid(RAW, bytes(length), 0x11)).replace(b"\x11", b"\x12", 1), any_hash=True)


@given(st.binary(max_size=20), st.integers(0, 2**63 - 1), st.integers(0, 2**63 - 1), st.binary(max_size=128))
def test_a_cid_inside_other_bytes_ends_where_it_ends(
    before: bytes, codec: int, function: int, digest: bytes
) -> None:
    cid = Cid(codec, Cid.of(digest).digest if function == SHA2_256 else digest, function)
    data = before + bytes(cid) + before
    assert read_cid(data, len(before), any_hash=True) == (cid, len(before) + len(bytes(cid)))
    assert Cid.parse(str(cid), any_hash=True) == cid


def test_versions_differ_in_how_they_are_written_only() -> None:
    digest = Cid.of(b"").digest
    old, new = Cid(DAG_PB, digest, version=0), Cid(DAG_PB, digest)
    assert old == new
    assert len({old, new}) == 1
    assert not old < new
    assert old.multihash == new.multihash == bytes(old)
    assert str(old) == "QmdfTbBqBPQ7VNxZEYEj14VmRuZBkqFbiwReogJgS1zR1n"
    assert read_cid(bytes(old) + b"more", 0) == (new, 34)


@pytest.mark.parametrize("field", ["codec", "digest", "function", "version", "other"])
def test_a_cid_does_not_change(field: str) -> None:
    with pytest.raises((dataclasses.FrozenInstanceError, AttributeError, TypeError)):
        setattr(GOOD, field, 1)
    assert dataclasses.replace(GOOD, codec=RAW) == Cid(RAW, GOOD.digest)
    assert copy.deepcopy(GOOD) == GOOD
