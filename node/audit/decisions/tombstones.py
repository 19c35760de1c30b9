"""Which records the decision log says were tombstoned or quarantined: what a repair must not bring back.

The log names a public record in the clear, any other by a commitment whose key the tombstone's own leaf
keeps.
Reads every published entry of every epoch, here or in the archive: for a repair, not for a request.
"""

from __future__ import annotations

from collections.abc import Collection

from node.audit.decisions import epochs
from node.audit.decisions.commitments import KeyTable
from node.audit.decisions.disk import on_disk
from node.audit.decisions.moved import closed_source
from node.audit.decisions.shards import Shards
from node.audit.log.archive import Archives
from node.audit.log.reader import FolderSource, LogReader, Source
from node.audit.tlog import leaf
from node.core.errors import NotFound
from node.core.signed_note import Checkpoint

_ENTRIES_AT_ONCE = 4_096
_MARKS = (b'"kind":"tombstone"', b'"kind":"quarantine"')


async def tombstoned(shards: Shards, cids: Collection[str], archives: Archives) -> set[str]:
    """Those of ``cids`` that such an entry is about. Raises ``Rejected``, ``Unavailable``."""
    folder = shards.folder.directory
    places: list[tuple[int, Source]] = [
        (number, await on_disk(closed_source, folder, number, archives))
        for number in await on_disk(epochs.closed, folder)
    ]
    found: set[str] = set()
    for number, source in [*places, (shards.now.number, FolderSource(folder))]:
        stones = await _stones(source)
        if stones:
            found |= await _named(shards, number, stones, cids)
    return found


async def _stones(source: Source) -> list[leaf.Leaf]:
    reader = LogReader(source)
    try:
        size = Checkpoint.of_note(await reader.checkpoint()).size
    except NotFound:
        return []
    stones: list[leaf.Leaf] = []
    for first in range(0, size, _ENTRIES_AT_ONCE):
        entries = await reader.entries(first, min(_ENTRIES_AT_ONCE, size - first), size)
        stones += [leaf.read_leaf(data) for data in entries if any(mark in data for mark in _MARKS)]
    return stones


async def _named(shards: Shards, number: int, stones: list[leaf.Leaf], cids: Collection[str]) -> set[str]:
    found = {str(stone.entry.get("target")) for stone in stones} & set(cids)

    def look(keys: KeyTable) -> int:
        for stone in stones:
            committed = stone.entry.get(leaf.COMMITMENTS)
            key = keys.get(stone.seq)
            if key is not None and isinstance(committed, dict):
                wanted = committed.get("target")
                found.update(cid for cid in cids if leaf.commitment(key, cid) == wanted)
        return 0

    await shards.with_keys(look, number)
    return found
