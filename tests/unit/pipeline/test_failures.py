"""Failures remembered for seconds: for how long, for whom, and what makes them forgotten."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.pipeline.failures import NOTHING_THERE_MAX_S, Failure, NegativeCache, keep_s
from tests.manual_clock import ManualClock


def cache(clock: ManualClock, *, base_s: float = 10.0, entries_max: int = 100) -> NegativeCache[str]:
    return NegativeCache(clock.monotonic, base_s=base_s, entries_max=entries_max)


def value(failures: NegativeCache[str], key: object, *, patience_s: float = 60.0) -> str | None:
    found = failures.find(key, patience_s=patience_s)
    return None if found is None else found.value


def test_a_failure_is_said_again_for_its_seconds_and_not_longer() -> None:
    clock = ManualClock()
    failures = cache(clock)
    failures.remember("q", "refused", Failure.FAULT, patience_s=60)
    clock.advance(9.9)
    found = failures.find("q", patience_s=60)
    assert found is not None
    assert found.value == "refused"
    assert found.age_s == pytest.approx(9.9)
    clock.advance(0.1)
    assert value(failures, "q") is None
    assert len(failures) == 0


def test_saying_it_again_does_not_make_it_live_longer() -> None:
    clock = ManualClock()
    failures = cache(clock)
    failures.remember("q", "refused", Failure.FAULT, patience_s=60)
    for _ in range(3):
        clock.advance(3)
        assert value(failures, "q") == "refused"
    clock.advance(1)
    assert value(failures, "q") is None


def test_how_long_depends_on_what_failed() -> None:
    assert keep_s(Failure.NO_TIME, 10) < keep_s(Failure.FAULT, 10) < keep_s(Failure.NOTHING_THERE, 10)
    assert keep_s(Failure.FAULT, 10) == 10
    assert keep_s(Failure.NOTHING_THERE, 10) == NOTHING_THERE_MAX_S
    assert keep_s(Failure.NOTHING_THERE, 300) == 300
    assert keep_s(Failure.FAULT, 10, retry_after_s=2.5) == 2.5
    assert keep_s(Failure.FAULT, 10, retry_after_s=-1) == 0


@given(st.sampled_from(Failure), st.floats(0, 300), st.none() | st.floats(0, 10_000))
def test_it_is_never_remembered_for_longer_than_the_setting_or_a_minute(
    failure: Failure, base_s: float, retry_after_s: float | None
) -> None:
    seconds = keep_s(failure, base_s, retry_after_s)
    assert 0 <= seconds <= max(base_s, NOTHING_THERE_MAX_S if base_s else 0)
    assert retry_after_s is None or seconds <= retry_after_s


def test_zero_switches_it_off() -> None:
    failures = cache(ManualClock(), base_s=0)
    for failure in Failure:
        failures.remember("q", "no", failure, patience_s=60)
        assert value(failures, "q") is None
    assert len(failures) == 0


@pytest.mark.parametrize("failure", [Failure.NO_TIME, Failure.NO_ANSWER])
def test_who_has_more_time_is_not_held_by_the_failure_of_who_had_little(failure: Failure) -> None:
    failures = cache(ManualClock())
    failures.remember("q", "timeout", failure, patience_s=2)
    assert value(failures, "q", patience_s=60) is None
    assert value(failures, "q", patience_s=2.5) == "timeout"
    assert value(failures, "q", patience_s=1) == "timeout"


def test_that_nothing_is_there_holds_for_everybody() -> None:
    failures = cache(ManualClock())
    failures.remember("q", "no such coin", Failure.NOTHING_THERE, patience_s=1)
    assert value(failures, "q", patience_s=60) == "no such coin"


def test_a_success_clears_it_and_a_newer_failure_replaces_it() -> None:
    failures = cache(ManualClock())
    failures.remember("q", "one", Failure.FAULT, patience_s=60)
    failures.remember("q", "two", Failure.FAULT, patience_s=60)
    assert value(failures, "q") == "two"
    failures.clear("q")
    failures.clear("q")
    assert value(failures, "q") is None


def test_who_wants_nothing_older_gets_nothing_older() -> None:
    clock = ManualClock()
    failures = cache(clock)
    failures.remember("q", "no", Failure.FAULT, patience_s=60)
    assert failures.find("q", patience_s=60, max_age_s=0) is None
    clock.advance(3)
    assert failures.find("q", patience_s=60, max_age_s=2) is None
    assert failures.find("q", patience_s=60, max_age_s=4) is not None


def test_the_least_recently_used_make_room() -> None:
    failures = cache(ManualClock(), entries_max=2)
    failures.remember("a", "a", Failure.FAULT, patience_s=60)
    failures.remember("b", "b", Failure.FAULT, patience_s=60)
    assert value(failures, "a") == "a"
    failures.remember("c", "c", Failure.FAULT, patience_s=60)
    assert len(failures) == 2
    assert value(failures, "b") is None
    assert value(failures, "a") == "a"


def test_keys_of_two_askers_never_meet() -> None:
    failures = cache(ManualClock())
    failures.remember((("ada", "shared", None, "price:btc"), "coingecko"), "no", Failure.FAULT, patience_s=60)
    assert value(failures, (("bob", "shared", None, "price:btc"), "coingecko")) is None
    assert value(failures, (("ada", "shared", "context", "price:btc"), "coingecko")) is None
