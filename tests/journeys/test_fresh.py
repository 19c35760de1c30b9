"""Fresh, stale and failed: one source asked once in a storm, whatever comes of it; what is served past its
time, and what never is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from aiohttp import ClientError, ClientSession, TCPConnector

from node.core.clock import SystemClock
from node.core.model import Answer, Caller
from node.pipeline.requests import Ask
from tests.journeys.conftest import QUANTUM, Client, MovedClock, Start, steps
from tests.simulators.coingecko import CoinGeckoStandIn
from tests.simulators.ollama import OllamaStandIn

WEEK_S = 7 * 86_400
QUESTION = "Explain quantum computing"
PATIENCE_S = 30.0
"""A hang, not a speed."""


async def counted(node: Client, name: str) -> dict[str, float]:
    """A counter's values by its labels as written."""
    _, page, _ = await node.raw("/metrics")
    lines = [line for line in page.decode().splitlines() if line.startswith(name)]
    return {line[len(name) :].rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in lines}


async def refreshed(node: Client, outcome: str, times: int = 1) -> None:
    """Return when so many refreshes have ended like that."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            got = await counted(node, "neuroswarm_refreshes_total")
            if got.get(f'{{outcome="{outcome}"}}', 0) >= times:
                return


@asynccontextmanager
async def crowd(node: Client) -> AsyncIterator[Client]:
    """A client that does not queue its requests: 200 at once are 200 connections."""
    async with ClientSession(connector=TCPConnector(limit=0), trust_env=False) as http:
        yield replace(node, http=http)


# --- a storm of one question ----------------------------------------------------------------------


async def test_a_failing_question_asks_its_source_once_until_its_seconds_are_over(start: Start) -> None:
    clock = MovedClock()
    async with CoinGeckoStandIn() as vendor, start(coingecko=vendor.url, clock=clock) as node:
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

        clock.ahead_s += 11
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
    async with OllamaStandIn(answer=QUANTUM, hang=True) as model, start(ollama=model.url) as node:
        first = asyncio.create_task(node.ask(QUESTION))
        await model.arrived.wait()
        async with crowd(node) as many:
            others = [asyncio.create_task(many.ask(QUESTION)) for _ in range(199)]
            while node.node.service._p.pipeline.under_way < 200:  # else it might leave before another came
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


async def _asked(node: Client, text: str, *, left_s: float, tenant: str = "local") -> Answer:
    """Ask as a caller who has so much time."""
    service = node.node.service
    query = service.query(Ask(text, Caller(tenant)))
    pipeline = service._p.pipeline
    return await pipeline.answer(replace(query, deadline=SystemClock().monotonic() + left_s))


# --- past its time --------------------------------------------------------------------------------


async def test_a_general_answer_is_served_once_more_while_one_refresh_runs(start: Start) -> None:
    clock = MovedClock()
    async with OllamaStandIn(answer=QUANTUM) as model, start(ollama=model.url, clock=clock) as node:
        first = await node.ask(QUESTION)
        assert first["stored"], first["trace"]
        clock.ahead_s += WEEK_S + 60
        model.answer = QUANTUM + " Much has been learnt since."
        replies = await asyncio.gather(*(node.ask(QUESTION) for _ in range(20)))
        for reply in replies:
            assert reply["stale"]
            assert reply["answer"] == first["answer"]
            assert reply["cid"] == first["cid"]
            assert not reply["stored"]
        await refreshed(node, "done")
        assert len(model.chats) == 2
        after = await node.ask(QUESTION)
        assert not after["stale"]
        assert after["hit"]["kind"] == "exact"
        assert after["cid"] != first["cid"]
        assert "learnt since" in after["answer"]
        old = await node.entry(first["cid"])
        assert old["state"] == "withdrawn"
        stale = await counted(node, "neuroswarm_stale_served_total")
        assert stale == {'{reason="while_revalidating"}': 20}
        # The refresh was a decision of its own.
        assert after["decision"]["index"] - max(reply["decision"]["index"] for reply in replies) >= 2


async def test_who_asks_for_a_bound_on_age_gets_nothing_beyond_it(start: Start) -> None:
    clock = MovedClock()
    async with OllamaStandIn(answer=QUANTUM) as model, start(ollama=model.url, clock=clock) as node:
        await node.ask(QUESTION)
        clock.ahead_s += WEEK_S + 60
        bounded = await node.ask(QUESTION, max_age_s=WEEK_S)
        assert not bounded["stale"]
        assert bounded["source"]["kind"] == "llm"
        assert len(model.chats) == 2


async def test_a_search_of_the_cache_serves_nothing_past_its_time(start: Start) -> None:
    clock = MovedClock()
    async with start(clock=clock) as node:
        await node.store("Who founded the library?", "Ada did.")
        assert (await node.search("Who founded the library?"))["hit"]
        clock.ahead_s += WEEK_S + 60
        after = await node.search("Who founded the library?")
        assert after["hit"] is None
        assert after["answer"] is None


async def test_no_answer_is_served_long_past_its_time_nor_for_those_who_store_nothing(start: Start) -> None:
    clock = MovedClock()
    async with OllamaStandIn(answer=QUANTUM) as model, start(ollama=model.url, clock=clock) as node:
        await node.ask(QUESTION)
        clock.ahead_s += WEEK_S + 60
        assert (await node.ask(QUESTION, no_store=True))["source"]["kind"] == "llm"
        clock.ahead_s += 3_600
        assert not (await node.ask(QUESTION))["stale"]
        assert not await counted(node, "neuroswarm_stale_served_total{")


async def test_where_the_source_fails_an_old_answer_is_given_and_marked_for_an_hour(start: Start) -> None:
    clock = MovedClock()
    async with OllamaStandIn(answer=QUANTUM) as model, start(ollama=model.url, clock=clock) as node:
        first = await node.ask(QUESTION, ttl_s=86_400)
        model.status = 500
        clock.ahead_s += 86_400 + 600
        late = await node.ask(QUESTION)
        assert late["stale"], late["trace"]
        assert late["cid"] == first["cid"]
        assert "Out of date" in late["answer"]
        again = await node.ask(QUESTION)
        assert again["stale"]
        assert steps(again, "negative")
        clock.ahead_s += 3_600
        gone = await node.ask(QUESTION)
        assert gone["source"]["kind"] == "fallback"


async def test_an_expired_answer_that_was_found_wrong_is_not_served(start: Start) -> None:
    clock = MovedClock()
    async with OllamaStandIn(answer=QUANTUM) as model, start(ollama=model.url, clock=clock) as node:
        first = await node.ask(QUESTION)
        clock.ahead_s += WEEK_S + 60
        await node.judge("invalid", cid=first["cid"])
        model.status = 500
        after = await node.ask(QUESTION)
        assert not after["stale"]
        assert after["source"]["kind"] == "fallback"


async def test_an_answer_withdrawn_while_its_source_fails_is_not_served(start: Start) -> None:
    clock = MovedClock()
    async with OllamaStandIn(answer=QUANTUM) as model, start(ollama=model.url, clock=clock) as node:
        first = await node.ask(QUESTION, ttl_s=86_400)
        clock.ahead_s += 86_400 + 600
        model.hang, model.status = True, 500
        model.arrived.clear()
        asked = asyncio.create_task(node.ask(QUESTION))
        await model.arrived.wait()
        await node.judge("invalid", cid=first["cid"])
        model.hang = False
        model.release()
        reply = await asked
        assert not reply["stale"], reply["trace"]
        assert reply["source"]["kind"] == "fallback"


async def test_a_refresh_that_fails_is_not_repeated_at_once_and_the_stop_does_not_wait(start: Start) -> None:
    clock = MovedClock()
    async with OllamaStandIn(answer=QUANTUM) as model, start(ollama=model.url, clock=clock) as node:
        await node.ask(QUESTION)
        clock.ahead_s += WEEK_S + 60
        model.status = 500
        assert (await node.ask(QUESTION))["stale"]
        await refreshed(node, "failed")
        chats = len(model.chats)
        late = await node.ask(QUESTION)
        assert late["stale"], "the source has failed: the copy is given all the same"
        assert steps(late, "negative")
        assert len(model.chats) == chats
        clock.ahead_s += 61
        model.hang = True
        model.arrived.clear()
        assert (await node.ask(QUESTION))["stale"]
        await model.arrived.wait()  # the node is stopped while this refresh hangs


# --- what the wording does to a life --------------------------------------------------------------


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
        assert _lived(record) == timedelta(days=3)


async def test_what_is_of_the_asker_is_kept_to_the_asker(start: Start) -> None:
    async with start() as node:
        cid = await node.store("What is my IP address?", "192.0.2.7")
        record = await node.entry(cid)
        assert record["scope"] == "private:local"
        other = await _asked(node, "What is my IP address?", left_s=60, tenant="bob")
        assert "192.0.2.7" not in other.text
        assert (await node.ask("What is my IP address?"))["answer"] == "192.0.2.7"


def _lived(record: dict[str, Any]) -> timedelta:
    return datetime.fromisoformat(record["expires"]) - datetime.fromisoformat(record["timestamp"])
