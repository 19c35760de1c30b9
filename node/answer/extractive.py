"""Extraction before generation: which sentences of the evidence speak to the question.

Rules (S0-04 … S0-08):
- score = 0.5 x shared keywords / keywords of the question + 0.2 if it defines something + 0.2 x position
  - 0.2 if longer than 50 words + 0.1 for each exact term, where position = 1 - (index / sentences) x 0.3;
- a sentence below 0.25, or one that shares nothing with the question, says nothing to it;
- code and tables are not parted, and go with the words that lead to them;
- the best are given back in document order, as exact quotes.
Pure and linear in the length of the texts. Quotes may be wrong about the world; they are never invented.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from node.language import tables, verbatim
from node.language.sentences import WORD, content_words, is_closed, plain, sentence_spans, sentences

FLOOR = 0.25
TOP = 3
LONG_WORDS = 50
TEXT_CHARS_MAX = 262_144
TABLE_CHARS_MAX = 600
"""A longer table, or text that is only indented, is quoted by its lines."""
_TABLE_READ_CHARS_MAX = 2_000
"""The same for what a model is to read."""
_EXACT_TERMS_MAX = 8
_EXACT_TERM_CHARS_MAX = 80

_DEFINITION = tables.Patterns("answers")("defines")
_QUOTED = re.compile(r"[\"“]([^\"“”\n]{2,80})[\"”]")


@dataclass(frozen=True, slots=True)
class Quote:
    """One sentence, an exact piece of text number ``source`` (counted from 0), ``index``-th of it."""

    text: str
    source: int
    index: int
    score: float


@dataclass(frozen=True, slots=True)
class Terms:
    """What is looked for: stems of the question's content words, and terms matched to the letter."""

    keywords: frozenset[str]
    exact: tuple[str, ...]


def terms_of(question: str) -> Terms:
    """Keywords and exact terms of a question. Exact: quoted phrases, names and codes (a digit, or a capital
    that is not just the start of the question)."""
    exact = [match.group(1).strip() for match in _QUOTED.finditer(question)]
    for place, match in enumerate(WORD.finditer(question)):
        word = match.group()
        marked = any(char.isdigit() for char in word) or any(char.isupper() for char in word[1:])
        if (
            (marked or (place > 0 and word[0].isupper() and len(word) > 1))
            and len(word) <= _EXACT_TERM_CHARS_MAX
            and content_words(word)
        ):
            exact.append(word)
    return Terms(frozenset(content_words(question)), tuple(dict.fromkeys(exact))[:_EXACT_TERMS_MAX])


def defines(sentence: str) -> bool:
    """Whether the sentence has the form of a definition."""
    return _DEFINITION.search(sentence) is not None


def position(index: int, total: int) -> float:
    """1 for the first sentence, falling towards 0.7 at the end of the text."""
    return 1.0 - (index / total) * 0.3


def exact_hits(terms: Terms, sentence: str) -> int:
    """How many of the exact terms stand in the sentence as written, as whole words."""
    return sum(1 for term in terms.exact if _contains(sentence, term))


def _contains(sentence: str, term: str) -> bool:
    at = sentence.find(term)
    while at >= 0:
        end = at + len(term)
        before = sentence[at - 1] if at else " "
        after = sentence[end] if end < len(sentence) else " "
        if not (before.isalnum() or after.isalnum()):
            return True
        at = sentence.find(term, at + 1)
    return False


def matches(terms: Terms, sentence: str) -> tuple[int, int]:
    """How many different keywords of the question the sentence has in some form, and how many exact terms."""
    return len(terms.keywords.intersection(content_words(sentence))), exact_hits(terms, sentence)


def score(
    terms: Terms, sentence: str, index: int, total: int, matched: tuple[int, int] | None = None
) -> float:
    """The sentence's score by the formula above; may exceed 1 where many exact terms meet. ``matched``: what
    ``matches`` found, where it was asked before."""
    shared, exact = matched or matches(terms, sentence)
    value = 0.2 * position(index, total) + 0.1 * exact
    if terms.keywords:
        value += 0.5 * shared / len(terms.keywords)
    if defines(sentence):
        value += 0.2
    if len(WORD.findall(sentence)) > LONG_WORDS:
        value -= 0.2
    return value


def _pieces(text: str, table_chars_max: int) -> list[tuple[str, str]]:
    """The sentences of a text and its blocks, those with what leads to them, each beside its own words."""
    whole = [
        block
        for block in verbatim.blocks(text)
        if block.form is verbatim.Form.FENCE or block.end - block.start <= table_chars_max
    ]
    if not whole:
        return [(sentence, sentence) for sentence in sentences(text)]
    pieces: list[tuple[int, int]] = []
    for start, end in verbatim.units(text, sentence_spans(text), whole):
        if (block := verbatim.inside(whole, start)) is not None:
            start = block.start
            before, behind = pieces[-1] if pieces else (0, 0)
            if behind and not is_closed(text[before:behind]) and verbatim.inside(whole, behind - 1) is None:
                start = pieces.pop()[0]
        pieces.append((start, end))
    return [(said := text[start:end], verbatim.prose(said)) for start, end in pieces]


def select(
    question: str, texts: Sequence[str], *, top: int = TOP, table_chars_max: int = TABLE_CHARS_MAX
) -> tuple[Quote, ...]:
    """The best ``top`` sentences over all texts with at least ``FLOOR``, in order of text and place."""
    terms = terms_of(question)
    found: list[Quote] = []
    seen: set[str] = set()
    budget = TEXT_CHARS_MAX
    for number, text in enumerate(texts):
        parts = _pieces(plain(text[:budget]), table_chars_max)
        budget -= min(budget, len(text))
        for index, (sentence, words) in enumerate(parts):
            matched = matches(terms, sentence)
            if not any(matched):
                continue
            value = score(terms, words, index, len(parts), matched)
            # Rounded, so that a score of exactly 0.25 is not lost to binary fractions.
            if round(value, 9) < FLOOR:
                continue
            same = " ".join(sentence.casefold().split())
            if same not in seen:
                seen.add(same)
                found.append(Quote(sentence, number, index, value))
    best = sorted(found, key=lambda quote: (-quote.score, quote.source, quote.index))[:top]
    return tuple(sorted(best, key=lambda quote: (quote.source, quote.index)))


_GIST = re.compile(
    r"\b(?:summar|tl;? ?dr|gist\b|(?:key|main) points|zusammenfass|fasse?\b.{0,40}\bzusammen|r[ée]sum"
    r"|riassum)|要約|总结|總結|кратко|перескаж",
    re.IGNORECASE,
)
_WRAPPED = re.compile(r"(?<![.!?:;\n|])\n(?=[a-zà-ÿ(])")
"""A sentence goes on in the next line."""
_CODE_LINE = re.compile(r"^(?: {2,}|\t)\S|[{};]\s*\Z|\):\s*\Z")
_GIST_WORDS = 8
_GIST_SENTENCE_WORDS = 4
_SHORT_LINE_CHARS = 50


def of_a_pasted(question: str, text: str) -> tuple[Quote, ...]:
    """The best sentences of a text that came with the question. Where a summary is asked for, they are those
    that hold the words that the text says most often, and no code or table."""
    body = plain(text[:TEXT_CHARS_MAX])
    drawn = [block for block in verbatim.blocks(body) if not body[block.start].isspace()]
    starts, ends = [0, *(block.end for block in drawn)], [*(block.start for block in drawn), len(body)]
    prose = [body[start:end] for start, end in zip(starts, ends, strict=True)]
    lines = [line for stretch in prose for line in stretch.split("\n") if line.strip()]
    if sum(_CODE_LINE.search(line) is not None for line in lines) * 3 >= len(lines) > 0:
        return ()  # a line of code says nothing by itself
    if _GIST.search(question):
        body = "\n\n".join(map(_entries, prose))
        said = Counter(word for word in WORD.findall(body) if content_words(word))
        said_most = " ".join(word for word, _ in said.most_common(_GIST_WORDS))
        found = select(said_most, (body,), top=2 * TOP)
        return tuple(one for one in found if len(WORD.findall(one.text)) >= _GIST_SENTENCE_WORDS)[:TOP]
    return select(question, (verbatim.outside(body, _entries, drawn),))


def _entries(prose: str) -> str:
    """Prose with each sentence on one line."""
    body = _WRAPPED.sub(" ", prose)
    lines = [line for line in body.split("\n") if line.strip()]
    if sum(map(len, lines)) < _SHORT_LINE_CHARS * len(lines):
        return "\n" + "\n\n".join(lines) + "\n"  # so short, they are entries and not wrapped sentences
    return body


def narrow(question: str, text: str, *, keep_whole_chars: int, top: int) -> tuple[str, int, int]:
    """The part of a text that a model should read: (text, sentences kept, sentences there were).

    A text of at most ``keep_whole_chars`` is kept whole: there is nothing to gain. Otherwise only the
    sentences and blocks that speak to the question stay, in order; none means an empty text."""
    body = plain(text[:TEXT_CHARS_MAX])
    total = len(sentences(body))
    if len(body) <= keep_whole_chars:
        return body, total, total
    quotes = select(question, (body,), top=top, table_chars_max=_TABLE_READ_CHARS_MAX)
    said, was_block = "", False
    for quote in quotes:
        is_block = bool(verbatim.blocks(quote.text))
        said += ("\n\n" if is_block or was_block else " ") + quote.text if said else quote.text
        was_block = is_block
    return said, len(quotes), total
