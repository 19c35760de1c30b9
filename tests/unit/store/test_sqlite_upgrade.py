"""A file of format 1 or 2 becomes one of format 3 when it is opened, whole or not at all."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from node.core.errors import CorruptState, Unavailable
from node.core.ports import Selection
from node.core.record import AnswerRecord, RecordSource, block_of
from node.store import record_rules
from node.store.record_keys import RecordKeys
from node.store.record_schema import schema
from node.store.sqlite import SqliteStore
from node.store.writer import SqliteFile
from tests.record_builders import SCOPES, START, Author
from tests.unit.store.conftest import Start

US = Author(1)

FORMAT_1 = Path(__file__).with_name("format_1.sql").read_text(encoding="utf-8")

OLDEST = US.answer("oldest", answer="x" * 900, timestamp=START, tags=("a", "b"))
DEAREST = US.answer("dearest", answer="x" * 900, timestamp=START + timedelta(seconds=9))
CHEAP = US.answer("cheap", answer="x" * 900, source=RecordSource("adapter", "coingecko"))
GONE = US.answer("gone", expires=START)


def write_format_1(path: Path, records: list[tuple[AnswerRecord, str]]) -> None:
    """A file as the program before this one left it."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.executescript(
        "PRAGMA page_size = 16384; PRAGMA journal_mode = WAL; BEGIN;"
        f"{FORMAT_1}; COMMIT; PRAGMA application_id = {int.from_bytes(b'NSw1', 'big')};"
    )
    connection.execute("PRAGMA user_version = 1")
    for record, state in records:
        cid, data = block_of(record)
        block = connection.execute(
            "INSERT INTO block (multihash, codec, data) VALUES (?, 113, ?)", (cid.multihash, data)
        ).lastrowid
        expires = None if record.expires is None else int(record.expires.timestamp())
        connection.execute(
            "INSERT INTO record (multihash, block_id, kind, state, issuer, origin, scope, timestamp, expires,"
            " confidence, query_hash) VALUES (?, ?, ?, ?, ?, 'local', ?, ?, ?, ?, ?)",
            (
                *(cid.multihash, block, record.kind, state, record.issuer, record.scope),
                *(int(record.timestamp.timestamp()), expires, record.confidence, record.query_hash),
            ),
        )
        if state == "withdrawn":
            connection.execute(
                "INSERT INTO withdrawal (multihash, reason) VALUES (?, 'invalid')", (cid.multihash,)
            )
    connection.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "blocks.sqlite"


EVERYTHING = [(OLDEST, "live"), (DEAREST, "live"), (CHEAP, "live"), (GONE, "withdrawn")]


def change(path: Path, statement: str, *values: object) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(statement, values)
    connection.close()


def version_of(path: Path) -> int:
    connection = sqlite3.connect(path)
    found: int = connection.execute("PRAGMA user_version").fetchone()[0]
    connection.close()
    return found


async def test_nothing_is_lost_and_everything_has_its_value(path: Path, start: Start) -> None:
    write_format_1(path, EVERYTHING)
    store = await start()
    assert version_of(path) == 3
    for record, state in EVERYTHING:
        stored = await store.records.get(block_of(record)[0])
        assert (stored.record, stored.state) == (record, state)
    found = await store.records.find("query_hash", OLDEST.query_hash, scopes=SCOPES, context=None)
    assert [one.record for one in found] == [OLDEST]
    for selection, record in ((Selection(tag="b"), OLDEST), (Selection(source="coingecko"), CHEAP)):
        assert [ref.cid for ref in await store.records.select(selection)] == [block_of(record)[0]]
    newest = US.answer("newest", answer="x" * 900, timestamp=START + timedelta(seconds=10))
    await store.records.add(newest)
    in_order = [block_of(record)[0] for record in (GONE, CHEAP, OLDEST, DEAREST, newest)]
    assert await store.records.reclaim() == in_order


async def test_an_upgraded_file_equals_a_new_one_in_schema(path: Path) -> None:
    def shape(path: Path) -> tuple[object, ...]:
        connection = sqlite3.connect(path)
        of = connection.execute("SELECT type, name, sql FROM sqlite_master ORDER BY name").fetchall()
        tables = [name for kind, name, _ in of if kind == "table"]
        columns = {name: connection.execute(f"PRAGMA table_info({name})").fetchall() for name in tables}
        connection.close()
        indices = [name for kind, name, _ in of if kind == "index"]
        return columns, indices, [row for row in of if row[0] == "trigger"]

    new = path.with_name("new.sqlite")
    write_format_1(path, [])
    for one in (path, new):
        await (await SqliteStore.open(one, own_issuer=US.did)).close()
    assert shape(path) == shape(new)


async def test_a_damaged_block_does_not_stop_the_upgrade(path: Path, start: Start) -> None:
    write_format_1(path, EVERYTHING)
    dearest = block_of(DEAREST)[0]
    change(path, "UPDATE block SET data = x'00' WHERE multihash = ?", dearest.multihash)
    store = await start()
    with pytest.raises(CorruptState):
        await store.records.get(dearest)
    assert (await store.records.get(block_of(OLDEST)[0])).record == OLDEST


async def test_a_failed_upgrade_leaves_the_old_file(path: Path, start: Start) -> None:
    def schema_of() -> list[tuple[str, str]]:
        connection = sqlite3.connect(path)
        found = connection.execute("SELECT name, sql FROM sqlite_master ORDER BY name").fetchall()
        connection.close()
        return found

    write_format_1(path, EVERYTHING)
    change(path, "CREATE TABLE alias (in_the_way INTEGER)")
    before = schema_of()
    with pytest.raises(Unavailable):
        await start()
    assert (schema_of(), version_of(path)) == (before, 1)
    change(path, "DROP TABLE alias")
    assert (await (await start()).records.counts())["live"] == 3


def test_the_value_of_a_record_halves_in_a_week() -> None:
    value = record_rules.Value(cost_us=1_000, uses=8.0, used_s=0, size=100)
    later = value.used(1, record_rules.HALF_LIFE_S)
    assert later.uses == pytest.approx(5.0)
    assert value.used(1, record_rules.HALF_LIFE_S).used(2, 0).uses == pytest.approx(6.0)
    assert later.worth > value.worth


async def test_keyword_keys_are_made_as_look_ups_make_them_now(path: Path, start: Start) -> None:
    write_format_1(path, EVERYTHING)
    change(path, "UPDATE record SET keyword_key = 'kw1:old' WHERE query_hash = ?", OLDEST.query_hash)
    store = await start(keyword_key=lambda query: f"kw2:{query}")
    for key, found in ((f"kw2:{OLDEST.query}", [OLDEST]), ("kw1:old", []), (f"kw2:{CHEAP.query}", [])):
        stored = await store.records.find("keyword_key", key, scopes=SCOPES, context=None)
        assert [one.record for one in stored] == found


# --- format 2, in which private records lay in the clear ------------------------------------------

WORD = "zanzibarquux"
PRIVATE = "private:local"
MINE = US.answer(
    f"What is my {WORD}?",
    answer=f"Your {WORD}. " * 300,
    scope=PRIVATE,
    tags=(WORD,),
    source=RecordSource("client", WORD),
    context="1" * 64,
    slot_key=f"definition:{WORD}",
    slots={"topic": WORD},
)
REPLACED = US.answer(f"What was my {WORD}?", answer=f"Another {WORD}. " * 50, scope=PRIVATE)
MERGED = US.answer(f"What's my {WORD}?", answer=f"Your {WORD}.", scope=PRIVATE, context="1" * 64)
OTHERS = US.answer("What is theirs?", scope="private:acme")
SHARED = US.answer("What is ours?", tags=("ours",))


async def write_format_2(path: Path) -> None:
    """A file as the program before this one left it, with a private record deleted before that program
    wiped what it deleted."""
    live, replaced_ones = [MINE, OTHERS, SHARED], [REPLACED, MERGED]
    write_format_1(path, [*((one, "live") for one in live), *((one, "withdrawn") for one in replaced_ones)])
    keys = RecordKeys(path.parent / "no-keys")
    file = await SqliteFile.open(path, replace(schema(keys, None), version=2))
    await file.close()
    assert not keys.is_here
    connection = sqlite3.connect(path, isolation_level=None)
    assert connection.execute("PRAGMA secure_delete = OFF").fetchone() == (0,)
    gone = connection.execute(
        "INSERT INTO block (multihash, codec, data) VALUES (x'01', 85, ?)", (b"x" * 900_000,)
    )
    connection.execute("UPDATE block SET data = ? WHERE id = ?", (WORD.encode() * 75_000, gone.lastrowid))
    connection.execute("DELETE FROM block WHERE id = ?", (gone.lastrowid,))
    mine, replaced, merged = (block_of(record)[0].multihash for record in (MINE, REPLACED, MERGED))
    connection.execute(
        "UPDATE record SET context = ?, slot_key = ?, keyword_key = ?, kept = ? WHERE multihash = ?",
        (MINE.context, MINE.slot_key, f"kw:{WORD}", f'{{"extra":"{WORD}"}}', mine),
    )
    connection.execute("UPDATE withdrawal SET reason = 'superseded' WHERE multihash = ?", (replaced,))
    connection.execute("UPDATE withdrawal SET reason = 'merged' WHERE multihash = ?", (merged,))
    connection.execute(
        "INSERT INTO alias SELECT multihash, ?, query_hash, ?, ?, scope, source_kind, source_id, timestamp,"
        " origin FROM record WHERE multihash = ?",
        (mine, f"kw:other {WORD}", MINE.context, merged),
    )
    connection.close()


def readable(folder: Path) -> list[str]:
    """What can be read of the private records in any file but the keys'."""
    words = [WORD, MINE.query_hash, MERGED.query_hash, "1" * 64]
    files = {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return [f"{name}: {word}" for name, data in files.items() for word in words if word.encode() in data]


async def test_private_records_are_sealed_and_nothing_of_them_stays_in_the_clear(
    path: Path, start: Start, tmp_path: Path
) -> None:
    await write_format_2(path)
    assert readable(tmp_path), "the test can see what it looks for"
    store = await start()
    assert version_of(path) == 3
    assert readable(tmp_path) == [], "while it is open"
    mine = await store.records.get(block_of(MINE)[0])
    assert (mine.record, mine.state, mine.kept) == (MINE, "live", {"extra": WORD})
    for column, key in (
        ("query_hash", MINE.query_hash),
        ("slot_key", f"definition:{WORD}"),
        ("keyword_key", f"kw:{WORD}"),
        ("query_hash", MERGED.query_hash),
        ("keyword_key", f"kw:other {WORD}"),
    ):
        assert await store.records.find(column, key, scopes=SCOPES, context=MINE.context) == [mine]
    for selection in (Selection(tag=WORD), Selection(source=WORD), Selection(query_hash=MERGED.query_hash)):
        assert [ref.cid for ref in await store.records.select(selection)] == [mine.cid]
    [alias] = await store.records.aliases(mine.cid)
    assert (alias.query, alias.query_hash, alias.source_id) == (MERGED.query, MERGED.query_hash, "test-model")
    assert not await store.blocks.has(block_of(REPLACED)[0]), "rules, 8"
    assert [ref.cid for ref in await store.records.select(Selection(tag="ours"))] == [block_of(SHARED)[0]]
    assert (await store.records.get(block_of(OTHERS)[0])).record == OTHERS
    await store.close()
    assert readable(tmp_path) == [], "and after the stop"
    assert (tmp_path / "keys" / "record_keys").stat().st_mode & 0o777 == 0o600


async def test_a_wipe_that_was_cut_short_is_done_at_the_next_start(path: Path, tmp_path: Path) -> None:
    await write_format_2(path)
    keys = RecordKeys.open(tmp_path / "keys" / "record_keys")
    file = await SqliteFile.open(path, schema(keys, None))  # upgraded, and killed before the file is wiped
    await file.close()
    keys.close()
    assert readable(tmp_path), "in what was freed once"
    await (await SqliteStore.open(path, own_issuer=US.did)).close()
    assert readable(tmp_path) == []


IN_CLEAR = (
    *("multihash", "kind", "state", "issuer", "origin", "scope", "timestamp", "expires", "confidence"),
    *("embedding_digest", "target", "verdict", "valid", "invalid", "hits", "used", "cost_us", "worth"),
    "source_kind",
)


async def test_the_columns_in_the_clear_are_the_listed_ones(tmp_path: Path) -> None:
    """Whatever else a row of a private record holds changes with the key file."""

    async def row(folder: Path, record: AnswerRecord) -> dict[str, object]:
        store = await SqliteStore.open(folder / "blocks.sqlite", own_issuer=US.did)
        await store.records.add(record, keyword_key=f"kw:{WORD}", kept={"extra": WORD})
        await store.close()
        connection = sqlite3.connect(folder / "blocks.sqlite")
        connection.row_factory = sqlite3.Row
        [found] = connection.execute("SELECT * FROM record").fetchall()
        connection.close()
        return dict(found)

    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        folder.mkdir()
    one, two = [await row(folder, MINE) for folder in folders]
    same = {column for column, value in one.items() if value == two[column]}
    assert same - {"sequence", "block_id", "kept"} == set(IN_CLEAR)
    assert one["kept"] is None
