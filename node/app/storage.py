"""What a node and a command without a node both stand on: the locked data directory, identity, records, log,
adapters, and the one HTTP session."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeAlias
from zoneinfo import ZoneInfo

import aiohttp

from adapters import registry
from node import __version__
from node.audit.decisions import epochs
from node.audit.decisions.log import DecisionLog
from node.audit.decisions.memory import MemoryLog
from node.audit.decisions.shards import Terms
from node.audit.log.checked import KeysOf
from node.audit.recorder import Recorder
from node.audit.tlog.policy import WitnessPolicy
from node.audit.upkeep.copies import copy_at
from node.audit.upkeep.mending import Copy
from node.audit.upkeep.offline import make_ready
from node.audit.witnesses.cosigning import load_policy
from node.cache.keys import keyword_key
from node.core.clock import Clock
from node.core.errors import Misconfigured
from node.core.identity import Identity
from node.core.metrics import Metrics
from node.core.model import Check
from node.core.ports import Adapter
from node.core.settings import Settings
from node.core.signed_note import Verifier
from node.peers.rules.admission import ADMISSION_REASONS
from node.peers.rules.values import PEER_TIERS
from node.pipeline.understanding.route import Floors, Router
from node.store.lock import DataLock
from node.store.sqlite import SqliteStore
from node.store.state import StateStore

VERSION = f"neuroswarm-{__version__}"
EXPORT = "knowledge-index.json"
"""In the data directory."""
MEMORY = "memory"

Decisions: TypeAlias = DecisionLog | MemoryLog
Probe: TypeAlias = Callable[[], Awaitable[Check]]


@dataclass(frozen=True, slots=True)
class Ground:
    """What a node and a command without a node both stand on. ``stack`` leaves what was opened on it in
    reverse order."""

    settings: Settings
    clock: Clock
    stack: AsyncExitStack
    data_dir: Path
    identity: Identity
    store: SqliteStore
    decisions: Decisions
    adapters: list[Adapter]
    http: aiohttp.ClientSession
    state: StateStore
    metrics: Metrics

    @property
    def zone(self) -> ZoneInfo:
        """The node's own."""
        return ZoneInfo(self.settings.time_zone)

    @property
    def recorder(self) -> Recorder:
        """Enters decisions as the settings want it."""
        refuses = self.settings.log.on_failure == "refuse"
        return Recorder(self.decisions, self.metrics.unlogged, refuses=refuses)


async def open_ground(settings: Settings, clock: Clock, stack: AsyncExitStack) -> Ground:
    """Lock the data directory and open identity, records, log, adapters and state."""
    data_dir = _directory(settings.data_dir)
    stack.enter_context(DataLock.acquire(data_dir))
    identity = await asyncio.to_thread(Identity.load_or_create, data_dir / "keys", clock.now())
    store = await SqliteStore.open(
        data_dir / "blocks.sqlite", own_issuer=identity.root, keyword_key=keyword_key
    )
    stack.push_async_callback(store.close)
    http = await stack.enter_async_context(http_session(settings))
    folder = _directory(settings.governance_dir)
    if settings.log.durability != MEMORY:
        high_water = partial(epochs.high_water, data_dir / "keys")
        await make_ready(folder, keys_of(identity), high_water, copies_of(settings, http, clock), clock)
    decisions = await open_decisions(settings, data_dir, folder, identity, clock)
    stack.push_async_callback(decisions.close)
    adapters = list(registry.build(settings.adapters, clock, http))
    for adapter in adapters:
        stack.push_async_callback(adapter.close)
        await asyncio.to_thread(adapter.warm)
    state = await StateStore.open(data_dir / "state.sqlite")
    stack.push_async_callback(state.close)
    metrics = Metrics(ADMISSION_REASONS, PEER_TIERS)
    return Ground(
        settings, clock, stack, data_dir, identity, store, decisions, adapters, http, state, metrics
    )


async def policy_of(settings: Settings) -> WitnessPolicy | None:
    """The witness policy that the settings name. Raises ``Misconfigured``."""
    if not settings.log.witness_policy:
        return None
    return await asyncio.to_thread(load_policy, Path(settings.log.witness_policy))


async def open_decisions(
    settings: Settings, data_dir: Path, folder: Path, identity: Identity, clock: Clock
) -> Decisions:
    """The decision log, required. Where a policy names witnesses, nothing is signed before they were asked.

    Raises ``CorruptState``, ``Unavailable``, ``Misconfigured``.
    """
    log = settings.log
    if log.durability == MEMORY:
        return MemoryLog(identity.decisions_origin, clock)
    policy = await policy_of(settings)
    return await DecisionLog.open(
        folder,
        identity.decisions_origin,
        identity.log_signers,
        clock,
        keys=data_dir / "keys",
        terms=Terms(
            log.durability,
            log.publish_every_s,
            log.shard_entries,
            alarm_bytes=log.alarm_bytes,
            policy=VERSION,
            beside=((data_dir, "log_blocks.sqlite*"),),
        ),
        is_held=policy is not None and asks(policy),
    )


def keys_of(identity: Identity) -> KeysOf:
    """The keys that sign a log of this node now."""

    def keys(origin: str) -> list[Verifier]:
        return [signer.verifier for signer in identity.log_signers(origin)]

    return keys


def copies_of(settings: Settings, http: aiohttp.ClientSession, clock: Clock) -> list[Copy]:
    """Who else holds the logs, as the settings say."""
    return [copy_at(place, http, clock) for place in settings.log.copies]


def asks(policy: WitnessPolicy) -> bool:
    """Whether somebody is asked to cosign."""
    return any(line.url for line in policy.witnesses)


def fact(health: Callable[[], Check]) -> Probe:
    """A probe that needs no asking."""

    async def probe() -> Check:
        return health()

    return probe


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
