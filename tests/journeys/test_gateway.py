"""What anybody can fetch from a whole node: public records and imported graphs, and nothing else."""

from __future__ import annotations

from pathlib import Path

from cbrrr import CID

from node.core.ipld import dagcbor, dagjson
from node.core.ipld.cid import DAG_CBOR, RAW, Cid
from tests.faults.car_kit import read_car, write_car
from tests.journeys.conftest import Start
from tests.journeys.test_cli import ran
from tests.unit.ipfs.gateway.dags import Shelf, names

PUBLIC = {"sharing": {"publish": "all"}}
CAR = "application/vnd.ipld.car"
DAG_JSON = "application/vnd.ipld.dag-json"


async def test_what_is_not_public_is_not_there_in_any_form(start: Start) -> None:
    async with start(**PUBLIC) as node:
        cids = [
            Cid.parse(await node.store("What is my plan?", "It is secret.", scope="private")),
            Cid.parse(await node.store("Who bakes bread?", "A baker.", scope="shared")),
            Cid.parse(await node.store("Who sails a ship?", "A sailor.", scope="public")),
        ]
        assert await node.delete(str(cids[2])) == 200
        never = Cid.of(b"never stored", DAG_CBOR)
        bodies = set()
        for cid in (*cids, never):
            for asked in (cid, Cid(RAW, cid.digest)):
                for query in ("?format=raw", "?format=car", "/answer?format=car"):
                    status, body, headers = await node.raw(f"/ipfs/{asked}{query}")
                    assert (status, headers["Cache-Control"]) == (404, "no-store")
                    bodies.add(body.replace(str(asked).encode(), b"").split(b'"request_id"')[0])
                for path in ("", "/answer"):
                    for accept in ("text/html, */*;q=0.8", "application/json", DAG_JSON):
                        asking = {"Accept": accept}
                        status, body, headers = await node.raw(f"/ipfs/{asked}{path}", headers=asking)
                        assert (status, headers["Cache-Control"]) == (404, "no-store")
                        bodies.add(body.replace(str(asked).encode(), b"").split(b'"request_id"')[0])
                only = {"Cache-Control": "only-if-cached"}
                assert (await node.raw(f"/ipfs/{asked}?format=raw", headers=only))[0] == 412
        assert len(bodies) == 2  # with and without a path: what is private looks like what never was


async def test_a_public_record_can_be_read_by_a_person_and_is_gone_when_withdrawn(start: Start) -> None:
    async with start(**PUBLIC) as node:
        cid = await node.store("Who sails <a> ship?", "A sailor & co.", scope="public")
        _, block, _ = await node.raw(f"/ipfs/{cid}?format=raw")
        status, data, headers = await node.raw(f"/ipfs/{cid}", headers={"Accept": DAG_JSON})
        assert (status, headers["Content-Type"]) == (200, DAG_JSON)
        value, links = dagjson.decode(data)
        assert (dagcbor.encode(value), links) == (block, [])
        status, page, headers = await node.raw(f"/ipfs/{cid}", headers={"Accept": "text/html, */*;q=0.8"})
        assert (status, headers["Content-Type"]) == (200, "text/html; charset=utf-8")
        for said in ("Who sails &lt;a&gt; ship", "A sailor &amp; co.", "(this node)", "it is good", "85%"):
            assert said in page.decode(), said
        tag = {"Accept": "text/html", "If-None-Match": headers["Etag"]}
        assert (await node.raw(f"/ipfs/{cid}", headers=tag))[0] == 304
        assert await node.delete(cid) == 200
        assert (await node.raw(f"/ipfs/{cid}", headers=tag))[0] == 404


async def test_an_imported_graph_is_served_by_its_paths(start: Start, tmp_path: Path) -> None:
    shelf = Shelf()
    file = shelf.chunks([bytes([number]) * 1_000 for number in range(200)])
    entries = {f"{number}.txt": shelf.put(b"%d" % number) for number in range(300)}
    shards = shelf.shards({**entries, "file": file})
    root = shelf.cbor({"docs": CID(bytes(shards)), "list": [1, 2]})
    found = [(Cid(RAW, key[2:]), data) for key, data in shelf.blocks.items()]
    path = write_car(tmp_path / "graph.car", found, root)
    async with start() as node:
        assert (await node.raw(f"/ipfs/{root}?format=car"))[0] == 404
        await ran("ingest", "--car", str(path), folder=node.folder)
        status, body, _ = await node.raw(f"/ipfs/{root}?format=car")
        assert (status, {data for _, data in read_car(body)[1]}) == (200, set(shelf.blocks.values()))
        status, body, _ = await node.raw(f"/ipfs/{root}/docs/file?format=car&entity-bytes=1500:2500")
        blocks = [cid for cid, _ in read_car(body)[1]]
        assert blocks[0:2] == [root, shards]
        assert blocks[-3:] == [file, *names(shelf, file)[1:3]]
        status, _, headers = await node.raw(f"/ipfs/{root}/docs/17.txt?format=car&dag-scope=entity")
        assert (status, headers["X-Ipfs-Roots"]) == (200, f"{root},{shards},{entries['17.txt']}")
        assert (await node.raw(f"/ipfs/{root}/docs/absent?format=car"))[0] == 404
        leaf = entries["17.txt"]
        assert (await node.raw(f"/ipfs/{leaf}?format=raw", headers={"Range": "bytes=1-1"}))[:2] == (206, b"7")
