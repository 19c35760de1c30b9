"""The contract of ``BlockStore``, run over every implementation: the reference in memory, SQLite, a daemon's
stand-in in both dialects, and real daemons where they are present."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from node.core.clock import SystemClock
from node.core.errors import NotFound, Rejected, Unavailable
from node.core.ipld.cid import RAW, Cid
from node.core.ports import BlockStore
from node.ipfs.kubo import KuboBlockStore
from node.store.imported_blocks import ForeignStore
from node.store.sqlite import SqliteStore
from node.store.verifying import BLOCK_BYTES_MAX
from tests.record_builders import Author
from tests.references.record_store import MemoryStore
from tests.simulators.kubo import KuboStandIn

SMALL = ("js-ipfs", "stand-in of js-ipfs")
"""Takes blocks below 1 MiB only. A record has 256 KiB at most."""
SEARCHING = (
    *("test_absent_is_not_found", "test_put_twice_is_once", "test_delete_is_idempotent"),
    "test_bytes_that_do_not_match_are_rejected",
)
"""What ask for an absent block, for which a daemon searches its network as long as it may."""
REAL = {"js-ipfs": "js_ipfs", "Kubo": "real_kubo"}


@asynccontextmanager
async def daemon_blocks(url: str, timeout_s: float) -> AsyncIterator[BlockStore]:
    async with aiohttp.ClientSession(auto_decompress=False, trust_env=False) as http:
        yield KuboBlockStore(url, http, SystemClock(), timeout_s=timeout_s).blocks


@pytest.fixture(
    params=[
        "memory",
        "sqlite",
        "foreign",
        "stand-in of kubo",
        "stand-in of js-ipfs",
        pytest.param("js-ipfs", marks=pytest.mark.engine("js_ipfs")),
        pytest.param("Kubo", marks=pytest.mark.engine("kubo")),
    ]
)
async def blocks(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[BlockStore]:
    own = Author().did
    if request.param == "memory":
        memory = MemoryStore(own_issuer=own)
        yield memory.blocks
        await memory.close()
    elif request.param == "sqlite":
        store = await SqliteStore.open(tmp_path / "blocks.sqlite", own_issuer=own)
        yield store.blocks
        await store.close()
    elif request.param == "foreign":
        foreign = await ForeignStore.open(tmp_path / "foreign.sqlite", bytes_max=2**30)
        yield foreign.blocks
        await foreign.close()
    elif request.param in REAL:
        daemon = request.getfixturevalue(REAL[request.param])
        timeout_s = 3.0 if request.function.__name__ in SEARCHING else 30.0
        async with daemon_blocks(daemon.url, timeout_s) as made:
            yield made
    else:
        dialect = request.param.removeprefix("stand-in of ")
        timeout_s = 0.5 if request.function.__name__ in SEARCHING else 10.0
        async with KuboStandIn(dialect) as stand_in, daemon_blocks(stand_in.url, timeout_s) as made:
            yield made


@pytest.mark.parametrize("size", [0, 1, 3_000, 100_000, BLOCK_BYTES_MAX])
async def test_what_was_put_comes_back(blocks: BlockStore, size: int, request: pytest.FixtureRequest) -> None:
    data = (bytes(range(251)) * (size // 251 + 1))[:size]
    cid = Cid.of(data, RAW)
    if size == BLOCK_BYTES_MAX and request.node.callspec.params["blocks"] in SMALL:
        with pytest.raises(Rejected, match="larger than the daemon takes"):
            await blocks.put(cid, data)
        return
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
