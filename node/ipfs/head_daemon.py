"""The head in an IPFS daemon: its blocks pinned there, and our name announced by it.

Rules:
1. The daemon is given the pages that it lacks, then the index, then the head; only then is it told the name.
   What an older head alone needed is unpinned and left to the daemon's garbage collection.
2. A daemon that takes records signed elsewhere (Kubo: ``routing/put``) is given ours, and our old names'; it
   is asked first what it holds for our name, so that our sequence goes above it.
3. Any other (js-ipfs) publishes the head under a key of its own, made for this node; ``state`` says which
   name that is, because nobody can find it by ours.
4. One worker, which nobody waits for. While the daemon fails it is tried later and later.

It is told by ``head`` what to publish and tells it what the daemon has. It signs nothing.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from node.core.clock import Clock
from node.core.errors import CorruptState, NodeError, NotFound, Rejected, Unavailable
from node.core.follower import Follower, Rest
from node.core.ipld.cid import Cid
from node.core.ipld.ipns import IpnsName
from node.core.ports import BlockStore
from node.ipfs.index_pages import HeadBlock, parse_index
from node.ipfs.kubo import KuboBlockStore

_log = logging.getLogger("neuroswarm.head")

CHECK_EVERY_S = 600.0
"""How often the daemon is asked whether it still holds the head."""
GIVEN_AT_ONCE = 16
LIFETIME = "48h"
TTL = "60s"
_KEY = "neuroswarm-"
_KEY_CHARS = 8


@dataclass(frozen=True, slots=True)
class Published:
    """``head``: the newest; ``given``: the one that the daemon has whole; ``record``: of ``name``; ``old``:
    the last records of earlier names."""

    head: Cid
    given: Cid | None
    name: IpnsName
    record: bytes
    old: Mapping[IpnsName, bytes] = field(default_factory=dict)


class HeadInDaemon:
    """Made, started and closed by ``Head``. ``look``: what is published now; ``gave``: told which head the
    daemon has whole; ``knows``: told which record it holds for a name of ours, says whether a newer one of
    ours will come for that."""

    def __init__(
        self,
        daemon: KuboBlockStore,
        blocks: BlockStore,
        clock: Clock,
        *,
        look: Callable[[], Published | None],
        gave: Callable[[Cid], Awaitable[None]],
        knows: Callable[[IpnsName, bytes], bool],
    ) -> None:
        self._daemon = daemon
        self._blocks = blocks
        self._clock = clock
        self._look = look
        self._gave = gave
        self._knows = knows
        self._asked: set[IpnsName] = set()
        self._told: dict[IpnsName, bytes] = {}
        self._named: tuple[bytes, str] | None = None
        self._check_at = 0.0
        self._follower = Follower("head_daemon", self._turn, clock)

    def start(self) -> None:
        """Begin to follow."""
        self._follower.start()

    def changed(self) -> None:
        """There is something new to publish. Cheap."""
        self._follower.wake()

    def state(self) -> tuple[str, str, datetime | None]:
        """Status, words and since when, for the health check."""
        if (trouble := self._follower.trouble()) is not None:
            return "warn", f"the daemon is told later; {trouble[0]}", trouble[1]
        if self._named is not None:
            name = self._named[1]
            return "pass", f"the daemon publishes it under its own key, as /ipns/{name}", None
        return "pass", "the daemon publishes it too" if self._told else "the daemon is not told yet", None

    async def close(self, timeout_s: float) -> None:
        """One last try, for at most ``timeout_s`` seconds. Idempotent."""
        await self._follower.close(timeout_s)

    async def _turn(self) -> Rest:
        now = self._look()
        if now is not None:
            await self._tell(now)
        return Rest(CHECK_EVERY_S)

    async def _tell(self, now: Published) -> None:
        given = now.given
        if given is not None and self._clock.monotonic() >= self._check_at:
            if not await self._daemon.has(given):
                given = None  # another repository, or an emptied one: all of it again
                self._asked, self._told, self._named = set(), {}, None
            self._check_at = self._clock.monotonic() + CHECK_EVERY_S
        if given != now.head:
            await self._give(now.head, given)
            self._check_at = self._clock.monotonic() + CHECK_EVERY_S
        await self._announce(now)

    # --- blocks -----------------------------------------------------------------------------------

    async def _give(self, head: Cid, given: Cid | None) -> None:
        """What the daemon lacks, the head last; then take back what only the head before needed."""
        new, index = await self._read(head)
        old: set[Cid] = set()
        if given is not None:
            with contextlib.suppress(Unavailable):  # where it is damaged here, everything is given again
                before, its_index = await self._read(given)
                old = {given, before.index, *its_index.values()}
        lacking = sorted(set(index.values()) - old)
        for start in range(0, len(lacking), GIVEN_AT_ONCE):
            some = lacking[start : start + GIVEN_AT_ONCE]
            await self._daemon.keep([(cid, await self._own(cid)) for cid in some])
        await self._daemon.keep([(cid, await self._own(cid)) for cid in (new.index, head)])
        for only in _in_parts(sorted(old - {head, new.index, *index.values()})):
            await self._daemon.client.unpin(only)
        await self._gave(head)

    async def _read(self, cid: Cid) -> tuple[HeadBlock, dict[str, Cid]]:
        try:
            head = HeadBlock.parse(await self._own(cid))
            return head, parse_index(await self._own(head.index))
        except Rejected as exc:
            raise Unavailable(f"the head {cid} is damaged: {exc}") from exc

    async def _own(self, cid: Cid) -> bytes:
        """A block of ours. What a newer head has replaced meanwhile may be gone: then that one is next."""
        try:
            return await self._blocks.get(cid)
        except (NotFound, CorruptState) as exc:
            raise Unavailable(f"a block of the head is missing: {exc}") from exc

    # --- names ------------------------------------------------------------------------------------

    async def _announce(self, now: Published) -> None:
        if not await self._daemon.takes_names():
            await self._announce_as_its_own(now)
            return
        for name, record in ((now.name, now.record), *now.old.items()):
            if self._told.get(name) == record:
                continue
            if name not in self._asked:
                held = await self._daemon.get_name(name)
                self._asked.add(name)
                if held is not None and self._knows(name, held):
                    return
            try:
                await self._daemon.put_name(name, record)
            except NodeError:
                self._asked.discard(name)  # it may hold a newer one by now
                raise
            self._told[name] = record
            _log.info("event=name_told name=%s", name.text)

    async def _announce_as_its_own(self, now: Published) -> None:
        if (
            self._named is not None and self._named[0] == now.record
        ):  # which is renewed in time; so is its own
            return
        key = _KEY + now.name.text[-_KEY_CHARS:]
        name = await self._daemon.naming.publish_name(
            f"/ipfs/{now.head}", key=key, lifetime=LIFETIME, ttl=TTL
        )
        if self._named is None:
            _log.info("event=name_of_daemon name=%s", name.text)
        self._named = (now.record, name.text)


def _in_parts(cids: Sequence[Cid]) -> list[Sequence[Cid]]:
    return [cids[start : start + GIVEN_AT_ONCE] for start in range(0, len(cids), GIVEN_AT_ONCE)]
