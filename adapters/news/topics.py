"""The topic in a question for news: before the word for news, behind it, or after a preposition. Pure.

A topic is at most ``TOPIC_WORDS_MAX`` words; words that say nothing more than everywhere and everything are
none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from adapters.news.slots import TOPIC_CHARS_MAX, TOPIC_WORDS_MAX
from adapters.news.words import FRAME, PATTERNS, WORDS, worded

# --- around the word for news ---------------------------------------------------------------------


def topic_before(words: Sequence[str]) -> tuple[str | None, list[str]]:
    """The topic in front of "news" ("tech news") and the words that are neither topic nor frame."""
    at = len(words)
    frame = FRAME | WORDS["no_topic"]
    while at > 0 and words[at - 1] not in frame and len(words) - at < 5:
        at -= 1
    run = list(words[at:])
    if not run and tuple(words[-2:]) == ("in", "the") and (inside := _in_the_news(words[:-2])) is not None:
        return inside, []
    rest = [word for word in words[:at] if word not in FRAME and word not in WORDS["intro"]]
    while run and run[0] in WORDS["intro"]:
        run = run[1:]
    if any(word in WORDS["no_topic"] for word in run):
        return None, rest + run
    # "latest on tech news", "us election news": words of the frame inside a topic belong to it
    if at > 0 and run and _belongs(words, at, run[0]):
        run.insert(0, words[at - 1])
    if not run and at > 0 and words[at - 1] in ("world", "us", "global") and _joins(words, at):
        run = [words[at - 1]]
    return (bounded(" ".join(run)) if run else None), rest


def topic_after(words: Sequence[str], news: str) -> tuple[str | None, list[str]]:
    """The topic behind "news": after a preposition, or an adjective in Romance languages."""
    rest = list(words)
    while rest and rest[-1] in WORDS["tail"]:
        rest.pop()
    at = 0
    while at < len(rest) and rest[at] not in WORDS["intro"] and rest[at] in FRAME:
        at += 1
    if at == len(rest):
        return None, []
    if rest[at] in WORDS["intro"]:
        topic = topic_of(rest[at:])
        if topic is not None:
            return topic, []
        left = [word for word in rest[at:] if word not in FRAME and word not in WORDS["intro"]]
        return None, left if says_nothing(rest[at:]) is False else []
    follows = news in WORDS["adjective_follows"] and len(rest) - at <= 3
    if follows and WORDS["no_topic"].isdisjoint(rest[at:]):
        return bounded(" ".join(rest[at:])), []
    return None, [word for word in rest if word not in FRAME]


def _in_the_news(words: Sequence[str]) -> str | None:
    """ "anything about Solana in the news", "is bitcoin in the news": the topic."""
    match = worded("inside", " ".join(words))
    said = (said_topic(match) or "").split() if match is not None else []
    if said and said[0] in WORDS["articles"]:
        said = said[1:]
    if any(word in WORDS["no_topic"] or word in WORDS["filler"] for word in said):
        return None
    return topic_of(said)


def _belongs(words: Sequence[str], at: int, first: str) -> bool:
    """Whether the word before ``at``, one of the frame, is part of the topic that begins there."""
    word = words[at - 1]
    if word == "new":
        return first in WORDS["after_new"]
    return word in ("us", "world", "global") and _joins(words, at)


def _joins(words: Sequence[str], at: int) -> bool:
    """ "us" before a topic is the country unless somebody is asked to give us something."""
    return at < 2 or words[at - 2] not in ("give", "show", "tell", "get", "bring", "let")


# --- the words of a topic -------------------------------------------------------------------------


def topic_of(words: Sequence[str]) -> str | None:
    """The topic after its preposition; None when there is none ("in the world") or it is no topic."""
    rest = list(words)
    purpose = (at for at in range(1, len(rest) - 1) if rest[at : at + 2] == ["for", "my"])
    rest = rest[: next(purpose, len(rest))]  # "for my essay" says why, not what
    empty = WORDS["intro"] | WORDS["articles"]
    while rest and rest != ["un"] and (rest[0] in empty or rest[0] in ("to", "what", "is", "s", "related")):
        rest.pop(0)
    while len(rest) > 2 and rest[0] in ("world", "field", "topic", "subject", "area") and rest[1] == "of":
        rest = rest[2:] if rest[2] not in WORDS["articles"] else rest[3:]  # "in the world of chess"
    while rest and rest != ["un"] and (rest[-1] in WORDS["tail"] or rest[-1] in empty):
        rest.pop()
    if not rest or len(rest) > TOPIC_WORDS_MAX or says_nothing(rest):
        return None
    if not (WORDS["personal"] | {"what", "which", "who", "how", "why", "me"}).isdisjoint(rest):
        return None
    return bounded(" ".join(rest))


_ANOTHER = re.compile(rf"^(.{{1,80}}?) (?:and|plus|und|y|et|e) (?:{PATTERNS['another'].pattern})$")


def own_part(topic: str) -> str | None:
    """The first part of a topic whose second asks another source ("tesla and weather in paris"); None where
    it has no such part. "Oil and gas prices" are one topic."""
    match = _ANOTHER.match(topic)
    return match[1] if match is not None else None


def says_nothing(words: Sequence[str]) -> bool:
    """Whether the words say nothing more than everywhere and everything."""
    kept = [word for word in words if word not in WORDS["articles"] and word not in WORDS["intro"]]
    if kept == ["us"]:
        return words[0] in ("for", "to", "with")
    if words and kept == [] and words[-1] == "un":
        return False  # the United Nations, no article at the end
    return not kept or " ".join(kept) in WORDS["null_topics"] or all(word in WORDS["filler"] for word in kept)


def bounded(topic: str) -> str | None:
    """The topic, None where it is empty or too long."""
    topic = topic.strip()
    return (
        topic if topic and len(topic) <= TOPIC_CHARS_MAX and len(topic.split()) <= TOPIC_WORDS_MAX else None
    )


def said_topic(match: re.Match[str]) -> str | None:
    """What a wording's group for a topic holds."""
    return match.groupdict().get("topic") or None
