"""Kept predecessors of the export: files beside it that begin with its name. They lose what is erased."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path

from node.core.errors import NodeError
from node.store.backup.index_entries import take_out

log = logging.getLogger("neuroswarm.erase")


def beside(export: Path) -> list[Path]:
    """The predecessors of an export, in order. Blocking."""
    found = sorted(export.parent.glob(f"{export.stem}*"))
    return [path for path in found if path.name != export.name and path.is_file()]


async def forget(export: Path, cids: Sequence[str]) -> None:
    """Take entries out of the predecessors by their CIDs. One that cannot be read is told, and stays: an
    erasure does not end there."""

    def work() -> None:
        for path in beside(export):
            try:
                take_out(path, frozenset(cids))
            except NodeError as exc:
                log.warning("event=predecessor_keeps_erased file=%s reason=%s", path, exc)

    await asyncio.to_thread(work)
