"""Fresh, stale and failed: one source asked once in a storm, whatever comes of it; what is served past its
time, and what never is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from aiohttp import ClientError

from node.core.caller import Caller
from node.core.clock import SystemClock
from node.core.model import Answer
from node.pipeline.requests import Ask
from tests.faults.node_kit import eventually
from tests.journeys.conftest import QUANTUM, Client, MovedClock, Start, steps
from tests.simulators.coingecko import CoinGeckoStandIn
from tests.simulators.ollama import OllamaStandIn

WEEK_S = 7 * 86_400
QUESTION = "Explain quantum computing"


async def counted(node: Client, name: str) -> dict[str, float]:
    """A counter's values by its labels as written."""
    _, page, _ = await node.raw("/metrics")
    lines = [line for line in page.decode().splitlines() if line.startswith(name)]
    return {line[len(name) :].rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in lines}


async def refreshed(node: Client, outcome: str) -> None:
    """Return when a refresh has ended like that."""
    await eventually(lambda: node.metric(f'neuroswarm_refreshes_total{{outcome="{outcome}"}}'))


async def test_a_failing_question_asks_its_source_once_until_its_seconds_are_over(start: Start) -> None:
    clock = MovedClock()
    cache = {"negative_s": 300}  # so long that none of it passes by itself
    async with CoinGeckoStandIn() as vendor, start(coingecko=vendor.url, clock=clock, cache=cache) as node:
        vendor.misbehave("refuse", times=None)
        first = await node.ask("price of btc")
        assert first["source"]["kind"] == "fallback"
        assert not steps(first, "negative")
        asked = len(vendor.requests)
        for words in ("price of btc", "Bitcoin value", "BTC worth today"):
            again = await node.ask(words)
            assert steps(again, "negative"), again["trace"]
            assert again["answer"] == first["answer"]
            assert again["source"]["kind"] == "fallback"
            assert not again["stored"]
            assert again["decision"]["index"] > first["decision"]["index"]
        assert len(vendor.requests) == asked
        assert sum((await counted(node, "neuroswarm_negative_hits_total")).values()) == 3

        clock.ahead_s += 301
        await node.ask("price of btc")
        assert len(vendor.requests) > asked


async def test_a_remembered_failure_is_said_in_the_language_of_who_asks_now(start: Start) -> None:
    async with start() as node:
        french = await node.ask("combien de dollars font treize euros")
        german = await node.ask("wie viel dollar sind dreizehn euro")
    assert french["answer"].startswith("Je n'ai pas pu")
    assert german["answer"].startswith("Das konnte ich nicht nachsehen")


async def test_no_cache_goes_past_a_remembered_failure_and_a_success_ends_it(start: Start) -> None:
    async with CoinGeckoStandIn() as vendor, start(coingecko=vendor.url) as node:
        vendor.misbehave("status", times=None, status=404)
        assert (await node.ask("price of btc"))["source"]["kind"] == "fallback"
        vendor.behave()
        assert steps(await node.ask("price of btc"), "negative")
        past = await node.ask("price of btc", no_cache=True, no_store=True)
        assert past["source"] == {"kind": "adapter", "id": "coingecko"}
        after = await node.ask("price of btc")
        assert after["source"]["id"] == "coingecko"
        assert not any("coingecko" in step["reason"] for step in steps(after, "negative"))


async def test_a_stored_answer_comes_before_a_remembered_failure(start: Start) -> None:
    async with start() as node:
        question = "Explain the history of the printing press in Korea"
        assert (await node.ask(question))["source"]["kind"] == "fallback"
        await node.store(question, "It began with Jikji, in 1377.")
        after = await node.ask(question)
        assert after["source"]["kind"] == "cache"
        assert not steps(after, "negative")


@pytest.mark.parametrize("well", [True, False])
async def test_the_first_asker_leaves_and_the_others_get_the_one_answer(start: Start, well: bool) -> None:
    async with (
        OllamaStandIn(answer=QUANTUM, hang=True) as model,
        start(ollama=model.url, connections=0) as node,
    ):
        first = asyncio.create_task(node.ask(QUESTION))
        await model.arrived.wait()
        others = [asyncio.create_task(node.ask(QUESTION)) for _ in range(49)]
        while node.service._p.pipeline.under_way < 50:  # else it might leave before another came
            await asyncio.sleep(0.01)
        first.cancel()
        with pytest.raises((asyncio.CancelledError, ClientError)):
            await first
        model.hang = False
        if not well:
            model.status = 500
        model.release()
        replies = await asyncio.gather(*others)
        assert len(model.chats) == 1
        assert len({reply["answer"] for reply in replies}) == 1
        assert {reply["source"]["kind"] for reply in replies} == {"llm" if well else "fallback"}


async def test_tenants_do_not_share_failures(start: Start) -> None:
    async with CoinGeckoStandIn() as vendor, start(coingecko=vendor.url) as node:
        vendor.misbehave("status", times=None, status=404)
        ada = await node.service.answer(Ask("price of btc", Caller("ada")))
        assert ada.source.kind == "fallback"
        vendor.behave()
        bob = await node.service.answer(Ask("price of btc", Caller("bob")))
        assert bob.source.id == "coingecko"


@dataclass
class Late:
    """A node whose model's answer is past its time."""

    node: Client
    model: OllamaStandIn
    clock: MovedClock
    first: dict[str, Any]

    async def ask(self, **more: Any) -> dict[str, Any]:
        return await self.node.ask(QUESTION, **more)


@asynccontextmanager
async def late(start: Start, by_s: int = 60, **more: Any) -> AsyncIterator[Late]:
    """By so much; ``ttl_s`` is the life that was asked for, a week where none was."""
    clock = MovedClock()
    async with OllamaStandIn(answer=QUANTUM) as model, start(ollama=model.url, clock=clock) as node:
        first = await node.ask(QUESTION, **more)
        assert first["stored"], first["trace"]
        clock.ahead_s += more.get("ttl_s", WEEK_S) + by_s
        yield Late(node, model, clock, first)


async def test_a_general_answer_is_served_once_more_while_one_refresh_runs(start: Start) -> None:
    async with late(start) as it:
        it.model.answer = QUANTUM + " Much has been learnt since."
        replies = await asyncio.gather(*(it.ask() for _ in range(20)))
        for reply in replies:
            assert (reply["stale"], reply["stored"]) == (True, False)
            assert (reply["answer"], reply["cid"]) == (it.first["answer"], it.first["cid"])
        await refreshed(it.node, "done")
        assert len(it.model.chats) == 2
        after = await it.ask()
        assert (after["stale"], after["hit"]["kind"]) == (False, "exact")
        assert after["cid"] != it.first["cid"]
        assert "learnt since" in after["answer"]
        assert (await it.node.entry(it.first["cid"]))["state"] == "withdrawn"
        stale = await counted(it.node, "neuroswarm_stale_served_total")
        assert stale == {'{reason="while_revalidating"}': 20}
        # The refresh was a decision of its own.
        assert after["decision"]["index"] - max(reply["decision"]["index"] for reply in replies) >= 2


async def test_who_asks_for_a_bound_on_age_gets_nothing_beyond_it(start: Start) -> None:
    async with late(start) as it:
        bounded = await it.ask(max_age_s=WEEK_S)
        assert (bounded["stale"], bounded["source"]["kind"]) == (False, "llm")
        assert len(it.model.chats) == 2


async def test_a_search_of_the_cache_serves_nothing_past_its_time(start: Start) -> None:
    clock = MovedClock()
    async with start(clock=clock) as node:
        await node.store("Who founded the library?", "Ada did.")
        assert (await node.search("Who founded the library?"))["hit"]
        clock.ahead_s += WEEK_S + 60
        after = await node.search("Who founded the library?")
        assert (after["hit"], after["answer"]) == (None, None)


async def test_no_answer_is_served_long_past_its_time_nor_for_those_who_store_nothing(start: Start) -> None:
    async with late(start) as it:
        assert (await it.ask(no_store=True))["source"]["kind"] == "llm"
        it.clock.ahead_s += 3_600
        assert not (await it.ask())["stale"]
        assert not await counted(it.node, "neuroswarm_stale_served_total{")


async def test_where_the_source_fails_an_old_answer_is_given_and_marked_for_an_hour(start: Start) -> None:
    async with late(start, 600, ttl_s=86_400) as it:
        it.model.status = 500
        given = await it.ask()
        assert given["stale"], given["trace"]
        assert given["cid"] == it.first["cid"]
        assert "Out of date" in given["answer"]
        again = await it.ask()
        assert again["stale"]
        assert steps(again, "negative")
        it.clock.ahead_s += 3_600
        assert (await it.ask())["source"]["kind"] == "fallback"


async def test_an_expired_answer_that_was_found_wrong_is_not_served(start: Start) -> None:
    async with late(start) as it:
        await it.node.judge("invalid", cid=it.first["cid"])
        it.model.status = 500
        after = await it.ask()
        assert (after["stale"], after["source"]["kind"]) == (False, "fallback")


async def test_an_answer_withdrawn_while_its_source_fails_is_not_served(start: Start) -> None:
    async with late(start, 600, ttl_s=86_400) as it:
        it.model.hang, it.model.status = True, 500
        it.model.arrived.clear()
        asked = asyncio.create_task(it.ask())
        await it.model.arrived.wait()
        await it.node.judge("invalid", cid=it.first["cid"])
        it.model.hang = False
        it.model.release()
        reply = await asked
        assert (reply["stale"], reply["source"]["kind"]) == (False, "fallback"), reply["trace"]


async def test_a_refresh_that_fails_is_not_repeated_at_once_and_the_stop_does_not_wait(start: Start) -> None:
    async with late(start) as it:
        it.model.status = 500
        assert (await it.ask())["stale"]
        await refreshed(it.node, "failed")
        chats = len(it.model.chats)
        again = await it.ask()
        assert again["stale"], "the source has failed: the copy is given all the same"
        assert steps(again, "negative")
        assert len(it.model.chats) == chats
        it.clock.ahead_s += 61
        it.model.hang = True
        it.model.arrived.clear()
        assert (await it.ask())["stale"]
        await it.model.arrived.wait()  # the node is stopped while this refresh hangs


async def test_a_life_is_read_from_the_question_and_told(start: Start) -> None:
    text = (
        "The chief executive of Acme is Ada Smith. She leads the company since its early years and answers "
        "to the board of directors, which meets four times in every year in Paris."
    )
    async with OllamaStandIn(answer=text) as model, start(ollama=model.url) as node:
        reply = await node.ask("Who is the CEO of Acme Robotics?")
        [life] = steps(reply, "lifetime")
        assert "office" in life["reason"]
        record = await node.entry(reply["cid"])
        ends, begins = (datetime.fromisoformat(record[name]) for name in ("expires", "timestamp"))
        assert ends - begins == timedelta(days=3)


async def test_what_is_of_the_asker_is_kept_to_the_asker(start: Start) -> None:
    async with start() as node:
        cid = await node.store("What is my IP address?", "192.0.2.7")
        record = await node.entry(cid)
        assert record["scope"] == "private:local"
        other = await node.service.answer(Ask("What is my IP address?", Caller("bob")))
        assert "192.0.2.7" not in other.text
        assert (await node.ask("What is my IP address?"))["answer"] == "192.0.2.7"


async def test_that_failures_are_remembered_can_be_switched_off(start: Start) -> None:
    async with CoinGeckoStandIn() as vendor:
        async with start(coingecko=vendor.url, cache={"negative_s": 0}) as node:
            vendor.misbehave("status", times=None, status=404)
            await node.ask("price of btc")
            asked = len(vendor.requests)
            assert not steps(await node.ask("price of btc"), "negative")
            assert len(vendor.requests) > asked


async def _asked(node: Client, text: str, *, left_s: float) -> Answer:
    """Ask as a caller who has so much time."""
    query = node.service.query(Ask(text, Caller("local")))
    deadline = SystemClock().monotonic() + left_s
    return await node.service._p.pipeline.answer(replace(query, deadline=deadline))


async def test_an_impatient_asker_does_not_spoil_it_for_others(start: Start) -> None:
    async with OllamaStandIn(answer=QUANTUM, hang=True) as model, start(ollama=model.url) as node:
        hasty = asyncio.create_task(_asked(node, QUESTION, left_s=0.5))
        patient = asyncio.create_task(_asked(node, QUESTION, left_s=60))
        assert (await hasty).source.kind == "fallback"
        model.hang = False
        model.release()
        assert (await patient).source.kind in ("llm", "cache")
        assert (await _asked(node, QUESTION, left_s=60)).source.kind != "fallback"
