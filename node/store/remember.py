"""Remember: turn a judged answer into a signed record, store it, index it, report it.

Writes go through the bounded write-back queue, one worker in order; a full queue is a recorded skip. A
record is acknowledged only when its block and row are durable. The index entry follows; if
the process dies between the two, the index replays from its watermark at the next start.

A record that should have had a vector and got none (the engine was away, or the question was longer than its
window) is marked as owing one beside the record, in the same commit: ``OWED``. Imported entries without an
embedding carry no such mark and stay without.

Near-duplicates merge: an answer of ours that says the same to the same question in other words, in one scope,
context, embedding model, slot key and kind of source, is stored beside the first; one of them goes out of
service, its wording an alias of the other, which lives at least as long and is at least as sure (the older of
equals). Where neither is both, both stay. Whether two questions are the same is asked of a function that is
handed in.

What a client stores (``Memory.caller``) merges with its own entries only; what it may do to those of others
is said in ``provenance``.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from node.core.caller import SCOPE_PUBLIC, SCOPE_SHARED, Caller
from node.core.clock import Clock, new_id
from node.core.errors import NodeError, Rejected, Unavailable, Withdrawn
from node.core.identity import Identity
from node.core.ipld.cid import Cid
from node.core.model import Citation, Confidence, Json, Slots, SourceRef, ppm
from node.core.normalise import query_hash
from node.core.ports import Embedded, RecordStore, Semantics, StoredRecord
from node.core.record import (
    AnswerRecord,
    Embedding,
    ModelRef,
    RecordCitation,
    RecordSource,
    TombstoneRecord,
    ValidationRecord,
    block_of,
    sign,
)
from node.privacy import private_reason
from node.store import provenance
from node.store.record_rules import LIVE, LOCAL, OPEN_SCOPES, VOICE
from node.store.renewal import gives_way, lives_until, same_answer, stands_for
from node.store.write_back import WriteBack

_log = logging.getLogger("neuroswarm.remember")

OWED = "embedding_owed"
"""Key beside a record (``StoredRecord.kept``) that owes a vector."""

_SHORT = 1_000
_CITATIONS_MAX = 16
_EQUALS_MAX = 8


@dataclass(frozen=True, slots=True)
class Memory:
    """An answer to be remembered. ``lifetime_s`` None means no expiry. ``embed``, where there is no vector
    yet: now, later (it was tried, or it may wait) or never."""

    request_id: str
    query: str
    answer: str
    route: str
    source: SourceRef
    confidence: Confidence
    scope: str
    lifetime_s: int | None
    context: str | None = None
    tags: tuple[str, ...] = ()
    slots: Slots | None = None
    slot_key: str | None = None
    citations: tuple[Citation, ...] = ()
    llm: ModelRef | None = None
    vector: Embedded | None = None
    embed: str = "now"
    kept: Mapping[str, Json] | None = None
    cost_us: int | None = None
    """What the answer took to make, in microseconds; None: not timed."""
    supersedes: Cid | None = None
    """A withdrawn record whose place it takes: what it corrects."""
    caller: Caller | None = None
    """Of a client's entry, who stores it; ``replace``: it is to take the place of what contradicts it."""
    replace: bool = False


@dataclass(frozen=True, slots=True)
class Remembered:
    """What came of it. ``code``: stored, known (the same answer is already live, with half its life or more
    before it), merged (likewise, to the same question in other words), conflict (another answer stands there,
    ``stored``, and is not replaced), queue_full, refused (no record can hold it), failed. ``stored``: the
    record that answers from now on; ``merged``: how many others became its aliases."""

    code: str
    reason: str
    memory: Memory
    stored: StoredRecord | None = None
    merged: int = 0

    @property
    def cid(self) -> str | None:
        return None if self.stored is None else str(self.stored.cid)

    @property
    def is_durable(self) -> bool:
        """Whether the answer is in the store now."""
        return self.code in ("stored", "known", "merged")


Report = Callable[[Remembered], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Questions:
    """How questions are read. ``keyword_key`` is recall's key function, ``same_question`` the gate's word on
    two questions, strict enough that one answer serves both; ``is_personal``: it is about whoever asks it."""

    keyword_key: Callable[[str], str | None]
    same_question: Callable[[str, str], bool] = lambda one, other: False
    is_personal: Callable[[str], bool] = lambda query: False


class Rememberer:
    """Builds and stores records. ``report`` enters each outcome in the decision log."""

    def __init__(
        self,
        records: RecordStore,
        semantics: Semantics,
        signer: Identity,
        clock: Clock,
        queue: WriteBack,
        questions: Questions,
        report: Report,
    ) -> None:
        self._records = records
        self._semantics = semantics
        self._signer = signer
        self._clock = clock
        self._queue = queue
        self._questions = questions
        self._report = report
        self.refusal = ""
        """Why nothing new is stored now; empty: it is."""

    async def submit(self, memory: Memory) -> asyncio.Future[Remembered]:
        """Queue one write. The future is done when the record is durable (or the write failed);
        cancelling whoever awaits it does not cancel the write."""
        try:
            return self._queue.submit(lambda: self.keep(memory))
        except Unavailable as exc:
            outcome = Remembered("queue_full", str(exc), memory)
            await self._report(outcome)
            done: asyncio.Future[Remembered] = asyncio.get_running_loop().create_future()
            done.set_result(outcome)
            return done

    async def keep(self, memory: Memory) -> Remembered:
        """Store one memory now, past the queue: for imports, which bound themselves. Never raises
        for a failing store: the outcome says so, and with which scope."""
        memory = await self._screened(memory)
        try:
            outcome = await self._store(memory)
        except Rejected as exc:
            outcome = Remembered("refused", str(exc), memory)
        except NodeError as exc:
            outcome = Remembered("failed", str(exc), memory)
        await self._report(outcome)
        return outcome

    async def _screened(self, memory: Memory) -> Memory:
        """The memory, shared with nobody else where the privacy gate finds something in what would be public.
        The one place where answers of our own become public."""
        if memory.scope != SCOPE_PUBLIC:
            return memory
        if memory.source.kind == "llm" and not memory.citations:
            reason: str | None = "unverified"
        elif self._questions.is_personal(memory.query):
            reason = "personal_question"
        else:
            reason = await asyncio.to_thread(private_reason, *shown(memory))
        if reason is None:
            return memory
        _log.info("event=kept_from_peers id=%s rule=%s", memory.request_id, reason)
        return replace(memory, scope=SCOPE_SHARED)

    async def _store(self, memory: Memory) -> Remembered:
        now, doubt = self._clock.now(), self._clock.doubt
        if memory.caller is None:
            rivals = await self._rivals(memory)
        else:
            met = await self._of_clients(memory)
            rivals, standing = provenance.replaced(memory, memory.caller, met, now)
            if standing is not None:
                return Remembered("conflict", "another answer stands there", memory, standing)
        for rival in rivals:
            is_old = doubt is not None and doubt.outdates(rival.record.timestamp, rival.record.expires)
            if same_answer(rival, memory, now) and not is_old:
                return Remembered("known", "the same answer is already stored", memory, rival)
        embedded = memory.vector
        if embedded is None and memory.embed == "now":
            try:
                [embedded] = await self._semantics.embed([memory.query])
            except Unavailable:
                embedded = None  # found by hash, slot and keyword until it is embedded
        twins = await self._twins(memory, embedded, rivals, now)
        survivor = next((twin for twin in twins if stands_for(twin, memory, now)), None)
        if survivor is not None and await self._is_alias(memory, survivor):
            return Remembered("known", "the same answer is already stored", memory, survivor)
        if self.refusal:
            raise Unavailable(self.refusal)
        twins = [] if survivor is not None else [twin for twin in twins if gives_way(twin, memory, now)]
        stored = await self._add(memory, now, embedded, rivals, twins, survivor)
        for gone in (*rivals, *twins):
            self._semantics.remove(gone.cid)
        if stored.state != LIVE:
            assert survivor is not None
            reason = "the same answer to the same question in other words is already stored"
            return Remembered("merged", reason, memory, survivor, 1)
        self._semantics.keep(stored, embedded)
        return Remembered("stored", "", memory, stored, len(twins))

    async def _twins(
        self, memory: Memory, embedded: Embedded | None, rivals: Sequence[StoredRecord], now: datetime
    ) -> list[StoredRecord]:
        """Own live records that say the same to the same question in other words; the one that lives longest
        first."""
        digest = None if embedded is None else embedded.info.digest
        mine = {rival.cid for rival in rivals}
        own, words = query_hash(memory.query), self._questions.keyword_key(memory.query)
        found = [
            stored
            for stored, record in await self._like(memory, ("query_hash", own), ("keyword_key", words))
            if stored.cid not in mine
            and (None if record.embedding is None else record.embedding.digest) == digest
            and (record.expires is None or record.expires > now)
            and (memory.caller is None or provenance.is_of_the_same(memory.caller, record))
            and provenance.says_the_same(memory.answer, record)
            and self._questions.same_question(memory.query, record.query)
        ]
        return sorted(found, key=lives_until, reverse=True)

    async def _is_alias(self, memory: Memory, survivor: StoredRecord) -> bool:
        """Whether the same source has said it in these words before."""
        said = (query_hash(memory.query), memory.source.id[:_SHORT])
        aliases = await self._records.aliases(survivor.cid)
        return any((alias.query_hash, alias.source_id) == said for alias in aliases)

    async def _add(
        self,
        memory: Memory,
        now: datetime,
        embedded: Embedded | None,
        rivals: Sequence[StoredRecord],
        twins: Sequence[StoredRecord],
        survivor: StoredRecord | None,
    ) -> StoredRecord:
        """The record, live. Times are whole seconds, so one that was withdrawn in this same second may be
        equal to it; as an equal record stays withdrawn, the new one then says that it follows that one."""
        newest = max(rivals, key=lambda rival: rival.sequence, default=None)
        follows = memory.supersedes or (None if newest is None else newest.cid)
        kept = memory.kept
        if embedded is None and memory.embed != "never":
            kept = {**(kept or {}), OWED: True}
        for _ in range(_EQUALS_MAX):
            record = self._build(memory, now, embedded, follows)
            try:
                stored = await self._records.add(
                    record,
                    supersede=[rival.cid for rival in rivals],
                    keyword_key=self._questions.keyword_key(memory.query),
                    kept=kept,
                    cost_us=memory.cost_us,
                    merge=[twin.cid for twin in twins],
                    into=None if survivor is None else survivor.cid,
                )
            except Withdrawn:  # and erased: its block is not here any more
                follows = block_of(record)[0]
                continue
            if stored.state == LIVE:
                return stored
            if survivor is not None and await self._records.survivor(stored.cid) is not None:
                return stored
            follows = stored.cid
        raise Unavailable("the same answer was withdrawn again and again within this second")

    async def _rivals(self, memory: Memory) -> list[StoredRecord]:
        """Own live records that the new one replaces: same question (or slots), scope, context and
        kind of source."""
        own, slots = query_hash(memory.query), memory.slot_key
        return [
            stored
            for stored, record in await self._like(memory, ("query_hash", own), ("slot_key", slots))
            if record.query_hash == own or slots is not None
        ]

    async def _of_clients(self, memory: Memory) -> list[StoredRecord]:
        """Clients' live records that answer the same question beyond doubt, in whatever words. Under one slot
        key they may say yes and no to two questions. Of those that everybody here may see, all are meant."""
        own, words = query_hash(memory.query), self._questions.keyword_key(memory.query)
        keys = ("query_hash", own), ("slot_key", memory.slot_key), ("keyword_key", words)
        scopes = OPEN_SCOPES if memory.scope in OPEN_SCOPES else (memory.scope,)
        found = [pair for scope in scopes for pair in await self._like(replace(memory, scope=scope), *keys)]
        return [
            stored
            for stored, record in found
            if record.query_hash == own or self._questions.same_question(memory.query, record.query)
        ]

    async def _like(
        self, memory: Memory, *keys: tuple[str, str | None]
    ) -> list[tuple[StoredRecord, AnswerRecord]]:
        """Own live records under any of these keys (column, value), of one scope, context, kind of source and
        slots with the new one."""
        found: dict[Cid, tuple[StoredRecord, AnswerRecord]] = {}
        for column, key in keys:
            if key is None:
                continue
            for stored in await self._records.find(
                column, key, scopes=[memory.scope], context=memory.context
            ):
                record = stored.record
                if (
                    isinstance(record, AnswerRecord)
                    and stored.origin == LOCAL
                    and record.source.kind == memory.source.kind
                    and record.slot_key == memory.slot_key
                ):
                    found[stored.cid] = (stored, record)
        return list(found.values())

    def _build(
        self, memory: Memory, now: datetime, embedded: Embedded | None, follows: Cid | None
    ) -> AnswerRecord:
        embedding = None if embedded is None else as_embedding(embedded)
        source = memory.source
        expires = None if memory.lifetime_s is None else now + timedelta(seconds=memory.lifetime_s)
        record = AnswerRecord(
            issuer=self._signer.root,
            key=self._signer.node,
            scope=memory.scope,
            timestamp=now,
            expires=expires,
            query=memory.query,
            answer=memory.answer,
            route=memory.route,
            source=RecordSource(
                source.kind,
                source.id[:_SHORT],
                _short(source.url),
                source.time,
                source.digest,
                None if source.client is None else _short(source.client.by),
            ),
            confidence=ppm(memory.confidence.value),
            confidence_parts={name: ppm(part) for name, part in memory.confidence.parts.items()},
            context=memory.context,
            tags=memory.tags,
            slots=memory.slots or None,
            slot_key=memory.slot_key,
            citations=tuple(
                RecordCitation(
                    one.source[:_SHORT], one.locator[:_SHORT], one.snippet[:_SHORT], _short(one.url)
                )
                for one in memory.citations[:_CITATIONS_MAX]
            ),
            embedding=embedding,
            llm=memory.llm,
            supersedes=None if follows is None else str(follows),
        )
        return sign(record, self._signer.sign)

    def _said_now(self, scope: str) -> dict[str, Any]:
        """What every statement of ours begins with."""
        own, now = self._signer, self._clock.now()
        return {"issuer": own.root, "key": own.node, "scope": scope, "timestamp": now, "expires": None}

    async def validate(
        self, target: StoredRecord, verdict: str, note: str | None, voice: str = ""
    ) -> StoredRecord:
        """Store this node's signed verdict on a record, durable on return; ``invalid`` withdraws it, unless
        it is that of one tenant (``voice``). A verdict on a public record is public, the words of whoever
        gave it, and who that was, are not: they stay beside it."""
        is_public = target.record.scope == SCOPE_PUBLIC
        statement = ValidationRecord(
            **self._said_now(target.record.scope),
            target=str(target.cid),
            verdict=verdict,
            statement=new_id(),
            note=None if is_public else note,
        )
        kept: dict[str, Json] = {"note": note} if is_public and note is not None else {}
        if voice:
            kept[VOICE] = voice
        is_for_all = verdict == "invalid" and not voice
        survivor = await self._records.survivor(target.cid) if is_for_all else None
        stored = await self._records.add(sign(statement, self._signer.sign), kept=kept or None)
        if is_for_all:
            self._semantics.remove(target.cid)
            if survivor is not None:
                self._semantics.remove(survivor)  # withdrawn with it: it is what was served
        return stored

    async def withdraw(self, target: Cid) -> None:
        """Take a record that tenants have called invalid out of service, and what it was merged into."""
        for cid in (target, await self._records.survivor(target)):
            if cid is not None:
                await self._records.withdraw(cid, "invalid")
                self._semantics.remove(cid)

    async def bury_at(self, target: Cid, scope: str, reason: str) -> StoredRecord:
        """Withdraw a record of this scope, which need not be read for it, for good by a signed tombstone,
        durable on return."""
        statement = TombstoneRecord(
            **self._said_now(scope),
            target=str(target),
            reason=reason,
        )
        stored = await self._records.add(sign(statement, self._signer.sign))
        self._semantics.remove(target)
        return stored


def as_embedding(embedded: Embedded) -> Embedding:
    """As a record holds it."""
    info = embedded.info
    return Embedding(info.model, info.digest, info.dim, embedded.vector.astype("<f4").tobytes())


def owes_vector(stored: StoredRecord) -> bool:
    """Whether the record was stored without a vector that it should have had."""
    return stored.kept is not None and bool(stored.kept.get(OWED))


def shown(what: Memory | AnswerRecord) -> list[str]:
    """Every text of an answer that a public record shows; the rest of it are our own words, hashes, keys and
    times."""
    slots = what.slots or {}
    client = what.source.client
    texts = [what.query, what.answer, *what.tags, what.slot_key, what.source.id, what.source.url]
    texts += [] if client is None else [client.by]
    texts += [*slots, *(value for value in slots.values() if isinstance(value, str))]
    for cited in what.citations:
        texts += [cited.source, cited.locator, cited.snippet, cited.url]
    if what.llm is not None:
        texts.append(what.llm.id)
    return [text for text in texts if text]


def _short(text: str | None) -> str | None:
    return None if text is None else text[:_SHORT]
