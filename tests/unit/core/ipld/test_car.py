"""CARs: what is written is what the specification says, what is read is checked, however it arrives."""

from __future__ import annotations

import hashlib
import tracemalloc

import pytest

from node.core.errors import Rejected
from node.core.ipld.car import CarReader, header, section
from node.core.ipld.cid import BLAKE2B_256, DAG_PB, IDENTITY, RAW, SHA2_256, SHA2_512, Cid, encode_varint
from node.core.ipld.dagpb import decode as decode_pb
from tests.each import each
from tests.unit.core.ipld.vectors import JS_FILE_CAR

BLOCKS = [(Cid.of(data, RAW), data) for data in (b"one", b"", b"three" * 10_000)]
ROOTS = [cid for cid, _ in BLOCKS[:2]]
WHOLE = header(ROOTS) + b"".join(section(cid, data) for cid, data in BLOCKS)


def read(data: bytes, step: int = 4_096) -> tuple[tuple[Cid, ...] | None, list[tuple[Cid, bytes]]]:
    reader = CarReader()
    blocks: list[tuple[Cid, bytes]] = []
    for at in range(0, len(data), step):
        blocks += reader.feed(data[at : at + step])
    reader.finish()
    return reader.roots, blocks


def version_2(payload: bytes, *, padding: int = 0, behind: bytes = b"", size: int | None = None) -> bytes:
    pragma = bytes.fromhex("0aa16776657273696f6e02")
    numbers = (51 + padding, len(payload) if size is None else size, 51 + padding + len(payload))
    head = bytes(16) + b"".join(number.to_bytes(8, "little") for number in numbers)
    return pragma + head + bytes(padding) + payload + behind


def test_the_header_is_that_of_the_specification() -> None:
    root = Cid.of(b"", RAW)
    link = "d82a58250001551220e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert header([root]).hex() == "3aa265726f6f747381" + link + "6776657273696f6e01"
    assert header([]).hex() == "11a265726f6f7473806776657273696f6e01"


def test_a_section_counts_cid_and_data() -> None:
    cid = Cid.of(b"abc", RAW)
    assert section(cid, b"abc") == bytes([39]) + bytes(cid) + b"abc"


@pytest.mark.parametrize("step", [1, 2, 3, 7, 40, 1_000, 1_000_000])
def test_the_size_of_chunks_makes_no_difference(step: int) -> None:
    assert read(WHOLE, step) == (tuple(ROOTS), BLOCKS)


def test_the_car_of_another_implementation() -> None:
    roots, blocks = read(JS_FILE_CAR)
    assert roots == (Cid.parse("bafybeie7i44qke6q6cwjgear5vsoxxypcnnx34owdyqvf6z7rtcgkycacu"),)
    by_cid = dict(blocks)
    assert b"".join(by_cid[link.cid] for link in decode_pb(by_cid[roots[0]]).links) == b"abcdefghij"
    assert header(roots) + b"".join(section(*block) for block in blocks) == JS_FILE_CAR


@pytest.mark.parametrize("padding", [0, 1, 13, 5_000])
@pytest.mark.parametrize("step", [1, 10, 51, 1_000_000])
def test_version_2_is_read_without_its_index(padding: int, step: int) -> None:
    data = version_2(WHOLE, padding=padding, behind=b"\xff" * 300)
    assert read(data, step) == (tuple(ROOTS), BLOCKS)


def test_a_version_0_cid_stays_one() -> None:
    cid = Cid(DAG_PB, Cid.of(b"").digest, SHA2_256, 0)
    roots, blocks = read(header([cid]) + section(cid, b""))
    assert roots is not None
    assert [one.version for one in (*roots, blocks[0][0])] == [0, 0]


def test_other_strong_hashes_and_identity_are_checked() -> None:

    data = b"data"
    good = [
        Cid(RAW, data, IDENTITY),
        Cid(RAW, hashlib.sha512(data).digest(), SHA2_512),
        Cid(RAW, hashlib.blake2b(data, digest_size=32).digest(), BLAKE2B_256),
    ]
    assert read(header([]) + b"".join(section(cid, data) for cid in good))[1] == [(cid, data) for cid in good]
    for cid in good:
        with pytest.raises(Rejected, match="does not match"):
            read(header([]) + section(cid, b"date"))
        short = Cid(RAW, cid.digest[:-1], cid.function)
        with pytest.raises(Rejected, match="does not match"):
            read(header([]) + section(short, data))


def test_a_hash_that_cannot_be_checked_is_named() -> None:
    sha1 = Cid(RAW, bytes(20), 0x11)
    with pytest.raises(Rejected, match="0x11"):
        read(header([]) + section(sha1, b"data"))


def head_of(data: bytes) -> bytes:
    return encode_varint(len(data)) + data


LINK = "d82a58250001551220" + "00" * 32
HEADERS = {
    "nothing": b"",
    "an empty section": b"\0",
    "no map": head_of(b"\x80"),
    "no roots": head_of(bytes.fromhex("a16776657273696f6e01")),
    "no version": head_of(bytes.fromhex("a165726f6f747380")),
    "version 3": head_of(bytes.fromhex("a265726f6f7473806776657273696f6e03")),
    "version 1.0": head_of(bytes.fromhex("a265726f6f7473806776657273696f6efb3ff0000000000000")),
    "version true": head_of(bytes.fromhex("a265726f6f7473806776657273696f6ef5")),
    "another key": head_of(bytes.fromhex("a3616100" + "65726f6f747380" + "6776657273696f6e01")),
    "roots that are text": head_of(bytes.fromhex("a265726f6f747381616167" + "76657273696f6e01")),
    "roots in roots": head_of(bytes.fromhex("a265726f6f74738181" + LINK + "6776657273696f6e01")),
    "unsorted": head_of(bytes.fromhex("a26776657273696f6e0165726f6f747380")),
    "longer length than needed": b"\x91\x00" + header([])[1:],
    "a length without end": b"\xff" * 9,
    "a header of 4 GiB": encode_varint(2**32) + b"x",
    "pragma twice": bytes.fromhex("0aa16776657273696f6e02") * 2,
    "payload inside its header": version_2(WHOLE)[:27] + (50).to_bytes(8, "little") + version_2(WHOLE)[35:],
    "payload of nothing": version_2(b"", size=0),
    "payload ends in a section": version_2(WHOLE, size=len(WHOLE) - 1),
    "version 2 in version 2": version_2(version_2(WHOLE)),
}


@each("name", sorted(HEADERS))
def test_what_is_no_car_is_refused(name: str) -> None:
    with pytest.raises(Rejected):
        read(HEADERS[name])


@pytest.mark.parametrize("cut", [1, 10, len(WHOLE) - len(header(ROOTS)) - 1])
def test_a_cut_off_file_is_refused_at_its_end(cut: int) -> None:
    with pytest.raises(Rejected, match="cut off"):
        read(WHOLE[:-cut])


def test_a_cut_off_version_2_is_refused_though_it_ends_between_sections() -> None:
    with pytest.raises(Rejected, match="cut off"):
        read(version_2(WHOLE)[: -len(section(*BLOCKS[-1]))])


def test_a_false_block_ends_the_reading() -> None:
    reader = CarReader()
    reader.feed(header([]))
    false = section(BLOCKS[0][0], b"two")
    with pytest.raises(Rejected, match="does not match"):
        reader.feed(section(*BLOCKS[0]) + false)
    with pytest.raises(Rejected, match="does not match"):
        reader.feed(section(*BLOCKS[0]))
    with pytest.raises(Rejected, match="does not match"):
        reader.finish()


def test_limits_are_the_callers() -> None:
    reader = CarReader(block_bytes_max=3, roots_max=1)
    assert reader.feed(header([ROOTS[0]]) + section(*BLOCKS[0])) == [BLOCKS[0]]
    with pytest.raises(Rejected, match="over"):
        reader.feed(section(Cid.of(b"four", RAW), b"four"))
    with pytest.raises(Rejected, match="more than 1 roots"):
        CarReader(roots_max=1).feed(header(ROOTS))
    with pytest.raises(Rejected, match="at most"):
        header([ROOTS[0]] * 1_001)


def test_promised_gigabytes_take_no_memory() -> None:
    reader = CarReader()
    reader.feed(header([]))
    tracemalloc.start()
    with pytest.raises(Rejected, match="limit"):
        reader.feed(encode_varint(2**40) + b"x")
    skipping = CarReader()
    skipping.feed(_far_payload())
    for _ in range(200):
        assert skipping.feed(bytes(65_536)) == []
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2_000_000


def _far_payload() -> bytes:
    pragma = bytes.fromhex("0aa16776657273696f6e02")
    return pragma + bytes(16) + (2**40).to_bytes(8, "little") + (100).to_bytes(8, "little") + bytes(8)
