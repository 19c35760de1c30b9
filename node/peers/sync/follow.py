"""Follows the publications logs of peers: what they published since the last round, proven, then admitted.

A round with one address: who is there and which keys its root has certified; the newest checkpoint (304 where
nothing changed); its signature; that it goes on from the last one that was verified; then the new entries in
chunks (``feed``), each proven before any of it is acted on, and what admission says to each
(``entries``). A contact's root is who first proved to be there, and no other from then on.

Promises:
1. The position is saved after what lies before it was acted on, so a kill at any moment loses nothing; what
   is done again changes nothing.
2. A round is bounded in entries, bytes and time (``Limits``); what is left is done in the next.
3. Two checkpoints that a root has signed and that are proven to be of different trees are given to
   ``evidence``, and the root is dropped. An older checkpoint than one seen is ``stale``, bytes that do not
   hash to the signed root are a failure; an address that fails is left alone for longer and longer.
4. Nothing is sent but requests for parts of the log, CIDs and fingerprints of sets: no question.

No threads but the witness's, no HTTP: ports, ``asyncio`` and the clock that was handed in.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from node.audit.decisions.origin import epoch_of
from node.audit.witnesses.ours import Witness
from node.core.clock import Clock
from node.core.errors import NodeError, NotFound, RateLimited, Rejected
from node.core.ipld.cid import Cid
from node.core.merkle import leaf_hash
from node.core.model import Check
from node.core.record import public_key_of
from node.core.signed_note import Checkpoint, Opened, open_checkpoint
from node.models.deadline import within
from node.peers.ports import PeerLink
from node.peers.rules.edge import Edge
from node.peers.rules.values import Level, Position, Standing, SyncReport
from node.peers.store.sqlite import PeerStore
from node.peers.sync import held_set
from node.peers.sync.admit import Admitter
from node.peers.sync.certified_keys import PeerKeys
from node.peers.sync.entries import Entries, Slice
from node.peers.sync.feed import Chunk, Feed
from node.peers.sync.fetch import Fetcher
from node.peers.sync.history import Contradiction, History
from node.peers.sync.peers_of_peers import is_told, take_names
from node.peers.sync.round import Ended, Round

_log = logging.getLogger("neuroswarm.sync")

CHECK = "peers:sync"
EQUIVOCATION = "equivocation"
AT_ONCE = 4
"""Rounds that run together."""
SLICE = 256
"""Entries after which the position is saved."""
IDENTITY_EVERY_S = 600.0
"""How often a peer is asked for its certificates while its checkpoints verify; its log brings keys too."""
SELVES_MAX = 256
"""Addresses at which this node itself has answered that are remembered."""
BACKOFF_FIRST_S = 30.0
BACKOFF_MAX_S = 3_600.0


@dataclass(frozen=True, slots=True)
class Limits:
    """Of one round; ``entries`` and ``bytes`` may be passed by what one slice brings."""

    entries: int = 65_536
    bytes: int = 256 * 2**20
    seconds: float = 300.0


@dataclass(frozen=True, slots=True)
class Ways:
    """To peers. ``to``: the way to an address; ``told``: the guarded one to an address that a peer has named;
    ``others``: who may be asked for blocks that an issuer has not."""

    to: Callable[[str], PeerLink]
    told: Callable[[str], PeerLink]
    others: Callable[[], Sequence[PeerLink]]


@dataclass(frozen=True, slots=True)
class Watch:
    """Over what peers sign. ``keep`` keeps signed notes that contradict each other, by their role, durably;
    ``witness`` cosigns what goes on rightly; ``count`` hears what each round came to."""

    keep: Callable[[str, Mapping[str, bytes]], Awaitable[None]]
    witness: Witness | None = None
    count: Callable[[str], None] = lambda _: None


@dataclass(slots=True)
class _Pace:
    """How often an address has failed in a row, and until when it is left alone."""

    failures: int = 0
    not_before: float = 0.0


class PeerSync:
    """Use from one event loop. ``of_peers``: poll also whom peers name."""

    def __init__(
        self,
        store: PeerStore,
        admitter: Admitter,
        clock: Clock,
        ways: Ways,
        watch: Watch,
        own_root: str,
        *,
        of_peers: bool = False,
        limits: Limits | None = None,
    ) -> None:
        self._store = store
        self._admitter = admitter
        self._clock = clock
        self._ways = ways
        self._watch = watch
        self._own_root = own_root
        self._of_peers = of_peers
        self._limits = limits or Limits()
        self._keys = PeerKeys(store, admitter, clock)
        self._entries = Entries(store, admitter, self._keys, clock)
        self._history = History(watch.witness)
        self._reports: dict[str, SyncReport] = {}
        self._paces: dict[str, _Pace] = {}
        self._etags: dict[str, tuple[str, str, Checkpoint]] = {}
        """By address: (ETag, root, the checkpoint that it is of)."""
        self._identified: dict[str, float] = {}
        """By address: when it is asked again who it is."""
        self._selves: dict[str, None] = {}
        self._turns: dict[str, asyncio.Lock] = {}
        self._turns_taken: Counter[str] = Counter()

    @property
    def reports(self) -> Mapping[str, SyncReport]:
        """What the last round with each address came to."""
        return self._reports

    # --- rounds ---------------------------------------------------------------------------------------

    async def sync(self, address: str) -> SyncReport:
        """One round with a contact, now. Raises ``NotFound`` (no such contact), ``Unavailable`` (our own
        store)."""
        report = await self._work(address, self._follow)
        self._watch.count(report.outcome)
        return report

    async def mend(self, address: str) -> SyncReport:
        """Compare what is held of a peer with what it publishes; where something is missing here, read its
        log from the beginning, which proves what it published and took back. Raises as ``sync`` does."""
        return await self._work(address, self._mend)

    async def sync_all(self, *, is_hurried: bool = False) -> list[SyncReport]:
        """A round with every contact, a few at a time; reports in the order of their addition. One that
        failed lately is left alone, and its last report given again, unless ``is_hurried``. Raises
        ``Unavailable``."""
        contacts = await self._store.contacts()
        self._forget_all_but({contact.address for contact in contacts})
        few = asyncio.Semaphore(AT_ONCE)
        found = await asyncio.gather(
            *(self._in_turn(contact.address, few, is_hurried) for contact in contacts), return_exceptions=True
        )
        for one in found:
            if isinstance(one, BaseException) and not isinstance(one, NotFound):
                raise one
        return [one for one in found if isinstance(one, SyncReport)]

    async def _in_turn(self, address: str, few: asyncio.Semaphore, is_hurried: bool) -> SyncReport:
        async with few:
            pace, last = self._paces.get(address), self._reports.get(address)
            is_waiting = pace is not None and pace.not_before > self._clock.monotonic()
            if last is not None and is_waiting and not is_hurried:
                return last
            return await self.sync(address)

    def health(self) -> list[Check]:
        """Without I/O: how many do not answer rightly, and how many were dropped. Names nobody."""
        said = []
        outcomes = Counter(report.outcome for report in self._reports.values())
        if outcomes["failed"]:
            said.append(f"{outcomes['failed']} could not be read")
        if outcomes["dropped"]:
            said.append(f"{outcomes['dropped']} have contradicted themselves and are not listened to")
        status = "warn" if said else "pass"
        output = (
            f"of the peers {' and '.join(said)}: neuroswarm peers list says which and why" if said else ""
        )
        return [Check(CHECK, status, output, observed=len(self._reports), unit="peers")]

    async def _work(self, address: str, work: Callable[[Round], Awaitable[None]]) -> SyncReport:
        async with self._turn(address):
            contact = await self._store.contact(address)
            if contact is None:
                raise NotFound(f"{address} is not polled; neuroswarm peers add {address} adds it")
            link = (self._ways.told if is_told(contact) else self._ways.to)(address)
            fetcher = Fetcher(link, await self._askable(address))
            now = Round(contact, link, fetcher, self._clock.monotonic(), contact.root)
            report = await self._come_to_an_end(now, work)
            self._reports[address] = report
            return report

    async def _come_to_an_end(self, now: Round, work: Callable[[Round], Awaitable[None]]) -> SyncReport:
        address, limit_s = now.contact.address, self._limits.seconds
        try:
            await within(self._clock, limit_s, work(now), f"the round took more than {limit_s:.0f} s")
        except Ended as exc:
            self._paces.pop(address, None)
            return now.report(exc.outcome, exc.reason)
        except NodeError as exc:
            if now.entries and self._clock.monotonic() - now.began >= limit_s:
                return now.report("partial", str(exc))
            self._slow_down(address, exc)
            if now.root is not None:
                self._keys.forget_unkept(now.root)
            return now.report("failed", str(exc))
        self._paces.pop(address, None)
        return now.report("synced" if now.entries or now.fetcher.blocks else "unchanged")

    def _slow_down(self, address: str, exc: NodeError) -> None:
        pace = self._paces.setdefault(address, _Pace())
        step = min(BACKOFF_MAX_S, BACKOFF_FIRST_S * 2 ** min(pace.failures, 16))
        wait = step * (0.5 + self._clock.random())
        if isinstance(exc, RateLimited):
            wait = max(wait, min(exc.retry_after_s, BACKOFF_MAX_S))
        pace.failures += 1
        pace.not_before = self._clock.monotonic() + wait
        self._etags.pop(address, None)
        self._identified.pop(address, None)
        log = _log.warning if pace.failures == 1 else _log.info
        log("event=peer_failed address=%s failures=%d reason=%s", address, pace.failures, exc)

    def _forget_all_but(self, addresses: set[str]) -> None:
        for known in (self._reports, self._paces, self._etags, self._identified):
            for address in known.keys() - addresses:
                known.pop(address, None)

    @contextlib.asynccontextmanager
    async def _turn(self, name: str) -> AsyncIterator[None]:
        """One at a time for each name: an address; a root, whose entries have an order."""
        lock = self._turns.setdefault(name, asyncio.Lock())
        self._turns_taken[name] += 1
        try:
            async with lock:
                yield
        finally:
            self._turns_taken[name] -= 1
            if not self._turns_taken[name]:
                del self._turns_taken[name], self._turns[name]

    async def _askable(self, address: str) -> list[PeerLink]:
        """Who else may be asked: nobody who is blocked or was dropped."""
        links = [other for other in self._ways.others() if other.address != address]
        if not links:
            return []
        standings = await self._store.standings()
        roots = {contact.address: contact.root for contact in await self._store.contacts()}
        return [
            link for link in links if not standings.get(roots.get(link.address) or "", Standing("")).unheard
        ]

    # --- one round: who is there ----------------------------------------------------------------------

    async def _follow(self, now: Round) -> None:
        root = await self._met(now)
        async with self._turn(root):
            await self._finish_weighing(root)
            position = await self._store.position(root)
            note, etag = await now.link.checkpoint(self._etag(now.contact.address, root, position))
            if note is not None:
                await self._read(now, root, note, etag, position)
            elif position is None:
                raise Rejected(f"{now.contact.address} says that nothing has changed, unasked")
            else:
                now.size = position.size
            await self._entries.retry(now, root)
        if self._of_peers:
            await take_names(now, root, self._store, self._clock, self._selves)

    async def _met(self, now: Round) -> str:
        """Whose log is read. Raises ``Ended`` where nothing of it is heard, ``Rejected``."""
        root = now.contact.root
        if root is not None:
            await self._check_heard(root)
            if self._clock.monotonic() < self._identified.get(now.contact.address, 0.0):
                return root
        return await self._identify(now)

    async def _check_heard(self, root: str) -> None:
        standing = await self._store.standing(root)
        if standing.unheard:
            outcome = "blocked" if standing.level is Level.BLOCKED else "dropped"
            raise Ended(outcome, standing.dropped or "the operator has blocked it")

    async def _identify(self, now: Round) -> str:
        """Ask who is there and for its keys. Raises ``Ended``, ``Rejected``."""
        address, pinned = now.contact.address, now.contact.root
        now.is_identified = True
        root, blocks = await now.link.certificates()
        public_key_of(root)
        now.read_bytes += sum(map(len, blocks))
        if root == self._own_root:
            if is_told(now.contact):  # whom we follow names us to us
                self._selves[address] = None
                if len(self._selves) > SELVES_MAX:
                    del self._selves[next(iter(self._selves))]
                await self._store.remove_contact(address)
            raise Rejected(f"self: {address} is this node itself")
        if pinned is not None and root != pinned:
            raise Rejected(f"other_root: {root} answers at {address}, where {pinned} did before")
        now.root = root
        await self._check_heard(root)
        now.refused["key"] += await self._keys.learn(root, [(Cid.of(block), block) for block in blocks])
        if pinned is not None:
            await self._keys.keep(root)
        self._identified[address] = self._clock.monotonic() + IDENTITY_EVERY_S
        return root

    async def _opened(self, now: Round, root: str, note: bytes) -> Opened:
        """The checkpoint, signed for this root's publications log by a key that counts; where it is not, the
        certificates are asked for once more. Raises ``Ended``, ``Rejected``."""
        origin = Checkpoint.of_note(note).origin
        try:
            if not is_publications(root, origin):
                raise Rejected(f"the checkpoint is of another log than the publications of {root}")
            return open_checkpoint(note, (await self._keys.ring(root)).log_verifiers(origin))
        except Rejected:
            if now.is_identified or not await self._identify(now) or not is_publications(root, origin):
                raise
        return open_checkpoint(note, (await self._keys.ring(root)).log_verifiers(origin))

    async def _pin(self, now: Round, root: str) -> None:
        """Whoever has first proven to be here stays. Of a stranger nothing is kept before."""
        if now.contact.root is None and await self._store.contact(now.contact.address) is not None:
            now.contact = replace(now.contact, root=root)
            await self._store.put_contact(now.contact)
        await self._keys.keep(root)

    async def _finish_weighing(self, root: str) -> None:
        """What a failure has cut off after the keys had changed."""
        if root in await self._store.unfinished():
            await self._admitter.retier(root)

    def _etag(self, address: str, root: str, position: Position | None) -> str | None:
        """The ETag of the checkpoint up to which everything was acted on."""
        known = self._etags.get(address)
        if known is None or position is None or not position.note:
            return None
        etag, of_root, checkpoint = known
        newest = Checkpoint.of_note(position.note)
        return etag if of_root == root and checkpoint == newest and position.size == newest.size else None

    # --- one round: what is there ---------------------------------------------------------------------

    async def _read(
        self, now: Round, root: str, note: bytes, etag: str | None, position: Position | None
    ) -> None:
        """Everything up to the checkpoint, as far as a round goes."""
        now.read_bytes += len(note)
        opened = await self._opened(now, root, note)
        await self._pin(now, root)
        now.size = opened.checkpoint.size
        feed = Feed(now, opened.checkpoint)
        verifiers = (await self._keys.ring(root)).log_verifiers(opened.checkpoint.origin)
        try:
            known = await self._history.continued(feed, root, opened, note, position, verifiers)
        except Contradiction as exc:
            await self._watch.keep(root, exc.notes)
            await self._admitter.drop(root, EQUIVOCATION)
            self._entries.forget(root)
            _log.warning("event=peer_dropped root=%s reason=%s", root, EQUIVOCATION)
            raise Ended("dropped", EQUIVOCATION) from exc
        if known != position:
            await self._store.set_position(known)
        await self._history.cosign(feed, opened, note)
        await self._take_entries(now, feed, known)
        if etag is not None:
            self._etags[now.contact.address] = (etag, root, opened.checkpoint)

    async def _take_entries(self, now: Round, feed: Feed, position: Position) -> None:
        async with contextlib.aclosing(feed.chunks(Edge(position.size, position.edge))) as chunks:
            async for chunk in chunks:
                await self._act(now, chunk, position)
                if chunk.end < feed.checkpoint.size:
                    self._check_limits(now)

    async def _act(self, now: Round, chunk: Chunk, position: Position) -> None:
        """Act on what was proven, and save how far that has come."""
        edge = chunk.before
        slices = [
            Slice(chunk.before.size + at, chunk.entries[at : at + SLICE])
            for at in range(0, len(chunk.entries), SLICE)
        ]
        withdrawn: dict[Cid, int] = {}
        for one in slices:
            withdrawn |= one.withdrawn()
        for at, one in enumerate(slices):
            await self._entries.act(now, position.root, one, withdrawn)
            leaves = chunk.entries[at * SLICE : (at + 1) * SLICE]
            edge = edge.grown([leaf_hash(leaf) for leaf in leaves])
            await self._store.set_position(replace(position, size=edge.size, edge=edge.roots))
            now.entries += len(leaves)
            if edge.size < chunk.end:
                self._check_limits(now)

    def _check_limits(self, now: Round) -> None:
        """Raises ``Ended`` where there is more than one round takes."""
        if now.entries >= self._limits.entries or now.all_bytes >= self._limits.bytes:
            raise Ended("partial", "more is to come")

    async def _mend(self, now: Round) -> None:
        root = await self._met(now)
        if now.contact.root is None:
            raise Rejected(f"{now.contact.address} was not read yet; neuroswarm peers sync reads it")
        async with self._turn(root):
            await self._finish_weighing(root)
            await self._entries.retry(now, root, is_hurried=True)
            try:
                missing = await held_set.missing(self._store, now, root)
            except NotFound as exc:
                raise Ended("unchanged", f"it compares no sets: {exc}") from exc
            lost = set(missing) - await self._store.tombstones(missing, root)
            position = await self._store.position(root)
            if not lost or position is None:
                return
            # Nobody has signed the set: it only says that it is worth while to read the log again.
            await self._store.set_position(replace(position, size=0, edge=()))
        await self._follow(now)


def is_publications(root: str, origin: str) -> bool:
    """Whether ``origin`` is the publications log of this root, or a later epoch of it."""
    return epoch_of(origin)[0] == f"{root.removeprefix('did:key:')}.neuroswarm/publications"
