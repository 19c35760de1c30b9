"""Whether a question is about what people stored here: what ``Rule.concerns`` weighs.

    python -m bench.concern [--write]

Two steps, each a logistic regression. ``asked``: by the question's vector alone, whether it is asked of a
place or group or of the world; learnt on questions to the communities of ``readerlab`` but every eighth, and
on ``answerlab/general_train.txt``, which a hand wrote that had seen neither code nor communities, mostly in
the shapes that questions to a place have ("can i freeze rice"). ``concern_asked``: those odds beside how near
the notes are; learnt on every eighth community and on ``answerlab/general.jsonl``. ``concern`` is the same
without the vector, for other embedders and languages.

Reported on the communities of ``bench/newcomerlab`` and on ``answerlab/general_held.txt``, by another hand:
nothing was fitted on them. Run it after ``bench.evidence``, which writes the weight of words.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench import evidence
from bench.newcomer import COMMUNITIES
from node.answer.evidence.relevance import Rule
from node.answer.notes import BOUND, NOTES_MAX
from node.core.normalise import normalise
from node.models.embedders.local import MiniLm, installed_files

HELD = slice(2, None, 8)
"""Every eighth community is kept out of the first step."""
EACH = 45
"""So many questions of each community."""
L2 = 3e-4
GENERAL_MAX = 0.06
"""The share of general questions that may seem to be about people's notes."""
WITHOUT_MAX = 0.05
"""The same by the notes alone, those with one that is near by itself among them."""
BATCH = 64
Matrix = NDArray[np.float64]


def lines_of(name: str) -> list[str]:
    return (evidence.DATA / name).read_text("utf-8").splitlines()


def vectors(texts: Sequence[str]) -> Matrix:
    engine = MiniLm.open(installed_files(), threads=2)
    parts = [
        engine.embed([normalise(one) for one in texts[at : at + BATCH]]) for at in range(0, len(texts), BATCH)
    ]
    made: Matrix = np.array([vector for part in parts for vector in part], np.float64)
    return made


def asked_weights() -> list[float]:
    """The first step: weights of the vector, and the offset."""
    here: list[str] = []
    held = {one.name for one in sorted((evidence.HERE / "readerlab").glob("*.jsonl"))[HELD]}
    for path in sorted((evidence.HERE / "readerlab").glob("*.jsonl")):
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        if path.name not in held and any(row["kind"] == "fact" for row in rows):
            texts = [row["q"] for row in rows if row["kind"] != "fact"]
            here += sorted(texts, key=lambda text: hashlib.sha256(text.encode()).digest())[:EACH]
    general = lines_of("general_train.txt")
    values = vectors([*here, *general])
    truth = np.r_[np.ones(len(here)), np.zeros(len(general))]
    slopes, offset = regression(values, truth, evenly(truth), L2)
    return [*map(float, np.round(slopes, 3)), round(offset, 3)]


def evenly(truth: Matrix) -> Matrix:
    """Weights that make both sides count the same."""
    share = truth.mean()
    each: Matrix = np.where(truth == 1, 0.5 / share, 0.5 / (1 - share))
    return each


def regression(values: Matrix, truth: Matrix, each: Matrix, l2: float) -> tuple[Matrix, float]:
    """Slopes and offset of a logistic regression with so much L2, each row as often as ``each`` says."""
    rows = np.c_[values, np.ones(len(values))]
    bend_by = np.diag([l2 * len(rows)] * values.shape[1] + [0.0])
    found = np.zeros(rows.shape[1])
    for _ in range(15):
        share = 1 / (1 + np.exp(-rows @ found))
        slope = rows.T @ (each * (truth - share)) - bend_by @ found
        bend = (rows.T * (each * share * (1 - share) + 1e-9)) @ rows + bend_by
        found += np.linalg.solve(bend, slope)
    return found[:-1], float(found[-1])


class Signs:
    """What ``Rule.concerns`` is given for questions to one or several communities."""

    def __init__(self, asked: list[evidence.Asked], weight: float) -> None:
        self.near = [near(one, weight) for one in asked]
        self.vectors = vectors([one.text for one in asked])

    def matrix(self, rule: Rule, asked: Sequence[float]) -> Matrix:
        """One row a question with notes near: ``signs_of`` and the odds by its vector."""
        odds = self.vectors @ np.array(asked[:-1]) + asked[-1]
        rows = [(*rule.signs_of(notes), odd) for notes, odd in zip(self.near, odds, strict=True) if notes]
        return np.array(rows, np.float64).reshape(-1, 5)

    def concerned(self, rule: Rule, *, by_vector: bool) -> float:
        """The share of them that the rule takes to be about people's notes."""
        said = [
            rule.concerns(notes, vector if by_vector else None)
            or (not by_vector and any(score >= BOUND for score, _ in notes))
            for notes, vector in zip(self.near, self.vectors.tolist(), strict=True)
        ]
        return sum(said) / len(said)


def near(one: evidence.Asked, weight: float) -> list[tuple[float, float]]:
    """The (relevance, cosine) of the notes of people that a question is offered."""
    score = evidence.fused(one, weight)
    at = {name: place for place, name in enumerate(one.ids)}
    ids = evidence.best_of(one, score, evidence.OFFERED, NOTES_MAX)
    is_theirs = [not (name[0] == "s" and name[1:].isdigit()) for name in ids]
    return [
        (float(score[at[name]]), float(one.cosine[at[name]]))
        for name, theirs in zip(ids, is_theirs, strict=True)
        if theirs
    ]


def concern_table(weight: float) -> tuple[dict[str, list[float]], list[str]]:
    """What ``relevance.json`` holds of it, and what it is worth."""
    present, absent, general = asyncio.run(evidence.signs(evidence.communities("readerlab", HELD)))
    rule = Rule("", weight, evidence.OFFERED, 0.0)
    asked = asked_weights()
    theirs, others = Signs(present + absent, weight), Signs(general, weight)
    ours, other = theirs.matrix(rule, asked), others.matrix(rule, asked)
    values, truth = np.vstack([ours, other]), np.r_[np.ones(len(ours)), np.zeros(len(other))]
    fitted = {"asked": asked}
    bound = int((other[:, 0] >= BOUND).sum())
    for name, columns, most, far in (
        ("concern", 4, WITHOUT_MAX * len(general) - bound, other[other[:, 0] < BOUND]),
        ("concern_asked", 5, GENERAL_MAX * len(general), other),
    ):
        slopes, offset = regression(values[:, :columns], truth, evenly(truth), 1e-4)
        odds = np.sort(far[:, :columns] @ slopes + offset)[::-1]
        offset -= float(odds[max(0, int(most))]) + 1e-6
        fitted[name] = [*map(float, np.round(slopes, 4)), round(offset, 4)]
    told = Rule(
        "", weight, evidence.OFFERED, 0.0, *(tuple(fitted[n]) for n in ("concern", "asked", "concern_asked"))
    )
    return fitted, report(told, weight)


def report(rule: Rule, weight: float) -> list[str]:
    lines = [
        "| questions to | by the notes alone: answerable, absent, general | by the question too |",
        "| --- | --- | --- |",
    ]
    held = lines_of("general_held.txt")
    for name in COMMUNITIES:
        [world] = evidence.newcomers(name)
        world["absent"] += [{"id": f"general-{at}", "q": text} for at, text in enumerate(held)]
        present, absent, _ = asyncio.run(evidence.signs([world]))
        sets = [present, absent[: -len(held)], absent[-len(held) :]]
        shares = [
            ", ".join(
                f"{one.concerned(rule, by_vector=by_vector):.3f}"
                for one in (Signs(some, weight) for some in sets)
            )
            for by_vector in (False, True)
        ]
        lines.append(f"| newcomers', {name} | {shares[0]} | {shares[1]} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.concern")
    parser.add_argument("--write", action="store_true", help="keep what was fitted")
    wanted = parser.parse_args()
    path = evidence.ROOT / "node" / "answer" / "evidence" / "relevance.json"
    rule: dict[str, Any] = json.loads(path.read_text("utf-8"))
    fitted, lines = concern_table(rule["weight"])
    text = "\n".join(
        ["# Whose question is it?", "", "Made by `python -m bench.concern --write`.", "", *lines, ""]
    )
    print(text)
    if wanted.write:
        (evidence.HERE / "results" / "concern.md").write_text(text)
        evidence.keep(path, fitted)


if __name__ == "__main__":
    main()
