"""The decision log: sealed entries in a transparency log, one shard after the other.

Promises:
1. ``append`` returns once the leaf is durable (``before_reply``), or at once with its index
   (``behind_50ms``). A leaf is never changed; indexes count from 0 in each log.
2. The key of a leaf's commitments is on disk before the leaf, in a table apart, and can be destroyed.
3. Critical entries (``entry.is_critical``) are published at once; nobody who appends waits for that.
4. A log holds ``shard_entries`` leaves at most, and what it had to say of repairs. The last one names the log
   that follows, and nothing that was acknowledged is lost on the way; appends wait meanwhile.
5. What is unusual about a log stands in its first leaves: the log that it follows, an older log of another
   format beside it (left where it is), a repair after a crash.

``node.audit.log.writer`` keeps the tree, its files and its checkpoints; ``leaf`` the bytes of a leaf;
``epochs`` the folders. Nothing here reads what an entry decides. Event loop only.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from node.audit.decisions import epochs
from node.audit.decisions.commitments import KeyTable
from node.audit.decisions.critical import CriticalEntries
from node.audit.decisions.disk import digest_of, finished, move_aside, on_disk, translated
from node.audit.decisions.entry import is_critical, policy_entry
from node.audit.decisions.entry_fields import Entry
from node.audit.decisions.epochs import Turn
from node.audit.decisions.folder import Folder
from node.audit.decisions.origin import origin_of
from node.audit.decisions.own_entries import begun_epoch, repairs
from node.audit.decisions.seal import Sealed, sealed
from node.audit.log import journal
from node.audit.log.publisher import WAY_OUT
from node.audit.log.reader import FolderSource, LogReader
from node.audit.log.writer import Published, TileLog
from node.audit.tlog import leaf
from node.core.clock import Clock
from node.core.errors import CorruptState, Misconfigured, NodeError, NotFound, Unavailable
from node.core.files import Files
from node.core.model import Check, Json
from node.core.ports import Appended
from node.core.signed_note import Signer

_T = TypeVar("_T")

BEFORE_REPLY = "before_reply"
BEHIND_50MS = "behind_50ms"

OLD_FILE = "decisions.jsonl"
"""Where versions before this format kept their decisions."""

_ERASED_MAX = 4_096
"""Erased records whose later leaves get no key: far more than are being answered from when one is erased."""

Signers = Callable[[str], Sequence[Signer]]
"""(origin) -> what signs that log's checkpoints now, the newest key first."""


@dataclass(frozen=True, slots=True)
class _Shard:
    """The log that is written now."""

    number: int
    tile_log: TileLog
    keys: KeyTable
    reader: LogReader


@dataclass(frozen=True, slots=True)
class _Terms:
    """``keys`` is the private directory of key tables and high-water marks; ``policy`` the version of the
    rules, for the log's own leaves."""

    keys: Path
    is_behind: bool
    publish_every_s: float
    shard_entries: int
    policy: str


class DecisionLog:
    """``AuditLog`` over a folder. Build with ``open``."""

    def __init__(self, folder: Folder, base: str, signers: Signers, clock: Clock, terms: _Terms) -> None:
        self.directory = folder.directory
        self._base = base
        self._signers = signers
        self._clock = clock
        self._terms = terms
        self._folder = folder
        self._critical = CriticalEntries(lambda: self._shard.tile_log.publish())
        self._shard: _Shard
        self._taken = 0  # indexes given out in this shard, or about to be
        self._in_flight: set[asyncio.Task[int]] = set()
        self._erased: dict[str, None] = {}  # the newest last
        self._keys_in_use = asyncio.Lock()
        self._turning: asyncio.Task[None] | None = None
        self._turn: Turn | None = None
        self._has_last_leaf = False
        self._to_say: list[Entry] = []
        self._trouble = ""
        self._is_closed = False

    @classmethod
    async def open(
        cls,
        directory: Path,
        origin: str,
        signers: Signers,
        clock: Clock,
        *,
        keys: Path,
        durability: str = BEFORE_REPLY,
        publish_every_s: float = 1.0,
        shard_entries: int = 10_000_000,
        alarm_bytes: int = 0,
        is_held: bool = False,
        policy: str = "",
    ) -> DecisionLog:
        """Open or create the log in ``directory``.

        ``origin`` is that of the first epoch; ``keys`` the private directory that holds key tables and
        high-water marks; ``alarm_bytes`` the size from which ``health`` warns (0: never); ``policy`` the
        version of the rules, for the log's own leaves; ``is_held`` and ``publish_every_s`` as in
        ``TileLog.open``. Raises ``CorruptState``, ``Unavailable`` (in use, or the disk says no),
        ``Misconfigured``.
        """
        if durability not in (BEFORE_REPLY, BEHIND_50MS):
            raise Misconfigured(f"log.durability must be {BEFORE_REPLY} or {BEHIND_50MS}, not {durability!r}")
        is_behind = durability == BEHIND_50MS
        terms = _Terms(Path(keys), is_behind, publish_every_s, shard_entries, policy)
        decisions = cls(Folder(Path(directory), alarm_bytes), origin, signers, clock, terms)
        await decisions._open(is_held=is_held)
        return decisions

    # --- the port ---------------------------------------------------------------------------------

    async def append(self, entry: Mapping[str, Json], *, private_texts: Mapping[str, str]) -> Appended:
        what = sealed(entry, private_texts)
        shard = await self._admitted()
        index = await self._enter(shard, self._without_erased(what, entry))
        place = Appended(shard.tile_log.origin, index)
        if is_critical(entry):
            self._critical.publish_soon(place)
        return place

    async def receipt(self, index: int, *, timeout_s: float, log: str | None = None) -> bytes | None:
        shard = self._shard
        if log is None or log == shard.tile_log.origin:
            if not 0 <= index < shard.tile_log.size():
                raise NotFound(f"the decision log has no entry {index}")
            published = await shard.tile_log.wait_published(index, timeout_s)
            receipt = None
            try:
                if published is not None:
                    receipt = await _receipt(shard.reader, index, published.size, published.note)
            except NodeError:
                if not self._is_moving(shard):
                    raise
            if not self._is_moving(shard):
                return receipt
            if self._turning is not None:
                await asyncio.shield(self._turning)
            log = shard.tile_log.origin  # it was closed meanwhile, and lies aside now
            if shard is self._shard:
                raise Unavailable("the next shard of the decision log has not begun yet; try again")
        return await self._receipt_aside(index, log)

    def on_critical(self, callback: Callable[[Appended], None]) -> None:
        self._critical.on_critical(callback)

    async def forget(self, index: int) -> bool:
        shard = self._open_shard()
        if not 0 <= index < shard.tile_log.size():
            return False
        await shard.tile_log.wait_durable(index)
        async with self._keys_in_use:
            return await self._with_keys(shard.number, lambda keys: keys.destroy(index)) or False

    async def forget_record(self, cid: str) -> int:
        self._erased.pop(cid, None)
        self._erased[cid] = None  # whatever is appended about it from here on gets no key
        if len(self._erased) > _ERASED_MAX:
            del self._erased[next(iter(self._erased))]
        shard = self._open_shard()
        if self._in_flight:
            await asyncio.wait(set(self._in_flight))
        await shard.tile_log.wait_durable(shard.tile_log.size() - 1)
        found = 0
        async with self._keys_in_use:
            numbers = await on_disk(epochs.in_keys, self._terms.keys)
            for number in sorted({*numbers, self._shard.number}, reverse=True):
                found += await self._with_keys(number, lambda keys: len(keys.destroy_about(cid))) or 0
        return found

    async def renew_signers(self) -> None:
        tile_log = self._open_shard().tile_log
        await tile_log.set_signers(self._signers(tile_log.origin))
        if tile_log.is_held:
            raise Unavailable("no checkpoint is signed before witnesses were asked; try again then")

    def size(self) -> int:
        return self._shard.tile_log.size()

    def health(self) -> Check:
        check = self._shard.tile_log.health()
        size = self.size()
        if self._is_closed:
            return Check("log", "fail", "the decision log is closed", check.since, size, "entries")
        if self._trouble:
            return Check("log", "fail", self._trouble, check.since, size, "entries")
        if self._turning is not None and check.status != "pass":
            return Check("log", "warn", "the next shard begins", check.since, size, "entries")
        if check.status == "pass" and self._folder.is_too_large:
            said = (
                f"the decision log has {self._folder.size_bytes} bytes, more than log.alarm_bytes; "
                f"move closed epochs from {self.directory / epochs.FOLDER} to an archive that stays readable"
            )
            return Check("log", "warn", said, check.since, size, "entries")
        return replace(check, name="log", observed=size, unit="entries")

    async def close(self) -> None:
        """Write, publish and let go. Idempotent. Raises ``Unavailable`` once if acknowledged entries
        (``behind_50ms``) could not be written."""
        self._is_closed = True
        if self._turning is not None:
            await asyncio.wait({self._turning})
        await self._critical.close()
        await self._folder.close()
        try:
            await self._shard.tile_log.close()
        finally:
            async with self._keys_in_use:
                self._shard.keys.close()

    # --- for those who serve, witness and anchor it -----------------------------------------------

    @property
    def tile_log(self) -> TileLog:
        """The log that is written now; another one after a shard is full."""
        return self._shard.tile_log

    @property
    def origin(self) -> str:
        """That of the log that is written now."""
        return self._shard.tile_log.origin

    @property
    def epoch(self) -> int:
        """Its number, from 1."""
        return self._shard.number

    def on_published(self, callback: Callable[[Published], None]) -> None:
        """Call ``callback`` on the event loop for each checkpoint, of this log and those that follow it."""
        self._critical.on_published(callback)

    # --- appending --------------------------------------------------------------------------------

    def _open_shard(self) -> _Shard:
        if self._is_closed:
            raise Unavailable("the decision log is closed")
        return self._shard

    async def _admitted(self) -> _Shard:
        """The shard that has a place for one more leaf; the place is taken."""
        while True:
            shard = self._open_shard()
            is_ending = self._turn is not None or self._has_last_leaf or self._is_full(shard)
            if self._turning is None and not is_ending:
                self._taken += 1
                return shard
            if self._turning is None:
                self._turning = asyncio.create_task(self._turn_over(), name="decision log: next shard")
                self._turning.add_done_callback(self._turned)
            await asyncio.shield(self._turning)

    def _is_full(self, shard: _Shard) -> bool:
        """One place is kept for the leaf that says what follows. A log whose checkpoints are held back cannot
        be closed: it grows on."""
        is_published = not (shard.tile_log.is_held or shard.tile_log.suspended)
        return self._taken >= self._terms.shard_entries - 1 and is_published

    async def _enter(self, shard: _Shard, what: Sealed) -> int:
        slot = None if what.key is None else shard.keys.slot(what.key, what.about)
        # A task of its own, so that it counts as in flight until it is through, whoever gives up.
        appending = asyncio.create_task(shard.tile_log.append(partial(leaf.compose, what.entry), slot))
        self._in_flight.add(appending)
        appending.add_done_callback(self._landed)
        index = await asyncio.shield(appending)
        self._folder.grew(len(what.entry))
        return index

    def _landed(self, appending: asyncio.Task[int]) -> None:
        self._in_flight.discard(appending)
        if appending.cancelled() or appending.exception() is not None:
            self._taken -= 1

    def _without_erased(self, what: Sealed, entry: Mapping[str, Json]) -> Sealed:
        """The key of a leaf about an erased record is dropped before it reaches the disk; the leaf that tells
        of the erasure itself keeps its own."""
        if what.key is None or entry.get("kind") == "tombstone" or self._erased.keys().isdisjoint(what.about):
            return what
        return replace(what, key=None)

    async def _with_keys(self, number: int, work: Callable[[KeyTable], _T]) -> _T | None:
        """Of an epoch's key table, open or aside; None where there is none. The caller holds
        ``_keys_in_use``."""
        shard = self._shard
        if number == shard.number and not shard.keys.is_closed:
            return await on_disk(work, shard.keys)

        def aside() -> _T | None:
            path = epochs.key_table(self._terms.keys, number)
            if not path.exists():
                return None
            keys = KeyTable.open(path, origin_of(self._base, number))
            try:
                return work(keys)
            finally:
                keys.close()

        return await on_disk(aside)

    # --- receipts ---------------------------------------------------------------------------------

    def _is_moving(self, shard: _Shard) -> bool:
        """Whether the folder at the top may not be this shard's any more."""
        return shard is not self._shard or (self._turn is not None and self._turn.number == shard.number)

    async def _receipt_aside(self, index: int, origin: str) -> bytes:
        for number in await on_disk(epochs.closed, self.directory):
            if origin_of(self._base, number) == origin:
                reader = LogReader(FolderSource(epochs.folder_of(self.directory, number)))
                note = await reader.checkpoint()
                newest = await on_disk(epochs.newest, epochs.folder_of(self.directory, number) / "checkpoint")
                if newest is None or not 0 <= index < newest.size:
                    raise NotFound(f"the log {origin} has no published entry {index}")
                return await _receipt(reader, index, newest.size, note)
        raise NotFound(f"there is no log {origin} here")

    # --- from one shard to the next ---------------------------------------------------------------

    async def _open(self, *, is_held: bool) -> None:
        with translated(f"the decision log in {self.directory} cannot be opened"):
            await asyncio.to_thread(self.directory.mkdir, parents=True, exist_ok=True)
            turn = await asyncio.to_thread(finished, self.directory)
            number = await asyncio.to_thread(epochs.current, self.directory)
        self._shard = await self._opened(number, is_held=is_held)
        try:
            await self._check_newest()
            await self._begin(turn)
            if self._has_last_leaf and not self._shard.tile_log.is_held:
                await self._turn_over()
        except BaseException:
            self._shard.keys.close()
            with contextlib.suppress(NodeError):  # what stopped the opening is the news
                await self._shard.tile_log.close()
            raise
        await self._folder.count()

    async def _check_newest(self) -> None:
        """Nothing goes on in a log that a later one has followed already. Raises ``CorruptState``."""
        if self._shard.tile_log.suspended:
            return
        for number in await on_disk(epochs.in_keys, self._terms.keys):
            path = epochs.high_water(self._terms.keys, number)
            mark = await on_disk(epochs.newest, path) if number > self._shard.number else None
            if mark is not None and mark.size:
                raise CorruptState(
                    f"the log was rolled back: {self.directory} has epoch {self._shard.number}, and a "
                    f"checkpoint of epoch {number} was signed ({path}). {WAY_OUT}"
                )

    async def _opened(self, number: int, *, is_held: bool = False) -> _Shard:
        origin = origin_of(self._base, number)
        with translated(f"the key table of the decision log in {self._terms.keys} cannot be opened"):
            keys = await asyncio.to_thread(KeyTable.open, epochs.key_table(self._terms.keys, number), origin)
        try:
            tile_log = await TileLog.open(
                self.directory,
                origin,
                self._signers(origin),
                self._clock,
                high_water=epochs.high_water(self._terms.keys, number),
                is_behind=self._terms.is_behind,
                publish_every_s=self._terms.publish_every_s,
                is_held=is_held,
                prepare=keys.write,
            )
        except BaseException:
            keys.close()
            raise
        tile_log.on_published(partial(self._critical.published, origin))
        self._taken = tile_log.size()
        return _Shard(number, tile_log, keys, LogReader(FolderSource(self.directory)))

    async def _begin(self, turn: Turn | None) -> None:
        """The leaves in which a log says how it came to be, and what happened to it."""
        shard = self._shard
        if shard.tile_log.suspended:
            return  # nothing can be appended, and health says why
        size = shard.tile_log.size()
        self._has_last_leaf = bool(size) and await _is_ended(shard, size - 1)
        with translated("the key table of the decision log cannot be read"):
            extra = await asyncio.to_thread(shard.keys.count) - size
            if extra > 0:
                await asyncio.to_thread(shard.keys.truncate, size)
        self._to_say += repairs(shard.tile_log, extra)
        if turn is not None:
            if not size:
                await self._say(begun_epoch(turn, self._terms.policy))
            if shard.tile_log.published is not None:  # else only the turn says which epoch stands at the top
                with translated("the turn to a new epoch cannot be ended"):
                    await asyncio.to_thread(epochs.end, self.directory)
        elif shard.number == 1 and not size:
            with translated(f"{OLD_FILE} cannot be read"):
                old = await asyncio.to_thread(digest_of, self.directory / OLD_FILE)
            if old is not None:
                digest, length = old
                event = "chain_closed"
                await self._say(
                    policy_entry(
                        event=event, policy=self._terms.policy, file_digest=digest, file_bytes=length
                    )
                )
        while self._to_say and not self._has_last_leaf:
            await self._say(self._to_say[0])
            del self._to_say[0]

    async def _say(self, entry: Entry) -> None:
        """A leaf of the log about itself. Past the limit of the shard, which keeps a place for it."""
        body, private_texts = entry
        self._taken += 1
        index = await self._enter(self._shard, sealed(body, private_texts))
        if is_critical(body):
            self._critical.publish_soon(Appended(self._shard.tile_log.origin, index))

    def _turned(self, task: asyncio.Task[None]) -> None:
        self._turning = None
        problem = None if task.cancelled() else task.exception()
        self._trouble = "" if problem is None else str(problem)

    async def _turn_over(self) -> None:
        """Close this shard and begin the next. Each step is done once; what fails is tried again by the next
        append. Raises ``NodeError``."""
        if self._in_flight:
            await asyncio.wait(set(self._in_flight))
        if self._turn is None:
            self._turn = await self._ended(self._shard)
        if self._shard.number == self._turn.number:
            with translated("the full decision log cannot be moved aside"):
                await asyncio.to_thread(move_aside, self.directory, self._turn)
            self._shard = await self._opened(self._turn.following)
        await self._begin(self._turn)
        self._folder.sweep(self.directory / epochs.FOLDER / self._turn.place)
        self._turn = None

    async def _ended(self, shard: _Shard) -> Turn:
        """The shard has its last leaf, a checkpoint over it, and is let go of."""
        following = await on_disk(epochs.following, self.directory, self._terms.keys, shard.number)
        place = await on_disk(epochs.free_place, self.directory, shard.number)
        if not self._has_last_leaf:
            origin = origin_of(self._base, following)
            await self._say(policy_entry(event="shard_closed", policy=self._terms.policy, next_origin=origin))
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
            reason="size",
            following=following,
            place=place,
        )


async def _receipt(reader: LogReader, index: int, size: int, note: bytes) -> bytes:
    [entry] = await reader.entries(index, 1, size)
    return replace(await reader.receipt(index, note), extra=entry).encode()


async def _is_ended(shard: _Shard, last: int) -> bool:
    """Whether the last leaf says that another log follows: a crash came before the turn."""
    published = shard.tile_log.published
    if published is not None and published.size > last:
        [data] = await shard.reader.entries(last, 1, published.size)
    else:
        folder, origin = shard.tile_log.directory / "journal", shard.tile_log.origin
        data = (await on_disk(journal.find, Files(), folder, origin)).entries[-1]
    return leaf.read_leaf(data).entry.get("event") == "shard_closed"
