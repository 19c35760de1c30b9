"""The engines that the settings name, any of which may be missing: embedder, language models, IPFS daemon.

A missing one stays in its chain as its reason; ``/health`` says which and what that disables.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from node.answer.chain import NoGenerator, answers
from node.answer.context import Count, estimate
from node.app.storage import Ground, Probe, fact
from node.cache.index.engine import Choice, Load
from node.core.clock import Clock
from node.core.errors import Misconfigured, NodeError, Unavailable
from node.core.model import Check
from node.core.peer_address import is_own_host
from node.core.ports import Embedder, Generator, NoteReader
from node.core.settings import Models, Settings
from node.ipfs import kubo
from node.ipfs.kubo import KuboBlockStore
from node.ipfs.mirror import Mirror
from node.models.embedders import factory
from node.models.embedders.none import NoEmbedder
from node.models.llama.gguf_file import installed_model
from node.models.llama.process import LLAMA_CPP, XLLAMACPP, threads_to_spare
from node.models.upstream import Upstream, Upstreams

if TYPE_CHECKING:
    from node.models.embedders.local import LocalTokens
    from node.pipeline.understanding.semantic import SemanticHead

log = logging.getLogger("neuroswarm")

MIRROR_DRAIN_S = 5.0
"""How long the stop waits for the IPFS daemon; what it has not got by then stays queued."""


def embedder_choice(settings: Settings) -> Choice:
    """What the settings name."""
    return Choice(settings.embed.engine, settings.embed.model, settings.embed.gguf_path)


def embedders_of(settings: Settings, clock: Clock) -> Load:
    """Loads any engine, the one of the settings or the one that served before it."""

    async def load(choice: Choice) -> Embedder:
        embed = replace(settings.embed, engine=choice.engine, model=choice.model, gguf_path=choice.gguf_path)
        return await factory.load(replace(settings, embed=embed), clock)

    return load


async def embedder_of(settings: Settings, clock: Clock, wait_s: float) -> Embedder:
    """The embedder that the settings name, tested, or what says why there is none."""
    try:
        async with asyncio.timeout(wait_s):
            return await factory.load(settings, clock)
    except TimeoutError:
        return NoEmbedder(f"the {settings.embed.engine} embedder gave no answer within {wait_s:g} s")
    except Unavailable as exc:
        return NoEmbedder(str(exc))


def token_count() -> Count:
    """How many tokens a text has, by the tokenizer that is packaged with the local embedder, whichever
    embedder serves: close to any model's count. An estimate where the packages are missing."""
    try:
        from node.models.embedders.local import TOKENIZER, tokens_of

        return tokens_of(TOKENIZER)
    except (ImportError, Unavailable) as exc:
        log.warning("tokens of contexts are estimated: %s", exc)
        return estimate


async def note_reader(settings: Settings) -> tuple[NoteReader | None, Check]:
    """The packaged reader of stored notes, which goes with the packaged embedder's files, whichever embedder
    serves; and what there is to say about it."""
    if settings.embed.engine == "none":
        return None, Check("reader", "pass", "off, as embed.engine is none")
    try:
        from node.models.embedders.cross_encoder import Reader

        return await Reader.load(threads=settings.embed.threads), Check("reader", "pass")
    except (ImportError, Unavailable) as exc:
        return None, Check("reader", "warn", f"stored notes are read by language models alone: {exc}")


def token_vectors(settings: Settings) -> LocalTokens | None:
    """Vectors of tokens by the packaged embedder's model, which loads when they are asked for."""
    with suppress(ImportError):
        from node.models.embedders.local import LocalTokens

        return LocalTokens(settings.embed.threads)
    return None


def semantic_head(settings: Settings) -> SemanticHead | None:
    """The semantic classifier; it judges vectors of the embedder that it was trained on and no others."""
    if settings.embed.engine == "none":
        return None
    try:
        from node.pipeline.understanding.semantic import SemanticHead
    except ImportError as exc:
        log.warning("the semantic classifier stays off, a package is missing: %s", exc)
        return None
    return SemanticHead.load()


def generators_of(settings: Settings, weights: Path | None, clock: Clock) -> tuple[Generator, ...]:
    """The engines that the settings name, in order of preference; ``weights`` is the model file. One
    that cannot be had stays in the chain as its reason (``NoGenerator``)."""
    models = settings.models
    asked: list[tuple[str, Callable[[], Generator]]] = []
    if models.ollama_url:
        asked.append(("ollama", lambda: _ollama(models, clock)))
    if weights is not None:
        asked.append(("llama_cpp", lambda: _llama(weights, models, clock)))
    if models.openai_base_url:
        asked.append(("openai", lambda: _openai(models, clock)))
    return tuple(_built(name, build) for name, build in asked)


def upstreams_of(settings: Settings, clock: Clock) -> Upstreams:
    """The servers that requests in OpenAI's form are handed on to: the OpenAI-compatible one, and Ollama by
    its interface of the same form."""
    models = settings.models
    named = [(models.openai_base_url, models.openai_api_key)]
    named += [(f"{models.ollama_url.rstrip('/')}/v1", "")] if models.ollama_url else []
    servers: list[Upstream] = []
    for address, key in named:
        if address:
            try:
                servers.append(Upstream(address, key, clock))
            except Misconfigured as exc:
                log.warning("requests are not handed on to a server: %s", exc)
    return Upstreams(servers)


def _built(name: str, build: Callable[[], Generator]) -> Generator:
    try:
        return build()
    except ImportError as exc:
        reason = f"a package is missing ({exc.name or exc}); {_INSTALL[name]}"
    except (Misconfigured, Unavailable) as exc:
        reason = str(exc)
    log.warning("the language model engine %s is missing: %s", name, reason)
    return NoGenerator(name, reason)


_INSTALL: Mapping[str, str] = {
    "ollama": "type: pip install ollama",
    "llama_cpp": "type: make model",
    "openai": "type: pip install openai",
}


def _ollama(models: Models, clock: Clock) -> Generator:
    from node.models.generators.ollama import OllamaGenerator

    host = urlsplit(models.ollama_url).hostname or ""
    threads = threads_to_spare() if is_own_host(host) else None
    return OllamaGenerator(
        models.ollama_url,
        models.ollama_model,
        clock,
        queue_max=models.queue_max,
        slots=models.ollama_parallel,
        threads=threads,
    )


def _llama(weights: Path, models: Models, clock: Clock) -> Generator:
    from node.models.generators.gguf import GgufGenerator
    from node.models.generators.llama import LlamaGenerator

    wanted = {"xllamacpp": (XLLAMACPP,), "llama_cpp": (LLAMA_CPP,)}.get(models.gguf_engine)
    programs = wanted or [one for one in (XLLAMACPP, LLAMA_CPP) if one.is_installed] or [LLAMA_CPP]
    return GgufGenerator(
        [
            LlamaGenerator(
                weights,
                clock,
                queue_max=models.queue_max,
                slots=models.gguf_parallel if one is XLLAMACPP else 1,
                window=models.window_tokens,
                program=one,
            )
            for one in programs
        ]
    )


def _openai(models: Models, clock: Clock) -> Generator:
    from node.models.generators.openai_compatible import OpenAiGenerator

    return OpenAiGenerator(
        models.openai_base_url,
        models.openai_api_key,
        models.openai_model,
        clock,
        queue_max=models.queue_max,
        slots=models.openai_parallel,
    )


def warm(generators: Sequence[Generator], checks: Sequence[Check]) -> None:
    """Load the model file in the background where nothing else answers: a gigabyte takes seconds, and the
    first question need not pay for them. Beside a living Ollama it would only take memory."""
    if any(check.name == "model:ollama" and answers(check) for check in checks):
        return
    for generator in generators:
        if generator.name in GGUF_ENGINES and not isinstance(generator, NoGenerator):
            from node.models.generators.gguf import GgufGenerator
            from node.models.generators.llama import LlamaGenerator

            assert isinstance(generator, GgufGenerator | LlamaGenerator)
            generator.warm()


def weights_of(settings: Settings) -> Path | None:
    """The model file of this node: the one that is named, else the one that ``make model`` put into
    the data directory."""
    if settings.models.gguf_path:
        return Path(settings.models.gguf_path)
    return installed_model(Path(settings.data_dir))


def not_configured(generators: Sequence[Generator]) -> tuple[Probe, ...]:
    """A health fact for each engine that the settings do not name."""
    named = {generator.name for generator in generators}
    if named & GGUF_ENGINES:
        named |= GGUF_ENGINES  # one holds the file, the other is not wanted then

    return tuple(
        fact(partial(Check, f"model:{name}", "pass", f"not configured; {remedy}"))
        for name, remedy in _REMEDIES.items()
        if name not in named
    )


GGUF_ENGINES = frozenset((XLLAMACPP.engine, LLAMA_CPP.engine))
_REMEDIES: Mapping[str, str] = {
    "ollama": "set models.ollama_url to use one",
    "llama_cpp": "type: make model, or set models.gguf_path to a GGUF file",
    "openai": "set models.openai_base_url to use one",
}


def mirror_of(ground: Ground) -> Mirror | None:
    """What keeps a copy of the blocks in the configured daemon."""
    own, store, clock = ground.settings.ipfs, ground.store, ground.clock
    url = own.kubo_url
    if not url:
        return None
    if not is_own_host(urlsplit(url).hostname or ""):
        log.warning("ipfs.kubo_url is not on this machine: its RPC API has no login and must not be exposed")
    daemon = KuboBlockStore(url, ground.http, clock, timeout_s=own.timeout_s)
    return Mirror(
        daemon,
        store.records,
        store.blocks,
        ground.state,
        clock,
        ground.metrics,
        is_private=own.daemon_is_private,
    )


async def stop_mirror(mirror: Mirror) -> None:
    """What the daemon has not got yet stays queued; that must not spoil the rest of the stop."""
    try:
        waiting = await mirror.close(MIRROR_DRAIN_S)
    except NodeError as exc:
        log.warning("the mirror's state was not saved: %s", exc)
    else:
        if waiting:
            log.info("%d changes wait for the IPFS daemon until the next start", waiting)


def daemon_probe(mirror: Mirror | None) -> Probe:
    """Whether the daemon answers, or that there is none."""
    return fact(lambda: kubo.NONE) if mirror is None else mirror.probe
