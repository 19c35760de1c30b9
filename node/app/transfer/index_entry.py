"""One entry of ``knowledge-index.json``: what is read of it, what is wrong with it, and how it is written.

Promises: an unusable entry is a reason, never an exception; an entry whose embedding or timestamp alone is
unusable is kept without it, and a note says so. A vector belongs to a model: the entry's own
``embedding_model`` if it has that key, else the file's. It knows no file.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import orjson

from node.app.transfer.json_scan import Part
from node.core.errors import Rejected
from node.core.ipld.cid import Cid
from node.core.normalise import normalise, query_hash
from node.core.ports import Vector

ENTRY_BYTES_MAX = 256 * 2**10
TEXT_CHARS_MAX = 65_536
DIMENSIONS_MAX = 4_096
MODEL_KEY = "embedding_model"
_HEX_64 = re.compile(r"[0-9a-f]{64}\Z")
_KNOWN = frozenset(
    {
        *("cid", "query_hash", "query", "answer", "source", "confidence", "timestamp", "expires"),
        *("embedding", MODEL_KEY),
    }
)
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
    ``extra`` holds unknown keys.
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

    @property
    def key(self) -> str:
        """The hash of the exact tier: of the normalised query, whatever an older program stated."""
        return self.query_hash if self.query is None else query_hash(normalise(self.query))


@dataclass(frozen=True, slots=True)
class Place:
    """What stands at one position (from 0): an entry, or the reason (``problem``) why it cannot be used.

    ``notes``: what was left out of the entry. ``leans``: it may hold an embedding that names no model of its
    own, so that changing the file's model would change whose it is.
    """

    position: int
    part: Part
    entry: IndexEntry | None
    problem: str = ""
    notes: tuple[str, ...] = ()
    leans: bool = False

    @property
    def problems(self) -> list[str]:
        """For people, each with the position."""
        found = [self.problem, *self.notes] if self.problem else self.notes
        return [f"entry {self.position}: {text}" for text in found]


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
    # A sum of float32 numbers cannot overflow a double: it is finite if and only if all of them are.
    if not math.isfinite(sum(numbers)) or not any(numbers):
        raise Rejected("the embedding is zero or not finite")
    return data


# --- reading ---------------------------------------------------------------------------------------


def read_place(position: int, part: Part, model: str | None) -> Place:
    """What stands there, in a file of model ``model``."""
    item: object = None
    try:
        if part.raw is None:
            raise Rejected(f"it is larger than {ENTRY_BYTES_MAX} bytes")
        try:
            item = orjson.loads(part.raw)
        except orjson.JSONDecodeError as exc:
            raise Rejected(f"it cannot be read ({exc.msg})") from exc
        if len(part.raw) > ENTRY_BYTES_MAX and len(orjson.dumps(item)) > ENTRY_BYTES_MAX:
            raise Rejected(f"it is larger than {ENTRY_BYTES_MAX} bytes")
        named = item if part.name is None else _with_name(part.name, item)
        entry, notes = _entry(named, model)
    except Rejected as exc:
        unread = item is None and (part.raw is None or b'"embedding"' in part.raw)
        return Place(position, part, None, problem=str(exc), leans=unread or _leans(item))
    return Place(position, part, entry, notes=tuple(notes), leans=_leans(item))


def _leans(item: object) -> bool:
    return isinstance(item, dict) and item.get("embedding") not in (None, [], "") and MODEL_KEY not in item


def _with_name(name: str, item: object) -> object:
    """An entry of an object by hash (or by query), with its key put in where it says no other."""
    if not isinstance(item, dict):
        return item
    if not name.isascii() and any("\ud800" <= char <= "\udfff" for char in name):
        raise Rejected("its key is not valid Unicode")
    if _HEX_64.match(name):
        return {"query_hash": name, **item}
    if "query" in item or "query_hash" in item:
        return {"key": name, **item}
    return {"query": name, **item}


def _entry(item: object, model: str | None) -> tuple[IndexEntry, list[str]]:
    """One entry and what was left out of it. Raises ``Rejected``."""
    if not isinstance(item, dict):
        raise Rejected("it is not an object")
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
    own = item.get(MODEL_KEY, model)
    try:
        return EntryVector(decode_vector(value), own if isinstance(own, str) else None)
    except Rejected as exc:
        problems.append(str(exc))
        return None


# --- writing ---------------------------------------------------------------------------------------


def _written(when: datetime | None) -> str | None:
    return None if when is None else when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def to_map(entry: IndexEntry, model: str | None) -> dict[str, Any]:
    """The entry as it is written into a file of model ``model``."""
    known: dict[str, Any] = {
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
    out = {name: value for name, value in known.items() if value is not None} | dict(entry.extra)
    if entry.embedding is not None and entry.embedding.model != model:
        out[MODEL_KEY] = entry.embedding.model
    return out
