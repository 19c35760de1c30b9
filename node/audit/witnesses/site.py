"""One address outside that the operator named, asked with bounds on everything that comes back.

Promises: only that address is asked, no redirect is followed, no compressed body is read; a body ends at the
bytes that the caller allows; a call ends within its time; failures leave as ``node.core.errors``; retries,
their back-off, the rate and the breaker are the guard's. It says whether anything was sent at all, for that
is what tells a queue from a submission. The session is handed in; what an answer means is the caller's
matter.
"""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit

from node.core import http
from node.core.clock import Clock
from node.core.errors import Unavailable
from node.core.guard import Guard
from node.core.http import Http, Unreached
from node.core.limits import Limits, Window

PER_MINUTE = 30
ATTEMPTS = 2
ATTEMPT_SHARE = 0.6
"""Part of a call's time that one attempt may take, so that a quick failure leaves time for another."""
CONNECT_SHARE = 0.5
"""Part of an attempt's time for the connection: where it cannot be made, nothing was sent."""
BREAKER_FAILURES = 4
BREAKER_OPEN_S = 120.0


class Site:
    """An address and how to ask it. Safe for concurrent callers on one event loop."""

    def __init__(
        self,
        what: str,
        url: str,
        session: Http,
        clock: Clock,
        *,
        timeout_s: float,
        attempts: int = ATTEMPTS,
        per_minute: int = PER_MINUTE,
    ) -> None:
        """``what`` names its kind for people (``calendar``). ``timeout_s`` bounds a call with its retries."""
        self.url = url.rstrip("/")
        self.name = f"the {what} {urlsplit(url).netloc.rpartition('@')[2]}"
        self._http = session
        self._clock = clock
        self._timeout_s = timeout_s
        self._guard = Guard(
            self.name,
            clock,
            Limits(
                windows=(Window(per_minute, 60.0),),
                concurrency=2,
                attempts=attempts,
                breaker_failures=BREAKER_FAILURES,
                breaker_open_s=BREAKER_OPEN_S,
            ),
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
        headers = {"Accept": accept}
        if post is not None:
            # What OpenTimestamps clients send: servers read the bare body whatever its type.
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        method, url, connect_s = "GET" if post is None else "POST", self.url + path, timeout_s * CONNECT_SHARE
        with http.translated(self.name):
            async with (
                asyncio.timeout(timeout_s),
                await http.request(
                    self._http, method, url, data=post, headers=headers, connect_s=connect_s
                ) as response,
            ):
                if response.status != 200:
                    retry_after = response.headers.get("Retry-After")
                    raise http.failure(self.name, response.status, retry_after, self._clock)
                return await http.body(self.name, response, bytes_max)
