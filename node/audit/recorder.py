"""Enters decisions in the log. One that cannot be entered is counted, and refused where settings say so."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping

import msgspec

from node.core.errors import NodeError, Unavailable
from node.core.metrics import Unlogged
from node.core.model import DecisionRef, Json
from node.core.ports import Appended, AuditLog, Sealed

REFUSED = "the decision could not be logged"


class Entered(msgspec.Struct, frozen=True):
    """Where a decision stands in the log; None, and why, where it does not."""

    place: Appended | None
    problem: str = ""

    @property
    def ref(self) -> DecisionRef | None:
        return None if self.place is None else DecisionRef(self.place.log, self.place.index)


class Recorder:
    """``refuses``: what cannot be logged is not to be done (setting ``log.on_failure``)."""

    def __init__(self, log: AuditLog, unlogged: Unlogged, *, refuses: bool) -> None:
        self._log = log
        self._unlogged = unlogged
        self._refuses = refuses

    async def enter(
        self,
        entry: Mapping[str, Json],
        private_texts: Mapping[str, str],
        *,
        kind: str = "other",
        is_done: bool = False,
        said: str = REFUSED,
    ) -> Entered:
        """``kind`` as ``Unlogged`` counts them. What ``is_done`` already can only be counted. Raises
        ``Unavailable``, which begins with ``said``, where it is refused."""
        appending = self._log.append(entry, private_texts=private_texts)
        return await self._entered(appending, kind, is_refused=self._refuses and not is_done, said=said)

    def begin(self, what: Sealed, *, kind: str) -> Entered | Awaitable[Entered]:
        """``enter`` without the wait, for what was sealed before."""
        try:
            place = self._log.begin(what)
        except NodeError as exc:
            return self._failed(exc, kind, is_refused=self._refuses, said=REFUSED)
        if not isinstance(place, Appended):
            return self._entered(place, kind, is_refused=self._refuses, said=REFUSED)
        self._unlogged.logged()
        return Entered(place)

    async def _entered(
        self, appending: Awaitable[Appended], kind: str, *, is_refused: bool, said: str
    ) -> Entered:
        try:
            place = await appending
        except NodeError as exc:
            return self._failed(exc, kind, is_refused=is_refused, said=said)
        self._unlogged.logged()
        return Entered(place)

    def _failed(self, exc: NodeError, kind: str, *, is_refused: bool, said: str) -> Entered:
        self._unlogged.failed(kind, exc, stands=not is_refused)
        if is_refused:
            raise Unavailable(f"{said}: {exc}") from exc
        return Entered(None, str(exc))
