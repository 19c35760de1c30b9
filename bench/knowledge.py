"""How well documents are found: each search profile on the questions of ``bench/community``.

    python -m bench.knowledge [FOLDER QUESTIONS] [--split train] [--profile NAME …] [--embedder same]

Without FOLDER the community's files with those of other communities around them. They are taken in as a node
takes them in; ``--store FILE`` keeps what was made of them for the next time. The search alone is measured;
answers are measured by ``neuroswarm eval run`` against a node.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from node.app.documents import OwnTexts, own_embedder
from node.app.engines import token_count
from node.core.clock import SystemClock
from node.core.ports import Embedded
from node.core.settings import Documents, Embed, Settings
from node.knowledge import profiles
from node.knowledge.conflicts import contradictions, has_contradiction
from node.knowledge.corpus import StoredCorpus
from node.knowledge.evaluation.outcome import Measured
from node.knowledge.evaluation.questions import Question, Split, questions
from node.knowledge.evaluation.report import report
from node.knowledge.ingest import Ingestor
from node.knowledge.model import Passage
from node.knowledge.retrieve import Search, retrieve
from node.knowledge.store import DocumentStore
from node.knowledge.vectors import DocumentVectors
from node.models.embedders.cross_encoder import Reader
from node.models.embedders.local import LocalEmbedder, LocalTokens

COMMUNITY = Path(__file__).parent / "community"
SCOPES = ("shared",)
RANKED = 10


def surrounded(folder: Path) -> Path:
    """The community's files among those of others, in ``folder``."""
    subprocess.run([sys.executable, COMMUNITY / "make_distractors.py", folder], check=True, stdout=sys.stderr)
    shutil.copytree(COMMUNITY / "files", folder, dirs_exist_ok=True)
    return folder


class SameTexts:
    """The node's embedder, as the vectors of documents want it."""

    def __init__(self, embedder: LocalEmbedder) -> None:
        self._embedder, self.info = embedder, embedder.info

    async def embed(self, texts: Sequence[str]) -> list[Embedded | None]:
        found = await self._embedder.embed(texts)
        return [None if one is None else Embedded(one, self.info) for one in found]


async def ingested(folder: Path | None, file: Path, embedder: str, stack: AsyncExitStack) -> Search:
    """The search in a folder's files, taken in; in what ``file`` holds without one."""
    clock, settings = SystemClock(), Settings(documents=Documents(embedder=embedder))
    store = await DocumentStore.open(file)
    stack.push_async_callback(store.close)
    own, count = own_embedder(settings, clock), token_count()
    same = await LocalEmbedder.load(Embed(), clock) if own is None else None
    for one in (own, same):
        if one is not None:
            stack.push_async_callback(one.close)
    texts: Any = SameTexts(same) if same is not None else own and OwnTexts(own)
    vectors = await DocumentVectors.open(store, texts, count, clock, hnsw_above=20_000)
    stack.push_async_callback(vectors.close)
    if folder is not None:
        ingestor = Ingestor(store, vectors, settings.documents, count, lambda *_: None)
        await ingestor.folder(str(folder), SCOPES[0], lambda _: None)
    await vectors.catch_up()
    await vectors.idle()
    corpus = StoredCorpus(store, vectors)
    if own is None:
        assert same is not None
        return Search(corpus, Remembered(same))
    return Search(corpus, Remembered(own.questions), cosines=own.questions.cosines)


class Remembered:
    """The embedder, each question embedded once for all profiles."""

    def __init__(self, embedder: Any) -> None:
        self._embedder = embedder
        self._known: dict[str, Any] = {}
        self.info, self.sample = embedder.info, embedder.sample
        self.health, self.close = embedder.health, embedder.close

    async def embed(self, texts: Sequence[str]) -> list[Any]:
        for text in texts:
            if text not in self._known:
                self._known[text] = (await self._embedder.embed([text]))[0]
        return [self._known[text] for text in texts]


async def measured(asked: Sequence[Question], search: Search) -> tuple[list[Measured], dict[str, list[bool]]]:
    """What was found, and by category whether the five best hold a certain contradiction."""
    clock, rows, certain = SystemClock(), [], dict[str, list[bool]]()
    shelf = search.shelf(SCOPES)
    by_path = {one.path: one for one in shelf.by_id.values()}
    for one in asked:
        started = clock.monotonic()
        found: Sequence[Passage] = await retrieve(one.question, SCOPES, search, limit=RANKED)
        row = Measured(one, tuple(dict.fromkeys(passage.document.path for passage in found)))
        row.retrieval_ms = (clock.monotonic() - started) * 1000
        holds = by_path.get(one.holds or "")
        if holds is not None:
            row.older = tuple(old.path for old in by_path.values() if shelf.supersedes(holds, old))
        rows.append(row)
        used = {found[0].document.id} if found else set()
        said = contradictions(found[: search.profile.passages], shelf)
        certain.setdefault(one.category, []).append(has_contradiction(said, used))
    return rows, certain


_COLUMNS = {
    "recall@10": ("all", "recall_at_10"),
    "same language": ("by_across", "recall_at_10"),
    "MRR": ("all", "reciprocal_rank"),
    "newest above": ("superseded", "newest_above"),
    "what holds above": ("contradiction", "newest_above"),
    "p50 ms": ("all", "retrieval_ms_p50"),
}


def line(name: str, rows: Sequence[Measured], certain: Mapping[str, Sequence[bool]]) -> str:
    """A row of the table."""
    made = report(rows, {})
    same = report([row for row in rows if not row.question.across], {})
    parts = {"all": made["all"], "by_across": same["all"], **made["by_category"]}
    cells = [f"{parts.get(part, {}).get(key, float('nan')):.3f}" for part, key in _COLUMNS.values()]
    for category in ("contradiction", "answerable"):
        values = certain.get(category, ())
        cells.append(f"{sum(values) / max(1, len(values)):.3f}")
    return f"| {name} | {' | '.join(cells)} |"


async def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="bench.knowledge", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("questions", type=Path, nargs="?", default=COMMUNITY / "questions.jsonl")
    parser.add_argument("--store", type=Path, help="what was made of the files, kept here")
    parser.add_argument("--split", choices=("train", "held_out"))
    parser.add_argument("--profile", nargs="+", default=list(profiles.names()))
    parser.add_argument("--embedder", choices=("auto", "multilingual", "same"), default="auto")
    parser.add_argument("--reader", action="store_true", help="sort what is found by the packaged reader too")
    options = parser.parse_args(arguments)
    lines = options.questions.read_text(encoding="utf-8").splitlines()
    async with AsyncExitStack() as stack:
        made = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder = options.folder
        if folder is None and not (options.store and options.store.exists()):
            folder = surrounded(made / "files")
        plain = await ingested(folder, options.store or made / "documents.sqlite", options.embedder, stack)
        print(f"{len(plain.corpus.documents(SCOPES))} documents, {plain.embedder.info.model}")
        tokens = LocalTokens(threads=1)
        stack.push_async_callback(tokens.close)
        both: tuple[Split, ...] = ("train", "held_out")
        for split in [one for one in both if options.split in (None, one)]:
            asked = questions(lines, split)
            heads = [
                f"{split}, {len(asked)} questions",
                *_COLUMNS,
                "contradictions seen",
                "seen where none is",
            ]
            print(f"\n| {' | '.join(heads)} |\n|{' --- |' * len(heads)}", flush=True)
            for name in options.profile:
                search = replace(plain, profile=profiles.profile(name), tokens=tokens)
                print(line(name, *await measured(asked, search)), flush=True)
                if options.reader:
                    reader = await Reader.load(threads=1)
                    print(
                        line(f"{name}, read", *await measured(asked, replace(search, reader=reader))),
                        flush=True,
                    )
                    await reader.close()


if __name__ == "__main__":
    asyncio.run(main())
