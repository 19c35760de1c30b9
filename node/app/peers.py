"""The composition root's part for peers: what is published, who is polled, what of theirs is let in. Built in
order, left in reverse order by the caller's stack; no answer waits for any of it.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, TypeAlias
from zoneinfo import ZoneInfo

from node.api.peers import Peering
from node.audit.log.contradictions import Evidence
from node.audit.log.reader import CHECKPOINT, FolderSource, LogReader
from node.audit.log.writer import TileLog
from node.audit.witnesses.ours import Witness
from node.cache.keys import keyword_key
from node.core.clock import Clock
from node.core.errors import NodeError, NotFound
from node.core.files import DISK
from node.core.follower import Follower, Rest
from node.core.http import Http
from node.core.identity import Identity
from node.core.ipld import ipns
from node.core.ipld.cid import Cid
from node.core.ipld.ipns import IpnsName, IpnsRecord
from node.core.metrics import Metrics
from node.core.model import Check
from node.core.peer_address import address_of
from node.core.ports import Adapter, AuditLog, Semantics
from node.core.record import AnswerRecord
from node.core.scheduler import Scheduler
from node.core.settings import Settings
from node.core.signed_note import Checkpoint
from node.models.deadline import within
from node.peers.ports import PeerLink, PeerStore
from node.peers.rules.values import Contact, Level, Quota, SyncReport
from node.peers.store.sqlite import SqlitePeerStore
from node.peers.sync.admit import Admitter
from node.peers.sync.block_link import BlockPeer
from node.peers.sync.blocks import Gets, PeerBlocks
from node.peers.sync.client import HttpPeer, resolved
from node.peers.sync.desk import PeerDesk
from node.peers.sync.follow import PeerSync
from node.peers.sync.ledger import SETTINGS, PeerLedger
from node.peers.sync.peers_of_peers import is_told
from node.peers.sync.publish import Publisher
from node.peers.sync.publish_index import root_at
from node.pipeline.class_limit import class_limit
from node.pipeline.recompute import Recompute
from node.pipeline.understanding.route import Router
from node.privacy import private_reason
from node.store.ipns_records import Names
from node.store.remember import shown
from node.store.retention.volatility import volatility
from node.store.sqlite import SqliteStore
from node.store.state import StateStore

FROM_SETTINGS = "settings"
OTHERS_MAX = 8
"""Peers that are asked for a block that its issuer does not have."""
RECORD_SHARE = 0.8
"""Of the time that a look for a name's record has, for each who is asked."""
COUNT_EVERY_S = 30
MEND_EVERY_S = 86_400
"""How often what is held of a peer is compared with its set; the log is read anew if they differ."""
LAST_PUBLISH_TIMEOUT_S = 2.0
"""How long the stop waits for the last publications; what is missing follows after the next start."""
EQUIVOCATION = "equivocation"
_QUORUM = "peers_quorum"
_RULES = "evidence-1"
"""The rules of admission; with another name here what is held is weighed again."""

_Record: TypeAlias = Callable[[IpnsName], Awaitable[bytes | None]]
"""What somebody has for a name, if anything. Raises ``NodeError``."""


class Daemon(Protocol):
    """An IPFS daemon: ``KuboBlockStore``."""

    @property
    def blocks(self) -> Gets: ...

    async def get_name(self, name: IpnsName) -> bytes | None: ...


class Links:
    """The way to each address: one for each, so that what is learned of a peer is kept. ``blocks``: any block
    by its CID, from whoever has it."""

    def __init__(
        self, settings: Settings, http: Http, names: Names, daemon: Daemon | None, clock: Clock
    ) -> None:
        self._timeout_s = settings.peers.timeout_s
        self._http = http
        self._names = names
        self._daemon = daemon
        self._clock = clock
        self._links: dict[str, PeerLink] = {}
        self.blocks = PeerBlocks(None if daemon is None else daemon.blocks, self.over_http)
        for url in settings.peers.urls:
            self.to(address_of(url))

    def to(self, address: str) -> PeerLink:
        """The link to ``address``, which the operator has named: it may lead anywhere."""
        return self._kept(address, is_told=False)

    def told(self, address: str) -> PeerLink:
        """The link to an address that a peer has named: it may lead to the public internet only."""
        return self._kept(address, is_told=True)

    def _kept(self, address: str, *, is_told: bool) -> PeerLink:
        link = self._links.get(address)
        if link is None or (isinstance(link, HttpPeer) and link.is_told != is_told):
            link = self._links[address] = self._made(address, is_told=is_told)
        return link

    def over_http(self) -> Sequence[HttpPeer]:
        """Those that can be asked for any block."""
        return [link for link in self._links.values() if isinstance(link, HttpPeer)][:OTHERS_MAX]

    def forget_others(self, addresses: Sequence[str]) -> None:
        """Keep the links to these only."""
        self._links = {one: link for one, link in self._links.items() if one in addresses}

    def _made(self, address: str, *, is_told: bool) -> PeerLink:
        if "://" in address:
            resolve = resolved if is_told else None
            return HttpPeer(address, self._http, self._clock, timeout_s=self._timeout_s, resolve=resolve)
        return BlockPeer(
            IpnsName.parse(address), self._record, self.blocks, self._clock, timeout_s=self._timeout_s
        )

    async def _record(self, name: IpnsName) -> bytes:
        """The newest record of a name that this node, its daemon or a peer has. All are asked together, and
        none may use up the time of the others."""
        asks: list[_Record] = [self._names.get, *(link.ipns_record for link in self.over_http())]
        if self._daemon is not None:
            asks.append(self._daemon.get_name)
        found = await asyncio.gather(*(self._checked(name, ask) for ask in asks))
        best: tuple[IpnsRecord, bytes] | None = None
        for one in found:
            if one is not None and (best is None or ipns.better(one[0], best[0])):
                best = one
        if best is None:
            raise NotFound(f"nobody who was asked knows a record of the name {name.text}")
        return best[1]

    async def _checked(self, name: IpnsName, ask: _Record) -> tuple[IpnsRecord, bytes] | None:
        limit_s = self._timeout_s * RECORD_SHARE
        try:
            data = await within(self._clock, limit_s, ask(name), "the record did not come in time")
            return None if data is None else (ipns.decode(data, name), data)
        except NodeError:
            return None


@dataclass(frozen=True, slots=True)
class Peers:
    """What shares, and what is shared with. ``peering``: what other nodes are answered from."""

    desk: PeerDesk
    peering: Peering
    publisher: Publisher
    probes: tuple[Callable[[], Awaitable[Check]], ...]


def quota_of(settings: Settings) -> Quota:
    """What one root may take here."""
    own = settings.peers
    return Quota(own.records_max, own.bytes_max, own.validations_per_hour, own.near_max)


def ledger_of(settings: Settings, decisions: AuditLog, metrics: Metrics, version: str) -> PeerLedger:
    """Where what is decided about peers is entered."""
    return PeerLedger(
        decisions, version, metrics.unlogged, refuse_unlogged=settings.log.on_failure == "refuse"
    )


async def open_store(
    settings: Settings,
    data_dir: Path,
    state: StateStore,
    clock: Clock,
    stack: AsyncExitStack,
    ledger: PeerLedger,
) -> SqlitePeerStore:
    """What is known of peers, with the contacts and roots that the settings name; what that changes is
    entered in ``ledger``. Raises ``CorruptState``, ``Unavailable``."""
    store = await SqlitePeerStore.open(data_dir / "peers.sqlite", clock)
    stack.push_async_callback(store.close)
    known = {contact.address: contact for contact in await store.contacts()}
    wanted = {address_of(url) for url in settings.peers.urls}
    for address in sorted(wanted):
        contact = known.get(address, Contact(address, FROM_SETTINGS, None, clock.now()))
        if address in known and not is_told(contact):
            continue
        contact = replace(contact, source=FROM_SETTINGS)  # from now on it is the operator's word
        await ledger.followed(contact, SETTINGS)
        await store.put_contact(contact)
    for address, contact in known.items():
        if contact.source == FROM_SETTINGS and address not in wanted:
            await ledger.unfollowed(contact, SETTINGS)
            await store.remove_contact(address)
    for root in settings.peers.trusted:
        standing = await store.standing(root)
        if standing.level in (Level.UNKNOWN, Level.KNOWN):
            trusted = replace(standing, level=Level.TRUSTED)
            await ledger.stands(standing, trusted, SETTINGS)
            await store.set_standing(trusted)
            await store.begin(root)
    quorum = f"{settings.peers.quorum}, {_RULES}"
    if await state.get_meta(_QUORUM) != quorum:  # what was agreed by so many has to be weighed again
        for root in await store.standings():
            await store.begin(root)
        await state.set_meta(_QUORUM, quorum)
    return store


def published_size(data_dir: Path) -> int:
    """How many entries the publications log has under a checkpoint, where no node has it open."""
    try:
        note = (data_dir / "publications" / CHECKPOINT).read_bytes()
    except FileNotFoundError:
        return 0
    return Checkpoint.of_note(note).size


async def forget_held(store: PeerStore, cids: Sequence[str]) -> None:
    """What is erased here is not kept as a peer's either, and does not come back from its issuer."""
    for text in cids:
        cid = Cid.parse(text)
        held = await store.held(cid)
        if held is not None:
            await store.entomb(cid, held.issuer, cid, b"", None)
            await store.release(cid)


def admitter_of(
    settings: Settings,
    store: SqlitePeerStore,
    records: SqliteStore,
    semantics: Semantics,
    identity: Identity,
    router: Router,
    adapters: Sequence[Adapter],
    decisions: AuditLog,
    clock: Clock,
    metrics: Metrics,
    version: str,
) -> Admitter:
    """What lets peers' records in."""
    zone = ZoneInfo(settings.time_zone)
    limit = class_limit(router, clock, zone)
    recompute = Recompute(
        router,
        adapters,
        clock,
        class_limit=limit,
        zone=zone,
        per_hour=settings.peers.verify_per_hour,
        timeout_s=settings.peers.timeout_s,
    )
    return Admitter(
        store,
        records.records,
        records.blocks,
        semantics,
        clock,
        own_root=identity.root,
        class_limit=limit,
        recompute=recompute,
        is_private=_private,
        keyword_key=keyword_key,
        quota=quota_of(settings),
        quorum=settings.peers.quorum,
        log=decisions,
        count=metrics.admission,
        policy=version,
        slot_key=recompute.slot_key,
    )


def desk_of(
    settings: Settings,
    data_dir: Path,
    store: SqlitePeerStore,
    admitter: Admitter,
    witness: Witness | None,
    identity: Identity,
    publications: Callable[[], int],
    links: Links,
    clock: Clock,
    metrics: Metrics,
    ledger: PeerLedger,
) -> tuple[PeerDesk, PeerSync]:
    """What the operator asks, and the rounds behind it. ``ledger``: where the operator's word is entered."""
    evidence = Evidence(data_dir / "peers" / "evidence", DISK)

    async def keep(root: str, notes: Mapping[str, bytes]) -> None:
        digest = hashlib.sha256(b"\0".join(notes[role] for role in sorted(notes))).hexdigest()
        case = f"{hashlib.sha256(root.encode()).hexdigest()[:16]}-{digest[:16]}"
        await asyncio.to_thread(evidence.keep, EQUIVOCATION, case, notes)

    sync = PeerSync(
        store,
        admitter,
        witness,
        clock,
        link=links.to,
        others=links.over_http,
        evidence=keep,
        own_root=identity.root,
        told=links.told,
        of_peers=settings.peers.of_peers,
    )
    desk = PeerDesk(
        store,
        _Counted(sync, metrics),
        admitter,
        clock,
        identity=identity,
        publications=publications,
        link=links.to,
        quota=quota_of(settings),
        quorum=settings.peers.quorum,
        evidence=evidence,
        ledger=ledger,
    )
    return desk, sync


async def open_peers(
    settings: Settings,
    data_dir: Path,
    store: SqlitePeerStore,
    admitter: Admitter,
    records: SqliteStore,
    identity: Identity,
    publications: TileLog,
    witness: Witness,
    links: Links,
    router: Router,
    scheduler: Scheduler,
    clock: Clock,
    metrics: Metrics,
    stack: AsyncExitStack,
    ledger: PeerLedger,
) -> Peers:
    """What publishes and polls. ``ledger`` as for ``desk_of``. Raises ``CorruptState``, ``Unavailable``."""
    publisher = _publisher(settings, data_dir, records, identity, publications, router, clock)
    stack.push_async_callback(publisher.close, LAST_PUBLISH_TIMEOUT_S)
    desk, sync = desk_of(
        settings,
        data_dir,
        store,
        admitter,
        witness,
        identity,
        publications.size,
        links,
        clock,
        metrics,
        ledger,
    )
    publisher.start()

    async def weigh() -> Rest:
        await admitter.resume()
        return Rest(float(settings.cache.sweep_every_s))

    # Beside the start: what a kill has cut off may be all that is held of a large peer.
    weighing = Follower("peers: weighing", weigh, clock)
    stack.push_async_callback(weighing.close, LAST_PUBLISH_TIMEOUT_S)
    weighing.start()

    _schedule(scheduler, settings, store, sync, desk, admitter, links, metrics)
    return Peers(
        desk,
        Peering(desk, publisher.answer, settings.server.request_timeout_s),
        publisher,
        (desk.probe, _all(sync.health), _all(lambda: [publisher.health()])),
    )


def _publisher(
    settings: Settings,
    data_dir: Path,
    records: SqliteStore,
    identity: Identity,
    publications: TileLog,
    router: Router,
    clock: Clock,
) -> Publisher:
    """What enters our public records in the publications log."""
    limit = class_limit(router, clock, ZoneInfo(settings.time_zone))
    source = FolderSource(data_dir / "publications")
    reader = LogReader(source)

    async def entries(first: int, end: int) -> Sequence[bytes]:
        published = publications.published
        return [] if published is None else await reader.entries(first, end - first, published.size)

    async def root(size: int) -> bytes:
        if publications.published is None:
            raise NotFound("the publications log has no checkpoint yet")
        return await root_at(source, publications.published.note, size)

    return Publisher(
        records.records,
        publications,
        clock,
        state_path=data_dir / "publications.json",
        own=identity.root,
        class_of=lambda record: limit(record).name,
        entries=entries,
        index_path=data_dir / "publications.index",
        root_at=root,
    )


def _schedule(
    scheduler: Scheduler,
    settings: Settings,
    store: SqlitePeerStore,
    sync: PeerSync,
    desk: PeerDesk,
    admitter: Admitter,
    links: Links,
    metrics: Metrics,
) -> None:
    async def poll() -> None:
        before = dict(sync.reports)
        for report in await sync.sync_all():
            if report is not before.get(report.address):  # else it was left alone this time
                metrics.synced(report.outcome)
        links.forget_others([contact.address for contact in await store.contacts()])

    async def mend() -> None:
        for contact in await store.contacts():
            try:
                await sync.mend(contact.address)
            except NotFound:
                continue  # removed meanwhile

    async def count() -> None:
        numbers = await desk.numbers()
        metrics.set(
            peers=numbers.peers,
            peers_dropped=numbers.dropped,
            peer_bytes=numbers.bytes,
            publications_size=numbers.publications,
        )
        metrics.peer_records(numbers.tiers)

    scheduler.every(settings.peers.every_s, "sync_peers", poll)
    scheduler.every(MEND_EVERY_S, "mend_peers", mend)
    scheduler.every(settings.cache.sweep_every_s, "sweep_peers", admitter.sweep)
    scheduler.every(COUNT_EVERY_S, "count_peers", count)


class _Counted:
    """Rounds that somebody asked for count like those on the clock."""

    def __init__(self, sync: PeerSync, metrics: Metrics) -> None:
        self._sync = sync
        self._metrics = metrics

    @property
    def reports(self) -> Mapping[str, SyncReport]:
        return self._sync.reports

    async def sync(self, address: str) -> SyncReport:
        report = await self._sync.sync(address)
        self._metrics.synced(report.outcome)
        return report

    async def sync_all(self, *, is_hurried: bool = False) -> list[SyncReport]:
        reports = await self._sync.sync_all(is_hurried=is_hurried)
        for report in reports:
            self._metrics.synced(report.outcome)
        return reports


async def _private(record: AnswerRecord) -> str | None:
    """What keeps a peer's record from being served here, by our own privacy gate."""
    if volatility(record.query).personal:
        return "personal_question"
    return await asyncio.to_thread(private_reason, *shown(record))


def _all(health: Callable[[], list[Check]]) -> Callable[[], Awaitable[Check]]:
    async def probe() -> Check:
        return health()[0]

    return probe
