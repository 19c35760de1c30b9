"""Quarantine in the decision log: that something of a root was refused or taken out of service, and why.

Promises: one entry for each root and reason in an hour, and at most ``PER_HOUR`` in all, so that a flood of
records does not become a flood of entries; a log that fails stops no admission.
"""

from __future__ import annotations

import logging
from collections import OrderedDict

from node.audit.decisions.entry import quarantine_entry
from node.core.clock import Clock
from node.core.errors import NodeError
from node.core.ipld.cid import Cid
from node.core.model import SCOPE_PUBLIC
from node.core.ports import AuditLog

log = logging.getLogger("neuroswarm.peers")

HOUR_S = 3_600.0
PER_HOUR = 256


class Quarantine:
    """Use from one event loop."""

    def __init__(self, decisions: AuditLog, clock: Clock, policy: str) -> None:
        self._decisions = decisions
        self._clock = clock
        self._policy = policy
        self._noted: OrderedDict[tuple[str, str], float] = OrderedDict()

    async def note(self, root: str, cid: Cid, reason: str) -> None:
        """``cid`` of this root is not, or no longer, in service, for ``reason`` (a code). Never raises."""
        now = self._clock.monotonic()
        while self._noted and next(iter(self._noted.values())) <= now - HOUR_S:
            self._noted.popitem(last=False)
        if (root, reason) in self._noted or len(self._noted) >= PER_HOUR:
            return
        self._noted[(root, reason)] = now
        entry, private = quarantine_entry(
            target=str(cid), reason=reason, scope=SCOPE_PUBLIC, policy=self._policy
        )
        try:
            await self._decisions.append(entry, private_texts=private)
        except NodeError as exc:
            log.warning("a quarantine is not in the decision log: %s", exc)
