"""The published head: who knows the name finds every public answer and nothing else; the record's sequence
never goes back, whatever is lost, restored or set; pages are written once and kept for who reads them."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from node.core.errors import NotFound, Rejected, Unavailable
from node.core.ipld import ipns
from node.core.ipld.cid import Cid
from node.ipfs.head import EVERY_S, KEPT_S, LIFETIME, LOOK_EVERY_S, TTL_S
from node.ipfs.index_pages import HeadBlock
from tests.head_world import CountedRecords, World
from tests.name_owner import HOUR, Owner
from tests.references.record_store import MemoryStore

RIVERS = [f"Which river is number {number}?" for number in range(40)]


async def after(world: World, seconds: float) -> None:
    """So much later, when the job has done what there was to do."""
    await world.rest(lambda: world.clock.advance(seconds))


async def last_word(world: World, owner: Owner) -> ipns.IpnsRecord:
    """What the name of this owner says now."""
    return ipns.decode(await world.names.get(owner.name), owner.name)


# --- the head -------------------------------------------------------------------------------------


async def test_every_public_answer_is_found_by_the_hash_of_its_question(world: World) -> None:
    for river in RIVERS:
        await world.answer(river, answer=f"Answer to {river}")
    await world.answer("What is shared?", scope="shared")
    await world.answer("What is mine?", scope="private:local")
    await world.answer("What else?", context="0" * 64)
    gone = await world.answer("What was wrong?")
    await world.store.records.withdraw(gone.cid, "invalidated")
    head = await world.once()
    for river in RIVERS:
        assert await world.ask(river) == f"Answer to {river}"
    for hidden in ("What is shared?", "What is mine?", "What else?", "What was wrong?", "What never was?"):
        with pytest.raises(NotFound):
            await world.ask(hidden)
    block = HeadBlock.parse(await world.shelf.get(head))
    name, at = world.owners[0].name.text, "2026-01-01T00:00:00Z"
    assert block == HeadBlock(world.author.did, name, at, None, None, block.index)
    assert (world.last.ttl_ns, world.last.validity) == (TTL_S * 10**9, world.clock.now() + LIFETIME)
    assert await world.store.blocks.has(gone.cid)


async def test_a_node_without_public_answers_has_a_head_too(world: World) -> None:
    world.links = [Cid.of(b"\xa1ap\x01"), Cid.of(b"\xa1ad\x01")]
    block = HeadBlock.parse(await world.shelf.get(await world.once()))
    assert [block.publications, block.decisions] == world.links
    assert await world.shelf.get(block.index) == b"\xa0"


async def test_a_newer_answer_takes_the_place_of_the_older_one(world: World) -> None:
    first = await world.answer("Who won?", answer="Nobody yet.")
    await world.once()
    world.clock.advance(60)
    second = await world.answer("Who won?", answer="Ada.")
    assert first.cid != second.cid
    await world.once()
    assert await world.ask("Who won?") == "Ada."


async def test_nothing_new_is_nothing_new(world: World) -> None:
    await world.answer("Who won?")
    head = await world.once()
    puts, listings = len(world.shelf.puts), world.records.listings
    world.clock.advance(3_600)
    assert await world.once() == head
    await world.answer("Who lost?", scope="shared")
    assert await world.once() == head
    assert (len(world.shelf.puts), world.records.listings, len(world.seen)) == (puts, listings, 1)


async def test_a_head_comes_at_most_every_half_minute_and_at_the_stop(world: World) -> None:
    async with world.job() as head:
        await world.rest()
        first = head.cid
        await world.answer("Who won?")
        await world.rest(head.changed)
        assert head.cid == first
        await after(world, EVERY_S + 1)
        assert head.cid != first
        assert await world.ask("Who won?")
        second = head.cid
        await world.answer("Who lost?")
        await world.rest(head.changed)
        assert head.cid == second
    assert await world.ask("Who lost?")


async def test_a_new_head_of_a_log_is_noticed(world: World) -> None:
    async with world.job() as head:
        await world.rest()
        world.links[1] = Cid.of(b"\xa1ad\x02")
        await after(world, LOOK_EVERY_S)
        assert head.cid is not None
        assert HeadBlock.parse(await world.shelf.get(head.cid)).decisions == world.links[1]


async def test_only_changed_pages_are_written_and_old_ones_stay_for_a_while(world: World) -> None:
    for river in RIVERS:
        await world.answer(river)
    first = await world.once()
    assert len(world.shelf.puts) > 30
    world.shelf.puts.clear()
    gone = await world.answer("Which river is new?")
    async with world.job() as head:
        await world.rest()
        assert len(world.shelf.puts) == 3, "a page, the index, the head"
        await world.store.records.withdraw(gone.cid, "invalidated")
        await after(world, EVERY_S)
        await world.rest(head.changed)
        newest = head.cid
        assert await world.ask("Which river is new?", world.shelf.puts[2])
        assert await world.ask(RIVERS[0], first), "whoever follows an older record finds it whole"
        with pytest.raises(NotFound):
            await world.ask("Which river is new?")
        await after(world, KEPT_S + 1)
        assert head.cid == newest
    with pytest.raises(NotFound):
        await world.ask(RIVERS[0], first)
    for river in RIVERS:
        assert await world.ask(river)
    assert not await world.shelf.has(world.shelf.puts[0])


async def test_older_heads_are_forgotten_after_a_restart_too(world: World) -> None:
    first = await world.once()
    await world.answer("Who won?")
    await world.once()
    assert await world.shelf.has(first)
    async with world.job():
        await world.rest()
        await after(world, KEPT_S + 1)
    assert not await world.shelf.has(first)


async def test_what_a_killed_process_left_behind_is_deleted(world: World) -> None:
    await world.answer("Who won?")
    await world.once()
    whole = set(await world.shelf.stored())
    for left in (b"\xa1ao\x01", b"\xa1ao\x02"):
        await world.shelf.put(Cid.of(left), left)
    await world.once()
    assert set(await world.shelf.stored()) == whole
    assert await world.ask("Who won?")


@pytest.mark.parametrize("damage", ["state", "head", "index", "everything"])
async def test_what_is_lost_is_made_again(world: World, damage: str) -> None:
    await world.answer("Who won?")
    head = await world.once()
    index = HeadBlock.parse(await world.shelf.get(head)).index
    if damage in ("state", "everything"):
        world.state_path.write_bytes(b'{"v":1,"head":7}')
    if damage in ("head", "everything"):
        await world.shelf.delete(head)
    if damage in ("index", "everything"):
        await world.shelf.delete(index)
    sequence = world.last.sequence
    await world.once()
    assert await world.ask("Who won?")
    assert world.last.sequence >= sequence


async def test_an_older_record_store_that_is_put_back_is_followed(world: World) -> None:
    for river in RIVERS:
        await world.answer(river)
    await world.once()
    world.store = MemoryStore(own_issuer=world.author.did)
    world.records = CountedRecords(world.store.records)
    await world.answer("Who won?")
    await world.once()
    assert await world.ask("Who won?")
    with pytest.raises(NotFound):
        await world.ask(RIVERS[0])


async def test_a_failure_is_said_and_tried_again(world: World) -> None:
    world.shelf.failing = "the disk is full"
    async with world.job() as head:
        await world.until(lambda: head.health().status == "warn")
        assert "the disk is full" in head.health().output
        assert (head.record, head.cid, head.health().since) == (None, None, world.clock.now())
        world.shelf.failing = ""
        await after(world, 2)
        assert head.record is not None
        assert head.health().status == "pass"
        assert head.health().output == f"published as /ipns/{world.owners[0].name.text}"
        assert head.health().observed == str(head.cid)


# --- the record -----------------------------------------------------------------------------------


async def test_a_record_that_cannot_be_kept_is_not_shown(world: World, tmp_path: Path) -> None:
    world.record_path.mkdir()
    async with world.job() as head:
        await world.until(lambda: head.health().status == "warn")
        assert head.record is None
        with pytest.raises(NotFound):
            await world.names.get(world.owners[0].name)
        world.record_path.rmdir()
        await after(world, 2)
        assert head.record == await world.names.get(world.owners[0].name)
        assert world.record_path.stat().st_mode & 0o777 == 0o600


async def test_each_record_has_a_higher_sequence(world: World) -> None:
    for number in range(5):
        await world.answer(f"Question {number}?")
        await world.once()
    sequences = [one.sequence for one in world.seen]
    assert sequences == sorted(set(sequences))
    assert len(sequences) == 5


@pytest.mark.parametrize("lost", [("ipns-record",), ("names.sqlite",), ("ipns-record", "names.sqlite")])
@pytest.mark.parametrize("damaged", [False, True])
async def test_the_sequence_survives_lost_files(world: World, lost: tuple[str, ...], damaged: bool) -> None:
    await world.once()
    before = world.last.sequence
    for name in lost:
        (world.folder / name).unlink()
        if damaged and name == "ipns-record":
            (world.folder / name).write_bytes(b"\x42\x01garbage")
    world.clock.advance(1)
    await world.answer("Who won?")
    await world.once()
    assert world.last.sequence > before


async def test_the_sequence_survives_an_older_state(world: World, tmp_path: Path) -> None:
    """A backup is put back: what was published meanwhile had higher sequences than the backup knows."""
    await world.once()
    backup = tmp_path / "backup"
    kept = ("ipns-record", "names.sqlite", "head.json")
    backup.mkdir()
    for name in kept:
        shutil.copy(world.folder / name, backup)
    for number in range(3):
        world.clock.advance(40)
        await world.answer(f"Question {number}?")
        await world.once()
    newest = world.last.sequence
    for name in kept:
        shutil.copy(backup / name, world.folder)
    world.clock.advance(40)
    await world.answer("Another one?")
    await world.once()
    assert world.last.sequence > newest


async def test_a_record_is_renewed_twelve_hours_before_a_daily_reader_would_miss_it(world: World) -> None:
    async with world.job() as head:
        await world.rest()
        first = world.last
        await after(world, 11 * 3_600)
        assert len(world.seen) == 1
        await after(world, 3_600 + 60)
        assert len(world.seen) == 2
        assert world.last.validity == world.clock.now() + LIFETIME
        assert ipns.better(world.last, first)
        assert (world.last.value, head.cid) == (first.value, head.cid)
    world.clock.advance(30 * 24 * 3_600)
    await world.once()
    assert len(world.seen) == 3, "it had expired while the node was off"


async def test_a_head_that_cannot_be_made_does_not_keep_the_last_one_from_its_renewal(world: World) -> None:
    async with world.job() as head:
        await world.rest()
        await world.answer("Who won?")
        world.shelf.failing = "the disk is full"
        await after(world, EVERY_S)
        await world.rest(head.changed)
        assert head.health().status == "warn"
        await after(world, 13 * 3_600)
        assert len(world.seen) == 2
        assert world.last.validity == world.clock.now() + LIFETIME


async def test_a_clock_that_goes_back_takes_nothing_back(world: World) -> None:
    await world.once()
    newest = world.last
    world.clock.set_wall(datetime(2020, 1, 1, tzinfo=UTC))
    await world.once()
    assert world.last.sequence == newest.sequence + 1
    assert world.last.validity == datetime(2020, 1, 3, tzinfo=UTC)
    world.clock.set_wall(world.clock.now() - timedelta(seconds=30))
    await world.once()
    assert len(world.seen) == 2, "half a minute is not worth a record"


async def test_a_rotation_that_came_to_nothing_takes_its_last_word_back(world: World) -> None:
    own = world.owners[0]
    async with world.job() as head:
        await world.rest()
        before = world.last
        await head.lead_over(own.key, Owner(2).name)
        await world.rest(head.settle)
        await after(world, LOOK_EVERY_S)
        assert world.last.value == f"/ipfs/{head.cid}"
        assert world.last.sequence > before.sequence + 1
        assert head.record == await world.names.get(own.name)


async def test_an_old_name_that_fails_does_not_keep_the_current_one_from_its_record(world: World) -> None:
    def broken(_: bytes) -> bytes:
        raise Unavailable("the old key is away")

    await world.once()
    old, new = world.owners[0], Owner(2)
    old.sign = broken
    world.owners.insert(0, new)
    async with world.job() as head:
        await world.until(lambda: head.health().status == "warn")
        assert "the old key is away" in head.health().output
        assert head.record == await world.names.get(new.name)


async def test_what_others_have_seen_of_us_counts(world: World) -> None:
    """Somebody offers us a valid record for our own name that we do not know: our state is old."""
    async with world.job() as head:
        await world.rest()
        later = world.owners[0].record(world.clock.now(), sequence=world.last.sequence + 1_000)
        with pytest.raises(Rejected, match="publishes that name itself"):
            await world.names.put(world.owners[0].name, later)
        await after(world, LOOK_EVERY_S)
        assert world.last.sequence == ipns.decode(later, world.owners[0].name).sequence + 1
        assert head.record == await world.names.get(world.owners[0].name)


# --- rotation -------------------------------------------------------------------------------------


async def test_after_a_rotation_the_old_name_points_to_the_new_one(world: World) -> None:
    await world.once()
    old, new, newer = world.owners[0], Owner(2), Owner(3)
    before = world.last
    async with world.job() as head:
        await world.rest()
        world.owners.insert(0, new)
        await world.rest(head.changed)
        assert head.name == new.name
        last = await last_word(world, old)
        assert last.value == f"/ipns/{new.name.text}"
        assert last.sequence > before.sequence
        assert last.validity > world.clock.now() + timedelta(days=300)
        assert head.record == await world.names.get(new.name)
        await after(world, EVERY_S)
        assert HeadBlock.parse(await world.shelf.get(Cid.parse(world.last.value[6:]))).name == new.name.text
    world.owners.insert(0, newer)
    await world.once()
    async with world.job():
        for one in (old, new):
            last = await last_word(world, one)
            assert last.value == f"/ipns/{newer.name.text}"
    del world.owners[1:]
    world.clock.advance(100 * 24 * 3_600)
    await world.once()
    async with world.job():
        assert (await last_word(world, old)).value == f"/ipns/{newer.name.text}"
        with pytest.raises(Rejected, match="publishes that name itself"):
            await world.names.put(old.name, old.record(world.clock.now(), sequence=2**40))


async def test_a_key_that_is_dropped_at_once_has_a_last_word(world: World) -> None:
    await world.once()
    old, new = world.owners[0], Owner(2)
    async with world.job() as head:
        await world.rest()
        await head.lead_over(old.key, new.name)
        last = await world.names.get(old.name)
        await after(world, LOOK_EVERY_S)
        assert await world.names.get(old.name) == last, "nothing is signed under it while that goes on"
        world.owners[:] = [new]
        await world.rest(head.settle)
        assert await world.names.get(old.name) == last
        assert (await last_word(world, old)).value == f"/ipns/{new.name.text}"
        assert world.last.value == f"/ipfs/{head.cid}"
        assert world.last.validity <= world.clock.now() + 48 * HOUR
