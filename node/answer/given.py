"""What an answer is made from, and what is said where no model has answered, or was not sure enough: notes,
documents, sentences of the evidence, or an honest word. Raises nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from node.answer import context, document_words, documents, extractive, notes, quotes, reasons
from node.answer.chain import Result
from node.answer.composed import Composed, Trail, account
from node.answer.peer_claims import heard, is_claim
from node.core.model import Evidence, SourceRef, Step

KEEP_WHOLE_CHARS = 400
"""Evidence up to this length is given to the model whole."""
NOTE_CHARS_MAX = 700
"""A stored note up to this length is given whole."""
CONTEXT_SENTENCES_MAX = 8
"""At most so many sentences of one long text reach the model."""
TOLD_MIN = 0.8
"""From this probability on that people's notes hold the answer, a model tells it in its own words: the bar of
all that is stored. Below, the notes themselves are shown, said to be the nearest; a small model that is not
sure tells them wrongly too often."""
FOUND_MIN = 0.5
"""A note that holds the answer so surely is quoted where the model could not put it into words."""


@dataclass(frozen=True, slots=True)
class Given:
    """What an answer is made from. ``kept`` is for a model to read, ``evidence`` may be quoted. ``found``,
    ``told``, ``near``, ``next`` and ``is_near_theirs`` as in ``notes.Read``; ``is_bound``: the question is
    about people's notes, so nothing else may answer it; ``writes``: a text is wanted that nobody has
    stored."""

    kept: Sequence[Evidence]
    evidence: Sequence[Evidence]
    found: float | None = None
    told: float | None = None
    near: Evidence | None = None
    next: Evidence | None = None
    is_bound: bool = False
    is_near_theirs: bool = False
    writes: bool = False
    documented: documents.Read | None = None

    def with_documents(self) -> Given:
        """With what documents say: the surer of them and the notes counts, and nothing else may answer."""
        read = self.documented
        if read is None or not read.said:
            return self
        told = max(self.told or 0.0, read.share)
        return replace(self, told=told, is_bound=self.is_bound or (read.is_about and not self.writes))

    def after(self, read: notes.Read) -> Given:
        """Narrowed to what the readers of notes found in them."""
        is_bound = read.bound and not self.writes
        return replace(
            self,
            kept=read.kept,
            evidence=read.kept,
            found=read.found,
            told=read.told,
            near=read.near,
            next=read.next,
            is_bound=is_bound,
            is_near_theirs=read.is_near_theirs and not self.writes,
        )

    @property
    def has_text(self) -> bool:
        """Whether the asker pasted a text."""
        return any(one.source.kind == context.PASTED for one in self.evidence)


def told_as_said(result: Result[Composed], trail: Trail) -> Composed:
    """What a model said with what was tried for it, or a fallback with an empty text."""
    trail.extend(result.steps)
    if result.value is None:
        return replace(quotes.unanswered(""), tried=trail.steps, retry_after_s=result.retry_after_s)
    outcome = "ok" if result.value.complete else "cut"
    trail.extend((Step("generate", outcome, account(result.value), result.ms),))
    return replace(result.value, tried=trail.steps)


def unsure_notes(given: Given, read: notes.Read, trail: Trail, language: str) -> Composed | None:
    """People's notes themselves, or the honest word that none says it, where it is not sure enough that they
    hold the answer for a model to tell it."""
    is_sure = (given.found or 0.0) >= TOLD_MIN
    if not given.is_bound or is_sure or not all(map(notes.is_note, given.kept)):
        return None
    unsure = list(given.kept or ([given.near] if given.near else []))
    if len(unsure) == 1 and given.next is not None:
        unsure.append(given.next)
    told = quotes.from_unsure(unsure, trail, language) or quotes.not_there(language)
    return replace(told, found=given.found or read.near_found)


def not_in_documents(given: Given, question: str, missing: str | None, language: str) -> Composed | None:
    """The honest word where the question is about documents, or names one that is not there, and nothing
    that was found says it."""
    read = given.documented
    if read is None or missing is not None or given.kept or given.near is not None or given.writes:
        return None
    if not (read.missing or (read.is_about and not read.said)):
        return None
    return _silent(read, question, language)


def _silent(read: documents.Read, question: str, language: str) -> Composed:
    text, source = document_words.not_found(read, question, language), SourceRef("fallback", documents.KIND)
    return Composed(text, source, abstained=True, found=0.0, documents=read.facts)


def unsure_documents(given: Given, missing: str | None, trail: Trail, language: str) -> Composed | None:
    """Documents themselves, where it is not sure enough that they hold the answer for a model to tell it: its
    words would be no surer, and be taken away again after the wait for them."""
    read = given.documented
    if read is None or not read.said or missing is not None or given.writes or read.share >= TOLD_MIN:
        return None
    if any(one.source.kind != documents.KIND for one in given.kept):
        return None
    return from_documents(read, trail, language)


def from_documents(read: documents.Read, trail: Trail, language: str) -> Composed:
    """What documents say, as it stands."""
    trail.add("extract", "ok", f"{len(read.said)} windows of documents as they stand")
    first = read.evidence[0].source
    return Composed(
        text=document_words.quotation(read, language),
        source=first,
        citations=tuple(citation for one in read.evidence for citation in one.citations),
        grounded=True,
        cited=True,
        found=read.share,
        unsure=not read.is_sure,
        documents=read.facts,
    )


def with_remarks(composed: Composed, given: Given, language: str) -> Composed:
    """A model's answer with what has to be known of the documents behind it."""
    read = given.documented
    cites = any(one.cid is not None for one in composed.citations)
    if read is None or composed.source.kind != "llm" or not (cites and read.said):
        return composed
    lines = [one for one in document_words.remarks(read, language) if one not in composed.text]
    facts = replace(read.facts, uncited=composed.uncited_figures)
    return replace(composed, text="\n\n".join([composed.text, *lines]), documents=facts)


def without_claims(given: Given, question: str, trail: Trail) -> Given:
    """Peers' claims go where people here know of it."""
    ours = heard(question, given.kept)
    if not (left_out := len(given.kept) - len(ours)):
        return given
    trail.add("claims", "left_out", f"{left_out} texts of peers: what is known here comes first")
    return replace(given, kept=ours, evidence=[one for one in given.evidence if not is_claim(one.source)])


def settled(composed: Composed, given: Given, ms: float, trail: Trail, language: str) -> Composed:
    """A model's answer, or notes in its place where it has none."""
    outcome = "ok" if composed.complete else "cut"
    trail.extend((Step("generate", outcome, account(composed), ms),))
    read = given.documented
    if composed.abstained and read is not None and read.said:
        return from_documents(read, trail, language)
    if composed.abstained:
        # What the node brings with it is quoted where the model, which read it, has nothing better.
        is_read = given.found is not None and (given.found >= FOUND_MIN or not given.is_bound)
        quotable = given.evidence if is_read else [given.near] if given.near else []
        composed = quotes.from_notes(quotable, trail, language) or composed
    retold = filter(notes.is_peoples, given.kept) if composed.grounded and not given.writes else ()
    return replace(composed, notes=tuple(retold))


def without_model(
    question: str,
    given: Given,
    missing: str | None,
    tried: Sequence[Step],
    trail: Trail,
    language: str,
    read: Sequence[str],
) -> Composed:
    """What is said where no model has answered: notes, documents, sentences of the evidence, or an honest
    word."""
    documented = given.documented
    if documented is not None and documented.said and (given.found or 0.0) < documented.share:
        return from_documents(documented, trail, language)
    said = (
        _quoted(given, trail, language)
        or quotes.from_quotes(question, _quotable(given), missing, trail, language, read)
        or quotes.fallback(missing, given.evidence, tried, trail, language)
    )
    is_alone = said.source.kind == "fallback" and not (given.has_text or given.writes or missing)
    if documented is not None and is_alone and said.text == reasons.no_answer((), language):
        return _silent(documented, question, language)
    return said


def _quoted(given: Given, trail: Trail, language: str) -> Composed | None:
    """Notes as they stand: those that hold the answer, the honest word that none does, or the nearest entry
    of the node's own."""
    found, near = given.found, given.near
    sure_enough = found is None or found >= FOUND_MIN
    if sure_enough and not (given.has_text or given.writes):
        said = quotes.from_notes(given.evidence, trail, language, unread=found is None)
        if said is not None:
            return said
    if given.is_bound and not (sure_enough or given.has_text):
        return quotes.not_there(language)
    if near is not None and not (given.writes or given.has_text or notes.is_peoples(near)):
        return quotes.from_unsure([near], trail, language)
    return None


def _quotable(given: Given) -> list[Evidence]:
    """What sentences may be taken from."""
    if given.writes and not given.has_text:
        return []  # a note is no letter
    some = notes.quotable(given.evidence)
    if given.documented is not None:
        some = [one for one in some if one.source.kind != documents.KIND]
    if given.found is None or given.has_text:
        return [one for one in some if not notes.is_note(one)]
    return some


def extract(question: str, evidence: Sequence[Evidence], trail: Trail) -> list[Evidence]:
    """The evidence narrowed to what speaks to the question. An adapter's answer is short and was asked
    for by name, so it is never narrowed away."""
    if not evidence:
        return []
    trail.start()
    kept: list[Evidence] = []
    sentences_kept = sentences_all = 0
    for item in evidence:
        if item.source.kind == context.PASTED:
            kept.append(item)
            continue
        whole = extractive.TEXT_CHARS_MAX if item.source.kind == "adapter" else KEEP_WHOLE_CHARS
        is_window = any(one.cid is not None for one in item.citations)
        if (notes.is_note(item) or is_window) and len(item.text) <= NOTE_CHARS_MAX:
            whole = NOTE_CHARS_MAX  # it is about the question, in whatever words
        text, some, total = extractive.narrow(
            question, item.text, keep_whole_chars=whole, top=CONTEXT_SENTENCES_MAX
        )
        sentences_kept += some
        sentences_all += total
        if text:
            kept.append(replace(item, text=text))
    trail.add(
        "extract",
        "ok" if kept else "empty",
        f"{sentences_kept} of {sentences_all} sentences from {len(kept)} of {len(evidence)} sources",
    )
    return kept
