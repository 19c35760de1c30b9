"""What changes a peer's standing, or whose address is polled, in the decision log: who said it, and what.

Promises: what somebody decides is entered before it is done, and where the log refuses and the settings ask
for it (``log.on_failure = refuse``) nothing is done; what protects this node (a root that is dropped) or is
the settings' own word is done in any case. What changes nothing is not entered. Addresses enter as
commitments only: where peers are found is nobody's business but the operator's.
Must not know how standings are kept.
"""

from __future__ import annotations

import logging
from typing import Protocol

from node.audit.decisions.entry import PeerChange, policy_entry
from node.core.errors import NodeError, Unavailable
from node.core.ports import Appended, AuditLog
from node.peers.rules.values import Contact, Standing

log = logging.getLogger("neuroswarm.peers")

OPERATOR, SETTINGS, NODE = "operator", "settings", "node"
"""Who decides: a command or a call of the operator's; the settings at a start; this program by its rules."""


class Unlogged(Protocol):
    """``node.core.metrics.Unlogged``."""

    def failed(self, kind: str, why: object, *, stands: bool) -> None: ...

    def logged(self) -> None: ...


class PeerLedger:
    """``policy`` names the rules in force; ``unlogged`` counts what could not be entered; with
    ``refuse_unlogged`` what the operator says has to be entered to be done."""

    def __init__(
        self,
        decisions: AuditLog,
        policy: str,
        unlogged: Unlogged | None = None,
        *,
        refuse_unlogged: bool = False,
    ) -> None:
        self._decisions = decisions
        self._policy = policy
        self._unlogged = unlogged
        self._refuse_unlogged = refuse_unlogged

    async def stands(self, before: Standing, after: Standing, by: str) -> Appended | None:
        """A root is about to get another level or group. None where neither changes, or where it could not be
        entered. Raises ``Unavailable`` where it then must not be done."""
        if (before.level, before.group) == (after.level, after.group):
            return None
        change = PeerChange(
            by=by,
            root=after.root,
            level=(before.level.value, after.level.value),
            group=(before.group, after.group),
        )
        return await self._enter("peer_standing", change)

    async def followed(self, contact: Contact, by: str) -> Appended | None:
        """An address is about to be polled. Raises ``Unavailable`` as ``stands`` does."""
        return await self._enter("peer_followed", PeerChange(by, contact.root, address=contact.address))

    async def unfollowed(self, contact: Contact, by: str) -> Appended | None:
        """An address is about to be polled no more. Raises ``Unavailable`` as ``stands`` does."""
        return await self._enter("peer_unfollowed", PeerChange(by, contact.root, address=contact.address))

    async def dropped(self, before: Standing, reason: str) -> Appended | None:
        """A root is about to be listened to no more, for ``reason`` (a code). Never raises ``NodeError``."""
        if before.dropped:
            return None
        return await self._enter("peer_dropped", PeerChange(NODE, before.root), reason=reason)

    async def _enter(self, event: str, change: PeerChange, *, reason: str = "") -> Appended | None:
        entry, private = policy_entry(event=event, policy=self._policy, reason=reason, peer=change)
        try:
            place = await self._decisions.append(entry, private_texts=private)
        except NodeError as exc:
            is_refused = self._refuse_unlogged and change.by == OPERATOR
            if self._unlogged is not None:
                self._unlogged.failed("other", exc, stands=not is_refused)
            if is_refused:
                raise Unavailable(f"this could not be logged, so it was not done: {exc}") from exc
            log.warning("event=unlogged what=%s reason=%s", event, exc)
            return None
        if self._unlogged is not None:
            self._unlogged.logged()
        return place
