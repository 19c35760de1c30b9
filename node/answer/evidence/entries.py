"""Stored entries as evidence: keeps them findable by question, answer and keywords, and finds them.

Promises:
- people's entries, adapters' answers and imported ones are evidence; what a model said never is, alone or on
  evidence;
- scope and context are a hard filter before any search; what is found is read again from the store before it
  is given out, so nothing withdrawn or past its time is shown;
- vectors of answers are derived: they live in this index and in its file, never in a record or an export. A
  lost file costs embedding again, in the background, while questions go first;
- without an embedder, keywords go on;
- peers' entries, however many and near, never take all places from ours;
- an answer that is stored for several wordings takes one place.

It must not know what becomes of the evidence.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from node.answer.evidence.keywords import Keywords
from node.answer.evidence.relevance import Rule, packaged
from node.core.clock import Clock
from node.core.errors import NodeError
from node.core.ipld.cid import Cid
from node.core.ports import (
    Embedded,
    EmbedderInfo,
    RecordStore,
    Relevant,
    Semantics,
    StoredRecord,
    VectorIndex,
)
from node.core.record import AnswerRecord
from node.peers.rules import kept as beside

if TYPE_CHECKING:
    from node.cache.index.flat_index import FlatIndex  # needs numpy, which may be missing

log = logging.getLogger("neuroswarm.evidence")

ENTRIES_MAX = 50_000
"""Entries that are findable as evidence: about 60 MiB of words and 75 of vectors. A further one takes the
place of the oldest, of what adapters looked up before what people stored."""
ANSWER_CHARS = 1_000
"""So much of an answer is embedded; where that is beyond the embedder's window, half of it."""
NEAREST = 16
"""Candidates from each of the three ways."""
PEERS_NEAREST = 240
"""So many more by their vectors where there are peers' entries: what is ours may stand behind those."""
_MADE = frozenset({"llm", "extractive"})
_MOMENT = timedelta(hours=1)
"""What an adapter says lives no longer where it is live."""
_PAGE = 256
_BATCH = 8
_REST_S = 0.05
_RETRY_S = 10.0


def is_evidence(record: object) -> bool:
    """Whether an answer may be shown to a model as something that is known. What a model made of evidence is
    not: the evidence is stored itself, and one wrong reading would become the note that the next answer
    rests on. What an adapter computed and cites nothing for (a sum) answers its own figures only, and what
    is looked up live its own moment."""
    if not isinstance(record, AnswerRecord) or record.source.kind in _MADE:
        return False
    if record.source.kind != "adapter":
        return True
    lasts = record.expires is None or record.expires - record.timestamp > _MOMENT
    return lasts and bool(record.citations)


class StoredEvidence:
    """See the module. ``start`` it, ``close`` it; everything on one event loop."""

    def __init__(
        self,
        records: RecordStore,
        semantics: Semantics,
        clock: Clock,
        directory: Path,
        *,
        rule: Rule | None = None,
        entries_max: int = ENTRIES_MAX,
    ) -> None:
        self._records = records
        self._semantics = semantics
        self._clock = clock
        self._directory = directory
        self._rule = rule or packaged()
        self._entries_max = entries_max
        self._keywords = Keywords()
        self._missing: dict[Cid, StoredRecord] = {}
        """Entries whose answers have no vector yet."""
        self._peers: set[Cid] = set()
        """Entries that are not ours."""
        self._looked_up: dict[Cid, None] = {}
        """Answers of adapters, the oldest first."""
        self._answers: FlatIndex | None = None
        self._info: EmbedderInfo | None = None
        self._sequence = self._change = 0
        self._following = asyncio.Lock()
        self._woken = asyncio.Event()
        self._work: asyncio.Task[None] | None = None
        self._is_saved = True

    # --- keeping ----------------------------------------------------------------------------------

    async def start(self) -> None:
        """Load the file if it is whole and of this embedder, follow the store, and begin to embed the rest.
        Raises what the store raises."""
        await self._use_embedder()
        await self._follow()
        self._work = asyncio.create_task(self._embed_missing())

    def changed(self) -> None:
        """Something was stored."""
        self._woken.set()

    @property
    def waiting(self) -> int:
        """Entries whose answers are not embedded yet."""
        return len(self._missing)

    async def _follow(self) -> None:
        async with self._following:
            while gone := await self._records.withdrawn_since(self._change, limit=_PAGE):
                for change, cid in gone:
                    self.remove(cid)
                    self._change = change
            while page := await self._records.since(self._sequence, limit=_PAGE):
                for stored in page:
                    self._take(stored)
                    self._sequence = stored.sequence

    def _take(self, stored: StoredRecord) -> None:
        record = stored.record
        if not isinstance(record, AnswerRecord) or not is_evidence(record) or stored.cid in self._keywords:
            return
        while len(self._keywords) >= self._entries_max:
            self.remove(next(iter(self._looked_up), self._keywords.oldest))
        if record.source.kind == "adapter":
            self._looked_up[stored.cid] = None
        self._keywords.add(
            stored.cid, f"{record.query} {record.answer}", scope=record.scope, context=record.context
        )
        if stored.origin != beside.OURS:
            self._peers.add(stored.cid)
        self._missing[stored.cid] = stored
        self._woken.set()

    def remove(self, cid: Cid) -> bool:
        """Forget it; True if it was there."""
        self._missing.pop(cid, None)
        self._peers.discard(cid)
        self._looked_up.pop(cid, None)
        if self._answers is not None and self._answers.remove(cid):
            self._is_saved = False
        return self._keywords.remove(cid)

    async def _use_embedder(self) -> None:
        """An index for the embedder that serves now; vectors of different models never meet."""
        info = self._semantics.info
        if not info.dim or (self._info is not None and self._info.digest == info.digest):
            return
        from node.cache.index import vector_file
        from node.cache.index.flat_index import FlatIndex

        index = FlatIndex(info.dim)
        path = vector_file.path_for(self._directory, info.digest)
        loaded = await asyncio.to_thread(vector_file.load_into, index, path, model_digest=info.digest)
        if isinstance(loaded, vector_file.Damaged):
            log.info("answers are embedded anew by %s: %s", info.model, loaded.reason)
            index = FlatIndex(info.dim)
        self._answers, self._info, self._is_saved = index, info, True
        self._sequence = self._change = 0
        self._keywords = Keywords()
        self._missing.clear()
        self._peers.clear()
        self._looked_up.clear()

    async def _embed_missing(self) -> None:
        while True:
            self._woken.clear()
            try:
                await self._use_embedder()
                await self._follow()
                await self._embed_all()
            except NodeError as exc:
                log.info("answers are not embedded now: %s", exc)
                await self._clock.sleep(_RETRY_S)
                continue
            await self._woken.wait()

    async def _embed_all(self) -> None:
        index, info = self._answers, self._info
        if index is None or info is None:
            return
        for cid in [cid for cid in self._missing if cid in index]:
            del self._missing[cid]
        while self._missing and self._semantics.info.digest == info.digest:
            batch = list(self._missing.values())[:_BATCH]
            vectors = await self._vectors(batch, info)
            for stored, embedded in zip(batch, vectors, strict=True):
                # It may have been withdrawn meanwhile.
                if self._missing.pop(stored.cid, None) is not None and embedded is not None:
                    record = stored.record
                    assert isinstance(record, AnswerRecord)
                    index.add(stored.cid, embedded.vector, scope=record.scope, context=record.context)
                    self._is_saved = False
            await self._clock.sleep(_REST_S)

    async def _vectors(self, batch: Sequence[StoredRecord], info: EmbedderInfo) -> list[Embedded | None]:
        texts = [_answer(stored)[:ANSWER_CHARS] for stored in batch]
        found = await self._semantics.embed(texts)
        for place, embedded in enumerate(found):
            if embedded is None:
                [found[place]] = await self._semantics.embed([texts[place][: ANSWER_CHARS // 2]])
        return [one if one is not None and one.info.digest == info.digest else None for one in found]

    async def save(self) -> None:
        """Write the vectors' file, if anything changed. Raises ``Unavailable``."""
        if self._answers is None or self._info is None or self._is_saved:
            return
        from node.cache.index import vector_file

        self._is_saved = True
        path = vector_file.path_for(self._directory, self._info.digest)
        digest = self._info.digest
        try:
            await asyncio.to_thread(
                vector_file.save, path, self._answers, model_digest=digest, sequence=0, change=0
            )
            await asyncio.to_thread(vector_file.remove_others, path)
        except BaseException:
            self._is_saved = False
            raise

    async def close(self) -> None:
        """Stop embedding and save. Idempotent; a failing save is logged and costs embedding again."""
        if self._work is not None:
            self._work.cancel()
            await asyncio.wait({self._work})
            self._work = None
        try:
            await self.save()
        except NodeError as exc:
            log.warning("the vectors of answers are not saved: %s", exc)

    # --- finding ----------------------------------------------------------------------------------

    async def retrieve(
        self, question: str, embedded: Embedded | None, *, scopes: Sequence[str], context: str | None, k: int
    ) -> list[Relevant]:
        """At most ``k`` live entries of these scopes and this context that are relevant enough, most relevant
        first; none rather than something that is beside the question. ``embedded``: the question's vector,
        None where there is no embedder: keywords alone then decide. What a model alone said is never among
        them. Raises ``Unavailable``, ``CorruptState``."""
        await self._follow()
        places = [(scope, context) for scope in scopes]
        weights = self._keywords.weights(question, places)
        cosines: dict[Cid, float] = {}
        if embedded is not None:
            for index in (self._semantics.index(embedded.info), self._answers_of(embedded.info)):
                await self._nearest(index, embedded, scopes, context, cosines)
        near = self._keywords.nearest(weights, places, NEAREST)
        ours = self._keywords.nearest(weights, places, NEAREST, without=self._peers)
        found = dict.fromkeys([*cosines, *near, *ours])
        covered = self._keywords.coverage(weights, found)
        digest = "" if embedded is None else embedded.info.digest
        # What only its words have found is no nearer than the last of those that its vectors have.
        least = min(cosines.values(), default=None)
        scored = {
            cid: score
            for cid in found
            if cid in self._keywords
            and (score := self._rule.score(cosines.get(cid, least), covered[cid], digest)) is not None
        }
        best = sorted(scored, key=lambda cid: (-scored[cid], str(cid)))
        own = [cid for cid in best if cid not in self._peers][: 4 * k]
        live = await self._records.live([*own, *(cid for cid in best if cid in self._peers)][: 8 * k])
        now = self._clock.now()
        current = [cid for cid in best if cid in live and _is_current(live[cid], now)]
        # One answer may be stored for several wordings: it is read once, by the nearest of them, ours first.
        first: dict[str, Cid] = {}
        for cid in sorted(current, key=self._peers.__contains__):
            first.setdefault(_answer(live[cid]), cid)
        current = [cid for cid in current if first[_answer(live[cid])] == cid]
        # However much peers say, it takes no more than half of the places from what is ours.
        chosen = [cid for cid in current if cid not in self._peers][: (k + 1) // 2]
        chosen += [cid for cid in current if cid not in chosen][: k - len(chosen)]
        return [
            Relevant(live[cid], scored[cid], cosines.get(cid, least), covered[cid])
            for cid in current
            if cid in chosen
        ]

    def _answers_of(self, info: EmbedderInfo) -> VectorIndex | None:
        return self._answers if self._info is not None and self._info.digest == info.digest else None

    async def _nearest(
        self,
        index: VectorIndex | None,
        embedded: Embedded,
        scopes: Sequence[str],
        context: str | None,
        cosines: dict[Cid, float],
    ) -> None:
        if index is None:
            return
        count = NEAREST + min(len(self._peers), PEERS_NEAREST)
        if index.is_quick:
            near = index.search(embedded.vector, scopes=scopes, context=context, k=count)
        else:
            near = await asyncio.to_thread(
                index.search, embedded.vector, scopes=scopes, context=context, k=count
            )
        for one in near:
            cosines[one.cid] = max(one.similarity, cosines.get(one.cid, -1.0))


def _answer(stored: StoredRecord) -> str:
    record = stored.record
    assert isinstance(record, AnswerRecord)
    return record.answer


def _is_current(stored: StoredRecord, now: datetime) -> bool:
    record = stored.record
    if not isinstance(record, AnswerRecord):
        return False
    ends = beside.ends(record, stored.origin, stored.kept)
    return ends is None or ends > now
