"""Which candidates are kept: the reasons against one, in order.

Pure. A fact is kept only if the person said it, in statements and not in questions, in words that stand in
the message; a model's own invention, an order, a secret or a person's data is never written.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from node.agent.memory.facts import Fact, told_sentences
from node.core.ports import Vector
from node.language.orders import gives_orders
from node.language.sentences import content_words, stem, unsupported_figures
from node.language.tables import read_table
from node.privacy import private_reason

CONFIDENCE_MIN = 0.8
ASKED_MIN = 0.4
"""A model is asked about statements from here on."""
WORTH_MIN = 0.5
"""By ``python -m bench.memory_worth``: .92 of what is kept from here on is of a kind to keep."""
_COVERED_MIN = 0.6
"""So much of a fact's content words stands in what the person said, but for those of a note's form."""
_FORM = frozenset(map(stem, read_table("node.agent.memory", "words.toml")["form"]))
_OF_ONESELF = "self_statement"
"""What the privacy gate says of people who tell of themselves. A role or a habit is told so too, and is what
memory is for: the ``worth`` of the fact decides there."""


@dataclass(frozen=True, slots=True)
class Classifier:
    """Weights on the vectors of one embedder."""

    model: str
    bias: float
    weights: Vector

    def worth_of(self, vector: Vector) -> float:
        """How surely a fact is of a lasting kind that nobody would mind, in [0, 1]: a role, a preference, a
        way of working, an organisation's order; not a person's data, a mood, today's plan, the world."""
        return 1.0 / (1.0 + math.exp(-(float(self.weights @ vector) + self.bias)))


@cache
def packaged() -> Classifier:
    """The weights that ``bench.memory_worth`` wrote."""
    import numpy as np  # a node without embeddings has none

    table = json.loads(files("node.agent.memory").joinpath("worth.json").read_bytes())
    return Classifier(table["model"], table["bias"], np.array(table["weights"], dtype=np.float32))


@dataclass(frozen=True, slots=True)
class Judged:
    """``against``: why it is not kept, empty where it is."""

    fact: Fact
    against: str = ""


def statements(said: str) -> list[str]:
    """What a message tells: its sentences but for those that ask; nothing of one that has a secret or
    somebody's data in it."""
    if private_reason(said) not in (None, _OF_ONESELF):
        return []
    return [
        sentence for sentence in told_sentences(said) if not sentence.rstrip("\"'”’») ").endswith(("?", "？"))
    ]


def judge(fact: Fact, told: Sequence[str], worth: float, confidence_min: float = CONFIDENCE_MIN) -> Judged:
    """``told``: the message's ``statements``; ``worth``: see ``worth_of``."""
    return Judged(fact, _against(fact, told, worth, confidence_min))


def _against(fact: Fact, told: Sequence[str], worth: float, confidence_min: float) -> str:
    if fact.confidence < confidence_min:
        return "confidence"
    if worth < WORTH_MIN:
        return "not of a kind to keep"
    if not content_words(fact.text):
        return "says nothing"
    if gives_orders(fact.text):
        return "an order"
    if _covered(fact.text, told) < _COVERED_MIN or unsupported_figures(fact.text, told):
        return "not said"
    if reason := private_reason(fact.text):
        return f"private: {reason}"
    return ""


def _covered(text: str, told: Sequence[str]) -> float:
    """The share of a note's words that a person said, by stem."""
    said = {stem(word) for sentence in told for word in sentence.split()}.union(*map(content_words, told))
    words = set(content_words(text)) - _FORM
    return len(words & said) / len(words) if words else 0.0
