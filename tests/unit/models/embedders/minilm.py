"""The real local model, loaded once for all tests of a process (about 0.3 s)."""

from __future__ import annotations

from functools import cache

from node.core.clock import Clock, SystemClock
from node.core.settings import Embed
from node.models.embedders.local import LocalEmbedder, MiniLm, installed_files


@cache
def minilm() -> MiniLm:
    """The engine; it knows no event loop, so tests may share it."""
    return MiniLm.open(installed_files(), threads=1)


def local_embedder(settings: Embed | None = None, clock: Clock | None = None) -> LocalEmbedder:
    """A fresh port around the shared engine; the test closes it."""
    return LocalEmbedder(minilm(), settings or Embed(), clock or SystemClock())
