"""A whole transparency log in memory, made of the pure modules: what tests of folders and checkers bend."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from node.audit.tlog.proofs import Receipt
from node.audit.tlog.tiles import ENTRIES, Tile, encode_bundle, tiles_between
from node.core.merkle import HASH_BYTES, Frontier, inclusion_proof, leaf_hash
from node.core.signed_note import Checkpoint, CosignatureSigner, Ed25519Signer, Note, Signer

ORIGIN = "example.com/log"


def private_key(number: int) -> Ed25519PrivateKey:
    """The same key for the same number."""
    return Ed25519PrivateKey.from_private_bytes(hashlib.sha256(b"test key %d" % number).digest())


def log_signer(number: int = 0, name: str = ORIGIN) -> Ed25519Signer:
    return Ed25519Signer(name, private_key(number))


def witness_signer(number: int) -> CosignatureSigner:
    return CosignatureSigner(f"witness.example/w{number}", private_key(1000 + number))


def leaf(index: int, **entry: object) -> bytes:
    """A leaf in the form that decisions have."""
    value = {
        "entry": {"kind": "answer", **entry},
        "seq": index,
        "time_us": 1_700_000_000_000_000 + index,
        "v": 2,
    }
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode("ascii")


class MemoryLog:
    """Entries with every hash that tiles hold."""

    def __init__(self, entries: Sequence[bytes] = (), signer: Signer | None = None) -> None:
        self.signer = signer or log_signer()
        self.entries: list[bytes] = []
        self.hashes: dict[tuple[int, int], bytes] = {}
        self.frontier = Frontier()
        for entry in entries:
            self.append(entry)

    @classmethod
    def of(cls, size: int) -> MemoryLog:
        """A log of ``size`` leaves."""
        return cls([leaf(index) for index in range(size)])

    def append(self, entry: bytes) -> None:
        self.entries.append(entry)
        for level, index, value in self.frontier.append(leaf_hash(entry)):
            self.hashes[level, index] = value

    def read(self, level: int, index: int) -> bytes:
        return self.hashes[level, index]

    def root(self, size: int | None = None) -> bytes:
        return Frontier.at(self.read, len(self.entries) if size is None else size).root()

    def note(self, size: int | None = None, time_s: int = 0) -> bytes:
        """The signed checkpoint at this size."""
        size = len(self.entries) if size is None else size
        name = self.signer.verifier.name
        text = Checkpoint(name, size, self.root(size)).text()
        return Note(text, (self.signer.sign(text, time_s),)).encode()

    def tile_bytes(self, tile: Tile) -> bytes:
        first = tile.index * 256
        if tile.level == ENTRIES:
            return encode_bundle(self.entries[first : first + tile.width])
        data = b"".join(self.hashes[8 * tile.level, first + at] for at in range(tile.width))
        assert len(data) == tile.width * HASH_BYTES
        return data

    def receipt(self, index: int, size: int | None = None) -> Receipt:
        size = len(self.entries) if size is None else size
        return Receipt(index, tuple(inclusion_proof(self.read, index, size)), self.note(size))

    def write(self, directory: Path, size: int | None = None) -> None:
        """The folder of the log at this size: tiles, bundles, checkpoint and vkey."""
        size = len(self.entries) if size is None else size
        for tile in tiles_between(0, size):
            path = directory / tile.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(self.tile_bytes(tile))
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "checkpoint").write_bytes(self.note(size))
        (directory / "vkey").write_text(f"{self.signer.verifier.vkey}\n", encoding="utf-8")
