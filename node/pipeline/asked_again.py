"""Who asks the same again in other words soon after an answer was not satisfied with it: a sign, no proof.

Promises: counted, and kept as a weak label that changes no decision; at most ``ASKERS_MAX`` last questions
are remembered, each for ``WITHIN_S``, in memory only. Another figure, name, time or negation is another
question (``cache.matching.gate``). An answer from memory costs nothing here and is not looked at."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from node.cache.matching.gate import agree
from node.core.clock import Clock
from node.core.model import Answer
from node.core.ports import Embedded
from node.language.reading import fold, words_of
from node.language.sentences import content_words

WITHIN_S = 60.0
ASKERS_MAX = 2_000
COSINE_MIN, WORDS_MIN = 0.75, 0.50
"""Two questions so near by their vectors, or where there are none by the share of words in common, are about
one thing. With the gate's word on ``bench/gate_blind.jsonl``: 160 of 165 pairs that ask the same, 52 of
296 that were made to look so."""
_SAME = frozenset({None, "word", "asks"})
"""What the gate may find different: other words, or another form of asking."""


@dataclass(frozen=True, slots=True)
class _Asked:
    answer: Answer
    vector: Embedded | None
    at: float


class AskedAgain:
    """``doubted``: hear of an answer that did not satisfy."""

    def __init__(self, clock: Clock, doubted: Sequence[Callable[[Answer], None]]) -> None:
        self._clock = clock
        self._doubted = doubted
        self._last: OrderedDict[tuple[str, str | None], _Asked] = OrderedDict()

    def hear(self, answer: Answer, vector: Embedded | None) -> None:
        """An answer to a question that was walked through, with the question's vector."""
        query = answer.query
        if query.context is not None or answer.parts or answer.source.kind == "statement":
            return
        asker = (query.caller.person, query.session)
        now = _Asked(answer, vector, self._clock.monotonic())
        before = self._last.pop(asker, None)
        self._last[asker] = now
        while len(self._last) > ASKERS_MAX or now.at - next(iter(self._last.values())).at > WITHIN_S:
            self._last.popitem(last=False)
        if before is not None and now.at - before.at <= WITHIN_S and _is_rephrased(before, now):
            for hear in self._doubted:
                hear(before.answer)


def _is_rephrased(before: _Asked, now: _Asked) -> bool:
    one, other = before.answer.query.text, now.answer.query.text
    if words_of(fold(one)) == words_of(fold(other)):
        return False  # the same words: to look again, not to say it better
    if before.vector is not None and now.vector is not None and before.vector.info == now.vector.info:
        is_near = float(before.vector.vector @ now.vector.vector) >= COSINE_MIN
    else:
        words, others = set(content_words(one)), set(content_words(other))
        is_near = bool(words | others) and len(words & others) >= WORDS_MIN * len(words | others)
    return is_near and agree(one, other).veto in _SAME
