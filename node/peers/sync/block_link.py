"""One peer by its IPNS name: its log, read block by block through any source of blocks. Implements
``PeerLink``.

The record under the name leads to the node's head (``index_pages``), that to the newest head of its
publications log (``log_head``), and that, page by page, to every file of the log.

Promises: every block matches its CID, every record the name's signature, and one with a lower sequence never
takes the place of a newer one; what was read of the log since the last checkpoint is of one head; bounded in
hops, pages, bytes and time. Sends CIDs and the name: never a question.
Must not know: where records and blocks come from, whose signature on the log counts.

There are no certificates beside the head, so they are looked for where they are published: in the first and
the last bundles of the log itself. Each is the root's own signed word, wherever it stands.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from node.audit.log.reader import CHECKPOINT, read_bundle, width_at
from node.audit.tlog.tiles import ENTRIES, HEIGHT, WIDTH, Tile
from node.core.clock import Clock
from node.core.errors import NodeError, NotFound, Rejected, TimedOut, Unavailable
from node.core.ipld import ipns
from node.core.ipld.cid import Cid
from node.core.ipld.ipns import IpnsName, IpnsRecord
from node.core.ipld.limits import BLOCK_BYTES_MAX
from node.core.ports import Gets
from node.core.signed_note import NOTE_BYTES_MAX
from node.ipfs.index_pages import HeadBlock
from node.ipfs.log_head import BESIDE, PAGE_ENTRIES, Head
from node.models.deadline import within
from node.peers.rules import entry
from node.peers.rules.entry import Key

Record = Callable[[IpnsName], Awaitable[bytes]]
"""The newest IPNS record of a name. Raises ``NotFound``, ``Unavailable``."""

HOPS_MAX = 4
"""Names that lead to other names, as after a rotation of the node key."""
PAGES_MAX = 16_384
"""A thousand million entries."""
PAGES_KEPT = 8
KEY_BUNDLES_FIRST = 4
KEY_BUNDLES_LAST = 12
KEYS_MAX = 64
FAILURES_MAX = 8
"""Blocks in a row that cannot be had after which the source is taken to be away: a daemon says of a block
that nobody has that it did not come in time."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class _Newest:
    """What the name leads to. ``pages``: how many full pages there are."""

    root: str
    cid: Cid
    log: Head

    @property
    def pages(self) -> int:
        return self.log.size // PAGE_ENTRIES


class BlockPeer:
    """Use from one event loop, one call at a time. ``timeout_s`` bounds one block and one record."""

    def __init__(
        self, name: IpnsName, record: Record, blocks: Gets, clock: Clock, *, timeout_s: float
    ) -> None:
        self.address = name.text
        self._name = name
        self._record = record
        self._blocks = blocks
        self._clock = clock
        self._timeout_s = timeout_s
        self._records: dict[IpnsName, tuple[bytes, IpnsRecord]] = {}
        self._newest: _Newest | None = None
        self._pages: list[Cid] = []
        """Full pages by number: complete, or empty."""
        self._read_pages: OrderedDict[Cid, Head] = OrderedDict()

    # --- who it is ------------------------------------------------------------------------------------

    async def certificates(self) -> tuple[str, list[bytes]]:
        newest = await self._look()
        found: list[bytes] = []
        for cid in await self._key_cids(newest.log.size):
            if len(found) == KEYS_MAX:
                break
            try:
                found.append(await self._block(cid))
            except NodeError:
                continue  # an older record, which nobody keeps any more
        return newest.root, found

    async def peers(self) -> list[str]:
        """A name lists nobody."""
        return []

    async def _key_cids(self, size: int) -> list[Cid]:
        """Blocks of key records, as the entries say that were not proven yet."""
        bundles = -(-size // WIDTH)
        last = range(max(KEY_BUNDLES_FIRST, bundles - KEY_BUNDLES_LAST), bundles)
        cids: dict[Cid, None] = {}
        for number in (*range(min(bundles, KEY_BUNDLES_FIRST)), *last):
            leaves = await read_bundle(self, number, width_at(size, number))
            for index, leaf in enumerate(leaves, number * WIDTH):
                try:
                    one = entry.read(index, leaf)
                except Rejected:
                    continue
                if isinstance(one, Key):
                    cids[one.cid] = None
        return list(cids)

    # --- its log --------------------------------------------------------------------------------------

    async def checkpoint(self, etag: str | None = None) -> tuple[bytes | None, str | None]:
        """See ``PeerLink``. The ETag is the CID of the checkpoint."""
        newest = await self._look()
        cid = newest.log.checkpoint
        if cid is None:
            raise NotFound(f"the log of {self.address} has no checkpoint")
        if etag == str(cid):
            return None, etag
        note = await self._block(cid)
        if len(note) > NOTE_BYTES_MAX:
            raise Rejected(f"the checkpoint of {self.address} has more than {NOTE_BYTES_MAX} bytes")
        return note, str(cid)

    async def read(self, path: str, bytes_max: int) -> bytes:
        newest = self._newest or await self._look()
        if path == CHECKPOINT:
            raise NotFound("the checkpoint is asked for by itself")
        data = bytearray()
        for cid in await self._parts(newest, path):
            data += await self._block(cid)
            if len(data) > bytes_max:
                raise Rejected(f"{path} of {self.address} has more than {bytes_max} bytes")
        return bytes(data)

    async def _parts(self, newest: _Newest, path: str) -> Sequence[Cid]:
        """The blocks of a file. Raises ``NotFound``."""
        if (parts := newest.log.new.get(path)) is not None:
            return parts
        tile = None if path in BESIDE else Tile.parse(path)
        if tile is None or not tile.is_full:
            raise NotFound(f"there is no {path} in the log of {self.address}")
        page = _page_of(tile)
        if page < newest.pages:
            cid = (await self._page_cids(newest))[page]
            if (parts := (await self._page(cid, newest)).new.get(path)) is not None:
                return parts
        raise NotFound(f"there is no {path} in the log of {self.address}")

    async def _page_cids(self, newest: _Newest) -> list[Cid]:
        """All full pages, by walking back from the head."""
        if len(self._pages) == newest.pages:
            return self._pages
        if newest.pages > PAGES_MAX:
            raise Rejected(f"the log of {self.address} says that it has more than {PAGES_MAX} pages")
        known = len(self._pages)
        found: list[Cid] = []
        cid = newest.log.prev
        for number in range(newest.pages - 1, -1, -1):
            if cid is None:
                raise Rejected(f"the log of {self.address} lacks page {number}")
            if number == known - 1 and cid == self._pages[number]:
                break
            found.append(cid)
            page = await self._page(cid, newest)
            if page.size != (number + 1) * PAGE_ENTRIES:
                raise Rejected(f"page {number} of the log of {self.address} is of another size")
            cid = page.prev
        self._pages = [*self._pages[: newest.pages - len(found)], *reversed(found)]
        return self._pages

    async def _page(self, cid: Cid, newest: _Newest) -> Head:
        page = self._read_pages.get(cid)
        if page is None:
            page = Head.parse(await self._block(cid))
            if page.origin != newest.log.origin:
                raise Rejected(f"a page of the log of {self.address} is of another log")
            self._read_pages[cid] = page
        self._read_pages.move_to_end(cid)
        while len(self._read_pages) > PAGES_KEPT:
            self._read_pages.popitem(last=False)
        return page

    # --- its blocks -----------------------------------------------------------------------------------

    async def blocks(self, cids: Sequence[Cid], bytes_max: int) -> AsyncGenerator[tuple[Cid, bytes], None]:
        failures = 0
        for cid in cids:
            try:
                data = await self._block(cid)
            except (NotFound, Rejected):
                continue
            except NodeError as exc:
                failures += 1
                if failures == FAILURES_MAX:
                    raise Unavailable(f"blocks of {self.address} cannot be fetched: {exc}") from exc
                continue
            failures = 0
            bytes_max -= len(data)
            if bytes_max < 0:
                raise Rejected(f"{self.address} gives more bytes than were asked for")
            yield cid, data

    async def reconcile(self, message: bytes) -> bytes:
        """A name answers no messages."""
        raise NotFound(f"{self.address} is an IPNS name, with which no sets can be compared")

    # --- from the name to the log ---------------------------------------------------------------------

    async def _look(self) -> _Newest:
        """What the name leads to now."""
        cid = await self._resolved()
        if self._newest is None or self._newest.cid != cid:
            head = HeadBlock.parse(await self._block(cid))
            if head.publications is None:
                raise NotFound(f"{self.address} publishes no log")
            log = Head.parse(await self._block(head.publications))
            if self._newest is not None and self._newest.log.origin != log.origin:
                self._pages = []
            self._newest = _Newest(head.issuer, cid, log)
        return self._newest

    async def _resolved(self) -> Cid:
        name = self._name
        for _ in range(HOPS_MAX):
            value = (await self._newest_record(name)).value
            kind, _, rest = value.removeprefix("/").partition("/")
            target = rest.partition("/")[0]
            if kind == "ipfs":
                return Cid.parse(target)
            if kind != "ipns":
                break
            name = IpnsName.parse(target)
        raise Rejected(f"{self.address} leads to no head of a node")

    async def _newest_record(self, name: IpnsName) -> IpnsRecord:
        """The best record of this name that was seen and lasts still."""
        known = self._records.get(name)
        data = await self._in_time(self._record(name))
        if known is None or data != known[0]:
            record = ipns.decode(data, name)
            if known is None or ipns.better(record, known[1]):
                known = (data, record)
        if known[1].validity <= self._clock.now():
            raise Unavailable(f"the newest record of {name.text} has ended")
        self._records[name] = known
        while len(self._records) > 2 * HOPS_MAX:
            del self._records[next(iter(self._records))]
        return known[1]

    async def _block(self, cid: Cid) -> bytes:
        """Raises ``NotFound``, ``Rejected``, ``Unavailable``."""
        data = await self._in_time(self._blocks.get(cid))
        if len(data) > BLOCK_BYTES_MAX or not cid.matches(data):
            raise Rejected(f"block {cid} came with other bytes")
        return data

    async def _in_time(self, work: Awaitable[_T]) -> _T:
        try:
            return await within(self._clock, self._timeout_s, work, f"{self.address} did not answer in time")
        except TimeoutError as exc:
            raise TimedOut(f"{self.address} did not answer in time") from exc


def _page_of(tile: Tile) -> int:
    """The number of the page in which a full tile or bundle became complete."""
    leaves = WIDTH if tile.level == ENTRIES else WIDTH << (HEIGHT * tile.level)
    return ((tile.index + 1) * leaves - 1) // PAGE_ENTRIES
