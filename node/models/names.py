"""Models by their names: whether a model that an engine serves is one of those that were measured, and when
another model came behind the same name. Pure."""

from __future__ import annotations

from collections.abc import Sequence

SAME_COSINE_MIN = 0.99
"""How near a model's vector of one fixed sentence must be to the one it gave before. The same model on other
hardware stays above 0.9999; another model is far below."""
EXCHANGED = (
    "is another one now (its vectors are others than before, under the same name): give it its model back, "
    "or set embed.model to a name of its own for the new one"
)
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
