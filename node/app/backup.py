"""Backups of a node: made when asked for or by the clock, kept up to a number, and told what was erased.

One runs at a time, in a thread. ``data/erased`` lists what was erased here, one CID a line, and
``data/backups.json`` the folders that backups were made into; both outlive a folder that is away: its list is
brought up to date when it is there again.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import TimeoutError as NotInTime
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson

from node.app.data_files import STRUCK
from node.app.storage import VERSION, Ground
from node.audit.decisions.log import DecisionLog
from node.audit.log.writer import TileLog
from node.core import files
from node.core.blocking import in_thread
from node.core.clock import new_id
from node.core.errors import BadInput, CorruptState, NodeError, NotFound, Rejected, Unavailable
from node.core.model import Check
from node.core.record import format_time, parse_time
from node.store.backup import purging, writing
from node.store.backup.folder import ERASED, BackupFolder, add_erased, read_erased
from node.store.backup.manifest import Manifest

log = logging.getLogger("neuroswarm.backup")

FOLDERS = "backups.json"
_FOLDERS_MAX = 16
_FOLDERS_BYTES_MAX = 64 * 1024
KEEP_MAX = 1_000
POLL_S = 10.0
"""How long a command waits for news of a backup that is under way."""
TICK_S = 60
PUBLISH_S = 60.0
TELL_S = 10.0
"""How long an erasure waits for backup folders: one may be on a medium that hangs."""
_DONE_MAX = 8


@dataclass(frozen=True, slots=True)
class Made:
    """One backup. ``written_bytes`` of its ``size_bytes`` were not there before; ``struck``: older backups
    that were written anew without what was erased since; ``dropped``: those over the number that is kept."""

    name: str
    size_bytes: int
    files: int
    entries: int
    written_bytes: int
    struck: int
    dropped: tuple[str, ...]

    def told(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "state": "done",
            "backup": self.name,
            "bytes": self.size_bytes,
            "files": self.files,
            "entries": self.entries,
            "written_bytes": self.written_bytes,
            "struck": self.struck,
            "dropped": list(self.dropped),
        }


@dataclass(slots=True)
class Backups:
    """Build one for each open data directory. ``publications`` is filled in where that log is open."""

    ground: Ground
    publications: TileLog | None = None
    _running: dict[str, asyncio.Task[Made]] = field(default_factory=dict)
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)
    _stop: threading.Event = field(default_factory=threading.Event)
    _trouble: str = ""
    _purge_at: float = 0.0
    _last: datetime | None = None

    # --- when asked for ---------------------------------------------------------------------------

    async def do(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """``{"folder", "keep"?}`` or ``{"id"}`` -> ``{"state": "running", "id"}`` or what ``Made.told`` says.
        Raises ``BadInput``, ``NotFound``, ``Misconfigured``, ``Rejected``, ``Unavailable``."""
        name = asked.get("id")
        if name is None:
            path, keep = asked.get("folder"), asked.get("keep", self.ground.settings.backup.keep)
            if not isinstance(path, str) or not Path(path).is_absolute() or "\0" in path:
                raise BadInput("folder must be an absolute path", field="folder")
            if type(keep) is not int or not 1 <= keep <= KEEP_MAX:
                limit = f"1 to {KEEP_MAX}"
                raise BadInput("keep is out of range", field="keep", limit=limit)
            name = self._begin(Path(path), keep)
        task = self._running.get(str(name))
        if task is None:
            raise NotFound("there is no such backup under way")
        await asyncio.wait({task}, timeout=POLL_S)
        if not task.done():
            return {"state": "running", "id": name}
        try:
            return task.result().told()
        except CorruptState as exc:
            raise Rejected(str(exc)) from exc  # the operator is told which file it is

    def _begin(self, path: Path, keep: int) -> str:
        if any(not task.done() for task in self._running.values()):
            raise Unavailable("another backup is under way; try again when it is done")
        while len(self._running) >= _DONE_MAX:
            del self._running[next(iter(self._running))]
        name = new_id()
        task = asyncio.create_task(self.run(path, keep), name="backup")
        task.add_done_callback(lambda done: None if done.cancelled() else done.exception())
        self._running[name] = task
        return name

    async def run(self, path: Path, keep: int) -> Made:
        """Make one backup, and bring the older ones in the folder up to date. Raises ``NodeError``."""
        loop, now = asyncio.get_running_loop(), self.ground.clock.now()
        decisions = self.ground.decisions
        log_dir = decisions.directory if isinstance(decisions, DecisionLog) else None
        source = writing.Source(self.ground.data_dir, log_dir, lambda: self._published(loop))

        def work() -> Made:
            folder = BackupFolder.open(path, self.ground.identity.root)
            with folder.held():
                self._remember(path)
                self._tell(folder)
                struck = purging.purge(folder, self._stop, STRUCK)
                manifest = writing.write(
                    folder,
                    source,
                    name=folder.next_name(now),
                    time=format_time(now),
                    software=VERSION,
                    stop=self._stop,
                )
                dropped = folder.keep(keep)
            return _made(manifest, folder, struck, dropped)

        async with self._one_at_a_time:
            try:
                made = await in_thread(work, stop=self._stop.set)
            finally:
                with contextlib.suppress(
                    NodeError
                ):  # while the copy was made, the log of writes could not be emptied
                    await self.ground.store.scrub()
        log.info("event=backup_made name=%s folder=%s new_bytes=%d", made.name, path, made.written_bytes)
        return made

    def _published(self, loop: asyncio.AbstractEventLoop) -> Mapping[str, bool]:
        """In the backup's thread."""

        async def publish() -> dict[str, bool]:
            decisions = self.ground.decisions
            logs = {"log": decisions.tile_log if isinstance(decisions, DecisionLog) else None}
            logs[writing.PUBLICATIONS] = self.publications
            return {name: one is not None and await _has_published(one) for name, one in logs.items()}

        asked = asyncio.run_coroutine_threadsafe(publish(), loop)
        try:
            return asked.result(PUBLISH_S)
        except NotInTime as exc:
            asked.cancel()
            raise Unavailable("the logs could not be published in time for the backup") from exc

    async def close(self) -> None:
        """What is under way is stopped; the older backups are whole."""
        self._stop.set()
        tasks = [task for task in self._running.values() if not task.done()]
        if tasks:
            await asyncio.wait(tasks)
        async with self._one_at_a_time:
            pass  # a backup that began meanwhile has stopped

    # --- by the clock -----------------------------------------------------------------------------

    async def tick(self) -> None:
        """Make the backup that is due; else, where the promise wants it, take out what was erased."""
        wanted = self.ground.settings.backup
        if self._one_at_a_time.locked():
            return
        try:
            if wanted.folder and await self._is_due():
                await self.run(await asyncio.to_thread(Path(wanted.folder).absolute), wanted.keep)
                self._last = self.ground.clock.now()
            await self._purge_where_due()
            self._trouble = ""
        except NodeError as exc:
            if str(exc) != self._trouble:
                log.warning("event=backup_failed reason=%s", exc)
            self._trouble = str(exc)

    async def _is_due(self) -> bool:
        wanted, now = self.ground.settings.backup, self.ground.clock.now()
        if self._last is None:
            self._last = await asyncio.to_thread(_newest, Path(wanted.folder))
        # One of the future was made before the clock was set right.
        return self._last is None or not 0 <= (now - self._last).total_seconds() < wanted.every_s

    async def _purge_where_due(self) -> None:
        clock, within_s = self.ground.clock, self.ground.settings.erasure.within_s
        if clock.monotonic() < self._purge_at:
            return
        self._purge_at = clock.monotonic() + within_s / 2

        def work() -> None:
            for path in self.folders():
                folder = _there(path)
                if folder is None:
                    continue
                self._tell(folder)
                if purging.is_pending(folder):
                    with folder.held():
                        purging.purge(folder, self._stop, STRUCK)
                        folder.keep(KEEP_MAX)

        async with self._one_at_a_time:
            await in_thread(work, stop=self._stop.set)

    async def probe(self) -> Check:
        """How old the newest scheduled backup is, and what keeps it from being made. Never raises."""
        wanted = self.ground.settings.backup
        if not wanted.folder:
            return Check(
                "backup", "pass", "none by themselves (backup.folder); by hand: neuroswarm backup FOLDER"
            )
        if self._trouble:
            return Check("backup", "warn", f"the last try failed: {self._trouble}", since=self._last)
        said = "none was made yet" if self._last is None else f"the newest is of {format_time(self._last)}"
        return Check("backup", "pass", said)

    # --- what was erased --------------------------------------------------------------------------

    async def note_erased(self, cids: Sequence[str]) -> None:
        """Records that are being erased: no backup may bring them back. Raises ``Unavailable``."""

        await asyncio.to_thread(add_erased, self.ground.data_dir / ERASED, cids)

        def tell() -> None:
            for path in self.folders():
                try:
                    if (folder := _there(path)) is not None:
                        folder.note_erased(cids)
                except NodeError as exc:
                    log.warning("event=backup_not_told folder=%s reason=%s", path, exc)

        try:
            async with asyncio.timeout(TELL_S):
                await asyncio.to_thread(tell)
        except TimeoutError:
            log.warning("event=backups_not_told reason=a folder does not answer; they are told by the clock")

    def folders(self) -> list[Path]:
        """Where backups were made. Blocking."""
        return read_folders(self.ground.data_dir)

    def _tell(self, folder: BackupFolder) -> None:
        """Bring the folder's list of what was erased up to date."""
        known = set(folder.erased())
        folder.note_erased(
            [cid for cid in read_erased(self.ground.data_dir / ERASED) if cid and cid not in known]
        )

    def _remember(self, path: Path) -> None:
        known = [one for one in self.folders() if one != path]
        files.put(
            self.ground.data_dir / FOLDERS, orjson.dumps([str(one) for one in (*known, path)][-_FOLDERS_MAX:])
        )


def read_folders(data_dir: Path) -> list[Path]:
    """Where backups of a data directory were made. Blocking; what cannot be read is none."""
    try:
        found = orjson.loads(files.DISK.read(data_dir / FOLDERS, _FOLDERS_BYTES_MAX))
    except (OSError, orjson.JSONDecodeError):
        return []
    return [Path(one) for one in found if isinstance(one, str)] if isinstance(found, list) else []


def _there(path: Path) -> BackupFolder | None:
    """The backup folder, where it is there now."""
    try:
        return BackupFolder.at(path)
    except BadInput:
        return None


def _newest(path: Path) -> datetime | None:
    folder = _there(path)
    names = [] if folder is None else folder.names()
    if folder is None or not names:
        return None
    return parse_time(folder.read(names[-1]).time, "time")


def _made(manifest: Manifest, folder: BackupFolder, struck: int, dropped: Sequence[str]) -> Made:
    return Made(
        manifest.id,
        manifest.size,
        len(manifest.files),
        manifest.entries,
        sum(folder.parts.new.get(part, 0) for part in manifest.parts()),
        struck,
        tuple(dropped),
    )


async def _has_published(tile_log: TileLog) -> bool:
    try:
        await tile_log.publish()
    except NodeError:  # held, suspended or closed: nothing is published meanwhile
        return False
    return True
