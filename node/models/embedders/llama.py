"""An embedding model in GGUF form, in a llama.cpp child process of its own.

Promises: the contract of ``node.core.ports.Embedder``; ordering and bounds are those of ``micro_batch``;
should the file be exchanged before the child is started anew, vectors of the other model never leave. It must
not know what is embedded, or why."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from node.core.clock import Clock
from node.core.errors import Misconfigured, Unavailable
from node.core.ports import EmbedderInfo, Vector
from node.core.settings import Settings
from node.models.deadline import within
from node.models.embedders.micro_batch import BatchedEmbedder, MicroBatcher
from node.models.embedders.vectors import of_some, usable
from node.models.llama.process import LLAMA_CPP, LlamaProcess, Loaded, Program
from node.models.llama.wire import plain_text

BYTES_MAX = 32 * 2**10
"""No text beyond this is sent: it has more tokens than the window, or consists of words that no vocabulary
holds."""


class LlamaEmbedder(BatchedEmbedder):
    """``node.core.ports.Embedder`` over one GGUF. None for a text longer than the window, and for one of
    which the vocabulary knows nothing."""

    def __init__(
        self, process: LlamaProcess, loaded: Loaded, name: str, settings: Settings, clock: Clock
    ) -> None:
        """``process`` is loaded; ``close`` ends it. Use ``load``."""
        self._process = process
        self._clock = clock
        self._timeout_s = settings.embed.timeout_s
        digest = loaded.digest
        super().__init__(
            EmbedderInfo(f"{name}@{digest[:12]}", digest, dim=loaded.dim, tokens_max=loaded.window),
            MicroBatcher(self._ask, settings.embed, clock),
        )

    @classmethod
    async def load(cls, settings: Settings, clock: Clock, *, program: Program = LLAMA_CPP) -> LlamaEmbedder:
        """Start the child and load the model. Raises ``Unavailable`` (the package or the file is missing, it
        is no embedding model), ``Misconfigured`` (no file is named)."""
        if not settings.embed.gguf_path:
            raise Misconfigured(
                "setting embed.gguf_path is empty: embed.engine = llama_cpp needs an embedding model's file"
            )
        path = Path(settings.embed.gguf_path)
        # Not niced: somebody waits for a look-up, and a generation beside it is.
        process = LlamaProcess(
            path, clock, purpose="embed", threads=settings.embed.threads, nice=0, program=program
        )
        try:
            loaded = await process.load()
            if loaded.dim < 1:
                raise Unavailable("degenerate embedder: its vectors have no dimension")
            return cls(process, loaded, settings.embed.model or path.stem, settings, clock)
        except BaseException:
            await process.close()
            raise

    async def _ask(self, texts: list[str]) -> list[Vector | None]:
        return await of_some(texts, _is_sendable, self._vectors)

    async def _vectors(self, texts: list[str]) -> list[Vector | None]:
        heard: list[bytes | None] = []

        def listen(piece: str | bytes | None) -> bool:
            if isinstance(piece, str) or len(heard) >= len(texts):
                return False
            heard.append(piece)
            return True

        async def work() -> None:
            loaded = await self._process.load()
            if loaded.digest != self.info.digest or loaded.dim != self.info.dim:
                raise Unavailable("the embedding model's file has been exchanged: start the node anew")
            await self._process.ask({"op": "embed", "texts": texts}, listen)

        await within(self._clock, self._timeout_s, work(), "llama.cpp did not answer in time")
        if len(heard) != len(texts):
            raise Unavailable(f"llama.cpp gave {len(heard)} vectors for {len(texts)} texts")
        return [None if raw is None else self._vector(raw) for raw in heard]

    def _vector(self, raw: bytes) -> Vector:
        """Raises ``Unavailable``."""
        if len(raw) != 4 * self.info.dim:
            raise Unavailable(f"degenerate embedder: a vector of {len(raw)} bytes")
        return usable(np.frombuffer(raw, dtype="<f4").astype(np.float32), self.info.dim)

    async def close(self) -> None:
        """Give up what is asked and end the child process. Idempotent."""
        await self.batcher.close(grace_s=0)
        await self._process.close()


def _is_sendable(text: str) -> bool:
    """Half a surrogate pair is not text."""
    return plain_text(text) == text and len(text.encode("utf-8", "replace")) <= BYTES_MAX
