"""Admission at work: what becomes of each record, statement and withdrawal that a peer's log brings.

Every record that may ever count is held in the ``PeerStore``; only those of a served tier are in the record
store as well (``node.peers.sync.serving``), so what is not trusted can be neither served nor shown to a
model.

Promises:
1. What was decided is decided anew whenever something that it rests on changes: the issuer's standing or
   keys, what others say to the same question, statements on the record, its end.
2. A root's own withdrawal wins over any copy, earlier or later. Nobody withdraws what another has issued, and
   nothing that a peer sends touches what is ours.
3. A newer record of an issuer takes the place of its older one to the same question.
4. Each step may be repeated; a weighing of all records of a root that was cut off is finished by ``resume``.

Rules of what may enter are in ``node.peers.rules.admission``, of tiers in ``node.peers.rules.tiers``. It must
not know how records arrive.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeVar

from node.core.clock import Clock
from node.core.errors import Rejected
from node.core.ipld.cid import Cid
from node.core.record import AnswerRecord, TombstoneRecord, ValidationRecord
from node.peers.rules import standing as standings
from node.peers.rules.admission import ClassLimit, Examined, Refused, examine, read_block, statement
from node.peers.rules.entry import Publish, Retract
from node.peers.rules.keys import KeyRing
from node.peers.rules.values import SERVED, Held, Standing, Terms, Tier
from node.peers.store.sqlite import PeerStore
from node.peers.sync.ledger import PeerLedger
from node.peers.sync.serving import Place, Serving
from node.peers.sync.weigh import REFUTED, Scales, age, agreed, answer_of, asks_the_same, has_voice

_PAGE = 256

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Reading:
    """What this node makes of a peer's record. ``recompute``: whether what is computed or looked up here says
    the same (None: cannot tell); ``private``: what the privacy gate finds in it; ``off_loop`` runs what only
    computes in another place than the event loop, if there is one."""

    class_limit: Callable[[AnswerRecord], ClassLimit]
    recompute: Callable[[AnswerRecord], Awaitable[bool | None]]
    private: Callable[[AnswerRecord], str | None]
    off_loop: Callable[[Callable[[], Any]], Awaitable[Any]] = asyncio.to_thread


@dataclass(frozen=True, slots=True)
class Arrived:
    """A block that came under ``cid``, for entry ``index`` of its issuer's log. ``entry``: what the log says
    of it, where that is known."""

    index: int
    entry: Publish | None
    cid: Cid
    data: bytes


class Admitter:
    """Use from one event loop. ``count`` hears (result, reason) of everything that is taken, refused or
    withdrawn."""

    def __init__(
        self,
        store: PeerStore,
        serving: Serving,
        clock: Clock,
        reading: Reading,
        terms: Terms,
        ledger: PeerLedger,
        count: Callable[[str, str], None],
    ) -> None:
        self._store = store
        self._serving = serving
        self._clock = clock
        self._reading = reading
        self._own_root = terms.root
        self._quota = terms.quota
        self._ledger = ledger
        self._count = count
        self._scales = Scales(store, clock, terms.quorum)
        self._deciding = asyncio.Lock()
        """One decision at a time: each rests on what is held, and changes it."""
        self._changes = 0
        """Grows with every change of what is held or withdrawn: what was read before is then read again."""
        self._weighing: Counter[str] = Counter()
        """Roots all of whose records are being weighed, and by how many."""

    # --- records in -------------------------------------------------------------------------------

    async def admit(self, root: str, ring: KeyRing, arrived: Sequence[Arrived]) -> list[str]:
        """Look at blocks that ``root`` has published, each under a CID of its own. For each, in order: the
        tier that it is served in, ``held`` (kept aside), ``known``, or the code of why it is refused or held
        back. Answers to different questions are decided at once and share embeddings and commits, those to
        the same question one after the other. Raises ``Unavailable``: what was not decided comes again."""
        self._scales.remember(root, ring)
        now, changes = self._clock.now(), self._changes
        outcomes = await self._stopped(root, arrived, now)
        looked = await self._looked(root, ring, [one for one in arrived if one.cid not in outcomes], now)
        outcomes |= {cid: one for cid, one in looked.items() if isinstance(one, str)}
        held = [one for one in looked.values() if isinstance(one, Held)]
        async with self._deciding:
            if self._changes != changes:
                again = [Arrived(one.log_index or 0, None, one.cid, one.data) for one in held]
                outcomes |= await self._stopped(root, again, now)
                held = [one for one in held if one.cid not in outcomes]
            stopped = [(cid, code) for cid, code in outcomes.items() if code != "known"]
            outcomes |= await self._decided(held)
        await _all(self._refuse(root, cid, code) for cid, code in stopped)
        return [outcomes[one.cid] for one in arrived]

    async def _stopped(self, root: str, arrived: Sequence[Arrived], now: datetime) -> dict[Cid, str]:
        """Those that are not even looked at: ``known``, or why."""
        cids = [one.cid for one in arrived]
        if root == self._own_root:
            return dict.fromkeys(cids, "own")
        known, standing, buried, usage = await asyncio.gather(
            self._store.known(cids),
            self._store.standing(root),
            self._store.tombstones(cids, root),
            self._store.usage(root, now),
        )
        stopped: dict[Cid, str] = {}
        records, size = usage.records, usage.bytes
        for one in arrived:
            if one.cid in known:
                code = "known"
            elif standing.unheard or one.cid in buried:
                code = standing.unheard or "tombstoned"
            elif records >= self._quota.records:
                code = "quota_records"
            elif size + len(one.data) > self._quota.bytes:
                code = "quota_bytes"
            else:
                records, size = records + 1, size + len(one.data)
                continue
            stopped[one.cid] = code
        return stopped

    async def _looked(
        self, root: str, ring: KeyRing, arrived: Sequence[Arrived], now: datetime
    ) -> dict[Cid, Held | str]:
        """Each as it may be held, or the code of its refusal."""
        reading = self._reading
        if not arrived:
            return {}
        blocks = await reading.off_loop(lambda: [read_block(one.cid, one.data) for one in arrived])
        looked: dict[Cid, Held | str] = {}
        good: list[tuple[Arrived, Examined]] = []
        for one, block in zip(arrived, blocks, strict=True):
            found = examine(
                block, issuer_root=root, entry=one.entry, ring=ring, now=now, limit=reading.class_limit
            )
            if isinstance(found, Refused):
                looked[one.cid] = found.code
            else:
                good.append((one, found))
            await asyncio.sleep(
                0
            )  # our own reading of a question takes a millisecond: others have their turn
        private = await reading.off_loop(lambda: [reading.private(found.record) for _, found in good])
        for (one, found), why in zip(good, private, strict=True):
            looked[one.cid] = await self._to_hold(root, one, found, now) if why is None else "private"
        return looked

    async def _to_hold(self, root: str, one: Arrived, examined: Examined, now: datetime) -> Held:
        record = examined.record
        is_verified = await self._reading.recompute(record) if examined.is_ours else None
        return Held(
            cid=one.cid,
            data=one.data,
            issuer=root,
            key=record.key,
            tier=Tier.VERIFIED if is_verified else Tier.UNTRUSTED,
            query_hash=record.query_hash,
            slot_key=self._serving.slot_key_of(record),
            agreed=REFUTED if is_verified is False else agreed(record),
            received=now,
            until=examined.until,
            trust_ppm=0,
            log_index=one.index,
        )

    async def _refuse(self, root: str, cid: Cid, code: str) -> str:
        self._count("refused", code)
        await self._store.count(root, code)
        await self._ledger.quarantined(root, cid, code)
        return code

    async def _decided(self, some: Sequence[Held]) -> dict[Cid, str]:
        """What becomes of each, kept. Called by who decides."""
        outcomes: dict[Cid, str] = {}
        for apart in _rounds(some):
            self._changes += 1
            known = await self._store.standings()
            entered = await _all(self._enter(held, known) for held in apart)
            for held, (outcome, is_held) in zip(apart, entered, strict=True):
                outcomes[held.cid] = outcome
                if is_held and has_voice(known.get(held.issuer)):
                    await self._weigh_rivals(held)
        return outcomes

    async def _enter(self, held: Held, known: Mapping[str, Standing]) -> tuple[str, bool]:
        """Decide and keep: what became of it, and whether it is held."""
        root, cid = held.issuer, held.cid
        rivals = await self._scales.rivals(held)
        is_refuted = held.agreed == REFUTED
        earlier = [] if is_refuted else [one for one in rivals if one.issuer == root]
        if any(age(one) > age(held) for one in earlier):
            return await self._refuse(root, cid, "superseded"), False
        tier, why = await self._scales.tier(held, [one for one in rivals if one.issuer != root], known)
        if why in ("blocked", "dropped"):
            return await self._refuse(root, cid, why), False
        if is_refuted:
            await self._store.note(root, "refuted")
        # First into service, then held: what a kill leaves in between comes again, for it is not known.
        record, replaces = answer_of(held), tuple(one.cid for one in earlier)
        held, why = await self._served(held, record, tier, why, replaces)
        outcome = held.tier.value if held.tier in SERVED else why or "held"
        counted = "admitted" if held.tier in SERVED else outcome
        await asyncio.gather(self._store.hold([held]), self._store.count(root, counted))
        for one in earlier:
            await self._let_go(one)
        self._count("admitted" if held.tier in SERVED else "held", outcome)
        if why:
            await self._ledger.quarantined(root, cid, why)
        return outcome, True

    # --- weighing ---------------------------------------------------------------------------------

    async def _served(
        self, held: Held, record: AnswerRecord, tier: Tier, why: str, replaces: tuple[Cid, ...] = ()
    ) -> tuple[Held, str]:
        """The record in or out of service as its tier says, and with what it counts from now on."""
        if tier in SERVED:
            trust_ppm = standings.trust_ppm(await self._store.standing(held.issuer), tier)
            try:
                why = await self._serving.put(Place(held, record, tier, trust_ppm, replaces))
            except Rejected:
                why = "unusable"
            if not why:
                return replace(held, tier=tier, trust_ppm=trust_ppm), ""
        # What the operator's own index names stays while nothing speaks against it.
        await self._serving.take_out(held.cid, held.issuer, but_imported=why in ("", "crowd"))
        return replace(held, tier=Tier.UNTRUSTED, trust_ppm=0), why

    async def _weigh_again(self, cid: Cid) -> None:
        held = await self._store.held(cid)
        if held is None:
            return
        tier, why = await self._scales.tier(
            held, await self._scales.rivals(held), await self._store.standings()
        )
        after, why = await self._served(held, answer_of(held), tier, why)
        if (after.tier, after.trust_ppm) != (held.tier, held.trust_ppm):
            await self._store.set_tier(cid, after.tier, after.trust_ppm)
        if held.tier in SERVED and after.tier not in SERVED:
            self._count("withdrawn", why or "untrusted")
            await self._ledger.quarantined(held.issuer, cid, why or "untrusted")
        elif held.tier not in SERVED and after.tier in SERVED:
            self._count("admitted", after.tier.value)

    async def _weigh_rivals(self, held: Held) -> None:
        """Records of others to the same question whose tier may rest on this one: of roots with a voice."""
        known = await self._store.standings()
        for one in await self._store.rivals(held.query_hash, held.slot_key):
            if one.issuer != held.issuer and asks_the_same(one, held) and has_voice(known.get(one.issuer)):
                await self._weigh_again(one.cid)

    async def _weigh_supported(self, held: Held) -> None:
        """Likewise, where this issuer's word counts for anything."""
        if (await self._store.standing(held.issuer)).has_voice:
            await self._weigh_rivals(held)

    async def _let_go(self, held: Held) -> bool:
        """Neither served nor held any more; True if it was served."""
        was_served = await self._serving.take_out(held.cid, held.issuer)
        await self._store.release(held.cid)
        return was_served

    # --- statements and withdrawals ---------------------------------------------------------------

    async def validation(self, root: str, ring: KeyRing, cid: Cid, data: bytes) -> str:
        """Take a signed statement on a record, whether that is here or not. ``counted``, ``known``, or the
        code of why it is refused. Raises ``Unavailable``."""
        self._scales.remember(root, ring)
        now = self._clock.now()
        code = "own" if root == self._own_root else (await self._store.standing(root)).unheard
        if not code:
            usage = await self._store.usage(root, now)
            if usage.validations >= self._quota.validations_per_hour:
                code = "quota_validations"
        said = code or statement(cid, data, issuer_root=root, ring=ring, now=now)
        if not isinstance(said, ValidationRecord):
            return await self._refuse(root, cid, said if isinstance(said, str) else "kind")
        target = Cid.parse(said.target)
        async with self._deciding:
            self._changes += 1
            is_new = await self._store.add_statement(
                cid, data, root, said.key, target, said.verdict, said.timestamp
            )
            if not is_new:
                return "known"
            await self._weigh_again(target)
        self._count("counted", said.verdict)
        return "counted"

    async def retract(self, root: str, entry: Retract, tombstone_block: bytes | None) -> str:
        """A root takes back a record of its own: out of service, and for good where its signed tombstone
        comes along. ``tombstoned``, ``withdrawn``, or why it has no effect. Raises ``Unavailable``."""
        target = entry.cid
        async with self._deciding:
            self._changes += 1
            held = await self._store.held(target)
            is_other = held is not None and held.issuer != root
            if is_other or root == self._own_root:
                return await self._refuse(root, target, "issuer" if is_other else "own")
            was_served = await self._serving.take_out(target, root)
            outcome = "withdrawn"
            if tombstone_block is None:
                # The signed log never enters a record twice, so it does not come back by another way either,
                # such as an address that lags behind.
                await self._entombed(root, target, target, b"", is_here=held is not None)
            else:
                code = await self._bury(root, entry, tombstone_block, is_here=held is not None)
                if code:
                    await self._refuse(root, target, code)
                else:
                    outcome = "tombstoned"
            if held is not None:
                await self._store.release(target)
                await self._weigh_supported(held)
            if was_served:
                self._count("withdrawn", "retracted")
            return outcome

    async def _bury(self, root: str, entry: Retract, data: bytes, *, is_here: bool) -> str:
        """Keep a tombstone; the code of why it is not one, or why there is no room for it."""
        if entry.tombstone is None:
            return "kind"
        ring, now = await self._scales.ring(root), self._clock.now()
        stone = statement(entry.tombstone, data, issuer_root=root, ring=ring, now=now)
        if not isinstance(stone, TombstoneRecord):
            return stone if isinstance(stone, str) else "kind"
        if Cid.parse(stone.target) != entry.cid:
            return "entry"
        if not await self._entombed(root, entry.cid, entry.tombstone, data, is_here=is_here):
            return "quota_records"
        await self._serving.bury(stone, root)
        return ""

    async def _entombed(self, root: str, target: Cid, stone: Cid, data: bytes, *, is_here: bool) -> bool:
        """Whether the withdrawal is remembered. Of what is not here a root buries no more than it may have
        here; what is read again counts once."""
        is_new = not await self._store.tombstones([target], root)
        if is_new and not is_here:
            buried = (await self._store.counts(root)).get("entombed", 0)
            if buried >= self._quota.records:
                return False
        if is_new or data:  # a bare withdrawal takes no signed one's place
            await self._store.entomb(target, root, stone, data, None)
        if is_new:
            await self._store.count(root, "entombed")
        return True

    # --- everything of one root -------------------------------------------------------------------

    async def retier(self, root: str) -> None:
        """Weigh all that is held of a root again, and what rests on it: its level, group or keys changed, or
        the quorum. Raises ``Unavailable``; then ``resume`` goes on."""
        self._weighing[root] += 1
        try:
            self._scales.forget(root)
            await self._store.begin(root)
            async with self._deciding:  # no statement comes in between the keys and what they mean for it
                await self._store.recount(root, (await self._scales.ring(root)).spans("node"))
            if code := (await self._store.standing(root)).unheard:
                await self._clear(root, code)
            else:
                await self._weigh_held_of(root)
            await self._weigh_spoken_of(root)
            if self._weighing[root] == 1:
                await self._store.finish(root)
        finally:
            self._weighing[root] -= 1
            if not self._weighing[root]:
                del self._weighing[root]

    async def drop(self, root: str, reason: str) -> None:
        """Listen to a root no more, and serve nothing of it. Raises ``Unavailable``; ``resume`` goes on."""
        await self._ledger.dropped(await self._store.standing(root), reason)
        async with self._deciding:
            await self._store.set_standing(replace(await self._store.standing(root), dropped=reason))
        await self.retier(root)

    async def resume(self) -> None:
        """Finish what a kill has cut off."""
        for root in await self._store.unfinished():
            await self.retier(root)

    async def sweep(self) -> int:
        """Let go of what has ended here; how many. Nothing while the clock is in doubt."""
        swept = 0
        while self._clock.doubt is None and (page := await self._store.ended(self._clock.now(), limit=_PAGE)):
            for cid in page:
                async with self._deciding:
                    self._changes += 1
                    held = await self._store.held(cid)
                    if held is not None:
                        await self._let_go(held)
                        await self._weigh_supported(held)
                        swept += 1
        return swept

    async def _weigh_held_of(self, root: str) -> None:
        async for held in self._held_of(root):
            async with self._deciding:
                await self._weigh_again(held.cid)
                await self._weigh_rivals(held)
        revoked = (await self._scales.ring(root)).revoked
        if revoked:  # also what an import brought in, which is not held
            await self._serving.take_out_all(root, lambda record: record.key in revoked)

    async def _weigh_spoken_of(self, root: str) -> None:
        """What it has made statements on, which count for as much as it does."""
        after = b""
        while page := await self._store.spoken_of(root, after=after, limit=_PAGE):
            after = page[-1].multihash
            for target in page:
                async with self._deciding:
                    await self._weigh_again(target)

    async def _clear(self, root: str, code: str) -> None:
        gone = 0
        async for held in self._held_of(root):
            async with self._deciding:
                self._changes += 1
                gone += await self._let_go(held)
                await self._weigh_rivals(held)
            if gone == 1:
                await self._ledger.quarantined(root, held.cid, code)
        gone += await self._serving.take_out_all(root, lambda record: True)
        for cid in await self._store.forget(root):
            gone += await self._serving.take_out(cid, root)
        for _ in range(gone):
            self._count("withdrawn", code)

    async def _held_of(self, root: str) -> AsyncIterator[Held]:
        after = b""
        while page := await self._store.held_of(root, after=after, limit=_PAGE):
            after = page[-1].cid.multihash
            for held in page:
                yield held


def _rounds(some: Sequence[Held]) -> Iterator[list[Held]]:
    """What may be decided at once: first each that was refuted, alone, for it changes what its issuer's word
    counts for; then those in whose round no other is to the same question, in the order of their coming."""
    yield from ([held] for held in some if held.agreed == REFUTED)
    left = [held for held in some if held.agreed != REFUTED]
    while left:
        questions: set[tuple[str, str]] = set()
        apart: list[Held] = []
        later: list[Held] = []
        for held in left:
            own = {("words", held.query_hash)}
            if held.slot_key is not None:
                own.add(("slots", held.slot_key))
            (later if own & questions else apart).append(held)
            questions |= own  # what waits makes its like wait too: their order stays
        yield apart
        left = later


async def _all(work: Iterable[Awaitable[T]]) -> list[T]:
    """The results of all of it, once all has ended. Raises the first exception."""
    results = await asyncio.gather(*work, return_exceptions=True)
    for one in results:
        if isinstance(one, BaseException):
            raise one
    return [one for one in results if not isinstance(one, BaseException)]
