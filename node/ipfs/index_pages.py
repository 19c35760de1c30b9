"""The blocks of a node's head: what the node stands for at one moment, and its index of public answers.

    head   {v: 1, issuer, name, time, publications: link | null, decisions: link | null, index: link}
    index  {"3fa": link, …}: the first three hex digits of query hashes → a page
    page   {query hash: link to the newest public answer record of that question, …}

All canonical DAG-CBOR, so that the path ``/ipns/<name>/index/<3 digits>/<query hash>/answer`` leads any IPFS
client from a question to its answer. A query hash is the hex SHA-256 of the normalised question.

Rules: equal answers give equal pages; only pages that changed are written; memory is bounded by one batch and
one page, however many answers there are. A page has at most ``PAGE_ENTRIES_MAX`` answers, which is enough for
9.8 million; what is left out is counted.
``parse_…`` treat their input as hostile. Must not know: who signs, when it is done, who is told.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass

from node.core.errors import Rejected
from node.core.ipld import dagcbor
from node.core.ipld.cid import DAG_CBOR, Cid
from node.core.ipld.dagcbor import link
from node.core.ports import BlockStore, RecordStore

VERSION = 1
DIGITS = 3
PAGE_ENTRIES_MAX = 2_400
"""An entry takes 107 bytes and a block 256 KiB."""
BATCH = 2_000
"""Answers that are read at once."""
AT_ONCE = 16
"""Pages on their way into the store together: they share a sync."""

_PREFIX = re.compile(rf"[0-9a-f]{{{DIGITS}}}\Z")
_FIELDS = frozenset({"v", "issuer", "name", "time", "publications", "decisions", "index"})
_TEXT_CHARS_MAX = 256

Answers = Sequence[tuple[str, Cid]]


@dataclass(frozen=True, slots=True)
class HeadBlock:
    """``issuer``: the root's did:key; ``name``: the IPNS name that this head was made for; ``time``: ISO 8601
    UTC; ``publications``, ``decisions``: the newest heads of the logs' blocks; ``index``: the index."""

    issuer: str
    name: str
    time: str
    publications: Cid | None
    decisions: Cid | None
    index: Cid

    def encode(self) -> bytes:
        """The block's bytes."""
        return dagcbor.encode(
            {
                "v": VERSION,
                "issuer": self.issuer,
                "name": self.name,
                "time": self.time,
                "publications": link(self.publications),
                "decisions": link(self.decisions),
                "index": link(self.index),
            }
        )

    @classmethod
    def parse(cls, data: bytes) -> HeadBlock:
        """Inverse of ``encode``. Raises ``Rejected``."""
        value = dagcbor.decode(data)
        if not isinstance(value, dict) or value.keys() != _FIELDS or value["v"] != VERSION:
            raise Rejected("not the head of a node, version 1")
        if not all(
            isinstance(value[name], str) and 0 < len(value[name]) <= _TEXT_CHARS_MAX
            for name in ("issuer", "name", "time")
        ):
            raise Rejected("a head without issuer, name or time")
        publications, decisions = (
            None if value[name] is None else _cid(value[name]) for name in ("publications", "decisions")
        )
        return cls(
            value["issuer"],
            value["name"],
            value["time"],
            publications,
            decisions,
            _cid(value["index"]),
        )


@dataclass(frozen=True, slots=True)
class Index:
    """An index whose blocks are stored. ``pages``: three digits → page; ``written``: how many of them were
    not in the index before; ``left_out``: how many answers had no room in their page."""

    cid: Cid
    pages: Mapping[str, Cid]
    written: int = 0
    left_out: int = 0


def encode_page(answers: Answers) -> bytes:
    """One page's bytes."""
    return dagcbor.encode({query_hash: link(cid) for query_hash, cid in answers})


def encode_index(pages: Mapping[str, Cid]) -> bytes:
    """The index's bytes, for all 4,096 pages 184 KB."""
    return dagcbor.encode({prefix: link(cid) for prefix, cid in pages.items()})


def parse_index(data: bytes) -> dict[str, Cid]:
    """Three digits → page. Raises ``Rejected``."""
    value = dagcbor.decode(data)
    if not isinstance(value, dict) or not all(_PREFIX.match(name) for name in value):
        raise Rejected("not an index of public answers")
    return {name: _cid(one) for name, one in value.items()}


async def build(records: RecordStore, blocks: BlockStore, before: Mapping[str, Cid]) -> Index:
    """Store the pages of what is public now and the index of them. ``before``: the pages that are stored
    already. Raises ``Unavailable``."""
    pages: dict[str, Cid] = {}
    left_out = written = 0
    waiting: list[tuple[Cid, bytes]] = []
    async for prefix, answers, more in _buckets(records):
        left_out += more
        data = encode_page(answers)
        pages[prefix] = cid = Cid.of(data)
        if before.get(prefix) != cid:
            written += 1
            waiting.append((cid, data))
        if len(waiting) == AT_ONCE:
            await _put(blocks, waiting)
            waiting = []
    data = encode_index(pages)
    cid = Cid.of(data)
    await _put(blocks, [*waiting, (cid, data)])
    return Index(cid, pages, written, left_out)


async def _buckets(records: RecordStore) -> AsyncIterator[tuple[str, Answers, int]]:
    """The public answers by the beginnings of their query hashes, in order: as many as a page holds, and how
    many more there are."""
    first, prefix, more = "", "", 0
    bucket: list[tuple[str, Cid]] = []
    while True:
        some = await records.public_answers(first, "", limit=BATCH)
        for query_hash, cid in some:
            if query_hash[:DIGITS] != prefix:
                if bucket:
                    yield prefix, bucket, more
                prefix, bucket, more = query_hash[:DIGITS], [], 0
            if len(bucket) < PAGE_ENTRIES_MAX:
                bucket.append((query_hash, cid))
            else:
                more += 1
        if len(some) < BATCH:
            break
        first = some[-1][0] + "0"  # greater than that hash and than no other
    if bucket:
        yield prefix, bucket, more


async def _put(blocks: BlockStore, some: Sequence[tuple[Cid, bytes]]) -> None:
    for outcome in await asyncio.gather(
        *(blocks.put(cid, data) for cid, data in some), return_exceptions=True
    ):
        if outcome is not None:
            raise outcome


def _cid(value: object) -> Cid:
    return dagcbor.linked(value, DAG_CBOR, "a head")
