"""CARs by command: taken in as public blocks, written out as signed records; and erasure. With a node and
without."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from node.core.clock import SystemClock
from node.core.ipld import dagcbor
from node.core.ipld.cid import Cid
from node.core.ipld.links import links
from node.core.record import AnswerRecord, KeyRecord, decode
from tests.faults.car_kit import block, read_car, write_car
from tests.journeys.conftest import Client, Start
from tests.journeys.test_cli import ran, refused, run
from tests.name_owner import Owner
from tests.simulators.kubo import KuboStandIn

pytestmark = pytest.mark.slow

CANARY = "zanzibarquux"
BOTH = pytest.mark.parametrize(
    "is_running",
    [pytest.param(True, id="running"), pytest.param(False, id="no node", marks=pytest.mark.slow)],
)
"""Where no node runs each command opens the data directory anew, which takes seconds: there only what is done
otherwise is looked at again."""


@asynccontextmanager
async def beside(start: Start, is_running: bool) -> AsyncIterator[Client | None]:
    """The node of ``node``, where one is to run."""
    if is_running:
        async with start() as node:
            yield node
    else:
        yield None


def on_disk(folder: Path) -> list[str]:
    word = CANARY.encode()
    return [
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and word in path.read_bytes().lower()
    ]


@BOTH
async def test_a_car_becomes_public_blocks(start: Start, tmp_path: Path, is_running: bool) -> None:
    blocks = [block(number) for number in range(40)]
    one, two = write_car(tmp_path / "one.car", blocks[:30]), write_car(tmp_path / "two.car", blocks[20:])
    async with beside(start, is_running) as node:
        said = await ran("ingest", "--car", str(one), str(two), "--json", folder=tmp_path / "node")
        report = json.loads(said)
        assert report["error"] is None
        counts = [(file["file"], file["blocks"], file["known"]) for file in report["files"]]
        assert counts == [(str(one), 30, 0), (str(two), 10, 10)]
        assert report["files"][1]["roots"] == [str(blocks[20][0])]
        done = await run("ingest", "--car", str(one), folder=tmp_path / "node")
        said = "0 new blocks (0.0 KiB), 30 known already, public from now on"
        assert done.stdout == f"{one}: {said}; roots: {blocks[0][0]}\n"
        assert done.stderr == "", "no progress where no terminal is"
        if node is not None:
            assert (await node.raw(f"/ipfs/{blocks[7][0]}?format=raw"))[:2] == (200, blocks[7][1])
    async with start() as node:
        for cid, data in (blocks[0], blocks[39]):
            assert (await node.raw(f"/ipfs/{cid}?format=raw"))[:2] == (200, data), "it lasts"
        assert (await node.raw(f"/ipfs/{block(99)[0]}?format=raw"))[0] == 404
        check = await node.check("ipfs:foreign")
        assert (check["status"], check["observedValue"]) == ("pass", 40)
        assert f"{sum(len(data) for _, data in blocks)} bytes" in check["output"]


@BOTH
async def test_a_refused_file_is_named_with_block_and_reason(
    start: Start, tmp_path: Path, is_running: bool
) -> None:
    folder = tmp_path / "node"
    good = write_car(tmp_path / "good.car", [block(1)])
    cid, _ = block(2)
    # The rest is long: it is answered before it is read to its end.
    rest = (block(number, 2**20) for number in range(10, 50))
    wrong = write_car(tmp_path / "wrong.car", [(cid, b"x" * 1_000), *rest])
    cut = tmp_path / "cut.car"
    cut.write_bytes(good.read_bytes()[:-1])
    packed = tmp_path / "good.car.gz"
    packed.write_bytes(b"\x1f\x8b\x08" + bytes(30))
    bad = ((wrong, str(cid)), (cut, "cut off"), (packed, "gunzip"), (tmp_path / "absent", "cannot read"))
    async with beside(start, is_running):
        done = await run("ingest", "--car", str(good), str(wrong), str(cut), folder=folder)
        assert done.returncode == 1
        assert done.stdout.startswith(f"{good}: 1 new blocks"), "what came before is said"
        assert done.stderr.startswith(f"neuroswarm: {wrong}: ")
        assert str(cid) in done.stderr
        assert "nothing was stored" in done.stderr
        for path, said in bad if is_running else ():
            done = await run("ingest", "--car", str(path), "--json", folder=folder)
            error = json.loads(done.stdout)["error"]
            assert (done.returncode, said in error, str(path) in error) == (1, True, True), path
        if not is_running:  # the limit is the node's, not the command's
            limit = {"NEUROSWARM_IPFS__FOREIGN_MAX_BYTES": "1500"}
            two = write_car(tmp_path / "two.car", [block(1), block(3)])
            done = await run("ingest", "--car", str(two), folder=folder, environ=limit)
            assert (done.returncode, str(block(3)[0]) in done.stderr) == (1, True), done.stderr
            assert "1500 bytes (setting ipfs.foreign_max_bytes)" in done.stderr


async def test_from_standard_input_and_without_a_file(tmp_path: Path) -> None:
    car = write_car(tmp_path / "one.car", [block(1), block(2)])
    done = await run("ingest", "--car", "-", folder=tmp_path, given=car.read_bytes())
    assert (done.returncode, done.stdout.startswith("-: 2 new blocks")) == (0, True), done
    assert "ingest FOLDER, or --car FILE" in await refused("ingest", folder=tmp_path)
    packed = tmp_path / "lines.jsonl.gz"
    packed.write_bytes(gzip.compress(b"{}"))
    for path, said in ((packed, "gunzip FILE.gz"), (car, "neuroswarm ingest --car")):
        assert said in await refused("cache", "import", str(path), folder=tmp_path)
    long = tmp_path / "long"
    long.write_bytes(bytes(10 * 2**10 + 1))
    name = "12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN"
    assert "over the 10240 bytes" in await refused(
        "ingest", "--ipns-record", f"{name}={long}", folder=tmp_path
    )


async def test_an_ipns_record_is_kept_under_its_name(start: Start, tmp_path: Path) -> None:
    owner, now = Owner(1), SystemClock().now()
    name = owner.name
    stem, other, altered = (tmp_path / one for one in (f"{name.text}_v2.ipns-record", "older", "altered"))
    stem.write_bytes(owner.record(now, sequence=5))
    other.write_bytes(owner.record(now, sequence=4))
    altered.write_bytes(owner.record(now, sequence=6)[:-1] + b"x")
    async with start() as node:
        done = await run("ingest", "--ipns-record", str(stem), folder=node.folder)
        assert (done.returncode, done.stdout) == (0, f"{stem}: kept, /ipns/{name.text}\n"), done.stderr
        done = await run("ingest", "--ipns-record", f"{name.peer_id}={other}", "--json", folder=node.folder)
        assert json.loads(done.stdout)["names"] == [{"file": str(other), "name": name.text, "kept": False}]
        assert str(altered) in await refused(
            "ingest", "--ipns-record", f"{name.text}={altered}", folder=node.folder
        )
        assert "NAME=FILE" in await refused("ingest", "--ipns-record", str(other), folder=node.folder)


@BOTH
async def test_an_export_holds_public_records_under_one_root(
    start: Start, tmp_path: Path, is_running: bool
) -> None:
    out, shared_out, no = (tmp_path / name for name in ("out.car", "shared.car", "no.car"))
    texts = {"public": "Who sails a ship?", "shared": "Who bakes bread?", "private": "What is my plan?"}

    async def commands(folder: Path, cids: dict[str, str]) -> None:
        said = json.loads(await ran("cache", "export", "--car", str(out), "--json", folder=folder))
        assert out.stat().st_mode & 0o777 == 0o600
        roots, blocks = read_car(out.read_bytes())
        assert [str(root) for root in roots] == [said["root"]]
        assert blocks[0][0] == roots[0], "the root comes first"
        listed = links(*blocks[0])
        assert listed == [cid for cid, _ in blocks[1:]]
        value = dagcbor.decode(blocks[0][1])
        assert (value["kind"], value["scope"], value["count"]) == ("export", "public", len(listed))
        assert said["records"] == len(listed)
        records = [decode(data) for _, data in blocks[1:]]
        answers = [record for record in records if isinstance(record, AnswerRecord)]
        assert [record.query for record in answers] == ["Who sails a ship"]
        assert cids["public"] in {str(cid) for cid in listed}
        keys = {record.subject for record in records if isinstance(record, KeyRecord)}
        assert answers[0].key in keys, "whoever has the file can check the signatures"
        if not is_running:
            return
        done = await run("cache", "export", "--car", "-", folder=folder)
        assert (done.returncode, read_car(done.raw)[1][1:]) == (0, blocks[1:])
        done = await run("cache", "export", "--car", str(shared_out), "--scope", "shared", folder=folder)
        assert done.returncode == 0
        assert "not public" in done.stderr
        found = [decode(data) for _, data in read_car(shared_out.read_bytes())[1][1:]]
        assert [one.query for one in found if isinstance(one, AnswerRecord)] == ["Who bakes bread"]
        for scope in ("private:local", "all"):
            assert "never" in await refused(
                "cache", "export", "--car", str(no), "--scope", scope, folder=folder
            )
        assert not no.exists()
        assert f"ingest --car {out}" in await refused("cache", "import", str(out), folder=folder)
        assert "name one file" in await refused("cache", "export", folder=folder)

    async with start(sharing={"publish": "all"}) as node:
        cids = {scope: await node.store(text, "An answer.", scope=scope) for scope, text in texts.items()}
        if is_running:
            await commands(node.folder, cids)
    if not is_running:
        await commands(tmp_path / "node", cids)
    async with start("another") as other:
        assert (await run("ingest", "--car", str(out), folder=other.folder)).returncode == 0
        status, data, _ = await other.raw(f"/ipfs/{cids['public']}?format=raw")
        assert (status, Cid.of(data)) == (200, Cid.parse(cids["public"])), "another node serves it"


async def test_our_own_shared_records_stay_ours_whatever_is_imported(start: Start, tmp_path: Path) -> None:
    async with start() as node:
        cid = await node.store("Who bakes bread?", "A baker.", scope="shared")
        out = tmp_path / "shared.car"
        await ran("cache", "export", "--car", str(out), "--scope", "shared", folder=node.folder)
        assert (await run("ingest", "--car", str(out), folder=node.folder)).returncode == 0
        assert (await node.raw(f"/ipfs/{cid}?format=raw"))[0] == 404


@BOTH
async def test_erased_is_gone_from_the_disk_and_in_the_log(
    start: Start, tmp_path: Path, is_running: bool
) -> None:
    question = f"What does {CANARY} mean?"
    folder = tmp_path / "node"

    async def commands(cids: list[str]) -> None:
        if is_running:
            done = await run("cache", "erase", "--query", question, "--dry-run", folder=folder)
            assert (done.returncode, "2 fit; nothing was changed" in done.stdout) == (0, True), done.stderr
        said = await ran("cache", "erase", cids[0], folder=folder)
        assert re.search(rf"erased {cids[0]} \(public\): tombstone baf\w+, decision #\d+", said)
        assert re.search(r"not reached +other nodes: they are told by the tombstone", said)
        assert re.search(r"not there +backups: none was made", said)
        done = await run("cache", "erase", "--query", question, "--json", folder=folder)
        report = json.loads(done.stdout)
        assert [one["cid"] for one in report["erased"]] == [cids[1]]
        assert report["erased"][0]["decision"]["index"] >= 0
        assert {one["state"] for one in report["places"]} == {"reached", "not there", "not reached"}
        if not is_running:
            return
        assert cids[0] in await refused("cache", "erase", cids[0], folder=folder)
        done = await run("cache", "erase", "--query", question, folder=folder)
        assert (done.returncode, "nothing of that is here" in done.stdout) == (1, True)
        assert "name one" in await refused("cache", "erase", cids[0], "--query", question, folder=folder)

    async with start("node", sharing={"publish": "all"}) as node:
        cids = [
            await node.store(question, f"{CANARY} is {scope}.", scope=scope)
            for scope in ("public", "private")
        ]
        assert on_disk(folder)
        if is_running:
            await commands(cids)
            assert (await node.raw(f"/ipfs/{cids[0]}?format=raw"))[0] == 404
    if not is_running:
        await commands(cids)
    assert on_disk(folder) == []
    await ran("log", "verify", folder=folder)


async def test_doctor_says_what_works_with_the_daemon(start: Start, tmp_path: Path) -> None:
    async with KuboStandIn() as daemon:
        asked = {"NEUROSWARM_IPFS__KUBO_URL": daemon.url}

        async def checks(*words: str, folder: Path) -> dict[str, dict[str, Any]]:
            done = await run("doctor", "--json", *words, folder=folder, environ=asked)
            return {row["check"]: row for row in json.loads(done.stdout)}

        async with start("node", ipfs={"kubo_url": daemon.url}) as node:
            found = await checks("--url", node.url, folder=node.folder)
        alone = await checks("--url", "http://127.0.0.1:9", folder=tmp_path / "alone")
        for said in (found, alone):
            assert "Kubo 0.29.0" in said["ipfs:daemon"]["output"] or said is alone
            assert said["ipfs:block"]["status"] == "pass"
            assert "cid-codec" in said["ipfs:block"]["output"]
            assert said["ipfs:pin"]["status"] == "pass"
            assert {"ipfs:dag", "ipfs:name", "ipfs:routing", "ipfs:pubsub"} <= said.keys()
        assert "block/put" in {one.call for one in daemon.calls}
