"""Forty tasks for the agent, beside the plain road on the same tasks and the same model.

    python -m bench.agent --gguf FILE                 (xllamacpp or llama-cpp-python in the node)
    python -m bench.agent --url http://…/v1 --model M (a server that speaks OpenAI's API; key: OPENAI_API_KEY)

Three kinds: one exact tool; documents; several hops, which need two documents, or a document and a price or
a sum. Documents (``documents/``) and tasks (``tasks.jsonl``) are invented, and were written before the loop
was run on them. Prices come from a stand-in for CoinGecko on loopback, so that every task has one answer. A
task is right where all its facts stand in the answer, thousands written in any way. Each road gets a node of
its own; both ask with ``no_cache``. Nothing here is used to tune anything."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import aiohttp

from tests.faults.node_kit import Client, start
from tests.simulators.coingecko import CoinGeckoStandIn

HERE = Path(__file__).parent
PRICES: Mapping[str, Mapping[str, float]] = {
    "bitcoin": {"usd": 60_000, "eur": 52_000},
    "ethereum": {"usd": 3_000, "eur": 2_600},
    "solana": {"usd": 150, "eur": 130},
    "litecoin": {"usd": 80, "eur": 70},
}
KINDS = ("exact", "documents", "hops")


def tasks() -> list[dict[str, Any]]:
    return [json.loads(line) for line in (HERE / "tasks.jsonl").read_text("utf-8").splitlines()]


def plain(text: str) -> str:
    """For comparison: small letters, and thousands without a mark between them."""
    return re.sub(r"(?<=\d)[,  ](?=\d{3}\b)", "", text.lower())


def is_right(answer: str, facts: Sequence[Sequence[str]]) -> bool:
    """Whether one variant of each fact stands in the answer; a figure not inside of a longer one."""
    said = plain(answer)
    return all(any(re.search(rf"(?<![\d.]){re.escape(one)}(?!\d)", said) for one in some) for some in facts)


async def prepared(node: Client) -> None:
    for path in sorted((HERE / "documents").iterdir()):
        status, body, _ = await node.send("POST", f"/v1/documents?path={path.name}", data=path.read_bytes())
        assert status == 201, body


async def answered(node: Client, task: Mapping[str, Any], mode: str) -> dict[str, Any]:
    began = time.monotonic()
    body = {"query": task["question"], "verbose": True, "mode": mode, "no_cache": True, "no_store": True}
    status, reply, _ = await node.send("POST", "/chat", body, timeout=aiohttp.ClientTimeout(node.patience_s))
    assert status == 200, reply
    trace = [(one["stage"], one["outcome"]) for one in reply["trace"]]
    return {
        "id": task["id"],
        "mode": mode,
        "right": is_right(reply["answer"], task["facts"]),
        "answer": reply["answer"],
        "source": reply["source"]["kind"],
        "calls": [f"{stage[5:]} {outcome}" for stage, outcome in trace if stage.startswith("tool:")],
        "gave_up": [
            one["reason"] for one in reply["trace"] if (one["stage"], one["outcome"]) == ("agent", "gave_up")
        ],
        "generations": sum(stage == "generate" for stage, _ in trace),
        "took_s": round(time.monotonic() - began, 1),
    }


async def run(
    models: Mapping[str, Any], wanted: Sequence[Mapping[str, Any]], out: Path
) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        async with CoinGeckoStandIn() as coins:
            for name, by in PRICES.items():
                coins.set_price(name, **by)
            for mode in ("plain", "agent"):
                settings: dict[str, Any] = {
                    "coingecko": coins.url,
                    "models": dict(models),
                    "embed": "local",
                    "server": {"request_timeout_s": 3 * models["timeout_s"]},
                    "patience_s": 4.0 * models["timeout_s"],
                }
                async with start(Path(folder) / mode, **settings) as node:
                    await prepared(node)
                    for task in wanted:
                        row = {"kind": task["kind"], **await answered(node, task, mode)}
                        found.append(row)
                        told(row)
                        await asyncio.to_thread(
                            out.write_text, "\n".join(map(json.dumps, found)) + "\n", "utf-8"
                        )
    return found


def told(row: Mapping[str, Any]) -> None:
    """One line while it goes on."""
    verdict = "right" if row["right"] else "WRONG"
    print(row["mode"], row["id"], verdict, row["took_s"], "s", row["calls"], row["answer"][:90], flush=True)


def report(rows: Sequence[Mapping[str, Any]]) -> str:
    lines = [
        "| kind | tasks | plain road | agent | agent alone | plain alone | agent, median s |",
        "|---|---|---|---|---|---|---|",
    ]
    for kind in (*KINDS, "all"):
        by = {
            mode: {row["id"]: row for row in rows if row["mode"] == mode and kind in (row["kind"], "all")}
            for mode in ("plain", "agent")
        }
        pairs = [
            (by["plain"][name]["right"], by["agent"][name]["right"])
            for name in by["agent"]
            if name in by["plain"]
        ]
        if pairs:
            took = statistics.median(row["took_s"] for row in by["agent"].values())
            cells = [kind, len(pairs), sum(one for one, _ in pairs), sum(two for _, two in pairs)]
            cells += [
                sum(two and not one for one, two in pairs),
                sum(one and not two for one, two in pairs),
                took,
            ]
            lines.append("| " + " | ".join(map(str, cells)) + " |")
    agent = [row for row in rows if row["mode"] == "agent"]
    own = [row for row in agent if not row["gave_up"]]
    right = sum(row["right"] for row in own)
    lines.append(f"\nanswered by the loop itself: {len(own)} of {len(agent)}, of them right: {right}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.agent", description=__doc__)
    parser.add_argument("--gguf", help="a model file for the node's own llama.cpp")
    parser.add_argument("--url", help="an address that speaks OpenAI's API, with its /v1")
    parser.add_argument("--model", default="", help="its name there")
    parser.add_argument("--only", choices=KINDS)
    parser.add_argument("--most", type=int, default=0, help="so many tasks of each kind; 0: all")
    parser.add_argument("--timeout", type=int, default=120, help="seconds for one generation")
    parser.add_argument("--out", type=Path, default=Path("agent.jsonl"))
    given = parser.parse_args()
    if bool(given.gguf) == bool(given.url):
        parser.error("say either --gguf or --url")
    models: dict[str, Any] = (
        {"gguf_path": given.gguf}
        if given.gguf
        else {
            "openai_base_url": given.url,
            "openai_model": given.model,
            "openai_api_key": os.environ.get("OPENAI_API_KEY", ""),
        }
    )
    models["timeout_s"] = given.timeout
    wanted: list[dict[str, Any]] = []
    for kind in KINDS:
        some = [task for task in tasks() if task["kind"] == kind and given.only in (None, kind)]
        wanted += some[: given.most or None]
    print(report(asyncio.run(run(models, wanted, given.out))))


if __name__ == "__main__":
    main()
