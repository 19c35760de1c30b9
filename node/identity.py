"""Who this node is: the root did:key, the keys that it certifies, and the files they live in.

Promises: keys are made on first start and never replaced silently; each file is created whole or not at
all, readable by its owner alone, and refused when others may read it; no secret is logged or shown by
``repr``.
The root's private key may be kept elsewhere: ``root.did`` and the certificates are then enough to start.

Files under ``keys/`` (mode 0700, files 0600): ``root.did`` (text), ``root.pem`` and ``<use>.pem`` (Ed25519,
PKCS8), ``<use>.cert`` (a ``key`` record, DAG-CBOR, signed by the root) for each use: node, decisions,
publications, witness.
Sources: W3C did:key; the IPNS specification (names); C2SP signed-note and tlog-cosignature (verifier keys).
"""

from __future__ import annotations

import base64
import hashlib
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from node.clock import random_bytes
from node.errors import CorruptState, Misconfigured, Rejected
from node.ipfs.cid import LIBP2P_KEY, base36, encode_varint
from node.model import SCOPE_PUBLIC
from node.record import KeyRecord, Sign, block_of, decode, did_key, public_key_of, sign

NODE = "node"
DECISIONS = "decisions"
PUBLICATIONS = "publications"
WITNESS = "witness"
USES = (NODE, DECISIONS, PUBLICATIONS, WITNESS)

CERTIFICATE_DAYS = 730
RENEW_DAYS = 90
"""A certificate with less than this left is renewed at start, if the root's key is here."""

_FILE_BYTES_MAX = 16 * 1024
_NOTE_ED25519 = 0x01
_NOTE_COSIGNATURE = 0x04
_PROTOBUF_ED25519 = b"\x08\x01\x12\x20"
"""libp2p's PublicKey message: Type = Ed25519 (1), Data = 32 bytes."""


def ipns_name(public: bytes) -> str:
    """The IPNS name of a raw Ed25519 key: CIDv1, libp2p-key, identity multihash, base36 (``k51…``)."""
    key = _PROTOBUF_ED25519 + public
    return base36(encode_varint(1) + encode_varint(LIBP2P_KEY) + bytes((0x00, len(key))) + key)


def verifier_key(name: str, public: bytes, signature_type: int) -> str:
    """The signed-note verifier key ``name+hex key id+base64(type || key)`` of a raw Ed25519 key."""
    typed = bytes((signature_type,)) + public
    key_id = hashlib.sha256(name.encode() + b"\n" + typed).digest()[:4]
    return f"{name}+{key_id.hex()}+{base64.b64encode(typed).decode()}"


@dataclass(frozen=True, slots=True)
class _Key:
    private: Ed25519PrivateKey
    certificate: KeyRecord

    @property
    def public(self) -> bytes:
        return self.private.public_key().public_bytes_raw()


class Identity:
    """The loaded keys. Signing is CPU only (0.1 ms) and may be called from any thread."""

    def __init__(self, root: str, keys: Mapping[str, _Key], *, has_root_key: bool) -> None:
        self._root = root
        self._keys = dict(keys)
        self._has_root_key = has_root_key

    def __repr__(self) -> str:
        return f"Identity(root={self.root!r}, node={self.node!r})"

    @classmethod
    def load_or_create(cls, directory: Path, now: datetime) -> Identity:
        """Load the keys in ``directory``, making what a first start has to make. Blocking file work.

        Steps: 1 the directory is private; 2 the root: load, or create where there is no key of ours at all;
        3 for each use its key, then its certificate, which must be the root's word for exactly that key;
        4 renew what ends soon. Raises ``Misconfigured`` (permissions, a certificate that only an absent root
        can make) and ``CorruptState`` (a file that is damaged, missing or of another identity).
        """
        files = _KeyFiles(directory)
        root, root_key = _load_root(files)
        keys = {use: _load_use(files, use, root, root_key, now) for use in USES}
        return cls(root, keys, has_root_key=root_key is not None)

    @property
    def root(self) -> str:
        """did:key of the root: the issuer of this node's records."""
        return self._root

    @property
    def node(self) -> str:
        """did:key of the node key, which signs records."""
        return did_key(self._keys[NODE].public)

    @property
    def has_root_key(self) -> bool:
        """Whether the root's private key is here, so that keys can be certified and rotated."""
        return self._has_root_key

    @property
    def ipns_name(self) -> str:
        return ipns_name(self._keys[NODE].public)

    @property
    def decisions_origin(self) -> str:
        return self._name(DECISIONS)

    @property
    def publications_origin(self) -> str:
        return self._name(PUBLICATIONS)

    @property
    def witness_name(self) -> str:
        return self._name(WITNESS)

    @property
    def decisions_vkey(self) -> str:
        return verifier_key(self.decisions_origin, self._keys[DECISIONS].public, _NOTE_ED25519)

    @property
    def publications_vkey(self) -> str:
        return verifier_key(self.publications_origin, self._keys[PUBLICATIONS].public, _NOTE_ED25519)

    @property
    def witness_vkey(self) -> str:
        return verifier_key(self.witness_name, self._keys[WITNESS].public, _NOTE_COSIGNATURE)

    def certificates(self) -> list[KeyRecord]:
        """The root's signed ``key`` records, in the order of ``USES``."""
        return [self._keys[use].certificate for use in USES]

    def sign(self, data: bytes) -> bytes:
        """Ed25519 signature of the node key over ``data``: 64 bytes."""
        return self._keys[NODE].private.sign(data)

    def signer(self, use: str) -> Sign:
        """The sign function of the key for ``use`` (one of ``USES``)."""
        return self._keys[use].private.sign

    def _name(self, what: str) -> str:
        return f"{self._root.removeprefix('did:key:')}.neuroswarm/{what}"


# --- the rules of loading -------------------------------------------------------------------------


def _load_root(files: _KeyFiles) -> tuple[str, Ed25519PrivateKey | None]:
    """The root's did:key and, where it is here, its private key."""
    private = files.read_key("root.pem")
    stated = files.read("root.did")
    if private is None and stated is None:
        orphans = [use for use in USES if files.has(f"{use}.pem") or files.has(f"{use}.cert")]
        if orphans:
            raise CorruptState(
                f"{files.directory} holds the key {orphans[0]!r} but neither root.did nor root.pem; "
                "restore one of them from a backup, or move the whole directory away to become a new node"
            )
        private = files.create_key("root.pem")
    if private is None:
        root = (stated or b"").decode("ascii", "replace").strip()
        try:
            public_key_of(root)
        except Rejected as exc:
            raise CorruptState(
                f"{files.directory / 'root.did'} does not hold a did:key; restore it from a backup"
            ) from exc
        return root, None
    root = did_key(private.public_key().public_bytes_raw())
    if stated is None:
        files.create("root.did", f"{root}\n".encode())
    elif stated.strip() != root.encode():
        raise CorruptState(
            f"root.did and root.pem in {files.directory} are of two identities; restore the right pair"
        )
    return root, private


def _load_use(
    files: _KeyFiles, use: str, root: str, root_key: Ed25519PrivateKey | None, now: datetime
) -> _Key:
    """One certified key. A key without a certificate is a first start that was cut short; a certificate
    without its key is a loss that only a person can mend."""
    private = files.read_key(f"{use}.pem")
    data = files.read(f"{use}.cert")
    if private is None:
        if data is not None:
            raise CorruptState(
                f"{files.directory / f'{use}.pem'} is missing while its certificate is there; restore it "
                f"from a backup, or remove {use}.cert to have a new key made"
            )
        if root_key is None:
            raise Misconfigured(
                f"{files.directory / f'{use}.pem'} is missing and the root key that could certify a new one "
                f"is not here: put root.pem back for one start"
            )
        private = files.create_key(f"{use}.pem")
    subject = did_key(private.public_key().public_bytes_raw())
    certificate = None if data is None else _read_certificate(files, use, data, root, subject)
    if certificate is not None:
        left = certificate.not_after - now
        if left > timedelta(days=RENEW_DAYS) or (root_key is None and left > timedelta(0)):
            return _Key(private, certificate)
    if root_key is None:
        what = "has no certificate" if certificate is None else f"ended on {certificate.not_after:%Y-%m-%d}"
        raise Misconfigured(
            f"the {use} key in {files.directory} {what} and the root key that could certify it is not here: "
            "put root.pem back for one start"
        )
    certificate = _certify(root, root_key, subject, use, now)
    encoded = block_of(certificate)[1]
    if data is None:
        files.create(f"{use}.cert", encoded)
    else:
        files.replace(f"{use}.cert", encoded)
    return _Key(private, certificate)


def _certify(root: str, root_key: Ed25519PrivateKey, subject: str, use: str, now: datetime) -> KeyRecord:
    start = now.replace(microsecond=0)
    unsigned = KeyRecord(
        issuer=root,
        key=root,
        scope=SCOPE_PUBLIC,
        timestamp=start,
        expires=None,
        subject=subject,
        use=use,
        not_before=start,
        not_after=start + timedelta(days=CERTIFICATE_DAYS),
    )
    return sign(unsigned, root_key.sign)


def _read_certificate(files: _KeyFiles, use: str, data: bytes, root: str, subject: str) -> KeyRecord:
    path = files.directory / f"{use}.cert"
    try:
        record = decode(data)
    except Rejected as exc:
        raise CorruptState(f"{path} is damaged ({exc}); restore it, or remove it where root.pem is") from exc
    if (
        not isinstance(record, KeyRecord)
        or record.issuer != root
        or record.key != root
        or record.use != use
        or record.subject != subject
    ):
        raise CorruptState(
            f"{path} is not this root's certificate for {use}.pem; restore the right pair, or remove the "
            "certificate where root.pem is"
        )
    return record


# --- files ----------------------------------------------------------------------------------------


class _KeyFiles:
    """The private directory: whole files, created exclusively and synced with their directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            mode = stat.S_IMODE(directory.stat().st_mode)
        except OSError as exc:
            raise Misconfigured(f"the key directory {directory} cannot be used: {exc.strerror}") from exc
        if mode & 0o077:
            raise Misconfigured(
                f"the key directory {directory} is open to others (mode {mode:04o}): "
                f"run chmod 700 {directory}"
            )

    def has(self, name: str) -> bool:
        return (self.directory / name).exists()

    def read(self, name: str) -> bytes | None:
        """The file's bytes, or None where there is no such file."""
        path = self.directory / name
        flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        try:
            with os.fdopen(os.open(path, flags), "rb") as file:
                status = os.fstat(file.fileno())
                if not stat.S_ISREG(status.st_mode):
                    raise Misconfigured(f"the key file {path} is not a regular file")
                if status.st_mode & 0o077:
                    raise Misconfigured(
                        f"the key file {path} can be read by others "
                        f"(mode {stat.S_IMODE(status.st_mode):04o}): run chmod 600 {path}, "
                        "and rotate the key if somebody may have read it"
                    )
                data = file.read(_FILE_BYTES_MAX + 1)
        except FileNotFoundError:
            return None
        except OSError as exc:
            raise Misconfigured(f"the key file {path} cannot be read: {exc.strerror}") from exc
        if len(data) > _FILE_BYTES_MAX:
            raise CorruptState(f"{path} is over {_FILE_BYTES_MAX} bytes: not a file of this program")
        return data

    def read_key(self, name: str) -> Ed25519PrivateKey | None:
        data = self.read(name)
        if data is None:
            return None
        try:
            key = load_pem_private_key(data, password=None)
        except (ValueError, TypeError, UnsupportedAlgorithm) as exc:
            raise CorruptState(
                f"{self.directory / name} is not an unencrypted private key; restore it from a backup"
            ) from exc
        if not isinstance(key, Ed25519PrivateKey):
            raise CorruptState(f"{self.directory / name} is not an Ed25519 key; restore it from a backup")
        return key

    def create_key(self, name: str) -> Ed25519PrivateKey:
        key = Ed25519PrivateKey.from_private_bytes(random_bytes(32))
        self.create(name, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        return key

    def create(self, name: str, data: bytes) -> None:
        """A new file that must not exist yet: written aside, synced, then linked into place."""
        path = self.directory / name
        try:
            aside = self._write_aside(name, data)
            try:
                os.link(aside, path)
            finally:
                aside.unlink()
            self._sync_directory()
        except OSError as exc:
            raise Misconfigured(f"the key file {path} cannot be created: {exc.strerror}") from exc

    def replace(self, name: str, data: bytes) -> None:
        """New contents for a file that is not a secret's only copy (a certificate)."""
        path = self.directory / name
        try:
            aside = self._write_aside(name, data)
            aside.replace(path)
            self._sync_directory()
        except OSError as exc:
            raise Misconfigured(f"the key file {path} cannot be written: {exc.strerror}") from exc

    def _write_aside(self, name: str, data: bytes) -> Path:
        aside = self.directory / f".{name}.{random_bytes(6).hex()}.new"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            with os.fdopen(os.open(aside, flags, 0o600), "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        except OSError:
            aside.unlink(missing_ok=True)
            raise
        return aside

    def _sync_directory(self) -> None:
        descriptor = os.open(self.directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
