"""Finds whole blocks in the WALs of a block store that were kept because a frame of them was damaged.

A row on a page that SQLite passed over is taken at nobody's word: a block is one that hashes to its name, or
opens with its key and then does. Rows are not looked at: what the records meant here, the store says.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from node.core.errors import CorruptState, NotFound
from node.core.files import translated
from node.core.ipld.cid import Cid
from node.store.record_keys import RecordKeys
from node.store.record_reads import open_block
from node.store.salvage.files import WAL_BYTES_MAX
from node.store.salvage.pages import TABLE_LEAF, Image, Value, of_wal, page_bytes_of_wal
from node.store.salvage.tables import tables_of
from node.store.schema import Schema

WALS_MAX = 16
_BLOCK = "block"
_FUNCTION_BYTES = 2
"""Of a multihash, before its digest."""


@dataclass(frozen=True, slots=True)
class WalBlocks:
    """``Gets`` over them."""

    _held: dict[bytes, bytes] = field(default_factory=dict)

    @classmethod
    def open(cls, wals: Sequence[Path], schema: Schema, keys: RecordKeys) -> WalBlocks:
        """The last ``WALS_MAX`` of these files. Blocking. Raises ``Unavailable``."""
        found = cls()
        for path in wals[-WALS_MAX:]:
            with translated(f"{path} cannot be read"), path.open("rb") as file:
                wal = file.read(WAL_BYTES_MAX)
            found._take(wal, schema, keys)
        return found

    def _take(self, data: bytes, schema: Schema, keys: RecordKeys) -> None:
        page_bytes = page_bytes_of_wal(data, schema.page_bytes)
        wal = of_wal(data, page_bytes)
        table = tables_of(schema)[_BLOCK]
        at = {column.name: number for number, column in enumerate(table.columns)}
        image = Image(b"", page_bytes, {**wal.committed, **wal.left})
        for number in wal.left:
            if image.kind(number) != TABLE_LEAF:
                continue
            rows = [None if cell is None else table.row(cell) for cell in image.cells(number)]
            for row in rows:
                if row is not None:
                    self._keep(keys, row[at["multihash"]], row[at["key_id"]], row[at["data"]])

    def _keep(self, keys: RecordKeys, multihash: Value, key_id: Value, data: Value) -> None:
        if not isinstance(multihash, bytes) or not isinstance(data, bytes) or isinstance(key_id, str | float):
            return
        try:
            opened = open_block(keys, multihash, None if key_id is None else int(key_id), data)
        except (CorruptState, NotFound, ValueError):
            return
        if hashlib.sha256(opened).digest() == multihash[_FUNCTION_BYTES:]:
            self._held[multihash] = opened

    def __len__(self) -> int:
        return len(self._held)

    async def get(self, cid: Cid) -> bytes:
        """Raises ``NotFound``."""
        data = self._held.get(cid.multihash)
        if data is None:
            raise NotFound(f"no kept WAL has block {cid}")
        return data
