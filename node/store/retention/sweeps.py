"""Keeps the store small: records whose time is over are withdrawn, and those worth least make room
(``record_rules``, rule 7). Serving checks expiry by itself."""

from __future__ import annotations

import logging

import orjson

from node.core.clock import Clock
from node.core.ports import RecordStore, Semantics
from node.store import overwritten
from node.store.sqlite import SqliteStore
from node.store.state import StateStore

_log = logging.getLogger("neuroswarm.sweeps")
_NOTES = "withdrawn-notes"

_PAGE = 1_000
_BATCH = 256


async def sweep(records: RecordStore, index: Semantics, clock: Clock, *, grace_s: int) -> int:
    """Withdraw everything expired for longer than ``grace_s`` (the time in which it may still be
    served marked as stale) and return how many. Nothing while the clock is in doubt."""
    swept = 0
    while clock.doubt is None and (page := await records.expire(clock.now(), grace_s=grace_s, limit=_PAGE)):
        swept += len(page)
        for cid in page:
            index.remove(cid)
        if len(page) < _PAGE:
            break
    return swept


async def evict(
    records: RecordStore, index: Semantics, clock: Clock, *, max_entries: int, max_bytes: int
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
        for cid in removed:
            index.remove(cid)


async def scrub_withdrawn(store: SqliteStore, state: StateStore, clock: Clock, *, kept_s: int) -> int:
    """Take the texts of answers off the disk that were withdrawn more than ``kept_s`` ago; how many.
    None while the clock is in doubt."""
    if clock.doubt is not None:
        return 0
    notes = _read_notes(await state.get_meta(_NOTES))
    change, now_s = await store.records.last_change(), int(clock.now().timestamp())
    notes, until = overwritten.noted(notes, now_s, change, kept_s)
    await state.set_meta(_NOTES, orjson.dumps(notes).decode())
    gone = 0
    while until and (page := await store.records.reclaim_withdrawn(until, limit=_BATCH)):
        gone += len(page)
    if gone:
        await store.scrub()
    return gone


def _read_notes(text: str | None) -> list[overwritten.Note]:
    try:
        return [(int(at), int(change)) for at, change in orjson.loads(text or "[]")]
    except (orjson.JSONDecodeError, TypeError, ValueError) as exc:
        _log.warning("event=withdrawn_notes_unreadable reason=%s", exc)
        return []
