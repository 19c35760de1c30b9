"""Mends a log that nobody writes now: before it is opened, and when its operator asks for it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from pathlib import Path

from node.audit.decisions import epochs
from node.audit.decisions.disk import locked
from node.audit.log import journal
from node.audit.log.checked import CheckedFolder, KeysOf
from node.audit.log.reader import FolderSource
from node.audit.upkeep.mending import Copy
from node.audit.upkeep.upkeep import HighWater, Upkeep
from node.core.clock import Clock
from node.core.errors import CorruptState, NodeError, NotFound, Unavailable
from node.core.files import DISK, translated

log = logging.getLogger("neuroswarm.log")


async def make_ready(
    directory: Path, keys: KeysOf, high_water: HighWater, copies: Sequence[Copy], clock: Clock
) -> None:
    """Mend what a start has to read of the log in ``directory``. What cannot be mended is left to whoever
    opens the log: it is refused there, with a way out."""
    try:
        if not await asyncio.to_thread(_is_begun, directory):
            return
        with locked(directory):
            await Upkeep("log", directory, lambda: None, keys, high_water, copies, clock).edge()
            await asyncio.to_thread(_mend_journal, directory, keys)
    except (NodeError, OSError) as exc:
        log.warning("event=log_not_mended folder=%s reason=%s", directory, exc)


def _mend_journal(directory: Path, keys: KeysOf) -> None:
    """Where it is damaged and nothing is lost with it."""
    checkpoint = CheckedFolder(FolderSource(directory), keys).newest().checkpoint
    place = directory / "journal"
    try:
        journal.find(DISK, place, checkpoint.origin)
    except FileNotFoundError:
        return
    except CorruptState as exc:
        if journal.mend(DISK, place, checkpoint.origin, checkpoint.size):
            log.warning("event=log_mended log=%s what=journal reason=%s", checkpoint.origin, exc)


def _is_begun(directory: Path) -> bool:
    """Whether a log lies there, and is not on its way to its place among the closed ones."""
    return (directory / "tile").is_dir() and epochs.pending(directory) is None


async def repair(
    directory: Path,
    keys: KeysOf,
    high_water: HighWater,
    copies: Sequence[Copy],
    clock: Clock,
    progress: Callable[[int], None],
) -> Upkeep:
    """Look at every file of the log in ``directory`` and its closed epochs, and mend what can be mended; what
    came of it. Raises ``NotFound`` (no log), ``Unavailable`` (a node uses it, or the disk says no)."""
    if not await asyncio.to_thread(directory.is_dir):
        raise NotFound(f"there is no log in {directory}")
    with translated(f"the log in {directory} cannot be read"), locked(directory):
        if await asyncio.to_thread(epochs.pending, directory) is not None:
            raise Unavailable(f"the log in {directory} is between two epochs; start the node once")
        upkeep = Upkeep("log", directory, lambda: None, keys, high_water, copies, clock)
        await upkeep.whole(progress)
        return upkeep
