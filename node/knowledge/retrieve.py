"""The one search in documents: behind /chat, the agent, MCP and the evaluation.

``retrieve`` embeds the question and hands it to ``passages``, the rules, which know no clock and no loop:

1.  candidates by keywords and by vector, scored as the profile says; the status of a document costs a little
2.  the floor: where nothing is near enough, nothing is found
3.  chunks near the best are joined with their neighbours; at most so many passages of one document
4.  what supersedes a found document, or is in conflict with it, is brought in beside it
5.  of versions of one thing the newest stands first
A reranker, where there is one, sorts what was found before step 5 and drops nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from node.core.errors import Unavailable
from node.core.ports import Embedder, NoteReader
from node.knowledge import ranking
from node.knowledge.model import Chunk, Corpus, Document, Passage
from node.knowledge.profiles import Profile, Taxonomy, default_name, packaged_tags, profile
from node.knowledge.shelf import Shelf, is_newer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray  # numpy may be missing

    from node.models.embedders.local import LocalTokens

_CHUNKS_OF_A_FILE = 64
"""So many of a document's first chunks are looked at for the one that speaks to a question."""
_READ_CHARS = 2_000
_SHELVES_MAX = 64
STRETCHED_FLOOR = 0.05


@dataclass(frozen=True, slots=True)
class Search:
    """What is searched, and how. ``descriptions``: one chunk a document, for the profile ``file``; for a
    document without one its chunks stand in. ``reader``: sorts what was found; None by default.
    ``no_embedder``: search by keywords alone, as ``RAG_USE_FALLBACK=1`` asks. ``cosines``: what the embedder
    gives for texts that have nothing to do with one another, and for the nearest: they count as 0 and 1."""

    corpus: Corpus
    embedder: Embedder
    profile: Profile = field(default_factory=profile)
    tags: Taxonomy = field(default_factory=packaged_tags)
    descriptions: Corpus | None = None
    reader: NoteReader | None = None
    tokens: LocalTokens | None = None
    no_embedder: bool = False
    cosines: tuple[float, float] = (0.0, 1.0)
    _shelves: dict[tuple[str, ...], tuple[Sequence[Document], Shelf]] = field(default_factory=dict)

    def near(
        self, corpus: Corpus, vector: NDArray[np.float32] | None, scopes: Sequence[str], limit: int
    ) -> dict[int, float]:
        """Chunk ids with how near they are, best first. Blocking."""
        least, most = self.cosines
        found = corpus.dense(vector, scopes, limit) if vector is not None and limit else ()
        return {one: (cosine - least) / (most - least) for one, cosine in found}

    def shelf(self, scopes: Sequence[str]) -> Shelf:
        """The documents of ``scopes``; sorted anew when the corpus gives another list. Blocking."""
        documents = self.corpus.documents(scopes)
        kept = self._shelves.get(tuple(scopes))
        if kept is None or kept[0] is not documents:
            if len(self._shelves) >= _SHELVES_MAX:
                self._shelves.clear()
            kept = self._shelves[tuple(scopes)] = (documents, Shelf(documents))
        return kept[1]


async def retrieve(
    question: str, scopes: Sequence[str], search: Search, *, limit: int | None = None
) -> Sequence[Passage]:
    """The passages that speak to ``question``, best first, at most ``limit`` (default: the profile's); none
    where nothing is near enough. Without an embedder, or for a question longer than its window, by keywords.
    Never raises ``Unavailable``."""
    limit = search.profile.passages if limit is None else limit
    vector = await _vector(question, search)
    rule = (
        search.profile
        if vector is not None or not search.profile.dense
        else profile(default_name("fallback"))
    )
    found = await asyncio.to_thread(_candidates, question, vector, scopes, search, rule)
    if rule.kind == "maxsim" and search.tokens is not None:
        found = await _by_tokens(question, found, search.tokens)
    shelf = await asyncio.to_thread(search.shelf, scopes)
    made = await asyncio.to_thread(passages, question, found, shelf, search, rule, limit)
    if search.reader is not None:
        made = newest_first(await reranked(question, made, search.reader), shelf, rule)
    return made


async def _vector(question: str, search: Search) -> NDArray[np.float32] | None:
    if search.no_embedder or not search.profile.dense:
        return None
    try:
        return (await search.embedder.embed([question]))[0]
    except Unavailable:
        return None


@dataclass(frozen=True, slots=True)
class Found:
    """A candidate. ``score`` in about [0, 1], the penalty of its status not yet taken."""

    chunk: Chunk
    score: float
    parts: Mapping[str, float]


def _candidates(
    question: str, vector: NDArray[np.float32] | None, scopes: Sequence[str], search: Search, rule: Profile
) -> list[Found]:
    """Step 1 without the penalties."""
    cosine = search.near(search.corpus, vector, scopes, rule.dense)
    said = search.corpus.keyword(question, scopes, rule.keyword) if rule.keyword else ()
    bm25 = dict(said)
    chunks = search.corpus.chunks([*dict.fromkeys((*cosine, *bm25))])
    lists = [[one for one in ranked if one in chunks] for ranked in (cosine, bm25) if ranked]
    asked = (rule.dense > 0) + (rule.keyword > 0)
    fused = ranking.reciprocal_rank(lists, rule.k)
    files = _by_file(question, vector, scopes, search, rule) if rule.kind == "file" else {}
    least = min(cosine.values(), default=0.0)  # what only keywords found is no nearer
    found = []
    for one, rank in fused.items():
        chunk = chunks[one]
        parts = {"rank": rank * (rule.k + 1) / asked, "coverage": ranking.covered(question, chunk.searched)}
        parts |= {name: values[one] for name, values in (("cosine", cosine), ("bm25", bm25)) if one in values}
        score = parts["rank"]
        if rule.kind == "jaccard":
            words = ranking.words_of(question), ranking.words_of(chunk.searched)
            score = parts["jaccard"] = ranking.jaccard(*words)
        elif rule.kind == "linear":
            score = ranking.weighed({"cosine": least, **parts}, rule.weights)
        found.append(Found(chunk, score, parts))
    return _of_best_files(question, found, files, search.corpus) if files else found


def _by_file(
    question: str, vector: NDArray[np.float32] | None, scopes: Sequence[str], search: Search, rule: Profile
) -> dict[int, dict[str, float]]:
    """The parts of the file profile by document: vector, tags and BM25 over descriptions, each in [0, 1]."""
    by_id = search.shelf(scopes).by_id
    described = {one for one, document in by_id.items() if document.description}
    asked = search.tags.of(question)
    files: dict[int, dict[str, float]] = {}
    for corpus in filter(None, (search.descriptions, search.corpus)):
        near = search.near(corpus, vector, scopes, rule.dense)
        said = ranking.share_of_best(dict(corpus.keyword(question, scopes, rule.keyword)))
        for one, chunk in corpus.chunks([*dict.fromkeys((*near, *said))]).items():
            if corpus is search.corpus and search.descriptions and chunk.document in described:
                continue
            parts = files.setdefault(chunk.document, {})
            parts["vector"] = max(parts.get("vector", 0.0), near.get(one, 0.0))
            parts["bm25"] = max(parts.get("bm25", 0.0), said.get(one, 0.0))
            covered = ranking.covered(question, chunk.searched)
            parts["coverage"] = max(parts.get("coverage", 0.0), covered)
    for document in by_id.values():
        share = ranking.tag_share(asked, search.tags.kept(document.tags))
        if share and document.status != "missing":
            files.setdefault(document.id, {})["tags"] = share
    scores = {one: ranking.weighed(parts, rule.weights) for one, parts in files.items()}
    best = sorted(files, key=lambda one: -scores[one])[: rule.dense]
    return {one: {**files[one], "file": scores[one]} for one in best}


def _of_best_files(
    question: str, found: Sequence[Found], files: Mapping[int, Mapping[str, float]], corpus: Corpus
) -> list[Found]:
    """Each of the files once, by its best chunk among those found, else among its own."""
    best: dict[int, Found] = {}
    for one in found:
        best.setdefault(one.chunk.document, one)
    made = []
    for document, parts in files.items():
        of_file = best.get(document) or _speaking(question, document, corpus)
        if of_file is not None:
            both = {**of_file.parts, **parts}  # what a description says counts for its file
            both["coverage"] = max(of_file.parts["coverage"], parts.get("coverage", 0.0))
            both["cosine"] = max(of_file.parts.get("cosine", -1.0), parts.get("vector", -1.0))
            made.append(Found(of_file.chunk, parts["file"], both))
    return made


def _speaking(question: str, document: int, corpus: Corpus) -> Found | None:
    """The chunk of a document that has most of the question's words; the first of equals."""
    chunks = corpus.neighbours(document, 0, _CHUNKS_OF_A_FILE - 1)
    scored = [(ranking.covered(question, chunk.searched), chunk) for chunk in chunks]
    if not scored:
        return None
    coverage, chunk = max(scored, key=lambda pair: pair[0])
    return Found(chunk, 0.0, {"coverage": coverage})


async def _by_tokens(question: str, found: Sequence[Found], engine: LocalTokens) -> list[Found]:
    """The candidates scored by MaxSim; as they are where there are no token vectors."""
    try:
        asked, *texts = await engine.tokens([question, *(one.chunk.searched for one in found)])
    except Unavailable:
        return list(found)
    raw = [ranking.full_maxsim(asked, text) for text in texts]
    return [
        Found(one.chunk, ranking.normalised(score), {**one.parts, "maxsim": score})
        for one, score in zip(found, raw, strict=True)
    ]


def passages(
    question: str, found: Sequence[Found], shelf: Shelf, search: Search, rule: Profile, limit: int
) -> list[Passage]:
    """Steps 2 to 5."""
    if not _is_near(found, rule, search):
        return []
    aged = [
        replace(one, score=ranking.aged(one.score, shelf.by_id[one.chunk.document].status, rule.penalties))
        for one in found
        if one.chunk.document in shelf.by_id
    ]
    aged.sort(key=lambda one: -one.score)
    made = _each_once(_joined(aged, shelf, search.corpus, rule), rule.passages)[:limit]
    return newest_first(_with_others(question, made, aged, shelf, search, limit), shelf, rule)


def _is_near(found: Sequence[Found], rule: Profile, search: Search) -> bool:
    """Whether the nearest is near enough by its vector or by the question's words, and by its score. Where
    cosines are stretched (``Search.cosines``) 0 is where nothing is in common, not far below it."""
    is_stretched = search.cosines != (0.0, 1.0)
    least = min(STRETCHED_FLOOR, rule.floor.cosine) if is_stretched else rule.floor.cosine
    return max((one.score for one in found), default=0.0) >= rule.floor.score and any(
        one.parts.get("cosine", -1.0) >= least or one.parts["coverage"] >= rule.floor.coverage
        for one in found
    )


def _joined(found: Sequence[Found], shelf: Shelf, corpus: Corpus, rule: Profile) -> list[Passage]:
    """Step 3: a run of a document's chunks is one passage, where its best chunk stands."""
    if not found:
        return []
    from_score = rule.joined_from * found[0].score
    wanted: dict[int, set[int]] = {}
    of: dict[tuple[int, int], Found] = {}
    for one in found:
        place = one.chunk.ordinal
        is_near = one.score >= from_score > 0
        wanted.setdefault(one.chunk.document, set()).update(
            (place - 1, place, place + 1) if is_near else (place,)
        )
        of[one.chunk.document, place] = one
    made = []
    for document, ordinals in wanted.items():
        parts = []
        for first, last in ranking.runs(one for one in ordinals if one >= 0):
            inside = [of[document, at] for at in range(first, last + 1) if (document, at) in of]
            best = max(inside, key=lambda one: one.score)
            chunks = tuple(corpus.neighbours(document, first, last)) if last > first else (best.chunk,)
            parts.append(Passage(shelf.by_id[document], chunks, best.score, tuple(best.parts.items())))
        parts.sort(key=lambda one: -one.score)
        made += parts[: rule.per_document]
    return sorted(made, key=lambda one: -one.score)


def _each_once(made: Sequence[Passage], first: int) -> list[Passage]:
    """Behind the ``first`` places, from which an answer is made, each document once."""
    seen: set[int] = set()
    out: list[Passage] = []
    for one in made:
        if len(out) < first or one.document.id not in seen:
            out.append(one)
            seen.add(one.document.id)
    return out


def _with_others(
    question: str, made: Sequence[Passage], found: Sequence[Found], shelf: Shelf, search: Search, limit: int
) -> list[Passage]:
    """Step 4: what supersedes a found document stands in front of it and what is in conflict with it behind
    it, where it was not found itself. What does not fit ``limit`` together with these is left out."""
    have = {one.document.id for one in made}
    best: dict[int, Found] = {}
    for candidate in found:
        best.setdefault(candidate.chunk.document, candidate)
    out: list[Passage] = []

    def brought(others: Sequence[Document], why: str, beside: Passage) -> list[Passage]:
        new = [one for one in others if one.id not in have and one.status != "missing"]
        near = [(one, best.get(one.id) or _speaking(question, one.id, search.corpus)) for one in new]
        return [
            Passage(one, (its.chunk,), beside.score, (*its.parts.items(), (why, 1.0)))
            for one, its in near
            if its is not None
        ]

    for one in made:
        newer = brought(shelf.successors(one.document), "supersedes", one)
        group = [*newer, one, *brought(shelf.rivals(one.document), "conflicts", one)]
        if len(out) + len(group) <= limit or not out:
            out += group[:limit]
            have.update(other.document.id for other in group)
    return out


def newest_first(made: Sequence[Passage], shelf: Shelf, rule: Profile) -> list[Passage]:
    """Step 5. Versions of one thing keep the places that they have together, and the scores of those places;
    among them what supersedes stands above what it supersedes, and a later date above an earlier one."""
    out = list(made)
    words = [ranking.words_of(one.text) for one in out]
    for at in range(len(out)):
        for below in range(at + 1, len(out)):
            lower, upper = out[below].document, out[at].document
            if is_newer(lower, upper, shelf) and (
                shelf.are_bound(lower, upper) or ranking.jaccard(words[at], words[below]) >= rule.same_topic
            ):
                moved = replace(out[below], score=out[at].score), replace(out[at], score=out[below].score)
                out[at], out[below] = moved
                words[at], words[below] = words[below], words[at]
    return out


async def reranked(question: str, made: Sequence[Passage], reader: NoteReader) -> list[Passage]:
    """The same passages, sorted by how surely each holds the answer; as they are where the reader fails."""
    try:
        odds = await reader.score(question, [one.text[:_READ_CHARS] for one in made])
    except Unavailable:
        return list(made)
    order = sorted(range(len(made)), key=lambda at: -odds[at])
    scores = [one.score for one in made]
    return [
        replace(made[at], score=score, parts=(*made[at].parts, ("reader", odds[at])))
        for at, score in zip(order, scores, strict=True)
    ]
