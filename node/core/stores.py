"""The contracts of the stores: blocks by CID, and records with what is needed to find them.

As in ``ports``: methods may be called concurrently from one event loop; cancelling a call leaves the object
usable; only ``node.core.errors`` escape; ``close`` is idempotent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from node.core.ipld.cid import Cid
from node.core.model import Json
from node.core.record import Record


class Gets(Protocol):
    """Whatever gives a block."""

    async def get(self, cid: Cid) -> bytes:
        """Raises ``NotFound``, ``Unavailable``, ``CorruptState``, ``Rejected``."""
        ...


class BlockStore(Protocol):
    """Immutable bytes by CID, found by multihash."""

    async def put(self, cid: Cid, data: bytes) -> None:
        """Durable on return; idempotent. Raises ``Rejected`` if ``data`` does not hash to ``cid``,
        ``Unavailable`` when it cannot be written."""
        ...

    async def get(self, cid: Cid) -> bytes:
        """The bytes; their hash has been checked. Raises ``NotFound``, ``CorruptState``."""
        ...

    async def has(self, cid: Cid) -> bool: ...

    async def delete(self, cid: Cid) -> None:
        """Idempotent."""
        ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """A record in the store. ``sequence`` grows with every write and never repeats: the index's
    watermark. ``state``: live, withdrawn (invalidated, tombstoned or superseded). ``origin`` is
    ``local`` or the issuer's id. ``kept`` holds unknown keys of an imported index entry."""

    sequence: int
    cid: Cid
    record: Record
    state: str = "live"
    origin: str = "local"
    valid: int = 0
    invalid: int = 0
    kept: Mapping[str, Json] | None = None


@dataclass(frozen=True, slots=True)
class BlockRef:
    """A record's block and who may see it. ``number``: the record's sequence, or a change number.
    ``gave_way``: of a withdrawn one, that it merely expired or was deleted while live, for room."""

    number: int
    cid: Cid
    scope: str
    gave_way: bool = False


@dataclass(frozen=True, slots=True)
class BlockChanges:
    """What a copy of the blocks has to follow, each in order of its numbers: apply ``withdrawn`` first."""

    withdrawn: tuple[BlockRef, ...]
    written: tuple[BlockRef, ...]


@dataclass(frozen=True, slots=True)
class Use:
    """A record was served ``hits`` times, last at ``at_s`` (whole seconds since 1970)."""

    cid: Cid
    hits: int
    at_s: int


@dataclass(frozen=True, slots=True)
class Alias:
    """A record that was merged into another and from then on answers under its wording. ``query`` is None
    once its block was reclaimed."""

    cid: Cid
    query_hash: str
    query: str | None
    source_kind: str
    source_id: str
    timestamp: datetime
    origin: str


@dataclass(frozen=True, slots=True)
class Selection:
    """Which live answers are meant; fields are combined with "and", at least one is given.

    ``query_hash`` is the exact question, ``keyword_key`` also its other wordings (aliases lead to their
    survivors); ``before``: written before that time; ``scopes``: any of these; ``source`` is a kind or an id.
    """

    cid: Cid | None = None
    query_hash: str | None = None
    keyword_key: str | None = None
    source: str | None = None
    before: datetime | None = None
    tag: str | None = None
    scopes: tuple[str, ...] | None = None


class RecordStore(Protocol):
    """Records with what is needed to find them. Block and row commit together."""

    async def add(
        self,
        record: Record,
        *,
        origin: str = "local",
        supersede: Sequence[Cid] = (),
        keyword_key: str | None = None,
        kept: Mapping[str, Json] | None = None,
        cost_us: int | None = None,
        merge: Sequence[Cid] = (),
        into: Cid | None = None,
    ) -> StoredRecord:
        """Store a signed record. Durable on return; idempotent by CID; withdraws ``supersede``
        in the same commit. A validation counts on its target, one for each voice, and a verdict ``invalid``
        by this node's own key withdraws it, unless a ``voice`` stands in ``kept``; a tombstone withdraws its
        target, now or whenever it arrives later.

        ``cost_us``: what the answer took to make, in microseconds; None: a default by kind of source.
        ``merge``: live answers that say the same as this one; they are withdrawn and become its aliases.
        ``into``: a live answer that says the same; this record is stored withdrawn and becomes its alias
        (if that one is no longer live, this record is stored as usual). Whoever calls has found the
        questions to be the same; that scope, context, embedding model, slot key, kind of source and answer
        agree is checked here.
        A new live record of ours takes over the wording of an alias with its very question. Uses and aliases
        of a superseded record with the same question and answer pass on to the new one.
        Raises ``Rejected``, ``Unavailable``."""
        ...

    async def get(self, cid: Cid) -> StoredRecord:
        """Whatever its state. Raises ``NotFound``, ``CorruptState``."""
        ...

    async def find(
        self,
        column: str,
        key: str,
        *,
        scopes: Sequence[str],
        context: str | None,
        limit: int = 8,
    ) -> list[StoredRecord]:
        """Live answer records, newest first, by ``column``: ``query_hash``, ``slot_key`` or ``keyword_key``.
        An alias's query hash and keyword key find its survivor. Expired ones are included: whoever serves
        decides."""
        ...

    @property
    def unread(self) -> int:
        """How many calls of ``find`` and ``live`` so far went on without something that is stored and could
        not be read: where this grows meanwhile, what was not found may be there all the same."""
        ...

    async def live(self, cids: Sequence[Cid]) -> dict[Cid, StoredRecord]:
        """Those of ``cids`` that are live answer records at this moment."""
        ...

    async def since(self, sequence: int, *, limit: int = 1_000) -> list[StoredRecord]:
        """Live answer records written after ``sequence``, in order: what an index replays."""
        ...

    async def withdrawn_since(self, change: int, *, limit: int = 1_000) -> list[tuple[int, Cid]]:
        """(change number, CID) of records withdrawn or removed after change number ``change``."""
        ...

    async def block_changes(self, sequence: int, change: int, *, limit: int = 1_000) -> BlockChanges:
        """What a copy of the blocks that has followed up to both numbers lacks: live records of every kind
        written after ``sequence``, and records withdrawn or removed after ``change``, at most ``limit`` of
        each, in order, as of one moment. Records that ended before they were copied are only withdrawn."""
        ...

    async def withdraw(self, cid: Cid, reason: str) -> bool:
        """Stop serving a record; True if it was live. The block stays."""
        ...

    async def expire(self, now: datetime, *, grace_s: int, limit: int = 1_000) -> list[Cid]:
        """Withdraw live answer records whose ``expires`` lies more than ``grace_s`` before ``now``;
        return them."""
        ...

    async def reclaim(self, *, now: datetime | None = None, limit: int = 1_000) -> list[Cid]:
        """Delete the blocks of up to ``limit`` answer records that are worth least: withdrawn and merged ones
        first, then those expired at ``now``, then live ones by value (cost x decayed uses per byte), less
        sure and older first among equals. Return them all; the live ones are withdrawn. An alias outlives
        its own block, not its survivor's."""
        ...

    async def note_uses(self, uses: Sequence[Use]) -> None:
        """Count servings of live answers, in one commit. Others are passed over. Raises ``Rejected`` for
        more than 10,000 at once, ``Unavailable``."""
        ...

    async def aliases(self, cid: Cid) -> list[Alias]:
        """What was merged into this record, oldest first."""
        ...

    async def survivor(self, cid: Cid) -> Cid | None:
        """The record that this one was merged into, if it was."""
        ...

    async def voices(self, cid: Cid) -> dict[str, tuple[str, Cid]]:
        """By voice (empty: the operator, else a tenant) the latest verdict of ours on this record, and the
        CID of its validation. Raises ``Unavailable``."""
        ...

    async def select(self, selection: Selection, *, after: int = 0, limit: int = 1_000) -> list[BlockRef]:
        """Live answer records that fit every field given, written after sequence ``after``, in order.
        Raises ``Rejected`` for a selection without a field."""
        ...

    async def public_answers(self, first: str, last: str, *, limit: int = 10_000) -> list[tuple[str, Cid]]:
        """What an index of the public answers lists: for each query hash with ``first`` <= hash < ``last``
        (lower-case hex; an empty ``last`` sets no end) the newest live answer of scope public without a
        context, whether expired or not, ordered by hash. Aliases are not looked at."""
        ...

    async def newest(self, *, scopes: Sequence[str], limit: int = 100) -> list[StoredRecord]:
        """Live answer records of these scopes, the last written first, whether expired or not."""
        ...

    async def tally(
        self, *, scopes: Sequence[str], since: datetime | None = None, before: datetime | None = None
    ) -> int:
        """How many live answer records of these scopes were made at or after ``since`` and before
        ``before``."""
        ...

    async def counts(self) -> dict[str, int]:
        """``records``, ``live``, ``blocks``, ``bytes``, ``last_sequence``."""
        ...

    async def close(self) -> None: ...
