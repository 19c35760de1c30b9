"""The route table and the ``Router`` that finds a question's row.

Rules of this file:
- The order of sources, and which similarity floor applies, is said in ``ROUTE_TABLE`` and nowhere else.
- The first that holds decides: (1) a recogniser claims the text; (2) it goes on from earlier turns; (3)
  nothing is asked; (4) it names a proposal by number; (5) a topic that a source looks up; (6) governance and
  own records; (7) nothing in it can be looked up by itself; (8) otherwise it asks for an explanation or for
  knowledge.
- Adapters bring their own patterns as recognisers; this file names none of them.
- Pure and total: any text gives a ``Route``; the work is bounded by ``reading``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeAlias

from node.classify import history, rules
from node.classify.question import Asked, is_hurried, judge
from node.model import Kind, Recognition, Route, Source
from node.reading import Reading, read

Recogniser: TypeAlias = Callable[[str, datetime], Recognition | None]

CLAIM_STRENGTH = 0.5
"""A recognition at least this strong claims the text; a weaker one offers part of an answer as context."""

PARTS_MAX = 4
"""``split`` gives at most this many parts; a text with more questions stays whole."""


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
HISTORICAL = _row("historical", Kind.HISTORICAL, (Source.CACHE, Source.DOCUMENTS, Source.MODEL), "historical")
GENERATIVE = _row("generative", Kind.GENERATIVE, _GENERATIVE, "generative", _GENERATIVE_WITH_PARTIAL)
UNCLASSIFIED = _row("unclassified", Kind.UNCLASSIFIED, _GENERATIVE, "default", _GENERATIVE_WITH_PARTIAL)

ROUTE_TABLE: tuple[Row, ...] = (STATEMENT, COMPUTABLE, LIVE, HISTORICAL, GENERATIVE, UNCLASSIFIED)


class Router:
    """Finds the row for a text. Stateless after construction; safe to share."""

    def __init__(self, recognisers: Sequence[Recogniser], floors: Floors) -> None:
        """``recognisers`` are the adapters' own patterns in order of preference; ties go to the earlier."""
        self._recognisers = tuple(recognisers)
        self._floors = floors

    def route(self, text: str, *, now: datetime, has_history: bool = False) -> Route:
        """The route of ``text``; never raises. ``has_history`` says that the session has earlier turns."""
        reading = read(text)
        asked = judge(reading)
        best = self._strongest(text, now)
        claim = best if best is not None and best.strength >= CLAIM_STRENGTH else None
        partial = best if claim is None else None
        found = self._find(reading, asked, claim, partial, has_history)
        return replace(found, time_sensitive=is_hurried(reading, asked.language))

    def _strongest(self, text: str, now: datetime) -> Recognition | None:
        best: Recognition | None = None
        for recognise in self._recognisers:
            found = recognise(text, now)
            if found is not None and (best is None or found.strength > best.strength):
                best = found
        return best

    def _find(
        self,
        reading: Reading,
        asked: Asked,
        claim: Recognition | None,
        partial: Recognition | None,
        has_history: bool,
    ) -> Route:
        tagged, flat = rules.tag(reading.words), reading.flat[: rules.TEXT_CHARS]
        follow_up = _follow_up(flat) if has_history else None
        # 1. A live claim on a bare follow-up ("and ETH?") guesses at what is asked of it; a sum does not.
        if claim is not None and (follow_up is None or claim.local):
            return self._claimed(claim)
        # 2.
        if follow_up is not None:
            route = self._to(UNCLASSIFIED, f"a follow-up: {follow_up}", None)
            return replace(route, needs_history=True)
        # 3. A text that tells may still end in a bare topic ("I am in Paris. Weather tomorrow").
        if not asked.asks:
            if asked.leftover and (topic := _topic(_last_topic(reading), tagged=None)) is not None:
                return self._topic(topic)
            return self._to(STATEMENT, asked.reason, None)
        # 4.
        record = history.recognise(reading)
        if record is not None and record.numbered:
            return self._record(record)
        # 5.
        if (topic := _topic(reading, tagged)) is not None:
            return self._topic(topic)
        # 6.
        if record is not None:
            return self._record(record)
        # 7. Without earlier turns a follow-up is a question with its subject missing.
        if not has_history and (lost := _follow_up(flat)) is not None:
            return self._to(UNCLASSIFIED, f"{lost}, and there are no earlier turns", partial)
        if rules.SMALL_TALK.search(flat):
            return self._to(UNCLASSIFIED, "small talk that asks for nothing in particular", partial)
        if all(word in rules.NO_CONTENT for word in reading.words):
            return self._to(UNCLASSIFIED, "names nothing that could be looked up", partial)
        # 8.
        for rule in rules.GENERATIVE:
            if rule.fits(flat if reading.script == "latin" else reading.plain[: rules.TEXT_CHARS], flat):
                return self._to(GENERATIVE, rule.name, partial)
        if asked.topic:
            return self._to(GENERATIVE, "names a topic of general knowledge", partial)
        return self._to(GENERATIVE, f"general knowledge ({asked.reason})", partial)

    def _to(self, row: Row, reason: str, partial: Recognition | None) -> Route:
        floor: float | None = getattr(self._floors, row.floor) if row.floor is not None else None
        if partial is None or row.sources_with_partial == row.sources:
            return Route(row.kind, row.sources, floor, reason)
        return Route(
            row.kind,
            row.sources_with_partial,
            floor,
            f"{reason}; {partial.adapter} may add context ({partial.reason})",
            adapter=partial.adapter,
            slots=partial.slots,
            unresolved=partial.unresolved,
        )

    def _claimed(self, claim: Recognition) -> Route:
        route = self._to(COMPUTABLE if claim.local else LIVE, claim.reason, None)
        return replace(
            route, adapter=claim.adapter, slots=claim.slots, key=claim.key, unresolved=claim.unresolved
        )

    def _topic(self, topic: rules.Rule) -> Route:
        return self._to(COMPUTABLE if topic.local else LIVE, topic.name, None)

    def _record(self, record: history.Governance) -> Route:
        return replace(self._to(HISTORICAL, record.reason, None), slots=record.slots, key=record.key)


def _follow_up(flat: str) -> str | None:
    return next((rule.name for rule in rules.FOLLOW_UPS if rule.fits(flat, flat)), None)


def _topic(reading: Reading, tagged: str | None) -> rules.Rule | None:
    plain = reading.plain[: rules.TEXT_CHARS]
    if rules.BARE_SUM.search(plain) and not rules.NOT_A_SUM.search(plain):
        return _SUM
    flat = reading.flat[: rules.TEXT_CHARS]
    if reading.script != "latin":
        found = next((rule for rule in rules.SCRIPT_TOPICS if rule.fits(plain, plain)), None)
        if found is not None:
            return found
    text = rules.tag(reading.words) if tagged is None else tagged
    return next((rule for rule in rules.TOPICS if rule.fits(text, flat)), None)


_SUM = rules.Rule("an arithmetic expression", rules.BARE_SUM, None, local=True)


def _last_topic(reading: Reading) -> Reading:
    last = reading.sentences[-1]
    return Reading(last.plain, last.words, (last,), reading.script)


_QUESTION_END = re.compile(r"[?？؟]+[\"')\]»]*(?=\s|$)|[？؟]+")


def split(text: str) -> tuple[str, ...]:
    """The self-contained questions of a text, or the text as one part.

    First version: only texts made of nothing but complete questions, each with its question mark, are cut;
    at most ``PARTS_MAX`` parts. A later question that leans on an earlier one ("Why?", "Who founded it?")
    keeps the text whole.
    """
    if len(text) > 2_000 or text.count("?") + text.count("？") + text.count("؟") > 2 * PARTS_MAX:
        return (text,)
    ends = [match.end() for match in _QUESTION_END.finditer(text)]
    if not 2 <= len(ends) <= PARTS_MAX or text[ends[-1] :].strip():
        return (text,)
    parts = [text[start:end].strip() for start, end in zip([0, *ends], ends, strict=False)]
    return tuple(parts) if all(_stands_alone(part) for part in parts) else (text,)


def _stands_alone(part: str) -> bool:
    reading = read(part)
    flat = reading.flat
    if not judge(reading).asks or len(reading.sentences) != 1:
        return False
    if all(word in rules.NO_CONTENT for word in reading.words):
        return False
    if reading.script == "latin" and len(reading.words) < 2 and not any(char.isdigit() for char in part):
        return False
    return _follow_up(flat) is None


__all__ = ["CLAIM_STRENGTH", "PARTS_MAX", "ROUTE_TABLE", "Floors", "Recogniser", "Router", "Row", "split"]
