"""How a private record lies in the block file: what is read back is sealed, what is compared is a name.

Promises: of a private record the file says in the clear only its multihash (of a signed block: who lacks the
node's key cannot guess it), kind, state, issuer, origin, scope, times, confidence, kind of source, embedding
model, verdicts and what they are about, and what it is worth. Block and kept text are sealed together under a
key of the record's own, what an alias needs under one of the alias's own; names for look-ups are made with a
key that is in the key file too. So without the key file nothing of it can be read or guessed, and with it
nothing of a record whose key was destroyed but for names, which go with its row. Rows of other scopes are
left as they are.
"""

from __future__ import annotations

import struct

import orjson

from node.core.errors import CorruptState
from node.store.record_keys import NONCE_BYTES, TAG_BYTES, RecordKeys

_LENGTH = struct.Struct(">I")
SEALED_EXTRA_BYTES = NONCE_BYTES + TAG_BYTES + _LENGTH.size
"""What a sealed block is longer than the block, without kept text."""

_RECORD = b"record"
_ALIAS = b"alias"


def seal_record(keys: RecordKeys, multihash: bytes, data: bytes, kept: bytes | None) -> tuple[int, bytes]:
    """(slot of its key, what is stored). Raises ``Unavailable``."""
    return keys.seal(_RECORD, multihash, _LENGTH.pack(len(data)) + data + (kept or b""))


def open_record(keys: RecordKeys, multihash: bytes, slot: int, sealed: bytes) -> tuple[bytes, bytes | None]:
    """(block, kept text). Raises ``NotFound`` (its key was destroyed), ``CorruptState``."""
    both = keys.unseal(_RECORD, multihash, slot, sealed)
    end = _LENGTH.size + _LENGTH.unpack_from(both)[0]
    return both[_LENGTH.size : end], both[end:] or None


def seal_alias(keys: RecordKeys, multihash: bytes, query_hash: str, source_id: str) -> tuple[int, bytes]:
    """(slot of its key, what is stored) of what an alias tells after its own block is gone. Raises
    ``Unavailable``."""
    return keys.seal(_ALIAS, multihash, orjson.dumps([query_hash, source_id]))


def open_alias(keys: RecordKeys, multihash: bytes, slot: int, sealed: bytes) -> tuple[str, str]:
    """(query hash, source id). Raises ``NotFound`` (its key was destroyed), ``CorruptState``."""
    try:
        query_hash, source_id = orjson.loads(keys.unseal(_ALIAS, multihash, slot, sealed))
    except (TypeError, ValueError) as exc:
        raise CorruptState("an alias holds something else than it should") from exc
    return str(query_hash), str(source_id)


def mark(keys: RecordKeys, column: str, value: str | None) -> str | None:
    """The name that stands for a column's value. Makes the key file if there is none. Raises
    ``Unavailable``."""
    if value is None:
        return None
    keys.begin()
    return keys.mark(column, value)


def mark_if_any(keys: RecordKeys, column: str, value: str | None) -> str | None:
    """``mark`` for a look-up: where there is no key file nothing was ever marked, and the value stays."""
    return value if value is None or not keys.is_here else keys.mark(column, value)
