"""An adapter that the operator switched off: it still knows its questions, and answers none.

Without it, a question about the weather would look like one of general knowledge, and a model would guess.
"""

from __future__ import annotations

from datetime import datetime

from node.core.model import Budget, Check, Missed, Outcome, Query, Recognition
from node.core.ports import Adapter


class SwitchedOff:
    """``node.core.ports.Adapter`` around one that is not to be asked."""

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter

    @property
    def name(self) -> str:
        return self._adapter.name

    @property
    def is_local(self) -> bool:
        return self._adapter.is_local

    def recognise(self, text: str, now: datetime, *, hinted: bool = False) -> Recognition | None:
        return self._adapter.recognise(text, now, hinted=hinted)

    def follow_up(self, fragment: str, earlier: str, now: datetime) -> str | None:
        return self._adapter.follow_up(fragment, earlier, now)

    def warm(self) -> None:
        self._adapter.warm()

    async def ask(self, recognition: Recognition, query: Query) -> Outcome:
        """Nothing is asked of anyone."""
        return Missed("this node does not look such things up")

    def health(self) -> Check:
        return Check(f"adapter:{self.name}", "pass", "switched off")

    def budgets(self) -> tuple[Budget, ...]:
        return ()

    async def close(self) -> None:
        await self._adapter.close()
