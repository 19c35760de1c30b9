"""The sorted set against a plain one, and its sums against big integers."""

from __future__ import annotations

import hashlib
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.core.errors import Rejected
from node.peers.rules.sorted_set import INFINITY, TIME_MAX, ZERO, Item, SortedSet, key_of

IDS = st.binary(min_size=1, max_size=2).map(lambda few: few.ljust(32, b"\0"))
ITEMS = st.builds(Item, st.integers(0, 3) | st.just(TIME_MAX), IDS | st.binary(min_size=32, max_size=32))


def numbered(count: int) -> list[Item]:
    return [Item(1_700_000_000 + n // 3, hashlib.sha256(b"%d" % n).digest()) for n in range(count)]


def expected(items: list[Item]) -> bytes:
    total = sum(int.from_bytes(item.id, "big") for item in items) % 2**256
    return hashlib.sha256(total.to_bytes(32, "big") + len(items).to_bytes(8, "big")).digest()[:16]


def prints(of: SortedSet, start: int, end: int) -> bytes:
    (found,) = of.fingerprints(np.array([start]), np.array([end]))
    return found


@given(st.lists(st.tuples(st.sampled_from(["add", "discard", "len"]), ITEMS), max_size=60))
def test_it_holds_what_a_plain_set_holds(steps: list[tuple[str, Item]]) -> None:
    ours, plain = SortedSet(), set[Item]()
    for step, item in steps:
        if step == "add":
            ours.add(item)
            plain.add(item)
        elif step == "discard":
            ours.discard(item)
            plain.discard(item)
        else:
            assert len(ours) == len(plain)
        assert (item in ours) == (item in plain)
    in_order = sorted(plain, key=key_of)
    assert ours.ids(0, len(ours)) == [item.id for item in in_order]
    assert prints(ours, 0, len(ours)) == expected(in_order)


@given(st.sets(ITEMS, max_size=40), st.data())
def test_bounds_part_the_items_where_they_should(items: set[Item], data: st.DataObject) -> None:
    ours = SortedSet(items)
    keys = sorted(map(key_of, items))
    at = data.draw(st.integers(0, len(keys)))
    bound = ours.bound(at)
    assert all(key < bound for key in keys[:at])
    assert all(key >= bound for key in keys[at:])
    assert ours.positions([bound, ZERO, INFINITY]).tolist() == [at, 0, len(keys)]
    short = bound.rstrip(b"\0")
    if 0 < at < len(keys) and len(short) > 8:
        assert keys[at - 1] >= short[:-1].ljust(40, b"\0")


def test_any_range_is_summed_also_over_block_edges_and_after_changes() -> None:
    items = sorted(numbered(1_000), key=key_of)
    ours = SortedSet(items[::2])
    len(ours)
    for item in items[1::2]:
        ours.add(item)
    for item in items[100:140]:
        ours.discard(item)
    left = items[:100] + items[140:]
    for start, end in ((0, 960), (0, 0), (31, 33), (32, 64), (1, 959), (500, 960), (96, 97), (960, 960)):
        assert prints(ours, start, end) == expected(left[start:end])


def test_sums_carry_over_the_words() -> None:
    items = [Item(0, b"\xff" * 32), Item(1, b"\xff" * 32), Item(2, b"\0" * 31 + b"\x01")]
    assert prints(SortedSet(items), 0, 3) == expected(items)


def test_changes_do_not_reach_a_snapshot_nor_its_changes_the_set() -> None:
    items = numbered(100)
    ours = SortedSet(items[:90])
    then = ours.snapshot()
    ours.discard(items[0])
    ours.add(items[95])
    then.add(items[99])
    assert (len(ours), len(then)) == (90, 91)
    assert items[0] in then
    assert items[95] not in then
    assert items[99] not in ours
    assert prints(then, 0, 91) == expected([*items[:90], items[99]])


@pytest.mark.parametrize("item", [Item(-1, b"a" * 32), Item(TIME_MAX + 1, b"a" * 32), Item(0, b"a" * 31)])
def test_what_is_no_item_is_refused(item: Item) -> None:
    with pytest.raises(Rejected, match="an item has a time"):
        SortedSet([item])


def test_an_item_takes_little_memory() -> None:
    count = 30_000
    items = (Item(n, hashlib.sha256(b"%d" % n).digest()) for n in range(count))
    tracemalloc.start()
    try:
        ours = SortedSet(items)
        assert len(ours) == count
        held, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 50 * count
    assert most < 100 * count
