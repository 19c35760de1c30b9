"""The walk: ask, answer, remember, answer again. Each test is a sentence of the first issue."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from tests.journeys.conftest import QUANTUM, STARTER, MovedClock, Start, stages, steps
from tests.journeys.proof import read_block
from tests.log_kit import verified
from tests.simulators.coingecko import CoinGeckoStandIn
from tests.simulators.ollama import OllamaStandIn


async def test_a_price_is_asked_once_and_found_by_slot(start: Start) -> None:
    async with CoinGeckoStandIn() as vendor, start(coingecko=vendor.url) as node:
        first = await node.ask("price of btc")
        assert first["source"] == {"kind": "adapter", "id": "coingecko"}
        assert first["stored"]
        calls = len(vendor.requests)
        for words in ("Bitcoin value", "BTC worth today"):
            again = await node.ask(words)
            assert again["source"]["kind"] == "cache", again["trace"]
            assert again["hit"]["kind"] == "slot"
            assert again["cid"] == first["cid"]
            assert again["answer"] == first["answer"]
        assert len(vendor.requests) == calls
        other = await node.ask("price of ETH")
        assert other["cid"] != first["cid"]
        assert "Ethereum" in other["answer"]
        assert "Bitcoin" not in other["answer"]


async def test_a_stored_proposal_answers_and_never_for_another_number(start: Start) -> None:
    async with start() as node:
        text = "Proposal 123 raised the quorum from 10 % to 15 %. It passed with 81 % of the votes."
        cid = await node.store("What was proposal 123?", text, confidence=0.9)
        for words in ("What was proposal 123?", "what was Proposal #123", "Tell me about proposal 123"):
            reply = await node.ask(words)
            assert reply["route"] == "historical"
            assert reply["answer"] == text
            assert reply["cid"] == cid
        other = await node.ask("What was proposal 124?")
        assert text not in other["answer"]
        assert "quorum" not in other["answer"]
        assert other["cid"] is None


async def test_a_model_explains_once_and_the_record_answers_other_words(start: Start) -> None:
    async with OllamaStandIn(answer=QUANTUM) as model, start(ollama=model.url) as node:
        first = await node.ask("Explain quantum computing")
        assert first["source"]["kind"] == "llm", first
        assert first["stored"], first
        for words in ("explain quantum computing please", "Can you explain quantum computing?"):
            again = await node.ask(words)
            assert again["source"]["kind"] == "cache", again["trace"]
            assert again["answer"] == first["answer"]
        assert len(model.chats) == 1


async def test_a_statement_touches_nothing(start: Start) -> None:
    async with OllamaStandIn(answer="no") as model, CoinGeckoStandIn() as vendor:
        async with start(ollama=model.url, coingecko=vendor.url) as node:
            reply = await node.ask("I like turtles")
            assert reply["route"] == "statement"
            assert reply["source"]["kind"] == "statement"
            assert not reply["stored"]
            assert "recall" not in stages(reply)
            assert "embed" not in stages(reply)
            assert not model.chats
            assert not vendor.requests


async def test_cached_answers_come_without_a_network_and_stale_ones_are_marked(start: Start) -> None:
    clock = MovedClock()
    vendor = CoinGeckoStandIn()
    async with start(clock=clock, coingecko="http://127.0.0.1:9") as node:
        await node.store("Who founded the library?", "Ada did.")
        reply = await node.ask("who founded the library")
        assert reply["source"]["kind"] == "cache"
        assert reply["answer"] == "Ada did."
    async with vendor, start("other", coingecko=vendor.url, clock=clock) as node:
        first = await node.ask("price of btc")
        clock.ahead_s += 600
        vendor.misbehave("refuse", times=None)
        late = await node.ask("price of btc")
        assert late["stale"], late
        assert late["source"]["kind"] in ("cache", "adapter")
        assert not late["cid"] or late["cid"] == first["cid"]


async def test_a_record_can_be_read_back_and_checked_by_others(start: Start) -> None:
    """By ``proof``, which knows no code of ours; its fields are those of S2-50."""
    async with (
        CoinGeckoStandIn() as vendor,
        start(coingecko=vendor.url, sharing={"publish": "sourced"}) as node,
    ):
        reply = await node.ask("price of btc")
        path = f"/ipfs/{reply['cid']}?format=raw"
        status, block, headers = await node.raw(path)
        assert (status, headers["Content-Type"]) == (200, "application/vnd.ipld.raw")
        record = read_block(reply["cid"], block)
        assert (record["query"], record["answer"]) == ("price of btc", reply["answer"])
        assert record["query_hash"] == hashlib.sha256(b"price of btc").hexdigest()
        assert (record["source"]["kind"], record["source"]["id"]) == ("adapter", "coingecko")
        assert record["confidence"] == round(reply["confidence"] * 1_000_000)
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", record["timestamp"])
        assert record["validations"] == 0
        assert record["embedding"]["dim"] * 4 == len(record["embedding"]["vector"])
        status, body, _ = await node.raw(path, headers={"If-None-Match": headers["Etag"]})
        assert (status, body) == (304, b"")


async def test_feedback_counts_and_an_invalid_record_is_not_served_again(start: Start) -> None:
    async with start() as node:
        await node.store("Who wrote Faust?", "Schiller.")
        reply = await node.ask("Who wrote Faust?")
        for _ in range(2):  # of one client it counts once
            done = await node.judge("valid", cid=reply["cid"])
            assert done["validations"] == {"valid": 1, "invalid": 0}
            assert done["served"]
        done = await node.judge("invalid", request_id=reply["request_id"], note="it was Goethe")
        assert not done["served"]
        assert done["validations"] == {"valid": 0, "invalid": 1}
        after = await node.ask("Who wrote Faust?")
        assert after["source"]["kind"] != "cache"
        assert "Schiller" not in after["answer"]


async def test_the_cache_serves_other_programs(start: Start) -> None:
    async with start() as node:
        cid = await node.store("What is the boiling point of gallium?", "2,400 °C.")
        status, found = await node.post(
            "/v1/cache/search", {"query": "what is the boiling point of gallium?"}
        )
        assert status == 200
        assert found["cid"] == cid
        assert found["answer"] == "2,400 °C."
        assert found["hit"]["score"] > 0
        missed = await node.search("What is the melting point of gallium?")
        assert missed["hit"] is None, missed
        record = await node.entry(cid)
        assert record["scope"] == "shared"
        assert await node.delete(cid) == 200
        gone = await node.search("what is the boiling point of gallium?")
        assert gone["hit"] is None


async def test_low_confidence_is_not_stored_and_says_why(start: Start) -> None:
    shipped = {"confidence_min": 0.8}
    async with OllamaStandIn(answer="Maybe.") as model, start(ollama=model.url, cache=shipped) as node:
        reply = await node.ask("Explain why the sky is blue")
        assert reply["confidence"] < 0.8
        assert not reply["stored"]
        [judged] = steps(reply, "judge")
        assert judged["outcome"] == "too_low"
        assert f"{reply['confidence']:.3f}" in judged["reason"]
        [remembered] = steps(reply, "remember")
        assert remembered["reason"] == "confidence_too_low"


async def test_the_starter_index_answers_and_is_imported_once(start: Start) -> None:
    for _ in range(2):
        async with start(index_file=STARTER) as node:
            _, health = await node.get("/health")
            reply = await node.ask("What is IPFS?")
            assert reply["source"]["kind"] == "cache", reply["trace"]
            assert reply["cid"]
            records = health["checks"]["ipfs:blocks"][0]["observedValue"]
            assert records >= 60


async def test_every_request_is_a_decision_and_no_text_of_it_is_on_the_log(start: Start) -> None:
    canary = "zanzibarquux"
    async with start() as node:
        for number in range(5):
            reply = await node.ask(f"What does {canary} number {number} mean?")
            assert reply["decision"]["index"] >= 0
        folder = node.folder
    report = await verified(folder / "governance_logs")
    assert report.ok, report
    assert report.entries >= 5
    for path in (folder / "governance_logs").rglob("*"):
        if path.is_file():
            assert canary.encode() not in path.read_bytes().lower()


async def test_restart_keeps_records_and_semantic_search(start: Start, tmp_path: Path) -> None:
    async with start() as node:
        await node.store("How does photosynthesis work?", "Plants turn light into sugar.")
    indexes = [path for path in (tmp_path / "node" / "data" / "index").rglob("*") if path.is_file()]
    assert {path.parent.name for path in indexes} == {"index", "answers"}
    for index in indexes:
        index.write_bytes(index.read_bytes()[:-7])
    async with start() as node:
        reply = await node.ask("How does photosynthesis work")
        assert reply["source"]["kind"] == "cache"
        _, health = await node.get("/health")
        assert health["checks"]["semantic"][0]["observedValue"] == 1
    assert (tmp_path / "node" / "data" / "knowledge-index.json").is_file()


async def test_the_route_is_shown_without_asking_anyone(start: Start) -> None:
    async with CoinGeckoStandIn() as vendor, start(coingecko=vendor.url) as node:
        status, route = await node.post("/route", {"query": "How much is 2.5 eth in euros?"})
        assert status == 200
        assert route["adapter"] == "coingecko"
        assert route["slots"]["ids"] == ["ethereum"]
        assert route["slots"]["vs"] == "eur"
        assert route["slots"]["amount"] == "2.5"
        assert not vendor.requests


async def test_blocks_that_are_not_public_are_not_given_out(start: Start) -> None:
    async with start() as node:
        _, kept = await node.post("/v1/cache/entries", {"query": "Where is the key?", "answer": "Under it."})
        status, body, _ = await node.raw(f"/ipfs/{kept['cid']}?format=raw")
        assert status == 404
        assert b"Under" not in body
