"""Clients that people own, unmodified: the official package, ``curl``, Open WebUI's requests; others in an
environment of their own."""

from __future__ import annotations

import asyncio
import json
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import openai
import pytest

from tests.engines import cached
from tests.faults.node_kit import Client
from tests.openai_kit import CHAT, UPSTREAM, asking, chats, front, said, streamed
from tests.simulators.openai_compatible import OpenAiStandIn

ANSWER = "Paris is the capital of France, and it lies on the river Seine."
QUESTION = "What is the capital of France?"
TASKS = tomllib.loads((Path(__file__).parent / "data" / "open_webui.toml").read_text("utf-8"))
HERE = Path(__file__).parent


def official(node: Client) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(base_url=f"{node.url}/v1", api_key="unused", max_retries=0)


@pytest.mark.parametrize("model", ["neuroswarm", UPSTREAM])
async def test_the_official_client_asks_streams_and_reads_where_it_comes_from(
    tmp_path: Path, model: str
) -> None:
    async with (
        OpenAiStandIn(answer=ANSWER) as server,
        front(tmp_path, server) as node,
        official(node) as client,
    ):
        messages: Any = [{"role": "user", "content": QUESTION}]
        assert model in [one.id async for one in client.models.list()]
        assert (await client.models.retrieve(model)).id == model
        reply = await client.chat.completions.create(model=model, messages=messages)
        assert reply.choices[0].message.content == ANSWER
        assert reply.usage is not None
        options: Any = {"include_usage": True}
        stream = await client.chat.completions.create(
            model=model, messages=messages, stream=True, stream_options=options
        )
        chunks = [chunk async for chunk in stream]
        assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == ANSWER
        assert chunks[-1].usage is not None
        assert chunks[-1].usage.total_tokens == reply.usage.total_tokens
        own = next(found for chunk in chunks if (found := getattr(chunk, "neuroswarm", None)))
        assert own["hit"]["kind"] == "exact"
        assert own["cid"].startswith("bafy")
        response = await client.responses.create(model=model, input=QUESTION)
        assert response.output_text == ANSWER
        assert response.status == "completed"
        async with client.responses.stream(model=model, input=QUESTION) as events:
            kinds = [event.type async for event in events]
            final = await events.get_final_response()
        assert final.output_text == ANSWER
        assert kinds[0] == "response.created"
        assert kinds[-1] == "response.completed"
        assert chats(server) == 1


async def test_the_official_client_without_asyncio_does_too(tmp_path: Path) -> None:
    async with OpenAiStandIn(answer=ANSWER) as server, front(tmp_path, server) as node:

        def ask() -> list[str | None]:
            with openai.OpenAI(base_url=f"{node.url}/v1", api_key="unused", max_retries=0) as client:
                messages: Any = [{"role": "user", "content": QUESTION}]
                whole = client.chat.completions.create(model="neuroswarm", messages=messages)
                stream = client.chat.completions.create(model="neuroswarm", messages=messages, stream=True)
                pieces = [chunk.choices[0].delta.content or "" for chunk in stream]
                return [whole.choices[0].message.content, "".join(pieces)]

        assert await asyncio.to_thread(ask) == [ANSWER, ANSWER]


async def test_its_errors_are_the_classes_that_people_catch(tmp_path: Path) -> None:
    async with (
        OpenAiStandIn(answer=ANSWER) as server,
        front(tmp_path, server) as node,
        official(node) as client,
    ):
        messages: Any = [{"role": "user", "content": QUESTION}]
        with pytest.raises(openai.NotFoundError) as not_found:
            await client.chat.completions.create(model="gpt-9", messages=messages)
        assert (not_found.value.code, not_found.value.param) == ("model_not_found", "model")
        with pytest.raises(openai.BadRequestError):
            await client.chat.completions.create(model="neuroswarm", messages=[])
        server.status = 429
        for stream in (False, True):
            with pytest.raises(openai.RateLimitError):
                await client.chat.completions.create(model=UPSTREAM, messages=messages, stream=stream)
        server.status, server.cut_connection = 200, True
        broken: Any = await client.chat.completions.create(model=UPSTREAM, messages=messages, stream=True)
        with pytest.raises(openai.APIError):
            async for _ in broken:
                pass


async def test_its_embeddings_are_the_same_as_numbers_and_as_base64(tmp_path: Path) -> None:
    async with front(tmp_path, embed="local") as node, official(node) as client:
        packed = await client.embeddings.create(model="neuroswarm", input=["a tower", "a river"])
        plain = await client.embeddings.create(model="neuroswarm", input="a tower", encoding_format="float")
        assert packed.data[0].embedding == pytest.approx(plain.data[0].embedding)
        assert packed.usage.prompt_tokens == 4


async def test_curl_shows_a_stream(tmp_path: Path) -> None:
    async with OpenAiStandIn(answer=ANSWER) as server, front(tmp_path, server) as node:
        body = json.dumps({**asking(QUESTION, "neuroswarm"), "stream": True})
        curl = ("curl", "-sN", f"{node.url}{CHAT}", "-H", "Content-Type: application/json", "-d", body)
        process = await asyncio.create_subprocess_exec(*curl, stdout=subprocess.PIPE)
        out, _ = await process.communicate()
        assert out.endswith(b"data: [DONE]\n\n")


@pytest.mark.parametrize("model", ["neuroswarm", UPSTREAM])
async def test_open_webui_s_tasks_have_partitions_of_their_own(tmp_path: Path, model: str) -> None:
    chat = f"USER: {QUESTION}\nASSISTANT: {ANSWER}"
    replies = {
        "title": '{ "title": "Capital of France" }',
        "tags": '{ "tags": ["Geography", "France"] }',
        "follow_up": '{ "follow_ups": ["How old is Paris?", "Who governs it?"] }',
    }
    async with OpenAiStandIn(answer=ANSWER) as server, front(tmp_path, server, embed="local") as node:
        # As it is sent: the chat is streamed, its tasks are not.
        await streamed(node, asking(QUESTION, model))
        for again in (False, True):
            count = chats(server)
            for name, task in TASKS.items():
                settings = {key: value for key, value in task.items() if key != "prompt"}
                server.answer = replies[name]
                prompt = task["prompt"].strip().replace("{chat}", chat)
                _, reply, _ = await said(node, asking(prompt, model, stream=False, **settings))
                assert json.loads(reply["choices"][0]["message"]["content"]) == json.loads(replies[name])
                if not again:  # another chat is another title
                    server.answer = '{ "title": "Another" }'
                    other = asking(prompt.replace("France", "Spain"), model, **settings)
                    _, reply, _ = await said(node, other)
                    assert reply["neuroswarm"]["hit"] is None
            assert not again or chats(server) == count
        server.answer = "A task may not answer this."
        _, reply, _ = await said(node, asking(QUESTION, model))
        assert reply["choices"][0]["message"]["content"] == ANSWER
        assert (await node.ask("Generate a concise title"))["answer"] not in replies.values()


@pytest.mark.engine("clients")
@pytest.mark.parametrize("name", ["openai", "langchain", "llama_index", "litellm"])
async def test_clients_of_others_work_unmodified(tmp_path: Path, name: str) -> None:
    python = cached("clients/bin/python")
    if not python.is_file():
        pytest.skip("the environment of the clients is not in the engines cache")
    async with OpenAiStandIn(answer=ANSWER) as server, front(tmp_path, server, embed="local") as node:
        script = HERE / "openai_clients.py"
        command = (str(python), str(script), name, f"{node.url}/v1", UPSTREAM, QUESTION)
        pipe = subprocess.PIPE
        process = await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=pipe)
        out, err = await process.communicate()
        assert process.returncode == 0, err.decode()[-2_000:]
        texts = json.loads(out.splitlines()[-1])
        assert texts
        assert set(texts) == {ANSWER}
        assert chats(server) == 2, "the node's own model once, and the upstream's"
