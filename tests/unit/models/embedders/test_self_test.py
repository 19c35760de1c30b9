"""The start-up self-test: a sound embedder passes, each way of being degenerate is refused by name."""

from __future__ import annotations

import pytest

from node.core.errors import Unavailable
from node.models.embedders.none import NoEmbedder
from node.models.embedders.self_test import self_test
from tests.simulators.hash_embedder import HashEmbedder
from tests.unit.models.embedders.minilm import local_embedder


async def test_the_real_model_passes() -> None:
    embedder = local_embedder()
    await self_test(embedder)
    await embedder.close()


async def test_a_bag_of_words_passes() -> None:
    await self_test(HashEmbedder(256, by_word=True))


@pytest.mark.parametrize(
    ("degenerate", "words"),
    [
        ("zero", "length"),
        ("constant", "all its components are the same"),
        ("nan", "not finite"),
        ("same", "nearly the same vector"),
        ("drift", "two different vectors"),
        ("short", "8 vectors for 9 texts"),
    ],
)
async def test_degenerate_is_refused(degenerate: str, words: str) -> None:
    embedder = HashEmbedder(256, by_word=True)
    embedder.degenerate = degenerate
    with pytest.raises(Unavailable, match=f"degenerate embedder: .*{words}"):
        await self_test(embedder)


async def test_an_embedder_without_meaning_is_refused() -> None:
    with pytest.raises(Unavailable, match="is not nearer to"):
        await self_test(HashEmbedder(256))


async def test_a_window_too_small_for_a_sentence_is_refused() -> None:
    with pytest.raises(Unavailable, match="degenerate embedder: no vector for"):
        await self_test(HashEmbedder(256, tokens_max=3, by_word=True))


async def test_the_engines_own_failure_comes_through() -> None:
    with pytest.raises(Unavailable, match="no model here"):
        await self_test(NoEmbedder("no model here"))
