"""The composition root's part for peers: what is published, who is polled, what of theirs is let in. Built in
order, left in reverse order by the caller's stack; no answer waits for any of it.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from node.api.peers import Peering
from node.app.links import Links
from node.app.storage import VERSION, Ground, Probe, fact
from node.audit.log.contradictions import Evidence
from node.audit.log.reader import CHECKPOINT, FolderSource, LogReader
from node.audit.log.writer import TileLog
from node.audit.witnesses.ours import Witness
from node.cache.keys import keyword_key
from node.core.clock import Clock
from node.core.errors import NotFound
from node.core.files import DISK
from node.core.follower import Follower, Rest
from node.core.ipld.cid import Cid
from node.core.peer_address import address_of
from node.core.ports import Semantics
from node.core.record import AnswerRecord
from node.core.scheduler import Scheduler
from node.core.settings import Settings
from node.core.signed_note import Checkpoint
from node.peers.rules.values import Contact, Level, Quota, Terms
from node.peers.store.sqlite import PeerStore
from node.peers.sync.admit import Admitter, Reading
from node.peers.sync.desk import Own, PeerDesk
from node.peers.sync.follow import PeerSync, Watch, Ways
from node.peers.sync.ledger import SETTINGS, PeerLedger
from node.peers.sync.peers_of_peers import is_told
from node.peers.sync.publish import Places, Publisher, ReadBack
from node.peers.sync.publish_index import root_at
from node.peers.sync.serving import Serving
from node.pipeline.class_limit import class_limit
from node.pipeline.recompute import Recompute
from node.pipeline.understanding.route import Router
from node.privacy import private_reason
from node.store.remember import shown
from node.store.retention.volatility import volatility
from node.store.state import StateStore

FROM_SETTINGS = "settings"
COUNT_EVERY_S = 30
MEND_EVERY_S = 86_400
"""How often what is held of a peer is compared with its set; the log is read anew if they differ."""
LAST_PUBLISH_TIMEOUT_S = 2.0
"""How long the stop waits for the last publications; what is missing follows after the next start."""
EQUIVOCATION = "equivocation"
_QUORUM = "peers_quorum"
_RULES = "evidence-1"
"""The rules of admission; with another name here what is held is weighed again."""


@dataclass(frozen=True, slots=True)
class Peers:
    """What shares, and what is shared with. ``peering``: what other nodes are answered from."""

    desk: PeerDesk
    peering: Peering
    publisher: Publisher
    probes: tuple[Probe, ...]


def terms_of(ground: Ground) -> Terms:
    """On which this node takes from others."""
    own = ground.settings.peers
    quota = Quota(own.records_max, own.bytes_max, own.validations_per_hour, own.near_max)
    return Terms(ground.identity.root, quota, own.quorum)


def ledger_of(ground: Ground) -> PeerLedger:
    """Where what is decided about peers is entered."""
    return PeerLedger(ground.recorder, ground.clock, VERSION)


async def open_store(
    settings: Settings,
    data_dir: Path,
    state: StateStore,
    clock: Clock,
    stack: AsyncExitStack,
    ledger: PeerLedger,
) -> PeerStore:
    """What is known of peers, with the contacts and roots that the settings name; what that changes is
    entered in ``ledger``. Raises ``CorruptState``, ``Unavailable``."""
    store = await PeerStore.open(data_dir / "peers.sqlite", clock)
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
    ground: Ground, store: PeerStore, semantics: Semantics, router: Router, ledger: PeerLedger
) -> Admitter:
    """What lets peers' records in."""
    settings, clock = ground.settings, ground.clock
    limit = class_limit(router, clock, ground.zone)
    recompute = Recompute(
        router,
        ground.adapters,
        clock,
        class_limit=limit,
        zone=ground.zone,
        per_hour=settings.peers.verify_per_hour,
        timeout_s=settings.peers.timeout_s,
    )
    serving = Serving(
        ground.store.records,
        ground.store.blocks,
        semantics,
        keyword_key=keyword_key,
        slot_key=recompute.slot_key,
        near=settings.peers.near_max,
    )
    reading = Reading(limit, recompute, _private)
    return Admitter(store, serving, clock, reading, terms_of(ground), ledger, ground.metrics.admission)


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of peers, and who decides about them. ``ledger``: where that is entered."""

    store: PeerStore
    admitter: Admitter
    links: Links
    ledger: PeerLedger


def desk_of(
    ground: Ground, known: Known, witness: Witness | None, publications: Callable[[], int]
) -> tuple[PeerDesk, PeerSync]:
    """What the operator asks, and the rounds behind it. ``publications``: how many are published."""
    settings, links = ground.settings, known.links
    evidence = Evidence(ground.data_dir / "peers" / "evidence", DISK)

    async def keep(root: str, notes: Mapping[str, bytes]) -> None:
        digest = hashlib.sha256(b"\0".join(notes[role] for role in sorted(notes))).hexdigest()
        case = f"{hashlib.sha256(root.encode()).hexdigest()[:16]}-{digest[:16]}"
        await asyncio.to_thread(evidence.keep, EQUIVOCATION, case, notes)

    ways, watch = Ways(links.to, links.told, links.over_http), Watch(keep, witness, ground.metrics.synced)
    sync = PeerSync(
        known.store,
        known.admitter,
        ground.clock,
        ways,
        watch,
        ground.identity.root,
        of_peers=settings.peers.of_peers,
    )
    own = Own(ground.identity, publications, terms_of(ground))
    desk = PeerDesk(known.store, sync, known.admitter, ground.clock, own, links.to, evidence, known.ledger)
    return desk, sync


async def open_peers(
    ground: Ground,
    known: Known,
    publications: TileLog,
    witness: Witness,
    router: Router,
    scheduler: Scheduler,
) -> Peers:
    """What publishes and polls. Raises ``CorruptState``, ``Unavailable``."""
    settings, stack, admitter = ground.settings, ground.stack, known.admitter
    publisher = _publisher(ground, publications, router)
    stack.push_async_callback(publisher.close, LAST_PUBLISH_TIMEOUT_S)
    desk, sync = desk_of(ground, known, witness, publications.size)
    publisher.start()

    async def weigh() -> Rest:
        await admitter.resume()
        return Rest(float(settings.cache.sweep_every_s))

    # Beside the start: what a kill has cut off may be all that is held of a large peer.
    weighing = Follower("peers: weighing", weigh, ground.clock)
    stack.push_async_callback(weighing.close, LAST_PUBLISH_TIMEOUT_S)
    weighing.start()

    _schedule(scheduler, ground, known, sync, publications.size)
    return Peers(
        desk,
        Peering(desk, publisher.answer, settings.server.request_timeout_s),
        publisher,
        (desk.probe, fact(lambda: sync.health()[0]), fact(publisher.health)),
    )


def _publisher(ground: Ground, publications: TileLog, router: Router) -> Publisher:
    """What enters our public records in the publications log."""
    limit = class_limit(router, ground.clock, ground.zone)
    source = FolderSource(ground.data_dir / "publications")
    reader = LogReader(source)

    async def entries(first: int, end: int) -> Sequence[bytes]:
        published = publications.published
        return [] if published is None else await reader.entries(first, end - first, published.size)

    async def root(size: int) -> bytes:
        if publications.published is None:
            raise NotFound("the publications log has no checkpoint yet")
        return await root_at(source, publications.published.note, size)

    return Publisher(
        ground.store.records,
        publications,
        ground.clock,
        ReadBack(entries, root),
        own=ground.identity.root,
        class_of=lambda record: limit(record).name,
        places=Places(ground.data_dir / "publications.json", ground.data_dir / "publications.index"),
    )


def _schedule(
    scheduler: Scheduler, ground: Ground, known: Known, sync: PeerSync, publications: Callable[[], int]
) -> None:
    store, metrics = known.store, ground.metrics

    async def poll() -> None:
        if ground.clock.doubt is not None:
            return  # what is new, what has ended and which keys count depend on the time
        await sync.sync_all()
        known.links.forget_others([contact.address for contact in await store.contacts()])

    async def mend() -> None:
        if ground.clock.doubt is not None:
            return
        for contact in await store.contacts():
            with contextlib.suppress(NotFound):  # removed meanwhile
                await sync.mend(contact.address)

    async def count() -> None:
        summary = await store.summary(ground.clock.now())
        metrics.set(
            peers=summary.contacts,
            peers_dropped=summary.dropped,
            peer_bytes=summary.bytes,
            publications_size=publications(),
        )
        metrics.peer_records(summary.tiers)

    settings = ground.settings
    scheduler.every(settings.peers.every_s, "sync_peers", poll)
    scheduler.every(MEND_EVERY_S, "mend_peers", mend)
    scheduler.every(settings.cache.sweep_every_s, "sweep_peers", known.admitter.sweep)
    scheduler.every(COUNT_EVERY_S, "count_peers", count)


def _private(record: AnswerRecord) -> str | None:
    """What keeps a peer's record from being served here, by our own privacy gate."""
    if volatility(record.query).personal:
        return "personal_question"
    return private_reason(*shown(record))
