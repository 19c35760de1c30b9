"""Races around the cache: one computation for many, no answer that was withdrawn; a node that is killed finds
what it acknowledged."""

from __future__ import annotations

import asyncio
import random
import signal
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from node.cache.keys import keyword_key
from node.core.ipld.cid import Cid
from node.core.ports import StoredRecord
from tests.faults.node_kit import PATIENCE_S, Client, child, reasons, start
from tests.log_kit import verified
from tests.references.record_store import MemoryRecords, MemoryStore
from tests.simulators.ollama import OllamaStandIn
from tests.unit.cache.test_recall import FAR, NEAR, PRICE, US, Bench, found

MANY = 200
EXPLAIN = "Explain how suspension bridges carry their load"


async def under_way(node: Client, count: int) -> None:
    """Return when so many questions are being answered."""
    async with asyncio.timeout(PATIENCE_S):
        while node.service._p.pipeline.under_way < count:
            await asyncio.sleep(0)


async def test_two_hundred_equal_questions_are_one_computation(tmp_path: Path) -> None:
    gate = asyncio.Event()
    async with OllamaStandIn(delay=gate.wait) as model, start(tmp_path, ollama=model.url) as node:
        asked = [asyncio.create_task(node.ask(EXPLAIN)) for _ in range(MANY)]
        await under_way(node, MANY)
        async with asyncio.timeout(PATIENCE_S):
            await model.arrived.wait()
        calls = len(model.chats)
        gate.set()
        replies = await asyncio.gather(*asked)
        assert calls == 1
        assert {reply["source"]["kind"] for reply in replies} == {"llm"}
        assert len({reply["answer"] for reply in replies}) == 1
        assert len({reply["request_id"] for reply in replies}) == MANY
        assert len({reply["decision"]["index"] for reply in replies}) == MANY, "each has its own decision"
        joined = [reply for reply in replies if "single_flight" in reasons(reply)]
        assert len(joined) == MANY - 1
        assert node.service._p.pipeline.under_way == 0


async def test_only_equal_questions_share_a_computation(tmp_path: Path) -> None:
    gate = asyncio.Event()
    things = ("suspension bridges", "arch bridges", "suspension bridges today")
    async with OllamaStandIn(delay=gate.wait) as model, start(tmp_path, ollama=model.url) as node:
        asked = [
            asyncio.create_task(node.ask(f"Explain how {things[index % 3]} carry their load"))
            for index in range(60)
        ]
        await under_way(node, 60)
        gate.set()
        replies = await asyncio.gather(*asked)
        assert len(model.chats) == 3
        for index, reply in enumerate(replies):
            assert f"how {things[index % 3]} carry" in reply["answer"]
        assert sum("single_flight" in reasons(reply) for reply in replies) == 57


class PausingRecords(MemoryRecords):
    """At the ``at``-th call of ``name`` from ``arm`` on, tells ``reached`` and waits for ``go``."""

    def arm(self, name: str, at: int) -> None:
        self.name, self.at = name, at
        self.reached, self.go = asyncio.Event(), asyncio.Event()

    async def _pause(self, name: str) -> None:
        if getattr(self, "name", "") != name:
            return
        self.at -= 1
        if self.at == 0:
            self.reached.set()
            await self.go.wait()

    async def live(self, cids: Sequence[Cid]) -> dict[Cid, StoredRecord]:
        await self._pause("live")
        return await super().live(cids)

    async def find(
        self, column: str, key: str, *, scopes: Sequence[str], context: str | None, limit: int = 8
    ) -> list[StoredRecord]:
        rows = await super().find(column, key, scopes=scopes, context=context, limit=limit)
        await self._pause("find")
        return rows


LOOK_UPS: dict[str, tuple[str, dict[str, Any]]] = {
    "exact": ("How do I bake bread at home?", {"vector": None}),
    "slot": ("x worth today", {"route": PRICE}),
    "keyword": ("please tell me how do i bake bread at home", {"vector": FAR}),
    "semantic": ("How can I bake bread at home?", {"vector": NEAR}),
}


@pytest.mark.parametrize("name", ["find", "live"])
@pytest.mark.parametrize("tier", LOOK_UPS)
async def test_withdrawn_between_search_and_serving_it_is_not_served(tier: str, name: str) -> None:
    store = MemoryStore(own_issuer=US.did)
    records = PausingRecords(store, US.did)
    bench = Bench(records)
    more = {"slot_key": "price:x:usd", "route": "deterministic"} if tier == "slot" else {}
    text, how = LOOK_UPS[tier]
    for at in (1, 2, 3):
        record = US.answer("How do I bake bread at home?", answer=f"Answer {at}.", **more)
        words = None if tier == "semantic" else keyword_key(record.query)
        stored = await records.add(record, keyword_key=words)
        bench.index.add(stored.cid, NEAR, scope=record.scope, context=record.context)
        records.arm("", 0)
        served = await bench.ask(text, **how)
        assert served.found is not None, "it is served while it lives"
        assert (served.found.stored.cid, served.found.hit.kind) == (
            stored.cid,
            "slot" if tier == "keyword" else tier,
        )
        records.arm(name, at)
        looking = asyncio.create_task(bench.ask(text, **how))
        reached = asyncio.create_task(records.reached.wait())
        await asyncio.wait({looking, reached}, return_when=asyncio.FIRST_COMPLETED)
        assert await records.withdraw(stored.cid, "wrong")
        records.go.set()
        paused = reached.done()
        recall = await looking
        reached.cancel()
        if paused:
            assert recall.found is None, recall.reason
        assert found(await bench.ask(text, **how)) is None


QUESTION = "How do I prune an apple tree in winter?"
REWORDED = "please tell me how do i prune an apple tree in winter"


@pytest.mark.parametrize("how", ["DELETE", "feedback"])
async def test_after_the_reply_to_a_withdrawal_no_search_returns_it(tmp_path: Path, how: str) -> None:
    async with start(tmp_path, embed="local") as node:
        for number in range(4):
            cid = await node.store(QUESTION, f"Cut {number} branches.", replace=True)
            for text in (QUESTION, REWORDED):
                assert (await node.search(text))["cid"] == cid
            gone = asyncio.Event()

            async def look(text: str, gone: asyncio.Event = gone) -> tuple[bool, str | None]:
                was_gone = gone.is_set()
                return was_gone, (await node.search(text))["cid"]

            async def ask(gone: asyncio.Event = gone) -> tuple[bool, str | None]:
                was_gone = gone.is_set()
                reply = await node.ask(QUESTION)
                return was_gone, reply["cid"] if reply["hit"] else None

            async def end(cid: str = cid, gone: asyncio.Event = gone) -> None:
                if how == "DELETE":
                    assert await node.delete(cid) == 200
                else:
                    await node.judge("invalid", cid=cid)
                gone.set()

            looks: list[Callable[[], Awaitable[tuple[bool, str | None]]]] = [
                lambda: look(QUESTION),
                lambda: look(REWORDED),
                ask,
            ]
            before = [asyncio.ensure_future(looks[index % 3]()) for index in range(MANY // 2)]
            ending = asyncio.create_task(end())
            during = [asyncio.ensure_future(looks[index % 3]()) for index in range(MANY // 2)]
            await gone.wait()
            after = [asyncio.ensure_future(looks[index % 3]()) for index in range(30)]
            seen = await asyncio.gather(*before, *during, *after)
            await ending
            assert not [found for was_gone, found in seen if was_gone and found == cid]
            assert sum(was_gone for was_gone, _ in seen) >= 30


@pytest.mark.timeout(180)
async def test_a_whole_node_killed_finds_all_it_acknowledged_and_nothing_withdrawn(tmp_path: Path) -> None:
    """Over HTTP with the real embedder; the kill comes in the middle of stores that are under way."""
    chance = random.Random(7)
    things = ("kettle", "violin", "compass", "lantern", "anchor", "saddle", "telescope", "loom", "anvil")
    places = ("a lighthouse", "a vineyard", "a glacier", "a monastery", "a circus", "a submarine", "a mine")
    pairs = [(thing, place) for thing in things for place in places]
    chance.shuffle(pairs)
    kept: dict[str, tuple[str, str]] = {}
    decisions: list[int] = []
    gone: dict[str, tuple[str, str]] = {}  # a withdrawal that was asked for and not answered is in neither
    for kill in range(4):
        async with child(tmp_path, NEUROSWARM_EMBED__ENGINE="local") as (process, node):
            for cid, (thing, place) in (kept | gone).items():
                exact = await node.search(f"What is the {thing} in {place} for?")
                near = await node.search(f"For what purpose would {place} have a {thing}?")
                seen = {one["cid"] for one in near["candidates"]}
                if cid in kept:
                    assert exact["cid"] == cid
                    assert cid in seen
                else:
                    assert exact["cid"] is None
                    assert cid not in seen
            if kill == 3:
                _, health, _ = await node.send("GET", "/health")
                assert health["checks"]["semantic"][0]["observedValue"] >= len(kept)
                assert await process.end() == 0
                break
            some = [pairs.pop() for _ in range(chance.randint(6, 16))]

            async def write(thing: str, place: str, number: int, node: Client = node) -> None:
                decisions.append((await node.ask(f"{number}+1"))["decision"]["index"])
                cid = await node.store(f"What is the {thing} in {place} for?", f"For work {number}.")
                kept[cid] = (thing, place)
                if number % 3 == 0:
                    del kept[cid]
                    assert await node.delete(cid) == 200
                    gone[cid] = (thing, place)

            enough = chance.randint(2, len(some) - 2)
            writes = [asyncio.create_task(write(*pair, number)) for number, pair in enumerate(some)]
            while sum(one.done() for one in writes) < enough:
                await asyncio.wait(
                    [one for one in writes if not one.done()], return_when=asyncio.FIRST_COMPLETED
                )
            await process.end(signal.SIGKILL)
            outcomes = await asyncio.gather(*writes, return_exceptions=True)
            assert all(one is None or isinstance(one, aiohttp.ClientError) for one in outcomes), outcomes
    report = await verified(tmp_path / "governance_logs")
    assert report.ok, report
    assert report.entries > max(decisions)


async def test_callers_that_hang_up_leave_the_computation_to_the_others(tmp_path: Path) -> None:
    gate = asyncio.Event()
    async with OllamaStandIn(delay=gate.wait) as model, start(tmp_path, ollama=model.url) as node:
        asked = [asyncio.create_task(node.ask(EXPLAIN)) for _ in range(60)]
        await under_way(node, 60)
        async with asyncio.timeout(PATIENCE_S):
            await model.arrived.wait()
        for task in asked[:40]:
            task.cancel()
        gone = await asyncio.gather(*asked[:40], return_exceptions=True)
        assert all(isinstance(one, asyncio.CancelledError) for one in gone)
        gate.set()
        replies = await asyncio.gather(*asked[40:])
        assert {reply["source"]["kind"] for reply in replies} == {"llm"}
        assert len([seen for seen in model.chats if EXPLAIN in seen.prompt]) == 1
