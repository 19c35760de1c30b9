"""``neuroswarm doctor --fix``: brings a damaged data directory into order, and says what is lost by CID.

In this order, each step on its own and repeatable:
1. Files: of a damaged one, and of a damaged WAL, a copy is kept under ``damaged/``; what can be made anew is
   moved away, of the others every whole row goes into a new file (``node.store.salvage``).
2. Blocks that are damaged in a sound file are let go, so that a good copy may take their place.
3. What is missing is asked for: in WALs that were kept, in the files that the operator names, at the daemon
   and the peers, then in the exports, whose entries come back as texts under new CIDs. What was withdrawn
   here, what a tombstone is about in the store or in the decision log, never comes back.
4. What is still missing is noted (``loss.json``), until ``neuroswarm doctor --accept-loss``.

Cut off at any moment and run again, it ends as if it had run once: what is lost is noted before the damaged
file is replaced and before a damaged block is let go, and struck from the note when it is back.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from node.app.data_files import (
    BLOCKS,
    DERIVED,
    FILES,
    STATE_FILE,
    keep_torn_wals,
    kept_wals,
    mend,
    put_derived_aside,
    stamp_of,
)
from node.app.engines import mirror_of
from node.app.found_files import FileBlocks
from node.app.guard import exported_cids, guard_of
from node.app.ipfs import open_ipfs
from node.app.links import Links
from node.app.memory import open_kept
from node.app.operator_desk import LaterSemantics
from node.app.storage import EXPORT, Ground, lock_data, open_ground, router_of
from node.app.transfer import kept_export
from node.app.transfer.fetched_blocks import Fetcher
from node.app.transfer.portable import Keeping, PortableIndex
from node.app.transfer.starter import index_path
from node.audit.decisions.log import DecisionLog
from node.cache.keys import keyword_key
from node.core.clock import Clock, SystemClock
from node.core.errors import CorruptState, Misconfigured, NodeError, NotFound
from node.core.identity import Identity
from node.core.ipld.cid import Cid
from node.core.ports import Gets
from node.core.record import AnswerRecord, decode, format_time
from node.core.settings import Settings
from node.pipeline.class_limit import class_limit
from node.store import guard as loss
from node.store.record_keys import RecordKeys
from node.store.record_rules import LIVE, LOCAL
from node.store.record_schema import schema as block_schema
from node.store.salvage import files
from node.store.salvage.blocks import Rebuilding, Rebuilt
from node.store.salvage.tables import Salvage, Take, tables_of
from node.store.salvage.wal_blocks import WalBlocks

_WITH_FILE = "records were lost with a damaged file"


@dataclass(slots=True)
class Fixed:
    """``done``: (file or place, what came of it, in words); ``lost``: CIDs that nobody had."""

    done: list[tuple[str, str, str]] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    unnamed: int | None = 0
    """How many more are lost whose names nobody knows; None where nobody knows how many."""
    is_state_mended: bool = False
    is_torn: bool = False
    """A write-ahead log was damaged."""

    def say(self, what: str, outcome: str, text: str) -> None:
        self.done.append((what, outcome, text))


async def fix(settings: Settings, sources: Sequence[Path] = ()) -> Fixed:
    """See the module. ``sources``: folders, knowledge indexes and CARs to look in. Raises ``Misconfigured``
    where a node uses the directory, ``CorruptState`` for what this cannot mend (keys, the log), and
    ``Unavailable``."""
    clock, fixed = SystemClock(), Fixed()
    async with AsyncExitStack() as stack:
        try:
            folder = await asyncio.to_thread(lock_data, settings, stack)
        except Misconfigured as exc:
            raise Misconfigured(
                f"nothing was mended: {exc}; a node that runs has to be stopped first"
            ) from exc
        lost = await asyncio.to_thread(_files, folder, clock, fixed)
        ground = await open_ground(settings, clock, stack, is_locked=True)
        if fixed.is_state_mended:
            await (await _portable(ground)).note_imported(index_path(settings))
        lost |= dict.fromkeys(await _missing(ground, fixed))
        await _bring_back(ground, list(lost), sources, fixed)
    return fixed


def _files(folder: Path, clock: Clock, fixed: Fixed) -> dict[Cid, None]:
    """Step 1, blocking; which live records are lost with their blocks."""
    stamp = stamp_of(clock)
    for kept in keep_torn_wals(folder, stamp):  # looking at a file is enough for SQLite to drop it
        fixed.say(kept.name, "kept", "a damaged write-ahead log, whose last changes may be lost")
        fixed.is_torn = True
    lost: dict[Cid, None] = {}
    for name in (BLOCKS, *FILES, *DERIVED):
        path = folder / name
        trouble = files.problem(path)
        if not trouble:
            fixed.say(name, "sound", "nothing is wrong with it" if path.exists() else "there is none")
        elif name in DERIVED:
            kept = put_derived_aside(path, stamp)
            fixed.say(name, "rebuilt", f"{trouble}; it is made anew by the next start (kept: {kept})")
        elif name == BLOCKS:
            done = _blocks(folder, stamp, clock)
            lost = dict.fromkeys(done.value.lost)
            said = f"{done.value.whole + done.value.from_block} records are whole, {len(lost)} are not"
            fixed.say(name, "repaired", f"{trouble}; {said} (kept: {done.kept})")
        else:
            rows = mend(path, stamp)
            fixed.is_state_mended |= name == STATE_FILE
            fixed.say(
                name, "repaired", f"{trouble}; {rows.value} whole rows brought over (kept: {rows.kept})"
            )
    return lost


def _blocks(folder: Path, stamp: str, clock: Clock) -> files.Mended[Rebuilt]:
    identity = Identity.load_or_create(folder / "keys", clock.now())
    keys = RecordKeys.open(folder / "keys" / "record_keys")
    try:
        schema = block_schema(keys, keyword_key)
        with (folder / BLOCKS).open("rb") as file:
            version = int.from_bytes(file.read(100)[60:64], "big")
        if 0 < version < schema.version:
            raise CorruptState(
                f"{folder / BLOCKS} is damaged and of the older format {version}, whose private records are "
                "not sealed; restore it from a backup"
            )

        def noted(found: Rebuilt) -> Rebuilt:
            if found.lost:
                _add_loss(folder, found.lost, clock)
            return found

        def fill(connection: sqlite3.Connection) -> tuple[Take, Callable[[Salvage], Rebuilt]]:
            made = Rebuilding(connection, tables_of(schema), keys, identity.root, keyword_key)
            return made.take, lambda done: noted(made.finish(done))

        return files.mend(folder / BLOCKS, schema, stamp, fill)
    finally:
        keys.close()


def _add_loss(folder: Path, lost: Iterable[Cid], clock: Clock) -> None:
    cids = tuple(map(str, lost))
    loss.add_loss(folder, loss.Loss(format_time(clock.now()), _WITH_FILE, cids))


async def _missing(ground: Ground, fixed: Fixed) -> list[Cid]:
    """Step 2, and what was noted as lost, or is known to have been stored and is not here."""
    guard, scan = guard_of(ground)
    damaged = dict[Cid, None]()
    while (found := await scan.round()).damaged and not damaged.keys() >= set(found.damaged):
        await asyncio.to_thread(_add_loss, ground.data_dir, found.damaged, ground.clock)
        for cid in found.damaged:
            await ground.store.blocks.delete(cid)
        damaged |= dict.fromkeys(found.damaged)
    if damaged:
        fixed.say("blocks", "let go", f"{len(damaged)} blocks were damaged")
    named = await exported_cids(ground.data_dir)
    is_short = await guard.falls_short()
    await guard.look(partial(exported_cids, ground.data_dir), is_torn=fixed.is_torn)
    if is_short:
        (ground.data_dir / loss.HEAD).unlink(missing_ok=True)  # the head is made anew
    noted = await asyncio.to_thread(loss.read_loss, ground.data_dir)
    before = [Cid.parse(cid) for cid in (noted.cids if noted else ())]
    return [*damaged, *before, *await ground.store.unknown(named)]


async def _bring_back(ground: Ground, lost: list[Cid], sources: Sequence[Path], fixed: Fixed) -> None:
    """Steps 3 and 4."""
    folder, store = ground.data_dir, ground.store
    noted = await asyncio.to_thread(loss.read_loss, folder)
    for certificate in ground.identity.certificates():
        await store.records.add(certificate)
    given = await asyncio.to_thread(FileBlocks.open, sources)
    named = set(lost)
    if noted is not None and noted.unnamed != 0:
        lost += await store.unknown(await asyncio.to_thread(given.names))
    lost = [cid for cid in dict.fromkeys(lost) if not await _is_here(ground, cid)]
    gone = await store.gone_for_good(lost)
    if lost and isinstance(ground.decisions, DecisionLog):
        gone |= {Cid.parse(cid) for cid in await ground.decisions.tombstoned([str(cid) for cid in lost])}
    if gone:
        fixed.say("tombstones", "kept", f"{len(gone)} of them were withdrawn here, and stay so")
    wanted = {cid: None for cid in lost if cid not in gone}
    asked = wanted.keys()
    if wanted:
        wals = await asyncio.to_thread(_of_wals, ground)
        for name, blocks in _places(given, wals, await _outside(ground), ground.clock):
            back = await _from_blocks(ground, list(wanted), blocks)
            if back:
                fixed.say(name, "brought back", f"{len(back)} records, as they were")
            wanted = {cid: None for cid in wanted if cid not in back}
    if wanted:
        portable = await _portable(ground)
        export = folder / EXPORT
        for path in (*given.indexes, kept_export.kept_beside(export), export):
            back = await portable.bring_back(path, wanted.keys())
            if back:
                fixed.say(str(path), "brought back", f"{len(back)} answers, as texts under new CIDs")
            wanted = {cid: None for cid in wanted if cid not in back}
    came = len(asked - wanted.keys() - named)
    unnamed = noted.unnamed if noted is not None else 0
    unnamed = None if unnamed is None else max(0, unnamed - came)
    why = noted.why if noted is not None else _WITH_FILE
    at = format_time(ground.clock.now())
    await _note(ground, loss.Loss(at, why, tuple(str(cid) for cid in wanted if cid in named), unnamed), fixed)


async def _is_here(ground: Ground, cid: Cid) -> bool:
    try:
        return (await ground.store.records.get(cid)).state == LIVE
    except (NotFound, CorruptState):
        return False


def _of_wals(ground: Ground) -> WalBlocks:
    keys = ground.store.duty.keys
    return WalBlocks.open(kept_wals(ground.data_dir), block_schema(keys, keyword_key), keys)


def _places(given: FileBlocks, wals: WalBlocks, outside: Gets | None, clock: Clock) -> list[tuple[str, Gets]]:
    """Who is asked for blocks, in order. A backup joins here: whatever gives a block by its CID."""
    asked: list[tuple[str, Gets]] = [("the damaged write-ahead log", wals)] if len(wals) else []
    asked += [("the files given", given)] if given.count else []
    return asked if outside is None else [*asked, ("daemon and peers", Fetcher(outside, clock))]


async def _outside(ground: Ground) -> Gets | None:
    settings = ground.settings
    if not settings.ipfs.kubo_url and not settings.peers.urls:
        return None
    mirror = mirror_of(ground)
    ipfs = await open_ipfs(ground, None)
    daemon = None if mirror is None else mirror.daemon
    return Links(settings, ground.http, ipfs.names, daemon, ground.clock).blocks


async def _from_blocks(ground: Ground, wanted: Sequence[Cid], blocks: Gets) -> set[Cid]:
    """Records of our own as they were, from whoever has their blocks."""
    back: set[Cid] = set()
    for cid in wanted:
        try:
            data = await blocks.get(cid)
            if Cid.of(data) != cid:
                continue
            record = await asyncio.to_thread(decode, data)
            if record.issuer != ground.identity.root:
                continue
            keyword = keyword_key(record.query) if isinstance(record, AnswerRecord) else None
            stored = await ground.store.records.add(record, origin=LOCAL, keyword_key=keyword)
        except NodeError:
            continue
        if stored.state == "live":
            back.add(cid)
    return back


async def _portable(ground: Ground) -> PortableIndex:
    router, semantics = router_of(ground.settings, ground.adapters), LaterSemantics()
    kept = await open_kept(ground, semantics, None)
    return PortableIndex(
        Keeping(ground.store.records, kept.rememberer, semantics, ground.state),
        router,
        ground.clock,
        ground.identity,
        publish=ground.settings.sharing.publish,
        class_limit=class_limit(router, ground.clock, ground.zone),
    )


async def _note(ground: Ground, still: loss.Loss, fixed: Fixed) -> None:
    """Step 4. The export is made anew at the next start; what it says of lost records is kept beside it."""
    folder = ground.data_dir
    fixed.lost, fixed.unnamed = list(still.cids), still.unnamed
    if still.cids or still.unnamed != 0:
        await asyncio.to_thread(loss.write_loss, folder, still)
    else:
        await asyncio.to_thread(loss.accept_loss, folder)
    await guard_of(ground)[0].mark()
    export = folder / EXPORT
    missing = {Cid.parse(cid) for cid in still.cids}

    async def lost(cids: Sequence[Cid]) -> set[Cid]:
        return missing & set(cids)

    await kept_export.keep_lost(export, lost)
    await kept_export.drop(export)
    await ground.store.scrub()
