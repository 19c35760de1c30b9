"""Keeps the store small: records whose time is over are withdrawn, and those worth least make room
(``record_rules``, rule 7). Serving checks expiry by itself."""

from __future__ import annotations

from node.core.clock import Clock
from node.core.ports import Forgets, RecordStore

_PAGE = 1_000
_BATCH = 256


async def sweep(records: RecordStore, index: Forgets | None, clock: Clock, *, grace_s: int) -> int:
    """Withdraw everything expired for longer than ``grace_s`` (the time in which it may still be
    served marked as stale) and return how many. Nothing while the clock is in doubt."""
    swept = 0
    while clock.doubt is None and (page := await records.expire(clock.now(), grace_s=grace_s, limit=_PAGE)):
        swept += len(page)
        if index is not None:
            for cid in page:
                index.remove(cid)
        if len(page) < _PAGE:
            break
    return swept


async def evict(
    records: RecordStore, index: Forgets | None, clock: Clock, *, max_entries: int, max_bytes: int
) -> int:
    """Delete records until both limits hold and return how many. Withdrawn and merged records keep their
    blocks until then: they explain older decisions. None counts as expired while the clock is in doubt."""
    evicted, live, least = 0, -1, 1
    while True:
        counts = await records.counts()
        excess = counts["live"] - max_entries
        if excess <= 0 and counts["bytes"] <= max_bytes:
            return evicted
        # While withdrawn ones go first, one by one would be a commit for each of them.
        least = 2 * least if counts["live"] == live else 1
        live = counts["live"]
        limit = _BATCH if counts["bytes"] > max_bytes else min(max(excess, least), _BATCH)
        now = clock.now() if clock.doubt is None else None
        removed = await records.reclaim(now=now, limit=limit)
        if not removed:
            return evicted
        evicted += len(removed)
        if index is not None:
            for cid in removed:
                index.remove(cid)
