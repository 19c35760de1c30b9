"""Whether a peer's answer is what comes out here: its question is routed and answered by our own adapters.

Rules:
1. Only an adapter that claims the question is asked. Those that compute here always; those that reach
   outside only for what is not live, at most ``per_hour`` in any hour and each within ``timeout_s``, for
   whoever sends records must not be able to spend our sources.
2. It says the same (True) where the texts are equal but for Unicode form and white space, or where
   ``score.same_answer`` finds the same values and the peer's text has no word, figure or sign that ours or
   the question lacks: an answer with something added is not verified.
3. It differs (False) only where the class is settled, the comparison is a contradiction or the sentences are
   the same but for a figure, the peer's text lacks a figure of ours, and all this holds for each of the days
   that it may have been on the peer's clock.
4. Anything else, a failure or an empty budget included, tells nothing (None).

What stands in the record beside question and answer plays no part.
"""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta, tzinfo
from decimal import Decimal, InvalidOperation

from node.core.caller import Caller
from node.core.clock import Clock, new_id
from node.core.model import CLAIM, Evidence, Found, Freshness, Query, Route
from node.core.normalise import normalise
from node.core.ports import Adapter
from node.core.record import AnswerRecord
from node.language.same_answer import CHARS_MAX, RIGHT, ROUNDED, WRONG, same_answer
from node.peers.rules.admission import ClassLimit
from node.pipeline.understanding.route import Router

HOUR_S = 3_600.0
ZONES_APART = (timedelta(0), timedelta(hours=-12), timedelta(hours=14))
"""Of a peer's clock from UTC: nowhere, and as far as clocks go."""
_SETTLED = frozenset({Freshness.COMPUTED, Freshness.PAST_PRICE, Freshness.FINAL_SCORE})
_TOKEN = re.compile(r"\w+(?:[.,]\w+)*|[^\w\s]")
_FREE = frozenset(".,;:!?()'\"")


class Recompute:
    """Called with a record. ``zone``: the node's own, in which relative days are read for ``slot_key``."""

    def __init__(
        self,
        router: Router,
        adapters: Sequence[Adapter],
        clock: Clock,
        *,
        class_limit: Callable[[AnswerRecord], ClassLimit],
        zone: tzinfo,
        per_hour: int,
        timeout_s: float,
    ) -> None:
        self._router = router
        self._adapters = {adapter.name: adapter for adapter in adapters}
        self._clock = clock
        self._class_limit = class_limit
        self._zone = zone
        self._per_hour = per_hour
        self._timeout_s = timeout_s
        self._asked: deque[float] = deque()

    def slot_key(self, record: AnswerRecord) -> str | None:
        """The slot key that our own reading gives the record's question, on the day that it was answered."""
        return self._router.route(record.query, now=record.timestamp.astimezone(self._zone)).key

    async def __call__(self, record: AnswerRecord) -> bool | None:
        route = self._router.route(record.query, now=record.timestamp)
        adapter = None if route.adapter is None else self._adapters.get(route.adapter)
        if adapter is None or route.strength < CLAIM:
            return None
        if adapter.is_local:
            days = [record.timestamp + apart for apart in ZONES_APART]
        elif self._class_limit(record).is_live or not self._may_ask():
            return None
        else:
            days = [record.timestamp]
        verdicts = [await self._compared(record, adapter, when) for when in days]
        if verdicts[0] is True:
            return True
        return False if all(verdict is False for verdict in verdicts) else None

    def _may_ask(self) -> bool:
        now = self._clock.monotonic()
        while self._asked and self._asked[0] <= now - HOUR_S:
            self._asked.popleft()
        if len(self._asked) >= self._per_hour:
            return False
        self._asked.append(now)
        return True

    async def _compared(self, record: AnswerRecord, adapter: Adapter, when: datetime) -> bool | None:
        route = self._router.route(record.query, now=when)
        if route.adapter != adapter.name:
            return None
        evidence = await self._ask(record, route, adapter, when)
        if evidence is None or evidence.partial or evidence.data.get("stale") is True:
            return None
        return _verdict(record, evidence)

    async def _ask(
        self, record: AnswerRecord, route: Route, adapter: Adapter, when: datetime
    ) -> Evidence | None:
        claim = route.claim(adapter.name, local=adapter.is_local)
        query = Query(
            id=new_id(),
            asked=record.query,
            text=record.query,
            caller=Caller(tenant="peers"),
            received=when,
            deadline=self._clock.monotonic() + self._timeout_s,
        )
        try:
            async with asyncio.timeout(self._timeout_s):
                outcome = await adapter.ask(claim, query)
        except TimeoutError:
            return None
        return outcome.evidence if isinstance(outcome, Found) else None


def _verdict(record: AnswerRecord, evidence: Evidence) -> bool | None:
    said, ours = record.answer, evidence.text
    if normalise(said) == normalise(ours):
        return True
    if max(len(said), len(ours)) > CHARS_MAX:
        return None
    found = same_answer(said, ours, question=record.query).verdict
    if found == RIGHT and not _added(said, ours, record.query):
        return True
    if evidence.freshness not in _SETTLED or _has_our_figures(said, ours, record.query):
        return None
    return False if found == WRONG or _other_figures(said, ours) else None


def _other_figures(said: str, ours: str) -> bool:
    """Whether two sentences are the same but for a figure that no rounding explains."""
    texts = [_TOKEN.findall(normalise(text).casefold()) for text in (said, ours)]
    words = [[token for token in text if not token[0].isdigit()] for text in texts]
    figures = [[_number(token) for token in text if token[0].isdigit()] for text in texts]
    if words[0] != words[1] or len(figures[0]) != len(figures[1]):
        return False
    return any(
        one is not None and other is not None and abs(one - other) > ROUNDED * max(abs(one), abs(other))
        for one, other in zip(*figures, strict=True)
    )


def _number(token: str) -> Decimal | None:
    try:
        number = Decimal(token.replace(",", ""))
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _has_our_figures(said: str, ours: str, question: str) -> bool:
    """Whether the text gives every figure of our answer that the question lacks, so that only its form may
    differ ("144" for "12 * 12 = 144")."""
    figures = {token for token in _tokens(ours) - _tokens(question) if token[0].isdigit()}
    return bool(figures) and figures <= _tokens(said)


def _added(said: str, ours: str, question: str) -> bool:
    """Whether the text has something that neither our answer nor the question has."""
    known = _tokens(ours) | _tokens(question) | _FREE
    return not _tokens(said) <= known


def _tokens(text: str) -> set[str]:
    return set(_TOKEN.findall(normalise(text).casefold()))
