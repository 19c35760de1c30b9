"""The stations of a question's walk, as the composition root hands them in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from node.pipeline.exact_sources import ExactSources
from node.pipeline.generation import Generation
from node.pipeline.statements import Statements
from node.pipeline.stored import Stored
from node.pipeline.storing import Storing
from node.pipeline.under_way import Reached, Walk


class Consults(Protocol):
    """Whoever looks for evidence: ``Stored`` alone, or documents before it."""

    async def consult(self, walk: Walk) -> Reached | None: ...


@dataclass(frozen=True, slots=True)
class Stations:
    """What a question visits."""

    stored: Stored
    documents: Consults
    exact: ExactSources
    generation: Generation
    statements: Statements
    storing: Storing
