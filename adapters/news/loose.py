"""Questions that name no news: what is happening in ..., the latest on .... Pure."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date

from adapters.news.slots import PAST_DAYS_MAX, Asked, NewsQuestion
from adapters.news.topics import said_topic, says_nothing, topic_of
from adapters.news.words import FRAME, LOOSE, WORDS, finds, worded


def read_loosely(words: tuple[str, ...], question: NewsQuestion, today: date) -> Asked | None:
    """``question`` with its topic; None where nothing asks, and where it may be a greeting ("what's new")."""
    when = question.when
    recently = 0
    while recently < len(words) - 2 and words[-1 - recently] in ("lately", "recently", "yet"):
        recently += 1
    words = words[: len(words) - recently]
    flat = " ".join(words)
    if finds("loose_traps", flat):
        return None
    happened = worded("happened", flat)
    if happened is not None:
        if (when is None and not recently) or (when and (today - when.first).days > PAST_DAYS_MAX):
            return None
        return loose_found(words, happened, question)
    for cues, pattern in LOOSE:
        match = None if cues.isdisjoint(words) else pattern.search(flat)
        if match is None:
            continue
        said = said_topic(match)
        bare = said is None or says_nothing(said.split())
        if bare and said is None and when is None and question.source is None and finds("needs_place", flat):
            return None  # "what's new", "what's up" greet
        return loose_found(words, match, question)
    return None


def loose_found(words: tuple[str, ...], match: re.Match[str], question: NewsQuestion) -> Asked | None:
    """``question`` with the topic in ``match``; words before the wording that are no frame make it weaker."""
    said = said_topic(match)
    topic = None
    if said is not None and not says_nothing(said.split()):
        topic = topic_of(said.split())
        if topic is None:
            return None
    lead = " ".join(words)[: match.start()].split()
    odd = [word for word in lead if word not in FRAME and word not in WORDS["intro"]]
    question = replace(question, topic=topic)
    strength = 0.9 if not odd and (topic is None or len(topic.split()) <= 5) else 0.7
    return Asked(question, strength, "asks what is happening")
