"""Evidence and engines for the tests of this folder."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from node.answer.compose import Composer
from node.answer.composed import Composed
from node.core.errors import NodeError
from node.core.model import Check, Draft, Evidence, Freshness, Kind, SourceRef
from node.core.ports import OnText, Prompt
from tests.manual_clock import ManualClock

WHEN = datetime(2026, 1, 1, tzinfo=UTC)


def adapter(
    text: str, *, name: str = "coingecko", confidence: float = 0.95, partial: bool = True
) -> Evidence:
    source = SourceRef("adapter", name, "https://example.org/price", WHEN)
    return Evidence(text, source, confidence, Freshness.PRICE, partial)


def document(text: str, *, name: str = "handbook.md", confidence: float = 0.9) -> Evidence:
    return Evidence(text, SourceRef("documents", name, None, WHEN), confidence, Freshness.GOVERNANCE)


class ScriptedGenerator:
    """A whole generator for tests: answers by a text, a draft, an error or a callable over the prompt."""

    def __init__(
        self,
        answer: str | Draft | NodeError | Callable[[Prompt], str | Draft],
        *,
        name: str = "scripted",
        clock: ManualClock | None = None,
        takes_s: float = 0.0,
    ) -> None:
        self._answer = answer
        self._name = name
        self._clock = clock
        self._takes_s = takes_s
        self.prompts: list[Prompt] = []
        self.timeouts: list[float] = []

    @property
    def name(self) -> str:
        return self._name

    @property
    def slots(self) -> int:
        return 1

    async def generate(self, prompt: Prompt, *, timeout_s: float, on_text: OnText | None = None) -> Draft:
        self.prompts.append(prompt)
        self.timeouts.append(timeout_s)
        if self._clock is not None:
            self._clock.advance(self._takes_s)
        answer = self._answer(prompt) if callable(self._answer) else self._answer
        if isinstance(answer, NodeError):
            raise answer
        if isinstance(answer, Draft):
            return answer
        for piece in re.findall(r"\s*\S+", answer) if on_text is not None else ():
            on_text(piece)
        tokens = len(answer.split())
        return Draft(answer, self._name, "tiny:latest", prompt_tokens=10, completion_tokens=tokens)

    async def probe(self) -> Check:
        return Check(self._name, "pass")

    async def close(self) -> None:
        return None


async def compose(
    generators: Sequence[ScriptedGenerator],
    question: str = "What is a quorum?",
    evidence: Sequence[Evidence] = (),
    *,
    clock: ManualClock | None = None,
    left_s: float = 30.0,
    kind: Kind = Kind.GENERATIVE,
    reader: Any = None,
    generator_timeout_s: float | None = None,
    **options: Any,
) -> Composed:
    """What a composer of these engines makes of the question and the evidence."""
    clock = clock or ManualClock()
    composer = Composer(generators, clock, 2_000, 200, generator_timeout_s=generator_timeout_s, reader=reader)
    deadline = clock.monotonic() + left_s
    return await composer.compose(
        question, evidence, route_kind=kind, deadline=deadline, tag="t4g", **options
    )
