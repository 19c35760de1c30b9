"""What responses hold in memory that is bounded over all of them together: which blocks were sent already,
and links that wait to be followed.

A block is remembered by 16 bytes of a hash of its codec and multihash, which takes about 90 bytes of memory;
a link that waits takes about 220.
"""

from __future__ import annotations

import hashlib

from node.core.errors import Unavailable
from node.core.ipld.cid import Cid

OWN = 2**14
"""What each response may remember at any time."""
SHARED = 2**21
"""What all of them together may remember beyond that: about 190 MB."""

_KEY_BYTES = 16


WAITING_OWN = 2**13
"""Links that each response may let wait at any time."""
WAITING_SHARED = 2**19
"""What all of them together may let wait beyond that: about 115 MB. One alone is not given all of it
(``walk.PENDING_MAX``)."""


class Pool:
    """What is left for those who hold more than ``own``."""

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


class Waiting:
    """How many links of one walk wait. To be emptied by ``set(0)``."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._taken = 0

    def set(self, count: int) -> None:
        """So many wait now. Raises ``Unavailable`` when no more may."""
        more = max(0, count - self._pool.own) - self._taken
        if more > self._pool.left:
            raise Unavailable("too many links wait to be followed in all CARs together; try again later")
        self._pool.left -= more
        self._taken += more


def waiting_pool() -> Pool:
    """For all walks of one gateway."""
    return Pool(WAITING_OWN, WAITING_SHARED)


def _key(cid: Cid, part: tuple[int, int] | None = None) -> bytes:
    name = b"%d:" % cid.codec + cid.multihash  # says its own length, so that nothing behind it is of it
    if part is not None:
        name += b"%d-%d" % part
    return hashlib.blake2b(name, digest_size=_KEY_BYTES).digest()
