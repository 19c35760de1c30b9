"""A table in one test hides no row that fails."""

from __future__ import annotations

import inspect

import pytest

from tests.each import each


def test_every_row_runs_and_each_that_fails_is_named() -> None:
    seen = []

    @each(("one", "other"), [(1, 1), (2, 3), (4, 4), (5, 6)])
    def rule(base: int, one: int, other: int) -> None:
        seen.append(base + one)
        assert one == other
        if one == 4:
            pytest.fail("by hand")

    assert list(inspect.signature(rule).parameters) == ["base"]
    with pytest.raises(BaseExceptionGroup, match="3 of 4 rows") as caught:
        rule(base=10)
    assert seen == [11, 12, 14, 15]
    notes = [one.__notes__[-1] for one in caught.value.exceptions]
    assert notes == ["in the row one=2, other=3", "in the row one=4, other=4", "in the row one=5, other=6"]


async def test_waiting_tests_too() -> None:
    @each("one", [1, 2])
    async def rule(one: int) -> None:
        assert one == 1

    with pytest.raises(BaseExceptionGroup, match="1 of 2 rows"):
        await rule()


def test_a_table_without_rows_proves_nothing() -> None:
    with pytest.raises(AssertionError, match="no rows"):
        each("one", [])
    with pytest.raises(AssertionError, match="takes no"):
        each("two", [1])(lambda one: None)
