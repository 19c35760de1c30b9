"""Fields of settings that carry what they may be; ``node.core.settings`` checks them when it reads."""

from __future__ import annotations

from dataclasses import field
from typing import TypeVar

_T = TypeVar("_T")


def between(least: float, default: _T, most: float) -> _T:
    """A number with its bounds."""
    return field(default=default, metadata={"range": (least, most)})


def bound(least: float, default: _T, most: float) -> _T:
    """A number with its bounds, or 0: none."""
    return field(default=default, metadata={"range": (least, most), "or_zero": True})


def one_of(*choices: str) -> str:
    """One of these words, the first where nothing is said."""
    return field(default=choices[0], metadata={"choices": choices})


def web_address(default: _T) -> _T:
    """An http(s) address or none, or several."""
    return field(default=default, metadata={"is_url": True})
