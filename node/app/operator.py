"""What an operator does with a data directory: by the socket of a running node, or alone while none runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

from node.app.ipfs import Ipfs, open_ipfs
from node.app.operator_desk import LaterSemantics, OperatorDesk
from node.app.peers import Links, admitter_of, desk_of, forget_held, ledger_of, open_store, published_size
from node.app.storage import EXPORT, VERSION, Ground, into_log, is_personal, open_ground, router_of
from node.app.transfer.cache_file import CacheFile
from node.app.transfer.car_file import CarFile
from node.app.transfer.portable import drop
from node.audit.decisions.rotation import KeyRotation
from node.audit.recorder import Recorder
from node.cache.keys import keyword_key, same_question
from node.cache.quality.labelling import Labels
from node.cache.quality.refuted_answers import RefutedAnswers
from node.core.clock import Clock, SystemClock
from node.core.metrics import Metrics, Unlogged
from node.core.settings import Settings
from node.peers.rules.admission import ADMISSION_REASONS
from node.peers.rules.values import PEER_TIERS
from node.peers.sync.desk import PeerDesk
from node.pipeline.invalidation import Invalidator
from node.pipeline.understanding.route import Router
from node.store.imported_blocks import WithForeign
from node.store.remember import Rememberer
from node.store.retention.erase import Eraser
from node.store.retention.erasure import Erasure
from node.store.state import StateStore
from node.store.write_back import WriteBack


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[OperatorDesk]:
    """The operator's desk of a data directory that no node uses now. Vectors are made at the next start.
    Raises ``Misconfigured`` where a node does use it, ``CorruptState``, ``Unavailable``."""
    clock = SystemClock()
    async with AsyncExitStack() as stack:
        ground = await open_ground(settings, clock, stack)
        store, decisions = ground.store, ground.decisions
        metrics = Metrics(ADMISSION_REASONS, PEER_TIERS)
        rememberer = Rememberer(
            store.records,
            LaterSemantics(),
            ground.identity,
            clock,
            WriteBack(settings.cache.write_queue_max),
            keyword_key=keyword_key,
            report=into_log(decisions, metrics),
            same_question=same_question,
            is_personal=is_personal,
        )
        router = router_of(settings, ground.adapters)
        ipfs = await open_ipfs(settings, ground.data_dir, ground.identity, ground.store, None, clock, stack)

        async def drop_copies() -> None:
            """Of records and their vectors; the next node makes them anew."""
            await drop(ground.data_dir / EXPORT)
            for file in await asyncio.to_thread(list, (ground.data_dir / "index").glob("*")):
                await drop(file)

        labels = await Labels.open(ground.data_dir / "labels.sqlite", clock, store.mark)
        stack.push_async_callback(labels.close)
        refuted = await RefutedAnswers.open(ground.data_dir / "refuted.sqlite", store.records, None, clock)
        stack.push_async_callback(refuted.close)
        state = await StateStore.open(ground.data_dir / "state.sqlite")
        stack.push_async_callback(state.close)
        ledger = ledger_of(settings, decisions, metrics, VERSION)
        peer_store = await open_store(settings, ground.data_dir, state, clock, stack, ledger)
        eraser = Eraser(
            store.records,
            WithForeign(store.blocks, ipfs.foreign.blocks),
            rememberer,
            decisions,
            (store.scrub, ipfs.foreign.scrub, labels.scrub, peer_store.scrub, refuted.scrub),
            (labels.forget, refuted.forget, partial(forget_held, peer_store)),
            copies=(drop_copies,),
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
            ledger,
        )
        yield operator_desk(
            settings, ground, ipfs, rememberer, eraser, router, clock, metrics.unlogged, peers, refuted
        )


def operator_desk(
    settings: Settings,
    ground: Ground,
    ipfs: Ipfs,
    rememberer: Rememberer,
    eraser: Eraser,
    router: Router,
    clock: Clock,
    unlogged: Unlogged,
    peers: PeerDesk,
    refuted: RefutedAnswers,
) -> OperatorDesk:
    """All that the operator's commands do, over what is open."""
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
            Recorder(decisions, unlogged, refuses=settings.log.on_failure == "refuse"),
            clock,
            VERSION,
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
            forget_question=refuted.forget_question,
        ),
        peers,
    )
