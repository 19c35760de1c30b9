"""Questions about the news: which texts are, and what they ask for. Pure.

It promises: a text is claimed only when it asks for headlines or for what happened, not when it speaks of
news as a thing (anchors, apps, fake news) or of a work; topic, time, source and number come out as said. It
knows nothing of feeds: names of configured outlets are handed in.

How a text is read: politeness, outlet (``outlets``), time and number are taken out; what is left must be a
frame ("what is the latest ... news about ...", see ``words``) around a topic (``topics``), or a wording
that asks for news without saying so (``loose``). Words that fit neither make the claim weaker, and a claim
from ``CERTAIN`` has none.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import date
from functools import lru_cache

from adapters.grammar import when as times
from adapters.grammar.one_slip import is_one_slip
from adapters.grammar.when import When
from adapters.news.loose import loose_found, read_loosely
from adapters.news.outlets import OUTLETS, find_outlet, without_press
from adapters.news.scripts import read_script
from adapters.news.slots import LIMIT_MAX, PAST_DAYS_MAX, Asked, NewsQuestion
from adapters.news.topics import bounded, own_part, topic_after, topic_before, topic_of
from adapters.news.words import (
    COMPOUND,
    ENOUGH,
    FRAME,
    FRAME_TRAPS,
    LONG_WORDS,
    LOOSE,
    NEWS_COMPOUNDS,
    NEWS_PHRASES,
    NUMBERS,
    OF_THE,
    PATTERNS,
    SLIPS,
    WORDS,
    finds,
    worded,
)
from node.core.model import CERTAIN, CLAIM
from node.language.reading import fold, read

WINDOW_CHARS = 2_000
BESIDE = 0.8
"""The text asks another source too."""
TEXT_WORDS = 120
"""Questions for headlines are short: longer texts are somebody's prose."""
_CUES = frozenset(
    WORDS["news"]
    | {word for run in NEWS_PHRASES for word in run if word not in FRAME or word in ("stories", "story")}
    | {run[-1] for run in NEWS_PHRASES}
    | {next((word for word in run if word not in FRAME), run[0]) for run in OUTLETS}
    | frozenset().union(*(words for words, _ in LOOSE))
    | WORDS["happened"]
    | WORDS["titles"]
    | WORDS["press"]
)
"""Without one of these, a compound or a domain no question for news is made."""


def read_question(
    text: str, today: date, *, hinted: bool = False, outlets: Collection[str] = ()
) -> Asked | None:
    """What ``text`` asks of the news on the asker's day ``today``; None when it does not.

    ``outlets`` are further names of sources, lower case. ``hinted``: the text is known to be about news."""
    asked = _read(text, today, hinted, outlets)
    topic = None if asked is None else asked.question.topic
    if asked is None or topic is None:
        return asked
    own = own_part(topic)
    said = replace(asked.question, topic=_as_said(topic if own is None else own, text))
    return replace(
        asked, question=said, strength=asked.strength if own is None else min(asked.strength, BESIDE)
    )


_SPOKEN = re.compile(r"[^\W_]+(?:[-'.][^\W_]+)*")


def _as_said(topic: str, text: str) -> str:
    """The topic with the accents and the genitives that it was written with; the rules see it without."""
    window = text[:WINDOW_CHARS].lower().replace("’", "'")
    if window.isascii() and "'s " not in window:
        return topic
    spoken = _SPOKEN.findall(window)
    said = {fold(word): word for word in spoken}
    said |= {fold(word).partition("'")[2]: word.partition("'")[2] for word in spoken if word[1:2] == "'"}
    owners = {fold(word)[:-2]: word for word in spoken if word.endswith("'s")}
    words = topic.split(" ")
    last = len(words) - 1
    return " ".join(
        owners[word] if word in owners and word not in said and at < last else said.get(word, word)
        for at, word in enumerate(words)
    )


def _read(text: str, today: date, hinted: bool, outlets: Collection[str]) -> Asked | None:
    reading = read(text)
    if not reading.words or len(reading.words) > TEXT_WORDS:
        return None
    if reading.script in ("japanese", "chinese", "cyrillic", "other"):
        return read_script(reading, today, hinted)
    words = _unslipped(reading.words)
    if not hinted and not _may_ask(words, outlets):
        return None
    words = tuple(PATTERNS["writes"].sub(r"\1say", " ".join(words)).split())
    flat = " ".join(without_press(words))
    if finds("thing_traps", flat) or finds("how_to", flat):
        return None
    clauses = [clause for sentence in reading.sentences for clause in sentence.canon.split(" , ")]
    if _is_explained(words, clauses):
        return None
    best: Asked | None = None
    asked = any(sentence.mark == "?" for sentence in reading.sentences)
    whole = _clause(words, today, hinted, outlets, asked)
    if whole is not None and whole.strength >= CERTAIN:
        return whole
    for clause in clauses if len(clauses) > 1 else ():
        said = _unslipped(tuple(word for word in clause.split() if word != ","))
        found = _clause(said, today, False, outlets, asked) if said else None
        if found is not None and found.strength >= CLAIM and (best is None or found.strength > best.strength):
            best = found
    if best is not None:
        # The rest of the text may hold the time or the outlet: "it is friday, any news from the bbc?" is not
        # parsed further, but the claim is no longer certain.
        rest = [clause for clause in clauses if not _is_lead(clause)]
        strength = best.strength if len(rest) <= 1 else min(best.strength, 0.8)
        best = Asked(best.question, strength, best.reason)
        if whole is not None and best.question.when is None and whole.question.when is not None:
            question = best.question
            best = replace(best, question=replace(question, when=whole.question.when))
    if best is None or (whole is not None and whole.strength > best.strength):
        return whole
    return best


@lru_cache(maxsize=4_096)
def _slip(word: str) -> str:
    """A word for news with one letter amiss as it is meant; any other as it is."""
    if word in SLIPS:
        return SLIPS[word]
    if not 5 <= len(word) <= 13 or word in WORDS["news"] or word in FRAME or word in WORDS["no_slips"]:
        return word
    return next((meant for meant in LONG_WORDS if is_one_slip(word, meant)), word)


def _unslipped(words: tuple[str, ...]) -> tuple[str, ...]:
    meant = tuple(_slip(word) if len(word) <= 13 else word for word in words)
    return meant if meant == words else tuple(" ".join(meant).split())


def _may_ask(words: tuple[str, ...], outlets: Collection[str]) -> bool:
    """Whether a word stands in the text without which no question for news is made."""
    return not _CUES.isdisjoint(words) or any(
        "." in word or word in outlets or word.endswith(NEWS_COMPOUNDS) for word in words
    )


def _is_explained(words: tuple[str, ...], clauses: Sequence[str]) -> bool:
    """Whether up to the word for news it explains, judges or writes; what the asker says of themselves before
    ("I'm writing an essay, ...") does not count."""
    own = 0
    for clause in clauses[:-1]:
        spoken = [word for word in clause.split() if word != ","]
        if not spoken or spoken[0] not in ("i", "my", "we", "our"):
            break
        own += len(spoken)
    named = _news_at(words, ())
    if named is not None and own <= named[0]:
        return FRAME_TRAPS.search(" ".join(words[own : named[1]])) is not None
    return FRAME_TRAPS.search(" ".join(words if named is None else words[: named[1]])) is not None


def _is_lead(clause: str) -> bool:
    """ "hey", "ok so": a clause of politeness alone."""
    return all(word in WORDS["filler"] or word == "," for word in clause.split())


def _clause(
    words: tuple[str, ...], today: date, hinted: bool, outlets: Collection[str], asked: bool
) -> Asked | None:
    at = words.index("read") if "read" in words else -1
    if at == 0 or (at > 0 and words[at - 1] in ("you", "please")):
        words = words[:at] + words[at + 1 :]  # "read me the news", "can you read the headlines"
    if words[:3] == ("hit", "me", "with"):
        words = words[3:]
    source, words, source_news = find_outlet(words, outlets)
    when, words = times.find(words, today, past=True)
    if when is None:
        when, words = _of_the_day(words, today)
    elif when.first < today and not WORDS["since"].isdisjoint(words):
        when = times.resolve(f"today-{(today - when.first).days}d", today, span=True)
        words = tuple(word for word in words if word not in WORDS["since"])
    limit, words = _limit(words)
    history = when is not None and (today - when.last).days > PAST_DAYS_MAX
    if history and not any(word in WORDS["news"] for word in words):
        return None
    reported = words if source is not None else without_press(words)
    has_outlet = source is not None or reported != words
    question = NewsQuestion(None, when, source, limit)
    if has_outlet and (said := worded("reports", " ".join(reported))) is not None:
        return loose_found(reported, said, question)
    further = WORDS["article_words"] if source is not None else frozenset()
    if limit is not None or not WORDS["headline_verbs"].isdisjoint(words):
        further |= {  # "trois titres de Daft Punk" are songs
            word
            for at, word in enumerate(words)
            if word in WORDS["titles"] and WORDS["works_of"].isdisjoint(words[at + 1 : at + 2])
        }
    place = _news_at(words, further)
    if place is not None:
        return _framed(words, place, question, asked)
    if source_news and (named := _behind_outlet(words, question)) is not None:
        return named
    loose = read_loosely(words, question, today)
    if loose is not None:
        return loose
    if source_news and all(word in FRAME or word in WORDS["intro"] for word in words):
        # "fox news", "hacker news today": the outlet's name says news
        return Asked(question, CERTAIN, f"asks for headlines of {source}")
    if not hinted:
        return None
    topic = topic_of(words)
    if topic is None and any(word not in FRAME and word not in WORDS["intro"] for word in words):
        return None
    return Asked(replace(question, topic=topic), 0.6, "is said to ask for news")


def _behind_outlet(words: tuple[str, ...], question: NewsQuestion) -> Asked | None:
    """ "hacker news top 2 about rust": a topic behind an outlet's name that says news itself."""
    at = next((at for at, word in enumerate(words) if word in WORDS["about"]), len(words))
    if any(word not in FRAME for word in words[:at]) or (topic := topic_of(words[at:])) is None:
        return None
    if not WORDS["no_topic"].isdisjoint(topic.split()):
        return None
    return Asked(replace(question, topic=topic), CERTAIN, f"asks for headlines of {question.source}")


def _of_the_day(words: tuple[str, ...], today: date) -> tuple[When | None, tuple[str, ...]]:
    """ "headlines of the day" are those of today."""
    for at in range(len(words)):
        for size in (3, 2):
            if (said := OF_THE.get(words[at : at + size])) is not None:
                return times.resolve(said, today, span=said != "today"), words[:at] + words[at + size :]
    return None, words


def _limit(words: tuple[str, ...]) -> tuple[int | None, tuple[str, ...]]:
    """ "top 3 headlines", "five news stories", "the 10 latest", "…, two is enough": the number, and the words
    without it."""
    if (enough := ENOUGH.search(" ".join(words))) is not None and enough.start() > 0:
        said = next(number for number in enough.groups() if number)
        most = int(said) if said.isdigit() else NUMBERS[said]
        if most >= 1:
            return min(most, LIMIT_MAX), words[: enough.string.count(" ", 0, enough.start() + 1)]
    for at, word in enumerate(words):
        value = int(word) if word.isascii() and word.isdigit() and len(word) <= 3 else NUMBERS.get(word)
        if value is None or value < 1:
            continue
        after = at + 1
        while after < len(words) and after < at + 5 and words[after] in WORDS["between_count"]:
            after += 1
        counted = after < len(words) and words[after] in WORDS["countable"]
        if (
            not counted
            and word.isdigit()
            and at
            and words[at - 1] in ("top", "latest", "first", "only", "just")
        ):
            counted = True
        if words[at + 1 : at + 3] in (("of", "them"), ("of", "those")):
            return min(value, LIMIT_MAX), words[:at] + words[at + 3 :]
        if not counted and (word.isdigit() or at == 0 or words[at - 1] in FRAME):
            # "top 5 tech headlines": a topic of one or two words between
            counted = any(next_word in WORDS["countable"] for next_word in words[after : after + 3])
            counted = counted and WORDS["intro"].isdisjoint(words[after : after + 2])
        if not counted or (not word.isdigit() and value == 1):
            continue
        return min(value, LIMIT_MAX), words[:at] + words[at + 1 :]
    return None, words


def _news_at(words: tuple[str, ...], further: Collection[str]) -> tuple[int, int] | None:
    """Where the first word for news stands, a run of them as one; ``further`` are words that count too."""
    for at, word in enumerate(words):
        end = at
        for size in (3, 2):
            if words[at : at + size] in NEWS_PHRASES:
                end = at + size
                break
        if end == at and (
            word in WORDS["news"] or word in further or (COMPOUND.fullmatch(word) and word not in FRAME)
        ):
            end = at + 1
        if end == at:
            continue
        while end < len(words) and words[end] in WORDS["news"] | {"stories", "story"}:
            end += 1
        return at, end
    return None


def _framed(
    words: tuple[str, ...], place: tuple[int, int], question: NewsQuestion, asked: bool
) -> Asked | None:
    """A frame around a word for news."""
    start, end = place
    left, odd_left = topic_before(words[:start])
    compound = COMPOUND.fullmatch(words[start])
    if compound and words[start] not in WORDS["news"] and left is None:
        left = compound[1]
    right, odd_right = topic_after(words[end:], words[start])
    if left is not None and right is not None:
        topic, odd = bounded(f"{left} {right}"), odd_left + odd_right
    else:
        topic, odd = left or right, odd_left + odd_right
    question = replace(question, topic=topic)
    if not odd:
        return Asked(question, 0.95, "asks for news")
    if not left and start == 0 and len(words) - end <= 3 and WORDS["no_topic"].isdisjoint(odd):
        return Asked(replace(question, topic=topic_of(words[end:])), 0.7, "asks for news")
    opens = asked or words[0] in WORDS["openers"]
    if not opens or any(word in WORDS["personal"] for word in odd):
        return Asked(question, 0.4, "mentions news") if len(odd) <= 6 else None
    return Asked(question, 0.65 if len(odd) <= 4 else CLAIM, "asks for news, in other words")
