"""A node that was restored from a backup: its logs sign nothing before somebody outside has shown what it
holds of them.

A backup is older than what was signed after it, and two histories under one key are what peers drop a node
for. So the mark that a restore leaves (``data/restored``) holds both logs. Witnesses of the policy are asked
as at every start; where there are none, and for the publications log, the peers of the settings are: each
node shows the checkpoints that it has cosigned. One that is ahead of the folder, or of another tree, suspends
the log (``neuroswarm log recover --new-epoch``); one that is not lets it go on. While nobody shows any, it
waits; then, and where nobody is there to be asked, the operator decides (``neuroswarm log recover``).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import orjson

from node.audit.log.writer import TileLog
from node.audit.witnesses.ours import origin_hash
from node.audit.witnesses.site import Site
from node.core.clock import Clock
from node.core.errors import NodeError, NotFound, Rejected
from node.core.files import DISK, put, translated
from node.core.http import Http
from node.core.identity import Identity
from node.core.model import Check
from node.core.record import DECISIONS, PUBLICATIONS
from node.core.signed_note import NOTE_BYTES_MAX, Checkpoint, open_checkpoint

log = logging.getLogger("neuroswarm.restored")

MARK = "restored"
_MARK_BYTES_MAX = 4_096
CHECK = "restored"
_WAYS = {
    DECISIONS: "neuroswarm log recover --new-epoch closes the decision log and begins the next",
    PUBLICATIONS: "neuroswarm log recover --publications lets that log go on, if you know that nobody has "
    "seen more of it than the backup holds (peers drop a node that signs two histories)",
}
ASK_EVERY_S = 30


def mark_restored(data_dir: Path) -> None:
    """Leave the mark. Blocking. Raises ``Unavailable``."""
    put(data_dir / MARK, orjson.dumps([DECISIONS, PUBLICATIONS]))


def held(data_dir: Path) -> list[str]:
    """Which logs a restore holds: ``decisions``, ``publications``. A mark that cannot be read holds both.
    Blocking."""
    try:
        found = orjson.loads(DISK.read(data_dir / MARK, _MARK_BYTES_MAX))
    except FileNotFoundError:
        return []
    except (OSError, orjson.JSONDecodeError):
        return [DECISIONS, PUBLICATIONS]
    return [one for one in (DECISIONS, PUBLICATIONS) if not isinstance(found, list) or one in found]


def let_go(data_dir: Path, name: str) -> None:
    """A log may sign again. Blocking. Raises ``Unavailable``."""
    before = held(data_dir)
    if name not in before:
        return
    if left := [one for one in before if one != name]:
        put(data_dir / MARK, orjson.dumps(left))
    else:
        with translated(f"{data_dir / MARK} cannot be deleted"):
            (data_dir / MARK).unlink(missing_ok=True)


class RestoredLogs:
    """The logs that the mark holds, by their names in it. ``peers``: addresses; with ``witnesses_ask`` the
    witnesses of the policy release the decision log."""

    def __init__(
        self,
        data_dir: Path,
        logs: Mapping[str, Callable[[], TileLog]],
        identity: Identity,
        peers: Sequence[str],
        session: Http,
        clock: Clock,
        *,
        timeout_s: float,
        witnesses_ask: bool = False,
    ) -> None:
        self._data_dir = data_dir
        self._logs = dict(logs)
        self._identity = identity
        self._sites = [
            Site("peer", url, session, clock, timeout_s=timeout_s) for url in peers if url.startswith("http")
        ]
        self._witnesses_ask = witnesses_ask
        self._said: dict[str, str] = {}

    async def tick(self) -> None:
        """Ask, and strike each log from the mark that is held no more."""
        for name in await asyncio.to_thread(held, self._data_dir):
            if name not in self._logs:
                continue
            one = self._logs[name]()
            is_ours = name == PUBLICATIONS or not self._witnesses_ask
            if one.is_held and not one.suspended and is_ours:
                await self._ask(one)
            if not one.is_held and not one.suspended:
                await asyncio.to_thread(let_go, self._data_dir, name)

    async def probe(self) -> Check:
        """What waits, and what to do. Never raises."""
        waiting = [one for one in (log() for log in self._logs.values()) if one.is_held and not one.suspended]
        if not waiting:
            return Check(CHECK, "pass", "nothing waits after a restore")
        nobody = "there is no peer in peers.urls that could be asked"
        usual = "being asked" if self._sites or self._witnesses_ask else nobody
        said = "; ".join(f"{one.origin}: {self._said.get(one.origin, usual)}" for one in waiting)
        ways = [way for name, way in _WAYS.items() if name in self._logs and self._logs[name]() in waiting]
        return Check(
            CHECK,
            "warn",
            "restored from a backup: no checkpoint is signed before a witness or peer has shown what it "
            f"holds ({said}). Or stop the node and decide: {'; '.join(ways)}",
        )

    async def _ask(self, tile_log: TileLog) -> None:
        if tile_log.published is None and not tile_log.size():
            await self._release(tile_log, [])  # nothing was ever signed in it
            return
        seen: list[Checkpoint] = []
        for site in self._sites:
            try:
                seen += await self._shown(site, tile_log.origin)
            except NodeError as exc:
                self._said[tile_log.origin] = str(exc)
        if seen:
            await self._release(tile_log, seen)

    async def _release(self, tile_log: TileLog, seen: Sequence[Checkpoint]) -> None:
        try:
            await tile_log.release(seen)
        except NodeError as exc:
            self._said[tile_log.origin] = str(exc)
        else:
            log.info("event=restored_log_released origin=%s shown=%d", tile_log.origin, len(seen))

    async def _shown(self, site: Site, origin: str) -> list[Checkpoint]:
        """The checkpoint that a peer has cosigned, signed by our own key."""
        try:
            note = await site.ask(
                f"/witness/{origin_hash(origin)}/checkpoint", bytes_max=NOTE_BYTES_MAX, accept="text/plain"
            )
        except NotFound:
            self._said[origin] = f"{site.name} holds none of it"
            return []
        keys = [one.verifier for one in self._identity.log_signers(origin)]
        found = open_checkpoint(note, keys).checkpoint
        if found.origin != origin:
            raise Rejected(f"{site.name} shows a checkpoint of another log")
        return [found]
