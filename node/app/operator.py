"""What an operator does with a data directory: by the socket of a running node, or alone while none runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

from node.app.access import KeyDesk, open_keys
from node.app.clock import accept
from node.app.documents import open_documents
from node.app.guard import guard_of
from node.app.ipfs import Ipfs, open_ipfs
from node.app.links import Links
from node.app.memory import Kept, open_kept
from node.app.operator_desk import LaterSemantics, OperatorDesk
from node.app.peers import Known, admitter_of, desk_of, ledger_of, open_store, published_size
from node.app.reach import Reach
from node.app.storage import EXPORT, VERSION, Ground, open_ground, router_of
from node.app.transfer.cache_file import CacheFile
from node.app.transfer.car_file import CarFile
from node.app.transfer.kept_export import drop, keep_lost
from node.audit.decisions.rotation import KeyRotation
from node.core.clock import SystemClock
from node.core.settings import Settings
from node.knowledge.desk import DocumentDesk
from node.peers.sync.desk import PeerDesk
from node.pipeline.invalidation import Invalidator
from node.pipeline.understanding.route import Router
from node.store.retention.erase import Eraser
from node.store.retention.erasure import Erasure


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[OperatorDesk]:
    """The operator's desk of a data directory that no node uses now. Vectors are made at the next start.
    Raises ``Misconfigured`` where a node does use it, ``CorruptState``, ``Unavailable``."""
    async with AsyncExitStack() as stack:
        ground = await open_ground(settings, SystemClock(), stack)
        clock = ground.clock
        semantics = LaterSemantics()
        ipfs = await open_ipfs(ground, None)
        kept = await open_kept(ground, semantics, None)

        async def drop_copies() -> None:
            """Of records and their vectors; the next node makes them anew."""
            await keep_lost(ground.data_dir / EXPORT, guard_of(ground)[0].lost)
            await drop(ground.data_dir / EXPORT)
            for file in await asyncio.to_thread(list, (ground.data_dir / "index").rglob("*.*")):
                await drop(file)

        ledger = ledger_of(ground)
        peer_store = await open_store(settings, ground.data_dir, ground.state, clock, stack, ledger)
        eraser = kept.eraser(ground, ipfs.foreign, peer_store, drop_copies)
        router = router_of(settings, ground.adapters)
        admitter = admitter_of(ground, peer_store, semantics, router, ledger)
        links = Links(settings, ground.http, ipfs.names, None, clock)
        known = Known(peer_store, admitter, links, ledger)
        peers, _ = desk_of(ground, known, None, partial(published_size, ground.data_dir))
        keys = KeyDesk(await open_keys(ground))
        library = await open_documents(ground, semantics, kept.backups.note_erased)
        reach = Reach.of(ground, kept.backups)
        yield operator_desk(ground, ipfs, kept, eraser, router, peers, keys, reach, library.desk)


def operator_desk(
    ground: Ground,
    ipfs: Ipfs,
    kept: Kept,
    eraser: Eraser,
    router: Router,
    peers: PeerDesk,
    keys: KeyDesk,
    reach: Reach,
    documents: DocumentDesk,
) -> OperatorDesk:
    """All that the operator's commands do, over what is open."""
    records, decisions, clock = ground.store.records, ground.decisions, ground.clock
    return OperatorDesk(
        CacheFile(records, kept.rememberer, router, clock, publish=ground.settings.sharing.publish),
        Invalidator(records, kept.rememberer, eraser, ground.recorder, clock, VERSION),
        KeyRotation(ground.identity, decisions, records, clock, VERSION, ipfs.leave_name),
        CarFile(ipfs.foreign, ipfs.names, records, clock),
        Erasure(
            records,
            eraser,
            ipfs.foreign,
            ground.recorder,
            VERSION,
            forget_question=kept.refuted.forget_question,
        ),
        kept.backups,
        reach,
        peers,
        keys,
        documents,
        ground.data_dir,
        lambda: accept(clock, ground.data_dir, ground.recorder, VERSION),
    )
