"""Takes what was erased out of the backups that were made before, and writes these anew without it.

A backup whose list says that it was struck as far as the folder's list of erased records goes is passed over.
The parts that only the older version had go with the next ``BackupFolder.keep``. Blocking; the caller holds
the folder.
"""

from __future__ import annotations

import threading
from dataclasses import replace

from node.core.errors import Unavailable
from node.core.files import translated
from node.store.backup.folder import BackupFolder
from node.store.backup.manifest import DATA, Manifest
from node.store.backup.strike import FILES, NEVER, Others, strike


def is_pending(folder: BackupFolder) -> bool:
    """Whether a backup may hold something that was erased since. Raises ``CorruptState``, ``Unavailable``."""
    lines = len(folder.erased())
    return any(folder.read(name).struck < lines for name in folder.names())


def purge(folder: BackupFolder, stop: threading.Event, others: Others) -> int:
    """How many backups were written anew. Raises ``CorruptState``, ``Unavailable``."""
    lines, changed = folder.erased(), 0
    for name in folder.names():
        manifest = folder.read(name)
        if manifest.struck < len(lines):
            with translated(f"the backup {name} in {folder.path} cannot be written anew"):
                struck = _struck(folder, manifest, lines[manifest.struck :], stop, others)
                folder.write(replace(struck, struck=len(lines)))
            changed += struck is not manifest
    return changed


def _struck(
    folder: BackupFolder, manifest: Manifest, gone: list[str], stop: threading.Event, others: Others
) -> Manifest:
    if any(one.path.startswith(f"{DATA}/{NEVER}") for one in manifest.files):
        left = tuple(one for one in manifest.files if not one.path.startswith(f"{DATA}/{NEVER}"))
        manifest = replace(manifest, files=left)
    for name in (*FILES, *others):
        kept = manifest.file(f"{DATA}/{name}")
        if kept is None:
            continue
        if stop.is_set():
            raise Unavailable("the backup was stopped")
        copied = folder.work / name
        folder.take(kept, copied)
        if strike(copied, gone, others):
            manifest = manifest.with_file(folder.put(kept.path, copied, stop=stop))
        copied.unlink()
    return manifest
