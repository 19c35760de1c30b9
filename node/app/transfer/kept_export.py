"""What an export says of records that the store has lost is kept beside it when the export is written anew.

``knowledge-index.kept.json`` is a file like the export: one list of entries that may be imported. It holds
only what the store cannot account for: records that it has no row of, or whose block is damaged or known to
be lost. What was withdrawn, has expired or was erased is accounted for, and is left out each time the file is
written; so an erasure reaches it as it reaches the export. The file is gone when nothing is left in it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from pathlib import Path

from node.app.transfer import index_file
from node.app.transfer.index_entry import IndexEntry, read_place
from node.app.transfer.index_file import OpenIndex
from node.app.transfer.index_records import record_cid
from node.app.transfer.json_scan import Part
from node.core.errors import CorruptState, NotFound, Unavailable
from node.core.ipld.cid import Cid

Lost = Callable[[Sequence[Cid]], Awaitable[set[Cid]]]
"""Those of these records that the store cannot account for."""

ENTRIES_MAX = 100_000
_LINE_BYTES_MAX = 4 * 2**20


def kept_beside(export: Path) -> Path:
    """Where what was lost is kept."""
    return export.with_suffix(".kept.json")


def entries(path: Path) -> list[tuple[Cid, IndexEntry]]:
    """The entries of a file that name a record, at most ``ENTRIES_MAX``; of a damaged export those whose own
    line is whole. Blocking. Raises ``Unavailable``."""
    found: list[tuple[Cid, IndexEntry]] = []
    for entry in _read(path):
        cid = record_cid(entry)
        if cid is not None:
            found.append((cid, entry))
            if len(found) >= ENTRIES_MAX:
                break
    return found


def _read(path: Path) -> Iterator[IndexEntry]:
    try:
        with OpenIndex.open(path) as index:
            yield from (place.entry for place in index.places() if place.entry is not None)
    except NotFound:
        return
    except CorruptState:
        yield from _lines(path)


def _lines(path: Path) -> Iterator[IndexEntry]:
    """An export has one entry a line."""
    try:
        with path.open("rb") as file:
            while line := file.readline(_LINE_BYTES_MAX):
                raw = line.strip().rstrip(b",")
                if raw.startswith(b"{") and raw.endswith(b"}"):
                    place = read_place(0, Part(0, len(raw), raw, raw[0]), None)
                    if place.entry is not None:
                        yield place.entry
    except OSError as exc:
        raise Unavailable(f"{path} cannot be read: {exc.strerror or exc}") from exc


def _by_cid(path: Path) -> dict[Cid, IndexEntry]:
    return dict(entries(path))


async def keep_lost(export: Path, lost: Lost, *, held: Iterable[Cid] = ()) -> int:
    """Before ``export`` is replaced or deleted: keep beside it what it and the kept file say of records that
    are lost; ``held``: what the new export holds. How many are kept. Raises ``Unavailable``."""
    beside = kept_beside(export)
    named: dict[Cid, IndexEntry] = {}
    for path in (beside, export):
        named |= await asyncio.to_thread(_by_cid, path)
    there = set(held)
    missing = await lost([cid for cid in named if cid not in there])
    kept = [entry for cid, entry in named.items() if cid in missing][-ENTRIES_MAX:]
    if kept:
        await asyncio.to_thread(index_file.write, beside, kept, None)
    else:
        await drop(beside)
    return len(kept)


async def drop(path: Path) -> None:
    """Delete a copy of records that is written anew later. Raises ``Unavailable``."""
    try:
        await asyncio.to_thread(path.unlink, missing_ok=True)
    except OSError as exc:
        raise Unavailable(f"{path}, a copy of records, cannot be deleted: {exc.strerror}") from exc
