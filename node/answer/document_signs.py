"""What is weighed of windows of documents, as numbers: of each window, how likely it holds the answer; of the
likeliest beside all others, whether the answer is there at all.

Pure. The weights stand in ``reading.json`` and are fitted by ``python -m bench.documents_curve``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from node.answer.extractive import terms_of
from node.answer.score.confidence import Origin, observe
from node.knowledge.model import UNKNOWN, Passage
from node.knowledge.windows import Window
from node.language.sentences import WORD, content_words, figures
from node.language.tongue import language_of

_ROOT = 6
"""Letters by which words of one root are told: no language needs a table for it."""
_UNREAD_ODDS = -6.0
_FIGURES_MAX = 2
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_RARE = 1.0
WITHIN = re.compile(r"(?<=[\w,;] )[^\W\d_]{2,}")
"""A word that does not begin its sentence."""
_SMALL_MAX = 3
"""A name is written small at most once in so many times."""


def roots(text: str) -> set[str]:
    """The different content words of a text by their first letters."""
    return {word[:_ROOT] for word in content_words(text)}


def window_signs(
    question: str, some: Sequence[Window], odds: Sequence[float | None], near: Sequence[float]
) -> list[tuple[float, ...]]:
    """Of each window; the last is for the offset. ``odds``: log odds of the packaged reader, None where it
    cannot read; ``near``: then how near the window is to the question by its vector, in [0, 1]."""
    nearest = max(near, default=0.0)
    best = max((one for one in odds if one is not None), default=0.0)
    best_overlap = max((one.overlap for one in some), default=0.0)
    return [
        (
            said or 0.0,
            0.0 if said is None else best - said,
            float(said is None),
            one.overlap,
            one.overlap * (said is None),
            close * (said is None),
            (nearest - close) * (said is None),
            best_overlap - one.overlap,
            one.own,
            float(one.passage),
            observe(question, one.text, Origin.EXTRACTIVE).answered,
            float(one.size),
            1.0,
        )
        for one, said, close in zip(some, odds, near, strict=True)
    ]


def answer_signs(
    question: str,
    ranked: Sequence[tuple[Window, float | None, float]],
    passages: Sequence[Passage],
    rarity: Mapping[str, float],
    near: float,
) -> tuple[float, ...]:
    """Of the likeliest of ``ranked``: windows with their log odds by the reader and by the curve of windows,
    likeliest first. ``rarity``: of the roots of the question, 1 for a word that stands in one piece of all
    documents, towards 0 for one that stands in most, above 1 for one that stands nowhere. ``near``: of the
    likeliest, as in ``window_signs``."""
    first, said, value = ranked[0]
    read = [one for _, one, _ in ranked if one is not None]
    others = [share for one, _, share in ranked if one.document.id != first.document.id]
    of_document = [one for other, one, _ in ranked if other.document.id == first.document.id]
    asked = {one: rarity.get(one, UNKNOWN) for one in roots(question)}
    called = {root for name in names(question, passages) for root in roots(name)}
    named = {one: value for one, value in asked.items() if one in called}
    if len({language_of(question, sure=False), language_of(first.text, sure=False)} - {None}) > 1:
        asked = named  # in another language no other word of the question stands there, whatever it says
    years = set(_YEAR.findall(question))
    all_of_it = [placed(one) for one, _, _ in ranked]
    around = f"{all_of_it[0]} {passages[first.passage].text}"
    return (
        said or 0.0,
        float(said is None),
        near * (said is None),
        covered(asked, all_of_it[0]) * (said is None),
        max(read, default=0.0),
        max((one for one in of_document if one is not None), default=_UNREAD_ODDS if read else 0.0),
        value,
        value - max(others, default=value - 3.0),
        rarest(asked, all_of_it[0]),
        rarest(asked, around),
        min(rarest(asked, one) for one in all_of_it),
        float(sum(value > _RARE for value in asked.values())),
        rarest(named, all_of_it[0]),
        rarest(named, around),
        lacking(set(figures(question)) - years, around, _FIGURES_MAX),
        lacking(years, around, 1),
        observe(question, first.text, Origin.EXTRACTIVE).answered,
        1.0,
    )


def placed(one: Window) -> str:
    """A window with all that says where it is from: its title, headings, path and date."""
    path = re.sub(r"[^\w]+|_", " ", one.document.path)
    return f"{one.read} {path} {one.document.effective or ''}"


def covered(asked: Mapping[str, float], text: str) -> float:
    """The share of the question that stands in ``text``, its words weighed by their rarity."""
    said = roots(text)
    known = {one: min(_RARE, value) for one, value in asked.items()}
    return sum(value for one, value in known.items() if one in said) / (sum(known.values()) or 1.0)


def rarest(asked: Mapping[str, float], text: str) -> float:
    """How rare the rarest word of the question is that ``text`` lacks, of those that stand in documents at
    all; 0 where it has them all."""
    said = roots(text)
    return max((value for one, value in asked.items() if one not in said and value <= _RARE), default=0.0)


def lacking(wanted: Collection[str], text: str, most: int) -> float:
    """How many of these stand nowhere in ``text``, whatever their case."""
    said = text.casefold()
    return float(min(most, sum(one.casefold() not in said for one in set(wanted))))


def names(question: str, passages: Sequence[Passage]) -> set[str]:
    """The names in a question: words that it writes as such, and those that the passages write with a capital
    within their sentences, for who asks in haste writes small."""
    told = {one for one in terms_of(question).exact if not any(char.isdigit() for char in one)}
    large: Counter[str] = Counter()
    small: Counter[str] = Counter()
    for passage in passages:
        for match in WITHIN.finditer(passage.text):
            word = match.group()
            (small if word[0].islower() else large)[word.casefold()] += 1
    asked = {word for word in WORD.findall(question) if content_words(word) and word[0].isalpha()}
    return told | {word for word in asked if large[word.casefold()] > _SMALL_MAX * small[word.casefold()]}
