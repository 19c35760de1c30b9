"""What stands beside a peer's record in the record store, and what it means for whoever serves the record.

Rules:
1. A peer's confidence is an upper bound: it counts times the share that its issuer's standing gives.
2. A peer's record ends when it says, or when its class ends it here, whichever is first.
3. A peer's slot key counts as one where our own reading of the question gives the same; elsewhere the words
   have to agree as well.
4. What is ours is taken as it stands. What cannot be read beside a peer's record speaks against the record;
   where nothing stands there, the operator's own index brought it in (before there were tiers).

Pure: no clock, no I/O.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from node.core.model import PPM, Json
from node.core.record import UNIX_EPOCH, AnswerRecord
from node.peers.rules.values import Tier

TIER, TRUST, UNTIL, SLOTS = "tier", "trust_ppm", "until_s", "slot_key_read"
IMPORTED = "named_by_index"
OURS = "local"
"""The origin of what this node made itself."""
_NAMES = frozenset({TIER, TRUST, UNTIL, SLOTS, IMPORTED})

_SECONDS_MAX = 2**37


def beside(tier: Tier, trust_ppm: int, until: datetime | None, *, is_slot_key_read: bool) -> dict[str, Json]:
    """What is stored beside a peer's record that is served."""
    return {
        TIER: tier.value,
        TRUST: trust_ppm,
        UNTIL: None if until is None else (until - UNIX_EPOCH) // timedelta(seconds=1),
        SLOTS: is_slot_key_read,
    }


def imported(kept: Mapping[str, Json]) -> dict[str, Json]:
    """The same beside a record that the operator's own index names by its CID."""
    return {**kept, IMPORTED: True}


def is_imported(kept: Mapping[str, Json] | None) -> bool:
    """Whether the operator's own index has named it: distrust of its issuer alone does not end it then."""
    return (kept or {}).get(IMPORTED) is True


def without(kept: Mapping[str, Json] | None) -> dict[str, Json]:
    """The rest of what stands there."""
    return {name: value for name, value in (kept or {}).items() if name not in _NAMES}


def confidence(record: AnswerRecord, origin: str, kept: Mapping[str, Json] | None) -> float:
    """In [0, 1]: rule 1."""
    own = record.confidence / PPM
    if origin == OURS:
        return own
    share = (kept or {}).get(TRUST, PPM)
    if type(share) is not int:
        return 0.0
    return own * max(0, min(share, PPM)) / PPM


def ends(record: AnswerRecord, origin: str, kept: Mapping[str, Json] | None) -> datetime | None:
    """When it may be served no longer; None: it does not end by itself. Rule 2."""
    until = (kept or {}).get(UNTIL)
    if origin == OURS or until is None:
        return record.expires
    known = type(until) is int and 0 <= until <= _SECONDS_MAX
    capped = UNIX_EPOCH + timedelta(seconds=until) if known and isinstance(until, int) else UNIX_EPOCH
    return capped if record.expires is None else min(capped, record.expires)


def is_slot_key_read(origin: str, kept: Mapping[str, Json] | None) -> bool:
    """Rule 3."""
    return origin == OURS or (kept or {}).get(SLOTS) is True
