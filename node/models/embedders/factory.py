"""The embedder that the settings name. Drivers are imported where they are wanted, so that a missing package
is a fact about one engine and not a broken start."""

from __future__ import annotations

from node.core.clock import Clock
from node.core.errors import Unavailable
from node.core.ports import Embedder
from node.core.settings import Settings
from node.models.embedders.none import NoEmbedder


async def load(settings: Settings, clock: Clock) -> Embedder:
    """Load and try the engine of ``embed.engine``. Raises ``Unavailable`` (it is not there, its package is
    missing, or its vectors are degenerate), ``Misconfigured`` (it can never work as it is set)."""
    engine = settings.embed.engine
    if engine == "none":
        return NoEmbedder("embeddings are switched off (embed.engine = none)")
    try:
        from node.models.embedders.self_test import self_test

        embedder = await _driver(settings, clock)
    except ImportError as exc:
        raise Unavailable(f"a package for embeddings is missing: {exc}") from exc
    try:
        await self_test(embedder)
    except BaseException:
        await embedder.close()
        raise
    return embedder


async def _driver(settings: Settings, clock: Clock) -> Embedder:
    match settings.embed.engine:
        case "ollama":
            from node.models.embedders.ollama import OllamaEmbedder

            return await OllamaEmbedder.load(settings, clock)
        case "llama_cpp":
            from node.models.embedders.llama import LlamaEmbedder

            return await LlamaEmbedder.load(settings, clock)
        case "openai":
            from node.models.embedders.openai_compatible import OpenAiEmbedder

            return await OpenAiEmbedder.load(settings, clock)
        case _:
            from node.models.embedders.local import LocalEmbedder

            return await LocalEmbedder.load(settings.embed, clock)
