"""Who speaks to an engine next: a fair, bounded queue in front of it.

Promises:
- first come, first served, as many at once as the engine has slots. Who came first is told by ``due``, when
  the asker's whole answer is due: all have the same time for it. So it holds for every generation of one
  asker: nobody who came later has a turn between two that follow at once, and where something else is done
  between them, nobody gets a turn before the second that was not free when the first ended;
- who waits, waits until his own time is up, never less because of an estimate; a place that is given up
  (cancelled, out of time) goes to the next at once;
- a turn goes to the first who has time for a whole answer, as far as the last ones tell; to one who has time
  for half of it only where nobody else waits. So a crowd does not end with everybody being cut short;
- how long the wait will be is told as a number of seconds, as soon as one generation has shown it.

It knows no engine and no prompt. Use from one event loop."""

from __future__ import annotations

import asyncio
import heapq
import math
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from node.core.clock import Clock
from node.core.errors import Unavailable

GENERATION_MIN_S = 0.5
"""With less than this a generation is not begun."""
REMEMBERED = 8
"""Generations from which the wait is estimated."""
RETRY_MIN_S = 1
RETRY_MAX_S = 300
_SOON_S = 2.0
"""Whose time is up within this is not counted among those who still wait."""
RETRY_UNKNOWN_S = 10
"""Told to ask again after, while no generation has shown how long one takes."""


class Busy(Unavailable):
    """No turn came, or the queue was full. ``retry_after_s``: when to ask again, in whole seconds."""

    def __init__(self, message: str, *, retry_after_s: int) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


@dataclass(eq=False, slots=True)
class Place:
    """One question in the queue, or at its turn. ``ahead`` so many waited before it when it came, ``wait_s``
    was the expected wait then (None: not known); ``until`` (monotonic seconds) its time is up, ``due`` gives
    it its place."""

    until: float
    due: float
    turn: asyncio.Future[None]
    ahead: int
    wait_s: float | None
    began: float | None = None
    """Since when it has had the turn."""

    @property
    def waits(self) -> bool:
        return not self.turn.done()

    @property
    def words(self) -> str:
        """For a person."""
        expected = "the wait was not known" if self.wait_s is None else f"expected wait {self.wait_s:.0f} s"
        return f"{self.ahead} questions waited before it, {expected}"


class Queue:
    """See the module. ``slots`` is asked anew each time: an engine may be exchanged for another."""

    def __init__(self, clock: Clock, slots: Callable[[], int], *, waiting_max: int) -> None:
        self._clock = clock
        self._slots = slots
        self._waiting_max = waiting_max
        self._waiting: list[Place] = []
        self._running: list[Place] = []
        self._took: deque[float] = deque(maxlen=REMEMBERED)

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    @property
    def has_room(self) -> bool:
        """Whether one more may come."""
        return self.is_free or len(self._waiting) < self._waiting_max

    @property
    def is_free(self) -> bool:
        """Whether a turn would come at once."""
        return len(self._running) < max(1, self._slots()) and not self._waiting

    @property
    def usual_s(self) -> float:
        """What the last generations took on average; 0 before the first."""
        return sum(self._took) / len(self._took) if self._took else 0.0

    def finished(self, took_s: float) -> None:
        """A generation went to its end and took so long."""
        self._took.append(took_s)

    def wait_s(self, *, due: float = math.inf, gone: float = -math.inf) -> float | None:
        """What somebody whose answer is due then would wait from now on, None while nothing shows it.
        ``gone``: without those whose time is up by then (monotonic seconds)."""
        if self.is_free:
            return 0.0
        if not self._took:
            return None
        usual = self.usual_s
        now = self._clock.monotonic()
        ends = [max(0.0, usual - (now - (one.began or now))) for one in self._running]
        ends += [0.0] * (max(1, self._slots()) - len(ends))
        heapq.heapify(ends)
        for _ in [one for one in self._waiting if one.until > gone and one.due <= due]:
            heapq.heapreplace(ends, ends[0] + usual)
        return ends[0]

    def retry_after_s(self) -> int:
        """When to ask again, for somebody who is turned away now."""
        wait_s = self.wait_s(gone=self._clock.monotonic() + _SOON_S)
        if wait_s is None:
            return RETRY_UNKNOWN_S
        return max(RETRY_MIN_S, min(RETRY_MAX_S, round(wait_s + 0.5)))

    @contextmanager
    def place(self, until: float, due: float) -> Iterator[Place]:
        """A place in the queue, or the turn itself, held while the context lasts; await ``turn`` of it.
        ``until`` (monotonic seconds): when this asker's time is up, which the caller keeps; ``due``: see the
        module. Raises ``Busy`` when too many wait already, unless one of them came later."""
        ahead = bisect_right(self._waiting, due, key=lambda one: one.due)
        if not self.has_room and ahead == len(self._waiting):
            raise Busy(
                f"is busy and {len(self._waiting)} questions wait already", retry_after_s=self.retry_after_s()
            )
        turn = asyncio.get_running_loop().create_future()
        one = Place(until, due, turn, ahead, self.wait_s(due=due))
        if self.is_free:
            self._let(one)
        else:
            self._waiting.insert(ahead, one)
            self._next()  # those before it may have too little time for a turn that is free
        try:
            yield one
        finally:
            (self._waiting if one in self._waiting else self._running).remove(one)
            turn.get_loop().call_soon(self._next)  # after what the same asker may want next

    def _let(self, one: Place) -> None:
        one.began = self._clock.monotonic()
        self._running.append(one)
        if not one.turn.done():  # else it was cancelled, and leaves in a moment
            one.turn.set_result(None)

    def _next(self) -> None:
        """Give every free slot to whoever is first to have time for it."""
        while self._waiting and len(self._running) < max(1, self._slots()):
            fastest_s = min(self._took) if len(self._took) > 1 else 0.0  # the first one loads the model
            now = self._clock.monotonic()
            for needed_s in (fastest_s, fastest_s / 2):
                least = now + max(GENERATION_MIN_S, needed_s)
                one = next((one for one in self._waiting if one.until >= least), None)
                if one is not None:
                    break
            else:
                return
            self._waiting.remove(one)
            self._let(one)
