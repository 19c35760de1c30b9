"""Changes a key of this node while it runs: new key, certificates, checkpoint, last word, files, leaf, in
this order.

Promises: nothing is refused meanwhile; the log's origin stays; a checkpoint that both keys have signed is
durable before the new key takes the old one's place, so that whoever knows the old key is led over; a crash
at any point leaves keys that fit the log; rotations wait for each other.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from node.audit.decisions.entry import key_entry
from node.core.clock import Clock
from node.core.errors import BadInput, NodeError, Unavailable
from node.core.identity import Identity
from node.core.key_ring import Rotation
from node.core.ports import Appended, AuditLog, RecordStore
from node.core.record import DECISIONS, USES, block_of

log = logging.getLogger("neuroswarm.keys")


@dataclass(frozen=True, slots=True)
class Rotated:
    """What was done. ``decision`` is the leaf that says so, None where it could not be logged."""

    rotation: Rotation
    old_vkey: str
    new_vkey: str
    decision: Appended | None


class KeyRotation:
    """One per identity. ``leaving`` is entered before the new key is put in its place and left once that is
    done or has failed: for what the old key has to say last. What it raises on entry fails the rotation."""

    def __init__(
        self,
        identity: Identity,
        decisions: AuditLog,
        records: RecordStore,
        clock: Clock,
        policy: str,
        leaving: Callable[[Rotation], AbstractAsyncContextManager[None]],
    ) -> None:
        self._identity = identity
        self._decisions = decisions
        self._records = records
        self._clock = clock
        self._policy = policy
        self._leaving = leaving
        self._one_at_a_time = asyncio.Lock()

    async def rotate(self, use: str, *, drop_old: bool = False) -> Rotated:
        """Give ``use`` (node, decisions, publications, witness) a new key. The old one signs on for its
        overlap, or with ``drop_old`` not at all. Raises ``BadInput``, ``Misconfigured`` (no root key here,
        files that cannot be written), ``Unavailable`` (a checkpoint that both keys sign, or the old IPNS
        name's last record, cannot be written now)."""
        if use not in USES:
            raise BadInput(f"there is no key for {use[:64]!r}; known are {', '.join(USES)}", field="use")
        work = asyncio.ensure_future(self._in_turn(use, drop_old))
        work.add_done_callback(_note_failure)
        return await asyncio.shield(work)  # whoever asked may go; half a rotation is none

    async def _in_turn(self, use: str, drop_old: bool) -> Rotated:
        async with self._one_at_a_time:
            return await self._rotate(use, drop_old)

    async def _rotate(self, use: str, drop_old: bool) -> Rotated:
        if self._clock.doubt is not None:
            raise Unavailable("no key is certified while the clock is in doubt; try again then")
        identity = self._identity
        old_vkey = self._vkey(use)
        rotation = await asyncio.to_thread(identity.next_key, use, self._clock.now(), drop_old=drop_old)
        if use == DECISIONS:
            await self._lead_over(rotation)
        async with self._leaving(rotation):
            # If this fails half-way nobody knows which key the next start finds: both sign on until then.
            await asyncio.to_thread(identity.commit, rotation)
            identity.adopt(rotation)
        for certificate in rotation.certificates:
            await self._records.add(certificate)
        decision = await self._log(rotation, old_vkey)
        if use == DECISIONS:
            await self._decisions.renew_signers()
        return Rotated(rotation, old_vkey, self._vkey(use), decision)

    async def _lead_over(self, rotation: Rotation) -> None:
        self._identity.present(rotation)
        try:
            await self._decisions.renew_signers()
        except NodeError:
            self._identity.withdraw(rotation)
            with contextlib.suppress(NodeError):  # a disk that fails: the next checkpoint shows it
                await self._decisions.renew_signers()
            raise

    def _vkey(self, use: str) -> str:
        """A log's key is named after the log, which has another origin in each epoch."""
        if use == DECISIONS:
            return self._identity.log_vkey(self._decisions.origin)
        return self._identity.vkey(use)

    async def _log(self, rotation: Rotation, old_vkey: str) -> Appended | None:
        entry, private = key_entry(
            use=rotation.use,
            event="rotated",
            old=rotation.old,
            new=rotation.new,
            old_vkey=old_vkey,
            new_vkey=self._vkey(rotation.use),
            certificates=[str(block_of(one)[0]) for one in rotation.certificates],
            old_until=rotation.old_until,
            policy=self._policy,
        )
        try:
            return await self._decisions.append(entry, private_texts=private)
        except NodeError as exc:
            log.error("the rotation of the %s key could not be logged: %s", rotation.use, exc)
            return None


def _note_failure(work: asyncio.Future[Rotated]) -> None:
    """Also where nobody waits any more."""
    if not work.cancelled() and (problem := work.exception()) is not None:
        log.warning("a key was not rotated: %s", problem)
