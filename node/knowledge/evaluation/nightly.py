"""A share of each day's answers, graded again in the night by a judge model, and what that says of the node.

Promises: of every ``1 / share`` answers one is taken, at random; what is taken lies in memory only, at most
``SAMPLES_MAX``; it is graded once its day is over, beside what the documents
say then, while nobody waits for an answer; the grades outlive a restart, the texts do not. Without a judge
that is said and counted."""

from __future__ import annotations

import logging
import math
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, tzinfo
from typing import Any

import orjson

from node.core.clock import Clock
from node.core.errors import NodeError
from node.core.model import Answer, Check, Draft
from node.core.ports import Prompt
from node.knowledge.evaluation import judge
from node.models.deadline import GaveWay
from node.store.state import StateStore

log = logging.getLogger("neuroswarm.judge")

SAMPLES_MAX = 200
ROLLING = 100
"""The mean is of so many of the newest grades."""
WARNING, CRITICAL = 2.5, 2.0
NIGHT_S, OPERATOR_S = 6 * 3_600.0, 480.0
_KEY = "judged_answers"
_TOKENS_MAX = 256
_GRADE = '{"type":"object","properties":{"grade":{"type":"integer","enum":[0,1,2,3]}},"required":["grade"]}'
_MADE = frozenset({"documents", "llm", "extractive", "cache"})


@dataclass(frozen=True, slots=True)
class Judging:
    """What the job works with. ``ask``: a judge model, which gives way when somebody waits for an answer
    (``GaveWay``), None: nobody can grade; ``passages``: what the documents that may be seen say to a
    question, raises ``NodeError``; ``count``: hears an outcome; ``rolling``: hears the mean."""

    ask: Callable[[Prompt], Awaitable[Draft]] | None
    passages: Callable[[str, Sequence[str]], Awaitable[Sequence[str]]]
    count: Callable[[str], None]
    rolling: Callable[[float], None]
    share: float
    hour: int
    zone: tzinfo


class Nightly:
    """Build with ``open``."""

    def __init__(self, judging: Judging, kept: StateStore, clock: Clock) -> None:
        self._judging = judging
        self._kept = kept
        self._clock = clock
        self._seen = self._pick = 0
        self._samples: deque[tuple[date, Answer]] = deque()
        self._grades: list[int] = []
        self._judge = self._why = ""

    @classmethod
    async def open(cls, judging: Judging, kept: StateStore, clock: Clock) -> Nightly:
        """With the grades of earlier nights. Raises ``Unavailable``."""
        self = cls(judging, kept, clock)
        if text := await kept.get_meta(_KEY):
            self._judge, self._grades = orjson.loads(text)
        judging.rolling(self._mean if self._grades else math.nan)
        return self

    @property
    def _mean(self) -> float:
        return sum(self._grades) / max(1, len(self._grades))

    def _local(self) -> datetime:
        return self._clock.now().astimezone(self._judging.zone)

    def hear(self, answer: Answer) -> None:
        """An answer that was made or found for somebody, not one that is given again from memory."""
        query, route, share = answer.query, answer.route, self._judging.share
        is_plain = query.context is None and not (query.no_store or query.only_cached or answer.parts)
        if not (share and is_plain) or route.needs_history or route.about_node:
            return
        if answer.source.kind not in _MADE and answer.documents is None:
            return  # computed, looked up at a source, or small talk
        block = max(1, round(1 / share))
        at, self._seen = self._seen % block, self._seen + 1
        if at == 0:
            self._pick = int(self._clock.random() * block)
        if at != self._pick:
            return
        if len(self._samples) < SAMPLES_MAX:
            self._samples.append((self._local().date(), answer))
        else:
            self._judging.count("passed_over")

    def forget(self, tenant: str) -> None:
        """What a tenant asked is not graded: it was erased."""
        kept = [one for one in self._samples if one[1].query.caller.tenant != tenant]
        self._samples = deque(kept)

    async def tick(self) -> None:
        """Grade the answers of the days that are over, once it is late enough. Raises ``Unavailable``."""
        now = self._local()
        if now.hour >= self._judging.hour and self._samples and self._samples[0][0] < now.date():
            await self.run(NIGHT_S, before=now.date())

    async def run(self, within_s: float = OPERATOR_S, *, before: date = date.max) -> dict[str, Any]:
        """Grade what waits, of days before ``before``; what came of it. What is not begun within
        ``within_s``, and what could not be graded now, waits on. Raises ``Unavailable``: the grades are not
        kept."""
        until = self._clock.monotonic() + within_s
        outcomes: Counter[str] = Counter()
        generators: set[str] = set()
        self._why = ""
        while self._samples and self._samples[0][0] < before and self._clock.monotonic() < until:
            day, answer = self._samples.popleft()
            outcome = await self._graded(answer)
            outcomes[outcome] += 1
            generators |= {answer.source.id} if answer.source.kind == "llm" else set()
            self._judging.count(outcome)
            if outcome in ("failed", "busy"):  # it is tried again when the job comes by next
                self._samples.appendleft((day, answer))
                break
        bias = judge.bias(self._judge, ", ".join(sorted(generators))) if outcomes["graded"] else ""
        self._say(outcomes, bias)
        await self._kept.set_meta(_KEY, orjson.dumps([self._judge, self._grades]).decode())
        told = {"answers": outcomes.total(), "outcomes": dict(outcomes), "of": len(self._grades)}
        mean = self._mean if self._grades else None
        return {**told, "mean": mean, "judge": self._judge, "bias": bias, "note": self._why}

    async def _graded(self, answer: Answer) -> str:
        """What came of one answer."""
        if (ask := self._judging.ask) is None:
            self._why = "no judge model (judge.url): answers were not graded"
            return "no_judge"
        question, passages = answer.query.text, [one.snippet for one in answer.citations]
        try:
            found = await self._judging.passages(question, answer.query.caller.visible_scopes)
            passages = list(found) or passages
        except NodeError as exc:
            log.info("event=judged_without_documents reason=%s", exc)
        system, user = judge.asked_again(question, answer.text, passages)
        prompt = Prompt(system, user, _TOKENS_MAX, continuation=f"{system}\n\n{user}\n", schema=_GRADE)
        try:
            said = await ask(prompt)
        except GaveWay:
            return "busy"
        except NodeError as exc:
            self._why = f"the judge failed: {exc}"
            return "failed"
        if (grade := judge.grade(said.text)) is None:
            return "no_grade"
        self._grades, self._judge = [*self._grades, grade][-ROLLING:], said.model
        return "graded"

    def _say(self, outcomes: Counter[str], bias: str) -> None:
        said = " ".join(f"{name}={count}" for name, count in sorted(outcomes.items()))
        log.info("event=answers_judged %s mean=%.2f judge=%s %s", said, self._mean, self._judge, bias)
        if self._why:
            log.warning("event=answers_not_judged reason=%s", self._why)
        if self._grades:
            self._judging.rolling(self._mean)
            if self._mean < WARNING:
                log.warning("event=answer_quality_low mean=%.2f of=%d", self._mean, len(self._grades))

    def health(self) -> Check:
        """Warns while the mean is low. Without I/O."""
        why = f"; {self._why}" if self._why else ""
        if not self._grades:
            return Check("answer_quality", "pass", f"no answer has been graded yet{why}")
        said, mean = f"mean of the last {len(self._grades)} grades, 0 to 3, by {self._judge}{why}", self._mean
        level = "critical" if mean < CRITICAL else "low" if mean < WARNING else ""
        if level:
            said = f"{level}: {said}; look at what is asked and what the documents lack"
        status = "warn" if level else "pass"
        return Check("answer_quality", status, said, observed=round(mean, 3), unit="grade")
