"""Streams of questions as a cache meets them, and the nearest stored candidates that they bring up.

Each source is a list of questions in order of arrival, each with its class (one answer serves a class) and a
group (a query frame, an intent, a family) that is never split between the parts:

    part train    fitting and calibrating: program families (normal and dense with near-misses), text2sql,
                  banking and medical questions whose groups hash to the half ``tune``
    part test     reporting: other families, the half ``report`` of those three by group, Quora (all of its
                  half ``report``: nothing is ever fitted on Quora), the hand-written pairs of ``gate_blind``
                  and the families of ``gate_pairs``

Method of ``candidates``: questions arrive in order; the ``K`` nearest stored ones with a cosine of at least
``FLOOR`` are brought up, exact repeats left out. The first of a class is stored, a later one by a coin: a
cache that answers stores nothing, one that misses does. Labelled pairs become candidates of their own.

Vectors come from the real embedder and are kept in ``FOLDER`` by the hash of the text.

Promises: deterministic. Must not know: features, models, thresholds.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench import gate_blind, gate_pairs
from bench.gatelab.families import TEST, TRAIN, TRAP, Family, Maker, Question, difference, read_all
from node.cache.matching.neighbours import FLOOR, SIZE_MAX, Near, crowd
from node.cache.matching.token import NUMBER
from node.cache.matching.tokens import tokenise
from node.core.normalise import normalise
from node.models.embedders.local import DIGEST, DIM, MiniLm, installed_files

FOLDER = Path(tempfile.gettempdir()) / "gatelab"
K = SIZE_MAX
STORED_AGAIN = 0.5
BATCH = 8
SEEDS = {"train": 11, "test": 29, "trap": 41}
SIZES = {"train": (12_000, 30_000), "test": (2_500, 4_500), "trap": (1_500, 3_000)}
FAMILIES = {"train": TRAIN, "test": TEST, "trap": TRAP}
"""Questions of the normal and the dense stream of families."""

Matrix = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Source:
    """A stream, or (``pairs``) labelled pairs that no stream holds."""

    name: str
    part: str
    questions: tuple[Question, ...] = ()
    pairs: tuple[tuple[Question, Question, bool, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Row:
    """One candidate brought up for one question. ``look_up`` numbers the questions of a source;
    ``crowd`` holds the numbers of ``node.cache.matching.neighbours``, ``answer`` the class of the stored
    question."""

    source: str
    look_up: int
    group: str
    asked: str
    stored: str
    cosine: float
    crowd: tuple[float, ...]
    same: bool
    kind: str
    answer: str = ""


def half(group: str) -> str:
    """``tune`` or ``report``: the rule of ``bench.gate_pairs``."""
    return "report" if hashlib.sha256(group.encode()).digest()[0] % 2 else "tune"


def _lines(file: Path) -> list[dict[str, str]]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def _labelled(data: Path, part: str) -> list[Source]:
    """The labelled streams and pairs of a part."""
    wanted = "tune" if part == "train" else "report"
    out = []
    for name in ("t2s", "bank") if part == "train" else ("t2s", "bank", "qqp"):
        questions = []
        for row in _lines(data / f"stream_{name}.jsonl.gz"):
            group = group_of(name, row["cls"])
            if half(group) == wanted:
                questions.append(Question(row["q"], row["cls"], f"{name}/{group}"))
        out.append(Source(name, part, tuple(questions)))
    for name in ("mqp", "t2s") if part == "train" else ("mqp",):
        pairs = [
            (
                Question(row["a"], row["group"], f"{name}/{row['group']}"),
                Question(row["b"], row["group"], f"{name}/{row['group']}"),
                bool(row["same"]),
                "paraphrase" if row["same"] else str(row["kind"]),
            )
            for row in _lines(data / f"pairs_{name}.jsonl.gz")
            if half(row["group"]) == wanted
        ]
        out.append(Source(f"{name}-pairs", part, pairs=tuple(pairs)))
    return out


def group_of(name: str, cls: str) -> str:
    """The frame of a text2sql class ("atis:73"), the class itself elsewhere, without the set's name."""
    if name == "t2s":
        return ":".join(cls.split(":")[:2])
    return cls.partition(":")[2]


def _families(part: str, files: str = "") -> list[Source]:
    name = files or "families"
    normal, dense = SIZES[files or part]
    maker = Maker(read_all(FAMILIES[files or part]), SEEDS[files or part])
    return [
        Source(name, part, tuple(maker.stream(normal, dense=False))),
        Source(f"{name}-dense", part, tuple(maker.stream(dense, dense=True))),
    ]


def _hand_written() -> list[Source]:
    def pair(name: str, one: gate_pairs.Pair) -> tuple[Question, Question, bool, str]:
        first, other = (Question(text, one.kind, f"{name}/{one.kind}") for text in (one.a, one.b))
        return first, other, one.same, one.kind

    blind = [pair("blind", one) for one, part in gate_blind.read(gate_blind.FILE) if part == "test"]
    program = [pair("gate-pairs", one) for one in gate_pairs.family_pairs()]
    return [
        Source("blind-pairs", "test", pairs=tuple(blind)),
        Source("gate-pairs", "test", pairs=tuple(program)),
    ]


def sources(part: str, data: Path | None) -> list[Source]:
    """All sources of a part; without ``data`` only what is made by program or in the repository."""
    out = _families(part)
    if data is not None:
        out += _labelled(data, part)
    if part == "test":
        out += [*_families(part, "trap"), *_hand_written()]
    return out


@lru_cache(maxsize=1)
def every_family() -> Mapping[str, Family]:
    """Of all parts, by name."""
    return read_all((*TRAIN, *TEST, *TRAP))


class Vectors:
    """Unit vectors of texts, kept on disk. A text that cannot be embedded has none."""

    def __init__(self, folder: Path = FOLDER) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._file = folder / f"vectors-{DIGEST[:12]}.npz"
        self._rows: dict[str, Matrix] = {}
        if self._file.exists():
            with np.load(self._file) as kept:
                self._rows = dict(zip(kept["keys"].tolist(), kept["vectors"], strict=True))

    @staticmethod
    def _key(text: str) -> str:
        return hashlib.sha256(text.encode()).hexdigest()[:24]

    def fill(self, texts: Iterable[str]) -> None:
        """Embed what is not there yet and write all to disk."""
        missing = sorted({text for text in texts if self._key(text) not in self._rows}, key=len)
        if not missing:
            return
        engine = MiniLm.open(installed_files(), threads=1)
        for start in range(0, len(missing), BATCH):
            batch = missing[start : start + BATCH]
            for text, vector in zip(batch, engine.embed(batch), strict=True):
                self._rows[self._key(text)] = np.zeros(DIM, np.float32) if vector is None else vector
        np.savez(self._file, keys=np.array(list(self._rows)), vectors=np.stack(list(self._rows.values())))

    def __getitem__(self, text: str) -> Matrix:
        return self._rows[self._key(text)]

    def matrix(self, texts: Sequence[str]) -> Matrix:
        return np.stack([self[text] for text in texts])


def texts_of(source: Source) -> list[str]:
    """What has to be embedded for a source."""
    paired = [question for one, other, _, _ in source.pairs for question in (one, other)]
    return [normalise(question.text) for question in (*source.questions, *paired)]


def candidates(source: Source, vectors: Vectors) -> list[Row]:
    """The rows of a source; see the module's method."""
    if source.pairs:
        return _from_pairs(source, vectors)
    families = every_family()
    arrivals = distinct(source.questions)
    matrix = vectors.matrix([normalise(question.text) for question in arrivals])
    rows: list[Row] = []
    stored: list[int] = []
    held = np.empty_like(matrix)
    classes: set[str] = set()
    for number, question in enumerate(arrivals):
        near = nearest(held[: len(stored)], stored, matrix[number])
        around = crowd([Near(cosine, arrivals[index].cls) for index, cosine in near])
        for (index, cosine), numbers in zip(near, around, strict=True):
            other = arrivals[index]
            rows.append(
                Row(
                    source.name,
                    number,
                    question.group,
                    question.text,
                    other.text,
                    cosine,
                    tuple(numbers),
                    question.cls == other.cls,
                    kind_of(question, other, families),
                    other.cls,
                )
            )
        if question.cls not in classes or _coin(question.text):
            held[len(stored)] = matrix[number]
            stored.append(number)
        classes.add(question.cls)
    return rows


def distinct(questions: Sequence[Question]) -> list[Question]:
    """Without exact repeats (normalised text)."""
    seen: set[str] = set()
    out = []
    for question in questions:
        text = normalise(question.text)
        if text not in seen:
            seen.add(text)
            out.append(question)
    return out


def nearest(held: Matrix, stored: Sequence[int], vector: Matrix) -> list[tuple[int, float]]:
    """Of the stored questions (``held`` has their vectors) the ``K`` nearest with a cosine of ``FLOOR`` or
    more, nearest first."""
    cosines = held @ vector
    top = np.flatnonzero(cosines >= FLOOR)
    top = top[np.argsort(-cosines[top], kind="stable")][:K]
    return [(stored[int(at)], float(cosines[at])) for at in top]


def _coin(text: str) -> bool:
    return hashlib.sha256(b"again" + text.encode()).digest()[0] < 256 * STORED_AGAIN


def kind_of(one: Question, other: Question, families: Mapping[str, Family]) -> str:
    """The kind of difference, as far as the labels tell; ``paraphrase`` where there is none."""
    if one.cls == other.cls:
        return "paraphrase"
    if one.concept is not None and other.concept is not None:
        return difference(one.concept, other.concept, families)
    if one.group == other.group and one.group.startswith("t2s/"):
        return "value"
    numbers, numbers2 = (
        sorted(token.text for token in tokenise(question.text) if token.kind == NUMBER)
        for question in (one, other)
    )
    return "intent" if numbers == numbers2 else "number"


def _from_pairs(source: Source, vectors: Vectors) -> list[Row]:
    rows = []
    for number, (one, other, same, kind) in enumerate(source.pairs):
        cosine = float(vectors[normalise(one.text)] @ vectors[normalise(other.text)])
        if normalise(one.text) != normalise(other.text) and cosine >= FLOOR:
            around = tuple(crowd([Near(cosine, "")])[0])
            rows.append(Row(source.name, number, one.group, one.text, other.text, cosine, around, same, kind))
    return rows
