"""What several tests of this folder begin with."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from node.store.imported_blocks import ForeignStore


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "knowledge-index.json"


@pytest.fixture
async def foreign(tmp_path: Path) -> AsyncIterator[ForeignStore]:
    store = await ForeignStore.open(tmp_path / "foreign.sqlite", bytes_max=2**20)
    yield store
    await store.close()
