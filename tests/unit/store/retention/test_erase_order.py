"""The order in which an erasure goes, as the next start of a killed node needs it: copies are made anew
before the record's own block goes, which goes last; what ends it later knows what was done before."""

from __future__ import annotations

from pathlib import Path

import pytest

from node.core.ipld.cid import Cid
from node.core.record import TombstoneRecord
from node.store.retention.erase import Eraser
from tests.unit.store.retention.test_erase import CANARY, Desk, desk_in, private


class Killed(BaseException):
    """Nothing is done behind it, as behind a kill."""


class Watched:
    """The blocks of a desk; what is deleted is told in order. Dies before the ``dies_at``-th deletion."""

    def __init__(self, desk: Desk, told: list[str], dies_at: int = 0) -> None:
        self._desk = desk
        self._told = told
        self._left = dies_at

    async def put(self, cid: Cid, data: bytes) -> None:
        await self._desk.store.blocks.put(cid, data)

    async def get(self, cid: Cid) -> bytes:
        return await self._desk.store.blocks.get(cid)

    async def has(self, cid: Cid) -> bool:
        return await self._desk.store.blocks.has(cid)

    async def delete(self, cid: Cid) -> None:
        self._left -= 1
        if self._left == 0:
            raise Killed
        self._told.append(str(cid))
        await self._desk.store.blocks.delete(cid)

    async def close(self) -> None: ...


def eraser(desk: Desk, told: list[str], dies_at: int = 0, *, dies_copying: bool = False) -> Eraser:
    async def copies() -> None:
        told.append("copies")
        if dies_copying:
            raise Killed

    async def scrub() -> None:
        told.append("scrub")

    blocks = Watched(desk, told, dies_at)
    return Eraser(desk.store.records, blocks, desk.rememberer, desk.log, (scrub,), copies=(copies,))


async def tombstones(desk: Desk) -> list[str]:
    """What they are of."""
    found = []
    for ref in (await desk.store.records.block_changes(0, 2**62)).written:
        record = (await desk.store.records.get(ref.cid)).record
        if isinstance(record, TombstoneRecord):
            found.append(record.target)
    return found


@pytest.mark.parametrize("scope", ["private:acme", "shared"])
async def test_copies_first_and_the_record_last(tmp_path: Path, scope: str) -> None:
    async with desk_in(tmp_path) as desk:
        question = f"How tall is my tower of {CANARY}?"
        oldest = await desk.keep(question, "It is 39 m.", scope=scope)
        older = await desk.keep(question, "It is 40 m.", scope=scope)
        stored = await desk.keep(question, "It is 41 m.", scope=scope)
        said = await desk.rememberer.validate(stored, "valid", "Right.")
        told: list[str] = []
        await eraser(desk, told).erase(stored, "client_delete")
        # the earlier versions of what is private went as they were replaced
        before = [] if scope != "shared" else [str(oldest.cid), str(older.cid)]
        assert told == ["copies", str(said.cid), *before, str(stored.cid), "scrub"]


@pytest.mark.parametrize("deletions", [1, 2, 3, 4])
async def test_what_is_not_private_is_found_again_with_its_versions(tmp_path: Path, deletions: int) -> None:
    async with desk_in(tmp_path) as desk:
        question = f"How tall is the tower of {CANARY}?"
        versions = [await desk.keep(question, f"It is {CANARY} {n} m.", scope="shared") for n in range(3)]
        await desk.rememberer.validate(versions[-1], "valid", f"{CANARY}.")
        with pytest.raises(Killed):
            await eraser(desk, [], deletions).erase(versions[-1], "client_delete")
    async with desk_in(tmp_path) as desk:
        await desk.eraser.erase(await desk.store.records.get(versions[-1].cid), "client_delete")
        assert desk.found(CANARY) == []


@pytest.mark.parametrize("deletions", [0, 1, 2, 3])
async def test_what_is_private_is_ended_with_one_tombstone(tmp_path: Path, deletions: int) -> None:
    """0: killed while copies were made anew."""
    async with desk_in(tmp_path) as desk:
        stored, other = [await private(desk, number) for number in range(2)]
        for note in ("Right.", "Quite."):
            await desk.rememberer.validate(stored, "valid", note)
        with pytest.raises(Killed):
            await eraser(desk, [], deletions, dies_copying=not deletions).erase(stored, "client_delete")
        assert await tombstones(desk) == [str(stored.cid)]
    async with desk_in(tmp_path) as desk:
        told: list[str] = []
        assert await eraser(desk, told).resume() >= 1
        assert told[0] == "copies", "a copy may still hold it"
        assert told[-2:] == [str(stored.cid), "scrub"]
        assert await tombstones(desk) == [str(stored.cid)]
        assert not await desk.store.blocks.has(stored.cid)
        assert (await desk.store.records.get(other.cid)).state == "live"
        assert desk.keys_left() == 2, "of the other one and of the tombstone"


async def test_a_tombstone_that_was_not_made_yet_is_made(tmp_path: Path) -> None:
    async with desk_in(tmp_path) as desk:
        one, other = [await private(desk, number) for number in range(2)]
        said = await desk.rememberer.validate(one, "valid", "Right.")
        await desk.rememberer.bury_at(other.cid, "private:acme", "client_delete")
        await desk.store.records.shred([one.cid, said.cid, other.cid])
        assert await desk.eraser.resume() == 3
        assert sorted(await tombstones(desk)) == sorted([str(one.cid), str(other.cid)])
