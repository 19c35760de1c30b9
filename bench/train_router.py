"""Trains the semantic head of the router and says what it is worth.

``python -m bench.train_router [--check] [--time] [--data FILE]``: trains on the part ``train`` of
``bench/routing_questions.jsonl`` only and rewrites ``node/pipeline/understanding/semantic_head.json``;
``--check`` writes nothing; ``--time`` measures the shipped head.

Method: multinomial logistic regression with L2 on the local embedder's vector; labels are the adapter or
else the route. Questions with a history or several intents, and hostile ones, teach nothing here. The L2
weight is the one of least log-loss in cross-validation (``FOLDS`` folds by the hash of the text), the
temperature the one of least log-loss of the same held-out logits; a label's threshold is the least
probability from which on ``PRECISION`` of the held-out verdicts are right, when a right one counts
``RESIDUE`` and ``SUPPORT_MIN`` or more are there. Gradient steps from zero, no randomness: the same vectors
give the same file. (The embedder's int8 kernels differ in the last digits between processors, and so may the
file.)

Reported on the part ``test``: accuracy, expected calibration error (ten equal bins), what the thresholds let
through and how much of that is right, and the same for each language and for the traps.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.routing_cases import QUESTIONS, Case, read_cases
from node.core.clock import SystemClock
from node.core.normalise import normalise
from node.models.embedders.local import DIGEST, DIM, MODEL, MiniLm, installed_files
from node.pipeline.understanding.semantic import FILE, PRECISION, VERSION, SemanticHead

HEAD = Path(__file__).resolve().parents[1] / "node" / "pipeline" / "understanding" / FILE
FOLDS = 10
SUPPORT_MIN = 10
RESIDUE = 0.5
"""What a right verdict counts. The head is asked only where no rule decides; rules take the plain questions
of a topic first, so that right verdicts are rarer there than among all questions."""
STEPS = 600
L2_TRIED = (3e-5, 1e-4, 2e-4, 4e-4, 1e-3)
TEMPERATURES = tuple(round(0.3 + 0.02 * step, 2) for step in range(86))
DIGITS = 4
BATCH = 32
TIMED = 2_000

Matrix = NDArray[np.float64]
Numbers = NDArray[np.int64]


def label_of(case: Case) -> str:
    """What the head is to say: the adapter of a question that is looked up or computed, else the route."""
    return case.adapter if case.adapter and case.kind == "deterministic" else case.kind


def usable(cases: Iterable[Case]) -> list[Case]:
    """The single, self-contained questions."""
    return [case for case in cases if not (case.history or case.parts or case.group == "hostile")]


def questions_digest(cases: Iterable[Case]) -> str:
    """Hex SHA-256 of what was learned from: a line with label and text for each question, in order."""
    return hashlib.sha256("".join(f"{label_of(c)}\t{c.text}\n" for c in cases).encode()).hexdigest()


def embed(cases: Sequence[Case]) -> Matrix:
    """One row for each case: zeros for a text of which the vocabulary knows nothing (emoji), which has no
    vector and which the head never sees."""
    engine = MiniLm.open(installed_files(), threads=1)
    texts = [normalise(case.text) for case in cases]
    batches = [engine.embed(texts[start : start + BATCH]) for start in range(0, len(texts), BATCH)]
    return np.stack(
        [
            np.zeros(DIM) if vector is None else vector.astype(np.float64)
            for batch in batches
            for vector in batch
        ]
    )


# --- learning -----------------------------------------------------------------------------------------


def softmax(logits: Matrix) -> Matrix:
    powers: Matrix = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares: Matrix = powers / powers.sum(axis=1, keepdims=True)
    return shares


def log_loss(logits: Matrix, wanted: Numbers) -> float:
    chosen = softmax(logits)[np.arange(len(wanted)), wanted]
    return float(-np.log(np.maximum(chosen, 1e-12)).mean())


def fit(vectors: Matrix, wanted: Numbers, labels: int, l2: float) -> tuple[Matrix, Matrix]:
    """Weights and bias of least regularised log-loss, by accelerated gradient steps. Their length is what
    the curvature allows: at most half the squared length of an input (a unit vector and the bias, 2), and
    the L2 term."""
    inputs = np.hstack([vectors, np.ones((len(vectors), 1))])
    decay = np.full(inputs.shape[1], l2)
    decay[-1] = 1e-6
    targets = np.eye(labels)[wanted]
    point = ahead = np.zeros((labels, inputs.shape[1]))
    step = 1 / (1.0 + l2)
    for number in range(STEPS):
        slope = (softmax(inputs @ ahead.T) - targets).T @ inputs / len(inputs) + ahead * decay
        new = ahead - step * slope
        ahead = new + number / (number + 3) * (new - point)
        point = new
    return point[:, :-1], point[:, -1]


def fold_of(text: str) -> int:
    return hashlib.sha256(text.encode()).digest()[1] % FOLDS


def held_out(vectors: Matrix, wanted: Numbers, folds: Numbers, labels: int, l2: float) -> Matrix:
    """Logits of every row from a head that has not seen its fold."""
    logits = np.zeros((len(vectors), labels))
    for fold in range(FOLDS):
        out = folds == fold
        weights, bias = fit(vectors[~out], wanted[~out], labels, l2)
        logits[out] = vectors[out] @ weights.T + bias
    return logits


def threshold(shares: Matrix, wanted: Numbers, label: int) -> float | None:
    """The least probability from which on enough of the verdicts ``label`` are right."""
    said = shares.argmax(axis=1) == label
    sure, right = shares[said, label], wanted[said] == label
    for bar in sorted(set(np.floor(sure * 1e4) / 1e4)):
        hits, misses = int(right[sure >= bar].sum()), int((~right)[sure >= bar].sum())
        if hits >= SUPPORT_MIN and hits * RESIDUE >= PRECISION * (hits * RESIDUE + misses):
            return max(float(bar), 1e-4)
    return None


def train(cases: Sequence[Case], source: Path) -> dict[str, object]:
    """The head's file as data."""
    labels = sorted({label_of(case) for case in cases})
    wanted = np.asarray([labels.index(label_of(case)) for case in cases])
    folds = np.asarray([fold_of(case.text) for case in cases])
    vectors = embed(cases)
    tried = {l2: held_out(vectors, wanted, folds, len(labels), l2) for l2 in L2_TRIED}

    def calmest(logits: Matrix) -> float:
        return min(TEMPERATURES, key=lambda t: log_loss(logits / t, wanted))

    best = min(L2_TRIED, key=lambda l2: log_loss(tried[l2] / calmest(tried[l2]), wanted))
    temperature = calmest(tried[best])
    shares = softmax(tried[best] / temperature)
    weights, bias = fit(vectors, wanted, len(labels), best)
    accuracy = float((shares.argmax(axis=1) == wanted).mean())
    print(f"trained on {len(cases)} questions: L2 {best}, temperature {temperature}, held-out {accuracy:.3f}")
    return {
        "version": VERSION,
        "model": MODEL,
        "digest": DIGEST,
        "labels": labels,
        "weights": np.round(weights, DIGITS).tolist(),
        "bias": np.round(bias, DIGITS).tolist(),
        "temperature": temperature,
        "thresholds": {name: threshold(shares, wanted, index) for index, name in enumerate(labels)},
        "trained_on": {
            "file": f"{source.parent.name}/{source.name}",
            "questions": len(cases),
            "sha256": questions_digest(cases),
        },
    }


def written(data: dict[str, object]) -> str:
    """JSON with one row of weights a line."""
    weights = data["weights"]
    assert isinstance(weights, list)
    rows = ",\n".join(json.dumps(row, separators=(",", ":")) for row in weights)
    text = json.dumps({**data, "weights": ["@"]}, indent=1)
    return text.replace('[\n  "@"\n ]', f"[\n{rows}\n]") + "\n"


# --- reporting ----------------------------------------------------------------------------------------


def calibration_error(sure: Matrix, right: NDArray[np.bool_], bins: int = 10) -> float:
    """Expected calibration error: how far confidence and share of right verdicts lie apart, on average."""
    error = 0.0
    places = np.minimum((sure * bins).astype(int), bins - 1)
    for place in range(bins):
        chosen = places == place
        if chosen.any():
            error += chosen.mean() * abs(sure[chosen].mean() - right[chosen].mean())
    return float(error)


def report(name: str, head: SemanticHead, cases: Sequence[Case]) -> None:
    """Accuracy, calibration, and precision and coverage at the thresholds."""
    verdicts = [head.judge(row.astype(np.float32)) for row in embed(cases)]
    right = np.asarray([v.label == label_of(c) for v, c in zip(verdicts, cases, strict=True)])
    sure = np.asarray([v.probability for v in verdicts])
    bars = dict(zip(head.labels, head.thresholds, strict=True))
    given = np.asarray([(bar := bars[v.label]) is not None and v.probability >= bar for v in verdicts])
    precise = f"{right[given].mean():.3f}" if given.any() else "-"
    print(
        f"{name:<18} {len(cases):>4} questions, accuracy {right.mean():.3f}, "
        f"ECE {calibration_error(sure, right):.3f}, given {given.mean():.3f}, of these right {precise}"
    )
    if name != "test":
        return
    for label in head.labels:
        said = np.asarray([v.label == label for v in verdicts]) & given
        there = np.asarray([label_of(c) == label for c in cases])
        precise = f"{right[said].mean():.3f}" if said.any() else "-"
        found = (said & there).sum() / max(there.sum(), 1)
        start = "never" if bars[label] is None else f"{bars[label]:.4f}"
        print(f"  {label:<20} from {start:<7} given {said.sum():>4}, right {precise:<6} found {found:.3f}")


def time_head(head: SemanticHead) -> None:
    """Microseconds of one verdict."""
    clock = SystemClock()
    vector = np.full(DIM, DIM**-0.5, dtype=np.float32)
    times = []
    for _ in range(TIMED):
        started = clock.monotonic()
        head.decide(vector)
        times.append((clock.monotonic() - started) * 1e6)
    times.sort()
    print(f"one verdict: median {statistics.median(times):.0f} us, 99 % under {times[-TIMED // 100]:.0f} us")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(
        prog="bench.train_router", description="train the router's semantic head"
    )
    parser.add_argument("--data", type=Path, default=QUESTIONS, help="file of labelled questions")
    parser.add_argument("--check", action="store_true", help="train and report, write nothing")
    parser.add_argument("--time", action="store_true", help="measure the shipped head, train nothing")
    options = parser.parse_args(arguments)
    if options.time:
        time_head(SemanticHead.load())
        return 0
    cases = usable(read_cases(options.data))
    text = written(train([case for case in cases if case.part == "train"], options.data))
    if not options.check:
        HEAD.write_text(text, encoding="utf-8")
    head = SemanticHead.read(text)
    test = [case for case in cases if case.part == "test"]
    report("test", head, test)
    for lang in sorted({case.lang for case in test}):
        report(f"test, language {lang}", head, [case for case in test if case.lang == lang])
    report("test, traps", head, [case for case in test if case.trap])
    time_head(head)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
