"""The formats of transparency logs written a second time, straight from the specifications and as plainly as
they can be: the recursive definitions of RFC 6962 section 2.1 (and the checking of RFC 9162 section 2.1.4.2),
signed notes and cosignatures of C2SP. Slow on purpose; nothing here comes from ``node.audit.tlog``, so
that it can contradict it."""

from __future__ import annotations

import base64
import hashlib
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey


def sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def _split(count: int) -> int:
    k = 1
    while k * 2 < count:
        k *= 2
    return k


class Oracle:
    """MTH, PATH and PROOF of RFC 6962 over given entries."""

    def __init__(self, entries: Sequence[bytes]) -> None:
        self.entries = tuple(entries)
        self.root = lru_cache(maxsize=None)(self._root)

    def _root(self, start: int, end: int) -> bytes:
        if end == start:
            return sha256(b"")
        if end - start == 1:
            return hashlib.sha256(b"\x00" + self.entries[start]).digest()
        middle = start + _split(end - start)
        return hashlib.sha256(b"\x01" + self.root(start, middle) + self.root(middle, end)).digest()

    def inclusion(self, m: int, start: int, end: int) -> list[bytes]:
        """PATH(m, D[start:end]), ``m`` counted from ``start``."""
        n = end - start
        if n == 1:
            return []
        k = _split(n)
        if m < k:
            return [*self.inclusion(m, start, start + k), self.root(start + k, end)]
        return [*self.inclusion(m - k, start + k, end), self.root(start, start + k)]

    def consistency(self, m: int, n: int) -> list[bytes]:
        """PROOF(m, D[n])."""
        return self._subproof(m, 0, n, True)

    def _subproof(self, m: int, start: int, end: int, known: bool) -> list[bytes]:
        n = end - start
        if m == n:
            return [] if known else [self.root(start, end)]
        k = _split(n)
        if m <= k:
            return [*self._subproof(m, start, start + k, known), self.root(start + k, end)]
        return [*self._subproof(m - k, start + k, end, False), self.root(start, start + k)]


def tree_hash(entries: Sequence[bytes]) -> bytes:
    """MTH."""
    return Oracle(entries).root(0, len(entries))


def consistency(old: int, entries: Sequence[bytes]) -> list[bytes]:
    """PROOF(m, D[n]); nothing where ``old`` is 0, as tlog-witness asks."""
    return Oracle(entries).consistency(old, len(entries)) if old else []


def is_consistent(old: int, old_root: bytes, new: int, new_root: bytes, proof: Sequence[bytes]) -> bool:
    """RFC 9162 section 2.1.4.2."""
    if old == new:
        return not proof and old_root == new_root
    if old == 0:
        return not proof
    if not proof:
        return False
    path = list(proof)
    if old & (old - 1) == 0:
        path.insert(0, old_root)
    fn, sn = old - 1, new - 1
    while fn & 1:
        fn, sn = fn >> 1, sn >> 1
    fr = sr = path[0]
    for c in path[1:]:
        if sn == 0:
            return False
        if fn & 1 or fn == sn:
            fr, sr = sha256(b"\x01" + c + fr), sha256(b"\x01" + c + sr)
            while fn and not fn & 1:
                fn, sn = fn >> 1, sn >> 1
        else:
            sr = sha256(b"\x01" + sr + c)
        fn, sn = fn >> 1, sn >> 1
    return fr == old_root and sr == new_root and sn == 0


def is_included(leaf: bytes, index: int, size: int, root: bytes, proof: Sequence[bytes]) -> bool:
    """RFC 9162 section 2.1.3.2; ``leaf`` is the entry's hash."""
    if index >= size:
        return False
    fn, sn, r = index, size - 1, leaf
    for p in proof:
        if sn == 0:
            return False
        if fn & 1 or fn == sn:
            r = sha256(b"\x01" + p + r)
            while fn and not fn & 1:
                fn, sn = fn >> 1, sn >> 1
        else:
            r = sha256(b"\x01" + r + p)
        fn, sn = fn >> 1, sn >> 1
    return sn == 0 and r == root


def tile(level: int, index: int, width: int, entries: Sequence[bytes]) -> bytes:
    """The bytes of a tile (tlog-tiles, "Merkle Tree"); level -1: of an entry bundle."""
    if level < 0:
        part = entries[256 * index : 256 * index + width]
        return b"".join(struct.pack(">H", len(one)) + one for one in part)
    span = 256**level
    starts = [(256 * index + i) * span for i in range(width)]
    return b"".join(tree_hash(entries[start : start + span]) for start in starts)


@dataclass(frozen=True)
class Key:
    """An Ed25519 key under a name. ``kind`` 1 signs notes, 4 cosigns."""

    name: str
    kind: int = 1
    seed: str = ""

    @property
    def private(self) -> Ed25519PrivateKey:
        return Ed25519PrivateKey.from_private_bytes(sha256((self.seed or self.name).encode()))

    @property
    def typed(self) -> bytes:
        return bytes([self.kind]) + self.private.public_key().public_bytes_raw()

    @property
    def id(self) -> bytes:
        return sha256(self.name.encode() + b"\n" + self.typed)[:4]

    @property
    def vkey(self) -> str:
        return f"{self.name}+{self.id.hex()}+{base64.b64encode(self.typed).decode()}"

    def line(self, text: bytes, time_s: int = 0) -> bytes:
        """The signature line over a note's text."""
        if self.kind == 1:
            blob = self.private.sign(text)
        else:
            signed = b"cosignature/v1\ntime %d\n" % time_s + text
            blob = struct.pack(">Q", time_s) + self.private.sign(signed)
        return "— ".encode() + self.name.encode() + b" " + base64.b64encode(self.id + blob) + b"\n"


def checkpoint(origin: str, entries: Sequence[bytes]) -> bytes:
    """The text that is signed."""
    return text_of(origin, len(entries), tree_hash(entries))


def text_of(origin: str, size: int, root: bytes) -> bytes:
    return b"%s\n%d\n%s\n" % (origin.encode(), size, base64.b64encode(root))


def note(text: bytes, *lines: bytes) -> bytes:
    return text + b"\n" + b"".join(lines)


def read_note(data: bytes) -> tuple[str, int, bytes, list[tuple[str, bytes, bytes]], bytes]:
    """(origin, size, root, [(name, key id, signature)], text) of a well-formed checkpoint."""
    text, _, block = data.rpartition(b"\n\n")
    text += b"\n"
    origin, size, root = text.decode().split("\n")[:3]
    signatures = []
    for line in block.decode().splitlines():
        dash, name, encoded = line.split(" ")
        assert dash == "—"
        raw = base64.b64decode(encoded, validate=True)
        signatures.append((name, raw[:4], raw[4:]))
    return origin, int(size), base64.b64decode(root, validate=True), signatures, text


def read_vkey(vkey: str) -> tuple[str, bytes, int, Ed25519PublicKey]:
    """(name, key id, kind, key)."""
    name, key_id, encoded = vkey.split("+", 2)
    typed = base64.b64decode(encoded)
    assert sha256(name.encode() + b"\n" + typed)[:4].hex() == key_id
    return name, bytes.fromhex(key_id), typed[0], Ed25519PublicKey.from_public_bytes(typed[1:])


def verify(vkey: str, data: bytes) -> int | None:
    """The time of this key's cosignature on a note (0 for a plain signature), None where it has not signed.
    Raises ``InvalidSignature``."""
    name, key_id, kind, key = read_vkey(vkey)
    *_, signatures, text = read_note(data)
    for its_name, its_id, blob in signatures:
        if (its_name, its_id) == (name, key_id):
            if kind == 1:
                key.verify(blob, text)
                return 0
            time_s = int(struct.unpack(">Q", blob[:8])[0])
            key.verify(blob[8:], b"cosignature/v1\ntime %d\n" % time_s + text)
            return time_s
    return None


def submission(old: int, proof: Sequence[bytes], signed: bytes) -> bytes:
    """The body of add-checkpoint."""
    lines = b"".join(base64.b64encode(one) + b"\n" for one in proof)
    return b"old %d\n" % old + lines + b"\n" + signed
