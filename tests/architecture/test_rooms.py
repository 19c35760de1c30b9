"""The drawing of the rooms, the import contract and the folders say the same."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROOMS_MAX = 14 + len(("knowledge", "agent", "listen"))
"""Fourteen, and those that came with documents and come with the agent and with listening."""


def layers() -> list[str]:
    """The rooms of the contract, the highest first."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    [road] = [one["layers"] for one in contracts if one["type"] == "layers"]
    return [name.removeprefix("node.") for name in road if name != "node.__main__"]


def test_the_drawing_is_the_contract() -> None:
    drawing = (ROOT / "docs" / "architecture.md").read_text("utf-8").split("```")[1]
    assert [line.split()[0] for line in drawing.strip().splitlines()] == layers()


def test_each_folder_is_a_room_and_nothing_lies_beside_them() -> None:
    inside = {path.name for path in (ROOT / "node").iterdir() if path.name != "__pycache__"}
    assert inside == {*layers(), "__init__.py", "__main__.py"}
    assert len(layers()) <= ROOMS_MAX
