"""``knowledge-index.json``: the portable index and the legacy format, read tolerantly and written atomically.

The form written is ``{"version": 1, "model": …, "entries": [{"cid", "query_hash", "query", "answer"?,
"source", "confidence", "timestamp", "expires"?, "embedding"?}]}``; an embedding is a list of floats or base64
of float32, little endian. Also read: a top-level list of entries, and an object of entries by hash.

Promises:
1. Nothing is lost: unknown keys, the order of entries and of keys, and entries that cannot be used come back
   out of ``write`` as they were; a known key is rewritten only where its value was changed.
2. An unusable entry is reported with its position (from 0) and skipped; it never stops the others. An entry
   whose embedding or timestamp alone is unusable is kept without it, and a note says so.
3. A vector belongs to a model: the entry's own ``embedding_model`` if it has that key, else the file's.
4. A file of more than 256 MiB, and an entry of more than 256 KiB, is refused.

Blocking: call it in a thread. Knows nothing of records or stores.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import fcntl
import math
import os
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from node.clock import new_id
from node.errors import CorruptState, NotFound, Rejected, Unavailable
from node.ipfs.cid import Cid
from node.normalise import normalise, query_hash
from node.ports import Vector

VERSION = 1
FILE_BYTES_MAX = 256 * 2**20
ENTRY_BYTES_MAX = 256 * 2**10
TEXT_CHARS_MAX = 65_536
DIMENSIONS_MAX = 4_096

_HEX_64 = re.compile(r"[0-9a-f]{64}\Z")
_MODEL_KEY = "embedding_model"
_KNOWN = frozenset(
    {
        *("cid", "query_hash", "query", "answer", "source", "confidence", "timestamp", "expires"),
        *("embedding", _MODEL_KEY),
    }
)
_TOP_KNOWN = frozenset({"version", "model", "entries"})
_MILLISECONDS_FROM = 1e11  # a number above it cannot be seconds: that would be the year 5138


@dataclass(frozen=True, slots=True)
class EntryVector:
    """A stored embedding: float32 little endian, and its model (None when the file does not say)."""

    data: bytes
    model: str | None

    @property
    def dim(self) -> int:
        return len(self.data) // 4

    def array(self) -> Vector:
        import numpy as np  # here: the file is read by nodes without numpy too

        return np.frombuffer(self.data, dtype="<f4").astype(np.float32)


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """One entry. It can be found (``query`` or ``query_hash``) and gives something (``answer`` or ``cid``).

    ``query_hash`` is as stated, or computed where absent; ``confidence`` is in [0, 1] and 0 where absent;
    ``extra`` holds unknown keys; ``raw`` is the entry as it was read, None for one made here.
    """

    query: str | None
    query_hash: str
    answer: str | None = None
    cid: str | None = None
    source: str = ""
    confidence: float = 0.0
    timestamp: datetime | None = None
    expires: datetime | None = None
    embedding: EntryVector | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    raw: Mapping[str, Any] | None = field(default=None, repr=False, compare=False)

    @property
    def key(self) -> str:
        """The hash of the exact tier: of the normalised query, whatever an older program stated."""
        return self.query_hash if self.query is None else query_hash(normalise(self.query))


@dataclass(frozen=True, slots=True)
class RejectedEntry:
    """An entry that cannot be used: where it stands, why, and its value, kept for ``write``."""

    position: int
    reason: str
    raw: Any = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class IndexFile:
    """What a file held. ``extra``: unknown keys beside the entries; ``notes``: what was left out of kept."""

    entries: tuple[IndexEntry, ...]
    rejected: tuple[RejectedEntry, ...] = ()
    model: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


# --- embeddings -----------------------------------------------------------------------------------


def encode_vector(vector: Vector) -> str:
    """Base64 of float32, little endian: the form that ``write`` uses."""
    return encode_bytes(vector.astype("<f4").tobytes())


def encode_bytes(data: bytes) -> str:
    """The same of a vector that is bytes already."""
    return base64.b64encode(data).decode()


def decode_vector(value: object) -> bytes:
    """Bytes (float32, little endian) of a list of numbers or of base64. Raises ``Rejected``."""
    if isinstance(value, str):
        if len(value) > DIMENSIONS_MAX * 6:
            raise Rejected(f"the embedding has more than {DIMENSIONS_MAX} dimensions")
        try:
            data = base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError) as exc:
            raise Rejected("the embedding is not base64") from exc
        if len(data) % 4:
            raise Rejected("the embedding's length is not a multiple of 4 bytes")
    elif isinstance(value, list):
        if len(value) > DIMENSIONS_MAX:
            raise Rejected(f"the embedding has more than {DIMENSIONS_MAX} dimensions")
        if any(type(number) not in (int, float) for number in value):
            raise Rejected("the embedding holds something else than numbers")
        try:
            data = struct.pack(f"<{len(value)}f", *value)
        except (OverflowError, struct.error) as exc:
            raise Rejected("the embedding holds a number that float32 cannot") from exc
    else:
        raise Rejected("the embedding is neither a list nor base64")
    numbers = struct.unpack(f"<{len(data) // 4}f", data)
    if not 0 < len(numbers) <= DIMENSIONS_MAX:
        raise Rejected(f"the embedding does not have 1 to {DIMENSIONS_MAX} dimensions")
    if not all(map(math.isfinite, numbers)) or not any(numbers):
        raise Rejected("the embedding is zero or not finite")
    return data


# --- reading --------------------------------------------------------------------------------------


def read(path: Path) -> IndexFile:
    """Read an index file of any known form.

    Raises ``NotFound``, ``Unavailable`` (cannot be read), ``CorruptState`` (too large, not JSON, no index).
    """
    value = _load(path)
    model: str | None = None
    extra: dict[str, Any] = {}
    if isinstance(value, dict) and "entries" in value:
        model = value.get("model")
        extra = {name: item for name, item in value.items() if name not in _TOP_KNOWN}
        items = value["entries"]
        if value.get("version", VERSION) != VERSION:
            raise CorruptState(
                f"{path} is version {value['version']!r} of the index; this node reads {VERSION}"
            )
        if model is not None and not isinstance(model, str):
            raise CorruptState(f"{path}: model is neither text nor null")
    elif isinstance(value, dict):
        items = _by_hash(path, value)
    else:
        items = value
    if not isinstance(items, list):
        raise CorruptState(f"{path} holds no list of entries")
    entries: list[IndexEntry] = []
    rejected: list[RejectedEntry] = []
    notes: list[str] = []
    for position, item in enumerate(items):
        try:
            entry, problems = _entry(item, model)
        except Rejected as exc:
            rejected.append(RejectedEntry(position, str(exc), item))
        else:
            entries.append(entry)
            notes.extend(f"entry {position}: {problem}" for problem in problems)
    return IndexFile(tuple(entries), tuple(rejected), model, extra, tuple(notes))


def _load(path: Path) -> Any:
    try:
        with path.open("rb") as file:
            data = file.read(FILE_BYTES_MAX + 1)
    except FileNotFoundError as exc:
        raise NotFound(f"there is no index file at {path}") from exc
    except OSError as exc:
        raise Unavailable(f"{path} cannot be read: {exc.strerror or exc}") from exc
    if len(data) > FILE_BYTES_MAX:
        raise CorruptState(f"{path} is larger than {FILE_BYTES_MAX} bytes")
    try:
        return orjson.loads(data.removeprefix(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError as exc:
        raise CorruptState(
            f"{path} is not JSON (line {exc.lineno}, column {exc.colno}: {exc.msg}); nothing was changed"
        ) from exc


def _by_hash(path: Path, value: Mapping[str, Any]) -> list[Any]:
    """The entries of an object by hash (or by query), each with its key put in where it says no other."""
    if not all(isinstance(item, dict) for item in value.values()):
        raise CorruptState(f"{path} is an object without entries")
    items: list[Any] = []
    for key, item in value.items():
        if _HEX_64.match(key):
            items.append({"query_hash": key, **item})
        elif "query" in item or "query_hash" in item:
            items.append({"key": key, **item})
        else:
            items.append({"query": key, **item})
    return items


def _entry(item: object, model: str | None) -> tuple[IndexEntry, list[str]]:
    """One entry and what was left out of it. Raises ``Rejected``."""
    if not isinstance(item, dict):
        raise Rejected("it is not an object")
    if len(orjson.dumps(item)) > ENTRY_BYTES_MAX:
        raise Rejected(f"it is larger than {ENTRY_BYTES_MAX} bytes")
    query, answer = _text(item, "query"), _text(item, "answer")
    cid = _text(item, "cid")
    if query is not None and not normalise(query):
        raise Rejected("query is empty")
    if answer is not None and not answer.strip():
        raise Rejected("answer is empty")
    if cid is not None:
        Cid.parse(cid)
    stated = _text(item, "query_hash")
    if stated is not None and not _HEX_64.match(stated := stated.lower()):
        raise Rejected("query_hash is not a hex SHA-256")
    if stated is None and query is None:
        raise Rejected("it has neither query nor query_hash")
    if answer is None and cid is None:
        raise Rejected("it has neither answer nor cid")
    problems: list[str] = []
    entry = IndexEntry(
        query=query,
        query_hash=stated or query_hash(normalise(query or "")),
        answer=answer,
        cid=cid,
        source=_source(item.get("source")),
        confidence=_confidence(item.get("confidence")),
        timestamp=_timestamp(item.get("timestamp"), problems),
        expires=_time(item.get("expires"), "expires"),
        embedding=_embedding(item, model, problems),
        extra={name: value for name, value in item.items() if name not in _KNOWN},
        raw=item,
    )
    return entry, problems


def _text(item: Mapping[str, Any], name: str) -> str | None:
    value = item.get(name)
    if value is None:
        return None
    if not isinstance(value, str) or len(value) > TEXT_CHARS_MAX:
        raise Rejected(f"{name} is not text of at most {TEXT_CHARS_MAX} characters")
    return value


def _source(value: object) -> str:
    """A text, or the kind and id of an object."""
    if isinstance(value, dict):
        return ":".join(value[name] for name in ("kind", "id") if isinstance(value.get(name), str))
    if value is None:
        return ""
    if not isinstance(value, str):
        raise Rejected("source is neither text nor an object")
    return value


def _confidence(value: object) -> float:
    if value is None:
        return 0.0
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise Rejected("confidence is not a number from 0 to 1")
    return float(value)


def _time(value: object, name: str) -> datetime | None:
    """ISO 8601 text (UTC where it names no zone), or seconds or milliseconds since 1970."""
    if value is None:
        return None
    try:
        if isinstance(value, str):
            when = datetime.fromisoformat(value)
            return when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            return datetime.fromtimestamp(value / 1_000 if value > _MILLISECONDS_FROM else value, UTC)
    except (ValueError, OverflowError, OSError) as exc:
        raise Rejected(f"{name} is not a time") from exc
    raise Rejected(f"{name} is not a time")


def _timestamp(value: object, problems: list[str]) -> datetime | None:
    try:
        return _time(value, "timestamp")
    except Rejected as exc:
        problems.append(str(exc))
        return None


def _embedding(item: Mapping[str, Any], model: str | None, problems: list[str]) -> EntryVector | None:
    value = item.get("embedding")
    if value is None or value == [] or value == "":
        return None
    own = item.get(_MODEL_KEY, model)
    try:
        return EntryVector(decode_vector(value), own if isinstance(own, str) else None)
    except Rejected as exc:
        problems.append(str(exc))
        return None


# --- writing --------------------------------------------------------------------------------------


def to_map(entry: IndexEntry, model: str | None) -> dict[str, Any]:
    """The entry as it is written into a file of model ``model``; keys whose value did not change stay."""
    wanted: dict[str, Any] = {
        "cid": entry.cid,
        "query_hash": entry.query_hash,
        "query": entry.query,
        "answer": entry.answer,
        "source": entry.source,
        "confidence": entry.confidence,
        "timestamp": _written(entry.timestamp),
        "expires": _written(entry.expires),
        "embedding": None if entry.embedding is None else encode_bytes(entry.embedding.data),
    }
    if entry.raw is None:
        out = {name: value for name, value in wanted.items() if value is not None} | dict(entry.extra)
    else:
        was, _ = _entry(entry.raw, None)
        out = dict(entry.raw)
        for name, value in wanted.items():
            if _same(was, entry, name):
                continue
            if value is None:
                out.pop(name, None)
            else:
                out[name] = value
        for name in set(was.extra) - set(entry.extra):
            del out[name]
        out |= entry.extra
    if entry.embedding is not None:
        out.pop(_MODEL_KEY, None)
        if entry.embedding.model != model:
            out[_MODEL_KEY] = entry.embedding.model
    return out


def _same(was: IndexEntry, entry: IndexEntry, name: str) -> bool:
    if name == "embedding":
        return (was.embedding and was.embedding.data) == (entry.embedding and entry.embedding.data)
    return bool(getattr(was, name) == getattr(entry, name))


def _written(when: datetime | None) -> str | None:
    return None if when is None else when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def write(
    path: Path,
    entries: Sequence[IndexEntry],
    model: str | None,
    *,
    rejected: Sequence[RejectedEntry] = (),
    extra: Mapping[str, Any] | None = None,
) -> None:
    """Replace the file atomically; durable on return. ``rejected`` entries go back to their positions.

    Raises ``Unavailable`` (disk), ``Rejected`` (larger than what ``read`` takes). Then the old file is whole.
    """
    temporary = path.with_name(f".{path.name}.{new_id()}.tmp")
    try:
        _clear_leftovers(path)
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        with contextlib.ExitStack() as undo:
            undo.callback(temporary.unlink, missing_ok=True)
            with os.fdopen(fd, "wb", buffering=1 << 20) as out:
                fcntl.flock(out.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
                length = 0
                for piece in _pieces(entries, model, rejected, extra or {}):
                    length += out.write(piece)
                    if length > FILE_BYTES_MAX:
                        raise Rejected(
                            f"the index would be larger than {FILE_BYTES_MAX} bytes; it was not written"
                        )
                out.flush()
                os.fsync(out.fileno())
            temporary.replace(path)
            undo.pop_all()
        _sync_directory(path.parent)
    except OSError as exc:
        raise Unavailable(f"{path} cannot be written: {exc.strerror or exc}") from exc


def _pieces(
    entries: Sequence[IndexEntry],
    model: str | None,
    rejected: Sequence[RejectedEntry],
    extra: Mapping[str, Any],
) -> Iterator[bytes]:
    """The file, one entry a line."""
    top = {"version": VERSION, "model": model, **extra}
    yield orjson.dumps(top)[:-1] + b',"entries":['
    unusable = {item.position: item.raw for item in rejected}
    good = iter(entries)
    separator = b"\n"
    for position in range(len(entries) + len(unusable)):
        if position in unusable:
            item = unusable.pop(position)
        else:
            entry = next(good, None)
            if entry is None:
                break
            item = to_map(entry, model)
        yield separator + orjson.dumps(item)
        separator = b",\n"
    for item in unusable.values():  # fewer entries than there were: what stood behind them goes last
        yield separator + orjson.dumps(item)
        separator = b",\n"
    yield b"\n]}\n"


def _clear_leftovers(path: Path) -> None:
    """Remove what killed writers left. A living one holds a lock on its temporary file."""
    for leftover in path.parent.glob(f".{path.name}.*.tmp"):
        with contextlib.suppress(OSError), leftover.open("rb") as file:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
            leftover.unlink(missing_ok=True)


def _sync_directory(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
