"""What is stored and shared: signed, canonical records, one IPFS block each. Format ``record/v1``.

A record is DAG-CBOR, at most 256 KiB, signed by the issuer's node key: ``sig`` is Ed25519 over
``neuroswarm/record/v1`` LF followed by the block without ``sig``. Scores are integers in millionths,
times ISO 8601 UTC in whole seconds; the only floats are inside the embedding's bytes (float32, little
endian).
docs/record-format.md describes each field. Pure: keys come in as objects that sign, nothing is
read or written here. ``decode`` treats its input as hostile.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from types import MappingProxyType
from typing import Any, TypeAlias, TypeVar

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from node.core.errors import Rejected
from node.core.ipld import cid as cids
from node.core.ipld import dagcbor
from node.core.ipld.cid import Cid
from node.core.model import PPM, Slots, SlotValue
from node.core.normalise import normalise, query_hash

VERSION = 1
SIGNING_PREFIX = b"neuroswarm/record/v1\n"

QUERY_CHARS_MAX = 65_536
ANSWER_CHARS_MAX = 65_536
TEXT_CHARS_MAX = 1_024
LIST_ITEMS_MAX = 32
DIMENSIONS_MAX = 4_096

NODE = "node"
DECISIONS = "decisions"
PUBLICATIONS = "publications"
WITNESS = "witness"
USES = (NODE, DECISIONS, PUBLICATIONS, WITNESS)
"""What a certified key may be for."""

_ED25519_DID_PREFIX = b"\xed\x01"
_DID_KEY = "did:key:z"
_HEX_64 = re.compile(r"[0-9a-f]{64}\Z")
_STATEMENT = re.compile(r"[0-9a-f]{32}\Z")
_UNIX_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)Z\Z", re.ASCII)

Sign: TypeAlias = Callable[[bytes], bytes]


def did_key(public: bytes) -> str:
    """did:key of a raw Ed25519 public key (W3C did:key method, multicodec 0xed)."""
    return _DID_KEY + cids.base58(_ED25519_DID_PREFIX + public)


@lru_cache(maxsize=1_024)
def public_key_of(did: str) -> bytes:
    """The 32 raw bytes of an Ed25519 did:key. Raises ``Rejected`` for anything else."""
    if not did.startswith(_DID_KEY) or len(did) > 128:
        raise Rejected("not an Ed25519 did:key")
    data = cids.decode_base(did[len(_DID_KEY) :], cids.BASE58)
    if len(data) != 34 or data[:2] != _ED25519_DID_PREFIX:
        raise Rejected("not an Ed25519 did:key")
    return data[2:]


def format_time(when: datetime) -> str:
    """ISO 8601 UTC in whole seconds, e.g. ``2026-11-21T23:07:34Z``."""
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def time_us(when: datetime) -> int:
    """Whole microseconds since 1970 UTC; 0 for a clock that is set before that."""
    return max(0, (when - _UNIX_EPOCH) // timedelta(microseconds=1))


def parse_time(text: object, field: str) -> datetime:
    """Inverse of ``format_time``; strict."""
    parts = _TIME.match(text) if isinstance(text, str) else None
    if parts is None:
        raise Rejected(f"record: {field} is not a UTC time in whole seconds")
    try:
        year, month, day, hour, minute, second = map(int, parts.groups())
        return datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError as exc:
        raise Rejected(f"record: {field} is not a date") from exc


@dataclass(frozen=True, slots=True)
class Embedding:
    """A unit vector and the model that made it. ``vector`` is float32 little endian, dim x 4 bytes."""

    model: str
    digest: str
    dim: int
    vector: bytes

    def to_map(self) -> dict[str, Any]:
        return {"model": self.model, "digest": self.digest, "dim": self.dim, "vector": self.vector}


@dataclass(frozen=True, slots=True)
class RecordSource:
    """Where the answer came from."""

    kind: str
    id: str
    url: str | None = None
    time: datetime | None = None
    digest: str | None = None

    def to_map(self) -> dict[str, Any]:
        out: dict[str, Any] = {"kind": self.kind, "id": self.id}
        if self.url is not None:
            out["url"] = self.url
        if self.time is not None:
            out["time"] = format_time(self.time)
        if self.digest is not None:
            out["digest"] = self.digest
        return out


@dataclass(frozen=True, slots=True)
class RecordCitation:
    """One cited source."""

    source: str
    locator: str = ""
    snippet: str = ""
    url: str | None = None

    def to_map(self) -> dict[str, Any]:
        out: dict[str, Any] = {
            "source": self.source,
            "locator": self.locator,
            "snippet": self.snippet,
        }
        if self.url is not None:
            out["url"] = self.url
        return out


@dataclass(frozen=True, slots=True)
class ModelRef:
    """A language model."""

    id: str
    digest: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """Fields that every kind has. ``sig`` is empty until ``sign``."""

    issuer: str
    key: str
    scope: str
    timestamp: datetime
    expires: datetime | None
    sig: bytes = b""

    @property
    def kind(self) -> str:
        return _KIND_OF[type(self)]

    def _body(self) -> dict[str, Any]:
        raise TypeError("a record of no kind has no body")

    def signing_bytes(self) -> bytes:
        """What ``sig`` signs."""
        return SIGNING_PREFIX + dagcbor.encode(self._unsigned())

    def encode(self) -> bytes:
        """The block. Raises ``Rejected`` when unsigned or too large."""
        if len(self.sig) != 64:
            raise Rejected("record: not signed")
        return dagcbor.encode({**self._unsigned(), "sig": self.sig})

    def _unsigned(self) -> dict[str, Any]:
        return {
            "v": VERSION,
            "kind": self.kind,
            "issuer": self.issuer,
            "key": self.key,
            "scope": self.scope,
            "timestamp": format_time(self.timestamp),
            "expires": None if self.expires is None else format_time(self.expires),
            **self._body(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRecord(Record):
    """A stored answer. ``query`` is normalised text; scores are in millionths."""

    query: str
    answer: str
    route: str
    source: RecordSource
    confidence: int
    confidence_parts: Mapping[str, int]
    context: str | None = None
    tags: tuple[str, ...] = ()
    normaliser: str = "normalise/v1"
    slots: Slots | None = None
    slot_key: str | None = None
    citations: tuple[RecordCitation, ...] = ()
    embedding: Embedding | None = None
    llm: ModelRef | None = None
    supersedes: str | None = None
    validations: int = 0

    @property
    def query_hash(self) -> str:
        return query_hash(self.query)

    @property
    def is_unverified(self) -> bool:
        """Whether a model said it on no evidence: such an answer is never public and never evidence."""
        return self.source.kind == "llm" and not self.citations

    def _body(self) -> dict[str, Any]:
        llm = None if self.llm is None else {"id": self.llm.id, "digest": self.llm.digest}
        slots = None
        if self.slots is not None:
            slots = {k: list(v) if isinstance(v, tuple) else v for k, v in self.slots.items()}
        return {
            "context": self.context,
            "tags": list(self.tags),
            "normaliser": self.normaliser,
            "query": self.query,
            "query_hash": self.query_hash,
            "slots": slots,
            "slot_key": self.slot_key,
            "route": self.route,
            "answer": self.answer,
            "source": self.source.to_map(),
            "citations": [citation.to_map() for citation in self.citations],
            "embedding": None if self.embedding is None else self.embedding.to_map(),
            "llm": llm,
            "confidence": self.confidence,
            "confidence_parts": dict(self.confidence_parts),
            "supersedes": self.supersedes,
            "validations": self.validations,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationRecord(Record):
    """A signed statement that the record ``target`` (a CID) is ``valid`` or ``invalid``. ``statement`` is a
    random id, so that two equal verdicts in one second are two records."""

    target: str
    verdict: str
    statement: str
    note: str | None = None

    def _body(self) -> dict[str, Any]:
        return {
            "target": self.target,
            "verdict": self.verdict,
            "statement": self.statement,
            "note": self.note,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class TombstoneRecord(Record):
    """Withdraws ``target`` (a CID) for good; ``reason`` is a code."""

    target: str
    reason: str

    def _body(self) -> dict[str, Any]:
        return {"target": self.target, "reason": self.reason}


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRecord(Record):
    """The root's certificate for ``subject`` (a did:key): what it may sign, from when to when.

    Signed by the root itself: ``key`` equals ``issuer``. ``use``: node, decisions, publications, witness.
    """

    subject: str
    use: str
    not_before: datetime
    not_after: datetime

    def _body(self) -> dict[str, Any]:
        return {
            "subject": self.subject,
            "use": self.use,
            "not_before": format_time(self.not_before),
            "not_after": format_time(self.not_after),
        }


AnyRecord = TypeVar("AnyRecord", bound=Record)

_KIND_OF: dict[type[Record], str] = {
    AnswerRecord: "answer",
    ValidationRecord: "validation",
    TombstoneRecord: "tombstone",
    KeyRecord: "key",
}


def sign(record: AnyRecord, sign_with: Sign) -> AnyRecord:
    """Return the record with its signature; ``sign_with`` is the node key's Ed25519 sign function."""
    return replace(record, sig=sign_with(record.signing_bytes()))


def block_of(record: Record) -> tuple[Cid, bytes]:
    """The signed record's identifier and bytes."""
    data = record.encode()
    return Cid.of(data), data


def verify_signature(record: Record) -> None:
    """Raise ``Rejected`` unless ``sig`` is the signature of ``key`` over this record."""
    try:
        public = Ed25519PublicKey.from_public_bytes(public_key_of(record.key))
        public.verify(record.sig, record.signing_bytes())
    except InvalidSignature as exc:
        raise Rejected("record: the signature does not verify") from exc


# --- strict decode of untrusted bytes -------------------------------------------------------------


class _Reader:
    """Takes fields out of an untrusted map one by one; what is left over is an error."""

    def __init__(self, value: object, what: str) -> None:
        if not isinstance(value, dict):
            raise Rejected(f"{what}: not a map")
        self._map = dict(value)
        self._what = what

    def take(self, name: str, *, optional: bool = False) -> Any:
        if name not in self._map:
            if optional:
                return None
            raise Rejected(f"{self._what}: {name} is missing")
        return self._map.pop(name)

    def text(self, name: str, *, most: int = TEXT_CHARS_MAX) -> str:
        value = self.take(name)
        if not isinstance(value, str) or len(value) > most:
            raise Rejected(f"{self._what}: {name} is not text of at most {most} characters")
        return value

    def text_or_none(self, name: str, *, optional: bool = False) -> str | None:
        value = self.take(name, optional=optional)
        if value is not None and (not isinstance(value, str) or len(value) > TEXT_CHARS_MAX):
            raise Rejected(f"{self._what}: {name} is neither null nor short text")
        return value

    def whole(self, name: str, least: int, most: int) -> int:
        value = self.take(name)
        if type(value) is not int or not least <= value <= most:
            raise Rejected(f"{self._what}: {name} is not an integer from {least} to {most}")
        return value

    def time(self, name: str) -> datetime:
        return parse_time(self.take(name), name)

    def time_or_none(self, name: str, *, optional: bool = False) -> datetime | None:
        value = self.take(name, optional=optional)
        return None if value is None else parse_time(value, name)

    def items(self, name: str) -> list[Any]:
        value = self.take(name)
        if not isinstance(value, list) or len(value) > LIST_ITEMS_MAX:
            raise Rejected(f"{self._what}: {name} is not a list of at most {LIST_ITEMS_MAX}")
        return value

    def end(self) -> None:
        if self._map:
            raise Rejected(f"{self._what}: unknown field {min(self._map)!r}")


def _hex_digest(value: str | None, field: str) -> str | None:
    if value is not None and not _HEX_64.match(value):
        raise Rejected(f"record: {field} is not a hex SHA-256")
    return value


def _read_slots(value: object) -> Slots | None:
    if value is None:
        return None
    if not isinstance(value, dict) or len(value) > LIST_ITEMS_MAX:
        raise Rejected("record: slots is not a small map")
    out: dict[str, SlotValue] = {}
    for name, item in value.items():
        if isinstance(item, list):
            if len(item) > LIST_ITEMS_MAX or not all(isinstance(part, str) for part in item):
                raise Rejected(f"record: slot {name} is not a short list of texts")
            out[name] = tuple(item)
        elif item is None or isinstance(item, str | bool) or type(item) is int:
            out[name] = item
        else:
            raise Rejected(f"record: slot {name} has a type that slots do not have")
    return MappingProxyType(out)


def _read_embedding(value: object) -> Embedding | None:
    if value is None:
        return None
    read = _Reader(value, "record embedding")
    model, digest = read.text("model"), read.text("digest")
    dim, vector = read.whole("dim", 1, DIMENSIONS_MAX), read.take("vector")
    read.end()
    _hex_digest(digest, "embedding digest")
    if not isinstance(vector, bytes) or len(vector) != dim * 4:
        raise Rejected("record: the vector's length is not 4 x dim bytes")
    return Embedding(model, digest, dim, vector)


def _read_source(value: object) -> RecordSource:
    read = _Reader(value, "record source")
    source = RecordSource(
        kind=read.text("kind"),
        id=read.text("id"),
        url=read.text_or_none("url", optional=True),
        time=read.time_or_none("time", optional=True),
        digest=_hex_digest(read.text_or_none("digest", optional=True), "source digest"),
    )
    read.end()
    return source


def _read_citation(value: object) -> RecordCitation:
    read = _Reader(value, "record citation")
    citation = RecordCitation(
        source=read.text("source"),
        locator=read.text("locator"),
        snippet=read.text("snippet"),
        url=read.text_or_none("url", optional=True),
    )
    read.end()
    return citation


def _read_llm(value: object) -> ModelRef | None:
    if value is None:
        return None
    read = _Reader(value, "record llm")
    ref = ModelRef(read.text("id"), _hex_digest(read.text_or_none("digest"), "llm digest"))
    read.end()
    return ref


def _read_answer(read: _Reader, common: dict[str, Any]) -> AnswerRecord:
    parts = read.take("confidence_parts")
    if not isinstance(parts, dict) or len(parts) > LIST_ITEMS_MAX:
        raise Rejected("record: confidence_parts is not a small map")
    if any(type(part) is not int or not 0 <= part <= PPM for part in parts.values()):
        raise Rejected("record: a confidence part is not an integer in millionths")
    tags = read.items("tags")
    if not all(isinstance(tag, str) and len(tag) <= TEXT_CHARS_MAX for tag in tags):
        raise Rejected("record: tags are not short texts")
    stated_hash = read.text("query_hash")
    record = AnswerRecord(
        **common,
        context=_hex_digest(read.text_or_none("context"), "context"),
        tags=tuple(tags),
        normaliser=read.text("normaliser"),
        query=read.text("query", most=QUERY_CHARS_MAX),
        slots=_read_slots(read.take("slots")),
        slot_key=read.text_or_none("slot_key"),
        route=read.text("route"),
        answer=read.text("answer", most=ANSWER_CHARS_MAX),
        source=_read_source(read.take("source")),
        citations=tuple(_read_citation(item) for item in read.items("citations")),
        embedding=_read_embedding(read.take("embedding")),
        llm=_read_llm(read.take("llm")),
        confidence=read.whole("confidence", 0, PPM),
        confidence_parts=MappingProxyType(dict(parts)),
        supersedes=read.text_or_none("supersedes"),
        validations=read.whole("validations", 0, 0),
    )
    if record.normaliser == "normalise/v1" and normalise(record.query) != record.query:
        raise Rejected("record: the query is not in its normalised form")
    if record.query_hash != stated_hash:
        raise Rejected("record: query_hash is not the hash of the query")
    return record


def _read_validation(read: _Reader, common: dict[str, Any]) -> ValidationRecord:
    record = ValidationRecord(
        **common,
        target=str(Cid.parse(read.text("target"))),
        verdict=read.text("verdict"),
        statement=read.text("statement", most=64),
        note=read.text_or_none("note"),
    )
    if not _STATEMENT.match(record.statement):
        raise Rejected("record: statement is not 16 bytes in hex")
    if record.verdict not in ("valid", "invalid"):
        raise Rejected("record: verdict is neither valid nor invalid")
    return record


def _read_tombstone(read: _Reader, common: dict[str, Any]) -> TombstoneRecord:
    return TombstoneRecord(**common, target=str(Cid.parse(read.text("target"))), reason=read.text("reason"))


def _read_key(read: _Reader, common: dict[str, Any]) -> KeyRecord:
    record = KeyRecord(
        **common,
        subject=read.text("subject"),
        use=read.text("use"),
        not_before=read.time("not_before"),
        not_after=read.time("not_after"),
    )
    public_key_of(record.subject)
    if record.use not in USES:
        raise Rejected("record: unknown use of a key")
    return record


_READ: dict[str, Callable[[_Reader, dict[str, Any]], Record]] = {
    "answer": _read_answer,
    "validation": _read_validation,
    "tombstone": _read_tombstone,
    "key": _read_key,
}


def decode(data: bytes, *, check_signature: bool = True) -> Record:
    """Decode and check one untrusted block. Raises ``Rejected`` with the field at fault.

    Steps: 1 size and depth; 2 canonical DAG-CBOR; 3 version and kind; 4 each field's type and
    bound, none missing, none unknown; 5 derived fields agree; 6 the signature of ``key`` verifies;
    7 encoding the result gives the same bytes. Whether ``issuer`` certifies ``key`` is not known here.

    ``check_signature=False`` leaves out step 6 alone, which costs more than all the others together:
    only for bytes whose hash was just compared with the CID of a block that passed here when it came in.
    """
    read = _Reader(dagcbor.decode(data), "record")
    read.whole("v", VERSION, VERSION)
    kind = read.text("kind")
    if kind not in _READ:
        raise Rejected(f"record: unknown kind {kind[:32]!r}")
    sig = read.take("sig")
    if not isinstance(sig, bytes) or len(sig) != 64:
        raise Rejected("record: sig is not 64 bytes")
    common = {
        "issuer": read.text("issuer"),
        "key": read.text("key"),
        "scope": read.text("scope"),
        "timestamp": read.time("timestamp"),
        "expires": read.time_or_none("expires"),
        "sig": sig,
    }
    public_key_of(str(common["issuer"]))
    public_key_of(str(common["key"]))
    record = _READ[kind](read, common)
    read.end()
    if check_signature:
        verify_signature(record)
    if record.encode() != data:
        raise Rejected("record: not the canonical form")
    return record
