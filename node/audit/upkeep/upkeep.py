"""Looks after the files of one log, all its epochs: finds damage, mends it, says what is lost.

Promises:
1. Every tile and bundle that a signed checkpoint covers is read and held against it: a sample at the start,
   then all of them, over and over, a small part of one core at a time.
2. A file that was changed, shrank or vanished is found within ``EVERY_S`` seconds, but for logs so large that
   a look at their names takes longer.
3. What is damaged is mended from what is there and from the copies, and only by what the checkpoint vouches
   for; what cannot be is kept in mind, tried again later and later, and stays a failure of ``health`` until
   it is whole again. An epoch that was moved to an archive, or is absent as a whole because its operator took
   it away, is no damage; nothing is written into it.
4. Of the log that is written now only its own writer changes files.

Must not know: what entries say, who asks for tiles.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from node.audit.decisions import epochs
from node.audit.decisions.moved import is_moved, unless_moved
from node.audit.decisions.origin import epoch_of
from node.audit.log import journal
from node.audit.log.checked import CheckedFolder, DamagedTile, KeysOf, Standing
from node.audit.log.reader import CHECKPOINT, VKEY, FolderSource
from node.audit.log.writer import TileLog
from node.audit.tlog.tiles import ENTRIES, WIDTH, Tile, tiles_at
from node.audit.upkeep import sweep
from node.audit.upkeep.damage import Damage, Damages
from node.audit.upkeep.mending import Copy, Lost, Mender, Write, folder_writer
from node.audit.upkeep.sweep import Marks
from node.core.clock import Clock, pause
from node.core.errors import CorruptState, DamagedLog, NodeError, NotFound, Rejected, Unavailable
from node.core.files import DISK, translated
from node.core.model import Check
from node.core.signed_note import NOTE_BYTES_MAX, Checkpoint

log = logging.getLogger("neuroswarm.log")

EVERY_S = 20.0
"""Between two looks at all files."""
PAUSE_MIN_S = 1.0
"""Also after a look that took longer than that."""
SAMPLE = 32
"""Tiles of each epoch that are read before the node serves."""
READY_MAX = 64
"""Bundles that are looked at before a log is opened: more than a journal usually has."""
SAMPLE_S = 1.0
"""No start waits longer for them."""
REST = 4.0
"""After each look at a directory so many times as long is left to the answers."""
READ_REST = 49.0
"""The same after each file that was read: one core's fiftieth."""
BESIDE_S = 0.1
"""Work in each round on partial tiles that nobody needs: a busy log leaves many, for a few minutes."""
REREAD_S = 0.25
"""Work in each round once all was read: some hundred files, then a small log is read anew every time."""
AGAIN_FIRST_S, AGAIN_MAX_S = 30.0, 3_600.0
"""After how long a damage is tried again to be mended: the first time, at most."""
_TRIES = 3

HighWater = Callable[[int], Path]
"""(epoch) → where the newest note that was signed for its log is kept."""


@dataclass(frozen=True, slots=True)
class Epoch:
    """One log of the row. ``live``: what writes it, None for one that is closed."""

    number: int
    place: Path
    folder: CheckedFolder
    live: TileLog | None
    write: Write


class Upkeep:
    """For the log in ``directory`` and its closed epochs. ``live``: what is written now, None where nobody
    writes and the caller holds the log's lock. ``start`` it inside a running loop, ``close`` it before the
    log."""

    def __init__(
        self,
        name: str,
        directory: Path,
        live: Callable[[], TileLog | None],
        keys: KeysOf,
        high_water: HighWater,
        copies: Sequence[Copy],
        clock: Clock,
    ) -> None:
        self.damages = Damages()
        self.mended = 0
        self._name = name
        self._directory = directory
        self._live = live
        self._keys = keys
        self._high_water = high_water
        self._copies = tuple(copies)
        self._clock = clock
        self._marks: dict[int, Marks] = {}
        self._beside_seen: dict[int, dict[Tile, int]] = {}
        self._unread: Iterator[tuple[int, Tile]] | None = None
        self._passes = 0
        self._rest, self._read_rest = REST, READ_REST
        self._read = 0
        self._one_at_a_time = asyncio.Lock()
        self._stop = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._trouble = ""

    async def start(self) -> None:
        """Read a sample, then go on in the background."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(SAMPLE_S):
                await self.sample()
        self._task = asyncio.create_task(self._work(), name=f"upkeep of {self._name}")

    async def close(self) -> None:
        """Idempotent."""
        self._stop.set()
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    def health(self) -> Check:
        """Without I/O. fail: something is damaged and could not be mended."""
        if self.damages:
            said = (
                f"{self.damages}. A good copy mends it: name a folder or address that has one in log.copies, "
                "or run: neuroswarm log repair --from COPY"
            )
            return Check(self._name, "fail", said, observed=len(self.damages), unit="damaged files")
        is_over = self._task is not None and self._task.done() and not self._stop.is_set()
        if is_over or self._trouble:
            said = "has ended; restart the node" if is_over else self._trouble
            return Check(self._name, "warn", f"the log's files are not looked after: {said}")
        part = "all files were read" if self._passes else f"{self._read} files were read so far"
        mended = f"; {self.mended} were damaged and mended" if self.mended else ""
        return Check(self._name, "pass", f"{part}{mended}", observed=self.mended, unit="mended files")

    async def mend(self, epoch: int, tile: Tile) -> bool:
        """Somebody found this tile damaged: whether it is whole now. What could not be mended lately is not
        tried again at once."""
        known = self.damages.get(epoch, tile)
        if known is not None and known.again_at > self._clock.monotonic():
            return False
        for one in await self.epochs():
            if one.number == epoch:
                standing = await self._standing(one)
                return standing is not None and await self.check(one, standing, tile)
        return False

    async def whole(self, progress: Callable[[int], None]) -> None:
        """Look at everything once, without a rest; ``progress`` is told how many files were read. Raises
        ``Unavailable``."""
        self._rest = self._read_rest = 0.0
        for epoch in await self.epochs():
            standing = await self._standing(epoch)
            if standing is None:
                continue
            await self._sweep(epoch, standing)
            for level, count in sweep.levels_of(standing.checkpoint.size):
                for index in range(count):
                    await self.check(epoch, standing, Tile(level, index))
                    self._read += 1
                    progress(self._read)

    async def edge(self) -> None:
        """Look at what whoever opens the log to write it has to read (the newest checkpoint, the right edge,
        the last complete bundle), and at what the journal can mend: it is cleared after the next checkpoint.
        Raises ``Unavailable``."""
        epoch = (await self.epochs())[0]
        standing = await self._standing(epoch)
        if standing is None or not standing.checkpoint.size:
            return
        size = standing.checkpoint.size
        last = size // WIDTH
        held = await asyncio.to_thread(journal.first_index, DISK, epoch.place / "journal")
        first = last - 1 if held is None else min(last - 1, max(held // WIDTH, last - READY_MAX))
        recent = [Tile(level, index) for index in range(max(0, first), last) for level in (ENTRIES, 0)]
        for tile in [*tiles_at(size)[::-1], *recent]:
            await self.check(epoch, standing, tile)

    # --- rounds -----------------------------------------------------------------------------------

    async def _work(self) -> None:
        while not self._stop.is_set():
            began = self._clock.monotonic()
            try:
                await self.round()
                self._trouble = ""
            except NodeError as exc:
                self._trouble = str(exc)
            left_s = EVERY_S - (self._clock.monotonic() - began)
            await pause(self._clock, max(PAUSE_MIN_S, left_s), self._stop)

    async def round(self) -> None:
        """Look at all files from outside, then read on where the last round stopped. Raises
        ``Unavailable``."""
        began = self._clock.monotonic()
        known = {}
        unread = []
        for epoch in await self.epochs():
            standing = await self._standing(epoch)
            if standing is not None:
                known[epoch.number] = (epoch, standing)
                await self._sweep(epoch, standing)
            elif self.damages.get(epoch.number, None) is not None:
                unread.append(epoch.number)
        self.damages.keep_only([*known, *unread])
        worked_s = 0.0
        if self._unread is None:
            self._unread = self._all(known)
        while True:
            place = next(self._unread, None)
            if place is None:
                self._unread = None
                self._passes += 1
                return
            if place[0] in known:
                worked_s += await self._timed(*known[place[0]], place[1])
                self._read += 1
            is_late = self._clock.monotonic() - began >= EVERY_S
            if is_late or (self._passes and worked_s >= REREAD_S):
                return

    async def sample(self) -> None:
        """A part of each epoch, the newest first. Raises ``Unavailable``."""
        for epoch in await self.epochs():
            standing = await self._standing(epoch)
            count = 0 if standing is None else standing.checkpoint.size // WIDTH
            for index in {int(self._clock.random() * count) for _ in range(min(SAMPLE, count))}:
                if standing is not None:
                    await self.check(epoch, standing, Tile(ENTRIES, index))

    def _all(self, known: dict[int, tuple[Epoch, Standing]]) -> Iterator[tuple[int, Tile]]:
        for number, (_, standing) in known.items():
            for level, count in sweep.levels_of(standing.checkpoint.size):
                for index in range(count):
                    yield number, Tile(level, index)

    async def _timed(self, epoch: Epoch, standing: Standing, tile: Tile) -> float:
        began = self._clock.monotonic()
        await self.check(epoch, standing, tile)
        took_s = self._clock.monotonic() - began
        await self._clock.sleep(took_s * self._read_rest)
        return took_s

    async def _sweep(self, epoch: Epoch, standing: Standing) -> None:
        marks = self._marks.setdefault(epoch.number, Marks())
        size = standing.checkpoint.size
        for tile in {one.is_bundle: one for one in tiles_at(size)}.values():  # the bundle, and the edge
            await self.check(epoch, standing, tile)
        beside: dict[Tile, int] = {}
        for level, first, count in sweep.groups(size):
            began = self._clock.monotonic()
            with translated("the log's folder cannot be read"):
                found = await asyncio.to_thread(sweep.changed, epoch.place, marks, level, first, count)
                beside |= await asyncio.to_thread(sweep.narrower, epoch.place, level, first, count)
            await self._clock.sleep((self._clock.monotonic() - began) * self._rest)
            for tile in found:
                known = self.damages.get(epoch.number, tile)
                if known is None or known.again_at <= self._clock.monotonic():
                    await self._timed(epoch, standing, tile)
        await self._look_beside(epoch, standing, beside)
        for damage in self.damages.of(epoch.number):
            if damage.tile is not None and damage.again_at <= self._clock.monotonic():
                await self._timed(epoch, standing, damage.tile)

    async def _look_beside(self, epoch: Epoch, standing: Standing, looks: dict[Tile, int]) -> None:
        """Partial tiles that earlier checkpoints left: nobody needs them any more, and readers of the folder
        look at them. A damaged one is written again from the wider one; those that have changed come first,
        and what there is no time for waits for the next round."""
        seen = self._beside_seen.setdefault(epoch.number, {})
        for tile in [one for one in seen if one not in looks]:
            del seen[tile]
        worked_s = 0.0
        unread = [one for one in looks.items() if seen.get(one[0]) != one[1]]
        for tile, look in sorted(unread, key=lambda one: one[0] not in seen):
            if self._read_rest and worked_s >= BESIDE_S:
                return
            began = self._clock.monotonic()
            try:
                right = await asyncio.to_thread(epoch.folder.wrong, standing, tile)
                if right is not None and await self._stands(epoch):
                    await epoch.write({tile: right})
                    self._told(standing.checkpoint.origin, f"{tile.path} was damaged", "a wider one")
                    continue
            except (DamagedTile, Unavailable):
                continue  # the wider one is looked at by itself
            seen[tile] = look
            took_s = self._clock.monotonic() - began
            worked_s += took_s
            await self._clock.sleep(took_s * self._rest)

    # --- one epoch --------------------------------------------------------------------------------

    async def epochs(self) -> list[Epoch]:
        """Those whose folders are there, the one that is written now first. Raises ``Unavailable``."""
        live = self._live()
        with translated("the log's folder cannot be read"):
            closed = await asyncio.to_thread(epochs.closed, self._directory)
            newest = epoch_of(live.origin)[1] if live else await asyncio.to_thread(self._at_top)
        top = CheckedFolder(FolderSource(self._directory), self._keys)
        write = folder_writer(self._directory) if live is None else live.rewrite
        found = [Epoch(newest, self._directory, top, live, write)]
        for number in reversed(closed):
            if number != newest:
                place = epochs.folder_of(self._directory, number)
                aside = CheckedFolder(FolderSource(place), self._keys)
                found.append(Epoch(number, place, aside, None, folder_writer(place)))
        return found

    def _at_top(self) -> int:
        try:
            return epochs.current(self._directory)
        except CorruptState as exc:
            raise Unavailable(str(exc)) from exc

    async def _standing(self, epoch: Epoch) -> Standing | None:
        """The checkpoint to hold the files against; None where there is none, or the epoch is being moved."""
        if epoch.live is not None:
            return await self._live_standing(epoch, epoch.live)
        for _ in range(2):
            if not await self._stands(epoch):
                self.damages.drop(epoch.number, None)
                return None
            try:
                standing = await asyncio.to_thread(epoch.folder.newest)
            except (NotFound, DamagedLog) as exc:
                if not await asyncio.to_thread((epoch.place / "tile").is_dir):
                    return None  # moved away, or nothing was ever signed in it
                if not await self._restored(epoch):
                    self._put(epoch, f"{CHECKPOINT} of epoch {epoch.number}", None, str(exc), ())
                    return None
            else:
                self.damages.drop(epoch.number, None)
                return epoch.folder.under(standing.checkpoint, standing.note)
        return None

    async def _live_standing(self, epoch: Epoch, live: TileLog) -> Standing | None:
        """What the writer has published; its checkpoint and keys in the folder are put right."""
        published = live.published
        if published is None:
            return None
        checkpoint = Checkpoint(live.origin, published.size, published.root)
        problem = await asyncio.to_thread(self._beside, epoch, checkpoint)
        if problem and live.published is published and await self._stands(epoch):
            try:
                await live.rewrite({})
            except Unavailable as exc:
                if await self._stands(epoch):
                    self._put(epoch, live.origin, None, f"{problem}, and cannot be written: {exc}", ())
                return None
            self._told(live.origin, problem, "what the writer knows")
        self.damages.drop(epoch.number, None)
        return epoch.folder.under(checkpoint, published.note)

    def _beside(self, epoch: Epoch, checkpoint: Checkpoint) -> str:
        """What is wrong with checkpoint and keys of the log that is written; "" where nothing is."""
        try:
            found = epoch.folder.newest().checkpoint
            epoch.folder.read_now(VKEY, NOTE_BYTES_MAX)
        except (NotFound, DamagedLog) as exc:
            return str(exc)
        if found.origin != checkpoint.origin or found.size < checkpoint.size:
            return f"the file {CHECKPOINT} is an older one, or another log's"
        return ""

    async def _restored(self, epoch: Epoch) -> bool:
        """Put the newest note that was signed in the place of a closed log's checkpoint, if its tiles are
        that tree's."""
        try:
            note = await asyncio.to_thread(DISK.read, self._high_water(epoch.number), NOTE_BYTES_MAX)
            checkpoint = await asyncio.to_thread(epoch.folder.opened, note)
            standing = epoch.folder.under(checkpoint, note)
            edge = [one for one in tiles_at(checkpoint.size) if not one.is_bundle]
            mender = Mender(epoch.folder, epoch.place / "journal", self._copies, epoch.write)
            for tile in edge[:1]:
                await mender.mend(standing, tile)
            put = partial(DISK.replace, epoch.place / CHECKPOINT, note)
            await asyncio.to_thread(unless_moved, epoch.place, put)
        except (OSError, NodeError):
            return False
        self._told(checkpoint.origin, f"the file {CHECKPOINT} was damaged", "the newest note that was signed")
        return True

    # --- one tile ---------------------------------------------------------------------------------

    async def check(self, epoch: Epoch, standing: Standing, tile: Tile) -> bool:
        """Read it, and mend it if it is damaged; whether it is whole now. Raises ``Unavailable``."""
        for _ in range(_TRIES):
            mark = await asyncio.to_thread(sweep.look_of, epoch.place, tile)
            try:
                await asyncio.to_thread(epoch.folder.verify, standing, tile)
            except DamagedTile:
                if epoch.live is not None:  # the publisher may have gone on, or the log be moved
                    published = epoch.live.published
                    if published is not None and published.size != standing.checkpoint.size:
                        checkpoint = Checkpoint(epoch.live.origin, published.size, published.root)
                        standing = epoch.folder.under(checkpoint, published.note)
                        if not tile.is_full:
                            return True  # of an edge that is no more
                        continue
                if not await self._stands(epoch):
                    return True
                return await self._mend(epoch, standing, tile)
            except (NotFound, Rejected):
                return True  # not under this checkpoint
            if tile.is_full:
                self._marks.setdefault(epoch.number, Marks()).set(tile, mark)
            self.damages.drop(epoch.number, tile)
            return True
        return True

    async def _mend(self, epoch: Epoch, standing: Standing, tile: Tile) -> bool:
        async with self._one_at_a_time:
            known = self.damages.get(epoch.number, tile)
            if known is not None and known.again_at > self._clock.monotonic():
                return False  # somebody else has just tried
            origin = standing.checkpoint.origin
            mender = Mender(epoch.folder, epoch.place / "journal", self._copies, epoch.write)
            mended: list[tuple[str, str]] = []
            try:
                if epoch.live is not None and not tile.is_full:
                    await epoch.live.rewrite({})
                    mended.append((tile.path, "what the writer knows"))
                mended += await mender.mend(standing, tile)
            except Lost as exc:
                if await self._stands(epoch):
                    self._put(epoch, origin, tile, exc.damage.why, exc.entries)
                return False
            except Unavailable as exc:
                if await self._stands(epoch):
                    self._put(epoch, origin, tile, f"it cannot be mended now: {exc}", ())
                return False
            for path, whence in mended:
                self._told(origin, f"{path} was damaged", whence)
            self.damages.drop(epoch.number, tile)
            self._marks.setdefault(epoch.number, Marks()).clear(tile)
            return True

    async def _stands(self, epoch: Epoch) -> bool:
        """Whether what was read is still this epoch's: its folder is not moved aside, nor moved away."""
        if epoch.live is None:
            return await asyncio.to_thread(_is_here, epoch.place)
        try:
            is_turning = await asyncio.to_thread(epochs.pending, self._directory) is not None
        except (OSError, CorruptState):
            is_turning = False
        return not is_turning and self._live() is epoch.live

    def _put(self, epoch: Epoch, origin: str, tile: Tile | None, why: str, lost: Sequence[int]) -> None:
        before = self.damages.get(epoch.number, tile)
        now = self._clock.monotonic()
        wait_s = AGAIN_FIRST_S
        if before is not None:
            wait_s = min(AGAIN_MAX_S, max(AGAIN_FIRST_S, 2 * (before.again_at - before.since)))
        damage = Damage(origin, tile, why, tuple(lost), now, now + wait_s)
        if self.damages.put(epoch.number, damage):
            log.error(
                "event=log_damaged log=%s file=%s lost=%d reason=%s",
                *(origin, "" if tile is None else tile.path, len(lost), why),
            )

    def _told(self, origin: str, what: str, whence: str) -> None:
        self.mended += 1
        log.warning("event=log_mended log=%s what=%s from=%s", origin, what, whence)


def _is_here(place: Path) -> bool:
    """Whether a closed epoch lies there, and was not moved to an archive."""
    return place.is_dir() and not is_moved(place)
