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
    target BLOB NOT NULL, verdict TEXT NOT NULL, at INTEGER NOT NULL, data BLOB NOT NULL
);
CREATE INDEX statement_target ON statement (target, issuer, at, multihash);
CREATE INDEX statement_issuer ON statement (issuer, id);
CREATE TABLE total (statements INTEGER NOT NULL);
INSERT INTO total VALUES (0);
CREATE TRIGGER held_added AFTER INSERT ON held BEGIN
    UPDATE root SET records = records + 1, bytes = bytes + length(NEW.data) WHERE id = NEW.issuer;
END;
CREATE TRIGGER held_deleted AFTER DELETE ON held BEGIN
    UPDATE root SET records = records - 1, bytes = bytes - length(OLD.data) WHERE id = OLD.issuer;
END;
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

