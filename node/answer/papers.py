"""Questions about what studies say, and papers that a model names out of nothing. Pure.

No source of papers is asked here, so what an answer names (a DOI, an arXiv number, "Smith et al. (2019)", a
reference of a list) stands in the evidence or is invented, and goes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from node.language import tables
from node.language.reading import fold

NOT_LOOKED_UP = "No paper was looked up; this is the model's general knowledge."

_TEXT_CHARS = 600
_ASKS = tables.Patterns("answers")("asks_for_papers", 0)
_IDENTIFIERS = re.compile(
    r"\b10\.\d{4,9}/[^\s)\]]+|\barxiv[:\s/]{1,2}(?:abs/)?\d{4}\.\d{4,5}|\bpmid:? ?\d{4,9}"
    r"|\b[A-Z][\w'’-]+ et al\.?,? \(?(?:19|20)\d\d",
    re.IGNORECASE,
)
_REFERENCES = re.compile(
    r"\b[A-Z][\w'’-]+,? et al\b"
    r"|\([A-Z][\w'’-]+(?:(?:,| and| &)+ [A-Z][\w'’-]+)*,? (?:19|20)\d\d[a-z]?\)"
    r"|\b[A-Z][\w'’-]+(?:,? [A-Z]\.)*(?:(?:,| and| &)+ [A-Z][\w'’-]+(?:,? [A-Z]\.)*)* \((?:19|20)\d\d[a-z]?\)"
    r"|\b(?:Journal|Annals|Proceedings|Archives) of [A-Z]|\b\d{1,4}\(\d{1,3}\)[:,] ?\d+"
)
"""Only where papers are asked for: "Titanic (1997)" looks like an author and a year."""
_ITEM = re.compile(r"\s*(?:[-*•]|\d{1,2}[.)]|\[\d{1,2}\])\s")
_SENTENCE = re.compile(r"(?<=[.!?])(?<!al\.)(?<!\b[A-Z]\.)\s+(?=[A-Z])")


def asks_for_papers(question: str) -> bool:
    """Whether it asks what studies say, or for studies."""
    return _ASKS.search(fold(question[:_TEXT_CHARS])) is not None


def without_invented(question: str, text: str, evidence: Iterable[str]) -> str:
    """``text`` without the sentences and list items that name a paper which neither the question nor any
    evidence holds; the same object where there are none."""
    held = "\n".join((question, *evidence))
    patterns = (_IDENTIFIERS, _REFERENCES) if asks_for_papers(question) else (_IDENTIFIERS,)

    def is_invented(part: str) -> bool:
        return any(match.group() not in held for pattern in patterns for match in pattern.finditer(part))

    if not is_invented(text):
        return text
    lines = []
    for line in text.split("\n"):
        if _ITEM.match(line) and is_invented(line):
            continue
        parts = [part for part in _SENTENCE.split(line) if not is_invented(part)]
        if parts or not line.strip():
            lines.append(" ".join(parts))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
