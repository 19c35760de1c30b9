"""Whether the documents behind an answer contradict one another, which of them holds, and since when.

Two kinds. By metadata: one document names another in ``supersedes`` or ``conflict_with``; this is certain.
By their words: two sentences that say nearly the same with other dates, figures or names; this is a
suggestion for a person and marked as one.

Pure; bounded by ``SENTENCES_MAX`` a passage. Must not know: questions, models.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import combinations
from typing import Literal

from node.knowledge.model import Document, Passage
from node.knowledge.ranking import jaccard
from node.knowledge.shelf import Shelf, holding, since
from node.language import numbers
from node.language.same_answer import WRONG, same_answer
from node.language.sentences import content_words, figures, sentences
from node.language.tables import ENGLISH
from node.language.tongue import language_of

Kind = Literal["supersedes", "conflict_with", "values"]
SENTENCES_MAX = 40
_NEAR = 0.6
"""Of two sentences' words without figures, so much in common: they speak of one thing."""
_WORDS_MIN = 4
_ENDS = ".,;:!?()\"'"
_FIGURE = re.compile(r"\d")
_NAME = re.compile(r"(?<=[\w,;] )[^\W\d_a-z]\w+")
"""A word with a capital within its sentence."""


@dataclass(frozen=True, slots=True)
class Contradiction:
    """``one`` and ``other``: the documents. ``holds``: the one that holds, None where nothing says which;
    ``since``: from when it does. ``sentences``: what each says, of kind ``values`` only."""

    kind: Kind
    one: Document
    other: Document
    holds: Document | None
    since: date | None
    sentences: tuple[str, str] | None = None

    @property
    def is_suggestion(self) -> bool:
        """Whether it was read out of the words, and may be wrong."""
        return self.kind == "values"


def has_contradiction(found: Iterable[Contradiction], used: Collection[int]) -> bool:
    """Whether one of them is certain and is about a document that the answer rests on (``used``: ids): what
    two documents further down disagree about is another question's."""
    return any(not one.is_suggestion and {one.one.id, one.other.id} & {*used} for one in found)


def contradictions(passages: Sequence[Passage], shelf: Shelf) -> list[Contradiction]:
    """Those between the documents of ``passages``, the certain ones first, one for each pair of documents."""
    documents = {one.document.id: one.document for one in passages}
    certain = [made for pair in combinations(documents.values(), 2) if (made := by_metadata(*pair, shelf))]
    pairs = {frozenset((made.one.id, made.other.id)) for made in certain}
    suggested = []
    read = [(one.document, _sentences(one.text)) for one in passages]
    for (one, said), (other, says) in combinations(read, 2):
        pair = frozenset((one.id, other.id))
        if one.id != other.id and pair not in pairs and (found := _by_values(said, says)) is not None:
            pairs.add(pair)
            suggested.append(_made("values", one, other, shelf, found))
    return certain + suggested


def by_metadata(one: Document, other: Document, shelf: Shelf) -> Contradiction | None:
    """What the metadata says of two documents."""
    if shelf.supersedes(one, other) or shelf.supersedes(other, one):
        return _made("supersedes", one, other, shelf, None)
    if any(rival.id == other.id for rival in shelf.rivals(one)):
        return _made("conflict_with", one, other, shelf, None)
    return None


def _made(
    kind: Kind, one: Document, other: Document, shelf: Shelf, said: tuple[str, str] | None
) -> Contradiction:
    holds = holding(one, other, shelf)
    return Contradiction(kind, one, other, holds, None if holds is None else since(holds), said)


@dataclass(frozen=True, slots=True)
class _Said:
    text: str
    words: frozenset[str]
    figures: frozenset[str]
    names: frozenset[str]


def _sentences(text: str) -> list[_Said]:
    said = []
    for one in sentences(text)[:SENTENCES_MAX]:
        spoken = _spoken(one)
        without = " ".join(word for word in numbers.fold(one).split() if word.strip(_ENDS) not in spoken)
        words = frozenset(word for word in content_words(without) if not _FIGURE.search(word))
        if len(words) >= _WORDS_MIN:
            said.append(
                _Said(one, words, frozenset((*figures(one), *spoken.values())), frozenset(_NAME.findall(one)))
            )
    return said


def _spoken(sentence: str) -> dict[str, str]:
    """The numbers in words of a sentence in its language, with their figures; "one" is an article too."""
    table = numbers.single_words(language_of(sentence, sure=False) or ENGLISH)
    words = (word.strip(_ENDS) for word in numbers.fold(sentence).split())
    return {word: str(table[word]) for word in words if table.get(word, 1) != 1}


def _by_values(said: Sequence[_Said], says: Sequence[_Said]) -> tuple[str, str] | None:
    """The first two sentences that say nearly the same with other values. A sentence that stands on both
    sides word for word is no evidence against another."""
    both = {one.text for one in said} & {one.text for one in says}
    for one in said:
        for other in says:
            if one.text in both or other.text in both or jaccard(one.words, other.words) < _NEAR:
                continue
            if one.names - other.names and other.names - one.names:
                continue  # they speak of two things that are called differently
            if (one.figures - other.figures and other.figures - one.figures) or same_answer(
                one.text, other.text
            ).verdict == WRONG:
                return one.text, other.text
    return None
