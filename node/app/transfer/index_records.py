"""What an entry of the index and a record say of each other. Pure."""

from __future__ import annotations

import hashlib

import orjson

from node.app.transfer.index_entry import EntryVector, IndexEntry
from node.core.ipld.cid import DAG_CBOR, Cid
from node.core.model import Client, Json, SourceRef
from node.core.ports import Embedded, EmbedderInfo, StoredRecord
from node.core.record import AnswerRecord, Embedding, Record
from node.peers.rules import kept as beside
from node.store.record_rules import LOCAL

SCOPE, ORIGIN = "scope", "origin"
"""Keys of an exported entry: who may see it, and whose word it is where it is not ours."""
UNVERIFIED = "unverified"
"""Key of an exported entry that a model said on no evidence."""
CLIENT = "client"
"""Key of an exported entry that a client stored: who that was; ``source`` is then its claim."""


_NAME_CHARS_MAX = 256


def record_cid(entry: IndexEntry) -> Cid | None:
    """The record that the entry names. Other CIDs (of the bare answer, in older files) name no record."""
    cid = None if entry.cid is None else Cid.parse(entry.cid)
    return cid if cid is not None and cid.codec == DAG_CBOR else None


def difference(record: Record, entry: IndexEntry) -> str | None:
    """What a record says otherwise than the entry that names it."""
    if not isinstance(record, AnswerRecord):
        return "it is no answer"
    if record.query_hash != entry.key:
        return "it answers another question than the entry"
    if entry.answer is not None and entry.answer != record.answer:
        return "its answer is not the entry's"
    return None


def kept_of(entry: IndexEntry) -> dict[str, Json]:
    """What is kept beside the record: unknown keys, without those that an export adds."""
    return {name: value for name, value in entry.extra.items() if name not in (SCOPE, ORIGIN, CLIENT)}


def source_of(entry: IndexEntry) -> SourceRef:
    """Whose word the entry is: of what a client had stored, that client's, never a document's."""
    by = entry.extra.get(CLIENT)
    if not isinstance(by, str) or not by.strip():
        return SourceRef("documents", entry.source or "import", time=entry.timestamp)
    by = by[:_NAME_CHARS_MAX]
    claim = None if entry.source in ("", by) else entry.source
    return SourceRef("client", claim or by, time=entry.timestamp, client=Client(by, claim))


def identity(entry: IndexEntry) -> str:
    """Names what an entry says, whatever else stands in it."""
    said = orjson.dumps([entry.key, entry.answer, entry.cid if entry.answer is None else None])
    return hashlib.sha256(said).hexdigest()


def embedded_of(embedding: Embedding) -> Embedded:
    """A record's embedding as the index has it."""
    import numpy as np

    vector = np.frombuffer(embedding.vector, dtype="<f4").astype(np.float32)
    return Embedded(vector, EmbedderInfo(embedding.model, embedding.digest, embedding.dim, 0))


def embedding_of(embedded: Embedded) -> Embedding:
    """The same, as a record has it."""
    info = embedded.info
    return Embedding(info.model, info.digest, info.dim, embedded.vector.astype("<f4").tobytes())


def exported(stored: StoredRecord, record: AnswerRecord) -> IndexEntry:
    """A record as an entry."""
    has, client = record.embedding, record.source.client
    return IndexEntry(
        query=record.query,
        query_hash=record.query_hash,
        answer=record.answer,
        cid=str(stored.cid),
        source=record.source.id,
        confidence=beside.confidence(record, stored.origin, stored.kept),
        timestamp=record.timestamp,
        expires=beside.ends(record, stored.origin, stored.kept),
        embedding=None if has is None else EntryVector(has.vector, has.model),
        extra={
            **(stored.kept or {}),
            SCOPE: record.scope,
            **({UNVERIFIED: True} if record.is_unverified else {}),
            **({} if client is None else {CLIENT: client.by}),
            **({} if stored.origin == LOCAL else {ORIGIN: stored.origin}),
        },
    )
