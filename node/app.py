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
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import aiohttp
from aiohttp import web

from adapters import registry
from node import __version__
from node.api import server
from node.cache.keys import keyword_key
from node.cache.recall import Recaller
from node.classify.route import Floors, Router
from node.classify.sessions import Sessions
from node.classify.understand import Understanding
from node.clock import Clock, SystemClock
from node.embed.none import NoEmbedder
from node.errors import Misconfigured, NodeError, Unavailable
from node.governance.entry import policy_entry, store_entry
from node.governance.log import ChainLog
from node.identity import Identity
from node.jobs.evict import evict
from node.jobs.expire import sweep
from node.jobs.portable import PortableIndex
from node.jobs.scheduler import Scheduler
from node.metrics import Metrics
from node.model import Check
from node.pipeline import Pipeline, Policy
from node.ports import Adapter, Embedder, Generator
from node.service import Ports, Service, adapter_check
from node.settings import Settings, is_loopback
from node.store import kubo
from node.store.lock import DataLock
from node.store.remember import Remembered, Rememberer
from node.store.sqlite import SqliteStore
from node.store.state import StateStore
from node.store.write_back import WriteBack
from node.synthesise.compose import Composer

if TYPE_CHECKING:
    from node.classify.semantic import SemanticHead
    from node.jobs.vectors import IndexKeeper

log = logging.getLogger("neuroswarm")

LINGER_S = 1.0
"""How long the rest of a body that was refused is still read, so that its sender sees the reply."""
INDEX_SAVE_EVERY_S = 600
EXPORT_EVERY_S = 600


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


async def _start(settings: Settings, clock: Clock, stack: AsyncExitStack) -> Running:
    data_dir = _directory(settings.data_dir)
    stack.enter_context(DataLock.acquire(data_dir))
    identity = await asyncio.to_thread(Identity.load_or_create, data_dir / "keys", clock.now())

    store = await SqliteStore.open(data_dir / "blocks.sqlite", own_issuer=identity.root)
    stack.push_async_callback(store.close)
    for certificate in identity.certificates():
        await store.records.add(certificate)
    state = await StateStore.open(data_dir / "state.sqlite")
    stack.push_async_callback(state.close)

    decisions = await ChainLog.open(
        _directory(settings.governance_dir),
        identity.decisions_origin,
        clock,
        durability=settings.log.durability,
        keys=data_dir / "keys" / "commitments",
    )
    stack.push_async_callback(decisions.close)
    version = f"neuroswarm-{__version__}"
    digest = settings_digest(settings)
    entry, private = policy_entry(event="start", policy=version, software=version, settings_digest=digest)
    await decisions.append(entry, private_texts=private)

    embedder = await _embedder(settings, clock)
    stack.push_async_callback(embedder.close)
    keeper = await _index(data_dir / "index", embedder, store)
    index = None if keeper is None else keeper.index

    http = await stack.enter_async_context(_http(settings))
    adapters = registry.build(settings.adapters, clock, http)
    for adapter in adapters:
        stack.push_async_callback(adapter.close)
        await asyncio.to_thread(adapter.warm)
    generators = _generators(settings, clock)
    for generator in generators:
        stack.push_async_callback(generator.close)

    async def report(outcome: Remembered) -> None:
        """Each write-back leaves its own entry in the decision log."""
        memory, stored = outcome.memory, outcome.stored
        entry, private = store_entry(
            request=memory.request_id,
            outcome="stored" if outcome.code in ("stored", "known") else "failed",
            reason=outcome.code,
            scope=memory.scope,
            policy=version,
            cid=outcome.cid,
            expires=None if stored is None else stored.record.expires,
            confidence=memory.confidence.value,
        )
        try:
            await decisions.append(entry, private_texts=private)
        except NodeError as exc:
            log.warning("a write-back could not be logged: %s", exc)

    queue = WriteBack(settings.cache.write_queue_max)
    rememberer = Rememberer(
        store.records, index, embedder, identity, clock, queue, keyword_key=keyword_key, report=report
    )
    cache = settings.cache
    recaller = Recaller(
        store.records,
        index,
        clock,
        confidence_min=cache.confidence_min,
        max_wrong_per_hit=cache.max_wrong_per_hit,
        neighbours=cache.neighbours,
        expired_grace_s=cache.expired_grace_s,
    )
    floors = Floors(
        deterministic=cache.threshold_deterministic,
        historical=cache.threshold,
        generative=cache.threshold_generative,
        default=cache.threshold,
    )
    router = Router(adapters, floors)
    understanding = Understanding(router, embedder, _head(embedder), clock)
    policy = Policy(
        confidence_min=cache.confidence_min,
        publish=settings.sharing.publish,
        refuse_unlogged=settings.log.on_failure == "refuse",
        version=version,
    )
    pipeline = Pipeline(
        clock=clock,
        understanding=understanding,
        sessions=Sessions(),
        recaller=recaller,
        embedder=embedder,
        adapters={adapter.name: adapter for adapter in adapters},
        composer=Composer(
            generators,
            clock,
            context_chars_max=settings.models.context_chars_max,
            tokens_max=settings.models.tokens_max,
            generator_timeout_s=settings.models.timeout_s,
        ),
        rememberer=rememberer,
        log=decisions,
        policy=policy,
    )
    portable = PortableIndex(store.records, rememberer, router, state, embedder, clock)
    await portable.import_once(Path(settings.index_file))
    export_to = data_dir / "knowledge-index.json"

    if keeper is not None:
        stack.push_async_callback(keeper.save)

    async def export_last() -> None:
        """The export is a copy: a full disk or a damaged store must not spoil the rest of the stop."""
        try:
            await portable.export(export_to)
        except NodeError as exc:
            log.warning("the knowledge index was not exported: %s", exc)

    stack.push_async_callback(export_last)

    async def drain() -> None:
        abandoned = await queue.close(settings.server.shutdown_timeout_s)
        if abandoned:
            log.error("%d writes were abandoned at shutdown", abandoned)

    stack.push_async_callback(drain)

    scheduler = Scheduler()
    scheduler.every(
        cache.sweep_every_s,
        "expire",
        lambda: sweep(store.records, index, clock, grace_s=cache.expired_grace_s),
    )
    scheduler.every(
        cache.sweep_every_s,
        "evict",
        lambda: evict(store.records, index, max_entries=cache.max_entries, max_bytes=cache.max_bytes),
    )
    scheduler.every(EXPORT_EVERY_S, "export", lambda: portable.export(export_to))
    if keeper is not None:
        scheduler.every(INDEX_SAVE_EVERY_S, "save_index", keeper.save)
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
            blocks=store.blocks,
            state=state,
            embedder=embedder,
            index=index,
            log=decisions,
            adapters=adapters,
            generators=generators,
            probes=(kubo.Daemon(settings.ipfs.kubo_url).probe,),
            metrics=Metrics(),
            policy=policy,
            request_timeout_s=settings.server.request_timeout_s,
            floor_default=cache.threshold,
            zone=ZoneInfo(settings.time_zone),
        )
    )
    url = await _listen(service, settings, identity.root, stack)
    return Running(url, service, settings, tuple(await service.health()))


async def _listen(service: Service, settings: Settings, service_id: str, stack: AsyncExitStack) -> str:
    application = server.build(service, settings.server, service_id=service_id)
    runner = web.AppRunner(
        application,
        access_log=None,
        shutdown_timeout=settings.server.shutdown_timeout_s,
        lingering_time=LINGER_S,
        auto_decompress=False,  # Content-Encoding is refused: a small body must not become a large one
    )
    await runner.setup()
    stack.push_async_callback(runner.cleanup)
    site = web.TCPSite(runner, settings.server.host, settings.server.port)
    try:
        await site.start()
    except OSError as exc:
        raise Misconfigured(
            f"cannot listen on {settings.server.host}:{settings.server.port}: {exc.strerror}; "
            "is another node running? (setting server.port)"
        ) from exc
    stack.callback(service.stop_accepting)
    port = runner.addresses[0][1]
    host = f"[{settings.server.host}]" if ":" in settings.server.host else settings.server.host
    return f"http://{host}:{port}"


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


def _head(embedder: Embedder) -> SemanticHead | None:
    """The semantic classifier, if it was trained on this embedder."""
    if not embedder.info.dim:
        return None
    from node.classify.semantic import SemanticHead

    head = SemanticHead.load()
    if head.model_digest != embedder.info.digest:
        log.warning("the semantic classifier was trained on another embedder and stays off")
        return None
    return head


def settings_digest(settings: Settings) -> str:
    """SHA-256 of the settings without secrets: names the rules that were in force."""
    return hashlib.sha256(repr(settings).encode()).hexdigest()


async def _embedder(settings: Settings, clock: Clock) -> Embedder:
    """The embedder that the settings name, tested; without one, exact, slot and keyword look-up go on."""
    if settings.embed.engine == "none":
        return NoEmbedder("embeddings are switched off (embed.engine = none)")
    try:
        from node.embed.local import LocalEmbedder
        from node.embed.self_test import self_test
    except ImportError as exc:
        return NoEmbedder(f"a package for embeddings is missing: {exc}")
    try:
        embedder = await LocalEmbedder.load(settings.embed, clock)
    except Unavailable as exc:
        return NoEmbedder(str(exc))
    try:
        await self_test(embedder)
    except Unavailable as exc:
        await embedder.close()
        return NoEmbedder(str(exc))
    return embedder


async def _index(directory: Path, embedder: Embedder, store: SqliteStore) -> IndexKeeper | None:
    if not embedder.info.dim:
        return None
    from node.jobs.vectors import IndexKeeper

    return await IndexKeeper.open(directory, embedder.info, store.records)


def _generators(settings: Settings, clock: Clock) -> tuple[Generator, ...]:
    if not settings.models.ollama_url:
        return ()
    try:
        from node.synthesise.ollama import OllamaGenerator
    except ImportError as exc:
        log.warning("the Ollama client is missing: %s", exc)
        return ()
    host = urlsplit(settings.models.ollama_url).hostname or ""
    return (
        OllamaGenerator(
            settings.models.ollama_url,
            settings.models.ollama_model,
            clock,
            queue_max=settings.models.queue_max,
            threads=max(1, (os.cpu_count() or 2) - 1) if is_loopback(host) else None,
        ),
    )


async def examine(settings: Settings) -> list[Check]:
    """Look at each engine without starting a node: what ``doctor`` shows when none runs."""
    clock = SystemClock()
    embedder = await _embedder(settings, clock)
    generators = _generators(settings, clock)
    http = _http(settings)
    adapters: tuple[Adapter, ...] = ()
    try:
        adapters = registry.build(settings.adapters, clock, http)
        checks = [embedder.health(), *map(adapter_check, adapters)]
        checks += [await generator.probe() for generator in generators]
        if not generators:
            checks.append(Check("model", "warn", "no language model is configured (models.ollama_url)"))
        checks.append(await kubo.probe(settings.ipfs.kubo_url))
    finally:
        await embedder.close()
        for generator in generators:
            await generator.close()
        for adapter in adapters:
            await adapter.close()
        await http.close()
    return checks
