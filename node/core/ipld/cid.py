"""Content identifiers: read from any common multibase, written in base32 (CIDv1) or base58 (CIDv0).

Source: the CID, multihash and multibase specifications of multiformats.

Promises:
- Strict by default: only what this node makes is read (sha2-256, 32 bytes). ``any_hash=True`` reads every
  well-formed CID, for those who look one up or follow links of others; ``Cid.matches`` then says no for
  every hash function outside ``COMPUTED``, so that an attacker cannot choose a weak one.
- A CIDv0 is dag-pb over sha2-256; it equals its CIDv1 form and is written as it came.
- One CIDv1 has one base32 text. Look blocks up by ``multihash``.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass, field
from functools import lru_cache

from node.core.errors import Rejected

CBOR = 0x51
RAW = 0x55
DAG_PB = 0x70
DAG_CBOR = 0x71
LIBP2P_KEY = 0x72
DAG_JSON = 0x0129
JSON = 0x0200

IDENTITY = 0x00
SHA2_256 = 0x12
SHA2_512 = 0x13
BLAKE2B_256 = 0xB220
COMPUTED = frozenset({IDENTITY, SHA2_256, SHA2_512, BLAKE2B_256})
"""The hash functions that ``Cid.matches`` checks: those of today's tools and of Filecoin, in full length."""

DIGEST_BYTES_MAX = 128
"""Of any hash function: more than any in use, and the limit for data inlined by identity CIDs elsewhere."""

_DIGEST_BYTES = 32
_V0 = bytes((SHA2_256, _DIGEST_BYTES))
_V1_BYTES = 4 + _DIGEST_BYTES
"""Of a CIDv1 over sha2-256 whose codec is below 128, which nearly all are."""
_TEXT_MAX = 256
_ANY_HASH_TEXT_MAX = 512

BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
BASE36 = "0123456789abcdefghijklmnopqrstuvwxyz"


def encode_varint(value: int) -> bytes:
    """Unsigned LEB128, as multiformats uses it."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def decode_varint(data: bytes | bytearray, offset: int = 0, *, bits_max: int = 63) -> tuple[int, int]:
    """Return (value, next offset). Raises ``Rejected`` unless minimal and at most ``bits_max`` bits: 63 in
    multiformats, 64 in protobuf."""
    value = shift = 0
    for at in range(offset, min(len(data), offset + (bits_max + 6) // 7)):
        byte = data[at]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if byte == 0 and shift:
                raise Rejected("a varint is not minimal")
            if value >> bits_max:
                break
            return value, at + 1
        shift += 7
    raise Rejected("a varint is cut off or too long")


def encode_base(data: bytes, alphabet: str) -> str:
    """Big-integer base encoding with leading zero bytes kept, as in base58btc and base36."""
    number = int.from_bytes(data, "big")
    out: list[str] = []
    while number:
        number, digit = divmod(number, len(alphabet))
        out.append(alphabet[digit])
    zeros = len(data) - len(data.lstrip(b"\0"))
    return alphabet[0] * zeros + "".join(reversed(out))


def decode_base(text: str, alphabet: str) -> bytes:
    """Inverse of ``encode_base``. Raises ``Rejected`` for a character outside the alphabet."""
    number = 0
    for char in text:
        digit = alphabet.find(char)
        if digit < 0:
            raise Rejected("a character is outside the base's alphabet")
        number = number * len(alphabet) + digit
    zeros = len(text) - len(text.lstrip(alphabet[0]))
    return b"\0" * zeros + number.to_bytes((number.bit_length() + 7) // 8, "big")


def base58(data: bytes) -> str:
    """base58btc without a multibase prefix (did:key adds ``z`` itself)."""
    return encode_base(data, BASE58)


def base36(data: bytes) -> str:
    """Multibase base36 (prefix ``k``): the usual form of IPNS names."""
    return "k" + encode_base(data, BASE36)


def _decode_base32(text: str) -> bytes:
    data = base64.b32decode(text + "=" * (-len(text) % 8))
    if base64.b32encode(data).decode().rstrip("=") != text:
        raise Rejected("not a CID: spare bits are set")
    return data


def _decode_base64url(text: str) -> bytes:
    data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    if base64.urlsafe_b64encode(data).decode().rstrip("=") != text:
        raise Rejected("not a CID: spare bits are set")
    return data


def decode_multibase(text: str) -> bytes:
    """The bytes of a text in base32 (b, B), base58 (z), base36 (k, K), hex (f, F) or base64url (u).

    The caller bounds the length. Raises ``Rejected``.
    """
    prefix, rest = text[:1], text[1:]
    if not (text.isascii() and rest and (prefix == "u" or rest.isalnum())):
        raise Rejected("not a CID: it is too short or has a character outside its base")
    try:
        if prefix in "bB":
            if rest != (rest.lower() if prefix == "b" else rest.upper()):
                raise Rejected("not a CID: mixed case")
            return _decode_base32(rest.upper())
        if prefix == "z":
            return decode_base(rest, BASE58)
        if prefix in "kK":
            return decode_base(rest.lower(), BASE36)
        if prefix in "fF":
            return bytes.fromhex(rest)
        if prefix == "u":
            return _decode_base64url(rest)
    except ValueError as exc:
        raise Rejected("not a CID: the text does not decode") from exc
    raise Rejected(f"not a CID: unknown multibase prefix {prefix!r}")


@dataclass(frozen=True, slots=True, order=True, init=False)
class Cid:
    """A content identifier. Equality is by codec, digest and hash function, whatever the ``version`` (0 or 1)
    that it is written in; look blocks up by ``multihash``."""

    codec: int
    digest: bytes
    function: int = SHA2_256
    version: int = field(default=1, compare=False)

    def __init__(self, codec: int, digest: bytes, function: int = SHA2_256, version: int = 1) -> None:
        # Set by the slots' own descriptors: made in every look-up, and this takes 60 % of the usual way.
        _set_codec(self, codec)
        _set_digest(self, digest)
        _set_function(self, function)
        _set_version(self, version)

    @property
    def multihash(self) -> bytes:
        if self.function == SHA2_256:
            return _V0 + self.digest
        return encode_varint(self.function) + encode_varint(len(self.digest)) + self.digest

    @property
    def is_identity(self) -> bool:
        """The digest is the data itself: there is no block to fetch."""
        return self.function == IDENTITY

    def __bytes__(self) -> bytes:
        if self.version == 0:
            return self.multihash
        return b"\x01" + encode_varint(self.codec) + self.multihash

    def __str__(self) -> str:
        if self.version == 0:
            return base58(self.multihash)
        return "b" + base64.b32encode(bytes(self)).decode().rstrip("=").lower()

    def matches(self, data: bytes) -> bool:
        """Whether ``data`` is what this identifies. False for a hash function outside ``COMPUTED``: what
        cannot be checked is not valid."""
        if self.function == SHA2_256:
            return hashlib.sha256(data).digest() == self.digest
        if self.function == SHA2_512:
            return hashlib.sha512(data).digest() == self.digest
        if self.function == BLAKE2B_256:
            return hashlib.blake2b(data, digest_size=32).digest() == self.digest
        return self.function == IDENTITY and self.digest == data

    @classmethod
    def of(cls, data: bytes, codec: int = DAG_CBOR) -> Cid:
        """The identifier of ``data``."""
        return cls(codec, hashlib.sha256(data).digest())

    @classmethod
    def from_bytes(cls, data: bytes, *, any_hash: bool = False) -> Cid:
        """Exactly one binary CID (v1, or v0 as a bare multihash), nothing after it. Raises ``Rejected``."""
        if len(data) == _V1_BYTES and data[0] == 1 and data[1] < 0x80 and data[2:4] == _V0:
            return cls(data[1], data[4:])
        cid, end = read_cid(data, 0, any_hash=any_hash)
        if end != len(data):
            raise Rejected("a CID has the wrong length")
        return cid

    @classmethod
    def find(cls, text: str, *, any_hash: bool = False) -> Cid | None:
        """``parse``, or None for a text that is no CID."""
        try:
            return cls.parse(text, any_hash=any_hash)
        except Rejected:
            return None

    @classmethod
    def parse(cls, text: str, *, any_hash: bool = False) -> Cid:
        """From text: CIDv0 in bare base58, CIDv1 in any base of ``decode_multibase``. Raises ``Rejected``."""
        if not 2 <= len(text) <= (_ANY_HASH_TEXT_MAX if any_hash else _TEXT_MAX):
            raise Rejected("not a CID: its length is out of range")
        return _parsed(text, any_hash)


@lru_cache(4_096)
def _parsed(text: str, any_hash: bool) -> Cid:
    if len(text) == 46 and text.startswith("Qm"):
        return Cid.from_bytes(decode_base(text, BASE58))
    data = decode_multibase(text)
    if data[:1] == _V0[:1]:
        raise Rejected("not a CID: version 0 is written without a multibase prefix")
    return Cid.from_bytes(data, any_hash=any_hash)


_set_codec, _set_digest, _set_function, _set_version = (
    Cid.__dict__[name].__set__ for name in ("codec", "digest", "function", "version")
)


def read_cid(data: bytes | bytearray, offset: int, *, any_hash: bool = False) -> tuple[Cid, int]:
    """The binary CID at ``offset`` and the offset behind it, as CARs hold them. Raises ``Rejected``."""
    if data[offset : offset + 2] == _V0:
        codec, function, length, version = DAG_PB, SHA2_256, _DIGEST_BYTES, 0
        offset += 2
    else:
        version, offset = decode_varint(data, offset)
        if version != 1:
            raise Rejected(f"CID version {version} is not supported")
        codec, offset = decode_varint(data, offset)
        function, offset = decode_varint(data, offset)
        length, offset = decode_varint(data, offset)
        if function == SHA2_256:
            if length != _DIGEST_BYTES:
                raise Rejected("a sha2-256 digest has 32 bytes")
        elif not any_hash:
            raise Rejected("only sha2-256 CIDs are supported")
        elif length > DIGEST_BYTES_MAX:
            raise Rejected(f"a CID's digest is over the limit of {DIGEST_BYTES_MAX} bytes")
    end = offset + length
    if end > len(data):
        raise Rejected("a CID is cut off")
    return Cid(codec, bytes(data[offset:end]), function, version), end
