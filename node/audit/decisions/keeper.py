"""Keeps the decision log within its bounds: closes epochs by size and age, moves closed ones away, and
refuses entries where the disk's budget is spent.

Called now and then by a job, never by whoever appends. Rules:
1. An epoch ends when it takes ``epoch_bytes`` on the disk or is ``epoch_days`` old. It has a bundle at least
   then, so that an idle node makes no crowd of small ones. By age none ends while the clock is in doubt.
2. Closed epochs beyond the newest ``kept_here`` are moved to the archive, the oldest first, once the blocks
   of the log have followed them. Where the log has reached ``log_bytes``, the newest ones too.
3. The archive takes ``cold_bytes`` at most; then epochs stay here.
4. Where the log has ``log_bytes`` even so, entries are refused but critical ones, as by a full disk
   (``log.on_failure`` says what becomes of the answer), until there is room again. Nothing is deleted.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from node.audit.decisions import epochs
from node.audit.decisions.disk import on_disk
from node.audit.decisions.log import DecisionLog
from node.audit.decisions.moved import Moved, marker
from node.audit.decisions.moving import move
from node.audit.log.archive import Archive
from node.audit.tlog.tiles import WIDTH
from node.core.clock import Clock
from node.core.errors import NodeError, Unavailable
from node.core.model import Check

log = logging.getLogger("neuroswarm.epochs")

TICK_S = 60
CHECK = "log:archive"
_DAY_S = 86_400
_AGAIN_S = 60.0
_AGAIN_MAX_S = 6 * 3_600.0


@dataclass(frozen=True, slots=True)
class Bounds:
    """As the settings of these names say; 0: no such bound."""

    epoch_bytes: int = 0
    epoch_days: int = 0
    kept_here: int = 1
    log_bytes: int = 0
    cold_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Standing:
    """Of the epoch that is written now. ``age_s`` None: it is not known, or the clock is in doubt."""

    entries: int
    bytes: int
    age_s: float | None


def ends_for(epoch: Standing, bounds: Bounds) -> str:
    """Why the epoch ends now (a code), or empty: rule 1."""
    if epoch.entries < WIDTH:
        return ""
    if bounds.epoch_bytes and epoch.bytes >= bounds.epoch_bytes:
        return "bytes"
    if bounds.epoch_days and epoch.age_s is not None and epoch.age_s >= bounds.epoch_days * _DAY_S:
        return "age"
    return ""


def movable(closed: list[int], kept_here: int, followed: int) -> list[int]:
    """Which of the closed epochs that are here may be moved, the oldest first: rule 2. ``followed``: the
    epoch that the blocks of the log have come to."""
    last = len(closed) - kept_here
    return [number for number in closed[: max(0, last)] if number < followed]


class EpochKeeper:
    """``archive`` None: closed epochs stay. ``followed`` tells the epoch up to which everybody has read what
    is here. ``is_clock_sure``: asked before an epoch is closed by its age; false while nobody can say what
    time it is."""

    def __init__(
        self,
        decisions: DecisionLog,
        clock: Clock,
        bounds: Bounds,
        archive: Archive | None,
        *,
        followed: Callable[[], int],
        is_clock_sure: Callable[[], bool] = lambda: True,
    ) -> None:
        self._log = decisions
        self._clock = clock
        self._bounds = bounds
        self._archive = archive
        self._followed = followed
        self._is_clock_sure = is_clock_sure
        self._begun: tuple[int, datetime | None] = (0, None)
        self._trouble = ""
        self._failures = 0
        self._again_at = 0.0
        self._moved: dict[int, Moved] = {}
        self.log_bytes = 0
        """What the log, the keys of its commitments and its blocks take here, as of the last ``tick``."""

    @property
    def directory(self) -> Path:
        """Where the log lies."""
        return self._log.directory

    @property
    def cold_bytes(self) -> int:
        """What was moved away."""
        return sum(one.bytes for one in self._moved.values())

    @property
    def moved(self) -> int:
        """How many epochs lie in the archive."""
        return len(self._moved)

    async def look(self) -> None:
        """Rule 4, for the start. Raises ``Unavailable``, ``CorruptState``."""
        await self._count(exactly=True)
        await self._refuse_if_full()

    async def tick(self) -> None:
        """Rules 1 to 4, once. Raises ``NodeError`` where an epoch cannot be closed, or the disk not read."""
        await self._count()
        try:
            await self._close_if_due()
        finally:
            await self._move_what_may()
            await self._refuse_if_full()

    def health(self) -> Check:
        """What was moved, and why more was not."""
        count = len(self._moved)
        if self._trouble:
            return Check(CHECK, "warn", self._trouble, observed=count, unit="epochs moved")
        said = "" if self._archive else "closed epochs stay here: archive.to names no place for them"
        return Check(CHECK, "pass", said, observed=count, unit="epochs moved")

    # --- closing ----------------------------------------------------------------------------------

    async def _count(self, *, exactly: bool = False) -> None:
        await (self._log.folder.count() if exactly else self._log.folder.count_if_stale())
        self.log_bytes = self._log.folder.size_bytes
        self._moved = await on_disk(_moved, self._log.directory)

    async def _close_if_due(self) -> None:
        age_s = await self._age_s()
        epoch = Standing(self._log.size(), self._log.folder.running_bytes, age_s)
        why = ends_for(epoch, self._bounds)
        if why == "bytes":
            await self._count(exactly=True)
            epoch = Standing(self._log.size(), self._log.folder.running_bytes, age_s)
            why = ends_for(epoch, self._bounds)
        if why and await self._log.end_epoch(why):
            log.info("event=epoch_closed reason=%s entries=%d bytes=%d", why, epoch.entries, epoch.bytes)
            await self._count(exactly=True)

    async def _age_s(self) -> float | None:
        if not self._bounds.epoch_days or not self._is_clock_sure():
            return None
        number = self._log.epoch
        if self._begun[0] != number or self._begun[1] is None:
            self._begun = (number, await self._log.begun_at())
        began = self._begun[1]
        return None if began is None else (self._clock.now() - began).total_seconds()

    # --- moving -----------------------------------------------------------------------------------

    async def _move_what_may(self) -> None:
        if self._archive is None or self._clock.monotonic() < self._again_at:
            return
        is_full = bool(self._bounds.log_bytes) and self.log_bytes >= self._bounds.log_bytes
        here = [one for one in await on_disk(_here, self._log.directory) if one < self._log.epoch]
        trouble = ""
        for number in movable(here, 0 if is_full else self._bounds.kept_here, self._followed()):
            if not self._log.folder.is_swept(epochs.folder_of(self._log.directory, number)):
                continue
            if self._is_too_much(number):
                trouble = (
                    f"epoch {number} of the decision log stays here: with it the archive would have more "
                    f"than disk.cold_bytes ({self._bounds.cold_bytes})"
                )
                break
            try:
                moved = await move(self._log.directory, number, self._archive, self._clock)
            except NodeError as exc:
                trouble = f"epoch {number} of the decision log cannot be moved: {exc}"
                if isinstance(exc, Unavailable):
                    break
                continue  # this one stays; the others need not wait for it
            log.info("event=epoch_moved epoch=%d files=%d bytes=%d", number, moved.files, moved.bytes)
            await self._log.folder.changed(epochs.folder_of(self._log.directory, number))
            await self._count()
            break  # one at a time: the running epoch is looked at in between
        self._tell(trouble)

    def _is_too_much(self, number: int) -> bool:
        if not self._bounds.cold_bytes or number in self._moved:
            return False
        size = self._log.folder.bytes_of(epochs.folder_of(self._log.directory, number))
        return self.cold_bytes + size > self._bounds.cold_bytes

    def _tell(self, trouble: str) -> None:
        if trouble and trouble != self._trouble:
            log.warning("event=epoch_not_moved %s", trouble)
        self._trouble = trouble
        if not trouble:
            self._failures = 0
            return
        self._again_at = self._clock.monotonic() + min(_AGAIN_S * 2**self._failures, _AGAIN_MAX_S)
        self._failures = min(self._failures + 1, 16)

    async def _refuse_if_full(self) -> None:
        bound = self._bounds.log_bytes
        if bound and self.log_bytes >= bound:
            await self._count(exactly=True)
        why = ""
        if bound and self.log_bytes >= bound:
            why = (
                f"the decision log has {self.log_bytes} bytes, and disk.log_bytes is {bound}: entries are "
                "refused; name a place for closed epochs (archive.to), or raise the bound"
            )
        self._log.refuse(why)


def _here(directory: Path) -> list[int]:
    """The closed epochs of which tiles are here."""
    return [
        number
        for number in epochs.closed(directory)
        if (epochs.folder_of(directory, number) / "tile").is_dir()
    ]


def _moved(directory: Path) -> dict[int, Moved]:
    found = {number: marker(epochs.folder_of(directory, number)) for number in epochs.closed(directory)}
    return {number: one for number, one in found.items() if one is not None}
