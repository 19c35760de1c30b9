"""When one peer's records stand round a question so thickly that they hide what others say to it.

Only a few neighbours of a question are judged. Where more than ``OF_ONE_PEER`` of them are one peer's and
none may be served, the look-up goes once to ``BEHIND_A_CROWD`` neighbours and judges those among which each
peer has its nearest few. What this node wrote itself is never left out.

Pure. Must not know: stores, indexes, the gate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from node.core.ipld.cid import Cid
from node.core.ports import Neighbour, StoredRecord
from node.peers.rules.kept import OURS

OF_ONE_PEER = 2
BEHIND_A_CROWD = 32
"""Four times the neighbours of a usual look-up: reading them took 5 times as long, on a miss only."""


def is_crowded(near: Sequence[Neighbour], live: Mapping[Cid, StoredRecord]) -> bool:
    """Whether one peer has more of the neighbours than its few."""
    return len(thinned(near, live)) < len(near)


def thinned(near: Sequence[Neighbour], live: Mapping[Cid, StoredRecord]) -> list[Neighbour]:
    """The neighbours, best first, without what is beyond the few of each peer."""
    taken: Counter[str] = Counter()
    few: list[Neighbour] = []
    for neighbour in near:
        origin = live[neighbour.cid].origin
        taken[origin] += 1
        if origin == OURS or taken[origin] <= OF_ONE_PEER:
            few.append(neighbour)
    return few
