"""How private documents lie in ``documents.sqlite``: sealed under a key of their scope (a tenant's), which
goes with all that the tenant has; what is compared is a name.

Promises: of a private document the file says in the clear only its scope, the folder, its size, status and
profile, whether a manifest lists it, and how many chunks, windows and blocks it has. Text, headings, titles,
paths, hashes, bytes and vectors are sealed (AES-256-GCM), each for its own row; keywords are names of words,
made with the scope's key, so that they are found by the same words and tell nothing else: how often an
unknown word stands where, they do tell. Once the key is destroyed nobody can read any of that, in this file
or in a copy of it. Rows of other scopes are as they are.

The key of a scope is 64 random bytes, sealed under a slot of ``keys/document_keys`` (``RecordKeys``): 32
seal, 32 name. Paths are named with the file's own key, for what was removed by hand is known when the scope's
key is gone.
"""

from __future__ import annotations

import hmac
import logging
import re
import sqlite3
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from node.core.clock import random_bytes
from node.core.errors import CorruptState, NodeError, NotFound, Unavailable
from node.knowledge.schema import digest_of, logged_as
from node.store.record_keys import KEY_BYTES, NONCE_BYTES, RecordKeys
from node.store.record_rules import is_private

log = logging.getLogger("neuroswarm.documents")

FILE = "document_keys"
"""In the folder ``keys``."""
_ABOUT = b"documents"
_HIDDEN: Mapping[str, Any] = {
    **dict.fromkeys(("stamp", "media_type", "modified", "own_title", "note", "title", "last_modified"), ""),
    **dict.fromkeys(("path", "sha256", "language", "description", "nonce"), ""),
    **dict.fromkeys(("manifest", "supersedes", "conflict_with", "tags"), "[]"),
    **dict.fromkeys(("cid", "effective")),
    "fields": "{}",
}
"""Columns of ``document`` that are sealed, and what stands in their place; names for two of them."""
_BOUND = ("scope", "folder", "size", "status", "in_manifest", "profile")
"""Columns that are sealed too, so that nobody changes them where they stand."""
_TOKEN = re.compile(r"[^\W_]+")
_WORD_CHARS = 16


@dataclass(frozen=True, slots=True)
class ScopeKey:
    """The key of one scope. Another one that the scope has later is another object."""

    scope: str
    slot: int
    _box: AESGCM = field(repr=False)
    _naming: bytes = field(repr=False)

    def seal(self, about: bytes, data: bytes) -> bytes:
        """``about``: which row it is for."""
        nonce = random_bytes(NONCE_BYTES)
        return nonce + self._box.encrypt(nonce, data, about)

    def open(self, about: bytes, sealed: bytes) -> bytes:
        """Raises ``CorruptState``."""
        try:
            return self._box.decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], about)
        except (InvalidTag, ValueError) as exc:
            raise CorruptState("a sealed row of a document is damaged") from exc

    def name(self, what: bytes, data: bytes) -> bytes:
        """32 bytes that stand for ``data``."""
        return hmac.digest(self._naming, what + b"\0" + data, "sha256")

    def words(self, text: str) -> list[str]:
        """The names of the words of a text, in its order."""
        bare = "".join(
            one for one in unicodedata.normalize("NFKD", text.lower()) if not unicodedata.combining(one)
        )
        return [self.name(b"word", word.encode()).hex()[:_WORD_CHARS] for word in _TOKEN.findall(bare)]


class Sealer:
    """The keys of one store. What changes keys runs in the writer thread of its file."""

    def __init__(self, path: Path) -> None:
        self._keys = RecordKeys.open(path)
        self._held: dict[str, ScopeKey] = {}
        self.lost: frozenset[str] = frozenset()
        """Scopes whose key cannot be had."""

    @property
    def path_of_keys(self) -> Path:
        return self._keys.path

    def load(self, connection: sqlite3.Connection) -> list[str]:
        """Read the keys; scopes whose key was destroyed or given up, and what is left of them has to go."""
        rows = connection.execute("SELECT * FROM scope_key").fetchall()
        destroyed = self._keys.claim(row["slot"] for row in rows)
        gone, lost = [], []
        for row in rows:
            scope = row["scope"]
            try:
                if row["slot"] in destroyed:
                    raise NotFound("its key was destroyed")
                self._held[scope] = self._opened(scope, row["slot"], row["sealed"])
            except NotFound:
                gone.append(scope)
            except CorruptState as exc:
                is_empty = "SELECT 1 FROM document WHERE scope = ?"
                if self._keys.was_empty or connection.execute(is_empty, (scope,)).fetchone() is None:
                    gone.append(scope)
                else:
                    lost.append(scope)
                    log.warning("event=document_key_lost scope=%r reason=%s", scope, exc)
        self.lost = frozenset(lost)
        return gone

    def _opened(self, scope: str, slot: int, sealed: bytes) -> ScopeKey:
        both = self._keys.unseal(_ABOUT, scope.encode(), slot, sealed)
        return ScopeKey(scope, slot, AESGCM(both[:KEY_BYTES]), both[KEY_BYTES:])

    def begin(self, connection: sqlite3.Connection, scope: str) -> ScopeKey:
        """The key of a scope, made where it has none; to be ``hold`` once it is committed. Raises
        ``Unavailable``."""
        row = connection.execute("SELECT * FROM scope_key WHERE scope = ?", (scope,)).fetchone()
        if row is not None:
            try:
                return self._opened(scope, row["slot"], row["sealed"])
            except NodeError as exc:
                raise Unavailable(f"the key of the documents of {scope} cannot be had: {exc}") from exc
        slot, sealed = self._keys.seal(_ABOUT, scope.encode(), random_bytes(2 * KEY_BYTES))
        connection.execute("INSERT INTO scope_key VALUES (?, ?, ?)", (scope, slot, sealed))
        return self._opened(scope, slot, sealed)

    def hold(self, key: ScopeKey) -> ScopeKey:
        """It is in the file."""
        return self._held.setdefault(key.scope, key)

    def key(self, scope: str) -> ScopeKey | None:
        """None for what is not private. Raises ``NotFound``."""
        if not is_private(scope):
            return None
        found = self._held.get(scope)
        if found is None:
            raise NotFound(f"the key of the documents of {scope} is not here")
        return found

    def keys(self, scopes: Iterable[str]) -> list[ScopeKey]:
        """Those of these scopes that are here."""
        return [key for scope in scopes if (key := self._held.get(scope)) is not None]

    def holds(self, key: ScopeKey) -> bool:
        """Whether it was not destroyed since."""
        return self._held.get(key.scope) is key

    def destroy(self, connection: sqlite3.Connection, scope: str) -> None:
        """Nobody can read what the scope has, from here on. Raises ``Unavailable``."""
        row = connection.execute("SELECT slot FROM scope_key WHERE scope = ?", (scope,)).fetchone()
        self._held.pop(scope, None)
        if row is not None:
            self._keys.destroy([row[0]])

    def forget(self, connection: sqlite3.Connection, scope: str) -> None:
        """Nothing is left of a scope whose key was destroyed."""
        for row in connection.execute("DELETE FROM scope_key WHERE scope = ? RETURNING slot", (scope,)):
            self._keys.free([row[0]])
        self.lost -= {scope}

    def close(self) -> None:
        """Idempotent."""
        self._keys.close()

    # --- names ------------------------------------------------------------------------------------

    def path(self, folder: str, path: str) -> str:
        """What stands for a path; the path itself where nothing was ever sealed."""
        return self._keys.mark("document", f"{folder}\0{path}") if self._keys.is_here else path

    def named(self, row: dict[str, Any]) -> dict[str, Any]:
        """A row as it is stored with names for path and hash, also one that is not sealed. Raises
        ``Unavailable``."""
        if row["sealed"] is not None:
            return row
        self._keys.begin()
        path, sha256 = self.path(row["folder"], row["path"]), self.sha256(row["sha256"])
        return {**row, "path": path, "sha256": sha256}

    def sha256(self, sha256: str) -> str:
        """What stands for the hash of a file."""
        return self._keys.mark("document sha256", sha256) if self._keys.is_here else sha256

    # --- rows of ``document`` -----------------------------------------------------------------------

    def hidden(self, key: ScopeKey, row: Mapping[str, Any]) -> dict[str, Any]:
        """A row as it is stored."""
        kept = {name: row[name] for name in _HIDDEN if name in row}
        return {
            **row,
            **{name: _HIDDEN[name] for name in kept},
            "path": self.path(row["folder"], row["path"]),
            "sha256": self.sha256(row["sha256"]) if row["sha256"] else "",
            "sealed": key.seal(
                row["uid"].encode(), orjson.dumps(kept | {name: row[name] for name in _BOUND})
            ),
            "digest": None,
        }

    def shown(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """A row as it was given, with ``known_as`` (``schema.logged_as``). Raises ``NotFound``,
        ``CorruptState``."""
        found = dict(row)
        if found["sealed"] is None:
            if found["digest"] != digest_of(found):
                raise CorruptState(f"what is known of the document {found['id']} is damaged")
            return found | {"known_as": logged_as(found)}
        key = self.key(found["scope"])
        assert key is not None
        found |= orjson.loads(key.open(found["uid"].encode(), found["sealed"]))
        return found | {"known_as": logged_as(found)}
