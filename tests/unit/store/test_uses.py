"""Counting what is served: in memory, bounded, written now and then."""

from __future__ import annotations

from collections.abc import Sequence

from node.core.errors import Unavailable
from node.core.ipld.cid import Cid
from node.core.ports import Use
from node.store.hit_counts import TALLY_MAX, UseTally
from tests.manual_clock import ManualClock
from tests.record_builders import START, Author
from tests.references.record_store import MemoryRecords, MemoryStore

US = Author(1)
NOW_S = int(START.timestamp())


class Recording(MemoryRecords):
    """Says what was noted; refuses while ``is_down``."""

    def __init__(self) -> None:
        super().__init__(MemoryStore(own_issuer=US.did), US.did)
        self.noted: list[list[Use]] = []
        self.is_down = False

    async def note_uses(self, uses: Sequence[Use]) -> None:
        if self.is_down:
            raise Unavailable("not now")
        self.noted.append(list(uses))


async def test_many_servings_are_one_write() -> None:
    records, clock = Recording(), ManualClock(START)
    tally = UseTally(records, clock)
    one, two = Cid.of(b"1"), Cid.of(b"2")
    for _ in range(3):
        tally.note(one)
        clock.advance(1)
    tally.note(two)
    assert await tally.flush() == 2
    assert records.noted == [[Use(one, 3, NOW_S + 3), Use(two, 1, NOW_S + 3)]]
    assert await tally.flush() == 0
    assert len(records.noted) == 1


async def test_a_store_that_is_away_gets_the_counts_later() -> None:
    records = Recording()
    tally = UseTally(records, ManualClock(START))
    tally.note(Cid.of(b"1"))
    records.is_down = True
    assert await tally.flush() == 0
    tally.note(Cid.of(b"1"))
    records.is_down = False
    await tally.flush()
    assert records.noted == [[Use(Cid.of(b"1"), 2, NOW_S)]]


async def test_memory_is_bounded() -> None:
    records = Recording()
    tally = UseTally(records, ManualClock(START))
    for number in range(TALLY_MAX + 5):
        tally.note(Cid.of(str(number).encode()))
    tally.note(Cid.of(b"0"))
    assert await tally.flush() == TALLY_MAX
    assert records.noted[0][0].hits == 2
