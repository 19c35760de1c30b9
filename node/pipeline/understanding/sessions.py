"""What was said before in a session: bounded, in memory, per tenant.

Follow-ups are answered with these turns as history; they are never stored as records.
"""

from __future__ import annotations

from collections import OrderedDict, deque

SESSIONS_MAX = 2_000
TURNS_MAX = 6
TEXT_CHARS_MAX = 2_000


class Sessions:
    """The last few turns of the most recently used sessions."""

    def __init__(self) -> None:
        self._turns: OrderedDict[tuple[str, str], deque[tuple[str, str]]] = OrderedDict()

    def history(self, tenant: str, session: str | None) -> tuple[tuple[str, str], ...]:
        """(question, answer) pairs, oldest first; empty without a session."""
        if session is None:
            return ()
        return tuple(self._turns.get((tenant, session), ()))

    def enter(self, tenant: str, session: str | None, question: str, answer: str) -> None:
        """Add a turn; the oldest turn and the longest unused session make room."""
        if session is None:
            return
        turns = self._turns.setdefault((tenant, session), deque(maxlen=TURNS_MAX))
        turns.append((question[:TEXT_CHARS_MAX], answer[:TEXT_CHARS_MAX]))
        self._turns.move_to_end((tenant, session))
        while len(self._turns) > SESSIONS_MAX:
            self._turns.popitem(last=False)
