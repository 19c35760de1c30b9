"""What tests of the embedders outside share: one before the stand-in that the test has as ``server``."""

from __future__ import annotations

import traceback
from collections.abc import AsyncIterator, Callable
from typing import Any, TypeAlias

import pytest

from node.core.clock import Clock, SystemClock
from node.core.errors import Unavailable
from node.core.ports import Embedder
from node.core.settings import Embed, Models, Settings
from node.models.embedders.ollama import OllamaEmbedder
from node.models.embedders.openai_compatible import OpenAiEmbedder
from tests.simulators.ollama import OllamaStandIn
from tests.simulators.openai_compatible import EMBED_MODEL, OpenAiStandIn

KEY = "sk-very-secret-0123456789"
Server: TypeAlias = OllamaStandIn | OpenAiStandIn
Load: TypeAlias = Callable[..., Any]


def settings(server: Server, model: str | None = None, **more: Any) -> Settings:
    """``model`` None: the one that the stand-in has."""
    if isinstance(server, OllamaStandIn):
        name = "all-minilm" if model is None else model
        return Settings(
            embed=Embed(engine="ollama", model=name, **more), models=Models(ollama_url=server.url)
        )
    name = EMBED_MODEL if model is None else model
    models = Models(openai_base_url=server.url, openai_api_key=KEY)
    return Settings(embed=Embed(engine="openai", model=name, **more), models=models)


@pytest.fixture
async def load(server: Server) -> AsyncIterator[Load]:
    made: list[Embedder] = []

    async def build(clock: Clock | None = None, **more: Any) -> Embedder:
        engine = OllamaEmbedder if isinstance(server, OllamaStandIn) else OpenAiEmbedder
        made.append(await engine.load(settings(server, **more), clock or SystemClock()))
        return made[-1]

    yield build
    server.release()
    for embedder in made:
        await embedder.close()


async def fails(embedder: Embedder, text: str) -> str:
    """What an embedding of the text fails with, which never shows the key."""
    with pytest.raises(Unavailable) as caught:
        await embedder.embed([text])
    assert KEY not in "".join(traceback.format_exception(caught.value))
    return str(caught.value)
