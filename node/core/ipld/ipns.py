"""IPNS names and records: who may say where a name points now, and what was said.

Source: IPNS Record and Protocol specification (specs.ipfs.tech/ipns/ipns-record).

Promises:
- Only ``signatureV2`` over ``data`` counts. Fields of version 1 beside it must say the same.
- Keys: Ed25519 inlined in the name (or given in the record), RSA of 2,048 to 8,192 bits given in the record;
  a given key must be the one that the name is the hash of.
- At most 10 KiB, ``data`` strict DAG-CBOR, validity type 0 (end of life) only.
Whether a record has expired is for the caller, who has a clock. Pure.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_der_public_key

from node.core.errors import Rejected
from node.core.ipld import dagcbor, protobuf
from node.core.ipld.cid import BASE58, IDENTITY, LIBP2P_KEY, SHA2_256, Cid, base36, base58, decode_base

RECORD_BYTES_MAX = 10 * 1024
SIGNATURE_PREFIX = b"ipns-signature:"
NOTHING = "/ipfs/bafkqaaa"
"""Where a record with an empty value points: the identity CID of no bytes."""

_RSA, _ED25519 = 0, 1
_ED25519_BYTES = 32
_INLINED_BYTES_MAX = 42
"""Longer public keys are hashed (libp2p peer ids)."""
_RSA_BITS = range(2_048, 8_193)
_NAME_CHARS_MAX = 256
_UINT64_MAX = 2**64 - 1

# Field numbers of the record's message; those up to _TTL are copies for readers of version 1.
_VALUE, _SIGNATURE_V1, _VALIDITY_TYPE, _VALIDITY, _SEQUENCE, _TTL = 1, 2, 3, 4, 5, 6
_PUBLIC_KEY, _SIGNATURE_V2, _DATA = 7, 8, 9
_NUMBERS = frozenset({_VALIDITY_TYPE, _SEQUENCE, _TTL})
_FIELDS = range(_VALUE, _DATA + 1)
_FIELDS_MAX = 100
"""The nine of the record, and room for those of later versions."""

_RFC3339 = re.compile(
    r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(?:Z|([+-])([01]\d|2[0-3]):([0-5]\d))", re.ASCII
)


@dataclass(frozen=True, slots=True)
class IpnsName:
    """The hash of a public key, or the key itself when it is short. Compared by ``multihash``."""

    multihash: bytes

    def __str__(self) -> str:
        return self.text

    @property
    def cid(self) -> Cid:
        """The name as a CIDv1 with codec libp2p-key."""
        return Cid(LIBP2P_KEY, self.multihash[2:], self.multihash[0])

    @property
    def text(self) -> str:
        """CIDv1, libp2p-key, base36 (``k51…``): the usual form."""
        return base36(bytes(self.cid))

    @property
    def peer_id(self) -> str:
        """The older form of the same: base58 without a prefix (``12D3Koo…``, ``Qm…``)."""
        return base58(self.multihash)

    @classmethod
    def of(cls, public: bytes) -> IpnsName:
        """Of a raw Ed25519 public key (32 bytes)."""
        return cls.of_message(_key_message(public))

    @classmethod
    def parse(cls, text: str) -> IpnsName:
        """From a CIDv1 with codec libp2p-key in any base, or a peer id. Raises ``Rejected``."""
        if not 2 <= len(text) <= _NAME_CHARS_MAX:
            raise Rejected("not an IPNS name: its length is out of range")
        if text[0] == "1" or text.startswith("Qm"):
            cid = Cid.from_bytes(b"\x01" + bytes((LIBP2P_KEY,)) + decode_base(text, BASE58), any_hash=True)
        else:
            cid = Cid.parse(text, any_hash=True)
        if cid.codec != LIBP2P_KEY:
            raise Rejected("not an IPNS name: the CID's codec is not libp2p-key")
        if cid.function != SHA2_256 and not (cid.is_identity and len(cid.digest) <= _INLINED_BYTES_MAX):
            raise Rejected("not an IPNS name: neither a sha2-256 hash nor a short key")
        return cls(cid.multihash)

    def public_key(self) -> bytes | None:
        """The raw Ed25519 key inlined in the name; None when the name is a hash or no Ed25519 key."""
        message = self.multihash[2:]
        if self.multihash[0] != IDENTITY or message != _key_message(message[-_ED25519_BYTES:]):
            return None
        return message[-_ED25519_BYTES:]

    @classmethod
    def of_message(cls, message: bytes) -> IpnsName:
        """Of a key of any type, as libp2p's PublicKey message."""
        if len(message) <= _INLINED_BYTES_MAX:
            return cls(bytes((IDENTITY, len(message))) + message)
        digest = hashlib.sha256(message).digest()
        return cls(bytes((SHA2_256, len(digest))) + digest)


@dataclass(frozen=True, slots=True)
class IpnsRecord:
    """``value``: a content path (``/ipfs/…``). ``validity``: until when, aware, cut to microseconds.
    ``ttl_ns``: nanoseconds that a reader may keep it without asking again."""

    value: str
    sequence: int
    validity: datetime
    ttl_ns: int


def better(one: IpnsRecord, other: IpnsRecord) -> bool:
    """Whether ``one`` replaces ``other``: a higher sequence, or the same one that lasts longer."""
    return (one.sequence, one.validity) > (other.sequence, other.validity)


def encode(record: IpnsRecord, sign: Callable[[bytes], bytes]) -> bytes:
    """A record of version 2, signed with the Ed25519 key that the name inlines. Raises ``Rejected`` for
    values out of range and for a record over 10 KiB."""
    if record.validity.tzinfo is None:
        raise Rejected("an IPNS record's validity needs a time zone")
    if not (0 <= record.sequence <= _UINT64_MAX and 0 <= record.ttl_ns <= _UINT64_MAX):
        raise Rejected("an IPNS record's sequence or TTL is out of range")
    until = record.validity.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds")
    data = dagcbor.encode(
        {
            "Value": record.value.encode(),
            "Validity": f"{until}000Z".encode(),
            "ValidityType": 0,
            "Sequence": record.sequence,
            "TTL": record.ttl_ns,
        }
    )
    signature = sign(SIGNATURE_PREFIX + data)
    whole = protobuf.bytes_field(_SIGNATURE_V2, signature) + protobuf.bytes_field(_DATA, data)
    if len(whole) > RECORD_BYTES_MAX:
        raise Rejected(f"an IPNS record of {len(whole)} bytes is over the limit of {RECORD_BYTES_MAX}")
    return whole


def decode(data: bytes, name: IpnsName) -> IpnsRecord:
    """What the owner of ``name`` said, signature checked (specification, Record Verification 1 to 7).

    Raises ``Rejected``. Says nothing about whether it has expired.
    """
    if len(data) > RECORD_BYTES_MAX:
        raise Rejected(f"an IPNS record of {len(data)} bytes is over the limit of {RECORD_BYTES_MAX}")
    given = _read_fields(data)
    signature, signed = given.get(_SIGNATURE_V2), given.get(_DATA)
    if not (isinstance(signature, bytes) and isinstance(signed, bytes) and signature and signed):
        raise Rejected("an IPNS record has no signature of version 2 or no data")
    public = given.get(_PUBLIC_KEY)
    _verify(_key_of(name, public if isinstance(public, bytes) else b""), signature, SIGNATURE_PREFIX + signed)
    said = _read_data(signed)
    _check_copies(given, said)
    return IpnsRecord(_path(said[_VALUE]), said[_SEQUENCE], _moment(said[_VALIDITY]), said[_TTL])


def _read_fields(data: bytes) -> dict[int, int | bytes]:
    given: dict[int, int | bytes] = {}
    for number, wire, count, content in protobuf.fields(data, _FIELDS_MAX):
        if number not in _FIELDS:
            continue
        if number in given:
            raise Rejected("an IPNS record has a field twice")
        if wire != (protobuf.VARINT if number in _NUMBERS else protobuf.BYTES):
            raise Rejected("an IPNS record has a field of the wrong type")
        given[number] = count if number in _NUMBERS else content
    return given


def _read_data(signed: bytes) -> dict[int, Any]:
    """The five values under the field numbers of their copies. Other keys are free (Extensible Data)."""
    value, _ = dagcbor.decode_foreign(signed)
    if not isinstance(value, dict):
        raise Rejected("an IPNS record's data is not a map")
    said: dict[int, Any] = {}
    for key, number in (
        ("Value", _VALUE),
        ("Validity", _VALIDITY),
        ("ValidityType", _VALIDITY_TYPE),
        ("Sequence", _SEQUENCE),
        ("TTL", _TTL),
    ):
        said[number] = one = value.get(key)
        if number in _NUMBERS:
            if isinstance(one, bool) or not isinstance(one, int) or not 0 <= one <= _UINT64_MAX:
                raise Rejected(f"an IPNS record's {key} is missing or out of range")
        elif not isinstance(one, bytes):
            raise Rejected(f"an IPNS record's {key} is missing or not bytes")
    if said[_VALIDITY_TYPE] != 0:
        raise Rejected("an IPNS record's validity type is not known")
    return said


def _check_copies(given: dict[int, int | bytes], said: dict[int, Any]) -> None:
    """Version 1 fields, if any, say the same; absent ones then count as protobuf's defaults."""
    has_v1 = bool(given.get(_VALUE) or given.get(_SIGNATURE_V1))
    for number, value in said.items():
        default: int | bytes = 0 if number in _NUMBERS else b""
        if (has_v1 or number in given) and given.get(number, default) != value:
            raise Rejected("an IPNS record's fields contradict what is signed")


def _path(value: bytes) -> str:
    """Also of an empty value and of a binary CID, which older publishers wrote."""
    if not value:
        return NOTHING
    if not value.startswith(b"/"):
        return f"/ipfs/{Cid.from_bytes(value, any_hash=True)}"
    try:
        return value.decode()
    except UnicodeDecodeError as exc:
        raise Rejected("an IPNS record's value is not text") from exc


def _moment(validity: bytes) -> datetime:
    match = _RFC3339.fullmatch(validity.decode("ascii", "replace"))
    if match is None:
        raise Rejected("an IPNS record's validity is not a time in RFC 3339")
    clock, fraction, sign, hours, minutes = match.groups()
    offset = timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
    zone = timezone(-offset if sign == "-" else offset)
    try:
        moment = datetime.fromisoformat(clock).replace(
            microsecond=int((fraction or "").ljust(6, "0")[:6]), tzinfo=zone
        )
        return moment.astimezone(UTC)
    except (ValueError, OverflowError) as exc:
        raise Rejected("an IPNS record's validity is no date") from exc


def _key_message(public: bytes) -> bytes:
    """libp2p's PublicKey message of a raw Ed25519 key."""
    return protobuf.number_field(1, _ED25519) + protobuf.bytes_field(2, public)


def _key_of(name: IpnsName, given: bytes) -> Ed25519PublicKey | RSAPublicKey:
    """The key given in the record, if it is the one that ``name`` stands for, else the one in the name."""
    message = given
    if not given:
        if not name.cid.is_identity:
            raise Rejected("an IPNS record lacks the public key that its name is the hash of")
        message = name.multihash[2:]
    elif IpnsName.of_message(given) != name:
        raise Rejected("an IPNS record's public key is not the one of its name")
    kind: int | None = None
    key: bytes | None = None
    for number, wire, count, content in protobuf.fields(message, _FIELDS_MAX):
        if (number, wire) == (1, protobuf.VARINT) and kind is None:
            kind = count
        elif (number, wire) == (2, protobuf.BYTES) and key is None:
            key = content
        else:
            raise Rejected("an IPNS record's public key is malformed")
    if kind == _ED25519 and key is not None and len(key) == _ED25519_BYTES:
        return Ed25519PublicKey.from_public_bytes(key)
    if kind == _RSA and key is not None:
        return _rsa(key)
    raise Rejected("an IPNS record's public key is neither Ed25519 nor RSA")


def _rsa(der: bytes) -> RSAPublicKey:
    try:
        key = load_der_public_key(der)
    except (ValueError, UnsupportedAlgorithm) as exc:
        raise Rejected("an IPNS record's public key is malformed") from exc
    if not isinstance(key, RSAPublicKey) or key.key_size not in _RSA_BITS:
        raise Rejected("an IPNS record's public key is not RSA of 2,048 to 8,192 bits")
    return key


def _verify(key: Ed25519PublicKey | RSAPublicKey, signature: bytes, signed: bytes) -> None:
    try:
        if isinstance(key, RSAPublicKey):
            key.verify(signature, signed, PKCS1v15(), SHA256())
        else:
            key.verify(signature, signed)
    except InvalidSignature as exc:
        raise Rejected("an IPNS record's signature is not of its name's key") from exc
