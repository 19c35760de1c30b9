"""What is decided about peers in the decision log: standings, who is polled, what of theirs is not served.

Promises: what somebody decides is entered before it is done, and where the log refuses and the settings ask
for it (``log.on_failure = refuse``) nothing is done; what protects this node (a root that is dropped, a
record in quarantine) or is the settings' own word is done in any case. What changes nothing is not entered. A
quarantine is entered once for each root and reason in an hour, ``PER_HOUR`` times in all, so that a flood of
records does not become a flood of entries. Addresses enter as commitments only: where peers are found is
nobody's business but the operator's.
Must not know how standings are kept.
"""

from __future__ import annotations

from collections import OrderedDict

from node.audit.decisions.entry import PeerChange, policy_entry, quarantine_entry
from node.audit.recorder import Recorder
from node.core.caller import SCOPE_PUBLIC
from node.core.clock import Clock
from node.core.ipld.cid import Cid
from node.core.ports import Appended
from node.peers.rules.values import Contact, Standing

OPERATOR, SETTINGS, NODE = "operator", "settings", "node"
"""Who decides: a command or a call of the operator's; the settings at a start; this program by its rules."""

HOUR_S = 3_600.0
PER_HOUR = 256


class PeerLedger:
    """``policy`` names the rules in force. Use from one event loop."""

    def __init__(self, recorder: Recorder, clock: Clock, policy: str) -> None:
        self._recorder = recorder
        self._clock = clock
        self._policy = policy
        self._quarantined: OrderedDict[tuple[str, str], float] = OrderedDict()

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

    async def quarantined(self, root: str, cid: Cid, reason: str) -> None:
        """``cid`` of this root is not, or no longer, in service, for ``reason`` (a code). Never raises
        ``NodeError``."""
        now = self._clock.monotonic()
        while self._quarantined and next(iter(self._quarantined.values())) <= now - HOUR_S:
            self._quarantined.popitem(last=False)
        if (root, reason) in self._quarantined or len(self._quarantined) >= PER_HOUR:
            return
        self._quarantined[(root, reason)] = now
        entry, private = quarantine_entry(
            target=str(cid), reason=reason, scope=SCOPE_PUBLIC, policy=self._policy
        )
        await self._recorder.enter(entry, private, is_done=True)

    async def _enter(self, event: str, change: PeerChange, *, reason: str = "") -> Appended | None:
        entry, private = policy_entry(event=event, policy=self._policy, reason=reason, peer=change)
        said = "this could not be logged, so it was not done"
        done = await self._recorder.enter(entry, private, is_done=change.by != OPERATOR, said=said)
        return done.place
