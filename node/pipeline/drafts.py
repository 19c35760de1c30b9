"""Drafts: what a model said to a question a moment ago and what was not sure enough to be stored. Asking the
model anew would be no truer, so the very same question gets it again, marked.

Rules:
1. A draft is found under its whole key only: whoever builds keys puts in them the words, the caller's tenant
   and scope, the context, the time zone and the evidence. Nothing is found by likeness.
2. It lives for ``LIFE_S`` at most, in memory only, and the oldest make room.
3. Feedback names a request: the drafts that answered it are known until they end, to their tenant only.
4. ``is_checked``: a second sample has not confirmed it, so that nobody asks for one again.

Pure but for the injected clock's monotonic time; it knows nothing of what it keeps.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

T = TypeVar("T")

LIFE_S = 3_600.0
DRAFTS_MAX = 512
REQUESTS_MAX = 4_096
OF_REQUEST_MAX = 8
"""Drafts behind one request, which may be several questions."""


@dataclass(frozen=True, slots=True)
class Draft(Generic[T]):
    """``question`` and ``answer`` are told to whoever takes it back."""

    key: Hashable
    tenant: str
    question: str
    answer: str
    value: T
    made: float
    until: float
    is_checked: bool = False


class Drafts(Generic[T]):
    """Use from one event loop. ``monotonic`` is the clock's."""

    def __init__(self, monotonic: Callable[[], float], *, drafts_max: int = DRAFTS_MAX) -> None:
        self._monotonic = monotonic
        self._drafts_max = drafts_max
        self._drafts: OrderedDict[Hashable, Draft[T]] = OrderedDict()
        self._requests: OrderedDict[str, tuple[Hashable, ...]] = OrderedDict()

    def keep(
        self,
        key: Hashable,
        value: T,
        *,
        tenant: str,
        question: str,
        answer: str,
        life_s: float | None,
    ) -> None:
        """Keep a draft, at most for ``life_s`` seconds; another one under this key is forgotten."""
        now = self._monotonic()
        until = now + (LIFE_S if life_s is None else min(LIFE_S, life_s))
        self._drafts[key] = Draft(key, tenant, question, answer, value, now, until)
        self._drafts.move_to_end(key)
        while len(self._drafts) > self._drafts_max:
            self._drafts.popitem(last=False)

    def find(self, key: Hashable, *, max_age_s: float | None = None) -> Draft[T] | None:
        """The draft under this key that is no older than ``max_age_s``."""
        draft = self._drafts.get(key)
        if draft is None:
            return None
        now = self._monotonic()
        if now >= draft.until:
            del self._drafts[key]
            return None
        return None if max_age_s is not None and now - draft.made > max_age_s else draft

    def checked(self, key: Hashable) -> None:
        """A second sample did not confirm it."""
        draft = self._drafts.get(key)
        if draft is not None:
            self._drafts[key] = replace(draft, is_checked=True)

    def drop(self, key: Hashable) -> None:
        """Forget it."""
        self._drafts.pop(key, None)

    def answered(self, request: str, key: Hashable) -> None:
        """The draft under ``key`` answered this request."""
        keys = self._requests.get(request, ())
        if key not in keys:
            self._requests[request] = (*keys, key)[:OF_REQUEST_MAX]
        self._requests.move_to_end(request)
        while len(self._requests) > REQUESTS_MAX:
            self._requests.popitem(last=False)

    def of_request(self, request: str, tenant: str) -> list[Draft[T]]:
        """The drafts that answered a request of this tenant and are still known."""
        found = [self.find(key) for key in self._requests.get(request, ())]
        return [draft for draft in found if draft is not None and draft.tenant == tenant]

    def __len__(self) -> int:
        return len(self._drafts)
