"""The table of peers in memory: the reference for the one on disk, and what simulations run on.

No threads and no clock: its time is the newest that ``usage`` or ``ended`` was given, and each call is done
when it returns. Bounded as the one on disk is.
"""

from __future__ import annotations

import heapq
from bisect import bisect_right, insort
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from node.core.errors import Rejected, Unavailable
from node.core.ipld.cid import DAG_CBOR, Cid
from node.core.record import time_us
from node.peers.rules.values import Contact, Held, Level, Position, Standing, Summary, Tier, Usage
from node.peers.store.rows import (
    FOREVER,
    OTHER_CODE,
    RIVALS_OF_ONE,
    Limits,
    check_noted,
    check_position,
    end_of,
    hour_of,
    too_many_contacts,
    too_many_keys,
    too_many_roots,
)


@dataclass(frozen=True, slots=True)
class _Statement:
    issuer: str
    key: str
    target: bytes
    verdict: str
    at: datetime
    counts: bool = True


@dataclass(slots=True)
class _Root:
    """All that is kept of one root."""

    standing: Standing | None = None
    position: Position | None = None
    keys: dict[bytes, bytes] = field(default_factory=dict)
    held: list[bytes] = field(default_factory=list)
    size: int = 0
    tombstones: dict[bytes, tuple[int, Cid, bytes]] = field(default_factory=dict)
    """By target: its end, the tombstone's CID and block."""
    statements: dict[bytes, None] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    hour: int = 0
    taken: int = 0

    @property
    def is_empty(self) -> bool:
        kept = (self.standing, self.position)
        return kept == (None, None) and not (self.keys or self.held or self.tombstones or self.statements)


class MemoryPeerStore:
    """``PeerStore`` for tests and simulations."""

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()
        self._now = datetime(1970, 1, 1, tzinfo=UTC)
        self._arrivals = 0
        self._contacts: dict[str, Contact] = {}
        self._roots: dict[str, _Root] = {}
        self._begun: dict[str, None] = {}
        self._held: dict[bytes, tuple[int, Held]] = {}
        self._asked: dict[tuple[str, str], dict[bytes, None]] = {}
        self._ends: list[tuple[int, bytes]] = []
        self._stones: list[tuple[int, str, bytes]] = []
        self._statements: dict[bytes, _Statement] = {}
        self._said: dict[bytes, dict[bytes, None]] = {}

    # --- contacts -------------------------------------------------------------------------------------

    async def contacts(self) -> list[Contact]:
        return list(self._contacts.values())

    async def contact(self, address: str) -> Contact | None:
        return self._contacts.get(address)

    async def put_contact(self, contact: Contact) -> None:
        if contact.address not in self._contacts and len(self._contacts) >= self._limits.contacts:
            raise Rejected(too_many_contacts(self._limits))
        self._contacts[contact.address] = contact

    async def remove_contact(self, address: str) -> bool:
        return self._contacts.pop(address, None) is not None

    # --- roots ----------------------------------------------------------------------------------------

    async def standing(self, root: str) -> Standing:
        return self._known_root(root).standing or Standing(root)

    async def standings(self) -> dict[str, Standing]:
        return {root: one.standing for root, one in self._roots.items() if one.standing is not None}

    async def set_standing(self, standing: Standing) -> None:
        self._root(standing.root).standing = standing

    async def note(self, root: str, what: str) -> None:
        check_noted(what)
        one = self._root(root)
        before = one.standing or Standing(root)
        one.standing = replace(
            before,
            refuted=before.refuted + (what == "refuted"),
            valid=before.valid + (what == "valid"),
            invalid=before.invalid + (what == "invalid"),
        )

    async def begin(self, root: str) -> None:
        self._root(root)
        self._begun.setdefault(root)

    async def finish(self, root: str) -> None:
        self._begun.pop(root, None)

    async def unfinished(self) -> list[str]:
        return list(self._begun)

    async def position(self, root: str) -> Position | None:
        return self._known_root(root).position

    async def set_position(self, position: Position) -> None:
        check_position(position)
        self._root(position.root).position = position

    async def keys(self, root: str) -> list[bytes]:
        return list(self._known_root(root).keys.values())

    async def add_key(self, root: str, cid: Cid, data: bytes) -> bool:
        keys = self._root(root).keys
        if cid.multihash in keys:
            return False
        if len(keys) >= self._limits.keys_of_root:
            raise Rejected(too_many_keys(self._limits))
        keys[cid.multihash] = data
        return True

    async def count(self, root: str, code: str, by: int = 1) -> None:
        counts = self._root(root).counts
        if code not in counts and len(counts) >= self._limits.codes_of_root:
            code = OTHER_CODE
        counts[code] = counts.get(code, 0) + by

    async def counts(self, root: str) -> dict[str, int]:
        return dict(sorted(self._known_root(root).counts.items()))

    async def usage(self, root: str, now: datetime) -> Usage:
        self._now = max(self._now, now)
        return _usage(self._known_root(root), hour_of(now))

    async def summary(self, now: datetime) -> Summary:
        self._now = max(self._now, now)
        standings = list((await self.standings()).values())
        usages = [_usage(one, hour_of(now)) for one in self._roots.values()]
        voting = (Level.KNOWN, Level.TRUSTED)
        return Summary(
            contacts=len(self._contacts),
            levels=Counter(one.level for one in standings),
            dropped=sum(bool(one.dropped) for one in standings),
            groups=len({one.group for one in standings if one.group is not None and one.level in voting}),
            bytes=sum(one.bytes for one in usages),
            tiers=Counter(held.tier for _, held in self._held.values()),
            fullest=Usage(
                max((one.records for one in usages), default=0),
                max((one.bytes for one in usages), default=0),
                max((one.validations for one in usages), default=0),
            ),
        )

    # --- held -----------------------------------------------------------------------------------------

    async def hold(self, records: Sequence[Held]) -> None:
        for held in records:
            self._root(held.issuer)
        for held in records:
            name = held.cid.multihash
            self._drop(name)
            self._arrivals += 1
            self._held[name] = (self._arrivals, held)
            one = self._root(held.issuer)
            insort(one.held, name)
            one.size += len(held.data)
            for question in _questions(held.query_hash, held.slot_key):
                self._asked.setdefault(question, {})[name] = None
            if held.until is not None:
                heapq.heappush(self._ends, (time_us(held.until), name))

    async def held(self, cid: Cid) -> Held | None:
        found = self._held.get(cid.multihash)
        return None if found is None else found[1]

    async def known(self, cids: Sequence[Cid]) -> set[Cid]:
        return {cid for cid in cids if cid.multihash in self._held}

    async def held_of(self, issuer: str, *, after: bytes = b"", limit: int = 256) -> list[Held]:
        names = self._known_root(issuer).held
        start = bisect_right(names, after)
        return [self._held[name][1] for name in names[start : start + max(0, limit)]]

    async def rivals(self, query_hash: str, slot_key: str | None, *, limit: int = 256) -> list[Held]:
        names = {
            name: None
            for question in _questions(query_hash, slot_key)
            for name in self._asked.get(question, ())
        }
        found = sorted((self._held[name] for name in names), key=_age, reverse=True)
        ranks: dict[str, int] = {}
        ranked: list[tuple[int, Held]] = []
        for _, held in found:
            rank = ranks[held.issuer] = ranks.get(held.issuer, -1) + 1
            if rank < RIVALS_OF_ONE:
                ranked.append((rank, held))
        ranked.sort(key=lambda pair: pair[0])
        return [held for _, held in ranked[: max(0, limit)]]

    async def set_tier(self, cid: Cid, tier: Tier, trust_ppm: int) -> None:
        if (found := self._held.get(cid.multihash)) is not None:
            self._held[cid.multihash] = (found[0], replace(found[1], tier=tier, trust_ppm=trust_ppm))

    async def release(self, cid: Cid) -> bool:
        return self._drop(cid.multihash)

    async def ended(self, now: datetime, *, limit: int = 1_000) -> list[Cid]:
        self._now = max(self._now, now)
        found: list[tuple[int, bytes]] = []
        while self._ends and self._ends[0][0] <= time_us(now) and len(found) < limit:
            end, name = heapq.heappop(self._ends)
            here = self._held.get(name)
            if here is not None and end_of(here[1].until) == end and (end, name) not in found[-1:]:
                found.append((end, name))
        for one in found:
            heapq.heappush(self._ends, one)
        return [self._held[name][1].cid for _, name in found]

    async def forget(self, root: str) -> list[Cid]:
        one = self._known_root(root)
        one.position = None
        gone = [self._held[name][1].cid for name in one.held]
        for cid in gone:
            self._drop(cid.multihash)
        return gone

    # --- what roots say of records ----------------------------------------------------------------------

    async def entomb(
        self, target: Cid, issuer: str, tombstone: Cid, data: bytes, until: datetime | None
    ) -> None:
        while self._stones and self._stones[0][0] <= time_us(self._now):
            end, root, name = heapq.heappop(self._stones)
            stones = self._known_root(root).tombstones
            if name in stones and stones[name][0] == end:
                del stones[name]
        stones = self._root(issuer).tombstones
        name = target.multihash
        end = max(end_of(until), stones[name][0] if name in stones else 0)
        stones[name] = (end, tombstone, data)
        if end != FOREVER:
            heapq.heappush(self._stones, (end, issuer, target.multihash))

    async def tombstones(self, targets: Sequence[Cid], issuer: str) -> set[Cid]:
        stones = self._known_root(issuer).tombstones
        return {target for target in targets if target.multihash in stones}

    async def tombstone_blocks(self, named: Sequence[tuple[Cid, Cid]], issuer: str) -> dict[Cid, bytes]:
        stones = self._known_root(issuer).tombstones
        kept = [(stone, stones.get(target.multihash)) for target, stone in named]
        return {
            stone: one[2]
            for stone, one in kept
            if one is not None and one[1] == stone and stone.matches(one[2])
        }

    async def add_statement(
        self, cid: Cid, data: bytes, issuer: str, key: str, target: Cid, verdict: str, at: datetime
    ) -> bool:
        if cid.multihash in self._statements:
            return False
        one = self._root(issuer)
        self._statements[cid.multihash] = _Statement(issuer, key, target.multihash, verdict, at)
        self._said.setdefault(target.multihash, {})[cid.multihash] = None
        one.statements[cid.multihash] = None
        one.taken = one.taken + 1 if one.hour == hour_of(self._now) else 1
        one.hour = hour_of(self._now)
        if len(one.statements) > self._limits.statements_of_root:
            self._unsay(one)
        elif len(self._statements) > self._limits.statements:
            self._unsay(max(self._roots.values(), key=lambda root: len(root.statements)))
        return True

    async def statements(self, target: Cid) -> dict[str, str]:
        names = self._said.get(target.multihash, ())
        found = sorted((self._statements[name].at, name) for name in names)
        said = [self._statements[name] for _, name in found]
        return {one.issuer: one.verdict for one in said if one.counts}

    async def known_statements(self, cids: Sequence[Cid], issuer: str) -> set[Cid]:
        own = self._known_root(issuer).statements
        return {cid for cid in cids if cid.multihash in own}

    async def recount(self, issuer: str, signers: Mapping[str, tuple[datetime, datetime]]) -> int:
        changed = 0
        for name in self._known_root(issuer).statements:
            one = self._statements[name]
            since, until = signers.get(one.key, (one.at, one.at))
            if one.counts != (counts := since <= one.at < until):
                self._statements[name] = replace(one, counts=counts)
                changed += 1
        return changed

    async def spoken_of(self, issuer: str, *, after: bytes = b"", limit: int = 256) -> list[Cid]:
        targets = {self._statements[name].target for name in self._known_root(issuer).statements}
        some = sorted(target for target in targets if target > after)[: max(0, limit)]
        return [Cid(DAG_CBOR, target[2:]) for target in some]  # a multihash of sha2-256

    async def close(self) -> None:
        """Nothing to close."""

    # --- pieces -----------------------------------------------------------------------------------------

    def _known_root(self, root: str) -> _Root:
        return self._roots.get(root) or _Root()

    def _root(self, root: str) -> _Root:
        """The root's row, made where there is none; one of which nothing but counts is kept makes room."""
        if root not in self._roots:
            if len(self._roots) >= self._limits.roots:
                spare = next((name for name in self._roots if self._is_spare(name)), None)
                if spare is None:
                    raise Unavailable(too_many_roots(self._limits))
                del self._roots[spare]
            self._roots[root] = _Root()
        return self._roots[root]

    def _is_spare(self, root: str) -> bool:
        return self._roots[root].is_empty and root not in self._begun

    def _drop(self, name: bytes) -> bool:
        found = self._held.pop(name, None)
        if found is None:
            return False
        held = found[1]
        one = self._roots[held.issuer]
        del one.held[bisect_right(one.held, name) - 1]
        one.size -= len(held.data)
        for question in _questions(held.query_hash, held.slot_key):
            asked = self._asked[question]
            del asked[name]
            if not asked:
                del self._asked[question]
        return True

    def _unsay(self, one: _Root) -> None:
        """Forget the oldest statement of a root, one that does not count before others."""
        first = next(iter(one.statements))
        name = next((name for name in one.statements if not self._statements[name].counts), first)
        del one.statements[name]
        target = self._statements.pop(name).target
        del self._said[target][name]
        if not self._said[target]:
            del self._said[target]


def _usage(one: _Root, hour: int) -> Usage:
    return Usage(len(one.held), one.size, one.taken if one.hour == hour else 0)


def _questions(query_hash: str, slot_key: str | None) -> list[tuple[str, str]]:
    return [("query", query_hash)] + ([] if slot_key is None else [("slot", slot_key)])


def _age(found: tuple[int, Held]) -> tuple[datetime, int, int]:
    arrival, held = found
    return held.received, held.log_index, arrival
