"""Answers while they are made, crowds, and clients that leave: over HTTP, with stand-ins for the engine."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import aiohttp
import pytest

from tests.faults.node_kit import Client, start
from tests.simulators.ollama import OllamaStandIn

QUESTION = "Explain how a suspension bridge works"
ANSWER = (
    "A suspension bridge hangs its deck from cables. The cables run over towers and pull on anchors in the "
    "ground. The towers carry the weight, and the anchors keep the cables from slipping."
)


async def events(node: Client, body: dict[str, Any]) -> AsyncIterator[tuple[str, dict[str, Any]]]:
    """The events of one streamed question as they arrive."""
    async with (
        aiohttp.ClientSession() as http,
        http.post(f"{node.url}/chat", json={"stream": True, **body}) as response,
    ):
        assert response.headers["Content-Type"] == "text/event-stream"
        name = ""
        async for raw in response.content:
            line = raw.decode().rstrip("\n")
            if line.startswith("event: "):
                name = line.removeprefix("event: ")
            elif line.startswith("data: "):
                yield name, json.loads(line.removeprefix("data: "))


async def test_the_answer_arrives_piece_by_piece_and_ends_with_the_whole_reply(tmp_path: Path) -> None:
    async with OllamaStandIn(answer=ANSWER, stall_after=12) as model:
        async with start(tmp_path, ollama=model.url) as node:
            seen: list[tuple[str, dict[str, Any]]] = []
            async for event in events(node, {"query": QUESTION}):
                seen.append(event)
                if event[0] == "delta" and model.stall_after is not None and model.stalled.is_set():
                    break  # the model has not ended, and we read already
            assert seen[0] == ("route", {"route": "generative", "adapter": None})
            text = "".join(facts["text"] for name, facts in seen if name == "delta")
            assert text
            assert ANSWER.startswith(text)
            model.stall_after = None
            model.release()
            whole = [event async for event in events(node, {"query": QUESTION, "verbose": True})]
            assert whole[-1][0] == "done"
            plain = await node.ask(QUESTION)
            assert whole[-1][1].keys() == plain.keys()
            assert "".join(facts["text"] for name, facts in whole if name == "delta") in plain["answer"]


async def test_thinking_and_echoes_are_not_shown_on_the_way(tmp_path: Path) -> None:
    said = f"<think>The user wants bridges.\nSecret.</think>ANSWER: {ANSWER}\n\nQUESTION: next?"
    async with OllamaStandIn(answer=said) as model, _node(tmp_path, model) as node:
        got = [event async for event in events(node, {"query": QUESTION})]
        text = "".join(facts["text"] for name, facts in got if name == "delta")
        assert text == got[-1][1]["answer"] == ANSWER


async def test_a_connection_that_drops_in_the_middle_is_asked_once_more(tmp_path: Path) -> None:
    async with OllamaStandIn(answer=ANSWER, cut_connection=True) as model, _node(tmp_path, model) as node:
        arrived: list[str] = []
        async for name, facts in events(node, {"query": QUESTION}):
            arrived.append(name)
            if name == "reset":
                model.cut_connection = False
            if name == "done":
                assert facts["answer"] == ANSWER
        assert len(model.chats) == 2
        assert arrived[-1] == "done"


@pytest.mark.parametrize("way", ["streamed", "whole", "page"])
async def test_a_client_that_leaves_ends_its_generation_and_frees_the_turn(tmp_path: Path, way: str) -> None:
    async with OllamaStandIn(answer=ANSWER, hang=True) as model, _node(tmp_path, model) as node:
        if way == "page":
            writer = await _send(node, "/", "application/x-www-form-urlencoded", urlencode({"q": QUESTION}))
        else:
            body = json.dumps({"query": QUESTION, "stream": way == "streamed"})
            writer = await _send(node, "/chat", "application/json", body)
        await model.arrived.wait()
        second = asyncio.create_task(node.ask("Explain how a lighthouse works"))
        model.hang = False
        writer.transport.abort()
        assert (await second)["answer"] == ANSWER, "the turn was free"


@pytest.mark.parametrize(("people", "at_once"), [(20, 1), (4, 2)])
async def test_as_many_people_at_once_as_the_engine_is_said_to_do(
    tmp_path: Path, people: int, at_once: int
) -> None:
    crowd = asyncio.Event()

    async def until_crowded() -> None:
        if model.running == at_once:
            crowd.set()
        await crowd.wait()

    async with OllamaStandIn(answer=ANSWER, delay=until_crowded) as model:
        async with start(tmp_path, ollama=model.url, models={"ollama_parallel": at_once}) as node:
            asked = (f"Explain how bridge number {n} of the valley works" for n in range(people))
            replies = await asyncio.gather(*map(node.ask, asked))
            assert [reply["source"]["kind"] for reply in replies] == ["llm"] * people
            assert model.running_max == at_once


async def test_who_gets_no_turn_is_told_when_to_ask_again(tmp_path: Path) -> None:
    async with OllamaStandIn(answer=ANSWER, hang=True) as model:
        limits = {"request_timeout_s": 2}
        async with start(tmp_path, ollama=model.url, server=limits) as node:
            first = asyncio.create_task(node.ask("Explain how a lighthouse works"))
            await model.arrived.wait()
            got = [event async for event in events(node, {"query": QUESTION})]
            assert ("wait", {"engine": "ollama", "ahead": 0, "wait_s": None}) in got
            reply = got[-1][1]
            assert reply["source"]["kind"] == "fallback"
            assert 1 <= reply["retry_after_s"] <= 300
            model.release()
            await first


@pytest.mark.parametrize("embed", ["local", "none"])  # without it the model would read the note, too
async def test_who_gets_no_turn_gets_what_is_stored_about_it(tmp_path: Path, embed: str) -> None:
    async with OllamaStandIn(answer=ANSWER) as model:
        async with start(tmp_path, ollama=model.url, embed=embed, server={"request_timeout_s": 2}) as node:
            stored = "The lock of the boat house opens with the brass key that hangs behind the stove."
            await node.store("How can the boat house lock be opened?", stored, confidence=0.5)
            queue = node.service._p.pipeline._stations.generation.composer.engines[0].queue
            with queue.place(until=math.inf, due=0.0):  # somebody has the turn all the while
                reply = await node.ask("Explain how the lock of the boat house opens")
            assert model.chats == []
            assert reply["source"]["kind"] == "extractive"
            assert stored in reply["answer"]
            assert reply["citations"][0]["snippet"] in stored
            assert 1 <= reply["retry_after_s"] <= 300
            assert not reply["stored"]


async def _send(node: Client, path: str, kind: str, text: str) -> asyncio.StreamWriter:
    """Ask and do not read."""
    _, writer = await node.connect()
    data = text.encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {kind}\r\n"
        f"Content-Length: {len(data)}\r\n\r\n"
    )
    writer.write(head.encode() + data)
    await writer.drain()
    return writer


def _node(tmp_path: Path, model: OllamaStandIn) -> Any:
    return start(tmp_path, ollama=model.url)
