"""Chunks: within sections and bounds, exact pieces of the text, nothing lost."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from node.knowledge.chunks import Profile, Text, chunks, headings, profile, profiles, windows
from node.models.embedders.local import TOKENIZER, tokens_of

count = tokens_of(TOKENIZER)


def words(text: str) -> int:
    """A token for each word, so that tests can be read."""
    return len(text.split())


LONG = "\n\n".join(
    " ".join(f"Sentence {p}.{s} says what the assembly of the house decided." for s in range(12))
    for p in range(12)
)
MARKED = (
    f"Before.\n\n# House\n\n## Rent\n\n{LONG}\n\n### Late\n\nPay by the fifth.\n\n## Quiet\n\nAfter ten.\n"
)


def test_sections_have_their_headings_and_never_meet() -> None:
    text = Text(MARKED, is_marked=True)
    found = chunks(text, profile("section400"), count)
    assert {one.heading for one in found} == {
        (),
        ("House", "Rent"),
        ("House", "Rent", "Late"),
        ("House", "Quiet"),
    }
    assert found[-1].searched == "House > Quiet\nAfter ten."
    assert all("#" not in one.text for one in found)
    assert [one.ordinal for one in found] == list(range(len(found)))
    rents = [one for one in found if one.heading == ("House", "Rent")]
    assert len(rents) > 2
    assert all(400 // 2 < count(one.text) <= 430 for one in rents[:-1])
    assert all(one.text.endswith("decided.") for one in rents)


def test_neighbours_overlap_by_whole_sentences_up_to_the_bound() -> None:
    how = Profile("", "tokens", 100, 25, 10, sections=True)
    found = chunks(Text(" ".join(f"One two three four five six seven {n}." for n in range(60))), how, words)
    for one, other in itertools.pairwise(found):
        shared = one.text[other.start - one.start :]
        assert other.start < one.end
        assert other.text.startswith(shared)
        assert words(shared) == 24


def test_a_paragraph_is_kept_whole_where_that_is_possible() -> None:
    how = profile("section500")
    found = chunks(Text(LONG), how, words)
    assert all(LONG[one.end : one.end + 2] in ("\n\n", "") for one in found)


def test_a_short_rest_goes_to_the_chunk_before_it() -> None:
    how = Profile("", "tokens", 40, 0, 30, sections=True)
    text = " ".join(f"One two three four five six seven eight nine {n}." for n in range(9))
    assert [words(one.text) for one in chunks(Text(text), how, words)] == [40, 50]


def test_code_is_no_heading() -> None:
    text = Text("# A\n```\n# not one\n```\n## B ##\n#also none\n", is_marked=True)
    assert [(level, said) for _, _, level, said in headings(text)] == [(1, "A"), (2, "B")]
    assert headings(Text("# A\n")) == []


def test_messages_are_cut_between_lines() -> None:
    lines = [f"[2026] #a u{n}: one two three. four five six" for n in range(40)]
    how = Profile("", "tokens", 30, 0, 0, sections=True)
    found = chunks(Text("\n".join(lines), is_lines=True), how, words)
    assert [line for one in found for line in one.text.split("\n")] == lines


def test_pages_are_kept() -> None:
    pages = [f"Page {n}. " + "word " * 300 + "." for n in range(1, 5)]
    starts, text = [], ""
    for page in pages:
        starts.append(len(text))
        text += page + "\n\n"
    found = chunks(Text(text, pages=starts), profile("section400"), count)
    assert {one.page for one in found} == {1, 2, 3, 4}
    assert all(text[one.start :].startswith(one.text) for one in found)
    assert [one.page for one in found if "Page 3." in one.text][-1] in (2, 3)


def test_the_whole_file_is_one_chunk() -> None:
    [one] = chunks(Text(f"  {MARKED} ", is_marked=True), profile("file"), count)
    assert one.text == MARKED.strip()
    assert chunks(Text(" \n"), profile("file"), count) == []


def test_windows_fit_the_embedder_and_miss_no_word() -> None:
    [one] = chunks(Text(LONG), profile("file"), count)
    pieces = windows(one, 250, count)
    assert all(count(piece) <= 250 for piece in pieces)
    assert " ".join(" ".join(pieces).split()) == " ".join(LONG.split())
    [chunk] = [
        one
        for one in chunks(Text(MARKED, is_marked=True), profile("section400"), count)
        if "fifth" in one.text
    ]
    assert windows(chunk, 250, count) == ["House > Rent > Late\nPay by the fifth."]


PIECES = st.lists(
    st.sampled_from(["word ", "a. ", "\n", "\n\n", "# H\n", "x" * 70, "。", "  ", "é", "[", "```\n", "12. "]),
    max_size=120,
)


@given(PIECES, st.sampled_from(profiles()), st.booleans(), st.booleans())
@example(["12. ", "é", "x" * 70, "word ", "x" * 70], "recursive1000", False, False)
@settings(max_examples=150, deadline=None)
def test_chunks_are_exact_pieces_in_order_and_within_the_bound(
    pieces: list[str], name: str, is_marked: bool, is_lines: bool
) -> None:
    text = "".join(pieces)
    named = profile(name)
    how = Profile(name, named.unit, named.size // 20, named.overlap // 20, named.least // 20, named.sections)
    found = chunks(Text(text, is_marked=is_marked, is_lines=is_lines), how, words)
    covered = set()
    for one in found:
        assert one.text == text[one.start : one.end]
        assert one.text == one.text.strip() != ""
        covered.update(range(one.start, one.end))
        if how.size:
            size = len(one.text) if how.unit == "characters" else words(one.text)
            assert size <= how.size + max(0, how.least - 1)
    for one, other in itertools.pairwise(found):
        assert one.start < other.start
        assert one.end - other.start <= max(0, how.overlap) or how.unit == "tokens"
    kept = "".join(char for place, char in enumerate(text) if place in covered)
    if not (is_marked and how.sections):
        assert "".join(kept.split()) == "".join(text.split()), "nothing but blanks is left out"


@pytest.mark.parametrize("name", profiles())
def test_every_profile_cuts_a_long_text(name: str) -> None:
    found = chunks(Text(MARKED, is_marked=True), profile(name), count)
    assert len(found) == (1 if name == "file" else len(found)) > 0
