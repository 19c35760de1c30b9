"""With a real language model behind a real Ollama: small, so it is held to what a small model can do."""

from __future__ import annotations

import pytest

from tests.engines import Ollama
from tests.journeys.conftest import Start, stages

pytestmark = [pytest.mark.engine("ollama"), pytest.mark.timeout(300)]


async def test_hits_do_not_wait_for_a_generating_model(start: Start, real_ollama: Ollama) -> None:
    async with start(ollama=real_ollama.url, models={"ollama_model": real_ollama.model}) as node:
        await node.store("What is a heap?", "A tree-shaped store.")
        import asyncio

        slow = asyncio.create_task(node.ask("Explain the tides of the sea"))
        await asyncio.sleep(0.2)
        reply = await node.ask("What is a heap?")
        assert reply["source"]["kind"] == "cache"
        assert not slow.done()
        assert "compose" in stages(await slow)
