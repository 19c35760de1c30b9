"""The decision log under kills, full disks, failing calls and damaged files."""

from __future__ import annotations

import asyncio
import errno
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from node.clock import ManualClock
from node.errors import CorruptState, Unavailable
from node.governance import chain
from node.governance.log import BEFORE_REPLY, BEHIND_50MS, ChainLog
from node.governance.verify import read_entries, verify_folder

ORIGIN = "did:key:zTest.neuroswarm/decisions"

CHILD = """
import asyncio, sys
from pathlib import Path
from node.clock import SystemClock
from node.errors import Unavailable
from node.governance.log import ChainLog

async def one(log, name, number):
    entry = {"kind": "answer", "n": f"{name}-{number}"}
    try:
        place = await log.append(entry, private_texts={"query": "x" * 50})
    except Unavailable:
        return False
    print(f"ack {place.index} {name}-{number}", flush=True)
    return True

async def worker(log, name):
    for number in range(100_000):
        if not await one(log, name, number):
            return

async def main(folder, origin, durability):
    folder = Path(folder)
    clock, keys = SystemClock(), folder / "keys"
    log = await ChainLog.open(folder / "log", origin, clock, durability=durability, keys=keys)
    print(f"ready {log.size()}", flush=True)
    await asyncio.gather(*(worker(log, name) for name in "abcdefgh"))
    print("full", flush=True)

asyncio.run(main(*sys.argv[1:]))
"""


def start_child(
    folder: Path, durability: str, limit: Callable[[], None] | None = None
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, str(folder), ORIGIN, durability],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path.cwd())},
        preexec_fn=limit,
    )


def acknowledged(lines: list[str]) -> dict[int, str]:
    words = [line.split() for line in lines if line.startswith("ack ") and line.endswith("\n")]
    return {int(index): name for _, index, name in words}


async def opened(folder: Path, durability: str = BEFORE_REPLY) -> ChainLog:
    return await ChainLog.open(
        folder / "log", ORIGIN, ManualClock(), durability=durability, keys=folder / "keys"
    )


def appended(folder: Path, count: int) -> None:
    async def run() -> None:
        log = await opened(folder)
        for number in range(count):
            await log.append({"kind": "answer", "n": number}, private_texts={"query": "x"})
        await log.close()

    asyncio.run(run())


def log_file(folder: Path) -> Path:
    return folder / "log" / chain.FILE_NAME


def test_nothing_acknowledged_is_lost_by_kill_9(tmp_path: Path) -> None:
    known: dict[int, str] = {}
    for acks in (3, 60, 250):
        child = start_child(tmp_path, BEFORE_REPLY)
        assert child.stdout is not None
        lines = [child.stdout.readline() for _ in range(acks)]
        child.send_signal(signal.SIGKILL)
        lines += child.stdout.readlines()
        child.wait()
        child.stdout.close()
        known |= acknowledged(lines)
    appended(tmp_path, 1)
    report = verify_folder(tmp_path / "log", origin=ORIGIN)
    assert report.ok, report
    found = {link.index: link.entry.get("n") for link in read_entries(tmp_path / "log", origin=ORIGIN)}
    assert len(known) > 250
    assert {index: found[index] for index in known} == known


def test_a_full_disk_is_said_and_leaves_whole_lines(tmp_path: Path) -> None:
    """A limit on file sizes makes writes stop in the middle of a line, as a full disk does."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))

    child = start_child(tmp_path, BEFORE_REPLY, limit)
    output, _ = child.communicate(timeout=30)
    lines = output.splitlines(keepends=True)
    assert lines[-1] == "full\n", "every append ended in words, none hung"
    known = acknowledged(lines)
    assert len(known) > 10
    report = verify_folder(tmp_path / "log", origin=ORIGIN)
    assert (report.ok, report.size) == (True, len(known)), "half a batch was taken back"
    appended(tmp_path, 2)
    report = verify_folder(tmp_path / "log", origin=ORIGIN)
    assert (report.ok, report.size) == (True, len(known) + 2), "no repair was needed"


class Failing:
    """Makes the n-th of the calls that change the disk fail; with ``partly`` a write gets half-way first."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, partly: bool = False) -> None:
        self.calls = 0
        self.fail_at = 0
        self.fail_from = 0
        for name in ("pwrite", "fsync", "ftruncate"):
            monkeypatch.setattr(os, name, self._wrapped(name, getattr(os, name), partly))

    def _wrapped(self, name: str, real: Callable[..., Any], partly: bool) -> Callable[..., Any]:
        def call(fd: int, *args: Any) -> Any:
            self.calls += 1
            if self.calls == self.fail_at or (self.fail_from and self.calls >= self.fail_from):
                if name == "pwrite" and partly:
                    data, offset = args
                    real(fd, bytes(data)[: len(data) // 2], offset)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return real(fd, *args)

        return call


@pytest.mark.parametrize("partly", [False, True])
@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_each_failing_call_of_an_append(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, partly: bool
) -> None:
    async def run() -> None:
        log = await opened(tmp_path)
        await log.append({"n": 0}, private_texts={"q": "x"})
        failing = Failing(monkeypatch, partly=partly)
        failing.fail_at = number
        with pytest.raises(Unavailable, match="No space"):
            await log.append({"n": 1}, private_texts={"q": "x"})
        assert log.health().status == "fail"
        assert (await log.append({"n": 2}, private_texts={"q": "x"})).index == 1
        assert log.health().status == "pass"
        assert failing.calls >= 4, "keys and lines, each written and synced"
        await log.close()

    asyncio.run(run())
    assert verify_folder(tmp_path / "log", origin=ORIGIN).ok
    assert [link.entry["n"] for link in read_entries(tmp_path / "log")] == [0, 2]


def test_a_disk_that_stays_broken_and_then_the_process_dies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> None:
        log = await opened(tmp_path)
        await log.append({"n": 0}, private_texts={})
        failing = Failing(monkeypatch, partly=True)
        failing.fail_from = 1
        for _ in range(3):
            with pytest.raises(Unavailable):
                await log.append({"n": 1}, private_texts={})
        await log.close()

    with monkeypatch.context():
        asyncio.run(run())
    monkeypatch.undo()
    assert verify_folder(tmp_path / "log").size == 1, "half a line may lie behind it"
    appended(tmp_path, 1)
    kinds = [
        link.entry["kind"] for link in read_entries(tmp_path / "log", origin=ORIGIN) if "kind" in link.entry
    ]
    assert kinds == ["repair", "answer"]


@pytest.mark.parametrize("fails", [1, 2, 3, 4])
def test_behind_keeps_acknowledged_lines_over_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: int
) -> None:
    async def run() -> None:
        log = await opened(tmp_path, BEHIND_50MS)
        failing = Failing(monkeypatch)
        failing.fail_at = fails
        places = [await log.append({"n": n}, private_texts={"q": "x"}) for n in range(3)]
        assert [place.index for place in places] == [0, 1, 2]
        with pytest.raises(Unavailable):
            await log.forget(0)  # comes after the failed batch, and is told
        assert log.health().status == "fail"
        with pytest.raises(Unavailable):
            await log.append({"n": 9}, private_texts={})
        await log.close()  # tries once more

    asyncio.run(run())
    assert verify_folder(tmp_path / "log", origin=ORIGIN).ok
    assert [link.entry["n"] for link in read_entries(tmp_path / "log")] == [0, 1, 2]


def test_behind_says_at_close_what_was_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        log = await opened(tmp_path, BEHIND_50MS)
        failing = Failing(monkeypatch)
        failing.fail_from = 1
        await log.append({"n": 1}, private_texts={})
        await log.append({"n": 2}, private_texts={})
        with pytest.raises(Unavailable, match="2 acknowledged"):
            await log.close()
        await log.close()

    asyncio.run(run())


def test_a_log_that_cannot_be_opened(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"a file where the folder should be")
    with pytest.raises(Unavailable, match="cannot be opened"):
        asyncio.run(opened(tmp_path))


def test_a_torn_last_line_is_cut_wherever_it_ends(tmp_path: Path) -> None:
    appended(tmp_path, 2)
    data = log_file(tmp_path).read_bytes()
    start = data.index(b"\n") + 1
    for end in [*range(start + 1, len(data), 29), len(data) - 1]:
        log_file(tmp_path).write_bytes(data[:end])
        appended(tmp_path, 1)
        links = list(read_entries(tmp_path / "log", origin=ORIGIN))
        assert [link.entry["kind"] for link in links] == ["answer", "repair", "answer"]
        assert links[1].entry["bytes_cut"] == end - start
        assert log_file(tmp_path).read_bytes().startswith(data[:start])


@pytest.mark.parametrize("tail", [b"\0" * 5_000, b"\0" * 100_000, b"{", b'{"entry":{' + b"x" * 70_000])
def test_other_tails_that_a_power_cut_leaves(tmp_path: Path, tail: bytes) -> None:
    appended(tmp_path, 2)
    data = log_file(tmp_path).read_bytes()
    log_file(tmp_path).write_bytes(data + tail)
    appended(tmp_path, 1)
    links = list(read_entries(tmp_path / "log", origin=ORIGIN))
    assert links[2].entry == {"v": 1, "kind": "repair", "bytes_cut": len(tail), "keys_without_entry": 0}
    assert log_file(tmp_path).read_bytes().startswith(data)


def test_damage_in_the_middle_stops_the_start_and_touches_nothing(tmp_path: Path) -> None:
    appended(tmp_path, 3)
    data = log_file(tmp_path).read_bytes()
    keys = (tmp_path / "keys").read_bytes()
    lines = data.splitlines(keepends=True)
    owner = [index for index, line in enumerate(lines) for _ in line]
    for at in [*range(0, len(data), 23), len(data) - 2, len(data) - 1]:
        flipped = bytearray(data)
        flipped[at] ^= 0x01
        log_file(tmp_path).write_bytes(flipped)
        with pytest.raises(CorruptState, match=f"entry {owner[at]} "):
            asyncio.run(opened(tmp_path))
        assert log_file(tmp_path).read_bytes() == bytes(flipped)
        assert (tmp_path / "keys").read_bytes() == keys


def test_lines_after_a_line_without_end_are_damage_and_not_a_torn_end(tmp_path: Path) -> None:
    appended(tmp_path, 2)
    data = log_file(tmp_path).read_bytes()
    log_file(tmp_path).write_bytes(b"x" * 70_000 + data)
    with pytest.raises(CorruptState, match="entry 0 "):
        asyncio.run(opened(tmp_path))


@pytest.mark.parametrize("cut", [0, 10, 63, 64, 70, 96])
def test_a_torn_or_lost_key_table(tmp_path: Path, cut: int) -> None:
    """A backup has no keys, and a crash may tear the table: the log goes on; those keys are gone."""
    appended(tmp_path, 2)
    os.truncate(tmp_path / "keys", cut)

    async def run() -> None:
        log = await opened(tmp_path)
        assert await log.forget(0) is (cut >= 96)
        assert await log.forget(1) is False
        assert (await log.append({"kind": "answer"}, private_texts={"q": "x"})).index == 2
        assert await log.forget(2) is True
        await log.close()

    asyncio.run(run())
    assert verify_folder(tmp_path / "log", origin=ORIGIN).size == 3
