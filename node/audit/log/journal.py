"""What makes entries durable before they are published: segments of frames, one frame and one sync for a
batch.

Promises:
1. ``write`` returns after the batch is synced; then it is found again at every later opening.
2. A frame is written only after the one before it was synced. So at opening a bad frame with nothing valid
   after it is what a crash leaves and is cut; a bad frame with valid ones after it is damage:
   ``CorruptState``, and nothing is touched.
3. After a failed write or sync the segment is given up (the kernel may take unwritten pages for clean) and
   the next batch begins a new one. A segment counts only up to the first index of the next one: what an
   abandoned segment may still hold from there on was never acknowledged.
4. Segments are removed oldest first, each removal durable before the next.

Format: ``journal/<20 digits: index of its first entry>`` is a row of frames. A frame is 8 bytes of magic, the
index of its first entry (8), its number of entries (4) and of payload bytes (4), all big-endian, the SHA-256
(32) of the origin, LF, these 24 bytes and the payload; then the payload: for each entry its length (2) and
its bytes.

Blocking. ``write`` and ``discard`` may be called by two threads, one each. Must not know what entries mean.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import struct
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from node.audit.tlog.tiles import ENTRY_BYTES_MAX, decode_bundle, encode_bundle
from node.core.errors import CorruptState, Rejected
from node.core.files import Files

FRAME_ENTRIES_MAX = 256
SEGMENT_BYTES = 2**20
SEGMENT_ENTRIES = 4_096
"""A segment that has reached one of these is the last but one: the next batch begins another."""

_MAGIC = b"\xd3tlogj1\n"
"""Its first byte is in no ASCII text, so no entry in canonical JSON holds a frame."""
_HEADER = struct.Struct(">8sQII")
_DIGEST_BYTES = 32
_PREFIX_BYTES = _HEADER.size + _DIGEST_BYTES
_PAYLOAD_BYTES_MAX = FRAME_ENTRIES_MAX * (2 + ENTRY_BYTES_MAX)
_FILE_BYTES_MAX = SEGMENT_BYTES + _PREFIX_BYTES + _PAYLOAD_BYTES_MAX
_NAME = re.compile(r"[0-9]{20}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Segment:
    """A file of the journal: entries ``[first, end)`` count."""

    path: Path
    first: int
    end: int


@dataclass(frozen=True, slots=True)
class Found:
    """What a journal holds: entries ``[first, first + len(entries))`` and how many bytes of a torn end."""

    first: int
    entries: list[bytes]
    segments: list[Segment]
    bytes_cut: int = 0
    good_bytes: int = 0
    """Where the last segment's valid frames end."""

    @property
    def end(self) -> int:
        return self.first + len(self.entries)


def encode_frame(origin: str, first: int, entries: Sequence[bytes]) -> bytes:
    """One batch. Raises ``Rejected`` for an entry over ``ENTRY_BYTES_MAX``."""
    payload = encode_bundle(entries)
    header = _HEADER.pack(_MAGIC, first, len(entries), len(payload))
    return header + _digest(origin, header, payload) + payload


def decode_frame(origin: str, data: bytes, at: int) -> tuple[int, list[bytes], int] | None:
    """(first index, entries, offset of its end) of the frame at ``at``, or None where no valid one begins."""
    start = at + _PREFIX_BYTES
    if start > len(data):
        return None
    magic, first, count, length = _HEADER.unpack_from(data, at)
    if magic != _MAGIC or not 0 < count <= FRAME_ENTRIES_MAX or length > len(data) - start:
        return None
    header, payload = data[at : at + _HEADER.size], data[start : start + length]
    if _digest(origin, header, payload) != data[at + _HEADER.size : start]:
        return None
    try:
        return first, decode_bundle(payload, count), start + length
    except Rejected:
        return None


def find(files: Files, directory: Path, origin: str) -> Found:
    """Read and check the whole journal, which is bounded by what waits for publication; changes nothing.

    Raises ``CorruptState`` (damage), ``OSError``.
    """
    names = [name for name in files.names(directory) if _NAME.fullmatch(name)]
    if not names:
        return Found(0, [], [])
    firsts = [int(name) for name in names]
    found = Found(firsts[0], [], [])
    for name, first, limit in zip(names, firsts, [*firsts[1:], None], strict=True):
        path = directory / name
        data = files.read(path, _FILE_BYTES_MAX)
        if len(data) > _FILE_BYTES_MAX:
            raise _damage(path, f"it is longer than {_FILE_BYTES_MAX} bytes")
        entries, at = _frames(origin, data, path, first, limit)
        found.entries.extend(entries)
        found.segments.append(Segment(path, first, first + len(entries)))
        if limit is None:
            return Found(found.first, found.entries, found.segments, len(data) - at, at)
    return found


def loose_entries(files: Files, directory: Path, origin: str) -> dict[int, bytes]:
    """By index the entries in every valid frame that the journal has, whatever lies between; for those who
    look for what can be saved. A file that cannot be read is passed over."""
    entries: dict[int, bytes] = {}
    try:
        names = [name for name in files.names(directory) if _NAME.fullmatch(name)]
    except OSError:
        return entries
    for name in names:
        try:
            data = files.read(directory / name, _FILE_BYTES_MAX)
        except OSError:
            continue
        for first, some in _valid_frames(origin, data):
            entries.update(enumerate(some, first))
    return entries


def mend(files: Files, directory: Path, origin: str, size: int) -> bool:
    """Of a damaged journal keep what is not under the checkpoint of ``size`` entries, if all of that can be
    read; whether it can. The damaged frames are of entries that are published then. Raises ``OSError``."""
    names = [name for name in files.names(directory) if _NAME.fullmatch(name)]
    held: dict[int, bytes] = {}
    for name, limit in zip(names, [*map(int, names[1:]), None], strict=True):
        for first, entries in _valid_frames(origin, files.read(directory / name, _FILE_BYTES_MAX)):
            held.update({n: one for n, one in enumerate(entries, first) if limit is None or n < limit})
    end = max(held, default=-1) + 1
    if any(index not in held for index in range(size, end)):
        return False
    if end > size:
        waiting = [held[index] for index in range(size, end)]
        parts = range(0, len(waiting), FRAME_ENTRIES_MAX)
        frames = [encode_frame(origin, size + at, waiting[at : at + FRAME_ENTRIES_MAX]) for at in parts]
        files.replace(directory / f"{size:020}", b"".join(frames))
    for name in names:
        if int(name) != size or end <= size:
            files.unlink(directory / name)
    files.sync_directory(directory)
    return True


def _valid_frames(origin: str, data: bytes) -> Iterator[tuple[int, list[bytes]]]:
    """(first index, entries) of each, whatever lies between them."""
    at = data.find(_MAGIC)
    while at >= 0:
        frame = decode_frame(origin, data, at)
        if frame is not None:
            yield frame[:2]
        at = data.find(_MAGIC, at + 1 if frame is None else frame[2])


def first_index(files: Files, directory: Path) -> int | None:
    """The index of the first entry that the journal may hold; None where it is empty or absent."""
    try:
        return next((int(name) for name in files.names(directory) if _NAME.fullmatch(name)), None)
    except OSError:
        return None


class Journal:
    """The open journal. ``size`` is the index of the next entry."""

    def __init__(self, files: Files, directory: Path, origin: str, size: int) -> None:
        self.size = size
        self._files = files
        self._directory = directory
        self._origin = origin
        self._lock = threading.Lock()
        self._segments: list[Segment] = []
        self._fd: int | None = None
        self._first = 0
        self._length = 0

    @classmethod
    def open(cls, files: Files, directory: Path, origin: str, found: Found, size: int) -> Journal:
        """Go on at ``size`` after what ``find`` has found: cut the torn end, make the rest durable.

        The rest may come from a process that was killed before its sync. Raises ``OSError``.
        """
        if found.segments:
            fd = files.reopen(found.segments[-1].path)
            try:
                if found.bytes_cut:
                    files.truncate(fd, found.good_bytes)
                files.sync(fd)
            finally:
                files.close(fd)
        files.sync_directory(directory)
        journal = cls(files, directory, origin, size)
        journal._segments = list(found.segments)
        if found.end < size:  # all of it is published; what follows would leave a gap
            while journal._segments:
                journal._remove_oldest()
        return journal

    def write(self, entries: Sequence[bytes]) -> None:
        """Append a batch of 1 … 256 entries and sync. Raises ``OSError``; then none of it counts."""
        frame = encode_frame(self._origin, self.size, entries)
        fd = self._begin() if self._fd is None else self._fd
        try:
            self._files.write(fd, frame, self._length)
            self._files.sync(fd)
        except OSError:
            self._give_up(fd)
            raise
        self._length += len(frame)
        self.size += len(entries)
        if self._length >= SEGMENT_BYTES or self.size - self._first >= SEGMENT_ENTRIES:
            self._end(fd)

    def discard(self, published: int) -> None:
        """Remove the finished segments whose entries are all under a durable checkpoint of ``published``
        entries.

        Raises ``OSError``.
        """
        while True:
            with self._lock:
                oldest = self._segments[0] if self._segments else None
            # An empty one is the last, and its name is that of the next segment.
            if oldest is None or oldest.end > published or oldest.first == oldest.end:
                return
            self._remove_oldest()

    def close(self) -> None:
        if self._fd is not None:
            self._end(self._fd)

    def _remove_oldest(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            self._files.unlink(self._segments[0].path)
        self._files.sync_directory(self._directory)
        with self._lock:
            self._segments.pop(0)

    def _begin(self) -> int:
        """A new segment at ``size``, its name durable. Raises ``OSError``."""
        path = self._directory / f"{self.size:020}"
        with contextlib.suppress(FileNotFoundError):
            self._files.unlink(path)  # a segment of this name holds nothing that was acknowledged
        with self._lock:
            self._segments = [one for one in self._segments if one.path != path]
        fd = self._files.create(path)
        try:
            self._files.sync(fd)
            self._files.sync_directory(self._directory)
        except OSError:
            self._files.close(fd)
            raise
        self._fd, self._first, self._length = fd, self.size, 0
        return fd

    def _give_up(self, fd: int) -> None:
        with contextlib.suppress(OSError):  # the next segment's name says the same
            self._files.truncate(fd, self._length)
            self._files.sync(fd)
        self._end(fd)

    def _end(self, fd: int) -> None:
        self._fd = None
        with self._lock:
            self._segments.append(Segment(self._directory / f"{self._first:020}", self._first, self.size))
        with contextlib.suppress(OSError):  # all that counts was synced before
            self._files.close(fd)


def _frames(origin: str, data: bytes, path: Path, first: int, limit: int | None) -> tuple[list[bytes], int]:
    """The entries of a segment up to index ``limit``, and where its valid frames end.

    Raises ``CorruptState``.
    """
    entries: list[bytes] = []
    at = 0
    while limit is None or first + len(entries) < limit:
        frame = decode_frame(origin, data, at)
        if frame is None:
            break
        start, more, at = frame
        if start != first + len(entries):
            raise _damage(path, f"entry {start} stands where entry {first + len(entries)} should")
        entries.extend(more)
    end = first + len(entries)
    if limit is not None and end != limit:
        raise _damage(path, f"the frame of entry {end} is not valid, and later ones are there")
    if limit is None and _has_frame(origin, data, at + 1):
        raise _damage(path, f"the frame of entry {end} is not valid, and valid ones follow it")
    return entries, at


def _has_frame(origin: str, data: bytes, at: int) -> bool:
    while (at := data.find(_MAGIC, at)) >= 0:
        if decode_frame(origin, data, at) is not None:
            return True
        at += 1
    return False


def _digest(origin: str, header: bytes, payload: bytes) -> bytes:
    return hashlib.sha256(origin.encode() + b"\n" + header + payload).digest()


def _damage(path: Path, what: str) -> CorruptState:
    return CorruptState(
        f"{path} is damaged: {what}. Nothing was changed. Restore the log's folder from a copy, or run: "
        "neuroswarm log recover --new-epoch"
    )
