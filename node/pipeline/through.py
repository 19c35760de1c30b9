"""The cache in front of an upstream: a request goes to the model that it names, unless that has answered it.

Promises:
- what an upstream said is served only within its partition (``partition``), by exact match or by the gate, as
  any stored answer is; what the node knows besides has no part in it;
- stored is what ended whole: plain text, its end named by the upstream as its own (``stop``), nothing beside
  it;
- the same request by the same caller at the same time is one request to the upstream; each reads it at its
  own pace from the first event on, and the request ends with the last of them;
- each request is a decision in the log.

How sure an upstream is of what it says is not this cache's to judge: its word is stored with the confidence
of a model's word without evidence, and served below the bar that holds for the node's own answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Hashable, Mapping
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from node.answer.score.confidence import Origin, judge, observe
from node.cache.recall import Recall, Recaller
from node.core.clock import Clock
from node.core.errors import NodeError, Refused, Unavailable
from node.core.model import Answer, Freshness, Kind, Query, Route, Source, SourceRef, Step, Usage
from node.core.ports import Embedded, Semantics
from node.core.record import ModelRef
from node.models.openai_client import whole
from node.models.upstream import Upstream, Upstreams, failed
from node.pipeline import replies
from node.pipeline.decisions import Decisions
from node.pipeline.under_way import Policy, Reached, left_s, since_ms
from node.pipeline.understanding.route import as_it_stands
from node.pipeline.understanding.understand import Part
from node.store.record_rules import scope_for
from node.store.remember import Memory, Remembered, Rememberer
from node.store.retention.freshness import lifetime_s

UPSTREAM = "upstream"
"""Kind of source of what an upstream said."""
STORE_WAIT_S = 2.0
SPEAKS_BEYOND = (
    "tool_calls",
    "function_call",
    "refusal",
    "reasoning_content",
    "reasoning",
    "audio",
    "annotations",
)
"""Fields of a message beside its text: an answer that has one is handed on and not stored."""


@dataclass(frozen=True, slots=True)
class Handed:
    """A request for an upstream. ``bypass``: why it goes past the cache, empty where it does not."""

    model: str
    path: str
    body: Mapping[str, Any]
    bypass: str = ""


@dataclass(frozen=True, slots=True)
class Passed:
    """A request that was answered. ``tokens`` as the upstream counted them; None where it did not."""

    answer: Answer
    tokens: Usage | None
    is_joined: bool = False


@dataclass(slots=True)
class Said:
    """What an upstream has said so far, of a whole answer or of a stream."""

    pieces: list[str] = field(default_factory=list)
    reason: str = ""
    model: str = ""
    tokens: Usage | None = None
    is_plain: bool = True

    def hear(self, event: Mapping[str, Any]) -> None:
        usage, choices = event.get("usage"), event.get("choices")
        if isinstance(usage, dict):
            self.tokens = Usage(whole(usage.get("prompt_tokens")), whole(usage.get("completion_tokens")))
        if isinstance(event.get("model"), str):
            self.model = event["model"][:200]
        if not isinstance(choices, list) or len(choices) > 1:
            self.is_plain = False
            return
        for choice in choices:
            message = (choice.get("delta") or choice.get("message")) if isinstance(choice, dict) else None
            if not isinstance(message, dict | None) or not isinstance(choice, dict):
                self.is_plain = False
                return
            message = message or {}
            content = message.get("content")
            self.is_plain = self.is_plain and isinstance(content, str | None)
            self.is_plain = self.is_plain and not any(message.get(name) for name in SPEAKS_BEYOND)
            self.pieces += [content] if isinstance(content, str) else []
            self.reason = str(choice.get("finish_reason") or self.reason)[:40]

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    @property
    def is_whole(self) -> bool:
        return self.is_plain and self.reason == "stop" and bool(self.text.strip())


class Flight:
    """One request at an upstream. ``events`` grow until ``is_over``; bounded by what an answer may have."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.said = Said()
        self.failure: Refused | None = None
        self.remembered: Remembered | None = None
        self.reason = ""
        self.is_over = False
        self.task: asyncio.Task[None] | None = None
        self.readers = 0
        self.is_sent = False
        self._news = asyncio.Event()

    def add(self, event: dict[str, Any]) -> None:
        self.events.append(event)
        self.said.hear(event)
        self.stir()

    def stir(self) -> None:
        """Wake whoever reads."""
        self._news.set()
        self._news = asyncio.Event()

    @property
    def is_used(self) -> bool:
        """Whether the upstream has worked for it, as far as can be told: it has said something, or was left
        before it could."""
        return bool(self.events) or (self.is_sent and self.failure is None)

    async def begun(self) -> None:
        """Wait for the first event, or the end. Raises ``Refused`` where it ends before it has begun."""
        while not (self.events or self.is_over):
            await self._news.wait()
        if self.failure is not None and not self.events:
            raise self.failure

    async def read(self) -> AsyncIterator[dict[str, Any]]:
        """Every event from the first on. Raises ``Refused`` where it broke off."""
        at = 0
        while True:
            while at < len(self.events):
                yield self.events[at]
                at += 1
            if self.is_over:
                break
            await self._news.wait()
        if self.failure is not None:
            raise self.failure


@dataclass(frozen=True, slots=True)
class Keeping:
    """Where answers come from, and go to."""

    recaller: Recaller
    rememberer: Rememberer
    semantics: Semantics
    decisions: Decisions
    policy: Policy


class PassThrough:
    """See the module. Event loop only."""

    def __init__(self, clock: Clock, upstreams: Upstreams, keeping: Keeping) -> None:
        self._clock = clock
        self._upstreams = upstreams
        self._keeping = keeping
        self._flights: dict[Hashable, Flight] = {}

    async def models(self) -> list[str]:
        """What the upstreams list, by name."""
        return await self._upstreams.models()

    @property
    def has_upstream(self) -> bool:
        return bool(self._upstreams.servers)

    async def upstream(self, model: str) -> Upstream | None:
        return await self._upstreams.of(model)

    async def find(self, query: Query, route: Route) -> tuple[Passed | None, Recall | None]:
        """The stored answer, logged, and what the look-up said."""
        if query.no_cache:
            return None, None
        kept = self._keeping

        async def embed() -> Embedded | None:
            try:
                [embedded] = await kept.semantics.embed([query.text])
            except Unavailable:
                return None
            return embedded

        started = self._clock.monotonic()
        try:
            recall = await kept.recaller.recall(query, route, embed, least=0.0)
        except NodeError:
            return None, None
        found = recall.found
        if found is None or (kept.policy.shadow and replies.is_semantic(recall)):
            return None, recall
        step = Step("recall", "hit", recall.reason, since_ms(self._clock, started), recall.code)
        answer = replies.from_record(query, route, found)
        answer = replace(answer, unverified=True, trace=(step,))
        reached = Reached(answer, None, None, store_reason="from_cache", recall=recall)
        answer = await kept.decisions.record(answer, [reached])
        counted = (found.stored.kept or {}).get(UPSTREAM)
        tokens = None
        if isinstance(counted, dict) and found.hit.kind == "exact":
            tokens = Usage(whole(counted.get("prompt")), whole(counted.get("completion")))
        return Passed(answer, tokens), recall

    @contextmanager
    def flight(self, query: Query, route: Route, handed: Handed, to: Upstream) -> Any:
        """The request's flight, and whether somebody else had begun it; ended with its last reader. Raises
        ``BudgetSpent``."""
        key = (
            query.caller,
            query.no_store,
            handed.path,
            orjson.dumps(handed.body, option=orjson.OPT_SORT_KEYS),
        )
        flight = None if query.no_cache or handed.bypass else self._flights.get(key)
        is_joined = flight is not None
        if flight is None:
            meter = query.caller.meter
            if meter is not None:
                meter.take()
            flight = Flight()
            flight.task = asyncio.create_task(self._fly(flight, query, route, handed, to))
            if meter is not None:  # who leaves before the first word pays for it, if it was asked for
                flight.task.add_done_callback(lambda _: None if flight.is_used else meter.give_back())
            if not (query.no_cache or handed.bypass):
                self._flights[key] = flight
                flight.task.add_done_callback(lambda _: self._landed(key, flight))
        flight.readers += 1
        try:
            yield flight, is_joined
        finally:
            flight.readers -= 1
            if not flight.readers and flight.task is not None and not flight.is_over:
                self._landed(key, flight)
                flight.task.cancel()

    def _landed(self, key: Hashable, flight: Flight) -> None:
        if self._flights.get(key) is flight:
            del self._flights[key]

    async def _fly(self, flight: Flight, query: Query, route: Route, handed: Handed, to: Upstream) -> None:
        began = self._clock.monotonic()
        flight.is_sent = True
        try:
            async with asyncio.timeout(left_s(self._clock, query)):
                async with aclosing(to.send(handed.path, handed.body)) as events:
                    async for event in events:
                        flight.add(event)
            if not handed.bypass and not flight.said.reason:
                flight.failure = failed(
                    502, "the upstream ended before its answer was whole", "upstream_broke_off"
                )
        except TimeoutError:
            flight.failure = failed(504, "the upstream did not answer in time", "upstream_timeout")
        except Refused as exc:
            flight.failure = exc
        except Exception as exc:  # noqa: BLE001 - whoever reads must hear of the end
            flight.failure = failed(502, "the upstream's answer could not be read", "upstream_bad_answer")
            flight.failure.__cause__ = exc
        flight.reason = self._why_not(flight, query, handed)
        if not flight.reason:
            took_us = round((self._clock.monotonic() - began) * 1e6)
            flight.remembered = await self._store(flight.said, query, route, handed, took_us)
            flight.reason = "" if flight.remembered is None else flight.remembered.code
        flight.is_over = True
        flight.stir()

    def _why_not(self, flight: Flight, query: Query, handed: Handed) -> str:
        """Why it is not stored."""
        if flight.failure is not None:
            return "upstream_failed"
        if handed.bypass:
            return "bypass"
        if query.no_store:
            return "no_store_asked"
        return "" if flight.said.is_whole else "not_whole"

    async def _store(
        self, said: Said, query: Query, route: Route, handed: Handed, took_us: int
    ) -> Remembered | None:
        seconds = lifetime_s(
            Freshness.TIME_SENSITIVE if route.kind is Kind.DETERMINISTIC else Freshness.MODEL_ALONE,
            query=query.text,
            time_sensitive=route.time_sensitive,
            asked_ttl_s=query.ttl_s,
            now=query.local,
        )
        if seconds == 0:
            return None
        tokens = said.tokens
        source = SourceRef(UPSTREAM, handed.model, time=self._clock.now())
        memory = Memory(
            request_id=query.id,
            query=query.text,
            answer=said.text,
            route=str(route.kind),
            source=source,
            confidence=judge(observe(query.text, said.text, Origin.MODEL)),
            scope=scope_for(query.caller.default_scope, "none", source, grounded=False),
            lifetime_s=seconds,
            context=query.context,
            tags=query.tags,
            llm=ModelRef(said.model or handed.model, None),
            embed="now" if route.floor is not None else "never",
            kept={UPSTREAM: {"prompt": tokens.prompt_tokens, "completion": tokens.completion_tokens}}
            if tokens is not None
            else None,
            cost_us=took_us,
        )
        future = await self._keeping.rememberer.submit(memory)
        try:
            return await asyncio.wait_for(asyncio.shield(future), STORE_WAIT_S)
        except TimeoutError:
            return Remembered("queued", "the write goes on behind the reply", memory)

    async def passed(
        self,
        query: Query,
        route: Route,
        handed: Handed,
        flight: Flight,
        recall: Recall | None,
        *,
        is_joined: bool,
    ) -> Passed:
        """The flight's end as this request's answer, logged."""
        said, remembered, failure = flight.said, flight.remembered, flight.failure
        steps = [] if recall is None else [Step("recall", "miss", recall.reason, code=recall.code)]
        if handed.bypass:
            steps.append(Step("recall", "bypassed", handed.bypass, code="bypass"))
        steps += [Step("single_flight", "joined", "equal_question_under_way")] if is_joined else []
        outcome = "ok" if failure is None else "failed"
        steps.append(Step(UPSTREAM, outcome, "" if failure is None else str(failure), code=flight.reason))
        source = SourceRef(UPSTREAM, handed.model) if failure is None else SourceRef("fallback", UPSTREAM)
        origin = Origin.MODEL if failure is None else Origin.FALLBACK
        durable = remembered is not None and remembered.is_durable
        answer = Answer(
            query=query,
            text=said.text,
            route=route,
            source=source,
            confidence=judge(observe(query.text, said.text, origin)),
            freshness=Freshness.MODEL_ALONE,
            cid=remembered.cid if remembered is not None and durable else None,
            stored=durable,
            unverified=True,
            store_reason=None if durable else flight.reason.replace("_", " "),
            trace=tuple(steps),
            usage=Usage() if is_joined or said.tokens is None else said.tokens,
        )
        reached = Reached(
            answer,
            None,
            remembered,
            will_store=remembered is not None,
            store_reason=flight.reason,
            recall=recall,
        )
        answer = await self._keeping.decisions.record(answer, [reached])
        return Passed(answer, said.tokens, is_joined)


def route_of(parts: list[Part], *, floor: float) -> Route:
    """How a message is looked up before it is handed on: a question of its own by its meaning, everything
    else by its very bytes."""
    if not is_question(parts):
        return as_it_stands()
    [part] = parts
    return Route(
        part.route.kind,
        (Source.CACHE, Source.MODEL),
        part.route.floor or floor,
        "in front of an upstream",
        time_sensitive=part.route.time_sensitive,
        sure=True,
    )


def is_question(parts: list[Part]) -> bool:
    """Whether a message is one plain question that can be asked alone."""
    if len(parts) != 1:
        return False
    [part] = parts
    return not (part.route.kind is Kind.STATEMENT or part.pasted or part.route.needs_history)
