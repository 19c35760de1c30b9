"""Embeddings by an OpenAI-compatible server, against a stand-in that misbehaves in every way we know of. What
all outside engines have in common is in ``test_ollama_embedder``."""

from __future__ import annotations

import hashlib
import traceback
from collections.abc import AsyncIterator, Callable
from typing import Any

import numpy as np
import pytest

from node.core.clock import SystemClock
from node.core.errors import Misconfigured, Unavailable
from node.core.settings import Embed, Models, Settings
from node.models.embedders import factory
from node.models.embedders.openai_compatible import WINDOW_UNKNOWN, OpenAiEmbedder
from node.models.embedders.outside import PAUSE_S
from tests.engines import Ollama
from tests.manual_clock import ManualClock
from tests.simulators.openai_compatible import EMBED_MODEL, OpenAiStandIn
from tests.unit.models.embedders.conftest import KEY, Load, fails, settings

Bend = Callable[[Any], Any]


@pytest.fixture
async def server() -> AsyncIterator[OpenAiStandIn]:
    async with OpenAiStandIn(key=KEY) as running:
        yield running


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
    embedder = await factory.load(settings(server), SystemClock())
    assert embedder.info.dim == server.dim
    await embedder.close()


async def test_what_the_settings_must_say() -> None:
    nowhere = OpenAiStandIn(url="http://127.0.0.1:1/v1")
    with pytest.raises(Misconfigured, match=r"embed\.model is empty"):
        await OpenAiEmbedder.load(settings(nowhere, model=""), SystemClock())
    with pytest.raises(Misconfigured, match="openai_base_url is empty"):
        await OpenAiEmbedder.load(settings(OpenAiStandIn()), SystemClock())


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


def of_rows(change: Bend) -> Bend:
    """Of the answer only its rows are changed."""
    return lambda body: {**body, "data": change(body["data"])}


def each(**fields: Any) -> Bend:
    """These fields in each row."""
    return of_rows(lambda rows: [{**row, **fields} for row in rows])


@pytest.mark.parametrize(
    "bend",
    [
        of_rows(lambda rows: rows[::-1]),
        each(index=None),
        lambda body: {key: value for key, value in body.items() if key != "usage"},
        lambda body: {**body, "usage": {"prompt_tokens": "many"}},
    ],
)
async def test_answers_that_are_odd_and_good(server: OpenAiStandIn, load: Load, bend: Bend) -> None:
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
        *(of_rows(lambda rows: rows[1:]), of_rows(lambda rows: [*rows, *rows]), of_rows(lambda _: "text")),
        *(
            of_rows(lambda _: None),
            of_rows(lambda _: [5]),
            of_rows(lambda rows: [{"index": 0} for _ in rows]),
        ),
        of_rows(lambda rows: [{**row, "embedding": row["embedding"][1:]} for row in rows]),
        *(each(index=7), each(index="0"), each(embedding=[0.0] * 128), each(embedding=[1.0] * 128)),
        *(each(embedding=[float("nan")] * 128), each(embedding=["1"] * 128), each(embedding="no base64!")),
        *(each(embedding="AAAA"), each(embedding=None)),
        *(lambda body: [body], lambda body: "text", lambda body: None),
        lambda body: {"error": {"message": "told with 200"}},
    ],
)
async def test_unusable_answers_are_refused(server: OpenAiStandIn, load: Load, bend: Bend) -> None:
    embedder = await load(ManualClock(), attempts=1)
    server.bend = bend
    assert await fails(embedder, "something")
    assert embedder.health().status == "warn"
    server.bend = None
    assert (await embedder.embed(["something"]))[0] is not None
    assert embedder.health().status == "pass"


@pytest.mark.parametrize("body", [b"", b"not json", b"[" * 100_000, b"\xff", b'{"data": ' + b" " * 9_000_000])
async def test_what_is_not_the_protocol(server: OpenAiStandIn, load: Load, body: bytes) -> None:
    embedder = await load(ManualClock(), attempts=1)
    server.raw_body = body
    assert await fails(embedder, "something")
    server.raw_body = None
    assert (await embedder.embed(["something"]))[0] is not None


async def test_a_wrong_key_is_named_and_not_shown(server: OpenAiStandIn) -> None:
    server.key = "another"
    with pytest.raises(Unavailable, match="refused the key") as caught:
        await OpenAiEmbedder.load(settings(server, attempts=1), SystemClock())
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


@pytest.mark.engine("ollama")
@pytest.mark.timeout(300)
async def test_a_real_server_passes_the_self_test(real_ollama: Ollama) -> None:
    named = Settings(
        embed=Embed(engine="openai", model=real_ollama.embed_model),
        models=Models(openai_base_url=f"{real_ollama.url}/v1"),
    )
    embedder = await factory.load(named, SystemClock())
    assert embedder.info.dim == 384
    await embedder.close()


async def test_a_minute_has_so_many_requests(server: OpenAiStandIn, load: Load) -> None:
    """S3-05: on a clock of ours, so that a minute is over when we say so."""
    clock = ManualClock()
    embedder = await load(clock, per_minute=40)
    already = len(server.requests)
    for number in range(40 - already):
        await embedder.embed([f"text {number}"])
    with pytest.raises(Unavailable, match="may not be asked for another"):
        await embedder.embed(["one more"])
    assert len(server.requests) == 40
    assert embedder.health().status == "warn"
    clock.advance(61)
    [vector] = await embedder.embed(["one more"])
    assert vector is not None
