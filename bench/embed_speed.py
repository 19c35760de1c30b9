"""How fast the local embedder is here: texts per second by batch size, time per question, memory.

    python -m bench.embed_speed

The texts are made from a word list with a fixed seed, in the lengths that questions have (4 to 16 words);
each is new, so that nothing is answered from memory. Times are wall-clock, CPU seconds stand beside
them, because the machine may be busy. Takes well under half a minute.
"""

from __future__ import annotations

import asyncio
import platform
import resource
import time
from pathlib import Path

import numpy as np

from node.core.clock import SystemClock
from node.core.settings import Embed
from node.models.embedders.local import MODEL, LocalEmbedder, MiniLm, installed_files

_WORDS = [
    "what",
    "how",
    "why",
    "when",
    "which",
    "price",
    "value",
    "proposal",
    "bitcoin",
    "network",
    "storage",
    "weather",
    "model",
    "answer",
    "record",
    "explain",
    "compare",
    "between",
    "the",
    "a",
    "of",
    "in",
    "for",
    "with",
    "and",
    "is",
    "are",
    "was",
    "does",
    "cost",
    "change",
    "vote",
    "block",
    "peer",
    "cache",
    "simple",
    "terms",
    "today",
    "yesterday",
    "city",
    "temperature",
    "energy",
    "history",
    "language",
    "memory",
    "water",
    "music",
    "engine",
]
_QUESTIONS = 300
_TEXTS_PER_BATCH_SIZE = 240


def _texts(count: int, rng: np.random.Generator) -> list[str]:
    """Distinct by their number; 4 to 16 words."""
    return [
        " ".join([*rng.choice(_WORDS, size=int(rng.integers(3, 16))), str(number)])
        for number in rng.integers(1_000_000, 9_999_999, size=count)
    ]


def _resident_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


async def main() -> None:
    clock, rng = SystemClock(), np.random.default_rng(20260101)
    before_mib = _resident_mib()
    start = clock.monotonic()
    engine = await asyncio.to_thread(MiniLm.open, installed_files(), threads=1)
    load_s = clock.monotonic() - start
    print(f"{MODEL}, 1 thread, {platform.machine()}, Python {platform.python_version()}")
    print(f"load and warm-up {load_s:.2f} s, memory {before_mib:.0f} -> {_resident_mib():.0f} MiB")

    embedder = LocalEmbedder(engine, Embed(), clock)
    times_ms = []
    cpu_start = time.process_time()
    for text in _texts(_QUESTIONS, rng):
        start = clock.monotonic()
        await embedder.embed([text])
        times_ms.append((clock.monotonic() - start) * 1000)
    cpu_ms = (time.process_time() - cpu_start) * 1000 / _QUESTIONS
    p50, p95 = np.percentile(times_ms, [50, 95])
    print(f"one question at a time: p50 {p50:.1f} ms, p95 {p95:.1f} ms, CPU {cpu_ms:.1f} ms each")
    await embedder.close()

    for batch in (1, 4, 16):
        embedder = LocalEmbedder(engine, Embed(batch_max=batch), clock)
        texts = _texts(_TEXTS_PER_BATCH_SIZE, rng)
        start, cpu_start = clock.monotonic(), time.process_time()
        vectors = await embedder.embed(texts)
        wall_s, cpu_s = clock.monotonic() - start, time.process_time() - cpu_start
        assert all(vector is not None for vector in vectors)
        print(
            f"bulk, batches of at most {batch:2}: {len(texts) / wall_s:5.0f} texts/s "
            f"({len(texts) / cpu_s:.0f} per CPU second, {embedder.batcher.batches_total} batches)"
        )
        await embedder.close()

    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"memory at the end {_resident_mib():.0f} MiB, peak {peak_mib:.0f} MiB")


if __name__ == "__main__":
    asyncio.run(main())
