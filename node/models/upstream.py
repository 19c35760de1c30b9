"""The servers that requests in OpenAI's form are handed on to, as they came: what the node's own words are no
part of.

Promises: every field of a request and of its answer is passed on, tool calls and usage included; bodies are
bounded (``transport``), and so is the number of requests under way; a server's own error object is handed on
with its status and ``Retry-After``, unless it holds the key; a failure of ours or of the way there has the
same form. It must not know what is asked, nor what becomes of the answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import httpx
import orjson

from node.core.clock import Clock
from node.core.errors import BrokeOff, NodeError, Refused, Rejected, TimedOut
from node.models import transport
from node.models.openai_client import OpenAiConnection

SPOKEN = "the upstream"
AT_ONCE_MAX = 64
"""Requests under way; each may hold ``transport.RESPONSE_BYTES_MAX`` bytes. More wait in their own time."""
LISTED_S = 30.0
"""How long a server's list of models is believed."""
LIST_TIMEOUT_S = 2.0
_ERROR_BYTES_MAX = 16_384
_FIELDS = ("message", "type", "param", "code")
_CODES = ((Rejected, "upstream_bad_answer"), (BrokeOff, "upstream_broke_off"))
_KINDS = {429: "rate_limit_error", 404: "not_found_error"}


def failed(status: int, message: str, code: str, *, retry_after_s: float | None = None) -> Refused:
    """A failure on the way, in the form of a server's own."""
    said = {"message": message, "type": "server_error", "param": None, "code": code}
    return Refused(status, said, retry_after_s=retry_after_s)


@dataclass(slots=True)
class _Listed:
    at: float
    names: tuple[str, ...]


class Upstream:
    """One server."""

    def __init__(self, base_url: str, api_key: str, clock: Clock) -> None:
        """Raises ``Misconfigured``."""
        self._connection = OpenAiConnection(base_url, api_key, clock)
        self._clock = clock
        self._listed: _Listed | None = None
        self._free = asyncio.Semaphore(AT_ONCE_MAX)

    async def models(self) -> tuple[str, ...]:
        """What it lists, by name; empty where it does not answer in time or keeps no list."""
        now = self._clock.monotonic()
        if self._listed is None or now - self._listed.at > LISTED_S:
            try:
                listed = await self._connection.models(LIST_TIMEOUT_S)
            except NodeError:
                listed = None
            self._listed = _Listed(self._clock.monotonic(), tuple(one.name for one in listed or ()))
        return self._listed.names

    async def send(self, path: str, body: Mapping[str, Any]) -> AsyncGenerator[dict[str, Any], None]:
        """The whole answer, or each event of a stream, as JSON objects, up to the stream's end or ``[DONE]``;
        whoever reads sets the time. Raises ``Refused``."""
        try:
            with transport.translated(SPOKEN, lambda _: "its address"):
                async with self._free, self._connection.sent(path, orjson.dumps(body)) as response:
                    if not response.is_success:
                        raise await self._refusal(response)
                    if "event-stream" in response.headers.get("content-type", "").lower():
                        async for event in _events(response):
                            yield self._checked(event)
                    else:
                        yield self._checked(await response.aread())
        except Refused:
            raise
        except TimedOut as exc:
            raise failed(504, str(exc), "upstream_timeout") from exc
        except NodeError as exc:
            code = next((code for kind, code in _CODES if isinstance(exc, kind)), "upstream_unreachable")
            raise failed(502, str(exc), code) from exc

    def _checked(self, data: bytes) -> dict[str, Any]:
        value = json.loads(data)
        if not isinstance(value, dict) or self._connection.gives_key_away(data.decode("utf-8", "replace")):
            raise Rejected(f"{SPOKEN} sent something that is not its protocol")
        if value.get("error"):  # in the middle of a stream, or with status 200
            raise Refused(502, self._said(value["error"], 502))
        return value

    async def _refusal(self, response: httpx.Response) -> Refused:
        raw = b""
        async for chunk in response.aiter_bytes():
            raw += chunk
            if len(raw) > _ERROR_BYTES_MAX:
                break
        try:
            body = json.loads(raw)
        except (ValueError, RecursionError):
            body = None
        status = response.status_code
        if status in (401, 403):  # it is this node's key, and nothing that its caller could mend
            return failed(502, f"{SPOKEN} refused this node's key", "upstream_refused_key")
        error = self._connection.failure(status, response.headers, "")
        retry_after_s = getattr(error, "retry_after_s", None)
        if status == 503 and "retry-after" in response.headers:
            retry_after_s = getattr(
                self._connection.failure(429, response.headers, ""), "retry_after_s", None
            )
        shown = status if 400 <= status < 600 else 502
        said = body.get("error") if isinstance(body, dict) else None
        return Refused(shown, self._said(said or body, status), retry_after_s=retry_after_s)

    def _said(self, error: object, status: int) -> dict[str, Any]:
        """The server's error object with the fields that every one has."""
        given: dict[str, Any] = error if isinstance(error, dict) else {"message": error}
        message = given.get("message")
        if not isinstance(message, str) or not message or self._connection.tells_key(json.dumps(given)):
            message, given = f"{SPOKEN} failed (HTTP {status})", {}
        kind = _KINDS.get(status, "invalid_request_error" if 400 <= status < 500 else "server_error")
        return {**dict.fromkeys(_FIELDS), "type": kind, **given, "message": message}

    async def close(self) -> None:
        await self._connection.close()


class Upstreams:
    """The servers in order of preference."""

    def __init__(self, servers: Sequence[Upstream]) -> None:
        self.servers = tuple(servers)

    async def models(self) -> list[str]:
        """Every model that is listed, once."""
        lists = await asyncio.gather(*(one.models() for one in self.servers))
        return list(dict.fromkeys(name for names in lists for name in names))

    async def of(self, model: str) -> Upstream | None:
        """Who has this model. The first where nobody lists it: some servers take more names than they
        list."""
        for one in self.servers[: len(self.servers) if len(self.servers) > 1 else 0]:
            if model in await one.models():
                return one
        return next(iter(self.servers), None)

    async def close(self) -> None:
        for one in self.servers:
            await one.close()


async def _events(response: httpx.Response) -> AsyncIterator[bytes]:
    """The data of each server-sent event, up to ``[DONE]``. Lines end with LF alone or CR LF, and nothing
    else: texts may hold every other separator."""
    rest = b""
    data: list[bytes] = []
    async for chunk in response.aiter_bytes():
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            line = line.removesuffix(b"\r")
            if line.startswith(b"data:"):
                data.append(line[5:].removeprefix(b" "))
            elif not line and data:
                event, data = b"\n".join(data), []
                if event == b"[DONE]":
                    return
                yield event
