"""The composition root's part for the logs: built in order, left in reverse order by the caller's stack.

The decision log opens before everything that decides. The publications log, our witness, others' witnesses,
anchors and the blocks of the log stand beside it; none of them is awaited by an answer.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeAlias

from node.audit.anchors import anchoring
from node.audit.anchors.anchor import Anchor, AnchorState, NoAnchor
from node.audit.anchors.anchoring import Anchoring
from node.audit.anchors.opentimestamps import OpenTimestamps
from node.audit.decisions.entry import anchor_entry
from node.audit.decisions.log import DecisionLog
from node.audit.decisions.memory import MemoryLog
from node.audit.decisions.shards import Terms
from node.audit.log.writer import Pace, TileLog
from node.audit.tlog.policy import WitnessPolicy
from node.audit.witnesses.cosigning import Witnesses, load_policy
from node.audit.witnesses.ours import Witness
from node.core.clock import Clock
from node.core.errors import NodeError
from node.core.http import Http
from node.core.identity import Identity
from node.core.ipld.cid import Cid
from node.core.metrics import Metrics
from node.core.model import Check
from node.core.ports import Appended, BlockStore
from node.core.scheduler import Scheduler
from node.core.settings import Settings
from node.core.signed_note import Verifier
from node.ipfs.kubo import KuboBlockStore
from node.ipfs.log_blocks import LogBlocks
from node.store.sqlite import SqliteStore

Decisions: TypeAlias = DecisionLog | MemoryLog

MEMORY = "memory"
PUBLICATIONS_BLOCKS_EVERY_S = 30.0
"""How far its blocks may lag behind the log that peers read; as far as the head that leads to them."""
LAST_BLOCKS_TIMEOUT_S = 2.0
"""How long the stop waits for the log's last blocks; what is missing then follows after the next start."""


@dataclass(frozen=True, slots=True)
class Logs:
    """What serves, cosigns and anchors. ``publications``: the log of what this node shares; ``folders``: the
    logs that are served, by name; ``blocks``: what they were made into; ``heads``: the newest head of those
    blocks, by log."""

    publications: TileLog
    folders: Mapping[str, Path]
    witness: Witness
    blocks: BlockStore
    heads: Mapping[str, Callable[[], Cid | None]]
    probes: tuple[Callable[[], Awaitable[Check]], ...]


async def policy_of(settings: Settings) -> WitnessPolicy | None:
    """The witness policy that the settings name. Raises ``Misconfigured``."""
    if not settings.log.witness_policy:
        return None
    return await asyncio.to_thread(load_policy, Path(settings.log.witness_policy))


async def open_decisions(
    settings: Settings, data_dir: Path, folder: Path, identity: Identity, clock: Clock, version: str
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
            policy=version,
        ),
        is_held=policy is not None and _asks(policy),
    )


def _asks(policy: WitnessPolicy) -> bool:
    return any(line.url for line in policy.witnesses)


async def open_logs(
    settings: Settings,
    data_dir: Path,
    identity: Identity,
    decisions: Decisions,
    daemon: KuboBlockStore | None,
    http: Http,
    scheduler: Scheduler,
    clock: Clock,
    metrics: Metrics,
    version: str,
    stack: AsyncExitStack,
) -> Logs:
    """What stands beside the decision log. Raises ``CorruptState``, ``Unavailable``, ``Misconfigured``."""
    policy = await policy_of(settings)
    publications = await TileLog.open(
        data_dir / "publications",
        identity.publications_origin,
        identity.log_signers(identity.publications_origin),
        clock,
        high_water=data_dir / "keys" / "publications.signed",
        pace=Pace(every_s=settings.log.publish_every_s),
    )
    stack.push_async_callback(publications.close)
    witness = await Witness.open(
        data_dir / "witness",
        partial(identity.witness_signers, is_ml_dsa=settings.log.witness_ml_dsa),
        [] if policy is None else [line.verifier for line in policy.logs],
        clock,
        count=partial(metrics.count, "witness_requests"),
    )
    stack.push_async_callback(witness.close)
    folders = {"publications": data_dir / "publications"}
    probes = [fact(lambda: replace(publications.health(), name="log:publications")), fact(witness.health)]
    # Apart from the cache's blocks: a growing log must not drive answers out of them.
    store = await SqliteStore.open(
        data_dir / "log_blocks.sqlite",
        own_issuer=identity.root,
        keys=data_dir / "keys" / "log_block_keys",  # never made: no records, nothing private
    )
    stack.push_async_callback(store.close)
    publications_blocks = LogBlocks(
        data_dir / "publications",
        store.blocks,
        data_dir / "publications_blocks.json",
        clock,
        daemon=daemon,
        every_s=PUBLICATIONS_BLOCKS_EVERY_S,
    )
    stack.push_async_callback(publications_blocks.close, LAST_BLOCKS_TIMEOUT_S / 2)
    publications.on_published(publications_blocks.published)
    publications_blocks.start()
    probes.append(fact(lambda: replace(publications_blocks.health(), name="log:publications:blocks")))
    heads: dict[str, Callable[[], Cid | None]] = {"publications": lambda: publications_blocks.head}
    if isinstance(decisions, DecisionLog):
        folders["decisions"] = decisions.directory
        log_blocks = LogBlocks(
            decisions.directory, store.blocks, data_dir / "log_blocks.json", clock, daemon=daemon
        )
        heads["decisions"] = lambda: log_blocks.head
        followers = _follow(
            settings, data_dir, identity, decisions, policy, log_blocks, http, clock, metrics, stack
        )
        anchors = await _anchors(settings, data_dir, decisions, http, clock, version)
        stack.push_async_callback(anchors.close)

        async def look_after_anchors() -> None:
            await anchors.tick()
            metrics.set(**anchors.numbers())

        scheduler.every(anchoring.TICK_S, "anchor", look_after_anchors)
        decisions.on_critical(_anchored_now(decisions, anchors))
        probes += [*followers, fact(anchors.health)]
    return Logs(publications, folders, witness, store.blocks, heads, tuple(probes))


def _follow(
    settings: Settings,
    data_dir: Path,
    identity: Identity,
    decisions: DecisionLog,
    policy: WitnessPolicy | None,
    log_blocks: LogBlocks,
    http: Http,
    clock: Clock,
    metrics: Metrics,
    stack: AsyncExitStack,
) -> list[Callable[[], Awaitable[Check]]]:
    """Those who are told of each checkpoint: its blocks, and the witnesses of the policy."""

    async def close_blocks() -> None:
        with contextlib.suppress(NodeError):  # held or suspended: what is published already is all there is
            async with asyncio.timeout(LAST_BLOCKS_TIMEOUT_S):
                await decisions.tile_log.publish()
        await log_blocks.close(LAST_BLOCKS_TIMEOUT_S)

    stack.push_async_callback(close_blocks)
    decisions.on_published(log_blocks.published)
    decisions.on_critical(lambda _place: log_blocks.hasten())
    log_blocks.start()
    checks = [fact(log_blocks.health)]
    if policy is not None and _asks(policy):

        def keys(origin: str) -> list[Verifier]:
            return [signer.verifier for signer in identity.log_signers(origin)]

        witnesses = Witnesses(
            policy,
            lambda: decisions.tile_log,
            keys,
            http,
            clock,
            timeout_s=settings.log.witness_timeout_s,
            evidence=data_dir / "witness" / "evidence",
            count=partial(metrics.count, "cosignatures"),
        )
        stack.push_async_callback(witnesses.close)
        decisions.on_published(witnesses.published)
        witnesses.start()
        checks.append(fact(witnesses.health))
    return checks


async def _anchors(
    settings: Settings,
    data_dir: Path,
    decisions: DecisionLog,
    http: Http,
    clock: Clock,
    version: str,
) -> Anchoring:
    calendars = settings.log.anchor_calendars
    anchor: Anchor = NoAnchor()
    if calendars:
        anchor = OpenTimestamps(calendars, http, clock, block_headers_url=settings.log.block_headers_url)

    async def report(state: AnchorState) -> None:
        entry, private = anchor_entry(
            log=state.origin,
            size=state.size,
            digest=state.digest.hex(),
            calendar=state.service,
            state=state.state,
            policy=version,
            block_height=state.height,
        )
        await decisions.append(entry, private_texts=private)

    return await Anchoring.open(
        data_dir / "anchors",
        anchor,
        clock,
        newest=lambda: decisions.tile_log.published,
        report=report,
        every_s=settings.log.anchor_every_s,
    )


def _anchored_now(decisions: DecisionLog, anchors: Anchoring) -> Callable[[Appended], None]:
    def told(_place: Appended) -> None:
        if (published := decisions.tile_log.published) is not None:
            anchors.now(published)

    return told


def fact(health: Callable[[], Check]) -> Callable[[], Awaitable[Check]]:
    """A probe that needs no asking."""

    async def probe() -> Check:
        return health()

    return probe
