"""Tools that a language model may call, as values: what is offered, what is called, what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Offered:
    """A tool as a model sees it. ``parameters``: the JSON Schema of its arguments, an object."""

    name: str
    description: str
    parameters: Mapping[str, Any]

    @property
    def form(self) -> dict[str, Any]:
        """As OpenAI's API and Ollama's describe it."""
        function = {
            "name": self.name,
            "description": self.description,
            "parameters": dict(self.parameters),
        }
        return {"type": "function", "function": function}


@dataclass(frozen=True, slots=True)
class Call:
    """What a model wants done. ``arguments``: JSON as the model wrote it, unchecked."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Called:
    """A call and what came of it, as the model is told."""

    call: Call
    said: str
