"""Vectors of chunks: made while the embedder is there, and the index that they are found by.

Promises: what is embedded is stored once for each text and model; another model's vectors are never compared;
what could not be embedded yet is made up for (``catch_up``), also after a change of the model and a restart.
The index is made from the store at the start and follows its changes.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from node.core.clock import Clock
from node.core.errors import NodeError, Rejected, Unavailable
from node.core.ipld.cid import RAW, Cid
from node.core.ports import Embedded, EmbedderInfo
from node.knowledge.chunks import Count, windows
from node.knowledge.model import Chunk
from node.knowledge.rows import HASH_BYTES, Changed, Vectors
from node.knowledge.store import DocumentStore

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray  # numpy may be missing

    from node.cache.index.growing_index import GrowingIndex

log = logging.getLogger("neuroswarm.documents")

_PART_BYTES = 4
_BATCH = 16
"""Windows in one call: a bulk call of the embedder, over in a second or two."""
_CHUNKS = 64
PARTS_MAX = 512
"""Windows of one chunk that are embedded: 150 pages where a whole file is one."""
_SPECIAL_TOKENS = 6


def key_of(scope: str, hash_: bytes, part: int) -> Cid:
    """The name of a vector in the index."""
    tail = hashlib.sha256(scope.encode()).digest()[: 32 - HASH_BYTES - _PART_BYTES]
    return Cid(RAW, hash_ + part.to_bytes(_PART_BYTES, "big") + tail)


def hash_in(key: Cid) -> bytes:
    """The hash of the chunk that a vector is of."""
    return key.digest[:HASH_BYTES]


class Texts(Protocol):
    """What embeds the texts of documents, as ``Semantics`` does."""

    @property
    def info(self) -> EmbedderInfo: ...

    async def embed(self, texts: Sequence[str]) -> list[Embedded | None]: ...


class DocumentVectors:
    """Build with ``open``; all but ``search`` on one event loop. ``count``: tokens of a text."""

    def __init__(
        self, store: DocumentStore, semantics: Texts, count: Count, clock: Clock, above: int
    ) -> None:
        self._store = store
        self._semantics = semantics
        self._count = count
        self._clock = clock
        self._above = above
        self._index: GrowingIndex | None = None
        self._info: EmbedderInfo | None = None
        self._held: dict[bytes, set[Cid]] = {}
        """By the hash of a chunk: the keys in the index."""
        self._due = asyncio.Event()
        self._busy = asyncio.Lock()
        self._refreshing = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()

    @classmethod
    async def open(
        cls, store: DocumentStore, semantics: Texts, count: Count, clock: Clock, *, hnsw_above: int
    ) -> DocumentVectors:
        """With what is stored for the model that serves now. Raises ``Unavailable``."""
        self = cls(store, semantics, count, clock, hnsw_above)
        store.listeners.append(self._hear)
        await self._follow_model()
        self._begin(self._grow(), "grow")
        return self

    def search(
        self, vector: NDArray[np.float32], scopes: Sequence[str], limit: int
    ) -> list[tuple[Cid, float]]:
        """(key, cosine), best first; none where no vectors of this length are here."""
        index = self._index
        if index is None or vector.shape != (index.dim,):
            return []
        with suppress(Rejected):
            return [
                (one.cid, one.similarity)
                for one in index.search(vector, scopes=scopes, context=None, k=limit)
            ]
        return []

    @property
    def is_served(self) -> bool:
        """Whether an embedder is there, as far as is known."""
        return bool(self._semantics.info.dim)

    @property
    def has_work(self) -> bool:
        """Whether the index is still being made into a graph."""
        return self._index is not None and self._index.has_work

    def __len__(self) -> int:
        return 0 if self._index is None else len(self._index)

    # --- making -----------------------------------------------------------------------------------

    async def of(self, named: Mapping[bytes, Chunk]) -> tuple[str, Vectors]:
        """The model, and vectors for those chunks, by their hashes, that have none yet. Raises
        ``Unavailable``."""
        info = self._semantics.info
        if not info.dim:
            raise Unavailable("no embedder serves now")
        known = await self._store.known(info.digest, list(named))
        wanted = {hash_: chunk for hash_, chunk in named.items() if hash_ not in known}
        texts = await asyncio.to_thread(self._windows, wanted, info.tokens_max - _SPECIAL_TOKENS)
        made: dict[bytes, list[bytes]] = {hash_: [] for hash_ in wanted}
        for start in range(0, len(texts), _BATCH):
            part = texts[start : start + _BATCH]
            for (hash_, _), one in zip(
                part, await self._semantics.embed([text for _, text in part]), strict=True
            ):
                if one is not None and one.info.digest != info.digest:
                    raise Unavailable("the embedder was exchanged meanwhile")
                if one is not None:
                    made[hash_].append(one.vector.astype("float16").tobytes())
        return info.digest, made

    def _windows(self, wanted: dict[bytes, Chunk], room: int) -> list[tuple[bytes, str]]:
        return [
            (hash_, text)
            for hash_, chunk in wanted.items()
            for text in windows(chunk, room, self._count)[:PARTS_MAX]
        ]

    async def catch_up(self) -> int:
        """Embed what is owed; how many chunks were. Raises ``Unavailable``: the rest is owed still."""
        async with self._busy:
            await self._follow_model()
            done = 0
            while self._info is not None and (owed := await self._store.owed(self._info.digest, _CHUNKS)):
                model, vectors = await self.of(dict(owed))
                if model != self._info.digest:
                    raise Unavailable("the embedder was exchanged meanwhile")
                await self._store.keep(model, vectors)
                done += len(owed)
            return done

    # --- the index --------------------------------------------------------------------------------

    async def _follow_model(self) -> None:
        """Changes that are heard of meanwhile are made up for behind it."""
        async with self._refreshing:
            info = self._semantics.info
            if not info.dim or (self._info is not None and self._info.digest == info.digest):
                return
            from node.cache.index.growing_index import GrowingIndex

            rows = await self._store.saved(info.digest, None)
            self._index, self._info, self._held = GrowingIndex(info.dim, above=self._above), info, {}
            self._add(rows)
            log.info("event=document_vectors model=%s rows=%d", info.model, len(self._index))

    def _add(self, rows: Sequence[tuple[str, bytes, int, bytes]]) -> None:
        import numpy as np

        assert self._index is not None
        for scope, hash_, part, data in rows:
            key = key_of(scope, hash_, part)
            vector = np.frombuffer(data, np.float16).astype(np.float32)
            vector /= np.sqrt((vector * vector).sum())
            with suppress(Rejected):
                self._index.add(key, vector, scope=scope, context=None)
                self._held.setdefault(hash_, set()).add(key)
        self._due.set()

    def _hear(self, changed: Changed) -> None:
        if changed.hashes:
            self._begin(self._refresh(changed.hashes), "refresh")

    async def _refresh(self, hashes: Sequence[bytes]) -> None:
        """Make the index have of these chunks what the store has."""
        async with self._refreshing:
            if self._info is None or self._index is None:
                return
            rows = await self._store.saved(self._info.digest, hashes)
            self._replace(self._index, hashes, rows)

    def _replace(
        self, index: GrowingIndex, hashes: Sequence[bytes], rows: Sequence[tuple[str, bytes, int, bytes]]
    ) -> None:
        there = {key_of(scope, hash_, part) for scope, hash_, part, _ in rows}
        for hash_ in hashes:
            for key in self._held.get(hash_, set()) - there:
                index.remove(key)
            kept = self._held.get(hash_, set()) & there
            self._held.pop(hash_, None)
            if kept:
                self._held[hash_] = kept
        self._add([row for row in rows if key_of(*row[:3]) not in self._held.get(row[1], ())])

    async def idle(self) -> None:
        """Wait until the index has what the store had."""
        while waiting := [task for task in self._tasks if task.get_name() == "refresh"]:
            await asyncio.wait(waiting)

    async def _grow(self) -> None:
        while True:
            await self._due.wait()
            self._due.clear()
            while self._index is not None and self.has_work:
                began = self._clock.monotonic()
                await asyncio.to_thread(self._index.work)
                await self._clock.sleep(self._clock.monotonic() - began)

    def _begin(self, work: Coroutine[None, None, None], name: str) -> None:
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (failure := task.exception()) is not None:
            log.error("event=document_vectors_failed reason=%s", failure)
            if not isinstance(failure, NodeError):
                raise failure

    async def close(self) -> None:
        """Idempotent."""
        with suppress(ValueError):
            self._store.listeners.remove(self._hear)
        tasks = set(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
