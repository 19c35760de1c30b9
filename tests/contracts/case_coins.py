"""Prices for the adapter contract."""

from __future__ import annotations

from contextlib import AsyncExitStack

from adapters.coingecko import CoinGecko
from node.ports import Adapter
from node.settings import AdapterSettings
from tests.contracts.adapter_case import DEAD_URL, Case, FixedDay
from tests.simulators.coingecko import CoinGeckoStandIn


async def _coingecko(stack: AsyncExitStack, alive: bool) -> Adapter:
    url = f"{DEAD_URL}/api/v3"
    if alive:
        url = (await stack.enter_async_context(CoinGeckoStandIn())).url
    return CoinGecko(AdapterSettings(base_url=url, timeout_s=5, per_minute=1_000), FixedDay())


CASES: dict[str, Case] = {
    "coingecko": Case(
        _coingecko,
        ("price of btc", "How much is 2.5 ETH in euros?", "top 3 cryptocurrencies", "24h volume of eth"),
        (("Bitcoin value", "BTC worth today"), ("price of btc", "what is the price of bitcoin")),
    ),
}
