"""One peer behind an http address: its log, its blocks, who it says it is. Implements ``PeerLink``.

Promises: only that address is asked and no redirect is followed; one that somebody else has named leads to
public addresses only, judged on what is connected to (``resolve``); no compressed body is read; every body
ends at a number of bytes, every call at a time on the node's clock, also where it drips; blocks leave only if
they match the CID that was asked for; whatever goes wrong leaves as ``node.core.errors``. Sends CIDs, paths
of the log and fingerprints of sets: never a question.
Must not know: whose signature counts, what is done with what comes. The session is handed in.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import functools
import socket
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Mapping,
    Sequence,
)
from typing import Any, TypeVar
from urllib.parse import urlsplit

import aiohttp
import orjson

from node.core import http
from node.core.clock import Clock
from node.core.errors import NotFound, Rejected
from node.core.http import CHUNK_BYTES, Http
from node.core.ipld import ipns
from node.core.ipld.car import CarReader
from node.core.ipld.cid import Cid
from node.core.ipld.dagcbor import BLOCK_BYTES_MAX
from node.core.ipld.ipns import IpnsName
from node.core.peer_address import host_of, is_loopback, is_name, is_public
from node.core.signed_note import NOTE_BYTES_MAX
from node.models.deadline import within

_T = TypeVar("_T")

CERTIFICATES_MAX = 64
CERTIFICATE_BYTES_MAX = 16 * 2**10
IDENTITY_BYTES_MAX = 2 * 2**20
"""So many certificates in base64, and what stands around them."""
ADDRESSES_MAX = 64
LIST_BYTES_MAX = 2 * 2**20
MESSAGE_BYTES_MAX = 2**20
BLOCKS_AT_ONCE = 1_000
"""CIDs that one request may name."""
BULK_AGAIN_S = 3_600.0
"""How long single blocks are asked for where the peer knows no request for many."""
RATE_MIN = 8 * 2**10
"""Bytes a second: a body may take the call's time and a second more for each such part that has come."""
RESOLVED_S = 60.0
"""How long what a name was found to lead to is used."""
PLACES_MAX = 4
"""Addresses behind one name that are tried, one after the other."""
_ETAG_CHARS_MAX = 256
_CAR = "application/vnd.ipld.car"
_RAW = "application/vnd.ipld.raw"
_BYTES = "application/octet-stream"
_JSON = "application/json"
_RECORD = "application/vnd.ipfs.ipns-record"


Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""The addresses, in numbers, that a host's name and port lead to. Raises ``OSError``, ``ValueError``."""


async def resolved(host: str, port: int) -> Sequence[str]:
    """As this machine resolves names: a ``Resolve``."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(where[0]) for *_, where in found))


class _Way:
    """Where an address that somebody else has named may be connected to. The name is not resolved again
    behind this: what was judged is what is connected to, so that it cannot lead elsewhere meanwhile."""

    def __init__(self, address: str, resolve: Resolve, clock: Clock) -> None:
        parts = urlsplit(address)
        self._address = address
        self._host = host_of(address)
        self._port = parts.port or (443 if parts.scheme == "https" else 80)
        self._scheme = parts.scheme
        self._resolve = resolve
        self._clock = clock
        self._places: Sequence[str] = ()
        self._until = 0.0
        self.headers = {"Host": parts.netloc}
        self.server_name = self._host.rstrip(".") if parts.scheme == "https" else None

    async def places(self) -> Sequence[str]:
        """Origins in numbers, at least one. Raises ``Rejected``; ``OSError``, ``ValueError`` where the name
        cannot be resolved."""
        if is_loopback(self._host):  # no name: it was judged by who named it (``told_address``)
            return (self._address,)
        if self._clock.monotonic() >= self._until:
            by_name = is_name(self._host)
            found = await self._resolve(self._host, self._port) if by_name else [self._host]
            if not found or not all(map(is_public, found)):
                raise Rejected(
                    f"{self._address} does not lead to the public internet alone, and only the operator may "
                    f"send this node elsewhere: neuroswarm peers add {self._address}"
                )
            self._places = [self._origin(one) for one in found[:PLACES_MAX]]
            self._until = self._clock.monotonic() + RESOLVED_S
        return self._places

    def _origin(self, place: str) -> str:
        return f"{self._scheme}://{f'[{place}]' if ':' in place else place}:{self._port}"


class HttpPeer:
    """Safe for concurrent callers on one event loop. ``timeout_s`` bounds a call until its body comes, and a
    short body with it. ``resolve``: given for an address that somebody else has named, which then may lead
    to the public internet only."""

    def __init__(
        self, url: str, session: Http, clock: Clock, *, timeout_s: float, resolve: Resolve | None = None
    ) -> None:
        self.address = url.rstrip("/")
        self.is_told = resolve is not None
        self._way = None if resolve is None else _Way(self.address, resolve, clock)
        self._http = session
        self._clock = clock
        self._timeout_s = timeout_s
        self._single_until = 0.0

    # --- who it is ------------------------------------------------------------------------------------

    async def certificates(self) -> tuple[str, list[bytes]]:
        value = await self._json("/peers/identity", IDENTITY_BYTES_MAX)
        root, listed = value.get("root"), value.get("certificates")
        if not isinstance(root, str) or not isinstance(listed, list) or len(listed) > CERTIFICATES_MAX:
            raise Rejected(f"{self.address} does not say who it is: no root, or no list of certificates")
        return root, [self._block(text) for text in listed]

    async def peers(self) -> list[str]:
        value = await self._json("/peers", LIST_BYTES_MAX)
        listed = value.get("peers")
        if not isinstance(listed, list):
            raise Rejected(f"{self.address} does not list its peers")
        named = [one.get("address") for one in listed if isinstance(one, dict)]
        return [address for address in named if isinstance(address, str)][:ADDRESSES_MAX]

    def _block(self, text: object) -> bytes:
        try:
            if not isinstance(text, str) or len(text) > 2 * CERTIFICATE_BYTES_MAX:
                raise Rejected(f"{self.address} shows a certificate that is none")
            return base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError) as exc:
            raise Rejected(f"{self.address} shows a certificate that is not base64") from exc

    # --- its log --------------------------------------------------------------------------------------

    async def checkpoint(self, etag: str | None = None) -> tuple[bytes | None, str | None]:
        headers = {} if etag is None else {"If-None-Match": etag}
        async with self._answer("GET", "/logs/publications/checkpoint", headers=headers) as answer:
            if answer.status == 304 and etag is not None:
                return None, etag
            self._check(answer)
            shown = answer.headers.get("ETag", "")
            note = await self._whole(answer, NOTE_BYTES_MAX)
        is_usable = 0 < len(shown) <= _ETAG_CHARS_MAX and shown.isascii() and shown.isprintable()
        return note, shown if is_usable else None

    async def read(self, path: str, bytes_max: int) -> bytes:
        async with self._answer("GET", f"/logs/publications/{path}") as answer:
            self._check(answer)
            return await self._whole(answer, bytes_max)

    # --- its blocks -----------------------------------------------------------------------------------

    async def blocks(self, cids: Sequence[Cid], bytes_max: int) -> AsyncGenerator[tuple[Cid, bytes], None]:
        """See ``PeerLink``. Raises ``Rejected`` also for more than ``bytes_max``."""
        for at in range(0, len(cids), BLOCKS_AT_ONCE):
            wanted = dict.fromkeys(cids[at : at + BLOCKS_AT_ONCE])
            takes_many = len(wanted) > 1 and self._clock.monotonic() >= self._single_until
            found = self._many(wanted, bytes_max) if takes_many else self._each(wanted, bytes_max)
            async with contextlib.aclosing(found):
                async for cid, data in found:
                    bytes_max -= len(data)
                    yield cid, data

    async def _many(self, wanted: dict[Cid, None], bytes_max: int) -> AsyncGenerator[tuple[Cid, bytes], None]:
        """One CAR; what was not asked for is passed over, and counts."""
        body = orjson.dumps({"cids": [str(cid) for cid in wanted]})
        headers = {"Accept": _CAR, "Content-Type": _JSON}
        async with self._answer("POST", "/peers/blocks", headers=headers, body=body) as answer:
            is_known = answer.status not in (404, 405)
            if is_known:
                self._check(answer)
                car = CarReader()
                chunks = self._chunks(answer, bytes_max + len(wanted) * 128 + CHUNK_BYTES)
                async with contextlib.aclosing(chunks):
                    async for chunk in chunks:
                        for cid, data in car.feed(chunk):
                            if cid in wanted:
                                del wanted[cid]
                                yield cid, data
                car.finish()
        if not is_known:
            self._single_until = self._clock.monotonic() + BULK_AGAIN_S
            singles = self._each(wanted, bytes_max)
            async with contextlib.aclosing(singles):
                async for cid, data in singles:
                    yield cid, data

    async def _each(self, wanted: Iterable[Cid], bytes_max: int) -> AsyncGenerator[tuple[Cid, bytes], None]:
        for cid in wanted:
            try:
                async with self._answer("GET", f"/ipfs/{cid}?format=raw", headers={"Accept": _RAW}) as answer:
                    self._check(answer)
                    data = await self._whole(answer, min(bytes_max, BLOCK_BYTES_MAX))
            except NotFound:
                continue
            if not cid.matches(data):
                raise Rejected(f"{self.address} answers with other bytes than those of block {cid}")
            bytes_max -= len(data)
            yield cid, data

    async def reconcile(self, message: bytes) -> bytes:
        headers = {"Accept": _BYTES, "Content-Type": _BYTES}
        async with self._answer("POST", "/peers/reconcile", headers=headers, body=message) as answer:
            self._check(answer)
            return await self._whole(answer, MESSAGE_BYTES_MAX)

    async def ipns_record(self, name: IpnsName) -> bytes:
        """The record that it knows for a name, as its delegated router gives it. Raises as ``read`` does."""
        async with self._answer(
            "GET", f"/routing/v1/ipns/{name.text}", headers={"Accept": _RECORD}
        ) as answer:
            self._check(answer)
            return await self._whole(answer, ipns.RECORD_BYTES_MAX)

    # --- the wire -------------------------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def _answer(
        self, method: str, path: str, *, headers: Mapping[str, str] | None = None, body: bytes | None = None
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """The head of an answer within the call's time; its body may be read inside."""
        asked = self._asked(method, path, headers or {}, body)
        with http.translated(self.address):
            response = await within(self._clock, self._timeout_s, asked, self._late)
        try:
            yield response
        finally:
            response.close()

    async def _asked(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None
    ) -> aiohttp.ClientResponse:
        if self._way is None:
            return await http.request(
                self._http, method, self.address + path, headers=headers, data=body, peer=self.address
            )
        places = await self._way.places()
        ask = functools.partial(
            http.request,
            self._http,
            method,
            headers={**headers, **self._way.headers},
            data=body,
            server_name=self._way.server_name,
            peer="",
        )
        for place in places[:-1]:
            with contextlib.suppress(aiohttp.ClientConnectorError):
                return await ask(place + path)
        return await ask(places[-1] + path)

    def _check(self, answer: aiohttp.ClientResponse) -> None:
        """Raise what the status means, unless it is a good one. Object stores say 403 for what they do not
        have."""
        if answer.status != 200:
            stated = answer.headers.get("Retry-After")
            raise http.failure(self.address, answer.status, stated, self._clock, missing=(403, 404, 410))

    async def _whole(self, answer: aiohttp.ClientResponse, bytes_max: int) -> bytes:
        body = bytearray()
        chunks = self._chunks(answer, bytes_max)
        async with contextlib.aclosing(chunks):
            async for chunk in chunks:
                body += chunk
        return bytes(body)

    async def _chunks(self, answer: aiohttp.ClientResponse, bytes_max: int) -> AsyncGenerator[bytes, None]:
        """The body. Only the time that is waited for it counts, not what its reader takes."""
        http.check_size(self.address, answer, bytes_max)
        came, waited = 0, 0.0
        while True:
            began = self._clock.monotonic()
            left = self._timeout_s + came / RATE_MIN - waited
            with http.translated(self.address):
                chunk = await within(self._clock, left, answer.content.read(CHUNK_BYTES), self._late)
            waited += self._clock.monotonic() - began
            if not chunk:
                return
            came += len(chunk)
            if came > bytes_max:
                raise http.too_long(self.address, bytes_max)
            yield chunk

    async def _json(self, path: str, bytes_max: int) -> dict[str, Any]:
        async with self._answer("GET", path, headers={"Accept": _JSON}) as answer:
            self._check(answer)
            body = await self._whole(answer, bytes_max)
        try:
            value = orjson.loads(body)
        except orjson.JSONDecodeError as exc:
            raise Rejected(f"{self.address}{path} is not JSON") from exc
        if not isinstance(value, dict):
            raise Rejected(f"{self.address}{path} is not a JSON object")
        return value

    @property
    def _late(self) -> str:
        return f"{self.address} did not answer in time"
