"""Stored notes for one question: which of them hold the answer, and what is said where none does.

English notes are read by a small network made for it (``NoteReader``), all at once; where it is not sure, and
for notes in other languages, a language model reads too, one note at a time (``model_reader``), likeliest
first, ours before peers'. What holds the answer goes into the prompt, or is quoted; where nothing does, and
the question is about what people stored here, the honest reply is that it is not there: a model's own
knowledge of a community is invention. Where nobody can read, the nearest note is quoted and said to be
unread."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from node.answer import context, model_reader, reasons
from node.answer.chain import Chain
from node.answer.evidence.relevance import packaged
from node.answer.extractive import TEXT_CHARS_MAX
from node.answer.peer_claims import is_claim
from node.core.errors import Unavailable
from node.core.model import Evidence, Step
from node.core.ports import NoteReader
from node.language import tables, verbatim
from node.language.markup import DATA_MARK
from node.language.orders import CHAT_TOKEN
from node.language.sentences import one_line, plain, sentences
from node.language.tongue import may_be_english

NOTES_MAX = 12
"""So many notes are read for one question."""
BY_MODEL_MAX = 3
"""So many of them by a language model: each costs a small one a second or two."""
BY_MODEL_MIN = 0.38
"""The relevance from which a note is worth a language model's time where the packaged reader can't read it:
fitted so that one of twenty questions about something else pays for it; of all general ones .07 do. The
figures here and below are printed by ``python -m bench.evidence``."""
UNSURE = 0.03
"""What the packaged reader gives less than this, no language model is asked about."""
HELD_MAX = 3
"""So many notes that hold the answer are worth giving to whoever answers."""
SURE = 0.97
"""A note that holds the answer with this probability needs no other."""
ENTRY_SHARE, ENTRY_MARGIN, ENTRY_MIN, ENTRY_COSINE, ENTRY_BEHIND = 0.55, 1.2, 0.35, 0.35, 0.15
"""So probably a starter entry has to hold the answer, by so many log odds more than any entry that says
something else, so near it has to be, and so little behind the nearest entry, to be served as the answer
itself: chosen on 300 questions, two fifths of them about what no entry says (``python -m bench.starter``)."""
ENTRY_ALONE = 0.45
"""So near it has to be where it has no word of the question's ("who empties the rubbish bins", of garbage
collection): of 2,380 questions to communities, with no note at hand, 2 are answered by an entry instead of 5,
of 180 to the entries 76 instead of 79, of 64 casual ones 28 as before."""
TOLD_SHARE, TOLD_COSINE = 0.8, 0.4
"""So probably a note has to be meant by words that only tell, and so near by its vectors."""
BOUND = 0.55
"""The relevance from which a note that people stored says whose question it is: .98 of questions about such
notes whose answers were not among them had one, .02 of general ones."""
STARTER = "starter"
"""Source of the entries that come with the node: general knowledge, which binds no question."""
STARTER_MIN = 0.73
"""The relevance from which a starter entry is read, or quoted unread. Most questions are not about its
subjects: 183 of 605 general ones had such an entry from .38 on, 34 from here on, most of those rightly
(``bench/answerlab/general.jsonl``); the packaged reader, which was trained on questions to one community,
takes entries for answers to a joke that was asked for, or to a slow laptop's owner."""
UNREAD_FOUND = 0.5
"""How often the nearest note held the answer where nobody read it: for 150 of 272 questions to eight made-up
communities, a third of which asked for what is not stored (``bench/answerlab/worlds.jsonl``); for 123 of the
226 with one near enough to be quoted, 40 of the 100 with one from 1 on. The nearer ones are no surer: what is
not stored is asked in the words of what is."""
STARTER_COSINE = 0.5
"""By its vectors it has to be so near: 31 of 605 general questions have such an entry, nearly all about its
subject, of the 25 between .40 and here few (``general.jsonl``). One rare word in common is no subject."""
BESIDE = 0.1
"""Where nobody reads them, the second note is quoted too if it is so near to the first."""
NEXT_SHARE = 0.5
"""Where it is not sure that the likeliest note holds the answer, the next is quoted too if it is at least
half as likely: of 390 questions to the communities of ``bench/readerlab/curves`` 12 more are answered by a
note that is shown, and no more absent ones get a quotation (``python -m bench.unsure``)."""
SENTENCES_MAX = 40
"""So many sentences of a text that came with a question are read."""
IN_TEXT_MIN, PAIR_BEHIND = 0.6, 0.1
"""So probably one has to answer it, and two together by so much more than one."""
QUOTE_CHARS_MAX = 600
_QUESTION_CHARS_MAX = 1_000
_NAME = "NeuroSwarm"
_YOU = re.compile(r"\b(?:you|yours?|u)\b", re.IGNORECASE)
_WORDING = tables.Patterns("answers")
_WHY_NOT = _WORDING("why_not")
"""It takes for granted that something is not so; an entry that says what the thing is does not answer it."""
_COMPARES = _WORDING("compares")
"""An entry about one of two things does not compare them."""
_WHO_YOU_ARE = f"(you are {_NAME})"

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
    next: Evidence | None = None
    """The note of people to quote beside the likeliest one, held or near, where that is not sure to."""
    told: float | None = None
    """``found`` as it is told: held back below the bar until that was borne out."""
    steps: tuple[Step, ...] = ()
    is_near_theirs: bool = False
    """Whether notes of people were found for the question at all."""


def is_note(one: Evidence) -> bool:
    """Whether it is a stored text that was found by its relevance."""
    return one.relevance is not None


def is_peoples(one: Evidence) -> bool:
    """Whether it is a note that people stored, here or elsewhere: no entry of the node's, nor what an adapter
    once looked up."""
    return is_note(one) and one.source.id != STARTER and one.source.kind != "adapter"


@dataclass(frozen=True, slots=True)
class Readers:
    """Who reads: ``trained`` the English notes, where it is there; the models of ``chain`` the others, and
    beside it those that were measured. ``unmeasured`` are the names of those that turned out not to be."""

    trained: NoteReader | None
    chain: Chain
    unmeasured: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class _Said:
    """``note`` holds the answer with the probability ``share``; ``curve`` says from which on it counts."""

    note: Evidence
    share: float
    curve: model_reader.Curve

    @property
    def is_hasty(self) -> bool:
        """Whether its question has another figure ("proposal 123", where 124 was asked for), or only a
        language model has read it and it has another unit, time or name: there they are too quick to say
        yes."""
        differs = self.note.note
        return bool(differs) and (self.curve is model_reader.packaged() or any(map(str.isdigit, differs)))

    @property
    def is_held(self) -> bool:
        return self.share >= (SURE if self.is_hasty else self.curve.floor)

    @property
    def is_near(self) -> bool:
        return self.share >= self.curve.quote and not self.is_hasty


async def read(
    readers: Readers,
    question: str,
    evidence: Sequence[Evidence],
    pack: Pack,
    *,
    deadline: float,
    tag: str,
    vector: Iterable[float] | None = None,
) -> Read | None:
    """What of the evidence is worth answering from; None where nobody could say. ``vector``: the question's,
    of the embedder that the rule of relevance was fitted on. Raises nothing but ``CancelledError``."""
    takes_for_granted = _WHY_NOT.search(question) is not None
    near = [one for one in evidence if is_note(one) and not _is_far_starter(one)]
    near = [one for one in near if is_peoples(one) or not takes_for_granted]
    notes = sorted(near, key=lambda one: is_claim(one.source))[:NOTES_MAX]
    others = [one for one in evidence if not is_note(one)]
    if not notes:
        return Read(others, None, bound=False)
    asked = one_line(CHAT_TOKEN.sub(" ", DATA_MARK.sub(" ", question)), _QUESTION_CHARS_MAX)
    odds = await _by_trained(readers.trained, asked, notes)
    curve, places = model_reader.ranked(), _places(notes)
    said = [_Said(notes[at], curve.probability(value, place=places[at]), curve) for at, value in odds.items()]
    # What people stored for this very question is its answer, whatever a reader thinks of it.
    said = [replace(one, share=max(one.share, SURE)) if _is_its_answer(one.note) else one for one in said]
    ours_is_sure = any(one.share >= SURE and not is_claim(one.note.source) for one in said)
    # Where ours is the answer, no model reads what a peer claims.
    open_ones = [one for one in notes if not (ours_is_sure and is_claim(one.source))]
    unsure = sorted(
        (one for one in said if UNSURE < one.share < SURE and one.note in open_ones), key=_likeliest
    )
    read_here = [notes[at] for at in odds]
    unread = [one for one in open_ones if one not in read_here and (one.relevance or 0.0) >= BY_MODEL_MIN]
    again = [] if readers.unmeasured else [one.note for one in unsure]
    wanted = [*again, *unread][:BY_MODEL_MAX]
    second = await _by_model(readers, asked, wanted, pack, deadline=deadline, tag=tag, beside=len(again))
    if not (said or second):
        return None
    took_ms = sum(ms for _, ms in second.values())
    if any(id(one) in second for one in again):  # what was not worth a second reading counts no more
        said = [one for one in said if one.share >= SURE]
    for at, one in enumerate(notes):
        if id(one) in second:
            curve = model_reader.both() if at in odds else model_reader.packaged()
            model_odds, _ = second[id(one)]
            told_odds = (odds[at], model_odds, places[at]) if at in odds else (model_odds,)
            said.append(_Said(one, curve.probability(*told_odds), curve))
    said.sort(key=_likeliest)
    held = [one for one in said if one.is_held and not _is_beside_ours(one, notes)][:HELD_MAX]
    if held and not is_claim(held[0].note.source):
        held = [one for one in held if not is_claim(one.note.source)]
    best = max((one.share for one in said), default=0.0)
    told = f"{len(held)} of {len(said)} notes hold the answer; the best with {best:.2f}"
    steps = (Step("read", "found" if held else "missed", told, took_ms),)
    bound, is_near = is_about_theirs(notes, vector), any(map(is_peoples, notes))
    if held:
        best_one = held[0]
        return Read(
            [*others, *(one.note for one in held)],
            best_one.share,
            bound,
            steps=steps,
            told=best_one.curve.told(best_one.share),
            is_near_theirs=is_near,
            next=_next_to(best_one, said),
        )
    ours_is_about_it = any(_binds(one) and not is_claim(one.source) for one in notes)
    near_ones = [one for one in said if one.is_near and not (ours_is_about_it and is_claim(one.note.source))]
    nearest_one = max(near_ones, key=lambda one: one.share, default=None)
    if nearest_one is None:
        return Read(others, None, bound, steps=steps, is_near_theirs=is_near)
    near_found = nearest_one.share
    beside, told_of = _next_to(nearest_one, said), nearest_one.note
    return Read(others, None, bound, told_of, near_found, beside, steps=steps, is_near_theirs=is_near)


def _is_its_answer(one: Evidence) -> bool:
    return one.is_same and not is_claim(one.source)


async def surest(reader: NoteReader | None, text: str, evidence: Sequence[Evidence]) -> _Said | None:
    """The note of people here that the packaged reader takes for the answer to words that only tell ("The
    tap drips"), or None: few are meant as a question, so it has to be near, and sure. No model is asked."""
    ours = [one for one in evidence if _binds(one) and not is_claim(one.source)]
    near = [one for one in ours if one.cosine is None or one.cosine >= TOLD_COSINE][:NOTES_MAX]
    asked = one_line(DATA_MARK.sub(" ", text), _QUESTION_CHARS_MAX)
    curve = model_reader.trained()
    odds = await _by_trained(reader, asked, near)
    said = [_Said(near[at], curve.probability(value), curve) for at, value in odds.items()]
    best = max(said, key=lambda one: one.share, default=None)
    return best if best is not None and best.share >= (SURE if best.note.note else TOLD_SHARE) else None


async def meant(reader: NoteReader | None, question: str, evidence: Sequence[Evidence]) -> _Said | None:
    """The starter entry that is the answer, or None: there is doubt, or people's notes are about it too.
    Those entries were written to be answers, and the packaged reader was trained on questions to them."""
    if any(map(_binds, evidence)) or _WHY_NOT.search(question):
        return None
    entries = [one for one in evidence if one.source.id == STARTER][:NOTES_MAX]
    if _COMPARES.search(question):
        entries = [one for one in entries if _COMPARES.search(one.about)]
    asked = one_line(DATA_MARK.sub(" ", question), _QUESTION_CHARS_MAX)
    odds = await _by_trained(reader, asked, entries)
    if not odds:
        return None
    best = max(odds, key=odds.__getitem__)
    rival = max((odds[at] for at in odds if entries[at].text != entries[best].text), default=-math.inf)
    share = model_reader.trained().probability(odds[best])
    cosine, relevance = entries[best].cosine, entries[best].relevance or 0.0
    nearest_by = max(one.relevance or 0.0 for one in entries)
    is_near = relevance >= max(ENTRY_MIN, nearest_by - ENTRY_BEHIND)
    least = ENTRY_COSINE if cosine is None or relevance > cosine else ENTRY_ALONE
    is_near = is_near and (cosine is None or cosine >= least)
    if entries[best].note or not is_near or share < ENTRY_SHARE or odds[best] - rival < ENTRY_MARGIN:
        return None
    return _Said(entries[best], share, model_reader.trained())


async def answered(reader: NoteReader | None, question: str, answer: str) -> float | None:
    """How probable it is that an answer says what was asked for, by the packaged reader, which reads it like
    a note; None where it can't."""
    if reader is None or not (may_be_english(question) and may_be_english(answer)):
        return None
    try:
        [odds] = await reader.score(one_line(question, _QUESTION_CHARS_MAX), [plain(answer)])
    except Unavailable:
        return None
    return model_reader.trained().probability(odds)


async def answers_in(reader: NoteReader | None, question: str, text: str) -> list[str]:
    """The sentence of a text that came with the question, or two that belong together, that the packaged
    reader takes for the answer; none where it sees none."""
    if reader is None or not may_be_english(question):
        return []
    each = sentences(plain(text[:TEXT_CHARS_MAX]))[:SENTENCES_MAX]
    some = [*each, *map(" ".join, pairwise(each))]
    try:
        odds = await reader.score(one_line(question, _QUESTION_CHARS_MAX), some)
    except Unavailable:
        return []
    shares = map(model_reader.trained().probability, odds)
    less = [0.0] * len(each) + [PAIR_BEHIND] * (len(some) - len(each))
    best, said = max(
        ((share - behind, one) for share, behind, one in zip(shares, less, some, strict=True)),
        default=(0.0, ""),
    )
    return [said] if best >= IN_TEXT_MIN else []


def _is_beside_ours(said: _Said, notes: Sequence[Evidence]) -> bool:
    """Whether it is a peer's claim that the packaged reader alone has read, and no nearer than what people
    stored here about the same thing: then it does not count even where the reader sees no answer in ours. It
    may be mistaken, and claims can be made to please it."""
    if not is_claim(said.note.source) or said.curve is not model_reader.ranked():
        return False
    ours = [one.relevance or 0.0 for one in notes if _binds(one) and not is_claim(one.source)]
    return bool(ours) and max(ours) >= (said.note.relevance or 0.0) - BESIDE


def _next_to(first: _Said, said: Iterable[_Said]) -> Evidence | None:
    """The likeliest other note, if it is nearly as likely and nothing is known against it."""
    others = [
        one
        for one in said
        if one is not first
        and is_peoples(one.note)
        and is_claim(one.note.source) == is_claim(first.note.source)
        and not one.is_hasty
        and one.share >= NEXT_SHARE * first.share
    ]
    best = max(others, key=lambda one: one.share, default=None)
    return None if best is None else best.note


def _likeliest(one: _Said) -> tuple[bool, float]:
    """Ours first."""
    return is_claim(one.note.source), -one.share


def _places(notes: Sequence[Evidence]) -> list[model_reader.Place]:
    """A peer's claim, however near, does not put what people stored here behind."""
    near = [one.relevance or 0.0 for one in notes]
    ours = [value for value, one in zip(near, notes, strict=True) if not is_claim(one.source)]
    firsts = [max(near) if is_claim(one.source) else max(ours) for one in notes]
    return [(value, first - value) for value, first in zip(near, firsts, strict=True)]


async def _by_trained(reader: NoteReader | None, asked: str, notes: Sequence[Evidence]) -> dict[int, float]:
    """The log odds of the English notes by their places; empty where there is no reader for the question."""
    if reader is None or not may_be_english(asked):
        return {}
    odds: dict[int, float] = {}
    told = {at: f"{one.about} {plain(one.text)}" for at, one in enumerate(notes) if may_be_english(one.text)}
    for wording in {asked, addressed(asked, _NAME)}:
        some = [at for at, text in told.items() if addressed(asked, text) == wording]
        try:
            scores = await reader.score(wording, [told[at] for at in some])
        except Unavailable:
            return {}
        odds |= dict(zip(some, scores, strict=True))
    return odds


def addressed(asked: str, note: str) -> str:
    """The question, with the name behind it of who is spoken to where the note names the node."""
    return f"{asked} {_WHO_YOU_ARE}" if _NAME in note and _YOU.search(asked) else asked


async def _by_model(
    readers: Readers,
    asked: str,
    notes: Sequence[Evidence],
    pack: Pack,
    *,
    deadline: float,
    tag: str,
    beside: int,
) -> dict[int, tuple[float, float]]:
    """By the note's identity the log odds, and the milliseconds that they took; of those that it read. The
    first ``beside`` notes were read by the packaged reader, whom no unmeasured model disturbs."""
    curve = model_reader.packaged()
    said: dict[int, tuple[float, float]] = {}
    is_held = False
    for place, one in enumerate(notes):
        blocks = pack([one]).blocks
        if not blocks or (is_claim(one.source) and is_held) or (readers.unmeasured and place < beside):
            continue
        result = await readers.chain.first(
            model_reader.check(addressed(asked, blocks[0].told), blocks[0], tag, curve),
            lambda draft: (model_reader.log_odds(draft, curve), draft.model),
            deadline=deadline,
        )
        if result.value is None:
            break
        odds, model = result.value
        if place < beside and not model_reader.is_measured(model):
            readers.unmeasured.add(model)
            continue
        said[id(one)] = odds, result.ms
        share = curve.probability(odds)
        is_held = is_held or share >= (SURE if one.note else curve.floor)
        if share >= SURE:
            break
    return said


def is_about_theirs(notes: Sequence[Evidence], vector: Iterable[float] | None = None) -> bool:
    """Whether the question is about what people stored here: by its ``vector`` and the notes near it; without
    a vector a note that is near enough says so by itself."""
    theirs = [(one.relevance or 0.0, one.cosine) for one in notes if is_peoples(one)]
    known = [(relevance, cosine) for relevance, cosine in theirs if cosine is not None]
    return (vector is None and any(map(_binds, notes))) or packaged().concerns(known, vector)


def _binds(one: Evidence) -> bool:
    return is_peoples(one) and (one.relevance or 0.0) >= BOUND


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


def likeliest(read: Sequence[Evidence]) -> list[Evidence]:
    """The notes to quote of those that hold the answer, likeliest first: the first, and the second where it
    is as near."""
    held = [one for one in read if is_note(one)]
    return [
        one
        for one in held[:2]
        if (one.relevance or 0.0) >= (held[0].relevance or 0.0) - BESIDE
        and is_claim(one.source) == is_claim(held[0].source)
    ]


def is_about_it(one: Evidence) -> bool:
    """Whether a note is near enough to be quoted though nobody read it: that is in other languages than
    English, in which the packaged embedder finds any two texts alike, so a word of the question's has to
    stand in it. Of 33 questions to nine notes in five languages that those do not answer 4 have such a note
    instead of 9, of 26 that they answer 25 instead of 26."""
    relevance = one.relevance or 0.0
    has_a_word = one.cosine is None or relevance > max(0.0, one.cosine)
    return relevance >= BOUND and has_a_word


def quotable(evidence: Sequence[Evidence]) -> list[Evidence]:
    """What may be quoted unread: all but the notes known to be about another number, unit or time, and the
    starter entries that are not near."""
    return [one for one in evidence if not is_note(one) or not (one.note or _is_far_starter(one))]


def _is_far_starter(one: Evidence) -> bool:
    if one.source.id != STARTER:
        return False
    return (one.relevance or 0.0) < STARTER_MIN or (one.cosine is not None and one.cosine < STARTER_COSINE)


def is_doubtful(evidence: Sequence[Evidence]) -> bool:
    """Whether the likeliest note is one of people's that is not near: what the packaged reader says of
    questions that are not to the community at all is worth little."""
    first = next(filter(is_note, evidence), None)
    return first is not None and first.source.id != STARTER and not any(map(_binds, evidence))


def quoted(one: Evidence, language: str) -> str:
    """A note as it is quoted: the question it was stored for, then its first sentences and blocks."""
    said = verbatim.cut(plain(one.text), QUOTE_CHARS_MAX)
    heading = reasons.heading(context.source_name(one.source), language, one_line(one.about, 200))
    mark = "\n" if verbatim.begins_with_block(said) else "- "
    return f"{heading}\n{mark}{said}"
