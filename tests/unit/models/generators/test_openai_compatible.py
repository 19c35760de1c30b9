"""The driver for OpenAI-compatible servers against a stand-in that misbehaves in every way we know of."""

from __future__ import annotations

import asyncio
import json
import logging
import traceback
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from node.answer import prompt as prompts
from node.core.clock import SystemClock
from node.core.errors import Misconfigured, NodeError, RateLimited, Rejected, TimedOut, Unavailable
from node.core.ports import Prompt
from node.models.generators.openai_compatible import USAGE_WAIT_S, OpenAiGenerator
from tests.manual_clock import ManualClock
from tests.simulators.ollama import OllamaStandIn
from tests.simulators.openai_compatible import CHAT_MODEL, OpenAiStandIn
from tests.unit.models.generators.conftest import KEY, PARIS, PROMPT, Build


@pytest.fixture
async def server() -> AsyncIterator[OpenAiStandIn]:
    async with OpenAiStandIn(answer=PARIS) as running:
        yield running


async def test_what_is_sent(server: OpenAiStandIn, build: Build) -> None:
    draft = await build().generate(PROMPT, timeout_s=30)
    assert draft.text == PARIS
    assert draft.complete
    assert (draft.engine, draft.model, draft.model_digest) == ("openai", CHAT_MODEL, None)
    assert draft.completion_tokens == 6
    assert draft.prompt_tokens == len(server.prompts[0]) // 4
    (seen,) = server.chats
    assert seen.messages == [("system", PROMPT.system), ("user", PROMPT.user)]
    body = seen.body
    assert (body["temperature"], body["seed"], body["max_tokens"], body["stream"]) == (0, 0, 50, True)
    assert body["stop"] == ["\nQUESTION:"]
    assert body["stream_options"] == {"include_usage": True}
    assert seen.headers["authorization"] == f"Bearer {KEY}"
    assert seen.headers["accept-encoding"] == "identity"
    assert not [name for name in seen.headers if name.startswith("x-")]


async def test_without_a_system_text_there_is_no_system_message(server: OpenAiStandIn, build: Build) -> None:
    await build().generate(Prompt("", "q"), timeout_s=30)
    assert server.chats[0].messages == [("user", "q")]


async def test_nothing_of_the_environment(
    server: OpenAiStandIn, build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("API_KEY", "ADMIN_KEY", "ORG_ID", "PROJECT_ID", "WEBHOOK_SECRET"):
        monkeypatch.setenv(f"OPENAI_{name}", "environment")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "Authorization: Bearer environment\nX-Mine: environment")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/environment")
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    await build(key="").generate(PROMPT, timeout_s=30)
    await build(key="own").generate(PROMPT, timeout_s=30)
    assert all("environment" not in json.dumps([seen.headers, seen.body]) for seen in server.requests)
    assert [seen.headers.get("authorization") for seen in server.chats] == [None, "Bearer own"]


async def test_at_most_four_stops_are_sent_and_all_are_heeded(server: OpenAiStandIn, build: Build) -> None:
    server.answer = "Paris is it. So it is.<|im_end|>\n<|im_start|>user\nAnd of Spain?"
    asked = prompts.build("What is the capital of France?", (), "t4g")
    draft = await build().generate(asked, timeout_s=30)
    assert draft.text == "Paris is it. So it is."
    assert draft.complete
    stops = ["\nQUESTION:", "\nCONTEXT:", "\nADAPTER CONTEXT", "\nSTORED CONTEXT"]
    assert server.chats[0].body["stop"] == stops


# --- the choice of a model ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("models", "chosen"),
    [(["a", "b"], "a"), (["text-embedding-3-small", "b"], "b"), (["bge-m3"], "bge-m3")],
)
async def test_the_first_model_is_taken(
    server: OpenAiStandIn, build: Build, models: list[str], chosen: str
) -> None:
    server.models = models
    engine = build()
    assert (await engine.generate(PROMPT, timeout_s=30)).model == chosen
    assert (await engine.probe()).output == f"model {chosen}"


@pytest.mark.parametrize(
    ("models", "message"),
    [([], "lists no model"), (None, r"does not list its models: set models\.openai_model")],
)
async def test_no_model_to_choose(
    server: OpenAiStandIn, build: Build, models: list[str] | None, message: str
) -> None:
    server.models = models
    engine = build()
    with pytest.raises(Unavailable, match=message):
        await engine.generate(PROMPT, timeout_s=30)
    assert (await engine.probe()).status == "warn"


async def test_a_named_model_needs_no_list(server: OpenAiStandIn, build: Build) -> None:
    server.models = None
    engine = build(model=CHAT_MODEL)
    assert (await engine.generate(PROMPT, timeout_s=30)).model == CHAT_MODEL
    check = await engine.probe()
    assert (check.status, check.output) == ("pass", f"model {CHAT_MODEL}")


async def test_a_model_that_is_not_there(build: Build) -> None:
    engine = build(model="absent")
    with pytest.raises(Unavailable, match="has no model absent"):
        await engine.generate(PROMPT, timeout_s=30)
    assert "does not list" in (await engine.probe()).output


# --- errors ---------------------------------------------------------------------------------------


def all_words(exc: BaseException) -> str:
    """Everything that a log of the exception would show."""
    return "".join(traceback.format_exception(exc)) + repr(exc)


async def test_a_wrong_key_is_named_and_not_shown(
    server: OpenAiStandIn, build: Build, caplog: pytest.LogCaptureFixture
) -> None:
    server.key = "another"
    engine = build(model=CHAT_MODEL)
    with caplog.at_level(logging.DEBUG):
        with pytest.raises(Unavailable, match=r"refused the key .*check models\.openai_api_key") as caught:
            await engine.generate(PROMPT, timeout_s=30)
        check = await engine.probe()
        assert check.status == "warn"
        assert "refused the key" in check.output
    shown = all_words(caught.value) + check.output + caplog.text + repr(engine) + repr(vars(engine))
    assert KEY not in shown
    with pytest.raises(Unavailable, match=r"wants a key: set models\.openai_api_key"):
        await build(model=CHAT_MODEL, key="").generate(PROMPT, timeout_s=30)


@pytest.mark.parametrize("said", [f"key {KEY[:12]}*** is exhausted", "x" * 140 + f" key {KEY}"])
async def test_nor_one_that_shows_a_part_of_the_key(server: OpenAiStandIn, build: Build, said: str) -> None:
    server.status, server.error = 402, said
    with pytest.raises(Rejected, match=r"refused the request \(HTTP 402\)") as caught:
        await build().generate(PROMPT, timeout_s=30)
    assert KEY[:8] not in all_words(caught.value)


async def test_an_answer_or_model_that_bears_the_key_is_not_taken(
    server: OpenAiStandIn, build: Build
) -> None:
    server.answer = f"You asked me this with the key {KEY}, which I remember well."
    with pytest.raises(Rejected, match="put the key into its answer"):
        await build().generate(PROMPT, timeout_s=30)
    server.models = [f"model-for-{KEY}", CHAT_MODEL]
    assert (await build().probe()).output == f"model {CHAT_MODEL}"


async def test_what_is_no_stream_is_named(server: OpenAiStandIn, build: Build) -> None:
    server.raw_body, server.raw_kind = b'{"choices": []}', "text/plain"
    with pytest.raises(Rejected, match="sent text/plain instead of a stream of events"):
        await build(model=CHAT_MODEL).generate(PROMPT, timeout_s=30)


@pytest.mark.parametrize("status", [400, 402, 409, 429, 500, 503])
async def test_who_repeats_the_key_is_not_quoted(server: OpenAiStandIn, build: Build, status: int) -> None:
    server.status, server.error = status, f"no luck with {KEY}"
    with pytest.raises(NodeError) as caught:
        await build().generate(PROMPT, timeout_s=30)
    assert KEY not in all_words(caught.value)


async def test_an_error_event_that_repeats_the_key(server: OpenAiStandIn, build: Build) -> None:
    server.event = f'data: {{"error": {{"message": "bad {KEY}"}}}}\n\n'.encode()
    with pytest.raises(Unavailable) as caught:
        await build().generate(PROMPT, timeout_s=30)
    assert KEY not in all_words(caught.value)


@pytest.mark.parametrize(
    ("status", "error", "kind", "message"),
    [
        (403, "country not supported", Unavailable, "refused the key"),
        (404, b"404 page not found", Unavailable, r"nothing at this path .*ends in /v1"),
        (404, {"detail": "Not Found"}, Unavailable, r"nothing at this path .*ends in /v1"),
        (404, {"error": {"message": "model 'x' not found"}}, Unavailable, "no model"),
        (405, "", Unavailable, "nothing at this path"),
        (
            400,
            "This model's maximum context length is 4096 tokens",
            Rejected,
            "longer than the model's window",
        ),
        (400, "bad words", Rejected, "refused the request: bad words"),
        (413, b"<html>too large</html>", Rejected, "refused the request"),
        (408, "", TimedOut, "gave up waiting"),
        (500, "out of\nmemory\x1b[31m", Unavailable, r"failed: out of memory\[31m$"),
        (500, b"<html>Internal</html>", Unavailable, r"failed \(HTTP 500\)$"),
        (502, {"error": "upstream is gone"}, Unavailable, "failed: upstream is gone"),
        (503, {"object": "error", "message": "loading model"}, Unavailable, "failed: loading model"),
        (503, [1, 2], Unavailable, "failed"),
        (500, {"error": {"message": {"deep": [1]}}}, Unavailable, "failed"),
        (500, {"error": {"message": float("nan")}}, Unavailable, "failed"),
    ],
)
async def test_errors_of_the_server(
    server: OpenAiStandIn, build: Build, status: int, error: Any, kind: type[NodeError], message: str
) -> None:
    server.status, server.error = status, error
    with pytest.raises(kind, match=message) as caught:
        await build().generate(PROMPT, timeout_s=30)
    assert "\n" not in str(caught.value)
    assert len(server.chats) == 1


@pytest.mark.parametrize(
    ("header", "wait_s"),
    [
        ("7", 7),
        ("2.5", 2.5),
        ("Thu, 01 Jan 2026 00:01:00 GMT", 60),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
        ("nan", 10),
        ("inf", 10),
        ("-5", 0),
        ("1e300", 3_600),
        ("soon", 10),
        (None, 10),
    ],
)
async def test_a_limit_is_kept(
    server: OpenAiStandIn, build: Build, header: str | None, wait_s: float
) -> None:
    clock = ManualClock()
    server.status, server.error = 429, "Rate limit reached"
    server.headers = {} if header is None else {"Retry-After": header}
    engine = build(clock)
    with pytest.raises(RateLimited, match="Rate limit reached") as caught:
        await engine.generate(PROMPT, timeout_s=30)
    assert caught.value.retry_after_s == pytest.approx(wait_s)
    server.status = 200
    if wait_s > 0:
        with pytest.raises(RateLimited, match="left alone"):
            await engine.generate(PROMPT, timeout_s=30)
        assert len(server.chats) == 1
    clock.advance(wait_s)
    assert (await engine.generate(PROMPT, timeout_s=30)).complete


@pytest.mark.parametrize("path", ["chat", "list"])
async def test_redirects_are_not_followed(server: OpenAiStandIn, build: Build, path: str) -> None:
    async with OllamaStandIn() as other:
        server.redirect_to = f"{other.url}/v1/chat/completions"
        engine = build(model=CHAT_MODEL if path == "chat" else "")
        with pytest.raises(Unavailable, match="redirects elsewhere"):
            await engine.generate(PROMPT, timeout_s=30)
        assert other.requests == []


async def test_a_web_page_instead(server: OpenAiStandIn, build: Build) -> None:
    server.html = True
    with pytest.raises(Rejected, match="sent a web page"):
        await build(model=CHAT_MODEL).generate(PROMPT, timeout_s=30)
    check = await build().probe()
    assert check.status == "warn"
    assert "web page" in check.output


def data(said: bytes) -> bytes:
    """An event of the stream."""
    return b"data: " + said + b"\n\n"


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"not an event\n\n", b"event: thread.run.created\ndata: {}\n\n", b"x" * 70_000),
        *(data(b"not json"), data(b"[1, 2]"), data(b'"text"'), data(b"null"), data(b"\xff\xfe")),
        *(data(b"[" * 100_000), data(b"[DONE]"), data(b'{"choices": 5}'), data(b'{"choices": [5]}')),
        *(data(b'{"choices": {"a": 1}}'), data(b'{"choices": [{"delta": 5}]}')),
        data(b'{"choices": [{"delta": {"content": {"a": 1}}}]}'),
        data(b'{"choices": [{"delta": {"content": 5}}]}'),
        data(b'{"choices": [{"delta": {"content": ["a"]}}]}'),
    ],
)
async def test_what_is_not_the_protocol(server: OpenAiStandIn, build: Build, body: bytes) -> None:
    engine = build(model=CHAT_MODEL)
    server.raw_body = body
    with pytest.raises((Rejected, Unavailable)) as caught:
        await engine.generate(PROMPT, timeout_s=30)
    assert str(caught.value)
    assert (await engine.probe()).status == "warn"
    server.raw_body = None
    assert (await engine.generate(PROMPT, timeout_s=30)).complete


@pytest.mark.parametrize(
    "usage",
    [
        lambda usage: None,
        lambda usage: "much",
        lambda usage: {"prompt_tokens": "12", "completion_tokens": "7"},
        lambda usage: {"prompt_tokens": float("nan"), "completion_tokens": float("inf")},
        lambda usage: {"prompt_tokens": -4, "completion_tokens": True},
        lambda usage: {"prompt_tokens": 10**30, "completion_tokens": None},
        lambda usage: [1, 2],
    ],
)
@pytest.mark.parametrize("streams", [True, False])
async def test_token_counts_that_are_none(
    server: OpenAiStandIn, build: Build, usage: Callable[[Any], Any], streams: bool
) -> None:
    server.usage, server.streams = usage, streams
    draft = await build().generate(PROMPT, timeout_s=30)
    assert draft.text == PARIS
    assert 0 < draft.prompt_tokens < 1_000
    assert 0 < draft.completion_tokens < 1_000


async def test_a_server_that_does_not_stream(server: OpenAiStandIn, build: Build) -> None:
    server.streams = False
    draft = await build().generate(PROMPT, timeout_s=30)
    assert (draft.text, draft.complete, draft.completion_tokens) == (PARIS, True, 6)


@pytest.mark.parametrize(
    "body", [b"{}", b"[]", b'{"choices": []}', b'{"choices": [{"message": 5}]}', b'{"choices": [{}]}', b"{"]
)
async def test_a_whole_answer_that_is_none(server: OpenAiStandIn, build: Build, body: bytes) -> None:
    server.streams, server.raw_body = False, body
    with pytest.raises(Rejected, match="protocol"):
        await build(model=CHAT_MODEL).generate(PROMPT, timeout_s=30)


# --- servers that know less -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "refuses",
    [
        ("stream_options",),
        ("stream_options", "seed"),
        ("max_tokens", "temperature", "stop"),
        ("stream_options", "seed", "stop", "temperature", "max_tokens"),
    ],
)
async def test_parameters_that_a_server_does_not_know_are_left_out(
    server: OpenAiStandIn, build: Build, refuses: tuple[str, ...]
) -> None:
    server.refuses = refuses
    engine = build()
    assert (await engine.generate(PROMPT, timeout_s=30)).complete
    assert len(server.chats) == 1 + len(refuses)
    last = server.chats[-1].body
    assert not set(refuses) & set(last)
    assert last.get("max_completion_tokens" if "max_tokens" in refuses else "max_tokens") == 50
    await engine.generate(PROMPT, timeout_s=30)
    assert len(server.chats) == 2 + len(refuses)  # it is remembered


# --- what was said --------------------------------------------------------------------------------


async def test_a_stream_that_just_ends_is_incomplete(server: OpenAiStandIn, build: Build) -> None:
    server.answer, server.says_end = "Paris is it. And so", False
    draft = await build().generate(PROMPT, timeout_s=30)
    assert (draft.text, draft.complete) == ("Paris is it.", False)


async def test_an_error_inside_the_stream(server: OpenAiStandIn, build: Build) -> None:
    server.event = b'data: {"error": {"message": "out of\\nmemory"}}\n\n'
    with pytest.raises(Unavailable, match="failed: out of memory"):
        await build().generate(PROMPT, timeout_s=30)


async def test_token_counts_that_never_come_cost_a_second(server: OpenAiStandIn, build: Build) -> None:
    clock = ManualClock()
    server.stall_at_end = True
    task = asyncio.create_task(build(clock, model=CHAT_MODEL).generate(PROMPT, timeout_s=20))
    await server.stalled.wait()
    for _ in range(100):
        await asyncio.sleep(0)  # the client reads what was sent
    clock.advance(USAGE_WAIT_S)
    draft = await task
    assert (draft.text, draft.complete) == (PARIS, True)


@pytest.mark.parametrize(
    "url",
    ["", "http://[bad", "http://127.0.0.1:notaport/v1", "ftp://a/v1", "http:///v1", "http://a/v1?key=1"],
)
def test_an_address_that_is_none(url: str) -> None:
    with pytest.raises(Misconfigured, match="openai_base_url"):
        OpenAiGenerator(url, KEY, "", SystemClock())


@pytest.mark.parametrize("key", ["two words", "line\nbreak", "schlüssel", "tab\t"])
def test_a_key_that_cannot_be_sent_is_not_shown(key: str) -> None:
    with pytest.raises(Misconfigured, match=r"models\.openai_api_key") as caught:
        OpenAiGenerator("http://127.0.0.1:1/v1", key, "", SystemClock())
    assert key not in str(caught.value)
