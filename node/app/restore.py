"""Puts a backup into the data directory and the log folder of the settings, where no node runs meanwhile.

The log is checked as a stranger would (``restore_check``) before anything moves into its place. After it the
log signs nothing until a witness or peer has said what it holds (``restored``): a backup is older than what
was signed. Keys come from a key file, or are there already. Without them a backup can be restored as a new
node: the answers that are not private, under a new identity; the logs of the one before are checked, and kept
aside where anybody can verify them, but never written to again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path

from node.app.data_files import STRUCK, formats
from node.app.restore_check import checked
from node.app.restored import mark_restored
from node.audit.decisions import epochs as epoch_folders
from node.audit.decisions.disk import locked
from node.audit.log.archive import archives_of
from node.core.errors import BadInput, Rejected
from node.core.files import DISK, own_directory, put, translated
from node.core.identity import Identity
from node.core.settings import Settings
from node.knowledge.sealing import FILE as DOCUMENT_KEYS
from node.store.backup import restoring
from node.store.backup.folder import ERASED, BackupFolder, read_erased
from node.store.backup.manifest import Manifest
from node.store.backup.restoring import STAGING
from node.store.backup.writing import PUBLICATIONS
from node.store.lock import DataLock

_KEY_BYTES_MAX = 2**29
_NOT_COPIED = ("commitments-", "head_block_keys", "log_block_keys")
_ROOT = "root.did"
_RECORD_KEYS = "record_keys"

Show = Callable[[int, int], None]
"""(bytes so far, bytes in all)."""


@dataclass(frozen=True, slots=True)
class Restored:
    """What was put in place. ``root``: whose node it is now; ``erased``: records that were looked for and
    taken out; ``aside``: where that lies now which was there before; ``signed``: the size of the newest
    checkpoint that the keys know of; ``former``: where the log of an identity lies that was given up.
    ``unchecked``: why closed epochs could not be looked at that were moved to an archive."""

    backup: str
    time: str
    root: str
    bytes: int
    entries: int
    signed: int
    epochs: int
    erased: int
    aside: tuple[str, ...]
    former: str = ""
    unchecked: str = ""


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
    is_new: bool = False,
    show: Show,
) -> Restored:
    """Blocking. ``keys``: those of a key file; ``is_new``: there are none, and a new node begins. What was
    cut off while things moved into place goes on there, whatever else is asked for. Raises ``BadInput``
    (something is in the way, no keys, another one was cut off), ``Misconfigured`` (a node runs there),
    ``Rejected`` (the log, a key or a format does not hold), ``CorruptState``, ``NotFound``, ``Unavailable``;
    then what was there is as it was, or the same command goes on."""
    data_dir, log_dir = Path(settings.data_dir), Path(settings.governance_dir)
    own_directory(data_dir)
    with ExitStack() as stack:
        stack.enter_context(translated(f"the backup {manifest.id} cannot be put in place"))
        stack.enter_context(DataLock.acquire(data_dir))
        own_directory(log_dir)
        for directory in (log_dir, data_dir / PUBLICATIONS):
            if directory.is_dir():
                stack.enter_context(locked(directory))  # nobody mends it meanwhile
        step, former = restoring.step_of(data_dir), ""
        archives = archives_of(settings.archive)
        if step is None:
            for directory in (data_dir, log_dir):
                restoring.check_free(directory, replace=replace)
            _check_keys(data_dir, folder, keys, is_new=is_new)
            look = partial(_check_formats, manifest)
            gone = restoring.stage(folder, manifest, data_dir, log_dir, show, look, STRUCK)
            staged = data_dir / STAGING
            if is_new:
                keys = {
                    _RECORD_KEYS: b"",
                    DOCUMENT_KEYS: b"",
                }  # known to be gone: else the start asks for them
            key_dir = data_dir / "keys" if keys is None else _staged_keys(staged, keys)
            identity = Identity.load_or_create(key_dir, now)
            known = None if is_new else identity
            report, epochs, unchecked = asyncio.run(checked(log_dir / STAGING, staged, known, archives))
            signed = _signed(key_dir)
            if is_new:
                former = restoring.begin_anew(data_dir, log_dir, manifest.id)
            else:
                mark_restored(staged)
            aside = restoring.put_in_place(data_dir, log_dir, manifest.id)
        else:
            if step.backup != manifest.id:
                raise BadInput(
                    f"a restore of backup {step.backup} was cut short while it moved into place: end that "
                    f"first (--at {step.backup})",
                    field="at",
                )
            aside = restoring.put_in_place(data_dir, log_dir, manifest.id)
            gone = read_erased(data_dir / ERASED)
            identity = Identity.load_or_create(data_dir / "keys", now)
            report, epochs, unchecked = asyncio.run(checked(log_dir, data_dir, identity, archives))
            signed = _signed(data_dir / "keys")
    entries = 0 if report is None else report.entries
    return Restored(
        manifest.id,
        manifest.time,
        identity.root,
        manifest.size,
        entries,
        signed,
        len(epochs),
        sum(1 for one in gone if one),
        tuple(map(str, aside)),
        former and str(log_dir / former),
        unchecked,
    )


def _staged_keys(staged: Path, keys: Mapping[str, bytes]) -> Path:
    key_dir = staged / "keys"
    own_directory(key_dir)
    for name, data in keys.items():
        put(key_dir / name, data)
    return key_dir


def _check_keys(
    data_dir: Path, folder: BackupFolder, keys: Mapping[str, bytes] | None, *, is_new: bool
) -> None:
    here = _root_here(data_dir)
    if is_new:
        if keys is not None or here:
            whose = f"the keys in {data_dir / 'keys'}" if here else "those of the key file"
            raise BadInput(f"there are keys ({whose}): restore without --new-identity", field="keys")
        return
    if keys is None and not here:
        raise BadInput(
            "a backup holds no keys: name the file that neuroswarm backup --keys has written (--keys FILE); "
            "where there is none any more, --new-identity begins a new node with the answers that are not "
            "private",
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


def _check_formats(manifest: Manifest, staged: Path) -> None:
    """Refuse what a newer version wrote before anything of it is in place. Raises ``Rejected``,
    ``CorruptState``."""
    for name, (version, known) in formats(staged).items():
        if version > known:
            raise Rejected(
                f"{name} in the backup is in format {version}, and this version reads {known} at most: "
                f"a newer one has made it ({manifest.software}); restore it with that"
            )


def _signed(key_dir: Path) -> int:
    marks = [epoch_folders.newest(path) for path in sorted(key_dir.glob("decisions-*.checkpoint"))]
    return max((mark.size for mark in marks if mark is not None), default=0)
