"""Keeps the store within its size: the records that are worth least make room."""

from __future__ import annotations

from node.ports import Forgets, RecordStore

_BATCH = 256


async def evict(records: RecordStore, index: Forgets | None, *, max_entries: int, max_bytes: int) -> int:
    """Delete records until both limits hold and return how many. Withdrawn records keep their blocks
    until then: they explain older decisions."""
    evicted = 0
    while True:
        counts = await records.counts()
        excess = counts["live"] - max_entries
        if excess <= 0 and counts["bytes"] <= max_bytes:
            return evicted
        removed = await records.reclaim(limit=_BATCH if counts["bytes"] > max_bytes else min(excess, _BATCH))
        if not removed:
            return evicted
        evicted += len(removed)
        if index is not None:
            for cid in removed:
                index.remove(cid)
