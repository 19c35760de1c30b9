"""One question about proposals on its way through the hub.

A number means the proposal that bears it in its title ("[EP5.4]", "AIP-12", "#12") and only without one the
place in the space's history; where several bear it, the newest is taken and the others are named.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, time, timedelta
from typing import TypeVar

from adapters.fetch import Reply, Source
from adapters.outside import plain
from adapters.prose import sentences, unmarked
from adapters.remote import Look, max_age_s
from adapters.snapshot import wire
from adapters.snapshot.say import (
    day_of,
    facts_of,
    more_votes,
    number_in_words,
    ordinal,
    others,
    say,
    short_verdict,
)
from adapters.snapshot.slots import LAST, UPCOMING, Question, span
from adapters.snapshot.spaces import BY_ID
from adapters.snapshot.wire import Listed, Proposal, SpaceFacts
from node.core.clock import Clock
from node.core.errors import NotFound
from node.core.guard import Guarded
from node.core.model import Citation, Evidence, Freshness, Json, Query, SourceRef
from node.language.reading import fold

NAME = "snapshot"
SITE = "https://snapshot.box/#/s:"
LIVE_TTL_S = 60.0
CHOICE_TTL_S = 300.0
SETTLED_TTL_S = 3_600.0
CONFIDENCE = 0.95
GIST_CHARS = 300
BODY_CHARS = 2_000
"""Of a proposal's text that is looked at for its gist."""
SPAN_MAX = 20

T = TypeVar("T")


class Asking:
    """One question on its way through the hub."""

    def __init__(self, source: Source, clock: Clock, question: Question, space: str, query: Query) -> None:
        self._source = source
        self._clock = clock
        self._question = question
        self._space = space
        self._query = query
        self._look = Look(deadline=query.deadline, max_age_s=max_age_s(query))

    async def answer(self) -> Evidence:
        """Raises ``NotFound`` and whatever asking the hub raises."""
        question = self._question
        if question.other is not None:
            return await self._pair(question.proposal, question.other)
        if question.proposal is not None:
            head, found, notes = await self._numbered(question.proposal)
            return self._single(head, found, notes, lasting=True)
        if question.topic is not None:
            return await self._about(question.topic)
        if question.metric == "count":
            listed = await self._list({}, 1)
            if listed.space.count is None:
                raise NotFound(f"Snapshot does not say how many proposals {self._label(listed.space)} has")
            words = "proposal" if listed.space.count == 1 else "proposals"
            text = (
                f"{self._label(listed.space)} has had {listed.space.count:,} {words}, according to Snapshot."
            )
            return self._evidence(text, {"count": listed.space.count}, None)
        if question.when == LAST and question.metric != "list":
            listed = await self._list({}, 1)
            if not listed.proposals:
                raise NotFound(f"{self._label(listed.space)} has no proposals on Snapshot")
            found = await self._one(listed.proposals[0].id, listed.proposals[0].end)
            head = f"{self._label(listed.space)}'s latest proposal, “{found.title}”,"
            return self._single(head, found, (), lasting=False)
        return await self._several()

    # --- finding the proposal ---------------------------------------------------------------------

    async def _numbered(self, number: str) -> tuple[str, Proposal, Sequence[str]]:
        """How the proposal is called, itself, and what is to be noted of it; raises as ``answer`` does."""
        series, _, digits = number.rpartition("-")
        rank = int(digits) if not series and digits.isdigit() else 0
        if 1 <= rank <= wire.ORDINAL_MAX:
            body = wire.body_of(
                wire.NUMBERED, space=self._space, text=digits, first=wire.TITLED_MAX, skip=rank - 1
            )
        else:
            body = wire.body_of(wire.TITLED, space=self._space, text=digits, first=wire.TITLED_MAX)
        found = await self._ask(f"number:{self._space}:{number}", body, wire.read_candidates, CHOICE_TTL_S)
        bearing = bears(series, digits)
        titled = [light for light in found.titled if bearing.search(light.title)]
        label = self._label(found.space)
        if titled:
            chosen = await self._one(titled[0].id, titled[0].end)
            head = f"{label}'s proposal “{chosen.title}”"
            return head, chosen, others("Others with that number", titled[1:])
        if found.nth is None:
            raise NotFound(f"{label} has no proposal {number_in_words(number)} on Snapshot")
        chosen = await self._one(found.nth.id, found.nth.end)
        return f"{label}'s {ordinal(rank)} proposal, “{chosen.title}”,", chosen, ()

    async def _last_two(self) -> list[tuple[str, Proposal, Sequence[str]]]:
        listed = await self._list({}, 2)
        if len(listed.proposals) < 2:
            raise NotFound(f"{self._label(listed.space)} has no two proposals on Snapshot")
        last = [await self._one(each.id, each.end) for each in listed.proposals[:2]]
        return [(f"{self._label(listed.space)}'s proposal “{each.title}”", each, ()) for each in last]

    async def _pair(self, one: str | None, two: str) -> Evidence:
        """Two proposals side by side, each with its own citation; the last two without ``one``."""
        metric, now = self._question.metric, self._clock.now()
        # One after the other: how old the answer is, is counted for both.
        found = await self._last_two() if one is None else [await self._numbered(n) for n in (one, two)]
        clauses = [f"{head} {say(proposal, metric, now)}" for head, proposal, _ in found]
        (_, first, _), (_, second, _) = found
        counted = one is not None and metric in (None, "votes", "quorum")
        more = more_votes((one or "", first), (two, second)) if counted else ""
        notes = [note for _, _, listed in found for note in listed]
        text = " ".join((f"{'; '.join(clauses)}, according to Snapshot.", *([more] if more else ()), *notes))
        lasting = one is not None and first.final and second.final
        evidence = self._evidence(
            text, {"proposals": [facts_of(first), facts_of(second)]}, first, lasting=lasting
        )
        other = self._evidence("", {}, second)
        return replace(evidence, citations=(*evidence.citations, *other.citations))

    async def _about(self, topic: str) -> Evidence:
        words = topic.split()
        longest = sorted(words, key=len, reverse=True)[:2]
        days = self._days()
        space: SpaceFacts | None = None
        for word in longest:
            body = wire.body_of(wire.TITLED, space=self._space, text=word, first=wire.SEARCHED_MAX)
            found = await self._ask(f"title:{self._space}:{word}", body, wire.read_titled, CHOICE_TTL_S)
            space = found.space
            fitting = [
                light
                for light in found.titled
                if fits(light.title, words) and (days is None or days[0] <= light.created < days[1])
            ]
            if fitting:
                chosen = await self._one(fitting[0].id, fitting[0].end)
                head = f"{self._label(space)}'s proposal “{chosen.title}”"
                notes = others("Others that fit", fitting[1:])
                return self._single(head, chosen, notes, lasting=days is None)
        label = self._space if space is None else self._label(space)
        raise NotFound(f"{label} has no proposal on Snapshot whose title holds “{topic}”")

    async def _several(self) -> Evidence:
        question = self._question
        days = self._days()
        if question.when == UPCOMING:
            listed = await self._list({"state": "pending"}, wire.LISTED_MAX)
            return self._listing(listed, "upcoming", lambda p: f"opens {day_of(p.start)}")
        if question.metric == "status":
            listed = await self._list({"state": "active"}, wire.LISTED_MAX)
            return self._listing(listed, "open", lambda p: f"closes {day_of(p.end)}")
        if days is None:
            listed = await self._list({}, wire.LISTED_MAX)
            return self._listing(listed, "latest", short_verdict)
        by_end = question.metric == "result"
        name = "end" if by_end else "created"
        bounds: dict[str, object] = {
            f"{name}_gte": int(days[0].timestamp()),
            f"{name}_lt": int(days[1].timestamp()),
        }
        if by_end:
            bounds["state"] = "closed"
        listed = await self._list(bounds, SPAN_MAX)
        last = days[1] - timedelta(days=1)
        begins, ends = day_of(days[0]), day_of(last)
        span = f"on {begins}" if begins == ends else f"from {begins} to {ends}"
        return self._listing(listed, f"{'closed' if by_end else 'new'} {span}", short_verdict)

    def _days(self) -> tuple[datetime, datetime] | None:
        """First moment of the asked time and the first after it, on the asker's clock."""
        when = self._question.when
        days = None if when is None else span(when, self._query.local.date())
        if days is None:
            return None
        zone = self._query.zone
        return (
            datetime.combine(days[0], time(), zone),
            datetime.combine(days[1] + timedelta(days=1), time(), zone),
        )

    # --- the hub ----------------------------------------------------------------------------------

    async def _ask(self, key: str, body: bytes, read: Callable[[Reply, str, datetime], T], ttl_s: float) -> T:
        got: Guarded[T] = await self._source.get(
            "/graphql",
            key=key,
            read=lambda reply: read(reply, self._space, self._clock.now()),
            ttl_s=ttl_s,
            deadline=self._look.deadline,
            max_age_s=self._look.max_age_s,
            post=body,
        )
        return self._look.take(got)

    async def _list(self, where: Mapping[str, object], first: int) -> Listed:
        conditions = {"space": self._space, **where}
        body = wire.body_of(wire.LISTED, where=conditions, space=self._space, first=first)
        said = ",".join(f"{name}={value}" for name, value in sorted(conditions.items()))
        return await self._ask(f"list:{first}:{said}", body, wire.read_listed, LIVE_TTL_S)

    async def _one(self, proposal_id: str, end: datetime) -> Proposal:
        settled = self._clock.now() - end > timedelta(days=1)
        return await self._ask(
            f"one:{self._space}:{proposal_id}",
            wire.body_of(wire.ONE, id=proposal_id),
            lambda reply, space, now: wire.read_one(reply, space, proposal_id, now),
            SETTLED_TTL_S if settled else LIVE_TTL_S,
        )

    # --- evidence ---------------------------------------------------------------------------------

    def _label(self, space: SpaceFacts) -> str:
        known = BY_ID.get(space.id)
        return space.name if known is None else known.label

    def _single(self, head: str, proposal: Proposal, notes: Sequence[str], *, lasting: bool) -> Evidence:
        question = self._question
        extra = list(notes)
        if question.metric in (None, "summary", "amount"):
            body = plain(unmarked(proposal.body), most=BODY_CHARS)
            gist = sentences(body, most=GIST_CHARS).replace("”", '"').replace("“", '"')
            if gist:
                extra.insert(0, f"In its own words: “{gist}”")
        text = f"{head} {say(proposal, question.metric, self._clock.now())}, according to Snapshot."
        return self._evidence(
            " ".join((text, *extra)),
            {"proposals": [facts_of(proposal)]},
            proposal,
            lasting=lasting and proposal.final,
            # What a proposal asks for stands in its text: a model has to read it.
            partial=question.metric == "amount",
        )

    def _listing(self, listed: Listed, which: str, said: Callable[[Proposal], str]) -> Evidence:
        label, rows = self._label(listed.space), listed.proposals
        shown = [f"“{row.title}” ({said(row)})" for row in rows[: wire.LISTED_MAX]]
        kind, _, span = which.partition(" ")
        span = f" {span}" if span else ""
        if not rows:
            text = f"{label} has no {'' if kind == 'latest' else kind + ' '}proposals on Snapshot{span}."
        elif kind == "latest":
            text = f"{label}'s latest proposals on Snapshot: {'; '.join(shown)}."
        else:
            more = len(rows) - len(shown)
            capped = "at least " if len(rows) >= (SPAN_MAX if span else wire.LISTED_MAX) else ""
            noun = "proposal" if len(rows) == 1 else "proposals"
            head = f"{label} {'had' if span else 'has'} {capped}{len(rows)} {kind} {noun} on Snapshot{span}"
            text = f"{head}: {'; '.join(shown)}{f'; and {more} more' if more else ''}."
        return self._evidence(text, {"proposals": [facts_of(row) for row in rows]}, None)

    def _evidence(
        self,
        text: str,
        data: Mapping[str, Json],
        proposal: Proposal | None,
        *,
        lasting: bool = False,
        partial: bool = False,
    ) -> Evidence:
        url = f"{SITE}{self._space}" + ("" if proposal is None else f"/proposal/{proposal.id}")
        at = self._clock.now() - timedelta(seconds=self._look.age_s)
        if proposal is not None and proposal.final:
            at = proposal.end
        ipfs = "" if proposal is None or proposal.ipfs is None else f"ipfs://{proposal.ipfs}"
        return Evidence(
            text=text + self._look.note("Snapshot"),
            source=SourceRef(kind="adapter", id=NAME, url=url, time=at),
            confidence=CONFIDENCE,
            freshness=Freshness.GOVERNANCE if lasting and not self._look.stale else Freshness.TIME_SENSITIVE,
            partial=partial,
            data={**data, "space": self._space, "stale": self._look.stale},
            slots=self._question.slots,
            key=self._question.key(self._query.local.date()),
            citations=(Citation(source="Snapshot", locator=ipfs, url=url, time=at),),
        )


def bears(series: str, digits: str) -> re.Pattern[str]:
    """What a title that bears this number looks like: "[EP5.4]", "AIP-12:", "#12", "Proposal 12", "12. …";
    not "12 %", "12k" or "12 ETH"."""
    number = r"0{0,4}" + re.escape(digits) + r"(?![\d%]|[.,]\d|\s?%|[kKmM]\b)"
    if series:
        return re.compile(r"(?<![^\W_])" + re.escape(series) + r"[\s#:-]{0,3}" + number, re.IGNORECASE)
    return re.compile(
        r"#"
        + number
        + r"|(?<![^\W_])(?:[A-Z]{0,5}I?P|(?i:proposal|prop|propuesta|vote|no\.?|number))[\s#:-]{0,3}"
        + number
        + r"|^\W{0,3}(?:[A-Z]{2,6}[\s#:-]{0,3})?"
        + number
        + r"(?=\s?[\])]|\s?[:.–—|-](?:\s|$))"
    )


def fits(title: str, words: Sequence[str]) -> bool:
    """Whether the title holds every word, in either number."""
    tokens = re.findall(r"[a-z0-9][a-z0-9.'-]*", fold(title))
    parts = {part for token in tokens for part in (token, *token.split("-"))}
    return all(
        any(part.rstrip("s").startswith(word.rstrip("s")) for part in parts if part.rstrip("s"))
        for word in words
        if word.rstrip("s")
    )
