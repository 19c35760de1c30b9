"""The route table and the ``Router`` that finds a question's row.

Rules of this file:
- The order of sources, and which similarity floor applies, is said in ``ROUTE_TABLE`` and nowhere else.
- The first that holds decides: (1) an adapter accounts for every word of the text; (2) nothing is asked;
  (3) it names a proposal by number; (4) an adapter claims its topic; (5) a topic that no adapter has; (6)
  governance and own records; (7) nothing in it can be looked up by itself; (8) otherwise it asks for an
  explanation or for knowledge. Only (7) and (8) are open to the semantic classifier (``reconsider``).
- Adapters bring their own patterns; this file names none of them.
- Pure and total: any text gives a ``Route``; the work is bounded by ``reading``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import Protocol

from node.core.model import CERTAIN, CLAIM, Kind, Recognition, Route, Source
from node.language.reading import Reading, read
from node.pipeline.understanding import history, rules
from node.pipeline.understanding.question import Asked, is_hurried, judge


class Recogniser(Protocol):
    """What routing needs of an adapter."""

    @property
    def name(self) -> str: ...

    def recognise(self, text: str, now: datetime, *, hinted: bool = False) -> Recognition | None: ...

    def follow_up(self, fragment: str, earlier: str, now: datetime) -> str | None: ...


RECENT_MAX = 32
"""Texts whose recognitions are kept while one message is looked at from several sides."""
OTHERS_MAX = 2
"""At most this many further adapters are asked beside the one that claims a text."""


@dataclass(frozen=True, slots=True)
class Floors:
    """Least cosine similarity of a semantic hit, by route."""

    deterministic: float = 0.90
    historical: float = 0.80
    generative: float = 0.70
    default: float = 0.80


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the route table. ``floor`` names a field of ``Floors``, None where no similarity search is
    made. ``sources_with_partial`` holds when an adapter offers part of an answer."""

    name: str
    kind: Kind
    sources: tuple[Source, ...]
    floor: str | None
    sources_with_partial: tuple[Source, ...]


def _row(
    name: str,
    kind: Kind,
    sources: tuple[Source, ...],
    floor: str | None,
    with_partial: tuple[Source, ...] | None = None,
) -> Row:
    return Row(name, kind, sources, floor, with_partial or sources)


_GENERATIVE = (Source.CACHE, Source.DOCUMENTS, Source.MODEL)
_GENERATIVE_WITH_PARTIAL = (Source.CACHE, Source.ADAPTER, Source.DOCUMENTS, Source.MODEL)

STATEMENT = _row("statement", Kind.STATEMENT, (Source.ACKNOWLEDGE,), None)
COMPUTABLE = _row("deterministic, computable here", Kind.DETERMINISTIC, (Source.ADAPTER, Source.MODEL), None)
LIVE = _row(
    "deterministic, live",
    Kind.DETERMINISTIC,
    (Source.CACHE, Source.ADAPTER, Source.STALE, Source.MODEL),
    "deterministic",
)
HISTORICAL = _row("historical", Kind.HISTORICAL, _GENERATIVE, "historical", _GENERATIVE_WITH_PARTIAL)
GENERATIVE = _row("generative", Kind.GENERATIVE, _GENERATIVE, "generative", _GENERATIVE_WITH_PARTIAL)
UNCLASSIFIED = _row("unclassified", Kind.UNCLASSIFIED, _GENERATIVE, "default", _GENERATIVE_WITH_PARTIAL)

PASTED = _row("about a text that came with it", Kind.GENERATIVE, (Source.CACHE, Source.MODEL), None)

ROUTE_TABLE: tuple[Row, ...] = (STATEMENT, COMPUTABLE, LIVE, HISTORICAL, GENERATIVE, UNCLASSIFIED, PASTED)


def as_it_stands() -> Route:
    """The route of a message that goes to a model as it stands: it is looked up by its very bytes only."""
    return Route(PASTED.kind, PASTED.sources, None, "for a model, as it stands", sure=True)


class Router:
    """Finds the row for a text. Stateless after construction; safe to share."""

    def __init__(self, recognisers: Sequence[Recogniser], floors: Floors) -> None:
        """``recognisers`` are the adapters in order of preference; ties go to the earlier."""
        self._recognisers = tuple(recognisers)
        self._floors = floors
        # Parting a message and routing its parts look at the same texts. One instant is equal in all zones,
        # and "tomorrow" is not: the zone is part of what is remembered.
        self._recent = lru_cache(maxsize=RECENT_MAX)(self._recognise)

    def route(self, text: str, *, now: datetime) -> Route:
        """The route of a self-contained text; never raises. ``now`` is on the asker's clock."""
        reading = read(text)
        asked = judge(reading)
        found = self._find(reading, asked, self._recognitions(text, now), now)
        return replace(found, time_sensitive=is_hurried(reading, asked.language))

    def claims(self, text: str, now: datetime) -> Recognition | None:
        """The strongest recognition that claims the text."""
        found = self._recognitions(text, now)
        return found[0] if found and found[0].strength >= CLAIM else None

    def follow(self, fragment: str, earlier: str, now: datetime) -> str | None:
        """The self-contained question that the adapter of ``earlier`` makes of a fragment."""
        claim = self.claims(earlier, now)
        for recogniser in self._recognisers:
            if claim is not None and recogniser.name == claim.adapter:
                return recogniser.follow_up(fragment, earlier, now)
        return None

    def conversation(self, topics: Sequence[str]) -> Route:
        """The route of a text that is nothing but conversation."""
        return self._to(STATEMENT, f"conversation: {', '.join(topics)}", None)

    def leaning(self, text: str, reason: str) -> Route:
        """The route of a text that goes on from earlier turns and cannot be resolved for certain."""
        reading = read(text)
        hurried = is_hurried(reading, judge(reading).language)
        route = self._to(GENERATIVE, f"a follow-up: {reason}", None)
        return replace(route, needs_history=True, time_sensitive=hurried, sure=True)

    def about(self, question: str, *, now: datetime) -> Route:
        """The route of a question about a text that was sent with it. Only what an adapter accounts for word
        for word is no question about that text."""
        if not question:
            return self._to(STATEMENT, "a text, and nothing is asked of it", None)
        found = self._recognitions(question, now)
        if found and found[0].strength >= CERTAIN:
            return self.route(question, now=now)
        reading = read(question)
        route = self._to(PASTED, "a question about the text that came with it", None)
        return replace(route, time_sensitive=is_hurried(reading, judge(reading).language), sure=True)

    def reconsider(self, text: str, route: Route, label: str, reason: str, *, now: datetime) -> Route:
        """``route`` as it becomes when a semantic classifier found that the text is about ``label``: the name
        of an adapter, which then reads its slots, or of a row. Unchanged when that adapter has a reason
        against it."""
        if label == HISTORICAL.name:
            found = self._to(HISTORICAL, reason, None)
            return replace(found, time_sensitive=route.time_sensitive)
        for recogniser in self._recognisers:
            if recogniser.name == label:
                claim = recogniser.recognise(text, now, hinted=True)
                if claim is not None:
                    found = self._claimed(replace(claim, reason=f"{claim.reason}; {reason}"), ())
                    return replace(found, time_sensitive=route.time_sensitive)
        return route

    def _recognitions(self, text: str, now: datetime) -> tuple[Recognition, ...]:
        return self._recent(text, now, now.isoformat())

    def _recognise(self, text: str, now: datetime, zone: str) -> tuple[Recognition, ...]:
        """Everything recognised, the strongest first."""
        found = [each for one in self._recognisers if (each := one.recognise(text, now)) is not None]
        return tuple(sorted(found, key=lambda each: -each.strength))

    def _find(self, reading: Reading, asked: Asked, found: Sequence[Recognition], now: datetime) -> Route:
        best = found[0] if found else None
        # 1.
        if best is not None and best.strength >= CERTAIN:
            return self._claimed(best, found[1:])
        # 2. A text that tells may still end in a bare topic ("I am in Paris. Weather tomorrow").
        if not asked.asks:
            if asked.leftover and (route := self._last(reading, now)) is not None:
                return route
            return self._to(STATEMENT, asked.reason, None)
        if rules.OPERATES.search(reading.flat[: rules.TEXT_CHARS]):
            return self._open(reading, asked, None)
        # 3. and 4.
        claim = best if best is not None and best.strength >= CLAIM else None
        record = history.recognise(reading)
        if record is not None and record.numbered and (claim is None or claim.kind is not Kind.HISTORICAL):
            return self._record(record)
        if claim is not None:
            return self._claimed(claim, found[1:])
        # 5.
        if (topic := _topic(reading)) is not None:
            return self._to(COMPUTABLE if topic.local else LIVE, topic.name, None)
        # 6.
        if record is not None:
            return self._record(record)
        return self._open(reading, asked, best)

    def _open(self, reading: Reading, asked: Asked, partial: Recognition | None) -> Route:
        flat = reading.flat[: rules.TEXT_CHARS]
        # 7. Without earlier turns a bare follow-up is a question with its subject missing. One that merely
        # holds a pronoun may mean nobody by it ("why is it called a heat wave").
        if (lost := rules.follow_up(flat)) not in (None, rules.PRONOUN):
            return self._to(UNCLASSIFIED, f"{lost}, and there are no earlier turns", partial)
        if rules.SMALL_TALK.search(flat):
            return replace(
                self._to(UNCLASSIFIED, "small talk that asks for nothing in particular", partial), sure=True
            )
        if rules.names_nothing(reading.words):
            return self._to(UNCLASSIFIED, "names nothing that could be looked up", partial)
        # 8.
        for rule in rules.GENERATIVE:
            if rule.fits(flat if reading.script == "latin" else reading.plain[: rules.TEXT_CHARS], flat):
                return self._to(GENERATIVE, rule.name, partial)
        if asked.topic:
            return self._to(GENERATIVE, "names a topic of general knowledge", partial)
        return self._to(GENERATIVE, f"general knowledge ({asked.reason})", partial)

    def _last(self, reading: Reading, now: datetime) -> Route | None:
        """The route of the last sentence if it is a topic that somebody looks up."""
        last = reading.sentences[-1]
        claim = self.claims(last.plain, now)
        if claim is not None:
            return self._claimed(claim, ())
        topic = _topic(Reading(last.plain, last.words, (last,), reading.script))
        return None if topic is None else self._to(COMPUTABLE if topic.local else LIVE, topic.name, None)

    def _to(self, row: Row, reason: str, partial: Recognition | None) -> Route:
        floor: float | None = getattr(self._floors, row.floor) if row.floor is not None else None
        sure = row not in (GENERATIVE, UNCLASSIFIED)
        if partial is None or row.sources_with_partial == row.sources:
            return Route(row.kind, row.sources, floor, reason, sure=sure)
        return Route(
            row.kind,
            row.sources_with_partial,
            floor,
            f"{reason}; {partial.adapter} may add context ({partial.reason})",
            adapter=partial.adapter,
            slots=partial.slots,
            unresolved=partial.unresolved,
            strength=partial.strength,
            sure=sure,
        )

    def _claimed(self, claim: Recognition, rest: Sequence[Recognition]) -> Route:
        row = COMPUTABLE if claim.local else LIVE
        if claim.kind is Kind.HISTORICAL:
            row = HISTORICAL
        others = tuple(
            one
            for one in rest
            if claim.key is not None and one.key == claim.key and one.adapter != claim.adapter
        )
        return replace(
            self._to(row, claim.reason, None),
            sources=row.sources_with_partial,
            adapter=claim.adapter,
            slots=claim.slots,
            key=claim.key,
            unresolved=claim.unresolved,
            strength=claim.strength,
            others=others[:OTHERS_MAX],
            needs_history=claim.about_node,
            about_node=claim.about_node,
        )

    def _record(self, record: history.Governance) -> Route:
        return replace(self._to(HISTORICAL, record.reason, None), slots=record.slots, key=record.key)


def _topic(reading: Reading) -> rules.Rule | None:
    """A topic that no adapter has, with the words that decide it."""
    plain, flat = reading.plain[: rules.TEXT_CHARS], reading.flat[: rules.TEXT_CHARS]
    if rules.BARE_SUM.search(plain) and not rules.NOT_A_SUM.search(plain):
        return _SUM
    if reading.script != "latin":
        found = next((rule for rule in rules.SCRIPT_TOPICS if rule.fits(plain, plain)), None)
        if found is not None:
            return found
    return next((rule for rule in rules.TOPICS if rule.fits(flat, flat)), None)


_SUM = rules.Rule("an arithmetic expression", rules.BARE_SUM, None, local=True)


__all__ = ["PASTED", "ROUTE_TABLE", "Floors", "Recogniser", "Router", "Row"]
