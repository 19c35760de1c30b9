"""The decision log over a folder: commitments, receipts, shards, what its first leaves say."""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from node.audit.decisions import epochs
from node.audit.decisions.commitments import KeyTable
from node.audit.decisions.entry import Closed
from node.audit.decisions.epoch_check import verify_epochs
from node.audit.decisions.log import DecisionLog
from node.audit.decisions.new_epoch import NewEpoch, start_new_epoch
from node.audit.decisions.origin import origin_of
from node.audit.decisions.shards import BEHIND_50MS
from node.audit.log.reader import FolderSource
from node.audit.tlog import leaf
from node.audit.tlog.proofs import Receipt, check_receipt
from node.core.errors import CorruptState, Misconfigured, NotFound, Unavailable
from node.core.ports import Appended
from tests.log_kit import ORIGIN, leaves, opened, signers, verified, verifier
from tests.manual_clock import ManualClock

CANARY = "zanzibar canary question"


async def written(folder: Path, count: int, **options: Any) -> None:
    """A log of ``count`` more entries, closed."""
    log = await opened(folder, **options)
    for number in range(count):
        await log.append({"kind": "answer", "n": number}, private_texts={"query": f"{CANARY} {number}"})
    await log.close()


async def recovered(folder: Path, policy: str = "") -> NewEpoch:
    keys = folder / "keys"
    return await start_new_epoch(folder / "log", ORIGIN, signers, ManualClock(), keys=keys, policy=policy)


def on_disk(folder: Path) -> bytes:
    return b"\n".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


async def test_every_append_is_on_disk_with_its_key_before_it_returns(tmp_path: Path) -> None:
    log = await opened(tmp_path)
    for number in range(3):
        await log.append({"kind": "answer", "n": number}, private_texts={"query": "x"})
        assert f'"n":{number}'.encode() in on_disk(tmp_path / "log" / "journal")
        table = KeyTable.open(tmp_path / "keys" / "commitments-2-1", ORIGIN)
        assert table.get(number) is not None
        table.close()
    await log.close()


async def test_reopening_goes_on_where_it_ended(tmp_path: Path) -> None:
    await written(tmp_path, 3)
    await written(tmp_path, 2, durability=BEHIND_50MS)
    found = await leaves(tmp_path / "log")
    assert [one.entry["n"] for one in found] == [0, 1, 2, 0, 1]
    assert {one.time_us for one in found} == {1_767_225_600_000_000}, "the clock's time, 2026-01-01T00:00:00Z"


async def test_behind_answers_at_once_and_a_key_can_be_destroyed_right_away(tmp_path: Path) -> None:
    log = await opened(tmp_path, durability=BEHIND_50MS)
    for number in range(50):
        place = await log.append({"kind": "answer"}, private_texts={"query": "x", "cid": f"record {number}"})
        assert place.index == number
    assert await log.forget(49) is True
    assert await log.forget_record("record 48") == 1
    await log.close()
    assert len(await leaves(tmp_path / "log")) == 50
    table = KeyTable.open(tmp_path / "keys" / "commitments-2-1", ORIGIN)
    assert [table.get(index) is None for index in (47, 48, 49)] == [False, True, True]
    table.close()


async def test_commitments_open_with_the_key_and_say_nothing_without(tmp_path: Path) -> None:
    await written(tmp_path, 2)
    first, second = await leaves(tmp_path / "log")
    table = KeyTable.open(tmp_path / "keys" / "commitments-2-1", ORIGIN)
    key, other = table.get(0), table.get(1)
    table.close()
    assert key is not None
    assert other is not None
    assert key != other, "each entry has its own key"
    assert first.entry["commitments"] == {"query": leaf.commitment(key, f"{CANARY} 0")}
    log = await opened(tmp_path)
    assert await log.forget(0) is True
    await log.close()
    data = on_disk(tmp_path)
    assert key not in data
    assert other in data
    assert b"canary" not in data
    assert (await verified(tmp_path / "log")).ok, "the log still verifies"
    assert second.entry["commitments"] == {"query": leaf.commitment(other, f"{CANARY} 1")}


async def test_a_receipt_comes_early_from_the_journal_s_latest(tmp_path: Path) -> None:
    log = await opened(tmp_path, publish_every_s=3_600.0)
    await log.append({"kind": "answer"}, private_texts={"query": "x"})
    data = await log.receipt(0, timeout_s=10)
    assert data is not None
    receipt = Receipt.parse(data)
    assert receipt.extra is not None
    opened_note = check_receipt(receipt, receipt.extra, [verifier()], None)
    assert opened_note.checkpoint.size == 1
    await log.close()


async def test_critical_entries_are_published_at_once_and_others_in_their_turn(tmp_path: Path) -> None:
    log = await opened(tmp_path, publish_every_s=3_600.0)
    told: asyncio.Queue[Appended] = asyncio.Queue()
    log.on_critical(told.put_nowait)
    sizes: list[int] = []
    log.on_published(lambda published: sizes.append(published.size))
    for _ in range(3):
        await log.append({"kind": "answer"}, private_texts={})
    assert sizes == []
    place = await log.append({"kind": "tombstone"}, private_texts={})
    async with asyncio.timeout(10):
        assert await told.get() == place
    assert sizes[-1] == 4
    await log.close()


async def test_shards_follow_each_other_under_load_and_lose_nothing(tmp_path: Path) -> None:
    log = await opened(tmp_path, shard_entries=40)
    places = await asyncio.gather(
        *(log.append({"kind": "answer", "n": n}, private_texts={"query": "x"}) for n in range(200))
    )
    epoch, origin = log.epoch, log.origin
    await log.close()
    assert epoch == 6
    assert origin == f"{ORIGIN}/6"
    by_log: dict[str, dict[int, int]] = {}
    for n, place in enumerate(places):
        by_log.setdefault(place.log, {})[place.index] = n
    found = 0
    previous: dict[str, Any] = {}
    for number in range(1, 7):
        name = ORIGIN if number == 1 else f"{ORIGIN}/{number}"
        folder = tmp_path / "log" if number == 6 else tmp_path / "log" / "epochs" / str(number)
        shard = await leaves(folder, number)
        for index, n in by_log[name].items():
            assert shard[index].entry["n"] == n
            found += 1
        if number > 1:
            first = shard[0].entry
            assert (first["kind"], first["event"], first["reason"]) == ("policy", "epoch", "size")
            assert first["previous"] == previous
        if number < 6:
            assert len(shard) == 40
            last = shard[-1].entry
            assert (last["event"], last["next_origin"]) == ("shard_closed", f"{ORIGIN}/{number + 1}")
            report = await verified(folder)
            assert report.checkpoint is not None
            previous = {"origin": name, "size": 40, "root": report.checkpoint.root.hex()}
    assert found == 200
    assert not (tmp_path / "log" / "epochs" / "turn.json").exists()


async def test_receipts_and_erasures_reach_closed_shards(tmp_path: Path) -> None:
    log = await opened(tmp_path, shard_entries=5)
    places = [
        await log.append({"kind": "answer", "n": n}, private_texts={"cid": "one" if n in (1, 8) else "other"})
        for n in range(12)
    ]
    for n in (0, 1, 8, 11):
        data = await log.receipt(places[n].index, timeout_s=10, log=places[n].log)
        assert data is not None
        receipt = Receipt.parse(data)
        assert receipt.extra is not None
        assert leaf.read_leaf(receipt.extra).entry["n"] == n
    with pytest.raises(NotFound):
        await log.receipt(99, timeout_s=0.01, log=ORIGIN)
    assert await log.forget_record("one") == 2
    assert await log.forget_record("other") == 10
    await log.close()


async def test_shards_turn_while_receipts_erasures_and_health_are_asked_for(tmp_path: Path) -> None:
    log = await opened(tmp_path, shard_entries=8)
    said: set[tuple[str, str]] = set()
    is_done = False

    async def append() -> None:
        for n in range(20):
            await log.append({"kind": "answer", "n": n}, private_texts={"cid": f"record {n}"})

    async def ask() -> None:
        while not is_done:
            check = log.health()
            said.add((check.status, check.output))
            origin, last = log.origin, log.size() - 1
            if last >= 0:
                data = await log.receipt(last, timeout_s=10, log=origin)
                assert data is not None
                assert Receipt.parse(data).index == last
            await asyncio.sleep(0)

    async def erase() -> None:
        while not is_done:
            await log.forget_record("record 1")
            await log.forget(max(0, log.size() - 1))
            await asyncio.sleep(0)

    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
        others = [tasks.create_task(ask()), tasks.create_task(ask()), tasks.create_task(erase())]
        await asyncio.gather(append(), append(), append())
        is_done = True
        await asyncio.gather(*others)
    assert log.epoch > 7
    assert said <= {("pass", ""), ("warn", "the next shard begins")}
    await log.close()


async def test_an_erasure_reaches_leaves_in_flight_and_later_ones_get_no_key(tmp_path: Path) -> None:
    log = await opened(tmp_path, shard_entries=40)

    async def about(cid: str, kind: str = "answer") -> Appended:
        return await log.append({"kind": kind}, private_texts={"cid": cid})

    given_up = asyncio.create_task(about("one"))
    coming = asyncio.gather(*(about("one") for _ in range(30)))
    await asyncio.sleep(0)
    given_up.cancel()
    assert await log.forget_record("one") >= 30
    await coming
    await about("one")
    kept = [await about("other"), await about("one", "tombstone")]
    for _ in range(40):
        await about("one")
    assert log.epoch == 2
    await log.close()
    for number, expected in ((1, [one.index for one in kept]), (2, [])):
        table = KeyTable.open(tmp_path / "keys" / f"commitments-2-{number}", origin_of(ORIGIN, number))
        assert [index for index in range(50) if table.get(index) is not None] == expected
        table.close()


async def test_an_erasure_waits_for_the_disk_but_for_no_checkpoint(tmp_path: Path) -> None:
    log = await opened(tmp_path, durability=BEHIND_50MS, is_held=True)
    await log.append({"kind": "answer"}, private_texts={})
    assert await log.forget_record("one") == 0
    await log.append({"kind": "answer"}, private_texts={"cid": "one"})
    await log.append({"kind": "answer"}, private_texts={"cid": "other"})
    assert await log.forget(0) is False
    assert await log.forget(2) is True
    assert await log.forget_record("one") == 0, "it was erased before, so it never got a key"
    await log.close()


async def test_a_closed_shard_keeps_only_what_its_last_checkpoint_needs(tmp_path: Path) -> None:
    log = await opened(tmp_path, shard_entries=300, alarm_bytes=10**9)
    for count in (100, 150, 60):
        await asyncio.gather(*(log.append({"kind": "answer"}, private_texts={}) for _ in range(count)))
        await log.tile_log.publish()
    assert log.epoch == 2
    await log.close()
    aside = tmp_path / "log" / "epochs" / "1"
    names = {str(path.relative_to(aside)) for path in aside.rglob("*")}
    assert not [name for name in names if name.startswith(("journal/", "tile/0/000.p", "tile/entries/000.p"))]
    assert {"tile/0/000", "tile/0/001.p/44", "tile/entries/001.p/44", "tile/1/000.p/1"} <= names
    assert len(await leaves(aside)) == 300


async def test_the_size_is_counted_again_now_and_then(tmp_path: Path) -> None:
    log = await opened(tmp_path, alarm_bytes=400_000)
    (tmp_path / "log" / "epochs").mkdir()
    (tmp_path / "log" / "epochs" / "left over").write_bytes(bytes(400_000))
    assert log.health().status == "pass"
    for _ in range(4):
        await asyncio.gather(*(log.append({"kind": "answer"}, private_texts={}) for _ in range(300)))
    async with asyncio.timeout(30):
        while log.health().status == "pass":
            await asyncio.sleep(0)
    assert "alarm_bytes" in log.health().output
    await log.close()


async def test_an_older_log_beside_it_stays_and_is_named(tmp_path: Path) -> None:
    old = b'{"entry":{"kind":"answer"},"hash":"..."}\n' * 1_000
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "decisions.jsonl").write_bytes(old)
    for _ in range(2):
        await written(tmp_path, 1)
    first, *rest = await leaves(tmp_path / "log")
    assert (first.entry["kind"], first.entry["event"]) == ("policy", "chain_closed")
    assert first.entry["file"] == {"sha256": hashlib.sha256(old).hexdigest(), "bytes": len(old)}
    assert [one.entry["kind"] for one in rest] == ["answer", "answer"]
    assert (tmp_path / "log" / "decisions.jsonl").read_bytes() == old


async def test_a_log_that_was_rolled_back_takes_nothing_until_a_new_epoch(tmp_path: Path) -> None:
    await written(tmp_path, 2)
    shutil.copytree(tmp_path / "log", tmp_path / "copy")
    await written(tmp_path, 3)
    shutil.rmtree(tmp_path / "log")
    shutil.copytree(tmp_path / "copy", tmp_path / "log")
    log = await opened(tmp_path)
    with pytest.raises(Unavailable, match="rolled back"):
        await log.append({"kind": "answer"}, private_texts={})
    assert log.health().status == "fail"
    assert "recover --new-epoch" in log.health().output
    await log.close()
    begun = await recovered(tmp_path, "p")
    assert (begun.number, begun.origin) == (2, f"{ORIGIN}/2")
    assert (begun.previous.origin, begun.previous.size, begun.kept_size) == (ORIGIN, 5, 2)
    [first] = await leaves(tmp_path / "log", 2)
    expected = {"event": "epoch", "reason": "recover", "policy": "p", "kept_size": 2}
    assert first.entry.items() >= expected.items()
    assert first.entry["previous"]["size"] == 5
    assert len(await leaves(tmp_path / "log" / "epochs" / "1")) == 2
    await written(tmp_path, 1)
    assert len(await leaves(tmp_path / "log", 2)) == 2


async def checked_epochs(folder: Path, number: int) -> list[tuple[int, bool, bool]]:
    """(number, ok, is_absent) of the closed epochs before the one at the top, newest first."""
    report = await verified(folder / "log")
    assert report.ok
    assert report.checkpoint is not None
    source = FolderSource(folder / "log")
    found = await verify_epochs(
        source, report.checkpoint, [verifier(number)], lambda path: FolderSource(folder / "log" / path)
    )
    return [(one.number, one.ok, one.is_absent) for one in found]


@pytest.mark.parametrize("is_lost", [False, True])
async def test_an_old_or_lost_folder_is_recovered_from_again_and_again(tmp_path: Path, is_lost: bool) -> None:
    await written(tmp_path, 8, shard_entries=16)
    shutil.copytree(tmp_path / "log", tmp_path / "copy")
    await written(tmp_path, 40, shard_entries=16)
    newest = await verified(tmp_path / "log")
    assert newest.checkpoint is not None
    last = epochs.current(tmp_path / "log")
    assert last == 4
    signed = Closed(newest.checkpoint.origin, newest.checkpoint.size, newest.checkpoint.root.hex())
    for number in (5, 6):
        shutil.rmtree(tmp_path / "log")
        if not is_lost:
            shutil.copytree(tmp_path / "copy", tmp_path / "log")
        log = await opened(tmp_path, shard_entries=16)
        assert "recover --new-epoch" in log.health().output
        await log.close()
        begun = await recovered(tmp_path)
        assert (begun.number, begun.origin, begun.kept_size) == (number, f"{ORIGIN}/{number}", 0)
        assert begun.previous == signed
        await written(tmp_path, 1, shard_entries=16)
        first, second = await leaves(tmp_path / "log", number)
        assert first.entry["previous"]["origin"] == signed.origin
        assert second.entry["n"] == 0
        assert await checked_epochs(tmp_path, number) == [(number - 1, True, True)]
        assert not (tmp_path / "log" / "epochs" / "turn.json").exists()
        report = await verified(tmp_path / "log")
        assert report.checkpoint is not None
        signed = Closed(begun.origin, 2, report.checkpoint.root.hex())


async def test_an_empty_place_is_recovered_from_where_the_keys_know_of_a_log(tmp_path: Path) -> None:
    await written(tmp_path, 3)
    shutil.rmtree(tmp_path / "log")
    begun = await recovered(tmp_path)
    assert (begun.number, begun.previous.size, begun.kept_size) == (2, 3, 0)
    await written(tmp_path, 1)


async def test_a_turn_that_leads_to_a_number_that_was_used_is_chosen_again(tmp_path: Path) -> None:
    """A copy that was made in the midst of a turn, put back after later epochs were signed."""
    await written(tmp_path, 2)
    shutil.copytree(tmp_path / "log", tmp_path / "copy")
    turn = epochs.turn_of(tmp_path / "copy", ORIGIN, tmp_path / "keys")
    epochs.begin(tmp_path / "copy", turn)
    assert (turn.number, turn.following) == (1, 2)
    for number in (2, 3):
        assert (await recovered(tmp_path)).number == number
        await written(tmp_path, 1)
    shutil.rmtree(tmp_path / "log")
    shutil.copytree(tmp_path / "copy", tmp_path / "log")
    begun = await recovered(tmp_path)
    assert (begun.number, begun.previous.origin, begun.previous.size) == (4, f"{ORIGIN}/3", 2)
    await written(tmp_path, 1)
    assert await checked_epochs(tmp_path, 4) == [(3, True, True)]


async def test_numbers_in_which_nothing_was_signed_are_passed_over(tmp_path: Path) -> None:
    await written(tmp_path, 3)
    KeyTable.open(tmp_path / "keys" / "commitments-2-2", f"{ORIGIN}/2").close()
    begun = await recovered(tmp_path)
    assert (begun.number, begun.previous.origin, begun.kept_size) == (3, ORIGIN, 3)
    await written(tmp_path, 1)
    assert await checked_epochs(tmp_path, 3) == [(2, True, True), (1, True, False)]
    begun = await recovered(tmp_path)
    assert (begun.number, begun.previous.origin) == (4, f"{ORIGIN}/3")


async def test_a_copy_put_over_a_newer_folder_overwrites_no_closed_epoch(tmp_path: Path) -> None:
    await written(tmp_path, 3)
    shutil.copytree(tmp_path / "log", tmp_path / "copy")
    await recovered(tmp_path)
    shutil.copytree(tmp_path / "copy", tmp_path / "log", dirs_exist_ok=True)
    with pytest.raises(CorruptState, match="a checkpoint of epoch 2 was signed"):
        await opened(tmp_path)
    begun = await recovered(tmp_path)
    assert (begun.number, begun.previous.origin) == (3, f"{ORIGIN}/2")
    assert len(await leaves(tmp_path / "log" / "epochs" / "1")) == 3
    assert (tmp_path / "log" / "epochs" / "1.1" / "checkpoint").exists()


async def test_a_damaged_log_can_be_recovered_from_too(tmp_path: Path) -> None:
    await written(tmp_path, 3)
    for path in (tmp_path / "log" / "tile" / "0" / "000.p").iterdir():
        path.write_bytes(bytes(path.stat().st_size))
    with pytest.raises(CorruptState):
        await opened(tmp_path)
    begun = await recovered(tmp_path)
    assert (begun.number, begun.previous.size) == (2, 3)
    await written(tmp_path, 1)


async def test_there_is_no_new_epoch_of_nothing_nor_of_a_log_in_use(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    with pytest.raises(NotFound, match="no log"):
        await recovered(tmp_path)
    log = await opened(tmp_path)
    with pytest.raises(Unavailable, match="in use"):
        await recovered(tmp_path)
    await log.append({"kind": "answer"}, private_texts={})
    await log.close()
    assert len(await leaves(tmp_path / "log")) == 1


async def test_keys_of_leaves_that_never_were_go_and_many_of_them_are_reported(tmp_path: Path) -> None:
    await written(tmp_path, 2)
    path = tmp_path / "keys" / "commitments-2-1"
    table = KeyTable.open(path, ORIGIN)
    table.write(2, [table.slot(b"k" * 32, [])] * 3)
    await written(tmp_path, 0)
    assert table.count() == 2
    table.write(2, [table.slot(b"k" * 32, [])] * 5_000)
    table.close()
    await written(tmp_path, 0)
    *_, last = await leaves(tmp_path / "log")
    assert (last.entry["kind"], last.entry["keys_without_entry"]) == ("repair", 5_000)


async def test_the_size_alarm(tmp_path: Path) -> None:
    await written(tmp_path, 3)
    log = await opened(tmp_path, alarm_bytes=100)
    assert log.health().status == "warn"
    assert "alarm_bytes" in log.health().output
    await log.close()
    log = await opened(tmp_path, alarm_bytes=10**9)
    assert log.health().status == "pass"
    await log.close()


async def test_the_size_alarm_counts_what_the_log_takes_of_the_disk(tmp_path: Path) -> None:
    """Key tables and blocks in IPFS as well, and whole blocks of the disk: a file of 40 bytes takes 4,096."""
    await written(tmp_path, 3)
    beside = tmp_path / "data"
    beside.mkdir()
    (beside / "log_blocks.sqlite").write_bytes(bytes(10**6))
    (beside / "log_blocks.sqlite-wal").write_bytes(bytes(10**6))
    os.sync()
    log = await opened(tmp_path, alarm_bytes=10**9, beside=((beside, "log_blocks.sqlite*"),))
    folder = log._shards.folder
    await folder.count()
    files = [path for path in (tmp_path / "log").rglob("*") if path.is_file()]
    tables = list((tmp_path / "keys").glob("commitments-*"))
    assert tables
    at_least = sum(-(-path.stat().st_size // 512) * 512 for path in [*files, *tables]) + 2 * 10**6
    assert folder.size_bytes >= at_least
    await log.close()


async def test_bad_arguments(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match="durability"):
        await opened(tmp_path, durability="sometimes")
    (tmp_path / "file").touch()
    with pytest.raises(Unavailable, match="cannot be opened"):
        await DecisionLog.open(tmp_path / "file", ORIGIN, signers, ManualClock(), keys=tmp_path / "keys")


async def test_the_key_table_of_another_log_is_refused(tmp_path: Path) -> None:
    KeyTable.open(tmp_path / "keys" / "commitments-2-1", "another/log").close()
    with pytest.raises(CorruptState, match="key table"):
        await opened(tmp_path)
