"""The chain of language models: who is asked, for how long, and who is left alone after failing.

Promises, for every question:
- no engine eats the time of those behind it: each gets what is left less a reserve for every engine behind it
  that is up, and for the answer without a model;
- one generation at a time per engine and a bounded number waiting; a question that cannot have its turn in
  time goes on to the next engine at once;
- an engine that failed is left alone for 1, 2, 4, then 5 s while another can answer; then one question is its
  trial. One that failed in an instant is asked again when no other is left: that costs nothing;
- an engine that asks to be left alone (``RateLimited``) is, whoever asks;
- whatever is not answered says why, engine by engine.

A rejected answer is not its engine's failure, nor is a question that waited too long for its turn. It knows
neither protocols nor what an answer means: ``accept`` judges."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Generic, TypeVar

from node.clock import Clock
from node.engines.deadline import within
from node.errors import NodeError, RateLimited, Rejected, TimedOut, Unavailable
from node.model import Check, Draft, Step
from node.ports import Generator, Prompt
from node.synthesise.sentences import one_line

T = TypeVar("T")

FALLBACK_RESERVE_S = 1.0
"""Kept back from every engine, so that the answer without one still comes in time."""
NEXT_RESERVE_S = 10.0
"""Kept back for each engine behind that is up; an equal share where there is less."""
GENERATION_MIN_S = 0.5
"""With less than this a generation is not begun."""
GRACE_S = 0.25
"""What an engine's driver may take to hand over what it has when its time is up."""
PAUSE_FIRST_S = 1.0
PAUSE_MAX_S = 5.0
QUICK_S = 0.5
"""A failure within this costs a question nothing worth speaking of."""
LEAVE_ALONE_MAX_S = 300.0
"""An engine may not silence itself for longer: a wrong Retry-After must heal by itself."""
RECENT_GENERATIONS = 4
REASON_CHARS_MAX = 200


class NotAsked(Unavailable):
    """The engine failed a moment ago and was not asked. ``cause`` is what it failed with."""

    def __init__(self, message: str, *, cause: str) -> None:
        super().__init__(message)
        self.cause = cause


class NoGenerator:
    """Stands for an engine that the settings ask for and that cannot be had here. ``reason`` is a clause that
    ends with what to type."""

    def __init__(self, name: str, reason: str) -> None:
        self._name = name
        self.reason = reason

    @property
    def name(self) -> str:
        return self._name

    async def generate(self, prompt: Prompt, *, timeout_s: float) -> Draft:
        """Always ``Unavailable``."""
        raise Unavailable(self.reason)

    async def probe(self) -> Check:
        return Check(self._name, "warn", f"no text is generated: {self.reason}")

    async def close(self) -> None:
        return None


def answers(check: Check) -> bool:
    """Whether an engine that says this of itself generates text: all is well, or it answered (its time was
    measured) and there is something to mend."""
    return check.status == "pass" or check.observed is not None


@dataclass(frozen=True, slots=True)
class Failing:
    """Why an engine is not up. Times are monotonic seconds but ``since``. ``quick``: its last failure cost
    nothing. ``gone``: a probe has found it dead since."""

    since: datetime
    reason: str
    at: float
    next_try: float
    times: int
    quick: bool
    gone: bool = False


class Engine:
    """A generator and its standing. A ``Generator`` itself, so that health asks the same thing as answers."""

    def __init__(self, generator: Generator, clock: Clock, *, queue_max: int) -> None:
        self._generator = generator
        self._clock = clock
        self._places = 1 + queue_max
        self._turn = asyncio.Lock()
        self._present = 0
        self._trying = False
        self._took: deque[float] = deque(maxlen=RECENT_GENERATIONS)
        self._failing: Failing | None = None

    @property
    def name(self) -> str:
        return self._generator.name

    @property
    def missing(self) -> str | None:
        """Why there is nothing to ask at all."""
        return self._generator.reason if isinstance(self._generator, NoGenerator) else None

    @property
    def failing(self) -> Failing | None:
        """None while it is up."""
        return self._failing

    @property
    def is_up(self) -> bool:
        """Whether a question may count on it: it did not fail last, and has a place free."""
        return self.missing is None and self._failing is None and self._present < self._places

    async def generate(self, prompt: Prompt, *, timeout_s: float) -> Draft:
        """See the port."""
        return await self.ask(prompt, timeout_s=timeout_s, elsewhere=False)

    async def ask(self, prompt: Prompt, *, timeout_s: float, elsewhere: bool) -> Draft:
        """One completion within ``timeout_s``, the wait for the turn included. ``elsewhere``: another engine
        can answer instead. Raises ``NotAsked``, and what the port allows."""
        self._refuse_if_failing(elsewhere, trial=False)
        self._refuse_if_busy(timeout_s)
        trial = self._failing is not None and not self._trying
        self._trying = self._trying or trial
        self._present += 1
        until = self._clock.monotonic() + timeout_s

        async def in_turn() -> Draft:
            async with self._turn:
                # Whoever was before this question may have found the engine dead.
                self._refuse_if_failing(elsewhere, trial=trial)
                left = until - self._clock.monotonic()
                if left < min(max(GENERATION_MIN_S, self._fastest_s), timeout_s):
                    raise TimedOut(f"{self.name} is busy, and the turn did not come in time")
                return await self._speak(prompt, left, counts=left >= timeout_s / 2)

        try:
            return await within(
                self._clock,
                timeout_s + GRACE_S,
                in_turn(),
                f"{self.name} is busy, and the turn did not come in time",
            )
        finally:
            self._present -= 1
            if trial:
                self._trying = False

    async def _speak(self, prompt: Prompt, timeout_s: float, *, counts: bool) -> Draft:
        """The generation itself, and what it says about the engine. ``counts``: there is so much time that
        running out of it says something too."""
        began = self._clock.monotonic()
        work = self._generator.generate(prompt, timeout_s=timeout_s)
        try:
            draft = await within(
                self._clock, timeout_s + GRACE_S, work, f"{self.name} did not answer in time"
            )
        except RateLimited as exc:
            self._failed(exc, began, pause_s=min(max(exc.retry_after_s, PAUSE_FIRST_S), LEAVE_ALONE_MAX_S))
            raise
        except Unavailable as exc:
            if counts or not isinstance(exc, TimedOut):
                self._failed(exc, began)
            raise
        self._failing = None
        self._took.append(self._clock.monotonic() - began)
        return draft

    @property
    def _fastest_s(self) -> float:
        """Of the last generations; 0 until there are two, for the first one loads the model."""
        return min(self._took) if len(self._took) > 1 else 0.0

    def _failed(self, error: NodeError, began: float, *, pause_s: float | None = None) -> None:
        now = self._clock.monotonic()
        before = self._failing
        times = 1 if before is None else before.times + 1
        self._failing = Failing(
            since=self._clock.now() if before is None else before.since,
            reason=one_line(str(error), REASON_CHARS_MAX),
            at=now,
            next_try=now + (pause_s or min(PAUSE_MAX_S, PAUSE_FIRST_S * 2.0 ** min(times - 1, 8))),
            times=times,
            quick=pause_s is None and not isinstance(error, TimedOut) and now - began <= QUICK_S,
        )

    def _refuse_if_failing(self, elsewhere: bool, *, trial: bool) -> None:
        failing = self._failing
        if failing is None or trial or (failing.quick and not elsewhere):
            return
        now = self._clock.monotonic()
        said = f"failed {now - failing.at:.0f} s ago: {failing.reason}"
        if now < failing.next_try:
            raise NotAsked(said, cause=failing.reason)
        if self._trying:
            raise NotAsked(f"{said} (another question is trying it)", cause=failing.reason)

    def _refuse_if_busy(self, timeout_s: float) -> None:
        """By the fastest of the last generations, so that only the hopeless do not wait."""
        if self._present >= self._places:
            raise Unavailable(f"{self.name} is busy and {self._places - 1} questions wait already")
        wait_s = self._present * self._fastest_s
        if wait_s + self._fastest_s > timeout_s and wait_s > 0:
            raise Unavailable(f"{self.name} is busy, and the turn would not come for {wait_s:.0f} s")

    async def probe(self) -> Check:
        """What the engine says of itself, and a failure of the last few seconds that it does not know of. An
        engine that was found dead and is found alive is up again."""
        check = await self._generator.probe()
        failing = self._failing
        if failing is None:
            return check
        if not answers(check):
            self._failing = replace(failing, gone=True)
            return replace(check, since=failing.since)
        if failing.gone:
            self._failing = None
            return check
        now = self._clock.monotonic()
        if now >= max(failing.next_try, failing.at + PAUSE_MAX_S):
            return check
        said = f"no text is generated: it failed {now - failing.at:.0f} s ago: {failing.reason}"
        return replace(check, status="warn", output=said, since=failing.since, observed=None, unit=None)

    async def close(self) -> None:
        await self._generator.close()


@dataclass(frozen=True, slots=True)
class Result(Generic[T]):
    """What asking came to. ``value`` is None when no engine could answer; ``steps`` are those that failed,
    ``failures`` their reasons for a person, ``ms`` what the answer took."""

    value: T | None
    steps: tuple[Step, ...]
    failures: tuple[str, ...]
    ms: float = 0.0


class Chain:
    """Engines in order of preference. Safe to use by many requests at once."""

    def __init__(
        self,
        generators: Sequence[Generator],
        clock: Clock,
        *,
        queue_max: int,
        timeout_s: float | None = None,
    ) -> None:
        """``queue_max`` questions wait for each engine; ``timeout_s`` bounds each engine by itself."""
        self._clock = clock
        self._timeout_s = timeout_s
        self.engines = tuple(Engine(one, clock, queue_max=queue_max) for one in generators)

    async def first(self, prompt: Prompt, accept: Callable[[Draft], T], *, deadline: float) -> Result[T]:
        """What ``accept`` makes of the first usable draft, before ``deadline`` (monotonic seconds) less
        ``FALLBACK_RESERVE_S``. ``accept`` raises ``Rejected`` for a draft of no use. Raises nothing but
        ``CancelledError``."""
        steps: list[Step] = []
        failures: list[str] = []
        for place, engine in enumerate(self.engines):
            began = self._clock.monotonic()
            try:
                value = accept(await self._ask(engine, self.engines[place + 1 :], prompt, deadline))
            except NodeError as exc:
                steps.append(Step("generate", _code(exc), _said(engine, exc), self._since(began)))
                failures.append(exc.cause if isinstance(exc, NotAsked) else str(exc))
                continue
            return Result(value, tuple(steps), tuple(failures), self._since(began))
        return Result(None, tuple(steps), tuple(failures))

    async def _ask(self, engine: Engine, behind: Sequence[Engine], prompt: Prompt, deadline: float) -> Draft:
        if engine.missing is not None:
            raise Unavailable(engine.missing)
        up = sum(one.is_up for one in behind)
        timeout_s = self._share(deadline - self._clock.monotonic() - FALLBACK_RESERVE_S, up)
        if timeout_s < GENERATION_MIN_S:
            raise NotAsked("no time left before the deadline", cause="no time was left for a language model")
        return await engine.ask(prompt, timeout_s=timeout_s, elsewhere=up > 0)

    def _share(self, left_s: float, behind: int) -> float:
        """Seconds for one engine with ``behind`` others waiting for what it leaves."""
        share = left_s - behind * min(NEXT_RESERVE_S, left_s / (behind + 1))
        if share < GENERATION_MIN_S:
            share = left_s
        return share if self._timeout_s is None else min(share, self._timeout_s)

    def _since(self, began: float) -> float:
        return round((self._clock.monotonic() - began) * 1_000, 3)


def _said(engine: Engine, error: NodeError) -> str:
    return one_line(f"{engine.name}: {error}", REASON_CHARS_MAX)


_CODES = (
    (NotAsked, "skipped"),
    (TimedOut, "timeout"),
    (RateLimited, "rate_limited"),
    (Unavailable, "unavailable"),
    (Rejected, "rejected"),
)


def _code(error: NodeError) -> str:
    return next((code for kind, code in _CODES if isinstance(error, kind)), "failed")
