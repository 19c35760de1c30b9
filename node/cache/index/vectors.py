"""Keeps the vector index of one model equal to the records: load, replay, embed anew, save.

The records are the truth. What a record says of itself decides what the index owes it:
- a vector of this model, made here: it is taken as it is (``follow``);
- a vector of another model, or one that somebody else made (a hint, not a fact), or a mark that one is owed
  (``store.remember.OWED``): the question is embedded anew, in the background (``lacking``, ``settle``);
- none of these (imported without an embedding): nothing; semantic look-up passes it by.

Vectors made anew live in the index only, for a record is signed and stays as it is. A lost file therefore
costs embedding again, never an answer.

A large partition is searched by HNSW (``growing_index``); its files lie beside the vectors and save no
more than time.

Two watermarks say how far the store was followed: ``sequence`` for what is taken as it is, ``embedded``
(never ahead of it) for what is embedded anew. The file keeps the lower one: replaying a row that is there
changes nothing. The order of steps is what makes it safe to be killed anywhere: a vector is in the index
before the watermark passes its record, and in the file before the watermark in the file does.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import numpy as np

from node.cache.index import vector_file
from node.cache.index.growing_index import HNSW_ABOVE, GrowingIndex
from node.core.clock import Clock
from node.core.errors import Rejected
from node.core.ipld.cid import Cid
from node.core.ports import EmbedderInfo, RecordStore, StoredRecord, Vector
from node.core.record import AnswerRecord
from node.store.record_rules import LOCAL
from node.store.remember import owes_vector

log = logging.getLogger("neuroswarm.vectors")

TIDY_EVERY_S = 86_400.0
"""After this time a graph is rebuilt at the next change, if only so that vectors of withdrawn records leave
memory and disk; a fifth of dead rows has it rebuilt sooner."""

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
        index: GrowingIndex,
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
        self._due = asyncio.Event()
        """Set when the index may have work to do (``grow``)."""
        self._following = asyncio.Lock()
        self._saving = asyncio.Lock()

    @classmethod
    async def open(
        cls, directory: Path, info: EmbedderInfo, records: RecordStore, *, hnsw_above: int = HNSW_ABOVE
    ) -> IndexKeeper:
        """Load the files if they are whole and of this model, else start empty; then replay the store. Embeds
        nothing."""
        path = vector_file.path_for(directory, info.digest)
        index, marks = await asyncio.to_thread(_load, path, info, hnsw_above)
        if isinstance(marks, vector_file.Damaged):
            log.info("vector index of %s is rebuilt from the records: %s", info.model, marks.reason)
            marks = vector_file.Watermarks(0, 0)
        keeper = cls(index, path, info, records, marks.sequence, marks.change)
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
                    removed += self.remove(cid)
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
        """A row that is there stays: a CID means one vector, and adding it anew would kill a graph's node."""
        vector = None if stored.cid in self.index else self._own_vector(stored)
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
        self._note_work()
        return True

    def remove(self, cid: Cid) -> bool:
        """Forget it; True if it was there."""
        was_there = self.index.remove(cid)
        self._note_work()
        return was_there

    def _note_work(self) -> None:
        if self.index.has_work:
            self._due.set()

    async def grow(self, clock: Clock) -> None:
        """Have the index's work done in a thread, for as long as this task lives: half of a core at most."""
        tidied = clock.monotonic()
        while True:
            self._due.clear()
            while self.index.has_work:
                began = clock.monotonic()
                await _to_its_end(asyncio.to_thread(self.index.work))
                await clock.sleep(clock.monotonic() - began)
            await self._due.wait()
            if clock.monotonic() - tidied > TIDY_EVERY_S:
                tidied = clock.monotonic()
                self.index.tidy()

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
                        self.remove(cid)
        self._embedded = max(self._embedded, lacking.upto)
        self.done += len(lacking.records)
        if self._embedded >= self._sequence:
            self.done = self.total  # some were withdrawn before their turn came

    async def save(self) -> None:
        """Write the files. Following first makes the watermarks true. Raises ``Unavailable``; the files
        before stay, and cost a longer replay."""
        await self.follow()
        async with self._saving:
            sequence = min(self._sequence, self._embedded)
            # Two threads must not write one file.
            await _to_its_end(asyncio.to_thread(self._write, sequence, self._change))

    def _write(self, sequence: int, change: int) -> None:
        digest = self.info.digest
        vector_file.save(self._path, self.index, model_digest=digest, sequence=sequence, change=change)
        with self.index.paused() as graphs:
            if (hnsw_file := _graph_files()) is not None:
                hnsw_file.save_all(self._path.parent, graphs, model_digest=digest)

    async def remove_others(self) -> None:
        """Delete the files of other models, and what unfinished writes left. Raises ``Unavailable``."""
        await asyncio.to_thread(_remove_others, self._path, self.info.digest)


def _graph_files() -> ModuleType | None:
    """``hnsw_file``; None without usearch, where there are no graphs."""
    try:
        from node.cache.index import hnsw_file
    except ImportError:
        return None
    return hnsw_file


def _remove_others(path: Path, digest: str) -> None:
    vector_file.remove_others(path)
    if (hnsw_file := _graph_files()) is not None:
        own = dict.fromkeys(path.parent.glob(f"{digest}*{hnsw_file.SUFFIX}"))
        hnsw_file.remove_others(path.parent, own)


def _load(
    path: Path, info: EmbedderInfo, hnsw_above: int
) -> tuple[GrowingIndex, vector_file.Watermarks | vector_file.Damaged]:
    """The index as the files say; an empty one where the vectors' file is not usable. Blocks."""
    hnsw_file = _graph_files()
    graphs = (
        None if hnsw_file is None else hnsw_file.load_all(path.parent, model_digest=info.digest, dim=info.dim)
    )
    index = GrowingIndex(info.dim, above=hnsw_above, graphs=graphs)
    marks = vector_file.load_into(index, path, model_digest=info.digest)
    if isinstance(marks, vector_file.Damaged):
        return GrowingIndex(info.dim, above=hnsw_above), marks
    index.extended()
    return index, marks


async def _to_its_end(work: Coroutine[None, None, object]) -> None:
    """Wait for what a thread does, even when cancelled: it goes on anyway."""
    thread = asyncio.ensure_future(work)
    try:
        await asyncio.shield(thread)
    except asyncio.CancelledError:
        await asyncio.wait({thread})
        raise
