"""Memory of people and organisations: its files, and the model that proposes facts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from node.agent.memory import facts, worth
from node.agent.memory.books import Books
from node.agent.memory.facts import About, Fact
from node.agent.memory.keeper import Keeper, Later, Means
from node.answer.chain import Chain
from node.app.storage import Ground
from node.core.caller import Caller
from node.core.errors import NodeError, Unavailable
from node.core.model import Query
from node.core.ports import Prompt, Semantics, Vector
from node.core.record import format_time
from node.knowledge.evaluation.nightly import Nightly
from node.pipeline.walk import Pipeline

FOLDER = "memory"
OFF, ALWAYS = "off", "always"


def open_keeper(ground: Ground, semantics: Semantics, chain: Chain, later: Later) -> Keeper | None:
    """Build it; None where the settings want no memory."""
    if ground.settings.agent.memory == OFF:
        return None

    async def generate(prompt: Prompt, deadline: float) -> str:
        said = await chain.first(prompt, lambda draft: draft.text, deadline=deadline)
        if said.value is None:
            raise Unavailable("; ".join(said.failures) or "no model is configured")
        return said.value

    async def vectors(texts: Sequence[str]) -> list[Vector | None]:
        """By the packaged embedder only: the weights are of its vectors."""
        if semantics.info.model != worth.packaged().model:
            raise Unavailable("memory is kept with the packaged embedder only (setting embed.engine)")
        return [None if one is None else one.vector for one in await semantics.embed(texts)]

    async def worths(texts: Sequence[str]) -> list[float]:
        return [0.0 if one is None else worth.packaged().worth_of(one) for one in await vectors(texts)]

    async def alike(text: str, lines: Sequence[str]) -> tuple[float, ...]:
        try:
            first, *rest = await vectors([text, *lines])
        except NodeError:
            return ()
        return tuple(0.0 if first is None or one is None else float(first @ one) for one in rest)

    async def record(caller: Caller, against: str, fact: Fact | None) -> None:
        entry = {
            "decision": "memory",
            "time": format_time(ground.clock.now()),
            "outcome": "kept" if fact else "not_kept",
            "reason": against,
            "about": fact.about.value if fact else "",
        }
        private = {"text": fact.text} if fact else {}
        await ground.recorder.enter(entry, private, is_done=True)

    minimum = ground.settings.agent.memory_confidence
    means = Means(generate, worths, alike, record, later, ground.clock, minimum)
    keeper = Keeper(_books(ground), means)
    ground.stack.push_async_callback(keeper.close)
    return keeper


def _books(ground: Ground) -> Books:
    """Its files."""
    return Books(ground.data_dir / FOLDER)


def forgetting(ground: Ground, keeper: Keeper | None, nightly: Nightly) -> Callable[[str], Awaitable[bool]]:
    """What erases all that is remembered of a tenant, and what of it waits to be graded; whether any stood on
    disk."""

    async def forget(tenant: str) -> bool:
        nightly.forget(tenant)
        if keeper is not None:
            return await keeper.erase(tenant)
        return await asyncio.to_thread(_books(ground).erase, tenant)

    return forget


class Remembering:
    """Turns to the keeper: behind replies, and by the agent's tool ``write_memory``."""

    def __init__(self, keeper: Keeper, pipeline: Pipeline, mode: str) -> None:
        self._keeper, self._pipeline, self._mode = keeper, pipeline, mode

    def hear(self, query: Query, *, is_agent: bool) -> None:
        """See ``pipeline.ports.Remembers``. A text that came with a message is not its user's word."""
        if (is_agent or self._mode == ALWAYS) and not self._pipeline.brings_text(query):
            self._keeper.note(query.caller, query.asked, query.id)

    async def write(self, fact: str, about: str, query: Query) -> str:
        """See ``agent.tools.Remembers``."""
        found = facts.read_one(fact, About(about))
        if found is None:
            return f"not written: a fact is one line of at most {facts.FACT_CHARS_MAX} characters"
        (judged,) = await self._keeper.keep(query.caller, [found], worth.statements(query.asked))
        return f"not written: {judged.against}" if judged.against else "written"
