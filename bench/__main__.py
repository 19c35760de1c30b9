"""All measurements, one after the other: ``python -m bench`` (= ``make bench``).

Each runs in a process of its own, so that none inherits another's memory, threads or warm caches. What they
print goes to the terminal as it comes and, with the facts of the machine, to ``bench/results/latest.md``. A
measurement that fails does not stop the others, but the exit status says so.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from node.core.clock import SystemClock

ROOT = Path(__file__).resolve().parents[1]
RESULT = Path(__file__).resolve().parent / "results" / "latest.md"


@dataclass(frozen=True, slots=True)
class Measurement:
    """``markdown``: its output is Markdown already; other output is set as it is."""

    name: str
    title: str
    markdown: bool = False


MEASUREMENTS = (
    Measurement("embed_speed", "Embedding speed"),
    Measurement("index_speed", "Vector index"),
    Measurement("gate_pairs", "The cache's gate on pairs of questions"),
    Measurement("floors", "Recall and false hits by floor", markdown=True),
    Measurement("extraction", "Extraction of 2,000 words"),
    Measurement("memory", "Memory of a node and a small model"),
    Measurement("gate_blind", "The cache's gate on pairs written blind"),
    Measurement("routing", "Routing on labelled questions"),
    Measurement("burst", "Five hundred questions at once"),
    Measurement("idle_crowd", "A thousand idle and slow connections", markdown=True),
    Measurement("hits", "Cache hits by tier and stage", markdown=True),
    Measurement("batch_embed", "Embedding an index file"),
    Measurement("blocks", "Blocks: SQLite and an IPFS daemon"),
    Measurement("gateway", "The gateway beside nginx", markdown=True),
    Measurement("privacy", "The privacy gate", markdown=True),
    Measurement("log", "The decision log", markdown=True),
    Measurement("injection", "The injection screen", markdown=True),
    Measurement("peers_publish", "What is shared, into its log", markdown=True),
    Measurement("poison", "Poisoned context", markdown=True),
    Measurement("sharing", "Following a peer", markdown=True),
    Measurement("reconcile", "Sets compared by ranges", markdown=True),
    Measurement("swarm", "Twenty nodes, four of them liars"),
    Measurement("knowledge", "Search in documents by profile", markdown=True),
    Measurement("knowledge_speed", "Search in documents by their number", markdown=True),
    Measurement("engines", "Engines side by side", markdown=True),
    Measurement("askers", "Twenty askers of one language model"),
    Measurement("model_ratio", "A hit against a model", markdown=True),
)


def machine() -> list[str]:
    """What the figures depend on, without names of hosts or places."""
    return [
        f"processor: {_processor()}, {os.cpu_count()} cores",
        f"memory: {os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.1f} GiB",
        f"system: {platform.system()} {platform.machine()}",
        f"Python: {platform.python_version()}",
        f"date: {SystemClock().now():%Y-%m-%d %H:%M} UTC",
        f"load when started: {os.getloadavg()[0]:.1f}",
    ]


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    except OSError:
        pass  # not Linux
    return platform.machine()


def run(measurement: Measurement, more: Sequence[str]) -> tuple[int, list[str], float]:
    """Run one: exit status, the lines that it printed, seconds. They are shown as they come."""
    clock = SystemClock()
    started = clock.monotonic()
    lines: list[str] = []
    command = [sys.executable, "-u", "-m", f"bench.{measurement.name}", *more]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, encoding="utf-8") as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line.rstrip())
    return process.returncode, lines, clock.monotonic() - started


def section(measurement: Measurement, status: int, lines: Sequence[str], took_s: float) -> str:
    """One part of the report."""
    text = "\n".join(_paragraphs(lines) if measurement.markdown else lines).strip("\n")
    body = text if measurement.markdown else f"```\n{text}\n```"
    ended = "" if status == 0 else f"**Ended with status {status}: a check failed or it could not run.**\n\n"
    command = f"`python -m bench.{measurement.name}`, {took_s:.0f} s"
    return f"## {measurement.title}\n\n{command}\n\n{ended}{body}\n"


def _paragraphs(lines: Sequence[str]) -> list[str]:
    """Plain lines become list items, which Markdown does not run together; tables stay."""
    return [f"- {line}" if line and not line.startswith("|") and line[-1] != ":" else line for line in lines]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all or the named; 1 if one failed. Only a run of all replaces the written report."""
    names = [one.name for one in MEASUREMENTS]
    parser = argparse.ArgumentParser(prog="bench", description="measure the claims of README")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(names)}; default: all")
    parser.add_argument("--ollama", help="address of an Ollama, for model_ratio")
    parser.add_argument("--model", help="name of an installed model, for model_ratio")
    options = parser.parse_args(arguments)
    if unknown := sorted(set(options.names) - set(names)):
        parser.error(f"unknown: {', '.join(unknown)}")
    flags = [f"--{flag}={value}" for flag in ("ollama", "model") if (value := getattr(options, flag))]
    intro = (
        "# Measurements\n\nWritten by `make bench`. Figures are min / p50 / p95 where three stand together; "
        "on a shared or busy machine the least is the steadiest, and single runs differ.\n"
    )
    parts = [intro, "\n".join(f"- {fact}" for fact in machine()) + "\n"]
    print("\n".join(parts), flush=True)
    failed = []
    for one in MEASUREMENTS:
        if options.names and one.name not in options.names:
            continue
        print(f"\n=== {one.title} (python -m bench.{one.name})\n", flush=True)
        status, lines, took_s = run(one, flags if one.name == "model_ratio" else ())
        parts.append(section(one, status, lines, took_s))
        if status:
            failed.append(one.name)
    if not options.names:
        RESULT.parent.mkdir(exist_ok=True)
        RESULT.write_text("\n".join(parts), encoding="utf-8")
        print(f"\nwritten to {RESULT.relative_to(ROOT)}")
    if failed:
        print(f"failed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
