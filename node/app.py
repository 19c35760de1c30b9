"""The composition root: builds everything once, in order, and leaves in reverse order.

The order is the specification of shutdown read backwards: stop listening, finish what is in flight, stop
the jobs, drain the writes, save index and export, close engines, log, stores, lock. What is required (data
directory, keys, store, log) fails the start before the port opens; engines may be missing, and
``/health`` says which and what that disables.
"""

from __future__ import annotations

import asyncio
import errno
import hashlib
import logging
import shutil
import socket
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import aiohttp
from aiohttp import web

from adapters import registry
from node import __version__
from node.api import local, server
from node.api.peers import Peering
from node.app_ipfs import Ipfs, open_ipfs, routing
from node.app_log import MEMORY, Decisions, Logs, open_decisions, open_logs
from node.app_peers import Links, admitter_of, desk_of, forget_held, open_peers, open_store, published_size
from node.cache import gate_model
from node.cache.keys import keyword_key
from node.cache.negative import NegativeCache
from node.cache.recall import Recaller
from node.cache.same import same_question
from node.classify.route import Floors, Router
from node.classify.sessions import Sessions
from node.classify.understand import Understanding
from node.clock import Clock, SystemClock
from node.embed import factory
from node.embed.none import NoEmbedder
from node.embed.reference import ReferenceEmbedder
from node.engines.gguf import installed_model
from node.engines.llama_process import threads_to_spare
from node.errors import Misconfigured, NodeError, Unavailable
from node.governance.entry import policy_entry, store_entry
from node.governance.rotation import KeyRotation
from node.identity import Identity
from node.jobs.audit import Auditor, Watching
from node.jobs.cache_file import CacheFile
from node.jobs.car_file import CarFile
from node.jobs.class_limit import class_limit
from node.jobs.erasure import Erasure
from node.jobs.evict import evict
from node.jobs.expire import sweep
from node.jobs.labelling import Labels
from node.jobs.operator import LaterSemantics, OperatorDesk
from node.jobs.peer_desk import PeerDesk
from node.jobs.portable import PortableIndex, drop
from node.jobs.refresh import Refresher
from node.jobs.scheduler import Scheduler
from node.jobs.semantics import Choice, Load, SwitchingSemantics
from node.metrics import Metrics, Unlogged
from node.model import Check
from node.pipeline import Pipeline, Policy
from node.ports import Adapter, AuditLog, Embedder, Generator, StoredRecord
from node.score.volatility import volatility
from node.service import Invalidator, Ports, Service, adapter_check, model_checks
from node.settings import Log, Models, Settings, is_loopback
from node.store import kubo, kubo_doctor
from node.store.erase import Eraser
from node.store.foreign import WithForeign
from node.store.kubo import KuboBlockStore
from node.store.local_first import LocalFirstBlockStore
from node.store.lock import DataLock
from node.store.mirror import Mirror
from node.store.remember import Remembered, Rememberer, Report
from node.store.sqlite import SqliteStore
from node.store.state import StateStore
from node.store.uses import UseTally
from node.store.write_back import WriteBack
from node.synthesise.chain import NoGenerator, answers
from node.synthesise.compose import Composer

if TYPE_CHECKING:
    from node.classify.semantic import SemanticHead

log = logging.getLogger("neuroswarm")

VERSION = f"neuroswarm-{__version__}"
_RULES = "settings_digest"
LINGER_S = 1.0
"""How long the rest of a body that was refused is still read, so that its sender sees the reply."""
INDEX_SAVE_EVERY_S = 600
EXPORT_EVERY_S = 600
EXPORT = "knowledge-index.json"
"""In the data directory."""
FLUSH_USES_EVERY_S = 5
EXAMINE_WAIT_S = 15.0
"""How long a person waits at most to hear that an embedder does not answer; a large model loads meanwhile."""
MIRROR_DRAIN_S = 5.0
"""How long the stop waits for the IPFS daemon; what it has not got by then stays queued."""


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


@dataclass(frozen=True, slots=True)
class _Ground:
    """What a node and a command without a node both stand on."""

    data_dir: Path
    identity: Identity
    store: SqliteStore
    decisions: Decisions
    adapters: list[Adapter]
    http: aiohttp.ClientSession


async def _ground(settings: Settings, clock: Clock, stack: AsyncExitStack) -> _Ground:
    """Lock the data directory and open identity, records, log and adapters."""
    data_dir = _directory(settings.data_dir)
    stack.enter_context(DataLock.acquire(data_dir))
    identity = await asyncio.to_thread(Identity.load_or_create, data_dir / "keys", clock.now())
    store = await SqliteStore.open(
        data_dir / "blocks.sqlite", own_issuer=identity.root, keyword_key=keyword_key
    )
    stack.push_async_callback(store.close)
    decisions = await open_decisions(
        settings, data_dir, _directory(settings.governance_dir), identity, clock, VERSION
    )
    stack.push_async_callback(decisions.close)
    http = await stack.enter_async_context(_http(settings))
    adapters = list(registry.build(settings.adapters, clock, http))
    for adapter in adapters:
        stack.push_async_callback(adapter.close)
        await asyncio.to_thread(adapter.warm)
    return _Ground(data_dir, identity, store, decisions, adapters, http)


async def _start(settings: Settings, clock: Clock, stack: AsyncExitStack) -> Running:
    ground = await _ground(settings, clock, stack)
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
        _embedder_choice(settings),
        _embedders(settings, clock),
        store.records,
        state,
        clock,
        hnsw_above=settings.cache.hnsw_above,
    )
    stack.push_async_callback(semantics.close)

    weights = await asyncio.to_thread(_weights, settings)
    generators = _generators(settings, weights, clock)
    for generator in generators:
        stack.push_async_callback(generator.close)

    metrics = Metrics()

    mirror = _mirror(settings, http, store, state, clock, metrics)
    blocks = store.blocks if mirror is None else LocalFirstBlockStore(store.blocks, mirror.daemon_blocks)
    queue = WriteBack(settings.cache.write_queue_max)
    rememberer = Rememberer(
        store.records,
        semantics,
        identity,
        clock,
        queue,
        keyword_key=keyword_key,
        report=_into_log(decisions, metrics),
        same_question=same_question,
        is_personal=_is_personal,
    )
    cache = settings.cache
    reference = ReferenceEmbedder(settings, clock, wanted=gate_model.packaged().embedder)
    stack.push_async_callback(reference.close)
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
    )
    router = _router(settings, adapters)
    understanding = Understanding(router, semantics, _head(settings), clock)
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
    composer = Composer(
        generators,
        clock,
        context_chars_max=settings.models.context_chars_max,
        tokens_max=settings.models.tokens_max,
        generator_timeout_s=settings.models.timeout_s,
        queue_max=settings.models.queue_max,
    )
    refresher = Refresher(
        clock,
        deadline_s=settings.server.request_timeout_s,
        busy=lambda: pipeline.under_way > 0,
        count=metrics.refreshed,
    )

    async def is_live(stored: StoredRecord) -> bool:
        return stored.cid in await store.records.live([stored.cid])

    pipeline = Pipeline(
        clock=clock,
        understanding=understanding,
        sessions=Sessions(),
        recaller=recaller,
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
    links = Links(settings, http, ipfs.names, None if mirror is None else mirror.daemon_blocks, clock)
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
        stack.push_async_callback(_stop_mirror, mirror)
        mirror.start()

    listeners = [ipfs.head.changed, *([] if mirror is None else [mirror.nudge])]

    def changed() -> None:
        for listener in listeners:
            listener()

    store.on_change = changed

    async def drain() -> None:
        abandoned = await queue.close(settings.server.shutdown_timeout_s)
        if abandoned:
            log.error("%d writes were abandoned at shutdown", abandoned)

    stack.push_async_callback(drain)
    stack.push_async_callback(refresher.close)

    async def export_again() -> None:
        await portable.export(export_to)

    peer_store = await open_store(settings, data_dir, state, clock, stack)
    eraser = Eraser(
        store.records,
        WithForeign(store.blocks, ipfs.foreign.blocks),
        rememberer,
        decisions,
        (store.scrub, ipfs.foreign.scrub, labels.scrub, peer_store.scrub, semantics.save, export_again),
        (labels.forget, partial(forget_held, peer_store)),
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
        adapters,
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
                _daemon_probe(mirror),
                reference.probe,
                ipfs.probe,
                ipfs.probe_foreign,
                *peers.probes,
                *logs.probes,
                *_not_configured(generators),
            ),
            metrics=metrics,
            watch=auditor,
            eraser=eraser,
            uses=uses,
            mirror=mirror,
            policy=policy,
            request_timeout_s=settings.server.request_timeout_s,
            floor_default=cache.threshold,
            zone=ZoneInfo(settings.time_zone),
        )
    )
    auditor.start(pipeline.afresh, lambda: pipeline.under_way)
    stack.callback(service.release)
    stack.callback(peers.peering.release)
    url = await _listen(service, settings, ground, logs, ipfs, peers.peering, stack)
    desk = _desk(settings, ground, ipfs, rememberer, eraser, router, clock, metrics.unlogged, peers.desk)
    await stack.enter_async_context(local.listening(data_dir, desk.do, desk.stream))
    checks = tuple(await service.health())
    _warm(generators, checks)
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


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[OperatorDesk]:
    """The operator's desk of a data directory that no node uses now. Vectors are made at the next start.
    Raises ``Misconfigured`` where a node does use it, ``CorruptState``, ``Unavailable``."""
    clock = SystemClock()
    async with AsyncExitStack() as stack:
        ground = await _ground(settings, clock, stack)
        store, decisions = ground.store, ground.decisions
        metrics = Metrics()
        rememberer = Rememberer(
            store.records,
            LaterSemantics(),
            ground.identity,
            clock,
            WriteBack(settings.cache.write_queue_max),
            keyword_key=keyword_key,
            report=_into_log(decisions, metrics),
            same_question=same_question,
            is_personal=_is_personal,
        )
        router = _router(settings, ground.adapters)
        ipfs = await open_ipfs(settings, ground.data_dir, ground.identity, ground.store, None, clock, stack)

        async def drop_copies() -> None:
            """Of records and their vectors; the next node makes them anew."""
            await drop(ground.data_dir / EXPORT)
            for file in await asyncio.to_thread(list, (ground.data_dir / "index").glob("*")):
                await drop(file)

        labels = await Labels.open(ground.data_dir / "labels.sqlite", clock, store.mark)
        stack.push_async_callback(labels.close)
        state = await StateStore.open(ground.data_dir / "state.sqlite")
        stack.push_async_callback(state.close)
        peer_store = await open_store(settings, ground.data_dir, state, clock, stack)
        eraser = Eraser(
            store.records,
            WithForeign(store.blocks, ipfs.foreign.blocks),
            rememberer,
            decisions,
            (store.scrub, ipfs.foreign.scrub, labels.scrub, peer_store.scrub, drop_copies),
            (labels.forget, partial(forget_held, peer_store)),
        )
        admitter = admitter_of(
            settings,
            peer_store,
            store,
            LaterSemantics(),
            ground.identity,
            router,
            ground.adapters,
            decisions,
            clock,
            metrics,
            VERSION,
        )
        links = Links(settings, ground.http, ipfs.names, None, clock)
        peers, _ = desk_of(
            settings,
            ground.data_dir,
            peer_store,
            admitter,
            None,
            ground.identity,
            partial(published_size, ground.data_dir),
            links,
            clock,
            metrics,
        )
        yield _desk(settings, ground, ipfs, rememberer, eraser, router, clock, metrics.unlogged, peers)


def _desk(
    settings: Settings,
    ground: _Ground,
    ipfs: Ipfs,
    rememberer: Rememberer,
    eraser: Eraser,
    router: Router,
    clock: Clock,
    unlogged: Unlogged,
    peers: PeerDesk,
) -> OperatorDesk:
    records, decisions = ground.store.records, ground.decisions
    file = CacheFile(
        records,
        rememberer,
        router,
        clock,
        publish=settings.sharing.publish,
        keyword_key=keyword_key,
    )
    return OperatorDesk(
        file,
        Invalidator(
            records,
            rememberer,
            eraser,
            decisions,
            clock,
            VERSION,
            unlogged,
            refuse_unlogged=settings.log.on_failure == "refuse",
        ),
        KeyRotation(ground.identity, decisions, records, clock, VERSION, ipfs.leave_name),
        CarFile(ipfs.foreign, ipfs.names, records, clock),
        Erasure(
            records,
            eraser,
            ipfs.foreign,
            decisions,
            VERSION,
            unlogged,
            refuse_unlogged=settings.log.on_failure == "refuse",
        ),
        peers,
    )


def _router(settings: Settings, adapters: Sequence[Adapter]) -> Router:
    cache = settings.cache
    floors = Floors(
        deterministic=cache.threshold_deterministic,
        historical=cache.threshold,
        generative=cache.threshold_generative,
        default=cache.threshold,
    )
    return Router(adapters, floors)


def _is_personal(query: str) -> bool:
    return volatility(query).personal


def _into_log(decisions: AuditLog, metrics: Metrics) -> Report:
    """Each write-back leaves its own entry in the decision log."""

    async def report(outcome: Remembered) -> None:
        memory, stored = outcome.memory, outcome.stored
        metrics.merged(outcome.merged)
        entry, private = store_entry(
            request=memory.request_id,
            outcome="stored" if outcome.is_durable else "failed",
            reason=outcome.code,
            scope=memory.scope,
            policy=VERSION,
            cid=outcome.cid,
            expires=None if stored is None else stored.record.expires,
            confidence=memory.confidence.value,
        )
        try:
            await decisions.append(entry, private_texts=private)
        except NodeError as exc:
            metrics.unlogged.failed("other", exc, stands=True)
        else:
            metrics.unlogged.logged()

    return report


def _mirror(
    settings: Settings,
    http: aiohttp.ClientSession,
    store: SqliteStore,
    state: StateStore,
    clock: Clock,
    metrics: Metrics,
) -> Mirror | None:
    """What keeps a copy of the blocks in the configured daemon."""
    url = settings.ipfs.kubo_url
    if not url:
        return None
    if not is_loopback(urlsplit(url).hostname or ""):
        log.warning("ipfs.kubo_url is not on this machine: its RPC API has no login and must not be exposed")
    daemon = KuboBlockStore(url, http, clock, timeout_s=settings.ipfs.timeout_s)
    return Mirror(
        daemon,
        store.records,
        store.blocks,
        state,
        clock,
        metrics,
        is_private=settings.ipfs.daemon_is_private,
    )


async def _stop_mirror(mirror: Mirror) -> None:
    """What the daemon has not got yet stays queued; that must not spoil the rest of the stop."""
    try:
        waiting = await mirror.close(MIRROR_DRAIN_S)
    except NodeError as exc:
        log.warning("the mirror's state was not saved: %s", exc)
    else:
        if waiting:
            log.info("%d changes wait for the IPFS daemon until the next start", waiting)


def _daemon_probe(mirror: Mirror | None) -> Callable[[], Awaitable[Check]]:
    if mirror is not None:
        return mirror.probe

    async def none() -> Check:
        return kubo.NONE

    return none


async def _listen(
    service: Service,
    settings: Settings,
    ground: _Ground,
    logs: Logs,
    ipfs: Ipfs,
    peering: Peering,
    stack: AsyncExitStack,
) -> str:
    sockets = await asyncio.to_thread(_bound, settings.server.host, settings.server.port)
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


def _bound(host: str, port: int) -> list[socket.socket]:
    """A socket for each address of ``host``, all on one port. Raises ``Misconfigured``."""
    sockets: list[socket.socket] = []
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        for family, address in dict.fromkeys((family, address[0]) for family, _, _, _, address in found):
            where = (address, sockets[0].getsockname()[1] if sockets else port)
            try:
                sockets.append(socket.create_server(where, family=family, backlog=128))
            except OSError as exc:
                # A name such as localhost may stand for a kind of address that this machine does not have.
                if exc.errno not in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT) or not sockets:
                    raise
    except OSError as exc:
        for one in sockets:
            one.close()
        raise Misconfigured(
            f"cannot listen on {host}:{port}: {exc.strerror}; is another node running? (setting server.port)"
        ) from exc
    return sockets


def _directory(text: str) -> Path:
    path = Path(text)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        raise Misconfigured(f"cannot create the directory {path}: {exc.strerror}") from exc
    return path


def _http(settings: Settings) -> aiohttp.ClientSession:
    """The one session for outside sources: no cookies, no proxies from the environment, no decompression
    that nobody bounds, few connections to one host."""
    contact = f" (+{settings.adapters.contact})" if settings.adapters.contact else ""
    return aiohttp.ClientSession(
        auto_decompress=False,
        trust_env=False,
        cookie_jar=aiohttp.DummyCookieJar(),
        connector=aiohttp.TCPConnector(limit=64, limit_per_host=8),
        headers={"User-Agent": f"neuroswarm/{__version__}{contact}"},
    )


def _head(settings: Settings) -> SemanticHead | None:
    """The semantic classifier; it judges vectors of the embedder that it was trained on and no others."""
    if settings.embed.engine == "none":
        return None
    try:
        from node.classify.semantic import SemanticHead
    except ImportError as exc:
        log.warning("the semantic classifier stays off, a package is missing: %s", exc)
        return None
    return SemanticHead.load()


def settings_digest(settings: Settings) -> str:
    """SHA-256 of the settings without secrets: names the rules that were in force."""
    return hashlib.sha256(repr(settings).encode()).hexdigest()


def _embedder_choice(settings: Settings) -> Choice:
    return Choice(settings.embed.engine, settings.embed.model, settings.embed.gguf_path)


def _embedders(settings: Settings, clock: Clock) -> Load:
    """Loads any engine, the one of the settings or the one that served before it."""

    async def load(choice: Choice) -> Embedder:
        embed = replace(settings.embed, engine=choice.engine, model=choice.model, gguf_path=choice.gguf_path)
        return await factory.load(replace(settings, embed=embed), clock)

    return load


async def _embedder(settings: Settings, clock: Clock, wait_s: float) -> Embedder:
    """The embedder that the settings name, tested, or what says why there is none."""
    try:
        async with asyncio.timeout(wait_s):
            return await factory.load(settings, clock)
    except TimeoutError:
        return NoEmbedder(f"the {settings.embed.engine} embedder gave no answer within {wait_s:g} s")
    except Unavailable as exc:
        return NoEmbedder(str(exc))


def _generators(settings: Settings, weights: Path | None, clock: Clock) -> tuple[Generator, ...]:
    """The engines that the settings name, in order of preference; ``weights`` are for llama-cpp-python. One
    that cannot be had stays in the chain as its reason (``NoGenerator``)."""
    models = settings.models
    asked: list[tuple[str, Callable[[], Generator]]] = []
    if models.ollama_url:
        asked.append(("ollama", lambda: _ollama(models, clock)))
    if weights is not None:
        asked.append(("llama_cpp", lambda: _llama(weights, models, clock)))
    if models.openai_base_url:
        asked.append(("openai", lambda: _openai(models, clock)))
    return tuple(_built(name, build) for name, build in asked)


def _built(name: str, build: Callable[[], Generator]) -> Generator:
    try:
        return build()
    except ImportError as exc:
        reason = f"a package is missing ({exc.name or exc}); {_INSTALL[name]}"
    except (Misconfigured, Unavailable) as exc:
        reason = str(exc)
    log.warning("the language model engine %s is missing: %s", name, reason)
    return NoGenerator(name, reason)


_INSTALL: Mapping[str, str] = {
    "ollama": "type: pip install ollama",
    "llama_cpp": "type: make model",
    "openai": "type: pip install openai",
}


def _ollama(models: Models, clock: Clock) -> Generator:
    from node.synthesise.ollama import OllamaGenerator

    host = urlsplit(models.ollama_url).hostname or ""
    threads = threads_to_spare() if is_loopback(host) else None
    return OllamaGenerator(
        models.ollama_url, models.ollama_model, clock, queue_max=models.queue_max, threads=threads
    )


def _llama(weights: Path, models: Models, clock: Clock) -> Generator:
    from node.synthesise.llama import LlamaGenerator

    return LlamaGenerator(weights, clock, queue_max=models.queue_max)


def _openai(models: Models, clock: Clock) -> Generator:
    from node.synthesise.openai_compatible import OpenAiGenerator

    return OpenAiGenerator(
        models.openai_base_url,
        models.openai_api_key,
        models.openai_model,
        clock,
        queue_max=models.queue_max,
    )


def _warm(generators: Sequence[Generator], checks: Sequence[Check]) -> None:
    """Load the model file in the background where nothing else answers: a gigabyte takes seconds, and the
    first question need not pay for them. Beside a living Ollama it would only take memory."""
    if any(check.name == "model:ollama" and answers(check) for check in checks):
        return
    for generator in generators:
        if generator.name == "llama_cpp" and not isinstance(generator, NoGenerator):
            from node.synthesise.llama import LlamaGenerator

            assert isinstance(generator, LlamaGenerator)
            generator.warm()


def _weights(settings: Settings) -> Path | None:
    """The model file of llama-cpp-python: the one that is named, else the one that ``make model`` put into
    the data directory."""
    if settings.models.gguf_path:
        return Path(settings.models.gguf_path)
    return installed_model(Path(settings.data_dir))


def _not_configured(generators: Sequence[Generator]) -> tuple[Callable[[], Awaitable[Check]], ...]:
    """A health fact for each engine that the settings do not name."""
    named = {generator.name for generator in generators}

    def fact(name: str, remedy: str) -> Callable[[], Awaitable[Check]]:
        async def probe() -> Check:
            return Check(f"model:{name}", "pass", f"not configured; {remedy}")

        return probe

    return tuple(fact(name, remedy) for name, remedy in _REMEDIES.items() if name not in named)


_REMEDIES: Mapping[str, str] = {
    "ollama": "set models.ollama_url to use one",
    "llama_cpp": "type: make model, or set models.gguf_path to a GGUF file",
    "openai": "set models.openai_base_url to use one",
}


async def examine(settings: Settings, *, wait_s: float = EXAMINE_WAIT_S) -> list[Check]:
    """Look at each engine without starting a node: what ``doctor`` shows when none runs. ``wait_s``: for the
    embedder."""
    clock = SystemClock()
    embedder: Embedder = NoEmbedder("")
    try:
        embedder = await _embedder(settings, clock, wait_s)
        check = embedder.health()
    except Misconfigured as exc:
        check = Check("embedder", "fail", f"the node does not start: {exc}")
    generators = _generators(settings, await asyncio.to_thread(_weights, settings), clock)
    http = _http(settings)
    adapters: tuple[Adapter, ...] = ()
    try:
        adapters = registry.build(settings.adapters, clock, http)
        checks = [check, *map(adapter_check, adapters)]
        checks += await model_checks(generators)
        checks += [await probe() for probe in _not_configured(generators)]
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
    http = _http(settings)
    try:
        return await kubo_doctor.examine(settings.ipfs.kubo_url, http, SystemClock())
    finally:
        await http.close()
