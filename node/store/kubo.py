"""A configured IPFS daemon, asked through ``ipfshttpclient``. So far only whether it lives.

The library checks the daemon's version against a range that ended in 2021, so ``Client`` is built
without that check and the version is only reported. It blocks, and its time limit starts anew with every
byte: a probe runs in a daemon thread of its own, one at a time, so that a daemon which never finishes its
answer costs one thread and holds up neither the other threads nor the stop.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from urllib.parse import urlsplit

import ipfshttpclient
from ipfshttpclient.exceptions import Error as IpfsError

from node.model import Check

PROBE_TIMEOUT_S = 1.5


def multiaddr_of(url: str) -> str:
    """``http://127.0.0.1:5001`` as the multiaddr text that the client library takes."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    named = "ip4" if host.replace(".", "").isdigit() else "dns"
    family = "ip6" if ":" in host else named
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return f"/{family}/{host}/tcp/{port}/{parts.scheme}"


def _version(url: str) -> str:
    with ipfshttpclient.Client(multiaddr_of(url), timeout=PROBE_TIMEOUT_S) as client:
        return str(client.version()["Version"])


class Daemon:
    """The daemon at ``url``; an empty one means that none is configured."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._asking: asyncio.Future[str | Exception] | None = None

    async def probe(self) -> Check:
        """Whether the daemon answers and which version it says it is. Never raises."""
        if not self._url:
            return Check("ipfs:daemon", "pass", "none configured; blocks are kept and served by this node")
        if self._asking is None or self._asking.done():
            self._asking = self._ask()
        try:
            said = await asyncio.wait_for(asyncio.shield(self._asking), PROBE_TIMEOUT_S)
        except TimeoutError as exc:
            said = exc
        if isinstance(said, str):
            return Check("ipfs:daemon", "pass", "answers", observed=said)
        return Check(
            "ipfs:daemon",
            "warn",
            f"the configured daemon does not answer ({type(said).__name__}); blocks are kept here only",
        )

    def _ask(self) -> asyncio.Future[str | Exception]:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[str | Exception] = loop.create_future()

        def settle(said: str | Exception) -> None:
            if not answer.done():
                answer.set_result(said)

        def work() -> None:
            said: str | Exception
            try:
                said = _version(self._url)
            except (IpfsError, OSError, KeyError, TypeError, ValueError) as exc:
                said = exc
            with contextlib.suppress(RuntimeError):  # the loop is gone, and with it whoever asked
                loop.call_soon_threadsafe(settle, said)

        threading.Thread(target=work, name="ipfs-probe", daemon=True).start()
        return answer


async def probe(url: str) -> Check:
    """Ask once, for a look at the engines without a running node. Never raises."""
    return await Daemon(url).probe()
