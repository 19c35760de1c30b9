"""knowledge-index.json in and out: imported once at first start, exported while it is small.

The file is the portable form (and the legacy one); the store is the truth. Entries without an embedding
stay without: they are found by hash and keyword until ``batch_embed.py`` has embedded them. What cannot be
imported is reported with its position; the imported file itself is never changed here.
"""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta
from pathlib import Path

import orjson

from node.classify.route import Router
from node.clock import Clock, new_id
from node.errors import NodeError, NotFound
from node.jobs import index_file
from node.model import PPM, SCOPE_PUBLIC, SCOPE_SHARED, Confidence, SourceRef
from node.normalise import normalise
from node.ports import Embedder, RecordStore, StoredRecord, Vector
from node.record import AnswerRecord
from node.store.remember import Memory, Rememberer
from node.store.state import StateStore

log = logging.getLogger("neuroswarm.portable")

EXPORT_ENTRIES_MAX = 20_000
_IMPORTED = "knowledge-index-imported"
_AT_ONCE = 64
_PAGE = 1_000


class PortableIndex:
    """Reads and writes the portable index of one node."""

    def __init__(
        self,
        records: RecordStore,
        rememberer: Rememberer,
        router: Router,
        state: StateStore,
        embedder: Embedder,
        clock: Clock,
    ) -> None:
        self._records = records
        self._rememberer = rememberer
        self._router = router
        self._state = state
        self._embedder = embedder
        self._clock = clock

    async def import_once(self, path: Path) -> int:
        """Import the file unless that was done before; how many entries are in the store because of
        it. Safe to be killed: a second run stores nothing twice. A damaged file is reported, not fatal."""
        if await self._state.get_meta(_IMPORTED) is not None:
            return 0
        try:
            file = await asyncio.to_thread(index_file.read, path)
        except NotFound:
            log.info("no knowledge index to import at %s", path)
            return 0
        except NodeError as exc:
            log.warning("the knowledge index was not imported: %s", exc)
            return 0
        for rejected in file.rejected:
            log.warning("%s: entry %d is not imported: %s", path, rejected.position, rejected.reason)
        memories = [memory for entry in file.entries if (memory := self._memory(entry)) is not None]
        kept = 0
        for start in range(0, len(memories), _AT_ONCE):
            done = await asyncio.gather(*map(self._rememberer.keep, memories[start : start + _AT_ONCE]))
            kept += sum(outcome.stored is not None for outcome in done)
        skipped = len(file.entries) - len(memories)
        log.info(
            "imported %d entries from %s (%d have no question, answer or time left)", kept, path, skipped
        )
        await self._state.set_meta(
            _IMPORTED, orjson.dumps({"entries": kept, "at": self._clock.now().isoformat()}).decode()
        )
        return kept

    def _memory(self, entry: index_file.IndexEntry) -> Memory | None:
        """An entry as a memory; None where the question or the answer's text is not in the file."""
        if entry.query is None or entry.answer is None or not normalise(entry.query):
            return None
        now = self._clock.now()
        lifetime_s = None
        if entry.expires is not None:
            lifetime_s = int((entry.expires - now) / timedelta(seconds=1))
            if lifetime_s <= 0:
                return None
        query = normalise(entry.query)
        route = self._router.route(entry.query, now=now)
        return Memory(
            request_id=new_id(),
            query=query,
            answer=entry.answer,
            route=str(route.kind),
            source=SourceRef("documents", entry.source or "import", time=entry.timestamp),
            confidence=Confidence(entry.confidence, {"source": entry.confidence}),
            scope=SCOPE_SHARED,
            lifetime_s=lifetime_s,
            slots=route.slots or None,
            slot_key=route.key,
            vector=self._vector(entry),
            embed=False,
            kept={**entry.extra, **({} if entry.cid is None else {"imported_cid": entry.cid})},
        )

    def _vector(self, entry: index_file.IndexEntry) -> Vector | None:
        """The entry's embedding if it is of this node's model and length."""
        info, embedding = self._embedder.info, entry.embedding
        if embedding is None or embedding.model != info.model or len(embedding.data) != info.dim * 4:
            return None
        import numpy as np

        vector = np.frombuffer(embedding.data, dtype="<f4").astype(np.float32)
        norm = float(np.linalg.norm(vector))
        return vector / np.float32(norm) if norm > 0 and np.isfinite(norm) else None

    async def export(self, path: Path) -> int:
        """Write every live record that is not private; how many. Left out while the store is large."""
        counts = await self._records.counts()
        if counts["live"] > EXPORT_ENTRIES_MAX:
            log.info("knowledge index not exported: over %d entries", EXPORT_ENTRIES_MAX)
            return 0
        entries: list[index_file.IndexEntry] = []
        sequence = 0
        now = self._clock.now()
        while page := await self._records.since(sequence, limit=_PAGE):
            for stored in page:
                sequence = stored.sequence
                record = stored.record
                fresh = record.expires is None or record.expires > now
                if (
                    isinstance(record, AnswerRecord)
                    and record.scope in (SCOPE_SHARED, SCOPE_PUBLIC)
                    and fresh
                ):
                    entries.append(_entry(stored, record))
        await asyncio.to_thread(index_file.write, path, entries, self._embedder.info.model)
        return len(entries)


def _entry(stored: StoredRecord, record: AnswerRecord) -> index_file.IndexEntry:
    embedding = record.embedding
    return index_file.IndexEntry(
        query=record.query,
        query_hash=record.query_hash,
        answer=record.answer,
        cid=str(stored.cid),
        source=record.source.id,
        confidence=record.confidence / PPM,
        timestamp=record.timestamp,
        expires=record.expires,
        embedding=None if embedding is None else index_file.EntryVector(embedding.vector, embedding.model),
        extra=dict(stored.kept or {}),
    )
