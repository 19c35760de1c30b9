"""Foreign blocks: a CAR goes in whole, or stops at a block that it names; what is kept is sound."""

from __future__ import annotations

import gzip
import sqlite3
from collections.abc import AsyncIterator, Iterable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from node.core.errors import CorruptState, Rejected, Unavailable
from node.core.ipld.car import header, section
from node.core.ipld.cid import DAG_CBOR, DAG_PB, IDENTITY, RAW, Cid, encode_varint
from node.store import imported_blocks
from node.store.imported_blocks import ForeignStore, Imported, WithForeign
from node.store.sqlite import SqliteStore
from node.store.verifying import BLOCK_BYTES_MAX
from tests.record_builders import Author
from tests.unit.store.conftest import Opened

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
async def store(tmp_path: Path, opened: Opened[ForeignStore]) -> ForeignStore:
    return await opened(ForeignStore.open(tmp_path / "foreign.sqlite", bytes_max=64 * MIB))


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
    with pytest.raises(Rejected, match=rf"{bad[0]}.*20 new blocks before that are stored"):
        await store.add(pieces(car_of([*blocks[:24], bad, block(99)]), 50))
    assert (await store.counts())["blocks"] == 20
    for cid in (bad[0], block(99)[0]):
        assert not await store.blocks.has(cid)


async def test_a_hash_function_that_cannot_be_checked_is_named(store: ForeignStore) -> None:
    cid = Cid(RAW, bytes(32), KECCAK_256)
    with pytest.raises(Rejected, match=str(cid)):
        await store.add(pieces(car_of([(cid, b"who knows")])))
    with pytest.raises(Rejected):
        await store.blocks.put(Cid(RAW, Cid.of(b"x", RAW).digest, KECCAK_256), b"x")
    assert (await store.counts())["blocks"] == 0


async def test_the_quota_stops_at_the_block_that_finds_no_room(
    tmp_path: Path, opened: Opened[ForeignStore]
) -> None:
    store = await opened(ForeignStore.open(tmp_path / "foreign.sqlite", bytes_max=1_000))
    blocks = [block(number, 300) for number in range(5)]
    with pytest.raises(Rejected) as caught:
        await store.add(pieces(car_of(blocks)))
    for said in (str(blocks[3][0]), "ipfs.foreign_max_bytes", "3 new blocks"):
        assert said in str(caught.value)
    assert (await store.add(pieces(car_of(blocks[:3])))).known == 3, "what is here takes no room again"
    await store.blocks.delete(blocks[0][0])
    assert (await store.add(pieces(car_of(blocks[1:4])))).blocks == 1
    with pytest.raises(Rejected, match="no room"):
        await store.blocks.put(*blocks[0])
    assert (await store.counts())["bytes"] == 900


NO_CAR = "CAR|varint|empty"
HOSTILE = {
    "empty": (b"", NO_CAR),
    "another file": (b"<html></html>", NO_CAR),
    "gzip": (gzip.compress(car_of([block(1)])), "gunzip"),
    "a header of 256 MiB": (b"\xff\xff\xff\x7f" + b"x" * 4 * MIB, NO_CAR),
    "a section without end": (header([]) + b"\xff\xff\xff\xff\x7f" + b"x" * 4 * MIB, NO_CAR),
    "cut off": (car_of([block(1)])[:-1], "cut off"),
}


@pytest.mark.parametrize("name", HOSTILE)
async def test_hostile_files_are_refused_and_leave_nothing(store: ForeignStore, name: str) -> None:
    data, said = HOSTILE[name]
    with pytest.raises(Rejected, match=rf"(?s)({said}).*nothing was stored"):
        await store.add(pieces(data))
    assert (await store.counts())["blocks"] == 0


async def test_ten_thousand_roots_are_no_car_of_ours(store: ForeignStore) -> None:
    roots = [block(number)[0] for number in range(10_000)]
    body = b"".join(b"\xd8\x2a\x58\x25\x00" + bytes(cid) for cid in roots)
    head = b"\xa2\x65roots\x99" + len(roots).to_bytes(2, "big") + body + b"\x67version\x01"
    with pytest.raises(Rejected):
        await store.add(pieces(encode_varint(len(head)) + head + section(*block(1))))
    assert (await store.counts())["blocks"] == 0


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


async def test_a_damaged_copy_is_not_given_out_and_is_mended_by_the_next_import(
    tmp_path: Path, store: ForeignStore
) -> None:
    cid, data = block(1)
    await store.blocks.put(cid, data)
    with sqlite3.connect(tmp_path / "foreign.sqlite") as connection:
        connection.execute("UPDATE block SET data = zeroblob(100)")
    connection.close()
    with pytest.raises(CorruptState, match="other bytes"):
        await store.blocks.get(cid)
    assert (await store.add(pieces(car_of([(cid, data)])))).known == 1
    assert await store.blocks.get(cid) == data


async def test_erasing_here_takes_the_imported_copy_away(
    store: ForeignStore, tmp_path: Path, opened: Opened[ForeignStore]
) -> None:
    other = await opened(ForeignStore.open(tmp_path / "here.sqlite", bytes_max=MIB))
    cid, data = block(1)
    both = WithForeign(other.blocks, store.blocks)
    await other.blocks.put(cid, data)
    await store.blocks.put(cid, data)
    await both.delete(cid)
    assert not await store.blocks.has(cid)
    assert not await other.blocks.has(cid)


async def test_the_file_is_its_own(tmp_path: Path) -> None:
    path = tmp_path / "blocks.sqlite"
    await (await SqliteStore.open(path, own_issuer=Author().did)).close()
    with pytest.raises(CorruptState, match="not a store of foreign blocks"):
        await ForeignStore.open(path, bytes_max=MIB)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
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
        pass  # what came before the change is kept and looked at below
    finally:
        await store.close()
    with sqlite3.connect(path) as connection:
        rows = connection.execute("SELECT multihash, codec, data FROM block").fetchall()
    connection.close()
    assert all(Cid.of(content, codec).multihash == multihash for multihash, codec, content in rows)
