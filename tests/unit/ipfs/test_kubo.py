"""The daemon's block store and client: dialects, versions, and what a broken or lying daemon can do to us."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import pytest
from aiohttp import web

from node.core.clock import SystemClock
from node.core.errors import CorruptState, NodeError, NotFound, TimedOut, Unavailable
from node.core.ipld.cid import DAG_CBOR, RAW, Cid
from node.ipfs import kubo
from node.ipfs.kubo import KuboBlockStore
from node.ipfs.kubo_client import KuboClient, read_version
from node.ipfs.kubo_library import multiaddr_of
from tests.nowhere import NOBODY
from tests.simulators.kubo import KuboStandIn

BLOCK = b"\xa1aa\x01"
CID = Cid.of(BLOCK, DAG_CBOR)
KUBO_OPTIONS = {"cid-codec": "dag-cbor", "pin": "false", "allow-big-block": "true"}
FAULTS = (
    *("hang", "hang_body", "drip", "cut", "endless", "nonsense", "nested", "gzip", "redirect"),
    *(400, 403, 404, 500),
    *("\x1b[31mred\nlines", "x" * 100_000),
)


@asynccontextmanager
async def store_of(url: str, timeout_s: float = 10) -> AsyncIterator[KuboBlockStore]:
    async with aiohttp.ClientSession(auto_decompress=False, trust_env=False) as http:
        yield KuboBlockStore(url, http, SystemClock(), timeout_s=timeout_s)


@pytest.mark.parametrize(
    ("dialect", "version", "options"),
    [
        *(("kubo", version, KUBO_OPTIONS) for version in ("0.29.0", "0.13.0-rc1", "1.2.3")),
        ("js-ipfs", "0.18.1", {"format": "dag-cbor", "version": "1"}),
    ],
)
async def test_a_put_speaks_the_daemons_dialect(dialect: str, version: str, options: dict[str, str]) -> None:
    async with KuboStandIn(dialect, version) as daemon, store_of(daemon.url) as store:
        await store.blocks.put(CID, BLOCK)
        [put] = [one for one in daemon.calls if one.call == "block/put"]
        assert put.params == {**options, "mhtype": "sha2-256"}
        assert daemon.pinned() == {CID}
        assert daemon.count("version") == 1


async def test_an_old_daemon_is_spoken_to_in_the_old_dialect() -> None:
    async with KuboStandIn("kubo", "0.12.2") as daemon, store_of(daemon.url) as store:
        with pytest.raises(Unavailable, match="speaks another dialect"):
            await store.blocks.put(CID, BLOCK)  # the stand-in is no such daemon, and that is noticed
        [put] = [one for one in daemon.calls if one.call == "block/put"]
        assert put.params["format"] == "dag-cbor"


async def test_a_daemon_replaced_by_another_kind_is_asked_again() -> None:
    first, second = KuboStandIn("kubo"), KuboStandIn("js-ipfs")
    async with first, store_of(first.url) as store:
        await store.blocks.put(CID, BLOCK)
        await first.__aexit__()
        second.port = first.port
        async with second:
            for _ in range(3):  # the first call may meet the connection that was cut
                try:
                    await store.blocks.put(CID, BLOCK)
                except NodeError:
                    continue
                break
            assert second.pinned() == {CID}


@pytest.mark.parametrize(
    "answer",
    [None, [], "0.29.0", {}, *({"Version": version} for version in (29, "latest", "0.4.22", "0.3.1"))],
)
def test_what_cannot_be_spoken_to_is_refused(answer: object) -> None:
    with pytest.raises(Unavailable):
        read_version(answer)


@pytest.mark.parametrize("text", ["0.4.23", "0.8.0", "0.29.0", "0.42.0-rc2", "2.0.0", "0.29.0/abcdef"])
def test_every_other_version_is_welcome(text: str) -> None:
    assert not read_version({"Version": text}).is_js
    assert str(read_version({"Version": "0.1.0", "ipfs-core": "0.18.1"})) == "js-ipfs 0.1.0"


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("http://127.0.0.1:5001", "/ip4/127.0.0.1/tcp/5001/http"),
        ("http://[::1]:5001", "/ip6/::1/tcp/5001/http"),
        ("https://ipfs.example.org", "/dns/ipfs.example.org/tcp/443/https"),
    ],
)
def test_addresses(url: str, address: str) -> None:
    assert multiaddr_of(url) == address


@pytest.mark.parametrize("fault", FAULTS)
async def test_whatever_a_daemon_does_comes_out_as_our_error_in_time(fault: str | int) -> None:
    async with KuboStandIn() as elsewhere, KuboStandIn() as daemon, store_of(daemon.url) as warm:
        await warm.connect()
        elsewhere.blocks[CID.multihash] = BLOCK
        daemon.redirect_to = f"{elsewhere.url}/api/v0/version"
        async with store_of(daemon.url, timeout_s=0.15) as store:
            store._version = warm._version
            daemon.faults["*"] = fault
            blocks, client = store.blocks, store.client
            for call in (
                *(blocks.put(CID, BLOCK), blocks.get(CID), blocks.has(CID), blocks.delete(CID)),
                *(client.version(), client.repo_id(), client.peers(), client.pin([CID]), client.unpin([CID])),
            ):
                async with asyncio.timeout(60):
                    with pytest.raises(NodeError) as caught:
                        await call
                message = str(caught.value)
                assert message.isprintable(), message
                assert len(message) < 600
        assert not elsewhere.calls


async def test_a_daemon_that_lies_about_a_block_is_found_out() -> None:
    async with KuboStandIn() as daemon, store_of(daemon.url) as store:
        daemon.wrong_bytes = b"something else"
        with pytest.raises(CorruptState):
            await store.blocks.get(CID)
        daemon.wrong_bytes = None
        daemon.wrong_key = True
        with pytest.raises(Unavailable):
            await store.blocks.put(CID, BLOCK)


async def test_a_read_looks_at_home_first_and_then_in_the_network() -> None:
    data = b"a peer has this"
    async with KuboStandIn() as daemon, store_of(daemon.url) as store:
        daemon.network[Cid.of(data, RAW).multihash] = data
        assert not await store.blocks.has(Cid.of(data, RAW))
        assert await store.blocks.get(Cid.of(data, RAW)) == data
        asked = [one.params for one in daemon.calls if one.call.startswith("block/")]
        assert [one.get("offline") for one in asked] == ["true", "true", None]
        assert all(one["timeout"] == "8000ms" for one in asked)


@pytest.mark.parametrize("dialect", ["kubo", "js-ipfs"])
async def test_what_nobody_has_is_not_found_within_the_limit(dialect: str) -> None:
    async with KuboStandIn(dialect) as daemon, store_of(daemon.url, timeout_s=0.4) as store:
        async with asyncio.timeout(60):
            with pytest.raises(NotFound):
                await store.blocks.get(CID)


async def test_one_thread_however_many_wait_for_a_hanging_daemon() -> None:
    async with KuboStandIn(faults={"*": "hang"}) as daemon:
        client = KuboClient(daemon.url, SystemClock(), timeout_s=0.4)
        outcomes = asyncio.gather(*(client.version() for _ in range(30)), return_exceptions=True)
        await daemon.until(lambda: bool(daemon.running))
        assert sum(thread.name == "ipfs-daemon" for thread in threading.enumerate()) == 1
        assert {type(one) for one in await outcomes} == {TimedOut}


async def test_a_call_that_never_ends_holds_up_no_later_one() -> None:
    async with KuboStandIn(faults={"swarm/peers": "drip"}) as daemon:
        client = KuboClient(daemon.url, SystemClock(), timeout_s=10)
        for _ in range(2):
            with pytest.raises(TimedOut):
                await client.peers(0.2)
            assert str(await client.version()) == "Kubo 0.29.0"


async def test_a_call_that_is_cancelled_ends() -> None:
    async with KuboStandIn(faults={"id": "drip"}) as daemon:
        client = KuboClient(daemon.url, SystemClock(), timeout_s=10)
        asked = asyncio.create_task(client.repo_id())
        await daemon.until(lambda: bool(daemon.running))
        asked.cancel()
        assert str(await client.version()) == "Kubo 0.29.0"


class Impatient(KuboStandIn):
    """Cuts a kept connection just as it is used again, as js-ipfs does five seconds after the last answer."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self._how = how
        self._used: set[asyncio.BaseTransport | None] = set()
        self.cuts = 0

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        if request.transport in self._used:
            assert request.transport is not None
            self.cuts += 1
            getattr(request.transport, self._how)()
            return web.Response()
        self._used.add(request.transport)
        return await super()._serve(request)


@pytest.mark.parametrize("how", ["close", "abort"])
async def test_a_kept_connection_that_was_cut_is_no_failure(how: str) -> None:
    daemon = Impatient(how)
    async with daemon, store_of(daemon.url) as store:
        await store.connect()
        for _ in range(3):
            await store.put(CID, BLOCK)
            assert await store.get(CID) == BLOCK
        assert daemon.cuts == 5
        assert daemon.count("block/put") == daemon.count("block/get") == 3


async def test_the_environments_proxy_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, NOBODY)
    async with KuboStandIn() as daemon, store_of(daemon.url) as store:
        await store.blocks.put(CID, BLOCK)
        assert daemon.pinned() == {CID}


async def test_pins_of_many_are_one_call_and_one_odd_one_spoils_nothing() -> None:
    blocks = [f"block {number}".encode() for number in range(10)]
    cids = [Cid.of(data, RAW) for data in blocks]
    async with KuboStandIn() as daemon, store_of(daemon.url) as store:
        await store.keep(list(zip(cids, blocks, strict=True)))
        assert daemon.count("pin/add") == 1
        assert daemon.pinned() == set(cids)
        del daemon.pins[cids[4]]
        daemon.pins[cids[5]] = "recursive"
        assert not await store.client.pinned(cids)
        await store.client.unpin(cids)
        assert daemon.pins == {cids[5]: "recursive"}
        assert await store.client.pinned([cids[5]])


@pytest.mark.parametrize("dialect", ["kubo", "js-ipfs"])
async def test_the_probe_says_who_is_there(dialect: str) -> None:
    async with KuboStandIn(dialect, peers=1) as daemon:
        check = await kubo.probe(daemon.url, SystemClock())
        name = "js-ipfs 0.18.1" if daemon.is_js else "Kubo 0.29.0"
        assert (check.status, check.observed) == ("pass", f"{name}, 1 peer")
        daemon.faults["swarm/peers"] = "hang"
        assert (await kubo.probe(daemon.url, SystemClock())).status == "pass"
    gone = await kubo.probe(daemon.url, SystemClock())
    assert gone.status == "warn"
    assert (await kubo.probe("", SystemClock())).status == "pass"
