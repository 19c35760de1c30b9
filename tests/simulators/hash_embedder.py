"""An embedder without a model: text to pseudo-random unit vector by SHA-256, and it can misbehave.

It stands in wherever a test needs vectors but not meaning. Equal texts get equal vectors; others
are nearly orthogonal. With ``by_word`` a text is the sum of its words, so that texts with common words
are near each other: enough to pass the start-up self-test.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence

import numpy as np

from node.core.errors import Unavailable
from node.core.model import Check
from node.core.ports import EmbedderInfo, Vector


class HashEmbedder:
    """The ``Embedder`` port. Switches, all off at first and to be flipped at any time:

    ``failure``: raise ``Unavailable`` with this text;
    ``hang``: an event; while it is not set, calls wait for it (set it to let them go);
    ``degenerate``: ``zero``, ``constant``, ``nan``, ``same`` (one vector for every text), ``drift`` (another
    vector at each call), ``short`` (a vector less than asked for). These break the port on purpose.
    """

    def __init__(
        self, dim: int = 32, *, tokens_max: int = 256, by_word: bool = False, model: str = ""
    ) -> None:
        self._info = EmbedderInfo("", "", dim, tokens_max)
        self._salt = ""
        self.become(dim, model)
        self._by_word = by_word
        self._is_closed = False
        self._calls = 0
        self.failure: str | None = None
        self.hang: asyncio.Event | None = None
        self.degenerate: str | None = None
        self.tells_sample = False
        self.embedded: list[str] = []
        """Every text that was embedded, in order: what tests count."""

    def become(self, dim: int, model: str = "") -> None:
        """From now on another model, as if somebody had put one in the place of the old. Models of one
        dimension differ in every vector."""
        self._salt = model
        self._info = EmbedderInfo(
            model=f"hash-{model or dim}@test",
            digest=hashlib.sha256(f"{dim} {model}".strip().encode()).hexdigest(),
            dim=dim,
            tokens_max=self._info.tokens_max,
        )

    @property
    def info(self) -> EmbedderInfo:
        return self._info

    def exchange(self, model: str) -> None:
        """From now on another model under the same name and digest, as behind a server that tells neither."""
        self._salt = model

    @property
    def sample(self) -> Vector | None:
        return self.vector_of("A sentence that never changes.") if self.tells_sample else None

    def vector_of(self, text: str) -> Vector:
        """The vector that ``embed`` gives for ``text`` when nothing is switched on."""
        parts = text.lower().split() if self._by_word else [text]
        return _unit(np.sum([self._noise(part) for part in parts or [""]], axis=0))

    async def embed(self, texts: Sequence[str]) -> list[Vector | None]:
        if self._is_closed:
            raise Unavailable("the embedder is closed")
        if self.hang is not None:
            await self.hang.wait()
        if self.failure is not None:
            raise Unavailable(self.failure)
        self._calls += 1
        out: list[Vector | None] = []
        for text in texts:
            if len(text.split()) > self._info.tokens_max:
                out.append(None)
                continue
            self.embedded.append(text)
            out.append(self._bent(text))
        return out[1:] if self.degenerate == "short" else out

    def health(self) -> Check:
        status = "warn" if self.failure or self._is_closed else "pass"
        return Check("embedder", status, self.failure or self._info.model)

    async def close(self) -> None:
        self._is_closed = True

    def _bent(self, text: str) -> Vector:
        dim = self._info.dim
        match self.degenerate:
            case "zero":
                return np.zeros(dim, np.float32)
            case "constant":
                return np.full(dim, dim**-0.5, np.float32)
            case "nan":
                return np.full(dim, np.nan, np.float32)
            case "same":
                return _unit(self._noise("same"))
            case "drift":
                # Near enough to its place to pass every other check.
                return _unit(self.vector_of(text) + 0.05 * _unit(self._noise(f"{self._calls} {text}")))
            case _:
                return self.vector_of(text)

    def _noise(self, text: str) -> Vector:
        salted = f"{self._salt}{text}".encode("utf-8", "surrogatepass")
        seed = int.from_bytes(hashlib.sha256(salted).digest(), "big")
        return np.random.default_rng(seed).standard_normal(self._info.dim).astype(np.float32)


def _unit(vector: Vector) -> Vector:
    scaled: Vector = (vector / np.linalg.norm(vector)).astype(np.float32)
    return scaled
