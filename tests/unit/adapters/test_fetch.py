"""Asking an outside source over HTTP: every way in which it can misbehave ends in time, in few bytes, and in
an error that says what happened."""

from __future__ import annotations

import tracemalloc
from collections.abc import AsyncIterator, Callable
from typing import Any

import aiohttp
import pytest

from adapters.fetch import Reply, Source, budgets_of, check_of, problems_of
from node.core.clock import SystemClock
from node.core.errors import Forbidden, NodeError, NotFound, RateLimited, Rejected, TimedOut, Unavailable
from node.core.guard import Guard
from node.core.http import wait_s
from node.core.limits import Limits, Window
from tests.contracts.adapter_case import DEAD_URL
from tests.manual_clock import ManualClock
from tests.simulators.vendor import Answered, Seen, VendorStandIn
from tests.unit.adapters.guards import single

LIMIT = 100_000


PATIENT_S = 60.0
"""Nothing that answers is late, however busy the machine is."""


class Plain(VendorStandIn):
    """Answers with what it was asked."""

    def answer(self, asked: Seen) -> Answered:
        return Answered({"path": asked.path, "query": asked.query, "body": asked.body.decode()})


class Asking:
    """A source over a stand-in, and one call to it."""

    def __init__(self, vendor: Plain, http: aiohttp.ClientSession) -> None:
        self.vendor = vendor
        self.http = http
        self.clock = SystemClock()

    async def ask(
        self,
        read: Callable[[Reply], Any] = Reply.json,
        *,
        source: dict[str, Any] | None = None,
        **more: Any,
    ) -> Any:
        guard = single("Vendor", self.clock)
        options = {"timeout_s": PATIENT_S, "body_bytes_max": LIMIT, "url": self.vendor.url, **(source or {})}
        made = Source(options.pop("url"), self.http, self.clock, guard, **options)
        deadline = self.clock.monotonic() + PATIENT_S
        params = {"q": "a b&c"}
        got = await made.get("/x", params, key=None, read=read, ttl_s=60, deadline=deadline, **more)
        return got.value


@pytest.fixture
async def asking(http: aiohttp.ClientSession) -> AsyncIterator[Asking]:
    async with Plain() as vendor:
        yield Asking(vendor, http)


async def test_a_good_answer_with_its_parameters_escaped(asking: Asking) -> None:
    assert await asking.ask() == {"path": "/x", "query": {"q": "a b&c"}, "body": ""}
    assert asking.vendor.requests[0].headers["Accept-Encoding"] == "identity"


async def test_a_posted_body_arrives(asking: Asking) -> None:
    assert (await asking.ask(post=b'{"a":1}'))["body"] == '{"a":1}'
    assert asking.vendor.requests[0].headers["Content-Type"] == "application/json"


LIES: list[tuple[str, dict[str, Any], type[NodeError]]] = [
    ("hang", {}, TimedOut),
    ("drip", {}, TimedOut),
    ("drip_head", {}, TimedOut),
    ("refuse", {}, Unavailable),
    ("cut", {}, Unavailable),
    ("html", {}, Rejected),
    ("plain", {"text": "slow down please"}, Rejected),
    ("body", {"text": '{"price": NaN}'}, Rejected),
    ("body", {"text": ""}, Rejected),
    ("nested_json", {}, Rejected),
    ("oversized", {"declared": True, "size": 2_000_000}, Rejected),
    ("oversized", {"declared": False, "size": 2_000_000}, Rejected),
    ("gzip_bomb", {"size": 2_000_000}, Rejected),
    ("throttle", {"retry_after": 7}, RateLimited),
    ("throttle", {"retry_after": None}, RateLimited),
    ("status", {"status": 503, "headers": {"Retry-After": "3"}}, RateLimited),
    ("status", {"status": 500}, Unavailable),
    ("status", {"status": 404}, NotFound),
    ("status", {"status": 403}, Forbidden),
    ("status", {"status": 422}, Rejected),
    ("status", {"status": 204}, Rejected),
    ("status", {"status": 200, "headers": {"Content-Encoding": "br"}}, Rejected),
]


@pytest.mark.parametrize(("kind", "options", "error"), LIES, ids=[f"{k}-{o}" for k, o, _ in LIES])
async def test_each_lie_has_its_error(
    asking: Asking, kind: str, options: dict[str, Any], error: type[NodeError]
) -> None:
    asking.vendor.misbehave(kind, times=None, **options)
    with pytest.raises(NodeError) as caught:
        await asking.ask(source={"timeout_s": 1.0} if error is TimedOut else {})
    assert type(caught.value) is error
    assert "Vendor" in str(caught.value)


async def test_a_redirect_is_not_followed_wherever_it_points(asking: Asking) -> None:
    asking.vendor.misbehave("redirect", times=None, to=f"{asking.vendor.url}/secret")
    with pytest.raises(Rejected, match="redirects elsewhere"):
        await asking.ask()
    assert asking.vendor.count("/secret") == 0


async def test_no_more_than_the_limit_is_ever_kept(asking: Asking) -> None:
    kept: list[int] = []
    asking.vendor.misbehave("oversized", times=None, size=LIMIT - 100, declared=False)
    await asking.ask(read=lambda reply: kept.append(len(reply.body)))
    asking.vendor.behave()
    tracemalloc.start()
    try:
        asking.vendor.misbehave("gzip_bomb", times=None, size=30_000_000)
        with pytest.raises(Rejected):
            await asking.ask(read=lambda reply: kept.append(len(reply.body)))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept == [LIMIT - 91]
    assert peak < 35_000_000 + 10 * LIMIT  # the 30 MB are the stand-in's own, before it packs them


async def test_a_compressed_answer_that_was_not_asked_for_is_read_all_the_same(asking: Asking) -> None:
    asking.vendor.misbehave("gzip_bomb", times=None, size=1_000)
    assert await asking.ask(read=lambda reply: len(reply.body)) == 1_000


async def test_a_vendors_own_error_goes_before_the_status(asking: Asking) -> None:
    def explain(reply: Reply) -> NodeError | None:
        return RateLimited("Vendor says wait", retry_after_s=9) if b"slow down" in reply.body else None

    asking.vendor.misbehave("plain", times=None, text="slow down")
    with pytest.raises(RateLimited, match="says wait"):
        await asking.ask(source={"explain": explain})


async def test_an_unchanged_answer_reaches_the_reader(asking: Asking) -> None:
    asking.vendor.misbehave("status", times=None, status=304)
    assert await asking.ask(read=lambda reply: reply.status, accept=(200, 304)) == 304


async def test_a_dead_address_is_unavailable(asking: Asking) -> None:
    with pytest.raises(Unavailable, match="could not be reached"):
        await asking.ask(source={"url": DEAD_URL})


async def test_budgets_and_problems_say_what_is_left() -> None:
    clock = ManualClock()
    windows = (Window(2, 60.0), Window(100, 3_600.0))
    limits = Limits(windows=windows, concurrency=1, attempts=1, breaker_failures=1, cache_entries=4)
    guard = Guard("Vendor", clock, limits)

    async def fail(timeout_s: float) -> None:
        raise RateLimited("wait", retry_after_s=40)

    assert problems_of(guard) == []
    with pytest.raises(RateLimited):
        await guard.call(fail, key=None, ttl_s=0, deadline=clock.monotonic() + 5, attempt_timeout_s=1)
    first, second = budgets_of(guard)
    assert (first.source, first.limit, first.window_s, first.remaining) == ("Vendor", 2, 60.0, 1)
    assert second.remaining == 99
    assert first.wait_s == pytest.approx(40)
    check = check_of("vendor", problems_of(guard), "No figures")
    assert check.status == "warn"
    assert check.output.startswith("No figures: Vendor asked to wait 40 s")
    assert check_of("vendor", [], "No figures").status == "pass"


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7.0),
        ("1.5", 1.5),
        ("Thu, 01 Jan 2026 00:01:00 GMT", 60.0),
        ("Wed, 31 Dec 2025 23:00:00 GMT", 0.0),
        ("", None),
        (None, None),
        ("soon", None),
        ("-5", None),
        ("9" * 400, None),
    ],
)
def test_retry_after_in_both_forms(header: str | None, seconds: float | None) -> None:
    assert wait_s(header, ManualClock()) == seconds
