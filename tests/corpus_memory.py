"""A corpus in memory: real keywords (SQLite FTS5), exact vectors, and a plain splitter at headings and blank
lines. For tests and measurements; the node's own store is another implementation of the same port."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from node.core.ports import Embedder
from node.knowledge.model import Chunk, Document
from node.language.sentences import content_words

_HEADING = re.compile(r"(#{1,6})\s+(.+)")
_WORD = re.compile(r"\w+")
CHUNK_WORDS = 120


def document(number: int, path: str, **fields: Any) -> Document:
    """A document of the shared scope, changed at the start of 2025 where nothing else is said."""
    title = path.rpartition("/")[2].rpartition(".")[0].replace("_", " ").replace("-", " ")
    plain = Document(
        id=number,
        scope="shared",
        path=path,
        cid=None,
        sha256="",
        media_type="text/markdown",
        size=0,
        title=title,
        status="current",
        last_modified=datetime(2025, 1, 1, tzinfo=UTC),
    )
    return replace(plain, **fields)


def pieces(text: str) -> list[tuple[tuple[str, ...], str, int]]:
    """(heading path, text, start) of each piece."""
    found: list[tuple[tuple[str, ...], str, int]] = []
    heading: dict[int, str] = {}
    held: list[str] = []
    start = at = 0

    def close() -> None:
        body = "".join(held).strip()
        if body:
            found.append((tuple(heading[level] for level in sorted(heading)), body, start))
        held.clear()

    for part in re.split(r"(?<=\n)(?=\s*\n|#)|(?<=\n\n)", text):
        match = _HEADING.match(part)
        if match:
            close()
            level = len(match[1])
            heading = {one: said for one, said in heading.items() if one < level} | {level: match[2].strip()}
            part_body = part[match.end() :]
            start, held = at + match.end(), [part_body]
        else:
            if held and len(" ".join(held).split()) + len(part.split()) > CHUNK_WORDS:
                close()
                start = at
            held.append(part)
        at += len(part)
    close()
    return found


class MemoryCorpus:
    """See the module. ``vectors``: one or more of each chunk, ``owners`` the ids they are of."""

    def __init__(self, documents: Sequence[Document], chunks: Iterable[Chunk]) -> None:
        self._documents = tuple(documents)
        self._chunks = {one.id: one for one in chunks}
        self._of: dict[int, list[Chunk]] = {}
        for one in self._chunks.values():
            self._of.setdefault(one.document, []).append(one)
        self._scope = {one.id: one.scope for one in documents}
        self.owners = np.array(list(self._chunks), np.int64)
        self.vectors: NDArray[np.float32] | None = None
        self._db = sqlite3.connect(":memory:", check_same_thread=False)
        self._db.execute("CREATE VIRTUAL TABLE words USING fts5(text, tokenize='porter unicode61')")
        rows = ((one.id, one.searched) for one in self._chunks.values())
        self._db.executemany("INSERT INTO words (rowid, text) VALUES (?, ?)", rows)

    @classmethod
    def of(cls, texts: Mapping[Document, str]) -> MemoryCorpus:
        """Documents with their texts, split."""
        chunks: list[Chunk] = []
        for one, text in texts.items():
            for place, (heading, piece, start) in enumerate(pieces(text)):
                end = start + len(piece)
                chunks.append(Chunk(len(chunks) + 1, one.id, place, piece, heading, start, end))
        return cls(list(texts), chunks)

    async def embed(self, embedder: Embedder, *, batch: int = 16) -> None:
        """Vectors for all chunks; one that is longer than the window by its first words."""
        texts = [one.searched for one in self._chunks.values()]
        made: list[NDArray[np.float32]] = []
        for at in range(0, len(texts), batch):
            for text, vector in zip(
                texts[at : at + batch], await embedder.embed(texts[at : at + batch]), strict=True
            ):
                size = 150
                while vector is None and size > 10:
                    vector = (await embedder.embed([" ".join(text.split()[:size])]))[0]
                    size //= 2
                made.append(np.zeros(embedder.info.dim, np.float32) if vector is None else vector)
        self.vectors = np.array(made, np.float32).reshape(len(made), embedder.info.dim)

    def keyword(self, query: str, scopes: Sequence[str], limit: int) -> Sequence[tuple[int, float]]:
        words = dict.fromkeys(content_words(query) and _said(query))
        if not words:
            return ()
        match = " OR ".join(f'"{word}"' for word in words)
        sql = "SELECT rowid, bm25(words) FROM words WHERE words MATCH ? ORDER BY bm25(words) LIMIT ?"
        rows = self._db.execute(sql, (match, len(self._chunks))).fetchall()
        return [(one, -score) for one, score in rows if self._in(one, scopes)][:limit]

    def dense(
        self, vector: NDArray[np.float32], scopes: Sequence[str], limit: int
    ) -> Sequence[tuple[int, float]]:
        if self.vectors is None:
            return ()
        cosine = self.vectors @ vector
        best: dict[int, float] = {}
        for at in np.argsort(-cosine, kind="stable"):
            if self._in(one := int(self.owners[at]), scopes):
                best.setdefault(one, float(cosine[at]))
            if len(best) == limit:
                break
        return list(best.items())

    def chunks(self, ids: Sequence[int]) -> dict[int, Chunk]:
        return {one: self._chunks[one] for one in ids if one in self._chunks}

    def neighbours(self, document: int, first: int, last: int) -> Sequence[Chunk]:
        return [one for one in self._of.get(document, ()) if first <= one.ordinal <= last]

    def documents(self, scopes: Sequence[str]) -> Sequence[Document]:
        if any(one.scope not in scopes for one in self._documents):
            return tuple(one for one in self._documents if one.scope in scopes)
        return self._documents

    def rarity(self, roots: Collection[str], scopes: Sequence[str]) -> dict[str, float]:
        texts = [one.searched.lower() for one in self._chunks.values() if self._in(one.id, scopes)]
        return {root: 1.0 - sum(root in text for text in texts) / (len(texts) + 1) for root in roots}

    def _in(self, chunk: int, scopes: Sequence[str]) -> bool:
        return self._scope[self._chunks[chunk].document] in scopes


def _said(query: str) -> list[str]:
    """The words of a question that carry meaning, as they stand."""
    return [word for word in _WORD.findall(query.lower()) if content_words(word)]
