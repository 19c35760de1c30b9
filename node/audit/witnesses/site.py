"""One address outside that the operator named, asked with bounds on everything that comes back.

Promises: only that address is asked, no redirect is followed, no compressed body is read; a body ends at the
bytes that the caller allows; a call ends within its time; failures leave as ``node.core.errors``; retries,
their back-off, the rate and the breaker are the guard's. It says whether anything was sent at all, for that
is what tells a queue from a submission. The session is handed in; what an answer means is the caller's
matter.
"""

from __future__ import annotations

import asyncio
from typing import TypeAlias
from urllib.parse import urlsplit

import aiohttp

from node.core.clock import Clock
from node.core.errors import NodeError, NotFound, RateLimited, Rejected, TimedOut, Unavailable
from node.core.guard import Guard, Window

Http: TypeAlias = aiohttp.ClientSession  # noqa: TID251 - only its name: the session is built in node/app/storage.py

PER_MINUTE = 30
ATTEMPTS = 2
ATTEMPT_SHARE = 0.6
"""Part of a call's time that one attempt may take, so that a quick failure leaves time for another."""
CONNECT_SHARE = 0.5
"""Part of an attempt's time for the connection: where it cannot be made, nothing was sent."""
WAIT_UNSTATED_S = 60.0
"""Wait after a 429 that does not say how long."""
BREAKER_FAILURES = 4
BREAKER_OPEN_S = 120.0


class Unreached(Unavailable):
    """No connection was made, so nothing of the call left this machine."""


class Site:
    """An address and how to ask it. Safe for concurrent callers on one event loop."""

    def __init__(
        self, what: str, url: str, http: Http, clock: Clock, *, timeout_s: float, attempts: int = ATTEMPTS
    ) -> None:
        """``what`` names its kind for people (``calendar``). ``timeout_s`` bounds a call with its retries."""
        self.url = url.rstrip("/")
        self.name = f"the {what} {urlsplit(url).netloc.rpartition('@')[2]}"
        self._http = http
        self._clock = clock
        self._timeout_s = timeout_s
        self._guard = Guard(
            self.name,
            clock,
            windows=(Window(PER_MINUTE, 60.0),),
            concurrency=2,
            attempts=attempts,
            breaker_failures=BREAKER_FAILURES,
            breaker_open_s=BREAKER_OPEN_S,
            cache_entries=0,
            stale_for_s=0.0,
        )

    async def ask(self, path: str, *, bytes_max: int, accept: str, post: bytes | None = None) -> bytes:
        """The body of a good answer. Raises ``Unreached``, ``Unavailable``, ``NotFound``, ``Rejected``."""
        was_sent = False

        async def attempt(timeout_s: float) -> bytes:
            nonlocal was_sent
            was_sent_before, was_sent = was_sent, True
            try:
                return await self._once(path, bytes_max, accept, post, timeout_s)
            except Unreached:
                was_sent = was_sent_before
                raise

        try:
            got = await self._guard.call(
                attempt,
                key=None,
                ttl_s=0.0,
                deadline=self._clock.monotonic() + self._timeout_s,
                attempt_timeout_s=self._timeout_s * ATTEMPT_SHARE,
            )
        except Unreached as exc:
            if was_sent:  # by an attempt before the last one
                raise Unavailable(str(exc)) from exc
            raise
        except Unavailable as exc:
            if not was_sent:  # the guard refused
                raise Unreached(str(exc)) from exc
            raise
        return got.value

    @property
    def problem(self) -> str:
        """What is wrong with it at the moment, as a clause for people; empty when nothing is."""
        now = self._guard.snapshot()
        if now.state == "closed" and now.not_before_s <= 0:
            return ""
        return f"{self.name} is left alone for a while (last error: {now.last_error or 'none'})"

    async def _once(
        self, path: str, bytes_max: int, accept: str, post: bytes | None, timeout_s: float
    ) -> bytes:
        headers = {"Accept": accept, "Accept-Encoding": "identity"}
        if post is not None:
            # What OpenTimestamps clients send: servers read the bare body whatever its type.
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        try:
            async with (
                asyncio.timeout(timeout_s),
                self._http.request(
                    "GET" if post is None else "POST",
                    self.url + path,
                    data=post,
                    headers=headers,
                    allow_redirects=False,
                    timeout=aiohttp.ClientTimeout(total=None, connect=timeout_s * CONNECT_SHARE),
                ) as response,
            ):
                self._check(response)
                return await self._read(response, bytes_max)
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as exc:
            raise Unreached(f"{self.name} could not be reached") from exc
        except TimeoutError as exc:
            raise TimedOut(f"{self.name} did not answer in time") from exc
        except (aiohttp.ClientError, OSError, ValueError) as exc:
            raise Unavailable(f"{self.name} broke off ({type(exc).__name__})") from exc

    def _check(self, response: aiohttp.ClientResponse) -> None:
        error = self._error(response.status, response.headers.get("Retry-After", ""))
        if error is not None:
            raise error
        if response.headers.get("Content-Encoding", "identity").strip().lower() not in ("", "identity"):
            raise Rejected(f"{self.name} answered with a compressed body, which was not asked for")

    def _error(self, status: int, retry_after: str) -> NodeError | None:
        if status == 200:
            return None
        if status in (404, 410):
            return NotFound(f"{self.name} does not know it")
        if status == 429:
            stated = retry_after.strip()
            wait = float(stated) if stated.isdecimal() and len(stated) < 10 else WAIT_UNSTATED_S
            return RateLimited(f"{self.name} asks to wait", retry_after_s=wait)
        if 300 <= status < 400:
            return Rejected(f"{self.name} redirects elsewhere, which is not followed")
        if status == 408 or status >= 500:
            return Unavailable(f"{self.name} failed (status {status})")
        return Rejected(f"{self.name} answered with status {status}")

    async def _read(self, response: aiohttp.ClientResponse, bytes_max: int) -> bytes:
        body = bytearray()
        async for chunk in response.content.iter_chunked(16 * 1024):
            body += chunk
            if len(body) > bytes_max:
                raise Rejected(f"{self.name} answered with more than {bytes_max} bytes")
        return bytes(body)
