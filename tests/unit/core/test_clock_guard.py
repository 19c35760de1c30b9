"""The guarded clock: which jumps are seen, what time the node goes by, and how a doubt ends."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from node.core.clock_guard import GuardedClock, Saved
from node.core.clock_rule import Basis
from node.core.errors import Rejected
from tests.manual_clock import ManualClock

START = datetime(2026, 11, 28, 20, tzinfo=UTC)
DAY = timedelta(days=1)
LIMIT_S = 300.0


class Machine:
    """A wall clock, a monotonic clock that stands still while it sleeps, and how long it has slept."""

    def __init__(self, start: datetime = START, boot: str = "one") -> None:
        self.clock = ManualClock(start)
        self.boot = boot
        self.slept_s = 0.0
        self.tells_sleep = True

    def guard(self, **more: Any) -> GuardedClock:
        asleep_s = more.pop("asleep_s", lambda: self.slept_s if self.tells_sleep else 0.0)
        return GuardedClock(self.clock, LIMIT_S, asleep_s=asleep_s, boot=self.boot, **more)

    def jump(self, by: timedelta) -> None:
        self.clock.set_wall(self.clock.now() + by)

    def sleep(self, by: timedelta) -> None:
        self.slept_s += by.total_seconds()
        self.jump(by)


@pytest.mark.parametrize("by", [30 * DAY, -timedelta(hours=2), timedelta(minutes=6), -366 * DAY])
def test_a_jump_is_not_followed_and_over_when_the_clock_is_right_again(by: timedelta) -> None:
    machine = Machine()
    guard = machine.guard()
    assert guard.now() == START
    assert guard.doubt is None
    machine.jump(by)
    assert guard.now() == START
    machine.clock.advance(75)
    assert guard.now() == START + timedelta(seconds=75)
    doubt = guard.doubt
    assert doubt is not None
    assert doubt.since == START
    check = guard.health()
    assert f"{machine.clock.now():%Y-%m-%d %H:%M}" in check.output
    assert f"{guard.now():%Y-%m-%d %H:%M}" in check.output
    assert check.status == "fail"
    assert "--accept-clock" in check.output
    assert check.observed == by.total_seconds()
    machine.jump(-by)
    assert guard.doubt is None
    assert guard.now() == machine.clock.now() == START + timedelta(seconds=75)
    assert guard.health().status == "pass"
    assert guard.jumps == 2


def test_the_first_reading_after_a_jump_has_the_right_time_already() -> None:
    """Whoever asks for the time at once after a jump does not get the jumped one once."""
    machine = Machine()
    guard = machine.guard()
    machine.jump(30 * DAY)
    assert guard.now() == START


def test_small_steps_and_slow_drift_are_followed() -> None:
    machine = Machine()
    guard = machine.guard()
    for _ in range(3_000):  # an hour in all, never more than two seconds at once
        machine.clock.advance(10)
        machine.jump(timedelta(seconds=1.2))
        assert guard.now() == machine.clock.now()
        assert guard.doubt is None
    machine.jump(timedelta(seconds=-200))
    assert guard.now() == machine.clock.now()
    assert guard.doubt is None
    assert guard.jumps == 0


def test_a_machine_that_slept_raises_no_alarm_where_it_tells_so() -> None:
    machine = Machine()
    guard = machine.guard()
    machine.sleep(3 * DAY)
    assert guard.now() == START + 3 * DAY
    assert guard.doubt is None


def test_a_sleep_that_nobody_counts_is_settled_by_sources() -> None:
    machine = Machine()
    machine.tells_sleep = False
    guard = machine.guard()
    guard.hear("one.example", START, is_chosen=True)
    machine.sleep(3 * DAY)
    assert guard.doubt is not None
    guard.hear("one.example", machine.clock.now(), is_chosen=True)
    assert guard.look() == "doubted"  # one could be wrong
    guard.hear("two.example", machine.clock.now() + timedelta(seconds=4), is_chosen=True)
    assert guard.look() == "believed"
    assert guard.now() == START + 3 * DAY
    assert guard.doubt is None


def test_sources_that_confirm_the_count_correct_the_wall_clock() -> None:
    machine = Machine()
    guard = machine.guard()
    machine.jump(30 * DAY)
    assert guard.doubt is not None
    for name in ("one.example", "two.example"):
        guard.hear(name, START, is_chosen=True)
    assert guard.look() == "corrected"
    assert guard.doubt is None
    assert guard.now() == START
    check = guard.health()
    assert check.status == "warn"
    assert "set the clock right" in check.output
    machine.clock.advance(2 * 3_600)  # what they said is too old by then
    assert guard.look() == "doubted"
    machine.jump(-30 * DAY)
    assert guard.look() == "believed"


def test_peers_settle_a_doubt_only_if_they_were_known_and_did_not_jump_along() -> None:
    machine = Machine()
    guard = machine.guard()
    for name in ("http://a", "http://b"):  # on this very machine: they share its clock
        guard.hear(name, machine.clock.now(), is_chosen=False)
    machine.jump(30 * DAY)
    assert guard.doubt is not None
    for name in ("http://a", "http://b", "http://new", "http://newer", "http://newest"):
        guard.hear(name, machine.clock.now(), is_chosen=False)
    assert guard.look() == "doubted"
    for name in ("http://a", "http://b"):
        guard.hear(name, START, is_chosen=False)
    assert guard.look() == "corrected"


def test_peers_alone_never_cast_doubt_on_a_clock_that_runs_well() -> None:
    guard = Machine().guard()
    for number in range(10):
        guard.hear(f"http://liar{number}", START + 300 * DAY, is_chosen=False)
    assert guard.look() == "believed"


def test_a_start_behind_the_newest_entry_is_told_and_ends_by_itself() -> None:
    machine = Machine(datetime(1970, 1, 1, tzinfo=UTC))
    guard = machine.guard(least=START)
    assert guard.doubt is not None
    assert "newest entry" in guard.health().output
    machine.clock.advance(60)
    assert guard.now() == START + timedelta(seconds=60)
    machine.clock.set_wall(START + 9 * DAY)  # the network told the time; how long it was off, nobody knew
    assert guard.doubt is None
    assert guard.now() == START + 9 * DAY


def test_a_start_long_after_the_newest_entry_is_an_ordinary_start() -> None:
    guard = Machine().guard(least=START - 400 * DAY)
    assert guard.doubt is None
    assert guard.now() == START


def test_a_start_ahead_of_every_source_is_told() -> None:
    machine = Machine(START + 30 * DAY)
    guard = machine.guard(least=START - DAY)
    assert guard.look() == "believed"  # nobody can tell yet
    for name in ("one.example", "two.example"):
        guard.hear(name, START, is_chosen=True)
    assert guard.look() == "doubted"
    assert guard.now() == START
    assert "sources outside say" in guard.health().output
    machine.clock.advance(3 * 3_600)  # also when they are not heard any more
    assert guard.look() == "doubted"
    machine.jump(-30 * DAY)
    assert guard.look() == "believed"


def test_sources_that_disagree_are_not_heard() -> None:
    machine = Machine()
    guard = machine.guard()
    machine.jump(30 * DAY)
    for number, by in enumerate((0, 30, 60, 90)):
        guard.hear(f"{number}.example", START + by * DAY, is_chosen=True)
    assert guard.look() == "doubted"


def test_the_operator_s_word_outranks_sources_until_the_next_jump() -> None:
    machine = Machine()
    guard = machine.guard()
    machine.jump(-30 * DAY)
    for name in ("one.example", "two.example"):
        guard.hear(name, START + 7 * DAY, is_chosen=True)
    assert guard.look() == "doubted"
    assert "by the seconds counted" in guard.accept()
    assert guard.look() == "believed"
    assert guard.now() == START - 30 * DAY
    again = machine.guard(saved=guard.saved(), least=START)
    assert again.doubt is None
    machine.jump(DAY)
    assert guard.doubt is not None
    assert again.doubt is not None


@pytest.mark.parametrize("by", [30 * DAY, -30 * DAY])
def test_a_doubt_survives_a_restart_of_the_node(by: timedelta) -> None:
    machine = Machine()
    guard = machine.guard()
    machine.jump(by)
    machine.clock.advance(10)
    assert guard.doubt is not None
    again = machine.guard(saved=guard.saved(), least=START)
    assert again.doubt is not None
    assert again.now() == START + timedelta(seconds=10)
    machine.jump(-by)
    assert again.doubt is None


def test_a_jump_while_the_node_stood_still_is_seen_at_its_start() -> None:
    machine = Machine()
    saved = machine.guard().saved()
    machine.clock.advance(3_600)
    assert machine.guard(saved=saved, least=START).doubt is None
    machine.jump(30 * DAY)
    assert machine.guard(saved=saved, least=START).doubt is not None


def test_a_doubt_survives_a_restart_of_the_machine() -> None:
    """How long it was off, nobody knows, so it does not come right by itself."""
    machine = Machine()
    guard = machine.guard()
    machine.jump(30 * DAY)
    assert guard.doubt is not None
    other = Machine(machine.clock.now() + timedelta(minutes=5), boot="two")
    again = other.guard(saved=guard.saved(), least=START)
    assert again.doubt is not None
    believed = machine.guard(saved=None)
    assert Machine(START + 300 * DAY, boot="two").guard(saved=believed.saved()).doubt is None


def test_whoever_is_put_aside_between_two_readings_sees_no_jump() -> None:
    machine = Machine()
    stalls = iter([0.0, 0.0, 0.0, 3_600.0])

    def asleep_s() -> float:
        """Where it has slept an hour between the reading of the wall clock and this one, the wall clock
        shows it from the next reading on."""
        by = next(stalls, 0.0)
        if by:
            machine.sleep(timedelta(seconds=by))
        return machine.slept_s

    guard = machine.guard(asleep_s=asleep_s)
    assert guard.look() == "believed"
    assert next(stalls, None) is None  # it was put aside
    assert guard.doubt is None
    assert guard.now() == START + timedelta(hours=1)


def test_without_a_limit_the_wall_clock_is_always_believed() -> None:
    machine = Machine()
    guard = GuardedClock(machine.clock, 0.0, least=START + 300 * DAY)
    machine.jump(-30 * DAY)
    assert guard.doubt is None
    assert guard.now() == START - 30 * DAY
    assert guard.health().status == "pass"
    assert "jump_s" in guard.health().output


def test_what_is_kept_is_read_strictly() -> None:
    saved = Saved("one", 12.5, START.timestamp(), Basis.TOLD, True, False)
    assert Saved.parse(saved.fields()) == saved
    for field, wrong in (("time_s", -1), ("count_s", 2**50), ("basis", "guess"), ("doubted", 1)):
        with pytest.raises((Rejected, ValueError)):
            Saved.parse({**saved.fields(), field: wrong})
