"""Prices for the adapter contract: both sources over their stand-ins, CoinGecko over recorded answers too."""

from __future__ import annotations

from contextlib import AsyncExitStack

from adapters.coins import Coinbase, CoinGecko
from node.core.ports import Adapter
from node.core.settings import AdapterSettings
from tests.contracts.adapter_case import DEAD_URL, FIXTURES, NO_FIXTURES, Case, FixedDay, session
from tests.simulators.coinbase import CoinbaseStandIn
from tests.simulators.coingecko import CoinGeckoStandIn
from tests.simulators.vendor import Answered, Seen, VendorStandIn

_RECORDED = {
    "/simple/price": "simple_price_full.json",
    "/coins/markets": "coins_markets_2023.json",
    "/coins/bitcoin/history": "coin_history_bitcoin.json",
}


_LIST_OF_THE_DAY = b"2023-12-25T18", b"2026-05-18T08"
"""The list was recorded on another day than the prices, and a quote of before the last day is refused."""


class _Recorded(VendorStandIn):
    """Answers as they were recorded, whatever is asked of a path."""

    def answer(self, asked: Seen) -> Answered:
        name = next((file for path, file in _RECORDED.items() if asked.path.endswith(path)), None)
        if name is None:
            return Answered({"error": "coin not found"}, 404)
        body = (FIXTURES / "coingecko" / name).read_bytes()
        return Answered(body.replace(*_LIST_OF_THE_DAY))


def _adapter(url: str) -> CoinGecko:
    return CoinGecko(AdapterSettings(base_url=url, timeout_s=5, per_minute=1_000), FixedDay())


async def _coingecko(stack: AsyncExitStack, alive: bool) -> Adapter:
    url = f"{DEAD_URL}/api/v3"
    if alive:
        url = (await stack.enter_async_context(CoinGeckoStandIn())).url
    return _adapter(url)


async def _recorded(stack: AsyncExitStack, alive: bool) -> Adapter:
    url = DEAD_URL
    if alive:
        url = (await stack.enter_async_context(_Recorded())).url
    return _adapter(f"{url}/api/v3")


async def _coinbase(stack: AsyncExitStack, alive: bool) -> Adapter:
    url = DEAD_URL
    if alive:
        url = (await stack.enter_async_context(CoinbaseStandIn())).url
    settings = AdapterSettings(base_url=url, timeout_s=5, per_minute=1_000)
    return Coinbase(settings, await session(stack), FixedDay())


_SAME = (("Bitcoin value", "BTC worth today"), ("price of btc", "what is the price of bitcoin"))

CASES: dict[str, Case] = {
    "coingecko": Case(
        _coingecko,
        ("price of btc", "How much is 2.5 ETH in euros?", "top 3 cryptocurrencies", "24h volume of eth"),
        _SAME,
        (
            ("price of btc", "and ETH?", "price of ethereum"),
            ("How much is 2.5 ETH?", "in euros?", "2.5 eth in eur"),
            ("price of btc", "and yesterday?", "bitcoin price yesterday"),
            ("precio del bitcoin", "y ethereum?", "price of ethereum"),
            ("price of btc", "market cap?", "market cap of bitcoin"),
        ),
    ),
    "coingecko (recorded)": Case(
        _recorded,
        ("price of btc", "market cap of bitcoin", "top 2 cryptocurrencies", "btc price on 1 January 2024"),
        _SAME,
        skip=NO_FIXTURES,
    ),
    "coinbase": Case(
        _coinbase,
        ("price of btc", "How much is 2.5 ETH in euros?", "price of btc and eth"),
        _SAME,
        (
            ("price of btc", "and ETH?", "price of ethereum"),
            ("price of btc", "und in euro?", "price of btc in eur"),
        ),
    ),
}
