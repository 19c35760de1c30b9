"""What can be measured about a model's answer without knowing whether it is true.

Every feature is a number in [0, 1] from a rule that anyone can measure again, capped so that no single answer
weighs without bound. A feature whose source is missing (an engine without log-probabilities, no second
sample, no evidence) is left out of the map; the judge has a head for each set of sources
(``calibrated``). Pure, total, linear in the texts' lengths but for ``same_answer``'s short lists.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from node.answer.score.confidence import Asked, answered, asked_for, well_formed
from node.core.model import Support
from node.language import tables
from node.language.same_answer import RIGHT, WRONG, same_answer

LOW_QUANTILE = 0.1
_MEAN_FLOOR, _LOW_FLOOR, _LEAST_FLOOR = -0.8, -2.5, -5.0
"""Log-probabilities at which the model's certainty counts as none at all; set by hand, not measured."""
_WORDS_FULL = 120
_FIGURES_FULL = 4


@dataclass(frozen=True, slots=True)
class Answered:
    """A model's answer as it is judged. ``logprobs`` is empty where the engine gives none; ``second`` is
    another sample's text, None where there is none; ``support`` None where no evidence was offered;
    ``grounded``: the answer rests on it; ``abstained``: it does not answer."""

    question: str
    text: str
    logprobs: Sequence[float] = ()
    second: str | None = None
    complete: bool = True
    support: Support | None = None
    grounded: bool = False
    abstained: bool = False


def features(said: Answered) -> Mapping[str, float]:
    """The features by name; those whose source is missing are absent."""
    found = _form(said) | _claims(said)
    if said.logprobs:
        found |= _certainty(said.logprobs)
    if said.second is not None:
        found |= _agreement(said, said.second)
    if said.support is not None:
        found |= _supported(said.support) | {"silent": float(said.abstained)}
    return found


def _unit(value: float) -> float:
    return min(1.0, max(0.0, value)) if value == value else 0.0


def _certainty(logprobs: Sequence[float]) -> dict[str, float]:
    """The tokens' log-probabilities: their mean, the lower tenth, the least."""
    ranked = sorted(logprobs)
    low = ranked[int(LOW_QUANTILE * (len(ranked) - 1))]
    return {
        "sure_mean": _unit(1 - sum(ranked) / len(ranked) / _MEAN_FLOOR),
        "sure_low": _unit(1 - low / _LOW_FLOOR),
        "sure_least": _unit(1 - ranked[0] / _LEAST_FLOOR),
    }


# --- form -----------------------------------------------------------------------------------------

_HEDGE = tables.pattern((), tables.Patterns("answers").words, r"\b<hedge>\b", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")
_CODE = re.compile(r"```|`[^`\n]+`")
_ODD = re.compile(r"\b(?=[A-Za-z-]*\d)(?=[\d-]*[A-Za-z])[A-Za-z\d]+(?:-[A-Za-z\d]+)*\b")
"""A word of letters and digits, such as a model's or an error's code: rarely anything a model has read of."""


def _form(said: Answered) -> dict[str, float]:
    kind = asked_for(said.question)
    words = len(_WORD.findall(said.text))
    return {
        "fits": answered(said.question, said.text),
        "formed": well_formed(said.text),
        "whole": float(said.complete),
        "long": _unit(words / _WORDS_FULL),
        "hedged": float(_HEDGE.search(said.text) is not None),
        "explains": float(kind is Asked.EXPLANATION),
        "number_asked": float(kind in (Asked.NUMBER, Asked.TIME)),
        "code": float(_CODE.search(said.text) is not None),
        "odd_name": float(_ODD.search(said.question) is not None),
    }


# --- what it claims -------------------------------------------------------------------------------

_FIGURE = re.compile(r"\d+(?:[.,]\d+)*")
_SUM = re.compile(
    r"(?<![\d.,^*/+-])(-?\d[\d,]*(?:\.\d+)?)\s*([-+*/×x·÷−])\s*(\d[\d,]*(?:\.\d+)?)\s*=\s*"
    r"(-?\d[\d,]*(?:\.\d+)?)(?![\d.]*\s*[-+*/×÷%])"
)
_SIGNS = ("+", "-", "−", "*", "/", "×", "÷", "^", "(")
_EPSILON = 0.006


def _claims(said: Answered) -> dict[str, float]:
    given = set(_FIGURE.findall(said.question))
    own = {one for one in _FIGURE.findall(said.text) if one not in given}
    return {"figures": _unit(len(own) / _FIGURES_FULL), "sums_fail": float(not sums_hold(said.text))}


def sums_hold(text: str) -> bool:
    """Whether every sum of two numbers in the text comes out when it is computed again."""
    return all(_holds(*match.groups()) for match in _SUM.finditer(text) if not _chained(text, match.start()))


def _chained(text: str, start: int) -> bool:
    """Whether more stands before: the sum is not of two numbers."""
    return text[max(0, start - 8) : start].rstrip().endswith(_SIGNS)


def _holds(left: str, sign: str, right: str, result: str) -> bool:
    a, b, stated = (float(part.replace(",", "")) for part in (left, right, result))
    if sign in "/÷":
        if b == 0:
            return False
        value = a / b
    else:
        value = a + b if sign == "+" else a - b if sign in "-−" else a * b
    return abs(value - stated) <= _EPSILON * max(1.0, abs(value))


# --- a second sample ------------------------------------------------------------------------------

_PREFIX = 5
_SHORT = 3


def _content(text: str) -> set[str]:
    return {
        word[:_PREFIX]
        for match in _WORD.finditer(text)
        if len(word := match.group().lower()) > _SHORT or word.isdigit()
    }


def _agreement(said: Answered, second: str) -> dict[str, float]:
    """Whether the second sample says the same: by ``same_answer``'s rules, by content words beyond the
    question, and by figures."""
    verdict = same_answer(said.text, second, question=said.question).verdict
    asked = _content(said.question)
    one, other = _content(said.text) - asked, _content(second) - asked
    every = one | other
    mine, theirs = (
        set(_FIGURE.findall(text)) - set(_FIGURE.findall(said.question)) for text in (said.text, second)
    )
    figures = len(mine & theirs) / len(mine | theirs) if mine | theirs else 1.0
    return {
        "agrees": float(verdict == RIGHT),
        "contradicts": float(verdict == WRONG),
        "same_words": len(one & other) / len(every) if every else 1.0,
        "same_figures": figures,
    }


def agrees(said: Answered) -> bool:
    """Whether there is a second sample that says the same."""
    if said.second is None:
        return False
    return same_answer(said.text, said.second, question=said.question).verdict == RIGHT


# --- evidence -------------------------------------------------------------------------------------


def _supported(support: Support) -> dict[str, float]:
    return {
        "held_words": _unit(support.words),
        "held_weakest": _unit(support.weakest),
        "held_figures": _unit(support.figures),
        "held_names": _unit(support.names),
        "question_held": _unit(support.question),
        "cited": float(support.cited),
        "compares": float(support.compares),
        "answers": 0.5 if support.answers is None else support.answers,
    }
