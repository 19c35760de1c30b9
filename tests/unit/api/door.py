"""The real application over loopback, asked for what needs no service: the logs and the witness."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import aiohttp
from aiohttp import web

from node.api import server
from node.api.gateway import Gate
from node.api.logs import Served
from node.api.routing import Router
from node.audit.tlog.tiles import Tile
from node.audit.witnesses.ours import Witness
from node.core.server_settings import Server
from node.pipeline.service import Service
from node.store.ipns_records import Names
from tests.manual_clock import ManualClock
from tests.name_owner import Owner
from tests.unit.ipfs.gateway.dags import Shelf

US = Owner(77).name
Mend = Callable[[int, Tile], Awaitable[bool]]


async def _leave_it(_epoch: int, _tile: Tile) -> bool:
    return False


class Door:
    """Asks one server; a path is sent as it stands."""

    def __init__(self, url: str, http: aiohttp.ClientSession) -> None:
        self.url = url
        self._http = http

    async def get(self, path: str, method: str = "GET", **more: Any) -> tuple[int, bytes, Mapping[str, str]]:
        async with self._http.request(method, self.url + path, **more) as response:
            return response.status, await response.read(), response.headers

    async def body(self, path: str) -> bytes:
        """What is served there."""
        status, data, _ = await self.get(path)
        assert status == 200, (path, data)
        return data

    async def raw(self, target: str) -> bytes:
        """A request target that no client library would send."""
        host, port = self.url.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(f"GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        try:
            return await reader.read()
        finally:
            writer.close()


@asynccontextmanager
async def application(shelf: Shelf | None = None, **more: Any) -> AsyncIterator[web.Application]:
    """The real application, to be asked for what needs no service; ``shelf``: its public blocks."""
    with TemporaryDirectory() as folder:
        names = await Names.open(Path(folder) / "names.sqlite", ManualClock(), own=US)
        router = Router(Shelf() if shelf is None else shelf, names, lambda: US, ())
        given = {"service_id": "test", "router": router, "gate": Gate(asyncio.Semaphore(2)), **more}
        try:
            yield server.build(Service.__new__(Service), Server(), **given)
        finally:
            await names.close()


@asynccontextmanager
async def listening(app: web.Application) -> AsyncIterator[str]:
    """Where the application answers."""
    runner = web.AppRunner(app, access_log=None, auto_decompress=False)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    try:
        yield f"http://{host}:{port}"
    finally:
        await runner.cleanup()


@asynccontextmanager
async def served(
    folders: Mapping[str, Path], witness: Witness | None = None, mend: Mend | None = None, **more: Any
) -> AsyncIterator[Door]:
    """The application over loopback. The logs are trusted by the keys beside them; ``mend`` mends them."""
    logs = {name: Served(folder, lambda _origin: (), mend or _leave_it) for name, folder in folders.items()}
    async with application(folders=logs, cosigner=witness, **more) as app, listening(app) as url:
        headers = {"Accept-Encoding": "identity"}
        async with aiohttp.ClientSession(trust_env=False, auto_decompress=False, headers=headers) as http:
            yield Door(url, http)
