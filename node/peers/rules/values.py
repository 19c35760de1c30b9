"""What the rules of sharing speak of: peers, their standing, how far feeds were read, what is held of them.

Pure values. ``root`` is always the did:key of a node's root, which is who a peer is; an address is only where
it was found. Times are UTC.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from node.core.ipld.cid import Cid


class Level(StrEnum):
    """What the operator says of a root."""

    BLOCKED = "blocked"
    """Nothing is fetched from it, nothing of it is held."""
    UNKNOWN = "unknown"
    """Its records are kept aside; its statements weigh nothing. Where everybody begins."""
    KNOWN = "known"
    """Counts for a quorum, once per trust group, and only in a group."""
    TRUSTED = "trusted"
    """What it says is served, within the limits of admission."""


class Tier(StrEnum):
    """Why a record may be served, best first; ``UNTRUSTED`` never is, nor shown to a model."""

    LOCAL = "local"
    VERIFIED = "verified"
    TRUSTED = "trusted"
    QUORUM = "quorum"
    UNTRUSTED = "untrusted"


PEER_TIERS = tuple(tier for tier in Tier if tier is not Tier.LOCAL)
SERVED = frozenset({Tier.LOCAL, Tier.VERIFIED, Tier.TRUSTED, Tier.QUORUM})


@dataclass(frozen=True, slots=True)
class Contact:
    """An address that is polled. ``address``: http(s) URL without a path, or an IPNS name (``k51…``).
    ``root``: who answered there first, and must from then on; None before. ``source``: settings, operator, or
    the root of the peer that named it."""

    address: str
    source: str
    root: str | None = None
    added: datetime | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """What is known of a root. ``group``: the trust group that the operator named; None: of none.
    ``dropped``: why it is not listened to any more (``equivocation``), empty while it is. ``refuted``: its
    records that were recomputed here and found wrong; ``valid`` and ``invalid``: our users' verdicts on its
    records."""

    root: str
    level: Level = Level.UNKNOWN
    group: str | None = None
    dropped: str = ""
    refuted: int = 0
    valid: int = 0
    invalid: int = 0

    @property
    def unheard(self) -> str:
        """Why nothing of this root counts (``dropped``, ``blocked``); empty where it may."""
        if self.dropped:
            return "dropped"
        return "blocked" if self.level is Level.BLOCKED else ""

    @property
    def has_voice(self) -> bool:
        """Whether it is heard beside others: on statements and for a quorum."""
        return not self.unheard and self.level is not Level.UNKNOWN


@dataclass(frozen=True, slots=True)
class Position:
    """How far a peer's publications log was read. ``edge``: roots of the complete subtrees of the first
    ``size`` entries, left to right (32 bytes each), whose every entry was acted on; ``note``: the newest
    checkpoint that was verified, as it came, which may be larger; empty before the first."""

    root: str
    origin: str
    size: int = 0
    edge: tuple[bytes, ...] = ()
    note: bytes = b""


@dataclass(frozen=True, slots=True)
class Held:
    """A peer's answer record, in whatever tier. ``until``: when it ends here, which the class may set before
    the record's own end; None: never. ``trust_ppm``: what its confidence is multiplied by, in millionths.
    ``agreed``: hex SHA-256 of the normalised answer, empty for
    one that was recomputed here and found wrong. ``log_index``: its entry in the issuer's log."""

    cid: Cid
    data: bytes
    issuer: str
    key: str
    tier: Tier
    query_hash: str
    slot_key: str | None
    agreed: str
    received: datetime
    until: datetime | None
    trust_ppm: int
    log_index: int


@dataclass(frozen=True, slots=True)
class Usage:
    """What a root takes here. ``records`` and ``bytes``: held now; ``validations``: statements that were
    taken in the current hour."""

    records: int = 0
    bytes: int = 0
    validations: int = 0


@dataclass(frozen=True, slots=True)
class Quota:
    """What one root may take. ``near``: live records within one neighbourhood of meaning."""

    records: int = 100_000
    bytes: int = 512 * 2**20
    validations_per_hour: int = 1_000
    near: int = 8


@dataclass(frozen=True, slots=True)
class Terms:
    """On which a node takes from others. ``root``: its own; ``quota``: what one root may take here."""

    root: str
    quota: Quota
    quorum: int


@dataclass(frozen=True, slots=True)
class Summary:
    """Counts over all roots. ``levels``: of roots of which something was said, ``tiers``: of held records,
    both without what there is none of; ``groups``: trust groups with a root that is known or trusted;
    ``bytes``: of what is held; ``fullest``: the most that any root takes of each."""

    contacts: int
    levels: Mapping[Level, int]
    dropped: int
    groups: int
    bytes: int
    tiers: Mapping[Tier, int]
    fullest: Usage


@dataclass(frozen=True, slots=True)
class SyncReport:
    """What one round with one peer came to. ``outcome``: unchanged, synced, partial (more is to come),
    failed, dropped, blocked. ``refused``: how many records for which reason."""

    address: str
    root: str | None
    outcome: str
    size: int = 0
    entries: int = 0
    fetched: int = 0
    admitted: int = 0
    held: int = 0
    retracted: int = 0
    bytes: int = 0
    reason: str = ""
    refused: dict[str, int] = field(default_factory=dict)
