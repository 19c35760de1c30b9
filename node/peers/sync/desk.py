"""What the operator says and asks of peers: whom to poll, whom to trust, what came of it, what speaks against
whom. The same desk serves the local socket, HTTP and a command that has opened the data directory itself.

Promises: methods take and return what JSON can hold; each change of a standing or of who is polled is in the
decision log before it is made; a change of standing is durable before it takes effect, so that a kill in
between is finished at the next start; no address is asked but the one that is named, and it
is sent nothing of this node's. A root that signed two histories is never listened to again, whatever is said.
Must not know: how a peer is reached, what admission decides.
"""

from __future__ import annotations

import asyncio
import base64
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, TypeAlias

from node.audit.log.contradictions import Evidence
from node.core.clock import Clock
from node.core.errors import BadInput, NodeError, Rejected, Unavailable
from node.core.identity import Identity
from node.core.model import Check
from node.core.peer_address import address_of
from node.core.ports import Appended
from node.core.record import PUBLICATIONS, KeyRecord, block_of, decode, format_time, public_key_of
from node.core.signed_note import NOTE_BYTES_MAX
from node.peers.ports import PeerLink
from node.peers.rules.keys import KeyRing
from node.peers.rules.standing import trust_ppm
from node.peers.rules.values import Contact, Level, Standing, Summary, Terms, Tier
from node.peers.store.sqlite import PeerStore
from node.peers.sync.admit import Admitter
from node.peers.sync.follow import PeerSync
from node.peers.sync.ledger import OPERATOR, PeerLedger
from node.peers.sync.peers_of_peers import is_told

Command: TypeAlias = Callable[[Mapping[str, Any]], Awaitable[dict[str, Any]]]

PEERS_SHOWN = 1_000
CASES_SHOWN = 100
FULL_SHARE = 0.9
"""From this share of a quota on ``/health`` warns."""
WAIT_S_MAX = 540
"""How long whoever asks for a round may wait: less than a command waits for the node."""

_GROUP = re.compile(r"[A-Za-z0-9._-]{1,64}\Z")
_ROOT = "did:key:"
_LOG_SUFFIX = ".neuroswarm/"
_LINE_BYTES_MAX = 1_024


@dataclass(frozen=True, slots=True)
class Own:
    """This node, as peers see it. ``publications``: the size of its own log."""

    identity: Identity
    publications: Callable[[], int]
    terms: Terms


class PeerDesk:
    """Build one per data directory. ``link``: the way to an address; ``evidence``: what contradicts itself,
    each case a few signed notes."""

    def __init__(
        self,
        store: PeerStore,
        sync: PeerSync,
        admitter: Admitter,
        clock: Clock,
        own: Own,
        link: Callable[[str], PeerLink],
        evidence: Evidence,
        ledger: PeerLedger,
    ) -> None:
        self._store = store
        self._sync = sync
        self._admitter = admitter
        self._clock = clock
        self._identity = own.identity
        self._publications = own.publications
        self._quota = own.terms.quota
        self._quorum = own.terms.quorum
        self._link = link
        self._evidence = evidence
        self._ledger = ledger

    # --- what there is --------------------------------------------------------------------------------

    async def identity(self) -> dict[str, Any]:
        """Who this node is, for peers: ``{"root", "node", "ipns_name", "publications_vkey",
        "certificates"}``; certificates are blocks of key records in base64."""
        own = self._identity
        blocks = [block_of(record)[1] for record in own.certificates()]
        return {
            "root": own.root,
            "node": own.node,
            "ipns_name": own.ipns_name,
            "publications_vkey": own.vkey(PUBLICATIONS),
            "certificates": [base64.b64encode(block).decode() for block in blocks],
        }

    async def list(self) -> dict[str, Any]:
        """This node, its rules, and everybody who is polled or of whom something was said. Raises
        ``Unavailable``."""
        contacts, standings = await self._store.contacts(), await self._store.standings()
        polled = {contact.root for contact in contacts}
        places: list[tuple[Contact | None, str | None]] = [(contact, contact.root) for contact in contacts]
        places += [(None, root) for root in standings if root not in polled]
        own = self._identity
        return {
            "own": {
                "root": own.root,
                "node": own.node,
                "ipns_name": own.ipns_name,
                "publications": {"origin": own.publications_origin, "size": self._publications()},
            },
            "quorum": self._quorum,
            "quota": asdict(self._quota),
            "peers": [await self._peer(contact, root) for contact, root in places[:PEERS_SHOWN]],
            "more": max(0, len(places) - PEERS_SHOWN),
        }

    async def _peer(self, contact: Contact | None, root: str | None) -> dict[str, Any]:
        last = None if contact is None else self._sync.reports.get(contact.address)
        shown: dict[str, Any] = {
            "address": None if contact is None else contact.address,
            "source": None if contact is None else contact.source,
            "added": None if contact is None else _time(contact.added),
            "root": root,
            **_said(Standing("") if root is None else await self._store.standing(root)),
            "last": None if last is None else asdict(last),
            "read": None,
            "usage": None,
            "counts": {},
        }
        if root is not None:
            position = await self._store.position(root)
            shown["read"] = None if position is None else {"origin": position.origin, "size": position.size}
            shown["usage"] = asdict(await self._store.usage(root, self._clock.now()))
            shown["counts"] = dict(await self._store.counts(root))
        return shown

    async def evidence(self, root: str | None = None) -> dict[str, Any]:
        """Signed notes that contradict each other -> ``{"cases": [{"case", "kind", "root", "dropped",
        "notes": {role: text}}, …], "more"}``, those of ``root`` alone where it is given. Raises ``BadInput``,
        ``Unavailable``."""
        if root is not None:
            root = _root(root)
        cases, count = await asyncio.to_thread(_cases, self._evidence, root)
        for case in cases:
            signer = case["root"]
            case["dropped"] = "" if signer is None else (await self._store.standing(signer)).dropped
        return {"cases": cases, "more": count - len(cases)}

    # --- what the operator decides --------------------------------------------------------------------

    async def add(self, address: str) -> dict[str, Any]:
        """Poll an address from now on, and ask who is there. What answers is kept as who must answer from
        then on; whoever does not answer now is polled all the same. ``decision``: its entry in the decision
        log, null where nothing was changed or it could not be entered. Raises ``BadInput``, ``Rejected``
        (this node itself, another root than before, too many contacts), ``Unavailable`` (our own store, or
        a log that has to have it)."""
        address = _address(address)
        known = await self._store.contact(address)
        root, keys, trouble = await self._who(address)
        if root == self._identity.root:
            raise Rejected(f"{address} is this node itself")
        if known is not None and known.root is not None and root is not None and root != known.root:
            raise Rejected(
                f"{root} answers at {address}, where {known.root} did before; if that is right, remove the "
                f"address and add it again: neuroswarm peers remove {address}"
            )
        contact = known or Contact(address, OPERATOR, None, self._clock.now())
        source = OPERATOR if is_told(contact) else contact.source  # from now on it is the operator's word
        contact = replace(contact, root=root or contact.root, source=source)
        place = None
        if known is None or source != known.source:
            place = await self._ledger.followed(contact, OPERATOR)
        try:
            await self._store.put_contact(contact)
        except Rejected:
            # Too many are polled: the log says that it came to nothing.
            await self._ledger.unfollowed(contact, OPERATOR)
            raise
        standing = Standing("") if contact.root is None else await self._store.standing(contact.root)
        return {
            "address": address,
            "root": contact.root,
            "keys": keys,
            "trouble": trouble,
            **_said(standing),
            "trust_ppm_if_trusted": trust_ppm(replace(standing, level=Level.TRUSTED), Tier.TRUSTED),
            "decision": _place(place),
        }

    async def _who(self, address: str) -> tuple[str | None, int, str]:
        """The root that answers, how many keys it has certified, and what is wrong instead."""
        try:
            root, blocks = await self._link(address).certificates()
            ring = KeyRing(_root(root))
            now = self._clock.now()
            keys = sum(_is_certified(ring, block, now) for block in blocks)
        except NodeError as exc:
            return None, 0, str(exc)
        if keys == 0:
            return None, 0, "what answers there shows no key that its root has certified"
        return root, keys, ""

    async def trust(self, who: str, level: str | None = None, group: str | None = None) -> dict[str, Any]:
        """Say what a root is to this node. ``who``: a root, or an address where one has answered. Without
        ``level`` it becomes trusted; but with a group alone it stays what the operator has called it before.
        ``group`` empty: of none.
        Everything held of it is judged anew before this returns. ``decision`` as for ``add``. Raises
        ``BadInput``, ``Unavailable``."""
        root = await self._named(who)
        if root == self._identity.root:
            raise BadInput("that is this node itself, whose own answers need no trust", field="root")
        before = await self._store.standing(root)
        standing = replace(before, level=_level(level, group, before), group=_group(group, before))
        place = await self._ledger.stands(before, standing, OPERATOR)
        await self._store.begin(root)
        now = await self._store.standing(root)  # what else is known of it may have changed meanwhile
        await self._store.set_standing(replace(now, level=standing.level, group=standing.group))
        await self._admitter.retier(root)
        usage = await self._store.usage(root, self._clock.now())
        return {
            "root": root,
            "before": _said(before),
            **_said(await self._store.standing(root)),
            "trust_ppm": trust_ppm(standing, Tier.TRUSTED),
            "quorum": self._quorum,
            "usage": asdict(usage),
            "decision": _place(place),
        }

    async def remove(self, address: str) -> dict[str, Any]:
        """Poll an address no more. What is held of its root stays until it ends; ``blocked`` lets go of it.
        ``decision`` as for ``add``. Raises ``BadInput``, ``Unavailable``."""
        address = _address(address)
        known = await self._store.contact(address)
        if known is None:
            raise _no_such(address)
        place = await self._ledger.unfollowed(known, OPERATOR)
        if not await self._store.remove_contact(address):
            raise _no_such(address)
        return {"address": address, "root": known.root, "source": known.source, "decision": _place(place)}

    async def sync(self, address: str | None = None, wait_s: float = WAIT_S_MAX) -> dict[str, Any]:
        """One round with the peer at ``address``, or with all, of at most ``wait_s`` -> ``{"reports",
        "complete"}``. What a round that is cut short has read stays read. Raises ``BadInput``,
        ``Unavailable``."""
        before = dict(self._sync.reports)
        try:
            async with asyncio.timeout(wait_s):
                if address is None:
                    reports, is_complete = await self._sync.sync_all(is_hurried=True), True
                else:
                    address = _address(address)
                    if await self._store.contact(address) is None:
                        raise _no_such(address)
                    reports, is_complete = [await self._sync.sync(address)], True
        except TimeoutError:
            now = self._sync.reports
            reports, is_complete = [now[one] for one in now if now[one] is not before.get(one)], False
        return {"reports": [asdict(report) for report in reports], "complete": is_complete}

    # --- the same by name, and for /health -----------------------------------------------------------

    def commands(self) -> Mapping[str, Command]:
        """The methods as commands of the operator's desk, by name; unknown fields are refused."""

        known: Mapping[str, tuple[Callable[..., Awaitable[dict[str, Any]]], tuple[str, ...]]] = {
            "list": (self.list, ()),
            "add": (self.add, ("address!",)),
            "trust": (self.trust, ("who!", "level", "group")),
            "sync": (self.sync, ("address",)),
            "remove": (self.remove, ("address!",)),
            "evidence": (self.evidence, ("root",)),
        }

        def command(name: str) -> Command:
            act, fields = known[name]
            return lambda asked: _asked(act, fields, asked)

        return {f"peers_{name}": command(name) for name in known}

    async def probe(self) -> Check:
        """Standing and quotas, for ``/health``."""
        try:
            summary = await self._store.summary(self._clock.now())
        except NodeError as exc:
            return Check("peers", "warn", f"what is known of peers cannot be read: {exc}")
        if not summary.levels and not summary.contacts:
            return Check("peers", "pass", "no peers; neuroswarm peers add ADDRESS", observed=0, unit="peers")
        fullest = self._fullest(summary)
        trusted, known, blocked = (
            summary.levels.get(level, 0) for level in (Level.TRUSTED, Level.KNOWN, Level.BLOCKED)
        )
        text = (
            f"{trusted} trusted, {known} known, {blocked} blocked; {summary.groups} trust groups, a quorum "
            f"is {self._quorum}; the fullest quota is at {fullest:.0%}"
        )
        if summary.dropped:
            text += f"; {summary.dropped} dropped for contradicting themselves: neuroswarm peers evidence"
        status = "warn" if summary.dropped or fullest >= FULL_SHARE else "pass"
        return Check("peers", status, text, observed=summary.contacts, unit="peers")

    # --- pieces ---------------------------------------------------------------------------------------

    def _fullest(self, summary: Summary) -> float:
        """How full the fullest quota of any root is."""
        usage, quota = summary.fullest, self._quota
        pairs = (
            (usage.records, quota.records),
            (usage.bytes, quota.bytes),
            (usage.validations, quota.validations_per_hour),
        )
        return max(used / max(1, most) for used, most in pairs)

    async def _named(self, who: str) -> str:
        """The root that is meant. Raises ``BadInput``."""
        if who.startswith(_ROOT):
            return _root(who)
        address = _address(who)
        contact = await self._store.contact(address)
        if contact is None:
            raise _no_such(address)
        if contact.root is None:
            raise BadInput(
                f"nobody has answered at {address} yet, so there is no root to trust; type: neuroswarm peers "
                f"add {address}",
                field="who",
            )
        return contact.root


def _time(when: datetime | None) -> str | None:
    return None if when is None else format_time(when)


def _said(standing: Standing) -> dict[str, Any]:
    """What is known of a root, apart from its name."""
    said = asdict(standing)
    del said["root"]
    return said


def _place(place: Appended | None) -> dict[str, Any] | None:
    return None if place is None else {"log": place.log, "index": place.index}


def _address(text: str) -> str:
    try:
        return address_of(text)
    except Rejected as exc:
        raise BadInput(str(exc), field="address") from exc


def _root(text: str) -> str:
    try:
        public_key_of(text)
    except Rejected as exc:
        raise BadInput(f"{text[:80]!r} is no root (did:key:z6Mk…)", field="root") from exc
    return text


def _no_such(address: str) -> BadInput:
    return BadInput(
        f"{address} is not polled; neuroswarm peers list shows who is, neuroswarm peers add adds one",
        field="address",
    )


def _level(level: str | None, group: str | None, before: Standing) -> Level:
    if level is None:
        is_unsaid = group is None or before.level is Level.UNKNOWN
        return Level.TRUSTED if is_unsaid else before.level
    try:
        return Level(level)
    except ValueError as exc:
        known = ", ".join(Level)
        raise BadInput(
            f"there is no level {level[:64]!r}; known are {known}", field="level", limit=known
        ) from exc


def _group(group: str | None, before: Standing) -> str | None:
    if group is None:
        return before.group
    if group and not _GROUP.match(group):
        limit = "1 to 64 letters, digits and . _ -"
        raise BadInput(f"a group's name has {limit}", field="group", limit=limit)
    return group or None


def _is_certified(ring: KeyRing, block: bytes, now: datetime) -> bool:
    """Whether the block is a key record of the ring's root, which then is in the ring."""
    try:
        record = decode(block)
    except Rejected:
        return False
    return isinstance(record, KeyRecord) and ring.add(record, now)


def _cases(evidence: Evidence, root: str | None) -> tuple[list[dict[str, Any]], int]:
    """The first ``CASES_SHOWN`` of what is kept (against ``root``), and how much there is. Blocking."""
    files: dict[tuple[str, str], dict[str, Path]] = {}
    for path in sorted(evidence.directory.glob("*.note")):
        kind, _, rest = path.name.removesuffix(".note").partition("-")
        case, _, role = rest.rpartition(".")
        files.setdefault((kind, case), {})[role] = path
    found, count = [], 0
    for (kind, case), paths in files.items():
        signer = next(
            (one for path in paths.values() if (one := _signer(_note(path, _LINE_BYTES_MAX)))), None
        )
        if root not in (None, signer):
            continue
        count += 1
        if count <= CASES_SHOWN:
            notes = {role: _note(path, NOTE_BYTES_MAX) for role, path in paths.items()}
            found.append({"case": case, "kind": kind, "root": signer, "notes": notes})
    return found, count


def _note(path: Path, bytes_max: int) -> str:
    try:
        with path.open("rb") as file:
            return file.read(bytes_max).decode("utf-8", "replace")
    except FileNotFoundError:
        return ""  # cleared up meanwhile
    except OSError as exc:
        raise Unavailable(f"the evidence {path} cannot be read: {exc.strerror}") from exc


def _signer(note: str) -> str | None:
    """The root whose log the note is of: its first line is the log's origin."""
    root, suffix, _ = note.partition("\n")[0].partition(_LOG_SUFFIX)
    return _ROOT + root if suffix else None


async def _asked(
    act: Callable[..., Awaitable[dict[str, Any]]], fields: Sequence[str], asked: Mapping[str, Any]
) -> dict[str, Any]:
    """Do what a command asks for. ``fields``: those that it takes, in order, all of them texts; one that ends
    in an exclamation mark is required. Raises ``BadInput``."""
    known = [field.rstrip("!") for field in fields]
    unknown = min(asked.keys() - set(known), default=None)
    if unknown is not None:
        listed = ", ".join(known) or "none"
        raise BadInput(f"unknown field {unknown[:64]!r}; known are {listed}", field=unknown[:64])
    for name in known:
        if not isinstance(asked.get(name), str | None):
            raise BadInput(f"{name} must be text", field=name)
    for name, field in zip(known, fields, strict=True):
        if field != name and not asked.get(name):
            raise BadInput(f"{name} is required", field=name)
    return await act(*(asked.get(name) for name in known))
