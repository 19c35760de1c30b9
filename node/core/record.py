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
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Annotated, Any, TypeAlias, TypeVar

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from node.core.caller import LOCAL
from node.core.errors import Rejected
from node.core.ipld import cid as cids
from node.core.ipld import dagcbor
from node.core.ipld.cid import Cid
from node.core.model import PPM, Client
from node.core.normalise import normalise, query_hash

VERSION = 1
CLIENT = "client"
"""Kind of source: what somebody stored through a door."""
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
UNIX_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_TIMES = ("timestamp", "expires", "not_before", "not_after")
_TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)Z\Z", re.ASCII)

Sign: TypeAlias = Callable[[bytes], bytes]

_Text = Annotated[str, msgspec.Meta(max_length=TEXT_CHARS_MAX)]
_Hash = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]
_Ppm = Annotated[int, msgspec.Meta(ge=0, le=PPM)]
_FEW = msgspec.Meta(max_length=LIST_ITEMS_MAX)
_Slots = Annotated[Mapping[str, str | int | bool | Annotated[tuple[str, ...], _FEW] | None], _FEW]


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
    return max(0, (when - UNIX_EPOCH) // _MICROSECOND)


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

    model: _Text
    digest: _Hash
    dim: Annotated[int, msgspec.Meta(ge=1, le=DIMENSIONS_MAX)]
    vector: bytes


@dataclass(frozen=True, slots=True)
class RecordSource:
    """Where the answer came from. ``by``: of kind ``client``, who stored it; ``id`` is then its claim."""

    kind: _Text
    id: _Text
    url: _Text | None = None
    time: datetime | None = None
    digest: _Hash | None = None
    by: _Text | None = None

    @property
    def client(self) -> Client | None:
        """Who stored it, where a client did. Records from before there were keys name nobody: that was
        ``local``."""
        if self.kind != CLIENT:
            return None
        by = self.by or LOCAL
        return Client(by, None if self.id == by else self.id)


@dataclass(frozen=True, slots=True)
class RecordCitation:
    """One cited source."""

    source: _Text
    locator: _Text = ""
    snippet: _Text = ""
    url: _Text | None = None


@dataclass(frozen=True, slots=True)
class ModelRef:
    """A language model."""

    id: _Text
    digest: _Hash | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """Fields that every kind has. ``sig`` is empty until ``sign``."""

    issuer: _Text
    key: _Text
    scope: _Text
    timestamp: datetime
    expires: datetime | None
    sig: bytes = b""

    @property
    def kind(self) -> str:
        return _KIND_OF[type(self)]

    def _derived(self) -> dict[str, Any]:
        """What the block holds beside the fields."""
        return {"v": VERSION, "kind": self.kind}

    def _check(self) -> None:
        """Raises ``Rejected`` where fields do not go together."""

    def signing_bytes(self) -> bytes:
        """What ``sig`` signs."""
        return SIGNING_PREFIX + dagcbor.encode(self._unsigned())

    def encode(self) -> bytes:
        """The block. Raises ``Rejected`` when unsigned or too large."""
        if len(self.sig) != 64:
            raise Rejected("record: not signed")
        return dagcbor.encode({**self._unsigned(), "sig": self.sig})

    def _unsigned(self) -> dict[str, Any]:
        whole = as_map(self)
        del whole["sig"]
        return {**whole, **self._derived()}


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRecord(Record):
    """A stored answer. ``query`` is normalised text; scores are in millionths."""

    query: Annotated[str, msgspec.Meta(max_length=QUERY_CHARS_MAX)]
    answer: Annotated[str, msgspec.Meta(max_length=ANSWER_CHARS_MAX)]
    route: _Text
    source: RecordSource
    confidence: _Ppm
    confidence_parts: Annotated[Mapping[str, _Ppm], _FEW]
    context: _Hash | None = None
    tags: Annotated[tuple[_Text, ...], _FEW] = ()
    normaliser: _Text = "normalise/v1"
    slots: _Slots | None = None
    slot_key: _Text | None = None
    citations: Annotated[tuple[RecordCitation, ...], _FEW] = ()
    embedding: Embedding | None = None
    llm: ModelRef | None = None
    supersedes: _Text | None = None
    validations: Annotated[int, msgspec.Meta(ge=0, le=0)] = 0

    @property
    def query_hash(self) -> str:
        return query_hash(self.query)

    @property
    def is_unverified(self) -> bool:
        """Whether a model said it on no evidence: such an answer is never public and never evidence."""
        return self.source.kind == "llm" and not self.citations

    def _derived(self) -> dict[str, Any]:
        return {"v": VERSION, "kind": self.kind, "query_hash": self.query_hash}

    def _check(self) -> None:
        if self.normaliser == "normalise/v1" and normalise(self.query) != self.query:
            raise Rejected("record: the query is not in its normalised form")
        if self.embedding is not None and len(self.embedding.vector) != self.embedding.dim * 4:
            raise Rejected("record: the vector's length is not 4 x dim bytes")


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationRecord(Record):
    """A signed statement that the record ``target`` (a CID) is ``valid`` or ``invalid``. ``statement`` is a
    random id, so that two equal verdicts in one second are two records."""

    target: _Text
    verdict: Annotated[str, msgspec.Meta(pattern=r"^(valid|invalid)\Z")]
    statement: Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{32}\Z")]
    note: _Text | None = None

    def _check(self) -> None:
        _check_cid(self.target)


@dataclass(frozen=True, slots=True, kw_only=True)
class TombstoneRecord(Record):
    """Withdraws ``target`` (a CID) for good; ``reason`` is a code."""

    target: _Text
    reason: _Text

    def _check(self) -> None:
        _check_cid(self.target)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRecord(Record):
    """The root's certificate for ``subject`` (a did:key): what it may sign, from when to when.

    Signed by the root itself: ``key`` equals ``issuer``. ``use``: one of ``USES``.
    """

    subject: _Text
    use: _Text
    not_before: datetime
    not_after: datetime

    def _check(self) -> None:
        public_key_of(self.subject)
        if self.use not in USES:
            raise Rejected("record: unknown use of a key")


AnyRecord = TypeVar("AnyRecord", bound=Record)

_KIND_OF: dict[type[Record], str] = {
    AnswerRecord: "answer",
    ValidationRecord: "validation",
    TombstoneRecord: "tombstone",
    KeyRecord: "key",
}
_NAMES: dict[type, tuple[str, ...]] = {
    kind: tuple(one.name for one in fields(kind))
    for kind in (*_KIND_OF, Embedding, RecordSource, RecordCitation, ModelRef)
}
_PLAIN = frozenset({str, int, bool, bytes, type(None)})
_BY_KIND = {kind: one for one, kind in _KIND_OF.items()}


def as_map(value: Any) -> Any:
    """A record or a part of one as maps, lists, texts and numbers. Of a source and a citation, what is absent
    is left out."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is datetime:
        return format_time(value)
    if kind is tuple:
        return [as_map(one) for one in value]
    if isinstance(value, Mapping):
        return {name: as_map(one) for name, one in value.items()}
    found = {name: as_map(getattr(value, name)) for name in _NAMES[kind]}
    if kind in (RecordSource, RecordCitation):
        return {name: one for name, one in found.items() if one is not None}
    return found


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


def _check_cid(text: str) -> None:
    if str(Cid.parse(text)) != text:
        raise Rejected("record: the target is not a CID in its usual form")


def _timed(given: dict[str, Any]) -> dict[str, Any]:
    """The fields with times for texts of times: what msgspec takes for one is wider than the format, and may
    be no UTC time at all."""
    made: dict[str, Any] = {
        name: parse_time(given[name], name) for name in _TIMES if given.get(name) is not None
    }
    source = given.get("source")
    if isinstance(source, dict) and source.get("time") is not None:
        made["source"] = {**source, "time": parse_time(source["time"], "source.time")}
    return {**given, **made}


def decode(data: bytes, *, check_signature: bool = True) -> Record:
    """Decode and check one untrusted block. Raises ``Rejected`` with the field at fault.

    Steps: 1 size and depth; 2 canonical DAG-CBOR; 3 version and kind; 4 each field's type and
    bound, none missing, none unknown; 5 fields that go together agree; 6 the signature of ``key`` verifies;
    7 encoding the result gives the same bytes, so what is derived agrees too. Whether ``issuer`` certifies
    ``key`` is not known here.

    ``check_signature=False`` leaves out step 6 alone, which costs more than all the others together:
    only for bytes whose hash was just compared with the CID of a block that passed here when it came in.
    """
    given = dagcbor.decode(data)
    if not isinstance(given, dict):
        raise Rejected("record: not a map")
    kind = _BY_KIND.get(given["kind"]) if isinstance(given.get("kind"), str) else None
    if given.get("v") != VERSION:
        raise Rejected(f"record: v is not an integer from {VERSION} to {VERSION}")
    if kind is None:
        raise Rejected(f"record: unknown kind {str(given.get('kind'))[:32]!r}")
    names = {*_NAMES[kind], "v", "kind", *(("query_hash",) if kind is AnswerRecord else ())}
    if missing := names - given.keys():
        raise Rejected(f"record: {min(missing)} is missing")
    if unknown := given.keys() - names:
        raise Rejected(f"record: unknown field {min(unknown)!r}")
    try:
        record: Record = msgspec.convert(_timed(given), kind)
    except msgspec.ValidationError as exc:
        raise Rejected(f"record: {exc}") from exc
    public_key_of(record.issuer)
    public_key_of(record.key)
    record._check()
    if check_signature:
        verify_signature(record)
    if record.encode() != data:
        raise Rejected("record: not the canonical form")
    return record
