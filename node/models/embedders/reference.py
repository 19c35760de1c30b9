"""The embedder that the gate was calibrated on, for a node whose own is another one.

The gate's cosines must come from the model that it was trained with; where another engine finds the
candidates, this one measures the few that were found. It is loaded when it is first wanted and not before;
where it cannot be had, look-ups have their exact and slot tiers.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace

from node.core.clock import Clock
from node.core.errors import NodeError
from node.core.model import Check
from node.core.ports import Embedder, Vector
from node.core.settings import Settings
from node.models.embedders import factory

log = logging.getLogger("neuroswarm.embed")


class ReferenceEmbedder:
    """Vectors by the packaged model whose digest is ``wanted``."""

    def __init__(self, settings: Settings, clock: Clock, *, wanted: str) -> None:
        embed = replace(settings.embed, engine="local", model="", gguf_path="")
        self._settings = replace(settings, embed=embed)
        self._clock = clock
        self._wanted = wanted
        self._lock = asyncio.Lock()
        self._embedder: Embedder | None = None
        self._failed = False

    async def vectors(self, texts: Sequence[str]) -> Sequence[Vector | None] | None:
        """One vector a text, or None where the model cannot be had."""
        embedder = await self._loaded()
        if embedder is None:
            return None
        try:
            return await embedder.embed(texts)
        except NodeError as exc:
            log.warning("the gate's embedder failed: %s", exc)
            return None

    async def probe(self) -> Check:
        """What is known without loading it: look-ups do that when they need it."""
        if self._failed:
            return Check("gate", "warn", "its embedder cannot be loaded: no semantic hits, see the log")
        return Check("gate", "pass", "loaded" if self._embedder is not None else "not needed so far")

    async def _loaded(self) -> Embedder | None:
        async with self._lock:
            if self._embedder is None and not self._failed:
                try:
                    embedder = await factory.load(self._settings, self._clock)
                except NodeError as exc:
                    self._failed = True
                    log.warning("semantic look-ups are off, the gate's embedder cannot be loaded: %s", exc)
                    return None
                if embedder.info.digest != self._wanted:
                    await embedder.close()
                    self._failed = True
                    log.warning("semantic look-ups are off: the gate was calibrated on another embedder")
                    return None
                self._embedder = embedder
            return self._embedder

    async def close(self) -> None:
        """Idempotent."""
        if self._embedder is not None:
            await self._embedder.close()
            self._embedder = None
            self._failed = True
