"""What the tests of adapters share."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import aiohttp
import pytest

from tests.contracts.adapter_case import session


@pytest.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    """A session as the node builds it."""
    async with AsyncExitStack() as stack:
        yield await session(stack)
