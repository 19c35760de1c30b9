"""Answers to clients who may leave: the work ends with its asker, and may be watched as server-sent events.

Promises:
- when the client is gone, or its key has ended, the work is cancelled, within ``LOOK_S`` or so; what others
  wait for goes on (that is the pipeline's to know);
- an event stream has its first byte at once, and ends with the whole reply or the error; before that come the
  events that are told, in order, pieces of text joined where the client is slower than the model.

It must not know what the events are about, nor in which form they go out (``Telling``)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from typing import Any, Protocol, TypeVar

import orjson
from aiohttp import web

from node.api.errors import from_error
from node.api.request import ACCESS, ID, TICKET
from node.core.errors import NodeError, Unauthenticated, Unavailable
from node.core.model import Json
from node.core.ports import Tell

T = TypeVar("T")

LOOK_S = 0.1
"""How often it is looked whether the client is still there."""
STARTED = web.RequestKey("stream_started", web.StreamResponse)
_EVENTS_MAX = 256


def is_gone(request: web.Request) -> bool:
    return request.transport is None or request.transport.is_closing()


def check_caller(request: web.Request) -> None:
    """Raises ``Unauthenticated`` where the caller's key has ended since."""
    request.app[ACCESS].check(request.get(TICKET))


async def while_there(request: web.Request, work: Coroutine[Any, Any, T]) -> T:
    """The result of ``work``; it is cancelled when the client leaves or its key ends. Raises ``Unavailable``
    then, which nobody reads, and ``Unauthenticated``."""
    task = asyncio.create_task(work)
    try:
        while not (await asyncio.wait((task,), timeout=LOOK_S))[0]:
            if is_gone(request):
                raise Unavailable("the client has left")
            check_caller(request)
        return task.result()
    finally:
        await _end(task)


async def _end(task: asyncio.Task[Any]) -> None:
    if not task.done():
        task.cancel()
        await asyncio.wait((task,))


class _Told:
    """Events on their way to one client."""

    def __init__(self, form: Telling) -> None:
        self._form = form
        self._events: list[tuple[str, Mapping[str, Json]]] = []
        self.news = asyncio.Event()

    def tell(self, event: str, facts: Mapping[str, Json]) -> None:
        last = self._events[-1] if self._events else None
        if event == "delta" and last is not None and last[0] == "delta":
            self._events[-1] = ("delta", {"text": f"{last[1]['text']}{facts['text']}"})
        elif len(self._events) < _EVENTS_MAX:
            self._events.append((event, facts))
        self.news.set()

    def take(self) -> bytes:
        """What has been told since, as it goes over the wire."""
        self.news.clear()
        events, self._events = self._events, []
        return b"".join(self._form.told(name, facts) for name, facts in events)


def _event(name: str, data: object) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + orjson.dumps(data) + b"\n\n"


class Telling(Protocol):
    """The form of a stream: what is told of the work, and of its result. ``headers`` of a result that is
    there before the stream begins, of None where it is not."""

    def headers(self, result: Any) -> Mapping[str, str]: ...

    def opening(self) -> bytes: ...

    def told(self, event: str, facts: Mapping[str, Json]) -> bytes: ...

    def done(self, result: Any) -> bytes: ...

    def failed(self, error: NodeError) -> bytes: ...


class Native:
    """The form of ``POST /chat``: each event under its own name."""

    def __init__(self, request: web.Request) -> None:
        self._request = request

    def headers(self, result: Any) -> Mapping[str, str]:
        return {}

    def opening(self) -> bytes:
        return b":\n\n"  # a comment: the stream is there, whatever the work takes

    def told(self, event: str, facts: Mapping[str, Json]) -> bytes:
        return _event(event, facts)

    def done(self, result: Any) -> bytes:
        return _event("done", result)

    def failed(self, error: NodeError) -> bytes:
        problem = from_error(error, request_id=self._request[ID], instance=self._request.path)
        assert isinstance(problem.body, bytes)
        return _event("error", orjson.loads(problem.body))


async def begun(request: web.Request, headers: Mapping[str, str]) -> web.StreamResponse:
    """A stream of events to which is written from here on."""
    response = web.StreamResponse(
        headers={
            "Content-Type": "text/event-stream",
            "Cache-Control": "private, no-store",
            "X-Accel-Buffering": "no",
            **headers,
        }
    )
    await response.prepare(request)
    request[STARTED] = response
    return response


async def as_events(
    request: web.Request,
    reply: Callable[[Tell], Awaitable[Any]],
    form: Telling | None = None,
    *,
    wait_s: float = 0.0,
) -> web.StreamResponse:
    """Server-sent events while ``reply`` works, and its result as the last one. The stream begins at once, or
    when the work is done within ``wait_s``; what the work raises by then has no stream."""
    form = form or Native(request)
    told = _Told(form)

    async def work() -> Any:
        return await reply(told.tell)

    response = web.StreamResponse()
    task = asyncio.create_task(work())
    news = asyncio.create_task(told.news.wait())
    try:
        if wait_s:
            await asyncio.wait((task,), timeout=wait_s)
        response = await begun(request, form.headers(task.result() if task.done() else None))
        await response.write(form.opening())
        while not task.done():
            await asyncio.wait((task, news), timeout=LOOK_S, return_when=asyncio.FIRST_COMPLETED)
            if is_gone(request):
                return response
            check_caller(request)
            if news.done():
                await response.write(told.take())
                news = asyncio.create_task(told.news.wait())
        await response.write(told.take() + _last(form, task))
        await response.write_eof()
    except Unauthenticated as exc:
        with suppress(ConnectionError):
            await response.write(form.failed(exc))
            await response.write_eof()
    except ConnectionError:
        pass  # the client has left
    finally:
        await _end(task)
        await _end(news)
    return response


def _last(form: Telling, task: asyncio.Task[Any]) -> bytes:
    try:
        return form.done(task.result())
    except NodeError as exc:
        return form.failed(exc)
