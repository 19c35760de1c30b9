"""The small classifier that decides where no rule does: a linear head on the question's own embedding.

It promises: the same vector always gets the same verdict; a label is given only where, in cross-validation on
the training part, at least ``PRECISION`` of such verdicts were right; well under a millisecond. It must not
know what an embedder is, nor what the labels mean: they are names of adapters and of rows of the route table.

The weights are data (``semantic_head.json``, written by ``python -m bench.train_router``) and belong to one
embedding model: compare ``model_digest`` with the embedder's before use. Format, version 1: ``model`` and
``digest`` of the embedder, ``labels``, ``weights`` (one row for each label), ``bias``, ``temperature``,
``thresholds`` (least probability for each label, null where none was good enough: never given) and
``trained_on``. The probability is softmax((weights x vector + bias) / temperature).

Needs numpy; a node without it routes by rules alone and never imports this file.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from node.core.errors import CorruptState
from node.core.ports import Vector

VERSION = 1
PRECISION = 0.97
"""The share of verdicts that had to be right for a label's threshold."""
FILE = "semantic_head.json"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The most probable label. ``margin`` is its probability less that of the next one."""

    label: str
    probability: float
    margin: float


class SemanticHead:
    """Judges vectors. Immutable; safe to share."""

    def __init__(
        self,
        *,
        model: str,
        digest: str,
        labels: tuple[str, ...],
        weights: NDArray[np.float32],
        bias: NDArray[np.float32],
        temperature: float,
        thresholds: tuple[float | None, ...],
    ) -> None:
        """Raises ``CorruptState`` where the shapes or numbers do not fit together."""
        if len(labels) < 2 or len(set(labels)) != len(labels):
            raise CorruptState("the semantic head needs two labels or more, each once")
        if weights.ndim != 2 or len(labels) != len(weights) or bias.shape != (len(labels),):
            raise CorruptState("the semantic head's weights do not fit its labels")
        if len(thresholds) != len(labels):
            raise CorruptState("the semantic head's thresholds do not fit its labels")
        if not (np.isfinite(weights).all() and np.isfinite(bias).all() and 0 < temperature < np.inf):
            raise CorruptState("the semantic head holds a number that is none")
        if any(bar is not None and not 0 < bar <= 1 for bar in thresholds):
            raise CorruptState("a threshold of the semantic head is no probability")
        self.model = model
        self.model_digest = digest
        self.labels = labels
        self.thresholds = thresholds
        self._weights = weights / np.float32(temperature)
        self._bias = bias / np.float32(temperature)

    @classmethod
    def read(cls, text: str) -> SemanticHead:
        """From the JSON of the file. Raises ``CorruptState``."""
        try:
            data = json.loads(text)
            if data["version"] != VERSION:
                raise CorruptState(f"the semantic head has version {data['version']!r}, not {VERSION}")
            labels = tuple(str(label) for label in data["labels"])
            bars = dict(data["thresholds"])
            return cls(
                model=str(data["model"]),
                digest=str(data["digest"]),
                labels=labels,
                weights=np.asarray(data["weights"], dtype=np.float32),
                bias=np.asarray(data["bias"], dtype=np.float32),
                temperature=float(data["temperature"]),
                thresholds=tuple(None if bars[label] is None else float(bars[label]) for label in labels),
            )
        except (ValueError, KeyError, TypeError) as exc:
            raise CorruptState(f"the semantic head cannot be read: {exc}") from exc

    @classmethod
    def load(cls) -> SemanticHead:
        """The head that ships with the node. Raises ``CorruptState``."""
        try:
            text = resources.files("node.pipeline.understanding").joinpath(FILE).read_text(encoding="utf-8")
        except OSError as exc:
            raise CorruptState(f"the semantic head cannot be read: {exc}") from exc
        return cls.read(text)

    def judge(self, vector: Vector) -> Verdict:
        """The most probable label of a unit vector of the head's own model, sure or not. Raises
        ``CorruptState`` for a vector of another size."""
        if vector.shape != self._weights.shape[1:]:
            raise CorruptState(
                f"the semantic head reads {self._weights.shape[1]} numbers, not {vector.shape}"
            )
        logits = self._weights @ vector + self._bias
        shares = np.exp(logits - logits.max())
        shares /= shares.sum()
        second, first = np.argsort(shares)[-2:]
        best = float(shares[first])
        return Verdict(self.labels[first], best, best - float(shares[second]))

    def decide(self, vector: Vector) -> Verdict | None:
        """The verdict where it is sure enough to act on, else None."""
        verdict = self.judge(vector)
        bar = self.thresholds[self.labels.index(verdict.label)]
        return verdict if bar is not None and verdict.probability >= bar else None
