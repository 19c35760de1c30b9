"""Clock times for the adapter contract."""

from __future__ import annotations

from contextlib import AsyncExitStack

from adapters.local_time import WorldTime
from node.core.ports import Adapter
from tests.contracts.adapter_case import Case, FixedDay


async def _world_time(stack: AsyncExitStack, alive: bool) -> Adapter:
    return WorldTime(FixedDay())


CASES: dict[str, Case] = {
    "world-time": Case(
        _world_time,
        (
            "what time is it in tokyo",
            "what time is it",
            "time difference between new york and london",
            "when it's 3pm in Berlin what time is it in Tokyo?",
            "9am PST in CET",
        ),
        (
            ("what time is it in tokyo", "tokyo time"),
            ("hora en nueva york", "current time in new york city"),
            ("when it's 3pm in Berlin what time is it in Tokyo?", "15:00 berlin time in tokyo"),
            ("東京は今何時", "what's the time in Tokyo right now"),
        ),
        (
            ("what time is it in tokyo", "and in London?", "what time is it in London"),
            ("what time is it", "in Tokyo?", "time in tokyo"),
            (
                "when it's 3pm in Berlin what time is it in Tokyo?",
                "and in New York?",
                "when it's 3pm in Berlin what time is it in New York?",
            ),
        ),
    ),
}
