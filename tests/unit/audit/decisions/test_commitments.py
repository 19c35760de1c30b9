"""The key table: what is destroyed is gone, and found by the record it was about."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.audit.decisions.commitments import SLOT_BYTES, TAGS_MAX, KeyTable
from node.core.errors import CorruptState

ORIGIN = "zTest.neuroswarm/decisions"


def key(number: int) -> bytes:
    return number.to_bytes(4, "big") * 8


def test_keys_come_back_until_they_are_destroyed(tmp_path: Path) -> None:
    table = KeyTable.open(tmp_path / "keys", ORIGIN)
    table.write(0, [table.slot(key(1), []), None, table.slot(key(3), ["cid"])])
    assert [table.get(index) for index in (-1, 0, 1, 2, 3)] == [None, key(1), None, key(3), None]
    assert [table.destroy(index) for index in (0, 0, 1, 3)] == [True, False, False, False]
    table.close()
    table.close()
    again = KeyTable.open(tmp_path / "keys", ORIGIN)
    assert (again.get(0), again.get(2)) == (None, key(3))
    assert key(1) not in (tmp_path / "keys").read_bytes()
    again.close()


def test_leaves_are_found_by_their_records(tmp_path: Path) -> None:
    table = KeyTable.open(tmp_path / "keys", ORIGIN)
    many = [f"part{number}" for number in range(TAGS_MAX)]
    slots = [table.slot(key(n + 1), [f"record{n % 7}", "common"]) for n in range(5_000)]
    table.write(0, [*slots, table.slot(key(9), many)])
    assert table.destroy_about("record3") == list(range(3, 5_000, 7))
    assert table.destroy_about("record3") == []
    assert table.destroy_about(many[-1]) == [5_000]
    assert table.get(4) == key(5)
    assert len(table.destroy_about("common")) == 5_000 - len(range(3, 5_000, 7))
    assert table.destroy_about("nobody") == []
    assert not any((tmp_path / "keys").read_bytes()[64:]), "nothing of them is left"
    table.close()


@given(st.lists(st.integers(0, 20), max_size=30), st.integers(0, 20))
def test_it_agrees_with_a_dictionary(about: list[int], wanted: int) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        table = KeyTable.open(Path(folder) / "keys", ORIGIN)
        table.write(0, [table.slot(key(n + 1), [str(one)]) for n, one in enumerate(about)])
        assert table.destroy_about(str(wanted)) == [n for n, one in enumerate(about) if one == wanted]
        table.close()


def test_what_never_became_leaves_is_dropped(tmp_path: Path) -> None:
    table = KeyTable.open(tmp_path / "keys", ORIGIN)
    table.write(0, [table.slot(key(n + 1), []) for n in range(5)])
    table.truncate(3)
    table.truncate(9)
    assert (table.count(), table.get(3), table.get(2)) == (3, None, key(3))
    table.close()
    assert (tmp_path / "keys").stat().st_size == 64 + 3 * SLOT_BYTES


def test_the_table_is_for_its_owner_and_its_log(tmp_path: Path) -> None:
    KeyTable.open(tmp_path / "keys", ORIGIN).close()
    assert (tmp_path / "keys").stat().st_mode & 0o777 == 0o600
    with pytest.raises(CorruptState, match="key table"):
        KeyTable.open(tmp_path / "keys", f"{ORIGIN}/2")


@pytest.mark.parametrize("found", [b"", b"neuroswarm/keys", bytes(64), bytes(20)])
def test_a_table_whose_header_a_crash_took_is_begun_again(tmp_path: Path, found: bytes) -> None:
    """A file system may keep the length of what was not synced, and zeros for its bytes."""
    (tmp_path / "keys").write_bytes(found)
    table = KeyTable.open(tmp_path / "keys", ORIGIN)
    table.write(0, [table.slot(key(1), [])])
    table.close()
    again = KeyTable.open(tmp_path / "keys", ORIGIN)
    assert again.get(0) == key(1)
    again.close()


def test_a_table_with_keys_and_no_header_is_damaged(tmp_path: Path) -> None:
    (tmp_path / "keys").write_bytes(bytes(64) + key(1))
    with pytest.raises(CorruptState, match="key table"):
        KeyTable.open(tmp_path / "keys", ORIGIN)
