"""The stored documents as the search sees them: implements ``Corpus``. Blocking, for any thread.

Scope is a hard filter: it stands in every statement, and the vectors of each scope lie apart.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Collection, Sequence
from datetime import date, datetime
from functools import partial
from typing import TYPE_CHECKING

import orjson

from node.core.ipld.cid import Cid
from node.knowledge.model import UNKNOWN, Chunk, Document
from node.knowledge.store import Changed, DocumentStore, words_of
from node.knowledge.store import _chunk as chunk_of
from node.knowledge.vectors import DocumentVectors, hash_in
from node.language.sentences import WORD, content_words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray  # numpy may be missing

TERMS_MAX = 32
_PARTS = 4
"""Windows of one chunk that may stand before the next chunk's, on average."""
_LISTED_MAX = 64
"""Askers whose lists of documents are kept."""
_COUNTED_MAX = 2_000
"""A word that stands in so many chunks is as common as one needs to know."""
_PREFIX_MIN = 4
_IN = "(SELECT value FROM json_each(?))"


def _json(values: Sequence[object]) -> str:
    return orjson.dumps(list(values)).decode()


def terms(query: str) -> str:
    """A question as FTS5 is asked: any of its words, those that only join others left out where there are
    more. Empty where it has none."""
    words = list(dict.fromkeys(word for word in WORD.findall(words_of(query))))
    telling = [word for word in words if content_words(word)] or words
    return " OR ".join(f'"{word}"' for word in telling[:TERMS_MAX])


def _keyword(connection: sqlite3.Connection, asked: str, scopes: str, limit: int) -> list[tuple[int, float]]:
    look = (
        "SELECT c.id, -bm25(keyword) AS score FROM keyword JOIN chunk c ON c.id = keyword.rowid "
        f"JOIN document d ON d.id = c.document WHERE keyword MATCH ? AND d.scope IN {_IN} "
        "ORDER BY score DESC, c.id LIMIT ?"
    )
    return [(row[0], row[1]) for row in connection.execute(look, (asked, scopes, limit))]


def _rarity(connection: sqlite3.Connection, roots: Sequence[str], scopes: str) -> dict[str, float]:
    look = (
        "SELECT count(*) FROM (SELECT 1 FROM keyword JOIN chunk c ON c.id = keyword.rowid JOIN document d "
        f"ON d.id = c.document WHERE keyword MATCH ? AND d.scope IN {_IN} LIMIT {_COUNTED_MAX})"
    )
    chunks = connection.execute("SELECT max(id) FROM chunk").fetchone()[0] or 0
    found = {}
    for one in roots:
        asked = f'"{words_of(one)}"' + ("*" if len(one) >= _PREFIX_MIN else "")
        count = connection.execute(look, (asked, scopes)).fetchone()[0]
        found[one] = math.log((chunks + 1) / (count + 0.5)) / math.log(chunks + 2) if count else UNKNOWN
    return found


def _by_hash(
    connection: sqlite3.Connection, found: Sequence[tuple[bytes, float]], scopes: str
) -> list[tuple[int, float]]:
    look = (
        "SELECT c.id FROM chunk c JOIN document d ON d.id = c.document WHERE c.hash = ? "
        f"AND d.scope IN {_IN} ORDER BY c.id"
    )
    return [(row[0], score) for one, score in found for row in connection.execute(look, (one, scopes))]


def _chunks(connection: sqlite3.Connection, ids: str) -> dict[int, Chunk]:
    rows = connection.execute(f"SELECT * FROM chunk WHERE id IN {_IN}", (ids,))
    return {row["id"]: chunk_of(row) for row in rows}


def _neighbours(connection: sqlite3.Connection, document: int, first: int, last: int) -> list[Chunk]:
    look = "SELECT * FROM chunk WHERE document = ? AND ordinal BETWEEN ? AND ? ORDER BY ordinal"
    return [chunk_of(row) for row in connection.execute(look, (document, first, last))]


def document_of(row: sqlite3.Row) -> Document:
    """A row of ``document``."""
    return Document(
        id=row["id"],
        scope=row["scope"],
        path=row["path"],
        cid=None if row["cid"] is None else Cid.parse(row["cid"]),
        sha256=row["sha256"],
        media_type=row["media_type"],
        size=row["size"],
        title=row["title"] or row["own_title"] or row["path"],
        status=row["status"],
        last_modified=datetime.fromisoformat(row["last_modified"] or row["modified"]),
        effective=None if row["effective"] is None else date.fromisoformat(row["effective"]),
        supersedes=tuple(orjson.loads(row["supersedes"])),
        conflict_with=tuple(orjson.loads(row["conflict_with"])),
        in_manifest=bool(row["in_manifest"]),
        tags=tuple(orjson.loads(row["tags"])),
        description=row["description"],
        language=row["language"],
    )


def _documents(connection: sqlite3.Connection, scopes: str) -> list[Document]:
    look = f"SELECT * FROM document WHERE scope IN {_IN} ORDER BY folder, path"
    return [document_of(row) for row in connection.execute(look, (scopes,))]


class StoredCorpus:
    """See ``Corpus``. Every method raises ``Unavailable`` where the file cannot be read."""

    def __init__(self, store: DocumentStore, vectors: DocumentVectors) -> None:
        self._file = store.file
        self._vectors = vectors
        self._listed: dict[tuple[str, ...], Sequence[Document]] = {}
        store.listeners.append(self._hear)

    def _hear(self, changed: Changed) -> None:
        self._listed = {}

    def keyword(self, query: str, scopes: Sequence[str], limit: int) -> Sequence[tuple[int, float]]:
        asked = terms(query)
        if not asked or limit < 1:
            return []
        return self._file.read_here(partial(_keyword, asked=asked, scopes=_json(scopes), limit=limit))

    def dense(
        self, vector: NDArray[np.float32], scopes: Sequence[str], limit: int
    ) -> Sequence[tuple[int, float]]:
        best: dict[bytes, float] = {}
        for cid, similarity in self._vectors.search(vector, scopes, _PARTS * limit):
            best.setdefault(hash_in(cid), similarity)
        found = self._file.read_here(partial(_by_hash, found=list(best.items()), scopes=_json(scopes)))
        return found[:limit]

    def rarity(self, roots: Collection[str], scopes: Sequence[str]) -> dict[str, float]:
        asked = [one for one in roots if terms(one)][:TERMS_MAX]
        return self._file.read_here(partial(_rarity, roots=asked, scopes=_json(scopes)))

    def chunks(self, ids: Sequence[int]) -> dict[int, Chunk]:
        return self._file.read_here(partial(_chunks, ids=_json(ids)))

    def neighbours(self, document: int, first: int, last: int) -> Sequence[Chunk]:
        return self._file.read_here(partial(_neighbours, document=document, first=first, last=last))

    def documents(self, scopes: Sequence[str]) -> Sequence[Document]:
        """The same sequence as before while no document has changed."""
        listed, asked = self._listed, tuple(scopes)  # a list that a change overtakes is nobody's any more
        found = listed.get(asked)
        if found is None:
            found = self._file.read_here(partial(_documents, scopes=_json(scopes)))
            if len(listed) < _LISTED_MAX:
                found = listed.setdefault(asked, found)
        return found
