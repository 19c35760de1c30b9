"""A log's folder while blocks are made of it."""

from __future__ import annotations

from dataclasses import dataclass

from node.audit.log.reader import CHECKPOINT, Source
from node.core.errors import NotFound
from node.core.ipld.cid import RAW, Cid
from node.core.signed_note import NOTE_BYTES_MAX, Checkpoint


@dataclass(frozen=True, slots=True)
class OpenFolder:
    """A log's folder as of its newest checkpoint."""

    source: Source
    note: bytes
    cid: Cid
    checkpoint: Checkpoint

    @classmethod
    async def open(cls, source: Source) -> OpenFolder:
        """``source`` gives out only what its checkpoint vouches for. Raises ``NotFound`` (no checkpoint),
        ``DamagedLog``, ``Unavailable``."""
        note = await source.read(CHECKPOINT, NOTE_BYTES_MAX)
        return cls(source, note, Cid.of(note, RAW), Checkpoint.of_note(note))

    async def has(self, path: str) -> bool:
        try:
            await self.source.read(path, NOTE_BYTES_MAX)
        except NotFound:
            return False
        return True

    async def check(self) -> None:
        """What was read before this call is of this log: it was not moved aside for a new epoch meanwhile.
        Raises ``NotFound`` where it was."""
        now = Checkpoint.of_note(await self.source.read(CHECKPOINT, NOTE_BYTES_MAX))
        if now.origin != self.checkpoint.origin:
            raise NotFound(f"the log {self.checkpoint.origin} was moved aside")
