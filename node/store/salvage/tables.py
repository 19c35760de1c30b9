"""Which rows of which table are whole in a damaged file, by its schema.

A leaf page belongs to the table whose tree leads to it. Where the way there is damaged, it belongs to the one
table of the schema that every row on it fits; a page that fits several is left out. Rows of free pages do not
come back: what is deleted is overwritten (``secure_delete``).
"""

from __future__ import annotations

import mmap
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import TypeAlias

from node.core.files import translated
from node.store.salvage.pages import (
    INDEX_INTERIOR,
    INDEX_LEAF,
    TABLE_INTERIOR,
    TABLE_LEAF,
    Cell,
    Image,
    Value,
    of_wal,
    page_bytes_of,
)
from node.store.schema import Schema

_AFFINITIES: dict[str, tuple[type, ...]] = {
    "INTEGER": (int,),
    "TEXT": (str,),
    "BLOB": (bytes,),
    "REAL": (int, float),
}
_SEQUENCES = "sqlite_sequence"


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    type: str
    must_be: bool
    default: Value


@dataclass(frozen=True, slots=True)
class Table:
    """``alias``: which column the row number stands for, if any."""

    name: str
    columns: tuple[Column, ...]
    alias: int | None
    is_index: bool

    def row(self, cell: Cell) -> tuple[Value, ...] | None:
        """The row that a cell holds; None where it is no row of this table."""
        values = list(cell.values)
        if (cell.rowid is None) != self.is_index or len(values) > len(self.columns):
            return None
        values += [column.default for column in self.columns[len(values) :]]
        if self.alias is not None:
            if values[self.alias] is not None:
                return None
            values[self.alias] = cell.rowid
        for column, value in zip(self.columns, values, strict=True):
            if value is None:
                if column.must_be:
                    return None
            elif not isinstance(value, _AFFINITIES[column.type]):
                return None
        return tuple(values)


Take: TypeAlias = Callable[[str, tuple[Value, ...]], bool]


def take_none(_: str, __: tuple[Value, ...]) -> bool:
    return False


@dataclass(slots=True)
class Salvage:
    """``rows`` by table, in the order of their keys; ``keys`` what the indexes of a table hold; ``torn`` the
    tables of which something could not be read, ``torn_keys`` those of whose indexes that holds; ``shapes``
    what the keys of indexes look like."""

    tables: dict[str, Table]
    rows: dict[str, list[tuple[Value, ...]]] = field(default_factory=dict)
    keys: dict[str, list[tuple[Value, ...]]] = field(default_factory=dict)
    torn: set[str] = field(default_factory=set)
    torn_keys: set[str] = field(default_factory=set)
    shapes: list[Table] = field(default_factory=list)

    @property
    def count(self) -> int:
        return sum(len(rows) for name, rows in self.rows.items() if name != _SEQUENCES)


def salvage(path: Path, schema: Schema, take: Take = take_none) -> Salvage:
    """What is whole in a file, its WAL included. Rows that ``take`` says it has taken are not held in memory.
    Blocking. Raises ``Unavailable``."""
    with _opened(path) as data:
        page_bytes = page_bytes_of(data, schema.page_bytes)
        wal = path.with_name(f"{path.name}-wal")
        newer: Mapping[int, bytes] = {}
        if wal.exists():
            with translated(f"{wal} cannot be read"):
                newer = of_wal(wal.read_bytes(), page_bytes).committed
        return read(Image(data, page_bytes, newer), schema, take)


@contextmanager
def _opened(path: Path) -> Iterator[bytes | memoryview]:
    with translated(f"{path} cannot be read"), path.open("rb") as file:
        if not path.stat().st_size:
            yield b""
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped, memoryview(mapped) as view:
            yield view


def tables_of(schema: Schema) -> dict[str, Table]:
    """The tables of a schema by name."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(schema.statements)
        found = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall()
        return {name: _table(connection, name, sql) for name, sql in found}


def shapes_of(schema: Schema) -> list[Table]:
    """The keys of the schema's indexes, as if they were tables: a page of them is no page of a table."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(schema.statements)
        found: list[Table] = []
        for table in tables_of(schema).values():
            for _, name, *_ in connection.execute(f"PRAGMA index_list({table.name})").fetchall():
                at = [row[1] for row in connection.execute(f"PRAGMA index_info({name})").fetchall()]
                columns = [Column("", table.columns[one].type, False, None) for one in at if one >= 0]
                found.append(Table(name, (*columns, Column("", "INTEGER", True, None)), None, True))
        return found


def _table(connection: sqlite3.Connection, name: str, sql: str) -> Table:
    columns, alias = [], None
    rows = connection.execute(f"PRAGMA table_info({name})").fetchall()
    keys = sum(1 for row in rows if row[5])
    is_index = "WITHOUT ROWID" in sql
    for number, (_, column, kind, must_be, default, key) in enumerate(rows):
        value = None if default is None else connection.execute(f"SELECT {default}").fetchone()[0]
        columns.append(Column(column, kind or "TEXT", bool(must_be) or (is_index and bool(key)), value))
        if key and keys == 1 and kind == "INTEGER" and not is_index:
            alias = number
    if name == _SEQUENCES:
        columns = [Column("name", "TEXT", True, None), Column("seq", "INTEGER", True, None)]
    return Table(name, tuple(columns), alias, is_index)


def read(image: Image, schema: Schema, take: Take = take_none) -> Salvage:
    """See ``salvage``."""
    tables = tables_of(schema)
    done = Salvage(
        tables, {name: [] for name in tables}, {name: [] for name in tables}, shapes=shapes_of(schema)
    )
    owner, is_index_of = _owners(image, done)
    seen: dict[str, set[object]] = {name: set() for name in tables}
    orphans: list[int] = []
    for number in range(2, image.count + 1):
        kind = image.kind(number)
        if number in is_index_of:
            _take_keys(image, number, is_index_of[number], done)
        elif number in owner:
            _take_rows(image, number, tables[owner[number]], done, seen, take)
        elif kind in (TABLE_LEAF, INDEX_LEAF, INDEX_INTERIOR):
            orphans.append(number)
    for number in orphans:
        cells = [cell for cell in image.cells(number) if cell is not None]
        fitting = [table for table in tables.values() if cells and all(map(table.row, cells))]
        if len(fitting) == 1 and not any(all(map(keys.row, cells)) for keys in done.shapes):
            _take_rows(image, number, fitting[0], done, seen, take)
    for name, rows in done.rows.items():
        if (at := tables[name].alias) is not None:
            rows.sort(key=itemgetter(at))
    return done


def _take_rows(
    image: Image, number: int, table: Table, done: Salvage, seen: dict[str, set[object]], take: Take
) -> None:
    if image.kind(number) not in (TABLE_LEAF, INDEX_LEAF, INDEX_INTERIOR):
        done.torn.add(table.name)
        return
    for cell in image.cells(number):
        row = None if cell is None else table.row(cell)
        if cell is None or row is None:
            done.torn.add(table.name)
            continue
        key = cell.values if cell.rowid is None else cell.rowid
        if key not in seen[table.name]:
            seen[table.name].add(key)
            if not take(table.name, row):
                done.rows[table.name].append(row)


def _take_keys(image: Image, number: int, name: str, done: Salvage) -> None:
    if image.kind(number) not in (INDEX_LEAF, INDEX_INTERIOR):
        done.torn_keys.add(name)
        return
    for cell in image.cells(number):
        if cell is None:
            done.torn_keys.add(name)
        else:
            done.keys[name].append(cell.values)


def _owners(image: Image, done: Salvage) -> tuple[dict[int, str], dict[int, str]]:
    """Which table each page holds rows of, and of which it holds an index, as far as the trees lead."""
    rows_of: dict[int, str] = {}
    keys_of: dict[int, str] = {}
    done.torn |= done.tables.keys()
    done.torn_keys |= done.tables.keys()
    for cell in [cell for page in _below(image, 1) for cell in image.cells(page)]:
        if cell is None or len(cell.values) != 5:
            continue
        kind, _, table, root, _ = cell.values
        if not isinstance(root, int) or table not in done.tables or kind not in ("table", "index"):
            continue
        assert isinstance(table, str)
        owned, torn = (rows_of, done.torn) if kind == "table" else (keys_of, done.torn_keys)
        torn.discard(table)
        for page in _below(image, root):
            owned.setdefault(page, table)
    return rows_of, keys_of


def _below(image: Image, root: int) -> list[int]:
    """The pages with rows or keys in a tree."""
    found, waiting, seen = list[int](), [root], set[int]()
    while waiting:
        number = waiting.pop()
        if number in seen:
            continue
        seen.add(number)
        kind = image.kind(number)
        if kind in (TABLE_INTERIOR, INDEX_INTERIOR):
            waiting += image.children(number)
        if kind != TABLE_INTERIOR:
            found.append(number)
    return found
