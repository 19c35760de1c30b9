"""Labels in use: kept in the store, counted in the estimates, felt by the next look-up.

A label counts in memory before it is on disk, so that it takes effect at once; a store that fails costs what
it would have remembered beyond the next start, and is logged. A question that hit a private record is known
by a name for its hash that only this node can make (``mark``): who guesses it cannot check the guess.
"""

from __future__ import annotations

import logging
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from node.cache.quality.estimate import Estimates
from node.cache.quality.tighten import Tightening
from node.core.clock import Clock
from node.core.errors import NodeError
from node.store.hit_label import ASKED_AGAIN, Hit, Label
from node.store.hit_labels import LabelStore
from node.store.writer import SqliteFile

log = logging.getLogger("neuroswarm.labels")

Mark = Callable[[str], str]

FRESH_MAX = 1_024
"""Requests remembered in memory, until the store has them."""


class Labels:
    """Every label that the node has. Build with ``open``."""

    def __init__(self, store: LabelStore, clock: Clock, tightening: Tightening, mark: Mark) -> None:
        self._store = store
        self._mark = mark
        self._clock = clock
        self.tightening = tightening
        self.estimates = Estimates()
        self._counts: Counter[tuple[str, str]] = Counter()
        self._fresh: OrderedDict[str, Hit] = OrderedDict()
        self.on_change: Callable[[], None] = lambda: None
        """Called when labels may decide otherwise about a hit."""

    @classmethod
    async def open(cls, path: Path, clock: Clock, mark: Mark) -> Labels:
        """Load what earlier runs learnt. Raises ``Unavailable``, ``CorruptState``."""
        store = await LabelStore.open(path)
        labels = cls(store, clock, Tightening(), mark)
        try:
            for label in await store.newest():
                labels._count(label)
        except NodeError:
            await store.close()
            raise
        return labels

    async def add(self, hit: Hit, source: str, verdict: str) -> None:
        """Enter a label of this moment."""
        label = Label(self._named(hit), source, verdict, self._clock.now())
        self._count(label)
        try:
            await self._store.add(label)
        except NodeError as exc:
            log.warning("a label is not stored and will be forgotten at the next start: %s", exc)

    def note(self, request: str, hit: Hit) -> None:
        """A hit answered this request; ``keep`` writes it down."""
        self._fresh[request] = self._named(hit)
        if len(self._fresh) > FRESH_MAX:
            self._fresh.popitem(last=False)

    async def keep(self, request: str) -> None:
        """Write down which hit answered a request."""
        hit = self._fresh.get(request)
        if hit is None:
            return
        try:
            await self._store.remember(request, hit)
        except NodeError as exc:
            log.warning("feedback on request %s cannot be told from others later: %s", request, exc)

    async def hit_of(self, request: str) -> Hit | None:
        """The hit that answered a request, if one did and it is still known."""
        fresh = self._fresh.get(request)
        if fresh is not None:
            return fresh
        try:
            return await self._store.served(request)
        except NodeError as exc:
            log.warning("which hit answered request %s cannot be read: %s", request, exc)
            return None

    async def forget(self, cids: Sequence[str]) -> None:
        """What is known about hits of erased records. Raises ``Unavailable``."""
        gone = set(cids)
        for request in [request for request, hit in self._fresh.items() if hit.cid in gone]:
            del self._fresh[request]
        await self._store.forget(cids)

    async def scrub(self) -> None:
        """Leave nothing of what was forgotten on disk. Raises ``Unavailable``."""
        await self._store.scrub()

    def counts(self) -> Mapping[tuple[str, str], int]:
        """Labels by (source, verdict)."""
        return dict(self._counts)

    @property
    def file(self) -> SqliteFile:
        return self._store.file

    async def close(self) -> None:
        """Idempotent."""
        await self._store.close()

    def _named(self, hit: Hit) -> Hit:
        return (
            replace(hit, query_hash=self._mark(hit.query_hash), is_private=False) if hit.is_private else hit
        )

    def _count(self, label: Label) -> None:
        self._counts[(label.source, label.verdict)] += 1
        if label.source == ASKED_AGAIN:
            return
        self.estimates.add(label)
        self.tightening.add(label)
        self.on_change()
