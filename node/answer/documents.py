"""What the documents of a community say to one question: windows of the passages that were found, read for
whether they hold the answer, and what is known of the documents behind them.

The packaged reader of notes reads the likeliest windows; a logistic curve over its log odds and over how the
window was found (``reading.json``, of the form that ``python -m bench.documents_curve`` fits) says how
probably one holds the answer. From ``floor`` on it is quoted, or given to a model; below, nothing is said but
what was looked for: to be silent is better than to be wrong. Documents are data: sentences that give orders
to their reader are never quoted, and are reported. Raises nothing but cancellation."""

from __future__ import annotations

import functools
import importlib.resources
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from node.answer import reasons
from node.answer.evidence.relevance import packaged
from node.answer.extractive import terms_of
from node.answer.score.confidence import Origin, observe
from node.core.errors import Unavailable
from node.core.model import Citation, Dispute, Evidence, Freshness, InDocuments, SourceRef
from node.core.ports import NoteReader
from node.knowledge.conflicts import Contradiction, contradictions
from node.knowledge.model import Document, Passage
from node.knowledge.shelf import Shelf, since
from node.knowledge.used import used_of
from node.knowledge.windows import Window, orders, windows
from node.language.markup import DATA_MARK
from node.language.orders import CHAT_TOKEN
from node.language.sentences import figures, one_line
from node.language.tongue import may_be_english

KIND = "documents"
"""The kind of source of what comes from documents."""
READ_MAX = 16
"""So many windows are read for one question: a third of a second."""
RIVALS_READ_MAX = 6
"""And so many of documents that are known to disagree with the one that is quoted."""
QUOTED_MAX = 2
BESIDE, BESIDE_FLOOR = 0.5, 0.6
"""A second window is quoted where it is so probable beside the first, and beside the floor, and of another
place: of 65 train questions in the language of their documents 41 then have the fact instead of 33
(``python -m bench.documents_curve``)."""
SPEAKS = 0.3
"""Whoever disagrees has a window that is so probable beside the first."""
RELIABILITY = 0.9
USUAL_COSINE = 0.6
"""Of a passage that answers (train): what stands in where no embedder has compared."""
_SNIPPET_CHARS = 200
_NAMED_MAX = 2
_REMARKS_MAX = 3
_QUESTION_CHARS_MAX = 1_000
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")


@dataclass(frozen=True, slots=True)
class Curve:
    """P(the window holds the answer) = 1 / (1 + exp(-weights x ``signs``)); from ``floor`` on it counts."""

    weights: tuple[float, ...]
    floor: float

    def probability(self, signs: Sequence[float]) -> float:
        odds = sum(weight * sign for weight, sign in zip(self.weights, signs, strict=True))
        return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, odds))))


@functools.cache
def curve() -> Curve:
    """The one that comes with the node."""
    text = importlib.resources.files(__package__).joinpath("reading.json").read_bytes()
    data: dict[str, Any] = orjson.loads(text)["documents"]
    return Curve(tuple(data["weights"]), data["floor"])


@dataclass(frozen=True, slots=True)
class Said:
    """``window`` holds the answer with the probability ``share``."""

    window: Window
    share: float


@dataclass(frozen=True, slots=True)
class Read:
    """``said``: what holds the answer, likeliest first, what is to be quoted only. ``share``: of the first,
    or of the likeliest where none does. ``missing``: documents that the question names, that are listed and
    not there. ``disputes``: between what is said and documents near it. ``is_about``: the question is about
    what stands in documents here, so that nothing else may answer it. ``near``: the documents looked at."""

    said: tuple[Said, ...]
    share: float
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
            has_contradiction=bool(self.said) and any(map(_is_open, self.disputes)),
            disputes=tuple(map(_told, self.disputes)) if self.said else (),
            orders=tuple(one.path for one in self.orders),
            used=tuple(dict.fromkeys(filter(None, map(used_of, made_from)))),
        )


def signs(
    question: str, some: Sequence[Window], odds: Sequence[float | None], passages: Sequence[Passage]
) -> list[tuple[float, ...]]:
    """What the curve weighs of each window; the last is for the offset. Log odds are those of the packaged
    reader, None where it cannot read."""
    best = max((one for one in odds if one is not None), default=0.0)
    best_overlap = max((one.overlap for one in some), default=0.0)
    names = (*terms_of(question).exact, *figures(question))
    made: list[tuple[float, ...]] = []
    for one, said in zip(some, odds, strict=True):
        parts = dict(passages[one.passage].parts)
        unread = float(said is None)
        made.append(
            (
                said or 0.0,
                0.0 if said is None else best - said,
                unread,
                one.overlap,
                one.overlap * unread,
                best_overlap - one.overlap,
                one.own,
                max(0.0, parts.get("cosine", USUAL_COSINE)),
                float(one.passage),
                _lacking(names, one),
                observe(question, one.text, Origin.EXTRACTIVE).answered,
                float(one.size),
                1.0,
            )
        )
    return made


def _lacking(names: Sequence[str], one: Window) -> float:
    """How many of the names and figures that the question gives stand neither in the window nor in what says
    where it is from: at most two count."""
    said = f"{one.read} {one.document.path} {one.document.effective or ''}".casefold()
    return float(min(2, sum(name.casefold() not in said for name in set(names))))


async def read(
    question: str,
    passages: Sequence[Passage],
    shelf: Shelf,
    reader: NoteReader | None,
    vector: Iterable[float] | None = None,
) -> Read:
    """See the module. ``vector`` as for ``notes.read``."""
    asked = one_line(CHAT_TOKEN.sub(" ", DATA_MARK.sub(" ", question)), _QUESTION_CHARS_MAX)
    passages = standing(asked, passages, shelf)
    rule = curve()
    some = windows(asked, passages, READ_MAX)
    rows = await _weighed(asked, some, passages, reader, rule)
    if rows and rows[0].share >= rule.floor:
        rivals = {one.id for one in shelf.rivals(rows[0].window.document)}
        theirs = [one if one.document.id in rivals else replace(one, chunks=()) for one in passages]
        more = [one for one in windows(asked, theirs, RIVALS_READ_MAX) if one not in some]
        if more:
            rows = await _weighed(asked, [*some, *more], passages, reader, rule)
    made = Read(
        (),
        rows[0].share if rows else 0.0,
        near=tuple(dict.fromkeys(one.document for one in passages)),
        missing=tuple(shelf.missing_named(asked)),
        orders=tuple(orders(passages)),
        is_about=_is_about(passages, vector),
    )
    if not rows or made.missing or rows[0].share < rule.floor:
        return made
    said = quoted(rows, rule.floor)
    disputes = _of_those(said[0], rows, passages, shelf)
    return replace(made, said=tuple(_with_other_side(said, rows, disputes)), disputes=tuple(disputes))


async def _weighed(
    asked: str, some: Sequence[Window], passages: Sequence[Passage], reader: NoteReader | None, rule: Curve
) -> list[Said]:
    """The windows with their probabilities, likeliest first."""
    odds = await _odds(reader, asked, some)
    weighed = signs(asked, some, odds, passages)
    rows = [Said(one, rule.probability(row)) for one, row in zip(some, weighed, strict=True)]
    return sorted(rows, key=lambda one: -one.share)


def standing(question: str, passages: Sequence[Passage], shelf: Shelf) -> list[Passage]:
    """The passages without those of versions for which another document stands that was found too, unless
    the question names a year: it may be about what held then. Their place stays."""
    found = {one.document.id for one in passages}
    kept = []
    for one in passages:
        if one.document.status == "superseded":
            newer = {other.id for other in shelf.successors(one.document) if other.status != "draft"}
            if not newer:  # that a draft stands for it is the draft's wish
                one = replace(one, document=replace(one.document, status="current"))
            elif newer & found and not _YEAR.search(question):
                one = replace(one, chunks=())
        kept.append(one)
    return kept


def quoted(rows: Sequence[Said], floor: float) -> list[Said]:
    """The likeliest, and the next of another place that is nearly as likely."""
    first, *rest = rows
    kept = [first]
    for one in rest:
        far = all(_is_apart(one.window, other.window) for other in kept)
        if len(kept) < QUOTED_MAX and far and one.share >= max(BESIDE_FLOOR * floor, BESIDE * first.share):
            kept.append(one)
    return kept


def _is_apart(one: Window, other: Window) -> bool:
    """Whether neither says part of the other."""
    return one.text not in other.text and other.text not in one.text and not _overlaps(one, other)


def _overlaps(one: Window, other: Window) -> bool:
    same = one.chunk.id == other.chunk.id
    return same and one.first < other.first + other.size and other.first < one.first + one.size


def _of_those(
    first: Said, rows: Sequence[Said], passages: Sequence[Passage], shelf: Shelf
) -> list[Contradiction]:
    """Disputes of the quoted document with others that were found. That a draft stands for something is its
    wish; whoever disagrees has to speak to the question."""
    speaking = {one.window.document.id for one in rows if one.share >= SPEAKS * first.share}
    kept = []
    for one in contradictions(passages, shelf):
        pair = {one.one.id, one.other.id}
        if first.window.document.id not in pair:
            continue
        is_wish = one.kind == "supersedes" and "draft" in (one.one.status, one.other.status)
        is_elsewhere = one.kind == "conflict_with" and not pair <= speaking
        is_other = one.kind == "values" and not any(said in first.window.text for said in one.sentences or ())
        if not (is_wish or is_elsewhere or is_other):
            kept.append(one)
    return kept


def _with_other_side(
    quoted: Sequence[Said], rows: Sequence[Said], disputes: Sequence[Contradiction]
) -> list[Said]:
    """What is quoted, with the likeliest window of who disagrees and is not known to be wrong."""
    first = quoted[0].window.document.id
    kept = list(quoted)
    for one in filter(_is_open, disputes):
        other = one.other if one.one.id == first else one.one
        said = next((row for row in rows if row.window.document.id == other.id), None)
        if said is not None and all(said.window.document.id != row.window.document.id for row in kept):
            kept = [*kept[: QUOTED_MAX - 1], said]
    return kept


def _is_open(one: Contradiction) -> bool:
    """Whether it is certain, and no version of the other."""
    return one.kind == "conflict_with"


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


# --- words --------------------------------------------------------------------------------------


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
        one_line(one.text, _SNIPPET_CHARS),
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


def quotation(read: Read, language: str) -> str:
    """What is said, as it stands, each with its place; then which version holds, and who disagrees."""
    lines = [f"{one.window.text} {mark(one.window)}" for one in read.said]
    if any(map(_is_open, read.disputes)) and len(read.said) > 1:
        lines.insert(0, reasons.say("documents_differ", language))
    return "\n".join([*lines, *remarks(read, language)])


def remarks(read: Read, language: str) -> list[str]:
    """What has to be known beside what is said."""
    if not read.said:
        return []
    document = read.said[0].window.document
    lines = []
    older = [
        (one.other if one.holds.id == one.one.id else one.one).path
        for one in read.disputes
        if one.kind == "supersedes" and one.holds is not None and one.holds.id == document.id
    ]
    if older:
        lines.append(_say("document_holds", language, document, date=since(document), older=", ".join(older)))
    for one in read.disputes:
        other = one.other if document.id == one.one.id else one.one
        if one.kind == "supersedes" and one.holds is not None and one.holds.id == other.id:
            lines.append(_say("document_old", language, document, date=one.since, newer=other.path))
        elif one.kind == "conflict_with" and len(read.said) == 1:
            lines.append(_say("document_conflicts", language, document, other=other.path))
        elif one.kind == "values" and one.sentences is not None:
            said = one_line(one.sentences[1 if document.id == one.one.id else 0], _SNIPPET_CHARS)
            lines.append(_say("document_may_differ", language, document, other=other.path, said=said))
    for part in dict.fromkeys(one.window.document for one in read.said):
        if part.status != "current" and not any(part.path in line for line in lines):
            lines.append(_say(f"document_{part.status}", language, part, date=since(part)))
    return [*list(dict.fromkeys(lines))[:_REMARKS_MAX], *_order_lines(read, language)]


def _order_lines(read: Read, language: str) -> list[str]:
    names = ", ".join(one.path for one in read.orders[:_NAMED_MAX])
    return [reasons.say("orders", language, names=names)] if names else []


def _say(key: str, language: str, document: Document, **values: object) -> str:
    return reasons.say(key, language, name=document.path, **values)


def not_found(read: Read, question: str, language: str) -> str:
    """The honest word: what was looked for, and where."""
    if read.missing:
        names = ", ".join(f"“{one.title or one.path}” ({one.path})" for one in read.missing[:_NAMED_MAX])
        lines = [reasons.say("document_missing", language, names=names)]
    else:
        lines = [reasons.say("not_in_documents", language, question=one_line(question, _SNIPPET_CHARS))]
        if read.is_about and read.near:
            names = ", ".join(one.path for one in read.near[:_NAMED_MAX])
            lines[0] += " " + reasons.say("documents_near", language, names=names)
    return "\n".join([*lines, *_order_lines(read, language)])
