"""Foreign blocks: a CAR goes in whole, or stops at a block that it names; what is kept is sound."""

from __future__ import annotations

import gzip
import sqlite3
from collections.abc import AsyncIterator, Iterable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from node.core.errors import Rejected, Unavailable
from node.core.ipld.car import header, section
from node.core.ipld.cid import DAG_CBOR, DAG_PB, IDENTITY, RAW, Cid
from node.store import imported_blocks
from node.store.imported_blocks import ForeignStore, Imported, WithForeign
from node.store.verifying import BLOCK_BYTES_MAX
from tests.record_builders import Author

MIB = 2**20
KECCAK_256 = 0x1B


def block(number: int, size: int = 100, codec: int = RAW) -> tuple[Cid, bytes]:
    data = (number.to_bytes(8, "big") * (size // 8 + 1))[:size]
    return Cid.of(data, codec), data


def car_of(blocks: Iterable[tuple[Cid, bytes]], roots: Iterable[Cid] = ()) -> bytes:
    return header(list(roots)) + b"".join(section(cid, data) for cid, data in blocks)


async def pieces(data: bytes, size: int = 64 * 1024) -> AsyncIterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[ForeignStore]:
    opened = await ForeignStore.open(tmp_path / "foreign.sqlite", bytes_max=64 * MIB)
    yield opened
    await opened.close()


@pytest.mark.parametrize("size", [1, 7, 1_000, 10 * MIB])
async def test_a_car_goes_in_whatever_the_pieces(store: ForeignStore, size: int) -> None:
    blocks = [block(1), block(2, 5, DAG_CBOR), block(3, 0), block(4, 30_000, DAG_PB)]
    done = await store.add(pieces(car_of(blocks, [blocks[3][0]]), size))
    assert done == Imported((blocks[3][0],), 4, 30_105, 0, 0)
    for cid, data in blocks:
        assert await store.blocks.get(cid) == data
        assert await store.blocks.get(Cid(0x0129, cid.digest)) == data, "by multihash, whatever the codec"
    again = await store.add(pieces(car_of(blocks)))
    assert (again.roots, again.blocks, again.bytes, again.known) == ((), 0, 0, 4)
    assert await store.counts() == {"blocks": 4, "bytes": 30_105, "bytes_max": 64 * MIB}


async def test_blocks_of_the_greatest_size_and_not_one_byte_more(store: ForeignStore) -> None:
    largest = block(1, BLOCK_BYTES_MAX)
    assert (await store.add(pieces(car_of([largest])))).blocks == 1
    assert await store.blocks.get(largest[0]) == largest[1]
    larger = block(2, BLOCK_BYTES_MAX + 1)
    with pytest.raises(Rejected, match=str(larger[0])):
        await store.add(pieces(car_of([larger])))
    far = block(3, 2 * BLOCK_BYTES_MAX)
    with pytest.raises(Rejected, match=str(far[0])):
        await store.add(pieces(header([]) + section(*far)[:1_000]))
    assert (await store.counts())["blocks"] == 1


async def test_identity_cids_are_passed_over(store: ForeignStore) -> None:
    inline = Cid(RAW, b"hello", IDENTITY)
    done = await store.add(pieces(car_of([(inline, b"hello"), block(1)], [inline])))
    assert (done.roots, done.blocks, done.identity) == ((inline,), 1, 1)
    assert not await store.blocks.has(inline)


async def test_an_altered_block_is_named_and_ends_the_import(
    store: ForeignStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imported_blocks, "BATCH_BLOCKS", 10)
    blocks = [block(number) for number in range(25)]
    bad = (blocks[24][0], b"x" * 100)
    with pytest.raises(Rejected) as caught:
        await store.add(pieces(car_of([*blocks[:24], bad, block(99)]), 50))
    assert str(bad[0]) in str(caught.value)
    assert "20 new blocks before that are stored" in str(caught.value)
    assert (await store.counts())["blocks"] == 20
    assert not await store.blocks.has(bad[0])
    assert not await store.blocks.has(block(99)[0])


async def test_a_hash_function_that_cannot_be_checked_is_named(store: ForeignStore) -> None:
    cid = Cid(RAW, bytes(32), KECCAK_256)
    with pytest.raises(Rejected, match=str(cid)):
        await store.add(pieces(car_of([(cid, b"who knows")])))
    with pytest.raises(Rejected):
        await store.blocks.put(Cid(RAW, Cid.of(b"x", RAW).digest, KECCAK_256), b"x")
    assert (await store.counts())["blocks"] == 0


async def test_the_quota_stops_at_the_block_that_finds_no_room(tmp_path: Path) -> None:
    store = await ForeignStore.open(tmp_path / "foreign.sqlite", bytes_max=1_000)
    blocks = [block(number, 300) for number in range(5)]
    with pytest.raises(Rejected) as caught:
        await store.add(pieces(car_of(blocks)))
    assert str(blocks[3][0]) in str(caught.value)
    assert "ipfs.foreign_max_bytes" in str(caught.value)
    assert "3 new blocks" in str(caught.value)
    assert (await store.add(pieces(car_of(blocks[:3])))).known == 3, "what is here takes no room again"
    await store.blocks.delete(blocks[0][0])
    assert (await store.add(pieces(car_of(blocks[1:4])))).blocks == 1
    with pytest.raises(Rejected, match="no room"):
        await store.blocks.put(*blocks[0])
    assert (await store.counts())["bytes"] == 900
    await store.close()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        pytest.param(b"", "CAR|varint|empty", id="empty"),
        pytest.param(b"<html></html>", "CAR|varint|empty", id="another file"),
        pytest.param(gzip.compress(car_of([block(1)])), "gunzip", id="gzip"),
        pytest.param(b"\xff" * 9 + b"\x01", "CAR|varint|empty", id="a header of 2^63 bytes"),
        pytest.param(b"\xff\xff\xff\x7f" + b"x" * 4 * MIB, "CAR|varint|empty", id="a header of 256 MiB"),
        pytest.param(
            header([]) + b"\xff\xff\xff\xff\x7f" + b"x" * 4 * MIB,
            "CAR|varint|empty",
            id="a section without end",
        ),
        pytest.param(header([]) + b"\x00", "CAR|varint|empty", id="an empty section"),
        pytest.param(car_of([block(1)])[:-1], "cut off", id="cut off"),
    ],
)
async def test_hostile_files_are_refused_and_leave_nothing(
    store: ForeignStore, data: bytes, said: str
) -> None:
    with pytest.raises(Rejected, match=said) as caught:
        await store.add(pieces(data))
    assert "nothing was stored" in str(caught.value)
    assert (await store.counts())["blocks"] == 0


async def test_ten_thousand_roots_are_no_car_of_ours(store: ForeignStore) -> None:
    roots = [block(number)[0] for number in range(10_000)]
    body = b"".join(b"\xd8\x2a\x58\x25\x00" + bytes(cid) for cid in roots)
    head = b"\xa2\x65roots\x99" + len(roots).to_bytes(2, "big") + body + b"\x67version\x01"
    length = bytearray()
    rest = len(head)
    while rest >= 0x80:
        length.append(rest & 0x7F | 0x80)
        rest >>= 7
    with pytest.raises(Rejected):
        await store.add(pieces(bytes(length) + bytes([rest]) + head + section(*block(1))))
    assert (await store.counts())["blocks"] == 0


async def test_a_car_of_version_2_is_read(store: ForeignStore) -> None:
    """Pragma, header of 40 bytes, payload, an index behind it that is passed over."""
    blocks = [block(1), block(2)]
    payload = car_of(blocks, [blocks[0][0]])
    places = [bytes(16)] + [number.to_bytes(8, "little") for number in (51, len(payload), 51 + len(payload))]
    data = bytes.fromhex("0aa16776657273696f6e02") + b"".join(places) + payload + b"an index"
    done = await store.add(pieces(data, 13))
    assert (done.roots, done.blocks) == ((blocks[0][0],), 2)


async def test_what_comes_before_a_broken_source_stays_and_is_counted(
    store: ForeignStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imported_blocks, "BATCH_BLOCKS", 2)

    async def broken() -> AsyncIterator[bytes]:
        yield car_of([block(number) for number in range(5)])
        raise Unavailable("the other side has gone")

    with pytest.raises(Unavailable, match=r"has gone; 4 new blocks before that are stored"):
        await store.add(broken())
    assert (await store.counts())["blocks"] == 4


async def test_a_damaged_copy_is_not_given_out_and_is_mended_by_the_next_import(tmp_path: Path) -> None:
    path = tmp_path / "foreign.sqlite"
    store = await ForeignStore.open(path, bytes_max=MIB)
    cid, data = block(1)
    await store.blocks.put(cid, data)
    await store.close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE block SET data = zeroblob(100)")
    connection.close()
    store = await ForeignStore.open(path, bytes_max=MIB)
    with pytest.raises(Exception, match="other bytes"):
        await store.blocks.get(cid)
    assert (await store.add(pieces(car_of([(cid, data)])))).known == 1
    assert await store.blocks.get(cid) == data
    await store.close()


async def test_erasing_here_takes_the_imported_copy_away(store: ForeignStore, tmp_path: Path) -> None:
    other = await ForeignStore.open(tmp_path / "here.sqlite", bytes_max=MIB)
    cid, data = block(1)
    both = WithForeign(other.blocks, store.blocks)
    await other.blocks.put(cid, data)
    await store.blocks.put(cid, data)
    await both.delete(cid)
    assert not await store.blocks.has(cid)
    assert not await other.blocks.has(cid)
    await other.close()


async def test_the_file_is_its_own(tmp_path: Path) -> None:
    from node.core.errors import CorruptState
    from node.store.sqlite import SqliteStore

    path = tmp_path / "blocks.sqlite"
    records = await SqliteStore.open(path, own_issuer=Author().did)
    await records.close()
    with pytest.raises(CorruptState, match="not a store of foreign blocks"):
        await ForeignStore.open(path, bytes_max=MIB)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
async def test_a_mutated_car_leaves_only_blocks_that_match(tmp_path: Path, data: st.DataObject) -> None:
    whole = car_of([block(number, 40) for number in range(12)], [block(0)[0]])
    wrong = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(wrong) - 1))
        change = data.draw(st.sampled_from(["flip", "cut", "insert"]))
        if change == "flip":
            wrong[at] ^= data.draw(st.integers(1, 255))
        elif change == "cut" and len(wrong) > 2:
            del wrong[at : at + data.draw(st.integers(1, 30))]
        else:
            wrong[at:at] = data.draw(st.binary(min_size=1, max_size=30))
        if not wrong:
            break
    path = tmp_path / "mutated.sqlite"
    path.unlink(missing_ok=True)
    store = await ForeignStore.open(path, bytes_max=MIB)
    try:
        await store.add(pieces(bytes(wrong), data.draw(st.sampled_from([1, 50, 10_000]))))
    except Rejected:
        pass
    finally:
        await store.close()
    with sqlite3.connect(path) as connection:
        rows = connection.execute("SELECT multihash, codec, data FROM block").fetchall()
    connection.close()
    assert all(Cid.of(content, codec).multihash == multihash for multihash, codec, content in rows)
