"""An embedder whose model runs in another program: what is owed whatever protocol leads there.

Promises:
- the contract of ``node.core.ports.Embedder``; ordering, sharing and bounds are those of ``micro_batch``;
- at the start the engine's health comes first, then one vector, with retries and backoff
  (``node.core.guard``);
- an engine that fails is known to have failed: a question then costs ``BACK_WAIT_S`` at most, and one check,
  in the background and at most every ``PAUSE_S``, finds out whether it is back;
- vectors of two models never mix: after each failure, and where the engine can tell at any time, the model
  behind the name must be the one that was loaded, by its digest and by the vector of a fixed sentence.

It must not know a protocol, what is embedded, or why."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from node.core.clock import Clock
from node.core.errors import Misconfigured, RateLimited, Rejected, Unavailable
from node.core.guard import Guard
from node.core.limits import Limits, Window
from node.core.model import Check
from node.core.ports import EmbedderInfo, Vector
from node.core.settings import Embed
from node.models.deadline import within
from node.models.embedders.micro_batch import BatchedEmbedder, MicroBatcher
from node.models.embedders.vectors import of_some, usable
from node.models.names import EXCHANGED, SAME_COSINE_MIN

_T = TypeVar("_T")

PAUSE_S = 1.0
"""How long an engine that is away is left alone between two checks."""
BACK_WAIT_S = 0.3
"""How long a question waits for such a check."""
BATCH_TEXTS = 16
"""A request costs more than a short text does."""
TEXT_BYTES_MAX = 64 * 2**10
DIM_MAX = 65_536
_PROBE = "A sentence that tells one embedding model from another."


class TooLong(Rejected):
    """A text is longer than the window: the engine said so."""


class Doubtful(Rejected):
    """Something about an answer (it is no vector, or of another size) suggests that another model answers:
    its vectors must show."""


@dataclass(frozen=True, slots=True)
class Described:
    """``model`` without its digest; ``digest``: hex SHA-256 of what decides the vectors; ``tokens_max``: the
    window."""

    model: str
    digest: str
    tokens_max: int


class Engine(Protocol):
    """One protocol. Methods raise ``Unavailable`` and its kin (worth another try), ``Rejected`` (not worth
    it), ``Misconfigured``; they end soon when cancelled."""

    @property
    def spoken(self) -> str:
        """What messages call it."""
        ...

    @property
    def recheck_s(self) -> float:
        """How long ``describe`` is believed while all goes well."""
        ...

    async def describe(self) -> Described:
        """Whether it lives, and which model it has (``Rejected`` when it lacks it). Bounded in time by
        itself."""
        ...

    async def vectors(self, texts: list[str]) -> list[NDArray[np.float32] | None]:
        """One raw vector per text; None for one that cannot be sent whole. Raises ``TooLong`` when the engine
        refuses one of them for its length."""
        ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class _Down:
    """Why the engine is not used, and when (monotonic) it may be asked again."""

    reason: str
    not_before: float


class OutsideEmbedder(BatchedEmbedder):
    """``node.core.ports.Embedder`` over an ``Engine``. None for a text longer than the window, and for one
    that holds nothing to embed."""

    def __init__(
        self, engine: Engine, described: Described, dim: int, guard: Guard, settings: Embed, clock: Clock
    ) -> None:
        """Use ``start``."""
        self._engine = engine
        self._described = described
        self._guard = guard
        self._timeout_s = settings.timeout_s
        self._clock = clock
        digest = described.digest
        super().__init__(
            EmbedderInfo(
                f"{described.model}@{digest[:12]}", digest, dim=dim, tokens_max=described.tokens_max
            ),
            MicroBatcher(self._ask, replace(settings, batch_max=max(BATCH_TEXTS, settings.batch_max)), clock),
        )
        self._described_at = clock.monotonic()
        self._down: _Down | None = None
        self._returning: asyncio.Task[None] | None = None
        self._is_closed = False

    @classmethod
    async def start(cls, engine: Engine, settings: Embed, clock: Clock) -> Self:
        """Ask the engine how it is, then for one vector; each with ``settings.attempts``. Closes ``engine``
        when that fails. Raises ``Unavailable``, ``Misconfigured``."""
        guard = Guard(
            engine.spoken,
            clock,
            Limits(
                windows=(Window(settings.per_minute, 60.0),) if settings.per_minute else (),
                concurrency=2,
                attempts=settings.attempts,
                # Whether a failing engine is asked at all is decided here, with what it takes to come back.
                breaker_failures=sys.maxsize,
                breaker_open_s=PAUSE_S,
            ),
        )
        whole_s = (settings.timeout_s + 1.0) * settings.attempts * 2
        try:
            described = await _call(guard, clock, engine.describe, settings.timeout_s, whole_s)
            rows = await _call(guard, clock, lambda: engine.vectors([_PROBE]), settings.timeout_s, whole_s)
            dim = rows[0].size if len(rows) == 1 and rows[0] is not None else 0
            if not 0 < dim <= DIM_MAX:
                raise Unavailable(f"degenerate embedder: {engine.spoken} gave no usable vector")
            embedder = cls(engine, described, dim, guard, settings, clock)
            [embedder.sample] = embedder._checked(rows, 1)
        except BaseException as exc:  # whatever ends the start, its connections end too
            await engine.close()
            if isinstance(exc, Rejected):
                raise Unavailable(str(exc)) from exc
            raise
        return embedder

    async def embed(self, texts: Sequence[str]) -> list[Vector | None]:
        if texts and not self._is_closed and self._down is not None:
            await self._back(self._down)
        return await super().embed(texts)

    # --- one batch --------------------------------------------------------------------------------

    async def _ask(self, texts: list[str]) -> list[Vector | None]:
        if self._is_closed:
            raise Unavailable("the embedder is closed")
        if self._down is not None:  # it failed while these waited
            raise Unavailable(self._down.reason)
        try:
            return await of_some(texts, _is_sendable, self._recognised)
        except (Unavailable, Misconfigured, Doubtful) as exc:
            # The next question has it checked at once; it may have been this request only.
            self._down = _Down(str(exc), self._not_before(exc, pause_s=0.0))
            raise

    async def _recognised(self, texts: list[str]) -> list[Vector | None]:
        if self._clock.monotonic() - self._described_at >= self._engine.recheck_s:
            await self._recognise()
        return await self._vectors(texts)

    async def _vectors(self, texts: list[str]) -> list[Vector | None]:
        try:
            rows = await _call(
                self._guard,
                self._clock,
                lambda: self._engine.vectors(texts),
                self._timeout_s,
                self._timeout_s,
            )
        except TooLong:
            if len(texts) == 1:
                return [None]
            return [vector for text in texts for vector in await self._vectors([text])]
        return self._checked(rows, len(texts))

    def _checked(self, rows: list[NDArray[np.float32] | None], count: int) -> list[Vector | None]:
        """Unit vectors that may be used. Raises ``Rejected``."""
        if len(rows) != count:
            raise Doubtful(f"degenerate embedder: {len(rows)} vectors for {count} texts")
        vectors: list[Vector | None] = []
        for row in rows:
            if row is None:
                vectors.append(None)
                continue
            if row.shape != (self.info.dim,):
                raise Doubtful(
                    f"degenerate embedder: a vector of shape {row.shape} instead of ({self.info.dim},)"
                )
            vectors.append(usable(row, self.info.dim, Doubtful))
        return vectors

    # --- away and back ----------------------------------------------------------------------------

    async def _back(self, down: _Down) -> None:
        """Return when the engine is back. Raises ``Unavailable`` when it is not, soon."""
        if self._returning is None:
            if self._clock.monotonic() < down.not_before:
                raise Unavailable(down.reason)
            self._returning = asyncio.create_task(self._return())
            self._returning.add_done_callback(self._returned)
        timer = asyncio.create_task(self._clock.sleep(BACK_WAIT_S))
        try:
            await asyncio.wait({self._returning, timer}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            timer.cancel()
        if self._down is not None:
            raise Unavailable(self._down.reason)

    async def _return(self) -> None:
        """Check everything that the start checked, and that the model is the same."""
        try:
            await self._recognise()
            rows = await within(
                self._clock,
                self._timeout_s,
                self._engine.vectors([_PROBE]),
                f"{self._engine.spoken} did not answer in time",
            )
            [vector] = self._checked(rows, 1)
            if vector is None or self.sample is None or float(vector @ self.sample) < SAME_COSINE_MIN:
                raise Unavailable(f"{self._named} {EXCHANGED}")
        except (Unavailable, Rejected, Misconfigured) as exc:
            self._down = _Down(str(exc), self._not_before(exc, pause_s=PAUSE_S))
        else:
            self._down = None

    def _returned(self, task: asyncio.Task[None]) -> None:
        self._returning = None
        if not task.cancelled():
            task.result()

    def _not_before(self, exc: Exception, *, pause_s: float) -> float:
        wait_s = exc.retry_after_s if isinstance(exc, RateLimited) else 0.0
        return self._clock.monotonic() + max(pause_s, wait_s)

    async def _recognise(self) -> None:
        """Raises ``Unavailable`` when the engine is not well, or has another model now."""
        try:
            described = await self._engine.describe()
        except Rejected as exc:
            raise Unavailable(str(exc)) from exc
        if described.digest != self._described.digest:
            raise self._changed(f"digest {described.digest[:12]} instead of {self._described.digest[:12]}")
        self._described_at = self._clock.monotonic()

    def _changed(self, how: str) -> Unavailable:
        return Unavailable(
            f"{self._named} is another one now ({how}): start the node anew, which embeds again"
        )

    @property
    def _named(self) -> str:
        return f"the embedding model {self._described.model} of {self._engine.spoken}"

    # --- the rest of the port ---------------------------------------------------------------------

    def health(self) -> Check:
        if self._down is not None and not self._is_closed:
            return Check("embedder", "warn", f"the last embedding failed: {self._down.reason}")
        return super().health()

    async def close(self) -> None:
        """Give up what is asked and end the connections. Idempotent."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._returning is not None:
            self._returning.cancel()
            await asyncio.gather(self._returning, return_exceptions=True)
        await self.batcher.close(grace_s=0)
        await self._engine.close()


async def _call(
    guard: Guard, clock: Clock, work: Callable[[], Awaitable[_T]], attempt_s: float, whole_s: float
) -> _T:
    """``work`` with the guard's attempts, ``attempt_s`` each, within ``whole_s``."""

    async def attempt(_: float) -> _T:
        return await work()

    deadline = clock.monotonic() + whole_s
    return (
        await guard.call(attempt, key=None, ttl_s=0, deadline=deadline, attempt_timeout_s=attempt_s)
    ).value


def rows_of(found: Sequence[Any]) -> list[NDArray[np.float32] | None]:
    """What an engine sent as vectors, as arrays. Raises ``Rejected`` for what is none."""
    rows: list[NDArray[np.float32] | None] = []
    for numbers in found:
        if not isinstance(numbers, list) or not set(map(type, numbers)) <= {int, float}:
            raise Doubtful("degenerate embedder: something else than a list of numbers")
        try:
            with np.errstate(over="ignore"):
                rows.append(np.asarray(numbers, dtype=np.float64).astype(np.float32))
        except OverflowError as exc:
            raise Doubtful("degenerate embedder: a number beyond every bound") from exc
    return rows


def _is_sendable(text: str) -> bool:
    """Whether a text can have a faithful vector: half a surrogate pair is not text, an engine written in C
    ends at a NUL, and nothing has no meaning."""
    if not text.strip() or "\0" in text or len(text) > TEXT_BYTES_MAX:
        return False
    try:
        return len(text.encode()) <= TEXT_BYTES_MAX
    except UnicodeEncodeError:
        return False
