"""A node that is killed while it publishes: no record is ever followed by one with a lower sequence, and what
the record on disk names is there, whole."""

from __future__ import annotations

from pathlib import Path

from node.core.ipld import ipns
from node.core.ipld.cid import Cid
from node.ipfs.index_pages import HeadBlock, parse_index
from node.store.ipns_records import Names
from node.store.sqlite import SqliteStore
from tests.faults.head_child import OWNER, US
from tests.faults.kill_kit import told_until_killed
from tests.head_world import parse_page
from tests.manual_clock import ManualClock


async def questions(blocks: SqliteStore, head: Cid) -> set[str]:
    """What the index of a head leads to; every block of it is read."""
    index = parse_index(await blocks.blocks.get(HeadBlock.parse(await blocks.blocks.get(head)).index))
    found: set[str] = set()
    for page in index.values():
        found |= parse_page(await blocks.blocks.get(page)).keys()
    return found


async def test_killed_at_any_moment_the_sequence_does_not_go_back(tmp_path: Path) -> None:
    last, listed = 0, 0
    for number, lines_max in enumerate((1, 2, 3, 7, 12)):
        said = told_until_killed("head_child", tmp_path, number, lines=lines_max)
        told = [(int(sequence), Cid.parse(head)) for sequence, head in said]
        sequences = [sequence for sequence, _ in told]
        assert sequences == sorted(set(sequences))
        assert sequences[0] > last, "the first record of a new start is above all that were handed out"
        last = sequences[-1]
        kept = ipns.decode((tmp_path / "ipns-record").read_bytes(), OWNER.name)
        assert kept.sequence >= last
        names = await Names.open(tmp_path / "names.sqlite", ManualClock(), own=OWNER.name)
        assert ipns.decode(await names.get(OWNER.name), OWNER.name).sequence >= last
        await names.close()
        blocks = await SqliteStore.open(tmp_path / "head_blocks.sqlite", own_issuer=US.did)
        for head in (told[-1][1], Cid.parse(kept.value.removeprefix("/ipfs/"))):
            found = await questions(blocks, head)
            assert len(found) >= listed + len(told) - 1
        listed = len(found)
        await blocks.close()
