"""What is asked of a space's proposals: the slots, their key and their check. Pure.

- Slots are those of every governance question, ``proposal, metric, topic, when``, and ``space``. A number is
  text as in the records ("123", "5.4"), with its series where one is said ("ep-5.4", "aip-42").
- ``when`` is "last" for the latest, "upcoming", or a time as said; a key holds the resolved dates instead.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from adapters.grammar import when as times
from adapters.outgoing import may_leave
from node.core.model import Slots, SlotValue

LAST = "last"
UPCOMING = "upcoming"
METRICS = frozenset(
    ("quorum", "author", "result", "votes", "amount", "date", "status", "summary", "list", "count")
)

SPACE_ID = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,60}[a-z0-9])?\.eth\Z")
NUMBER = re.compile(r"(?:[a-z]{2,5}-)?(?:0|[1-9]\d{0,5})(?:\.\d{1,3}){0,2}\Z")
TOPIC = re.compile(r"[a-z0-9][a-z0-9.'-]*(?: [a-z0-9][a-z0-9.'-]*){0,7}\Z")


@dataclass(frozen=True, slots=True)
class Question:
    """A question about a space's proposals. ``space`` None: none was named, though Snapshot was.
    ``other`` is a second proposal that the first is compared with, "last" for the last two (see
    ``pairs``)."""

    space: str | None
    proposal: str | None
    metric: str | None
    topic: str | None
    when: str | None
    other: str | None = None

    @property
    def slots(self) -> Slots:
        slots: dict[str, SlotValue] = {
            "proposal": self.proposal,
            "metric": self.metric,
            "topic": self.topic,
            "when": self.when,
            "space": self.space,
        }
        return slots if self.other is None else {**slots, "other": self.other}

    def key(self, today: date) -> str | None:
        """Equal keys, equal answers; None without a space."""
        if self.space is None:
            return None
        what = ["+".join(sorted(one for one in (self.proposal, self.other) if one))]
        if self.when is not None:
            days = span(self.when, today)
            what.append(self.when if days is None else f"{days[0]}..{days[1]}")
        if self.topic is not None:
            what.append(f"about {self.topic}")
        if self.metric is not None and self.metric != "summary":
            what.append(self.metric)
        return ":".join(("proposal", self.space, *(part for part in what if part)))


@dataclass(frozen=True, slots=True)
class Reader:
    """A question and how sure its reading is, in (0, 1]."""

    question: Question
    strength: float
    reason: str


def question_of(slots: Mapping[str, object]) -> Question | None:
    """The question of slots that ``read_question`` could have made; None for any others."""
    names = ("space", "proposal", "metric", "topic", "when")
    if any(name not in slots for name in names):
        return None
    values = [*(slots[name] for name in names), slots.get("other")]
    if not all(value is None or isinstance(value, str) for value in values):
        return None
    space, proposal, metric, topic, when, other = (None if value is None else str(value) for value in values)
    well_formed = (
        (space is None or SPACE_ID.match(space) is not None)
        and (proposal is None or NUMBER.match(proposal) is not None)
        and (
            other is None
            or other == when == LAST
            or (proposal is not None and NUMBER.match(other) is not None)
        )
        and (metric is None or metric in METRICS)
        and (topic is None or (len(topic) <= 200 and TOPIC.match(topic) is not None and may_leave(topic)))
        and (when is None or when in (LAST, UPCOMING) or span(when, date(2026, 1, 1)) is not None)
    )
    return Question(space, proposal, metric, topic, when, other) if well_formed else None


def span(said: str, today: date) -> tuple[date, date] | None:
    """First and last day of a time as said; None for "last", "upcoming" and anything malformed."""
    found = times.resolve(said, today, span=True, past=True)
    return None if found is None else (found.first, found.last)
