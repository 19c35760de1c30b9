"""The composition root: builds everything once, in order, and leaves in reverse order.

The order is the specification of shutdown read backwards: stop listening, finish what is in flight, stop
the jobs, drain the writes, save index and export, close engines, log, stores, lock. What is required (data
directory, keys, store, log) fails the start before the port opens; engines may be missing, and
``/health`` says which and what that disables.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from aiohttp import web

from adapters import registry
from node.answer.compose import Composer
from node.answer.evidence.entries import StoredEvidence
from node.answer.rescore import Rescorer, by_calibration
from node.api import local, server
from node.api.peers import Peering
from node.app import door
from node.app.engines import (
    daemon_probe,
    embedder_choice,
    embedder_of,
    embedders_of,
    generators_of,
    mirror_of,
    not_configured,
    note_reader,
    semantic_head,
    stop_mirror,
    token_count,
    warm,
    weights_of,
)
from node.app.ipfs import Ipfs, open_ipfs, routing
from node.app.logs import MEMORY, Logs, fact, open_logs
from node.app.operator import operator_desk
from node.app.peers import Links, admitter_of, forget_held, ledger_of, open_peers, open_store
from node.app.storage import (
    EXPORT,
    VERSION,
    Ground,
    http_session,
    into_log,
    is_personal,
    open_ground,
    router_of,
)
from node.app.transfer.portable import PortableIndex
from node.audit.decisions.entry import policy_entry
from node.cache.index.embedders import SwitchingSemantics
from node.cache.keys import keyword_key
from node.cache.matching import gate_model
from node.cache.quality.audits import Auditor, Watching
from node.cache.quality.labelling import Labels
from node.cache.quality.refuted_answers import RefutedAnswers
from node.cache.recall import Recaller
from node.cache.same_question import same_question
from node.core.clock import Clock, SystemClock
from node.core.errors import Misconfigured, NodeError
from node.core.metrics import Metrics
from node.core.model import Check
from node.core.ports import Adapter, AuditLog, Embedder, StoredRecord
from node.core.scheduler import Scheduler
from node.core.settings import Log, Models, Settings
from node.ipfs import kubo_doctor
from node.ipfs.local_first import LocalFirstBlockStore
from node.models.embedders.none import NoEmbedder
from node.models.embedders.reference import ReferenceEmbedder
from node.peers.rules.admission import ADMISSION_REASONS
from node.peers.rules.values import PEER_TIERS
from node.pipeline.class_limit import class_limit
from node.pipeline.drafts import Drafts
from node.pipeline.failures import NegativeCache
from node.pipeline.own_facts import OwnFacts
from node.pipeline.second_sample import SecondSamples
from node.pipeline.service import Ports, Service, adapter_check, model_checks
from node.pipeline.stale import Refresher
from node.pipeline.understanding.sessions import Sessions
from node.pipeline.understanding.understand import Understanding
from node.pipeline.walk import Pipeline, Policy
from node.store.hit_counts import UseTally
from node.store.imported_blocks import WithForeign
from node.store.remember import Rememberer
from node.store.retention.erase import Eraser
from node.store.retention.evict import evict
from node.store.retention.expire import sweep
from node.store.sqlite import SqliteStore
from node.store.state import StateStore
from node.store.write_back import WriteBack

log = logging.getLogger("neuroswarm")

_RULES = "settings_digest"
LINGER_S = 1.0
"""How long the rest of a body that was refused is still read, so that its sender sees the reply."""
INDEX_SAVE_EVERY_S = 600
EXPORT_EVERY_S = 600
FLUSH_USES_EVERY_S = 5
EXAMINE_WAIT_S = 15.0
"""How long a person waits at most to hear that an embedder does not answer; a large model loads meanwhile."""


@dataclass(frozen=True, slots=True)
class Running:
    """A node that listens. ``url`` has the real port; ``started`` tells what the start found."""

    url: str
    service: Service
    settings: Settings
    checks: tuple[Check, ...]


@asynccontextmanager
async def running(settings: Settings, clock: Clock | None = None) -> AsyncIterator[Running]:
    """Start a node and stop it at the end. Raises ``Misconfigured``, ``CorruptState``, ``Unavailable``."""
    async with AsyncExitStack() as stack:
        yield await _start(settings, clock or SystemClock(), stack)


@asynccontextmanager
async def throwaway(settings: Settings, clock: Clock) -> AsyncIterator[Running]:
    """A node with the cache, embedder and adapters' grammar of the settings for a rehearsal: in a folder that
    is deleted at the end, without models, daemon, starter entries, audits or shadow mode. Look-ups and
    entries ask nobody outside but the embedding engine, if that is not the local one."""
    folder = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="neuroswarm-"))
    rehearsal = replace(
        settings,
        data_dir=str(folder / "data"),
        governance_dir=str(folder / "logs"),
        index_file=str(folder / "none.json"),
        server=replace(settings.server, host="127.0.0.1", port=0),
        models=Models(ollama_url=""),
        ipfs=replace(settings.ipfs, kubo_url=""),
        cache=replace(settings.cache, shadow=False, audit_share=0.0),
        log=Log(durability=MEMORY),
    )
    try:
        async with running(rehearsal, clock) as node:
            yield node
    finally:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


async def _start(settings: Settings, clock: Clock, stack: AsyncExitStack) -> Running:
    ground = await open_ground(settings, clock, stack)
    data_dir, identity, store = ground.data_dir, ground.identity, ground.store
    decisions, adapters, http = ground.decisions, ground.adapters, ground.http
    for certificate in identity.certificates():
        await store.records.add(certificate)
    state = await StateStore.open(data_dir / "state.sqlite")
    stack.push_async_callback(state.close)
    labels = await Labels.open(data_dir / "labels.sqlite", clock, store.mark)
    stack.push_async_callback(labels.close)

    await _log_rules(settings, decisions, state)

    semantics = await SwitchingSemantics.open(
        data_dir / "index",
        embedder_choice(settings),
        embedders_of(settings, clock),
        store.records,
        state,
        clock,
        hnsw_above=settings.cache.hnsw_above,
    )
    stack.push_async_callback(semantics.close)

    weights = await asyncio.to_thread(weights_of, settings)
    generators = generators_of(settings, weights, clock)
    for generator in generators:
        stack.push_async_callback(generator.close)

    metrics = Metrics(ADMISSION_REASONS, PEER_TIERS)

    mirror = mirror_of(settings, http, store, state, clock, metrics)
    blocks = store.blocks if mirror is None else LocalFirstBlockStore(store.blocks, mirror.daemon_blocks)
    queue = WriteBack(settings.cache.write_queue_max)
    rememberer = Rememberer(
        store.records,
        semantics,
        identity,
        clock,
        queue,
        keyword_key=keyword_key,
        report=into_log(decisions, metrics),
        same_question=same_question,
        is_personal=is_personal,
    )
    cache = settings.cache
    evidence = StoredEvidence(store.records, semantics, clock, data_dir / "index" / "answers")
    stack.push_async_callback(evidence.close)
    reference = ReferenceEmbedder(settings, clock, wanted=gate_model.packaged().embedder)
    stack.push_async_callback(reference.close)
    refuted = await RefutedAnswers.open(data_dir / "refuted.sqlite", store.records, semantics, clock)
    stack.push_async_callback(refuted.close)
    recaller = Recaller(
        store.records,
        semantics,
        clock,
        confidence_min=cache.confidence_min,
        max_wrong_per_hit=cache.max_wrong_per_hit,
        max_wrong_hit_rate=cache.max_wrong_hit_rate,
        neighbours=cache.neighbours,
        expired_grace_s=cache.expired_grace_s,
        u_floor=labels.tightening.u_floor,
        reference=reference.vectors,
        refuted=refuted,
    )
    own_facts = OwnFacts(store.records, semantics)
    adapters = [own_facts, *adapters]
    router = router_of(settings, adapters)
    understanding = Understanding(router, semantics, semantic_head(settings), clock)
    policy = Policy(
        confidence_min=cache.confidence_min,
        publish=settings.sharing.publish,
        refuse_unlogged=settings.log.on_failure == "refuse",
        version=VERSION,
        shadow=cache.shadow,
    )
    auditor = Auditor(
        labels,
        clock,
        decisions,
        Watching(
            share=cache.audit_share,
            per_hour=cache.audits_per_hour,
            confidence_min=cache.confidence_min,
            max_wrong_hit_rate=cache.max_wrong_hit_rate,
            shadow=cache.shadow,
            policy=VERSION,
        ),
    )
    stack.push_async_callback(auditor.stop)
    reader, reader_check = await note_reader(settings)
    if reader is not None:
        stack.push_async_callback(reader.close)
    composer = Composer(
        generators,
        clock,
        context_chars_max=settings.models.context_chars_max,
        tokens_max=settings.models.tokens_max,
        generator_timeout_s=settings.models.timeout_s,
        queue_max=settings.models.queue_max,
        context_tokens_max=settings.models.context_tokens_max,
        count_tokens=await asyncio.to_thread(token_count),
        reader=reader,
    )
    refresher = Refresher(
        clock,
        deadline_s=settings.server.request_timeout_s,
        busy=lambda: pipeline.under_way > 0,
        count=metrics.refreshed,
    )

    second_samples = SecondSamples(
        clock, deadline_s=settings.server.request_timeout_s, busy=lambda: pipeline.under_way > 0
    )
    drafts: Drafts[Any] = Drafts(clock.monotonic)

    async def is_live(stored: StoredRecord) -> bool:
        return stored.cid in await store.records.live([stored.cid])

    pipeline = Pipeline(
        clock=clock,
        understanding=understanding,
        sessions=Sessions(),
        recaller=recaller,
        retriever=evidence,
        semantics=semantics,
        adapters={adapter.name: adapter for adapter in adapters},
        composer=composer,
        rememberer=rememberer,
        log=decisions,
        policy=policy,
        failures=NegativeCache(clock.monotonic, base_s=cache.negative_s),
        refresh=refresher.submit,
        is_live=is_live,
        unlogged=metrics.unlogged,
        watch=auditor,
        hear=own_facts.hear,
        drafts=drafts,
        refuted=refuted,
        sample_again=second_samples.submit,
    )
    ipfs = await open_ipfs(
        settings,
        data_dir,
        identity,
        store,
        None if mirror is None else mirror.daemon,
        clock,
        stack,
    )
    links = Links(settings, http, ipfs.names, None if mirror is None else mirror.daemon, clock)
    portable = PortableIndex(
        store.records,
        rememberer,
        router,
        state,
        semantics,
        clock,
        signer=identity,
        keyword_key=keyword_key,
        blocks=links.blocks if mirror is not None or settings.peers.urls else None,
        publish=settings.sharing.publish,
        class_limit=class_limit(router, clock, ZoneInfo(settings.time_zone)),
    )
    await portable.import_changed(Path(settings.index_file))
    export_to = data_dir / EXPORT

    async def export_last() -> None:
        """The export is a copy: a full disk or a damaged store must not spoil the rest of the stop."""
        try:
            await portable.export(export_to)
        except NodeError as exc:
            log.warning("the knowledge index was not exported: %s", exc)

    stack.push_async_callback(export_last)
    if mirror is not None:
        stack.push_async_callback(stop_mirror, mirror)
        mirror.start()

    await evidence.start()
    listeners = [ipfs.head.changed, evidence.changed, *([] if mirror is None else [mirror.nudge])]

    def changed() -> None:
        for listener in listeners:
            listener()

    store.on_change = changed
    # The web framework remembers a closed node's handlers; what the node listened to must not live on.
    stack.callback(listeners.clear)

    async def drain() -> None:
        abandoned = await queue.close(settings.server.shutdown_timeout_s)
        if abandoned:
            log.error("%d writes were abandoned at shutdown", abandoned)

    stack.push_async_callback(drain)
    stack.push_async_callback(refresher.close)
    stack.push_async_callback(second_samples.close)

    async def export_again() -> None:
        await portable.export(export_to)

    ledger = ledger_of(settings, decisions, metrics, VERSION)
    peer_store = await open_store(settings, data_dir, state, clock, stack, ledger)
    eraser = Eraser(
        store.records,
        WithForeign(store.blocks, ipfs.foreign.blocks),
        rememberer,
        decisions,
        (store.scrub, ipfs.foreign.scrub, labels.scrub, peer_store.scrub, refuted.scrub),
        (labels.forget, refuted.forget, partial(forget_held, peer_store)),
        copies=(semantics.save, evidence.save, export_again),
    )
    try:
        await eraser.resume()
    except NodeError as exc:
        log.warning("an erasure that was begun is unfinished and will be tried again: %s", exc)
    uses = UseTally(store.records, clock)
    stack.push_async_callback(uses.flush)
    scheduler = Scheduler()
    scheduler.every(
        cache.sweep_every_s,
        "expire",
        lambda: sweep(store.records, semantics, clock, grace_s=cache.expired_grace_s),
    )

    async def make_room() -> None:
        metrics.evicted(
            await evict(
                store.records, semantics, clock, max_entries=cache.max_entries, max_bytes=cache.max_bytes
            )
        )

    scheduler.every(cache.sweep_every_s, "evict", make_room)
    scheduler.every(cache.sweep_every_s, "finish_erasures", eraser.resume)
    scheduler.every(FLUSH_USES_EVERY_S, "flush_uses", uses.flush)
    scheduler.every(EXPORT_EVERY_S, "export", lambda: portable.export(export_to))
    scheduler.every(INDEX_SAVE_EVERY_S, "save_index", semantics.save)
    scheduler.every(INDEX_SAVE_EVERY_S, "save_answers", evidence.save)
    logs = await open_logs(
        settings,
        ground.data_dir,
        identity,
        decisions,
        None if mirror is None else mirror.daemon,
        http,
        scheduler,
        clock,
        metrics,
        VERSION,
        stack,
    )
    ipfs.start(logs.heads)
    admitter = admitter_of(
        settings,
        peer_store,
        store,
        semantics,
        identity,
        router,
        ground.adapters,
        decisions,
        clock,
        metrics,
        VERSION,
    )
    peers = await open_peers(
        settings,
        data_dir,
        peer_store,
        admitter,
        store,
        identity,
        logs.publications,
        logs.witness,
        links,
        router,
        scheduler,
        clock,
        metrics,
        stack,
        ledger,
    )
    listeners.append(peers.publisher.changed)
    scheduler.start()
    stack.callback(scheduler.stop)

    service = Service(
        Ports(
            clock=clock,
            pipeline=pipeline,
            understanding=understanding,
            recaller=recaller,
            rememberer=rememberer,
            records=store.records,
            blocks=blocks,
            state=state,
            semantics=semantics,
            log=decisions,
            adapters=adapters,
            generators=composer.engines,
            probes=(
                fact(lambda: reader_check),
                daemon_probe(mirror),
                reference.probe,
                ipfs.probe,
                ipfs.probe_foreign,
                *peers.probes,
                *logs.probes,
                *not_configured(generators),
            ),
            metrics=metrics,
            watch=auditor,
            eraser=eraser,
            drafts=drafts,
            refuted=refuted,
            uses=uses,
            mirror=mirror,
            policy=policy,
            request_timeout_s=settings.server.request_timeout_s,
            floor_default=cache.threshold,
            zone=ZoneInfo(settings.time_zone),
        )
    )
    await _catch_up(
        refuted,
        Rescorer(
            store.records,
            rememberer,
            semantics,
            state,
            decisions,
            clock,
            by_calibration,
            peer_store.begin,
            admitter.retier,
            least=cache.confidence_min,
            policy=VERSION,
        ),
        store,
        stack,
    )
    auditor.start(pipeline.afresh, lambda: pipeline.under_way)
    stack.callback(service.release)
    stack.callback(peers.peering.release)
    url = await _listen(service, settings, ground, logs, ipfs, peers.peering, stack)
    desk = operator_desk(
        settings, ground, ipfs, rememberer, eraser, router, clock, metrics.unlogged, peers.desk, refuted
    )
    await stack.enter_async_context(local.listening(data_dir, desk.do, desk.stream))
    checks = tuple(await service.health())
    warm(generators, checks)
    return Running(url, service, settings, checks)


async def _log_rules(settings: Settings, decisions: AuditLog, state: StateStore) -> None:
    """The rules in force from here on; where they are others than at the last start, a leaf of its own."""
    digest = settings_digest(settings)
    before = await state.get_meta(_RULES)
    events = ["start"] if before in (None, digest) else ["start", "change"]
    for event in events:
        entry, private = policy_entry(event=event, policy=VERSION, software=VERSION, settings_digest=digest)
        await decisions.append(entry, private_texts=private)
    await state.set_meta(_RULES, digest)


async def _listen(
    service: Service,
    settings: Settings,
    ground: Ground,
    logs: Logs,
    ipfs: Ipfs,
    peering: Peering,
    stack: AsyncExitStack,
) -> str:
    sockets = await asyncio.to_thread(door.bound, settings.server.host, settings.server.port)
    for one in sockets:
        stack.callback(one.close)
    host = f"[{settings.server.host}]" if ":" in settings.server.host else settings.server.host
    url = f"http://{host}:{sockets[0].getsockname()[1]}"
    public = ipfs.reader(ground.store, logs.blocks)
    application = server.build(
        service,
        settings.server,
        service_id=ground.identity.root,
        folders=logs.folders,
        cosigner=logs.witness,
        router=routing(settings, ground.identity, ipfs, public, url),
        gateway_concurrent_max=settings.ipfs.gateway_concurrent_max,
        peering=peering,
    )
    runner = web.AppRunner(
        application,
        access_log=None,
        shutdown_timeout=settings.server.shutdown_timeout_s,
        lingering_time=LINGER_S,
        auto_decompress=False,  # Content-Encoding is refused: a small body must not become a large one
    )
    await runner.setup()
    stack.push_async_callback(runner.cleanup)
    for one in sockets:
        await web.SockSite(runner, one).start()
    stack.callback(service.stop_accepting)
    return url


async def _catch_up(
    refuted: RefutedAnswers, rescorer: Rescorer, store: SqliteStore, stack: AsyncExitStack
) -> None:
    """Behind the start: judge again what an older rule let in, and embed the questions whose answers were
    called invalid."""
    is_due = await rescorer.is_due()
    until = (await store.records.counts())["last_sequence"]

    async def catch_up() -> None:
        if is_due:
            await rescorer.in_background(until)
        while await refuted.prepare():
            pass

    task = asyncio.create_task(catch_up(), name="catch up")

    async def stop() -> None:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    stack.push_async_callback(stop)


def settings_digest(settings: Settings) -> str:
    """SHA-256 of the settings without secrets: names the rules that were in force."""
    return hashlib.sha256(repr(settings).encode()).hexdigest()


async def examine(settings: Settings, *, wait_s: float = EXAMINE_WAIT_S) -> list[Check]:
    """Look at each engine without starting a node: what ``doctor`` shows when none runs. ``wait_s``: for the
    embedder."""
    clock = SystemClock()
    embedder: Embedder = NoEmbedder("")
    try:
        embedder = await embedder_of(settings, clock, wait_s)
        check = embedder.health()
    except Misconfigured as exc:
        check = Check("embedder", "fail", f"the node does not start: {exc}")
    generators = generators_of(settings, await asyncio.to_thread(weights_of, settings), clock)
    http = http_session(settings)
    adapters: tuple[Adapter, ...] = ()
    try:
        adapters = registry.build(settings.adapters, clock, http)
        checks = [check, *map(adapter_check, adapters)]
        checks += await model_checks(generators)
        checks += [await probe() for probe in not_configured(generators)]
        checks += await kubo_doctor.examine(settings.ipfs.kubo_url, http, clock)
    finally:
        await embedder.close()
        for generator in generators:
            await generator.close()
        for adapter in adapters:
            await adapter.close()
        await http.close()
    return checks


async def examine_daemon(settings: Settings) -> list[Check]:
    """What works with the IPFS daemon of the settings; harmless for it."""
    http = http_session(settings)
    try:
        return await kubo_doctor.examine(settings.ipfs.kubo_url, http, SystemClock())
    finally:
        await http.close()
