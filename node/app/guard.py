"""The composition root's part for the store's guard: what it knows of, and when it looks."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from pathlib import Path

from node.app.data_files import drop_kept_wal
from node.app.storage import EXPORT, Ground
from node.app.transfer import kept_export
from node.audit.decisions.log import DecisionLog
from node.core.errors import NodeError
from node.core.ipld.cid import Cid
from node.store.guard import StoreGuard
from node.store.scan import StoreScan

log = logging.getLogger("neuroswarm")

MARK_EVERY_S = 5


async def open_guard(ground: Ground) -> StoreGuard:
    """Look at the store before anything is stored, begin to read it beside the road, and note at the end how
    far it came. Raises ``Unavailable``."""
    guard, scan = guard_of(ground)
    loss = await guard.look(partial(exported_cids, ground.data_dir), is_torn=bool(ground.torn))
    if loss is None:
        await asyncio.to_thread(drop_kept_wal, ground.torn)
    ground.store.file.on_damage = scan.soon

    async def last_mark() -> None:
        try:
            await guard.mark()
        except NodeError as exc:
            log.warning("how far the store has come was not noted: %s", exc)

    ground.stack.push_async_callback(last_mark)
    ground.stack.push_async_callback(scan.close)
    scan.start()
    return guard


def guard_of(ground: Ground) -> tuple[StoreGuard, StoreScan]:
    """One that nothing was begun of."""
    scan = StoreScan(ground.store.file.path, ground.store.duty.keys, ground.clock)
    log = ground.decisions if isinstance(ground.decisions, DecisionLog) else None
    return StoreGuard(ground.store, ground.data_dir, scan, ground.clock, log), scan


async def exported_cids(folder: Path) -> list[Cid]:
    """The records that the export names, and what was kept beside it. Raises ``Unavailable``."""
    export = folder / EXPORT
    paths = (export, kept_export.kept_beside(export))
    found = [await asyncio.to_thread(kept_export.entries, path) for path in paths]
    return list(dict.fromkeys(cid for entries in found for cid, _ in entries))
