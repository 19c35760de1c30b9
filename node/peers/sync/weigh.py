"""What a held record counts for as things stand now: by the standing and keys of its issuer, by what others
say to the same question, and by the statements on it.

Promises: nothing is changed here. The rules of tiers are in ``node.peers.rules.tiers``, those of statements
in ``node.peers.rules.standing``. It must not know what becomes of a record that counts for more or less.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache

from node.core.clock import Clock
from node.core.errors import Rejected
from node.core.normalise import normalise
from node.core.record import AnswerRecord, KeyRecord, decode
from node.peers.rules import standing as standings
from node.peers.rules import tiers
from node.peers.rules.keys import KeyRing
from node.peers.rules.values import SERVED, Held, Standing, Tier
from node.peers.store.sqlite import PeerStore

RINGS_MAX = 1_024
ANSWERS_MAX = 256
"""Held answers that stay decoded: a question's rivals are read again with each new one."""
REFUTED = ""
"""In the place of ``Held.agreed``."""


class Scales:
    """Use from one event loop. ``quorum``: how many trust groups have to agree."""

    def __init__(self, store: PeerStore, clock: Clock, quorum: int) -> None:
        self._store = store
        self._clock = clock
        self._quorum = quorum
        self._rings: OrderedDict[str, KeyRing] = OrderedDict()

    async def rivals(self, held: Held) -> list[Held]:
        """What else is held to the same question and was not found wrong here, of whatever issuer."""
        return [
            one
            for one in await self._store.rivals(held.query_hash, held.slot_key)
            if one.cid != held.cid and one.agreed != REFUTED and asks_the_same(one, held)
        ]

    async def tier(
        self, held: Held, rivals: Sequence[Held], known: Mapping[str, Standing]
    ) -> tuple[Tier, str]:
        """The tier of a record, and a code where something speaks against it. ``known``: the standings."""
        standing = known.get(held.issuer, Standing(held.issuer))
        if code := standing.unheard:
            return Tier.UNTRUSTED, code
        if code := (await self.ring(held.issuer)).good(held.key, "node", age(held)[0]):
            return Tier.UNTRUSTED, code
        if answer_of(held).is_unverified:  # let in before there was this rule
            return Tier.UNTRUSTED, "unverified"
        if held.agreed == REFUTED:
            return Tier.UNTRUSTED, "refuted"
        is_verified = held.tier is Tier.VERIFIED or None
        agreeing = await self._groups(held, rivals, known)
        tier = tiers.tier_of(standing, is_verified=is_verified, groups_agreeing=agreeing, quorum=self._quorum)
        if tier in SERVED and not is_verified:
            statements = await self._store.statements(held.cid)
            if statements and standings.outvoted(statements, known, held.issuer):
                return Tier.UNTRUSTED, "outvoted"
        return tier, ""

    async def _groups(self, held: Held, rivals: Sequence[Held], known: Mapping[str, Standing]) -> int:
        """How many trust groups say what this record says."""
        now = self._clock.now()
        voices = [
            one
            for one in (held, *rivals)
            if has_voice(known.get(one.issuer))
            and (one.until is None or one.until > now)
            and not answer_of(one).is_unverified
        ]
        revoked: set[str] = set()
        for root in {one.issuer for one in voices}:
            gone = (await self.ring(root)).revoked  # a root speaks of its own keys, and of nobody else's
            revoked |= {one.key for one in voices if one.issuer == root and one.key in gone}
        return tiers.groups_agreeing(voices, held.agreed, known, revoked)

    # --- keys -------------------------------------------------------------------------------------

    def remember(self, root: str, ring: KeyRing) -> None:
        """The newest that is known of a root's keys."""
        self._rings[root] = ring
        self._rings.move_to_end(root)
        while len(self._rings) > RINGS_MAX:
            self._rings.popitem(last=False)

    def forget(self, root: str) -> None:
        """The keys of this root may have changed in the store."""
        self._rings.pop(root, None)

    async def ring(self, root: str) -> KeyRing:
        """The keys that a root has certified, as far as we were told."""
        ring = self._rings.get(root)
        if ring is None:
            ring = KeyRing(root)
            for data in await self._store.keys(root):
                record = decode(data, check_signature=False)  # it held when it was stored
                if isinstance(record, KeyRecord):
                    ring.add(record)
            self.remember(root, ring)
        return ring


def has_voice(standing: Standing | None) -> bool:
    """Whether a root of this standing, if there is one, is heard beside others."""
    return standing is not None and standing.has_voice


def agreed(record: AnswerRecord) -> str:
    """``Held.agreed`` of a record."""
    return hashlib.sha256(normalise(record.answer).encode()).hexdigest()


def answer_of(held: Held) -> AnswerRecord:
    """What is held, which passed when it came. Raises ``Rejected``."""
    return _decoded(held.data)


@lru_cache(maxsize=ANSWERS_MAX)
def _decoded(data: bytes) -> AnswerRecord:
    record = decode(data, check_signature=False)
    if not isinstance(record, AnswerRecord):
        raise Rejected("what is held is no answer")
    return record


def age(held: Held) -> tuple[datetime, bytes]:
    """Orders what one issuer says to one question; the newest counts, on every node alike."""
    return answer_of(held).timestamp, held.cid.multihash


def asks_the_same(one: Held, other: Held) -> bool:
    """The same slots by our own reading, else the same words."""
    if one.slot_key is not None and other.slot_key is not None:
        return one.slot_key == other.slot_key
    return one.query_hash == other.query_hash
