"""What the table of peers looks like on disk, and how an older file becomes one of today.

Format 2 (``PRAGMA user_version``), application id ``NSp1``, file ``peers.sqlite``. Times are microseconds
since 1970 UTC. ``root`` has one row for each root that anything is kept of, with running sums of what it
takes; ``tally`` has sums over all roots; triggers keep both. Records are named by multihash.

Format 1 knew neither which key had signed a statement nor ``tally``: the keys are read from the statements'
own bytes, and whoever made statements is weighed anew, for one of its keys may have been revoked meanwhile.
"""

from __future__ import annotations

import sqlite3

from node.core.errors import Rejected
from node.core.record import decode
from node.store.writer import Schema

_READ_AT_ONCE = 1_000

_TABLES = """
CREATE TABLE contact (
    number INTEGER PRIMARY KEY AUTOINCREMENT, address TEXT NOT NULL UNIQUE, source TEXT NOT NULL, root TEXT,
    added INTEGER
);
CREATE TABLE root (
    id INTEGER PRIMARY KEY AUTOINCREMENT, did TEXT NOT NULL UNIQUE,
    records INTEGER NOT NULL DEFAULT 0, bytes INTEGER NOT NULL DEFAULT 0, keys INTEGER NOT NULL DEFAULT 0,
    tombstones INTEGER NOT NULL DEFAULT 0, statements INTEGER NOT NULL DEFAULT 0,
    hour INTEGER NOT NULL DEFAULT 0, taken INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX root_statements ON root (statements);
CREATE TABLE standing (
    root INTEGER PRIMARY KEY REFERENCES root (id), level TEXT NOT NULL, trust_group TEXT,
    dropped TEXT NOT NULL, refuted INTEGER NOT NULL, valid INTEGER NOT NULL, invalid INTEGER NOT NULL
);
CREATE TABLE begun (
    number INTEGER PRIMARY KEY AUTOINCREMENT, root INTEGER NOT NULL UNIQUE REFERENCES root (id)
);
CREATE TABLE position (
    root INTEGER PRIMARY KEY REFERENCES root (id), origin TEXT NOT NULL, size INTEGER NOT NULL,
    edge BLOB NOT NULL, note BLOB NOT NULL
);
CREATE TABLE count (
    root INTEGER NOT NULL REFERENCES root (id) ON DELETE CASCADE, code TEXT NOT NULL, times INTEGER NOT NULL,
    PRIMARY KEY (root, code)
) WITHOUT ROWID;
CREATE TABLE key (
    number INTEGER PRIMARY KEY AUTOINCREMENT, root INTEGER NOT NULL REFERENCES root (id),
    multihash BLOB NOT NULL, data BLOB NOT NULL, UNIQUE (root, multihash)
);
CREATE TABLE held (
    id INTEGER PRIMARY KEY AUTOINCREMENT, multihash BLOB NOT NULL UNIQUE,
    issuer INTEGER NOT NULL REFERENCES root (id),
    tier TEXT NOT NULL, trust_ppm INTEGER NOT NULL, received INTEGER NOT NULL, until INTEGER NOT NULL,
    log_index INTEGER NOT NULL, cid BLOB NOT NULL, key TEXT NOT NULL, query_hash TEXT NOT NULL, slot_key TEXT,
    agreed TEXT NOT NULL, data BLOB NOT NULL
);
CREATE INDEX held_issuer ON held (issuer, multihash);
CREATE INDEX held_query ON held (query_hash, issuer, received, log_index);
CREATE INDEX held_slot ON held (slot_key, issuer, received, log_index) WHERE slot_key IS NOT NULL;
CREATE INDEX held_until ON held (until);
CREATE VIEW held_row AS
    SELECT held.id AS id, held.multihash AS multihash, held.issuer AS issuer, cid, data, did, key, tier,
        query_hash, slot_key, agreed, received, until, trust_ppm, log_index
    FROM held JOIN root ON root.id = held.issuer;
CREATE TABLE tombstone (
    id INTEGER PRIMARY KEY, issuer INTEGER NOT NULL REFERENCES root (id), target BLOB NOT NULL,
    cid BLOB NOT NULL, data BLOB NOT NULL, until INTEGER NOT NULL, UNIQUE (issuer, target)
);
CREATE INDEX tombstone_until ON tombstone (until);
CREATE TABLE statement (
    id INTEGER PRIMARY KEY AUTOINCREMENT, multihash BLOB NOT NULL UNIQUE,
    issuer INTEGER NOT NULL REFERENCES root (id),
    target BLOB NOT NULL, verdict TEXT NOT NULL, at INTEGER NOT NULL, data BLOB NOT NULL,
    key TEXT NOT NULL DEFAULT '', counts INTEGER NOT NULL DEFAULT 1
);
CREATE TABLE total (statements INTEGER NOT NULL);
INSERT INTO total VALUES (0);
CREATE TRIGGER key_added AFTER INSERT ON key BEGIN
    UPDATE root SET keys = keys + 1 WHERE id = NEW.root;
END;
CREATE TRIGGER tombstone_added AFTER INSERT ON tombstone BEGIN
    UPDATE root SET tombstones = tombstones + 1 WHERE id = NEW.issuer;
END;
CREATE TRIGGER tombstone_deleted AFTER DELETE ON tombstone BEGIN
    UPDATE root SET tombstones = tombstones - 1 WHERE id = OLD.issuer;
END;
CREATE TRIGGER statement_added AFTER INSERT ON statement BEGIN
    UPDATE root SET statements = statements + 1 WHERE id = NEW.issuer;
    UPDATE total SET statements = statements + 1;
END;
CREATE TRIGGER statement_deleted AFTER DELETE ON statement BEGIN
    UPDATE root SET statements = statements - 1 WHERE id = OLD.issuer;
    UPDATE total SET statements = statements - 1;
END
"""

_STATEMENT_INDEXES = (
    "CREATE INDEX statement_target ON statement (target, issuer, at, multihash) WHERE counts = 1",
    "CREATE INDEX statement_issuer ON statement (issuer, counts, id)",
    "CREATE INDEX statement_signer ON statement (issuer, key, counts, at)",
    "CREATE INDEX statement_spoken ON statement (issuer, target)",
)

_TALLY = (
    """CREATE TABLE tally (
        kind TEXT NOT NULL, name TEXT NOT NULL, count INTEGER NOT NULL, PRIMARY KEY (kind, name)
    ) WITHOUT ROWID""",
    "CREATE INDEX root_records ON root (records)",
    "CREATE INDEX root_bytes ON root (bytes)",
    "CREATE INDEX root_taken ON root (hour, taken)",
    """CREATE TRIGGER held_added AFTER INSERT ON held BEGIN
        UPDATE root SET records = records + 1, bytes = bytes + length(NEW.data) WHERE id = NEW.issuer;
        INSERT INTO tally VALUES ('tier', NEW.tier, 1) ON CONFLICT DO UPDATE SET count = count + 1;
        INSERT INTO tally VALUES ('bytes', '', length(NEW.data))
            ON CONFLICT DO UPDATE SET count = count + excluded.count;
    END""",
    """CREATE TRIGGER held_deleted AFTER DELETE ON held BEGIN
        UPDATE root SET records = records - 1, bytes = bytes - length(OLD.data) WHERE id = OLD.issuer;
        UPDATE tally SET count = count - 1 WHERE kind = 'tier' AND name = OLD.tier;
        UPDATE tally SET count = count - length(OLD.data) WHERE kind = 'bytes' AND name = '';
    END""",
    """CREATE TRIGGER held_moved AFTER UPDATE OF tier ON held WHEN NEW.tier != OLD.tier BEGIN
        UPDATE tally SET count = count - 1 WHERE kind = 'tier' AND name = OLD.tier;
        INSERT INTO tally VALUES ('tier', NEW.tier, 1) ON CONFLICT DO UPDATE SET count = count + 1;
    END""",
    """CREATE TRIGGER standing_added AFTER INSERT ON standing BEGIN
        INSERT INTO tally VALUES ('level', NEW.level, 1) ON CONFLICT DO UPDATE SET count = count + 1;
        INSERT INTO tally SELECT 'dropped', '', 1 WHERE NEW.dropped != ''
            ON CONFLICT DO UPDATE SET count = count + 1;
        INSERT INTO tally SELECT 'group', NEW.trust_group, 1
            WHERE NEW.trust_group IS NOT NULL AND NEW.level IN ('known', 'trusted')
            ON CONFLICT DO UPDATE SET count = count + 1;
    END""",
    # A standing is never deleted.
    """CREATE TRIGGER standing_changed AFTER UPDATE OF level, trust_group, dropped ON standing BEGIN
        UPDATE tally SET count = count - 1 WHERE kind = 'level' AND name = OLD.level;
        INSERT INTO tally VALUES ('level', NEW.level, 1) ON CONFLICT DO UPDATE SET count = count + 1;
        UPDATE tally SET count = count - 1 WHERE kind = 'dropped' AND OLD.dropped != '';
        INSERT INTO tally SELECT 'dropped', '', 1 WHERE NEW.dropped != ''
            ON CONFLICT DO UPDATE SET count = count + 1;
        UPDATE tally SET count = count - 1 WHERE kind = 'group' AND name = OLD.trust_group
            AND OLD.level IN ('known', 'trusted');
        INSERT INTO tally SELECT 'group', NEW.trust_group, 1
            WHERE NEW.trust_group IS NOT NULL AND NEW.level IN ('known', 'trusted')
            ON CONFLICT DO UPDATE SET count = count + 1;
        DELETE FROM tally WHERE kind = 'group' AND name = OLD.trust_group AND count = 0;
    END""",
)


def _from_1_to_2(connection: sqlite3.Connection) -> None:
    connection.execute("ALTER TABLE statement ADD COLUMN key TEXT NOT NULL DEFAULT ''")
    connection.execute("ALTER TABLE statement ADD COLUMN counts INTEGER NOT NULL DEFAULT 1")
    _fill_keys(connection)
    for name in ("INDEX statement_target", "INDEX statement_issuer"):
        connection.execute(f"DROP {name}")
    for name in ("TRIGGER held_added", "TRIGGER held_deleted"):
        connection.execute(f"DROP {name}")
    for statement in (*_STATEMENT_INDEXES, *_TALLY):
        connection.execute(statement)
    connection.execute("INSERT INTO tally SELECT 'tier', tier, count(*) FROM held GROUP BY tier")
    connection.execute("INSERT INTO tally SELECT 'bytes', '', coalesce(sum(bytes), 0) FROM root")
    connection.execute("INSERT INTO tally SELECT 'level', level, count(*) FROM standing GROUP BY level")
    connection.execute("INSERT INTO tally SELECT 'dropped', '', count(*) FROM standing WHERE dropped != ''")
    connection.execute(
        "INSERT INTO tally SELECT 'group', trust_group, count(*) FROM standing "
        "WHERE trust_group IS NOT NULL AND level IN ('known', 'trusted') GROUP BY trust_group"
    )
    connection.execute("INSERT OR IGNORE INTO begun (root) SELECT DISTINCT issuer FROM statement")


def _fill_keys(connection: sqlite3.Connection) -> None:
    """Which key signed each statement. One whose bytes the disk has damaged is no statement any more."""
    after = 0
    look = "SELECT id, data FROM statement WHERE id > ? ORDER BY id LIMIT ?"
    while page := connection.execute(look, (after, _READ_AT_ONCE)).fetchall():
        after = page[-1][0]
        for number, data in page:
            try:
                key = decode(bytes(data), check_signature=False).key
            except Rejected:
                connection.execute("DELETE FROM statement WHERE id = ?", (number,))
            else:
                connection.execute("UPDATE statement SET key = ? WHERE id = ?", (key, number))


SCHEMA = Schema(
    name="table of peers",
    application_id=int.from_bytes(b"NSp1", "big"),
    version=2,
    statements=";\n".join((_TABLES, *_STATEMENT_INDEXES, *_TALLY)),
    synchronous="FULL",
    page_bytes=4_096,  # hashes come in no order: each record touches a page of its own in four indexes
    upgrades={1: _from_1_to_2},
)
