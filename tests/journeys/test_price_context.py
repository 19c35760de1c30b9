"""S2-19: what a source of prices adds to a question that it cannot answer alone reaches the model."""

from __future__ import annotations

import pytest

from tests.journeys.conftest import Start, stages
from tests.simulators.coingecko import CoinGeckoStandIn
from tests.simulators.ollama import OllamaStandIn


@pytest.mark.parametrize("text", ["What's the ROI of BTC?", "Should I buy bitcoin now?"])
async def test_the_price_is_context_for_a_judgement_of_a_coin(start: Start, text: str) -> None:
    async with (
        OllamaStandIn() as model,
        CoinGeckoStandIn() as vendor,
        start(ollama=model.url, coingecko=vendor.url) as node,
    ):
        reply = await node.ask(text)
        assert reply["route"] == "generative"
        order = stages(reply)
        assert order.index("adapter:coingecko") < order.index("compose")
        [chat] = model.chats
        assert "$76,975.00" in chat.prompt
        assert any(citation["source"] == "CoinGecko" for citation in reply["citations"]), reply["citations"]


async def test_without_the_source_the_judgement_is_still_answered(start: Start) -> None:
    async with OllamaStandIn() as model, start(ollama=model.url) as node:
        reply = await node.ask("What's the ROI of BTC?")
        assert reply["answer"]
        [chat] = model.chats
        assert "$" not in chat.prompt
