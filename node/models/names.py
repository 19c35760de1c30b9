"""Models by their names: whether a model that an engine serves is one of those that were measured. Pure."""

from __future__ import annotations

from collections.abc import Sequence

_NAME_MIN = 12
"""So many letters name a model well enough when the measured one's name is longer."""


def folded(model: str) -> str:
    """A model's name by its last path segment, letters and digits only, for engines spell it differently."""
    return "".join(char for char in model.lower().rpartition("/")[2] if char.isalnum())


def is_among(model: str, measured: Sequence[str]) -> bool:
    """Whether the model is one of ``measured``, which are folded beginnings of names."""
    name = folded(model)
    shorter = len(name) >= _NAME_MIN and any(one.startswith(name) for one in measured)
    return shorter or name.startswith(tuple(measured))
