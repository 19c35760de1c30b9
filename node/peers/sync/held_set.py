"""Which records of a peer are missing here, by range reconciliation: what is held against what it publishes.

Promises: a bounded number of exchanges and of ids; what is held is read in pages. What a peer says of its set
is no more than a hint of what to ask for: each record is examined like any other. Must not know who fetches.
"""

from __future__ import annotations

from node.core.errors import Rejected
from node.core.ipld.cid import DAG_CBOR, Cid
from node.core.record import decode, time_us
from node.peers.rules.reconcile import Client, Item, SortedSet
from node.peers.store.sqlite import PeerStore
from node.peers.sync.round import Round

TURNS_MAX = 64
MISSING_MAX = 4_096
_PAGE = 256
_MICROSECONDS = 1_000_000


async def missing(store: PeerStore, now: Round, root: str) -> list[Cid]:
    """Some of the records that the peer publishes and that are not held. Raises ``NodeError``."""
    client = Client(await _held(store, root))
    message: bytes | None = client.first()
    for _ in range(TURNS_MAX):
        if message is None or len(client.missing) >= MISSING_MAX:
            break
        reply = await now.link.reconcile(message)
        now.read_bytes += len(reply)
        message = client.take(reply)
    return [Cid(DAG_CBOR, digest) for digest in sorted(client.missing)[:MISSING_MAX]]


async def _held(store: PeerStore, root: str) -> SortedSet:
    """By what they are dated, as the publisher's set has them."""
    found = SortedSet()
    after = b""
    while page := await store.held_of(root, after=after, limit=_PAGE):
        after = page[-1].cid.multihash
        for held in page:
            try:
                record = decode(held.data, check_signature=False)
            except Rejected:
                continue
            found.add(Item(time_us(record.timestamp) // _MICROSECONDS, held.cid.digest))
    return found
