"""One HTTP request to one address, with bounds on everything that comes back.

Promises: only that address is asked and no redirect is followed; a body ends at the bytes that the caller
allows, counted when it is unpacked; what aiohttp raises leaves as ours, with the name of who was asked. Time,
retries and the meaning of an answer are the caller's.
"""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from email.utils import parsedate_to_datetime
from typing import Any, TypeAlias

import aiohttp

from node.core.clock import Clock
from node.core.errors import NodeError, NotFound, RateLimited, Rejected, TimedOut, Unavailable

Http: TypeAlias = aiohttp.ClientSession  # noqa: TID251 - only its name: the session is built in node/app/storage.py

WAIT_UNSTATED_S = 60.0
"""Wait after a 429 that does not say how long."""
WAIT_MAX_S = 3_600.0
CHUNK_BYTES = 64 * 2**10


class Unreached(Unavailable):
    """No connection was made, so nothing of the call left this machine."""


async def request(
    http: Http,
    method: str,
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    params: Mapping[str, str] | None = None,
    data: Any = None,
    connect_s: float | None = None,
    server_name: str | None = None,
    peer: str | None = None,
) -> aiohttp.ClientResponse:
    """The head of an answer; a context manager that ends the exchange. Use it inside ``translated``, which
    says what is raised. ``server_name``: the host that a certificate must name, where ``url`` does not.
    ``peer``: the peer that is asked, empty for one that the operator has not named; None: it is no peer."""
    return await http.request(
        method,
        url,
        params=params,
        data=data,
        headers={"Accept-Encoding": "identity", **(headers or {})},
        allow_redirects=False,
        auto_decompress=False,
        timeout=aiohttp.ClientTimeout(total=None, connect=connect_s),
        server_hostname=server_name,
        trace_request_ctx=peer,
    )


@contextmanager
def translated(name: str) -> Iterator[None]:
    """What an exchange with ``name`` raises becomes ``Unreached``, ``TimedOut`` or ``Unavailable``."""
    try:
        yield
    except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as exc:
        raise Unreached(f"{name} could not be reached ({type(exc).__name__})") from exc
    except TimeoutError as exc:
        raise TimedOut(f"{name} did not answer in time") from exc
    except (aiohttp.ClientError, OSError, ValueError) as exc:
        raise Unavailable(f"{name} broke off ({type(exc).__name__})") from exc


async def body(
    name: str,
    response: aiohttp.ClientResponse,
    bytes_max: int,
    *,
    unpacks: bool = False,
    refuse: type[NodeError] = Rejected,
) -> bytes:
    """The whole body, unpacked where ``unpacks``. Raises ``refuse`` for one that is longer, damaged or packed
    in a way that was not asked for."""
    coding = check_size(name, response, bytes_max, unpacks=unpacks, refuse=refuse)
    inflate = zlib.decompressobj(47) if coding else None
    found = bytearray()
    async for chunk in response.content.iter_chunked(CHUNK_BYTES):
        try:
            found += chunk if inflate is None else inflate.decompress(chunk, bytes_max + 1 - len(found))
        except zlib.error as exc:
            raise refuse(f"{name} answered with a damaged body") from exc
        if len(found) > bytes_max:
            raise too_long(name, bytes_max, refuse)
    return bytes(found)


def check_size(
    name: str,
    response: aiohttp.ClientResponse,
    bytes_max: int,
    *,
    unpacks: bool = False,
    refuse: type[NodeError] = Rejected,
) -> str:
    """How the body is packed, as far as its head says; empty for not at all. Raises ``refuse``."""
    coding = response.headers.get("Content-Encoding", "").strip().lower().removeprefix("identity")
    if coding and not (unpacks and coding in ("gzip", "deflate")):
        raise refuse(f"{name} answered with a compressed body ({coding[:20]}), which was not asked for")
    if response.content_length is not None and response.content_length > bytes_max:
        raise too_long(name, bytes_max, refuse)
    return coding


def too_long(name: str, bytes_max: int, refuse: type[NodeError] = Rejected) -> NodeError:
    """What is raised for a body over ``bytes_max``."""
    return refuse(f"{name} answered with more than {bytes_max} bytes")


def failure(
    name: str,
    status: int,
    retry_after: str | None,
    clock: Clock,
    *,
    missing: tuple[int, ...] = (404, 410),
    unstated_s: float = WAIT_UNSTATED_S,
) -> NodeError:
    """What a status that is no success means. ``missing``: those of what is not there."""
    if status in missing:
        return NotFound(f"{name} does not have it")
    if status == 429:
        stated = wait_s(retry_after, clock)
        return RateLimited(
            f"the limit of calls to {name} is reached",
            retry_after_s=min(unstated_s if stated is None else stated, WAIT_MAX_S),
        )
    if 300 <= status < 400:
        return Rejected(f"{name} redirects elsewhere, which is not followed; name that address itself")
    if status == 408 or status >= 500:
        return Unavailable(f"{name} failed (status {status})")
    return Rejected(f"{name} answered with status {status}")


def wait_s(retry_after: str | None, clock: Clock) -> float | None:
    """Retry-After in seconds, from a number or an HTTP date; None when absent or unreadable."""
    if not retry_after:
        return None
    text = retry_after.strip()[:64]
    if re.fullmatch(r"\d{1,9}(?:\.\d{1,6})?", text):
        return float(text)
    try:
        wait = (parsedate_to_datetime(text) - clock.now()).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return None
    return max(0.0, wait) if math.isfinite(wait) else None
