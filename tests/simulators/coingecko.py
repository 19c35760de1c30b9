"""A stand-in for the CoinGecko API: the vendor's wire format on loopback, bent at will.

Shapes follow the recorded answers; figures and coins are the tests' own. It is no CoinGecko and proves
nothing about CoinGecko: only that our side keeps its promises towards a server of that shape, well behaved
or not.

    async with CoinGeckoStandIn() as cg:
        cg.set_price("bitcoin", usd=76975)
        cg.misbehave("hang", times=1)
        ...  # ask at cg.url
        assert cg.count("/simple/price") == 1

By hand: ``python -m tests.simulators.coingecko --port 0``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from tests.simulators.vendor import Answered, Mischief, Seen, VendorStandIn, by_hand

_PREFIX = "/api/v3"
QUOTED_AT = 1_779_092_258
"""2026-05-18 08:17:38 UTC: the time of the recorded quote."""

_ERRORS = frozenset(("throttle", "throttle_in_200", "status_error", "nested_error", "text_error"))
_FIGURES = frozenset(("figure", "null_fields", "missing_id"))
_COMMON = frozenset(
    (
        "delay",  # seconds, before a good answer
        "hang",  # never answers
        "refuse",  # the connection is reset
        "cut",  # the body breaks off
        "html",  # a page instead of data (status)
        "status",  # an empty answer with that status (status)
        "drip",  # a byte now and then, for ever
        "drip_head",  # a status line, then header bytes for ever
        "oversized",  # declared: true or false
        "redirect",  # to another address (to)
        "body",  # exactly this text (text)
        "nested_json",  # brackets without end
    )
)
"""As every vendor's stand-in does them."""

MISBEHAVIOURS = _COMMON | _ERRORS | _FIGURES
"""The vendor's own: ``throttle`` (429 with ``retry_after``, None for none), ``throttle_in_200`` (the same
body with status 200), ``status_error``, ``nested_error`` (``code``, ``status``) and ``text_error`` (``text``,
``status``) in its three shapes of errors, ``figure`` (every price, or those of ``fields``, becomes
``value``), ``null_fields`` (everything but the price is null), ``missing_id`` (200 with nothing in it)."""

_GLOBAL = {
    "data": {
        "active_cryptocurrencies": 17_397,
        "total_market_cap": {"btc": 34_570_737.199462704, "usd": 2_621_040_321_355.0405, "eur": 2.25e12},
        "total_volume": {"btc": 1_254_779.17, "usd": 95_133_256_404.37308, "eur": 8.1e10},
        "market_cap_percentage": {"btc": 57.9539332566265, "eth": 9.58227145398409, "usdt": 7.22},
        "updated_at": QUOTED_AT,
    }
}
_LIMIT = {
    "status": {
        "error_code": 429,
        "error_message": "You've exceeded the Rate Limit. Please visit the pricing page.",
    }
}


@dataclass(slots=True)
class StandInCoin:
    """A listed coin. Prices by currency; the other figures are in US dollars whatever is asked."""

    id: str
    symbol: str
    name: str
    prices: dict[str, float]
    market_cap: float | None = 1_000_000_000.0
    volume: float | None = 50_000_000.0
    change: float | None = 1.5
    rank: int | None = 100
    updated: int = QUOTED_AT
    past: dict[str, dict[str, float]] = field(default_factory=dict)
    """ISO day to prices."""
    more: dict[str, Any] = field(default_factory=dict)
    """Further fields of its line in the list of markets."""


def _catalogue() -> dict[str, StandInCoin]:
    coins = (
        StandInCoin(
            "bitcoin", "btc", "Bitcoin", {"usd": 76_975, "eur": 66_012.5},
            1_542_226_908_349.8406, 29_096_603_418.89408, -1.4093297098441402, 1,
            past={"2024-01-01": {"usd": 42_208.202176186474, "eur": 38_217.25}},
            more={
                "ath": 126_080, "ath_change_percentage": -38.39571, "ath_date": "2025-10-06T18:57:42.558Z",
                "atl": 67.81, "atl_change_percentage": 114_443.23093, "atl_date": "2013-07-06T00:00:00.000Z",
                "high_24h": 78_419, "low_24h": 76_696, "fully_diluted_valuation": 1_555_914_058_873,
                "circulating_supply": 20_030_493.0, "total_supply": 20_030_843.0, "max_supply": 21_000_000.0,
                "price_change_percentage_7d_in_currency": -4.042267423689584,
                "price_change_percentage_30d_in_currency": 1.9453890367549207,
                "price_change_percentage_1y_in_currency": -25.214612207475373,
            },
        ),
        StandInCoin(
            "ethereum", "eth", "Ethereum", {"usd": 2_123.45, "eur": 1_820.1, "btc": 0.0275862},
            256_000_000_000.0, 18_000_000_000.0, 0.52, 2,
        ),
        StandInCoin("solana", "sol", "Solana", {"usd": 85.25, "eur": 73.1}, 45e9, change=-7.3, rank=7),
        StandInCoin("tether", "usdt", "Tether", {"usd": 0.9998, "eur": 0.857}, 183e9, change=0.01, rank=3),
        StandInCoin("usd-coin", "usdc", "USDC", {"usd": 0.9731}, 73e9, change=-2.6, rank=6),
        StandInCoin("dogecoin", "doge", "Dogecoin", {"usd": 0.10452}, 16_000_000_000.0, rank=9),
        StandInCoin("shiba-inu", "shib", "Shiba Inu", {"usd": 0.00000582}, 3_400_000_000.0, rank=30),
        StandInCoin("cardano", "ada", "Cardano", {"usd": 0.2521}, 9_000_000_000.0, rank=12),
        StandInCoin("dogwifcoin", "wif", "dogwifhat", {"usd": 0.215}, 214_000_000.0, rank=150),
        StandInCoin("wif-standin", "wif", "Another WIF (stand-in)", {"usd": 0.001}, 1_000.0, rank=None),
        StandInCoin("pepecoin-network", "pepecoin", "PepeCoin", {"usd": 0.07}, 9_000_000.0, rank=1_700),
        StandInCoin("pepecoin-standin", "pepecoin", "Pepecoin (stand-in)", {"usd": 1.2}, 7e6, rank=1_900),
    )  # fmt: skip
    return {coin.id: coin for coin in coins}


class CoinGeckoStandIn(VendorStandIn):
    """The server. ``coins`` is what it lists."""

    def __init__(self, port: int = 0) -> None:
        super().__init__(port)
        self.coins = _catalogue()
        self._bends: list[Mischief] = []

    # --- for tests --------------------------------------------------------------------------------

    def set_price(self, coin_id: str, **prices: float) -> None:
        """New prices by currency, for a coin listed or new."""
        coin = self.coins.setdefault(coin_id, StandInCoin(coin_id, coin_id[:4], coin_id.title(), {}))
        coin.prices.update(prices)

    def misbehave(self, kind: str, times: int | None = 1, path: str | None = None, **options: Any) -> None:
        """As every stand-in, and in the vendor's own ways; one request meets one of them, in the order in
        which they were asked for within each kind."""
        if kind not in MISBEHAVIOURS:
            raise ValueError(f"the stand-in cannot {kind}")
        if kind in _COMMON:
            super().misbehave(kind, times, path, **options)
        else:
            self._bends.append(Mischief(kind, times, path, options))

    def behave(self) -> None:
        super().behave()
        self._bends.clear()

    # --- the vendor -------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        self.url += _PREFIX
        return self

    def answer(self, asked: Seen) -> Answered:
        path = "/" + asked.path.removeprefix(_PREFIX).strip("/")
        bend = self.take(self._bends, path)
        if bend is not None and bend.kind in _ERRORS:
            return _error(bend.kind, bend.options)
        return self._good(path, asked.query, bend)

    def _good(self, path: str, query: Mapping[str, str], bent: Mischief | None) -> Answered:
        if path == "/ping":
            return Answered({"gecko_says": "(V3) To the Moon!"})
        if path == "/simple/price":
            return Answered(self._simple_price(query, bent))
        if path == "/coins/markets":
            return Answered(self._markets(query, bent))
        if path == "/search":
            return Answered(self._search(query))
        if path == "/search/trending":
            return Answered(self._trending())
        if path == "/global":
            return Answered(_GLOBAL)
        if path.startswith("/coins/") and path.endswith("/history"):
            coin = self.coins.get(path.split("/")[2])
            if coin is None:
                return Answered({"error": "coin not found"}, 404)
            return Answered(self._history(coin, query, bent))
        return Answered({"error": "Incorrect path. Please check the documentation."}, 404)

    def _simple_price(self, query: Mapping[str, str], bent: Mischief | None) -> dict[str, Any]:
        if bent is not None and bent.kind == "missing_id":
            return {}
        currencies = query.get("vs_currencies", "").split(",")
        out: dict[str, Any] = {}
        for coin_id in query.get("ids", "").split(","):
            if (coin := self.coins.get(coin_id)) is None:
                continue
            row: dict[str, Any] = {}
            for vs in currencies:
                if vs not in coin.prices:
                    continue
                row[vs] = coin.prices[vs]
                if query.get("include_market_cap") == "true":
                    row[f"{vs}_market_cap"] = coin.market_cap
                if query.get("include_24hr_vol") == "true":
                    row[f"{vs}_24h_vol"] = coin.volume
                if query.get("include_24hr_change") == "true":
                    row[f"{vs}_24h_change"] = coin.change
            if query.get("include_last_updated_at") == "true":
                row["last_updated_at"] = coin.updated
            out[coin_id] = _bent_row(row, tuple(currencies), bent)
        return out

    def _markets(self, query: Mapping[str, str], bent: Mischief | None) -> list[dict[str, Any]]:
        if bent is not None and bent.kind == "missing_id":
            return []
        vs = query.get("vs_currency", "usd")
        ranked = sorted(
            (
                coin
                for coin in self.coins.values()
                if vs in coin.prices
                and (coin.id in query["ids"].split(",") if "ids" in query else coin.rank is not None)
            ),
            key=lambda coin: coin.rank or 0,
        )
        return [
            _bent_row(
                {
                    "id": coin.id, "symbol": coin.symbol, "name": coin.name,
                    "image": f"https://coin-images.example/{coin.id}.png", "current_price": coin.prices[vs],
                    "market_cap": coin.market_cap, "market_cap_rank": coin.rank,
                    "total_volume": coin.volume, "price_change_percentage_24h": coin.change,
                    "max_supply": None, "roi": None, "last_updated": "2026-05-18T08:17:38.599Z",
                    **coin.more,
                },
                ("current_price",),
                bent,
            )
            for coin in ranked[: int(query.get("per_page", "100"))]
        ]  # fmt: skip

    def _search(self, query: Mapping[str, str]) -> dict[str, Any]:
        wanted = query.get("query", "").lower()
        found = [
            coin
            for coin in self.coins.values()
            if wanted in coin.symbol.lower() or wanted in coin.name.lower()
        ]
        found.sort(key=lambda coin: coin.rank or 10**9)
        rows = [
            {
                "id": coin.id, "name": coin.name, "api_symbol": coin.id, "symbol": coin.symbol.upper(),
                "market_cap_rank": coin.rank, "thumb": f"https://coin-images.example/{coin.id}.png",
                "large": f"https://coin-images.example/{coin.id}.png",
            }
            for coin in found
        ]  # fmt: skip
        return {"coins": rows, "exchanges": [], "icos": [], "categories": [], "nfts": []}

    def _trending(self) -> dict[str, Any]:
        return {
            "coins": [
                {"item": {"id": coin.id, "name": coin.name, "symbol": coin.symbol.upper(), "score": place}}
                for place, coin in enumerate((self.coins["dogwifcoin"], self.coins["solana"]))
            ],
            "nfts": [],
            "categories": [],
        }

    def _history(self, coin: StandInCoin, query: Mapping[str, str], bent: Mischief | None) -> dict[str, Any]:
        body: dict[str, Any] = {
            "id": coin.id,
            "symbol": coin.symbol,
            "name": coin.name,
            "image": {"thumb": f"https://coin-images.example/{coin.id}.png"},
        }
        day, month, year = query.get("date", "--").split("-")
        prices = coin.past.get(f"{year}-{month}-{day}")
        if prices is not None and (bent is None or bent.kind != "missing_id"):
            figures = _bent_row(dict(prices), tuple(prices), bent)
            body["market_data"] = {
                "current_price": figures,
                "market_cap": dict.fromkeys(prices, coin.market_cap),
                "total_volume": dict.fromkeys(prices, coin.volume),
            }
        return body


def _bent_row(row: dict[str, Any], prices: tuple[str, ...], bent: Mischief | None) -> dict[str, Any]:
    if bent is None:
        return row
    if bent.kind == "figure":
        wrong = bent.options.get("fields", prices)
        return {name: bent.options["value"] if name in wrong else value for name, value in row.items()}
    if bent.kind == "null_fields":
        kept = (*prices, "id", "symbol", "name")
        return {name: value if name in kept else None for name, value in row.items()}
    return row


def _error(kind: str, options: Mapping[str, Any]) -> Answered:
    code, status = options.get("code", 10002), int(options.get("status", 401))
    if kind == "throttle":
        wait = options.get("retry_after", 1)
        return Answered(_LIMIT, 429, {} if wait is None else {"Retry-After": str(wait)})
    if kind == "throttle_in_200":
        return Answered(_LIMIT)
    if kind == "status_error":
        return Answered({"status": {"error_code": code, "error_message": "No."}}, status)
    if kind == "nested_error":
        return Answered({"error": {"status": {"error_code": code, "error_message": "No."}}}, status)
    return Answered({"error": options.get("text", "coin not found")}, int(options.get("status", 404)))


if __name__ == "__main__":
    by_hand(CoinGeckoStandIn)
