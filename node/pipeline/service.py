"""What the doors (HTTP, commands) may ask of the node: answers, entries, feedback, blocks, health.

Doors turn bytes into values and call this; they hold no rule. This holds no order of stations (``walk``)
and builds nothing (``app``).
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo

from node.audit.decisions.answer_entry import decision_entry
from node.audit.recorder import Recorder
from node.cache.quality.estimate import Estimate
from node.cache.recall import Recall
from node.core.caller import Caller
from node.core.clock import new_id
from node.core.errors import Forbidden, NodeError, Unavailable
from node.core.ipld.cid import Cid
from node.core.model import Answer, Check, DecisionRef, Json, Query, Route
from node.core.normalise import normalise
from node.core.ports import (
    Embedded,
    EmbedderInfo,
    StoredRecord,
    Tell,
    Vector,
)
from node.pipeline.entries import Entries, visible
from node.pipeline.feedback import Judging
from node.pipeline.health import Health, within
from node.pipeline.invalidation import Invalidator
from node.pipeline.partition import LOOKED_AT_CHARS_MAX, is_long, is_plain, partition
from node.pipeline.ports import Ports
from node.pipeline.ready import Again
from node.pipeline.replies import is_semantic, search_answer, shadow_step
from node.pipeline.requests import Ask, CacheStats, Entry, Feedback, Invalidation, Kept, Merged, Said
from node.pipeline.single_flight import SingleFlight
from node.pipeline.through import PassThrough, is_question, route_of
from node.pipeline.understanding.route import as_it_stands
from node.pipeline.understanding.understand import Part
from node.store.retention.invalidate import Invalidated

log = logging.getLogger("neuroswarm.service")

RECEIPT_WAIT_S = 1.5
"""How long a verbose reply waits for the checkpoint that covers its decision: one is due every second."""


@dataclass(slots=True)
class _Spent:
    """Answers of one sort and the seconds that they took together."""

    answers: int = 0
    seconds: float = 0.0

    def add(self, seconds: float) -> None:
        self.answers += 1
        self.seconds += seconds


class Service:
    """The node, as its doors see it."""

    def __init__(self, ports: Ports) -> None:
        self._p = ports
        version = ports.policy.version
        self._recorder = Recorder(ports.log, ports.metrics.unlogged, refuses=ports.policy.refuse_unlogged)
        self._invalidator = Invalidator(
            ports.records, ports.rememberer, ports.eraser, self._recorder, ports.clock, version
        )
        self._entries = Entries(ports, self._recorder)
        self._judging = Judging(ports, self._recorder, self._entries.put)
        self._health = Health(ports)
        self._pages: SingleFlight[bytes] = SingleFlight()
        self._ready = True
        self._made, self._served = _Spent(), _Spent()

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
            talk=ask.talk,
            only_cached=ask.only_cached,
        )

    async def answer(self, ask: Ask, request_id: str | None = None, tell: Tell | None = None) -> Answer:
        """Answer a question (``POST /chat``); ``tell`` hears what goes on meanwhile. Raises ``Unavailable``
        only where a setting says so."""
        query = self.query(ask, request_id)
        started = self._p.clock.monotonic()
        answers = self._p.agent if ask.agent and self._p.agent is not None else self._p.pipeline
        answer = await answers.answer(query, tell)
        took_s = self._p.clock.monotonic() - started
        self._count(answer, took_s)
        if self._p.memory is not None and not query.no_store:
            self._p.memory.hear(query, is_agent=ask.agent)
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
        return answer

    def again(
        self, text: str, caller: Caller, zone: tzinfo | None, request_id: str
    ) -> Again | Awaitable[Again] | None:
        """The answer to a plain question (nothing but its words, its caller and the moment matter) from
        memory, or what it will come from, if just this was asked before and what answered it has not changed;
        without a trace and without a line in the program's log. Raises ``Unavailable`` only where a setting
        says so."""
        started = self._p.clock.monotonic()
        again = self._p.pipeline.again(request_id, text, caller, zone or self._p.zone)
        if again is None or isinstance(again, Again):
            return again and self._counted(again, started)
        return self._counted_later(again, started)

    async def _counted_later(self, again: Awaitable[Again], started: float) -> Again:
        return self._counted(await again, started)

    def _counted(self, again: Again, started: float) -> Again:
        ready, took_s = again.ready, self._p.clock.monotonic() - started
        if ready.observe is None:
            ready.observe = self._p.metrics.observer(ready.answer)
        ready.observe(took_s)
        self._served.add(took_s)
        if ready.cid is not None:
            if self._p.uses is not None:
                self._p.uses.note(ready.cid)
            self._p.state.remember_request(again.name, ready.cid)
        return again

    def _count(self, answer: Answer, took_s: float) -> None:
        self._p.metrics.observe(answer, took_s)
        if answer.hit is not None:
            self._served.add(took_s)
        elif answer.source.kind not in ("statement", "fallback"):
            self._made.add(took_s)
        for served in (answer, *answer.parts):
            self._count_use(served)
        if answer.cid is not None:
            self._remember_request(answer.query, answer.cid)

    def _remember_request(self, query: Query, cid: str) -> None:
        self._p.state.remember_request(query.caller.request(query.id), Cid.parse(cid))

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

    async def route(self, ask: Ask) -> list[Part]:
        """Classify only (``POST /route``); with a session the turn is entered."""
        query = self.query(ask)
        parts = await self._p.pipeline.settled(query)
        for part in parts:
            if not part.route.about_node:
                self._p.pipeline.enter_turn(query, part.text, "")
        return parts

    def tools(self) -> list[dict[str, Json]]:
        """What the agent may call (``GET /v1/tools``)."""
        return [] if self._p.agent is None else self._p.agent.listed()

    # --- the cache as a service -------------------------------------------------------------------

    async def put(self, entry: Entry, request_id: str) -> Kept:
        """See ``Entries.put``."""
        return await self._entries.put(entry, request_id)

    async def search(
        self, ask: Ask, floor: float | None, request_id: str
    ) -> tuple[Recall, DecisionRef | None]:
        """Look a question up without asking anyone (``POST /v1/cache/search``). ``floor`` can only
        raise the similarity floor of the question's class."""
        query = self.query(ask, request_id)
        part = await self._entries.place(query.asked)
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
        answer = search_answer(query, route, recall)
        self._p.watch.recalled(query, answer, looked_up, withheld=withheld)
        if answer.cid is not None:
            self._p.pipeline.note_asked(query, query.text)
            self._remember_request(query, answer.cid)
        self._count_use(answer)
        self._p.metrics.observe(answer, self._p.clock.monotonic() - started)
        return recall, await self._log_answer(answer)

    # --- requests in the form of a chat ---------------------------------------------------------------

    def place(
        self, model: str, before: Sequence[Json], settings: Mapping[str, Json], last: str
    ) -> tuple[str | None, Route]:
        """The partition of a chat's last message (``partition``), and how it is looked up in front of an
        upstream. ``model``: the upstream's name for it, empty for the node's own."""
        now = self._p.clock.now().astimezone(self._p.zone)
        parts = [] if is_long(last) else self._p.understanding.part(last, now=now)
        plain = is_plain(before, settings, last, is_question=is_question(parts))
        context = partition(model, before, settings, last, plain=plain)
        return context, route_of(parts, floor=self._p.floor_default) if plain else as_it_stands()

    @property
    def through(self) -> PassThrough | None:
        """What hands requests on to upstreams, where there are any."""
        through = self._p.through
        return through if through is not None and through.has_upstream else None

    def count_passed(self, answer: Answer, took_s: float) -> None:
        """Count a request that went through ``through``."""
        self._count(answer, took_s)

    def count_tokens(self, text: str) -> int:
        """By the tokenizer that is packaged with the node: close to any model's count. Of a long text the
        first part stands for the rest."""
        if not is_long(text):
            return self._p.count_tokens(text)
        return round(self._p.count_tokens(text[:LOOKED_AT_CHARS_MAX]) * len(text) / LOOKED_AT_CHARS_MAX)

    @property
    def embedder(self) -> EmbedderInfo:
        """The model that embeds now; ``dim`` is 0 while none does."""
        return self._p.semantics.info

    async def vectors(self, texts: Sequence[str]) -> list[Vector | None]:
        """A vector for each text, None for one beyond the embedder's window. Raises ``Unavailable``."""
        if not self._p.semantics.info.dim:
            raise Unavailable("no embedder serves now")
        found = await self._p.semantics.embed(texts)
        return [None if one is None else one.vector for one in found]

    async def embed(self, text: str) -> Vector | None:
        """The vector of a text, None for one beyond the embedder's window or while no embedder serves."""
        if not self._p.semantics.info.dim:
            return None
        try:
            [embedded] = await self._p.semantics.embed([text])
        except Unavailable:
            return None
        return None if embedded is None else embedded.vector

    async def _log_answer(self, answer: Answer) -> DecisionRef | None:
        entry, private = decision_entry(
            answer,
            policy=self._p.policy.version,
            embedder=self._p.semantics.info,
            will_store=False,
            store_reason="look_up_only",
            scope=answer.query.caller.default_scope,
        )
        return (await self._recorder.enter(entry, private, kind="answer")).ref

    async def entry(self, cid: str, caller: Caller) -> StoredRecord:
        """A record this caller may see. Raises ``NotFound`` for all others, alike."""
        return await visible(self._p.records, cid, caller)

    async def withdraw(self, cid: str, caller: Caller) -> DecisionRef | None:
        """See ``Entries.withdraw``."""
        return await self._entries.withdraw(cid, caller)

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

    async def feedback(self, said: Said) -> Feedback:
        """See ``Judging.give``."""
        return await self._judging.give(said)

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
        """See ``Health.checks``."""
        return await self._health.checks()

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
        """The page for a scraper, gauges refreshed; who asks while it is made gets the same."""
        page, _ = await self._pages.run("metrics", self._page)
        return page

    async def _page(self) -> bytes:
        self._p.metrics.budgets(
            [(adapter.name, budget) for adapter in self._p.adapters for budget in adapter.budgets()]
        )
        await within("ipfs:blocks", self._health.store())
        self._watched()
        if self._p.mirror is not None:
            with contextlib.suppress(NodeError):  # the gauge keeps its value
                await self._p.mirror.waiting()
        return self._p.metrics.text()


def _share(estimate: Estimate) -> dict[str, float]:
    """An estimate for a scraper, without the share where nothing is decided."""
    values = {"low": estimate.low, "high": estimate.high, "upper": estimate.upper}
    return values if estimate.share is None else {"estimate": estimate.share, **values}
