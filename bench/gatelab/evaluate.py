"""What a gate model is worth on sources and families that it never saw, beside cosine and the bare words.

``python -m bench.gatelab.evaluate MODEL.json [--data FOLDER] [--ceiling] [--show N]``

Method. Each stream of the part ``test`` is replayed as a cache meets it: the question brings up the ``K``
nearest of what is stored, a decider picks one of them or none; a hit stores nothing, a miss stores the true
answer. Exact repeats are left out, so that only the semantic tier is judged.

    wrong    wrong serves / look-ups, with the one-sided 95 % upper limit (Clopper-Pearson)
    recall   right serves / questions whose class came before
    of hits  wrong serves / all serves

``model`` serves with u within 0.05 from its cut-off on, ``u ≤ 0.10`` likewise, ``u, ≥ .8`` only from a
cosine of 0.8 on, ``or words`` also what says the same word for word, ``cut-off`` from its cut-off
on whatever u: that is the bound per look-up without the bound per hit.

``--ceiling`` adds, marked as such, the best cut-off found afterwards on the stream itself. Sets of pairs:
share served of the pairs with one answer, and of the others. By kind: near-misses of a kind that were served,
of those brought up.

Nothing may be chosen by looking at these figures; that is what cross-fitted scores in ``train`` are for.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from bench.gatelab.families import Question
from bench.gatelab.streams import (
    FOLDER,
    K,
    Source,
    Vectors,
    candidates,
    distinct,
    every_family,
    kind_of,
    sources,
    texts_of,
)
from bench.gatelab.train import upper
from node.cache.matching.gate import HARD_VETOES
from node.cache.matching.gate_model import AT, Estimate, GateModel
from node.cache.matching.measure import VETOES, measure
from node.cache.matching.neighbours import FLOOR, Near
from node.core.normalise import normalise

WIDE = 20
"""So many nearest among all earlier questions are known; the ``K`` nearest stored are taken from these."""
U_LIMIT = 0.05
WRONG_MAX = 0.01


@dataclass(frozen=True, slots=True)
class Candidate:
    """A stored question that was brought up, with the numbers of the pair and its class."""

    asked: str
    stored: str
    cosine: float
    pair: list[float]
    cls: str


Decider = Callable[[Sequence[Candidate]], int | None]
"""Which of the candidates (nearest first) is served, if any."""


@dataclass(slots=True)
class Outcome:
    look_ups: int = 0
    repeats: int = 0
    right: int = 0
    wrong: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    met: Counter[str] = field(default_factory=Counter)
    errors: list[tuple[str, str, str]] = field(default_factory=list)

    @property
    def recall(self) -> float:
        return self.right / max(1, self.repeats)

    @property
    def share(self) -> float:
        return self.wrong / max(1, self.look_ups)

    def line(self) -> str:
        hits = self.right + self.wrong
        return (
            f"recall {self.recall:5.3f}  "
            f"wrong {self.wrong:4d}/{self.look_ups:5d} = {100 * self.share:5.2f} % "
            f"(≤ {100 * upper(self.wrong, self.look_ups):5.2f} %)  of hits {self.wrong / max(1, hits):5.3f}"
        )


class Stream:
    """A stream with its neighbours measured, to be replayed with any decider."""

    def __init__(self, source: Source, vectors: Vectors, limit: int = 0) -> None:
        self.name = source.name
        self.arrivals = distinct(source.questions)[: limit or None]
        matrix = vectors.matrix([normalise(question.text) for question in self.arrivals])
        self.near: list[list[tuple[int, float]]] = []
        self._numbers: dict[tuple[int, int], list[float]] = {}
        for number in range(len(self.arrivals)):
            cosines = matrix[:number] @ matrix[number]
            top = np.flatnonzero(cosines >= FLOOR)
            top = top[np.argsort(-cosines[top], kind="stable")][:WIDE]
            self.near.append([(int(at), float(cosines[at])) for at in top])

    def _candidate(self, number: int, at: int, cosine: float) -> Candidate:
        asked, stored = self.arrivals[number].text, self.arrivals[at].text
        key = (number, at)
        if key not in self._numbers:
            self._numbers[key] = measure(asked, stored, cosine)
        return Candidate(asked, stored, cosine, self._numbers[key], self.arrivals[at].cls)

    def replay(self, decide: Decider) -> Outcome:
        outcome = Outcome(look_ups=len(self.arrivals))
        families = every_family()
        stored: set[int] = set()
        seen: set[str] = set()
        for number, question in enumerate(self.arrivals):
            near = [(at, cosine) for at, cosine in self.near[number] if at in stored][:K]
            found = [self._candidate(number, at, cosine) for at, cosine in near]
            outcome.repeats += question.cls in seen
            seen.add(question.cls)
            for kind in {kind_of(question, self.arrivals[at], families) for at, _ in near}:
                outcome.met[kind] += 1
            chosen = decide(found)
            if chosen is None:
                stored.add(number)
                continue
            other: Question = self.arrivals[near[chosen][0]]
            if other.cls == question.cls:
                outcome.right += 1
            else:
                outcome.wrong += 1
                kind = kind_of(question, other, families)
                outcome.kinds[kind] += 1
                outcome.errors.append((kind, question.text, other.text))
        return outcome


def by_cosine(threshold: float) -> Decider:
    return lambda found: 0 if found and found[0].cosine >= threshold else None


def _vetoed(one: Candidate) -> bool:
    return VETOES[int(one.pair[AT["veto"]])] in HARD_VETOES


def _estimates(model: GateModel, found: Sequence[Candidate]) -> list[Estimate]:
    near = [Near(one.cosine, one.cls) for one in found]
    return model.estimate_all([one.pair for one in found], near, [_vetoed(one) for one in found])


def by_words(found: Sequence[Candidate]) -> int | None:
    """The nearest that differs in nothing that the gate's reading sees."""
    for place, one in enumerate(found):
        if not one.pair[AT["veto"]]:
            return place
    return None


def by_model(model: GateModel, u_limit: float, floor: float = 0.0, words: bool = False) -> Decider:
    """The nearest candidate that passes, as ``lookup.choose`` does it; ``words``: or ``by_words``."""

    def decide(found: Sequence[Candidate]) -> int | None:
        if words and (place := by_words(found)) is not None:
            return place
        for place, (one, estimate) in enumerate(zip(found, _estimates(model, found), strict=True)):
            if not _vetoed(one) and one.cosine >= floor and estimate.u < 1.0 and estimate.u <= u_limit:
                return place
        return None

    return decide


def by_score(model: GateModel, cut: float) -> Decider:
    """The candidate of the best score, from a cut-off on; vetoes stand."""

    def decide(found: Sequence[Candidate]) -> int | None:
        estimates = _estimates(model, found)
        scored = [-math.inf if _vetoed(one) else e.score for one, e in zip(found, estimates, strict=True)]
        best = max(range(len(found)), key=lambda at: scored[at], default=None)
        return None if best is None or scored[best] < cut else best

    return decide


def ceiling(
    stream: Stream, decider: Callable[[float], Decider], cuts: Sequence[float]
) -> tuple[float, Outcome]:
    """The best recall among cut-offs at which at most ``WRONG_MAX`` are wrong on this very stream."""
    tried = [(cut, stream.replay(decider(cut))) for cut in cuts]
    held = [(cut, outcome) for cut, outcome in tried if outcome.share <= WRONG_MAX]
    return max(held or tried[-1:], key=lambda one: one[1].recall)


def pairs_table(source: Source, vectors: Vectors, model: GateModel) -> None:
    """Shares served of labelled pairs, each alone."""
    rows = candidates(source, vectors)
    counts = Counter(bool(pair[2]) for pair in source.pairs)
    deciders = {
        "cosine .9": by_cosine(0.9),
        "cosine .8": by_cosine(0.8),
        "words": by_words,
        "model": by_model(model, U_LIMIT),
        "cut-off": by_model(model, 1.0),
    }
    print(f"\n{source.name}: {counts[True]} pairs with one answer, {counts[False]} others")
    served: dict[str, Counter[tuple[bool, str]]] = {name: Counter() for name in deciders}
    kinds: Counter[str] = Counter(pair[3] for pair in source.pairs if not pair[2])
    for row in rows:
        one = Candidate(
            row.asked, row.stored, row.cosine, measure(row.asked, row.stored, row.cosine), row.answer
        )
        for name, decide in deciders.items():
            if decide([one]) is not None:
                served[name][row.same, row.kind] += 1
    for name, count in served.items():
        right = sum(n for (same, _), n in count.items() if same)
        wrong = sum(n for (same, _), n in count.items() if not same)
        worst = (
            [f"{k} {count[False, k]}/{kinds[k]}" for k in kinds if count[False, k]]
            if name in ("words", "model")
            else []
        )
        print(
            f"  {name:10} recall {right / max(1, counts[True]):5.3f}   "
            f"false hits {wrong / max(1, counts[False]):5.3f}   {', '.join(worst)}"
        )


def latency(streams: Sequence[Stream], model: GateModel, count: int = 300) -> None:
    """Time of one pair, nothing remembered of its texts."""
    from node.cache.matching.reader import extract

    pairs = [
        (stream.arrivals[number].text, stream.arrivals[at].text, cosine)
        for stream in streams
        for number in range(len(stream.arrivals))
        for at, cosine in stream.near[number][:1]
    ]
    step = max(1, len(pairs) // count)
    numbers, scores = [], []
    for asked, stored, cosine in pairs[::step]:
        extract.cache_clear()
        begun = time.perf_counter()
        made = measure(asked, stored, cosine)
        between = time.perf_counter()
        model.estimate_all([made], [Near(cosine, "")], [False])
        scores.append(time.perf_counter() - between)
        numbers.append(between - begun)
    for name, times in (("numbers", numbers), ("model", scores)):
        low, high = np.percentile(np.array(times) * 1e3, (50, 95))
        print(f"  {name:8} median {low:.3f} ms, p95 {high:.3f} ms a pair")


def main(arguments: Sequence[str]) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        prog="bench.gatelab.evaluate", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("model", type=Path, nargs="?", default=Path("node/cache/matching/gate_model.json"))
    parser.add_argument("--data", type=Path)
    parser.add_argument("--ceiling", action="store_true")
    parser.add_argument("--show", type=int, default=0, help="wrong serves to list for each stream")
    options = parser.parse_args(arguments)
    model = GateModel.parse(options.model.read_text(encoding="utf-8"))
    vectors = Vectors(FOLDER)
    streams = []
    met: Counter[str] = Counter()
    wrong: Mapping[str, Counter[str]] = {"words": Counter(), "model": Counter(), "cut-off": Counter()}
    for source in sources("test", options.data):
        vectors.fill(texts_of(source))
        if source.pairs:
            pairs_table(source, vectors, model)
            continue
        stream = Stream(source, vectors)
        streams.append(stream)
        print(f"\n{source.name}: {len(stream.arrivals)} questions")
        for name, decide in (
            ("cosine .9", by_cosine(0.9)),
            ("cosine .8", by_cosine(0.8)),
            ("words", by_words),
            ("model", by_model(model, U_LIMIT)),
            ("u ≤ 0.10", by_model(model, 0.10)),
            ("u, ≥ .8", by_model(model, U_LIMIT, floor=0.8)),
            ("or words", by_model(model, U_LIMIT, words=True)),
            ("cut-off", by_model(model, 1.0)),
        ):
            outcome = stream.replay(decide)
            print(f"  {name:10} {outcome.line()}")
            if name in wrong:
                wrong[name].update(outcome.kinds)
            if name == "cut-off":
                met.update(outcome.met)
                for kind, asked, stored in outcome.errors[: options.show]:
                    print(f"      {kind:12} {asked} | {stored}")
        if options.ceiling:
            for name, decider, cuts in (
                ("cosine", by_cosine, np.arange(0.72, 1.0, 0.02)),
                (
                    "model",
                    lambda cut: by_score(model, cut),
                    np.arange(model.cutoff(WRONG_MAX) - 4, model.cutoff(WRONG_MAX) + 3, 0.5),
                ),
            ):
                cut, outcome = ceiling(stream, decider, [float(cut) for cut in cuts])
                print(f"  {name:10} {outcome.line()}  (cut-off {cut:.2f} picked afterwards)")
    print("\nwrong serves by kind of difference, of look-ups that brought the kind up: words, model, cut-off")
    for kind, count in met.most_common():
        if kind != "paraphrase":
            served = " ".join(f"{wrong[name][kind]:4d}" for name in wrong)
            print(f"  {kind:12} {served} / {count}")
    print()
    latency(streams, model)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
