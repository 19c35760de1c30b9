"""Whom the documents of a node account to: the decision log, which is told of every change, and whoever keeps
something else of a document, which hears first that it goes.

Promises: a change waits in the store until the log has it, through a kill too, and is entered with others of
its kind; a removal or an erasure is entered before it is done (where the node must log and cannot, nothing is
begun), stands in the list that backups and restores honour before the document is gone, and the answers that
were made from it are to be erased. Entries hold counts and, of each document, what ``schema.logged_as`` says.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field

from node.audit.decisions.entry import documents_entry
from node.audit.decisions.entry_fields import scope_class
from node.audit.recorder import Recorder
from node.knowledge.rows import Row
from node.knowledge.store import DocumentStore
from node.knowledge.struck import line_of
from node.knowledge.used import UsedDocuments

AT_ONCE = 256
"""Documents in one entry."""
REMOVED, ERASED = "removed", "erased"
_REFUSED = "what happened to documents could not be logged"


@dataclass(frozen=True, slots=True)
class Accounts:
    """Build one per store. ``note_erased`` enters lines in the list of what was erased."""

    store: DocumentStore
    used: UsedDocuments
    recorder: Recorder
    note_erased: Callable[[Sequence[str]], Awaitable[object]]
    policy: str
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def tell(self) -> None:
        """Enter what has changed. Raises ``Unavailable`` where what is not logged must not be done; it is
        owed still."""
        async with self._one_at_a_time:
            while rows := await self.store.unlogged(AT_ONCE):
                for scope in dict.fromkeys(scope_class(row["scope"]) for row in rows):
                    said = [(row["event"], row["name"]) for row in rows if scope_class(row["scope"]) == scope]
                    if not await self._enter("changed", scope, said):
                        return
                await self.store.logged(rows[-1]["number"])

    async def going(self, event: str, rows: Sequence[Row], uids: Iterable[str] = ()) -> None:
        """These documents, and others by their ``uids``, are about to be removed or erased. Raises
        ``Unavailable``: then nothing is to be done."""
        await self.tell()
        for scope in dict.fromkeys(scope_class(row["scope"]) for row in rows):
            named = [(event, row["known_as"]) for row in rows if scope_class(row["scope"]) == scope]
            for first in range(0, len(named), AT_ONCE):
                await self._enter(event, scope, named[first : first + AT_ONCE])
        lines = dict.fromkeys((*(row["uid"] for row in rows), *uids))
        await self.note_erased([line_of(uid) for uid in lines])
        await self.used.erased([row["known_as"] for row in rows if row["known_as"]])

    async def _enter(self, event: str, scope: str, said: Sequence[tuple[str, str]]) -> bool:
        counts: dict[str, int] = {}
        for what, _ in said:
            counts[what] = counts.get(what, 0) + 1
        entry, private = documents_entry(
            event=event,
            scope=scope,
            counts=counts,
            documents=[name for _, name in said if name],
            policy=self.policy,
        )
        return (await self.recorder.enter(entry, private, said=_REFUSED)).place is not None
