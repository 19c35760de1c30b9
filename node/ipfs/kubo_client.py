"""An IPFS daemon's rare calls, through ``ipfshttpclient``: version, id, pins, peers, keys and names.

The library blocks, follows redirects, reads the environment's proxies, reads bodies of any length, starts its
time limit anew with every byte, and wants versions from before 2021. So:
1. a call runs in a daemon thread of its own with a client of its own, one at a time; when its time is up its
   connection is cut (``Line``), so that an answer that never ends holds up neither later calls nor the stop;
2. the client's HTTP is bounded (``kubo_library``): no redirects, no proxies, so many bytes, so many seconds;
3. its client is built without its version check; ``Version`` is our own: reported, asked for the dialect,
   refused only where we know that it cannot work;
4. no exception of the library leaves this module.

It knows nothing of records or of what is worth pinning.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import re
import socket
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from node.core.clock import Clock
from node.core.errors import NodeError, Rejected, TimedOut, Unavailable
from node.core.ipld.cid import Cid
from node.core.ipld.ipns import IpnsName

T = TypeVar("T")

ERROR_BYTES_MAX = 16 * 2**10
MESSAGE_CHARS_MAX = 300

OLDEST = (0, 4, 23)
"""The client library speaks to nothing older."""
CID_CODEC_FROM = (0, 13, 0)
"""From this Kubo on ``block/put`` wants ``cid-codec``; before, and in js-ipfs, ``format`` and ``version``."""
RECORDS_FROM = (0, 24, 0)
"""From this Kubo on ``routing/put`` takes any IPNS name, and offline too (read in its change logs)."""
NAME_TIMEOUT_S = 90.0
"""A daemon in the public network asks many peers before it has published a name."""

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
        except Refused:
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
            except Refused as exc:
                if _NOT_PINNED not in str(exc):
                    raise
            else:
                return True
        return False

    async def _each(
        self, what: str, cids: Sequence[Cid], act: Callable[[Any, Sequence[str]], object]
    ) -> None:
        """``act`` for all at once; one by one where the daemon refuses the lot, as it does for one that is
        (not) pinned already. A refusal that leaves the pin as it was wanted is none."""
        names = [str(cid) for cid in cids]
        if not names:
            return
        try:
            await self._call(lambda client: act(client, names))
        except Refused:
            for name in names:
                await self._one(what, name, act)

    async def _one(self, what: str, name: str, act: Callable[[Any, Sequence[str]], object]) -> None:
        try:
            await self._call(lambda client: act(client, [name]))
        except Refused:
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

    async def _call(self, work: Callable[[Any], T], timeout_s: float | None = None) -> T:
        """``work`` in a thread, after the calls that came earlier. When it is cancelled or out of time the
        thread ends too: its connection is cut."""
        limit_s = self._timeout_s if timeout_s is None else timeout_s
        line = Line()
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
        assert isinstance(said, Value)
        value: T = said.value
        return value

    def _start(
        self, work: Callable[[Any], object], limit_s: float, line: Line
    ) -> asyncio.Future[Value | NodeError]:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Value | NodeError] = loop.create_future()

        def settle(said: Value | NodeError) -> None:
            if not answer.done():
                answer.set_result(said)

        def run() -> None:
            said: Value | NodeError = Unavailable(f"the client of the daemon at {self.url} failed")
            try:
                # The library takes 15 MB and a quarter of a second: loaded where there is a daemon.
                from node.ipfs import kubo_library

                said = kubo_library.blocking(self.url, self._clock, work, limit_s, line)
            finally:
                with contextlib.suppress(RuntimeError):  # the loop is gone, and with it whoever asked
                    loop.call_soon_threadsafe(settle, said)

        threading.Thread(target=run, name="ipfs-daemon", daemon=True).start()
        return answer


class Refused(Unavailable):
    """The daemon answered with an error of its own."""


@dataclass(frozen=True, slots=True)
class Value:
    value: Any


def _list_pin(name: str, kind: str, client: Any) -> None:
    client.pin.ls(name, type=kind)


def _publish(path: str, key: str, lifetime: str, ttl: str, client: Any) -> dict[str, Any]:
    keys = client.key.list().as_json()["Keys"]
    if not any(known["Name"] == key for known in keys):
        client.key.gen(key, type="ed25519")
    published = client.name.publish(
        path, key=key, resolve=False, lifetime=lifetime, ttl=ttl, allow_offline=True
    )
    return dict(published.as_json())


def duration(seconds: float) -> str:
    """A daemon's own limit for a call: a little less than ours, so that its reason arrives."""
    return f"{max(1, int(seconds * 800))}ms"


def clean(message: object) -> str:
    """What a daemon said, as one short printable line."""
    text = str(message)[:MESSAGE_CHARS_MAX]
    return "".join(char if char.isprintable() else " " for char in text).strip()


class Line:
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
