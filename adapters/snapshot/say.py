"""Proposals in words. Pure.

A vote that is not over, or whose scores are not final, is called so. Titles and texts are the proposers'
words and stand in quotation marks.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal

from adapters.snapshot.wire import Light, Proposal
from adapters.snapshot.words import TABLES
from node.core.model import Json
from node.language.reading import fold

SHOWN_CHOICES = 4
SHOWN_OTHERS = 2
_YES, _NO, _ABSTAIN = (frozenset(TABLES["choices"][side]) for side in ("yes", "no", "abstain"))


def others(head: str, lights: Sequence[Light]) -> tuple[str, ...]:
    if not lights:
        return ()
    shown = "; ".join(f"“{light.title}” ({day_of(light.created)})" for light in lights[:SHOWN_OTHERS])
    more = len(lights) - SHOWN_OTHERS
    return (f"{head}: {shown}{f'; and {more} more' if more > 0 else ''}.",)


def more_votes(one: tuple[str, Proposal], two: tuple[str, Proposal]) -> str:
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
    return (
        f"Proposal {number_in_words(left)} got more votes than {number_in_words(right)}{yet} ({count}){also}."
    )


def number_in_words(number: str) -> str:
    series, _, digits = number.rpartition("-")
    return f"{series.upper()} {digits}" if series else digits


def say(proposal: Proposal, metric: str | None, now: datetime) -> str:
    """What is to be said of a proposal after its name, without the full stop."""
    if metric == "author":
        author = proposal.author
        return f"was submitted {f'by {author} ' if author else ''}on {day_of(proposal.created)}"
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
        return f"opens for voting on {minute_of(proposal.start)} and closes on {minute_of(proposal.end)}"
    paren = f"({_count(proposal.votes)}, {_ends(proposal)})"
    if proposal.state == "active":
        votes = _count(proposal.votes)
        return f"is open until {minute_of(proposal.end)}: {shares or 'no scores are shown'} so far ({votes})"
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


def short_verdict(proposal: Proposal) -> str:
    if proposal.state == "pending":
        return f"opens {day_of(proposal.start)}"
    if proposal.state == "active":
        return f"open until {day_of(proposal.end)}"
    if not proposal.final:
        return f"closed {day_of(proposal.end)}, not final"
    return f"{_verdict(proposal) if proposal.scores else 'no votes'}, {day_of(proposal.end)}"


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
        return f"was open for voting from {minute_of(proposal.start)} to {minute_of(proposal.end)}"
    if proposal.state == "pending" and proposal.start > now:
        return f"opens for voting on {minute_of(proposal.start)} and closes on {minute_of(proposal.end)}"
    return (
        f"has been open for voting since {minute_of(proposal.start)} and closes on {minute_of(proposal.end)}"
    )


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
    return f"{'closed' if proposal.state == 'closed' else 'closes'} {day_of(proposal.end)}"


def day_of(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d")


def minute_of(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M UTC")


def ordinal(rank: int) -> str:
    tail = "th" if rank % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(rank % 10, "th")
    return f"{rank:,}{tail}"


def facts_of(proposal: Proposal) -> dict[str, Json]:
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
