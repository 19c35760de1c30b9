"""How probable it is that a model's answer is right, learnt on labelled answers of real models.

The weights are data (``answer_model.json``, written by ``python -m bench.calibrate``). A head is a logistic
regression on the features of ``answer_features``; there is one for each set of sources, because a missing
second sample or an engine without log-probabilities must not pass for a good or a bad sign. Evidence has
heads of its own, and one of two weights each says how far it supports the answer and whether the right
evidence was found.

What the number means: below ``BAR`` it is the probability itself; from ``BAR`` on it is held back until so
many answers of that kind were right in the labelled data that the share of right ones among all with ``BAR``
or more is ``PRECISION`` (chosen on the half that was not kept back; of a model alone the kept-back half must
bear it out). What the data never showed to reach that share stays below ``BAR``: such a head has no ``cut``.
Engines that were not among the labelled ones stay below it too, for an answer without evidence, unless a
second sample says the same.

Not so yet: while no real answer on evidence is labelled, the evidence heads are of answers made by program,
which show no wrong choice of the fact, and ``found`` is set by hand (``fitted_on`` 0).

Pure but for the packaged file, read once.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from node.answer.score.answer_features import Answered, agrees, features
from node.core.model import Support
from node.models.names import is_among

FILE = "answer_model.json"
VERSION = 1
BAR = 0.8
PRECISION = 0.95
_BELOW = 0.78
"""Up to here the probability is told as it is; between here and the cut it is told as just below the bar."""
_JUST_BELOW = 0.79
_ANSWERS_MIN = 0.5
_HEADS_MAX, _FEATURES_MAX = 32, 64


@dataclass(frozen=True, slots=True)
class Head:
    """``cut`` is the probability from which the bar is passed, None where no answer passes it.
    ``fitted_on`` counts the labelled answers behind it."""

    bias: float
    weights: Mapping[str, float]
    cut: float | None = None
    fitted_on: int = 0

    def probability(self, found: Mapping[str, float]) -> float:
        """Of these features; what is absent counts as zero."""
        total = self.bias + sum(weight * found.get(name, 0.0) for name, weight in self.weights.items())
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, total))))

    def told(self, probability: float) -> float:
        """The probability as it is told: the cut lies at the bar, and the order stays."""
        return held_back(probability, self.cut)


def held_back(probability: float, cut: float | None) -> float:
    """The probability as it is told: from ``cut`` on it passes the bar, and the order stays."""
    if cut is not None and probability >= cut:
        return _between(probability, (cut, 1.0), (max(BAR, cut), 1.0))
    if probability <= _BELOW:
        return probability
    return _between(probability, (_BELOW, cut or 1.0), (_BELOW, _JUST_BELOW))


def _between(value: float, of: tuple[float, float], to: tuple[float, float]) -> float:
    if of[1] <= of[0]:
        return to[0]
    return to[0] + (to[1] - to[0]) * min(1.0, max(0.0, (value - of[0]) / (of[1] - of[0])))


@dataclass(frozen=True, slots=True)
class Calibrated:
    """``value`` is the probability that the answer is right, as it is told; ``head`` the one that gave it.
    ``found``: how sure it is that the right evidence was found; ``support``: how far the evidence supports
    the answer; both None without evidence."""

    value: float
    head: str
    found: float | None = None
    support: float | None = None


@dataclass(frozen=True, slots=True)
class AnswerModel:
    """The heads by name, and the models that the labelled answers are of, as folded beginnings of names."""

    heads: Mapping[str, Head]
    engines: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> AnswerModel:
        """Raises ``ValueError`` for anything but a whole file of this version. What it was made from
        (``features``, ``data``) is for ``bench`` and counts for nothing here."""
        try:
            raw: Any = json.loads(text)
            if raw["version"] != VERSION or not 0 < len(raw["heads"]) <= _HEADS_MAX:
                raise ValueError("another version, or no heads")
            heads = {str(name): _head(one) for name, one in raw["heads"].items()}
            return cls(heads, tuple(str(one) for one in raw["engines"]))
        except (KeyError, TypeError, AttributeError) as exc:
            raise ValueError(f"{FILE}: {exc!r}") from exc

    def knows(self, model: str) -> bool:
        """Whether answers of this model were among the labelled ones."""
        return is_among(model, self.engines)

    def judge(self, said: Answered, model: str) -> Calibrated:
        """The calibrated confidence in an answer of ``model``."""
        name = head_name(said)
        if name not in self.heads:  # not enough labelled answers of that kind yet
            name = "evidence" if said.grounded else "alone"
        measured = features(said)
        head = self.heads[name]
        value = head.told(head.probability(measured))
        if said.support is not None and said.grounded and _is_risky(said.support):
            value = min(value, _JUST_BELOW)
        if not said.grounded and not self.knows(model) and not agrees(said):
            value = min(value, _JUST_BELOW)
        if said.support is None:
            return Calibrated(value, name)
        found, support = (self.heads[one].probability(measured) for one in ("found", "support"))
        return Calibrated(value, name, found=found, support=support)


def _is_risky(support: Support) -> bool:
    """Whether small models often tell such evidence wrongly: the question needs a comparison, or the packaged
    reader does not see in the answer what was asked for. Of 60 labelled answers on notes (``qwen15-notes``)
    4 of 56 that passed the bar were wrong; without such ones 2 of 50."""
    return support.compares or (support.answers is not None and support.answers < _ANSWERS_MIN)


def head_name(said: Answered) -> str:
    """Which head judges this: by what there is to judge."""
    parts = ["evidence" if said.grounded else "alone"]
    parts += ["sure"] if said.logprobs else []
    parts += ["second"] if said.second is not None else []
    return "+".join(parts)


def _head(raw: Mapping[str, Any]) -> Head:
    weights = {str(name): float(value) for name, value in raw["weights"].items()}
    cut = None if raw["cut"] is None else float(raw["cut"])
    head = Head(float(raw["bias"]), weights, cut, int(raw["fitted_on"]))
    numbers = [head.bias, *weights.values(), *([] if cut is None else [cut])]
    if len(weights) > _FEATURES_MAX or not all(math.isfinite(value) for value in numbers):
        raise ValueError("a head with too many or endless weights")
    return head


@cache
def packaged() -> AnswerModel:
    """The model that comes with the node."""
    return AnswerModel.parse((files("node.answer.score") / FILE).read_text(encoding="utf-8"))
