"""What tests of the gateway share: a shelf of blocks made by hand."""

from __future__ import annotations

import pytest

from tests.unit.ipfs.gateway.dags import Shelf


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()
