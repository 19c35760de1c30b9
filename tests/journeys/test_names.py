"""A whole node as strangers see it who know only its IPNS name: they find its public answers and nothing
else, before and after a restart, a kill, a rotation of its key, and through its daemon."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from node.core.errors import NotFound
from node.core.ipld import ipns
from node.core.ipld.cid import Cid
from node.core.ipld.ipns import IpnsName, IpnsRecord
from node.core.normalise import normalise, query_hash
from node.core.record import AnswerRecord, decode
from node.ipfs.gateway.dag import Place, resolve
from node.ipfs.head import EVERY_S
from node.ipfs.index_pages import HeadBlock
from node.ipfs.log_blocks import HASTENED_EVERY_S
from tests.faults.car_kit import read_car
from tests.faults.node_kit import Client, Jumping, child, eventually, start
from tests.journeys.test_cli import ran
from tests.simulators.kubo import KuboStandIn

pytestmark = pytest.mark.slow

PUBLIC: dict[str, Any] = {"sharing": {"publish": "all"}}
RECORD = "application/vnd.ipfs.ipns-record"


async def own_name(node: Client) -> IpnsName:
    """As its health tells it, once there is a record."""
    check = await eventually(lambda: node.check("ipns"), lambda it: "/ipns/" in it["output"])
    return IpnsName.parse(check["output"].rpartition("published as /ipns/")[2].partition(";")[0])


async def record_of(node: Client, name: IpnsName) -> IpnsRecord:
    status, data, _ = await node.send("GET", f"/ipns/{name.text}?format=ipns-record")
    assert status == 200, data
    return ipns.decode(data, name)


async def fetch_car(node: Client, path: str) -> None:
    """It is whole."""
    status, data, _ = await node.send("GET", f"{path}?format=car")
    assert status == 200, data
    assert read_car(data)[1]


def path_of(query: str) -> tuple[str, ...]:
    """Where a head has the answer to a question."""
    key = query_hash(normalise(query))
    return ("index", key[:3], key, "answer")


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
    return await resolve(get, Cid.parse(record.value.removeprefix("/ipfs/")), path_of(query))


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
            found: str | None = (await node.check("log:blocks")).get("observedValue")
            return found

        async def linked() -> bool:
            await own_name(node)
            _, data, _ = await node.send("GET", f"{(await record_of(node, name)).value}?format=raw")
            return HeadBlock.parse(data).decisions is not None

        await eventually(linked)
        published = await record_of(node, name)
        seen = {await log_head()}
        for cid in cids:
            clock.sleep_through(seconds=HASTENED_EVERY_S - 1)
            assert await node.delete(cid) == 200
            clock.sleep_through(seconds=1)
            seen.add(await eventually(log_head, lambda head: head not in seen))
            for path in ("decisions", "publications"):
                await fetch_car(node, f"{published.value}/{path}")
        clock.sleep_through(seconds=EVERY_S)
        newer = await eventually(lambda: record_of(node, name), lambda one: one.value != published.value)
        await fetch_car(node, newer.value)


async def test_after_a_rotation_the_old_name_leads_to_the_new_one(tmp_path: Path) -> None:
    clock = Jumping()
    async with start(tmp_path, clock=clock, **PUBLIC) as node:
        await node.store("Which river is long?", "The Nile.", scope="public")
        old = await own_name(node)
        before = await record_of(node, old)
        await ran("keys", "rotate", "node", folder=node.folder)
        moved = await eventually(lambda: record_of(node, old), lambda one: one.value.startswith("/ipns/"))
        new = IpnsName.parse(moved.value.removeprefix("/ipns/"))
        assert moved.sequence > before.sequence
        assert new == await own_name(node) != old
        assert len((await node.send("GET", f"/routing/v1/peers/{new.peer_id}"))[1]["Peers"]) == 1
        assert (await node.send("GET", f"/routing/v1/peers/{old.peer_id}"))[1] == {"Peers": []}
    clock.sleep_through(days=40)
    async with start(tmp_path, clock=clock, **PUBLIC) as node:
        await own_name(node)
        last = await record_of(node, old)
        assert last.value == f"/ipns/{new.text}", "the old key is gone, its word is not"
        # its record of 40 days ago is past its time when the node starts
        await eventually(
            lambda: node.get(f"/ipns/{new.text}?format=ipns-record"), lambda found: found[0] == 200
        )
        assert (await follow(node, new, "Which river is long?")).inner == ("answer",)


@pytest.mark.parametrize("dialect", ["kubo", "js-ipfs"])
async def test_through_the_daemon_as_well(tmp_path: Path, dialect: str) -> None:
    async with KuboStandIn(dialect) as daemon:
        async with start(tmp_path, ipfs={"kubo_url": daemon.url}, **PUBLIC) as node:
            await node.store("Which river is long?", "The Nile.", scope="public")
            own = await own_name(node)
            told = await eventually(
                lambda: node.check("ipns"), lambda it: "the daemon publishes it" in it["output"]
            )
        [(name, data)] = daemon.names.items()
        record = ipns.decode(data, name)
        if dialect == "kubo":
            assert name == own
        else:
            assert name.text in told["output"]
        head = Cid.parse(record.value.removeprefix("/ipfs/"))

        async def held(cid: Cid) -> bytes:
            return daemon.blocks[cid.multihash]

        place = await resolve(held, head, path_of("Which river is long?"))
        assert place.inner == ("answer",)
        assert {place.cid, *place.trail} <= daemon.pinned(), "all of the way is pinned"


async def test_a_killed_node_goes_on_above_what_it_had_published(tmp_path: Path) -> None:
    own = {"NEUROSWARM_SHARING__PUBLISH": "all"}
    last: IpnsRecord | None = None
    for number in range(2):
        async with child(tmp_path, **own) as (process, node):
            name = await own_name(node)
            record = await record_of(node, name)
            assert last is None or record.sequence >= last.sequence
            assert last is None or record == last or ipns.better(record, last)
            last = record
            await node.store(f"Which river is number {number}?", "Long.", scope="public")
            process.process.kill()
            await process.process.wait()
    kept = ipns.decode((tmp_path / "data" / "keys" / "ipns-record").read_bytes(), name)
    assert last is not None
    assert kept.sequence >= last.sequence
