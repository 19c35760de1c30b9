"""Whether a peer's newest checkpoint goes on from what it has signed before, and our witness's word on it.

Promises: a contradiction is raised only with two notes, each signed by a key of the log that counts still, of
which it was proven, by hashes up to a signed root, that they are of different trees. What cannot be proven is
a failure of whoever served it. Where the older note's key counts no more (it was stolen, and revoked), the
log is read again from its beginning.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from node.audit.decisions.origin import epoch_of
from node.audit.witnesses.ours import Submission, Witness, origin_hash
from node.core.errors import NodeError, NotFound, Rejected
from node.core.merkle import EMPTY_ROOT
from node.core.signed_note import Checkpoint, Opened, Verifier, open_checkpoint
from node.peers.rules.values import Position
from node.peers.sync.feed import Feed, contradicts, is_disproved

_log = logging.getLogger("neuroswarm.sync")

HELD, SHOWN = "held", "shown"
_COSIGNED = 200


class Contradiction(Exception):
    """A root has signed two histories. ``notes``: both, as they came, by their role."""

    def __init__(self, held: bytes, shown: bytes) -> None:
        super().__init__("two checkpoints are of different trees")
        self.notes: Mapping[str, bytes] = {HELD: held, SHOWN: shown}


@dataclass(frozen=True, slots=True)
class _Older:
    """A checkpoint that was seen before; ``is_signed`` by a key that counts."""

    note: bytes
    checkpoint: Checkpoint
    is_signed: bool


class History:
    """``witness``: ours, which cosigns what was verified here; None: nobody does."""

    def __init__(self, witness: Witness | None) -> None:
        self._witness = witness

    async def continued(
        self,
        feed: Feed,
        root: str,
        opened: Opened,
        note: bytes,
        position: Position | None,
        verifiers: Sequence[Verifier],
    ) -> Position:
        """How far the log was read, with its newest checkpoint in the place of the one before. Raises
        ``Contradiction``, ``Rejected`` (older than what was seen, or tiles that do not hash to the root),
        ``NotFound`` (a tile is missing), ``Unavailable``."""
        newest = opened.checkpoint
        if position is not None and position.origin != newest.origin:
            if epoch_of(position.origin)[1] > epoch_of(newest.origin)[1]:
                raise _stale(f"{newest.origin} was followed by {position.origin}")
            position = None
        position = position or Position(root, newest.origin)
        await self._check_cosigned(feed, note, verifiers)
        if not position.note:
            if newest.size == 0 and newest.root != EMPTY_ROOT:
                raise Rejected("a checkpoint of size 0 has another root than the empty tree")
            return replace(position, note=note)
        older = _read(position.note, verifiers)
        if older.checkpoint == newest:
            return position
        if newest.size < older.checkpoint.size and older.is_signed:
            if await is_disproved(feed.at(older.checkpoint), newest):
                raise Contradiction(older.note, note)
            raise _stale(f"it ends at {newest.size}, where {older.checkpoint.size} entries were seen before")
        if newest.size < older.checkpoint.size or await contradicts(feed, older.checkpoint):
            if older.is_signed:
                raise Contradiction(older.note, note)
            _log.warning("event=peer_log_again root=%s reason=its key was revoked", root)
            return Position(root, newest.origin, note=note)
        return replace(position, note=note)

    async def _check_cosigned(self, feed: Feed, note: bytes, verifiers: Sequence[Verifier]) -> None:
        """What somebody else, or the log itself, has shown to our witness."""
        held = self._cosigned(feed.checkpoint.origin)
        if held is None:
            return
        older = _read(held, verifiers)
        newest = feed.checkpoint
        larger, smaller = (
            (older.checkpoint, newest) if older.checkpoint.size > newest.size else (newest, older.checkpoint)
        )
        if older.is_signed and older.checkpoint != newest and await is_disproved(feed.at(larger), smaller):
            raise Contradiction(held, note)

    async def cosign(self, feed: Feed, opened: Opened, note: bytes) -> None:
        """Have our witness sign the checkpoint. Where that fails the next one is the next attempt."""
        witness, newest = self._witness, opened.checkpoint
        if witness is None:
            return
        for verifier in opened.signed_by:
            witness.add_log(verifier)
        held = self._cosigned(newest.origin)
        known = None if held is None else Checkpoint.of_note(held)
        if known == newest or (known is not None and known.size > newest.size):
            return
        old = 0 if known is None else known.size
        try:
            proof = await feed.reader.consistency(old, newest.size)
            verdict = await witness.add_checkpoint(Submission(old, tuple(proof), note).encode())
        except NodeError as exc:
            _log.warning("event=peer_not_cosigned origin=%s reason=%s", newest.origin, exc)
            return
        if verdict.status != _COSIGNED:
            _log.info("event=peer_not_cosigned origin=%s status=%d", newest.origin, verdict.status)

    def _cosigned(self, origin: str) -> bytes | None:
        if self._witness is None:
            return None
        try:
            return self._witness.newest(origin_hash(origin))
        except NotFound:
            return None


def _read(note: bytes, verifiers: Sequence[Verifier]) -> _Older:
    """A note that was verified when it came."""
    try:
        return _Older(note, open_checkpoint(note, verifiers).checkpoint, is_signed=True)
    except Rejected:
        return _Older(note, Checkpoint.of_note(note), is_signed=False)


def _stale(what: str) -> Rejected:
    return Rejected(f"stale: the checkpoint is older than one that was seen; {what}")
