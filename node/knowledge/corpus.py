"""The stored documents as the search sees them: implements ``Corpus``. Blocking, for any thread.

Scope is a hard filter: it stands in every statement, and the vectors of each scope lie apart.
"""

from __future__ import annotations

import logging
import math
import sqlite3
from collections.abc import Collection, Sequence
from datetime import date, datetime
from functools import partial
from typing import TYPE_CHECKING

import orjson

from node.core.errors import CorruptState
from node.core.ipld.cid import Cid
from node.knowledge.model import UNKNOWN, Chunk, Document
from node.knowledge.rows import ABOUT_SCOPE, Changed, Row, words_of
from node.knowledge.sealing import ScopeKey
from node.knowledge.store import DocumentStore
from node.knowledge.vectors import DocumentVectors, hash_in
from node.language.sentences import WORD, content_words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray  # numpy may be missing

log = logging.getLogger("neuroswarm.documents")

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


def terms(query: str, keys: Sequence[ScopeKey] = ()) -> str:
    """A question as FTS5 is asked: any of its words, those that only join others left out where there are
    more, and what stands for them under these keys. Empty where it has none."""
    words = list(dict.fromkeys(word for word in WORD.findall(words_of(query))))
    telling = [word for word in words if content_words(word)] or words
    telling = telling[:TERMS_MAX]
    named = [name for key in keys for word in telling for name in key.words(word)]
    return " OR ".join(f'"{word}"' for word in (*telling, *named))


def _keyword(
    connection: sqlite3.Connection, asked: str, scopes: str, limit: int, about: bool
) -> list[tuple[int, float]]:
    look = (
        "SELECT c.id, -bm25(keyword) AS score FROM keyword JOIN chunk c ON c.id = keyword.rowid "
        f"JOIN document d ON d.id = c.document WHERE keyword MATCH ? AND d.scope IN {_IN} "
        "AND (c.ordinal < 0) = ? ORDER BY score DESC, c.id LIMIT ?"
    )
    return [(row[0], row[1]) for row in connection.execute(look, (asked, scopes, about, limit))]


def _rarity(
    connection: sqlite3.Connection, roots: Sequence[str], scopes: str, keys: Sequence[ScopeKey]
) -> dict[str, float]:
    look = (
        "SELECT count(*) FROM (SELECT 1 FROM keyword JOIN chunk c ON c.id = keyword.rowid JOIN document d "
        f"ON d.id = c.document WHERE keyword MATCH ? AND d.scope IN {_IN} LIMIT {_COUNTED_MAX})"
    )
    chunks = connection.execute("SELECT max(id) FROM chunk").fetchone()[0] or 0
    found = {}
    none = 1.0 if keys else UNKNOWN  # names of sealed words stand for whole words, not for their roots
    for one in roots:
        asked = f'"{words_of(one)}"' + ("*" if len(one) >= _PREFIX_MIN else "")
        asked = " OR ".join((asked, *(f'"{name}"' for key in keys for name in key.words(one))))
        count = connection.execute(look, (asked, scopes)).fetchone()[0]
        found[one] = math.log((chunks + 1) / (count + 0.5)) / math.log(chunks + 2) if count else none
    return found


def _by_hash(
    connection: sqlite3.Connection, found: Sequence[tuple[bytes, float]], scopes: str, about: bool
) -> list[tuple[int, float]]:
    look = (
        "SELECT c.id FROM chunk c JOIN document d ON d.id = c.document WHERE c.hash = ? "
        f"AND d.scope IN {_IN} AND (c.ordinal < 0) = ? ORDER BY c.id"
    )
    return [(row[0], score) for one, score in found for row in connection.execute(look, (one, scopes, about))]


def document_of(row: Row) -> Document:
    """A row of ``document``, as the store gives it."""
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
        known_as=row["known_as"],
    )


class StoredCorpus:
    """See ``Corpus``. ``about``: documents' descriptions are searched, else their texts. Every method raises
    ``Unavailable`` where the file cannot be read."""

    def __init__(self, store: DocumentStore, vectors: DocumentVectors, *, about: bool = False) -> None:
        self._store, self._about = store, about
        self._file = store.file
        self._vectors = vectors
        self._listed: dict[tuple[str, ...], Sequence[Document]] = {}
        store.listeners.append(self._hear)

    def _hear(self, changed: Changed) -> None:
        self._listed = {}

    def keyword(self, query: str, scopes: Sequence[str], limit: int) -> Sequence[tuple[int, float]]:
        asked = terms(query, self._store.sealer.keys(scopes))
        if not asked or limit < 1:
            return []
        look = partial(_keyword, asked=asked, scopes=_json(scopes), limit=limit, about=self._about)
        try:
            return self._file.read_here(look)
        except CorruptState as exc:  # vectors find without it, until it is made anew
            log.warning("event=keywords_damaged reason=%s", exc)
            self._store.has_bad_words = True
            return []

    def dense(
        self, vector: NDArray[np.float32], scopes: Sequence[str], limit: int
    ) -> Sequence[tuple[int, float]]:
        best: dict[bytes, float] = {}
        parted = [ABOUT_SCOPE + one for one in scopes] if self._about else scopes
        for cid, similarity in self._vectors.search(vector, parted, _PARTS * limit):
            best.setdefault(hash_in(cid), similarity)
        named = list(best.items())
        look = partial(_by_hash, found=named, scopes=_json(scopes), about=self._about)
        return self._file.read_here(look)[:limit]

    def rarity(self, roots: Collection[str], scopes: Sequence[str]) -> dict[str, float]:
        asked = [one for one in roots if terms(one)][:TERMS_MAX]
        keys = self._store.sealer.keys(scopes)
        return self._file.read_here(partial(_rarity, roots=asked, scopes=_json(scopes), keys=keys))

    def chunks(self, ids: Sequence[int]) -> dict[int, Chunk]:
        where = f"c.id IN {_IN}"
        job = partial(self._store.chunks_here, where=where, values=(_json(ids),))
        return {chunk.id: chunk for chunk in self._file.read_here(job)}

    def neighbours(self, document: int, first: int, last: int) -> Sequence[Chunk]:
        where = "c.document = ? AND c.ordinal BETWEEN ? AND ? ORDER BY c.ordinal"
        job = partial(self._store.chunks_here, where=where, values=(document, first, last))
        return self._file.read_here(job)

    def documents(self, scopes: Sequence[str]) -> Sequence[Document]:
        """The same sequence as before while no document has changed."""
        listed, asked = self._listed, tuple(scopes)  # a list that a change overtakes is nobody's any more
        found = listed.get(asked)
        if found is None:
            job = partial(self._store.rows_here, where=f"scope IN {_IN}", values=(_json(scopes),))
            found = [document_of(row) for row in self._file.read_here(job)]
            if len(listed) < _LISTED_MAX:
                found = listed.setdefault(asked, found)
        return found
