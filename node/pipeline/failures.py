"""Failures remembered for seconds, so that a storm of one failing question asks its source once.

Rules:
1. A failure is found again only under its whole key. Whoever builds keys puts in them everything that makes
   two askers different (tenant, scope, context, slots or words, time zone, source).
2. How long depends on what failed: ``keep_s``. Never longer than the source itself asked to be left alone.
3. A failure for want of time says nothing to somebody who has more: it is found only by askers who have no
   more than ``PATIENCE`` times the time that the first one had. What failed *because* the asker's time had
   run out is not remembered at all; that is for the caller of ``remember`` to know.
4. A success clears its key; the least recently used keys make room.

Bounded in entries and in time. Pure but for the injected clock's monotonic time; it knows nothing of what it
keeps.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

T = TypeVar("T")

ENTRIES_MAX = 4_096
PATIENCE = 1.5
NOTHING_THERE_MAX_S = 60.0
"""A source that works and has nothing (no such coin or place) is believed for up to a minute."""
_NOTHING_THERE_FACTOR = 6.0
_SHORT_FACTOR = 0.5


class Failure(StrEnum):
    """What failed, as far as it decides for how long it is remembered."""

    NO_TIME = "no_time"
    """A time-out, or a wait that would have been too long: soon over."""
    FAULT = "fault"
    """Unreachable, refused, an unusable answer."""
    NOTHING_THERE = "nothing_there"
    """The source works and knows nothing of it."""
    NO_ANSWER = "no_answer"
    """The whole walk ended without an answer."""


_OF_TIME = (Failure.NO_TIME, Failure.NO_ANSWER)
"""Who has more time may come further."""


def keep_s(failure: Failure, base_s: float, retry_after_s: float | None = None) -> float:
    """For how many seconds a failure is remembered, ``base_s`` being the setting. 0 switches all off."""
    if base_s <= 0:
        return 0.0
    seconds = base_s
    if failure is Failure.NO_TIME:
        seconds = base_s * _SHORT_FACTOR
    elif failure is Failure.NOTHING_THERE:
        seconds = max(base_s, min(NOTHING_THERE_MAX_S, base_s * _NOTHING_THERE_FACTOR))
    if retry_after_s is not None:
        seconds = min(seconds, max(0.0, retry_after_s))
    return seconds


@dataclass(frozen=True, slots=True)
class Remembered(Generic[T]):
    """A failure and how many seconds ago it was met."""

    value: T
    age_s: float


@dataclass(frozen=True, slots=True)
class _Entry(Generic[T]):
    value: T
    failure: Failure
    met: float
    until: float
    patience_s: float


class NegativeCache(Generic[T]):
    """Use from one event loop. ``monotonic`` is the clock's; ``base_s`` the setting ``cache.negative_s``."""

    def __init__(
        self, monotonic: Callable[[], float], *, base_s: float, entries_max: int = ENTRIES_MAX
    ) -> None:
        self._monotonic = monotonic
        self._base_s = base_s
        self._entries_max = max(1, entries_max)
        self._entries: OrderedDict[Hashable, _Entry[T]] = OrderedDict()

    def find(
        self, key: Hashable, *, patience_s: float, max_age_s: float | None = None
    ) -> Remembered[T] | None:
        """The failure that holds for an asker who has ``patience_s`` seconds left and takes nothing older
        than ``max_age_s``."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        now = self._monotonic()
        if now >= entry.until:
            del self._entries[key]
            return None
        age_s = now - entry.met
        if max_age_s is not None and age_s >= max_age_s:
            return None
        if entry.failure in _OF_TIME and patience_s > entry.patience_s * PATIENCE:
            return None
        self._entries.move_to_end(key)
        return Remembered(entry.value, age_s)

    def remember(
        self,
        key: Hashable,
        value: T,
        failure: Failure,
        *,
        patience_s: float,
        retry_after_s: float | None = None,
    ) -> None:
        """Keep a failure that an asker with ``patience_s`` seconds met."""
        seconds = keep_s(failure, self._base_s, retry_after_s)
        if seconds <= 0:
            self._entries.pop(key, None)
            return
        now = self._monotonic()
        self._entries[key] = _Entry(value, failure, now, now + seconds, max(0.0, patience_s))
        self._entries.move_to_end(key)
        while len(self._entries) > self._entries_max:
            self._entries.popitem(last=False)

    def clear(self, key: Hashable) -> None:
        """It works again."""
        self._entries.pop(key, None)

    def __len__(self) -> int:
        return len(self._entries)
