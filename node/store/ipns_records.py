"""IPNS records in ``names.sqlite``: those that others gave us to keep, and copies of our own.

Promises: what is served was verified against its name when it came and has not expired; of two records for a
name the better one is kept, by the order of the IPNS specification (sequence, then validity); what was
accepted is synced and stays until it expires, a stranger's at most ``KEPT`` after it was last given to us:
when there is no room a stranger's new name is refused. Nobody but this node changes the records of its own
names.
It knows nothing of where records come from or go to. Format 1 (``PRAGMA user_version``), application id
``NSn1``; ``validity``, until when a record is kept, is in microseconds since 1970; ``own`` is 0 for names of
strangers, 1 for ours, 2 for those that the operator had us keep.

Source: https://specs.ipfs.tech/ipns/ipns-record/.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Self

from node.core.clock import Clock
from node.core.errors import NotFound, Rejected, Unavailable
from node.core.ipld import ipns
from node.core.ipld.ipns import IpnsName, IpnsRecord
from node.core.record import time_us
from node.store.file_store import FileStore
from node.store.writer import Schema, SqliteFile

NAMES_MAX = 1_000
"""Names of strangers. A record has at most 10 KiB, so they take 10 MB."""
KEPT = timedelta(hours=48)
"""As in the network's own routing: whoever wants a record kept for longer gives it again."""
_STRANGERS, _OURS, _OPERATORS = 0, 1, 2

SCHEMA = Schema(
    name="name store",
    application_id=int.from_bytes(b"NSn1", "big"),
    version=1,
    statements="""
        CREATE TABLE name (
            multihash BLOB PRIMARY KEY, data BLOB NOT NULL, validity INTEGER NOT NULL, own INTEGER NOT NULL
        );
        CREATE INDEX name_validity ON name (validity) WHERE NOT own
    """,
    synchronous="FULL",
    page_bytes=4_096,
)


@dataclass(frozen=True, slots=True)
class Kept:
    """A record as it came, what it says, and for how many whole seconds it is still valid."""

    data: bytes
    record: IpnsRecord
    left_s: int


class Names(FileStore):
    """Build with ``open`` inside a running event loop. Raises ``Unavailable`` where the disk says no."""

    def __init__(self, file: SqliteFile, clock: Clock, own: IpnsName, names_max: int) -> None:
        super().__init__(file)
        self.clock = clock
        self._own = {own.multihash}
        self._names_max = names_max
        self._heard: dict[bytes, int] = {}

    @classmethod
    async def open(cls, path: Path, clock: Clock, *, own: IpnsName, names_max: int = NAMES_MAX) -> Self:
        """Open or create the file. Raises ``Unavailable``, ``CorruptState``."""
        names = cls(await SqliteFile.open(path, SCHEMA, readers=2), clock, own, names_max)
        rows = await names._file.rows("SELECT multihash FROM name WHERE own = ?", (_OURS,))
        names._own |= {bytes(row[0]) for row in rows}
        return names

    async def get(self, name: IpnsName) -> bytes:
        """The record's bytes. Raises ``NotFound``, also for one that has expired or was kept long enough."""
        return (await self.look(name)).data

    async def look(self, name: IpnsName) -> Kept:
        """The record with what it says. Raises as ``get`` does."""
        now = self.clock.now()

        def job(connection: sqlite3.Connection) -> tuple[bytes, IpnsRecord] | None:
            return _find(connection, name) if _place(connection, name)[1] > time_us(now) else None

        found = await self._file.read(job)
        if found is None or found[1].validity <= now:
            raise NotFound("this node knows no record for that name")
        return Kept(*found, (found[1].validity - now) // timedelta(seconds=1))

    async def put(self, name: IpnsName, data: bytes, *, by_operator: bool = False) -> bool:
        """Keep another's record; False when a better one is here already. A name that was once given
        ``by_operator`` has no limit of time but the records' own and takes no stranger's room. Raises
        ``Rejected`` for what is no valid record of that name, has expired, or is of a name that this node
        publishes itself, and ``Unavailable`` when there is no room for another name."""
        record = await self._file.offload(lambda: ipns.decode(data, name))
        now = self.clock.now()
        if record.validity <= now:
            raise Rejected(f"the record has expired, on {record.validity:%Y-%m-%d at %H:%M:%S} UTC")
        if name.multihash in self._own:
            if data == await self.known(name):
                return True
            self._heard[name.multihash] = max(record.sequence, self._heard.get(name.multihash, 0))
            raise Rejected("this node publishes that name itself")

        def job(connection: sqlite3.Connection) -> bool:
            known = _find(connection, name)
            kind = _OPERATORS if by_operator else _place(connection, name)[0]
            if known is None and kind == _STRANGERS:
                self._make_room(connection, now)
            elif known is not None and known[1].validity <= now:
                known = None  # it stands in no other's way
            until = min(record.validity, now + KEPT) if kind == _STRANGERS else record.validity
            return _keep(connection, name, data, record, known, until, kind)

        return await self._file.write(job)

    async def set_own(self, name: IpnsName, data: bytes) -> None:
        """Serve a record that this node signed itself. From then on nobody else may change that name. Raises
        ``Rejected`` for what is no record of that name and where a better one is here."""
        record = await self._file.offload(lambda: ipns.decode(data, name))

        def job(connection: sqlite3.Connection) -> bool:
            known = _find(connection, name)
            return _keep(connection, name, data, record, known, record.validity, _OURS)

        if not await self._file.write(job):
            raise Rejected(f"a newer record of our own name {name.text} is known already")
        self._own.add(name.multihash)

    async def known(self, name: IpnsName) -> bytes | None:
        """The record that is kept for a name, expired or not."""
        found = await self._file.read(_find, name)
        return None if found is None else found[0]

    def heard(self, name: IpnsName) -> int:
        """The highest sequence of a valid record for one of our own names that somebody offered; -1 for none.
        Above our last one it says that this node's state is older than what it has published."""
        return self._heard.get(name.multihash, -1)

    def _make_room(self, connection: sqlite3.Connection, now: datetime) -> None:
        """Room for one more name of a stranger. Raises ``Unavailable``."""
        if _strangers(connection) < self._names_max:
            return
        if self.clock.doubt is None:
            connection.execute("DELETE FROM name WHERE NOT own AND validity <= ?", (time_us(now),))
        if _strangers(connection) >= self._names_max:
            raise Unavailable(
                f"{self._names_max} names are kept here already and none has expired; give the record to "
                "another router, or later"
            )


def _strangers(connection: sqlite3.Connection) -> int:
    """How many names of strangers are kept."""
    return int(connection.execute("SELECT count(*) FROM name WHERE NOT own").fetchone()[0])


def _find(connection: sqlite3.Connection, name: IpnsName) -> tuple[bytes, IpnsRecord] | None:
    """The record that is kept, expired or not; None also for one that the disk has damaged."""
    row = connection.execute("SELECT data FROM name WHERE multihash = ?", (name.multihash,)).fetchone()
    if row is None:
        return None
    data = bytes(row[0])
    try:
        return data, ipns.decode(data, name)
    except Rejected:
        return None


def _place(connection: sqlite3.Connection, name: IpnsName) -> tuple[int, int]:
    """Whose name it is and until when its record is kept; an unknown one is a stranger's."""
    row = connection.execute(
        "SELECT own, validity FROM name WHERE multihash = ?", (name.multihash,)
    ).fetchone()
    return (_STRANGERS, 0) if row is None else (int(row[0]), int(row[1]))


def _keep(
    connection: sqlite3.Connection,
    name: IpnsName,
    data: bytes,
    record: IpnsRecord,
    known: tuple[bytes, IpnsRecord] | None,
    until: datetime,
    kind: int,
) -> bool:
    """Write the record unless ``known`` is better; True when it is the one that is kept."""
    if known is not None and known[0] != data and not ipns.better(record, known[1]):
        return False
    connection.execute(
        "INSERT INTO name (multihash, data, validity, own) VALUES (?, ?, ?, ?) ON CONFLICT (multihash) "
        "DO UPDATE SET data = excluded.data, validity = excluded.validity, own = excluded.own",
        (name.multihash, data, time_us(until), kind),
    )
    return True
