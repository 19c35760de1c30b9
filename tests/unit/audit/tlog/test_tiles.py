"""Paths, widths and bytes of tiles and bundles: the specification's examples, every tile of small logs."""

from __future__ import annotations

from itertools import islice

import pytest

from node.audit.tlog.tiles import (
    ENTRIES,
    ENTRY_BYTES_MAX,
    WIDTH,
    Tile,
    decode_bundle,
    encode_bundle,
    hash_in,
    tile_of,
    tiles_at,
    tiles_between,
)
from node.core.errors import Rejected
from node.core.merkle import SIZE_MAX, root_of
from tests.each import each
from tests.tlog_memory import MemoryLog, leaf
from tests.unit.audit.tables import rows


@pytest.mark.parametrize(
    ("tile", "path"),
    [
        (Tile(0, 1_234_067), "tile/0/x001/x234/067"),
        (Tile(ENTRIES, 1_234_067), "tile/entries/x001/x234/067"),
        (Tile(0, 0), "tile/0/000"),
        (Tile(0, 999), "tile/0/999"),
        (Tile(0, 1000), "tile/0/x001/000"),
        (Tile(0, 1234, 5), "tile/0/x001/234.p/5"),
        (Tile(ENTRIES, 7, 255), "tile/entries/007.p/255"),
        (Tile(1, 1, 17), "tile/1/001.p/17"),
        (Tile(63, 0, 1), "tile/63/000.p/1"),
        (Tile(0, SIZE_MAX), "tile/0/x009/x223/x372/x036/x854/x775/807"),
    ],
)
def test_paths(tile: Tile, path: str) -> None:
    assert tile.path == path
    assert Tile.parse(path) == tile


@each("path", rows(__file__, "no_paths.jsonl"))
def test_other_paths_are_refused(path: str) -> None:
    with pytest.raises(Rejected):
        Tile.parse(path)


@pytest.mark.parametrize(
    ("level", "index", "width"), [(-2, 0, 256), (64, 0, 256), (0, -1, 256), (0, 0, 0), (0, 0, 257)]
)
def test_impossible_tiles_are_refused(level: int, index: int, width: int) -> None:
    with pytest.raises(Rejected):
        Tile(level, index, width)


def test_the_layout_of_70_000_entries() -> None:
    """tlog-tiles, "Partial Tiles": 273 full tiles and one of 112 at level 0, one full and one of 17 at level
    1, one of width 1 at level 2."""
    tiles = list(tiles_between(0, 70_000))
    for level in (ENTRIES, 0):
        of_level = [tile for tile in tiles if tile.level == level]
        assert [tile.width for tile in of_level] == [256] * 273 + [112]
        assert [tile.index for tile in of_level] == list(range(274))
    assert [tile for tile in tiles if tile.level == 1] == [Tile(1, 0), Tile(1, 1, 17)]
    assert [tile for tile in tiles if tile.level == 2] == [Tile(2, 0, 1)]
    assert {tile.level for tile in tiles} == {ENTRIES, 0, 1, 2}
    assert tiles_at(70_000) == [Tile(ENTRIES, 273, 112), Tile(0, 273, 112), Tile(1, 1, 17), Tile(2, 0, 1)]


def test_the_layout_of_256_entries() -> None:
    assert list(tiles_between(0, 256)) == [Tile(ENTRIES, 0), Tile(0, 0), Tile(1, 0, 1)]
    assert tiles_at(256) == [Tile(1, 0, 1)]


def test_no_entries_have_no_tiles() -> None:
    assert tiles_at(0) == []
    assert not list(tiles_between(0, 0))
    assert not list(tiles_between(300, 300))


def test_partial_widths_are_the_specifications() -> None:
    for size in (1, 255, 256, 257, 65_535, 65_536, 65_537, 2**24 + 5, 2**40 + 2**17 + 3):
        expected = {level: (size // 256**level) % 256 for level in range(8)}
        found = {tile.level: tile.width for tile in tiles_at(size)}
        assert found.pop(ENTRIES, 0) == expected[0]
        assert found == {level: width for level, width in expected.items() if width}


def test_growth_writes_what_is_new_and_nothing_that_is_full_already() -> None:
    full = {tile for tile in tiles_between(0, 700) if tile.is_full}
    for old in range(0, 700, 13):
        was_full = {tile for tile in tiles_between(0, old) if tile.is_full}
        grown = list(tiles_between(old, 700))
        assert len(set(grown)) == len(grown)
        assert {tile for tile in grown if tile.is_full} == full - was_full
        # A partial tile of the new edge is missing only where nothing was added to its level.
        missing = set(tiles_at(700)) - set(grown)
        assert missing <= set(tiles_at(old))
    assert list(tiles_between(255, 256)) == [Tile(ENTRIES, 0), Tile(0, 0), Tile(1, 0, 1)]
    assert list(tiles_between(256, 257)) == [Tile(ENTRIES, 1, 1), Tile(0, 1, 1)]


def test_tiles_of_a_huge_log_come_one_at_a_time() -> None:
    assert next(tiles_between(0, SIZE_MAX)) == Tile(ENTRIES, 0)
    assert len(tiles_at(SIZE_MAX)) == 9


@pytest.mark.parametrize(("old", "new"), [(-1, 1), (2, 1), (0, SIZE_MAX + 1)])
def test_impossible_growth_is_refused(old: int, new: int) -> None:
    with pytest.raises(Rejected):
        list(tiles_between(old, new))


@pytest.mark.parametrize("size", [-1, SIZE_MAX + 1])
def test_impossible_sizes_have_no_tiles(size: int) -> None:
    with pytest.raises(Rejected):
        tiles_at(size)


def test_every_complete_subtree_is_in_its_tile() -> None:
    log = MemoryLog([b"%d" % index for index in range(66_000)])
    for size in (1, 2, 255, 256, 257, 600):
        tiles = set(tiles_between(0, size))
        for (level, index), expected in islice(log.hashes.items(), 1300):
            if (index + 1) << level <= size and index % 5 in (0, 1):
                tile, *rest = tile_of(level, index, size)
                assert tile in tiles
                assert rest == ([] if tile.is_full else [Tile(tile.level, tile.index)])
                assert hash_in(tile, log.tile_bytes(tile), level, index) == expected
    for level, index in ((8, 0), (8, 256), (12, 15), (15, 1), (16, 0), (0, 65_999), (9, 127)):
        tile = tile_of(level, index, 66_000)[0]
        assert hash_in(tile, log.tile_bytes(tile), level, index) == log.hashes[level, index]
    assert hash_in(Tile(0, 3), log.tile_bytes(Tile(0, 3)), 8, 3) == log.hashes[8, 3]
    assert root_of([log.hashes[8, index] for index in range(256)]) == log.hashes[16, 0]


@pytest.mark.parametrize(
    ("level", "index", "size"),
    [(0, 0, 0), (0, 5, 5), (1, 2, 5), (8, 0, 255), (-1, 0, 5), (0, -1, 5), (64, 0, SIZE_MAX), (0, 0, 2**63)],
)
def test_incomplete_subtrees_are_in_no_tile(level: int, index: int, size: int) -> None:
    with pytest.raises(Rejected):
        tile_of(level, index, size)


@pytest.mark.parametrize(
    ("tile", "length", "level", "index"),
    [
        (Tile(0, 0, 5), 159, 0, 0),
        (Tile(0, 0, 5), 192, 0, 0),
        (Tile(0, 0, 5), 160, 0, 5),
        (Tile(0, 0, 5), 160, 1, 2),
        (Tile(0, 0, 5), 160, 8, 0),
        (Tile(0, 0, 5), 160, 9, 0),
        (Tile(0, 1, 5), 160, 0, 0),
        (Tile(1, 0, 5), 160, 7, 0),
        (Tile(0, 0, 5), 160, 0, -1),
        (Tile(ENTRIES, 0, 5), 160, 0, 0),
    ],
)
def test_a_tile_gives_only_what_it_holds(tile: Tile, length: int, level: int, index: int) -> None:
    with pytest.raises(Rejected):
        hash_in(tile, bytes(length), level, index)


def test_bundles() -> None:
    assert encode_bundle([]) == b""
    assert encode_bundle([b"", b"ab"]) == b"\x00\x00\x00\x02ab"
    assert decode_bundle(b"\x00\x00\x00\x02ab", 2) == [b"", b"ab"]
    entries = [leaf(index) for index in range(256)]
    assert decode_bundle(encode_bundle(entries), 256) == entries
    longest = bytes(ENTRY_BYTES_MAX)
    assert decode_bundle(encode_bundle([longest]), 1) == [longest]
    assert len(encode_bundle([longest] * 2)) == Tile(ENTRIES, 0, 2).bytes_max
    assert Tile(3, 0, 2).bytes_max == 64


def test_bundles_over_the_limits_are_refused() -> None:
    with pytest.raises(Rejected):
        encode_bundle([bytes(ENTRY_BYTES_MAX + 1)])
    with pytest.raises(Rejected):
        encode_bundle([b""] * (WIDTH + 1))


def test_bundles_of_another_width_or_length_are_refused() -> None:
    data = encode_bundle([b"one", b"two", b""])
    cut = [(data[:end], 3) for end in range(len(data))]
    for bundle, width in [*((data, width) for width in (0, 1, 2, 4, 256)), *cut, (data + b"\x00", 3)]:
        with pytest.raises(Rejected):
            decode_bundle(bundle, width)
