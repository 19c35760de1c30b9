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

US = Author(1)

FORMAT_1 = """
CREATE TABLE block (
    id INTEGER PRIMARY KEY,
    multihash BLOB NOT NULL UNIQUE,
    codec INTEGER NOT NULL,
    data BLOB NOT NULL
);
CREATE TABLE record (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    multihash BLOB NOT NULL UNIQUE,
    block_id INTEGER REFERENCES block (id),
    kind TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('live', 'withdrawn', 'removed')),
    issuer TEXT NOT NULL,
    origin TEXT NOT NULL,
    scope TEXT NOT NULL,
    context TEXT,
    timestamp INTEGER NOT NULL,
    expires INTEGER,
    confidence INTEGER,
    query_hash TEXT,
    slot_key TEXT,
    keyword_key TEXT,
    embedding_digest TEXT,
    target BLOB,
    verdict TEXT,
    valid INTEGER NOT NULL DEFAULT 0,
    invalid INTEGER NOT NULL DEFAULT 0,
    kept TEXT
);
CREATE INDEX record_query_hash ON record (query_hash, context, scope, timestamp)
    WHERE kind = 'answer' AND state = 'live';
CREATE INDEX record_slot_key ON record (slot_key, context, scope, timestamp)
    WHERE kind = 'answer' AND state = 'live' AND slot_key IS NOT NULL;
CREATE INDEX record_keyword_key ON record (keyword_key, context, scope, timestamp)
    WHERE kind = 'answer' AND state = 'live' AND keyword_key IS NOT NULL;
CREATE INDEX record_expires ON record (expires)
    WHERE kind = 'answer' AND state = 'live' AND expires IS NOT NULL;
CREATE INDEX record_target ON record (target, kind) WHERE target IS NOT NULL;
CREATE INDEX record_block ON record (block_id);
CREATE TABLE withdrawal (
    change INTEGER PRIMARY KEY AUTOINCREMENT,
    multihash BLOB NOT NULL UNIQUE,
    reason TEXT NOT NULL
);
CREATE TABLE total (
    blocks INTEGER NOT NULL, bytes INTEGER NOT NULL, records INTEGER NOT NULL, live INTEGER NOT NULL
);
INSERT INTO total VALUES (0, 0, 0, 0);
CREATE TRIGGER block_added AFTER INSERT ON block BEGIN
    UPDATE total SET blocks = blocks + 1, bytes = bytes + length(NEW.data);
END;
CREATE TRIGGER block_changed AFTER UPDATE OF data ON block BEGIN
    UPDATE total SET bytes = bytes + length(NEW.data) - length(OLD.data);
END;
CREATE TRIGGER block_deleted AFTER DELETE ON block BEGIN
    UPDATE total SET blocks = blocks - 1, bytes = bytes - length(OLD.data);
END;
CREATE TRIGGER record_added AFTER INSERT ON record BEGIN
    UPDATE total SET records = records + (NEW.block_id IS NOT NULL),
        live = live + (NEW.kind = 'answer' AND NEW.state = 'live');
END;
CREATE TRIGGER record_changed AFTER UPDATE OF state, block_id ON record BEGIN
    UPDATE total SET records = records + (NEW.block_id IS NOT NULL) - (OLD.block_id IS NOT NULL),
        live = live + (NEW.kind = 'answer' AND NEW.state = 'live')
            - (OLD.kind = 'answer' AND OLD.state = 'live');
END;
CREATE TRIGGER record_deleted AFTER DELETE ON record BEGIN
    UPDATE total SET records = records - (OLD.block_id IS NOT NULL),
        live = live - (OLD.kind = 'answer' AND OLD.state = 'live');
END
"""

OLDEST = US.answer("oldest", answer="x" * 900, timestamp=START, tags=("a", "b"))
DEAREST = US.answer("dearest", answer="x" * 900, timestamp=START + timedelta(seconds=9))
CHEAP = US.answer("cheap", answer="x" * 900, source=RecordSource("adapter", "coingecko"))
GONE = US.answer("gone", expires=START)


def write_format_1(path: Path, records: list[tuple[AnswerRecord, str]]) -> None:
    """A file as the program before this one left it."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.executescript(
        f"PRAGMA page_size = 16384; PRAGMA journal_mode = WAL; BEGIN; {FORMAT_1}; COMMIT;"
    )
    connection.execute(f"PRAGMA application_id = {int.from_bytes(b'NSw1', 'big')}")
    connection.execute("PRAGMA user_version = 1")
    for record, state in records:
        cid, data = block_of(record)
        block = connection.execute(
            "INSERT INTO block (multihash, codec, data) VALUES (?, 113, ?)", (cid.multihash, data)
        ).lastrowid
        connection.execute(
            "INSERT INTO record (multihash, block_id, kind, state, issuer, origin, scope, timestamp, expires,"
            " confidence, query_hash) VALUES (?, ?, ?, ?, ?, 'local', ?, ?, ?, ?, ?)",
            (
                cid.multihash,
                block,
                record.kind,
                state,
                record.issuer,
                record.scope,
                int(record.timestamp.timestamp()),
                None if record.expires is None else int(record.expires.timestamp()),
                record.confidence,
                record.query_hash,
            ),
        )
        if state == "withdrawn":
            connection.execute(
                "INSERT INTO withdrawal (multihash, reason) VALUES (?, 'invalid')", (cid.multihash,)
            )
    connection.close()


def everything(path: Path) -> list[tuple[AnswerRecord, str]]:
    write_format_1(path, made := [(OLDEST, "live"), (DEAREST, "live"), (CHEAP, "live"), (GONE, "withdrawn")])
    return made


def version_of(path: Path) -> int:
    connection = sqlite3.connect(path)
    found: int = connection.execute("PRAGMA user_version").fetchone()[0]
    connection.close()
    return found


async def test_nothing_is_lost_and_everything_has_its_value(tmp_path: Path) -> None:
    path = tmp_path / "blocks.sqlite"
    made = everything(path)
    store = await SqliteStore.open(path, own_issuer=US.did)
    assert version_of(path) == 3
    for record, state in made:
        stored = await store.records.get(block_of(record)[0])
        assert (stored.record, stored.state) == (record, state)
    found = await store.records.find("query_hash", OLDEST.query_hash, scopes=SCOPES, context=None)
    assert [one.record for one in found] == [OLDEST]
    assert [ref.cid for ref in await store.records.select(Selection(tag="b"))] == [block_of(OLDEST)[0]]
    assert [ref.cid for ref in await store.records.select(Selection(source="coingecko"))] == [
        block_of(CHEAP)[0]
    ]
    new = await store.records.add(
        US.answer("newest", answer="x" * 900, timestamp=START + timedelta(seconds=10))
    )
    assert await store.records.reclaim() == [
        *(block_of(record)[0] for record in (GONE, CHEAP, OLDEST, DEAREST)),
        new.cid,
    ]
    await store.close()


async def test_an_upgraded_file_equals_a_new_one_in_schema(tmp_path: Path) -> None:
    def schema(path: Path) -> dict[str, list[tuple[object, ...]]]:
        connection = sqlite3.connect(path)
        tables = [
            name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        shape = {name: connection.execute(f"PRAGMA table_info({name})").fetchall() for name in tables}
        shape["indices"] = sorted(connection.execute("SELECT name FROM sqlite_master WHERE type = 'index'"))
        shape["triggers"] = sorted(
            connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
        )
        connection.close()
        return shape

    write_format_1(tmp_path / "old.sqlite", [])
    for name in ("old", "new"):
        await (await SqliteStore.open(tmp_path / f"{name}.sqlite", own_issuer=US.did)).close()
    old, new = schema(tmp_path / "old.sqlite"), schema(tmp_path / "new.sqlite")
    assert old == new


async def test_a_damaged_block_does_not_stop_the_upgrade(tmp_path: Path) -> None:
    path = tmp_path / "blocks.sqlite"
    everything(path)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("UPDATE block SET data = x'00' WHERE multihash = ?", (block_of(DEAREST)[0].multihash,))
    connection.close()
    store = await SqliteStore.open(path, own_issuer=US.did)
    with pytest.raises(CorruptState):
        await store.records.get(block_of(DEAREST)[0])
    assert (await store.records.get(block_of(OLDEST)[0])).record == OLDEST
    await store.close()


async def test_a_failed_upgrade_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "blocks.sqlite"
    everything(path)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("CREATE TABLE alias (in_the_way INTEGER)")
    before = connection.execute("SELECT name, sql FROM sqlite_master ORDER BY name").fetchall()
    with pytest.raises(Unavailable):
        await SqliteStore.open(path, own_issuer=US.did)
    assert connection.execute("SELECT name, sql FROM sqlite_master ORDER BY name").fetchall() == before
    assert version_of(path) == 1
    connection.execute("DROP TABLE alias")
    connection.close()
    store = await SqliteStore.open(path, own_issuer=US.did)
    assert (await store.records.counts())["live"] == 3
    await store.close()


def test_the_value_of_a_record_halves_in_a_week() -> None:
    value = record_rules.Value(cost_us=1_000, uses=8.0, used_s=0, size=100)
    later = value.used(1, record_rules.HALF_LIFE_S)
    assert later.uses == pytest.approx(5.0)
    assert value.used(1, record_rules.HALF_LIFE_S).used(2, 0).uses == pytest.approx(6.0)
    assert later.worth > value.worth


async def test_keyword_keys_are_made_as_look_ups_make_them_now(tmp_path: Path) -> None:
    path = tmp_path / "blocks.sqlite"
    everything(path)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("UPDATE record SET keyword_key = 'kw1:old' WHERE query_hash = ?", (OLDEST.query_hash,))
    connection.close()
    store = await SqliteStore.open(path, own_issuer=US.did, keyword_key=lambda query: f"kw2:{query}")
    for key, found in ((f"kw2:{OLDEST.query}", [OLDEST]), ("kw1:old", []), (f"kw2:{CHEAP.query}", [])):
        stored = await store.records.find("keyword_key", key, scopes=SCOPES, context=None)
        assert [one.record for one in stored] == found
    await store.close()


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
    answers = [
        (MINE, "live"),
        (REPLACED, "withdrawn"),
        (MERGED, "withdrawn"),
        (OTHERS, "live"),
        (SHARED, "live"),
    ]
    write_format_1(path, answers)
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


def readable(folder: Path, *more: str) -> list[str]:
    """What can be read of the private records in any file but the keys'."""
    words = [WORD, MINE.query_hash, MERGED.query_hash, "1" * 64, *more]
    return [
        f"{path.name}: {word}"
        for path in folder.rglob("*")
        if path.is_file()
        for word in words
        if word.encode() in path.read_bytes()
    ]


async def test_private_records_are_sealed_and_nothing_of_them_stays_in_the_clear(tmp_path: Path) -> None:
    path = tmp_path / "blocks.sqlite"
    await write_format_2(path)
    assert readable(tmp_path), "the test can see what it looks for"
    store = await SqliteStore.open(path, own_issuer=US.did)
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


async def test_a_wipe_that_was_cut_short_is_done_at_the_next_start(tmp_path: Path) -> None:
    path = tmp_path / "blocks.sqlite"
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

    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
    one, two = [await row(folder, MINE) for folder in folders]
    same = {column for column, value in one.items() if value == two[column]}
    assert same - {"sequence", "block_id", "kept"} == set(IN_CLEAR)
    assert one["kept"] is None
