"""The blocks that name a log's blocks: a linked list from which any IPFS client reads a whole log.

A head is canonical DAG-CBOR:

    {v: 1, origin, size, checkpoint: link | null, new: {path: link | [link, …]}, prev: link | null}

``new`` has the files of the log's folder that no block before this one names, each as a raw block, or as
several whose bytes follow each other. ``prev`` is a *page*: a head without a checkpoint that names what
became complete with ``PAGE_ENTRIES`` entries, always the same ones, so that the pages of a log have the same
CIDs whoever makes them. The pages stay; the newest head, with checkpoint and right edge, is replaced by the
next. Where a log began a new epoch, ``prev`` leads to the last head of the epoch before, whose origin is
another one.

Bounded: a page names at most 17 blocks for each of 256 bundles, about 200 KB, below a block's 256 KiB.
Pure. ``parse`` treats its input as hostile.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from node.audit.tlog.tiles import WIDTH, Tile, tiles_between
from node.core.errors import Rejected
from node.core.ipld import dagcbor
from node.core.ipld.cid import DAG_CBOR, RAW, Cid
from node.core.ipld.dagcbor import link

VERSION = 1
PAGE_ENTRIES = WIDTH * WIDTH
PART_BYTES_MAX = 2**20 - 2**12
"""Every IPFS implementation takes blocks of 1 MiB; js-ipfs only with what is around them in a request."""

BESIDE = ("vkey", "checkpoint.witnessed")
"""The files of a log's folder that are no tiles; where there, each head names them as they then are."""

_FIELDS = frozenset({"v", "origin", "size", "checkpoint", "new", "prev"})
_ORIGIN_CHARS_MAX = 1_024
_SIZE_MAX = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Head:
    """One block of the list. ``new``: path → the blocks of its bytes, in order."""

    origin: str
    size: int
    checkpoint: Cid | None
    new: Mapping[str, tuple[Cid, ...]]
    prev: Cid | None

    @property
    def links(self) -> frozenset[Cid]:
        """The blocks of the files that it names; not ``prev``."""
        files = {cid for cids in self.new.values() for cid in cids}
        return frozenset(files if self.checkpoint is None else files | {self.checkpoint})

    def encode(self) -> bytes:
        """The block's bytes. Raises ``Rejected`` over the size of a block."""
        return dagcbor.encode(
            {
                "v": VERSION,
                "origin": self.origin,
                "size": self.size,
                "checkpoint": link(self.checkpoint),
                "new": {
                    path: link(cids[0]) if len(cids) == 1 else [link(cid) for cid in cids]
                    for path, cids in self.new.items()
                },
                "prev": link(self.prev),
            }
        )

    @classmethod
    def parse(cls, data: bytes) -> Head:
        """Inverse of ``encode``. Raises ``Rejected``."""
        value = dagcbor.decode(data)
        if not isinstance(value, dict) or value.keys() != _FIELDS or value["v"] != VERSION:
            raise Rejected("not a log head of version 1")
        origin, size, new = value["origin"], value["size"], value["new"]
        if not isinstance(origin, str) or not 0 < len(origin) <= _ORIGIN_CHARS_MAX:
            raise Rejected("a log head without an origin")
        if type(size) is not int or not 0 <= size <= _SIZE_MAX or not isinstance(new, dict):
            raise Rejected("a log head without size or files")
        files = {}
        for path, links in new.items():
            if path not in BESIDE:
                Tile.parse(path)
            if links == []:
                raise Rejected("a log head names a file without blocks")
            files[path] = tuple(_cid(one, RAW) for one in (links if isinstance(links, list) else [links]))
        return cls(
            origin,
            size,
            None if value["checkpoint"] is None else _cid(value["checkpoint"], RAW),
            files,
            None if value["prev"] is None else _cid(value["prev"], DAG_CBOR),
        )


def completed_between(old: int, new: int) -> list[str]:
    """The paths of the tiles and bundles that became complete between two sizes."""
    return [tile.path for tile in tiles_between(old, new) if tile.is_full]


def split(data: bytes) -> list[bytes]:
    """A file's bytes as the parts that become its blocks; an empty file has one."""
    return [data[at : at + PART_BYTES_MAX] for at in range(0, len(data), PART_BYTES_MAX)] or [b""]


def part_of(data: bytes, number: int) -> bytes:
    """One of these parts."""
    return data[number * PART_BYTES_MAX : (number + 1) * PART_BYTES_MAX]


def _cid(value: object, codec: int) -> Cid:
    return dagcbor.linked(value, codec, "a log head")
