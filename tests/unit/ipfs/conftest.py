"""What tests of the head in this folder share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import head_world


@pytest.fixture
def world(tmp_path: Path) -> head_world.World:
    return head_world.World(tmp_path)
