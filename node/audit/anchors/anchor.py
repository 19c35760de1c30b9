"""What anchoring means here, whoever does it: the states, the interface for services, and the null.

A service outside is given the SHA-256 of a checkpoint note and returns a receipt; later the receipt shows
when that digest existed. One anchor covers every decision before it. OpenTimestamps is the service that this
node speaks to (``opentimestamps.py``); another one needs a class that fits ``Anchor``.

Rules:
- The states, weakest first: ``queued`` (kept here, nothing has left this machine), ``submitted`` (sent;
  whether it arrived is not known), ``pending`` (a service has acknowledged it), ``attested`` (the receipt
  names a block that is said to hold it), ``verified`` (that block's header, from a source that the operator
  named, holds it).
- Never a word stronger than the state: before ``attested`` nothing is anchored; without a header source
  nothing is ever ``verified``.
- Without a service the state is ``off``, which is not one of them.

Source: the facts' rules for anchoring, not a specification.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from node.core.errors import Unavailable
from node.core.model import Check

OFF = "off"
QUEUED = "queued"
SUBMITTED = "submitted"
PENDING = "pending"
ATTESTED = "attested"
VERIFIED = "verified"
STATES = (QUEUED, SUBMITTED, PENDING, ATTESTED, VERIFIED)
"""Weakest first."""

HEALTH = "log:anchor"


class Unanswered(Unavailable):
    """The digest was sent, and no service has said that it took it."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What a receipt shows. ``state`` is ``pending``, ``attested`` or ``verified``.

    ``height`` is the block's, from ``attested`` on; ``block_hash`` (hex as explorers write it) and
    ``block_time`` belong to ``verified`` only. ``remark`` is a clause for people where something should be
    done."""

    state: str
    height: int | None = None
    block_hash: str = ""
    block_time: datetime | None = None
    remark: str = ""


@dataclass(frozen=True, slots=True)
class AnchorState:
    """One anchor in one state, for a leaf of the log. ``state`` is ``submitted``, ``attested`` or
    ``verified``.

    ``origin`` and ``size`` are the checkpoint's, ``digest`` is the SHA-256 of its note; ``height`` is the
    block's, from ``attested`` on."""

    service: str
    state: str
    origin: str
    size: int
    digest: bytes
    height: int | None = None


class Anchor(Protocol):
    """A service that can say later when a digest existed. Everything that it answers is untrusted input.

    Calls may overlap and may be cancelled at any point; each ends within the service's own time limit.
    Foreign exceptions never escape. A receipt is bytes that a stranger can check with the service's own
    tools."""

    @property
    def name(self) -> str:
        """``opentimestamps`` …; ``off`` for the null."""
        ...

    @property
    def is_off(self) -> bool:
        """Whether there is no service at all: nothing is queued, submitted or shown then."""
        ...

    @property
    def verifies(self) -> bool:
        """Whether the operator named a source of block headers."""
        ...

    async def submit(self, digest: bytes) -> bytes:
        """Send 32 bytes (in a form that does not show them); a receipt that is at least ``pending``. Raises
        ``Unanswered`` where the digest may have arrived and ``Unavailable`` where nothing left this
        machine."""
        ...

    async def upgrade(self, digest: bytes, receipt: bytes) -> bytes:
        """The receipt with what the service has added by now; the same bytes where that is nothing. Raises
        ``Unavailable`` where nobody could be asked, ``Rejected`` where ``receipt`` is none of this digest."""
        ...

    async def read(self, digest: bytes, receipt: bytes) -> Standing:
        """What the receipt shows by itself: ``pending`` or ``attested``, never more. Asks nobody. Raises
        ``Rejected`` where it is none of this digest."""
        ...

    async def verify(self, digest: bytes, receipt: bytes) -> Standing:
        """Hold the receipt against a block header: ``verified``. Raises ``Rejected`` where the header denies
        it, ``Unavailable`` where no header could be had, or no source is named."""
        ...

    def health(self) -> Check:
        """What is known of the service now, without I/O."""
        ...


class NoAnchor:
    """The null, used where no service is configured: it does nothing, and says ``off`` and never anything
    else."""

    name = OFF
    is_off = True
    verifies = False

    async def _refuse(self, *_: bytes) -> Any:
        raise Unavailable("anchoring is off: name calendars in log.anchor_calendars")

    submit = upgrade = read = verify = _refuse

    def health(self) -> Check:
        return Check(HEALTH, "pass", "off: no calendar is configured (log.anchor_calendars)", observed=OFF)
