"""The contract of ``node.core.ports.Embedder``, over the real local model, over stand-ins, and over real
servers where they can be had (``tests.engines``).

An embedder joins by its name in ``EMBEDDERS`` and its lines in ``made``.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import numpy as np
import pytest

from node.core.clock import SystemClock
from node.core.errors import Unavailable
from node.core.ports import Embedder, Vector
from node.core.settings import Embed, Models, Settings
from node.models.embedders.llama import LlamaEmbedder
from node.models.embedders.none import NoEmbedder
from node.models.embedders.ollama import OllamaEmbedder
from node.models.embedders.openai_compatible import OpenAiEmbedder
from tests.simulators.hash_embedder import HashEmbedder
from tests.simulators.llama import LlamaStandIn
from tests.simulators.llama_child import Script
from tests.simulators.ollama import MINILM, OllamaStandIn
from tests.simulators.openai_compatible import OpenAiStandIn
from tests.unit.models.embedders.minilm import local_embedder


async def made(request: pytest.FixtureRequest, stack: AsyncExitStack) -> Embedder:
    """The implementation of this name; what it needs ends with the stack."""
    clock, name = SystemClock(), request.param
    if name == "local":
        return local_embedder()
    if name == "hash":
        return HashEmbedder()
    if name in ("ollama-stand-in", "old-ollama-stand-in"):
        server = OllamaStandIn(models=(MINILM,), is_old=name.startswith("old"))
        url = (await stack.enter_async_context(server)).url
        return await OllamaEmbedder.load(_ollama(url, "all-minilm"), clock)
    if name == "openai-stand-in":
        vendor = await stack.enter_async_context(OpenAiStandIn(key="a-key"))
        return await OpenAiEmbedder.load(_openai(vendor.url, "stand-in-embed", "a-key"), clock)
    if name == "llama-stand-in":
        llama = await stack.enter_async_context(LlamaStandIn(Script(window=64)))
        return await LlamaEmbedder.load(_llama(llama.path), clock, program=llama.program)
    if name == "llama_cpp":
        request.getfixturevalue("llama_cpp")
        return await LlamaEmbedder.load(_llama(request.getfixturevalue("minilm_gguf")), clock)
    real = request.getfixturevalue("real_ollama")
    if name == "openai":  # Ollama speaks this protocol too
        return await OpenAiEmbedder.load(_openai(f"{real.url}/v1", real.embed_model), clock)
    return await OllamaEmbedder.load(_ollama(real.url, real.embed_model), clock)


def _ollama(url: str, model: str) -> Settings:
    return Settings(embed=Embed(engine="ollama", model=model), models=Models(ollama_url=url))


def _openai(url: str, model: str, key: str = "") -> Settings:
    models = Models(openai_base_url=url, openai_api_key=key)
    return Settings(embed=Embed(engine="openai", model=model), models=models)


def _llama(path: Path) -> Settings:
    return Settings(embed=Embed(engine="llama_cpp", gguf_path=str(path)))


EMBEDDERS = (
    *("local", "hash", "ollama-stand-in", "old-ollama-stand-in", "llama-stand-in", "openai-stand-in"),
    *("llama_cpp", "ollama", "openai"),
)
REAL_ENGINES = {"llama_cpp": "llama_cpp", "ollama": "ollama", "openai": "ollama"}
"""Which of them need a real engine, and which."""
TEXTS = (
    "What is the price of bitcoin",
    "Explain quantum computing",
    "hi",
    "Which proposal changed the block reward, and who voted against it",
    "Was beschloss die Versammlung",
    "5 mW",
    "10²",
    "x" * 90,
    "[SEP] [CLS] [PAD]",
    "naïve café \U0001f680 rocket",
)


@pytest.fixture(
    params=[
        pytest.param(name, marks=[pytest.mark.engine(REAL_ENGINES[name])] if name in REAL_ENGINES else [])
        for name in sorted(EMBEDDERS)
    ]
)
async def embedder(request: pytest.FixtureRequest) -> AsyncIterator[Embedder]:
    async with AsyncExitStack() as stack:
        one = await made(request, stack)
        yield one
        await one.close()


async def _one(embedder: Embedder, text: str) -> Vector:
    (vector,) = await embedder.embed([text])
    assert vector is not None
    return vector


async def test_describes_itself(embedder: Embedder) -> None:
    info = embedder.info
    assert info.model
    assert len(bytes.fromhex(info.digest)) == 32
    assert info.dim >= 1
    assert info.tokens_max >= 16
    assert embedder.info == info


async def test_one_sound_unit_vector_per_text_in_order(embedder: Embedder) -> None:
    vectors = await embedder.embed(TEXTS)
    assert len(vectors) == len(TEXTS)
    for text, vector in zip(TEXTS, vectors, strict=True):
        assert vector is not None
        assert vector.dtype == np.float32
        assert vector.shape == (embedder.info.dim,)
        assert np.isfinite(vector).all()
        assert float(np.linalg.norm(vector)) == pytest.approx(1, abs=1e-3)
        assert float(vector.std()) > 0
        np.testing.assert_allclose(vector, await _one(embedder, text), rtol=0, atol=1e-5)


async def test_different_texts_get_different_vectors(embedder: Embedder) -> None:
    vectors = [vector for vector in await embedder.embed(TEXTS) if vector is not None]
    cosines = np.vstack(vectors) @ np.vstack(vectors).T
    assert float(np.max(cosines - np.eye(len(TEXTS)) * 2)) < 0.98


async def test_same_text_in_any_company_and_order_gets_the_same_vector(embedder: Embedder) -> None:
    text = "What is the price of bitcoin"
    alone = await _one(embedder, text)
    for others in (["a"], ["b " * 100, "c"], [f"filler {n} " + "word " * n for n in range(9)]):
        for texts in ([text, *others], [*others, text], [text, *others, text]):
            vectors = await embedder.embed(texts)
            for asked, vector in zip(texts, vectors, strict=True):
                if asked == text:
                    assert vector is not None
                    np.testing.assert_allclose(vector, alone, rtol=0, atol=1e-5)


async def test_nothing_in_nothing_out(embedder: Embedder) -> None:
    assert await embedder.embed([]) == []


async def test_too_long_is_none_and_never_cut(embedder: Embedder) -> None:
    words = embedder.info.tokens_max + 1
    short, long, huge = "one two", " ".join(["word"] * words), "many words " * 6_000
    vectors = await embedder.embed([short, long, short, huge])
    assert [vector is None for vector in vectors] == [False, True, False, True]


async def test_many_callers_at_once_each_get_their_own(embedder: Embedder) -> None:
    texts = [f"question number {n} about topic {n * 7}" for n in range(12)]
    expected = [await _one(embedder, text) for text in texts]
    results = await asyncio.gather(*(embedder.embed([text, texts[0]]) for text in texts))
    for vectors, own in zip(results, expected, strict=True):
        assert vectors[0] is not None
        assert vectors[1] is not None
        np.testing.assert_allclose(vectors[0], own, rtol=0, atol=1e-5)
        np.testing.assert_allclose(vectors[1], expected[0], rtol=0, atol=1e-5)


async def test_usable_after_a_cancelled_call(embedder: Embedder) -> None:
    calls = [asyncio.create_task(embedder.embed([f"cancelled question {n}"])) for n in range(6)]
    await asyncio.sleep(0)
    for call in calls[::2]:
        call.cancel()
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    for outcome in outcomes[1::2]:
        assert isinstance(outcome, list)
        assert outcome[0] is not None
    assert (await _one(embedder, "cancelled question 0")).shape == (embedder.info.dim,)


async def test_health_answers_without_waiting(embedder: Embedder) -> None:
    await embedder.embed(["something"])
    check = embedder.health()
    assert check.name == "embedder"
    assert check.status == "pass"


async def test_close_twice_then_unavailable(embedder: Embedder) -> None:
    await embedder.embed(["something"])
    await embedder.close()
    await embedder.close()
    with pytest.raises(Unavailable):
        await embedder.embed(["something else"])
    assert embedder.health().status != "pass"


async def test_the_null_embedder_says_why() -> None:
    embedder: Embedder = NoEmbedder("switched off by embed.engine = none")
    assert embedder.info.model == "none"
    assert embedder.info.dim == 0
    with pytest.raises(Unavailable, match="switched off by"):
        await embedder.embed(["anything"])
    assert embedder.health().status == "warn"
    assert "switched off" in embedder.health().output
    await embedder.close()
    await embedder.close()
