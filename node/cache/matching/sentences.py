"""The sentences of a question without what is only polite, and with its phrases rewritten.

Promises: pure, total, linear. Must not know: content, kinds, other texts.
"""

from __future__ import annotations

from collections.abc import Sequence

from node.cache.matching import phrases
from node.cache.matching.token import END, WORD, Token

PAUSES = (",", "/")
LEAD_WORDS_MAX = 10
_LEADS_MAX = 6


def sentences(tokens: Sequence[Token]) -> list[list[Token]]:
    """The sentences without polite openings and ends; where nothing else was said, as they are."""
    found: list[list[Token]] = [[]]
    for token in tokens:
        if token.kind == END:
            found.append([])
        else:
            found[-1].append(token)
    said = [_without_ends(without_openings(one, phrases.POLITE, wholly=True)[0]) for one in found]
    return [one for one in said if one] or [one for one in found if one]


def without_openings(
    tokens: list[Token], table: phrases.Matches, *, wholly: bool
) -> tuple[list[Token], bool]:
    """The sentence without openings of ``table``, and whether there was one; ``wholly``: it may be all."""
    dropped = False
    for _ in range(_LEADS_MAX):
        while tokens and tokens[0].text in PAUSES:
            tokens = tokens[1:]
        found = phrases.match(table, [token.text for token in tokens[:LEAD_WORDS_MAX]], 0)
        if found is None or (found[0] >= len(tokens) and not wholly):
            break
        tokens, dropped = tokens[found[0] :], True
    return tokens, dropped


def _without_ends(tokens: list[Token]) -> list[Token]:
    for _ in range(_LEADS_MAX):
        while tokens and tokens[-1].text in PAUSES:
            tokens = tokens[:-1]
        found = phrases.match(phrases.ENDS, [token.text for token in tokens[::-1][:LEAD_WORDS_MAX]], 0)
        if found is None or tokens[-found[0]].start == tokens[0].start:
            break
        tokens = tokens[: -found[0]]
    return tokens


def rewritten(tokens: Sequence[Token]) -> list[Token]:
    """Phrases that say one thing as the words or marks that stand for it."""
    texts = [token.text for token in tokens]
    out: list[Token] = []
    index = 0
    while index < len(tokens):
        size, words = phrases.match(phrases.REWRITES, texts, index) or (1, None)
        if words is None:
            out.append(tokens[index])
        else:
            start, end = tokens[index].start, tokens[index + size - 1].end
            raw = " ".join(texts[index : index + size])
            out.extend(Token(word, WORD, raw, start, end) for word in words)
        index += size
    return out
