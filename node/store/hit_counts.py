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
        self._uses: dict[Cid, int] = {}

    def note(self, cid: Cid, hits: int = 1) -> None:
        """The record was served just now."""
        known = self._uses.get(cid)
        if known is not None:
            self._uses[cid] = known + hits
        elif len(self._uses) < TALLY_MAX:
            self._uses[cid] = hits

    async def flush(self) -> int:
        """Write what was counted, as of now, and return of how many records. A store that cannot be written
        now is no failure of anything: the counts wait for the next time."""
        uses, self._uses = self._uses, {}
        if not uses:
            return 0
        try:
            at_s = int(self._clock.now().timestamp())
            await self._records.note_uses([Use(cid, hits, at_s) for cid, hits in uses.items()])
        except NodeError as exc:
            _log.warning("event=uses_not_noted records=%d reason=%s", len(uses), exc)
            for cid, hits in uses.items():
                self.note(cid, hits)
            return 0
        return len(uses)
