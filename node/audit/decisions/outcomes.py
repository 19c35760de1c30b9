"""Which records the decision log says were stored, and which withdrawn for good, from a place in it on: what
the store is held against at a start; and which were tombstoned or quarantined, which a repair must not bring
back.

The log names a public record in the clear. Of any other the entry holds a commitment, and the key table its
name (``KeyTable.subject``), until the record is erased; entries that an older version wrote have no name
there, and nothing is said of them.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from node.audit.decisions import epochs
from node.audit.decisions.commitments import KeyTable
from node.audit.decisions.disk import on_disk
from node.audit.decisions.entry import subject_of
from node.audit.decisions.moved import closed_source
from node.audit.decisions.shards import Shards
from node.audit.log import journal
from node.audit.log.archive import Archives
from node.audit.log.reader import FolderSource, LogReader, Source
from node.audit.tlog import leaf
from node.core.errors import NodeError, NotFound
from node.core.files import DISK
from node.core.ipld.cid import DAG_CBOR, Cid
from node.core.merkle import SIZE_MAX
from node.core.signed_note import Checkpoint

log = logging.getLogger("neuroswarm.decisions")

LEAVES_MAX = 65_536
"""The newest entries that are looked at; it takes 0.2 s where each tenth says that something was stored."""
_AT_ONCE = 4_096
_ENDINGS = (b'"kind":"tombstone"', b'"kind":"quarantine"')
_MARKS = (b'"kind":"store"', *_ENDINGS)


@dataclass(frozen=True, slots=True)
class Place:
    """Behind the first ``size`` entries of an epoch."""

    epoch: int
    size: int


@dataclass(slots=True)
class Outcomes:
    """By CID: when what was stored expires, in seconds since 1970, or None; the kind of the entry that says
    that a record was withdrawn."""

    stored: dict[str, int | None] = field(default_factory=dict)
    withdrawn: dict[str, str] = field(default_factory=dict)


async def outcomes(shards: Shards, since: Place | None, archives: Archives) -> Outcomes:
    """``since`` None: of the newest ``LEAVES_MAX`` entries. What cannot be read is left out, with what comes
    before it, and told to the operator: whether the log is whole, others say."""
    found = Outcomes()
    now = shards.now.number
    first = since or Place(1, 0)
    left = LEAVES_MAX
    for number in range(now, first.epoch - 1, -1):
        if not left:
            break
        size = first.size if number == first.epoch else 0
        try:
            leaves = await _leaves(shards, number, size, left, archives)
            await _named(shards, number, leaves, found)
        except NodeError as exc:
            log.warning("event=entries_unread epoch=%d reason=%s", number, exc)
            break
        left -= len(leaves)
    return found


async def _leaves(shards: Shards, number: int, since: int, most: int, archives: Archives) -> list[bytes]:
    """The entries of one epoch behind ``since``, ``most`` at most: the newest. Raises ``NodeError``."""
    folder = shards.folder.directory
    if number != shards.now.number:
        source: Source = await on_disk(closed_source, folder, number, archives)
        return [one async for some in _published(source, since, most) for one in some]
    found = [one async for some in _published(FolderSource(folder), since, most) for one in some]
    tile_log = shards.now.tile_log
    size = 0 if tile_log.published is None else tile_log.published.size
    if size < tile_log.size():  # checkpoints are held back
        waiting = await on_disk(journal.loose_entries, DISK, folder / "journal", tile_log.origin)
        found += [waiting[at] for at in range(max(since, size), tile_log.size()) if at in waiting]
    return found[-most:]


async def _published(source: Source, since: int = 0, most: int = SIZE_MAX) -> AsyncIterator[list[bytes]]:
    """The entries of a log behind ``since``, ``most`` at most, page by page. Raises ``NodeError``."""
    reader = LogReader(source)
    try:
        size = Checkpoint.of_note(await reader.checkpoint()).size
    except NotFound:
        return
    for first in range(max(since, size - most), size, _AT_ONCE):
        yield await reader.entries(first, min(_AT_ONCE, size - first), size)


async def _named(shards: Shards, number: int, entries: list[bytes], found: Outcomes) -> None:
    leaves = _marked(entries, _MARKS)

    def look(keys: KeyTable) -> int:
        for one in leaves:
            _note(one.entry, _subject(one, keys), found)
        return 0

    if leaves:
        await shards.with_keys(look, number)


def _marked(entries: Sequence[bytes], marks: Sequence[bytes]) -> list[leaf.Leaf]:
    return [leaf.read_leaf(data) for data in entries if any(mark in data for mark in marks)]


def _note(entry: Mapping[str, object], cid: str, found: Outcomes) -> None:
    if cid and entry["kind"] == "store":
        expires = entry.get("expires_s")
        found.stored[cid] = expires if isinstance(expires, int) else None
    elif cid:
        found.withdrawn[cid] = str(entry["kind"])


def _subject(one: leaf.Leaf, keys: KeyTable) -> str:
    """The CID that an entry says was stored or withdrawn; empty where it says neither, or nobody can tell."""
    name = subject_of(one.entry)
    if not name:
        return ""
    stated, committed = one.entry.get(name), one.entry.get(leaf.COMMITMENTS)
    if isinstance(stated, str):
        return stated
    slot = keys.subject(one.seq)
    if slot is None or not isinstance(committed, dict):
        return ""
    cid = str(Cid(DAG_CBOR, slot[1]))
    return cid if leaf.commitment(slot[0], cid) == committed.get(name) else ""


async def tombstoned(shards: Shards, cids: Collection[str], archives: Archives) -> set[str]:
    """Those of ``cids`` that were tombstoned or quarantined, by every published entry of every epoch, here or
    in the archive: for a repair, not for a request. Raises ``Rejected``, ``Unavailable``."""
    folder = shards.folder.directory
    places: list[tuple[int, Source]] = [
        (number, await on_disk(closed_source, folder, number, archives))
        for number in await on_disk(epochs.closed, folder)
    ]
    found: set[str] = set()
    for number, source in [*places, (shards.now.number, FolderSource(folder))]:
        stones = [one async for some in _published(source) for one in _marked(some, _ENDINGS)]
        if stones:
            found |= await _named_by(shards, number, stones, cids)
    return found


async def _named_by(
    shards: Shards, number: int, stones: Sequence[leaf.Leaf], cids: Collection[str]
) -> set[str]:
    found = {str(stone.entry.get("target")) for stone in stones} & set(cids)

    def look(keys: KeyTable) -> int:
        for stone in stones:
            key, committed = keys.get(stone.seq), stone.entry.get(leaf.COMMITMENTS)
            if key is not None and isinstance(committed, dict):
                wanted = committed.get("target")
                found.update(cid for cid in cids if leaf.commitment(key, cid) == wanted)
        return 0

    await shards.with_keys(look, number)
    return found
