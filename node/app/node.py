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
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from node.agent.desk import AgentDesk
from node.agent.memory.keeper import Keeper
from node.answer.rescore import Kept, Peers, Rescorer, by_calibration
from node.api import connections, local, server
from node.api.access import Access
from node.api.gateway import Gate
from node.api.peers import Peering
from node.app import door
from node.app.access import FLUSH_EVERY_S, KeyDesk, may_listen, open_keys, tls_of
from node.app.agent import open_agent
from node.app.backup import TICK_S
from node.app.clock import Watch
from node.app.data_files import of_others
from node.app.descriptors import fitted
from node.app.disk import stores_check, watch_disk
from node.app.documents import Library, open_documents
from node.app.engines import daemon_probe, mirror_of, not_configured, stop_mirror, warm
from node.app.guard import MARK_EVERY_S, open_guard
from node.app.ipfs import Ipfs, open_ipfs, routing
from node.app.links import Links
from node.app.logs import Logs, open_logs
from node.app.memory import Memory, open_memory
from node.app.operator import operator_desk
from node.app.peers import Known, admitter_of, ledger_of, open_peers, open_store
from node.app.reach import Reach
from node.app.remembering import Remembering, forgetting, open_keeper
from node.app.storage import EXPORT, MEMORY, VERSION, Ground, Probe, fact, open_ground
from node.app.transfer.portable import Keeping, PortableIndex
from node.app.transfer.starter import index_path
from node.app.walk import Walk, open_walk, pass_through
from node.audit.decisions.entry import policy_entry
from node.core.clock import Clock, SystemClock
from node.core.errors import NodeError
from node.core.model import Check
from node.core.ports import Gets
from node.core.scheduler import Scheduler
from node.core.server_settings import Server
from node.core.settings import Clock as ClockSettings
from node.core.settings import Log, Models, Settings
from node.ipfs.mirror import Mirror
from node.peers.store.sqlite import PeerStore
from node.peers.sync.admit import Admitter
from node.pipeline.class_limit import class_limit
from node.pipeline.invalidation import Invalidator
from node.pipeline.ports import Ports
from node.pipeline.requests import Invalidation
from node.pipeline.service import Service
from node.store.api_keys import ApiKeys
from node.store.guard import StoreGuard
from node.store.hit_counts import UseTally
from node.store.retention.erase import Eraser
from node.store.retention.sweeps import evict, scrub_withdrawn, sweep
from node.store.sqlite import SqliteStore
from node.store.write_back import WriteBack
from node.store.writer import SqliteFile

log = logging.getLogger("neuroswarm")

_RULES = "settings_digest"
INDEX_SAVE_EVERY_S = 600
EXPORT_EVERY_S = 600
FLUSH_USES_EVERY_S = 5
SCRUB_EVERY_S = 900
JUDGE_EVERY_S = 600


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
        server=Server(port=0),
        models=Models(ollama_url=""),
        ipfs=replace(settings.ipfs, kubo_url=""),
        cache=replace(settings.cache, shadow=False, audit_share=0.0),
        log=Log(durability=MEMORY),
        clock=ClockSettings(jump_s=0),  # recorded traffic brings its own times
    )
    try:
        async with running(rehearsal, clock) as node:
            yield node
    finally:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


async def _start(settings: Settings, wall: Clock, stack: AsyncExitStack) -> Running:
    ground = await open_ground(settings, wall, stack)
    clock, data_dir, store = ground.clock, ground.data_dir, ground.store
    keys = await open_keys(ground)
    may_listen(settings.server, keys)
    guard = await open_guard(ground)
    for certificate in ground.identity.certificates():
        await store.records.add(certificate)
    await _log_rules(ground)
    memory = await open_memory(ground)
    library = await open_documents(ground, memory.semantics, memory.kept.backups.note_erased)
    walk = await open_walk(ground, memory, library)
    mirror = mirror_of(ground)
    daemon = None if mirror is None else mirror.daemon
    ipfs = await open_ipfs(ground, daemon)
    links = Links(settings, ground.http, ipfs.names, daemon, clock)
    fetch = links.blocks if mirror is not None or settings.peers.urls else None
    portable = await _index_file(ground, memory, walk, fetch, guard)
    if mirror is not None:
        stack.push_async_callback(stop_mirror, mirror)
        mirror.start()
    await memory.evidence.start()
    listeners = _listeners(store, [ipfs.head.changed, memory.evidence.changed], mirror, stack)
    stack.push_async_callback(_drain, memory.kept.queue, settings.server.shutdown_timeout_s)
    for worker in walk.behind:
        stack.push_async_callback(worker.close)
    ledger = ledger_of(ground)
    peer_store = await open_store(settings, data_dir, ground.state, clock, stack, ledger)
    eraser = await _eraser(ground, memory, ipfs, peer_store, portable)
    uses = UseTally(store.records, clock)
    stack.push_async_callback(uses.flush)
    scheduler = Scheduler(wall)
    _schedule(scheduler, ground, memory, portable, eraser, (uses, keys, guard))
    await _follow_documents(ground, memory, library, walk, eraser, scheduler)
    logs = await open_logs(ground, daemon, scheduler)
    ipfs.start(logs.heads)
    backups = memory.kept.backups
    backups.publications = logs.publications
    reach = Reach.of(ground, backups, mirror)
    scheduler.every(TICK_S, "backup", backups.tick)
    scheduler.every(TICK_S, "erase_at_daemon", reach.tick)
    admitter = admitter_of(ground, peer_store, memory.semantics, walk.router, ledger)
    known = Known(peer_store, admitter, links, ledger)
    peers = await open_peers(ground, known, logs.publications, logs.witness, walk.router, scheduler)
    listeners.append(peers.publisher.changed)
    scheduler.start()
    stack.callback(scheduler.stop)
    _watch_clock(ground, links, stack)
    probes = (
        fact(clock.health),
        fact(lambda: walk.reader_check),
        daemon_probe(mirror),
        memory.reference.probe,
        fact(ipfs.head.health),
        ipfs.probe_foreign,
        library.probe,
        fact(walk.nightly.health),
        backups.probe,
        *peers.probes,
        *logs.probes,
        _stores_probe(ground, memory, (peer_store.file, logs.file, *ipfs.files, *library.files)),
        fact(scheduler.health),
        *await watch_disk(ground, memory.kept.rememberer, logs.keeper, scheduler),
        *not_configured(walk.generators),
    )
    keeper = open_keeper(ground, memory.semantics, walk.composer.chain, walk.behind[1])
    agent, remembering = await open_agent(ground, memory, walk, library, keeper)
    service = _service(ground, memory, walk, agent, remembering, guard, probes, eraser, uses, mirror)
    await _catch_up(ground, memory, peer_store, admitter)
    walk.auditor.start(walk.pipeline.afresh, lambda: walk.pipeline.under_way)
    stack.callback(service.release)
    stack.callback(peers.peering.release)
    url = await _listen(service, ground, logs, ipfs, peers.peering, keys, library, keeper)
    own = KeyDesk(keys)
    desk = operator_desk(ground, ipfs, memory.kept, eraser, walk.router, peers.desk, own, reach, library.desk)
    desk = replace(desk, judge=walk.nightly.run, forget=forgetting(ground, keeper, walk.nightly))
    await stack.enter_async_context(local.listening(data_dir, desk.do, desk.stream))
    checks = tuple(await service.health())
    warm(walk.generators, checks)
    return Running(url, service, settings, checks)


async def _follow_documents(
    ground: Ground, memory: Memory, library: Library, walk: Walk, eraser: Eraser, scheduler: Scheduler
) -> None:
    """What documents change elsewhere, and what is done with them and with answers behind replies."""
    by_tag = _by_tag(ground, memory, eraser)
    await library.follow(by_tag, partial(by_tag, is_erasure=True), scheduler, ground.stack)
    library.schedule(scheduler, walk.describer)
    scheduler.every(JUDGE_EVERY_S, "judge_answers", walk.nightly.tick)


def _watch_clock(ground: Ground, links: Links, stack: AsyncExitStack) -> None:
    watch = Watch(
        ground.clock, ground.data_dir, ground.metrics, lambda: [*ground.time_sources, *links.dated()]
    )
    stack.push_async_callback(watch.close)
    watch.start()


def _by_tag(ground: Ground, memory: Memory, eraser: Eraser) -> Callable[..., Awaitable[bool]]:
    """Withdraws, or erases, stored answers that have a tag; whether there were any."""
    records, rememberer = ground.store.records, memory.kept.rememberer
    invalidator = Invalidator(records, rememberer, eraser, ground.recorder, ground.clock, VERSION)

    async def withdraw(tag: str, *, is_erasure: bool = False) -> bool:
        done = await invalidator.run(Invalidation(tag=tag), None, is_erasure=is_erasure)
        return done.withdrawn > 0

    return withdraw


def _stores_probe(ground: Ground, memory: Memory, others: Sequence[SqliteFile]) -> Probe:
    """Of all stores but that of records, which has one of its own."""
    files = (ground.state.file, memory.kept.labels.file, memory.kept.refuted.file, *others)
    return fact(partial(stores_check, files, of_others(ground.torn)))


def _service(
    ground: Ground,
    memory: Memory,
    walk: Walk,
    agent: AgentDesk,
    remembering: Remembering | None,
    guard: StoreGuard,
    probes: tuple[Probe, ...],
    eraser: Eraser,
    uses: UseTally,
    mirror: Mirror | None,
) -> Service:
    ports = Ports(
        clock=ground.clock,
        pipeline=walk.pipeline,
        understanding=walk.understanding,
        recaller=memory.recaller,
        rememberer=memory.kept.rememberer,
        records=ground.store.records,
        state=ground.state,
        semantics=memory.semantics,
        log=ground.decisions,
        adapters=walk.adapters,
        generators=walk.composer.engines,
        probes=probes,
        store_check=guard.check,
        metrics=ground.metrics,
        watch=walk.auditor,
        eraser=eraser,
        drafts=walk.drafts,
        refuted=memory.kept.refuted,
        uses=uses,
        mirror=mirror,
        agent=agent,
        memory=remembering,
        policy=walk.policy,
        request_timeout_s=ground.settings.server.request_timeout_s,
        floor_default=ground.settings.cache.threshold,
        zone=ground.zone,
        count_tokens=walk.count_tokens,
        through=pass_through(ground, memory, walk),
    )
    return Service(ports)


async def _index_file(
    ground: Ground, memory: Memory, walk: Walk, fetch: Gets | None, guard: StoreGuard
) -> PortableIndex:
    """The index file, imported where it has changed, and exported at the end. ``fetch``: where blocks that
    it names are asked for."""
    settings = ground.settings
    portable = PortableIndex(
        Keeping(ground.store.records, memory.kept.rememberer, memory.semantics, ground.state),
        walk.router,
        ground.clock,
        ground.identity,
        blocks=fetch,
        publish=settings.sharing.publish,
        export_mode=int(settings.export_mode, 8),
        class_limit=class_limit(walk.router, ground.clock, ground.zone),
        lost=guard.lost,
    )
    if ground.is_state_renewed:
        await portable.note_imported(index_path(settings))
    await portable.import_changed(index_path(settings))

    async def export_last() -> None:
        """The export is a copy: a full disk or a damaged store must not spoil the rest of the stop."""
        try:
            await portable.export(ground.data_dir / EXPORT)
        except NodeError as exc:
            log.warning("the knowledge index was not exported: %s", exc)

    ground.stack.push_async_callback(export_last)
    return portable


def _listeners(
    store: SqliteStore, first: list[Callable[[], None]], mirror: Mirror | None, stack: AsyncExitStack
) -> list[Callable[[], None]]:
    """Who hears of each change in the store; more may be appended."""
    if mirror is not None:
        first.append(mirror.nudge)

    def changed() -> None:
        for listener in first:
            listener()

    store.on_change = changed
    # The web framework remembers a closed node's handlers; what the node listened to must not live on.
    stack.callback(first.clear)
    return first


async def _drain(queue: WriteBack, timeout_s: float) -> None:
    abandoned = await queue.close(timeout_s)
    if abandoned:
        log.error("%d writes were abandoned at shutdown", abandoned)


async def _eraser(
    ground: Ground, memory: Memory, ipfs: Ipfs, peer_store: PeerStore, portable: PortableIndex
) -> Eraser:
    """What erases a record wherever it lies; an erasure that was cut off goes on."""

    async def export_again() -> None:
        await portable.export(ground.data_dir / EXPORT)

    copies = (memory.semantics.save, memory.evidence.save, export_again)
    eraser = memory.kept.eraser(ground, ipfs.foreign, peer_store, *copies)
    try:
        await eraser.resume()
    except NodeError as exc:
        log.warning("an erasure that was begun is unfinished and will be tried again: %s", exc)
    return eraser


def _schedule(
    scheduler: Scheduler,
    ground: Ground,
    memory: Memory,
    portable: PortableIndex,
    eraser: Eraser,
    counted: tuple[UseTally, ApiKeys, StoreGuard],
) -> None:
    """The jobs over what is stored here; ``counted``: what counts in memory and writes that down."""
    uses, keys, guard = counted
    cache, records, semantics = ground.settings.cache, ground.store.records, memory.semantics
    clock = ground.clock

    async def make_room() -> None:
        evicted = await evict(
            records, semantics, clock, max_entries=cache.max_entries, max_bytes=cache.max_bytes
        )
        ground.metrics.count("evicted_records", by=evicted)

    scheduler.every(
        cache.sweep_every_s,
        "expire",
        lambda: sweep(records, semantics, clock, grace_s=cache.expired_grace_s),
    )
    scheduler.every(cache.sweep_every_s, "evict", make_room)
    scheduler.every(cache.sweep_every_s, "finish_erasures", eraser.resume)
    scheduler.every(
        SCRUB_EVERY_S,
        "scrub_withdrawn",
        lambda: scrub_withdrawn(ground.store, ground.state, clock, kept_s=cache.withdrawn_kept_s),
    )
    scheduler.every(FLUSH_USES_EVERY_S, "flush_uses", uses.flush)
    scheduler.every(FLUSH_EVERY_S, "flush_keys", keys.flush)
    scheduler.every(MARK_EVERY_S, "mark_store", guard.mark)
    scheduler.every(EXPORT_EVERY_S, "export", lambda: portable.export(ground.data_dir / EXPORT))
    scheduler.every(INDEX_SAVE_EVERY_S, "save_index", semantics.save)
    scheduler.every(INDEX_SAVE_EVERY_S, "save_answers", memory.evidence.save)


async def _log_rules(ground: Ground) -> None:
    """The rules in force from here on; where they are others than at the last start, a leaf of its own."""
    digest = settings_digest(ground.settings)
    before = await ground.state.get_meta(_RULES)
    events = ["start"] if before in (None, digest) else ["start", "change"]
    for event in events:
        entry, private = policy_entry(event=event, policy=VERSION, software=VERSION, settings_digest=digest)
        await ground.decisions.append(entry, private_texts=private)
    await ground.state.set_meta(_RULES, digest)


async def _listen(
    service: Service,
    ground: Ground,
    logs: Logs,
    ipfs: Ipfs,
    peering: Peering,
    keys: ApiKeys,
    library: Library,
    keeper: Keeper | None,
) -> str:
    settings, stack = ground.settings, ground.stack
    tls = await asyncio.to_thread(tls_of, settings.server)
    sockets = await asyncio.to_thread(door.bound, settings.server.host, settings.server.port)
    for one in sockets:
        stack.callback(one.close)
    host = f"[{settings.server.host}]" if ":" in settings.server.host else settings.server.host
    url = f"{'http' if tls is None else 'https'}://{host}:{sockets[0].getsockname()[1]}"
    public = ipfs.reader(ground.store, logs.blocks, library.store.blocks)
    limits = fitted(settings.server, len(sockets))
    application = server.build(
        service,
        limits,
        service_id=ground.identity.root,
        folders=logs.folders,
        cosigner=logs.witness,
        router=routing(ground, ipfs, public, url),
        gate=Gate(asyncio.Semaphore(settings.ipfs.gateway_concurrent_max), kept_s=settings.erasure.within_s),
        peering=peering,
        away=logs.away,
        access=Access(settings.server, keys, ground.clock, ground.metrics),
        documents_desk=library.desk,
        keeper=keeper,
    )
    open_door = connections.serving(
        application, sockets, limits, ground.metrics, server.at_once(application), tls
    )
    await stack.enter_async_context(open_door)
    stack.callback(service.stop_accepting)
    return url


async def _catch_up(ground: Ground, memory: Memory, peer_store: PeerStore, admitter: Admitter) -> None:
    """Behind the start: judge again what an older rule let in, and embed the questions whose answers were
    called invalid."""
    records, refuted = ground.store.records, memory.kept.refuted
    rescorer = Rescorer(
        Kept(records, memory.kept.rememberer, memory.semantics, ground.state, ground.decisions),
        Peers(peer_store.begin, admitter.retier),
        ground.clock,
        by_calibration,
        least=ground.settings.cache.confidence_min,
        policy=VERSION,
    )
    is_due = await rescorer.is_due()
    until = (await records.counts())["last_sequence"]

    async def catch_up() -> None:
        if is_due:
            await rescorer.in_background(until)
        while await refuted.prepare():
            pass

    task = asyncio.create_task(catch_up(), name="catch up")

    async def stop() -> None:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    ground.stack.push_async_callback(stop)


def settings_digest(settings: Settings) -> str:
    """SHA-256 of the settings without secrets: names the rules that were in force."""
    return hashlib.sha256(repr(settings).encode()).hexdigest()
