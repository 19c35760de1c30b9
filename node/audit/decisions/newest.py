"""When the newest published entry of the log in a folder was made: what the clock is compared with at a
start. Reads only, also a log that is damaged: whether it is one, whoever opens it says."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

from node.audit.log.reader import FolderSource, LogReader
from node.audit.tlog.leaf import read_leaf
from node.core.errors import NodeError
from node.core.record import UNIX_EPOCH
from node.core.signed_note import Checkpoint


async def newest_time(directory: Path) -> datetime | None:
    """None where nothing is published yet, or can be read."""
    reader = LogReader(FolderSource(directory))
    try:
        size = Checkpoint.of_note(await reader.checkpoint()).size
        if not size:
            return None
        [leaf] = await reader.entries(size - 1, 1, size)
        return UNIX_EPOCH + timedelta(microseconds=read_leaf(leaf).time_us)
    except (NodeError, OverflowError):
        return None
