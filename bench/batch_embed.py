"""``batch_embed.py`` with the local engine: entries a second, and memory on a large file.

    python -m bench.batch_embed [--entries 2000] [--large 100000]

Method. Each run is the shipped command in a process of its own; its peak memory is what the kernel says when
it ends. Speed: a file of distinct questions without embeddings, made by program (``bench.questions``); the
second run of the same command shows what a run costs that finds nothing to do. Memory: a small and a large
file, both lacking the same 500 embeddings, the rest with vectors of 384 dimensions; the model, the batch and
the work are the same, so what differs is the size of the file. The promise: the peak does not grow with it
(less than a tenth of what the file grows by, and less than 32 MiB).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.fresh_node import load_average
from bench.questions import questions
from node.app.transfer.index_entry import encode_bytes
from node.core.clock import SystemClock
from node.models.embedders.local import MODEL

ROOT = Path(__file__).resolve().parents[1]
ENTRIES = 2_000
LARGE = 100_000
SMALL = 2_000
LACKING = 500
GROWTH_MIB_MAX = 32.0


@dataclass(frozen=True, slots=True)
class Ran:
    """One run of the command: its report, wall-clock seconds, CPU seconds, peak memory."""

    report: dict[str, Any]
    seconds: float
    cpu_s: float
    peak_mib: float


def run(index: Path, *words: str) -> Ran:
    """The shipped command; ends the measurement when it fails."""
    clock = SystemClock()
    started = clock.monotonic()
    own = {name: value for name, value in os.environ.items() if not name.startswith("NEUROSWARM_")}
    command = [sys.executable, str(ROOT / "batch_embed.py"), "--index", str(index), "--json", *words]
    with subprocess.Popen(command, cwd=index.parent, env=own, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        out = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"batch_embed.py ended with status {process.returncode}")
    return Ran(
        json.loads(out),
        clock.monotonic() - started,
        usage.ru_utime + usage.ru_stime,
        usage.ru_maxrss / 1024,
    )


def entries(count: int, lacking: int) -> Iterator[dict[str, Any]]:
    """``lacking`` of them, spread evenly, have no embedding."""
    texts = [question.text for question in questions()]
    every = max(1, count // lacking)
    for number in range(count):
        text = texts[number % len(texts)]
        item: dict[str, Any] = {
            "query": text if number < len(texts) else f"{text} ({number})",
            "answer": "A" * 400,
            "source": "bench",
            "confidence": 0.9,
            "timestamp": "2026-01-01T00:00:00Z",
        }
        if number % every or number // every >= lacking:
            item["embedding"] = _vector(number)
        yield item


def write(path: Path, count: int, lacking: int) -> float:
    """A file in the form that a node writes; its size in MiB."""
    with path.open("w", encoding="utf-8") as out:
        out.write(json.dumps({"version": 1, "model": MODEL})[:-1] + ',"entries":[')
        for number, item in enumerate(entries(count, lacking)):
            out.write((",\n" if number else "\n") + json.dumps(item))
        out.write("\n]}\n")
    return path.stat().st_size / 2**20


def _vector(number: int) -> str:
    """384 finite numbers in float32; what they are does not matter here."""
    noise = number.to_bytes(3, "little") * 384
    return encode_bytes(b"".join(noise[at : at + 3] + b"\x3d" for at in range(0, len(noise), 3)))


def speed(folder: Path, count: int) -> None:
    """Entries a second, by the report (the embedding alone) and by the whole command."""
    path = folder / "new.json"
    write(path, count, count)
    first = run(path)
    assert first.report["embedded"] == count, first.report
    within = first.report["seconds"]
    print(
        f"{count} entries: {count / within:.0f} a second ({count / first.cpu_s:.0f} per CPU second), "
        f"{first.seconds:.1f} s with start and loading, peak memory {first.peak_mib:.0f} MiB"
    )
    again = run(path)
    assert again.report["embedded"] == 0, again.report
    print(
        f"the same again: nothing to do, {again.seconds:.1f} s, "
        f"of which {again.report['seconds']:.2f} s to look"
    )


def memory(folder: Path, large: int) -> bool:
    """Whether the promise about memory holds."""
    ran: list[tuple[float, Ran]] = []
    for count in (SMALL, large):
        path = folder / f"{count}.json"
        size = write(path, count, LACKING)
        one = run(path)
        assert one.report["embedded"] == LACKING, one.report
        ran.append((size, one))
        print(
            f"{count} entries, {size:.0f} MiB, {LACKING} without embedding: {one.seconds:.1f} s "
            f"({one.cpu_s:.1f} s CPU), peak memory {one.peak_mib:.0f} MiB"
        )
        path.unlink()
    (small_mib, small), (large_mib, big) = ran
    growth = big.peak_mib - small.peak_mib
    limit = min(GROWTH_MIB_MAX, (large_mib - small_mib) / 10)
    is_good = growth <= limit
    print(
        f"file larger by {large_mib - small_mib:.0f} MiB, peak by {growth:.1f} MiB "
        f"(limit {limit:.0f}): {'ok' if is_good else 'FAILED'}"
    )
    return is_good


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; 1 if the promise about memory does not hold."""
    parser = argparse.ArgumentParser(prog="bench.batch_embed", description=__doc__.partition("\n")[0])
    parser.add_argument("--entries", type=int, default=ENTRIES, help="entries to embed (default 2000)")
    parser.add_argument("--large", type=int, default=LARGE, help="entries of the large file (default 100000)")
    options = parser.parse_args(arguments)
    print(f"{MODEL}; load before: {load_average()}")
    with tempfile.TemporaryDirectory() as name:
        speed(Path(name), options.entries)
        is_good = memory(Path(name), options.large)
    print(f"load after: {load_average()}; the machine may be shared")
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
