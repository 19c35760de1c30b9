"""Kept predecessors of the export: files beside it that begin with its name. They lose what is erased."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path

import orjson

from node.core.errors import NodeError, Rejected
from node.core.files import DISK, put, translated

log = logging.getLogger("neuroswarm.erase")

_BYTES_MAX = 2**30


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
                _strike(path, frozenset(cids))
            except NodeError as exc:
                log.warning("event=predecessor_keeps_erased file=%s reason=%s", path, exc)

    await asyncio.to_thread(work)


def names_any(path: Path, cids: Sequence[str]) -> bool:
    """Whether one of these CIDs stands in the file. Blocking. Raises ``Unavailable``."""
    with translated(f"{path} cannot be read"):
        data = DISK.read(path, _BYTES_MAX)
    return any(cid.encode() in data for cid in cids)


def _strike(path: Path, gone: frozenset[str]) -> None:
    """Raises ``Rejected``, ``Unavailable``."""
    if not names_any(path, sorted(gone)):
        return
    with translated(f"{path} cannot be read"):
        data = DISK.read(path, _BYTES_MAX)
    try:
        index = orjson.loads(data)
        index["entries"] = [one for one in index["entries"] if one.get("cid") not in gone]
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError) as exc:
        raise Rejected(f"{path} is no index file any more: delete it") from exc
    put(path, orjson.dumps(index))
