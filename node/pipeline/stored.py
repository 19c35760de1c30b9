"""The stations that look at what is stored: the cache, expired copies, and what is near as evidence."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import dataclass, replace

from node.answer import reasons
from node.answer.compose import Composer
from node.answer.evidence.entries import StoredEvidence
from node.cache.recall import UNREAD, UNREAD_SAID, Recaller
from node.core.clock import Clock, random_bytes
from node.core.errors import NodeError, Unavailable
from node.core.model import PPM, Confidence, Evidence, Kind, Query, Route
from node.core.ports import Embedded, Relevant, Semantics, StoredRecord
from node.core.record import AnswerRecord
from node.language import conversation
from node.pipeline import replies
from node.pipeline.under_way import Policy, Reached, Walk, asker_key, since_ms
from node.pipeline.understanding.question import language_of
from node.store.retention.freshness import Stale, stale_windows

STALE_CONFIDENCE_MAX = 0.6
NOTES_MAX = 12
"""So many stored entries are offered as evidence."""
Refresh = Callable[[Hashable, Callable[[float], Awaitable[bool]]], bool]
"""Asks for a computation behind the reply, one for each key at a time; whether one is under way now."""
IsLive = Callable[[StoredRecord], Awaitable[bool]]
"""Whether a record that was found some time ago may still be served."""
Revalidate = Callable[[Query, Route, float], Awaitable[bool]]
"""Computes an answer anew up to a deadline; whether it was stored."""


@dataclass(frozen=True, slots=True)
class Stored:
    """See the module. ``notes`` reads what is near."""

    clock: Clock
    recaller: Recaller
    retriever: StoredEvidence
    semantics: Semantics
    notes: Composer
    policy: Policy
    refresh: Refresh
    is_live: IsLive

    async def knows(self, query: Query) -> bool:
        """Whether these very words have an answer stored: then nothing is embedded to route them."""
        try:
            return await self.recaller.knows(query)
        except NodeError:
            return False

    async def recall(self, walk: Walk, revalidate: Revalidate) -> Reached | None:
        query, route = walk.query, walk.route
        if query.no_cache or route.needs_history:
            reason = "no_cache_asked" if query.no_cache else "needs_history"
            walk.note("recall", "bypassed", reason)
            return None
        started = self.clock.monotonic()
        try:
            recall = await self.recaller.recall(query, route, lambda: self._embed(walk))
        except NodeError as exc:
            walk.note("recall", "failed", str(exc), since_ms(self.clock, started), UNREAD)
            return None
        walk.expired, walk.recall = recall.expired, recall
        if self.policy.shadow and replies.is_semantic(recall):
            walk.add(replies.shadow_step(recall, since_ms(self.clock, started)))
            return None
        walk.note("recall", recall.outcome, recall.reason, since_ms(self.clock, started), recall.code)
        if recall.found is None:
            return await self._serve_while_refreshing(walk, revalidate)
        return Reached(
            replies.from_record(walk.query, walk.route, recall.found),
            walk.vector,
            None,
            store_reason="from_cache",
        )

    async def _embed(self, walk: Walk) -> Embedded | None:
        """One embedding per text: kept for the write-back."""
        if walk.embedded:
            return walk.vector
        started = self.clock.monotonic()
        walk.embedded = True
        try:
            [walk.vector] = await self.semantics.embed([walk.query.text])
        except Unavailable as exc:
            walk.note("embed", "failed", str(exc), since_ms(self.clock, started), "unavailable")
            return None
        outcome = "too_long" if walk.vector is None else "ok"
        walk.note("embed", outcome, "", since_ms(self.clock, started))
        return walk.vector

    async def _expired(self, walk: Walk, window: Callable[[Stale], int]) -> StoredRecord | None:
        """The expired copy that recall found, if this caller may still be given it now."""
        query, stored = walk.query, walk.expired
        if stored is None or not isinstance(stored.record, AnswerRecord) or stored.record.expires is None:
            return None
        record, expires, now = stored.record, stored.record.expires, self.clock.now()
        life_s = int((expires - record.timestamp).total_seconds())
        looked_up = record.source.kind == "adapter" and record.route == str(Kind.DETERMINISTIC)
        past_s = (now - expires).total_seconds()
        age_s = (now - record.timestamp).total_seconds()
        if not 0 <= past_s < window(stale_windows(life_s, looked_up=looked_up)):
            return None
        if query.max_age_s is not None and age_s > query.max_age_s:
            return None
        if record.confidence < self.policy.confidence_min * PPM:
            return None
        if walk.route.time_sensitive and walk.route.key is None:
            made = record.timestamp.astimezone(query.zone).date()
            if made != now.astimezone(query.zone).date():
                return None  # the same words of "today" mean another day
        try:
            return stored if await self.is_live(stored) else None
        except NodeError:
            return None

    async def serve_expired(self, walk: Walk) -> Reached | None:
        """The source failed: the expired copy, marked, for as long as its class allows."""
        stored = await self._expired(walk, lambda windows: windows.error_s)
        if stored is None:
            return None
        record = stored.record
        assert isinstance(record, AnswerRecord)
        walk.note("stale", "served", "source_failed_and_expired_record_kept", code="if_error")
        since = record.timestamp.strftime("%Y-%m-%d %H:%M UTC")
        text = f"{record.answer} (Out of date: stored at {since}; the source could not be asked now.)"
        answer = replies.from_expired(walk.query, walk.route, stored, record)
        capped = Confidence(min(STALE_CONFIDENCE_MAX, answer.confidence.value), answer.confidence.parts)
        answer = replace(answer, text=text, confidence=capped)
        return Reached(answer, walk.vector, None, store_reason="stale")

    async def _serve_while_refreshing(self, walk: Walk, revalidate: Revalidate) -> Reached | None:
        """A copy that is just past its time, marked, while one refresh runs behind the reply; only where its
        class allows, and only if a refresh is under way now."""
        query, route = walk.query, walk.route
        if query.no_store or query.only_cached:
            return None  # a refresh would store, and asks somebody
        stored = await self._expired(walk, lambda windows: windows.revalidate_s)
        if stored is None:
            return None

        async def refresh(deadline: float) -> bool:
            return await revalidate(query, route, deadline)

        if not self.refresh((asker_key(query, route.key), route.kind, route.adapter), refresh):
            return None
        record = stored.record
        assert isinstance(record, AnswerRecord)
        assert record.expires is not None
        now = self.clock.now()
        reason = f"expired {(now - record.expires).total_seconds():.0f} s ago; it is asked anew behind this"
        walk.note("stale", "served", reason, code="while_revalidating")
        answer = replies.from_expired(walk.query, walk.route, stored, record)
        return Reached(answer, walk.vector, None, store_reason="stale")

    async def consult(self, walk: Walk) -> Reached | None:
        """What is stored and about the question is evidence, whether or not the gate would serve it; how its
        question differs is told to whoever reads it."""
        query = walk.query
        if walk.route.needs_history:
            walk.note("documents", "bypassed", "needs_history")
            return None
        if query.no_cache and query.no_store:
            # Whoever checks a stored answer wants another one: what is stored must not be its evidence.
            walk.note("documents", "bypassed", "no_cache_asked")
            return None
        vector = await self._embed(walk)
        if query.caller.meter is None or not query.caller.meter.is_spent:
            walk.read_as, said = await self.notes.in_english(
                query.text, deadline=query.deadline, tag=random_bytes(6).hex()
            )
            walk.add(*said)
        subject = conversation.subject(walk.read_as or query.text)
        unread = self.recaller.unread
        try:
            if subject != query.text:
                [vector] = await self.semantics.embed([subject])
            found = await self.retriever.retrieve(
                subject,
                vector,
                scopes=query.caller.visible_scopes,
                context=_evidence_context(query),
                k=NOTES_MAX,
            )
        except NodeError as exc:
            walk.note("documents", "failed", str(exc), code=UNREAD)
            found = []
        scopes = query.caller.visible_scopes
        found = [one for one in found if not self.recaller.hides(one.stored.cid, scopes)]
        hit = walk.recall.found if self.policy.shadow and walk.recall is not None else None
        if hit is not None and walk.route.kind is not Kind.HISTORICAL:
            # An answer made from the hit that is kept back could not tell whether it was right.
            found = [one for one in found if one.stored.cid != hit.stored.cid]
        # What a source says now stands before what it said then.
        speaking = {one.source.id for one in walk.evidence if one.source.kind == "adapter"}
        near = [one for one in replies.few_of_each_peer(found) if not replies.is_said_by(one, speaking)]
        offered = [replies.as_evidence(one, walk.read_as or query.text) for one in near]
        if (meant := await self._meant(walk, subject, near, offered)) is not None:
            return meant
        for one in near:
            walk.evidence_scopes.add(replies.scope_as_evidence(one.stored))
        walk.evidence += offered
        best = f", the nearest {near[0].relevance:.2f}" if near else ""
        if near or unread == self.recaller.unread:
            walk.note("documents", "found" if near else "missed", f"{len(near)} near records{best}")
        else:
            walk.note("documents", "failed", UNREAD_SAID, code=UNREAD)
        is_written = walk.documents is not None and bool(walk.documents.said)
        if walk.route.kind is Kind.HISTORICAL and not (near or is_written or query.pasted):
            walk.could_not_look_up = reasons.say("no_record", language_of(query.text))
        return None

    async def _meant(
        self, walk: Walk, subject: str, near: Sequence[Relevant], offered: Sequence[Evidence]
    ) -> Reached | None:
        """An entry that came with the node, where it is the answer without doubt."""
        query, route = walk.query, walk.route
        # An entry is as old as the node's copy: who asks for something fresher does not get it as the answer.
        wants_fresh = query.no_cache or query.max_age_s is not None or route.time_sensitive
        bypassed = wants_fresh or bool(query.pasted or walk.evidence) or self.policy.shadow
        if bypassed or route.floor is None or route.kind not in (Kind.GENERATIVE, Kind.UNCLASSIFIED):
            return None
        found = await self.notes.meant(subject, offered)
        if found is None:
            return None
        at, share = found
        walk.note("documents", "hit", f"an entry is the answer: {share:.2f}", code="read")
        answer = replies.from_read(
            query, route, near[at].stored, self.clock.now(), cosine=near[at].cosine, share=share
        )
        return Reached(answer, walk.vector, None, store_reason="from_cache")


def _evidence_context(query: Query) -> str | None:
    """The partition that evidence is read from. Whatever a model was told besides, what people stored and
    what adapters found is true for it as well, and is offered to it; only answers are parted. A text that
    came with the question has evidence of its own."""
    return query.context if query.talk is None or query.pasted else None
