"""Stores over files that a test starts, starts again and leaves: whatever is open at the end is closed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Protocol, TypeVar

import pytest

from node.store.sqlite import SqliteStore
from tests.record_builders import Author


class Closable(Protocol):
    async def close(self) -> None: ...


S = TypeVar("S", bound=Closable)
Opened = Callable[[Awaitable[S]], Awaitable[S]]
Start = Callable[..., Awaitable[SqliteStore]]


@pytest.fixture
async def opened() -> AsyncIterator[Opened[Any]]:
    """Awaits what opens something, and closes it at the end."""
    async with AsyncExitStack() as stack:

        async def opens(opening: Awaitable[S]) -> S:
            one = await opening
            stack.push_async_callback(one.close)
            return one

        yield opens


@pytest.fixture
def start(tmp_path: Path, opened: Opened[SqliteStore]) -> Start:
    """Starts our store over ``blocks.sqlite``, as a node does; stops the one that is open."""
    before: list[SqliteStore] = []

    async def begin(**more: Any) -> SqliteStore:
        for store in before:
            await store.close()
        path = tmp_path / "blocks.sqlite"
        before[:] = [await opened(SqliteStore.open(path, own_issuer=Author(1).did, **more))]
        return before[0]

    return begin
