"""Governance proposals of communities that vote on Snapshot.

It promises: what it says of a proposal is what the hub states for a proposal of the asked space, each figure
checked (see ``wire``); a vote that is not over, or whose scores are not final, is called so.
Questions are read by ``questions`` and ``pairs``, looked up by ``asking``, told by ``say``.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from adapters.fetch import Http, Source
from adapters.outcomes import failed
from adapters.remote import Remote
from adapters.snapshot import wire
from adapters.snapshot.asking import NAME, Asking
from adapters.snapshot.follow import follow_up
from adapters.snapshot.pairs import read_pair
from adapters.snapshot.questions import read_question
from adapters.snapshot.slots import question_of
from node.core.clock import Clock
from node.core.errors import NodeError, NotFound
from node.core.guard import Guard
from node.core.limits import Limits, Window
from node.core.model import CLAIM, Found, Kind, Missed, Outcome, Query, Recognition, Unclear
from node.core.settings import AdapterSettings

BASE_URL = "https://hub.snapshot.org"
PER_MINUTE = 60
"""The hub allows 100 a minute and address."""
CONCURRENCY = 4
STALE_FOR_S = 86_400.0


class Snapshot(Remote):
    """``node.core.ports.Adapter`` for Snapshot. Safe to call concurrently from one event loop."""

    name = NAME
    disables = "No fresh proposals from Snapshot"

    def __init__(
        self, settings: AdapterSettings, http: Http, clock: Clock, guard: Guard | None = None
    ) -> None:
        """``settings.base_url`` empty means the public hub; ``per_minute`` > 0 replaces the default limit."""
        self._clock = clock
        self._source = Source(
            settings.base_url or BASE_URL,
            http,
            clock,
            guard
            or Guard(
                wire.SOURCE,
                clock,
                Limits(
                    windows=(Window(settings.per_minute or PER_MINUTE, 60.0),),
                    concurrency=CONCURRENCY,
                    attempts=3,
                    cache_entries=512,
                    stale_for_s=STALE_FOR_S,
                ),
            ),
            timeout_s=settings.timeout_s,
            headers={"x-api-key": settings.api_key} if settings.api_key else None,
            explain=lambda reply: wire.explain(reply, clock),
        )
        super().__init__(self._source)

    def recognise(self, text: str, now: datetime, *, hinted: bool = False) -> Recognition | None:
        """See ``questions``."""
        read = read_pair(text) or read_question(text, now.date(), hinted=hinted)
        if read is None:
            return None
        return Recognition(
            adapter=NAME,
            slots=read.question.slots,
            key=read.question.key(now.date()),
            local=False,
            reason=read.reason,
            strength=read.strength,
            unresolved=() if read.question.space is not None else ("space",),
            kind=Kind.HISTORICAL,
        )

    def follow_up(self, fragment: str, earlier: str, now: datetime) -> str | None:
        """Another space, number or figure for the earlier question."""
        return follow_up(fragment, earlier, now.date())

    async def ask(self, recognition: Recognition, query: Query) -> Outcome:
        """``Found`` with what the hub states, ``Missed`` when it has no such proposal, ``Unclear`` without a
        space, else ``Failed``."""
        question = question_of(recognition.slots)
        if question is None:
            return Missed("this is not a question about a proposal on Snapshot")
        if question.space is None:
            return Unclear(
                ask="Which Snapshot space do you mean? Name the community or its address, such as ens.eth.",
                reason="no Snapshot space is named",
            )
        asking = Asking(self._source, self._clock, question, question.space, query)
        try:
            evidence = await asking.answer()
        except NotFound as exc:
            return Missed(str(exc))
        except NodeError as exc:
            return failed(exc)
        return Found(replace(evidence, partial=evidence.partial or recognition.strength < CLAIM))
