"""Puts a backup into a data directory and a log folder.

Order: 1 everything is written beside what is there, each part checked by its hash; 2 what was erased since is
taken out; 3 the caller looks at it (keys, the log's checker); 4 what was there moves aside, and what was
restored into its place. Until the last step a folder in the data directory keeps a node from starting.
Blocking.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from node.core.errors import BadInput
from node.core.files import DISK, own_directory, translated
from node.store.backup.folder import ERASED, BackupFolder, add_erased, read_erased
from node.store.backup.log_files import ASIDE
from node.store.backup.manifest import DATA, Manifest
from node.store.backup.snapshot import check
from node.store.backup.strike import FILES, NEVER, strike
from node.store.backup.writing import PUBLICATIONS

STAGING = ".restoring"
"""In both directories, for as long as they are not restored whole."""
_README = "README.md"
"""Which the log's folder of a checkout has."""
STAYS = frozenset({"lock", "keys", STAGING})
"""Of a data directory that is replaced: the keys go on being used."""

_SIGNED_FOR_ONE = frozenset({PUBLICATIONS, "publications.json", "witness", "anchors", "backups.json"})
"""Of a data directory: what speaks of the logs and backups of one identity."""


def check_free(directory: Path, *, replace: bool) -> None:
    """Raises ``BadInput`` where something lies in ``directory`` and need not be replaced."""
    if replace or not directory.is_dir():
        return
    found = sorted(path.name for path in directory.iterdir() if path.name not in ("lock", _README))
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
    for name in FILES:
        if (staged / name).exists():
            if name.endswith(".sqlite"):
                check(staged / name)
            strike(staged / name, gone)
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
    """Step 4; the folders into which what was there was moved."""
    aside: list[Path] = []
    for directory, stays in ((log_dir, frozenset({STAGING, _README})), (data_dir, STAYS)):
        with translated(f"{directory} cannot be written"):
            aside += _move_aside(directory, stays, name)
            for path in sorted((directory / STAGING).iterdir()):
                if path.name != "keys":
                    DISK.rename(path, directory / path.name)
            DISK.sync_directory(directory)
    with translated(f"{data_dir} cannot be written"):
        for key in _staged_keys(data_dir):
            DISK.rename(key, data_dir / "keys" / key.name)
        if (data_dir / "keys").is_dir():
            DISK.sync_directory(data_dir / "keys")
        shutil.rmtree(log_dir / STAGING)
        shutil.rmtree(data_dir / STAGING)
        DISK.sync_directory(data_dir)
    return aside


def _staged_keys(data_dir: Path) -> Sequence[Path]:
    staged = data_dir / STAGING / "keys"
    if not staged.is_dir():
        return ()
    DISK.make_directories(data_dir / "keys")
    return sorted(staged.iterdir())


def _move_aside(directory: Path, stays: frozenset[str], name: str) -> list[Path]:
    found = [
        path for path in directory.iterdir() if path.name not in stays and not path.name.startswith(ASIDE)
    ]
    if not found:
        return []
    aside, more = directory / f"{ASIDE}-{name}", 0
    while aside.exists():
        more += 1
        aside = directory / f"{ASIDE}-{name}.{more}"
    DISK.make_directory(aside)
    for path in found:
        DISK.rename(path, aside / path.name)
    return [aside]
