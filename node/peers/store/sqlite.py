"""Everything about peers that outlives a restart, in a SQLite file of its own (``peers.sqlite``).

Promises: what a call that returned has changed is synced; a killed process leaves whole calls behind, but for
``forget`` and ``recount``, which go on where they were cut off when called again; whatever peers send, the
limits of ``rows.Limits`` hold; nothing here scans all that is held. A held record whose bytes the disk
has damaged is let go when it is read, so that it can be fetched again. Deleted rows are overwritten;
``scrub`` empties the WAL too. It knows nothing of what a record says, of trust, or of who asks.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Self, TypeVar

from node.core.clock import Clock
from node.core.errors import CorruptState, Rejected, Unavailable
from node.core.ipld.cid import DAG_CBOR, Cid
from node.core.record import time_us
from node.peers.rules.values import Contact, Held, Position, Standing, Summary, Tier, Usage
from node.peers.store import reads, rows
from node.peers.store.reads import integer
from node.peers.store.rows import OTHER_CODE, Limits
from node.peers.store.schema import SCHEMA
from node.store.file_store import FileStore
from node.store.writer import SqliteFile, insert

__all__ = ["Limits", "PeerStore"]

FORGOTTEN_AT_ONCE = 1_000
"""Records that one commit of ``forget`` deletes, so that nothing else waits long for the writer."""
RECOUNTED_AT_ONCE = 1_000
"""Statements that one commit of ``recount`` changes, likewise."""
PRUNED_AT_ONCE = 64
"""Tombstones past their end that go when one comes."""
_TIMES_MAX = 2**62
_NUMBER = "(SELECT id FROM root WHERE did = ?)"
"""The number of a root's row."""
_STANDING = "SELECT did, standing.* FROM standing JOIN root ON root.id = standing.root"

T = TypeVar("T")


class PeerStore(FileStore):
    """Build with ``open`` inside a running event loop. Durable on return. Beside ``Unavailable``, calls
    raise ``CorruptState`` for a file that is damaged."""

    def __init__(self, file: SqliteFile, clock: Clock, limits: Limits) -> None:
        super().__init__(file)
        self._clock = clock
        self._limits = limits

    @classmethod
    async def open(cls, path: Path, clock: Clock, *, limits: Limits | None = None) -> Self:
        """Open or create the file. Raises ``Unavailable``, ``CorruptState`` (damaged, foreign, newer)."""
        return cls(await SqliteFile.open(path, SCHEMA, readers=2), clock, limits or Limits())

    # --- contacts -------------------------------------------------------------------------------------

    async def contacts(self) -> list[Contact]:
        """In the order of their addition."""
        found = await self._file.rows("SELECT address, source, root, added FROM contact ORDER BY number")
        return list(map(rows.read_contact, found))

    async def contact(self, address: str) -> Contact | None:
        return next((one for one in await self.contacts() if one.address == address), None)

    async def put_contact(self, contact: Contact) -> None:
        """Add, or replace the one with this address. Raises ``Rejected`` over the limit of contacts."""
        added = None if contact.added is None else time_us(contact.added)
        values = (contact.source, contact.root, added, contact.address)

        def job(connection: sqlite3.Connection) -> None:
            changed = connection.execute(
                "UPDATE contact SET source = ?, root = ?, added = ? WHERE address = ?", values
            ).rowcount
            if changed:
                return
            if integer(connection, "SELECT count(*) FROM contact") >= self._limits.contacts:
                raise Rejected(rows.too_many_contacts(self._limits))
            connection.execute(
                "INSERT INTO contact (source, root, added, address) VALUES (?, ?, ?, ?)", values
            )

        await self._file.write(job)

    async def remove_contact(self, address: str) -> bool:
        return await self._file.run("DELETE FROM contact WHERE address = ?", (address,)) > 0

    # --- roots ----------------------------------------------------------------------------------------

    async def standing(self, root: str) -> Standing:
        """The default one for a root that nothing is known of."""
        return await self._file.read(_standing, root)

    async def standings(self) -> dict[str, Standing]:
        """Those that were set, by root."""
        return {row["did"]: rows.read_standing(row) for row in await self._file.rows(_STANDING)}

    async def set_standing(self, standing: Standing) -> None:
        await self._write(standing.root, partial(_set_standing, standing=standing))

    async def note(self, root: str, what: str) -> None:
        """One more in the standing's ``refuted``, ``valid`` or ``invalid``, in one step: whatever else
        changes the standing meanwhile is kept."""
        rows.check_noted(what)

        def job(connection: sqlite3.Connection, number: int) -> None:
            before = _standing(connection, root)
            _set_standing(connection, number, replace(before, **{what: getattr(before, what) + 1}))

        await self._write(root, job)

    async def begin(self, root: str) -> None:
        """All that is held of this root has to be weighed again: remembered until ``finish``."""
        await self._change(root, "INSERT INTO begun (root) VALUES (:root) ON CONFLICT DO NOTHING")

    async def finish(self, root: str) -> None:
        await self._file.run(f"DELETE FROM begun WHERE root = {_NUMBER}", (root,))

    async def unfinished(self) -> list[str]:
        """Roots that were begun and not finished, in the order of their beginning."""
        found = await self._file.rows(
            "SELECT did FROM begun JOIN root ON root.id = begun.root ORDER BY number"
        )
        return [row["did"] for row in found]

    async def position(self, root: str) -> Position | None:
        row = await self._file.row(
            "SELECT did, position.* FROM position JOIN root ON root.id = position.root WHERE did = ?", (root,)
        )
        return None if row is None else rows.read_position(row)

    async def set_position(self, position: Position) -> None:
        rows.check_position(position)
        await self._change(
            position.root,
            "INSERT OR REPLACE INTO position (root, origin, size, edge, note) "
            "VALUES (:root, :origin, :size, :edge, :note)",
            origin=position.origin,
            size=position.size,
            edge=b"".join(position.edge),
            note=position.note,
        )

    async def keys(self, root: str) -> list[bytes]:
        """Blocks of this root's key records, in the order of their arrival."""
        found = await self._file.rows(f"SELECT data FROM key WHERE root = {_NUMBER} ORDER BY number", (root,))
        return [bytes(row["data"]) for row in found]

    async def add_key(self, root: str, cid: Cid, data: bytes) -> bool:
        """False where it was there. Raises ``Rejected`` over the limit of one root."""

        def job(connection: sqlite3.Connection, number: int) -> bool:
            named = (number, cid.multihash)
            if connection.execute("SELECT 1 FROM key WHERE root = ? AND multihash = ?", named).fetchone():
                return False
            if integer(connection, "SELECT keys FROM root WHERE id = ?", number) >= self._limits.keys_of_root:
                raise Rejected(rows.too_many_keys(self._limits))
            connection.execute("INSERT INTO key (root, multihash, data) VALUES (?, ?, ?)", (*named, data))
            return True

        return await self._write(root, job)

    async def count(self, root: str, code: str, by: int = 1) -> None:
        """A record of this root was refused for ``code``, or taken as ``admitted`` or ``held``."""

        def job(connection: sqlite3.Connection, number: int) -> None:
            codes = [row[0] for row in connection.execute("SELECT code FROM count WHERE root = ?", (number,))]
            is_apart = code in codes or len(codes) < self._limits.codes_of_root
            connection.execute(
                "INSERT INTO count (root, code, times) VALUES (?, ?, ?) "
                "ON CONFLICT DO UPDATE SET times = min(times + excluded.times, ?)",
                (number, code if is_apart else OTHER_CODE, by, _TIMES_MAX),
            )

        await self._write(root, job)

    async def counts(self, root: str) -> dict[str, int]:
        asked = f"SELECT code, times FROM count WHERE root = {_NUMBER} ORDER BY code"
        return {row["code"]: row["times"] for row in await self._file.rows(asked, (root,))}

    async def summary(self, now: datetime) -> Summary:
        """Counts over all roots; takes as long however much is held."""
        return await self._file.read(reads.summary, rows.hour_of(now))

    async def usage(self, root: str, now: datetime) -> Usage:
        row = await self._file.row("SELECT records, bytes, hour, taken FROM root WHERE did = ?", (root,))
        if row is None:
            return Usage()
        return Usage(row["records"], row["bytes"], row["taken"] if row["hour"] == rows.hour_of(now) else 0)

    # --- held -----------------------------------------------------------------------------------------

    async def hold(self, records: Sequence[Held]) -> None:
        """Add or replace by CID, in one commit."""
        given = tuple(records)

        def job(connection: sqlite3.Connection) -> None:
            for held in given:
                values = rows.held_values(held, self._row_of(connection, held.issuer))
                connection.execute("DELETE FROM held WHERE multihash = ?", (values["multihash"],))
                connection.execute(insert("held", values), values)

        await self._file.write(job)

    async def held(self, cid: Cid) -> Held | None:
        found = await self._sound(_found("SELECT * FROM held_row WHERE multihash = ?", cid.multihash))
        return found[0] if found else None

    async def known(self, cids: Sequence[Cid]) -> set[Cid]:
        """Those of ``cids`` that are held."""
        return await self._there(cids, "SELECT 1 FROM held WHERE multihash = ?")

    async def held_of(self, issuer: str, *, after: bytes = b"", limit: int = 256) -> list[Held]:
        """In the order of their multihashes, those above ``after``."""
        asked = (
            f"SELECT * FROM held_row WHERE issuer = {_NUMBER} AND multihash > ? ORDER BY multihash LIMIT ?"
        )
        return await self._sound(_found(asked, issuer, after, max(0, limit)))

    async def rivals(self, query_hash: str, slot_key: str | None, *, limit: int = 256) -> list[Held]:
        """Held records, of whatever issuer and tier, with this query hash or (unless None) this slot key; at
        most 4 of one issuer, the newest."""

        def job(connection: sqlite3.Connection) -> list[sqlite3.Row]:
            numbers = reads.rivals(connection, query_hash, slot_key)[: max(0, limit)]
            look = "SELECT * FROM held_row WHERE id = ?"
            return [connection.execute(look, (number,)).fetchone() for number in numbers]

        return await self._sound(job)

    async def set_tier(self, cid: Cid, tier: Tier, trust_ppm: int) -> None:
        await self._file.run(
            "UPDATE held SET tier = ?, trust_ppm = ? WHERE multihash = ?",
            (tier.value, trust_ppm, cid.multihash),
        )

    async def release(self, cid: Cid) -> bool:
        """Hold it no longer; the bytes are overwritten."""
        return await self._file.run("DELETE FROM held WHERE multihash = ?", (cid.multihash,)) > 0

    async def ended(self, now: datetime, *, limit: int = 1_000) -> list[Cid]:
        """Held records whose ``until`` is past."""
        found = await self._file.rows(
            "SELECT cid FROM held WHERE until <= ? ORDER BY until, multihash LIMIT ?",
            (time_us(now), max(0, limit)),
        )
        return [_cid(row["cid"]) for row in found]

    async def forget(self, root: str) -> list[Cid]:
        """Release all that is held of a root, and its position; tombstones, keys and standing stay. Returns
        what was held."""
        await self._file.run(f"DELETE FROM position WHERE root = {_NUMBER}", (root,))
        gone: list[Cid] = []
        while names := await self._file.write(_forget_some, root):
            gone += map(_cid, names)
        return gone

    # --- what roots say of records --------------------------------------------------------------------

    async def entomb(
        self, target: Cid, issuer: str, tombstone: Cid, data: bytes, until: datetime | None
    ) -> None:
        """Keep the issuer's signed tombstone for its own ``target`` at least until ``until`` (None: for
        good), whether the target is here or not."""
        now = time_us(self._clock.now())

        def job(connection: sqlite3.Connection, number: int) -> None:
            connection.execute(
                "DELETE FROM tombstone WHERE id IN (SELECT id FROM tombstone WHERE until <= ? LIMIT ?)",
                (now, PRUNED_AT_ONCE),
            )
            connection.execute(
                "INSERT INTO tombstone (issuer, target, cid, data, until) VALUES (?, ?, ?, ?, ?) "
                "ON CONFLICT (issuer, target) DO UPDATE SET cid = excluded.cid, data = excluded.data, "
                "until = max(until, excluded.until)",
                (number, target.multihash, bytes(tombstone), data, rows.end_of(until)),
            )

        await self._write(issuer, job)

    async def tombstones(self, targets: Sequence[Cid], issuer: str) -> set[Cid]:
        """Those of ``targets`` that this issuer has withdrawn."""
        return await self._there(
            targets, f"SELECT 1 FROM tombstone WHERE target = ? AND issuer = {_NUMBER}", issuer
        )

    async def tombstone_blocks(self, named: Sequence[tuple[Cid, Cid]], issuer: str) -> dict[Cid, bytes]:
        """Of these (target, tombstone) those that are kept for this issuer: the tombstone's CID → its block.
        A withdrawal without one has none."""
        asked = tuple(named)
        look = f"SELECT data FROM tombstone WHERE issuer = {_NUMBER} AND target = ? AND cid = ?"

        def job(connection: sqlite3.Connection) -> dict[Cid, bytes]:
            found: dict[Cid, bytes] = {}
            for target, stone in asked:
                kept = connection.execute(look, (issuer, target.multihash, bytes(stone))).fetchone()
                if kept is not None and stone.matches(bytes(kept[0])):
                    found[stone] = bytes(kept[0])
            return found

        return await self._file.read(job)

    async def add_statement(
        self, cid: Cid, data: bytes, issuer: str, key: str, target: Cid, verdict: str, at: datetime
    ) -> bool:
        """Keep a signed validation, made at ``at`` with ``key``; it counts until ``recount`` says otherwise,
        and the newest of an issuer on a target does. False where it was there. Where there are too many,
        those that do not count make room first, the oldest first."""
        hour = rows.hour_of(self._clock.now())

        def job(connection: sqlite3.Connection, number: int) -> bool:
            added = connection.execute(
                "INSERT INTO statement (multihash, issuer, key, target, verdict, at, data) "
                "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (multihash) DO NOTHING",
                (cid.multihash, number, key, target.multihash, verdict, time_us(at), data),
            ).rowcount
            if not added:
                return False
            connection.execute(
                "UPDATE root SET taken = iif(hour = ?, taken, 0) + 1, hour = ? WHERE id = ?",
                (hour, hour, number),
            )
            self._make_room_for_statement(connection, number)
            return True

        return await self._write(issuer, job)

    async def statements(self, target: Cid) -> dict[str, str]:
        """Issuer → its newest verdict on ``target`` that counts."""
        return await self._file.read(reads.statements, target.multihash)

    async def known_statements(self, cids: Sequence[Cid], issuer: str) -> set[Cid]:
        """Those of ``cids`` that are statements of this issuer and kept, whether they count or not."""
        return await self._there(
            cids, f"SELECT 1 FROM statement WHERE multihash = ? AND issuer = {_NUMBER}", issuer
        )

    async def recount(self, issuer: str, signers: Mapping[str, tuple[datetime, datetime]]) -> int:
        """From now on this issuer's statements count that were made with one of ``signers`` in its time, from
        the first moment to before the second, and no others; how many that changed."""
        spans = {key: (time_us(since), time_us(until)) for key, (since, until) in signers.items()}
        changed = 0
        while some := await self._file.write(_recount_some, issuer, spans):
            changed += some
        return changed

    async def spoken_of(self, issuer: str, *, after: bytes = b"", limit: int = 256) -> list[Cid]:
        """Targets of this issuer's statements, whether they count or not, each once, in the order of their
        multihashes, those above ``after``."""
        found = await self._file.rows(
            f"SELECT DISTINCT target FROM statement WHERE issuer = {_NUMBER} AND target > ? "
            "ORDER BY target LIMIT ?",
            (issuer, after, max(0, limit)),
        )
        return [Cid(DAG_CBOR, row["target"][2:]) for row in found]  # a multihash of sha2-256

    # --- pieces ---------------------------------------------------------------------------------------

    async def _write(self, root: str, job: Callable[[sqlite3.Connection, int], T]) -> T:
        """As the file's, with the number of the root's row, which is made where there is none."""
        return await self._file.write(lambda connection: job(connection, self._row_of(connection, root)))

    async def _change(self, root: str, statement: str, **values: object) -> None:
        """One statement about a root, whose number it names ``:root``."""
        await self._write(
            root, lambda connection, number: connection.execute(statement, {"root": number, **values})
        )

    async def _there(self, cids: Sequence[Cid], look: str, *values: object) -> set[Cid]:
        """Those for which ``look`` finds a row by multihash."""
        asked = tuple(cids)

        def job(connection: sqlite3.Connection) -> set[Cid]:
            return {cid for cid in asked if connection.execute(look, (cid.multihash, *values)).fetchone()}

        return await self._file.read(job)

    async def _sound(self, job: Callable[[sqlite3.Connection], Iterable[sqlite3.Row]]) -> list[Held]:
        """What the rows of ``held_row`` hold; those that the disk has damaged are let go first. Ends, for
        each turn takes rows away."""
        while True:
            pairs = await self._file.read(
                lambda connection: [(int(row["id"]), rows.read_held(row)) for row in job(connection)]
            )
            damaged = [(number,) for number, held in pairs if held is None]
            if not damaged:
                return [held for _, held in pairs if held is not None]
            await self._file.write(_let_go, damaged)

    def _row_of(self, connection: sqlite3.Connection, root: str) -> int:
        """The number of the root's row, made where there is none. One of which nothing but counts is kept
        makes room. Raises ``Unavailable`` where there is no such."""
        row = connection.execute("SELECT id FROM root WHERE did = ?", (root,)).fetchone()
        if row is not None:
            return int(row[0])
        if integer(connection, "SELECT count(*) FROM root") >= self._limits.roots:
            spare = connection.execute(
                "DELETE FROM root WHERE id = (SELECT id FROM root WHERE records = 0 AND keys = 0 AND "
                "tombstones = 0 AND statements = 0 AND id NOT IN (SELECT root FROM standing) AND id NOT IN "
                "(SELECT root FROM position) AND id NOT IN (SELECT root FROM begun) ORDER BY id LIMIT 1)"
            ).rowcount
            if not spare:
                raise Unavailable(rows.too_many_roots(self._limits))
        return integer(connection, "INSERT INTO root (did) VALUES (?) RETURNING id", root)

    def _make_room_for_statement(self, connection: sqlite3.Connection, number: int) -> None:
        own = integer(connection, "SELECT statements FROM root WHERE id = ?", number)
        if own <= self._limits.statements_of_root:
            if integer(connection, "SELECT statements FROM total") <= self._limits.statements:
                return
            number = integer(connection, "SELECT id FROM root ORDER BY statements DESC, id LIMIT 1")
        connection.execute(
            "DELETE FROM statement WHERE id = "
            "(SELECT id FROM statement WHERE issuer = ? ORDER BY counts, id LIMIT 1)",
            (number,),
        )


def _found(statement: str, *values: object) -> Callable[[sqlite3.Connection], Iterable[sqlite3.Row]]:
    return lambda connection: connection.execute(statement, values)


def _cid(name: bytes) -> Cid:
    try:
        return Cid.from_bytes(name, any_hash=True)
    except Rejected as exc:
        raise CorruptState(
            "the table of peers (peers.sqlite) names a record by what is no CID; restore the file from a "
            "backup, or move it away and sync again"
        ) from exc


def _standing(connection: sqlite3.Connection, root: str) -> Standing:
    row = connection.execute(f"{_STANDING} WHERE did = ?", (root,)).fetchone()
    return Standing(root) if row is None else rows.read_standing(row)


def _set_standing(connection: sqlite3.Connection, number: int, standing: Standing) -> None:
    connection.execute(  # no REPLACE: the triggers of what it deletes do not run
        "INSERT INTO standing (root, level, trust_group, dropped, refuted, valid, invalid) "
        "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (root) DO UPDATE SET level = excluded.level, "
        "trust_group = excluded.trust_group, dropped = excluded.dropped, refuted = excluded.refuted, "
        "valid = excluded.valid, invalid = excluded.invalid",
        (number, *rows.standing_values(standing)),
    )


def _let_go(connection: sqlite3.Connection, numbers: Sequence[tuple[int]]) -> None:
    connection.executemany("DELETE FROM held WHERE id = ?", numbers)


def _forget_some(connection: sqlite3.Connection, root: str) -> list[bytes]:
    asked = f"SELECT id, cid FROM held WHERE issuer = {_NUMBER} ORDER BY multihash LIMIT ?"
    found = connection.execute(asked, (root, FORGOTTEN_AT_ONCE)).fetchall()
    _let_go(connection, [(number,) for number, _ in found])
    return [bytes(name) for _, name in found]


def _recount_some(connection: sqlite3.Connection, issuer: str, spans: Mapping[str, tuple[int, int]]) -> int:
    """How many statements count or do not count now that did otherwise: some of them, 0 for none."""
    number = integer(connection, "SELECT id FROM root WHERE did = ?", issuer)  # 0: of whom nothing is here
    left, key = RECOUNTED_AT_ONCE, ""
    change = "UPDATE statement SET counts = {} WHERE id IN (SELECT id FROM statement {} LIMIT ?)"
    of_key = "WHERE issuer = ? AND key = ? AND counts = {} AND at {}"
    next_key = "SELECT min(key) FROM statement WHERE issuer = ? AND key > ?"
    while left and (key := connection.execute(next_key, (number, key)).fetchone()[0]) is not None:
        since, until = spans.get(key, (0, 0))
        for counts, when, moments in (
            (0, "< ?", (since,)),
            (0, ">= ?", (until,)),
            (1, ">= ? AND at < ?", (since, until)),
        ):
            asked = change.format(counts, of_key.format(1 - counts, when))
            left -= connection.execute(asked, (number, key, *moments, left)).rowcount
    return RECOUNTED_AT_ONCE - left
