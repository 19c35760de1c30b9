"""Peers' records in and out of service: into the record store and the index with what is known of them, and
out again so that they may come back.

Promises: the vector is made here, never taken from the wire; one issuer has at most ``near`` records within
one neighbourhood of meaning (cosine ``NEAR_COSINE``) and ``BY_WORDS_MAX`` under one key, so that nobody
crowds out what others say; what goes out is found by no look-up from then on. Each step may be repeated.

It must not know why a record is served: ``node.peers.sync.admit`` decides.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from node.core.caller import SCOPE_PUBLIC
from node.core.errors import Unavailable, Withdrawn
from node.core.ipld.cid import Cid
from node.core.model import Json
from node.core.ports import BlockStore, Embedded, RecordStore, Semantics, StoredRecord
from node.core.record import AnswerRecord, TombstoneRecord
from node.peers.rules import kept as beside
from node.peers.rules.values import Held, Tier
from node.store.record_rules import LIVE
from node.store.remember import OWED

NEAR_COSINE = 0.9
NEIGHBOURS = 64
"""So many nearest records are looked at for those of one issuer."""
BY_WORDS_MAX = 4
"""Of one issuer under one keyword key, or one slot key that our reading does not give: half of what a look-up
by such a key brings up."""
_FOUND_MAX = 256
_PAGE = 1_000


@dataclass(frozen=True, slots=True)
class Place:
    """A record on its way into service. ``replaces``: older ones of the same issuer, of the same question."""

    held: Held
    record: AnswerRecord
    tier: Tier
    trust_ppm: int
    replaces: tuple[Cid, ...] = ()


@dataclass(frozen=True, slots=True)
class _OnItsWay:
    place: Place
    keyword_key: str | None
    embedded: Embedded | None

    def key(self, column: str) -> str | None:
        """What counts for its crowd: a slot key only if our own reading does not give it."""
        if column == "keyword_key":
            return self.keyword_key
        return self.place.record.slot_key if self.place.held.slot_key is None else None


class Serving:
    """Use from one event loop. ``slot_key``: our own reading of a question's slots; without it no peer's slot
    key is believed."""

    def __init__(
        self,
        records: RecordStore,
        blocks: BlockStore,
        semantics: Semantics,
        *,
        keyword_key: Callable[[str], str | None],
        slot_key: Callable[[AnswerRecord], str | None],
        near: int,
    ) -> None:
        self._records = records
        self._blocks = blocks
        self._semantics = semantics
        self._keyword_key = keyword_key
        self._slot_key = slot_key
        self._near = near
        self._coming: dict[Cid, _OnItsWay] = {}
        """What is on its way into service: it counts for the crowd of those that came behind it."""

    def slot_key_of(self, record: AnswerRecord) -> str | None:
        """The record's slot key if our own reading of its question gives the same."""
        if record.slot_key is None or self._slot_key(record) != record.slot_key:
            return None
        return record.slot_key

    async def put(self, place: Place) -> str:
        """Serve it from now on, under this tier. Empty, or why it is not served: ``crowd``, ``degenerate``
        (its vector says nothing), ``withdrawn`` (for good, here). Raises ``Rejected``, ``Unavailable``."""
        held, record = place.held, place.record
        kept = self._kept(place)
        there = (await self._records.live([held.cid])).get(held.cid)
        if there is not None and beside.is_imported(there.kept):
            kept = beside.imported(kept)
        if there is not None and there.origin == held.issuer and there.kept == kept:
            return ""
        embedded = await self._embed(record.query)
        if embedded is not None and _why_degenerate(embedded):
            return "degenerate"
        one = _OnItsWay(place, self._keyword_key(record.query), embedded)
        before = [other for other in self._coming.values() if other.place.held.issuer == held.issuer]
        self._coming[held.cid] = one
        try:
            if there is None and await self._is_crowded(one, before):
                return "crowd"
            if there is not None:
                await self.take_out(held.cid, held.issuer)
            return await self._stored(one, kept)
        finally:
            del self._coming[held.cid]

    async def _stored(self, one: _OnItsWay, kept: Mapping[str, Json]) -> str:
        place = one.place
        try:
            stored = await self._records.add(
                place.record,
                origin=place.held.issuer,
                supersede=place.replaces,
                keyword_key=one.keyword_key,
                kept=kept,
            )
        except Withdrawn:
            return "withdrawn"
        for gone in place.replaces:
            self._semantics.remove(gone)
        if stored.state != LIVE:
            return "withdrawn"
        self._semantics.keep(stored, one.embedded)
        return ""

    async def _embed(self, query: str) -> Embedded | None:
        """The question's vector; None while no embedder serves, and for a text beyond its window."""
        if not self._semantics.info.dim:
            return None
        try:
            [embedded] = await self._semantics.embed([query])
        except Unavailable:
            return None
        return embedded

    async def take_out(self, cid: Cid, issuer: str, *, but_imported: bool = False) -> bool:
        """Serve this issuer's record no longer; True if it was served. It may come back. ``but_imported``:
        unless the operator's own index has named it."""
        stored = (await self._records.live([cid])).get(cid)
        was_served = stored is not None and stored.origin == issuer
        if but_imported and stored is not None and was_served and beside.is_imported(stored.kept):
            return False
        if was_served:
            await self._blocks.delete(cid)
        self._semantics.remove(cid)
        return was_served

    async def bury(self, stone: TombstoneRecord, issuer: str) -> None:
        """An issuer's tombstone withdraws its record for good. Raises ``Rejected``, ``Unavailable``."""
        await self._records.add(stone, origin=issuer)

    async def take_out_all(self, issuer: str, goes: Callable[[AnswerRecord], bool]) -> int:
        """Serve no longer whatever of this issuer's ``goes`` names, however it came in; how many."""
        gone = sequence = 0
        while page := await self._records.since(sequence, limit=_PAGE):
            sequence = page[-1].sequence
            for stored in page:
                record = stored.record
                if stored.origin == issuer and isinstance(record, AnswerRecord) and goes(record):
                    gone += await self.take_out(stored.cid, issuer)
        return gone

    def _kept(self, place: Place) -> dict[str, Json]:
        record = place.record
        known = beside.beside(
            place.tier,
            place.trust_ppm,
            place.held.until,
            is_slot_key_read=record.slot_key is not None and place.held.slot_key == record.slot_key,
        )
        return {**known, OWED: True}

    async def _is_crowded(self, one: _OnItsWay, before: Sequence[_OnItsWay]) -> bool:
        """Whether its issuer has enough like it: in service, or on their way there before it."""
        place, embedded = one.place, one.embedded
        for column in ("keyword_key", "slot_key"):
            if (key := one.key(column)) is None:
                continue
            like = {other.place.held.cid for other in before if other.key(column) == key}
            if len(like | await self._under(column, key, place)) >= BY_WORDS_MAX:
                return True
        if embedded is None:
            return False
        like = {other.place.held.cid for other in before if _are_near(other.embedded, embedded)}
        near = await self._near_to(embedded)
        if len(near) + len(like) < self._near:
            return False
        live = await self._records.live(near)
        issuer = place.held.issuer
        like |= {cid for cid in live if _is_of(live, cid, issuer) and cid not in place.replaces}
        return len(like) >= self._near

    async def _under(self, column: str, key: str, place: Place) -> set[Cid]:
        found = await self._records.find(column, key, scopes=[SCOPE_PUBLIC], context=None, limit=_FOUND_MAX)
        mine = (one.cid for one in found if one.origin == place.held.issuer)
        return {cid for cid in mine if cid not in place.replaces}

    async def _near_to(self, embedded: Embedded) -> list[Cid]:
        index, vector = self._semantics.index(embedded.info), embedded.vector
        if index is None:
            return []
        most = max(NEIGHBOURS, 4 * self._near)
        if index.is_quick:
            near = index.search(vector, scopes=[SCOPE_PUBLIC], context=None, k=most)
        else:
            near = await asyncio.to_thread(index.search, vector, scopes=[SCOPE_PUBLIC], context=None, k=most)
        return [neighbour.cid for neighbour in near if neighbour.similarity >= NEAR_COSINE]


def _is_of(live: Mapping[Cid, StoredRecord], cid: Cid, issuer: str) -> bool:
    stored = live.get(cid)
    return stored is not None and stored.origin == issuer


def _are_near(one: Embedded | None, other: Embedded) -> bool:
    return one is not None and one.info == other.info and float(one.vector @ other.vector) >= NEAR_COSINE


def _why_degenerate(embedded: Embedded) -> str | None:
    from node.models.embedders.vectors import why_degenerate  # needs numpy, as whoever made the vector did

    return why_degenerate(embedded.vector, embedded.info.dim)
