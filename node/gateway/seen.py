"""Which blocks of a response were sent already, in memory that is bounded over all responses together.

A block is remembered by 16 bytes of a hash of its codec and multihash, which takes about 90 bytes of memory.
"""

from __future__ import annotations

import hashlib

from node.errors import Unavailable
from node.ipfs.cid import Cid

OWN = 2**14
"""What each response may remember at any time."""
SHARED = 2**21
"""What all of them together may remember beyond that: about 190 MB."""

_KEY_BYTES = 16


class Pool:
    """What is left for those who remember more than ``own`` blocks."""

    def __init__(self, own: int = OWN, shared: int = SHARED) -> None:
        self.own = own
        self.left = shared


class Seen:
    """The CIDv0 and the CIDv1 of a block are one. To be emptied by ``forget``."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._keys: set[bytes] = set()

    def __contains__(self, cid: Cid) -> bool:
        return _key(cid) in self._keys

    def add(self, cid: Cid, part: tuple[int, int] | None = None) -> bool:
        """Whether it is new; each ``part`` of a block is by itself. Raises ``Unavailable`` when no more can
        be remembered."""
        key = _key(cid, part)
        if key in self._keys:
            return False
        if len(self._keys) >= self._pool.own:
            if not self._pool.left:
                raise Unavailable(
                    "no more blocks can be remembered for CARs without duplicates; ask for dups=y"
                )
            self._pool.left -= 1
        self._keys.add(key)
        return True

    def forget(self) -> None:
        self._pool.left += max(0, len(self._keys) - self._pool.own)
        self._keys.clear()


def _key(cid: Cid, part: tuple[int, int] | None = None) -> bytes:
    name = b"%d:" % cid.codec + cid.multihash  # says its own length, so that nothing behind it is of it
    if part is not None:
        name += b"%d-%d" % part
    return hashlib.blake2b(name, digest_size=_KEY_BYTES).digest()
