"""The door for OpenAI's clients, over HTTP: what is cached and for whom, and what an upstream may do to
it."""

from __future__ import annotations

import asyncio
import json
from io import BytesIO
from pathlib import Path
from typing import Any

import http_sf
import pytest

from node.pipeline.partition import LOOKED_AT_CHARS_MAX
from tests.faults.node_kit import eventually
from tests.openai_kit import CHAT, UPSTREAM, asking, chats, checked_chat, events, front, said, streamed
from tests.simulators.openai_compatible import OpenAiStandIn

ANSWER = "The tower is 300 metres high, and it was built in the year 1889."
QUESTION = "How high is the iron tower?"


@pytest.mark.parametrize(
    ("count", "embed"), [(20, "none"), pytest.param(200, "local", marks=pytest.mark.slow)]
)
async def test_requests_half_of_them_streamed_are_answered_from_the_cache_the_second_time(
    tmp_path: Path, count: int, embed: str
) -> None:
    asked = [f"How high is hill number {number} of the island?" for number in range(count)]
    async with OpenAiStandIn(
        answer=lambda prompt: f"About {hash(prompt) % 997} metres — «{prompt}»\u2028 ok."
    ) as server:
        async with front(tmp_path, server, embed=embed) as node:

            async def one(place: int) -> tuple[str, dict[str, Any], dict[str, Any]]:
                body = asking(asked[place])
                if place % 2:
                    raw, _ = await streamed(node, {**body, "stream_options": {"include_usage": True}})
                    text, own, usage = checked_chat(raw, usage=True)
                    assert usage is not None
                    return text, own, usage
                _, reply, _ = await said(node, body)
                assert reply["choices"][0]["finish_reason"] == "stop"
                return reply["choices"][0]["message"]["content"], reply["neuroswarm"], reply["usage"]

            first = [await one(place) for place in range(count)]
            assert chats(server) == count
            second = [await one(place) for place in range(count)]
            assert chats(server) == count, "the upstream was called once each"
            for place in range(count):
                assert first[place][1]["hit"] is None
                assert second[place][1]["hit"]["kind"] == "exact"
                assert second[place][0].encode() == first[place][0].encode()
                counts = ("prompt_tokens", "completion_tokens", "total_tokens")
                assert [second[place][2][name] for name in counts] == [
                    first[place][2][name] for name in counts
                ]


@pytest.mark.parametrize(
    ("fault", "stream"),
    [
        *((fault, True) for fault in ("cut", "hang", "429", "error_inside", "no_end", "not_json", "key")),
        *((fault, False) for fault in ("hang", "429", "not_json", "key")),
    ],
)
async def test_nothing_half_is_stored_and_the_error_has_the_vendors_form(
    tmp_path: Path, fault: str, stream: bool
) -> None:
    async with OpenAiStandIn(answer=ANSWER) as server:
        async with front(
            tmp_path, server, server={"request_timeout_s": 1.0 if fault == "hang" else 20}
        ) as node:
            match fault:
                case "cut":
                    server.cut_connection = True
                case "hang":
                    server.stall_after = 4 if stream else None
                    server.hang = not stream
                case "429":
                    server.status, server.headers = 429, {"Retry-After": "7"}
                    server.error = {
                        "error": {"message": "slow down", "type": "requests", "code": "rate_limit_exceeded"}
                    }
                case "error_inside":
                    server.event = b'data: {"error": {"message": "overloaded", "type": "server_error"}}\n\n'
                case "no_end":
                    server.says_end = False
                case "not_json":
                    server.raw_body = b"data: {\n\ndata: [DONE]\n\n" if stream else b"<<<"
                case "key":
                    server.status, server.error = 401, "Incorrect API key provided: sk-1"
            body = {**asking(QUESTION), "stream": stream}
            async with node.http.post(node.url + CHAT, json=body) as response:
                raw = await response.text()
                status, headers = response.status, response.headers
            if stream and fault not in ("429", "not_json", "key"):
                *before, last = events(raw)
                assert status == 200
                assert isinstance(last, dict)
                error = last["error"]
                assert "[DONE]" not in before
            else:
                error = json.loads(raw)["error"]
                assert status == {"429": 429, "hang": 504}.get(fault, 502)
            assert {"message", "type", "param", "code"} <= error.keys()
            if fault == "429":
                assert headers["Retry-After"] == "7"
                assert error["message"] == "slow down"
            if fault == "error_inside":
                assert error["message"] == "overloaded"
            # It works again, and what was said before is not there.
            server.cut_connection = server.hang = False
            server.stall_after, server.status, server.event, server.raw_body = None, 200, None, None
            server.says_end = True
            server.release()
            count = chats(server)
            _, reply, _ = await said(node, asking(QUESTION))
            assert reply["choices"][0]["message"]["content"] == ANSWER
            assert chats(server) == count + 1


async def test_an_upstream_that_is_not_there_is_an_error_and_no_500(tmp_path: Path) -> None:
    async with OpenAiStandIn() as server:
        gone = server.url
    stand_in = OpenAiStandIn()
    stand_in.url = gone
    async with front(tmp_path, stand_in) as node:
        status, reply, _ = await said(node, asking(QUESTION))
        assert (status, reply["error"]["code"]) == (502, "upstream_unreachable")


async def test_equal_requests_at_once_are_one_and_a_client_that_leaves_ends_only_its_own(
    tmp_path: Path,
) -> None:
    async with OpenAiStandIn(answer=ANSWER, stall_after=3) as server, front(tmp_path, server) as node:
        leaves = asyncio.create_task(streamed(node, asking(QUESTION)))
        await server.stalled.wait()
        stays = asyncio.create_task(streamed(node, asking(QUESTION)))
        through = node.service.through
        assert through is not None

        async def readers() -> int:
            return sum(flight.readers for flight in through._flights.values())

        await eventually(readers, lambda count: count == 2)
        leaves.cancel()
        await eventually(readers, lambda count: count == 1)
        server.stall_after = None
        server.release()
        text, _, _ = checked_chat((await stays)[0], usage=False)
        assert text
        assert ANSWER.startswith(text)
        assert chats(server) == 1


async def test_a_client_that_leaves_ends_the_generation(tmp_path: Path) -> None:
    async with OpenAiStandIn(answer=ANSWER, stall_after=3) as server, front(tmp_path, server) as node:
        through = node.service.through
        assert through is not None
        leaves = asyncio.create_task(streamed(node, asking(QUESTION)))
        await server.stalled.wait()
        [flight] = through._flights.values()
        leaves.cancel()
        assert flight.task is not None
        await asyncio.wait((flight.task,))
        assert flight.task.cancelled()
        assert not through._flights


async def test_a_stream_is_there_before_the_model_says_anything(tmp_path: Path) -> None:
    async with OpenAiStandIn(answer=ANSWER, hang=True) as server, front(tmp_path, server) as node:
        for path, body in (
            ("/chat", {"query": QUESTION, "stream": True}),
            (CHAT, {**asking("Why is it made of iron?", "neuroswarm"), "stream": True}),
            (CHAT, {**asking(QUESTION), "stream": True}),
        ):
            async with node.http.post(node.url + path, json=body) as response:
                assert await response.content.readany(), "its first byte came while the model hangs"


async def test_the_stations_are_told_as_they_happen(tmp_path: Path) -> None:
    async with OpenAiStandIn(answer=ANSWER, stall_after=3) as server, front(tmp_path, server) as node:
        async with node.http.post(node.url + "/chat", json={"query": QUESTION, "stream": True}) as response:
            seen = b""
            while b'"stage":"recall"' not in seen:
                seen += await response.content.readany()
            assert b"event: step" in seen
            await server.stalled.wait()
            server.stall_after = None
            server.release()


async def test_chat_and_v1_share_what_they_know(tmp_path: Path) -> None:
    async with OpenAiStandIn(answer=ANSWER) as server, front(tmp_path, server) as node:
        first = await node.ask(QUESTION)
        assert first["stored"]
        _, reply, headers = await said(node, asking(QUESTION, "neuroswarm", temperature=1))
        assert reply["neuroswarm"]["cid"] == first["cid"]
        assert headers["Cache-Status"] == "neuroswarm; hit; detail=exact"
        raw, _ = await streamed(node, asking(QUESTION, "neuroswarm"))
        assert checked_chat(raw, usage=False)[0] == first["answer"]
        assert chats(server) == 1
        # An upstream's word is no part of that, and the other way round.
        server.answer = "It is 312 metres high now, with its antennas on top."
        _, other, _ = await said(node, asking(QUESTION))
        assert other["choices"][0]["message"]["content"] == server.answer
        assert (await node.ask(QUESTION))["answer"] == first["answer"]


SYSTEM = {"role": "system", "content": "You are a helpful assistant."}
TURNS = [{"role": "user", "content": "Tell me of Paris."}, {"role": "assistant", "content": "It is a city."}]
LAST = {"role": "user", "content": QUESTION}


@pytest.mark.parametrize("model", [UPSTREAM, "neuroswarm"])
async def test_whatever_an_answer_hangs_on_parts_the_cache(tmp_path: Path, model: str) -> None:
    variants: list[dict[str, Any]] = [
        {"messages": [LAST]},
        {"messages": [SYSTEM, LAST]},
        {"messages": [{**SYSTEM, "content": "You are a pirate."}, LAST]},
        {"messages": [*TURNS, LAST]},
        {"messages": [SYSTEM, *TURNS, LAST]},
        {"messages": [TURNS[0], {**TURNS[1], "content": "No."}, LAST]},
        {"messages": [LAST], "temperature": 0.7},
        {"messages": [LAST], "seed": 3},
        {"messages": [LAST], "max_tokens": 50},
        {"messages": [LAST], "stop": ["zzz"]},
        {"messages": [LAST], "top_p": 0.5},
        {"messages": [LAST], "nobody_knows": True},
        {"messages": [{**LAST, "content": "How high is the\niron tower?"}]},
        {"messages": [{**LAST, "content": "How high is the\n\niron tower?"}]},
    ]
    async with OpenAiStandIn(answer=ANSWER) as server, front(tmp_path, server) as node:
        for place, one in enumerate(variants):
            server.answer = f"The tower is {300 + place} metres high, and it stands in the city of Paris."
            _, reply, headers = await said(node, {"model": model, **one})
            assert "hit" not in headers["Cache-Status"], one
            assert server.answer in reply["choices"][0]["message"]["content"], one
        count = chats(server)
        for place, one in enumerate(variants):
            _, reply, _ = await said(node, {"model": model, **one})
            assert f"{300 + place} metres" in reply["choices"][0]["message"]["content"]
        assert chats(server) == count
        # What says how an answer is delivered parts nothing.
        same = {
            "model": model,
            "messages": [LAST],
            "user": "anna",
            "metadata": {"a": "b"},
            "temperature": 1,
            "n": 1,
        }
        assert (await said(node, same))[1]["neuroswarm"]["hit"]["kind"] == "exact"


async def test_a_question_in_other_words_is_a_hit_and_another_question_is_none(tmp_path: Path) -> None:
    async with OpenAiStandIn(answer=ANSWER) as server, front(tmp_path, server, embed="local") as node:
        with_system = {
            "model": UPSTREAM,
            "messages": [SYSTEM, {"role": "user", "content": "What is the capital of France?"}],
        }
        await said(node, with_system)
        other = {
            **with_system,
            "messages": [SYSTEM, {"role": "user", "content": "What's the capital of France?"}],
        }
        _, reply, _ = await said(node, other)
        assert reply["neuroswarm"]["hit"] is not None
        for text in (
            "What is the capital of Spain?",
            "What is not the capital of France?",
            "Say: the capital of France",
        ):
            near = {**with_system, "messages": [SYSTEM, {"role": "user", "content": text}]}
            assert (await said(node, near))[1]["neuroswarm"]["hit"] is None, text


async def test_tools_and_the_like_go_past_the_cache_byte_for_byte(tmp_path: Path) -> None:
    delta = {
        "tool_calls": [
            {"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a"'}}
        ]
    }
    chunk = {
        "id": "x",
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": delta, "finish_reason": None}],
    }
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
    async with OpenAiStandIn(answer=ANSWER) as server, front(tmp_path, server) as node:
        server.event = f"data: {json.dumps(chunk)}\n\n".encode()
        for model in (UPSTREAM, "neuroswarm"):
            for _ in range(2):
                raw, headers = await streamed(node, asking(QUESTION, model, tools=tools, tool_choice="auto"))
                assert chunk in events(raw)
                assert headers["Cache-Status"] == 'neuroswarm; fwd=bypass; detail="tools"'
                assert server.requests[-1].body["tools"] == tools
        assert chats(server) == 4
        # Without tools in the request, an answer that has some is not stored either.
        await streamed(node, asking(QUESTION))
        _, reply, _ = await said(node, asking(QUESTION))
        assert reply["neuroswarm"]["hit"] is None
        for more in (
            {"n": 2},
            {"logprobs": True},
            {
                "messages": [
                    {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:"}}]}
                ]
            },
        ):
            _, _, headers = await said(node, {**asking(QUESTION), **more})
            assert "fwd=bypass" in headers["Cache-Status"], more


async def test_without_an_upstream_they_are_refused_by_name(tmp_path: Path) -> None:
    image = [{"type": "text", "text": "What is it?"}, {"type": "image_url", "image_url": {"url": "data:"}}]
    cases: list[tuple[dict[str, Any], str]] = [
        ({"tools": [{"type": "function"}]}, "tools"),
        ({"n": 2}, "n"),
        ({"logprobs": True}, "logprobs"),
        ({"messages": [{"role": "user", "content": image}]}, "messages[0].content"),
        ({"messages": [LAST, {"role": "assistant", "content": "It"}]}, "messages"),
    ]
    async with front(tmp_path) as node:
        for more, param in cases:
            status, reply, _ = await said(node, {**asking(QUESTION, "neuroswarm"), **more})
            error = reply["error"]
            assert (status, error["param"], error["code"]) == (400, param, "unsupported_parameter"), reply
        status, reply, _ = await said(node, asking(QUESTION))
        assert (status, reply["error"]["code"], reply["error"]["param"]) == (404, "model_not_found", "model")


async def test_cache_control_is_heeded_and_the_reply_says_what_the_cache_did(tmp_path: Path) -> None:
    async with OpenAiStandIn(answer=ANSWER) as server, front(tmp_path, server) as node:
        for model in (UPSTREAM, "neuroswarm"):

            async def status(control: str, model: str = model) -> tuple[int, str]:
                code, _, headers = await said(node, asking(QUESTION, model), Cache_Control=control)
                word = headers.get("Cache-Status", "")
                if word:
                    [(name, params)] = http_sf.parse(word.encode(), tltype="list")
                    assert str(name) == "neuroswarm"
                    assert not {"hit", "fwd"} <= params.keys()
                if "hit" in word:
                    assert int(headers["Age"]) >= 0
                return code, word

            assert await status("only-if-cached") == (504, "")
            assert "fwd=miss" in (await status("no-store"))[1]
            assert "hit" not in (await status("no-store"))[1], "nothing was kept"
            assert "stored" in (await status(""))[1]
            assert "hit" in (await status("only-if-cached"))[1]
            assert "fwd=request" in (await status("no-cache"))[1]
            assert "hit" in (await status("max-age=3600"))[1]
            code, _ = await status("max-age=soon")
            assert code == 400


async def test_an_answer_in_a_format_is_checked(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    wanted = {"type": "json_schema", "json_schema": {"name": "x", "strict": True, "schema": schema}}
    body = asking("Name a city in France.", "neuroswarm", response_format=wanted)
    async with (
        OpenAiStandIn(answer='```json\n{"city": "Paris"}\n```') as server,
        front(tmp_path, server) as node,
    ):
        _, reply, _ = await said(node, body)
        assert json.loads(reply["choices"][0]["message"]["content"]) == {"city": "Paris"}
        assert "city" in json.dumps(server.requests[-1].body["messages"][0])
        assert server.requests[-1].body["response_format"]["json_schema"]["schema"] == schema
        server.answer = "I think that it is Paris."
        bad = asking("Name a city in Spain.", "neuroswarm", response_format=wanted)
        status, reply, _ = await said(node, bad)
        assert (status, reply["error"]["code"], reply["error"]["param"]) == (
            502,
            "response_format_not_met",
            "response_format",
        )
        for wrong in (
            {"type": "json_schema"},
            {"type": "json_schema", "json_schema": {"schema": {"$ref": "http://127.0.0.1/x"}}},
            {"type": "json_schema", "json_schema": {"schema": {"type": 7}}},
        ):
            status, reply, _ = await said(node, asking("Name one.", "neuroswarm", response_format=wrong))
            assert (status, reply["error"]["param"]) == (400, "response_format"), wrong


async def test_what_people_stored_is_evidence_whatever_a_system_message_says(tmp_path: Path) -> None:
    stored = "The lock of the boat house opens with the brass key that hangs behind the stove."
    async with front(tmp_path, embed="local") as node:
        await node.store("How can the boat house lock be opened?", stored)
        body = {
            "model": "neuroswarm",
            "messages": [SYSTEM, {"role": "user", "content": "How do I open the boat house lock?"}],
        }
        _, reply, headers = await said(node, body)
        assert "brass key" in reply["choices"][0]["message"]["content"]
        assert "hit" not in headers["Cache-Status"], "it is evidence, and no hit of this partition"


async def test_multi_turn_reaches_the_model_and_follow_ups_are_completed(tmp_path: Path) -> None:
    async with OpenAiStandIn(answer=ANSWER) as server, front(tmp_path, server) as node:
        turns = [{"role": "developer", "content": "Answer like a sailor."}, *TURNS]
        await said(
            node,
            {
                "model": "neuroswarm",
                "messages": [*turns, {"role": "user", "content": "Why?"}],
                "max_tokens": 33,
                "seed": 5,
            },
        )
        sent = server.requests[-1].body
        assert [one["role"] for one in sent["messages"]] == ["system", "user", "assistant", "user"]
        assert "like a sailor" in sent["messages"][0]["content"]
        assert sent["messages"][1]["content"] == "Tell me of Paris."
        assert (sent["max_tokens"], sent["seed"]) == (33, 5)
        sums = [{"role": "user", "content": "What is 3 + 4?"}, {"role": "assistant", "content": "7"}]
        _, reply, _ = await said(
            node,
            {"model": "neuroswarm", "messages": [*sums, {"role": "user", "content": "What is 12 * 12?"}]},
        )
        assert "144" in reply["choices"][0]["message"]["content"]


def _own(content: str = "x", **more: Any) -> bytes:
    return json.dumps({**asking(content, "neuroswarm"), **more}).encode()


@pytest.mark.parametrize(
    ("body", "status", "param"),
    [
        (b"{", 400, None),
        (b"[]", 400, None),
        (b'{"model": "neuroswarm"}', 400, "messages"),
        (_own(messages=[]), 400, "messages"),
        (_own(messages=[{"role": "boss", "content": "x"}]), 400, "messages[0].role"),
        (_own(messages=[{"role": "user", "content": "x"}] * 600), 400, "messages"),
        (_own(" "), 400, "messages"),
        (_own("a\x00b"), 400, "messages"),
        (_own(model="gpt-9"), 404, "model"),
        (_own(model="neuroswarm/"), 404, "model"),
        (_own(stop=["a", "b", "c", "d", "e"]), 400, "stop"),
        (_own(temperature="hot"), 400, "temperature"),
        (_own(temperature=3), 400, "temperature"),
        (_own(max_tokens=0), 400, "max_tokens"),
        (_own(stream="yes"), 400, "stream"),
        (b'{"model": "neuroswarm", "messages": ' + b"[" * 500 + b"]" * 500 + b"}", 400, None),
        (_own("x" * 1_050_000), 413, "body"),
    ],
)
async def test_bad_input_gets_the_vendors_error_object(
    tmp_path: Path, body: bytes, status: int, param: str | None
) -> None:
    async with front(tmp_path) as node:
        headers = {"Content-Type": "application/json"}
        async with node.http.post(node.url + CHAT, data=BytesIO(body), headers=headers) as response:
            reply = await response.json()
            assert response.status == status, reply
            assert response.content_type == "application/json"
        error = reply["error"]
        assert error["message"]
        assert error["code"]
        assert error["param"] == param
        assert error["type"] == ("not_found_error" if status == 404 else "invalid_request_error")


async def test_long_chats_are_answered_and_what_is_looked_at_of_them_is_bounded(tmp_path: Path) -> None:
    async with OpenAiStandIn(answer=ANSWER) as server, front(tmp_path, server, embed="none") as node:
        looked_at: list[int] = []
        part = node.service._p.understanding.part

        def watched(text: str, **more: Any) -> Any:
            looked_at.append(max(map(len, [text, *more.get("turns", ())])))
            return part(text, **more)

        node.service._p.understanding.part = watched
        question = {"role": "user", "content": QUESTION}
        rules = {"role": "system", "content": "Answer like a sailor. " * 20_000}
        code = {"role": "user", "content": "def f(x):\n    return x\n" * 40_000}
        line = {"role": "user", "content": "why? " * 30_000}
        said_before = [{"role": "user", "content": "why " * 2_000}, {"role": "assistant", "content": "So."}]
        for model, messages in (
            (UPSTREAM, [rules, question]),
            (UPSTREAM, [code]),
            (UPSTREAM, [*said_before * 20, question]),
            ("neuroswarm", [line]),
            ("neuroswarm", [*said_before * 20, question]),
        ):
            asked = chats(server)
            status, reply, _ = await said(node, {"model": model, "messages": messages})
            assert status == 200, reply
            assert reply["choices"][0]["message"]["content"] == ANSWER
            assert chats(server) == asked + 1
            assert reply["usage"]["prompt_tokens"] > 10_000
            sent = server.requests[-1].body["messages"]
            assert messages[-1]["content"].strip(" ?\n") in sent[-1]["content"]
            if messages[-1] is question:  # the next turn of the same chat is cheap again
                _, again, _ = await said(node, {"model": model, "messages": messages})
                assert again["neuroswarm"]["hit"]["kind"] == "exact"
                assert chats(server) == asked + 1
        assert max(looked_at) <= LOOKED_AT_CHARS_MAX
        # What is beyond the window of the node's own models is not cut: they are not asked.
        _, reply, _ = await said(node, {"model": "neuroswarm", "messages": [code]})
        assert reply["neuroswarm"]["source"]["kind"] == "fallback"
        status, reply, _ = await said(node, {"query": "x" * 70_000}, path="/chat")
        assert status == 413
        long = {"model": "neuroswarm", "input": "x" * 70_000}
        assert (await said(node, long, path="/v1/embeddings"))[1]["error"]["code"] == "request_too_large"
        assert (await said(node, long, path="/v1/responses"))[0] == 200


async def test_other_paths_and_methods_speak_the_vendors_form_too(tmp_path: Path) -> None:
    async with front(tmp_path) as node:
        for method, path, status in (
            ("GET", CHAT, 405),
            ("POST", "/v1/completions", 404),
            ("GET", "/v1/models/gpt-9", 404),
        ):
            code, reply, _ = await node.send(method, path)
            assert (code, set(reply)) == (status, {"error"})
        code, reply = await node.get("/v1/cache/entries/nothing")
        assert (code, "error" in reply) == (400, False), "the cache as a service speaks as it did"


async def test_embeddings_are_ours_or_refused_with_a_reason(tmp_path: Path) -> None:
    async with front(tmp_path, embed="local") as node:

        async def embed(**more: Any) -> tuple[int, dict[str, Any]]:
            status, reply, _ = await said(node, {"model": "neuroswarm", **more}, path="/v1/embeddings")
            return status, reply

        status, reply = await embed(input=["one", "two"], dimensions=384)
        assert (status, len(reply["data"][1]["embedding"])) == (200, 384)
        for more, param in (
            ({"input": [[1, 2, 3]]}, "input"),
            ({"input": [1, 2]}, "input"),
            ({"input": ""}, "input"),
            ({"input": []}, "input"),
            ({"input": "x", "dimensions": 64}, "dimensions"),
            ({"input": "word " * 2_000}, "input"),
            ({"input": "x", "encoding_format": "hex"}, "encoding_format"),
            ({"input": "x", "model": "text-embedding-3-small"}, "model"),
        ):
            status, reply = await embed(**more)
            assert status in (400, 404)
            assert reply["error"]["param"] == param, reply
