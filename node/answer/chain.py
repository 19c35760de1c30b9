"""The chain of language models: who is asked, for how long, and who is left alone after failing.

Promises, for every question:
- no engine eats the time of those behind it: each gets what is left less a reserve for every engine behind it
  that is up, and for the answer without a model;
- who waits for an engine does so in its queue (``queue``), in the order of the questions' deadlines, which is
  the order in which they came, however many generations each takes, until his own time for it is up; where
  the turn would come too late and another engine is free sooner, that one is asked first;
- an engine that breaks off in the middle is asked once more, within the same time;
- an engine that failed is left alone for 1, 2, 4, then 5 s while another can answer; then one question is its
  trial. One that failed in an instant is asked again when no other is left: that costs nothing. One that was
  too slow once may only have been busy: where no other is left, questions wait for its trial;
- an engine that asks to be left alone (``RateLimited``) is, whoever asks;
- whatever is not answered says why, engine by engine, and when to ask again where that would help.

A rejected answer is not its engine's failure, nor is a question that waited too long for its turn. It knows
neither protocols nor what an answer means: ``accept`` judges."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Generic, TypeVar

from node.core.clock import Clock
from node.core.errors import BrokeOff, NodeError, RateLimited, Rejected, TimedOut, Unavailable
from node.core.model import Check, Draft, Step
from node.core.ports import Generator, OnText, Prompt, Tell
from node.language.sentences import one_line
from node.models.deadline import within
from node.models.generators.queue import GENERATION_MIN_S, Busy, Place, Queue

T = TypeVar("T")

FALLBACK_RESERVE_S = 1.0
"""Kept back from every engine, so that the answer without one still comes in time."""
NEXT_RESERVE_S = 10.0
"""Kept back for each engine behind that is up; an equal share where there is less."""
GRACE_S = 0.25
"""What an engine's driver may take to hand over what it has when its time is up."""
PAUSE_FIRST_S = 1.0
PAUSE_MAX_S = 5.0
SOON_S = 5
"""The least that somebody is told to wait for an engine that was too slow."""
QUICK_S = 0.5
"""A failure within this costs a question nothing worth speaking of."""
LEAVE_ALONE_MAX_S = 300.0
"""An engine may not silence itself for longer: a wrong Retry-After must heal by itself."""
REASON_CHARS_MAX = 200


class NotAsked(Unavailable):
    """The engine failed a moment ago and was not asked. ``cause`` is what it failed with; ``retry_after_s``:
    when it is worth asking again, where it is there and was too slow."""

    def __init__(self, message: str, *, cause: str, retry_after_s: int | None = None) -> None:
        super().__init__(message)
        self.cause = cause
        self.retry_after_s = retry_after_s


class NoGenerator:
    """Stands for an engine that the settings ask for and that cannot be had here. ``reason`` is a clause that
    ends with what to type."""

    def __init__(self, name: str, reason: str) -> None:
        self._name = name
        self.reason = reason

    @property
    def name(self) -> str:
        return self._name

    @property
    def slots(self) -> int:
        return 1

    async def generate(self, prompt: Prompt, *, timeout_s: float, on_text: OnText | None = None) -> Draft:
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
    nothing; ``slow``: it did not answer in time. ``gone``: a probe has found it dead since."""

    since: datetime
    reason: str
    at: float
    next_try: float
    times: int
    quick: bool
    slow: bool
    gone: bool = False

    @property
    def was_slow_once(self) -> bool:
        return self.slow and self.times == 1 and not self.gone


class Engine:
    """A generator and its standing. A ``Generator`` itself, so that health asks the same thing as answers."""

    def __init__(self, generator: Generator, clock: Clock, *, queue_max: int) -> None:
        self._generator = generator
        self._clock = clock
        self.queue = Queue(clock, lambda: generator.slots, waiting_max=queue_max)
        self._trying = False
        self._failing: Failing | None = None

    @property
    def name(self) -> str:
        return self._generator.name

    @property
    def slots(self) -> int:
        return self._generator.slots

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
        return self.missing is None and self._failing is None and self.queue.has_room

    async def generate(self, prompt: Prompt, *, timeout_s: float, on_text: OnText | None = None) -> Draft:
        """See the port."""
        return await self.ask(prompt, timeout_s=timeout_s, elsewhere=False, on_text=on_text)

    async def ask(
        self,
        prompt: Prompt,
        *,
        timeout_s: float,
        elsewhere: bool,
        due: float | None = None,
        generation_s: float | None = None,
        tell: Tell | None = None,
        on_text: OnText | None = None,
        waited: Callable[[Place, float], None] | None = None,
    ) -> Draft:
        """One completion within ``timeout_s``, the wait for the turn included; the generation itself takes no
        longer than ``generation_s``. ``elsewhere``: another engine can answer instead. ``due``: the deadline
        of the question (monotonic seconds), its place among those who wait. ``waited`` is told of a wait when
        it is over, with the seconds. Raises ``NotAsked``, ``Busy``, and what the port allows."""
        until = self._clock.monotonic() + timeout_s
        if not elsewhere:
            await self._let_recover(timeout_s)
        self._refuse_if_failing(elsewhere, trial=False)
        trial = self._failing is not None and not self._trying
        self._trying = self._trying or trial
        try:
            with self._place(until, until if due is None else due) as place:
                if place.waits:
                    await self._wait(place, timeout_s, tell, waited)
                # Whoever was before this question may have found the engine dead.
                self._refuse_if_failing(elsewhere, trial=trial)
                left = until - self._clock.monotonic()
                most = timeout_s if generation_s is None else min(timeout_s, generation_s)
                counts = left >= most / 2
                return await self._speak(prompt, min(left, most), counts, tell=tell, on_text=on_text)
        finally:
            if trial:
                self._trying = False

    async def _let_recover(self, timeout_s: float) -> None:
        """Wait for the end of the pause of an engine that was too slow once."""
        failing = self._failing
        if failing is None or not failing.was_slow_once:
            return
        pause_s = failing.next_try - self._clock.monotonic()
        if 0 < pause_s <= timeout_s - GENERATION_MIN_S:
            await self._clock.sleep(pause_s)

    @contextmanager
    def _place(self, until: float, due: float) -> Iterator[Place]:
        with ExitStack() as stack:
            try:
                place = stack.enter_context(self.queue.place(until, due))
            except Busy as exc:
                raise Busy(f"{self.name} {exc}", retry_after_s=exc.retry_after_s) from exc
            yield place

    async def _wait(
        self,
        place: Place,
        timeout_s: float,
        tell: Tell | None,
        waited: Callable[[Place, float], None] | None,
    ) -> None:
        """Wait for the turn; the wait is told when it begins and when it is over. Raises ``Busy``."""
        began = self._clock.monotonic()
        if tell is not None:
            wait_s = None if place.wait_s is None else round(place.wait_s, 1)
            tell("wait", {"engine": self.name, "ahead": place.ahead, "wait_s": wait_s})
        try:
            await within(self._clock, timeout_s, place.turn, "the turn did not come in time")
        except TimedOut as exc:
            retry_after_s = self.queue.retry_after_s()
            raise Busy(f"{self.name} is busy, and {exc}", retry_after_s=retry_after_s) from exc
        finally:
            if waited is not None:
                waited(place, self._clock.monotonic() - began)

    async def _speak(
        self,
        prompt: Prompt,
        timeout_s: float,
        counts: bool,
        *,
        tell: Tell | None,
        on_text: OnText | None,
    ) -> Draft:
        """The generation itself, and what it says about the engine. ``counts``: there is so much time that
        running out of it says something too."""
        began = self._clock.monotonic()
        until = began + timeout_s
        try:
            try:
                draft = await self._once(prompt, timeout_s, on_text)
            except BrokeOff:
                left = until - self._clock.monotonic()
                if left < GENERATION_MIN_S:
                    raise
                if tell is not None:
                    tell("reset", {})
                draft = await self._once(prompt, left, on_text)
        except RateLimited as exc:
            self._failed(exc, began, pause_s=min(max(exc.retry_after_s, PAUSE_FIRST_S), LEAVE_ALONE_MAX_S))
            raise
        except Unavailable as exc:
            if counts or not isinstance(exc, TimedOut):
                self._failed(exc, began)
            raise
        self._failing = None
        self.queue.finished(self._clock.monotonic() - began)
        return draft

    async def _once(self, prompt: Prompt, timeout_s: float, on_text: OnText | None) -> Draft:
        work = self._generator.generate(prompt, timeout_s=timeout_s, on_text=on_text)
        return await within(self._clock, timeout_s + GRACE_S, work, f"{self.name} did not answer in time")

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
            slow=isinstance(error, TimedOut),
        )

    def _refuse_if_failing(self, elsewhere: bool, *, trial: bool) -> None:
        failing = self._failing
        if failing is None or trial or (failing.quick and not elsewhere):
            return
        now = self._clock.monotonic()
        said = f"failed {now - failing.at:.0f} s ago: {failing.reason}"
        if now >= failing.next_try and (not self._trying or (failing.was_slow_once and not elsewhere)):
            return
        if now >= failing.next_try:
            said += " (another question is trying it)"
        again = max(SOON_S, math.ceil(failing.next_try - now)) if failing.slow and not failing.gone else None
        raise NotAsked(said, cause=failing.reason, retry_after_s=again)

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
    ``failures`` their reasons for a person, ``ms`` what the answer took, ``retry_after_s`` when it is worth
    asking again, where engines were only busy."""

    value: T | None
    steps: tuple[Step, ...]
    failures: tuple[str, ...]
    ms: float = 0.0
    retry_after_s: int | None = None


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
        """``queue_max`` questions wait for each engine; ``timeout_s`` bounds each generation by itself."""
        self._clock = clock
        self._timeout_s = timeout_s
        self.engines = tuple(Engine(one, clock, queue_max=queue_max) for one in generators)

    async def first(
        self,
        prompt: Prompt,
        accept: Callable[[Draft], T],
        *,
        deadline: float,
        tell: Tell | None = None,
        on_text: OnText | None = None,
    ) -> Result[T]:
        """What ``accept`` makes of the first usable draft, before ``deadline`` (monotonic seconds) less
        ``FALLBACK_RESERVE_S``. ``accept`` raises ``Rejected`` for a draft of no use. ``on_text`` hears each
        engine while it speaks; ``tell`` hears of waits, and ``reset`` before another begins. Raises nothing
        but ``CancelledError``."""
        steps: list[Step] = []
        failures: list[str] = []
        busy: list[int] = []
        left = deque(self.engines)
        put_off: set[Engine] = set()
        while left:
            engine = left.popleft()
            if engine not in put_off and (said := self._too_late(engine, left, deadline)):
                put_off.add(engine)
                left.append(engine)
                steps.append(Step("queue", "put_off", said))
                continue
            began = self._clock.monotonic()
            try:
                value = accept(await self._ask(engine, left, prompt, deadline, steps, tell, on_text))
            except NodeError as exc:
                steps.append(Step("generate", _code(exc), _said(engine, exc), self._since(began)))
                failures.append(_reason(exc))
                if isinstance(exc, Busy | NotAsked) and exc.retry_after_s is not None:
                    busy.append(exc.retry_after_s)
                if tell is not None:
                    tell("reset", {})
                continue
            return Result(value, tuple(steps), tuple(failures), self._since(began))
        return Result(None, tuple(steps), tuple(failures), retry_after_s=min(busy, default=None))

    def _too_late(self, engine: Engine, others: Sequence[Engine], deadline: float) -> str:
        """Why to ask the others first: this one's turn would come too late, as far as the last generations
        tell, and one of the others is up and free sooner. Empty where it is to be asked."""
        wait_s = engine.queue.wait_s(due=deadline)
        if not wait_s or engine.missing is not None or engine.failing is not None:
            return ""
        if self._clock.monotonic() + wait_s + engine.queue.usual_s + FALLBACK_RESERVE_S < deadline:
            return ""
        if not any(one.is_up and (one.queue.wait_s(due=deadline) or 0.0) < wait_s for one in others):
            return ""
        return f"{engine.name}: its turn would come in {wait_s:.0f} s; another engine is free sooner"

    async def _ask(
        self,
        engine: Engine,
        behind: Sequence[Engine],
        prompt: Prompt,
        deadline: float,
        steps: list[Step],
        tell: Tell | None,
        on_text: OnText | None,
    ) -> Draft:
        if engine.missing is not None:
            raise Unavailable(engine.missing)
        up = sum(one.is_up for one in behind)
        timeout_s = self._share(deadline - self._clock.monotonic() - FALLBACK_RESERVE_S, up)
        if timeout_s < GENERATION_MIN_S:
            if not engine.queue.is_free:
                raise Busy("no time left before the deadline", retry_after_s=engine.queue.retry_after_s())
            raise NotAsked("no time left before the deadline", cause="no time was left for a language model")

        def waited(place: Place, seconds: float) -> None:
            said = one_line(f"{engine.name}: {place.words}", REASON_CHARS_MAX)
            steps.append(Step("queue", "waited", said, round(seconds * 1_000, 3)))

        return await engine.ask(
            prompt,
            timeout_s=timeout_s,
            elsewhere=up > 0,
            due=deadline,
            generation_s=self._timeout_s,
            tell=tell,
            on_text=on_text,
            waited=waited,
        )

    def _share(self, left_s: float, behind: int) -> float:
        """Seconds for one engine with ``behind`` others waiting for what it leaves."""
        share = left_s - behind * min(NEXT_RESERVE_S, left_s / (behind + 1))
        return share if share >= GENERATION_MIN_S else left_s

    def _since(self, began: float) -> float:
        return round((self._clock.monotonic() - began) * 1_000, 3)


def _said(engine: Engine, error: NodeError) -> str:
    return one_line(f"{engine.name}: {error}", REASON_CHARS_MAX)


def _reason(error: NodeError) -> str:
    """Why an engine gave nothing, in words for whoever asked."""
    if isinstance(error, NotAsked):
        return error.cause
    if isinstance(error, Busy):
        return f"too many questions are waiting; ask again in about {error.retry_after_s} s"
    return str(error)


_CODES = (
    (NotAsked, "skipped"),
    (Busy, "busy"),
    (TimedOut, "timeout"),
    (RateLimited, "rate_limited"),
    (Unavailable, "unavailable"),
    (Rejected, "rejected"),
)


def _code(error: NodeError) -> str:
    if isinstance(error, NotAsked) and error.retry_after_s is not None:
        return "busy"
    return next((code for kind, code in _CODES if isinstance(error, kind)), "failed")
