"""What an answer says about itself and owes to its evidence: abstention, contradiction, citations, overlap.

Pure rules over texts. A model's own claim to be right counts for nothing here; only what can be found again
in the evidence does."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from node.answer.context import Block
from node.core.model import Support
from node.language import tables, verbatim
from node.language.sentences import (
    content_words,
    coverage,
    figures,
    says_number,
    sentence_spans,
    sentences,
    stem,
    unsupported_figures,
)

CITED_OVERLAP_MIN = 0.15
"""A cited block must share at least this part of the answer's content words, or the citation is
decoration."""
UNCITED_OVERLAP_MIN = 0.35
"""An uncited block counts as used only where it shares clearly more than the topic."""
_SENTENCES_MAX = 60
_SAME_WORDS = 0.8
_SAME_WORDS_MIN = 2

_SAYS = tables.Patterns("answers")
_ABSTAINS, _ADMITS = _SAYS("abstains"), _SAYS("admits")
_APOSTROPHES = str.maketrans({"’": "'", "ʼ": "'"})
_NEGATION, _POLAR, _OPEN_QUESTION = _SAYS("negation"), _SAYS("polar"), _SAYS("open_question")
_ASKS_OF_THE_ASKED, _SPEAKS_FOR_THE_ASKED = _SAYS("asks_of_the_asked"), _SAYS("speaks_for_the_asked")
_DIFFERENCE = _SAYS("difference")
"""It asks for what lies between two figures, or for their sum, which no note says."""
_CHOICE = re.compile(r"\bor\b", re.IGNORECASE)
_MARK = r"\[\d{1,3}(?:[ \t]*[,;][ \t]*\d{1,3})*\]"
_MARKS = re.compile(rf"(?<![^\s.,;:!?…。！？”’»*]){_MARK}(?:[ \t]*{_MARK})*")
"""Numbers in brackets that stand by themselves: ``f[1]`` is no citation."""


def abstains(text: str) -> bool:
    """Whether the answer says that it does not know: in its first sentence, or in a third of them."""
    parts = sentences(verbatim.prose(text).translate(_APOSTROPHES))[:_SENTENCES_MAX]
    if not parts:
        return not text.strip()
    hits = [_ABSTAINS.search(part) is not None for part in parts]
    return hits[0] or sum(hits) * 3 >= len(parts)


def admits_no_lookup(text: str) -> bool:
    """Whether the answer says somewhere that the thing could not be looked up or is not known."""
    return _ADMITS.search(text.translate(_APOSTROPHES)) is not None


def speaks_for_the_asked(question: str, text: str) -> bool:
    """Whether the answer tells what "you" do or have, as if the model were the people who are asked: "do you
    give lessons" - "Yes, I can give lessons"."""
    asks = _ASKS_OF_THE_ASKED.search(question.translate(_APOSTROPHES)) is not None
    return asks and _SPEAKS_FOR_THE_ASKED.match(text.translate(_APOSTROPHES)) is not None


def only_says_yes(question: str, text: str) -> bool:
    """Whether the answer is yes or no and the question's own words: "is there a kiln" - "Yes, there is a
    kiln"."""
    said = text.translate(_APOSTROPHES)
    is_polar = _POLAR.match(said) is not None
    return is_polar and set(content_words(said)) <= {*content_words(question), "yes", "no"}


def contradicts_itself(text: str) -> bool:
    """Whether the answer says both yes and no, or a sentence and its negation."""
    parts = sentences(verbatim.prose(text).translate(_APOSTROPHES))[:_SENTENCES_MAX]
    polar = {match.group(1).lower() for part in parts if (match := _POLAR.match(part)) is not None}
    if len(polar) > 1:
        return True
    said = [(set(content_words(part)), len(_NEGATION.findall(part)) % 2) for part in parts]
    for place, (words, negated) in enumerate(said):
        if len(words) < _SAME_WORDS_MIN:
            continue
        for others, other_negated in said[place + 1 :]:
            if negated != other_negated and len(words & others) >= _SAME_WORDS * len(words | others):
                return True
    return False


@dataclass(frozen=True, slots=True)
class Grounding:
    """``text`` with valid citation marks only, renumbered in order of appearance; ``used`` are the blocks
    behind them in that order; ``explicit`` says whether the answer itself cited; ``share`` is the part of
    the answer's content words that the used blocks (without any: all blocks) hold; ``uncited_figures`` stand
    in no evidence; ``support`` says how far the blocks hold each sentence, None without blocks."""

    text: str
    used: tuple[Block, ...]
    explicit: bool
    share: float
    uncited_figures: tuple[str, ...]
    support: Support | None = None

    @property
    def grounded(self) -> bool:
        return bool(self.used)


_DIGITS = re.compile(r"\d+")
_ASKED_FOR = _SAYS("thing_asked_for")


def puts_a_figure_on_what_is_missing(question: str, answer: str, blocks: Sequence[Block]) -> bool:
    """Whether the answer gives a number as the very thing that is asked for (the turnout), while no evidence
    names that thing: small models hand over the numbers that are there (the votes) under the name wanted."""
    match = _ASKED_FOR.search(question)
    if match is None or not blocks:
        return False
    wanted = stem(match.group(1).lower())
    if wanted in content_words(" ".join(_texts(blocks))) or wanted not in content_words(answer):
        return False
    return bool(set(figures(answer)) - set(figures(question))) or says_number(_DIGITS.sub(" ", answer))


def strip_marks(text: str, blocks: Sequence[Block]) -> str:
    """The text without citation marks."""
    return _with_marks(text, blocks, lambda numbers: "")


def _with_marks(text: str, blocks: Sequence[Block], write: Callable[[list[int]], str]) -> str:
    """The text with ``write`` of its numbers in the place of each citation mark: it names a block that was
    offered, and stands outside of code, tables, mathematics and quotations."""
    offered = {block.number for block in blocks}
    if not offered or "[" not in text:
        return text
    protected = verbatim.spans(text)
    pieces: list[str] = []
    at = 0
    for match in _MARKS.finditer(text):
        numbers = [int(digits) for digits in _DIGITS.findall(match.group())]
        if offered.intersection(numbers) and verbatim.inside(protected, match.start()) is None:
            pieces += [text[at : match.start()].rstrip(" \t"), write(numbers)]
            at = match.end()
    return verbatim.squeeze_prose("".join([*pieces, text[at:]]))


def ground(text: str, blocks: Sequence[Block], question: str) -> Grounding:
    """Which blocks the answer rests on. Marks of blocks that share nothing with it are dropped."""
    bare = strip_marks(text, blocks)
    overlap = {block.number: coverage(bare, (block.text, block.label), beyond=question) for block in blocks}
    by_number = {block.number: block for block in blocks}
    used: list[Block] = []

    def renumber(numbers: list[int]) -> str:
        places: list[int] = []
        for number in numbers:
            block = by_number.get(number)
            if block is None or overlap[number] < CITED_OVERLAP_MIN:
                continue
            if block not in used:
                used.append(block)
            places.append(used.index(block) + 1)
        return "".join(f" [{place}]" for place in dict.fromkeys(places))

    marked = _with_marks(text, blocks, renumber)
    explicit = bool(used)
    if not explicit:
        used = sorted(
            (block for block in blocks if overlap[block.number] >= UNCITED_OVERLAP_MIN),
            key=lambda block: (-overlap[block.number], block.number),
        )
    return Grounding(
        text=marked,
        used=tuple(used),
        explicit=explicit,
        share=coverage(bare, _texts(used or blocks)),
        uncited_figures=unsupported_figures(bare, (*_texts(blocks), question)) if blocks else (),
        support=support(bare, blocks, question, used=used, cited=explicit) if blocks else None,
    )


def without_unsupported(text: str, blocks: Sequence[Block], question: str) -> str:
    """The text without the marks of those ``blocks`` that do not hold the sentence behind which they stand:
    too little of its words, or not one of its figures. A text with code, tables, formulas or quotations stays
    as it is."""
    if verbatim.spans(text):
        return text
    checked = {block.number: block for block in blocks}

    def in_sentence(part: str) -> str:
        bare = strip_marks(part, blocks)
        stated = set(figures(bare)) - set(figures(question))

        def supports(number: int) -> bool:
            block = checked.get(number)
            if block is None:
                return True
            missing = unsupported_figures(bare, (block.text, block.about, question))
            share = coverage(bare, (block.text, block.about), beyond=question)
            return share >= CITED_OVERLAP_MIN and not (stated and set(missing) >= stated)

        def write(numbers: list[int]) -> str:
            return "".join(f" [{number}]" for number in numbers if supports(number))

        return _with_marks(part, blocks, write)

    pieces: list[str] = []
    at = 0
    for start, end in _with_their_marks(text):
        pieces += [text[at:start], in_sentence(text[start:end])]
        at = end
    return "".join([*pieces, text[at:]])


def _with_their_marks(text: str) -> list[tuple[int, int]]:
    """The sentences, each with the marks that stand behind its full stop."""
    spans: list[tuple[int, int]] = []
    for start, end in sentence_spans(text):
        match = _MARKS.match(text, start)
        if match is not None and spans and not text[spans[-1][1] : start].strip(" "):
            spans[-1] = (spans[-1][0], match.end())
            start = match.end() + len(text[match.end() : end]) - len(text[match.end() : end].lstrip())
        if start < end:
            spans.append((start, end))
    return spans


_MISJOINED = 0.5
"""What figures of different clauses in one are worth."""
_NAME = re.compile(r"(?<![.!?:]\s)(?<!\A)\b[A-Z][\w'’-]+")


def support(
    text: str, blocks: Sequence[Block], question: str, *, used: Sequence[Block], cited: bool
) -> Support:
    """How far the blocks hold the answer, sentence by sentence; words of the question prove nothing."""
    texts = _texts(blocks)
    shares = [coverage(part, texts, beyond=question) for part in sentences(text)[:_SENTENCES_MAX]]
    given = {word for one in (*texts, question) for word in content_words(one)}
    names = {stem(name) for name in _NAME.findall(text)}
    stated = set(figures(text)) - set(figures(question))
    missing = unsupported_figures(text, (*texts, question))
    held = 1.0 - len(missing) / len(stated) if stated else 1.0
    return Support(
        words=sum(shares) / len(shares) if shares else 0.0,
        weakest=min(shares, default=0.0),
        figures=held * _MISJOINED if joins_figures(text, texts, question) else held,
        names=len(names & given) / len(names) if names else 1.0,
        question=coverage(question, _texts(used or blocks)),
        cited=cited,
        compares=bool(unsupported_figures(question, texts)) or _DIFFERENCE.search(question) is not None,
    )


_CLAUSE_END = _SAYS("clause_end")


def joins_figures(text: str, given: Sequence[str], question: str) -> bool:
    """Whether a clause of the answer puts figures together that stand in different clauses of the evidence:
    from "28 up to 10 metres and 41 for longer boats" small models make "41 up to 10 metres"."""
    known = set(figures(question))
    clauses = [set(figures(clause)) for one in given for clause in _CLAUSE_END.split(one)]
    every = set().union(*clauses)
    stated = [set(figures(clause)) - known for clause in _CLAUSE_END.split(text)]
    return any(
        len(mine) > 1 and mine <= every and not any(mine <= clause for clause in clauses) for mine in stated
    )


def _texts(blocks: Sequence[Block]) -> list[str]:
    return [text for block in blocks for text in (block.label, block.text)]


def only_given_figures(text: str, blocks: Sequence[Block], question: str) -> str:
    """The text without the sentences that state a figure which neither a block nor the question gives."""
    given = (*_texts(blocks), question)
    if not unsupported_figures(text, given):
        return text
    return _sentences_where(text, lambda part: not unsupported_figures(part, given))


def without_number_words(text: str, question: str) -> str:
    """The sentences of ``text`` that state no number at all, not even in words, unless the question does."""
    if says_number(question):
        return text
    return _sentences_where(text, lambda part: not says_number(part))


def _sentences_where(text: str, fits: Callable[[str], bool]) -> str:
    """The sentences that fit, in their layout. Code and the like goes or stays as a whole."""
    kept: list[str] = []
    at = 0
    for start, end in verbatim.units(text, sentence_spans(text), verbatim.spans(text)):
        if fits(text[start:end]):
            kept.append(text[at:end] if kept else text[start:end])
        at = end
    return "".join(kept)


_COPULA_AT_END = _SAYS("copula_at_end")


def ends_before_it_answers(answer: str) -> bool:
    """Whether the answer, without its marks, breaks off where it should begin: "the expression is"."""
    return _COPULA_AT_END.search(answer) is not None


def says_nothing_new(question: str, answer: str, about: Sequence[str] = ()) -> bool:
    """Whether the answer to an open question holds no word beyond the question ("The mayor is the mayor") and
    those that the notes were stored for: "The treasurer keeps the money" names nobody. A table or code
    without any such word ("| a |") may be the answer all the same."""
    if _OPEN_QUESTION.match(question) is None or _CHOICE.search(question):
        return False
    if not content_words(answer) and verbatim.spans(answer):
        return False
    given = " ".join((question, *about))
    return set(content_words(answer)) <= set(content_words(given)) and not unsupported_figures(
        answer, (given,)
    )


def repeats_an_example(question: str, answer: str, blocks: Sequence[Block], system: str) -> bool:
    """Whether a model says again what the examples in ``system`` say (the fine for overdue books), which no
    evidence of this question does."""
    words = set(content_words(answer)) - set(content_words(question))
    missing = words - set(content_words(" ".join(_texts(blocks))))
    return len(words) > 2 and 2 * len(missing) > len(words) and words <= set(content_words(system))
