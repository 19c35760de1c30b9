"""What the clients of Ollama and of OpenAI-compatible servers have in common: deadline, transport, words."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from aiohttp import web

from node.core.clock import SystemClock
from node.core.errors import Misconfigured, NodeError, Rejected, TimedOut, Unavailable
from node.models import openai_client
from node.models.deadline import within
from node.models.ollama_client import close, installed_models, named, official_client, show
from node.models.openai_client import Listed, OpenAiConnection, says_too_long, whole
from node.models.transport import MESSAGE_CHARS_MAX, RESPONSE_BYTES_MAX, client_options, words_of
from tests.bombs import gzip_bomb
from tests.manual_clock import ManualClock
from tests.simulators.ollama import MINILM, OllamaStandIn
from tests.simulators.openai_compatible import OpenAiStandIn

# --- deadline -------------------------------------------------------------------------------------


async def test_within_hands_on_the_result_and_leaves_no_task() -> None:
    clock = ManualClock()

    async def quick() -> int:
        return 7

    assert await within(clock, 5, quick(), "late") == 7
    before = len(asyncio.all_tasks())
    task = asyncio.create_task(within(clock, 5, asyncio.Event().wait(), "late"))
    for _ in range(10):
        await asyncio.sleep(0)
    clock.advance(5)
    with pytest.raises(TimedOut, match="late"):
        await task
    assert len(asyncio.all_tasks()) == before


async def test_within_ends_the_work_when_the_caller_leaves() -> None:
    ended = asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    task = asyncio.create_task(within(ManualClock(), 5, work(), "late"))
    for _ in range(10):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()


# --- transport ------------------------------------------------------------------------------------


BOMB = gzip_bomb(50_000_000, b" ")
Echo = tuple[str, list[dict[str, str]]]


@pytest.fixture
async def echo() -> AsyncIterator[Echo]:
    """A server that answers by path, and the headers that it got."""
    heard: list[dict[str, str]] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        heard.append({name.lower(): value for name, value in request.headers.items()})
        answers: dict[str, dict[str, Any]] = {
            "/packed": {"body": BOMB, "headers": {"Content-Encoding": "gzip"}},
            "/page": {"text": "<html></html>", "content_type": "text/html"},
            "/failed-page": {"text": "<html></html>", "content_type": "text/html", "status": 500},
            "/long": {"body": b" " * (RESPONSE_BYTES_MAX + 1)},
            "/longest": {"body": b" " * RESPONSE_BYTES_MAX},
            "/away": {"status": 302, "headers": {"Location": "/fine"}},
        }
        return web.Response(**answers.get(request.path, {"text": "fine"}))

    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}", heard
    await runner.cleanup()


def plain_client(base_url: str, key: str = "") -> httpx.AsyncClient:
    options = client_options(base_url, "the server", key=key, connect_timeout_s=2)
    return httpx.AsyncClient(base_url=base_url, **options)


@pytest.mark.parametrize(
    ("path", "message"),
    [("packed", "compressed body"), ("page", "web page"), ("long", "more than an answer")],
)
async def test_bodies_that_are_refused(echo: Echo, path: str, message: str) -> None:
    async with plain_client(echo[0]) as client:
        with pytest.raises(Rejected, match=f"the server sent .*{message}"):
            await client.get(path)
        assert (await client.get("fine")).text == "fine"


async def test_bodies_and_statuses_that_are_handed_on(echo: Echo) -> None:
    async with plain_client(echo[0]) as client:
        assert len((await client.get("longest")).content) == RESPONSE_BYTES_MAX
        assert (await client.get("failed-page")).status_code == 500
        assert (await client.get("away")).status_code == 302


@pytest.mark.parametrize("key", ["", "secret"])
async def test_only_known_headers_and_the_given_key_are_sent(echo: Echo, key: str) -> None:
    url, heard = echo
    mine = {"Authorization": "Bearer other", "X-Mine": "1", "Cookie": "a=b", "OpenAI-Project": "p"}
    async with plain_client(url, key) as client:
        await client.get("fine", headers=mine)
    assert heard[0].get("authorization") == (f"Bearer {key}" if key else None)
    assert not {"x-mine", "cookie", "openai-project"} & set(heard[0])
    assert heard[0]["accept-encoding"] == "identity"


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("out of\nmemory\x1b[31m", "out of memory[31m"),
        ("  <html>sign in</html>", ""),
        ("", ""),
        (None, ""),
        ({"a": 1}, ""),
        ("x" * 10_000, "x" * (MESSAGE_CHARS_MAX - 1) + "…"),
        ("half \ud800 pair", "half pair"),
        ("right \u202e left", "right left"),
    ],
)
def test_what_an_engine_said_can_be_shown(said: object, shown: str) -> None:
    assert words_of(said) == shown


# --- Ollama ---------------------------------------------------------------------------------------


def test_a_password_in_the_address_is_not_shown() -> None:
    with pytest.raises(Misconfigured, match=r"models\.ollama_url is not an address$"):
        official_client("http://bob:secret@host:99999")


async def test_ollama_lists_and_shows() -> None:
    async with OllamaStandIn(models=(MINILM,)) as server:
        client = official_client(server.url)
        listed = await installed_models(client, SystemClock(), 5)
        assert [(model.name, model.digest, model.can_chat) for model in listed] == [
            ("all-minilm:latest", MINILM.digest, False)
        ]
        assert named(listed, "ALL-MiniLM") == listed[0]
        assert named(listed, "all-minilm:v2") is None
        shown = await show(client, SystemClock(), "all-minilm", 5)
        assert (shown.context_length, shown.num_ctx, shown.template) == (256, None, "{{ .Prompt }}")
        with pytest.raises(Unavailable, match="no model absent"):
            await show(client, SystemClock(), "absent", 5)
        server.is_old = True
        with pytest.raises(Rejected):
            await show(client, SystemClock(), "all-minilm", 5)
        await close(client)


# --- OpenAI ---------------------------------------------------------------------------------------


async def test_a_missing_package_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    connection = OpenAiConnection("http://127.0.0.1:1/v1", "", SystemClock())
    with pytest.raises(Unavailable, match="pip install openai"):
        await connection.official()
    await connection.close()
    await connection.close()


def test_whether_the_package_is_there_is_found_without_loading_it() -> None:
    assert openai_client.package_missing() is None


async def test_the_list_of_models() -> None:
    listed: list[Any] = [{"id": "a", "max_model_len": 4_096}, "b", {"id": 5}, {"id": ""}]
    async with OpenAiStandIn(models=listed) as server:
        connection = OpenAiConnection(f"{server.url}/", "", SystemClock())
        assert await connection.models(5) == [Listed("a", 4_096), Listed("b")]
        server.models = None
        assert await connection.models(5) is None
        await connection.close()


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"5", b'{"data": 5}', b'{"data": {"a": 1}}', b'{"models": 1}x', b"[" * 100_000, b"\xff\xfe"],
)
async def test_a_list_that_is_none(body: bytes) -> None:
    async with OpenAiStandIn(raw_body=body) as server:
        connection = OpenAiConnection(server.url, "", SystemClock())
        with pytest.raises(Rejected):
            await connection.models(5)
        await connection.close()


@pytest.mark.parametrize("body", [b"{}", b'{"data": null}', b'{"data": [5, null, {}, {"id": "a\\nb"}]}'])
async def test_a_list_without_models(body: bytes) -> None:
    async with OpenAiStandIn(raw_body=body) as server:
        connection = OpenAiConnection(server.url, "", SystemClock())
        assert await connection.models(5) == []
        await connection.close()


def test_the_key_and_the_address_are_in_no_repr() -> None:
    connection = OpenAiConnection("http://user:password@127.0.0.1:1/v1", "secret", SystemClock())
    assert "secret" not in repr(connection)
    assert "password" not in repr(connection)
    said = connection.failure(429, httpx.Headers(), "the key secret is used up")
    assert isinstance(said, NodeError)
    assert "secret" not in str(said)


@pytest.mark.parametrize(
    ("value", "count"),
    [(5, 5), (0, 0), (-1, 0), (True, 0), ("5", 0), (5.0, 0), (float("nan"), 0), (None, 0), (10**30, 0)],
)
def test_a_count_is_a_count(value: object, count: int) -> None:
    assert whole(value) == count


@pytest.mark.parametrize(
    ("said", "too_long"),
    [
        ("This model's maximum context length is 8192 tokens, however you requested 9000", True),
        ("the input length exceeds the context length", True),
        ("`inputs` must have less than 512 tokens. Given: 600 (input too long)", True),
        ("Input is too long for requested model", True),
        ("request (9000 tokens) exceeds the available context size (4096 tokens)", True),
        ("Unsupported parameter: 'seed'", False),
        ("bad words", False),
    ],
)
def test_which_refusals_are_for_length(said: str, too_long: bool) -> None:
    assert says_too_long(said) is too_long
