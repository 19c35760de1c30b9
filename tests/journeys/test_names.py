"""A whole node as strangers see it who know only its IPNS name: they find its public answers and nothing
else, before and after a restart, a kill, a rotation of its key, and through its daemon."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from node.core.errors import NotFound
from node.core.ipld import ipns
from node.core.ipld.car import CarReader
from node.core.ipld.cid import Cid
from node.core.ipld.ipns import IpnsName, IpnsRecord
from node.core.normalise import normalise, query_hash
from node.core.record import AnswerRecord, decode
from node.ipfs.gateway.dag import Place, resolve
from node.ipfs.head import EVERY_S
from node.ipfs.index_pages import HeadBlock
from node.ipfs.log_blocks import HASTENED_EVERY_S
from tests.faults.node_kit import Client, Jumping, start
from tests.journeys.test_cli import ran
from tests.simulators.kubo import KuboStandIn

pytestmark = pytest.mark.slow

PATIENCE_S = 30
PUBLIC: dict[str, Any] = {"sharing": {"publish": "all"}}
RECORD = "application/vnd.ipfs.ipns-record"


async def until(is_so: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not await is_so():
            await asyncio.sleep(0.05)


async def check(node: Client) -> dict[str, Any]:
    _, health, _ = await node.send("GET", "/health")
    found = health["checks"]["ipns"][0]
    assert isinstance(found, dict)
    return found


async def own_name(node: Client) -> IpnsName:
    """As its health tells it, once there is a record."""

    async def is_published() -> bool:
        return "/ipns/" in (await check(node))["output"]

    await until(is_published)
    return IpnsName.parse(
        (await check(node))["output"].rpartition("published as /ipns/")[2].partition(";")[0]
    )


async def record_of(node: Client, name: IpnsName) -> IpnsRecord:
    status, data, _ = await node.send("GET", f"/ipns/{name.text}?format=ipns-record")
    assert status == 200, data
    return ipns.decode(data, name)


async def head_of(node: Client, name: IpnsName) -> bytes:
    status, data, _ = await node.send("GET", f"{(await record_of(node, name)).value}?format=raw")
    assert status == 200, data
    return bytes(data)


async def fetch_car(node: Client, path: str) -> None:
    """It is whole."""
    status, data, _ = await node.send("GET", f"{path}?format=car")
    assert status == 200, data
    reader = CarReader()
    assert reader.feed(data)
    reader.finish()


async def follow(node: Client, name: IpnsName, query: str) -> Place:
    """What a client does that has a question and a name. Raises ``NotFound``."""

    async def get(cid: Cid) -> bytes:
        status, data, _ = await node.send("GET", f"/ipfs/{cid}?format=raw")
        if status == 404:
            raise NotFound(str(cid))
        assert status == 200, data
        assert cid.matches(data)
        return bytes(data)

    record = await record_of(node, name)
    key = query_hash(normalise(query))
    path = ("index", key[:3], key, "answer")
    return await resolve(get, Cid.parse(record.value.removeprefix("/ipfs/")), path)


async def test_who_knows_the_name_finds_every_public_answer(tmp_path: Path) -> None:
    async with start(tmp_path, **PUBLIC) as node:
        shown = await node.store("Which river is long?", "The Nile.", scope="public")
        hidden = await node.store("Which lake is near?", "Mine.", scope="private")
        shared = await node.store("Which lake is deep?", "Baikal.", scope="shared")
        name = await own_name(node)
        first = await record_of(node, name)
    async with start(tmp_path, **PUBLIC) as node:
        assert await own_name(node) == name
        place = await follow(node, name, "Which river is long?")
        record = decode(place.data)
        assert isinstance(record, AnswerRecord)
        assert (str(place.cid), record.answer) == (shown, "The Nile.")
        assert (await record_of(node, name)).sequence >= first.sequence
        for query in ("Which lake is near?", "Which lake is deep?"):
            with pytest.raises(NotFound):
                await follow(node, name, query)
        status, data, _ = await node.send("GET", f"/ipfs/{place.roots[0]}?format=raw")
        head = HeadBlock.parse(data)
        assert (status, head.name) == (200, name.text)
        assert head.decisions is not None
        status, _, _ = await node.send("GET", f"/ipfs/{head.decisions}?format=raw")
        assert status == 200
        providers = [await node.send("GET", f"/routing/v1/providers/{cid}") for cid in (hidden, shared)]
        assert all(found[:2] == (200, {"Providers": []}) for found in providers)
        _, found, _ = await node.send("GET", f"/routing/v1/providers/{shown}")
        [provider] = found["Providers"]
        port = node.url.rpartition(":")[2]
        assert provider == {
            "Schema": "peer",
            "ID": name.peer_id,
            "Addrs": [f"/ip4/127.0.0.1/tcp/{port}/http"],
            "Protocols": ["transport-ipfs-gateway-http"],
        }
        _, found, _ = await node.send("GET", f"/routing/v1/peers/{name.peer_id}")
        assert found == {"Peers": [provider]}


@pytest.mark.parametrize("how", ["withdrawn", "erased"])
async def test_what_is_no_longer_public_leaves_the_index(tmp_path: Path, how: str) -> None:
    async with start(tmp_path, **PUBLIC) as node:
        cid = await node.store("Which river is long?", "The Nile.", scope="public")
        name = await own_name(node)
    async with start(tmp_path, **PUBLIC) as node:
        await follow(node, name, "Which river is long?")
        if how == "withdrawn":
            assert await node.delete(cid) == 200
        else:
            await ran("cache", "erase", cid, folder=node.folder)
    async with start(tmp_path, **PUBLIC) as node:
        with pytest.raises(NotFound):
            await follow(node, name, "Which river is long?")
        _, found, _ = await node.send("GET", f"/routing/v1/providers/{cid}")
        assert found == {"Providers": []}


async def test_the_published_head_stays_whole_while_critical_decisions_hasten_the_logs(
    tmp_path: Path,
) -> None:
    clock = Jumping()
    async with start(tmp_path, **PUBLIC) as node:
        cids = [await node.store(f"Which river is number {n}?", "Long.", scope="public") for n in range(2)]
        name = await own_name(node)
    async with start(tmp_path, clock=clock, **PUBLIC) as node:

        async def log_head() -> str | None:
            _, health, _ = await node.send("GET", "/health")
            found = health["checks"]["log:blocks"][0].get("observedValue")
            return None if found is None else str(found)

        async def is_linked() -> bool:
            await own_name(node)
            return HeadBlock.parse(await head_of(node, name)).decisions is not None

        await until(is_linked)
        published = await record_of(node, name)
        seen = {await log_head()}
        for cid in cids:
            clock.sleep_through(seconds=HASTENED_EVERY_S - 1)
            assert await node.delete(cid) == 200
            clock.sleep_through(seconds=1)

            async def is_new() -> bool:
                return await log_head() not in seen

            await until(is_new)
            seen.add(await log_head())
            for path in ("decisions", "publications"):
                await fetch_car(node, f"{published.value}/{path}")
        clock.sleep_through(seconds=EVERY_S)

        async def is_replaced() -> bool:
            return (await record_of(node, name)).value != published.value

        await until(is_replaced)
        await fetch_car(node, (await record_of(node, name)).value)


async def test_after_a_rotation_the_old_name_leads_to_the_new_one(tmp_path: Path) -> None:
    clock = Jumping()
    async with start(tmp_path, clock=clock, **PUBLIC) as node:
        await node.store("Which river is long?", "The Nile.", scope="public")
        old = await own_name(node)
        before = await record_of(node, old)
        await ran("keys", "rotate", "node", folder=node.folder)

        async def has_moved() -> bool:
            return (await record_of(node, old)).value.startswith("/ipns/")

        await until(has_moved)
        moved = await record_of(node, old)
        new = IpnsName.parse(moved.value.removeprefix("/ipns/"))
        assert moved.sequence > before.sequence
        assert new == await own_name(node) != old
        assert len((await node.send("GET", f"/routing/v1/peers/{new.peer_id}"))[1]["Peers"]) == 1
        assert (await node.send("GET", f"/routing/v1/peers/{old.peer_id}"))[1] == {"Peers": []}
    clock.set_by(days=40)
    async with start(tmp_path, clock=clock, **PUBLIC) as node:
        await own_name(node)
        assert (await record_of(node, old)).value == f"/ipns/{new.text}", (
            "the old key is gone, its word is not"
        )

        async def is_renewed() -> bool:
            return (await node.send("GET", f"/ipns/{new.text}?format=ipns-record"))[0] == 200

        await until(is_renewed)  # its record of 40 days ago is past its time when the node starts
        assert (await follow(node, new, "Which river is long?")).inner == ("answer",)


@pytest.mark.parametrize("dialect", ["kubo", "js-ipfs"])
async def test_through_the_daemon_as_well(tmp_path: Path, dialect: str) -> None:
    async with KuboStandIn(dialect) as daemon:
        async with start(tmp_path, ipfs={"kubo_url": daemon.url}, **PUBLIC) as node:
            await node.store("Which river is long?", "The Nile.", scope="public")
            own = await own_name(node)

            async def is_told() -> bool:
                return "the daemon publishes it" in (await check(node))["output"]

            await until(is_told)
            seen = (await check(node))["output"]
        [(name, data)] = daemon.names.items()
        record = ipns.decode(data, name)
        if dialect == "kubo":
            assert name == own
        else:
            assert name.text in seen
        head = Cid.parse(record.value.removeprefix("/ipfs/"))
        place = await resolve(lambda cid: held(daemon, cid), head, river())
        assert place.inner == ("answer",)
        assert {place.cid, *place.trail} <= daemon.pinned(), "all of the way is pinned"


def river() -> tuple[str, ...]:
    key = query_hash(normalise("Which river is long?"))
    return ("index", key[:3], key, "answer")


async def held(daemon: KuboStandIn, cid: Cid) -> bytes:
    return daemon.blocks[cid.multihash]
