"""Hits a second beside other caches, in one run: LiteLLM's proxy (exact) and GPTCache's look-up (semantic).

    python -m bench.throughput_peers [--records 1000] [--seconds 4] [--rounds 3] [--write]

Method. A node as shipped holds ``--records`` questions; LiteLLM's proxy answers the same ones from its cache
in memory, each asked once before, in front of a stand-in of a model over loopback. Both are driven in turn by
a client in a third process, at 1 and at 16 connections. Semantic: wordings that nobody used before, once
each, at one connection; GPTCache looks the same ones up among the same records in a process of its own, with
vectors of the same embedder, whose time for one text is added; it has no server.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
from aiohttp import ClientError, ClientSession, web

from bench.__main__ import machine
from bench.fresh_node import fresh_node, load_average
from bench.hits import EXACT, SEMANTIC, write_index
from bench.peers.outside import GPTCACHE, Absent, Peer, environment, run
from bench.questions import Question, questions
from bench.throughput import Bench, Questions, client_process
from node.models.embedders.local import MiniLm, installed_files

RESULT = Path(__file__).resolve().parent / "results" / "throughput_peers.md"
LITELLM = Peer("LiteLLM", "", ("litellm[proxy]==1.108.7",), "its proxy with cache_params: {type: local}")
START_S = 90
CHAT = "/v1/chat/completions"


@asynccontextmanager
async def litellm() -> AsyncIterator[int]:
    """The port of a proxy in front of a stand-in. Raises ``Absent``."""
    python = environment(LITELLM)
    said = {"role": "assistant", "content": "It is so."}
    reply = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "usage": {}}
    reply |= {"choices": [{"index": 0, "message": said, "finish_reason": "stop"}]}

    async def answer(_: web.Request) -> web.Response:
        return web.json_response(reply)

    app = web.Application()
    app.router.add_post(CHAT, answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    upstream = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    model = {"model": "openai/m", "api_base": upstream, "api_key": "none"}
    with tempfile.TemporaryDirectory() as folder, socket.socket() as free:
        config = Path(folder) / "config.yaml"
        cached = {"cache": True, "cache_params": {"type": "local"}}
        listed = [{"model_name": "m", "litellm_params": model}]
        config.write_text(json.dumps({"model_list": listed, "litellm_settings": cached}))
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        more = {"LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY": "true"}
        process = await asyncio.create_subprocess_exec(
            *(python.with_name("litellm"), "--config", config, "--port", str(port), "--host", "127.0.0.1"),
            cwd=folder,
            env=os.environ | more,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            await _answers(port)
            yield port
        finally:
            process.terminate()
            await asyncio.wait_for(process.wait(), 20)
            await runner.cleanup()


async def _answers(port: int) -> None:
    async with ClientSession() as session:
        for _ in range(START_S):
            try:
                async with session.get(f"http://127.0.0.1:{port}/health/liveliness"):
                    return
            except ClientError:
                await asyncio.sleep(1)
    raise Absent(f"LiteLLM does not answer within {START_S} s")


async def measured(wanted: argparse.Namespace) -> list[str]:
    """The lines of the table."""
    every = questions()
    stored, others = every[: wanted.records], every[wanted.records :]
    texts = [one.text for one in stored]
    lines = []
    with tempfile.TemporaryDirectory() as folder, client_process() as client:
        index = Path(folder) / "knowledge-index.json"
        await write_index(index, stored)
        async with fresh_node(Path(folder) / "node", {"INDEX_FILE": str(index)}) as node, litellm() as port:
            bench = Bench(node, client, wanted.seconds)
            ours = urlsplit(node.url).port or 0
            await bench.ask_all(texts)
            await bench.ask_all(texts, port, CHAT)
            for connections in (1, 16):
                rates: dict[int, list[float]] = {ours: [], port: []}
                for _ in range(wanted.rounds):
                    for where, path in ((ours, "/chat"), (port, CHAT)):
                        driven = await bench.drive(where, texts * 20, connections, path)
                        rates[where].append(driven.per_s)
                mine, theirs = (statistics.median(rates[one]) for one in (ours, port))
                lines.append(
                    f"| {EXACT}, {connections} | {mine:,.0f} | {theirs:,.0f} | {mine / theirs:.1f} |"
                )
                print(lines[-1], flush=True)
            asks = [one.text for one in Questions(stored, others).window(SEMANTIC)]
            driven = await bench.drive(ours, asks, 1)
            mine = statistics.median(driven.times_ms)
        theirs = await asyncio.to_thread(_gptcache, stored, asks[: len(driven.times_ms)])
        lines.append(f"| {SEMANTIC}, 1 (GPTCache) | {mine:.1f} ms | {theirs:.1f} ms | {theirs / mine:.1f} |")
        print(lines[-1], flush=True)
    return lines


def _gptcache(stored: Sequence[Question], asks: Sequence[str]) -> float:
    """Milliseconds of a look-up, embedding included."""
    engine = MiniLm.open(installed_files(), threads=1)
    texts = [one.text for one in stored] + list(asks)
    vectors, took = [], []
    for text in texts:
        begun = time.perf_counter()
        [vector] = engine.embed([text])
        took.append((time.perf_counter() - begun) * 1_000)
        vectors.append(np.zeros(384, np.float32) if vector is None else vector)
    looked = run(GPTCACHE, texts, np.stack(vectors)).ms[len(stored) :]
    return statistics.median(looked) + statistics.median(took)


HEAD = "| kind, connections | ours | theirs | ours is so many times as fast |\n|---|---|---|---|"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="bench.throughput_peers", description="hits beside other caches")
    parser.add_argument("--records", type=int, default=1_000)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--write", action="store_true")
    wanted = parser.parse_args(arguments)
    before = load_average()
    print(HEAD, flush=True)
    try:
        lines = asyncio.run(measured(wanted))
    except Absent as exc:
        print(f"not measured: {exc}")
        return 1
    if wanted.write:
        facts = "\n".join(f"- {fact}" for fact in [*machine(), f"load before: {before}", LITELLM.note])
        RESULT.write_text("\n".join([f"# Throughput beside others\n\n{facts}\n\n{HEAD}", *lines]) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
