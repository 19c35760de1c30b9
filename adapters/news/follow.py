"""A fragment that goes on from a question for news, and questions for news as canonical English. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import date

from adapters.grammar import when as times
from adapters.news.outlets import find_outlet
from adapters.news.slots import LIMIT_MAX, NewsQuestion
from adapters.news.topics import topic_of
from adapters.news.words import WORDS
from node.language.reading import read

_LEADS = [run.split() for run in sorted(WORDS["leads"], key=lambda run: (-len(run), run))]


def follow_up_question(
    fragment: str, earlier: NewsQuestion, today: date, *, outlets: Collection[str] = ()
) -> NewsQuestion | None:
    """``earlier`` with the slots that ``fragment`` fills, when all of the fragment is accounted for."""
    reading = read(fragment)
    words = reading.words
    if not words or len(words) > 12 or reading.script not in ("latin",):
        return None
    led = False
    for lead in _LEADS:
        if list(words[: len(lead)]) == lead and len(words) > len(lead):
            words, led = words[len(lead) :], True
            break
    while len(words) > 1 and words[0] in ("only", "just", "the") and words[1] not in WORDS["news"]:
        words = words[1:]
    source, words, _ = find_outlet(words, outlets)
    when, words = times.find(words, today, past=True)
    limit = None
    if len(words) in (1, 2, 3) and words[0] in ("top", "first") and len(words) > 1:
        words = words[1:]
    counted = len(words) == 1 or (len(words) == 2 and words[1] in WORDS["countable"])
    if counted and re.fullmatch(r"[1-9][0-9]?", words[0]):
        limit, words = min(int(words[0]), LIMIT_MAX), ()
    topic = None
    filled = source or when or limit
    if words and words[-1] in WORDS["news"]:
        words = words[:-1]
    if words:
        intro = words[0] in WORDS["about"]
        if not (led or intro) or len(words) > 6:
            return None
        topic = topic_of(words)
        if topic is None or not (WORDS["no_topic"] | WORDS["question_words"]).isdisjoint(topic.split()):
            return None
    elif not filled:
        return None
    return NewsQuestion(
        topic if topic is not None else earlier.topic,
        when if when is not None else earlier.when,
        source if source is not None else earlier.source,
        limit if limit is not None else earlier.limit,
    )


def phrase(question: NewsQuestion) -> str:
    """English words that ``read_question`` reads back to ``question`` with certainty."""
    said = ["latest news" if question.limit is None else f"top {question.limit} headlines"]
    if question.topic is not None:
        said.append(f"about {question.topic}")
    if question.source is not None:
        said.append(f"from {question.source}")
    if question.when is not None:
        said.append(times.phrase(question.when))
    return " ".join(said)
