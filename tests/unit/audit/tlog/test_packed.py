"""Bundles as they lie on disk: any gzip program opens them, and what comes out is bounded."""

from __future__ import annotations

import gzip
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.audit.tlog.packed import is_packed, pack, packed_max, place_of, unpack
from node.audit.tlog.tiles import ENTRIES, Tile
from node.core.errors import Rejected


@given(st.binary(max_size=3_000))
def test_what_is_packed_is_gzip_and_comes_back(data: bytes) -> None:
    packed = pack(data)
    assert packed == pack(data)
    assert gzip.decompress(packed) == unpack(packed, len(data)) == data
    assert len(packed) <= packed_max(len(data))


def test_what_does_not_get_smaller_stays_within_its_bound() -> None:
    data = random.Random(1).randbytes(Tile(ENTRIES, 0).bytes_max)
    packed = pack(data)
    assert len(data) < len(packed) <= packed_max(len(data))
    assert unpack(packed, len(data)) == data
    with pytest.raises(Rejected, match="more than"):
        unpack(packed, len(data) - 1)


@given(st.binary(max_size=200))
def test_anything_else_is_refused(data: bytes) -> None:
    try:
        found = unpack(data, 1_000)
    except Rejected:
        return
    assert gzip.decompress(data) == found


def test_only_complete_bundles_are_packed() -> None:
    assert place_of(Tile(ENTRIES, 1_234)) == "tile/entries/x001/234.gz"
    for tile in (Tile(ENTRIES, 1, 255), Tile(0, 1), Tile(1, 0, 3)):
        assert not is_packed(tile)
        assert place_of(tile) == tile.path
