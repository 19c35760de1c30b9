"""Memory behind replies: after a turn the model proposes facts, and what is worth it is written.

Promises: a turn's reply never waits for it; a message without a statement asks no model; one person's lines
are seen by nobody else; a fault is counted and said in the log, without the text. Nothing of a transcript is
kept but the lines themselves.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Protocol

from node.agent.memory import facts, worth
from node.agent.memory.books import FILES, Books
from node.agent.memory.facts import About, Fact
from node.agent.memory.worth import CONFIDENCE_MIN
from node.core.caller import Caller
from node.core.clock import Clock
from node.core.errors import NodeError
from node.core.model import Evidence, Freshness, SourceRef
from node.core.ports import Prompt
from node.language.sentences import coverage

log = logging.getLogger("neuroswarm.memory")

RELIABILITY = 0.8
"""Of a line: a person said it, and a model wrote it down."""
LINES_GIVEN_MAX = 12
"""So many lines are told to a model with a question: what fits the question first, then the newest."""

Generate = Callable[[Prompt, float], Awaitable[str]]
"""One completion before a deadline (monotonic seconds). Raises ``NodeError``."""
Worth = Callable[[Sequence[str]], Awaitable[list[float]]]
"""How surely each fact is of a kind to keep, in [0, 1]."""
Alike = Callable[[str, Sequence[str]], Awaitable[tuple[float, ...]]]
"""The cosine of a fact with each line; empty without an embedder. Never raises."""
Record = Callable[[Caller, str, Fact | None], Awaitable[None]]
"""Enters in the decision log what became of a fact."""


class Later(Protocol):
    """Work behind replies (``pipeline.second_sample``)."""

    def submit(self, key: Hashable, work: Callable[[float], Awaitable[None]]) -> bool: ...


@dataclass(frozen=True, slots=True)
class Line:
    """A line as evidence: ``place`` is what a citation names, "USER_MEMORY.md, line 3"."""

    place: str
    text: str

    @property
    def evidence(self) -> Evidence:
        """As what a model reads and cites."""
        return Evidence(self.text, SourceRef("memory", self.place), RELIABILITY, Freshness.GENERAL)


@dataclass(frozen=True, slots=True)
class Means:
    """What the keeper works with."""

    generate: Generate
    worth: Worth
    alike: Alike
    record: Record
    later: Later
    clock: Clock
    confidence_min: float = CONFIDENCE_MIN


class Keeper:
    """Use from one event loop."""

    def __init__(self, books: Books, means: Means) -> None:
        self._books = books
        self._means = means
        self._forgotten = 0
        """How often something was forgotten: what was proposed before is not written after it."""
        self._writing: set[asyncio.Task[list[worth.Judged]]] = set()

    def note(self, caller: Caller, said: str, turn: str) -> bool:
        """Look at a person's message later, under the turn's id; whether that will be done."""
        told = worth.statements(said)
        if not told or not caller.may_write:
            return False

        heard = self._forgotten
        writing: asyncio.Task[list[worth.Judged]] | None = None

        async def work(deadline: float) -> None:
            nonlocal writing  # what is being written is not asked for again where people come meanwhile
            try:
                found = await self.proposed(told, deadline) if writing is None else []
                if self._forgotten == heard:
                    writing = writing or self._begin(caller, found, told, heard)
                    await asyncio.shield(writing)
            except NodeError as exc:
                log.info("event=memory_not_kept reason=%r", str(exc))

        return self._means.later.submit(("memory", turn), work)

    def _begin(
        self, caller: Caller, found: Sequence[Fact], told: Sequence[str], heard: int
    ) -> asyncio.Task[list[worth.Judged]]:
        task = asyncio.create_task(self.keep(caller, found, told, lambda: self._forgotten == heard))
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)
        return task

    async def close(self) -> None:
        """Wait for what is being written; nothing that was proposed until now is written after it."""
        self._forgotten += 1
        await asyncio.gather(*self._writing, return_exceptions=True)

    async def proposed(self, told: Sequence[str], deadline: float) -> list[Fact]:
        """The facts that a model finds in statements; it is asked only about those that look worth it."""
        scores = await self._means.worth(told)
        worthy = [one for one, score in zip(told, scores, strict=True) if score >= worth.ASKED_MIN]
        return facts.read(await self._means.generate(facts.prompt(worthy), deadline)) if worthy else []

    async def keep(
        self,
        caller: Caller,
        found: Sequence[Fact],
        told: Sequence[str],
        may_still: Callable[[], bool] = lambda: True,
    ) -> list[worth.Judged]:
        """Write those of the facts that are worth it; each with what spoke against it. ``may_still``: asked
        at the moment of writing, from another thread."""
        scores = await self._means.worth([fact.text for fact in found]) if found else []
        judged = []
        for fact, score in zip(found, scores, strict=True):
            one = worth.judge(fact, told, score, self._means.confidence_min)
            if not one.against:
                one = await self._write(caller, one, " ".join(told), may_still)
            await self._means.record(caller, one.against, None if one.against else fact)
            judged.append(one)
        return judged

    async def lines(self, caller: Caller) -> dict[About, tuple[str, ...]]:
        """All that is kept for this caller. Raises as ``Books`` does."""
        return {about: await asyncio.to_thread(self._books.lines, caller, about) for about in About}

    async def relevant(self, caller: Caller, question: str) -> list[Line]:
        """What a model is told with a question; nothing where the files cannot be read."""
        try:
            kept = await self.lines(caller)
        except NodeError as exc:
            log.warning("event=memory_unreadable reason=%r", str(exc))
            return []
        lines = [
            Line(f"{FILES[about]}, line {number}", text)
            for about, texts in kept.items()
            for number, text in enumerate(texts, start=1)
        ]
        newest = sorted(range(len(lines)), key=lambda at: (-coverage(lines[at].text, [question]), -at))
        return [lines[at] for at in sorted(newest[:LINES_GIVEN_MAX])]

    async def forget(self, caller: Caller, about: About | None = None, text: str | None = None) -> int:
        """See ``Books.forget``."""
        self._forgotten += 1
        return await asyncio.to_thread(self._books.forget, caller, about, text)

    async def erase(self, tenant: str, person: str | None = None) -> bool:
        """See ``Books.erase``."""
        self._forgotten += 1
        return await asyncio.to_thread(self._books.erase, tenant, person)

    async def _write(
        self, caller: Caller, one: worth.Judged, said: str, may_still: Callable[[], bool]
    ) -> worth.Judged:
        lines = await asyncio.to_thread(self._books.lines, caller, one.fact.about)
        alike = await self._means.alike(one.fact.text, lines)
        now = self._means.clock.now()
        joined = await asyncio.to_thread(self._books.join, caller, one.fact, said, now, alike, may_still)
        if joined is None:
            return worth.Judged(one.fact, "forgotten meanwhile")
        return one if joined.is_new else worth.Judged(one.fact, "known")
