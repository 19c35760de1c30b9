"""Governance proposals of communities that vote on Snapshot.

It promises: what it says of a proposal is what the hub states for a proposal of the asked space, each figure
checked (see ``wire``); a vote that is not over, or whose scores are not final, is called so. A
number means the proposal that bears it in its title ("[EP5.4]", "AIP-12", "#12") and only without one the
place in the space's history; where several bear it, the newest is taken and the others are named. Titles and
texts are the proposers' words and stand in quotation marks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, time, timedelta
from decimal import Decimal
from typing import TypeVar

from adapters.fetch import Http, Reply, Source, check_of
from adapters.outcomes import failed
from adapters.outside import plain
from adapters.prose import sentences, unmarked
from adapters.snapshot import questions, wire
from adapters.snapshot.pairs import read_pair
from adapters.snapshot.questions import LAST, UPCOMING, Question
from adapters.snapshot.spaces import BY_ID
from adapters.snapshot.wire import Candidates, Light, Listed, Proposal, SpaceFacts
from node.core.clock import Clock
from node.core.errors import NodeError, NotFound
from node.core.guard import Guard, Guarded
from node.core.limits import Limits, Window
from node.core.model import (
    CLAIM,
    Budget,
    Check,
    Citation,
    Evidence,
    Found,
    Freshness,
    Json,
    Kind,
    Missed,
    Outcome,
    Query,
    Recognition,
    SourceRef,
    Unclear,
)
from node.core.settings import AdapterSettings
from node.language.reading import fold

NAME = "snapshot"
BASE_URL = "https://hub.snapshot.org"
SITE = "https://snapshot.box/#/s:"
PER_MINUTE = 60
"""The hub allows 100 a minute and address."""
CONCURRENCY = 4
LIVE_TTL_S = 60.0
CHOICE_TTL_S = 300.0
SETTLED_TTL_S = 3_600.0
STALE_FOR_S = 86_400.0
CONFIDENCE = 0.95
GIST_CHARS = 300
BODY_CHARS = 2_000
"""Of a proposal's text that is looked at for its gist."""
SHOWN_CHOICES = 4
SHOWN_OTHERS = 2
SPAN_MAX = 20

_YES = frozenset(
    ("for", "yes", "yae", "yay", "yea", "aye", "approve", "accept", "agree", "support", "in favor")
)
_NO = frozenset(("against", "no", "nay", "nae", "reject", "oppose", "disagree", "deny", "not in favor"))
_ABSTAIN = frozenset(("abstain", "abstention", "neutral", "abstained"))

T = TypeVar("T")


class Snapshot:
    """``node.core.ports.Adapter`` for Snapshot. Safe to call concurrently from one event loop."""

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

    @property
    def name(self) -> str:
        return NAME

    @property
    def is_local(self) -> bool:
        return False

    def recognise(self, text: str, now: datetime, *, hinted: bool = False) -> Recognition | None:
        """See ``questions``."""
        read = read_pair(text) or questions.read_question(text, now.date(), hinted=hinted)
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
        return questions.follow_up(fragment, earlier, now.date())

    def warm(self) -> None:
        """Nothing is slow to load."""

    async def ask(self, recognition: Recognition, query: Query) -> Outcome:
        """``Found`` with what the hub states, ``Missed`` when it has no such proposal, ``Unclear`` without a
        space, else ``Failed``."""
        question = questions.question_of(recognition.slots)
        if question is None:
            return Missed("this is not a question about a proposal on Snapshot")
        if question.space is None:
            return Unclear(
                ask="Which Snapshot space do you mean? Name the community or its address, such as ens.eth.",
                reason="no Snapshot space is named",
            )
        asking = _Asking(self._source, self._clock, question, question.space, query)
        try:
            evidence = await asking.answer(partial=recognition.strength < CLAIM)
        except NotFound as exc:
            return Missed(str(exc))
        except NodeError as exc:
            return failed(exc)
        return Found(evidence)

    def health(self) -> Check:
        return check_of(NAME, self._source.problems(), "No fresh proposals from Snapshot")

    def budgets(self) -> Sequence[Budget]:
        return self._source.budgets()

    async def close(self) -> None:
        """Nothing is held: the session belongs to whoever handed it in."""


class _Asking:
    """One question on its way through the hub."""

    def __init__(self, source: Source, clock: Clock, question: Question, space: str, query: Query) -> None:
        self._source = source
        self._clock = clock
        self._question = question
        self._space = space
        self._query = query
        self._max_age_s: float | None = 0.0 if query.no_cache else query.max_age_s
        self._age_s = 0.0
        self._stale = False

    async def answer(self, *, partial: bool) -> Evidence:
        """Raises ``NotFound`` and whatever asking the hub raises."""
        question = self._question
        if question.other is not None:
            return await self._pair(question.proposal, question.other, partial)
        if question.proposal is not None:
            head, found, notes = await self._numbered(question.proposal)
            return self._single(head, found, notes, lasting=True, partial=partial)
        if question.topic is not None:
            return await self._about(question.topic, partial)
        if question.metric == "count":
            listed = await self._list({}, 1)
            if listed.space.count is None:
                raise NotFound(f"Snapshot does not say how many proposals {self._label(listed.space)} has")
            words = "proposal" if listed.space.count == 1 else "proposals"
            text = (
                f"{self._label(listed.space)} has had {listed.space.count:,} {words}, according to Snapshot."
            )
            return self._evidence(text, {"count": listed.space.count}, None, partial=partial)
        if question.when == LAST and question.metric != "list":
            listed = await self._list({}, 1)
            if not listed.proposals:
                raise NotFound(f"{self._label(listed.space)} has no proposals on Snapshot")
            found = await self._one(listed.proposals[0].id, listed.proposals[0].end)
            head = f"{self._label(listed.space)}'s latest proposal, “{found.title}”,"
            return self._single(head, found, (), lasting=False, partial=partial)
        return await self._several(partial)

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
            return head, chosen, _others("Others with that number", titled[1:])
        if found.nth is None:
            raise NotFound(f"{label} has no proposal {_said(number)} on Snapshot")
        chosen = await self._one(found.nth.id, found.nth.end)
        return f"{label}'s {_nth(rank)} proposal, “{chosen.title}”,", chosen, ()

    async def _last_two(self) -> list[tuple[str, Proposal, Sequence[str]]]:
        listed = await self._list({}, 2)
        if len(listed.proposals) < 2:
            raise NotFound(f"{self._label(listed.space)} has no two proposals on Snapshot")
        last = [await self._one(each.id, each.end) for each in listed.proposals[:2]]
        return [(f"{self._label(listed.space)}'s proposal “{each.title}”", each, ()) for each in last]

    async def _pair(self, one: str | None, two: str, partial: bool) -> Evidence:
        """Two proposals side by side, each with its own citation; the last two without ``one``."""
        metric, now = self._question.metric, self._clock.now()
        # One after the other: how old the answer is, is counted for both.
        found = await self._last_two() if one is None else [await self._numbered(n) for n in (one, two)]
        clauses = [f"{head} {say(proposal, metric, now)}" for head, proposal, _ in found]
        (_, first, _), (_, second, _) = found
        counted = one is not None and metric in (None, "votes", "quorum")
        more = _more((one or "", first), (two, second)) if counted else ""
        notes = [note for _, _, listed in found for note in listed]
        text = " ".join((f"{'; '.join(clauses)}, according to Snapshot.", *([more] if more else ()), *notes))
        lasting = one is not None and first.final and second.final
        evidence = self._evidence(
            text, {"proposals": [_facts(first), _facts(second)]}, first, lasting=lasting, partial=partial
        )
        other = self._evidence("", {}, second)
        return replace(evidence, citations=(*evidence.citations, *other.citations))

    async def _about(self, topic: str, partial: bool) -> Evidence:
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
                if _fits(light.title, words) and (days is None or days[0] <= light.created < days[1])
            ]
            if fitting:
                chosen = await self._one(fitting[0].id, fitting[0].end)
                head = f"{self._label(space)}'s proposal “{chosen.title}”"
                notes = _others("Others that fit", fitting[1:])
                return self._single(head, chosen, notes, lasting=days is None, partial=partial)
        label = self._space if space is None else self._label(space)
        raise NotFound(f"{label} has no proposal on Snapshot whose title holds “{topic}”")

    async def _several(self, partial: bool) -> Evidence:
        question = self._question
        days = self._days()
        if question.when == UPCOMING:
            listed = await self._list({"state": "pending"}, wire.LISTED_MAX)
            return self._listing(listed, "upcoming", lambda p: f"opens {_day(p.start)}", partial)
        if question.metric == "status":
            listed = await self._list({"state": "active"}, wire.LISTED_MAX)
            return self._listing(listed, "open", lambda p: f"closes {_day(p.end)}", partial)
        if days is None:
            listed = await self._list({}, wire.LISTED_MAX)
            return self._listing(listed, "latest", _short_verdict, partial)
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
        span = (
            f"on {_day(days[0])}" if _day(days[0]) == _day(last) else f"from {_day(days[0])} to {_day(last)}"
        )
        return self._listing(listed, f"{'closed' if by_end else 'new'} {span}", _short_verdict, partial)

    def _days(self) -> tuple[datetime, datetime] | None:
        """First moment of the asked time and the first after it, on the asker's clock."""
        when = self._question.when
        days = None if when is None else questions.span(when, self._query.local.date())
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
            deadline=self._query.deadline,
            max_age_s=self._max_age_s,
            post=body,
        )
        self._stale = self._stale or got.stale
        self._age_s = max(self._age_s, got.age_s)
        return got.value

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

    def _single(
        self, head: str, proposal: Proposal, notes: Sequence[str], *, lasting: bool, partial: bool
    ) -> Evidence:
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
            {"proposals": [_facts(proposal)]},
            proposal,
            lasting=lasting and proposal.final,
            # What a proposal asks for stands in its text: a model has to read it.
            partial=partial or question.metric == "amount",
        )

    def _listing(
        self, listed: Listed, which: str, said: Callable[[Proposal], str], partial: bool
    ) -> Evidence:
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
        return self._evidence(text, {"proposals": [_facts(row) for row in rows]}, None, partial=partial)

    def _evidence(
        self,
        text: str,
        data: Mapping[str, Json],
        proposal: Proposal | None,
        *,
        lasting: bool = False,
        partial: bool = False,
    ) -> Evidence:
        if self._stale:
            minutes = max(1, round(self._age_s / 60))
            text += f" Snapshot could not be asked just now; this was fetched {minutes} min ago."
        url = f"{SITE}{self._space}" + ("" if proposal is None else f"/proposal/{proposal.id}")
        at = self._clock.now() - timedelta(seconds=self._age_s)
        if proposal is not None and proposal.final:
            at = proposal.end
        ipfs = "" if proposal is None or proposal.ipfs is None else f"ipfs://{proposal.ipfs}"
        return Evidence(
            text=text,
            source=SourceRef(kind="adapter", id=NAME, url=url, time=at),
            confidence=CONFIDENCE,
            freshness=Freshness.GOVERNANCE if lasting and not self._stale else Freshness.TIME_SENSITIVE,
            partial=partial,
            data={**data, "space": self._space, "stale": self._stale},
            slots=self._question.slots,
            key=self._question.key(self._query.local.date()),
            citations=(Citation(source="Snapshot", locator=ipfs, url=url, time=at),),
        )


# --- choosing -----------------------------------------------------------------------------------------


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


def _fits(title: str, words: Sequence[str]) -> bool:
    """Whether the title holds every word, in either number."""
    tokens = re.findall(r"[a-z0-9][a-z0-9.'-]*", fold(title))
    parts = {part for token in tokens for part in (token, *token.split("-"))}
    return all(
        any(part.rstrip("s").startswith(word.rstrip("s")) for part in parts if part.rstrip("s"))
        for word in words
        if word.rstrip("s")
    )


def _others(head: str, lights: Sequence[Light]) -> tuple[str, ...]:
    if not lights:
        return ()
    shown = "; ".join(f"“{light.title}” ({_day(light.created)})" for light in lights[:SHOWN_OTHERS])
    more = len(lights) - SHOWN_OTHERS
    return (f"{head}: {shown}{f'; and {more} more' if more > 0 else ''}.",)


def _more(one: tuple[str, Proposal], two: tuple[str, Proposal]) -> str:
    """Which of two got more votes, and whether it got more voting power too; empty where one is not open."""
    (left, first), (right, second) = sorted((one, two), key=lambda each: -each[1].votes)
    if "pending" in (first.state, second.state):
        return ""
    yet = "" if first.final and second.final else " so far"
    power = f"{_power(first.total)} against {_power(second.total)}"
    if first.votes == second.votes:
        return f"Both got {_count(first.votes)}{yet}; by voting power it is {power}."
    count = f"{first.votes:,} against {second.votes:,}"
    if first.total == second.total:
        also = f", with equal voting power ({_power(first.total)})"
    else:
        less = first.total < second.total
        also = f" {'but less' if less else 'and more'} voting power ({power})"
    return f"Proposal {_said(left)} got more votes than {_said(right)}{yet} ({count}){also}."


def _said(number: str) -> str:
    series, _, digits = number.rpartition("-")
    return f"{series.upper()} {digits}" if series else digits


# --- saying it ----------------------------------------------------------------------------------------


def say(proposal: Proposal, metric: str | None, now: datetime) -> str:
    """What is to be said of a proposal after its name, without the full stop."""
    if metric == "author":
        author = proposal.author
        return f"was submitted {f'by {author} ' if author else ''}on {_day(proposal.created)}"
    if metric == "date":
        return _say_dates(proposal, now)
    if metric == "quorum":
        return _say_quorum(proposal)
    if metric == "votes" and proposal.state != "pending":
        open_yet = "" if proposal.final else " so far"
        shares = _shares(proposal)
        words = f"{_count(proposal.votes)}{open_yet}"
        return f"got {words}{f': {shares}' if shares else ''} ({_ends(proposal)})"
    return _say_result(proposal)


def _say_result(proposal: Proposal) -> str:
    shares = _shares(proposal)
    if proposal.state == "pending":
        return f"opens for voting on {_minute(proposal.start)} and closes on {_minute(proposal.end)}"
    paren = f"({_count(proposal.votes)}, {_ends(proposal)})"
    if proposal.state == "active":
        votes = _count(proposal.votes)
        return f"is open until {_minute(proposal.end)}: {shares or 'no scores are shown'} so far ({votes})"
    if not proposal.final:
        return f"has closed, but its scores are not final yet: {shares or 'none are shown'} so far {paren}"
    if not shares:
        return f"closed without votes {paren}"
    return f"{_verdict(proposal)}: {shares} {paren}"


def _verdict(proposal: Proposal) -> str:
    """Passed or not where the choices say yes and no; otherwise which choice leads."""
    sides = _sides(proposal.choices)
    reached = _reached(proposal)
    if sides is not None and proposal.kind in ("basic", "single-choice"):
        yes, no = proposal.scores[sides[0]], proposal.scores[sides[1]]
        if proposal.quorum_kind == "rejection" and reached:
            return f"was rejected (the rejection quorum of {_power(proposal.quorum)} was reached)"
        if reached is False and proposal.quorum_kind != "rejection":
            return f"did not reach its quorum of {_power(proposal.quorum)}"
        return "passed" if yes > no else "was rejected" if no > yes else "ended in a tie"
    best = max(proposal.scores)
    leaders = [c for c, score in zip(proposal.choices, proposal.scores, strict=True) if score == best]
    ended = "ended in a tie" if len(leaders) > 1 else f"ended with “{leaders[0]}” ahead"
    if reached is False and proposal.quorum_kind != "rejection":
        return f"did not reach its quorum of {_power(proposal.quorum)} and {ended}"
    return ended


def _short_verdict(proposal: Proposal) -> str:
    if proposal.state == "pending":
        return f"opens {_day(proposal.start)}"
    if proposal.state == "active":
        return f"open until {_day(proposal.end)}"
    if not proposal.final:
        return f"closed {_day(proposal.end)}, not final"
    return f"{_verdict(proposal) if proposal.scores else 'no votes'}, {_day(proposal.end)}"


def _say_quorum(proposal: Proposal) -> str:
    reached = _reached(proposal)
    if reached is None:
        return f"has no quorum on Snapshot; it got {_count(proposal.votes)} ({_ends(proposal)})"
    cast = _against(proposal) if proposal.quorum_kind == "rejection" else proposal.total
    name = "rejection quorum" if proposal.quorum_kind == "rejection" else "quorum"
    yet = "" if proposal.final else "has so far "
    verb = "reached" if reached else ("not reached" if yet else "did not reach")
    return (
        f"{yet}{verb} its {name}: {_power(cast)} of the {_power(proposal.quorum)} required"
        f" ({_count(proposal.votes)}, {_ends(proposal)})"
    )


def _say_dates(proposal: Proposal, now: datetime) -> str:
    if proposal.state == "closed" or proposal.end <= now:
        return f"was open for voting from {_minute(proposal.start)} to {_minute(proposal.end)}"
    if proposal.state == "pending" and proposal.start > now:
        return f"opens for voting on {_minute(proposal.start)} and closes on {_minute(proposal.end)}"
    return f"has been open for voting since {_minute(proposal.start)} and closes on {_minute(proposal.end)}"


def _sides(choices: Sequence[str]) -> tuple[int, int] | None:
    """Where yes and no stand, when the choices are these two and at most an abstention."""
    names = [re.sub(r"[^a-z ]", "", fold(choice)).strip() for choice in choices]
    yes = [at for at, name in enumerate(names) if _is_side(name, _YES)]
    no = [at for at, name in enumerate(names) if _is_side(name, _NO)]
    rest = [name for at, name in enumerate(names) if at not in (*yes, *no) and name not in _ABSTAIN]
    return (yes[0], no[0]) if len(yes) == len(no) == 1 and not rest else None


def _is_side(name: str, words: frozenset[str]) -> bool:
    first, _, more = name.partition(" ")
    return name in words or (bool(more) and first in words)


def _reached(proposal: Proposal) -> bool | None:
    """Whether the quorum was reached; None where there is none."""
    if proposal.quorum <= 0:
        return None
    cast = _against(proposal) if proposal.quorum_kind == "rejection" else proposal.total
    return cast >= proposal.quorum


def _against(proposal: Proposal) -> Decimal:
    sides = _sides(proposal.choices)
    if not proposal.scores or sides is None:
        return Decimal(0)
    return proposal.scores[sides[1]]


def _shares(proposal: Proposal) -> str:
    """Choices with their shares, at most a few, the strongest first where there are many."""
    if not proposal.scores or proposal.total <= 0:
        return ""
    pairs = list(zip(proposal.choices, proposal.scores, strict=True))
    # An abstention that nobody chose says nothing.
    pairs = [(choice, score) for choice, score in pairs if score > 0 or fold(choice).strip() not in _ABSTAIN]
    if proposal.kind == "copeland":
        best = max(pairs, key=lambda pair: pair[1])
        return f"“{best[0]}” won most comparisons"
    if len(pairs) > 3:
        pairs.sort(key=lambda pair: pair[1], reverse=True)
    shown = [f"{choice} {_percent(score / proposal.total)}" for choice, score in pairs[:SHOWN_CHOICES]]
    more = len(pairs) - len(shown)
    return ", ".join(shown) + (f" and {more} other{'s' if more > 1 else ''}" if more else "")


def _percent(share: Decimal) -> str:
    per_cent = min(share, Decimal(1)) * 100
    if Decimal("99.95") <= per_cent < 100:
        return "over 99.9 %"
    if 0 < per_cent < Decimal("0.05"):
        return "under 0.1 %"
    return f"{per_cent:.1f} %"


def _count(votes: int) -> str:
    return f"{votes:,} vote{'' if votes == 1 else 's'}"


def _power(value: Decimal) -> str:
    """Voting power, rounded as people say it."""
    if value >= 1_000_000_000:
        return f"{_short(value / 1_000_000_000)} billion"
    if value >= 1_000_000:
        return f"{_short(value / 1_000_000)} million"
    if value >= 1_000 or value == value.to_integral_value():
        return f"{value:,.0f}"
    return f"{value:.2f}"


def _short(value: Decimal) -> str:
    return f"{value:,.2f}".rstrip("0").rstrip(".")


def _ends(proposal: Proposal) -> str:
    return f"{'closed' if proposal.state == 'closed' else 'closes'} {_day(proposal.end)}"


def _day(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d")


def _minute(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M UTC")


def _nth(rank: int) -> str:
    tail = "th" if rank % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(rank % 10, "th")
    return f"{rank:,}{tail}"


def _facts(proposal: Proposal) -> dict[str, Json]:
    return {
        "id": proposal.id,
        "ipfs": proposal.ipfs,
        "title": proposal.title,
        "state": proposal.state,
        "final": proposal.final,
        "choices": list(proposal.choices),
        "scores": [format(score, "f") for score in proposal.scores],
        "scores_total": format(proposal.total, "f"),
        "quorum": format(proposal.quorum, "f"),
        "quorum_reached": _reached(proposal),
        "votes": proposal.votes,
        "start": int(proposal.start.timestamp()),
        "end": int(proposal.end.timestamp()),
    }


__all__ = ["BASE_URL", "NAME", "PER_MINUTE", "Candidates", "Snapshot", "bears", "say"]
