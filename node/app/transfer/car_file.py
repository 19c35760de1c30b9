"""Blocks in CAR files, in and out: what ``ingest`` and ``cache export --car`` do.

In: a CAR of anybody becomes public blocks of the foreign store, an IPNS record of anybody a record of the
name store; both are checked there and are nobody's answers: no question is ever answered from them.

Out: the live answers of one scope that have not expired, with the certificates of the keys that sign them, as
they are: signed blocks. They travel in pages; whoever writes the file makes the list (``listing``) that its
one root is. What is private is never written, whatever is asked.

A listing is canonical DAG-CBOR: ``{v: 1, kind: "export", scope, time, count, records: [link, …], next: link |
null}``. ``records`` has at most ``LINKS_MAX`` links, ``next`` leads to a block of the same form with the next
ones. ``scope``, ``time`` and ``count`` (of the whole) are the same in all.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from cbrrr import CID

from node.core.caller import SCOPE_PUBLIC, SCOPE_SHARED
from node.core.clock import Clock
from node.core.errors import BadInput, CorruptState, NodeError, NotFound, Unavailable
from node.core.ipld import dagcbor
from node.core.ipld.cid import Cid
from node.core.ipld.ipns import IpnsName
from node.core.ports import RecordStore
from node.core.record import AnswerRecord, KeyRecord, Record, block_of, format_time
from node.store.imported_blocks import ForeignStore, Imported

LINKS_MAX = 4_096
"""About 41 bytes each: a listing's block stays below 256 KiB."""
PAGE_RECORDS = 128
PAGE_BYTES = 8 * 2**20
"""A page ends behind the record with which it reaches this size."""
SCOPES = (SCOPE_PUBLIC, SCOPE_SHARED)
_NO_CHANGES = 2**62
"""A change number that no store comes to: only records written are asked for."""


class KeptNames(Protocol):
    """Where IPNS records of others are kept."""

    async def put(self, name: IpnsName, data: bytes, *, by_operator: bool) -> bool:
        """False when a better one is known. Raises ``Rejected``, ``Unavailable``."""
        ...


@dataclass(frozen=True, slots=True)
class BlockPage:
    """Records of an export as blocks, and where the next page begins; None at the end."""

    blocks: tuple[tuple[Cid, bytes], ...]
    after: int | None


@dataclass(frozen=True, slots=True)
class CarFile:
    """CARs for one node."""

    foreign: ForeignStore
    names: KeptNames
    records: RecordStore
    clock: Clock

    async def take(self, chunks: AsyncIterator[bytes]) -> Imported:
        """Import a CAR. Raises ``Rejected``, ``Unavailable``."""
        try:
            return await self.foreign.add(chunks)
        except Unavailable:
            # What was begun lies in the file's write-ahead log. On a full disk that is the room that records
            # and the log of decisions need.
            with suppress(NodeError):
                await self.foreign.scrub()
            raise

    async def take_name(self, name: str, record: bytes) -> tuple[str, bool]:
        """Keep an IPNS record: the name in its usual form, and whether it was kept (False: a better one is).
        Raises ``Rejected``, ``Unavailable``."""
        parsed = IpnsName.parse(name)
        return parsed.text, await self.names.put(parsed, record, by_operator=True)

    async def page(self, after: int, scope: str) -> BlockPage:
        """What was written after sequence ``after`` (0 at first). Raises ``BadInput`` for a scope that is
        never written into a CAR."""
        if scope not in SCOPES:
            raise BadInput(
                "only public answers go into a CAR, or shared ones where it is said so",
                field="scope",
                limit="public or shared",
            )
        refs = (await self.records.block_changes(after, _NO_CHANGES, limit=PAGE_RECORDS)).written
        if not refs:
            return BlockPage((), None)
        blocks: list[tuple[Cid, bytes]] = []
        size, now = 0, self.clock.now()
        for ref in refs:
            if size >= PAGE_BYTES:
                return BlockPage(tuple(blocks), ref.number - 1)
            if ref.scope not in (SCOPE_PUBLIC, scope):
                continue
            try:
                record = (await self.records.get(ref.cid)).record
            except (NotFound, CorruptState):
                continue  # gone since the page was read; or damaged, which the store has logged
            if _is_wanted(record, scope, now):
                cid, data = block_of(record)
                blocks.append((cid, data))
                size += len(data)
        return BlockPage(tuple(blocks), refs[-1].number)


def _is_wanted(record: Record, scope: str, now: datetime) -> bool:
    if isinstance(record, KeyRecord):
        return record.scope == SCOPE_PUBLIC
    is_alive = record.expires is None or record.expires > now
    return isinstance(record, AnswerRecord) and record.scope == scope and is_alive


def listing(cids: Sequence[Cid], *, scope: str, time: datetime) -> list[tuple[Cid, bytes]]:
    """The blocks that lead to ``cids``, the root first."""
    common = {"v": 1, "kind": "export", "scope": scope, "time": format_time(time), "count": len(cids)}
    blocks: list[tuple[Cid, bytes]] = []
    later: CID | None = None
    for start in reversed(range(0, max(1, len(cids)), LINKS_MAX)):
        links = [CID(bytes(cid)) for cid in cids[start : start + LINKS_MAX]]
        data = dagcbor.encode({**common, "records": links, "next": later})
        cid = Cid.of(data)
        blocks.append((cid, data))
        later = CID(bytes(cid))
    return blocks[::-1]
