"""The node's clock: the wall clock while it is to be believed, else the node's own count of the time.

Promises: ``now`` never follows a jump of the wall clock beyond the limit, not even once: each reading is
compared with the seconds counted since the last. While it is in ``doubt`` time goes on by the count; nobody
who asks ``doubt`` first expires, erases or signs anything. It ends when the wall clock comes right, when
sources agree (``clock_rule``), or by the operator's word (``accept``). Safe from any thread. A limit of 0
believes the wall clock whatever it says.

Must not know: who hears the sources, where the state is kept, who waits.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from node.core.clock import Clock, suspended_s
from node.core.clock_rule import Basis, Doubt, Reading, Standing, Verdict, judge
from node.core.clock_sources import Heard
from node.core.errors import Rejected
from node.core.model import Check

log = logging.getLogger("neuroswarm.clock")

CHECK = "clock"
WAY_OUT = (
    "nothing is expired, erased or signed meanwhile; set the clock of this machine right, or, where it is "
    "right, type: neuroswarm doctor --accept-clock"
)
_STEP_S = 1.0
"""Smaller corrections of the wall clock are followed without a note."""
_TRIES = 5
_TORN_S = 0.5
"""Two readings further apart than that were interrupted: they are made anew."""


@dataclass(frozen=True, slots=True)
class Saved:
    """A time as of so many seconds counted since the machine's start ``boot``; empty: nobody knows which."""

    boot: str
    count_s: float
    time_s: float
    basis: Basis
    is_doubted: bool
    is_accepted: bool

    def fields(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "boot": self.boot,
            "count_s": self.count_s,
            "time_s": self.time_s,
            "basis": str(self.basis),
            "doubted": self.is_doubted,
            "accepted": self.is_accepted,
        }

    @classmethod
    def parse(cls, fields: Any) -> Saved:
        """Raises ``Rejected``, ``KeyError``, ``TypeError``, ``ValueError``."""
        count_s, time_s = float(fields["count_s"]), float(fields["time_s"])
        if not (0 <= count_s < 2**40 and 0 <= time_s < 2**33):
            raise Rejected("a time is out of range")
        doubted, accepted = fields["doubted"], fields["accepted"]
        if not (isinstance(doubted, bool) and isinstance(accepted, bool)):
            raise Rejected("doubted and accepted are true or false")
        return cls(str(fields["boot"])[:64], count_s, time_s, Basis(fields["basis"]), doubted, accepted)


class GuardedClock:
    """``Clock`` over another. ``asleep_s``: seconds that the machine has slept, which its monotonic time may
    lack; ``boot`` names the machine's present start."""

    def __init__(
        self,
        clock: Clock,
        limit_s: float,
        *,
        saved: Saved | None = None,
        least: datetime | None = None,
        asleep_s: Callable[[], float] = suspended_s,
        boot: str = "",
    ) -> None:
        """``saved`` is what was kept at the last run, ``least`` the time of the node's newest entry."""
        self._clock = clock
        self._limit_s = limit_s
        self._asleep_s = asleep_s
        self._boot = boot
        self._slept_s = 0.0
        self._heard = Heard(limit_s)
        self._lock = threading.Lock()
        self._is_accepted = saved is not None and saved.is_accepted
        self._basis = Basis.BELIEVED
        self._shift: float | None = None
        """Of the count: seconds since 1970 less the seconds counted. None: nothing to count from."""
        self._wall_shift: float | None = None
        """The same of the wall clock, when it was judged last."""
        self._standing = Standing.BELIEVED
        self._reason = ""
        self._doubt: Doubt | None = None
        self._is_suspect = False
        self._jumps = 0
        if limit_s:
            self._begin(saved, least)
            self.look()

    # --- the clock --------------------------------------------------------------------------------

    def now(self) -> datetime:
        wall = self._clock.now()
        if not self._limit_s:
            return wall
        # Asked for at every request: whether the machine has slept is looked at where the two differ.
        count_s = self._clock.monotonic() + self._slept_s
        shift = wall.timestamp() - count_s
        was = self._wall_shift
        if was is None or not -_STEP_S < shift - was < _STEP_S:
            return self._judged().time
        if self._standing is Standing.BELIEVED or self._shift is None:
            return wall
        return datetime.fromtimestamp(self._shift + count_s, UTC)

    def reading(self) -> tuple[datetime, Doubt | None]:
        now = self.now()
        return now, self._doubt

    def monotonic(self) -> float:
        return self._clock.monotonic()

    async def sleep(self, seconds: float) -> None:
        await self._clock.sleep(seconds)

    def random(self) -> float:
        return self._clock.random()

    @property
    def doubt(self) -> Doubt | None:
        self.now()
        return self._doubt

    # --- those who look after it ------------------------------------------------------------------

    def look(self) -> Standing:
        """Judge now, with what the sources have said."""
        if self._limit_s:
            self._judged()
        return self._standing

    def hear(self, name: str, time: datetime, *, is_chosen: bool) -> None:
        """The clock of a source says ``time`` now. ``is_chosen``: the operator chose that source, and it has
        proven who it is; else it is a peer."""
        self.now()
        self._heard.hear(name, time, self._count(), is_chosen=is_chosen, is_suspect=self._is_suspect)

    def accept(self) -> str:
        """The operator says that the wall clock is right, whatever sources say, until it jumps again. What
        stood against it."""
        with self._lock:
            reason, self._is_accepted = self._reason, True
            count_s, wall = self._read()
            self._settle(Verdict(Standing.BELIEVED, wall, Basis.BELIEVED), count_s, wall)
        return reason

    def ahead_s(self) -> float:
        """How far the wall clock is ahead of the time that the node goes by."""
        return (self._clock.now() - self.now()).total_seconds()

    @property
    def jumps(self) -> int:
        """How often the wall clock was seen to jump since the start: beyond the limit, either way."""
        return self._jumps

    def saved(self) -> Saved:
        """What the next run has to know."""
        with self._lock:
            count_s, wall = self._read()
            time_s = wall.timestamp() if self._shift is None else self._shift + count_s
            doubted = self._standing is not Standing.BELIEVED
            return Saved(self._boot, count_s, time_s, self._basis, doubted, self._is_accepted)

    def health(self) -> Check:
        """pass; warn: the wall clock is wrong, and the node goes by its own count; fail: nobody knows."""
        standing, reason = self.look(), self._reason
        if standing is Standing.BELIEVED:
            return Check(CHECK, "pass", "" if self._limit_s else "not guarded: clock.jump_s is 0")
        ahead_s = round(self.ahead_s(), 3)
        if standing is Standing.CORRECTED:
            said = f"{reason}; sources outside confirm that, and the node goes by it: set the clock right"
            return Check(CHECK, "warn", said, observed=ahead_s, unit="seconds ahead")
        since = None if self._doubt is None else self._doubt.since
        said = f"the clock is in doubt: {reason}; {WAY_OUT}"
        return Check(CHECK, "fail", said, since, ahead_s, "seconds ahead")

    # --- judging ----------------------------------------------------------------------------------

    def _count(self) -> float:
        self._slept_s = self._asleep_s()
        return self._clock.monotonic() + self._slept_s

    def _read(self) -> tuple[float, datetime]:
        """The count and the wall clock of one moment: whoever is put aside between the two, for as long as it
        may be, sees no jump."""
        for _ in range(_TRIES):
            before = self._count()
            wall = self._clock.now()
            if self._count() - before < _TORN_S:
                break
        return before, wall

    def _begin(self, saved: Saved | None, least: datetime | None) -> None:
        """What there is to count from at a start."""
        least_s = None if least is None else least.timestamp()
        if saved is not None and saved.boot and saved.boot == self._boot:
            self._shift, self._basis = saved.time_s - saved.count_s, saved.basis
            return
        if saved is not None and saved.is_doubted and saved.basis is not Basis.LEAST:
            # The machine was started anew in doubt. How long it was off, nobody knows: the doubt goes on.
            self._shift, self._basis = saved.time_s - self._count(), saved.basis
            return
        times = [
            time_s for time_s in (None if saved is None else saved.time_s, least_s) if time_s is not None
        ]
        if times:
            self._shift, self._basis = max(times) - self._count(), Basis.LEAST

    def _judged(self) -> Verdict:
        with self._lock:
            count_s, wall = self._read()
            counted = None if self._shift is None else datetime.fromtimestamp(self._shift + count_s, UTC)
            limit = timedelta(seconds=self._limit_s)
            verdict = judge(Reading(wall, counted, self._basis), limit)
            if verdict.standing is not Standing.BELIEVED and not self._is_suspect:
                self._suspect()
            if self._is_suspect or not self._is_accepted:
                said = self._heard.said(count_s)
                verdict = judge(Reading(wall, counted, self._basis, said), limit)
            self._settle(verdict, count_s, wall)
            return verdict

    def _suspect(self) -> None:
        """The wall clock is not believed from here on. What sources said before went by the count since: it
        is no word on what has happened."""
        self._is_suspect = True
        self._heard.close()

    def _settle(self, verdict: Verdict, count_s: float, wall: datetime) -> None:
        """Go by the verdict from now on."""
        was, shift = self._standing, wall.timestamp() - count_s
        if self._wall_shift is not None and abs(shift - self._wall_shift) > self._limit_s:
            self._jumps += 1
        self._wall_shift, self._shift = shift, verdict.time.timestamp() - count_s
        self._basis, self._reason = verdict.basis, verdict.reason
        if verdict.standing is Standing.BELIEVED:
            self._is_suspect = False
        elif not self._is_suspect:
            self._suspect()
        if verdict.standing is Standing.DOUBTED:
            self._is_accepted = False
            since = (verdict.time, self._clock.monotonic())
            if self._doubt is not None:
                since = (self._doubt.since, self._doubt.since_s)
            self._doubt = Doubt(verdict.reason, *since)
        else:
            self._doubt = None
        self._standing = verdict.standing
        if was is verdict.standing:
            return
        if verdict.standing is Standing.BELIEVED:
            log.warning("event=clock_believed the wall clock is believed again")
        elif verdict.standing is Standing.CORRECTED:
            log.error("event=clock_corrected %s; sources outside confirm that", verdict.reason)
        else:
            log.error("event=clock_doubted %s; %s", verdict.reason, WAY_OUT)
