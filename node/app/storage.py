"""What a node and a command without a node both stand on: the locked data directory, identity, records, log,
adapters, and the one HTTP session."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from adapters import registry
from node import __version__
from node.app.logs import Decisions, open_decisions
from node.audit.decisions.answer_entry import store_entry
from node.audit.recorder import Recorder
from node.cache.keys import keyword_key
from node.core.clock import Clock
from node.core.errors import Misconfigured
from node.core.identity import Identity
from node.core.metrics import Metrics
from node.core.ports import Adapter, AuditLog
from node.core.settings import Settings
from node.pipeline.understanding.route import Floors, Router
from node.store.lock import DataLock
from node.store.remember import Remembered, Report
from node.store.retention.volatility import volatility
from node.store.sqlite import SqliteStore

VERSION = f"neuroswarm-{__version__}"
EXPORT = "knowledge-index.json"
"""In the data directory."""


@dataclass(frozen=True, slots=True)
class Ground:
    """What a node and a command without a node both stand on."""

    data_dir: Path
    identity: Identity
    store: SqliteStore
    decisions: Decisions
    adapters: list[Adapter]
    http: aiohttp.ClientSession


async def open_ground(settings: Settings, clock: Clock, stack: AsyncExitStack) -> Ground:
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
    http = await stack.enter_async_context(http_session(settings))
    adapters = list(registry.build(settings.adapters, clock, http))
    for adapter in adapters:
        stack.push_async_callback(adapter.close)
        await asyncio.to_thread(adapter.warm)
    return Ground(data_dir, identity, store, decisions, adapters, http)


def router_of(settings: Settings, adapters: Sequence[Adapter]) -> Router:
    """The router over these adapters, with the similarity floors of the settings."""
    cache = settings.cache
    floors = Floors(
        deterministic=cache.threshold_deterministic,
        historical=cache.threshold,
        generative=cache.threshold_generative,
        default=cache.threshold,
    )
    return Router(adapters, floors)


def is_personal(query: str) -> bool:
    """Whether the answer depends on who asks."""
    return volatility(query).personal


def into_log(decisions: AuditLog, metrics: Metrics) -> Report:
    """Each write-back leaves its own entry in the decision log."""
    recorder = Recorder(decisions, metrics.unlogged, refuses=False)

    async def report(outcome: Remembered) -> None:
        memory, stored = outcome.memory, outcome.stored
        metrics.count("merged_records", by=outcome.merged)
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
        await recorder.enter(entry, private)

    return report


def _directory(text: str) -> Path:
    path = Path(text)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        raise Misconfigured(f"cannot create the directory {path}: {exc.strerror}") from exc
    return path


def http_session(settings: Settings) -> aiohttp.ClientSession:
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
