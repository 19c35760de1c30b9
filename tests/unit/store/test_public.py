"""What strangers may have: public records, logs and imports, never a record of ours that is not public."""

from __future__ import annotations

import asyncio
import hashlib
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from node.core.errors import NotFound, Unavailable
from node.core.ipld.cid import BLAKE2B_256, DAG_CBOR, IDENTITY, RAW, SHA2_512, Cid
from node.core.record import Record, block_of
from node.store import public_blocks
from node.store.imported_blocks import ForeignBlocks, ForeignStore
from node.store.public_blocks import PublicReader
from node.store.sqlite import SqliteStore
from tests.record_builders import Author
from tests.references.record_store import MemoryStore
from tests.unit.store.conftest import Opened, Start

US = Author(1)
PUBLIC = US.answer("What is public?", scope="public")
SHARED = US.answer("What is shared?", scope="shared")
PRIVATE = US.answer("What is private?", scope="private:acme")


@dataclass
class Stores:
    records: SqliteStore
    log: MemoryStore
    foreign: ForeignStore
    reader: PublicReader


@pytest.fixture
async def stores(start: Start, tmp_path: Path, opened: Opened[Any]) -> Stores:
    records, log = await start(), MemoryStore(own_issuer=US.did)
    foreign = await opened(ForeignStore.open(tmp_path / "foreign.sqlite", bytes_max=2**20))
    return Stores(records, log, foreign, PublicReader(records, [log.blocks], foreign.blocks))


async def is_absent(reader: PublicReader, cid: Cid) -> bool:
    """Whether it looks as if it were nowhere, by both questions."""
    with pytest.raises(NotFound) as caught:
        await reader.get(cid)
    with pytest.raises(NotFound) as nowhere:
        await reader.get(Cid.of(b"nobody has this", cid.codec))
    assert str(caught.value) == str(nowhere.value), "absent and not public look the same"
    return not await reader.has(cid)


async def import_block(stores: Stores, record: Record) -> Cid:
    """The operator imports the record's block as a foreign one."""
    cid, data = block_of(record)
    await stores.foreign.blocks.put(cid, data)
    return cid


async def test_each_store_in_turn_by_multihash(stores: Stores) -> None:
    public = (await stores.records.records.add(PUBLIC)).cid
    logged, foreign = Cid.of(b"a tile", RAW), Cid.of(b"a fixture", RAW)
    await stores.log.blocks.put(logged, b"a tile")
    await stores.foreign.blocks.put(foreign, b"a fixture")
    for cid, data in ((public, block_of(PUBLIC)[1]), (logged, b"a tile"), (foreign, b"a fixture")):
        for codec in (RAW, DAG_CBOR, 0x70):
            assert await stores.reader.get(Cid(codec, cid.digest)) == data
            assert await stores.reader.has(Cid(codec, cid.digest))


async def test_identity_cids_answer_for_themselves(stores: Stores) -> None:
    for data in (b"", b"hello"):
        cid = Cid(RAW, data, IDENTITY)
        assert await stores.reader.get(cid) == data
        assert await stores.reader.has(cid)


async def test_other_hash_functions_by_import_only(stores: Stores) -> None:
    cid = (await stores.records.records.add(PUBLIC)).cid
    assert await is_absent(stores.reader, Cid(RAW, cid.digest, 0x1B))
    assert await is_absent(stores.reader, Cid(RAW, cid.digest, BLAKE2B_256))
    named = Cid(RAW, hashlib.sha512(b"hello").digest(), SHA2_512)
    assert await is_absent(stores.reader, named)
    await stores.foreign.blocks.put(named, b"hello")
    assert await stores.reader.get(named) == b"hello"
    assert await stores.reader.has(named)
    assert await is_absent(stores.reader, Cid.of(b"hello", RAW)), "a block is known by what it came as"


async def test_no_record_of_ours_comes_out_under_another_hash_function(stores: Stores) -> None:
    data = block_of((await stores.records.records.add(SHARED)).record)[1]
    named = Cid(DAG_CBOR, hashlib.sha512(data).digest(), SHA2_512)
    await stores.foreign.blocks.put(named, data)
    assert await is_absent(stores.reader, named)


@pytest.mark.parametrize("record", [SHARED, PRIVATE], ids=["shared", "private"])
@pytest.mark.parametrize("codec", [DAG_CBOR, RAW])
async def test_an_import_makes_no_record_of_ours_public(stores: Stores, record: Record, codec: int) -> None:
    cid = (await stores.records.records.add(record)).cid
    assert await is_absent(stores.reader, Cid(codec, cid.digest))
    await import_block(stores, record)
    assert await is_absent(stores.reader, Cid(codec, cid.digest)), "nor with an imported copy"


async def test_a_withdrawn_record_does_not_come_back_by_an_import(stores: Stores) -> None:
    cid = (await stores.records.records.add(PUBLIC)).cid
    await import_block(stores, PUBLIC)
    assert await stores.reader.has(cid)
    await stores.records.records.add(US.tombstone(cid, scope="public"))
    assert await is_absent(stores.reader, cid)


async def test_what_the_importer_alone_has_is_public(stores: Stores) -> None:
    """A block in the form of a shared record, but of nobody that this node knows: the importer had it."""
    cid = await import_block(stores, SHARED)
    assert await stores.reader.get(cid) == block_of(SHARED)[1]


def damage(folder: Path, file: str, cid: Cid) -> None:
    """Other bytes where the block lies."""
    with sqlite3.connect(folder / f"{file}.sqlite") as connection:
        connection.execute(
            "UPDATE block SET data = zeroblob(length(data)) WHERE multihash = ?", (cid.multihash,)
        )
    connection.close()


async def test_a_damaged_block_is_a_fault_unless_another_copy_is_there(
    stores: Stores, tmp_path: Path
) -> None:
    cid = (await stores.records.records.add(PUBLIC)).cid
    damage(tmp_path, "blocks", cid)
    with pytest.raises(Unavailable, match="damaged"):
        await stores.reader.get(cid)
    await import_block(stores, PUBLIC)
    assert await stores.reader.get(cid) == block_of(PUBLIC)[1]


async def test_what_was_read_is_held_until_it_is_public_no_more(stores: Stores) -> None:
    records, reader = stores.records.records, stores.reader
    withdrawn, erased = [
        (await records.add(US.answer(text, scope="public"))).cid for text in ("Withdrawn?", "Erased?")
    ]
    imported = await import_block(stores, SHARED)
    page = Cid.of(b"a page", RAW)
    await stores.foreign.blocks.put(page, b"a page")
    for cid in (withdrawn, erased, imported, page):
        assert reader.held(cid) is None
        data = await reader.get(cid)
        assert reader.held(cid) == reader.held(Cid(RAW, cid.digest)) == data
    await records.withdraw(withdrawn, "test")
    assert reader.held(withdrawn) is None
    assert await is_absent(reader, withdrawn)
    assert reader.held(erased) is not None, "what did not change stays"
    await records.add(SHARED)
    assert reader.held(imported) is None, "it is a record of ours now, and not public"
    assert await is_absent(reader, imported)
    await stores.records.blocks.delete(erased)
    assert reader.held(erased) is None
    await stores.foreign.blocks.delete(page)
    assert reader.held(page) is None
    assert await is_absent(reader, page)


async def test_what_changed_while_it_was_read_is_not_held(stores: Stores) -> None:
    cid = (await stores.records.records.add(PUBLIC)).cid
    reading = asyncio.create_task(stores.reader.get(cid))
    await asyncio.sleep(0)
    stores.reader._forget([cid.multihash])
    await reading
    assert stores.reader.held(cid) is None
    await stores.reader.get(cid)
    assert stores.reader.held(cid) is not None


async def test_what_is_held_is_bounded(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(public_blocks, "HELD_BYTES", 2_500)
    pages = [bytes([number]) * 1_000 for number in range(3)]
    cids = [Cid.of(page, RAW) for page in pages]
    for cid, page in zip(cids, pages, strict=True):
        await stores.foreign.blocks.put(cid, page)
        await stores.reader.get(cid)
        stores.reader.held(cids[0])
    assert [stores.reader.held(cid) is not None for cid in cids] == [True, False, True]


class Watched:
    """Imports that write down who asked for what."""

    def __init__(self, inner: ForeignBlocks) -> None:
        self._inner = inner
        self.asked: list[Cid] = []

    async def get(self, cid: Cid) -> bytes:
        self.asked.append(cid)
        return await self._inner.get(cid)

    async def get_many(self, cids: Sequence[Cid], bytes_max: int) -> dict[Cid, bytes]:
        self.asked += cids
        return await self._inner.get_many(cids, bytes_max)


@pytest.mark.parametrize("is_imported", [False, True], ids=["here", "imported too"])
async def test_what_is_not_public_takes_the_way_of_what_is_absent(stores: Stores, is_imported: bool) -> None:
    imports = Watched(stores.foreign.blocks)
    reader = PublicReader(stores.records, [stores.log.blocks], imports)
    private = (await stores.records.records.add(PRIVATE)).cid
    if is_imported:
        await import_block(stores, PRIVATE)
    absent = Cid.of(b"nobody has this")
    for cid in (private, absent):
        with pytest.raises(NotFound):
            await reader.get(cid)
        assert not await reader.has(cid)
        assert await reader.get_many([cid], 2**20) == {}
        assert imports.asked == [cid] * 3
        imports.asked.clear()


async def test_many_at_once_give_what_each_gives_alone(stores: Stores) -> None:
    ours = [(await stores.records.records.add(record)).cid for record in (PUBLIC, SHARED, PRIVATE)]
    withdrawn = (await stores.records.records.add(US.answer("Once?", scope="public"))).cid
    await stores.records.records.withdraw(withdrawn, "test")
    for record in (PUBLIC, SHARED, PRIVATE):
        await import_block(stores, record)
    pages = [b"a page", b"another page"]
    imported = [Cid.of(page, RAW) for page in pages]
    for cid, page in zip(imported, pages, strict=True):
        await stores.foreign.blocks.put(cid, page)
    named = Cid(DAG_CBOR, hashlib.sha512(block_of(SHARED)[1]).digest(), SHA2_512)
    await stores.foreign.blocks.put(named, block_of(SHARED)[1])
    asked = [named, Cid.of(b"nobody has this"), *ours, withdrawn, *imported, Cid(RAW, ours[0].digest)]
    public = block_of(PUBLIC)[1]
    ours_too = {ours[0]: public, Cid(RAW, ours[0].digest): public}
    assert await stores.reader.get_many(asked, 2**20) == ours_too | dict(zip(imported, pages, strict=True))
    assert await stores.reader.get_many(asked, 1) == {ours[0]: public}, "records first, then no room"
    assert await stores.reader.get_many(imported, 1) == {imported[0]: pages[0]}
    assert await stores.reader.get_many([], 2**20) == {}


async def test_many_at_once_leave_out_what_is_damaged(stores: Stores, tmp_path: Path) -> None:
    sound, damaged = (Cid.of(data, RAW) for data in (b"sound", b"damaged"))
    await stores.foreign.blocks.put(sound, b"sound")
    await stores.foreign.blocks.put(damaged, b"damaged")
    record = (await stores.records.records.add(PUBLIC)).cid
    damage(tmp_path, "foreign", damaged)
    damage(tmp_path, "blocks", record)
    assert await stores.reader.get_many([record, damaged, sound], 2**20) == {sound: b"sound"}
    with pytest.raises(Unavailable, match="damaged"):
        await stores.reader.get(damaged)
