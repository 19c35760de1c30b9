"""A folder of files, a store of documents over it, and an embedder that can be switched off."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from node.core.document_settings import Documents
from node.core.errors import Unavailable
from node.core.model import Check
from node.core.ports import Embedded, EmbedderInfo, SemanticFacts, StoredRecord, VectorIndex
from node.knowledge.corpus import StoredCorpus
from node.knowledge.ingest import Ingestor, Run
from node.knowledge.store import DocumentStore
from node.knowledge.vectors import DocumentVectors
from tests.manual_clock import ManualClock

DIM = 32


def words(text: str) -> int:
    return len(text.split())


class Bags:
    """``Semantics`` by bags of words: equal texts have equal vectors, and shared words bring them nearer."""

    def __init__(self, name: str = "bags") -> None:
        self.info = EmbedderInfo(name, hashlib.sha256(name.encode()).hexdigest(), DIM, 64)
        self.is_there = True
        self.texts: list[str] = []

    async def embed(self, texts: Sequence[str]) -> list[Embedded | None]:
        if not self.is_there:
            raise Unavailable("the embedder is away")
        self.texts += texts
        return [Embedded(self.vector(text), self.info) for text in texts]

    def vector(self, text: str) -> np.ndarray:
        found = np.zeros(DIM, np.float32)
        for word in text.lower().replace(".", " ").split():
            seed = int.from_bytes(hashlib.sha256(f"{self.info.model} {word}".encode()).digest()[:8], "big")
            found += np.random.default_rng(seed).standard_normal(DIM).astype(np.float32)
        return found / np.linalg.norm(found)

    def index(self, info: EmbedderInfo) -> VectorIndex | None:
        return None

    def keep(self, stored: StoredRecord, embedded: Embedded | None) -> None: ...

    def remove(self, cid: object) -> bool:
        return False

    async def probe(self) -> None: ...

    def health(self) -> Sequence[Check]:
        return ()

    def facts(self) -> SemanticFacts:
        return SemanticFacts(0, 0, 0, 0)


class World:
    """One store in ``base`` and one folder beside it."""

    def __init__(self, base: Path, **settings: Any) -> None:
        self.base = base
        self.folder = base / "papers"
        self.folder.mkdir(exist_ok=True)
        self.bags = Bags()
        self.settings = Documents(**settings)
        self.steps: list[Run] = []
        self.gone: list[str] = []

    async def open(self) -> World:
        self.store = await DocumentStore.open(self.base / "documents.sqlite")
        self.store.listeners.append(lambda changed: self.gone.extend(changed.cids))
        self.vectors = await DocumentVectors.open(
            self.store, self.bags, words, ManualClock(), hnsw_above=20_000
        )
        self.ingestor = Ingestor(self.store, self.vectors, self.settings, words, self.screen)
        self.corpus = StoredCorpus(self.store, self.vectors)
        return self

    @staticmethod
    def screen(*texts: str) -> str | None:
        return "phone" if any("+49" in text for text in texts) else None

    async def close(self) -> None:
        await self.vectors.close()
        await self.store.close()

    def write(self, path: str, text: str | bytes) -> Path:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    async def ingest(self, scope: str = "shared", *, again: bool = False) -> Run:
        run = await self.ingestor.folder(str(self.folder), scope, self.steps.append, again=again)
        await self.vectors.idle()
        return run

    async def remove(self) -> None:
        """All that lies in the folder, by hand."""
        await self.ingestor.remove(await self.store.of_folder(str(self.folder)))
        await self.vectors.idle()

    def said(self, query: str, *scopes: str) -> list[str]:
        """Texts of the chunks that keywords find."""
        found = self.corpus.keyword(query, scopes or ("shared",), 10)
        chunks = self.corpus.chunks([number for number, _ in found])
        return [chunks[number].text for number, _ in found if number in chunks]

    def near(self, text: str, *scopes: str) -> list[str]:
        """Texts of the chunks that vectors find, the nearest first."""
        found = self.corpus.dense(self.bags.vector(text), scopes or ("shared",), 10)
        chunks = self.corpus.chunks([number for number, _ in found])
        return [chunks[number].text for number, _ in found if number in chunks]

    def status(self, *scopes: str) -> dict[str, str]:
        return {one.path: one.status for one in self.corpus.documents(scopes or ("shared",))}
