"""A running node over HTTP, as ``neuroswarm mcp`` asks it. Loads httpx: import it where it is used."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any, NoReturn
from urllib.parse import quote

import httpx
import orjson

from node.api.mcp.node import Body, Reply
from node.core.errors import NotFound, Rejected, Unavailable
from node.core.ports import Tell
from node.core.settings import API_KEY

_REPLY_BYTES_MAX = 16 * 2**20


class HttpNode:
    """See ``node.api.mcp.node.Node``. ``key``: an API key, empty for none."""

    def __init__(self, address: str, key: str, timeout_s: float) -> None:
        self._address = address
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._http = httpx.AsyncClient(
            base_url=address, headers=headers, timeout=timeout_s, trust_env=False, follow_redirects=False
        )

    async def close(self) -> None:
        await self._http.aclose()

    async def ask(self, body: Body, tell: Tell) -> Reply:
        async with self._opened("POST", "/chat", {**body, "stream": True}) as response:
            async for name, data in _events(response):
                facts = _document(data)
                if name == "done":
                    return facts
                if name == "error":
                    _refuse(int(facts.get("status", 500)), facts)
                tell(name, facts)
        raise Unavailable("the node's answer broke off")

    async def search(self, body: Body) -> Reply:
        return _document(await self._read("POST", "/v1/cache/search", body))

    async def put(self, body: Body) -> Reply:
        return _document(await self._read("POST", "/v1/cache/entries", body))

    async def judge(self, body: Body) -> Reply:
        return _document(await self._read("POST", "/feedback", body))

    async def record(self, cid: str) -> Reply:
        return _document(await self._read("GET", f"/v1/cache/entries/{quote(cid, safe='')}"))

    async def checkpoint(self) -> str:
        return (await self._read("GET", "/logs/decisions/checkpoint")).decode()

    async def receipt(self, index: int, log: str | None) -> str:
        named = "" if log is None else f"?log={quote(log, safe='')}"
        return (await self._read("GET", f"/logs/decisions/proof/{index}{named}")).decode()

    async def alive(self) -> None:
        """Raises ``Unavailable`` where no node answers."""
        await self._read("GET", "/livez")

    async def _read(self, method: str, path: str, body: Body | None = None) -> bytes:
        async with self._opened(method, path, body) as response:
            return await _whole(response)

    @asynccontextmanager
    async def _opened(self, method: str, path: str, body: Body | None) -> AsyncIterator[httpx.Response]:
        """The response where it went well. Raises ``NodeError``."""
        with self._reached():
            async with self._http.stream(method, path, json=body) as response:
                if not response.is_success:
                    _refuse(response.status_code, _document(await _whole(response)))
                yield response

    @contextmanager
    def _reached(self) -> Iterator[None]:
        try:
            yield
        except httpx.TimeoutException as exc:
            raise Unavailable(f"the node at {self._address} did not answer in time") from exc
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as exc:
            raise Unavailable(
                f"no node answers at {self._address} ({exc}); start one with: neuroswarm serve"
            ) from exc


async def _whole(response: httpx.Response) -> bytes:
    body = bytearray()
    async for piece in response.aiter_bytes():
        body += piece
        _bound(body)
    return bytes(body)


async def _events(response: httpx.Response) -> AsyncIterator[tuple[str, bytes]]:
    """The node's server-sent events, name and data."""
    rest = bytearray()
    async for piece in response.aiter_bytes():
        rest += piece
        _bound(rest)
        while (end := rest.find(b"\n\n")) >= 0:
            lines = dict(line.partition(b": ")[::2] for line in bytes(rest[:end]).split(b"\n"))
            del rest[: end + 2]
            if b"event" in lines:  # else a comment, sent so that there is something at once
                yield lines[b"event"].decode("utf-8", "replace"), lines.get(b"data", b"")


def _bound(body: bytearray) -> None:
    if len(body) > _REPLY_BYTES_MAX:
        raise Unavailable(f"the reply is over {_REPLY_BYTES_MAX} bytes")


def _document(body: bytes) -> dict[str, Any]:
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        document = None
    if not isinstance(document, dict):
        raise Unavailable("what answers there is no node")
    return document


def _refuse(status: int, problem: Mapping[str, Any]) -> NoReturn:
    """What a problem document says. Raises ``NotFound``, or ``Rejected`` for all else."""
    said = str(problem.get("detail") or problem.get("title") or f"status {status}")
    named = [f"{name} {problem[name]}" for name in ("field", "limit") if problem.get(name)]
    if status == 401:
        named.append(f"a key is taken from {API_KEY}")
    kind = NotFound if status == 404 else Rejected
    raise kind(said + (f" ({', '.join(named)})" if named else ""))
