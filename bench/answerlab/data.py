"""The labelled answers as data: questions, transcripts, labels, and who is kept back.

- ``general.jsonl``: questions of general knowledge with their answers (id, q, gold, must, wrong, kind);
- ``worlds.jsonl``: invented communities, each with facts, questions about them, and questions whose answer is
  not among the facts;
- ``transcripts/NAME.jsonl.gz``: what a model answered, one object a line (id, q, model, first, second,
  evidence); ``first`` and ``second`` are {text, complete, logprobs}, ``evidence`` a list of {id, text};
- ``labels.tsv``: id, name of the transcript, label, a few words why. A person's judgement, made by reading.

The labels: ``right``; ``wrong`` (something in it is false, or it answers what has no answer); ``honest`` (it
says that it does not know); ``silly`` (a rebuke, debris, an answer beside the question).
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
LABELS = ("right", "wrong", "honest", "silly")
HELD_SHARE = 0.5
"""Of the questions so many are kept back: nothing is chosen or fitted by them."""
ASKED, ABSENT = 20, 10


@dataclass(frozen=True, slots=True)
class Said:
    """One answer as the engine gave it; ``logprobs`` of its tokens, empty where the engine gave none."""

    text: str
    complete: bool = True
    logprobs: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Labelled:
    """One transcript with its label. ``name`` is the transcript's file; ``evidence`` what was offered."""

    name: str
    id: str
    question: str
    model: str
    first: Said
    second: Said | None
    evidence: tuple[tuple[str, str], ...]
    label: str

    @property
    def held(self) -> bool:
        return is_held(self.id)


def is_held(item: str) -> bool:
    """Whether a question is kept back, for all models alike; by a hash, so that nobody chooses."""
    return hashlib.sha256(b"held" + item.encode()).digest()[0] < 256 * HELD_SHARE


def questions() -> Iterator[tuple[str, str]]:
    """(id, text) of the questions of general knowledge."""
    for row in read_lines(FOLDER / "general.jsonl"):
        yield row["id"], row["q"]


@dataclass(frozen=True, slots=True)
class World:
    """An invented community. ``facts``: id -> (question, answer). ``asks``: (id, question, ids of the facts
    that answer it); none for a question whose answer is absent."""

    name: str
    facts: Mapping[str, tuple[str, str]]
    asks: tuple[tuple[str, str, tuple[str, ...]], ...]


def worlds() -> Iterator[World]:
    for row in read_lines(FOLDER / "worlds.jsonl"):
        asks = [(ask["id"], ask["q"], tuple(ask["needs"])) for ask in row["asks"]]
        asks += [(ask["id"], ask["q"], ()) for ask in row["absent"]]
        yield World(row["world"], {f["id"]: (f["q"], f["a"]) for f in row["facts"]}, tuple(asks))


def curves() -> Iterator[World]:
    """The communities in ``readerlab/curves``, which the packaged reader did not learn from; of each the
    first ``ASKED`` questions with an answer and the first ``ABSENT`` ones without, by a hash."""
    for path in sorted((FOLDER.parent / "readerlab" / "curves").glob("*.jsonl")):
        rows = list(read_lines(path))
        facts = {f"{path.stem}-{one['id']}": (one["q"], one["a"]) for one in rows if one["kind"] == "fact"}
        asks = [
            (f"{path.stem}-{at}", one["q"], tuple(f"{path.stem}-{need}" for need in one.get("needs", ())))
            for at, one in enumerate(rows)
            if one["kind"] != "fact"
        ]
        by_hash = sorted(asks, key=lambda one: hashlib.sha256(one[1].encode()).digest())
        some = [one for one in by_hash if one[2]][:ASKED] + [one for one in by_hash if not one[2]][:ABSENT]
        yield World(path.stem, facts, tuple(some))


def labels(path: Path = FOLDER / "labels.tsv") -> dict[tuple[str, str], str]:
    """(name of the transcript, id) -> label. Raises ``ValueError`` for a line that says something else."""
    found: dict[tuple[str, str], str] = {}
    for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        item, name, label, *_ = line.split("\t")
        if label not in LABELS or (name, item) in found:
            raise ValueError(f"{path.name}, line {number}: {label!r} is no label, or the line is there twice")
        found[name, item] = label
    return found


def labelled(folder: Path = FOLDER) -> list[Labelled]:
    """All transcripts that have a label, in the order of their names and ids."""
    known = labels(folder / "labels.tsv")
    out = []
    for path in sorted((folder / "transcripts").glob("*.jsonl.gz")):
        name = path.name.removesuffix(".jsonl.gz")
        for row in read_lines(path):
            label = known.get((name, row["id"]))
            if label is not None:
                out.append(_labelled(name, row, label))
    return sorted(out, key=lambda one: (one.name, one.id))


def _labelled(name: str, row: Mapping[str, Any], label: str) -> Labelled:
    second = row.get("second")
    return Labelled(
        name=name,
        id=row["id"],
        question=row["q"],
        model=row["model"],
        first=_said(row["first"]),
        second=None if second is None else _said(second),
        evidence=tuple((one["id"], one["text"]) for one in row.get("evidence", ())),
        label=label,
    )


def _said(row: Mapping[str, Any]) -> Said:
    return Said(row["text"], row["complete"], tuple(row.get("logprobs", ())))


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a file of JSON lines, packed or not."""
    content = path.read_bytes()
    if path.suffix == ".gz":
        content = gzip.decompress(content)
    for line in content.splitlines():
        yield json.loads(line)


def pack(source: Path, name: str, model: str, folder: Path = FOLDER) -> int:
    """Take a transcript made by ``bench.transcripts`` in, without what is not needed; how many lines."""
    rows = []
    for row in read_lines(source):
        if "first" not in row:
            continue  # it was left to its notes
        first, second = row["first"], row.get("second")
        kept = {"id": row["id"], "q": row["q"], "model": row.get("model", model), "first": _packed(first)}
        if second is not None:
            kept["second"] = _packed(second)
        if row.get("evidence"):
            kept["evidence"] = row["evidence"]
        rows.append(json.dumps(kept, ensure_ascii=False, sort_keys=True))
    target = folder / "transcripts" / f"{name}.jsonl.gz"
    target.parent.mkdir(exist_ok=True)
    content = "".join(line + "\n" for line in sorted(rows)).encode()
    target.write_bytes(gzip.compress(content, mtime=0))
    return len(rows)


def _packed(said: Mapping[str, Any]) -> dict[str, Any]:
    complete = said["complete"] if "complete" in said else said["finish"] == "stop"
    out: dict[str, Any] = {"text": said["text"], "complete": complete}
    # A server gives [token, log-probability, …] for each token; the token itself is not needed.
    given = [one[1] if isinstance(one, list) else one for one in said.get("logprobs") or ()]
    if given:
        out["logprobs"] = [round(float(one), 3) for one in given]
    if "found" in said:  # how surely its notes held the answer
        out["found"] = said["found"]
    return out
