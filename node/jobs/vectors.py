"""Keeps the vector index of one model equal to the records: load, replay, embed anew, save.

The records are the truth. What a record says of itself decides what the index owes it:
- a vector of this model, made here: it is taken as it is (``follow``);
- a vector of another model, or one that somebody else made (a hint, not a fact), or a mark that one is owed
  (``store.remember.OWED``): the question is embedded anew, in the background (``lacking``, ``settle``);
- none of these (imported without an embedding): nothing; semantic look-up passes it by.

Vectors made anew live in the index only, for a record is signed and stays as it is. A lost file therefore
costs embedding again, never an answer.

Two watermarks say how far the store was followed: ``sequence`` for what is taken as it is, ``embedded``
(never ahead of it) for what is embedded anew. The file keeps the lower one: replaying a row that is there
changes nothing. The order of steps is what makes it safe to be killed anywhere: a vector is in the index
before the watermark passes its record, and in the file before the watermark in the file does.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from node.cache import index_file
from node.cache.flat_index import FlatIndex
from node.errors import Rejected
from node.ipfs.cid import Cid
from node.ports import EmbedderInfo, RecordStore, StoredRecord, Vector
from node.record import AnswerRecord
from node.store.remember import owes_vector
from node.store.rules import LOCAL

log = logging.getLogger("neuroswarm.vectors")

_PAGE = 256


@dataclass(frozen=True, slots=True)
class Lacking:
    """Records whose questions are to be embedded, in order; maybe none. ``upto`` is the sequence up to which
    nothing else is missing."""

    records: tuple[StoredRecord, ...]
    upto: int

    @property
    def texts(self) -> list[str]:
        return [one.record.query for one in self.records if isinstance(one.record, AnswerRecord)]


class IndexKeeper:
    """One index with the watermarks up to which it has followed the store. All on one event loop."""

    def __init__(
        self,
        index: FlatIndex,
        path: Path,
        info: EmbedderInfo,
        records: RecordStore,
        sequence: int,
        change: int,
    ) -> None:
        self.index = index
        self.info = info
        self.total = 0
        """Records met since the start that had to be embedded anew."""
        self.done = 0
        """Those of them that are."""
        self._path = path
        self._records = records
        self._sequence = self._embedded = sequence
        self._change = change
        self._following = asyncio.Lock()
        self._saving = asyncio.Lock()

    @classmethod
    async def open(cls, directory: Path, info: EmbedderInfo, records: RecordStore) -> IndexKeeper:
        """Load the file if it is whole and of this model, else start empty; then replay the store. Embeds
        nothing."""
        path = index_file.path_for(directory, info.digest)
        loaded = await asyncio.to_thread(index_file.load, path, model_digest=info.digest, dim=info.dim)
        if isinstance(loaded, index_file.Loaded):
            keeper = cls(loaded.index, path, info, records, loaded.sequence, loaded.change)
        else:
            log.info("vector index of %s is rebuilt from the records: %s", info.model, loaded.reason)
            keeper = cls(FlatIndex(info.dim), path, info, records, 0, 0)
        added, removed = await keeper.follow()
        log.info(
            "vector index of %s has %d rows (%d added, %d removed, %d to be embedded)",
            info.model,
            len(keeper.index),
            added,
            removed,
            keeper.total,
        )
        return keeper

    async def follow(self) -> tuple[int, int]:
        """Replay what was withdrawn and written since the watermarks; (added, removed). In this order: a
        record that was removed may come back with a new sequence."""
        added = removed = 0
        async with self._following:
            while changes := await self._records.withdrawn_since(self._change, limit=_PAGE):
                for change, cid in changes:
                    removed += self.index.remove(cid)
                    self._change = change
            while page := await self._records.since(self._sequence, limit=_PAGE):
                for stored in page:
                    # Without an await between these lines: ``embedded`` passes a record only if nothing
                    # before it is missing.
                    is_caught_up = self._embedded >= self._sequence
                    lacks = self._lacks(stored)
                    if not lacks:
                        added += self._take(stored)
                    self.total += lacks
                    self._sequence = stored.sequence
                    if is_caught_up and not lacks:
                        self._embedded = stored.sequence
        return added, removed

    def _own_vector(self, stored: StoredRecord) -> Vector | None:
        record = stored.record
        embedding = record.embedding if isinstance(record, AnswerRecord) else None
        if embedding is None or stored.origin != LOCAL:
            return None
        if (embedding.digest, embedding.dim) != (self.info.digest, self.info.dim):
            return None
        return np.frombuffer(embedding.vector, dtype="<f4").astype(np.float32)

    def _lacks(self, stored: StoredRecord) -> bool:
        record = stored.record
        return (
            isinstance(record, AnswerRecord)
            and (record.embedding is not None or owes_vector(stored))
            and stored.cid not in self.index
            and self._own_vector(stored) is None
        )

    def _take(self, stored: StoredRecord) -> bool:
        vector = self._own_vector(stored)
        return vector is not None and self.add(stored, vector)

    def add(self, stored: StoredRecord, vector: Vector) -> bool:
        """Put a vector of this model into the index; False, with a warning, where it cannot be taken."""
        record = stored.record
        assert isinstance(record, AnswerRecord)
        try:
            self.index.add(stored.cid, vector, scope=record.scope, context=record.context)
        except Rejected as exc:
            log.warning("record %s is not found by meaning: %s", stored.cid, exc)
            return False
        return True

    async def lacking(self, limit: int) -> Lacking | None:
        """What is to be embedded next, at most ``limit`` records, of those that ``follow`` has met; None when
        nothing is missing."""
        until = self._sequence
        if self._embedded >= until:
            return None
        page = await self._records.since(self._embedded, limit=limit)
        upto = page[-1].sequence if len(page) == limit else until
        upto = min(upto, until)
        met = tuple(one for one in page if one.sequence <= upto and self._lacks(one))
        return Lacking(met, upto)

    async def settle(self, lacking: Lacking, vectors: Sequence[Vector | None]) -> None:
        """Enter the vectors of ``lacking`` (None: its question has none) and move the watermark past them.

        First all are added, then those whose record is not live (any more) are dropped: a withdrawal that
        commits after that look finds its vector and removes it."""
        added = [
            stored.cid
            for stored, vector in zip(lacking.records, vectors, strict=True)
            if vector is not None and self.add(stored, vector)
        ]
        if added:
            live: Collection[Cid] = ()
            try:
                live = await self._records.live(added)
            finally:  # given up before the answer came: they are added again another time
                for cid in added:
                    if cid not in live:
                        self.index.remove(cid)
        self._embedded = max(self._embedded, lacking.upto)
        self.done += len(lacking.records)
        if self._embedded >= self._sequence:
            self.done = self.total  # some were withdrawn before their turn came

    async def save(self) -> None:
        """Write the file. Following first makes the watermarks true. Raises ``Unavailable``; the file before
        stays, and costs a longer replay."""
        await self.follow()
        async with self._saving:
            thread = asyncio.create_task(
                asyncio.to_thread(
                    index_file.save,
                    self._path,
                    self.index,
                    model_digest=self.info.digest,
                    sequence=min(self._sequence, self._embedded),
                    change=self._change,
                )
            )
            try:
                await asyncio.shield(thread)
            except asyncio.CancelledError:
                await asyncio.wait({thread})  # two threads must not write one file
                raise

    async def remove_others(self) -> None:
        """Delete the files of other models, and what unfinished writes left. Raises ``Unavailable``."""
        await asyncio.to_thread(index_file.remove_others, self._path)
