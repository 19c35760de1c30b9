"""Who this node is: the root did:key, the keys that it certifies, and the files they live in.

Promises: keys are made on first start and never replaced silently; each file is created whole or not at
all, readable by its owner alone, and refused when others may read it; no secret is logged or shown by
``repr``.
The root's private key may be kept elsewhere: ``root.did`` and the certificates are then enough to start.

A key is changed by a rotation alone. The key before stays for an overlap, so that whoever has not heard of
the new one can check new checkpoints too; its certificate ends with that, and the next start deletes it.

Files under ``keys/`` (mode 0700, files 0600): ``root.did`` (text), ``root.pem`` and ``<use>.pem`` (Ed25519,
PKCS8), ``<use>.cert`` (a ``key`` record, DAG-CBOR, signed by the root) for each use: node, decisions,
publications, witness. ``<use>.old-<8 hex digits of the key's SHA-256>.pem|cert`` are keys in their overlap,
``<use>.next.pem|cert`` a rotation under way: it holds from the moment that ``<use>.next.cert`` is there, and
is finished at the next start if a crash comes between.
Sources: W3C did:key; the IPNS specification (names); C2SP signed-note and tlog-cosignature (verifier keys).
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from node.core.clock import random_bytes
from node.core.errors import CorruptState, Misconfigured, Rejected
from node.core.ipld.ipns import IpnsName
from node.core.model import SCOPE_PUBLIC
from node.core.record import KeyRecord, Sign, block_of, decode, did_key, public_key_of, sign
from node.core.signed_note import (
    COSIGNATURE,
    ED25519,
    CosignatureSigner,
    Ed25519Signer,
    MlDsaCosigner,
    Signer,
    Verifier,
)

NODE = "node"
DECISIONS = "decisions"
PUBLICATIONS = "publications"
WITNESS = "witness"
USES = (NODE, DECISIONS, PUBLICATIONS, WITNESS)

CERTIFICATE_DAYS = 730
RENEW_DAYS = 90
"""A certificate with less than this left is renewed at start, if the root's key is here."""
OVERLAP_DAYS = 30
"""How long a key that was rotated goes on signing beside the new one."""
OLD_MAX = 4
"""Keys of one use in their overlap; the oldest goes when there are more."""

_FILE_BYTES_MAX = 16 * 1024


def verifier_key(name: str, public: bytes, signature_type: int) -> str:
    """The signed-note verifier key ``name+hex key id+base64(type || key)`` of a raw Ed25519 key."""
    return Verifier(name, signature_type, public).vkey


@dataclass(frozen=True, slots=True)
class _Key:
    private: Ed25519PrivateKey
    certificate: KeyRecord

    @property
    def public(self) -> bytes:
        return self.private.public_key().public_bytes_raw()


@dataclass(frozen=True, slots=True)
class Rotation:
    """A change of the key for one use. ``certificates``: the root's word on the new key, then on the end of
    the old one, which is ``old_until``, then of those in their overlap that are dropped with it. ``before``
    and ``keys`` are what signs before and after, newest first."""

    use: str
    certificates: tuple[KeyRecord, ...]
    before: tuple[_Key, ...]
    keys: tuple[_Key, ...]

    @property
    def new(self) -> str:
        """did:key of the new key."""
        return self.certificates[0].subject

    @property
    def old(self) -> str:
        """did:key of the key before it."""
        return self.certificates[1].subject

    @property
    def old_until(self) -> datetime:
        return self.certificates[1].not_after

    def __repr__(self) -> str:
        return f"Rotation(use={self.use!r}, old={self.old!r}, new={self.new!r})"


class Identity:
    """The loaded keys. Signing is CPU only (0.1 ms) and may be called from any thread."""

    def __init__(
        self, directory: Path, root: str, keys: Mapping[str, tuple[_Key, ...]], *, has_root_key: bool
    ) -> None:
        self._directory = directory
        self._root = root
        self._keys = dict(keys)
        self._has_root_key = has_root_key

    def __repr__(self) -> str:
        return f"Identity(root={self.root!r}, node={self.node!r})"

    @classmethod
    def load_or_create(cls, directory: Path, now: datetime) -> Identity:
        """Load the keys in ``directory``, making what a first start has to make. Blocking file work.

        Steps: 1 the directory is private; 2 the root: load, or create where there is no key of ours at all;
        3 for each use finish a rotation, then its key, then its certificate, which must be the root's word
        for exactly that key; 4 renew what ends soon, delete what has ended. Raises ``Misconfigured``
        (permissions, a certificate that only an absent root can make) and ``CorruptState`` (a file that is
        damaged, missing or of another identity).
        """
        files = _KeyFiles(directory)
        root, root_key = _load_root(files)
        keys = {}
        for use in USES:
            _finish_rotation(files, use)
            key = _load_use(files, use, root, root_key, now)
            keys[use] = (key, *_load_old(files, use, root, key, now))
        return cls(directory, root, keys, has_root_key=root_key is not None)

    @property
    def root(self) -> str:
        """did:key of the root: the issuer of this node's records."""
        return self._root

    @property
    def node(self) -> str:
        """did:key of the node key, which signs records."""
        return did_key(self._keys[NODE][0].public)

    @property
    def has_root_key(self) -> bool:
        """Whether the root's private key is here, so that keys can be certified and rotated."""
        return self._has_root_key

    @property
    def ipns_name(self) -> str:
        """The node key's IPNS name (``k51…``)."""
        return IpnsName.of(self._keys[NODE][0].public).text

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
        return self.vkey(DECISIONS)

    @property
    def publications_vkey(self) -> str:
        return self.vkey(PUBLICATIONS)

    @property
    def witness_vkey(self) -> str:
        return verifier_key(self.witness_name, self._keys[WITNESS][0].public, COSIGNATURE)

    def vkey(self, use: str) -> str:
        """The verifier key of the key for ``use``; empty for the node key, which signs no notes."""
        if use == WITNESS:
            return self.witness_vkey
        return "" if use == NODE else verifier_key(self._name(use), self._keys[use][0].public, ED25519)

    def overlap(self, use: str) -> list[tuple[str, datetime]]:
        """did:key and end of each key for ``use`` that still signs beside the present one, newest first: the
        order of what follows the first of ``log_signers`` and ``witness_signers``."""
        return [(did_key(key.public), key.certificate.not_after) for key in self._keys[use][1:]]

    def certificates(self) -> list[KeyRecord]:
        """The root's signed ``key`` records of the keys that sign now, in the order of ``USES``; a key's own
        come newest first."""
        return [key.certificate for use in USES for key in self._keys[use]]

    def log_signers(self, origin: str) -> tuple[Signer, ...]:
        """What signs the checkpoints of the log ``origin``, which is the decisions log's, the publications
        log's, or a later epoch's of either (``…/decisions/2``): the key, then those in their overlap.
        Raises ``Rejected`` for the origin of another log."""
        for use in (DECISIONS, PUBLICATIONS):
            if origin == self._name(use) or origin.startswith(self._name(use) + "/"):
                return tuple(Ed25519Signer(origin, key.private) for key in self._keys[use])
        raise Rejected(f"{origin} is no log of this node")

    def log_vkey(self, origin: str) -> str:
        """The verifier key of the newest of ``log_signers(origin)``."""
        return self.log_signers(origin)[0].verifier.vkey

    def witness_signers(self, *, is_ml_dsa: bool = False) -> tuple[Signer, ...]:
        """What cosigns other logs' checkpoints: the key, then those in their overlap. With ``is_ml_dsa`` each
        also as ML-DSA-44, whose seed is made from the private key (HKDF) and needs no file of its own. Raises
        ``Misconfigured`` where this installation has no ML-DSA."""
        keys = [key.private for key in self._keys[WITNESS]]
        signers: list[Signer] = [CosignatureSigner(self.witness_name, key) for key in keys]
        if is_ml_dsa:
            signers += [MlDsaCosigner.from_seed(self.witness_name, _ml_dsa_seed(key)) for key in keys]
        return tuple(signers)

    def sign(self, data: bytes) -> bytes:
        """Ed25519 signature of the node key over ``data``: 64 bytes."""
        return self._keys[NODE][0].private.sign(data)

    def node_keys(self) -> list[tuple[bytes, Sign]]:
        """(public key, sign function) of the node key and of those in their overlap, newest first: each is an
        IPNS name."""
        return [(key.public, key.private.sign) for key in self._keys[NODE]]

    def signer(self, use: str) -> Sign:
        """The sign function of the key for ``use`` (one of ``USES``)."""
        return self._keys[use][0].private.sign

    def next_key(self, use: str, now: datetime, *, drop_old: bool = False) -> Rotation:
        """A new key for ``use``, certified and nowhere yet. Blocking (it reads the root's key).

        The key before it is to sign for ``OVERLAP_DAYS`` more; with ``drop_old`` (they may be in wrong
        hands) neither it nor those that are still in their overlap. Raises ``Misconfigured`` without the
        root's key.
        """
        root_key = _KeyFiles(self._directory).read_key("root.pem")
        if root_key is None:
            raise Misconfigured(
                f"the root key that certifies a new {use} key is not here: put root.pem into "
                f"{self._directory} for this command"
            )
        return _rotation(use, self._root, root_key, self._keys[use], now, drop_old=drop_old)

    def present(self, rotation: Rotation) -> None:
        """Let the new key sign beside the present ones, so that what both have signed leads over to it."""
        self._keys[rotation.use] = (*rotation.before, rotation.keys[0])

    def withdraw(self, rotation: Rotation) -> None:
        """The rotation is not to be: sign as before."""
        self._keys[rotation.use] = rotation.before

    def commit(self, rotation: Rotation) -> None:
        """Put the rotation on disk. Blocking. A crash leaves the keys as before or as after. Raises
        ``Misconfigured`` when a file cannot be written; then ``load_or_create`` tells which it is."""
        _write_rotation(_KeyFiles(self._directory), rotation)

    def adopt(self, rotation: Rotation) -> None:
        """Sign by the keys that are on disk now."""
        self._keys[rotation.use] = rotation.keys

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


def _certify(
    root: str,
    root_key: Ed25519PrivateKey,
    subject: str,
    use: str,
    now: datetime,
    *,
    not_before: datetime | None = None,
    not_after: datetime | None = None,
) -> KeyRecord:
    start = now.replace(microsecond=0)
    unsigned = KeyRecord(
        issuer=root,
        key=root,
        scope=SCOPE_PUBLIC,
        timestamp=start,
        expires=None,
        subject=subject,
        use=use,
        not_before=not_before or start,
        not_after=not_after or start + timedelta(days=CERTIFICATE_DAYS),
    )
    return sign(unsigned, root_key.sign)


def _read_certificate(
    files: _KeyFiles, use: str, data: bytes, root: str, subject: str, *, name: str = ""
) -> KeyRecord:
    path = files.directory / f"{name or use}.cert"
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
            f"{path} is not this root's certificate for {name or use}.pem; restore the right pair, or "
            "remove the certificate where root.pem is"
        )
    return record


# --- rotation -------------------------------------------------------------------------------------


def _old_name(use: str, key: _Key) -> str:
    return f"{use}.old-{hashlib.sha256(key.public).hexdigest()[:8]}"


def _rotation(
    use: str,
    root: str,
    root_key: Ed25519PrivateKey,
    keys: tuple[_Key, ...],
    now: datetime,
    *,
    drop_old: bool,
) -> Rotation:
    current, *overlapping = keys
    ends = now.replace(microsecond=0) + (timedelta(0) if drop_old else timedelta(days=OVERLAP_DAYS))
    ending = [
        _certify(
            root,
            root_key,
            old.subject,
            use,
            now,
            not_before=min(old.not_before, ends),
            not_after=min(old.not_after, ends),
        )
        for old in (key.certificate for key in (keys if drop_old else keys[:1]))
    ]
    private = Ed25519PrivateKey.from_private_bytes(random_bytes(32))
    subject = did_key(private.public_key().public_bytes_raw())
    new = _Key(private, _certify(root, root_key, subject, use, now))
    overlap = () if drop_old else (_Key(current.private, ending[0]), *overlapping)
    return Rotation(
        use=use,
        certificates=(new.certificate, *ending),
        before=keys,
        keys=(new, *overlap[:OLD_MAX]),
    )


def _write_rotation(files: _KeyFiles, rotation: Rotation) -> None:
    """Order of writing: the old key aside, the new key, then the new certificate, which decides."""
    use, (new, *overlapping) = rotation.use, rotation.keys
    _finish_rotation(files, use)
    for key in overlapping:
        files.replace(f"{_old_name(use, key)}.pem", _pem(key.private))
        files.replace(f"{_old_name(use, key)}.cert", block_of(key.certificate)[1])
    files.create(f"{use}.next.pem", _pem(new.private))
    files.create(f"{use}.next.cert", block_of(new.certificate)[1])
    _finish_rotation(files, use)
    kept = {_old_name(use, key) for key in overlapping}
    for name in files.names(f"{use}.old-"):
        if name not in kept:
            files.delete(f"{name}.cert", f"{name}.pem")


def _finish_rotation(files: _KeyFiles, use: str) -> None:
    """Go on with a rotation that was cut short, or take back one that had not come to its certificate."""
    if files.has(f"{use}.next.cert"):
        if files.has(f"{use}.next.pem"):
            files.rename(f"{use}.next.pem", f"{use}.pem")
        files.rename(f"{use}.next.cert", f"{use}.cert")
    elif files.has(f"{use}.next.pem"):
        files.delete(f"{use}.next.pem")


def _load_old(files: _KeyFiles, use: str, root: str, current: _Key, now: datetime) -> list[_Key]:
    """The keys in their overlap, newest first. What has ended is deleted, and so is what a rotation that
    never came about put aside: the key that still signs."""
    found = []
    for name in files.names(f"{use}.old-"):
        data = files.read(f"{name}.cert")
        private = None if data is None else files.read_key(f"{name}.pem")
        if data is None or private is None:
            files.delete(f"{name}.cert", f"{name}.pem")
            continue
        subject = did_key(private.public_key().public_bytes_raw())
        key = _Key(private, _read_certificate(files, use, data, root, subject, name=name))
        if key.certificate.not_after <= now or key.public == current.public:
            files.delete(f"{name}.cert", f"{name}.pem")
        else:
            found.append(key)
    return sorted(found, key=lambda key: key.certificate.not_after, reverse=True)


def _ml_dsa_seed(key: Ed25519PrivateKey) -> bytes:
    """32 bytes that only the holder of ``key`` can make (HKDF-SHA-256, RFC 5869)."""
    made = HKDF(SHA256(), 32, None, b"neuroswarm/witness/ml-dsa-44/v1")
    return made.derive(key.private_bytes_raw())


def _pem(key: Ed25519PrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


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
        self.create(name, _pem(key))
        return key

    def names(self, prefix: str) -> list[str]:
        """What lies here under names that begin so, without the last suffix."""
        try:
            found = [path.name for path in self.directory.iterdir()]
        except OSError as exc:
            raise Misconfigured(f"the key directory {self.directory} cannot be read: {exc.strerror}") from exc
        return sorted({name.rpartition(".")[0] for name in found if name.startswith(prefix)})

    def rename(self, name: str, to: str) -> None:
        """Put a file in the place of another, durably."""
        path = self.directory / to
        try:
            (self.directory / name).rename(path)
            self._sync_directory()
        except OSError as exc:
            raise Misconfigured(f"the key file {path} cannot be written: {exc.strerror}") from exc

    def delete(self, *names: str) -> None:
        """Overwrite and remove files in this order; absent ones are passed over. A certificate goes before
        its key: a key without one is deleted at the next start, whatever is left of it."""
        for name in names:
            path = self.directory / name
            try:
                with path.open("r+b") as file:
                    file.write(bytes(path.stat().st_size))
                    file.flush()
                    os.fsync(file.fileno())
                path.unlink()
            except FileNotFoundError:
                continue
            except OSError as exc:
                raise Misconfigured(f"the key file {path} cannot be deleted: {exc.strerror}") from exc
        self._sync_directory()

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
        """New contents for a file that is not a secret's only copy."""
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
