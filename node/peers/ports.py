"""What the peers jobs stand on: the table of peers and what is held of them, and the way to one peer.

Each port has one contract that every implementation passes. Errors are ``node.core.errors``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from node.core.ipld.cid import Cid
from node.peers.rules.values import Contact, Held, Position, Standing, Summary, Tier, Usage


class PeerStore(Protocol):
    """Everything about peers that outlives a restart. Durable on return. Raises ``Unavailable``."""

    async def contacts(self) -> list[Contact]:
        """In the order of their addition."""
        ...

    async def put_contact(self, contact: Contact) -> None:
        """Add, or replace the one with this address. Raises ``Rejected`` over the limit of contacts."""
        ...

    async def remove_contact(self, address: str) -> bool: ...

    async def standing(self, root: str) -> Standing:
        """The default one for a root that nothing is known of."""
        ...

    async def standings(self) -> dict[str, Standing]:
        """Those that were set, by root."""
        ...

    async def set_standing(self, standing: Standing) -> None: ...

    async def note(self, root: str, what: str) -> None:
        """One more in the standing's ``refuted``, ``valid`` or ``invalid``, in one step: whatever else
        changes the standing meanwhile is kept."""
        ...

    async def begin(self, root: str) -> None:
        """All that is held of this root has to be weighed again: remembered until ``finish``."""
        ...

    async def finish(self, root: str) -> None: ...

    async def unfinished(self) -> list[str]:
        """Roots that were begun and not finished, in the order of their beginning."""
        ...

    async def position(self, root: str) -> Position | None: ...

    async def set_position(self, position: Position) -> None: ...

    async def keys(self, root: str) -> list[bytes]:
        """Blocks of this root's key records, in the order of their arrival."""
        ...

    async def add_key(self, root: str, cid: Cid, data: bytes) -> bool:
        """False where it was there. Raises ``Rejected`` over the limit of one root."""
        ...

    async def hold(self, records: Sequence[Held]) -> None:
        """Add or replace by CID, in one commit."""
        ...

    async def held(self, cid: Cid) -> Held | None: ...

    async def known(self, cids: Sequence[Cid]) -> set[Cid]:
        """Those of ``cids`` that are held."""
        ...

    async def held_of(self, issuer: str, *, after: bytes = b"", limit: int = 256) -> list[Held]:
        """In the order of their multihashes, those above ``after``."""
        ...

    async def rivals(self, query_hash: str, slot_key: str | None, *, limit: int = 256) -> list[Held]:
        """Held records, of whatever issuer and tier, with this query hash or (unless None) this slot key; at
        most 4 of one issuer, the newest."""
        ...

    async def set_tier(self, cid: Cid, tier: Tier, trust_ppm: int) -> None: ...

    async def release(self, cid: Cid) -> bool:
        """Hold it no longer; the bytes are overwritten."""
        ...

    async def ended(self, now: datetime, *, limit: int = 1_000) -> list[Cid]:
        """Held records whose ``until`` is past."""
        ...

    async def entomb(
        self, target: Cid, issuer: str, tombstone: Cid, data: bytes, until: datetime | None
    ) -> None:
        """Keep the issuer's signed tombstone for its own ``target`` at least until ``until`` (None: for
        good), whether the target is here or not."""
        ...

    async def tombstones(self, targets: Sequence[Cid], issuer: str) -> set[Cid]:
        """Those of ``targets`` that this issuer has withdrawn."""
        ...

    async def tombstone_blocks(self, named: Sequence[tuple[Cid, Cid]], issuer: str) -> dict[Cid, bytes]:
        """Of these (target, tombstone) those that are kept for this issuer: the tombstone's CID → its block.
        A withdrawal without one has none."""
        ...

    async def add_statement(
        self, cid: Cid, data: bytes, issuer: str, key: str, target: Cid, verdict: str, at: datetime
    ) -> bool:
        """Keep a signed validation, made at ``at`` with ``key``; it counts until ``recount`` says otherwise,
        and the newest of an issuer on a target does. False where it was there. Where there are too many,
        those that do not count make room first, the oldest first."""
        ...

    async def known_statements(self, cids: Sequence[Cid], issuer: str) -> set[Cid]:
        """Those of ``cids`` that are statements of this issuer and kept, whether they count or not."""
        ...

    async def recount(self, issuer: str, signers: Mapping[str, tuple[datetime, datetime]]) -> int:
        """From now on this issuer's statements count that were made with one of ``signers`` in its time, from
        the first moment to before the second, and no others; how many that changed."""
        ...

    async def statements(self, target: Cid) -> dict[str, str]:
        """Issuer → its newest verdict on ``target`` that counts."""
        ...

    async def spoken_of(self, issuer: str, *, after: bytes = b"", limit: int = 256) -> list[Cid]:
        """Targets of this issuer's statements, whether they count or not, each once, in the order of their
        multihashes, those above ``after``."""
        ...

    async def usage(self, root: str, now: datetime) -> Usage: ...

    async def summary(self, now: datetime) -> Summary:
        """Counts over all roots; takes as long however much is held."""
        ...

    async def count(self, root: str, code: str, by: int = 1) -> None:
        """A record of this root was refused for ``code``, or taken as ``admitted`` or ``held``."""
        ...

    async def counts(self, root: str) -> dict[str, int]: ...

    async def forget(self, root: str) -> list[Cid]:
        """Release all that is held of a root, and its position; tombstones, keys and standing stay. Returns
        what was held."""
        ...

    async def close(self) -> None: ...


class PeerLink(Protocol):
    """One peer, at one address. Every call is bounded in time and bytes. What comes is untrusted. Raises
    ``Unavailable``, ``TimedOut``, ``NotFound``, ``Rejected`` (bytes that are not what was asked for)."""

    address: str

    async def certificates(self) -> tuple[str, list[bytes]]:
        """The root that the peer says it has, and blocks of key records (64 at most)."""
        ...

    async def checkpoint(self, etag: str | None = None) -> tuple[bytes | None, str | None]:
        """The newest note of its publications log and its ETag; (None, etag) where it has not changed."""
        ...

    async def read(self, path: str, bytes_max: int) -> bytes:
        """A file of the publications log: this makes a link a ``tlog.reader.Source``."""
        ...

    def blocks(self, cids: Sequence[Cid], bytes_max: int) -> AsyncIterator[tuple[Cid, bytes]]:
        """Some of these blocks, each of which matches its CID, in any order; what the peer has not is left
        out. Many at once come as one CAR."""
        ...

    async def reconcile(self, message: bytes) -> bytes:
        """One exchange of range reconciliation."""
        ...

    async def peers(self) -> list[str]:
        """The addresses that it lists (64 at most)."""
        ...
