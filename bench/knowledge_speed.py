"""p95 of the search in documents by their number, and its memory, beside others on the same chunks.

    python -m bench.knowledge_speed [--sizes 1000 50000 500000]

Chunks are paragraphs of made-up words with the frequencies of a language (Zipf), vectors unit vectors around
centres, from a fixed seed; questions are words of one chunk and its vector with noise. Each engine runs in a
process of its own; its memory is what it has more at the end than before it was built. Beside
``retrieve`` (SQLite FTS5, exact scan, in memory): ``bm25s`` alone, dense alone, LanceDB hybrid.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import resource
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from node.core.clock import SystemClock
from node.core.errors import Unavailable
from node.knowledge.model import Chunk
from node.knowledge.retrieve import Search, retrieve
from node.models.embedders.local import DIM
from tests.corpus_memory import MemoryCorpus, document

_VOCABULARY = 60_000
_WORDS = 90
_CHUNKS_OF_A_DOCUMENT = 10
_QUESTIONS = 60
_CENTRES = 500
_SCOPES = ("shared",)
Ask = Callable[[str, NDArray[np.float32]], object]


def made(size: int) -> tuple[list[str], NDArray[np.float32]]:
    """Texts and unit vectors of ``size`` chunks."""
    rng = np.random.default_rng(size)
    ranks = np.arange(1, _VOCABULARY + 1)
    drawn = rng.choice(_VOCABULARY, (size, _WORDS), p=(1 / ranks) / (1 / ranks).sum())
    texts = [" ".join(f"w{word}x" for word in row) for row in drawn]
    centres = rng.standard_normal((_CENTRES, DIM), dtype=np.float32)
    vectors = centres[rng.integers(0, _CENTRES, size)]
    vectors += 0.6 * rng.standard_normal((size, DIM), dtype=np.float32)
    return texts, vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def asked(texts: Sequence[str], vectors: NDArray[np.float32]) -> list[tuple[str, NDArray[np.float32]]]:
    """Questions: seven words of a chunk, its vector with noise."""
    rng = np.random.default_rng(1)
    found = []
    for at in rng.integers(0, len(texts), _QUESTIONS):
        words = rng.choice(texts[at].split(), 7, replace=False)
        vector = vectors[at] + 0.03 * rng.standard_normal(DIM).astype(np.float32)
        found.append((" ".join(words), (vector / np.linalg.norm(vector)).astype(np.float32)))
    return found


class _Given:
    """An embedder whose next vector is given: embedding is measured elsewhere (``bench.embed_speed``)."""

    def __init__(self) -> None:
        self.next: NDArray[np.float32] | None = None

    def __getattr__(self, name: str) -> Any:
        raise Unavailable(name)

    async def embed(self, texts: Sequence[str]) -> list[NDArray[np.float32] | None]:
        return [self.next]


def _corpus(texts: Sequence[str], vectors: NDArray[np.float32]) -> MemoryCorpus:
    chunks = [
        Chunk(at + 1, at // _CHUNKS_OF_A_DOCUMENT + 1, at % _CHUNKS_OF_A_DOCUMENT, text, (), 0, len(text))
        for at, text in enumerate(texts)
    ]
    documents = [document(number, f"{number}.md") for number in range(1, chunks[-1].document + 1)]
    corpus = MemoryCorpus(documents, chunks)
    corpus.vectors = vectors
    return corpus


def _retrieve(texts: Sequence[str], vectors: NDArray[np.float32]) -> Ask:
    embedder = _Given()
    search = Search(_corpus(texts, vectors), embedder)

    def ask(question: str, vector: NDArray[np.float32]) -> object:
        embedder.next = vector
        return asyncio.run(retrieve(question, _SCOPES, search))

    return ask


def _dense(texts: Sequence[str], vectors: NDArray[np.float32]) -> Ask:
    return lambda _, vector: np.argpartition(-(vectors @ vector), 20)[:20]


def _bm25s(texts: Sequence[str], vectors: NDArray[np.float32]) -> Ask:
    import bm25s

    index = bm25s.BM25()
    index.index(bm25s.tokenize(texts, show_progress=False), show_progress=False)
    return lambda question, _: index.retrieve(
        bm25s.tokenize([question], show_progress=False), k=20, show_progress=False
    )


def _lancedb(texts: Sequence[str], vectors: NDArray[np.float32]) -> Ask:
    import lancedb
    import pyarrow as pa

    folder = tempfile.mkdtemp()
    table = lancedb.connect(folder).create_table(
        "chunks",
        pa.table(
            {
                "text": list(texts),
                "vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), DIM),
            }
        ),
    )
    table.create_fts_index("text")
    return lambda question, vector: (
        table.search(query_type="hybrid").vector(vector).text(question).limit(20).to_list()
    )


ENGINES: dict[str, Callable[[Sequence[str], NDArray[np.float32]], Ask]] = {
    "retrieve": _retrieve,
    "dense alone": _dense,
    "bm25s alone": _bm25s,
    "LanceDB hybrid": _lancedb,
}


def _held_mb() -> float:
    """What this process holds now, in MiB."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / 2**20


def _run(name: str, size: int, out: Any) -> None:
    clock = SystemClock()
    texts, vectors = made(size)
    before, started = _held_mb(), clock.monotonic()
    try:
        ask = ENGINES[name](texts, vectors)
    except ImportError as exc:
        out.put(f"| {size:,} | {name} | not installed: {exc.name} | | | |")
        return
    built_s, took = clock.monotonic() - started, []
    for question, vector in asked(texts, vectors):
        started = clock.monotonic()
        ask(question, vector)
        took.append((clock.monotonic() - started) * 1000)
    took.sort()
    p50, p95 = took[len(took) // 2], took[int(0.95 * len(took))]
    out.put(f"| {size:,} | {name} | {p50:.1f} | {p95:.1f} | {_held_mb() - before:.0f} | {built_s:.1f} |")


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="bench.knowledge_speed", description=__doc__)
    parser.add_argument("--sizes", nargs="+", type=int, default=[1_000, 50_000, 500_000])
    options = parser.parse_args(arguments)
    print("| chunks | engine | p50 ms | p95 ms | MiB | built in s |\n| --- | --- | --- | --- | --- | --- |")
    context = multiprocessing.get_context("spawn")
    for size in options.sizes:
        for name in ENGINES:
            out = context.Queue()
            process = context.Process(target=_run, args=(name, size, out))
            process.start()
            process.join()
            print(out.get() if process.exitcode == 0 else f"| {size:,} | {name} | failed | | | |", flush=True)


if __name__ == "__main__":
    main()
