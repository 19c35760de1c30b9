"""The station for words of which nothing is asked: politeness, remarks, and what people say who have a
question ("The parcel never came")."""

from __future__ import annotations

from dataclasses import dataclass, replace

from node.answer.compose import Composer
from node.core.model import Answer, Confidence, Freshness, SourceRef
from node.language import conversation, tongue
from node.pipeline.generation import Generation
from node.pipeline.stored import Revalidate, Stored
from node.pipeline.under_way import Reached, Walk
from node.pipeline.understanding import pasted
from node.pipeline.understanding.question import REACTION

STATEMENT_FLOOR = 0.8
STATEMENT_WORDS, LOOKED_UP_WORDS = 4, 5
"""Words that only tell are read beside the notes from so many on, and looked up: fewer are remarks."""


@dataclass(frozen=True, slots=True)
class Statements:
    """See the module."""

    stored: Stored
    generation: Generation
    composer: Composer

    async def answer(self, walk: Walk, revalidate: Revalidate) -> Reached:
        said = conversation.talk(walk.query.text)
        tells = said is None and not walk.query.pasted and len(walk.query.text.split()) >= STATEMENT_WORDS
        if tells and walk.route.reason != REACTION and (known := await self._known(walk, revalidate)):
            return known
        if said is None:
            text = conversation.acknowledge(walk.query.text, reacts=walk.route.reason == REACTION)
        else:
            text = conversation.answer(said, await self.composer.present() if "model" in said.topics else ())
        walk.note("acknowledge", "statement", "nothing_asked")
        answer = Answer(
            query=walk.query,
            text=pasted.reply(walk.query.pasted) if walk.query.pasted else text,
            route=walk.route,
            source=SourceRef("statement", "statement"),
            confidence=Confidence(1.0, {}),
            freshness=Freshness.GENERAL,
        )
        return Reached(answer, None, None, store_reason="statement")

    async def _known(self, walk: Walk, revalidate: Revalidate) -> Reached | None:
        """What is stored for words that only tell ("The parcel never came"): people store answers for them.
        No adapter and no model is asked."""
        route = walk.route
        walk.route = replace(route, floor=STATEMENT_FLOOR)
        try:
            if len(walk.query.text.split()) >= LOOKED_UP_WORDS and (
                hit := await self.stored.recall(walk, revalidate)
            ):
                return hit
        finally:
            walk.route = route
        if not tongue.may_be_english(walk.query.text):
            return None
        await self.stored.consult(walk)
        composed = await self.composer.told(walk.query.text, walk.evidence, language="en")
        if composed is None:
            return None
        walk.add(*composed.tried)
        return replace(self.generation.reached(walk, composed), store_reason="statement")
