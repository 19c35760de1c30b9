"""The contract of ``BlockStore``, run over every implementation that needs no outside engine."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from node.errors import NotFound, Rejected, Unavailable
from node.ipfs.cid import RAW, Cid
from node.ports import BlockStore
from node.store.memory import MemoryStore
from node.store.sqlite import SqliteStore
from node.store.verifying import BLOCK_BYTES_MAX
from tests.record_builders import Author


@pytest.fixture(params=["memory", "sqlite"])
async def blocks(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[BlockStore]:
    own = Author().did
    if request.param == "memory":
        memory = MemoryStore(own_issuer=own)
        yield memory.blocks
        await memory.close()
    else:
        store = await SqliteStore.open(tmp_path / "blocks.sqlite", own_issuer=own)
        yield store.blocks
        await store.close()


@pytest.mark.parametrize("size", [0, 1, 3_000, 100_000, BLOCK_BYTES_MAX])
async def test_what_was_put_comes_back(blocks: BlockStore, size: int) -> None:
    data = (bytes(range(251)) * (size // 251 + 1))[:size]
    cid = Cid.of(data, RAW)
    await blocks.put(cid, data)
    assert await blocks.get(cid) == data
    assert await blocks.has(cid)


async def test_found_by_multihash_whatever_the_codec(blocks: BlockStore) -> None:
    data = b"\xa0"
    await blocks.put(Cid.of(data), data)
    assert await blocks.get(Cid.of(data, RAW)) == data


async def test_absent_is_not_found(blocks: BlockStore) -> None:
    cid = Cid.of(b"nobody has this")
    assert not await blocks.has(cid)
    with pytest.raises(NotFound):
        await blocks.get(cid)


async def test_put_twice_is_once(blocks: BlockStore) -> None:
    data = b"again"
    cid = Cid.of(data, RAW)
    await blocks.put(cid, data)
    await blocks.put(cid, data)
    await blocks.delete(cid)
    assert not await blocks.has(cid)


async def test_bytes_that_do_not_match_are_rejected(blocks: BlockStore) -> None:
    cid = Cid.of(b"one")
    with pytest.raises(Rejected):
        await blocks.put(cid, b"two")
    assert not await blocks.has(cid)


async def test_an_oversized_block_is_rejected(blocks: BlockStore) -> None:
    data = bytes(BLOCK_BYTES_MAX + 1)
    with pytest.raises(Rejected):
        await blocks.put(Cid.of(data, RAW), data)


async def test_delete_is_idempotent(blocks: BlockStore) -> None:
    data = b"short life"
    cid = Cid.of(data, RAW)
    await blocks.delete(cid)
    await blocks.put(cid, data)
    await blocks.delete(cid)
    await blocks.delete(cid)
    with pytest.raises(NotFound):
        await blocks.get(cid)


async def test_many_at_once(blocks: BlockStore) -> None:
    data = [f"block {i}".encode() for i in range(60)]
    cids = [Cid.of(one, RAW) for one in data]
    await asyncio.gather(*(blocks.put(cid, one) for cid, one in zip(cids, data, strict=True)))
    assert await asyncio.gather(*(blocks.get(cid) for cid in cids)) == data


async def test_a_cancelled_call_leaves_the_store_usable(blocks: BlockStore) -> None:
    data = b"cancelled"
    cid = Cid.of(data, RAW)
    task = asyncio.create_task(blocks.put(cid, data))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait({task})
    await blocks.put(cid, data)
    reading = asyncio.create_task(blocks.get(cid))
    await asyncio.sleep(0)
    reading.cancel()
    await asyncio.wait({reading})
    assert await blocks.get(cid) == data


async def test_close_is_idempotent_and_final(blocks: BlockStore) -> None:
    await blocks.close()
    await blocks.close()
    with pytest.raises(Unavailable):
        await blocks.has(Cid.of(b"x"))
