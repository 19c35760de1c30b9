"""What tests of language models share: a scripted child in place of llama.cpp, and its clock."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.manual_clock import ManualClock
from tests.simulators.llama import LlamaStandIn


@pytest.fixture
async def llama() -> AsyncIterator[LlamaStandIn]:
    async with LlamaStandIn() as stand_in:
        yield stand_in


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()
