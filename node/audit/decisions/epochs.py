"""Epochs of the decision log: a log that is closed moves aside whole, and the next one begins in its place.

A log ends when it is full (a shard) or when what it signed and what it holds do not agree any more
(recovery). Its folder then goes to ``epochs/<n>/`` and stays a log that anybody can verify; epoch 1 has the
origin ``<root id>.neuroswarm/decisions``, later ones ``…/decisions/<n>``. Where the current epoch stands is
read from its checkpoint's origin, and where there is none from the folders: one more than the last one in
``epochs/``. So closed epochs may be moved to an archive. A number is used once: where the folder was lost, or
is older than the private directory of keys and high-water marks, the next epoch's number is above all that
either names, and the log it follows is the newest that was signed.

Promises: whatever moment a crash comes at, the next opening finds the move undone or finishes it. ``begin``
writes down what it is about to do (``epochs/turn.json``, synced), moves each file by rename, syncs, and marks
the move as done; from then on the new log may be created at the top. ``end`` removes the mark, once the new
log's first leaf is durable.

Blocking; the caller holds the log's lock, but for ``finished`` and ``move_aside``. Must not know what leaves
say, nor how a log is written.
"""

from __future__ import annotations

import contextlib
import os
import re
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import orjson

from node.audit.decisions.disk import locked
from node.audit.decisions.origin import epoch_of, origin_of
from node.audit.log import journal
from node.audit.log.publisher import Folder, remove_partial
from node.audit.tlog.packed import place_of
from node.audit.tlog.tiles import Tile
from node.core.errors import CorruptState, NotFound, Rejected
from node.core.files import DISK
from node.core.merkle import leaf_hash
from node.core.signed_note import NOTE_BYTES_MAX, Checkpoint

FOLDER = "epochs"
MOVED = ("checkpoint.witnessed", "checkpoint", "vkey", "tile", "journal")
"""What a log folder consists of."""

_TURN = "turn.json"
_TURN_BYTES_MAX = 4_096
_PLACE = re.compile(r"[0-9]+(?:\.[0-9]+)?", re.ASCII)
_KEY_FILE = re.compile(
    r"(?:decisions-([1-9][0-9]{0,5})\.checkpoint|commitments-2-([1-9][0-9]{0,5}))", re.ASCII
)


@dataclass(frozen=True, slots=True)
class Turn:
    """From epoch ``number``, which moves aside to ``epochs/<place>``, to epoch ``following``. ``origin``,
    ``size``, ``root`` (hex): the newest checkpoint that was signed, of the closed log or (recovery) of one
    that is lost; ``kept_size``: what of it a checkpoint in a folder covers; ``reason``: size, bytes, age or
    recover."""

    number: int
    origin: str
    size: int
    root: str
    kept_size: int
    reason: str
    following: int
    place: str
    is_moved: bool = False


def folder_of(directory: Path, number: int) -> Path:
    """Where the log of a closed epoch lies."""
    return directory / FOLDER / str(number)


def high_water(keys: Path, number: int) -> Path:
    """Where the newest checkpoint that was signed for an epoch's log is kept."""
    return keys / f"decisions-{number}.checkpoint"


def key_table(keys: Path, number: int) -> Path:
    """Where the keys of an epoch's commitments are kept."""
    return keys / f"commitments-2-{number}"


def in_keys(keys: Path) -> list[int]:
    """The epochs that the private directory knows of, in order. Raises ``OSError``."""
    try:
        found = [_KEY_FILE.fullmatch(path.name) for path in keys.iterdir()]
    except FileNotFoundError:
        return []
    return sorted({int(one[1] or one[2]) for one in found if one is not None})


def following(directory: Path, keys: Path, number: int) -> int:
    """The number of the epoch after ``number``: above every one that was ever begun here, for a number has
    one high-water mark. Raises ``OSError``."""
    return 1 + max([number, *closed(directory), *in_keys(keys)])


def closed(directory: Path) -> list[int]:
    """The epochs that lie aside, in order. Raises ``OSError``."""
    try:
        names = [path.name for path in (directory / FOLDER).iterdir()]
    except FileNotFoundError:
        return []
    return sorted(int(name) for name in names if name.isascii() and name.isdigit() and name[0] != "0")


def current(directory: Path) -> int:
    """The number of the epoch that is written now, from 1. Raises ``OSError``, ``CorruptState``."""
    turn = pending(directory)
    if turn is not None:
        return turn.following
    top = newest(directory / "checkpoint")
    if top is not None:
        return epoch_of(top.origin)[1]
    numbers = closed(directory)
    return numbers[-1] + 1 if numbers else 1


def pending(directory: Path) -> Turn | None:
    """The turn that has begun and not ended. Raises ``OSError``, ``CorruptState``."""
    path = directory / FOLDER / _TURN
    try:
        with path.open("rb") as file:
            data = file.read(_TURN_BYTES_MAX)
    except FileNotFoundError:
        return None
    try:
        turn = Turn(**orjson.loads(data))
    except (orjson.JSONDecodeError, TypeError) as exc:
        raise CorruptState(f"{path} is damaged; restore the folder from a copy") from exc
    numbers = (turn.number, turn.following)
    is_sound = all(type(one) is int for one in numbers) and 0 < turn.number < turn.following
    if not (is_sound and isinstance(turn.origin, str) and _PLACE.fullmatch(str(turn.place))):
        raise CorruptState(f"{path} is damaged; restore the folder from a copy")
    return turn


def newest(*notes: Path) -> Checkpoint | None:
    """The largest checkpoint among these files; those that are absent or unreadable as one are passed over.
    Signatures are not checked: these are our own files. Raises ``OSError``."""
    found: list[Checkpoint] = []
    for path in notes:
        try:
            with path.open("rb") as file:
                found.append(Checkpoint.of_note(file.read(NOTE_BYTES_MAX + 1)))
        except (FileNotFoundError, Rejected):
            continue
    return max(found, key=lambda one: one.size, default=None)


def turn_of(directory: Path, base: str, keys: Path) -> Turn:
    """What closing the log at the top of ``directory`` comes to, whatever is wrong with it; ``base`` is the
    first epoch's origin. Raises ``NotFound`` when there is and was no log, ``CorruptState``, ``OSError``."""
    known = in_keys(keys)
    if not known and not _holds_log(directory):
        raise NotFound(f"there is no log in {directory} that a new epoch could follow")
    number = current(directory)
    newest_epoch, signed = number, newest(directory / "checkpoint", high_water(keys, number))
    for one in reversed(known):
        if one <= number and signed is not None and signed.size:
            break
        mark = newest(high_water(keys, one))
        if mark is not None and mark.size and mark.origin == origin_of(base, one):
            newest_epoch, signed = one, mark
            break
    folder = directory if newest_epoch == number else folder_of(directory, newest_epoch)
    kept = newest(folder / "checkpoint")
    origin = origin_of(base, newest_epoch)
    return Turn(
        number=number,
        origin=origin,
        size=0 if signed is None else signed.size,
        root="" if signed is None else signed.root.hex(),
        kept_size=0 if kept is None or kept.origin != origin else kept.size,
        reason="recover",
        following=following(directory, keys, number),
        place=free_place(directory, number),
    )


def _holds_log(directory: Path) -> bool:
    return any((directory / name).exists() for name in MOVED)


def free_place(directory: Path, number: int) -> str:
    """Where a log moves aside to. A folder that was restored over a newer one may hold an epoch twice: the
    one that lies aside already stays."""
    place, more = str(number), 0
    while _holds_log(directory / FOLDER / place):
        more += 1
        place = f"{number}.{more}"
    return place


def begin(directory: Path, turn: Turn) -> None:
    """Move the log at the top aside. Raises ``OSError``; a later ``finish`` goes on from there."""
    folder = directory / FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    DISK.sync_directory(directory)
    _write(folder, turn)
    _move(directory, turn)


def finish(directory: Path) -> Turn | None:
    """Complete a move that a crash cut short; the turn that has not ended, if there is one. Raises
    ``OSError``, ``CorruptState``."""
    turn = pending(directory)
    if turn is not None:
        DISK.sync_directory(directory / FOLDER)  # what a killed process wrote there last holds from here on
        if not turn.is_moved:
            _move(directory, turn)
    return turn


def finished(directory: Path) -> Turn | None:
    """The turn that was left half done, done now; None where there is none."""
    if pending(directory) is None:
        return None
    with locked(directory):
        return finish(directory)


def move_aside(directory: Path, turn: Turn) -> None:
    """The log in ``directory`` goes to its place among the closed ones; once, however often it is asked."""
    with locked(directory):
        begun = finish(directory)
        if begun is None or begun.number != turn.number:  # the turn before, which was not ended
            begin(directory, turn)


def end(directory: Path) -> None:
    """The new log has its first leaf. Raises ``OSError``."""
    folder = directory / FOLDER
    (folder / _TURN).unlink(missing_ok=True)
    DISK.sync_directory(folder)


def unswept(directory: Path) -> list[Path]:
    """The closed logs that a crash has kept from being swept: all of their journal is under their checkpoint.
    One that was closed because of damage may have more there, and is left alone. Raises ``OSError``."""
    return [one for one in (folder_of(directory, number) for number in closed(directory)) if _is_unswept(one)]


def _is_unswept(folder: Path) -> bool:
    disk, top = Folder(DISK, folder), newest(folder / "checkpoint")
    try:
        if top is None or not disk.files.names(disk.journal):
            return False
        found = journal.find(DISK, disk.journal, top.origin)
        return not found.bytes_cut and all(
            index < top.size and disk.hash(0, index, top.size) == leaf_hash(entry)
            for index, entry in enumerate(found.entries, found.first)
        )
    except (FileNotFoundError, CorruptState):
        return False


def sweep(folder: Path) -> None:
    """Remove from a log that was closed in order what its last checkpoint, which covers all of it, makes
    superfluous: partial tiles whose full tile is there (tlog-tiles allows no more), and the journal, which
    goes last: while it is there, the log is known to be unswept. Raises ``OSError``."""
    disk = Folder(DISK, folder)
    for parent, names, _ in os.walk(folder / "tile"):
        for name in names:
            with contextlib.suppress(Rejected):
                tile = Tile.parse(str((Path(parent) / name.removesuffix(".p")).relative_to(folder)))
                whole = (folder / tile.path, folder / place_of(tile))
                if name.endswith(".p") and any(path.is_file() for path in whole):
                    remove_partial(disk, tile.level, tile.index)
    for segment in disk.files.names(disk.journal):  # the oldest first
        disk.files.unlink(disk.journal / segment)


def _move(directory: Path, turn: Turn) -> None:
    """Until the mark is set nothing new is created at the top: what lies there is the old log's."""
    target = directory / FOLDER / turn.place
    target.mkdir(mode=0o700, exist_ok=True)
    DISK.sync_directory(target.parent)
    for name in MOVED:
        if (directory / name).exists():
            (directory / name).rename(target / name)
    DISK.sync_directory(target)
    DISK.sync_directory(directory)
    _write(target.parent, replace(turn, is_moved=True))


def _write(folder: Path, turn: Turn) -> None:
    DISK.replace(folder / _TURN, orjson.dumps(asdict(turn)))
