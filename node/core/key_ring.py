"""The keys that a root has certified: loading them, certifying new ones, and putting a rotation on disk.

Files under ``keys/`` (mode 0700, files 0600): ``root.did`` (text), ``root.pem`` and ``<use>.pem`` (Ed25519,
PKCS8), ``<use>.cert`` (a ``key`` record, DAG-CBOR, signed by the root) for each use: node, decisions,
publications, witness. ``<use>.old-<8 hex digits of the key's SHA-256>.pem|cert`` are keys in their overlap,
``<use>.next.pem|cert`` a rotation under way: it holds from the moment that ``<use>.next.cert`` is there, and
is finished at the next start if a crash comes between.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from node.core.caller import SCOPE_PUBLIC
from node.core.errors import CorruptState, Misconfigured, Rejected
from node.core.key_files import KeyFiles, new_key, pem
from node.core.record import USES, KeyRecord, block_of, decode, did_key, public_key_of, sign

CERTIFICATE_DAYS = 730
RENEW_DAYS = 90
"""A certificate with less than this left is renewed at start, if the root's key is here."""
OVERLAP_DAYS = 30
"""How long a key that was rotated goes on signing beside the new one."""
OLD_MAX = 4
"""Keys of one use in their overlap; the oldest goes when there are more."""


@dataclass(frozen=True, slots=True)
class Key:
    """A key and the root's word on it."""

    private: Ed25519PrivateKey
    certificate: KeyRecord

    @property
    def public(self) -> bytes:
        return self.private.public_key().public_bytes_raw()


@dataclass(frozen=True, slots=True)
class Root:
    """The root's did:key and, where it is here, its private key."""

    did: str
    private: Ed25519PrivateKey | None

    def certify(
        self, subject: str, use: str, now: datetime, *, period: tuple[datetime, datetime] | None = None
    ) -> KeyRecord:
        """The signed word on a key: good from now on, or for ``period``. The private key must be here."""
        assert self.private is not None
        start = now.replace(microsecond=0)
        begins, ends = period or (start, start + timedelta(days=CERTIFICATE_DAYS))
        unsigned = KeyRecord(
            issuer=self.did,
            key=self.did,
            scope=SCOPE_PUBLIC,
            timestamp=start,
            expires=None,
            subject=subject,
            use=use,
            not_before=begins,
            not_after=ends,
        )
        return sign(unsigned, self.private.sign)


@dataclass(frozen=True, slots=True)
class Rotation:
    """A change of the key for one use. ``certificates``: the root's word on the new key, then on the end of
    the old one, which is ``old_until``, then of those in their overlap that are dropped with it. ``before``
    and ``keys`` are what signs before and after, newest first."""

    use: str
    certificates: tuple[KeyRecord, ...]
    before: tuple[Key, ...]
    keys: tuple[Key, ...]

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


def load_root(files: KeyFiles) -> Root:
    """The root, made where there is no key of ours at all."""
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
        return Root(root, None)
    root = _did(private)
    if stated is None:
        files.create("root.did", f"{root}\n".encode())
    elif stated.strip() != root.encode():
        raise CorruptState(
            f"root.did and root.pem in {files.directory} are of two identities; restore the right pair"
        )
    return Root(root, private)


def load_use(files: KeyFiles, use: str, root: Root, now: datetime) -> tuple[Key, ...]:
    """The certified key for ``use``, then those in their overlap, newest first; a rotation that was cut short
    is finished before. A certificate that ends soon is renewed."""
    _finish_rotation(files, use)
    key = _load_current(files, use, root, now)
    return key, *_load_old(files, use, root, key, now)


def _load_current(files: KeyFiles, use: str, root: Root, now: datetime) -> Key:
    """A key without a certificate is a first start that was cut short; a certificate without its key is a
    loss that only a person can mend."""
    private = files.read_key(f"{use}.pem")
    data = files.read(f"{use}.cert")
    if private is None:
        if data is not None:
            raise CorruptState(
                f"{files.directory / f'{use}.pem'} is missing while its certificate is there; restore it "
                f"from a backup, or remove {use}.cert to have a new key made"
            )
        if root.private is None:
            raise Misconfigured(
                f"{files.directory / f'{use}.pem'} is missing and the root key that could certify a new one "
                f"is not here: put root.pem back for one start"
            )
        private = files.create_key(f"{use}.pem")
    subject = _did(private)
    certificate = None if data is None else _read_certificate(files, use, data, root, subject)
    if certificate is not None:
        left = certificate.not_after - now
        if left > timedelta(days=RENEW_DAYS) or (root.private is None and left > timedelta(0)):
            return Key(private, certificate)
    if root.private is None:
        what = "has no certificate" if certificate is None else f"ended on {certificate.not_after:%Y-%m-%d}"
        raise Misconfigured(
            f"the {use} key in {files.directory} {what} and the root key that could certify it is not here: "
            "put root.pem back for one start"
        )
    certificate = root.certify(subject, use, now)
    put = files.create if data is None else files.replace
    put(f"{use}.cert", block_of(certificate)[1])
    return Key(private, certificate)


def _did(private: Ed25519PrivateKey) -> str:
    return did_key(private.public_key().public_bytes_raw())


def _read_certificate(
    files: KeyFiles, use: str, data: bytes, root: Root, subject: str, *, name: str = ""
) -> KeyRecord:
    path = files.directory / f"{name or use}.cert"
    try:
        record = decode(data)
    except Rejected as exc:
        raise CorruptState(f"{path} is damaged ({exc}); restore it, or remove it where root.pem is") from exc
    if (
        not isinstance(record, KeyRecord)
        or record.issuer != root.did
        or record.key != root.did
        or record.use != use
        or record.subject != subject
    ):
        raise CorruptState(
            f"{path} is not this root's certificate for {name or use}.pem; restore the right pair, or "
            "remove the certificate where root.pem is"
        )
    return record


# --- rotation -------------------------------------------------------------------------------------


def _old_name(use: str, key: Key) -> str:
    return f"{use}.old-{hashlib.sha256(key.public).hexdigest()[:8]}"


def rotation(use: str, root: Root, keys: tuple[Key, ...], now: datetime, *, drop_old: bool) -> Rotation:
    """A new key for ``use``, certified and nowhere yet; the root's private key must be here."""
    current, *overlapping = keys
    ends = now.replace(microsecond=0) + (timedelta(0) if drop_old else timedelta(days=OVERLAP_DAYS))
    ending = []
    for old in (key.certificate for key in (keys if drop_old else keys[:1])):
        period = min(old.not_before, ends), min(old.not_after, ends)
        ending.append(root.certify(old.subject, use, now, period=period))
    private = new_key()
    new = Key(private, root.certify(_did(private), use, now))
    overlap = () if drop_old else (Key(current.private, ending[0]), *overlapping)
    return Rotation(
        use=use,
        certificates=(new.certificate, *ending),
        before=keys,
        keys=(new, *overlap[:OLD_MAX]),
    )


def write_rotation(files: KeyFiles, rotation: Rotation) -> None:
    """Order of writing: the old key aside, the new key, then the new certificate, which decides."""
    use, (new, *overlapping) = rotation.use, rotation.keys
    _finish_rotation(files, use)
    for key in overlapping:
        files.replace(f"{_old_name(use, key)}.pem", pem(key.private))
        files.replace(f"{_old_name(use, key)}.cert", block_of(key.certificate)[1])
    files.create(f"{use}.next.pem", pem(new.private))
    files.create(f"{use}.next.cert", block_of(new.certificate)[1])
    _finish_rotation(files, use)
    kept = {_old_name(use, key) for key in overlapping}
    for name in files.names(f"{use}.old-"):
        if name not in kept:
            files.delete(f"{name}.cert", f"{name}.pem")


def _finish_rotation(files: KeyFiles, use: str) -> None:
    """Go on with a rotation that was cut short, or take back one that had not come to its certificate."""
    if files.has(f"{use}.next.cert"):
        if files.has(f"{use}.next.pem"):
            files.rename(f"{use}.next.pem", f"{use}.pem")
        files.rename(f"{use}.next.cert", f"{use}.cert")
    elif files.has(f"{use}.next.pem"):
        files.delete(f"{use}.next.pem")


def _load_old(files: KeyFiles, use: str, root: Root, current: Key, now: datetime) -> list[Key]:
    """The keys in their overlap, newest first. What has ended is deleted, and so is what a rotation that
    never came about put aside: the key that still signs."""
    found = []
    for name in files.names(f"{use}.old-"):
        data = files.read(f"{name}.cert")
        private = None if data is None else files.read_key(f"{name}.pem")
        if data is None or private is None:
            files.delete(f"{name}.cert", f"{name}.pem")
            continue
        subject = _did(private)
        key = Key(private, _read_certificate(files, use, data, root, subject, name=name))
        if key.certificate.not_after <= now or key.public == current.public:
            files.delete(f"{name}.cert", f"{name}.pem")
        else:
            found.append(key)
    return sorted(found, key=lambda key: key.certificate.not_after, reverse=True)
