"""An adapter with its clock, asked as the pipeline asks it, and the ways in which any source can fail."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from node.core.caller import Caller
from node.core.clock import Clock
from node.core.model import CERTAIN, CLAIM, Evidence, Failed, Found, Outcome, Query, Recognition
from node.core.ports import Adapter
from tests.manual_clock import ManualClock

A = TypeVar("A", bound=Adapter)
C = TypeVar("C", bound=Clock)
T = TypeVar("T")

FAULTS: list[tuple[str, dict[str, Any], str]] = [
    ("refuse", {}, "unreachable"),
    ("cut", {}, "unreachable"),
    ("status", {"status": 500}, "unreachable"),
    ("status", {"status": 403}, "refused"),
    ("throttle", {"retry_after": 30}, "rate_limited"),
    ("redirect", {"to": "http://127.0.0.1:9/"}, "bad_answer"),
    ("html", {}, "bad_answer"),
    ("plain", {"text": "Please set a user-agent"}, "bad_answer"),
    ("nested_json", {}, "bad_answer"),
    ("oversized", {"size": 6_000_000}, "bad_answer"),
    ("oversized", {"size": 6_000_000, "declared": False}, "bad_answer"),
    ("gzip_bomb", {"size": 6_000_000}, "bad_answer"),
]
"""What a stand-in does, and the code of the failure that every adapter makes of it."""


@dataclass
class Asking(Generic[A, C]):
    """Questions to ``adapter`` at the time of ``clock``, each with ``seconds`` until its deadline."""

    adapter: A
    clock: C
    seconds: float = 30.0

    def query(self, text: str = "", *, seconds: float | None = None, **options: Any) -> Query:
        deadline = self.clock.monotonic() + (self.seconds if seconds is None else seconds)
        return Query("id", text, text, Caller(), self.clock.now(), deadline, **options)

    def recognised(self, text: str) -> Recognition:
        found = self.adapter.recognise(text, self.clock.now())
        assert found is not None, text
        return found

    async def outcome(self, text: str, **options: Any) -> Outcome:
        """What comes of a text; ``options`` are those of a query."""
        query = self.query(text, **options)
        recognition = self.adapter.recognise(text, query.local)
        assert recognition is not None, text
        return await self.adapter.ask(recognition, query)

    async def found(self, text: str, **options: Any) -> Evidence:
        outcome = await self.outcome(text, **options)
        assert isinstance(outcome, Found), outcome
        return outcome.evidence

    async def said(self, text: str, **options: Any) -> str:
        return (await self.found(text, **options)).text

    async def failed(self, text: str, **options: Any) -> Failed:
        outcome = await self.outcome(text, **options)
        assert isinstance(outcome, Failed), outcome
        return outcome

    async def code(self, text: str, **options: Any) -> str:
        """Of the failure that a text ends in."""
        return (await self.failed(text, **options)).code


async def while_moving(clock: ManualClock, step_s: float, asked: Coroutine[Any, Any, T]) -> T:
    """What ``asked`` gives while the clock goes on: for waits between attempts."""
    task = asyncio.create_task(asked)
    while not task.done():
        clock.advance(step_s)
        await asyncio.sleep(0.001)
    return task.result()


def is_claimed(strength: float) -> bool:
    """It is a question of the adapter's, but a word of it is not accounted for."""
    return CLAIM <= strength < CERTAIN
