"""The semantic classifier follows the embedder: it judges vectors of its own model and of no other."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import cast

from node.core.model import Kind
from node.core.ports import Vector
from node.pipeline.understanding.route import Floors, Router
from node.pipeline.understanding.semantic import SemanticHead, Verdict
from node.pipeline.understanding.understand import Understanding
from tests.simulators.hash_embedder import HashEmbedder
from tests.simulators.semantics import OneModel

NOW = datetime(2026, 1, 1, tzinfo=UTC)
OPEN = "bread and butter in the morning"
"""No rule is sure of it."""


class Head:
    """Says ``generative`` of every vector, and counts."""

    def __init__(self, digest: str) -> None:
        self.model_digest = digest
        self.judged = 0

    def decide(self, vector: Vector) -> Verdict:
        self.judged += 1
        return Verdict("generative", 0.99, 0.9)


def understanding(embedder: HashEmbedder) -> tuple[Understanding, Head]:
    head = Head(embedder.info.digest)
    router = Router([], Floors())
    return Understanding(router, OneModel(embedder), cast("SemanticHead", head)), head


async def test_the_head_judges_once_and_the_vector_goes_on_with_its_model() -> None:
    embedder = HashEmbedder(8)
    one, head = understanding(embedder)
    assert one.part(OPEN, now=NOW)[0].open
    part = await one.place(OPEN, now=NOW)
    assert part.route.kind is Kind.GENERATIVE
    assert part.vector is not None
    assert part.vector.info == embedder.info
    again = await one.place(OPEN, now=NOW)
    assert (again.route.kind, again.vector) == (Kind.GENERATIVE, None)
    assert (head.judged, len(embedder.embedded)) == (1, 1)


async def test_while_another_embedder_serves_the_rules_stand_and_nothing_is_embedded() -> None:
    embedder = HashEmbedder(8)
    one, head = understanding(embedder)
    embedder.become(8, "another")
    part = await one.place(OPEN, now=NOW)
    assert not part.open
    assert part.vector is None
    assert not embedder.embedded
    embedder.become(8)
    assert (await one.place(OPEN, now=NOW)).vector is not None
    assert head.judged == 1


async def test_a_switch_between_two_steps_gives_the_head_no_foreign_vector() -> None:
    embedder = HashEmbedder(8)
    one, head = understanding(embedder)
    [part] = one.part(OPEN, now=NOW)
    embedder.become(8, "another")
    settled = await one.settle(part, now=NOW)
    assert not settled.open
    assert settled.route == part.route
    assert settled.vector is not None, "it is embedded once: recall compares it with its own kind"
    assert settled.vector.info.model == "hash-another@test"
    assert head.judged == 0
