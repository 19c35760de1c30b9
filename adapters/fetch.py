"""One outside HTTP source behind its ``Guard``: bounded in time, bytes and number, whatever it sends.

It promises: redirects are refused, so a source cannot lead the node to another address; a body ends at
``body_bytes_max`` also when it was compressed; a byte now and then does not outlast the attempt; a failure
leaves as one of ``node.core.errors``; retries, limits, the breaker, the cache and single flight are the
guard's. The session is handed in. It knows HTTP, not what a source means.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import orjson

from node.core import http
from node.core.clock import Clock
from node.core.errors import Forbidden, NodeError, RateLimited, Rejected
from node.core.guard import Guard, Guarded
from node.core.http import wait_s
from node.core.model import Budget, Check

Http: TypeAlias = http.Http
T = TypeVar("T")

BODY_BYTES_MAX = 2 * 2**20
WAIT_UNSTATED_S = 15.0
"""Wait after a 429 that does not say how long."""
ATTEMPT_SHARE = 0.6
"""Part of the time of a call that one attempt may take, so that a quick failure leaves time for another."""


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer, whole. Header names are lower case."""

    source: str
    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> object:
        """The decoded body; NaN and the like are no JSON. Raises ``Rejected``."""
        try:
            return orjson.loads(self.body)
        except orjson.JSONDecodeError as exc:
            raise Rejected(f"{self.source} answered with something that is not JSON") from exc

    def stated(self) -> Mapping[str, object]:
        """The members of a body that states an error; empty for any other body."""
        if b'"error' not in self.body:
            return {}
        try:
            value = orjson.loads(self.body)
        except orjson.JSONDecodeError:
            return {}
        return value if isinstance(value, dict) else {}

    def wait_s(self, clock: Clock, *names: str) -> float:
        """The wait that the first of these headers states (Retry-After without names), else the usual one."""
        stated = (wait_s(self.headers.get(name), clock) for name in names or ("retry-after",))
        return next((wait for wait in stated if wait is not None), WAIT_UNSTATED_S)


Explain = Callable[[Reply], NodeError | None]


class Source:
    """A base address and how to ask it. Safe for concurrent callers on one event loop."""

    def __init__(
        self,
        base_url: str,
        session: Http,
        clock: Clock,
        guard: Guard,
        *,
        timeout_s: float,
        headers: Mapping[str, str] | None = None,
        body_bytes_max: int = BODY_BYTES_MAX,
        explain: Explain | None = None,
    ) -> None:
        """``guard.name`` is the source's name for people. ``timeout_s`` bounds a call with its retries.
        ``explain`` looks at every answer first and returns the error that a vendor's own format states,
        whatever its status; None leaves it to the status."""
        self.name = guard.name
        self._base = base_url.rstrip("/")
        self._http = session
        self._clock = clock
        self._guard = guard
        self._timeout_s = timeout_s
        self._headers = dict(headers or {})
        self._bytes_max = body_bytes_max
        self._explain = explain

    async def get(
        self,
        path: str,
        params: Mapping[str, str] | None = None,
        *,
        key: str | None,
        read: Callable[[Reply], T],
        ttl_s: float,
        deadline: float,
        max_age_s: float | None = None,
        headers: Mapping[str, str] | None = None,
        post: bytes | None = None,
        accept: tuple[int, ...] = (200,),
    ) -> Guarded[T]:
        """What ``read`` makes of the answer; only what it accepts is remembered, under ``key`` for ``ttl_s``.

        ``read`` raises ``Rejected`` or ``NotFound``. ``post`` sends that JSON body instead. Raises what
        ``Guard.call`` raises, and never waits past ``deadline`` (monotonic) nor ``timeout_s``."""

        async def attempt(timeout_s: float) -> T:
            reply = await self._once(path, params, headers, post, timeout_s)
            error = self._explain(reply) if self._explain is not None else None
            error = error or self._error(reply, accept)
            if error is not None:
                raise error
            return read(reply)

        checked: Callable[[float], Awaitable[T]] = attempt
        return await self._guard.call(
            checked,
            key=key,
            ttl_s=ttl_s,
            deadline=min(deadline, self._clock.monotonic() + self._timeout_s),
            attempt_timeout_s=self._timeout_s * ATTEMPT_SHARE,
            max_age_s=max_age_s,
        )

    async def _once(
        self,
        path: str,
        params: Mapping[str, str] | None,
        headers: Mapping[str, str] | None,
        post: bytes | None,
        timeout_s: float,
    ) -> Reply:
        all_headers = {**self._headers, **(headers or {})}
        if post is not None:
            all_headers["Content-Type"] = "application/json"
        method, url = "GET" if post is None else "POST", self._base + path
        with http.translated(self.name):
            async with (
                asyncio.timeout(timeout_s),
                await http.request(
                    self._http, method, url, params=params, data=post, headers=all_headers
                ) as response,
            ):
                if 300 <= response.status < 400 and response.status != 304:
                    raise http.failure(self.name, response.status, None, self._clock)
                names = {name.lower(): value for name, value in response.headers.items()}
                body = await http.body(self.name, response, self._bytes_max, unpacks=True)
                return Reply(self.name, response.status, names, body)

    def _error(self, reply: Reply, accept: tuple[int, ...]) -> NodeError | None:
        status, retry_after = reply.status, reply.headers.get("retry-after")
        if status in accept:
            return None
        if status in (401, 403):
            return Forbidden(f"{self.name} refused (status {status})")
        stated = wait_s(retry_after, self._clock)
        if status == 503 and stated is not None:
            return RateLimited(f"{self.name} is overloaded and asks to wait", retry_after_s=stated)
        return http.failure(self.name, status, retry_after, self._clock, unstated_s=WAIT_UNSTATED_S)

    # --- what is known now ------------------------------------------------------------------------

    def budgets(self) -> tuple[Budget, ...]:
        """What is left of each of its limits."""
        return budgets_of(self._guard)

    def problems(self) -> list[str]:
        """What is wrong with it at the moment, in clauses for people; empty when nothing is."""
        return problems_of(self._guard)


def budgets_of(guard: Guard) -> tuple[Budget, ...]:
    """What is left of each window of a guard."""
    now = guard.snapshot()
    return tuple(
        Budget(now.name, window.count, window.seconds, free, now.not_before_s)
        for window, free in now.remaining
    )


def problems_of(guard: Guard) -> list[str]:
    """What is wrong with a guarded source at the moment, in clauses for people."""
    now = guard.snapshot()
    found: list[str] = []
    if now.state != "closed":
        found.append(
            f"{now.name} is left alone after repeated failures, asked again in {now.reopens_s:.0f} s"
        )
    if now.not_before_s > 0:
        found.append(f"{now.name} asked to wait {now.not_before_s:.0f} s")
    if any(free == 0 for _, free in now.remaining):
        found.append(f"the limit of calls to {now.name} is used up for the moment")
    if found and now.last_error:
        found.append(f"last error: {now.last_error}")
    return found


def check_of(adapter: str, problems: list[str], disables: str) -> Check:
    """The health of an adapter. ``disables`` opens the sentence: what does not work while it is unwell."""
    output = f"{disables}: {'; '.join(problems)}." if problems else ""
    return Check(f"adapter:{adapter}", "warn" if problems else "pass", output)
