"""Health: whether what is stored is found by its meaning."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from node.core.ports import SemanticFacts
from node.pipeline.health import Health


def health_of(live: int, vectors: int, done: int, total: int) -> Health:
    class Records:
        async def counts(self) -> dict[str, int]:
            return {"live": live}

    semantics = SimpleNamespace(
        info=SimpleNamespace(dim=384), facts=lambda: SemanticFacts(vectors, 384, done, total)
    )
    return Health(cast("Any", SimpleNamespace(records=Records(), semantics=semantics)))


@pytest.mark.parametrize(
    ("live", "vectors", "done", "total", "status", "said"),
    [
        (0, 0, 0, 0, "pass", "nothing is stored yet"),
        (254, 250, 0, 0, "pass", ""),
        (254, 7, 7, 254, "pass", "the others follow by themselves"),
        (254, 7, 7, 7, "warn", "type: neuroswarm embed"),
    ],
)
async def test_who_embeds_right_now_is_not_sent_to_embed(
    live: int, vectors: int, done: int, total: int, status: str, said: str
) -> None:
    check = await health_of(live, vectors, done, total)._entries_check()
    assert (check.status, check.observed) == (status, live)
    assert said in check.output
