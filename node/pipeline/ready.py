"""Hits by keys, exact and slot, that are served again from memory: the same words by the same caller,
without the walk.

What a walk came to is kept with everything that its next reply needs. Promises: what is served is what the
walk would find, as of the newest change that the store has acknowledged, for the asker's day, and only as
long as the record lives; bounded in bytes. Event loop only. It must not know how an answer was found.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, tzinfo

from node.audit.decisions.entry_fields import Entry
from node.audit.decisions.seal import Form
from node.cache.keys import keyword_key
from node.cache.lookup import EXACT, SEMANTIC, SLOT
from node.cache.recall import Recall, Recalled, is_a_peer_s_word
from node.core.caller import Caller
from node.core.clock_rule import Doubt
from node.core.errors import Rejected
from node.core.ipld.cid import Cid
from node.core.model import Answer, DecisionRef, Query, Step
from node.core.normalise import query_hash
from node.core.template import Template
from node.peers.rules import kept as beside
from node.store.touched import Touched

BYTES_MAX = 96 * 2**20
EACH_BYTES = 7_000
"""What one takes beside its texts (measured)."""
LIVES = timedelta(minutes=10)
"""Adapters may learn what they recognise: a walk looks again so often."""
LIVE_LIVES = timedelta(seconds=20)
"""The same where the words are of this moment ("in two hours")."""
_KEPT_STEPS = frozenset({"understand", "recall"})


@dataclass(eq=False, slots=True)
class Ready:
    """A reply but for its request, its moment and its place in the log; ``form`` is its decision, ``text``
    what was asked in itself, ``cid`` and ``stored_at`` of the record."""

    text: str
    answer: Answer
    cid: Cid | None
    stored_at: datetime
    recall: Recall
    form: Form
    made: datetime
    until: datetime
    keys: frozenset[str]
    size: int

    observe: Callable[[float], None] | None = None
    """Counts it as served in so many seconds. Kept here by whoever counts, and made once."""
    reply: Template | None = None
    """The same for whoever writes the reply."""
    is_used: bool = False
    """It was served since room was made last."""

    def age_s(self, now: datetime) -> int:
        """Of the record."""
        return max(0, int((now - self.stored_at).total_seconds()))


@dataclass(slots=True)
class Again:
    """An answer from memory, and what is of this request alone; ``name``: its id as its tenant's own
    (``Caller.request``)."""

    ready: Ready
    request: str
    name: str
    received: datetime
    age_s: int
    decision: DecisionRef | None

    @property
    def answer(self) -> Answer:
        was = self.ready.answer
        assert was.hit is not None
        query = replace(was.query, id=self.request, received=self.received)
        return replace(was, query=query, hit=replace(was.hit, age_s=self.age_s), decision=self.decision)


@dataclass(eq=False, slots=True)
class Attempt:
    """A walk under way, and what has changed since it began."""

    key: Hashable
    touched: set[str] = field(default_factory=set)
    is_spoilt: bool = False


class ReadyHits:
    """See the module. ``begin`` and ``end`` stand around a walk; ``keep`` comes between them."""

    def __init__(self, bytes_max: int = BYTES_MAX) -> None:
        self._bytes_max = bytes_max
        self._bytes = 0
        self._ready: OrderedDict[Hashable, Ready] = OrderedDict()
        self._by: dict[str, set[Hashable]] = {}
        self._attempts: set[Attempt] = set()

    def find(
        self, text: str, caller: Caller, zone: tzinfo, now: datetime, doubt: Doubt | None = None
    ) -> Ready | None:
        key = (text, caller, zone)
        found = self._ready.get(key)
        if found is None:
            return None
        if not found.made <= now < found.until or (doubt is not None and found.made < doubt.since):
            self._drop(key)
            return None
        found.is_used = True
        return found

    def begin(self, query: Query) -> Attempt | None:
        """None where its answer depends on more than its words, its caller and its day."""
        if query.session or query.context or query.tags or query.no_cache or query.no_store:
            return None
        if query.max_age_s is not None or query.ttl_s is not None:
            return None
        attempt = Attempt((query.asked, query.caller, query.zone))
        self._attempts.add(attempt)
        return attempt

    def end(self, attempt: Attempt | None) -> None:
        if attempt is not None:
            self._attempts.discard(attempt)

    def keep(
        self,
        attempt: Attempt,
        text: str,
        answer: Answer,
        recall: Recall | None,
        decide: Callable[[Answer], Entry],
    ) -> None:
        """Keep what the walk for ``text`` came to, if that is a hit by keys on what is ours, and nothing that
        it rests on has changed meanwhile."""
        query, route, hit = answer.query, answer.route, answer.hit
        found = None if recall is None else recall.found
        if recall is None or found is None or hit is None or hit.kind not in (EXACT, SLOT) or answer.stale:
            return
        if answer.parts or is_a_peer_s_word(found.stored):
            return
        words = keyword_key(text) if hit.kind == SLOT and route.key is None else None
        keys = frozenset(key for key in (query_hash(text), route.key, words) if key is not None)
        if attempt.is_spoilt or not keys.isdisjoint(attempt.touched):
            return
        lives = LIVE_LIVES if route.time_sensitive else LIVES
        until = query.received + lives
        tomorrow = query.local.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
        ends = beside.ends(found.record, found.stored.origin, found.stored.kept)
        until = min(until, tomorrow, *([ends] if ends is not None else []))
        steps = tuple(Step(one.stage, one.outcome, one.reason, 0.0, one.code) for one in answer.trace
                      if one.stage in _KEPT_STEPS)  # fmt: skip
        kept = _as_told(answer, steps)
        try:
            form = Form(*decide(kept))
        except Rejected:
            return
        size = EACH_BYTES + form.size + 2 * len(query.asked) + 4 * len(answer.text)
        cid = None if kept.cid is None else Cid.parse(kept.cid)
        at = found.record.timestamp
        ready = Ready(text, kept, cid, at, _light(recall), form, query.received, until, keys, size)
        self._put(attempt.key, ready)

    def touched(self, touched: Touched) -> None:
        """The store has changed."""
        for attempt in self._attempts:
            attempt.touched |= touched.keys
            attempt.is_spoilt = attempt.is_spoilt or bool(touched.scopes)
        for key in touched.keys:
            for one in list(self._by.get(key, ())):
                self._drop(one)
        if touched.scopes:
            for one, ready in list(self._ready.items()):
                if not touched.scopes.isdisjoint(ready.answer.query.caller.visible_scopes):
                    self._drop(one)

    def clear(self) -> None:
        """Something has changed that no key tells of."""
        for attempt in self._attempts:
            attempt.is_spoilt = True
        self._ready.clear()
        self._by.clear()
        self._bytes = 0

    def _put(self, key: Hashable, ready: Ready) -> None:
        self._drop(key)
        self._ready[key] = ready
        self._bytes += ready.size
        for one in ready.keys:
            self._by.setdefault(one, set()).add(key)
        while self._bytes > self._bytes_max:
            first, oldest = next(iter(self._ready.items()))
            if oldest.is_used:
                oldest.is_used = False
                self._ready.move_to_end(first)
            else:
                self._drop(first)

    def _drop(self, key: Hashable) -> None:
        ready = self._ready.pop(key, None)
        if ready is None:
            return
        self._bytes -= ready.size
        for one in ready.keys:
            keys = self._by[one]
            keys.discard(key)
            if not keys:
                del self._by[one]


def _light(recall: Recall) -> Recall:
    """The look-up without vectors, and where the gate did not decide it without what else was seen."""
    found = recall.found
    assert found is not None
    record = replace(found.record, embedding=None)
    candidates = [one.judged.candidate for one in recall.seen] if found.hit.kind == SLOT else []
    is_gated = any(one.check_text or one.tier == SEMANTIC for one in candidates)
    seen = recall.seen if is_gated else ()
    light = Recalled(replace(found.stored, record=record), record, found.hit)
    return Recall(light, recall.code, recall.reason, tuple(replace(one, record=record) for one in seen))


def _as_told(answer: Answer, steps: tuple[Step, ...]) -> Answer:
    """The answer without what belongs to one request: how long it took, and its decision."""
    return Answer(
        query=answer.query,
        text=answer.text,
        route=answer.route,
        source=answer.source,
        confidence=answer.confidence,
        freshness=answer.freshness,
        citations=answer.citations,
        cid=answer.cid,
        stored=answer.stored,
        hit=answer.hit,
        unverified=answer.unverified,
        store_reason=answer.store_reason,
        trace=steps,
        usage=answer.usage,
    )
