"""A log as blocks: whoever has the newest head rebuilds the folder byte for byte; what is complete stays,
what is replaced is kept for its time and then goes; nothing is lost by a failure, a restart or a daemon
that was away. Over folders written here with the pure functions alone, and once over a real log; the clock is
ours."""

from __future__ import annotations

import asyncio
from pathlib import Path

import orjson
import pytest

from node.audit.log.reader import FolderSource
from node.audit.log.writer import TileLog
from node.audit.tlog.tiles import decode_bundle
from node.core.clock import SystemClock
from node.core.follower import BACKOFF_MAX_S
from node.core.ipld.cid import Cid
from node.core.signed_note import Ed25519Signer, Note
from node.ipfs.log_blocks import EVERY_S, HASTENED_EVERY_S, KEPT_S, LogBlocks
from node.ipfs.log_head import PAGE_ENTRIES, PART_BYTES_MAX, Head, completed_between
from tests.log_blocks_kit import KEY, ORIGIN, PATIENCE_S, Folder, Shelf, World, rebuild


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.mark.parametrize("size", [0, 1, 255, 256, 257, 700])
async def test_the_folder_is_rebuilt_byte_for_byte_from_the_newest_head(world: World, size: int) -> None:
    world.folder.grow(size)
    assert await rebuild(await world.once(), world.get) == world.folder.needed()


async def test_a_log_that_was_never_published_has_no_head(world: World) -> None:
    async with world.job() as job:
        pass
    assert job.head is None
    assert world.shelf.puts == 0


async def test_complete_tiles_go_at_once_and_the_right_edge_waits_for_its_turn(world: World) -> None:
    world.folder.grow(100)
    async with world.job() as job:
        await world.shelf.until(lambda: world.shelf.sizes() == {100})
        job.published(world.folder.grow(700))
        needed = world.folder.needed()
        for path in completed_between(0, 800):
            await world.until_held(needed[path])
        assert world.shelf.sizes() == {100}
        world.clock.advance(EVERY_S)
        await world.shelf.until(lambda: 800 in world.shelf.sizes())


async def test_the_newest_head_is_read_once_however_often_the_log_grows(world: World) -> None:
    world.folder.grow(100)
    async with world.job() as job:
        await world.shelf.until(lambda: world.shelf.sizes() == {100})
        asked: list[Cid] = []
        get = job.blocks.get

        async def counted(cid: Cid) -> bytes:
            asked.append(cid)
            return await get(cid)

        job.blocks.get = counted
        size = 100
        for _ in range(4):
            job.published(world.folder.grow(300))
            needed = world.folder.needed()
            for path in completed_between(size - size % 256, size + 300):
                await world.until_held(needed[path])
            size += 300
        assert job.head is not None
        assert asked.count(job.head) <= 1


async def test_a_critical_decision_does_not_wait_for_its_turn_but_for_those_before_it(world: World) -> None:
    world.folder.grow(10)
    async with world.job() as job:
        await world.shelf.until(lambda: world.shelf.sizes() == {10})
        job.published(world.folder.grow(1))
        job.hasten()
        world.clock.advance(HASTENED_EVERY_S - 1)
        job.published(world.folder.grow(256))
        await world.until_held((world.folder.path / "tile/entries/000").read_bytes())
        assert world.shelf.sizes() == {10}
        world.clock.advance(1)
        await world.shelf.until(lambda: 267 in world.shelf.sizes())


async def test_what_a_head_replaces_is_kept_for_its_time_and_then_goes(world: World) -> None:
    async with world.job() as job:
        first, first_files = await world.next_head(job, more=300), world.folder.needed()
        kept = {first: first_files}
        for _ in range(int(KEPT_S / HASTENED_EVERY_S)):  # the first is replaced by the second
            head = await world.next_head(job)
            kept[head] = world.folder.needed()
        for head, files in kept.items():
            assert await rebuild(head, world.get) == files
        second = await world.next_head(job)
        await world.next_head(job)
        assert not await world.shelf.has(first)
        for name in ("checkpoint", "tile/0/001.p/44", "tile/entries/001.p/44"):
            assert not await world.holds(first_files[name]), name
        for name in ("tile/0/000", "tile/entries/000", "vkey"):
            assert await world.holds(first_files[name]), name
        await world.forget(job, world.shelf.has, second)  # nobody says anything: time alone does it
    assert world.shelf.sizes() == {len(world.folder.entries)}
    assert job.head is not None
    assert await rebuild(job.head, world.get) == world.folder.needed()


async def test_a_restart_begins_the_time_of_what_was_replaced_anew(world: World) -> None:
    kept = {}
    for _ in range(5):
        world.folder.grow(100)
        kept[await world.once()] = world.folder.needed()
        world.clock.advance(KEPT_S * 2)
    for head, files in kept.items():
        assert await rebuild(head, world.get) == files
    *older, newest = kept
    async with world.job() as job:
        await world.forget(job, world.shelf.has, *older)
    assert world.shelf.sizes() == {500}
    assert await rebuild(newest, world.get) == kept[newest]


async def test_restarts_without_end_keep_a_bounded_number_of_heads(world: World) -> None:
    heads = []
    for _ in range(40):
        world.folder.grow(1)
        heads.append(await world.once())
    assert world.shelf.sizes() == set(range(8, 41))
    assert len(world.state.read_bytes()) < 4_096


async def test_a_state_of_version_1_is_gone_on_from(world: World) -> None:
    world.folder.grow(300)
    first = await world.once()
    world.folder.grow(10)
    second, files = await world.once(), world.folder.needed()
    state = orjson.loads(world.state.read_bytes())
    del state["older"], state["given_older"]
    world.state.write_bytes(orjson.dumps(state | {"v": 1, "before": str(first)}))
    puts = world.shelf.puts
    async with world.job() as job:
        await world.forget(job, world.shelf.has, first)
    assert (job.head, world.shelf.puts) == (second, puts)
    assert await rebuild(second, world.get) == files


async def test_a_new_epoch_and_a_lost_block_leave_what_was_replaced_for_its_time(world: World) -> None:
    old = world.folder
    old.grow(300)
    first, first_files = await world.once(), old.needed()
    old.grow(10)
    await world.once()
    old.move(world.tmp_path / "log.aside")
    new = Folder(world.tmp_path / "log", f"{ORIGIN}/2")
    old.move(world.tmp_path / "log" / "epochs" / "1")
    new.grow(5)
    head = await world.once()
    needed = new.needed() | {f"epochs/1/{name}": data for name, data in old.needed().items()}
    assert await rebuild(first, world.get) == first_files
    await world.shelf.delete(head)  # the list is made again; the older heads are not forgotten by that
    assert await world.once() == head
    assert await rebuild(first, world.get) == first_files
    async with world.job() as job:
        await world.forget(job, world.shelf.has, first)
    assert await rebuild(head, world.get) == needed
    assert world.shelf.sizes() == {310, 5}


async def test_nothing_new_makes_no_new_head(world: World) -> None:
    world.folder.grow(300)
    head = await world.once()
    puts = world.shelf.puts
    assert await world.once() == head
    assert world.shelf.puts == puts


async def test_cosignatures_that_came_later_are_in_the_next_head(world: World) -> None:
    world.folder.grow(5)
    await world.once()
    note = Note.parse((world.folder.path / "checkpoint").read_bytes())
    witness = Ed25519Signer("witness", KEY).sign(note.text, 0)
    world.folder.write("checkpoint", note.with_signatures([witness]).encode())
    world.folder.write("checkpoint.witnessed", note.with_signatures([witness]).encode())
    files = await rebuild(await world.once(), world.get)
    assert files["checkpoint"] == files["checkpoint.witnessed"] == note.with_signatures([witness]).encode()


async def test_a_lost_state_or_an_unreadable_one_leads_to_the_same_head(world: World) -> None:
    world.folder.grow(300)
    head = await world.once()
    for text in (None, "", "{}", '{"v":1}', '{"v":2}', "[]", '{"v":1,"origin":"x","pages":"y"}', "\0"):
        world.state.unlink()
        if text is not None:
            world.state.write_text(text, encoding="utf-8")
        assert await world.once() == head


async def test_lost_blocks_are_made_again(world: World) -> None:
    world.folder.grow(300)
    head = await world.once()
    world.shelf = Shelf()
    assert await world.once() == head
    assert await rebuild(head, world.get) == world.folder.needed()


@pytest.mark.slow
async def test_pages_are_the_same_whether_the_log_grew_or_was_met_whole(world: World, tmp_path: Path) -> None:
    world.folder.grow(PAGE_ENTRIES - 300)
    await world.once()
    world.folder.grow(400)
    await world.once()
    world.folder.grow(400)
    head = await world.once()
    assert await rebuild(head, world.get) == world.folder.needed()
    pages = [page for page in world.shelf.heads() if page.checkpoint is None]
    assert [page.size for page in pages] == [PAGE_ENTRIES]
    assert len(pages[0].new) == 513
    world.shelf = Shelf()
    world.state.unlink()
    assert await world.once() == head
    assert {page.encode() for page in world.shelf.heads() if page.checkpoint is None} == {pages[0].encode()}


async def test_a_bundle_over_a_mebibyte_is_split_and_shared_parts_are_not_deleted(world: World) -> None:
    length = 9_000
    world.folder.grow(200, length=length)
    first = Head.parse(await world.shelf.get(await world.once()))
    parts = first.new["tile/entries/000.p/200"]
    assert len(parts) == 2
    assert len(await world.shelf.get(parts[0])) == PART_BYTES_MAX <= 2**20
    for _ in range(3):
        world.folder.grow(30, length=length)
        head = await world.once()
    assert await rebuild(head, world.get) == world.folder.needed()
    last = Head.parse(await world.shelf.get(head))
    assert last.new["tile/entries/000"][0] == parts[0]
    async with world.job() as job:
        await world.forget(job, world.shelf.has, parts[1])
    assert await rebuild(head, world.get) == world.folder.needed()


async def test_a_new_epoch_follows_the_last_head_of_the_one_before(world: World) -> None:
    old = world.folder
    old.grow(300)
    await world.once()
    old.grow(20)  # published, and then the log was closed before anything became a block
    old.move(world.tmp_path / "log.aside")
    new = Folder(world.tmp_path / "log", f"{ORIGIN}/2")
    old.move(world.tmp_path / "log" / "epochs" / "1")
    earlier = {f"epochs/1/{name}": data for name, data in old.needed().items()}
    for count in (0, 5, 500, 3):
        new.grow(count)
        assert await rebuild(await world.once(), world.get) == new.needed() | earlier
    world.state.unlink()
    world.shelf = Shelf()
    assert await rebuild(await world.once(), world.get) == new.needed() | earlier


@pytest.mark.parametrize("after", [1, 2, 4])
async def test_a_log_moved_aside_while_it_is_read_is_not_mixed_with_the_next(
    world: World, after: int
) -> None:
    old = world.folder
    old.grow(300)
    new: list[Folder] = []

    def move() -> None:
        if world.shelf.puts == after:
            old.move(world.tmp_path / "log.aside")
            new.append(Folder(world.tmp_path / "log", f"{ORIGIN}/2"))
            old.move(world.tmp_path / "log" / "epochs" / "1")
            new[0].grow(300, length=20)

    world.shelf.on_put = move
    head = await world.once()
    earlier = {f"epochs/1/{name}": data for name, data in old.needed().items()}
    assert await rebuild(head, world.get) == new[0].needed() | earlier


async def test_another_log_in_the_folder_begins_a_list_of_its_own(world: World) -> None:
    world.folder.grow(300)
    await world.once()
    world.folder.move(world.tmp_path / "elsewhere")
    other = Folder(world.tmp_path / "log", "did:key:zOther.neuroswarm/decisions")
    other.grow(3)
    assert await rebuild(await world.once(), world.get) == other.needed()


async def test_an_older_copy_of_the_folder_changes_nothing(world: World) -> None:
    world.folder.grow(300)
    kept = (world.folder.path / "checkpoint").read_bytes()
    world.folder.grow(300)
    head = await world.once()
    world.folder.write("checkpoint", kept)
    assert await world.once() == head


async def test_a_store_that_fails_is_tried_again_and_health_says_so(world: World) -> None:
    world.folder.grow(300)
    world.shelf.failing = "the disk is full"
    async with world.job() as job:
        await world.shelf.until(lambda: world.shelf.puts > 0)
        while job.health().status == "pass":
            await asyncio.sleep(0)
        check = job.health()
        assert (check.name, check.status) == ("log:blocks", "warn")
        assert "the disk is full" in check.output
        world.shelf.failing = ""
        while 300 not in world.shelf.sizes():
            world.clock.advance(BACKOFF_MAX_S * 2)
            await asyncio.sleep(0)
    check = job.health()
    assert check.status == "pass"
    assert check.observed == str(job.head)
    assert "300 entries" in check.output


async def test_a_stop_while_the_store_fails_ends_and_the_next_start_goes_on(world: World) -> None:
    world.folder.grow(300)
    world.shelf.failing = "the disk is full"
    async with world.job() as job:
        pass
    assert job.head is None
    world.shelf.failing = ""
    assert await rebuild(await world.once(), world.get) == world.folder.needed()


async def test_a_missing_tile_and_a_state_that_cannot_be_written_are_said(world: World) -> None:
    world.folder.grow(300)
    (world.folder.path / "tile/0/000").rename(world.tmp_path / "aside")
    async with world.job() as job:
        pass
    assert "tile/0/000" in job.health().output
    (world.tmp_path / "aside").rename(world.folder.path / "tile/0/000")
    world.state.unlink()
    world.state.mkdir()
    async with world.job() as job:
        pass
    assert str(world.state) in job.health().output


async def test_a_real_log_is_followed_as_it_publishes(world: World) -> None:
    path = world.tmp_path / "real"
    signers = [Ed25519Signer(ORIGIN, KEY)]
    job = LogBlocks(path, world.shelf, world.state, world.clock, compact=world.shelf.compact)
    clock = SystemClock()
    log = await TileLog.open(path, ORIGIN, signers, clock, high_water=world.tmp_path / "high_water")
    log.on_published(job.published)
    world.blocks = job.blocks
    await job.start()
    async with asyncio.timeout(PATIENCE_S):
        await asyncio.gather(*(log.append(lambda index, _: b"entry %d" % index) for _ in range(300)))
        await log.publish()
        await world.shelf.until(lambda: bool(world.shelf.sizes()))
        await log.append(lambda index, _: b"entry %d" % index)
        await log.close()
        await job.close(PATIENCE_S)
    assert job.head is not None
    files = await rebuild(job.head, world.get)
    assert set(files) == {
        *("checkpoint", "vkey", "tile/0/000", "tile/entries/000"),
        *("tile/0/001.p/45", "tile/entries/001.p/45", "tile/1/000.p/1"),
    }
    source = FolderSource(path)
    assert all(data == source.read_now(name, 10**6) for name, data in files.items())
    assert decode_bundle(files["tile/entries/001.p/45"], 45)[-1] == b"entry 300"
