"""The log that is written now, and the turn from one that is full to the next.

Promises:
1. A log holds ``shard_entries`` leaves at most, and what it had to say of repairs; ``end_now`` closes it
   sooner. The last leaf names the log that follows, and nothing that was acknowledged is lost on the way;
   appends wait meanwhile.
2. What is unusual about a log stands in its first leaves: the log that it follows, an older log of another
   format beside it (left where it is), a repair after a crash.
3. A leaf whose key was destroyed, or dropped before it was written, is found by nobody: keys are on disk
   before their leaf, in a table apart.

Nothing here reads what an entry decides. Event loop only.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from node.audit.decisions import epochs
from node.audit.decisions.commitments import SUBJECT_BYTES, KeyTable
from node.audit.decisions.critical import CriticalEntries
from node.audit.decisions.disk import on_disk
from node.audit.decisions.entry import Closed, is_critical, policy_entry, repair_entry
from node.audit.decisions.entry_fields import Entry
from node.audit.decisions.epochs import Turn
from node.audit.decisions.folder import Folder, digest_of
from node.audit.decisions.origin import origin_of
from node.audit.decisions.seal import sealed
from node.audit.log import journal
from node.audit.log.publisher import WAY_OUT
from node.audit.log.reader import FolderSource, LogReader
from node.audit.log.writer import Pace, TileLog
from node.audit.tlog import leaf
from node.core.clock import Clock
from node.core.errors import CorruptState, Misconfigured, NodeError, Unavailable
from node.core.files import DISK, translated
from node.core.ipld.cid import Cid
from node.core.ports import Appended, Sealed
from node.core.signed_note import Signer

_T = TypeVar("_T")

BEFORE_REPLY = "before_reply"
BEHIND_50MS = "behind_50ms"

FULL = "size"
"""Why a shard ends that nobody ended sooner."""
OLD_FILE = "decisions.jsonl"
"""Where versions before this format kept their decisions."""
KEYS_IN_FLIGHT_MAX = 4_096
"""Keys without a leaf that a crash can leave; more say that the folder is older than its key table."""

Signers = Callable[[str], Sequence[Signer]]
"""(origin) -> what signs that log's checkpoints now, the newest key first."""


@dataclass(frozen=True, slots=True)
class Shard:
    """The log that is written now."""

    number: int
    tile_log: TileLog
    keys: KeyTable
    reader: LogReader


@dataclass(frozen=True, slots=True)
class Terms:
    """As the settings of these names say. ``policy`` is the version of the rules, for the log's own leaves;
    ``alarm_bytes`` the size from which ``health`` warns (0: never), ``beside`` (directory, glob) of
    files that grow with the log and are counted too. Raises ``Misconfigured``."""

    durability: str = BEFORE_REPLY
    publish_every_s: float = 1.0
    shard_entries: int = 10_000_000
    alarm_bytes: int = 0
    policy: str = ""
    beside: tuple[tuple[Path, str], ...] = ()

    def __post_init__(self) -> None:
        if self.durability not in (BEFORE_REPLY, BEHIND_50MS):
            raise Misconfigured(
                f"log.durability must be {BEFORE_REPLY} or {BEHIND_50MS}, not {self.durability!r}"
            )


class Shards:
    """One log after the other. ``base`` is the origin of the first, ``keys`` the private directory of key
    tables and high-water marks. ``open`` first."""

    def __init__(
        self, directory: Path, base: str, signers: Signers, clock: Clock, keys: Path, terms: Terms
    ) -> None:
        self.folder = Folder(directory, terms.alarm_bytes, [(keys, "commitments-*"), *terms.beside])
        self.base = base
        self.signers = signers
        self.terms = terms
        self._keys = keys
        self.critical = CriticalEntries(lambda: self.now.tile_log.publish())
        self.now: Shard
        self.trouble = ""
        """Why the next log could not begin."""
        self.refusal = ""
        """Why nothing is entered now but what must be."""
        self.is_closed = False
        self._clock = clock
        self._taken = 0  # indexes given out in this shard, or about to be
        self._in_flight: set[asyncio.Future[int]] = set()
        self._keys_in_use = asyncio.Lock()
        self._turning: asyncio.Task[None] | None = None
        self._turn: Turn | None = None
        self._has_last_leaf = False
        self._reason = FULL
        self._to_say: list[Entry] = []

    @property
    def is_turning(self) -> bool:
        return self._turning is not None

    async def turned(self) -> None:
        """Wait for the turn that is under way. Raises ``NodeError``."""
        if self._turning is not None:
            await asyncio.shield(self._turning)

    def open_now(self) -> Shard:
        if self.is_closed:
            raise Unavailable("the decision log is closed")
        return self.now

    def is_moving(self, shard: Shard) -> bool:
        """Whether the folder at the top may not be this shard's any more."""
        return shard is not self.now or (self._turn is not None and self._turn.number == shard.number)

    def place(self, *, is_needed: bool = False) -> Shard | None:
        """The shard that has a place for one more leaf; the place is taken. None where the next one begins
        first. ``is_needed``: it is entered in spite of a ``refusal``. Raises ``Unavailable``."""
        shard = self.open_now()
        if self.refusal and not is_needed:
            raise Unavailable(self.refusal)
        is_ending = self._turn is not None or self._has_last_leaf or self._is_full(shard)
        if is_ending or self._turning is not None:
            return None
        self._taken += 1
        return shard

    async def admitted(self, *, is_needed: bool = False) -> Shard:
        """``place``, after the next shard has begun where one must."""
        while (shard := self.place(is_needed=is_needed)) is None:
            await self._turned_over()
        return shard

    async def end_now(self, reason: str) -> bool:
        """Close this shard, which is not full, for ``reason`` (a code), and begin the next one; False where
        checkpoints are held back, so that it cannot be closed. Raises ``NodeError``; then the next append,
        or the next call, goes on with it."""
        tile_log = self.open_now().tile_log
        if tile_log.unsigned:
            return False
        if not self._has_last_leaf:
            await tile_log.publish()  # so that appends wait for little
            self._reason = reason
        await self._turned_over()
        return True

    def put(self, shard: Shard, what: Sealed) -> int | asyncio.Future[int]:
        """Append to a shard in which a place was taken: the index, or what it will come from. Whoever gives
        up, it counts as in flight until it is through."""
        slot = None if what.key is None else shard.keys.slot(what.key, what.about, _digest(what.subject))
        try:
            begun = shard.tile_log.begin(partial(leaf.compose, what.entry), slot, what.at)
        except NodeError:
            self._taken -= 1
            raise
        if isinstance(begun, int):
            self.folder.grew(len(what.entry))
            return begun
        self._in_flight.add(begun)
        begun.add_done_callback(partial(self._landed, len(what.entry)))
        return asyncio.shield(begun)

    async def all_entered(self) -> None:
        """Wait for the appends that are under way."""
        if self._in_flight:
            await asyncio.wait(set(self._in_flight))

    async def with_keys(self, work: Callable[[KeyTable], int], *numbers: int) -> int:
        """The sum of what ``work`` returns for the key tables of these epochs, open or aside; where none is
        named, of all. Raises ``Unavailable``."""
        async with self._keys_in_use:
            if not numbers:
                known = await on_disk(epochs.in_keys, self._keys)
                numbers = tuple(sorted({*known, self.now.number}, reverse=True))
            return sum([await self._with_table(number, work) for number in numbers])

    async def open(self, *, is_held: bool) -> None:
        """Raises ``CorruptState``, ``Unavailable``."""
        directory = self.folder.directory
        with translated(f"the decision log in {directory} cannot be opened"):
            await asyncio.to_thread(directory.mkdir, parents=True, exist_ok=True)
            turn = await asyncio.to_thread(epochs.finished, directory)
            number = await asyncio.to_thread(epochs.current, directory)
        self.now = await self._opened(number, is_held=is_held)
        try:
            await self._check_newest()
            await self._begin(turn)
            if self._has_last_leaf and not self.now.tile_log.unsigned:
                await self._turn_over()
        except BaseException:
            self.now.keys.close()
            with contextlib.suppress(NodeError):  # what stopped the opening is the news
                await self.now.tile_log.close()
            raise
        for place in await on_disk(epochs.unswept, directory):
            self.folder.sweep(place)
        await self.folder.count()

    async def close(self) -> None:
        """Write, publish and let go. Idempotent. Raises ``Unavailable`` once if acknowledged entries
        (``behind_50ms``) could not be written."""
        self.is_closed = True
        if self._turning is not None:
            await asyncio.wait({self._turning})
        await self.critical.close()
        await self.folder.close()
        try:
            await self.now.tile_log.close()
        finally:
            async with self._keys_in_use:
                self.now.keys.close()

    # --- appending --------------------------------------------------------------------------------

    def _is_full(self, shard: Shard) -> bool:
        """One place is kept for the leaf that says what follows. A log whose checkpoints are held back cannot
        be closed: it grows on."""
        if self._taken < self.terms.shard_entries - 1:
            return False
        return not shard.tile_log.unsigned

    def _landed(self, size_bytes: int, appending: asyncio.Future[int]) -> None:
        self._in_flight.discard(appending)
        if appending.cancelled() or appending.exception() is not None:
            self._taken -= 1
        else:
            self.folder.grew(size_bytes)

    async def _with_table(self, number: int, work: Callable[[KeyTable], int]) -> int:
        if number == self.now.number and not self.now.keys.is_closed:
            return await on_disk(work, self.now.keys)

        def aside() -> int:
            path = epochs.key_table(self._keys, number)
            if not path.exists():
                return 0
            with contextlib.closing(KeyTable.open(path, origin_of(self.base, number))) as keys:
                return work(keys)

        return await on_disk(aside)

    # --- beginning --------------------------------------------------------------------------------

    async def _check_newest(self) -> None:
        """Nothing goes on in a log that a later one has followed already. Raises ``CorruptState``."""
        if self.now.tile_log.suspended:
            return
        for number in await on_disk(epochs.in_keys, self._keys):
            path = epochs.high_water(self._keys, number)
            mark = await on_disk(epochs.newest, path) if number > self.now.number else None
            if mark is not None and mark.size:
                raise CorruptState(
                    f"the log was rolled back: {self.folder.directory} has epoch {self.now.number}, and a "
                    f"checkpoint of epoch {number} was signed ({path}). {WAY_OUT}"
                )

    async def _opened(self, number: int, *, is_held: bool = False) -> Shard:
        origin = origin_of(self.base, number)
        with translated(f"the key table of the decision log in {self._keys} cannot be opened"):
            keys = await asyncio.to_thread(KeyTable.open, epochs.key_table(self._keys, number), origin)
        is_behind = self.terms.durability == BEHIND_50MS
        pace = Pace(is_behind, self.terms.publish_every_s, is_held=is_held)
        try:
            tile_log = await TileLog.open(
                self.folder.directory,
                origin,
                self.signers(origin),
                self._clock,
                high_water=epochs.high_water(self._keys, number),
                pace=pace,
                prepare=keys.write,
            )
        except BaseException:
            keys.close()
            raise
        tile_log.on_published(partial(self.critical.published, origin))
        self._taken = tile_log.size()
        return Shard(number, tile_log, keys, LogReader(FolderSource(self.folder.directory)))

    async def _begin(self, turn: Turn | None) -> None:
        """The leaves in which a log says how it came to be, and what happened to it."""
        shard, directory = self.now, self.folder.directory
        if shard.tile_log.suspended:
            return  # nothing can be appended, and health says why
        size = shard.tile_log.size()
        if size and (why := await _ended_for(shard, size - 1)):
            self._has_last_leaf, self._reason = True, why
        else:
            self._has_last_leaf = False
        with translated("the key table of the decision log cannot be read"):
            extra = await asyncio.to_thread(shard.keys.count) - size
            if extra > 0:
                await asyncio.to_thread(shard.keys.truncate, size)
        self._to_say += _repairs(shard.tile_log, extra)
        policy = self.terms.policy
        if turn is not None:
            if not size:
                previous = Closed(turn.origin, turn.size, turn.root)
                begun = policy_entry(
                    event="epoch",
                    policy=policy,
                    reason=turn.reason,
                    previous=previous,
                    kept_size=turn.kept_size,
                )
                await self._say(begun)
            if shard.tile_log.published is not None:  # else only the turn says which epoch stands at the top
                with translated("the turn to a new epoch cannot be ended"):
                    await asyncio.to_thread(epochs.end, directory)
        elif shard.number == 1 and not size:
            with translated(f"{OLD_FILE} cannot be read"):
                old = await asyncio.to_thread(digest_of, directory / OLD_FILE)
            if old is not None:
                await self._say(
                    policy_entry(event="chain_closed", policy=policy, file_digest=old[0], file_bytes=old[1])
                )
        while self._to_say and not self._has_last_leaf:
            await self._say(self._to_say[0])
            del self._to_say[0]

    async def _say(self, entry: Entry) -> None:
        """A leaf of the log about itself. Past the limit of the shard, which keeps a place for it."""
        body, private_texts = entry
        self._taken += 1
        begun = self.put(self.now, sealed(body, private_texts))
        index = begun if isinstance(begun, int) else await begun
        if is_critical(body):
            self.critical.publish_soon(Appended(self.now.tile_log.origin, index))

    # --- from one shard to the next ---------------------------------------------------------------

    def _has_turned(self, task: asyncio.Task[None]) -> None:
        self._turning = None
        problem = None if task.cancelled() else task.exception()
        self.trouble = "" if problem is None else str(problem)
        if self._turn is None and not self._has_last_leaf:
            self._reason = FULL  # nothing was begun

    async def _turned_over(self) -> None:
        if self._turning is None:
            self._turning = asyncio.create_task(self._turn_over(), name="decision log: next shard")
            self._turning.add_done_callback(self._has_turned)
        await asyncio.shield(self._turning)

    async def _turn_over(self) -> None:
        """Close this shard and begin the next. Each step is done once; what fails is tried again by the next
        append. Raises ``NodeError``."""
        await self.all_entered()
        if self._turn is None:
            self._turn = await self._ended(self.now)
        directory = self.folder.directory
        if self.now.number == self._turn.number:
            with translated("the full decision log cannot be moved aside"):
                await asyncio.to_thread(epochs.move_aside, directory, self._turn)
            self.now = await self._opened(self._turn.following)
        await self._begin(self._turn)
        self.folder.sweep(directory / epochs.FOLDER / self._turn.place)
        self._turn, self._reason = None, FULL

    async def _ended(self, shard: Shard) -> Turn:
        """The shard has its last leaf, a checkpoint over it, and is let go of."""
        directory = self.folder.directory
        following = await on_disk(epochs.following, directory, self._keys, shard.number)
        place = await on_disk(epochs.free_place, directory, shard.number)
        if not self._has_last_leaf:
            origin = origin_of(self.base, following)
            why = "" if self._reason == FULL else self._reason
            policy = self.terms.policy
            await self._say(policy_entry(event="shard_closed", policy=policy, reason=why, next_origin=origin))
            self._has_last_leaf = True
        published = await shard.tile_log.publish()
        await shard.tile_log.close()
        async with self._keys_in_use:
            shard.keys.close()
        return Turn(
            number=shard.number,
            origin=shard.tile_log.origin,
            size=published.size,
            root=published.root.hex(),
            kept_size=published.size,
            reason=self._reason,
            following=following,
            place=place,
        )


def _repairs(tile_log: TileLog, extra_keys: int) -> list[Entry]:
    """What opening the log had to mend."""
    repair = tile_log.repair
    orphans = extra_keys if extra_keys > KEYS_IN_FLIGHT_MAX else 0
    if repair is None and not orphans:
        return []
    return [
        repair_entry(
            bytes_cut=0 if repair is None else repair.bytes_cut,
            entries_replayed=0 if repair is None else repair.entries_replayed,
            keys_without_entry=orphans,
        )
    ]


async def _ended_for(shard: Shard, last: int) -> str:
    """Why this log ended, where its last leaf says that another one follows: a crash came before the turn."""
    published = shard.tile_log.published
    if published is not None and published.size > last:
        [data] = await shard.reader.entries(last, 1, published.size)
    else:
        folder, origin = shard.tile_log.directory / "journal", shard.tile_log.origin
        data = (await on_disk(journal.find, DISK, folder, origin)).entries[-1]
    entry = leaf.read_leaf(data).entry
    return str(entry.get("reason") or FULL) if entry.get("event") == "shard_closed" else ""


def _digest(subject: str) -> bytes:
    """Of a CID, or nothing."""
    cid = Cid.find(subject)
    return cid.digest if cid is not None and len(cid.digest) == SUBJECT_BYTES else b""
