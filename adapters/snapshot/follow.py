"""A fragment that goes on from a question about a space's proposals, and such questions in English. Pure."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date

from adapters.grammar import when as times
from adapters.snapshot.numbers import is_digits, plain_number, take_numbers
from adapters.snapshot.questions import read_question, take_space
from adapters.snapshot.slots import LAST, UPCOMING, Question
from adapters.snapshot.spaces import BY_NAME, Space
from adapters.snapshot.words import METRIC_WORDS, TABLES, WORDS
from node.language.reading import read
from node.language.tables import fill

_LEAD = re.compile(fill("^(?:<leads> )+", TABLES["words"]))
_METRIC_PHRASES = {
    None: "what is",
    "summary": "summary of",
    "quorum": "quorum of",
    "author": "author of",
    "result": "result of",
    "votes": "votes on",
    "amount": "amount of",
    "date": "date of",
    "status": "status of",
}


def phrase(question: Question, today: date) -> str | None:
    """English words that ``read_question`` reads back to the same question, with certainty; None where there
    are none."""
    if question.space is None:
        return None
    place = f"in {question.space}"
    about = "" if question.topic is None else f" about {question.topic}"
    when = ""
    if question.when is not None and question.when not in (LAST, UPCOMING):
        time = times.resolve(question.when, today, span=True, past=True)
        if time is None:
            return None
        when = f" {times.phrase(time)}"
    if question.proposal is not None:
        head = _METRIC_PHRASES.get(question.metric)
        words = f"{head} proposal {question.proposal} {place}{when}{about}"
    elif question.metric == "count":
        words = f"how many proposals {place}{when}"
    elif question.metric == "list":
        words = f"{'latest proposals' if question.when == LAST else 'list the proposals'} {place}{when}"
    elif question.when == UPCOMING:
        words = f"upcoming proposals {place}"
    elif question.metric == "status" and question.when is None and not about:
        words = f"active proposals {place}"
    else:
        head = _METRIC_PHRASES.get(question.metric)
        which = "the latest proposal" if question.when == LAST else "the proposal"
        words = f"{head} {which} {place}{when}{about}"
    back = read_question(words, today)
    return words if back is not None and back.question == question and back.strength >= 0.9 else None


def follow_up(fragment: str, earlier: str, today: date) -> str | None:
    """The question that ``fragment`` asks after ``earlier``; see the adapter."""
    if len(fragment) > 200:
        return None
    before = read_question(earlier, today)
    if before is None or before.question.space is None or before.strength < 0.5:
        return None
    reading = read(fragment)
    if reading.script != "latin" or not 1 <= len(reading.words) <= 8:
        return None
    flat = _LEAD.sub("", reading.flat)
    words = flat.split()
    old = before.question
    new = old
    named = take_space(list(words))
    if named is not None and named[0] is not None:
        new, words = replace(new, space=named[0]), [word for word in named[1] if word]
    elif (space := _bare_space(words)) is not None:
        new, words = replace(new, space=space.id), []
    if (number := _bare_number(words, reading.plain, old)) is not None:
        taken, words = number
        metric = None if new.metric in ("list", "count") else new.metric
        new = replace(new, proposal=taken, topic=None, when=None, metric=metric)
    elif any(word in WORDS["latest"] for word in words):
        words = [
            word
            for word in words
            if word not in WORDS["latest"] and word not in WORDS["noun"] and word != "one"
        ]
        metric = None if new.metric in ("list", "count") else new.metric
        new = replace(new, proposal=None, topic=None, when=LAST, metric=metric)
    metrics = {METRIC_WORDS[word] for word in words if word in METRIC_WORDS}
    if len(metrics) == 1 and (new.proposal is not None or new.when == LAST or new.topic is not None):
        new = replace(new, metric=metrics.pop())
        words = [word for word in words if word not in METRIC_WORDS]
    left = [
        word
        for word in words
        if word not in WORDS["fragment_fill"] and word not in ("dao", "many", "proposal")
    ]
    if left or new == old:
        return None
    return phrase(new, today)


def _bare_space(words: list[str]) -> Space | None:
    """A community's name that is the whole fragment, everyday word or not."""
    rest = [word for word in words if word not in WORDS["fragment_fill"] and word not in WORDS["beside"]]
    return BY_NAME.get(tuple(rest))


def _bare_number(words: list[str], plain: str, old: Question) -> tuple[str, list[str]] | None:
    """A number that replaces the earlier one, in the same series where it names none."""
    copied = list(words)
    numbers = take_numbers(copied, plain)
    if len(numbers) == 1 and numbers[0] != "several":
        return numbers[0], [word for word in copied if word and word not in WORDS["noun"]]
    digits = [word for word in words if is_digits(word)]
    if len(digits) != 1 or old.proposal is None:
        return None
    series = old.proposal.rpartition("-")[0]
    number = plain_number(digits[0])
    rest = [word for word in words if word != digits[0] and word not in WORDS["number_sign"]]
    return (f"{series}-{number}" if series else number), rest
