"""Plain characters, sentences, words and figures."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.language import sentences
from tests.each import each
from tests.unit.pipeline.tables import cells, sections

TEXTS = sections(__file__, "texts.txt")


@each("row", TEXTS["sentences"])
def test_sentences(row: str) -> None:
    text, *parts = cells(row)
    assert sentences.sentences(text) == parts


@pytest.mark.parametrize("text", ["  ", ""])
def test_blanks_hold_no_sentence(text: str) -> None:
    assert sentences.sentences(text) == []


@given(st.text(alphabet="ab. 1!?\n\t-\"')U.S。", max_size=300))
def test_spans_are_ordered_pieces_that_lose_only_blanks(text: str) -> None:
    spans = sentences.sentence_spans(text)
    assert all(start < end for start, end in spans)
    assert all(left[1] <= right[0] for left, right in itertools.pairwise(spans))
    assert "".join("".join(text[start:end] for start, end in spans).split()) == "".join(text.split())


@given(st.text(max_size=200))
def test_plain_is_idempotent_and_encodable(text: str) -> None:
    once = sentences.plain(text)
    assert sentences.plain(once) == once
    once.encode("utf-8")


def test_plain_drops_what_hides_or_reverses() -> None:
    assert (
        sentences.plain("a\x00b\x1b[31mc\u202ed\u200be\ufefff\ud800g\U000e0041h\r\ni\rj")
        == "ab[31mcdefgh\ni\nj"
    )
    assert sentences.plain("می\u200cخواهم") == "می\u200cخواهم"


def test_one_line_is_bounded() -> None:
    assert sentences.one_line("a\nb\tc", 10) == "a b c"
    assert sentences.one_line("x" * 50, 10) == "x" * 9 + "…"


@pytest.mark.parametrize(
    ("closed", "texts"), [(True, ["Yes.", "Yes. [1]", "Yes [1].", '"Yes!"']), (False, ["Yes", "and so"])]
)
def test_is_closed(closed: bool, texts: list[str]) -> None:
    assert [sentences.is_closed(text) for text in texts] == [closed] * len(texts)


def test_cutting_ends_at_a_sentence() -> None:
    text = "First sentence here. Second sentence here. Third sentence here."
    assert sentences.cut_to_sentence(text, 45) == "First sentence here. Second sentence here."
    assert sentences.cut_to_sentence(text, 1_000) == text
    hard = sentences.cut_to_sentence("word " * 50, 30)
    assert len(hard) <= 30
    assert hard.endswith("…")


@pytest.mark.parametrize(
    ("left", "right"),
    [("votes", "voting"), ("computers", "computing"), ("price", "prices"), ("Proposal's", "proposals")],
)
def test_stems_meet(left: str, right: str) -> None:
    assert sentences.stem(left) == sentences.stem(right)


def test_content_words_leave_joints_out() -> None:
    assert sentences.content_words("I don't know what the price of it is") == ["pric"]
    assert sentences.content_words("It's IPFS") == ["ipf"]


def test_coverage() -> None:
    assert sentences.coverage("Paris is the capital", ["The capital of France is Paris."]) == 1.0
    assert sentences.coverage("Berlin grows", ["The capital of France is Paris."]) == 0.0
    assert sentences.coverage("the of", ["x"]) == 0.0


def test_figures() -> None:
    assert sentences.figures("It rose 67,187.34 dollars [2] in 2024.") == ["67187.34", "2024"]
    assert sentences.figures("1. first\n2. second 7") == ["7"]


@pytest.mark.parametrize("row", TEXTS["unsupported"])
def test_unsupported_figures(row: str) -> None:
    answer, *missing = cells(row)
    evidence = ["Bitcoin is 67,187.34 USD as of 2026-01-01T00:00:00Z."]
    assert sentences.unsupported_figures(answer, evidence) == tuple(missing)


def test_huge_numbers_do_not_break() -> None:
    assert sentences.unsupported_figures("9" * 5_000, ["8" * 5_000]) == ("9" * 5_000,)
