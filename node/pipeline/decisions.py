"""Each answer enters the decision log."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from node.audit.decisions.answer_entry import decision_entry
from node.core.clock import Clock
from node.core.errors import NodeError, Unavailable
from node.core.metrics import Unlogged
from node.core.model import Answer, DecisionRef, Json, Step
from node.core.ports import AuditLog, Semantics
from node.pipeline.under_way import Policy, Reached, since_ms

Hear = Callable[[Answer, Mapping[str, Json]], None]
"""Is told every answer and its decision, for those who ask about it later."""


class Decisions:
    """See the module."""

    def __init__(
        self,
        clock: Clock,
        log: AuditLog,
        semantics: Semantics,
        policy: Policy,
        unlogged: Unlogged,
        hear: Hear = lambda _answer, _entry: None,
    ) -> None:
        self._clock = clock
        self._log = log
        self._semantics = semantics
        self._policy = policy
        self._unlogged = unlogged
        self._hear = hear

    async def record(self, answer: Answer, outcomes: Sequence[Reached]) -> Answer:
        first = outcomes[0]
        entry, private = decision_entry(
            answer,
            policy=self._policy.version,
            embedder=next(
                (one.vector.info for one in outcomes if one.vector is not None), self._semantics.info
            ),
            will_store=any(outcome.will_store for outcome in outcomes),
            store_reason=first.store_reason,
            scope=first.remembered.memory.scope if first.remembered else answer.query.caller.default_scope,
        )
        self._hear(answer, entry)
        started = self._clock.monotonic()
        try:
            appended = await self._log.append(entry, private_texts=private)
        except NodeError as exc:
            is_refused = self._policy.refuse_unlogged
            self._unlogged.failed("answer", exc, stands=not is_refused)
            if is_refused:
                raise Unavailable(f"the decision could not be logged: {exc}") from exc
            return replace(
                answer, trace=(*answer.trace, Step("record", "unlogged", str(exc), code="log_failed"))
            )
        self._unlogged.logged()
        step = Step("record", "logged", "", since_ms(self._clock, started))
        decision = DecisionRef(appended.log, appended.index)
        return replace(answer, decision=decision, trace=(*answer.trace, step))
