"""What is installed is named by version and hash, and is what ``pyproject.toml`` asks for."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
LOCKS = ROOT / "requirements"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MORE = PROJECT["optional-dependencies"]
_PINNED = re.compile(r"([A-Za-z0-9._-]+)==([^ ;\\]+)(?: ; [^\\]+)?((?: \\\n    --hash=sha256:[0-9a-f]{64})+)")


def locked(name: str) -> dict[str, str]:
    """Versions by name; fails where a line is anything but a pinned requirement with hashes."""
    text = (LOCKS / f"{name}.txt").read_text(encoding="utf-8")
    assert _PINNED.sub("", text).strip() == ""
    return {canonicalize_name(found[1]): found[2] for found in _PINNED.finditer(text)}


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("run", [*PROJECT["dependencies"], *MORE["mcp"]]),
        ("dev", [*PROJECT["dependencies"], *MORE["dev"]]),
        ("bench", [*PROJECT["dependencies"], *MORE["dev"], *MORE["bench"]]),
        ("build", (LOCKS / "build.in").read_text(encoding="utf-8").splitlines()),
    ],
)
def test_a_lock_holds_what_is_asked_for(name: str, asked: list[str]) -> None:
    held = locked(name)
    for requirement in map(Requirement, asked):
        assert requirement.specifier.contains(held[canonicalize_name(requirement.name)]), requirement


def test_the_locks_agree() -> None:
    bench = locked("bench")
    for name in ("run", "dev"):
        assert locked(name).items() <= bench.items(), name
