"""The journal's frames and segments, on real files."""

from __future__ import annotations

from pathlib import Path

import pytest

from node.audit.log.journal import (
    FRAME_ENTRIES_MAX,
    SEGMENT_BYTES,
    SEGMENT_ENTRIES,
    Journal,
    decode_frame,
    encode_frame,
    find,
)
from node.core.errors import CorruptState, Rejected
from node.core.files import Files

ORIGIN = "test/log"


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


def opened(folder: Path, files: Files | None = None, size: int = 0) -> Journal:
    files = files or Files()
    folder.mkdir(exist_ok=True)
    found = find(files, folder, ORIGIN)
    return Journal.open(files, folder, ORIGIN, found, max(size, found.end))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "journal").iterdir())


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


def test_what_was_written_is_found(tmp_path: Path) -> None:
    journal = opened(tmp_path / "journal")
    journal.write([b"a", b"b"])
    journal.write([b"c"])
    assert journal.size == 3
    journal.close()
    found = find(Files(), tmp_path / "journal", ORIGIN)
    assert (found.first, found.entries, found.bytes_cut) == (0, [b"a", b"b", b"c"], 0)
    assert names(tmp_path) == ["0" * 20]


def test_segments_end_at_their_limits(tmp_path: Path) -> None:
    journal = opened(tmp_path / "journal")
    for _ in range(SEGMENT_ENTRIES // FRAME_ENTRIES_MAX):
        journal.write([b"x"] * FRAME_ENTRIES_MAX)
    journal.write([b"y" * 60_000] * (SEGMENT_BYTES // 60_000 + 1))
    journal.write([b"z"])
    journal.close()
    assert names(tmp_path) == [f"{n:020}" for n in (0, 4_096, 4_096 + 18)]
    found = find(Files(), tmp_path / "journal", ORIGIN)
    assert found.end == 4_096 + 19
    assert found.entries[-1] == b"z"


def test_finished_segments_under_a_checkpoint_are_removed(tmp_path: Path) -> None:
    journal = opened(tmp_path / "journal")
    for _ in range(2 * SEGMENT_ENTRIES // FRAME_ENTRIES_MAX):
        journal.write([b"x"] * FRAME_ENTRIES_MAX)
    journal.write([b"last"])
    journal.discard(SEGMENT_ENTRIES - 1)
    assert len(names(tmp_path)) == 3
    journal.discard(SEGMENT_ENTRIES)
    assert names(tmp_path) == [f"{4_096:020}", f"{8_192:020}"]
    journal.discard(10**9)
    assert names(tmp_path) == [f"{8_192:020}"], "the one that is being written stays"
    journal.close()
    journal.discard(8_193)
    assert names(tmp_path) == []


@pytest.mark.parametrize("truncates", [True, False])
def test_after_a_failed_sync_a_new_segment_counts(tmp_path: Path, truncates: bool) -> None:
    files = FailingSync()
    journal = opened(tmp_path / "journal", files)
    journal.write([b"a"])
    files.fails, files.truncates = 1, truncates
    with pytest.raises(OSError, match="Input"):
        journal.write([b"never acknowledged", b"nor this"])
    assert journal.size == 1
    journal.write([b"b"])
    journal.close()
    found = find(Files(), tmp_path / "journal", ORIGIN)
    assert found.entries == [b"a", b"b"]
    assert len(found.segments) == 2


def test_a_first_frame_that_failed_leaves_its_name_to_the_next(tmp_path: Path) -> None:
    files = FailingSync()
    files.truncates = False
    journal = opened(tmp_path / "journal", files)
    for _ in range(3):
        files.fails = 2
        with pytest.raises(OSError, match="Input"):
            journal.write([b"never acknowledged"])
    files.fails = 0
    journal.write([b"a"])
    journal.close()
    assert find(Files(), tmp_path / "journal", ORIGIN).entries == [b"a"]


def test_a_torn_end_is_cut_at_opening(tmp_path: Path) -> None:
    journal = opened(tmp_path / "journal")
    journal.write([b"a"])
    journal.close()
    path = tmp_path / "journal" / ("0" * 20)
    whole = path.read_bytes()
    path.write_bytes(whole + encode_frame(ORIGIN, 1, [b"torn"])[:-1])
    found = find(Files(), tmp_path / "journal", ORIGIN)
    assert (found.entries, found.bytes_cut) == ([b"a"], len(encode_frame(ORIGIN, 1, [b"torn"])) - 1)
    assert path.read_bytes() != whole, "finding changes nothing"
    again = opened(tmp_path / "journal")
    assert path.read_bytes() == whole
    again.write([b"b"])
    again.close()
    assert find(Files(), tmp_path / "journal", ORIGIN).entries == [b"a", b"b"]


def test_a_bad_frame_before_a_valid_one_is_damage(tmp_path: Path) -> None:
    journal = opened(tmp_path / "journal")
    journal.write([b"a"])
    journal.write([b"b"])
    journal.close()
    path = tmp_path / "journal" / ("0" * 20)
    data = bytearray(path.read_bytes())
    data[20] ^= 1
    path.write_bytes(data)
    with pytest.raises(CorruptState, match="entry 0 is not valid, and valid ones follow"):
        find(Files(), tmp_path / "journal", ORIGIN)


def test_damage_before_a_later_segment_is_damage(tmp_path: Path) -> None:
    files = FailingSync()
    journal = opened(tmp_path / "journal", files)
    journal.write([b"a"])
    files.fails = 1
    with pytest.raises(OSError, match="Input"):
        journal.write([b"x"])
    journal.write([b"b"])
    journal.close()
    path = tmp_path / "journal" / ("0" * 20)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(CorruptState, match="entry 0 is not valid, and later ones are there"):
        find(Files(), tmp_path / "journal", ORIGIN)


def test_a_segment_under_another_name_is_damage(tmp_path: Path) -> None:
    journal = opened(tmp_path / "journal")
    journal.write([b"a"])
    journal.close()
    (tmp_path / "journal" / ("0" * 20)).rename(tmp_path / "journal" / f"{5:020}")
    with pytest.raises(CorruptState, match="entry 0 stands where entry 5 should"):
        find(Files(), tmp_path / "journal", ORIGIN)


def test_a_file_without_end_is_damage(tmp_path: Path) -> None:
    (tmp_path / "journal").mkdir()
    with (tmp_path / "journal" / ("0" * 20)).open("wb") as file:
        file.truncate(2**30)
    with pytest.raises(CorruptState, match="longer than"):
        find(Files(), tmp_path / "journal", ORIGIN)


def test_a_journal_behind_what_is_published_leaves_no_gap(tmp_path: Path) -> None:
    journal = opened(tmp_path / "journal")
    journal.write([b"a"])
    journal.close()
    journal = opened(tmp_path / "journal", size=10)
    journal.write([b"k"])
    journal.close()
    found = find(Files(), tmp_path / "journal", ORIGIN)
    assert (found.first, found.entries) == (10, [b"k"])
