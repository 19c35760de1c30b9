"""The pieces of a backup: one moment over several files, whole parts, lists and key files of liars."""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import orjson
import pytest

from node.audit.tlog.tiles import tiles_at
from node.core.errors import CorruptState, NotFound, Rejected, Unavailable
from node.store.backup import key_file
from node.store.backup.folder import BackupFolder, add_erased, read_erased
from node.store.backup.log_files import log_files
from node.store.backup.manifest import DATA, Manifest
from node.store.backup.parts import PART_BYTES
from node.store.backup.snapshot import at_one_moment, check, copy
from node.store.backup.writing import Source, write
from tests.log_folders import leaves, write_log

NOW = datetime(2026, 11, 28, 12, 0, tzinfo=UTC)


def database(path: Path, value: int) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE number (value INTEGER)")
    connection.execute("INSERT INTO number VALUES (?)", (value,))
    return connection


def value(path: Path) -> int:
    connection = sqlite3.connect(path)
    try:
        return int(connection.execute("SELECT value FROM number").fetchone()[0])
    finally:
        connection.close()


def test_several_files_are_copied_as_of_one_moment(tmp_path: Path) -> None:
    """A writer goes on with the first file and then the second; no copy is ahead in the second."""
    paths = [tmp_path / "a.sqlite", tmp_path / "b.sqlite"]
    files = [database(path, 0) for path in paths]
    is_done, stop = threading.Event(), threading.Event()

    def write() -> None:
        number = 0
        while not is_done.is_set():
            number += 1
            for file in files:
                file.execute("UPDATE number SET value = ?", (number,))

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for attempt in range(20):
            copies = [tmp_path / f"{path.stem}-{attempt}" for path in paths]
            with at_one_moment(paths, stop) as seen:
                for path, target in zip(paths, copies, strict=True):
                    copy(seen[path], target, stop)
            first, second = map(value, copies)
            assert 0 <= first - second <= 1
    finally:
        is_done.set()
        writer.join()
        for file in files:
            file.close()
    assert first > 0


def test_a_file_that_is_being_rewritten_locks_no_other(tmp_path: Path) -> None:
    """The locks are let go while the last one is waited for, so that nobody's writes fail meanwhile."""
    paths = [tmp_path / "a.sqlite", tmp_path / "b.sqlite"]
    first, second = (database(path, 1) for path in paths)
    second.execute("BEGIN IMMEDIATE")
    stop = threading.Event()
    caught: list[Exception] = []

    def take() -> None:
        try:
            with at_one_moment(paths, stop):
                pass
        except Unavailable as exc:
            caught.append(exc)

    taker = threading.Thread(target=take)
    taker.start()
    first.execute("PRAGMA busy_timeout = 5000")  # what the node's own writers bear
    for number in range(20):
        first.execute("UPDATE number SET value = ?", (number,))
    stop.set()
    taker.join()
    assert [str(one) for one in caught] == ["the backup was stopped"]
    second.execute("ROLLBACK")
    first.close()
    second.close()


def test_a_copy_of_a_damaged_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    file = database(path, 1)
    file.execute("CREATE TABLE text (value TEXT)")
    file.executemany("INSERT INTO text VALUES (?)", [("x" * 900,)] * 200)
    file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    file.close()
    check(path)
    data = bytearray(path.read_bytes())
    data[5 * 4096 : 5 * 4096 + 64] = b"\x5a" * 64
    path.write_bytes(data)
    with pytest.raises(CorruptState, match=r"a\.sqlite is damaged"):
        check(path)


def manifest_of(folder: BackupFolder, name: str, *data: bytes) -> Manifest:
    files = tuple(folder.put_bytes(f"data/{number}", one) for number, one in enumerate(data))
    return Manifest(name, "2026-11-28T12:00:00Z", folder.root, "test", 0, 0, files)


def test_a_backup_holds_the_plain_files_and_one_copy_of_each_database(tmp_path: Path) -> None:
    data = tmp_path / "data"
    for path in ("kept.json", "below/kept.bin", "keys/secret", "index/vectors", ".hidden", "below/.hidden"):
        (data / path).parent.mkdir(parents=True, exist_ok=True)
        (data / path).write_text(path)
    (data / "link").symlink_to(data / "keys" / "secret")
    node = database(data / "blocks.sqlite", 7)  # with a write-ahead log beside it
    database(data / "head_blocks.sqlite", 1).close()
    folder = BackupFolder.open(tmp_path / "bak", "did:key:zTest")
    source = Source(data, None, lambda: {"log": True, "publications": True})
    with folder.held():
        made = write(
            folder, source, name=folder.next_name(NOW), time="t", software="s", stop=threading.Event()
        )
    node.close()
    assert {one.path.removeprefix(f"{DATA}/") for one in made.files} == {
        *("kept.json", "below/kept.bin", "blocks.sqlite")
    }
    assert len(made.files) == 3


def test_what_a_killed_backup_left_is_cleared_by_the_next_one(tmp_path: Path) -> None:
    folder = BackupFolder.open(tmp_path / "bak", "did:key:zTest")
    with folder.held():
        first = folder.next_name(NOW)
        folder.write(manifest_of(folder, first, b"one" * PART_BYTES, b"two"))
    killed = BackupFolder.open(tmp_path / "bak", "did:key:zTest")
    killed.work.mkdir(exist_ok=True)
    (killed.work / "blocks.sqlite").write_bytes(b"half")
    killed.parts.put(b"three" * 100)
    killed.parts.settle()
    killed.parts.put(b"never settled")
    again = BackupFolder.open(tmp_path / "bak", "did:key:zTest")
    again.check(again.read(first))
    with again.held():
        second = again.next_name(NOW)
        assert not list(again.work.iterdir())
        again.write(manifest_of(again, second, b"two", b"never settled"))
        again.check(again.read(second))
        assert again.keep(1) == [first]
    assert again.names() == [second]
    assert first < second
    left = [path for path in (tmp_path / "bak" / "parts").rglob("*") if path.is_file()]
    assert {path.name for path in left} == again.read(second).parts()
    with pytest.raises(NotFound):
        again.read(first)


def test_a_part_that_is_not_what_its_name_says_is_never_taken(tmp_path: Path) -> None:
    folder = BackupFolder.open(tmp_path / "bak", "did:key:zTest")
    with folder.held():
        manifest = manifest_of(folder, folder.next_name(NOW), b"a letter")
        folder.write(manifest)
    [kept] = manifest.files
    [part] = kept.parts
    path = tmp_path / "bak" / "parts" / part[:2] / part
    path.write_bytes(b"A letter")
    with pytest.raises(CorruptState, match="damaged"):
        folder.take(kept, tmp_path / "out")
    with pytest.raises(CorruptState):
        folder.check(manifest)
    path.write_bytes(b"a letter")
    with pytest.raises(CorruptState, match="8 bytes"):
        folder.take(replace(kept, size=9), tmp_path / "out2")


@pytest.mark.parametrize("spoil", [b'"files":[', b'"time":"', b'"struck":0'])
def test_a_list_of_a_liar_is_refused(tmp_path: Path, spoil: bytes) -> None:
    folder = BackupFolder.open(tmp_path / "bak", "did:key:zTest")
    body = manifest_of(folder, "000001-20261128T120000Z", b"x").encode().split(b"\n", 1)[1]
    said = {b'"files":[': b'"files":[7,', b'"time":"': b'"time":7,"x":"', b'"struck":0': b'"struck":-1'}
    body = body.replace(spoil, said[spoil], 1)
    data = hashlib.sha256(body).hexdigest().encode() + b"\n" + body
    with pytest.raises(CorruptState):
        Manifest.decode(data, "000001-20261128T120000Z")


def test_a_line_that_was_cut_short_spoils_no_other(tmp_path: Path) -> None:
    path = tmp_path / "erased"
    assert read_erased(path) == []
    add_erased(path, ["bafyone"])
    with path.open("ab") as file:
        file.write(b"\nbafyt")  # and then the power went
    add_erased(path, ["bafythree"])
    assert read_erased(path) == ["bafyone", "bafyt", "bafythree"]


def test_a_key_file_opens_with_its_passphrase_alone() -> None:
    keys = {"root.pem": b"secret " * 9, "record_keys": bytes(range(256))}
    sealed = key_file.seal(keys, "a long passphrase")
    assert key_file.is_sealed(sealed)
    assert b"c2VjcmV0" not in sealed
    assert key_file.open_keys(sealed, "a long passphrase") == keys
    with pytest.raises(Rejected):
        key_file.open_keys(sealed, "another passphrase")
    plain = key_file.seal(keys, "")
    assert not key_file.is_sealed(plain)
    assert key_file.open_keys(plain, "") == keys


def test_a_key_file_of_a_liar_costs_nothing_and_leads_nowhere() -> None:
    sealed = orjson.loads(key_file.seal({"a": b"b"}, "a long passphrase"))
    sealed["kdf"]["n"] = 2**30
    with pytest.raises(CorruptState, match="key derivation"):
        key_file.open_keys(orjson.dumps(sealed), "a long passphrase")
    for name in ("../x", "a/b", "", ".."):
        with pytest.raises(CorruptState):
            key_file.open_keys(key_file.seal({name: b"x"}, ""), "")
    for data in (b"", b"{}", b"[]", b'{"format":"neuroswarm/keys/v1"}'):
        with pytest.raises(CorruptState):
            key_file.open_keys(data, "")


def test_of_a_log_only_what_its_checkpoint_needs_is_copied(tmp_path: Path) -> None:
    """A log that is published after each entry leaves a partial bundle of every width beside the next."""
    write_log(tmp_path, leaves(300), sizes=range(1, 300))
    assert len(list((tmp_path / "tile").rglob("*.p/*"))) > 500
    found = log_files(tmp_path, with_journal=False)
    assert found is not None
    assert set(found.never_change) == {"tile/entries/000", "tile/0/000"}
    assert set(found.others) == {"vkey", *(tile.path for tile in tiles_at(300))}


def test_what_is_new_in_a_backup_is_counted_by_its_parts(tmp_path: Path) -> None:
    """A file that went while a log was copied leaves parts behind that are no part of the backup."""
    parts = BackupFolder.open(tmp_path / "bak", "did:key:z1").parts
    first = parts.put(b"there already")
    parts.settle()
    parts = BackupFolder.at(tmp_path / "bak").parts
    assert parts.put(b"there already") == first
    second = parts.put(b"new")
    assert parts.new == {second: 3}
    parts.abandon()
