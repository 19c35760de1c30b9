"""Judge: how far an answer can be relied on, as a number with its parts. For a model's answer ``calibrated``
puts the probability learnt on labelled answers in the number's place; the parts stay.

Six parts in [0, 1], weighted as design section 6 says; a part that does not apply is left out and the
weights of the others are scaled up. Each part is a rule that anyone can measure again, and none ever falls
when its signal improves. What a model says about its own certainty counts for nothing.

- ``source_reliability`` (30): by kind of source, see ``RELIABILITY``; never above the source's own figure.
- ``completeness`` (25): is the kind of thing asked for there (a number, a time, a name, an explanation of
  some length), is it about what was asked; 0.6 of that when the text was cut; 0 when it does not answer;
  times 0.6 when a figure in it stands in no evidence: that may have been the answer.
- ``response_quality`` (15): well formed (whole sentences, no leftovers of prompts or markup, little
  repetition); times 0.6 when cut, 0.5 when it ran in circles, 0.5 when it does not answer, 0.8 when it rests
  on evidence without citing it, and 0.8 for each figure that no evidence gives (three at most); quotes
  without prose at most 0.6.
- ``cross_validation`` (10): the share of the other independent sources that agree; absent with one source.
- ``context_use`` (10): the share of the answer's content words found in its evidence, full from 0.7 on (the
  rest of a fluent sentence is joints); absent without evidence, and where the answer is the evidence.
- ``validation`` (10): 0.5 at birth, 0.1 up for each valid and down for each invalid vote.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from node.core.model import Confidence
from node.language import tables

SOURCE_RELIABILITY = "source_reliability"
COMPLETENESS = "completeness"
RESPONSE_QUALITY = "response_quality"
CROSS_VALIDATION = "cross_validation"
CONTEXT_USE = "context_use"
VALIDATION = "validation"

WEIGHTS: Mapping[str, int] = {
    SOURCE_RELIABILITY: 30,
    COMPLETENESS: 25,
    RESPONSE_QUALITY: 15,
    CROSS_VALIDATION: 10,
    CONTEXT_USE: 10,
    VALIDATION: 10,
}


class Origin(StrEnum):
    """What kind of source stands behind an answer."""

    COMPUTED = "computed"
    STATEMENT = "statement"
    ADAPTER = "adapter"
    RECORD = "record"
    DOCUMENT = "document"
    MODEL_ON_EVIDENCE = "model_on_evidence"
    EXTRACTIVE = "extractive"
    MODEL = "model"
    CLIENT = "client"
    FALLBACK = "fallback"


RELIABILITY: Mapping[Origin, float] = {
    Origin.COMPUTED: 1.0,
    Origin.STATEMENT: 1.0,
    Origin.ADAPTER: 0.95,
    Origin.RECORD: 0.9,
    Origin.DOCUMENT: 0.9,
    Origin.MODEL_ON_EVIDENCE: 0.8,
    Origin.EXTRACTIVE: 0.8,
    Origin.MODEL: 0.7,
    Origin.CLIENT: 0.7,
    Origin.FALLBACK: 0.0,
}

_CUT = 0.6
_LOOPED = 0.5
_SAYS_NOTHING = 0.5
_UNCITED = 0.8
_UNCITED_FIGURE = 0.8
_UNCITED_FIGURES_COUNTED = 3
_UNCITED_ANSWER = 0.6
_QUOTES_ONLY = 0.6
_CONTEXT_FULL = 0.7
_VOTE = 0.1
_AT_BIRTH = 0.5


@dataclass(frozen=True, slots=True)
class Signals:
    """What was measured about one answer; ``observe`` measures the two that need its text.

    ``answered`` and ``well_formed`` are in [0, 1]. ``reliability_max`` is the source's own figure, such as
    ``Evidence.confidence``. ``cited``: it names its evidence (counts only where ``grounded``).
    ``sources_agreeing`` of ``sources_independent`` say the same, the answer's own source counted in both.
    """

    origin: Origin
    answered: float
    well_formed: float
    complete: bool = True
    abstained: bool = False
    looped: bool = False
    grounded: bool = False
    cited: bool = False
    uncited_figures: int = 0
    reliability_max: float = 1.0
    context_share: float | None = None
    sources_independent: int = 1
    sources_agreeing: int = 1
    valid: int = 0
    invalid: int = 0


def origin_of(source_kind: str, *, grounded: bool = False, computed: bool = False) -> Origin:
    """The origin for a ``SourceRef.kind``; ``computed`` for an adapter that reaches nothing outside."""
    if source_kind == "llm":
        return Origin.MODEL_ON_EVIDENCE if grounded else Origin.MODEL
    if source_kind == "adapter":
        return Origin.COMPUTED if computed else Origin.ADAPTER
    known = {
        "cache": Origin.RECORD,
        "documents": Origin.DOCUMENT,
        "extractive": Origin.EXTRACTIVE,
        "statement": Origin.STATEMENT,
        "client": Origin.CLIENT,
    }
    return known.get(source_kind, Origin.FALLBACK)


# --- judging --------------------------------------------------------------------------------------


def _unit(value: float) -> float:
    """Into [0, 1]; what is not a number counts as nothing."""
    return min(1.0, max(0.0, value)) if value == value else 0.0


def source_reliability(signals: Signals) -> float:
    return min(RELIABILITY[signals.origin], _unit(signals.reliability_max))


def completeness(signals: Signals) -> float:
    if signals.abstained:
        return 0.0
    value = _unit(signals.answered) * (1.0 if signals.complete else _CUT)
    return value * _UNCITED_ANSWER if signals.uncited_figures > 0 else value


def response_quality(signals: Signals) -> float:
    value = _unit(signals.well_formed)
    if signals.origin is Origin.EXTRACTIVE:
        value = min(value, _QUOTES_ONLY)
    if not signals.complete:
        value *= _CUT
    if signals.looped:
        value *= _LOOPED
    if signals.abstained:
        value *= _SAYS_NOTHING
    if signals.grounded and not signals.cited:
        value *= _UNCITED
    return value * _UNCITED_FIGURE ** min(max(0, signals.uncited_figures), _UNCITED_FIGURES_COUNTED)


def cross_validation(signals: Signals) -> float | None:
    others = signals.sources_independent - 1
    if others < 1:
        return None
    return _unit((signals.sources_agreeing - 1) / others)


def context_use(signals: Signals) -> float | None:
    if signals.context_share is None:
        return None
    return _unit(signals.context_share / _CONTEXT_FULL)


def validation(signals: Signals) -> float:
    return _unit(_AT_BIRTH + _VOTE * (signals.valid - signals.invalid))


def weigh(parts: Mapping[str, float]) -> Confidence:
    """The weighted mean of the parts that apply. Parts that are all 1 give exactly 1. Raises ``KeyError``
    for a part that has no weight."""
    bounded = {name: _unit(value) for name, value in parts.items()}
    whole = sum(WEIGHTS[name] for name in bounded)
    if not whole:
        return Confidence(0.0, {})
    # Rounded to the millionths in which records hold it, so that memory and wire agree at the threshold.
    value = round(sum(WEIGHTS[name] * part for name, part in bounded.items()) / whole, 6)
    return Confidence(_unit(value), {name: round(part, 6) for name, part in bounded.items()})


def judge(signals: Signals) -> Confidence:
    """The confidence in an answer, with those of the six parts that apply."""
    parts = {
        SOURCE_RELIABILITY: source_reliability(signals),
        COMPLETENESS: completeness(signals),
        RESPONSE_QUALITY: response_quality(signals),
        CROSS_VALIDATION: cross_validation(signals),
        CONTEXT_USE: context_use(signals),
        VALIDATION: validation(signals),
    }
    return weigh({name: part for name, part in parts.items() if part is not None})


# --- measuring ------------------------------------------------------------------------------------


class Asked(StrEnum):
    """The kind of thing that a question wants."""

    NUMBER = "number"
    TIME = "time"
    NAME = "name"
    EXPLANATION = "explanation"
    DEFINITION = "definition"
    OTHER = "other"


_WORDING = tables.Patterns("answers")
_ASKED = tuple(
    (kind, _WORDING(kind))
    for kind in (Asked.EXPLANATION, Asked.NUMBER, Asked.TIME, Asked.NAME, Asked.DEFINITION)
)
_HOW_LONG_TIME = _WORDING("how_long_time")
_NUMBER, _TIME = (
    tables.pattern((), _WORDING.words, rf"\d|\b<{name}>\b", re.IGNORECASE) for name in ("number", "time")
)
_WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")

EXPLANATION_WORDS_FULL = 40
"""About three sentences: less explains nothing to somebody who asked."""
DEFINITION_WORDS_FULL = 5
_KIND_MISSING = 0.3
_TOPIC_PREFIX = 4
_TOPIC_SHARE_FULL = 0.5
_OFF_TOPIC = 0.6
_ASKED_CHARS_MAX = 16_384
_PLAIN_WORDS = tables.words(str(_WORDING.words["plain"]))


def asked_for(question: str) -> Asked:
    """What kind of thing the question wants, by its beginning; OTHER for a fact of no special form."""
    question = question[:_ASKED_CHARS_MAX]
    if _HOW_LONG_TIME.search(question):
        return Asked.TIME
    return next((kind for kind, pattern in _ASKED if pattern.search(question)), Asked.OTHER)


def _words(text: str) -> int:
    count = letters = 0
    for match in _WORD.finditer(text):
        count += 1
        letters += match.end() - match.start()
    # A script without spaces is counted by five letters a word.
    return count if text.isascii() else max(count, letters // 5)


def _on_topic(question: str, answer: str) -> float:
    """Full when half of the question's content words come back in some form, by their first letters."""
    wanted = {
        word[:_TOPIC_PREFIX]
        for match in _WORD.finditer(question)
        if len(word := match.group().lower()) >= _TOPIC_PREFIX and word not in _PLAIN_WORDS
    }
    if not wanted:
        return 1.0
    given = {match.group().lower()[:_TOPIC_PREFIX] for match in _WORD.finditer(answer)}
    share = len(wanted & given) / len(wanted)
    return min(1.0, _OFF_TOPIC + (1.0 - _OFF_TOPIC) * share / _TOPIC_SHARE_FULL)


def answered(question: str, answer: str) -> float:
    """The share in [0, 1] of what was asked for that the answer holds, by form alone."""
    words = _words(answer)
    if not words:
        return 0.0
    kind = asked_for(question)
    if kind is Asked.EXPLANATION:
        return min(1.0, words / EXPLANATION_WORDS_FULL) * _on_topic(question, answer)
    if kind is Asked.DEFINITION:
        return min(1.0, words / DEFINITION_WORDS_FULL)
    if kind is Asked.NUMBER:
        return 1.0 if _NUMBER.search(answer) else _KIND_MISSING
    if kind is Asked.TIME:
        return 1.0 if _TIME.search(answer) else _KIND_MISSING
    if kind is Asked.NAME:
        return 1.0 if _names_someone(answer) else _KIND_MISSING
    return 1.0


def _names_someone(answer: str) -> bool:
    tokens = [match.group() for match in _WORD.finditer(answer)]
    if not answer.isascii() or len(tokens) <= 3:
        return True  # scripts without capitals, and bare names
    return any(token[0].isupper() for token in tokens[1:]) or (
        tokens[0][0].isupper() and tokens[0] == tokens[0].upper()
    )


_DEBRIS = re.compile(
    r"<\|[^|<>\n]{1,40}\|>"
    r"|</?(?:think|thinking|reasoning|s|div|span|br|p|html|body|start_of_turn|end_of_turn)\b[^<>\n]{0,80}>"
    r"|\[/?INST\]|<{3,}|>{3,}|\ufffd|\A\W*(?:undefined|null|NaN)\W*\Z"
    r"|(?m:^[ \t]*(?:QUESTION|ANSWER|(?:ADAPTER |STORED )?CONTEXT)\b[^:\n]{0,40}:)",
)
_CLOSED = re.compile(r"(?:[.!?…。！？:;][\"'”’»)\]*_`]*|[\])}`|\d%°])\s*\Z")
_LIST_LINE = re.compile(r"[ \t]*(?:[-*+•|]|\d{1,3}[.)]|```|Sources?:)")
_FREE_WORDS = 6
"""A shorter answer need not be a sentence."""
_DEBRIS_FACTOR = 0.5
_UNCLOSED_FACTOR = 0.85
_REPEAT_WORDS_MIN = 20
_REPEAT_FREE = 0.15
_REPEAT_FACTOR_MIN = 0.4


def well_formed(answer: str) -> float:
    """Form alone, in [0, 1]: leftovers of prompts and markup, an open end, repetition."""
    body = answer.strip()
    if not any(char.isalnum() for char in body):
        return 0.0
    value = 1.0
    if _DEBRIS.search(body) or any(ord(char) < 32 and char not in "\n\t" for char in body):
        value *= _DEBRIS_FACTOR
    last_line = body[body.rfind("\n") + 1 :]
    if _words(body) > _FREE_WORDS and not _CLOSED.search(body[-40:]) and not _LIST_LINE.match(last_line):
        value *= _UNCLOSED_FACTOR
    words = [match.group().lower() for match in _WORD.finditer(body)]
    if len(words) >= _REPEAT_WORDS_MIN:
        triples = list(zip(words, words[1:], words[2:], strict=False))
        repeated = 1.0 - len(set(triples)) / len(triples)
        value *= max(_REPEAT_FACTOR_MIN, 1.0 - 2.0 * max(0.0, repeated - _REPEAT_FREE))
    return value


def observe(
    question: str, answer: str, origin: Origin, *, abstained: bool = False, **measured: Any
) -> Signals:
    """The signals of an answer, its text measured here, the rest (fields of ``Signals``) as handed in."""
    return Signals(
        origin=origin,
        answered=answered(question, answer),
        well_formed=well_formed(answer),
        abstained=abstained or origin is Origin.FALLBACK,
        **measured,
    )
