"""Log folders made from the pure rules alone: what a right writer would leave, and forks of it.

The writer is not used on purpose: what reads a log must not depend on the one program that writes it.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from node.audit.tlog.tiles import ENTRIES, WIDTH, Tile, encode_bundle, tiles_between
from node.core import merkle
from node.core.errors import NotFound, Rejected
from node.core.signed_note import Checkpoint, CosignatureSigner, Ed25519Signer, Note, Signer

ORIGIN = "z6MkTest.neuroswarm/decisions"
TIME_US = 1_790_000_000_000_000


def signer(name: str = ORIGIN, seed: str = "") -> Ed25519Signer:
    """A log's key, the same for the same words."""
    return Ed25519Signer(name, _key(seed or name))


def witness(name: str) -> CosignatureSigner:
    """A witness's key, the same for the same name."""
    return CosignatureSigner(name, _key(name))


def _key(seed: str) -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(hashlib.sha256(seed.encode()).digest())


def leaf(index: int, entry: Mapping[str, Any] | None = None) -> bytes:
    """A leaf in canonical form."""
    given = {"kind": "repair", "bytes_cut": index, "v": 1} if entry is None else entry
    frame = {"entry": given, "seq": index, "time_us": TIME_US + index, "v": 2}
    return orjson.dumps(frame, option=orjson.OPT_SORT_KEYS)


def leaves(count: int, branch: str = "main") -> list[bytes]:
    """The first ``count`` leaves of a branch."""
    return [leaf(n, {"kind": "repair", "branch": branch, "v": 1}) for n in range(count)]


def note_of(entries: Sequence[bytes], signers: Sequence[Signer], origin: str = ORIGIN) -> bytes:
    """The signed checkpoint over these entries."""
    root = merkle.root_of([merkle.leaf_hash(one) for one in entries])
    text = Checkpoint(origin, len(entries), root).text()
    return Note(text, tuple(one.sign(text, TIME_US // 10**6) for one in signers)).encode()


def log_files(
    entries: Sequence[bytes],
    *,
    sizes: Sequence[int] = (),
    signers: Sequence[Signer] | None = None,
    origin: str = ORIGIN,
) -> dict[str, bytes]:
    """By path, the files of a log as they stand after publications at ``sizes`` and at the end."""
    keys = [signer(origin)] if signers is None else signers
    hashes = [merkle.leaf_hash(one) for one in entries]
    files: dict[str, bytes] = {}
    old = 0
    for size in [*sizes, len(entries)]:
        files |= {tile.path: tile_bytes(tile, entries, hashes) for tile in tiles_between(old, size)}
        old = size
    files["checkpoint"] = note_of(entries, keys, origin)
    files["vkey"] = "".join(f"{one.verifier.vkey}\n" for one in keys).encode()
    return files


def write_log(
    folder: Path,
    entries: Sequence[bytes],
    *,
    sizes: Sequence[int] = (),
    signers: Sequence[Signer] | None = None,
    origin: str = ORIGIN,
) -> bytes:
    """``log_files`` in a folder; the checkpoint."""
    files = log_files(entries, sizes=sizes, signers=signers, origin=origin)
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return files["checkpoint"]


def tile_bytes(tile: Tile, entries: Sequence[bytes], hashes: Sequence[bytes]) -> bytes:
    """What the tile or bundle holds, from the definition."""
    if tile.level == ENTRIES:
        return encode_bundle(entries[tile.index * WIDTH : tile.index * WIDTH + tile.width])
    span = WIDTH**tile.level
    starts = [(tile.index * WIDTH + n) * span for n in range(tile.width)]
    return b"".join(merkle.root_of(hashes[start : start + span]) for start in starts)


class MemorySource:
    """A log in memory, as somebody else's server might show it; ``reads`` are the paths asked for."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files = dict(files)
        self.reads: list[str] = []

    async def read(self, path: str, bytes_max: int) -> bytes:
        """See ``node.audit.log.reader.Source``."""
        self.reads.append(path)
        data = self.files.get(path)
        if data is None:
            raise NotFound(f"there is no {path}")
        if len(data) > bytes_max:
            raise Rejected(f"{path} has more than {bytes_max} bytes")
        return data


def pack_bundles(folder: Path) -> list[Path]:
    """Turn the complete bundles of a folder into what this version writes; where they lie now."""
    found = []
    for path in sorted((folder / "tile" / "entries").rglob("*")):
        if path.is_file() and not path.parent.name.endswith(".p") and path.suffix != ".gz":
            found.append(path.with_name(f"{path.name}.gz"))
            found[-1].write_bytes(gzip.compress(path.read_bytes(), mtime=0))
            path.unlink()
    return found


def unpack_bundles(folder: Path) -> None:
    """Turn them back into what an older version wrote."""
    for path in (folder / "tile" / "entries").rglob("*.gz"):
        path.with_suffix("").write_bytes(gzip.decompress(path.read_bytes()))
        path.unlink()
