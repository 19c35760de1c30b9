"""What ``bench.cache`` replays: streams of questions whose class says which answer serves.

Sources, each a stream of its own:

    t2s, bank        labelled questions, only the groups of the half ``report`` (the other half may train)
    qqp              the same half of Quora's questions; nothing of that source is trained on
    families(-dense) made by program from families left out of training; dense: clusters of near-misses
    trap(-dense)     families written blind (without knowing gate or training), where the file is
    FILE             lines of JSON ``{"q", "cls", "set"?, "kind"?}``; the class is the answer

Promises: deterministic. Must not know: who answers the questions, and how well.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.gatelab import streams as lab
from bench.gatelab.families import TEST, TRAP, Family, Maker, Question, read_all

LABELLED = {
    "t2s": "text2sql: query frames left out of training, of a source that is trained on",
    "bank": "banking77: intents left out of training, of a source that is trained on",
    "qqp": "Quora: the whole source is left out of training",
}
SEEDS = {"families": 29, "trap": 31}
LINES_MAX = 100_000

GROUPED = {
    "name": "entity",
    "near-name": "entity",
    "date": "time",
    "direction": "role",
    "wh": "wh-word",
}
"""Kinds of the families by the names under which they are judged; the others keep theirs."""
MARKED = ("number", "entity", "negation", "time", "unit", "role", "comparison", "wh-word")


@dataclass(frozen=True, slots=True)
class Stream:
    """Questions in order of arrival. ``note`` says what of it training has seen; the ``families`` that it was
    made from say how two questions differ; ``kinds`` is what the questions of a file say of themselves."""

    name: str
    note: str
    questions: tuple[Question, ...]
    families: Mapping[str, Family] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)

    def kind(self, asked: Question, other: Question) -> str:
        """How two questions of different classes differ."""
        if asked.text in self.kinds:
            return self.kinds[asked.text]
        kind = lab.kind_of(asked, other, self.families)
        return GROUPED.get(kind, kind)


def streams(data: Path | None, files: Sequence[Path], limit: int, limit_made: int) -> list[Stream]:
    """All sources that are there, each of ``limit`` questions at most, ``limit_made`` where they are made by
    program. Raises ``ValueError``, ``OSError``."""
    out = []
    if data is not None:
        found = {source.name: source for source in lab.sources("test", data)}
        out += [Stream(name, note, found[name].questions[:limit]) for name, note in LABELLED.items()]
    program = "families made by program, none of whose frames or names is trained on"
    out += made("families", TEST, program, limit_made)
    if all(file.exists() for file in TRAP):
        out += made("trap", TRAP, "families written blind, left out of training", limit_made)
    return out + [from_file(file, limit) for file in files]


def made(name: str, files: Sequence[Path], note: str, limit: int) -> list[Stream]:
    """A normal and a dense stream of the families of some files."""
    families = read_all(files)
    maker = Maker(families, SEEDS[name])
    return [
        Stream(name, note, tuple(maker.stream(limit, dense=False)), families),
        Stream(f"{name}-dense", f"{note}; dense", tuple(maker.stream(limit, dense=True)), families),
    ]


def from_file(file: Path, limit: int) -> Stream:
    """A stream of one's own. Raises ``ValueError`` naming the line that is no question, ``OSError``."""
    questions: list[Question] = []
    kinds: dict[str, str] = {}
    with file.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            if number > LINES_MAX or len(questions) >= limit:
                break
            if not line.strip():
                continue
            try:
                row = json.loads(line)
                text, cls = row["q"], str(row["cls"])
            except (ValueError, KeyError, TypeError) as exc:
                raise ValueError(f"{file.name}, line {number}: not a question with its class") from exc
            if not isinstance(text, str) or not text.strip():
                raise ValueError(f"{file.name}, line {number}: q is no text")
            questions.append(Question(text, cls, f"{file.stem}/{cls}"))
            if row.get("kind"):
                kinds[text] = str(row["kind"])
    note = "a file; what training has seen of it is not known"
    return Stream(file.stem, note, tuple(questions), kinds=kinds)
