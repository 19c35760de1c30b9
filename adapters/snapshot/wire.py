"""What is asked of a Snapshot hub, and its answers read and checked. Pure.

Queries are constants; everything from a question travels as a GraphQL variable. One request answers one
question: the proposal that bears a number in its title and the one that has that place in the space's history
are fetched side by side, rather than all proposals page by page (a space may have thousands).

Every figure is checked: finite, not negative, one score per choice, shares of a whole where the kind of vote
has one, times in order, the space that was asked. Anything else is ``Rejected``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import orjson

from adapters.fetch import WAIT_UNSTATED_S, Reply
from adapters.outside import listing, mapping, number, plain, text, unquoted, whole
from node.core.clock import Clock
from node.core.errors import NodeError, NotFound, RateLimited, Rejected

SOURCE = "Snapshot"
TITLED_MAX = 1_000
"""Every title that holds the digits: "5" stands in many, and the one that means it may be old."""
LISTED_MAX = 5
SEARCHED_MAX = 100
ORDINAL_MAX = 5_001
"""The hub skips at most 5,000 proposals."""
CHOICES_MAX = 200
TITLE_CHARS = 160
CHOICE_CHARS = 60
BODY_CHARS = 20_000
CLOCKS_APART = timedelta(minutes=10)
_TOLERANCE = Decimal("0.005")
"""Scores and their total are binary floats that were added up elsewhere."""

_QUOTES = str.maketrans("“”„", '"""')
"""Titles stand between “ and ”."""
_ID = re.compile(r"[A-Za-z0-9]{10,100}\Z")
_IPFS = re.compile(r"[A-Za-z0-9]{40,100}\Z")
_AUTHOR = re.compile(r"0x[0-9a-fA-F]{40,64}\Z")

_LIGHT = "id title created start end state space { id }"
_FULL = (
    "id ipfs title author created start end type choices scores scores_state scores_total quorum"
    " quorumType votes state space { id }"
)
_SPACE = "space(id: $space) { id name proposalsCount }"

NUMBERED = (
    "query Numbered($space: String!, $text: String!, $first: Int!, $skip: Int!) {"
    f" {_SPACE}"
    " titled: proposals(first: $first, where: {space: $space, title_contains: $text},"
    f' orderBy: "created", orderDirection: desc) {{ {_LIGHT} }}'
    " nth: proposals(first: 1, skip: $skip, where: {space: $space},"
    f' orderBy: "created", orderDirection: asc) {{ {_LIGHT} }} }}'
)
TITLED = (
    "query Titled($space: String!, $text: String!, $first: Int!) {"
    f" {_SPACE}"
    " titled: proposals(first: $first, where: {space: $space, title_contains: $text},"
    f' orderBy: "created", orderDirection: desc) {{ {_LIGHT} }} }}'
)
LISTED = (
    "query Listed($where: ProposalWhere!, $space: String!, $first: Int!) {"
    f" {_SPACE}"
    f' listed: proposals(first: $first, where: $where, orderBy: "created", orderDirection: desc)'
    f" {{ {_FULL} }} }}"
)
ONE = f"query One($id: String!) {{ proposal(id: $id) {{ body {_FULL} }} }}"


def body_of(query: str, **variables: object) -> bytes:
    """The JSON body of a query."""
    return orjson.dumps({"query": query, "variables": variables})


@dataclass(frozen=True, slots=True)
class SpaceFacts:
    """A space as the hub describes it; ``count`` None when not stated."""

    id: str
    name: str
    count: int | None


@dataclass(frozen=True, slots=True)
class Light:
    """A proposal in a list: enough to choose it."""

    id: str
    title: str
    created: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class Proposal:
    """A proposal with its figures. ``scores`` is empty where the hub states none (yet); ``final``: the scores
    will not change any more."""

    id: str
    ipfs: str | None
    title: str
    body: str
    author: str | None
    created: datetime
    start: datetime
    end: datetime
    kind: str
    choices: tuple[str, ...]
    scores: tuple[Decimal, ...]
    total: Decimal
    final: bool
    quorum: Decimal
    quorum_kind: str
    votes: int
    state: str


@dataclass(frozen=True, slots=True)
class Candidates:
    """What may be meant by a number: proposals with it in the title, newest first, and the one of that
    rank."""

    space: SpaceFacts
    titled: tuple[Light, ...]
    nth: Light | None


@dataclass(frozen=True, slots=True)
class Listed:
    """Proposals of a space, newest first."""

    space: SpaceFacts
    proposals: tuple[Proposal, ...]


# --- errors that the hub states -----------------------------------------------------------------------


def explain(reply: Reply, clock: Clock) -> NodeError | None:
    """The error that an answer states whatever its status: the limit, or GraphQL errors in a 200."""
    if reply.status == 429:
        wait = reply.wait_s(clock, "retry-after", "ratelimit-reset")
        return RateLimited(f"the limit of calls to {SOURCE} is reached", retry_after_s=wait)
    value = reply.stated() if reply.status in (200, 400) else {}
    errors = value.get("errors")
    said = ""
    if isinstance(errors, list) and errors:
        first = errors[0]
        said = text(first.get("message") if isinstance(first, dict) else "", most=120) or "an unnamed error"
    elif "error" in value:
        said = text(value.get("error_description") or value.get("error"), most=120) or "an unnamed error"
    if not said:
        return None
    if "too many requests" in said.lower():
        return RateLimited(f"the limit of calls to {SOURCE} is reached", retry_after_s=WAIT_UNSTATED_S)
    return Rejected(f"{SOURCE} refused the query ({said})")


# --- answers ------------------------------------------------------------------------------------------


def read_candidates(reply: Reply, space: str, now: datetime) -> Candidates:
    """Raises ``NotFound`` (no such space), ``Rejected``."""
    data = _data(reply)
    facts = _space(data.get("space"), space)
    titled = tuple(
        _light(row, space, now) for row in listing(data.get("titled"), SOURCE, "proposals", most=TITLED_MAX)
    )
    rows = listing(data.get("nth"), SOURCE, "proposals", most=1) if "nth" in data else ()
    return Candidates(facts, titled, _light(rows[0], space, now) if rows else None)


def read_titled(reply: Reply, space: str, now: datetime) -> Candidates:
    """As ``read_candidates`` for a search without a rank."""
    data = _data(reply)
    facts = _space(data.get("space"), space)
    rows = listing(data.get("titled"), SOURCE, "proposals", most=SEARCHED_MAX)
    return Candidates(facts, tuple(_light(row, space, now) for row in rows), None)


def read_listed(reply: Reply, space: str, now: datetime) -> Listed:
    """Raises ``NotFound`` (no such space), ``Rejected``."""
    data = _data(reply)
    facts = _space(data.get("space"), space)
    rows = listing(data.get("listed"), SOURCE, "proposals", most=SEARCHED_MAX)
    return Listed(facts, tuple(_proposal(row, space, now) for row in rows))


def read_one(reply: Reply, space: str, proposal_id: str, now: datetime) -> Proposal:
    """Raises ``NotFound``, ``Rejected``."""
    row = _data(reply).get("proposal")
    if row is None:
        raise NotFound(f"{SOURCE} has no such proposal any more")
    proposal = _proposal(row, space, now)
    if proposal.id != proposal_id:
        raise Rejected(f"{SOURCE} answered about another proposal")
    return proposal


def _data(reply: Reply) -> Mapping[str, object]:
    return mapping(mapping(reply.json(), SOURCE, "answer").get("data"), SOURCE, "data")


def _space(value: object, space: str) -> SpaceFacts:
    if value is None:
        # A renamed or misspelt space is no error to the hub: it just has no proposals.
        raise NotFound(f"{SOURCE} has no space called {space}")
    row = mapping(value, SOURCE, "space")
    if row.get("id") != space:
        raise Rejected(f"{SOURCE} answered about another space")
    count = row.get("proposalsCount")
    return SpaceFacts(
        space,
        plain(row.get("name"), most=60) or space,
        None if count is None else whole(count, SOURCE, "number of proposals", most=10_000_000),
    )


def _light(value: object, space: str, now: datetime) -> Light:
    row = mapping(value, SOURCE, "proposal")
    _same_space(row, space)
    created, _, end = _times(row, now)
    return Light(_id(row.get("id")), _title(row.get("title")), created, end)


def _same_space(row: Mapping[str, object], space: str) -> None:
    if mapping(row.get("space"), SOURCE, "space of a proposal").get("id") != space:
        raise Rejected(f"{SOURCE} answered with a proposal of another space")


def _id(value: object) -> str:
    if not isinstance(value, str) or not _ID.match(value):
        raise Rejected(f"{SOURCE} gave an impossible proposal id")
    return value


def _title(value: object) -> str:
    if not text(value, most=TITLE_CHARS):
        raise Rejected(f"{SOURCE} gave a proposal without a title")
    # One proposer's markup must not cost a space its other proposals.
    return plain(value, most=TITLE_CHARS).translate(_QUOTES) or "(no words)"


def _choices(value: object) -> tuple[str, ...]:
    rows = listing(value, SOURCE, "choices", most=CHOICES_MAX + 1)
    if not rows or len(rows) > CHOICES_MAX or not all(text(row, most=CHOICE_CHARS) for row in rows):
        raise Rejected(f"{SOURCE} gave no usable choices")
    cleaned = (unquoted(plain(row, most=CHOICE_CHARS)) for row in rows)
    return tuple(choice or f"choice {place}" for place, choice in enumerate(cleaned, start=1))


def _times(row: Mapping[str, object], now: datetime) -> tuple[datetime, datetime, datetime]:
    created, start, end = (_moment(row.get(name)) for name in ("created", "start", "end"))
    if start > end or created > now + CLOCKS_APART:
        raise Rejected(f"{SOURCE} gave impossible times of a proposal")
    return created, start, end


def _moment(value: object) -> datetime:
    seconds = whole(value, SOURCE, "time of a proposal", most=4_102_444_800)  # the year 2100
    return datetime.fromtimestamp(seconds, UTC)


def _proposal(value: object, space: str, now: datetime) -> Proposal:
    row = mapping(value, SOURCE, "proposal")
    _same_space(row, space)
    created, start, end = _times(row, now)
    state = row.get("state")
    if state not in ("pending", "active", "closed"):
        raise Rejected(f"{SOURCE} gave an unknown state of a proposal")
    if state == "closed" and end > now + CLOCKS_APART:
        raise Rejected(f"{SOURCE} calls a vote closed that has not ended")
    choices = _choices(row.get("choices"))
    votes = whole(row.get("votes"), SOURCE, "number of votes", most=1_000_000_000)
    final = row.get("scores_state") == "final"
    total = _amount(row.get("scores_total"), "total of the scores")
    kind = text(row.get("type"), most=30) or "single-choice"
    ipfs, author, body = row.get("ipfs"), row.get("author"), row.get("body")
    return Proposal(
        id=_id(row.get("id")),
        ipfs=ipfs if isinstance(ipfs, str) and _IPFS.match(ipfs) else None,
        title=_title(row.get("title")),
        body=body[:BODY_CHARS] if isinstance(body, str) else "",
        author=author if isinstance(author, str) and _AUTHOR.match(author) else None,
        created=created,
        start=start,
        end=end,
        kind=kind,
        choices=choices,
        scores=_scores(row.get("scores"), choices, total, kind, settled=final and votes > 0),
        total=total,
        final=final and state == "closed",
        quorum=_amount(row.get("quorum"), "quorum"),
        quorum_kind=text(row.get("quorumType"), most=30) or "default",
        votes=votes,
        state=state,
    )


def _amount(value: object, what: str) -> Decimal:
    if value is None:
        return Decimal(0)
    figure = number(value, SOURCE, what)
    if figure < 0:
        raise Rejected(f"{SOURCE} gave a negative {what}")
    return figure


def _scores(
    value: object, choices: tuple[str, ...], total: Decimal, kind: str, *, settled: bool
) -> tuple[Decimal, ...]:
    """One score per choice, or none while the hub has none (a hidden vote, or none cast)."""
    if value is None or value == []:
        if settled:
            raise Rejected(f"{SOURCE} calls scores final that it does not give")
        return ()
    rows = listing(value, SOURCE, "scores", most=CHOICES_MAX + 1)
    if len(rows) != len(choices):
        raise Rejected(f"{SOURCE} gave {len(rows)} scores for {len(choices)} choices")
    scores = tuple(number(row, SOURCE, "score") for row in rows)
    if any(score < 0 for score in scores):
        raise Rejected(f"{SOURCE} gave a negative score")
    slack = max(total * _TOLERANCE, Decimal("0.01"))
    if kind in ("single-choice", "basic") and abs(sum(scores) - total) > slack:
        raise Rejected(f"{SOURCE} gave scores that do not add up to their total")
    if kind != "copeland" and any(score > total + slack for score in scores):
        raise Rejected(f"{SOURCE} gave a score above the total")
    return scores
