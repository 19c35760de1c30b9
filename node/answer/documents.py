"""What the documents of a community say to one question: windows of the passages that were found, read for
whether they hold the answer, and what is known of the documents behind them.

The packaged reader of notes reads the likeliest windows. One logistic curve says how likely each holds the
answer beside the others, a second one, over what the likeliest says and lacks, whether the answer is there at
all (``document_signs``, ``reading.json``; ``python -m bench.documents_curve`` fits both). From ``sure`` on it
is quoted, or given to a model; from ``floor`` on the nearest is quoted and said to be no more than that;
below, nothing is said but what was looked for. Documents are data: sentences that give orders to their reader
are never quoted, and are reported. Raises nothing but cancellation."""

from __future__ import annotations

import asyncio
import functools
import importlib.resources
import math
import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from node.answer import document_signs
from node.answer.evidence.relevance import packaged
from node.core.errors import NodeError, Unavailable
from node.core.model import Citation, Dispute, Evidence, Freshness, InDocuments, SourceRef
from node.core.ports import NoteReader
from node.knowledge.conflicts import Contradiction, contradictions
from node.knowledge.model import Document, Passage
from node.knowledge.ranking import jaccard
from node.knowledge.shelf import Shelf
from node.knowledge.used import used_of
from node.knowledge.windows import Window, orders, windows
from node.language.markup import DATA_MARK
from node.language.orders import CHAT_TOKEN
from node.language.sentences import one_line
from node.language.tongue import may_be_english

KIND = "documents"
"""The kind of source of what comes from documents."""
READ_MAX = 20
"""So many windows are read for one question: four tenths of a second."""
USUAL_NEAR = 0.6
"""How near the likeliest window is where it answers (train): stands in where no embedder has compared."""
NEAR_MAX = 60
"""And of so many windows that the reader cannot read those are taken that are nearest by their vectors."""
RIVALS_READ_MAX = 6
"""And so many of documents that are known to disagree with the one that is quoted."""
WORDS_MAX = 100
"""So many words are quoted: with the places and remarks an answer stays within 120."""
QUOTED_MAX = 4
BESIDE, BESIDE_OTHER = 0.1, 0.7
"""A further window is quoted where it is so probable beside the first: of the same document, and of another
one, which has to be cited too."""
SPEAKS = 0.15
"""Whoever disagrees has a window that is so probable beside the first."""
LIKE, LIKE_MIN = 0.25, 3
"""Or one that shares so many of its words with the quoted one, three at least."""
RELIABILITY = 0.9
SNIPPET_CHARS = 200
_PLACE_WORDS = 4
_QUESTION_CHARS_MAX = 1_000
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")


@dataclass(frozen=True, slots=True)
class Rule:
    """P = 1 / (1 + exp(-weights x signs)): that a window holds the answer (``windows``), that it is there at
    all (``answer``). From ``sure`` on it is told, from ``floor`` on its nearest is shown."""

    windows: tuple[float, ...]
    answer: tuple[float, ...]
    floor: float
    sure: float


@functools.cache
def rule() -> Rule:
    """The one that comes with the node."""
    text = importlib.resources.files(__package__).joinpath("reading.json").read_bytes()
    data: dict[str, Any] = orjson.loads(text)["documents"]
    return Rule(tuple(data["windows"]), tuple(data["answer"]), data["floor"], data["sure"])


def probability(weights: Sequence[float], signs: Sequence[float]) -> float:
    odds = sum(weight * sign for weight, sign in zip(weights, signs, strict=True))
    return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, odds))))


@dataclass(frozen=True, slots=True)
class Said:
    """``window`` holds the answer with the probability ``share``; ``odds``: the reader's; ``near``: how near
    it is to the question by its vector, where the reader cannot read it."""

    window: Window
    share: float
    odds: float | None = None
    near: float = 0.0


@dataclass(frozen=True, slots=True)
class Read:
    """``said``: what holds the answer, likeliest first, what is to be quoted only. ``share``: the probability
    that the answer is there. ``is_sure``: it is told, not only shown as the nearest. ``missing``: documents
    that the question names, that are listed and not there. ``disputes``: between what is said and documents
    near it. ``is_about``: the question is about what stands in documents here, so that nothing else may
    answer it. ``near``: the documents looked at."""

    said: tuple[Said, ...]
    share: float
    is_sure: bool = True
    near: tuple[Document, ...] = ()
    missing: tuple[Document, ...] = ()
    disputes: tuple[Contradiction, ...] = ()
    orders: tuple[Document, ...] = ()
    is_about: bool = False

    @property
    def evidence(self) -> list[Evidence]:
        """What a model is given, or is quoted."""
        return [as_evidence(one.window) for one in self.said]

    @property
    def scopes(self) -> set[str]:
        """Of all documents that what is said names or quotes: nobody else may see it."""
        disputed = [other for one in self.disputes for other in (one.one, one.other)]
        said = [one.window.document for one in self.said]
        return {one.scope for one in (*said, *disputed, *self.orders)} if said else set()

    @property
    def facts(self) -> InDocuments:
        """What the reply tells apart from its text."""
        made_from = [one.window.document for one in self.said]
        made_from += [other for one in self.disputes for other in (one.one, one.other)]
        return InDocuments(
            has_contradiction=bool(self.said) and any(map(is_told, self.disputes)),
            disputes=tuple(map(_told, self.disputes)) if self.said else (),
            orders=tuple(one.path for one in self.orders),
            used=tuple(dict.fromkeys(filter(None, map(used_of, made_from)))),
        )


Nearness = Callable[[str, Sequence[str]], Awaitable[list[float]]]
"""How near each text is to a question by an embedder of many languages: 0 for what has nothing to do with it,
1 for the nearest. Raises ``Unavailable``."""


async def looked_at(
    asked: str, passages: Sequence[Passage], nearness: Nearness | None, most: int = READ_MAX
) -> tuple[list[Window], list[float]]:
    """The windows to be weighed, and how near each is that the reader cannot read: of those the nearest, of
    the others those that have most of the question's words."""
    wide = windows(asked, passages, most if nearness is None else NEAR_MAX)
    some, can_read = wide[:most], may_be_english(asked)
    if nearness is None:
        return some, [USUAL_NEAR] * len(some)
    is_read = [can_read and may_be_english(one.text) for one in wide]
    unread = [one for one, known in zip(wide, is_read, strict=True) if not known]
    try:
        near = await nearness(asked, [one.read for one in unread]) if unread else []
    except NodeError:
        return some, [USUAL_NEAR] * len(some)
    best = sorted(zip(unread, near, strict=True), key=lambda pair: -pair[1])[:most]
    readable = [(one, 0.0) for one, known in zip(some, is_read, strict=False) if known]
    return [one for one, _ in (*readable, *best)], [close for _, close in (*readable, *best)]


async def read(
    question: str,
    passages: Sequence[Passage],
    shelf: Shelf,
    reader: NoteReader | None,
    rarity: Callable[[Collection[str]], Mapping[str, float]],
    vector: Iterable[float] | None = None,
    nearness: Nearness | None = None,
) -> Read:
    """See the module. ``rarity``: as ``Corpus.rarity``; ``vector`` as for ``notes.read``."""
    asked = one_line(CHAT_TOKEN.sub(" ", DATA_MARK.sub(" ", question)), _QUESTION_CHARS_MAX)
    passages = standing(asked, passages, shelf)
    some, near = await looked_at(asked, passages, nearness)
    odds = await _odds(reader, asked, some)
    rows = weighed(asked, some, odds, near, rule())
    made = Read(
        (),
        0.0,
        near=tuple(dict.fromkeys(one.document for one in passages)),
        missing=tuple(shelf.missing_named(asked)),
        orders=tuple(orders(passages)),
        is_about=_is_about(passages, vector),
    )
    if not rows or made.missing:
        return made
    rare = await asyncio.to_thread(rarity, document_signs.roots(asked))
    share = there(asked, rows, passages, rare, rule())
    is_sure = share >= rule().sure
    made = replace(made, share=share, is_sure=is_sure)
    if share < rule().floor:
        return made
    rivals = {one.id for one in shelf.rivals(rows[0].window.document)}
    theirs = [one if one.document.id in rivals else replace(one, chunks=()) for one in passages]
    others, close = await looked_at(asked, theirs, nearness, RIVALS_READ_MAX)
    fresh = [(one, by) for one, by in zip(others, close, strict=True) if one not in some]
    if fresh:
        more = [one for one, _ in fresh]
        odds += await _odds(reader, asked, more)
        rows = weighed(asked, [*some, *more], odds, [*near, *(by for _, by in fresh)], rule())
    said = quoted(rows, document_signs.names(asked, passages))
    disputes = _of_those(said, rows, passages, shelf)
    return replace(made, said=tuple(_with_other_side(said, rows, disputes)), disputes=tuple(disputes))


def weighed(
    asked: str, some: Sequence[Window], odds: Sequence[float | None], near: Sequence[float], by: Rule
) -> list[Said]:
    """The windows with their probabilities, likeliest first."""
    signs = document_signs.window_signs(asked, some, odds, near)
    rows = [
        Said(one, probability(by.windows, row), said, close)
        for one, row, said, close in zip(some, signs, odds, near, strict=True)
    ]
    return sorted(rows, key=lambda one: -one.share)


def there(
    asked: str, rows: Sequence[Said], passages: Sequence[Passage], rarity: Mapping[str, float], by: Rule
) -> float:
    """The probability that the answer is there at all."""
    return probability(by.answer, answer_signs(asked, rows, passages, rarity))


def answer_signs(
    asked: str, rows: Sequence[Said], passages: Sequence[Passage], rarity: Mapping[str, float]
) -> tuple[float, ...]:
    """What the curve of answers weighs."""
    ranked = [(one.window, one.odds, _log_odds(one.share)) for one in rows]
    return document_signs.answer_signs(asked, ranked, passages, rarity, rows[0].near)


def _log_odds(share: float) -> float:
    return math.log(share / (1.0 - share))


def standing(question: str, passages: Sequence[Passage], shelf: Shelf) -> list[Passage]:
    """The passages without those of versions for which another document stands that was found too, unless
    the question names a year: it may be about what held then; and without drafts of what was found, unless
    the question calls them by what the title of the other lacks. Their place stays."""
    found = {one.document.id for one in passages}
    holding = {one.document.id: one.document for one in passages if one.document.status != "draft"}.values()
    kept = []
    for one in passages:
        if one.document.status == "superseded":
            newer = {other.id for other in shelf.successors(one.document) if other.status != "draft"}
            if not newer:  # that a draft stands for it is the draft's wish
                one = replace(one, document=replace(one.document, status="current"))
            elif newer & found and not _YEAR.search(question):
                one = replace(one, chunks=())
        elif one.document.status == "draft":
            held = [other for other in holding if shelf.supersedes(one.document, other)]
            called = document_signs.roots(one.document.title) & document_signs.roots(question)
            if held and not any(called - document_signs.roots(other.title) for other in held):
                one = replace(one, chunks=())
        kept.append(one)
    return kept


def quoted(rows: Sequence[Said], named: Collection[str] = ()) -> list[Said]:
    """The likeliest, and those of other places that are likely beside it, within ``WORDS_MAX`` words. Another
    document has to have the names of the question (``named``) that the first has."""
    first, *rest = rows
    kept, words = [first], _words(first)
    named = [
        one for one in named if document_signs.lacking([one], document_signs.placed(first.window), 1) == 0
    ]
    for one in rest:
        is_same = one.window.document.id == first.window.document.id
        is_likely = one.share >= (BESIDE if is_same else BESIDE_OTHER) * first.share
        fits = len(kept) < QUOTED_MAX and words + _words(one) <= WORDS_MAX
        if not is_same and document_signs.lacking(named, document_signs.placed(one.window), 1):
            continue
        if is_likely and fits and all(_is_apart(one.window, other.window) for other in kept):
            kept.append(one)
            words += _words(one)
    return kept


def _words(one: Said) -> int:
    return len(one.window.text.split()) + _PLACE_WORDS


def _is_apart(one: Window, other: Window) -> bool:
    """Whether neither says part of the other."""
    return one.text not in other.text and other.text not in one.text and not _overlaps(one, other)


def _overlaps(one: Window, other: Window) -> bool:
    same = one.chunk.id == other.chunk.id
    return same and one.first < other.first + other.size and other.first < one.first + one.size


def _of_those(
    said: Sequence[Said], rows: Sequence[Said], passages: Sequence[Passage], shelf: Shelf
) -> list[Contradiction]:
    """Disputes of the quoted documents with others that were found. That a draft stands for something is its
    wish; whoever disagrees has to speak to the question."""
    first = said[0]
    speaking = {
        one.window.document.id
        for one in rows
        if one.share >= SPEAKS * first.share or _is_like(one.window, first.window)
    }
    told = " ".join(" ".join(one.window.text for one in said).split())
    ours = {one.window.document.id for one in said}
    kept = []
    for one in contradictions(passages, shelf):
        pair = {one.one.id, one.other.id}
        is_ours = first.window.document.id in pair or (one.kind != "supersedes" and ours & pair)
        is_wish = one.kind == "supersedes" and "draft" in (one.one.status, one.other.status)
        is_elsewhere = one.kind != "supersedes" and not pair <= speaking
        is_other = one.kind == "values" and not any(
            " ".join(part.split()) in told for part in one.sentences or ()
        )
        if is_ours and not (is_wish or is_elsewhere or is_other):
            kept.append(one)
    return kept


def _is_like(one: Window, other: Window) -> bool:
    """Whether two windows say much in the same words, whatever their figures."""
    words = [
        {root for root in document_signs.roots(each.text) if not root.isdigit()} for each in (one, other)
    ]
    return len(words[0] & words[1]) >= LIKE_MIN and jaccard(*words) >= LIKE


def _with_other_side(
    quoted: Sequence[Said], rows: Sequence[Said], disputes: Sequence[Contradiction]
) -> list[Said]:
    """What is quoted, with the likeliest window of who disagrees and is not known to be wrong, in the place
    of the least likely."""
    ours = {one.window.document.id for one in quoted}
    kept = list(quoted)
    for one in disputes:
        others = {one.one.id, one.other.id} - ours
        if one.kind != "conflict_with" or len(others) != 1:
            continue
        said = next((row for row in rows if row.window.document.id in others), None)
        if said is None:
            continue
        while len(kept) > 1 and sum(map(_words, (*kept, said))) > WORDS_MAX:
            kept.pop()
        kept.append(said)
        ours |= others
    return kept


def is_told(one: Contradiction) -> bool:
    """Whether two documents say different things and neither is known to replace the other."""
    return one.kind != "supersedes"


def _told(one: Contradiction) -> Dispute:
    return Dispute(
        one.kind,
        one.one.path,
        one.other.path,
        None if one.holds is None else one.holds.path,
        one.since,
        one.sentences or ("", ""),
    )


async def _odds(reader: NoteReader | None, asked: str, some: Sequence[Window]) -> list[float | None]:
    """The log odds of the English windows by the packaged reader, which knows no other language."""
    if reader is None or not may_be_english(asked):
        return [None] * len(some)
    read = [at for at, one in enumerate(some) if may_be_english(one.text)]
    try:
        odds = await reader.score(asked, [some[at].read for at in read])
    except Unavailable:
        return [None] * len(some)
    found = dict(zip(read, odds, strict=True))
    return [found.get(at) for at in range(len(some))]


def _is_about(passages: Sequence[Passage], vector: Iterable[float] | None) -> bool:
    """Whether a question is about what people here wrote, by the rule for their notes."""
    near = [(dict(one.parts).get("cosine", 0.0), dict(one.parts).get("coverage", 0.0)) for one in passages]
    rule = packaged()
    known = [(max(0.0, cosine) + rule.weight * coverage, cosine) for cosine, coverage in near]
    return rule.concerns(known, vector)


def place_of(one: Window) -> str:
    """Where in its document a window stands: the page, else the nearest heading."""
    if one.chunk.page is not None:
        return f"page {one.chunk.page}"
    return one.chunk.heading[-1] if one.chunk.heading else ""


def mark(one: Window) -> str:
    """``[file, page 3]``."""
    return f"[{', '.join(filter(None, (one.document.path, place_of(one))))}]"


def as_evidence(one: Window) -> Evidence:
    """A window as evidence, with where it stands."""
    document = one.document
    cid = None if document.cid is None else str(document.cid)
    url = None if cid is None else f"ipfs://{cid}"
    citation = Citation(
        document.path,
        place_of(one),
        one_line(one.text, SNIPPET_CHARS),
        url,
        document.last_modified,
        cid,
        document.status,
    )
    source = SourceRef(KIND, document.path, url, document.last_modified)
    return Evidence(
        text=one.text,
        source=source,
        confidence=RELIABILITY,
        freshness=Freshness.GENERAL,
        partial=True,
        citations=(citation,),
        about=one.above,
    )
