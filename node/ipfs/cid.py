"""Content identifiers: CIDv1 over SHA-256, read from any common multibase, written in base32.

Source: the CID and multihash specifications of multiformats. Only what this node stores is
supported on the way in (sha2-256, 32 bytes; CIDv0 as dag-pb), so an attacker cannot choose a weak hash.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass

from node.errors import Rejected

RAW = 0x55
DAG_PB = 0x70
DAG_CBOR = 0x71
LIBP2P_KEY = 0x72
DAG_JSON = 0x0129

_SHA2_256 = 0x12
_IDENTITY = 0x00
_DIGEST_BYTES = 32
_TEXT_MAX = 256

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


def decode_varint(data: bytes, offset: int = 0) -> tuple[int, int]:
    """Return (value, next offset). Raises ``Rejected`` unless minimal and at most 63 bits."""
    value = 0
    for count in range(9):
        if offset + count >= len(data):
            break
        byte = data[offset + count]
        value |= (byte & 0x7F) << (7 * count)
        if byte < 0x80:
            if byte == 0 and count > 0:
                raise Rejected("a varint is not minimal")
            return value, offset + count + 1
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


@dataclass(frozen=True, slots=True, order=True)
class Cid:
    """A CIDv1. Equality is by codec and digest; look blocks up by ``multihash``."""

    codec: int
    digest: bytes

    @property
    def multihash(self) -> bytes:
        return bytes((_SHA2_256, _DIGEST_BYTES)) + self.digest

    def __bytes__(self) -> bytes:
        return encode_varint(1) + encode_varint(self.codec) + self.multihash

    def __str__(self) -> str:
        return "b" + base64.b32encode(bytes(self)).decode().rstrip("=").lower()

    @classmethod
    def of(cls, data: bytes, codec: int = DAG_CBOR) -> Cid:
        """The identifier of ``data``."""
        return cls(codec, hashlib.sha256(data).digest())

    @classmethod
    def from_bytes(cls, data: bytes) -> Cid:
        """Strict: exactly one binary CID (v1, or v0 as a bare multihash), nothing after it."""
        if len(data) == 2 + _DIGEST_BYTES and data[:2] == bytes((_SHA2_256, _DIGEST_BYTES)):
            return cls(DAG_PB, data[2:])
        version, offset = decode_varint(data)
        if version != 1:
            raise Rejected(f"CID version {version} is not supported")
        codec, offset = decode_varint(data, offset)
        function, offset = decode_varint(data, offset)
        length, offset = decode_varint(data, offset)
        if function != _SHA2_256 or length != _DIGEST_BYTES:
            raise Rejected("only sha2-256 CIDs are supported")
        if len(data) - offset != _DIGEST_BYTES:
            raise Rejected("a CID has the wrong length")
        return cls(codec, data[offset:])

    @classmethod
    def parse(cls, text: str) -> Cid:
        """From text in base32 (b, B), base58 (z, or CIDv0), base36 (k, K) or hex (f, F)."""
        if not 2 <= len(text) <= _TEXT_MAX or not (text.isascii() and text.isalnum()):
            raise Rejected("not a CID: its length or a character is out of range")
        if len(text) == 46 and text.startswith("Qm"):
            return cls.from_bytes(decode_base(text, BASE58))
        prefix, rest = text[0], text[1:]
        try:
            if prefix in "bB":
                if rest != (rest.lower() if prefix == "b" else rest.upper()):
                    raise Rejected("not a CID: mixed case")
                data = base64.b32decode(rest.upper() + "=" * (-len(rest) % 8))
                if base64.b32encode(data).decode().rstrip("=") != rest.upper():
                    raise Rejected("not a CID: spare bits are set")
            elif prefix == "z":
                data = decode_base(rest, BASE58)
            elif prefix in "kK":
                data = decode_base(rest.lower(), BASE36)
            elif prefix in "fF":
                data = bytes.fromhex(rest)
            else:
                raise Rejected(f"not a CID: unknown multibase prefix {prefix!r}")
        except ValueError as exc:
            raise Rejected("not a CID: the text does not decode") from exc
        return cls.from_bytes(data)
