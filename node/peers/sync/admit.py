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
import hashlib
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache

from node.core.clock import Clock
from node.core.errors import Rejected
from node.core.ipld.cid import Cid
from node.core.model import SCOPE_PUBLIC
from node.core.normalise import normalise
from node.core.ports import AuditLog, BlockStore, RecordStore, Semantics
from node.core.record import AnswerRecord, KeyRecord, Record, TombstoneRecord, ValidationRecord, decode
from node.peers.ports import PeerStore
from node.peers.rules import standing as standings
from node.peers.rules import tiers
from node.peers.rules.admission import ClassLimit, Refused, examine
from node.peers.rules.entry import Publish, Retract
from node.peers.rules.keys import AHEAD_MAX, KeyRing
from node.peers.rules.values import SERVED, Held, Level, Quota, Standing, Tier
from node.peers.sync.ledger import PeerLedger
from node.peers.sync.quarantine import Quarantine
from node.peers.sync.serving import Place, Serving

Recompute = Callable[[AnswerRecord], Awaitable[bool | None]]
"""Whether what is computed or looked up here says the same; None: cannot tell."""

STATEMENT_BYTES_MAX = 8_192
"""Of a validation or a tombstone, which hold a few ids and a short note."""
RINGS_MAX = 1_024
ANSWERS_MAX = 256
"""Held answers that stay decoded: a question's rivals are read again with each new one."""
_PAGE = 256
_REFUTED = ""
"""In the place of ``Held.agreed``."""


def no_slot_key(record: AnswerRecord) -> str | None:
    """No slot key of a peer is believed."""
    return None


class Admitter:
    """Use from one event loop. ``count`` hears (result, reason) of everything that is taken, refused or
    withdrawn; ``is_private`` is the privacy gate's word; ``slot_key`` our own reading of a question."""

    def __init__(
        self,
        store: PeerStore,
        records: RecordStore,
        blocks: BlockStore,
        semantics: Semantics,
        clock: Clock,
        *,
        own_root: str,
        class_limit: Callable[[AnswerRecord], ClassLimit],
        recompute: Recompute,
        is_private: Callable[[AnswerRecord], Awaitable[str | None]],
        keyword_key: Callable[[str], str | None],
        quota: Quota,
        quorum: int,
        log: AuditLog,
        count: Callable[[str, str], None],
        policy: str,
        slot_key: Callable[[AnswerRecord], str | None] = no_slot_key,
    ) -> None:
        self._store = store
        self._records = records
        self._clock = clock
        self._own_root = own_root
        self._class_limit = class_limit
        self._recompute = recompute
        self._is_private = is_private
        self._quota = quota
        self._quorum = quorum
        self._count = count
        self._quarantine = Quarantine(log, clock, policy)
        self._ledger = PeerLedger(log, policy)
        self._serving = Serving(
            records, blocks, semantics, keyword_key=keyword_key, slot_key=slot_key, near=quota.near
        )
        self._rings: OrderedDict[str, KeyRing] = OrderedDict()
        self._deciding = asyncio.Lock()
        """One decision at a time: each rests on what is held, and changes it."""
        self._changes = 0
        """Grows with every change of what is held or withdrawn: what was read before is then read again."""
        self._weighing: Counter[str] = Counter()
        """Roots all of whose records are being weighed, and by how many."""

    # --- records in -------------------------------------------------------------------------------

    async def admit(
        self, root: str, ring: KeyRing, index: int, entry: Publish | None, cid: Cid, data: bytes
    ) -> str:
        """Look at a block that ``root`` published under ``cid`` as entry ``index`` of its log. The tier that
        it is served in, ``held`` (kept aside), ``known``, or the code of why it is refused or held back.
        Raises ``Unavailable``."""
        self._remember_ring(root, ring)
        now, changes = self._clock.now(), self._changes
        if code := await self._stopped(root, cid, data, now):
            return code if code == "known" else await self._refuse(root, cid, code)
        examined = examine(
            cid, data, issuer_root=root, entry=entry, ring=ring, now=now, limit=self._class_limit
        )
        if isinstance(examined, Refused):
            return await self._refuse(root, cid, examined.code)
        record = examined.record
        if await self._is_private(record) is not None:
            return await self._refuse(root, cid, "private")
        is_verified = await self._recompute(record)
        held = Held(
            cid=cid,
            data=data,
            issuer=root,
            key=record.key,
            tier=Tier.VERIFIED if is_verified else Tier.UNTRUSTED,
            query_hash=record.query_hash,
            slot_key=self._serving.slot_key_of(record),
            agreed=_REFUTED if is_verified is False else _agreed(record),
            received=now,
            until=examined.until,
            trust_ppm=0,
            log_index=index,
        )
        async with self._deciding:
            if self._changes != changes and (code := await self._stopped(root, cid, data, now)):
                return code if code == "known" else await self._refuse(root, cid, code)
            return await self._enter(held, record)

    async def _stopped(self, root: str, cid: Cid, data: bytes, now: datetime) -> str:
        """``known``, or why a block is not even looked at."""
        if root == self._own_root:
            return "own"
        known, standing, buried, usage = await asyncio.gather(
            self._store.known([cid]),
            self._store.standing(root),
            self._store.tombstones([cid], root),
            self._store.usage(root, now),
        )
        if known:
            return "known"
        if code := _unheard(standing):
            return code
        if buried:
            return "tombstoned"
        if usage.records >= self._quota.records:
            return "quota_records"
        return "quota_bytes" if usage.bytes + len(data) > self._quota.bytes else ""

    async def _refuse(self, root: str, cid: Cid, code: str) -> str:
        self._count("refused", code)
        await self._store.count(root, code)
        await self._quarantine.note(root, cid, code)
        return code

    async def _enter(self, held: Held, record: AnswerRecord) -> str:
        """Decide and keep."""
        root, cid = held.issuer, held.cid
        self._changes += 1
        rivals = await self._rivals(held)
        is_refuted = held.agreed == _REFUTED
        earlier = [] if is_refuted else [one for one in rivals if one.issuer == root]
        if any(_age(one) > _age(held) for one in earlier):
            return await self._refuse(root, cid, "superseded")
        known = await self._store.standings()
        tier, why = await self._weigh(held, [one for one in rivals if one.issuer != root], known)
        if why in ("blocked", "dropped"):
            return await self._refuse(root, cid, why)
        if is_refuted:
            await self._store.note(root, "refuted")
        # First into service, then held: what a kill leaves in between comes again, for it is not known.
        held, why = await self._served(held, record, tier, why, tuple(one.cid for one in earlier))
        outcome = held.tier.value if held.tier in SERVED else why or "held"
        counted = "admitted" if held.tier in SERVED else outcome
        await asyncio.gather(self._store.hold([held]), self._store.count(root, counted))
        for one in earlier:
            await self._let_go(one)
        if _votes(known.get(root)):
            await self._weigh_rivals(held)
        self._count("admitted" if held.tier in SERVED else "held", outcome)
        if why:
            await self._quarantine.note(root, cid, why)
        return outcome

    # --- weighing ---------------------------------------------------------------------------------

    async def _rivals(self, held: Held) -> list[Held]:
        """What else is held to the same question and was not found wrong here, of whatever issuer."""
        return [
            one
            for one in await self._store.rivals(held.query_hash, held.slot_key)
            if one.cid != held.cid and one.agreed != _REFUTED and _asks_the_same(one, held)
        ]

    async def _weigh(
        self, held: Held, rivals: Sequence[Held], known: Mapping[str, Standing]
    ) -> tuple[Tier, str]:
        """The tier of a held record as things stand now, and a code where something speaks against it.
        ``known``: the standings."""
        standing = known.get(held.issuer, Standing(held.issuer))
        if code := _unheard(standing):
            return Tier.UNTRUSTED, code
        if code := (await self._ring(held.issuer)).good(held.key, "node", _age(held)[0]):
            return Tier.UNTRUSTED, code
        if _answer(held).is_unverified:  # let in before there was this rule
            return Tier.UNTRUSTED, "unverified"
        if held.agreed == _REFUTED:
            return Tier.UNTRUSTED, "refuted"
        is_verified = held.tier is Tier.VERIFIED or None
        tier = tiers.tier_of(
            standing,
            is_verified=is_verified,
            groups_agreeing=await self._groups(held, rivals, known),
            quorum=self._quorum,
        )
        if tier in SERVED and not is_verified:
            statements = await self._store.statements(held.cid)
            if statements and standings.outvoted(statements, known, held.issuer):
                return Tier.UNTRUSTED, "outvoted"
        return tier, ""

    async def _groups(self, held: Held, rivals: Sequence[Held], known: Mapping[str, Standing]) -> int:
        """How many trust groups say what this record says."""
        now = self._clock.now()
        voices = [
            one
            for one in (held, *rivals)
            if _votes(known.get(one.issuer))
            and (one.until is None or one.until > now)
            and not _answer(one).is_unverified
        ]
        revoked: set[str] = set()
        for root in {one.issuer for one in voices}:
            gone = (await self._ring(root)).revoked  # a root speaks of its own keys, and of nobody else's
            revoked |= {one.key for one in voices if one.issuer == root and one.key in gone}
        return tiers.groups_agreeing(voices, held.agreed, known, revoked)

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
        tier, why = await self._weigh(held, await self._rivals(held), await self._store.standings())
        after, why = await self._served(held, _answer(held), tier, why)
        if (after.tier, after.trust_ppm) != (held.tier, held.trust_ppm):
            await self._store.set_tier(cid, after.tier, after.trust_ppm)
        if held.tier in SERVED and after.tier not in SERVED:
            self._count("withdrawn", why or "untrusted")
            await self._quarantine.note(held.issuer, cid, why or "untrusted")
        elif held.tier not in SERVED and after.tier in SERVED:
            self._count("admitted", after.tier.value)

    async def _weigh_rivals(self, held: Held) -> None:
        """Records of others to the same question whose tier may rest on this one: of roots with a voice."""
        known = await self._store.standings()
        for one in await self._store.rivals(held.query_hash, held.slot_key):
            if one.issuer != held.issuer and _asks_the_same(one, held) and _votes(known.get(one.issuer)):
                await self._weigh_again(one.cid)

    async def _weigh_supported(self, held: Held) -> None:
        """Likewise, where this issuer's word counts for anything."""
        if _votes(await self._store.standing(held.issuer)):
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
        self._remember_ring(root, ring)
        now = self._clock.now()
        code = "own" if root == self._own_root else _unheard(await self._store.standing(root))
        if not code:
            usage = await self._store.usage(root, now)
            if usage.validations >= self._quota.validations_per_hour:
                code = "quota_validations"
        statement = None if code else _statement(cid, data, root, ring, now)
        if isinstance(statement, ValidationRecord):
            target = Cid.parse(statement.target)
            async with self._deciding:
                self._changes += 1
                is_new = await self._store.add_statement(
                    cid, data, root, statement.key, target, statement.verdict, statement.timestamp
                )
                if not is_new:
                    return "known"
                await self._weigh_again(target)
            self._count("counted", statement.verdict)
            return "counted"
        return await self._refuse(root, cid, code or (statement if isinstance(statement, str) else "kind"))

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
        ring, now = await self._ring(root), self._clock.now()
        stone = None if entry.tombstone is None else _statement(entry.tombstone, data, root, ring, now)
        if isinstance(stone, str):
            return stone
        if entry.tombstone is None or not isinstance(stone, TombstoneRecord):
            return "kind"
        if Cid.parse(stone.target) != entry.cid:
            return "entry"
        if not await self._entombed(root, entry.cid, entry.tombstone, data, is_here=is_here):
            return "quota_records"
        await self._records.add(stone, origin=root)
        return ""

    async def _entombed(self, root: str, target: Cid, stone: Cid, data: bytes, *, is_here: bool) -> bool:
        """Whether the withdrawal is remembered. Of what is not here a root buries no more than it may have
        here; what is read again counts once."""
        is_new = not await self._store.tombstones([target], root)
        if is_new and not is_here and await self._buried(root) >= self._quota.records:
            return False
        if is_new or data:  # a bare withdrawal takes no signed one's place
            await self._store.entomb(target, root, stone, data, None)
        if is_new:
            await self._store.count(root, "entombed")
        return True

    async def _buried(self, root: str) -> int:
        return (await self._store.counts(root)).get("entombed", 0)

    # --- everything of one root -------------------------------------------------------------------

    async def retier(self, root: str) -> None:
        """Weigh all that is held of a root again, and what rests on it: its level, group or keys changed, or
        the quorum. Raises ``Unavailable``; then ``resume`` goes on."""
        self._weighing[root] += 1
        try:
            self._rings.pop(root, None)
            await self._store.begin(root)
            async with self._deciding:  # no statement comes in between the keys and what they mean for it
                await self._store.recount(root, (await self._ring(root)).spans("node"))
            if code := _unheard(await self._store.standing(root)):
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
        """Let go of what has ended here; how many."""
        swept = 0
        while page := await self._store.ended(self._clock.now(), limit=_PAGE):
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
        revoked = (await self._ring(root)).revoked
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
                await self._quarantine.note(root, held.cid, code)
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

    # --- keys -------------------------------------------------------------------------------------

    def _remember_ring(self, root: str, ring: KeyRing) -> None:
        self._rings[root] = ring
        self._rings.move_to_end(root)
        while len(self._rings) > RINGS_MAX:
            self._rings.popitem(last=False)

    async def _ring(self, root: str) -> KeyRing:
        """The keys that a root has certified, as far as we were told."""
        ring = self._rings.get(root)
        if ring is None:
            ring = KeyRing(root)
            for data in await self._store.keys(root):
                record = decode(data, check_signature=False)  # it held when it was stored
                if isinstance(record, KeyRecord):
                    ring.add(record)
            self._remember_ring(root, ring)
        return ring


def _unheard(standing: Standing) -> str:
    """Why nothing of a root counts; empty where it may."""
    if standing.dropped:
        return "dropped"
    return "blocked" if standing.level is Level.BLOCKED else ""


def _votes(standing: Standing | None) -> bool:
    return standing is not None and not _unheard(standing) and standing.level is not Level.UNKNOWN


def _agreed(record: AnswerRecord) -> str:
    return hashlib.sha256(normalise(record.answer).encode()).hexdigest()


def _answer(held: Held) -> AnswerRecord:
    """What is held, which passed when it came. Raises ``Rejected``."""
    return _decoded(held.data)


@lru_cache(maxsize=ANSWERS_MAX)
def _decoded(data: bytes) -> AnswerRecord:
    record = decode(data, check_signature=False)
    if not isinstance(record, AnswerRecord):
        raise Rejected("what is held is no answer")
    return record


def _age(held: Held) -> tuple[datetime, bytes]:
    """Orders what one issuer says to one question; the newest counts, on every node alike."""
    return _answer(held).timestamp, held.cid.multihash


def _asks_the_same(one: Held, other: Held) -> bool:
    """The same slots by our own reading, else the same words."""
    if one.slot_key is not None and other.slot_key is not None:
        return one.slot_key == other.slot_key
    return one.query_hash == other.query_hash


def _statement(cid: Cid, data: bytes, root: str, ring: KeyRing, now: datetime) -> Record | str:
    """A validation or tombstone of this root, or the code of what is wrong with it."""
    if len(data) > STATEMENT_BYTES_MAX:
        return "size"
    if Cid.of(data) != cid:
        return "cid"
    try:
        record = decode(data)
    except Rejected:
        return "schema"
    if record.issuer != root:
        return "issuer"
    if record.scope != SCOPE_PUBLIC:
        return "scope"
    if record.timestamp > now + AHEAD_MAX:
        return "clock"
    return ring.good(record.key, "node", record.timestamp) or record
