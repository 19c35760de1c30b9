"""What a request in the form of a chat says besides its last message. A value without I/O."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Talk:
    """``instructions``: system and developer messages; ``turns``: (asked, answered) before the question,
    either may be empty. ``schema``: the JSON Schema that the answer has to fit, as JSON text, empty where
    any text will do. ``verbatim``: the last message goes to a model as it stands, for it is no question that
    could be looked up. Of the rest None means the node's own choice; all of it is part of
    ``Query.context``."""

    instructions: str = ""
    turns: tuple[tuple[str, str], ...] = ()
    tokens_max: int | None = None
    temperature: float | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    schema: str = ""
    verbatim: bool = False

    @property
    def says_more(self) -> bool:
        """Whether somebody told the model something beside the last message."""
        return bool(self.instructions or self.turns)
