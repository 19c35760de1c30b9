"""Which records the decision log says were stored, and which withdrawn for good, from a place in it on: what
the store is held against at a start.

The log names a public record in the clear. Of any other the entry holds a commitment, and the key table its
name (``KeyTable.subject``), until the record is erased; entries that an older version wrote have no name
there, and nothing is said of them.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field

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
from node.core.signed_note import Checkpoint

log = logging.getLogger("neuroswarm.decisions")

LEAVES_MAX = 65_536
"""The newest entries that are looked at; it takes 0.2 s where each tenth says that something was stored."""
_AT_ONCE = 4_096
_MARKS = (b'"kind":"store"', b'"kind":"tombstone"', b'"kind":"quarantine"')


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
        return await _published(LogReader(source), since, most)
    found = await _published(LogReader(FolderSource(folder)), since, most)
    tile_log = shards.now.tile_log
    size = 0 if tile_log.published is None else tile_log.published.size
    if size < tile_log.size():  # checkpoints are held back
        waiting = await on_disk(journal.loose_entries, DISK, folder / "journal", tile_log.origin)
        found += [waiting[at] for at in range(max(since, size), tile_log.size()) if at in waiting]
    return found[-most:]


async def _published(reader: LogReader, since: int, most: int) -> list[bytes]:
    try:
        size = Checkpoint.of_note(await reader.checkpoint()).size
    except NotFound:
        return []
    found: list[bytes] = []
    for first in range(max(since, size - most), size, _AT_ONCE):
        found += await reader.entries(first, min(_AT_ONCE, size - first), size)
    return found


async def _named(shards: Shards, number: int, entries: list[bytes], found: Outcomes) -> None:
    leaves = [leaf.read_leaf(data) for data in entries if any(mark in data for mark in _MARKS)]

    def look(keys: KeyTable) -> int:
        for one in leaves:
            _note(one.entry, _subject(one, keys), found)
        return 0

    if leaves:
        await shards.with_keys(look, number)


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
