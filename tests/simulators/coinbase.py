"""A stand-in for Coinbase Exchange's public tickers: the vendor's wire format on loopback.

The shape follows the vendor's description (``/products/{pair}/ticker``: figures as texts, time in ISO 8601);
the figures are the tests' own, near those of the CoinGecko stand-in.

By hand: ``python -m tests.simulators.coinbase --port 0``.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.simulators.vendor import Answered, Seen, VendorStandIn, by_hand

TRADED_AT = "2026-05-18T08:17:40.123456Z"


@dataclass(slots=True)
class Pair:
    """What is traded. Texts, as the vendor writes them."""

    price: str
    bid: str
    ask: str
    time: str = TRADED_AT


def _pairs() -> dict[str, Pair]:
    return {
        "BTC-USD": Pair("76980.01", "76980", "76980.02"),
        "BTC-EUR": Pair("66010.5", "66010.11", "66011"),
        "BTC-GBP": Pair("57300.25", "57300", "57301"),
        "ETH-USD": Pair("2123.6", "2123.59", "2123.61"),
        "ETH-EUR": Pair("1820.22", "1820.2", "1820.4"),
        "SOL-USD": Pair("85.27", "85.26", "85.28"),
        "SHIB-USD": Pair("0.00000583", "0.00000582", "0.00000584"),
    }


class CoinbaseStandIn(VendorStandIn):
    """The server. ``pairs`` is what it trades."""

    def __init__(self, port: int = 0) -> None:
        super().__init__(port)
        self.pairs = _pairs()

    def answer(self, asked: Seen) -> Answered:
        parts = asked.path.strip("/").split("/")
        if len(parts) != 3 or (parts[0], parts[2]) != ("products", "ticker") or parts[1] not in self.pairs:
            return Answered({"message": "NotFound"}, 404)
        pair = self.pairs[parts[1]]
        return Answered(
            {
                "ask": pair.ask, "bid": pair.bid, "volume": "5832.61482936", "trade_id": 1_019_335_437,
                "price": pair.price, "size": "0.00012987", "time": pair.time, "rfq_volume": "11.2",
            }
        )  # fmt: skip


if __name__ == "__main__":
    by_hand(CoinbaseStandIn)
