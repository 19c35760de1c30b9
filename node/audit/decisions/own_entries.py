"""What a log says of itself in its first leaves: the log that it follows, and what opening it had to mend."""

from __future__ import annotations

from node.audit.decisions.entry import Closed, policy_entry, repair_entry
from node.audit.decisions.entry_fields import Entry
from node.audit.decisions.epochs import Turn
from node.audit.log.writer import TileLog

KEYS_IN_FLIGHT_MAX = 4_096
"""Keys without a leaf that a crash can leave; more say that the folder is older than its key table."""


def repairs(tile_log: TileLog, extra_keys: int) -> list[Entry]:
    """What opening the log had to mend."""
    repair = tile_log.repair
    orphans = extra_keys if extra_keys > KEYS_IN_FLIGHT_MAX else 0
    if repair is None and not orphans:
        return []
    return [
        repair_entry(
            bytes_cut=repair.bytes_cut if repair is not None else 0,
            entries_replayed=repair.entries_replayed if repair is not None else 0,
            keys_without_entry=orphans,
        )
    ]


def begun_epoch(turn: Turn, policy: str) -> Entry:
    return policy_entry(
        event="epoch",
        policy=policy,
        reason=turn.reason,
        previous=Closed(turn.origin, turn.size, turn.root),
        kept_size=turn.kept_size,
    )
