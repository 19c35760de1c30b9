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
