"""The index of public answers: its pages however many answers there are, and what is no page."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, cast

import cbrrr
import pytest

from node.core.errors import Rejected
from node.core.ipld.cid import RAW, Cid
from node.core.ipld.dagcbor import BLOCK_BYTES_MAX
from node.core.ports import RecordStore
from node.ipfs.index_pages import BATCH, PAGE_ENTRIES_MAX, HeadBlock, build, encode_index, parse_index
from tests.head_world import parse_page
from tests.references.record_store import MemoryStore

HEX = [hashlib.sha256(b"%d" % number).hexdigest() for number in range(60_000)]
CID = Cid.of(b"\xa0")


class Listed:
    """The one method of a record store that is asked."""

    def __init__(self, hashes: Sequence[str]) -> None:
        self.hashes = sorted(hashes)
        self.asked = 0

    async def public_answers(self, first: str, last: str, *, limit: int = 10_000) -> list[tuple[str, Cid]]:
        assert limit <= BATCH
        self.asked += 1
        found = [one for one in self.hashes if one >= first and (not last or one < last)]
        return [(one, Cid.of(one.encode())) for one in found[:limit]]


def records(hashes: Sequence[str]) -> RecordStore:
    return cast("RecordStore", Listed(hashes))


@pytest.mark.parametrize("count", [0, 1, BATCH - 1, BATCH, BATCH + 1, 2 * BATCH, 60_000])
async def test_every_answer_is_on_its_page(count: int) -> None:
    blocks = MemoryStore(own_issuer="").blocks
    index = await build(records(HEX[:count]), blocks, {})
    assert parse_index(await blocks.get(index.cid)) == index.pages
    found: dict[str, Cid] = {}
    for prefix, page in index.pages.items():
        entries = parse_page(await blocks.get(page))
        assert all(key.startswith(prefix) for key in entries)
        found |= entries
    assert found == {one: Cid.of(one.encode()) for one in HEX[:count]}
    assert (index.written, index.left_out) == (len(index.pages), 0)
    again = await build(records(HEX[:count]), blocks, index.pages)
    assert (again.cid, again.written) == (index.cid, 0)


async def test_a_full_page_takes_no_more_and_says_so() -> None:
    blocks = MemoryStore(own_issuer="").blocks
    many = ["abc" + one[3:] for one in HEX[: PAGE_ENTRIES_MAX + 100]]
    index = await build(records([*many, "abd" + "0" * 61]), blocks, {})
    page = await blocks.get(index.pages["abc"])
    assert len(page) <= BLOCK_BYTES_MAX
    assert list(parse_page(page)) == sorted(many)[:PAGE_ENTRIES_MAX]
    assert index.left_out == 100
    assert "abd" in index.pages


async def test_the_largest_index_fits_into_a_block() -> None:
    blocks = MemoryStore(own_issuer="").blocks
    index = await build(records([f"{number:03x}" + "0" * 61 for number in range(4_096)]), blocks, {})
    assert len(await blocks.get(index.cid)) <= BLOCK_BYTES_MAX


LINK = cbrrr.CID(bytes(CID))
HEAD: dict[str, Any] = {
    "v": 1, "issuer": "did:key:z6Mk", "name": "k51", "time": "2026-01-01T00:00:00Z",
    "publications": None, "decisions": LINK, "index": LINK,
}  # fmt: skip


def test_a_head_comes_back() -> None:
    block = HeadBlock.parse(cbrrr.encode_dag_cbor(HEAD))
    assert block == HeadBlock("did:key:z6Mk", "k51", "2026-01-01T00:00:00Z", None, CID, CID)
    assert block.encode() == cbrrr.encode_dag_cbor(HEAD)


@pytest.mark.parametrize(
    "change",
    [
        *({"v": 2}, {"more": 1}, {"issuer": ""}, {"name": 7}, {"time": "x" * 1_000}, {"index": None}),
        *({"index": b"bytes"}, {"decisions": "text"}, {"publications": cbrrr.CID(bytes(Cid.of(b"", RAW)))}),
    ],
)
def test_what_is_no_head(change: dict[str, Any]) -> None:
    with pytest.raises(Rejected):
        HeadBlock.parse(cbrrr.encode_dag_cbor(HEAD | change))


@pytest.mark.parametrize(
    "value", [[], 1, None, {"ab": LINK}, {"ABC": LINK}, {"abc": 1}, {"abcd": LINK}, {"abc\n": LINK}]
)
def test_what_is_no_index(value: Any) -> None:
    data = cbrrr.encode_dag_cbor(value)
    for parse in (parse_index, HeadBlock.parse):
        with pytest.raises(Rejected):
            parse(data)
    with pytest.raises(Rejected):
        parse_index(encode_index({}) + b"\0")
