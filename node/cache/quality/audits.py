"""Watches over hits: audits some of them against fresh answers, hears feedback, compares in shadow mode.

Rules:
1. Each hit that the gate let through is audited with probability ``share``, at most ``per_hour`` in any
   hour: a random sample, so that the estimate made from it is of the hits as they come. What is passed over
   for want of budget, room or quiet is counted.
2. An audit answers the question afresh, past the cache and storing nothing, in a task of its own, one at a
   time, within ``AUDIT_TIMEOUT_S``, and only while at most ``BUSY_MAX`` requests are under way; when more
   come it gives way and is dropped.
3. A fresh answer tells something only if it is one that the node itself would store, is neither stale nor a
   fallback, and does not rest on the very record that it is to judge. Otherwise the audit is undecided.
4. Whether both say the same is ``language.same_answer``'s to say: rules, no language model.
5. In shadow mode the node's own answer, or the one that a client stores after the miss, takes the place of
   the fresh one.
6. Nothing here is awaited by a request or raises into one; queues are bounded and drop what is too much.

Audits are no user traffic: they are not in the request metrics and leave entries of kind ``audit``.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, OrderedDict, deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta

from node.audit.decisions.entry import audit_entry, quarantine_entry
from node.audit.decisions.entry_fields import Entry
from node.cache.lookup import SEMANTIC
from node.cache.quality.labelling import Labels
from node.cache.recall import Recall
from node.cache.watch import Facts
from node.core.clock import Clock, new_id
from node.core.errors import NodeError
from node.core.model import Answer, Check, Kind, Query
from node.core.normalise import normalise, query_hash
from node.core.ports import AuditLog
from node.core.record import AnswerRecord
from node.language.same_answer import CHARS_MAX, Sameness, same_answer
from node.store.hit_label import ASKED_AGAIN, AUDIT, FEEDBACK, NEAR_MAX, RIGHT, SHADOW, UNDECIDED, WRONG, Hit
from node.store.record_rules import is_private

log = logging.getLogger("neuroswarm.audit")

AUDIT_TIMEOUT_S = 30.0
WAITING_MAX = 16
"""Audits that wait for their turn; a sample taken while so many wait is passed over."""
WRITES_MAX = 1_024
WITHHELD_MAX = 1_024
"""Hits of shadow mode that wait for the client to store its own answer."""
HEARD_MAX = 1_024
"""Feedback remembered, so that it is not entered twice."""
BUSY_MAX = 1
BUSY_WAIT_S = 2.0
BUSY_WAITS_MAX = 30
GIVE_WAY_EVERY_S = 0.25
LIVE_FOR = timedelta(days=1)
"""Figures of an answer that may be served no longer than this move; see ``language.same_answer``."""
_HOUR_S = 3_600.0
_NO_REFERENCE = frozenset({"fallback", "statement", "composite", "cache"})

Afresh = Callable[[Query], Awaitable[Answer | None]]
Write = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Watching:
    """What of the settings decides here. ``policy`` names the rules in the log."""

    share: float
    per_hour: int
    confidence_min: float
    max_wrong_hit_rate: float
    shadow: bool
    policy: str


@dataclass(frozen=True, slots=True)
class _Audit:
    hit: Hit
    query: Query
    record: AnswerRecord


class Auditor:
    """Implements ``node.cache.watch.Watch``. ``start`` begins the background work; before it, and after
    ``stop``, nothing is sampled."""

    def __init__(self, labels: Labels, clock: Clock, decisions: AuditLog, watching: Watching) -> None:
        self._labels = labels
        self._clock = clock
        self._decisions = decisions
        self._watching = watching
        self._audits: asyncio.Queue[_Audit] = asyncio.Queue(WAITING_MAX)
        self._writes: asyncio.Queue[Write] = asyncio.Queue(WRITES_MAX)
        self._withheld: OrderedDict[tuple[str, str | None, str], tuple[Hit, str, bool]] = OrderedDict()
        self._used: deque[float] = deque()
        self._heard: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._done: Counter[str] = Counter()
        self._hits: Counter[tuple[str, str]] = Counter()
        self._lookups = self._gated = self._would_be = 0
        self._afresh: Afresh | None = None
        self._busy: Callable[[], int] = int
        self._tasks: list[asyncio.Task[None]] = []

    def start(self, afresh: Afresh, busy: Callable[[], int]) -> None:
        """Begin. ``afresh`` answers past the cache, None where the question cannot be asked as one;
        ``busy`` is the number of requests under way."""
        self._afresh, self._busy = afresh, busy
        self._tasks = [
            asyncio.create_task(self._write(), name="labels"),
            asyncio.create_task(self._work(), name="audits"),
        ]

    async def stop(self) -> None:
        """Finish the writes that wait; audits under way are dropped. Idempotent."""
        tasks, self._tasks = self._tasks, []
        if not tasks:
            return
        writer, worker = tasks
        try:
            worker.cancel()
            await asyncio.gather(worker, return_exceptions=True)
            await self._writes.join()
        finally:
            self._afresh = None
            writer.cancel()
            await asyncio.gather(writer, return_exceptions=True)

    # --- being told -------------------------------------------------------------------------------

    def recalled(self, query: Query, answer: Answer, recall: Recall, *, withheld: bool = False) -> None:
        """Count a look-up; remember, sample or compare a hit that the gate let through."""
        route = answer.route
        found = recall.found
        hit = None if found is None else _gated(query, str(route.kind), recall)
        if found is not None and not withheld:
            self._hits[(str(route.kind), found.hit.kind)] += 1
        if hit is None or found is None:
            # What has canonical slots is looked up by its key alone, but for a search of stored entries.
            searched = route.floor is not None and (route.key is None or answer.source.id == "search")
            self._lookups += found is None and searched
            return
        self._lookups += 1
        self._gated += 1
        record = found.record
        if withheld:
            self._would_be += 1
            if answer.source.kind == "fallback" and answer.source.id == "search":
                self._withheld[(query.caller.tenant, query.context, hit.query_hash)] = (
                    hit,
                    record.answer[:CHARS_MAX],
                    _is_live(record),
                )
                if len(self._withheld) > WITHHELD_MAX:
                    self._withheld.popitem(last=False)
            else:
                self._later(self._compared(hit, lambda: self._judge(query, record, answer, hit.cid)))
            return
        request = query.caller.request(query.id)
        self._labels.note(request, hit)
        self._later(lambda: self._labels.keep(request))
        if query.context is None and self._clock.random() < self._watching.share:
            self._offer(_Audit(hit, query, record))

    def entered(self, query: str, answer: str, tenant: str, context: str | None = None) -> None:
        """The client's own answer to a question whose hit was kept back."""
        kept = self._withheld.pop((tenant, context, query_hash(query)), None)
        if kept is None:
            return
        hit, stored, live = kept
        said = answer[:CHARS_MAX]
        self._later(self._compared(hit, lambda: same_answer(stored, said, question=query, live=live)))

    async def feedback(self, request: str, cid: str, verdict: str) -> None:
        """Label the pair of question and record behind a request, once for each verdict. Callers may choose
        the ids of their requests: a hit on another record than ``cid`` is not what is meant."""
        hit = await self._labels.hit_of(request)
        if hit is None or hit.cid != cid or (request, verdict) in self._heard:
            return
        self._heard[(request, verdict)] = None
        if len(self._heard) > HEARD_MAX:
            self._heard.popitem(last=False)
        await self._labels.add(hit, FEEDBACK, RIGHT if verdict == "valid" else WRONG)

    def doubted(self, answer: Answer) -> None:
        """Its asker asked again in other words: a weak label, where a stored answer stands behind it."""
        query, cid = answer.query, answer.cid
        if cid is None:
            return
        tier = "made" if answer.hit is None else answer.hit.kind
        hit = Hit(
            cid, str(answer.route.kind), tier, None, answer.confidence.value, None, query_hash(query.text),
            is_private=True,
        )  # fmt: skip
        self._later(lambda: self._labels.add(hit, ASKED_AGAIN, WRONG))

    def _compared(self, hit: Hit, compare: Callable[[], Sameness]) -> Write:
        """The comparison takes its time when its turn has come, not the request's."""

        async def write() -> None:
            await self._labels.add(hit, SHADOW, compare().verdict)

        return write

    def _later(self, write: Write) -> None:
        if not self._tasks:
            return
        try:
            self._writes.put_nowait(write)
        except asyncio.QueueFull:
            self._done["writes_dropped"] += 1

    def _offer(self, audit: _Audit) -> None:
        if self._afresh is None:
            return
        if self._left() <= self._audits.qsize():
            self._done["skipped"] += 1
            return
        try:
            self._audits.put_nowait(audit)
        except asyncio.QueueFull:
            self._done["skipped"] += 1

    def _left(self) -> int:
        """Audits that this hour's budget still has."""
        now = self._clock.monotonic()
        while self._used and now - self._used[0] >= _HOUR_S:
            self._used.popleft()
        return max(0, self._watching.per_hour - len(self._used))

    # --- working ----------------------------------------------------------------------------------

    async def _write(self) -> None:
        while True:
            write = await self._writes.get()
            try:
                await write()
            except Exception:  # the job's outermost handler: one label that fails must not end the others
                log.exception("a label was not entered")
                self._done["writes_dropped"] += 1
            finally:
                self._writes.task_done()

    async def _work(self) -> None:
        while True:
            audit = await self._audits.get()
            try:
                await self._audit(audit)
            except Exception:  # the job's outermost handler: one audit that fails must not end the others
                log.exception("an audit failed")
                self._done["skipped"] += 1

    async def _audit(self, audit: _Audit) -> None:
        if not await self._quiet() or not self._left():
            self._done["skipped"] += 1
            return
        self._used.append(self._clock.monotonic())
        try:
            fresh = await self._ask(audit.query)
        except NodeError as exc:
            log.info("an audit got no answer: %s", exc)
            fresh = None
        if fresh is _GAVE_WAY:
            self._done["skipped"] += 1
            return
        sameness = Sameness(UNDECIDED, "no_answer")
        if isinstance(fresh, Answer):
            sameness = self._judge(audit.query, audit.record, fresh, audit.hit.cid)
        self._done["done"] += 1
        self._done["undecided"] += sameness.verdict == UNDECIDED
        await self._labels.add(audit.hit, AUDIT, sameness.verdict)
        await self._log(audit, sameness, fresh.source.kind if isinstance(fresh, Answer) else "fallback")

    async def _quiet(self) -> bool:
        """Wait until few requests are under way; False if that does not come."""
        for _ in range(BUSY_WAITS_MAX):
            if self._busy() <= BUSY_MAX:
                return True
            await self._clock.sleep(BUSY_WAIT_S)
        return False

    async def _ask(self, served: Query) -> Answer | object | None:
        """The fresh answer, ``None`` where there cannot be one, or ``_GAVE_WAY``."""
        assert self._afresh is not None
        # The words as they came tell a question from a statement, unless they were only a part of them.
        asked = served.asked if normalise(served.asked) == served.text else served.text
        query = Query(
            id=new_id(),
            asked=asked,
            text=normalise(served.text),
            caller=served.caller,
            received=self._clock.now(),
            deadline=self._clock.monotonic() + AUDIT_TIMEOUT_S,
            no_cache=True,
            no_store=True,
            zone=served.zone,
        )
        task = asyncio.ensure_future(self._afresh(query))
        try:
            while True:
                done, _ = await asyncio.wait({task}, timeout=GIVE_WAY_EVERY_S)
                if done:
                    return task.result()
                if self._busy() > BUSY_MAX:
                    return _GAVE_WAY
        finally:
            if not task.done():
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    def _judge(self, query: Query, record: AnswerRecord, fresh: Answer, cid: str) -> Sameness:
        if fresh.source.kind in _NO_REFERENCE or fresh.hit is not None:
            return Sameness(UNDECIDED, "no_answer")
        if fresh.stale:
            return Sameness(UNDECIDED, "stale")
        if fresh.confidence.value < self._watching.confidence_min:
            return Sameness(UNDECIDED, "unsure")
        if any(cid in (one.source, one.locator) or one.url == f"ipfs://{cid}" for one in fresh.citations):
            return Sameness(UNDECIDED, "rests_on_the_record")
        live = _is_live(record) or fresh.route.kind is Kind.DETERMINISTIC
        return same_answer(record.answer, fresh.text, question=query.text, live=live)

    async def _log(self, audit: _Audit, sameness: Sameness, compared_with: str) -> None:
        hit, record = audit.hit, audit.record
        audited = audit_entry(
            target=hit.cid,
            verdict=sameness.verdict,
            reason=sameness.code,
            question_class=hit.kind,
            tier=hit.tier,
            similarity=hit.similarity,
            u=hit.u,
            compared_with=compared_with,
            scope=record.scope,
            policy=self._watching.policy,
            asked="\n".join((audit.query.text, record.query, record.answer)).lower(),
        )
        await self._enter(audited)
        if sameness.verdict == WRONG:  # the label holds the record back from here on (cache.tighten)
            policy, scope = self._watching.policy, record.scope
            await self._enter(
                quarantine_entry(
                    target=hit.cid, reason="wrong", scope=scope, policy=policy, held_back_at=hit.score
                )
            )

    async def _enter(self, entry: Entry) -> None:
        body, private_texts = entry
        try:
            await self._decisions.append(body, private_texts=private_texts)
        except NodeError as exc:
            log.warning("an audit could not be logged: %s", exc)

    # --- figures ----------------------------------------------------------------------------------

    def facts(self) -> Facts:
        """Without I/O."""
        estimates = self._labels.estimates
        return Facts(
            shadow=self._watching.shadow,
            hits=dict(self._hits),
            lookups=self._lookups,
            gated=self._gated,
            would_be_hits=self._would_be,
            overall=estimates.overall(),
            by_route=estimates.by_route(),
            feedback=estimates.feedback(),
            audits={
                **{name: self._done[name] for name in ("done", "undecided", "skipped")},
                "waiting": self._audits.qsize(),
                "left_this_hour": self._left(),
            },
            labels=self._labels.counts(),
            tightened=self._labels.tightening.tightened,
        )

    def health(self) -> Check:
        """Warns when wrong hits are surely more of the look-ups than the setting allows."""
        facts, most = self.facts(), self._watching.max_wrong_hit_rate
        estimate, share = facts.overall, facts.gated_share
        name, unit = "cache:wrong_hits", "share of look-ups that the gate decides"
        if not estimate.decided:
            return Check(name, "pass", "no hit has been checked yet")
        low, best = estimate.low * share, (estimate.share or 0.0) * share
        said = (
            f"{estimate.wrong} of {estimate.decided} checked hits were wrong: {best:.2%} of look-ups "
            f"({low:.2%} to {estimate.high * share:.2%}), at most {most:.2%} are meant"
        )
        status = "pass"
        if low > most and facts.lookups:  # after a start nothing says yet how many look-ups are hits
            status = "warn"
            said += (
                "; lower cache.max_wrong_per_hit or set cache.shadow = true, and look at the worst with: "
                "neuroswarm cache replay"
            )
        return Check(name, status, said, observed=round(best, 6), unit=unit)


_GAVE_WAY = object()


def _gated(query: Query, kind: str, recall: Recall) -> Hit | None:
    """The hit, if the gate decided it: a semantic one, or one found by its words."""
    found = recall.found
    assert found is not None
    if not recall.seen:
        return None
    cid = str(found.stored.cid)
    judged = next((seen.judged for seen in recall.seen if seen.judged.candidate.cid == cid), None)
    if judged is None or not (judged.candidate.tier == SEMANTIC or judged.candidate.check_text):
        return None
    return Hit(
        cid=cid,
        kind=kind,
        tier=judged.candidate.tier,
        similarity=judged.candidate.similarity,
        score=judged.score,
        u=judged.u,
        query_hash=query_hash(query.text),
        near=tuple(one.judged.candidate.cid for one in recall.seen if one.judged.candidate.cid != cid)[
            :NEAR_MAX
        ],
        is_private=is_private(found.record.scope),
    )


def _is_live(record: AnswerRecord) -> bool:
    return record.expires is not None and record.expires - record.timestamp <= LIVE_FOR
