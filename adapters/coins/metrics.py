"""Market figures of coins as data: how CoinGecko calls each, how it is said. Pure; it knows no question.

A figure is a row of ``MARKET``; a wording for it is a row of ``words``. Nothing else has to be added.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Metric:
    """``field`` is the name on the wire. ``form``: money, whole (money without cents), coins, rank, percent,
    extreme (money with the day it was reached)."""

    field: str
    words: str
    form: str


MARKET: Mapping[str, Metric] = {
    "ath": Metric("ath", "all-time high", "extreme"),
    "atl": Metric("atl", "all-time low", "extreme"),
    "high_24h": Metric("high_24h", "24 h high", "money"),
    "low_24h": Metric("low_24h", "24 h low", "money"),
    "fdv": Metric("fully_diluted_valuation", "fully diluted valuation", "whole"),
    "circulating_supply": Metric("circulating_supply", "circulating supply", "coins"),
    "total_supply": Metric("total_supply", "total supply", "coins"),
    "max_supply": Metric("max_supply", "maximum supply", "coins"),
    "rank": Metric("market_cap_rank", "rank by market cap", "rank"),
    "change_7d": Metric("price_change_percentage_7d_in_currency", "change in 7 days", "percent"),
    "change_30d": Metric("price_change_percentage_30d_in_currency", "change in 30 days", "percent"),
    "change_1y": Metric("price_change_percentage_1y_in_currency", "change in a year", "percent"),
}
"""Figures of single coins in ``/coins/markets``."""

MOVERS: Mapping[str, str] = {"gainers": "gained", "losers": "lost"}
LISTS = frozenset(("top", "trending", *MOVERS))
"""Lists of coins: their questions have a limit and name no coin."""
WHOLE: Mapping[str, Metric] = {
    "total_market_cap": Metric("total_market_cap", "market cap of all cryptocurrencies together", "whole"),
    "total_volume": Metric("total_volume", "24 h trading volume of all cryptocurrencies together", "whole"),
}
"""Figures of the whole market."""
DOMINANCE, PEG, SUM = "dominance", "peg", "sum"
