"""The file of record keys: one place for each key, on disk before it is used, gone when it is destroyed."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from node.core.errors import CorruptState, NotFound, Unavailable
from node.core.files import Files
from node.store.record_keys import AHEAD, KEY_BYTES, RESTING, RecordKeys

HEADER_BYTES = 4 * KEY_BYTES


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "keys" / "record_keys"


def sealed(keys: RecordKeys, count: int = 1) -> list[tuple[int, bytes]]:
    return [keys.seal(b"record", b"mh", f"text {number}".encode()) for number in range(count)]


def slot_bytes(path: Path, slot: int) -> bytes:
    return path.read_bytes()[HEADER_BYTES + slot * KEY_BYTES :][:KEY_BYTES]


def test_no_file_is_made_before_it_is_needed(path: Path) -> None:
    keys = RecordKeys.open(path)
    assert not keys.is_here
    assert keys.claim(()) == frozenset()
    keys.close()
    assert not path.parent.exists()


def test_what_was_sealed_opens_after_reopening_under_its_own_name_only(path: Path) -> None:
    keys = RecordKeys.open(path)
    [(slot, data)] = sealed(keys)
    mark = keys.mark("tag", "blue")
    keys.close()
    keys.close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    keys = RecordKeys.open(path)
    assert keys.unseal(b"record", b"mh", slot, data) == b"text 0"
    for what, multihash, key, bytes_ in (
        (b"alias", b"mh", slot, data),
        (b"record", b"other", slot, data),
        (b"record", b"mh", slot + 1, data),
        (b"record", b"mh", slot, data[:-1] + bytes([data[-1] ^ 1])),
        (b"record", b"mh", slot, data[:5]),
        (b"record", b"mh", slot, b""),
        (b"record", b"mh", 10**6, data),
    ):
        with pytest.raises(CorruptState):
            keys.unseal(what, multihash, key, bytes_)
    assert (keys.mark("tag", "blue"), keys.mark("tag", "red") == mark) == (mark, False)
    assert keys.mark("source_id", "blue") != mark
    keys.close()
    other = RecordKeys.open(path.with_name("other"))
    other.begin()
    assert other.mark("tag", "blue") != mark
    other.close()


def test_a_key_is_on_disk_before_it_is_used_and_many_share_a_sync(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    syncs: list[int] = []
    real = os.fsync

    def counted(fd: int) -> None:
        syncs.append(fd)
        real(fd)

    monkeypatch.setattr(os, "fsync", counted)
    keys = RecordKeys.open(path)
    made = sealed(keys)
    assert any(slot_bytes(path, made[0][0]))
    before = len(syncs)
    made += sealed(keys, AHEAD - 1)
    assert len(syncs) == before
    made += sealed(keys)
    assert len(syncs) == before + 1
    assert len({slot for slot, _ in made}) == AHEAD + 1
    keys.close()


def test_a_destroyed_key_is_overwritten_where_it_lay(path: Path) -> None:
    keys = RecordKeys.open(path)
    made = sealed(keys, 3)
    secrets = [slot_bytes(path, slot) for slot, _ in made]
    keys.destroy([made[1][0]])
    left = path.read_bytes()
    assert [secret in left for secret in secrets] == [True, False, True]
    with pytest.raises(NotFound):
        keys.unseal(b"record", b"mh", *made[1])
    assert keys.unseal(b"record", b"mh", *made[2]) == b"text 2"
    keys.destroy([made[1][0], 10**6])
    keys.close()


def test_slots_that_nobody_names_are_used_anew(path: Path) -> None:
    keys = RecordKeys.open(path)
    made = sealed(keys, 5)
    keys.close()
    keys = RecordKeys.open(path)
    kept = [slot for slot, _ in made[:2]]
    assert keys.claim(kept) == frozenset()
    size = path.stat().st_size
    again = sealed(keys, AHEAD - 2)
    assert not {slot for slot, _ in again} & set(kept)
    assert path.stat().st_size == size + 2 * KEY_BYTES
    assert [keys.unseal(b"record", b"mh", *one) for one in made[:2]] == [b"text 0", b"text 1"]
    keys.destroy([again[0][0]])
    keys.free([again[0][0]])
    assert again[0][0] not in {slot for slot, _ in sealed(keys, AHEAD)}, "a reader may still ask for its key"
    keys.free([slot for slot, _ in sealed(keys, RESTING)])
    assert again[0][0] in {slot for slot, _ in sealed(keys, 3 * AHEAD)}
    keys.close()


def test_a_key_file_that_another_store_made_meanwhile_is_not_overwritten(path: Path) -> None:
    one, other = RecordKeys.open(path), RecordKeys.open(path)
    sealed(one)
    before = path.read_bytes()
    with pytest.raises(Unavailable, match="another block store"):
        sealed(other)
    assert path.read_bytes() == before
    one.close()
    other.close()


def test_destroyed_keys_that_are_still_named_are_told(path: Path) -> None:
    keys = RecordKeys.open(path)
    slots = [slot for slot, _ in sealed(keys, 6)]
    keys.destroy(slots[:3])
    keys.close()
    keys = RecordKeys.open(path)
    assert keys.claim(slots[2:]) == {slots[2]}
    keys.close()


def test_a_disk_that_refuses_is_said_and_nothing_is_used(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = RecordKeys.open(path)
    sealed(keys, AHEAD)

    def refuse(fd: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", refuse)
        for call in (lambda: sealed(keys), lambda: keys.destroy([0])):
            with pytest.raises(Unavailable, match="No space left"):
                call()
    assert sealed(keys)
    keys.close()


def test_a_destruction_that_the_disk_does_by_half_is_ended_and_not_taken_for_damage(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = RecordKeys.open(path)
    [(slot, data)] = sealed(keys)
    write = Files.write

    def half(self: Files, fd: int, data: bytes, offset: int) -> None:
        write(self, fd, data[: len(data) // 2], offset)
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Files, "write", half)
        with pytest.raises(Unavailable, match="No space left"):
            keys.destroy([slot])
    assert keys.begun == {slot}
    with pytest.raises(NotFound):
        keys.unseal(b"record", b"mh", slot, data)
    keys.close()
    keys = RecordKeys.open(path)
    assert keys.claim([slot]) == {slot}, "known after a kill too"
    keys.destroy([slot])
    assert slot_bytes(path, slot) == bytes(KEY_BYTES)
    assert not keys.begun
    keys.close()


def test_an_empty_file_becomes_a_new_one(path: Path) -> None:
    path.parent.mkdir()
    path.touch()
    keys = RecordKeys.open(path)
    assert (keys.is_here, keys.was_empty) == (True, True)
    [(slot, data)] = sealed(keys)
    keys.close()
    keys = RecordKeys.open(path)
    assert not keys.was_empty
    assert keys.unseal(b"record", b"mh", slot, data) == b"text 0"
    keys.close()


def test_the_layout_is_the_documented_one(path: Path) -> None:
    """By bytes, as the module says it."""
    keys = RecordKeys.open(path)
    slot, data = keys.seal(b"record", b"mh", b"text")
    keys.close()
    file = path.read_bytes()
    assert file[:32] == b"neuroswarm/record-keys/v1\n".ljust(32, b"\0")
    assert hashlib.sha256(file[:96]).digest() == file[96:128]
    key = file[128 + 32 * slot :][:32]
    aad = b"neuroswarm/sealed/v1\nrecord\nmh"
    assert AESGCM(key).decrypt(data[:12], data[12:], aad) == b"text"


def test_a_file_that_was_cut_gives_no_slot_that_is_named_to_another(path: Path) -> None:
    keys = RecordKeys.open(path)
    made = sealed(keys, 3)
    keys.close()
    os.truncate(path, HEADER_BYTES + min(slot for slot, _ in made) * KEY_BYTES)
    path.chmod(0o644)
    for _ in range(2):
        keys = RecordKeys.open(path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert keys.claim([slot for slot, _ in made]) == frozenset(), "lost is not destroyed"
        for slot, data in made:
            with pytest.raises(CorruptState, match="newest copy"):
                keys.unseal(b"record", b"mh", slot, data)
        assert not {slot for slot, _ in made} & {slot for slot, _ in sealed(keys, AHEAD + 1)}
        keys.close()


def test_a_file_of_endless_room_is_refused_at_once(path: Path) -> None:
    keys = RecordKeys.open(path)
    keys.begin()
    keys.close()
    os.truncate(path, 8 * 2**30)
    with pytest.raises(CorruptState, match="not written here"):
        RecordKeys.open(path)
