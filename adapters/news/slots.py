"""What is asked of the news: topic, time, outlet and number, their bounds and their key. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from adapters.grammar.when import When
from node.language.reading import fold

LIMIT_DEFAULT = 5
LIMIT_MAX = 20
TOPIC_WORDS_MAX = 8
TOPIC_CHARS_MAX = 80
PAST_DAYS_MAX = 400
""" "What happened in 1989" asks for history, not for news."""


@dataclass(frozen=True, slots=True)
class NewsQuestion:
    """What is asked for; None where nothing was said. ``when`` is resolved on the asker's day."""

    topic: str | None = None
    when: When | None = None
    source: str | None = None
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and how surely it is one."""

    question: NewsQuestion
    strength: float
    reason: str


def canonical_key(question: NewsQuestion) -> str:
    """``news:topic:source:days:limit``, a dash for what was not said; days are dates, never words."""
    days = "-"
    if question.when is not None and question.when.said != "now":
        days = question.when.first.isoformat()
        if question.when.last != question.when.first:
            days += "/" + question.when.last.isoformat()
    limit = "-" if question.limit is None else str(question.limit)
    topic = "-" if question.topic is None else fold(question.topic)
    return f"news:{topic}:{question.source or '-'}:{days}:{limit}"
