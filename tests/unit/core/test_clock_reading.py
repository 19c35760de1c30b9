"""Time and doubt by one look at the clock."""

from __future__ import annotations

from datetime import UTC, datetime

from node.core.clock_guard import GuardedClock
from tests.manual_clock import ManualClock


class Counted(ManualClock):
    looks = 0

    def now(self) -> datetime:
        self.looks += 1
        return super().now()


def test_a_reading_is_one_look_and_sees_the_jump() -> None:
    wall = Counted(datetime(2026, 1, 1, tzinfo=UTC))
    clock = GuardedClock(wall, 60.0, asleep_s=lambda: 0.0)
    wall.looks = 0
    assert clock.reading() == (datetime(2026, 1, 1, tzinfo=UTC), None)
    assert wall.looks == 1
    wall._wall = datetime(2027, 1, 1, tzinfo=UTC)
    now, doubt = clock.reading()
    assert now.year == 2026
    assert doubt is not None
    assert doubt == clock.doubt
