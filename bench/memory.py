"""What a node takes of memory, alone and with a small model beside it (S0-14).

    python -m bench.memory [--gguf FILE]

Method: a fresh node in a process of its own is asked a few questions; then its resident memory, and that of
each child, is read from ``/proc``. The model is that of ``--gguf``, else the small one of the engines cache;
without llama-cpp-python or a model that part is named and left out.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import aiohttp

from bench.fresh_node import fresh_node
from tests import engines

MIB = 2**20


def resident(pid: int) -> dict[str, int]:
    """``VmRSS`` (now) and ``VmHWM`` (at most so far) of a process, in bytes."""
    found = {}
    for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace").splitlines():
        name, _, value = line.partition(":")
        if name in ("VmRSS", "VmHWM"):
            found[name] = int(value.split()[0]) * 1_024
    return found


def children(pid: int) -> list[int]:
    """The processes that a process has started."""
    lists = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for one in lists for child in one.read_text(encoding="ascii").split()]


async def measure(name: str, more: dict[str, str], questions: Sequence[str]) -> None:
    """Print one line for the node and one for each child."""
    with tempfile.TemporaryDirectory() as folder:
        async with fresh_node(Path(folder), more) as node, aiohttp.ClientSession(trust_env=False) as http:
            for query in questions:
                async with http.post(f"{node.url}/chat", json={"query": query}) as response:
                    await response.read()
            for who, pid in (("node", node.pid), *(("child", one) for one in children(node.pid))):
                took = resident(pid)
                now, most = took["VmRSS"] / MIB, took["VmHWM"] / MIB
                print(f"{name}: {who} {now:,.0f} MiB resident, at most {most:,.0f} MiB")


async def run(gguf: Path | None) -> None:
    """The node alone, then with the model."""
    questions = ("What is 2+2?", "What is IPFS?", "Explain how a tide comes about")
    await measure("without a model", {"MODELS__OLLAMA_URL": ""}, questions)
    missing = engines.llama_cpp_missing() or (engines.gemma_missing() if gguf is None else None)
    if missing is not None:
        print(f"left out, a model beside it: {missing}")
        return
    path = gguf or engines.cached(engines.GEMMA)
    print(f"{path.name}: {path.stat().st_size / MIB:,.0f} MiB on disk")
    await measure(path.stem, {"MODELS__OLLAMA_URL": "", "MODELS__GGUF_PATH": str(path)}, questions)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="bench.memory", description="memory of a node and a small model")
    parser.add_argument("--gguf", type=Path)
    options = parser.parse_args(arguments)
    if sys.platform != "linux":
        print("memory is read from /proc: Linux only", file=sys.stderr)
        return 1
    asyncio.run(run(options.gguf))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
