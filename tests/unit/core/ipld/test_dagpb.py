"""DAG-PB: the specification's fixtures, its canonical form, and everything else refused."""

from __future__ import annotations

import pytest

from node.core.errors import Rejected
from node.core.ipld import protobuf
from node.core.ipld.cid import DAG_PB, IDENTITY, RAW, Cid
from node.core.ipld.dagpb import PbLink, PbNode, decode, encode
from node.core.ipld.limits import BLOCK_BYTES_MAX, LINKS_MAX

SOME = Cid(RAW, bytes(range(5)), IDENTITY)
HELLO = Cid.parse("bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e")
EMPTY = Cid.parse("QmdfTbBqBPQ7VNxZEYEj14VmRuZBkqFbiwReogJgS1zR1n")
FAR = Cid.parse("QmXg9Pp2ytZ14xgmQjYEiHjVjMFXzCVVEcRTWJBmLgR39V")

# CID and bytes from ipld/codec-fixtures, which the UnixFS specification lists; the last by @ipld/dag-pb.
FIXTURES = {
    "bafybeihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku": ("", PbNode(None, ())),
    "bafybeiaqfni3s5s2k2r6rgpxz4hohdsskh44ka5tk6ztbjerqpvxwfkwaq": ("0a00", PbNode(b"", ())),
    "bafybeibazl2z4vqp2tmwcfag6wirmtpnomxknqcgrauj7m2yisrz3qjbom": (
        "0a050001020304",
        PbNode(bytes(range(5)), ()),
    ),
    "bafybeia53f5n75ituvc3yupuf7tdnxf6fqetrmo2alc6g6iljkmk7ys5mm": (
        "120b0a09015500050001020304",
        PbNode(None, (PbLink(SOME),)),
    ),
    "bafybeie7fstnkm4yshfwnmpp7d3mlh4f4okmk7a54d6c3ffr755q7qzk44": (
        "120d0a090155000500010203041200",
        PbNode(None, (PbLink(SOME, ""),)),
    ),
    "bafybeifq4hcxma3kjljrpxtunnljtc6tvbkgsy3vldyfpfbx2lij76niyu": (
        "12160a090155000500010203041209736f6d65206e616d65",
        PbNode(None, (PbLink(SOME, "some name"),)),
    ),
    "bafybeichjs5otecmbvwh5azdr4jc45mp2qcofh2fr54wjdxhz4znahod2i": (
        "120d0a090155000500010203041800",
        PbNode(None, (PbLink(SOME, None, 0),)),
    ),
    "bafybeiezymjvhwfuharanxmzxwuomzjjuzqjewjolr4phaiyp6l7qfwo64": (
        "12140a0901550005000102030418ffffffffffffff0f",
        PbNode(None, (PbLink(SOME, None, 2**53 - 1),)),
    ),
    "bafybeibh647pmxyksmdm24uad6b5f7tx4dhvilzbg2fiqgzll4yek7g7y4": (
        "12340a2212208ab7a6c5e74737878ac73863cb76739d15d4666de44e5756bf55a2f9e9ab5f431209736f6d65206c696e"
        "6b1880c2d72f12370a2212208ab7a6c5e74737878ac73863cb76739d15d4666de44e5756bf55a2f9e9ab5f44120f736f"
        "6d65206f74686572206c696e6b18080a09736f6d652064617461",
        PbNode(
            b"some data",
            (
                PbLink(Cid(DAG_PB, FAR.digest[:-1] + b"\x43", version=0), "some link", 100_000_000),
                PbLink(Cid(DAG_PB, FAR.digest[:-1] + b"\x44", version=0), "some other link", 8),
            ),
        ),
    ),
    "bafybeidrg2f6slbv4yzydqtgmsi2vzojajnt7iufcreynfpxndca4z5twm": (
        "120b0a09015500050001020304120e0a09015500050001020304120161120e0a09015500050001020304120161",
        PbNode(None, (PbLink(SOME), PbLink(SOME, "a"), PbLink(SOME, "a"))),
    ),
    str(Cid.of(bytes.fromhex("0a03010203"), DAG_PB)): ("0a03010203", PbNode(b"\1\2\3", ())),
}


@pytest.mark.parametrize("cid", sorted(FIXTURES))
def test_fixtures_of_the_specification(cid: str) -> None:
    text, node = FIXTURES[cid]
    data = bytes.fromhex(text)
    assert Cid.parse(cid).matches(data)
    assert decode(data) == node
    assert encode(node) == data


def test_links_are_sorted_by_name_as_another_encoder_does() -> None:
    node = PbNode(b"some data", (PbLink(HELLO, "b", 11), PbLink(EMPTY, "a", 300)))
    assert encode(node).hex() == (
        "122a0a221220e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b85512016118ac02122b0a2401551220"
        "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9120162180b0a09736f6d652064617461"
    )


def test_the_order_of_links_is_kept_when_read() -> None:
    unsorted = link(_hash(), _name(b"b")) + link(_hash(), _name(b"a"))
    assert [one.name for one in decode(unsorted).links] == ["b", "a"]


def test_data_may_stand_before_the_links() -> None:
    assert decode(b"\x0a\x01x" + link(_hash())) == PbNode(b"x", (PbLink(SOME),))


def _hash(cid: bytes | None = None) -> bytes:
    return protobuf.bytes_field(1, bytes(SOME) if cid is None else cid)


def _name(name: bytes) -> bytes:
    return protobuf.bytes_field(2, name)


def link(*parts: bytes) -> bytes:
    return protobuf.bytes_field(2, b"".join(parts))


BAD = {
    "links around data": link(_hash()) + b"\x0a\x00" + link(_hash()),
    "data twice": b"\x0a\x00\x0a\x00",
    "another field": b"\x1a\x00",
    "field 0": b"\x02\x00",
    "data as a number": b"\x08\x01",
    "links as numbers": b"\x10\x01",
    "link without a CID": link(_name(b"a")),
    "link without anything": link(),
    "empty CID": link(_hash(b"")),
    "CID with more behind it": link(_hash(bytes(SOME) + b"\0")),
    "CID cut off": link(_hash(bytes(HELLO)[:-1])),
    "name before CID": link(_name(b"a"), _hash()),
    "size before name": link(_hash(), b"\x18\x01", _name(b"a")),
    "CID twice": link(_hash(), _hash()),
    "size twice": link(_hash(), b"\x18\x01\x18\x01"),
    "size as bytes": link(_hash(), b"\x1a\x00"),
    "name as a number": link(_hash(), b"\x10\x01"),
    "name that is not UTF-8": link(_hash(), _name(b"\xff")),
    "field 4 in a link": link(_hash(), b"\x20\x01"),
    "size over 64 bits": link(_hash(), b"\x18" + b"\xff" * 9 + b"\x7f"),
    "size without end": link(_hash(), b"\x18" + b"\xff" * 10),
    "size in a longer form": link(_hash(), b"\x18\x81\x00"),
    "length cut off": b"\x12",
    "data cut off": b"\x0a\x05abc",
    "length of 2^64-1": b"\x0a" + b"\xff" * 9 + b"\x01" + b"x",
    "length of 4 GiB": b"\x12\xff\xff\xff\xff\x0fx",
    "group": b"\x0b\x0c",
    "wire type 7": b"\x0f",
    "too many links": link(_hash(b"\x01\x55\x00\x00")) * (LINKS_MAX + 1),
    "too large": protobuf.bytes_field(1, bytes(BLOCK_BYTES_MAX)),
}


@pytest.mark.parametrize("name", sorted(BAD))
def test_what_is_not_canonical_is_refused(name: str) -> None:
    with pytest.raises(Rejected):
        decode(BAD[name])


@pytest.mark.parametrize(
    "node",
    [
        PbNode(bytes(BLOCK_BYTES_MAX), ()),
        PbNode(None, (PbLink(SOME),) * (LINKS_MAX + 1)),
        PbNode(None, (PbLink(SOME, "\ud800"),)),
        PbNode(None, (PbLink(SOME, None, -1),)),
        PbNode(None, (PbLink(SOME, None, 2**64),)),
    ],
)
def test_what_has_no_form_is_not_encoded(node: PbNode) -> None:
    with pytest.raises(Rejected):
        encode(node)
