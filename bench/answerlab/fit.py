"""Learns the confidence in a model's answer from labelled answers, and says what it is worth.

Method. Each transcript is handed to the node's own ``Composer`` as if the engine said it now, so that what is
learnt from is what is judged. Answers that say themselves that they do not know are left out: a rule
recognises them and they are never stored. For each set of sources (with and without log-probabilities, with
and without a second sample) there is a head: logistic regression with L2 on capped features, whose weights
may only have the sign that makes sense. The L2 weight is the one of least log-loss in cross-validation
(``FOLDS`` folds by a hash of the id), and the cut is the least probability in the same cross-validation from
which on ``PRECISION_AIMED`` of the answers are right. Nothing is drawn by chance: the same data gives the
same file. Half of the questions (``data.is_held``) chooses and fits nothing. It is looked at for the report
and for one veto (``borne_out``): a cut of a model alone that it does not bear out is taken away.

Evidence: until there are labelled transcripts on evidence, its heads are learnt from constructed answers
(``constructed``): facts of the invented communities as they are, and the same with a figure, a name or the
whole fact exchanged.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from bench.answerlab.data import Labelled, Said, curves, worlds
from bench.transcripts import Note, as_evidence
from node.answer.compose import Composer
from node.answer.composed import Composed
from node.answer.notes import answered
from node.answer.score.answer_features import Answered, features
from node.answer.score.calibrated import BAR, PRECISION, VERSION, AnswerModel, Head, head_name
from node.core.clock import SystemClock
from node.core.model import Check, Draft, Kind
from node.core.ports import OnText, Prompt
from node.core.settings import Models
from node.models.embedders.cross_encoder import Reader
from node.models.names import folded

_CITED = re.compile(r"\s?\[\d+\]")
FOLDS = 5
L2_TRIED = (0.3, 1.0, 3.0, 10.0)
STEPS = 600
PRECISION_AIMED = PRECISION + 0.01
"""A little above what is promised, for the cut is chosen on the data that it fits best."""
SUPPORT_MIN = 12
"""So many answers at least must lie above a cut."""
HELD_MIN = 59
"""So many kept-back answers must lie above a cut: fewer, even if all were right, could not say with 95 %
certainty that 95 % are."""
CUT_MIN = 80
"""Fewer labelled answers than this choose no cut: the head never passes the bar."""
HEAD_MIN = 40
"""Fewer labelled answers on evidence than this make no head of their own."""
DIGITS = 4

ALONE = (
    *("sure_mean", "sure_low", "sure_least", "agrees", "contradicts", "same_words", "same_figures"),
    *("fits", "formed", "hedged", "long", "explains", "figures", "sums_fail", "odd_name"),
)
EVIDENCE = (
    *("held_words", "held_weakest", "held_figures", "held_names", "question_held", "cited"),
    *("answers", "compares"),
    *("sure_mean", "sure_low", "agrees", "contradicts", "same_words", "fits", "formed", "sums_fail"),
)
FEATURES = sorted({*ALONE, *EVIDENCE})
FOUND = ("question_held", "cited", "silent", "sure_mean")
SUPPORTED = ("held_words", "held_weakest", "held_figures", "held_names")
SIGNS: Mapping[str, int] = {
    **dict.fromkeys(("sure_mean", "sure_low", "sure_least", "agrees", "same_words", "same_figures"), 1),
    **dict.fromkeys(("fits", "formed", "cited", "question_held"), 1),
    **dict.fromkeys(("held_words", "held_weakest", "held_figures", "held_names", "answers"), 1),
    **dict.fromkeys(("compares", "contradicts", "hedged", "figures", "sums_fail", "odd_name", "silent"), -1),
}
"""Which way a feature may count; either way where it is not named."""
PRIOR: Mapping[str, float] = {
    "sure_mean": 1.5,
    "sure_low": 1.0,
    "sure_least": 0.5,
    "agrees": 1.0,
    "contradicts": -1.5,
    "same_words": 1.5,
    "same_figures": 0.5,
    "fits": 0.5,
    "formed": 0.5,
    "hedged": -0.2,
    "explains": -0.5,
    "figures": -0.3,
    "silent": -3.0,
    "cited": 0.5,
    "sums_fail": -2.0,
    "odd_name": -1.0,
    "held_words": 1.5,
    "held_weakest": 1.0,
    "held_figures": 1.5,
    "held_names": 1.0,
    "question_held": 1.0,
    "answers": 1.5,
    "compares": -1.0,
}
"""What is believed before any answer was labelled, from what others published (shared/facts/measured.md);
L2 draws towards it, so that it counts less with each answer."""

UNFITTED = Head(-0.5, {name: PRIOR[name] for name in ("question_held", "cited", "silent")})
"""What tells whether the right evidence was found, until labelled answers on evidence say so: before it is
read nothing does (its nearness and its words are the same for questions whose answer is absent)."""

Numbers = NDArray[np.float64]


class Replay:
    """``node.core.ports.Generator`` that says what a transcript says."""

    name = "replay"
    slots = 1

    def __init__(self) -> None:
        self.draft: Draft | None = None

    async def generate(self, prompt: Prompt, *, timeout_s: float, on_text: OnText | None = None) -> Draft:
        assert self.draft is not None
        return self.draft

    async def probe(self) -> Check:
        return Check(self.name, "pass", "")

    async def close(self) -> None:
        return


@dataclass(frozen=True, slots=True)
class Row:
    """One answer as the node would judge it. ``right``: its label; ``found``: the evidence that answers the
    question was among what was offered, None where that is not known; ``model``: who said it."""

    id: str
    said: Answered
    right: bool
    label: str
    model: str
    held: bool
    abstained: bool = False
    found: bool | None = None
    true_to_evidence: bool | None = None


async def _composed(said: Said, one: Labelled, composer: Composer, replay: Replay) -> Composed:
    replay.draft = Draft(said.text, "replay", one.model, complete=said.complete)
    clock = SystemClock()
    return await composer.compose(
        one.question,
        as_evidence([Note(item, _about().get(item, ""), text) for item, text in one.evidence]),
        route_kind=Kind.GENERATIVE,
        deadline=clock.monotonic() + 60,
        tag="a1b2c3d4e5f6",
    )


def rows_of(labelled: Sequence[Labelled]) -> list[Row]:
    """Each transcript through the composer."""
    models = Models()
    replay = Replay()
    composer = Composer(
        [replay], SystemClock(), context_chars_max=models.context_chars_max, tokens_max=models.tokens_max
    )

    async def all_of_them() -> list[Row]:
        reader = await Reader.load(threads=2)
        rows = [await _row(one, composer, replay, reader) for one in labelled]
        await reader.close()
        return rows

    return asyncio.run(all_of_them())


async def _row(one: Labelled, composer: Composer, replay: Replay, reader: Reader) -> Row:
    composed = await _composed(one.first, one, composer, replay)
    draft, support = composed.draft, composed.support
    if support is not None and not composed.abstained:
        support = replace(
            support, answers=await answered(reader, one.question, _CITED.sub("", one.first.text))
        )
    said = Answered(
        question=one.question,
        text=one.first.text if draft is None else draft.text,
        logprobs=one.first.logprobs,
        second=None if one.second is None else one.second.text,
        complete=composed.complete,
        support=support,
        grounded=composed.grounded,
        abstained=composed.abstained,
    )
    # What the composer refuses (no draft) never becomes a model's answer.
    silent = composed.abstained or draft is None
    needs = _needs().get(one.id)
    found = None if needs is None else bool(needs) and needs <= {item for item, _ in one.evidence}
    return Row(one.id, said, one.label == "right", one.label, one.model, one.held, silent, found)


@cache
def _about() -> Mapping[str, str]:
    """The question that each fact of the invented communities was stored for."""
    return {item: about for world in [*worlds(), *curves()] for item, (about, _) in world.facts.items()}


@cache
def _needs() -> Mapping[str, frozenset[str]]:
    """The facts that answer each question of the invented communities."""
    return {item: frozenset(needs) for world in [*worlds(), *curves()] for item, _, needs in world.asks}


def without(row: Row, *, sure: bool, second: bool) -> Row:
    """The row with less to judge by."""
    said = row.said
    said = replace(said, logprobs=said.logprobs if sure else (), second=said.second if second else None)
    return replace(row, said=said)


def variants(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """The rows under the name of each head that can judge them."""
    out: dict[str, list[Row]] = {}
    for row in rows:
        seen = set()
        for sure, second in ((True, True), (True, False), (False, True), (False, False)):
            less = without(row, sure=sure, second=second)
            name = head_name(less.said)
            if name not in seen:
                seen.add(name)
                out.setdefault(name, []).append(less)
    return out


# --- fitting --------------------------------------------------------------------------------------


def _matrix(rows: Sequence[Row], names: Sequence[str]) -> Numbers:
    measured = [_measured(row.said) for row in rows]
    return np.array([[found.get(name, 0.0) for name in names] for found in measured], np.float64)


@cache
def _measured(said: Answered) -> Mapping[str, float]:
    return features(said)


def _logistic(odds: Numbers) -> Numbers:
    clipped: Numbers = np.clip(odds, -30.0, 30.0)
    return 1 / (1 + np.exp(-clipped))


def regression(numbers: Numbers, right: Numbers, names: Sequence[str], l2: float) -> Numbers:
    """Bias and weights of least log-loss with L2 towards ``PRIOR``, each weight on its own side of zero; by
    accelerated projected gradient steps."""
    count, width = numbers.shape
    factors = np.concatenate([np.ones((count, 1)), numbers], axis=1)
    penalty = np.concatenate([[1e-3], np.full(width, l2)])
    side = np.array([0, *(SIGNS.get(name, 0) for name in names)])
    prior = np.array([0.0, *(PRIOR.get(name, 0.0) for name in names)])
    step = 1.0 / (np.linalg.norm(factors, 2) ** 2 / 4 + penalty.max())
    line = ahead = prior
    for turn in range(STEPS):
        slope = factors.T @ (_logistic(factors @ ahead) - right) + penalty * (ahead - prior)
        moved = ahead - step * slope
        moved = np.where(side > 0, np.maximum(moved, 0), np.where(side < 0, np.minimum(moved, 0), moved))
        ahead = moved + turn / (turn + 3) * (moved - line)
        line = moved
    return line


def fold_of(item: str) -> int:
    return hashlib.sha256(b"fold" + item.encode()).digest()[0] % FOLDS


def cross_fitted(rows: Sequence[Row], names: Sequence[str], right: Numbers, l2: float) -> Numbers:
    """A probability for each row by weights that did not see it."""
    numbers = _matrix(rows, names)
    folds = np.array([fold_of(row.id) for row in rows])
    out = np.full(len(rows), right.mean())
    for fold in range(FOLDS):
        held = folds == fold
        if held.any() and not held.all():
            line = regression(numbers[~held], right[~held], names, l2)
            out[held] = _logistic(line[0] + numbers[held] @ line[1:])
    return out


def log_loss(probability: Numbers, right: Numbers) -> float:
    p = np.clip(probability, 1e-6, 1 - 1e-6)
    return float(-(right * np.log(p) + (1 - right) * np.log(1 - p)).mean())


def cut_of(probability: Numbers, right: Numbers, aimed: float = PRECISION_AIMED) -> float | None:
    """The least probability from which on so many are right, None where there is none."""
    order = np.argsort(-probability, kind="stable")
    found = None
    for count in range(SUPPORT_MIN, len(order) + 1):
        if count < len(order) and probability[order[count]] == probability[order[count - 1]]:
            continue
        if right[order[:count]].mean() >= aimed:
            found = float(probability[order[count - 1]])
    return found


def head(rows: Sequence[Row], names: Sequence[str], right: Numbers) -> Head:
    """The head of some rows, its L2 weight and cut by cross-validation."""
    tried = {l2: cross_fitted(rows, names, right, l2) for l2 in L2_TRIED}
    l2 = min(tried, key=lambda one: log_loss(tried[one], right))
    line = regression(_matrix(rows, names), right, names, l2)
    weights = {
        name: round(float(w), DIGITS) for name, w in zip(names, line[1:], strict=True) if abs(w) > 5e-4
    }
    cut = cut_of(tried[l2], right) if len(rows) >= CUT_MIN else None
    return Head(
        round(float(line[0]), DIGITS), weights, None if cut is None else round(cut, DIGITS), len(rows)
    )


def of_names(name: str) -> tuple[str, ...]:
    """The features that a head may use."""
    base = EVIDENCE if name.startswith("evidence") else ALONE
    missing = set()
    if "sure" not in name:
        missing |= {"sure_mean", "sure_low", "sure_least"}
    if "second" not in name:
        missing |= {"agrees", "contradicts", "same_words", "same_figures"}
    return tuple(one for one in base if one not in missing)


def trained(rows: Sequence[Row], made: Sequence[Row]) -> AnswerModel:
    """The model of the rows that are not kept back; ``made`` are the constructed answers on evidence."""
    heads: dict[str, Head] = {}
    mine = [row for row in rows if not row.held and not row.abstained]
    for name, some in sorted(variants(mine).items()):
        if name.startswith("alone") or len(some) >= HEAD_MIN:
            heads[name] = head(some, of_names(name), _right(some))
    shown = [row for row in made if not row.held and row.said.support is not None]
    if "evidence" not in heads:
        # Whether the fact is the one that was asked for cannot be told from constructed answers.
        told = [row for row in shown if row.right or not row.true_to_evidence]
        heads["evidence"] = head(told, of_names("evidence"), _right(told))
    asked = [row for row in rows if not row.held and row.found is not None and row.said.support is not None]
    heads["found"] = (
        head(asked, FOUND, np.array([float(bool(r.found)) for r in asked]))
        if min(sum(bool(r.found) for r in asked), sum(not r.found for r in asked)) >= SUPPORT_MIN
        else UNFITTED
    )
    supported = np.array([float(bool(row.true_to_evidence)) for row in shown])
    heads["support"] = head(shown, SUPPORTED, supported)
    engines = sorted({folded(row.model) for row in mine if row.model})
    return AnswerModel(heads, tuple(engines))


def borne_out(
    model: AnswerModel, rows: Sequence[Row]
) -> tuple[AnswerModel, Mapping[str, tuple[float, Worth]]]:
    """The model without those cuts of a model alone that the kept-back half does not bear out, and these by
    the head's name. It takes away and never gives: nothing is chosen by the half that is kept back."""
    kept = variants([row for row in rows if row.held and not row.abstained])
    heads, taken = dict(model.heads), {}
    for name, one in model.heads.items():
        if one.cut is None or not name.startswith("alone"):
            continue
        some = kept.get(name, [])
        told = np.array([model.judge(row.said, row.model).value for row in some])
        found = worth(told, _right(some), BAR)
        if found.passed < HELD_MIN or found.precision < PRECISION:
            heads[name] = replace(one, cut=None)
            taken[name] = (one.cut, found)
    return AnswerModel(heads, model.engines), taken


def _right(rows: Sequence[Row]) -> Numbers:
    return np.array([float(row.right) for row in rows])


def digest_of(labelled: Iterable[Labelled]) -> str:
    """Hex SHA-256 of transcripts and labels, whatever their order and packing."""
    lines = sorted(json.dumps(asdict(one), sort_keys=True) for one in labelled)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def written(model: AnswerModel, labelled: Iterable[Labelled]) -> str:
    """The file's text. ``features`` and ``data`` say what it was made from; the node reads neither."""
    heads = {
        name: {"bias": one.bias, "weights": dict(one.weights), "cut": one.cut, "fitted_on": one.fitted_on}
        for name, one in sorted(model.heads.items())
    }
    made_from = {"features": "@", "data": digest_of(labelled)}
    raw = {"version": VERSION, "engines": list(model.engines), "heads": heads, **made_from}
    return json.dumps(raw, indent=1, sort_keys=True).replace('"@"', json.dumps(FEATURES)) + "\n"


# --- what it is worth -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Worth:
    """Figures of told confidences against labels. ``passed`` are those with the bar or more."""

    answers: int
    right: int
    passed: int
    passed_right: int
    ece: float
    auroc: float
    brier: float
    brier_constant: float

    @property
    def precision(self) -> float:
        return self.passed_right / self.passed if self.passed else float("nan")

    @property
    def coverage(self) -> float:
        return self.passed_right / self.right if self.right else float("nan")


def worth(told: Numbers, right: Numbers, bar: float) -> Worth:
    if not len(told):
        return Worth(0, 0, 0, 0, *[float("nan")] * 4)
    passed = told >= bar
    bins = np.minimum((told * 10).astype(int), 9)
    ece = sum(
        abs(told[bins == b].mean() - right[bins == b].mean()) * (bins == b).mean() for b in set(bins.tolist())
    )
    good, bad = told[right == 1], told[right == 0]
    both = len(good) and len(bad)
    pairs = ((good[:, None] > bad).mean() + 0.5 * (good[:, None] == bad).mean()) if both else float("nan")
    return Worth(
        answers=len(told),
        right=int(right.sum()),
        passed=int(passed.sum()),
        passed_right=int(right[passed].sum()),
        ece=float(ece),
        auroc=float(pairs),
        brier=float(((told - right) ** 2).mean()),
        brier_constant=float(right.mean() * (1 - right.mean())),
    )
