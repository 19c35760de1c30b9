"""What the state of an anchor means: for people, for the log, and for what is kept of them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from node.audit.anchors.anchor import ATTESTED, PENDING, QUEUED, STATES, SUBMITTED, VERIFIED
from node.audit.anchors.files import AnchorStatus

_TOLD = (SUBMITTED, ATTESTED, VERIFIED)


def leaves_told(status: AnchorStatus | None) -> int:
    return _TOLD.index(status.reported) + 1 if status is not None and status.reported in _TOLD else 0


def is_attested(status: AnchorStatus) -> bool:
    return status.state in (ATTESTED, VERIFIED)


def untold(status: AnchorStatus) -> str | None:
    """The next state to tell the log, if any."""
    told = STATES.index(status.reported) if status.reported else -1
    reached = STATES.index(status.state)
    return next((state for state in _TOLD if told < STATES.index(state) <= reached), None)


def crowded(newest_first: Sequence[AnchorStatus], now: datetime) -> int:
    """Which of three or more can be missed best: neither end, and where the gap that it leaves is smallest
    for its age. What is left then lies ever wider apart with age."""
    ages = [max(0.0, (now - one.queued_at).total_seconds()) for one in newest_first]
    return min(range(1, len(ages) - 1), key=lambda at: (ages[at + 1] - ages[at - 1]) / (ages[at + 1] + 1.0))


def say(status: AnchorStatus) -> str:
    """Its state as a clause for people."""
    clause = {
        QUEUED: f"queued, nothing of it has left this machine ({status.size:,} entries)",
        SUBMITTED: f"submitted, nobody has answered ({status.size:,} entries)",
        PENDING: f"pending: a calendar has taken it, no block holds it yet ({status.size:,} entries)",
        ATTESTED: f"attested by block {status.height or 0:,}, whose header was not looked up",
        VERIFIED: f"verified: block {status.height or 0:,} of {status.block_time:%Y-%m-%d %H:%M} UTC holds it"
        if status.block_time is not None
        else "",
    }[status.state]
    return f"{clause}; {status.error}" if status.error else clause
