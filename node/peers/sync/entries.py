"""Acts on the proven entries of a peer's log: keys, withdrawals, answers, statements, in this order.

Promises: what is withdrawn later in what was proven at once is not fetched; what was refused before its block
came is counted by reason; a withdrawal has its effect also where its tombstone cannot be had; entries whose
blocks nobody has are remembered as missing. Whatever is done again changes nothing, and what of it is kept
here (records, tombstones, statements, keys) is not fetched again.
Must not know how a log is read or proven, nor what admission decides.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from node.core.clock import Clock
from node.core.errors import NodeError, Rejected
from node.core.ipld.cid import Cid
from node.peers.rules import entry as entries
from node.peers.rules.admission import look
from node.peers.rules.entry import Key, PublicationEntry, Publish, Retract, Validate
from node.peers.store.sqlite import PeerStore
from node.peers.sync.admit import Admitter, Arrived
from node.peers.sync.certified_keys import PeerKeys
from node.peers.sync.fetch import Missing
from node.peers.sync.round import Round

MALFORMED = "malformed"
"""An entry of a form that no entry has."""
RETRACTED = "retracted"
MISSING = "missing"
MISSING_EVERY_S = 600.0
MISSING_AT_ONCE = 256
AT_ONCE = 32
"""Answers that are admitted together."""
BYTES_AT_ONCE = 2**20
"""Of their blocks; the last one may pass it."""

_Wanted: TypeAlias = dict[Cid, tuple[int, PublicationEntry]]
"""Block → the entry that names it, and its index."""


class Slice:
    """Entries ``first`` and on; None for what is no entry."""

    def __init__(self, first: int, leaves: Sequence[bytes]) -> None:
        self.first = first
        self._entries = [_read(index, leaf) for index, leaf in enumerate(leaves, first)]

    @property
    def malformed(self) -> int:
        """How many are none."""
        return sum(one is None for one in self._entries)

    @property
    def entries(self) -> list[tuple[int, PublicationEntry]]:
        """With their indexes."""
        return [(index, one) for index, one in enumerate(self._entries, self.first) if one is not None]

    def withdrawn(self) -> dict[Cid, int]:
        """Which records these entries take back: the index of the last such entry."""
        return {one.cid: index for index, one in self.entries if isinstance(one, Retract)}


def _read(index: int, leaf: bytes) -> PublicationEntry | None:
    try:
        return entries.read(index, leaf)
    except Rejected:
        return None


class Entries:
    """Use from one event loop, for each root one call at a time."""

    def __init__(self, store: PeerStore, admitter: Admitter, keys: PeerKeys, clock: Clock) -> None:
        self._store = store
        self._admitter = admitter
        self._keys = keys
        self._clock = clock
        self._missing = Missing()
        self._missing_at: dict[str, float] = {}

    async def act(self, now: Round, root: str, some: Slice, withdrawn: Mapping[Cid, int]) -> None:
        """Act on a slice; ``withdrawn`` may know of later withdrawals. Raises ``NodeError``: what is left is
        done when the slice comes again."""
        await self._count(now, root, Counter({MALFORMED: some.malformed}))
        try:
            await self._take_keys(now, root, some)
        finally:
            await self._take_back(now, root, some)
        await self._take_answers(now, root, some, withdrawn)
        await self._take_statements(now, root, some)

    async def retry(self, now: Round, root: str, *, is_hurried: bool = False) -> None:
        """Ask again for some of what was missing, not too often. What cannot be had stays missing."""
        if not is_hurried and self._clock.monotonic() < self._missing_at.get(root, 0.0):
            return
        some = self._missing.some(root, MISSING_AT_ONCE)
        if not some:
            self._missing_at.pop(root, None)
            return
        self._missing_at[root] = self._clock.monotonic() + MISSING_EVERY_S
        wanted: _Wanted = {cid: (index, one) for cid, index, one in some}
        with contextlib.suppress(NodeError):
            await self._deliver(now, root, wanted)

    def forget(self, root: str) -> None:
        """Nothing of this root is wanted any more."""
        self._missing.forget(root)
        self._missing_at.pop(root, None)

    # --- by kind --------------------------------------------------------------------------------------

    async def _take_keys(self, now: Round, root: str, some: Slice) -> None:
        wanted: _Wanted = {}
        for index, one in some.entries:
            if isinstance(one, Key) and not await self._keys.has(root, one.cid):
                wanted[one.cid] = (index, one)
        try:
            await self._deliver(now, root, wanted)
        finally:
            await self._keys.keep(root)

    async def _take_back(self, now: Round, root: str, some: Slice) -> None:
        wanted: _Wanted = {}
        for index, one in some.entries:
            if isinstance(one, Retract) and one.tombstone is not None:
                wanted[one.tombstone] = (index, one)
        buried = {index for index, _ in wanted.values()}
        try:
            named = [(one.cid, stone) for stone, (_, one) in wanted.items()]
            for stone, data in (await self._store.tombstone_blocks(named, root)).items():
                # Acted on all the same: a kill may have come between the two stores that know of it.
                await self._take(now, root, *wanted.pop(stone), stone, data)
            await self._deliver(now, root, wanted)
        finally:
            buried -= {index for index, _ in wanted.values()}
            for index, one in some.entries:
                if isinstance(one, Retract) and index not in buried:
                    await self._take_back_one(now, root, one, None)

    async def _take_back_one(self, now: Round, root: str, one: Retract, tombstone: bytes | None) -> None:
        await self._admitter.retract(root, one, tombstone)
        self._missing.found(root, one.cid)
        now.retracted += 1

    async def _take_answers(self, now: Round, root: str, some: Slice, withdrawn: Mapping[Cid, int]) -> None:
        counted: Counter[str] = Counter()
        wanted: _Wanted = {}
        moment = self._clock.now()
        for index, one in some.entries:
            if not isinstance(one, Publish):
                continue
            if withdrawn.get(one.cid, -1) > index:
                counted[RETRACTED] += 1
            elif code := look(one, now=moment):
                counted[code] += 1
            else:
                wanted[one.cid] = (index, one)
        cids = list(wanted)
        for cid in await self._store.known(cids):
            del wanted[cid]
        for cid in await self._store.tombstones(cids, root):
            if wanted.pop(cid, None) is not None:
                counted["tombstoned"] += 1
        if now.full:
            counted[now.full] += len(wanted)
            wanted = {}
        await self._count(now, root, counted)
        await self._deliver(now, root, wanted)

    async def _take_statements(self, now: Round, root: str, some: Slice) -> None:
        wanted: _Wanted = {one.cid: (index, one) for index, one in some.entries if isinstance(one, Validate)}
        for cid in await self._store.known_statements(list(wanted), root):
            del wanted[cid]
        await self._deliver(now, root, wanted)

    # --- blocks ---------------------------------------------------------------------------------------

    async def _deliver(self, now: Round, root: str, wanted: _Wanted) -> None:
        """Fetch these blocks and hand each to whom it is for; ``wanted`` keeps those that did not come."""
        if not wanted:
            return
        is_cut = False
        answers: list[Arrived] = []
        async with contextlib.aclosing(now.fetcher.fetch(list(wanted))) as coming:
            try:
                async for cid, data in coming:
                    index, one = wanted.pop(cid)
                    if not isinstance(one, Publish):
                        await self._take(now, root, index, one, cid, data)
                        self._missing.found(root, cid)
                        continue
                    answers.append(Arrived(index, one, cid, data))
                    if len(answers) >= AT_ONCE or sum(len(one.data) for one in answers) >= BYTES_AT_ONCE:
                        await self._take_answers_in(now, root, answers)
                        if is_cut := bool(now.full):
                            break
            except NodeError:
                await self._take_answers_in(now, root, answers)  # what came is kept: each round gets on
                raise
        await self._take_answers_in(now, root, answers)
        await self._count(now, root, Counter({now.full if is_cut else MISSING: len(wanted)}))
        if is_cut:
            return
        if wanted:
            self._missing_at.setdefault(root, self._clock.monotonic() + MISSING_EVERY_S)
        for cid, (index, one) in wanted.items():
            self._missing.add(root, cid, index, one)

    async def _take_answers_in(self, now: Round, root: str, answers: list[Arrived]) -> None:
        """Have these admitted; none is left in ``answers``."""
        some, answers[:] = answers[:], []
        if not some:
            return
        outcomes = await self._admitter.admit(root, await self._keys.ring(root), some)
        for one, outcome in zip(some, outcomes, strict=True):
            now.note(outcome)
            self._missing.found(root, one.cid)

    async def _take(
        self, now: Round, root: str, index: int, one: PublicationEntry, cid: Cid, data: bytes
    ) -> None:
        match one:
            case Key():
                refused = await self._keys.learn(root, [(cid, data)])
                await self._count(now, root, Counter({"key": refused}))
            case Retract():
                await self._take_back_one(now, root, one, data)
            case Validate():
                now.note(await self._admitter.validation(root, await self._keys.ring(root), cid, data))

    async def _count(self, now: Round, root: str, counted: Counter[str]) -> None:
        for code, times in counted.items():
            if times:
                now.refused[code] += times
                await self._store.count(root, code, times)
