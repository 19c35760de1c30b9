"""The test that an embedder passes at start, before any vector of it enters an index.

An engine that answers with constants, noise, NaN or the same vector for everything would turn the
semantic tier into wrong answers without a single error. The test knows the port only, not the engine.

Steps:
1. every fixed sentence gets a vector (none is longer than a window worth having);
2. each vector is sound: dimension, finite, length 1 +- 1e-3, not constant;
3. distinct sentences have distinct vectors (cosine below 0.98);
4. each paraphrase is nearer to its original than an unrelated sentence is;
5. the same sentences, asked again in other company, get the same vectors.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from node.core.errors import Unavailable
from node.core.ports import Embedder, Vector
from node.language.tables import read_table
from node.models.embedders.vectors import why_degenerate

DISTINCT_COSINE_MAX = 0.98
PARAPHRASE_MARGIN = 0.05
"""By how much a paraphrase must be nearer. The default model shows more than 0.5 on these triples; noise in a
few hundred dimensions seldom reaches 0.1 once, let alone for all of them."""

REPEAT_TOLERANCE = 1e-5

_KINDS = ("question", "paraphrase", "unrelated")
_TEXTS = [
    row[kind] for row in read_table("node.models.embedders", "self_test.toml")["triples"] for kind in _KINDS
]


def _degenerate(reason: str) -> Unavailable:
    return Unavailable(f"degenerate embedder: {reason}")


async def _vectors(embedder: Embedder, texts: Sequence[str]) -> list[Vector]:
    found = await embedder.embed(texts)
    if len(found) != len(texts):
        raise _degenerate(f"{len(found)} vectors for {len(texts)} texts")
    sound: list[Vector] = []
    for text, vector in zip(texts, found, strict=True):
        if vector is None:
            raise _degenerate(f"no vector for {text!r}")
        if reason := why_degenerate(vector, embedder.info.dim):
            raise _degenerate(f"the vector for {text!r} is unusable: {reason}")
        sound.append(vector)
    return sound


async def self_test(embedder: Embedder) -> None:
    """Return when ``embedder`` can be trusted with an index; raise ``Unavailable`` with the reason
    (``degenerate embedder: ...``, or whatever the engine itself raised) when it cannot."""
    texts = _TEXTS
    vectors = await _vectors(embedder, texts)

    cosines = np.vstack(vectors) @ np.vstack(vectors).T
    for row, text in enumerate(texts):
        for column in range(row):
            if cosines[row, column] >= DISTINCT_COSINE_MAX:
                raise _degenerate(
                    f"{text!r} and {texts[column]!r} have nearly the same vector "
                    f"(cosine {cosines[row, column]:.3f})"
                )

    for first in range(0, len(texts), len(_KINDS)):
        same, other = float(cosines[first, first + 1]), float(cosines[first, first + 2])
        if same < other + PARAPHRASE_MARGIN:
            raise _degenerate(
                f"{texts[first + 1]!r} (cosine {same:.3f}) is not nearer to {texts[first]!r} than "
                f"{texts[first + 2]!r} is (cosine {other:.3f})"
            )

    again = [(await _vectors(embedder, [texts[0]]))[0], *await _vectors(embedder, texts[1:])]
    for text, before, after in zip(texts, vectors, again, strict=True):
        if not np.allclose(before, after, rtol=0, atol=REPEAT_TOLERANCE):
            raise _degenerate(f"asked twice, {text!r} got two different vectors")
