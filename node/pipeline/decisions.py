"""Each answer enters the decision log."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from node.audit.decisions.answer_entry import decision_entry
from node.audit.decisions.entry_fields import Entry
from node.audit.decisions.seal import Form
from node.audit.recorder import Entered, Recorder
from node.core.clock import Clock
from node.core.model import Answer, Json, Step
from node.core.ports import Embedded, Semantics
from node.pipeline.under_way import Policy, Reached, since_ms

Hear = Callable[[Answer, Mapping[str, Json]], None]
"""Is told every answer and its decision, for those who ask about it later."""


@dataclass(frozen=True, slots=True)
class Decisions:
    """See the module."""

    clock: Clock
    recorder: Recorder
    semantics: Semantics
    policy: Policy
    hear: Hear = lambda _answer, _entry: None
    walked: Callable[[Answer, Embedded | None], None] = lambda _answer, _vector: None
    """Is told every answer that was walked for, and the vector of its question."""

    def entry_of(self, answer: Answer, outcomes: Sequence[Reached]) -> Entry:
        """What the log is to hold of an answer, and its private texts."""
        first = outcomes[0]
        return decision_entry(
            answer,
            policy=self.policy.version,
            embedder=next(
                (one.vector.info for one in outcomes if one.vector is not None), self.semantics.info
            ),
            will_store=any(outcome.will_store for outcome in outcomes),
            store_reason=first.store_reason,
            scope=first.remembered.memory.scope if first.remembered else answer.query.caller.default_scope,
        )

    async def record(self, answer: Answer, outcomes: Sequence[Reached]) -> Answer:
        entry, private = self.entry_of(answer, outcomes)
        self.hear(answer, entry)
        self.walked(answer, outcomes[0].vector)
        started = self.clock.monotonic()
        entered = await self.recorder.enter(entry, private, kind="answer")
        if entered.place is None:
            step = Step("record", "unlogged", entered.problem, code="log_failed")
            return replace(answer, trace=(*answer.trace, step))
        step = Step("record", "logged", "", since_ms(self.clock, started))
        return replace(answer, decision=entered.ref, trace=(*answer.trace, step))

    def begin_again(
        self, answer: Answer, form: Form, request: str, age_s: int, at: datetime
    ) -> Entered | Awaitable[Entered]:
        """An answer from memory, given to another request: what the log says, or what that will come from."""
        self.hear(answer, {})  # it has no session, whose turns alone are told by their entries
        return self.recorder.begin(form.sealed(request, age_s, at), kind="answer")
