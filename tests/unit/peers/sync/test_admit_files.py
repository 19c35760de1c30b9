"""Admission over the stores as shipped: out of service and back, killed between two writes, opened again."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from node.core.errors import Unavailable
from node.core.record import AnswerRecord, block_of
from node.peers.rules.values import Held, Level, Tier
from node.peers.store.sqlite import PeerStore
from node.store.sqlite import SqliteStore
from tests.admit_kit import US, Door, Issuer
from tests.manual_clock import ManualClock
from tests.record_builders import START


class Cut(PeerStore):
    """Dies before it holds anything: the record is in the other store already."""

    async def hold(self, records: Sequence[Held]) -> None:
        raise Unavailable("cut off")


@asynccontextmanager
async def opened(folder: Path, kind: type[PeerStore] = PeerStore) -> AsyncIterator[Door]:
    """One run of a node over the files in ``folder``."""
    clock = ManualClock(START)
    main = await SqliteStore.open(folder / "blocks.sqlite", own_issuer=US.did)
    try:
        store = await kind.open(folder / "peers.sqlite", clock)
        try:
            yield Door(store=store, main=main, clock=clock)
        finally:
            await store.close()
    finally:
        await main.close()


@pytest.fixture
def lake(a: Issuer) -> AnswerRecord:
    return a.answer("Where is the lake?")


@pytest.fixture
async def half_admitted(tmp_path: Path, a: Issuer, lake: AnswerRecord) -> None:
    """A kill left ``lake`` in one of the two stores."""
    async with opened(tmp_path, Cut) as door:
        await door.stand(a)
        with pytest.raises(Unavailable):
            await door.take(a, lake)


async def test_out_of_service_and_back_over_restarts(tmp_path: Path, a: Issuer) -> None:
    records = [a.answer(f"Where is lake {number}?") for number in range(12)]
    async with opened(tmp_path) as door:
        await door.stand(a)
        assert {await door.take(a, one) for one in records} == {"trusted"}
        before = [await door.served(one) for one in records]
        assert all(one is not None and one.origin == a.did for one in before)
    async with opened(tmp_path) as door:
        assert {await door.take(a, one) for one in records} == {"known"}
        await door.stand(a, Level.UNKNOWN)
        await door.admitter.retier(a.did)
        assert [await door.served(one) for one in records] == [None] * 12
    async with opened(tmp_path) as door:
        await door.stand(a)
        await door.admitter.retier(a.did)
        again = [await door.served(one) for one in records]
        assert [one and one.kept for one in again] == [one and one.kept for one in before]
        # a weighing that changes nothing writes nothing
        change = (await door.records.counts())["last_sequence"]
        await door.admitter.retier(a.did)
        assert (await door.records.counts())["last_sequence"] == change


@pytest.mark.usefixtures("half_admitted")
async def test_a_record_that_a_kill_left_half_admitted_is_admitted_when_it_comes_again(
    tmp_path: Path, a: Issuer, lake: AnswerRecord
) -> None:
    async with opened(tmp_path) as door:
        assert await door.take(a, lake) == "trusted"
        assert [held.tier for held in await door.store.held_of(a.did)] == [Tier.TRUSTED]
        assert await door.served(lake) is not None


@pytest.mark.usefixtures("half_admitted")
async def test_what_is_half_admitted_goes_with_its_root(
    tmp_path: Path, a: Issuer, lake: AnswerRecord
) -> None:
    async with opened(tmp_path) as door:
        assert await door.served(lake) is not None
        await door.admitter.drop(a.did, "equivocation")
        assert await door.served(lake) is None


async def test_a_tombstone_outlives_a_restart_in_both(tmp_path: Path, a: Issuer, lake: AnswerRecord) -> None:
    async with opened(tmp_path) as door:
        await door.stand(a)
        await door.take(a, lake)
        assert await door.retract(a, block_of(lake)[0], buried=True) == "tombstoned"
    async with opened(tmp_path) as door:
        assert await door.take(a, lake) == "tombstoned"
        assert await door.served(lake) is None
