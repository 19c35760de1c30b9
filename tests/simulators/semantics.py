"""One embedder and its index for good: the ``Semantics`` port without any switching, for tests of rooms."""

from __future__ import annotations

from collections.abc import Sequence

from node.core.errors import Unavailable
from node.core.ipld.cid import Cid
from node.core.model import Check
from node.core.ports import Embedded, Embedder, EmbedderInfo, SemanticFacts, StoredRecord, VectorIndex
from node.core.record import AnswerRecord


class OneModel:
    """``embedder`` None: nothing serves; then ``index`` is never asked for."""

    def __init__(self, embedder: Embedder | None = None, index: VectorIndex | None = None) -> None:
        self._embedder = embedder
        self._index = index
        self.kept: list[tuple[StoredRecord, Embedded | None]] = []
        """What was handed to ``keep``, in order."""

    @property
    def info(self) -> EmbedderInfo:
        return EmbedderInfo("none", "", 0, 0) if self._embedder is None else self._embedder.info

    async def embed(self, texts: Sequence[str]) -> list[Embedded | None]:
        if self._embedder is None:
            raise Unavailable("no embedder")
        info = self._embedder.info
        vectors = await self._embedder.embed(texts)
        return [None if vector is None else Embedded(vector, info) for vector in vectors]

    def index(self, info: EmbedderInfo) -> VectorIndex | None:
        return self._index if info.digest == self.info.digest else None

    def keep(self, stored: StoredRecord, embedded: Embedded | None) -> None:
        self.kept.append((stored, embedded))
        if embedded is not None and self._index is not None and isinstance(stored.record, AnswerRecord):
            record = stored.record
            self._index.add(stored.cid, embedded.vector, scope=record.scope, context=record.context)

    def remove(self, cid: Cid) -> bool:
        return self._index is not None and self._index.remove(cid)

    async def probe(self) -> None:
        """Nothing to find out."""

    def health(self) -> Sequence[Check]:
        return () if self._embedder is None else (self._embedder.health(),)

    def facts(self) -> SemanticFacts:
        return SemanticFacts(0 if self._index is None else len(self._index), self.info.dim, 0, 0)
