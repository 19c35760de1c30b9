"""Wording that several rooms must read alike. Pure data.

Patterns match the joined words of a ``Reading`` (lower case, no accents, contractions written out).
"""

from __future__ import annotations

EXPLAINS = (
    r"\b(?:why|explain|explains|describe|how (?:do|does|did|can|could|are|is|was|were|to)"
    r" (?!(?:the )?\w+ (?:do|doing)\b)"
    r"(?!(?:the )?weather\b)(?:\w+ ){1,5}(?:work|works|made|make|predict|predicted|forecast"
    r"|measure|measured|form|formed"
    r"|affect|calculated|calculate|determined|computed|score|read|watch|report|become|write|trade|mine|mined)"
    r"|difference between|differ|versus|history of|invented|founded|founder|meaning of|mean|means"
    r"|define|definition"
    r"|etymology|origin|poem|haiku|song|songs|lyrics|album|albums|band|movie|movies|film|films"
    r"|novel|book|books|essay"
    r"|story|joke|jokes|episode|soundtrack|theory|philosophy|causes?|caused|impact|effects?"
    r"|influence|pros and cons"
    r"|should|best way|tips|advice|learn|tutorial|code|python|function|api|app|apps|synonyms?|translate"
    r"|por que|porque|warum|wieso|pourquoi|perche|explica\w*|erklare?|explique\w*|spiega\w*"
    r"|expliquez|historia de"
    r"|geschichte|histoire|storia|unterschied|diferencia|difference entre|bedeutet|significa"
    r"|funktioniert|funciona)\b"
)
"""Questions about how and why things are, or about works that bear a topic's name: not for a live source."""
