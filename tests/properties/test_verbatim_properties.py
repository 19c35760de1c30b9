"""What a model answers in code, tables, mathematics and quotations reaches the asker byte for byte."""

from __future__ import annotations

import asyncio

from hypothesis import example, given
from hypothesis import strategies as st

from node.answer.compose import Composer
from node.core.model import Draft, Evidence, Kind
from node.language.markup import STOP
from node.language.verbatim import spans
from node.models.clean import clean, find_loop
from tests.manual_clock import ManualClock
from tests.unit.answer.material import ScriptedGenerator, document

_TRAPS = (
    *("a[0] = b[1, 2]", "x = [1, 2]  ", "see [1] and [2]", "---", "| --- |", ">>> f(1) [1]", "<<<END t4g>>>"),
    *("QUESTION: what now?", "ANSWER: this", "I don't know.", "</s>", "return 0;", "return 0;", "on and on"),
    *("You answer questions briefly and truthfully.", "-- note -- [3]", "I cannot. [1].", "$5 [2]", "", "  "),
)
_LINE = st.sampled_from(_TRAPS) | st.text("abxyzé(){}[]0123, .:;=+-*#<>|\\\"'$~\t😀", max_size=30)
_WORDS = st.text("abc [1]2.,;:=+é-", min_size=1, max_size=30).filter(lambda text: text.strip() == text)


def _fenced(lines: list[str], mark: str) -> str:
    return "\n".join([f"{mark}py", *(line for line in lines if not line.strip().startswith(mark)), mark])


def _table(rows: list[list[str]]) -> str:
    width = max(len(row) for row in rows)
    drawn = [f"| {' | '.join([*row, *[''] * (width - len(row))])} |" for row in rows]
    return "\n".join([drawn[0], "|" + " --- |" * width, *drawn[1:]])


_LINES = st.lists(_LINE, min_size=1, max_size=5)
_BLOCKS = st.one_of(
    st.builds(_fenced, _LINES, st.sampled_from(["```", "~~~", "````"])),
    _LINES.map(lambda lines: "\n".join(f"    {line}x" for line in lines)),
    st.lists(st.lists(_WORDS, min_size=1, max_size=3), min_size=1, max_size=4).map(_table),
    _WORDS.map(lambda words: f"\\[\n{words}  \n\\]"),
    _WORDS.map(lambda words: f"$$\n{words}\n$$"),
    st.lists(_WORDS, min_size=1, max_size=3).map(lambda lines: "\n".join(f"> {line}" for line in lines)),
)
_MARKS = st.sampled_from(["`{}`", "``{} ` [1]``", "${}$", "\\({}\\)", "“{}”", '"{}"', "«{}»"])
_INLINE = st.builds(str.format, _MARKS, _WORDS)
_PROSE = st.sampled_from(
    (
        "Here is how it is done in most books:",
        "A quorum is ten percent of all members [1].",
        "This follows from that [1, 2]. It's the other way round as well [2].",
        "The members' minutes say so.",
        "---",
    )
)
_FORMS = ((_PROSE, ""), (_BLOCKS, "block"), (_INLINE, "inline"))
_PARTS = st.lists(
    st.one_of(*(st.tuples(texts, st.just(form)) for texts, form in _FORMS)), min_size=1, max_size=8
)
_EVIDENCE = [
    document("A quorum is ten percent of all members."),
    document("The minutes say so in most books.", name="other"),
]


def _written(parts: list[tuple[str, str]]) -> str:
    return "\n\n".join(f"It is {text} as they say." if form == "inline" else text for text, form in parts)


def _answered(raw: str, evidence: list[Evidence], *, complete: bool) -> str | None:
    """What the asker reads: cleaned by the driver, then composed."""
    cleaned = clean(raw, complete=complete, stop=STOP, echo=("You answer questions briefly and truthfully.",))
    if not cleaned.usable:
        return None
    engine = ScriptedGenerator(Draft(cleaned.text, "e", "m", complete=cleaned.complete))
    clock = ManualClock()
    composer = Composer([engine], clock, 2_000, 200)
    how = {"route_kind": Kind.GENERATIVE, "deadline": clock.monotonic() + 30, "tag": "t4g"}
    composed = asyncio.run(composer.compose("What is the rule?", evidence, **how))
    return composed.text if composed.source.kind == "llm" else None


@given(_PARTS, st.booleans(), st.booleans())
@example([("```py\nx = [1, 2]  \n\n\n\ny = a[0] [1]\n```", "block")], True, True)
@example([("| a |\n| --- |", "block")], False, False)
@example([("`a`", "inline")], False, False)
@example([("``. 1 ` [1]``", "inline")], True, False)
@example([("A quorum is ten percent of all members [1].", ""), ("> é", "block")], True, False)
@example([("Here is how it is done in most books:", ""), ("```\na\n```", "block")] * 3, True, False)
def test_code_tables_maths_and_quotations_pass_byte_for_byte(
    parts: list[tuple[str, str]], is_offered: bool, complete: bool
) -> None:
    raw = _written(parts)
    answered = _answered(raw, _EVIDENCE if is_offered else [], complete=complete)
    if answered is None:
        assert not any(char.isalnum() for text, form in parts if form for char in text)
        return
    at = 0
    seen: set[str] = set()
    for text, form in parts:
        if form and text not in seen:  # what is said again and again may be a loop
            found = answered.find(text, at)
            assert found >= 0, f"lost or changed: {text!r} in {answered!r}"
            at = found
            seen.add(text)


@given(_LINES, st.booleans(), st.sampled_from(["```", "~~~"]))
def test_an_unclosed_last_fence_keeps_every_byte(lines: list[str], is_offered: bool, mark: str) -> None:
    code = _fenced(lines, mark).removesuffix(mark) + "x = a[0] [1]"
    for complete in (True, False):
        answered = _answered(f"It is this:\n\n{code}", _EVIDENCE if is_offered else [], complete=complete)
        assert answered is not None
        assert code in answered


@given(_PARTS, st.booleans())
def test_cleaning_again_changes_nothing(parts: list[tuple[str, str]], complete: bool) -> None:
    once = clean(_written(parts), complete=complete, stop=STOP)
    assert clean(once.text, stop=STOP).text == once.text


@given(st.text("`~$\"'“”«»\\[](){}|->\n \tab1", max_size=200))
def test_spans_of_any_text_are_in_order(text: str) -> None:
    at = 0
    for span in spans(text):
        assert at <= span.start < span.end <= len(text)
        at = span.end
    clean(text, complete=False, stop=STOP)
    assert find_loop(text) is None or 0 < (find_loop(text) or 0) < len(text)
