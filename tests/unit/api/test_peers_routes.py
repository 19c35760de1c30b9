"""``/peers``: what the operator is told, what strangers are, and what peers fetch in bulk."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from node.api.peers import CAR_BYTES_MAX, CIDS_MAX, RECONCILE_BYTES_MAX, Peering
from node.core.errors import NotFound, Rejected, Unavailable
from node.core.ipld.car import CarReader
from node.core.ipld.cid import RAW, Cid
from node.core.server_settings import Server
from node.peers.rules.values import Contact, SyncReport
from tests.desk_kit import A, B, Far, Kit, identity, kit
from tests.manual_clock import ManualClock
from tests.unit.api.door import Door, application, listening
from tests.unit.ipfs.gateway.dags import Shelf

PROXIED = {"X-Forwarded-For": "192.0.2.7"}


def blocks_of(car: bytes) -> list[tuple[Cid, bytes]]:
    """The blocks of a CAR, each checked."""
    reader = CarReader()
    blocks = reader.feed(car)
    reader.finish()
    return blocks


class Site(Door):
    """The application over loopback, with what stands behind it."""

    kit: Kit
    shelf: Shelf

    async def post(self, path: str, body: object, **more: Any) -> tuple[int, bytes, Mapping[str, str]]:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = {"Content-Type": "application/json", **more.pop("headers", {})}
        return await self.get(path, "POST", data=io.BytesIO(data), headers=headers, **more)

    async def car(self, cids: Sequence[object]) -> list[tuple[Cid, bytes]]:
        status, data, headers = await self.post("/peers/blocks", {"cids": [str(cid) for cid in cids]})
        assert status == 200, data
        assert headers["Content-Type"].startswith("application/vnd.ipld.car")
        return blocks_of(data)


async def echo(message: bytes) -> bytes:
    if not message:
        raise Rejected("reconciliation: an empty message")
    return message[::-1]


@asynccontextmanager
async def served(
    folder: Path, shelf: Shelf | None = None, *, has_peers: bool = True, **more: Any
) -> AsyncIterator[Site]:
    shelf = Shelf() if shelf is None else shelf
    its = kit(folder)
    peering = Peering(its.desk, echo, **{"wait_s": 5.0, **more}) if has_peers else None
    async with (
        application(shelf, peering=peering) as app,
        listening(app) as url,
        aiohttp.ClientSession(trust_env=False) as http,
    ):
        site = Site(url, http)
        site.kit, site.shelf = its, shelf
        yield site


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with served(tmp_path / "own") as one:
        yield one


def problem(data: bytes) -> dict[str, Any]:
    document = json.loads(data)
    assert {"type", "title", "status", "detail", "instance", "request_id"} <= document.keys()
    return dict(document)


# --- how things stand -----------------------------------------------------------------------------


async def test_addresses_are_told_to_the_operator_only(site: Site, tmp_path: Path) -> None:
    other = identity(tmp_path / "other", ManualClock())
    site.kit.far[A] = Far.of(A, other)
    await site.kit.desk.add(A)
    await site.kit.store.put_contact(Contact(B, other.root, None, site.kit.clock.now()))
    await site.kit.desk.trust(A, "known", "friends")
    site.kit.rounds.results[A] = SyncReport(A, other.root, "failed", reason=f"{A} does not answer", entries=3)
    await site.kit.desk.sync(A)
    whole = json.loads(await site.body("/peers"))
    assert [peer["address"] for peer in whole["peers"]] == [A, B]
    assert [peer["source"] for peer in whole["peers"]] == ["operator", other.root]
    assert whole["peers"][0]["last"]["reason"] == f"{A} does not answer"
    for name in ("X-Forwarded-For", "Forwarded", "Via", "X-Real-IP"):
        status, data, headers = await site.get("/peers", headers={name: "for=192.0.2.7"})
        assert status == 200
        assert headers["Cache-Control"] == "private, no-store"
        assert A.encode() not in data
        assert B.encode() not in data
        told = json.loads(data)
        assert told["own"] == whole["own"]
        first, second = told["peers"]
        assert (first["root"], first["level"], first["group"]) == (other.root, "known", "friends")
        assert first["last"] == {**whole["peers"][0]["last"], "address": None, "reason": ""}
        assert (second["address"], second["source"], second["last"]) == (None, None, None)


async def test_the_identity_is_for_everybody(site: Site) -> None:
    for headers in ({}, PROXIED):
        status, data, _ = await site.get("/peers/identity", headers=headers)
        assert status == 200
        assert json.loads(data) == await site.kit.desk.identity()


async def test_a_round_is_the_operators_to_ask_for(site: Site) -> None:
    for address in (A, B):
        await site.kit.desk.add(address)
        site.kit.rounds.results[address] = SyncReport(address, None, "unchanged")
    status, data, _ = await site.post("/peers/sync", {})
    assert (status, json.loads(data)["complete"]) == (200, True)
    assert [one["address"] for one in json.loads(data)["reports"]] == [A, B]
    _, data, _ = await site.post("/peers/sync", {"address": B})
    assert [one["address"] for one in json.loads(data)["reports"]] == [B]
    site.kit.rounds.reports.clear()
    status, data, _ = await site.post("/peers/sync", {}, headers=PROXIED)
    assert (status, problem(data)["status"]) == (401, 401)
    assert site.kit.rounds.reports == {}


async def test_a_round_without_end_is_waited_for_in_vain_and_not_for_long(tmp_path: Path) -> None:
    async with served(tmp_path / "own", wait_s=0.05) as site:
        site.kit.rounds.results = {A: SyncReport(A, None, "synced"), B: SyncReport(B, None, "synced")}
        site.kit.rounds.endless.add(B)
        status, data, _ = await site.post("/peers/sync", {})
        told = json.loads(data)
        assert (status, told["complete"], [one["address"] for one in told["reports"]]) == (200, False, [A])


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"address": "nowhere"}, "address"),
        ({"address": "http://127.0.0.1:1"}, "address"),
        ({"address": "x" * 300}, "address"),
        ({"address": 5}, "address"),
        ({"addresses": []}, "addresses"),
        ([], "body"),
        (b"{", "body"),
    ],
)
async def test_what_cannot_be_synced_is_named(site: Site, body: object, field: str) -> None:
    status, data, _ = await site.post("/peers/sync", body)
    assert (status, problem(data)["field"]) == (400, field)


# --- blocks ---------------------------------------------------------------------------------------


async def test_what_is_here_comes_once_in_the_order_of_asking(site: Site) -> None:
    here = [site.shelf.put(b"block %d" % number) for number in range(300)]
    absent = [Cid.of(b"absent %d" % number, RAW) for number in range(20)]
    asked = [here[7], absent[0], *here, *absent, here[7]]
    blocks = await site.car(asked)
    assert [cid for cid, _ in blocks] == [here[7], *(cid for cid in here if cid != here[7])]
    assert dict(blocks)[here[299]] == b"block 299"
    assert await site.car([]) == []
    assert await site.car(absent) == []


async def test_what_is_damaged_here_is_left_out(tmp_path: Path) -> None:
    class Damaged(Shelf):
        """Serves one block with other bytes, and cannot read another."""

        async def get(self, cid: Cid) -> bytes:
            if cid == unreadable:
                raise Unavailable("a block is damaged here")
            return await super().get(cid)

    shelf = Damaged()
    good, altered = shelf.put(b"good"), shelf.put(b"altered")
    unreadable = Cid.of(b"unreadable", RAW)
    shelf.blocks[altered.multihash] = b"otherwise"
    async with served(tmp_path / "own", shelf) as site:
        assert await site.car([altered, unreadable, good]) == [(good, b"good")]


@pytest.mark.parametrize(
    ("body", "field", "limit"),
    [
        ({}, "cids", True),
        ({"cids": "x"}, "cids", True),
        ({"cids": [5]}, "cids", True),
        ({"cids": [""]}, "cids", True),
        ({"cids": ["b" * 129]}, "cids", True),
        ({"cids": ["bafy"] * (CIDS_MAX + 1)}, "cids", True),
        ({"cids": ["bafynonsense"]}, "cid", False),
        ({"cids": ["\ud800".encode("utf-8", "surrogatepass").decode("latin-1")]}, "cid", False),
        ({"cids": [], "all": True}, "all", False),
        (b"[]", "body", False),
    ],
)
async def test_bad_wishes_are_named_with_their_limit(
    site: Site, body: object, field: str, limit: bool
) -> None:
    status, data, _ = await site.post("/peers/blocks", body)
    told = problem(data)
    assert (status, told["field"], "limit" in told) == (400, field, limit)


async def test_a_wish_that_is_too_long_or_of_another_type_is_refused(site: Site) -> None:
    longest = {"cids": [str(Cid.of(b"%d" % number)) for number in range(CIDS_MAX)]}
    assert len(json.dumps(longest)) > 60_000
    assert (await site.post("/peers/blocks", longest))[0] == 200
    status, data, _ = await site.post("/peers/blocks", b" " * 200_000)
    assert (status, problem(data)["field"]) == (413, "body")
    status, data, _ = await site.post("/peers/blocks", {"cids": []}, headers={"Content-Type": "text/plain"})
    assert (status, problem(data)["field"]) == (400, "Content-Type")


class Made(Shelf):
    """Large blocks that are made when they are read; each is one byte over and over."""

    SIZE = 2 * 2**20

    def __init__(self) -> None:
        super().__init__()
        self.bytes_of = {Cid.of(bytes([value]) * self.SIZE, RAW): value for value in range(40)}

    async def get(self, cid: Cid) -> bytes:
        if cid not in self.bytes_of:
            raise NotFound("no such block")
        return bytes([self.bytes_of[cid]]) * self.SIZE

    async def get_many(self, cids: Sequence[Cid], bytes_max: int) -> dict[Cid, bytes]:
        return {cids[0]: await self.get(cids[0])} if cids else {}


async def test_a_car_ends_before_its_limit(tmp_path: Path) -> None:
    shelf = Made()
    async with served(tmp_path / "own", shelf) as site:
        status, data, _ = await site.post("/peers/blocks", {"cids": [str(cid) for cid in shelf.bytes_of]})
        assert status == 200
        assert CAR_BYTES_MAX - Made.SIZE - 2_000 < len(data) <= CAR_BYTES_MAX + 100
        blocks = blocks_of(data)
        assert [cid for cid, _ in blocks] == list(shelf.bytes_of)[: len(blocks)]


class Slow(Shelf):
    """Reads nothing until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.go = asyncio.Event(), asyncio.Event()

    async def get_many(self, cids: Sequence[Cid], bytes_max: int) -> dict[Cid, bytes]:
        self.asked.set()
        await self.go.wait()
        return await super().get_many(cids, bytes_max)


async def test_places_are_few_and_the_rest_is_told_when_to_come_again(tmp_path: Path) -> None:
    shelf = Slow()
    cid = shelf.put(b"x")
    async with served(tmp_path / "own", shelf, busy=asyncio.Semaphore(1)) as site:
        first = asyncio.create_task(site.car([cid]))
        await shelf.asked.wait()
        for path, body in (("/peers/blocks", {"cids": [str(cid)]}), ("/peers/reconcile", b"abc")):
            status, data, headers = await site.post(path, body)
            assert (status, problem(data)["status"]) == (429, 429)
            assert int(headers["Retry-After"]) >= 1
        assert (await site.get("/peers/identity"))[0] == 200
        shelf.go.set()
        assert await first == [(cid, b"x")]
        assert await site.car([cid]) == [(cid, b"x")]


async def test_a_store_that_fails_in_mid_stream_cuts_the_car(tmp_path: Path) -> None:
    class Failing(Shelf):
        async def get_many(self, cids: Sequence[Cid], bytes_max: int) -> dict[Cid, bytes]:
            if len(self.ahead) >= 128:
                raise Unavailable("the store is closed")
            return await super().get_many(cids, bytes_max)

    shelf = Failing()
    cids = [str(shelf.put(b"%d" % number)) for number in range(200)]
    async with served(tmp_path / "own", shelf) as site:
        with pytest.raises(aiohttp.ClientPayloadError):
            await site.post("/peers/blocks", {"cids": cids})
        assert (await site.get("/peers/identity"))[0] == 200


# --- reconciliation -------------------------------------------------------------------------------


async def test_a_message_is_answered_whatever_its_type(site: Site) -> None:
    for kind in ("application/octet-stream", "application/json", "text/plain"):
        status, data, headers = await site.post(
            "/peers/reconcile", b"abc", headers={"Content-Type": kind, **PROXIED}
        )
        assert (status, data, headers["Content-Type"]) == (200, b"cba", "application/octet-stream")
    longest = b"m" * RECONCILE_BYTES_MAX
    assert len(longest) > Server().max_body_bytes
    assert (await site.post("/peers/reconcile", longest))[:2] == (200, longest)
    status, data, _ = await site.post("/peers/reconcile", longest + b"m")
    assert (status, problem(data)["limit"]) == (413, f"{RECONCILE_BYTES_MAX} bytes")
    status, data, _ = await site.post("/peers/reconcile", b"")
    assert (status, problem(data)["field"]) == (400, "body")
    status, data, _ = await site.post("/peers/reconcile", b"abc", headers={"Content-Encoding": "gzip"})
    assert (status, problem(data)["field"]) == (400, "Content-Encoding")


# --- a node without peers -------------------------------------------------------------------------


async def test_a_node_without_peers_says_so(tmp_path: Path) -> None:
    ask: list[tuple[str, str, object]] = [
        ("GET", "/peers", None),
        ("GET", "/peers/identity", None),
        ("POST", "/peers/sync", {}),
        ("POST", "/peers/blocks", {"cids": []}),
        ("POST", "/peers/reconcile", b"abc"),
    ]
    async with served(tmp_path / "own", has_peers=False) as site:
        for method, path, body in ask:
            asked = site.get(path) if method == "GET" else site.post(path, body)
            status, data, _ = await asked
            assert (status, problem(data)["detail"]) == (404, "this node has no peers")
