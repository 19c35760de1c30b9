"""Recall: look a question up in what the node remembers. Exact, then slot, then keyword, then semantic.

This file moves bytes; every rule about what may be served is in ``lookup`` (pure). Scope and context are
a hard filter before any search. A candidate's liveness is read again after the search and before
it is served, unless the store has acknowledged no change meanwhile: a record that was withdrawn is never
given out.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from itertools import count

from node.cache.keys import keyword_key
from node.cache.local_precedence import own_first
from node.cache.lookup import SEMANTIC, TOO_FAR, Candidate, Choice, Judged, Policy, choose
from node.cache.matching.gate import agree
from node.cache.matching.gate_model import WRONG_RATE, packaged
from node.cache.matching.neighbours import SIZE_MAX
from node.cache.peer_crowd import BEHIND_A_CROWD, is_crowded, thinned
from node.cache.refuted import NothingRefuted, Refuted, Said
from node.core.clock import Clock
from node.core.clock_rule import Doubt
from node.core.ipld.cid import Cid
from node.core.model import CLAIM, HitInfo, Kind, Query, Route
from node.core.normalise import normalise, query_hash
from node.core.ports import Embedded, EmbedderInfo, Neighbour, RecordStore, Semantics, StoredRecord, Vector
from node.core.record import AnswerRecord
from node.peers.rules import kept as beside
from node.peers.rules.values import Tier

Embed = Callable[[], Awaitable[Embedded | None]]
Reference = Callable[[Sequence[str]], Awaitable[Sequence[Vector | None] | None]]
"""Vectors of texts by the embedder that the gate was calibrated on; None where it is not to be had."""
KNOWN_MAX = 64
"""Look-ups by the very words that wait for the recall behind them."""
UNREAD = "store_failed"
"""The code of a look-up that found nothing, and could not read all that is stored."""
UNREAD_SAID = "what is stored could not all be read"
UFloor = Callable[[str, float], float]
"""What labels say of a record's hits: ``quality.tighten``."""


def _nothing_known(cid: str, score: float) -> float:
    return 0.0


@dataclass(frozen=True, slots=True)
class Recalled:
    """A stored answer that may be served, and how it was matched."""

    stored: StoredRecord
    record: AnswerRecord
    hit: HitInfo


@dataclass(frozen=True, slots=True)
class Seen:
    """A candidate that was looked at, with what the decision said of it."""

    judged: Judged
    record: AnswerRecord
    origin: str = beside.OURS


@dataclass(frozen=True, slots=True)
class Recall:
    """What came of one look-up. ``code`` is a stable word for the log, ``reason`` is for people."""

    found: Recalled | None
    code: str
    reason: str
    seen: tuple[Seen, ...] = ()
    expired: StoredRecord | None = None
    """The newest exact or slot match that is past its time: what may be served marked stale."""

    @property
    def outcome(self) -> str:
        """hit, miss, or failed: nothing was found, and not all that is stored could be read."""
        return "hit" if self.found is not None else "failed" if self.code == UNREAD else "miss"


@dataclass(slots=True)
class _Met:
    """The stored answers that one look-up has met, each once. ``exact_source``: an adapter can look it up."""

    query: Query
    route: Route
    refuted: Refuted
    exact_source: bool
    now: datetime
    doubt: Doubt | None
    embedded: Embedded | None = None
    by_cid: dict[str, StoredRecord] = field(default_factory=dict)
    candidates: list[Candidate] = field(default_factory=list)

    def add(
        self,
        stored: StoredRecord,
        tier: str,
        similarity: float | None,
        *,
        check: bool,
        gate_similarity: float | None = None,
    ) -> None:
        """Take it in, unless it is there or can be no answer to this query."""
        record, cid = stored.record, str(stored.cid)
        if cid in self.by_cid or not isinstance(record, AnswerRecord) or self._is_no_answer(record):
            return
        deterministic = self.route.kind is Kind.DETERMINISTIC
        if (
            tier == "slot"
            and check
            and not agree(self.query.text, record.query, deterministic=deterministic).serve
        ):
            return  # the semantic tier may still know
        if self.refuted.hides(cid, self.query.caller.visible_scopes):
            return  # this tenant called it invalid
        if self.refuted.knows(_said(self.query, stored, record, self.embedded)):
            return  # the same was called invalid, whoever says it
        self.by_cid[cid] = stored
        created, ends = record.timestamp, beside.ends(record, stored.origin, stored.kept)
        if not is_a_peer_s_word(stored):
            created = min(created, self.now)  # our clock was set back since; it is ours all the same
        if self.doubt is not None and self.doubt.outdates(record.timestamp, ends):
            ends = self.doubt.since  # how long that is ago, nobody knows
        candidate = Candidate(
            cid,
            record.query,
            similarity,
            tier,
            confidence=beside.confidence(record, stored.origin, stored.kept),
            created=created,
            expires=ends,
            check_text=check,
            answer=normalise(record.answer),
            gate_similarity=gate_similarity,
        )
        self.candidates.append(candidate)

    def _is_no_answer(self, record: AnswerRecord) -> bool:
        key = self.route.key
        if key is not None and record.slot_key is not None and record.slot_key != key:
            return True  # the same words can mean another day or another coin
        if self.exact_source and key is None and self.route.time_sensitive:
            return True  # "yesterday" in the same words means another day tomorrow, and no key says which
        # Exact first: what an adapter can look up is not taken from a client's word.
        return self.exact_source and record.source.kind == "client"


@dataclass(frozen=True, slots=True)
class Limits:
    """What is served: settings ``cache.*`` of the same names."""

    confidence_min: float = 0.8
    max_wrong_per_hit: float = 0.05
    max_wrong_hit_rate: float = WRONG_RATE
    neighbours: int = 8
    expired_grace_s: int = 3_600


class Recaller:
    """Looks questions up. A vector is compared in the index of the model that made it and nowhere else; the
    semantic tier is passed over while no embedder serves."""

    def __init__(
        self,
        records: RecordStore,
        semantics: Semantics,
        clock: Clock,
        limits: Limits,
        *,
        calibrated_on: str | None = None,
        reference: Reference | None = None,
        u_floor: UFloor = _nothing_known,
        refuted: Refuted | None = None,
        changes: Callable[[], int] | None = None,
    ) -> None:
        """``changes`` counts the changes of answers that ``records`` has acknowledged; without it, whatever
        was read is read again."""
        self._records = records
        self._semantics = semantics
        self._clock = clock
        self._limits = limits
        self._calibrated_on = calibrated_on or packaged().embedder
        self._reference = reference
        self._u_floor = u_floor
        self._refuted = refuted or NothingRefuted()
        self._changes = changes or count().__next__
        self._known: OrderedDict[Hashable, tuple[int, list[StoredRecord]]] = OrderedDict()

    def hides(self, cid: Cid, scopes: Sequence[str]) -> bool:
        """Whether whoever sees these scopes called this record invalid, which goes on for others."""
        return self._refuted.hides(str(cid), scopes)

    async def recall(
        self,
        query: Query,
        route: Route,
        embed: Embed,
        *,
        clients_too: bool = False,
        least: float | None = None,
    ) -> Recall:
        """The best record that answers ``query``. ``embed`` is awaited only if the semantic tier is
        reached. ``clients_too``: a search of stored entries whatever their class (``/v1/cache/search``).
        ``least``: the confidence from which on one is served, None: that of the settings."""
        scopes, context = query.caller.visible_scopes, query.context
        changes, unread = self._changes(), self.unread
        deterministic = route.kind is Kind.DETERMINISTIC
        policy = Policy(
            floor=route.floor if route.floor is not None else 1.0,
            confidence_min=self._limits.confidence_min if least is None else least,
            max_wrong_per_hit=self._limits.max_wrong_per_hit,
            max_wrong_hit_rate=self._limits.max_wrong_hit_rate,
            deterministic=deterministic,
            u_floor=self._u_floor,
        )
        now, doubt = self._clock.now(), self._clock.doubt
        is_exact = _has_exact_source(route) and not clients_too
        met = _Met(query, route, self._refuted, exact_source=is_exact, now=now, doubt=doubt)

        def chosen(candidates: Sequence[Candidate]) -> Choice:
            return choose(query.text, candidates, policy, now=now, max_age_s=query.max_age_s)

        def is_settled() -> bool:
            """A hit that no record of ours can contest: else what is near has to be heard as well."""
            return choice.hit is not None and not is_a_peer_s_word(met.by_cid[choice.hit.candidate.cid])

        for stored in await self._in_these_words(query, changes):
            met.add(stored, "exact", 1.0, check=False)
        if route.key is not None:
            for stored in await self._records.find("slot_key", route.key, scopes=scopes, context=context):
                # Keys are of what an adapter's answer says in full; a client's may say yes or no, and a peer
                # may write any key beside any question.
                is_read = beside.is_slot_key_read(stored.origin, stored.kept)
                met.add(stored, "slot", None, check=_is_client(stored) or not is_read)
        expired = _newest_expired(met.by_cid.values(), now, timedelta(seconds=self._limits.expired_grace_s))
        choice = chosen(met.candidates)
        # Canonical slots say all there is to say: words and vectors can only blur them.
        searchable = route.floor is not None and (clients_too or route.key is None)
        if not is_settled() and searchable and (words := keyword_key(query.text)) is not None:
            for stored in await self._records.find("keyword_key", words, scopes=scopes, context=context):
                met.add(stored, "slot", None, check=True)
            choice = chosen(met.candidates)
        if not is_settled() and searchable and self._semantics.info.dim:
            met.embedded = await embed()
            if met.embedded is not None:
                near, live = await self._meet_near(met, met.embedded, max(self._limits.neighbours, SIZE_MAX))
                choice = chosen(met.candidates)
                if not is_settled() and is_crowded(near, live):
                    choice = await self._behind_a_crowd(met, met.embedded, choice, chosen)
        words_of_peers = {cid for cid, stored in met.by_cid.items() if is_a_peer_s_word(stored)}
        choice = own_first(query.text, choice, words_of_peers, deterministic=deterministic)
        recall = await self._finish(choice, policy, met.by_cid, expired, changes)
        if recall.found is None and self.unread != unread:
            return replace(recall, code=UNREAD, reason=UNREAD_SAID)
        return recall

    @property
    def unread(self) -> int:
        """``RecordStore.unread``."""
        return self._records.unread

    async def _in_these_words(self, query: Query, changes: int, *, keep: bool = False) -> list[StoredRecord]:
        """What is stored under the very text. ``keep`` it for the next who asks, if nothing changes."""
        key = (query.text, query.caller.visible_scopes, query.context)
        as_of, found = self._known.pop(key, (None, []))
        unread = self.unread
        if as_of != changes:
            found = await self._records.find("query_hash", query_hash(key[0]), scopes=key[1], context=key[2])
        if keep and self.unread == unread:
            self._known[key] = changes, found
            if len(self._known) > KNOWN_MAX:
                self._known.popitem(last=False)
        return found

    async def _meet_near(
        self, met: _Met, embedded: Embedded, wanted: int, *, thin: bool = False
    ) -> tuple[list[Neighbour], dict[Cid, StoredRecord]]:
        """What lies near enough to be looked at, looked at; ``thin``: with few of each peer."""
        near, live = await self._living(embedded, met.query, wanted)
        if thin:
            near = thinned(near, live)
        cosines = await self._gate_cosines(met.query.text, embedded, near, live)
        for neighbour in near:
            met.add(
                live[neighbour.cid],
                "semantic",
                neighbour.similarity,
                check=True,
                gate_similarity=cosines.get(neighbour.cid),
            )
        return near, live

    async def _behind_a_crowd(
        self, met: _Met, embedded: Embedded, choice: Choice, chosen: Callable[[Sequence[Candidate]], Choice]
    ) -> Choice:
        """The choice with what one peer's many records had hidden."""
        judged = {one.candidate.cid for one in choice.judged if one.code != TOO_FAR}
        near, _ = await self._meet_near(met, embedded, BEHIND_A_CROWD, thin=True)
        left = {str(neighbour.cid) for neighbour in near}
        again = chosen([one for one in met.candidates if one.tier != SEMANTIC or one.cid in left])
        # What was judged among all that is near keeps that judgement.
        if choice.hit is None and again.hit and again.hit.candidate.cid not in judged:
            choice = again
        heard = {one.candidate.cid for one in choice.judged}
        behind = [one for one in again.judged if one.candidate.cid not in heard]
        ours = [one for one in behind if met.by_cid[one.candidate.cid].origin == beside.OURS]
        return replace(choice, judged=(*choice.judged, *ours))

    async def knows(self, query: Query) -> bool:
        """Whether the text itself has a living stored answer, sure enough to be served, that is not one of
        canonical slots."""
        if query.max_age_s is not None:
            return False
        now = self._clock.now()
        found = await self._in_these_words(query, self._changes(), keep=True)
        return any(
            isinstance(one.record, AnswerRecord)
            and one.record.slot_key is None
            and beside.confidence(one.record, one.origin, one.kept) >= self._limits.confidence_min
            and ((ends := beside.ends(one.record, one.origin, one.kept)) is None or ends > now)
            for one in found
        )

    async def _living(
        self, embedded: Embedded, query: Query, wanted: int
    ) -> tuple[list[Neighbour], dict[Cid, StoredRecord]]:
        """What lies nearest and is alive, in the index of the model that made the vector."""
        index = self._semantics.index(embedded.info)
        if index is None:
            return [], {}
        look = partial(
            index.search, embedded.vector, scopes=query.caller.visible_scopes, context=query.context, k=wanted
        )
        near = look() if index.is_quick else await asyncio.to_thread(look)
        live = await self._records.live([neighbour.cid for neighbour in near])
        return [neighbour for neighbour in near if neighbour.cid in live], live

    async def _gate_cosines(
        self, asked: str, embedded: Embedded, near: Sequence[Neighbour], live: Mapping[Cid, StoredRecord]
    ) -> dict[Cid, float]:
        """The cosines that the gate reads: those of the index where its vectors are of the embedder that the
        gate was calibrated on, else made anew by that one; none where it is not to be had."""
        if embedded.info.digest == self._calibrated_on:
            return {neighbour.cid: neighbour.similarity for neighbour in near}
        if self._reference is None or not near:
            return {}
        texts = [
            record.query if isinstance(record := live[neighbour.cid].record, AnswerRecord) else ""
            for neighbour in near
        ]
        vectors = await self._reference([asked, *texts])
        if vectors is None or vectors[0] is None:
            return {}
        own = vectors[0]
        return {
            neighbour.cid: float(own @ vector)
            for neighbour, vector in zip(near, vectors[1:], strict=True)
            if vector is not None
        }

    async def _finish(
        self,
        choice: Choice,
        policy: Policy,
        by_cid: dict[str, StoredRecord],
        expired: StoredRecord | None,
        changes: int,
    ) -> Recall:
        seen = tuple(
            Seen(judged, record, by_cid[judged.candidate.cid].origin)
            for judged in choice.judged
            if isinstance(record := by_cid[judged.candidate.cid].record, AnswerRecord)
        )
        if choice.hit is None:
            code = choice.judged[0].code if choice.judged else "nothing_near"
            return Recall(None, code, choice.reason, seen, expired)
        stored = by_cid[choice.hit.candidate.cid]
        if self._changes() != changes and stored.cid not in await self._records.live([stored.cid]):
            return Recall(None, "withdrawn", "the record was withdrawn meanwhile", seen, expired)
        record = stored.record
        assert isinstance(record, AnswerRecord)
        judged = choice.hit
        hit = HitInfo(
            kind=judged.candidate.tier,
            similarity=judged.candidate.similarity,
            score=judged.score,
            threshold=policy.floor if judged.candidate.tier == "semantic" else None,
            p_correct=judged.p_correct,
            age_s=max(0, int((self._clock.now() - record.timestamp).total_seconds())),
            origin=stored.origin,
            reason=judged.reason,
            code=judged.code,
        )
        return Recall(Recalled(stored, record, hit), judged.code, judged.reason, seen, expired)


def is_a_peer_s_word(stored: StoredRecord) -> bool:
    """Whether it was neither made nor recomputed here, nor named by the operator's own index."""
    tier = (stored.kept or {}).get(beside.TIER)
    return not (stored.origin == beside.OURS or tier == Tier.VERIFIED or beside.is_imported(stored.kept))


def _said(query: Query, stored: StoredRecord, record: AnswerRecord, embedded: Embedded | None) -> Said:
    """What serving the record would say. A record of ours that was met by its words lends its own vector."""
    if embedded is None and stored.origin == beside.OURS and record.embedding is not None:
        own = record.embedding
        with suppress(ImportError):  # without numpy nothing is near
            import numpy as np

            vector = np.frombuffer(own.vector, dtype="<f4").astype(np.float32)
            embedded = Embedded(vector, EmbedderInfo(own.model, own.digest, own.dim, 0))
    return Said(
        query.text,
        record.answer,
        record.source.kind,
        query.caller.visible_scopes,
        query.context,
        record.slot_key,
        made=record.timestamp,
        vector=embedded,
    )


def _has_exact_source(route: Route) -> bool:
    return route.adapter is not None and route.strength >= CLAIM


def _is_client(stored: StoredRecord) -> bool:
    return isinstance(stored.record, AnswerRecord) and stored.record.source.kind == "client"


def _newest_expired(found: Iterable[StoredRecord], now: datetime, grace: timedelta) -> StoredRecord | None:
    """Of our own: a peer's answer is not served beyond its time, marked or not."""
    expired = [
        one
        for one in found
        if one.origin == beside.OURS
        and one.record.expires is not None
        and one.record.expires <= now < one.record.expires + grace
    ]
    return max(expired, key=lambda one: one.sequence, default=None)
