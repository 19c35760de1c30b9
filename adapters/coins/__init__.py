"""Prices of cryptocurrencies: one reader of questions, two sources of figures."""

from __future__ import annotations

from adapters.coins.coinbase import Coinbase
from adapters.coins.coingecko import CoinGecko

__all__ = ["CoinGecko", "Coinbase"]
