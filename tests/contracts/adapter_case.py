"""What the adapter contract needs to know of one adapter: how to build it, and questions that are its own.

A case over recorded vendor answers stands beside the one over the stand-in and is skipped, with its reason,
where the recordings are absent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import aiohttp

from node.core.clock import SystemClock
from node.core.ports import Adapter

NOW = datetime(2026, 5, 18, 9, 0, tzinfo=UTC)
"""A Monday."""

DEAD_URL = "http://127.0.0.1:9"
"""The discard port of this machine: nothing listens there."""

FIXTURES = Path(__file__).resolve().parents[3] / "shared" / "fixtures"
NO_FIXTURES = None if FIXTURES.is_dir() else "recorded vendor answers are not on this machine"


@dataclass(frozen=True, slots=True)
class Case:
    """``build`` makes the adapter, with its source alive or dead; ``questions`` are certainly its own and
    have an answer; ``same`` are pairs that ask the same in other words; ``follow_ups`` are (earlier,
    fragment, a question of the same meaning). ``partial``: it gives context only, never a whole answer.
    ``skip`` is the reason why the case cannot run here."""

    build: Callable[[AsyncExitStack, bool], Awaitable[Adapter]]
    questions: tuple[str, ...]
    same: tuple[tuple[str, str], ...]
    follow_ups: tuple[tuple[str, str, str], ...] = ()
    partial: bool = False
    skip: str | None = None


class FixedDay(SystemClock):
    """The day is ``NOW``, time runs: the stand-ins speak of that day, sockets need real seconds."""

    def now(self) -> datetime:
        return NOW


async def session(stack: AsyncExitStack) -> aiohttp.ClientSession:
    """A session as the node builds it."""
    return await stack.enter_async_context(
        aiohttp.ClientSession(auto_decompress=False, trust_env=False, cookie_jar=aiohttp.DummyCookieJar())
    )
