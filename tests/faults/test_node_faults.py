"""Faults around a whole node: processes, disks, clocks, engines and sources that fail, races, scopes."""

from __future__ import annotations

import asyncio
import json
import signal
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from node.cache.index.embedders import SwitchingSemantics
from node.core.caller import Caller, private_scope
from node.core.errors import Misconfigured, NotFound, Unavailable
from node.core.ipld.cid import Cid
from node.pipeline.requests import Ask, Entry, Said
from tests.faults.node_kit import PATIENCE_S, Child, Client, child, eventually, reasons, start
from tests.log_kit import verified
from tests.simulators.coingecko import CoinGeckoStandIn
from tests.simulators.ollama import OllamaStandIn


async def live_rows(node: Client) -> int:
    checks = await node.service.health()
    return int(next(float(c.observed or 0) for c in checks if c.name == "semantic"))


async def test_sigterm_under_load_answers_what_it_accepted_and_loses_nothing(tmp_path: Path) -> None:
    stored: dict[str, str] = {}
    decisions: list[int] = []
    async with child(tmp_path) as (process, node):
        ended = asyncio.Event()

        async def work(worker: int) -> None:
            for number in range(10_000):
                try:
                    query = f"Which town is number {worker}-{number} of the list?"
                    status, reply = await node.post("/v1/cache/entries", {"query": query, "answer": "Ulm."})
                    assert status in (201, 503), reply
                    if status == 201:
                        stored[query] = reply["cid"]
                    status, reply = await node.post("/chat", {"query": f"{worker}+{number}"})
                    assert status in (200, 503), reply
                    if status == 200:
                        decisions.append(reply["decision"]["index"])
                except aiohttp.ClientConnectionError:
                    return  # refused, or closed between two requests: never in the middle of a reply
                if len(stored) >= 30:
                    ended.set()

        workers = [asyncio.create_task(work(worker)) for worker in range(12)]
        await ended.wait()
        assert await process.end() == 0
        await asyncio.gather(*workers)
    report = await verified(tmp_path / "governance_logs")
    assert report.ok, report
    assert report.entries > max(decisions)
    async with start(tmp_path) as node:
        for query, cid in stored.items():
            assert (await node.search(query))["cid"] == cid


async def test_killed_in_the_middle_of_the_first_import(tmp_path: Path) -> None:
    more = {"source": "starter", "confidence": 0.9, "timestamp": "2026-01-01T00:00:00Z"}
    entries = [
        {"query": f"What is term number {number}?", "answer": f"Term {number} means {number * 7}.", **more}
        for number in range(300)
    ]
    index = tmp_path / "index.json"
    index.write_text(json.dumps({"version": 1, "model": "none", "entries": entries}))
    store = tmp_path / "data" / "blocks.sqlite"

    def count() -> int:
        try:
            with sqlite3.connect(f"{store.as_uri()}?mode=ro", uri=True) as connection:
                return int(connection.execute("SELECT live FROM total").fetchone()[0])
        except sqlite3.Error:
            return 0

    process = await Child.spawn(tmp_path, settings={"NEUROSWARM_INDEX_FILE": str(index)})
    async with asyncio.timeout(PATIENCE_S):
        while count() < 64:
            await asyncio.sleep(0.005)
    await process.end(signal.SIGKILL)
    assert 64 <= count() < 300
    async with start(tmp_path, index_file=index) as node:
        for number in (0, 63, 64, 299):
            found = await node.search(f"What is term number {number}")
            assert found["answer"] == f"Term {number} means {number * 7}."
    assert count() == 300
    with sqlite3.connect(store) as connection:
        [[twice]] = connection.execute("SELECT count(*) - count(DISTINCT query_hash) FROM record"
                                       " WHERE kind = 'answer' AND state = 'live'").fetchall()  # fmt: skip
    assert twice == 0


@pytest.mark.parametrize("on_failure", ["answer", "refuse"])
async def test_a_full_disk(tmp_path: Path, on_failure: str) -> None:
    async with child(tmp_path, NEUROSWARM_LOG__ON_FAILURE=on_failure) as (process, node):
        await node.store("What is kept?", "This is kept.")
        process.limit_files(1)
        status, reply = await node.post("/v1/cache/entries", {"query": "What is lost?", "answer": "This."})
        assert status == 503, reply
        for query, answer in (("What is 2+2?", "4"), ("What is kept?", "This is kept.")):
            if on_failure == "refuse":
                assert (await node.post("/chat", {"query": query}))[0] == 503
                continue
            reply = await node.ask(query)
            assert answer in reply["answer"]
            assert reply["decision"] is None
            assert reasons(reply)["record"][0] == "unlogged"
            assert reply["stored"] == (query == "What is kept?")
        assert (await node.check("log"))["status"] == "fail"
        assert (await node.send("GET", "/livez"))[0] == 200
        process.limit_files(None)
        cid = await node.store("What is lost?", "Nothing.")
        assert (await node.search("What is lost?"))["cid"] == cid
        reply = await node.ask("What is 3+3?")
        assert reply["decision"] is not None
        await eventually(lambda: node.check("log"), lambda check: check["status"] == "pass")
        assert await process.end() == 0
    assert (await verified(tmp_path / "governance_logs")).ok


async def test_what_a_log_refuses_is_not_begun_and_may_be_asked_again(tmp_path: Path) -> None:
    async with start(tmp_path, log={"on_failure": "refuse"}) as node:
        cid = await node.store("What is kept?", "This is kept.")
        await node.service._p.log.close()
        assert await node.delete(cid) == 503
        assert (await node.post("/feedback", {"cid": cid, "verdict": "invalid"}))[0] == 503
        kept = await node.service.entry(cid, Caller())
        assert (kept.state, kept.invalid) == ("live", 0)
        assert b'unlogged_total{kind="other"} 0.0' in (await node.send("GET", "/metrics"))[1]
    async with start(tmp_path, log={"on_failure": "refuse"}) as node:
        await node.judge("valid", cid=cid)
        assert await node.delete(cid) == 200
        assert (await node.send("GET", f"/v1/cache/entries/{cid}"))[0] == 404


async def test_an_outage_of_the_log_is_told_once_and_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "neuroswarm.service")
    async with start(tmp_path) as node:
        cid = await node.store("What is kept?", "This is kept.")
        service = node.service
        await service._p.log.close()
        for number in range(3):
            # Not stored: that would be a decision of its own, made behind the reply.
            assert (await node.ask(f"What is 2+{number}?", no_store=True))["decision"] is None
        await node.judge("invalid", cid=cid)
        page = (await node.send("GET", "/metrics"))[1].decode()
        assert 'neuroswarm_unlogged_total{kind="answer"} 3.0' in page
        assert 'neuroswarm_unlogged_total{kind="other"} 2.0' in page, "the verdict and what it withdrew"
        [check] = [one for one in await service.health() if one.name == "log"]
        assert "not in the log: 5" in check.output
        said = [one.getMessage() for one in caplog.records if "log_outage" in one.getMessage()]
        assert len(said) == 1
        assert sum("logged=False" in one.getMessage() for one in caplog.records) == 3
        service._p.metrics.unlogged.logged()
        assert "not in the log: 5" in caplog.records[-1].getMessage()


async def test_a_disk_that_has_room_for_the_log_only(tmp_path: Path) -> None:
    """Never a false ``stored: true``: what was not stored is not found after a restart."""
    async with CoinGeckoStandIn() as source:
        async with child(tmp_path, NEUROSWARM_ADAPTERS__COINGECKO__BASE_URL=source.url) as (process, node):
            await node.store("What is kept?", "This is kept.")
            used = (tmp_path / "data" / "blocks.sqlite-wal").stat().st_size
            process.limit_files(used)
            claimed = []
            for coin in ("bitcoin", "ethereum", "solana", "dogecoin", "cardano"):
                reply = await node.ask(f"price of {coin}")
                assert reply["source"]["id"] == "coingecko"
                assert reply["decision"] is not None
                if reply["stored"]:
                    claimed.append((f"price of {coin}", reply["cid"]))
                else:
                    assert reply["cid"] is None
                    assert reasons(reply)["remember"][0] == "failed"
            assert len(claimed) < 5
            await process.end(signal.SIGKILL)
        async with start(tmp_path) as node:
            for query, cid in claimed:
                assert (await node.search(query))["cid"] == cid
            assert (await node.search("What is kept?"))["answer"] == "This is kept."


async def test_a_log_folder_that_cannot_be_written_stops_the_start_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "governance_logs").write_text("a file where the folder should be")
    with pytest.raises((Misconfigured, Unavailable)):
        async with start(tmp_path):
            pass
    process = await Child.spawn(tmp_path)
    await process.process.wait()
    said = (await process.said()).strip()
    assert process.process.returncode == 1
    assert said.startswith("neuroswarm: ")
    assert "\n" not in said


def spoil_block(folder: Path, cid: str, how: str) -> None:
    multihash = Cid.parse(cid).multihash
    with sqlite3.connect(folder / "data" / "blocks.sqlite") as connection:
        if how == "deleted":
            connection.execute("PRAGMA foreign_keys = OFF")
            connection.execute("DELETE FROM block WHERE multihash = ?", (multihash,))
        else:
            rows = connection.execute("SELECT data FROM block WHERE multihash = ?", (multihash,))
            [(data,)] = rows.fetchall()
            bent = bytes([*data[:-1], data[-1] ^ 1])
            connection.execute("UPDATE block SET data = ? WHERE multihash = ?", (bent, multihash))
    connection.close()


@pytest.mark.parametrize("how", ["deleted", "bent"])
async def test_a_record_whose_block_is_gone_or_bent_is_not_served(tmp_path: Path, how: str) -> None:
    async with start(tmp_path) as node:
        lost = await node.store("What is lost?", "This is lost.")
        kept = await node.store("What is kept?", "This is kept.")
    spoil_block(tmp_path, lost, how)
    async with start(tmp_path) as node:
        assert (await node.search("What is kept?"))["cid"] == kept
        assert (await node.search("What is lost?"))["hit"] is None
        reply = await node.ask("What is lost?")
        assert "This is lost" not in reply["answer"]
        status, problem, _ = await node.send("GET", f"/v1/cache/entries/{lost}")
        assert status == (404 if how == "deleted" else 500)
        assert str(tmp_path) not in json.dumps(problem)
        again = await node.store("What is lost?", "It is found.")
        assert (await node.search("What is lost?"))["cid"] == again
        assert (await node.send("GET", "/health"))[0] == (200 if how == "deleted" else 503)


async def test_a_damaged_page_met_while_running_stops_no_answer(tmp_path: Path) -> None:
    async with start(tmp_path) as node:
        for number in range(100):  # 5 MB: more than the 2 MB of pages that a connection of SQLite keeps
            await node.store(f"What is town {number}?", f"Town {number}. " + "x" * 50_000)
    path = tmp_path / "data" / "blocks.sqlite"
    data = bytearray(path.read_bytes())
    for page in range(2, len(data) // 16_384):
        if page % 2:
            data[page * 16_384 : page * 16_384 + 64] = b"\xff" * 64
    async with start(tmp_path) as node:
        path.write_bytes(data)  # after the check at the start
        seen = set()
        for number in range(40):
            reply = await node.ask(f"What is town {number}?")
            assert reply["answer"]
            if reply["hit"]:
                assert reply["answer"].startswith(f"Town {number}.")
            seen.add(reply["source"]["kind"])
            status, found = await node.post("/v1/cache/search", {"query": f"What is town {number}?"})
            assert status in (200, 500), found
            assert str(tmp_path) not in json.dumps(found)
        assert "fallback" in seen
        assert "4" in (await node.ask("What is 2+2?"))["answer"]
        assert (await node.send("GET", "/livez"))[0] == 200


MODELS: dict[str, dict[str, Any]] = {
    "another json": {"raw_body": b'[{"message": 7}]\n{"done": "maybe"}\n'},
    "no utf-8": {"raw_body": b"\xff\xfe" * 999},
    "nothing": {"answer": ""},
    "only a think tag": {"answer": "<think>bridges, bridges"},
    "fails inside": {"error": "out of memory"},
    "redirects": {"redirect_to": "http://elsewhere.example/"},
}
"""What else a server may do is in ``test_engine_faults``."""


@pytest.mark.parametrize("how", MODELS)
async def test_a_model_that_misbehaves_costs_an_honest_answer(tmp_path: Path, how: str) -> None:
    async with OllamaStandIn() as model:
        for name, value in MODELS[how].items():
            setattr(model, name, value)
        limits = {"request_timeout_s": 3}
        async with start(tmp_path, ollama=model.url, server=limits, models={"timeout_s": 1}) as node:
            reply = await node.ask("Explain how suspension bridges carry their load")
            assert reply["source"]["kind"] in ("fallback", "extractive"), reply
            assert not reply["stored"]
            assert "bridges, bridges" not in reply["answer"]
            assert any(stage.startswith("model:") or stage == "compose" for stage in reasons(reply))
            assert "4" in (await node.ask("What is 2+2?"))["answer"]


async def test_a_daemon_that_never_ends_its_answer_holds_up_neither_health_nor_stop(tmp_path: Path) -> None:
    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99999\r\n\r\n{")
        try:
            while True:
                writer.write(b" ")
                await writer.drain()
                await asyncio.sleep(0.05)
        except ConnectionError:
            return
        finally:
            writer.close()

    server = await asyncio.start_server(drip, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        async with child(tmp_path, NEUROSWARM_IPFS__KUBO_URL=url) as (process, node):
            async with asyncio.timeout(10):
                replies = await asyncio.gather(*(node.send("GET", "/health") for _ in range(20)))
            for status, health, _ in replies:
                assert status == 200
                assert health["checks"]["ipfs:daemon"][0]["status"] == "warn"
            assert "4" in (await node.ask("What is 2+2?"))["answer"]
            assert await process.end() == 0
    finally:
        server.close()


async def test_delete_racing_with_store_leaves_one_truth(tmp_path: Path) -> None:
    async with start(tmp_path, embed="local") as node:
        query = "Which river flows through the old town?"
        dead: set[str] = set()

        async def write(number: int) -> str:
            return await node.store(query, f"River {number}.", replace=True)

        async def bury(cid: str) -> None:
            assert await node.delete(cid) == 200
            dead.add(cid)

        first = await write(0)
        for number in range(1, 16):
            cid, _ = await asyncio.gather(write(number), bury(first))
            found = (await node.search(query))["cid"]
            assert found not in dead
            assert found == cid
            first = cid
        await asyncio.gather(*(bury(first) for _ in range(5)))
        assert (await node.search(query))["hit"] is None
        assert await live_rows(node) == 0
        again = await write(0)
        assert (await node.search(query))["cid"] == again
        assert await live_rows(node) == 1
    async with start(tmp_path, embed="local") as node:
        assert await live_rows(node) == 1
        assert (await node.search(query))["cid"] == again


ANN, BOB = Caller("ann", private_scope("ann")), Caller("bob", private_scope("bob"))


async def test_a_private_entry_is_found_by_its_tenant_alone(tmp_path: Path) -> None:
    async with start(tmp_path, embed="local", sharing={"publish": "all"}) as node:
        service = node.service
        query, answer = "Where does the spare key of the boat house lie?", "Under the third stone."
        cid = (await service.put(Entry(query, answer, ANN, scope="private"), "request-1")).cid
        own, _ = await service.search(Ask(query, ANN), None, "request-2")
        assert own.found is not None
        for words in (query, "Where is the boat house's spare key?", "spare key boat house"):
            for caller in (BOB, Caller()):
                recall, _ = await service.search(Ask(words, caller), None, "request-3")
                assert recall.found is None
                assert recall.seen == ()
                reply = await service.answer(Ask(words, caller))
                assert answer not in reply.text
        for caller in (BOB, Caller()):
            with pytest.raises(NotFound, match="no such entry"):
                await service.entry(cid, caller)
            with pytest.raises(NotFound):
                await service.withdraw(cid, caller)
            with pytest.raises(NotFound):
                await service.feedback(Said(caller, "invalid", cid=cid))
        assert (await service.entry(cid, ANN)).state == "live"
        nowhere = str(Cid.of(b"nothing"))
        for path in ("/ipfs/{}?format=raw", "/v1/cache/entries/{}"):
            secret = await node.send("GET", path.format(cid))
            absent = await node.send("GET", path.format(nowhere))
            assert secret[0] == absent[0] == 404
            assert secret[1]["detail"] == absent[1]["detail"], "its existence is not told either"
        assert answer.encode() not in (await node.send("GET", "/metrics"))[1]
    exported = (tmp_path / "data" / "knowledge-index.json").read_text()
    assert "third stone" not in exported


async def test_an_answer_made_from_private_records_stays_private(tmp_path: Path) -> None:
    """The evidence was one tenant's; the model's words about it must not become everybody's."""
    async with OllamaStandIn(answer="It opens with the code of the harbour master. [1]") as model:
        async with start(
            tmp_path,
            embed="local",
            ollama=model.url,
            sharing={"publish": "all"},
            cache={"confidence_min": 0.6},
        ) as node:
            service = node.service
            ann = replace(ANN, default_scope="shared")
            known = Entry(
                "How can the boat house lock be opened?",
                "The lock of the boat house is an old lock that opens with the code of the harbour master.",
                ann,
                confidence=0.5,  # too unsure to be served: context for the model
                scope="private",
            )
            await service.put(known, "request-1")
            reply = await service.answer(Ask("Explain how the lock of the boat house opens", ann))
            assert "harbour master" in reply.text, [(s.stage, s.outcome, s.reason) for s in reply.trace]
            assert reply.source.kind == "llm"
            assert reply.stored
            assert reply.cid is not None
            stored = await service.entry(reply.cid, ann)
            assert stored.record.scope == private_scope("ann")
            model.answer = "I do not know."
            other = await service.answer(Ask("Explain how the lock of the boat house opens", BOB))
            assert "harbour master" not in model.chats[-1].prompt
            assert "harbour master" not in other.text


async def scope_of(node: Client, cid: str) -> str:
    status, entry, _ = await node.send("GET", f"/v1/cache/entries/{cid}")
    assert status == 200
    block, _, _ = await node.send("GET", f"/ipfs/{cid}?format=raw")
    assert block == (200 if entry["scope"] == "public" else 404)
    return str(entry["scope"])


@pytest.mark.parametrize("publish", ["none", "sourced", "grounded", "all"])
async def test_what_is_published_on_the_wire(tmp_path: Path, publish: str) -> None:
    async with CoinGeckoStandIn() as source:
        async with start(tmp_path, coingecko=source.url, sharing={"publish": publish}) as node:
            price = await node.ask("price of bitcoin")
            assert await scope_of(node, price["cid"]) == ("shared" if publish == "none" else "public")
            tagged = await node.ask("price of ethereum", tags=["for jane.doe@example.com"])
            assert await scope_of(node, tagged["cid"]) == "shared", "tags are a user's words"
            wanted = {"scope": "public"}
            cid = await node.store("What is a keel?", "The spine of a boat.", **wanted)
            assert await scope_of(node, cid) == ("public" if publish == "all" else "shared")
            for query, more in (
                ("What is my boat called?", {}),
                ("Who keeps the mole?", {"source": "jane.doe@example.com"}),
                ("Who keeps the dock?", {"tags": ["jane.doe@example.com"]}),
            ):
                cid = await node.store(query, "Joan.", **wanted, **more)
                assert await scope_of(node, cid) == "shared", query
            plain = await node.store("What is a hull?", "The body of a boat.")
            assert await scope_of(node, plain) == "shared"
            secret = await node.store("What is a mast?", "A pole.", scope="private")
            assert await scope_of(node, secret) == "private:local"


async def test_a_note_on_a_public_record_is_not_published(tmp_path: Path) -> None:
    async with CoinGeckoStandIn() as source:
        async with start(tmp_path, coingecko=source.url, sharing={"publish": "sourced"}) as node:
            price = await node.ask("price of bitcoin")
            note = "I checked it from my home in Elm Street 5"
            reply = await node.judge("valid", cid=price["cid"], note=note)
            assert reply["validations"]["valid"] == 1
            status, block, _ = await node.send("GET", f"/ipfs/{reply['validation']}?format=raw")
            assert status in (200, 404)
            assert status == 404 or b"Elm Street" not in block


@pytest.mark.parametrize("how", ["truncated", "bent"])
async def test_a_damaged_vector_index_is_rebuilt_from_the_records(tmp_path: Path, how: str) -> None:
    async with start(tmp_path, embed="local") as node:
        cid = await node.store("What is a content identifier?", "The hash of a block, with its codec.")
        await node.store("How do suspension bridges work?", "By cables.")
        assert await live_rows(node) == 2
    [path] = [one for one in (tmp_path / "data" / "index").iterdir() if one.is_file()]
    data = path.read_bytes()
    middle = len(data) // 2
    path.write_bytes(
        {
            "truncated": data[: middle + 3],
            "bent": data[:middle] + bytes([data[middle] ^ 255]) + data[middle + 1 :],
        }[how]
    )
    async with start(tmp_path, embed="local") as node:
        assert await live_rows(node) == 2
        found = await node.search("what's a content identifier")
        assert found["cid"] == cid, found


async def test_after_invalid_is_acknowledged_nobody_is_served_it(tmp_path: Path) -> None:
    async with start(tmp_path) as node:
        for number in range(4):
            query = f"Which river is number {number}?"
            cid = await node.store(query, "The wrong river.")
            judged = asyncio.Event()

            async def look(query: str = query, judged: asyncio.Event = judged) -> tuple[bool, bool]:
                was_judged = judged.is_set()
                return was_judged, (await node.ask(query))["hit"] is not None

            async def judge(cid: str = cid, judged: asyncio.Event = judged) -> None:
                status, reply = await node.post("/feedback", {"cid": cid, "verdict": "invalid"})
                assert (status, reply["served"]) == (200, False)
                judged.set()

            judging = asyncio.create_task(judge())
            seen = [await look() for _ in range(20)]
            await judging
            seen += await asyncio.gather(*(look() for _ in range(10)))
            assert not any(was_judged and hit for was_judged, hit in seen)
            assert not any(hit for _, hit in seen[-10:])


async def test_an_embedder_that_dies_costs_the_semantic_tier_only(tmp_path: Path) -> None:
    async with start(tmp_path, embed="local") as node:
        cid = await node.store("What is a content identifier?", "The hash of a block.")
        assert (await node.search("What's a content identifier"))["cid"] == cid
        semantics = node.service._p.semantics
        assert isinstance(semantics, SwitchingSemantics)
        for engine in semantics._loaded:
            await engine.embedder.close()
        assert (await node.search("What is a content identifier?"))["cid"] == cid
        other = await node.store("What is a block?", "Bytes with a name.")
        assert (await node.ask("What is a block?"))["cid"] == other
        assert (await node.ask("Explain what a Merkle tree is for"))["source"]["kind"] == "fallback"
        _, health, _ = await node.send("GET", "/health")
        assert health["checks"]["semantic"][0]["status"] == "warn"
