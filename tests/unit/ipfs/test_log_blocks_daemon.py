"""A log's blocks in a daemon, which may be away; and the form of a head."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import cbrrr
import pytest

from node.audit.tlog.tiles import ENTRIES, Tile
from node.core.errors import Rejected
from node.core.ipld.cid import DAG_CBOR, RAW, Cid
from node.ipfs.kubo import KuboBlockStore
from node.ipfs.log_blocks import KEPT_S
from node.ipfs.log_head import PAGE_ENTRIES, PART_BYTES_MAX, Head, completed_between
from tests.each import each
from tests.log_blocks_kit import ORIGIN, Folder, World, gone, rebuild
from tests.manual_clock import ManualClock
from tests.simulators.kubo import KuboStandIn


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


# --- the daemon -----------------------------------------------------------------------------------


@asynccontextmanager
async def reaching(daemon: KuboStandIn, clock: ManualClock) -> AsyncIterator[KuboBlockStore]:
    async with aiohttp.ClientSession(auto_decompress=False, trust_env=False) as http:
        yield KuboBlockStore(daemon.url, http, clock, timeout_s=5.0)


@pytest.mark.parametrize("dialect", ["kubo", "js-ipfs"])
async def test_the_daemon_has_and_pins_what_the_newest_head_leads_to(world: World, dialect: str) -> None:
    async with KuboStandIn(dialect) as daemon, reaching(daemon, world.clock) as there:
        world.folder.grow(300, length=5_000)
        first, first_files = await world.once(daemon=there), world.folder.needed()
        assert await rebuild(first, there.blocks.get) == first_files
        world.folder.grow(300, length=5_000)
        puts = sum(call.call == "block/put" for call in daemon.calls)
        second = await world.once(daemon=there)
        assert await rebuild(second, there.blocks.get) == world.folder.needed()
        assert await there.client.pinned([second])
        assert await rebuild(first, there.blocks.get) == first_files
        assert await there.client.pinned([first])
        # The first bundle, in two parts, and its hash tile are there already.
        links = Head.parse(await world.shelf.get(second)).links
        assert sum(call.call == "block/put" for call in daemon.calls) - puts < len(links)
        async with world.job(daemon=there) as job:
            await world.forget(job, there.has, first)
        assert await rebuild(second, there.blocks.get) == world.folder.needed()
        assert daemon.pinned() == {second, *links}


async def test_what_the_daemon_could_not_be_rid_of_goes_once_it_is_back(world: World) -> None:
    daemon = KuboStandIn("kubo")
    heads = []
    async with daemon, reaching(daemon, world.clock) as there:
        for _ in range(3):
            world.folder.grow(100)
            heads.append(await world.once(daemon=there))
    async with reaching(daemon, world.clock) as there, world.job(daemon=there) as job:
        while job.health().status == "pass":
            world.clock.advance(KEPT_S)
            await asyncio.sleep(0)
    assert world.shelf.sizes() == {100, 200, 300}, "they say what is to be taken back"
    async with daemon, reaching(daemon, world.clock) as there:
        async with world.job(daemon=there):
            await gone(there.has, *heads[:-1])
        assert await rebuild(heads[-1], there.blocks.get) == world.folder.needed()
    assert world.shelf.sizes() == {300}


async def test_a_daemon_that_was_away_or_emptied_is_given_everything(world: World) -> None:
    daemon = KuboStandIn("kubo")
    world.folder.grow(300)
    async with daemon, reaching(daemon, world.clock) as there:
        await world.once(daemon=there)
    world.folder.grow(300)
    async with reaching(daemon, world.clock) as there, world.job(daemon=there) as job:
        pass  # it is away: the blocks are made all the same
    assert 600 in world.shelf.sizes()
    assert job.health().status == "warn"
    for _ in range(3):
        world.folder.grow(1)
        async with reaching(daemon, world.clock) as there, world.job(daemon=there):
            pass
    async with daemon, reaching(daemon, world.clock) as there:
        head = await world.once(daemon=there)
        assert await rebuild(head, there.blocks.get) == world.folder.needed()
    daemon.blocks.clear()
    daemon.pins.clear()
    world.folder.grow(1)
    async with daemon, reaching(daemon, world.clock) as there:
        head = await world.once(daemon=there)
        assert await rebuild(head, there.blocks.get) == world.folder.needed()


async def test_a_block_lost_here_that_the_daemon_lacks_is_made_again(world: World) -> None:
    world.folder.grow(600)
    head = await world.once()
    lost = Head.parse(await world.shelf.get(head)).new["tile/entries/002.p/88"][0]
    await world.shelf.delete(lost)
    async with KuboStandIn("kubo") as daemon, reaching(daemon, world.clock) as there:
        async with world.job(daemon=there) as job:
            while str(lost) not in job.health().output:
                await asyncio.sleep(0)
        assert await world.once(daemon=there) == head
        assert await rebuild(head, there.blocks.get) == world.folder.needed()


async def test_a_damaged_file_waits_for_its_mending_and_an_epoch_moved_away_for_nothing(world: World) -> None:
    old = world.folder
    old.grow(300)
    await world.once()
    old.move(world.tmp_path / "log.aside")
    world.folder = Folder(world.tmp_path / "log", f"{ORIGIN}/2")
    old.move(world.tmp_path / "log" / "epochs" / "1")
    world.folder.grow(300, length=20)
    head = await world.once()
    old.move(world.tmp_path / "archive")
    whole = (world.folder.path / "tile/0/000").read_bytes()
    world.folder.write("tile/0/000", bytes(len(whole)))
    async with KuboStandIn("kubo") as daemon, reaching(daemon, world.clock) as there:
        async with world.job(daemon=there) as job:
            pass
        assert "tile/0/000" in job.health().output
        assert job.head == head
        world.folder.write("tile/0/000", whole)
        assert await world.once(daemon=there) == head
        assert await there.client.pinned([head])
        absent = Cid.of((old.path / "tile/0/000").read_bytes(), RAW)
        assert not await there.has(absent)
        for name, data in world.folder.needed().items():
            assert await there.has(Cid.of(data, RAW)), name


# --- the format -----------------------------------------------------------------------------------


def link(codec: int = RAW) -> cbrrr.CID:
    return cbrrr.CID(bytes(Cid.of(b"x", codec)))


def fields(**changed: Any) -> dict[str, Any]:
    head = {"v": 1, "origin": ORIGIN, "size": 5, "checkpoint": link(), "new": {"vkey": link()}, "prev": None}
    return head | changed


def test_a_head_is_read_back_as_it_was_written() -> None:
    data = bytes(cbrrr.encode_dag_cbor(fields(prev=link(DAG_CBOR), new={"tile/0/000": [link(), link()]})))
    assert Head.parse(data).encode() == data


@each(
    "changed",
    [
        *(
            {"v": 2},
            {"more": 1},
            {"origin": ""},
            {"origin": 5},
            {"size": -1},
            {"size": True},
            {"size": 2**63},
        ),
        *({"checkpoint": link(DAG_CBOR)}, {"checkpoint": "bafy"}, {"prev": link()}, {"new": [link()]}),
        *({"new": {"vkey": []}}, {"new": {"vkey": [5]}}, {"new": {"../vkey": link()}}),
        *({"new": {"tile/0/../../vkey": link()}}, {"new": {"checkpoint": link()}}),
    ],
)
def test_a_head_of_another_form_is_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(Rejected):
        Head.parse(bytes(cbrrr.encode_dag_cbor(fields(**changed))))


def test_the_largest_page_fits_into_a_block() -> None:
    paths = completed_between(10**6 * PAGE_ENTRIES, (10**6 + 1) * PAGE_ENTRIES)
    cid = Cid.of(b"x", RAW)
    most = -(-Tile(ENTRIES, 0).bytes_max // PART_BYTES_MAX)
    new = {path: (cid,) * (most if "entries" in path else 1) for path in paths}
    page = Head("x" * 200, 2**62, None, new, cid)
    assert len(page.encode()) < 256 * 1024
