"""The two clients. Every call raises ``NeuroSwarmError``; none is made again by itself."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Literal, Self, TypeVar, Unpack

import httpx

from neuroswarm_client import calls
from neuroswarm_client.calls import REPLY_BYTES_MAX, AskOptions, Call, EntryOptions, Events
from neuroswarm_client.errors import NotReached
from neuroswarm_client.values import Answer, Decision, Event, Found, Health, Judged, Kept

ADDRESS = "http://127.0.0.1:8642"
API_KEY = "NEUROSWARM_API_KEY"
TIMEOUT_S = 65.0
"""What a node takes for a question at most (``server.request_timeout_s``), and five seconds."""
Verdict = Literal["valid", "invalid"]
T = TypeVar("T")


def _options(address: str, key: str | None, timeout_s: float) -> dict[str, Any]:
    key = os.environ.get(API_KEY, "") if key is None else key
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    # No proxy and no netrc of the environment: the key is for the node alone.
    return {"base_url": address, "headers": headers, "timeout": timeout_s, "trust_env": False}


@contextmanager
def _reached(address: str) -> Iterator[None]:
    try:
        yield
    except httpx.TimeoutException as exc:
        raise NotReached(f"the node at {address} did not answer in time") from exc
    except (httpx.HTTPError, httpx.InvalidURL) as exc:
        raise NotReached(f"no node answers at {address}: {exc}") from exc


def _bounded(body: bytearray) -> None:
    if len(body) > REPLY_BYTES_MAX:
        raise NotReached(f"the reply is over {REPLY_BYTES_MAX} bytes")


class Client:
    """A node, asked by a program that waits. ``key``: an API key; None: that of ``NEUROSWARM_API_KEY``, if
    any. ``timeout_s`` bounds each wait for the node. Threads may share it."""

    def __init__(
        self,
        address: str = ADDRESS,
        *,
        key: str | None = None,
        timeout_s: float = TIMEOUT_S,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._address = address
        self._http = httpx.Client(transport=transport, **_options(address, key, timeout_s))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def ask(self, query: str, **options: Unpack[AskOptions]) -> Answer:
        """Answer a question."""
        return self._do(calls.ask(query, options))

    def stream(self, query: str, **options: Unpack[AskOptions]) -> Iterator[Event]:
        """What goes on while a question is answered; the last event has the answer. Whoever closes the
        iterator ends the work."""
        call, events = calls.ask(query, options), Events()
        body = {**(call.body or {}), "stream": True}
        with _reached(self._address), self._http.stream(call.method, call.path, json=body) as response:
            if not response.is_success:
                call.result(response.status_code, response.headers, _whole(response))
            for piece in response.iter_bytes():
                yield from events.take(piece)
        if not events.is_done:
            raise NotReached("the answer broke off")

    def lookup(self, query: str, *, floor: float | None = None, context: str | None = None) -> Found:
        """What the cache holds; no source and no model is asked. ``floor`` can only raise the similarity that
        is asked for; ``context``: see docs/http-api.md."""
        return self._do(calls.lookup(query, floor, context))

    def remember(self, query: str, answer: str, **options: Unpack[EntryOptions]) -> Kept:
        """Store an answer, durable on return. Raises ``Conflict`` where another one stands."""
        return self._do(calls.remember(query, answer, options))

    def feedback(
        self,
        verdict: Verdict,
        *,
        cid: str | None = None,
        request_id: str | None = None,
        correction: str | None = None,
        note: str | None = None,
    ) -> Judged:
        """Say whether an answer is right, by its record or its request; ``correction`` is what is right."""
        return self._do(calls.feedback(verdict, cid, request_id, correction, note))

    def invalidate(self, *, tag: str) -> int:
        """Withdraw what has this tag, at most 1,000 records; how many."""
        return self._do(calls.invalidate(tag))

    def receipt(self, decision: Decision) -> str:
        """What proves a decision to anybody (c2sp.org/tlog-proof@v1), from a second after it on."""
        return self._do(calls.receipt(decision))

    def health(self) -> Health:
        return self._do(calls.health())

    def _do(self, call: Call[T]) -> T:
        with _reached(self._address), self._http.stream(call.method, call.path, json=call.body) as response:
            return call.result(response.status_code, response.headers, _whole(response))


def _whole(response: httpx.Response) -> bytes:
    body = bytearray()
    for piece in response.iter_bytes():
        body += piece
        _bounded(body)
    return bytes(body)


class AsyncClient:
    """A node, asked from an event loop; see ``Client``. A call that is cancelled ends the work."""

    def __init__(
        self,
        address: str = ADDRESS,
        *,
        key: str | None = None,
        timeout_s: float = TIMEOUT_S,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._address = address
        self._http = httpx.AsyncClient(transport=transport, **_options(address, key, timeout_s))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self._http.aclose()

    async def ask(self, query: str, **options: Unpack[AskOptions]) -> Answer:
        """See ``Client.ask``."""
        return await self._do(calls.ask(query, options))

    async def stream(self, query: str, **options: Unpack[AskOptions]) -> AsyncIterator[Event]:
        """See ``Client.stream``."""
        call, events = calls.ask(query, options), Events()
        body = {**(call.body or {}), "stream": True}
        with _reached(self._address):
            async with self._http.stream(call.method, call.path, json=body) as response:
                if not response.is_success:
                    call.result(response.status_code, response.headers, await _all(response))
                async for piece in response.aiter_bytes():
                    for event in events.take(piece):
                        yield event
        if not events.is_done:
            raise NotReached("the answer broke off")

    async def lookup(self, query: str, *, floor: float | None = None, context: str | None = None) -> Found:
        """See ``Client.lookup``."""
        return await self._do(calls.lookup(query, floor, context))

    async def remember(self, query: str, answer: str, **options: Unpack[EntryOptions]) -> Kept:
        """See ``Client.remember``."""
        return await self._do(calls.remember(query, answer, options))

    async def feedback(
        self,
        verdict: Verdict,
        *,
        cid: str | None = None,
        request_id: str | None = None,
        correction: str | None = None,
        note: str | None = None,
    ) -> Judged:
        """See ``Client.feedback``."""
        return await self._do(calls.feedback(verdict, cid, request_id, correction, note))

    async def invalidate(self, *, tag: str) -> int:
        """See ``Client.invalidate``."""
        return await self._do(calls.invalidate(tag))

    async def receipt(self, decision: Decision) -> str:
        """See ``Client.receipt``."""
        return await self._do(calls.receipt(decision))

    async def health(self) -> Health:
        return await self._do(calls.health())

    async def _do(self, call: Call[T]) -> T:
        with _reached(self._address):
            async with self._http.stream(call.method, call.path, json=call.body) as response:
                return call.result(response.status_code, response.headers, await _all(response))


async def _all(response: httpx.Response) -> bytes:
    body = bytearray()
    async for piece in response.aiter_bytes():
        body += piece
        _bounded(body)
    return bytes(body)
