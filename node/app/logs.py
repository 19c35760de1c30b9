"""The composition root's part for the logs: built in order, left in reverse order by the caller's stack.

The decision log opens before everything that decides. The publications log, our witness, others' witnesses,
anchors and the blocks of the log stand beside it; none of them is awaited by an answer.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from node.api.logs import Served
from node.app.data_files import renewed
from node.app.restored import ASK_EVERY_S, RestoredLogs, held
from node.app.storage import VERSION, Ground, Probe, asks, copies_of, fact, keys_of, policy_of
from node.audit.anchors import anchoring
from node.audit.anchors.anchor import Anchor, AnchorState, NoAnchor
from node.audit.anchors.anchoring import Anchoring
from node.audit.anchors.opentimestamps import OpenTimestamps
from node.audit.decisions import epochs
from node.audit.decisions.entry import anchor_entry
from node.audit.decisions.keeper import Bounds, EpochKeeper
from node.audit.decisions.log import DecisionLog
from node.audit.log.archive import archives_of
from node.audit.log.writer import Pace, TileLog
from node.audit.tlog.policy import WitnessPolicy
from node.audit.upkeep.away import Away
from node.audit.upkeep.cold import TICK_S, ColdSweep
from node.audit.upkeep.offline import make_ready
from node.audit.upkeep.upkeep import Upkeep
from node.audit.witnesses.cosigning import Witnesses
from node.audit.witnesses.ours import Witness
from node.core.errors import NodeError
from node.core.ipld.cid import Cid
from node.core.ports import Appended, BlockStore, Gets
from node.core.record import DECISIONS, PUBLICATIONS
from node.core.scheduler import Scheduler
from node.ipfs.kubo import KuboBlockStore
from node.ipfs.log_blocks import LogBlocks
from node.ipfs.log_copy import BlockCopy
from node.store.sqlite import SqliteStore
from node.store.writer import SqliteFile

PUBLICATIONS_SIGNED = "publications.signed"
"""Below ``keys``: the newest note that was signed for the publications log."""
PUBLICATIONS_BLOCKS_EVERY_S = 30.0
"""How far its blocks may lag behind the log that peers read; as far as the head that leads to them."""
LAST_BLOCKS_TIMEOUT_S = 2.0
"""How long the stop waits for the log's last blocks; what is missing then follows after the next start."""


@dataclass(frozen=True, slots=True)
class Logs:
    """What serves, cosigns and anchors. ``publications``: the log of what this node shares; ``folders``: the
    logs that are served, by name; ``blocks``: what they were made into; ``heads``: the newest head of those
    blocks, by log; ``keeper``: of the decision log's epochs, None where that is not on the disk; ``away``:
    where such epochs were moved to; ``file``: where the blocks lie."""

    publications: TileLog
    folders: Mapping[str, Served]
    witness: Witness
    blocks: BlockStore
    heads: Mapping[str, Callable[[], Cid | None]]
    probes: tuple[Probe, ...]
    keeper: EpochKeeper | None
    away: Away
    file: SqliteFile


async def open_logs(
    ground: Ground,
    daemon: KuboBlockStore | None,
    scheduler: Scheduler,
) -> Logs:
    """What stands beside the decision log. Raises ``CorruptState``, ``Unavailable``, ``Misconfigured``."""
    settings, data_dir, identity, clock = ground.settings, ground.data_dir, ground.identity, ground.clock
    stack, decisions = ground.stack, ground.decisions
    policy = await policy_of(settings)
    folder = data_dir / "publications"
    publications = await _publications(ground, folder)
    stack.push_async_callback(publications.close)
    witness = await Witness.open(
        data_dir / "witness",
        partial(identity.witness_signers, is_ml_dsa=settings.log.witness_ml_dsa),
        [] if policy is None else [line.verifier for line in policy.logs],
        clock,
        count=partial(ground.metrics.count, "witness_requests"),
    )
    stack.push_async_callback(witness.close)
    # Apart from the cache's blocks: a growing log must not drive answers out of them.
    path = data_dir / "log_blocks.sqlite"
    keys_of = data_dir / "keys" / "log_block_keys"  # never made: no records, nothing private
    store, _ = await renewed(
        path, clock, lambda: SqliteStore.open(path, own_issuer=identity.root, keys=keys_of)
    )
    stack.push_async_callback(store.close)

    shrink = partial(_shrink, store)
    made = LogBlocks(
        folder,
        store.blocks,
        data_dir / "publications_blocks.json",
        clock,
        daemon=daemon,
        every_s=PUBLICATIONS_BLOCKS_EVERY_S,
        compact=shrink,
    )
    stack.push_async_callback(made.close, LAST_BLOCKS_TIMEOUT_S / 2)
    publications.on_published(made.published)
    await made.start()
    served, probe = await _whole(ground, folder, lambda: publications, made, _stored(store, daemon))
    folders, public = {"publications": served}, made.blocks
    heads: dict[str, Callable[[], Cid | None]] = {"publications": lambda: made.head}
    probes = [
        fact(lambda: replace(publications.health(), name="log:publications")),
        fact(witness.health),
        fact(lambda: replace(made.health(), name="log:publications:blocks")),
        probe,
    ]
    keeper: EpochKeeper | None = None
    away = Away(archives_of(settings.archive))
    if isinstance(decisions, DecisionLog):
        blocks = LogBlocks(
            decisions.directory,
            made.blocks,
            data_dir / "log_blocks.json",
            clock,
            daemon=daemon,
            compact=shrink,
            archives=archives_of(settings.archive),
        )
        public = blocks.blocks
        heads["decisions"] = lambda: blocks.head
        folders["decisions"], probe = await _whole(
            ground, decisions.directory, lambda: decisions.tile_log, blocks, _stored(store, daemon)
        )
        probes.append(probe)
        probes += await _follow(ground, decisions, policy, blocks)
        probes.append(await _anchored(ground, decisions, scheduler))
        keeper = _keeper(ground, decisions, blocks)
        probes += [fact(keeper.health), fact(away.health)]
        cold = _cold(ground, folders["decisions"], away)
        scheduler.every(TICK_S, "look_at_archive", cold.tick)
        scheduler.soon("look_at_archive_first", cold.tick)
    if held(data_dir):
        probes.append(_after_restore(ground, publications, policy, scheduler))
    return Logs(publications, folders, witness, public, heads, tuple(probes), keeper, away, store.file)


async def _shrink(store: SqliteStore) -> None:
    row = await store.file.row(
        "SELECT freelist_count, page_count FROM pragma_freelist_count, pragma_page_count"
    )
    if row is not None and row[0] * 2 > row[1]:  # else it is still as large as what the other log stored
        await store.file.compact()


def _keeper(ground: Ground, decisions: DecisionLog, blocks: LogBlocks) -> EpochKeeper:
    """Of the decision log's epochs. Raises ``Misconfigured``."""
    own, log, disk = ground.settings.archive, ground.settings.log, ground.settings.disk
    return EpochKeeper(
        decisions,
        ground.clock,
        Bounds(log.epoch_bytes, log.epoch_days, own.epochs_here, disk.log_bytes, disk.cold_bytes),
        archives_of(own)(own.to) if own.to else None,
        followed=lambda: blocks.epoch,
        is_clock_sure=lambda: ground.clock.doubt is None,
    )


def _cold(ground: Ground, served: Served, away: Away) -> ColdSweep:
    """Of the epochs that were moved away. Raises ``Misconfigured``."""
    own = ground.settings.archive
    return ColdSweep(
        served.directory,
        served.folder,
        partial(epochs.high_water, ground.data_dir / "keys"),
        away,
        away.archives(own.to) if own.to else None,
        ground.clock,
        own.check_days,
    )


def _after_restore(
    ground: Ground, publications: TileLog, policy: WitnessPolicy | None, scheduler: Scheduler
) -> Probe:
    """Whoever asks peers what they hold of our logs, until these may sign."""
    settings, decisions = ground.settings, ground.decisions
    logs: dict[str, Callable[[], TileLog]] = {PUBLICATIONS: lambda: publications}
    if isinstance(decisions, DecisionLog):
        logs[DECISIONS] = lambda: decisions.tile_log
    restored = RestoredLogs(
        ground.data_dir,
        logs,
        ground.identity,
        settings.peers.urls,
        ground.http,
        ground.clock,
        timeout_s=settings.peers.timeout_s,
        witnesses_ask=policy is not None and asks(policy),
    )
    scheduler.every(ASK_EVERY_S, "ask_after_restore", restored.tick)
    scheduler.soon("ask_after_restore_first", restored.tick)
    return restored.probe


async def _publications(ground: Ground, folder: Path) -> TileLog:
    """Raises ``CorruptState``, ``Unavailable``."""
    settings, identity, clock = ground.settings, ground.identity, ground.clock
    signed = ground.data_dir / "keys" / PUBLICATIONS_SIGNED
    copies = copies_of(settings, ground.http, clock)
    await make_ready(folder, keys_of(identity), lambda _epoch: signed, copies, clock)
    return await TileLog.open(
        folder,
        identity.publications_origin,
        identity.log_signers(identity.publications_origin),
        clock,
        high_water=signed,
        pace=Pace(every_s=settings.log.publish_every_s, is_held=PUBLICATIONS in held(ground.data_dir)),
    )


def _stored(store: SqliteStore, daemon: KuboBlockStore | None) -> list[Gets]:
    """Where blocks of a log lie that do not come out of its folder."""
    return [store.blocks] if daemon is None else [store.blocks, daemon]


async def _whole(
    ground: Ground, folder: Path, live: Callable[[], TileLog], made: LogBlocks, stored: Sequence[Gets]
) -> tuple[Served, Probe]:
    """Look after a log's files from here on: what it is served with, and how it is."""
    keys, verifiers = ground.data_dir / "keys", keys_of(ground.identity)
    is_decisions = folder != ground.data_dir / "publications"

    def high_water(epoch: int) -> Path:
        return epochs.high_water(keys, epoch) if is_decisions else keys / PUBLICATIONS_SIGNED

    upkeep = Upkeep(
        "log:files" if is_decisions else "log:publications:files",
        folder,
        live,
        verifiers,
        high_water,
        [
            *copies_of(ground.settings, ground.http, ground.clock),
            BlockCopy(lambda: made.head, made.blocks, stored),
        ],
        ground.clock,
    )
    ground.stack.push_async_callback(upkeep.close)
    made.blocks.mend = upkeep.mend
    await upkeep.start()
    return Served(folder, verifiers, upkeep.mend), fact(upkeep.health)


async def _follow(
    ground: Ground, decisions: DecisionLog, policy: WitnessPolicy | None, blocks: LogBlocks
) -> list[Probe]:
    """Those who are told of each checkpoint: its blocks, and the witnesses of the policy."""

    async def close_blocks() -> None:
        with contextlib.suppress(NodeError):  # held or suspended: what is published already is all there is
            async with asyncio.timeout(LAST_BLOCKS_TIMEOUT_S):
                await decisions.tile_log.publish()
        await blocks.close(LAST_BLOCKS_TIMEOUT_S)

    ground.stack.push_async_callback(close_blocks)
    decisions.on_published(blocks.published)
    decisions.on_critical(lambda _place: blocks.hasten())
    await blocks.start()
    if policy is None or not asks(policy):
        return [fact(blocks.health)]

    witnesses = Witnesses(
        policy,
        lambda: decisions.tile_log,
        keys_of(ground.identity),
        ground.http,
        ground.clock,
        timeout_s=ground.settings.log.witness_timeout_s,
        evidence=ground.data_dir / "witness" / "evidence",
        count=partial(ground.metrics.count, "cosignatures"),
    )
    ground.stack.push_async_callback(witnesses.close)
    decisions.on_published(witnesses.published)
    witnesses.start()
    return [fact(blocks.health), fact(witnesses.health)]


async def _anchored(ground: Ground, decisions: DecisionLog, scheduler: Scheduler) -> Probe:
    """Anchors of checkpoints outside; critical entries are anchored at once."""
    own, clock = ground.settings.log, ground.clock
    anchor: Anchor = NoAnchor()
    if own.anchor_calendars:
        anchor = OpenTimestamps(
            own.anchor_calendars, ground.http, clock, block_headers_url=own.block_headers_url
        )

    async def report(state: AnchorState) -> None:
        entry, private = anchor_entry(
            log=state.origin,
            size=state.size,
            digest=state.digest.hex(),
            calendar=state.service,
            state=state.state,
            policy=VERSION,
            block_height=state.height,
        )
        await decisions.append(entry, private_texts=private)

    anchors = await Anchoring.open(
        ground.data_dir / "anchors",
        anchor,
        clock,
        newest=lambda: decisions.tile_log.published,
        report=report,
        every_s=own.anchor_every_s,
    )
    ground.stack.push_async_callback(anchors.close)

    async def look_after_anchors() -> None:
        await anchors.tick()
        ground.metrics.set(**anchors.numbers())

    def now(_place: Appended) -> None:
        if (published := decisions.tile_log.published) is not None:
            anchors.now(published)

    scheduler.every(anchoring.TICK_S, "anchor", look_after_anchors)
    decisions.on_critical(now)
    return fact(anchors.health)
