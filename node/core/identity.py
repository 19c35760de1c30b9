"""Who this node is: the root did:key, the keys that it certifies, and the files they live in.

Promises: keys are made on first start and never replaced silently; each file is created whole or not at
all, readable by its owner alone, and refused when others may read it; no secret is logged or shown by
``repr``.
The root's private key may be kept elsewhere: ``root.did`` and the certificates are then enough to start.

A key is changed by a rotation alone. The key before stays for an overlap, so that whoever has not heard of
the new one can check new checkpoints too; its certificate ends with that, and the next start deletes it.

``key_ring`` says what lies in the folder of keys.
Sources: W3C did:key; the IPNS specification (names); C2SP signed-note and tlog-cosignature (verifier keys).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from node.core.errors import Misconfigured, Rejected
from node.core.ipld.ipns import IpnsName
from node.core.key_files import KeyFiles
from node.core.key_ring import Key, Root, Rotation, load_root, load_use, rotation, write_rotation
from node.core.record import DECISIONS, NODE, PUBLICATIONS, USES, WITNESS, KeyRecord, Sign, did_key
from node.core.signed_note import (
    COSIGNATURE,
    ED25519,
    CosignatureSigner,
    Ed25519Signer,
    MlDsaCosigner,
    Signer,
    Verifier,
)


class Identity:
    """The loaded keys. Signing is CPU only (0.1 ms) and may be called from any thread."""

    def __init__(
        self, directory: Path, root: str, keys: Mapping[str, tuple[Key, ...]], *, has_root_key: bool
    ) -> None:
        self._directory = directory
        self.root = root
        """did:key of the root: the issuer of this node's records."""
        self.has_root_key = has_root_key
        """Whether the root's private key is here, so that keys can be certified and rotated."""
        self._keys = dict(keys)

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
        files = KeyFiles(directory)
        root = load_root(files)
        keys = {use: load_use(files, use, root, now) for use in USES}
        return cls(directory, root.did, keys, has_root_key=root.private is not None)

    @property
    def node(self) -> str:
        """did:key of the node key, which signs records."""
        return did_key(self._keys[NODE][0].public)

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

    def vkey(self, use: str) -> str:
        """The verifier key of the key for ``use``; empty for the node key, which signs no notes."""
        kind = COSIGNATURE if use == WITNESS else ED25519
        return "" if use == NODE else Verifier(self._name(use), kind, self._keys[use][0].public).vkey

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

    def next_key(self, use: str, now: datetime, *, drop_old: bool = False) -> Rotation:
        """A new key for ``use``, certified and nowhere yet. Blocking (it reads the root's key).

        The key before it is to sign for ``OVERLAP_DAYS`` more; with ``drop_old`` (they may be in wrong
        hands) neither it nor those that are still in their overlap. Raises ``Misconfigured`` without the
        root's key.
        """
        root = Root(self.root, KeyFiles(self._directory).read_key("root.pem"))
        if root.private is None:
            raise Misconfigured(
                f"the root key that certifies a new {use} key is not here: put root.pem into "
                f"{self._directory} for this command"
            )
        return rotation(use, root, self._keys[use], now, drop_old=drop_old)

    def present(self, rotation: Rotation) -> None:
        """Let the new key sign beside the present ones, so that what both have signed leads over to it."""
        self._keys[rotation.use] = (*rotation.before, rotation.keys[0])

    def withdraw(self, rotation: Rotation) -> None:
        """The rotation is not to be: sign as before."""
        self._keys[rotation.use] = rotation.before

    def commit(self, rotation: Rotation) -> None:
        """Put the rotation on disk. Blocking. A crash leaves the keys as before or as after. Raises
        ``Misconfigured`` when a file cannot be written; then ``load_or_create`` tells which it is."""
        write_rotation(KeyFiles(self._directory), rotation)

    def adopt(self, rotation: Rotation) -> None:
        """Sign by the keys that are on disk now."""
        self._keys[rotation.use] = rotation.keys

    def _name(self, what: str) -> str:
        return f"{self.root.removeprefix('did:key:')}.neuroswarm/{what}"


def _ml_dsa_seed(key: Ed25519PrivateKey) -> bytes:
    """32 bytes that only the holder of ``key`` can make (HKDF-SHA-256, RFC 5869)."""
    made = HKDF(SHA256(), 32, None, b"neuroswarm/witness/ml-dsa-44/v1")
    return made.derive(key.private_bytes_raw())
