"""What lies on the disk, by kind, held to the budgets of the settings.

Looked at every minute beside the road, with a small write to see whether the disk takes any: a quota that is
reached, or a disk that went read-only, shows although nobody stores anything. From a share of a bound on
``/health`` warns. At the bound of records, index or state nothing new is stored (what is stored goes on
answering); what happens at those of the log and of the archive is done by ``audit.decisions.keeper``, and
told here. Nothing is deleted.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from node.app.storage import Ground, Probe, fact
from node.audit.decisions.keeper import EpochKeeper
from node.core.files import DISK, translated
from node.core.metrics import Metrics
from node.core.model import Check
from node.core.scheduler import Scheduler
from node.core.settings import Disk
from node.store.remember import Rememberer
from node.store.writer import SqliteFile

TICK_S = 60
LOG, RECORDS, INDEX, STATE, COLD = KINDS = ("log", "records", "index", "state", "cold")
STORES_CHECK, WRITES_CHECK = "stores", "disk:writes"
PROBE, PROBE_BYTES = ".probe", 4_096
"""What is written to see whether a disk takes anything; backups leave hidden names out."""
STORES = (RECORDS, INDEX, STATE)
"""At the bounds of these nothing new is stored."""

_AT_BOUND = {
    LOG: "entries of the decision log are refused",
    RECORDS: "nothing new is stored",
    INDEX: "nothing new is stored",
    STATE: "nothing new is stored",
    COLD: "closed epochs stay here",
}
_RECORD_FILES = ("blocks.sqlite", "foreign.sqlite", "documents.sqlite")
_INDEX_FOLDER = "index"
_LOG_FILES = ("log_blocks.sqlite",)
"""Counted with the log."""
_ELSEWHERE = ("models", "keys")
"""Weights that the operator put there; keys, which are counted with the log that they are for."""


@dataclass(frozen=True, slots=True)
class Use:
    """Bytes of a kind, and how many there may be (0: any number)."""

    kind: str
    used: int
    bound: int

    @property
    def is_spent(self) -> bool:
        return bool(self.bound) and self.used >= self.bound

    @property
    def why(self) -> str:
        """That it is spent, and what follows."""
        return (
            f"the {self.kind} takes {self.used} bytes, and disk.{self.kind}_bytes is {self.bound}: "
            f"{_AT_BOUND[self.kind]}"
        )

    def check(self, warn_share: float) -> Check:
        """For ``/health``."""
        found = Check(f"disk:{self.kind}", "pass", observed=self.used, unit="bytes")
        if self.is_spent:
            return replace(found, status="warn" if self.kind == COLD else "fail", output=self.why)
        if self.bound and self.used >= warn_share * self.bound:
            said = (
                f"{self.used} bytes of {self.bound} (disk.{self.kind}_bytes); at the bound "
                f"{_AT_BOUND[self.kind]}"
            )
            return replace(found, status="warn", output=said)
        return found


class DiskWatch:
    """``refuse`` is told why nothing may be stored now, or "". ``keeper`` None: there is no log on the
    disk."""

    def __init__(
        self,
        data_dir: Path,
        bounds: Disk,
        keeper: EpochKeeper | None,
        metrics: Metrics,
        refuse: Callable[[str], None],
    ) -> None:
        self._data_dir = data_dir
        self._bounds = bounds
        self._keeper = keeper
        self._metrics = metrics
        self._refuse = refuse
        self.uses: Mapping[str, Use] = {kind: Use(kind, 0, 0) for kind in KINDS}
        self._unwritable = ""

    async def tick(self) -> None:
        """Look, and tell. Raises ``Unavailable``."""
        folders = [self._data_dir, *([] if self._keeper is None else [self._keeper.directory])]
        self._unwritable = await asyncio.to_thread(unwritable, folders)
        with translated(f"{self._data_dir} cannot be read"):
            found = await asyncio.to_thread(sizes, self._data_dir)
        if self._keeper is not None:
            found |= {LOG: self._keeper.log_bytes, COLD: self._keeper.cold_bytes}
            self._metrics.set(log_epochs_moved=self._keeper.moved)
        self.uses = {
            kind: Use(kind, found.get(kind, 0), getattr(self._bounds, f"{kind}_bytes")) for kind in KINDS
        }
        for use in self.uses.values():
            self._metrics.disk(use.kind, use.used, use.bound)
        spent = [use.why for use in self.uses.values() if use.kind in STORES and use.is_spent]
        self._refuse("; ".join(spent))

    def writes(self) -> Check:
        """Whether the disk takes a small file in the folders of data and log."""
        return Check(WRITES_CHECK, "fail" if self._unwritable else "pass", self._unwritable)

    def check(self, kind: str) -> Check:
        """How much of its budget a kind has taken."""
        return self.uses[kind].check(self._bounds.warn_share)


async def watch_disk(
    ground: Ground, rememberer: Rememberer, keeper: EpochKeeper | None, scheduler: Scheduler
) -> list[Probe]:
    """The jobs that keep the log's epochs and look what lies on the disk; the checks that tell it. Raises
    ``Unavailable``, ``CorruptState``."""

    def refuse(why: str) -> None:
        rememberer.refusal = why

    watch = DiskWatch(ground.data_dir, ground.settings.disk, keeper, ground.metrics, refuse)
    if keeper is not None:
        await keeper.look()
        scheduler.every(TICK_S, "epochs", keeper.tick)
    await watch.tick()
    scheduler.every(TICK_S, "disk", watch.tick)
    return [fact(watch.writes), *(fact(partial(watch.check, kind)) for kind in KINDS)]


def unwritable(folders: Sequence[Path]) -> str:
    """Why a file of a page cannot be written and synced in each of these, or empty. Blocking."""
    for folder in folders:
        path = folder / PROBE
        try:
            path.unlink(missing_ok=True)  # of a process that was killed
            fd = DISK.create(path)
            try:
                DISK.write(fd, bytes(PROBE_BYTES), 0)
                DISK.sync(fd)
            finally:
                DISK.close(fd)
                DISK.unlink(path)
        except OSError as exc:
            return f"the disk of {folder} takes no writes: {exc.strerror or exc}"
    return ""


def stores_check(files: Sequence[SqliteFile], torn: Sequence[Path] = ()) -> Check:
    """Which of the SQLite files beside the store of records the disk refuses to write or read now. ``torn``:
    the copies of their WALs that were found damaged at the start."""
    refused = [
        f"{file.path.name} cannot be {done} ({why})"
        for file in files
        for done, why in (("written", file.trouble.write), ("read", file.trouble.read))
        if why
    ]
    said = [*refused, *(["it is tried again every few seconds"] if refused else [])]
    said += [
        f"its WAL was damaged at the start, so that the last changes may be lost ({one})" for one in torn
    ]
    turned_away = sum(file.trouble.turned_away for file in files)
    away = f"writes turned away since the start: {turned_away}" if turned_away else ""
    if not said:
        return Check(STORES_CHECK, "pass", away)
    return Check(STORES_CHECK, "warn", "; ".join([*said, *([away] if away else [])]))


def sizes(data_dir: Path) -> dict[str, int]:
    """Bytes of records, index and state below the data directory. Blocking. Raises ``OSError``."""
    found = {RECORDS: 0, INDEX: 0, STATE: 0}
    for folder, below, names in os.walk(data_dir):
        if Path(folder) == data_dir:
            below[:] = [name for name in below if name not in _ELSEWHERE]
        parts = Path(folder).relative_to(data_dir).parts
        for name in names:
            if not parts and name.startswith(_LOG_FILES):
                continue
            kind = STATE
            if parts[:1] == (_INDEX_FOLDER,):
                kind = INDEX
            elif not parts and name.startswith(_RECORD_FILES):
                kind = RECORDS
            try:
                found[kind] += Path(folder, name).lstat().st_size
            except FileNotFoundError:  # files are replaced meanwhile
                continue
    return found
