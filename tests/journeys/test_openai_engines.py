"""Real engines behind the OpenAI door: what they say streams as it comes, and comes again from the cache."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import openai
import pytest

from tests.engines import Ollama
from tests.faults.node_kit import start
from tests.openai_kit import asking

pytestmark = pytest.mark.timeout(300)
QUESTION = "Explain in one sentence why bread rises"


async def streamed(client: openai.AsyncOpenAI, model: str) -> tuple[list[str], dict[str, Any]]:
    """The pieces of text, and the node's own object beside them."""
    pieces: list[str] = []
    own: dict[str, Any] = {}
    body: Any = asking(QUESTION, model, temperature=0, max_tokens=256, stop=["."])
    async for chunk in await client.chat.completions.create(stream=True, **body):
        pieces += [choice.delta.content for choice in chunk.choices if choice.delta.content]
        own = getattr(chunk, "neuroswarm", None) or own
    return pieces, own


@pytest.mark.engine("ollama")
async def test_an_upstream_s_stream_comes_again_from_the_cache(tmp_path: Path, real_ollama: Ollama) -> None:
    model = f"neuroswarm/{real_ollama.model}"
    async with (
        start(tmp_path, models={"ollama_url": real_ollama.url}) as node,
        openai.AsyncOpenAI(base_url=f"{node.url}/v1", api_key="unused", max_retries=0) as client,
    ):
        pieces, own = await streamed(client, model)
        assert len(pieces) > 1
        assert own["hit"] is None
        again, own = await streamed(client, model)
        assert own["hit"]["kind"] == "exact"
        assert "".join(again) == "".join(pieces)


@pytest.mark.parametrize(
    "engine",
    [
        pytest.param("llama_cpp", marks=pytest.mark.engine("llama_cpp")),
        pytest.param("xllamacpp", marks=pytest.mark.engine("xllamacpp")),
    ],
)
async def test_the_node_s_own_model_streams_and_its_stored_answer_comes_again(
    tmp_path: Path, request: pytest.FixtureRequest, gemma_gguf: Path, engine: str
) -> None:
    request.getfixturevalue(engine)
    models = {"gguf_path": str(gemma_gguf), "gguf_engine": engine}
    async with (
        start(
            tmp_path, models=models, cache={"confidence_min": 0.01}, server={"request_timeout_s": 200}
        ) as node,
        openai.AsyncOpenAI(base_url=f"{node.url}/v1", api_key="unused", max_retries=0) as client,
    ):
        pieces, own = await streamed(client, "neuroswarm")
        assert len(pieces) > 1, own
        again, own = await streamed(client, "neuroswarm")
        assert own["hit"]["kind"] == "exact", own
        assert "".join(again) == "".join(pieces)
