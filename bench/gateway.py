"""What the gateway serves: blocks singly and by CAR, beside nginx with the same bytes; memory on a long CAR.

    python -m bench.gateway [--quick] [--write]

Method, all in one run, so that the ratios belong together:

- Blocks: random ones of a record's size, and a DAG-CBOR list that links to them, made here, written as one
  CAR and imported with ``neuroswarm ingest --car``. A node as shipped serves them, in a process of its own.
- nginx, one worker, serves the same blocks as files under the names of their CIDs, and the CAR as one file.
- A bare handler of the same web framework sends the same bytes out of a dictionary: what a block costs this
  interpreter at least. For both the processor time of the server's process for one block is read from /proc.
- The client is the same for all: processes that each keep one connection open and read answers as they come;
  one for the times of single requests, ``CLIENTS`` for the throughput. It hashes nothing, so that what is
  measured is the server. Rounds take turns, each time beginning with the other server.
- Memory: a CAR of a gibibyte in blocks of a mebibyte is imported and read once by a client that takes no more
  than it is given; the resident memory of the node is looked at all the while.

nginx is not a gateway: it hashes nothing, knows no scopes, and its files were laid out for it. It is what
plain serving costs on this machine. Where it is not installed, that is said.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
from cbrrr import CID

from bench.__main__ import machine
from bench.fresh_node import FreshNode, fresh_node
from node.core.clock import SystemClock
from node.core.ipld import car, dagcbor
from node.core.ipld.cid import DAG_CBOR, RAW, Cid

RESULT = Path(__file__).resolve().parent / "results" / "gateway.md"
BLOCK_BYTES = 2_841
"""A record of 1 KB of answer with its embedding, ``facts/ipfs.md`` 4."""
CLIENTS = 4
_MEBI = 2**20
_READ = 64 * 1024
_START_S = 30.0
_NODE, _BARE, _NGINX = "this node", "bare aiohttp", "nginx"
_BARE_SERVER = """
import pathlib, sys
from aiohttp import web
held = {one.name: one.read_bytes() for one in pathlib.Path(sys.argv[1]).iterdir()}
async def send(request):
    return web.Response(body=held[request.match_info["name"]], content_type="application/octet-stream")
app = web.Application()
app.router.add_get("/{name}", send)
web.run_app(app, host="127.0.0.1", port=int(sys.argv[2]), access_log=None, print=None)
"""
_ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured."""

    blocks: int
    rounds: int
    window_s: float
    long_mib: int


WHOLE = Plan(blocks=2_000, rounds=6, window_s=3.0, long_mib=1_024)
QUICK = Plan(blocks=200, rounds=1, window_s=0.5, long_mib=32)


@dataclass(slots=True)
class Seen:
    """What one server did, a figure a round."""

    alone: list[float] = field(default_factory=list)
    together: list[float] = field(default_factory=list)
    by_car: list[float] = field(default_factory=list)
    processor_us: list[float] = field(default_factory=list)
    """Of one block, where the process is known."""


# --- the client -----------------------------------------------------------------------------------


def _fetch(connection: http.client.HTTPConnection, path: str) -> int:
    connection.request("GET", path)
    reply = connection.getresponse()
    if reply.status != 200:
        raise RuntimeError(f"{path} was answered with {reply.status}")
    count = 0
    while part := reply.read(_READ):
        count += len(part)
    return count


def _singles(url: str, paths: Sequence[str], window_s: float, seed: int) -> float:
    """Blocks per second of one connection."""
    clock, order = SystemClock(), random.Random(seed)
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
    _fetch(connection, paths[0])
    started, count = clock.monotonic(), 0
    while (took := clock.monotonic() - started) < window_s:
        _fetch(connection, order.choice(paths))
        count += 1
    connection.close()
    return count / took


def _cars(url: str, path: str, window_s: float) -> float:
    """CARs per second of one connection."""
    clock = SystemClock()
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
    _fetch(connection, path)
    started, count = clock.monotonic(), 0
    while (took := clock.monotonic() - started) < window_s:
        _fetch(connection, path)
        count += 1
    connection.close()
    return count / took


# --- the servers ----------------------------------------------------------------------------------


@contextmanager
def _nginx(files: Path, folder: Path) -> Iterator[str | None]:
    """Its address, or None where it is not installed."""
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
    if program is None:
        yield None
        return
    folder.mkdir()
    port = _free_port()
    (folder / "nginx.conf").write_text(
        f"daemon off; worker_processes 1; pid {folder}/pid; error_log stderr error;\n"
        "events { worker_connections 64; }\n"
        "http { access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000;\n"
        f"  open_file_cache max=10000; server {{ listen 127.0.0.1:{port}; root {files}; }} }}\n"
    )
    user = ["-g", "user root;"] if os.geteuid() == 0 else []
    process = subprocess.Popen([program, "-c", str(folder / "nginx.conf"), "-p", str(folder), *user])
    try:
        _wait_for(process, port)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(30)


@contextmanager
def _bare(files: Path) -> Iterator[tuple[str, int]]:
    """Its address and process."""
    port = _free_port()
    process = subprocess.Popen([sys.executable, "-c", _BARE_SERVER, str(files), str(port)])
    try:
        _wait_for(process, port)
        yield f"http://127.0.0.1:{port}", process.pid
    finally:
        process.terminate()
        process.wait(30)


def _processor_s(pid: int) -> float:
    """Of all its threads so far."""
    tasks = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(one.read_text(encoding="ascii").split()[0]) for one in tasks) / 1e9


def _wait_for(process: subprocess.Popen[bytes], port: int) -> None:
    """Until it listens. Raises ``RuntimeError``."""
    clock = SystemClock()
    until = clock.monotonic() + _START_S
    while process.poll() is None and clock.monotonic() < until:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1.0).close()
            return
        except ConnectionRefusedError:
            threading.Event().wait(0.05)
    raise RuntimeError("the server to compare with did not start")


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


@asynccontextmanager
async def _node(folder: Path, archive: Path) -> AsyncIterator[FreshNode]:
    """A node that has imported ``archive``."""
    environ = os.environ | {
        "NEUROSWARM_DATA_DIR": str(folder / "data"),
        "NEUROSWARM_GOVERNANCE_DIR": str(folder / "governance_logs"),
        "NEUROSWARM_INDEX_FILE": str(folder / "none.json"),
        "NEUROSWARM_MODELS__OLLAMA_URL": "",
    }
    command = [sys.executable, "-m", "node", "ingest", "--json", "--car", str(archive)]
    await asyncio.to_thread(
        subprocess.run, command, cwd=_ROOT, env=environ, check=True, stdout=subprocess.DEVNULL
    )
    async with fresh_node(folder, {}) as node:
        yield node


# --- what is measured -----------------------------------------------------------------------------


def _write_archive(path: Path, sizes: Sequence[int], files: Path | None = None) -> tuple[Cid, list[Cid]]:
    """Random raw blocks under one list. Returns (root, blocks)."""
    rng = np.random.default_rng(20261122)
    cids: list[Cid] = []
    body = path.with_suffix(".body")
    with body.open("wb") as out:
        for size in sizes:
            data = rng.bytes(size)
            cid = Cid.of(data, RAW)
            cids.append(cid)
            out.write(car.section(cid, data))
            if files is not None:
                (files / str(cid)).write_bytes(data)
    root_data = dagcbor.encode([CID(bytes(cid)) for cid in cids])
    root = Cid.of(root_data, DAG_CBOR)
    with path.open("wb") as out, body.open("rb") as rest:
        out.write(car.header([root]) + car.section(root, root_data))
        shutil.copyfileobj(rest, out, _MEBI)
    body.unlink()
    if files is not None:
        shutil.copy(path, files / "all.car")
    return root, cids


async def _speeds(plan: Plan, folder: Path, show: Callable[[str], None]) -> list[str]:
    files = folder / "files"
    files.mkdir()
    root, cids = _write_archive(folder / "all.car", [BLOCK_BYTES] * plan.blocks, files)
    with (
        _nginx(files, folder / "nginx") as other,
        _bare(files) as (bare, bare_pid),
        ProcessPoolExecutor(CLIENTS) as pool,
    ):
        async with _node(folder / "node", folder / "all.car") as node:
            servers = {
                _NODE: (node.url, [f"/ipfs/{cid}?format=raw" for cid in cids]),
                _BARE: (bare, [f"/{cid}" for cid in cids]),
            }
            cars = {_NODE: f"/ipfs/{root}?format=car", _BARE: "/all.car"}
            pids = {_NODE: node.pid, _BARE: bare_pid}
            if other is not None:
                servers[_NGINX] = (other, [f"/{cid}" for cid in cids])
                cars[_NGINX] = "/all.car"
            seen = {name: Seen() for name in servers}
            loop = asyncio.get_running_loop()
            for number in range(plan.rounds):
                names = list(servers)
                for name in names if number % 2 == 0 else reversed(names):
                    url, paths = servers[name]
                    before_s = _processor_s(pids[name]) if name in pids else 0.0
                    one = await loop.run_in_executor(pool, _singles, url, paths, plan.window_s, number)
                    if name in pids:
                        took_s = _processor_s(pids[name]) - before_s
                        seen[name].processor_us.append(took_s / (one * plan.window_s) * 1e6)
                    many = await asyncio.gather(
                        *(
                            loop.run_in_executor(pool, _singles, url, paths, plan.window_s, seed)
                            for seed in range(CLIENTS)
                        )
                    )
                    whole = await loop.run_in_executor(pool, _cars, url, cars[name], plan.window_s)
                    seen[name].alone.append(one)
                    seen[name].together.append(sum(many))
                    seen[name].by_car.append(whole * (plan.blocks + 1))
                show(f"round {number + 1} of {plan.rounds}")
    lines = [
        f"Blocks of {BLOCK_BYTES:,} bytes per second, median of {plan.rounds} rounds of {plan.window_s:g} s "
        f"each; CARs of {plan.blocks:,} blocks over one connection:",
        "",
        f"| server | raw, one connection | raw, {CLIENTS} connections | by CAR |",
        "| --- | ---: | ---: | ---: |",
    ]
    figures = {
        name: [float(np.median(one)) for one in (got.alone, got.together, got.by_car)]
        for name, got in seen.items()
    }
    for name, row in figures.items():
        lines.append(f"| {name} | " + " | ".join(f"{figure:,.0f}" for figure in row) + " |")
    for other_name in (name for name in figures if name != _NODE):
        shares = [ours / theirs for ours, theirs in zip(figures[_NODE], figures[other_name], strict=True)]
        lines.append(f"| node : {other_name} | " + " | ".join(f"{share:.2f}" for share in shares) + " |")
    ours, least = (float(np.median(seen[name].processor_us)) for name in (_NODE, _BARE))
    lines += [
        "",
        f"Processor time of a raw block: node {ours:,.0f} us, bare {least:,.0f} us ({least / ours:.2f}).",
    ]
    if _NGINX not in figures:
        lines += ["", "nginx is not installed here."]
    return lines


async def _memory(plan: Plan, folder: Path) -> list[str]:
    root, _ = _write_archive(folder / "long.car", [_MEBI] * plan.long_mib)
    async with _node(folder / "node", folder / "long.car") as node:
        path = f"/ipfs/{root}?format=car"
        small = http.client.HTTPConnection(urlsplit(node.url).netloc, timeout=60)
        await asyncio.to_thread(_fetch, small, f"/ipfs/{root}?format=raw")
        small.close()
        before = node.resident_mib()
        reading = asyncio.create_task(
            asyncio.to_thread(
                _fetch, http.client.HTTPConnection(urlsplit(node.url).netloc, timeout=600), path
            )
        )
        most = before
        while not reading.done():
            most = max(most, node.resident_mib())
            await asyncio.sleep(0.01)
        count = await reading
    return [
        f"A CAR of {count / _MEBI:,.0f} MiB, streamed to one client: resident memory {before:,.0f} MiB "
        f"before, {most:,.0f} MiB at most (+{most - before:,.0f} MiB).",
    ]


async def measure(plan: Plan, show: Callable[[str], None]) -> list[str]:
    """The report as lines of Markdown."""
    with tempfile.TemporaryDirectory(prefix="bench-gateway-") as name:
        folder = Path(name)
        (folder / "speed").mkdir()
        (folder / "memory").mkdir()
        lines = await _speeds(plan, folder / "speed", show)
        return [*lines, "", *await _memory(plan, folder / "memory")]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and report."""
    parser = argparse.ArgumentParser(prog="bench.gateway", description="blocks served, beside nginx")
    parser.add_argument("--quick", action="store_true", help="few rounds: shows that it runs")
    parser.add_argument("--write", action="store_true", help="write results/gateway.md as well")
    options = parser.parse_args(arguments)
    facts = machine()
    lines = asyncio.run(measure(QUICK if options.quick else WHOLE, lambda said: print(said, file=sys.stderr)))
    text = "\n".join(lines)
    print(text)
    if options.write:
        head = "# The gateway beside nginx\n\n`python -m bench.gateway --write`\n\n"
        RESULT.write_text(head + "\n".join(f"- {fact}" for fact in facts) + f"\n\n{text}\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
