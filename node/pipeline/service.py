"""What the doors (HTTP, commands) may ask of the node: answers, entries, feedback, blocks, health.

Doors turn bytes into values and call this; they hold no rule. This holds no order of stations (``walk``)
and builds nothing (``app``).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta, tzinfo
from typing import Any, Protocol

from node.answer.chain import answers
from node.audit.decisions.answer_entry import decision_entry, store_entry
from node.audit.decisions.entry import quarantine_entry, tombstone_entry, validation_entry
from node.audit.decisions.origin import epoch_of
from node.cache.keys import keyword_key
from node.cache.quality.estimate import Estimate
from node.cache.recall import Recall, Recaller
from node.cache.refuted import Refuted, Said
from node.cache.watch import Facts, Watch
from node.core.clock import Clock, new_id
from node.core.errors import BadInput, Forbidden, NodeError, NotFound, Rejected, Unavailable
from node.core.ipld.cid import Cid
from node.core.metrics import Metrics, Unlogged
from node.core.model import (
    PPM,
    SCOPE_PUBLIC,
    SCOPE_SHARED,
    Answer,
    Caller,
    Check,
    Confidence,
    DecisionRef,
    Freshness,
    Json,
    Kind,
    Query,
    Route,
    SourceRef,
    Step,
    private_scope,
)
from node.core.normalise import normalise, query_hash
from node.core.ports import (
    Adapter,
    Alias,
    AuditLog,
    BlockRef,
    Embedded,
    Generator,
    RecordStore,
    Selection,
    SemanticFacts,
    Semantics,
    StoredRecord,
    Tell,
    Vector,
)
from node.core.record import AnswerRecord
from node.ipfs.mirror import Mirror
from node.pipeline.drafts import Draft, Drafts
from node.pipeline.replies import is_semantic, shadow_step
from node.pipeline.single_flight import SingleFlight
from node.pipeline.under_way import Policy
from node.pipeline.understanding.understand import Part, Understanding
from node.pipeline.walk import Pipeline
from node.store.hit_counts import UseTally
from node.store.remember import Memory, Rememberer, scope_for
from node.store.retention.erase import Eraser
from node.store.retention.freshness import HOUR_S, lifetime_s
from node.store.retention.invalidate import Invalidated, invalidate
from node.store.retention.volatility import only_sounds_of_now, volatility
from node.store.state import StateStore

log = logging.getLogger("neuroswarm.service")

HEALTH_TIMEOUT_S = 1.7
RECEIPT_WAIT_S = 1.5
"""How long a verbose reply waits for the checkpoint that covers its decision: one is due every second."""
WITH_VECTOR_MIN = 0.9
"""Of what is stored so much must have a vector; texts beyond the embedder's window never get one."""
CLIENT_LIFETIME_S = 7 * 86_400
GET_A_MODEL = "with Ollama installed, type: ollama pull llama3.2; or type: make model"
"""The two ways to a language model: the operator's, so in health and never in an answer."""
_WORST = {"pass": 0, "warn": 1, "fail": 2}


@dataclass(frozen=True, slots=True)
class Ask:
    """A question as it came through a door, not yet a query."""

    text: str
    caller: Caller
    session: str | None = None
    context: str | None = None
    max_age_s: int | None = None
    no_cache: bool = False
    no_store: bool = False
    ttl_s: int | None = None
    tags: tuple[str, ...] = ()
    zone: tzinfo | None = None
    """The asker's time zone; None: the node's own (setting ``time_zone``)."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An answer that a client wants stored."""

    query: str
    answer: str
    caller: Caller
    confidence: float = 0.85
    ttl_s: int | None = None
    source: str | None = None
    tags: tuple[str, ...] = ()
    scope: str | None = None
    corrects: Cid | None = None
    """The withdrawn record whose place it takes."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What became of a client's entry: its CID and the scope that it really has."""

    cid: str
    scope: str
    reason: str


@dataclass(frozen=True, slots=True)
class Invalidation:
    """Which stored answers are to go: fields are combined with "and". ``like`` extends ``query`` to other
    wordings with the same keyword key."""

    cid: str | None = None
    query: str | None = None
    like: bool = False
    source: str | None = None
    older_than_s: int | None = None
    tag: str | None = None
    scope: str | None = None
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Merged:
    """The records that were merged into one, and what it was itself merged into."""

    aliases: tuple[Alias, ...]
    into: Cid | None


@dataclass(frozen=True, slots=True)
class Feedback:
    """A validation as stored: the target's counts afterwards, and whether it is still served. A draft has no
    record (``cid``) and gets no validation. ``correction`` is the CID of the person's entry that takes its
    place."""

    cid: str | None
    verdict: str
    validation: str | None
    valid: int
    invalid: int
    served: bool
    decision: DecisionRef | None
    correction: str | None = None


class Refutes(Refuted, Protocol):
    """What was called invalid, by its meaning: ``node.cache.quality.refuted_answers``."""

    async def invalid(self, cid: Cid, record: AnswerRecord, *, asked: str | None, tenant: str) -> None: ...

    def invalid_draft(self, question: str, answer: str, *, scope: str, tenant: str) -> None: ...


@dataclass(slots=True)
class _Spent:
    """Answers of one sort and the seconds that they took together."""

    answers: int = 0
    seconds: float = 0.0

    def add(self, seconds: float) -> None:
        self.answers += 1
        self.seconds += seconds


@dataclass(frozen=True, slots=True)
class CacheStats:
    """The cache in figures. ``counts`` are the store's; ``saved_s`` is what the answers from the cache would
    have taken on the average of those that were made, less what they took; None before the first was made.
    ``evicted`` since the start."""

    counts: Mapping[str, int]
    semantic: SemanticFacts
    facts: Facts
    served: int
    made: int
    saved_s: float | None
    evicted: int


@dataclass(frozen=True, slots=True)
class Ports:
    """Everything the service reaches, wired by ``app``."""

    clock: Clock
    pipeline: Pipeline
    understanding: Understanding
    recaller: Recaller
    rememberer: Rememberer
    records: RecordStore
    state: StateStore
    semantics: Semantics
    log: AuditLog
    adapters: Sequence[Adapter]
    generators: Sequence[Generator]
    probes: Sequence[Callable[[], Awaitable[Check]]]
    metrics: Metrics
    policy: Policy
    request_timeout_s: float
    floor_default: float
    zone: tzinfo
    watch: Watch
    eraser: Eraser
    drafts: Drafts[Any]
    refuted: Refutes
    uses: UseTally | None = None
    mirror: Mirror | None = None


class Invalidator:
    """Invalidation for callers and for the operator."""

    def __init__(
        self,
        records: RecordStore,
        rememberer: Rememberer,
        eraser: Eraser,
        log: AuditLog,
        clock: Clock,
        version: str,
        unlogged: Unlogged,
        *,
        refuse_unlogged: bool,
    ) -> None:
        self._records = records
        self._rememberer = rememberer
        self._eraser = eraser
        self._log = log
        self._clock = clock
        self._version = version
        self._unlogged = unlogged
        self._refuse_unlogged = refuse_unlogged

    async def run(self, wanted: Invalidation, caller: Caller | None) -> Invalidated:
        """Withdraw what fits, and erase what of it is private. ``caller`` None is the operator, who owns the
        data directory. Raises ``BadInput``, ``Forbidden``, ``Unavailable``."""
        selection = await self._selection(wanted, caller)
        private: dict[str, list[Cid]] = {}

        async def enter(ref: BlockRef) -> None:
            await self._enter(ref)
            if ref.scope not in (SCOPE_SHARED, SCOPE_PUBLIC):
                private.setdefault(ref.scope, []).append(ref.cid)

        try:
            done = await invalidate(self._records, self._rememberer, enter, selection, dry_run=wanted.dry_run)
        finally:  # what is withdrawn is not selected again: it is erased now
            for scope, cids in private.items():
                live = set(await self._records.live(cids))
                await self._eraser.clear([cid for cid in cids if cid not in live], scope=scope)
        if done.withdrawn:
            await self._eraser.scrub()
        return done

    async def _enter(self, ref: BlockRef) -> None:
        """The log first, as for every decision: where it must have it and cannot, nothing is begun."""
        entry, private = tombstone_entry(
            target=str(ref.cid), reason="invalidated", scope=ref.scope, policy=self._version
        )
        try:
            await self._log.append(entry, private_texts=private)
        except NodeError as exc:
            is_refused = self._refuse_unlogged
            self._unlogged.failed("other", exc, stands=not is_refused)
            if is_refused:
                raise Unavailable(f"the decision could not be logged: {exc}") from exc
        else:
            self._unlogged.logged()

    async def _selection(self, wanted: Invalidation, caller: Caller | None) -> Selection:
        if wanted == Invalidation(dry_run=wanted.dry_run, like=wanted.like):
            named = "cid, query, source, older_than_s, tag and scope"
            raise BadInput(f"name at least one of {named}", field="cid")
        if wanted.like and wanted.query is None:
            raise BadInput("like extends query, which is missing", field="like")
        text = None if wanted.query is None else normalise(wanted.query)
        words = keyword_key(text) if text is not None and wanted.like else None
        cid = None if wanted.cid is None else Cid.parse(wanted.cid)
        before = None
        if wanted.older_than_s is not None:
            before = self._clock.now() - timedelta(seconds=wanted.older_than_s)
        return Selection(
            cid=None if cid is None else await self._records.survivor(cid) or cid,
            query_hash=query_hash(text) if text is not None and words is None else None,
            keyword_key=words,
            source=wanted.source,
            before=before,
            tag=wanted.tag,
            scopes=_scopes(wanted.scope, caller),
        )


def _scopes(wanted: str | None, caller: Caller | None) -> tuple[str, ...] | None:
    """Where whoever asks may invalidate; None: everywhere."""
    own = private_scope((caller or Caller()).tenant)
    scope = own if wanted == "private" else wanted
    if caller is None:
        return None if scope is None else (scope,)
    allowed = (own, SCOPE_SHARED, SCOPE_PUBLIC) if caller.default_scope == SCOPE_SHARED else (own,)
    if scope is None:
        return allowed
    if scope not in allowed:
        raise Forbidden(f"this key may not invalidate entries of scope {wanted}")
    return (scope,)


class Service:
    """The node, as its doors see it."""

    def __init__(self, ports: Ports) -> None:
        self._p = ports
        self._invalidator = Invalidator(
            ports.records,
            ports.rememberer,
            ports.eraser,
            ports.log,
            ports.clock,
            ports.policy.version,
            ports.metrics.unlogged,
            refuse_unlogged=ports.policy.refuse_unlogged,
        )
        self._ready = True
        self._made, self._served = _Spent(), _Spent()
        self._examinations: SingleFlight[list[Check]] = SingleFlight()

    # --- questions --------------------------------------------------------------------------------

    def query(self, ask: Ask, request_id: str | None = None) -> Query:
        """Stamp a question with its id, arrival and deadline."""
        clock = self._p.clock
        return Query(
            id=request_id or new_id(),
            asked=ask.text,
            text=normalise(ask.text),
            caller=ask.caller,
            received=clock.now(),
            deadline=clock.monotonic() + self._p.request_timeout_s,
            session=ask.session,
            context=ask.context,
            max_age_s=ask.max_age_s,
            no_cache=ask.no_cache,
            no_store=ask.no_store,
            ttl_s=ask.ttl_s,
            tags=ask.tags,
            zone=ask.zone or self._p.zone,
        )

    async def answer(self, ask: Ask, request_id: str | None = None, tell: Tell | None = None) -> Answer:
        """Answer a question (``POST /chat``); ``tell`` hears what goes on meanwhile. Raises ``Unavailable``
        only where a setting says so."""
        query = self.query(ask, request_id)
        started = self._p.clock.monotonic()
        answer = await self._p.pipeline.answer(query, tell)
        took_s = self._p.clock.monotonic() - started
        self._p.metrics.observe(answer, took_s)
        if answer.hit is not None:
            self._served.add(took_s)
        elif answer.source.kind not in ("statement", "fallback"):
            self._made.add(took_s)
        log.info(
            "answered id=%s route=%s source=%s confidence=%.2f stored=%s cid=%s logged=%s ms=%.1f",
            query.id,
            answer.route.kind,
            answer.source.kind,
            answer.confidence.value,
            answer.stored,
            answer.cid,
            answer.decision is not None,
            took_s * 1_000,
        )
        for served in (answer, *answer.parts):
            self._count_use(served)
        if answer.cid is not None:
            await self._remember_request(query.id, answer.cid)
        return answer

    async def receipt(self, ref: DecisionRef | None) -> str | None:
        """What proves a decision to strangers (tlog-proof text, the leaf in its ``extra`` line), once a
        checkpoint covers it; None where none does within ``RECEIPT_WAIT_S``. Never waits for witnesses."""
        if ref is None:
            return None
        try:
            proof = await self._p.log.receipt(ref.index, timeout_s=RECEIPT_WAIT_S, log=ref.log)
        except NodeError as exc:
            log.warning("no receipt for decision %d of %s: %s", ref.index, ref.log, exc)
            return None
        return None if proof is None else proof.decode("utf-8")

    def _count_use(self, answer: Answer) -> None:
        """What is served from the store is worth keeping."""
        if answer.hit is not None and answer.cid is not None and self._p.uses is not None:
            self._p.uses.note(Cid.parse(answer.cid))

    async def _remember_request(self, request_id: str, cid: str) -> None:
        try:
            await self._p.state.remember_request(request_id, Cid.parse(cid))
        except Unavailable:
            return  # feedback by request id is then refused as unknown; the answer stands

    async def route(self, ask: Ask) -> list[Part]:
        """Classify only (``POST /route``); with a session the turn is entered."""
        query = self.query(ask)
        parts = await self._p.pipeline.settled(query)
        for part in parts:
            if not part.route.about_node:
                self._p.pipeline.enter_turn(query, part.text, "")
        return parts

    # --- the cache as a service -------------------------------------------------------------------

    async def put(self, entry: Entry, request_id: str) -> Kept:
        """Store a client's answer, durable on return. Raises ``BadInput``, ``Forbidden``, ``Rejected``,
        ``Unavailable``."""
        caller = entry.caller
        if not caller.may_write:
            raise Forbidden("this key may not write")
        text = normalise(entry.query)
        if not text:
            raise BadInput("query holds nothing but question marks and spaces", field="query")
        part = await self._place(entry.query)
        route = part.route
        own = private_scope(caller.tenant)
        default = own if volatility(text).personal else caller.default_scope
        asked = {None: default, "private": own}.get(entry.scope, entry.scope)
        assert asked is not None
        source = SourceRef("client", entry.source or caller.tenant)
        scope = scope_for(asked, self._p.policy.publish, source, False)
        live = route.kind is Kind.DETERMINISTIC
        # Who states a lifetime vouches for it, whatever the words sound like ("when does it open").
        vouched, stays = entry.ttl_s is not None and not live, Freshness.GOVERNANCE
        memory = Memory(
            request_id=request_id,
            query=text,
            answer=entry.answer,
            route=str(route.kind),
            source=source,
            confidence=Confidence(entry.confidence, {"source": entry.confidence}),
            scope=scope,
            lifetime_s=lifetime_s(
                Freshness.TIME_SENSITIVE if live else stays if vouched else Freshness.DEFINITION,
                query=text,
                time_sensitive=not vouched and route.time_sensitive and not only_sounds_of_now(text),
                now=self._p.clock.now().astimezone(self._p.zone),
                wording_least_s=max(HOUR_S, entry.ttl_s or 0),
                asked_ttl_s=entry.ttl_s if entry.ttl_s is not None else CLIENT_LIFETIME_S,
            ),
            tags=entry.tags,
            slots=route.slots or None,
            slot_key=route.key,
            vector=part.vector,
            supersedes=entry.corrects,
        )
        await self._p.refuted.prepare()
        said = Said(
            text, entry.answer, "client", caller.visible_scopes, tenant=caller.tenant, vector=part.vector
        )
        if self._p.refuted.knows(said):
            raise Rejected("not stored: known invalid: an equal answer to this question was called invalid")
        remembered = await (await self._p.rememberer.submit(memory))
        if remembered.code == "refused":
            raise Rejected(f"not stored: {remembered.reason}")
        if remembered.cid is None:
            raise Unavailable(f"not stored: {remembered.reason}")
        self._p.watch.entered(text, entry.answer, caller.tenant)
        scope = remembered.memory.scope
        reason = "" if scope == asked else _why_not_public(self._p.policy.publish)
        return Kept(remembered.cid, scope, reason)

    async def search(
        self, ask: Ask, floor: float | None, request_id: str
    ) -> tuple[Recall, DecisionRef | None]:
        """Look a question up without asking anyone (``POST /v1/cache/search``). ``floor`` can only
        raise the similarity floor of the question's class."""
        query = self.query(ask, request_id)
        part = await self._place(query.asked)
        route = part.route
        base = route.floor if route.floor is not None else self._p.floor_default
        route = replace(route, floor=max(base, floor or 0.0))
        started = self._p.clock.monotonic()

        async def embed() -> Embedded | None:
            if part.vector is not None:
                return part.vector
            try:
                [embedded] = await self._p.semantics.embed([query.text])
            except Unavailable:
                return None
            return embedded

        recall = looked_up = await self._p.recaller.recall(query, route, embed, clients_too=True)
        withheld = self._p.policy.shadow and is_semantic(looked_up)
        if withheld:
            step = shadow_step(looked_up)
            recall = replace(looked_up, found=None, code=step.code, reason=step.reason)
        answer = _search_answer(query, route, recall)
        self._p.watch.recalled(query, answer, looked_up, withheld=withheld)
        if answer.cid is not None:
            self._p.pipeline.note_asked(query, query.text)
            await self._remember_request(query.id, answer.cid)
        self._count_use(answer)
        self._p.metrics.observe(answer, self._p.clock.monotonic() - started)
        return recall, await self._log_answer(answer)

    async def embed(self, text: str) -> Vector | None:
        """The vector of a text, None for one beyond the embedder's window or while no embedder serves."""
        if not self._p.semantics.info.dim:
            return None
        try:
            [embedded] = await self._p.semantics.embed([text])
        except Unavailable:
            return None
        return None if embedded is None else embedded.vector

    async def _place(self, text: str) -> Part:
        """The route of a text that stands by itself, on the node's own clock."""
        return await self._p.understanding.place(text, now=self._p.clock.now().astimezone(self._p.zone))

    async def _log_answer(self, answer: Answer) -> DecisionRef | None:
        entry, private = decision_entry(
            answer,
            policy=self._p.policy.version,
            embedder=self._p.semantics.info,
            will_store=False,
            store_reason="look_up_only",
            scope=answer.query.caller.default_scope,
        )
        return await self._log(entry, private, kind="answer")

    async def _log(
        self,
        entry: Mapping[str, Json],
        private: Mapping[str, str],
        *,
        kind: str = "other",
        is_done: bool = False,
    ) -> DecisionRef | None:
        """Enter a decision. Raises ``Unavailable`` where it cannot be and is then to be refused; what
        ``is_done`` already can only be counted."""
        is_refused = self._p.policy.refuse_unlogged and not is_done
        try:
            appended = await self._p.log.append(entry, private_texts=private)
        except NodeError as exc:
            self._p.metrics.unlogged.failed(kind, exc, stands=not is_refused)
            if is_refused:
                raise Unavailable(f"the decision could not be logged: {exc}") from exc
            return None
        self._p.metrics.unlogged.logged()
        return DecisionRef(appended.log, appended.index)

    async def entry(self, cid: str, caller: Caller) -> StoredRecord:
        """A record this caller may see. Raises ``NotFound`` for all others, alike."""
        try:
            stored = await self._p.records.get(Cid.parse(cid))
        except NotFound:
            stored = None
        if stored is None or stored.record.scope not in caller.visible_scopes:
            raise NotFound("no such entry")
        return stored

    async def withdraw(self, cid: str, caller: Caller) -> DecisionRef | None:
        """Erase a record: withdrawn for good by a signed tombstone, its text and the log's commitments to it
        gone, those of this decision included. The log comes first: what it refuses is not begun. What fails
        after that may be asked again, and is then decided again. Raises ``NotFound``, ``Forbidden``,
        ``Unavailable``."""
        stored = await self.entry(cid, caller)
        if not caller.may_write:
            raise Forbidden("this key may not delete")
        if not isinstance(stored.record, AnswerRecord):
            raise Forbidden("only answers can be deleted")
        entry, private = tombstone_entry(
            target=str(stored.cid),
            reason="client_delete",
            scope=stored.record.scope,
            policy=self._p.policy.version,
        )
        decision = await self._log(entry, private)
        await self._p.eraser.erase(stored, "client_delete")
        return decision

    async def merged(self, stored: StoredRecord) -> Merged:
        """What a record stands for besides itself. Aliases have its scope: who sees it may see them."""
        return Merged(
            tuple(await self._p.records.aliases(stored.cid)), await self._p.records.survivor(stored.cid)
        )

    async def invalidate(self, wanted: Invalidation, caller: Caller) -> Invalidated:
        """Withdraw for good whatever fits, within what the caller may withdraw: its own private records, and
        those of everybody here where it stands for everybody here. Raises ``BadInput``, ``Forbidden``,
        ``Unavailable``."""
        if not caller.may_write:
            raise Forbidden("this key may not delete")
        return await self._invalidator.run(wanted, caller)

    async def feedback(
        self,
        *,
        cid: str | None,
        request_id: str | None,
        verdict: str,
        note: str | None,
        caller: Caller,
        correction: str | None = None,
    ) -> Feedback:
        """Enter a signed validation; its decision first, so that what the log refuses is not begun. What is
        invalid is remembered by its meaning, and ``correction`` becomes an entry of the caller's in its
        place. Raises ``BadInput``, ``Forbidden``, ``NotFound``, ``Unavailable``."""
        if correction is not None and not caller.may_write:
            raise Forbidden("this key may not write, so it cannot correct")
        if cid is None:
            assert request_id is not None
            known = await self._p.state.cid_of_request(request_id)
            if known is None:
                return await self._feedback_on_draft(request_id, verdict, correction, caller)
            cid = str(known)
        stored = await self.entry(cid, caller)
        record = stored.record
        if not isinstance(record, AnswerRecord):
            raise NotFound("no such entry")
        _check_correction(correction, record.answer)
        entry, private = validation_entry(
            target=str(stored.cid),
            verdict=verdict,
            scope=record.scope,
            policy=self._p.policy.version,
            tenant=caller.tenant,
        )
        decision = await self._log(entry, private)
        if request_id is not None:
            await self._p.watch.feedback(request_id, str(stored.cid), verdict)
        # A merged record is served through the one it was merged into, which a verdict withdraws with it.
        served = {stored.cid, await self._p.records.survivor(stored.cid) or stored.cid}
        live = set(await self._p.records.live([*served]))
        statement = await self._p.rememberer.validate(stored, verdict, note)
        after = await self._p.records.get(stored.cid)
        for gone in live - set(await self._p.records.live([*served])):
            entry, private = quarantine_entry(
                target=str(gone), reason=verdict, scope=record.scope, policy=self._p.policy.version
            )
            await self._log(entry, private, is_done=True)
        kept = None
        if verdict == "invalid":
            asked = None if request_id is None else self._p.pipeline.asked_in(request_id, caller.tenant)
            await self._p.refuted.invalid(stored.cid, record, asked=asked, tenant=caller.tenant)
            if correction is not None:
                is_private = record.scope not in (SCOPE_SHARED, SCOPE_PUBLIC)
                kept = await self._correct(
                    Entry(
                        asked or record.query,
                        correction,
                        caller,
                        scope="private" if is_private else None,
                        corrects=stored.cid,
                    )
                )
        return Feedback(
            cid=str(stored.cid),
            verdict=verdict,
            validation=str(statement.cid),
            valid=after.valid,
            invalid=after.invalid,
            served=after.state == "live",
            decision=decision,
            correction=kept,
        )

    async def _correct(self, entry: Entry) -> str:
        """Store a correction; its CID. What it corrects is withdrawn by now, which the error says."""
        try:
            return (await self.put(entry, new_id())).cid
        except (Rejected, Unavailable) as exc:
            raise type(exc)(f"the answer is withdrawn, but the correction was {exc}") from exc

    async def _feedback_on_draft(
        self, request_id: str, verdict: str, correction: str | None, caller: Caller
    ) -> Feedback:
        """A verdict on what was never stored: ``invalid`` drops it."""
        drafts: list[Draft[Any]] = self._p.drafts.of_request(request_id, caller.tenant)
        if not drafts:
            raise NotFound("no stored answer and no draft belongs to this request_id")
        if correction is not None and len(drafts) > 1:
            raise BadInput("the request asked several questions; correct them one by one", field="correction")
        for draft in drafts:
            _check_correction(correction, draft.answer)
        scope = caller.default_scope
        entry, private = store_entry(
            request=request_id,
            outcome="skipped",
            reason=verdict,
            scope=scope,
            policy=self._p.policy.version,
        )
        decision = await self._log(entry, private)
        kept = None
        if verdict == "invalid":
            for draft in drafts:
                self._p.drafts.drop(draft.key)
                self._p.refuted.invalid_draft(draft.question, draft.answer, scope=scope, tenant=caller.tenant)
            if correction is not None:
                kept = await self._correct(Entry(drafts[0].question, correction, caller))
        return Feedback(None, verdict, None, 0, 0, verdict == "valid", decision, kept)

    # --- operate ----------------------------------------------------------------------------------

    async def cache_stats(self) -> CacheStats:
        """The cache in figures. Raises ``Unavailable``, ``CorruptState``."""
        return CacheStats(
            counts=await self._p.records.counts(),
            semantic=self._p.semantics.facts(),
            facts=self._p.watch.facts(),
            served=self._served.answers,
            made=self._made.answers,
            saved_s=self._saved_s(),
            evicted=self._p.metrics.evictions,
        )

    def release(self) -> None:
        """Let go of everything that was wired, after the doors are shut: aiohttp remembers applications that
        it has served, and through this the whole node would stay in memory."""
        vars(self).clear()

    def stop_accepting(self) -> None:
        """Readiness turns off; what is in flight goes on."""
        self._ready = False

    @property
    def is_ready(self) -> bool:
        return self._ready

    async def health(self) -> list[Check]:
        """Every engine and store, asked at once, each within its own limit; never slower than two seconds.
        Who asks while somebody else's examination is under way shares it: a flood of questions about
        health is not a flood of probes."""
        checks, _ = await self._examinations.run("health", self._examine)
        return checks

    async def _examine(self) -> list[Check]:
        p = self._p
        probes: list[tuple[str, Awaitable[Check]]] = [
            (f"probe:{number}", probe()) for number, probe in enumerate(p.probes)
        ]
        probes.append(("ipfs:blocks", self._store_check()))
        probes.append(("entries", self._entries_check()))
        models, others, _ = await asyncio.gather(
            model_checks(p.generators),
            asyncio.gather(*(_within(name, probe) for name, probe in probes)),
            p.semantics.probe(),
        )
        adapters = [adapter_check(adapter) for adapter in p.adapters]
        return [*p.semantics.health(), self._log_check(), p.watch.health(), *adapters, *models, *others]

    def _log_check(self) -> Check:
        """The log's own word, and what is missing from it."""
        check, unlogged = self._p.log.health(), self._p.metrics.unlogged
        if check.status == "pass" and unlogged.is_outage:
            check = replace(check, status="warn", output="the last decision could not be logged")
        if not unlogged.total:
            return check
        missing = f"decisions since the start that are not in the log: {unlogged.total}"
        return replace(check, output=f"{check.output}; {missing}" if check.output else missing)

    async def _store_check(self) -> Check:
        counts = await self._p.records.counts()
        semantic = self._p.semantics.facts()
        self._p.metrics.set(
            records=counts["live"],
            blocks=counts["blocks"],
            log_size=self._p.log.size(),
            log_epoch=epoch_of(self._p.log.origin)[1],
            index_vectors=semantic.vectors,
            embedding_dimensions=semantic.dim,
            reembedding_done=semantic.done,
            reembedding_total=semantic.total,
        )
        return Check("ipfs:blocks", "pass", "embedded block store", observed=counts["blocks"], unit="blocks")

    async def _entries_check(self) -> Check:
        """Whether what is stored can be found by its meaning."""
        live = (await self._p.records.counts())["live"]
        vectors = self._p.semantics.facts().vectors
        if not self._p.semantics.info.dim or vectors >= live * WITH_VECTOR_MIN:
            said = "" if live else "nothing is stored yet; type: neuroswarm cache import FILE"
            return Check("entries", "pass", said, observed=live, unit="stored answers")
        said = (
            f"only {vectors} of {live} stored answers are found by meaning, the others only in the very "
            "same words; type: neuroswarm embed, then start the node again"
        )
        return Check("entries", "warn", said, observed=live, unit="stored answers")

    def _watched(self) -> None:
        """What is known of hits, into the gauges."""
        facts = self._p.watch.facts()
        shares = {("all", "all"): facts.overall, **facts.by_route}
        self._p.metrics.checked({key: _share(one) for key, one in shares.items()}, facts.labels)
        self._p.metrics.set(
            gated_lookups=facts.lookups,
            gated_hits=facts.gated,
            would_be_hits=facts.would_be_hits,
            audits_done=facts.audits["done"],
            audits_undecided=facts.audits["undecided"],
            audits_skipped=facts.audits["skipped"],
            audits_left=facts.audits["left_this_hour"],
            records_tightened=facts.tightened,
            cache_saved_seconds=self._saved_s() or 0.0,
        )

    def _saved_s(self) -> float | None:
        """What the answers from the cache would have taken, on the average of those that were made."""
        made, served = self._made, self._served
        if not made.answers:
            return None
        return max(0.0, made.seconds / made.answers * served.answers - served.seconds)

    async def metrics(self) -> bytes:
        """The page for a scraper, gauges refreshed."""
        self._p.metrics.budgets(
            [(adapter.name, budget) for adapter in self._p.adapters for budget in adapter.budgets()]
        )
        await _within("ipfs:blocks", self._store_check())
        self._watched()
        if self._p.mirror is not None:
            with contextlib.suppress(NodeError):  # the gauge keeps its value
                await self._p.mirror.waiting()
        return self._p.metrics.text()


def _share(estimate: Estimate) -> dict[str, float]:
    """An estimate for a scraper, without the share where nothing is decided."""
    values = {"low": estimate.low, "high": estimate.high, "upper": estimate.upper}
    return values if estimate.share is None else {"estimate": estimate.share, **values}


def worst(checks: Sequence[Check]) -> str:
    """The status of the whole."""
    return max((check.status for check in checks), key=lambda status: _WORST[status], default="pass")


def adapter_check(adapter: Adapter) -> Check:
    """What an adapter says of itself, under its name, and what is left of its scarcest limit."""
    check = replace(adapter.health(), name=f"adapter:{adapter.name}")
    budgets = adapter.budgets()
    if not budgets:
        return check
    scarce = min(budgets, key=lambda one: one.remaining / one.limit)
    unit = f"calls left of {scarce.limit} in {scarce.window_s:g} s ({scarce.source})"
    return replace(check, observed=scarce.remaining, unit=unit)


async def model_checks(generators: Sequence[Generator]) -> list[Check]:
    """Every language model, asked at once, each within its own limit; and where none can be used, what that
    disables and the ways to get one."""
    checks = list(await asyncio.gather(*(_model_check(generator) for generator in generators)))
    if any(map(answers, checks)):
        return checks
    why = "no language model can be used" if checks else "no language model is configured"
    said = f"{why}: explanations come from cache, sources and quotations only; {GET_A_MODEL}"
    return [*checks, Check("model", "warn", said)]


async def _model_check(generator: Generator) -> Check:
    name = f"model:{generator.name}"
    return replace(await _within(name, generator.probe()), name=name)


async def _within(name: str, probe: Awaitable[Check]) -> Check:
    try:
        async with asyncio.timeout(HEALTH_TIMEOUT_S):
            return await probe
    except TimeoutError:
        return Check(name, "warn", f"did not answer within {HEALTH_TIMEOUT_S:g} s")
    except NodeError as exc:
        return Check(name, "fail", str(exc))


def _check_correction(correction: str | None, answer: str) -> None:
    if correction is not None and normalise(correction) == normalise(answer):
        raise BadInput("the correction says what the answer says", field="correction")


def _why_not_public(publish: str) -> str:
    if publish != "all":
        return f"sharing.publish is {publish}: clients' entries are not made public"
    return "the privacy gate keeps this entry on this node"


def _search_answer(query: Query, route: Route, recall: Recall) -> Answer:
    """A look-up as an answer, so that it is logged and counted like every other decision."""
    found = recall.found
    outcome = "hit" if found else "shadow" if recall.code == "would_hit" else "miss"
    trace = (Step("recall", outcome, recall.reason, code=recall.code),)
    if found is None:
        return Answer(
            query=query,
            text="",
            route=route,
            source=SourceRef("fallback", "search"),
            confidence=Confidence(0.0, {}),
            freshness=Freshness.GENERAL,
            trace=trace,
        )
    return Answer(
        query=query,
        text=found.record.answer,
        route=route,
        source=SourceRef("cache", found.record.source.id),
        confidence=Confidence(found.record.confidence / PPM, {}),
        freshness=Freshness.GENERAL,
        cid=str(found.stored.cid),
        stored=True,
        hit=found.hit,
        trace=trace,
    )
