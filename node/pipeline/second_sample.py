"""Second samples behind replies (``behind``): a model is asked once more where only agreement is missing for
an answer to be stored. Only while nobody waits for an answer: when somebody comes the sample is given up and
tried again later, ``TRIES`` times."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Hashable

from node.core.clock import Clock
from node.pipeline.behind import Behind

QUEUE_MAX = 16
TRIES = 3
LOOK_EVERY_S = 0.25
"""So long a model may go on for nobody when somebody comes."""
WAIT_MAX_S = 600.0
"""A node that is never quiet for so long has no time for second samples."""


class SecondSamples(Behind[None]):
    """A sample asks once more, judges, and stores or does not."""

    LATE = logging.INFO

    def __init__(
        self, clock: Clock, *, deadline_s: float, busy: Callable[[], bool], queue_max: int = QUEUE_MAX
    ) -> None:
        super().__init__(clock, "a second sample", deadline_s=deadline_s, busy=busy)
        self._queue_max = queue_max
        self._tries: Counter[Hashable] = Counter()

    def _may_begin(self, key: Hashable) -> bool:
        return len(self._known) < self._queue_max

    async def _work(self) -> None:
        while self._queue:
            if not await self._quiet():
                self._queue.clear()
                self._known.clear()
                self._tries.clear()
                return
            key, sample = self._queue.popleft()
            self._tries[key] += 1
            is_done, _ = await self._run(sample, LOOK_EVERY_S)
            if is_done or self._tries[key] >= TRIES:
                self._known.discard(key)
                del self._tries[key]
            else:
                self._queue.append((key, sample))

    async def _quiet(self) -> bool:
        """Wait until nobody waits for an answer; False if that does not come."""
        for _ in range(round(WAIT_MAX_S / LOOK_EVERY_S)):
            if not self._busy():
                return True
            await self._clock.sleep(LOOK_EVERY_S)
        return False
