"""How well documents are found: each search profile on the questions of ``bench/community``.

    python -m bench.knowledge [FOLDER QUESTIONS] [--split train] [--profile NAME …] [--reader]

Without FOLDER the community's files with those of other communities around them; the texts of its PDF and
DOCX files are read from ``sources`` beside QUESTIONS. The corpus is one in memory with a plain reader:
the search alone is measured. Answers are measured by ``neuroswarm eval run`` against a node.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from node.core.clock import SystemClock
from node.core.settings import Embed
from node.knowledge import profiles
from node.knowledge.conflicts import contradictions, has_contradiction
from node.knowledge.evaluation.outcome import Measured
from node.knowledge.evaluation.questions import Question, Split, questions
from node.knowledge.evaluation.report import report
from node.knowledge.model import Document, Passage
from node.knowledge.retrieve import Search, retrieve
from node.models.embedders.cross_encoder import Reader
from node.models.embedders.local import LocalEmbedder, LocalTokens
from tests.corpus_memory import MemoryCorpus, document

COMMUNITY = Path(__file__).parent / "community"
SCOPES = ("shared",)
RANKED = 10
_STATUS = {"active": "current", "approved": "current", "deprecated": "legacy", "archived": "legacy"}
_MADE = (".pdf", ".docx")


class _Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        self._hidden += tag in ("script", "style")
        level = tag[1:] if re.fullmatch(r"h[1-6]", tag) else ""
        self.parts.append(f"\n\n{'#' * int(level)} " if level else "\n")

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in ("script", "style")
        self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.parts.append(" ".join(data.split()))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for one in value.values():
            yield from _strings(one)
    elif isinstance(value, list):
        for one in value:
            yield " ".join(_strings(one)) + "\n"
    elif value is not None:
        yield str(value)


def text_of(path: Path, sources: Path) -> str:
    """The text of a file, plainly; of a made one its source."""
    if path.suffix in _MADE:
        made = sources / f"{path.stem}.txt"
        return made.read_text(encoding="utf-8") if made.is_file() else ""
    text = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix == ".json":
        return "\n\n".join(_strings(json.loads(text)))
    if path.suffix in (".html", ".htm"):
        reader = _Text()
        reader.feed(text)
        return "".join(reader.parts)
    return text


def corpus_of(folder: Path, sources: Path) -> MemoryCorpus:
    """All files of a folder, what its ``manifest.csv`` says of them, and what it lists and is not there."""
    rows: dict[str, Mapping[str, str]] = {}
    if (folder / "manifest.csv").is_file():
        with (folder / "manifest.csv").open(encoding="utf-8", newline="") as file:
            rows = {row["path"]: row for row in csv.DictReader(file)}
    texts: dict[Document, str] = {}
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != "manifest.csv"]
    for number, path in enumerate(files, 1):
        name = path.relative_to(folder).as_posix()
        texts[_document(number, name, rows.pop(name, None))] = text_of(path, sources)
    for number, (name, row) in enumerate(rows.items(), len(files) + 1):
        texts[replace(_document(number, name, row), status="missing")] = ""
    held = {one.path for one in texts}
    older = {path for one in texts for path in one.supersedes if path in held}
    settled = {
        replace(one, status="superseded") if one.path in older and one.status != "missing" else one: text
        for one, text in texts.items()
    }
    return MemoryCorpus.of(settled)


def _document(number: int, path: str, row: Mapping[str, str] | None) -> Document:
    if row is None:
        return document(number, path)
    status = _STATUS.get(row.get("status", ""), row.get("status") or "current")
    day = row.get("effective_date") or ""
    effective = date.fromisoformat(day) if re.fullmatch(r"\d{4}-\d\d-\d\d", day) else None
    lists = {name: _listed(row.get(name)) for name in ("supersedes", "conflict_with", "tags")}
    known = status if status in ("current", "draft", "legacy", "superseded") else "current"
    changed = datetime(2025, 1, 1, tzinfo=UTC)
    return document(
        number,
        path,
        status=known,
        effective=effective,
        in_manifest=True,
        last_modified=changed,
        title=row.get("title") or path,
        **lists,
    )


def _listed(text: str | None) -> tuple[str, ...]:
    return tuple(part.strip() for part in re.split(r"[;|,]", text or "") if part.strip())


def surrounded(folder: Path) -> Path:
    """The community's files among those of others, in ``folder``."""
    subprocess.run([sys.executable, COMMUNITY / "make_distractors.py", folder], check=True, stdout=sys.stderr)
    shutil.copytree(COMMUNITY / "files", folder, dirs_exist_ok=True)
    return folder


class Remembered:
    """The embedder, each question embedded once for all profiles."""

    def __init__(self, embedder: LocalEmbedder) -> None:
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
    "newest above": ("all", "newest_above"),
    "p50 ms": ("all", "retrieval_ms_p50"),
}


def line(name: str, rows: Sequence[Measured], certain: Mapping[str, Sequence[bool]]) -> str:
    """A row of the table."""
    made = report(rows, {})
    same = report([row for row in rows if not row.question.across], {})
    parts = {"all": made["all"], "by_across": same["all"]}
    cells = [f"{parts[part].get(key, float('nan')):.3f}" for part, key in _COLUMNS.values()]
    for category in ("contradiction", "answerable"):
        values = certain.get(category, ())
        cells.append(f"{sum(values) / max(1, len(values)):.3f}")
    return f"| {name} | {' | '.join(cells)} |"


async def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="bench.knowledge", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("questions", type=Path, nargs="?", default=COMMUNITY / "questions.jsonl")
    parser.add_argument(
        "--sources", type=Path, help="texts of made files (default: sources beside QUESTIONS)"
    )
    parser.add_argument("--split", choices=("train", "held_out"))
    parser.add_argument("--profile", nargs="+", default=list(profiles.names()))
    parser.add_argument("--reader", action="store_true", help="sort what is found by the packaged reader too")
    options = parser.parse_args(arguments)
    sources = options.sources or options.questions.parent / "sources"
    with tempfile.TemporaryDirectory() as made:
        corpus = corpus_of(options.folder or surrounded(Path(made)), sources)
    embedder = Remembered(await LocalEmbedder.load(Embed(), SystemClock()))
    await corpus.embed(embedder)
    tokens = LocalTokens(threads=1)
    lines = options.questions.read_text(encoding="utf-8").splitlines()
    print(f"{len(corpus.documents(SCOPES))} documents")
    both: tuple[Split, ...] = ("train", "held_out")
    for split in [one for one in both if options.split in (None, one)]:
        asked = questions(lines, split)
        heads = [f"{split}, {len(asked)} questions", *_COLUMNS, "contradictions seen", "seen where none is"]
        print(f"\n| {' | '.join(heads)} |\n|{' --- |' * len(heads)}", flush=True)
        for name in options.profile:
            search = Search(corpus, embedder, profiles.profile(name), tokens=tokens)
            print(line(name, *await measured(asked, search)), flush=True)
            if options.reader:
                reader = await Reader.load(threads=1)
                read = replace(search, reader=reader)
                print(line(f"{name}, read", *await measured(asked, read)), flush=True)
                await reader.close()
    await tokens.close()
    await embedder.close()


if __name__ == "__main__":
    asyncio.run(main())
