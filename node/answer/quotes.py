"""What is said without a model: stored notes and sentences of the evidence as they stand, each under its
source's name, or an honest word that there is no answer. Raises nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from node.answer import context, extractive, notes, reasons
from node.answer.composed import CITATIONS_MAX, REASON_CHARS_MAX, Composed, Trail
from node.answer.context import source_name
from node.answer.peer_claims import is_claim
from node.core.model import Citation, Evidence, SourceRef, Step
from node.language import verbatim
from node.language.sentences import one_line, plain, sentences

SNIPPET_CHARS = 200
QUOTE_CHARS_MAX = 600
UNSURE_MAX = 2


def not_there(language: str) -> Composed:
    """Honest where people's notes are about the question and none of them says it."""
    source = SourceRef("fallback", "not_stored")
    return Composed(reasons.say("not_there", language), source, abstained=True, found=0.0)


def quoted(text: str) -> Composed:
    """Words of an earlier answer, said again."""
    return Composed(text, SourceRef("extractive", "last answer"))


def unanswered(text: str) -> Composed:
    """An honest word where there is no answer."""
    return Composed(text, SourceRef("fallback", "none"), abstained=True)


def from_notes(
    evidence: Sequence[Evidence], trail: Trail, language: str, *, unread: bool = False
) -> Composed | None:
    """The likeliest stored notes as they stand, or None. ``unread``: nobody judged whether they hold the
    answer, and the reply says so: how near a note is tells what it is about, not what it says."""
    if not unread:
        return from_read(notes.likeliest(evidence), trail, language)
    near = [one for one in notes.nearest(evidence) if notes.is_about_it(one)]
    composed = _as_they_stand(near, trail, language, _heading(near, "unread", language))
    return composed and replace(composed, found=notes.UNREAD_FOUND)


def from_read(read: Sequence[Evidence], trail: Trail, language: str) -> Composed | None:
    """Notes that hold the answer, as they stand, or None."""
    is_unsure = notes.is_doubtful(read) or any(one.lacks for one in read[:1])
    return (from_unsure if is_unsure else _as_they_stand)(read, trail, language)


def from_unsure(read: Sequence[Evidence], trail: Trail, language: str) -> Composed | None:
    """Notes that a model read and that may hold the answer, said to be no more than that, or None."""
    composed = _as_they_stand(read[:UNSURE_MAX], trail, language, _heading(read, "near", language))
    return composed and replace(composed, unsure=True)


def _heading(read: Sequence[Evidence], key: str, language: str) -> str:
    """What is said above notes that may not hold the answer: the first one's missing weekday before all."""
    lacks = next((one.lacks for one in read[:1]), "")
    return reasons.say("near_without", language, what=lacks) if lacks else reasons.say(key, language)


def _as_they_stand(
    quoted: Sequence[Evidence], trail: Trail, language: str, heading: str = ""
) -> Composed | None:
    if not quoted:
        return None
    trail.add("extract", "ok", f"{len(quoted)} stored notes as they stand")
    first = quoted[0].source
    return Composed(
        text="\n".join([*filter(None, [heading]), *(notes.quoted(one, language) for one in quoted)]),
        source=SourceRef("extractive", source_name(first), first.url, first.time, first.digest),
        citations=tuple(citation(one, one.text) for one in quoted),
        grounded=True,
        cited=True,
        claimed=any(is_claim(one.source) for one in quoted),
    )


def from_quotes(
    question: str,
    evidence: Sequence[Evidence],
    missing: str | None,
    trail: Trail,
    language: str,
    read: Sequence[str] = (),
) -> Composed | None:
    """The three best sentences under the names of their sources, or None. ``read``: what the packaged reader
    takes for the answer in a text that came with the question; it counts where the words alone find
    nothing."""
    if not evidence:
        return None
    trail.start()
    texts = ["" if item.source.kind == context.PASTED else item.text for item in evidence]
    quotes = list(extractive.select(question, texts))
    for place, item in enumerate(evidence):
        if item.source.kind == context.PASTED:
            told = extractive.of_a_pasted(question, item.text) or [
                extractive.Quote(said, place, index, extractive.FLOOR) for index, said in enumerate(read)
            ]
            quotes += [replace(one, source=place) for one in told]
    if not quotes:
        # An adapter recognised the question, so its few words are to the point whatever words they use.
        quotes = [
            extractive.Quote(sentence, place, index, extractive.FLOOR)
            for place, item in enumerate(evidence)
            if item.source.kind == "adapter"
            for index, sentence in enumerate(sentences(plain(item.text)))
        ][: extractive.TOP]
    if not quotes:
        trail.add("extract", "missed", f"no sentence of the evidence scored {extractive.FLOOR} or more")
        return None
    trail.add("extract", "ok", f"{len(quotes)} quotes, best score {max(quote.score for quote in quotes):.2f}")
    used = list(dict.fromkeys(quote.source for quote in quotes))
    lines = [honest(missing, language)] if missing is not None else []
    for place in used:
        said = [_said(quote.text) for quote in quotes if quote.source == place]
        lines.extend(_under_its_source(evidence[place], said, language))
    citations = [
        citation(evidence[place], next(quote.text for quote in quotes if quote.source == place))
        for place in used
    ]
    first = evidence[used[0]].source
    return Composed(
        text="\n".join(lines),
        source=SourceRef("extractive", source_name(first), first.url, first.time, first.digest),
        citations=tuple(citations[:CITATIONS_MAX]),
        grounded=True,
        cited=True,
        claimed=any(is_claim(evidence[place].source) for place in used),
    )


def _under_its_source(item: Evidence, said: Sequence[str], language: str) -> list[str]:
    """Quotes as bullets, code and tables as they are, below the name of their source. An adapter's sentences
    name it themselves; those that answer another question (a price where a yield was asked for) are given as
    what they are."""
    if item.source.kind == "adapter" and any("according to" in line.casefold() for line in said):
        text = " ".join(said)
        return [text if item.partial else f"{reasons.say('part_found', language)} {text}"]
    lines = [f"\n{one}" if verbatim.blocks(one) else f"- {one}" for one in said]
    return [reasons.heading(source_name(item.source), language), *lines]


def _said(quote: str) -> str:
    """A sentence on one line; what holds code or a table as it stands."""
    if verbatim.blocks(quote):
        return verbatim.cut(quote, QUOTE_CHARS_MAX)
    return one_line(quote, QUOTE_CHARS_MAX)


def fallback(
    missing: str | None, evidence: Sequence[Evidence], tried: Sequence[Step], trail: Trail, language: str
) -> Composed:
    """What could not be found out, in the asker's words. A language model is no remedy for what had to be
    looked up, so there its absence is not mentioned. Why each engine failed stands in the trace."""
    if missing is not None:
        said = honest(missing, language)
    elif any(item.source.kind == context.PASTED for item in evidence):
        said = reasons.say("not_in_text", language)
    else:
        said = reasons.no_answer(tried, language)
    trail.add("fallback", "ok", "no engine could answer")
    return Composed(said, SourceRef("fallback", "none"), abstained=True)


def _clause(reason: str) -> str:
    return one_line(reason, REASON_CHARS_MAX).rstrip(".")


def honest(missing: str, language: str) -> str:
    return reasons.could_not_look_up(_clause(missing), language)


def citation(item: Evidence, text: str) -> Citation:
    snippet = one_line(text, SNIPPET_CHARS)
    if item.citations:
        first = item.citations[0]
        return first if first.snippet else replace(first, snippet=snippet)
    return Citation(source_name(item.source), "", snippet, item.source.url, item.source.time)
