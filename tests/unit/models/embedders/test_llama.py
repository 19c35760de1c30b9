"""The embedder over the scripted child: what must never leave it, death, exchange of the file."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from hashlib import sha256
from pathlib import Path

import pytest

from node.core.clock import SystemClock
from node.core.errors import Misconfigured, Unavailable
from node.core.settings import Embed, Settings
from node.models.embedders.llama import LlamaEmbedder
from node.models.embedders.self_test import self_test
from tests.manual_clock import ManualClock
from tests.simulators.llama import GGUF_HEAD, LlamaStandIn
from tests.simulators.llama_child import DIM, Script

Load = Callable[..., Awaitable[LlamaEmbedder]]


@pytest.fixture
async def llama() -> AsyncIterator[LlamaStandIn]:
    async with LlamaStandIn(Script(window=64)) as stand_in:
        yield stand_in


def settings(path: Path | str, model: str = "") -> Settings:
    return Settings(embed=Embed(engine="llama_cpp", gguf_path=str(path), model=model))


@pytest.fixture
async def load(llama: LlamaStandIn) -> AsyncIterator[Load]:
    made: list[LlamaEmbedder] = []

    async def build(model: str = "") -> LlamaEmbedder:
        named = settings(llama.path, model)
        made.append(await LlamaEmbedder.load(named, ManualClock(), program=llama.program))
        return made[-1]

    yield build
    for embedder in made:
        await embedder.close()


async def test_loads_names_itself_and_passes_the_self_test(llama: LlamaStandIn, load: Load) -> None:
    embedder = await load()
    digest = sha256(llama.path.read_bytes()).hexdigest()
    assert embedder.info.model == f"small-model@{digest[:12]}"
    assert (embedder.info.digest, embedder.info.dim, embedder.info.tokens_max) == (digest, DIM, 64)
    await self_test(embedder)
    (started,) = llama.told("started")
    # Somebody waits for a look-up: it does not give way to a generation beside it.
    assert (started["nice"], started["options"]["--purpose"]) == (os.nice(0), "embed")


async def test_the_configured_name_is_its_name(load: Load) -> None:
    embedder = await load("my-minilm")
    assert embedder.info.model.startswith("my-minilm@")


async def test_no_file_is_named() -> None:
    with pytest.raises(Misconfigured, match=r"embed\.gguf_path is empty"):
        await LlamaEmbedder.load(Settings(embed=Embed(engine="llama_cpp")), SystemClock())


async def test_a_model_that_does_not_load_leaves_nothing_behind(llama: LlamaStandIn, load: Load) -> None:
    llama.script = Script(loading="fail")
    with pytest.raises(Unavailable, match="bad magic"):
        await load()


@pytest.mark.parametrize(
    ("vectors", "reason"),
    [
        ("short", "a vector of 124 bytes"),
        ("zero", "degenerate"),
        ("nan", "degenerate"),
        ("few", "1 vectors for 2 texts"),
        ("text", "not its protocol"),
    ],
)
async def test_unusable_vectors_never_leave(
    llama: LlamaStandIn, load: Load, vectors: str, reason: str
) -> None:
    llama.script = Script(window=64, vectors=vectors)
    embedder = await load()
    with pytest.raises(Unavailable, match=reason):
        await embedder.embed(["one", "two"])
    assert embedder.health().status == "warn"


async def test_more_vectors_than_texts_are_not_listened_to(llama: LlamaStandIn, load: Load) -> None:
    llama.script = Script(window=64, vectors="many")
    embedder = await load()
    for texts in (["one", "two"], ["three", "four"]):
        assert all(vector is not None for vector in await embedder.embed(texts))


async def test_what_has_no_vector_is_none(llama: LlamaStandIn, load: Load) -> None:
    embedder = await load()
    long, huge, broken = "word " * 65, "x" * 40_000, "half \ud83d a pair"
    vectors = await embedder.embed(["one", long, huge, broken, "two"])
    assert [vector is None for vector in vectors] == [False, True, True, True, False]
    assert huge not in [text for request in llama.requests for text in request["texts"]]
    assert await embedder.embed([broken]) == [None]


async def test_vectors_are_shared_read_only(load: Load) -> None:
    embedder = await load()
    (vector,) = await embedder.embed(["one"])
    assert vector is not None
    assert not vector.flags.writeable


async def test_a_death_is_one_failed_batch(llama: LlamaStandIn, load: Load) -> None:
    llama.script = Script(window=64, then="crash")
    embedder = await load()
    llama.script = Script(window=64)
    with pytest.raises(Unavailable, match="GGML_ASSERT"):
        await embedder.embed(["one"])
    assert "GGML_ASSERT" in embedder.health().output
    (vector,) = await embedder.embed(["one"])
    assert vector is not None
    assert embedder.health().status == "pass"


async def test_another_file_in_the_same_place_is_another_model(llama: LlamaStandIn, load: Load) -> None:
    embedder = await load()
    await embedder.embed(["one"])
    os.kill(llama.told("started")[0]["pid"], signal.SIGKILL)
    llama.path.unlink()
    llama.path.write_bytes(GGUF_HEAD + b"other weights")
    with pytest.raises(Unavailable, match=r"exchanged|SIGKILL"):
        await embedder.embed(["two"])
    with pytest.raises(Unavailable, match="exchanged: start the node anew"):
        await embedder.embed(["three"])


@pytest.mark.engine("llama_cpp")
async def test_a_real_model_passes_the_self_test(llama_cpp: None, minilm_gguf: Path) -> None:
    embedder = await LlamaEmbedder.load(settings(minilm_gguf), SystemClock())
    await self_test(embedder)
    assert (embedder.info.dim, embedder.info.tokens_max) == (384, 512)
    # One vector for all that a vocabulary does not hold would be a wrong hit for each of them.
    assert await embedder.embed(["", "  ", "\U0001f980\U0001f980"]) == [None, None, None]
    await embedder.close()
