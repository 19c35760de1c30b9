"""What must hold of an honest node, whatever happens: checked from outside, by reading its stores.

Written apart from ``node.peers.sync.admit`` and ``node.peers.rules.tiers``: what may be served is worked out
here once more, from what the node was told (standings, keys, tombstones, what it holds) and from what really
happened.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from bench.swarmlab.honest import (
    COMPUTED,
    COMPUTED_ANSWER,
    LIVE_LIMIT_S,
    LIVE_QUESTION,
    QUORUM,
    Honest,
)
from node.core.ipld.cid import Cid
from node.core.normalise import normalise
from node.core.ports import StoredRecord
from node.core.record import AnswerRecord, block_of, decode
from node.peers.rules.keys import KeyRing
from node.peers.rules.values import Level
from node.store.record_rules import LOCAL

_EPOCH = datetime.fromisoformat("1970-01-01T00:00:00+00:00")


class Rules:
    """``honest``: by root."""

    def __init__(self, honest: Mapping[str, Honest]) -> None:
        self._honest = honest
        self._signed: set[Cid] = set()

    async def broken(self, node: Honest) -> list[str]:
        """What is wrong at a node at which nothing runs."""
        found = []
        rings: dict[str, KeyRing] = {}
        for stored in await node.answers():
            if stored.origin == LOCAL:
                continue
            if stored.origin not in rings:
                rings[stored.origin] = await node.known_ring(stored.origin)
            if what := await self._why_not(node, stored, rings[stored.origin]):
                found.append(f"node {node.number} serves {stored.cid} of {self.name(stored.origin)}: {what}")
        unfinished = await node.store.unfinished()
        return found + [f"node {node.number} has not weighed all of {self.name(root)}" for root in unfinished]

    def name(self, root: str) -> str:
        """For people."""
        one = self._honest.get(root)
        return f"liar {root[-6:]}" if one is None else f"node {one.number}"

    async def _why_not(self, node: Honest, stored: StoredRecord, ring: KeyRing) -> str:
        record = stored.record
        assert isinstance(record, AnswerRecord)
        if stored.cid not in self._signed:
            decode(block_of(record)[1])  # raises where the signature does not hold
            self._signed.add(stored.cid)
        if record.issuer != stored.origin:
            return "another issuer signed it"
        issuer = self._honest.get(record.issuer)
        if issuer is not None and stored.cid not in issuer.log.named:
            return "it was never published"
        if code := ring.good(record.key, "node", record.timestamp):
            return f"its key: {code}"
        if await node.store.tombstones([stored.cid], record.issuer):
            return "its issuer withdrew it for good"
        return self._until(stored, record) or await self._not_served(node, record)

    def _until(self, stored: StoredRecord, record: AnswerRecord) -> str:
        end = record.expires
        if record.query == LIVE_QUESTION:
            capped = record.timestamp + timedelta(seconds=LIVE_LIMIT_S)
            end = capped if end is None else min(end, capped)
        until_s = (stored.kept or {}).get("until_s")
        if end is None:
            return ""
        last_s = (end - _EPOCH) // timedelta(seconds=1)
        return "" if isinstance(until_s, int) and until_s <= last_s else f"it may outlive {end}: {until_s}"

    async def _not_served(self, node: Honest, record: AnswerRecord) -> str:
        standing = await node.store.standing(record.issuer)
        if standing.dropped or standing.level is Level.BLOCKED:
            return f"its issuer is not listened to ({standing.dropped or 'blocked'})"
        if record.query == COMPUTED and record.answer != COMPUTED_ANSWER:
            return "it was refuted"
        if record.query == COMPUTED or standing.level is Level.TRUSTED:
            return ""
        groups = set()
        for one in await node.store.rivals(record.query_hash, None):
            other = await node.store.standing(one.issuer)
            is_voting = other.level in (Level.KNOWN, Level.TRUSTED) and not other.dropped
            said = decode(one.data, check_signature=False)
            is_same = isinstance(said, AnswerRecord) and normalise(said.answer) == normalise(record.answer)
            if is_voting and is_same and other.group is not None:
                groups.add(other.group)
        if standing.level is Level.KNOWN and standing.group is not None and len(groups) >= QUORUM:
            return ""
        return f"its issuer is {standing.level.value}, and {len(groups)} groups say it"

    # --- at the end -------------------------------------------------------------------------------------

    async def shared(self, issuer: Honest) -> set[Cid]:
        """What everybody has to have of an honest node now."""
        now = issuer.clock.now()
        found = set()
        for stored in await issuer.own():
            record = stored.record
            assert isinstance(record, AnswerRecord)
            is_over = record.expires is not None and record.expires <= now
            age = now - record.timestamp
            is_old = record.query == LIVE_QUESTION and age >= timedelta(seconds=LIVE_LIMIT_S)
            if not (is_over or is_old or issuer.ring.good(record.key, "node", record.timestamp)):
                found.add(stored.cid)
        return found

    async def unequal(self, node: Honest) -> list[str]:
        """What a node lacks or has too much of, when everybody has read everybody."""
        found = []
        live: dict[str, set[Cid]] = {}
        for stored in await node.answers():
            live.setdefault(stored.origin, set()).add(stored.cid)
        for root, issuer in self._honest.items():
            if issuer is node:
                continue
            shared, here = await self.shared(issuer), live.get(root, set())
            where = f"node {node.number}, of node {issuer.number}"
            found += [f"{where}: lacks {cid}" for cid in sorted(shared - here, key=str)]
            found += [f"{where}: still serves {cid}" for cid in sorted(here - shared, key=str)]
        return found
