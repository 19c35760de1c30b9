"""Checkpoints as signed notes: the text, its signature lines, verifier keys, signing and checking.

Promises: the bytes of C2SP signed-note, tlog-checkpoint and tlog-cosignature. Parsing is strict and bounded
(one spelling for each value: UTF-8, LF, padded base64 without stray bits, decimals without leading zeros) and
raises ``Rejected`` only. Signatures of unknown keys are ignored; a known key whose signature fails refuses
the whole note.
Must not know: where keys are kept, what time it is (signers are told), what the log is for.

Kinds of keys: ``ED25519`` signs the text; ``COSIGNATURE`` (Ed25519) signs the time and the text;
``ML_DSA_44`` signs time, origin, size and root in a binary form.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, ClassVar

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from node.core.errors import Misconfigured, Rejected
from node.core.merkle import HASH_BYTES, SIZE_MAX

ED25519 = 0x01
COSIGNATURE = 0x04
ML_DSA_44 = 0x06

NOTE_BYTES_MAX = 128 * 1024
"""16 signatures, the fewest that must be accepted, of the largest post-quantum kind (4,627 bytes) fit."""
SIGNATURES_MAX = 64

_KEY_BYTES = {ED25519: 32, COSIGNATURE: 32, ML_DSA_44: 1312}
_SIGNATURE_BYTES = {ED25519: 64, COSIGNATURE: 64, ML_DSA_44: 2420}
_KEY_ID_BYTES = 4
_TIME_BYTES = 8
_TIME_MAX = 2**63 - 1
_VKEY_CHARS_MAX = 4096
_SIGNATURE_PREFIX = "— "
_DECIMAL = re.compile(r"0|[1-9][0-9]{0,18}", re.ASCII)
_HEX_ID = re.compile(r"[0-9a-f]{8}", re.ASCII)
_FORBIDDEN = re.compile(r"[\x00-\x09\x0b-\x1f\ud800-\udfff]")
"""What a note must not hold: ASCII control characters other than LF, and what UTF-8 cannot (a lone surrogate,
which is what Python makes of an argument or file name that is not UTF-8)."""


class MalformedNote(Rejected):
    """The bytes are not a signed note, or its text is not a checkpoint."""


class NoTrustedSignature(Rejected):
    """No key that counts for this log has signed."""


class BadTrustedSignature(Rejected):
    """A line bears the name and id of a trusted key and its signature does not hold."""


# --- the text of a checkpoint ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """How large a log is and which root it has then."""

    origin: str
    size: int
    root: bytes

    def __post_init__(self) -> None:
        if not self.origin or "\n" in self.origin or _FORBIDDEN.search(self.origin):
            raise MalformedNote("a checkpoint's origin is one line without control characters")
        if not 0 <= self.size <= SIZE_MAX:
            raise MalformedNote("a checkpoint's size goes from 0 to 2^63 - 1")
        if len(self.root) != HASH_BYTES:
            raise MalformedNote(f"a checkpoint's root has {HASH_BYTES} bytes")

    def text(self) -> bytes:
        """The three lines that are signed."""
        return f"{self.origin}\n{self.size}\n{encode_base64(self.root)}\n".encode()

    @classmethod
    def parse(cls, text: bytes) -> Checkpoint:
        """The checkpoint in a note's text. Extension lines are passed over, though they too are signed: check
        and sign the note's text, not ``text()``. Raises ``MalformedNote``.
        """
        lines = _decode(text).split("\n")
        if len(lines) < 4 or lines.pop() or not all(lines):
            raise MalformedNote("a checkpoint has at least three lines, each with something in it and an LF")
        return cls(lines[0], parse_decimal(lines[1]), decode_base64(lines[2]))

    @classmethod
    def of_note(cls, data: bytes) -> Checkpoint:
        """What a signed note states, its signatures not looked at. Raises ``MalformedNote``."""
        return cls.parse(Note.parse(data).text)


# --- notes ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Signature:
    """One signature line: whose key, and ``blob``, what follows the key id (for cosignatures: time first)."""

    name: str
    key_id: bytes
    blob: bytes

    def __post_init__(self) -> None:
        _check_name(self.name)
        if len(self.key_id) != _KEY_ID_BYTES or not self.blob:
            raise MalformedNote("a signature has a key id of 4 bytes and at least one byte after it")

    def line(self) -> bytes:
        """``— <name> <base64>`` and LF."""
        return f"{_SIGNATURE_PREFIX}{self.name} {encode_base64(self.key_id + self.blob)}\n".encode()

    @classmethod
    def parse(cls, line: str) -> Signature:
        """One line without its LF. Raises ``MalformedNote``."""
        name, _, encoded = line.removeprefix(_SIGNATURE_PREFIX).partition(" ")
        if not line.startswith(_SIGNATURE_PREFIX):
            raise MalformedNote("a signature line begins with an em dash and a space")
        decoded = decode_base64(encoded)
        return cls(name, decoded[:_KEY_ID_BYTES], decoded[_KEY_ID_BYTES:])


@dataclass(frozen=True, slots=True)
class Note:
    """A text and its signatures, checked or not."""

    text: bytes
    signatures: tuple[Signature, ...]

    def encode(self) -> bytes:
        """The bytes of the signed note. Raises ``MalformedNote`` for what could not be parsed again."""
        data = self.text + b"\n" + b"".join(one.line() for one in self.signatures)
        if Note.parse(data) != self:
            raise MalformedNote("this text with these signatures is not a note")
        return data

    @classmethod
    def parse(cls, data: bytes) -> Note:
        """An untrusted note of up to 128 KiB and 64 signatures. Raises ``MalformedNote``."""
        if len(data) > NOTE_BYTES_MAX:
            raise MalformedNote(f"a note has at most {NOTE_BYTES_MAX} bytes")
        text, separator, block = _decode(data).rpartition("\n\n")
        if not separator or not block.endswith("\n"):
            raise MalformedNote("a note is a text, an empty line and signature lines, each with an LF")
        lines = block[:-1].split("\n")
        if len(lines) > SIGNATURES_MAX:
            raise MalformedNote(f"a note has at most {SIGNATURES_MAX} signatures")
        return cls(f"{text}\n".encode(), tuple(Signature.parse(line) for line in lines))

    def with_signatures(self, more: Iterable[Signature]) -> Note:
        """This note with more signatures at the end; a newer one of the same name and key takes its place."""
        merged = {(one.name, one.key_id): one for one in self.signatures}
        merged.update({(one.name, one.key_id): one for one in more})
        return replace(self, signatures=tuple(merged.values()))


# --- keys that check ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Verifier:
    """A public key under a name: what a vkey says. Raises ``Rejected`` for unknown kinds and lengths."""

    name: str
    kind: int
    public: bytes

    def __post_init__(self) -> None:
        _check_name(self.name)
        if self.kind not in _KEY_BYTES:
            raise Rejected(
                f"the key of {self.name} has kind {self.kind:#04x}; this program knows 0x01 (Ed25519), "
                "0x04 (Ed25519 cosignature) and 0x06 (ML-DSA-44 cosignature)"
            )
        if len(self.public) != _KEY_BYTES[self.kind]:
            raise Rejected(
                f"the key of {self.name} has {len(self.public)} bytes, not {_KEY_BYTES[self.kind]}"
            )

    @classmethod
    def from_vkey(cls, text: str) -> Verifier:
        """``<name>+<8 hex digits>+<base64 of kind and key>`` without space around it. Raises ``Rejected``."""
        parts = text.split("+", 2) if len(text) <= _VKEY_CHARS_MAX else []
        if len(parts) != 3 or not _HEX_ID.fullmatch(parts[1]):
            raise Rejected("a verifier key is written <name>+<8 hex digits>+<base64>")
        typed = decode_base64(parts[2])
        if not typed:
            raise Rejected("the verifier key holds no key")
        verifier = cls(parts[0], typed[0], typed[1:])
        if verifier.key_id.hex() != parts[1]:
            raise Rejected(
                f"the key id of {verifier.name} does not belong to its name and key: copy it whole"
            )
        return verifier

    @property
    def key_id(self) -> bytes:
        """SHA-256(name || LF || kind || public)[:4]."""
        typed = bytes((self.kind,)) + self.public
        return hashlib.sha256(self.name.encode() + b"\n" + typed).digest()[:_KEY_ID_BYTES]

    @property
    def vkey(self) -> str:
        """The text form, for configuration files."""
        return f"{self.name}+{self.key_id.hex()}+{encode_base64(bytes((self.kind,)) + self.public)}"

    @property
    def is_cosigner(self) -> bool:
        """Whether its signatures bear a time."""
        return self.kind != ED25519

    def made(self, signature: Signature) -> bool:
        """Whether the line says that it is by this key (it may lie)."""
        return signature.name == self.name and signature.key_id == self.key_id

    def check(self, text: bytes, signature: Signature) -> int | None:
        """The POSIX time that a cosignature bears, None for a plain signature.

        ``text`` is the note's whole text. Raises ``BadTrustedSignature`` where the signature is not by this
        key over it, and ``Misconfigured`` where ML-DSA cannot be checked here.
        """
        if not self.made(signature):
            raise BadTrustedSignature(f"the signature of {signature.name} is not by the key of {self.name}")
        time_bytes = _TIME_BYTES if self.is_cosigner else 0
        if len(signature.blob) != time_bytes + _SIGNATURE_BYTES[self.kind]:
            raise BadTrustedSignature(f"the signature of {self.name} has the wrong length")
        raw = signature.blob[time_bytes:]
        time_s = int.from_bytes(signature.blob[:time_bytes], "big") if self.is_cosigner else None
        if time_s is not None and time_s > _TIME_MAX:
            raise BadTrustedSignature(f"the cosignature of {self.name} bears a time that cannot be")
        try:
            public: Any
            if self.kind == ML_DSA_44:
                public = _ml_dsa(lambda module: module.MLDSA44PublicKey.from_public_bytes(self.public))
            else:
                public = Ed25519PublicKey.from_public_bytes(self.public)
            public.verify(raw, _signed_message(self.kind, self.name, time_s or 0, text))
        except (InvalidSignature, ValueError) as exc:
            raise BadTrustedSignature(f"the signature of {self.name} does not hold") from exc
        return time_s


@dataclass(frozen=True, slots=True)
class Opened:
    """A checkpoint that a key of its log has signed, with all the given keys that have signed it."""

    checkpoint: Checkpoint
    note: Note
    signed_by: tuple[Verifier, ...]


def open_checkpoint(data: bytes, verifiers: Sequence[Verifier]) -> Opened:
    """Check an untrusted checkpoint against the given keys: those of its log, and of witnesses where wanted.

    A key whose name is the checkpoint's origin speaks for the log; one such signature is needed, for a
    witness alone cannot say what a log has published. Raises ``MalformedNote``, ``NoTrustedSignature`` and
    ``BadTrustedSignature``.
    """
    note = Note.parse(data)
    checkpoint = Checkpoint.parse(note.text)
    signed_by = tuple(verifier for verifier, _ in _checked(note, verifiers))
    if not any(one.name == checkpoint.origin for one in signed_by):
        raise NoTrustedSignature(f"no trusted key of {checkpoint.origin} has signed this checkpoint")
    return Opened(checkpoint, note, signed_by)


def cosigned(note: Note, witnesses: Sequence[Verifier]) -> dict[str, int]:
    """Which of the witnesses have cosigned, and when (POSIX seconds; the latest of several).

    Plain log keys among them are passed over. Raises ``BadTrustedSignature`` where a known one does not hold.
    """
    times: dict[str, int] = {}
    for verifier, time_s in _checked(note, [one for one in witnesses if one.is_cosigner]):
        times[verifier.name] = max(time_s or 0, times.get(verifier.name, 0))
    return times


# --- keys that sign -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Signer:
    """A private key under a name. Signing is CPU only and may be called from any thread."""

    name: str
    key: Any
    kind: ClassVar[int]

    @property
    def verifier(self) -> Verifier:
        """The public side."""
        return Verifier(self.name, self.kind, self.key.public_key().public_bytes_raw())

    def sign(self, text: bytes, time_s: int) -> Signature:
        """The signature over a note's text; ``time_s`` (POSIX) goes into cosignatures only."""
        time_bytes = b"" if self.kind == ED25519 else _time_bytes(time_s)
        raw = self.key.sign(_signed_message(self.kind, self.name, time_s, text))
        return Signature(self.name, self.verifier.key_id, time_bytes + raw)


class Ed25519Signer(Signer):
    """A log's key: kind 0x01."""

    __slots__ = ()
    kind = ED25519


class CosignatureSigner(Signer):
    """A witness's key: kind 0x04, ``cosignature/v1``."""

    __slots__ = ()
    kind = COSIGNATURE


class MlDsaCosigner(Signer):
    """A witness's or a log's post-quantum key: kind 0x06, ``subtree/v1`` over the whole tree."""

    __slots__ = ()
    kind = ML_DSA_44

    @classmethod
    def from_seed(cls, name: str, seed: bytes) -> MlDsaCosigner:
        """The key of a 32-byte seed. Raises ``Misconfigured`` where this installation has no ML-DSA."""
        try:
            return cls(name, _ml_dsa(lambda module: module.MLDSA44PrivateKey.from_seed_bytes(seed)))
        except ValueError as exc:
            raise Rejected("the seed of an ML-DSA-44 key has 32 bytes") from exc


# --- base64 and decimals, one spelling each -------------------------------------------------------


def encode_base64(data: bytes) -> str:
    """Standard base64 (RFC 4648 section 4) with padding."""
    return base64.b64encode(data).decode("ascii")


def decode_base64(text: str) -> bytes:
    """The one spelling that ``encode_base64`` makes; anything else raises ``MalformedNote``."""
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as exc:
        raise MalformedNote("a value is not standard base64") from exc
    if encode_base64(data) != text:
        raise MalformedNote("a value is not in the usual form of base64")
    return data


def parse_decimal(text: str) -> int:
    """A decimal from 0 to 2^63 - 1 in ASCII without leading zeros. Raises ``MalformedNote``."""
    if not _DECIMAL.fullmatch(text) or int(text) > SIZE_MAX:
        raise MalformedNote("a number is not a decimal from 0 to 2^63 - 1 without leading zeros")
    return int(text)


# --- the rules below ------------------------------------------------------------------------------


def _decode(data: bytes) -> str:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as exc:
        raise MalformedNote("a note is UTF-8") from exc
    if _FORBIDDEN.search(text):
        raise MalformedNote("a note holds no control characters but LF")
    return text


def _check_name(name: str) -> None:
    if not name or "+" in name or any(one.isspace() for one in name) or _FORBIDDEN.search(name):
        raise MalformedNote("a key's name is not empty and holds no space, plus or control character")


def _checked(note: Note, verifiers: Sequence[Verifier]) -> list[tuple[Verifier, int | None]]:
    """Each of the keys that has signed, with its latest time, in the keys' order; one failure raises."""
    found: list[tuple[Verifier, int | None]] = []
    for verifier in dict.fromkeys(verifiers):
        times = [verifier.check(note.text, one) for one in note.signatures if verifier.made(one)]
        if times:
            found.append((verifier, max((one for one in times if one is not None), default=None)))
    return found


def _time_bytes(time_s: int) -> bytes:
    if not 0 <= time_s <= _TIME_MAX:
        raise Rejected(f"{time_s} is no POSIX time that a cosignature can bear")
    return time_s.to_bytes(_TIME_BYTES, "big")


def _signed_message(kind: int, name: str, time_s: int, text: bytes) -> bytes:
    """What a key of this kind and name signs. tlog-cosignature: Ed25519 two lines and the whole text,
    extension lines with it; ML-DSA-44 a binary form of the whole tree (start 0)."""
    if kind == ED25519:
        return text
    if kind == COSIGNATURE:
        return f"cosignature/v1\ntime {time_s}\n".encode() + text
    checkpoint = Checkpoint.parse(text)
    return b"".join(
        (
            b"subtree/v1\n\x00",
            _short(name),
            _time_bytes(time_s),
            _short(checkpoint.origin),
            bytes(8),
            checkpoint.size.to_bytes(8, "big"),
            checkpoint.root,
        )
    )


def _short(name: str) -> bytes:
    """``opaque<1..2^8-1>`` of RFC 8446."""
    data = name.encode()
    if not 1 <= len(data) <= 255:
        raise Rejected("an ML-DSA cosignature takes names and origins of at most 255 bytes")
    return bytes((len(data),)) + data


def _ml_dsa(load: Callable[[Any], Any]) -> Any:
    """A key from the library's module. Raises ``Misconfigured`` where this installation has none."""
    try:
        return load(import_module("cryptography.hazmat.primitives.asymmetric.mldsa"))
    except (ImportError, UnsupportedAlgorithm) as exc:
        raise Misconfigured(
            "ML-DSA-44 cosignatures need a newer cryptography package: run pip install --upgrade "
            "cryptography, or leave such keys out"
        ) from exc
