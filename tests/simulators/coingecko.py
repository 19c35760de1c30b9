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

import argparse
import asyncio
import contextlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from aiohttp import web

QUOTED_AT = 1_779_092_258
"""2026-05-18 08:17:38 UTC: the time of the recorded quote."""

MISBEHAVIOURS = frozenset(
    (
        "delay",  # seconds, before a good answer
        "hang",  # never answers
        "throttle",  # 429 with Retry-After (retry_after, None for none)
        "throttle_in_200",  # the 429 body with status 200
        "refuse",  # the connection is reset
        "cut",  # the body breaks off
        "html",  # a page instead of data (status)
        "status_error",  # {status: {error_code}} (code, status)
        "nested_error",  # {error: {status: {error_code}}} (code, status)
        "text_error",  # {error: "text"} (text, status)
        "status",  # an empty answer with that status (status)
        "drip",  # a byte now and then, for ever
        "drip_head",  # a status line, then header bytes for ever
        "oversized",  # declared: true or false
        "figure",  # every figure of a quote becomes value (NaN, text, negative, null ...)
        "null_fields",  # everything but the price is null
        "missing_id",  # 200 with nothing in it
        "redirect",  # to another address (to)
        "body",  # exactly this text (text)
        "nested_json",  # brackets without end
    )
)


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


@dataclass(frozen=True, slots=True)
class Seen:
    """One request as it arrived."""

    path: str
    query: dict[str, str]
    headers: dict[str, str]


@dataclass(slots=True)
class _Mischief:
    kind: str
    times: int | None
    path: str | None
    options: dict[str, Any]


def _catalogue() -> dict[str, StandInCoin]:
    coins = (
        StandInCoin(
            "bitcoin",
            "btc",
            "Bitcoin",
            {"usd": 76_975, "eur": 66_012.5},
            1_542_226_908_349.8406,
            29_096_603_418.89408,
            -1.4093297098441402,
            1,
            past={"2024-01-01": {"usd": 42_208.202176186474, "eur": 38_217.25}},
        ),
        StandInCoin(
            "ethereum",
            "eth",
            "Ethereum",
            {"usd": 2_123.45, "eur": 1_820.1, "btc": 0.0275862},
            256_000_000_000.0,
            18_000_000_000.0,
            0.52,
            2,
        ),
        StandInCoin("solana", "sol", "Solana", {"usd": 85.25, "eur": 73.1}, 45_000_000_000.0, rank=7),
        StandInCoin("dogecoin", "doge", "Dogecoin", {"usd": 0.10452}, 16_000_000_000.0, rank=9),
        StandInCoin("shiba-inu", "shib", "Shiba Inu", {"usd": 0.00000582}, 3_400_000_000.0, rank=30),
        StandInCoin("cardano", "ada", "Cardano", {"usd": 0.2521}, 9_000_000_000.0, rank=12),
        StandInCoin("dogwifcoin", "wif", "dogwifhat", {"usd": 0.215}, 214_000_000.0, rank=150),
        StandInCoin("wif-standin", "wif", "Another WIF (stand-in)", {"usd": 0.001}, 1_000.0, rank=None),
        StandInCoin("pepecoin-network", "pepecoin", "PepeCoin", {"usd": 0.07}, 9_000_000.0, rank=1_700),
        StandInCoin(
            "pepecoin-standin", "pepecoin", "Pepecoin (stand-in)", {"usd": 1.2}, 7_000_000.0, rank=1_900
        ),
    )
    return {coin.id: coin for coin in coins}


class CoinGeckoStandIn:
    """The server. ``requests`` holds everything asked; ``wait_for`` waits until so much was asked."""

    def __init__(self, port: int = 0) -> None:
        self._port = port
        self.coins = _catalogue()
        self.requests: list[Seen] = []
        self.url = ""
        self._mischief: list[_Mischief] = []
        self._changed = asyncio.Event()
        self._closing = asyncio.Event()
        self._runner: web.AppRunner | None = None

    # --- for tests --------------------------------------------------------------------------------

    def set_price(self, coin_id: str, **prices: float) -> None:
        """New prices by currency, for a coin listed or new."""
        coin = self.coins.setdefault(coin_id, StandInCoin(coin_id, coin_id[:4], coin_id.title(), {}))
        coin.prices.update(prices)

    def misbehave(self, kind: str, times: int | None = 1, path: str | None = None, **options: Any) -> None:
        """From now on, ``times`` requests (None: all) whose path ends in ``path`` meet ``kind``."""
        if kind not in MISBEHAVIOURS:
            raise ValueError(f"the stand-in cannot {kind}")
        self._mischief.append(_Mischief(kind, times, path, options))

    def behave(self) -> None:
        """End all misbehaviour, for requests to come."""
        self._mischief.clear()

    def count(self, path: str = "") -> int:
        """How many requests ended in ``path``."""
        return sum(seen.path.endswith(path) for seen in self.requests)

    async def wait_for(self, count: int, path: str = "") -> None:
        """Return when so many requests have arrived."""
        while self.count(path) < count:
            self._changed.clear()
            await self._changed.wait()

    # --- server -----------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._serve)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self._port)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{port}/api/v3"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        if self._runner is not None:
            await self._runner.cleanup()

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        path = "/" + request.match_info["path"].removeprefix("api/v3").strip("/")
        self.requests.append(Seen(path, dict(request.query), dict(request.headers)))
        self._changed.set()
        mischief = self._next(path)
        if mischief is None:
            return self._answer(path, request.query, None)
        return await self._bend(mischief, path, request)

    def _next(self, path: str) -> _Mischief | None:
        for mischief in self._mischief:
            if mischief.path is not None and not path.endswith(mischief.path):
                continue
            if mischief.times is not None:
                mischief.times -= 1
                if mischief.times <= 0:
                    self._mischief.remove(mischief)
            return mischief
        return None

    async def _bend(self, mischief: _Mischief, path: str, request: web.Request) -> web.StreamResponse:
        kind, options = mischief.kind, mischief.options
        if kind == "delay":
            await asyncio.sleep(options.get("seconds", 0.1))
            return self._answer(path, request.query, None)
        if kind == "hang":
            await self._closing.wait()
            return web.Response()
        if kind in ("drip", "drip_head", "cut"):
            return await self._trickle(kind, request)
        if kind == "refuse":
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        if kind in ("figure", "null_fields", "missing_id"):
            return self._answer(path, request.query, mischief)
        return _plain_mischief(kind, options)

    async def _trickle(self, kind: str, request: web.Request) -> web.StreamResponse:
        transport = request.transport
        assert transport is not None
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
        if kind == "cut":
            transport.write(head + b'Content-Length: 500\r\n\r\n{"bitcoin": {"usd": 7')
            await asyncio.sleep(0.02)
            transport.close()
            return web.Response()
        transport.write(head + (b"X-Slow: " if kind == "drip_head" else b"Content-Length: 100000\r\n\r\n"))
        while not self._closing.is_set() and not transport.is_closing():
            transport.write(b" " if kind == "drip" else b"x")
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._closing.wait(), 0.02)
        return web.Response()

    def _answer(self, path: str, query: Mapping[str, str], bent: _Mischief | None) -> web.Response:
        if path == "/ping":
            return _json({"gecko_says": "(V3) To the Moon!"})
        if path == "/simple/price":
            return _json(self._simple_price(query, bent))
        if path == "/coins/markets":
            return _json(self._markets(query, bent))
        if path == "/search":
            return _json(self._search(query))
        if path.startswith("/coins/") and path.endswith("/history"):
            coin = self.coins.get(path.split("/")[2])
            if coin is None:
                return _json({"error": "coin not found"}, status=404)
            return _json(self._history(coin, query, bent))
        return _json({"error": "Incorrect path. Please check the documentation."}, status=404)

    def _simple_price(self, query: Mapping[str, str], bent: _Mischief | None) -> dict[str, Any]:
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

    def _markets(self, query: Mapping[str, str], bent: _Mischief | None) -> list[dict[str, Any]]:
        if bent is not None and bent.kind == "missing_id":
            return []
        vs = query.get("vs_currency", "usd")
        ranked = sorted(
            (coin for coin in self.coins.values() if coin.rank is not None and vs in coin.prices),
            key=lambda coin: coin.rank or 0,
        )
        return [
            _bent_row(
                {
                    "id": coin.id,
                    "symbol": coin.symbol,
                    "name": coin.name,
                    "image": f"https://coin-images.example/{coin.id}.png",
                    "current_price": coin.prices[vs],
                    "market_cap": coin.market_cap,
                    "market_cap_rank": coin.rank,
                    "total_volume": coin.volume,
                    "price_change_percentage_24h": coin.change,
                    "roi": None,
                    "last_updated": "2026-05-18T08:17:38.599Z",
                },
                ("current_price",),
                bent,
            )
            for coin in ranked[: int(query.get("per_page", "100"))]
        ]

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
                "id": coin.id,
                "name": coin.name,
                "api_symbol": coin.id,
                "symbol": coin.symbol.upper(),
                "market_cap_rank": coin.rank,
                "thumb": f"https://coin-images.example/{coin.id}.png",
                "large": f"https://coin-images.example/{coin.id}.png",
            }
            for coin in found
        ]
        return {"coins": rows, "exchanges": [], "icos": [], "categories": [], "nfts": []}

    def _history(self, coin: StandInCoin, query: Mapping[str, str], bent: _Mischief | None) -> dict[str, Any]:
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


def _bent_row(row: dict[str, Any], prices: tuple[str, ...], bent: _Mischief | None) -> dict[str, Any]:
    if bent is None:
        return row
    if bent.kind == "figure":
        wrong = bent.options.get("fields", prices)
        return {name: bent.options["value"] if name in wrong else value for name, value in row.items()}
    if bent.kind == "null_fields":
        kept = (*prices, "id", "symbol", "name")
        return {name: value if name in kept else None for name, value in row.items()}
    return row


def _plain_mischief(kind: str, options: Mapping[str, Any]) -> web.Response:
    limit = {
        "status": {
            "error_code": 429,
            "error_message": "You've exceeded the Rate Limit. Please visit the pricing page.",
        }
    }
    code = options.get("code", 10002)
    status = int(options.get("status", 200 if kind in ("body", "nested_json") else 401))
    if kind == "throttle":
        wait = options.get("retry_after", 1)
        return _json(limit, 429, {} if wait is None else {"Retry-After": str(wait)})
    if kind == "throttle_in_200":
        return _json(limit)
    if kind == "html":
        page = "<!DOCTYPE html><html><body>One moment please: 76975 dollars</body></html>"
        return web.Response(text=page, status=int(options.get("status", 200)), content_type="text/html")
    if kind == "status_error":
        return _json({"status": {"error_code": code, "error_message": "No."}}, status)
    if kind == "nested_error":
        return _json({"error": {"status": {"error_code": code, "error_message": "No."}}}, status)
    if kind == "text_error":
        return _json({"error": options.get("text", "coin not found")}, int(options.get("status", 404)))
    if kind == "status":
        return web.Response(status=status, headers=options.get("headers", {}))
    if kind == "oversized":
        return _oversized(declared=bool(options.get("declared", True)))
    if kind == "redirect":
        return web.Response(status=302, headers={"Location": str(options["to"])})
    if kind == "nested_json":
        return web.Response(text="[" * 200_000, content_type="application/json")
    return web.Response(text=str(options.get("text", "")), content_type="application/json")


def _oversized(*, declared: bool) -> web.Response:
    body = b'{"bitcoin": {"usd": 76975}, "x": "' + b"x" * (3 * 2**20) + b'"}'
    response = web.Response(body=body, content_type="application/json")
    if not declared:
        response.enable_chunked_encoding()
    return response


def _json(body: object, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    # json.dumps writes NaN as NaN, as a careless server would.
    return web.Response(
        text=json.dumps(body), status=status, headers=headers, content_type="application/json"
    )


async def _main() -> None:
    parser = argparse.ArgumentParser(description="A stand-in for the CoinGecko API on loopback.")
    parser.add_argument("--port", type=int, default=0)
    async with CoinGeckoStandIn(parser.parse_args().port) as stand_in:
        print(f"stand-in listening on {stand_in.url}", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_main())
