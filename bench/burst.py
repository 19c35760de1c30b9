"""Five hundred questions at once: none lost, no limit broken.

    python -m bench.burst [--asks 500]

Method. A fresh node in a process of its own, with the shipped limits; a stand-in for CoinGecko in this
process, which counts. All questions, each another one, are sent at the same moment on connections of their
own: a fifth each of sums, prices of different coins (more than the limit of calls allows), other live topics
whose source is off, explanations (no model is configured) and statements. A question is lost when it gets no
HTTP 200 with an answer. Times are the client's, from the moment of the burst; with everything at once they
say how long the last ones wait, not what one question costs.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import aiohttp
import numpy as np

from bench.fresh_node import fresh_node, load_average
from node.core.clock import SystemClock
from node.language.reading import word_list
from tests.simulators.coingecko import CoinGeckoStandIn

ASKS = 500
PER_MINUTE = 10
"""The shipped limit without a key."""
_COINS = word_list(
    """btc eth sol doge ada xrp ltc dot link avax atom uni etc xlm near fil icp apt arb op sui trx ton hbar
    vet algo ftm mana sand axs aave mkr snx crv grt rune egld xtz eos neo"""
)
_CURRENCIES = ("usd", "eur", "gbp", "jpy", "chf")
_TOPICS = ("the weather in", "the time difference between London and", "news about", "rain tomorrow in")


def questions(asks: int) -> list[str]:
    """``asks`` different questions, the kinds taking turns."""
    made: list[str] = []
    for number in range(asks):
        kind, place = number % 5, number // 5
        if kind == 0:
            made.append(f"what is {place} * 17 + {place}")
        elif kind == 1:
            coin = _COINS[place % len(_COINS)]
            made.append(f"price of {coin} in {_CURRENCIES[place // len(_COINS) % len(_CURRENCIES)]}")
        elif kind == 2:
            made.append(f"{_TOPICS[place % len(_TOPICS)]} Place{place}?")
        elif kind == 3:
            made.append(f"explain why theorem {place} holds")
        else:
            made.append(f"I like turtle number {place}.")
    return made


async def burst(asks: int) -> int:
    """Run it; 1 if anything was lost or a limit was broken."""
    clock = SystemClock()
    with tempfile.TemporaryDirectory() as folder:
        async with CoinGeckoStandIn() as source:
            more = {"ADAPTERS__COINGECKO__ENABLED": "true", "ADAPTERS__COINGECKO__BASE_URL": source.url}
            async with (
                fresh_node(Path(folder), more) as node,
                aiohttp.ClientSession(trust_env=False, connector=aiohttp.TCPConnector(limit=0)) as http,
            ):
                warm = {"query": "explain what a warm-up is"}
                async with http.post(f"{node.url}/chat", json=warm) as response:
                    await response.read()
                started = clock.monotonic()

                async def ask(text: str) -> tuple[int, dict[str, Any], float]:
                    async with http.post(f"{node.url}/chat", json={"query": text}) as response:
                        body = await response.json(content_type=None)
                        return response.status, body, clock.monotonic() - started

                replies = await asyncio.gather(*(ask(text) for text in questions(asks)))
                calls = source.count()
    answered = [reply for reply in replies if reply[0] == 200 and reply[1].get("answer")]
    statuses = Counter(status for status, _, _ in replies)
    sources = Counter(body["source"]["kind"] for _, body, _ in answered)
    logged = len({body["decision"]["index"] for _, body, _ in answered if body["decision"]})
    seconds = [took for _, _, took in replies]
    p50, p99 = np.percentile(seconds, [50, 99])
    print(f"{asks} different questions at once: {len(answered)} answered, {asks - len(answered)} lost")
    print(f"statuses: {dict(sorted(statuses.items()))}; entries of the decision log: {logged}")
    print(f"answered by: {', '.join(f'{kind} {count}' for kind, count in sources.most_common())}")
    print(f"calls that reached the source: {calls} (limit {PER_MINUTE} a minute)")
    print(f"seconds from the burst to the reply: p50 {p50:.2f}, p99 {p99:.2f}, last {max(seconds):.2f}")
    print(f"load when it ended: {load_average()}")
    return int(len(answered) != asks or logged != asks or calls > PER_MINUTE)


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.burst")
    parser.add_argument("--asks", type=int, default=ASKS)
    return asyncio.run(burst(parser.parse_args().asks))


if __name__ == "__main__":
    sys.exit(main())
