"""Keeps the vector index equal to the records: load, replay, save. The records are the truth."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import numpy as np

from node.cache import index_file
from node.cache.flat_index import FlatIndex
from node.errors import NodeError
from node.ports import EmbedderInfo, RecordStore
from node.record import AnswerRecord

log = logging.getLogger("neuroswarm.vectors")

_PAGE = 1_000


class IndexKeeper:
    """One index with the two watermarks up to which it has followed the store."""

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
        self._path = path
        self._info = info
        self._records = records
        self._sequence = sequence
        self._change = change

    @classmethod
    async def open(cls, directory: Path, info: EmbedderInfo, records: RecordStore) -> IndexKeeper:
        """Load the file if it is whole and of this model, else start empty; then replay the store."""
        path = index_file.path_for(directory, info.digest)
        loaded = await asyncio.to_thread(index_file.load, path, model_digest=info.digest, dim=info.dim)
        if isinstance(loaded, index_file.Loaded):
            keeper = cls(loaded.index, path, info, records, loaded.sequence, loaded.change)
        else:
            log.info("vector index is rebuilt from the records: %s", loaded.reason)
            keeper = cls(FlatIndex(info.dim), path, info, records, 0, 0)
        added, removed = await keeper.follow()
        log.info("vector index has %d rows (%d added, %d removed)", len(keeper.index), added, removed)
        return keeper

    async def follow(self) -> tuple[int, int]:
        """Replay what was withdrawn and written since the watermarks; (added, removed). In this order: a
        record that was removed may come back with a new sequence."""
        added = removed = 0
        while changes := await self._records.withdrawn_since(self._change, limit=_PAGE):
            for change, cid in changes:
                removed += self.index.remove(cid)
                self._change = change
        while page := await self._records.since(self._sequence, limit=_PAGE):
            for stored in page:
                record = stored.record
                embedding = record.embedding if isinstance(record, AnswerRecord) else None
                if isinstance(record, AnswerRecord) and embedding and embedding.digest == self._info.digest:
                    vector = np.frombuffer(embedding.vector, dtype="<f4").astype(np.float32)
                    self.index.add(stored.cid, vector, scope=record.scope, context=record.context)
                    added += 1
                self._sequence = stored.sequence
        return added, removed

    async def save(self) -> None:
        """Write the file. Following first makes the watermarks true; the file is only a copy, so
        a failure is logged and costs a longer replay at the next start."""
        try:
            await self.follow()
            await asyncio.to_thread(
                index_file.save,
                self._path,
                self.index,
                model_digest=self._info.digest,
                sequence=self._sequence,
                change=self._change,
            )
        except NodeError as exc:
            log.warning("vector index not saved: %s", exc)
