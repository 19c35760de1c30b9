"""Whether a stored note holds the answer to a question: asked of a language model, one word, with its
probability. For notes that the packaged reader can't read: it knows English.

How near a note is does not tell an answer that is there from one that is absent (the median relevance of
absent answers is the higher one, for people ask about the same things). A model that reads one note and says
yes or no does: with Qwen2.5 1.5B the log odds of that word separate them with AUC .96 (``python -m
bench.evidence``).

Rules: one note at a time; examples stand in the constant part of the prompt, which engines keep from
question to question; the word and its probability count, not a model's reasons; without probabilities the
word alone. Pure."""

from __future__ import annotations

import functools
import importlib.resources
import math
from dataclasses import dataclass
from typing import Any, TypeAlias

import orjson

from node.answer.context import Block
from node.answer.score.calibrated import BAR, held_back
from node.core.errors import Rejected
from node.core.model import Draft
from node.core.ports import Prompt
from node.language.markup import CLOSE, OPEN, QUESTION_LABEL, STOP
from node.models.names import is_among

_TOKENS_MAX = 4
_ALTERNATIVES = 10
"""Capitals and blanks make several tokens of one word: their probabilities belong together."""
_LEAST = 1e-6


Place: TypeAlias = tuple[float, float]
"""A note's relevance, and how much less that is than the nearest note's."""


@dataclass(frozen=True, slots=True)
class Curve:
    """P(the note holds the answer) = 1 / (1 + exp(-(slope x log odds + second x log odds of a second reader +
    near x relevance - behind x how much less that is than the nearest note's + offset))). A note counts from
    the probability ``floor`` on, and is quoted from ``quote`` on: there the reader is not sure, but people
    are. ``word``: the log odds that a word without its probability stands for. ``system``: the constant part
    of the prompt."""

    slope: float
    offset: float
    floor: float = 1.0
    quote: float = 1.0
    word: float = 0.0
    system: str = ""
    second: float = 0.0
    near: float = 0.0
    behind: float = 0.0
    sure: float = BAR

    def told(self, share: float) -> float:
        """The probability as it is told: ``sure`` lies at the bar, and the order stays."""
        return held_back(share, self.sure)

    def probability(self, odds: float, second: float = 0.0, place: Place = (0.0, 0.0)) -> float:
        relevance, behind = place
        value = self.slope * odds + self.second * second + self.near * relevance - self.behind * behind
        return 1.0 / (1.0 + math.exp(-(value + self.offset)))


@functools.cache
def _file() -> dict[str, Any]:
    data: dict[str, Any] = orjson.loads(
        importlib.resources.files(__package__).joinpath("reading.json").read_bytes()
    )
    return data


@functools.cache
def packaged() -> Curve:
    """The curve of a language model that reads (``python -m bench.evidence``)."""
    data = _file()
    examples = [f"{_asked(note, question)} {word}" for note, question, word in data["examples"]]
    system = "\n\n".join([data["order"], *examples])
    return Curve(data["slope"], data["offset"], data["floor"], data["quote"], data["word"], system)


def is_measured(model: str) -> bool:
    """Whether this model's readings were measured, beside the packaged reader's: a small one reads worse than
    that, and would only disturb it."""
    return is_among(model, _file()["measured"])


@functools.cache
def trained() -> Curve:
    """The curve of the packaged note reader for one text alone (``python -m bench.evidence``)."""
    return Curve(**_file()["trained"])


@functools.cache
def ranked() -> Curve:
    """The same for a note among others: what is nearest holds the answer more often than what only reads
    like one."""
    return Curve(**_file()["ranked"])


@functools.cache
def both() -> Curve:
    """The curve of a language model that reads beside the packaged reader: its log odds are the second."""
    return Curve(**_file()["both"])


def _asked(note: str, question: str) -> str:
    return f"NOTE: {note}\n{QUESTION_LABEL}: {question}\nDoes the note contain the answer?\nANSWER:"


def check(question: str, block: Block, tag: str, curve: Curve) -> Prompt:
    """The prompt that asks whether ``block`` holds the answer. ``question`` and block are harmless lines
    already; ``tag`` is fresh for each request."""
    note = f"{OPEN.format(tag=tag)}\n{block.told.replace(tag, '')}\n{CLOSE.format(tag=tag)}"
    last = _asked(note, question)
    return Prompt(
        curve.system, last, _TOKENS_MAX, STOP, f"{curve.system}\n\n{last}", alternatives=_ALTERNATIVES
    )


def log_odds(draft: Draft, curve: Curve) -> float:
    """ln(P(yes) / P(no)) by the first tokens that were likeliest, else by the draft's word and what it
    stands for. Raises ``Rejected`` for another word."""
    shares = {"yes": 0.0, "no": 0.0}
    for token, logprob in draft.first_tokens:
        if (word := _word(token)) in shares:
            shares[word] += math.exp(logprob)
    if max(shares.values()) > 0:
        return math.log((shares["yes"] + _LEAST) / (shares["no"] + _LEAST))
    word = _word(draft.text)
    if word not in shares:
        raise Rejected("the model did not say yes or no")
    return curve.word if word == "yes" else -curve.word


def _word(text: str) -> str:
    return text.strip(" .!\"'*\n").casefold()
