"""What documents say in words: quotations with their places, what has to be known beside them, and the honest
word that nothing holds it. Pure."""

from __future__ import annotations

from node.answer import reasons
from node.answer.documents import SNIPPET_CHARS, Read, mark
from node.knowledge.model import Document
from node.knowledge.shelf import since
from node.language.sentences import one_line

_NAMED_MAX = 2
_REMARKS_MAX = 3


def quotation(read: Read, language: str) -> str:
    """What is said, as it stands, each with its place; then which version holds, and who disagrees. What is
    only the nearest is said to be no more than that."""
    places: dict[str, list[str]] = {}
    for one in read.said:
        places.setdefault(mark(one.window), []).append(one.window.text)
    lines = [f"{' … '.join(texts)} {place}" for place, texts in places.items()]
    documents = {one.window.document.id for one in read.said}
    if any(one.kind == "conflict_with" and {one.one.id, one.other.id} <= documents for one in read.disputes):
        lines.insert(0, reasons.say("documents_differ", language))
    if not read.is_sure:
        lines.insert(0, reasons.say("documents_unsure", language))
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
            said = one_line(one.sentences[1 if document.id == one.one.id else 0], SNIPPET_CHARS)
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
        lines = [reasons.say("not_in_documents", language, question=one_line(question, SNIPPET_CHARS))]
        if read.is_about and read.near:
            names = ", ".join(one.path for one in read.near[:_NAMED_MAX])
            lines[0] += " " + reasons.say("documents_near", language, names=names)
    return "\n".join([*lines, *_order_lines(read, language)])
