"""One embedding engine under watch, with the index of its model; the choice of it, and what served last."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from node.core.clock import Clock
from node.core.errors import TimedOut, Unavailable
from node.core.ports import Embedded, Embedder, RecordStore, Vector

if TYPE_CHECKING:
    from node.cache.index.vectors import IndexKeeper  # needs numpy, which may be missing

EMBED_WAIT_S = 10.0
"""How long a question waits for its vector before it goes on without."""
REST_S = 2.0
"""How long an engine that said it is not well is left alone by questions."""
PROBE_AFTER_S = 2.0
PROBE_WAIT_S = 1.0


@dataclass(frozen=True, slots=True)
class Choice:
    """Which engine and model the settings name. ``here``: it runs in this process, so loading cannot hang."""

    engine: str
    model: str = ""
    gguf_path: str = ""

    @property
    def is_none(self) -> bool:
        return self.engine == "none"

    @property
    def is_here(self) -> bool:
        return self.engine in ("none", "local")


Load = Callable[[Choice], Awaitable[Embedder]]
"""Load and try an engine. Raises ``Unavailable``, ``Misconfigured``."""


class Served(msgspec.Struct, frozen=True):
    """The model whose index was complete when it last served, and how it was loaded."""

    engine: str
    model: str
    gguf_path: str
    digest: str
    dim: int
    sample: tuple[float, ...] = ()
    """``Embedder.sample`` as it was then; empty where there is none."""

    @property
    def choice(self) -> Choice:
        return Choice(self.engine, self.model, self.gguf_path)

    def dump(self) -> str:
        return msgspec.json.encode(self).decode()

    @classmethod
    def read(cls, text: str | None) -> Served | None:
        """None for what was never written, or not by this program."""
        try:
            return msgspec.json.decode(text or "null", type=cls)
        except ValueError:
            return None

    def is_like(self, other: Served) -> bool:
        """Equal but for the last digits of a sample, which servers do not always repeat."""
        same = msgspec.structs.replace(self, sample=other.sample) == other
        return same and bool(self.sample) == bool(other.sample)

    def is_of(self, engine: Engine) -> bool:
        """Whether the engine has the model that served, as far as its digest tells."""
        return (engine.info.digest, engine.info.dim) == (self.digest, self.dim)


class Engine:
    """One loaded embedder under watch, with the index of its model."""

    def __init__(self, choice: Choice, embedder: Embedder, clock: Clock) -> None:
        self.choice = choice
        self.embedder = embedder
        self.info = embedder.info
        self.failure = ""
        """Why the last call failed; empty when it went well."""
        self.asking = 0
        """Questions that wait for a vector now."""
        self.idle = asyncio.Event()
        self.idle.set()
        self._clock = clock
        self._keeper: IndexKeeper | None = None
        self._heard = clock.monotonic()
        self._rest_until = 0.0
        self._greetings = 0

    @property
    def keeper(self) -> IndexKeeper:
        assert self._keeper is not None, "an engine joins only with its index"
        return self._keeper

    async def open_index(self, directory: Path, records: RecordStore, hnsw_above: int) -> None:
        from node.cache.index.vectors import IndexKeeper

        self._keeper = await IndexKeeper.open(directory, self.info, records, hnsw_above=hnsw_above)

    async def ask(self, texts: Sequence[str]) -> list[Embedded | None]:
        """For a question: bounded, and refused at once while the engine is known to be unwell."""
        if self._clock.monotonic() < self._rest_until:
            raise Unavailable(self.failure)
        self.asking += 1
        self.idle.clear()
        try:
            async with asyncio.timeout(EMBED_WAIT_S):
                vectors = await self.embed(texts)
        except TimeoutError as exc:
            self._failed(f"the embedder gave no answer within {EMBED_WAIT_S:g} s", rest=True)
            raise TimedOut(self.failure) from exc
        finally:
            self.asking -= 1
            if not self.asking:
                self.idle.set()
        return [None if vector is None else Embedded(vector, self.info) for vector in vectors]

    async def embed(self, texts: Sequence[str]) -> list[Vector | None]:
        """Vectors of this engine's model for certain. Raises ``Unavailable``."""
        try:
            self._check_model()
            vectors = await self.embedder.embed(texts)
            self._check_model()
            self._check(vectors, len(texts))
        except Unavailable as exc:
            self._failed(str(exc), rest=self.embedder.health().status != "pass")
            raise
        self.failure, self._rest_until, self._heard = "", 0.0, self._clock.monotonic()
        return vectors

    def _failed(self, why: str, *, rest: bool) -> None:
        self.failure = why
        self._heard = self._clock.monotonic()
        self._rest_until = self._heard + REST_S if rest else 0.0

    def _check_model(self) -> None:
        found, mine = self.embedder.info, self.info
        if (found.digest, found.dim) != (mine.digest, mine.dim):
            raise Unavailable(
                f"the engine now has {found.model} ({found.dim} dimensions), and the vectors here are of "
                f"{mine.model} ({mine.dim}); none of its vectors is compared or stored: restart the node to "
                "embed everything anew, or give the engine its model back"
            )

    def _check(self, vectors: Sequence[Vector | None], count: int) -> None:
        from node.models.embedders.vectors import why_degenerate

        if len(vectors) != count:
            raise Unavailable(f"the embedder gave {len(vectors)} vectors for {count} texts")
        for vector in vectors:
            if vector is None:
                continue
            if vector.shape != (self.info.dim,):
                raise Unavailable(
                    f"the engine now gives vectors of shape {vector.shape}, not ({self.info.dim},); none of "
                    "them is compared or stored: restart the node to embed everything anew"
                )
            if reason := why_degenerate(vector, self.info.dim):
                raise Unavailable(f"the embedder gave an unusable vector: {reason}")

    async def probe(self) -> None:
        """Find out whether it lives, unless it was heard of a moment ago."""
        if self._clock.monotonic() - self._heard < PROBE_AFTER_S:
            return
        try:
            async with asyncio.timeout(PROBE_WAIT_S):
                await self.greet()
        except TimeoutError:
            self._failed(f"the embedder gave no answer within {PROBE_WAIT_S:g} s", rest=False)
        except Unavailable:
            return  # noted

    async def greet(self) -> None:
        """Have something embedded that no cache knows. Raises ``Unavailable``."""
        self._greetings += 1
        await self.embed([f"Are you there, engine? Greeting number {self._greetings}."])

    def why_unwell(self) -> str:
        """Empty while it works."""
        check = self.embedder.health()
        return self.failure or ("" if check.status == "pass" else check.output or "the embedder is unwell")
