"""Invalidation: withdraw for good whatever a selection names, each record by its own signed tombstone.

Promises: bounded work in one call; each record that is withdrawn is entered in the decision log first,
leaves a tombstone, and is forgotten by the index; a dry run changes nothing. Must not know: who asks, and
what they may select.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from node.core.ports import BlockRef, RecordStore, Selection
from node.store.record_rules import LIMIT_MAX
from node.store.remember import Rememberer

WITHDRAWN_MAX = 1_000
"""Records in one call; whoever has more calls again, for what is withdrawn is not selected any more."""
SHOWN_MAX = 100
_AT_ONCE = 64

Enter = Callable[[BlockRef], Awaitable[object]]
"""A record is about to be withdrawn: enter it in the decision log. What it raises stops that record."""


@dataclass(frozen=True, slots=True)
class Invalidated:
    """``matched``: live answers that fitted; ``withdrawn`` of them; ``cids``: the first of either."""

    matched: int
    withdrawn: int
    cids: tuple[str, ...]


async def invalidate(
    records: RecordStore,
    rememberer: Rememberer,
    enter: Enter,
    selection: Selection,
    *,
    dry_run: bool,
    reason: str = "invalidated",
    most: int = WITHDRAWN_MAX,
) -> Invalidated:
    """Withdraw the first ``most`` of what ``selection`` names. Raises ``Rejected`` for a selection
    that names nothing, ``Unavailable``."""
    chosen: list[BlockRef] = []
    matched = after = 0
    while page := await records.select(selection, after=after, limit=LIMIT_MAX):
        chosen += page[: most - len(chosen)]
        matched += len(page)
        after = page[-1].number
    shown = tuple(str(ref.cid) for ref in chosen[:SHOWN_MAX])
    if dry_run:
        return Invalidated(matched, 0, shown)
    for start in range(0, len(chosen), _AT_ONCE):
        batch = chosen[start : start + _AT_ONCE]
        await asyncio.gather(*(_bury(rememberer, enter, ref, reason) for ref in batch))
    return Invalidated(matched, len(chosen), shown)


async def _bury(rememberer: Rememberer, enter: Enter, ref: BlockRef, reason: str) -> None:
    await enter(ref)
    await rememberer.bury_at(ref.cid, ref.scope, reason)
