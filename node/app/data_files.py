"""Which SQLite files a data directory has beside the store of records, and what is done with a damaged one.

What is made from what is kept elsewhere is put aside and made anew; of the others every whole row goes into a
new file. ``renewed`` does so at the start for those files that nobody has to be asked about.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeVar

from node.core.clock import Clock
from node.core.errors import Damaged
from node.core.files import translated
from node.knowledge.schema import MADE
from node.knowledge.schema import SCHEMA as DOCUMENTS
from node.knowledge.struck import strike
from node.knowledge.used import SCHEMA as USED
from node.peers.store.schema import SCHEMA as PEERS
from node.store.backup.snapshot import format_of
from node.store.backup.strike import Others
from node.store.hit_labels import SCHEMA as LABELS
from node.store.imported_blocks import SCHEMA as FOREIGN
from node.store.ipns_records import SCHEMA as NAMES
from node.store.record_schema import FORMAT as BLOCKS_FORMAT
from node.store.record_schema import PAGE_BYTES
from node.store.refuted_answers import SCHEMA as REFUTED
from node.store.salvage import files
from node.store.schema import Schema
from node.store.state import SCHEMA as STATE

log = logging.getLogger("neuroswarm")

STATE_FILE = "state.sqlite"
BLOCKS = "blocks.sqlite"
DOCUMENTS_FILE = "documents.sqlite"
STRUCK: Others = {DOCUMENTS_FILE: strike}
"""Files beside those of records out of which backups take what was erased."""
DERIVED = ("head_blocks.sqlite", "log_blocks.sqlite")
"""Made anew by the next start from what is kept elsewhere."""
_STATES_OF: dict[str, tuple[str, ...]] = {
    "head_blocks.sqlite": ("head.json",),
    "log_blocks.sqlite": ("log_blocks.json", "publications_blocks.json"),
}
"""What says how far a derived file has come."""
_COUNTED = dict.fromkeys(("records", "bytes", "keys", "tombstones", "statements"), 0)
FILES: dict[str, tuple[Schema, files.Fill[int]]] = {
    STATE_FILE: (STATE, files.all_rows(STATE)),
    "names.sqlite": (NAMES, files.all_rows(NAMES)),
    "labels.sqlite": (LABELS, files.all_rows(LABELS)),
    "refuted.sqlite": (REFUTED, files.all_rows(REFUTED)),
    "foreign.sqlite": (FOREIGN, files.all_rows(FOREIGN, derived=("total",))),
    DOCUMENTS_FILE: (DOCUMENTS, files.all_rows(DOCUMENTS, derived=MADE, reset={"document": {"is_owed": 1}})),
    "used_documents.sqlite": (USED, files.all_rows(USED)),
    "peers.sqlite": (PEERS, files.all_rows(PEERS, derived=("total", "tally"), reset={"root": _COUNTED})),
}


T = TypeVar("T")


def formats(folder: Path) -> dict[str, tuple[int, int]]:
    """Of each SQLite file in a folder that no node uses: its format, and the newest that this version reads.
    Blocking. Raises ``CorruptState``."""
    known = {name: schema.version for name, (schema, _) in FILES.items()} | {BLOCKS: BLOCKS_FORMAT}
    return {
        name: (format_of(folder / name), newest) for name, newest in known.items() if (folder / name).exists()
    }


def stamp_of(clock: Clock) -> str:
    """What the copies of damaged files begin with."""
    return clock.now().strftime("%Y%m%dT%H%M%SZ")


def mend(path: Path, stamp: str) -> files.Mended[int]:
    """Bring every whole row of one of ``FILES`` into a new file; how many these are. Blocking. Raises
    ``Unavailable``."""
    schema, fill = FILES[path.name]
    return files.mend(path, schema, stamp, fill)


def put_derived_aside(path: Path, stamp: str) -> Path:
    """Move one of ``DERIVED`` away with what says how far it has come; where it lies now. Blocking. Raises
    ``Unavailable``."""
    for state in _STATES_OF.get(path.name, ()):
        (path.parent / state).unlink(missing_ok=True)
    return files.put_aside(path, stamp)


def keep_torn_wals(folder: Path, stamp: str) -> list[Path]:
    """Copies of the WALs that a kill has left and that were damaged since, to be made before SQLite opens
    them: it drops what lies behind the damage without a word. Of the store of records each is kept, for the
    decision log says what it lacks then; of others those with a whole commit behind the damage, for damage
    at the very end is what a power cut leaves. Blocking. Raises ``Unavailable``."""
    kept: list[Path] = []
    page_bytes = {BLOCKS: PAGE_BYTES} | {name: schema.page_bytes for name, (schema, _) in FILES.items()}
    for name, usual in page_bytes.items():
        torn = files.torn_wal(folder / name, usual)
        if torn is not None and (torn.has_commit or name == BLOCKS):
            kept.append(files.keep_wal(folder / name, stamp))
            log.warning("event=wal_damaged file=%s kept=%s", files.wal_of(folder / name), kept[-1])
    return kept


def kept_wals(folder: Path) -> list[Path]:
    """Those of the store of records, the newest ones last. Blocking."""
    return sorted((folder / files.DAMAGED).glob(f"*-{BLOCKS}-wal"))


def drop_kept_wal(kept: Sequence[Path]) -> None:
    """Of the store of records: nothing is missing there. Blocking. Raises ``Unavailable``."""
    for path in set(kept) - set(of_others(kept)):
        with translated(f"{path} cannot be deleted"):
            path.unlink(missing_ok=True)


def of_others(kept: Sequence[Path]) -> list[Path]:
    """Those that are not of the store of records."""
    return [path for path in kept if not path.name.endswith(f"-{BLOCKS}-wal")]


async def renewed(path: Path, clock: Clock, begin: Callable[[], Awaitable[T]]) -> tuple[T, bool]:
    """What ``begin`` opens, and whether the file was damaged and had to be made anew for it. Raises what
    ``begin`` raises otherwise."""
    try:
        return await begin(), False
    except Damaged as exc:
        if path.name in DERIVED:
            kept = await asyncio.to_thread(put_derived_aside, path, stamp_of(clock))
            log.warning("event=file_renewed file=%s kept=%s reason=%s", path, kept, exc)
        else:
            done = await asyncio.to_thread(mend, path, stamp_of(clock))
            log.warning(
                "event=file_renewed file=%s rows=%d kept=%s reason=%s", path, done.value, done.kept, exc
            )
        return await begin(), True
