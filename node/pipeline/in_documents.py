"""The station that looks into documents, before what is stored is looked at: what they say is evidence."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from node.answer import documents
from node.answer.evidence.relevance import packaged
from node.core.clock import Clock
from node.core.errors import NodeError
from node.core.ports import NoteReader
from node.knowledge.model import Passage
from node.knowledge.retrieve import Search, retrieve
from node.knowledge.shelf import Shelf
from node.knowledge.used import UsedDocuments
from node.language import conversation
from node.language.tongue import may_be_english
from node.pipeline.stored import Stored
from node.pipeline.under_way import Reached, Walk, since_ms


@dataclass(frozen=True, slots=True)
class DocumentStation:
    """``search``: the documents of this node; ``reader``: of windows, None where it is not there."""

    clock: Clock
    search: Search
    reader: NoteReader | None
    used: UsedDocuments
    stored: Stored
    nearness: documents.Nearness | None = None

    async def consult(self, walk: Walk) -> Reached | None:
        """What documents say to the question, then what is stored for ones like it."""
        if not (walk.route.needs_history or walk.query.pasted):
            await self._look(walk)
        return await self.stored.consult(walk)

    async def _look(self, walk: Walk) -> None:
        scopes = walk.query.caller.visible_scopes
        started = self.clock.monotonic()
        question = conversation.subject(walk.query.text)
        try:
            shelf = await asyncio.to_thread(self.search.shelf, scopes)
            if not shelf.by_id:
                return
            passages = await retrieve(question, scopes, self.search)
            read = await self._read(walk, question, passages, shelf)
            if read.said and not walk.query.no_store:
                await self.used.note(read.facts.used)
        except NodeError as exc:
            walk.note("passages", "failed", str(exc), since_ms(self.clock, started), "unread")
            return
        walk.documents = read
        walk.evidence += read.evidence
        walk.evidence_scopes |= read.scopes
        outcome = "missed" if not read.said else "found" if read.is_sure else "unsure"
        said = f"{len(passages)} passages, {len(read.said)} windows quoted, sure by {read.share:.2f}"
        walk.note("passages", outcome, said, since_ms(self.clock, started))
        if read.orders:
            names = ", ".join(one.path for one in read.orders)
            walk.note(
                "passages", "orders", f"sentences that give orders, not followed: {names}", code="orders"
            )

    async def _read(
        self, walk: Walk, question: str, passages: Sequence[Passage], shelf: Shelf
    ) -> documents.Read:
        made = walk.vector
        is_known = made is not None and made.info.digest == packaged().embedder and may_be_english(question)
        vector = made.vector if made is not None and is_known else None
        rarity = partial(self.search.corpus.rarity, scopes=walk.query.caller.visible_scopes)
        return await documents.read(question, passages, shelf, self.reader, rarity, vector, self.nearness)
