"""Finding out in few messages which ids another side has and we have not, and the other way round.

Both sides keep their items in the order of (time, id). The client cuts this order into ranges and says what
its own part of each comes to; the server says which agree, cuts those that differ further, or lists what it
has in them; and so on until every range agrees or was listed. The server keeps nothing between messages; the
client learns both differences. (Range-based set reconciliation: A. Meyer, 2023; the wire form is our own.)

A message, by bytes:

    message = kind version range*
    kind    = 0x71 (a question) or 0x61 (an answer);  version = 0x01
    range   = bound mode
    bound   = 0xff                         after all items, or
              size time prefix             size: one byte, 0 to 32; time: varint, seconds since the time of
                                           the bound before, or since 0; prefix: the first size bytes of an
                                           id, the rest of which is zero; its last byte is not
    mode    = 0x00                         skip: not asked (question), or agrees (answer)
              0x01 fingerprint             16 bytes, see ``sorted_set``
              0x02                         in a question: what have you there?
              0x02 count id*               in an answer: all ids there; count: varint; id: 32 bytes

A range goes from the bound before it, or the first possible item, to before its own; bounds ascend. What
comes after the last range of a question is not asked. An answer covers the question from its start as far as
it has room: what is left is asked again.

Promises: a message has at most ``MESSAGE_BYTES_MAX``; what is not exactly such a message raises ``Rejected``;
an answer costs O(ranges x log n), with at most ``RANGES_MAX`` ranges, plus the ids that it lists; a client
ends after at most ``ROUNDS_MAX`` answers, whatever they hold, and learns at most ``ids_max`` ids from them.

Two different sets may be made to agree by someone who can choose many ids freely (sums are easier to forge
than hashes, about 2**32 work); what is missed then is missed until another item in the range differs. So this
mends what a signed feed has brought, and replaces none. Pure: no clock, no I/O.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from node.core.errors import Rejected
from node.core.ipld.cid import decode_varint, encode_varint
from node.peers.rules.lazy_numpy import LaterNumpy
from node.peers.rules.sorted_set import (
    FINGERPRINT_BYTES,
    ID_BYTES,
    INFINITY,
    KEY_BYTES,
    TIME_MAX,
    ZERO,
    Item,
    Positions,
    SortedSet,
)

if TYPE_CHECKING:
    import numpy as np
else:
    np = LaterNumpy()

__all__ = ["MESSAGE_BYTES_MAX", "Client", "Item", "SortedSet", "answer"]

MESSAGE_BYTES_MAX = 2**20
RANGES_MAX = 16_384
ROUNDS_MAX = 1_000
IDS_MAX = 1_000_000
LISTED_MAX = 12
"""A range with at most as many items is listed: cutting it first would save few bytes at the cost of
half a round trip."""
WAYS_MAX = 16
"""Into how many a range is cut: more cost bytes where few items differ, fewer cost round trips."""
_CUT_SHARE = 3, 2
"""An id takes 32 bytes and a fingerprint with its bound about 21: one that differs among n costs least, with
the list of its part, in sqrt(n x 32 / 21) parts."""

_QUESTION, _ANSWER = b"\x71\x01", b"\x61\x01"
_SKIP, _FINGERPRINT, _LIST = 0, 1, 2
_END: Final = 0xFF
_BOUND_BYTES_MAX = 1 + 9 + ID_BYTES
_RANGE_BYTES_MAX = _BOUND_BYTES_MAX + 1 + FINGERPRINT_BYTES


@dataclass(frozen=True, slots=True)
class _Range:
    """Up to before ``end``. ``fingerprint``: with that mode; ``ids``: with the list of an answer."""

    end: bytes
    mode: int
    fingerprint: bytes = b""
    ids: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class _Open:
    """A range that the client has not settled: its mode is what will be asked."""

    start: bytes
    end: bytes
    mode: int
    fingerprint: bytes = b""


class Client:
    """One reconciliation of ``own``, as it is now, with what another side has."""

    def __init__(self, own: SortedSet, *, ids_max: int = IDS_MAX) -> None:
        self._own = own.snapshot()
        self._ids_max = ids_max
        self._open: list[_Open] = []
        self._asked = 0
        self._answers = 0
        self._missing: set[bytes] = set()
        self._extra: set[bytes] = set()

    @property
    def missing(self) -> frozenset[bytes]:
        """Ids that the other side has and we have not, as far as is known."""
        return frozenset(self._missing - self._extra)

    @property
    def extra(self) -> frozenset[bytes]:
        """Ids that we have and the other side has not, as far as is known."""
        return frozenset(self._extra - self._missing)

    def first(self) -> bytes:
        """The first message: what all that we have comes to."""
        (whole,) = self._own.fingerprints(*_ends([0], [len(self._own)]))
        self._open = [_Open(ZERO, INFINITY, _FINGERPRINT, whole)]
        return self._question()

    def take(self, reply: bytes) -> bytes | None:
        """The next message after this answer, or None: everything is settled. Raises ``Rejected`` for what
        answers nothing that was asked, and over the limits of answers and ids."""
        self._answers += 1
        if self._answers > ROUNDS_MAX:
            raise Rejected(f"reconciliation did not end within {ROUNDS_MAX} answers")
        ranges = _read(reply, _ANSWER)
        if not ranges or not self._open:
            raise Rejected("an answer of reconciliation answers nothing")
        later = self._settle(ranges)
        self._open = self._narrowed(later) + self._open
        return self._question() if self._open else None

    # --- pieces -----------------------------------------------------------------------------------------

    def _settle(self, ranges: Sequence[_Range]) -> list[_Open]:
        """Go through what was asked and what is said to it, side by side. Leaves in ``_open`` what was not
        answered; returns what was answered with fingerprints, each with that of the other side."""
        asked = self._open[: self._asked]
        differ: list[_Open] = []
        at, start = 0, ZERO
        for said in ranges:
            while at < len(asked) and asked[at].end <= start:
                at += 1
            here = asked[at] if at < len(asked) else None
            if said.mode != _SKIP:
                if here is None or start < here.start or said.end > here.end:
                    raise Rejected("an answer of reconciliation is about what was not asked")
                if said.mode == _LIST:
                    self._compare(start, said)
                elif here.mode == _LIST:
                    raise Rejected("an answer of reconciliation has no list where one was asked for")
                else:
                    differ.append(_Open(start, said.end, _FINGERPRINT, said.fingerprint))
            elif _asks_for_list(asked, at, said.end):
                raise Rejected("an answer of reconciliation has no list where one was asked for")
            start = said.end
        if start <= asked[0].start:
            raise Rejected("an answer of reconciliation answers nothing")
        start = min(start, asked[-1].end)
        self._open = [one for one in self._open if one.end > start]
        if self._open and self._open[0].start < start:
            self._open[0] = self._rest(self._open[0], start)
        return differ

    def _rest(self, one: _Open, start: bytes) -> _Open:
        """What an answer without room has left of a range."""
        if one.mode == _LIST:
            return _Open(start, one.end, _LIST)
        (fingerprint,) = self._own.fingerprints(*self._places([start], [one.end]))
        return _Open(start, one.end, _FINGERPRINT, fingerprint)

    def _compare(self, start: bytes, said: _Range) -> None:
        """Our own items of a range with those that the other side listed."""
        begin, end = self._own.positions([start, said.end])
        ours, theirs = set(self._own.ids(int(begin), int(end))), set(said.ids)
        self._missing |= theirs - ours
        self._extra |= ours - theirs
        if len(self._missing) > self._ids_max:
            raise Rejected(f"the other side lists more than {self._ids_max} ids that are not here")

    def _narrowed(self, said: Sequence[_Open]) -> list[_Open]:
        """What is to be asked of ranges that the other side gave fingerprints of: nothing where ours is the
        same, a list where we have little, and the parts of it elsewhere."""
        starts, ends = self._places([one.start for one in said], [one.end for one in said])
        own = self._own.fingerprints(starts, ends)
        out: list[_Open] = []
        cuts: list[tuple[bytes, bytes, int, int]] = []
        for one, ours, start, end in zip(said, own, starts.tolist(), ends.tolist(), strict=True):
            if ours == one.fingerprint:
                continue
            if end - start <= LISTED_MAX:
                out.append(_Open(one.start, one.end, _LIST))
                continue
            lower = one.start
            for begin, stop in _parts(start, end):
                upper = one.end if stop == end else self._own.bound(stop)
                cuts.append((lower, upper, begin, stop))
                lower = upper
        prints = self._own.fingerprints(*_ends([cut[2] for cut in cuts], [cut[3] for cut in cuts]))
        out += [
            _Open(lower, upper, _FINGERPRINT, fingerprint)
            for (lower, upper, _, _), fingerprint in zip(cuts, prints, strict=True)
        ]
        return sorted(out, key=lambda one: one.start)

    def _places(self, starts: Sequence[bytes], ends: Sequence[bytes]) -> tuple[Positions, Positions]:
        return self._own.positions(starts), self._own.positions(ends)

    def _question(self) -> bytes:
        """As many of the open ranges as one message has room for."""
        writer = _Writer(_QUESTION)
        end, self._asked = ZERO, 0
        for one in self._open:
            if writer.ranges + 2 > RANGES_MAX or writer.room < 2 * _RANGE_BYTES_MAX:
                break
            if one.start > end:
                writer.put(_Range(one.start, _SKIP))
            writer.put(_Range(one.end, one.mode, one.fingerprint))
            end = one.end
            self._asked += 1
        return writer.message()


def answer(own: SortedSet, message: bytes) -> bytes:
    """What the side that has ``own`` says to a client's message. Raises ``Rejected``."""
    asked = _read(message, _QUESTION)
    ends = own.positions([one.end for one in asked])
    starts = ends.copy()
    starts[1:] = ends[:-1]
    starts[:1] = 0
    given = np.array([at for at, one in enumerate(asked) if one.mode == _FINGERPRINT], np.int64)
    prints = dict(zip(given.tolist(), own.fingerprints(starts[given], ends[given]), strict=True))
    plan = _Plan(own)
    for at, (one, start, end) in enumerate(zip(asked, starts.tolist(), ends.tolist(), strict=True)):
        if one.mode == _SKIP or prints.get(at) == one.fingerprint:
            plan.skip(one.end)
        elif one.mode == _LIST or end - start <= LISTED_MAX:
            plan.list(start, end, one.end)
        else:
            plan.cut(start, end, one.end)
        if plan.is_full:
            break
    return plan.message()


class _Plan:
    """An answer in the making; counts each range with the most bytes that it can take."""

    def __init__(self, own: SortedSet) -> None:
        self._own = own
        self._room = MESSAGE_BYTES_MAX - len(_ANSWER)
        self._planned: list[tuple[bytes, int, int, int]] = []
        self.is_full = False

    def skip(self, end: bytes) -> None:
        """Everything up to here agrees or was not asked."""
        if self._planned and self._planned[-1][1] == _SKIP:
            self._planned[-1] = (end, _SKIP, 0, 0)
        else:
            self._take((end, _SKIP, 0, 0), _BOUND_BYTES_MAX + 1)

    def list(self, start: int, stop: int, end: bytes) -> None:
        """All ids between two positions, or as many as there is room for."""
        fit = (self._room - _BOUND_BYTES_MAX - 1 - 9) // ID_BYTES
        if stop - start > fit:
            self.is_full = True
            if fit <= 0:
                return
            stop = start + fit
            end = self._own.bound(stop)
        self._take((end, _LIST, start, stop), _BOUND_BYTES_MAX + 1 + 9 + (stop - start) * ID_BYTES)

    def cut(self, start: int, stop: int, end: bytes) -> None:
        """The fingerprints of a range's parts."""
        for begin, until in _parts(start, stop):
            if self.is_full:
                return
            upper = end if until == stop else self._own.bound(until)
            self._take((upper, _FINGERPRINT, begin, until), _RANGE_BYTES_MAX)

    def message(self) -> bytes:
        """As far as it was planned."""
        printed = [(start, stop) for _, mode, start, stop in self._planned if mode == _FINGERPRINT]
        begins, stops = _ends([one[0] for one in printed], [one[1] for one in printed])
        prints = iter(self._own.fingerprints(begins, stops))
        writer = _Writer(_ANSWER)
        for end, mode, start, stop in self._planned:
            fingerprint = next(prints) if mode == _FINGERPRINT else b""
            ids = tuple(self._own.ids(start, stop)) if mode == _LIST else ()
            writer.put(_Range(end, mode, fingerprint, ids))
        return writer.message()

    def _take(self, planned: tuple[bytes, int, int, int], size: int) -> None:
        if size > self._room or len(self._planned) >= RANGES_MAX - 1:
            self.is_full = True
            return
        self._planned.append(planned)
        self._room -= size


class _Writer:
    """Writes ranges one behind the other."""

    def __init__(self, head: bytes) -> None:
        self._out = bytearray(head)
        self._is_question = head == _QUESTION
        self._time = 0
        self.ranges = 0

    @property
    def room(self) -> int:
        return MESSAGE_BYTES_MAX - len(self._out)

    def put(self, one: _Range) -> None:
        self.ranges += 1
        if one.end == INFINITY:
            self._out.append(_END)
        else:
            time_s = int.from_bytes(one.end[:8], "big")
            prefix = one.end[8:].rstrip(b"\0")
            self._out.append(len(prefix))
            self._out += encode_varint(time_s - self._time) + prefix
            self._time = time_s
        self._out.append(one.mode)
        if one.mode == _FINGERPRINT:
            self._out += one.fingerprint
        elif one.mode == _LIST and not self._is_question:
            self._out += encode_varint(len(one.ids)) + b"".join(one.ids)

    def message(self) -> bytes:
        return bytes(self._out)


def _read(message: bytes, head: bytes) -> list[_Range]:
    """The ranges of a message. Raises ``Rejected``."""
    if len(message) > MESSAGE_BYTES_MAX:
        raise Rejected(f"a message of reconciliation has at most {MESSAGE_BYTES_MAX} bytes")
    if message[:2] != head:
        raise Rejected("these bytes are no message of reconciliation of this version")
    out: list[_Range] = []
    at, end = len(head), ZERO
    while at < len(message):
        if len(out) >= RANGES_MAX:
            raise Rejected(f"a message of reconciliation has at most {RANGES_MAX} ranges")
        previous = end
        end, at = _read_bound(message, at, previous)
        if end <= previous:
            raise Rejected("the bounds of a message of reconciliation do not ascend")
        one, at = _read_mode(message, at, end, has_lists=head == _ANSWER)
        out.append(one)
    return out


def _read_bound(message: bytes, at: int, previous: bytes) -> tuple[bytes, int]:
    size = message[at]
    at += 1
    if size == _END:
        return INFINITY, at
    if size > ID_BYTES or previous == INFINITY:
        raise Rejected("a bound of a message of reconciliation is malformed")
    delta, at = decode_varint(message, at)
    time_s = int.from_bytes(previous[:8], "big") + delta
    prefix = message[at : at + size]
    if len(prefix) < size or prefix[-1:] == b"\0" or time_s > TIME_MAX:
        raise Rejected("a bound of a message of reconciliation is malformed")
    return (time_s.to_bytes(8, "big") + prefix).ljust(KEY_BYTES, b"\0"), at + size


def _read_mode(message: bytes, at: int, end: bytes, *, has_lists: bool) -> tuple[_Range, int]:
    mode = message[at] if at < len(message) else -1
    at += 1
    if mode == _FINGERPRINT:
        fingerprint = message[at : at + FINGERPRINT_BYTES]
        if len(fingerprint) == FINGERPRINT_BYTES:
            return _Range(end, mode, fingerprint), at + FINGERPRINT_BYTES
    elif mode == _LIST and has_lists:
        count, at = decode_varint(message, at)
        stop = at + count * ID_BYTES
        if stop <= len(message):
            ids = tuple(message[start : start + ID_BYTES] for start in range(at, stop, ID_BYTES))
            if len(set(ids)) == count:
                return _Range(end, mode, ids=ids), stop
    elif mode in (_SKIP, _LIST):
        return _Range(end, mode), at
    raise Rejected("a range of a message of reconciliation is malformed")


def _parts(start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Parts of as nearly one size as may be, none of them empty, of more than ``LISTED_MAX`` items."""
    count = stop - start
    ways = min(WAYS_MAX, math.isqrt(count * _CUT_SHARE[0] // _CUT_SHARE[1]))
    for way in range(ways):
        yield start + count * way // ways, start + count * (way + 1) // ways


def _asks_for_list(asked: Sequence[_Open], at: int, end: bytes) -> bool:
    """Whether one from this place on that begins before ``end`` does."""
    while at < len(asked) and asked[at].start < end:
        if asked[at].mode == _LIST:
            return True
        at += 1
    return False


def _ends(starts: Sequence[int], ends: Sequence[int]) -> tuple[Positions, Positions]:
    return np.array(starts, np.int64), np.array(ends, np.int64)
