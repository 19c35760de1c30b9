"""Says which questions' answers and which blocks a commit has changed: for whoever keeps copies in memory.

Triggers of the writer's own connection see every way in which a row changes. Promises: what was touched is
told on the event loop after the commit, and before whoever asked for the change hears that it stands. A
change that was rolled back may be told too.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass

from node.store.record_rules import is_private

_EVENTS = (("INSERT", "NEW"), ("UPDATE OF {columns}", "OLD"), ("DELETE", "OLD"))
_TABLES = (
    ("record", "state, block_id, kept", "WHEN {row}.kind = 'answer'", "{row}.slot_key"),
    ("alias", "survivor", "", "NULL"),
)
_TRIGGER = (
    "CREATE TEMP TRIGGER touched_{table}_{number} AFTER {event} ON main.{table} {when}"
    " BEGIN SELECT touched({row}.scope, {row}.query_hash, {row}.keyword_key, {slot}); END"
)
_TRIGGERS = tuple(
    _TRIGGER.format(
        table=table,
        number=number,
        event=event.format(columns=columns),
        when=when.format(row=row),
        row=row,
        slot=slot.format(row=row),
    )
    for table, columns, when, slot in _TABLES
    for number, (event, row) in enumerate(_EVENTS)
)

_BLOCK_TRIGGERS = tuple(
    f"CREATE TEMP TRIGGER touched_block_{number} AFTER {event} ON main.{table}"
    f" BEGIN SELECT touched_block({row}.multihash); END"
    for number, (event, table, row) in enumerate(
        (
            ("INSERT", "record", "NEW"),
            ("UPDATE OF state, block_id, scope", "record", "OLD"),
            ("DELETE", "record", "OLD"),
            ("UPDATE OF data", "block", "OLD"),
            ("DELETE", "block", "OLD"),
        )
    )
)


@dataclass(frozen=True, slots=True)
class Touched:
    """``keys``: query hashes, keyword keys and slot keys of records that others may see too; ``scopes``:
    those of private records, which are found by names that only the store can make."""

    keys: frozenset[str]
    scopes: frozenset[str]


class Touches:
    """Gathers what one transaction touches. ``watch`` and ``tell`` run in the writer thread."""

    def __init__(self) -> None:
        self.on_touched: Callable[[Touched], None] = lambda touched: None
        self.on_blocks: Callable[[frozenset[bytes]], None] = lambda multihashes: None
        self.told = 0
        self._loop = asyncio.get_running_loop()
        self._keys: set[str] = set()
        self._scopes: set[str] = set()
        self._blocks: set[bytes] = set()

    def watch(self, connection: sqlite3.Connection) -> None:
        connection.create_function("touched", 4, self._note)
        connection.create_function("touched_block", 1, self._blocks.add)
        for trigger in (*_TRIGGERS, *_BLOCK_TRIGGERS):
            connection.execute(trigger)

    def _note(self, scope: str, *keys: str | None) -> None:
        if is_private(scope):
            self._scopes.add(scope)
        else:
            self._keys.update(key for key in keys if key is not None)

    def tell(self) -> None:
        if self._blocks:
            blocks = frozenset(self._blocks)
            self._blocks.clear()
            self._loop.call_soon_threadsafe(lambda: self.on_blocks(blocks))
        if self._keys or self._scopes:
            touched = Touched(frozenset(self._keys), frozenset(self._scopes))
            self._keys.clear()
            self._scopes.clear()
            self._loop.call_soon_threadsafe(self._tell, touched)

    def _tell(self, touched: Touched) -> None:
        self.told += 1
        self.on_touched(touched)
