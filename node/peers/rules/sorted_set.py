"""A set of items in the order of (time, id), which sums any range of it in no time.

Rules:
1. An item is a time in whole seconds since 1970, below 2**63, and an id of 32 bytes.
2. The sum of a range is that of its ids, read as big-endian numbers, modulo 2**256, with their count. Its
   fingerprint is the first 16 bytes of the SHA-256 of the sum in 32 bytes and the count in 8, big-endian.
3. Changes wait in a small table and are merged in when something is asked, or when they are many.

In memory an item takes 40 bytes in one array, each ``_BLOCK`` of them 64 bytes of sums up to there, and a
merge as much again while it lasts. One owner at a time; once made, arrays are replaced, never written
into. Pure: no clock, no I/O.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from node.core.errors import Rejected
from node.peers.rules.lazy_numpy import LaterNumpy

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
else:
    np = LaterNumpy()

ID_BYTES = 32
KEY_BYTES = 8 + ID_BYTES
FINGERPRINT_BYTES = 16
TIME_MAX = 2**63 - 1
ZERO = bytes(KEY_BYTES)
"""The key below which nothing is."""
INFINITY = b"\xff" * KEY_BYTES
"""A key above all: no time is as great."""

_BLOCK = 32
_WORDS = ID_BYTES // 4
_WAITING_MIN = 4_096
_WAITING_SHARE = 16
"""How much smaller than the set the table of waiting changes stays, beyond its least size."""
_GATHERED = 2_048
"""Positions whose partial blocks are summed at once: 2 MiB."""

_Keys: TypeAlias = "npt.NDArray[np.bytes_]"
_Sums: TypeAlias = "npt.NDArray[np.uint64]"
Positions: TypeAlias = "npt.NDArray[np.int64]"


@dataclass(frozen=True, slots=True)
class Item:
    """``time_s``: whole seconds since 1970; ``id``: 32 bytes, such as a CID's digest."""

    time_s: int
    id: bytes


def key_of(item: Item) -> bytes:
    """Its 40 bytes in whose order items stand. Raises ``Rejected`` for what is no item."""
    if len(item.id) != ID_BYTES or not 0 <= item.time_s <= TIME_MAX:
        raise Rejected(f"an item has a time from 0 to {TIME_MAX} and an id of {ID_BYTES} bytes")
    return item.time_s.to_bytes(8, "big") + item.id


class SortedSet:
    """``add`` and ``discard`` cost little on average; what is asked costs O(log n) for each range."""

    def __init__(self, items: Iterable[Item] = ()) -> None:
        self._waiting: dict[bytes, bool] = {}
        for item in items:
            self.add(item)

    @cached_property
    def _keys(self) -> _Keys:
        return np.empty(0, f"S{KEY_BYTES}")

    @cached_property
    def _sums(self) -> _Sums:
        """The ids' words, summed up to the start of each block; no carry: 2**32 items have room."""
        return np.zeros((1, _WORDS), np.uint64)

    def add(self, item: Item) -> None:
        """Nothing where it is there. Raises ``Rejected``."""
        self._change(key_of(item), is_here=True)

    def discard(self, item: Item) -> None:
        """Nothing where it is not there. Raises ``Rejected``."""
        self._change(key_of(item), is_here=False)

    def snapshot(self) -> SortedSet:
        """A set with the same items, which changes of this one do not reach, at no cost: arrays are shared
        until one of the two changes. Safe to ask in another thread while this one changes."""
        self._merge()
        out = SortedSet()
        out._keys, out._sums = self._keys, self._sums
        return out

    def __len__(self) -> int:
        self._merge()
        return len(self._keys)

    def __contains__(self, item: Item) -> bool:
        key = key_of(item)
        if (waiting := self._waiting.get(key)) is not None:
            return waiting
        at = int(self._keys.searchsorted(np.array(key, self._keys.dtype)))
        return at < len(self._keys) and self._key(at) == key

    def positions(self, keys: Sequence[bytes]) -> Positions:
        """How many items are below each key."""
        self._merge()
        found = self._keys.searchsorted(np.frombuffer(b"".join(keys), self._keys.dtype))
        return found.astype(np.int64)

    def fingerprints(self, starts: Positions, ends: Positions) -> list[bytes]:
        """Of the items from each start to before the end of the same place."""
        self._merge()
        sums = self._summed(ends) - self._summed(starts)
        words = np.empty(sums.shape, ">u4")
        carry = np.zeros(len(sums), np.uint64)
        for at in reversed(range(_WORDS)):
            carry += sums[:, at]
            words[:, at] = carry & np.uint64(0xFFFF_FFFF)
            carry >>= np.uint64(32)
        row = words.tobytes()
        counts = (ends - starts).astype(">u8").tobytes()
        return [
            hashlib.sha256(row[at * ID_BYTES : (at + 1) * ID_BYTES] + counts[at * 8 : at * 8 + 8]).digest()[
                :FINGERPRINT_BYTES
            ]
            for at in range(len(sums))
        ]

    def ids(self, start: int, end: int) -> list[bytes]:
        """Ids from one position to before the other, in order."""
        self._merge()
        row = self._keys[start:end].tobytes()
        return [row[at + 8 : at + KEY_BYTES] for at in range(0, len(row), KEY_BYTES)]

    def bound(self, position: int) -> bytes:
        """A key above all items before ``position`` and not above those from there on, with as few bytes that
        are not zero as may be."""
        self._merge()
        if position <= 0:
            return ZERO
        if position >= len(self._keys):
            return INFINITY
        before, key = self._key(position - 1), self._key(position)
        if before[:8] != key[:8]:
            return key[:8] + bytes(ID_BYTES)
        size = next(at for at in range(8, KEY_BYTES) if before[at] != key[at]) + 1
        return key[:size].ljust(KEY_BYTES, b"\0")

    # --- pieces -----------------------------------------------------------------------------------------

    def _key(self, position: int) -> bytes:
        return bytes(self._keys[position]).ljust(KEY_BYTES, b"\0")

    def _words(self) -> npt.NDArray[np.uint32]:
        return self._keys.view(">u4").reshape(-1, KEY_BYTES // 4)[:, 2:]

    def _summed(self, positions: Positions) -> _Sums:
        """The words' sums up to each position."""
        blocks = positions // _BLOCK
        out = self._sums[blocks]
        words = self._words()
        places = np.arange(_BLOCK)
        for start in range(0, len(positions), _GATHERED):
            part = slice(start, start + _GATHERED)
            rows = blocks[part, None] * _BLOCK + places
            is_before = rows < positions[part, None]
            gathered = words[np.minimum(rows, max(0, len(words) - 1))] if len(words) else None
            if gathered is not None:
                out[part] += np.where(is_before[..., None], gathered, 0).sum(axis=1, dtype=np.uint64)
        return out

    def _change(self, key: bytes, *, is_here: bool) -> None:
        self._waiting[key] = is_here
        waiting = len(self._waiting)
        if waiting > _WAITING_MIN and waiting > len(self._keys) // _WAITING_SHARE:
            self._merge()

    def _merge(self) -> None:
        """Bring the waiting changes into the array, in one copy of it."""
        if not self._waiting:
            return
        old = self._keys
        changed = np.frombuffer(b"".join(self._waiting), old.dtype)
        wanted = np.fromiter(self._waiting.values(), np.bool_, len(changed))
        order = changed.argsort()
        changed, wanted = changed[order], wanted[order]
        places = old.searchsorted(changed)
        is_there = np.zeros(len(changed), np.bool_)
        inside = places < len(old)
        is_there[inside] = old[places[inside]] == changed[inside]
        matters = wanted != is_there
        changed, wanted, places = changed[matters], wanted[matters], places[matters]
        self._waiting.clear()
        if not len(changed):
            return
        self._keys = _removed(old, places[~wanted])
        added = places[wanted]
        before = places[~wanted].searchsorted(added)  # what went below each that comes
        self._keys = _inserted(self._keys, added - before, changed[wanted])
        self._sum_from(int(places[0]) // _BLOCK)

    def _sum_from(self, block: int) -> None:
        """The sums anew from this block on."""
        count = len(self._keys) // _BLOCK
        sums: _Sums = np.empty((count + 1, _WORDS), np.uint64)
        sums[: block + 1] = self._sums[: block + 1]
        whole = self._words()[block * _BLOCK : count * _BLOCK].reshape(-1, _BLOCK, _WORDS)
        added = whole.sum(axis=1, dtype=np.uint64)
        sums[block + 1 :] = sums[block] + added.cumsum(axis=0, dtype=np.uint64)
        self._sums = sums


def _removed(keys: _Keys, places: Positions) -> _Keys:
    if not len(places):
        return keys
    is_kept = np.ones(len(keys), np.bool_)
    is_kept[places] = False
    return keys[is_kept]


def _inserted(keys: _Keys, places: Positions, more: _Keys) -> _Keys:
    """``more``, in order, each before the one that stands at its place."""
    if not len(more):
        return keys
    out: _Keys = np.empty(len(keys) + len(more), keys.dtype)
    is_new = np.zeros(len(out), np.bool_)
    is_new[places + np.arange(len(more))] = True
    out[is_new] = more
    out[~is_new] = keys
    return out
