"""A stand-in for an IPFS daemon's RPC API on loopback, in the wire format of Kubo (``dialect="kubo"``, built
from what was read in its sources; no current Kubo was run) or of js-ipfs 0.66 (``dialect="js-ipfs"``, as it
was heard).

    async with KuboStandIn() as daemon:
        daemon.url, daemon.blocks, daemon.pins, daemon.calls

Leaving the block stops the server and keeps the repository: entering it again is the same daemon restarted at
the same port. The contract suite runs over it and over real daemons alike, so that it cannot lie."""

from __future__ import annotations

import asyncio
import base64
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from aiohttp import web
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from node.core.errors import Rejected
from node.core.ipld import ipns
from node.core.ipld.cid import DAG_CBOR, DAG_PB, RAW, Cid, base58
from node.core.ipld.ipns import IpnsName, IpnsRecord
from tests.simulators.vendor import Door

CODECS = {"raw": RAW, "dag-cbor": DAG_CBOR, "dag-pb": DAG_PB}
JS_BODY_BYTES_MAX = 2**20
"""js-ipfs takes no longer request."""
PEER = "12D3KooWF77wXyeFG1HTNpp5tjoXdHTvNdJ87JvYD2wkDC4niUuE"
CALLS = (
    *("version", "id", "swarm/peers", "block/put", "block/get", "block/stat", "block/rm"),
    *("pin/add", "pin/ls", "pin/rm", "key/list", "key/gen", "name/publish"),
)
KUBO_CALLS = ("routing/put", "routing/get")
"""js-ipfs has neither."""


@dataclass(frozen=True, slots=True)
class Called:
    """One request as it arrived."""

    call: str
    params: dict[str, str]
    args: tuple[str, ...]
    headers: dict[str, str]


class _Fail(Exception):
    """An error as the daemon words it."""

    def __init__(self, message: str, status: int = 500) -> None:
        super().__init__(message)
        self.status = status


@dataclass
class KuboStandIn(Door):
    """Switches may be turned while it runs; ``faults`` maps a call (or ``*``) to what it does instead:

    ``hang`` (nothing ever comes), ``hang_body`` (a head, then nothing), ``drip`` (a byte now and then),
    ``cut`` (the connection breaks off), ``endless`` (a body without end), ``nonsense`` (200, not JSON),
    ``nested`` (JSON without bottom), ``gzip`` (compressed), ``redirect`` (to ``redirect_to``), a number
    (that status), any other text (an error with this message, status 500).
    ``wrong_key`` and ``wrong_bytes`` make it lie. ``network`` holds what its peers have, by multihash."""

    dialect: str = "kubo"
    version: str = ""
    peer_id: str = PEER
    peers: int = 2
    faults: dict[str, str | int] = field(default_factory=dict)
    wrong_key: bool = False
    wrong_bytes: bytes | None = None
    redirect_to: str = ""
    network: dict[bytes, bytes] = field(default_factory=dict)
    blocks: dict[bytes, bytes] = field(default_factory=dict)
    pins: dict[Cid, str] = field(default_factory=dict)
    keys: dict[str, Ed25519PrivateKey] = field(default_factory=dict)
    names: dict[IpnsName, bytes] = field(default_factory=dict)
    """IPNS records, those that it signed itself included."""
    is_offline: bool = False
    searches: bool = False
    """For a name that it does not hold it searches until the call's ``timeout`` and a little longer."""
    given: set[bytes] = field(default_factory=set)
    """Every multihash that was ever put here or asked for."""
    calls: list[Called] = field(default_factory=list)
    port: int = 0
    url: str = ""
    running: int = 0
    running_max: int = 0

    def routes(self) -> web.Application:
        self._changed = asyncio.Condition()
        app = web.Application(client_max_size=8 * 2**20)
        app.router.add_post("/api/v0/{call:.*}", self._serve)
        return app

    # --- for tests --------------------------------------------------------------------------------

    def count(self, call: str) -> int:
        """How often a call came."""
        return sum(one.call == call for one in self.calls)

    def holds(self, cid: Cid) -> bool:
        return cid.multihash in self.blocks

    def pinned(self) -> set[Cid]:
        """What is pinned and there."""
        return {cid for cid in self.pins if cid.multihash in self.blocks}

    def lose_everything(self, peer_id: str | None = None) -> None:
        """An empty repository; with another peer id where one is given."""
        self.blocks.clear()
        self.pins.clear()
        self.names.clear()
        self.keys.clear()
        self.peer_id = peer_id or self.peer_id

    def collect_garbage(self) -> None:
        """What ``repo/gc`` does: blocks without a pin go."""
        kept = {cid.multihash for cid in self.pins}
        self.blocks = {name: data for name, data in self.blocks.items() if name in kept}

    async def until(self, is_so: Callable[[], bool]) -> None:
        """Return when a request has made ``is_so`` true."""
        async with self._changed:
            await self._changed.wait_for(is_so)

    # --- server -----------------------------------------------------------------------------------

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        self.came(request)
        call = request.match_info["call"]
        query, args = dict(request.query), tuple(request.query.getall("arg", []))
        self.calls.append(Called(call, query, args, dict(request.headers)))
        self.running += 1
        self.running_max = max(self.running_max, self.running)
        await self._notify()
        try:
            fault = self.faults.get(call, self.faults.get("*"))
            if fault is not None:
                return await self._misbehave(fault, request)
            return await self._answer(call, request)
        except _Fail as exc:
            code = 1 if exc.status == 400 else 0
            return web.json_response({"Message": str(exc), "Code": code, "Type": "error"}, status=exc.status)
        finally:
            self.running -= 1
            await self._notify()

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    async def _answer(self, call: str, request: web.Request) -> web.StreamResponse:
        if call not in CALLS and (self.is_js or call not in KUBO_CALLS):
            if self.is_js:
                raise _Fail("Not Found", 404)
            return web.Response(status=404, text="404 page not found\n")
        if call == "block/get":
            return web.Response(body=await self._block_get(request))
        answer: Any = getattr(self, f"_{call.replace('/', '_')}")(request)
        if asyncio.iscoroutine(answer):
            answer = await answer
        return web.json_response(answer)

    @property
    def is_js(self) -> bool:
        return self.dialect == "js-ipfs"

    def _name(self, cid: Cid) -> str:
        return "z" + base58(bytes(cid)) if self.is_js else str(cid)

    def _version(self, _: web.Request) -> dict[str, Any]:
        if self.is_js:
            parts = {"ipfs-core": "0.18.1", "interface-ipfs-core": "^0.158.1", "ipfs-http-client": "^60.0.1"}
            return {"Version": self.version or "0.18.1", "Commit": "", "Repo": "12", **parts}
        built = {"System": "amd64/linux", "Golang": "go1.22.4"}
        return {"Version": self.version or "0.29.0", "Commit": "", "Repo": "15", **built}

    def _id(self, _: web.Request) -> dict[str, Any]:
        return {"ID": self.peer_id, "Addresses": [], "AgentVersion": self.dialect}

    def _swarm_peers(self, _: web.Request) -> dict[str, Any]:
        return {"Peers": [{"Addr": "/ip4/127.0.0.1/tcp/4001", "Peer": PEER}] * self.peers}

    # --- keys and names ---

    def _key_list(self, _: web.Request) -> dict[str, Any]:
        return {"Keys": [{"Name": name, "Id": self._id_of(key)} for name, key in self.keys.items()]}

    def _key_gen(self, request: web.Request) -> dict[str, Any]:
        name = request.query["arg"]
        if name in self.keys:
            raise _Fail(f"key with name '{name}' already exists")
        assert request.query["type"] == "ed25519"
        self.keys[name] = Ed25519PrivateKey.generate()
        return {"Name": name, "Id": self._id_of(self.keys[name])}

    def _name_publish(self, request: web.Request) -> dict[str, Any]:
        path, query = request.query["arg"], request.query
        key = self.keys.get(query["key"])
        if key is None:
            raise _Fail("no key by the given name was found")
        if self.is_offline and query.get("allow-offline", "false").lower() != "true":
            raise _Fail("can't publish while offline: pass `--allow-offline` to override")
        assert query["resolve"].lower() == "false", "the daemon would search its network for the head"
        assert (query["lifetime"], query["ttl"]) == ("48h", "60s")
        name = _name_of(key)
        before = self.names.get(name)
        sequence = 0 if before is None else ipns.decode(before, name).sequence + 1
        record = IpnsRecord(path, sequence, datetime.now(UTC) + timedelta(hours=48), 60 * 10**9)
        self.names[name] = ipns.encode(record, key.sign)
        return {"Name": self._id_of(key), "Value": path}

    def _id_of(self, key: Ed25519PrivateKey) -> str:
        return _name_of(key).peer_id if self.is_js else _name_of(key).text

    async def _routing_put(self, request: web.Request) -> dict[str, Any]:
        name = self._asked_name(request)
        data = b""
        async for part in await request.multipart():
            assert not isinstance(part, str)
            data = bytes(await part.read())
        if self.is_offline and request.query.get("allow-offline") != "true":
            raise _Fail("can't put while offline: pass `--allow-offline` to override")
        try:
            record = ipns.decode(data, name)
        except Rejected as exc:
            raise _Fail(f"record is not valid: {exc}") from exc
        if name in self.names and ipns.better(ipns.decode(self.names[name], name), record):
            raise _Fail("can't replace a newer value with an older value")
        self.names[name] = data
        return {"ID": name.peer_id, "Type": 5, "Responses": None, "Extra": ""}

    async def _routing_get(self, request: web.Request) -> dict[str, Any]:
        if self.is_offline:
            raise _Fail("this command must be run in online mode. Try running 'ipfs daemon' first")
        data = self.names.get(self._asked_name(request))
        if data is None and self.searches:
            limit_s = 0.1 + (_seconds(request.query.get("timeout")) or 0)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._released.wait(), limit_s)
        if data is None:
            raise _Fail("routing: not found")
        return {"ID": "", "Type": 5, "Responses": None, "Extra": base64.b64encode(data).decode()}

    def _asked_name(self, request: web.Request) -> IpnsName:
        try:
            return IpnsName.parse(request.query["arg"].removeprefix("/ipns/"))
        except Rejected as exc:
            raise _Fail("invalid key") from exc

    # --- blocks and pins ---

    async def _block_put(self, request: web.Request) -> dict[str, Any]:
        query = request.query
        data: bytes | None = None
        reader = await request.multipart()
        async for part in reader:
            assert not isinstance(part, str)
            data = bytes(await part.read())
        if data is None:
            raise _Fail("File argument 'data' is required", 400)
        if self.is_js:
            if (request.content_length or 0) > JS_BODY_BYTES_MAX:
                raise _Fail("Payload content length greater than maximum allowed: 1048576", 413)
            codec = query.get("format", "dag-pb")
            if codec not in CODECS:
                raise _Fail(f'Failed to put block: No codec found for "{codec}"')
            is_old = query.get("version", "0") != "1"
        else:
            codec = query.get("cid-codec", "raw")
            if "format" in query and codec != "raw":
                raise _Fail('can\'t use "format" and "cid-codec" at the same time')
            if codec not in CODECS:
                raise _Fail(f"unrecognized codec: {codec}")
            is_old = query.get("format") in ("v0", "dag-pb")
        cid = Cid.of(data, DAG_PB if is_old else CODECS[codec])
        self.blocks[cid.multihash] = data
        self.given.add(cid.multihash)
        if query.get("pin", "false") == "true":
            self.pins[cid] = "recursive"
        if self.wrong_key:
            return {"Key": self._name(Cid.of(b"another block")), "Size": len(data)}
        return {"Key": base58(cid.multihash) if is_old else self._name(cid), "Size": len(data)}

    async def _block_get(self, request: web.Request) -> bytes:
        cid = self._cid(request)
        if self.wrong_bytes is not None:
            return self.wrong_bytes
        return await self._find(cid, request, "get block")

    async def _block_stat(self, request: web.Request) -> dict[str, Any]:
        cid = self._cid(request)
        data = await self._find(cid, request, "get block stats")
        return {"Key": self._name(cid), "Size": len(data)}

    async def _block_rm(self, request: web.Request) -> dict[str, Any]:
        cid = self._cid(request)
        if not self.is_js and any(pin.multihash == cid.multihash for pin in self.pins):
            return {"Hash": str(cid), "Error": f"pinned: {self.pins.get(cid, 'direct')}"}
        gone = self.blocks.pop(cid.multihash, None) is not None
        if gone or request.query.get("force") == "true":
            return {"Hash": self._name(cid)}
        return {"Hash": self._name(cid), "Error": f"cannot remove {cid}: block not found"}

    async def _pin_add(self, request: web.Request) -> dict[str, Any]:
        kind = self._kind(request)
        for cid in self._cids(request):
            await self._find(cid, request, "add pin")
            if self.pins.get(cid) == "recursive" and kind == "direct":
                raise _Fail(f"{cid} already pinned recursively", 400 if self.is_js else 500)
            self.pins[cid] = kind
        return {"Pins": [self._name(cid) for cid in self._cids(request)]}

    def _pin_ls(self, request: web.Request) -> dict[str, Any]:
        wanted = request.query.get("type", "all")
        found = {cid: kind for cid, kind in self.pins.items() if wanted in ("all", kind)}
        if "arg" in request.query:
            for cid in self._cids(request):
                if cid not in found:
                    raise _Fail(f"path '{cid}' is not pinned")
            found = {cid: found[cid] for cid in self._cids(request)}
        return {"Keys": {self._name(cid): {"Type": kind} for cid, kind in found.items()}}

    def _pin_rm(self, request: web.Request) -> dict[str, Any]:
        for cid in self._cids(request):
            if cid not in self.pins:
                raise _Fail(f"Failed to remove pin: {cid} is not pinned")
            if self.pins[cid] == "recursive" and self._kind(request) == "direct":
                raise _Fail(f"Failed to remove pin: {cid} is pinned recursively")
            del self.pins[cid]
        return {"Pins": [self._name(cid) for cid in self._cids(request)]}

    def _kind(self, request: web.Request) -> str:
        return "direct" if request.query.get("recursive", "true").lower() == "false" else "recursive"

    def _cid(self, request: web.Request) -> Cid:
        return self._cids(request)[0]

    def _cids(self, request: web.Request) -> list[Cid]:
        try:
            cids = [Cid.parse(text) for text in request.query.getall("arg", [])]
        except Rejected as exc:
            if self.is_js:
                raise _Fail("Invalid request query input", 400) from exc
            raise _Fail(f"invalid path: {exc}") from exc
        if not cids:
            raise _Fail('argument "cid" is required', 400)
        self.given.update(cid.multihash for cid in cids)
        return cids

    async def _find(self, cid: Cid, request: web.Request, what: str) -> bytes:
        """The block, from the repository or, unless told to stay offline, from the network: which is asked
        until the call's ``timeout``, and for ever without one. js-ipfs does not know ``offline``."""
        if (data := self.blocks.get(cid.multihash)) is not None:
            return data
        if request.query.get("offline") == "true" and not self.is_js:
            raise _Fail(f"block was not found locally (offline): ipld: could not find {cid}")
        if (data := self.network.get(cid.multihash)) is not None:
            self.blocks[cid.multihash] = data
            return data
        limit_s = _seconds(request.query.get("timeout"))
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._released.wait(), limit_s)
        if self.is_js:
            raise _Fail(f"Failed to {what}: request timed out")
        raise _Fail("context deadline exceeded")

    async def _misbehave(self, fault: str | int, request: web.Request) -> web.StreamResponse:
        if isinstance(fault, int):
            return web.Response(status=fault, text="no")
        if fault == "hang":
            await self._released.wait()
            return web.Response()
        if fault in ("hang_body", "drip"):
            transport = request.transport
            assert isinstance(transport, asyncio.WriteTransport)
            head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
            transport.write(head + b"Content-Length: 99999\r\n\r\n{")
            while not self._released.is_set() and not transport.is_closing():
                if fault == "drip":
                    transport.write(b" ")
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._released.wait(), 0.02)
            return web.Response()
        if fault == "cut":
            assert request.transport is not None
            request.transport.close()
            return web.Response()
        if fault == "endless":
            return web.Response(body=_endless(self._released), content_type="application/json")
        if fault == "nonsense":
            return web.Response(text="<html>hello</html>")
        if fault == "nested":
            return web.Response(text="[" * 100_000, content_type="application/json")
        if fault == "gzip":
            response = web.Response(body=b" " * 50_000_000, content_type="application/json")
            response.enable_compression(web.ContentCoding.gzip)
            return response
        if fault == "redirect":
            return web.Response(status=307, headers={"Location": self.redirect_to})
        raise _Fail(fault)


def _name_of(key: Ed25519PrivateKey) -> IpnsName:
    return IpnsName.of(key.public_key().public_bytes_raw())


async def _endless(released: asyncio.Event) -> AsyncIterator[bytes]:
    yield b'{"Version": "'
    while not released.is_set():
        yield b"9" * 65_536


def _seconds(text: str | None) -> float | None:
    """A duration as the client writes it."""
    if text is None:
        return None
    assert text.endswith("ms"), text
    return int(text.removesuffix("ms")) / 1_000
