"""Evidence: is the right note found, and does a model that reads it see whether it holds the answer?

``python -m bench.evidence`` fits ``node/knowledge/relevance.json`` on the notes and questions of half of the
invented communities in ``bench/answerlab/worlds.jsonl`` and reports on the other half; and fits the curve of
``node/synthesise/reading.json`` on ``bench/answerlab/readings.jsonl`` (log odds of "yes" by a real model),
likewise. ``--write`` keeps what was fitted and writes ``bench/results/evidence.md``."""

from __future__ import annotations

import argparse
import asyncio
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from node.clock import SystemClock
from node.embed.local import ONNX_SHA256, LocalEmbedder
from node.ipfs.cid import RAW, Cid
from node.knowledge import relevance
from node.knowledge.keywords import Keywords
from node.settings import Embed

HERE = Path(__file__).parent
DATA = HERE / "answerlab"
ROOT = HERE.parent
OTHERS_MAX = 0.05
"""At most so many general questions may be given a note of a community."""
INVENTED_MAX = 0.03
"""The share of questions with an absent answer for which a note may be taken to hold it."""
BESIDE_MAX = 0.15
"""The share of them for which a note may be quoted."""


@dataclass(frozen=True)
class Asked:
    """A question to one community, its relevant signs for every note of it and of the starter entries."""

    id: str
    text: str
    needs: tuple[str, ...]
    ids: tuple[str, ...]
    cosine: NDArray[np.float64]
    coverage: NDArray[np.float64]

    @property
    def is_held(self) -> bool:
        """Whether its community is kept back for the report."""
        return int(self.id[1 : self.id.index("-")]) > 4


def worlds() -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / "worlds.jsonl").read_text().splitlines()]


async def signs() -> tuple[list[Asked], list[Asked], list[Asked]]:
    """(answerable, absent, general) questions."""
    starter = json.loads((ROOT / "knowledge-index.json").read_text())["entries"]
    general = [json.loads(line)["q"] for line in (DATA / "general.jsonl").read_text().splitlines()]
    embedder = await LocalEmbedder.load(Embed(), SystemClock())

    async def vectors(texts: list[str]) -> NDArray[np.float64]:
        made = await embedder.embed([text[:1_000] for text in texts])
        return np.array([np.zeros(384) if one is None else one for one in made], np.float64)

    present: list[Asked] = []
    absent: list[Asked] = []
    others: list[Asked] = []
    for place, world in enumerate(worlds()):
        notes = [(str(one["id"]), str(one["q"]), str(one["a"])) for one in world["facts"]]
        notes += [(f"s{n}", one["query"], one["answer"]) for n, one in enumerate(starter)]
        keywords = Keywords()
        cids = [Cid.of(one[0].encode(), RAW) for one in notes]
        for cid, (_, asked, text) in zip(cids, notes, strict=True):
            keywords.add(cid, f"{asked} {text}", scope="shared", context=None)
        about, said = await vectors([one[1] for one in notes]), await vectors([one[2] for one in notes])
        ids = tuple(one[0] for one in notes)

        async def look(
            rows: list[tuple[str, str, tuple[str, ...]]],
            keywords: Keywords = keywords,
            cids: list[Cid] = cids,
            about: NDArray[np.float64] = about,
            said: NDArray[np.float64] = said,
            ids: tuple[str, ...] = ids,
        ) -> list[Asked]:
            made = await vectors([row[1] for row in rows])
            found = []
            for (name, text, needs), vector in zip(rows, made, strict=True):
                covered = keywords.coverage(keywords.weights(text, [("shared", None)]), cids)
                cosine = np.maximum(about @ vector, said @ vector)
                found.append(Asked(name, text, needs, ids, cosine, np.array([covered[cid] for cid in cids])))
            return found

        name = str(world["facts"][0]["id"]).partition("-")[0]
        present += await look(
            [(str(a["id"]), str(a["q"]), tuple(map(str, a["needs"]))) for a in world["asks"]]
        )
        absent += await look([(str(a["id"]), str(a["q"]), ()) for a in world["absent"]])
        mine = general[place :: len(worlds())]
        others += await look([(f"{name}-g{n}", text, ()) for n, text in enumerate(mine)])
    await embedder.close()
    return present, absent, others


def order(asked: Asked, weight: float, floor: float) -> list[str]:
    """The ids of the four most relevant notes above the floor."""
    score = np.maximum(asked.cosine, 0.0) + weight * asked.coverage
    return [asked.ids[at] for at in np.argsort(-score, kind="stable")[:4] if score[at] >= floor]


def found(asks: list[Asked], weight: float, floor: float) -> tuple[float, float]:
    """The shares of questions whose right note comes first, and whose right notes are all among four."""
    tops = [(one, order(one, weight, floor)) for one in asks]
    first = sum(bool(top) and top[0] in one.needs for one, top in tops)
    return first / len(tops), sum(all(need in top for need in one.needs) for one, top in tops) / len(tops)


def disturbed(asks: list[Asked], weight: float, floor: float) -> float:
    """The share of general questions that are offered a note of a community."""
    return sum(any(name.startswith("w") for name in order(one, weight, floor)) for one in asks) / len(asks)


def fit_relevance(present: list[Asked], others: list[Asked]) -> tuple[float, float]:
    """Weight and floor: most right notes among four while few other questions are disturbed; of equals the
    higher floor."""
    best = (-1.0, 0.0, 0.0)
    for weight in np.arange(0.0, 0.81, 0.1):
        for floor in np.arange(0.30, 0.61, 0.02):
            if disturbed(others, weight, floor) <= OTHERS_MAX:
                first, among = found(present, weight, floor)
                best = max(best, (first + among, float(floor), float(weight)))
    return round(best[2], 2), round(best[1], 2)


def split(rows: list[Asked], *, held: bool) -> list[Asked]:
    return [one for one in rows if one.is_held is held]


@dataclass(frozen=True)
class Reading:
    """What a model made of one note for one question. ``kind``: ask, or absent: no note holds the answer."""

    id: str
    kind: str
    holds: bool
    log_odds: float

    @property
    def is_held(self) -> bool:
        return int(self.id[1 : self.id.index("-")]) > 4


def readings() -> list[Reading]:
    rows = [json.loads(line) for line in (DATA / "readings.jsonl").read_text().splitlines()]
    return [Reading(row["id"], row["kind"], row["holds"], row["log_odds"]) for row in rows]


def fit_reading(rows: list[Reading]) -> tuple[float, float]:
    """Slope and offset of the logistic curve by Newton's method; a weak prior keeps the slope finite."""
    x = np.array([row.log_odds for row in rows])
    y = np.array([float(row.holds) for row in rows])
    slope, offset = 1.0, 0.0
    for _ in range(50):
        p = 1.0 / (1.0 + np.exp(-(slope * x + offset)))
        w = p * (1.0 - p) + 1e-9
        gradient = np.array([((y - p) * x).sum() - 0.05 * slope, (y - p).sum()])
        hessian = np.array([[(w * x * x).sum() + 0.05, (w * x).sum()], [(w * x).sum(), w.sum()]])
        step = np.linalg.solve(hessian, gradient)
        slope, offset = slope + step[0], offset + step[1]
    return float(slope), float(offset)


def auc(rows: list[Reading]) -> float:
    right = [row.log_odds for row in rows if row.holds]
    wrong = [row.log_odds for row in rows if not row.holds]
    pairs = [(a > b) + 0.5 * (a == b) for a in right for b in wrong]
    return sum(pairs) / len(pairs)


def shares(rows: list[Reading], threshold: float) -> tuple[float, float]:
    """(right notes that pass, absent answers that pass)."""
    right = [row.log_odds >= threshold for row in rows if row.holds]
    absent = [row.log_odds >= threshold for row in rows if row.kind == "absent"]
    return sum(right) / len(right), sum(absent) / len(absent)


def report(relevance_lines: list[str], reading_lines: list[str]) -> str:
    return "\n".join(
        [
            "# Evidence",
            "",
            "Made by `python -m bench.evidence --write`. Fitted on communities 1 to 4, reported on 5 to 8.",
            "",
            "## Is the right note found?",
            "",
            *relevance_lines,
            "",
            "## Does a model that reads a note see whether it holds the answer?",
            "",
            *reading_lines,
            "",
        ]
    )


def logistic(value: float) -> float:
    return 1.0 / (1.0 + math.exp(-value))


def relevance_table(
    present: list[Asked], absent: list[Asked], others: list[Asked]
) -> tuple[float, float, list[str]]:
    """Weight, floor and what they come to."""
    weight, floor = fit_relevance(split(present, held=False), split(others, held=False))
    lines = [
        "| questions | right note first | right notes among four | general questions disturbed |",
        "| --- | --- | --- | --- |",
    ]
    for name, held in (("fitted on", False), ("kept back", True)):
        first, among = found(split(present, held=held), weight, floor)
        other = disturbed(split(others, held=held), weight, floor)
        lines.append(f"| {len(split(present, held=held))} {name} | {first:.2f} | {among:.2f} | {other:.3f} |")
    offered = sum(bool(order(one, weight, floor)) for one in absent) / len(absent)
    told = f"of {len(absent)} questions whose answer is absent {offered:.2f} are offered a note all the same."
    return weight, floor, [*lines, "", f"Weight {weight}, floor {floor}; {told}"]


def reading_table(rows: list[Reading]) -> tuple[dict[str, float], list[str]]:
    """What ``reading.json`` holds of the curve, and what it comes to."""
    train = [row for row in rows if not row.is_held]
    kept = [row for row in rows if row.is_held]
    slope, offset = fit_reading(train)
    wrong = sorted((row.log_odds for row in train if row.kind == "absent"), reverse=True)
    threshold = wrong[int(INVENTED_MAX * len(wrong))] + 0.01
    quoted = wrong[int(BESIDE_MAX * len(wrong))] + 0.01
    lines = [
        "| readings | AUC | right notes that pass, or are quoted at least | absent answers, likewise |",
        "| --- | --- | --- | --- |",
    ]
    for name, some in (("fitted on", train), ("kept back", kept)):
        (passed, invented), (told, beside) = shares(some, threshold), shares(some, quoted)
        right, absent = f"{passed:.2f}, {told:.2f}", f"{invented:.3f}, {beside:.3f}"
        lines.append(f"| {len(some)} {name} | {auc(some):.3f} | {right} | {absent} |")
    lines += [
        "",
        f"P = 1 / (1 + exp(-({slope:.2f} x log odds + {offset:.2f}))); a note passes from log odds "
        f"{threshold:.2f} on and is quoted from {quoted:.2f} on.",
    ]
    fitted = {
        "slope": round(slope, 3),
        "offset": round(offset, 3),
        "floor": round(logistic(slope * threshold + offset), 4),
        "quote": round(logistic(slope * quoted + offset), 4),
    }
    return fitted, lines


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.evidence")
    parser.add_argument("--write", action="store_true", help="keep what was fitted, and the report")
    wanted = parser.parse_args()
    weight, floor, relevance_lines = relevance_table(*asyncio.run(signs()))
    fitted, reading_lines = reading_table(readings())
    text = report(relevance_lines, reading_lines)
    print(text)
    if not wanted.write:
        return
    (HERE / "results" / "evidence.md").write_text(text)
    rule = {"version": 1, "embedder": ONNX_SHA256, "weight": weight, "floor": floor}
    rule["coverage_floor"] = relevance.packaged().coverage_floor
    (ROOT / "node" / "knowledge" / "relevance.json").write_text(json.dumps(rule, indent=2) + "\n")
    path = ROOT / "node" / "synthesise" / "reading.json"
    told = json.dumps(json.loads(path.read_text()) | fitted, indent=2, ensure_ascii=False)
    path.write_text(told + "\n")


if __name__ == "__main__":
    main()
