"""Whether the wall clock is to be believed. Pure: what is compared was read elsewhere (``clock_guard``).

Three things speak of the present: the wall clock; the node's own count, which is a time that was believed
once and the seconds counted since (of a clock that nobody sets), or, at a start, the newest entry of the
node's own log, before which it cannot be; and the clocks of sources outside. Rules:
1. Sources are heard where more than half of those that spoke, and at least ``SOURCES_MIN``, agree within the
   limit. Those that the operator has chosen are heard before peers are.
2. The wall clock is believed while it is within the limit of the count (at a start: not earlier than the
   newest entry by more than the limit), unless the operator's sources agree on another time.
3. Where it is not, sources that agree with the wall clock, or with a count from a believed time, decide. (Of
   peers only those are among them who can confirm the count: ``clock_sources``.)
4. Else nobody knows: it is in doubt, and the count is the best guess, or what the operator's sources say
   where the count is none. It is believed again as soon as rule 2 holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

SOURCES_MIN = 2
LIVE = timedelta(hours=1)
"""What lives no longer than this speaks of its moment: it is asked for again while the clock is in doubt."""
_DATED_BY = timedelta(seconds=1)
"""Records are dated in whole seconds."""


class Basis(StrEnum):
    """What a count goes from."""

    BELIEVED = "believed"
    """A time that was believed."""
    LEAST = "least"
    """The newest entry, or the last time that is on disk: it is that late at least."""
    TOLD = "told"
    """What sources said against the wall clock."""


class Standing(StrEnum):
    """``CORRECTED``: the wall clock is wrong, and sources confirm the count, by which the node goes."""

    BELIEVED = "believed"
    CORRECTED = "corrected"
    DOUBTED = "doubted"


@dataclass(frozen=True, slots=True)
class Said:
    """What the clock of a source says now. ``is_chosen``: the operator chose it."""

    name: str
    time: datetime
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class Reading:
    """What speaks of one moment. ``counted`` is None where there is nothing to count from."""

    wall: datetime
    counted: datetime | None
    basis: Basis
    said: Sequence[Said] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """``time`` is what the node takes for the present, ``basis`` what its count goes from; ``reason`` is a
    clause for people, empty where the wall clock is believed."""

    standing: Standing
    time: datetime
    basis: Basis
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Doubt:
    """The clock is in doubt ``since`` then (on the node's own count; ``since_s`` monotonic)."""

    reason: str
    since: datetime
    since_s: float

    def outdates(self, made: datetime, ends: datetime | None) -> bool:
        """Whether what was made then, and ends so soon that it speaks of its moment, is older than the doubt:
        nobody can tell how old."""
        return ends is not None and ends - made <= LIVE and made + _DATED_BY <= self.since


def judge(reading: Reading, limit: timedelta) -> Verdict:
    """The rules above."""
    wall, counted, basis = reading.wall, reading.counted, reading.basis
    chosen = _agreed([one for one in reading.said if one.is_chosen], limit)
    agreed = _agreed(reading.said, limit) if chosen is None else chosen
    believed = Verdict(Standing.BELIEVED, wall, Basis.BELIEVED)
    if counted is None or _holds(wall, counted, basis, limit):
        if chosen is None or _near(wall, chosen, limit):
            return believed
        return Verdict(Standing.DOUBTED, chosen, Basis.TOLD, _differs(wall, chosen, "sources outside say"))
    if agreed is not None and _near(wall, agreed, limit):
        return believed
    if agreed is not None and basis is Basis.BELIEVED and _near(counted, agreed, limit):
        return Verdict(Standing.CORRECTED, counted, basis, _differs(wall, counted, _SAYS[basis]))
    if chosen is not None and basis is not Basis.BELIEVED:
        return Verdict(Standing.DOUBTED, chosen, Basis.TOLD, _differs(wall, chosen, _SAYS[Basis.TOLD]))
    return Verdict(Standing.DOUBTED, counted, basis, _differs(wall, counted, _SAYS[basis]))


_SAYS = {
    Basis.BELIEVED: "by the seconds counted it is",
    Basis.LEAST: "the newest entry of this node is of",
    Basis.TOLD: "sources outside say",
}


def _holds(wall: datetime, counted: datetime, basis: Basis, limit: timedelta) -> bool:
    """Rule 2 without sources."""
    return wall >= counted - limit if basis is Basis.LEAST else _near(wall, counted, limit)


def _near(one: datetime, other: datetime, limit: timedelta) -> bool:
    return abs(one - other) <= limit


def _agreed(said: Sequence[Said], limit: timedelta) -> datetime | None:
    """Rule 1: the middle of the largest group within the limit."""
    times = sorted(one.time for one in said)
    groups = ([time for time in times if first <= time <= first + limit] for first in times)
    most = max(groups, key=len, default=[])
    return most[len(most) // 2] if len(most) >= SOURCES_MIN and 2 * len(most) > len(times) else None


def _differs(wall: datetime, other: datetime, says: str) -> str:
    return (
        f"the wall clock says {wall:%Y-%m-%d %H:%M:%S} UTC, {says} {other:%Y-%m-%d %H:%M:%S} UTC "
        f"({_length(wall - other)} {'earlier' if other < wall else 'later'})"
    )


def _length(by: timedelta) -> str:
    seconds = abs(by.total_seconds())
    for unit, length in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} seconds"
