"""What a node and a command without a node both stand on: the locked data directory, identity, records, log,
adapters, and the one HTTP session."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeAlias
from zoneinfo import ZoneInfo

import aiohttp

from adapters import registry
from node import __version__
from node.app.clock import Ask, ask_all, dates, open_clock, sources
from node.app.data_files import STATE_FILE, keep_torn_wals, renewed, stamp_of
from node.app.restored import held
from node.audit.decisions import epochs
from node.audit.decisions.log import DecisionLog
from node.audit.decisions.memory import MemoryLog
from node.audit.decisions.shards import Terms
from node.audit.log.archive import archives_of
from node.audit.log.checked import KeysOf
from node.audit.log.s3 import SCHEME
from node.audit.recorder import Recorder
from node.audit.tlog.policy import WitnessPolicy
from node.audit.upkeep.copies import archive_copy, copy_at
from node.audit.upkeep.mending import Copy
from node.audit.upkeep.offline import make_ready
from node.audit.witnesses.cosigning import load_policy
from node.cache.keys import keyword_key
from node.core.clock import Clock
from node.core.clock_guard import GuardedClock
from node.core.errors import Misconfigured
from node.core.files import own_directory
from node.core.identity import Identity
from node.core.metrics import Metrics
from node.core.model import Check
from node.core.ports import Adapter
from node.core.record import DECISIONS
from node.core.settings import Settings
from node.core.signed_note import Verifier
from node.peers.rules.admission import ADMISSION_REASONS
from node.peers.rules.values import PEER_TIERS
from node.pipeline.understanding.route import Floors, Router
from node.store.backup.restoring import STAGING
from node.store.lock import DataLock, identity_held
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
    reverse order. ``time_sources``: asked for the date alone."""

    settings: Settings
    clock: GuardedClock
    stack: AsyncExitStack
    data_dir: Path
    identity: Identity
    store: SqliteStore
    decisions: Decisions
    adapters: list[Adapter]
    http: aiohttp.ClientSession
    state: StateStore
    metrics: Metrics
    time_sources: Sequence[Ask]
    is_state_renewed: bool = False
    """The state file was damaged, and has only those rows that were whole."""
    torn: tuple[Path, ...] = ()
    """Copies of WALs that were damaged, so that the last changes of their files may be lost."""

    @property
    def zone(self) -> ZoneInfo:
        """The node's own."""
        return ZoneInfo(self.settings.time_zone)

    @property
    def recorder(self) -> Recorder:
        """Enters decisions as the settings want it."""
        refuses = self.settings.log.on_failure == "refuse"
        return Recorder(self.decisions, self.metrics.unlogged, refuses=refuses)


def lock_data(settings: Settings, stack: AsyncExitStack | ExitStack) -> Path:
    """The data directory, locked until ``stack`` is left. Blocking. Raises ``Misconfigured``."""
    data_dir = Path(settings.data_dir)
    own_directory(data_dir, 0o700 | _reach(settings.export_mode))
    stack.enter_context(DataLock.acquire(data_dir))
    if (data_dir / STAGING).exists():
        raise Misconfigured(f"a restore into {data_dir} was cut short: run it again")
    return data_dir


async def open_ground(
    settings: Settings, wall: Clock, stack: AsyncExitStack, *, is_locked: bool = False
) -> Ground:
    """Lock the data directory, unless the caller has (``is_locked``), and the identity; open clock, records,
    log, adapters and state."""
    if not is_locked:
        await asyncio.to_thread(lock_data, settings, stack)
    data_dir = Path(settings.data_dir)
    clock = await open_clock(settings, wall, data_dir)
    http = await stack.enter_async_context(http_session(settings, dates(clock)))
    asks = sources(settings, http, clock)
    await ask_all(asks)  # before anything is signed
    clock.look()
    identity = await asyncio.to_thread(Identity.load_or_create, data_dir / "keys", clock.now())
    stack.enter_context(identity_held(identity.root))
    torn = await asyncio.to_thread(keep_torn_wals, data_dir, stamp_of(clock))
    store = await SqliteStore.open(
        data_dir / "blocks.sqlite", own_issuer=identity.root, keyword_key=keyword_key
    )
    stack.push_async_callback(store.close)
    log_dir = Path(settings.governance_dir)
    await asyncio.to_thread(own_directory, log_dir)
    if settings.log.durability != MEMORY:
        high_water = partial(epochs.high_water, data_dir / "keys")
        await make_ready(log_dir, keys_of(identity), high_water, copies_of(settings, http, clock), clock)
    decisions = await open_decisions(settings, data_dir, log_dir, identity, clock)
    stack.push_async_callback(decisions.close)
    adapters = list(registry.build(settings.adapters, clock, http))
    for adapter in adapters:
        stack.push_async_callback(adapter.close)
        await asyncio.to_thread(adapter.warm)
    path = data_dir / STATE_FILE
    state, is_renewed = await renewed(path, clock, lambda: StateStore.open(path))
    stack.push_async_callback(state.close)
    metrics = Metrics(ADMISSION_REASONS, PEER_TIERS)
    ground = Ground(
        settings, clock, stack, data_dir, identity, store, decisions, adapters, http, state, metrics, asks
    )
    return replace(ground, is_state_renewed=is_renewed, torn=tuple(torn))


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
    check_archive(settings)
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
        is_held=(policy is not None and asks(policy)) or DECISIONS in held(data_dir),
        archives=archives_of(settings.archive),
    )


def check_archive(settings: Settings) -> None:
    """An archive is for another disk: in these folders it would be counted, and copied, with what is here.
    Raises ``Misconfigured``."""
    to = settings.archive.to
    if to.startswith(SCHEME):
        archives_of(settings.archive)(to)  # says what is missing for it
    if not to or to.startswith(SCHEME):
        return
    place = Path(to).absolute()
    for key, inside in (("data_dir", settings.data_dir), ("governance_dir", settings.governance_dir)):
        if place.is_relative_to(Path(inside).absolute()):
            raise Misconfigured(f"setting archive.to must not lie in {key} ({inside})")


def keys_of(identity: Identity) -> KeysOf:
    """The keys that sign a log of this node now."""

    def keys(origin: str) -> list[Verifier]:
        return [signer.verifier for signer in identity.log_signers(origin)]

    return keys


def copies_of(settings: Settings, http: aiohttp.ClientSession, clock: Clock) -> list[Copy]:
    """Who else holds the logs, as the settings say. Raises ``Misconfigured``."""
    copies: list[Copy] = [copy_at(place, http, clock) for place in settings.log.copies]
    own = settings.archive
    return [*copies, archive_copy(archives_of(own)(own.to))] if own.to else copies


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


def _reach(export_mode: str) -> int:
    """The right to pass through the data directory, of those who may read the export there; nobody else's
    files open to them by that."""
    return (int(export_mode, 8) & 0o044) >> 2


def http_session(settings: Settings, *traces: aiohttp.TraceConfig) -> aiohttp.ClientSession:
    """The one session for outside sources: no cookies, no proxies from the environment, no decompression
    that nobody bounds, few connections to one host. ``traces`` hear of each answer."""
    contact = f" (+{settings.adapters.contact})" if settings.adapters.contact else ""
    return aiohttp.ClientSession(
        auto_decompress=False,
        trust_env=False,
        cookie_jar=aiohttp.DummyCookieJar(),
        trace_configs=list(traces),
        connector=aiohttp.TCPConnector(limit=64, limit_per_host=8),
        headers={"User-Agent": f"neuroswarm/{__version__}{contact}"},
    )
