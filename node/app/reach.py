"""How far an erasure reaches: for each place where a copy may lie, whether it is gone there, and if not, why.

Reached at once: this node's own files, and the operator's IPFS daemon, which is told to unpin and to delete.
What was erased stands in ``data/erased`` (``backup``); how much of it a daemon has been told of, in
``state.sqlite`` by the daemon's peer id, so that one that is away hears of it later. Out of reach are copies
that others made: caches on the way, other nodes, files of keys, what a restore moved aside.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from node.app.backup import TELL_S, Backups
from node.app.storage import EXPORT, Ground
from node.app.transfer import predecessors
from node.core.caller import SCOPE_PUBLIC
from node.core.errors import NodeError
from node.core.ipld.cid import Cid
from node.ipfs.kubo import KuboBlockStore
from node.ipfs.mirror import Mirror
from node.store.backup.folder import ERASED, BackupFolder, read_erased
from node.store.backup.index_entries import names_any
from node.store.backup.log_files import ASIDE
from node.store.backup.purging import is_pending
from node.store.salvage.files import DAMAGED

log = logging.getLogger("neuroswarm.erase")

TOLD_AT_ONCE = 1_000
"""Blocks that a daemon is told to delete in one go; the rest at the next."""
TICK_S = 60
_META = "erased-at-daemon "
REACHED, ABSENT, LATER, UNREACHED = "reached", "not there", "later", "not reached"


@dataclass(frozen=True, slots=True)
class Place:
    """``state``: reached, not there, later (``why`` says when) or not reached (``why``)."""

    place: str
    state: str
    why: str = ""

    def told(self) -> dict[str, Any]:
        """As JSON."""
        return {"place": self.place, "state": self.state, "why": self.why}


@dataclass(slots=True)
class Reach:
    """Build one for each open data directory."""

    ground: Ground
    backups: Backups
    daemon: KuboBlockStore | None
    mirror: Mirror | None = None
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)

    @classmethod
    def of(cls, ground: Ground, backups: Backups, mirror: Mirror | None = None) -> Reach:
        """``mirror``: what a running node keeps in the daemon."""
        ipfs = ground.settings.ipfs
        daemon = None if mirror is None else mirror.daemon
        if daemon is None and ipfs.kubo_url:
            daemon = KuboBlockStore(ipfs.kubo_url, ground.http, ground.clock, timeout_s=ipfs.timeout_s)
        return cls(ground, backups, daemon, mirror)

    async def tick(self) -> None:
        """Tell the daemon what it has not heard of yet. Raises ``NodeError``."""
        if self.daemon is not None:
            await self._tell_daemon(self.daemon)

    async def places(self, cids: Sequence[str], scopes: Sequence[str]) -> list[Place]:
        """Go where records that were erased just now may lie, and say how far that got. Never raises but
        ``Unavailable`` of the own disk."""
        aside = await asyncio.to_thread(self._beside, cids)
        try:
            async with asyncio.timeout(TELL_S):
                backups = await asyncio.to_thread(self._in_backups)
        except TimeoutError:
            backups = [Place("backups", UNREACHED, "a folder does not answer; they are told when it does")]
        found = [
            Place("this node: blocks, versions, verdicts, vectors, documents, the export", REACHED),
            Place(
                "the decision log, closed epochs too, wherever they lie",
                REACHED,
                "its entries hold commitments, whose keys are destroyed",
            ),
            await self._at_daemon(),
            *aside,
            *backups,
        ]
        if SCOPE_PUBLIC in scopes:
            within_s = self.ground.settings.erasure.within_s
            found += [
                Place("caches before the gateway", LATER, f"they keep a block for {within_s} s at most"),
                Place(
                    "other nodes", UNREACHED, "they are told by the tombstone; nobody can make them delete"
                ),
            ]
        found.append(
            Place(
                "exported files, snapshots of the file system", UNREACHED, "this node does not know of them"
            )
        )
        return found

    # --- the daemon -------------------------------------------------------------------------------

    async def _at_daemon(self) -> Place:
        if self.daemon is None:
            return Place("the IPFS daemon", ABSENT, "none is configured (ipfs.kubo_url)")
        try:
            left = await self._tell_daemon(self.daemon)
        except NodeError as exc:
            return Place("the IPFS daemon", UNREACHED, f"{exc}; it is told again until it hears")
        if left:
            return Place("the IPFS daemon", LATER, f"{left} blocks are still to be deleted there")
        return Place(
            "the IPFS daemon",
            REACHED,
            "unpinned and deleted, unless somebody else has it pinned there; the hash of a public question "
            "stays in older heads until the daemon collects garbage",
        )

    async def _tell_daemon(self, daemon: KuboBlockStore) -> int:
        """How many it has still to be told of. Raises ``NodeError``."""
        async with self._one_at_a_time:
            erased = await asyncio.to_thread(read_erased, self.ground.data_dir / ERASED)
            if not erased:
                return 0
            # A block that the mirror is about to send would lie there after it was deleted.
            is_final = self.mirror is not None and not await self.mirror.waiting()
            await daemon.connect()
            key = _META + await daemon.client.repo_id()
            told = int(await self.ground.state.get_meta(key) or 0)
            for at in range(told, min(len(erased), told + TOLD_AT_ONCE)):
                cid = Cid.find(erased[at], any_hash=True)
                if cid is not None:
                    await daemon.remove(cid)
                if is_final:
                    await self.ground.state.set_meta(key, str(at + 1))
            return max(0, len(erased) - told - TOLD_AT_ONCE)

    # --- files ------------------------------------------------------------------------------------

    def _beside(self, cids: Sequence[str]) -> list[Place]:
        """Predecessors of the export, what a restore moved aside, and copies of damaged files."""
        data_dir = self.ground.data_dir
        found: list[Place] = []
        for path in predecessors.beside(data_dir / EXPORT):
            try:
                is_left = names_any(path, cids)
            except NodeError as exc:
                found.append(Place(str(path), UNREACHED, str(exc)))
            else:
                why = "it cannot be read as an index file: delete it"
                found.append(Place(str(path), UNREACHED, why) if is_left else Place(str(path), REACHED))
        if not found:
            found.append(Place("kept predecessors of the export", ABSENT))
        folders = (data_dir, Path(self.ground.settings.governance_dir))
        aside = [path for folder in folders for path in sorted(folder.glob(f"{ASIDE}-*"))]
        damaged = [path for path in (data_dir / DAMAGED,) if path.is_dir() and any(path.iterdir())]
        return [
            *found,
            *(Place(str(path), UNREACHED, "a restore moved it aside: delete it") for path in aside),
            *(Place(str(path), UNREACHED, "copies of damaged files: delete them") for path in damaged),
        ]

    def _in_backups(self) -> list[Place]:
        within_s = self.ground.settings.erasure.within_s
        found: list[Place] = []
        for path in self.backups.folders():
            name = f"backups in {path}"
            try:
                folder = BackupFolder.at(path)
                if folder.root != self.ground.identity.root:
                    why = "they are of the identity that this node had before: delete them"
                    found.append(Place(name, UNREACHED, why))
                elif is_pending(folder):
                    why = f"taken out within {within_s} s; a restore leaves it out from now on"
                    found.append(Place(name, LATER, f"{why}; to do it now: neuroswarm backup {path}"))
                else:
                    found.append(Place(name, REACHED))
            except NodeError as exc:
                found.append(Place(name, UNREACHED, f"{exc}; it is taken out when the folder is there again"))
        if not found:
            return [Place("backups", ABSENT, "none was made")]
        why = "a private record opens with a key file of before and a copy of such a backup: make a new one"
        return [*found, Place("key files of neuroswarm backup --keys", UNREACHED, why)]
