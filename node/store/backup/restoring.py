"""Puts a backup into a data directory and a log folder.

Order: 1 everything is written beside what is there, each part checked by its hash; 2 what was erased since is
taken out; 3 the caller looks at it (keys, the log's checker); 4 what was there moves aside, and 5 what was
restored into its place. Until the last step a folder in the data directory keeps a node from starting. Before
steps 4 and 5 it is noted there that they have begun: cut off in one of them, a restore goes on where it was;
cut off before, nothing that was there has changed, and it begins anew. Blocking.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import orjson

from node.core.errors import BadInput, CorruptState
from node.core.files import DISK, own_directory, translated
from node.store.api_keys import KEYS_FILE, USED_FILE
from node.store.backup.folder import ERASED, BackupFolder, add_erased, read_erased
from node.store.backup.log_files import ASIDE
from node.store.backup.manifest import DATA, Manifest
from node.store.backup.snapshot import check
from node.store.backup.strike import FILES, NEVER, Others, strike
from node.store.backup.writing import PUBLICATIONS

STAGING = ".restoring"
"""In both directories, for as long as they are not restored whole."""
_ENDED = ".restored"
"""What ``STAGING`` is called while it is deleted."""
STEP = "step"
"""In the data directory's ``STAGING``: from step 4 on, which of them has begun, and where what was there goes
to."""
_README = "README.md"
"""Which the log's folder of a checkout has."""
_LOG_STAYS = frozenset({".lock", _README, STAGING, _ENDED})
_DATA_STAYS = frozenset({"lock", "keys", KEYS_FILE, USED_FILE, STAGING, _ENDED})
"""Of a directory that is replaced: the keys go on being used."""
_STEP_BYTES_MAX = 4_096


@dataclass(frozen=True, slots=True)
class Step:
    """``backup``: its id; ``aside``: the name of the folder for what was there, in both directories;
    ``is_aside``: all of that lies in it."""

    backup: str
    aside: str
    is_aside: bool = False


def step_of(data_dir: Path) -> Step | None:
    """Which step a restore was cut off in; None where it was before step 4, or there was none. Blocking.
    Raises ``Unavailable``, ``CorruptState``."""
    path = data_dir / STAGING / STEP
    with translated(f"{path} cannot be read"):
        try:
            data = DISK.read(path, _STEP_BYTES_MAX)
        except FileNotFoundError:
            return None
    try:
        return Step(**orjson.loads(data))
    except (ValueError, TypeError) as exc:
        raise CorruptState(f"{path} is damaged: see in both directories what lies where") from exc


_SIGNED_FOR_ONE = frozenset({PUBLICATIONS, "publications.json", "witness", "anchors", "backups.json"})
"""Of a data directory: what speaks of the logs and backups of one identity."""


def check_free(directory: Path, *, replace: bool) -> None:
    """Raises ``BadInput`` where something lies in ``directory`` and need not be replaced."""
    if replace or not directory.is_dir():
        return
    free = {"lock", *_LOG_STAYS}
    found = sorted(path.name for path in directory.iterdir() if path.name not in free)
    if found:
        raise BadInput(
            f"{directory} is not empty ({', '.join(found[:4])}): restore into an empty one, or type "
            "--replace to move what is there aside",
            field="folder",
        )


def stage(
    folder: BackupFolder,
    manifest: Manifest,
    data_dir: Path,
    log_dir: Path,
    show: Callable[[int, int], None],
    look: Callable[[Path], None],
    others: Others,
) -> list[str]:
    """Steps 1 and 2; the CIDs that were looked for. ``look`` is called between them with the folder of the
    data, and may refuse it. Raises ``CorruptState``, ``NotFound``, ``Rejected``, ``Unavailable``."""
    gone = list(dict.fromkeys([*folder.erased(), *read_erased(data_dir / ERASED)]))
    for directory in (data_dir, log_dir):
        own_directory(directory)
        with translated(f"{directory} cannot be written"):
            shutil.rmtree(directory / STAGING, ignore_errors=True)
            DISK.make_directories(directory / STAGING)
    done = 0
    for kept in manifest.files:
        whose, _, path = kept.path.partition("/")
        if whose == DATA and path.startswith(NEVER):
            continue
        folder.take(kept, (data_dir if whose == DATA else log_dir) / STAGING / path)
        done += kept.size
        show(done, manifest.size)
    staged = data_dir / STAGING
    look(staged)
    for name in (*FILES, *others):
        if (staged / name).exists():
            if name.endswith(".sqlite"):
                check(staged / name)
            strike(staged / name, gone, others)
    (staged / ERASED).unlink(missing_ok=True)
    add_erased(staged / ERASED, gone)
    return gone


def begin_anew(data_dir: Path, log_dir: Path, name: str) -> str:
    """Between steps 3 and 4, for a new identity: put what was signed by the one before into folders of their
    own beside what is restored; their name. Raises ``Unavailable``."""
    former = f"{ASIDE}-{name}-former"
    for staged, wanted in ((log_dir / STAGING, None), (data_dir / STAGING, _SIGNED_FOR_ONE)):
        with translated(f"{staged} cannot be written"):
            found = [path for path in staged.iterdir() if wanted is None or path.name in wanted]
            DISK.make_directory(staged / former)
            for path in found:
                DISK.rename(path, staged / former / path.name)
            DISK.sync_directory(staged)
    return former


def put_in_place(data_dir: Path, log_dir: Path, name: str) -> list[Path]:
    """Steps 4 and 5, from where they were cut off; the folders into which what was there was moved."""
    step = step_of(data_dir) or Step(name, _free_name((log_dir, data_dir), f"{ASIDE}-{name}"))
    places = ((log_dir, _LOG_STAYS), (data_dir, _DATA_STAYS))
    with translated(f"{data_dir} or {log_dir} cannot be written"):
        if not step.is_aside:
            for directory, _ in places:
                _settle(directory / STAGING)
            _note(data_dir, step)
            for directory, stays in places:
                _move_aside(directory, stays, step.aside)
            step = replace(step, is_aside=True)
            _note(data_dir, step)
        for directory, _ in places:
            for path in _staged(directory / STAGING):
                DISK.rename(path, directory / path.name)
            DISK.sync_directory(directory)
        for key in _staged(data_dir / STAGING / "keys"):
            DISK.make_directories(data_dir / "keys")
            DISK.rename(key, data_dir / "keys" / key.name)
        if (data_dir / "keys").is_dir():
            DISK.sync_directory(data_dir / "keys")
        for directory, _ in places:
            _remove_staging(directory)
    return [directory / step.aside for directory, _ in places if (directory / step.aside).is_dir()]


def _note(data_dir: Path, step: Step) -> None:
    DISK.replace(data_dir / STAGING / STEP, orjson.dumps(asdict(step)))


def _settle(staging: Path) -> None:
    """Make every name that was staged durable."""
    for folder, _, _ in os.walk(staging, topdown=False):
        DISK.sync_directory(Path(folder))


def _staged(folder: Path) -> Sequence[Path]:
    if not folder.is_dir():
        return ()
    return sorted(path for path in folder.iterdir() if path.name not in ("keys", STEP))


def _free_name(directories: Sequence[Path], name: str) -> str:
    found, more = name, 0
    while any((directory / found).exists() for directory in directories):
        more += 1
        found = f"{name}.{more}"
    return found


def _move_aside(directory: Path, stays: frozenset[str], name: str) -> None:
    found = [
        path for path in directory.iterdir() if path.name not in stays and not path.name.startswith(ASIDE)
    ]
    for path in found:
        DISK.make_directory(directory / name)
        DISK.rename(path, directory / name / path.name)
    if found:
        DISK.sync_directory(directory / name)
        DISK.sync_directory(directory)


def _remove_staging(directory: Path) -> None:
    """It goes at once, with the note of the step; a kill leaves a folder behind that says nothing."""
    if (directory / STAGING).is_dir():
        shutil.rmtree(directory / _ENDED, ignore_errors=True)
        DISK.rename(directory / STAGING, directory / _ENDED)
        DISK.sync_directory(directory)
    shutil.rmtree(directory / _ENDED, ignore_errors=True)
