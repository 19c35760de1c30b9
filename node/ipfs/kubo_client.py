"""An IPFS daemon's rare calls, through ``ipfshttpclient``: version, id, pins, peers, keys and names.

The library blocks, follows redirects, reads the environment's proxies, reads bodies of any length, starts its
time limit anew with every byte, and wants versions from before 2021. So:
1. a call runs in a daemon thread of its own with a client of its own, one at a time; when its time is up its
   connection is cut (``_Line``), so that an answer that never ends holds up neither later calls nor the stop;
2. the client's HTTP is bounded (``_BoundedHttp``): no redirects, no proxies, so many bytes, so many seconds;
3. ``Client`` is built without the library's version check; ``Version`` is our own: reported, asked for the
   dialect, refused only where we know that it cannot work;
4. no exception of the library leaves this module.

It knows nothing of records or of what is worth pinning.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import http.client
import re
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlsplit

import ipfshttpclient
import orjson
import requests
import urllib3.exceptions
from ipfshttpclient import exceptions as theirs
from ipfshttpclient.http_requests import ClientSync

from node.core.clock import Clock
from node.core.errors import NodeError, Rejected, TimedOut, Unavailable
from node.core.ipld.cid import Cid
from node.core.ipld.ipns import IpnsName

T = TypeVar("T")

BODY_BYTES_MAX = 4 * 2**20
"""The longest list of peers of a busy daemon stays below."""
ERROR_BYTES_MAX = 16 * 2**10
MESSAGE_CHARS_MAX = 300
_CHUNK_BYTES = 64 * 2**10

OLDEST = (0, 4, 23)
"""The client library speaks to nothing older."""
CID_CODEC_FROM = (0, 13, 0)
"""From this Kubo on ``block/put`` wants ``cid-codec``; before, and in js-ipfs, ``format`` and ``version``."""
RECORDS_FROM = (0, 24, 0)
"""From this Kubo on ``routing/put`` takes any IPNS name, and offline too (read in its change logs)."""
NAME_TIMEOUT_S = 90.0
"""A daemon in the public network asks many peers before it has published a name."""

_WITH_MESSAGE = (400, 500)
"""The statuses under which both kinds of daemon say in JSON what they refuse, and why."""
_NOT_PINNED = "not pinned"
"""In the error of ``pin/ls`` for a block that is not, in either dialect."""
_NUMBERS = re.compile(r"(\d{1,4})\.(\d{1,4})\.(\d{1,4})")
_PEER_ID = re.compile(r"[A-Za-z0-9]{8,128}\Z")


@dataclass(frozen=True, slots=True)
class Version:
    """What a daemon says it is. A key ``ipfs-core`` in its answer marks js-ipfs; anything else that speaks
    this protocol is taken to speak it as Kubo does."""

    text: str
    is_js: bool

    @property
    def numbers(self) -> tuple[int, ...]:
        found = _NUMBERS.match(self.text)
        return tuple(map(int, found.groups())) if found else ()

    @property
    def wants_format(self) -> bool:
        """Whether ``block/put`` is spoken in the older dialect."""
        return self.is_js or self.numbers < CID_CODEC_FROM

    @property
    def takes_records(self) -> bool:
        """Whether it publishes IPNS records that somebody else signed."""
        return not self.is_js and self.numbers >= RECORDS_FROM

    def __str__(self) -> str:
        return f"{'js-ipfs' if self.is_js else 'Kubo'} {self.text}"


def read_version(answer: object) -> Version:
    """The answer to ``version``. Raises ``Unavailable`` for one that is none, or one that cannot work."""
    said = answer if isinstance(answer, dict) else {}
    text = said.get("Version")
    if not isinstance(text, str) or not _NUMBERS.match(text):
        raise Unavailable("what answers there does not say which version of IPFS it is")
    version = Version(clean(text[:64]), "ipfs-core" in said)
    if not version.is_js and version.numbers < OLDEST:
        raise Unavailable(
            f"the daemon is version {version.text}: older than {'.'.join(map(str, OLDEST))} cannot be spoken "
            "to; update it"
        )
    return version


def multiaddr_of(url: str) -> str:
    """``http://127.0.0.1:5001`` as the multiaddr text that the client library takes."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    named = "ip4" if host.replace(".", "").isdigit() else "dns"
    family = "ip6" if ":" in host else named
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return f"/{family}/{host}/tcp/{port}/{parts.scheme}"


class KuboClient:
    """The daemon at ``url``. Every call raises ``Unavailable`` (``TimedOut``) and nothing else, and ends
    within its limit whatever the daemon does."""

    def __init__(self, url: str, clock: Clock, *, timeout_s: float) -> None:
        self.url = url
        self._clock = clock
        self._timeout_s = timeout_s
        self._running: asyncio.Future[Any] | None = None

    async def version(self, timeout_s: float | None = None) -> Version:
        """Ask what it is; logged by whoever connects."""
        return read_version(await self._call(lambda client: dict(client.version().as_json()), timeout_s))

    async def repo_id(self) -> str:
        """The peer id: another one means another repository."""
        answer = await self._call(lambda client: dict(client.id().as_json()))
        name = answer.get("ID")
        if not isinstance(name, str) or not _PEER_ID.match(name):
            raise Unavailable(f"the daemon at {self.url} does not say its id")
        return name

    async def peers(self, timeout_s: float | None = None) -> int:
        """How many peers it is connected with."""
        answer = await self._call(lambda client: dict(client.swarm.peers().as_json()), timeout_s)
        peers = answer.get("Peers")
        return len(peers) if isinstance(peers, list) else 0

    async def pin(self, cids: Sequence[Cid]) -> None:
        """Pin the blocks, each by itself: what a block links to is never searched for. Idempotent."""
        await self._each("pin/add", cids, lambda client, names: client.pin.add(*names, **self._direct()))

    async def unpin(self, cids: Sequence[Cid]) -> None:
        """Take back our pins. Idempotent; a pin that somebody made recursively is theirs and stays."""
        await self._each("pin/rm", cids, lambda client, names: client.pin.rm(*names, **self._direct()))

    async def pinned(self, cids: Sequence[Cid]) -> bool:
        """Whether all of them are pinned directly or recursively."""
        names = [str(cid) for cid in cids]
        try:
            await self._call(lambda client: client.pin.ls(*names, type="direct"))
        except _Refused:
            return all([await self._pinned_as(name, "direct", "recursive") for name in names])
        return True

    async def publish_name(self, path: str, *, key: str, lifetime: str, ttl: str) -> IpnsName:
        """Have the daemon sign and publish a record that points to ``path``, by its own key of that name,
        which is made where there is none. The IPNS name of that key."""
        answer = await self._call(functools.partial(_publish, path, key, lifetime, ttl))
        name, value = answer.get("Name"), answer.get("Value")
        if not isinstance(name, str) or value != path:
            raise Unavailable(f"the daemon at {self.url} does not say that it has published {path}")
        try:
            return IpnsName.parse(name)
        except Rejected as exc:
            raise Unavailable(f"the daemon at {self.url} has published under what is no name") from exc

    async def _pinned_as(self, name: str, *kinds: str) -> bool:
        for kind in kinds:
            try:
                await self._call(functools.partial(_list_pin, name, kind))
            except _Refused as exc:
                if _NOT_PINNED not in str(exc):
                    raise
            else:
                return True
        return False

    async def _each(
        self, what: str, cids: Sequence[Cid], act: Callable[[ipfshttpclient.Client, Sequence[str]], object]
    ) -> None:
        """``act`` for all at once; one by one where the daemon refuses the lot, as it does for one that is
        (not) pinned already. A refusal that leaves the pin as it was wanted is none."""
        names = [str(cid) for cid in cids]
        if not names:
            return
        try:
            await self._call(lambda client: act(client, names))
        except _Refused:
            for name in names:
                await self._one(what, name, act)

    async def _one(
        self, what: str, name: str, act: Callable[[ipfshttpclient.Client, Sequence[str]], object]
    ) -> None:
        try:
            await self._call(lambda client: act(client, [name]))
        except _Refused:
            done = (
                await self._pinned_as(name, "direct", "recursive")
                if what == "pin/add"
                else not await self._pinned_as(name, "direct")
            )
            if not done:
                raise

    def _direct(self) -> dict[str, Any]:
        return {"recursive": False, "opts": {"timeout": duration(self._timeout_s)}}

    # --- the one thread ---------------------------------------------------------------------------

    async def _call(self, work: Callable[[ipfshttpclient.Client], T], timeout_s: float | None = None) -> T:
        """``work`` in a thread, after the calls that came earlier. When it is cancelled or out of time the
        thread ends too: its connection is cut."""
        limit_s = self._timeout_s if timeout_s is None else timeout_s
        line = _Line()
        try:
            async with asyncio.timeout(limit_s):
                while self._running is not None and not self._running.done():
                    await asyncio.wait({self._running})
                self._running = running = self._start(work, limit_s, line)
                try:
                    said = await asyncio.shield(running)
                finally:
                    if not running.done():
                        line.cut()
        except TimeoutError as exc:
            raise TimedOut(f"the daemon at {self.url} did not answer within {limit_s:g} s") from exc
        if isinstance(said, NodeError):
            raise said
        assert isinstance(said, _Value)
        value: T = said.value
        return value

    def _start(
        self, work: Callable[[ipfshttpclient.Client], object], limit_s: float, line: _Line
    ) -> asyncio.Future[_Value | NodeError]:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[_Value | NodeError] = loop.create_future()

        def settle(said: _Value | NodeError) -> None:
            if not answer.done():
                answer.set_result(said)

        def run() -> None:
            said: _Value | NodeError = Unavailable(f"the client of the daemon at {self.url} failed")
            try:
                said = self._blocking(work, limit_s, line)
            finally:
                with contextlib.suppress(RuntimeError):  # the loop is gone, and with it whoever asked
                    loop.call_soon_threadsafe(settle, said)

        threading.Thread(target=run, name="ipfs-daemon", daemon=True).start()
        return answer

    def _blocking(
        self, work: Callable[[ipfshttpclient.Client], object], limit_s: float, line: _Line
    ) -> _Value | NodeError:
        """Run in the thread. Whatever the library raises comes back as an error of ours."""
        try:
            with _Client(self.url, self._clock, limit_s, line) as client:
                return _Value(work(client))
        except NodeError as exc:
            return exc
        except (theirs.TimeoutError, requests.Timeout) as exc:
            return _because(TimedOut(f"the daemon at {self.url} did not answer within {limit_s:g} s"), exc)
        except theirs.ErrorResponse as exc:
            return _because(_Refused(f"the daemon at {self.url} says: {exc}"), exc)
        except _THEIRS as exc:
            return _because(
                Unavailable(f"the daemon at {self.url} does not answer ({type(exc).__name__})"), exc
            )


_THEIRS = (
    theirs.Error,
    requests.RequestException,
    urllib3.exceptions.HTTPError,
    http.client.HTTPException,
    OSError,
    LookupError,
    TypeError,
    ValueError,
    AttributeError,  # JSON of another shape than the library expects
    AssertionError,  # an answer that is empty, or more than one
    RecursionError,  # JSON nested without end
)


class _Refused(Unavailable):
    """The daemon answered with an error of its own."""


@dataclass(frozen=True, slots=True)
class _Value:
    value: Any


def _list_pin(name: str, kind: str, client: ipfshttpclient.Client) -> None:
    client.pin.ls(name, type=kind)


def _publish(path: str, key: str, lifetime: str, ttl: str, client: ipfshttpclient.Client) -> dict[str, Any]:
    keys = client.key.list().as_json()["Keys"]
    if not any(known["Name"] == key for known in keys):
        client.key.gen(key, type="ed25519")
    published = client.name.publish(
        path, key=key, resolve=False, lifetime=lifetime, ttl=ttl, allow_offline=True
    )
    return dict(published.as_json())


def _because(error: NodeError, cause: BaseException) -> NodeError:
    error.__cause__ = cause
    return error


def duration(seconds: float) -> str:
    """A daemon's own limit for a call: a little less than ours, so that its reason arrives."""
    return f"{max(1, int(seconds * 800))}ms"


def clean(message: object) -> str:
    """What a daemon said, as one short printable line."""
    text = str(message)[:MESSAGE_CHARS_MAX]
    return "".join(char if char.isprintable() else " " for char in text).strip()


class _Client(ipfshttpclient.Client):  # type: ignore[misc] # the library is not typed
    """The library's client over our HTTP."""

    def __init__(self, url: str, clock: Clock, limit_s: float, line: _Line) -> None:
        address = multiaddr_of(url)
        super().__init__(address, timeout=limit_s)
        base = f"{urlsplit(url).path.strip('/')}/api/v0".lstrip("/")
        self._client = _BoundedHttp(address, base, timeout=limit_s)
        self._client.ends_at = clock.monotonic() + limit_s
        self._client.clock = clock
        self._client.line = line


class _Line:
    """The connections of one call, for whoever gives the call up: a socket's own time limit begins anew with
    every byte that comes."""

    def __init__(self) -> None:
        self._sockets: list[socket.socket] = []
        self._is_cut = False

    def opened(self, connection: socket.socket) -> None:
        """Called by the thread. What is opened after the cut is cut at once."""
        self._sockets.append(connection)
        if self._is_cut:
            self.cut()

    def cut(self) -> None:
        """From any thread: reading ends now."""
        self._is_cut = True
        for connection in list(self._sockets):
            with contextlib.suppress(OSError):  # closed already
                connection.shutdown(socket.SHUT_RDWR)


def _on_line(pool: Any, line: _Line) -> Any:
    """The class of connection pools ``pool``, whose connections are told to ``line``."""

    class Connection(pool.ConnectionCls):  # type: ignore[misc] # the library is not typed
        def connect(self) -> None:
            super().connect()
            line.opened(self.sock)

    return type("Pool", (pool,), {"ConnectionCls": Connection})


class _BoundedHttp(ClientSync):  # type: ignore[misc] # the library is not typed
    """The library's HTTP with limits on where it goes, how much it reads and how long."""

    ends_at: float
    clock: Clock
    line: _Line

    def _make_session(self) -> requests.Session:
        session: requests.Session = super()._make_session()
        session.trust_env = False
        session.headers["Accept-Encoding"] = "identity"
        for adapter in set(session.adapters.values()):
            pools = adapter.poolmanager.pool_classes_by_scheme  # type: ignore[attr-defined] # the library's own
            pools.update({scheme: _on_line(pool, self.line) for scheme, pool in pools.items()})
        # The documented hook of requests for "where does this redirect lead": nowhere.
        session.get_redirect_target = lambda resp: None  # type: ignore[method-assign] # a hook
        return session

    def _do_raise_for_status(self, response: requests.Response) -> None:
        if response.status_code == 200 and "Content-Encoding" not in response.headers:
            return
        if response.status_code in _WITH_MESSAGE:
            message = _message(b"".join(self._bounded(response, ERROR_BYTES_MAX)))
            if message is not None:
                raise theirs.ErrorResponse(message, None)
        raise theirs.ProtocolError(f"status {response.status_code}")

    def _request(self, *args: Any, **more: Any) -> Any:
        more["chunk_size"] = _CHUNK_BYTES
        closables, chunks = super()._request(*args, **more)
        return closables, self._counted(chunks, BODY_BYTES_MAX)

    def _bounded(self, response: requests.Response, most: int) -> Iterator[bytes]:
        return self._counted(response.iter_content(chunk_size=_CHUNK_BYTES), most)

    def _counted(self, chunks: Iterator[bytes], most: int) -> Iterator[bytes]:
        for chunk in chunks:
            most -= len(chunk)
            if most < 0:
                raise theirs.ProtocolError("the answer is too long")
            if self.clock.monotonic() > self.ends_at:
                raise theirs.TimeoutError("the answer does not end")
            yield chunk


def _message(body: bytes) -> str | None:
    """The text of an error as daemons send it, or None."""
    try:
        answer = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    message = answer.get("Message") if isinstance(answer, dict) else None
    return clean(message) if isinstance(message, str) else None
