"""Makes blocks of a transparency log, so that any IPFS client can fetch and rebuild it from one CID.

A log's folder is the truth; the blocks follow it, and ``log_head`` is the list that ties them together.

Rules:
1. Tiles and bundles become blocks when they are complete, for good; the folder makes them whenever they are
   asked for (``folder_blocks``), and what an earlier version stored of them is deleted in the background. The
   checkpoint with the partial tiles of the right edge follows at most every ``every_s`` seconds, sooner after
   a decision that is critical (at most every ``HASTENED_EVERY_S``), and at the stop: then there is a new
   head.
2. Nothing is awaited by whoever appends. What waits is what the folder has and the list has not: no queue,
   and a log of any size is caught up on with a few files in memory.
3. What a newer head replaces (an older head, checkpoint and right edge) is deleted ``KEPT_S`` later, here
   and in the daemon: whoever is fetching it can finish, and a published head that links to it stays whole
   until its successor is out. After a restart that time starts anew. Pages and complete tiles stay.
4. The state (``state_path``) names pages and heads. It is written after their blocks; where it is lost,
   everything is done again and gives the same blocks.
5. A daemon is given the same blocks, oldest first, the head last; what it was not given waits.
6. A failure is tried again later and later, and ``health`` says what waits and why.

The blocks are public: their store is one from which every caller may read. The log holds no question and no
answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from node.audit.decisions.moved import closed_source, nowhere
from node.audit.decisions.origin import epoch_of
from node.audit.log.archive import Archives
from node.audit.log.checked import CheckedFolder
from node.audit.log.reader import FolderSource
from node.audit.log.writer import Published
from node.audit.tlog.tiles import WIDTH, Tile, tiles_at
from node.core.clock import Clock
from node.core.errors import CorruptState, NodeError, NotFound, Rejected, Unavailable
from node.core.follower import Follower, Rest
from node.core.ipld.cid import RAW, Cid
from node.core.model import Check
from node.core.ports import BlockStore
from node.core.signed_note import NOTE_BYTES_MAX
from node.ipfs import log_blocks_state
from node.ipfs.folder_blocks import FolderBlocks
from node.ipfs.kubo import KuboBlockStore
from node.ipfs.log_blocks_state import GIVEN_OLDER_MAX, OLDER_MAX, State, first
from node.ipfs.log_folder import OpenFolder
from node.ipfs.log_head import BESIDE, PAGE_ENTRIES, Head, completed_between, split

_log = logging.getLogger("neuroswarm.log_blocks")

CHECK = "log:blocks"
EVERY_S = 600.0
HASTENED_EVERY_S = 10.0
"""However many critical decisions there are, so that few heads are replaced within ``KEPT_S``."""
KEPT_S = 300.0
LOAD_TIMEOUT_S = 2.0
"""A page takes some 10 ms: those of ten million entries are read in this time."""
AT_ONCE = 4
"""Files that are read together: 4 x 16 MiB is the most they hold."""
GIVEN_AT_ONCE = 16
"""Blocks, of a mebibyte at most, that the daemon pins by one call."""
_TRIES = 3


class LogBlocks:
    """Follows one log's folder. ``start`` it inside a running loop; ``close`` it after the log's last
    publication and before the stores. ``blocks`` has all of the log, ``store`` what the folder does not make;
    ``compact`` makes the store's file smaller after much was deleted."""

    def __init__(
        self,
        folder: Path,
        store: BlockStore,
        state_path: Path,
        clock: Clock,
        *,
        daemon: KuboBlockStore | None = None,
        every_s: float = EVERY_S,
        compact: Callable[[], Awaitable[None]],
        archives: Archives = nowhere,
    ) -> None:
        self.blocks = FolderBlocks(store, folder, archives)
        self._folder = folder
        self._archives = archives
        self._compact = compact
        self._state_path = state_path
        self._clock = clock
        self._daemon = daemon
        self._every_s = every_s
        self._state = State()
        self._loaded = asyncio.Event()
        self._fat: Cid | None = None
        self._size = 0
        self._done = 0
        self._new: dict[str, tuple[Cid, ...]] = {}
        self._due_at = 0.0
        self._hastened_due_at = 0.0
        self._replaced_at: dict[Cid, float] = {}
        self._is_hastened = False
        self._covered: tuple[Cid | None, str, Cid | None] = (None, "", None)
        self._follower = Follower("log_blocks", self._follow, clock)

    @property
    def head(self) -> Cid | None:
        """The newest head: what to give to whoever wants the log. None before the first one."""
        return self._state.head

    @property
    def epoch(self) -> int:
        """The epoch that is followed now: those before it are in blocks."""
        return epoch_of(self._state.origin)[1]

    async def start(self) -> None:
        """Begin to follow, with what the folder has already. What earlier runs made can be had on return, but
        for a log whose pages take longer to read than ``LOAD_TIMEOUT_S``."""
        self._follower.start()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LOAD_TIMEOUT_S):
                await self._loaded.wait()

    def published(self, _published: Published) -> None:
        """The log has a new checkpoint (``TileLog.on_published``). Cheap."""
        self._follower.wake()

    def hasten(self) -> None:
        """A critical decision was published: it gets a head without waiting for the next turn, at most every
        ``HASTENED_EVERY_S``. Cheap."""
        self._is_hastened = True
        self._follower.wake()

    def health(self) -> Check:
        """Without I/O: how much of the log is in blocks, the newest head, and what keeps more from it."""
        seen = None if self.head is None else str(self.head)
        if (trouble := self._follower.trouble()) is not None:
            return Check(CHECK, "warn", trouble[0], since=trouble[1], observed=seen)
        if damage := self.blocks.damage:
            return Check(CHECK, "warn", f"files of the log are damaged, {damage}", observed=seen)
        return Check(CHECK, "pass", f"{self._size} entries of the log are in IPFS blocks", observed=seen)

    async def close(self, timeout_s: float) -> None:
        """Write the last head, for at most ``timeout_s`` seconds; what is left is done at the next start.
        Idempotent."""
        await self._follower.close(timeout_s)

    # --- the worker -------------------------------------------------------------------------------

    async def _follow(self) -> Rest:
        """Bring blocks and daemon up to date with the folder."""
        if not self._loaded.is_set():
            await self._load()
            self._loaded.set()
        is_hastened, self._is_hastened = self._is_hastened, False
        now = self._clock.monotonic()
        is_due = (
            self._follower.is_stopping
            or now >= self._due_at
            or (is_hastened and now >= self._hastened_due_at)
        )
        try:
            is_owed = await self._follow_folder(is_due=is_due or self._follower.is_stopping)
        except NodeError:
            self._is_hastened |= is_hastened
            raise
        self._is_hastened |= is_hastened and is_owed
        past = self._clock.monotonic() - KEPT_S
        older = tuple(cid for cid in self._state.older if self._replaced_at[cid] > past)
        await self._change(replace(self._state, older=older))
        if not self._state.is_lean and not self._follower.is_stopping:
            await self._drop_stored()
        await self._give()
        return Rest(self._next_s(is_owed=is_owed) if self._state.is_lean else 0.0)

    def _next_s(self, *, is_owed: bool) -> float | None:
        waits = [self._replaced_at[cid] + KEPT_S for cid in self._state.older]
        if is_owed:
            waits.append(min(self._due_at, self._hastened_due_at) if self._is_hastened else self._due_at)
        return max(0.0, min(waits) - self._clock.monotonic()) if waits else None

    async def _follow_folder(self, *, is_due: bool) -> bool:
        for _ in range(_TRIES):
            try:
                now = await OpenFolder.open(CheckedFolder(FolderSource(self._folder)))
            except NotFound:
                return False  # nothing was published yet
            try:
                await self._enter(now.checkpoint.origin)
                head, made_at = self.head, self._clock.monotonic()
                is_owed = await self._grow(now, is_due=is_due)
                if self.head != head:
                    self._due_at = made_at + self._every_s
                    self._hastened_due_at = made_at + HASTENED_EVERY_S
                return is_owed
            except NotFound as exc:
                missing = exc  # the log grew meanwhile, and what the older checkpoint needed is gone
        raise Unavailable(f"a file of the log is missing: {missing}")

    async def _enter(self, origin: str) -> None:
        """End the lists of earlier epochs, so that the next head of ``origin`` follows them."""
        state = self._state
        if state.origin == origin:
            return
        base, number = epoch_of(origin)
        known_base, known = epoch_of(state.origin)
        if state.origin and (known_base != base or known >= number):
            _log.warning("event=log_blocks_again reason=the folder has another log now")
            self.blocks.forget()
            await self._change(state.anew())
            known = 1
        for earlier in range(known, number):
            try:
                source = await asyncio.to_thread(closed_source, self._folder, earlier, self._archives)
                before = await OpenFolder.open(source)
            except NotFound:
                continue  # moved away by its operator
            if before.checkpoint.origin != self._state.origin:
                await self._begin(before.checkpoint.origin)
            await self._grow(before, is_due=True)
        await self._begin(origin)

    async def _begin(self, origin: str) -> None:
        """A new epoch: its first head follows the last one of the epoch before, which stays."""
        state = self._state
        await self._change(replace(state, origin=origin, pages=0, page=state.head or state.page))
        self._new, self._done, self._size = {}, 0, 0

    # --- growing ----------------------------------------------------------------------------------

    async def _grow(self, folder: OpenFolder, *, is_due: bool) -> bool:
        """Blocks for all that is complete, and, when due, a head; True when one is owed later."""
        size = folder.checkpoint.size
        if size < self._size:
            return False  # an older copy of the folder: the log itself says what is to be done
        while self._done + WIDTH <= size:
            end = min(
                size - size % WIDTH, (self._state.pages + 1) * PAGE_ENTRIES, self._done + AT_ONCE * WIDTH
            )
            self._new |= await self._put_files(folder, completed_between(self._done, end))
            self._done = end
            if end == (self._state.pages + 1) * PAGE_ENTRIES:
                await self._turn_page()
        is_news = await self._covers() != (self._state.origin, folder.cid)
        if is_news and is_due:
            await self._write_head(folder)
        return is_news and not is_due

    async def _covers(self) -> tuple[str, Cid | None]:
        """Log and checkpoint of the newest head, which is read once."""
        if self._covered[0] != (cid := self._state.head) and (head := await self._read_head(cid)) is not None:
            self._covered = cid, head.origin, head.checkpoint
        return self._covered[1:] if self._covered[0] == cid else ("", None)

    async def _turn_page(self) -> None:
        state = self._state
        page = Head(state.origin, self._done, None, self._new, state.page)
        data = page.encode()
        cid = Cid.of(data)
        await self.blocks.put(cid, data)
        await self._change(replace(state, pages=state.pages + 1, page=cid))
        self._new = {}

    async def _write_head(self, folder: OpenFolder) -> None:
        """Raises ``NotFound`` where the right edge is gone meanwhile: the log has a newer checkpoint then."""
        state, checkpoint = self._state, folder.checkpoint
        beside = [name for name in BESIDE if await folder.has(name)]
        edge = await self._put_files(folder, [tile.path for tile in tiles_at(checkpoint.size)] + beside)
        await self.blocks.put(folder.cid, folder.note)
        head = Head(state.origin, checkpoint.size, folder.cid, self._new | edge, state.page)
        data = head.encode()
        cid = Cid.of(data)
        await self.blocks.put(cid, data)
        self._size = checkpoint.size
        if cid != state.head:
            # The last head of the epoch before is no longer one that a newer head replaces.
            replaced = [one for one in (state.head, *state.older) if one not in (cid, state.page)]
            await self._change(replace(state, head=cid, older=first(OLDER_MAX, *replaced)))
            _log.info("event=log_head cid=%s size=%d", cid, checkpoint.size)

    async def _put_files(self, folder: OpenFolder, paths: Sequence[str]) -> dict[str, tuple[Cid, ...]]:
        """Blocks for these files. Raises ``NotFound`` where one is gone or may be of another log already."""
        found: dict[str, tuple[Cid, ...]] = {}
        for start in range(0, len(paths), AT_ONCE):
            some = paths[start : start + AT_ONCE]
            outcomes = await asyncio.gather(
                *(self._put_file(folder, path) for path in some), return_exceptions=True
            )
            for path, outcome in zip(some, outcomes, strict=True):
                if isinstance(outcome, BaseException):
                    raise outcome
                found[path] = outcome
        await folder.check()
        complete = {path: cids for path, cids in found.items() if _is_complete(path)}
        self.blocks.know(folder.checkpoint.origin, complete)
        for cids in complete.values():
            for cid in cids:  # also the first part of a large bundle, which was stored while it was partial
                await self.blocks.drop_stored(cid)
        return found

    async def _put_file(self, folder: OpenFolder, path: str) -> tuple[Cid, ...]:
        bytes_max = NOTE_BYTES_MAX if path in BESIDE else Tile.parse(path).bytes_max
        data = await folder.source.read(path, bytes_max)
        parts = [(Cid.of(part, RAW), part) for part in split(data)]
        if not _is_complete(path):
            for cid, part in parts:
                await self.blocks.put(cid, part)
        return tuple(cid for cid, _ in parts)

    async def _drop_stored(self) -> None:
        """Delete what an earlier version stored of one block of the list, and go on to the one before it."""
        if self._fat is None:
            self._fat = self._state.head or self._state.page
        head = None if self._fat is None else await self._own_head(self._fat)
        if head is not None:
            cids = [cid for cids in _complete(head).values() for cid in cids]
            for start in range(0, len(cids), GIVEN_AT_ONCE):
                await asyncio.gather(*map(self.blocks.drop_stored, cids[start : start + GIVEN_AT_ONCE]))
            self._fat = head.prev
        if self._fat is None:
            try:
                await self._compact()
            except NodeError as exc:
                _log.warning("event=log_blocks_not_compacted reason=%s", exc)
            await self._change(replace(self._state, is_lean=True))

    # --- the daemon -------------------------------------------------------------------------------

    async def _give(self) -> None:
        """Give the daemon what is new, then take back what it was given for heads that are no longer kept."""
        daemon, head = self._daemon, self._state.head
        if daemon is None or head is None:
            return
        if self._state.given != head:
            await self._give_head(daemon, head)
        for cid in self._state.given_older:
            state = self._state
            if cid in (state.head, *state.older):
                continue
            others = tuple(one for one in state.given_older if one != cid)
            for only in await self._only_in([cid], {head, *others}):
                await daemon.remove(only)
            await self._change(replace(state, given_older=others))

    async def _give_head(self, daemon: KuboBlockStore, head: Cid) -> None:
        """What the head leads to and the last given one did not."""
        before = given = self._state.given
        old = await self._read_head(given)
        if given is None or old is None or not await daemon.has(given):
            given = old = None  # never met, or it has another repository now
        chain: list[Cid] = []
        cid: Cid | None = head
        while cid is not None and (old is None or cid not in (given, old.prev)):
            chain.append(cid)
            cid = (await self._own_head(cid)).prev
        has = frozenset[Cid]() if old is None else old.links
        for cid in reversed(chain):
            block = await self._own_head(cid)
            links = sorted(block.links - has)
            for start in range(0, len(links), GIVEN_AT_ONCE):
                some = links[start : start + GIVEN_AT_ONCE]
                if block.origin != self._state.origin:  # an epoch that its operator may have moved away
                    some = [
                        link for link in some if not self.blocks.knows(link) or await self.blocks.has(link)
                    ]
                await daemon.keep([(link, await self._own(link)) for link in some])
            await daemon.keep([(cid, await self._own(cid))])
            if old is None:
                await self._change(replace(self._state, given=cid))
        state = self._state
        left = [one for one in (before, *state.given_older) if one != head]
        await self._change(replace(state, given=head, given_older=first(GIVEN_OLDER_MAX, *left)))

    async def _own(self, cid: Cid) -> bytes:
        """A block of the list. Where it is lost, all are made again; where its file is damaged, none are.
        Raises ``Unavailable``."""
        try:
            return await self.blocks.get(cid)
        except (NotFound, CorruptState) as exc:
            if self.blocks.knows(cid):
                raise Unavailable(f"a file of the log is damaged, {self.blocks.damage}") from exc
            self._new, self._size, self._done = {}, 0, 0
            await self._change(self._state.anew())
            raise Unavailable(f"blocks are lost and made again: {exc}") from exc

    async def _own_head(self, cid: Cid) -> Head:
        return Head.parse(await self._own(cid))

    # --- heads and state --------------------------------------------------------------------------

    async def _read_head(self, cid: Cid | None) -> Head | None:
        """None where there is none, or it is lost or damaged."""
        if cid is None:
            return None
        try:
            return Head.parse(await self.blocks.get(cid))
        except (NotFound, CorruptState, Rejected):
            return None

    async def _change(self, state: State) -> None:
        """Save the new state, then delete what no head that it names needs any more."""
        old = self._state
        if state == old:
            return
        await asyncio.to_thread(log_blocks_state.save, self._state_path, state)
        self._enter_state(state)
        if gone := old.held - state.held:
            for only in await self._only_in(gone, {*state.held, *filter(None, [state.page])}):
                await self.blocks.delete(only)

    def _enter_state(self, state: State) -> None:
        now = self._clock.monotonic()
        self._state = state
        self._replaced_at = {cid: self._replaced_at.get(cid, now) for cid in state.older}

    async def _only_in(self, gone: Iterable[Cid], others: Iterable[Cid]) -> set[Cid]:
        """The heads ``gone`` and the blocks that they name and none of ``others`` leads to."""
        blocks: dict[Cid | None, set[Cid]] = {}
        for cid in gone:
            head = await self._read_head(cid)
            if head is not None:
                blocks.setdefault(head.prev, set()).update(head.links, {cid})
        found: set[Cid] = set()
        for prev, some in blocks.items():
            found |= some - await self._led_to(others, prev)
        return found

    async def _led_to(self, heads: Iterable[Cid], end: Cid | None) -> set[Cid]:
        """What the heads lead to, as far as ``end``, and what the next head will name."""
        found = {cid for cids in self._new.values() for cid in cids}
        seen: set[Cid] = set()
        for head in heads:
            place: Cid | None = head
            while place is not None and place != end and place not in seen:
                seen.add(place)
                block = await self._read_head(place)
                if block is None:
                    break
                found |= block.links
                place = block.prev
        return found | seen

    async def _load(self) -> None:
        """Go on where the state says, if its blocks are there; else from the beginning."""
        state = await asyncio.to_thread(log_blocks_state.read, self._state_path)
        self._enter_state(state)
        self._new, self._size = {}, 0
        self._done = state.pages * PAGE_ENTRIES
        head = await self._read_head(state.head)
        if not await self._learn(state.page) or (state.head and not head):
            _log.warning("event=log_blocks_again reason=blocks are missing")
            self._enter_state(state.anew())
            self._done = 0
        elif head is not None and (head.origin, head.prev) == (state.origin, state.page):
            self._new = _complete(head)
            self.blocks.know(head.origin, self._new)
            self._size, self._done = head.size, head.size - head.size % WIDTH

    async def _learn(self, page: Cid | None) -> bool:
        """Where the blocks of a page and of all before it are made; False where one of these is missing."""
        while page is not None:
            block = await self._read_head(page)
            if block is None:
                return False
            self.blocks.know(block.origin, _complete(block))
            page = block.prev
        return True


def _complete(head: Head) -> dict[str, tuple[Cid, ...]]:
    return {path: cids for path, cids in head.new.items() if _is_complete(path)}


def _is_complete(path: str) -> bool:
    return path not in BESIDE and Tile.parse(path).is_full
