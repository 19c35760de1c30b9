"""Critical entries are published at once, and those who wait for them are told when they are.

Promises: nobody who appends waits for a checkpoint; a callback is called on the event loop, once an entry is
under a signed checkpoint; at most ``WAITING_MAX`` entries are waited for, the newest.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from node.audit.log.writer import Published
from node.core.errors import NodeError
from node.core.ports import Appended

log = logging.getLogger("neuroswarm.decisions")

WAITING_MAX = 1_024


class CriticalEntries:
    """``publish`` signs a checkpoint over what is there; it raises ``NodeError``."""

    def __init__(self, publish: Callable[[], Awaitable[object]]) -> None:
        self._publish = publish
        self._waiting: list[Appended] = []
        self._publishing: asyncio.Task[None] | None = None
        self._told_critical: list[Callable[[Appended], None]] = []
        self._told_published: list[Callable[[Published], None]] = []
        self._is_closed = False

    def on_critical(self, callback: Callable[[Appended], None]) -> None:
        self._told_critical.append(callback)

    def on_published(self, callback: Callable[[Published], None]) -> None:
        self._told_published.append(callback)

    def publish_soon(self, *places: Appended) -> None:
        """These entries are to be under a checkpoint as soon as can be."""
        self._waiting = [*self._waiting, *places][-WAITING_MAX:]
        if self._publishing is None and not self._is_closed:
            self._publishing = asyncio.create_task(self._try(), name="decision log: critical entry")

    def published(self, origin: str, published: Published) -> None:
        """A checkpoint of the log ``origin`` was signed."""
        for told in self._told_published:
            told(published)
        ready = [one for one in self._waiting if one.log == origin and one.index < published.size]
        self._waiting = [one for one in self._waiting if one not in ready]
        for place in ready:
            for callback in self._told_critical:
                callback(place)
        if self._waiting:
            self.publish_soon()

    async def close(self) -> None:
        """Begin nothing more, and wait for what is under way."""
        self._is_closed = True
        if self._publishing is not None:
            await asyncio.wait({self._publishing})

    async def _try(self) -> None:
        try:
            await self._publish()
        except NodeError as exc:
            log.warning("a critical decision waits for its checkpoint: %s", exc)
        finally:
            self._publishing = None
