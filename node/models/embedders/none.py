"""The embedder of a node that has none: harmless, and it says why.

With it exact, slot and keyword look-up go on; semantic look-up is off and ``/health`` shows the reason.
"""

from __future__ import annotations

from collections.abc import Sequence

from node.core.errors import Unavailable
from node.core.model import Check
from node.core.ports import EmbedderInfo, Vector


class NoEmbedder:
    """Always ``Unavailable``, for ``reason`` (a sentence for a person)."""

    def __init__(self, reason: str) -> None:
        self._reason = reason
        self.info = EmbedderInfo(model="none", digest="", dim=0, tokens_max=0)
        self.sample: Vector | None = None

    async def embed(self, texts: Sequence[str]) -> list[Vector | None]:
        raise Unavailable(self._reason)

    def health(self) -> Check:
        return Check(
            name="embedder",
            status="warn",
            output=f"semantic look-up is off: {self._reason}; exact, slot and keyword look-up go on",
        )

    async def close(self) -> None:
        """Nothing to close."""
