"""Understand: from the words as they came to self-contained questions, each with its route.

Follow-ups are completed from the session's earlier questions first, then several questions in one text are
parted, then each finds its row by rules; where no rule decides, a small classifier on the question's own
embedding may, once for each text, while the embedder that serves is the one that it was trained on. The only
part of this room that waits, and only for the embedder; without one the rules stand.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from node.core.clock import Clock, SystemClock
from node.core.errors import Unavailable
from node.core.model import Recognition, Route
from node.core.normalise import normalise
from node.core.ports import Embedded, Semantics
from node.language import conversation
from node.pipeline.understanding import pasted
from node.pipeline.understanding.follow_up import Leaning, resolve
from node.pipeline.understanding.leaning import Resolved, leaning
from node.pipeline.understanding.route import Router
from node.pipeline.understanding.split import split

if TYPE_CHECKING:
    from node.pipeline.understanding.semantic import SemanticHead  # needs numpy, which may be missing

VERDICTS_MAX = 4_096
"""Texts whose verdict is kept, so that asking again embeds nothing."""
TURNS_READ = 3
_ON_THE_ANSWER = frozenset({"shorter", "simpler", "why", "explain", "language"})
"""Orders that are of the answer, whatever an adapter or the last question would make of the words."""


@dataclass(frozen=True, slots=True)
class Part:
    """One self-contained question. ``vector`` is its embedding where one was made, in so many milliseconds;
    ``resolved`` says in words how a follow-up was completed, empty for what was asked as it stands. ``open``:
    no rule was sure of the route, and ``settle`` may still change it."""

    text: str
    route: Route
    vector: Embedded | None = None
    embedding_ms: float = 0.0
    resolved: str = ""
    open: bool = False
    pasted: str = ""
    """The text that it is asked of, where one came with it; ``text`` is empty where nothing is asked."""


class Understanding:
    """Classifies texts. Safe for concurrent use on one event loop."""

    def __init__(
        self, router: Router, semantics: Semantics, head: SemanticHead | None, clock: Clock | None = None
    ) -> None:
        """``head`` judges vectors of its own model only; while another one serves, or where it is None,
        everything is left to the rules. ``clock`` times the embedding."""
        self._router = router
        self._clock = clock or SystemClock()
        self._semantics = semantics
        self._head = head
        self._verdicts: OrderedDict[str, tuple[str, str] | None] = OrderedDict()

    async def understand(self, text: str, *, now: datetime, turns: Sequence[str] = ()) -> list[Part]:
        """The parts of ``text``, at least one, each settled. ``turns`` are the session's earlier questions in
        their resolved form, oldest first; ``now`` is on the asker's clock."""
        return [await self.settle(part, now=now) for part in self.part(text, now=now, turns=turns)]

    def part(self, text: str, *, now: datetime, turns: Sequence[str] = ()) -> list[Part]:
        """The same by rules alone: what no rule is sure of stays open."""
        message = pasted.part(text)
        if message.pasted:
            route = self._router.about(message.question, now=now)
            return [Part(message.question, route, pasted="" if route.adapter else message.pasted)]
        text = text.strip()
        said = conversation.talk(text)
        asks_on = text.endswith("?") and bool(turns) and self._router.follow(text, turns[-1], now) is not None
        if said is not None and not asks_on and (said.is_phatic or not turns or leaning(text) is None):
            return [Part(text, self._router.conversation(said.topics))]
        if not asks_on:  # "und morgen?" greets nobody behind a question for the weather
            text = conversation.without(text)

        def claims(part: str) -> Recognition | None:
            return self._router.claims(part, now)

        def follow(fragment: str, earlier: str) -> str | None:
            return self._router.follow(fragment, earlier, now)

        resolved = ""
        if turns:
            goes_on = resolve(text, turns[-TURNS_READ:], claims=claims, follow=follow)
            order = conversation.order(text)
            if order is not None and (goes_on is None or order.kind in _ON_THE_ANSWER):
                goes_on = Leaning(f"an order on the last answer: {order.kind}")
            if isinstance(goes_on, Leaning):
                return [Part(text, self._router.leaning(text, goes_on.reason))]
            if isinstance(goes_on, Resolved):
                text, resolved = goes_on.text, goes_on.reason
        parts = split(text, claims=claims, follow=follow) or (text,)
        return [self._by_rules(part, resolved, now) for part in parts]

    def _by_rules(self, text: str, resolved: str, now: datetime) -> Part:
        route = self._router.route(text, now=now)
        return Part(text, route, resolved=resolved, open=not route.sure and self._head_is_on)

    @property
    def _head_is_on(self) -> bool:
        return self._head is not None and self._head.model_digest == self._semantics.info.digest

    async def place(self, text: str, *, now: datetime) -> Part:
        """The route of one self-contained text."""
        return await self.settle(self._by_rules(text, "", now), now=now)

    async def settle(self, part: Part, *, now: datetime) -> Part:
        """An open part with the classifier's verdict on its embedding; any other as it is."""
        if not part.open:
            return part
        text, route = part.text, part.route
        normal = normalise(text)
        embedded: Embedded | None = None
        took_ms = 0.0
        if normal in self._verdicts:
            self._verdicts.move_to_end(normal)
        else:
            started = self._clock.monotonic()
            try:
                [embedded] = await self._semantics.embed([normal])
            except Unavailable:
                return replace(part, open=False)
            took_ms = (self._clock.monotonic() - started) * 1_000
            if embedded is not None and not self._is_of_the_head(embedded):
                return replace(part, vector=embedded, embedding_ms=took_ms, open=False)  # switched meanwhile
            self._verdicts[normal] = None if embedded is None else self._verdict(embedded)
            while len(self._verdicts) > VERDICTS_MAX:
                self._verdicts.popitem(last=False)
        verdict = self._verdicts[normal]
        if verdict is not None:
            route = self._router.reconsider(text, route, *verdict, now=now)
        return replace(part, route=route, vector=embedded, embedding_ms=took_ms, open=False)

    def _is_of_the_head(self, embedded: Embedded) -> bool:
        return self._head is not None and self._head.model_digest == embedded.info.digest

    def _verdict(self, embedded: Embedded) -> tuple[str, str] | None:
        assert self._head is not None
        label = self._head.decide(embedded.vector)
        return None if label is None else (label.label, f"reads like it ({label.probability:.2f})")
