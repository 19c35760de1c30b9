"""Withdraws records whose time is over. Serving checks expiry by itself; this keeps the store small."""

from __future__ import annotations

from node.core.clock import Clock
from node.core.ports import Forgets, RecordStore

_PAGE = 1_000


async def sweep(records: RecordStore, index: Forgets | None, clock: Clock, *, grace_s: int) -> int:
    """Withdraw everything expired for longer than ``grace_s`` (the time in which it may still be
    served marked as stale) and return how many."""
    swept = 0
    while page := await records.expire(clock.now(), grace_s=grace_s, limit=_PAGE):
        swept += len(page)
        if index is not None:
            for cid in page:
                index.remove(cid)
        if len(page) < _PAGE:
            break
    return swept
