"""Begin a new log where the old one cannot go on: what ``neuroswarm log recover --new-epoch`` does."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from node.audit.decisions import epochs
from node.audit.decisions.disk import locked
from node.audit.decisions.entry import Closed
from node.audit.decisions.epochs import Turn
from node.audit.decisions.log import DecisionLog
from node.audit.decisions.shards import Signers, Terms
from node.core.clock import Clock
from node.core.errors import CorruptState
from node.core.files import translated


@dataclass(frozen=True, slots=True)
class NewEpoch:
    """What ``start_new_epoch`` began: the epoch's number, its log's origin and what it follows."""

    number: int
    origin: str
    previous: Closed
    kept_size: int


async def start_new_epoch(
    directory: Path, origin: str, signers: Signers, clock: Clock, *, keys: Path, policy: str = ""
) -> NewEpoch:
    """Close the log in ``directory`` as it is, whatever is wrong with it, and begin the next one: what
    ``neuroswarm log recover --new-epoch`` does. Arguments as in ``DecisionLog.open``; no node may run on
    them.

    The first leaf of the new log names the newest checkpoint that was signed, and how much of that log is in
    the folder; where the folder is older or lost, that may be of a later epoch than it holds. Raises
    ``NotFound`` (there is and was no log), ``Unavailable`` (in use, or the disk says no), ``CorruptState``.
    """

    def move(*, is_again: bool) -> Turn:
        if epochs.in_keys(keys):
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)  # the log is lost, what it signed is not
        with locked(directory):
            turn = epochs.finish(directory)
            if turn is None or is_again:
                turn = epochs.turn_of(directory, origin, keys)
                epochs.begin(directory, turn)
            return turn

    problem = ""
    for is_again in (False, True):  # a turn that was left half done may lead to a log that cannot go on
        with translated(f"the log in {directory} cannot be moved aside"):
            turn = await asyncio.to_thread(partial(move, is_again=is_again))
        try:
            terms = Terms(policy=policy)
            decisions = await DecisionLog.open(directory, origin, signers, clock, keys=keys, terms=terms)
        except CorruptState as exc:
            problem = str(exc)
            continue
        try:
            problem = decisions.tile_log.suspended
            if not problem:
                await decisions.tile_log.publish()
                previous = Closed(turn.origin, turn.size, turn.root)
                return NewEpoch(decisions.epoch, decisions.origin, previous, turn.kept_size)
        finally:
            await decisions.close()
    raise CorruptState(problem)
