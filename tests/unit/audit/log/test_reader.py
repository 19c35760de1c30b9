"""Reading a log: receipts and proofs of it hold, nothing outside of it is read, and little of it is kept."""

from __future__ import annotations

import gzip
import os
import tracemalloc
from pathlib import Path

import pytest

from node.audit.log.reader import CHECKPOINT, FolderSource, LogReader, read_bundle, read_tile, width_at
from node.audit.log.verify import verify_log
from node.audit.tlog.proofs import Receipt, check_receipt
from node.audit.tlog.tiles import Tile
from node.core import merkle
from node.core.errors import NotFound, Rejected, Unavailable
from tests.bombs import gzip_bomb
from tests.log_folders import (
    MemorySource,
    leaves,
    log_files,
    note_of,
    pack_bundles,
    signer,
    unpack_bundles,
    write_log,
)

TRUSTED = [signer().verifier]


@pytest.mark.parametrize("size", [1, 2, 3, 255, 256, 257, 513, 600])
async def test_each_receipt_holds(size: int) -> None:
    entries = leaves(size)
    reader = LogReader(MemorySource(log_files(entries)))
    note = await reader.checkpoint()
    for index in range(0, size, 1 if size < 10 else 19):
        receipt = await reader.receipt(index, note)
        assert receipt.extra == entries[index]
        opened = check_receipt(Receipt.parse(receipt.encode()), entries[index], TRUSTED, None)
        assert opened.checkpoint.size == size


async def test_proofs_between_all_sizes_hold() -> None:
    hashes = [merkle.leaf_hash(one) for one in leaves(300)]
    reader = LogReader(MemorySource(log_files(leaves(300), sizes=range(1, 300))))
    sizes = [0, 1, 2, 3, 5, 64, 127, 128, 200, 255, 256, 257, 258, 299, 300]
    for new in sizes:
        assert await reader.root(new) == merkle.root_of(hashes[:new])
        for old in (size for size in sizes if size <= new):
            proof = await reader.consistency(old, new)
            merkle.check_consistency(
                old, merkle.root_of(hashes[:old]), new, merkle.root_of(hashes[:new]), proof
            )
        for index in (size for size in sizes if size < new):
            proof = await reader.inclusion(index, new)
            merkle.check_inclusion(hashes[index], index, new, proof, merkle.root_of(hashes[:new]))


async def test_what_a_log_does_not_have_is_not_found() -> None:
    reader = LogReader(MemorySource(log_files(leaves(5))))
    note = await reader.checkpoint()
    for call in (
        reader.inclusion(5, 5),
        reader.inclusion(-1, 5),
        reader.consistency(6, 5),
        reader.entries(4, 2, 5),
        reader.entries(-1, 2, 5),
        reader.receipt(5, note),
        reader.entries(0, 1, 2**62),
        reader.inclusion(0, 2**62),
    ):
        with pytest.raises(NotFound):
            await call
    assert await reader.entries(5, 0, 5) == []


async def test_entries_come_from_as_many_bundles_as_they_lie_in() -> None:
    entries = leaves(600)
    reader = LogReader(MemorySource(log_files(entries)))
    for first, count in ((0, 600), (255, 2), (256, 256), (599, 1), (250, 300)):
        assert await reader.entries(first, count, 600) == entries[first : first + count]


async def test_no_receipt_is_made_of_damage_and_mending_is_noticed() -> None:
    entries = leaves(600)
    files = log_files(entries)
    source = MemorySource(files)
    note = await LogReader(source).checkpoint()
    for path, index in (("tile/0/000", 3), ("tile/1/000.p/2", 599), ("tile/entries/000", 255)):
        reader = LogReader(source)
        changed = bytearray(files[path])
        changed[-1] ^= 1
        source.files[path] = bytes(changed)
        for _ in range(2):
            with pytest.raises(Rejected):
                await reader.receipt(index, note)
        source.files[path] = files[path]
        await reader.receipt(index, note)
    source.files["tile/0/000"] = files["tile/0/000"][:-1]
    with pytest.raises(Rejected, match="8191 bytes"):
        await LogReader(source).receipt(3, note)


async def test_a_note_that_is_no_checkpoint_gets_no_receipt() -> None:
    reader = LogReader(MemorySource(log_files(leaves(3))))
    for note in (b"", b"text\n\nno signature\n", note_of(leaves(3, "branch"), [signer()])):
        with pytest.raises(Rejected):
            await reader.receipt(1, note)


async def test_tiles_are_kept_up_to_a_bound_in_bytes() -> None:
    source = MemorySource(log_files(leaves(256 * 5)))
    reader = LogReader(source, cache_tiles=2)
    for tile in (0, 0, 1, 1, 0):
        await reader.hash(0, tile * 256 + 7, 256 * 5)
    assert source.reads == ["tile/0/000", "tile/0/001"]
    await reader.hash(0, 512, 256 * 5)
    await reader.hash(0, 0, 256 * 5)
    await reader.hash(0, 256, 256 * 5)
    assert source.reads[2:] == ["tile/0/002", "tile/0/001"], "the one that was used longest ago had gone"


async def test_hashes_of_every_level_come_from_their_tiles() -> None:
    entries = leaves(700)
    hashes = [merkle.leaf_hash(one) for one in entries]
    reader = LogReader(MemorySource(log_files(entries)))
    for level in range(10):
        for index in range(700 >> level):
            if index % 37 == 0 or level > 5:
                expected = merkle.root_of(hashes[index << level : (index + 1) << level])
                assert await reader.hash(level, index, 700) == expected
    with pytest.raises(Rejected):
        await reader.hash(8, 2, 700)


async def test_a_partial_tile_is_cut_from_the_full_one_where_only_that_is_left() -> None:
    entries = leaves(512)
    source = MemorySource(log_files(entries))
    part = Tile(0, 1, 44)
    assert await read_tile(source, part) == source.files["tile/0/001"][: 44 * 32]
    assert await read_bundle(source, 1, 44) == entries[256:300]
    with pytest.raises(NotFound, match=r"tile/0/002\.p/1 is missing"):
        await read_tile(source, Tile(0, 2, 1))
    assert [width_at(300, number) for number in range(3)] == [256, 44, 0]


async def test_nothing_outside_the_folder_is_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    folder = tmp_path / "log"
    write_log(folder, leaves(3))
    source = FolderSource(folder)
    for path in ("../secret", "/etc/passwd", "tile/../../secret", "", ".", "tile//0", "a\0b", "tile/0/"):
        with pytest.raises((Rejected, NotFound)):
            await source.read(path, 1_000)
    (folder / "link").symlink_to(tmp_path / "secret")
    (folder / "tile" / "7").symlink_to(tmp_path)
    for path in ("link", "tile/7/secret"):
        with pytest.raises((Rejected, Unavailable, NotFound)):
            await source.read(path, 1_000)
    assert await source.partial_widths(Tile(7, 0)) == []
    assert await source.read(CHECKPOINT, 1_000)


async def test_what_is_no_plain_file_is_refused_without_waiting(tmp_path: Path) -> None:
    write_log(tmp_path, leaves(3))
    (tmp_path / CHECKPOINT).unlink()
    os.mkfifo(tmp_path / CHECKPOINT)
    source = FolderSource(tmp_path)
    with pytest.raises(Rejected):
        await source.read(CHECKPOINT, 1_000)
    with pytest.raises((Rejected, Unavailable)):
        await source.read("tile", 1_000)
    with pytest.raises(NotFound):
        await source.read("vkey/below", 1_000)
    with pytest.raises(NotFound):
        await FolderSource(tmp_path / "nowhere").read(CHECKPOINT, 1_000)


async def test_a_file_over_its_bound_is_refused(tmp_path: Path) -> None:
    (tmp_path / "vkey").write_bytes(bytes(11))
    source = FolderSource(tmp_path)
    assert await source.read("vkey", 11) == bytes(11)
    with pytest.raises(Rejected, match="more than 10 bytes"):
        await source.read("vkey", 10)


async def test_a_packed_bundle_is_read_as_the_plain_one_of_an_older_version(tmp_path: Path) -> None:
    note = write_log(tmp_path, leaves(600), sizes=[100])
    source = FolderSource(tmp_path)
    plain = await source.read("tile/entries/001", 10**6)
    [_, second] = pack_bundles(tmp_path)
    assert await source.read("tile/entries/001", 10**6) == plain
    assert source.packed_now("tile/entries/001", 10**6) == second.read_bytes()
    assert (await verify_log(source, TRUSTED)).ok
    receipt = await LogReader(source).receipt(300, note)
    assert receipt.extra == leaves(600)[300]
    for path in ("tile/entries/000.p/100", "tile/0/000"):
        assert not (tmp_path / f"{path}.gz").exists()
        assert await source.read(path, 10**6)
    unpack_bundles(tmp_path)
    assert await source.read("tile/entries/001", 10**6) == plain
    with pytest.raises(NotFound):
        source.packed_now("tile/entries/001", 10**6)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (gzip_bomb(2**30), "it holds more than 16777472 bytes"),
        (gzip.compress(b"entries") + b"x", "one whole member"),
        (gzip.compress(b"one") + gzip.compress(b"two"), "one whole member"),
        (gzip.compress(b"entries")[:-1], "one whole member"),
        (gzip.compress(b"entries")[:-8] + bytes(8), "it is not gzip"),
        (b"entries", "it is not gzip"),
        (b"", "one whole member"),
        (bytes(2**24 + 2**15), "has more than 16794313 bytes"),
    ],
    ids=["bomb", "more", "two", "cut", "sum", "plain", "empty", "long"],
)
async def test_what_is_no_packed_bundle_is_refused_by_name(tmp_path: Path, data: bytes, reason: str) -> None:
    write_log(tmp_path, leaves(256))
    (tmp_path / "tile/entries/000.gz").write_bytes(data)
    tracemalloc.start()
    with pytest.raises(Rejected, match=rf"tile/entries/000\.gz.*{reason}"):
        await read_bundle(FolderSource(tmp_path), 0, 256)
    assert tracemalloc.get_traced_memory()[1] < 3 * 2**24
    tracemalloc.stop()
    report = await verify_log(FolderSource(tmp_path), TRUSTED)
    assert (report.ok, report.where) == (False, "tile/entries/000")


async def test_a_log_below_a_folder_is_read_without_following_links(tmp_path: Path) -> None:
    note = write_log(tmp_path / "log" / "epochs" / "1", leaves(3))
    write_log(tmp_path / "elsewhere", leaves(3))
    (tmp_path / "log" / "epochs" / "2").symlink_to(tmp_path / "elsewhere")
    assert await FolderSource(tmp_path / "log", "epochs/1").read(CHECKPOINT, 1_000) == note
    with pytest.raises((NotFound, Unavailable)):
        await FolderSource(tmp_path / "log", "epochs/2").read(CHECKPOINT, 1_000)


async def test_partial_widths_are_numbers_from_1_to_255(tmp_path: Path) -> None:
    write_log(tmp_path, leaves(9), sizes=[2, 5])
    for name in ("0", "007", "256", "12x", "-1", "2560000000000", "²"):
        (tmp_path / "tile/0/000.p" / name).write_bytes(b"")
    assert await FolderSource(tmp_path).partial_widths(Tile(0, 0)) == [2, 5, 9]
