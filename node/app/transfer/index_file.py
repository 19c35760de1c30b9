"""``knowledge-index.json``: the portable index and the legacy format, read as a stream, written atomically.

The form written is ``{"version": 1, "model": …, "entries": [{"cid", "query_hash", "query", "answer"?,
"source", "confidence", "timestamp", "expires"?, "embedding"?}]}``; an embedding is a list of floats or base64
of float32, little endian. ``"embed_at_import": true`` (the starter index) asks that entries without an
embedding get one in the node that imports them. Also read: a top-level list of entries, and an object of
entries by hash.

Promises:
1. Memory is bounded whatever the size of the file: entries come one by one, and a rewrite copies from the old
   file what it does not change.
2. Nothing is lost: ``OpenIndex.rewrite`` changes single values in place; unknown keys, order, white space,
   entries that cannot be used, equal keys and numbers of any length come out byte for byte.
3. An unusable entry is reported with its position (from 0) and skipped; it never stops the others.
4. A file of more than 4 GiB, and an entry of more than 256 KiB, is refused.

``json_scan`` finds the entries and not ijson, because promise 2 needs to know at which byte a value begins
and ends. ijson tells no positions, and its values do not lead back to the text: ``1e5`` becomes ``1E+5``, an
escaped letter the letter.

Blocking: call it in a thread. Knows nothing of records or stores.
"""

from __future__ import annotations

import contextlib
import fcntl
import glob
import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NoReturn, TypeAlias

import orjson

from node.app.transfer.index_entry import (
    ENTRY_BYTES_MAX,
    MODEL_KEY,
    IndexEntry,
    Place,
    encode_bytes,
    read_place,
    to_map,
)
from node.app.transfer.json_scan import NotJson, Part, Scanner, members_of
from node.core.clock import new_id
from node.core.errors import CorruptState, NotFound, Rejected, Unavailable
from node.core.files import DISK, FILE_MODE

VERSION = 1
FILE_BYTES_MAX = 4 * 2**30

_RAW_BYTES_MAX = 4 * ENTRY_BYTES_MAX
"""An entry's text with white space and escapes; ``ENTRY_BYTES_MAX`` counts without them."""
_COPY_BYTES = 1 << 20
_OPEN_ATTEMPTS = 8
_EMBED_KEY = "embed_at_import"
_BRACKET, _BRACE = ord("["), ord("{")

Watch: TypeAlias = Callable[[int], None]
"""Called now and then with the number of bytes read; what it raises ends the reading."""


@dataclass(frozen=True, slots=True)
class Layout:
    """What a file is. ``form``: entries, list, by_hash. ``model`` is the file's, which only the form
    ``entries`` has; ``model_at``: the bytes of its value; ``top``: behind the opening bracket. ``embed``: the
    file asks that its entries get embeddings at the import."""

    form: str
    count: int
    digest: str
    model: str | None = None
    model_at: tuple[int, int] | None = None
    top: int = 0
    embed: bool = False


@dataclass(frozen=True, slots=True)
class Edit:
    """Bytes ``start`` to ``end`` of the old file become ``data``."""

    start: int
    end: int
    data: bytes


# --- reading --------------------------------------------------------------------------------------


class OpenIndex:
    """An index file that is open, checked to be JSON as a whole, and read as often as need be. Build with
    ``open``; also a context manager."""

    def __init__(self, path: Path, file: BinaryIO, shown: Path) -> None:
        self._path = path
        self._file = file
        self._shown = shown
        self._stamp = _stamp(os.fstat(file.fileno()))
        self._successor: BinaryIO | None = None
        self.layout = Layout("list", 0, "")

    @classmethod
    def open(cls, path: Path, *, lock: bool = False, watch: Watch | None = None) -> OpenIndex:
        """Open and check the file that ``path`` (or the link there) names. With ``lock`` no other process can
        open it with ``lock`` until this one is closed, the rewritten file included.

        Raises ``NotFound``, ``Unavailable`` (cannot be read, or somebody else has the lock), ``CorruptState``
        (too large, not JSON: with the place; no index).
        """
        index = cls._locked(path) if lock else cls._opened(path)
        try:
            if os.fstat(index._file.fileno()).st_size > FILE_BYTES_MAX:
                raise CorruptState(f"{path} is larger than {FILE_BYTES_MAX} bytes")
            index.layout = index._read_layout(watch)
        except BaseException:
            index.close()
            raise
        return index

    @classmethod
    def _opened(cls, path: Path) -> OpenIndex:
        try:
            real = path.resolve(strict=True)
            # Not blocking: somebody may have put a pipe there.
            flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
            file = os.fdopen(os.open(real, flags), "rb", buffering=0)
        except FileNotFoundError as exc:
            raise NotFound(f"there is no index file at {path}") from exc
        except OSError as exc:
            raise Unavailable(f"{path} cannot be read: {exc.strerror or exc}") from exc
        except RuntimeError as exc:  # a circle of links, in Python before 3.13
            raise Unavailable(f"{path} cannot be read: it is a circle of links") from exc
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            file.close()
            raise Unavailable(f"{path} cannot be read: it is not a file")
        return cls(real, file, path)

    @classmethod
    def _locked(cls, path: Path) -> OpenIndex:
        for _ in range(_OPEN_ATTEMPTS):
            index = cls._opened(path)
            try:
                fcntl.flock(index._file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as exc:
                index.close()
                raise Unavailable(
                    f"another run is working on {path}: wait for it, or stop it, and run again"
                ) from exc
            except OSError as exc:
                index.close()
                raise Unavailable(f"{path} cannot be locked: {exc.strerror or exc}") from exc
            if index._is_same():
                return index
            index.close()  # it was replaced between opening and locking
        raise Unavailable(f"{path} is replaced again and again by another program")

    @property
    def path(self) -> Path:
        """The file itself, where ``path`` named a link."""
        return self._path

    def places(self, watch: Watch | None = None) -> Iterator[Place]:
        """Every position in order. Raises ``Unavailable`` (cannot be read, or changed since then)."""
        try:
            scanner = self._scanner(watch, is_checked=True)
            for position, part in enumerate(self._parts(scanner)):
                yield read_place(position, part, self.layout.model)
            scanner.end()
        except NotJson as exc:
            raise self._changed() from exc
        except OSError as exc:
            raise Unavailable(f"{self._shown} cannot be read: {exc.strerror or exc}") from exc
        if scanner.digest() != self.layout.digest:
            raise self._changed()

    def _parts(self, scanner: Scanner) -> Iterator[Part]:
        if self.layout.form == "list":
            yield from scanner.items()
        elif self.layout.form == "by_hash":
            yield from scanner.members()
        else:
            for name, _ in scanner.member_names():
                if name == "entries":
                    yield from scanner.items()
                else:
                    scanner.value()

    def _scanner(self, watch: Watch | None, *, is_checked: bool = False) -> Scanner:
        self._file.seek(0)
        return Scanner(self._file, part_bytes_max=_RAW_BYTES_MAX, on_chunk=watch, is_checked=is_checked)

    def _read_layout(self, watch: Watch | None) -> Layout:
        try:
            scanner = self._scanner(watch)
            first = scanner.first()
            if first == _BRACE:
                return self._read_object(scanner)
            if first == _BRACKET:
                count = sum(1 for _ in scanner.items())
            else:
                scanner.value()
            scanner.end()
        except NotJson as exc:
            self._refuse(exc)
        except OSError as exc:
            raise Unavailable(f"{self._shown} cannot be read: {exc.strerror or exc}") from exc
        if first != _BRACKET:
            raise CorruptState(f"{self._shown} holds no list of entries")
        return Layout("list", count, scanner.digest())

    def _read_object(self, scanner: Scanner) -> Layout:
        top = scanner.offset + 1
        count = members = lists = 0
        are_objects = True
        found: dict[str, Part] = {}
        for name, _ in scanner.member_names():
            if name == "entries" and scanner.first() == _BRACKET:
                count = sum(1 for _ in scanner.items())
                lists += 1
                continue
            part = scanner.value()
            members += 1
            are_objects = are_objects and part.first == _BRACE
            if name in ("entries", "model", "version", _EMBED_KEY):
                found[name] = part
        scanner.end()
        if "entries" in found:
            raise CorruptState(f"{self._shown} holds no list of entries")
        if not lists:
            if not are_objects:
                raise CorruptState(f"{self._shown} is an object without entries")
            return Layout("by_hash", members, scanner.digest(), top=top)
        if lists > 1:
            raise CorruptState(f"{self._shown} has more than one list of entries")
        version = _small(found["version"]) if "version" in found else VERSION
        if version != VERSION or isinstance(version, bool):
            raise CorruptState(
                f"{self._shown} is version {version!r} of the index; this node reads {VERSION}"
            )
        model = _small(found["model"]) if "model" in found else None
        if model is not None and not isinstance(model, str):
            raise CorruptState(f"{self._shown}: model is neither text nor null")
        at = (found["model"].start, found["model"].end) if "model" in found else None
        embed = _EMBED_KEY in found and _small(found[_EMBED_KEY]) is True
        return Layout("entries", count, scanner.digest(), model, at, top, embed)

    def _refuse(self, exc: NotJson) -> NoReturn:
        line, column, left = 1, 1, exc.offset
        with contextlib.suppress(OSError):
            self._file.seek(0)
            while left and (chunk := self._file.read(min(left, _COPY_BYTES))):
                left -= len(chunk)
                line += chunk.count(b"\n")
                end = chunk.rfind(b"\n")
                column = column + len(chunk) if end < 0 else len(chunk) - end
        raise CorruptState(
            f"{self._shown} is not JSON at byte {exc.offset} (line {line}, column {column}): {exc.reason}; "
            "nothing was changed"
        ) from exc

    def _changed(self) -> Unavailable:
        return Unavailable(
            f"{self._shown} was changed by another program meanwhile and was left as it is; run again"
        )

    def _is_same(self) -> bool:
        """Whether the name still stands for the file that was opened, unchanged."""
        with contextlib.suppress(OSError, RuntimeError):
            return (
                self._shown.resolve(strict=True) == self._path and _stamp(os.lstat(self._path)) == self._stamp
            )
        return False

    # --- rewriting --------------------------------------------------------------------------------

    def check_writable(self) -> None:
        """Raise ``Unavailable`` if the file could not be replaced at the end: better said at the start."""
        folder = self._path.parent
        if not os.access(folder, os.W_OK | os.X_OK):
            raise Unavailable(f"{self._shown} cannot be written: the folder {folder} is read-only")

    def rewrite(self, edits: Iterable[Edit]) -> None:
        """Replace the file by itself with ``edits`` (in order, not overlapping), atomically; durable on
        return. Owner and mode stay. Raises ``Unavailable`` (disk; or the file was changed since it was
        opened), what the edits raise. Then the old file is whole."""
        try:
            with _replacing(self._path, like=os.fstat(self._file.fileno())) as (out, commit):
                at = 0
                for edit in edits:
                    self._copy(out, at, edit.start)
                    out.write(edit.data)
                    at = edit.end
                self._copy(out, at, self._stamp[2])
                out.flush()
                if not self._is_same():
                    raise self._changed()
                self._successor = commit()
        except OSError as exc:
            raise Unavailable(f"{self._shown} cannot be written: {exc.strerror or exc}") from exc

    def _copy(self, out: BinaryIO, start: int, end: int) -> None:
        while start < end:
            data = os.pread(self._file.fileno(), min(end - start, _COPY_BYTES), start)
            if not data:
                raise self._changed()
            out.write(data)
            start += len(data)

    def close(self) -> None:
        """Idempotent; gives the lock back."""
        self._file.close()
        if self._successor is not None:
            self._successor.close()

    def __enter__(self) -> OpenIndex:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass(frozen=True, slots=True)
class IndexFile:
    """A file as a whole. ``problems``: unusable entries, and what was left out of others, by position."""

    entries: tuple[IndexEntry, ...]
    problems: tuple[str, ...] = ()
    model: str | None = None


def read(path: Path) -> IndexFile:
    """All entries at once, for files that are known to be small. Raises what ``OpenIndex.open`` raises."""
    with OpenIndex.open(path) as index:
        places = list(index.places())
    return IndexFile(
        tuple(place.entry for place in places if place.entry is not None),
        tuple(problem for place in places for problem in place.problems),
        index.layout.model,
    )


def digest_of(path: Path) -> str:
    """Hex SHA-256 of the file, whatever it holds: ``Layout.digest``, sooner. Raises ``NotFound``,
    ``Unavailable``."""
    with OpenIndex._opened(path) as index:
        try:
            return hashlib.file_digest(index._file, "sha256").hexdigest()  # type: ignore[arg-type] # it has readinto
        except OSError as exc:
            raise Unavailable(f"{path} cannot be read: {exc.strerror or exc}") from exc


def _stamp(found: os.stat_result) -> tuple[int, int, int, int]:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _small(part: Part) -> object:
    """A short value; one that cannot be read is not what anybody looks for."""
    try:
        return orjson.loads(part.raw or b"[]")
    except orjson.JSONDecodeError:
        return []


# --- writing --------------------------------------------------------------------------------------


def with_embedding(raw: bytes, data: bytes, model: str, *, state: bool) -> bytes:
    """An entry's text with this embedding, all else byte for byte. An ``embedding_model`` that is there is
    set; with ``state`` one that is not there is added. New keys go last, spaced like the last one."""
    parts = members_of(raw)
    last = {part.name: part for part in parts}  # of equal keys the last one counts
    edits: list[Edit] = []
    added: dict[str, str] = {}
    for name, value in (("embedding", encode_bytes(data)), (MODEL_KEY, model)):
        if (part := last.get(name)) is not None:
            edits.append(Edit(part.start, part.end, orjson.dumps(value)))
        elif name == "embedding" or state:
            added[name] = value
    if added:
        end, before, between = _spacing(raw, parts)
        text = b"".join(
            b"," + before + orjson.dumps(name) + between + orjson.dumps(value)
            for name, value in added.items()
        )
        edits.append(Edit(end, end, text))
    out, at = bytearray(), 0
    for edit in sorted(edits, key=lambda one: one.start):
        out += raw[at : edit.start] + edit.data
        at = edit.end
    return bytes(out + raw[at:])


def _spacing(raw: bytes, parts: Sequence[Part]) -> tuple[int, bytes, bytes]:
    """Where a further member goes, what stands before a key, and what between key and value."""
    last = parts[-1]
    key = raw[last.name_start : last.start]
    gap = raw[parts[-2].end if len(parts) > 1 else 0 : last.name_start]
    before = gap[max(gap.find(b","), gap.find(b"{")) + 1 :]
    return last.end, before, key[key.rindex(b'"') + 1 :]


def model_edit(layout: Layout, model: str) -> Edit | None:
    """What makes ``model`` the file's model; None where it is, or where the form has no place for it."""
    if layout.form != "entries" or layout.model == model:
        return None
    if layout.model_at is not None:
        return Edit(*layout.model_at, orjson.dumps(model))
    return Edit(layout.top, layout.top, b'"model":' + orjson.dumps(model) + b",")


def write(path: Path, entries: Iterable[IndexEntry], model: str | None, *, mode: int = FILE_MODE) -> None:
    """Write a new file with ``mode``, one entry a line, atomically; durable on return. Raises ``Unavailable``
    (disk), ``Rejected`` (larger than what is read). Then an old file is whole."""
    try:
        with _replacing(path, mode=mode) as (out, commit):
            length = 0
            for piece in _pieces(entries, model):
                length += out.write(piece)
                if length > FILE_BYTES_MAX:
                    raise Rejected(
                        f"the index would be larger than {FILE_BYTES_MAX} bytes; it was not written"
                    )
            commit().close()
    except OSError as exc:
        raise Unavailable(f"{path} cannot be written: {exc.strerror or exc}") from exc


def _pieces(entries: Iterable[IndexEntry], model: str | None) -> Iterator[bytes]:
    yield orjson.dumps({"version": VERSION, "model": model})[:-1] + b',"entries":['
    separator = b"\n"
    for entry in entries:
        yield separator + orjson.dumps(to_map(entry, model))
        separator = b",\n"
    yield b"\n]}\n"


@contextlib.contextmanager
def _replacing(
    path: Path, *, mode: int = FILE_MODE, like: os.stat_result | None = None
) -> Iterator[tuple[BinaryIO, Callable[[], BinaryIO]]]:
    """A new file beside ``path``, locked, and the call that puts it in its place and gives it back open.
    Without that call it is removed. ``like``: whose owner and rights it gets in place of ``mode``."""
    _clear_leftovers(path)
    temporary = path.with_name(f".{path.name}.{new_id()}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)
    with contextlib.ExitStack() as undo:
        undo.callback(temporary.unlink, missing_ok=True)
        out = undo.enter_context(os.fdopen(descriptor, "wb", buffering=1 << 20))
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if like is not None:
            with contextlib.suppress(PermissionError):
                os.fchown(descriptor, like.st_uid, like.st_gid)
        os.fchmod(descriptor, mode if like is None else stat.S_IMODE(like.st_mode))

        def commit() -> BinaryIO:
            out.flush()
            os.fsync(descriptor)
            temporary.replace(path)
            undo.pop_all()
            try:
                DISK.sync_directory(path.parent)
            except OSError:
                out.close()
                raise
            return out

        yield out, commit


def _clear_leftovers(path: Path) -> None:
    """Remove what killed writers left. A living one holds a lock on its temporary file."""
    for leftover in path.parent.glob(f".{glob.escape(path.name)}.*.tmp"):
        with contextlib.suppress(OSError), leftover.open("rb") as file:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
            leftover.unlink(missing_ok=True)
