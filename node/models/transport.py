"""HTTP to an engine as this node wants it, whatever client sits on top.

Promises: bodies are bounded and nothing is compressed; a request carries no header but those a request to a
language model needs, and no key but the one handed in, so that nothing of the environment (keys, proxies,
organisation names) reaches whatever address is configured; redirects are not followed. It must not know a
vendor's protocol."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

import httpx

from node.core.errors import BrokeOff, NodeError, Rejected, TimedOut, Unavailable

RESPONSE_BYTES_MAX = 8 * 2**20
"""200 tokens streamed are about 40 KiB, a list of a thousand models about 500 KiB, 16 vectors of 4,096
numbers about 1 MiB."""
READ_TIMEOUT_S = 600.0
"""A backstop only; every call has its own, shorter deadline on the node's clock."""
MESSAGE_CHARS_MAX = 160

_SENT = (
    "accept", "connection", "content-length", "content-type", "host", "transfer-encoding", "user-agent",
)  # fmt: skip


def words_of(said: object) -> str:
    """What an engine said of its failure, as one short line that can be shown and logged; empty for what is
    no text or a web page."""
    text = said if isinstance(said, str) else ""
    if text.lstrip()[:1] == "<":
        return ""
    # Longer texts are cut before they are looked at, so that the work is bounded.
    shown = "".join(
        char if char.isprintable() else " " if char.isspace() else ""
        for char in text[: 8 * MESSAGE_CHARS_MAX]
    )
    flat = " ".join(shown.split())
    return flat if len(flat) <= MESSAGE_CHARS_MAX else f"{flat[: MESSAGE_CHARS_MAX - 1].rstrip()}…"


@contextmanager
def translated(spoken: str, unreachable: Callable[[Exception], str]) -> Iterator[None]:
    """Foreign exceptions of a call to the engine as ours. ``unreachable`` says what to do about one that
    cannot be reached."""
    try:
        yield
    except NodeError:
        raise
    except httpx.TimeoutException as exc:
        raise TimedOut(f"{spoken} did not answer in time") from exc
    except (httpx.ConnectError, OSError) as exc:
        raise Unavailable(f"{spoken} is not reachable at {unreachable(exc)}") from exc
    except (httpx.HTTPError, httpx.StreamError) as exc:
        raise BrokeOff(f"the connection to {spoken} broke off") from exc
    except (ValueError, TypeError, AttributeError, LookupError, RecursionError) as exc:
        # Clients decode without checking: whatever is not their protocol ends in one of these.
        raise Rejected(f"{spoken} sent something that is not its protocol") from exc


class _BoundedBody(httpx.AsyncByteStream):
    """A response body that ends in ``Rejected`` where it grows past the limit."""

    def __init__(self, inner: httpx.AsyncByteStream, spoken: str) -> None:
        self._inner = inner
        self._spoken = spoken

    async def __aiter__(self) -> AsyncIterator[bytes]:
        read = 0
        async for chunk in self._inner:
            read += len(chunk)
            if read > RESPONSE_BYTES_MAX:
                raise Rejected(f"{self._spoken} sent more than an answer can be")
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()


class PlainTransport(httpx.AsyncHTTPTransport):
    """See the module. ``spoken`` is what messages call the engine; ``key`` goes as a bearer token, empty for
    none."""

    def __init__(self, spoken: str, *, is_https: bool, key: str = "") -> None:
        # Certificates are loaded only where they can be used.
        super().__init__(verify=is_https, trust_env=False)
        self._spoken = spoken
        self._key = key

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        for name in [name for name in request.headers if name.lower() not in _SENT]:
            del request.headers[name]
        request.headers["accept-encoding"] = "identity"
        if self._key:
            request.headers["authorization"] = f"Bearer {self._key}"
        response = await super().handle_async_request(request)
        stream = cast("httpx.AsyncByteStream", response.stream)
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            await stream.aclose()
            raise Rejected(f"{self._spoken} sent a compressed body that was not asked for")
        if response.is_success and response.headers.get("content-type", "").lower().startswith("text/html"):
            await stream.aclose()
            raise Rejected(f"{self._spoken} sent a web page, which is not its protocol")
        response.stream = _BoundedBody(stream, self._spoken)
        return response


def client_options(base_url: str, spoken: str, *, key: str = "", connect_timeout_s: float) -> dict[str, Any]:
    """What an HTTP client over ``PlainTransport`` is made with."""
    return {
        "timeout": timeouts(connect_timeout_s),
        "follow_redirects": False,
        "trust_env": False,
        "transport": PlainTransport(spoken, is_https=base_url.lower().startswith("https"), key=key),
    }


def timeouts(connect_timeout_s: float) -> httpx.Timeout:
    """Short to connect, and the backstop for the rest."""
    return httpx.Timeout(READ_TIMEOUT_S, connect=connect_timeout_s, pool=connect_timeout_s)
