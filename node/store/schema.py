"""What a SQLite file of this program has to hold, in words that its writer and its repair share."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

_OURS = int.from_bytes(b"NS", "big")
"""How the application ids of our files begin."""


@dataclass(frozen=True, slots=True)
class Schema:
    """What a file has to hold. ``statements`` creates version ``version`` from nothing; ``upgrades`` has for
    each older version what turns it into the next one, inside a transaction that is not its own.
    ``synchronous`` is FULL for what is promised to somebody, NORMAL for what may be lost in a power cut."""

    name: str
    application_id: int
    version: int
    statements: str
    synchronous: str
    page_bytes: int
    upgrades: Mapping[int, Callable[[sqlite3.Connection], None]] = field(default_factory=dict)

    def may_be_ours(self, application_id: int, tables: Iterable[str]) -> bool:
        """Whether a file of another application id looks like one of these whose header was damaged, and not
        like another store of this program."""
        is_other_store = application_id >> 16 == _OURS
        return not is_other_store and any(f"TABLE {name} " in self.statements for name in tables)
