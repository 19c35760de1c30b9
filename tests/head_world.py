"""What stands around the head job in tests: stores, clock, keys, and the same again after a restart."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from node.core.errors import Unavailable
from node.core.ipld import dagcbor, ipns
from node.core.ipld.cid import DAG_CBOR, Cid
from node.core.ipld.ipns import IpnsName, IpnsRecord
from node.core.normalise import normalise, query_hash
from node.core.ports import StoredRecord
from node.core.record import AnswerRecord, decode
from node.ipfs.gateway.dag import resolve
from node.ipfs.head import Content, Head, HeadBlocks, HeadFiles, Signing
from node.ipfs.kubo import KuboBlockStore
from node.store.ipns_records import Names
from tests import log_blocks_kit
from tests.manual_clock import ManualClock
from tests.name_owner import Owner
from tests.record_builders import Author
from tests.references.record_store import MemoryStore

PATIENCE_S = 20.0


def parse_page(data: bytes) -> dict[str, Cid]:
    """Query hash → record."""
    page = dagcbor.decode(data)
    assert isinstance(page, dict)
    assert all(re.fullmatch("[0-9a-f]{64}", key) for key in page)
    return {key: Cid.from_bytes(link.cid_bytes) for key, link in page.items()}


class WatchedClock(ManualClock):
    """Counts who sleeps, so that a test can wait until there is nothing left to do."""

    def __init__(self) -> None:
        super().__init__()
        self.sleeping = 0

    async def sleep(self, seconds: float) -> None:
        self.sleeping += 1
        try:
            await super().sleep(seconds)
        finally:
            self.sleeping -= 1


class CountedRecords:
    """A record store that counts how often the public answers are listed."""

    def __init__(self, records: Any) -> None:
        self._records = records
        self.listings = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._records, name)

    async def public_answers(self, first: str, last: str, *, limit: int = 10_000) -> list[tuple[str, Cid]]:
        self.listings += 1
        found: list[tuple[str, Cid]] = await self._records.public_answers(first, last, limit=limit)
        return found


class WatchedNames(Names):
    """Tells of each new record of ours."""

    told: Callable[[IpnsName, bytes], None]

    async def set_own(self, name: IpnsName, data: bytes) -> None:
        is_new = await self.known(name) != data
        await super().set_own(name, data)
        if is_new:
            self.told(name, data)


class Shelf(log_blocks_kit.Blocks):
    """A block store that counts and can be made to fail."""

    def __init__(self) -> None:
        super().__init__()
        self.puts: list[Cid] = []

    async def put(self, cid: Cid, data: bytes) -> None:
        if self.failing:
            raise Unavailable(self.failing)
        self.puts.append(cid)
        await self.memory.blocks.put(cid, data)

    async def stored(self) -> list[Cid]:
        return [Cid(DAG_CBOR, multihash[2:]) for multihash in self.memory.blocks_by_multihash]


class World:
    """One node's data. ``owners``: its node keys, newest first; ``links``: what its logs' heads are."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.author = Author()
        self.store = MemoryStore(own_issuer=self.author.did)
        self.records = CountedRecords(self.store.records)
        self.shelf = Shelf()
        self.clock = WatchedClock()
        self.owners = [Owner()]
        self.links: list[Cid | None] = [None, None]
        self.seen: list[IpnsRecord] = []
        self.workers = 1
        self.head: Head

    @property
    def state_path(self) -> Path:
        return self.folder / "head.json"

    @property
    def record_path(self) -> Path:
        return self.folder / "ipns-record"

    @asynccontextmanager
    async def job(self, daemon: KuboBlockStore | None = None) -> AsyncIterator[Head]:
        """The job at work, closed at the end; the same world again is the same node restarted."""
        names = await WatchedNames.open(self.folder / "names.sqlite", self.clock, own=self.owners[-1].name)
        names.told = self._note
        head = self.head = Head(
            Content(self.records, lambda: self.links[0], lambda: self.links[1]),
            HeadBlocks(self.shelf, self.shelf.stored),
            names,
            self.clock,
            files=HeadFiles(self.state_path, self.record_path),
            signing=Signing(self.author.did, lambda: [owner.key for owner in self.owners]),
            daemon=daemon,
        )
        self.names = names
        self.workers = 1 if daemon is None else 2
        head.start()
        try:
            async with asyncio.timeout(PATIENCE_S):
                yield head
        finally:
            await head.close(PATIENCE_S)
            await names.close()

    def _note(self, name: IpnsName, data: bytes) -> None:
        if name != self.owners[0].name or ipns.decode(data, name).value.startswith("/ipns/"):
            return
        assert self.record_path.read_bytes() == data, "it is on disk before anybody sees it"
        self.seen.append(ipns.decode(data, self.owners[0].name))

    @property
    def last(self) -> IpnsRecord:
        return self.seen[-1]

    async def once(self) -> Cid:
        """Start, catch up, stop; the newest head."""
        async with self.job() as head:
            pass
        assert head.health().status == "pass", head.health()
        assert head.cid is not None
        assert self.last.value == f"/ipfs/{head.cid}"
        return head.cid

    async def until(self, is_so: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not is_so():
                await asyncio.sleep(0.002)

    async def rest(self, act: Callable[[], object] = lambda: None) -> None:
        """Once the job sleeps, do something that may wake it, and wait until it sleeps again."""
        for do in (act, lambda: None):
            await self.until(lambda: self.clock.sleeping >= self.workers)
            do()
            for _ in range(10):  # whoever is woken by it wakes
                await asyncio.sleep(0)
        await self.until(lambda: self.clock.sleeping >= self.workers)

    async def answer(self, query: str, scope: str = "public", **more: Any) -> StoredRecord:
        return await self.store.records.add(
            self.author.answer(query, scope=scope, timestamp=self.clock.now().replace(microsecond=0), **more)
        )

    async def ask(self, query: str, head: Cid | None = None) -> str:
        """What a client reads that follows the path of a question from a head. Raises ``NotFound``."""
        key = query_hash(normalise(query))
        root = head or self.head.cid
        assert root is not None
        place = await resolve(self._get, root, ("index", key[:3], key, "answer"))
        record = decode(place.data)
        assert isinstance(record, AnswerRecord)
        assert place.inner == ("answer",)
        return record.answer

    async def _get(self, cid: Cid) -> bytes:
        blocks = self.shelf if await self.shelf.has(cid) else self.store.blocks
        return await blocks.get(cid)
