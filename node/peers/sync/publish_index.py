"""What the publications log has been read to say, in a file, so that a start reads only what came after it.

Promises: a copy, never a source: it names the tree that it was made from (its size and root), and whoever
reads it holds that to the log before anything of it counts; a file that is cut, damaged or of another form is
as good as none. Replaced whole, so that a kill leaves the old one or the new one.

Format: ``MAGIC``; five numbers of 8 bytes, big-endian, signed (entries, place in the store's sequence and in
its changes, how many were ever entered, how many are shared); the 32-byte root; then the digests of
everything that was ever entered, in order; for each that is shared its digest, when it was dated and when it
ends (seconds since 1970, -1 for not known and for never); SHA-256 of all that.
"""

from __future__ import annotations

import hashlib
import heapq
import struct
from dataclasses import dataclass, field
from pathlib import Path

from node.audit.log.reader import Source
from node.core.errors import Rejected
from node.core.files import put, translated
from node.core.signed_note import Checkpoint
from node.peers.rules.sorted_set import ID_BYTES, TIME_MAX, Item, SortedSet
from node.peers.sync.feed import Feed

MAGIC = b"neuroswarm publications index 1\n"
_HEAD = struct.Struct(">5q32s")
_ROW = struct.Struct(">32sqq")
_CHECK_BYTES = 32
_ABSENT = -1


@dataclass(slots=True)
class Shared:
    """``times``: what is entered, not taken back and not over, by the digest of its CID: when it was dated,
    seconds since 1970, or None where that is not known. ``ends``: a heap of when it is over. ``ever``:
    everything that was entered, whatever became of it."""

    times: dict[bytes, int | None] = field(default_factory=dict)
    ends: list[tuple[int, bytes]] = field(default_factory=list)
    ever: SortedSet = field(default_factory=SortedSet)

    def copy(self) -> Shared:
        """One that changes of this one do not reach."""
        return Shared(dict(self.times), list(self.ends), self.ever.snapshot())


@dataclass(frozen=True, slots=True)
class Place:
    """The first ``size`` entries of a log whose tree has this ``root`` (empty: not known), and how far the
    store was followed by then."""

    size: int
    root: bytes
    sequence: int
    change: int


NOWHERE = Place(0, b"", 0, 0)


def dump(place: Place, shared: Shared) -> bytes:
    """Inverse of ``load``."""
    count = len(shared.ever)
    ends = {digest: end for end, digest in shared.ends}
    head = _HEAD.pack(place.size, place.sequence, place.change, count, len(shared.times), place.root)
    rows = [
        _ROW.pack(digest, _ABSENT if time_s is None else time_s, ends.get(digest, _ABSENT))
        for digest, time_s in shared.times.items()
    ]
    body = b"".join((MAGIC, head, *shared.ever.ids(0, count), *rows))
    return body + hashlib.sha256(body).digest()


def load(data: bytes) -> tuple[Place, Shared]:
    """Raises ``Rejected``: it is no such file, or was damaged."""
    start = len(MAGIC) + _HEAD.size
    body, check = data[:-_CHECK_BYTES], data[-_CHECK_BYTES:]
    if len(data) < start + _CHECK_BYTES or not body.startswith(MAGIC):
        raise Rejected("it is no index of publications in a form that is known here")
    if hashlib.sha256(body).digest() != check:
        raise Rejected("it is damaged")
    size, sequence, change, ever, live, root = _HEAD.unpack_from(body, len(MAGIC))
    rows = start + ever * ID_BYTES
    if min(size, sequence, change, ever, live) < 0 or len(body) != rows + live * _ROW.size:
        raise Rejected("its numbers do not fit")
    shared = Shared()
    for at in range(start, rows, ID_BYTES):
        shared.ever.add(Item(0, body[at : at + ID_BYTES]))
    for digest, time_s, end in _ROW.iter_unpack(body[rows:]):
        if not _ABSENT <= time_s <= TIME_MAX:
            raise Rejected("it has a time that is none")
        shared.times[digest] = None if time_s == _ABSENT else time_s
        if end != _ABSENT:
            shared.ends.append((end, digest))
    heapq.heapify(shared.ends)
    return Place(size, root, sequence, change), shared


def dated(shared: Shared) -> SortedSet:
    """What is shared and dated, by when."""
    found = SortedSet()
    for digest, time_s in shared.times.items():
        if time_s is not None:
            found.add(Item(time_s, digest))
    return found


async def root_at(source: Source, note: bytes, size: int) -> bytes:
    """The root of the first ``size`` entries of our own log, proven by tiles that hash to the root in its
    newest checkpoint, ``note``. Raises ``Rejected`` (they do not, or the log is smaller), ``NotFound``,
    ``Unavailable``."""
    checkpoint = Checkpoint.of_note(note)
    if size > checkpoint.size:
        raise Rejected(f"the checkpoint covers {checkpoint.size} entries, not {size}")
    return await Feed(source, checkpoint).prefix_root(size)


def read(path: Path) -> tuple[Place, Shared] | None:
    """None where there is none. Blocking. Raises ``Rejected`` as ``load`` does, ``Unavailable``."""
    with translated(f"{path} cannot be read"):
        try:
            return load(path.read_bytes())
        except FileNotFoundError:
            return None


def write(path: Path, place: Place, shared: Shared) -> None:
    """In the place of the one before. Blocking. Raises ``Unavailable``."""
    put(path, dump(place, shared))
