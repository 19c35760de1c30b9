"""What a model wrote, made fit or found unfit."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from node.language.markup import STOP
from node.models.clean import RAW_CHARS_MAX, clean, find_loop, strip_thinking


@pytest.mark.parametrize(
    ("raw", "text", "blocks"),
    [
        ("<think>hm</think>Paris.", "Paris.", 1),
        ("<THINK>hm</Think>\n\nParis.", "Paris.", 1),
        ("<thinking>a</thinking>Yes.<reasoning>b</reasoning>", "Yes.", 2),
        ("<think>a<think>b</think>c</think>Yes.", "Yes.", 1),
        ("the template opened it</think>Yes.", "Yes.", 1),
        ("Yes. <think>never closed", "Yes.", 1),
        ("I think so.", "I think so.", 0),
        ("<thinker>kept</thinker>", "<thinker>kept</thinker>", 0),
    ],
)
def test_thinking_is_stripped_and_counted(raw: str, text: str, blocks: int) -> None:
    cleaned = clean(raw)
    assert (cleaned.text, cleaned.think_blocks) == (text, blocks)


def test_a_tag_made_by_stripping_is_no_tag() -> None:
    assert "<think>" not in strip_thinking("<thi<think></think>nk>secret")[0]


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        *((raw, "it was empty") for raw in ("", "   \n", "...", "\x00\x01")),
        *((raw, "it was thinking only") for raw in ("<think>only this", "<think>a</think>")),
        ("on and on and on and on and on and on", "it ran in circles"),
        ("QUESTION: what now?", "it repeated the prompt"),
    ],
)
def test_nothing_usable(raw: str, reason: str) -> None:
    cleaned = clean(raw)
    assert not cleaned.usable
    assert cleaned.reason == reason


@pytest.mark.parametrize(
    ("raw", "complete", "text"),
    [
        (
            "Qubits hold both states. They interfere. This is used in",
            False,
            "Qubits hold both states. They interfere.",
        ),
        ("Steps:\n1. Mix\n2. Stir\n3. Ba", False, "Steps:\n1. Mix\n2. Stir"),
        ("Paris", True, "Paris"),
    ],
    ids=["the last sentence", "whole lines", "no full stop needed"],
)
def test_how_far_a_cut_and_a_complete_answer_go(raw: str, complete: bool, text: str) -> None:
    cleaned = clean(raw, complete=complete)
    assert (cleaned.text, cleaned.complete) == (text, complete)


def test_a_cut_answer_without_a_whole_sentence_is_unusable() -> None:
    assert not clean("Qubits are used in the", complete=False).usable


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("It is blue. It is big today. It is big today. It is big today.", "It is blue. It is big today."),
        ("Same line here again\nSame line here again\nSame line here again", "Same line here again"),
        (
            "A good start.\n- the very same item\n- b b\n- the very same item\n- b c\n- the very same item",
            None,
        ),
        ("No. No. No. No.", "No."),
        ("The sea is deep. It goes on and on and on and on and on and on and on and on", "The sea is deep."),
    ],
)
def test_loops_are_cut_at_the_first_repetition(raw: str, text: str | None) -> None:
    cleaned = clean(raw)
    assert cleaned.looped
    if text is not None:
        assert cleaned.text == text
    assert cleaned.text.count("the very same item") <= 1


@pytest.mark.parametrize(
    "text",
    [
        "0 0 0 0 0 0 0 0 0 0",
        "| a | b |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |\n| 5 | 6 |",
        "It rains. It pours. It rains. It pours.",
        "if a:\n    return 1\nif b:\n    return 2\nif c:\n    return 3",
    ],
)
def test_what_repeats_lawfully_is_no_loop(text: str) -> None:
    assert find_loop(text) is None


@pytest.mark.parametrize("mark", STOP)
def test_everything_from_a_stop_mark_goes(mark: str) -> None:
    assert clean(f"Paris is it.{mark} more of this", stop=STOP).text == "Paris is it."


@pytest.mark.parametrize(
    "rest", ["\n---", "\n\n---\n", "\n---\nQUESTION: and Spain?\nANSWER: Madrid.", "\n\n---\n\n---"]
)
def test_a_rule_and_the_turn_behind_it_go(rest: str) -> None:
    assert clean(f"Paris is it.{rest}", stop=STOP).text == "Paris is it."


@pytest.mark.parametrize(
    "text",
    [
        "| a | b |\n| --- | --- |\n| 1 | 2 |",
        "One part.\n\n---\n\nAnother part.",
        "---\ntitle: x\n---\nText.",
        ">>> [1, 2][0]\n1",
        "    if a:\n        return 1",
        "It is:\n\n```\nreturn 0;\nreturn 0;\nreturn 0;\nreturn 0;\n```",
        'Say `</s>`, "<<<x>>>" or `<think>`.',
        "The first is:\n```\na\n```\nThe first is:\n```\nb\n```\nThe first is:\n```\nc\n```",
    ],
)
def test_these_come_through_as_they_are(text: str) -> None:
    assert clean(text, stop=STOP).text == text


def test_code_that_runs_in_circles_with_its_words_is_cut() -> None:
    once = "The code is as follows:\n```\nx = 1\n```\n"
    cleaned = clean(once * 6)
    assert cleaned.looped
    assert cleaned.text.count("```") <= 4


def test_cut_code_keeps_its_beginning() -> None:
    text = "Here it is. Look:\n\n```py\ndef f(a):\n    return a[0] if a el"
    assert clean(text, complete=False).text == text
    cleaned = clean("```\n" + "x = a[0]\n" * 100, chars_max=100)
    assert cleaned.text == "\n".join(["```", *["x = a[0]"] * 10])
    assert not cleaned.complete


def test_turn_marks_that_open_the_text_are_the_templates() -> None:
    assert clean("<|im_start|>assistant\nParis is it.<|im_end|>", stop=STOP).text == "Paris is it."


def test_the_prompt_is_no_answer() -> None:
    question = "What is the capital of France?"
    assert not clean("what is  the capital of France", echo=(question,)).usable
    assert clean("ANSWER: Paris.", echo=(question,)).text == "Paris."
    told = "You answer questions briefly and truthfully.\n- Cite what you use."
    cleaned = clean("You answer questions briefly and truthfully.\nParis.", echo=(told,))
    assert (cleaned.text, cleaned.echoed) == ("Paris.", True)
    assert clean("Paris.\nQUESTION: and Spain?\nANSWER: Madrid.").text == "Paris."
    assert "<<<" not in clean("<<<DATA abc>>>\nParis.\n<<<END abc>>>").text


def test_control_characters_go() -> None:
    assert clean("Pa\x1bris\u202e.\ud800").text == "Paris."


def test_length_is_bounded() -> None:
    long = " ".join(f"Sentence number {n} is here." for n in range(10_000))
    cleaned = clean(long, chars_max=500)
    assert len(cleaned.text) <= 500
    assert not cleaned.complete
    assert len(clean("y" * (RAW_CHARS_MAX * 2)).text) <= RAW_CHARS_MAX


_PIECES = st.sampled_from(
    (
        *("<think>", "</think>", "<|im_end|>", "<|im", "_end|>", "Paris is big. ", "no ", "no. ", "\n"),
        *("QUESTION: x\n", "<<<", ">>>", "END a", "---", "ANSWER:", "1. ", "[1]", "\u202e", "the end"),
        "Same line\n",
    )
)


@example("<think>\n>>></think><think>", True)  # a quotation that began in a block protects nothing behind it
@given(st.lists(_PIECES, max_size=40).map("".join), st.booleans())
def test_cleaning_is_idempotent(raw: str, complete: bool) -> None:
    once = clean(raw, complete=complete, stop=STOP)
    again = clean(once.text, stop=STOP)
    assert again.text == once.text


@pytest.mark.parametrize(
    "raw",
    [
        *("<think>" * 9_000, "a " * 32_000, "\n" * 60_000, "`a``" * 15_000, "|-\n" * 20_000, "[1]" * 20_000),
        *(
            pytest.param(raw, marks=pytest.mark.slow)
            for raw in (
                *("<" * 60_000, " " * 60_000, "1." * 30_000, "«" * 60_000, "$a" * 30_000, "\n\\[" * 20_000),
                *("> " * 30_000, "```\n" * 15_000, "    x\n\n" * 9_000, "\\begin{a}\n" * 6_000),
                *(
                    '"a ' * 20_000,
                    "A. " * 20_000,
                    "<<<" * 20_000,
                    "-" * 60_000,
                    "\n " * 30_000,
                    "'’" * 30_000,
                ),
            )
        ),
    ],
    ids=lambda raw: repr(raw[:8]),
)
def test_hostile_input_is_linear(raw: str) -> None:
    # The suite's timeout is the bound: quadratic work on 64 KiB takes minutes.
    clean(raw, complete=False, stop=STOP, echo=("QUESTION",))
