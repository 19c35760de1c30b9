"""Roots and proofs: the published vectors, and a word-for-word oracle for all sizes up to 600."""

from __future__ import annotations

import pytest

from node.core.errors import Rejected
from node.core.merkle import (
    EMPTY_ROOT,
    PROOF_HASHES_MAX,
    SIZE_MAX,
    Frontier,
    check_consistency,
    check_inclusion,
    consistency_proof,
    consistency_ranges,
    inclusion_proof,
    inclusion_ranges,
    leaf_hash,
    node_hash,
    root_from,
    root_of,
    subtrees,
)
from tests.simulators.rfc6962 import Oracle
from tests.tlog_memory import MemoryLog

# The reference tree of certificate-transparency (merkle_tree_test), for RFC 6962.
CT_ENTRIES = [
    *map(bytes.fromhex, ("", "00", "10", "2021", "3031", "40414243", "5051525354555657")),
    bytes.fromhex("606162636465666768696a6b6c6d6e6f"),
]
CT_ROOTS = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]
ONE, FOUR = (  # the leaves of these entries, and below the subtrees over these
    "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
    "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
)
TWO_THREE = "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e"
FOUR_FIVE = "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a"
SIX_SEVEN = "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0"
FOUR_TO_SEVEN = "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4"
CT_INCLUSION = {
    (0, 8): [ONE, TWO_THREE, FOUR_TO_SEVEN],
    (5, 8): [FOUR, SIX_SEVEN, CT_ROOTS[4]],
    (2, 3): [CT_ROOTS[2]],
    (1, 5): [CT_ROOTS[1], TWO_THREE, FOUR],
}
CT_CONSISTENCY = {
    (1, 1): [],
    (1, 8): [ONE, TWO_THREE, FOUR_TO_SEVEN],
    (6, 8): [FOUR_FIVE, SIX_SEVEN, CT_ROOTS[4]],
    (2, 5): [TWO_THREE, FOUR],
}

SIZES = 600
ENTRIES = [b"entry %d" % index for index in range(SIZES)]


@pytest.fixture(scope="module")
def log() -> MemoryLog:
    return MemoryLog(ENTRIES)


@pytest.fixture(scope="module")
def oracle() -> Oracle:
    return Oracle(ENTRIES)


def test_the_reference_roots() -> None:
    log = MemoryLog(CT_ENTRIES)
    frontier = Frontier()
    for size, root in enumerate(CT_ROOTS):
        leaves = [leaf_hash(entry) for entry in CT_ENTRIES[:size]]
        assert root_of(leaves).hex() == root
        assert root_from(log.read, size).hex() == root
        assert frontier.root().hex() == root
        if size < len(CT_ENTRIES):
            frontier.append(leaf_hash(CT_ENTRIES[size]))
    assert EMPTY_ROOT.hex() == CT_ROOTS[0]


def test_the_reference_proofs() -> None:
    log = MemoryLog(CT_ENTRIES)
    for (index, size), expected in CT_INCLUSION.items():
        proof = inclusion_proof(log.read, index, size)
        assert [one.hex() for one in proof] == expected
        check_inclusion(leaf_hash(CT_ENTRIES[index]), index, size, proof, bytes.fromhex(CT_ROOTS[size]))
    for (old, new), expected in CT_CONSISTENCY.items():
        proof = consistency_proof(log.read, old, new)
        assert [one.hex() for one in proof] == expected
        check_consistency(old, bytes.fromhex(CT_ROOTS[old]), new, bytes.fromhex(CT_ROOTS[new]), proof)


# --- all sizes up to 600 --------------------------------------------------------------------------


def test_roots_of_all_sizes(log: MemoryLog, oracle: Oracle) -> None:
    leaves = [leaf_hash(entry) for entry in ENTRIES]
    frontier = Frontier()
    for size in range(SIZES + 1):
        root = oracle.root(0, size)
        assert root_from(log.read, size) == root
        assert frontier.root() == root
        assert frontier.size == size
        assert Frontier.at(log.read, size).root() == root
        if size % 7 == 0:
            assert root_of(leaves[:size]) == root
        if size < SIZES:
            frontier.append(leaves[size])


def sample(size: int) -> list[int]:
    """Numbers below ``size``: both ends, both sides of the split, a few more from another start each time."""
    split = 1 << ((size - 1).bit_length() - 1)
    return sorted({0, size - 1, split - 1, split, *range(size % 151, size, 151)})


def check_one_inclusion(log: MemoryLog, oracle: Oracle, index: int, size: int) -> None:
    proof = inclusion_proof(log.read, index, size)
    assert proof == oracle.inclusion(index, 0, size)
    check_inclusion(log.hashes[0, index], index, size, proof, oracle.root(0, size))


def check_one_consistency(log: MemoryLog, oracle: Oracle, old: int, new: int) -> None:
    proof = consistency_proof(log.read, old, new)
    assert proof == (oracle.consistency(old, new) if old else [])
    check_consistency(old, oracle.root(0, old), new, oracle.root(0, new), proof)


def test_proofs_of_all_sizes(log: MemoryLog, oracle: Oracle) -> None:
    for size in range(1, SIZES + 1):
        for index in range(size) if size <= 64 else sample(size):
            check_one_inclusion(log, oracle, index, size)
            check_one_consistency(log, oracle, index, size)
        check_one_consistency(log, oracle, size, size)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_every_proof_of_all_sizes(log: MemoryLog, oracle: Oracle) -> None:
    for size in range(1, SIZES + 1):
        for index in range(size):
            check_one_inclusion(log, oracle, index, size)
            check_one_consistency(log, oracle, index, size)


def test_every_other_index_size_and_shape_of_small_proofs_is_refused(oracle: Oracle) -> None:
    """Each (index, size) up to 11 with the proofs of all others: only the same turns hold, and these give the
    index away once the size is known, which the checkpoint says."""
    log = MemoryLog(ENTRIES[:11])
    for size in range(1, 12):
        for index in range(size):
            leaf, root = log.hashes[0, index], oracle.root(0, size)
            proof = inclusion_proof(log.read, index, size)
            for other_size in range(13):
                for other in range(-1, 13):
                    if inclusion_sides(other, other_size) == inclusion_sides(index, size):
                        assert other_size != size or other == index
                        continue
                    with pytest.raises(Rejected):
                        check_inclusion(leaf, other, other_size, proof, root)
            for wrong in broken(proof):
                with pytest.raises(Rejected):
                    check_inclusion(leaf, index, size, wrong, root)
            with pytest.raises(Rejected):
                check_inclusion(leaf_hash(b"another"), index, size, proof, root)
            with pytest.raises(Rejected):
                check_inclusion(leaf, index, size, proof, root[:-1])


def inclusion_sides(index: int, size: int) -> list[bool] | None:
    """The turns from the leaf up: what the proof of an index in a size is, without its hashes."""
    if not 0 <= index < size:
        return None
    return [start > index for start, _ in inclusion_ranges(index, size)]


def broken(proof: list[bytes]) -> list[list[bytes]]:
    """The proof with each hash changed, cut short, left out or doubled, and one too many at either end."""
    made = [[*proof, bytes(32)], [bytes(32), *proof], [*proof, b""]]
    for at, one in enumerate(proof):
        first, last = bytes([one[0] ^ 1]) + one[1:], one[:-1] + bytes([one[-1] ^ 128])
        for wrong in ([first], [last], [one[:31]], [], [one, one]):
            made += [[*proof[:at], *wrong, *proof[at + 1 :]]]
    return made


def test_wrong_consistency_is_refused(oracle: Oracle) -> None:
    log = MemoryLog(ENTRIES[:17])
    for new in range(1, 18):
        for old in range(new + 1):
            old_root, new_root = oracle.root(0, old), oracle.root(0, new)
            proof = consistency_proof(log.read, old, new)
            for wrong in broken(proof):
                with pytest.raises(Rejected):
                    check_consistency(old, old_root, new, new_root, wrong)
            for roots in ((leaf_hash(b"x"), new_root), (old_root, leaf_hash(b"x"))):
                if old == 0 and roots[0] == EMPTY_ROOT:
                    continue  # the empty tree is the start of any tree
                with pytest.raises(Rejected):
                    check_consistency(old, roots[0], new, roots[1], proof)
            if old != new:
                with pytest.raises(Rejected):
                    check_consistency(new, new_root, old, old_root, proof)


def test_the_empty_tree_is_the_start_of_any_other() -> None:
    root = leaf_hash(b"x")
    check_consistency(0, EMPTY_ROOT, 0, EMPTY_ROOT, [])
    check_consistency(0, EMPTY_ROOT, 1, root, [])
    for old_root, new, new_root, proof in (
        (root, 1, root, []),
        (EMPTY_ROOT, 0, root, []),
        (EMPTY_ROOT, 1, root, [root]),
    ):
        with pytest.raises(Rejected):
            check_consistency(0, old_root, new, new_root, proof)


# --- bounds ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [2**62 - 1, 2**62, 2**62 + 1, SIZE_MAX])
def test_the_largest_trees_take_bounded_work(size: int) -> None:
    for index in (0, 1, size // 2, size - 1):
        assert len(inclusion_ranges(index, size)) <= PROOF_HASHES_MAX
        with pytest.raises(Rejected):
            check_inclusion(bytes(32), index, size, [bytes(32)] * 62, bytes(32))
    assert len(consistency_ranges(size // 2, size)) <= PROOF_HASHES_MAX + 1
    assert sum(1 << level for level, _ in subtrees(0, size)) == size


def test_a_made_up_tree_of_the_largest_size_is_proven() -> None:
    """Its last leaf stands alone beside 62 complete subtrees, whose hashes can be made up."""

    def read(level: int, index: int) -> bytes:
        return leaf_hash(b"%d %d" % (level, index))

    size = SIZE_MAX
    proof = inclusion_proof(read, size - 1, size)
    check_inclusion(read(0, size - 1), size - 1, size, proof, root_from(read, size))


@pytest.mark.parametrize(("index", "size"), [(0, 0), (-1, 5), (5, 5), (6, 5), (0, -1), (0, SIZE_MAX + 1)])
def test_impossible_indexes_are_refused(index: int, size: int) -> None:
    with pytest.raises(Rejected):
        inclusion_proof(lambda level, at: bytes(32), index, size)
    with pytest.raises(Rejected):
        check_inclusion(bytes(32), index, size, [], bytes(32))


@pytest.mark.parametrize(("old", "new"), [(-1, 5), (6, 5), (0, -1), (1, SIZE_MAX + 1), (2**70, 2**70)])
def test_impossible_sizes_are_refused(old: int, new: int) -> None:
    with pytest.raises(Rejected):
        consistency_proof(lambda level, at: bytes(32), old, new)
    with pytest.raises(Rejected):
        check_consistency(old, EMPTY_ROOT, new, bytes(32), [])


@pytest.mark.parametrize(("start", "end"), [(-1, 1), (2, 1), (0, SIZE_MAX + 1)])
def test_impossible_ranges_are_refused(start: int, end: int) -> None:
    with pytest.raises(Rejected):
        subtrees(start, end)


def test_subtrees_cover_their_range_once() -> None:
    for start in range(40):
        for end in range(start, 80):
            covered: list[int] = []
            for level, index in subtrees(start, end):
                covered.extend(range(index << level, (index + 1) << level))
            assert covered == list(range(start, end))


# --- the growing edge -----------------------------------------------------------------------------


def test_append_names_every_subtree_that_it_completes() -> None:
    frontier = Frontier()
    found: dict[tuple[int, int], bytes] = {}
    for index in range(40):
        completed = frontier.append(leaf_hash(b"%d" % index))
        assert completed[0][:2] == (0, index)
        for level, at, value in completed:
            assert (level, at) not in found
            assert (at + 1) << level == index + 1
            if level:
                assert value == node_hash(found[level - 1, 2 * at], found[level - 1, 2 * at + 1])
            found[level, at] = value
    assert len(found) == 40 + 20 + 10 + 5 + 2 + 1


def test_a_copy_grows_on_its_own() -> None:
    frontier = Frontier()
    frontier.append(leaf_hash(b"a"))
    other = frontier.copy()
    other.append(leaf_hash(b"b"))
    assert (frontier.size, other.size) == (1, 2)
    assert frontier.root() == leaf_hash(b"a")
    assert other.root() == node_hash(leaf_hash(b"a"), leaf_hash(b"b"))


def test_a_full_log_takes_no_more() -> None:
    frontier = Frontier.at(lambda level, index: bytes(32), SIZE_MAX)
    with pytest.raises(Rejected, match="full"):
        frontier.append(bytes(32))
