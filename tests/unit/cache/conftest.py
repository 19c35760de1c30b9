"""A recaller with its store, for the tests of recall."""

from __future__ import annotations

import pytest

from tests.unit.cache.test_recall import Bench


@pytest.fixture
def bench() -> Bench:
    return Bench()
