"""Embeds stored questions anew, in small batches that let questions go first."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

from node.cache.index.engine import Engine
from node.core.clock import Clock
from node.core.errors import Unavailable
from node.core.ports import Vector

log = logging.getLogger("neuroswarm.semantics")

BACKOFF_FIRST_S = 0.5
BACKOFF_MAX_S = 30.0
BATCH = 16
PAGE = 64
"""Records whose questions are in memory at once while they are embedded anew."""
QUIET_WAIT_S = 1.0
"""How long a batch of old questions waits at most for a moment without new ones."""
SAVE_SHARE = 8
"""A growing file is saved when it has grown by this part, so that saving stays cheap beside embedding."""
TRIES_PER_TEXT = 3


def backoff_s(clock: Clock, failures: int) -> float:
    """How long to wait after so many failures in a row."""
    whole = min(BACKOFF_MAX_S, BACKOFF_FIRST_S * 2.0 ** min(failures - 1, 10))
    return whole * (0.5 + clock.random() / 2)


class Filler:
    """``asked``: the engines that questions wait for. ``left_out``: questions on which an engine failed."""

    def __init__(self, clock: Clock, save_every: int, asked: Callable[[], Sequence[Engine]]) -> None:
        self._clock = clock
        self._save_every = save_every
        self._asked = asked
        self.left_out = 0

    async def fill(self, engine: Engine) -> None:
        """Give the engine's index what it lacks, up to the end of the store. Raises ``NodeError``; what was
        done stays done."""
        keeper, unsaved = engine.keeper, 0
        while True:
            await keeper.follow()
            lacking = await keeper.lacking(PAGE)
            if lacking is None:
                break
            texts, vectors = lacking.texts, []
            for start in range(0, len(texts), BATCH):
                await self._let_questions_go_first()
                began = self._clock.monotonic()
                vectors += await self._embed_anew(engine, texts[start : start + BATCH])
                # As much rest as work: half of a core, or of an engine, is left to whoever asks.
                await self._clock.sleep(self._clock.monotonic() - began)
            await keeper.settle(lacking, vectors)
            unsaved += len(texts)
            if unsaved >= max(self._save_every, len(keeper.index) // SAVE_SHARE):
                await keeper.save()
                unsaved = 0
        if unsaved:
            await keeper.save()

    async def _let_questions_go_first(self) -> None:
        for engine in self._asked():
            if engine.asking:
                try:
                    async with asyncio.timeout(QUIET_WAIT_S):
                        await engine.idle.wait()
                except TimeoutError:
                    return  # a constant stream of questions does not stop it for ever

    async def _embed_anew(self, engine: Engine, texts: Sequence[str]) -> list[Vector | None]:
        """Vectors of stored questions. One on which the engine fails again and again, while it answers
        others, is left out rather than holding up the rest. Raises ``Unavailable`` while it answers none."""
        try:
            return await engine.embed(texts)
        except Unavailable:
            await engine.greet()
        return [await self._embed_one(engine, text) for text in texts]

    async def _embed_one(self, engine: Engine, text: str) -> Vector | None:
        for tries in range(1, TRIES_PER_TEXT + 1):
            try:
                [vector] = await engine.embed([text])
            except Unavailable as exc:
                await engine.greet()
                log.info("a stored question could not be embedded: %s", exc)
                await self._clock.sleep(backoff_s(self._clock, tries))
            else:
                return vector
        self.left_out += 1
        return None
