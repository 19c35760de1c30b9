"""How often records are served, counted in memory and written every few seconds in one commit.

Promises: counting costs no I/O; memory is bounded (what finds no room is not counted); what was counted
since the last flush is lost when the process dies, and that is fine: it only orders what is evicted.
"""

from __future__ import annotations

import logging

from node.core.clock import Clock
from node.core.errors import NodeError
from node.core.ipld.cid import Cid
from node.core.ports import RecordStore, Use

_log = logging.getLogger(__name__)

TALLY_MAX = 10_000
"""Records between two flushes; also the most that a store takes at once."""


class UseTally:
    """Use from one event loop."""

    def __init__(self, records: RecordStore, clock: Clock) -> None:
        self._records = records
        self._clock = clock
        self._uses: dict[Cid, list[int]] = {}
        """Hits, and the second of the last."""

    def note(self, cid: Cid) -> None:
        """The record was served just now."""
        self._count(cid, 1, int(self._clock.now().timestamp()))

    def _count(self, cid: Cid, hits: int, at_s: int) -> None:
        known = self._uses.get(cid)
        if known is not None:
            known[0] += hits
            known[1] = max(known[1], at_s)
        elif len(self._uses) < TALLY_MAX:
            self._uses[cid] = [hits, at_s]

    async def flush(self) -> int:
        """Write what was counted and return of how many records. A store that cannot be written now is no
        failure of anything: the counts wait for the next time."""
        uses, self._uses = self._uses, {}
        if not uses:
            return 0
        try:
            await self._records.note_uses([Use(cid, hits, at_s) for cid, (hits, at_s) in uses.items()])
        except NodeError as exc:
            _log.warning("event=uses_not_noted records=%d reason=%s", len(uses), exc)
            for cid, (hits, at_s) in uses.items():
                self._count(cid, hits, at_s)
            return 0
        return len(uses)
