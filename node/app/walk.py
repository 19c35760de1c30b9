"""What a question walks through: understanding, adapters, language models, and the watch over hits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from adapters import registry
from node.answer.compose import Composer
from node.answer.context import Count, Tokens
from node.app.documents import Library, nearness
from node.app.engines import (
    generators_of,
    note_reader,
    semantic_head,
    token_count,
    upstreams_of,
    weights_of,
)
from node.app.memory import Kept, Memory
from node.app.quality import describer_of, hearing, open_nightly
from node.app.storage import VERSION, Ground, router_of
from node.cache.quality.audits import Auditor, Watching
from node.cache.quality.labelling import Labels
from node.core.clock import Clock
from node.core.model import Check, Outcome
from node.core.ports import Adapter, Generator, NoteReader, StoredRecord
from node.core.settings import Settings
from node.knowledge.describe import Describer
from node.knowledge.evaluation.nightly import Nightly
from node.pipeline.decisions import Decisions
from node.pipeline.drafts import Drafts
from node.pipeline.exact_sources import ExactSources
from node.pipeline.failures import NegativeCache
from node.pipeline.generation import Generation
from node.pipeline.in_documents import DocumentStation
from node.pipeline.own_facts import OwnFacts
from node.pipeline.ready import ReadyHits
from node.pipeline.second_sample import SecondSamples
from node.pipeline.stale import Refresher
from node.pipeline.statements import Statements
from node.pipeline.stations import Stations
from node.pipeline.stored import Refresh, Stored
from node.pipeline.storing import Second, Storing
from node.pipeline.through import Keeping, PassThrough
from node.pipeline.under_way import Ended, Policy
from node.pipeline.understanding.route import Router
from node.pipeline.understanding.sessions import Sessions
from node.pipeline.understanding.understand import Understanding
from node.pipeline.walk import Pipeline


@dataclass(frozen=True, slots=True)
class Walk:
    """``adapters`` begin with the node's own facts; ``reader_check`` says whether notes are read;
    ``behind``: what works behind replies, to be stopped before the writes are drained."""

    pipeline: Pipeline
    understanding: Understanding
    router: Router
    adapters: Sequence[Adapter]
    composer: Composer
    generators: Sequence[Generator]
    reader_check: Check
    policy: Policy
    auditor: Auditor
    drafts: Drafts[Any]
    behind: tuple[Refresher, SecondSamples]
    count_tokens: Count
    nightly: Nightly
    describer: Describer | None


async def open_walk(ground: Ground, memory: Memory, library: Library) -> Walk:
    """Build it; engines that are missing are only told of."""
    settings, clock, stack, kept = ground.settings, ground.clock, ground.stack, memory.kept
    timeout_s = settings.server.request_timeout_s
    generators = generators_of(settings, await asyncio.to_thread(weights_of, settings), clock)
    for generator in generators:
        stack.push_async_callback(generator.close)
    own_facts = OwnFacts(ground.store.records, memory.semantics)
    adapters = [own_facts, *ground.adapters]
    router = router_of(settings, adapters)
    understanding = Understanding(router, memory.semantics, semantic_head(settings), clock)
    auditor = _auditor(ground, kept.labels)
    stack.push_async_callback(auditor.stop)
    reader, reader_check = await note_reader(settings)
    if reader is not None:
        stack.push_async_callback(reader.close)
    count = await asyncio.to_thread(token_count)
    composer = _composer(settings, generators, reader, clock, count)

    def is_busy() -> bool:
        return pipeline.under_way > 0

    refresher = Refresher(
        clock, deadline_s=timeout_s, busy=is_busy, count=partial(ground.metrics.count, "refreshes")
    )
    second_samples = SecondSamples(clock, deadline_s=timeout_s, busy=is_busy)
    policy = _policy(settings)
    drafts: Drafts[Any] = Drafts(clock.monotonic)
    failures: NegativeCache[Outcome | Ended] = NegativeCache(
        clock.monotonic, base_s=settings.cache.negative_s
    )

    by_name = {adapter.name: adapter for adapter in adapters}
    exact = ExactSources(clock, by_name, failures, registry.sayings(adapters))
    second = Second(second_samples.submit)
    nightly = await open_nightly(ground, composer, library, is_busy)
    in_documents = partial(
        DocumentStation,
        clock,
        library.search,
        reader,
        library.used,
        nearness=None if library.own is None else partial(nearness, library.own),
    )
    stations = _stations(
        ground, memory, composer, exact, policy, drafts, refresher.submit, second, in_documents
    )
    hearers = own_facts.hear, hearing(ground, auditor, nightly)
    pipeline = Pipeline(
        clock,
        understanding,
        Sessions(),
        stations,
        Decisions(clock, ground.recorder, memory.semantics, policy, *hearers),
        policy,
        failures=failures,
        ready=_ready_hits(ground, kept),
        watch=auditor,
    )
    return Walk(
        pipeline,
        understanding,
        router,
        adapters,
        composer,
        generators,
        reader_check,
        policy,
        auditor,
        drafts,
        (refresher, second_samples),
        count,
        nightly,
        describer_of(ground, composer, library, is_busy),
    )


def pass_through(ground: Ground, memory: Memory, walk: Walk) -> PassThrough:
    """The cache in front of the servers that the settings name."""
    upstreams = upstreams_of(ground.settings, ground.clock)
    ground.stack.push_async_callback(upstreams.close)
    decisions = Decisions(ground.clock, ground.recorder, memory.semantics, walk.policy)
    keeping = Keeping(memory.recaller, memory.kept.rememberer, memory.semantics, decisions, walk.policy)
    return PassThrough(ground.clock, upstreams, keeping)


def _ready_hits(ground: Ground, kept: Kept) -> ReadyHits:
    """Told of whatever may make another answer right."""
    ready = ReadyHits()
    ground.store.on_touched(ready.touched)
    kept.refuted.on_change = kept.labels.on_change = ready.clear
    return ready


def _stations(
    ground: Ground,
    memory: Memory,
    composer: Composer,
    exact: ExactSources,
    policy: Policy,
    drafts: Drafts[Any],
    refresh: Refresh,
    second: Second,
    in_documents: Callable[[Stored], DocumentStation],
) -> Stations:
    """What a question visits."""
    clock, records, kept = ground.clock, ground.store.records, memory.kept

    async def is_live(found: StoredRecord) -> bool:
        return found.cid in await records.live([found.cid])

    stored = Stored(
        clock,
        memory.recaller,
        memory.evidence,
        memory.semantics,
        composer,
        policy,
        refresh,
        is_live,
    )
    generation = Generation(clock, composer, policy)
    storing = Storing(
        clock,
        generation,
        kept.rememberer,
        ground.decisions,
        policy,
        drafts=drafts,
        refuted=kept.refuted,
        second=second,
    )
    return Stations(
        stored, in_documents(stored), exact, generation, Statements(stored, generation, composer), storing
    )


def _policy(settings: Settings) -> Policy:
    return Policy(
        confidence_min=settings.cache.confidence_min,
        publish=settings.sharing.publish,
        refuse_unlogged=settings.log.on_failure == "refuse",
        version=VERSION,
        shadow=settings.cache.shadow,
        withdraw_after_tenants=settings.cache.withdraw_after_tenants,
    )


def _composer(
    settings: Settings,
    generators: Sequence[Generator],
    reader: NoteReader | None,
    clock: Clock,
    count: Count,
) -> Composer:
    models = settings.models
    return Composer(
        generators,
        clock,
        context_chars_max=models.context_chars_max,
        tokens_max=models.tokens_max,
        generator_timeout_s=models.timeout_s,
        queue_max=models.queue_max,
        tokens=Tokens(models.context_tokens_max, count),
        reader=reader,
    )


def _auditor(ground: Ground, labels: Labels) -> Auditor:
    cache = ground.settings.cache
    return Auditor(
        labels,
        ground.clock,
        ground.decisions,
        Watching(
            share=cache.audit_share,
            per_hour=cache.audits_per_hour,
            confidence_min=cache.confidence_min,
            max_wrong_hit_rate=cache.max_wrong_hit_rate,
            shadow=cache.shadow,
            policy=VERSION,
        ),
    )
