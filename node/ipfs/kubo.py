"""Blocks in an IPFS daemon, over its RPC API: Kubo, or js-ipfs in its own dialect.

The hot calls (block/put, get, stat, rm), and IPNS records that we signed (routing/put, get), which the client
library does not know, go straight over aiohttp; the rare ones through ``KuboClient``.
Promises: a block that ``blocks.put`` returned from is in the daemon's repository and pinned; the CID that
the daemon gave it is ours, compared by bytes; every call ends within its limit, every body is bounded, no
redirect is followed; what comes back is hashed (``VerifyingBlockStore``); a daemon's errors become ours.

The RPC API has no login and must never be exposed: the address is one that the operator configured.
It knows nothing of records, scopes or what should be mirrored (``mirror.py``).
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import io
import logging
import re
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

import aiohttp
import orjson

from node.core import http
from node.core.clock import Clock
from node.core.errors import NodeError, NotFound, Rejected, TimedOut, Unavailable
from node.core.http import Http
from node.core.ipld.cid import DAG_CBOR, DAG_PB, RAW, Cid
from node.core.ipld.ipns import RECORD_BYTES_MAX, IpnsName
from node.core.model import Check
from node.core.ports import BlockStore
from node.ipfs.kubo_client import ERROR_BYTES_MAX, NAME_TIMEOUT_S, KuboClient, Version, clean, duration
from node.store.verifying import BLOCK_BYTES_MAX, VerifyingBlockStore

_log = logging.getLogger("neuroswarm.ipfs")

CHECK = "ipfs:daemon"
NONE = Check(CHECK, "pass", "none configured; blocks are kept and served by this node")
VERSION_TIMEOUT_S = 1.2
PEERS_TIMEOUT_S = 0.3
"""Together less than what a health check may take."""
AT_ONCE = 4
"""Blocks on their way to the daemon together."""
_ANSWER_BYTES_MAX = 64 * 2**10
_EVENTS_BYTES_MAX = 2**20
"""What a daemon tells of a search in its network."""
_EVENT_VALUE = 5
"""libp2p's routing.Value: the event of a search that holds what was found."""

_CODECS = {RAW: "raw", DAG_CBOR: "dag-cbor", DAG_PB: "dag-pb"}
_ABSENT = re.compile(r"not found|could not find|timed? ?out|deadline exceeded", re.IGNORECASE)
"""How a daemon says that it has not got a block, or could not get it in the time that it was given."""


class KuboBlockStore:
    """The daemon at ``url``. ``blocks`` is the ``BlockStore``; the rest is for keeping a copy there.

    ``http`` belongs to whoever built it. ``timeout_s`` bounds each call.
    """

    def __init__(self, url: str, session: Http, clock: Clock, *, timeout_s: float) -> None:
        self.client = KuboClient(url, clock, timeout_s=timeout_s)
        self.naming = KuboClient(url, clock, timeout_s=NAME_TIMEOUT_S)  # so that nothing waits for a name
        self.blocks: BlockStore = VerifyingBlockStore(_DaemonBlocks(self))
        self._base = f"{url.rstrip('/')}/api/v0/"
        self._http = session
        self._timeout_s = timeout_s
        self._version: Version | None = None

    async def connect(self) -> Version:
        """Ask which daemon this is and remember its dialect. Raises ``Unavailable``."""
        self._version = version = await self.client.version()
        _log.info("event=daemon_connected version=%s", version)
        return version

    async def keep(self, blocks: Sequence[tuple[Cid, bytes]]) -> None:
        """Put the blocks, a few at a time, then pin them together. Raises the first ``NodeError`` and begins
        nothing more then; what was done stays done."""
        for start in range(0, len(blocks), AT_ONCE):
            puts = (self.put(cid, data) for cid, data in blocks[start : start + AT_ONCE])
            for outcome in await asyncio.gather(*puts, return_exceptions=True):
                if outcome is not None:
                    raise outcome
        await self.client.pin([cid for cid, _ in blocks])

    async def put(self, cid: Cid, data: bytes) -> None:
        """Put one block, not pinned yet. The daemon hashes it again: its CID must be ours."""
        codec = _CODECS.get(cid.codec)
        if codec is None:
            raise Rejected(f"a daemon is given raw, dag-cbor and dag-pb blocks, not codec {cid.codec:#x}")
        version = self._version or await self.connect()
        if version.wants_format:
            options = {"format": codec, "version": "1"}
        else:
            options = {"cid-codec": codec, "pin": "false", "allow-big-block": "true"}
        options["mhtype"] = "sha2-256"
        body = await self._ask("block/put", options, _ANSWER_BYTES_MAX, data)
        stored = _cid_in(body, "Key", "block/put")
        if stored != cid:
            self._version = None
            raise Unavailable(f"the daemon stored block {cid} as {stored}: it speaks another dialect")

    async def get(self, cid: Cid) -> bytes:
        """The unchecked bytes, from the daemon's repository or, within the limit, from its network."""
        version = self._version or await self.connect()
        if not version.is_js:  # js-ipfs has no way to look at home only
            try:
                return await self._look("block/get", cid, BLOCK_BYTES_MAX, {"offline": "true"})
            except NotFound:
                pass  # its network is asked
        return await self._look("block/get", cid, BLOCK_BYTES_MAX, {})

    async def has(self, cid: Cid) -> bool:
        """Whether the daemon's own repository holds the block; js-ipfs asks its network as well."""
        try:
            body = await self._look("block/stat", cid, _ANSWER_BYTES_MAX, {"offline": "true"})
        except NotFound:
            return False
        return _cid_in(body, "Key", "block/stat").digest == cid.digest

    async def remove(self, cid: Cid) -> None:
        """Unpin and delete. Idempotent; a block that somebody else has pinned stays."""
        await self.client.unpin([cid])
        body = await self._ask("block/rm", {"arg": str(cid), "force": "true"}, _ANSWER_BYTES_MAX)
        error = _field(body, "Error")
        if error and "pinned" not in error and not _ABSENT.search(error):
            raise Unavailable(f"the daemon did not delete {cid}: {clean(error)}")
        if body.strip() and not error:
            _cid_in(body, "Hash", "block/rm")

    async def takes_names(self) -> bool:
        """Whether it publishes IPNS records that somebody else signed."""
        return (self._version or await self.connect()).takes_records

    async def put_name(self, name: IpnsName, record: bytes) -> None:
        """Have the daemon publish a record that we signed: in its network, or, offline, in its repository.
        A daemon that holds a newer one refuses."""
        options = {"arg": f"/ipns/{name.text}", "allow-offline": "true"}
        await self._ask("routing/put", options, _EVENTS_BYTES_MAX, record, timeout_s=NAME_TIMEOUT_S)

    async def get_name(self, name: IpnsName) -> bytes | None:
        """The unchecked record that the daemon holds or finds for a name. None where it knows none, finds
        none in time (a search for a name that nobody has takes all of it), or is offline: not told then."""
        options = {"arg": f"/ipns/{name.text}", "timeout": duration(self._timeout_s)}
        try:
            body = await self._ask("routing/get", options, _EVENTS_BYTES_MAX)
        except (_Refused, TimedOut):
            return None
        return value_in(body)

    async def _look(self, call: str, cid: Cid, most: int, more: Mapping[str, str]) -> bytes:
        """A call about one block that may be absent."""
        options = {"arg": str(cid), "timeout": duration(self._timeout_s), **more}
        try:
            return await self._ask(call, options, most)
        except _Refused as exc:
            if _ABSENT.search(str(exc)):
                raise NotFound(f"the daemon has no block {cid}") from exc
            raise

    async def _ask(
        self,
        call: str,
        options: Mapping[str, str],
        most: int,
        file: bytes | None = None,
        *,
        timeout_s: float | None = None,
    ) -> bytes:
        """One call, which may be done twice. Raises ``TimedOut``, ``Unavailable``, ``Rejected`` (too large
        for this daemon)."""
        limit_s = timeout_s or self._timeout_s
        try:
            with http.translated(f"the daemon at {self._where}"):
                async with asyncio.timeout(limit_s):
                    try:
                        status, answer = await self.post(call, options, most, file)
                    except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError) as exc:
                        if isinstance(exc, aiohttp.ClientConnectorError):
                            raise
                        # A daemon may close a connection that it kept (js-ipfs: after 5 s) as we take it.
                        status, answer = await self.post(call, options, most, file)
        except TimedOut as exc:
            raise TimedOut(f"the daemon did not answer {call} at {self._where} within {limit_s:g} s") from exc
        except Unavailable:
            self._version = None  # it may come back as another one
            raise
        if status == 200:
            return answer
        if status == 413:
            raise Rejected("the block is larger than the daemon takes (js-ipfs: 1 MiB with its envelope)")
        if status in (400, 500):
            raise _Refused(f"the daemon refused {call}: {message_in(answer) or 'it does not say why'}")
        raise Unavailable(
            f"{self._where} answered {call} with status {status}: is ipfs.kubo_url the address of "
            "the RPC API?"
        )

    async def post(
        self, call: str, options: Mapping[str, str], most: int, file: bytes | None = None
    ) -> tuple[int, bytes]:
        """Status and body of one request, however long it takes; the body of an error is empty where it is
        longer than errors are. Raises what aiohttp raises; ``Unavailable`` for an answer over ``most``."""
        data = None if file is None else _form(file)
        async with await http.request(
            self._http, "POST", self._base + call, params=options, data=data
        ) as response:
            name = f"the daemon's {call}"
            if response.status == 200:
                return 200, await http.body(name, response, most, refuse=Unavailable)
            with contextlib.suppress(Unavailable):
                return response.status, await http.body(name, response, ERROR_BYTES_MAX, refuse=Unavailable)
            return response.status, b""

    @property
    def _where(self) -> str:
        return urlsplit(self._base).netloc.rpartition("@")[2]


class _Refused(Unavailable):
    """The daemon answered with an error of its own."""


class _DaemonBlocks:
    """The unchecked ``BlockStore``; ``KuboBlockStore.blocks`` is this one inside ``VerifyingBlockStore``."""

    def __init__(self, daemon: KuboBlockStore) -> None:
        self._daemon = daemon
        self._closed = False

    async def put(self, cid: Cid, data: bytes) -> None:
        await self._open.keep([(cid, data)])

    async def get(self, cid: Cid) -> bytes:
        return await self._open.get(cid)

    async def has(self, cid: Cid) -> bool:
        return await self._open.has(cid)

    async def delete(self, cid: Cid) -> None:
        await self._open.remove(cid)

    async def close(self) -> None:
        """The connections belong to whoever built the session."""
        self._closed = True

    @property
    def _open(self) -> KuboBlockStore:
        if self._closed:
            raise Unavailable("the daemon's block store is closed")
        return self._daemon


def _field(body: bytes, name: str) -> str:
    """A text of the first JSON value in ``body`` (an answer may be lines of them); empty where it is none."""
    try:
        answer = orjson.loads(body.split(b"\n", 1)[0])
    except orjson.JSONDecodeError:
        return ""
    value = answer.get(name) if isinstance(answer, dict) else None
    return value if isinstance(value, str) else ""


def _cid_in(body: bytes, name: str, call: str) -> Cid:
    """The CID in a daemon's answer, whatever base it writes it in."""
    try:
        return Cid.parse(_field(body, name))
    except Rejected as exc:
        raise Unavailable(f"the daemon's answer to {call} names no CID") from exc


def value_in(body: bytes) -> bytes | None:
    """The record in the events that a daemon sent of its search, one JSON object a line."""
    for line in body.splitlines():
        try:
            event = orjson.loads(line)
            if isinstance(event, dict) and event.get("Type") == _EVENT_VALUE and event.get("Extra"):
                return base64.b64decode(event["Extra"], validate=True)[: RECORD_BYTES_MAX + 1]
        except (orjson.JSONDecodeError, binascii.Error, TypeError, ValueError) as exc:
            raise Unavailable("the daemon's answer to routing/get is no record") from exc
    return None


def _form(data: bytes) -> aiohttp.MultipartWriter:
    """A body with one file."""
    form = aiohttp.MultipartWriter("form-data")
    part = form.append(io.BytesIO(data), {"Content-Type": "application/octet-stream"})
    part.set_content_disposition("form-data", name="data", filename="block")
    return form


def message_in(body: bytes) -> str:
    """The text of a daemon's error, which most of them send as JSON."""
    return clean(_field(body, "Message") or body.decode("utf-8", "replace"))


# --- whether it lives -----------------------------------------------------------------------------


async def look(client: KuboClient) -> str:
    """The daemon's version, and its peers where it tells them quickly. Raises ``Unavailable``."""
    version = await client.version(VERSION_TIMEOUT_S)
    try:
        peers = await client.peers(PEERS_TIMEOUT_S)
    except NodeError:
        return str(version)
    return f"{version}, {peers} {'peer' if peers == 1 else 'peers'}"


async def probe(url: str, clock: Clock) -> Check:
    """Ask once, for a look at the engines without a running node. Never raises."""
    if not url:
        return NONE
    try:
        return Check(CHECK, "pass", "answers", observed=await look(KuboClient(url, clock, timeout_s=1.0)))
    except NodeError as exc:
        return Check(
            CHECK, "warn", f"the configured daemon does not answer: {exc}; blocks are kept here only"
        )
