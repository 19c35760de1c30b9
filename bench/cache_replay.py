"""Replaying a stream as a cache meets it, and counting what it served.

Rules, the same for every cache: a question is looked up; what is served is right if its class is the
question's; on a miss the true answer is stored; a hit stores nothing. An *exact repeat* (same normalised
text as an earlier question) is looked up like any other but counted apart. Of the others: a *repeat* is
one whose class came before;

    wrong    wrong serves / look-ups, with the one-sided 95 % upper limit (Clopper-Pearson)
    of hits  wrong serves / all serves
    recall   right serves / repeats

A *near-miss* is a stored question of another class among the ``K`` nearest with a cosine of ``FLOOR`` or
more.

Promises: deterministic. Must not know: how a cache decides, and how it is reached.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from bench.cache_streams import Stream
from bench.gatelab.train import upper
from node.core.normalise import normalise

K = 5
FLOOR = 0.7
WRONG_MAX = 0.01
"""The mark: so much of all look-ups may be answered wrongly."""

Matrix = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Scored:
    """A candidate of a reply: the number of the stored question, its cosine, what the cache says of it.
    ``u`` None: refused before it was judged."""

    stored: int
    similarity: float | None
    u: float | None
    score: float


@dataclass(frozen=True, slots=True)
class Reply:
    """What a cache said: the number of the question whose answer it served, or None."""

    served: int | None
    tier: str = "semantic"
    ms: float = 0.0
    candidates: tuple[Scored, ...] = ()
    reason: str = ""


class Cache(Protocol):
    """A cache under test. Questions are known by their number in the stream."""

    async def look_up(self, number: int) -> Reply:
        """Look a question up."""

    async def store(self, number: int) -> None:
        """Store a question with its true answer."""


@dataclass(frozen=True, slots=True)
class Look:
    """One look-up as it went. ``again``: exact repeat; ``repeat``: its class came before; ``met``: kinds of
    the near-misses among what was stored."""

    number: int
    again: bool
    repeat: bool
    reply: Reply
    right: bool
    kind: str
    met: frozenset[str]

    @property
    def wrong(self) -> bool:
        return self.reply.served is not None and not self.right


@dataclass(slots=True)
class Tally:
    """Counts over look-ups; exact repeats are in ``again`` and ``again_wrong`` only."""

    look_ups: int = 0
    repeats: int = 0
    right: int = 0
    wrong: int = 0
    again: int = 0
    again_hits: int = 0
    again_wrong: int = 0
    tiers: Counter[tuple[str, bool]] = field(default_factory=Counter)
    met: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)

    def add(self, look: Look) -> None:
        hit = look.reply.served is not None
        if look.again:
            self.again += 1
            self.again_hits += hit
            self.again_wrong += look.wrong
            return
        self.look_ups += 1
        self.repeats += look.repeat
        self.met.update(look.met | ({look.kind} if look.wrong else set()))
        if hit:
            self.right += look.right
            self.wrong += look.wrong
            self.tiers[look.reply.tier, look.right] += 1
        if look.wrong:
            self.kinds[look.kind] += 1

    @property
    def hits(self) -> int:
        return self.right + self.wrong

    @property
    def recall(self) -> float:
        return self.right / max(1, self.repeats)

    @property
    def wrong_share(self) -> float:
        return self.wrong / max(1, self.look_ups)

    @property
    def wrong_upper(self) -> float:
        return upper(self.wrong, self.look_ups)

    @property
    def wrong_of_hits(self) -> float:
        return self.wrong / max(1, self.hits)


def tally(looks: Sequence[Look]) -> Tally:
    """The counts of a replay."""
    out = Tally()
    for look in looks:
        out.add(look)
    return out


class Course:
    """A stream with its vectors: who came before whom, and who is near whom. A question without a vector
    (zeros) is near nobody."""

    def __init__(self, stream: Stream, matrix: Matrix) -> None:
        self.stream = stream
        self.questions = stream.questions
        self.matrix = matrix
        self.cosines = matrix @ matrix.T
        self._kinds: dict[tuple[int, int], str] = {}
        texts: set[str] = set()
        classes: set[str] = set()
        self.again: list[bool] = []
        self.repeat: list[bool] = []
        for question in self.questions:
            text = normalise(question.text)
            self.again.append(text in texts)
            self.repeat.append(question.cls in classes)
            texts.add(text)
            classes.add(question.cls)

    def __len__(self) -> int:
        return len(self.questions)

    def nearest(self, number: int, stored: NDArray[np.bool_], k: int = K) -> list[tuple[int, float]]:
        """The ``k`` nearest stored questions before this one with a cosine of ``FLOOR`` or more."""
        row = self.cosines[number, :number]
        top = np.flatnonzero(stored[:number] & (row >= FLOOR))
        top = top[np.argsort(-row[top], kind="stable")][:k]
        return [(int(at), float(row[at])) for at in top]

    def look(self, number: int, reply: Reply, stored: NDArray[np.bool_]) -> Look:
        """The reply judged by the classes."""
        asked = self.questions[number]
        served = reply.served
        right = served is not None and self.questions[served].cls == asked.cls
        kind = "" if served is None or right else self._kind(number, served)
        met = frozenset(
            self._kind(number, at)
            for at, _ in self.nearest(number, stored)
            if self.questions[at].cls != asked.cls
        )
        return Look(number, self.again[number], self.repeat[number], reply, right, kind, met)

    def _kind(self, number: int, other: int) -> str:
        pair = (number, other)
        if pair not in self._kinds:
            self._kinds[pair] = self.stream.kind(self.questions[number], self.questions[other])
        return self._kinds[pair]


async def replay(
    course: Course, cache: Cache, progress: Callable[[int], Awaitable[None]] | None = None
) -> list[Look]:
    """Every question of the stream in its order."""
    stored = np.zeros(len(course), bool)
    looks = []
    for number in range(len(course)):
        reply = await cache.look_up(number)
        looks.append(course.look(number, reply, stored))
        if reply.served is None:
            await cache.store(number)
            stored[number] = True
        if progress is not None:
            await progress(number)
    return looks


Decider = Callable[[int, Sequence[tuple[int, float]]], int | None]
"""Of the nearest stored questions of a question (its number) the place of the one that is served, if any."""
Learner = Callable[[int, int, float, bool], bool]
"""Told after a miss: number, the nearest stored one, its cosine, whether its answer would have been right;
says whether the question is stored."""


def replay_decider(course: Course, decide: Decider, learn: Learner | None = None) -> list[Look]:
    """The same with a rule over cosines instead of a service."""
    stored = np.zeros(len(course), bool)
    looks = []
    for number in range(len(course)):
        near = course.nearest(number, stored)
        place = decide(number, near)
        reply = Reply(None) if place is None else Reply(near[place][0])
        looks.append(course.look(number, reply, stored))
        if place is not None:
            continue
        stored[number] = True
        if learn is not None and near:
            at, cosine = near[0]
            same = course.questions[at].cls == course.questions[number].cls
            stored[number] = learn(number, at, cosine, same)
    return looks


def from_served(course: Course, served: Sequence[int | None]) -> list[Look]:
    """The look-ups of a cache that ran elsewhere and told what it served; it stored on each miss."""
    stored = np.zeros(len(course), bool)
    looks = []
    for number, answer in enumerate(served):
        looks.append(course.look(number, Reply(answer), stored))
        stored[number] = answer is None
    return looks


def by_cosine(threshold: float) -> Decider:
    """The nearest, from a threshold on."""
    return lambda _, near: 0 if near and near[0][1] >= threshold else None


# --- coverage against wrong share -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Point:
    """What would be served at one cut-off: shares of the look-ups, exact repeats left out."""

    cut: float
    coverage: float
    wrong: float
    recall: float


def cosine_curve(course: Course, cuts: Sequence[float]) -> list[Point]:
    """One replay for each threshold."""
    out = []
    for cut in cuts:
        counted = tally(replay_decider(course, by_cosine(cut)))
        coverage = counted.hits / max(1, counted.look_ups)
        out.append(Point(cut, coverage, counted.wrong_share, counted.recall))
    return sorted(out, key=lambda point: -point.cut)


def reply_curve(course: Course, looks: Sequence[Look]) -> list[Point]:
    """By one replay's replies: at each u what the candidate of the least u (of the best score among equals)
    would have served, were the cut-off there. What was stored is what the replay stored. Exact and slot
    matches have u = 0. Vetoed candidates (u = 1) are never served."""
    counted = [look for look in looks if not look.again]
    best: list[tuple[float, float, bool]] = []
    for look in counted:
        cls = course.questions[look.number].cls
        if look.reply.served is not None and look.reply.tier != "semantic":
            best.append((0.0, -1.0, look.right))
            continue
        judged = [
            (one.u, -one.score, course.questions[one.stored].cls == cls)
            for one in look.reply.candidates
            if one.u is not None and one.u < 1.0
        ]
        if judged:
            best.append(min(judged, key=lambda one: one[:2]))
    repeats, total = sum(look.repeat for look in counted), max(1, len(counted))
    best.sort()
    out, right, wrong = [Point(0.0, 0.0, 0.0, 0.0)], 0, 0
    for place, (u, score, same) in enumerate(best):
        right += same
        wrong += not same
        if place + 1 == len(best) or best[place + 1][:2] != (u, score):
            out.append(Point(u, (right + wrong) / total, wrong / total, right / max(1, repeats)))
    return out


def ceiling(curve: Sequence[Point], wrong_max: float = WRONG_MAX) -> Point:
    """The best recall at which at most ``wrong_max`` were wrong: a cut-off picked afterwards."""
    held = [point for point in curve if point.wrong <= wrong_max]
    return max(held, key=lambda point: point.recall, default=Point(1.0, 0.0, 0.0, 0.0))
