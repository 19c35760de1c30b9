"""A vector index on disk: one file per embedding model, written whole, believed only when whole.

The file saves re-reading every record at start. It is a copy: what is damaged, of another
model or of another format is reported as such and the index is rebuilt from the records.
``save`` and ``load_into`` block: a coroutine calls them through ``asyncio.to_thread``.

Format ``index/v1``, numbers little endian:

====== ============ ==============================================================================
offset bytes        what
====== ============ ==============================================================================
0      8            magic ``NSWINDEX``
8      4            format version, 1
12     4            dim
16     32           SHA-256 of the embedding model's weights
48     8            watermark: the record store's sequence up to which records are in the file
56     8            watermark: the store's change number up to which withdrawals are in the file
64     ...          blocks, each with rows of one (scope, context):
                    4 rows n (1 ... 4,096); 2 length of scope, scope in UTF-8;
                    2 length of context, or 65,535 for none, context in UTF-8;
                    n times: 1 length of CID, binary CID; then n x dim float32
...    4            0: no more blocks
...    8            number of rows in all blocks
...    32           SHA-256 of everything before; nothing follows
====== ============ ==============================================================================

Whoever saves reads the two watermarks first and the index afterwards: a row newer than its
watermark is added once more on replay, which changes nothing. The file may hold vectors that no record has:
those of questions that were embedded anew for this model (``vectors``).
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import struct
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

import numpy as np
from numpy.typing import NDArray

from node.cache.index.flat_index import Partition, Rows
from node.core.errors import Rejected, Unavailable
from node.core.files import DISK
from node.core.ipld.cid import Cid

VERSION = 1
SUFFIX = ".nswindex"

_MAGIC = b"NSWINDEX"
_HEADER = struct.Struct("<8sII32sQQ")
U16 = struct.Struct("<H")
U32 = struct.Struct("<I")
U64 = struct.Struct("<Q")
_NO_CONTEXT = 0xFFFF
_BLOCK_ROWS_MAX = 4_096
_SAVE_ROWS = 1_024
_CID_BYTES_MAX = 64


class RowIndex(Protocol):
    """What is saved and loaded."""

    @property
    def dim(self) -> int: ...

    def __len__(self) -> int: ...

    def rows(self, chunk: int) -> Iterator[Rows]: ...

    def extend(
        self, cids: Sequence[Cid], vectors: NDArray[np.float32], *, scope: str, context: str | None
    ) -> None: ...


@dataclass(frozen=True, slots=True)
class Watermarks:
    """From where the record store is replayed."""

    sequence: int
    change: int


@dataclass(frozen=True, slots=True)
class Damaged:
    """The file is absent, not whole, or not for this model; rebuild from the records."""

    reason: str


def path_for(directory: Path, model_digest: str) -> Path:
    """The file of the model with these weights (hex SHA-256)."""
    return directory / f"{digest_bytes(model_digest).hex()}{SUFFIX}"


def digest_bytes(model_digest: str) -> bytes:
    """Of hex SHA-256. Raises ``Rejected``."""
    try:
        digest = bytes.fromhex(model_digest)
    except ValueError:
        digest = b""
    if len(digest) != 32:
        raise Rejected("an index file is named after the hex SHA-256 of its embedding model")
    return digest


# --- writing --------------------------------------------------------------------------------------


class _HashingWriter:
    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._hash = hashlib.sha256()

    def write(self, data: bytes) -> None:
        self._hash.update(data)
        self._file.write(data)

    def seal(self) -> None:
        self._file.write(self._hash.digest())


def short_text(text: str | None) -> bytes:
    """Length and UTF-8 of a scope or context. Raises ``Rejected``."""
    if text is None:
        return U16.pack(_NO_CONTEXT)
    data = text.encode()
    if len(data) >= _NO_CONTEXT:
        raise Rejected("a scope or context is too long for an index file")
    return U16.pack(len(data)) + data


def short_cid(cid: Cid) -> bytes:
    """Length and bytes of a CID."""
    data = bytes(cid)
    return bytes((len(data),)) + data


def short_texts(reader: HashingReader) -> Partition:
    """What ``short_text`` wrote of a scope and a context. Raises ``Rejected``."""
    scope = reader.text(reader.whole(U16))
    length = reader.whole(U16)
    return scope, None if length == _NO_CONTEXT else reader.text(length)


def _block(rows: Rows) -> bytes:
    return b"".join(
        (
            U32.pack(len(rows.cids)),
            short_text(rows.scope),
            short_text(rows.context),
            *map(short_cid, rows.cids),
            rows.vectors.astype("<f4", copy=False).tobytes(),
        )
    )


def save(path: Path, index: RowIndex, *, model_digest: str, sequence: int, change: int) -> None:
    """Replace ``path`` as ``replacing`` does. The index may change meanwhile. Raises ``Unavailable``."""
    digest = digest_bytes(model_digest)
    with replacing(path, "the vector index") as temporary, temporary.open("r+b") as file:
        writer = _HashingWriter(file)
        writer.write(_HEADER.pack(_MAGIC, VERSION, index.dim, digest, sequence, change))
        count = 0
        for rows in index.rows(_SAVE_ROWS):
            writer.write(_block(rows))
            count += len(rows.cids)
        writer.write(U32.pack(0) + U64.pack(count))
        writer.seal()


@contextlib.contextmanager
def replacing(path: Path, what: str) -> Iterator[Path]:
    """A temporary name to be written and closed in the body; afterwards it replaces ``path`` atomically and
    durably. On any failure the old file stays as it was. Raises ``Unavailable``, which names ``what``."""
    temporary = path.with_name(f"{path.name}.tmp")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            temporary.unlink(missing_ok=True)
            # Vectors tell something about the texts behind them: for the owner's eyes only.
            os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            yield temporary
            with temporary.open("rb") as written:
                os.fsync(written.fileno())
            temporary.replace(path)
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise
        DISK.sync_directory(path.parent)
    except OSError as exc:
        raise Unavailable(f"{what} cannot be saved to {path}: {exc.strerror}") from exc


def remove_others(path: Path) -> int:
    """Delete every other index file beside ``path``, temporary ones included; how many. Raises
    ``Unavailable``."""
    return remove_files(path.parent, f"*{SUFFIX}", (path,), "old vector indexes")


def remove_files(directory: Path, named: str, keep: Container[Path], what: str) -> int:
    """Delete the files of such names but those, unfinished ones included; how many. Raises
    ``Unavailable``."""
    try:
        found = [other for end in ("", ".tmp") for other in directory.glob(named + end) if other not in keep]
        for other in found:
            other.unlink(missing_ok=True)
    except OSError as exc:
        raise Unavailable(f"{what} in {directory} cannot be removed: {exc.strerror}") from exc
    return len(found)


# --- reading --------------------------------------------------------------------------------------


class HashingReader:
    """Exact reads; a short one is damage."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._hash = hashlib.sha256()

    def take(self, count: int) -> bytes:
        data = self._file.read(count)
        if len(data) != count:
            raise Rejected("it is cut off")
        self._hash.update(data)
        return data

    def header(self, layout: struct.Struct, magic: bytes, what: str, digest: bytes, dim: int) -> list[int]:
        """What a header says behind magic, version, dimension and model, which must be these."""
        found, version, found_dim, found_digest, *rest = layout.unpack(self.take(layout.size))
        if found != magic:
            raise Rejected(f"it is not {what}")
        if version != VERSION:
            raise Rejected(f"its format is version {version}, not {VERSION}")
        if found_digest != digest:
            raise Rejected("it belongs to another embedding model")
        if found_dim != dim:
            raise Rejected(f"its vectors have {found_dim} dimensions, not {dim}")
        return rest

    def cid(self) -> Cid:
        """What ``short_cid`` wrote."""
        length = self.take(1)[0]
        if not 1 <= length <= _CID_BYTES_MAX:
            raise Rejected("a CID has the wrong length")
        return Cid.from_bytes(self.take(length))

    def whole(self, layout: struct.Struct) -> int:
        (value,) = layout.unpack(self.take(layout.size))
        return int(value)

    def text(self, length: int) -> str:
        try:
            return self.take(length).decode()
        except UnicodeDecodeError as exc:
            raise Rejected("a scope or context is not UTF-8") from exc

    def check_seal(self) -> None:
        expected = self._hash.digest()
        if self._file.read(len(expected)) != expected:
            raise Rejected("its SHA-256 does not match")
        if self._file.read(1):
            raise Rejected("something follows its end")


def load_into(index: RowIndex, path: Path, *, model_digest: str) -> Watermarks | Damaged:
    """Read the rows of this model and dimension into an empty index; whatever is wrong with the file is a
    ``Damaged`` with the reason, and then the index is not to be used. Memory: the index and one block."""
    try:
        with path.open("rb") as file:
            return _read(HashingReader(file), digest_bytes(model_digest), index)
    except FileNotFoundError:
        return Damaged("there is no index file yet")
    except OSError as exc:
        return Damaged(f"the index file cannot be read: {exc.strerror}")
    except Rejected as exc:
        return Damaged(f"the index file is not usable: {exc}")


def _read(reader: HashingReader, digest: bytes, index: RowIndex) -> Watermarks:
    """Steps: 1 magic, version, model and dimension; 2 blocks, each row checked as any other;
    3 row count; 4 SHA-256 and end of file. Nothing is returned before step 4."""
    dim = index.dim
    sequence, change = reader.header(_HEADER, _MAGIC, "an index file", digest, dim)
    while count := reader.whole(U32):
        if count > _BLOCK_ROWS_MAX:
            raise Rejected(f"a block claims {count} rows")
        scope, context = short_texts(reader)
        cids = [reader.cid() for _ in range(count)]
        vectors = np.frombuffer(reader.take(count * dim * 4), "<f4").reshape(count, dim)
        index.extend(cids, vectors.astype(np.float32, copy=False), scope=scope, context=context)
    if reader.whole(U64) != len(index):
        raise Rejected("its row count is wrong")
    reader.check_seal()
    return Watermarks(sequence, change)
