"""Evidence and engines for the tests of this folder."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime

from node.core.errors import NodeError
from node.core.model import Check, Draft, Evidence, Freshness, SourceRef
from node.core.ports import OnText, Prompt
from tests.manual_clock import ManualClock

WHEN = datetime(2026, 1, 1, tzinfo=UTC)


def adapter(
    text: str, *, name: str = "coingecko", confidence: float = 0.95, partial: bool = True
) -> Evidence:
    return Evidence(
        text,
        SourceRef("adapter", name, "https://example.org/price", WHEN),
        confidence,
        Freshness.PRICE,
        partial,
    )


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
        return Draft(
            answer, self._name, "tiny:latest", prompt_tokens=10, completion_tokens=len(answer.split())
        )

    async def probe(self) -> Check:
        return Check(self._name, "pass")

    async def close(self) -> None:
        return None
