"""Records as blocks of a CAR: which go out, and the list that leads to them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from node.app.transfer import car_file
from node.app.transfer.car_file import CarFile, listing
from node.core.errors import BadInput, Rejected, Unavailable
from node.core.ipld import dagcbor
from node.core.ipld.car import CarReader, header, section
from node.core.ipld.cid import DAG_CBOR, RAW, Cid
from node.core.ipld.ipns import IpnsName
from node.core.ipld.links import links
from node.core.record import Record, block_of
from node.store.imported_blocks import ForeignStore
from tests.manual_clock import ManualClock
from tests.record_builders import START, Author
from tests.references.record_store import MemoryStore

US = Author(1)


class Kept:
    """Names, in memory."""

    def __init__(self) -> None:
        self.records: dict[bytes, bytes] = {}

    async def put(self, name: IpnsName, data: bytes, *, by_operator: bool) -> bool:
        assert by_operator
        if data == b"bad":
            raise Rejected("no record")
        return self.records.setdefault(name.multihash, data) == data


@pytest.fixture
def records() -> MemoryStore:
    return MemoryStore(own_issuer=US.did)


@pytest.fixture
def cars(foreign: ForeignStore, records: MemoryStore) -> CarFile:
    return CarFile(foreign, Kept(), records.records, ManualClock(START))


async def exported(cars: CarFile, scope: str) -> list[tuple[Cid, bytes]]:
    found: list[tuple[Cid, bytes]] = []
    after: int | None = 0
    while after is not None:
        page = await cars.page(after, scope)
        found += page.blocks
        after = page.after
    return found


async def pieces(data: bytes, *more: bytes | Exception) -> AsyncIterator[bytes]:
    """A CAR of one block; what comes behind it may be no CAR, or not come."""
    cid = Cid.of(data, RAW)
    yield header([cid]) + section(cid, data)
    for one in more:
        if isinstance(one, Exception):
            raise one
        yield one


async def put(store: MemoryStore, *kept: Record) -> list[tuple[Cid, bytes]]:
    for record in kept:
        await store.records.add(record)
    return [block_of(record) for record in kept]


async def test_only_live_answers_of_the_scope_and_the_keys_go_out(
    cars: CarFile, records: MemoryStore
) -> None:
    key, public, shared, private, dated, old, gone = await put(
        records,
        US.key_record(US.did),
        US.answer("one", scope="public"),
        US.answer("two", scope="shared"),
        US.answer("three", scope="private:acme"),
        US.answer("four", scope="public", expires=START + timedelta(seconds=1)),
        US.answer("five", scope="public", expires=START),
        US.answer("six", scope="public"),
    )
    await put(
        records,
        US.tombstone(gone[0], scope="public"),
        US.validation(public[0], "valid", scope="public"),
    )
    assert await exported(cars, "public") == [key, public, dated]
    assert await exported(cars, "shared") == [key, shared]
    for scope in ("private", "private:acme", "all", ""):
        with pytest.raises(BadInput, match="only public"):
            await cars.page(0, scope)
    assert private not in await exported(cars, "shared")
    assert old not in await exported(cars, "public")


async def test_pages_hold_everything_once(
    cars: CarFile, records: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(car_file, "PAGE_RECORDS", 4)
    monkeypatch.setattr(car_file, "PAGE_BYTES", 5_000)
    made = await put(
        records,
        *(
            US.answer(f"q {number}", answer="x" * 2_000, scope=("public", "shared")[number % 3 == 0])
            for number in range(31)
        ),
    )
    wanted = [one for number, one in enumerate(made) if number % 3]
    assert await exported(cars, "public") == wanted


@pytest.mark.parametrize("count", [0, 1, 5, 6, 17])
def test_the_listing_leads_to_every_record(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(car_file, "LINKS_MAX", 5)
    cids = [Cid.of(bytes([number])) for number in range(count)]
    blocks = listing(cids, scope="public", time=START)
    assert len(blocks) == max(1, -(-count // 5))
    by_cid = dict(blocks)
    reached: list[Cid] = []
    cid: Cid | None = blocks[0][0]
    for number in range(len(blocks)):
        assert cid is not None
        data = by_cid[cid]
        assert Cid.of(data) == cid
        value = dagcbor.decode(data)
        fields = {name: value[name] for name in ("v", "kind", "scope", "time", "count")}
        assert fields == {
            "v": 1,
            "kind": "export",
            "scope": "public",
            "time": "2026-01-01T12:00:00Z",
            "count": count,
        }
        found = links(cid, data)
        is_last = value["next"] is None
        assert is_last == (number == len(blocks) - 1)
        cid = None if is_last else next(one for one in found if one in by_cid)
        reached += [one for one in found if one != cid]
    assert reached == cids


def test_the_largest_listing_fits_a_block() -> None:
    cids = [Cid.of(number.to_bytes(4, "big")) for number in range(2 * car_file.LINKS_MAX)]
    blocks = listing(cids, scope="shared", time=START)
    reader = CarReader()
    data = header([blocks[0][0]]) + b"".join(section(cid, data) for cid, data in blocks)
    assert reader.feed(data) == blocks
    assert max(len(data) for _, data in blocks) < 256 * 1024
    assert blocks[0][0].codec == DAG_CBOR


async def test_a_car_and_a_name_go_in(cars: CarFile, foreign: ForeignStore) -> None:
    cid = Cid.of(b"hello", RAW)

    assert (await cars.take(pieces(b"hello"))).blocks == 1
    assert await foreign.blocks.get(cid) == b"hello"
    name = IpnsName.of(bytes(range(32)))
    assert await cars.take_name(name.peer_id, b"record") == (name.text, True)
    assert await cars.take_name(name.text, b"older") == (name.text, False)
    with pytest.raises(Rejected):
        await cars.take_name("no name", b"record")
    with pytest.raises(Rejected):
        await cars.take_name(name.text, b"bad")


@pytest.mark.parametrize("scrub_fails", [False, True])
async def test_an_import_that_finds_no_room_empties_its_write_ahead_log(
    cars: CarFile, foreign: ForeignStore, monkeypatch: pytest.MonkeyPatch, scrub_fails: bool
) -> None:
    full = Unavailable("the disk is full")
    real, scrubbed = foreign.scrub, 0

    async def scrub() -> None:
        nonlocal scrubbed
        scrubbed += 1
        if scrub_fails:
            raise full
        await real()

    monkeypatch.setattr(foreign, "scrub", scrub)
    with pytest.raises(Unavailable, match="the disk is full; nothing was stored"):
        await cars.take(pieces(b"leaf", full))
    assert scrubbed == 1
    with pytest.raises(Rejected):
        await cars.take(pieces(b"leaf", b"\x05no"))
    assert scrubbed == 1, "what is refused has begun nothing"
    assert (await cars.take(pieces(b"leaf"))).blocks == 1
