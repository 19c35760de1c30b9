"""How fast documents are taken in, and what their store answers in.

    python -m bench.documents [--files 120] [--chunks 1000 50000] [--without-embedder]

Method: a folder of Markdown files of words drawn by Zipf's law from some 20,000 is taken in without an
embedder and by the packaged one, in this process and the child that reads files; a second run over it finds
nothing new. Then stores of ``--chunks`` chunks are filled with random unit vectors, and 200 questions of four
words each are asked of keywords and of vectors, as the search asks them. Seconds are of the wall and of the
processor (this process and its child); a busy machine shows in their difference.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from node.app.engines import token_count
from node.app.operator_desk import LaterSemantics
from node.core.clock import SystemClock
from node.core.document_settings import Documents
from node.core.ports import Embedded, Embedder, EmbedderInfo
from node.core.settings import Settings
from node.knowledge.chunks import Text, chunks, profile
from node.knowledge.corpus import StoredCorpus
from node.knowledge.ingest import Ingestor
from node.knowledge.rows import Taken, hash_of
from node.knowledge.store import DocumentStore
from node.knowledge.vectors import DocumentVectors
from node.models.embedders import factory
from node.models.embedders.local import TOKENIZER

DIM = 384
VOCABULARY = 20_000
QUESTIONS = 200
RANDOM = np.random.default_rng(22)
WORDS = [
    word
    for word in json.loads(TOKENIZER.read_text("utf-8"))["model"]["vocab"]
    if word.isascii() and word.isalpha() and len(word) > 1
][:VOCABULARY]
"""Words of the embedder's own, a token each."""


def text(words: int) -> str:
    drawn = np.minimum(RANDOM.zipf(1.2, words), len(WORDS)) - 1
    return " ".join(WORDS[n] + ("." if k % 14 == 13 else "") for k, n in enumerate(drawn))


class One(LaterSemantics):
    """The packaged embedder, or none, as what serves."""

    def __init__(self, embedder: Embedder | None, info: EmbedderInfo | None = None) -> None:
        self.embedder = embedder
        self.info = info or (LaterSemantics.info if embedder is None else embedder.info)

    async def embed(self, texts: Sequence[str]) -> list[Embedded | None]:
        if self.embedder is None:
            return await super().embed(texts)
        found = await self.embedder.embed(texts)
        return [None if one is None else Embedded(one, self.info) for one in found]


def cpu_s() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def rss_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


async def take_in(folder: Path, base: Path, embedder: Embedder | None) -> None:
    store = await DocumentStore.open(base / "documents.sqlite")
    count = token_count()
    vectors = await DocumentVectors.open(store, One(embedder), count, SystemClock(), hnsw_above=20_000)
    ingestor = Ingestor(store, vectors, Documents(), count, lambda *_: None)
    name = "keywords only" if embedder is None else embedder.info.model
    for what in ("first run", "again"):
        wall, used = time.monotonic(), cpu_s()
        run = await ingestor.folder(str(folder), "shared", lambda _: None)
        wall, used = time.monotonic() - wall, cpu_s() - used
        rate = f"{run.chunks / wall:.0f} chunks/s, {run.chunks / used:.0f} per s of processor"
        print(
            f"| {name} | {what} | {run.total} | {run.chunks} | {wall:.1f} | {used:.1f} | "
            f"{rate if run.chunks else '-'} |"
        )
    await vectors.close()
    await store.close()


async def fill(store: DocumentStore, wanted: int) -> None:
    """Documents of 50 chunks with random vectors."""
    how, number = profile("section500"), 0
    while number < wanted:
        source = text(50 * 450)
        cut = chunks(Text(source), how, lambda said: len(said.split()))[: wanted - number]
        blank = dict.fromkeys(("stamp", "media_type", "own_title", "note"), "")
        row = {
            **blank, "scope": "shared", "folder": "/made", "path": f"{number}.txt", "cid": None,
            "sha256": "x",
            "size": len(source), "modified": "2026-01-01T00:00:00+00:00", "fields": "{}", "manifest": "[]",
            "profile": "section500", "language": "",
        }  # fmt: skip
        made = RANDOM.standard_normal((len(cut), DIM)).astype(np.float32)
        made /= np.linalg.norm(made, axis=1, keepdims=True)
        given = {hash_of(one): [made[n].astype(np.float16).tobytes()] for n, one in enumerate(cut)}
        await store.put(Taken(row, cut, ()), "made", given)
        number += len(cut)


async def ask(wanted: int, base: Path) -> None:
    store = await DocumentStore.open(base / "documents.sqlite")
    await fill(store, wanted)
    before = rss_mb()
    semantics = One(None, EmbedderInfo("made", "made", DIM, 256))
    vectors = await DocumentVectors.open(store, semantics, len, SystemClock(), hnsw_above=20_000)
    begun = time.monotonic()
    while vectors.has_work:
        await SystemClock().sleep(0.5)
    built = time.monotonic() - begun
    corpus = StoredCorpus(store, vectors)
    took: dict[str, list[float]] = {"keyword": [], "dense": []}
    for _ in range(QUESTIONS):
        query = " ".join(WORDS[int(n)] for n in RANDOM.integers(5, 2_000, 4))
        vector = RANDOM.standard_normal(DIM).astype(np.float32)
        vector /= np.linalg.norm(vector)
        begun = time.perf_counter()
        corpus.keyword(query, ["shared"], 20)
        between = time.perf_counter()
        corpus.dense(vector, ["shared"], 20)
        took["keyword"].append(1_000 * (between - begun))
        took["dense"].append(1_000 * (time.perf_counter() - between))
    size = (base / "documents.sqlite").stat().st_size / 2**20
    said = " | ".join(
        f"{np.percentile(took[name], 50):.1f} / {np.percentile(took[name], 95):.1f}" for name in took
    )
    print(f"| {wanted} | {said} | {rss_mb() - before:.0f} | {size:.0f} | {built:.0f} |")
    await vectors.close()
    await store.close()


async def measure(files: int, sizes: Sequence[int], *, with_embedder: bool) -> None:
    with tempfile.TemporaryDirectory() as place:
        base = Path(place)
        folder = base / "folder"
        folder.mkdir()
        for n in range(files):
            (folder / f"{n}.md").write_text("\n\n".join(f"## Part {k}\n\n{text(400)}" for k in range(5)))
        print("| embedder | run | files | chunks | wall s | processor s | rate |\n|" + " --- |" * 7)
        for name in ("none", "local") if with_embedder else ("none",):
            (base / name).mkdir()
            embedder = await factory.load(Settings(), SystemClock()) if name == "local" else None
            await take_in(folder, base / name, embedder)
            if embedder is not None:
                await embedder.close()
        if sizes:
            print("\n| chunks | keyword p50 / p95 ms | dense p50 / p95 ms | memory MB | file MB | graph s |")
            print("|" + " --- |" * 6)
        for size in sizes:
            (base / str(size)).mkdir()
            await ask(size, base / str(size))


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", type=int, default=120)
    parser.add_argument("--chunks", type=int, nargs="*", default=[1_000, 50_000])
    parser.add_argument("--without-embedder", action="store_true")
    args = parser.parse_args()
    asyncio.run(measure(args.files, args.chunks, with_embedder=not args.without_embedder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
