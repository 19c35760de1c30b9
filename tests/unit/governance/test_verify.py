"""The checker: whatever is changed, it names the entry."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from node.clock import ManualClock
from node.errors import NotFound
from node.governance import chain
from node.governance.memory import MemoryLog
from node.governance.verify import verify_folder

ORIGIN = "did:key:zTest.neuroswarm/decisions"


def made_lines(count: int, origin: str = ORIGIN) -> list[bytes]:
    async def run() -> list[bytes]:
        log = MemoryLog(origin, ManualClock())
        for number in range(count):
            await log.append(
                {"v": 1, "kind": "answer", "n": number, "steps": [{"outcome": "hit"}]},
                private_texts={"query": "what", "answer": "that"},
            )
        return log.lines()

    return [line + b"\n" for line in asyncio.run(run())]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / chain.FILE_NAME


def test_a_good_log(file: Path) -> None:
    lines = made_lines(4)
    file.write_bytes(b"".join(lines))
    for report in (verify_folder(file.parent), verify_folder(file), verify_folder(file, origin=ORIGIN)):
        assert report.ok
        assert (report.size, report.head) == (4, chain.digest_of(lines[-1][:-1]))


def test_an_empty_log_is_good_and_a_missing_one_is_not_found(file: Path) -> None:
    with pytest.raises(NotFound):
        verify_folder(file.parent)
    file.write_bytes(b"")
    assert verify_folder(file.parent).ok


@pytest.mark.parametrize("mask", [0x01, 0x80, 0x20])
def test_each_flipped_byte_is_found_and_its_entry_named(file: Path, mask: int) -> None:
    lines = made_lines(3)
    data = b"".join(lines)
    owner = [index for index, line in enumerate(lines) for _ in line]
    for at in range(len(data)):
        flipped = bytearray(data)
        flipped[at] ^= mask
        file.write_bytes(flipped)
        report = verify_folder(file)
        assert not report.ok
        assert report.first_bad == owner[at], f"byte {at}"
        assert report.size == owner[at]
        assert report.reason


def test_a_line_taken_out_put_in_or_moved(file: Path) -> None:
    lines = made_lines(5)
    for changed, bad in [
        (lines[:1] + lines[2:], 1),
        ([lines[0], lines[2], lines[1], *lines[3:]], 1),
        ([*lines[:3], lines[2], *lines[3:]], 3),
        (lines[1:], 0),
    ]:
        file.write_bytes(b"".join(changed))
        assert verify_folder(file).first_bad == bad


def test_a_line_rewritten_with_a_right_hash_shows_in_the_next(file: Path) -> None:
    lines = made_lines(4)
    old = chain.unframe(lines[1][:-1])
    lines[1] = chain.compose(b'{"kind":"answer"}', index=1, prev=old.prev, time_us=old.time_us) + b"\n"
    file.write_bytes(b"".join(lines))
    assert verify_folder(file).first_bad == 2


def test_a_torn_end(file: Path) -> None:
    data = b"".join(made_lines(2))
    file.write_bytes(data[:-10])
    report = verify_folder(file)
    assert (report.ok, report.size, report.first_bad) == (False, 1, 1)


def test_a_line_without_end_is_read_in_bounded_memory(file: Path) -> None:
    file.write_bytes(b"x" * 5_000_000)
    report = verify_folder(file)
    assert report.first_bad == 0
    assert "too long" in report.reason


def test_another_logs_lines_are_refused_when_the_origin_is_named(file: Path) -> None:
    file.write_bytes(b"".join(made_lines(2, "other/decisions")))
    assert verify_folder(file).ok
    assert verify_folder(file, origin=ORIGIN).first_bad == 0
