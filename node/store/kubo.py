"""A configured IPFS daemon, asked through ``ipfshttpclient``. So far only whether it lives.

The library checks the daemon's version against a range that ended in 2021, so ``Client`` is built
without that check and the version is only reported. It blocks: every call runs in a thread.
"""

from __future__ import annotations

import asyncio
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


async def probe(url: str) -> Check:
    """Whether the daemon answers and which version it says it is. Never raises."""
    if not url:
        return Check("ipfs:daemon", "pass", "none configured; blocks are kept and served by this node")
    try:
        version = await asyncio.wait_for(asyncio.to_thread(_version, url), PROBE_TIMEOUT_S + 0.3)
    except (IpfsError, OSError, TimeoutError, KeyError, ValueError) as exc:
        return Check(
            "ipfs:daemon",
            "warn",
            f"the configured daemon does not answer ({type(exc).__name__}); blocks are kept here only",
        )
    return Check("ipfs:daemon", "pass", "answers", observed=version)
