"""Read a peer's log so that nothing of it is believed before its signed root stands for it.

Promises: a chunk leaves only if its entries, hashed on to what was read before, are the beginning of the tree
that the checkpoint's root is of; at most ``CHUNK_BUNDLES`` bundles and ``CHUNK_BYTES`` (one bundle more) are
in memory, however long the log is; a prefix that is said to differ was hashed up to the signed root.
Must not know: whose signature the checkpoint carries, what entries mean, what is done with them.

Source: RFC 6962 section 2.1 by way of ``node.core.merkle``; C2SP tlog-tiles.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass

from node.audit.log.reader import LogReader, Source, read_bundle, width_at
from node.audit.tlog.tiles import WIDTH
from node.core.errors import NotFound, Rejected
from node.core.merkle import check_consistency, leaf_hash, subtrees
from node.core.signed_note import Checkpoint
from node.peers.rules.edge import Edge

CHUNK_BUNDLES = 16
CHUNK_BYTES = 4 * 2**20
"""After this much no bundle is added to a chunk; one has at most 16 MiB."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Entries ``before.size`` and on, all of the tree that the checkpoint speaks of."""

    before: Edge
    entries: tuple[bytes, ...]

    @property
    def end(self) -> int:
        return self.before.size + len(self.entries)


class Feed:
    """One log at one checkpoint, for one round of reading."""

    def __init__(self, source: Source, checkpoint: Checkpoint) -> None:
        self.checkpoint = checkpoint
        self.reader = LogReader(source)
        self._source = source

    def at(self, checkpoint: Checkpoint) -> Feed:
        """The same log at another checkpoint."""
        return self if checkpoint == self.checkpoint else Feed(self._source, checkpoint)

    async def prefix_root(self, size: int) -> bytes:
        """The root of the first ``size`` entries, proven by tiles that hash to the checkpoint's root. Raises
        ``Rejected`` (they do not), ``NotFound`` (a tile is missing), ``Unavailable``."""
        whole = self.checkpoint.size
        edge = Edge(size, tuple([await self.reader.hash(*place, whole) for place in subtrees(0, size)]))
        after = [
            (level, await self.reader.hash(level, index, whole)) for level, index in subtrees(size, whole)
        ]
        if edge.joined(whole, after).root != self.checkpoint.root:
            raise Rejected("the tiles of the log do not hash to its signed root")
        return edge.root

    async def chunks(self, edge: Edge) -> AsyncGenerator[Chunk, None]:
        """What follows after ``edge``, in order. Raises ``Rejected`` (entries that the signed root does not
        stand for), ``Unavailable`` (also where a bundle or tile is missing)."""
        while edge.size < self.checkpoint.size:
            chunk, edge = await self._chunk(edge)
            yield chunk

    async def _chunk(self, edge: Edge) -> tuple[Chunk, Edge]:
        entries: list[bytes] = []
        taken = 0
        number, skip = divmod(edge.size, WIDTH)
        for at in range(number, number + CHUNK_BUNDLES):
            width = width_at(self.checkpoint.size, at)
            if not width or taken >= CHUNK_BYTES:
                break
            bundle = (await read_bundle(self._source, at, width))[skip:]
            skip = 0
            entries += bundle
            taken += sum(map(len, bundle))
        grown = edge.grown([leaf_hash(entry) for entry in entries])
        await self._check(grown)
        return Chunk(edge, tuple(entries)), grown

    async def _check(self, edge: Edge) -> None:
        """Raise ``Rejected`` unless the edge is of the tree that the checkpoint speaks of."""
        whole = self.checkpoint
        proof = await self.reader.consistency(edge.size, whole.size)
        try:
            check_consistency(edge.size, edge.root, whole.size, whole.root, proof)
        except Rejected as exc:
            raise Rejected(f"the entries up to {edge.size} do not hash to the log's signed root") from exc


async def contradicts(feed: Feed, older: Checkpoint) -> bool:
    """Whether the tree of ``feed`` is proven to go on from another one than ``older``, or to be another one
    of the same size. Raises as ``prefix_root`` does where nothing can be proven; ``Rejected`` also where
    ``older`` is the larger one."""
    newer = feed.checkpoint
    if older.size > newer.size:
        raise Rejected(f"a log of {newer.size} entries cannot go on from one of {older.size}")
    if older.size == newer.size:
        return older.root != newer.root
    return await feed.prefix_root(older.size) != older.root


async def is_disproved(feed: Feed, smaller: Checkpoint) -> bool:
    """``contradicts`` as far as the tiles that are to be had tell; False where they tell nothing."""
    try:
        return await contradicts(feed, smaller)
    except (NotFound, Rejected):
        return False
