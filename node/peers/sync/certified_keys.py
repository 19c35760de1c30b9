"""What keys the roots of peers have certified, as far as was heard of them: in memory, and in the store.

Promises: a key record is kept only if its root has signed it and it says something new; whoever has proven
nothing yet fills no store (``keep``); when a key is new or revoked, everything that is held of its root is
weighed again before the round goes on, or at the next start. Must not know how key records arrive.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field

from node.core.clock import Clock
from node.core.errors import NodeError, Rejected
from node.core.ipld.cid import Cid
from node.core.record import KeyRecord, decode
from node.peers.rules.keys import KeyRing
from node.peers.store.sqlite import PeerStore
from node.peers.sync.admit import Admitter

KEY_BYTES_MAX = 2_048
ROOTS_MAX = 1_024
_SEEN_MAX = 1_024


@dataclass(slots=True)
class _Known:
    """``seen``: blocks that need not be looked at again; ``unkept``: those that are not in the store."""

    ring: KeyRing
    seen: set[Cid] = field(default_factory=set)
    unkept: list[tuple[Cid, bytes]] = field(default_factory=list)


class PeerKeys:
    """Use from one event loop, for each root one call at a time."""

    def __init__(self, store: PeerStore, admitter: Admitter, clock: Clock) -> None:
        self._store = store
        self._admitter = admitter
        self._clock = clock
        self._known: OrderedDict[str, _Known] = OrderedDict()

    async def ring(self, root: str) -> KeyRing:
        """The keys of a root; more may be learned later. Raises ``Unavailable``."""
        return (await self._of(root)).ring

    async def has(self, root: str, cid: Cid) -> bool:
        """Whether this block was looked at before."""
        return cid in (await self._of(root)).seen

    async def learn(self, root: str, blocks: Iterable[tuple[Cid, bytes]]) -> int:
        """Look at blocks that should be key records of ``root``; how many are none. ``keep`` makes it last.
        Raises ``Unavailable``."""
        known = await self._of(root)
        refused = 0
        for cid, data in blocks:
            if cid in known.seen:
                continue
            record = _key_record(root, data)
            if record is None:
                refused += 1
                continue
            if known.ring.add(record, self._clock.now()):
                known.unkept.append((cid, data))
            elif record.timestamp > self._clock.now():
                continue  # not yet; it may come again
            if len(known.seen) < _SEEN_MAX:
                known.seen.add(cid)
        return refused

    async def keep(self, root: str) -> None:
        """Store what was learned and weigh anew what rests on it. Raises ``Unavailable``."""
        known = await self._of(root)
        if not known.unkept:
            return
        try:
            await self._store.begin(root)
            for cid, data in known.unkept:
                await self._add(root, cid, data)
            known.unkept.clear()
            await self._admitter.retier(root)
        except NodeError:
            self._known.pop(root, None)
            raise

    def forget_unkept(self, root: str) -> None:
        """Whoever showed these keys has proven nothing."""
        known = self._known.get(root)
        if known is not None and known.unkept:
            del self._known[root]

    async def _add(self, root: str, cid: Cid, data: bytes) -> None:
        try:
            await self._store.add_key(root, cid, data)
        except Rejected:  # it has more keys than are kept
            await self._store.count(root, "keys")

    async def _of(self, root: str) -> _Known:
        known = self._known.get(root)
        if known is None:
            known = _Known(KeyRing(root))
            for data in await self._store.keys(root):
                record = _key_record(root, data)
                if record is not None:
                    known.ring.add(record)
                    known.seen.add(Cid.of(data))
            self._known[root] = known
        self._known.move_to_end(root)
        while len(self._known) > ROOTS_MAX:
            self._known.popitem(last=False)
        return known


def _key_record(root: str, data: bytes) -> KeyRecord | None:
    """The record, if it is a key record that ``root`` has signed itself."""
    if len(data) > KEY_BYTES_MAX:
        return None
    try:
        record = decode(data)
    except Rejected:
        return None
    return record if isinstance(record, KeyRecord) and record.issuer == record.key == root else None
