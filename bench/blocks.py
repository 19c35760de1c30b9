"""Putting and getting blocks: SQLite, and an IPFS daemon through ``ipfshttpclient`` and through aiohttp.

    python -m bench.blocks

The daemon is js-ipfs 0.66.1 from the engines cache (``bash .ci/engines`` fills it), or any by address
(``NEUROSWARM_TEST_KUBO_URL``); without one only SQLite is measured, and that is said. Blocks of 2,841 bytes,
the size of a record with its vector, none twice, not pinned. The ways take turns within each round, so that a
busy spell falls on all alike: read the ratios. "In flight" is how many calls are on their way at once; SQLite
syncs each commit. ``ipfshttpclient`` keeps one client and one connection for all calls here, which is the
best that it can do; it blocks, so it runs in a thread.
"""

from __future__ import annotations

import asyncio
import io
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import ipfshttpclient

from bench.fresh_node import load_average
from node.core.clock import SystemClock, random_bytes
from node.core.ipld.cid import RAW, Cid
from node.ipfs.kubo import KuboBlockStore
from node.ipfs.kubo_client import Version
from node.ipfs.kubo_library import multiaddr_of
from node.store.sqlite import SqliteStore
from tests import engines

BLOCK_BYTES = 2_841
BLOCKS = 60
ROUNDS = 4

Blocks = Sequence[tuple[Cid, bytes]]
Call = Callable[[Cid, bytes], Awaitable[object]]


@dataclass(slots=True)
class Way:
    """One way to put and get blocks; ``seconds`` by what was done, one figure a round."""

    name: str
    put: Call
    get: Call
    in_flight: int
    seconds: dict[str, list[float]] = field(default_factory=lambda: {"put": [], "get": []})


def fresh(count: int) -> Blocks:
    data = [random_bytes(BLOCK_BYTES) for _ in range(count)]
    return [(Cid.of(one, RAW), one) for one in data]


async def run(call: Call, blocks: Blocks, in_flight: int, clock: SystemClock) -> float:
    """Seconds for all of them, ``in_flight`` at a time."""
    waiting = iter(blocks)

    async def work() -> None:
        for cid, data in waiting:
            await call(cid, data)

    started = clock.monotonic()
    await asyncio.gather(*(work() for _ in range(in_flight)))
    return clock.monotonic() - started


def sqlite_ways(store: SqliteStore) -> list[Way]:
    async def get(cid: Cid, data: bytes) -> None:
        assert await store.blocks.get(cid) == data

    return [Way("SQLite", store.blocks.put, get, 1), Way("SQLite", store.blocks.put, get, 16)]


def library_way(client: ipfshttpclient.Client, version: Version) -> Way:
    options = {"format": "raw", "version": "1"} if version.wants_format else {"cid-codec": "raw"}

    def put_blocking(cid: Cid, data: bytes) -> None:
        key = client.block.put(io.BytesIO(data), opts=options)["Key"]
        assert Cid.parse(key) == cid, key

    async def put(cid: Cid, data: bytes) -> None:
        await asyncio.to_thread(put_blocking, cid, data)

    async def get(cid: Cid, data: bytes) -> None:
        assert await asyncio.to_thread(client.block.get, str(cid)) == data

    return Way("daemon by ipfshttpclient", put, get, 1)


def direct_ways(store: KuboBlockStore) -> list[Way]:
    async def get(cid: Cid, data: bytes) -> None:
        assert await store.get(cid) == data

    return [Way("daemon by aiohttp", store.put, get, count) for count in (1, 4, 16)]


@asynccontextmanager
async def daemon_ways(folder: Path) -> AsyncIterator[tuple[str, list[Way]]]:
    """The daemon's name and the ways to it; none where there is no daemon."""
    async with AsyncExitStack() as stack:
        url = os.environ.get("NEUROSWARM_TEST_KUBO_URL", "").rstrip("/")
        if not url:
            if (reason := engines.js_ipfs_missing()) is not None:
                yield f"no daemon: {reason}", []
                return
            manager = engines.js_ipfs(folder)
            url = (await asyncio.to_thread(manager.__enter__)).url
            stack.push_async_callback(asyncio.to_thread, manager.__exit__, None, None, None)
        http = await stack.enter_async_context(aiohttp.ClientSession(trust_env=False, auto_decompress=False))
        store = KuboBlockStore(url, http, SystemClock(), timeout_s=30)
        version = await store.connect()
        client = stack.enter_context(ipfshttpclient.Client(multiaddr_of(url), timeout=30))
        yield str(version), [library_way(client, version), *direct_ways(store)]


async def measure(folder: Path) -> None:
    clock = SystemClock()
    store = await SqliteStore.open(folder / "blocks.sqlite", own_issuer="did:key:bench")
    try:
        async with daemon_ways(folder) as (name, daemons):
            print(f"daemon: {name}" if daemons else name)
            print(f"{ROUNDS} rounds of {BLOCKS} blocks of {BLOCK_BYTES} bytes; load {load_average()}")
            ways = sqlite_ways(store) + daemons
            for way in ways:
                await run(way.put, fresh(4), 1, clock)  # connections and threads are there from now on
            for turn in range(ROUNDS):
                for way in ways[turn % len(ways) :] + ways[: turn % len(ways)]:
                    blocks = fresh(BLOCKS)
                    way.seconds["put"].append(await run(way.put, blocks, way.in_flight, clock))
                    way.seconds["get"].append(await run(way.get, blocks, way.in_flight, clock))
            report(ways)
    finally:
        await store.close()


def report(ways: Sequence[Way]) -> None:
    """Blocks a second of the best and the median round, and the ratio to the library's best."""
    base = next((way for way in ways if "ipfshttpclient" in way.name), None)
    print(f"{'way':26} {'in flight':>9}  {'put/s best':>10} {'median':>8}  {'get/s best':>10} {'median':>8}")
    for way in ways:
        row = f"{way.name:26} {way.in_flight:9}"
        for what in ("put", "get"):
            ordered = sorted(way.seconds[what])
            row += f"  {BLOCKS / ordered[0]:10.0f} {BLOCKS / ordered[len(ordered) // 2]:8.0f}"
        if base is not None:
            ratios = [min(base.seconds[what]) / min(way.seconds[what]) for what in ("put", "get")]
            row += f"  x{ratios[0]:.1f} / x{ratios[1]:.1f}"
        print(row)
    if base is not None:
        print("the last column: put and get against ipfshttpclient, best round against best round")


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measure(Path(folder)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
