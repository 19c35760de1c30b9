"""Epochs of the decision log: a log that is closed moves aside whole, and the next one begins in its place.

A log ends when it is full (a shard) or when what it signed and what it holds do not agree any more
(recovery). Its folder then goes to ``epochs/<n>/`` and stays a log that anybody can verify; epoch 1 has the
origin ``<root id>.neuroswarm/decisions``, later ones ``…/decisions/<n>``. Where the current epoch stands is
read from its checkpoint's origin, and where there is none from the folders: one more than the last one in
``epochs/``. So closed epochs may be moved to an archive.

Promises: whatever moment a crash comes at, the next opening finds the move undone or finishes it. ``begin``
writes down what it is about to do (``epochs/turn.json``, synced), moves each file by rename, syncs, and marks
the move as done; from then on the new log may be created at the top. ``end`` removes the mark, once the new
log's first leaf is durable.

Blocking; the caller holds the log's lock. Must not know what leaves say, nor how a log is written.
"""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import orjson

from node.errors import CorruptState, NotFound, Rejected
from node.governance.commitments import sync_directory
from node.tlog.notes import NOTE_BYTES_MAX, Checkpoint, Note

FOLDER = "epochs"
MOVED = ("checkpoint.witnessed", "checkpoint", "vkey", "tile", "journal")
"""What a log folder consists of."""

_TURN = "turn.json"
_TURN_BYTES_MAX = 4_096


@dataclass(frozen=True, slots=True)
class Turn:
    """From epoch ``number`` to the next. ``origin``, ``size``, ``root`` (hex): the newest checkpoint of the
    closed log that was signed; ``kept_size``: what of it a checkpoint in its folder covers; ``reason``: size
    or recover."""

    number: int
    origin: str
    size: int
    root: str
    kept_size: int
    reason: str
    is_moved: bool = False


def origin_of(base: str, number: int) -> str:
    """The origin of an epoch's log; ``base`` is that of the first."""
    return base if number == 1 else f"{base}/{number}"


def folder_of(directory: Path, number: int) -> Path:
    """Where the log of a closed epoch lies."""
    return directory / FOLDER / str(number)


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
        return turn.number + 1
    top = newest(directory / "checkpoint")
    if top is not None:
        last = top.origin.rpartition("/")[2]
        return int(last) if last.isascii() and last.isdigit() else 1
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
    if type(turn.number) is not int or turn.number < 1 or not isinstance(turn.origin, str):
        raise CorruptState(f"{path} is damaged; restore the folder from a copy")
    return turn


def newest(*notes: Path) -> Checkpoint | None:
    """The largest checkpoint among these files; those that are absent or unreadable as one are passed over.
    Signatures are not checked: these are our own files. Raises ``OSError``."""
    found: list[Checkpoint] = []
    for path in notes:
        try:
            with path.open("rb") as file:
                found.append(Checkpoint.parse(Note.parse(file.read(NOTE_BYTES_MAX + 1)).text))
        except (FileNotFoundError, Rejected):
            continue
    return max(found, key=lambda one: one.size, default=None)


def turn_of(directory: Path, origin: str, high_water: Path, reason: str) -> Turn:
    """What closing the log at the top of ``directory`` comes to. Raises ``NotFound`` when there is no log,
    ``OSError``."""
    if not any((directory / name).exists() for name in MOVED):
        raise NotFound(f"there is no log in {directory} that a new epoch could follow")
    kept = newest(directory / "checkpoint")
    signed = newest(directory / "checkpoint", high_water)
    return Turn(
        number=current(directory),
        origin=origin,
        size=0 if signed is None else signed.size,
        root="" if signed is None else signed.root.hex(),
        kept_size=0 if kept is None else kept.size,
        reason=reason,
    )


def begin(directory: Path, turn: Turn) -> None:
    """Move the log at the top aside. Raises ``OSError``; a later ``finish`` goes on from there."""
    folder = directory / FOLDER
    folder.mkdir(exist_ok=True)
    sync_directory(directory)
    _write(folder, turn)
    _move(directory, turn)


def finish(directory: Path) -> Turn | None:
    """Complete a move that a crash cut short; the turn that has not ended, if there is one. Raises
    ``OSError``, ``CorruptState``."""
    turn = pending(directory)
    if turn is not None and not turn.is_moved:
        _move(directory, turn)
    return turn


def end(directory: Path) -> None:
    """The new log has its first leaf. Raises ``OSError``."""
    folder = directory / FOLDER
    (folder / _TURN).unlink(missing_ok=True)
    sync_directory(folder)


def _move(directory: Path, turn: Turn) -> None:
    """Until the mark is set nothing new is created at the top: what lies there is the old log's."""
    target = folder_of(directory, turn.number)
    target.mkdir(exist_ok=True)
    sync_directory(target.parent)
    for name in MOVED:
        if (directory / name).exists():
            (directory / name).rename(target / name)
    sync_directory(target)
    sync_directory(directory)
    _write(target.parent, replace(turn, is_moved=True))


def _write(folder: Path, turn: Turn) -> None:
    aside = folder / f".{_TURN}.new"
    with aside.open("wb") as file:
        file.write(orjson.dumps(asdict(turn)))
        file.flush()
        os.fsync(file.fileno())
    aside.replace(folder / _TURN)
    sync_directory(folder)
