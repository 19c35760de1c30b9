"""Stored notes for one question: which of them hold the answer, and what is said where none does, or where
there is no model to read them.

A model reads the nearest notes one by one (``reading``), ours before peers'. What it finds goes into the
prompt; where it finds nothing, and the question is about what people stored here, the honest reply is that
it is not there: a model's own knowledge of a community is invention. Without a model the nearest note is
quoted."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from node.model import Evidence, Step
from node.orders import CHAT_TOKEN
from node.synthesise import asker, context, reading
from node.synthesise.chain import Chain
from node.synthesise.claims import is_claim
from node.synthesise.markup import DATA_MARK
from node.synthesise.sentences import cut_to_sentence, one_line, plain

NOTES_MAX = 3
"""So many notes are read for one question, nearest first: each costs a small model a second or two."""
SURE = 0.97
"""A note that holds the answer with this probability needs no other; one whose question has another number,
unit or time needs it to count at all, for there small models are too quick to say yes."""
BOUND = 0.55
"""The relevance from which a note that people stored says whose question it is: .98 of questions about such
notes whose answers were not among them had one, .02 of all others."""
STARTER = "starter"
"""Source of the entries that come with the node: general knowledge, which binds no question."""
STARTER_MIN = 0.73
"""The relevance from which a starter entry is quoted unread. Most questions are not about its subjects: .27
of 440 general ones had such an entry above the retriever's floor, .06 from here on, most of those rightly
(``bench/answerlab/general.jsonl``)."""
UNREAD_FOUND = 0.5
"""How often the nearest note held the answer where nobody read it: 149 of 272 questions to eight made-up
communities, a third of which asked for what is not stored (``bench/answerlab/worlds.jsonl``). How near it is
does not tell: what is not stored is asked in the words of what is."""
STARTER_COSINE = 0.5
"""By its vectors it has to be so near: 27 of 440 general questions have such an entry, nearly all about its
subject, of the 13 between .40 and here hardly one (the same file). One rare word in common is no subject."""
BESIDE = 0.1
"""Where nobody reads them, the second note is quoted too if it is so near to the first."""
QUOTE_CHARS_MAX = 600
_QUESTION_CHARS_MAX = 1_000
_NAME = "NeuroSwarm"
_YOU = re.compile(r"\b(?:you|yours?|u)\b", re.IGNORECASE)
_WHO_YOU_ARE = f"(you are {_NAME})"
"""Behind a question to the node itself where the note speaks of it by its name."""

Pack = Callable[[Sequence[Evidence]], context.Packed]


@dataclass(frozen=True, slots=True)
class Read:
    """``kept``: the evidence with those notes only that hold the answer. ``found``: how probable it is that
    the best of them does; None where none does. ``bound``: the question is about what people stored here."""

    kept: list[Evidence]
    found: float | None
    bound: bool
    near: Evidence | None = None
    """Where no note is sure to hold the answer: the one that comes nearest to it, if it may be quoted."""
    near_found: float = 0.0
    """How probable it is that ``near`` does."""
    steps: tuple[Step, ...] = ()


def is_note(one: Evidence) -> bool:
    """Whether it is a stored text that was found by its relevance."""
    return one.relevance is not None


async def read(
    chain: Chain, question: str, evidence: Sequence[Evidence], pack: Pack, *, deadline: float, tag: str
) -> Read | None:
    """What of the evidence is worth answering from; None where no engine could say. Raises nothing but
    ``CancelledError``."""
    notes = sorted(filter(is_note, evidence), key=lambda one: is_claim(one.source))
    others = [one for one in evidence if not is_note(one)]
    curve = reading.packaged()
    asked = one_line(CHAT_TOKEN.sub(" ", DATA_MARK.sub(" ", question)), _QUESTION_CHARS_MAX)
    held: list[Evidence] = []
    near: Evidence | None = None
    best = took_ms = nearest_found = 0.0
    count = 0
    for one in notes[:NOTES_MAX]:
        blocks = pack([one]).blocks
        if not blocks or (held and is_claim(one.source)):
            continue
        is_of_us = _NAME in blocks[0].told and _YOU.search(asked) is not None
        result = await chain.first(
            reading.check(f"{asked} {_WHO_YOU_ARE}" if is_of_us else asked, blocks[0], tag, curve),
            lambda draft: curve.probability(reading.log_odds(draft, curve)),
            deadline=deadline,
        )
        if result.value is None:
            return None
        needed = SURE if one.note else curve.floor
        if result.value > best and result.value >= curve.quote and not one.note:
            near, nearest_found = one, result.value
        count, took_ms, best = count + 1, took_ms + result.ms, max(best, result.value)
        if result.value >= needed:
            held.append(one)
        if result.value >= SURE:
            break
    said = f"{len(held)} of {count} notes hold the answer; the best with {best:.2f}"
    step = Step("read", "found" if held else "missed", said, took_ms)
    bound = any(map(_binds, notes))
    if held or near is None:
        return Read([*others, *held], best if held else None, bound, steps=(step,))
    return Read(others, None, bound, near, nearest_found, (step,))


def _binds(one: Evidence) -> bool:
    return one.relevance is not None and one.relevance >= BOUND and one.source.id != STARTER


def nearest(evidence: Sequence[Evidence]) -> list[Evidence]:
    """The notes to quote where no model read them: the nearest, and the second where it is as near; none that
    is known to be about another number, unit or time."""
    notes = sorted(
        filter(is_note, quotable(evidence)),
        key=lambda one: (is_claim(one.source), -(one.relevance or 0.0)),
    )
    return [
        one
        for one in notes[:2]
        if (one.relevance or 0.0) >= (notes[0].relevance or 0.0) - BESIDE
        and is_claim(one.source) == is_claim(notes[0].source)
    ]


def is_about_it(one: Evidence) -> bool:
    """Whether a note is near enough to be quoted though nobody read it."""
    return (one.relevance or 0.0) >= BOUND


def quotable(evidence: Sequence[Evidence]) -> list[Evidence]:
    """What may be quoted unread: all but the notes known to be about another number, unit or time, and the
    starter entries that are not near."""
    return [one for one in evidence if not is_note(one) or not (one.note or _is_far_starter(one))]


def _is_far_starter(one: Evidence) -> bool:
    if one.source.id != STARTER:
        return False
    return (one.relevance or 0.0) < STARTER_MIN or (one.cosine is not None and one.cosine < STARTER_COSINE)


def quoted(one: Evidence, language: str) -> str:
    """A note as it is quoted: the question it was stored for, then its first sentences."""
    said = cut_to_sentence(plain(one.text), QUOTE_CHARS_MAX)
    return f"{asker.heading(context.source_name(one.source), language, one_line(one.about, 200))}\n- {said}"
