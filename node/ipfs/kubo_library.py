"""The library ``ipfshttpclient`` in one thread's call, bounded; imported where there is a daemon.

Promises: no exception of the library leaves it, no redirect is followed, no proxy asked; so many bytes, so
many seconds. It must not know what the calls are for.
"""

from __future__ import annotations

import http.client
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import ipfshttpclient
import orjson
import requests
import urllib3.exceptions
from ipfshttpclient import exceptions as theirs
from ipfshttpclient.http_requests import ClientSync

from node.core.clock import Clock
from node.core.errors import NodeError, TimedOut, Unavailable
from node.ipfs.kubo_client import ERROR_BYTES_MAX, Line, Refused, Value, clean

BODY_BYTES_MAX = 4 * 2**20
"""The longest list of peers of a busy daemon stays below."""
_CHUNK_BYTES = 64 * 2**10
_WITH_MESSAGE = (400, 500)
"""The statuses under which both kinds of daemon say in JSON what they refuse, and why."""


def multiaddr_of(url: str) -> str:
    """``http://127.0.0.1:5001`` as the multiaddr text that the client library takes."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    named = "ip4" if host.replace(".", "").isdigit() else "dns"
    family = "ip6" if ":" in host else named
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return f"/{family}/{host}/tcp/{port}/{parts.scheme}"


def blocking(
    url: str, clock: Clock, work: Callable[[ipfshttpclient.Client], object], limit_s: float, line: Line
) -> Value | NodeError:
    """Run in the thread. Whatever the library raises comes back as an error of ours."""
    try:
        with _Client(url, clock, limit_s, line) as client:
            return Value(work(client))
    except NodeError as exc:
        return exc
    except (theirs.TimeoutError, requests.Timeout) as exc:
        return _because(TimedOut(f"the daemon at {url} did not answer within {limit_s:g} s"), exc)
    except theirs.ErrorResponse as exc:
        return _because(Refused(f"the daemon at {url} says: {exc}"), exc)
    except _THEIRS as exc:
        return _because(Unavailable(f"the daemon at {url} does not answer ({type(exc).__name__})"), exc)


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


def _because(error: NodeError, cause: BaseException) -> NodeError:
    error.__cause__ = cause
    return error


class _Client(ipfshttpclient.Client):  # type: ignore[misc] # the library is not typed
    """The library's client over our HTTP."""

    def __init__(self, url: str, clock: Clock, limit_s: float, line: Line) -> None:
        address = multiaddr_of(url)
        super().__init__(address, timeout=limit_s)
        base = f"{urlsplit(url).path.strip('/')}/api/v0".lstrip("/")
        self._client = _BoundedHttp(address, base, timeout=limit_s)
        self._client.ends_at = clock.monotonic() + limit_s
        self._client.clock = clock
        self._client.line = line


def _on_line(pool: Any, line: Line) -> Any:
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
    line: Line

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
            chunks = response.iter_content(chunk_size=_CHUNK_BYTES)
            message = _message(b"".join(self._counted(chunks, ERROR_BYTES_MAX)))
            if message is not None:
                raise theirs.ErrorResponse(message, None)
        raise theirs.ProtocolError(f"status {response.status_code}")

    def _request(self, *args: Any, **more: Any) -> Any:
        more["chunk_size"] = _CHUNK_BYTES
        closables, chunks = super()._request(*args, **more)
        return closables, self._counted(chunks, BODY_BYTES_MAX)

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
