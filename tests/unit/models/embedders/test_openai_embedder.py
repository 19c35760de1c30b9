"""Embeddings by an OpenAI-compatible server, against a stand-in that misbehaves in every way we know of. What
all outside engines have in common is in ``test_ollama_embedder``."""

from __future__ import annotations

import asyncio
import hashlib
import traceback
from collections.abc import AsyncIterator, Callable
from typing import Any

import numpy as np
import pytest

from node.core.clock import Clock, SystemClock
from node.core.errors import Misconfigured, Unavailable
from node.core.ports import Embedder
from node.core.settings import Embed, Models, Settings
from node.models.embedders import factory
from node.models.embedders.openai_compatible import WINDOW_UNKNOWN, OpenAiEmbedder
from node.models.embedders.outside import PAUSE_S
from tests.engines import Ollama
from tests.manual_clock import ManualClock
from tests.simulators.openai_compatible import EMBED_MODEL, OpenAiStandIn

KEY = "sk-very-secret-0123456789"


def settings(url: str, model: str = EMBED_MODEL, key: str = KEY, **more: Any) -> Settings:
    return Settings(
        embed=Embed(engine="openai", model=model, **more),
        models=Models(openai_base_url=url, openai_api_key=key),
    )


@pytest.fixture
async def server() -> AsyncIterator[OpenAiStandIn]:
    async with OpenAiStandIn(key=KEY) as running:
        yield running


Load = Callable[..., Any]


@pytest.fixture
async def load(server: OpenAiStandIn) -> AsyncIterator[Load]:
    made: list[OpenAiEmbedder] = []

    async def build(clock: Clock | None = None, **more: Any) -> OpenAiEmbedder:
        embedder = await OpenAiEmbedder.load(settings(server.url, **more), clock or SystemClock())
        made.append(embedder)
        return embedder

    yield build
    server.release()
    for embedder in made:
        await embedder.close()


async def fails(embedder: Embedder, text: str) -> str:
    with pytest.raises(Unavailable) as caught:
        await embedder.embed([text])
    assert KEY not in "".join(traceback.format_exception(caught.value))
    return str(caught.value)


async def test_what_is_asked_and_what_it_says_of_itself(
    server: OpenAiStandIn, load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "environment")
    monkeypatch.setenv("OPENAI_ORG_ID", "environment")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    embedder = await load()
    assert [seen.path for seen in server.requests] == ["/v1/models", "/v1/embeddings"]
    seen = server.requests[-1]
    assert (seen.body["model"], seen.body["encoding_format"]) == (EMBED_MODEL, "float")
    assert seen.headers["authorization"] == f"Bearer {KEY}"
    assert "environment" not in str(seen.headers)
    info = embedder.info
    digest = hashlib.sha256(f"openai-compatible\n{server.url}\n{EMBED_MODEL}".encode()).hexdigest()
    assert (info.model, info.digest) == (f"{EMBED_MODEL}@{digest[:12]}", digest)
    assert (info.dim, info.tokens_max) == (server.dim, WINDOW_UNKNOWN)


async def test_the_factory_loads_and_tries_it(server: OpenAiStandIn) -> None:
    embedder = await factory.load(settings(server.url), SystemClock())
    assert embedder.info.dim == server.dim
    await embedder.close()


async def test_what_the_settings_must_say() -> None:
    with pytest.raises(Misconfigured, match=r"embed\.model is empty"):
        await OpenAiEmbedder.load(settings("http://127.0.0.1:1/v1", model=""), SystemClock())
    with pytest.raises(Misconfigured, match="openai_base_url is empty"):
        await OpenAiEmbedder.load(settings(""), SystemClock())


@pytest.mark.parametrize("window", [{"max_model_len": 64}, {"context_length": 64}, {"context_window": 64}])
async def test_the_window_that_the_list_tells(server: OpenAiStandIn, load: Load, window: Any) -> None:
    server.models = [{"id": "other", "max_model_len": 8}, {"id": EMBED_MODEL, **window}]
    embedder = await load()
    assert embedder.info.tokens_max == 64
    vectors = await embedder.embed(["x" * 62, "x" * 63])
    assert [vector is None for vector in vectors] == [False, True]


@pytest.mark.parametrize("odd", ["64", -1, 0, True, float("nan"), None, [64], 10**30])
async def test_a_window_that_is_none(server: OpenAiStandIn, load: Load, odd: Any) -> None:
    server.models = [{"id": EMBED_MODEL, "max_model_len": odd}]
    assert (await load()).info.tokens_max == WINDOW_UNKNOWN


async def test_a_server_without_a_list_will_do(server: OpenAiStandIn, load: Load) -> None:
    server.models = None
    assert (await load()).info.dim == server.dim


async def test_what_the_server_finds_too_long_is_none(server: OpenAiStandIn, load: Load) -> None:
    embedder = await load()
    server.status = 400
    server.error = "This model's maximum context length is 8 tokens, however you requested 9 tokens"
    assert await embedder.embed(["one", "two"]) == [None, None]


@pytest.mark.parametrize(
    "bend",
    [
        lambda body: {**body, "data": body["data"][::-1]},
        lambda body: {**body, "data": [{**item, "index": None} for item in body["data"]]},
        lambda body: {key: value for key, value in body.items() if key != "usage"},
        lambda body: {**body, "usage": {"prompt_tokens": "many"}},
    ],
)
async def test_answers_that_are_odd_and_good(
    server: OpenAiStandIn, load: Load, bend: Callable[[Any], Any]
) -> None:
    embedder = await load()
    server.bend = bend
    for text, vector in zip(["a b", "c"], await embedder.embed(["a b", "c"]), strict=True):
        assert vector is not None
        np.testing.assert_allclose(vector, server.vector(text), atol=1e-6)


async def test_base64_is_understood(server: OpenAiStandIn, load: Load) -> None:
    server.base64 = True
    (vector,) = await (await load()).embed(["a b"])
    np.testing.assert_allclose(vector, server.vector("a b"), atol=1e-6)


@pytest.mark.parametrize(
    "bend",
    [
        lambda body: {**body, "data": body["data"][1:]},
        lambda body: {**body, "data": [*body["data"], *body["data"]]},
        lambda body: {**body, "data": [{**item, "index": 7} for item in body["data"]]},
        lambda body: {**body, "data": [{**item, "index": "0"} for item in body["data"]]},
        lambda body: {
            **body,
            "data": [{**item, "embedding": item["embedding"][1:]} for item in body["data"]],
        },
        lambda body: {**body, "data": [{**item, "embedding": [0.0] * 128} for item in body["data"]]},
        lambda body: {**body, "data": [{**item, "embedding": [1.0] * 128} for item in body["data"]]},
        lambda body: {**body, "data": [{**item, "embedding": [float("nan")] * 128} for item in body["data"]]},
        lambda body: {**body, "data": [{**item, "embedding": ["1"] * 128} for item in body["data"]]},
        lambda body: {**body, "data": [{**item, "embedding": "no base64!"} for item in body["data"]]},
        lambda body: {**body, "data": [{**item, "embedding": "AAAA"} for item in body["data"]]},
        lambda body: {**body, "data": [{**item, "embedding": None} for item in body["data"]]},
        lambda body: {**body, "data": [{"index": 0} for _ in body["data"]]},
        lambda body: {**body, "data": "text"},
        lambda body: {**body, "data": None},
        lambda body: {**body, "data": [5]},
        lambda body: [body],
        lambda body: "text",
        lambda body: None,
        lambda body: {"error": {"message": "told with 200"}},
    ],
)
async def test_unusable_answers_are_refused(
    server: OpenAiStandIn, load: Load, bend: Callable[[Any], Any]
) -> None:
    embedder = await load(attempts=1)
    server.bend = bend
    assert await fails(embedder, "something")
    assert embedder.health().status == "warn"
    server.bend = None
    assert (await embedder.embed(["something"]))[0] is not None
    assert embedder.health().status == "pass"


@pytest.mark.parametrize("body", [b"", b"not json", b"[" * 100_000, b"\xff", b'{"data": ' + b" " * 9_000_000])
async def test_what_is_not_the_protocol(server: OpenAiStandIn, load: Load, body: bytes) -> None:
    embedder = await load(attempts=1)
    server.raw_body = body
    assert await fails(embedder, "something")
    server.raw_body = None
    assert (await embedder.embed(["something"]))[0] is not None


async def test_a_wrong_key_is_named_and_not_shown(server: OpenAiStandIn) -> None:
    server.key = "another"
    with pytest.raises(Unavailable, match="refused the key") as caught:
        await OpenAiEmbedder.load(settings(server.url, attempts=1), SystemClock())
    assert KEY not in "".join(traceback.format_exception(caught.value))


async def test_a_model_that_is_not_there(load: Load) -> None:
    with pytest.raises(Unavailable, match="has no model absent"):
        await load(model="absent", attempts=1)


async def test_a_limit_is_kept(server: OpenAiStandIn, load: Load) -> None:
    clock = ManualClock()
    embedder = await load(clock, attempts=1)
    server.status, server.error, server.headers = 429, "slow down", {"Retry-After": "20"}
    assert "slow down" in await fails(embedder, "one")
    asked = len(server.requests)
    server.status = 200
    clock.advance(19)
    assert "slow down" in await fails(embedder, "two")
    assert len(server.requests) == asked
    assert embedder.health().status == "warn"
    clock.advance(1)
    assert (await embedder.embed(["three"]))[0] is not None


async def test_another_model_behind_the_name_is_refused(server: OpenAiStandIn, load: Load) -> None:
    clock = ManualClock()
    embedder = await load(clock, attempts=1)
    server.version = "2"
    server.calls_itself = f"{EMBED_MODEL}-002"
    assert "another embedding model" in await fails(embedder, "one")
    for _ in range(2):
        said = await fails(embedder, "two")
        assert "is another one now" in said
        assert "set embed.model to a name of its own" in said  # a restart would know it by name only
        clock.advance(PAUSE_S)
    server.version = ""
    assert (await embedder.embed(["three"]))[0] is not None  # another name for the same vectors


async def test_a_model_exchanged_while_the_server_was_away(server: OpenAiStandIn, load: Load) -> None:
    embedder = await load(ManualClock(), attempts=1)
    server.status, server.failures, server.version = 500, 1, "2"
    assert "something broke" in await fails(embedder, "one")
    assert "its vectors are others than before" in await fails(embedder, "two")


async def test_a_model_exchanged_behind_vectors_of_no_use(server: OpenAiStandIn, load: Load) -> None:
    embedder = await load(ManualClock(), attempts=1)
    server.dim //= 2
    assert "degenerate embedder: a vector of shape" in await fails(embedder, "one")
    server.dim, server.version = server.dim * 2, "2"
    assert "its vectors are others than before" in await fails(embedder, "two")


async def test_calls_at_once_and_a_cancelled_one(server: OpenAiStandIn, load: Load) -> None:
    embedder = await load()
    calls = [asyncio.create_task(embedder.embed([f"text {number}", "shared"])) for number in range(8)]
    await asyncio.sleep(0)
    calls[0].cancel()
    results = await asyncio.gather(*calls, return_exceptions=True)
    assert isinstance(results[0], asyncio.CancelledError)
    assert all(isinstance(result, list) for result in results[1:])
    assert server.embedded.count("shared") == 1


@pytest.mark.engine("ollama")
@pytest.mark.timeout(300)
async def test_a_real_server_passes_the_self_test(real_ollama: Ollama) -> None:
    named = settings(f"{real_ollama.url}/v1", model=real_ollama.embed_model, key="")
    embedder = await factory.load(named, SystemClock())
    assert embedder.info.dim == 384
    await embedder.close()
