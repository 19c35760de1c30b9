"""One round with one peer: the way to it, and what the round has come to so far."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from node.peers.ports import PeerLink
from node.peers.rules.values import SERVED, Contact, SyncReport
from node.peers.sync.fetch import Fetcher

_SERVED = frozenset(tier.value for tier in SERVED)
_NO_NEWS = frozenset({"known", "counted"})
FULL = frozenset({"quota_records", "quota_bytes"})
"""What admission says where a root has no room left."""


@dataclass(slots=True)
class Round:
    """``began``: on the monotonic clock. ``size``: of the peer's log; ``entries``: how many were acted on.
    ``is_identified``: it was asked for its certificates. ``full``: why no more records of it are fetched."""

    contact: Contact
    link: PeerLink
    fetcher: Fetcher
    began: float
    root: str | None = None
    is_identified: bool = False
    full: str = ""
    size: int = 0
    entries: int = 0
    admitted: int = 0
    held: int = 0
    retracted: int = 0
    read_bytes: int = 0
    refused: Counter[str] = field(default_factory=Counter)

    @property
    def all_bytes(self) -> int:
        """Everything that was read of the log, and blocks."""
        return self.read_bytes + self.fetcher.bytes

    def note(self, code: str) -> None:
        """What admission said of one record or statement."""
        if code in _SERVED:
            self.admitted += 1
        elif code == "held":
            self.held += 1
        elif code not in _NO_NEWS:
            self.refused[code] += 1
            if code in FULL:
                self.full = code

    async def read(self, path: str, bytes_max: int) -> bytes:
        """A file of the peer's log, counted: a round is a ``tlog.reader.Source``."""
        data = await self.link.read(path, bytes_max)
        self.read_bytes += len(data)
        return data

    def report(self, outcome: str, reason: str = "") -> SyncReport:
        return SyncReport(
            address=self.contact.address,
            root=self.root,
            outcome=outcome,
            size=self.size,
            entries=self.entries,
            fetched=self.fetcher.blocks,
            admitted=self.admitted,
            held=self.held,
            retracted=self.retracted,
            bytes=self.all_bytes,
            reason=reason,
            refused={code: times for code, times in self.refused.items() if times},
        )


class Ended(Exception):
    """The round is over, for a reason that is no failure. ``outcome`` as in ``SyncReport``."""

    def __init__(self, outcome: str, reason: str = "") -> None:
        super().__init__(reason)
        self.outcome = outcome
        self.reason = reason
