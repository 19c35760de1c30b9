"""Makes one backup of a data directory and its log, while a node goes on using both.

Order: 1 the SQLite files as of one moment; 2 the plain files, each as it was when it was read; 3 the logs,
whose newest checkpoints then cover whatever the first two speak of; 4 the list, once every part is durable
and was read back. Left out are keys, always; what the next start makes again (vectors, exports, heads, blocks
of the logs); and models. Blocking.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from node.core.errors import Misconfigured, NotFound, Rejected, Unavailable
from node.core.files import DISK, translated
from node.store.api_keys import KEYS_FILE, USED_FILE
from node.store.backup.folder import BackupFolder
from node.store.backup.log_files import ASIDE, log_files
from node.store.backup.manifest import DATA, LOG, Kept, Manifest
from node.store.backup.snapshot import at_one_moment, copy
from node.store.backup.strike import NEVER

PUBLICATIONS = "publications"
LEFT_OUT = frozenset(
    {
        *("keys", "index", "models", "lock", "node.sock", "knowledge-index.json"),
        *("head.json", "log_blocks.json", "publications_blocks.json", "publications.index", PUBLICATIONS),
        "stored.json",
        NEVER.rstrip("/"),
        *(KEYS_FILE, USED_FILE),
    }
)
"""Of a data directory, besides what is hidden. ``publications`` is copied as a log. ``stored.json`` is about
this directory alone: the log in a backup is copied after the store, and is some entries ahead of it."""
NOT_COPIED = frozenset({"head_blocks.sqlite", "log_blocks.sqlite"})
_PLAIN_BYTES_MAX = 256 * 2**20
_LOG_TRIES = 5


@dataclass(frozen=True, slots=True)
class Source:
    """What is backed up. ``publish`` brings the checkpoints of the logs up to date, and says of each (by
    ``log`` and ``publications``) whether it could: where it could not, what waits in its journal is copied
    too. ``log_dir`` is None where there is no log on disk."""

    data_dir: Path
    log_dir: Path | None
    publish: Callable[[], Mapping[str, bool]]


def write(
    folder: BackupFolder, source: Source, *, name: str, time: str, software: str, stop: threading.Event
) -> Manifest:
    """Make the backup ``name``; the caller holds the folder. Raises ``Misconfigured``, ``CorruptState`` (a
    file that is copied is damaged: the older backups stay as they are), ``Unavailable``."""
    _check_apart(folder, source)
    known = _known(folder)
    struck = len(folder.erased())
    with translated(f"the backup into {folder.path} failed"):
        files = _databases(folder, source.data_dir, stop)
        files += [_plain(folder, path, source.data_dir) for path in _others(source.data_dir)]
        is_published = source.publish()
        entries = 0
        if source.log_dir is not None:
            log, entries = _log(folder, LOG, source.log_dir, known, stop, is_whole=is_published["log"])
            files += log
        said, _ = _log(
            folder,
            f"{DATA}/{PUBLICATIONS}",
            source.data_dir / PUBLICATIONS,
            known,
            stop,
            is_whole=is_published[PUBLICATIONS],
        )
        files += said
        manifest = Manifest(name, time, folder.root, software, entries, struck, tuple(files))
        folder.parts.settle()
    folder.check(manifest)
    with translated(f"the backup into {folder.path} failed"):
        folder.write(manifest)
    return manifest


def _check_apart(folder: BackupFolder, source: Source) -> None:
    own = [one.resolve() for one in (source.data_dir, source.log_dir) if one is not None]
    where = folder.path.resolve()
    for one in own:
        if one == where or one in where.parents:
            raise Misconfigured(f"the backup folder {folder.path} lies inside {one}: name one beside it")


def _known(folder: BackupFolder) -> Mapping[str, Kept]:
    """The files of the newest backup that can be read, for what never changes."""
    for name in reversed(folder.names()):
        try:
            return {one.path: one for one in folder.read(name).files}
        except (NotFound, Rejected, Unavailable):
            continue
    return {}


def _databases(folder: BackupFolder, data_dir: Path, stop: threading.Event) -> list[Kept]:
    found: list[Kept] = []
    paths = [path for path in sorted(data_dir.glob("*.sqlite")) if path.name not in NOT_COPIED]
    with at_one_moment(paths, stop) as seen:
        for path, connection in seen.items():
            copied = folder.work / path.name
            copy(connection, copied, stop)
            connection.close()  # the node's write-ahead log may be emptied again
            found.append(folder.put(f"{DATA}/{path.name}", copied, stop=stop))
            copied.unlink()
    return found


def _others(data_dir: Path) -> list[Path]:
    """The plain files that are backed up."""
    found: list[Path] = []
    for top in sorted(data_dir.iterdir()):
        if top.name in LEFT_OUT or top.name.startswith((".", ASIDE)) or ".sqlite" in top.name:
            continue
        for path in [top] if top.is_file() else sorted(top.rglob("*")):
            is_hidden = any(step.startswith(".") for step in path.relative_to(data_dir).parts)
            if path.is_file() and not path.is_symlink() and not is_hidden:
                found.append(path)
    return found


def _plain(folder: BackupFolder, path: Path, data_dir: Path) -> Kept:
    data = DISK.read(path, _PLAIN_BYTES_MAX)
    if len(data) > _PLAIN_BYTES_MAX:
        raise Unavailable(f"{path} has more than {_PLAIN_BYTES_MAX} bytes: what is it? move it away")
    return folder.put_bytes(f"{DATA}/{path.relative_to(data_dir).as_posix()}", data)


def _log(
    folder: BackupFolder,
    prefix: str,
    directory: Path,
    known: Mapping[str, Kept],
    stop: threading.Event,
    *,
    is_whole: bool,
) -> tuple[list[Kept], int]:
    """The files of a log, and its size. ``is_whole``: its checkpoint covers all that it holds."""
    for last in range(_LOG_TRIES):
        try:
            found = log_files(directory, with_journal=not is_whole)
            if found is None:
                return [], 0
            files = [folder.put_bytes(f"{prefix}/checkpoint", found.note)]
            files += [
                _once(folder, f"{prefix}/{path}", directory / path, known, stop)
                for path in found.never_change
            ]
            files += [folder.put(f"{prefix}/{path}", directory / path, stop=stop) for path in found.others]
        except (FileNotFoundError, Unavailable):
            if stop.is_set() or last == _LOG_TRIES - 1:
                raise
        else:
            return files, found.size
    raise AssertionError


def _once(
    folder: BackupFolder, path: str, file: Path, known: Mapping[str, Kept], stop: threading.Event
) -> Kept:
    """A file that never changes is not read again where the last backup has it."""
    seen, before = file.stat(), known.get(path)
    if before is not None and (before.size, before.stamp) == (seen.st_size, seen.st_mtime_ns):
        return before
    return folder.put(path, file, stamp=seen.st_mtime_ns, stop=stop)
