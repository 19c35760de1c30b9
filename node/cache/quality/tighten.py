"""Tightening: what labels say against a record, as a floor under the gate's ``u``.

Rules, for a candidate with a score (similarity x confidence):
1. Of the record's own labels count the wrong ones at this score or above (a nearer question was already
   answered wrongly) and the right ones at this score or below (a farther one was answered rightly).
2. With at least one wrong label the floor is the one-sided 95 % upper limit of their share: after a single
   wrong one the record is refused to all questions that are no nearer, until right labels outweigh it.
3. The neighbourhood of a record are the hits in which it came up as a rival, its own hits among them. There
   the same counts give the one-sided 95 % *lower* limit: a neighbour is held back only where it is sure that
   the place is bad. The floor is the greater of the two.
4. One question counts once for each verdict, however often it is asked. Scores are compared in steps of
   ``STEP``: a label counts for the whole of its step.
5. Undecided labels do nothing.

So more wrong labels never lower a floor, more right ones never raise it, a greater score never raises it, and
as it is a floor under ``u`` nothing here makes the gate serve what it would refuse. What is remembered is
bounded by ``RECORDS_MAX`` records and ``ENTRIES_MAX`` questions of all together; records without a wrong
label are forgotten first.

Pure. Must not know: stores, the clock, what a label was made from.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from node.cache.quality.estimate import lower_limit, upper_limit
from node.store.hit_label import NEAR_MAX, RIGHT, WRONG, Label

STEP = 0.01
RECORDS_MAX = 50_000
ENTRIES_MAX = 1_000_000
QUESTIONS_MAX = 256
"""Questions remembered of one record and verdict: past so many wrong ones it is refused anyway."""


@dataclass(slots=True)
class _Counts:
    """For each question the step of its label."""

    wrong: dict[str, int] = field(default_factory=dict)
    right: dict[str, int] = field(default_factory=dict)

    @property
    def size(self) -> int:
        return len(self.wrong) + len(self.right)

    def add(self, question: str, verdict: str, step: int) -> None:
        table = self.wrong if verdict == WRONG else self.right
        known = table.get(question)
        if known is None:
            if len(table) < QUESTIONS_MAX:
                table[question] = step
        else:
            # A second label of the same kind may only add to what the first one said.
            table[question] = max(known, step) if verdict == WRONG else min(known, step)

    def at(self, step: int) -> tuple[int, int]:
        """Wrong labels, and all that count, for a candidate at ``step``."""
        wrong = sum(1 for one in self.wrong.values() if one >= step)
        return wrong, wrong + sum(1 for one in self.right.values() if one <= step)


@dataclass(slots=True)
class _Ledger:
    """The labels that concern one record."""

    own: _Counts = field(default_factory=_Counts)
    place: _Counts = field(default_factory=_Counts)

    @property
    def size(self) -> int:
        return self.own.size + self.place.size

    @property
    def is_marked(self) -> bool:
        return bool(self.own.wrong or self.place.wrong)


class Tightening:
    """Labels by record, in memory. Not for threads: it belongs to the event loop."""

    def __init__(
        self,
        labels: Iterable[Label] = (),
        *,
        records_max: int = RECORDS_MAX,
        entries_max: int = ENTRIES_MAX,
    ) -> None:
        self._clean: dict[str, _Ledger] = {}
        self._marked: dict[str, _Ledger] = {}
        self._entries = 0
        self._records_max = records_max
        self._entries_max = entries_max
        for label in labels:
            self.add(label)

    def u_floor(self, cid: str, score: float) -> float:
        """The floor under ``u`` for this record at this score; 0.0 where nothing is known against it."""
        ledger = self._marked.get(cid)
        if ledger is None:
            return 0.0
        step = _step(score)
        wrong, of = ledger.own.at(step)
        floor = upper_limit(wrong, of) if wrong else 0.0
        wrong, of = ledger.place.at(step)
        return max(floor, lower_limit(wrong, of))

    def add(self, label: Label) -> None:
        """Enter one label; it counts from the next look-up on."""
        if label.verdict not in (RIGHT, WRONG):
            return
        hit, step = label.hit, _step(label.hit.score)
        # In a neighbourhood each pair counts: one question may be near to several records.
        pair = f"{hit.cid} {hit.query_hash}"
        for cid in dict.fromkeys((hit.cid, *hit.near[:NEAR_MAX])):
            ledger = self._marked.get(cid) or self._clean.setdefault(cid, _Ledger())
            before = ledger.size
            ledger.place.add(pair, label.verdict, step)
            if cid == hit.cid:
                ledger.own.add(hit.query_hash, label.verdict, step)
            if ledger.is_marked and cid in self._clean:
                self._marked[cid] = self._clean.pop(cid)
            self._entries += ledger.size - before
        while len(self._clean) + len(self._marked) > self._records_max or self._entries > self._entries_max:
            self.forget(next(iter(self._clean or self._marked)))

    def forget(self, cid: str) -> None:
        """The record is gone for good."""
        ledger = self._clean.pop(cid, None) or self._marked.pop(cid, None)
        self._entries -= 0 if ledger is None else ledger.size

    @property
    def tightened(self) -> int:
        """Records with something against them."""
        return len(self._marked)


def _step(score: float) -> int:
    """The score as a whole number of steps, rounded down; what is not a number is the lowest."""
    return math.floor(max(-1.0, min(1.0, score)) / STEP + 1e-9) if math.isfinite(score) else -round(1 / STEP)
