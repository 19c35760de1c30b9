"""Puts a backup into the data directory and the log folder of the settings, where no node runs meanwhile.

The log is checked as a stranger would (``audit.log.verify``) before anything moves into its place. Closed
epochs that were moved to an archive are read there; where that is away they are left unchecked, and said to
be. After a restore the log signs nothing until a witness or peer has said what it holds (``restored``): a
backup is older than what was signed. Keys come from a key file, or are there already.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path

from node.app.restored import mark_restored
from node.audit.decisions import epochs as epoch_folders
from node.audit.decisions.epoch_check import EpochReport, verify_epochs
from node.audit.decisions.moved import is_moved, source_in
from node.audit.log.archive import Archives, archives_of
from node.audit.log.reader import CHECKPOINT, FolderSource, Source
from node.audit.log.verify import Report, verify_log
from node.core.errors import BadInput, NotFound, Rejected, Unavailable
from node.core.files import DISK, own_directory, put, translated
from node.core.identity import Identity
from node.core.settings import Settings
from node.core.signed_note import NOTE_BYTES_MAX, Checkpoint
from node.store.backup import restoring
from node.store.backup.folder import BackupFolder
from node.store.backup.manifest import Manifest
from node.store.backup.restoring import STAGING
from node.store.backup.writing import PUBLICATIONS
from node.store.lock import DataLock

_KEY_BYTES_MAX = 2**29
_NOT_COPIED = ("commitments-", "head_block_keys", "log_block_keys")
_ROOT = "root.did"

Show = Callable[[int, int], None]
"""(bytes so far, bytes in all)."""


@dataclass(frozen=True, slots=True)
class Restored:
    """What was put in place. ``erased``: records that were looked for and taken out; ``aside``: where that
    lies now which was there before; ``signed``: the size of the newest checkpoint that the keys know of;
    ``unchecked``: why closed epochs could not be looked at that were moved to an archive."""

    backup: str
    time: str
    bytes: int
    entries: int
    signed: int
    epochs: int
    erased: int
    aside: tuple[str, ...]
    unchecked: str = ""


class _Away(Unavailable):
    """An epoch was moved to an archive that cannot be reached."""


class _Moved:
    """A ``Source``: a closed epoch of a backup, which holds nothing of it but where it was moved."""

    def __init__(self, directory: Path, archives: Archives, below: str) -> None:
        self._source = partial(source_in, directory, archives, below)

    async def read(self, path: str, bytes_max: int) -> bytes:
        try:
            return await (await asyncio.to_thread(self._source)).read(path, bytes_max)
        except Unavailable as exc:
            raise _Away(str(exc)) from exc


def keys_before(data_dir: Path) -> dict[str, bytes]:
    """The newest signed checkpoints that the key directory knows of: to be read before the backup, so that
    it is not older than they are. Blocking. Raises ``Unavailable``."""
    return {name: data for name, data in _keys(data_dir).items() if _is_mark(name)}


def keys_after(data_dir: Path) -> dict[str, bytes]:
    """All other keys: to be read after the backup, for a key is there before what it opens."""
    return {name: data for name, data in _keys(data_dir).items() if not _is_mark(name)}


def _is_mark(name: str) -> bool:
    return name.endswith((".checkpoint", ".signed"))


def _keys(data_dir: Path) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    with translated(f"the keys in {data_dir / 'keys'} cannot be read"):
        for path in sorted((data_dir / "keys").iterdir()):
            if path.is_file() and not path.name.startswith((".", *_NOT_COPIED)):
                found[path.name] = DISK.read(path, _KEY_BYTES_MAX)
    return found


def restore(
    settings: Settings,
    folder: BackupFolder,
    manifest: Manifest,
    keys: Mapping[str, bytes] | None,
    now: datetime,
    *,
    replace: bool,
    show: Show,
) -> Restored:
    """Blocking. ``keys``: those of a key file. Raises ``BadInput`` (something is in the way, no keys),
    ``Misconfigured`` (a node runs there), ``Rejected`` (the log or a key does not hold), ``CorruptState``,
    ``NotFound``, ``Unavailable``; then what was there is as it was."""
    data_dir, log_dir = Path(settings.data_dir), Path(settings.governance_dir)
    own_directory(data_dir)
    with DataLock.acquire(data_dir):
        for directory in (data_dir, log_dir):
            restoring.check_free(directory, replace=replace)
        _check_keys(data_dir, folder, keys)
        gone = restoring.stage(folder, manifest, data_dir, log_dir, show)
        staged = data_dir / STAGING
        if keys is not None:
            own_directory(staged / "keys")
            for name, data in keys.items():
                put(staged / "keys" / name, data)
        key_dir = data_dir / "keys" if keys is None else staged / "keys"
        identity = Identity.load_or_create(key_dir, now)
        archives = archives_of(settings.archive)
        report, epochs, unchecked = asyncio.run(_checked(log_dir / STAGING, staged, identity, archives))
        signed = _signed(key_dir)
        mark_restored(staged)
        aside = restoring.put_in_place(data_dir, log_dir, manifest.id)
    entries = 0 if report is None else report.entries
    return Restored(
        manifest.id,
        manifest.time,
        manifest.size,
        entries,
        signed,
        len(epochs),
        sum(1 for one in gone if one),
        tuple(map(str, aside)),
        unchecked,
    )


def _check_keys(data_dir: Path, folder: BackupFolder, keys: Mapping[str, bytes] | None) -> None:
    here = _root_here(data_dir)
    if keys is None and not here:
        raise BadInput(
            "a backup holds no keys: name the file that neuroswarm backup --keys has written (--keys FILE)",
            field="keys",
        )
    if keys is not None and here:
        raise BadInput(
            f"the keys in {data_dir / 'keys'} are newer than those of a file: restore without --keys",
            field="keys",
        )
    root = here if keys is None else keys.get(_ROOT, b"").decode("ascii", "replace").strip()
    if root != folder.root:
        raise Rejected(f"the keys are of {root or 'nobody'}, and the backup of {folder.root}")


def _root_here(data_dir: Path) -> str:
    """Whose keys are in a data directory; empty where there are none, or some only of a restore that was cut
    short."""
    if (data_dir / STAGING / "keys").exists():
        return ""
    try:
        return DISK.read(data_dir / "keys" / _ROOT, 1_024).decode("ascii", "replace").strip()
    except FileNotFoundError:
        return ""


async def _checked(
    log_dir: Path, data_dir: Path, identity: Identity, archives: Archives
) -> tuple[Report | None, list[EpochReport], str]:
    """Both logs as a stranger sees them, and why epochs of the first could not be looked at. Raises
    ``Rejected``."""
    found = await _check_log(log_dir, identity, archives)
    await _check_log(data_dir / PUBLICATIONS, identity, archives)
    return found


async def _check_log(
    directory: Path, identity: Identity, archives: Archives
) -> tuple[Report | None, list[EpochReport], str]:
    source = FolderSource(directory)
    try:
        note = await source.read(CHECKPOINT, NOTE_BYTES_MAX)
    except NotFound:
        return None, [], ""
    keys = [one.verifier for one in identity.log_signers(Checkpoint.of_note(note).origin)]
    report = await verify_log(source, keys)
    epochs: list[EpochReport] = []
    unchecked = ""

    def below(path: str) -> Source:
        is_here = not is_moved(directory / path)
        return FolderSource(directory, path) if is_here else _Moved(directory, archives, path)

    if report.ok and report.checkpoint is not None:
        try:
            epochs = await verify_epochs(source, report.checkpoint, keys, below)
        except _Away as exc:
            unchecked = str(exc)
    looked_at: list[Report | EpochReport] = [report, *epochs]
    for one in looked_at:
        if not one.ok:
            raise Rejected(f"the log in the backup does not hold: {one.where}: {one.reason}")
    return report, epochs, unchecked


def _signed(key_dir: Path) -> int:
    marks = [epoch_folders.newest(path) for path in sorted(key_dir.glob("decisions-*.checkpoint"))]
    return max((mark.size for mark in marks if mark is not None), default=0)
