"""The agent behind the doors: a turn's question goes through the loop, and what comes out of it is judged.

Promises:
- an answer of the loop is given only where results stand behind it: each of its figures is in one, in the
  question or in what was said before, and so are its words, or else its names. For all else, an answer
  without any result too, the plain road answers the same question, and the trace says why: where the loop
  fails, agent mode is as good as that;
- its answers are never stored and never come from the cache: a model asked for what they rest on, some of
  that lives as short as prices do, and no curve says how often they are right. What the tools read is cached
  where it always is;
- one decision for each turn, with its steps."""

from __future__ import annotations

from dataclasses import dataclass, replace

from node.agent.loop import Loop, Under
from node.agent.memory.keeper import Keeper
from node.agent.tools import Turn
from node.answer.composed import CITATIONS_MAX
from node.answer.grounding import Grounding, abstains, ground, strip_marks
from node.answer.prompt import unmarked
from node.answer.score.confidence import Origin, judge, observe
from node.core.clock import random_bytes
from node.core.metrics import Metrics
from node.core.model import Answer, Citation, InDocuments, Json, Kind, Query, Route, Source, SourceRef
from node.core.ports import Tell
from node.language.sentences import figures, unsupported_figures
from node.pipeline import replies
from node.pipeline.decisions import Decisions
from node.pipeline.under_way import Reached
from node.pipeline.walk import Pipeline

WORDS_MIN = 0.35
"""The share of an answer's words, sentence by sentence, that have to stand in results, unless it states
figures that do, and so many of its names:"""
NAMES_MIN = 0.5
CONFIDENCE_MAX = 0.75
"""Below the bar of what is stored: no curve is fitted to answers of the agent, and what is told is only the
weighted mean of what can be seen of them."""
TURNS_MAX = 4
TURN_CHARS_MAX = 600
STORE_REASON = "agent"
_ROUTE = Route(Kind.UNCLASSIFIED, (Source.MODEL,), None, "agent mode: a model chooses tools", sure=True)


@dataclass(frozen=True, slots=True)
class AgentDesk:
    """See the module. ``plain`` is the walk that answers where the loop cannot."""

    loop: Loop
    plain: Pipeline
    decisions: Decisions
    metrics: Metrics
    memory: Keeper | None = None

    def listed(self) -> list[dict[str, Json]]:
        """The tools, as ``GET /v1/tools`` shows them."""
        return [
            {**one.offered.form, "source": one.source, "writes": one.writes}
            for one in self.loop.toolbox.tools
        ]

    async def answer(self, query: Query, tell: Tell | None = None) -> Answer:
        """As ``Pipeline.answer``."""
        if query.only_cached:
            return await self.plain.answer(query, tell)
        under = self._begun(query, tell)
        with self.plain.working():
            if self.memory is not None:
                self.loop.remember(under, await self.memory.relevant(query.caller, query.text))
            await self.loop.run(under)
            return await self._judged(under, query, tell)

    async def _judged(self, under: Under, query: Query, tell: Tell | None) -> Answer:
        grounding = ground(under.text, under.blocks, query.text)
        why = under.why if not under.text else _doubt(under, grounding)
        self._count(under, why)
        if why:
            under.note("agent", "gave_up", f"{why.replace('_', ' ')}: the plain road answers", code=why)
            if tell is not None:
                tell("reset", {})
            return await self.plain.answer(query, tell, before=tuple(under.trace))
        logged = await self._given(under, grounding)
        self.plain.note_asked(query, query.text)
        self.plain.enter_turn(query, query.text, logged.text)
        return logged

    def _begun(self, query: Query, tell: Tell | None) -> Under:
        tag = random_bytes(6).hex()
        turns = tuple(
            (unmarked(asked[:TURN_CHARS_MAX], tag), unmarked(answered[:TURN_CHARS_MAX], tag))
            for asked, answered in self.plain.history(query)[-TURNS_MAX:]
        )
        under = Under(query, turns, tag, Turn(query, query.asked, self.plain.brings_text(query)), tell)
        if tell is not None:
            tell("route", {"route": str(_ROUTE.kind), "adapter": None})
        under.note("understand", "agent", _ROUTE.reason, code="agent")
        return under

    def _count(self, under: Under, why: str) -> None:
        self.metrics.count("agent_turns", "plain" if why else under.why)
        for name, by in (("mended", under.mended), ("unread", under.unread)):
            if by:
                self.metrics.count("agent_fallbacks", name, by=by)
        for step in under.trace:
            if step.stage.startswith("tool:"):
                self.metrics.count("agent_calls", step.outcome)

    async def _given(self, under: Under, grounding: Grounding) -> Answer:
        """The loop's answer, judged as a model's on evidence is, and logged."""
        draft, query, is_grounded = under.draft, under.query, grounding.grounded
        assert draft is not None
        signals = observe(
            query.text,
            grounding.text,
            Origin.MODEL_ON_EVIDENCE if is_grounded else Origin.MODEL,
            complete=draft.complete,
            looped=draft.looped,
            grounded=is_grounded,
            cited=grounding.explicit,
            context_share=grounding.share if under.blocks else None,
        )
        weighed = judge(signals)
        answer = Answer(
            query=query,
            text=grounding.text,
            route=_ROUTE,
            source=SourceRef(
                "llm", f"{draft.engine}/{draft.model}", time=self.loop.clock.now(), digest=draft.model_digest
            ),
            confidence=replace(weighed, value=min(weighed.value, CONFIDENCE_MAX)),
            freshness=replies.shortest([one.freshness for one in under.found]),
            citations=_citations(under, grounding),
            trace=tuple(under.trace),
            usage=under.usage,
            unverified=not is_grounded,
            store_reason="answers of the agent are not stored",
            documents=InDocuments(orders=tuple(dict.fromkeys(under.orders))) if under.orders else None,
        )
        reached = Reached(answer, None, None, grounded=is_grounded, store_reason=STORE_REASON)
        return await self.decisions.record(answer, [reached])


def _doubt(under: Under, grounding: Grounding) -> str:
    """Why the loop cannot stand behind its answer, as a code; empty where it can."""
    question, held = under.query.text, grounding.support
    if abstains(grounding.text):
        return "no_answer"
    if held is None:
        return "rests_on_no_result"
    bare = strip_marks(grounding.text, under.blocks)
    before = [said for turn in under.turns for said in turn]
    given = [part for block in under.blocks for part in (block.text, block.label)]
    if unsupported_figures(bare, (*given, question, *before)):
        return "figures_without_a_result"
    has_figures = bool(set(figures(bare)) - set(figures(question)))
    if held.words < WORDS_MIN and (held.names < NAMES_MIN or not has_figures):
        return "words_without_a_result"
    return ""


def _citations(under: Under, grounding: Grounding) -> tuple[Citation, ...]:
    """The sources of the results that the answer rests on, in the order of its marks."""
    return tuple(_citation(under, block.number - 1) for block in grounding.used[:CITATIONS_MAX])


def _citation(under: Under, place: int) -> Citation:
    evidence = under.found[place]
    if evidence.citations:
        return evidence.citations[0]
    return Citation(evidence.source.id, "", under.blocks[place].text[:240], evidence.source.url)
