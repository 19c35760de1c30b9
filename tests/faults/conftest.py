"""Faults are slow for what they are: they kill processes, fill disks and wait for real limits. ``make
test-rest`` runs them, ``make test`` does not."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The hook is handed the tests of all folders."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.slow)
