"""The journal's frames and segments, on real files."""

from __future__ import annotations

from pathlib import Path

import pytest

from node.audit.log.journal import (
    FRAME_ENTRIES_MAX,
    SEGMENT_BYTES,
    SEGMENT_ENTRIES,
    Found,
    Journal,
    decode_frame,
    encode_frame,
    find,
)
from node.core.errors import CorruptState, Rejected
from node.core.files import Files

ORIGIN = "test/log"
FIRST = "0" * 20


class FailingSync(Files):
    """The next ``fails`` syncs of files fail; with ``truncates`` False truncations do too."""

    fails = 0
    truncates = True

    def sync(self, fd: int) -> None:
        if self.fails:
            self.fails -= 1
            raise OSError(5, "Input/output error")
        super().sync(fd)

    def truncate(self, fd: int, length: int) -> None:
        if not self.truncates:
            raise OSError(5, "Input/output error")
        super().truncate(fd, length)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "journal"
    made.mkdir()
    return made


def opened(folder: Path, files: Files | None = None, size: int = 0) -> Journal:
    files = files or Files()
    found = find(files, folder, ORIGIN)
    return Journal.open(files, folder, ORIGIN, found, max(size, found.end))


def written(folder: Path, *frames: list[bytes], size: int = 0) -> Path:
    """The first segment of a journal of these frames."""
    journal = opened(folder, size=size)
    for frame in frames:
        journal.write(frame)
    journal.close()
    return folder / FIRST


def found(folder: Path) -> Found:
    return find(Files(), folder, ORIGIN)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_frame_is_read_back() -> None:
    entries = [b"", b"one", b"x" * 65_535]
    data = encode_frame(ORIGIN, 7, entries)
    assert decode_frame(ORIGIN, data, 0) == (7, entries, len(data))
    assert decode_frame(ORIGIN, b"before" + data, 6) == (7, entries, len(data) + 6)


def test_a_frame_of_another_log_is_none() -> None:
    assert decode_frame("other/log", encode_frame(ORIGIN, 0, [b"x"]), 0) is None


def test_no_changed_or_missing_byte_goes_unseen() -> None:
    data = encode_frame(ORIGIN, 3, [b"one", b"two"])
    for at in range(len(data)):
        changed = bytearray(data)
        changed[at] ^= 0x10
        assert decode_frame(ORIGIN, bytes(changed), 0) is None
        assert decode_frame(ORIGIN, data[:at], 0) is None


def test_an_entry_that_no_bundle_holds_is_rejected() -> None:
    with pytest.raises(Rejected):
        encode_frame(ORIGIN, 0, [b"x" * 65_536])


def test_what_was_written_is_found(folder: Path) -> None:
    written(folder, [b"a", b"b"], [b"c"])
    there = found(folder)
    assert (there.first, there.entries, there.bytes_cut) == (0, [b"a", b"b", b"c"], 0)
    assert names(folder) == [FIRST]


def test_segments_end_at_their_limits(folder: Path) -> None:
    full = [[b"x"] * FRAME_ENTRIES_MAX] * (SEGMENT_ENTRIES // FRAME_ENTRIES_MAX)
    written(folder, *full, [b"y" * 60_000] * (SEGMENT_BYTES // 60_000 + 1), [b"z"])
    assert names(folder) == [f"{n:020}" for n in (0, 4_096, 4_096 + 18)]
    there = found(folder)
    assert (there.end, there.entries[-1]) == (4_096 + 19, b"z")


def test_finished_segments_under_a_checkpoint_are_removed(folder: Path) -> None:
    journal = opened(folder)
    for _ in range(2 * SEGMENT_ENTRIES // FRAME_ENTRIES_MAX):
        journal.write([b"x"] * FRAME_ENTRIES_MAX)
    journal.write([b"last"])
    journal.discard(SEGMENT_ENTRIES - 1)
    assert len(names(folder)) == 3
    journal.discard(SEGMENT_ENTRIES)
    assert names(folder) == [f"{4_096:020}", f"{8_192:020}"]
    journal.discard(10**9)
    assert names(folder) == [f"{8_192:020}"], "the one that is being written stays"
    journal.close()
    journal.discard(8_193)
    assert names(folder) == []


@pytest.mark.parametrize("truncates", [True, False])
def test_after_a_failed_sync_a_new_segment_counts(folder: Path, truncates: bool) -> None:
    files = FailingSync()
    journal = opened(folder, files)
    journal.write([b"a"])
    files.fails, files.truncates = 1, truncates
    with pytest.raises(OSError, match="Input"):
        journal.write([b"never acknowledged", b"nor this"])
    assert journal.size == 1
    journal.write([b"b"])
    journal.close()
    there = found(folder)
    assert (there.entries, len(there.segments)) == ([b"a", b"b"], 2)


def test_a_first_frame_that_failed_leaves_its_name_to_the_next(folder: Path) -> None:
    files = FailingSync()
    files.truncates = False
    journal = opened(folder, files)
    for _ in range(3):
        files.fails = 2
        with pytest.raises(OSError, match="Input"):
            journal.write([b"never acknowledged"])
    files.fails = 0
    journal.write([b"a"])
    journal.close()
    assert found(folder).entries == [b"a"]


def test_a_torn_end_is_cut_at_opening(folder: Path) -> None:
    path = written(folder, [b"a"])
    whole, torn = path.read_bytes(), encode_frame(ORIGIN, 1, [b"torn"])[:-1]
    path.write_bytes(whole + torn)
    assert (found(folder).entries, found(folder).bytes_cut) == ([b"a"], len(torn))
    assert path.read_bytes() != whole, "finding changes nothing"
    opened(folder).close()
    assert path.read_bytes() == whole
    written(folder, [b"b"])
    assert found(folder).entries == [b"a", b"b"]


def test_a_bad_frame_before_a_valid_one_is_damage(folder: Path) -> None:
    path = written(folder, [b"a"], [b"b"])
    data = bytearray(path.read_bytes())
    data[20] ^= 1
    path.write_bytes(data)
    with pytest.raises(CorruptState, match="entry 0 is not valid, and valid ones follow"):
        found(folder)


def test_damage_before_a_later_segment_is_damage(folder: Path) -> None:
    files = FailingSync()
    journal = opened(folder, files)
    journal.write([b"a"])
    files.fails = 1
    with pytest.raises(OSError, match="Input"):
        journal.write([b"x"])
    journal.write([b"b"])
    journal.close()
    path = folder / FIRST
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(CorruptState, match="entry 0 is not valid, and later ones are there"):
        found(folder)


def test_a_segment_under_another_name_is_damage(folder: Path) -> None:
    written(folder, [b"a"]).rename(folder / f"{5:020}")
    with pytest.raises(CorruptState, match="entry 0 stands where entry 5 should"):
        found(folder)


def test_a_file_without_end_is_damage(folder: Path) -> None:
    with (folder / FIRST).open("wb") as file:
        file.truncate(2**30)
    with pytest.raises(CorruptState, match="longer than"):
        found(folder)


def test_a_journal_behind_what_is_published_leaves_no_gap(folder: Path) -> None:
    written(folder, [b"a"])
    written(folder, [b"k"], size=10)
    there = found(folder)
    assert (there.first, there.entries) == (10, [b"k"])
