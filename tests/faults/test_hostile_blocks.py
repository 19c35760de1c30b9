"""Blocks that somebody made to hurt the node, asked for over HTTP in every way: each reply is clean, whole or
cut; memory stays within bounds; the node goes on answering others; nobody keeps a place."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from node.core.ipld.car import header, section
from node.core.ipld.cid import RAW, Cid
from node.store.imported_blocks import ForeignStore
from tests.faults.hostile_dags import FOUND, Bomb, bombs, waiting
from tests.faults.node_kit import Client, child
from tests.unit.ipfs.gateway.dags import Shelf

HANG_S = 60.0
"""No speed: under load a walk over thousands of blocks takes seconds."""
TASTE_BYTES = 256 * 1024
"""What is read of a stream before its reader leaves, as who means harm does."""
PLACES = 4
ROOM_MIB = 250
"""What the node may grow by, whatever it is asked for: several times 2 MiB taken apart in each thread."""
READERS = 32
READERS_ROOM_MIB = 640
"""The same for all places at once: what each has read ahead, and the links that wait, some 14 MiB a place.
What the allocator keeps differs from run to run by a third."""

pytestmark = pytest.mark.timeout(400)


def peak_mib(pid: int) -> int:
    """The most memory that the process has had."""
    status = Path(f"/proc/{pid}/status").read_text()
    [line] = [line for line in status.splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) // 1024


async def stock(folder: Path, shelf: Shelf) -> None:
    """As ``ingest`` leaves it."""
    (folder / "data").mkdir(parents=True)
    store = await ForeignStore.open(folder / "data" / "foreign.sqlite", bytes_max=2**30)

    async def car() -> AsyncIterator[bytes]:
        yield header([Cid.of(b"", RAW)])
        for multihash, data in shelf.blocks.items():
            yield section(Cid(RAW, multihash[2:]), data)

    await store.add(car())
    await store.close()


async def taste(node: Client, bomb: Bomb) -> tuple[int, int]:
    """Status, and how much came before the end, the cut, or enough."""
    size = 0
    async with asyncio.timeout(HANG_S):
        try:
            async with node.http.get(node.url + bomb.path) as response:
                async for piece in response.content.iter_chunked(16_384):
                    size += len(piece)
                    if size > TASTE_BYTES:
                        response.close()
                        break
        except aiohttp.ClientPayloadError:
            pass  # cut off
        return response.status, size


async def test_no_graph_hurts_the_node(tmp_path: Path) -> None:
    shelf = Shelf()
    attacks = list(bombs(shelf))
    await stock(tmp_path, shelf)
    async with child(tmp_path, NEUROSWARM_IPFS__GATEWAY_CONCURRENT_MAX=str(PLACES)) as (process, node):
        assert "4" in (await node.ask("What is 2+2?"))["answer"]
        before = peak_mib(process.process.pid)
        places = asyncio.Semaphore(PLACES - 1)

        async def attack(bomb: Bomb) -> None:
            async with places:
                status, size = await taste(node, bomb)
                while status == 429:  # the walk for one who has left ends at its next step
                    status, size = await taste(node, bomb)
                assert status in bomb.statuses, (bomb, status)
                assert size > 0 or bomb.statuses != FOUND, bomb

        async def others() -> None:
            """Whoever asks something else is answered within the kit's patience."""
            while True:
                assert (await node.send("GET", "/livez"))[0] == 200
                assert "4" in (await node.ask("What is 2+2?"))["answer"]
                await asyncio.sleep(0.2)

        asking = asyncio.create_task(others())
        try:
            await asyncio.gather(*map(attack, attacks))
            assert not asking.done(), asking
        finally:
            asking.cancel()
        assert peak_mib(process.process.pid) - before < ROOM_MIB
        await nobody_keeps_a_place(node)
        assert await process.end() == 0


async def nobody_keeps_a_place(node: Client) -> None:
    """As many as there are places are served at once again."""
    plain = Bomb("nothing", f"/ipfs/{Cid.of(b'nothing')}?format=car", frozenset({404}))
    async with asyncio.timeout(HANG_S):
        while {one for one, _ in await asyncio.gather(*(taste(node, plain) for _ in range(PLACES)))} != {404}:
            await asyncio.sleep(0.1)


@pytest.mark.parametrize("more", ["", "&car-dups=y"])
async def test_readers_who_let_links_wait_fill_no_memory(tmp_path: Path, more: str) -> None:
    """Each takes a few MiB and then nothing, while 100,000 links wait. Too many such links together end a
    walk; those who ask for less are served."""
    shelf = Shelf()
    root, leaf = waiting(shelf), shelf.put(b"leaf")
    plain = shelf.node(None, [("leaf", leaf)])
    await stock(tmp_path, shelf)
    async with child(tmp_path, NEUROSWARM_IPFS__GATEWAY_CONCURRENT_MAX=str(READERS + 1)) as (process, node):
        before = peak_mib(process.process.pid)
        writers: list[asyncio.StreamWriter] = []

        async def read_some() -> bool:
            """Whether it was cut off."""
            reader, writer = await node.connect()
            writers.append(writer)
            writer.write(f"GET /ipfs/{root}?format=car{more} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
            size = 0
            async with asyncio.timeout(HANG_S):
                while size < 5 * 2**20:
                    piece = await reader.read(65_536)
                    if not piece:
                        return True
                    size += len(piece)
            return False

        try:
            cut = await asyncio.gather(*(read_some() for _ in range(READERS)))
            assert any(cut)
            assert not all(cut)
            assert peak_mib(process.process.pid) - before < READERS_ROOM_MIB
            path = f"/ipfs/{plain}?format=car{more}"
            status, size = await taste(node, Bomb("", path, FOUND))
            assert (status, size > len(shelf.blocks[leaf.multihash])) == (200, True)
            assert "4" in (await node.ask("What is 2+2?"))["answer"]
        finally:
            for writer in writers:
                writer.transport.abort()
        async with asyncio.timeout(HANG_S):
            while await read_some():  # what waited for those who left is given back
                await asyncio.sleep(0.1)
        writers[-1].transport.abort()
