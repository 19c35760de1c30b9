"""Evidence: is the right note found, and does a model that reads it see whether it holds the answer?

``python -m bench.evidence`` fits ``node/answer/evidence/relevance.json`` on the notes and questions of half
of the invented communities in ``bench/answerlab/worlds.jsonl`` and reports on the other half; and fits the
curves of ``node/answer/reading.json``: the packaged reader's on the same questions, a language model's on
``bench/answerlab/readings.jsonl`` (log odds of "yes" by a real one), likewise. The packaged reader is also
reported on the sets of ``bench/newcomerlab``, which nothing was fitted on. ``--write`` keeps what was fitted
and writes ``bench/results/evidence.md``."""

from __future__ import annotations

import argparse
import asyncio
import functools
import json
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bench.newcomer import COMMUNITIES, rows
from bench.readings import OUT as BESIDE
from bench.readings import questions
from node.answer.evidence.keywords import Keywords
from node.answer.notes import BOUND, BY_MODEL_MIN, NOTES_MAX, STARTER_COSINE, STARTER_MIN
from node.core.clock import SystemClock
from node.core.ipld.cid import RAW, Cid
from node.core.settings import Embed
from node.models.embedders.cross_encoder import CrossEncoder
from node.models.embedders.local import DIGEST, LocalEmbedder, installed_files

HERE = Path(__file__).parent
DATA = HERE / "answerlab"
ROOT = HERE.parent
BESIDE_LABS = (HERE / "readerlab" / "curves", HERE / "readerlab")
OTHERS_MAX = 0.05
"""At most so many general questions may be given a note of a community: there the weight is fitted, and a
language model reads no note that is farther (``notes.BY_MODEL_MIN``)."""
OFFERED = 0.2
"""The floor of what is offered to the packaged reader, which judges better and costs little."""
RANK = 60
"""Reciprocal rank fusion's constant."""
INVENTED_MAX = 0.03
"""The share of questions with an absent answer for which a note may be taken to hold it."""
BESIDE_MAX = 0.18
"""The share of them for which a note may be quoted."""
PASSED_MAX = 0.1
"""The share of them for which the packaged reader may take a note to hold the answer: where there is a
language model, it still has to find the answer in it."""
SURE_AIMED = 0.97
"""The share of the likeliest notes that have to hold the answer where a model's words about them are stored:
one in fifty it tells wrongly, and 95 in a hundred are to be right."""
BOTH_MAX, BOTH_BESIDE_MAX = 0.1, 0.15
"""The same, and for quoting, where a language model reads beside it."""


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


async def signs(some: list[dict[str, Any]]) -> tuple[list[Asked], list[Asked], list[Asked]]:
    """(answerable, absent, general) questions to ``some`` communities."""
    starter = json.loads((ROOT / "knowledge-index.json").read_text())["entries"]
    general = [json.loads(line)["q"] for line in (DATA / "general.jsonl").read_text().splitlines()]
    embedder = await LocalEmbedder.load(Embed(), SystemClock())

    async def vectors(texts: list[str]) -> NDArray[np.float64]:
        made = await embedder.embed([text[:1_000] for text in texts])
        return np.array([np.zeros(384) if one is None else one for one in made], np.float64)

    present: list[Asked] = []
    absent: list[Asked] = []
    others: list[Asked] = []
    for place, world in enumerate(some):
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
        mine = general[place :: len(some)]
        others += await look([(f"{name}-g{n}", text, ()) for n, text in enumerate(mine)])
    await embedder.close()
    return present, absent, others


Offer: TypeAlias = Callable[[Asked], list[str]]
"""The ids of the notes that a question is offered, the best first."""


def best_of(asked: Asked, score: NDArray[np.float64], floor: float, count: int) -> list[str]:
    """The ids of the ``count`` best notes by ``score`` that are above the floor."""
    return [asked.ids[at] for at in np.argsort(-score, kind="stable")[:count] if score[at] >= floor]


def fused(asked: Asked, weight: float) -> NDArray[np.float64]:
    """The relevance of each note, as in ``node.answer.evidence.relevance``."""
    return np.maximum(asked.cosine, 0.0) + weight * asked.coverage


def order(asked: Asked, weight: float, floor: float, count: int = 4) -> list[str]:
    """The ids of the ``count`` most relevant notes above the floor."""
    return best_of(asked, fused(asked, weight), floor, count)


def by_rank(asked: Asked) -> list[str]:
    """The ids of the best notes by reciprocal rank fusion; equal signs have equal ranks."""
    ranks = [(sign > sign[:, None]).sum(axis=1) + 1 for sign in (asked.cosine, asked.coverage)]
    return best_of(asked, 1.0 / (RANK + ranks[0]) + 1.0 / (RANK + ranks[1]), 0.0, NOTES_MAX)


def by_words(asked: Asked, floor: float) -> list[str]:
    """The ids of the notes that are offered where there is no vector."""
    return best_of(asked, asked.coverage, floor, NOTES_MAX)


def found(asks: list[Asked], offer: Offer) -> tuple[float, float, float]:
    """The shares of questions whose right note comes first, and whose right notes are all among four, or
    offered at all."""
    tops = [(set(one.needs), offer(one)) for one in asks]
    first = sum(bool(top) and top[0] in needs for needs, top in tops)
    among, offered = (sum(needs <= set(top[:count]) for needs, top in tops) for count in (4, None))
    return first / len(tops), among / len(tops), offered / len(tops)


def disturbed(asks: list[Asked], offer: Offer) -> float:
    """The share of general questions that are offered a note of a community."""
    return sum(any(name.startswith("w") for name in offer(one)) for one in asks) / len(asks)


def fit_relevance(present: list[Asked], others: list[Asked]) -> tuple[float, float]:
    """Weight and floor: most right notes among four while few other questions are disturbed; of equals the
    higher floor."""
    best = (-1.0, 0.0, 0.0)
    for weight in np.arange(0.0, 0.81, 0.1):
        for floor in np.arange(0.30, 0.61, 0.02):
            offer = functools.partial(order, weight=weight, floor=floor)
            if disturbed(others, offer) <= OTHERS_MAX:
                first, among, _ = found(present, offer)
                best = max(best, (first + among, float(floor), float(weight)))
    return round(best[2], 2), round(best[1], 2)


def fit_coverage(others: list[Asked]) -> float:
    """The floor where words alone decide: the least at which no other question is offered a community's note.
    What passes it without a vector is near enough to be quoted unread."""
    floors = (step / 20 for step in range(21))
    return next(one for one in floors if not disturbed(others, functools.partial(by_words, floor=one)))


def split(rows: list[Asked], *, held: bool) -> list[Asked]:
    return [one for one in rows if one.is_held is held]


@dataclass(frozen=True)
class Reading:
    """What a language model made of one note for one question, and the packaged reader (``first``). ``kind``:
    ask, or absent: no note holds the answer."""

    id: str
    kind: str
    holds: bool
    log_odds: float
    first: float = 0.0
    place: tuple[float, float] = (0.0, 0.0)
    """Its relevance, and how much less that is than the nearest note's."""
    by_reader: bool = False
    """It was read because the packaged reader ranked it so high, not because it was near."""
    is_held: bool = False
    """Whether its community is kept back for the report."""


def readings(asked: list[Asked], weight: float) -> list[Reading]:
    """Those of ``readings.jsonl``; ``asked`` are the questions to all ``worlds``."""
    by_id = {one.id: one for one in asked}
    rows = [json.loads(line) for line in (DATA / "readings.jsonl").read_text().splitlines()]
    texts = texts_of(worlds())
    reader = CrossEncoder.open(installed_files(), threads=2)
    made = []
    for row in rows:
        one = by_id[row["id"]]
        [first] = reader.score(one.text, [texts[row["note"]]])
        scores = fused(one, weight)
        relevance = float(scores[one.ids.index(row["note"])])
        place = relevance, float(scores.max()) - relevance
        by_reader = row.get("ranked_by") == "reader"
        read = Reading(row["id"], row["kind"], row["holds"], row["log_odds"], first, place, by_reader)
        made.append(replace(read, is_held=one.is_held))
    return made


def beside(weight: float) -> list[Reading]:
    """Those of ``readings_beside.jsonl`` (``python -m bench.readings``): what the node had a model read, of
    communities that the packaged reader was not trained on. Every fifth of them is kept back."""
    rows = [json.loads(line) for line in BESIDE.read_text().splitlines()]
    read = [row for row in rows if row["note"] not in ("", "starter")]
    reader = CrossEncoder.open(installed_files(), threads=2)
    made = []
    for place, name in enumerate(sorted({row["community"] for row in read})):
        path = next(one / f"{name}.jsonl" for one in BESIDE_LABS if (one / f"{name}.jsonl").exists())
        facts, asked = questions(path, 1)
        world = {
            "facts": [{"id": row["id"], "q": row["q"], "a": row["a"]} for row in facts],
            "asks": [row | {"id": row["q"]} for row in asked if row["kind"] == "ask"],
            "absent": [row | {"id": row["q"]} for row in asked if row["kind"] == "absent"],
        }
        present, absent, _ = asyncio.run(signs([world]))
        by_id = {one.id: one for one in present + absent}
        texts = texts_of([world])
        for row in (row for row in read if row["community"] == name):
            one = by_id[row["q"]]
            [first] = reader.score(one.text, [texts[row["note"]]])
            scores = fused(one, weight)
            relevance = float(scores[one.ids.index(row["note"])])
            at = relevance, float(scores.max()) - relevance
            kind, holds = "ask" if one.needs else "absent", row["note"] in one.needs
            reading = Reading(f"{name}-{one.id}", kind, holds, row["log_odds"], first, at, by_reader=True)
            made.append(replace(reading, is_held=place % 5 == 4))
    return made


def fit(columns: list[list[float]], holds: list[bool]) -> list[float]:
    """A slope for each column and the offset of the logistic curve by Newton's method; a weak prior keeps the
    slopes finite."""
    x = np.array([*columns, [1.0] * len(holds)]).T
    y = np.array(holds, np.float64)
    prior = np.diag([0.05] * len(columns) + [1e-9])
    weights = np.zeros(x.shape[1])
    for _ in range(50):
        p = 1.0 / (1.0 + np.exp(-(x @ weights)))
        hessian = (x * (p * (1.0 - p) + 1e-9)[:, None]).T @ x + prior
        weights = weights + np.linalg.solve(hessian, x.T @ (y - p) - prior @ weights)
    return [float(one) for one in weights]


def fit_reading(rows: list[Reading]) -> tuple[float, float]:
    """Slope and offset of a language model's curve."""
    slope, offset = fit([[row.log_odds for row in rows]], [row.holds for row in rows])
    return slope, offset


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


Signs: TypeAlias = tuple[float, float, float]
"""Of a note that was offered: the packaged reader's log odds, its relevance, how much less that is than the
nearest note's."""


@dataclass(frozen=True)
class Offered:
    """The notes that one question was offered, and which hold the answer. ``is_absent``: none does."""

    is_absent: bool
    signs: tuple[Signs, ...]
    holds: tuple[bool, ...]

    def best(self, weights: Sequence[float]) -> tuple[float, bool]:
        """The log odds of the likeliest note, and whether it holds the answer; ``weights`` are those of
        ``Signs`` and an offset."""
        odds = [sum(map(operator.mul, weights, (*row, 1.0))) for row in self.signs]
        at = int(np.argmax(odds)) if odds else -1
        return (odds[at], self.holds[at]) if odds else (-math.inf, False)


def offers(asked: list[Asked], texts: dict[str, str], weight: float, floor: float) -> list[Offered]:
    reader = CrossEncoder.open(installed_files(), threads=2)
    made = []
    for one in asked:
        near = order(one, weight, floor, NOTES_MAX)
        odds = reader.score(one.text, [texts[name] for name in near]) if near else []
        scores = dict(zip(one.ids, map(float, fused(one, weight)), strict=True))
        places = [(scores[name], scores[near[0]] - scores[name]) for name in near]
        signs = tuple((said, *place) for said, place in zip(odds, places, strict=True))
        made.append(Offered(not one.needs, signs, tuple(name in one.needs for name in near)))
    return made


def curve_of(slope: float, offset: float, passes: float, quotes: float) -> dict[str, float]:
    """A curve as ``reading.json`` holds it; ``passes`` and ``quotes`` are log odds."""
    return {
        "slope": round(slope, 3),
        "offset": round(offset, 3),
        "floor": round(logistic(slope * passes + offset), 4),
        "quote": round(logistic(slope * quotes + offset), 4),
    }


def fit_ranked(rows: list[Offered]) -> list[float]:
    """The weights of ``Signs`` and the offset, on the likeliest note of each question; which that is depends
    on the weights, so it is done again until that hardly changes."""
    weights = [1.0, 0.0, -4.0, 0.0]
    some = [row for row in rows if row.signs]
    for _ in range(8):
        tops = []
        for row in some:
            odds = [sum(map(operator.mul, weights, (*one, 1.0))) for one in row.signs]
            at = int(np.argmax(odds))
            tops.append((row.signs[at], row.holds[at]))
        columns = [[signs[place] for signs, _ in tops] for place in range(3)]
        weights = fit(columns, [holds for _, holds in tops])
    return weights


def ranked_table(
    kept: dict[str, list[Offered]], fitted: list[Offered], texts: list[Offered]
) -> tuple[dict[str, float], dict[str, float], list[str]]:
    """What ``reading.json`` holds of the packaged reader, for a text alone (fitted on ``texts``) and for a
    note among others, and what that comes to."""
    weights = fit_ranked(fitted)
    tops = [max(zip((one[0] for one in row.signs), row.holds, strict=True)) for row in texts if row.signs]
    alone = fit([[odds for odds, _ in tops]], [holds for _, holds in tops])
    cuts = cuts_of(fitted, weights)
    lines = [
        "| questions | by | right note first of all | AUC | right notes that pass, or are quoted at least "
        "| absent answers, likewise |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name, some in kept.items():
        for by, used in (("reader alone", [alone[0], 0.0, 0.0, alone[1]]), ("reader and relevance", weights)):
            passes, quotes = cuts_of(fitted, used)
            tops_of = [(row.is_absent, *row.best(used)) for row in some]
            right = [(odds, holds) for absent, odds, holds in tops_of if not absent]
            absent = [odds for is_absent, odds, _ in tops_of if is_absent]
            told = [sum(o >= cut and holds for o, holds in right) / len(right) for cut in (passes, quotes)]
            told += [sum(odds >= cut for odds in absent) / len(absent) for cut in (passes, quotes)]
            apart = auc([Reading("", "", not is_absent, odds) for is_absent, odds, _ in tops_of])
            first = sum(holds for _, holds in right) / len(right)
            lines.append(
                f"| {len(some)} {name} | {by} | {first:.2f} | {apart:.3f} | {told[0]:.2f}, {told[1]:.2f} "
                f"| {told[2]:.3f}, {told[3]:.3f} |"
            )
    one = {"slope": round(alone[0], 3), "offset": round(alone[1], 3)}
    slope, near, far, offset = weights
    floor, quote = (round(logistic(cut), 4) for cut in cuts)
    among = {"slope": round(slope, 3), "offset": round(offset, 3), "floor": floor, "quote": quote}
    return one, among | {"near": round(near, 3), "behind": round(-far, 3)}, lines


def cuts_of(rows: list[Offered], weights: Sequence[float]) -> tuple[float, float]:
    """The log odds from which a note passes, and from which it is quoted."""
    wrong = sorted((row.best(weights)[0] for row in rows if row.is_absent), reverse=True)
    passes, quotes = (wrong[int(share * len(wrong))] + 0.01 for share in (PASSED_MAX, BESIDE_MAX))
    return passes, quotes


def both_table(rows: list[Reading]) -> tuple[dict[str, float], list[str]]:
    """The curve of a language model that reads beside the packaged reader, and what it comes to. What counts
    is the likeliest note of each question."""
    train = [row for row in rows if not row.is_held]
    columns = [[row.first, row.log_odds, *row.place] for row in train]
    weights = fit([list(one) for one in zip(*columns, strict=True)], [row.holds for row in train])

    def joined(some: list[Reading]) -> list[Reading]:
        return [
            replace(row, log_odds=float(np.dot(weights, [row.first, row.log_odds, *row.place, 1.0])))
            for row in some
        ]

    best: dict[str, float] = {}
    for row in joined(train):
        if row.kind == "absent":
            best[row.id] = max(row.log_odds, best.get(row.id, -math.inf))
    wrong = sorted(best.values(), reverse=True)
    cuts = [wrong[int(share * len(wrong))] + 0.01 for share in (BOTH_MAX, BOTH_BESIDE_MAX)]
    lines = [
        "| read by both | AUC | right notes that pass, or are quoted at least | absent answers, likewise |",
        "| --- | --- | --- | --- |",
    ]
    for name, some in (("fitted on", joined(train)), ("kept back", joined([r for r in rows if r.is_held]))):
        (passed, invented), (told, beside) = (shares(some, cut) for cut in cuts)
        lines.append(
            f"| {len(some)} {name} | {auc(some):.3f} | {passed:.2f}, {told:.2f} "
            f"| {invented:.3f}, {beside:.3f} |"
        )
    likeliest: dict[str, tuple[float, bool]] = {}
    for row in joined(train):
        likeliest[row.id] = max((row.log_odds, row.holds), likeliest.get(row.id, (-math.inf, False)))
    sure = round(logistic(sure_from(list(likeliest.values()))), 4)
    lines += ["", f"What a model tells of a note is sure enough to be stored from {sure} on."]
    slope, second, near, far, offset = (round(one, 3) for one in weights)
    fitted = {"slope": slope, "second": second, "offset": offset, "near": near, "behind": -far}
    floor, quote = (round(logistic(cut), 4) for cut in cuts)
    return fitted | {"floor": floor, "quote": quote, "sure": sure}, lines


def sure_from(likeliest: list[tuple[float, bool]]) -> float:
    """The least log odds from which on ``SURE_AIMED`` of the likeliest notes hold the answer."""
    ranked = sorted(likeliest, reverse=True)
    right = np.cumsum([holds for _, holds in ranked]) / np.arange(1, len(ranked) + 1)
    enough = [odds for (odds, _), share in zip(ranked, right, strict=True) if share >= SURE_AIMED]
    return enough[-1]


def texts_of(some: list[dict[str, Any]]) -> dict[str, str]:
    """Each note as it is read, by its id."""
    starter = json.loads((ROOT / "knowledge-index.json").read_text())["entries"]
    texts = {f"s{n}": f"{one['query']} {one['answer']}" for n, one in enumerate(starter)}
    return texts | {str(one["id"]): f"{one['q']} {one['a']}" for world in some for one in world["facts"]}


def newcomers(community: str) -> list[dict[str, Any]]:
    """One of ``bench/newcomerlab`` as a world."""
    facts, asks, absent = (rows(f"{community}_{kind}") for kind in ("facts", "asks", "absent"))
    return [{"facts": [one | {"id": one["fact_id"]} for one in facts], "asks": asks, "absent": absent}]


def read_by_all(
    asked: tuple[list[Asked], list[Asked], list[Asked]], weight: float, floor: float
) -> tuple[dict[str, list[Offered]], list[Offered], list[Offered]]:
    """What the packaged reader says, by the name of the set; of the sets to fit on: communities that it was
    not trained on; and of those of ``worlds`` among them."""
    present, absent, _ = asked
    fit, kept = (
        offers(split(present, held=held) + split(absent, held=held), texts_of(worlds()), weight, floor)
        for held in (False, True)
    )
    of_worlds = list(fit)
    for world in communities("readerlab/curves"):
        found_in, not_in, _ = asyncio.run(signs([world]))
        fit += offers(found_in + not_in, texts_of([world]), weight, floor)
    told = {"fitted on": fit, "kept back": kept}
    for community in COMMUNITIES:
        newcomers_world = newcomers(community)
        found_in, not_in, _ = asyncio.run(signs(newcomers_world))
        told[f"newcomers', {community}"] = offers(found_in + not_in, texts_of(newcomers_world), weight, floor)
    return told, fit, of_worlds


def report(
    relevance_lines: list[str], near_lines: list[str], trained_lines: list[str], reading_lines: list[str]
) -> str:
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
            "## What does the nearest note say of a question?",
            "",
            *near_lines,
            "",
            "## Does the packaged reader see whether a note holds the answer?",
            "",
            *trained_lines,
            "",
            "## Does a language model that reads a note see it?",
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
    """Weight, the floor where words alone decide, and what they come to."""
    weight, floor = fit_relevance(split(present, held=False), split(others, held=False))
    words_floor = fit_coverage(split(others, held=False))
    fitted = functools.partial(order, weight=weight, floor=floor)
    shipped = functools.partial(order, weight=weight, floor=OFFERED, count=NOTES_MAX)
    offers: dict[str, Offer] = {f"floor {floor}, 4 notes": fitted}
    offers |= {f"floor {OFFERED}, 12 notes (shipped)": shipped, "reciprocal ranks, 12 notes": by_rank}
    for one in (0.2, 0.4, words_floor, 0.8):
        offers[f"words alone, floor {one}"] = functools.partial(by_words, floor=one)
    lines = [
        "| offered | questions | right note first | right notes among four | right notes offered "
        "| general questions disturbed |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for offered, offer in offers.items():
        for name, held in (("fitted on", False), ("kept back", True)):
            asks = split(present, held=held)
            first, four, every = found(asks, offer)
            other = disturbed(split(others, held=held), offer)
            told = f"{first:.2f} | {four:.2f} | {every:.2f} | {other:.3f}"
            lines.append(f"| {offered} | {len(asks)} {name} | {told} |")
    share = sum(bool(fitted(one)) for one in absent) / len(absent)
    told = f"of {len(absent)} questions whose answer is absent {share:.2f} are offered a note all the same."
    lines += ["", f"Weight {weight}, floor {floor}, by words alone {words_floor}; {told}"]
    return weight, words_floor, lines


def near_table(present: list[Asked], absent: list[Asked], others: list[Asked], weight: float) -> list[str]:
    """What the constants of ``node/answer/notes.py`` rest on."""

    def most(one: Asked, kind: str, score: NDArray[np.float64]) -> float:
        return max(float(at) for name, at in zip(one.ids, score, strict=True) if name.startswith(kind))

    near = [[most(one, "w", fused(one, weight)) for one in some] for some in (present, absent, others)]
    entries = [most(one, "s", fused(one, weight)) for one in others]
    lines = [
        "| relevance from | answerable questions with such a note of the community | absent answers "
        f"| general questions | of {len(others)} general ones with such a starter entry |",
        "| --- | --- | --- | --- | --- |",
    ]
    for least in (BY_MODEL_MIN, 0.45, BOUND, 0.65, STARTER_MIN):
        shares = " | ".join(f"{sum(one >= least for one in some) / len(some):.2f}" for some in near)
        lines.append(f"| {least} | {shares} | {sum(one >= least for one in entries)} |")
    lines += ["", "| cosine from | general questions with such a starter entry |", "| --- | --- |"]
    for least in (0.4, STARTER_COSINE, 0.6):
        lines.append(f"| {least} | {sum(most(one, 's', one.cosine) >= least for one in others)} |")
    lines += ["", "| nearest to quote, from | questions | it holds the answer |", "| --- | --- | --- |"]
    nearest = [(nearest_of(one, weight), one.needs) for one in present + absent]
    for least in (0.0, BOUND, 1.0):
        right = [name in needs for (name, score), needs in nearest if score >= least]
        lines.append(f"| {least} | {len(right)} | {sum(right)} ({sum(right) / len(right):.2f}) |")
    return lines


def communities(folder: str, every: slice = slice(None)) -> list[dict[str, Any]]:
    """Those of a folder, in the form of ``worlds``."""
    made = []
    for path in sorted((HERE / folder).glob("*.jsonl"))[every]:
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        some = {kind: [row for row in rows if row["kind"] == kind] for kind in ("fact", "ask", "absent")}
        made.append(
            {
                "facts": [{"id": f"w1-{row['id']}", "q": row["q"], "a": row["a"]} for row in some["fact"]],
                "asks": [
                    {"id": f"w1-{n}", "q": row["q"], "needs": [f"w1-{one}" for one in row["needs"]]}
                    for n, row in enumerate(some["ask"])
                ],
                "absent": [{"id": f"w1-{n}", "q": row["q"]} for n, row in enumerate(some["absent"])],
            }
        )
    return [world for world in made if world["facts"]]


def nearest_of(asked: Asked, weight: float) -> tuple[str, float]:
    """The note that is quoted where nobody reads, and its relevance: no starter entry that is far."""
    score = fused(asked, weight)
    far = (score < STARTER_MIN) | (asked.cosine < STARTER_COSINE)
    is_far = far & np.array([name.startswith("s") for name in asked.ids])
    at = int(np.argmax(np.where(is_far, -1.0, score)))
    return asked.ids[at], float(score[at])


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
    return curve_of(slope, offset, threshold, quoted), lines


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.evidence")
    parser.add_argument("--write", action="store_true", help="keep what was fitted, and the report")
    parser.add_argument(
        "--beside",
        action="store_true",
        help="only the curve of a language model that reads beside the reader",
    )
    wanted = parser.parse_args()
    asked = asyncio.run(signs(worlds()))
    path = ROOT / "node" / "answer" / "reading.json"
    if wanted.beside:
        weight = json.loads((ROOT / "node" / "answer" / "evidence" / "relevance.json").read_text())["weight"]
        joint, lines = both_table([*readings(asked[0] + asked[1], weight), *beside(weight)])
        print("\n".join(lines))
        if wanted.write:
            keep(path, {"both": joint})
            result = HERE / "results" / "evidence.md"
            before, _, _ = result.read_text().partition(lines[0])
            result.write_text("\n".join([before + lines[0], *lines[1:], ""]))
        return
    weight, words_floor, relevance_lines = relevance_table(*asked)
    alone, among, trained_lines = ranked_table(*read_by_all(asked, weight, OFFERED))
    read = readings(asked[0] + asked[1], weight)
    fitted, reading_lines = reading_table([row for row in read if not row.by_reader])
    joint, joint_lines = both_table([*read, *beside(weight)])
    reading_lines += ["", *joint_lines]
    text = report(relevance_lines, near_table(*asked, weight), trained_lines, reading_lines)
    print(text)
    if not wanted.write:
        return
    (HERE / "results" / "evidence.md").write_text(text)
    rule = {"version": 1, "embedder": DIGEST, "weight": weight, "floor": OFFERED}
    keep(ROOT / "node" / "answer" / "evidence" / "relevance.json", rule | {"coverage_floor": words_floor})
    keep(path, fitted | {"trained": alone, "ranked": among, "both": joint})


def keep(path: Path, fitted: Mapping[str, object]) -> None:
    """Write what was fitted beside what the file holds, a name a line."""
    held = json.loads(path.read_text("utf-8")) | fitted
    lines = [f"  {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}" for name, value in held.items()]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
