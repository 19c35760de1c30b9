"""Opens a log's folder for writing: what is published, what the journal adds, and whether anything may be
signed.

Steps: 1 lock, and make durable what a killed process may have left unsynced; 2 the checkpoint must be ours; 3
the right edge of the tree must hash to its root; 4 the journal must agree with what is published and go on
from there; 5 so must the high-water mark, the newest checkpoint that was ever signed. Only then is anything
changed: 6 the journal's torn end is cut, leftovers are swept away, and the folder is brought up to date.

A folder that is damaged is ``CorruptState``. One that is whole but older than the high-water mark, or beside
it, is ``suspended``: an index or a size would be given twice. Reads the edge of the tree only, whatever the
log's size.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from node.audit.log import journal as journals
from node.audit.log.journal import Found, Journal
from node.audit.log.publisher import Folder, Published, Publisher, Standing, contradiction, sweep
from node.audit.tlog.right_edge import Growth
from node.core.clock import Clock
from node.core.errors import CorruptState, Rejected, Unavailable
from node.core.files import Files
from node.core.merkle import leaf_hash
from node.core.signed_note import Checkpoint, Note, Opened, Signer, Verifier, open_checkpoint

_PRIVATE_MODE = 0o700


@dataclass(frozen=True, slots=True)
class Repair:
    """What opening found after a crash."""

    bytes_cut: int
    entries_replayed: int


@dataclass(frozen=True, slots=True)
class OpenFolder:
    """A log ready to be written. ``waiting``: entries that are durable in the journal and not published."""

    lock: int
    journal: Journal
    publisher: Publisher
    waiting: list[bytes]
    repair: Repair | None
    suspended: str


def open_folder(
    files: Files, directory: Path, origin: str, signers: Sequence[Signer], clock: Clock, high_water: Path
) -> OpenFolder:
    """Steps 1 to 6 but for bringing it up to date.

    Raises ``CorruptState``, ``Unavailable`` (in use), ``OSError``.
    """
    folder = Folder(files, directory)
    files.make_directories(directory)
    with contextlib.ExitStack() as undo:
        try:
            lock = files.lock(directory / ".lock")
        except BlockingIOError as exc:
            raise Unavailable(f"the log in {directory} is being written by another process") from exc
        undo.callback(files.close, lock)
        files.make_directory(folder.staging)
        files.make_directory(folder.journal)
        files.sync_directory(directory)
        files.make_directories(high_water.parent, _PRIVATE_MODE)
        files.sync_directory(high_water.parent)
        opened = _read_note(folder, folder.checkpoint, origin, [one.verifier for one in signers])
        growth = _growth(folder, opened)
        found = journals.find(files, folder.journal, origin)
        _check_journal(folder, found, growth.size, is_published=opened is not None)
        waiting = found.entries[max(0, growth.size - found.first) :]
        mark = _read_note(folder, high_water, origin, [one.verifier for one in signers])
        suspended = _compare(folder, growth, waiting, mark.checkpoint if mark else None, high_water)
        size = growth.size + len(waiting)
        if suspended:
            journal = Journal(files, folder.journal, origin, size)
        else:
            journal = Journal.open(files, folder.journal, origin, found, size)
            sweep(folder, growth.size)
        repair = Repair(found.bytes_cut, len(waiting)) if found.bytes_cut or waiting else None
        known = [one.checkpoint for one in (opened, mark) if one]
        newest = max(known, key=lambda one: one.size, default=None)
        standing = Standing(growth, _published(opened, clock), opened, newest)
        publisher = Publisher(folder, origin, signers, clock, high_water=high_water, standing=standing)
        undo.pop_all()
    return OpenFolder(lock, journal, publisher, waiting, repair, suspended)


def _read_note(folder: Folder, path: Path, origin: str, verifiers: Sequence[Verifier]) -> Opened | None:
    """A checkpoint that this log has signed. Raises ``CorruptState``."""
    data = folder.read(path)
    if data is None:
        return None
    try:
        opened = open_checkpoint(data, verifiers)
    except Rejected as exc:
        raise CorruptState(f"{path} is no checkpoint of this log ({exc}): restore it from a copy") from exc
    if opened.checkpoint.origin != origin or opened.checkpoint.text() != opened.note.text:
        raise CorruptState(f"{path} is not a checkpoint of {origin}: restore it from a copy, or name its log")
    return opened


def _growth(folder: Folder, opened: Opened | None) -> Growth:
    """Step 3. Raises ``CorruptState``."""
    if opened is None:
        return Growth()
    checkpoint = opened.checkpoint
    try:
        growth = Growth.at(checkpoint.size, lambda tile: folder.tile(tile)[1])
    except Rejected as exc:
        raise CorruptState(_damage(folder, str(exc))) from exc
    if growth.root() != checkpoint.root:
        raise CorruptState(
            _damage(folder, f"its tiles are not the tree of its checkpoint ({checkpoint.size})")
        )
    return growth


def _check_journal(folder: Folder, found: Found, size: int, *, is_published: bool) -> None:
    """Step 4. Raises ``CorruptState``."""
    if found.first > size:
        raise CorruptState(
            _damage(folder, f"entries {size} to {found.first - 1} are neither published nor in its journal")
        )
    for index in range(found.first, min(size, found.end)):
        if folder.hash(0, index, size) != leaf_hash(found.entries[index - found.first]):
            raise CorruptState(_damage(folder, f"its journal has another entry {index} than its tiles"))
    if not is_published and not found.end and _has_tiles(folder):
        raise CorruptState(_damage(folder, "it has tiles but no checkpoint"))


def _has_tiles(folder: Folder) -> bool:
    try:
        return bool(folder.files.names(folder.directory / "tile"))
    except FileNotFoundError:
        return False


def _compare(
    folder: Folder, growth: Growth, waiting: Sequence[bytes], mark: Checkpoint | None, path: Path
) -> str:
    """Step 5: why nothing may be signed, or "". A mark that is older or lost changes nothing."""
    if mark is None:
        return ""
    held = f"a checkpoint of {mark.size} entries was signed ({path})"
    shown = f"the signed checkpoint in {path} ({mark.size} entries) is"
    return contradiction(folder, growth, growth.size, waiting, mark, held, shown)


def _published(opened: Opened | None, clock: Clock) -> Published | None:
    if opened is None:
        return None
    own = [one for one in opened.note.signatures if any(key.made(one) for key in opened.signed_by)]
    note: Note = replace(opened.note, signatures=tuple(own))
    return Published(opened.checkpoint.size, opened.checkpoint.root, note.encode(), clock.now())


def _damage(folder: Folder, what: str) -> str:
    return (
        f"the log in {folder.directory} is damaged: {what}. Nothing was changed. Restore the folder from a "
        "copy, or run: neuroswarm log recover --new-epoch"
    )
