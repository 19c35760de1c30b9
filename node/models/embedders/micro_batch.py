"""Between many callers and one engine that embeds: gathers, orders, shares, bounds.

Promises:
- one batch at a time; an idle engine starts at once, whatever comes meanwhile
  is gathered into the next batch of at most ``batch_max`` texts of similar length;
- calls of one or two texts (somebody waits) go before bulk calls, but after four such batches in a
  row a waiting bulk batch has its turn; within a lane the oldest text is always in the next batch;
- each lane holds at most ``queue_max`` texts, beyond that ``Unavailable`` at once; a bulk call
  keeps only a part of itself in the queue, so its own length never fills it;
- a text that is queued, running or recently done is not embedded again; each caller waits on
  its own future, so cancelling one never disturbs another; a text that nobody waits for is dropped;
- an exception of one batch reaches the callers of that batch only.

All state lives on the event loop. It must not know what a model is, nor whether it runs in a thread, a child
process or elsewhere.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice

from node.core.clock import Clock
from node.core.errors import Unavailable
from node.core.model import Check
from node.core.ports import EmbedderInfo, Vector
from node.core.settings import Embed

INTERACTIVE_TEXTS_MAX = 2
INTERACTIVE_BATCHES_IN_A_ROW_MAX = 4
REMEMBERED_MAX = 1_024
DURATIONS_MAX = 1_024

BATCH_CHARS_MAX = 1_024
"""Texts x longest text of one batch. Batching pays while a batch is short (4 texts of 9 tokens cost twice
one); from about 64 tokens on the time grows with the tokens, and a batch of four full windows would keep
the next question waiting for half a second instead of an eighth."""

_BULK_CHUNK = 64
_SIMILAR_WINDOW = 32
CLOSE_GRACE_S = 5.0
"""How long a stop waits for the batch that runs."""


@dataclass(slots=True, eq=False)
class _Job:
    """One text and everybody who waits for its vector."""

    text: str
    waiters: set[asyncio.Future[Vector | None]] = field(default_factory=set)

    @property
    def is_wanted(self) -> bool:
        return any(not waiter.done() for waiter in self.waiters)


class BatchedEmbedder:
    """What each ``node.core.ports.Embedder`` over a ``MicroBatcher`` has."""

    def __init__(self, info: EmbedderInfo, batcher: MicroBatcher) -> None:
        self.info = info
        self.sample: Vector | None = None
        self.batcher = batcher

    @property
    def embedded_total(self) -> int:
        """Vectors computed since start; a remembered text does not count."""
        return self.batcher.embedded_total

    async def embed(self, texts: Sequence[str]) -> list[Vector | None]:
        return await self.batcher.embed(texts)

    def health(self) -> Check:
        return self.batcher.health(self.info.model)


class MicroBatcher:
    """Feeds ``run`` (texts to vectors; never twice at once)."""

    def __init__(
        self,
        run: Callable[[list[str]], Awaitable[list[Vector | None]]],
        settings: Embed,
        clock: Clock,
        *,
        remembered_max: int = REMEMBERED_MAX,
    ) -> None:
        self._run = run
        self._clock = clock
        self._batch_max = settings.batch_max
        self._queue_max = settings.queue_max
        self._remembered_max = remembered_max
        self._remembered: OrderedDict[str, Vector | None] = OrderedDict()
        self._interactive: dict[str, _Job] = {}
        self._bulk: dict[str, _Job] = {}
        self._running: dict[str, _Job] = {}
        self._in_flight: asyncio.Task[list[Vector | None]] | None = None
        self._is_dispatch_due = False
        self._interactive_in_a_row = 0
        self.is_closed = False
        self.embedded_total = 0
        """Vectors computed; remembered and shared ones do not count."""
        self.batches_total = 0
        self.failure: str | None = None
        """What the last batch died of; None when it went well."""
        self.durations_s: deque[float] = deque(maxlen=DURATIONS_MAX)
        """Seconds of the last batches, without waiting."""

    @property
    def queued(self) -> int:
        """Texts that wait for a batch."""
        return len(self._interactive) + len(self._bulk)

    async def embed(self, texts: Sequence[str]) -> list[Vector | None]:
        """One result per text, in order. Raises ``Unavailable``: full, closed, or the batch failed."""
        is_bulk = len(texts) > INTERACTIVE_TEXTS_MAX
        chunk = min(_BULK_CHUNK if is_bulk else INTERACTIVE_TEXTS_MAX, self._queue_max)
        results: list[Vector | None] = []
        for start in range(0, len(texts), chunk):
            results += await self._embed_chunk(texts[start : start + chunk], is_bulk=is_bulk)
        return results

    async def _embed_chunk(self, texts: Sequence[str], *, is_bulk: bool) -> list[Vector | None]:
        if self.is_closed:
            raise Unavailable("the embedder is closed")
        results: dict[str, Vector | None] = {}
        unknown: list[str] = []
        for text in dict.fromkeys(texts):
            if text in self._remembered:
                self._remembered.move_to_end(text)
                results[text] = self._remembered[text]
            else:
                unknown.append(text)
        waiting = self._enqueue(unknown, is_bulk=is_bulk)
        try:
            for text, waiter in waiting.items():
                results[text] = await waiter
        finally:
            self._leave(waiting)
        return [results[text] for text in texts]

    def _enqueue(self, texts: Sequence[str], *, is_bulk: bool) -> dict[str, asyncio.Future[Vector | None]]:
        lane = self._bulk if is_bulk else self._interactive
        new = 0
        for text in texts:
            is_shared = text in self._running or text in self._interactive or (is_bulk and text in self._bulk)
            new += not is_shared
        if len(lane) + new > self._queue_max:
            raise Unavailable(f"the embedding queue is full ({self._queue_max} texts)")
        loop = asyncio.get_running_loop()
        waiting: dict[str, asyncio.Future[Vector | None]] = {}
        for text in texts:
            job = self._running.get(text) or self._interactive.get(text) or self._bulk.get(text)
            if job is None:
                job = lane[text] = _Job(text)
            elif not is_bulk and text in self._bulk:
                lane[text] = self._bulk.pop(text)  # somebody waits for it now
            waiter: asyncio.Future[Vector | None] = loop.create_future()
            job.waiters.add(waiter)
            waiting[text] = waiter
        if waiting and not self._is_dispatch_due:
            # At the end of this turn of the loop: callers of the same turn share a batch, and none waits.
            self._is_dispatch_due = True
            loop.call_soon(self._dispatch)
        return waiting

    def _leave(self, waiting: dict[str, asyncio.Future[Vector | None]]) -> None:
        """The caller is gone, content or not: forget its futures and the texts only it wanted."""
        for text, waiter in waiting.items():
            if not waiter.cancel() and not waiter.cancelled():
                waiter.exception()  # mark as seen: one failed batch fails all texts of a call
            for lane in (self._interactive, self._bulk):
                job = lane.get(text)
                if job is not None and waiter in job.waiters:
                    job.waiters.discard(waiter)
                    if not job.is_wanted:
                        del lane[text]

    def _dispatch(self) -> None:
        self._is_dispatch_due = False
        if self._in_flight is not None or self.is_closed:
            return
        batch = self._next_batch()
        if not batch:
            return
        self._running = {job.text: job for job in batch}
        self._in_flight = asyncio.create_task(self._timed([job.text for job in batch]))
        self._in_flight.add_done_callback(self._finish)

    def _next_batch(self) -> list[_Job]:
        for lane in (self._interactive, self._bulk):
            for text in [text for text, job in lane.items() if not job.is_wanted]:
                del lane[text]
        lane = self._next_lane()
        if not lane:
            return []
        head, *others = islice(lane.values(), _SIMILAR_WINDOW)
        batch = [head]
        longest = len(head.text)
        for job in sorted(others, key=lambda other: abs(len(other.text) - len(head.text))):
            if len(batch) >= self._batch_max:
                break
            if max(longest, len(job.text)) * (len(batch) + 1) <= BATCH_CHARS_MAX:
                batch.append(job)
                longest = max(longest, len(job.text))
        for job in batch:
            del lane[job.text]
        return batch

    def _next_lane(self) -> dict[str, _Job]:
        is_bulk_due = self._interactive_in_a_row >= INTERACTIVE_BATCHES_IN_A_ROW_MAX
        if self._interactive and not (self._bulk and is_bulk_due):
            self._interactive_in_a_row = self._interactive_in_a_row + 1 if self._bulk else 0
            return self._interactive
        self._interactive_in_a_row = 0
        return self._bulk

    async def _timed(self, texts: list[str]) -> list[Vector | None]:
        start = self._clock.monotonic()
        try:
            vectors = await self._run(texts)
        finally:
            self.durations_s.append(self._clock.monotonic() - start)
        if len(vectors) != len(texts):
            raise Unavailable(f"the engine gave {len(vectors)} vectors for {len(texts)} texts")
        return vectors

    def _finish(self, done: asyncio.Task[list[Vector | None]]) -> None:
        jobs = list(self._running.values())
        self._running = {}
        self._in_flight = None
        self.batches_total += 1
        failure = Unavailable("the embedder is closed") if done.cancelled() else done.exception()
        if failure is None:
            self.failure = None
            for job, vector in zip(jobs, done.result(), strict=True):
                self.embedded_total += vector is not None
                self._remember(job.text, vector)
                for waiter in job.waiters:
                    if not waiter.done():
                        waiter.set_result(vector)
        else:
            self.failure = str(failure) or type(failure).__name__
            for job in jobs:
                for waiter in job.waiters:
                    if not waiter.done():
                        # One exception object per caller: tracebacks are not shared between tasks.
                        mine = Unavailable(f"embedding failed: {self.failure}")
                        mine.__cause__ = failure
                        waiter.set_exception(mine)
        self._dispatch()

    def _remember(self, text: str, vector: Vector | None) -> None:
        if self._remembered_max <= 0:
            return
        self._remembered[text] = vector
        self._remembered.move_to_end(text)
        while len(self._remembered) > self._remembered_max:
            self._remembered.popitem(last=False)

    def health(self, model: str) -> Check:
        """What is known of the engine without asking it; ``model`` is the id that serves."""
        if self.is_closed:
            return Check("embedder", "warn", "semantic look-up is off: the embedder is closed")
        if self.failure is not None:
            return Check("embedder", "warn", f"the last embedding failed: {self.failure}")
        durations = sorted(self.durations_s)
        median_ms = round(durations[len(durations) // 2] * 1000, 3) if durations else None
        return Check("embedder", "pass", model, observed=median_ms, unit="ms" if durations else None)

    async def close(self, *, grace_s: float = CLOSE_GRACE_S) -> bool:
        """Refuse what waits, let the running batch finish (its callers get their vectors) or give it up after
        ``grace_s``; whether it did finish. Idempotent."""
        self.is_closed = True
        for lane in (self._interactive, self._bulk):
            for job in lane.values():
                for waiter in job.waiters:
                    if not waiter.done():
                        waiter.set_exception(Unavailable("the embedder is closed"))
            lane.clear()
        running = self._in_flight
        if running is None:
            return True
        await asyncio.wait({running}, timeout=grace_s)
        if running.done():
            return not running.cancelled()
        running.cancel()
        await asyncio.wait({running})
        return False
