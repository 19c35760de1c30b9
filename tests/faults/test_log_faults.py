"""The decision log under kills, full disks and calls that fail: above all from one shard to the next.

What the tree's writer does under the same is in ``test_tlog_*``; here it is about the leaves, their keys,
and the turn from one log to the next.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import itertools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from node.audit.decisions import epochs
from node.audit.decisions.commitments import KeyTable
from node.audit.decisions.epochs import Turn
from node.audit.decisions.origin import origin_of
from node.audit.decisions.shards import BEFORE_REPLY
from node.audit.tlog.leaf import Leaf, commitment
from node.core.errors import NodeError, Unavailable
from node.core.ports import Appended
from tests.faults.kill_kit import told_until_killed
from tests.log_kit import ORIGIN, leaves, opened


def killed(folder: Path, shard_entries: int, acks: int) -> dict[tuple[str, int], str]:
    """What a writer acknowledged before it was killed, having acknowledged so much at least."""
    said = told_until_killed("log_child", folder, shard_entries, lines=acks)
    return {(log, int(index)): name for log, index, name in said}


async def all_shards(folder: Path) -> dict[str, list[Leaf]]:
    """Every leaf of every log in the folder, by origin; each log was verified."""
    last = epochs.current(folder / "log")
    found = {}
    for number in range(1, last + 1):
        place = folder / "log" if number == last else epochs.folder_of(folder / "log", number)
        found[origin_of(ORIGIN, number)] = await leaves(place, number)
    return found


def check_order(shards: dict[str, list[Leaf]], shard_entries: int) -> None:
    """Each log but the last is full and names the next one, which names it in its first leaf."""
    names = list(shards)
    for before, after in itertools.pairwise(names):
        repairs = [leaf for leaf in shards[before] if leaf.entry["kind"] == "repair"]
        assert shard_entries <= len(shards[before]) <= shard_entries + len(repairs)
        assert shards[before][-1].entry["next_origin"] == after
        assert shards[after][0].entry["previous"]["origin"] == before
    events = [leaf.entry.get("event") for log in shards.values() for leaf in log]
    assert events.count("epoch") == events.count("shard_closed") == len(names) - 1


@pytest.mark.parametrize("shard_entries", [10_000_000, 50])
async def test_nothing_acknowledged_is_lost_by_kill_9(tmp_path: Path, shard_entries: int) -> None:
    known: dict[tuple[str, int], str] = {}
    for acks in (3, 60, 150):
        more = await asyncio.to_thread(killed, tmp_path, shard_entries, acks)
        assert not known.keys() & more.keys(), "no index is given twice"
        known |= more
    log = await opened(tmp_path, shard_entries=shard_entries)
    await log.close()
    shards = await all_shards(tmp_path)
    assert len(known) > 200
    assert {place: shards[place[0]][place[1]].entry["n"] for place in known} == known
    check_order(shards, shard_entries)
    for number, origin in enumerate(shards, start=1):
        table = KeyTable.open(tmp_path / "keys" / f"commitments-2-{number}", origin)
        for log_name, index in known:
            if log_name == origin:
                key = table.get(index)
                assert key is not None, "the key was on disk before the leaf"
                expected = {"query": commitment(key, known[log_name, index])}
                assert shards[origin][index].entry["commitments"] == expected
        table.close()


class Failing:
    """Makes the n-th of the calls that change the disk fail, or all from there on."""

    NAMES = ("pwrite", "fsync", "ftruncate", "rename", "replace", "mkdir", "unlink")

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls = 0
        self.fail_at = 0
        self.fail_from = 0
        for name in self.NAMES:
            monkeypatch.setattr(os, name, self._wrapped(getattr(os, name)))

    def _wrapped(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            self.calls += 1
            if self.calls == self.fail_at or (self.fail_from and self.calls >= self.fail_from):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return real(*args, **options)

        return call


async def one_turn(
    folder: Path, failing: Failing, *, fail_at: int = 0, fail_from: int = 0
) -> dict[Appended, int]:
    """Append twelve entries over shards of five, each again until it is taken or three tries have failed;
    what was acknowledged."""
    known: dict[Appended, int] = {}
    log = await opened(folder, shard_entries=5)
    failing.calls, failing.fail_at, failing.fail_from = 0, fail_at, fail_from
    for n in range(12):
        for _ in range(3):
            try:
                place = await log.append({"kind": "answer", "n": n}, private_texts={"query": "x"})
            except Unavailable:
                continue
            known[place] = n
            break
    with contextlib.suppress(NodeError):  # a disk that stays broken
        await log.close()
    return known


async def check_turns(folder: Path, known: dict[Appended, int]) -> None:
    log = await opened(folder, shard_entries=5)
    assert log.health().status == "pass"
    place = await log.append({"kind": "answer", "n": 99}, private_texts={"query": "x"})
    await log.close()
    shards = await all_shards(folder)
    for one, n in [*known.items(), (place, 99)]:
        assert shards[one.log][one.index].entry["n"] == n
    answers = [leaf.entry["n"] for log_leaves in shards.values() for leaf in log_leaves if "n" in leaf.entry]
    assert len(answers) == len(set(answers)), "a refused entry is not in the log"
    check_order(shards, 5)


@pytest.mark.parametrize("number", range(1, 130, 3))
async def test_each_failing_call_of_a_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    with monkeypatch.context() as patched:
        known = await one_turn(tmp_path, Failing(patched), fail_at=number)
    assert len(known) == 12, "one call that fails is got over by trying again"
    await check_turns(tmp_path, known)


@pytest.mark.parametrize("number", range(2, 130, 3))
async def test_a_disk_that_stays_broken_during_a_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """As a crash at that moment would leave it: nothing more reaches the disk."""
    with monkeypatch.context() as patched:
        failing = Failing(patched)
        known = await one_turn(tmp_path, failing, fail_from=number)
        assert failing.calls >= number
    await check_turns(tmp_path, known)


async def test_a_turn_cut_short_between_any_two_renames_is_finished(tmp_path: Path) -> None:
    """Every prefix of the moves is a state that a crash can leave."""
    moved = [name for name in epochs.MOVED if name != "checkpoint.witnessed"]
    for count in range(len(moved) + 1):
        folder = tmp_path / str(count)
        log = await opened(folder)
        await log.append({"kind": "answer", "n": 1}, private_texts={"query": "x"})
        published = await log.tile_log.publish()
        await log.close()
        turn = Turn(1, ORIGIN, published.size, published.root.hex(), published.size, "size", 2, "1")
        directory = folder / "log"
        epochs.begin(directory, turn)
        aside = epochs.folder_of(directory, 1)
        for name in moved[count:]:
            (aside / name).rename(directory / name)
        epochs._write(directory / epochs.FOLDER, turn)  # as it was before the move was marked as done
        log = await opened(folder)
        assert log.epoch == 2
        await log.append({"kind": "answer", "n": 2}, private_texts={"query": "x"})
        await log.close()
        shards = await all_shards(folder)
        assert [leaf.entry.get("n") for leaf in shards[ORIGIN]] == [1]
        first, second = shards[f"{ORIGIN}/2"]
        assert first.entry["previous"] == {"origin": ORIGIN, "size": 1, "root": published.root.hex()}
        assert second.entry["n"] == 2
        assert epochs.pending(directory) is None


async def test_keys_are_refused_with_their_leaf_and_the_log_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = await opened(tmp_path)
    await log.append({"kind": "answer", "n": 0}, private_texts={"q": "x"})
    await log.tile_log.publish()
    with monkeypatch.context() as patched:
        failing = Failing(patched)
        failing.fail_at = 1  # the key table's
        with pytest.raises(Unavailable, match="No space"):
            await log.append({"kind": "answer", "n": 1}, private_texts={"q": "x"})
        assert log.health().status == "fail"
        assert (await log.append({"kind": "answer", "n": 2}, private_texts={"q": "x"})).index == 1
        assert log.health().status == "pass"
        failing.fail_at = failing.calls + 1
        with pytest.raises(Unavailable, match="No space"):
            await log.forget(0)
        assert await log.forget(0) is True
    await log.close()
    assert [leaf.entry["n"] for leaf in await leaves(tmp_path / "log")] == [0, 2]


@pytest.mark.parametrize("cut", [0, 10, 63, 64, 70, 64 + 72])
async def test_a_torn_or_lost_key_table(tmp_path: Path, cut: int) -> None:
    """A backup has no keys, and a crash may tear the table: the log goes on; those keys are gone."""
    log = await opened(tmp_path, durability=BEFORE_REPLY)
    for _ in range(2):
        await log.append({"kind": "answer"}, private_texts={"q": "x"})
    await log.close()
    os.truncate(tmp_path / "keys" / "commitments-2-1", cut)
    log = await opened(tmp_path)
    assert await log.forget(0) is (cut == 64 + 72)
    assert await log.forget(1) is False
    assert (await log.append({"kind": "answer"}, private_texts={"q": "x"})).index == 2
    assert await log.forget(2) is True
    await log.close()
    assert len(await leaves(tmp_path / "log")) == 3
