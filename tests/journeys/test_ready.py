"""The same words again: served from memory, logged and counted as any answer, and never after a change."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit

import orjson
import pytest

from tests.faults.node_kit import eventually
from tests.journeys.conftest import Client, MovedClock, Start

QUESTION, ANSWER = "What is kept in the shed?", "The tools are kept in the shed."


async def plain(node: Client, query: str = QUESTION, **more: Any) -> dict[str, Any]:
    status, reply = await node.post("/chat", {"query": query, **more})
    assert status == 200, reply
    return reply


def said(reply: dict[str, Any]) -> dict[str, Any]:
    """A reply without what is of one request, or of its second."""
    return {**reply, "request_id": "", "decision": {}, "hit": {**reply["hit"], "age_s": 0}}


def is_ready(node: Client, query: str = QUESTION) -> bool:
    """Whether the next asking is answered from memory."""
    return query in {text for text, _, _ in node.service._p.pipeline._ready._ready}


async def warm(node: Client) -> dict[str, Any]:
    await node.store(QUESTION, ANSWER)
    first = await plain(node)
    assert first["hit"]["kind"] == "exact"
    assert is_ready(node)
    return first


async def test_the_second_reply_says_the_same_and_is_a_decision_of_its_own(start: Start) -> None:
    async with start() as node:
        first = await warm(node)
        replies = [await plain(node) for _ in range(20)]
        assert [said(reply) for reply in replies] == [said(first)] * 20
        assert len({reply["request_id"] for reply in (first, *replies)}) == 21
        places = [reply["decision"]["index"] for reply in (first, *replies)]
        assert places == sorted(set(places))
        _, page, _ = await node.raw("/metrics")
        lookups = [line for line in page.decode().splitlines() if line.startswith("neuroswarm_lookups_total")]
        assert [float(line.rsplit(" ", 1)[1]) for line in lookups if '"exact"' in line] == [21]
        told = await plain(node, verbose=True)
        assert told["trace"], "who wants the trace gets the walk"
        status, _ = await node.post("/feedback", {"request_id": replies[3]["request_id"], "verdict": "valid"})
        assert status == 200


async def _sent(
    node: Client, head: str, body: bytes, *, closes: bool = False
) -> tuple[dict[str, str], bytes]:
    """The head of the reply to these bytes, and its body. Whether the connection was then closed is looked
    at: an open one answers once more."""
    reader, writer = await asyncio.open_connection("127.0.0.1", urlsplit(node.url).port)
    writer.write(f"{head}\r\nHost: 127.0.0.1\r\n\r\n".encode() + body)
    first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")[:-2]
    fields = dict(line.split(": ", 1) for line in lines)
    said = await reader.readexactly(int(fields["Content-Length"]))
    if not closes:
        writer.write(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    assert bool(await reader.read(1)) is not closes, head
    writer.close()
    return {"": first, **fields}, said


async def test_the_head_is_that_of_any_reply(start: Start) -> None:
    body = orjson.dumps({"query": QUESTION})
    chunked = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    sent = f"Content-Length: {len(body)}\r\nContent-Type: application/json"
    async with start() as node:
        await warm(node)
        usual, said = await _sent(node, f"POST /chat HTTP/1.1\r\n{sent}", body)
        walked = orjson.dumps({"query": QUESTION, "verbose": True})
        length = sent.replace(str(len(body)), str(len(walked)))
        other, _ = await _sent(node, f"POST /chat HTTP/1.1\r\n{length}", walked)
        own = {"X-Request-Id": orjson.loads(said)["request_id"], "Content-Length": str(len(said))}
        assert usual == {**other, **own, "Date": usual["Date"]}
        ways = {
            "1.1\r\nConnection: close\r\n" + sent: (body, True),
            "1.0\r\n" + sent: (body, True),
            "1.1\r\nX-Request-Id: my-own-id\r\n" + sent + "; charset=utf-8": (body, False),
            "1.1\r\nTransfer-Encoding: chunked\r\nContent-Type: application/json": (chunked, False),
        }
        for way, (data, closes) in ways.items():
            fields, said = await _sent(node, f"POST /chat HTTP/{way}", data, closes=closes)
            assert orjson.loads(said)["hit"]["kind"] == "exact", way
            assert orjson.loads(said)["request_id"] == fields["X-Request-Id"]
            assert ("my-own-id" in way) == (fields["X-Request-Id"] == "my-own-id")
            assert fields.keys() - {"Connection"} == usual.keys()
        for refused, status in (("Content-Encoding: gzip", 400), ("Origin: http://elsewhere", 400)):
            fields, _ = await _sent(node, f"POST /chat HTTP/1.1\r\n{refused}\r\n{sent}", body)
            assert fields[""].split()[1] == str(status), refused


async def test_it_waits_for_the_log_where_the_log_waits_for_the_disk(start: Start) -> None:
    async with start(log={"durability": "before_reply"}) as node:
        await warm(node)
        log = node.service._p.log
        for _ in range(3):
            reply = await plain(node)
            assert log.tile_log._durable > reply["decision"]["index"]


async def _correct(node: Client) -> str:
    await node.store(QUESTION, "The boat is kept in the shed.", replace=True)
    return "boat"


async def _delete(node: Client) -> str:
    cid = (await plain(node))["cid"]
    assert await node.delete(cid) == 200
    return ""


async def _invalid(node: Client) -> str:
    await node.judge("invalid", cid=(await plain(node))["cid"])
    return ""


async def _invalidate(node: Client) -> str:
    assert (await node.post("/v1/cache/invalidate", {"query": QUESTION}))[1]["withdrawn"] == 1
    return ""


@pytest.mark.parametrize("change", [_correct, _delete, _invalid, _invalidate])
async def test_after_a_change_the_old_answer_is_never_served(
    start: Start, change: Callable[[Client], Awaitable[str]]
) -> None:
    async with start() as node:
        await warm(node)
        now = await change(node)
        assert not is_ready(node)
        reply = await plain(node)
        assert "tools" not in reply["answer"]
        assert now in reply["answer"]


async def test_it_ends_with_its_record_and_its_day(start: Start) -> None:
    clock = MovedClock()
    async with start(clock=clock) as node:
        status, _ = await node.post("/v1/cache/entries", {"query": QUESTION, "answer": ANSWER, "ttl_s": 300})
        assert status == 201
        await plain(node)
        assert (await plain(node))["hit"]["age_s"] < 10
        clock.ahead_s += 200
        assert (await plain(node))["hit"]["age_s"] >= 200
        clock.ahead_s += 101
        assert (await plain(node))["hit"] is None


async def test_what_depends_on_more_than_the_words_is_walked(start: Start) -> None:
    async with start() as node:
        await warm(node)
        for more in ({"no_cache": True}, {"max_age_s": 0}):
            assert (await plain(node, **more))["hit"] is None
        session = await plain(node, session_id="s-1")
        assert session["hit"]["kind"] == "exact"
        again = await plain(node, "why?", session_id="s-1")
        assert again["answer"] != (await plain(node, "why?"))["answer"], "the turn was entered"


async def test_what_the_log_refuses_is_refused_from_memory_too(start: Start) -> None:
    async with start(log={"on_failure": "refuse"}) as node:
        await warm(node)
        await node.service._p.log.close()
        assert (await node.post("/chat", {"query": QUESTION}))[0] == 503


async def test_another_record_of_the_same_words_is_found_while_the_walk_is_under_way(start: Start) -> None:
    """What changed between a walk's look-up and its end is not kept."""
    async with start() as node:
        await warm(node)
        pipeline = node.service._p.pipeline
        pipeline._ready.clear()
        record = pipeline._decisions.record

        async def slow(*given: Any) -> Any:
            await node.store(QUESTION, "The boat is kept in the shed.", replace=True)
            return await record(*given)

        pipeline._decisions = _Slow(pipeline._decisions, slow)
        old = await plain(node)
        pipeline._decisions = pipeline._decisions.behind
        assert "tools" in old["answer"]
        assert not is_ready(node)
        await eventually(lambda: plain(node), lambda reply: "boat" in reply["answer"])


class _Slow:
    def __init__(self, behind: Any, record: Any) -> None:
        self.behind, self.record = behind, record

    def __getattr__(self, name: str) -> Any:
        return getattr(self.behind, name)
